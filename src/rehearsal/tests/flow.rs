//! Issued certificates, and how a CA ends.

use std::collections::BTreeMap;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::prelude::FromDer;

use super::*;

pub(super) fn chain(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).map(Result::unwrap).collect()
}

/// Whether the chain is good for the name under this root at the test's time.
pub(super) fn verifies(chain: &[CertificateDer<'_>], root_pem: &str, name: &str) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(root_pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
    let seconds = u64::try_from(now().as_second()).unwrap();
    let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let name = ServerName::try_from(name.to_owned()).unwrap();
    verifier.verify_server_cert(&chain[0], &chain[1..], &name, &[], time).is_ok()
}

#[tokio::test]
async fn a_leaf_says_what_was_ordered_and_nothing_else() {
    let (ca, web, client) = stage(|_| {}).await;
    let pem = client.issue(&["a.example"], &web).await.body;
    let chain = chain(&pem);
    let (_, leaf) = x509_parser::certificate::X509Certificate::from_der(&chain[0]).unwrap();
    let (_, issuer) = x509_parser::certificate::X509Certificate::from_der(&chain[1]).unwrap();
    let time = |text: &str| text.parse::<Timestamp>().unwrap().as_second();
    assert_eq!(leaf.validity().not_before.timestamp(), time("2027-01-15T11:00:00Z"));
    assert_eq!(leaf.validity().not_after.timestamp(), time("2027-04-15T12:00:00Z"));
    assert_eq!(leaf.subject().to_string(), "");
    assert_eq!(leaf.issuer(), issuer.subject());
    assert!(!leaf.is_ca() && issuer.is_ca());
    assert!(leaf.key_usage().unwrap().unwrap().value.digital_signature());
    assert!(leaf.extended_key_usage().unwrap().unwrap().value.server_auth);
    let serial = leaf.raw_serial();
    assert!(serial.len() == 16 && (0x40..0x80).contains(&serial[0]), "{serial:?}");
    let extension = |certificate: &x509_parser::certificate::X509Certificate<'_>, name: &str| {
        let found = certificate.iter_extensions().find(|e| e.oid.to_id_string() == name);
        found.map(|e| e.value.to_vec()).unwrap()
    };
    let (issuer_id, leaf_id) = (extension(&issuer, "2.5.29.14"), extension(&leaf, "2.5.29.35"));
    assert_eq!(leaf_id[4..], issuer_id[2..]);
    assert_eq!(extension(&leaf, "2.5.29.14").len(), issuer_id.len());
    assert_eq!(ca.issued(), 1);
}

#[tokio::test]
async fn the_alternate_chain_is_linked_and_ends_in_the_second_root() {
    let (ca, web, client) = stage(|options| options.alternate_root = true).await;
    let answer = client.issue(&["a.example"], &web).await;
    let links: Vec<&str> =
        answer.headers.get_all("link").iter().map(|link| link.to_str().unwrap()).collect();
    let alternate = links.iter().find(|link| link.ends_with(";rel=\"alternate\"")).unwrap();
    let url = alternate.trim_start_matches('<').split('>').next().unwrap();
    let other = client.read(url).await.body;
    let roots = ca.root_pems();
    let matrix: Vec<bool> = [&answer.body, &other]
        .into_iter()
        .flat_map(|pem| roots.iter().map(|root| verifies(&chain(pem), root, "a.example")))
        .collect();
    assert_eq!(matrix, [true, false, false, true]);
    assert_eq!(chain(&answer.body)[0], chain(&other)[0]);
}

#[test]
fn a_ca_on_its_own_thread_ends_with_its_handle() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let resolver = Resolver::names(BTreeMap::new());
    let ca = CaThread::start(CaOptions::new(Arc::new(now), resolver)).unwrap();
    let client = Client::new(&ca);
    let directory = runtime.block_on(client.get(&ca.directory_url())).unwrap();
    assert_eq!((directory.status, ca.requests()), (200, 1));
    drop(ca);
    assert!(std::net::TcpStream::connect(client.address()).is_err());
}

#[tokio::test]
async fn a_ca_that_is_shut_down_is_gone() {
    let (ca, _web, client) = stage(|_| {}).await;
    ca.shutdown().await;
    assert!(tokio::net::TcpStream::connect(client.address()).await.is_err());
    assert!(client.get(&client.url("/directory")).await.is_err());
}
