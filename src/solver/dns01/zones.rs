//! The zones of an account that can hold a name, and lists of more than one page.

use std::collections::BTreeSet;

use super::ProviderError;
use super::error::shown;

/// The zones of an account that may hold a name, likeliest first: the one found in the DNS, when it
/// was looked up, then the name and its parents down to two labels.
pub(super) fn candidates<'a>(name: &'a str, zone: &'a str) -> Vec<&'a str> {
    let mut found = Vec::new();
    if !zone.is_empty() {
        found.push(zone);
    }
    let mut rest = name;
    while rest.contains('.') {
        if rest != zone {
            found.push(rest);
        }
        rest = rest.split_once('.').map_or("", |(_, above)| above);
    }
    found
}

/// The account that is searched.
pub(super) struct Account<'a> {
    /// As in a manifest.
    pub(super) provider: &'static str,
    /// Host, or host and port.
    pub(super) service: String,
    /// In messages: `the account`.
    pub(super) name: &'a str,
    /// The setting that selects the zone.
    pub(super) setting: &'static str,
}

/// The zones of one name, by the service's ids.
#[derive(Default)]
pub(super) struct Zones {
    pub(super) public: BTreeSet<String>,
    pub(super) private: BTreeSet<String>,
}

impl Account<'_> {
    /// The only public zone of the first candidate that has one. `zones_at` lists those of a name.
    pub(super) async fn public_zone(
        self,
        name: &str,
        zone: &str,
        zones_at: impl AsyncFn(&str) -> Result<Zones, ProviderError>,
    ) -> Result<String, ProviderError> {
        let Self { provider, service, name: account, setting } = self;
        let list = |zones: BTreeSet<String>| zones.into_iter().collect::<Vec<_>>().join(", ");
        let mut private = BTreeSet::new();
        for candidate in candidates(name, zone) {
            let mut found = zones_at(candidate).await?;
            private.append(&mut found.private);
            if found.public.len() > 1 {
                let reason = shown(&format!(
                    "{account} has several public zones for {candidate} ({}): choose one in \
                     {setting}",
                    list(found.public)
                ));
                return Err(ProviderError::Settings { provider, reason });
            }
            if let Some(zone) = found.public.pop_first() {
                return Ok(zone);
            }
        }
        let mut reason = format!("{account} has no public zone for it");
        if !private.is_empty() {
            reason = format!("{reason}, only private ones ({})", list(private));
        }
        Err(ProviderError::NoZone { service, name: name.to_owned(), reason: shown(&reason) })
    }
}

/// All pages of a list. `page` reads one and returns the key of the next, if there is one.
pub(super) async fn all_pages<T, P>(
    service: String,
    first: P,
    mut page: impl AsyncFnMut(P) -> Result<(Vec<T>, Option<P>), ProviderError>,
) -> Result<Vec<T>, ProviderError> {
    let (mut all, mut next) = (Vec::new(), first);
    for _ in 0..MOST_PAGES {
        let (found, following) = page(next).await?;
        all.extend(found);
        match following {
            Some(following) => next = following,
            None => return Ok(all),
        }
    }
    let reason = format!("a list continues after {MOST_PAGES} pages");
    Err(ProviderError::Garbled { service, reason })
}

const MOST_PAGES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_tried_from_the_likeliest_up() {
        let cases: [(&str, &str, &[&str]); 4] = [
            ("_a.b.example.com", "", &["_a.b.example.com", "b.example.com", "example.com"]),
            (
                "_a.b.example.com",
                "example.com",
                &["example.com", "_a.b.example.com", "b.example.com"],
            ),
            ("_a.com", "com", &["com", "_a.com"]),
            ("com", "", &[]),
        ];
        for (name, zone, expected) in cases {
            assert_eq!(candidates(name, zone), expected, "{name} {zone}");
        }
    }
}
