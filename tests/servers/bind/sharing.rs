//! Certificates that share a name, at a Pebble that gives authorizations out again: valid ones, as
//! it can by itself, and pending ones, with `tests/tools`' change of one line.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use certctl::resource::{Event, Reason};
use serde_json::Value;

use super::CERTCTL;
use crate::bind_support::{Bind, SECRET, key_of};
use crate::journal::check;
use crate::pebble_support::{Ca, Issuer, Options, Work, find, installed, not_tested};

const SHARED: &str = "shared.example.test";

/// Certificates of a name each, and one that all have.
#[derive(Clone, Copy, Debug)]
struct Case {
    certificates: usize,
    cap: usize,
    processes: usize,
    over_dns: bool,
    /// Also pending authorizations are given out again.
    pending: bool,
}

impl Case {
    /// Issues all at once, and one more at the end.
    fn run(self, bind: &Bind) {
        let name_server = self.over_dns.then_some(bind.address);
        let ca = Ca::start(&Options {
            reuse_authorizations: 100,
            reuse_pending: self.pending,
            name_server,
            ..Options::default()
        });
        let work = Work::new(&ca, CERTCTL);
        let before = bind.zone("example.test");
        let writes = writes(bind, SHARED);
        self.issue(&work, 0..self.certificates, self.processes);
        let journals = self.journals(&work);
        let found = check(&journals, self.cap);
        assert_eq!(found.violations, [].into(), "{self:?}: {found:?}");
        assert!(found.peak <= self.cap, "{self:?}: {found:?}");
        let presented = |name: &str| {
            let events = journals.values().flatten();
            let these = events.filter(|event| event.reason == Reason::Presented);
            these.filter(|event| event.message.ends_with(&format!("({name})"))).count()
        };
        // Each authorization that the CA made is proven once, if no other came first.
        let made = self.shared_authorizations(&work).len();
        assert!((1..=made).contains(&presented(SHARED)), "{self:?}: {made} authorizations");
        assert!(!self.pending || made <= 2, "{self:?}: {made} authorizations");
        assert_eq!(presented("own-0.example.test"), 1, "{self:?}");
        let expected = if self.over_dns { presented(SHARED) } else { 0 };
        assert_eq!(self::writes(bind, SHARED) - writes, expected, "{self:?}");
        // What is proven costs no DNS write.
        self.issue(&work, self.certificates..self.certificates + 1, 1);
        assert_eq!(self::writes(bind, SHARED) - writes, expected, "{self:?}");
        assert_eq!(bind.zone("example.test"), before, "{self:?}");
    }

    fn issue(self, work: &Work<'_>, certificates: std::ops::Range<usize>, processes: usize) {
        let mut children = Vec::new();
        for process in 0..processes {
            let (file, issuer) = (format!("{process}.yaml"), Issuer::default());
            let these = certificates.clone().skip(process).step_by(processes);
            let these: Vec<_> = these.map(|n| (format!("c{n}"), names(n))).collect();
            work.manifest(&file, &issuer, &these);
            if self.over_dns {
                let solvers = solver(work);
                let text = std::fs::read_to_string(work.path(&file)).unwrap();
                let text = text.replace("[ http01: { ingress: {} } ]", &solvers);
                let secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: tsig }\n";
                let secret = format!("---\n{secret}stringData: {{ secret: {SECRET} }}\n");
                work.write(&file, &format!("{text}{secret}"));
            }
            let mut command = work.command(&file);
            command.args(["--max-concurrent-challenges", &self.cap.to_string()]);
            command.args(["--self-check-interval", "1s"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            children.push(command.spawn().unwrap());
        }
        for child in children {
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{self:?}: {said}");
        }
        for number in certificates {
            assert!(work.secret(&format!("c{number}"), "tls.crt").is_some(), "{self:?}: {number}");
        }
    }

    fn journals(self, work: &Work<'_>) -> BTreeMap<String, Vec<Event>> {
        let events = |name: &str| {
            let path = work.path(&format!("state/certificates/default/{name}/events.jsonl"));
            let text = std::fs::read_to_string(path).unwrap();
            assert!(!text.contains("\"Failed\""), "{self:?}: {text}");
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        (0..self.certificates).map(|n| format!("c{n}")).map(|n| (n.clone(), events(&n))).collect()
    }

    /// The URLs of all authorizations of the shared name.
    fn shared_authorizations(self, work: &Work<'_>) -> BTreeSet<String> {
        let mut urls = BTreeSet::new();
        for number in 0..self.certificates {
            let orders = work.path(&format!("state/certificates/default/c{number}/orders"));
            for file in std::fs::read_dir(orders).unwrap() {
                let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
                let order: Value = serde_json::from_str(&text).unwrap();
                let all = order.pointer("/document/authorizations").unwrap().as_array().unwrap();
                let is_shared = |a: &&Value| a["identifier"].to_string().contains(SHARED);
                urls.extend(all.iter().filter(is_shared).map(|a| a["url"].to_string()));
            }
        }
        urls
    }
}

fn names(number: usize) -> Vec<String> {
    vec![format!("own-{number}.example.test"), SHARED.to_owned()]
}

fn solver(work: &Work<'_>) -> String {
    let (server, key) = (work.name_server().unwrap(), key_of("HMACSHA256"));
    format!(
        "[ dns01: {{ rfc2136: {{ nameserver: '{server}', tsigKeyName: {key}, tsigAlgorithm: \
         HMACSHA256, tsigSecretSecretRef: {{ name: tsig, key: secret }} }} }} ]"
    )
}

/// How many TXT records BIND has added for a name.
fn writes(bind: &Bind, name: &str) -> usize {
    bind.log().matches(&format!("adding an RR at '_acme-challenge.{name}'")).count()
}

/// Each with 1 slot and with 60, in one process and in two, by both methods.
fn all_cases(certificates: usize, rounds: usize) {
    installed();
    let pending = if find("pebble-reusing").is_some() {
        &[true, false][..]
    } else {
        not_tested("there is no Pebble that reuses pending authorizations, which is built with Go");
        &[false]
    };
    let bind = Bind::start();
    for _ in 0..rounds {
        for (number, over_dns) in [(0, false), (1, true)] {
            for (cap, processes) in [(1, 1), (60, 2), (1, 2), (60, 1)] {
                for (reuse, pending) in pending.iter().enumerate() {
                    // A short run takes each value of each property, and not each of all.
                    if rounds > 1 || (number + reuse + cap + processes) % 2 == 0 {
                        let pending = *pending;
                        Case { certificates, cap, processes, over_dns, pending }.run(&bind);
                    }
                }
            }
        }
    }
}

#[test]
fn certificates_that_share_a_name_are_never_two_at_it_nor_more_than_the_cap() {
    all_cases(5, 1);
}

#[test]
#[ignore = "a series of many minutes; tests/run --all starts it"]
fn series_of_certificates_that_share_a_name() {
    all_cases(10, 10);
}
