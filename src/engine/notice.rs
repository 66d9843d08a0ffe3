//! What an unattended run reports: what is new, and otherwise at most one message a day.
//!
//! A failure is new when it was not reported since the last success. A wait after a failure is
//! never new: the failure's message announced it; it is reported after a day without a message.
//!
//! The certificate's record keeps what was reported, as digests without the times, which differ
//! from run to run. A success clears them: the next failure is new. What was reported before the
//! renewal became overdue, or more overdue, or before the certificate expired, suppresses nothing.

use jiff::{SignedDuration, Timestamp};

use super::ending::Ending;
use super::inputs::digest_of;
use crate::controller::{Deferral, alert, backoff};
use crate::resource::{CertificateRecord, Failure, Notice};

/// How long the same message is suppressed.
const SILENCE: SignedDuration = SignedDuration::from_hours(24);
/// How many reported messages are remembered: the newest.
const MOST: usize = 8;

/// Whether to report this now. Only failures and deferrals are ever suppressed.
pub(super) fn is_new(record: &CertificateRecord, ending: &Ending, now: Timestamp) -> bool {
    if is_of_outage(record, ending, now) {
        return false;
    }
    let waits = matches!(ending, Ending::Deferred { .. });
    digest(ending).is_none_or(|digest| is_reportable(record, &digest, waits, now))
}

/// Whether to report this now; if so, the record notes it.
pub(super) fn note(record: &mut CertificateRecord, ending: &Ending, now: Timestamp) -> bool {
    let is_new = is_new(record, ending, now);
    if let Some(digest) = digest(ending).filter(|_| is_new) {
        remember(record, digest, now);
    }
    is_new
}

/// The same for a certificate that is issued but not deployed.
pub(super) fn note_failure(
    record: &mut CertificateRecord,
    failure: &Failure,
    now: Timestamp,
) -> bool {
    let digest = of_failure(failure);
    let is_new = is_reportable(record, &digest, false, now);
    if is_new {
        remember(record, digest, now);
    }
    is_new
}

/// Whether it waits for a CA that cannot be reached for a while.
pub(super) fn is_of_outage(record: &CertificateRecord, ending: &Ending, now: Timestamp) -> bool {
    let Ending::Deferred { why, urgent: None, .. } = ending else { return false };
    match why {
        Deferral::Outage(_) => true,
        Deferral::RetryAfter => {
            let last = record.last_failure.as_ref();
            last.is_some_and(|failure| backoff::is_passing(record, failure, now))
        }
        Deferral::Backoff { .. } | Deferral::Limit(_) => false,
    }
}

fn is_reportable(record: &CertificateRecord, digest: &str, waits: bool, now: Timestamp) -> bool {
    let is_known = record.notices.iter().any(|notice| notice.digest == digest);
    let (due, end) = (record.status.renewal_time, record.status.not_after);
    let is_heard =
        |notice: &Notice| is_recent(notice.at, now) && !alert::is_worse(due, end, notice.at, now);
    let was_silent = !record.notices.iter().any(is_heard);
    was_silent || !(is_known || waits)
}

fn remember(record: &mut CertificateRecord, digest: String, now: Timestamp) {
    record.notices.retain(|notice| notice.digest != digest);
    let surplus = (record.notices.len() + 1).saturating_sub(MOST);
    record.notices.drain(..surplus);
    record.notices.push(Notice { digest, at: now });
}

/// A failure serializes without fail: it is stored that way.
fn of_failure(failure: &Failure) -> String {
    digest_of(&serde_json::to_vec(&failure.likeness()).unwrap_or_default())
}

/// Whether what was said then is not said again. A time in the future comes from a wrong clock; it must not suppress a message for longer.
pub fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    at.duration_until(now).abs() < SILENCE
}

