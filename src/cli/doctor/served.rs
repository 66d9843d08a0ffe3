//! Whether the web servers that certificates reload present them.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;

use super::finding::Finding;
use super::usage::Use;
use crate::cli::count::count;
use crate::cli::report::short;
use crate::engine::inputs::names_of;
use crate::pki::facts_of_der;
use crate::resource::{Identifier, NamespacedName, Obstacle};
use crate::workspace::Workspace;
use crate::workspace::inspect::Network;

/// Whether a reload of this name is the example of one that makes a web server read its certificates.
pub(in crate::cli) fn is_web_server(reload: &str) -> bool {
    ["apache", "haproxy", "nginx"].contains(&reload)
}

/// One finding when all is well, else one for each name at which another certificate is presented, or
/// none.
pub(super) async fn served(workspace: &Workspace, uses: &[Use<'_>]) -> Vec<Finding> {
    let (all, mut live) = (presented(uses), Vec::new());
    let left = all.len().saturating_sub(MOST_NAMES);
    for (name, certificate) in all.into_iter().take(MOST_NAMES) {
        if let Ok(Some(leaf)) = workspace.live_leaf(&certificate).await {
            live.push((name, certificate, leaf.fingerprint));
        }
    }
    if live.is_empty() {
        return Vec::new();
    }
    let settings = workspace.settings();
    // What keeps it from being made is a finding of its own.
    let Ok(resolver) = settings.resolver(BTreeMap::new()).await else { return Vec::new() };
    let network = Network::new(resolver, settings.http01_check_port);
    let leaf_of = async |name: &str| {
        let shown = network.certificates(name, HTTPS).await.map_err(|error| error.to_string());
        let leaf = shown.and_then(|all| {
            let leaf = all.first().ok_or_else(|| "no certificate".to_owned())?;
            facts_of_der(leaf).map_err(|error| error.to_string())
        });
        leaf.map(|leaf| leaf.fingerprint)
    };
    let checks = live.iter().map(async |(name, certificate, fingerprint)| {
        let mut leaf = leaf_of(name).await;
        if leaf.as_ref() != Ok(fingerprint) {
            // A server that has just been told to reload is not ready yet.
            tokio::time::sleep(PAUSE).await;
            leaf = leaf_of(name).await;
        }
        refusal(name, certificate, fingerprint, leaf.as_deref())
    });
    let wrong: Vec<Finding> = join_all(checks).await.into_iter().flatten().collect();
    if !wrong.is_empty() {
        return wrong;
    }
    let of_all = if left > 0 { format!(" (of {})", MOST_NAMES + left) } else { String::new() };
    let names = format!("{}{of_all}", count(live.len(), "name"));
    vec![Finding::well(
        "HTTPS",
        format_args!("{names} at port {HTTPS}: the certificate that is live"),
    )]
}

/// The names at which a web server presents a certificate: first one of each, then the second ones.
fn presented(uses: &[Use<'_>]) -> Vec<(String, NamespacedName)> {
    let is_of_web = |one: &&Use<'_>| one.settings.reload.as_deref().is_some_and(is_web_server);
    let names_of_one = |one: &Use<'_>| {
        let names = names_of(one.certificate).into_iter().filter_map(|name| match name {
            Identifier::Dns(name) if !name.is_wildcard() => Some(name.to_string()),
            Identifier::Dns(_) | Identifier::Ip(_) => None,
        });
        let key = one.certificate.metadata.key();
        names.enumerate().map(|(at, name)| (at, name, key.clone())).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = uses.iter().filter(is_of_web).flat_map(names_of_one).collect();
    all.sort_by_key(|(at, ..)| *at);
    all.into_iter().map(|(_, name, certificate)| (name, certificate)).collect()
}

/// What is said of a name at which this leaf, by its fingerprint, is not presented.
fn refusal(
    name: &str,
    certificate: &NamespacedName,
    live: &str,
    presented: Result<&str, &String>,
) -> Option<Finding> {
    let certificate = short(certificate);
    let fact = match presented {
        Ok(presented) if presented == live => return None,
        Ok(_) => format!("{name}:{HTTPS} does not present the certificate of {certificate}"),
        Err(why) => format!("{name}:{HTTPS}, where {certificate} is to be presented: {why}"),
    };
    let inspect = format!("certctl inspect {name}:{HTTPS}");
    Some(Finding::warning("HTTPS", Obstacle::new(fact).certctl(inspect)))
}

const HTTPS: u16 = 443;
/// The time between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// More would take longer than a person waits.
const MOST_NAMES: usize = 20;

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::super::usage::tests::loaded;
    use super::*;

    #[test]
    fn each_certificate_of_a_web_server_has_its_turn_before_the_second_name_of_one() {
        let all = loaded(&[
            ("web.example.com','b.web", "certctl.io/reload: nginx"),
            ("mail", "certctl.io/reload: postfix"),
            ("db", "certctl.io/http01-webroot: /srv"),
            ("*.wild.example.com','shop", "certctl.io/reload: apache"),
        ]);
        let uses = Use::of_manifests(&all);
        let names: Vec<String> = presented(&uses).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["web.example.com", "shop.example.com", "b.web.example.com"]);
    }

    #[test]
    fn another_certificate_and_none_are_warnings_that_lead_to_inspect() {
        let web = NamespacedName::new("default", "web");
        let of = |presented| refusal("www.example.com", &web, "live", presented);
        assert_eq!(of(Ok("live")), None);
        let refused = "connection refused".to_owned();
        for (presented, fact) in [
            (Ok("old"), "www.example.com:443 does not present the certificate of web"),
            (
                Err(&refused),
                "www.example.com:443, where web is to be presented: connection refused",
            ),
        ] {
            let found = of(presented).unwrap();
            assert_eq!((found.verdict, found.fact.as_str()), (Verdict::Warning, fact));
            let line = found.remedy.unwrap().to_string();
            assert_eq!(line, "certctl inspect www.example.com:443");
        }
    }
}
