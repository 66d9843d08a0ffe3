//! The provider against a service written from the documentation of Route 53, of the Security
//! Token Service and of the metadata services.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as Lock};

use aws_lc_rs::{digest, hmac};

use super::*;
use crate::resource::SecretKeySelector;
use crate::resource::hex;
use crate::solver::dns01::fake::{Answer, Fake, Received, in_context, record, without_ambient};

mod failures;
mod keys;

pub(super) const SECRETS: [(&str, &str); 2] =
    [("aws/id", "CANARYID"), ("aws/secret", "CANARY/secret")];

/// An account. `zones`: ID, name, whether it is private; a page holds one.
#[derive(Default)]
struct Service {
    zones: Vec<(&'static str, &'static str, bool)>,
    /// Name, set identifier, value, TTL.
    sets: BTreeSet<[String; 4]>,
    pending: usize,
    busy: Vec<&'static str>,
    signatures: usize,
}

/// How a service answers a request.
pub(super) type Responder = fn(&Received) -> Answer;

type State = Arc<Lock<Service>>;

pub(super) fn error(status: u16, code: &str, message: &str) -> Answer {
    let error = format!(
        "<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    );
    Answer::new(
        status,
        format!(
            "<?xml version=\"1.0\"?>\n<ErrorResponse xmlns=\"https://route53.amazonaws.com/doc/\
             2013-04-01/\">{error}<RequestId>1</RequestId></ErrorResponse>"
        ),
    )
}

fn answer(state: &State, received: &Received) -> Answer {
    let mut state = state.lock().unwrap();
    if !is_signed(received, "route53", ["CANARYID", "CANARY/secret", ""]) {
        return error(403, "SignatureDoesNotMatch", "Check your key and signing method.");
    }
    state.signatures += 1;
    let path = received.path().strip_prefix("/2013-04-01").unwrap();
    match (received.method.as_str(), path) {
        ("GET", "/hostedzonesbyname") => zones(&state, received),
        ("GET", "/hostedzone/Z3/rrset") => Answer::new(200, "<ListResourceRecordSetsResponse/>"),
        ("POST", "/hostedzone/Z3/rrset/") => match state.busy.pop() {
            Some(code) => error(400, code, "Rate exceeded"),
            None => change(&mut state, &received.body),
        },
        ("GET", "/change/C7") => {
            state.pending -= 1;
            info(&state)
        }
        _ => error(404, "NoSuchHostedZone", "No hosted zone found with ID: Z9"),
    }
}

/// Whether the request is signed with ID, key and token, as documented.
pub(super) fn is_signed(
    received: &Received,
    service: &str,
    [id, secret, token]: [&str; 3],
) -> bool {
    let digest = |text: &str| hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    let mac = |key: &[u8], text: &str| {
        hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
    };
    let (path, query) = received.target.split_once('?').unwrap_or((&received.target, ""));
    let names = match token {
        "" => "host;x-amz-date",
        _ => "host;x-amz-date;x-amz-security-token",
    };
    let headers: String =
        names.split(';').map(|name| [name, ":", received.header(name), "\n"].concat()).collect();
    let body = digest(&received.body);
    let canonical = format!("{}\n{path}\n{query}\n{headers}\n{names}\n{body}", received.method);
    let scope = format!("20260102/us-east-1/{service}/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n20260102T030405Z\n{scope}\n{}", digest(&canonical));
    let mut key = format!("AWS4{secret}").into_bytes();
    for part in scope.split('/') {
        key = mac(&key, part);
    }
    let expected = format!(
        "AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={}",
        hex(&mac(&key, &text))
    );
    received.header("authorization") == expected && received.header("x-amz-security-token") == token
}

fn zones(state: &Service, received: &Received) -> Answer {
    let (name, id) = (received.query("dnsname").unwrap(), received.query("hostedzoneid"));
    let from = state.zones.iter().position(|(zone, dns, _)| match &id {
        Some(id) => zone == id,
        None => *dns == name,
    });
    // Without such a name the list starts at the next one.
    let from = from.unwrap_or(state.zones.len() - 1);
    let (id, dns, private) = state.zones[from];
    let next = state.zones.get(from + 1).map_or(String::new(), |(id, dns, _)| {
        format!("<NextDNSName>{dns}</NextDNSName><NextHostedZoneId>{id}</NextHostedZoneId>")
    });
    Answer::new(
        200,
        format!(
            "<ListHostedZonesByNameResponse><HostedZones><HostedZone><Id>/hostedzone/{id}</Id>\
             <Name>{dns}</Name><Config><PrivateZone>{private}</PrivateZone></Config></HostedZone>\
             </HostedZones><IsTruncated>{}</IsTruncated>{next}</ListHostedZonesByNameResponse>",
            !next.is_empty()
        ),
    )
}

fn change(state: &mut Service, body: &str) -> Answer {
    let root = Element::read(body.as_bytes()).unwrap();
    let change = root.child("ChangeBatch").unwrap().child("Changes").unwrap().child("Change");
    let change = change.unwrap();
    let text = |path: &[&str]| {
        let path = [&["ResourceRecordSet"], path].concat();
        change.text_at(&path).to_owned()
    };
    assert_eq!((text(&["Type"]).as_str(), text(&["MultiValueAnswer"]).as_str()), ("TXT", "true"));
    let value = text(&["ResourceRecords", "ResourceRecord", "Value"]);
    let set = [text(&["Name"]), text(&["SetIdentifier"]), value, text(&["TTL"])];
    if change.text_at(&["Action"]) == "UPSERT" {
        state.sets.insert(set);
    } else if !state.sets.remove(&set) {
        let message =
            format!("Tried to delete resource record set [name='{}'] but it was not found", set[0]);
        return invalid(&message);
    }
    info(state)
}

pub(super) fn invalid(message: &str) -> Answer {
    let messages = format!("<Messages><Message>{message}</Message></Messages>");
    Answer::new(400, format!("<InvalidChangeBatch xmlns=\"x\">{messages}</InvalidChangeBatch>"))
}

fn info(state: &Service) -> Answer {
    let status = if state.pending == 0 { "INSYNC" } else { "PENDING" };
    let info = format!("<ChangeInfo><Id>/change/C7</Id><Status>{status}</Status></ChangeInfo>");
    Answer::new(
        200,
        format!("<ChangeResourceRecordSetsResponse>{info}</ChangeResourceRecordSetsResponse>"),
    )
}

fn selector(key: &str) -> SecretKeySelector {
    SecretKeySelector { name: "aws".to_owned(), key: key.to_owned() }
}

pub(super) fn settings(zone_id: &str) -> Settings {
    Settings {
        access_key_id_secret_ref: Some(selector("id")),
        secret_access_key_secret_ref: Some(selector("secret")),
        hosted_zone_id: zone_id.to_owned(),
        ..Settings::default()
    }
}

/// The provider of these settings and variables, directed to this address.
pub(super) fn provider(base: &str, settings: &Settings, variables: &[(&str, &str)]) -> Route53 {
    let made = in_context(&SECRETS, variables, |context| Route53::new(settings, context)).unwrap();
    assert_eq!(made.base, "https://route53.amazonaws.com");
    let mut made = Route53 { base: base.to_owned(), pause: Pause::NONE, ..made };
    base.clone_into(&mut made.credentials.sts);
    made
}

async fn start(service: Service) -> (State, Fake, Route53) {
    let state = Arc::new(Lock::new(service));
    let shared = Arc::clone(&state);
    let fake = Fake::start(move |received| answer(&shared, received)).await;
    let provider = provider(&fake.url(), &settings(""), &[]);
    (state, fake, provider)
}

fn example() -> Service {
    let zones = vec![
        ("Z1", "example.com.", true),
        ("Z2", "example.com.", true),
        ("Z3", "example.com.", false),
        ("Z4", "example.net.", false),
    ];
    Service { zones, ..Service::default() }
}

fn sets(values: &[&str]) -> BTreeSet<[String; 4]> {
    let set = |value: &&str| {
        let quoted = format!("\"{value}\"");
        let name = "_acme-challenge.www.example.com.".to_owned();
        [name, quoted.clone(), quoted, "10".to_owned()]
    };
    values.iter().map(set).collect()
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let (state, fake, provider) = start(example()).await;
    let now = || state.lock().unwrap().sets.clone();
    let (apex, wild) = (record("apex"), record("wild"));
    // The zone is not known: three names are tried, and the last has three pages.
    let walked = TxtRecord { zone: String::new(), ..apex.clone() };
    provider.clean_up(&walked).await.unwrap();
    let lists: Vec<_> = fake
        .received()
        .iter()
        .filter_map(|received| {
            received
                .target
                .strip_prefix("/2013-04-01/hostedzonesbyname?dnsname=")
                .map(str::to_owned)
        })
        .collect();
    let expected = [
        "_acme-challenge.www.example.com.",
        "www.example.com.",
        "example.com.",
        "example.com.&hostedzoneid=Z2",
        "example.com.&hostedzoneid=Z3",
    ];
    assert_eq!(lists, expected);
    state.lock().unwrap().pending = 3;
    state.lock().unwrap().busy = vec!["PriorRequestNotComplete", "Throttling"];
    provider.present(&apex).await.unwrap();
    assert_eq!((now(), state.lock().unwrap().pending), (sets(&["apex"]), 0));
    provider.present(&wild).await.unwrap();
    provider.present(&wild).await.unwrap();
    assert_eq!(now(), sets(&["apex", "wild"]));
    provider.clean_up(&apex).await.unwrap();
    assert_eq!(now(), sets(&["wild"]));
    provider.clean_up(&apex).await.unwrap();
    provider.clean_up(&wild).await.unwrap();
    assert_eq!(now(), sets(&[]));
    provider.present(&apex).await.unwrap();
    assert_eq!(now(), sets(&["apex"]));
    assert_eq!(state.lock().unwrap().signatures, fake.received().len());
    let message = provider.check("www.example.com", "example.com").await.unwrap();
    assert_eq!(message, format!("the credentials can read hosted zone Z3 at {}", fake.address));
}

#[tokio::test]
async fn ambiguous_and_missing_zones_are_reported() {
    let cases = [
        (
            vec![("Z1", "example.com.", true)],
            "{} has no zone for _acme-challenge.www.example.com: the account has no public zone \
             for it, only private ones (Z1)",
        ),
        (
            vec![("Z2", "example.com.", false), ("Z1", "example.com.", false)],
            "route53: the account has several public zones for example.com (Z1, Z2): choose one \
             in hostedZoneID",
        ),
    ];
    for (zones, expected) in cases {
        let (_state, fake, provider) = start(Service { zones, ..Service::default() }).await;
        let error = provider.present(&record("ours")).await.unwrap_err().to_string();
        assert_eq!(error, expected.replace("{}", &fake.address.to_string()));
    }
}
