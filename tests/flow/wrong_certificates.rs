//! A certificate that is not the one ordered is never put in place.

use std::net::{IpAddr, Ipv4Addr};

use certctl::rehearsal::{Fault, RequestKind, Rule, WrongCertificate};
use certctl::resource::FailureClass;

use crate::support::{CertificateYaml, World};

#[test]
fn the_old_pair_stays_whatever_else_the_ca_hands_out() {
    let wrong = [
        WrongCertificate::OtherKey,
        WrongCertificate::OtherNames(vec!["other.example.test".to_owned()]),
        WrongCertificate::ExtraAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        WrongCertificate::Expired,
        WrongCertificate::NotYetValid,
        WrongCertificate::Garbage,
        WrongCertificate::Empty,
    ];
    let name = |number: usize| format!("site-{number}");
    let certificates: Vec<CertificateYaml> =
        (0..wrong.len()).map(|number| CertificateYaml::new(&name(number))).collect();
    let world = World::prepared(&certificates);
    world.issue().ends_in(0);
    let published =
        || (0..wrong.len()).map(|number| world.state().published(&name(number))).collect();
    let before: Vec<_> = published();
    for (number, wrong) in wrong.iter().enumerate() {
        let fault = Fault::Certificate(wrong.clone());
        world.fault(Rule::always(fault).for_name(format!("{}.example.test", name(number))));
    }
    world.run(&["renew", "--all", "--yes"]).ends_in(5);
    assert_eq!((published(), world.ca.issued()), (before, 2 * wrong.len()));
    for (number, wrong) in wrong.iter().enumerate() {
        let record = world.state().record(&name(number));
        let status = record.status;
        let seen =
            (status.revision, status.failed_issuance_attempts, status.last_failure_time.is_some());
        assert_eq!(seen, (Some(1), Some(1), true), "{wrong:?}");
        assert_eq!(record.last_failure.unwrap().class, FailureClass::Ca, "{wrong:?}");
    }
    // Once the CA has come to its senses, everything is as it should be.
    world.ca.faults().clear();
    world.run(&["renew", "--all", "--yes"]).ends_in(0);
    for number in 0..wrong.len() {
        let status = world.state().record(&name(number)).status;
        assert_eq!((status.revision, status.failed_issuance_attempts), (Some(2), None));
    }
}

#[test]
fn a_chain_that_is_out_of_order_is_put_in_order_and_costs_no_second_order() {
    for wrong in [WrongCertificate::BrokenChain, WrongCertificate::LeafLast] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.fault(Rule::next(1, Fault::Certificate(wrong.clone())));
        world.issue().ends_in(0).says("the CA's chain is out of order");
        assert_eq!((world.sent(RequestKind::NewOrder), world.ca.issued()), (1, 1), "{wrong:?}");
        world.state().published("web");
    }
}
