//! Digests: of the inputs whose edit may bypass the backoff, and of a spec.

use aws_lc_rs::digest;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::resource::{
    Account, AccountIdentity, Certificate, CertificateSpec, ChallengeType, Chosen, Identifier,
    Issuer, RequestedField, Solver, hex,
};

/// SHA-256 over bytes, in lower-case hexadecimal.
pub fn digest_of(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Digest of a spec: another digest is another generation.
pub fn spec_digest(spec: &CertificateSpec) -> String {
    digest_of(&serde_json::to_vec(spec).unwrap_or_default())
}

/// The name under which an account is stored.
pub fn account_id(identity: &AccountIdentity) -> String {
    let whole = digest_of(&serde_json::to_vec(identity).unwrap_or_default());
    whole.chars().take(32).collect()
}

/// The account's own id.
pub fn id_of(account: &Account) -> String {
    account_id(&account.identity)
}

/// The inputs of an attempt: the fields that go to the CA, the issuer's server, profile, EAB and
/// the solvers chosen for the names, and the bytes of the secrets those use.
///
/// Not included: account key, keystore passwords, labels, output settings; their edit bypasses no
/// backoff.
pub fn input_digest(
    certificate: &Certificate,
    issuer: &Issuer,
    secrets: &[Zeroizing<Vec<u8>>],
) -> String {
    let mut annotated = Vec::new();
    let solver = |name: &Identifier| {
        let Chosen { solver, kind } = solver_for(issuer, certificate, name)?;
        if kind != solver.challenge_type(None) {
            annotated.push((name.clone(), kind));
        }
        Some(solver)
    };
    let solvers = names_of(certificate).iter().map(solver).collect();
    let inputs = Inputs {
        spec: certificate.spec.requested(),
        server: &issuer.acme.server,
        profile: &issuer.acme.profile,
        eab: issuer.acme.external_account_binding.as_ref().map(|eab| eab.key_id.as_str()),
        solvers,
        annotated,
        secrets: secrets.iter().map(|bytes| digest_of(bytes)).collect(),
    };
    digest_of(&serde_json::to_vec(&inputs).unwrap_or_default())
}

#[derive(Serialize)]
struct Inputs<'a> {
    spec: Vec<RequestedField>,
    server: &'a str,
    profile: &'a str,
    eab: Option<&'a str>,
    solvers: Vec<Option<&'a Solver>>,
    /// The names for which annotations choose the challenge type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotated: Vec<(Identifier, ChallengeType)>,
    secrets: Vec<String>,
}

/// The names of a certificate, as identifiers.
pub fn names_of(certificate: &Certificate) -> Vec<Identifier> {
    let spec = &certificate.spec;
    let names = spec.dns_names.iter().cloned().map(Identifier::Dns);
    let addresses = spec.ip_addresses.iter().map(|address| Identifier::Ip(address.to_canonical()));
    names.chain(addresses).collect()
}

/// The solver for one of the names, as far as it is known before the order: of a type that proves
/// control of such a name.
pub fn solver_for<'a>(
    issuer: &'a Issuer,
    certificate: &Certificate,
    name: &Identifier,
) -> Option<Chosen<'a>> {
    let (identifier, wildcard) = match name {
        Identifier::Dns(dns) if dns.is_wildcard() => {
            (dns.base().parse().map_or_else(|_| name.clone(), Identifier::Dns), true)
        }
        Identifier::Dns(_) | Identifier::Ip(_) => (name.clone(), false),
    };
    let (offered, _) = ChallengeType::proving(&identifier, wildcard);
    issuer.solver_for(certificate, &identifier, wildcard, &offered)
}
