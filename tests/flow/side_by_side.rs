//! Many processes at once on one state.

use std::fs::File;

use certctl::rehearsal::{RequestKind, Reuse};
use certctl::resource::{Event, Reason};
use jiff::SignedDuration;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{CertificateYaml, Run, World, finish, until};

fn at_once(world: &World, count: usize, lock_timeout: &str) -> Vec<Run> {
    let words = ["issue", "--lock-timeout", lock_timeout];
    let children: Vec<_> = (0..count).map(|_| world.start_certctl(&words)).collect();
    children.into_iter().map(finish).collect()
}

#[test]
fn sixty_four_first_runs_at_once_make_one_account_and_one_order() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    for run in at_once(&world, 64, "60s") {
        run.ends_in(0);
    }
    let made = |kind| world.ca.created(kind);
    let made = (made(RequestKind::NewAccount), made(RequestKind::NewOrder), world.ca.issued());
    assert_eq!(made, (1, 1, 1));
    world.state().published("web");
    let requests = world.ca.requests();
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
}

/// The system takes connections for it, which nothing answers.
#[test]
fn a_stopped_run_that_shares_the_port_is_named_and_no_validation_fails_by_it() {
    let world = World::start();
    world.write("config/issuer.yaml", &world.issuer());
    world.write("stuck.yaml", &CertificateYaml::new("stuck").for_names(&["not.example.org"]));
    world.write("web.yaml", &CertificateYaml::new("web"));
    let stuck = world.start_certctl(&["issue", "stuck.yaml", "--self-check-interval", "1h"]);
    let presented = || std::fs::read_dir(world.path("state/http01")).is_ok_and(|of| of.count() > 0);
    until("its token is presented", presented);
    let journal = "state/certificates/default/stuck/events.jsonl";
    until("it waits", || {
        std::fs::read_to_string(world.path(journal)).is_ok_and(|text| text.contains("Presented"))
    });
    let (pid, number) = (Pid::from_child(&stuck), stuck.id());
    kill_process(pid, Signal::STOP).unwrap();
    let quick = ["issue", "web.yaml", "--timeout", "2s", "--self-check-interval", "100ms"];
    let run = world.run(&quick);
    let run = run.ends_in(75);
    let run = run.says(&format!("(pid {number}) listens on the same port but is stopped"));
    assert!(run.stderr.contains(&format!("kill -CONT {number}")), "{}", run.stderr);
    assert_eq!(world.sent(RequestKind::Challenge), 0);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    kill_process(pid, Signal::CONT).unwrap();
    world.run(&["issue", "web.yaml"]).ends_in(0);
    kill_process(pid, Signal::TERM).unwrap();
    finish(stuck).ends_in(143);
}

/// As Let's Encrypt's server does: whoever orders the same names gets the same order, and shares its
/// authorizations.
/// The longest time between two certificates.
fn of_the_same_names(count: usize, processes: usize) -> SignedDuration {
    let world = World::with(|options| options.reuse = Reuse::Orders);
    let names = ["a.example.test", "b.example.test"];
    let mut children = Vec::new();
    let name = |number: usize| format!("web-{number}");
    for process in 0..processes {
        let mut text = world.issuer().to_string();
        for number in (process..count).step_by(processes) {
            let certificate = CertificateYaml::new(&name(number)).for_names(&names).to_string();
            // One of the certificates has an RSA key.
            let algorithm = if number == 0 { "RSA" } else { "ECDSA" };
            text += "---\n";
            text += &certificate.replace("ECDSA", algorithm);
        }
        let path = world.write(&format!("{process}.yaml"), &text);
        children.push(world.start_certctl(&["issue", path.to_str().unwrap()]));
    }
    for child in children {
        finish(child).ends_in(0);
    }
    let mut issued = Vec::new();
    for number in 0..count {
        world.state().published(&name(number));
        let journal = format!("certificates/default/{}/events.jsonl", name(number));
        let journal = std::fs::read_to_string(world.state().path(&journal)).unwrap();
        assert!(!journal.contains("\"Failed\""), "{journal}");
        let events = journal.lines().map(|line| serde_json::from_str::<Event>(line).unwrap());
        let mut done = events.filter(|event| event.reason == Reason::Complete);
        issued.push(done.next().unwrap().time);
        let presented = journal.matches("\"Presented\"").count();
        assert!(presented == 0 || presented == 2, "one of them proves both names: {journal}");
    }
    assert_eq!((world.ca.issued(), world.sent(RequestKind::Finalize)), (count, count));
    assert_eq!(world.sent(RequestKind::Challenge), 2, "each name is proven once");
    // Each orders once, and once more after its wait; or when the order was finalized meanwhile.
    let orders = world.sent(RequestKind::NewOrder);
    assert!(orders <= 3 * count, "{orders} newOrders");
    let locks = std::fs::read_dir(world.state().path("locks")).unwrap();
    let left = locks
        .filter(|lock| lock.as_ref().unwrap().file_name().to_str().unwrap().starts_with("order-"));
    assert_eq!(left.count(), 0, "the locks of orders are left");
    issued.sort_unstable();
    issued.windows(2).map(|two| two[0].duration_until(two[1])).max().unwrap()
}

