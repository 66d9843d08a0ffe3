//! Causes and remedies for the problem types that a CA reports.
//!
//! Contract: pure, and the only place with such advice. A row is selected by the last part of the
//! problem's type (RFC 8555 section 6.7) and, where it matters, by the challenge type.

use jiff::{SignedDuration, Timestamp};

use super::hint::short;
use crate::engine::ports::DamageCourse;
use crate::resource::{
    CaFailure, CaFault, ChallengeType, Check, FailureClass, Fix, NamespacedName,
};

/// What the CA refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject<'a> {
    pub(crate) certificate: Option<&'a NamespacedName>,
    pub(crate) issuer: &'a str,
    /// The first refused identifier; empty when the problem names none.
    pub(crate) name: &'a str,
    /// The challenge type, if a challenge failed.
    pub(crate) proof: Option<&'a ChallengeType>,
    /// Whether it refused to make the account.
    pub(crate) is_registration: bool,
}

/// Cause and remedy of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    pub(crate) cause: String,
    pub(crate) remedy: String,
    /// What shows details.
    pub(crate) fix: Option<Fix>,
}

/// Advice on a problem type, such as `rateLimited`.
pub(crate) fn of_problem(kind: &str, subject: &Subject<'_>) -> Option<Advice> {
    let row = ROWS.iter().find(|row| row.kind == kind && row.of.fits(subject))?;
    Some(advice(row.cause, row.remedy, row.show, subject))
}

/// Advice on a failure without a problem document.
pub(crate) fn of_class(class: FailureClass, subject: &Subject<'_>) -> Option<Advice> {
    if class == FailureClass::Unreachable {
        // The remedy, another run, is the last line of every failure that does not count.
        let cause = "the CA, the network or the proxy (HTTPS_PROXY) in between, or name resolution on \
                     this host";
        return Some(advice(cause, "", Show::Acme, subject));
    }
    let cause = "the state directory: a full disk, permissions, or a damaged file";
    let remedy = "fix the error above; certctl version -v shows the directory in use";
    (class == FailureClass::State).then(|| advice(cause, remedy, Show::Nothing, subject))
}

/// Advice on a document of the state that cannot be read.
pub(crate) fn of_damage(course: DamageCourse, subject: &Subject<'_>) -> Option<Advice> {
    let (cause, remedy, fix) = match course {
        DamageCourse::SetAside => (
            "a full disk, a crash or an edit damaged this file of the state directory",
            "restore the file from a backup, or run certctl issue again: it continues with the key \
             and certificate that are there, without an order",
            Fix::Issue(subject.certificate.cloned()),
        ),
        DamageCourse::LeftToNewer => (
            "a newer certctl used this state directory",
            "install the newer certctl again, or restore the file from a backup, or remove it: \
             certctl issue then continues with the key and certificate that are there",
            Fix::Check(Check::Version),
        ),
        DamageCourse::Unusable => return None,
    };
    Some(Advice { fix: Some(fix), ..advice(cause, remedy, Show::Nothing, subject) })
}

/// Advice on a request to the CA that got no usable answer.
pub(crate) fn of_request(failed: &CaFailure, subject: &Subject<'_>) -> Option<Advice> {
    let (cause, remedy) = match failed.fault {
        CaFault::UnknownIssuer => (
            "the CA is private and this host does not trust its root certificate, or a proxy in \
             between intercepts TLS",
            "put that root certificate into spec.acme.caBundle of {issuer} (base64 of PEM, as \
             certctl create issuer NAME --server URL --ca-bundle ROOT.pem writes it), or among the \
             roots of this system",
        ),
        CaFault::Untimely => (
            "probably the clock of this host; if it is correct, the certificate of the CA's server",
            "compare date -u with the true time, and set the clock (timedatectl set-ntp true)",
        ),
        CaFault::Untrusted => (
            "the certificate of the CA's server, not the network",
            "check spec.acme.server of {issuer}; else the certificate must be replaced there",
        ),
        CaFault::Unreachable
        | CaFault::ServerError
        | CaFault::Refused
        | CaFault::Gone
        | CaFault::Unusable => return None,
    };
    Some(advice(cause, remedy, Show::Acme, subject))
}

