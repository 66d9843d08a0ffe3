//! Several hosts with one certificate over the weakest store that the contract allows.

mod fleet;
mod mutants;
mod pairs;
mod performer;
mod predicates;
mod sweep;

use std::sync::atomic::{AtomicBool, Ordering};

use certctl::engine::Ending;

use jiff::SignedDuration;

use crate::fuse::{Disturbance, Fuse, Pause};
use crate::history::{self, History};
use crate::stage::host::{Hosts, Run};
use crate::stage::scene::Scene;
use crate::stage::world::EFFECT;
use crate::weak::Weakness;

/// So many hosts that prove one name by DNS-01.
fn one_name(hosts: usize) -> Hosts {
    Hosts::new(hosts, Scene::over_dns(&["a.example"]), Weakness::default())
}

/// Whether all histories are looked at, of which there are too many for each day.
fn is_whole() -> bool {
    std::env::var_os("CERTCTL_ALL_HISTORIES").is_some()
}

/// How many histories of three hosts there are then: so many, or the variable's value.
fn whole() -> u64 {
    let value = std::env::var_os("CERTCTL_ALL_HISTORIES").unwrap_or_default();
    value
        .to_str()
        .and_then(|value| value.parse().ok())
        .filter(|count| *count > 1)
        .unwrap_or(100_000)
}

/// Whether all that must be true is; and whether nothing is left to do. The store may have drawn faults
/// of its own.
fn judge(hosts: &Hosts, is_settled: bool, is_drawn: bool) -> Result<(), String> {
    let history = hosts.history();
    let judged = all_is_true(hosts, &history, is_settled, is_drawn);
    judged.map_err(|why| {
        // The first failure tells its history.
        static IS_TOLD: AtomicBool = AtomicBool::new(false);
        let is_next = hosts.mutant.is_none() && !IS_TOLD.swap(true, Ordering::Relaxed);
        if is_next { format!("{why}\n{}", history::told(&history)) } else { why }
    })
}

fn all_is_true(
    hosts: &Hosts,
    history: &History,
    is_settled: bool,
    is_drawn: bool,
) -> Result<(), String> {
    for (name, predicate) in history::ALL {
        // The store does not say which of its requests it disturbed.
        if !(is_drawn && name.starts_with("orders are lost")) {
            predicate(history).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    if !is_settled {
        return Err("there is no end of work".to_owned());
    }
    let revision = hosts.record().and_then(|record| record.status.revision);
    let live: Vec<_> = (0..hosts.files.len()).map(|host| hosts.live(host)).collect();
    let left = hosts.outside.borrow().len();
    let is_live = live.iter().all(|live| *live == revision);
    if revision.is_none() || !is_live || left > history::presented_late(history) {
        return Err(format!("{revision:?} is stored, {live:?} are live, {left} records are left"));
    }
    Ok(())
}

#[test]
fn one_host_alone_issues_and_renews_and_another_then_has_nothing_to_order() {
    let hosts = one_name(2);
    for revision in [1, 2] {
        let ending = hosts.run_freely(0);
        assert!(matches!(ending, Ending::Issued(_)), "{ending:?}");
        for host in [0, 1] {
            let ending = hosts.run_freely(host);
            assert!(matches!(ending, Ending::Unchanged { .. }), "{ending:?}");
            assert_eq!(hosts.live(host), Some(revision));
        }
        assert_eq!(hosts.record().unwrap().status.revision, Some(revision));
        assert_eq!(hosts.ca.borrow().orders.len(), usize::try_from(revision).unwrap());
        hosts.wait_for_renewal();
    }
    assert!(hosts.outside.borrow().is_empty());
}

#[test]
fn a_host_that_stands_still_at_a_write_beyond_its_lock_sends_nothing_more() {
    let moments = one_name(1).run(Run::of(0));
    assert!(matches!(moments.ending, Some(Ending::Issued(_))));
    let mut pauses = 0;
    for (moment, label) in moments.labels.iter().enumerate() {
        if !label.starts_with("after put Certificate") {
            continue;
        }
        let hosts = one_name(2);
        let pause = Disturbance::Pause(Pause::For(SignedDuration::from_mins(20)));
        let stopped = Run { fuse: Fuse::endless().with(moment, pause), ..Run::of(0) };
        let other = Run { after: SignedDuration::from_mins(10), ..Run::of(1) };
        let went = hosts.run_together(vec![stopped, other]);
        let [stopped, other] = &went[..] else { unreachable!() };
        let effects =
            |labels: &[String]| labels.iter().filter(|label| label.starts_with(EFFECT)).count();
        // The last write is followed by nothing.
        let ends_there = !moments.labels[moment..].iter().any(|label| label.starts_with("before"));
        let is_lost = match &stopped.ending {
            Some(Ending::Locked { holder }) => holder == "another host",
            Some(Ending::Issued(_)) => ends_there,
            _ => false,
        };
        assert!(is_lost, "{label}: {:?}", stopped.ending);
        assert_eq!(effects(&stopped.labels), effects(&stopped.labels[..=moment]), "{label}");
        let sent = stopped.requests + other.requests;
        assert!(sent >= moments.requests, "{label}: {sent} of {}", moments.requests);
        assert_eq!(hosts.record().unwrap().status.revision, Some(1), "{label}");
        assert_eq!(hosts.ca.borrow().orders.len(), 1, "{label}");
        pauses += 1;
    }
    assert!(pauses >= 3, "{pauses}");
}
