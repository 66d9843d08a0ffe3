//! Command lines to copy, by verb: for the manual and for `--help`.

/// A command line, and what it does.
#[derive(Debug)]
pub struct Example {
    /// The command line.
    pub line: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
}

/// The examples of a verb, such as `check dns`; of a verb that only has verbs below it, the first of
/// each of those.
pub fn examples(verb: &str) -> Vec<&'static Example> {
    if let Some((_, own)) = EXAMPLES.iter().find(|(name, _)| *name == verb) {
        return own.iter().collect();
    }
    let is_below = |name: &str| name.strip_prefix(verb).is_some_and(|rest| rest.starts_with(' '));
    let below = EXAMPLES.iter().filter(|(name, _)| is_below(name));
    below.filter_map(|(_, examples)| examples.first()).collect()
}

const fn of(line: &'static str, about: &'static str) -> Example {
    Example { line, about }
}

/// One to four for each verb, in the order of the verbs.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "issue",
        &[
            of("certctl issue", "Issue or renew everything that is missing or due."),
            of("certctl issue web.yaml", "Issue the Certificates of one file."),
            of(
                "certctl issue -q --splay 10m",
                "From cron: start within ten minutes, report errors only.",
            ),
        ],
    ),
    (
        "renew",
        &[
            of("certctl renew web", "Issue the Certificate web again now."),
            of("certctl renew web --new-key", "The same with a new private key."),
        ],
    ),
    (
        "plan",
        &[
            of("certctl plan", "Show what the next run would do."),
            of("certctl plan web.yaml", "Show it for the Certificates of one file."),
        ],
    ),
    (
        "validate",
        &[
            of("certctl validate web.yaml", "Check one file."),
            of(
                "certctl validate --strict deploy/certificates",
                "Check a folder; warnings fail, too.",
            ),
        ],
    ),
    (
        "status",
        &[
            of("certctl status", "List all certificates."),
            of("certctl status web", "Show a summary of one certificate."),
            of("certctl status -o prometheus", "Print metrics."),
        ],
    ),
    (
        "describe",
        &[
            of("certctl describe web", "Show all that is known of a certificate."),
            of("certctl describe order web-1-1", "Show one order."),
        ],
    ),
    (
        "inspect",
        &[
            of("certctl inspect web", "Show the live certificate of the Certificate web."),
            of("certctl inspect www.example.com:443", "Show what a server presents."),
            of(
                "certctl inspect /etc/ssl/web.pem --offline",
                "Show a file without querying the CA.",
            ),
        ],
    ),
    (
        "check acme",
        &[of("certctl check acme letsencrypt", "Check the CA of the Issuer letsencrypt.")],
    ),
    (
        "check dns",
        &[of("certctl check dns www.example.com", "Check zone, TXT record and CAA of a name.")],
    ),
    (
        "check http",
        &[of("certctl check http www.example.com", "Check that the CA could reach this host.")],
    ),
    (
        "doctor",
        &[
            of("certctl doctor", "Check this host, the CAs and DNS."),
            of("certctl doctor --offline", "Check this host alone."),
        ],
    ),
    (
        "rehearse",
        &[
            of("certctl rehearse web.yaml", "Issue from a built-in CA, hooks excluded."),
            of(
                "certctl rehearse web.yaml --resolve www.example.com=127.0.0.1",
                "The same for a name that has no DNS record yet.",
            ),
        ],
    ),
    (
        "deploy",
        &[
            of("certctl deploy", "Retry the outputs and hooks that failed."),
            of("certctl deploy web --again", "Write the files of web and reload its server again."),
        ],
    ),
    (
        "revoke",
        &[
            of(
                "certctl revoke web --reason keyCompromise",
                "Replace a certificate whose key has leaked.",
            ),
            of(
                "certctl revoke old.pem --key old.key",
                "Revoke the certificate in a file with its own key.",
            ),
        ],
    ),
    (
        "rollback",
        &[
            of("certctl rollback web", "Deploy the previous certificate and key of web."),
            of("certctl rollback web --to 3", "Deploy revision 3."),
        ],
    ),
    (
        "create issuer",
        &[
            of(
                "certctl create issuer letsencrypt --email you@example.com --into /etc/certctl",
                "Write the manifest of a Let's Encrypt Issuer.",
            ),
            of(
                "certctl create issuer letsencrypt --dns01 cloudflare",
                "Print one that proves control by DNS records at Cloudflare.",
            ),
        ],
    ),
    (
        "create certificate",
        &[
            of(
                "certctl create certificate www.example.com example.com --reload nginx",
                "Print the manifest of a Certificate for two names.",
            ),
            of(
                "certctl create certificate www.example.com --webroot /var/www/html --into /etc/certctl",
                "Write one whose challenges your web server serves.",
            ),
        ],
    ),
    (
        "create certificaterequest",
        &[
            of(
                "certctl create certificaterequest web --from-certificate-file web.yaml",
                "Write web.key and print the request.",
            ),
            of(
                "certctl create certificaterequest web --from-certificate-file web.yaml --fetch-certificate",
                "Write web.key and web.crt.",
            ),
        ],
    ),
    ("account show", &[of("certctl account show", "List the accounts, with URL and contacts.")]),
    (
        "account register",
        &[of(
            "certctl account register letsencrypt",
            "Register the account of the Issuer letsencrypt.",
        )],
    ),
    (
        "account update",
        &[of("certctl account update letsencrypt", "Send the new e-mail address to the CA.")],
    ),
    (
        "account deactivate",
        &[of(
            "certctl account deactivate letsencrypt --yes",
            "Deactivate the account without a question.",
        )],
    ),
    (
        "forget",
        &[
            of("certctl forget web", "Stop managing web and keep its files."),
            of("certctl forget web --secret --yes", "Delete its key and certificate, too."),
        ],
    ),
    (
        "timer print",
        &[
            of("certctl timer print --cron", "Print a file for /etc/cron.d."),
            of(
                "certctl timer print --systemd --dir /etc/systemd/system",
                "Write the units of systemd.",
            ),
        ],
    ),
    (
        "run",
        &[
            of("certctl run", "Issue and renew now and every hour."),
            of(
                "certctl run --every 6h --serve 127.0.0.1:9402",
                "Every six hours, with health and metrics.",
            ),
        ],
    ),
    (
        "explain",
        &[
            of("certctl explain certificate.spec.renewBefore", "Explain one field."),
            of("certctl explain certctl.io/reload", "Explain an annotation."),
            of("certctl explain certificate --recursive", "List all fields."),
        ],
    ),
    (
        "schema",
        &[
            of(
                "certctl schema > certctl.schema.json",
                "Write the schema of all manifests for an editor.",
            ),
            of("certctl schema certificate", "Print the schema of Certificates."),
        ],
    ),
    (
        "version",
        &[of("certctl version -v", "Print the version, the directories and the settings.")],
    ),
    (
        "completion",
        &[of(
            "certctl completion bash > /etc/bash_completion.d/certctl",
            "Install the completion for bash.",
        )],
    ),
    (
        "man",
        &[of(
            "certctl man /usr/local/share/man/man1",
            "Write every page, of sections 5 and 7, too.",
        )],
    ),
    (
        "help",
        &[
            of("certctl help exit-codes", "Show a topic."),
            of("certctl help check dns", "Show the help of a verb."),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::*;
    use crate::cli::args::Arguments;

    fn verbs(command: &Command, above: &str, found: &mut Vec<String>) {
        for inner in command.get_subcommands() {
            let verb = format!("{above} {}", inner.get_name()).trim_start().to_owned();
            if !inner.has_subcommands() {
                found.push(verb.clone());
            }
            verbs(inner, &verb, found);
        }
    }

    #[test]
    fn every_verb_has_one_to_four_examples_of_its_own() {
        let mut all = Vec::new();
        verbs(&Arguments::command(), "", &mut all);
        let in_table: Vec<&str> = EXAMPLES.iter().map(|(verb, _)| *verb).collect();
        assert_eq!(in_table, all);
        for (verb, examples) in EXAMPLES {
            assert!((1..=4).contains(&examples.len()), "{verb}");
            for example in *examples {
                let line = format!("{} ", example.line);
                assert!(line.starts_with(&format!("certctl {verb} ")), "{line}");
                assert!(example.about.ends_with('.') && example.about.len() <= 72, "{line}");
            }
        }
    }

    #[test]
    fn a_verb_with_verbs_below_it_has_an_example_of_each() {
        let lines: Vec<&str> = examples("check").iter().map(|example| example.line).collect();
        let expected = [
            "certctl check acme letsencrypt",
            "certctl check dns www.example.com",
            "certctl check http www.example.com",
        ];
        assert_eq!(lines, expected);
    }
}
