//! The binary against Pebble, the ACME server that Let's Encrypt tests clients with.
//!
//! Where Pebble is missing these tests say so on stderr; under `tests/run` they fail.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD as STANDARD, BASE64_URL_SAFE_NO_PAD};
use certctl::acme;
use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::resource::{Identifier, LeafFacts};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::openssl_fields::{agree, list};
use crate::pebble_support::{
    Ca, Dns, Issuer, Options, Run, Work, block_on, faketime, installed, not_tested,
};

const CERTCTL: &str = env!("CARGO_BIN_EXE_certctl");

/// Who counts looks runs alone: under load an order is looked at once too often now and then.
static QUIET: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    QUIET.read().unwrap_or_else(PoisonError::into_inner)
}

fn alone() -> RwLockWriteGuard<'static, ()> {
    QUIET.write().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn one_twenty_five_and_a_hundred_names_are_issued() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    for count in [1, 25, 100] {
        let names = names("many", count);
        let name = format!("web-{count}");
        work.manifest("web.yaml", &Issuer::default(), &[(name.clone(), names.clone())]);
        assert_done(&work.issue("web.yaml"));
        assert_eq!(Leaf::of(&work, &name).names, names);
    }
}

/// A client of this Pebble, of no account.
fn acme_client(ca: &Ca) -> Arc<acme::Client> {
    let endpoint = acme::Endpoint {
        directory_url: ca.directory_url(),
        ca_bundle: Some(ca.bundle().to_owned()),
        skip_tls_verify: false,
        user_agent: "certctl-tests".to_owned(),
    };
    acme::Client::new(endpoint, acme::Limits::default()).unwrap()
}

/// Leaf and PEM of the certificate `web` of `web.yaml`, renewed until Pebble finds its order.
///
/// It stores the order of a certificate by the serial without the zero byte that DER puts before
/// one of 0x80 or more, and looks for it by the bytes of `replaces`, which have that byte (RFC 9773
/// section 4.1): one of 256 certificates is none that can be replaced.
fn replaceable(work: &Work<'_>) -> (LeafFacts, String) {
    loop {
        let pem = work.secret("web", "tls.crt").unwrap();
        let leaf = certctl::pki::leaf_facts(&pem).unwrap();
        let (_, serial) = leaf.certificate_id.as_ref().unwrap().split_once('.').unwrap();
        if BASE64_URL_SAFE_NO_PAD.decode(serial).unwrap().first() != Some(&0) {
            return (leaf, pem);
        }
        assert_done(&work.run(&["renew", "web", "-f", "web.yaml"]));
    }
}

#[test]
fn a_run_after_an_issuance_sends_pebble_nothing() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    work.manifest("web.yaml", &Issuer::default(), &[("web".to_owned(), names("idle", 1))]);
    let sent = |run: &Run| {
        let line = run.stderr.lines().find(|line| line.contains("run ended requests=")).unwrap();
        let count = line.split("requests=").nth(1).unwrap().split(' ').next().unwrap();
        count.parse::<u32>().unwrap()
    };
    let known = |work: &Work<'_>| {
        let page = work.run(&["status", "web", "-o", "json", "-f", "web.yaml"]);
        let page: Value = serde_json::from_str(&page.stdout).unwrap();
        assert!(page["status"]["acme"]["ari"]["suggestedWindow"].is_object(), "{page}");
        page["status"]["renewalTime"].clone()
    };
    let run = work.run(&["issue", "./web.yaml", "-vv"]);
    assert_done(&run);
    assert!(sent(&run) > 8, "{}", run.stderr);
    let renewal = known(&work);
    let run = work.run(&["issue", "./web.yaml", "-vv"]);
    assert_done(&run);
    assert_eq!((sent(&run), known(&work)), (0, renewal));
}