/// Advice on an order one of whose URLs gives no answer.
pub(crate) fn of_unreachable_order(subject: &Subject<'_>) -> Advice {
    let cause = "the CA's server, the network in between, or a wrong URL in the CA's answer";
    let remedy = "the next run continues the order; certctl replaces an order that gets no \
                  response for a day. To replace it now: certctl renew {certificate} --new-order";
    advice(cause, remedy, Show::Acme, subject)
}

/// Advice on an order that says nothing to work on.
pub(crate) fn of_stuck_order(certificate: &NamespacedName) -> Advice {
    let cause = "a fault of the CA: certctl cannot continue such an order";
    let remedy = "certctl replaces an order that stays like this for a day. To replace it now: \
                  certctl renew {certificate} --new-order";
    advice(
        cause,
        remedy,
        Show::Nothing,
        &Subject { certificate: Some(certificate), ..Subject::default() },
    )
}

/// The difference of clocks that a failed request showed.
pub(crate) fn of_clocks(failed: &CaFailure) -> Option<Advice> {
    let ahead = failed.clock_ahead?;
    let length = crate::cli::words::time::length(SignedDuration::from_secs(ahead));
    let word = if ahead > 0 { "behind" } else { "ahead of" };
    let cause =
        format!("probably the clock of this host: it is {length} {word} the CA's (its Date)");
    let remedy = "set the clock (timedatectl set-ntp true), then run this again".to_owned();
    Some(Advice { cause, remedy, fix: None })
}

/// What diagnoses a challenge of this type.
pub(crate) fn check_of(proof: &ChallengeType, name: &str) -> Option<Fix> {
    match proof {
        ChallengeType::Http01 => Some(Fix::Check(Check::Http(name.to_owned()))),
        ChallengeType::Dns01 => Some(Fix::Check(Check::Dns(name.to_owned()))),
        ChallengeType::Other(_) => None,
    }
}

/// What diagnoses the CA of an issuer.
pub(crate) fn check_of_ca(issuer: &str) -> Option<Fix> {
    (!issuer.is_empty()).then(|| Fix::Check(Check::Acme(issuer.to_owned())))
}

/// When a rate limit ends, as Boulder writes it into the detail: `retry after 2026-11-21
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

fn advice(cause: &str, remedy: &str, show: Show, subject: &Subject<'_>) -> Advice {
    let name = if subject.name.is_empty() { "NAME" } else { subject.name };
    let issuer = if subject.issuer.is_empty() { "ISSUER" } else { subject.issuer };
    let certificate = subject.certificate.map(short).unwrap_or_default();
    let fill = |text: &str| {
        let text = text.replace("{name}", name).replace("{issuer}", issuer);
        text.replace("{certificate}", &certificate)
    };
    let check = match show {
        Show::Nothing => None,
        Show::Dns => Some(Check::Dns(name.to_owned())),
        Show::Http => Some(Check::Http(name.to_owned())),
        Show::Acme => Some(Check::Acme(issuer.to_owned())),
        Show::Account => Some(Check::Account(issuer.to_owned())),
        Show::Status => Some(Check::Status(subject.certificate.cloned())),
    };
    Advice { cause: fill(cause), remedy: fill(remedy), fix: check.map(Fix::Check) }
}

/// The challenge types, or the request, that a row applies to.
#[derive(Clone, Copy)]
enum Of {
    Http01,
    Dns01,
    NewAccount,
    Anything,
}

impl Of {
    fn fits(self, subject: &Subject<'_>) -> bool {
        match self {
            Self::Http01 => subject.proof == Some(&ChallengeType::Http01),
            Self::Dns01 => subject.proof == Some(&ChallengeType::Dns01),
            Self::NewAccount => subject.is_registration,
            Self::Anything => true,
        }
    }
}

