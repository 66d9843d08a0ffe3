//! Promise: whatever the number of certificates and of processes, never more challenges than the
//! cap are in progress, never two for one name, and the oldest start first.
//!
//! The journals are the witnesses, and a checker reads them. With the feature `real-servers` there
//! are 200 certificates; without it as many as make the cap bind. What a turn is worth is shown in
//! `turns.rs`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use certctl::rehearsal::{RequestKind, Reuse};
use certctl::resource::{Event, EventType, Place, Queue, Reason};
use jiff::Timestamp;

use crate::journal::{Violation, check};
use crate::support::{CertificateYaml, Webhook, World, finish, until};

const CAP: usize = 60;
/// Certificates of two names each.
const CERTIFICATES: usize = if cfg!(feature = "real-servers") { 200 } else { 40 };

/// Certificates, every fourth of which has a name that the next one has, too.
fn certificates() -> Vec<CertificateYaml> {
    let certificate = |number: usize| {
        let shared = match number % 4 {
            0 => number,
            1 => number - 1,
            _ => number + 10_000,
        };
        let names = [format!("own-{number}.example.test"), format!("shared-{shared}.example.test")];
        let names = names.each_ref().map(String::as_str);
        CertificateYaml::new(&format!("c{number}")).for_names(&names)
    };
    (0..CERTIFICATES).map(certificate).collect()
}

/// A file with these certificates and their Issuer.
fn manifest(world: &World, file: &str, certificates: &[&CertificateYaml]) -> PathBuf {
    let mut text = world.issuer().to_string();
    for certificate in certificates {
        write!(text, "---\n{certificate}").unwrap();
    }
    world.write(file, &text)
}