#[test]
fn pebble_says_when_to_renew_a_certificate_and_who_may_replace_it() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    work.manifest("web.yaml", &Issuer::default(), &[("web".to_owned(), names("renewed", 1))]);
    assert_done(&work.issue("web.yaml"));
    let (leaf, pem) = replaceable(&work);
    let id = leaf.certificate_id.unwrap();
    let client = acme_client(&ca);
    let asked = block_on(client.renewal_info(&id)).unwrap();
    assert!(leaf.not_before < asked.start && asked.end < leaf.not_after, "{asked:?}");
    let (start, end) = ("2026-01-02T03:04:05Z", "2026-01-03T03:04:05Z");
    let page = "https://ca.test/why";
    let window = json!({ "start": start, "end": end });
    let answer = json!({ "suggestedWindow": window, "explanationURL": page });
    ca.set_renewal_info(&pem, &answer);
    let expected = acme::RenewalInfo {
        start: start.parse().unwrap(),
        end: end.parse().unwrap(),
        explanation_url: Some(page.to_owned()),
        retry_after: asked.retry_after,
    };
    assert_eq!(block_on(client.renewal_info(&id)), Ok(expected));
    assert_eq!(asked.retry_after, Some(Duration::from_hours(6)));

    // Another account than the one that ordered it.
    let key = acme::AccountKey::generate().unwrap();
    let account = block_on(client.register(&key, &[], None)).unwrap();
    let session = acme::Session::new(Arc::clone(&client), key, account.url);
    let order = acme::NewOrder {
        identifiers: vec![Identifier::Dns(leaf.dns_names[0].parse().unwrap())],
        profile: None,
        not_after: None,
        replaces: Some(id),
    };
    let error = block_on(session.new_order(&order)).unwrap_err();
    let directory = block_on(client.directory()).unwrap();
    assert_eq!(error.url(), Some(&*directory.new_order), "{error}");
    assert!(error.is_problem("unauthorized"), "{error}");
}

#[test]
fn a_window_in_the_past_renews_at_once_and_one_in_the_future_is_awaited() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    // Without a profile Pebble takes any: the clock is moved by more than a short life.
    let issuer = Issuer { profile: Some("default".to_owned()), ..Issuer::default() };
    let never = Issuer { never_asks: true, ..issuer.clone() };
    let named = [("web".to_owned(), names("asked", 1))];
    work.manifest("web.yaml", &never, &named);
    let live_serial = || {
        let pem = work.secret("web", "tls.crt").unwrap();
        certctl::pki::leaf_facts(&pem).unwrap().serial
    };
    assert_done(&work.issue("web.yaml"));
    let (first, pem) = replaceable(&work);
    work.manifest("web.yaml", &issuer, &named);
    let of = |start: Timestamp, end: Timestamp| {
        let window = json!({ "start": start.to_string(), "end": end.to_string() });
        json!({ "suggestedWindow": window, "explanationURL": "https://ca.test/why" })
    };
    let now = SystemClock.now();
    let hours = SignedDuration::from_hours;
    ca.set_renewal_info(&pem, &of(now - hours(2), now - hours(1)));
    let replaced = || ca.said("is a replacement of");
    assert_eq!(replaced(), 0);
    assert_done(&work.issue("web.yaml"));
    assert_ne!(live_serial(), first.serial);
    // Its log is written a little later.
    until(|| replaced() > 0);
    assert_eq!(replaced(), 1);
    let (second, pem) = replaceable(&work);

    // A percentage of its life; without the window it is due at 67.
    let lifetime = second.not_before.duration_until(second.not_after);
    let at = |percentage: i32| second.not_before + lifetime * percentage / 100;
    ca.set_renewal_info(&pem, &of(at(88), at(90)));
    for percentage in [10, 75, 80, 87] {
        assert_done(&work.run_at(at(percentage), &["issue", "./web.yaml"]));
        assert_eq!(live_serial(), second.serial, "{percentage} %");
    }
    let shown = work.run_at(at(87), &["describe", "web", "-f", "web.yaml"]);
    assert!(shown.stdout.contains("https://ca.test/why"), "{}", shown.stdout);
    assert_done(&work.run_at(at(91), &["issue", "./web.yaml"]));
    assert_ne!(live_serial(), second.serial);
    until(|| replaced() > 1);
    assert_eq!(replaced(), 2);
}

/// A way to the CA on which connections are made to wait for an answer.
struct Relay {
    /// The directory, by this way.
    directory_url: String,
    holds: Arc<AtomicBool>,
    held: Receiver<TcpStream>,
}

