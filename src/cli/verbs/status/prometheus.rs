//! `certctl status -o prometheus`: the certificates in the Prometheus text format 0.0.4, under
//! cert-manager's metric names, so that its dashboards and alerts keep working.
//!
//! Contract: each family once, HELP and TYPE before its samples; label values escaped; a time that
//! is not known is 0, as cert-manager writes it, so that an alert on expiry fires.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::issuance::challenge_name;
use crate::cli::exit::ExitCode;
use crate::cli::words::state::undeployed;
use crate::resource::{
    AuthorizationState, Challenge, ChallengeType, ConditionStatus, ConditionType, IssuerKind,
    Order, SuggestedWindow, escape_for_stream,
};
use crate::workspace::view::{CertificateView, IssuerView};
use crate::workspace::{RequestCounts, RequestKind};

/// A run that has ended.
pub(crate) struct LastRun {
    pub(crate) code: ExitCode,
    /// What it sent to CAs.
    pub(crate) requests: RequestCounts,
}

/// The metrics of all certificates: of each, no more than its values is kept.
pub(crate) struct Exposition {
    now: Timestamp,
    mistakes: i64,
    values: Vec<Values>,
    challenges: Vec<ChallengeValues>,
}

/// The values of one certificate.
struct Values {
    /// As text.
    labels: String,
    ready: ConditionStatus,
    times: [i64; TIMES.len()],
    numbers: [i64; NUMBERS.len()],
}

/// One challenge of a current order.
struct ChallengeValues {
    /// As text, those before `status` in the alphabet.
    labels: String,
    kind: ChallengeType,
    state: AuthorizationState,
}

impl Exposition {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { now, mistakes: 0, values: Vec::new(), challenges: Vec::new() }
    }

    pub(crate) fn add(&mut self, view: &CertificateView) {
        self.mistakes += i64::from(view.mistake.is_some());
        if !view.has_name() {
            return;
        }
        self.values.push(Values {
            labels: text_of(&certificate_labels(view)),
            ready: readiness(view),
            times: TIMES.map(|(_, _, time)| seconds(time(view))),
            numbers: NUMBERS.map(|(_, _, number)| number(view, self.now)),
        });
        self.challenges.extend(challenges(view));
    }

    /// Writes all families, one after the other; those of a run only after one.
    pub(crate) fn end<E>(
        self,
        issuers: &[IssuerView],
        run: Option<&LastRun>,
        mut write: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ready = Family::new(
            "certmanager_certificate_ready_status",
            "The Ready condition of each certificate: 1 on the line that holds",
        );
        for Values { labels, ready: found, .. } in &self.values {
            for (condition, word) in CONDITIONS {
                let value = i64::from(*found == condition);
                ready.line(&format!("condition=\"{word}\",{labels}"), value);
            }
            ready.pass(&mut write)?;
        }
        write(&ready.text)?;
        for (at, (name, help, _)) in TIMES.iter().enumerate() {
            self.family(name, help, |values| values.times.get(at), &mut write)?;
        }
        for (at, (name, help, _)) in NUMBERS.iter().enumerate() {
            self.family(name, help, |values| values.numbers.get(at), &mut write)?;
        }
        self.challenge_states(&mut write)?;
        write(&ready_issuers(issuers))?;
        let mut invalid = Family::new(
            "certctl_invalid_manifests",
            "How many Certificates, and documents that cannot be read, have a mistake",
        );
        invalid.sample(&[], self.mistakes);
        write(&invalid.text)?;
        if let Some(run) = run {
            write(&last_run(run, self.now))?;
        }
        let mut clock = Family::new(
            "certmanager_clock_time_seconds_gauge",
            "When these metrics were written, in seconds since the epoch",
        );
        clock.sample(&[], self.now.as_second());
        write(&clock.text)
    }
}

impl Exposition {
    fn family<E>(
        &self,
        name: &str,
        help: &str,
        value: impl Fn(&Values) -> Option<&i64>,
        write: &mut impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut family = Family::new(name, help);
        for values in &self.values {
            family.line(&values.labels, value(values).copied().unwrap_or_default());
            family.pass(write)?;
        }
        write(&family.text)
    }

