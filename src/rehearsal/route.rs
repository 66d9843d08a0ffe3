//! The paths of this CA, and their resources.

use super::authorization::ChallengeKind;

/// A parsed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Directory,
    NewNonce,
    NewAccount,
    Account(u64),
    NewOrder,
    Order(u64),
    Authorization(u64),
    Challenge(u64, ChallengeKind),
    Finalize(u64),
    /// The certificate, and which of its chains.
    Certificate(u64, usize),
    Revoke,
    /// Of the certificate that the path names.
    RenewalInfo,
    Crl,
    Terms,
    Unknown,
}

impl Route {
    pub(super) fn parse(path: &str) -> Self {
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        Self::of_parts(&parts).unwrap_or(Self::Unknown)
    }

    fn of_parts(parts: &[&str]) -> Option<Self> {
        Some(match parts {
            ["directory"] => Self::Directory,
            ["new-nonce"] => Self::NewNonce,
            ["new-account"] => Self::NewAccount,
            ["new-order"] => Self::NewOrder,
            ["revoke-cert"] => Self::Revoke,
            ["renewal-info"] | ["renewal-info", _] => Self::RenewalInfo,
            ["crl"] => Self::Crl,
            ["terms"] => Self::Terms,
            ["account", id] => Self::Account(id.parse().ok()?),
            ["order", id] => Self::Order(id.parse().ok()?),
            ["finalize", id] => Self::Finalize(id.parse().ok()?),
            ["authorization", id] => Self::Authorization(id.parse().ok()?),
            ["challenge", id, kind] => {
                Self::Challenge(id.parse().ok()?, ChallengeKind::parse(kind)?)
            }
            ["certificate", id] => Self::Certificate(id.parse().ok()?, 0),
            ["certificate", id, chain] => Self::Certificate(id.parse().ok()?, chain.parse().ok()?),
            _ => return None,
        })
    }

    /// The path this route has.
    pub(super) fn path(self) -> String {
        match self {
            Self::Directory => "/directory".into(),
            Self::NewNonce => "/new-nonce".into(),
            Self::NewAccount => "/new-account".into(),
            Self::NewOrder => "/new-order".into(),
            Self::Revoke => "/revoke-cert".into(),
            Self::RenewalInfo => "/renewal-info".into(),
            Self::Crl => "/crl".into(),
            Self::Terms => "/terms".into(),
            Self::Account(id) => format!("/account/{id}"),
            Self::Order(id) => format!("/order/{id}"),
            Self::Finalize(id) => format!("/finalize/{id}"),
            Self::Authorization(id) => format!("/authorization/{id}"),
            Self::Challenge(id, kind) => format!("/challenge/{id}/{}", kind.as_str()),
            Self::Certificate(id, 0) => format!("/certificate/{id}"),
            Self::Certificate(id, chain) => format!("/certificate/{id}/{chain}"),
            Self::Unknown => "/".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_its_route_are_each_others_inverse() {
        let routes = [
            Route::Directory,
            Route::NewNonce,
            Route::NewAccount,
            Route::NewOrder,
            Route::Revoke,
            Route::RenewalInfo,
            Route::Crl,
            Route::Terms,
            Route::Account(1),
            Route::Order(2),
            Route::Finalize(3),
            Route::Authorization(4),
            Route::Challenge(5, ChallengeKind::Http01),
            Route::Challenge(6, ChallengeKind::Dns01),
            Route::Challenge(6, ChallengeKind::TlsAlpn01),
            Route::Certificate(7, 0),
            Route::Certificate(8, 1),
        ];
        for route in routes {
            assert_eq!(Route::parse(&route.path()), route);
        }
        assert_eq!(Route::parse("/renewal-info/aYhba4.AIdlQyE"), Route::RenewalInfo);
        for path in ["/", "/order", "/order/x", "/order/1/2", "/challenge/1/tls-sni-01", "/a/1"] {
            assert_eq!(Route::parse(path), Route::Unknown, "{path}");
        }
    }
}
