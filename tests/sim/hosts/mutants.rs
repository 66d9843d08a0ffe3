//! Programs that break their contract in one point: each is found soon.

use super::fleet::history;
use crate::stage::host::Mutant;

/// Of so many histories.
const MOST: u64 = 400;

/// The first history in which the mutant is found, and by what.
fn found(mutant: Mutant) -> (u64, String) {
    let find = |seed| Some((seed, history(seed, Some(mutant)).err()?));
    (0..MOST).find_map(find).unwrap_or_else(|| panic!("{mutant:?} is not found"))
}

fn is_found_by(mutant: Mutant, predicates: &[&str]) {
    let (seed, why) = found(mutant);
    assert!(predicates.iter().any(|one| why.starts_with(one)), "{seed}: {why}");
}

#[test]
fn a_program_that_writes_over_what_it_did_not_see() {
    is_found_by(Mutant::Overwrites, &["epochs count owners"]);
}

#[test]
fn a_program_whose_writes_all_have_the_same_id() {
    is_found_by(Mutant::NoWriteId, &["writes form chains"]);
}

#[test]
fn a_program_that_takes_all_locks_in_the_same_epoch() {
    is_found_by(Mutant::EpochStays, &["epochs count owners"]);
}

#[test]
fn a_program_that_cleans_up_although_it_has_lost_the_lock() {
    let predicates = ["who was overtaken sends nothing", "intents come first"];
    is_found_by(Mutant::CleansUpLost, &predicates);
}

#[test]
fn a_program_that_writes_down_that_it_orders_when_it_has_ordered() {
    is_found_by(Mutant::IntentAfterwards, &["intents come first"]);
}

#[test]
fn a_program_whose_pair_is_live_before_the_record_names_it() {
    is_found_by(Mutant::PublishesFirst, &["commits come first"]);
}
