use std::net::Ipv4Addr;
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{SOA, TXT};
use hickory_proto::rr::{RData, Record};

use super::responder::{Received, Responder, TIME};
use super::*;
use crate::resource::{self, SecretKeySelector};
use crate::solver::dns01::fake::in_context;

const FINE: (u64, u16, &[u8]) = (TIME, 0, &[]);

fn manifest(nameserver: &str, key: &str) -> Rfc2136 {
    let selector = SecretKeySelector { name: "tsig".to_owned(), key: "key".to_owned() };
    Rfc2136 {
        nameserver: nameserver.to_owned(),
        tsig_secret_secret_ref: (!key.is_empty()).then_some(selector),
        tsig_key_name: key.to_owned(),
        ..Rfc2136::default()
    }
}

fn open(rfc2136: &Rfc2136, secret: &str) -> Result<Updates, ProviderError> {
    in_context(&[("tsig/key", secret)], &[], |context| Updates::open(rfc2136, context))
}

/// With the key `k` and short waits.
fn updates(server: &Responder) -> Updates {
    let mut updates = open(&manifest(&server.address.to_string(), "k"), "c2VjcmV0\n").unwrap();
    updates.limits.wait = Duration::from_millis(200);
    updates
}

fn record() -> TxtRecord {
    TxtRecord {
        domain: "www.example.test".to_owned(),
        name: "_acme-challenge.www.example.test".to_owned(),
        zone: "example.test".to_owned(),
        value: "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0".to_owned(),
    }
}

/// The result of `present` when the server answers each request so; its address is `SERVER`.
async fn outcome(answers: impl Fn(&Received) -> Vec<Vec<u8>> + Send + 'static) -> String {
    let server = Responder::start(answers).await;
    let result = updates(&server).present(&record()).await;
    let text = result.map_or_else(|error| error.to_string(), |()| "done".to_owned());
    text.replace(&server.address.to_string(), "SERVER")
}

#[test]
fn one_value_is_added_and_removed() {
    let request = |change| {
        let record = record();
        let (zone, name) = (name(&record.zone).unwrap(), name(&record.name).unwrap());
        let bytes = Request::change(change, zone, name, &record.value);
        bytes.sign(None, TIME).unwrap().bytes.split_off(2)
    };
    let change = |class: u8, ttl: u8| {
        // UPDATE; a zone, no prerequisite, one update, nothing more.
        let mut bytes = vec![0x28, 0, 0, 1, 0, 0, 0, 1, 0, 0];
        bytes.extend(b"\x07example\x04test\0");
        bytes.extend([0, 6, 0, 1]);
        bytes.extend(b"\x0f_acme-challenge\x03www\xc0\x0c");
        bytes.extend([0, 16, 0, class, 0, 0, 0, ttl, 0, 44, 43]);
        bytes.extend(record().value.as_bytes());
        bytes
    };
    assert_eq!(request(Change::Add { ttl: 60 }), change(1, 60));
    assert_eq!(request(Change::Remove), change(254, 0));
}

type Answers = fn(&Received) -> Vec<Vec<u8>>;

