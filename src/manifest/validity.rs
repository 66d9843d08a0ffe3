//! Lifetime and renewal of a Certificate: durations and maintenance windows.

use jiff::SignedDuration;

use crate::resource::{Cron, GoDuration, Renewal, RenewalPolicy, RenewalWindow, Zone};

use super::diagnostic::Draft;
use super::field::{Field, Fields, REQUIRED};
use super::sink::Sink;
use super::tree::Span;

/// The shortest lifetime.
const MIN_DURATION: GoDuration = GoDuration::from_hours(1);
/// The shortest time before expiry.
const MIN_RENEW_BEFORE: GoDuration = GoDuration(SignedDuration::from_mins(5));
/// The lifetime where none is given.
pub(crate) const DEFAULT_DURATION: GoDuration = GoDuration::from_hours(2160);

/// `duration`, `renewBefore` and `renewBeforePercentage`.
pub(crate) struct RenewalTime {
    pub(crate) duration: Option<GoDuration>,
    /// The place of `duration`.
    pub(crate) lifetime: Option<Span>,
    pub(crate) renew_before: Option<GoDuration>,
    pub(crate) renew_before_percentage: Option<i32>,
}

/// Reads them.
pub(crate) fn renewal_time(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> RenewalTime {
    let duration_field = fields.take("duration");
    let duration = duration_field.as_ref().and_then(|field| field.parsed::<GoDuration>(sink));
    if let (Some(field), Some(duration)) = (&duration_field, duration)
        && duration < MIN_DURATION
    {
        field.refuse(sink, format!("certificate duration must be greater than {MIN_DURATION}"));
    }
    let effective = duration.unwrap_or(DEFAULT_DURATION);
    let before_field = fields.take("renewBefore");
    let before = before_field.as_ref().and_then(|field| field.parsed::<GoDuration>(sink));
    if let (Some(field), Some(before)) = (&before_field, before) {
        if before < MIN_RENEW_BEFORE {
            let least = MIN_RENEW_BEFORE;
            field.refuse(sink, format!("certificate renewBefore must be greater than {least}"));
        }
        if before >= effective {
            field.refuse(
                sink,
                format!(
                    "certificate duration {effective} must be greater than renewBefore {before}"
                ),
            );
        } else {
            warn_if_soon(field, sink, before.0, effective);
        }
    }
    let percentage_field = fields.take("renewBeforePercentage");
    let percentage = percentage_field.as_ref().and_then(|field| field.int32(sink));
    if let (Some(field), Some(percentage)) = (&percentage_field, percentage) {
        match percentage_fault(percentage, effective) {
            Some(fault) => field.refuse(sink, fault),
            None if before_field.is_some() => {}
            None => warn_if_soon(field, sink, effective.0 / 100 * percentage, effective),
        }
    }
    if let (Some(before), Some(percentage)) = (&before_field, &percentage_field) {
        for field in [before, percentage] {
            sink.error("E0108", field.span(), &field.path, BOTH);
        }
    }
    RenewalTime {
        duration,
        lifetime: duration_field.map(|field| field.key_span),
        renew_before: before,
        renew_before_percentage: percentage,
    }
}

/// Not from cert-manager: a renewal within the first tenth of the lifetime is likely a mistake. One
/// by almost every run uses up what the CA issues in a week.
fn warn_if_soon(
    field: &Field<'_>,
    sink: &mut Sink<'_>,
    before: SignedDuration,
    duration: GoDuration,
) {
    let from_issuance = duration.0 - before;
    if from_issuance >= duration.0 / 10 {
        return;
    }
    let message = format!(
        "each certificate would be renewed {} after issuance, but its lifetime is {duration}",
        GoDuration(from_issuance)
    );
    let usual = GoDuration(duration.0 / 3);
    let help = format!("write the time before the expiry, such as {usual}, or remove the field");
    sink.add(Draft::warning("W0307", field.span(), &field.path, message).help(help));
}

/// The percentage is of the remaining lifetime; the messages are cert-manager's, which name the
/// two sides in this order.
fn percentage_fault(percentage: i32, duration: GoDuration) -> Option<String> {
    if percentage <= 0 {
        let wanted = "must result in a renewBefore less than duration";
        return Some(format!("certificate renewBeforePercentage {wanted}"));
    }
    let before = duration.0.as_nanos() * i128::from(percentage) / 100;
    if percentage >= 100 || before < MIN_RENEW_BEFORE.0.as_nanos() {
        let wanted = "must result in a renewBefore greater than";
        return Some(format!("certificate renewBeforePercentage {wanted} {MIN_RENEW_BEFORE}"));
    }
    None
}

/// Reads `renewal`.
pub(crate) fn renewal(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<Renewal> {
    let mut inner = fields.take("renewal")?.mapping(sink, "Certificate.spec.renewal")?;
    let policy = inner.take("policy").and_then(|field| field.word(sink, POLICIES));
    let windows_field = inner.take("windows");
    let windows = windows_field.as_ref().map(|field| field.list(sink)).unwrap_or_default();
    if let Some(field) = windows_field
        && policy == Some(RenewalPolicy::Disabled)
        && !windows.is_empty()
    {
        let message = "windows cannot be set when `renewal.policy` is set to Disabled";
        sink.error("E0108", field.key_span, &field.path, message);
    }
    inner.finish(sink);
    let windows = windows.iter().filter_map(|item| window(item, sink)).collect();
    Some(Renewal { policy, windows })
}

fn window(item: &Field<'_>, sink: &mut Sink<'_>) -> Option<RenewalWindow> {
    let mut inner = item.mapping(sink, "Certificate.spec.renewal.windows")?;
    let cron = inner.require(sink, "cron", REQUIRED).and_then(|field| {
        match field.filled_text(sink)?.parse::<Cron>() {
            Ok(cron) => Some(cron),
            Err(error) => {
                field.refuse(sink, format!("invalid cron expression: {error}"));
                None
            }
        }
    });
    let duration = inner.require(sink, "windowDuration", REQUIRED);
    let duration = duration.and_then(|field| {
        let text = field.filled_text(sink)?;
        if !is_window_duration(&text) {
            field.refuse(sink, "windowDuration must be written like `4h` or `1h30m` (s, m, h)");
            return None;
        }
        field.parsed::<GoDuration>(sink)
    });
    let timezone = inner.take("timezone").and_then(|field| {
        let text = field.filled_text(sink)?;
        let zone = text.parse::<Zone>().ok();
        if zone.is_none() {
            field.refuse(sink, format!("unknown time zone `{}`", super::diagnostic::short(&text)));
        }
        zone
    });
    inner.finish(sink);
    let timezone = timezone.unwrap_or_default();
    Some(RenewalWindow { cron: cron?, window_duration: duration?, timezone })
}

/// `^([0-9]+(\.[0-9]+)?(s|m|h))+$`, as the CRD has it.
fn is_window_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let Some(end) = rest.find(['s', 'm', 'h']) else { return false };
        let (number, behind) = rest.split_at(end);
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let good = match number.split_once('.') {
            Some((whole, fraction)) => digits(whole) && digits(fraction),
            None => digits(number),
        };
        if !good {
            return false;
        }
        rest = behind.get(1..).unwrap_or_default();
    }
    !text.is_empty()
}

const BOTH: &str =
    "renewBefore and renewBeforePercentage are mutually exclusive and cannot both be set";

const POLICIES: &[(&str, RenewalPolicy)] =
    &[("RenewBefore", RenewalPolicy::RenewBefore), ("Disabled", RenewalPolicy::Disabled)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_durations_follow_the_pattern_of_the_crd() {
        for good in ["4h", "1h30m", "1.5h", "90s"] {
            assert!(is_window_duration(good), "{good}");
        }
        for bad in ["", "4", "h", "1.h", "-1h", "300ms", "1d", "1h30"] {
            assert!(!is_window_duration(bad), "{bad}");
        }
    }

    #[test]
    fn percentages_leave_at_least_five_minutes() {
        let hour = GoDuration::from_hours(1);
        for (percentage, fits) in
            [(-1, false), (0, false), (8, false), (9, true), (99, true), (100, false)]
        {
            assert_eq!(percentage_fault(percentage, hour).is_none(), fits, "{percentage}");
        }
    }
}
