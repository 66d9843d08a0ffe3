//! What certctl has no manifest or key for any more, as findings.

use std::path::PathBuf;

use crate::engine::inputs::account_id;
use crate::resource::{
    AccountIdentity, Challenge, Check, Finding, Fix, Issuer, NamespacedName, Obstacle, Order,
};

/// The certificates whose manifest is gone.
pub fn without_manifest(orphans: &[(NamespacedName, PathBuf)]) -> Vec<Finding> {
    let finding = |(name, manifest): &(NamespacedName, PathBuf)| {
        let fact = format!(
            "its manifest {} no longer exists; certctl does not renew it: put it back, or stop \
             managing it",
            manifest.display()
        );
        let found = Obstacle::new(fact).with(Fix::Forget(name.clone()));
        Finding::warning(&name.short(), found)
    };
    orphans.iter().map(finding).collect()
}

/// The challenge responses that interrupted runs left published and that no run can take back now.
pub fn not_cleaned_up(left: &[(NamespacedName, Vec<Order>)]) -> Vec<Finding> {
    let finding = |(name, orders): &(NamespacedName, Vec<Order>)| {
        let challenges = orders.iter().flat_map(|order| &order.challenges);
        let places: Vec<String> = challenges.filter_map(published_at).collect();
        let fact = format!(
            "not cleaned up by an interrupted run: {}; its Certificate or Issuer is missing, and the \
             next run that finds both cleans up",
            places.join("; ")
        );
        (!places.is_empty()).then(|| Finding::warning(&name.short(), Obstacle::new(fact)))
    };
    left.iter().filter_map(finding).collect()
}

/// The challenge response that may still be published, and where.
pub fn published_at(challenge: &Challenge) -> Option<String> {
    let spec = &challenge.spec;
    match &challenge.presented.target {
        _ if !challenge.owes_clean_up() => None,
        Some(target) => Some(target.to_string()),
        // Nothing is written before its place is known.
        None if spec.kind.is_record() => None,
        None => {
            let kind = spec.kind.as_str();
            Some(format!("{kind} for {}, token {}", spec.identifier, spec.token))
        }
    }
}

/// That nothing can be asked of a CA in the name of an account.
pub fn lost_key(account: &AccountIdentity, issuer: Option<&Issuer>) -> Finding {
    let id = account_id(account);
    let name = issuer.map_or("the Issuer", |issuer| &issuer.metadata.name);
    let fact = format!(
        "the account key of {name} is lost, so nothing can be issued: restore \
         accounts/{id}/key.pem in the state from a backup; without a backup, name another secret \
         in privateKeySecretRef of {name}, and the next run registers a new account; existing \
         certificates stay valid"
    );
    let check = issuer.map_or(Check::Host, |issuer| Check::Acme(issuer.metadata.name.clone()));
    Finding::warning("account", Obstacle::new(fact).with(Fix::Check(check)))
}
