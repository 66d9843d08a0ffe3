//! The sudo and the flags that were typed, for the commands that certctl suggests: pasted, they do the
//! same.

/// What was typed and the next command needs, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedFlags {
    /// certctl with sudo, where that started this process.
    pub(super) program: Option<String>,
    /// Those of the folders, a blank before each.
    pub(super) folders: String,
    /// Those of [`OF_VERBS`]: the name of each, and the word that was typed.
    pub(super) of_verbs: Vec<(String, String)>,
}

impl TypedFlags {
    /// Those of the folders only.
    #[cfg(test)]
    pub(super) fn of_folders(folders: &str) -> Self {
        Self { folders: folders.to_owned(), ..Self::default() }
    }

    /// `line`, a command of certctl, with sudo, and with the flags that its verb needs and that it does
    /// not have.
    pub(super) fn on(&self, line: &str) -> String {
        let mut words = line.split(' ').skip_while(|word| !is_program(word)).skip(1);
        let verb = words.next().unwrap_or_default();
        let below = format!("{verb} {}", words.next().unwrap_or_default());
        let is_needed = |name: &str| {
            let mut rows = OF_VERBS.iter().filter(|(flags, _)| flags.contains(&name));
            rows.any(|(_, of)| of.contains(&verb) || of.contains(&&*below))
        };
        if WITHOUT_FOLDERS.contains(&verb) {
            return line.to_owned();
        }
        let has = |name: &str| line.contains(&format!(" --{name}"));
        let missing = self.of_verbs.iter().filter(|(name, _)| is_needed(name) && !has(name));
        missing.fold(self.by_sudo(line) + &self.folders, |line, (_, word)| line + " " + word)
    }

    /// The same without the flags.
    pub(super) fn by_sudo(&self, line: &str) -> String {
        let rest = line.strip_prefix(PROGRAM);
        let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(' '));
        match self.program.as_ref().zip(rest) {
            Some((program, rest)) => [program, rest].concat(),
            None => line.to_owned(),
        }
    }
}

/// Whether a word of a command line is certctl, perhaps as a path in quotes.
fn is_program(word: &str) -> bool {
    word.trim_end_matches('\'').rsplit('/').next() == Some(PROGRAM)
}

/// Which flags change what a verb does on this host: without them, a command that is pasted would
/// not do the same as the one that was typed.
pub(super) const OF_VERBS: &[(&[&str], &[&str])] = &[
    (
        &["resolver", "dns01-recursive-nameservers-only", "dns01-authoritative-port"],
        &["issue", "renew", "revoke", "check dns", "check http", "doctor", "run", "timer"],
    ),
    (
        &["http01-listen", "http01-check-port"],
        &["issue", "renew", "revoke", "check http", "doctor", "run", "timer"],
    ),
    (
        &["hooks", "hook-timeout"],
        &["issue", "renew", "revoke", "rollback", "deploy", "run", "timer"],
    ),
    (
        &["cluster-resource-namespace"],
        &[
            "issue", "renew", "plan", "validate", "check", "doctor", "revoke", "account", "run",
            "timer",
        ],
    ),
];

/// The verbs that read nothing of the host.
const WITHOUT_FOLDERS: &[&str] = &["help", "explain", "man", "schema", "completion"];

pub(super) const PROGRAM: &str = "certctl";

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Arguments;

    #[test]
    fn a_command_has_the_typed_flags_that_its_verb_needs() {
        let of_verbs = [
            ("resolver", "--resolver=[::1]:53"),
            ("http01-check-port", "--http01-check-port=5002"),
        ]
        .map(|(name, word)| (name.to_owned(), word.to_owned()));
        let hooks = ("hooks".to_owned(), "--hooks=later".to_owned());
        let of_verbs = of_verbs.into_iter().chain([hooks]).collect();
        let folders = " --state-dir s".to_owned();
        let flags = TypedFlags { program: None, folders, of_verbs };
        let of_network = "--resolver=[::1]:53 --http01-check-port=5002";
        for (line, expected) in [
            ("certctl status web", "certctl status web --state-dir s".to_owned()),
            (
                "certctl renew web",
                format!("certctl renew web --state-dir s {of_network} --hooks=later"),
            ),
            (
                "sudo certctl check http a",
                format!("sudo certctl check http a --state-dir s {of_network}"),
            ),
            (
                "certctl timer print --cron",
                format!("certctl timer print --cron --state-dir s {of_network} --hooks=later"),
            ),
            ("certctl deploy web", "certctl deploy web --state-dir s --hooks=later".to_owned()),
            (
                "certctl check dns a --resolver 9.9.9.9:53",
                "certctl check dns a --resolver 9.9.9.9:53 --state-dir s".to_owned(),
            ),
            ("certctl", "certctl --state-dir s".to_owned()),
            ("certctl help hooks", "certctl help hooks".to_owned()),
            ("certctl status run", "certctl status run --state-dir s".to_owned()),
            (
                "sudo '/o p/certctl' deploy",
                "sudo '/o p/certctl' deploy --state-dir s --hooks=later".to_owned(),
            ),
        ] {
            assert_eq!(flags.on(line), expected);
        }
    }

    #[test]
    fn a_command_has_the_sudo_that_was_typed() {
        let program = Some("sudo /opt/certctl".to_owned());
        let flags = TypedFlags { program, ..TypedFlags::of_folders(" --state-dir s") };
        for (line, expected) in [
            ("certctl status web", "sudo /opt/certctl status web --state-dir s"),
            ("certctl", "sudo /opt/certctl --state-dir s"),
            ("sudo certctl issue", "sudo certctl issue --state-dir s"),
            ("certctl help hooks", "certctl help hooks"),
        ] {
            assert_eq!(flags.on(line), expected);
        }
    }

    #[test]
    fn the_flags_and_the_verbs_that_commands_repeat_are_there() {
        let tree = Arguments::command();
        assert!(WITHOUT_FOLDERS.iter().all(|verb| tree.find_subcommand(verb).is_some()));
        for (flags, verbs) in OF_VERBS {
            for flag in *flags {
                assert!(tree.get_arguments().any(|arg| arg.get_long() == Some(flag)), "{flag}");
            }
            for verb in *verbs {
                let mut words = verb.split(' ');
                let found = words.try_fold(&tree, |tree, word| tree.find_subcommand(word));
                assert!(found.is_some(), "{verb}");
            }
        }
    }
}
