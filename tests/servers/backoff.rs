//! The flows of cert-manager's design of exponential backoff, on the binary against Pebble: a
//! name that the self-check sees and the CA does not, tried again and again over days.
//!
//! The days pass under libfaketime, for the binary alone: Pebble stays in the present. The runs
//! that fail lie in the past, so that what Pebble issues in the end is not from the future.

use std::net::Ipv4Addr;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::resource::{CertificateRecord, ConditionStatus, ConditionType, Reason};
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use crate::pebble_support::{Ca, Dns, Issuer, Options, Run, Work, installed, needed};

const CERTCTL: &str = env!("CARGO_BIN_EXE_certctl");
const ISSUE: [&str; 2] = ["issue", "./web.yaml"];
const RENEW: [&str; 2] = ["renew", "web"];
/// All that a certificate here is ever for.
const NAMES: [&str; 3] = ["web.test", "www.test", "api.test"];
const ONE_SOLVER: &str = "[ http01: { ingress: {} } ]";
const ACCOUNT: &str = "account";
/// Pebble takes a valid authorization of an account again, one time in a hundred even when it is
/// told never to: an order that is to fail after one that succeeded comes from another account.
const OTHER_ACCOUNT: &str = "other-account";
const EDITED_SOLVER: &str = "[ http01: { ingress: { ingressClassName: nginx } } ]";
/// The second is for a name that the certificate does not have.
const TWO_SOLVERS: &str = "[ http01: { ingress: {} }, { selector: { dnsNames: [ other.test ] }, \
                           http01: { ingress: { ingressClassName: nginx } } } ]";

#[test]
fn an_issuance_fails_thrice_then_succeeds() {
    let ca = start();
    let world = World::new(&ca);
    world.write(&Manifest::default());
    let third = world.fail_thrice(hours_ago(6));
    world.is_deferred(third.next - 60.seconds(), &third);

    world.repair();
    world.is_deferred(third.next - 30.seconds(), &third);
    world.succeed(third.next + 2.seconds(), &ISSUE);
    // Once, the CA is asked when to renew.
    assert_eq!(world.work.run_at(third.next + 5.minutes(), &ISSUE), silent());
    let sent = ca.requests().len();
    let run = world.work.run_at(third.next + 10.minutes(), &ISSUE);
    assert_eq!((run, ca.requests().len()), (silent(), sent));
}

#[test]
fn a_renewal_by_hand_succeeds_within_the_wait() {
    let ca = start();
    let world = World::new(&ca);
    world.write(&Manifest::default());
    let third = world.fail_thrice(hours_ago(3));

    world.repair();
    let time = third.time + 1.hour();
    world.is_deferred(time - 60.seconds(), &third);
    world.succeed(time, &RENEW);

    // Nothing of the three failures is left: the next one is a first one. The certificate that was
    // issued is not due, and is not tried again before.
    world.spoil();
    world.write(&Manifest { account: OTHER_ACCOUNT, ..Manifest::default() });
    let run = world.work.run_at(time + 5.minutes(), &RENEW);
    let failure = world.failure(&run, time + 5.minutes());
    let due = world.record().status.renewal_time;
    assert_eq!((failure.attempts, Some(failure.next)), (1, due));
}

#[test]
fn a_renewal_by_hand_that_fails_lengthens_the_wait_up_to_32_hours() {
    let ca = start();
    let world = World::new(&ca);
    world.write(&Manifest::default());
    let third = world.fail_thrice(hours_ago(72));

    let mut last = world.fail(third.time + 1.hour(), &RENEW);
    assert_eq!(last.count(), (4, 8));
    for expected in [(5, 16), (6, 32), (7, 32), (8, 32)] {
        world.is_deferred(last.next - 60.seconds(), &last);
        last = world.fail(last.next + 2.seconds(), &ISSUE);
        assert_eq!(last.count(), expected);
    }
    world.is_deferred(last.next - 60.seconds(), &last);
}

#[test]
fn a_live_certificate_stays_while_its_renewal_waits() {
    let ca = start();
    let world = World::new(&ca);
    world.write(&Manifest::default());
    world.repair();
    let issued = hours_ago(0);
    world.succeed(issued, &ISSUE);
    let (chain, keystore) = (world.secret("tls.crt"), world.secret("keystore.p12"));

    world.spoil();
    world.write(&Manifest { account: OTHER_ACCOUNT, ..Manifest::default() });
    let due = world.record().status.renewal_time.unwrap();
    let first = world.fail(due + 2.seconds(), &ISSUE);
    assert_eq!(first.count(), (1, 1));
    world.is_deferred(first.time + 10.minutes(), &first);
    let after = Manifest { account: OTHER_ACCOUNT, password: "after", ..Manifest::default() };
    world.write(&after);
    world.is_deferred(first.time + 20.minutes(), &first);
    assert!(world.secret("keystore.p12") != keystore, "the same password");
    assert_eq!(world.fail_again(&first).count(), (2, 2));
    assert!(world.secret("tls.crt") == chain, "another certificate");
}

