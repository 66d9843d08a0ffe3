//! Nonces, of limited number (RFC 8555 section 6.5).

use std::collections::{HashSet, VecDeque};

use super::random;

#[derive(Clone, Debug, Default)]
pub(super) struct Nonces {
    known: HashSet<String>,
    oldest: VecDeque<String>,
}

impl Nonces {
    /// A fresh nonce; the oldest is dropped when there are too many.
    pub(super) fn issue(&mut self) -> String {
        let nonce = random::token(16);
        if self.oldest.len() >= MAX_NONCES
            && let Some(forgotten) = self.oldest.pop_front()
        {
            self.known.remove(&forgotten);
        }
        self.known.insert(nonce.clone());
        self.oldest.push_back(nonce.clone());
        nonce
    }

    /// Consumes the nonce; returns whether it was known and unused.
    pub(super) fn take(&mut self, nonce: &str) -> bool {
        self.known.remove(nonce)
    }
}

const MAX_NONCES: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_good_once_and_the_oldest_are_forgotten() {
        let mut nonces = Nonces::default();
        let first = nonces.issue();
        assert!(nonces.take(&first));
        assert!(!nonces.take(&first));
        assert!(!nonces.take("never-issued"));

        let old = nonces.issue();
        for _ in 0..MAX_NONCES {
            nonces.issue();
        }
        assert!(!nonces.take(&old));
        assert!(nonces.known.len() <= MAX_NONCES && nonces.oldest.len() <= MAX_NONCES);
    }
}
