//! The self-check against real servers on loopback ports.

use std::collections::BTreeMap;

use super::*;
use crate::probe::ResolverOptions;
use crate::probe::name_server::{NameServer, Reply};
use crate::probe::tls_server::{Reaction, TlsServer, answering, old, usual};
use crate::resource::{DnsName, Outlook};
use hickory_proto::op::ResponseCode;

const KEY: &str = "tok.abc";
const NAME: &str = "www.example.com";

fn name() -> Identifier {
    Identifier::Dns(NAME.parse::<DnsName>().unwrap())
}

/// A resolver that has these addresses for `NAME`, and to which no other name exists.
async fn resolver(addresses: &[&str]) -> (NameServer, Resolver) {
    let server = NameServer::start(|_, _| Reply::Code(ResponseCode::NXDomain)).await;
    let known = addresses.iter().map(|address| address.parse().unwrap()).collect();
    let options = ResolverOptions {
        servers: vec![server.address],
        overrides: BTreeMap::from([(NAME.to_owned(), known)]),
        ..ResolverOptions::default()
    };
    (server, Resolver::new(options))
}

async fn check(identifier: &Identifier, addresses: &[&str], port: u16) -> TlsAlpn01Report {
    let (_server, resolver) = resolver(addresses).await;
    let timeout = Duration::from_secs(5);
    check_tlsalpn01(&resolver, identifier, KEY, CheckOptions { port, timeout }).await
}

/// The answer of the one address of a server.
async fn answer(reaction: Reaction) -> AddressAnswer<WrongHandshake> {
    let server = TlsServer::start("127.0.0.1:0", reaction).await;
    let report = check(&name(), &["127.0.0.1"], server.address.port()).await;
    assert_eq!(report.has_passed(), report.addresses[0].outcome == AddressAnswer::Correct);
    report.addresses[0].outcome.clone()
}

#[tokio::test]
async fn names_and_addresses_are_asked_by_their_server_names() {
    for (identifier, bind) in [
        (name(), "127.0.0.1:0"),
        (Identifier::Ip("127.0.0.1".parse().unwrap()), "127.0.0.1:0"),
        (Identifier::Ip("::1".parse().unwrap()), "[::1]:0"),
    ] {
        let server = TlsServer::start(bind, answering(&identifier, KEY)).await;
        let (address, port) = (server.address.ip(), server.address.port());
        let report = check(&identifier, &["127.0.0.1"], port).await;
        let outcome = AddressAnswer::Correct;
        let addresses = vec![HandshakeReport { address, outcome }];
        let expected = TlsAlpn01Report::judge(identifier, port, addresses, None);
        assert!(expected.has_passed());
        assert_eq!(report, expected);
    }
}

#[tokio::test]
async fn a_server_without_tls_1_3_is_asked_too() {
    assert_eq!(answer(old(answering(&name(), KEY))).await, AddressAnswer::Correct);
}

#[tokio::test]
async fn a_name_with_an_ipv6_address_alone_is_asked_there() {
    let server = TlsServer::start("[::1]:0", answering(&name(), KEY)).await;
    let report = check(&name(), &["::1"], server.address.port()).await;
    assert!(report.has_passed(), "{report}");
    // Nothing listens on the other address.
    let report = check(&name(), &["::1", "127.0.0.1"], server.address.port()).await;
    assert!(report.has_passed(), "{report}");
    let [warning] = report.warnings().try_into().unwrap();
    assert!(warning.starts_with("127.0.0.1 cannot be reached: "), "{warning}");
}

#[tokio::test]
async fn a_usual_server_is_shown_by_its_certificate() {
    let wrong = |certificate| {
        let why = "the server does not support acme-tls/1".to_owned();
        AddressAnswer::Wrong(WrongHandshake { why, certificate })
    };
    let names = ["a.example", "b.example", "c.example"].map(str::to_owned).to_vec();
    let certificate = ShownCertificate { names, issuer: "rcgen self signed cert".to_owned() };
    assert_eq!(answer(usual(NAME, &[])).await, wrong(Some(certificate.clone())));
    // It ends the handshake.
    assert_eq!(answer(usual(NAME, &[b"h2", b"http/1.1"])).await, wrong(None));
    let why = "the certificate has no acmeIdentifier extension".to_owned();
    let certificate = Some(certificate);
    let expected = AddressAnswer::Wrong(WrongHandshake { why, certificate });
    assert_eq!(answer(usual(NAME, &[ACME_TLS])).await, expected);
}

