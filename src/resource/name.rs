//! Names: of objects, of hosts, and the identifiers of an ACME order.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::hex::hex;
use super::reach::Reach;

/// `namespace/name`: what identifies an object among those of its kind.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct NamespacedName {
    /// The namespace; empty for cluster-scoped objects.
    #[serde(deserialize_with = "namespace")]
    pub namespace: String,
    /// The object's own name.
    #[serde(deserialize_with = "object_name")]
    pub name: String,
}

impl NamespacedName {
    /// Puts the two parts together; both are expected to be valid names already.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The form for people: the name alone in the default namespace, else with its namespace.
    pub fn short(&self) -> String {
        if self.namespace == DEFAULT { self.name.clone() } else { self.to_string() }
    }
}

/// The same of the printed form of a name.
pub fn short_form(name: &str) -> &str {
    name.strip_prefix(DEFAULT).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name)
}

/// The namespace of objects that name none.
const DEFAULT: &str = "default";

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// A host name in its ASCII form, lower case, without a trailing dot; it may start with `*.`.
///
/// Comparison, storage and what goes to the CA all use this one form (RFC 8555 section 7.1.4
/// requires the A-label form).
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct DnsName(String);

impl DnsName {
    /// The whole name, `*.` included.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name is `*.` followed by a base name.
    pub fn is_wildcard(&self) -> bool {
        self.0.starts_with("*.")
    }

    /// The name without a leading `*.`, as in an ACME authorization.
    pub fn base(&self) -> &str {
        base_of(&self.0)
    }
}

/// A name without a leading `*.`.
pub fn base_of(name: &str) -> &str {
    name.strip_prefix("*.").unwrap_or(name)
}

impl FromStr for DnsName {
    type Err = NameError;

    /// Accepts an ASCII host name; Unicode names are converted before they come here.
    fn from_str(text: &str) -> Result<Self, NameError> {
        let lower = text.to_ascii_lowercase();
        let base = base_of(&lower);
        if base.is_empty() {
            return Err(NameError::Empty);
        }
        if base.len() > 253 {
            return Err(NameError::TooLong { bytes: base.len(), max: 253 });
        }
        if base.contains('*') {
            return Err(NameError::Wildcard);
        }
        if base.parse::<IpAddr>().is_ok() {
            return Err(NameError::IpAddress);
        }
        let labels: Vec<&str> = base.split('.').collect();
        for label in &labels {
            check_label(label)?;
        }
        if labels.last().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit())) {
            return Err(NameError::NumericTopLevel);
        }
        Ok(Self(lower))
    }
}

impl fmt::Display for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check_label(label: &str) -> Result<(), NameError> {
    if label.is_empty() {
        return Err(NameError::EmptyLabel);
    }
    if label.len() > 63 {
        return Err(NameError::LabelTooLong { label: label.to_owned() });
    }
    if label.starts_with('-') || label.ends_with('-') {
        return Err(NameError::Hyphen { label: label.to_owned() });
    }
    match label.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
        Some(character) => Err(NameError::Character { character }),
        None => Ok(()),
    }
}

/// An identifier of an ACME order (RFC 8555 section 9.7.7, RFC 8738).
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Identifier {
    /// Identifier type `dns`.
    Dns(DnsName),
    /// Identifier type `ip`.
    Ip(IpAddr),
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => name.fmt(f),
            Self::Ip(address) => address.fmt(f),
        }
    }
}

impl Identifier {
    /// What tls-alpn-01 sends as server name: TLS has none for an address, so that its reverse name
    /// stands for it (RFC 8738 section 6).
    pub fn server_name(&self) -> String {
        let address = match self {
            Self::Dns(name) => return name.base().to_owned(),
            Self::Ip(address) => address.to_canonical(),
        };
        match address {
            IpAddr::V4(v4) => {
                let [a, b, c, d] = v4.octets();
                format!("{d}.{c}.{b}.{a}.in-addr.arpa")
            }
            IpAddr::V6(v6) => {
                let digits = hex(&v6.octets());
                let reverse: String = digits.chars().rev().flat_map(|digit| [digit, '.']).collect();
                format!("{reverse}ip6.arpa")
            }
        }
    }