#[test]
fn edited_names_are_tried_once_within_the_wait() {
    let names = |names: &[&'static str]| Manifest { names: names.to_vec(), ..Manifest::default() };
    bypasses_once(&names(&["web.test"]), &names(&["web.test", "www.test"]), &names(&["api.test"]));
}

#[test]
fn an_edited_solver_of_its_names_is_tried_once_within_the_wait() {
    let solvers = |solvers| Manifest { solvers, ..Manifest::default() };
    let third = "[ http01: { ingress: { ingressClassName: other } } ]";
    bypasses_once(&solvers(ONE_SOLVER), &solvers(EDITED_SOLVER), &solvers(third));
}

#[test]
fn edits_of_what_the_ca_never_sees_wait() {
    let ca = start();
    let world = World::new(&ca);
    world.write(&Manifest::default());
    let first = world.fail(hours_ago(2), &ISSUE);
    let edits = [
        Manifest { label: "after", ..Manifest::default() },
        Manifest { password: "after", ..Manifest::default() },
        Manifest { solvers: TWO_SOLVERS, ..Manifest::default() },
    ];
    for (edit, minutes) in edits.iter().zip([10, 20, 30]) {
        world.write(edit);
        world.is_deferred(first.time + minutes.minutes(), &first);
    }
    // The file that is edited is the one that is read.
    world.write(&Manifest { names: vec!["www.test"], ..Manifest::default() });
    assert_eq!(world.fail(first.time + 40.minutes(), &ISSUE).count(), (2, 2));
}

/// The first manifest fails; the second is tried at once, and neither gets a second chance within
/// the wait, which a third does.
fn bypasses_once(first: &Manifest, second: &Manifest, third: &Manifest) {
    let ca = start();
    let world = World::new(&ca);
    world.write(first);
    let mut last = world.fail(hours_ago(9), &ISSUE);
    assert_eq!(last.count(), (1, 1));

    world.write(second);
    last = world.fail(last.time + 10.minutes(), &ISSUE);
    assert_eq!(last.count(), (2, 2));
    for (edit, minutes) in [(first, 10), (second, 20), (first, 119)] {
        world.write(edit);
        world.is_deferred(last.time + minutes.minutes(), &last);
    }
    world.write(third);
    last = world.fail(last.time + 119.minutes() + 30.seconds(), &ISSUE);
    assert_eq!(last.count(), (3, 4));
}

fn start() -> Ca {
    installed();
    needed("faketime");
    Ca::start(&Options::default())
}

/// Half an hour later than the name says, so that a plan that lasts these hours ends soon.
fn hours_ago(hours: i64) -> Timestamp {
    SystemClock.now() - hours.hours() + 30.minutes()
}

fn silent() -> Run {
    Run { code: Some(0), stdout: String::new(), stderr: String::new() }
}

/// What `web.yaml` says.
struct Manifest {
    account: &'static str,
    names: Vec<&'static str>,
    solvers: &'static str,
    label: &'static str,
    password: &'static str,
}

impl Default for Manifest {
    fn default() -> Self {
        let names = vec!["web.test"];
        Self { account: ACCOUNT, names, solvers: ONE_SOLVER, label: "before", password: "before" }
    }
}

/// What a failed attempt left behind.
#[derive(Debug)]
struct Failure {
    attempts: u32,
    /// `lastFailureTime`.
    time: Timestamp,
    /// The next attempt, to the second.
    next: Timestamp,
}

impl Failure {
    /// The attempts, and the hours that the next one is away.
    fn count(&self) -> (u32, i64) {
        let second = Timestamp::from_second(self.time.as_second()).unwrap();
        let wait = second.duration_until(self.next);
        assert_eq!(wait, SignedDuration::from_hours(wait.as_hours()), "{self:?}");
        (self.attempts, wait.as_hours())
    }
}

/// The CA resolves the name to an address where nothing listens; the self-check does not.
struct World<'a> {
    ca: &'a Ca,
    work: Work<'a>,
    /// The DNS server of the self-check.
    _dns: Dns,
}

impl<'a> World<'a> {
    fn new(ca: &'a Ca) -> Self {
        let dns = Dns::start();
        let world = Self { ca, work: Work::new(ca, CERTCTL).asking(&dns), _dns: dns };
        world.spoil();
        world
    }

    fn spoil(&self) {
        for name in NAMES {
            self.ca.dns.set_address(name, Ipv4Addr::new(127, 9, 9, 9));
        }
    }

    fn repair(&self) {
        for name in NAMES {
            self.ca.dns.clear_address(name);
        }
    }

    fn write(&self, manifest: &Manifest) {
        let Manifest { account, names, solvers, label, password } = manifest;
        let solvers = Some((*solvers).to_owned());
        let issuer = self.work.issuer(&Issuer { solvers, ..Issuer::default() });
        let issuer = issuer.replace("{ name: account }", &format!("{{ name: {account} }}"));
        let text = format!(
            "{issuer}---\napiVersion: v1\nkind: Secret\nmetadata: {{ name: password }}\n\
             stringData: {{ password: {password} }}\n---\napiVersion: cert-manager.io/v1\n\
             kind: Certificate\nmetadata: {{ name: web, labels: {{ is: {label} }} }}\nspec:\n  \
             secretName: web-tls\n  issuerRef: {{ name: pebble }}\n  \
             privateKey: {{ algorithm: ECDSA, size: 256 }}\n  keystores:\n    \
             pkcs12: {{ create: true, passwordSecretRef: {{ name: password, key: password }} }}\n  \
             dnsNames: [ {} ]\n",
            names.join(", ")
        );
        self.work.write("web.yaml", &text);
    }