#[tokio::test]
async fn the_certificate_of_another_challenge_is_wrong() {
    let why = "the acmeIdentifier extension has the digest of another key authorization";
    let expected = WrongHandshake { why: why.to_owned(), certificate: None };
    let server = answering(&name(), "other.abc");
    assert_eq!(answer(server).await, AddressAnswer::Wrong(expected));
}

#[tokio::test]
async fn what_speaks_no_tls_blocks_and_silence_does_not_hang() {
    let broken = |why: &str| AddressAnswer::Broken { why: why.to_owned() };
    let page = answer(Reaction::Says(b"HTTP/1.1 400 Bad Request\r\n\r\n")).await;
    assert_eq!(page, broken("it does not speak TLS: InvalidContentType"));
    // Another certctl, which has the certificates of its own challenges only.
    let other = Identifier::Dns("other.example.org".parse().unwrap());
    let refused = answer(answering(&other, KEY)).await;
    assert_eq!(refused, broken("TLS failed: received fatal alert: AccessDenied"));
    let closed = answer(Reaction::Says(b"")).await;
    let why = "the connection was closed during the TLS handshake".to_owned();
    assert_eq!(closed, AddressAnswer::Unreachable { why });

    let server = TlsServer::start("127.0.0.1:0", Reaction::Silent).await;
    let (_names, resolver) = resolver(&["127.0.0.1"]).await;
    let (port, timeout) = (server.address.port(), Duration::from_millis(50));
    let report = check_tlsalpn01(&resolver, &name(), KEY, CheckOptions { port, timeout }).await;
    let expected = AddressAnswer::Unreachable { why: "no answer in 0.05 s".to_owned() };
    assert_eq!(report.addresses[0].outcome, expected);
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_what_the_check_found() {
    let (_server, resolver) = resolver(&[]).await;
    let identifier = Identifier::Dns("other.example.org".parse().unwrap());
    let report = check_tlsalpn01(&resolver, &identifier, KEY, CheckOptions::default()).await;
    assert_eq!((report.outlook, report.has_passed()), (Outlook::NoName, false));
    assert!(report.cause().unwrap().contains("NXDOMAIN"), "{report}");
}

/// Like the causes of HTTP-01.
#[test]
fn the_commonest_cause_is_of_this_host_or_of_the_name() {
    let report = |address: &str| {
        let outcome = wrong("no".to_owned(), None);
        let address = address.parse().unwrap();
        TlsAlpn01Report::judge(name(), 443, vec![HandshakeReport { address, outcome }], None)
    };
    let cause = |address: &str, listeners: &[&str]| {
        let listeners: Vec<SocketAddr> = listeners.iter().map(|one| one.parse().unwrap()).collect();
        let report = handshake_explained_by_host(report(address), &listeners);
        (report.outlook, report.cause().unwrap().to_owned())
    };
    let expected = "no (127.0.0.1): another program of this host listens on 127.0.0.1:443";
    for listeners in [&[][..], &["[::]:443"]] {
        assert_eq!(cause("127.0.0.1", listeners), (Outlook::Unserved, expected.to_owned()));
    }
    let expected = "no (127.0.0.1): the server of this host (127.0.0.1:443) does not forward the \
                    connection to certctl (127.0.0.1:8443)";
    assert_eq!(cause("127.0.0.1", &["127.0.0.1:8443"]), (Outlook::Unserved, expected.to_owned()));
    let (outlook, elsewhere) = cause("192.0.2.1", &[]);
    let expected = "no (192.0.2.1): the name leads to 192.0.2.1, not an address of this host";
    assert!(outlook == Outlook::Open && elsewhere.starts_with(expected), "{elsewhere}");
}