#[tokio::test]
async fn tsig_errors_are_explained() {
    let cases: [(Answers, &str); 8] = [
        (|received| vec![received.signed(ResponseCode::NoError, FINE)], "done"),
        (
            |received| vec![received.bare(ResponseCode::NotAuth, 16)],
            "SERVER refuses the credentials: BADSIG: wrong TSIG secret for the key `k` \
             (hmac-md5.sig-alg.reg.int); record \
             _acme-challenge.www.example.test in the zone example.test",
        ),
        (
            |received| vec![received.bare(ResponseCode::NotAuth, 17)],
            "SERVER refuses the credentials: BADKEY: it has no key `k` \
             (hmac-md5.sig-alg.reg.int); record _acme-challenge.www.example.test in the zone \
             example.test",
        ),
        (
            |received| {
                let clock = (TIME + 4000).to_be_bytes();
                vec![received.signed(ResponseCode::NotAuth, (TIME, 18, &clock[2..]))]
            },
            "SERVER answered BADTIME: its clock is 4000 s ahead of this machine's, and signatures \
             hold for 300 s; record _acme-challenge.www.example.test in the zone example.test",
        ),
        (
            |received| {
                let clock = (TIME - 301).to_be_bytes();
                vec![received.signed(ResponseCode::NotAuth, (TIME, 18, &clock[2..]))]
            },
            "SERVER answered BADTIME: its clock is 301 s behind this machine's, and signatures \
             hold for 300 s; record _acme-challenge.www.example.test in the zone example.test",
        ),
        // The server reports success with a wrong clock: RFC 8945 section 5.2.3 covers answers too.
        (|received| vec![received.signed(ResponseCode::NoError, (TIME + 300, 0, &[]))], "done"),
        (
            |received| vec![received.signed(ResponseCode::NoError, (TIME + 301, 0, &[]))],
            "SERVER answered BADTIME: its clock is 301 s ahead of this machine's, and signatures \
             hold for 300 s; record _acme-challenge.www.example.test in the zone example.test",
        ),
        (
            |received| vec![received.bare(ResponseCode::NotAuth, 22)],
            "SERVER refuses the credentials: BADTRUNC for the key `k` \
             (hmac-md5.sig-alg.reg.int); record _acme-challenge.www.example.test in the zone \
             example.test",
        ),
    ];
    for (answers, expected) in cases {
        assert_eq!(outcome(answers).await, expected);
    }
}

#[tokio::test]
async fn response_codes_are_explained() {
    let cases: [(Answers, &str); 10] = [
        (
            |received| vec![received.signed(ResponseCode::NotAuth, FINE)],
            "SERVER has no zone for _acme-challenge.www.example.test: NOTAUTH: it is not \
             authoritative for the zone example.test",
        ),
        (
            |received| vec![received.signed(ResponseCode::NotZone, FINE)],
            "SERVER has no zone for _acme-challenge.www.example.test: NOTZONE: that is not in the \
             zone example.test",
        ),
        (
            |received| vec![received.signed(ResponseCode::Refused, FINE)],
            "SERVER answered REFUSED: the key `k` \
             (hmac-md5.sig-alg.reg.int) may not change _acme-challenge.www.example.test in the zone \
             example.test",
        ),
        // Servers that fail before they verify the signature.
        (
            |received| vec![received.answer(ResponseCode::ServFail)],
            "SERVER answered SERVFAIL: it does not change _acme-challenge.www.example.test in the \
             zone example.test",
        ),
        (
            |received| vec![received.answer(ResponseCode::NotImp)],
            "SERVER answered NOTIMP: it does not implement updates, such as of \
             _acme-challenge.www.example.test in the zone example.test",
        ),
        (|_| vec![], "SERVER cannot be reached: no answer over UDP in 3 tries of 200ms"),
        (
            |received| vec![received.answer(ResponseCode::NoError)],
            "SERVER sent an unusable answer: it is not signed",
        ),
        (
            |received| vec![received.bare(ResponseCode::NoError, 0)],
            "SERVER sent an unusable answer: it is not signed",
        ),
        (
            |_| vec![b"HTTP/1.1 400 Bad Request".to_vec()],
            "SERVER sent an unusable answer: it cannot be read: unexpected end of input \
             reached",
        ),
        (
            |_| vec![vec![0x12, 0x34, 0x56]],
            "SERVER sent an unusable answer: it cannot be read: unexpected end of input \
             reached",
        ),
    ];
    for (answers, expected) in cases {
        assert_eq!(outcome(answers).await, expected);
    }
}

