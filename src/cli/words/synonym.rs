//! Words of other tools (certbot, lego, acme.sh, kubectl), each with the sentence that leads on.
//!
//! Contract: a word that means the same as a verb is an alias of that verb (`args`) and has no row. All
//! other errors of the command line are clap's.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Advice on a word that another tool has; `None` leaves the error to clap. The tree is that of all
/// verbs.
pub(in crate::cli) fn advice(
    refusal: &clap::Error,
    words: &[OsString],
    tree: &Command,
) -> Option<String> {
    let is_first = !is_below(refusal, words, tree);
    let kind = if refusal.kind() == ErrorKind::InvalidSubcommand && is_first {
        ContextKind::InvalidSubcommand
    } else if refusal.kind() == ErrorKind::UnknownArgument {
        ContextKind::InvalidArg
    } else {
        return None;
    };
    let Some(ContextValue::String(word)) = refusal.get(kind) else { return None };
    let word = word.split('=').next().unwrap_or(word);
    let (_, sentence) = ROWS.iter().find(|(words, _)| words.split(' ').any(|one| one == word))?;
    Some(format!("there is no `{word}`: {sentence}"))
}

/// Returns whether the refused verb stands below another, which gives it another meaning: `account
/// delete`.
fn is_below(refusal: &clap::Error, words: &[OsString], tree: &Command) -> bool {
    let Some(ContextValue::String(word)) = refusal.get(ContextKind::InvalidSubcommand) else {
        return false;
    };
    let mut before = words.iter().skip(1).take_while(|one| *one != word.as_str());
    before.any(|one| tree.find_subcommand(one).is_some())
}

/// Takes from clap's suggestions those that are no typing error: `tls-alpn` is none of `ls`, and
/// `revert` none of `revoke`.
pub(in crate::cli) fn near(mut refusal: clap::Error) -> clap::Error {
    for (of, by) in [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    ] {
        let Some(ContextValue::String(word)) = refusal.get(of) else { continue };
        let is_near = |one: &String| is_typo(word, one);
        let near = match refusal.get(by) {
            Some(ContextValue::String(one)) => {
                is_near(one).then(|| ContextValue::String(one.clone()))
            }
            Some(ContextValue::Strings(all)) => {
                let near: Vec<String> = all.iter().filter(|one| is_near(one)).cloned().collect();
                (!near.is_empty()).then_some(ContextValue::Strings(near))
            }
            _ => continue,
        };
        match near {
            Some(near) => drop(refusal.insert(by, near)),
            None => drop(refusal.remove(by)),
        }
    }
    refusal
}

/// Returns whether a word is this one with a typing error: one letter, or two of a long one, and
/// never the first, which makes another word (`reactivate`).
fn is_typo(word: &str, meant: &str) -> bool {
    let [word, meant] = [word, meant].map(|one| one.trim_start_matches('-'));
    let word = word.split('=').next().unwrap_or(word);
    let errors = strsim::osa_distance(word, meant);
    word.chars().next() == meant.chars().next() && errors <= (meant.len() / 4).clamp(1, 2)
}

