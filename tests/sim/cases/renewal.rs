//! When a renewal is due, and the windows.

use certctl::controller::renewal;
use certctl::resource::{CertificateSpec, GoDuration, LeafFacts, PublicKeyDigest, Renewal};
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ZonedDateTime};
use serde_json::{Value, json};

use super::input::{Case, keys, seconds, text};

pub(crate) fn renew_before(case: &Case) -> Value {
    let input = &case.input;
    keys(input, &["lifetimeSeconds", "renewBeforeSeconds", "renewBeforePercentage"]);
    let lifetime = seconds(&input["lifetimeSeconds"]).unwrap();
    let before = renewal::renew_before(&spec(input), lifetime);
    json!({ "renewBeforeSeconds": before.as_secs_f64() })
}

pub(crate) fn renewal_time(case: &Case) -> Value {
    let input = &case.input;
    keys(input, &["notBefore", "lifetimeSeconds", "renewBeforeSeconds", "renewBeforePercentage"]);
    let start = day(case).start();
    let lifetime = seconds(&input["lifetimeSeconds"]).unwrap();
    let due = renewal::renewal_time(&spec(input), &leaf(start, start + lifetime));
    let offset = due.map(|due| start.duration_until(due.time).as_secs_f64());
    json!({ "renewalTimeOffsetSeconds": offset })
}

pub(crate) fn window(case: &Case) -> Value {
    let input = &case.input;
    keys(
        input,
        &[
            "base",
            "notBeforeOffsetSeconds",
            "notAfterOffsetSeconds",
            "desiredRenewalOffsetSeconds",
            "desiredLocal",
            "notBefore",
            "notAfter",
            "lifetimeSeconds",
            "renewBeforeSeconds",
            "renewBeforePercentage",
            "policy",
            "windows",
        ],
    );
    let base = day(case).start();
    let offset = |key: &str| Some(base + seconds(&input[key])?);
    let time = |key: &str| input[key].as_str().map(|text| text.parse::<Timestamp>().unwrap());
    let local = input["desiredLocal"].as_str().map(|text| local_time(case, text));
    let wished =
        local.as_ref().map(ZonedDateTime::timestamp).or(offset("desiredRenewalOffsetSeconds"));
    let start = offset("notBeforeOffsetSeconds").or(time("notBefore"));
    let around = wished.unwrap_or(base);
    let lifetime = seconds(&input["lifetimeSeconds"]);
    let start = start.unwrap_or(match lifetime {
        Some(_) => base,
        None => around - SignedDuration::from_hours(24 * 30),
    });
    let end = offset("notAfterOffsetSeconds").or(time("notAfter"));
    let end = end.or(lifetime.map(|lifetime| start + lifetime));
    let end = end.unwrap_or(around + SignedDuration::from_hours(24 * 30));
    let mut spec = spec(input);
    if let Some(wished) = wished {
        spec.renew_before = Some(GoDuration(wished.duration_until(end)));
    }
    let found = renewal::renewal_time(&spec, &leaf(start, end));
    let zone = local.map_or(TimeZone::UTC, |local| local.time_zone().clone());
    let at = found.as_ref().map(|found| found.time);
    let error = found.as_ref().and_then(|found| found.window_error.as_ref());
    json!({
        "renewalOffsetSeconds": at.map(|at| base.duration_until(at).as_secs_f64()),
        "renewalTime": at.map(|at| at.to_string()),
        "renewalUTC": at.map(|at| at.to_string()),
        "renewalLocal": at.map(|at| shown(case, &at.to_zoned_datetime(zone))),
        "error": error.map(renewal::WindowError::to_string),
    })
}

fn spec(input: &Value) -> CertificateSpec {
    let mut renewal = json!({});
    for key in ["policy", "windows"] {
        if let Some(value) = input.get(key) {
            renewal[key] = value.clone();
        }
    }
    let percentage = input["renewBeforePercentage"].as_i64();
    CertificateSpec {
        renew_before: seconds(&input["renewBeforeSeconds"]).map(GoDuration),
        renew_before_percentage: percentage.map(|percentage| i32::try_from(percentage).unwrap()),
        renewal: Some(serde_json::from_value::<Renewal>(renewal).unwrap()),
        ..CertificateSpec::default()
    }
}

fn leaf(not_before: Timestamp, not_after: Timestamp) -> LeafFacts {
    LeafFacts {
        public_key: PublicKeyDigest(String::new()),
        fingerprint: String::new(),
        serial: String::new(),
        certificate_id: None,
        common_name: String::new(),
        dns_names: Vec::new(),
        ip_addresses: Vec::new(),
        uris: Vec::new(),
        email_addresses: Vec::new(),
        not_before,
        not_after,
        issuer_common_name: String::new(),
        key_description: String::new(),
    }
}

/// Day D: the weekday that the case tells, else a Saturday.
fn day(case: &Case) -> Day {
    let told = format!("{} {}", case.name, text(&case.input["base"]));
    let mut date = Date::constant(2026, 1, 3);
    let names = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    let is_told = |name: &&str| told.contains(&format!("D is a {name}"));
    if let Some(index) = names.iter().position(is_told) {
        let weekday = Weekday::from_sunday_zero_offset(i8::try_from(index).unwrap()).unwrap();
        while date.weekday() != weekday {
            date = date.tomorrow().unwrap();
        }
    }
    Day(date)
}

struct Day(Date);

impl Day {
    fn start(&self) -> Timestamp {
        self.0.to_zoned_datetime(TimeZone::UTC).unwrap().timestamp()
    }
}

/// `day D 10:30 Zone/Name` or `2026-10-31T15:30 Zone/Name`.
fn local_time(case: &Case, text: &str) -> ZonedDateTime {
    let (time, zone) = text.rsplit_once(' ').unwrap();
    let time = time.replace("day D ", &format!("{}T", day(case).0));
    let time: jiff::civil::DateTime = time.parse().unwrap_or_else(|_| panic!("time `{text}`"));
    time.in_tz(zone).unwrap()
}

/// The time as the case would write it.
fn shown(case: &Case, time: &ZonedDateTime) -> String {
    let date = day(case).0;
    let name = time.time_zone().iana_name().unwrap_or("UTC");
    let expected = text(&case.expect["renewalLocal"]);
    if expected.starts_with("day D") && time.date() == date {
        return format!("day D {} {name}", time.strftime("%H:%M"));
    }
    let zone =
        if expected.ends_with(')') { time.strftime(" (%Z)").to_string() } else { String::new() };
    format!("{} {name}{zone}", time.strftime("%Y-%m-%dT%H:%M"))
}
