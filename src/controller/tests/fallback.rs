//! Which CA is asked.

use std::sync::Arc;

use super::fixture::fresh;
use crate::controller::fallback::choose;
use crate::resource::{Issuer, Issuers};

#[test]
fn the_first_issuer_is_asked_whether_or_not_there_are_others() {
    let mut snapshot = fresh();
    let first = Arc::clone(&snapshot.issuers.first);
    let of_another_ca = |server: &str| {
        let mut other = Issuer::clone(&first);
        server.clone_into(&mut other.acme.server);
        Arc::new(other)
    };
    let two = [of_another_ca("https://second.test/"), of_another_ca("https://third.test/")];
    for others in [&two[..0], &two[..1], &two] {
        snapshot.issuers = Issuers { first: Arc::clone(&first), others: others.to_vec() };
        assert_eq!(choose(&snapshot.issuers, &snapshot.record), &first);
        assert_eq!(snapshot.issuer(), &first);
    }
}
