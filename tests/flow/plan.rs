//! What `plan` says is what `issue` then does, and `plan` itself does nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use serde_json::{Value, json};

use crate::support::{CertificateYaml, Entry, World};

/// The plan, after a check that neither the CA nor the state was touched.
fn planned(world: &World, words: &[&str]) -> Value {
    let before = (world.ca.requests(), world.state().everything());
    let run = world.run(&[&["plan", "-o", "json"], words].concat()).ends_in(0);
    assert_eq!(run.stderr, "");
    assert_eq!((world.ca.requests(), world.state().everything()), before);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Action, what goes with it, reason and orders of the one certificate there is.
fn what(world: &World) -> (Value, Value, Value, Value) {
    let plan = planned(world, &[]);
    assert_eq!(plan["items"].as_array().unwrap().len(), 1, "{plan:#}");
    let item = |key: &str| plan["items"][0][key].clone();
    (item("action"), item("also"), item("reason"), item("orders"))
}

#[test]
fn before_the_first_run_there_is_a_plan_and_no_state() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let expected = json!({
        "apiVersion": "certctl/v1",
        "kind": "Plan",
        "items": [{
            "namespace": "default",
            "name": "web",
            "action": "issue",
            "reason": "DoesNotExist",
            "message": "Issuing certificate as Secret does not exist",
            "names": [{ "name": "web.example.test", "solver": "http-01" }],
            "added": ["web.example.test"],
            "issuer": { "kind": "Issuer", "name": "ca", "server": world.ca.directory_url() },
            "orders": 1,
        }],
    });
    assert_eq!(planned(&world, &[]), expected);
    assert!(!world.path("state").exists());
    world.run(&["plan", "--exit-code"]).ends_in(10);
    assert_eq!(world.run(&["plan", "-o", "name"]).ends_in(0).stdout, "certificate/web\n");
    assert!(!world.path("state").exists());
    world.issue().ends_in(0);
    let plan = planned(&world, &["web"]);
    assert_eq!(plan["items"][0]["action"], "nothing");
    assert!(plan["items"][0]["renewalTime"].is_string(), "{plan:#}");
    world.run(&["plan", "--exit-code"]).ends_in(0);
    assert_eq!(world.run(&["plan", "-o", "name"]).ends_in(0).stdout, "");
}

#[test]
fn a_read_only_state_is_enough() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let everything = world.state().everything();
    let set_modes = |mask: u32| {
        for (path, entry) in &everything {
            let mode = match entry {
                Entry::Folder(mode) | Entry::File(mode, _) => *mode,
                Entry::Link(_) => continue,
            };
            fs::set_permissions(path, fs::Permissions::from_mode(mode & mask)).unwrap();
        }
    };
    set_modes(0o555);
    assert_eq!(what(&world), (json!("nothing"), Value::Null, Value::Null, json!(0)));
    set_modes(0o777);
}

#[test]
fn what_differs_and_which_names_come_and_go_is_shown() {
    let simple = CertificateYaml::new("web").for_names(&["a.example.test", "b.example.test"]);
    let world = World::prepared(std::slice::from_ref(&simple));
    world.issue().ends_in(0);
    world.write("config/web.yaml", &simple.for_names(&["b.example.test", "c.example.test"]));
    let plan = planned(&world, &[]);
    let item = |key: &str| plan["items"][0][key].clone();
    assert_eq!((item("action"), item("reason")), (json!("issue"), json!("RequestChanged")));
    assert_eq!(item("differs"), json!(["spec.dnsNames"]));
    assert_eq!(
        (item("added"), item("removed")),
        (json!(["c.example.test"]), json!(["a.example.test"]))
    );
    assert_eq!(item("orders"), 1);
    world.issue().ends_in(0);
    assert_eq!(what(&world).0, "nothing");
}

