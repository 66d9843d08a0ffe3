//! A connection that breaks anywhere costs a run, never a second account, and an order only where
//! certctl cannot know that one exists.

use certctl::rehearsal::{Fault, RequestKind, Rule};

use crate::support::{CertificateYaml, World};

/// The requests of a first issuance that do something or read something.
const KINDS: [RequestKind; 9] = [
    RequestKind::Directory,
    RequestKind::NewNonce,
    RequestKind::NewAccount,
    RequestKind::NewOrder,
    RequestKind::Authorization,
    RequestKind::Challenge,
    RequestKind::Order,
    RequestKind::Finalize,
    RequestKind::Certificate,
];

/// Runs until the certificate is there, and says what the CA made: accounts, orders, certificates.
#[track_caller]
fn finished(world: &World) -> [usize; 3] {
    let mut run = world.issue();
    if run.code != Some(0) {
        assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
        run = run.ends_in(5).says("the next run retries");
        assert!(world.state().tokens().is_empty(), "{}", run.stderr);
        world.issue().ends_in(0);
    }
    world.state().published("web");
    assert!(world.state().tokens().is_empty());
    let requests = world.ca.requests();
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
    let made = |kind| world.ca.created(kind);
    [made(RequestKind::NewAccount), made(RequestKind::NewOrder), world.ca.issued()]
}

#[test]
fn a_lost_reply_of_any_kind_is_made_good_by_this_run_or_the_next() {
    for kind in KINDS {
        for fault in [Fault::LoseReply, Fault::TruncateBody] {
            let world = World::prepared(&[CertificateYaml::new("web")]);
            world.next_fault(kind, fault.clone());
            let orders = if kind == RequestKind::NewOrder { 2 } else { 1 };
            assert_eq!(finished(&world), [1, orders, 1], "{kind:?} {fault:?}");
        }
    }
}

#[test]
fn a_connection_that_breaks_before_the_ca_has_read_anything_costs_nothing() {
    for kind in KINDS {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.next_fault(kind, Fault::CloseUnhandled);
        assert_eq!(finished(&world), [1, 1, 1], "{kind:?}");
    }
}

#[test]
fn a_ca_that_is_away_in_the_middle_of_an_order_is_met_again_with_the_same_order() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.fault(Rule::always(Fault::CloseUnhandled).on(RequestKind::Challenge));
    world.issue().ends_in(5);
    let urls = world.state().order_urls("web");
    assert_eq!(urls.len(), 1);
    world.ca.faults().clear();
    world.issue().ends_in(0);
    assert_eq!(world.state().order_urls("web"), urls);
    assert_eq!(world.ca.created(RequestKind::NewOrder), 1);
}