/// Which command shows details.
#[derive(Clone, Copy)]
enum Show {
    Nothing,
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
    show: Show,
}

const fn row(
    kind: &'static str,
    of: Of,
    show: Show,
    cause: &'static str,
    remedy: &'static str,
) -> Row {
    Row { kind, of, cause, remedy, show }
}

const REFUSED_BINDING: &str = "the CA refused to create the account; with an external account \
                               binding: its key ID is unknown, expired or used already, or its HMAC \
                               key belongs to another key ID";
const CORRECT_BINDING: &str = "compare spec.acme.externalAccountBinding of {issuer} with what the \
                               CA shows: keyID, and the HMAC key in the secret of keySecretRef \
                               (base64url, as the CA shows it)";

/// The first matching row applies.
const ROWS: &[Row] = &[
    row(
        "caa",
        Of::Anything,
        Show::Dns,
        "a CAA record of {name} or of a parent domain does not allow this CA, or the CAA lookup \
         failed",
        "add the CA's identity to the CAA records (certctl check acme {issuer} shows it), or \
         remove them",
    ),
    row(
        "dns",
        Of::Dns01,
        Show::Dns,
        "the CA's lookup of the TXT record failed: no such name, SERVFAIL, broken DNSSEC, or a \
         name server that is not reachable from the Internet",
        "check that every name server of the zone answers queries from the Internet, and that \
         DNSSEC validates",
    ),
    row(
        "dns",
        Of::Anything,
        Show::Http,
        "the CA's lookup of {name} failed: no A or AAAA record in the public DNS, SERVFAIL, or \
         broken DNSSEC",
        "publish the name, and check that every name server of the zone answers from the Internet",
    ),
    row(
        "connection",
        Of::Anything,
        Show::Http,
        "the CA could not connect to an address of {name}: a firewall, port 80 not \
         forwarded to this host, or an AAAA record of another host",
        "open and forward port 80 for every A and AAAA address, or remove the wrong address",
    ),
    row(
        "unauthorized",
        Of::Http01,
        Show::Http,
        "the CA received a different response from {name}: another web server, a proxy, a CDN, an \
         A or AAAA record of another host, or split DNS",
        "route /.well-known/acme-challenge/ to certctl on every address of the name, or have its \
         web server serve the folder named by certctl/http01-webroot",
    ),
    row(
        "unauthorized",
        Of::Dns01,
        Show::Dns,
        "the CA found no such TXT record, or other values: an old record, a name server that lags \
         behind, or a CNAME that points elsewhere",
        "check which name server has which value; remove old _acme-challenge records",
    ),
    row("unauthorized", Of::NewAccount, Show::Acme, REFUSED_BINDING, CORRECT_BINDING),
    row(
        "unauthorized",
        Of::Anything,
        Show::Account,
        "the CA denied this account permission: it was deactivated, has another key, or lacks a \
         permission",
        "check the account's status; to use another account, change privateKeySecretRef.name",
    ),
    row(
        "incorrectResponse",
        Of::Dns01,
        Show::Dns,
        "the CA found another value in the TXT record: an old record, or a cached one",
        "remove old _acme-challenge records, and check that every name server has the new one",
    ),
    row(
        "incorrectResponse",
        Of::Anything,
        Show::Http,
        "{name} returned a different key authorization: from another certctl, a cache, or a proxy \
         that changes response bodies",
        "route /.well-known/acme-challenge/ to this host, unmodified and uncached",
    ),
    row(
        "tls",
        Of::Anything,
        Show::Http,
        "the CA followed a redirect to HTTPS, and the TLS handshake with {name} failed",
        "serve /.well-known/acme-challenge/ on port 80 without a redirect, or fix the TLS server \
         on port 443",
    ),
    row(
        "rateLimited",
        Of::Anything,
        Show::Status,
        "a rate limit of the CA was exceeded; retrying does not shorten the wait and can extend it",
        "wait; test repeated failures against a staging CA, or with certctl rehearse",
    ),
    row(
        "paused",
        Of::Anything,
        Show::Status,
        "after many failed validations the CA takes no orders of this account for such names until \
         you allow them again; waiting does not help",
        "fix why {name} could not be validated, visit the page in the detail, then run certctl \
         renew",
    ),
    row(
        "rejectedIdentifier",
        Of::Anything,
        Show::Acme,
        "the CA does not issue for such a name: a reserved or internal domain, a public suffix, or \
         a name that its policy blocks",
        "remove the name from the Certificate, or use an Issuer of another CA for it",
    ),
    row(
        "unsupportedIdentifier",
        Of::Anything,
        Show::Acme,
        "the CA does not issue for identifiers of this kind, such as IP addresses",
        "remove them from the Certificate, or use a CA or a profile that supports them",
    ),
    row(
        "invalidProfile",
        Of::Anything,
        Show::Acme,
        "the CA does not offer this profile, or not for these names",
        "correct spec.acme.profile of the Issuer; the command lists the CA's profiles",
    ),
    row(
        "badCSR",
        Of::Anything,
        Show::Status,
        "the CA rejected the CSR: its key, signature, subject or an extension",
        "check spec.privateKey, spec.commonName, spec.subject and spec.isCA of the Certificate; \
         most public CAs accept only names and a key",
    ),
    row(
        "badPublicKey",
        Of::Anything,
        Show::Status,
        "the CA rejected the key: its type or size, or it is known to be compromised",
        "change spec.privateKey.algorithm or size, or generate a new key: certctl renew \
         {certificate} --new-key",
    ),
    row(
        "badSignatureAlgorithm",
        Of::Anything,
        Show::Acme,
        "the CA does not support this type of account key",
        "make an RSA key (openssl genrsa 3072), put it into a new secret, and name that in \
         privateKeySecretRef: certctl generates only ECDSA keys; then run certctl renew \
         {certificate}",
    ),
    row(
        "externalAccountRequired",
        Of::Anything,
        Show::Acme,
        "the CA requires an external account binding, or an e-mail address beside it",
        "get a key identifier and an HMAC key from the CA; set spec.acme.externalAccountBinding \
         (keyID, keySecretRef) and spec.acme.email of {issuer}",
    ),
    row(
        "userActionRequired",
        Of::Anything,
        Show::Account,
        "the CA requires action by the account holder, usually agreeing to new terms of service",
        "open the URL above and follow its instructions",
    ),
    row(
        "accountDoesNotExist",
        Of::Anything,
        Show::Account,
        "the CA does not know the account in this state directory: the CA was reset, as staging \
         CAs are, or the state belongs to another CA",
        "certctl account register {issuer} registers the same key again",
    ),
    row(
        "invalidContact",
        Of::Anything,
        Show::Account,
        "the CA rejected the e-mail address",
        "correct spec.acme.email of the Issuer, or leave it out",
    ),
    row(
        "unsupportedContact",
        Of::Anything,
        Show::Account,
        "the CA does not support this type of contact",
        "correct spec.acme.email of the Issuer, or leave it out",
    ),
    row(
        "orderNotReady",
        Of::Anything,
        Show::Status,
        "the CA has not yet validated all names of the order",
        "none: certctl tries again by itself",
    ),
    row(
        "compound",
        Of::Anything,
        Show::Status,
        "several problems; see each name below",
        "fix each name; one that fails blocks all others of its Certificate",
    ),
    row(
        "serverInternal",
        Of::Anything,
        Show::Acme,
        "the CA had an internal error",
        "none: the next run retries; see the CA's status page",
    ),
    row("malformed", Of::NewAccount, Show::Acme, REFUSED_BINDING, CORRECT_BINDING),
    row(
        "malformed",
        Of::Anything,
        Show::Acme,
        "the CA could not parse the request; a proxy may have changed it",
        "if it persists, report it to the CA or certctl; -vvv logs the exchange without secrets",
    ),
];

#[cfg(test)]
mod tests;
