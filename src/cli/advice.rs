//! What is known of the reasons a CA gives: what each means, and what to do about it.
//!
//! Contract: pure, and the one place where such advice is written down. A row is found by the last
//! part of the problem's type (RFC 8555 section 6.7) and, where it matters, by how the name was to
//! be proven.

use jiff::Timestamp;

use crate::resource::{ChallengeType, FailureClass};

/// What a refusal was about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject<'a> {
    /// The certificate, as a command takes it.
    pub(crate) certificate: &'a str,
    /// Its issuer.
    pub(crate) issuer: &'a str,
    /// The first name that was refused, if it was about names.
    pub(crate) name: &'a str,
    /// How the name was to be proven, if it was about a proof.
    pub(crate) proof: Option<&'a ChallengeType>,
}

/// What a refusal means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Advice {
    /// What is behind it.
    pub(crate) cause: String,
    /// What to do about it.
    pub(crate) remedy: String,
    /// The command that shows more.
    pub(crate) command: Option<String>,
}

/// What is known of a problem of this kind, such as `rateLimited`.
pub(crate) fn of_problem(kind: &str, subject: &Subject<'_>) -> Option<Advice> {
    let row = ROWS.iter().find(|row| row.kind == kind && row.of.fits(subject.proof))?;
    Some(advice(row.cause, row.remedy, row.check, subject))
}

/// What is known of a failure that no problem document explains.
pub(crate) fn of_class(class: FailureClass, subject: &Subject<'_>) -> Option<Advice> {
    let (cause, remedy, check) = match class {
        FailureClass::Unreachable => (
            "the CA, the network on the way, or name resolution here",
            "nothing is counted, and the next run tries again; an outage ends by itself",
            Check::Acme,
        ),
        FailureClass::State => (
            "the state directory: a full disk, permissions, or a damaged file",
            "mend what is named above; certctl version -v shows which directory is used",
            Check::None,
        ),
        FailureClass::Other
        | FailureClass::Precondition
        | FailureClass::Validation
        | FailureClass::Ca
        | FailureClass::Output => return None,
    };
    Some(advice(cause, remedy, check, subject))
}

/// The command that looks at a name the way its proof is looked at.
pub(crate) fn check_of(proof: &ChallengeType, name: &str) -> Option<String> {
    match proof {
        ChallengeType::Http01 => Some(format!("certctl check http {name}")),
        ChallengeType::Dns01 => Some(format!("certctl check dns {name}")),
        ChallengeType::Other(_) => None,
    }
}

/// Until when a limit holds, as Boulder writes it into the detail: `retry after 2026-11-21
/// 05:40:00 UTC`, or in RFC 3339.
pub(crate) fn retry_time(detail: &str) -> Option<Timestamp> {
    let (_, rest) = detail.split_once("retry after ")?;
    let mut words = rest.split_whitespace();
    let first = words.next()?.trim_end_matches([',', '.', ':', ';', ')']);
    if let Ok(time) = first.parse() {
        return Some(time);
    }
    let time = words.next()?;
    let is_utc = words.next()?.starts_with("UTC");
    format!("{first}T{time}Z").parse().ok().filter(|_| is_utc)
}

fn advice(cause: &str, remedy: &str, check: Check, subject: &Subject<'_>) -> Advice {
    let fill = |text: &str| {
        let name = if subject.name.is_empty() { "NAME" } else { subject.name };
        let issuer = if subject.issuer.is_empty() { "ISSUER" } else { subject.issuer };
        text.replace("{name}", name)
            .replace("{issuer}", issuer)
            .replace("{certificate}", subject.certificate)
    };
    let command = match check {
        Check::None => None,
        Check::Dns => Some(fill("certctl check dns {name}")),
        Check::Http => Some(fill("certctl check http {name}")),
        Check::Acme => Some(fill("certctl check acme {issuer}")),
        Check::Account => Some(fill("certctl account show {issuer}")),
        Check::Status => Some(fill("certctl status {certificate}")),
    };
    Advice { cause: fill(cause), remedy: fill(remedy), command }
}

