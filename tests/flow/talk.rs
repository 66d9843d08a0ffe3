//! What runs say without a terminal, for people and for programs.

use serde_json::{Value, json};

use crate::support::{CertificateYaml, Webhook, World};

/// A world whose DNS provider has an error that passes.
fn failing() -> (World, Webhook) {
    let world = World::start();
    let webhook = Webhook::start(world.dns.provider());
    world.write("config/issuer.yaml", &world.issuer().solvers(&webhook.solver("")));
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    webhook.answers(500);
    (world, webhook)
}

#[test]
fn named_certificates_always_say_why_they_wait_and_all_of_them_once_a_day() {
    let (world, _webhook) = failing();
    let (file, short) = (world.path("config/web.yaml"), ["--timeout", "1s"]);
    let file = file.to_str().unwrap();
    for words in [&["issue", "-q"][..], &["issue", "web"], &["issue", "web"], &["issue", file]] {
        world.run(&[words, &short].concat()).ends_in(75).says("answered 500");
    }
    let run = world.run(&[&["issue", "-q"], &short[..]].concat()).ends_in(75);
    assert_eq!(run.stderr, "");
    // Another spec is another matter.
    let edited = CertificateYaml::new("web").for_names(&["*.example.test"]);
    world.write("config/web.yaml", &edited.field("duration: 2000h"));
    world.run(&[&["issue"], &short[..]].concat()).ends_in(75).says("answered 500");
}

#[test]
fn an_object_of_another_kind_is_skipped_in_words() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\n";
    world.write("config/other.yaml", other);
    let said = "other.yaml:3: skipped: ConfigMap notes: not a kind that certctl reads";
    world.run(&["validate", "-v"]).ends_in(0).says(said);
}

#[test]
fn a_verb_that_ends_in_an_error_prints_an_object_with_it() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let run = world.run(&["status", "wep", "-o", "json"]).ends_in(3);
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    let (kind, class) = (&object["kind"], &object["class"]);
    assert_eq!(
        (kind, class, &object["exitCode"]),
        (&json!("Error"), &json!("precondition"), &json!(3))
    );
    assert!(run.stderr.contains(object["message"].as_str().unwrap()), "{run:?}");
    let run = world.run(&["renew", "-o", "yaml"]).ends_in(2);
    assert!(run.stdout.contains("kind: Error\n"), "{}", run.stdout);
    // What has printed its own data prints no second object.
    let run = world.run(&["issue", "-o", "json"]).ends_in(0);
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(object["kind"], "Result");
    let run = world.run(&["status", "wep"]).ends_in(3);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_quiet_run_tells_failures_only() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let run = world.run(&["issue", "-q"]).ends_in(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    assert_eq!(world.ca.issued(), 1);
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("config/issuer.yaml", &world.issuer().trusting(""));
    // A CA that is out of reach is told of after a day.
    assert_eq!(world.run(&["issue", "-q"]).ends_in(75).stderr, "");
    std::fs::remove_file(world.path("config/issuer.yaml")).unwrap();
    world.run(&["issue", "-q"]).ends_in(3).says("error");
}

#[test]
fn the_reason_of_a_hook_is_told_from_above_its_last_line() {
    let web = CertificateYaml::new("web").annotation("certctl/reload", "nginx");
    let world = World::prepared(&[web]);
    let script = "echo 'nginx: [emerg] bind() to 0.0.0.0:443 failed' >&2\n\
                  echo 'nginx: configuration file /etc/nginx/nginx.conf test failed' >&2\nexit 1";
    world.write_program("config/hooks.d/nginx", script);
    let run = world.issue().ends_in(6).says("nginx: [emerg] bind() to 0.0.0.0:443 failed; nginx: ");
    run.says("nginx.conf test failed");
}

#[test]
fn the_table_names_the_challenge_that_is_known_not_to_work() {
    let world = World::prepared(&[]);
    let names = ["web.example.test", "nowhere.invalid"];
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&names));
    world.run(&["issue", "--timeout", "1s"]).ends_in(75);
    let table = world.run(&["status"]).ends_in(0).stdout;
    assert!(table.contains("the order waits for HTTP-01 validation of nowhere.invalid"), "{table}");
}

/// A first run that waits is what a newcomer asks about next.
#[test]
fn the_start_page_names_what_an_order_waits_for_and_counts_no_lost_manifest_as_failing() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("lost")]);
    world.issue().ends_in(0);
    world.write("config/lost.yaml", "");
    world.write("config/shop.yaml", &CertificateYaml::new("shop").for_names(&["nowhere.invalid"]));
    world.run(&["issue", "--timeout", "1s"]).ends_in(75);
    let page = world.run(&[]).ends_in(0).stdout;
    let counted = "\n3 certificates: 1 ready, 1 waiting, 1 no manifest\n";
    assert!(page.contains(counted), "{page}");
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("WAITING shop - next run the order waits for HTTP-01"), "{page}");
    assert!(page.contains("nowhere.invalid does not exist (NXDOMAIN"), "{page}");
    assert!(page.contains("certctl status shop # show its details"), "{page}");
}