fn journals(world: &World, certificates: &[CertificateYaml]) -> BTreeMap<String, Vec<Event>> {
    let events = |name: &str| {
        let path = world.state().path(&format!("certificates/default/{name}/events.jsonl"));
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    certificates.iter().map(|c| (c.name().to_owned(), events(c.name()))).collect()
}

fn queue(world: &World) -> Queue {
    let path = world.state().path("scheduler.json");
    let Ok(bytes) = std::fs::read(path) else { return Queue::default() };
    let mut envelope: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    serde_json::from_value(envelope["document"].take()).unwrap()
}

fn count(queue: &Queue, place: Place) -> usize {
    queue.runs.values().flatten().filter(|entry| entry.place == place).count()
}

/// Issues all certificates in as many processes side by side. No name is found until every slot is
/// held, so that the cap is reached however slow the machine is.
fn issue(processes: usize) {
    let world = World::start();
    world.dns.remove("*.example.test");
    let certificates = certificates();
    let mut children = Vec::new();
    for process in 0..processes {
        let mine: Vec<_> = certificates.iter().skip(process).step_by(processes).collect();
        let path = manifest(&world, &format!("{process}.yaml"), &mine);
        children.push(world.start_certctl(&["issue", path.to_str().unwrap()]));
    }
    until("all slots are held", || count(&queue(&world), Place::Granted) == CAP);
    world.dns.set("*.example.test", vec!["127.0.0.1".parse().unwrap()]);
    for child in children {
        finish(child).ends_in(0);
    }
    for certificate in &certificates {
        assert_eq!(world.state().published(certificate.name()).dns_names.len(), 2);
    }
    let found = check(&journals(&world, &certificates), CAP);
    assert_eq!(found.violations, [].into(), "{found:?}");
    assert_eq!(queue(&world), Queue::default());
}

#[test]
fn one_run_keeps_to_the_cap_the_names_and_the_order() {
    issue(1);
}

#[test]
fn two_processes_keep_to_them_together() {
    issue(2);
}

#[test]
fn a_killed_process_holds_no_slot() {
    let world = World::start();
    world.dns.remove("*.example.test");
    let names: Vec<String> = (0..CAP).map(|n| format!("h{n}.example.test")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hopeless = CertificateYaml::new("hopeless").for_names(&names);
    let hopeless = format!("{}---\n{hopeless}", world.issuer());
    let hopeless = world.write("hopeless.yaml", &hopeless);
    let start = |path: &PathBuf| {
        let words = ["issue", path.to_str().unwrap(), "--self-check-interval", "1h"];
        world.start_certctl(&words)
    };
    let mut killed = start(&hopeless);
    until("all slots are held", || count(&queue(&world), Place::Granted) == CAP);
    world.dns.set("good.example.test", vec!["127.0.0.1".parse().unwrap()]);
    let good = format!("{}---\n{}", world.issuer(), CertificateYaml::new("good"));
    let good = start(&world.write("good.yaml", &good));
    until("the next one waits", || count(&queue(&world), Place::Queued) == 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    finish(good).ends_in(0);
    world.state().published("good");
    assert_eq!(queue(&world), Queue::default(), "what it left is dropped");
}

#[test]
fn an_order_of_a_hundred_names_is_written_into_the_queue_a_few_dozen_times() {
    let world = World::start();
    let names: Vec<String> = (0..100).map(|n| format!("n{n}.example.test")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    world.prepare(&[CertificateYaml::new("web").for_names(&names)]);
    world.issue().ends_in(0);
    // The lock counts those who took it.
    let lock = std::fs::read_to_string(world.state().path("locks/scheduler")).unwrap();
    let taken: usize = lock.split_once(' ').unwrap().0.parse().unwrap();
    assert!((2..60).contains(&taken), "{taken} times");
    // A run that has no challenge leaves it alone.
    world.issue().says_nothing();
    assert_eq!(std::fs::read_to_string(world.state().path("locks/scheduler")).unwrap(), lock);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test's own files need not survive a crash")]
fn a_queue_that_cannot_be_read_is_refused_or_set_aside() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("www")]);
    world.issue().ends_in(0);
    let path = world.state().path("scheduler.json");
    for (text, code) in [("{\"version\":2}", 7), ("{\"version\":1,\"kind\"", 0), ("", 0)] {
        std::fs::write(&path, text).unwrap();
        let run = world.run(&["renew", "web"]).ends_in(code);
        if code == 7 {
            run.says("its format is version 2, this certctl knows versions up to 1");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
    // The first was set aside, and concerns no process that is there; the empty one was none.
    let state = world.state();
    let left = || {
        let entries = std::fs::read_dir(state.path("")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("scheduler.json.")).collect::<Vec<_>>()
    };
    assert_eq!(left(), Vec::<String>::new());
    std::fs::write(world.state().path("scheduler.json.next"), "").unwrap();
    world.issue().says_nothing();
    assert_eq!(left(), Vec::<String>::new());
}

/// No lock guards the folder of what was revoked: an old one is no writer's.
#[test]
fn what_a_killed_revoke_left_goes_with_a_later_run() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let path = world.state().path("revoked/.tmp-812-0-ab.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let private = |path: &std::path::Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    private(path.parent().unwrap(), 0o700);
    let file = std::fs::File::create(&path).unwrap();
    private(&path, 0o600);
    world.issue().says_nothing();
    assert!(path.exists(), "it may be being written");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    world.issue().says_nothing();
    assert!(!path.exists());
}

/// Certificates of a name each and one that all have, at a CA that hands out the pending
/// authorizations again: the shared name is presented and proven once, whatever the number of slots,
/// of processes, and the method.
fn some_that_share_a_name(count: usize, cap: usize, processes: usize, over_dns: bool) {
    let world = World::with(|options| options.reuse = Reuse::PendingAuthorizations);
    let webhook = Webhook::start(world.dns.provider());
    let shared = "shared.example.test";
    let certificate = |number: usize| {
        let own = format!("own-{number}.example.test");
        CertificateYaml::new(&format!("c{number}")).for_names(&[&own, shared])
    };
    let certificates: Vec<_> = (0..count).map(certificate).collect();
    let issuer = world.issuer();
    let issuer = if over_dns { issuer.solvers(&webhook.solver("")) } else { issuer };
    let mut children = Vec::new();
    for process in 0..processes {
        let mut text = issuer.to_string();
        for certificate in certificates.iter().skip(process).step_by(processes) {
            write!(text, "---\n{certificate}").unwrap();
        }
        let path = world.write(&format!("{process}.yaml"), &text);
        let cap = cap.to_string();
        let words = ["issue", path.to_str().unwrap(), "--max-concurrent-challenges", &cap];
        children.push(world.start_certctl(&words));
    }
    for child in children {
        finish(child).ends_in(0);
    }
    let journals = journals(&world, &certificates);
    let found = check(&journals, cap);
    assert_eq!(found.violations, [].into(), "{found:?}");
    assert!(found.peak <= cap, "{found:?}");
    let presented = |name: &str| {
        let events = journals.values().flatten();
        let these = events.filter(|event| event.reason == Reason::Presented);
        these.filter(|event| event.message.ends_with(&format!("({name})"))).count()
    };
    let found = (presented("own-3.example.test"), presented(shared));
    assert_eq!(found, (1, 1), "{journals:?}");
    assert_eq!(world.sent(RequestKind::Challenge), count + 1, "each name is proven once");
    let writes = if over_dns { count + 1 } else { 0 };
    let actions = webhook.actions();
    for action in ["Present", "CleanUp"] {
        assert_eq!(actions.iter().filter(|done| *done == action).count(), writes, "{action}");
    }
    assert_eq!(queue(&world), Queue::default());
    assert!(world.state().tokens().is_empty());
}

#[test]
fn a_name_that_several_certificates_share_is_proven_once() {
    for (count, cap) in [(4, 1), (10, 60)] {
        some_that_share_a_name(count, cap, 1, false);
        some_that_share_a_name(count, cap, 2, true);
    }
}

/// A journal of a hand's length with nothing wrong in it: seconds, certificate, reason, message.
const STORY: [(i64, &str, Reason, &str); 12] = [
    (0, "one", Reason::OrderCreated, ""),
    (0, "one", Reason::Created, "Created Challenge resource \"one-1\" for domain \"a.example\""),
    (1, "two", Reason::OrderCreated, ""),
    (1, "two", Reason::Created, "Created Challenge resource \"two-1\" for domain \"b.example\""),
    (2, "three", Reason::OrderCreated, ""),
    (2, "three", Reason::Created, "Created Challenge resource \"x-1\" for domain \"a.example\""),
    (20, "one", Reason::Started, "queued since 1970-01-01T00:00:05Z (a.example)"),
    (21, "two", Reason::Started, "queued since 1970-01-01T00:00:06Z (b.example)"),
    (30, "one", Reason::Released, "Challenge ended; the next one that waits may start (a.example)"),
    (30, "three", Reason::Started, "queued since 1970-01-01T00:00:07Z (a.example)"),
    (40, "two", Reason::Requeued, "Challenge queued again (b.example)"),
    (
        41,
        "three",
        Reason::Released,
        "Challenge ended; the next one that waits may start (a.example)",
    ),
];

/// The checker's result for a modified story.
fn told(doctor: impl Fn(&mut Vec<(i64, &str, Reason, &str)>)) -> Vec<Violation> {
    let mut story = STORY.to_vec();
    doctor(&mut story);
    let mut journals: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for (second, of, reason, message) in story {
        journals.entry(of.to_owned()).or_default().push(Event {
            time: Timestamp::from_second(second).unwrap(),
            kind: EventType::Normal,
            reason,
            message: message.to_owned(),
        });
    }
    check(&journals, 2).violations.into_iter().collect()
}

#[test]
fn the_checker_catches_each_kind_of_violation() {
    use Violation::{Kept, OutOfTurn, Overtook, TooMany, Twice};
    let a = || "a.example".to_owned();
    let overtook = |who: &str, whom: &str| Overtook { who: who.to_owned(), whom: whom.to_owned() };
    assert_eq!(told(|_| ()), []);
    // Given back a second too late for the next of that name.
    assert_eq!(told(|story| story[8].0 = 31), [TooMany(3), Twice(a())]);
    // Another name at the same time, with no slot left for it.
    let other = "Challenge scheduled for processing (c.example)";
    assert_eq!(
        told(|story| story.push((25, "four", Reason::Started, other))),
        [TooMany(3), Kept("c.example".to_owned())]
    );
    // The younger one before the older one; with the same name it is not in its way.
    let early = |story: &mut Vec<(i64, &str, Reason, &str)>, second| {
        story[7].0 = second;
        // Another one has the other slot until then.
        story.push((3, "four", Reason::Started, "(c.example)"));
        story.push((20, "four", Reason::Released, "(c.example)"));
    };
    assert_eq!(told(|story| early(story, 19)), [overtook("two", "one")]);
    // Before the older one is in the queue none can overtake it; nor while a slot is left for it.
    assert_eq!(told(|story| early(story, 4)), []);
    assert_eq!(told(|story| story[7].0 = 19), []);
    // Never given back, given back twice, taken twice.
    assert_eq!(told(|story| _ = story.remove(11)), [Kept(a())]);
    assert_eq!(
        told(|story| story.push((50, "one", Reason::Released, "(a.example)"))),
        [OutOfTurn(a())]
    );
    assert_eq!(
        told(|story| story.push((22, "one", Reason::Started, "(a.example)"))),
        [OutOfTurn(a())]
    );
}
