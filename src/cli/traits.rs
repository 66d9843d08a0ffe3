//! What each verb needs of the host and changes there: the list of verbs beside `args`.

use super::args::Verb;

/// What is asked of a verb before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traits {
    /// Whether root acts as the owner of the state: the verb does what a run does, or judges what a
    /// run would be able to do.
    pub(super) acts_as_owner: bool,
    /// Whether an error in `config.toml` stops it.
    pub(super) needs_settings: bool,
    /// Whether it changes what `--metrics-file` shows.
    pub(super) writes_metrics: bool,
}

impl Traits {
    /// Those of a verb; `has_files`: whether the command line has `-f`.
    pub(super) fn of(verb: &Verb, has_files: bool) -> Self {
        let (acts_as_owner, needs_settings, writes_metrics) = match verb {
            Verb::Issue(_)
            | Verb::Renew(_)
            | Verb::Deploy(_)
            | Verb::Forget(_)
            | Verb::Revoke(_)
            | Verb::Rollback(_) => (true, true, true),
            // Each of its runs is a process of its own.
            Verb::Run(_) => (false, true, true),
            Verb::Plan(_) | Verb::Account(_) | Verb::Rehearse(_) => (true, true, false),
            Verb::Doctor(_) => (true, false, false),
            // A draft may lie where root alone can read it.
            Verb::Validate(args) => (args.targets.is_empty() && !has_files, true, false),
            Verb::Status(_) | Verb::Describe(_) | Verb::Check(_) => (!has_files, true, false),
            Verb::Inspect(_) | Verb::Timer(_) | Verb::Create(_) => (false, true, false),
            Verb::Version(_)
            | Verb::Completion(_)
            | Verb::Man(_)
            | Verb::Help(_)
            | Verb::Explain(_)
            | Verb::Schema(_) => (false, false, false),
        };
        Self { acts_as_owner, needs_settings, writes_metrics }
    }
}

/// The verbs with `writes_metrics`, for the refusal of others.
pub(super) const METRICS_VERBS: &str = "issue, renew, deploy, revoke, rollback, forget and run";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::super::args::Arguments;
    use super::*;

    fn traits(line: &str) -> Option<Traits> {
        let arguments = Arguments::try_parse_from(line.split(' ')).ok()?;
        let has_files = !arguments.global.filename.is_empty();
        arguments.verb.map(|verb| Traits::of(&verb, has_files))
    }

    #[test]
    fn the_refusal_names_the_verbs_that_write_metrics() {
        let tree = Arguments::command();
        let mut written = Vec::new();
        for verb in tree.get_subcommands().map(clap::Command::get_name) {
            let lines = ["", " one", " one --now", " show", " acme", " print --cron", " bash"];
            let found = lines.iter().find_map(|rest| traits(&format!("certctl {verb}{rest}")));
            let found = found.unwrap_or_else(|| panic!("no line starts {verb}"));
            written.extend(found.writes_metrics.then_some(verb));
        }
        written.sort_unstable();
        let told = METRICS_VERBS.replace(" and ", ", ");
        let mut told: Vec<&str> = told.split(", ").collect();
        told.sort_unstable();
        assert_eq!(written, told);
    }

    #[test]
    fn root_reads_drafts_itself() {
        for (line, acts_as_owner) in [
            ("certctl validate", true),
            ("certctl validate web.yaml", false),
            ("certctl validate -f web.yaml", false),
            ("certctl status", true),
            ("certctl status -f web.yaml", false),
            ("certctl issue -f web.yaml", true),
            ("certctl inspect web.crt", false),
        ] {
            assert_eq!(traits(line).unwrap().acts_as_owner, acts_as_owner, "{line}");
        }
    }
}
