//! Words of other tools (certbot, lego, acme.sh, kubectl): each leads to the command for it.
//!
//! Contract: what is truly the same thing is an alias of its verb (`args`) and needs no row. Of any
//! other word the table has one sentence and the command to type, with capitals for what it is about; the
//! exit code is that of an error of usage.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::render::report::short;
use crate::manifest::{self, Source};
use crate::resource::DnsName;
use crate::trust::quoted;

/// Some words, and where they lead.
struct Row {
    words: &'static [&'static str],
    /// A whole sentence without its beginning: "there is no `word`; …".
    sentence: &'static str,
    /// The command to type.
    command: &'static str,
}

/// Where the word leads that clap refused; `None` for one that no other tool has.
pub(super) fn advice(
    refusal: &clap::Error,
    words: &[OsString],
    config: Option<&Path>,
) -> Option<CliError> {
    let kind = if refusal.kind() == ErrorKind::InvalidSubcommand {
        ContextKind::InvalidSubcommand
    } else if refusal.kind() == ErrorKind::UnknownArgument {
        ContextKind::InvalidArg
    } else {
        return None;
    };
    let Some(ContextValue::String(word)) = refusal.get(kind) else { return None };
    let word = word.split('=').next().unwrap_or(word);
    if kind == ContextKind::InvalidSubcommand
        && let Some(error) = of_name(refusal, word, words, config)
    {
        return Some(error);
    }
    let row = match of_group(refusal, word, words).or_else(|| of_list(word, words)) {
        Some(_) if is_typo_of_ours(refusal, word) => return None,
        Some(row) => row,
        None => row(word)?,
    };
    let message = format!("there is no `{word}`: {}", row.sentence);
    Some(CliError::new(ExitCode::Usage, message).trying(row.command))
}

/// Where a name leads that stands in the place of a verb: that of a Certificate, or a DNS name behind
/// `check`.
fn of_name(
    refusal: &clap::Error,
    word: &str,
    words: &[OsString],
    config: Option<&Path>,
) -> Option<CliError> {
    if row(word).is_some() || is_typo_of_ours(refusal, word) {
        return None;
    }
    let group = of_group(refusal, word, words);
    let is_of_check = group.is_some_and(|group| group.words.contains(&"check"));
    let is_dns_name = word.contains('.') && word.parse::<DnsName>().is_ok();
    let (message, command) = if is_of_check && is_dns_name {
        let message = format!("what to check comes before the name `{word}`: http or dns");
        (message, format!("certctl check http {}", quoted(Path::new(word))))
    } else {
        let certificate = config.and_then(|config| described(config, word))?;
        let before = if is_of_check {
            "`check` diagnoses dns DNSNAME, http DNSNAME or acme"
        } else {
            "a verb comes before its name"
        };
        let message = format!("`{word}` is a certificate, not a verb: {before}; to see its state");
        (message, format!("certctl status {}", quoted(Path::new(&certificate))))
    };
    Some(CliError::new(ExitCode::Usage, message).trying(command))
}

/// The Certificate of this name, or for this DNS name, that a folder of manifests has.
fn described(config: &Path, name: &str) -> Option<String> {
    let source = Source::Directory(config.to_owned());
    let loaded = manifest::load(&[source], &manifest::Options::default());
    let mut certificates = loaded.certificates.iter();
    let found = certificates.find(|one| {
        one.metadata.name == name
            || one.spec.dns_names.iter().any(|dns_name| dns_name.to_string() == name)
    })?;
    Some(short(&found.metadata.key()))
}

fn row(word: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.words.contains(&word))
}

/// Where a word leads behind a verb that has verbs of its own: what is asked of `account` is not
/// asked of certctl.
fn of_group(refusal: &clap::Error, word: &str, words: &[OsString]) -> Option<&'static Row> {
    let is_verb = refusal.kind() == ErrorKind::InvalidSubcommand;
    let of = |given: &OsString| {
        // The flags of a scheduler are no flags of certctl, either.
        GROUPS
            .iter()
            .find(|row| row.words.iter().any(|verb| given == verb))
            .filter(|_| is_verb || given == "timer")
    };
    if is_verb {
        words.iter().skip(1).take_while(|given| *given != word).find_map(of)
    } else {
        words.get(1).and_then(of)
    }
}