    /// The identifier for which tls-alpn-01 sends this server name. A reverse name is taken for its
    /// address.
    pub fn of_server_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let address = if let Some(octets) = name.strip_suffix(".in-addr.arpa") {
            let octets: Vec<&str> = octets.rsplit('.').collect();
            octets.join(".").parse().ok().map(IpAddr::V4)
        } else if let Some(digits) = name.strip_suffix(".ip6.arpa") {
            let digits: Vec<&str> = digits.rsplit('.').collect();
            let groups: Vec<String> = digits.chunks(4).map(<[&str]>::concat).collect();
            groups.join(":").parse().ok().map(IpAddr::V6)
        } else {
            None
        };
        let dns = || name.parse().ok().map(Self::Dns);
        let is_of_name = |found: &Self| found.server_name() == name;
        address.map(Self::Ip).filter(is_of_name).or_else(|| dns().filter(is_of_name))
    }

    /// Whether a public CA certifies it (CA/Browser Forum's Baseline Requirements, 4.2.2 and
    /// 7.1.4): a name below a registry of the Public Suffix List, or a public address.
    pub fn is_public(&self) -> bool {
        match self {
            Self::Ip(address) => Reach::of(*address) == Reach::Public,
            Self::Dns(name) => psl::suffix(name.base().as_bytes()).is_some_and(|suffix| {
                let is_registry = suffix.typ() == Some(psl::Type::Icann);
                suffix.is_known() && !(is_registry && suffix == name.base())
            }),
        }
    }
}

/// Why a text is not a host name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// Nothing, or nothing behind `*.`.
    #[error("empty name")]
    Empty,
    /// Two dots in a row, or a dot at an end.
    #[error("empty label (two dots in a row, or a dot at the start or the end)")]
    EmptyLabel,
    /// A name over 253 bytes.
    #[error("name of {bytes} bytes, at most {max} are allowed")]
    TooLong {
        /// Length found, in bytes.
        bytes: usize,
        /// Length allowed, in bytes.
        max: usize,
    },
    /// A label over 63 bytes.
    #[error("label `{label}` is longer than 63 bytes")]
    LabelTooLong {
        /// The label.
        label: String,
    },
    /// A hyphen at the start or the end of a label.
    #[error("label `{label}` begins or ends with a hyphen")]
    Hyphen {
        /// The label.
        label: String,
    },
    /// A character that host names do not have.
    #[error("character {character:?} is not allowed in a host name")]
    Character {
        /// The first such character.
        character: char,
    },
    /// A `*` anywhere but as the whole first label.
    #[error("`*` is only allowed as the whole first label")]
    Wildcard,
    /// An IP address where a name belongs.
    #[error("this is an IP address: list it under ipAddresses")]
    IpAddress,
    /// A last label of digits only.
    #[error("the last label has digits only")]
    NumericTopLevel,
}

/// Whether `text` is an RFC 1123 subdomain: what Kubernetes allows as the name of most objects.
pub fn is_dns_subdomain(text: &str) -> bool {
    !text.is_empty() && text.len() <= 253 && text.split('.').all(is_label_of_object)
}

/// Whether `text` is an RFC 1123 label: what Kubernetes allows as a namespace.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_label_of_object(text)
}

/// Reads the name of an object in a stored document: what is there may be shown, and given to programs.
pub(super) fn object_name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if is_dns_subdomain(&text) { Ok(text) } else { Err(not_a(&text, "name of an object")) }
}

/// Reads a namespace in the same way; it is empty for cluster-scoped objects.
pub(super) fn namespace<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let is_good = text.is_empty() || is_dns_label(&text);
    if is_good { Ok(text) } else { Err(not_a(&text, "namespace")) }
}

fn not_a<E: serde::de::Error>(text: &str, what: &str) -> E {
    E::custom(format_args!("{text:?} is not a valid {what}"))
}