    /// For each challenge one sample per state, of which one is 1.
    fn challenge_states<E>(&self, write: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        let mut family = Family::new(
            "certmanager_certificate_challenge_status",
            "The state of each challenge of a current order: 1 on the line that holds",
        );
        for ChallengeValues { labels, kind, state } in &self.challenges {
            let state = state.as_str();
            // A word of the CA that is not among the known ones has a line of its own.
            let unknown = (!STATES.contains(&state)).then_some(state);
            for word in STATES.iter().copied().chain(unknown) {
                let others = [("status", word.to_owned()), ("type", kind.as_str().to_uppercase())];
                let labels = format!("{labels},{}", text_of(&others));
                family.line(&labels, i64::from(word == state));
            }
            family.pass(write)?;
        }
        write(&family.text)
    }
}

/// The Ready condition.
fn readiness(view: &CertificateView) -> ConditionStatus {
    let status = view.record.as_ref().map(|record| &record.status);
    let recorded = status.and_then(|status| status.condition(ConditionType::Ready));
    match (&view.mistake, recorded) {
        // Nothing is renewed until its manifest is fixed.
        (Some(_), _) => ConditionStatus::False,
        (None, Some(condition)) => condition.status,
        (None, None) => ConditionStatus::Unknown,
    }
}

/// Three samples for each Issuer and ClusterIssuer, of which one is 1: an issuer without an
/// account is neither ready nor not.
fn ready_issuers(views: &[IssuerView]) -> String {
    let mut text = String::new();
    for kind in [IssuerKind::Issuer, IssuerKind::ClusterIssuer] {
        let name = format!("certmanager_{}_ready_status", kind.to_string().to_lowercase());
        let help = format!("The Ready condition of each {kind}: 1 on the line that holds");
        let mut family = Family::new(&name, &help);
        for IssuerView { issuer, account } in views.iter().filter(|view| view.issuer.kind == kind) {
            let is_registered = account.as_ref().is_some_and(|account| account.url.is_some());
            let found =
                if is_registered { ConditionStatus::True } else { ConditionStatus::Unknown };
            for (condition, word) in CONDITIONS {
                let mut labels =
                    vec![("condition", word.to_owned()), ("name", issuer.metadata.name.clone())];
                if kind == IssuerKind::Issuer {
                    labels.push(("namespace", issuer.metadata.namespace.clone()));
                }
                family.sample(&labels, i64::from(found == condition));
            }
        }
        text.push_str(&family.text);
    }
    text
}

/// When the run ended, how, and what it sent to CAs.
fn last_run(run: &LastRun, now: Timestamp) -> String {
    let mut time = Family::new(
        "certctl_last_run_timestamp_seconds",
        "When the last run ended, in seconds since the epoch",
    );
    time.sample(&[], now.as_second());
    let mut code = Family::new("certctl_last_run_exit_code", "The exit code of the last run");
    code.sample(&[], run.code.number().into());
    let mut requests = Family::counter(
        "certmanager_http_acme_client_request_count",
        "The requests of the last run to ACME servers; status 999: no answer",
    );
    for (RequestKind { host, method, is_renewal_info, status }, count) in &run.requests {
        let mut labels = Vec::new();
        if *is_renewal_info {
            labels.push(("action", "get_renewal_info".to_owned()));
        }
        labels.extend([
            ("host", host.clone()),
            ("method", method.clone()),
            ("scheme", "https".to_owned()),
            ("status", status.to_string()),
        ]);
        requests.sample(&labels, i64::try_from(*count).unwrap_or(i64::MAX));
    }
    time.text + &code.text + &requests.text
}

/// The challenges of a current order.
fn challenges(view: &CertificateView) -> Vec<ChallengeValues> {
    let Some(order) = view.order() else { return Vec::new() };
    let challenges = order.challenges.iter().enumerate();
    challenges
        .map(|(index, challenge)| ChallengeValues {
            labels: text_of(&challenge_labels(view, order, index, challenge)),
            kind: challenge.spec.kind.clone(),
            state: challenge.final_state().clone(),
        })
        .collect()
}

