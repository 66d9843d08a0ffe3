//! True if the web servers that certificates reload present them.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::alike::{Alike, untried};
use super::usage::Use;
use crate::cli::{count, short};
use crate::pki::facts_of_der;
use crate::resource::{Check, Finding, Fix, NamespacedName, Obstacle};
use crate::workspace::Workspace;
use crate::workspace::inspect::Network;

/// Returns whether a reload of this name is the example of one that makes a web server read its
/// certificates.
pub(in crate::cli) fn is_web_server(reload: &str) -> bool {
    ["apache", "haproxy", "nginx"].contains(&reload)
}

/// Returns a single finding when all is well, else a finding for each certificate that is not
/// presented at its names, and for each reason.
pub(super) async fn served(workspace: &Workspace, uses: &[Use<'_>]) -> Vec<Finding> {
    let mut live = Vec::new();
    for one in uses.iter().filter(|one| is_of_web(one)).take(MOST_NAMES) {
        let key = one.certificate.metadata.key();
        if let Ok(Some(leaf)) = workspace.live_leaf(&key).await {
            let names = leaf.dns_names.into_iter().filter(|name| !name.starts_with("*."));
            live.extend(names.map(|name| (name, key.clone(), leaf.fingerprint.clone())));
        }
    }
    let others = live.len().saturating_sub(MOST_NAMES);
    live.truncate(MOST_NAMES);
    if live.is_empty() {
        return Vec::new();
    }
    let settings = workspace.settings();
    let resolver = settings.resolver(BTreeMap::new()).await;
    let network = Network::new(resolver, settings.http01_check_port);
    let checks = live.iter().map(async |(name, certificate, fingerprint)| {
        let shown = network.certificates(name, HTTPS).await.map_err(|error| error.to_string());
        let leaf = shown.and_then(|all| {
            let leaf = all.first().ok_or_else(|| "no certificate".to_owned())?;
            facts_of_der(leaf).map_err(|error| error.to_string())
        });
        (name.as_str(), certificate, leaf.map(|leaf| leaf.fingerprint == *fingerprint))
    });
    let wrong = unpresented(join_all(checks).await);
    if !wrong.is_empty() {
        return wrong;
    }
    let (names, others) = (count(live.len(), "name"), untried(others));
    vec![Finding::well(
        "HTTPS",
        format_args!(
            "{names}{others} at port {HTTPS}: the current certificate, seen from this host"
        ),
    )]
}

/// Returns whether a web server presents it.
fn is_of_web(one: &Use<'_>) -> bool {
    one.settings.reload.as_deref().is_some_and(is_web_server)
}

/// A warning for each certificate and each reason of those that are not presented at these names: whether
/// each is the one that is live, or why there is none.
fn unpresented(seen: Vec<(&str, &NamespacedName, Result<bool, String>)>) -> Vec<Finding> {
    let mut found = Alike::default();
    for (name, certificate, leaf) in seen {
        let (place, of) = (format!("{name}:{HTTPS}"), short(certificate));
        let fact = match leaf {
            Ok(true) => continue,
            Ok(false) => format!("not the certificate of {of}"),
            Err(why) => format!("no certificate of {of}: {why}"),
        };
        let obstacle = Obstacle::new(fact).with(Fix::Check(Check::Served(place.clone())));
        found.add(place, Finding::warning("HTTPS", obstacle));
    }
    found.findings(|fact, places| format!("{places}: {fact}"))
}

const HTTPS: u16 = 443;
/// More would take longer than a person waits.
const MOST_NAMES: usize = 20;

#[cfg(test)]
mod tests {
    use super::super::usage::tests::loaded;
    use super::*;
    use crate::cli::words::fix;
    use crate::resource::Severity;

    #[test]
    fn a_certificate_that_a_web_server_reloads_is_of_web() {
        let all = loaded(&[
            ("web", "certctl/reload: nginx"),
            ("mail", "certctl/reload: postfix"),
            ("db", "certctl/http01-webroot: /srv"),
            ("shop", "certctl/reload: apache"),
        ]);
        let uses = Use::of_manifests(&all);
        let of_web: Vec<bool> = uses.iter().map(is_of_web).collect();
        assert_eq!(of_web, [true, false, false, true]);
    }

    #[test]
    fn another_certificate_and_none_are_warnings_that_lead_to_inspect() {
        let [web, shop] = ["web", "shop"].map(|name| NamespacedName::new("default", name));
        let refused = Err("connection refused".to_owned());
        let found = unpresented(vec![
            ("here.example.com", &web, Ok(true)),
            ("www.example.com", &web, Ok(false)),
            ("shop.example.com", &shop, refused.clone()),
            ("a.example.com", &web, refused),
            ("b.example.com", &web, Ok(false)),
        ]);
        let shown = |one: &Finding| {
            assert_eq!(one.severity, Severity::Warning);
            format!("{}; {}", one.fact, fix::worded(one.fix.as_ref().unwrap()))
        };
        assert_eq!(
            found.iter().map(shown).collect::<Vec<_>>(),
            [
                "www.example.com:443, b.example.com:443: not the certificate of web; certctl \
                 inspect www.example.com:443",
                "shop.example.com:443: no certificate of shop: connection refused; certctl inspect \
                 shop.example.com:443",
                "a.example.com:443: no certificate of web: connection refused; certctl inspect \
                 a.example.com:443",
            ]
        );
    }
}
