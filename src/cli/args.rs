//! The command line as types: one struct per verb, in files by noun; the global flags in `global`.
//!
//! Contract: a doc comment here is the help text. Values are parsed at this border; what comes out
//! needs no further check.

mod account;
mod certificate;
mod check;
mod create;
mod global;
mod manifest;
mod manual;
mod timer;
mod values;
mod view;

use clap::{ArgAction, Parser, Subcommand};

pub use account::{AccountDeactivateArgs, AccountIssuerArgs, AccountVerb};
pub use certificate::{
    DeployArgs, ForgetArgs, IssueArgs, PlanArgs, RenewArgs, RevokeArgs, RollbackArgs,
};
pub use check::{CheckAcmeArgs, CheckDnsArgs, CheckHttpArgs, CheckVerb};
pub use create::{CreateRequestArgs, CreateVerb};
pub use global::{Format, GlobalArgs, HTTP01_LISTEN, RESOLVERS};
pub use manifest::{RehearseArgs, ValidateArgs};
pub use manual::{CompletionArgs, ExplainArgs, ManArgs, SchemaArgs, VersionArgs};
pub use timer::{TimerPrintArgs, TimerVerb};
pub use values::{HostPort, Resolve, ValueError};
pub use view::{InspectArgs, StatusArgs};

/// cert-manager for people without a cluster: makes the Certificates in YAML files true.
///
/// certctl reads cert-manager's Certificate and Issuer manifests from files, obtains and renews
/// the certificates from an ACME CA, and keeps them in files. A first run:
///
///   certctl validate web.yaml    are the manifests right? (offline)
///   certctl rehearse web.yaml    the whole flow against a built-in throw-away CA
///   certctl issue web.yaml       make it true; run `certctl issue` from cron to keep it true
#[derive(Debug, Parser)]
#[command(
    name = "certctl",
    version,
    disable_version_flag = true,
    arg_required_else_help = true,
    subcommand_required = true,
    verbatim_doc_comment
)]
pub struct Arguments {
    /// The flags of every verb.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// Print the version.
    #[arg(short = 'V', long, action = ArgAction::Version, hide_short_help = true)]
    version: Option<bool>,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make these certificates true now; safe to repeat, the verb for cron.
    ///
    /// Without arguments: all certificates of the config directory and those issued from files
    /// before. Issues only what is missing, wrong or due, and says nothing when nothing is.
    Issue(IssueArgs),
    /// Issue certificates now, due or not; bypasses the backoff.
    ///
    /// For cron use `certctl issue`.
    Renew(RenewArgs),
    /// Say what `issue` would do, and why; changes nothing.
    ///
    /// Per certificate: the action, its reason, what differs, how each name would be proven and
    /// what it costs. Asks nobody. --exit-code ends in 10 when something would change.
    Plan(PlanArgs),
    /// Check manifests, offline.
    Validate(ValidateArgs),
    /// Show all certificates, or one in detail.
    ///
    /// -o wide adds columns, -o yaml prints cert-manager's own kinds, --exit-code ends in 8 when
    /// something needs attention.
    Status(StatusArgs),
    /// Look at one certificate: from the state, a file, standard input or a server.
    ///
    /// Shows names, key, chain, trust and revocation. --exit-code ends in 8 when it is expired or
    /// revoked, or its key, its Certificate or the server differs.
    Inspect(InspectArgs),
    /// Look at what issuing needs from the network; changes nothing.
    #[command(subcommand)]
    Check(CheckVerb),
    /// Run the whole flow against a built-in throw-away CA; touches no real state.
    Rehearse(RehearseArgs),
    /// Write pending outputs and run pending hooks again, without issuing.
    ///
    /// Without arguments: of all certificates. What is deployed already stays as it is.
    Deploy(DeployArgs),
    /// Take a certificate back before its end, and issue another in its place
    ///
    /// A private key has leaked? This is all there is to do:
    ///
    ///   certctl revoke NAME --reason keyCompromise
    ///
    /// It makes a new key, whatever rotationPolicy says, issues with it, writes the files and runs
    /// the hooks, and then revokes the old certificate at its CA. The old key is never used again.
    /// `certctl status` lists the names, `certctl status NAME` the revocation. Is the leaked key
    /// worse than no service, add --now: the old one is revoked first.
    ///
    /// What a run that was cut off owes is done by the next `issue`. By FILE: revokes the first
    /// certificate in it, signed by the account of an Issuer that issued it, or by its own key,
    /// and issues nothing.
    #[command(verbatim_doc_comment)]
    Revoke(RevokeArgs),
    /// Make the certificate before the live one live again, key and chain, and deploy it.
    ///
    /// It stays until its renewal is due, until `certctl renew NAME`, or until its manifest is
    /// edited; one whose renewal was due already is renewed when a third of the time it has left
    /// now is left. Never goes back to a certificate that is expired or revoked, or whose key is
    /// banned.
    Rollback(RollbackArgs),
    /// Make what certctl does not manage: a key and a request, once.
    #[command(subcommand)]
    Create(CreateVerb),
    /// Look at the accounts at CAs, register, tell contacts, or give one up.
    #[command(subcommand)]
    Account(AccountVerb),
    /// Stop managing a certificate; its files stay unless --secret.
    Forget(ForgetArgs),
    /// Let the system's scheduler run `certctl issue`.
    #[command(subcommand)]
    Timer(TimerVerb),
    /// Say what a field of a manifest means: `certctl explain certificate.spec.renewBefore`.
    Explain(ExplainArgs),
    /// Print the JSON Schema of the manifests, for editors; or that of what -o json prints.
    ///
    /// At the top of a file: `# yaml-language-server: $schema=certctl.schema.json`
    Schema(SchemaArgs),
    /// Print the version; with -v every directory and setting, and where it comes from.
    Version(VersionArgs),
    /// Print a completion script for a shell
    ///
    /// bash: certctl completion bash > /etc/bash_completion.d/certctl
    #[command(verbatim_doc_comment)]
    Completion(CompletionArgs),
    /// Write the manual into a folder, or print certctl(1)
    ///
    /// `certctl man /usr/local/share/man/man1` writes every page, of sections 5 and 7 too.
    #[command(verbatim_doc_comment)]
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::resource::GoDuration;

