//! The managed zone that holds a name.

use std::collections::BTreeSet;

use http::Method;
use serde::Deserialize;

use super::{CloudDns, MOST_PAGES, NAME};
use crate::solver::dns01::ProviderError;
use crate::solver::dns01::error::shown;
use crate::solver::dns01::percent::pairs;
use crate::solver::dns01::suffixes::suffixes;

/// A page of zones.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Zones {
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
    /// The name of the managed zone: the one of the settings, else the public one whose DNS name
    /// is the longest that holds the name.
    pub(super) async fn zone_of(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        if !self.zone.is_empty() {
            return Ok(self.zone.clone());
        }
        let mut private = BTreeSet::new();
        for suffix in suffixes(name, zone) {
            let mut found = BTreeSet::new();
            for zone in self.zones_at(suffix).await? {
                if zone.visibility == "private" {
                    private.insert(zone.name);
                } else {
                    found.insert(zone.name);
                }
            }
            match (found.len(), found.pop_first()) {
                (1, Some(zone)) => return Ok(zone),
                (_, Some(first)) => {
                    let others = found.into_iter().collect::<Vec<_>>().join(", ");
                    let reason = format!(
                        "project {} has several public zones for {suffix} ({first}, {others}): \
                         say in hostedZoneName which one is served",
                        self.project
                    );
                    return Err(ProviderError::Settings { provider: NAME, reason: shown(&reason) });
                }
                (_, None) => {}
            }
        }
        let mut reason = format!("project {} has no public zone for it", self.project);
        if !private.is_empty() {
            let names = private.into_iter().collect::<Vec<_>>().join(", ");
            reason = format!("{reason}, only private ones ({names})");
        }
        Err(ProviderError::NoZone {
            service: self.service(),
            name: name.to_owned(),
            reason: shown(&reason),
        })
    }

    async fn zones_at(&self, suffix: &str) -> Result<Vec<Zone>, ProviderError> {
        let (fqdn, mut page, mut found) = (format!("{suffix}."), String::new(), Vec::new());
        for _ in 0..MOST_PAGES {
            let mut query = pairs(&[("dnsName", &fqdn)]);
            if !page.is_empty() {
                query = format!("{query}&{}", pairs(&[("pageToken", &page)]));
            }
            let url = self.url(&format!("/managedZones?{query}"));
            let reply = self.send(&Method::GET, &url, None).await?;
            if !reply.is_success() {
                return Err(self.refused(&reply));
            }
            let zones: Zones = reply.json()?;
            let is_it = |zone: &Zone| zone.dns_name.eq_ignore_ascii_case(&fqdn);
            found.extend(zones.managed_zones.into_iter().filter(is_it));
            page = zones.next_page_token;
            if page.is_empty() {
                return Ok(found);
            }
        }
        Err(self.odd("its list of zones does not end"))
    }
}
