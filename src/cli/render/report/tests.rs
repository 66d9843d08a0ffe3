use jiff::tz::TimeZone;
use serde_json::json;

use super::*;
use crate::cli::golden::golden;
use crate::controller::Deferral;
use crate::engine::{Ended, Ending, Evidence, PendingOn, Undeployed};
use crate::resource::{
    CaFailure, CaFault, Cause, ChallengeFailure, DeployTarget, Doing, LeafFacts, Limit, Order,
    OrderFailure, OrderState, ProgramFailure, Spent,
};
use crate::store::OpenMode;
use crate::workspace::open_state;

const NOW: &str = "2026-11-21T03:12:09Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn log() -> Style {
    Style { now: at(NOW), zone: None, utf8: false, names: 0, columns: None }
}

fn person() -> Style {
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
    Style { now: at(NOW), zone: Some(zone), utf8: true, names: 0, columns: None }
}

/// A challenge as it is kept: `spec` by its type, the rest as given. Without a phase it was refused.
fn challenge(kind: &str, name: &str, rest: &Value) -> Value {
    let solver = match kind {
        "dns-01" => json!({ "dns01": {
            "provider": { "cloudflare": { "apiTokenSecretRef": { "name": "cf", "key": "t" } } },
        } }),
        _ => json!({ "http01": {} }),
    };
    let mut challenge = json!({
        "spec": {
            "authorizationURL": format!("https://ca.test/authz/{name}"), "type": kind,
            "url": format!("https://ca.test/chall/{name}"), "identifier": { "dns": name },
            "wildcard": false, "token": format!("tok-{name}"), "key": "tok.thumb", "solver": solver,
        },
        "presented": { "isOwed": false },
    });
    let mut state = rest.clone();
    let fields = state.as_object_mut().unwrap();
    for field in ["reason", "reasonSource"] {
        if let Some(value) = fields.remove(field) {
            challenge[field] = value;
        }
    }
    fields.entry("authorization").or_insert("invalid".into());
    let variant = if fields.contains_key("phase") { "pending" } else { "failed" };
    challenge["state"] = json!({ variant: state });
    challenge
}

fn refused(kind: &str, name: &str, problem: &str, detail: &str) -> Value {
    let problem =
        json!({ "type": format!("urn:ietf:params:acme:error:{problem}"), "detail": detail });
    challenge(kind, name, &json!({ "reason": "as below", "problem": problem }))
}

fn order(challenges: &[Value], rest: &Value) -> Order {
    let mut order = json!({
        "name": "web-1-1",
        "creationTimestamp": "2026-11-21T01:09:12Z",
        "spec": {
            "certificate": { "namespace": "default", "name": "web" }, "revision": 1,
            "request": "-----BEGIN CERTIFICATE REQUEST-----\n",
            "issuerRef": { "name": "letsencrypt" },
            "directoryURL": "https://ca.test/directory", "accountURL": "https://ca.test/acct/7",
            "identifiers": [{ "dns": "www.example.com" }],
        },
        "number": 1, "phase": { "failed": {} }, "state": "invalid", "expires": "2026-11-28T01:09:12Z",
        "authorizations": [], "challenges": challenges,
    });
    for (field, value) in rest.as_object().unwrap() {
        order[field] = value.clone();
    }
    from(order)
}

fn solving() -> Value {
    json!({ "solving": { "url": "https://ca.test/order/1", "finalizeURL": "" } })
}

fn ended(ending: Ending, evidence: Evidence) -> Ended {
    let evidence = Evidence { issuer: "letsencrypt".into(), ..evidence };
    Ended { evidence, ..Ended::new(NamespacedName::new("default", "web"), ending) }
}

fn failed(failure: Failure, attempts: Option<u32>, evidence: Evidence) -> Ended {
    let next_attempt = attempts.map(|_| at("2026-11-21T05:12:09Z"));
    ended(Ending::Failed { failure, attempts, next_attempt }, evidence)
}

