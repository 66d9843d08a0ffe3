//! Promise: what `status -o yaml` prints is valid against cert-manager's own schemas.

use certctl::rehearsal::{Fault, ProblemType, Rule};
use serde_json::{Value, json};

use crate::crds::{Crds, objects};
use crate::support::{CertificateYaml, World};

type Edit = fn(&mut Value);

#[test]
fn what_status_prints_fits_the_schemas_of_cert_manager() {
    let world = World::start();
    let output = world.path("output");
    let full = CertificateYaml::new("good").field("additionalOutputFormats: [{type: DER}]");
    let full = full.annotation("certctl/output-dir", output.to_str().unwrap());
    world.prepare(&[full, CertificateYaml::new("bad")]);
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
        let known: Vec<Value> = found.iter().map(without_our_field).collect();
        let faults: Vec<String> = known.iter().filter_map(|one| crds.fault(one)).collect();
        assert_eq!(faults, Vec::<String>::new());
        if noun == "certificate" {
            check_deployed(&found);
            let ours = |one: &&Value| one["status"]["nextAttempt"].is_string();
            let delayed: Vec<_> = found.iter().filter(ours).collect();
            assert!(matches!(delayed.as_slice(), [one] if one["metadata"]["name"] == "bad"));
        }
    }
}

/// An object as cert-manager knows it: its status has one field less. A cluster would prune it.
fn without_our_field(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(status) = object["status"].as_object_mut() {
        status.remove("nextAttempt");
    }
    object
}

/// The condition of the one that has an output, and is issued; the other asks for nothing.
fn check_deployed(certificates: &[Value]) {
    let deployed = |one: &Value| {
        let conditions = one["status"]["conditions"].as_array().unwrap();
        conditions.iter().find(|condition| condition["type"] == "Deployed").cloned()
    };
    for one in certificates {
        let found = deployed(one).map(|condition| condition["status"].clone());
        let expected = (one["metadata"]["name"] == "good").then(|| json!("True"));
        assert_eq!(found, expected, "{one:#}");
    }
}

/// What the first address answered our own look: an Order has a list of looks, a Challenge one.
fn check_of(object: &Value) -> Option<Value> {
    let annotations = &object["metadata"]["annotations"];
    let json = |name: &str| Some(annotations.get(name)?.as_str()?.parse::<Value>().unwrap());
    let looks = json("status.certctl/checks");
    let check = looks.map(|looks| looks[0]["check"].clone());
    let check = check.or_else(|| json("status.certctl/check"))?;
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