/// The digest ignores what a reader would not count as a difference: times and URLs.
fn digest(ending: &Ending) -> Option<String> {
    let text = match ending {
        Ending::Deferred { why, urgent, .. } => {
            let why = match why {
                Deferral::Backoff { .. } => "backoff",
                Deferral::RetryAfter => "Retry-After",
                Deferral::Limit(_) => "limit",
                Deferral::Outage(_) => "outage",
            };
            format!("deferred {urgent:?}: {why}")
        }
        Ending::Pending { why, overdue, .. } => format!("pending {overdue}: {why}"),
        Ending::Failed { failure, .. } => return Some(of_failure(failure)),
        Ending::Unchanged { .. }
        | Ending::Issued(_)
        | Ending::Locked { .. }
        | Ending::Interrupted { .. } => return None,
    };
    Some(digest_of(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{Cause, CertificateStatus, Doing, FailureClass};

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    fn failed(message: &str, attempts: u32) -> Ending {
        let cause = Cause::local(message.to_owned());
        let at = Some(at(i64::from(attempts)));
        let failure = Failure { at, ..Failure::new(FailureClass::Ca, Doing::Finalize, cause) };
        Ending::Failed { failure, attempts: Some(attempts), next_attempt: at }
    }

    fn deferred(until: i64, urgent: Option<FailureClass>) -> Ending {
        let why = Deferral::Backoff { attempts: 1 };
        Ending::Deferred { until: Some(at(until)), why, urgent }
    }

    fn record() -> CertificateRecord {
        CertificateRecord {
            creation_timestamp: at(0),
            generation: 1,
            spec_digest: String::new(),
            secret_name: String::new(),
            manifest: None,
            references: Vec::new(),
            directory_urls: std::collections::BTreeMap::new(),
            issued_fingerprint: None,
            retry_after: None,
            last_failure: None,
            attempted_inputs: Vec::new(),
            notices: Vec::new(),
            revocations: Vec::new(),
            rollback: None,
            deployments: Vec::new(),
            alerted: 0,
            status: CertificateStatus::default(),
        }
    }

    #[test]
    fn what_is_known_is_told_once_a_day_whatever_its_times_and_count() {
        let urgent = Some(FailureClass::Ca);
        let story = [
            (0, failed("no", 1), true),
            (1, deferred(2, None), false),
            (2, failed("no", 2), false),
            (4, failed("no way", 3), true),
            (5, deferred(9, urgent), false),
            (24, failed("no", 4), false),
            (27, deferred(28, urgent), false),
            (28, deferred(29, urgent), true),
            (29, failed("no", 5), false),
            (51, failed("no way", 6), false),
            (52, failed("no", 7), true),
            (60, failed("never", 8), true),
            (61, failed("no way", 9), false),
            (84, failed("no way", 10), true),
        ];
        let mut record = record();
        for (hour, ending, reported) in story {
            let before = record.clone();
            assert_eq!(is_new(&record, &ending, at(hour)), reported, "{hour}");
            assert_eq!(note(&mut record, &ending, at(hour)), reported, "{hour}");
            assert_eq!(record == before, !reported, "{hour}");
        }
    }

    #[test]
    fn a_message_is_repeated_within_the_day_when_the_renewal_is_further_overdue() {
        let mut record = record();
        // Overdue after hour 24, half after 120, nine tenths after 216.
        record.status.renewal_time = Some(at(0));
        record.status.not_after = Some(at(240));
        let mut reported = Vec::new();
        for hour in 0..=270 {
            // The failure, and then the wait after it.
            let ending = if hour == 0 { failed("no", 1) } else { deferred(hour + 1, None) };
            if note(&mut record, &ending, at(hour)) {
                reported.push(hour);
            }
        }
        let daily = [0, 24, 25, 49, 73, 97, 121, 145, 169, 193, 217, 240, 264];
        assert_eq!(reported, daily);
        // A clock that goes back makes nothing worse.
        assert!(!note(&mut record, &deferred(260, None), at(250)));
    }

    #[test]
    fn what_is_kept_is_bounded_and_a_wrong_clock_suppresses_nothing() {
        let mut record = record();
        let unchanged = Ending::Unchanged { not_after: None, renewal_time: None };
        assert!(note(&mut record, &unchanged, at(0)) && record.notices.is_empty());
        for number in 0..20 {
            assert!(note(&mut record, &failed(&number.to_string(), 1), at(1000)));
        }
        assert_eq!(record.notices.len(), MOST);
        assert!(!is_new(&record, &failed("19", 1), at(1000)));
        assert!(is_new(&record, &failed("19", 1), at(0)));
        assert!(note(&mut record, &failed("19", 1), at(0)));
        assert_eq!(record.notices.len(), MOST);
        assert!(!is_new(&record, &failed("19", 1), at(1)));
    }
}