/// Where a flag leads behind some verbs only: `-a` of ls and docker, and `-w` of kubectl, behind the
/// verb that shows all in any case; `--all` behind those that are about all.
fn of_list(word: &str, words: &[OsString]) -> Option<&'static Row> {
    let verb = words.get(1)?;
    let is_of = |verbs: &[&str]| verbs.iter().any(|one| verb == one);
    match word {
        "-a" | "--all" if is_of(LISTS) => Some(&ALL),
        "-w" | "--watch" if is_of(LISTS) => Some(&WATCH),
        "--all" if is_of(OF_ALL) => Some(&WITHOUT_NAMES),
        _ => None,
    }
}

/// Whether clap knows a verb that was mistyped.
fn is_typo_of_ours(refusal: &clap::Error, word: &str) -> bool {
    let verbs = refusal.get(ContextKind::SuggestedSubcommand);
    matches!(verbs, Some(ContextValue::Strings(verbs)) if verbs.iter().any(|verb| is_typo(word, verb)))
}

/// Takes from clap's similar verbs those that give something up, unless what was typed is a typing
/// error of theirs: `revert` is none of `revoke`.
pub(super) fn without_destructive(mut refusal: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = refusal.get(ContextKind::InvalidSubcommand) else {
        return refusal;
    };
    let Some(ContextValue::Strings(verbs)) = refusal.get(ContextKind::SuggestedSubcommand) else {
        return refusal;
    };
    let is_harmless = |verb: &&String| !DESTRUCTIVE.contains(&verb.as_str()) || is_typo(word, verb);
    let harmless: Vec<String> = verbs.iter().filter(is_harmless).cloned().collect();
    if harmless.is_empty() {
        refusal.remove(ContextKind::SuggestedSubcommand);
    } else {
        refusal.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(harmless));
    }
    refusal
}

/// Whether a word is this verb with a typing error: one letter, or two of a long verb, and never the
/// first, which makes another word (`reactivate`).
pub(super) fn is_typo(word: &str, verb: &str) -> bool {
    let errors = strsim::osa_distance(word, verb);
    word.chars().next() == verb.chars().next() && errors <= (verb.len() / 4).clamp(1, 2)
}

/// The verbs with verbs of their own, and where a word leads that is none of these.
const GROUPS: &[Row] = &[
    Row {
        words: &["check"],
        sentence: "`check` diagnoses dns DNSNAME, http DNSNAME or acme; for the state of a \
                   certificate",
        command: "certctl status",
    },
    Row {
        words: &["timer"],
        sentence: "`timer` prints the files of a scheduler, each with the place where it belongs",
        command: "certctl timer print --systemd",
    },
    Row {
        words: &["account"],
        sentence: "`account` shows, registers, updates or deactivates ACME accounts",
        command: "certctl account show",
    },
    Row {
        words: &["create"],
        sentence: "`create` prints the manifest of an issuer or a certificate, or creates a \
                   certificaterequest",
        command: "certctl create certificate DNSNAME",
    },
];

/// The row of nouns that a verb shows.
macro_rules! shown {
    ($words:expr, $verb:literal, $what:literal) => {
        Row {
            words: $words,
            sentence: concat!("`", $verb, "` shows ", $what),
            command: concat!("certctl ", $verb),
        }
    };
}

/// `status`, by all its names: elsewhere, lists take `-a`.
const LISTS: &[&str] = &["status", "get", "list", "ls", "show", "certificates"];
const ALL: Row = Row {
    words: &["-a"],
    sentence: "`status` shows all certificates; -o wide shows more of each",
    command: "certctl status -o wide",
};
const WATCH: Row = Row {
    words: &["-w", "--watch"],
    sentence: "`status` prints once; to repeat it every two seconds",
    command: "watch certctl status",
};
/// The verbs that are about all certificates, unless some are named.
const OF_ALL: &[&str] = &["issue", "apply", "plan", "validate", "deploy", "rehearse"];
const WITHOUT_NAMES: Row = Row {
    words: &["--all"],
    sentence: "without names, the command is about all certificates",
    command: "certctl issue",
};

const PRINT_TIMER: &str = "a scheduler starts `certctl issue`: the packages have certctl.timer for \
                           systemctl enable and disable; to print the files of another";
