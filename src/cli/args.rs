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
mod run;
mod timer;
mod values;
mod view;

use clap::{ArgAction, Parser, Subcommand};

pub use account::{AccountDeactivateArgs, AccountIssuerArgs, AccountVerb};
pub use certificate::{
    DeployArgs, ForgetArgs, IssueArgs, PlanArgs, RenewArgs, RevokeArgs, RollbackArgs,
};
pub use check::{CheckAcmeArgs, CheckDnsArgs, CheckHttpArgs, CheckVerb, DoctorArgs};
pub use create::{
    CreateArgs, CreateCertificateArgs, CreateIssuerArgs, CreateRequestArgs, CreateVerb, Dns01,
};
pub use global::{Format, GlobalArgs, HTTP01_LISTEN, HookTime, RESOLVERS};
pub use manifest::{RehearseArgs, ValidateArgs};
pub use manual::{CompletionArgs, ExplainArgs, HelpArgs, ManArgs, SchemaArgs, VersionArgs};
pub use run::{Endpoint, RunArgs};
pub use timer::{TimerPrintArgs, TimerVerb};
pub use values::{HostPort, Resolve, ValueError};
pub use view::{DescribeArgs, InspectArgs, StatusArgs};

/// cert-manager without a cluster: issues and renews the certificates described in YAML files.
///
/// certctl reads cert-manager's Certificate and Issuer manifests from files, obtains and renews
/// the certificates from an ACME CA, and keeps them in files. A first run:
///
///   certctl validate web.yaml    check the manifests (offline)
///   certctl rehearse web.yaml    the whole flow against a built-in throw-away CA
///   certctl issue web.yaml       issue it; run `certctl issue` from cron to renew it
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
    /// What to do; without a verb there is a start page.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Issue or renew whatever is missing or due (safe to repeat; run it from cron).
    ///
    /// Without arguments: all certificates of the config directory and those issued from files
    /// before. Prints nothing when nothing is due.
    #[command(alias = "apply")]
    Issue(IssueArgs),
    /// Issue certificates now, due or not; bypasses the backoff.
    ///
    /// For cron use `certctl issue`.
    Renew(RenewArgs),
    /// Show what `issue` would do, and why; changes nothing.
    ///
    /// Per certificate: the action, its reason, what differs, the solver of each name and the cost
    /// in orders. Contacts no server. --exit-code exits with 10 if anything would change.
    Plan(PlanArgs),
    /// Check manifests, offline.
    Validate(ValidateArgs),
    /// Show all certificates, or a summary of one.
    ///
    /// -o wide adds columns, -o yaml prints cert-manager's own kinds, --exit-code exits with 8 unless
    /// all are READY or RENEWING. OVERDUE: more than a tenth of the time between renewalTime and
    /// notAfter has gone without a renewal, whatever the reason. WAITING: an order waits, and no
    /// process works on it. INVALID: the manifest has an error. STATE DAMAGED: exit code 7.
    #[command(aliases = ["get", "list", "ls", "show", "certificates"])]
    Status(StatusArgs),
    /// Show all that is known of one certificate: events, order, challenges, revocations.
    Describe(DescribeArgs),
    /// Show one certificate: from the state, a file, standard input or a server.
    ///
    /// Shows names, key, chain, trust and revocation. --exit-code exits with 8 if it is expired or
    /// revoked, as the CA or the state says, or if its key, its Certificate or the server does not
    /// match.
    Inspect(InspectArgs),
    /// Diagnose DNS, HTTP and the CA without changing anything.
    #[command(subcommand)]
    Check(CheckVerb),
    /// Show what on this host would stop a run, with the command that fixes it.
    ///
    /// Changes nothing. Checks folders, hooks, outputs, secrets, the HTTP-01 port, the scheduler and
    /// overdue certificates; then, over the network, CAs, accounts, the clock and DNS. Exits
    /// with 3 if something is wrong (with --exit-code: 8), with 7 if the state is damaged.
    Doctor(DoctorArgs),
    /// Run the whole flow against a built-in throw-away CA; changes no real state.
    Rehearse(RehearseArgs),
    /// Write pending outputs and run pending hooks again, without issuing.
    ///
    /// Without arguments: for all certificates. Completed steps are not repeated.
    Deploy(DeployArgs),
    /// Replace a certificate and revoke the old one
    ///
    /// If a private key has leaked, this is enough:
    ///
    ///   certctl revoke NAME --reason keyCompromise
    ///
    /// certctl generates a new key, even with rotationPolicy: Never, issues a certificate for it,
    /// writes the files, runs the hooks, and then revokes the old certificate. certctl never uses
    /// the old key again. `certctl status` lists the names, `certctl status NAME` the revocation.
    /// With --now, certctl revokes the old certificate first: servers present a revoked certificate
    /// until the new one is deployed.
    ///
    /// If a run is killed, the next `issue` finishes it, unless --cancel cancels it. With FILE: revokes the first certificate
    /// in it, signed by the account of an Issuer that issued it or by its own key, and issues
    /// nothing.
    #[command(verbatim_doc_comment)]
    Revoke(RevokeArgs),
    /// Go back to the previous certificate and key, and deploy them.
    ///
    /// That certificate stays live until its renewal is due, until `certctl renew NAME`, or until
    /// its manifest changes. If its renewal is already due, certctl renews it after two thirds of
    /// its remaining time. certctl never goes back to an expired or revoked certificate or a banned
    /// key.
    Rollback(RollbackArgs),
    /// Print manifests for a CA and a certificate; or create a one-off key and CSR.
    ///
    /// Without arguments on a terminal: asks for the CA, the names and the options, shows the
    /// manifests, and writes them after confirmation.
    Create(CreateArgs),
    /// Show, register, update or deactivate ACME accounts.
    #[command(subcommand)]
    Account(AccountVerb),
    /// Stop managing a certificate; its files stay unless --secret.
    Forget(ForgetArgs),
    /// Generate cron, systemd or launchd files.
    #[command(subcommand)]
    Timer(TimerVerb),
    /// Run `certctl issue` now and at every interval, for containers and hosts without cron.
    ///
    /// Each run is a separate process. SIGHUP starts a run; SIGTERM stops the current run cleanly
    /// and exits. Between runs, certctl keeps the HTTP-01 port open if the manifests need it.
    /// /healthz returns 503 if runs cannot do their work. /metrics has the state of the
    /// certificates, as printed by `status -o prometheus`.
    Run(RunArgs),
    /// Explain a field of a manifest: `certctl explain certificate.spec.renewBefore`.
    Explain(ExplainArgs),
    /// Print the JSON Schema of the manifests, for editors, or of the -o json output.
    ///
    /// At the top of a file: `# yaml-language-server: $schema=certctl.schema.json`
    Schema(SchemaArgs),
    /// Print the version; with -v also the directories and settings, with their origin.
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
    /// Show the help of a verb, or a topic: exit-codes, files, flags, hooks, manifests.
    Help(HelpArgs),
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
                "describe",
                "inspect",
                "check",
                "doctor",
                "rehearse",
                "deploy",
                "revoke",
                "rollback",
                "create",
                "account",
                "forget",
                "timer",
                "run",
                "explain",
                "schema",
                "version",
                "completion",
                "man",
                "help"
            ]
        );
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
}
