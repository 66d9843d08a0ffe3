//! `certctl status -o prometheus`: the certificates in the Prometheus text format 0.0.4, under
//! cert-manager's metric names, so that its dashboards and alerts keep working.
//!
//! Contract: each family once, HELP and TYPE before its samples; label values escaped; a time that
//! is not known is 0, as cert-manager writes it, so that an alert on expiry fires.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::issuance::challenge_name;
use crate::cli::ExitCode;
use crate::cli::words::state::undeployed;
use crate::resource::{
    AuthorizationState, Challenge, ChallengeType, ConditionStatus, ConditionType, IssuerKind,
    SuggestedWindow, escape_for_stream,
};
use crate::workspace::view::{CertificateView, IssuerView};
use crate::workspace::{RequestCounts, RequestKind};

/// A metric: what it is called, and where its samples come from.
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// `gauge` or `counter`.
    pub kind: &'static str,
    /// Text of the HELP line.
    pub help: &'static str,
    samples: Samples,
}

/// Where the samples of a metric come from.
enum Samples {
    /// Value for each certificate.
    Certificate(fn(&CertificateView, Timestamp) -> i64),
    /// Three for each certificate, of which one is 1.
    Ready,
    /// For each challenge of a current order one per state, of which one is 1.
    Challenge,
    /// Three for each issuer of a kind, of which one is 1.
    Issuer(IssuerKind),
    /// Value of all that was added.
    All(fn(&Exposition) -> i64),
    /// Value of the last run.
    Run(fn(&LastRun, Timestamp) -> i64),
    /// Value for each kind of request of the last run.
    Requests,
}

/// A run that has ended.
pub(crate) struct LastRun {
    pub(crate) code: ExitCode,
    /// Requests to CAs.
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
    /// Labels as text.
    labels: String,
    ready: ConditionStatus,
    /// In the order of the metrics.
    numbers: Vec<i64>,
}

