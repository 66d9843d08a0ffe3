//! The self-check against real servers on loopback ports.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hickory_proto::op::ResponseCode;
use jiff::Timestamp;

use super::*;
use crate::probe::ResolverOptions;
use crate::probe::name_server::{NameServer, Reply};
use crate::probe::web_server::WebServer;
use crate::resource::{Outlook, Verdict};
use crate::solver::listener::{Answers, Hits, Listener, TokenFolder};

const KEY: &str = "tok.abc";
const PATH: &str = "/.well-known/acme-challenge/tok";
const NAME: &str = "www.example.com";

fn page(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn moved(target: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n")
}

/// A resolver that knows `NAME` and `other.example.org`, and that no other name exists.
async fn resolver(ips: &[&str]) -> (NameServer, Resolver) {
    let server = NameServer::start(|_, _| Reply::Code(ResponseCode::NXDomain)).await;
    let known = ips.iter().map(|ip| ip.parse().unwrap()).collect();
    let loopback = vec!["127.0.0.1".parse().unwrap()];
    let options = ResolverOptions {
        servers: vec![server.address],
        overrides: BTreeMap::from([
            (NAME.to_owned(), known),
            ("other.example.org".to_owned(), loopback),
        ]),
        ..ResolverOptions::default()
    };
    (server, Resolver::new(options))
}

async fn check(ips: &[&str], port: u16) -> Http01Report {
    let (_server, resolver) = resolver(ips).await;
    let name = Identifier::Dns(NAME.parse().unwrap());
    let options = CheckOptions { port, ..CheckOptions::default() };
    check_http01(&resolver, &name, &"tok".parse().unwrap(), KEY, options).await
}

/// A server on both loopback addresses, with one port.
async fn both(v4: &'static str, v6: &'static str) -> (u16, [WebServer; 2]) {
    for _ in 0..20 {
        let one = WebServer::start(move |_| Some(page("200 OK", v4))).await;
        let port = one.address.port();
        let other = SocketAddr::new("::1".parse().unwrap(), port);
        if let Some(other) = WebServer::on(other, |_| Some(page("200 OK", v6))).await {
            return (port, [one, other]);
        }
    }
    panic!("no port is free on both 127.0.0.1 and ::1")
}

#[tokio::test]
async fn every_address_must_answer_rightly_trailing_white_space_aside() {
    let (port, _servers) = both("tok.abc", "tok.abc\r\n \n").await;
    let report = check(&["127.0.0.1", "::1"], port).await;
    let correct = |ip: &str| AddressReport {
        address: ip.parse().unwrap(),
        outcome: AddressAnswer::Correct,
        redirects: vec![],
        warnings: vec![],
    };
    let expected = Http01Report {
        identifier: Identifier::Dns(NAME.parse().unwrap()),
        url: format!("http://{NAME}:{port}{PATH}"),
        addresses: vec![correct("127.0.0.1"), correct("::1")],
        dns: None,
        outlook: Outlook::Open,
        verdict: Verdict::Passed,
    };
    assert_eq!(report, expected);
    let (port, _servers) = both("tok.abc", " tok.abc").await;
    let report = check(&["127.0.0.1", "::1"], port).await;
    let reason = "did not get expected response \"tok.abc\" when querying endpoint (::1; 1 of 2 \
                  addresses)";
    assert_eq!(report.reason(), Some(reason));
}

#[tokio::test]
async fn an_address_that_cannot_be_reached_warns_until_none_can() {
    let server = WebServer::start(|_| Some(page("200 OK", KEY))).await;
    let port = server.address.port();
    let report = check(&["127.0.0.1", "::1"], port).await;
    assert!(report.has_passed(), "{report}");
    assert!(matches!(report.addresses[1].outcome, AddressAnswer::Unreachable { .. }), "{report}");
    let [warning] = report.warnings().try_into().unwrap();
    assert!(warning.starts_with("::1 cannot be reached: "), "{warning}");
    let report = check(&["::1"], port).await;
    let start =
        format!("failed to perform self check GET request 'http://{NAME}:{port}{PATH}': ::1: ");
    assert!(report.reason().unwrap().starts_with(&start), "{report}");
}

#[tokio::test]
async fn wrong_answers_block_and_are_shown_escaped() {
    let big = format!("tok.abc\n\"<\u{1b}[2J{}", "x".repeat(200));
    let cases: &[(String, u16, String)] = &[
        (page("404 Not Found", "no\n"), 404, "no\\n".to_owned()),
        (page("201 Created", KEY), 201, KEY.to_owned()),
        (page("302 Found", "nowhere"), 302, "nowhere".to_owned()),
        (page("200 OK", ""), 200, String::new()),
        (page("200 OK", "tok.abcd"), 200, "tok.abcd".to_owned()),
        (page("200 OK", &format!("{KEY}{}", " ".repeat(65536))), 200, format!("{KEY:<120}")),
        (page("200 OK", &big), 200, format!("tok.abc\\n\\\"<\\x1b[2J{}", "x".repeat(101))),
    ];
    for (answer, status, first_bytes) in cases {
        let answer = answer.clone();
        let server = WebServer::start(move |_| Some(answer.clone())).await;
        let report = check(&["127.0.0.1"], server.address.port()).await;
        let first_bytes = first_bytes.clone();
        let (status, remote) = (*status, server.address);
        let expected = AddressAnswer::Wrong(WrongResponse { status, first_bytes, remote });
        assert_eq!(report.addresses[0].outcome, expected);
        let reason = match status {
            200 => "did not get expected response \"tok.abc\" when querying endpoint \
                    (127.0.0.1)"
                .to_owned(),
            other => format!("wrong status code '{other}', expected '200' (127.0.0.1)"),
        };
        assert_eq!(report.reason(), Some(reason.as_str()));
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut_off() {
    let endless = "x".repeat(1 << 20);
    let server = WebServer::start(move |_| {
        Some(format!("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n{endless}"))
    })
    .await;
    let report = check(&["127.0.0.1"], server.address.port()).await;
    let first_bytes = "x".repeat(120);
    let remote = server.address;
    let expected = AddressAnswer::Wrong(WrongResponse { status: 200, first_bytes, remote });
    assert_eq!(report.addresses[0].outcome, expected);
}

#[tokio::test]
async fn what_speaks_no_http_blocks_and_silence_does_not_hang() {
    let server = WebServer::start(|_| Some("SSH-2.0-OpenSSH_9.2\r\n".to_owned())).await;
    let report = check(&["127.0.0.1"], server.address.port()).await;
    let AddressAnswer::Broken { why } = &report.addresses[0].outcome else { panic!("{report}") };
    assert!(why.starts_with("it does not speak HTTP: "), "{why}");
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ntok.abc";
    let server = WebServer::start(move |_| Some(short.to_owned())).await;
    let report = check(&["127.0.0.1"], server.address.port()).await;
    let AddressAnswer::Broken { why } = &report.addresses[0].outcome else { panic!("{report}") };
    assert!(why.starts_with("the body broke off: "), "{why}");
    let server = WebServer::start(|_| None).await;
    let (_server, resolver) = resolver(&["127.0.0.1"]).await;
    let name = Identifier::Dns(NAME.parse().unwrap());
    let port = server.address.port();
    let options = CheckOptions { port, timeout: Duration::from_millis(50) };
    let report = check_http01(&resolver, &name, &"tok".parse().unwrap(), KEY, options).await;
    let expected = AddressAnswer::Unreachable { why: "no answer in 0.05 s".to_owned() };
    assert_eq!(report.addresses[0].outcome, expected);
}

#[tokio::test]
async fn redirects_reach_other_hosts_and_https() {
    let tls = WebServer::start_tls(|_| Some(page("200 OK", KEY))).await;
    let secure = format!("https://other.example.org:{}/x?y=1", tls.address.port());
    let target = secure.clone();
    let server = WebServer::start(move |head| {
        let path = head.split(' ').nth(1).unwrap();
        Some(if path == PATH { moved("/moved") } else { moved(&target) })
    })
    .await;
    let (port, mut trail) = (server.address.port(), Trail::default());
    let (_server, resolver) = resolver(&["127.0.0.1"]).await;
    let url = Url::parse(&format!("http://{NAME}:{port}{PATH}")).unwrap();
    let ports = [port, tls.address.port()];
    let answer = fetch(&resolver, url, "127.0.0.1".parse().unwrap(), &ports, &mut trail).await;
    assert_eq!(answer.unwrap().body, KEY.as_bytes());
    assert_eq!(trail.redirects, [format!("http://{NAME}:{port}/moved"), secure]);
}

/// As a CA: what listens at another port of this host is not asked.
#[tokio::test]
async fn a_redirect_to_another_port_is_not_followed() {
    let requested = Arc::new(Mutex::new(false));
    let seen = Arc::clone(&requested);
    let other = WebServer::start(move |_| {
        *seen.lock().unwrap() = true;
        Some(page("200 OK", KEY))
    })
    .await;
    let target = format!("http://other.example.org:{}/", other.address.port());
    let shown = target.clone();
    let server = WebServer::start(move |_| Some(moved(&target))).await;
    let report = check(&["127.0.0.1"], server.address.port()).await;
    let why =
        format!("redirect to \"{shown}\": CAs do not follow to port {}", other.address.port());
    assert_eq!(report.addresses[0].outcome, AddressAnswer::Broken { why });
    assert!(!*requested.lock().unwrap());
}

#[tokio::test]
async fn ten_redirects_are_followed() {
    let server = WebServer::start(|head| {
        let path = head.split(' ').nth(1).unwrap();
        let step: u8 = path.strip_prefix("/").unwrap().parse().unwrap_or(0);
        Some(if step == 10 { page("200 OK", KEY) } else { moved(&format!("/{}", step + 1)) })
    })
    .await;
    let report = check(&["127.0.0.1"], server.address.port()).await;
    assert_eq!((report.has_passed(), report.addresses[0].redirects.len()), (true, 10));
}

#[tokio::test]
async fn broken_redirects_block() {
    let cases = [
        ("http://gone.example.org/", "gone.example.org does not exist (NXDOMAIN from "),
        ("ftp://other.example.org/", "neither http nor https"),
        ("file:///etc/passwd", "neither http nor https"),
        ("http://", "empty host"),
        ("http://other.example.org.well-known/acme-challenge/tok", "needs a `/` after the host"),
        (PATH, "more than 10 redirects"),
    ];
    for (target, why_part) in cases {
        let server = WebServer::start(move |_| Some(moved(target))).await;
        let report = check(&["127.0.0.1"], server.address.port()).await;
        let AddressAnswer::Broken { why } = &report.addresses[0].outcome else {
            panic!("{report}")
        };
        assert!(why.contains(why_part), "{target}: {why}");
        assert!(!report.has_passed());
    }
}

#[tokio::test]
async fn what_public_cas_do_not_follow_is_said() {
    let other = moved("/moved").replacen("302", "303", 1);
    assert!(other.contains(" 303 "), "{other}");
    let server = WebServer::start(move |_| Some(other.clone())).await;
    let report = check(&["127.0.0.1"], server.address.port()).await;
    let why = "CAs follow no redirect with status 303".to_owned();
    assert_eq!(report.addresses[0].outcome, AddressAnswer::Broken { why });

    let server = WebServer::start(|head| {
        let (path, host) = (head.split(' ').nth(1).unwrap(), head.split("host: ").nth(1).unwrap());
        let port = host.lines().next().unwrap().rsplit(':').next().unwrap();
        Some(if path == PATH {
            moved(&format!("http://127.0.0.1:{port}/moved"))
        } else {
            page("200 OK", KEY)
        })
    })
    .await;
    let report = check(&["127.0.0.1"], server.address.port()).await;
    assert!(report.has_passed(), "{report}");
    let warning = "127.0.0.1: public CAs do not follow redirects to an address such as 127.0.0.1";
    assert_eq!(report.warnings(), [warning]);
}

/// The body may be of a server that only this host can reach: it is not shown, nor stored.
#[tokio::test]
async fn a_wrong_answer_behind_a_redirect_names_who_gave_it_and_not_what_it_says() {
    let server = WebServer::start(|head| {
        let is_first = head.contains("acme-challenge");
        Some(if is_first { moved("/inside") } else { page("403 Forbidden", "secret") })
    })
    .await;
    let port = server.address.port();
    let report = check(&["127.0.0.1"], port).await;
    let expected = format!(
        "http://{NAME}:{port}{PATH}: wrong status code '403', expected '200' (127.0.0.1)\n  \
         127.0.0.1: wrong, status 403 from {}, redirected to http://{NAME}:{port}/inside",
        server.address,
    );
    assert_eq!(report.to_string(), expected);
    assert!(!format!("{report:?}").contains("secret"));
    let stored = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Http01Report>(&stored).unwrap(), report);
}

#[tokio::test]
async fn a_name_without_addresses_fails_with_the_answer_of_the_server() {
    let (server, resolver) = resolver(&[]).await;
    let name = Identifier::Dns("gone.example.com".parse().unwrap());
    let token: Token = "tok".parse().unwrap();
    let report = check_http01(&resolver, &name, &token, KEY, CheckOptions::default()).await;
    let url = format!("http://gone.example.com{PATH}");
    let dns = format!("gone.example.com does not exist (NXDOMAIN from {})", server.address);
    let reason = format!("failed to perform self check GET request '{url}': {dns}");
    let verdict = Verdict::Failed { reason };
    let expected = Http01Report {
        identifier: name,
        url,
        addresses: vec![],
        dns: Some(dns),
        outlook: Outlook::NoName,
        verdict,
    };
    assert_eq!(report, expected);
}

#[tokio::test]
async fn an_address_is_requested_by_its_literal() {
    let requested = Arc::new(Mutex::new(String::new()));
    let seen = Arc::clone(&requested);
    let address = "[::1]:0".parse().unwrap();
    let server = WebServer::on(address, move |head| {
        head.clone_into(&mut seen.lock().unwrap());
        Some(page("200 OK", KEY))
    })
    .await
    .unwrap();
    let port = server.address.port();
    let (_server, resolver) = resolver(&[]).await;
    let ip = Identifier::Ip("::1".parse().unwrap());
    let options = CheckOptions { port, ..CheckOptions::default() };
    let report = check_http01(&resolver, &ip, &"tok".parse().unwrap(), KEY, options).await;
    assert!(report.has_passed(), "{report}");
    let expected = format!(
        "GET {PATH} HTTP/1.1\r\nhost: [::1]:{port}\r\nuser-agent: certctl/{}\r\naccept: */*\r\n\
         connection: close\r\nx-certctl-self-check: 1\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(*requested.lock().unwrap(), expected);
}

#[tokio::test]
async fn the_listener_passes_the_check_and_does_not_count_it() {
    let root = tempfile::tempdir().unwrap();
    let folder = TokenFolder::open(&root.path().join("http01")).unwrap();
    let hits = Hits::new(|| Timestamp::UNIX_EPOCH);
    let any = ["[::]:0".parse().unwrap()];
    let listener = Listener::bind(&any, vec![], Answers::http(&folder, &hits)).unwrap();
    let port = listener.addresses()[0].port();
    let report = check(&["127.0.0.1", "::1"], port).await;
    assert_eq!(
        report.reason(),
        Some("wrong status code '404', expected '200' (127.0.0.1; 2 of 2 addresses)")
    );
    let all = report.warnings();
    assert!(all.len() == 2 && all[0].contains("another certctl answered"), "{all:?}");
    folder.put(&"tok".parse().unwrap(), KEY).unwrap();
    let report = check(&["127.0.0.1", "::1"], port).await;
    assert!(report.has_passed(), "{report}");
    assert_eq!(hits.total(), 0);
}

#[tokio::test]
async fn a_host_that_a_proxy_changed_is_a_warning() {
    for (received, changed) in [
        (NAME.to_owned(), false),
        (format!("{}:80", NAME.to_uppercase()), false),
        ("127.0.0.1:8402".to_owned(), true),
        ("not a host".to_owned(), true),
    ] {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nx-certctl-received-host: {received}\r\nContent-Length: 7\r\n\r\n{KEY}"
        );
        let server = WebServer::start(move |_| Some(answer.clone())).await;
        let report = check(&["127.0.0.1"], server.address.port()).await;
        assert!(report.has_passed(), "{report}");
        let warning = format!(
            "127.0.0.1: a proxy changed the Host header to {received} (`proxy_set_header Host \
             $host;` in nginx)"
        );
        let expected: Vec<String> = changed.then_some(warning).into_iter().collect();
        assert_eq!(report.warnings(), expected);
    }
}

/// That a name leads to another host may be as it is meant, behind a NAT, or may end by itself.
#[test]
fn a_cause_on_this_host_is_named_and_no_other() {
    let webroot = Settings { http01_webroot: Some("/srv".to_owned()), ..Settings::default() };
    let listener =
        Settings { http01_listen: vec!["127.0.0.1:402".to_owned()], ..Settings::default() };
    let https = "https://www.example.com/t";
    let far = "192.0.2.9".parse().unwrap();
    let own = own_address(far).map(|own| format!(" ({own})")).unwrap_or_default();
    let elsewhere = format!("the name leads to 192.0.2.9, not an address of this host{own}");
    for (settings, remote, redirects, expected) in [
        (&webroot, "192.0.2.9:80", &[][..], Some(&*elsewhere)),
        (&listener, "192.0.2.9:80", &[], Some(&*elsewhere)),
        (&Settings::default(), "127.0.0.1:80", &[], None),
        (
            &webroot,
            "127.0.0.1:80",
            &[],
            Some(
                "the web server of this host (127.0.0.1:80) has no server block for this name that \
                 serves /srv",
            ),
        ),
        (
            &webroot,
            "127.0.0.1:443",
            &[https],
            Some(
                "the web server of this host (127.0.0.1:443) has no server block for this name that \
                 serves /srv at https://www.example.com/t",
            ),
        ),
        (
            &listener,
            "127.0.0.1:80",
            &[],
            Some(
                "the server of this host (127.0.0.1:80) does not forward the request to certctl \
                 (127.0.0.1:402)",
            ),
        ),
    ] {
        let remote: SocketAddr = remote.parse().unwrap();
        let first_bytes = String::new();
        let outcome = AddressAnswer::Wrong(WrongResponse { status: 404, first_bytes, remote });
        let redirects = redirects.iter().map(|target| (*target).to_owned()).collect();
        let report =
            AddressReport { address: remote.ip(), outcome, redirects, warnings: Vec::new() };
        let name = Identifier::Dns(NAME.parse().unwrap());
        let report = Http01Report::judge(name, "u".to_owned(), KEY, vec![report], None);
        let found = explained_by_host(report, settings, 80);
        let is_of_host = remote.ip().is_loopback() && expected.is_some();
        let expected_outlook = if is_of_host { Outlook::Unserved } else { Outlook::Open };
        assert_eq!(found.outlook, expected_outlook, "{remote} {settings:?}");
        let reason = found.reason().unwrap();
        assert_eq!(reason.split_once("): ").map(|(_, why)| why), expected, "{remote}");
    }
}
