//! A DNS provider that writes to the built-in name server: for rehearsals, where it replaces the
//! provider of a manifest, and for tests.

use futures_util::FutureExt as _;

use crate::solver::dns01::{DnsProvider, ProviderError, ProviderFuture, TxtRecord};

use super::records::Records;

/// See the module. It keeps working after the name server has stopped.
#[derive(Clone, Debug)]
pub struct ZoneWriter(Records);

impl ZoneWriter {
    pub(super) fn new(records: Records) -> Self {
        Self(records)
    }
}

impl DnsProvider for ZoneWriter {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        let written = in_zone(&record.name, &record.zone);
        if written.is_ok() {
            self.0.add_txt(&record.name, vec![record.value.clone()]);
        }
        std::future::ready(written).boxed_local()
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        self.0.remove_txt(&record.name, &record.value);
        std::future::ready(Ok(())).boxed_local()
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> ProviderFuture<'a, String> {
        let found = in_zone(name, zone).map(|()| format!("{SERVICE} takes records for {name}"));
        std::future::ready(found).boxed_local()
    }
}

/// Rejects a name outside the given zone, as providers do.
fn in_zone(name: &str, zone: &str) -> Result<(), ProviderError> {
    if zone.is_empty() || name == zone || name.ends_with(&format!(".{zone}")) {
        return Ok(());
    }
    Err(ProviderError::NoZone {
        service: SERVICE.to_owned(),
        name: name.to_owned(),
        reason: format!("it is not in the zone {zone}"),
    })
}

const SERVICE: &str = "the built-in name server";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rehearsal::NameServer;

    #[tokio::test]
    async fn it_writes_one_value_among_several() {
        let server = NameServer::start(BTreeMap::new()).unwrap();
        let provider = server.provider();
        let name = "_acme-challenge.example.com";
        let record = |zone: &str, value: &str| TxtRecord {
            domain: "example.com".into(),
            name: name.into(),
            zone: zone.into(),
            value: value.into(),
        };
        server.add_txt(name, "kept");
        for (zone, value) in [("example.com", "one"), ("", "two"), (name, "two")] {
            assert_eq!(provider.present(&record(zone, value)).await, Ok(()));
        }
        assert_eq!(server.txt(name), ["kept", "one", "two"]);
        let elsewhere = Err(ProviderError::NoZone {
            service: "the built-in name server".into(),
            name: name.into(),
            reason: "it is not in the zone ample.com".into(),
        });
        assert_eq!(provider.present(&record("ample.com", "three")).await, elsewhere);
        for value in ["one", "one", "never"] {
            assert_eq!(provider.clean_up(&record("example.com", value)).await, Ok(()));
        }
        assert_eq!(server.txt(name), ["kept", "two"]);
        let found = "the built-in name server takes records for _acme-challenge.example.com";
        assert_eq!(provider.check(name, "example.com").await, Ok(found.to_owned()));
    }
}
