//! Dependencies of a provider: credentials, the network, the time.

use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::{Api, ProviderError};
use crate::resource::SecretKeySelector;

/// Reads an entry of a Secret in the issuer's namespace; the error names the place searched.
pub type ReadSecret<'a> = dyn Fn(&SecretKeySelector) -> Result<Zeroizing<Vec<u8>>, String> + 'a;

/// The addresses of a host, from the resolver of all lookups; the error names each server.
pub type Lookup = Rc<dyn Fn(String) -> LocalBoxFuture<'static, Result<Vec<IpAddr>, String>>>;

/// The dependencies. A provider clones what it needs.
pub struct Context<'a> {
    pub secret: &'a ReadSecret<'a>,
    /// An environment variable, for the ambient credentials of clouds.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Whether ambient credentials of the machine may be used when the solver names none: as in
    /// cert-manager, for ClusterIssuers only.
    pub allow_ambient: bool,
    /// The namespace of the issuer's Secrets.
    pub namespace: &'a str,
    /// The operator's programs: `solvers.d`.
    pub solvers_dir: &'a Path,
    /// Requests over HTTP.
    pub api: Rc<Api>,
    /// Addresses of hosts.
    pub lookup: Lookup,
    /// The time, for signatures.
    pub now: Rc<dyn Fn() -> Timestamp>,
}

impl Context<'_> {
    /// The bytes of a credential.
    pub fn bytes(
        &self,
        provider: &'static str,
        field: &'static str,
        selector: &SecretKeySelector,
    ) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        (self.secret)(selector).map_err(|reason| ProviderError::Credential {
            provider,
            field,
            reason,
        })
    }

    /// A credential that is one line of text: surrounding white space is removed, and control
    /// characters in it are refused before they reach a header.
    pub fn text(
        &self,
        provider: &'static str,
        field: &'static str,
        selector: &SecretKeySelector,
    ) -> Result<Zeroizing<String>, ProviderError> {
        let bytes = self.bytes(provider, field, selector)?;
        let bad = |reason: &str| ProviderError::Credential {
            provider,
            field,
            reason: format!("secret {}, key {}: {reason}", selector.name, selector.key),
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| bad("this is not text"))?.trim();
        if text.is_empty() {
            return Err(bad("this is empty"));
        }
        if text.chars().any(char::is_control) {
            return Err(bad("there are control characters in it; is it more than one line?"));
        }
        Ok(Zeroizing::new(text.to_owned()))
    }
}