/// Builds an answer of the CA at a URL.
fn at_the_ca(
    doing: Doing,
    fault: CaFault,
    url: &str,
    problem: Option<Value>,
    why: &str,
) -> Failure {
    let (url, message) = (url.to_owned(), why.to_owned());
    let problem = problem.map(|problem| Box::new(from(problem)));
    Failure::of(doing, Cause::Ca(CaFailure { fault, url, problem, message, clock_ahead: None }))
}

fn with(order: Order) -> Evidence {
    Evidence { order: Some(Box::new(order)), ..Evidence::default() }
}

/// The failure that the first challenge's verdict is.
fn of_the_first(evidence: &Evidence) -> Failure {
    let first = &evidence.order.as_ref().unwrap().challenges[0];
    let cause = Cause::Challenge(Box::new(ChallengeFailure {
        identifier: first.spec.identifier.clone(),
        wildcard: first.spec.wildcard,
        url: first.spec.authorization_url.clone(),
        state: first.authorization().clone(),
        problem: first.problem().cloned().map(Box::new),
        check: first.check().cloned().map(Box::new),
        reason: first.reason.clone(),
    }));
    Failure::of(Doing::Nothing, cause)
}

/// The failure of an order that was refused, and the order.
fn order_failed(failure: &Failure) -> (Failure, Evidence) {
    let reason = failure.to_string();
    let rest = json!({
        "state": "errored", "reason": reason,
        "phase": { "failed": { "problem": failure.cause.problem(), "failure": failure } },
    });
    let order = order(&[], &rest);
    let cause = Cause::Order(Box::new(OrderFailure {
        name: order.name.clone(),
        url: order.url().map(str::to_owned),
        state: order.state.clone(),
        problem: order.problem().cloned().map(Box::new),
        failure: order.phase.failed().failure,
        reason,
    }));
    (Failure::of(Doing::Nothing, cause), with(order))
}

fn pending(order: Order, overdue: bool) -> Ended {
    let (name, since) = (order.name.clone(), order.creation_timestamp);
    let ending =
        Ending::Pending { order: name, since, why: PendingOn::Order(OrderState::Pending), overdue };
    let not_after = overdue.then(|| at("2026-11-22T03:12:09Z"));
    ended(ending, Evidence { not_after, ..with(order) })
}

/// A name that was refused, with what the self-check saw of it before.
fn one_name() -> Ended {
    let detail = "192.0.2.7: Invalid response from \
                  http://www.example.com/.well-known/acme-challenge/tok: 404\u{1b}[2J\nsecond";
    let mut refused = refused("http-01", "www.example.com", "unauthorized", detail);
    refused["state"]["failed"]["check"] = json!({ "http01": {
        "identifier": { "dns": "www.example.com" },
        "url": "http://www.example.com/.well-known/acme-challenge/tok",
        "addresses": [{ "address": "192.0.2.7", "outcome": "correct" }],
        "verdict": "passed",
    } });
    let evidence = with(order(&[refused], &json!({})));
    failed(of_the_first(&evidence), Some(2), evidence)
}

/// Forty names that were refused for one reason, with their own names in it, and three others.
fn forty_names() -> Ended {
    let mut all: Vec<Value> = (1..=40)
        .map(|number| {
            let name = format!("n{number}.example.com");
            let detail = format!("no valid A records found for {name}");
            refused("http-01", &name, "dns", &detail)
        })
        .collect();
    all.push(refused("http-01", "n41.example.com", "dns", "SERVFAIL looking up n41.example.com"));
    all.push(refused("dns-01", "x.example.com", "caa", "CAA record for x.example.com"));
    all.push(challenge(
        "http-01",
        "y.example.com",
        &json!({ "reason": "the CA says expired", "authorization": "expired" }),
    ));
    let evidence = with(order(&all, &json!({})));
    failed(of_the_first(&evidence), Some(1), evidence)
}

