//! Subject alternative names (RFC 5280 section 4.2.1.6), written from a spec and read from a
//! certificate or request.

use std::net::IpAddr;

use der::asn1::{Any, Ia5String, ObjectIdentifier, OctetString, Utf8StringRef};
use x509_cert::ext::pkix::name::{GeneralName, GeneralNames, OtherName};
use x509_parser::extensions::GeneralName as ReadName;
use x509_parser::x509::X509Name;

use super::csr_error::CsrError;
use crate::resource::CertificateSpec;

/// The names of a spec, in cert-manager's order.
pub(super) fn requested(spec: &CertificateSpec) -> Result<GeneralNames, CsrError> {
    let mut names = GeneralNames::new();
    for name in &spec.dns_names {
        names.push(GeneralName::DnsName(ia5("dnsNames", name.as_str())?));
    }
    for address in &spec.email_addresses {
        names.push(GeneralName::Rfc822Name(ia5("emailAddresses", address)?));
    }
    for address in &spec.ip_addresses {
        let octets = match address.to_canonical() {
            IpAddr::V4(v4) => OctetString::new(v4.octets())?,
            IpAddr::V6(v6) => OctetString::new(v6.octets())?,
        };
        names.push(GeneralName::IpAddress(octets));
    }
    for uri in &spec.uris {
        names.push(GeneralName::UniformResourceIdentifier(ia5("uris", uri)?));
    }
    for other in &spec.other_names {
        let type_id = ObjectIdentifier::new(&other.oid)
            .map_err(|_| CsrError::ObjectIdentifier { oid: other.oid.clone() })?;
        let value = Any::encode_from(&Utf8StringRef::new(&other.utf8_value)?)?;
        names.push(GeneralName::OtherName(OtherName { type_id, value }));
    }
    Ok(names)
}

fn ia5(field: &'static str, text: &str) -> Result<Ia5String, CsrError> {
    Ia5String::new(text).map_err(|_| CsrError::NotAscii { field, text: text.to_owned() })
}

/// The names found in an extension; those of other types are left out.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) dns: Vec<String>,
    pub(super) ip: Vec<IpAddr>,
    pub(super) uris: Vec<String>,
    pub(super) emails: Vec<String>,
}

impl Names {
    pub(super) fn read(names: &[ReadName<'_>]) -> Self {
        let mut found = Self::default();
        for name in names {
            if let ReadName::DNSName(text) = name {
                found.dns.push((*text).to_owned());
            } else if let ReadName::URI(text) = name {
                found.uris.push((*text).to_owned());
            } else if let ReadName::RFC822Name(text) = name {
                found.emails.push((*text).to_owned());
            } else if let ReadName::IPAddress(octets) = name {
                found.ip.extend(ip_address(octets));
            }
        }
        found
    }
}

fn ip_address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

/// The CN of a name, empty when it has none or it is not text; of several, the last and most
/// specific one.
pub(super) fn common_name(name: &X509Name<'_>) -> String {
    let last = name.iter_common_name().last();
    last.and_then(|attribute| attribute.as_str().ok()).unwrap_or_default().to_owned()
}
