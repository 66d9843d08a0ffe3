//! Every error message, with its field: the tables are the fixtures `words-*.txt`.
//!
//! An entry is YAML, then one line `=> field: message` for each diagnostic; a blank line ends it.

use super::{alone, read};

#[test]
fn every_mistake_in_a_certificate_has_its_words() {
    check_table(include_str!("../../../tests/fixtures/manifests/words-certificate.txt"), |spec| {
        certificate(&replaced(GOOD, spec))
    });
}

#[test]
fn every_mistake_in_an_issuer_has_its_words() {
    check_table(include_str!("../../../tests/fixtures/manifests/words-issuer.txt"), |acme| {
        issuer(&replaced(ACME, acme))
    });
}

#[test]
fn every_mistake_in_a_solver_has_its_words() {
    check_table(include_str!("../../../tests/fixtures/manifests/words-solver.txt"), |solver| {
        issuer(&format!("{ACME}\nsolvers:\n- {solver}"))
    });
}

#[test]
fn every_mistake_in_a_provider_has_its_words() {
    check_table(include_str!("../../../tests/fixtures/manifests/words-provider.txt"), |provider| {
        issuer(&format!("{ACME}\nsolvers:\n- dns01:\n{}", indent(provider, 4)))
    });
}

/// Checks each entry of a table; `wrap` makes a document out of its YAML.
fn check_table(table: &str, wrap: fn(&str) -> String) {
    let mut entries = 0;
    for entry in table.split("\n\n").skip(1) {
        let (expected, yaml): (Vec<&str>, Vec<&str>) =
            entry.lines().partition(|line| line.starts_with("=> "));
        let found = alone(&wrap(&yaml.join("\n")));
        let found: Vec<String> =
            found.iter().map(|f| format!("=> {}", f.splitn(3, ' ').nth(2).unwrap())).collect();
        assert_eq!(found, expected, "\n{entry}");
        entries += 1;
    }
    assert!(entries > 5);
}

/// `base` with `fields` in the place of its own; `-field` takes one away.
fn replaced(base: &str, fields: &str) -> String {
    let key = |line: &str| line.split(':').next().unwrap().trim_start_matches('-').to_owned();
    let unchanged = base.lines().filter(|line| fields.lines().all(|own| key(own) != key(line)));
    let added = fields.lines().filter(|line| !line.starts_with('-'));
    unchanged.chain(added).collect::<Vec<_>>().join("\n")
}

fn certificate(spec: &str) -> String {
    format!("{}Certificate\nmetadata:\n  name: web\nspec:\n{}", HEAD, indent(spec, 2))
}

fn issuer(acme: &str) -> String {
    format!("{}Issuer\nmetadata:\n  name: le\nspec:\n  acme:\n{}", HEAD, indent(acme, 4))
}

fn indent(text: &str, by: usize) -> String {
    text.lines().flat_map(|line| [" ".repeat(by), line.to_owned(), "\n".to_owned()]).collect()
}

const HEAD: &str = "apiVersion: cert-manager.io/v1\nkind: ";
const GOOD: &str = "secretName: web-tls\nissuerRef: {name: le}\ndnsNames: [www.example.com]";
const ACME: &str = "server: https://acme.example/dir\nprivateKeySecretRef: {name: key}";

#[test]
fn http_to_another_machine_is_a_warning() {
    let warned = |solver: &str| {
        let text = format!(
            "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: ca}}\nspec:\n  acme:\n    \
             server: https://ca.example/dir\n    privateKeySecretRef: {{name: key}}\n    solvers:\n    \
             - dns01: {solver}\n"
        );
        let found = read(&text).diagnostics.into_iter().filter(|found| found.code == "W0306");
        found.map(|found| found.field).collect::<Vec<_>>()
    };
    for (address, is_far) in [
        ("https://dns.example/x", false),
        ("http://127.0.0.1:8081/x", false),
        ("http://[::1]/x", false),
        ("HTTP://LOCALHOST/x", false),
        ("http://dns.example/x", true),
        ("HTTP://10.0.0.1:8081/x", true),
        ("http://169.254.169.254/x", true),
        ("http://user@localhost.example/x", true),
    ] {
        let acme_dns =
            format!("{{acmeDNS: {{host: \"{address}\", accountSecretRef: {{name: a, key: k}}}}}}");
        let webhook = |solver: &str, field: &str| {
            format!(
                "{{webhook: {{groupName: certctl, solverName: {solver}, config: {{{field}: \
                 \"{address}\"}}}}}}"
            )
        };
        for (solver, field) in [
            (acme_dns, "acmeDNS.host"),
            (webhook("http", "url"), "webhook.config.url"),
            (webhook("pdns", "endpoint"), "webhook.config.endpoint"),
            (webhook("acmeDNS", "host"), "webhook.config.host"),
        ] {
            let wanted: Vec<_> =
                is_far.then(|| format!("spec.acme.solvers[0].dns01.{field}")).into_iter().collect();
            assert_eq!(warned(&solver), wanted, "{solver}");
        }
    }
}