fn rate_limited() -> Ended {
    let problem = json!({
        "status": 429, "type": "urn:ietf:params:acme:error:rateLimited",
        "detail": "too many certificates (5) already issued for this exact set of identifiers in \
                   the last 168h0m0s, retry after 2026-11-21 09:40:00 UTC: see https://ca.test/l",
    });
    let url = "https://ca.test/new-order";
    let refused = at_the_ca(Doing::CreateOrder, CaFault::Refused, url, Some(problem), "");
    let (failure, evidence) = order_failed(&refused);
    failed(failure, Some(3), evidence)
}

fn rejected_names() -> Ended {
    let urn = |kind: &str| format!("urn:ietf:params:acme:error:{kind}");
    let problem = json!({
        "status": 403, "type": urn("rejectedIdentifier"), "detail": "Cannot issue for some names",
        "instance": "https://ca.test/why/7",
        "subproblems": [
            { "identifier": "a.local", "type": urn("rejectedIdentifier"), "detail": "no public suffix" },
            { "identifier": "b.test", "type": urn("caa"), "detail": "forbids\nthis CA" },
        ],
    });
    let url = "https://ca.test/new-order";
    let refused = at_the_ca(Doing::CreateOrder, CaFault::Refused, url, Some(problem), "");
    let (failure, evidence) = order_failed(&refused);
    failed(failure, Some(1), evidence)
}

/// An account that the CA wants to be bound; no order was made.
fn no_account() -> Ended {
    let problem = json!({
        "status": 403, "type": "urn:ietf:params:acme:error:externalAccountRequired",
        "detail": "The request must include a value for the \"externalAccountBinding\" field",
    });
    let url = "https://ca.test/new-account";
    let refused = at_the_ca(Doing::RegisterAccount, CaFault::Refused, url, Some(problem), "");
    failed(refused, Some(1), Evidence::default())
}

fn dns_table() -> Ended {
    let reason = "DNS record for \"www.example.com\" not yet propagated (1 of 2 name servers)";
    let waits = json!({
        "phase": "selfChecking", "authorization": "pending",
        "reason": format!("Waiting for DNS-01 challenge propagation: {reason}"),
        "reasonSource": "selfCheck",
        "check": { "dns01": {
            "domain": "www.example.com", "name": "acme.example.net",
            "aliases": { "chain": ["acme.example.net"] }, "zone": "example.net",
            "servers": [
                { "server": "ns1.example.net", "answers": [{
                    "address": "192.0.2.1:53",
                    "response": { "records": {
                        "hasValue": true, "otherCount": 0, "others": [], "ttl": 300,
                        "isAuthoritative": true,
                    } },
                }] },
                { "server": "ns2.example.net", "answers": [{
                    "address": "[2001:db8::3]:53",
                    "response": { "silent": { "why": "no answer in time" } },
                }] },
            ],
            "verdict": { "failed": { "reason": reason } },
        } },
    });
    let order = order(
        &[challenge("dns-01", "www.example.com", &waits)],
        &json!({ "state": "pending", "phase": solving() }),
    );
    pending(order, false)
}

fn forty_waits() -> Ended {
    let reason = |name: &str| {
        format!("Waiting for HTTP-01 challenge propagation: {name}'s 192.0.2.7: connection refused")
    };
    let mut all: Vec<Value> = (1..=40)
        .map(|number| format!("n{number}.example.com"))
        .map(|name| {
            let waits =
                json!({ "phase": "selfChecking", "authorization": "pending", "reason": reason(&name) });
            challenge("http-01", &name, &waits)
        })
        .collect();
    let error = "Error presenting challenge: the API says 401";
    let waits = json!({ "phase": "presenting", "authorization": "pending", "reason": error });
    all.push(challenge("dns-01", "x.example.com", &waits));
    all.push(challenge(
        "http-01",
        "z.example.com",
        &json!({ "phase": "queued", "authorization": "pending" }),
    ));
    pending(order(&all, &json!({ "state": "pending", "phase": solving() })), true)
}