fn is_label_of_object(label: &str) -> bool {
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    edge(label.bytes().next())
        && edge(label.bytes().last())
        && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_ca_certifies_names_below_registries_and_public_addresses() {
        for (text, expected) in [
            ("www.example.com", true),
            ("*.example.co.uk", true),
            ("web.github.io", true),
            ("github.io", true),
            ("xn--j1ail.xn--p1ai", true),
            ("co.uk", false),
            ("*.com", false),
            ("intranet", false),
            ("*.lan", false),
            ("nas.local", false),
            ("db.internal", false),
        ] {
            let name = Identifier::Dns(text.parse::<DnsName>().unwrap());
            assert_eq!(name.is_public(), expected, "{text}");
        }
        for (text, expected) in [("192.168.1.5", false), ("8.8.8.8", true), ("fd00::1", false)] {
            assert_eq!(Identifier::Ip(text.parse().unwrap()).is_public(), expected, "{text}");
        }
    }

    #[test]
    fn people_are_shown_no_default_namespace() {
        for (namespace, name, shown) in
            [("default", "web", "web"), ("prod", "web", "prod/web"), ("", "le", "le")]
        {
            let key = NamespacedName::new(namespace, name);
            assert_eq!((key.short().as_str(), short_form(&key.to_string())), (shown, shown));
        }
    }

    #[test]
    fn the_server_name_of_an_address_is_its_reverse_name() {
        let name = Identifier::Dns("*.Example.com".parse().unwrap());
        assert_eq!(name.server_name(), "example.com");
        let v6 = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
        for (address, expected) in [
            ("192.0.2.10", "10.2.0.192.in-addr.arpa"),
            ("::ffff:192.0.2.10", "10.2.0.192.in-addr.arpa"),
            ("2001:db8::1", v6),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(Identifier::Ip(address).server_name(), expected);
            let back = Identifier::of_server_name(&expected.to_uppercase());
            assert_eq!(back, Some(Identifier::Ip(address.to_canonical())));
        }
        let dns = |name: &str| Some(Identifier::Dns(name.parse().unwrap()));
        for name in
            ["example.com", "10.2.192.in-addr.arpa", "01.2.0.192.in-addr.arpa", "b.ip6.arpa"]
        {
            assert_eq!(Identifier::of_server_name(name), dns(name), "{name}");
        }
        for none in ["*.example.com", "192.0.2.10", "a..b", ""] {
            assert_eq!(Identifier::of_server_name(none), None, "{none}");
        }
    }

    #[test]
    fn host_names_are_lower_cased_and_checked() {
        let cases: &[(&str, Result<&str, NameError>)] = &[
            ("WWW.Example.com", Ok("www.example.com")),
            ("*.example.com", Ok("*.example.com")),
            ("localhost", Ok("localhost")),
            ("", Err(NameError::Empty)),
            ("*.", Err(NameError::Empty)),
            ("a..b", Err(NameError::EmptyLabel)),
            ("example.com.", Err(NameError::EmptyLabel)),
            ("*.lan", Ok("*.lan")),
            ("*", Err(NameError::Wildcard)),
            ("a.*.example.com", Err(NameError::Wildcard)),
            ("192.0.2.1", Err(NameError::IpAddress)),
            ("www.123", Err(NameError::NumericTopLevel)),
            ("under_score.example", Err(NameError::Character { character: '_' })),
            ("-a.example", Err(NameError::Hyphen { label: "-a".into() })),
        ];
        for (text, expected) in cases {
            let found = text.parse::<DnsName>();
            assert_eq!(
                found.as_ref().map(DnsName::as_str),
                expected.as_ref().map(|s| *s),
                "{text}"
            );
        }
    }

    #[test]
    fn names_in_stored_documents_are_parsed_as_names() {
        let read = |namespace: &str, name: &str| {
            let json = serde_json::json!({"namespace": namespace, "name": name});
            serde_json::from_value::<NamespacedName>(json.clone()).map_err(|error| {
                let metadata = serde_json::from_value::<crate::resource::Metadata>(json);
                assert!(metadata.is_err(), "{namespace:?} {name:?}");
                error.to_string()
            })
        };
        assert_eq!(read("default", "web.tls"), Ok(NamespacedName::new("default", "web.tls")));
        assert_eq!(read("", "ca"), Ok(NamespacedName::new("", "ca")));
        for (namespace, name, expected) in [
            (
                "default",
                "web\nBcc: a@x.example",
                "\"web\\nBcc: a@x.example\" is not a valid name of an object",
            ),
            ("default", "", "\"\" is not a valid name of an object"),
            ("default", "../web", "\"../web\" is not a valid name of an object"),
            ("a.b", "web", "\"a.b\" is not a valid namespace"),
            ("\u{1b}[31m", "web", "\"\\u{1b}[31m\" is not a valid namespace"),
        ] {
            assert_eq!(read(namespace, name), Err(expected.to_owned()));
        }
    }

    #[test]
    fn object_names_are_rfc_1123_subdomains() {
        for good in ["web", "web.tls", "a-1", "1"] {
            assert!(is_dns_subdomain(good), "{good}");
        }
        for bad in ["", ".", "..", "../x", "Web", "a/b", "-rf", "a.", "a b", "a\n"] {
            assert!(!is_dns_subdomain(bad), "{bad}");
        }
    }
}
