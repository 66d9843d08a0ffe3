//! The CA's state: accounts, orders, authorizations, certificates, nonces. In memory only.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use tokio::time::Instant;

use crate::pki::facts_of_der;
use crate::resource::{AuthorizationState, Identifier, OrderState};

use super::account::Account;
use super::authorization::Authorization;
use super::certificate::Issued;
use super::identifier;
use super::nonce::Nonces;
use super::order::Order;
use super::problem::{Problem, ProblemType};
use super::route::Route;

/// The state of the CA.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) nonces: Nonces,
    pub(super) accounts: BTreeMap<u64, Account>,
    pub(super) account_of_key: HashMap<String, u64>,
    pub(super) orders: BTreeMap<u64, Order>,
    pub(super) authorizations: BTreeMap<u64, Authorization>,
    pub(super) certificates: BTreeMap<u64, Issued>,
    /// By the identifiers of RFC 9773 section 4.1.
    certificate_ids: HashMap<String, u64>,
    last_id: u64,
}

impl World {
    /// An unused ID.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id = self.last_id.saturating_add(1);
        self.last_id
    }

    /// The serial numbers of the certificates that are revoked, in lower-case hexadecimal as in
    /// `LeafFacts`, with their reason codes; in the order of issuance.
    pub(super) fn revoked(&self) -> Vec<(String, u8)> {
        let serial = |der: &[u8]| Some(facts_of_der(der).ok()?.serial);
        let issued = self.certificates.values();
        issued.filter_map(|issued| Some((serial(&issued.der)?, issued.revoked?))).collect()
    }

    pub(super) fn add_certificate(&mut self, issued: Issued) -> u64 {
        let id = self.next_id();
        let facts = facts_of_der(&issued.der).ok();
        if let Some(name) = facts.and_then(|facts| facts.certificate_id) {
            self.certificate_ids.insert(name, id);
        }
        self.certificates.insert(id, issued);
        id
    }

    /// The certificate with this identifier (RFC 9773 section 4.1).
    pub(super) fn certificate(&self, certificate_id: &str) -> Option<&Issued> {
        self.certificates.get(self.certificate_ids.get(certificate_id)?)
    }

    pub(super) fn certificate_mut(&mut self, certificate_id: &str) -> Option<&mut Issued> {
        self.certificates.get_mut(self.certificate_ids.get(certificate_id)?)
    }

    pub(super) fn account(&self, id: u64) -> Result<&Account, Problem> {
        self.accounts.get(&id).ok_or_else(unknown_account)
    }

    pub(super) fn account_by_url(
        &self,
        base_url: &str,
        url: &str,
    ) -> Result<(u64, &Account), Problem> {
        let path = url.strip_prefix(base_url).unwrap_or_default();
        let Route::Account(id) = Route::parse(path) else { return Err(unknown_account()) };
        Ok((id, self.account(id)?))
    }

    /// The order, if it belongs to this account. For another account it is an unknown order.
    pub(super) fn order_of(&mut self, account: u64, id: u64) -> Result<&mut Order, Problem> {
        self.orders
            .get_mut(&id)
            .filter(|order| order.account == account)
            .ok_or_else(|| Problem::not_found("order"))
    }

    /// The authorization, if it belongs to this account.
    pub(super) fn authorization_of(
        &mut self,
        account: u64,
        id: u64,
    ) -> Result<&mut Authorization, Problem> {
        self.authorizations
            .get_mut(&id)
            .filter(|authorization| authorization.account == account)
            .ok_or_else(|| Problem::not_found("authorization"))
    }

    /// Updates the state of an order from the time and from its authorizations
    /// (RFC 8555 section 7.1.6).
    pub(super) fn settle(&mut self, order: u64, now: Timestamp, instant: Instant) {
        let Some(order) = self.orders.get_mut(&order) else { return };
        let mut all_valid = true;
        let mut any_failed = false;
        for id in &order.authorizations {
            let Some(authorization) = self.authorizations.get_mut(id) else { continue };
            authorization.settle(now);
            all_valid &= authorization.status == AuthorizationState::Valid;
            any_failed |= authorization.status.is_failure();
        }
        let is_issued = order.polls_left == 0 && order.issued_at.is_none_or(|at| at <= instant);
        let is_open = matches!(order.status, OrderState::Pending | OrderState::Ready);
        if is_open && (order.expires <= now || any_failed) {
            order.status = OrderState::Invalid;
        } else if order.status == OrderState::Pending && all_valid {
            order.status = OrderState::Ready;
        } else if order.status == OrderState::Processing && is_issued {
            order.status = OrderState::Valid;
        }
    }

    /// Why an order is invalid, from its authorizations.
    pub(super) fn error_of(&self, order: &Order) -> Option<Problem> {
        if order.status != OrderState::Invalid {
            return None;
        }
        let faults = order.authorizations.iter().filter_map(|id| {
            let authorization = self.authorizations.get(id)?;
            Some((identifier::to_json(&authorization.identifier), authorization.fault()?))
        });
        Problem::of_identifiers(faults.collect())
    }

    /// The account's pending or ready order for these names.
    pub(super) fn open_order(
        &mut self,
        account: u64,
        identifiers: &[Identifier],
        profile: Option<&str>,
        now: Timestamp,
    ) -> Option<u64> {
        let wanted: BTreeSet<_> = identifiers.iter().collect();
        let is_it = |order: &Order| {
            let names: BTreeSet<_> = order.identifiers.iter().collect();
            order.account == account && names == wanted && order.profile.as_deref() == profile
        };
        let found: Vec<u64> =
            self.orders.iter().filter(|(_, order)| is_it(order)).map(|(id, _)| *id).collect();
        found.into_iter().find(|id| {
            self.settle(*id, now, Instant::now());
            let status = self.orders.get(id).map(|order| &order.status);
            matches!(status, Some(OrderState::Pending | OrderState::Ready))
        })
    }

    /// An authorization of the account for this identifier.
    pub(super) fn authorization_in(
        &mut self,
        status: &AuthorizationState,
        account: u64,
        wanted: &Identifier,
        now: Timestamp,
    ) -> Option<u64> {
        self.authorizations.iter_mut().find_map(|(id, found)| {
            found.settle(now);
            (found.account == account
                && found.status == *status
                && identifier::is_wildcard(&found.identifier) == identifier::is_wildcard(wanted)
                && found.identifier == *wanted)
                .then_some(*id)
        })
    }
}

fn unknown_account() -> Problem {
    Problem::new(ProblemType::AccountDoesNotExist, "no account has this URL")
}
