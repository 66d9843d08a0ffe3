//! The lock of a certificate runs out at every moment, as where several hosts share the documents:
//! who has lost it sends nothing any more, and writes nothing.

use certctl::engine::Ending;

use super::{
    Begin, all_names_proven, due_for_renewal, one_name, settle, two_names_over_dns, undisturbed,
};
use crate::fuse::Fuse;
use crate::stage::world::EFFECT;

fn lost_at_every_moment(begin: Begin) {
    let (state, orders, moments) = undisturbed(begin);
    let mut ended_early = 0;
    for moment in 0..moments.len() {
        let scene = begin();
        let before = scene.ca.borrow().orders.len();
        let went = scene.run(Fuse::losing_at(moment));
        let started =
            went.labels[..moment].iter().filter(|label| label.starts_with(EFFECT)).count();
        let all = went.labels.iter().filter(|label| label.starts_with(EFFECT)).count();
        assert_eq!(all, started, "lost at {moment}: {:#?}", went.labels);
        match went.ending {
            Some(Ending::Locked { holder }) => {
                assert_eq!(holder, "another host");
                ended_early += 1;
            }
            // It was lost after the last write.
            Some(Ending::Issued(_)) => assert!(moment + 3 > moments.len(), "{moment}"),
            other => panic!("lost at {moment}: {other:?}"),
        }
        let unrecorded = scene.unrecorded_orders(before);
        settle(&scene);
        assert_eq!(scene.state(), state, "lost at {moment} after {:?}", went.labels.last());
        assert_eq!(scene.ca.borrow().orders.len(), orders + unrecorded, "lost at {moment}");
    }
    assert!(ended_early + 3 >= moments.len(), "{ended_early} of {}", moments.len());
}

#[test]
fn who_has_lost_the_lock_sends_nothing_and_the_next_run_ends_as_an_undisturbed_one() {
    for begin in [one_name, two_names_over_dns, all_names_proven, due_for_renewal] {
        lost_at_every_moment(begin);
    }
}

#[test]
fn a_lock_that_runs_out_is_held_for_longer_before_each_effect() {
    for begin in [one_name, two_names_over_dns, due_for_renewal] {
        let (state, orders, _) = undisturbed(begin);
        let scene = begin();
        let went = scene.run(Fuse::renewing());
        assert!(matches!(went.ending, Some(Ending::Issued(_))), "{:?}", went.ending);
        let effects = went.labels.iter().filter(|label| label.starts_with(EFFECT)).count();
        assert!(went.renewals >= effects, "{} for {effects} effects", went.renewals);
        settle(&scene);
        assert_eq!((scene.state(), scene.ca.borrow().orders.len()), (state, orders));
    }
}
