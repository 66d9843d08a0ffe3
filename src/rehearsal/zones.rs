//! The data of the name server: names, their records, and their zones.
//!
//! Contract: names are in lower case and without a trailing dot ([`normal`]). Every name is in a
//! zone: the longest one that was added and holds it, else the last two labels, or the last one
//! where `_` begins the other. A zone has an apex and a name server `ns.<zone>`, listed or not. Wildcards are those of RFC 4592: a name that
//! exists, also as nothing but the parent of another, is not covered by one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use super::resolver::TxtAnswer;

/// Names and zones.
#[derive(Debug, Default)]
pub(super) struct Zones {
    pub(super) nodes: BTreeMap<String, Node>,
    pub(super) added: BTreeSet<String>,
    serial: u32,
}

/// The records of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// `None`: the name was not added with addresses; an empty list: it was added without any.
    pub(super) addresses: Option<Vec<IpAddr>>,
    /// The strings of each TXT record.
    pub(super) txt: Vec<Vec<String>>,
    /// Target of a CNAME, which hides the other records.
    pub(super) alias: Option<String>,
    /// Whether queries for the name fail.
    pub(super) is_broken: bool,
}

impl Node {
    /// The values of the TXT records, each record's strings joined (RFC 8555 section 8.4).
    pub(super) fn txt_values(&self) -> Vec<String> {
        self.txt.iter().map(|strings| strings.concat()).collect()
    }
}

impl Zones {
    /// Changes the records of a name; a name without records is unknown again.
    pub(super) fn change(&mut self, name: &str, change: impl FnOnce(&mut Node)) {
        let name = normal(name);
        let mut node = self.nodes.remove(&name).unwrap_or_default();
        change(&mut node);
        if node != Node::default() {
            self.nodes.insert(name, node);
        }
        self.serial = self.serial.wrapping_add(1);
    }

    /// Counts the changes.
    pub(super) fn serial(&self) -> u32 {
        self.serial
    }

    /// The apex of the zone that a name is in.
    pub(super) fn zone_of<'a>(&'a self, name: &'a str) -> &'a str {
        let added = ancestors(name).find(|ancestor| self.added.contains(*ancestor));
        added.unwrap_or_else(|| {
            let short = |name: &&str| !name.starts_with('_') && name.split('.').count() <= 2;
            ancestors(name).find(short).unwrap_or(name)
        })
    }

    /// The entry that answers for a name: its own, or a wildcard. `None` for an unknown name.
    pub(super) fn find(&self, name: &str) -> Option<Node> {
        if let Some(node) = self.nodes.get(name) {
            return Some(node.clone());
        }
        let served = name.strip_prefix(NAME_SERVER);
        if served.is_some_and(|zone| self.zone_of(zone) == zone) {
            let here = Some(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
            return Some(Node { addresses: here, ..Node::default() });
        }
        if self.exists(name) {
            return Some(Node::default());
        }
        // The closest encloser: the lowest existing ancestor. The apex always exists.
        let encloser = ancestors(name).skip(1).find(|ancestor| self.exists(ancestor))?;
        self.nodes.get(&format!("*.{encloser}")).cloned()
    }

    /// The answer to a TXT query for a name, or the response code.
    pub(super) fn txt(&self, name: &str) -> Result<TxtAnswer, String> {
        let node = self.find(&normal(name)).ok_or_else(|| "NXDOMAIN".to_owned())?;
        match &node.alias {
            _ if node.is_broken => Err("SERVFAIL".to_owned()),
            Some(target) => Ok(TxtAnswer::Alias(target.clone())),
            None => Ok(TxtAnswer::Values(node.txt_values())),
        }
    }

    /// Whether the name exists: it was added, is an apex, or is the parent of one that exists.
    fn exists(&self, name: &str) -> bool {
        let below = format!(".{name}");
        let listed = |known: &String| known == name || known.ends_with(&below);
        self.zone_of(name) == name || self.nodes.keys().any(listed) || self.added.iter().any(listed)
    }
}

/// The name of a zone's one name server.
pub(super) fn name_server(zone: &str) -> String {
    format!("{NAME_SERVER}{zone}")
}

const NAME_SERVER: &str = "ns.";

/// A name in the form in which it is compared and stored.
pub(super) fn normal(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The name, and the names above it.
fn ancestors(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, parent)| parent))
}

/// How many CNAMEs are followed, one after another.
pub(super) const MAX_ALIASES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(names: &[&str]) -> Zones {
        let mut zones = Zones::default();
        for (number, name) in names.iter().enumerate() {
            zones.change(name, |node| node.txt = vec![vec![number.to_string()]]);
        }
        zones
    }

    #[test]
    fn every_name_is_in_a_zone() {
        let mut zones = Zones::default();
        zones.add_zone("example.co.UK.");
        zones.add_zone("sub.example.com");
        let cases = [
            ("a.b.example.com", "example.com"),
            ("example.com", "example.com"),
            ("sub.example.com", "sub.example.com"),
            ("intranet", "intranet"),
            ("_acme-challenge.intranet", "intranet"),
            ("_acme-challenge.www.example.com", "example.com"),
            ("a.sub.example.com", "sub.example.com"),
            ("asub.example.com", "example.com"),
            ("_acme-challenge.www.example.co.uk", "example.co.uk"),
            ("www.other.co.uk", "co.uk"),
            ("com", "com"),
        ];
        for (name, zone) in cases {
            assert_eq!(zones.zone_of(name), zone, "{name}");
        }
    }

    #[test]
    fn wildcards_cover_names_that_do_not_exist() {
        let names = ["*.example.com", "_acme-challenge.www.example.com", "*.sub.example.com"];
        let mut zones = listed(&names);
        zones.add_zone("zone.example.com");
        // The TXT value identifies the record that answers; empty for a name without records.
        let cases = [
            ("a.example.com", Some("0")),
            ("a.b.example.com", Some("0")),
            ("_acme-challenge.www.example.com", Some("1")),
            ("www.example.com", Some("")),
            ("a.www.example.com", None),
            ("sub.example.com", Some("")),
            ("a.sub.example.com", Some("2")),
            ("a.b.sub.example.com", Some("2")),
            ("example.com", Some("")),
            ("zone.example.com", Some("")),
            ("a.zone.example.com", None),
            ("example.net", Some("")),
            ("a.example.net", None),
        ];
        for (name, expected) in cases {
            let found = zones.find(name).map(|node| node.txt_values().concat());
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_name_with_nothing_left_is_unknown() {
        let mut zones = listed(&["a.example.com"]);
        zones.change("A.example.com.", |node| node.txt.clear());
        assert_eq!(zones.find("a.example.com"), None);
        zones.change("a.example.com", |node| node.addresses = Some(Vec::new()));
        let bare = Node { addresses: Some(Vec::new()), ..Node::default() };
        assert_eq!(zones.find("a.example.com"), Some(bare));
    }
}
