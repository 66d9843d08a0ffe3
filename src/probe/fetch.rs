//! A fetch that follows redirects as a CA does: at most 10, to http and https and the ports of
//! those only, each target resolved by the one resolver.
//!
//! A redirect is foreign text, and this host may reach what its author cannot: from a public
//! address none leads to a private one, to this machine or to its link, and none ever leads to a
//! cloud's metadata service.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::Url;

use super::Resolver;
use super::exchange::{Answer, NoAnswer, ask};
use crate::resource::Reach;

/// The path of a fetch; kept also when the fetch is cut off.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// The targets of the redirects, in their order.
    pub(super) redirects: Vec<String>,
    /// Findings that do not block.
    pub(super) warnings: Vec<String>,
}

/// Fetches `url`, first from `address`. Redirects are followed to `ports` only.
pub(super) async fn fetch(
    resolver: &Resolver,
    url: Url,
    address: IpAddr,
    ports: &[u16],
    trail: &mut Trail,
) -> Result<Answer, NoAnswer> {
    let mut url = url;
    let mut answer = ask(&url, address).await?;
    while let Some(location) = redirect(&answer)? {
        if trail.redirects.len() >= MAX_REDIRECTS {
            let why = format!("more than {MAX_REDIRECTS} redirects");
            return Err(NoAnswer::Garbled(why));
        }
        let shown = shorten(location);
        let garbled = |why: String| NoAnswer::Garbled(format!("redirect to {shown:?}: {why}"));
        url = url.join(location).map_err(|error| garbled(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(garbled("neither http nor https".to_owned()));
        }
        trail.redirects.push(shorten(url.as_str()));
        if let Some(port) = url.port_or_known_default().filter(|port| !ports.contains(port)) {
            return Err(garbled(format!("CAs do not follow to port {port}")));
        }
        let host = url.host_str().unwrap_or_default();
        if host.ends_with(WITHOUT_SLASH) {
            return Err(garbled("its target needs a `/` after the host".to_owned()));
        }
        if bare(host).parse::<IpAddr>().is_ok() {
            trail.warnings.push(format!(
                "public CAs do not follow redirects to an address such as \
                {host}"
            ));
        }
        let addresses = addresses(resolver, &url).await.map_err(garbled)?;
        let addresses = followed(answer.remote.ip(), addresses).map_err(garbled)?;
        answer = ask_first(&url, &addresses).await.map_err(garbled)?;
    }
    Ok(answer)
}

/// Those of the addresses to which a redirect from this one is followed.
fn followed(from: IpAddr, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, String> {
    Reach::of(from).leads_to(addresses).map_err(|to| {
        let (to_is, from_is) = (Reach::of(to).description(), Reach::of(from).description());
        format!("{to} is {to_is}; not followed from {from}, {from_is}")
    })
}

/// The target, when the answer is a redirect that has one. Boulder follows these, and no 303.
fn redirect(answer: &Answer) -> Result<Option<&str>, NoAnswer> {
    match (answer.status, answer.location.as_deref()) {
        (301 | 302 | 307 | 308, target) => Ok(target),
        (303, Some(_)) => {
            Err(NoAnswer::Garbled("CAs follow no redirect with status 303".to_owned()))
        }
        _ => Ok(None),
    }
}

async fn addresses(resolver: &Resolver, url: &Url) -> Result<Vec<IpAddr>, String> {
    let host = url.host_str().ok_or_else(|| "no host".to_owned())?;
    if let Ok(address) = bare(host).parse() {
        return Ok(vec![address]);
    }
    let found = resolver.addresses(bare(host)).await.map_err(|error| error.to_string())?;
    Ok(found.iter().collect())
}

/// The host without the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The first answer from any of the addresses.
async fn ask_first(url: &Url, addresses: &[IpAddr]) -> Result<Answer, String> {
    let mut why = "no address".to_owned();
    for address in addresses {
        why = match tokio::time::timeout(PATIENCE, ask(url, *address)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(NoAnswer::Unreachable(why) | NoAnswer::Garbled(why))) => {
                format!("{address}: {why}")
            }
            Err(_) => format!("{address}: no answer in {} s", PATIENCE.as_secs()),
        };
    }
    Err(why)
}

fn shorten(url: &str) -> String {
    url.chars().take(MAX_SHOWN_CHARS).collect()
}

/// The end of a host that ran into the path of the challenge: `Redirect / https://www.example.com`.
const WITHOUT_SLASH: &str = ".well-known";
const MAX_REDIRECTS: usize = 10;
const MAX_SHOWN_CHARS: usize = 300;
/// For one address of a redirect's target; the whole fetch is limited by its caller.
const PATIENCE: Duration = Duration::from_secs(4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_a_public_address_no_redirect_leads_inside() {
        let all = ["192.0.2.1", "10.0.0.1", "127.0.0.1", "169.254.169.254"];
        let all = all.map(|text| text.parse::<IpAddr>().unwrap());
        for (from, wanted) in [
            ("192.0.2.9", vec![all[0]]),
            ("10.0.0.9", vec![all[0], all[1], all[2]]),
            ("127.0.0.1", vec![all[0], all[1], all[2]]),
            ("169.254.0.1", all.to_vec()),
        ] {
            assert_eq!(followed(from.parse().unwrap(), all.to_vec()), Ok(wanted), "{from}");
        }
        let refused = |from: &str, to: &str| {
            followed(from.parse().unwrap(), vec![to.parse().unwrap()]).unwrap_err()
        };
        assert_eq!(
            [refused("192.0.2.9", "::ffff:10.0.0.1"), refused("10.0.0.9", "169.254.169.254")],
            [
                "::ffff:10.0.0.1 is a private address; not followed from 192.0.2.9, a public address",
                "169.254.169.254 is a link-local or metadata address; not followed from 10.0.0.9, a \
                 private address",
            ]
        );
    }
}
