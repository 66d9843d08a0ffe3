//! For tests: what a CA and a name server were asked, and changes to them while they run.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::Timestamp;

use super::certificate::{SuggestedRenewal, signed_crl};
use super::faults::{Faults, LogEntry, RequestKind};
use super::route::Route;
use super::world::World;
use super::zones::{MAX_ALIASES, Node, Zones, normal};
use super::{Ca, CaHandle, NameServer, Resolver, Shared, lock};
use crate::pki::facts_of_der;
use crate::resource::{AuthorizationState, Identifier, OrderState};

/// An order at a CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedOrder {
    pub url: String,
    /// The path of its finalization, as in [`LogEntry::path`].
    pub finalize_path: String,
    pub identifiers: Vec<Identifier>,
    /// The fingerprint of the certificate that was signed for it.
    pub fingerprint: Option<String>,
}

/// What a CA knew at a moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When it was; more precise than the CA's own dates.
    pub time: Timestamp,
    /// The request that was just answered; `None` when none was.
    pub answered: Option<RequestKind>,
    world: World,
}

impl Moment {
    pub(super) fn now(shared: &Shared, answered: Option<RequestKind>) -> Self {
        let world = lock(&shared.world).clone();
        Self { time: (shared.options.clock)(), answered, world }
    }

    /// Whether a validation was under way, which belongs to no moment.
    pub fn is_validating(&self) -> bool {
        let mut challenges = self.world.authorizations.values().flat_map(|found| &found.challenges);
        challenges.any(|challenge| challenge.status == AuthorizationState::Processing)
    }
}

impl Ca {
    /// A handle for inspection, which does not keep the CA running.
    pub fn handle(&self) -> CaHandle {
        self.handle.clone()
    }
}

impl CaHandle {
    /// All requests (the newest 50 000), oldest first.
    pub fn log(&self) -> Vec<LogEntry> {
        self.faults().log()
    }

    /// The number of requests.
    pub fn requests(&self) -> usize {
        self.faults().requests()
    }

    /// The number of objects of this kind that were created.
    pub fn created(&self, kind: RequestKind) -> usize {
        self.faults().created(kind)
    }

    /// The number of certificates that were issued.
    pub fn issued(&self) -> usize {
        lock(&self.shared.world).certificates.len()
    }

    /// All orders, oldest first.
    pub fn orders(&self) -> Vec<CreatedOrder> {
        let world = lock(&self.shared.world);
        let orders = world.orders.iter().map(|(id, order)| {
            let issued = order.certificate.and_then(|id| world.certificates.get(&id));
            let leaf = issued.and_then(|issued| facts_of_der(&issued.der).ok());
            CreatedOrder {
                url: self.shared.url(Route::Order(*id)),
                finalize_path: Route::Finalize(*id).path(),
                identifiers: order.identifiers.clone(),
                fingerprint: leaf.map(|leaf| leaf.fingerprint),
            }
        });
        orders.collect()
    }

    /// The number of certificates that were revoked.
    pub fn revoked(&self) -> usize {
        let world = lock(&self.shared.world);
        world.certificates.values().filter(|issued| issued.revoked.is_some()).count()
    }

    /// The serial numbers of the certificates that are revoked, in lower-case hexadecimal as in
    /// `LeafFacts`, with their reason codes; in the order of issuance.
    pub fn revoked_serials(&self) -> Vec<(String, u8)> {
        lock(&self.shared.world).revoked()
    }

    /// Suggests another renewal of the certificate with this identifier (RFC 9773 section 4.1);
    /// `None` for the usual one. False when there is no such certificate.
    pub fn suggest_renewal(&self, certificate_id: &str, renewal: Option<SuggestedRenewal>) -> bool {
        let mut world = lock(&self.shared.world);
        let Some(issued) = world.certificate_mut(certificate_id) else { return false };
        issued.renewal = renewal;
        true
    }

    /// The identifiers of the certificates that orders replace, with the URLs and states of these
    /// orders, oldest first.
    pub fn replacements(&self) -> Vec<(String, String, OrderState)> {
        let world = lock(&self.shared.world);
        let orders = world.orders.iter().filter_map(|(id, order)| {
            let url = self.shared.url(Route::Order(*id));
            Some((order.replaces.clone()?, url, order.status.clone()))
        });
        orders.collect()
    }

    /// The CA revokes a certificate by itself, with this reason code.
    pub fn revoke(&self, serial: &str, reason: u8) {
        let mut world = lock(&self.shared.world);
        let found = world
            .certificates
            .values_mut()
            .find(|issued| facts_of_der(&issued.der).is_ok_and(|leaf| leaf.serial == serial));
        if let Some(issued) = found {
            issued.revoked = Some(reason);
        }
    }

