//! Promise: with `--ping URL` a monitor learns when a run of `issue` or `renew` begins and how it
//! ended; what the monitor does changes no run.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use certctl::rehearsal::{Fault, ProblemType, Rule};

use crate::support::{CertificateYaml, World};

/// A monitor that answers everything with this status; and the lines of the requests.
pub(super) fn monitor(status: &'static str) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let request = lines.next().unwrap();
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (address, requests)
}

#[test]
fn a_monitor_sends_no_request_elsewhere_and_its_url_goes_to_no_other_host() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let (inner, heard) = monitor("200 OK");
    let redirect = format!("302 Found\r\nLocation: http://{inner}/admin/delete?all=1");
    let (address, _requests) = monitor(redirect.leak());
    let url = format!("http://{address}/uuid");
    world.run(&["issue", "--ping", &url]).ends_in(0).says("answered 302");
    assert_eq!(heard.try_iter().collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_monitor_learns_of_the_start_the_success_and_the_failure() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let (address, requests) = monitor("200 OK");
    let url = format!("http://{address}/uuid?rid=7");
    let heard = || requests.try_iter().collect::<Vec<_>>();
    let [start, success, failure] =
        ["/uuid/start", "/uuid", "/uuid/fail"].map(|path| format!("GET {path}?rid=7 HTTP/1.1"));
    world.run(&["issue", "--ping", &url]).ends_in(0);
    assert_eq!(heard(), [start.clone(), success.clone()]);
    world.run(&["issue", "--ping", &url]).says_nothing();
    assert_eq!(heard(), [start.clone(), success.clone()]);
    world.run(&["renew", "web", "--ping", &url]).ends_in(0);
    assert_eq!(heard(), [start.clone(), success]);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal));
    world.run(&["renew", "web", "--new-order", "--ping", &url]).ends_in(4);
    assert_eq!(heard(), [start.clone(), failure.clone()]);
    world.run(&["renew", "nothing", "--ping", &url]).ends_in(3);
    assert_eq!(heard(), [start, failure]);
    // Other verbs are none of the monitor's business.
    world.run(&["status", "--ping", &url]).ends_in(0);
    world.run(&["deploy", "--ping", &url]).ends_in(0);
    assert_eq!(heard(), [""; 0]);
}

#[test]
fn a_run_that_waits_after_a_failure_is_no_success() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let (address, requests) = monitor("200 OK");
    let url = format!("http://{address}/uuid");
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal));
    for code in [4, 75] {
        world.run(&["issue", "--ping", &url]).ends_in(code);
        let heard: Vec<String> = requests.try_iter().collect();
        assert_eq!(heard, ["GET /uuid/start HTTP/1.1", "GET /uuid/fail HTTP/1.1"], "{code}");
    }
}

#[test]
fn a_monitor_that_fails_is_a_warning_and_changes_no_run() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let (address, _requests) = monitor("500 Internal Server Error");
    let url = format!("http://{address}/uuid");
    let run = world.run(&["issue", "--ping", &url]).ends_in(0);
    assert_eq!(run.stderr.matches("warning: ping: 127.0.0.1 answered 500").count(), 1);
    assert!(!run.stderr.contains("uuid"), "{}", run.stderr);
    // Nothing listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{closed}/uuid");
    let run = world.run(&["issue", "--ping", &url]).ends_in(0);
    assert_eq!(run.stderr.matches("warning: ping: 127.0.0.1: ").count(), 1, "{}", run.stderr);
    world.state().published("web");
}