/// What a row is about.
#[derive(Clone, Copy)]
enum Of {
    Http01,
    Dns01,
    Anything,
}

impl Of {
    fn fits(self, proof: Option<&ChallengeType>) -> bool {
        match self {
            Self::Http01 => proof == Some(&ChallengeType::Http01),
            Self::Dns01 => proof == Some(&ChallengeType::Dns01),
            Self::Anything => true,
        }
    }
}

/// Which command shows more.
#[derive(Clone, Copy)]
enum Check {
    None,
    Dns,
    Http,
    Acme,
    Account,
    Status,
}

struct Row {
    kind: &'static str,
    of: Of,
    cause: &'static str,
    remedy: &'static str,
    check: Check,
}

const fn row(
    kind: &'static str,
    of: Of,
    check: Check,
    cause: &'static str,
    remedy: &'static str,
) -> Row {
    Row { kind, of, cause, remedy, check }
}

/// The first row that fits is taken.
const ROWS: &[Row] = &[
    row(
        "caa",
        Of::Anything,
        Check::Dns,
        "a CAA record of {name}, or of a domain above it, does not allow this CA, or could not be \
         looked up",
        "let the CAA records name the CA's identity (certctl check acme {issuer} shows it), or \
         remove them",
    ),
    row(
        "dns",
        Of::Dns01,
        Check::Dns,
        "the CA's own lookups of the TXT record failed: no such name, SERVFAIL, broken DNSSEC, or a \
         name server that is not reachable from outside",
        "see that every name server of the zone answers from the Internet, and that DNSSEC is whole",
    ),
    row(
        "dns",
        Of::Anything,
        Check::Http,
        "the CA's own lookups of {name} failed: no A or AAAA record in the public DNS, SERVFAIL, or \
         broken DNSSEC",
        "publish the name, and see that every name server of the zone answers from the Internet",
    ),
    row(
        "connection",
        Of::Anything,
        Check::Http,
        "the CA could not connect to an address of {name}: a firewall, a port 80 that is not led \
         here, or an AAAA record of another host",
        "open and forward port 80 for every A and AAAA address, or remove the address that is wrong",
    ),
    row(
        "unauthorized",
        Of::Http01,
        Check::Http,
        "what the CA met at {name} is not this answer: another web server, a proxy, a CDN, an A or \
         AAAA record of another host, or other addresses than are seen from here",
        "lead /.well-known/acme-challenge/ to certctl on every address of the name, or let its web \
         server serve the folder of certctl.io/http01-webroot",
    ),
    row(
        "unauthorized",
        Of::Dns01,
        Check::Dns,
        "the CA found no such TXT record, or other values: an old record, a name server that lags \
         behind, or a CNAME that leads elsewhere",
        "see which server has which value; remove old _acme-challenge records",
    ),
    row(
        "unauthorized",
        Of::Anything,
        Check::Account,
        "the CA does not let this account do that: it was deactivated, belongs to another key, or \
         lacks a permission at the CA",
        "see whether the account is valid; another privateKeySecretRef.name is another account",
    ),
    row(
        "incorrectResponse",
        Of::Dns01,
        Check::Dns,
        "the TXT record that the CA found is not the answer: an old record, or a cache on the way",
        "remove old _acme-challenge records, and see that every name server has the new one",
    ),
    row(
        "incorrectResponse",
        Of::Anything,
        Check::Http,
        "what answers for {name} is not the answer of this run: another certctl, a cache, or a \
         proxy that changes bodies",
        "lead /.well-known/acme-challenge/ to this host, unchanged and without a cache",
    ),
    row(
        "tls",
        Of::Anything,
        Check::Http,
        "the CA was led to https by a redirect, and could not set up TLS with {name}",
        "serve /.well-known/acme-challenge/ on port 80 without a redirect, or mend what listens on \
         port 443",
    ),
    row(
        "rateLimited",
        Of::Anything,
        Check::Status,
        "a limit of the CA is used up; more attempts do not shorten the wait, and some lengthen it",
        "wait; what fails the same way each time is better tried at a staging CA, or with certctl \
         rehearse",
    ),
    row(
        "rejectedIdentifier",
        Of::Anything,
        Check::Acme,
        "the CA does not issue for such a name: a reserved or internal domain, a public suffix, or \
         one that is blocked by its policy",
        "take the name out of the Certificate, or let another Issuer issue for it",
    ),
    row(
        "unsupportedIdentifier",
        Of::Anything,
        Check::Acme,
        "the CA does not issue for identifiers of this kind, such as IP addresses",
        "take them out of the Certificate, or use an Issuer, or a profile, whose CA does",
    ),
    row(
        "invalidProfile",
        Of::Anything,
        Check::Acme,
        "the CA has no such profile, or not for these names",
        "correct spec.acme.profile of the Issuer; the command shows what the CA has",
    ),
    row(
        "badCSR",
        Of::Anything,
        Check::Status,
        "the CA does not take the request: its key, signature, subject or an extension",
        "see spec.privateKey, spec.commonName, spec.subject and spec.isCA of the Certificate; few \
         public CAs take more than names and a key",
    ),
    row(
        "badPublicKey",
        Of::Anything,
        Check::Status,
        "the CA does not take the key: its kind or size, or it is known to be compromised",
        "change spec.privateKey.algorithm or size, or make a new one: certctl renew {certificate} \
         --new-key",
    ),
    row(
        "badSignatureAlgorithm",
        Of::Anything,
        Check::Acme,
        "the CA does not take signatures of this kind of account key",
        "another privateKeySecretRef.name makes certctl generate an account key that it takes",
    ),
    row(
        "externalAccountRequired",
        Of::Anything,
        Check::Acme,
        "the CA only opens accounts that are bound to one of its customers",
        "get a key identifier and an HMAC key from the CA, and set them in \
         spec.acme.externalAccountBinding (keyID, keySecretRef) of the Issuer",
    ),
    row(
        "userActionRequired",
        Of::Anything,
        Check::Account,
        "the CA waits for somebody: most often new terms of service that are to be agreed to",
        "open the address that is named above, and do what it says",
    ),
    row(
        "accountDoesNotExist",
        Of::Anything,
        Check::Account,
        "the CA does not know the account of this state: it was reset, as staging CAs are, or the \
         state is from elsewhere",
        "certctl account register {issuer} opens one with the same key",
    ),
    row(
        "invalidContact",
        Of::Anything,
        Check::Account,
        "the CA does not take the e-mail address",
        "correct spec.acme.email of the Issuer, or leave it out",
    ),
    row(
        "unsupportedContact",
        Of::Anything,
        Check::Account,
        "the CA does not take contacts of this kind",
        "correct spec.acme.email of the Issuer, or leave it out",
    ),
    row(
        "orderNotReady",
        Of::Anything,
        Check::Status,
        "the CA does not count all names of the order as proven yet",
        "nothing: the next run reads the order again and goes on with it",
    ),
    row(
        "compound",
        Of::Anything,
        Check::Status,
        "several things at once; each name has its own below",
        "go by the names; one that cannot be had keeps all others of its Certificate waiting",
    ),
    row(
        "serverInternal",
        Of::Anything,
        Check::Acme,
        "the CA has error of its own",
        "nothing: the next run tries again; its status page may know more",
    ),
    row(
        "malformed",
        Of::Anything,
        Check::Acme,
        "the CA does not understand the request; behind a proxy, that may have changed it",
        "if it stays, this is for the CA or a bug of certctl: -vvv shows the exchange, without secrets",
    ),
];

#[cfg(test)]
mod tests;
