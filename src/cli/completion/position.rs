//! Which values each argument takes.
//!
//! Contract: every argument that takes a value is in this table, has its words in its own type, or
//! is one of the free texts that the test below lists; a new verb cannot forget it.

/// The kind of values at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Certificates.
    Certificates,
    /// Certificates that the state knows.
    Issued,
    /// Certificates that the state knows, and files.
    IssuedOrFiles,
    /// Certificates, and manifests.
    Targets,
    /// Manifests and folders of them, and `-`.
    Manifests,
    /// Any file.
    Files,
    /// Folders.
    Folders,
    /// Issuers and ClusterIssuers.
    Issuers,
    /// Namespaces.
    Namespaces,
    /// Requirements on labels.
    Labels,
    /// The words of `status`: a kind, then names of that kind.
    Status,
    /// The words of `inspect`.
    Inspect,
    /// The DNS names of the Certificates.
    DnsNames,
    /// The same, with `=` behind them.
    Resolve,
    /// A path of `explain`.
    Fields,
    /// Kinds of manifests.
    Kinds,
    /// Reasons of a revocation.
    Reasons,
    /// The words of `help`.
    Help,
    /// Revisions of the certificate that is named.
    Revisions,
}

/// What an argument of a verb takes; `verb` is empty for the flags of all verbs.
pub(super) fn position(verb: &str, argument: &str) -> Option<Position> {
    let of_all = match argument {
        "filename" => Some(Position::Manifests),
        "namespace" | "cluster_resource_namespace" => Some(Position::Namespaces),
        "selector" => Some(Position::Labels),
        "config_dir" | "state_dir" | "output_roots" => Some(Position::Folders),
        "metrics_file" => Some(Position::Files),
        _ => None,
    };
    let of_verb = match (verb, argument) {
        ("issue" | "plan" | "validate" | "rehearse", "targets") => Some(Position::Targets),
        ("renew", "names") => Some(Position::Certificates),
        ("deploy" | "forget", "names") | ("rollback", "name" | "names") => Some(Position::Issued),
        ("rollback", "to") => Some(Position::Revisions),
        ("create certificaterequest", "from_certificate_file") => Some(Position::Manifests),
        ("rehearse", "resolve") => Some(Position::Resolve),
        ("status" | "describe", "words") => Some(Position::Status),
        ("inspect", "words") => Some(Position::Inspect),
        ("check acme" | "create certificate", "issuer") => Some(Position::Issuers),
        ("check dns" | "check http", "name") => Some(Position::DnsNames),
        ("revoke", "target") => Some(Position::IssuedOrFiles),
        ("revoke", "reason") => Some(Position::Reasons),
        ("revoke", "key")
        | ("create certificaterequest", "output_key_file" | "output_certificate_file") => {
            Some(Position::Files)
        }
        ("timer print", "dir")
        | ("man", "target")
        | ("create" | "create issuer" | "create certificate", "into")
        | ("create certificate", "webroot" | "output_dir") => Some(Position::Folders),
        ("create issuer" | "inspect", "ca_bundle") => Some(Position::Files),
        ("explain", "field") => Some(Position::Fields),
        ("help", "words") => Some(Position::Help),
        ("schema", "kind") => Some(Position::Kinds),
        (verb, "issuer") if verb.starts_with("account ") => Some(Position::Issuers),
        (_, _) => None,
    };
    of_all.or(of_verb)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Command, CommandFactory as _};

    use super::*;
    use crate::cli::args::Arguments;

    /// Free text: numbers, durations, addresses and names that cannot be listed.
    const FREE: &[&str] = &[
        "--dns01-authoritative-port",
        "--hook-timeout",
        "--http01-check-port",
        "--http01-listen",
        "--lock-timeout",
        "--max-concurrent-challenges",
        "--parallel",
        "--ping",
        "--resolver",
        "--self-check-interval",
        "--timeout",
        "create certificate --behind-proxy",
        "create certificate --name",
        "create certificate --output-group",
        "create certificate --output-mode",
        "create certificate --output-owner",
        "create certificate --reload",
        "create certificate names",
        "create certificaterequest name",
        "create issuer --eab-kid",
        "create issuer --email",
        "create issuer --profile",
        "create issuer --server",
        "create issuer name",
        "issue --splay",
        "run --every",
        "run --serve",
        "timer print --user",
    ];

    fn without_position(command: &Command, verb: &str, found: &mut BTreeSet<String>) {
        for arg in command.get_arguments() {
            let takes_value = arg.get_num_args().is_some_and(|number| number.takes_values());
            let has_words = arg.get_value_parser().possible_values().is_some();
            if !takes_value || has_words || position(verb, arg.get_id().as_str()).is_some() {
                continue;
            }
            let name = arg.get_long().map_or(arg.get_id().to_string(), |long| format!("--{long}"));
            let verb = if arg.is_global_set() { "" } else { verb };
            found.insert(format!("{verb} {name}").trim_start().to_owned());
        }
        for inner in command.get_subcommands() {
            let verb = format!("{verb} {}", inner.get_name());
            without_position(inner, verb.trim_start(), found);
        }
    }

    #[test]
    fn every_argument_with_a_value_is_completed_or_is_free_text() {
        let mut tree = Arguments::command();
        tree.build();
        let mut found = BTreeSet::new();
        without_position(&tree, "", &mut found);
        let free: BTreeSet<String> = FREE.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(found, free);
    }
}