/// Values of a challenge of a current order.
struct ChallengeValues {
    /// Labels as text, those before `status` in the alphabet.
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
        let number = |metric: &Metric| match metric.samples {
            Samples::Certificate(number) => Some(number(view, self.now)),
            Samples::Ready
            | Samples::Challenge
            | Samples::Issuer(_)
            | Samples::All(_)
            | Samples::Run(_)
            | Samples::Requests => None,
        };
        self.values.push(Values {
            labels: certificate_labels(view),
            ready: readiness(view),
            numbers: METRICS.iter().filter_map(number).collect(),
        });
        self.challenges.extend(challenges(view));
    }

    /// Writes all families, one after the other; those of a run only after one. A part of a family
    /// is written as soon as it is long: one of ten thousand certificates has megabytes.
    pub(crate) fn end<E>(
        self,
        issuers: &[IssuerView],
        run: Option<&LastRun>,
        mut write: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut column = 0;
        for Metric { name, kind, help, samples } in METRICS {
            let is_of_run = matches!(samples, Samples::Run(_) | Samples::Requests);
            if is_of_run && run.is_none() {
                continue;
            }
            let mut text = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
            let mut line = |labels: &str, value: i64| {
                let (open, close) = if labels.is_empty() { ("", "") } else { ("{", "}") };
                // Writing into a string cannot fail.
                _ = writeln!(text, "{name}{open}{labels}{close} {value}");
                if text.len() > MOST_HELD {
                    write(&text)?;
                    text.clear();
                }
                Ok(())
            };
            match samples {
                Samples::Certificate(_) => {
                    for Values { labels, numbers, .. } in &self.values {
                        line(labels, numbers.get(column).copied().unwrap_or_default())?;
                    }
                    column += 1;
                }
                Samples::Ready => {
                    for Values { labels, ready, .. } in &self.values {
                        for (condition, word) in CONDITIONS {
                            let labels = format!("condition=\"{word}\",{labels}");
                            line(&labels, i64::from(*ready == condition))?;
                        }
                    }
                }
                Samples::Challenge => self.challenge_states(&mut line)?,
                Samples::Issuer(kind) => ready_issuers(issuers, *kind, &mut line)?,
                Samples::All(value) => line("", value(&self))?,
                Samples::Run(value) => {
                    run.map_or(Ok(()), |run| line("", value(run, self.now)))?;
                }
                Samples::Requests => {
                    for (kind, count) in run.iter().flat_map(|run| &run.requests) {
                        let count = i64::try_from(*count).unwrap_or(i64::MAX);
                        line(&request_labels(kind), count)?;
                    }
                }
            }
            write(&text)?;
        }
        Ok(())
    }

    fn challenge_states<E>(
        &self,
        line: &mut impl FnMut(&str, i64) -> Result<(), E>,
    ) -> Result<(), E> {
        for ChallengeValues { labels, kind, state } in &self.challenges {
            let state = state.as_str();
            // A word of the CA that is not among the known ones has a line of its own.
            let unknown = (!STATES.contains(&state)).then_some(state);
            for word in STATES.iter().copied().chain(unknown) {
                let others = [("status", word), ("type", &kind.as_str().to_uppercase())];
                line(&format!("{labels},{}", text_of(&others)), i64::from(word == state))?;
            }
        }
        Ok(())
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

/// An issuer without an account is neither ready nor not.
fn ready_issuers<E>(
    views: &[IssuerView],
    kind: IssuerKind,
    line: &mut impl FnMut(&str, i64) -> Result<(), E>,
) -> Result<(), E> {
    for IssuerView { issuer, account } in views.iter().filter(|view| view.issuer.kind == kind) {
        let is_registered = account.as_ref().is_some_and(|account| account.url.is_some());
        let found = if is_registered { ConditionStatus::True } else { ConditionStatus::Unknown };
        for (condition, word) in CONDITIONS {
            let mut labels = vec![("condition", word), ("name", issuer.metadata.name.as_str())];
            if kind == IssuerKind::Issuer {
                labels.push(("namespace", &issuer.metadata.namespace));
            }
            line(&text_of(&labels), i64::from(found == condition))?;
        }
    }
    Ok(())
}

fn request_labels(kind: &RequestKind) -> String {
    let action = kind.is_renewal_info.then_some(("action", "get_renewal_info"));
    let labels = [
        ("host", kind.host.as_str()),
        ("method", &kind.method),
        ("scheme", "https"),
        ("status", &kind.status.to_string()),
    ];
    text_of(&action.into_iter().chain(labels).collect::<Vec<_>>())
}

/// The challenges of a current order.
fn challenges(view: &CertificateView) -> Vec<ChallengeValues> {
    let Some(order) = view.order() else { return Vec::new() };
    let values = |(index, challenge): (usize, &Challenge)| ChallengeValues {
        labels: text_of(&[
            ("domain", &challenge.spec.identifier.to_string()),
            ("name", &challenge_name(order, index)),
            ("namespace", &view.key.namespace),
            ("processing", &challenge.is_processing().to_string()),
            ("reason", &challenge.reason),
        ]),
        kind: challenge.spec.kind.clone(),
        state: challenge.final_state().clone(),
    };
    order.challenges.iter().enumerate().map(values).collect()
}

fn certificate_labels(view: &CertificateView) -> String {
    let issuer = view.issuer_ref();
    let group = issuer.map_or("", |issuer| issuer.group.as_str());
    let is_default = issuer.is_some() && group.is_empty();
    text_of(&[
        ("issuer_group", if is_default { "cert-manager.io" } else { group }),
        ("issuer_kind", &issuer.map(|issuer| issuer.kind.to_string()).unwrap_or_default()),
        ("issuer_name", issuer.map_or("", |issuer| issuer.name.as_str())),
        ("name", &view.key.name),
        ("namespace", &view.key.namespace),
    ])
}

fn seconds(time: Option<Timestamp>) -> i64 {
    time.map_or(0, Timestamp::as_second)
}

fn text_of(labels: &[(&'static str, &str)]) -> String {
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

const fn gauge(name: &'static str, help: &'static str, samples: Samples) -> Metric {
    Metric { name, kind: "gauge", help, samples }
}

const fn of_certificate(
    name: &'static str,
    help: &'static str,
    number: fn(&CertificateView, Timestamp) -> i64,
) -> Metric {
    gauge(name, help, Samples::Certificate(number))
}

/// All metrics, in the order in which they are written.
pub const METRICS: &[Metric] = &[
    gauge(
        "certmanager_certificate_ready_status",
        "The Ready condition of each certificate: 1 on the line that is true",
        Samples::Ready,
    ),
    of_certificate(
        "certmanager_certificate_expiration_timestamp_seconds",
        "Expiry time of the certificate in seconds since the epoch; 0 without a certificate",
        |view, _| seconds(view.readable_leaf().map(|leaf| leaf.not_after)),
    ),
    of_certificate(
        "certmanager_certificate_renewal_timestamp_seconds",
        "Renewal time of the certificate in seconds since the epoch; 0 for never",
        |view, _| seconds(view.renewal_time),
    ),
    of_certificate(
        "certmanager_certificate_not_before_timestamp_seconds",
        "Start of the certificate's validity in seconds since the epoch; 0 without a certificate",
        |view, _| seconds(view.readable_leaf().map(|leaf| leaf.not_before)),
    ),
    of_certificate(
        "certmanager_certificate_not_after_timestamp_seconds",
        "End of the certificate's validity in seconds since the epoch; 0 without a certificate",
        |view, _| seconds(view.readable_leaf().map(|leaf| leaf.not_after)),
    ),
    of_certificate(
        "certctl_certificate_renewal_overdue",
        "1 if more than a tenth of the time between renewal and expiry has passed without a \
         renewal",
        |view, _| i64::from(view.overdue.is_some()),
    ),
    of_certificate(
        "certctl_certificate_failed_attempts",
        "Number of consecutive failed issuances",
        |view, _| i64::from(view.failures()),
    ),
    of_certificate(
        "certctl_certificate_failed",
        "1 if the last attempt failed, even if it does not count",
        |view, _| i64::from(view.failure().is_some()),
    ),
    of_certificate(
        "certctl_certificate_last_failure_timestamp_seconds",
        "Time of the last attempt in seconds since the epoch if it failed, else 0",
        |view, _| seconds(view.failure().and_then(|failure| failure.at)),
    ),
    of_certificate(
        "certctl_certificate_pending_deploy",
        "1 if an output or hook of the current certificate failed, or its output is lost",
        |view, _| i64::from(undeployed(view).is_some()),
    ),
    of_certificate(
        "certctl_certificate_days_left",
        "Full days until the certificate expires; negative after expiry, 0 without a certificate",
        |view, now| {
            let leaf = view.readable_leaf();
            leaf.map_or(0, |leaf| now.duration_until(leaf.not_after).as_hours().div_euclid(24))
        },
    ),
    of_certificate(
        "certctl_certificate_renewal_info_window_start_timestamp_seconds",
        "Start of the renewal window that the CA suggests (ARI) in seconds since the epoch; 0 \
         without one",
        |view, _| seconds(suggested(view).map(|window| window.start)),
    ),
    of_certificate(
        "certctl_certificate_renewal_info_window_end_timestamp_seconds",
        "End of the renewal window that the CA suggests (ARI) in seconds since the epoch; 0 \
         without one",
        |view, _| seconds(suggested(view).map(|window| window.end)),
    ),
    of_certificate(
        "certctl_certificate_renewal_info_next_check_timestamp_seconds",
        "Earliest time of the next query for a renewal window (ARI) in seconds since the epoch; 0 \
         before the first one",
        |view, _| seconds(view.renewal_information().map(|known| known.next_check)),
    ),
    of_certificate(
        "certctl_certificate_renewal_info_failed",
        "1 if the last query for a renewal window (ARI) returned no usable one",
        |view, _| {
            i64::from(view.renewal_information().is_some_and(|known| known.last_error.is_some()))
        },
    ),
    gauge(
        "certmanager_certificate_challenge_status",
        "The state of each challenge of a current order: 1 on the line that is true",
        Samples::Challenge,
    ),
    gauge(
        "certmanager_issuer_ready_status",
        "The Ready condition of each Issuer: 1 on the line that is true",
        Samples::Issuer(IssuerKind::Issuer),
    ),
    gauge(
        "certmanager_clusterissuer_ready_status",
        "The Ready condition of each ClusterIssuer: 1 on the line that is true",
        Samples::Issuer(IssuerKind::ClusterIssuer),
    ),
    gauge(
        "certctl_invalid_manifests",
        "Number of Certificates and unreadable documents with a mistake",
        Samples::All(|all| all.mistakes),
    ),
    gauge(
        "certctl_last_run_timestamp_seconds",
        "End of the last run in seconds since the epoch",
        Samples::Run(|_, now| now.as_second()),
    ),
    gauge(
        "certctl_last_run_exit_code",
        "The exit code of the last run",
        Samples::Run(|run, _| run.code.number().into()),
    ),
    Metric {
        name: "certmanager_http_acme_client_request_count",
        kind: "counter",
        help: "Requests of the last run to ACME servers; status 999 means no response",
        samples: Samples::Requests,
    },
    gauge(
        "certmanager_clock_time_seconds_gauge",
        "Time of these metrics in seconds since the epoch",
        Samples::All(|all| all.now.as_second()),
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
    use crate::resource::{Identifier, NamespacedName, Order};
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
            let labels = [("one", value), ("two", "2")];
            let line = format!("name{{{}}} -7", text_of(&labels));
            let labels: Labels =
                labels.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            assert_eq!(sample(&line), ("name".to_owned(), labels, -7.0), "{value:?}");
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
        let samples = parse(&exposition(&[], &[], Some(&run), now));
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
    fn each_metric_is_named_and_described_as_prometheus_asks() {
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for Metric { name, kind, help, .. } in METRICS {
            let is_known = name.starts_with("certctl_") || name.starts_with("certmanager_");
            assert!(is_name(name) && is_known, "{name}");
            assert!(["gauge", "counter"].contains(kind), "{name}: {kind}");
            let is_plain = !help.is_empty() && !help.contains(['\\', '\n']) && !help.ends_with('.');
            assert!(is_plain, "{name}: {help}");
            let is_time = help.contains("seconds since the epoch");
            assert!(!is_time || name.contains("_seconds"), "{name}: {help}");
        }
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