fn deferred(urgent: Option<FailureClass>) -> Ended {
    let ending = Ending::Deferred {
        until: Some(at("2026-11-21T05:12:09Z")),
        why: Deferral::Backoff { attempts: 1 },
        urgent,
    };
    let message = "www.example.com: no such name";
    let last_failure =
        Some(Failure::new(FailureClass::Validation, Doing::Nothing, Cause::local(message)));
    let not_after = urgent.map(|_| at("2026-11-20T03:12:09Z"));
    ended(ending, Evidence { last_failure, not_after, ..Evidence::default() })
}

/// Builds a certificate that waits for a limit of the CA.
fn limited(name: &str, until: &str, of: &str) -> Ended {
    let spent = Spent {
        limit: Limit::CertificatesPerDomain,
        of: of.to_owned(),
        used: 50,
        most: 50,
        period: jiff::SignedDuration::from_hours(7 * 24),
        fits_at: at(until),
    };
    let why = Deferral::Limit(Box::new(spent));
    let ending = Ending::Deferred { until: Some(at(until)), why, urgent: None };
    let certificate = NamespacedName::new("default", name);
    Ended { certificate, ..ended(ending, Evidence::default()) }
}

#[test]
fn many_that_wait_for_one_limit_are_one_message() {
    let ends = [
        limited("a", "2026-11-21T05:12:09Z", "one.example"),
        deferred(None),
        limited("c", "2026-11-21T11:12:09Z", "one.example"),
        limited("other", "2026-11-21T05:12:09Z", "two.example"),
        limited("b", "2026-11-21T08:12:09Z", "one.example"),
        deferred(None),
    ];
    let text = all_reported(&ends, &log());
    let block = "deferred: a: the CA would refuse an order: 50 of 50 this week for one.example\n  \
                 also      b, c; the last 2026-11-21T11:12:09Z (in 8h)\n  \
                 try       certctl status a\n  \
                 next attempt 2026-11-21T05:12:09Z (in 2h)\n";
    assert!(text.starts_with(block), "{text}");
    assert_eq!(text.matches("deferred: ").count(), 3, "{text}");
    assert!(text.contains("for two.example\n  try "), "{text}");
}

#[test]
fn a_ca_that_is_away_is_one_message_for_all_its_certificates() {
    let away = |name: &str, why: &str| {
        let (url, fault) = ("https://ca.test/directory", CaFault::Unreachable);
        let failure = at_the_ca(Doing::RegisterAccount, fault, url, None, why);
        let certificate = NamespacedName::new("default", name);
        Ended { certificate, ..failed(failure, None, Evidence::default()) }
    };
    let ends = [away("a", "refused"), away("c", "timed out"), away("b", "refused")];
    let text = all_reported(&ends, &log());
    assert_eq!(text.matches("error: ").count(), 2, "{text}");
    assert!(text.contains("  also      b\n"), "{text}");
}

#[test]
fn what_the_ca_refuses_without_advice_is_looked_at_with_check_acme() {
    let url = "https://ca.test/new-order";
    let problem = json!({ "type": "urn:ietf:params:acme:error:unheardOf", "detail": "no" });
    for problem in [None, Some(problem)] {
        let refused = at_the_ca(Doing::CreateOrder, CaFault::Refused, url, problem, "HTTP 418");
        let failed = failed(refused.clone(), Some(1), Evidence::default());
        let text = reported(&failed, &log());
        let try_line =
            "  try       certctl check acme letsencrypt\n            certctl status web\n";
        assert!(text.contains(try_line), "{text}");
        let evidence = Evidence { last_failure: Some(refused), ..Evidence::default() };
        let (until, why) = (Some(at("2026-11-21T05:12:09Z")), Deferral::RetryAfter);
        let text =
            reported(&ended(Ending::Deferred { until, why, urgent: None }, evidence), &log());
        assert!(text.contains(try_line), "{text}");
    }
}

