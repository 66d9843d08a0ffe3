//! The directory of a CA, kept from run to run.
//!
//! Contract: a kept directory saves the next run a request, and decides nothing: the client fetches
//! it again after an hour, and when one of its URLs fails. One that was fetched with other trust in
//! the CA's TLS certificate is another file.

use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};

use super::world::{ClientKey, World};
use crate::acme::Client;
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Cache, Clock, Store};

impl<C: Clock, S: Store> World<'_, C, S> {
    /// Gives a new client the directory that an earlier run fetched.
    pub(super) fn reuse_directory(&self, key: &ClientKey, client: &Client) {
        let cached = self.store.cache().cached_directory(&digest(key));
        if let Some((body, age)) = cached.and_then(|text| read(&text, self.clock.now())) {
            client.reuse_directory(body, age);
        }
    }

    /// Keeps the directories that were fetched in this run.
    pub fn cache_directories(&self) {
        for (key, client) in self.clients.borrow().iter() {
            let Some((body, age)) = client.fetched_directory() else { continue };
            let age = SignedDuration::try_from(age).unwrap_or_default();
            let Ok(fetched) = self.clock.now().checked_sub(age) else { continue };
            let text = [fetched.to_string().as_bytes(), b"\n", &body].concat();
            if let Err(error) = self.store.cache().cache_directory(&digest(key), &text) {
                tracing::debug!(%error, "cannot cache the CA's directory");
            }
        }
    }
}

/// The directory's body and its age, from the time in the first line; `None` for one of the future.
fn read(text: &[u8], now: Timestamp) -> Option<(Bytes, Duration)> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let (time, body) = text.split_at_checked(end)?;
    let fetched: Timestamp = std::str::from_utf8(time).ok()?.parse().ok()?;
    let age = Duration::try_from(fetched.duration_until(now)).ok()?;
    Some((Bytes::copy_from_slice(body), age))
}

fn digest((server, bundle, skip_tls_verify): &ClientKey) -> String {
    let bundle = bundle.as_deref().unwrap_or_default();
    digest_of(format!("{server}\n{skip_tls_verify}\n{bundle}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_directory_has_an_age_unless_it_is_of_the_future_or_damaged() {
        let now: Timestamp = "2026-11-21T03:12:09Z".parse().unwrap();
        let cached = |text: &str| read(text.as_bytes(), now);
        let found = cached("2026-11-21T03:02:09Z\n{}\n");
        assert_eq!(found, Some((Bytes::from("\n{}\n"), Duration::from_mins(10))));
        for text in
            ["2026-11-21T03:12:10Z\n{}", "", "\n{}", "yesterday\n{}", "2026-11-21T03:02:09Z"]
        {
            assert_eq!(cached(text), None, "{text}");
        }
    }

    #[test]
    fn another_trust_is_another_directory() {
        let key = |bundle: Option<&str>, skip| {
            digest(&("https://ca.test/dir".to_owned(), bundle.map(str::to_owned), skip))
        };
        let all = [key(None, false), key(None, true), key(Some("x"), false)];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "{all:?}");
    }
}
