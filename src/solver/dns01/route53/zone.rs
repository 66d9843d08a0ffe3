//! The hosted zone that holds a name.

use std::collections::BTreeSet;

use http::Method;

use super::{NAME, Route53};
use crate::solver::dns01::ProviderError;
use crate::solver::dns01::aws::Element;
use crate::solver::dns01::error::shown;
use crate::solver::dns01::percent::pairs;
use crate::solver::dns01::suffixes::suffixes;

/// The zones of one name.
#[derive(Default)]
struct Zones {
    public: BTreeSet<String>,
    private: BTreeSet<String>,
}

impl Route53 {
    /// The ID of the hosted zone: the one of the settings, else the public one whose name is the
    /// longest that holds the name.
    pub(super) async fn zone_of(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        if !self.zone_id.is_empty() {
            return Ok(self.zone_id.clone());
        }
        let mut private = BTreeSet::new();
        for suffix in suffixes(name, zone) {
            let mut found = self.zones_at(suffix).await?;
            private.append(&mut found.private);
            match (found.public.len(), found.public.pop_first()) {
                (1, Some(zone)) => return Ok(zone),
                (_, Some(first)) => {
                    let others = found.public.into_iter().collect::<Vec<_>>().join(", ");
                    let reason = shown(&format!(
                        "the account has several public zones {suffix} ({first}, {others}): say \
                         in hostedZoneID which one is served"
                    ));
                    return Err(ProviderError::Settings { provider: NAME, reason });
                }
                (_, None) => {}
            }
        }
        let mut reason = "the account has no public zone for it".to_owned();
        if !private.is_empty() {
            let ids = private.into_iter().collect::<Vec<_>>().join(", ");
            reason = shown(&format!("{reason}, only private ones ({ids})"));
        }
        Err(ProviderError::NoZone { service: self.service(), name: name.to_owned(), reason })
    }

    /// The list begins at the name that is asked for, and those of one name stand together.
    async fn zones_at(&self, suffix: &str) -> Result<Zones, ProviderError> {
        let fqdn = format!("{suffix}.");
        let (mut found, mut from) = (Zones::default(), String::new());
        for _ in 0..MOST_PAGES {
            // In the order that a signature asks for.
            let mut query = vec![("dnsname", fqdn.as_str())];
            if !from.is_empty() {
                query.push(("hostedzoneid", from.as_str()));
            }
            let path = format!("/hostedzonesbyname?{}", pairs(&query));
            let reply = self.ask(&Method::GET, &path, None).await?;
            if !reply.is_success() {
                return Err(self.failure(&reply).await?.error(&reply));
            }
            let root = Element::read(&reply.body).map_err(|why| reply.garbled(&why))?;
            let Some(zones) = root.child("HostedZones") else {
                return Err(reply.garbled(&"there are no HostedZones in it"));
            };
            let is_it = |zone: &&Element| zone.text_at(&["Name"]).eq_ignore_ascii_case(&fqdn);
            for zone in zones.children.iter().filter(is_it) {
                let id = zone.text_at(&["Id"]).trim_start_matches("/hostedzone/");
                if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric()) {
                    return Err(reply.garbled(&"there is a hosted zone without an ID in it"));
                }
                let is_private = zone.text_at(&["Config", "PrivateZone"]) == "true";
                let kind = if is_private { &mut found.private } else { &mut found.public };
                kind.insert(id.to_owned());
            }
            let goes_on = root.text_at(&["IsTruncated"]) == "true"
                && root.text_at(&["NextDNSName"]).eq_ignore_ascii_case(&fqdn);
            let next = root.text_at(&["NextHostedZoneId"]).to_owned();
            if !goes_on || next.is_empty() {
                return Ok(found);
            }
            from = next;
        }
        let reason = "its list of hosted zones does not end".to_owned();
        Err(ProviderError::Garbled { service: self.service(), reason })
    }
}

const MOST_PAGES: usize = 100;
