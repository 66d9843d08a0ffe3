//! The whole flow and its result.

use std::collections::BTreeMap;
use std::pin::Pin;

use instant_acme::{
    Account, AccountCredentials, BodyWrapper, BytesResponse, ChallengeType, Error,
    ExternalAccountKey, HttpClient, Identifier, NewAccount, NewOrder, OrderStatus, RetryPolicy,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use super::web::Page;
use super::*;

/// instant-acme's view of reqwest.
struct Wire(reqwest::Client);

impl HttpClient for Wire {
    fn request(
        &self,
        request: http::Request<BodyWrapper<bytes::Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let client = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let other = |error: reqwest::Error| Error::Other(Box::new(error));
            let body = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
            let request = client.request(head.method, head.uri.to_string()).headers(head.headers);
            let answer = request.body(body).send().await.map_err(other)?;
            let mut parts = http::Response::new(()).into_parts().0;
            parts.status = answer.status();
            parts.headers = answer.headers().clone();
            Ok(BytesResponse { parts, body: Box::new(answer.bytes().await.map_err(other)?) })
        })
    }
}

async fn account(
    ca: &Ca,
    binding: Option<&ExternalAccountKey>,
) -> Result<(Account, AccountCredentials), Error> {
    let wanted = NewAccount {
        contact: &["mailto:admin@example.com"],
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    Account::builder_with_http(Box::new(Wire(client::http(&ca.root_pem()))))
        .create(&wanted, ca.directory_url(), binding)
        .await
}

const PATIENCE: RetryPolicy =
    RetryPolicy::new().initial_delay(Duration::from_millis(2)).timeout(Duration::from_secs(20));

fn chain(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).map(Result::unwrap).collect()
}

/// Whether the chain is good for the name under this root at the test's time.
fn verifies(chain: &[CertificateDer<'_>], root_pem: &str, name: &str) -> bool {
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
async fn instant_acme_gets_a_certificate_for_names_and_an_address() {
    let web = Web::start().await;
    let ca = Ca::start(options(&web)).await.unwrap();
    let (account, _) = account(&ca, None).await.unwrap();
    let identifiers = [
        Identifier::Dns("b.example".into()),
        Identifier::Dns("a.example".into()),
        Identifier::Ip([127, 0, 0, 1].into()),
    ];
    let mut order = account.new_order(&NewOrder::new(&identifiers)).await.unwrap();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization.unwrap();
        let mut challenge = authorization.challenge(ChallengeType::Http01).unwrap();
        let content = challenge.key_authorization().as_str().to_owned();
        web.put(&challenge.token.clone(), Page::Text(content));
        challenge.set_ready().await.unwrap();
    }
    assert_eq!(order.poll_ready(&PATIENCE).await.unwrap(), OrderStatus::Ready);
    order.finalize().await.unwrap();
    let pem = order.poll_certificate(&PATIENCE).await.unwrap();

    let chain = chain(&pem);
    assert_eq!(chain.len(), 2);
    for name in ["a.example", "b.example", "127.0.0.1"] {
        assert!(verifies(&chain, &ca.root_pem(), name), "{name}");
    }
    assert!(!verifies(&chain, &ca.root_pem(), "c.example"));
    let (_, leaf) = x509_parser::certificate::X509Certificate::from_der(&chain[0]).unwrap();
    let names = &leaf.subject_alternative_name().unwrap().unwrap().value.general_names;
    assert_eq!(
        *names,
        [
            GeneralName::DNSName("b.example"),
            GeneralName::DNSName("a.example"),
            GeneralName::IPAddress(&[127, 0, 0, 1]),
        ]
    );
    assert_eq!(ca.created(RequestKind::NewAccount), 1);
    assert_eq!(ca.created(RequestKind::NewOrder), 1);
    assert_eq!(ca.issued(), 1);
    let mut hosts = web.hosts();
    hosts.sort();
    assert_eq!(hosts, ["127.0.0.1", "a.example", "b.example"]);
    let log = ca.log();
    assert_eq!(log.len(), ca.requests());
    assert_eq!(log[0].kind, RequestKind::Directory);
    assert!(log.iter().all(|entry| entry.delivered && entry.faults.is_empty()), "{log:#?}");
    assert!(log.iter().any(|entry| entry.kind == RequestKind::Certificate));
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
async fn external_account_binding_is_checked() {
    let web = Web::start().await;
    let mut options = options(&web);
    options.external_account_keys = BTreeMap::from([("kid-1".into(), b"secret".to_vec())]);
    let ca = Ca::start(options).await.unwrap();
    let found =
        async |binding: Option<ExternalAccountKey>| match account(&ca, binding.as_ref()).await {
            Ok(_) => "created".to_owned(),
            Err(Error::Api(problem)) => problem.r#type.unwrap(),
            Err(error) => panic!("{error}"),
        };
    let key = |id: &str, secret: &[u8]| Some(ExternalAccountKey::new(id.into(), secret));
    let urn = |word: &str| format!("urn:ietf:params:acme:error:{word}");
    assert_eq!(found(None).await, urn("externalAccountRequired"));
    assert_eq!(found(key("kid-2", b"secret")).await, urn("unauthorized"));
    assert_eq!(found(key("kid-1", b"other")).await, urn("unauthorized"));
    assert_eq!(found(key("kid-1", b"secret")).await, "created");
    assert_eq!(ca.created(RequestKind::NewAccount), 1);
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