impl Relay {
    fn to(ca: &Ca) -> Self {
        let url = ca.directory_url();
        let address = url.trim_start_matches("https://").trim_end_matches("/dir").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().to_string();
        let directory_url = url.replace(&address, &own);
        let holds = Arc::new(AtomicBool::new(false));
        let (sender, held) = channel();
        let is_held = Arc::clone(&holds);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if is_held.load(Ordering::SeqCst) {
                    if sender.send(stream).is_err() {
                        return;
                    }
                    continue;
                }
                let ca = TcpStream::connect(&address).unwrap();
                let ways = [(stream.try_clone().unwrap(), ca.try_clone().unwrap()), (ca, stream)];
                for (mut from, mut to) in ways {
                    thread::spawn(move || {
                        drop(io::copy(&mut from, &mut to));
                        drop(to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        Self { directory_url, holds, held }
    }

    /// Kills the run of this command while the CA owes it the first answer.
    fn kill_unanswered(&self, command: &mut Command) {
        self.holds.store(true, Ordering::SeqCst);
        let run = start(command);
        let _unanswered = self.held.recv_timeout(Duration::from_secs(30)).unwrap();
        kill(run);
        self.holds.store(false, Ordering::SeqCst);
    }
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(mut run: Child) {
    assert!(run.try_wait().unwrap().is_none(), "it ended by itself");
    faketime::kill(&mut run);
}

fn until(what: impl Fn() -> bool) {
    for _ in 0..3000 {
        if what() {
            return;
        }
        thread::park_timeout(Duration::from_millis(10));
    }
    panic!("nothing happened for 30 s");
}

/// Start, end and the instant in it of the window that is stored for the certificate `web`.
fn stored_window(work: &Work<'_>) -> Option<[Timestamp; 3]> {
    let path = work.path("state/certificates/default/web/status.json");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let window = record.pointer("/document/status/acme/ari/suggestedWindow")?;
    let time = |name: &str| window.get(name)?.as_str()?.parse().ok();
    Some([time("start")?, time("end")?, time("renewAt")?])
}

#[test]
fn a_window_beyond_two_thirds_keeps_its_instant_over_killed_runs() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    let relay = Relay::to(&ca);
    // Pebble names URLs at the host that it is asked at.
    let issuer = Issuer { profile: Some("default".to_owned()), ..Issuer::default() };
    let by_relay =
        |issuer: &Issuer| work.issuer(issuer).replace(&ca.directory_url(), &relay.directory_url);
    let never = by_relay(&Issuer { never_asks: true, ..issuer.clone() });
    let issuer = by_relay(&issuer);
    let certificate = |name: &str| {
        format!(
            "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {{ name: {name} }}\n\
             spec:\n  secretName: {name}-tls\n  issuerRef: {{ name: pebble }}\n  \
             dnsNames: [{name}.test]\n"
        )
    };
    work.write("web.yaml", &(never + &certificate("web")));
    // Its challenge is never found, so that a run that works on it too lasts until it is killed.
    ca.dns.set_address("stuck.test", Ipv4Addr::new(127, 9, 9, 9));
    work.write("both.yaml", &(issuer.clone() + &certificate("web") + &certificate("stuck")));

    assert_done(&work.issue("web.yaml"));
    let (leaf, pem) = replaceable(&work);
    work.write("web.yaml", &(issuer + &certificate("web")));
    // A percentage of its life; without the window it is due at 67.
    let lifetime = leaf.not_before.duration_until(leaf.not_after);
    let at = |percentage: i32| leaf.not_before + lifetime * percentage / 100;
    let window = json!({ "start": at(88).to_string(), "end": at(90).to_string() });
    ca.set_renewal_info(&pem, &json!({ "suggestedWindow": window }));

    relay.kill_unanswered(&mut work.command("web.yaml"));
    assert_eq!(stored_window(&work), None);
    let answered = start(&mut work.command("both.yaml"));
    until(|| stored_window(&work).is_some());
    kill(answered);
    let window = stored_window(&work).unwrap();
    let [begin, end, instant] = window;
    assert!(at(87) < begin && begin <= instant && instant < end, "{window:?}");
    let requests = ca.requests().len();
    let idle = start(&mut work.command("both.yaml"));
    until(|| ca.requests().len() > requests);
    kill(idle);
    assert_eq!(stored_window(&work), Some(window));
    let eight_hours = SystemClock.now() + SignedDuration::from_hours(8);
    relay.kill_unanswered(&mut work.command_at(eight_hours, &["issue", "./web.yaml"]));
    assert_eq!(stored_window(&work), Some(window));

    let asked = || ca.requests().iter().filter(|line| line.contains("ari")).count();
    let before = asked();
    let minute = SignedDuration::from_mins(1);
    for time in [at(75), instant - minute] {
        assert_done(&work.run_at(time, &["issue", "./web.yaml"]));
        assert_eq!(work.secret("web", "tls.crt").unwrap(), pem, "{time}");
        assert_eq!(stored_window(&work), Some(window), "{time}");
    }
    assert_eq!(asked() - before, 2, "{:?}", ca.requests());
    assert_done(&work.run_at(instant + minute, &["issue", "./web.yaml"]));
    assert_ne!(work.secret("web", "tls.crt").unwrap(), pem);
    until(|| ca.said("is a replacement of") == 1);
}

#[test]
fn what_the_ca_revoked_by_itself_is_replaced_with_a_new_key_and_deployed() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    let out = work.path("out");
    let write = |issuer: &Issuer| {
        work.manifest("web.yaml", issuer, &[("web".to_owned(), names("called-back", 1))]);
        let annotations = format!("{{ certctl/output-dir: {} }}", out.display());
        let text = std::fs::read_to_string(work.path("web.yaml")).unwrap();
        let metadata = format!("metadata: {{ name: web, annotations: {annotations} }}");
        work.write("web.yaml", &text.replace("metadata: { name: web }", &metadata));
    };
    // The CA may be asked again only after hours.
    write(&Issuer { never_asks: true, ..Issuer::default() });
    assert_done(&work.issue("web.yaml"));
    replaceable(&work);
    write(&Issuer::default());
    let deployed = |file: &str| std::fs::read_to_string(out.join(file)).unwrap();
    let (old, old_key) = (deployed("tls.crt"), deployed("tls.key"));
    let chain = certctl::pki::Chain::from_pem(&old).unwrap();

    // As another owner of the key does it; this state hears of it from the CA alone.
    let client = acme_client(&ca);
    let key = certctl::pki::PrivateKey::from_pem(&old_key).unwrap();
    block_on(client.revoke_by_key(&key, &chain.certificates()[0], 1)).unwrap();
    assert_eq!(ca.status_of(&chain.leaf().serial), "Revoked");

    assert_done(&work.issue("web.yaml"));
    let new = certctl::pki::Chain::from_pem(&deployed("tls.crt")).unwrap();
    assert_eq!(ca.status_of(&new.leaf().serial), "Valid");
    assert_ne!(new.leaf().public_key, chain.leaf().public_key);
    for file in ["tls.crt", "tls.key"] {
        assert_eq!(Some(deployed(file)), work.secret("web", file));
    }
    assert_ne!(deployed("tls.key"), old_key);
    until(|| ca.said("is a replacement of") == 1);
}

#[test]
fn a_revoked_certificate_is_revoked_and_its_replacement_is_not() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    work.manifest("web.yaml", &Issuer::default(), &[("web".to_owned(), names("revoked", 1))]);
    assert_done(&work.issue("web.yaml"));
    let serial = || {
        let pem = work.secret("web", "tls.crt").unwrap();
        certctl::pki::Chain::from_pem(&pem).unwrap().leaf().serial.clone()
    };
    let old = serial();
    assert_eq!(ca.status_of(&old), "Valid");
    assert_done(&work.run(&["revoke", "web", "--reason", "keyCompromise", "--yes"]));
    assert_eq!((ca.status_of(&old), ca.status_of(&serial())), ("Revoked".into(), "Valid".into()));

    // By its own key: the account is not asked.
    let last = serial();
    for file in ["tls.crt", "tls.key"] {
        work.write(file, &work.secret("web", file).unwrap());
    }
    assert_done(&work.run(&["renew", "web"]));
    let file = work.path("tls.crt");
    let key = work.path("tls.key");
    let words = ["revoke", file.to_str().unwrap(), "--key", key.to_str().unwrap(), "--yes"];
    assert_done(&work.run(&words));
    assert_eq!(ca.status_of(&last), "Revoked");
    // Once more is no failure.
    assert_done(&work.run(&words));
}

#[test]
fn without_its_account_a_certificate_is_revoked_by_its_own_key() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    work.manifest("web.yaml", &Issuer::default(), &[("web".to_owned(), names("own-key", 1))]);
    assert_done(&work.issue("web.yaml"));
    let pem = work.secret("web", "tls.crt").unwrap();
    let serial = certctl::pki::Chain::from_pem(&pem).unwrap().leaf().serial.clone();
    std::fs::remove_dir_all(work.path("state/accounts")).unwrap();
    assert_done(&work.run(&["revoke", "web", "--no-issue", "--yes"]));
    assert_eq!(ca.status_of(&serial), "Revoked");
    let registrations = ca.requests().iter().filter(|line| *line == "POST /sign-me-up").count();
    assert_eq!(registrations, 1);
}

#[test]
fn inspect_shows_of_an_issued_certificate_what_openssl_reads_in_it() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options {
        responder: "http://127.0.0.1:1/ocsp".to_owned(),
        ..Options::default()
    });
    let work = Work::new(&ca, CERTCTL);
    for (name, key, algorithm) in [
        ("rsa", "{ algorithm: RSA, size: 2048 }", "RSA"),
        ("ecdsa", "{ algorithm: ECDSA, size: 384 }", "ECDSA"),
    ] {
        let manifest = format!(
            "{}---\napiVersion: cert-manager.io/v1\nkind: Certificate\n\
             metadata: {{ name: {name} }}\nspec:\n  secretName: {name}-tls\n  \
             issuerRef: {{ name: pebble }}\n  commonName: www.test\n  \
             dnsNames: [www.test, other.test]\n  ipAddresses: [127.0.0.1]\n  \
             privateKey: {key}\n  usages: [digital signature, server auth]\n",
            work.issuer(&Issuer::default()),
        );
        work.write("web.yaml", &manifest);
        assert_done(&work.issue("web.yaml"));
        let run = work.run(&["inspect", name, "-f", "web.yaml", "--offline", "-o", "json"]);
        assert_done(&run);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let leaf = &report["leaf"];
        let folder = tempfile::tempdir().unwrap();
        let live = work.path(&format!("state/secrets/default/{name}-tls/tls.crt"));
        std::fs::copy(live, folder.path().join("tls.crt")).unwrap();
        agree(folder.path(), "tls.crt", leaf);
        assert_eq!(
            (&leaf["publicKeyAlgorithm"], &report["privateKey"]),
            (&json!(algorithm), &json!("matches"))
        );
        let mut names = list(&leaf["dnsNames"]);
        names.sort_unstable();
        assert_eq!(names, ["other.test", "www.test"]);
        assert_eq!(list(&leaf["ipAddresses"]), ["127.0.0.1"]);
        assert!(!list(&leaf["usages"]).is_empty());
        assert_eq!(list(&leaf["ocspUrls"]), ["http://127.0.0.1:1/ocsp"]);
    }
}

