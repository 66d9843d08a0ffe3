//! The hosts of a CA: those that its directory document names.
//!
//! A URL at another host is followed with a warning: RFC 8555 allows it. The client is inside of
//! networks that the CA is not: under a directory at a public address, no such URL may lead to this
//! machine, its link or a private network.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::directory::Directory;
use super::error::AcmeError;
use crate::resource::{Reach, escape};

/// See the module.
#[derive(Debug)]
pub(super) struct Hosts {
    directory_url: String,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    named: BTreeSet<String>,
    /// Whether the directory document came from a public address.
    is_public: bool,
    warned: BTreeSet<String>,
}

impl Hosts {
    pub(super) fn new(directory_url: &str) -> Self {
        Self { directory_url: directory_url.to_owned(), known: Mutex::default() }
    }

    /// Takes the hosts of a directory document.
    pub(super) fn learn(&self, directory: &Directory) {
        let Directory { new_nonce, new_account, new_order, .. } = directory;
        let further = [&directory.revoke_cert, &directory.key_change, &directory.renewal_info];
        let all = [&self.directory_url, new_nonce, new_account, new_order].into_iter();
        let all = all.chain(further.into_iter().flatten());
        self.known().named = all.filter_map(|url| host(url)).collect();
    }

    /// Whether a request may be sent there.
    pub(super) fn check(&self, url: &str) -> Result<(), AcmeError> {
        let mut known = self.known();
        let Some(host) = host(url).filter(|host| known.is_strange(host)) else { return Ok(()) };
        if let Some(reach) = Reach::of_host(&host).filter(|_| known.is_public) {
            refuse(url, reach)?;
        }
        if known.warned.insert(host.clone()) {
            let host = escape(&host);
            tracing::warn!(target: "certctl::acme", "the CA's URLs lead to {host}, which its directory does not name");
        }
        Ok(())
    }

    /// Takes the address that has answered.
    pub(super) fn answered(&self, url: &str, peer: Option<SocketAddr>) -> Result<(), AcmeError> {
        let Some(reach) = peer.map(|peer| Reach::of(peer.ip())) else { return Ok(()) };
        let mut known = self.known();
        if url == self.directory_url {
            known.is_public = reach == Reach::Public;
        }
        let is_strange = host(url).is_some_and(|host| known.is_strange(&host));
        if is_strange && known.is_public { refuse(url, reach) } else { Ok(()) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Before the directory document is read, no host is strange.
    fn is_strange(&self, host: &str) -> bool {
        !self.named.is_empty() && !self.named.contains(host)
    }
}

fn refuse(url: &str, reach: Reach) -> Result<(), AcmeError> {
    let why = match reach {
        Reach::Public => return Ok(()),
        Reach::Host | Reach::Link | Reach::Private => format!(
            "is {}, at a host that the public directory of the CA does not name",
            reach.description()
        ),
    };
    Err(AcmeError::Malformed { url: url.to_owned(), why })
}

fn host(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    url.host_str().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(peer: &str) -> Hosts {
        let hosts = Hosts::new("https://ca.test/dir");
        let at = |host: &str| format!("https://{host}/x");
        hosts.answered("https://ca.test/dir", Some(peer.parse().unwrap())).unwrap();
        hosts.check("https://10.0.0.1/").unwrap();
        hosts.learn(&Directory {
            new_nonce: at("ca.test"),
            new_account: at("ca.test"),
            new_order: at("orders.ca.test"),
            revoke_cert: Some(at("10.9.9.9")),
            key_change: None,
            renewal_info: None,
            terms_of_service: None,
            website: None,
            caa_identities: Vec::new(),
            external_account_required: false,
            profiles: None,
        });
        hosts
    }

    #[test]
    fn under_a_public_directory_no_url_leads_inside() {
        let public = hosts("192.0.2.1:443");
        let private = hosts("10.0.0.1:443");
        for url in ["https://127.0.0.1/o", "https://10.0.0.7/o", "https://[fe80::1]/o"] {
            assert!(public.check(url).is_err(), "{url}");
            private.check(url).unwrap();
        }
        let error = public.check("https://localhost/o").unwrap_err().to_string();
        let why = "is an address of this machine, at a host that the public directory of the CA does not name";
        assert_eq!(error, format!("https://localhost/o: {why}"));
        // Named by the directory, or elsewhere in public: asked.
        for url in ["https://10.9.9.9/o", "https://ORDERS.ca.test:1/o", "https://other.test/o"] {
            public.check(url).unwrap();
        }
        let inside = Some("10.0.0.8:443".parse().unwrap());
        assert!(public.answered("https://other.test/o", inside).is_err());
        public.answered("https://orders.ca.test/o", inside).unwrap();
        private.answered("https://other.test/o", inside).unwrap();
        let warned: Vec<_> = public.known().warned.iter().cloned().collect();
        assert_eq!(warned, ["other.test"]);
    }
}
