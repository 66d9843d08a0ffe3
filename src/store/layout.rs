//! The file of a document, a lock or a secret.
//!
//! Contract: every name is checked again to be a single path component, although
//! manifests are validated before: no outside name can escape the tree.

use std::io;
use std::path::PathBuf;

use crate::resource::{NamespacedName, is_dns_subdomain};
use crate::store::error::StoreError;
use crate::store::key::{Key, Lock, Part};

pub(super) const CERTIFICATES: &str = "certificates";
pub(super) const ACCOUNTS: &str = "accounts";
pub(super) const SECRETS: &str = "secrets";
pub(super) const HTTP01: &str = "http01";
pub(super) const LOCKS: &str = "locks";
/// The lock of `certctl run`.
const SERVICE_LOCK: &str = "run";
pub(super) const CRLS: &str = "crls";
pub(super) const ALERTS: &str = "alerts";
const DIRECTORIES: &str = "directories";
pub(super) const REVOKED: &str = "revoked";
pub(super) const REQUESTS: &str = "requests";
pub(super) const ORDERS: &str = "orders";
pub(super) const STATUS_FILE: &str = "status.json";
pub(super) const ACCOUNT_FILE: &str = "account.json";
/// The file whose times are those of the last run that no person watched.
pub(super) const LAST_RUN: &str = "last-run";
pub(super) const ISSUANCE_LOG: &str = "issuance.log";

/// How the names of files begin that note a run of the operator's hook.
pub(super) const ALERTED: &str = "alerted-";

/// How the names of the locks of hooks begin.
pub(super) const HOOK_LOCK: &str = "hook-";

/// The lock of a hook's run.
pub(super) fn hook_lock(digest: &str) -> String {
    format!("{HOOK_LOCK}{digest}")
}

/// How the names of the locks of orders begin.
pub(super) const ORDER_LOCK: &str = "order-";

const BANNED_KEYS_FILE: &str = "banned-keys.json";
pub(super) const SCHEDULER_FILE: &str = "scheduler.json";

const HOST_SECTION_FILE: &str = "host.json";
const NEXT_KEY_FILE: &str = "next-private-key.pem";
const ACCOUNT_KEY_FILE: &str = "key.pem";
const ACCOUNT_LIMITS_FILE: &str = "limits.json";

/// A file below the state directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The folders on the path.
    pub(super) folders: Vec<String>,
    /// The file in the last of them.
    pub(super) file: String,
}

impl Place {
    fn new(folders: Vec<String>, file: impl Into<String>) -> Self {
        Self { folders, file: file.into() }
    }

    /// The path below the state directory.
    pub(super) fn relative_path(&self) -> PathBuf {
        self.folders.iter().chain([&self.file]).collect()
    }
}

/// The file of a document.
pub(super) fn document(key: &Key) -> Result<Place, StoreError> {
    Ok(match key {
        // The record stands for all.
        Key::Certificate(name) | Key::Part(name, Part::Record) => {
            Place::new(certificate(name)?, STATUS_FILE)
        }
        Key::Part(name, Part::Request(revision)) => {
            Place::new(requests(name)?, format!("{revision}.json"))
        }
        Key::Part(name, Part::Order(revision, number)) => {
            Place::new(orders(name)?, format!("{revision}-{number}.json"))
        }
        Key::Part(name, Part::NextKey) => Place::new(certificate(name)?, NEXT_KEY_FILE),
        Key::Pair(name, revision, _) => return Err(no_pair(name, *revision)),
        Key::Account(digest) => Place::new(account(digest)?, ACCOUNT_FILE),
        Key::AccountKey(digest) => Place::new(account(digest)?, ACCOUNT_KEY_FILE),
        Key::AccountLimits(digest) => Place::new(account(digest)?, ACCOUNT_LIMITS_FILE),
        Key::BannedKeys => Place::new(Vec::new(), BANNED_KEYS_FILE),
        Key::Revoked(fingerprint) => {
            let file = format!("{}.json", digest_component(fingerprint)?);
            Place::new(vec![REVOKED.to_owned()], file)
        }
        Key::Scheduler => Place::new(Vec::new(), SCHEDULER_FILE),
    })
}

/// The live set is the pair.
fn no_pair(of: &NamespacedName, revision: u32) -> StoreError {
    StoreError::Io {
        path: format!("the pair of revision {revision} of {of}"),
        action: "write",
        source: io::ErrorKind::Unsupported.into(),
    }
}

