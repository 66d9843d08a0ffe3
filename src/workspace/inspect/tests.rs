use std::convert::Infallible;
use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, date_time_ymd};
use rustls::RootCertStore;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;
use crate::pki::ocsp_answer::{CertStatus, answer};
use crate::pki::test_ca::{Ca, leaf, leaf_with_urls};
use crate::pki::{Bundle, PrivateKey};
use crate::probe::{MAX_BYTES, Resolver, ResolverOptions};
use crate::resource::{KeyAlgorithm, LeafFacts};

/// A web server on a loopback port that has one response to every request.
struct Server {
    address: SocketAddr,
    _task: JoinSet<()>,
}

/// Status and body, from the body of the request.
type Answer = std::sync::Arc<dyn Fn(&[u8]) -> Option<(u16, Vec<u8>)> + Send + Sync>;

impl Server {
    fn start(socket: TcpListener, answer: Answer) -> Self {
        let address = socket.local_addr().unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut visits = JoinSet::new();
            loop {
                let (stream, _) = socket.accept().await.unwrap();
                let answer = Answer::clone(&answer);
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = Answer::clone(&answer);
                    async move {
                        let body_sent = request.into_body().collect().await.unwrap().to_bytes();
                        let Some((status, body)) = answer(&body_sent) else {
                            return std::future::pending().await;
                        };
                        let response = Response::builder().status(status);
                        let response = response.header("location", "/elsewhere");
                        Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).unwrap())
                    }
                });
                visits.spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Self { address, _task: task }
    }
}

fn at(day: &str) -> Timestamp {
    format!("{day}T00:00:00Z").parse().unwrap()
}

fn ec() -> PrivateKey {
    PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap()
}

fn network() -> Network {
    let servers = vec!["127.0.0.1:9".parse().unwrap()];
    let resolver = Resolver::new(ResolverOptions { servers, ..ResolverOptions::default() });
    Network::hurried(resolver, Duration::from_secs(3))
}

fn no_roots() -> Roots {
    Roots { system: RootCertStore::empty(), bundle: None, of_file: None, certificates: Vec::new() }
}

fn list(revoked: &[u8]) -> CertificateRevocationListParams {
    CertificateRevocationListParams {
        this_update: date_time_ymd(2031, 1, 1),
        next_update: date_time_ymd(2031, 1, 8),
        crl_number: 7_u64.into(),
        issuing_distribution_point: None,
        revoked_certs: vec![RevokedCertParams {
            serial_number: revoked.to_vec().into(),
            revocation_time: date_time_ymd(2030, 12, 1),
            reason_code: None,
            invalidity_date: None,
        }],
        key_identifier_method: KeyIdMethod::Sha256,
    }
}

/// What is found when CRL and OCSP servers give these answers.
async fn checked(
    (ca, chain): (&Ca, &str),
    socket: TcpListener,
    answer: Answer,
    now: &str,
) -> (Check, Check) {
    let server = Server::start(socket, answer);
    assert!(server.address.ip().is_loopback() && !ca.above.is_empty());
    let report = Report::make(&Subject::of_pem(chain), &no_roots(), Some(&network()), at(now))
        .await
        .unwrap();
    (report.crl, report.ocsp)
}

struct Scene {
    ca: Ca,
    chain: String,
    leaf: Vec<u8>,
    issuer: Vec<u8>,
    url: String,
    socket: TcpListener,
}

impl Scene {
    /// A leaf, its intermediate and a second one above that, which is not its issuer.
    async fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/answer", socket.local_addr().unwrap());
        let root = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
        let upper = root.intermediate("Upper", KeyAlgorithm::Ecdsa, 256);
        let ca = upper.intermediate("Issuer", KeyAlgorithm::Ecdsa, 256);
        let mine = ca.sign(&leaf_with_urls(&url, &url), &ec());
        let der = |pem: &str| Bundle::from_pem(pem).unwrap().leaf().to_vec();
        let (leaf, issuer) = (der(&mine), der(&ca.above));
        let chain = mine + &ca.above + &upper.above;
        Self { ca, chain, leaf, issuer, url, socket }
    }
}

/// A server that returns a CRL on GET and an OCSP response on POST.
fn two(crl: Vec<u8>, ocsp: Vec<u8>) -> Answer {
    std::sync::Arc::new(move |body_sent| {
        Some((200, if body_sent.is_empty() { crl.clone() } else { ocsp.clone() }))
    })
}

