mod fixture;

use fixture::{NOW, at, failed, issuer, issuing, planned, ready};

use std::ffi::OsString;
use std::slice::from_ref;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::*;
use crate::cli::ExitCode;
use crate::cli::render::document;
use crate::cli::words::fix;
use crate::cli::words::next;
use crate::cli::words::order::order_waits_for;
use crate::controller::alert;
use crate::resource::{
    AuthorizationState, Cause, ChallengeFailure, ChallengeState, ConditionStatus, ConditionType,
    DeployTarget, Deployment, Doing, EndedChallenge, FailedOrder, Failure, FailureClass,
    OrderPhase, Phase, Problem, ReasonSource, Revocation, RevocationReason,
};
use crate::workspace::Blocked;
use crate::workspace::outlook::State;
use crate::workspace::view::{DamageCourse, Mistake};

/// The views, each with an outlook.
fn certificates(
    views: &[CertificateView],
    extent: Extent,
    scene: &Scene,
) -> Result<String, CliError> {
    let views: Vec<CertificateView> = views.iter().map(|view| planned(view, scene.now)).collect();
    super::certificates(&views, extent, scene)
}

fn needs_attention(views: &[CertificateView], now: Timestamp) -> bool {
    let scene = Scene { now, ..scene(Format::Text) };
    let mut listing = Listing::new(Extent::Line, &scene).unwrap();
    for view in views {
        listing.add(&planned(view, now)).unwrap();
    }
    listing.needs_attention
}

fn scene(format: Format) -> Scene {
    let (now, zone) = (at(NOW), berlin());
    Scene { now, zone, color: false, format, width: None }
}

fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
}

/// Its manifest exists and is invalid.
fn broken() -> CertificateView {
    let mistake = Mistake {
        code: "E0102",
        message: "spec.dnsNames[0]: \u{1b}bad".into(),
        path: "/etc/certctl/web.yaml".into(),
        line: 7,
    };
    CertificateView { mistake: Some(mistake), ..no_manifest() }
}

/// Revoked by the CA, with nothing in its place.
fn revoked() -> CertificateView {
    let mut view = ready();
    let fingerprint = view.readable_leaf().unwrap().fingerprint.clone();
    view.record.as_mut().unwrap().revocations = vec![Revocation {
        serial: "04d2".into(),
        fingerprint,
        reason: RevocationReason::KeyCompromise,
        requested_at: at("2026-11-21T02:00:00Z"),
        at_once: true,
        without_replacement: false,
        certificate: String::new(),
        revoked_at: Some(at("2026-11-21T02:00:05Z")),
        refusal: None,
    }];
    view
}

/// The same, and its manifest is gone.
fn revoked_for_good() -> CertificateView {
    CertificateView { certificate: None, ..revoked() }
}

/// Cells of a certificate in the table.
fn cells_of(view: &CertificateView) -> Vec<String> {
    let table = certificates(from_ref(view), Extent::Line, &scene(Format::Text)).unwrap();
    let row = table.lines().nth(1).unwrap();
    let cells = row.split("   ").map(str::trim).filter(|cell| !cell.is_empty());
    cells.map(str::to_owned).collect()
}

#[test]
fn a_revoked_certificate_is_due_now_or_never() {
    let mut unreplaced = revoked();
    unreplaced.record.as_mut().unwrap().revocations[0].without_replacement = true;
    for (view, renews) in
        [(revoked(), "next run"), (unreplaced, "you"), (revoked_for_good(), "you")]
    {
        assert_eq!(cells_of(&view)[..], ["REVOKED", "web", "2027-02-18 89d", renews]);
    }
    let gone = planned(&revoked_for_good(), scene(Format::Text).now);
    let page = detail::detail(&gone, &Host::default(), false, &scene(Format::Text)).to_string();
    let head: Vec<&str> = page.lines().take(2).collect();
    assert!(
        head[0].ends_with("keyCompromise; its manifest is gone, so nothing replaces it"),
        "{page}"
    );
    assert_eq!(head[1], "Next attempt: never");
}

#[test]
fn a_pending_revocation_is_in_the_summary() {
    let mut view = revoked();
    view.record.as_mut().unwrap().revocations[0].revoked_at = None;
    let scene = scene(Format::Text);
    let page = summary::summary(&view, None, &Host::default(), &scene).to_string();
    let line = page.lines().find(|line| line.starts_with("Revocation:")).unwrap();
    let expected = "Revocation:   of serial 04d2 (keyCompromise), pending since ";
    assert!(line.starts_with(expected), "{line}");
    let cancel = "\n  Try:        certctl revoke web --cancel\n";
    assert!(page.contains(cancel), "{page}");
}