    /// The CRL in PEM, as it would be served if it held so long.
    pub fn crl_pem(&self, lifetime: Duration) -> String {
        let list = signed_crl(&self.shared, lifetime).unwrap_or_default();
        der::pem::encode_string("X509 CRL", der::pem::LineEnding::LF, &list).unwrap_or_default()
    }

    /// Notes what the CA knows now, and after each answer from now on.
    pub fn note_moments(&self) {
        *lock(&self.faults().moments) = Some(vec![Moment::now(&self.shared, None)]);
    }

    /// The noted moments, oldest first; no more are noted.
    pub fn moments(&self) -> Vec<Moment> {
        lock(&self.faults().moments).take().unwrap_or_default()
    }

    /// Forgets what came after a moment.
    pub fn go_back(&self, moment: &Moment) {
        lock(&self.shared.world).clone_from(&moment.world);
    }

    /// The fault rules, which can be changed while the CA runs.
    pub fn faults(&self) -> Faults {
        self.shared.options.faults.clone()
    }

    /// Validates HTTP-01 on another port from now on.
    pub fn set_http01_port(&self, port: u16) {
        self.shared.http01_port.store(port, Ordering::Relaxed);
    }
}

impl NameServer {
    /// Sets the addresses of a name; an empty list leaves an existing name without addresses.
    pub fn set(&self, name: &str, addresses: Vec<IpAddr>) {
        self.records.set(name, addresses);
    }

    /// Removes a name with all its records.
    pub fn remove(&self, name: &str) {
        self.records.zones(|zones| zones.change(name, |node| *node = Node::default()));
    }

    /// Adds a TXT record to a name, unless the name has it already.
    pub fn add_txt(&self, name: &str, value: &str) {
        self.add_txt_strings(name, &[value]);
    }

    /// Adds a TXT record of several strings, of up to 255 bytes each.
    pub fn add_txt_strings(&self, name: &str, strings: &[&str]) {
        self.records.add_txt(name, strings.iter().map(|&string| string.to_owned()).collect());
    }

    /// Removes the TXT records of a name with this value; the others stay.
    pub fn remove_txt(&self, name: &str, value: &str) {
        self.records.remove_txt(name, value);
    }

    /// The values of the TXT records of a name, oldest first, each record's strings joined.
    pub fn txt(&self, name: &str) -> Vec<String> {
        self.records.zones(|zones| zones.txt_at(name))
    }

    /// Makes a name a CNAME of another; it hides the other records of the name.
    pub fn set_cname(&self, name: &str, target: &str) {
        let target = normal(target);
        self.records.zones(|zones| zones.change(name, |node| node.alias = Some(target)));
    }

    /// Answers queries for a name with SERVFAIL, until the name is removed.
    pub fn set_broken(&self, name: &str) {
        self.records.zones(|zones| zones.change(name, |node| node.is_broken = true));
    }

    /// Makes a name the apex of a zone. By default, the zone of a name is its last two labels.
    pub fn add_zone(&self, zone: &str) {
        self.records.zones(|zones| zones.add_zone(zone));
    }

    /// A resolver over the same records, for the CA.
    pub fn resolver(&self) -> Resolver {
        let records = self.records.clone();
        let addresses = move |name: String| {
            let found = records.zones(|zones| zones.addresses(&name));
            std::future::ready(found).boxed()
        };
        Resolver::ask(Arc::new(addresses)).with_txt(self.txt_lookup())
    }
}

impl Resolver {
    /// Every name has these addresses.
    #[cfg(test)]
    pub(crate) fn everywhere(addresses: Vec<IpAddr>) -> Self {
        Self::ask(Arc::new(move |_| std::future::ready(Ok(addresses.clone())).boxed()))
    }

    /// These names have these addresses; others do not exist.
    pub fn names(names: BTreeMap<String, Vec<IpAddr>>) -> Self {
        Self::ask(Arc::new(move |name| {
            let found = names.get(&name).cloned().ok_or_else(|| "NXDOMAIN".to_owned());
            std::future::ready(found).boxed()
        }))
    }
}

impl Zones {
    /// Makes the name the apex of a zone.
    pub(super) fn add_zone(&mut self, zone: &str) {
        self.added.insert(normal(zone));
    }

    /// All addresses of a name, CNAMEs followed, or the response code.
    fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, String> {
        let mut name = normal(name);
        for _ in 0..=MAX_ALIASES {
            let node = self.find(&name).ok_or_else(|| "NXDOMAIN".to_owned())?;
            match node.alias {
                _ if node.is_broken => return Err("SERVFAIL".to_owned()),
                Some(target) => name = target,
                None => return Ok(node.addresses.unwrap_or_default()),
            }
        }
        Err("SERVFAIL".to_owned())
    }

    /// The values of the TXT records of the name itself.
    fn txt_at(&self, name: &str) -> Vec<String> {
        self.nodes.get(&normal(name)).map(Node::txt_values).unwrap_or_default()
    }
}
