//! Options of the built-in CA.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::faults::Faults;
use super::resolver::Resolver;

/// The CA's clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What newOrder reuses of the account's earlier orders; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reuse {
    Nothing,
    /// Valid authorizations, so that an order can be `ready` immediately.
    ValidAuthorizations,
    /// Pending authorizations, as Let's Encrypt's server does.
    PendingAuthorizations,
    /// The pending or ready order for the same names, as Let's Encrypt's server does.
    Orders,
}

/// The options; begin with [`CaOptions::new`] and change fields.
#[derive(Clone)]
pub struct CaOptions {
    /// Listen address; port 0 selects a free port.
    pub bind: SocketAddr,
    pub clock: Clock,
    /// The resolver of validations.
    pub resolver: Resolver,
    /// The port for HTTP-01 instead of 80.
    pub http01_port: u16,
    /// The port for tls-alpn-01 instead of 443.
    pub tlsalpn01_port: u16,
    /// Timeout of one validation.
    pub validation_timeout: Duration,
    /// Lifetime of leaf certificates whose order has no `notAfter`.
    pub leaf_lifetime: Duration,
    /// How long the CRL holds; `None` when the CA has none, and its certificates name none.
    pub crl_lifetime: Option<Duration>,
    /// Lifetime of an order.
    pub order_lifetime: Duration,
    /// Lifetime of a valid authorization.
    pub authorization_lifetime: Duration,
    /// What newOrder reuses of the account's earlier orders.
    pub reuse: Reuse,
    /// The CAA identities in the directory.
    pub caa_identities: Vec<String>,
    /// Profiles by name, with their descriptions.
    pub profiles: BTreeMap<String, String>,
    /// Key IDs and HMAC keys; if not empty, newAccount requires one of them.
    pub external_account_keys: BTreeMap<String, Vec<u8>>,
    /// The signature algorithms of requests that are accepted, as JWS calls them.
    pub signature_algorithms: Vec<String>,
    /// Whether there is renewal information (RFC 9773), and newOrder honours `replaces`.
    pub renewal_info: bool,
    /// Whether there is a second root, and so an alternate chain.
    pub alternate_root: bool,
    /// How long a finalized order stays `processing`, in real time; zero for not at all.
    pub finalize_delay: Duration,
    /// Retry-After on pending and processing resources, verbatim.
    pub retry_after: Option<String>,
    /// Whether a challenge whose validation fails stays pending with its `error`, and is validated
    /// again when it is accepted again, as step-ca and Caddy do.
    pub leaves_pending: bool,
    /// Maximum number of orders, and of accounts.
    pub max_orders: usize,
    /// How many orders an account may create within how long; more are refused with 429 and a
    /// Retry-After. Replacements (RFC 9773 section 5) are exempt, as at Let's Encrypt.
    pub order_limit: Option<(usize, SignedDuration)>,
    /// Fault rules; the caller can change them later through a clone.
    pub faults: Faults,
}

impl CaOptions {
    /// A well-behaved CA on a free port of 127.0.0.1 that validates on ports 80 and 443.
    pub fn new(clock: Clock, resolver: Resolver) -> Self {
        let days = |count: u64| Duration::from_secs(count * 86_400);
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            clock,
            resolver,
            http01_port: 80,
            tlsalpn01_port: 443,
            validation_timeout: Duration::from_secs(10),
            leaf_lifetime: days(90),
            crl_lifetime: None,
            order_lifetime: days(7),
            authorization_lifetime: days(30),
            reuse: Reuse::Nothing,
            caa_identities: Vec::new(),
            profiles: BTreeMap::new(),
            external_account_keys: BTreeMap::new(),
            signature_algorithms: ["ES256", "ES384", "ES512", "EdDSA", "RS256"]
                .map(str::to_owned)
                .to_vec(),
            renewal_info: false,
            alternate_root: false,
            finalize_delay: Duration::ZERO,
            retry_after: None,
            leaves_pending: false,
            max_orders: 8192,
            order_limit: None,
            faults: Faults::default(),
        }
    }
}