#[test]
fn of_several_summaries_each_begins_with_its_name() {
    let named = |name: &str| {
        let mut view = ready();
        view.key.name = name.to_owned();
        view
    };
    let of = |views: &[CertificateView]| {
        let page = certificates(views, Extent::Summary, &scene(Format::Text)).unwrap();
        let lines = page.lines().filter(|line| line.starts_with("Name: "));
        lines.map(|line| line.split_whitespace().nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of(&[named("web"), named("mail")]), ["web", "mail"]);
    assert!(of(&[named("web")]).is_empty());
}

#[test]
fn both_pages_say_that_no_automatic_run_came_where_one_is_awaited() {
    let scene = scene(Format::Text);
    let shown = |view: &CertificateView| {
        let missed_run = Some("no automatic run yet".to_owned());
        let host = Host { missed_run, ..Host::default() };
        let view = &planned(view, scene.now);
        let pages = [
            summary::summary(view, None, &host, &scene).to_string(),
            detail::detail(view, &host, false, &scene).to_string(),
        ];
        pages.map(|page| {
            let lines = page.lines().skip_while(|line| !line.starts_with("Scheduler:")).take(2);
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            lines.map(words).collect::<Vec<_>>().join("|")
        })
    };
    assert_eq!(shown(&ready()), ["Scheduler: no automatic run yet|Try: certctl doctor"; 2]);
    assert_eq!(shown(&revoked_for_good()), [""; 2]);
}

#[test]
fn a_failure_beside_an_obstacle_is_not_said_to_be_over() {
    let mut view = failed();
    view.is_withdrawn = true;
    let scene = scene(Format::Text);
    let fact = "cannot open /srv/www".to_owned();
    let certificates = [view.key.clone()].into();
    let blocked = Blocked { fact, place: None, fix: None, certificates, is_of_deployment: false };
    let is_over = |blocked: Vec<Blocked>| {
        let host = Host { blocked, ..Host::default() };
        let page = summary::summary(&view, None, &host, &scene).to_string();
        page.split_whitespace().collect::<Vec<_>>().join(" ").contains("(no longer true): ")
    };
    assert_eq!([is_over(Vec::new()), is_over(vec![blocked])], [true, false]);
}

/// The status of requests, orders or challenges, all or those named.
fn objects_of(
    noun: Noun,
    views: &[CertificateView],
    names: &[NameTarget],
    scene: &Scene,
) -> Result<String, CliError> {
    let (mut listing, mut text) = (ObjectListing::new(noun, names, scene)?, String::new());
    for view in views {
        text += &listing.add(view)?;
    }
    Ok(text + &listing.end()?)
}

/// The status of the one issuer.
fn issuers(scene: &Scene) -> Result<String, CliError> {
    let mut listing = ObjectListing::new(Noun::Issuer, &[], scene)?;
    let text = listing.add_issuers(&[issuer()])?;
    Ok(text + &listing.end()?)
}

/// Refused by the CA: one name in two, with the problem kept in its order.
fn refused() -> CertificateView {
    let mut view = failed();
    view.orders = issuing().orders;
    let order = &mut view.orders[0];
    let at = view.record.as_ref().unwrap().status.last_failure_time;
    order.phase = OrderPhase::Failed(FailedOrder { at, ..order.phase.failed() });
    let [refused, undecided] = order.challenges.as_mut_slice() else { panic!() };
    let problem = Problem {
        kind: "urn:ietf:params:acme:error:unauthorized".into(),
        detail: "Incorrect TXT record".into(),
        ..Problem::default()
    };
    let cause = Cause::Challenge(Box::new(ChallengeFailure {
        identifier: refused.spec.identifier.clone(),
        wildcard: refused.spec.wildcard,
        url: refused.spec.authorization_url.clone(),
        state: AuthorizationState::Invalid,
        problem: Some(Box::new(problem.clone())),
        check: None,
        reason: "Incorrect TXT record".into(),
    }));
    view.record.as_mut().unwrap().last_failure.as_mut().unwrap().cause = cause;
    refused.fail(AuthorizationState::Invalid, Some(problem));
    undecided.state = ChallengeState::Ended(EndedChallenge {
        authorization: AuthorizationState::Pending,
        problem: None,
        check: None,
    });
    undecided.explain(ReasonSource::Accept, "Waiting for the CA to validate");
    view
}

/// An issuance that the CA deferred with Retry-After.
fn deferred() -> CertificateView {
    CertificateView { next_attempt: Some(at("2026-11-21T04:00:00Z")), ..waiting() }
}

/// An order whose DNS provider refuses the credentials.
fn refused_by_the_provider() -> CertificateView {
    let mut view = waiting();
    let challenge = &mut view.orders[0].challenges[0];
    let reason = "Error presenting challenge: cloudflare refuses the credentials";
    challenge.explain(ReasonSource::Other, reason);
    challenge.go_to(Phase::Queued);
    (challenge.presented.at, challenge.presented.is_owed) = (None, false);
    view
}

#[test]
fn refused_credentials_are_a_failure_with_the_check_that_shows_it() {
    let table =
        certificates(&[refused_by_the_provider()], Extent::Line, &scene(Format::Text)).unwrap();
    let below = "    Error presenting challenge: cloudflare refuses the credentials; try: certctl \
                 check dns api.example.com\n";
    assert!(table.contains("\nFAILED   api ") && table.ends_with(below), "{table}");
}

/// An order that no process works on.
fn waiting() -> CertificateView {
    CertificateView { worker: None, ..issuing() }
}

/// A renewal that has failed for three weeks.
fn overdue() -> CertificateView {
    let view = failed();
    let end = view.readable_leaf().unwrap().not_after;
    let overdue = alert::overdue(view.renewal_time, Some(end), at(NOW));
    CertificateView { overdue, ..view }
}

/// Its record cannot be read.
fn damaged() -> CertificateView {
    let damage = "/var/lib/certctl/certificates/default/web/status.json: cannot be read (EOF)";
    CertificateView {
        damage: Some(Damage {
            message: damage.to_owned(),
            course: DamageCourse::SetAside,
            entry: None,
        }),
        ..CertificateView::unknown(NamespacedName::new("default", "web"))
    }
}

/// A document that cannot be parsed.
fn nameless() -> CertificateView {
    CertificateView {
        mistake: broken().mistake,
        ..CertificateView::unknown(NamespacedName::new("", ""))
    }
}

fn no_manifest() -> CertificateView {
    CertificateView { certificate: None, ..ready() }
}

/// Compares with a file beside this one.
fn golden(name: &str, text: &str) {
    crate::cli::golden::golden(&format!("verbs/status/tests/{name}"), text);
}

#[test]
fn the_table_has_one_line_per_certificate_and_a_second_where_a_person_has_to_act() {
    let mut views = vec![ready(), issuing(), failed(), refused(), broken(), revoked(), deferred()];
    views.extend(vec![waiting(), overdue(), damaged(), nameless()]);
    golden("overview.txt", &certificates(&views, Extent::Line, &scene(Format::Text)).unwrap());
    golden("overview-wide.txt", &certificates(&views, Extent::Line, &scene(Format::Wide)).unwrap());
    let width = Some(60);
    let narrow = Scene { width, ..scene(Format::Text) };
    golden("overview-narrow.txt", &certificates(&views, Extent::Line, &narrow).unwrap());
}

#[test]
fn a_namespace_is_shown_where_it_is_not_the_default_one() {
    let mut other = no_manifest();
    other.key.namespace = "prod".into();
    let table = certificates(&[ready(), other], Extent::Line, &scene(Format::Text)).unwrap();
    assert_eq!(
        table,
        "\
STATUS        NAME       EXPIRES          NEXT
READY         web        2027-02-18 89d   2027-01-19 59d
NO MANIFEST   prod/web   2027-02-18 89d   you
    /etc/certctl/web.yaml no longer has it; try: certctl forget prod/web

2 certificates: 1 ready, 1 no manifest
"
    );
}

#[test]
fn what_is_wrong_with_many_is_below_the_first_with_their_number() {
    let named = |number: usize| {
        let mut view = failed();
        view.key.name = format!("web-{number:03}");
        view
    };
    let views: Vec<_> = (1..=297).map(named).chain([ready()]).collect();
    let table = certificates(&views, Extent::Line, &scene(Format::Text)).unwrap();
    let below: Vec<&str> = table.lines().filter(|line| line.starts_with(' ')).collect();
    let [line] = below.as_slice() else { panic!("{table}") };
    assert!(line.ends_with(" (and 296 more); try: certctl renew web-001"), "{line}");
    assert!(table.ends_with("\n298 certificates: 1 ready, 297 failed\n"), "{table}");
}

#[test]
fn of_three_hundred_the_three_that_failed_are_seen_in_eighty_columns() {
    let named = |number: usize| {
        let mut view = if number.is_multiple_of(100) { failed() } else { ready() };
        view.key.name = format!("shop-{number:03}.example.com");
        let cause = Cause::local(format!("hooks.d/install: exit code 7: disk {number} is full"));
        if let Some(failure) = view.record.as_mut().and_then(|one| one.last_failure.as_mut()) {
            failure.cause = cause;
        }
        view
    };
    let views: Vec<_> = (1..=300).map(named).collect();
    let scene = Scene { width: Some(80), ..scene(Format::Text) };
    let table = certificates(&views, Extent::Line, &scene).unwrap();
    assert!(table.lines().all(|line| line.len() <= 80), "{table}");
    let shown: String =
        table.split_inclusive('\n').filter(|line| !line.contains("READY")).collect();
    golden("three-of-three-hundred.txt", &shown);
}

/// A golden file, and the certificate that it shows.
type Sample = (&'static str, fn() -> CertificateView);

#[test]
fn a_page_tells_the_verdict_first_and_then_all_there_is() {
    let pages: [Sample; 11] = [
        ("ready.txt", ready),
        ("issuing.txt", issuing),
        ("failed.txt", failed),
        ("no-manifest.txt", no_manifest),
        ("broken-manifest.txt", broken),
        ("revoked.txt", revoked),
        ("refused.txt", refused),
        ("deferred.txt", deferred),
        ("waiting.txt", waiting),
        ("overdue.txt", overdue),
        ("damaged.txt", damaged),
    ];
    for (name, view) in pages {
        golden(name, &certificates(&[view()], Extent::Whole, &scene(Format::Text)).unwrap());
    }
    let mut summaries = String::new();
    for (_, view) in pages {
        let text = certificates(&[view()], Extent::Summary, &scene(Format::Text)).unwrap();
        assert!(text.lines().count() <= 15, "{text}");
        summaries += &[&text, "\n"].concat();
    }
    golden("summaries.txt", &summaries);
    let wide = certificates(&[issuing()], Extent::Whole, &scene(Format::Wide)).unwrap();
    golden("issuing-wide.txt", &wide);
}

#[test]
fn lists_have_one_line_per_object() {
    let mut text = String::new();
    for format in [Format::Text, Format::Wide, Format::Name] {
        text += &issuers(&scene(format)).unwrap();
        for noun in [Noun::CertificateRequest, Noun::Order, Noun::Challenge] {
            text += &objects_of(noun, &[ready(), issuing()], &[], &scene(format)).unwrap();
        }
    }
    text += &certificates(&[ready(), issuing()], Extent::Line, &scene(Format::Name)).unwrap();
    golden("lists.txt", &text);
}

#[test]
fn metrics_have_the_names_of_cert_manager() {
    let views = [ready(), issuing(), failed()];
    golden(
        "metrics.prom",
        &certificates(&views, Extent::Line, &scene(Format::Prometheus)).unwrap(),
    );
    let error = issuers(&scene(Format::Prometheus)).unwrap_err();
    assert_eq!(error.code, ExitCode::Usage);
}

#[test]
fn a_lost_output_is_pending_in_the_metrics_as_in_the_verdict_with_what_retries_it() {
    let lost = CertificateView { lost_output: Some("output to /out: tls.crt".into()), ..ready() };
    let lost = planned(&lost, scene(Format::Text).now);
    assert_eq!(lost.outlook.state, State::PendingDeploy);
    let deploy =
        ("certctl deploy web".to_owned(), "after fixing the cause, run its outputs and hooks");
    let helps = fix::of_certificate(&lost);
    let helps: Vec<_> = helps.iter().map(|(fix, what)| (fix::worded(fix), *what)).collect();
    assert_eq!(helps, [deploy]);
    let metrics = certificates(&[lost], Extent::Line, &scene(Format::Prometheus)).unwrap();
    let mut lines = metrics.lines();
    let pending = lines.find(|line| line.starts_with("certctl_certificate_pending_deploy{"));
    assert!(pending.unwrap().ends_with(" 1"), "{metrics}");
}

/// Names of an edited manifest wait for the next run, which makes an order for them.
#[test]
fn an_order_of_other_names_than_the_manifests_waits_for_the_next_run() {
    let mut view = waiting();
    let sentence = |view: &CertificateView| State::Waiting.sentence(view, &scene(Format::Text));
    assert!(
        sentence(&view).contains("DNS-01 validation of *.api.example.com"),
        "{}",
        sentence(&view)
    );
    let spec = &mut view.certificate.as_mut().unwrap().spec;
    spec.dns_names.push("www.example.com".parse().unwrap());
    let edited = "the order waits for the next run of certctl issue, which starts a new order \
        because the names in the manifest changed";
    assert_eq!(sentence(&view), edited);
    let summary = certificates(from_ref(&view), Extent::Summary, &scene(Format::Text)).unwrap();
    assert!(!summary.contains("Waiting for:"), "{summary}");
    assert!(summary.contains("Try:          certctl issue api "), "{summary}");
    // The process that works on it goes on.
    view.worker = Some("process 4711".into());
    assert!(
        sentence(&view).contains("DNS-01 validation of *.api.example.com"),
        "{}",
        sentence(&view)
    );
}

/// The CA's answer for a challenge is read with the order, once it was told of all.
#[test]
fn an_order_waits_for_the_ca_once_it_was_told_of_all_challenges() {
    let mut view = issuing();
    let order = &mut view.orders[0];
    let of = |order: &_| order_waits_for(order, false, false);
    let first = "DNS-01 validation of *.api.example.com: the self-check";
    assert_eq!(of(order), [first]);
    let by_ca = |name| format!("{name}: the CA's answer");
    order.challenges[0].go_to(Phase::Accepted);
    assert_eq!(
        of(order),
        [by_ca("DNS-01 validation of *.api.example.com"), by_ca("HTTP-01 validation of 192.0.2.7")]
    );
}

#[test]
fn a_reload_that_no_run_has_done_yet_is_left_to_the_next_run() {
    let target = DeployTarget::Reload { name: "nginx".into() };
    let owed = CertificateView { owed: Some(target), ..ready() };
    let scene = scene(Format::Text);
    let owed = planned(&owed, scene.now);
    assert_eq!(next::cell(&owed, &scene), "next run");
    let summary = certificates(from_ref(&owed), Extent::Summary, &scene).unwrap();
    assert!(!summary.contains("Waiting for:"), "{summary}");
    let helps = fix::of_certificate(&planned(&owed, scene.now));
    assert_eq!(helps[0].1, "run its outputs and hooks now");
}

#[test]
fn a_deployment_that_failed_again_waits_for_its_next_attempt() {
    let mut view = ready();
    let now = scene(Format::Text).now;
    let target = DeployTarget::Hook { name: "install".into() };
    view.record.as_mut().unwrap().deployments = vec![Deployment {
        failed_attempts: 2,
        last_failure_time: Some(now),
        ..Deployment::new(target)
    }];
    let lines = |view: &CertificateView| {
        let page = certificates(from_ref(view), Extent::Whole, &scene(Format::Text)).unwrap();
        page.lines().find(|line| line.starts_with("Next attempt: ")).unwrap().to_owned()
    };
    let next = lines(&view);
    assert!(next.ends_with(" in 5m") || next.ends_with("(in 5m)"), "{next}");
    // The next run tries what failed once.
    view.record.as_mut().unwrap().deployments[0].failed_attempts = 1;
    assert_eq!(lines(&view), "Next attempt: the next run of certctl issue");
}

#[test]
fn only_a_run_waits_for_a_slot() {
    let mut running = issuing();
    for challenge in &mut running.orders[0].challenges {
        if let Some(pending) = challenge.pending_mut() {
            pending.phase = Phase::Queued;
        }
    }
    let waiting = CertificateView { worker: None, ..running.clone() };
    let page = |view: &CertificateView| {
        certificates(from_ref(view), Extent::Whole, &scene(Format::Text)).unwrap()
    };
    assert!(
        page(&running).contains("HTTP-01 validation of 192.0.2.7: a free slot"),
        "{}",
        page(&running)
    );
    let page = page(&waiting);
    assert!(!page.contains("a free slot"), "{page}");
    assert!(page.contains("HTTP-01 validation of 192.0.2.7"), "{page}");
}

#[test]
fn machines_read_objects_of_cert_manager() {
    let views = vec![ready(), issuing(), failed(), no_manifest()];
    let mut documents = certificates(&views, Extent::Line, &scene(Format::Yaml)).unwrap();
    for noun in [Noun::CertificateRequest, Noun::Order, Noun::Challenge] {
        documents += "---\n";
        documents += &objects_of(noun, &views, &[], &scene(Format::Yaml)).unwrap();
    }
    documents += "---\n";
    documents += &issuers(&scene(Format::Yaml)).unwrap();
    golden("objects.yaml", &documents);
    golden(
        "certificates.json",
        &certificates(&views[..1], Extent::Whole, &scene(Format::Json)).unwrap(),
    );
}

#[test]
fn a_lost_certificate_without_requests_is_still_in_the_json() {
    let lost = CertificateView { requests: Vec::new(), ..no_manifest() };
    let text = certificates(&[lost], Extent::Line, &scene(Format::Json)).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    let found = &answer["items"][0];
    assert_eq!(
        found["spec"],
        json!({ "secretName": "web-tls", "issuerRef": { "name": "", "kind": "Issuer" } })
    );
    assert_eq!(found["metadata"]["annotations"]["status.certctl/verdict"], "NO MANIFEST");
}

#[test]
fn a_failure_stands_in_the_message_of_ready_and_is_not_told_twice() {
    let mut view = failed();
    let found = |view: &CertificateView| {
        let text = certificates(from_ref(view), Extent::Whole, &scene(Format::Json)).unwrap();
        let object: Value = text.parse().unwrap();
        let conditions = object["status"]["conditions"].as_array().unwrap().clone();
        let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap();
        let note = object["metadata"]["annotations"].get("status.certctl/last-failure").cloned();
        (ready["message"].as_str().unwrap().to_owned(), note)
    };
    let why = view.failure().unwrap().to_string();
    let is_current = "Certificate is up to date and has not expired".to_owned();
    assert_eq!(found(&view), (is_current, Some(json!(why))));
    let conditions = &mut view.record.as_mut().unwrap().status.conditions;
    let ready = conditions.iter_mut().find(|one| one.kind == ConditionType::Ready).unwrap();
    ready.status = ConditionStatus::False;
    assert_eq!(found(&view), (why, None));
}

/// Next steps in the table and the summary.
fn next_of(view: &CertificateView) -> (String, String) {
    let scene = scene(Format::Text);
    let summary = certificates(from_ref(view), Extent::Summary, &scene).unwrap();
    let next = summary.lines().find_map(|line| line.strip_prefix("Next attempt: "));
    (cells_of(view)[3].clone(), next.unwrap().to_owned())
}

#[test]
fn the_table_and_the_summary_agree_on_what_comes_next() {
    let run = "the next run of certctl issue";
    let pending = CertificateView { record: None, leaf: None, renewal_time: None, ..ready() };
    let undeployed = CertificateView { lost_output: Some("output: gone".into()), ..ready() };
    let later = "not before 2026-11-21 05:00 CET, in 48m";
    let agree = |what: &str, view: &CertificateView, cell: &str, sentence: &str| {
        assert_eq!(next_of(view), (cell.to_owned(), sentence.to_owned()), "{what}");
    };
    agree("waiting", &waiting(), "next run", run);
    agree("pending", &pending, "next run", run);
    agree("pending deploy", &undeployed, "next run", run);
    agree("deferred", &deferred(), "retry in 48m", later);
    agree("revoked", &revoked(), "next run", run);
    agree("without a manifest", &no_manifest(), "you", "never");
}

/// Refused by the CA three times, and stopped by this host since.
fn refused_and_then_stopped() -> CertificateView {
    let mut view = CertificateView { next_attempt: None, ..refused() };
    let message = "[::]:80 is in use by nginx (pid 812)".to_owned();
    let cause = Cause::precondition(message);
    let failure = Failure::new(FailureClass::Precondition, Doing::Nothing, cause);
    view.record.as_mut().unwrap().last_failure =
        Some(Failure { at: Some(at("2026-11-21T03:00:00Z")), ..failure });
    view
}

#[test]
fn what_failed_last_is_the_cause_and_what_counted_before_is_history() {
    let view = refused_and_then_stopped();
    let scene = scene(Format::Text);
    let sentence = State::of(&view, scene.now).sentence(&view, &scene);
    assert!(sentence.starts_with("[::]:80 is in use by nginx (pid 812); "), "{sentence}");
    for extent in [Extent::Summary, Extent::Whole] {
        let text = certificates(from_ref(&view), extent, &scene).unwrap();
        let refused: Vec<&str> =
            text.lines().filter(|line| line.contains("unauthorized")).collect();
        let before = "2026-11-21 01:52 CET, 2h20m ago: *.api.example.com was not validated by \
                      dns-01: unauthorized";
        let line = refused.iter().find(|line| line.starts_with("Before that:"));
        assert!(line.is_some_and(|line| line.ends_with(before)), "{text}");
        assert_eq!(refused.len(), 1, "{text}");
        assert!(!text.contains("certctl check dns"), "{text}");
        assert!(text.contains("certctl issue mail"), "{text}");
    }
    let table = certificates(&[view], Extent::Line, &scene).unwrap();
    let below = "    [::]:80 is in use by nginx (pid 812); try: certctl issue mail\n";
    assert!(table.ends_with(below), "{table}");
}

#[test]
fn a_summary_fits_a_narrow_terminal_but_for_commands_and_paths() {
    let width = Some(40);
    let scene = Scene { width, ..scene(Format::Text) };
    let text = certificates(&[refused()], Extent::Summary, &scene).unwrap();
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 40).collect();
    assert_eq!(wide, ["  /var/lib/certctl/secrets/default/mail-tls"], "{text}");
    assert!(text.contains("\n    certctl check dns api.example.com\n"), "{text}");
}

#[test]
fn each_situation_has_its_word() {
    let now = at(NOW);
    let expired = at("2027-03-01T00:00:00Z");
    let renewing = CertificateView { leaf: ready().leaf, ..issuing() };
    let renewal_waits = CertificateView { leaf: ready().leaf, ..waiting() };
    let failing = |at_time: &str| {
        let mut view = renewal_waits.clone();
        let cause = Cause::local("no secret");
        let failure = Failure::new(FailureClass::Precondition, Doing::Nothing, cause);
        let failure = Failure { at: Some(at(at_time)), ..failure };
        view.record.as_mut().unwrap().last_failure = Some(failure);
        view
    };
    // The challenge was presented at 03:10:00.
    let renewal_fails = failing("2026-11-21T03:10:01Z");
    let order_after_failure = failing("2026-11-21T03:09:59Z");
    let begun = CertificateView { orders: Vec::new(), ..renewal_waits.clone() };
    let hanging = CertificateView {
        worker: Some("process 1".into()),
        overdue: overdue().overdue,
        ..renewing.clone()
    };
    let never_tried = CertificateView { record: None, leaf: None, ..ready() };
    let unreadable = CertificateView { leaf: Some(Err("no PEM".into())), ..ready() };
    let mut unreachable = ready();
    unreachable.record.as_mut().unwrap().last_failure =
        Some(Failure::new(FailureClass::Unreachable, Doing::Nothing, Cause::local("timeout")));
    for (what, view, now, word, attention) in vec![
        ("ready", ready(), now, "READY", false),
        ("expired", ready(), expired, "EXPIRED", true),
        ("issuing", issuing(), now, "ISSUING", true),
        ("renewing", renewing, now, "RENEWING", false),
        ("failed", failed(), now, "FAILED", true),
        ("failed without counting", unreachable, now, "FAILED", true),
        ("never tried", never_tried, now, "PENDING", true),
        ("unreadable", unreadable, now, "PENDING", true),
        ("no manifest", no_manifest(), expired, "NO MANIFEST", true),
        ("broken manifest", broken(), expired, "INVALID", true),
        ("a document that is none", nameless(), now, "INVALID", true),
        ("damaged", damaged(), now, "STATE DAMAGED", true),
        ("waiting", waiting(), now, "WAITING", true),
        ("refused by its DNS provider", refused_by_the_provider(), now, "FAILED", true),
        ("waiting, with a certificate that works", renewal_waits, now, "WAITING", true),
        ("failing since its order was made", renewal_fails, now, "FAILED", true),
        ("working on an order after a failure", order_after_failure, now, "WAITING", true),
        ("begun, without an order", begun, now, "PENDING", true),
        ("overdue", overdue(), now, "OVERDUE", true),
        ("overdue, while a process hangs", hanging, now, "OVERDUE", true),
        ("overdue, and expired", overdue(), expired, "EXPIRED", true),
        ("revoked", revoked(), now, "REVOKED", true),
        ("revoked, and expired", revoked(), expired, "EXPIRED", true),
        ("revoked, without a manifest", revoked_for_good(), now, "REVOKED", true),
        (
            "revoked, without a manifest, and expired",
            revoked_for_good(),
            expired,
            "NO MANIFEST",
            true,
        ),
        ("deferred", deferred(), now, "DEFERRED", true),
    ] {
        let state = State::of(&view, now);
        assert_eq!((state.word(), !state.is_well()), (word, attention), "{what}");
    }
    assert!(needs_attention(&[ready(), failed()], now));
    assert!(!needs_attention(&[ready(), ready()], now));
}

#[test]
fn a_leading_kind_is_taken_from_the_words() {
    for (words, noun, names) in [
        (vec![], Noun::Certificate, 0),
        (vec!["web"], Noun::Certificate, 1),
        (vec!["certificate", "order"], Noun::Certificate, 1),
        (vec!["order"], Noun::Order, 0),
        (vec!["cr", "web-1", "web-2"], Noun::CertificateRequest, 2),
        (vec!["clusterissuers"], Noun::Issuer, 0),
        (vec!["challenge", "x"], Noun::Challenge, 1),
    ] {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let (found, rest) = Noun::split(&words);
        assert_eq!((found, rest.len()), (noun, names), "{words:?}");
    }
}

/// Replaced while its challenges were pending.
fn retired() -> CertificateView {
    let mut view = issuing();
    let order = &mut view.orders[0];
    order.phase = OrderPhase::Replaced { urls: order.phase.urls().cloned() };
    order.reason = "replaced by a newer request".into();
    order.challenges.iter_mut().for_each(crate::resource::Challenge::end);
    view
}

#[test]
fn a_retired_order_and_its_challenges_are_final_wherever_they_are_shown() {
    let views = [retired()];
    for noun in [Noun::Order, Noun::Challenge] {
        for format in [Format::Text, Format::Json] {
            let text = objects_of(noun, &views, &[], &scene(format)).unwrap();
            assert!(text.contains("errored") && !text.contains("pending "), "{text}");
            assert!(!text.contains("\"state\": \"pending\""), "{text}");
        }
    }
    let page = certificates(&views, Extent::Whole, &scene(Format::Text)).unwrap();
    assert!(page.contains("State: errored, Reason: replaced by a newer request"), "{page}");
    assert!(page.contains("State: errored, Reason: ns1.example.com"), "{page}");
    assert!(!page.contains(", State: pending"), "{page}");
    let metrics = certificates(&views, Extent::Line, &scene(Format::Prometheus)).unwrap();
    let holding =
        metrics.lines().filter(|line| line.contains("challenge_status{") && line.ends_with(" 1"));
    let states: Vec<bool> = holding.map(|line| line.contains("status=\"pending\"")).collect();
    assert_eq!(states, [false, false], "{metrics}");
}

#[test]
fn objects_are_chosen_by_name_and_a_missing_one_is_an_error() {
    let named = |name: &str| [NameTarget::parse(name).unwrap()];
    let find =
        |name: &str| objects_of(Noun::Challenge, &[issuing()], &named(name), &scene(Format::Name));
    assert_eq!(find("api-1-1-2").unwrap(), "challenge/api-1-1-2\n");
    assert_eq!(find("default/api-1-1-2").unwrap(), "challenge/api-1-1-2\n");
    for missing in ["api-1-1-3", "prod/api-1-1-2"] {
        let error = find(missing).unwrap_err();
        assert_eq!(error.code, ExitCode::Manifest, "{missing}");
    }
}

#[test]
fn what_is_written_item_by_item_is_the_list_of_all() {
    let views = [ready(), issuing(), failed()];
    for count in 0..=views.len() {
        for format in [Format::Json, Format::Yaml] {
            let views = &views[..count];
            let objects: Vec<_> = views
                .iter()
                .map(|view| Object(CertificateObject::from(&planned(view, at(NOW)))))
                .collect();
            let expected = document::list(&objects, false, format).unwrap();
            let written = certificates(views, Extent::Line, &scene(format)).unwrap();
            assert_eq!(written, expected, "{count} {format:?}");
        }
    }
}
