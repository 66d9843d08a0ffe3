//! The command line as types: the list of the verbs. The global flags are in `global`.
//!
//! Contract: a doc comment here is the help text, as are those of the arguments in the verbs' own
//! files. Values are parsed at this border; what comes out needs no further check.

use clap::{ArgAction, CommandFactory as _, Parser, Subcommand};

use crate::cli::command_tree::Verbs;
use crate::cli::error::CliError;
use crate::cli::exit::Ending;
use crate::cli::global::GlobalArgs;
use crate::cli::shell::Shell;
use crate::cli::verb::VerbArgs;
use crate::cli::verbs::issue::{IssueArgs, RenewArgs};
use crate::cli::verbs::plan::PlanArgs;

/// Issues and renews the TLS certificates that cert-manager's YAML files describe.
///
/// certctl reads Certificate and Issuer manifests from files, obtains and renews
/// the certificates from an ACME CA, and keeps them in files. A first run:
///
///   certctl create     asks questions, writes the manifests and issues
///   certctl rehearse   tests the whole flow with a built-in CA
///   certctl issue      issues and renews certificates; run it from cron
#[derive(Debug, Parser)]
#[command(name = "certctl", version, disable_version_flag = true, verbatim_doc_comment)]
#[command(disable_help_subcommand = true)]
pub struct Arguments {
    /// Print the version.
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,
    /// The flags of every verb.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The verb; without one, certctl prints a start page.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Makes the verbs of the list of their arguments.
macro_rules! verbs {
    ($($(#[$attribute:meta])* $verb:ident($arguments:ty),)*) => {
        /// The verbs, in the order of help.
        #[derive(Debug, Subcommand)]
        pub enum Verb {
            $($(#[$attribute])* $verb($arguments),)*
        }

        /// The verbs as data.
        pub const VERBS: Verbs = Verbs { tree: Arguments::command };

        /// True if each verb changes what `--metrics-file` shows.
        const WRITES_METRICS: &[bool] = &[$(<$arguments>::WRITES_METRICS),*];

        impl Verb {
            /// See [`VerbArgs::NEEDS_SETTINGS`].
            pub(super) fn needs_settings(&self) -> bool {
                match self { $(Self::$verb(_) => <$arguments>::NEEDS_SETTINGS,)* }
            }

            /// See [`VerbArgs::WRITES_METRICS`].
            pub(super) fn writes_metrics(&self) -> bool {
                match self { $(Self::$verb(_) => <$arguments>::WRITES_METRICS,)* }
            }

            /// See [`VerbArgs::acts_as_owner`].
            pub(super) fn acts_as_owner(&self, has_files: bool) -> bool {
                match self { $(Self::$verb(arguments) => arguments.acts_as_owner(has_files),)* }
            }

            /// See [`VerbArgs::is_routine`].
            pub(super) fn is_routine(&self) -> bool {
                match self { $(Self::$verb(arguments) => arguments.is_routine(),)* }
            }

            /// See [`VerbArgs::run`].
            pub(super) fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
                match self { $(Self::$verb(arguments) => arguments.run(shell),)* }
            }
        }
    };
}

// The help of a verb is the doc comment of its arguments.
verbs! {
    Issue(IssueArgs),
    Renew(RenewArgs),
    Plan(PlanArgs),
    Validate(crate::cli::verbs::validate::ValidateArgs),
    Status(crate::cli::verbs::status::verb::StatusArgs),
    Describe(crate::cli::verbs::status::verb::DescribeArgs),
    Inspect(crate::cli::verbs::inspect::InspectArgs),
    #[command(subcommand)]
    Check(crate::cli::verbs::check::CheckVerb),
    Doctor(crate::cli::verbs::doctor::DoctorArgs),
    Rehearse(crate::cli::verbs::rehearse::RehearseArgs),
    Deploy(crate::cli::verbs::issue::DeployArgs),
    Revoke(crate::cli::verbs::revoke::RevokeArgs),
    Rollback(crate::cli::verbs::rollback::RollbackArgs),
    Create(crate::cli::verbs::create::CreateArgs),
    #[command(subcommand)]
    Account(crate::cli::verbs::account::AccountVerb),
    Forget(crate::cli::verbs::forget::ForgetArgs),
    #[command(subcommand)]
    Timer(crate::cli::verbs::timer::TimerVerb),
    Run(crate::cli::verbs::service::RunArgs),
    Explain(crate::cli::verbs::explain::ExplainArgs),
    Schema(crate::cli::verbs::schema::SchemaArgs),
    Version(crate::cli::verbs::version::VersionArgs),
    Completion(crate::cli::verbs::completion::CompletionArgs),
    Man(crate::cli::verbs::man::ManArgs),
    Help(crate::cli::verbs::help::HelpArgs),
}

impl Verb {
    /// The verb that is meant: `--dry-run` of `issue` and `renew` is `plan`.
    pub(super) fn meant(self) -> Self {
        if let Self::Issue(IssueArgs { dry_run: true, targets, .. })
        | Self::Renew(RenewArgs { dry_run: true, names: targets, .. }) = &self
        {
            return Self::Plan(PlanArgs { targets: targets.clone() });
        }
        self
    }
}

/// The names of the verbs that change what `--metrics-file` shows.
pub(super) fn metrics_verbs() -> Vec<String> {
    let tree = Arguments::command();
    let verbs = tree.get_subcommands().zip(WRITES_METRICS);
    verbs.filter(|(_, writes)| **writes).map(|(verb, _)| verb.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::global::Format;
    use crate::cli::value_parser::HostPort;
    use crate::resource::GoDuration;

    #[test]
    fn the_tree_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let global = Arguments::try_parse_from(["certctl", "issue"]).unwrap().global;
        assert_eq!(global.parallel.get(), 256);
        assert_eq!(global.max_concurrent_challenges.get(), 60);
        let durations = [global.timeout, global.lock_timeout, global.self_check_interval];
        assert_eq!(durations, ["10m", "30s", "10s"].map(|d| d.parse::<GoDuration>().unwrap()));
        assert_eq!(global.cluster_resource_namespace, "cert-manager");
        assert_eq!((global.namespace(), global.format()), (None, Format::Text));
    }

    #[test]
    fn global_flags_may_stand_before_and_behind_the_verb() {
        let parsed = Arguments::try_parse_from([
            "certctl",
            "-f",
            "a.yaml",
            "-vv",
            "issue",
            "web",
            "-n",
            "prod",
            "--timeout",
            "1h30m",
            "--resolver",
            "192.0.2.53",
            "--http01-listen",
            "127.0.0.1:5002,[::1]:5002",
        ])
        .unwrap();
        let global = parsed.global;
        assert_eq!(global.namespace(), Some("prod"));
        assert_eq!(global.verbose, 2);
        assert_eq!(global.timeout.to_string(), "1h30m0s");
        assert_eq!(global.resolver, [HostPort { host: "192.0.2.53".into(), port: 53 }]);
        let listen: Vec<String> = global.http01_listen.iter().map(ToString::to_string).collect();
        assert_eq!(listen, ["127.0.0.1:5002", "[::1]:5002"]);
        let Some(Verb::Issue(issue)) = parsed.verb else { panic!("{:?}", parsed.verb) };
        assert_eq!(issue.targets, ["web"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            vec!["--timeout", "90d"],
            vec!["--timeout", "0s"],
            vec!["--self-check-interval", "-1s"],
            vec!["--parallel", "0"],
            vec!["--ping", "hc-ping.com/uuid"],
            vec!["--ping", "ftp://hc-ping.com/uuid"],
            vec!["--output", "table"],
            vec!["--namespace", "Not_A_Label"],
            vec!["-l", "a b"],
            vec!["-q", "-v"],
        ] {
            let line = [vec!["certctl", "issue"], words].concat();
            assert!(Arguments::try_parse_from(&line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn the_verbs_that_write_metrics_are_those_that_change_certificates() {
        let expected = ["issue", "renew", "deploy", "revoke", "rollback", "forget", "run"];
        assert_eq!(metrics_verbs(), expected);
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
            let Arguments { global, verb, .. } =
                Arguments::try_parse_from(line.split(' ')).unwrap();
            let has_files = !global.filename.is_empty();
            assert_eq!(verb.unwrap().acts_as_owner(has_files), acts_as_owner, "{line}");
        }
    }
}
