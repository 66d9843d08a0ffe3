//! The pair of a revision is stored, then named by the record, and then live: first on the host that
//! issued it, and on each other one with its next run. None goes back.

use std::rc::Rc;
use std::sync::Arc;

use certctl::engine::ports::{Clock as _, Collection, Documents as _, Key};
use certctl::engine::{Ending, dry_run};
use certctl::manifest::SecretSource;
use certctl::pki;
use certctl::resource::{DeployStep, LeafFacts};
use certctl::store::{CertificateDocument, Records};
use certctl::workspace::outlook::{Action, Outlook, When};

use super::one_name;
use crate::fuse::Fuse;
use crate::stage::disk::is_pair;
use crate::stage::host::{HostWent, Hosts, LATER, Run};
use crate::stage::world::EFFECT;
use crate::weak::Done;

/// How the scene begins; the runs of host 0 and then of host 1 are what is looked at.
type Begin = fn() -> Hosts;

fn fresh() -> Hosts {
    one_name(2)
}

/// Both hosts have the first revision, and it is due.
fn due() -> Hosts {
    let hosts = fresh();
    hosts.run_freely(0);
    hosts.run_freely(1);
    hosts.ca.borrow_mut().proven.clear();
    hosts.wait_for_renewal();
    hosts
}

fn with_hook(mut hosts: Hosts) -> Hosts {
    let certificate = Arc::make_mut(&mut hosts.task.certificate);
    certificate.settings.deploy_hook = Some("install".to_owned());
    hosts
}

/// The leaf that is live on a host, with its key.
fn leaf(hosts: &Hosts, host: usize) -> Option<LeafFacts> {
    let memory = hosts.files[host].borrow();
    let (_, files) = memory.secrets.values().next()?;
    assert!(is_pair(files), "host {host}");
    Some(pki::leaf_facts(std::str::from_utf8(&files.0["tls.crt"]).unwrap()).unwrap())
}

/// Both hosts have what the record names.
fn all_follow(hosts: &Hosts, revision: u32, why: &str) {
    let record = hosts.record().unwrap();
    assert_eq!(record.status.revision, Some(revision), "{why}");
    for host in [0, 1] {
        let found = leaf(hosts, host).map(|leaf| leaf.fingerprint);
        assert_eq!((hosts.live(host), found), (Some(revision), record.issued_fingerprint.clone()));
    }
}

/// Orders of the CA, the first `skipped` aside, whose URL nobody stored.
fn unrecorded(hosts: &Hosts, skipped: usize) -> usize {
    let (documents, name) = (hosts.store.host(), hosts.task.certificate.metadata.key());
    hosts.runs.borrow_mut().push(None);
    let known = async { CertificateDocument::read(&documents, &name).await?.orders().await };
    let known = hosts.clock.run(|| false, known).unwrap().unwrap();
    let known: Vec<_> = known.into_iter().map(|(_, order)| order.unwrap()).collect();
    let is_known = |url: &String| known.iter().any(|order| order.url() == Some(url));
    let ca = hosts.ca.borrow();
    ca.orders.iter().skip(skipped).filter(|order| !is_known(&order.url)).count()
}

fn position(labels: &[String], start: &str) -> usize {
    let found = labels.iter().position(|label| label.starts_with(start));
    found.unwrap_or_else(|| panic!("{start}: {labels:#?}"))
}

/// A run of this host when the lock of a killed one has run out.
fn run_later(hosts: &Hosts, host: usize, fuse: Fuse) -> HostWent {
    hosts.run(Run { after: LATER, fuse, ..Run::of(host) })
}

#[test]
fn the_pair_is_stored_before_the_record_names_it_and_is_live_after_that() {
    let hosts = fresh();
    let went = hosts.run(Run::of(0));
    assert!(matches!(went.ending, Some(Ending::Issued(_))), "{:?}", went.ending);
    let labels = &went.labels;
    let (stored, live) =
        (position(labels, "after create Pair"), position(labels, "before publish"));
    let commit =
        labels[stored..live].iter().any(|label| label.starts_with("after put Certificate"));
    assert!(commit, "{labels:#?}");
    let effects = |what: &str| position(labels, &format!("{EFFECT}{what}"));
    assert!(effects("Publish") < stored && commit && effects("Follow") < live, "{labels:#?}");
}

