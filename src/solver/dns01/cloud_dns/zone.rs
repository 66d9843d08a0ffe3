//! The managed zone that holds a name.

use serde::Deserialize;

use super::credentials::NAME;
use super::{CloudDns, document};
use crate::solver::dns01::ProviderError;
use crate::solver::dns01::sets::TxtSets as _;
use crate::solver::dns01::zones::{Account, Zones};

/// A page of zones.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    managed_zones: Vec<Zone>,
    #[serde(default)]
    next_page_token: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Zone {
    name: String,
    dns_name: String,
    #[serde(default)]
    visibility: String,
}

impl CloudDns {
    /// The name of the managed zone: the one of the settings, else the public one that holds the
    /// name.
    pub(super) async fn zone_of(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        if !self.zone.is_empty() {
            return Ok(self.zone.clone());
        }
        let owner = format!("project {}", self.project);
        let setting = "hostedZoneName";
        let account = Account { provider: NAME, service: self.service(), name: &owner, setting };
        account.public_zone(name, zone, async |candidate| self.zones_at(candidate).await).await
    }

    async fn zones_at(&self, candidate: &str) -> Result<Zones, ProviderError> {
        let fqdn = format!("{candidate}.");
        let query = [("dnsName", fqdn.as_str())];
        let zones = self.pages("/managedZones", &query, |reply| {
            let Page { managed_zones, next_page_token } = document(reply)?;
            Ok((managed_zones, next_page_token))
        });
        let zones = zones.await?.into_iter();
        let mut found = Zones::default();
        for zone in zones.filter(|zone| zone.dns_name.eq_ignore_ascii_case(&fqdn)) {
            let is_private = zone.visibility == "private";
            let side = if is_private { &mut found.private } else { &mut found.public };
            side.insert(zone.name);
        }
        Ok(found)
    }
}