#[test]
fn one_failing_validation_does_not_stop_the_other_certificate() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    // The self-check sees the listener; the CA gets an address where nothing listens.
    ca.dns.set_address("bad.test", Ipv4Addr::new(127, 9, 9, 9));
    let elsewhere = Dns::start();
    let work = Work::new(&ca, CERTCTL).asking(&elsewhere);
    work.manifest("web.yaml", &Issuer::default(), &[one("good"), one("bad")]);
    let run = work.issue("web.yaml");
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("bad.test"), "{}", run.stderr);
    assert_eq!(Leaf::of(&work, "good").names, ["good.test"]);
    assert_eq!(work.secret("bad", "tls.crt"), None);

    // The next run of cron has nothing to do for one, and backs off from the other; once, the CA is
    // asked when to renew.
    assert_eq!(work.issue("web.yaml").code, Some(75));
    let sent = ca.requests().len();
    let run = work.issue("web.yaml");
    assert_eq!((run.code, ca.requests().len()), (Some(75), sent), "{}", run.stderr);
}

#[test]
fn one_refused_order_does_not_stop_the_other_certificate() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options { blocked: vec!["bad.test".to_owned()], ..Options::default() });
    let work = Work::new(&ca, CERTCTL);
    work.manifest("web.yaml", &Issuer::default(), &[one("good"), one("bad")]);
    let run = work.issue("web.yaml");
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(run.stderr.contains("rejectedIdentifier"), "{}", run.stderr);
    assert_eq!(Leaf::of(&work, "good").names, ["good.test"]);
    assert_eq!(work.secret("bad", "tls.crt"), None);
}