#[test]
fn a_host_without_files_has_the_pair_of_another_one_without_an_order() {
    for begin in [fresh, due] {
        let hosts = begin();
        let revision = hosts.record().map_or(0, |record| record.status.revision.unwrap()) + 1;
        hosts.run_freely(0);
        let orders = hosts.ca.borrow().orders.len();
        assert_eq!(hosts.live(1), (revision > 1).then_some(revision - 1));
        let went = hosts.run(Run::of(1));
        assert!(matches!(went.ending, Some(Ending::Unchanged { .. })), "{:?}", went.ending);
        assert_eq!((went.requests, hosts.ca.borrow().orders.len()), (0, orders));
        all_follow(&hosts, revision, "");
        // Nothing is left to do.
        for host in [0, 1] {
            assert_eq!(hosts.run(Run::of(host)).labels, [""; 0]);
        }
    }
}

#[test]
fn the_plan_of_a_host_says_that_it_has_files_to_restore_and_nothing_to_order() {
    for begin in [fresh, due] {
        let hosts = with_hook(begin());
        hosts.run_freely(0);
        let (store, now) = (hosts.open(1, &Rc::default()), hosts.clock.now());
        let secrets = SecretSource::new(Vec::new(), None, None);
        let planned = dry_run(&store, &hosts.task, &secrets, now);
        let (seen, planned) = hosts.clock.run(|| false, planned).unwrap().unwrap();
        let outlook = Outlook::of(&planned, now);
        assert_eq!((outlook.when, outlook.next), (When::NextRun, Some(Action::Restore)));
        let revision = hosts.record().unwrap().status.revision.unwrap();
        assert_eq!(outlook.message, format!("revision {revision} is not live on this host"));
        assert!(!planned.rewrites && planned.deploys == [DeployStep::Hook], "{planned:?}");
        let shown = seen.snapshot.live_leaf().unwrap().fingerprint.clone();
        assert_eq!(Some(shown), hosts.record().unwrap().issued_fingerprint);
        assert_eq!(hosts.live(1), Some(revision - 1).filter(|live| *live > 0));
    }
}

/// Host 0 is killed at each moment, and then these hosts run, the last of them twice.
fn killed(begin: Begin, next: &[usize]) {
    let labels = begin().run(Run::of(0)).labels;
    // What comes before is the same as in a first issuance.
    let is_first = begin().record().is_none();
    let skipped = if is_first { 0 } else { position(&labels, &format!("{EFFECT}Publish")) };
    for moment in skipped..labels.len() {
        let hosts = begin();
        let revision = hosts.record().map_or(0, |record| record.status.revision.unwrap()) + 1;
        let before = hosts.ca.borrow().orders.len();
        let old = [0, 1].map(|host| leaf(&hosts, host).map(|leaf| leaf.fingerprint));
        // Two runs may write the same in one step or in two.
        let labels = hosts.run(Run { fuse: Fuse::at(moment), ..Run::of(0) }).labels;
        let label = labels.last().map_or("", String::as_str);
        // Whoever starts a server now finds the pair from before, or what the record names.
        let named = hosts.record().and_then(|record| record.issued_fingerprint);
        for (host, old) in [0, 1].into_iter().zip(old) {
            let live = leaf(&hosts, host).map(|leaf| leaf.fingerprint);
            assert!(live == old || live == named, "{label}");
        }
        let lost = unrecorded(&hosts, before);
        assert!(lost == 0 || label.contains("CreateOrder"), "{label}");
        for host in next {
            run_later(&hosts, *host, Fuse::endless());
        }
        all_follow(&hosts, revision, label);
        assert_eq!(hosts.ca.borrow().orders.len() - before, 1 + lost, "{label}");
    }
}

#[test]
fn however_a_host_is_killed_the_other_one_goes_on_and_both_have_the_same_pair_in_the_end() {
    for begin in [fresh, due] {
        killed(begin, &[1, 0]);
    }
}

#[test]
fn however_a_host_is_killed_it_goes_on_itself_and_both_have_the_same_pair_in_the_end() {
    for begin in [fresh, due] {
        killed(begin, &[0, 1]);
    }
}

#[test]
fn a_host_that_is_killed_while_it_follows_has_the_pair_with_its_next_run() {
    for begin in [fresh, due] {
        let hosts = begin();
        hosts.run_freely(0);
        let moments = hosts.run(Run::of(1)).labels.len();
        assert!(moments >= 4, "{moments}");
        for moment in 0..moments {
            let hosts = begin();
            hosts.run_freely(0);
            let orders = hosts.ca.borrow().orders.len();
            assert!(hosts.run(Run { fuse: Fuse::at(moment), ..Run::of(1) }).ending.is_none());
            run_later(&hosts, 1, Fuse::endless());
            all_follow(&hosts, hosts.record().unwrap().status.revision.unwrap(), "");
            assert_eq!(hosts.ca.borrow().orders.len(), orders, "killed at {moment}");
        }
    }
}