#[tokio::test]
async fn good_and_revoked_are_what_the_issuer_says_in_time() {
    let (this_update, next) = (at("2031-01-01"), Some(at("2031-01-08")));
    for (revoked, says, now) in [
        (&[1][..], CertStatus::Good, "2031-01-02"),
        (&[0x8a, 0x01], CertStatus::Revoked(at("2030-12-01")), "2031-01-02"),
    ] {
        let scene = Scene::new().await;
        let crl = scene.ca.revoke(&list(revoked));
        let pair = (&scene.leaf[..], &scene.issuer[..]);
        let ocsp = answer(pair, says, this_update, next, (&scene.ca.key, &[]));
        let found = checked((&scene.ca, &scene.chain), scene.socket, two(crl, ocsp), now).await;
        let url = scene.url.clone();
        let expected = match says {
            CertStatus::Good | CertStatus::Unknown => {
                let answer = Revocation::Good { this_update, next_update: next };
                let check = Check::Answered { url, answer };
                (check.clone(), check)
            }
            CertStatus::Revoked(at) => {
                let answer = |reason| Revocation::Revoked { at, reason };
                (
                    Check::Answered { url: url.clone(), answer: answer(None) },
                    Check::Answered { url, answer: answer(Some("keyCompromise")) },
                )
            }
        };
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn whatever_is_no_valid_answer_is_unknown() {
    let impostor = Ca::root("Issuer", KeyAlgorithm::Ecdsa, 256);
    let made = |scene: &Scene, signer: &Ca| {
        let pair = (&scene.leaf[..], &scene.issuer[..]);
        let next = Some(at("2031-01-08"));
        let ocsp = answer(pair, CertStatus::Good, at("2031-01-01"), next, (&signer.key, &[]));
        two(signer.revoke(&list(&[1])), ocsp)
    };
    let fixed = |status, bytes: usize| -> Answer {
        std::sync::Arc::new(move |_| Some((status, vec![b'x'; bytes])))
    };
    for (what, now, excerpt) in [
        ("expired", "2031-01-08", "the answer expired at 2031-01-08T00:00:00Z"),
        ("wrong signer", "2031-01-02", "not signed by the issuer"),
        ("silent", "2031-01-02", "no answer within 3 s"),
        ("error", "2031-01-02", "answers with HTTP status 500"),
        ("redirect", "2031-01-02", "answers with HTTP status 302"),
        ("page", "2031-01-02", "the answer is damaged"),
        ("too long", "2031-01-02", "longer than 4194304 bytes"),
    ] {
        let scene = Scene::new().await;
        let answer = match what {
            "wrong signer" => made(&scene, &impostor),
            "silent" => std::sync::Arc::new(|_: &[u8]| None),
            "error" => fixed(500, 3),
            "redirect" => fixed(302, 3),
            "page" => fixed(200, 3),
            "too long" => fixed(200, MAX_BYTES + 1),
            _ => made(&scene, &scene.ca),
        };
        let (crl, ocsp) = checked((&scene.ca, &scene.chain), scene.socket, answer, now).await;
        for (kind, check) in [("crl", crl), ("ocsp", ocsp)] {
            let Check::Unknown { reasons } = &check else { panic!("{what} {kind}: {check:?}") };
            assert!(reasons[0].contains(excerpt), "{what} {kind}: {reasons:?}");
        }
    }
}

#[tokio::test]
async fn an_unreachable_server_and_a_missing_issuer_are_unknown() {
    let scene = Scene::new().await;
    drop(scene.socket);
    let report = |pem: String| async move {
        let subject = Subject::of_pem(&pem);
        Report::make(&subject, &no_roots(), Some(&network()), at("2031-01-02")).await.unwrap()
    };
    let found = report(scene.chain.clone()).await;
    for check in [&found.crl, &found.ocsp] {
        assert!(
            matches!(check, Check::Unknown { reasons } if reasons[0].contains("cannot be reached")),
            "{check:?}"
        );
    }
    let alone = scene.chain.split_inclusive("-----END CERTIFICATE-----\r\n").next().unwrap();
    let alone = if alone.len() < scene.chain.len() {
        alone.to_owned()
    } else {
        let end = "-----END CERTIFICATE-----\n";
        scene.chain.split_inclusive(end).next().unwrap().to_owned()
    };
    let found = report(alone).await;
    let reasons = vec!["the issuer's certificate is missing".to_owned()];
    assert_eq!((found.crl.clone(), found.ocsp), (Check::Unknown { reasons }, found.crl));
}

#[tokio::test]
async fn a_bundle_with_other_roots_says_nothing_of_a_certificate() {
    let (root, other) =
        (Ca::root("Root", KeyAlgorithm::Ecdsa, 256), Ca::root("Other", KeyAlgorithm::Ecdsa, 256));
    let subject = Subject::of_pem(&root.sign(&leaf("", &["www.example.com"]), &ec()));
    let by = async |ca: &Ca| {
        let roots = Roots::read(Some(&ca.above), None);
        Report::make(&subject, &roots, None, at("2031-01-02")).await.unwrap().bundle_trust
    };
    assert_eq!(by(&root).await, Some(Trust { trusted: true, reason: None }));
    assert_eq!(by(&other).await, None);

    // The roots that clients have are asked about, and other ones are an answer.
    let file = tempfile::NamedTempFile::new().unwrap();
    let by_file = async |pem: &str| {
        let mut written = file.reopen().unwrap();
        written.set_len(0).unwrap();
        written.write_all(pem.as_bytes()).unwrap();
        let roots = Roots::read(None, Some(roots_of(file.path()).unwrap()));
        let report = Report::make(&subject, &roots, None, at("2031-01-02")).await.unwrap();
        (report.needs_attention(), report.file_trust)
    };
    let trusted = Trust { trusted: true, reason: None };
    assert_eq!(by_file(&root.above).await, (false, Some(trusted)));
    let reason = Some("issued by an unknown authority".to_owned());
    let found = Trust { trusted: false, reason };
    assert_eq!(by_file(&other.above).await, (true, Some(found)));
    file.as_file().set_len(0).unwrap();
    let error = roots_of(file.path()).err().unwrap().to_string();
    assert_eq!(error, "there is no PEM certificate");
}

#[test]
fn a_wildcard_covers_one_label() {
    let facts: LeafFacts = {
        let pem = Ca::root("Root", KeyAlgorithm::Ecdsa, 256)
            .sign(&leaf("", &["*.example.com", "Example.org", "192.0.2.1"]), &ec());
        crate::pki::leaf_facts(&pem).unwrap()
    };
    for (host, expected) in [
        ("www.example.com", true),
        ("WWW.Example.COM", true),
        ("example.com", false),
        ("a.b.example.com", false),
        ("example.org", true),
        ("192.0.2.1", true),
        ("192.0.2.2", false),
    ] {
        assert_eq!(crate::workspace::covers(&facts, host), expected, "{host}");
    }
}