#[test]
fn an_issuer_that_is_missing_is_one_message_for_all_its_certificates() {
    let lacking = |name: &str, what: &str| {
        let cause = Cause::precondition(format!("no Issuer named {what}"));
        let certificate = NamespacedName::new("default", name);
        let failure = Failure::of(Doing::Nothing, cause);
        Ended { certificate, ..failed(failure, None, Evidence::default()) }
    };
    let ends = [lacking("a", "le"), lacking("b", "step"), lacking("c", "le"), lacking("d", "le")];
    let text = all_reported(&ends, &log());
    assert_eq!(text.matches("error: ").count(), 2, "{text}");
    assert!(text.contains("  also      c, d\n"), "{text}");
}

#[test]
fn the_certificate_of_the_server_and_the_clock_are_not_the_network() {
    let text = |fault, ahead| {
        let mut failure =
            at_the_ca(Doing::RegisterAccount, fault, "https://ca.test/dir", None, "why");
        if let Cause::Ca(ca) = &mut failure.cause {
            ca.clock_ahead = ahead;
        }
        let text = reported(&failed(failure, None, Evidence::default()), &log());
        let rows = text.lines().skip(1).take_while(|line| line.starts_with("  "));
        let rows = rows.filter(|line| line.starts_with("  cause") || line.starts_with("  remedy"));
        rows.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    for (fault, cause) in [
        (CaFault::UnknownIssuer, "this host does not trust the root of this private CA"),
        (CaFault::Untimely, "probably the clock of this host"),
        (CaFault::Untrusted, "the certificate of the CA's server, not the network"),
    ] {
        let found = text(fault, None);
        assert!(found[0].starts_with(&format!("cause     {cause}")), "{found:?}");
    }
    for fault in [CaFault::Unusable, CaFault::Refused, CaFault::Unreachable] {
        assert_eq!(
            text(fault, Some(7200)),
            [
                "cause     the clock of this host is 2h behind the CA's",
                "remedy    set the clock, then run this again",
            ]
        );
    }
}

fn undeployed() -> Ended {
    let cause = Cause::Program(ProgramFailure {
        program: "nginx".into(),
        status: "exit code 1".into(),
        message: "exit code 1".into(),
    });
    let target = DeployTarget::Reload { name: "nginx".into() };
    let cause = Cause::Deployment { target, cause: Some(Box::new(cause)) };
    let failure = Failure::of(Doing::Deploy, cause);
    let unchanged = Ending::Unchanged { not_after: None, renewal_time: None };
    Ended {
        undeployed: Some(Undeployed { failure, is_new: true, last_try: None, next_try: None }),
        ..ended(unchanged, Evidence::default())
    }
}

fn not_tried() -> Ended {
    let mut end = undeployed();
    let undeployed = end.undeployed.as_mut().unwrap();
    undeployed.last_try = Some(at("2026-11-21T03:10:09Z"));
    undeployed.next_try = Some(at("2026-11-21T03:15:09Z"));
    end
}

fn leaf() -> LeafFacts {
    from(json!({
        "publicKey": "bb", "fingerprint": "f1", "serial": "04d2", "commonName": "", "dnsNames": [],
        "ipAddresses": [], "uris": [], "emailAddresses": [], "notBefore": "2026-11-20T03:00:00Z",
        "notAfter": "2027-02-18T23:30:00Z", "issuerCommonName": "R11",
        "keyDescription": "ECDSA P-256",
    }))
}

fn issued() -> Ended {
    let issued = Issued {
        revision: 4,
        leaf: leaf(),
        added: Vec::new(),
        removed: Vec::new(),
        renewal_time: Some(at("2027-01-19T03:00:00Z")),
        secret_name: "web-tls".into(),
    };
    Ended {
        deployed: vec!["output to /etc/nginx/tls".into(), "reload nginx".into()],
        ..ended(Ending::Issued(Box::new(issued)), Evidence::default())
    }
}

#[test]
fn a_step_that_is_left_is_named_with_what_runs_it() {
    let end = Ended { left: Some("reload nginx".into()), ..issued() };
    let text = reported(&end, &person());
    let line = "\n      deploy: reload nginx is still to run: certctl deploy web --hooks now\n";
    assert!(text.contains(line), "{text}");
}

fn unchanged() -> Ended {
    let (not_after, renewal_time) = (Some(leaf().not_after), Some(at("2027-01-19T03:00:00Z")));
    ended(Ending::Unchanged { not_after, renewal_time }, Evidence::default())
}

/// The report, on both streams together.
fn reported(end: &Ended, style: &Style) -> String {
    all_reported(std::slice::from_ref(end), style)
}

fn all_reported(ends: &[Ended], style: &Style) -> String {
    let sink = tempfile::NamedTempFile::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let state = open_state(&path, OpenMode::ReadWrite).unwrap();
    let mut output =
        Output::to_writers(Box::new(std::io::sink()), Box::new(sink.reopen().unwrap()));
    let reports: Vec<Report> = ends.iter().cloned().map(Report::of).collect();
    for (report, others) in alike(&reports) {
        print(&mut output, &state, report, &others, style);
    }
    let text = std::fs::read_to_string(sink.path()).unwrap();
    text.replace(&*path.to_string_lossy(), "STATE")
}

#[test]
fn failures_and_waits_are_reported_with_place_cause_and_next_step() {
    let urn = "urn:ietf:params:acme:error:badCSR";
    let csr = json!({ "status": 403, "type": urn, "detail": "RSA key too small" });
    let url = "https://ca.test/f";
    let csr = at_the_ca(Doing::Finalize, CaFault::Refused, url, Some(csr), "");
    let (url, why) = ("https://ca.test/directory", "connection refused");
    let transport = at_the_ca(Doing::CreateOrder, CaFault::Unreachable, url, None, why);
    let full = Failure::of(Doing::Nothing, Cause::state("x: no space left"));
    let secret = Cause::precondition("no secret x");
    let secret = Failure::of(Doing::Nothing, secret);
    let cases = vec![
        ("one name refused", one_name()),
        ("forty-three names refused", forty_names()),
        ("rate limited", rate_limited()),
        ("names rejected", rejected_names()),
        ("no account", no_account()),
        ("CSR refused", failed(csr, Some(1), Evidence::default())),
        ("CA away", failed(transport, None, Evidence::default())),
        ("disk full", failed(full, None, Evidence::default())),
        ("secret", failed(secret, None, Evidence::default())),
        ("not propagated", dns_table()),
        ("forty-two names wait", forty_waits()),
        ("backing off", deferred(None)),
        ("backing off, expired", deferred(Some(FailureClass::Validation))),
        ("locked", ended(Ending::Locked { holder: "pid 7\u{7}".into() }, Evidence::default())),
        ("undeployed", undeployed()),
        ("undeployed, not tried again", not_tried()),
        ("interrupted", ended(Ending::Interrupted { signal: 15 }, Evidence::default())),
        ("unchanged, no terminal", unchanged()),
    ];
    let mut text = String::new();
    for (what, end) in cases {
        text = format!("{text}== {what}\n{}", reported(&end, &log()));
    }
    for (what, end) in [
        ("one name refused", one_name()),
        ("not propagated", dns_table()),
        ("issued", issued()),
        ("unchanged", unchanged()),
    ] {
        text = format!("{text}== {what}, for a person\n{}", reported(&end, &person()));
    }
    golden("render/report/tests/blocks.txt", &text);
}

#[test]
fn what_was_told_within_the_day_is_not_told_again() {
    for end in [one_name(), dns_table(), deferred(None), issued(), unchanged()] {
        assert_eq!(reported(&Ended { is_new: false, ..end }, &log()), "");
    }
    let mut end = undeployed();
    end.undeployed.as_mut().unwrap().is_new = false;
    assert_eq!(reported(&end, &log()), "");
}