#[test]
fn forms_and_outputs_are_planned_without_an_order() {
    let simple = CertificateYaml::new("web");
    let world = World::prepared(std::slice::from_ref(&simple));
    world.issue().ends_in(0);
    let output = world.path("out").display().to_string();
    let with_output = simple.annotation("certctl/output-dir", &output);
    world.write("config/web.yaml", &with_output);
    assert_eq!(what(&world), (json!("deploy"), Value::Null, Value::Null, json!(0)));
    world.run(&["plan", "--exit-code"]).ends_in(10);
    world.issue().ends_in(0);
    assert_eq!(what(&world).0, "nothing");
    let store = "keystores:\n    pkcs12: {create: true, password: first}";
    world.write("config/web.yaml", &with_output.clone().field(store));
    let (rewrite, deploy) = (json!("rewrite"), json!(["deploy"]));
    let wanted = (rewrite, deploy, json!("SecretMismatch"), json!(0));
    assert_eq!(what(&world), wanted);
    world.issue().ends_in(0);
    assert_eq!(what(&world).0, "nothing");
    // Another password is seen as it is by a run.
    world.write("config/web.yaml", &with_output.field(&store.replace("first", "second")));
    assert_eq!(what(&world), wanted);
}

#[test]
fn a_failure_is_waited_for_and_an_edit_lets_one_attempt_through() {
    let simple = CertificateYaml::new("web");
    let world = World::prepared(std::slice::from_ref(&simple));
    let refusal = Fault::Refuse {
        kind: ProblemType::Unauthorized,
        detail: "the answer was wrong".to_owned(),
    };
    world.fault(Rule::always(refusal).for_name("web.example.test"));
    world.issue().ends_in(4);
    let plan = planned(&world, &[]);
    let item = &plan["items"][0];
    assert_eq!((&item["action"], &item["reason"]), (&json!("wait"), &json!("DoesNotExist")));
    assert_eq!(item["wait"]["why"], "backing off after 1 failure");
    let failed = world.state().record("web").status.last_failure_time.unwrap();
    let until: jiff::Timestamp = item["wait"]["until"].as_str().unwrap().parse().unwrap();
    assert_eq!(until.duration_since(failed), jiff::SignedDuration::from_hours(1));
    world.run(&["plan", "--exit-code"]).ends_in(0);
    world.write("config/web.yaml", &simple.for_names(&["other.example.test"]));
    assert_eq!(what(&world).0, "issue");
}

#[test]
fn an_order_that_is_under_way_costs_no_other_one() {
    let world = World::prepared(&[CertificateYaml::new("web").for_names(&["web.nowhere.test"])]);
    world.run(&["issue", "--timeout", "1s"]).ends_in(75);
    let plan = planned(&world, &[]);
    let item = &plan["items"][0];
    assert_eq!((&item["action"], &item["orders"]), (&json!("issue"), &json!(0)));
    assert_eq!(item["order"], "web-1-1", "{plan:#}");
}

#[test]
fn an_order_that_the_ca_does_not_have_yet_is_one_to_create() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.fault(Rule::always(Fault::unavailable(None)).on(RequestKind::NewOrder));
    world.issue().ends_in(5);
    world.ca.faults().clear();
    let plan = planned(&world, &[]);
    let item = &plan["items"][0];
    assert_eq!((&item["action"], &item["orders"]), (&json!("issue"), &json!(1)), "{plan:#}");
    assert_eq!(item.get("order"), None, "{plan:#}");
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(page.contains("the next run of certctl issue, which creates the order"), "{page}");
    world.issue().ends_in(0);
    assert_eq!(world.ca.created(RequestKind::NewOrder), 1);
}

/// What a run does with the one certificate there is: whether another one is live, whether the same
/// is written in other forms, whether something is deployed, and how many orders it asks for.
fn done(world: &World, words: &[&str]) -> (bool, bool, bool, usize) {
    let seen = || {
        let live = world.state().pair("web-tls").map(|leaf| leaf.serial);
        let store = fs::read(world.path("state/secrets/default/web-tls/keystore.p12")).ok();
        let files = fs::read_dir(world.path("out")).into_iter().flatten();
        let times = files.map(|file| file.unwrap().metadata().unwrap().modified().unwrap());
        (live, store, times.max(), world.sent(RequestKind::NewOrder))
    };
    let before = seen();
    world.run(words);
    let after = seen();
    let is_new = before.0 != after.0;
    (is_new, !is_new && before.1 != after.1, before.2 != after.2, after.3 - before.3)
}