/// Words, and a sentence that continues "there is no `word`:". At most 40 rows.
const ROWS: &[(&str, &str)] = &[
    (
        "certonly obtain enroll --issue",
        "`certctl issue` obtains the certificates that have a manifest, and `certctl create` writes a \
         manifest",
    ),
    (
        "-d --domain --domains",
        "the manifest has the DNS names; `certctl create certificate DNSNAME` writes one",
    ),
    (
        "init setup wizard configure new add",
        "`certctl create` asks a few questions and writes the manifests",
    ),
    (
        "delete remove rm --remove",
        "`certctl forget NAME` stops managing a certificate and leaves its files; `certctl revoke NAME` \
         revokes it",
    ),
    (
        "register --register-account --register",
        "`certctl account register` registers an account; `certctl issue` does so when it needs one",
    ),
    (
        "update_account --update-account",
        "`certctl account update` sends the e-mail address of the Issuer to the CA",
    ),
    (
        "unregister deactivate --deactivate-account",
        "`certctl account deactivate ISSUER` deactivates an account permanently",
    ),
    ("accounts show_account login logout", "`certctl account show` shows the ACME accounts"),
    (
        "enhance nginx apache --nginx --apache",
        "certctl does not configure web servers; `certctl help hooks` says how to reload one",
    ),
    (
        "install reinstall --install-cert --installcert --deploy reload restart",
        "`certctl deploy --again` writes the files and reloads the servers again",
    ),
    (
        "hook hooks --hook --deploy-hook --post-hook --renew-hook --reloadcmd --renewhook",
        "the Certificate names its hooks; see `certctl help hooks`",
    ),
    (
        "webroot --webroot --webroot-path",
        "the Certificate names the web root; `certctl create certificate DNSNAME --webroot FOLDER` writes \
         one",
    ),
    (
        "standalone --standalone --http --http.port",
        "certctl listens on port 80 itself unless a web root is named; see `certctl help port-80`",
    ),
    (
        "--dns",
        "the Issuer names the DNS provider; `certctl create issuer NAME --dns01 PROVIDER` writes one",
    ),
    ("--cert-name --cert-path", "the name follows the verb, as in `certctl renew NAME`"),
    (
        "--key-type --keylength --rsa-key-size --elliptic-curve",
        "the Certificate has the type and size of its key; see \
         `certctl explain certificate.spec.privateKey`",
    ),
    (
        "--email -m --accountemail",
        "the Issuer has the e-mail address; `certctl create issuer NAME --email ADDRESS` writes one",
    ),
    (
        "--staging --test-cert --test",
        "the Issuer names the CA; `certctl create issuer letsencrypt-staging` writes one for Let's \
         Encrypt's test CA",
    ),
    ("--server", "the Issuer names the CA; `certctl create issuer NAME --server URL` writes one"),
    (
        "--agree-tos --accept-tos",
        "it is not needed, since using an Issuer agrees to the terms of service of its CA",
    ),
    (
        "--non-interactive --noninteractive --keep-until-expiring --keep",
        "it is not needed, since `certctl issue` asks nothing and renews only what is due",
    ),
    (
        "dry-run dryrun --dry-run diff --diff test simulate",
        "`certctl plan` shows what `certctl issue` would do; `certctl rehearse` runs everything with a \
         built-in CA",
    ),
    (
        "--force --force-renewal --renew-by-default rotate rekey rotate-key reissue re-issue",
        "`certctl renew NAME` issues a certificate now, due or not, with a new key unless its \
         rotationPolicy is Never",
    ),
    (
        "--renew --renew-all --renewAll --cron update up sync reconcile",
        "`certctl issue` renews what is due, and is the verb for cron",
    ),
    (
        "--install-cronjob --installcronjob cron schedule start enable stop disable daemon",
        "the packages have certctl.timer; `certctl timer print --cron` prints a line for cron",
    ),
    (
        "serve server watch loop --interval --period",
        "`certctl run` renews at every interval until it is stopped",
    ),
    (
        "upgrade --upgrade self-update selfupdate --update uninstall --uninstall",
        "the package manager updates and removes certctl; `certctl version -v` shows where it is",
    ),
    (
        "--list --info info ps list-certs list-certificates cert certs crt certificate",
        "`certctl status` shows all certificates, and `certctl status NAME` one",
    ),
    (
        "issuer issuers clusterissuer clusterissuers",
        "`certctl status issuer` shows the issuers, and `certctl create issuer NAME` writes a manifest",
    ),
    (
        "order orders challenge challenges",
        "`certctl status order` shows the ACME orders, and `certctl status challenge` their challenges",
    ),
    (
        "request requests certificaterequest certificaterequests cr",
        "`certctl status request` shows the requests; see `certctl help create certificaterequest` for a \
         CSR",
    ),
    (
        "secret secrets export backup",
        "a Secret is a folder of files, and `certctl status NAME` shows where it is",
    ),
    (
        "import adopt",
        "`certctl issue` adopts a key and a certificate that are in the folder of the Secret",
    ),
    ("check-config checkconfig configtest lint", "`certctl validate` checks the manifests"),
    (
        "verify",
        "`certctl inspect NAME` shows a certificate and whether it is trusted; `certctl validate` checks \
         the manifests",
    ),
    (
        "logs log events history",
        "`certctl describe NAME` shows the events of a certificate; a run logs to stderr",
    ),
    (
        "config settings show-config",
        "`certctl version -v` shows the settings in force and where they come from",
    ),
    (
        "edit reconfigure modify expand --expand",
        "edit the manifest, whose file `certctl status NAME` shows; `certctl plan` shows the effect",
    ),
    (
        "restore revert undo",
        "`certctl rollback NAME` goes back to the previous certificate and key",
    ),
    (
        "--json --debug --trace",
        "`-o json` prints JSON, and `-v` more messages (`-vvv`: each request)",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Arguments;

    fn refused(line: &str) -> (clap::Error, Vec<OsString>) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let refusal = Arguments::command().try_get_matches_from(&words).unwrap_err();
        (near(refusal), words)
    }

    fn message(line: &str) -> Option<String> {
        let (refusal, words) = refused(line);
        advice(&refusal, &words, &Arguments::command())
    }

    #[test]
    fn a_word_of_another_tool_leads_to_the_verb_for_it() {
        for (line, verb) in [
            ("certctl certonly --nginx -d a.example", "certctl create"),
            ("certctl issue -d a.example", "certctl create certificate DNSNAME"),
            ("certctl init", "certctl create"),
            ("certctl delete web", "certctl forget NAME"),
            ("certctl plan --dry-run", "certctl plan"),
            ("certctl issue web --staging", "certctl create issuer letsencrypt-staging"),
            (
                "certctl issue --server=https://ca.example",
                "certctl create issuer NAME --server URL",
            ),
            ("certctl renew --cert-name web", "certctl renew NAME"),
            ("certctl --upgrade", "certctl version -v"),
            ("certctl orders web-1-1", "certctl status order"),
        ] {
            assert!(message(line).unwrap().contains(&format!("`{verb}`")), "{line}");
        }
    }

    #[test]
    fn a_word_without_a_row_or_below_a_verb_is_left_to_clap() {
        for line in [
            "certctl isue",
            "certctl nonsense",
            "certctl web",
            "certctl issue --tiemout 5m",
            "certctl check dnss",
            "certctl account delete letsencrypt",
            "certctl timer install",
            "certctl issue --timeout 90d",
            "certctl revoke",
        ] {
            assert_eq!(message(line), None, "{line}");
        }
    }

    #[test]
    fn a_suggestion_of_clap_is_near() {
        let is_suggested = |line: &str| refused(line).0.to_string().contains("similar");
        for line in [
            "certctl isue",
            "certctl statu",
            "certctl revok",
            "certctl revoek web",
            "certctl rolbak",
            "certctl account deactivte",
            "certctl check dnss",
            "certctl issue --tiemout 5m",
            "certctl issue --tiemout=5m",
        ] {
            assert!(is_suggested(line), "{line}");
        }
        for line in [
            "certctl tls-alpn",
            "certctl check tls-alpn",
            "certctl recover",
            "certctl reset",
            "certctl format",
            "certctl purge",
            "certctl callback",
            "certctl roll",
            "certctl account activate",
            "certctl account reactivate",
            "certctl issue --new-key",
        ] {
            assert!(!is_suggested(line), "{line}: {}", refused(line).0);
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
            let matches = Arguments::command().try_get_matches_from(line.split(' ')).unwrap();
            assert_eq!(matches.subcommand_name(), Some(same), "{line}");
        }
    }

    #[test]
    fn a_word_stands_in_one_of_forty_rows_and_is_no_verb() {
        let tree = Arguments::command();
        let mut seen = BTreeSet::new();
        for word in ROWS.iter().flat_map(|(words, _)| words.split(' ')) {
            assert!(seen.insert(word), "{word}");
            assert!(tree.find_subcommand(word).is_none(), "{word}");
        }
        assert!(ROWS.len() <= 40 && !seen.contains("run"), "{}", ROWS.len());
    }

    #[test]
    fn every_command_of_a_row_is_one_that_is_taken() {
        for (_, sentence) in ROWS {
            for command in sentence.split('`').skip(1).step_by(2) {
                let command = command.replace("PROVIDER", "cloudflare");
                let command = command.replace("URL", "https://ca.example/dir");
                if command.starts_with("certctl ") {
                    let taken = Arguments::command().try_get_matches_from(command.split(' '));
                    assert!(taken.is_ok(), "{command}: {:?}", taken.err());
                }
            }
        }
    }
}
