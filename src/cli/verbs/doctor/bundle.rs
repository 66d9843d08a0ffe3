//! Trust of Issuers in their CA's server: until when the certificates in `caBundle` are valid.
//!
//! certctl trusts them whatever their dates are (RFC 5280 section 6.1.1 leaves those of a trust anchor
//! to local policy), and most clients of the certificates do not.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::alike::Alike;
use crate::cli::{short, time};
use crate::manifest::Loaded;
use crate::pki::Bundle;
use crate::resource::{Finding, Fix, Issuer, LeafFacts, Obstacle, Setting, Severity};

/// Certificates that have expired, or will soon, and beside which none is valid longer.
pub(super) fn expiring(loaded: &Loaded, now: Timestamp) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for issuer in &loaded.issuers {
        let bundle = issuer.acme.ca_bundle.as_deref();
        let Some(Ok(bundle)) = bundle.map(Bundle::from_pem) else { continue };
        if bundle.valid_until().is_some_and(|end| now.duration_until(end) > SOON) {
            continue;
        }
        let new = bundle.facts().filter(|facts| seen.insert(facts.fingerprint.clone()));
        found.extend(new.filter_map(|facts| of_one(issuer, &facts, now)));
    }
    found
}

/// Issuers that take any server for their CA.
pub(super) fn unverified(loaded: &Loaded) -> Vec<Finding> {
    let mut found = Alike::default();
    for issuer in loaded.issuers.iter().filter(|issuer| issuer.acme.skip_tls_verify) {
        let fact = "skipTLSVerify is set: an attacker can impersonate this CA";
        let obstacle = Obstacle::new(fact).with(Fix::Set(Setting::CaBundle));
        found.add(named(issuer), Finding::warning("CA", obstacle));
    }
    found.findings(|fact, issuers| format!("{issuers}: {fact}"))
}

/// The kind and name of an Issuer.
pub(super) fn named(issuer: &Issuer) -> String {
    format!("{} {}", issuer.kind, short(&issuer.metadata.key()))
}

fn of_one(issuer: &Issuer, facts: &LeafFacts, now: Timestamp) -> Option<Finding> {
    let LeafFacts { common_name, not_after, .. } = facts;
    let left = now.duration_until(*not_after);
    if left > SOON {
        return None;
    }
    let is_over = left <= SignedDuration::ZERO;
    let verb = if is_over { "expired" } else { "expires" };
    let fact = format!(
        "{}: the root CN={common_name} in caBundle {verb} {}, {}",
        named(issuer),
        not_after.strftime("%F"),
        time::relative(*not_after, now)
    );
    let obstacle = Obstacle::new(fact).with(Fix::Set(Setting::NextRoot));
    let severity = if left <= URGENT { Severity::Wrong } else { Severity::Warning };
    Some(Finding::new(severity, "CA", obstacle))
}

/// A root needs time to be distributed; so long before, it is said.
const SOON: SignedDuration = SignedDuration::from_hours(90 * 24);
/// From then on it is wrong: who watches exit codes alone learns it while something can be done.
const URGENT: SignedDuration = SignedDuration::from_hours(30 * 24);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Options, Source, load};

    fn root((year, month, day): (i32, u8, u8)) -> String {
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(year, month, day);
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "Company Root");
        let key = rcgen::KeyPair::generate().unwrap();
        parameters.self_signed(&key).unwrap().pem()
    }

    fn manifest(ends: &[(i32, u8, u8)]) -> Loaded {
        let pem: String = ends.iter().map(|end| root(*end)).collect();
        let bundle = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, pem);
        let text = format!(
            "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata:\n  name: company\nspec:\n  acme:\n    \
             server: https://ca.example.com/dir\n    caBundle: {bundle}\n    privateKeySecretRef:\n      \
             name: key\n    solvers:\n      - http01:\n          ingress: {{}}\n"
        );
        let source = Source::Stdin(text.into_bytes());
        let loaded = load(&[source], &Options::default());
        assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
        loaded
    }

    #[test]
    fn a_root_is_said_before_it_expires_and_after() {
        let now = "2026-11-21T00:00:00Z".parse().unwrap();
        for (not_after, expected) in [
            (&[(2027, 3, 1)][..], None),
            (&[(2027, 1, 1)], Some((Severity::Warning, "expires 2027-01-01, in 41d"))),
            (&[(2026, 12, 21)], Some((Severity::Wrong, "expires 2026-12-21, in 30d"))),
            (&[(2026, 11, 1)], Some((Severity::Wrong, "expired 2026-11-01, 20d ago"))),
            // Its successor is there.
            (&[(2027, 1, 1), (2036, 1, 1)], None),
        ] {
            let found = expiring(&manifest(not_after), now);
            let verdicts: Vec<_> = found.iter().map(|one| one.severity).collect();
            let expected_verdicts: Vec<_> = expected.iter().map(|(verdict, _)| *verdict).collect();
            assert_eq!(verdicts, expected_verdicts, "{not_after:?}");
            for (one, (_, words)) in found.iter().zip(expected) {
                let begin = "Issuer company: the root CN=Company Root in caBundle";
                assert!(one.fact.starts_with(&format!("{begin} {words}")), "{}", one.fact);
            }
        }
    }
}
