//! Promise: what `status -o yaml` prints is valid against cert-manager's own schemas.

use certctl::rehearsal::{Fault, ProblemType, Rule};
use serde_json::{Value, json};

use crate::crds::{Crds, objects};
use crate::support::{CertificateYaml, World};

type Edit = fn(&mut Value);

#[test]
fn what_status_prints_fits_the_schemas_of_cert_manager() {
    let full = CertificateYaml::new("good").field("additionalOutputFormats: [{type: DER}]");
    let world = World::prepared(&[full, CertificateYaml::new("bad")]);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("bad.example.test"));
    world.issue().ends_in(4);
    let nouns = [
        ("certificate", "Certificate", 2),
        ("request", "CertificateRequest", 2),
        ("order", "Order", 2),
        ("challenge", "Challenge", 2),
    ];
    let crds = Crds::load();
    for (noun, kind, count) in nouns {
        let found = objects(&world.run(&["status", noun, "-o", "yaml"]).ends_in(0).stdout);
        assert_eq!(found.len(), count, "{noun}: {found:?}");
        assert!(found.iter().all(|object| object["kind"] == kind), "{found:?}");
        if let "order" | "challenge" = noun {
            let checks: Vec<_> = found.iter().filter_map(check_of).collect();
            assert_eq!(checks, [json!("correct")], "of the name that was not proven: {found:?}");
        }
        let faults: Vec<String> = found.iter().filter_map(|one| crds.fault(one)).collect();
        assert_eq!(faults, Vec::<String>::new());
    }
}

/// What the first address answered our own look: an Order has a list of looks, a Challenge one.
fn check_of(object: &Value) -> Option<Value> {
    let annotations = &object["metadata"]["annotations"];
    let json = |name: &str| Some(annotations.get(name)?.as_str()?.parse::<Value>().unwrap());
    let looks = json("status.certctl.io/checks");
    let check = looks.map(|looks| looks[0]["check"].clone());
    let check = check.or_else(|| json("status.certctl.io/check"))?;
    Some(check["http01"]["addresses"][0]["outcome"].clone())
}

#[test]
fn a_wrong_object_is_noticed() {
    let good = json!({
        "apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "a"},
        "spec": {"secretName": "a", "issuerRef": {"name": "ca"}, "dnsNames": ["a.test"]},
    });
    let crds = Crds::load();
    assert_eq!(crds.fault(&good), None);
    let edits: &[(&str, Edit)] = &[
        ("'colour' not allowed", |o| o["spec"]["colour"] = "red".into()),
        ("'name'", |o| drop(o["spec"]["issuerRef"].as_object_mut().unwrap().remove("name"))),
        ("'/spec/dnsNames'", |o| o["spec"]["dnsNames"] = "a.test".into()),
        ("'/spec/privateKey/algorithm'", |o| o["spec"]["privateKey"] = json!({"algorithm": "DSA"})),
        ("'/status/notAfter'", |o| o["status"] = json!({"notAfter": "tomorrow"})),
    ];
    for (word, edit) in edits {
        let mut wrong = good.clone();
        edit(&mut wrong);
        let found = crds.fault(&wrong).unwrap();
        assert!(found.contains(word), "{found}");
    }
}