#[test]
fn certificates_of_the_same_names_are_issued_by_a_ca_that_hands_out_the_same_order() {
    for (count, processes) in [(2, 1), (4, 1), (4, 2), (4, 1), (4, 2), (4, 1), (4, 2), (16, 2)] {
        of_the_same_names(count, processes);
    }
}

/// One has an RSA key.
#[test]
#[ignore = "a series of many minutes; tests/run --all starts it"]
fn series_of_certificates_of_the_same_names() {
    for (count, processes) in [(2, 1), (4, 1), (4, 2), (16, 1), (16, 2)] {
        let gaps: Vec<_> = (0..50).map(|_| of_the_same_names(count, processes)).collect();
        let longest = gaps.into_iter().max().unwrap();
        assert!(longest <= SignedDuration::from_secs(2), "{count} in {processes}: {longest:?}");
    }
}

#[test]
fn those_who_do_not_wait_for_the_lock_come_again_later() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let runs = at_once(&world, 64, "1s");
    let done = runs.iter().filter(|run| run.code == Some(0)).count();
    assert!(done >= 1);
    for run in runs.into_iter().filter(|run| run.code != Some(0)) {
        run.ends_in(75).says("locked by");
    }
    assert_eq!(world.ca.created(RequestKind::NewOrder), 1);
    let requests = world.ca.requests();
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
}

/// Two who ask for a renewal at once both have what they asked for, unless that is more than a renewal.
#[test]
fn a_renewal_that_waits_for_another_one_is_done_with_that() {
    for (more, orders) in [(&[][..], 2), (&["--new-key"], 3)] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.issue().ends_in(0);
        world.dns.remove("*.example.test");
        let first = world.start_certctl(&["renew", "web"]);
        until("a token is presented", || !world.state().tokens().is_empty());
        let said = world.path("said");
        let second = [&["renew", "web"], more].concat();
        let second = world.command(&second).stderr(File::create(&said).unwrap()).spawn().unwrap();
        let said = || std::fs::read_to_string(&said).unwrap();
        until("the second one waits", || said().contains("locked by"));
        world.dns.set("web.example.test", vec!["127.0.0.1".parse().unwrap()]);
        finish(first).ends_in(0);
        finish(second).ends_in(0);
        let is_done = said().contains("already issued by the other run");
        assert_eq!((is_done, world.ca.created(RequestKind::NewOrder)), (orders == 2, orders));
    }
}

#[test]
fn two_processes_share_a_port_and_a_state() {
    let world = World::start();
    let files: Vec<_> = ["one", "two"]
        .iter()
        .map(|name| {
            let names: Vec<String> = (0..8).map(|n| format!("{name}-{n}.example.test")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let certificate = CertificateYaml::new(name).for_names(&names);
            world.write(&format!("{name}.yaml"), &format!("{}---\n{certificate}", world.issuer()))
        })
        .collect();
    let children: Vec<_> =
        files.iter().map(|file| world.start_certctl(&["issue", file.to_str().unwrap()])).collect();
    for child in children {
        finish(child).ends_in(0);
    }
    for name in ["one", "two"] {
        assert_eq!(world.state().published(name).dns_names.len(), 8);
    }
    assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
    assert!(world.state().tokens().is_empty());
}

#[test]
fn a_run_that_stays_for_the_answers_of_another_says_so() {
    let certificates = ["web", "mail"].map(CertificateYaml::new);
    let world = World::prepared(&certificates);
    world.dns.set("web.example.test", vec!["127.0.0.2".parse().unwrap()]);
    let waiting = world.start_certctl(&["renew", "web"]);
    until("its answer is presented", || !world.state().tokens().is_empty());
    let mut command = world.command(&["renew", "mail"]);
    command.stderr(File::create(world.path("log")).unwrap());
    let staying = command.spawn().unwrap();
    let said = || std::fs::read_to_string(world.path("log")).unwrap();
    until("it says why it stays", || {
        said().contains("answering the CA for another certctl run on the same port")
    });
    assert!(said().contains(", for up to ") && world.ca.issued() == 1, "{}", said());
    world.dns.set("web.example.test", vec!["127.0.0.1".parse().unwrap()]);
    finish(waiting).ends_in(0);
    finish(staying).ends_in(0);
    assert_eq!(world.ca.issued(), 2);
}