    /// Runs that fail one after the other as soon as each may.
    fn fail_thrice(&self, time: Timestamp) -> Failure {
        let first = self.fail(time, &ISSUE);
        let second = self.fail_again(&first);
        let third = self.fail_again(&second);
        let counts = [first.count(), second.count(), third.count()];
        assert_eq!(counts, [(1, 1), (2, 2), (3, 4)]);
        third
    }

    fn fail_again(&self, last: &Failure) -> Failure {
        self.is_deferred(last.next - 60.seconds(), last);
        self.fail(last.next + 2.seconds(), &ISSUE)
    }

    /// A run that makes one order, which the CA refuses.
    #[track_caller]
    fn fail(&self, time: Timestamp, words: &[&str]) -> Failure {
        let orders = self.ca.said("Added order");
        let run = self.work.run_at(time, words);
        assert_eq!(self.ca.said("Added order"), orders + 1, "{}", run.stderr);
        self.failure(&run, time)
    }

    /// What a run that failed at this time left behind, in the words of the state, of the run and
    /// of `status`, which agree.
    #[track_caller]
    fn failure(&self, run: &Run, time: Timestamp) -> Failure {
        assert_eq!(run.code, Some(4), "{}", run.stderr);
        let record = self.record();
        let issuing = record.status.condition(ConditionType::Issuing).unwrap();
        assert_eq!((issuing.status, issuing.reason), (ConditionStatus::False, Reason::Failed));
        let attempts = record.status.failed_issuance_attempts.unwrap();
        let failed = record.status.last_failure_time.unwrap();
        let (_, words) = issuing.message.rsplit_once(" (").unwrap();
        let said = format!("attempt {attempts}; next attempt at ");
        let next = words.strip_prefix(&said).and_then(|words| words.strip_suffix(")"));
        let next: Timestamp = next.unwrap_or_else(|| panic!("{words}")).parse().unwrap();
        // A run under a clock that is not moved would fail hours away.
        let late = time.duration_until(failed).as_secs();
        assert!((-1..60).contains(&late), "failed at {failed}, not at {time}");
        assert!(run.stderr.contains(&next.to_string()), "{next}: {}", run.stderr);
        let shown = next.strftime("%Y-%m-%d %H:%M UTC, in ").to_string();
        self.shows(failed + 1.second(), &shown);
        self.shows(failed + 1.second(), &format!(", attempt {}", attempts + 1));
        Failure { attempts, time: failed, next }
    }

    /// The line of `status` about the next attempt contains this.
    #[track_caller]
    fn shows(&self, time: Timestamp, words: &str) {
        let page = self.work.run_at(time, &["describe", "web"]).stdout;
        let line = page.lines().find(|line| line.starts_with("Next attempt:"));
        assert!(line.is_some_and(|line| line.contains(words)), "{words}: {page}");
    }

    /// A run that asks the CA nothing and remembers nothing new of the failure.
    #[track_caller]
    fn is_deferred(&self, time: Timestamp, last: &Failure) {
        let sent = self.ca.requests().len();
        let run = self.work.run_at(time, &ISSUE);
        assert_eq!((run.code, self.ca.requests().len()), (Some(75), sent), "{}", run.stderr);
        let status = self.record().status;
        let left = (status.failed_issuance_attempts, status.last_failure_time);
        assert_eq!(left, (Some(last.attempts), Some(last.time)));
    }

    /// A run that issues, after which nothing is known of failures.
    #[track_caller]
    fn succeed(&self, time: Timestamp, words: &[&str]) {
        assert_eq!(self.work.secret("web", "tls.crt"), None);
        let run = self.work.run_at(time, words);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(self.work.secret("web", "tls.crt").is_some());
        let record = self.record();
        let issuing = record.status.condition(ConditionType::Issuing);
        let status = &record.status;
        assert_eq!(
            (issuing, status.failed_issuance_attempts, status.last_failure_time),
            (None, None, None)
        );
        assert_eq!((&record.last_failure, record.attempted_inputs.len()), (&None, 0));
        assert_eq!((status.revision, record.retry_after), (Some(1), None));
    }

    /// A live file.
    #[track_caller]
    fn secret(&self, file: &str) -> Vec<u8> {
        let path = self.work.path("state/secrets/default/web-tls");
        std::fs::read(path.join(file)).unwrap()
    }

    fn record(&self) -> CertificateRecord {
        let path = self.work.path("state/certificates/default/web/status.json");
        let text = std::fs::read(path).unwrap();
        let mut envelope: serde_json::Value = serde_json::from_slice(&text).unwrap();
        serde_json::from_value(envelope["document"].take()).unwrap()
    }
}
