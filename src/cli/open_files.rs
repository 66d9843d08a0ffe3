//! The limit of open files: 256 where macOS starts a program, 1024 on Linux.

use std::num::NonZeroUsize;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Kept for what a run has open once: standard streams, listeners, the lock of the state, hooks'
/// pipes.
const ONCE: u64 = 64;
/// A certificate's locks, its connection to the CA, its self-check and the connections that prove it.
const PER_CERTIFICATE: u64 = 6;

/// Raises the soft limit to the hard one. A refusal leaves it as it is.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).ok();
}

/// Number of certificates, at most `parallel` and at least one, that the limit has open files for.
pub(crate) fn at_once(parallel: NonZeroUsize) -> usize {
    fitting(parallel.get(), getrlimit(Resource::Nofile).current)
}

fn fitting(parallel: usize, limit: Option<u64>) -> usize {
    let Some(limit) = limit else { return parallel };
    let fits = limit.saturating_sub(ONCE) / PER_CERTIFICATE;
    parallel.min(usize::try_from(fits).unwrap_or(usize::MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_of_open_files_lowers_how_many_certificates_are_worked_on_at_once() {
        let limits = [None, Some(1 << 20), Some(1024), Some(256), Some(70), Some(3)];
        assert_eq!(limits.map(|limit| fitting(256, limit)), [256, 256, 160, 32, 1, 1]);
    }
}