    #[test]
    fn the_tree_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_verbs_are_those_that_exist() {
        let command = Arguments::command();
        let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(
            verbs,
            [
                "issue",
                "renew",
                "plan",
                "validate",
                "status",
                "inspect",
                "check",
                "rehearse",
                "deploy",
                "revoke",
                "rollback",
                "create",
                "account",
                "forget",
                "timer",
                "explain",
                "schema",
                "version",
                "completion",
                "man"
            ]
        );
    }

    #[test]
    fn short_help_shows_six_flags_and_long_help_all() {
        let mut command = Arguments::command();
        command.build();
        let issue = command.find_subcommand_mut("issue").unwrap();
        let short = issue.render_help().to_string();
        let flags: Vec<&str> = short
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix('-')?.split([',', ' ']).next())
            .collect();
        assert_eq!(flags, ["h", "f", "n", "o", "v", "q"], "{short}");
        let long = issue.render_long_help().to_string();
        assert!(long.contains("Global options:"), "{long}");
        for flag in ["--self-check-interval", "--http01-listen", "[env: CERTCTL_STATE_DIR]"] {
            assert!(long.contains(flag), "{flag}: {long}");
        }
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
        let Verb::Issue(issue) = parsed.verb else { panic!("{:?}", parsed.verb) };
        assert_eq!(issue.targets, ["web"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            vec!["--timeout", "90d"],
            vec!["--timeout", "0s"],
            vec!["--self-check-interval", "-1s"],
            vec!["--parallel", "0"],
            vec!["--output", "table"],
            vec!["--namespace", "Not_A_Label"],
            vec!["-l", "a b"],
            vec!["-q", "-v"],
        ] {
            let line = [vec!["certctl", "issue"], words].concat();
            assert!(Arguments::try_parse_from(&line).is_err(), "{line:?}");
        }
    }
}