#[test]
fn what_is_of_a_host_is_stored_there_and_not_in_the_record_that_they_share() {
    let mut hosts = with_hook(fresh());
    hosts.run_freely(0);
    hosts.task.manifest = Some("/srv/other.yaml".into());
    hosts.run_freely(1);
    let shared = hosts.record().unwrap();
    assert_eq!((shared.manifest, shared.deployments), (None, Vec::new()));
    let of = |host: usize| {
        let sections = &hosts.files[host].borrow().sections;
        String::from_utf8(sections.values().next().unwrap().clone()).unwrap()
    };
    for (host, manifest) in [(0, "/etc/certctl/web.yaml"), (1, "/srv/other.yaml")] {
        assert!(of(host).contains(manifest) && of(host).contains("install"), "{}", of(host));
    }
    // What a host did writes nothing that the other one reads.
    let key = Key::Certificate(hosts.task.certificate.metadata.key());
    let writes = || {
        let moments = hosts.store.history().into_iter();
        moments.filter(|moment| matches!(&moment.done, Done::Changed(of, _) if *of == key)).count()
    };
    let before = writes();
    hosts.task.manifest = Some("/srv/third.yaml".into());
    hosts.run_freely(0);
    assert!(of(0).contains("/srv/third.yaml"));
    assert_eq!(writes(), before + 1, "the claim alone");
}

#[test]
fn each_host_runs_its_hook_when_the_pair_is_live_there() {
    let begin = || {
        let hosts = with_hook(fresh());
        hosts.run_freely(0);
        assert_eq!(hosts.ca.borrow().deployments, 1);
        hosts
    };
    let hosts = begin();
    let labels = hosts.run(Run::of(1)).labels;
    let hook = format!("{EFFECT}Deploy");
    assert!(position(&labels, "after publish") < position(&labels, &hook), "{labels:#?}");
    for host in [0, 1, 0, 1] {
        hosts.run_freely(host);
    }
    assert_eq!(hosts.ca.borrow().deployments, 2);
    for (moment, label) in labels.iter().enumerate() {
        let hosts = begin();
        hosts.run(Run { fuse: Fuse::at(moment), ..Run::of(1) });
        let is_past = hosts.ca.borrow().deployments == 2;
        let labels = run_later(&hosts, 1, Fuse::endless()).labels;
        let runs = labels.iter().any(|label| label.starts_with(&hook));
        assert!(runs || is_past, "killed at {label}");
    }
}

#[test]
fn no_host_goes_back_with_a_store_that_went_back() {
    let begin = || {
        let hosts = fresh();
        for host in [0, 1] {
            hosts.run_freely(host);
        }
        let key = Key::Certificate(hosts.task.certificate.metadata.key());
        let documents = hosts.store.host();
        hosts.runs.borrow_mut().push(None);
        let read = || hosts.clock.run(|| false, documents.get(&key)).unwrap().unwrap().unwrap();
        let old = read();
        hosts.wait_for_renewal();
        for host in [0, 1] {
            hosts.run_freely(host);
        }
        let now = read();
        let put = documents.put_if(&key, &old.bytes, &now.revision);
        hosts.clock.run(|| false, put).unwrap().unwrap();
        hosts
    };
    let hosts = begin();
    let before = leaf(&hosts, 1).unwrap();
    assert_eq!((hosts.record().unwrap().status.revision, hosts.live(1)), (Some(1), Some(2)));
    let moments = hosts.run(Run::of(1)).labels.len();
    for moment in 0..moments {
        let hosts = begin();
        hosts.run(Run { fuse: Fuse::at(moment), ..Run::of(1) });
        let after = leaf(&hosts, 1).unwrap();
        assert!(after.not_before >= before.not_before && hosts.live(1) >= Some(2), "{moment}");
    }
}

#[test]
fn the_last_two_pairs_stay() {
    let hosts = fresh();
    let pairs = || {
        let (documents, name) = (hosts.store.host(), hosts.task.certificate.metadata.key());
        hosts.runs.borrow_mut().push(None);
        let (records, of) = (Records::new(&documents), Collection::Pairs(name));
        let keys = hosts.clock.run(|| false, records.keys(&of)).unwrap().unwrap().into_iter();
        keys.map(|key| if let Key::Pair(_, revision, _) = key { revision } else { 0 }).collect()
    };
    hosts.run_freely(0);
    for revision in 2..=4 {
        hosts.wait_for_renewal();
        hosts.run_freely(0);
        let found: Vec<u32> = pairs();
        assert_eq!(found, [revision - 1, revision]);
    }
    // A host that was away for long.
    hosts.run_freely(1);
    all_follow(&hosts, 4, "");
}