#[test]
fn fifty_of_fifty_first_runs_get_through_when_half_of_the_nonces_are_rejected() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options { reject_nonces: 50, ..Options::default() });
    let runs = (0..50).map(|n| {
        let work = Work::new(&ca, CERTCTL);
        work.manifest("web.yaml", &Issuer::default(), &[one(&format!("n{n}"))]);
        let run = work.issue("web.yaml");
        // Of 21 tries in a row none gets through, once in some thousand of these tests: the next
        // run goes on.
        let has_given_up = run.code == Some(5) && run.stderr.contains("badNonce");
        if has_given_up { work.issue("web.yaml") } else { run }
    });
    let failed: Vec<Run> = runs.filter(|run| run.code != Some(0)).collect();
    assert_eq!(failed, []);
    assert_eq!((ca.said("Added order"), ca.said("accounts in memory")), (50, 50));
}

#[test]
fn a_known_account_is_not_registered_again() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    for name in ["first", "second"] {
        work.manifest("web.yaml", &Issuer::default(), &[one(name)]);
        assert_done(&work.issue("web.yaml"));
    }
    let registrations = ca.requests().iter().filter(|line| *line == "POST /sign-me-up").count();
    assert_eq!(registrations, 1);
    assert_eq!(ca.said("There are now 1 accounts in memory"), 1);
}