#[tokio::test]
async fn the_values_at_a_name_keep_their_ttl() {
    for (owner, kind_of_error, ttl) in [
        ("_acme-challenge.www.example.test", ResponseCode::NoError, 3600),
        // The target of a CNAME is another name.
        ("elsewhere.example.test", ResponseCode::NoError, 60),
        ("", ResponseCode::NXDomain, 60),
        ("", ResponseCode::Refused, 60),
    ] {
        let server = Responder::start(move |received| {
            let mut message = Message::from_vec(&received.answer(ResponseCode::NoError)).unwrap();
            if message.queries[0].query_type() == RecordType::TXT {
                message.metadata.response_code = kind_of_error;
                let text = RData::TXT(TXT::new(vec!["foreign".to_owned()]));
                let text = Record::from_rdata(name(owner).unwrap(), 3600, text);
                message.answers.extend((!owner.is_empty()).then_some(text));
            }
            vec![received.sign(&message.to_vec().unwrap(), FINE)]
        })
        .await;
        assert_eq!(updates(&server).present(&record()).await, Ok(()));
        let received = server.received();
        assert_eq!(received.len(), 2);
        let (update, _) = message::read(&received[1].bytes).unwrap();
        assert_eq!(update.authorities[0].ttl, ttl, "{owner} {kind_of_error}");
    }
}

#[tokio::test]
async fn a_forged_answer_is_not_heard_and_the_true_one_is() {
    let forge: [fn(&Received) -> Vec<u8>; 6] = [
        |received| {
            let mut other_id = received.signed(ResponseCode::NoError, FINE);
            other_id[0] ^= 1;
            other_id
        },
        |received| {
            let mut other_signature = received.signed(ResponseCode::NoError, FINE);
            let place = other_signature.len() - 10;
            other_signature[place] ^= 1;
            other_signature
        },
        |received| {
            let found = message::read(&received.bytes).unwrap().1.unwrap();
            let answer = received.answer(ResponseCode::NoError);
            responder::key("b3RoZXI=").sign_answer(&found, &answer, FINE)
        },
        |received| {
            let mut other_zone = received.answer(ResponseCode::NoError);
            other_zone[14] ^= 1;
            received.sign(&other_zone, FINE)
        },
        |received| received.bytes.clone(),
        |received| received.answer(ResponseCode::NoError),
    ];
    for (number, forge) in forge.into_iter().enumerate() {
        let alone = outcome(move |received| vec![forge(received)]).await;
        assert!(alone.starts_with("SERVER sent an unusable answer: "), "{number}: {alone}");
        let first = outcome(move |received| {
            vec![forge(received), received.signed(ResponseCode::NoError, FINE)]
        })
        .await;
        assert_eq!(first, "done", "{number}");
    }
}

#[tokio::test]
async fn a_lost_request_is_sent_again_as_it_was() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let server = Responder::start(move |received| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if number < 2 { vec![] } else { vec![received.signed(ResponseCode::NoError, FINE)] }
    })
    .await;
    assert_eq!(updates(&server).clean_up(&record()).await, Ok(()));
    let received = server.received();
    assert_eq!(received.len(), 3);
    assert!(received.iter().all(|again| *again == received[0]), "{received:?}");
}

#[tokio::test]
async fn tcp_is_used_where_udp_is_too_small_or_the_manifest_requires_it() {
    let transports = |server: &Responder| -> Vec<bool> {
        server.received().iter().map(|received| received.tcp).collect()
    };
    let answer = |received: &Received| {
        let mut answer = received.signed(ResponseCode::NoError, FINE);
        if !received.tcp {
            answer[2] |= 2;
        }
        vec![answer]
    };
    let server = Responder::start(answer).await;
    assert_eq!(updates(&server).present(&record()).await, Ok(()));
    assert_eq!(transports(&server), [false, true, false, true]);

    let server = Responder::start(answer).await;
    let over_tcp = Updates { tcp: true, ..updates(&server) };
    assert_eq!(over_tcp.clean_up(&record()).await, Ok(()));
    assert_eq!(transports(&server), [true]);

    let server = Responder::start(answer).await;
    let label = "x".repeat(60);
    let long = TxtRecord { name: [label.as_str(); 4].join("."), zone: record().zone, ..record() };
    let key =
        Key::new(&name(&long.name).unwrap(), Algorithm::Sha512, Zeroizing::new(b"secret".to_vec()));
    let large = Updates { key: Some(key), ..updates(&server) };
    // It is signed with another key then, which does not matter here.
    assert!(large.clean_up(&long).await.is_err());
    assert_eq!(transports(&server), [true]);

    // A server that truncates over TCP too, and one that hangs up.
    let truncated = outcome(|received| {
        let mut answer = received.signed(ResponseCode::NoError, FINE);
        answer[2] |= 2;
        vec![answer]
    });
    assert_eq!(truncated.await, "SERVER sent an unusable answer: it is truncated over TCP too");
    let server = Responder::start(|_| vec![]).await;
    let hung_up = Updates { tcp: true, ..updates(&server) }.present(&record()).await.unwrap_err();
    assert_eq!(
        hung_up.to_string(),
        format!("{} cannot be reached: over TCP: unexpected end of file", server.address)
    );
}

