//! The names of a Certificate: subject, commonName and SANs.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::pki::literal_subject_common_name;
use crate::resource::{DnsName, Identifier, OtherName, Subject};

use super::diagnostic::{Draft, short};
use super::field::{Field, Fields, REQUIRED};
use super::name::{dns_name, to_dns_name};
use super::sink::Sink;
use super::tree::Span;

/// A name that the CA must validate.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) identifier: Identifier,
    pub(crate) wildcard: bool,
    pub(crate) field: String,
    pub(crate) span: Span,
}

/// The SANs of a Certificate, and their positions.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) dns: Vec<DnsName>,
    pub(crate) ips: Vec<IpAddr>,
    pub(crate) emails: Vec<String>,
    pub(crate) uris: Vec<String>,
    pub(crate) places: Vec<Name>,
    pub(crate) unusual: Vec<(String, Span)>,
    /// Whether anything was written, valid or not.
    pub(crate) any: bool,
}

/// The subject's CN, from `commonName` or `literalSubject`.
#[derive(Clone, Debug)]
pub(crate) struct CommonName {
    pub(crate) text: String,
    /// The text as a host name, when it is one.
    pub(crate) dns_name: Option<DnsName>,
    pub(crate) field: String,
    pub(crate) span: Span,
    /// Whether it comes from `literalSubject`.
    pub(crate) literal: bool,
}

/// Reads `dnsNames`, `ipAddresses`, `emailAddresses` and `uris`.
pub(crate) fn names(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Names {
    let mut found = Names::default();
    let mut seen = BTreeSet::new();
    let listed = items(fields, "dnsNames", sink);
    // Exactly: of ten thousand Certificates, most have one name.
    found.dns.reserve_exact(listed.len());
    found.places.reserve_exact(listed.len());
    for item in listed {
        found.any = true;
        let Some(name) = dns_name(&item, sink) else { continue };
        if seen.insert(name.to_string()) {
            let base = name.base().parse().unwrap_or_else(|_| name.clone());
            found.place(&item, Identifier::Dns(base), name.is_wildcard());
            found.dns.push(name);
        } else {
            duplicate(&item, name.as_str(), sink);
        }
    }
    for item in items(fields, "ipAddresses", sink) {
        found.any = true;
        let Some(text) = item.text(sink) else { continue };
        let Ok(address) = text.parse::<IpAddr>() else {
            let bare = text.trim_matches(['[', ']']);
            let address = bare.parse::<IpAddr>().ok().map(|address| address.to_string());
            let draft = Draft::error("E0105", item.span(), &item.path, "invalid IP address");
            sink.add(draft.suggest(address));
            continue;
        };
        if seen.insert(address.to_string()) {
            found.place(&item, Identifier::Ip(address), false);
            found.ips.push(address);
        } else {
            duplicate(&item, &address.to_string(), sink);
        }
    }
    if let Some(field) = fields.take("emailAddresses") {
        let items = field.list(sink);
        found.unusual(&field, items.len());
        found.emails = items.iter().filter_map(|item| email(item, sink)).collect();
    }
    if let Some(field) = fields.take("uris") {
        let items = field.list(sink);
        found.unusual(&field, items.len());
        found.uris = items.iter().filter_map(|item| item.filled_text(sink)).collect();
    }
    found
}

fn items<'n>(fields: &mut Fields<'n>, name: &'static str, sink: &mut Sink<'_>) -> Vec<Field<'n>> {
    fields.take(name).map(|field| field.list(sink)).unwrap_or_default()
}

impl Names {
    fn place(&mut self, item: &Field<'_>, identifier: Identifier, wildcard: bool) {
        let (field, span) = (item.path.clone(), item.span());
        self.places.push(Name { identifier, wildcard, field, span });
    }

    fn unusual(&mut self, field: &Field<'_>, items: usize) {
        if items > 0 {
            self.any = true;
            self.unusual.push((field.path.clone(), field.key_span));
        }
    }
}

fn duplicate(item: &Field<'_>, name: &str, sink: &mut Sink<'_>) {
    let message = format!("`{name}` is listed already: ignored");
    sink.add(Draft::warning("W0302", item.span(), &item.path, message));
}

fn email(item: &Field<'_>, sink: &mut Sink<'_>) -> Option<String> {
    let text = item.text(sink)?;
    if text.contains(['<', '>']) {
        item.refuse(
            sink,
            "invalid email address: make sure the supplied value only contains the email address \
             itself",
        );
        return None;
    }
    if let Some(fault) = email_fault(&text) {
        item.refuse(sink, format!("invalid email address: {fault}"));
        return None;
    }
    Some(text)
}

/// Why a text is not an address (RFC 5322 section 3.4.1, without quoted forms).
pub(crate) fn email_fault(text: &str) -> Option<String> {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return Some("missing `@`".to_owned());
    };
    let fits = |c: char| c.is_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(c);
    [("before", local), ("after", domain)].into_iter().find_map(|(side, part)| {
        if let Some(character) = part.chars().find(|c| !fits(*c)) {
            return Some(format!("{character:?} in the part {side} the last `@`"));
        }
        let is_empty = part.split('.').any(str::is_empty);
        is_empty.then(|| format!("an empty word in the part {side} `@`"))
    })
}

