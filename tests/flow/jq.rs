//! Promise: what `status -o json` prints is read by jq, and has what scripts look for.

use std::process::Command;

use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};

use crate::support::{CertificateYaml, World, finish};

/// `certctl status WORDS -o json | jq -e -r FILTER`, through a real pipe.
fn jq(world: &World, words: &str, filter: &str) -> String {
    let mut command = Command::new("/bin/bash");
    let line = "set -o pipefail; \"$0\" status $1 -o json | \"$2\" -e -r \"$3\"";
    command.args(["-c", line, env!("CARGO_BIN_EXE_certctl"), words, &path_of_jq(), filter]);
    world.surround(&mut command);
    let run = finish(command.spawn().unwrap()).ends_in(0);
    assert_eq!(run.stderr, "", "{filter}");
    run.stdout
}

/// The environment of a run has no search path.
fn path_of_jq() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("jq"));
    let mut found = found.filter(|path| path.is_file());
    found.next().expect("jq is missing; tests/run installs it").to_str().unwrap().to_owned()
}

#[test]
fn jq_reads_the_status_of_certificates_in_every_state() {
    let temporary = "cert-manager.io/issue-temporary-certificate";
    let world = World::prepared(&[
        CertificateYaml::new("good"),
        CertificateYaml::new("bad"),
        CertificateYaml::new("soon").annotation(temporary, "true"),
    ]);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("bad.example.test"));
    let down = Fault::unavailable(None);
    world.fault(Rule::always(down).on(RequestKind::Finalize).for_name("soon.example.test"));
    world.issue().ends_in(1);
    world.write("config/new.yaml", &CertificateYaml::new("new"));

    let verdict = ".metadata.annotations[\"status.certctl/verdict\"]";
    let filter = format!(".items[] | [.kind, .metadata.name, {verdict}] | @tsv");
    let table = "Certificate\tbad\tFAILED\nCertificate\tgood\tREADY\n\
                 Certificate\tnew\tPENDING\nCertificate\tsoon\tFAILED\n";
    assert_eq!(jq(&world, "", &filter), table);
    let ready = "def condition(t): [.status.conditions[]? | select(.type == t) | .status][0]; \
                 .items | map({(.metadata.name): condition(\"Ready\")}) | add | tojson";
    let conditions = r#"{"bad":"False","good":"True","new":null,"soon":"False"}"#;
    assert_eq!(jq(&world, "", ready).trim_end(), conditions);
    // Dates are dates to jq, too.
    let lives = "(.status.notAfter | fromdate) > (.status.renewalTime | fromdate)";
    assert_eq!(jq(&world, "good", &one(lives)), "true\n");
    let fields = "[.status.revision, .spec.secretName, .spec.dnsNames[0], .metadata.namespace] \
                  | @tsv";
    assert_eq!(jq(&world, "good", &one(fields)), "1\tgood-tls\tgood.example.test\tdefault\n");
    let failed = "[.status.failedIssuanceAttempts, \
                  (.status.lastFailureTime | fromdate | type), \
                  (.status.nextAttempt | fromdate | type)] \
                  | @tsv";
    assert_eq!(jq(&world, "bad", &one(failed)), "1\tnumber\tnumber\n");
    let stands_in = ".metadata.annotations[\"status.certctl/temporary\"]";
    assert_eq!(jq(&world, "soon", &one(stands_in)), "true\n");
    for (noun, kind, fields) in [
        ("order", "Order", ".items[] | .status.state | select(. != null)"),
        ("challenge", "Challenge", ".items[] | .spec.dnsName"),
        ("request", "CertificateRequest", ".items[] | .spec.issuerRef.name"),
        ("issuer", "Issuer", ".items[]? // . | .spec.acme.server"),
    ] {
        assert!(!jq(&world, noun, fields).trim().is_empty(), "{noun}");
        let kinds = jq(&world, noun, "[.items[]? // . | .kind] | unique | .[]");
        assert_eq!(kinds, format!("{kind}\n"));
    }
}

/// The filter for what may be one object, or a list of it.
fn one(filter: &str) -> String {
    format!("(.items[0]? // .) | {filter}")
}
