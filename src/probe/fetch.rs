//! A fetch that follows redirects as a CA does: at most 10, to http and https only, each target
//! resolved by the one resolver.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::Url;

use super::Resolver;
use super::exchange::{Answer, NoAnswer, ask};

/// The path of a fetch; kept also when the fetch is cut off.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// The targets of the redirects, in their order.
    pub(super) redirects: Vec<String>,
    /// Findings that do not block.
    pub(super) warnings: Vec<String>,
}

/// Fetches `url`, first from `address`. `ports` are those to which CAs follow redirects.
pub(super) async fn fetch(
    resolver: &Resolver,
    url: Url,
    address: IpAddr,
    ports: &[u16],
    trail: &mut Trail,
) -> Result<Answer, NoAnswer> {
    let mut url = url;
    let mut answer = ask(&url, address).await?;
    while let Some(location) = redirect(&answer) {
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
            let target = shorten(url.as_str());
            trail.warnings.push(format!("redirect to {target}: CAs do not follow to port {port}"));
        }
        let addresses = addresses(resolver, &url).await.map_err(garbled)?;
        answer = ask_first(&url, &addresses).await.map_err(garbled)?;
    }
    Ok(answer)
}

/// The target, when the answer is a redirect that has one.
fn redirect(answer: &Answer) -> Option<&str> {
    match answer.status {
        301 | 302 | 303 | 307 | 308 => answer.location.as_deref(),
        _ => None,
    }
}

async fn addresses(resolver: &Resolver, url: &Url) -> Result<Vec<IpAddr>, String> {
    let host = url.host_str().ok_or_else(|| "no host".to_owned())?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return Ok(vec![address]);
    }
    let found = resolver.addresses(bare).await.map_err(|error| error.to_string())?;
    Ok(found.iter().collect())
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

const MAX_REDIRECTS: usize = 10;
const MAX_SHOWN_CHARS: usize = 300;
/// For one address of a redirect's target; the whole fetch is limited by its caller.
const PATIENCE: Duration = Duration::from_secs(4);