#[tokio::test]
async fn every_address_of_a_host_is_tried() {
    let server =
        Responder::start(|received| vec![received.signed(ResponseCode::NoError, FINE)]).await;
    let named = |addresses: Result<Vec<IpAddr>, String>| Updates {
        server: Server::parse(&format!("ns.test:{}", server.address.port())).unwrap(),
        lookup: Rc::new(move |host| {
            assert_eq!(host, "ns.test");
            std::future::ready(addresses.clone()).boxed_local()
        }),
        limits: Limits { wait: Duration::from_millis(50), tries: 1 },
        ..updates(&server)
    };
    let (here, dead) = (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::new(127, 0, 0, 99).into());
    assert_eq!(named(Ok(vec![dead, here])).present(&record()).await, Ok(()));
    let port = server.address.port();
    let cases = [
        (
            Ok(vec![dead]),
            format!(
                "ns.test:{port} (127.0.0.99) cannot be reached: over UDP: Connection refused (os \
                 error 111)"
            ),
        ),
        (Ok(vec![]), format!("ns.test:{port} cannot be reached: it has no address")),
        (
            Err("NXDOMAIN from 192.0.2.1".to_owned()),
            format!("ns.test:{port} cannot be reached: NXDOMAIN from 192.0.2.1"),
        ),
        (
            Ok(vec![dead, dead]),
            format!(
                "ns.test:{port} cannot be reached: ns.test:{port} (127.0.0.99): over UDP: \
                 Connection refused (os error 111); ns.test:{port} (127.0.0.99): over UDP: \
                 Connection refused (os error 111)"
            ),
        ),
    ];
    for (addresses, expected) in cases {
        let error = named(addresses).present(&record()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

/// The result of `check` for a server with these records and this authority.
async fn checked(code: ResponseCode, holds: &'static str, authoritative: bool) -> String {
    let server = Responder::start(move |received| {
        let mut message = Message::from_vec(&received.answer(code)).unwrap();
        message.metadata.authoritative = authoritative;
        let names = name("ns.example.test").unwrap();
        let soa = RData::SOA(SOA::new(names.clone(), names, 7, 1, 1, 1, 1));
        let soa = Record::from_rdata(name(holds).unwrap(), 60, soa);
        if holds == "example.test" {
            message.add_answer(soa);
        } else if !holds.is_empty() {
            message.add_authority(soa);
        }
        vec![received.sign(&message.to_vec().unwrap(), FINE)]
    })
    .await;
    let outcome = updates(&server).check("_acme-challenge.example.test", "example.test").await;
    outcome.unwrap_or_else(|error| error.to_string()).replace(&server.address.to_string(), "SERVER")
}

#[tokio::test]
async fn a_check_reports_whether_the_server_serves_the_zone() {
    let cases = [
        (
            (ResponseCode::NoError, "example.test", true),
            "SERVER is authoritative for the zone example.test (serial 7); it knows the key `k` \
             (hmac-md5.sig-alg.reg.int)",
        ),
        (
            (ResponseCode::NoError, "example.test", false),
            "SERVER has no zone for _acme-challenge.example.test: it is not authoritative for \
             the zone example.test",
        ),
        (
            (ResponseCode::NXDomain, "test", true),
            "SERVER has no zone for _acme-challenge.example.test: it has no zone example.test; \
             test. is above it",
        ),
        (
            (ResponseCode::NoError, "", true),
            "SERVER has no zone for _acme-challenge.example.test: it has no zone example.test",
        ),
        (
            (ResponseCode::Refused, "", false),
            "SERVER answered REFUSED: it does not answer for the zone example.test",
        ),
        (
            (ResponseCode::ServFail, "", false),
            "SERVER answered SERVFAIL: it does not show the zone example.test",
        ),
    ];
    for ((code, holds, authoritative), expected) in cases {
        assert_eq!(checked(code, holds, authoritative).await, expected);
    }
    let server = Responder::start(|received| vec![received.bare(ResponseCode::NotAuth, 17)]).await;
    let error = updates(&server).check("a.example.test", "example.test").await.unwrap_err();
    assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error}");
}

#[tokio::test]
async fn without_a_key_nothing_is_signed() {
    let server = Responder::start(|received| vec![received.answer(ResponseCode::Refused)]).await;
    let updates = open(&manifest(&server.address.to_string(), ""), "").unwrap();
    let error = updates.present(&record()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{} answered REFUSED: requests without a key may not change \
             _acme-challenge.www.example.test in the zone example.test",
            server.address
        )
    );
    for received in server.received() {
        assert!(message::read(&received.bytes).unwrap().1.is_none());
    }
}

#[test]
fn settings_that_cannot_be_used_are_refused_without_showing_the_secret() {
    let with = |edit: fn(&mut Rfc2136)| {
        let mut rfc2136 = manifest("192.0.2.1", "k");
        edit(&mut rfc2136);
        rfc2136
    };
    let cases = [
        (
            with(|it| it.nameserver = "a:b:c".into()),
            "c2VjcmV0",
            "rfc2136: nameserver: `a:b:c` is not host:port",
        ),
        (
            with(|it| it.protocol = "udp".into()),
            "c2VjcmV0",
            "rfc2136: protocol: `udp` is neither UDP nor TCP",
        ),
        (
            with(|it| it.tsig_algorithm = "HMACSHA3".into()),
            "c2VjcmV0",
            "rfc2136: tsigAlgorithm: `HMACSHA3` is not known",
        ),
        (
            with(|it| it.tsig_key_name.clear()),
            "c2VjcmV0",
            "rfc2136: tsigSecretSecretRef without tsigKeyName",
        ),
        (
            with(|it| it.tsig_secret_secret_ref = None),
            "c2VjcmV0",
            "rfc2136: tsigKeyName without tsigSecretSecretRef",
        ),
        (
            with(|it| it.tsig_key_name = "a..b".into()),
            "c2VjcmV0",
            "rfc2136: `a..b` is not a name in the DNS",
        ),
        (
            with(|_| ()),
            "not base64!",
            "rfc2136: tsigSecretSecretRef: secret tsig, key key: this is not base64",
        ),
    ];
    for (rfc2136, secret, expected) in cases {
        let Err(error) = open(&rfc2136, secret) else { panic!("{rfc2136:?}") };
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains(secret), "{error:?}");
    }
    assert!(open(&manifest("192.0.2.1", "k"), " c2VjcmV0 \r\n").is_ok());
}

#[test]
fn the_provider_is_in_the_list() {
    let provider = resource::Dns01Provider::Rfc2136(manifest("192.0.2.1", "k"));
    assert_eq!(provider.name(), "rfc2136");
    in_context(&[("tsig/key", "c2VjcmV0")], &[], |context| {
        let opened = crate::solver::dns01::open(&provider, context);
        assert!(opened.is_ok_and(|opened| opened.needs_zone()));
    });
}