#[test]
fn an_external_account_is_bound() {
    installed();
    let _turn = beside_others();
    let (id, key) = ("kid-1", "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W");
    let external_account_keys = BTreeMap::from([(id.to_owned(), key.to_owned())]);
    let ca = Ca::start(&Options { external_account_keys, ..Options::default() });
    let wrong = format!("{}A", &key[..63]);
    for (account, code, said) in [
        (None, 5, "an HMAC key from the CA"),
        (Some(wrong), 5, "or another HMAC key"),
        (Some(key.to_owned()), 0, ""),
    ] {
        let work = Work::new(&ca, CERTCTL);
        let external_account = account.map(|key| (id.to_owned(), key));
        let issuer = Issuer { external_account, ..Issuer::default() };
        work.manifest("web.yaml", &issuer, &[one("web")]);
        let run = work.issue("web.yaml");
        assert_eq!(run.code, Some(code), "{}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    assert_eq!(ca.said(&format!("Successful newAccount Binding with CA using kid {id:?}")), 1);
}

/// A manifest whose account key is one of the fixtures, as cert-manager keeps it.
/// Two states at once, each with a certificate of three names, and one port for HTTP-01.
fn two_states(rounds: usize) {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let works = ["one", "two"].map(|label| (Work::new(&ca, CERTCTL), label));
    for round in 0..rounds {
        let start = |(work, label): (&Work<'_>, &str)| {
            let certificate = (format!("web-{round}"), names(&format!("{label}-{round}"), 3));
            work.manifest("web.yaml", &Issuer::default(), &[certificate]);
            let mut command = work.command("web.yaml");
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        for child in works.each_ref().map(|(work, label)| start((work, label))) {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{round}: {said}");
        }
    }
    assert_eq!(ca.said("set INVALID"), 0);
}

#[test]
fn two_states_at_once_are_issued_for_and_nothing_is_refused() {
    two_states(3);
}

#[test]
#[ignore = "a series of minutes; tests/run --all starts it"]
fn series_of_two_states() {
    two_states(20);
}

fn with_account_key<'a>(ca: &'a Ca, key: &str) -> Work<'a> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/account-keys");
    let pem = std::fs::read(format!("{folder}/{key}.pem")).unwrap();
    let work = Work::new(ca, CERTCTL);
    work.manifest("web.yaml", &Issuer::default(), &[one("web")]);
    let manifest = std::fs::read_to_string(work.path("web.yaml")).unwrap();
    let secret = format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{ name: account }}\n\
         data: {{ tls.key: {} }}\n",
        STANDARD.encode(pem)
    );
    work.write("web.yaml", &(manifest + &secret));
    work
}

