//! The resolver of validations.

use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;

/// A lookup of the caller's: all addresses of a name, or an error.
pub type Lookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> + Send + Sync>;

/// A lookup of the caller's: the result of a TXT query, or its error (such as `NXDOMAIN` or
/// `SERVFAIL`).
pub type TxtLookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<TxtAnswer, String>> + Send + Sync>;

/// The result of a TXT query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxtAnswer {
    /// The values, the strings of each record joined; none is an empty answer.
    Values(Vec<String>),
    /// A CNAME to this name. The CA follows it.
    Alias(String),
}

/// How HTTP-01 and tls-alpn-01 validation find the addresses of a name, and DNS-01 its TXT records.
#[derive(Clone)]
pub struct Resolver {
    addresses: Lookup,
    txt: Option<TxtLookup>,
}

impl Resolver {
    /// Addresses come from this function.
    pub fn ask(addresses: Lookup) -> Self {
        Self { addresses, txt: None }
    }

    /// The same addresses, and TXT records from this function. By default there are none.
    #[must_use]
    pub fn with_txt(self, txt: TxtLookup) -> Self {
        Self { txt: Some(txt), ..self }
    }

    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, String> {
        (self.addresses)(name.to_owned()).await
    }

    /// The TXT records of a name, or why there are none.
    pub async fn txt(&self, name: &str) -> Result<TxtAnswer, String> {
        match &self.txt {
            Some(lookup) => lookup(name.to_owned()).await,
            None => Err("NXDOMAIN".to_owned()),
        }
    }
}