/// Reads `commonName`, or the CN of `literalSubject`, and checks that only one of them and
/// `subject` is used.
pub(crate) fn common_name(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<CommonName> {
    let plain = fields.take("commonName");
    let text = plain.as_ref().and_then(|field| field.text(sink)).filter(|text| !text.is_empty());
    let subject = fields.take("subject");
    let literal = fields.take("literalSubject");
    let literal_text =
        literal.as_ref().and_then(|field| field.node.as_text()).filter(|text| !text.is_empty());
    let (Some(field), Some(literal_text)) = (&literal, literal_text) else {
        return Some(checked_common_name(plain.as_ref()?, text?, false, sink));
    };
    if text.is_some() || subject.is_some() {
        sink.error("E0108", field.span(), &field.path, LITERAL_EXCLUDES);
    }
    match literal_subject_common_name(literal_text) {
        Ok(text) if text.is_empty() => None,
        Ok(text) => Some(checked_common_name(field, text, true, sink)),
        Err(error) => {
            field.refuse(sink, error.to_string());
            None
        }
    }
}

fn checked_common_name(
    field: &Field<'_>,
    text: String,
    literal: bool,
    sink: &mut Sink<'_>,
) -> CommonName {
    if text.len() > 64 {
        let message = format!("too long: {} bytes, at most 64 are allowed", text.len());
        field.refuse(sink, message);
    }
    let dns_name = to_dns_name(&text).ok();
    CommonName { text, dns_name, field: field.path.clone(), span: field.span(), literal }
}

/// Reads `otherNames`.
pub(crate) fn other_names(
    fields: &mut Fields<'_>,
    names: &mut Names,
    sink: &mut Sink<'_>,
) -> Vec<OtherName> {
    let mut found = Vec::new();
    let Some(field) = fields.take("otherNames") else { return found };
    let items = field.list(sink);
    names.unusual(&field, items.len());
    for item in items {
        let Some(mut inner) = item.mapping(sink, "Certificate.spec.otherNames") else { continue };
        let oid = inner.require(sink, "oid", REQUIRED).and_then(|field| {
            let text = field.filled_text(sink)?;
            if !is_oid(&text) {
                field.refuse(sink, format!("invalid oid syntax `{}`", short(&text)));
                return None;
            }
            Some(text)
        });
        let value = inner.require(sink, "utf8Value", REQUIRED);
        let value = value.and_then(|field| field.filled_text(sink));
        inner.finish(sink);
        found.extend(oid.zip(value).map(|(oid, utf8_value)| OtherName { oid, utf8_value }));
    }
    found
}

/// Whether a text is an object identifier in dotted decimal (X.660: the first arc is 0, 1 or 2).
pub(crate) fn is_oid(text: &str) -> bool {
    let arc = |arc: &str| {
        !arc.is_empty()
            && arc.bytes().all(|b| b.is_ascii_digit())
            && (arc == "0" || !arc.starts_with('0'))
            && arc.parse::<u32>().is_ok()
    };
    let arcs: Vec<&str> = text.split('.').collect();
    arcs.len() >= 2
        && arcs.iter().all(|part| arc(part))
        && match arcs.as_slice() {
            ["0" | "1", second, ..] => second.parse::<u32>().is_ok_and(|second| second < 40),
            [first, ..] => *first == "2",
            [] => false,
        }
}

/// Reads `subject`.
pub(crate) fn subject(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Subject> {
    let mut inner = fields.take("subject")?.mapping(sink, "Certificate.spec.subject")?;
    let mut list =
        |name: &'static str| inner.take(name).map(|field| field.texts(sink)).unwrap_or_default();
    let mut subject = Subject {
        organizations: list("organizations"),
        countries: list("countries"),
        organizational_units: list("organizationalUnits"),
        localities: list("localities"),
        provinces: list("provinces"),
        street_addresses: list("streetAddresses"),
        postal_codes: list("postalCodes"),
        serial_number: String::new(),
    };
    let serial = inner.take("serialNumber").and_then(|field| field.text(sink));
    subject.serial_number = serial.unwrap_or_default();
    inner.finish(sink);
    Some(subject)
}

const LITERAL_EXCLUDES: &str = "When providing a `LiteralSubject` no `commonName` / `Subject` \
    properties may be provided.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_identifiers_are_dotted_decimal() {
        for good in ["1.3.6.1.4.1.311.20.2.3", "2.999.1", "0.9", "1.39.4294967295"] {
            assert!(is_oid(good), "{good}");
        }
        for bad in ["", "1", "3.1", "1.40", "1.2.", "1.02", "a.b", "1.2.4294967296", "BOOLEAN"] {
            assert!(!is_oid(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_of_mail_are_bare() {
        for good in ["a@example.com", "a.b+c@example.com", "jos\u{e9}@example.com"] {
            assert_eq!(email_fault(good), None, "{good}");
        }
        for bad in ["a", "@example.com", "a@", "a b@example.com", "a..b@example.com", "a@b..c"] {
            assert!(email_fault(bad).is_some(), "{bad}");
        }
        let two = "'@' in the part before the last `@`";
        assert_eq!(email_fault("a@b.example,c@d.example").as_deref(), Some(two));
        let scheme = "':' in the part before the last `@`";
        assert_eq!(email_fault("mailto:a@example.com").as_deref(), Some(scheme));
    }
}