/// The file of a lock.
pub(super) fn lock(lock: &Lock) -> Result<Place, StoreError> {
    let locks = || LOCKS.to_owned();
    Ok(match lock {
        // No ending: a name may have 253 bytes, and a file name ends at 255.
        Lock::Certificate(name) => {
            let [namespace, name] = parts(name)?;
            Place::new(vec![locks(), CERTIFICATES.to_owned(), namespace], name)
        }
        Lock::Account(digest) => {
            Place::new(vec![locks(), ACCOUNTS.to_owned()], digest_component(digest)?)
        }
        Lock::Scheduler => Place::new(vec![locks()], "scheduler"),
        // Not in its own folder: creating one would cost each first run an fsync.
        Lock::Run(number) => Place::new(vec![locks()], format!("run-{number}")),
        Lock::Service => Place::new(vec![locks()], SERVICE_LOCK),
        Lock::Order(digest) => {
            Place::new(vec![locks()], format!("{ORDER_LOCK}{}", digest_component(digest)?))
        }
    })
}

/// The file of the ACME directory of the CA with this digest.
pub(super) fn directory(digest: &str) -> Result<Place, StoreError> {
    Ok(Place::new(vec![DIRECTORIES.to_owned()], digest_component(digest)?))
}

/// The file of the CRL whose URL has this digest.
pub(super) fn crl(digest: &str) -> Result<Place, StoreError> {
    let file = format!("{}.der", digest_component(digest)?);
    Ok(Place::new(vec![CRLS.to_owned()], file))
}

/// The file of what the operator's hook is to hear of the certificate whose key has this digest.
pub(super) fn alert(digest: &str) -> Result<Place, StoreError> {
    Ok(Place::new(vec![ALERTS.to_owned()], digest_component(digest)?))
}

/// The file that notes when CRLs were looked at.
pub(super) fn crl_looks() -> Place {
    Place::new(vec![CRLS.to_owned()], "looks")
}

/// The file that notes what was reported.
pub(super) fn reported() -> Place {
    Place::new(Vec::new(), "reported")
}

/// The name of a lock in messages.
pub(super) fn lock_title(lock: &Lock) -> String {
    match lock {
        Lock::Certificate(name) => format!("certificate {}", name.short()),
        Lock::Account(digest) => format!("account {digest}"),
        Lock::Scheduler => "the scheduler".to_owned(),
        Lock::Run(number) => format!("run {number}"),
        Lock::Service => "the loop of this host".to_owned(),
        Lock::Order(digest) => format!("order {digest}"),
    }
}

/// The folder of a certificate.
pub(super) fn certificate(name: &NamespacedName) -> Result<Vec<String>, StoreError> {
    let [namespace, name] = parts(name)?;
    Ok(vec![CERTIFICATES.to_owned(), namespace, name])
}

/// The file in it that notes a run of the operator's hook for what `mark` names.
pub(super) fn alerted(mark: &str) -> String {
    format!("{ALERTED}{mark}")
}

/// The file of what this host did and owes of a certificate.
pub(super) fn host_section(name: &NamespacedName) -> Result<Place, StoreError> {
    Ok(Place::new(certificate(name)?, HOST_SECTION_FILE))
}

/// The folder of a certificate's requests.
pub(super) fn requests(name: &NamespacedName) -> Result<Vec<String>, StoreError> {
    let mut folders = certificate(name)?;
    folders.push(REQUESTS.to_owned());
    Ok(folders)
}

/// The folder of a certificate's orders.
pub(super) fn orders(name: &NamespacedName) -> Result<Vec<String>, StoreError> {
    let mut folders = certificate(name)?;
    folders.push(ORDERS.to_owned());
    Ok(folders)
}

/// The folder of an account.
pub(super) fn account(digest: &str) -> Result<Vec<String>, StoreError> {
    Ok(vec![ACCOUNTS.to_owned(), digest_component(digest)?])
}

/// The folder of an issued secret.
pub(super) fn secret(name: &NamespacedName) -> Result<Vec<String>, StoreError> {
    let [namespace, name] = parts(name)?;
    Ok(vec![SECRETS.to_owned(), namespace, name])
}

/// The revision that a file in `requests/` is of; `None` for any other file.
pub(super) fn parse_request(file: &str) -> Option<u32> {
    canonical_number(file.strip_suffix(".json")?)
}

/// The revision and number that a file in `orders/` is of; `None` for any other file.
pub(super) fn parse_order(file: &str) -> Option<(u32, u32)> {
    let (revision, number) = file.strip_suffix(".json")?.split_once('-')?;
    Some((canonical_number(revision)?, canonical_number(number)?))
}