/// See the module. A word stands in one row.
const ROWS: &[Row] = &[
    Row {
        words: &["certonly", "obtain", "--issue", "enroll"],
        sentence: "`certctl issue` obtains what the manifests describe; a new name needs a \
                   manifest first",
        command: "certctl create certificate DNSNAME",
    },
    Row {
        words: &["-d", "--domain", "--domains"],
        sentence: "the manifest has the DNS names of a certificate",
        command: "certctl create certificate DNSNAME",
    },
    Row {
        words: &["init", "setup", "wizard", "configure"],
        sentence: "certctl needs only a manifest; on a terminal, this command asks for its \
                   contents",
        command: "certctl create",
    },
    Row {
        words: &["new", "add"],
        sentence: "each certificate needs a manifest",
        command: "certctl create certificate DNSNAME --into FOLDER",
    },
    Row {
        words: &["delete", "remove", "rm", "--remove"],
        sentence: "`forget` stops managing a certificate and leaves its files; `revoke` revokes it",
        command: "certctl forget NAME",
    },
    Row {
        words: &["uninstall", "--uninstall"],
        sentence: "the package manager that installed certctl removes it, and leaves certificates \
                   and keys; to show where it is",
        command: "certctl version -v",
    },
    Row {
        words: &["register", "--register-account", "--register"],
        sentence: "`certctl issue` registers the account when it needs one; to register it now",
        command: "certctl account register",
    },
    Row {
        words: &["update_account", "--update-account"],
        sentence: "the Issuer has the e-mail address; to send it to the CA",
        command: "certctl account update",
    },
    Row {
        words: &["unregister", "deactivate", "--deactivate-account"],
        sentence: "to deactivate an account permanently",
        command: "certctl account deactivate ISSUER",
    },
    Row {
        words: &["enhance", "nginx", "apache", "--nginx", "--apache"],
        sentence: "certctl does not edit the configuration of web servers; it writes the files, \
                   and reloads the server by a hook",
        command: "certctl create certificate DNSNAME --webroot FOLDER --reload nginx",
    },
    Row {
        words: &["install", "reinstall", "--install-cert", "--installcert", "--deploy"],
        sentence: "`issue` writes the files and runs the hooks that the Certificate names; to do \
                   that again",
        command: "certctl deploy --again",
    },
    Row {
        words: &[
            "--hook",
            "--deploy-hook",
            "--post-hook",
            "--renew-hook",
            "--reloadcmd",
            "--renewhook",
        ],
        sentence: "the Certificate names its hooks, not the command line",
        command: "certctl create certificate DNSNAME --reload PROGRAM",
    },
    Row {
        words: &["webroot", "--webroot", "--webroot-path", "-w"],
        sentence: "the Certificate names the webroot",
        command: "certctl create certificate DNSNAME --webroot FOLDER",
    },
    Row {
        words: &["--cert-name", "--cert-path"],
        sentence: "the name or the file of a certificate is typed behind the verb, without a flag",
        command: "certctl renew NAME",
    },
    Row {
        words: &["--key-type", "--keylength", "-k", "--rsa-key-size", "--elliptic-curve"],
        sentence: "the Certificate has the type and the size of its key",
        command: "certctl explain certificate.spec.privateKey",
    },
    Row {
        words: &["standalone", "--standalone", "--http", "--http.port"],
        sentence: "certctl listens on port 80 itself, unless the manifest names a webroot or another \
                   port",
        command: "certctl create issuer letsencrypt",
    },
    Row {
        words: &["--dns"],
        sentence: "the Issuer names the DNS provider",
        command: "certctl create issuer letsencrypt --dns01 PROVIDER",
    },
    Row {
        words: &["--email", "-m", "--accountemail"],
        sentence: "the Issuer has the e-mail address",
        command: "certctl create issuer letsencrypt --email ADDRESS",
    },
    Row {
        words: &["--staging", "--test-cert", "--test"],
        sentence: "the Issuer names the CA, also a staging CA",
        command: "certctl create issuer letsencrypt-staging",
    },
    Row {
        words: &["--server", "-s"],
        sentence: "the Issuer names the CA",
        command: "certctl create issuer ca --server URL",
    },
    Row {
        words: &["--agree-tos", "--accept-tos", "-a"],
        sentence: "not needed: by using an Issuer you agree to the terms of service of its CA",
        command: "certctl issue",
    },
    Row {
        words: &["--non-interactive", "--noninteractive", "--keep-until-expiring", "--keep"],
        sentence: "not needed: `issue` asks no questions and renews only what is due",
        command: "certctl issue",
    },
    Row {
        words: &["--dry-run", "dry-run", "dryrun", "diff", "--diff", "test", "simulate"],
        sentence: "`plan` shows what `issue` would do; `rehearse` runs everything with a built-in \
                   CA",
        command: "certctl plan",
    },
    Row {
        words: &["--force", "--force-renewal", "--renew-by-default"],
        sentence: "`renew` issues a certificate now, due or not",
        command: "certctl renew NAME",
    },
    Row {
        words: &[
            "--renew",
            "--renew-all",
            "--renewAll",
            "--cron",
            "update",
            "up",
            "sync",
            "reconcile",
        ],
        sentence: "`issue` renews what is due and nothing else: it is the verb for cron",
        command: "certctl issue",
    },
    Row {
        words: &["--install-cronjob", "--installcronjob", "cron", "schedule"],
        sentence: "to print the files for cron, systemd or launchd",
        command: "certctl timer print --cron",
    },
    Row {
        words: &["--upgrade", "upgrade", "self-update", "selfupdate", "--self-update", "--update"],
        sentence: "the package manager that installed certctl updates it; to show this version and \
                   where it is",
        command: "certctl version -v",
    },
    Row {
        words: &["--list", "--info", "info", "ps", "list-certs", "list-certificates"],
        sentence: "to show all certificates, or one",
        command: "certctl status",
    },
    Row {
        words: &["check-config", "checkconfig", "configtest", "lint"],
        sentence: "`validate` checks the manifests, and what they need of this host",
        command: "certctl validate",
    },
    Row {
        words: &["--revoke"],
        sentence: "to replace and revoke a certificate",
        command: "certctl revoke NAME",
    },
    Row {
        words: &["start", "enable", "daemon"],
        sentence: PRINT_TIMER,
        command: "certctl timer print --systemd",
    },
    Row {
        words: &["serve", "server", "watch", "loop"],
        sentence: "`run` renews at every interval until it is stopped, for containers and hosts \
                   without a scheduler",
        command: "certctl run",
    },
    Row {
        words: &["--interval", "--period", "--schedule"],
        sentence: "`run --every` has the time from one run to the next; the timer or the crontab has \
                   it elsewhere",
        command: "certctl run --every 1h",
    },
    Row {
        words: &["lego", "certbot", "acme.sh", "kubectl", "cmctl"],
        sentence: "the page \"Switch from another client\" of the book (how-to/switch.md) has its \
                   commands beside those of certctl; to list the verbs",
        command: "certctl help",
    },
    Row {
        words: &["stop", "disable"],
        sentence: PRINT_TIMER,
        command: "certctl timer print --systemd",
    },
    Row {
        words: &["reload", "restart"],
        sentence: "`deploy` writes the outputs and runs the hooks and reloads of a certificate again",
        command: "certctl deploy --again",
    },
    Row {
        words: &["logs", "log", "events", "history"],
        sentence: "`describe` shows the events of a certificate; a run logs to stderr, which cron \
                   mails and systemd keeps (journalctl -u certctl)",
        command: "certctl describe NAME",
    },
    Row {
        words: &["config", "settings", "show-config"],
        sentence: "settings are flags, environment variables and config.toml; to show those in \
                   force and their origin",
        command: "certctl version -v",
    },
    Row {
        words: &["edit", "reconfigure", "modify"],
        sentence: "manifests are files, which `status NAME` names: change them with an editor; \
                   `plan` shows what `issue` would then do",
        command: "certctl plan",
    },
    Row {
        words: &["expand", "--expand"],
        sentence: "the manifest has the DNS names; after a change, `issue` obtains a certificate \
                   for all of them",
        command: "certctl explain certificate.spec.dnsNames",
    },
    Row {
        words: &["export", "backup"],
        sentence: "certctl writes each certificate as files, in the formats that its manifest names; \
                   to show the files",
        command: "certctl status NAME",
    },
    Row {
        words: &["import", "adopt"],
        sentence: "`issue` adopts a key and certificate that are in the secret's folder, without \
                   an order; `status` shows the folder",
        command: "certctl status NAME",
    },
    Row {
        words: &["hook", "hooks"],
        sentence: "the Certificate names its hooks: programs in the hook directory",
        command: "certctl help hooks",
    },
    Row {
        words: &["rotate", "rekey", "rotate-key", "reissue", "re-issue"],
        sentence: "`renew` issues a certificate now, with a new key unless the manifest says \
                   rotationPolicy: Never",
        command: "certctl renew NAME",
    },
    Row {
        words: &["restore", "revert", "undo"],
        sentence: "`rollback` goes back to the previous certificate and key; to show the revisions \
                   first",
        command: "certctl status request",
    },
    Row {
        words: &["verify"],
        sentence: "`inspect` shows a certificate, its chain and whether it is trusted or revoked; \
                   `validate` checks manifests",
        command: "certctl inspect NAME",
    },
    shown!(
        &["cert", "certs", "crt", "certificate"],
        "status",
        "all certificates, or one; `create certificate` prints a manifest"
    ),
    shown!(
        &["order", "orders"],
        "status order",
        "ACME orders; `issue` places those that are missing"
    ),
    shown!(&["challenge", "challenges"], "status challenge", "ACME challenges"),
    shown!(
        &["request", "requests", "certificaterequest", "certificaterequests", "cr"],
        "status request",
        "requests; `create certificaterequest` creates a CSR"
    ),
    shown!(
        &["issuer", "issuers", "clusterissuer", "clusterissuers"],
        "status issuer",
        "issuers; `create issuer` prints a manifest"
    ),
    shown!(&["accounts", "show_account"], "account show", "ACME accounts"),
    Row {
        words: &["secret", "secrets"],
        sentence: "a Secret is a folder of files; `status NAME` shows the files of a certificate, \
                   `help files` where all others are",
        command: "certctl status NAME",
    },
    Row {
        words: &["login", "logout"],
        sentence: "an ACME account has no session: its key signs each request; to show the accounts",
        command: "certctl account show",
    },
    Row { words: &["--json"], sentence: "-o json prints JSON", command: "certctl status -o json" },
    Row {
        words: &["--debug", "--trace"],
        sentence: "-v prints more; -vvv also prints each ACME exchange",
        command: "certctl issue -vvv",
    },
    Row {
        words: &["cleanup", "clean", "prune"],
        sentence: "the next `issue` removes what an interrupted run left, DNS records too",
        command: "certctl issue",
    },
];