#[test]
fn accounts_with_keys_of_four_kinds_register_issue_revoke_and_end() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let kinds = [
        ("rsa-2048", "RSA 2048"),
        ("rsa-4096", "RSA 4096"),
        ("p256", "ECDSA P-256"),
        ("p384", "ECDSA P-384"),
    ];
    for (key, kind) in kinds {
        let work = with_account_key(&ca, key);
        let account = |verb: &str| work.run(&["account", verb, "pebble", "-f", "web.yaml"]);
        assert_done(&account("register"));
        let shown = account("show").stdout;
        assert!(shown.contains(&format!("Key: {kind}, ")), "{shown}");
        assert_done(&work.issue("web.yaml"));
        let pem = work.secret("web", "tls.crt").unwrap();
        let serial = certctl::pki::Chain::from_pem(&pem).unwrap().leaf().serial.clone();
        assert_eq!(ca.status_of(&serial), "Valid");
        assert_done(&work.run(&["revoke", "web", "--yes"]));
        assert_eq!(ca.status_of(&serial), "Revoked", "{kind}");
        let words = ["account", "deactivate", "pebble", "-f", "web.yaml", "--yes"];
        assert_done(&work.run(&words));
        // The CA knows the key, and that its account has ended.
        let run = work.run(&["renew", "web", "-f", "web.yaml"]);
        assert_eq!(run.code, Some(5), "{}", run.stderr);
    }
}

#[test]
fn an_ed25519_account_key_is_refused_before_an_order_and_said_so() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    let work = with_account_key(&ca, "ed25519");
    let run = work.issue("web.yaml");
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    let words = "the CA does not accept EdDSA signatures, which the Ed25519 key makes";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    assert!(!ca.requests().iter().any(|request| request.contains("order")), "{:?}", ca.requests());
}

#[test]
fn the_preferred_chain_is_chosen_among_the_alternates() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options { alternate_roots: 2, ..Options::default() });
    let work = Work::new(&ca, CERTCTL);
    for index in [0, 1, 2] {
        let root = common_name(&ca.root(index));
        let issuer = Issuer { preferred_chain: Some(root.clone()), ..Issuer::default() };
        work.manifest("web.yaml", &issuer, &[one(&format!("web-{index}"))]);
        assert_done(&work.issue("web.yaml"));
        assert_eq!(Leaf::of(&work, &format!("web-{index}")).root, root);
    }
}

#[test]
fn a_reused_authorization_needs_no_challenge() {
    installed();
    let _turn = alone();
    let ca = Ca::start(&Options { reuse_authorizations: 100, ..Options::default() });
    let work = Work::new(&ca, CERTCTL);
    let names = vec!["web.test".to_owned()];
    work.manifest("a.yaml", &Issuer::default(), &[("first".to_owned(), names.clone())]);
    work.manifest("b.yaml", &Issuer::default(), &[("second".to_owned(), names.clone())]);
    assert_done(&work.issue("a.yaml"));
    let before = ca.requests().len();
    assert_done(&work.issue("b.yaml"));
    assert_eq!(Leaf::of(&work, "second").names, names);
    let requests = ca.requests().split_off(before);
    assert!(!requests.contains(&"POST /chalZ/".to_owned()), "{requests:?}");
    assert!(requests.len() <= 8, "{requests:?}");
}

#[test]
fn a_profile_is_asked_for_and_an_unknown_one_is_refused() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    if !ca.has_profiles() {
        not_tested("this Pebble has no profiles");
        return;
    }
    let work = Work::new(&ca, CERTCTL);
    let issuer = |profile: &str| Issuer { profile: Some(profile.into()), ..Issuer::default() };
    work.manifest("web.yaml", &issuer("shortlived"), &[one("web")]);
    assert_done(&work.issue("web.yaml"));
    assert_eq!(Leaf::of(&work, "web").days, 6);

    work.manifest("none.yaml", &issuer("none-such"), &[one("none")]);
    let run = work.issue("none.yaml");
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("none-such"), "{}", run.stderr);
    assert_eq!(ca.said("Added order"), 1);
}

#[test]
fn ten_requests_issue_one_name() {
    installed();
    let _turn = alone();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    let mut counts: Vec<usize> =
        (0..=20).map(|n| requests_for(&ca, &work, &[one(&format!("n{n}"))])).collect();
    // The first run has to make the account.
    counts.remove(0);
    counts.sort_unstable();
    assert!(counts[18] <= 10 && counts[19] <= 12, "{counts:?}");
}

