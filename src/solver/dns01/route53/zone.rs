//! The hosted zone that holds a name.

use http::Method;

use super::{NAME, Route53};
use crate::solver::dns01::ProviderError;
use crate::solver::dns01::aws::{Element, Failure};
use crate::solver::dns01::percent::pairs;
use crate::solver::dns01::zones::{Account, Zones, all_pages};

impl Route53 {
    /// The ID of the hosted zone: the one of the settings, else the public one that holds the name.
    pub(super) async fn zone_of(&self, name: &str, zone: &str) -> Result<String, ProviderError> {
        if !self.zone_id.is_empty() {
            return Ok(self.zone_id.clone());
        }
        let (service, setting) = (self.service(), "hostedZoneID");
        let account = Account { provider: NAME, service, name: "the account", setting };
        account.public_zone(name, zone, async |candidate| self.zones_at(candidate).await).await
    }

    async fn zones_at(&self, candidate: &str) -> Result<Zones, ProviderError> {
        let fqdn = format!("{candidate}.");
        let page = async |from: String| self.zones_from(&fqdn, &from).await;
        let mut found = Zones::default();
        for (id, is_private) in all_pages(self.service(), String::new(), page).await? {
            let side = if is_private { &mut found.private } else { &mut found.public };
            side.insert(id);
        }
        Ok(found)
    }

    /// A page of the zones of a name, each with whether it is private, and the start of the next
    /// page. The list starts at the requested name, and zones of one name are adjacent.
    async fn zones_from(
        &self,
        fqdn: &str,
        from: &str,
    ) -> Result<(Vec<(String, bool)>, Option<String>), ProviderError> {
        // In the order that the signature needs.
        let mut query = vec![("dnsname", fqdn)];
        if !from.is_empty() {
            query.push(("hostedzoneid", from));
        }
        let path = format!("/hostedzonesbyname?{}", pairs(&query));
        let reply = self.ask(&Method::GET, &path, None).await?;
        if !reply.is_success() {
            return Err(Failure::read(&reply).error(&reply));
        }
        let root = Element::read(&reply.body).map_err(|why| reply.garbled(&why))?;
        let Some(zones) = root.child("HostedZones") else {
            return Err(reply.garbled(&"there are no HostedZones in it"));
        };
        let mut found = Vec::new();
        let is_it = |zone: &&Element| zone.text_at(&["Name"]).eq_ignore_ascii_case(fqdn);
        for zone in zones.children.iter().filter(is_it) {
            let id = zone.text_at(&["Id"]).trim_start_matches("/hostedzone/");
            if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric()) {
                return Err(reply.garbled(&"there is a hosted zone without an ID in it"));
            }
            found.push((id.to_owned(), zone.text_at(&["Config", "PrivateZone"]) == "true"));
        }
        let goes_on = root.text_at(&["IsTruncated"]) == "true"
            && root.text_at(&["NextDNSName"]).eq_ignore_ascii_case(fqdn);
        let next = root.text_at(&["NextHostedZoneId"]).to_owned();
        Ok((found, Some(next).filter(|next| goes_on && !next.is_empty())))
    }
}
