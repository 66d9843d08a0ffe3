//! Every bound of the ACME client: timeouts, sizes and counts.

use std::time::Duration;

use jiff::SignedDuration;

/// The bounds of one [`Client`](super::Client). The defaults are for real CAs; tests shorten them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For connecting, TLS included.
    pub connect_timeout: Duration,
    /// For one whole request, from connecting to the last byte of the body.
    pub request_timeout: Duration,
    /// The longest JSON body, in bytes.
    pub json_bytes: usize,
    /// The longest certificate chain, in bytes.
    pub chain_bytes: usize,
    /// Requests at the same time.
    pub requests_at_once: usize,
    /// For one renewal information as a whole, the directory and all its requests included.
    pub renewal_info_timeout: Duration,
    /// For the directory before it: a CA that is down keeps a run that has nothing to do this long.
    pub renewal_info_directory_timeout: Duration,
    /// Renewal informations at the same time, besides the other requests.
    pub renewal_infos_at_once: usize,
    /// How many nonces may circulate before a request waits for the answer to another one, which
    /// brings the next nonce, instead of calling newNonce. It also limits the number of signed
    /// requests in flight.
    pub nonces: usize,
    /// Tries of one request whose nonce the CA rejects. If it rejects half of all nonces, one
    /// request in two million fails.
    pub bad_nonce_tries: u32,
    /// The delays before each retry of an idempotent request.
    pub retry_waits: Vec<Duration>,
    /// The longest Retry-After that is waited for before such a retry; the error of a longer one is
    /// returned at once.
    pub longest_wait: Duration,
    /// How long one request waits in all for a CA that limits the rate of requests.
    pub patience: Duration,
    /// How long a directory is cached.
    pub directory_age: Duration,
}

impl Limits {
    /// The defaults, but no request, and no row of retries, takes longer than the run may take for a
    /// certificate: a CA that accepts connections and never answers does not hold a short run.
    pub fn within(timeout: SignedDuration) -> Self {
        let most = timeout.unsigned_abs().max(SHORTEST);
        let all = Self::default();
        let mut waited = Duration::ZERO;
        let fits = |wait: &Duration| {
            waited = waited.saturating_add(*wait);
            waited <= most
        };
        Self {
            connect_timeout: all.connect_timeout.min(most),
            request_timeout: all.request_timeout.min(most),
            patience: most,
            retry_waits: all.retry_waits.iter().copied().take_while(fits).collect(),
            ..all
        }
    }
}

/// A CA needs this long under load; a shorter deadline would only refuse it.
const SHORTEST: Duration = Duration::from_secs(2);

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_mins(1),
            json_bytes: 1 << 20,
            chain_bytes: 256 << 10,
            requests_at_once: 8,
            renewal_info_timeout: Duration::from_secs(10),
            renewal_info_directory_timeout: Duration::from_secs(3),
            renewal_infos_at_once: 8,
            nonces: 2,
            bad_nonce_tries: 21,
            retry_waits: [1, 4, 16].map(Duration::from_secs).to_vec(),
            longest_wait: Duration::from_mins(1),
            patience: Duration::from_mins(10),
            directory_age: Duration::from_hours(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_gives_the_ca_no_longer_than_itself() {
        let within = |seconds| {
            let limits = Limits::within(SignedDuration::from_secs(seconds));
            let waits: Vec<u64> = limits.retry_waits.iter().map(Duration::as_secs).collect();
            (limits.connect_timeout.as_secs(), limits.request_timeout.as_secs(), waits)
        };
        assert_eq!(within(600), (30, 60, vec![1, 4, 16]));
        assert_eq!(within(20), (20, 20, vec![1, 4]));
        assert_eq!(within(3), (3, 3, vec![1]));
        assert_eq!(within(0), (2, 2, vec![1]));
    }
}