#[test]
fn what_is_planned_is_what_issue_does() {
    let world = World::start();
    let output = world.path("out").display().to_string();
    let simple = CertificateYaml::new("web");
    let with_output = simple.clone().annotation("certctl/output-dir", &output);
    let stored = |password: &str| {
        let store = format!("keystores:\n    pkcs12: {{create: true, password: {password}}}");
        with_output.clone().field(&store)
    };
    let [other, edited, nowhere, refused] =
        ["other.example.test", "edited.example.test", "web.nowhere.test", "refused.example.test"]
            .map(|name| move |manifest: CertificateYaml| manifest.for_names(&[name]));
    let kind = ProblemType::Unauthorized;
    let refusal = Fault::Refuse { kind, detail: "the answer was wrong".to_owned() };
    world.fault(Rule::always(refusal).for_name("refused.example.test"));
    let (issue, briefly) = (&["issue"][..], &["issue", "--timeout", "1s"][..]);
    // What there is, what is planned, how it is run, and whether an issuance succeeds.
    for (manifest, action, words, succeeds) in [
        (simple.clone(), "issue", issue, true),
        (simple, "nothing", issue, true),
        (with_output.clone(), "deploy", issue, true),
        (stored("first"), "rewrite", issue, true),
        (stored("second"), "rewrite", issue, true),
        (other(stored("second")), "issue", issue, true),
        (nowhere(stored("second")), "issue", briefly, false),
        // Its order is under way.
        (nowhere(stored("second")), "issue", briefly, false),
        (refused(stored("second")), "issue", issue, false),
        (refused(stored("second")), "wait", issue, true),
        (refused(stored("third")), "wait", issue, true),
        (edited(stored("third")), "issue", issue, true),
        (edited(stored("third")), "nothing", issue, true),
    ] {
        world.prepare(std::slice::from_ref(&manifest));
        let item = planned(&world, &[])["items"][0].clone();
        assert_eq!(item["action"], action, "{item:#}");
        let also = item["also"].as_array().cloned().unwrap_or_default();
        let is_planned = |what: &str| succeeds && (action == what || also.contains(&what.into()));
        let orders = usize::try_from(item["orders"].as_u64().unwrap()).unwrap();
        let expected = (is_planned("issue"), is_planned("rewrite"), is_planned("deploy"), orders);
        assert_eq!(done(&world, words), expected, "{item:#}");
    }
}

#[test]
fn broken_manifests_end_as_they_do_for_issue() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("config/broken.yaml", "apiVersion: cert-manager.io/v1\nkind: Certificate\n  x: [");
    let run = world.run(&["plan", "-o", "name"]).ends_in(3).says("broken.yaml:3:");
    assert_eq!(run.stdout, "certificate/web\n");
    let broken = world.path("config/broken.yaml");
    let run = world.run(&["plan", broken.to_str().unwrap()]).ends_in(3);
    assert_eq!(run.stdout, "");
    let empty = World::start();
    empty.run(&["plan"]).ends_in(3).says("no Certificate found in ");
    empty.run(&["plan", "-o", "prometheus"]).ends_in(2);
}

#[test]
fn an_edited_copy_is_planned_in_the_place_of_what_the_config_directory_has() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let edited = CertificateYaml::new("web").for_names(&["web.example.test", "new.example.test"]);
    world.write("edited.yaml", &edited);
    let plan = planned(&world, &["./edited.yaml"]);
    let item = &plan["items"][0];
    assert_eq!((&item["action"], &item["added"]), (&json!("issue"), &json!(["new.example.test"])));
    // A run would not know which of the two is meant tomorrow.
    world.run(&["issue", "./edited.yaml"]).ends_in(3).says("is defined already");
}

