//! The attributes of an issued certificate's subject beside its CN.

use std::collections::BTreeMap;

use super::certificate;
use super::chain::Chain;

/// The attributes, by the last part of cert-manager's annotation for each.
const ATTRIBUTES: [(&str, &str); 8] = [
    ("2.5.4.10", "organizations"),
    ("2.5.4.11", "organizationalunits"),
    ("2.5.4.6", "countries"),
    ("2.5.4.8", "provinces"),
    ("2.5.4.7", "localities"),
    ("2.5.4.17", "postalcodes"),
    ("2.5.4.9", "streetaddresses"),
    ("2.5.4.5", "serialnumber"),
];

/// The values of each attribute that the leaf's subject has, in their order.
pub fn subject_attributes(chain: &Chain) -> BTreeMap<&'static str, Vec<String>> {
    let mut found: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let leaf = chain.certificates().first().and_then(|der| certificate::parse(der).ok());
    let Some(leaf) = leaf else { return found };
    for attribute in leaf.subject().iter_attributes() {
        let oid = attribute.attr_type().to_id_string();
        let known = ATTRIBUTES.iter().find(|(known, _)| *known == oid);
        if let (Some((_, name)), Ok(value)) = (known, attribute.as_str()) {
            found.entry(name).or_default().push(value.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use rcgen::DnType;

    use super::*;
    use crate::pki::PrivateKey;
    use crate::pki::test_ca::{self, Ca};
    use crate::resource::KeyAlgorithm;

    #[test]
    fn a_subject_is_read_attribute_by_attribute() {
        let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap();
        let mut params = test_ca::leaf("a.example", &["a.example"]);
        let plain = Chain::from_pem(&ca.sign(&params, &key)).unwrap();
        assert_eq!(subject_attributes(&plain), BTreeMap::new());
        params.distinguished_name.push(DnType::OrganizationName, "Acme, Inc");
        params.distinguished_name.push(DnType::CountryName, "DE");
        params.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 5]), "7");
        let chain = Chain::from_pem(&ca.sign(&params, &key)).unwrap();
        let expected = BTreeMap::from([
            ("organizations", vec!["Acme, Inc".to_owned()]),
            ("countries", vec!["DE".to_owned()]),
            ("serialnumber", vec!["7".to_owned()]),
        ]);
        assert_eq!(subject_attributes(&chain), expected);
    }
}
