//! TLS-ALPN-01 against Pebble: names and addresses, other servers on the port, and beside the other
//! challenge types.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection};

use crate::pebble_support::{Ca, Issuer, Options, Run, Work, installed};

const CERTCTL: &str = env!("CARGO_BIN_EXE_certctl");

/// The solver of all names, as a cluster reads it for HTTP-01.
pub(crate) const TLS_ALPN: &str = "{ http01: { ingress: { ingressTemplate: { metadata: { annotations: \
                        { certctl/solver: tls-alpn-01 } } } } } }";

fn by_tls() -> Issuer {
    Issuer { solvers: Some(format!("[ {TLS_ALPN} ]")), ..Issuer::default() }
}

fn assert_done(run: &Run) {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn one_twenty_five_and_a_hundred_names_are_validated_on_port_443_at_the_minimum_of_requests() {
    installed();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    // The first run makes the account.
    let mut before = 0;
    for (count, most) in [(1, 14), (25, 60), (100, 210)] {
        let name = format!("web-{count}");
        let names: Vec<String> = (0..count).map(|n| format!("n{n:03}.many.test")).collect();
        work.manifest("web.yaml", &by_tls(), &[(name.clone(), names)]);
        assert_done(&work.issue("web.yaml"));
        let all = ca.requests().len();
        assert!(all - before <= most, "{count} names: {} requests", all - before);
        let first = work.secret(&name, "tls.crt").unwrap();
        assert_done(&work.run(&["renew", &name, "-f", "./web.yaml"]));
        assert_ne!(work.secret(&name, "tls.crt").unwrap(), first);
        before = ca.requests().len();
    }
    // Nothing listened on the port of HTTP-01 that Pebble asks.
    assert_eq!(ca.said("Attempting to validate w/ HTTP"), 0);
}

#[test]
fn a_port_that_a_server_has_is_found_before_an_order_with_its_holder_and_a_way_out() {
    installed();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    let _holder = TcpListener::bind(("127.0.0.1", ca.tls_port)).unwrap();
    work.manifest("web.yaml", &by_tls(), &[("web".into(), vec!["web.test".into()])]);
    let run = work.issue("web.yaml");
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let holder = format!("127.0.0.1:{} is in use by servers", ca.tls_port);
    for words in
        [&holder, "the TLS-ALPN-01 listener cannot start", "remove the annotation certctl/solver"]
    {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    assert_eq!(ca.said("Added order"), 0);
}

/// A server with a certificate of its own, at another address of this host.
fn other_server(port: u16) -> SocketAddr {
    let made = rcgen::generate_simple_self_signed(["shop.test".to_owned()]).unwrap();
    let chain = vec![made.cert.der().clone()];
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(chain, key.into()).unwrap());
    let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, 2), port)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, config) = (stream.unwrap(), Arc::clone(&config));
            thread::spawn(move || {
                let mut connection = ServerConnection::new(config).unwrap();
                while connection.is_handshaking() && connection.complete_io(&mut stream).is_ok() {}
            });
        }
    });
    address
}

#[test]
fn the_answer_of_another_server_is_found_before_the_ca_is_asked() {
    installed();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    let other = other_server(ca.tls_port);
    ca.dns.set_address("web.test", Ipv4Addr::new(127, 0, 0, 2));
    work.manifest("web.yaml", &by_tls(), &[("web".into(), vec!["web.test".into()])]);
    let run = work.run(&["issue", "./web.yaml", "--timeout", "3s"]);
    assert_eq!(run.code, Some(75), "{}", run.stderr);
    assert!(run.stderr.contains("shop.test"), "{}", run.stderr);
    assert!(run.stderr.contains(&other.ip().to_string()), "{}", run.stderr);
    let asked = ca.requests().iter().filter(|one| one.contains("/chalZ/")).count();
    assert_eq!(asked, 0);
}

#[test]
fn a_name_with_ipv6_alone_is_validated() {
    installed();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL).listening_at("[::1]");
    ca.dns.set_ipv6_alone();
    work.manifest("web.yaml", &by_tls(), &[("web".into(), vec!["six.test".into()])]);
    assert_done(&work.issue("web.yaml"));
}

#[test]
fn an_address_is_validated_by_its_reverse_name() {
    installed();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, CERTCTL);
    let certificate = "---\napiVersion: cert-manager.io/v1\nkind: Certificate\n\
                       metadata: { name: web }\nspec:\n  secretName: web-tls\n  \
                       issuerRef: { name: pebble }\n  ipAddresses: [127.0.0.1]\n";
    work.write("web.yaml", &format!("{}{certificate}", work.issuer(&by_tls())));
    assert_done(&work.issue("web.yaml"));
}