/// What a run would refuse is no order of the plan, which says what is in the way.
#[test]
fn what_this_host_keeps_a_run_from_is_blocked() {
    let hooked = CertificateYaml::new("web").annotation("certctl/reload", "nowhere");
    let world = World::prepared(&[hooked, CertificateYaml::new("other")]);
    let run = world.run(&["plan"]).ends_in(3).says("error[E0401]");
    assert!(run.stdout.ends_with("\n1 to issue, 1 blocked\n"), "{}", run.stdout);
    let run = world.run(&["plan", "-o", "json", "web"]).ends_in(3);
    let plan: Value = serde_json::from_str(&run.stdout).unwrap();
    let item = |key: &str| plan["items"][0][key].clone();
    let expected = (json!("blocked"), Value::Null, json!("DoesNotExist"), json!(0));
    assert_eq!((item("action"), item("also"), item("reason"), item("orders")), expected);
    let why = item("wait")["why"].as_str().unwrap().to_owned();
    assert!(why.contains("hooks.d/nowhere"), "{why}");
    // A pair that is there is restored all the same.
    let hook = world.write("config/hooks.d/nowhere", "#!/bin/sh\n");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    world.issue().ends_in(0);
    fs::remove_file(world.path("config/hooks.d/nowhere")).unwrap();
    fs::remove_file(world.path("state/secrets/default/web-tls/tls.crt")).unwrap();
    let plan = world.run(&["plan", "-o", "json", "web"]).stdout;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_ne!(plan["items"][0]["action"], "blocked", "{plan:#}");
}

/// A renewal that is due by other settings is not said to have been due then.
#[test]
fn a_renewal_that_the_manifest_brings_forward_has_no_date_of_before() {
    // Of its five hours, one has passed when it is handed out.
    let world = World::with(|options| options.leaf_lifetime = Duration::from_hours(4));
    world.prepare(&[CertificateYaml::new("web").field("renewBefore: 1h")]);
    world.issue().ends_in(0);
    let before = world.state().record("web").status.renewal_time.unwrap();
    let soon = CertificateYaml::new("web").field("renewBefore: 4h50m");
    world.prepare(&[soon]);
    let plan = planned(&world, &["web"]);
    assert_eq!(plan["items"][0]["action"], "renew", "{plan:#}");
    let message = plan["items"][0]["message"].as_str().unwrap();
    let then = before.to_string()[11..19].to_owned();
    assert!(message.contains("renewal was scheduled at") && !message.contains(&then), "{message}");
}

/// What a later run is going to lack is said before that run, and is no error of this one.
#[test]
fn a_port_that_a_later_run_would_not_get_is_a_warning() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    assert_eq!(world.run(&["plan"]).ends_in(0).stderr, "");
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let run = world.run(&["plan", "--http01-listen", &address]).ends_in(0);
    let run = run.says(&format!("warning: HTTP-01: {address} is in use by ")).says("by web\n");
    assert!(run.stdout.ends_with("\n1 unchanged\n"), "{}", run.stdout);
    // Nor does a deployment need the port.
    world.write_program("config/hooks.d/install", "#!/bin/sh\n");
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
    let run = world.run(&["plan", "--http01-listen", &address]).ends_in(0);
    assert!(run.stdout.contains("deploy   web"), "{}", run.stdout);
    run.says("warning: HTTP-01: ");
}

#[test]
fn a_key_that_rotation_policy_never_keeps_is_planned_as_issue_refuses_it() {
    let rsa = "privateKey:\n    algorithm: RSA\n    rotationPolicy: Never";
    let never = |key: &str| {
        let text = CertificateYaml::new("web").to_string();
        text.replace("privateKey:\n    algorithm: ECDSA", key)
    };
    let world = World::prepared(&[]);
    world.write("config/web.yaml", &never(rsa));
    world.issue().ends_in(0);
    world.write("config/web.yaml", &never(&rsa.replace("RSA", "ECDSA")));
    let requests = world.ca.requests();
    let plan = world.run(&["plan"]).ends_in(3).stdout;
    assert!(plan.contains("web: blocked\n"), "{plan}");
    assert!(plan.contains("spec.privateKey.rotationPolicy Never forbids a new one"), "{plan}");
    assert!(!plan.contains("1 order"), "{plan}");
    world.issue().ends_in(3).says("spec.privateKey.rotationPolicy Never forbids a new one");
    assert_eq!(world.ca.requests(), requests);
    // And after the run has recorded that it is due.
    let plan = world.run(&["plan"]).ends_in(3).stdout;
    assert!(plan.contains("web: blocked\n"), "{plan}");
}
