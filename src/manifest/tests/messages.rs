//! Every error message, with its field: the tables are the fixtures `words-*.txt`.
//!
//! An entry is YAML, then one line `=> field: message` for each diagnostic; a blank line ends it.

use super::alone;

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
        let (said, yaml): (Vec<&str>, Vec<&str>) =
            entry.lines().partition(|line| line.starts_with("=> "));
        let found = alone(&wrap(&yaml.join("\n")));
        let found: Vec<String> =
            found.iter().map(|f| format!("=> {}", f.splitn(3, ' ').nth(2).unwrap())).collect();
        assert_eq!(found, said, "\n{entry}");
        entries += 1;
    }
    assert!(entries > 5);
}

/// `base` with the fields of `more` in the place of its own; `-field` takes one away.
fn replaced(base: &str, more: &str) -> String {
    let key = |line: &str| line.split(':').next().unwrap().trim_start_matches('-').to_owned();
    let kept = base.lines().filter(|line| more.lines().all(|own| key(own) != key(line)));
    let added = more.lines().filter(|line| !line.starts_with('-'));
    kept.chain(added).collect::<Vec<_>>().join("\n")
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
