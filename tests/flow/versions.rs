//! Documents that cannot be read: one of a newer version is left alone, a damaged one is set aside.

use std::fs;

use certctl::rehearsal::RequestKind;

use crate::support::{CertificateYaml, World};

const ORDER: &str = "certificates/default/web/orders/1-1.json";

fn issued() -> World {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world
}

#[test]
fn a_record_that_cannot_be_read_may_be_removed_as_status_says() {
    let folder = "certificates/default/web";
    for (file, is_newer) in [
        ("status.json", false),
        ("status.json", true),
        ("requests/1.json", false),
        ("requests/1.json", true),
        ("orders/1-1.json", false),
        ("orders/1-1.json", true),
    ] {
        let world = issued();
        let live = world.state().published("web");
        let path = world.state().path(&format!("{folder}/{file}"));
        let text = fs::read_to_string(&path).unwrap();
        let newer = text.replacen("\"version\": ", "\"version\": 9", 1);
        let text = if is_newer { newer.as_str() } else { "{" };
        world.write(&format!("state/{folder}/{file}"), text);
        let page = world.run(&["status", "web"]).ends_in(7).stdout;
        let damage = format!("STATE DAMAGED - {}: ", path.display());
        assert!(page.contains(&damage), "{page}");
        let told = if is_newer {
            ["if you remove it, certctl issue adopts", "Next attempt: never"]
        } else {
            ["the next run renames this file", "Next attempt: the next run"]
        };
        assert!(told.iter().all(|told| page.contains(told)), "{page}");
        fs::remove_file(&path).unwrap();
        let run = world.issue().ends_in(0);
        assert_eq!(run.stderr.contains("were adopted"), file == "status.json", "{}", run.stderr);
        world.run(&["status", "--exit-code"]).ends_in(0);
        assert_eq!(world.sent(RequestKind::NewOrder), 1, "{file} {is_newer}");
        assert_eq!(world.state().published("web"), live, "{file} {is_newer}");
    }
}

#[test]
fn a_damaged_document_is_set_aside_and_the_next_run_goes_on_as_status_and_doctor_say() {
    for file in ["status.json", "requests/1.json", "orders/1-1.json"] {
        let world = issued();
        let live = world.state().published("web");
        world.write(&format!("state/certificates/default/web/{file}"), "{");
        let page = world.run(&["status", "web"]).ends_in(7).stdout;
        let mut lines = page.lines();
        let is_it = |line: &str| {
            line.contains("certctl issue web") && line.ends_with("# set the damaged file aside now")
        };
        assert!(lines.any(is_it), "{page}");
        assert!(!page.contains("certctl doctor"), "{page}");
        let found = world.run(&["doctor"]).ends_in(7).stdout;
        assert!(found.contains("state damaged, set aside by the next run: web"), "{found}");
        assert!(!found.contains("certctl status web"), "{found}");
        let plan = world.run(&["plan"]).ends_in(7).says("  try: certctl issue web\n");
        assert_eq!(plan.stdout, "1 with damaged state\n");
        let run = world.issue().ends_in(7).says("kept as ");
        run.says("restore the file from a backup, or run certctl issue").says("issue web");
        world.issue().ends_in(0);
        world.run(&["status", "--exit-code"]).ends_in(0);
        assert_eq!(world.sent(RequestKind::NewOrder), 1, "{file}");
        assert_eq!(world.state().published("web"), live, "{file}");
    }
}

#[test]
fn a_newer_document_is_called_newer_and_left_alone() {
    let world = issued();
    let order = fs::read_to_string(world.state().path(ORDER)).unwrap();
    let newer = order.replacen("\"version\": 1,", "\"version\": 2,", 1);
    assert_ne!(newer, order);
    world.write(&format!("state/{ORDER}"), &newer);
    let before = world.state().everything();
    for words in [&["issue"][..], &["renew", "web"]] {
        let run = world.run(words).ends_in(7);
        assert!(run.stderr.contains("was written by a newer certctl"), "{}", run.stderr);
    }
    assert_eq!(fs::read_to_string(world.state().path(ORDER)).unwrap(), newer);
    assert_eq!(world.state().everything(), before, "nothing is written, and nothing set aside");
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}

const METADATA: &str = "state/secrets/default/web-tls/..revision-1-0/metadata.json";

#[test]
fn newer_metadata_of_a_secret_is_left_alone_and_nothing_is_ordered() {
    let world = issued();
    world.write(METADATA, "{\"version\":2,\"kind\":\"SecretMetadata\",\"document\":{}}\n");
    let before = world.state().everything();
    for words in [&["issue"][..], &["renew", "web"]] {
        let run = world.run(words).ends_in(7);
        assert!(run.stderr.contains("was written by a newer certctl"), "{}", run.stderr);
    }
    assert_eq!(world.state().everything(), before, "nothing is written, and nothing set aside");
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}

#[test]
fn damaged_metadata_of_a_secret_is_set_aside_and_made_anew_without_an_order() {
    let world = issued();
    let good = fs::read_to_string(world.path(METADATA)).unwrap();
    world.write("config/mail.yaml", &CertificateYaml::new("mail"));
    world.issue().ends_in(0);
    world.write(METADATA, "{\"vers");
    let status = world.run(&["status"]).ends_in(7).stdout;
    let shows = |name: &str, verdict: &str| {
        status.lines().any(|line| line.contains(&format!(" {name} ")) && line.starts_with(verdict))
    };
    assert!(shows("web", "STATE DAMAGED") && shows("mail", "READY"), "{status}");
    let run = world.issue().ends_in(0);
    assert!(run.stderr.contains("cannot be read"), "{}", run.stderr);
    world.run(&["status", "--exit-code"]).ends_in(0);
    let live = "state/secrets/default/web-tls/..data/metadata.json";
    assert_eq!(fs::read_to_string(world.path(live)).unwrap(), good);
    assert_eq!(world.sent(RequestKind::NewOrder), 2);
}

/// Its settings are a webhook's, so that the format of an order is the same with it.
#[test]
fn an_order_for_a_dns_provider_that_only_a_newer_certctl_has_is_left_alone() {
    let world = World::start();
    let write_issuer = |provider: &str| {
        let solver = format!(
            "    - dns01:\n        webhook:\n          groupName: certctl\n          solverName: \
             {provider}\n          config:\n            command: my-dns\n"
        );
        world.write("config/issuer.yaml", &world.issuer().solvers(&solver));
    };
    write_issuer("exec");
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    world.write_program("config/solvers.d/my-dns", "exit 75");
    world.run(&["issue", "--timeout", "2s"]).ends_in(75);
    let path = world.state().path(ORDER);
    let present = fs::read_to_string(&path).unwrap();
    let newer = present.replace("\"solverName\": \"exec\"", "\"solverName\": \"newer\"");
    assert_ne!(newer, present);
    world.write(&format!("state/{ORDER}"), &newer);
    write_issuer("newer");
    let orders = path.parent().unwrap();
    let files = || fs::read_dir(orders).unwrap().count();
    let before = files();
    for words in [&["issue"][..], &["renew", "web"]] {
        let run = world.run(words).ends_in(3);
        assert!(run.stderr.contains("certctl has no `newer`"), "{}", run.stderr);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
    assert_eq!((files(), world.sent(RequestKind::NewOrder)), (before, 1));
}