#[test]
fn requests_grow_by_two_with_each_name() {
    installed();
    let _turn = alone();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    requests_for(&ca, &work, &[one("account")]);
    for (count, most) in [(25, 60), (100, 210)] {
        let certificate = (format!("web-{count}"), names("sum", count));
        let requests = requests_for(&ca, &work, &[certificate]);
        assert!(requests <= most, "{count} names: {requests} requests");
    }
}

#[test]
fn fifty_certificates_of_one_run_need_at_most_410_requests() {
    installed();
    let _turn = alone();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    requests_for(&ca, &work, &[one("account")]);
    let certificates: Vec<_> = (0..50).map(|n| one(&format!("n{n}"))).collect();
    let requests = requests_for(&ca, &work, &certificates);
    assert!(requests <= 410, "{requests} requests");
}

/// Issues these in one run and counts the requests in Pebble's log.
fn requests_for(ca: &Ca, work: &Work<'_>, certificates: &[(String, Vec<String>)]) -> usize {
    let before = ca.requests().len();
    work.manifest("web.yaml", &Issuer::default(), certificates);
    assert_done(&work.issue("web.yaml"));
    let requests = ca.requests().split_off(before);
    assert!(!requests.is_empty());
    requests.len()
}

/// A certificate of one name.
fn one(name: &str) -> (String, Vec<String>) {
    (name.to_owned(), vec![format!("{name}.test")])
}

/// `count` names, sorted.
fn names(label: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("n{n:03}.{label}.test")).collect()
}

fn assert_done(run: &Run) {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

/// What a stored chain says.
struct Leaf {
    /// The DNS names, sorted.
    names: Vec<String>,
    /// The days that it is valid.
    days: i64,
    /// The common name of the root that its last certificate is signed by.
    root: String,
}

impl Leaf {
    fn of(work: &Work<'_>, certificate: &str) -> Self {
        use x509_parser::extensions::GeneralName;
        let chain = work.secret(certificate, "tls.crt").unwrap();
        let pems: Vec<_> =
            x509_parser::pem::Pem::iter_from_buffer(chain.as_bytes()).map(Result::unwrap).collect();
        let leaf = pems.first().unwrap().parse_x509().unwrap();
        let extension = leaf.subject_alternative_name().unwrap().unwrap();
        let mut names = Vec::new();
        for name in &extension.value.general_names {
            let GeneralName::DNSName(name) = name else { panic!("{name}") };
            names.push((*name).to_owned());
        }
        names.sort();
        let validity = leaf.validity();
        let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
        let last = pems.last().unwrap().parse_x509().unwrap();
        let root = last.issuer().iter_common_name().next().unwrap().as_str().unwrap().to_owned();
        Self { names, days: (seconds + 1) / 86_400, root }
    }
}

fn common_name(pem: &str) -> String {
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap();
    let certificate = pem.parse_x509().unwrap();
    certificate.subject().iter_common_name().next().unwrap().as_str().unwrap().to_owned()
}

#[test]
fn a_wrong_clock_is_the_first_suspect() {
    installed();
    let _turn = beside_others();
    let ca = Ca::start(&Options::default());
    for (hours, said) in [(-3, "3h behind the CA's"), (24 * 100, "100d ahead of the CA's")] {
        let work = Work::new(&ca, CERTCTL);
        work.manifest("web.yaml", &Issuer::default(), &[one("web")]);
        let time = SystemClock.now() + SignedDuration::from_hours(hours);
        let run = work.run_at(time, &["issue", "./web.yaml"]);
        let cause = format!("the clock of this host is {said}");
        assert_eq!(run.code, Some(5), "{}", run.stderr);
        // Seconds pass before the CA answers.
        let near = cause.replace("3h ", "2h59m ").replace("100d ", "99d ");
        assert!(run.stderr.contains(&cause) || run.stderr.contains(&near), "{}", run.stderr);
        let page = work.run_at(time, &["describe", "web", "-f", "web.yaml"]);
        assert!(page.stdout.contains("the clock of this host is"), "{page:?}");
    }
}