fn certificate_labels(view: &CertificateView) -> [(&'static str, String); 5] {
    let issuer = view.issuer_ref();
    let group = issuer.map_or("", |issuer| issuer.group.as_str());
    let is_default = issuer.is_some() && group.is_empty();
    [
        ("issuer_group", if is_default { "cert-manager.io" } else { group }.to_owned()),
        ("issuer_kind", issuer.map(|issuer| issuer.kind.to_string()).unwrap_or_default()),
        ("issuer_name", issuer.map(|issuer| issuer.name.clone()).unwrap_or_default()),
        ("name", view.key.name.clone()),
        ("namespace", view.key.namespace.clone()),
    ]
}

fn challenge_labels(
    view: &CertificateView,
    order: &Order,
    index: usize,
    challenge: &Challenge,
) -> [(&'static str, String); 5] {
    [
        ("domain", challenge.spec.identifier.to_string()),
        ("name", challenge_name(order, index)),
        ("namespace", view.key.namespace.clone()),
        ("processing", challenge.is_processing().to_string()),
        ("reason", challenge.reason.clone()),
    ]
}

fn seconds(time: Option<Timestamp>) -> i64 {
    time.map_or(0, Timestamp::as_second)
}

/// The text of one family.
struct Family {
    name: String,
    text: String,
}

impl Family {
    /// Of gauges.
    fn new(name: &str, help: &str) -> Self {
        Self::of("gauge", name, help)
    }

    fn counter(name: &str, help: &str) -> Self {
        Self::of("counter", name, help)
    }

    fn of(kind: &str, name: &str, help: &str) -> Self {
        let text = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Self { name: name.to_owned(), text }
    }

    fn sample(&mut self, labels: &[(&'static str, String)], value: i64) {
        self.line(&text_of(labels), value);
    }

    fn line(&mut self, labels: &str, value: i64) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        // Writing into a string cannot fail.
        _ = writeln!(self.text, "{}{labels} {value}", self.name);
    }

    /// Writes what is there of a long text: one family of ten thousand certificates has megabytes.
    fn pass<E>(&mut self, write: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if self.text.len() > MOST_HELD {
            write(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

fn text_of(labels: &[(&'static str, String)]) -> String {
    let labels = labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escape(text)));
    labels.collect::<Vec<_>>().join(",")
}

/// A label value: backslash, quotation mark and line feed are escaped, and what would steer the terminal
/// that shows it.
fn escape(text: &str) -> String {
    let text = escape_for_stream(text, &[]).replace('\t', "\\t");
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The longest text that is held back until more is there, in bytes.
const MOST_HELD: usize = 64 << 10;

type Time = fn(&CertificateView) -> Option<Timestamp>;

const TIMES: [(&str, &str, Time); 4] = [
    (
        "certmanager_certificate_expiration_timestamp_seconds",
        "When the certificate expires, in seconds since the epoch; 0 when there is none",
        |view| view.readable_leaf().map(|leaf| leaf.not_after),
    ),
    (
        "certmanager_certificate_renewal_timestamp_seconds",
        "When the certificate is to be renewed, in seconds since the epoch; 0 for never",
        |view| view.renewal_time,
    ),
    (
        "certmanager_certificate_not_before_timestamp_seconds",
        "When the certificate begins to be valid, in seconds since the epoch; 0 when there is none",
        |view| view.readable_leaf().map(|leaf| leaf.not_before),
    ),
    (
        "certmanager_certificate_not_after_timestamp_seconds",
        "When the certificate ceases to be valid, in seconds since the epoch; 0 when there is none",
        |view| view.readable_leaf().map(|leaf| leaf.not_after),
    ),
];

type Number = fn(&CertificateView, Timestamp) -> i64;

/// Not from cert-manager.
const NUMBERS: [(&str, &str, Number); 10] = [
    (
        "certctl_certificate_renewal_overdue",
        "1 when more than a tenth of the time from renewal to expiry has gone without a renewal",
        |view, _| i64::from(view.overdue.is_some()),
    ),
    (
        "certctl_certificate_failed_attempts",
        "How many issuances have failed in a row",
        |view, _| i64::from(view.failures()),
    ),
    (
        "certctl_certificate_failed",
        "1 while the last attempt is one that failed, whether or not it counts",
        |view, _| i64::from(view.failure().is_some()),
    ),
    (
        "certctl_certificate_last_failure_timestamp_seconds",
        "When the last attempt failed, in seconds since the epoch; 0 when it did not",
        |view, _| seconds(view.failure().and_then(|failure| failure.at)),
    ),
    (
        "certctl_certificate_pending_deploy",
        "1 while an output or a hook of the certificate in place has failed, or its output is lost",
        |view, _| i64::from(undeployed(view).is_some()),
    ),
    (
        "certctl_certificate_days_left",
        "Full days until the certificate expires; negative after that, 0 when there is none",
        |view, now| {
            let leaf = view.readable_leaf();
            leaf.map_or(0, |leaf| now.duration_until(leaf.not_after).as_hours().div_euclid(24))
        },
    ),
    (
        "certctl_certificate_renewal_info_window_start_timestamp_seconds",
        "When the window starts in which the CA suggests to renew (ARI), in seconds since the \
         epoch; 0 when it suggests none",
        |view, _| seconds(suggested(view).map(|window| window.start)),
    ),
    (
        "certctl_certificate_renewal_info_window_end_timestamp_seconds",
        "When that window ends, in seconds since the epoch; 0 when the CA suggests none",
        |view, _| seconds(suggested(view).map(|window| window.end)),
    ),
    (
        "certctl_certificate_renewal_info_next_check_timestamp_seconds",
        "When the CA may be asked again when to renew, in seconds since the epoch; 0 when it was \
         not asked yet",
        |view, _| seconds(view.renewal_information().map(|known| known.next_check)),
    ),
    (
        "certctl_certificate_renewal_info_failed",
        "1 while the last question when to renew brought no usable window",
        |view, _| {
            i64::from(view.renewal_information().is_some_and(|known| known.last_error.is_some()))
        },
    ),
];

fn suggested(view: &CertificateView) -> Option<&SuggestedWindow> {
    view.renewal_information()?.suggested_window.as_ref()
}

const CONDITIONS: [(ConditionStatus, &str); 3] = [
    (ConditionStatus::True, "True"),
    (ConditionStatus::False, "False"),
    (ConditionStatus::Unknown, "Unknown"),
];

/// The states of a challenge that cert-manager counts; the empty one is that of a new challenge.
const STATES: [&str; 8] =
    ["", "ready", "pending", "processing", "valid", "invalid", "expired", "errored"];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use super::*;
    use crate::resource::{Identifier, NamespacedName};
    use crate::store::samples;

    fn exposition(
        views: &[CertificateView],
        issuers: &[IssuerView],
        run: Option<&LastRun>,
        now: Timestamp,
    ) -> String {
        let (mut metrics, mut text) = (Exposition::new(now), String::new());
        for view in views {
            metrics.add(view);
        }
        let write = |part: &str| {
            text.push_str(part);
            Ok::<_, ()>(())
        };
        metrics.end(issuers, run, write).unwrap();
        text
    }

    type Labels = BTreeMap<String, String>;

    /// A strict parser: families in one piece with HELP and TYPE first, names and labels of the
    /// grammar, only the three escapes, no sample twice.
    fn parse(text: &str) -> Vec<(String, Labels, f64)> {
        assert!(text.ends_with('\n'));
        let (mut samples, mut families) = (Vec::new(), BTreeSet::new());
        let mut seen = BTreeSet::new();
        let (mut family, mut typed) = (String::new(), false);
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap();
                assert!(!help.is_empty() && !help.contains('\\'), "{line}");
                assert!(families.insert(name.to_owned()), "{name} twice");
                (family, typed) = (name.to_owned(), false);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(name == family && ["gauge", "counter"].contains(&kind), "{line}");
                assert!(!typed);
                typed = true;
            } else {
                assert!(typed, "{line}");
                let (name, labels, value) = sample(line);
                assert_eq!(name, family);
                assert!(seen.insert((name.clone(), labels.clone())), "{line} twice");
                samples.push((name, labels, value));
            }
        }
        samples
    }

    fn is_name(text: &str) -> bool {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    fn sample(line: &str) -> (String, Labels, f64) {
        let end = line.find(['{', ' ']).unwrap();
        let (name, mut rest) = line.split_at(end);
        assert!(is_name(name), "{line}");
        let mut labels = Labels::new();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            loop {
                let (label, behind) = rest.split_once("=\"").unwrap();
                assert!(is_name(label), "{line}");
                let (mut value, mut chars) = (String::new(), behind.char_indices());
                let end = loop {
                    match chars.next().unwrap() {
                        (place, '"') => break place,
                        (_, '\\') => value.push(match chars.next().unwrap().1 {
                            'n' => '\n',
                            other @ ('\\' | '"') => other,
                            other => panic!("\\{other} in {line}"),
                        }),
                        (_, other) => value.push(other),
                    }
                };
                assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
                rest = &behind[end + 1..];
                match rest.strip_prefix(',') {
                    Some(next) => rest = next,
                    None => break,
                }
            }
            rest = rest.strip_prefix('}').unwrap();
        }
        (name.to_owned(), labels, rest.strip_prefix(' ').unwrap().parse().unwrap())
    }

    #[test]
    fn label_values_are_read_back_whatever_they_hold() {
        for value in
            ["", "plain", "a \"b\" c", "back\\slash\\", "two\nlines", "\\n\"}, =\n\\\"", "ü"]
        {
            let mut family = Family::new("name", "help");
            family.sample(&[("one", value.to_owned()), ("two", "2".to_owned())], -7);
            let labels = [("one", value), ("two", "2")];
            let labels: Labels =
                labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            assert_eq!(parse(&family.text), [("name".to_owned(), labels, -7.0)], "{value:?}");
        }
    }

    #[test]
    fn the_metrics_of_many_certificates_are_passed_on_in_parts() {
        let now: Timestamp = "2026-11-21T03:12:09Z".parse().unwrap();
        let mut order = samples::order();
        for number in 2..40 {
            order.challenges.push(order.challenges.first().cloned().unwrap());
            let challenge = order.challenges.last_mut().unwrap();
            let name = format!("n{number}.example.com").parse().unwrap();
            Arc::make_mut(&mut challenge.spec).identifier = Identifier::Dns(name);
        }
        let views = |count: usize| -> Vec<CertificateView> {
            let key = |number| NamespacedName::new("default", format!("c{number:04}"));
            let one = |number| CertificateView {
                orders: vec![Order { name: format!("c{number:04}-1-1"), ..order.clone() }],
                ..CertificateView::unknown(key(number))
            };
            (0..count).map(one).collect()
        };
        let mut metrics = Exposition::new(now);
        for view in &views(500) {
            metrics.add(view);
        }
        let mut parts: Vec<String> = Vec::new();
        let write = |part: &str| {
            parts.push(part.to_owned());
            Ok::<_, ()>(())
        };
        metrics.end(&[], None, write).unwrap();
        // The samples of one certificate may follow what was held back.
        let of_one = exposition(&views(1), &[], None, now).len();
        assert!(parts.iter().all(|part| part.len() <= MOST_HELD + of_one));
        let samples = parse(&parts.concat());
        let count = |family: &str| samples.iter().filter(|(name, _, _)| name == family).count();
        assert_eq!(count("certmanager_certificate_ready_status"), 500 * CONDITIONS.len());
        assert_eq!(count("certctl_certificate_failed"), 500);
        let states = 500 * order.challenges.len() * STATES.len();
        assert_eq!(count("certmanager_certificate_challenge_status"), states);
    }

    #[test]
    fn after_a_run_its_end_and_its_requests_are_written() {
        let now: Timestamp = "2026-11-21T03:12:09Z".parse().unwrap();
        let kind = |method: &str, status| RequestKind {
            host: "acme.example".to_owned(),
            method: method.to_owned(),
            is_renewal_info: false,
            status,
        };
        let renewal_info = RequestKind { is_renewal_info: true, ..kind("GET", 200) };
        let requests = [
            (kind("GET", 200), 2),
            (renewal_info, 5),
            (kind("POST", 429), 1),
            (kind("POST", 999), 3),
        ];
        let run = LastRun { code: ExitCode::Ca, requests: requests.into() };
        let samples = parse(&last_run(&run, now));
        let of = |family: &str| -> Vec<(String, f64)> {
            let those = samples.iter().filter(|(name, _, _)| name == family);
            let label_values =
                |labels: &Labels| labels.values().cloned().collect::<Vec<_>>().join(" ");
            those.map(|(_, labels, value)| (label_values(labels), *value)).collect()
        };
        assert_eq!(of("certctl_last_run_exit_code"), [(String::new(), 5.0)]);
        assert_eq!(of("certctl_last_run_timestamp_seconds"), [(String::new(), 1_795_230_729.0)]);
        let expected = [
            ("acme.example GET https 200", 2.0),
            ("get_renewal_info acme.example GET https 200", 5.0),
            ("acme.example POST https 429", 1.0),
            ("acme.example POST https 999", 3.0),
        ]
        .map(|(label_values, count)| (label_values.to_owned(), count));
        assert_eq!(of("certmanager_http_acme_client_request_count"), expected);
        assert!(exposition(&[], &[], None, now).lines().all(|line| !line.contains("last_run")));
    }

    #[test]
    fn the_golden_text_is_read_by_a_strict_parser() {
        let samples = parse(include_str!("tests/metrics.prom"));
        let sum = |family: &str| -> f64 {
            samples.iter().filter(|(name, _, _)| name == family).map(|(_, _, value)| value).sum()
        };
        // Each of three certificates has one condition, and each of two challenges one state.
        assert!((sum("certmanager_certificate_ready_status") - 3.0).abs() < 0.5);
        assert!((sum("certmanager_certificate_challenge_status") - 2.0).abs() < 0.5);
    }
}