/// The verbs that give up a certificate, a key, an account or what certctl knows of them.
const DESTRUCTIVE: &[&str] = &["deactivate", "forget", "revoke", "rollback"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Arguments;

    fn suggested(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let refusal = Arguments::command().try_get_matches_from(&words).err()?;
        let refusal = without_destructive(refusal);
        advice(&refusal, &words, Some(Path::new("/nowhere"))).map(|error| {
            assert_eq!(error.code, ExitCode::Usage, "{line}");
            error.hint.unwrap().to_string()
        })
    }

    /// The verb that an alias is.
    fn verb(line: &str) -> Option<String> {
        let words = line.split(' ');
        let matches = Arguments::command().try_get_matches_from(words).ok()?;
        matches.subcommand_name().map(str::to_owned)
    }

    #[test]
    fn a_name_in_the_place_of_a_verb_leads_to_the_verb_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web}\n\
                        spec:\n  secretName: web-tls\n  issuerRef: {name: ca}\n  \
                        dnsNames: [www.example.test]\n";
        let mut file = std::fs::File::create_new(folder.path().join("web.yaml")).unwrap();
        std::io::Write::write_all(&mut file, manifest.as_bytes()).unwrap();
        let led = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let refusal = Arguments::command().try_get_matches_from(&words).unwrap_err();
            let error = advice(&refusal, &words, Some(folder.path())).unwrap();
            (error.message, error.hint.unwrap().to_string())
        };
        for (line, message, command) in [
            (
                "certctl check web",
                "`web` is a certificate, not a verb: `check` diagnoses dns DNSNAME, http DNSNAME \
                 or acme; to see its state",
                "certctl status web",
            ),
            (
                "certctl web",
                "`web` is a certificate, not a verb: a verb comes before its name; to see its state",
                "certctl status web",
            ),
            (
                "certctl check www.example.test",
                "what to check comes before the name `www.example.test`: http or dns",
                "certctl check http www.example.test",
            ),
        ] {
            assert_eq!(led(line), (message.to_owned(), command.to_owned()), "{line}");
        }
    }

    #[test]
    fn each_word_of_another_tool_leads_to_the_command_for_it() {
        for (line, command) in [
            ("certctl certonly --nginx -d a.example", "certctl create certificate DNSNAME"),
            ("certctl issue -d a.example", "certctl create certificate DNSNAME"),
            ("certctl init", "certctl create"),
            ("certctl delete web", "certctl forget NAME"),
            ("certctl issue --dry-run", "certctl plan"),
            ("certctl issue web --staging", "certctl create issuer letsencrypt-staging"),
            ("certctl renew --cert-name web", "certctl renew NAME"),
            ("certctl --upgrade", "certctl version -v"),
            ("certctl list -a", "certctl status -o wide"),
            ("certctl get web --watch", "watch certctl status"),
            ("certctl deploy --all", "certctl issue"),
            ("certctl plan web --json", "certctl status -o json"),
            ("certctl timer install", "certctl timer print --systemd"),
            ("certctl account delete letsencrypt", "certctl account show"),
            ("certctl create www.example.com", "certctl create certificate DNSNAME"),
            ("certctl orders web-1-1", "certctl status order"),
        ] {
            assert_eq!(suggested(line).as_deref(), Some(command), "{line}");
        }
    }

    #[test]
    fn a_word_for_the_same_thing_is_the_verb_itself() {
        for (line, same) in [
            ("certctl describe web", "describe"),
            ("certctl get certificates", "status"),
            ("certctl list", "status"),
            ("certctl ls", "status"),
            ("certctl show web", "status"),
            ("certctl certificates", "status"),
            ("certctl apply -f web.yaml", "issue"),
        ] {
            assert_eq!(verb(line).as_deref(), Some(same), "{line}");
        }
    }

    #[test]
    fn a_verb_that_gives_something_up_is_proposed_for_its_own_typing_errors_only() {
        let is_proposed = |line: &str| {
            let refusal = Arguments::command().try_get_matches_from(line.split(' ')).unwrap_err();
            let suggested = without_destructive(refusal).to_string();
            suggested
                .split(|letter: char| !letter.is_alphanumeric())
                .any(|word| DESTRUCTIVE.contains(&word))
        };
        for line in [
            "certctl revok",
            "certctl revoek web",
            "certctl forgot",
            "certctl rolback",
            "certctl rollbak",
            "certctl account deactivte",
        ] {
            assert!(is_proposed(line), "{line}");
        }
        for line in [
            "certctl revert",
            "certctl revise",
            "certctl recover",
            "certctl reset",
            "certctl format",
            "certctl purge",
            "certctl callback",
            "certctl roll",
            "certctl account activate",
            "certctl account reactivate",
        ] {
            assert!(!is_proposed(line), "{line}");
        }
    }

    #[test]
    fn a_word_of_ours_or_of_nobody_leads_nowhere() {
        for line in [
            "certctl isue",
            "certctl issue --tiemout 5m",
            "certctl check dnss",
            "certctl account regster",
            "certctl check",
            "certctl issue --timeout 90d",
            "certctl create issuer letsencrypt --staging --email a",
            "certctl create certificate a.example --webroot /var/www",
            "certctl issue -n list",
            "certctl revoke web --all",
        ] {
            assert_eq!(suggested(line), None, "{line}");
        }
    }

    #[test]
    fn a_word_stands_in_one_row_and_is_no_verb() {
        let tree = Arguments::command();
        let mut seen = BTreeSet::new();
        for word in ROWS.iter().flat_map(|row| row.words) {
            assert!(seen.insert(word), "{word}");
            assert!(tree.find_subcommand(word).is_none(), "{word}");
        }
        assert!(!seen.contains(&"run"));
    }

    #[test]
    fn every_command_is_one_that_is_taken() {
        for row in ROWS.iter().chain(GROUPS) {
            let command = row.command.replace("PROVIDER", "cloudflare");
            let command = command.replace("URL", "https://ca.example/dir");
            let taken = Arguments::command().try_get_matches_from(command.split(' '));
            assert!(taken.is_ok(), "{command}: {:?}", taken.err());
        }
    }
}
