//! Three hosts, one certificate, and whatever comes: each seed is a history.

use jiff::SignedDuration;

use super::{is_whole, judge, whole};
use crate::fuse::{Disturbance, Fuse, Pause};
use crate::random::Random;
use crate::stage::host::{Hosts, Mutant, Run};
use crate::stage::scene::{Scene, identifier};
use crate::weak::{Fault, Weakness};

const HOSTS: usize = 3;
/// More moments than most runs have.
const MOMENTS: usize = 110;
/// Longer than a lock lasts.
const LONGEST: usize = 600;

fn seconds(random: &mut Random, most: usize) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(random.below(most)).unwrap())
}

fn fault(random: &mut Random) -> Fault {
    let pause = seconds(random, LONGEST);
    [
        Fault::RequestLost,
        Fault::AnswerLost,
        Fault::Late,
        Fault::Repeated,
        Fault::StoppedBefore(pause),
        Fault::StoppedAfter(pause),
    ][random.below(6)]
}

/// A run that may be disturbed, and be killed.
fn run(random: &mut Random, host: usize) -> Run {
    let is_killed = random.below(3) == 0;
    let mut fuse = if is_killed { Fuse::at(random.below(MOMENTS)) } else { Fuse::endless() };
    for _ in 0..random.below(4) {
        let disturbance = match random.below(3) {
            0 => Disturbance::Pause(Pause::For(seconds(random, LONGEST))),
            1 => Disturbance::LostReply,
            _ => Disturbance::Write(fault(random)),
        };
        fuse = fuse.with(random.below(MOMENTS), disturbance);
    }
    Run { after: seconds(random, LONGEST), fuse, ..Run::of(host) }
}

/// What is wrong with the history of a seed.
pub(super) fn history(seed: u64, mutant: Option<Mutant>) -> Result<(), String> {
    let mut random = Random(seed);
    let scene = Scene::over_dns(&["a.example", "b.example"]);
    if random.below(4) == 0 {
        scene.ca.borrow_mut().proven.insert(identifier("a.example"));
    }
    // In every other history the store has faults of its own, at any request.
    let is_drawn = mutant.is_none() && random.below(2) == 0;
    let faults = if is_drawn { drawn(&mut random) } else { Vec::new() };
    let weakness = Weakness { seed, faults: faults.clone(), ..Weakness::default() };
    let mut hosts = Hosts::new(HOSTS, scene, weakness);
    hosts.mutant = mutant;
    for _ in 0..=random.below(2) {
        hosts.run_together((0..HOSTS).map(|host| run(&mut random, host)).collect());
    }
    hosts.store.set_faults(Vec::new());
    let mut is_settled = hosts.settle();
    let is_issued = hosts.record().is_some_and(|record| record.status.renewal_time.is_some());
    if is_settled && is_issued && random.below(3) == 0 {
        hosts.ca.borrow_mut().proven.clear();
        hosts.wait_for_renewal();
        hosts.store.set_faults(faults);
        hosts.run_together((0..HOSTS).map(|host| run(&mut random, host)).collect());
        hosts.store.set_faults(Vec::new());
        is_settled &= hosts.settle();
    }
    judge(&hosts, is_settled, is_drawn)
}

/// Faults that the store draws, and how many of a hundred requests have them.
fn drawn(random: &mut Random) -> Vec<(usize, Fault)> {
    (0..3).map(|_| (1 + random.below(3), fault(random))).collect()
}

/// Every fourth of so many seeds, or of very many.
fn histories(start: u64) {
    let count = if is_whole() { whole() } else { 160 };
    let seeds = (start..count).step_by(4);
    let found = seeds.filter_map(|seed| Some(format!("{seed}: {}", history(seed, None).err()?)));
    let found: Vec<String> = found.collect();
    assert!(
        found.is_empty(),
        "{} of {count}: {}",
        found.len(),
        found[..found.len().min(5)].join("\n")
    );
}

#[test]
fn three_hosts_in_a_fourth_of_the_histories() {
    histories(0);
}

#[test]
fn three_hosts_in_another_fourth() {
    histories(1);
}

#[test]
fn three_hosts_in_a_third_fourth() {
    histories(2);
}

#[test]
fn three_hosts_in_the_last_fourth() {
    histories(3);
}
