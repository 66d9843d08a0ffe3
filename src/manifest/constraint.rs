//! X.509 name constraints of a CA Certificate (RFC 5280 section 4.2.1.10).

use std::net::IpAddr;

use crate::resource::{NameConstraintItem, NameConstraints};

use super::field::{Field, Fields};
use super::sink::Sink;

/// Reads `nameConstraints`.
pub(crate) fn name_constraints(
    fields: &mut Fields<'_>,
    is_ca: bool,
    sink: &mut Sink<'_>,
) -> Option<NameConstraints> {
    let field = fields.take("nameConstraints")?;
    let mut inner = field.mapping(sink, "Certificate.spec.nameConstraints")?;
    let critical = inner.take("critical").and_then(|field| field.boolean(sink));
    let permitted = inner.take("permitted");
    let excluded = inner.take("excluded");
    if !is_ca {
        let message = "isCA must be true when nameConstraints are set";
        sink.error("E0108", inner.span(), inner.path(), message);
    }
    if permitted.is_none() && excluded.is_none() {
        let message = "either permitted or excluded must be set";
        sink.error("E0101", inner.span(), inner.path(), message);
    }
    inner.finish(sink);
    Some(NameConstraints {
        critical: critical.unwrap_or_default(),
        permitted: permitted.and_then(|field| item(&field, PERMITTED, sink)),
        excluded: excluded.and_then(|field| item(&field, EXCLUDED, sink)),
    })
}

fn item(field: &Field<'_>, owner: &'static str, sink: &mut Sink<'_>) -> Option<NameConstraintItem> {
    let mut inner = field.mapping(sink, owner)?;
    let ranges = inner.take("ipRanges").map(|field| field.list(sink)).unwrap_or_default();
    let mut ip_ranges = Vec::new();
    for range in ranges {
        let Some(text) = range.text(sink) else { continue };
        if is_cidr(&text) {
            ip_ranges.push(text);
        } else {
            range.refuse(sink, "invalid CIDR: write it like 192.0.2.0/24");
        }
    }
    let mut list = |name| inner.take(name).map(|field| field.texts(sink)).unwrap_or_default();
    let dns_domains = list("dnsDomains");
    let email_addresses = list("emailAddresses");
    let uri_domains = list("uriDomains");
    inner.finish(sink);
    Some(NameConstraintItem { dns_domains, ip_ranges, email_addresses, uri_domains })
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
    match (address.parse(), length.parse::<u8>()) {
        (Ok(IpAddr::V4(_)), Ok(length)) => digits && length <= 32,
        (Ok(IpAddr::V6(_)), Ok(length)) => digits && length <= 128,
        (Err(_), _) | (_, Err(_)) => false,
    }
}

const PERMITTED: &str = "Certificate.spec.nameConstraints.permitted";
const EXCLUDED: &str = "Certificate.spec.nameConstraints.excluded";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cidrs() {
        for good in ["192.0.2.0/24", "::/0", "2001:db8::/128", "0.0.0.0/0"] {
            assert!(is_cidr(good), "{good}");
        }
        for bad in ["192.0.2.0", "192.0.2.0/33", "::/129", "a/8", "1.2.3.4/", "1.2.3.4/+8"] {
            assert!(!is_cidr(bad), "{bad}");
        }
    }
}
