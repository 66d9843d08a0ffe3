//! Whether the web servers that certificates reload present them.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;

use super::usage::Use;
use crate::cli::render::report::short;
use crate::cli::words::count::count;
use crate::pki::facts_of_der;
use crate::resource::{Check, Finding, Fix, NamespacedName, Obstacle};
use crate::workspace::Workspace;
use crate::workspace::inspect::Network;

/// Whether a reload of this name is the example of one that makes a web server read its certificates.
pub(in crate::cli) fn is_web_server(reload: &str) -> bool {
    ["apache", "haproxy", "nginx"].contains(&reload)
}

/// One finding when all is well, else one for each certificate that is not presented at its names, and for
/// each reason.
pub(super) async fn served(workspace: &Workspace, uses: &[Use<'_>]) -> Vec<Finding> {
    let mut leaves = Vec::new();
    let mut of_web = uses.iter().filter(|one| is_of_web(one));
    // Each has a name, as a rule.
    for one in of_web.by_ref().take(MOST_NAMES) {
        let key = one.certificate.metadata.key();
        if let Ok(Some(leaf)) = workspace.live_leaf(&key).await {
            leaves.push((key, leaf.dns_names, leaf.fingerprint));
        }
    }
    let mut live = presented(leaves);
    let are_all = of_web.next().is_none() && live.len() <= MOST_NAMES;
    live.truncate(MOST_NAMES);
    if live.is_empty() {
        return Vec::new();
    }
    let settings = workspace.settings();
    // What keeps it from being made is a finding of its own.
    let resolver = settings.resolver(BTreeMap::new()).await;
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
        (name.as_str(), certificate, leaf.map(|leaf| leaf == *fingerprint))
    });
    let wrong = unpresented(join_all(checks).await);
    if !wrong.is_empty() {
        return wrong;
    }
    let left = if are_all { "" } else { " (others are not asked)" };
    let names = format!("{}{left}", count(live.len(), "name"));
    vec![Finding::well(
        "HTTPS",
        format_args!("{names} at port {HTTPS}: the current certificate, seen from this host"),
    )]
}

/// Whether a web server presents it.
fn is_of_web(one: &Use<'_>) -> bool {
    one.settings.reload.as_deref().is_some_and(is_web_server)
}

/// The names at which web servers present these certificates, with the fingerprint: first a name of each, then
/// the second ones. A new name of a manifest is in none before it is issued.
fn presented(
    leaves: Vec<(NamespacedName, Vec<String>, String)>,
) -> Vec<(String, NamespacedName, String)> {
    let names_of_one = |(key, names, fingerprint): (NamespacedName, Vec<String>, String)| {
        let names = names.into_iter().filter(|name| !name.starts_with("*."));
        let of = move |(at, name)| (at, name, key.clone(), fingerprint.clone());
        names.enumerate().map(of).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = leaves.into_iter().flat_map(names_of_one).collect();
    all.sort_by_key(|(at, ..)| *at);
    all.into_iter().map(|(_, name, key, fingerprint)| (name, key, fingerprint)).collect()
}

/// A warning for each certificate and each reason of those that are not presented at these names: whether
/// each is the one that is live, or why there is none.
fn unpresented(seen: Vec<(&str, &NamespacedName, Result<bool, String>)>) -> Vec<Finding> {
    let mut found: Vec<(&NamespacedName, Option<String>, Vec<&str>)> = Vec::new();
    for (name, certificate, leaf) in seen.into_iter().filter(|(.., leaf)| *leaf != Ok(true)) {
        let why = leaf.err();
        let mut known = found.iter_mut();
        match known.find(|(one, other, _)| *one == certificate && *other == why) {
            Some((.., names)) => names.push(name),
            None => found.push((certificate, why, vec![name])),
        }
    }
    let finding = |(certificate, why, names): (&NamespacedName, Option<String>, Vec<&str>)| {
        let certificate = short(certificate);
        let places: Vec<String> = names.iter().map(|name| format!("{name}:{HTTPS}")).collect();
        let inspect = Check::Served(places.first().cloned().unwrap_or_default());
        let (all, verb) = (places.join(", "), if places.len() == 1 { "does" } else { "do" });
        let fact = match why {
            None => format!("{all} {verb} not present the certificate of {certificate}"),
            Some(why) => format!("{all}, where {certificate} is to be presented: {why}"),
        };
        Finding::warning("HTTPS", Obstacle::new(fact).with(Fix::Check(inspect)))
    };
    found.into_iter().map(finding).collect()
}

const HTTPS: u16 = 443;
/// The time between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// More would take longer than a person waits.
const MOST_NAMES: usize = 20;

#[cfg(test)]
mod tests {
    use super::super::usage::tests::loaded;
    use super::*;
    use crate::cli::words::fix;
    use crate::resource::Severity;

    #[test]
    fn each_certificate_of_a_web_server_has_its_turn_before_the_second_name_of_one() {
        let all = loaded(&[
            ("web", "certctl/reload: nginx"),
            ("mail", "certctl/reload: postfix"),
            ("db", "certctl/http01-webroot: /srv"),
            ("shop", "certctl/reload: apache"),
        ]);
        let uses = Use::of_manifests(&all);
        let of_web: Vec<bool> = uses.iter().map(is_of_web).collect();
        assert_eq!(of_web, [true, false, false, true]);
        let live = |name: &str, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            (NamespacedName::new("default", name), names, name.to_owned())
        };
        let leaves = vec![
            live("web", &["web.example.com", "b.example.com"]),
            live("shop", &["*.example.com", "shop.example.com"]),
        ];
        let found: Vec<_> = presented(leaves).into_iter().map(|(name, _, of)| (name, of)).collect();
        let expected =
            [("web.example.com", "web"), ("shop.example.com", "shop"), ("b.example.com", "web")];
        assert_eq!(found, expected.map(|(name, of)| (name.to_owned(), of.to_owned())));
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
                "www.example.com:443, b.example.com:443 do not present the certificate of web; certctl \
                 inspect www.example.com:443",
                "shop.example.com:443, where shop is to be presented: connection refused; certctl \
                 inspect shop.example.com:443",
                "a.example.com:443, where web is to be presented: connection refused; certctl inspect \
                 a.example.com:443",
            ]
        );
    }
}