/// Whether this can be the name of a file of a Secret.
pub(super) fn check_secret_file(name: &str) -> Result<(), StoreError> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > 200 || name.starts_with('.') || !name.bytes().all(is_plain) {
        return Err(StoreError::Name { name: name.to_owned() });
    }
    Ok(())
}

fn parts(name: &NamespacedName) -> Result<[String; 2], StoreError> {
    Ok([component(&name.namespace)?, component(&name.name)?])
}

fn component(name: &str) -> Result<String, StoreError> {
    if is_dns_subdomain(name) {
        Ok(name.to_owned())
    } else {
        Err(StoreError::Name { name: name.to_owned() })
    }
}

fn digest_component(digest: &str) -> Result<String, StoreError> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if digest.is_empty() || digest.len() > 128 || !digest.bytes().all(is_plain) {
        return Err(StoreError::Name { name: digest.to_owned() });
    }
    Ok(digest.to_owned())
}

fn canonical_number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_document_has_its_file() {
        let name = || NamespacedName::new("default", "web.tls");
        let cases = [
            (Key::Certificate(name()), "certificates/default/web.tls/status.json"),
            (Part::Request(7).of(&name()), "certificates/default/web.tls/requests/7.json"),
            (Part::Order(7, 2).of(&name()), "certificates/default/web.tls/orders/7-2.json"),
            (Part::NextKey.of(&name()), "certificates/default/web.tls/next-private-key.pem"),
            (Key::Account("ab12".into()), "accounts/ab12/account.json"),
            (Key::AccountLimits("ab12".into()), "accounts/ab12/limits.json"),
            (Key::AccountKey("ab12".into()), "accounts/ab12/key.pem"),
            (Key::BannedKeys, "banned-keys.json"),
            (Key::Revoked("ab12".into()), "revoked/ab12.json"),
            (Key::Scheduler, "scheduler.json"),
        ];
        for (key, path) in cases {
            assert_eq!(document(&key).unwrap().relative_path(), PathBuf::from(path), "{key:?}");
        }
    }

    #[test]
    fn no_name_escapes_the_tree() {
        let long = "a".repeat(254);
        for bad in ["", ".", "..", "../x", "a/b", "/etc", "a\0b", "A", "a b", "a\n", &long] {
            let names = [NamespacedName::new("default", bad), NamespacedName::new(bad, "web")];
            for name in names {
                let found = [
                    document(&Key::Certificate(name.clone())).is_ok(),
                    document(&Part::Request(1).of(&name)).is_ok(),
                    document(&Part::Order(1, 1).of(&name)).is_ok(),
                    document(&Part::NextKey.of(&name)).is_ok(),
                    lock(&Lock::Certificate(name.clone())).is_ok(),
                    secret(&name).is_ok(),
                ];
                assert_eq!(found, [false; 6], "{name:?}");
            }
        }
        for bad in ["", ".", "..", "../x", "a/b", "a.b", "a\0"] {
            let found = [
                document(&Key::Account(bad.into())).is_ok(),
                document(&Key::AccountKey(bad.into())).is_ok(),
                document(&Key::Revoked(bad.into())).is_ok(),
                lock(&Lock::Account(bad.into())).is_ok(),
                lock(&Lock::Order(bad.into())).is_ok(),
                crl(bad).is_ok(),
            ];
            assert_eq!(found, [false; 6], "{bad:?}");
        }
        for bad in ["", ".", "..", "..data", ".tmp-1", "a/b", "../x", "a\n"] {
            assert!(check_secret_file(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_longest_name_fits() {
        let name = NamespacedName::new("a".repeat(63), "a".repeat(253));
        let places = [
            document(&Key::Certificate(name.clone())).unwrap(),
            lock(&Lock::Certificate(name)).unwrap(),
        ];
        for place in places {
            for part in place.folders.iter().chain([&place.file]) {
                assert!(part.len() <= 255, "{part}");
            }
        }
    }

    #[test]
    fn only_canonical_numbers_are_documents() {
        let requests = [("7.json", Some(7)), ("07.json", None), ("+7.json", None), ("7", None)];
        for (file, expected) in requests {
            assert_eq!(parse_request(file), expected, "{file}");
        }
        let orders = [
            ("7-1.json", Some((7, 1))),
            ("7-1.json.corrupt-1", None),
            ("7.json", None),
            ("7--1.json", None),
            ("99999999999-1.json", None),
        ];
        for (file, expected) in orders {
            assert_eq!(parse_order(file), expected, "{file}");
        }
    }
}
