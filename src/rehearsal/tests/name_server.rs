//! The name server, over UDP and TCP.

use hickory_proto::op::{Edns, Message, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};

use super::*;
use crate::probe::{Addresses, DnsError, Located, Resolver as Client, ResolverOptions, locate};
use crate::resource::{Aliases, CnameStrategy};

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn server(records: &[(&str, &[&str])]) -> NameServer {
    let records = records.iter().map(|(name, addresses)| ((*name).to_owned(), ips(addresses)));
    NameServer::start(records.collect()).unwrap()
}

fn query(name: &str, kind: RecordType) -> Message {
    let mut message = Message::query();
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message
}

async fn over_udp(server: &NameServer, query: &Message) -> Message {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&query.to_vec().unwrap(), server.address()).await.unwrap();
    let mut buffer = [0; 8192];
    let size = socket.recv(&mut buffer).await.unwrap();
    Message::from_vec(&buffer[..size]).unwrap()
}

/// All queries over one connection.
async fn over_tcp(server: &NameServer, queries: &[Message]) -> Vec<Message> {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let mut answers = Vec::new();
    for query in queries {
        let bytes = query.to_vec().unwrap();
        stream.write_u16(u16::try_from(bytes.len()).unwrap()).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        let mut answer = vec![0; usize::from(stream.read_u16().await.unwrap())];
        stream.read_exact(&mut answer).await.unwrap();
        answers.push(Message::from_vec(&answer).unwrap());
    }
    answers
}

/// The records of the three sections, a line each.
fn shown(message: &Message) -> Vec<String> {
    let sections =
        [(">", &message.answers), ("^", &message.authorities), ("+", &message.additionals)];
    let line = |mark, record: &hickory_proto::rr::Record| {
        format!("{mark} {} {} {}", record.name, record.record_type(), record.data)
    };
    sections.iter().flat_map(|(mark, of)| of.iter().map(move |it| line(mark, it))).collect()
}

#[tokio::test]
async fn it_answers_as_its_records_say() {
    let server = server(&[
        ("web.Example.com", &["192.0.2.1", "2001:db8::1"]),
        ("*.example.com", &["192.0.2.2"]),
        ("bare.example.com", &[]),
    ]);
    let address = server.address();
    let options = ResolverOptions { servers: vec![address], ..ResolverOptions::default() };
    let client = Client::new(options);
    let found = |v4: &[&str], v6: &[&str]| {
        Ok(Addresses {
            v4: v4.iter().map(|ip| ip.parse().unwrap()).collect(),
            v6: v6.iter().map(|ip| ip.parse().unwrap()).collect(),
            error: None,
        })
    };
    let unknown = |name: &str| Err(DnsError::NxDomain { name: name.to_owned(), server: address });
    let bare = |name: &str| Err(DnsError::NoAddress { name: name.to_owned(), server: address });
    let cases = [
        ("WEB.example.com", found(&["192.0.2.1"], &["2001:db8::1"])),
        ("a.b.example.com", found(&["192.0.2.2"], &[])),
        ("a.web.example.com", unknown("a.web.example.com")),
        ("bare.example.com", bare("bare.example.com")),
        ("example.com", bare("example.com")),
        ("ns.example.com", found(&["127.0.0.1"], &[])),
        ("a.example.net", unknown("a.example.net")),
    ];
    for (name, expected) in cases {
        assert_eq!(client.addresses(name).await, expected, "{name}");
    }
    server.set("example.NET", ips(&["192.0.2.3"]));
    server.set_cname("a.example.org", "Example.net.");
    server.remove("*.example.com");
    assert_eq!(client.addresses("example.net").await, found(&["192.0.2.3"], &[]));
    assert_eq!(client.addresses("a.example.org").await, found(&["192.0.2.3"], &[]));
    assert_eq!(client.addresses("a.example.com").await, unknown("a.example.com"));
    let ca = server.resolver();
    assert_eq!(ca.addresses("a.example.org").await, Ok(ips(&["192.0.2.3"])));
    assert_eq!(ca.addresses("a.example.com").await, Err("NXDOMAIN".to_owned()));
    server.set_broken("example.net");
    assert_eq!(ca.addresses("a.example.org").await, Err("SERVFAIL".to_owned()));
}

#[tokio::test]
async fn its_answers_are_those_of_an_authority() {
    let server = server(&[("www.example.com", &["192.0.2.1"])]);
    server.add_txt("_acme-challenge.example.com", "one");
    server.add_txt_strings("_acme-challenge.example.com", &["tw", "o"]);
    server.set_cname("*.alias.example.com", "www.example.com");
    server.set_cname("dead.example.com", "nowhere.example.net");
    server.set_cname("loop.example.com", "loop.example.com");
    server.set_broken("broken.example.com");
    let soa = |zone: &str| format!("^ {zone}. SOA ns.{zone}. ns.{zone}. 7 3600 600 86400 0");
    let www = "> WWW.example.COM. A 192.0.2.1".to_owned();
    let cases = [
        ("WWW.example.COM.", RecordType::A, ResponseCode::NoError, vec![www]),
        ("www.example.com.", RecordType::AAAA, ResponseCode::NoError, vec![soa("example.com")]),
        ("no.example.com.", RecordType::A, ResponseCode::NXDomain, vec![soa("example.com")]),
        (
            "_ACME-challenge.example.com.",
            RecordType::TXT,
            ResponseCode::NoError,
            vec![
                "> _ACME-challenge.example.com. TXT one".into(),
                "> _ACME-challenge.example.com. TXT two".into(),
            ],
        ),
        (
            "example.com.",
            RecordType::SOA,
            ResponseCode::NoError,
            vec![soa("example.com").replace('^', ">")],
        ),
        (
            "example.com.",
            RecordType::NS,
            ResponseCode::NoError,
            vec![
                "> example.com. NS ns.example.com.".into(),
                "+ ns.example.com. A 127.0.0.1".into(),
            ],
        ),
        (
            "a.alias.example.com.",
            RecordType::A,
            ResponseCode::NoError,
            vec![
                "> a.alias.example.com. CNAME www.example.com.".into(),
                "> www.example.com. A 192.0.2.1".into(),
            ],
        ),
        (
            "a.alias.example.com.",
            RecordType::CNAME,
            ResponseCode::NoError,
            vec!["> a.alias.example.com. CNAME www.example.com.".into()],
        ),
        (
            "dead.example.com.",
            RecordType::TXT,
            ResponseCode::NXDomain,
            vec!["> dead.example.com. CNAME nowhere.example.net.".into(), soa("example.net")],
        ),
        (
            "loop.example.com.",
            RecordType::A,
            ResponseCode::NoError,
            vec!["> loop.example.com. CNAME loop.example.com.".into()],
        ),
    ];
    for (name, kind, code, expected) in cases {
        let query = query(name, kind);
        let answer = over_udp(&server, &query).await;
        let head = (answer.metadata.id, answer.metadata.response_code);
        assert_eq!(head, (query.metadata.id, code), "{name} {kind}");
        assert!(answer.metadata.authoritative && !answer.metadata.truncation, "{name} {kind}");
        assert_eq!(answer.queries, query.queries);
        assert_eq!(shown(&answer), expected, "{name} {kind}");
        assert_eq!(shown(&over_tcp(&server, &[query]).await[0]), expected, "{name} {kind}");
    }
    let answer = over_udp(&server, &query("WWW.example.COM.", RecordType::A)).await;
    assert_eq!(answer.answers[0].name.to_ascii(), "WWW.example.COM.");
}

#[tokio::test]
async fn the_self_check_finds_its_zones() {
    let server = server(&[("*.example.com", &["192.0.2.1"])]);
    server.add_zone("example.co.uk");
    server.set_cname("_acme-challenge.www.example.co.uk", "www.acme.example.net");
    let options = ResolverOptions {
        servers: vec![server.address()],
        authoritative_port: server.address().port(),
        ..ResolverOptions::default()
    };
    let client = Client::new(options);
    let alias = Aliases { chain: vec!["www.acme.example.net".into()], is_wildcard: false };
    let cases = [
        ("a.b.example.com", "_acme-challenge.a.b.example.com", "example.com", Aliases::default()),
        ("example.com", "_acme-challenge.example.com", "example.com", Aliases::default()),
        ("example.co.uk", "_acme-challenge.example.co.uk", "example.co.uk", Aliases::default()),
        ("www.example.co.uk", "www.acme.example.net", "example.net", alias),
    ];
    for (domain, name, zone, aliases) in cases {
        let expected = Located { name: name.into(), zone: zone.into(), aliases };
        assert_eq!(
            locate(&client, domain, CnameStrategy::Follow, false).await,
            Ok(expected),
            "{domain}"
        );
    }
}

#[tokio::test]
async fn what_it_does_not_serve_is_refused() {
    let server = server(&[("www.example.com", &["192.0.2.1"])]);
    server.set_broken("broken.example.com");
    let good = || query("www.example.com.", RecordType::A);
    let mut update = good();
    update.metadata.op_code = OpCode::Update;
    let mut chaos = Message::query();
    let mut question = Query::query(Name::from_ascii("version.bind.").unwrap(), RecordType::TXT);
    question.set_query_class(DNSClass::CH);
    chaos.add_query(question);
    let mut twice = good();
    twice.add_query(good().queries[0].clone());
    let cases = [
        (update, ResponseCode::NotImp),
        (chaos, ResponseCode::Refused),
        (query(".", RecordType::NS), ResponseCode::Refused),
        (query("broken.example.com.", RecordType::A), ResponseCode::ServFail),
        (twice, ResponseCode::FormErr),
    ];
    for (query, code) in cases {
        let answer = over_udp(&server, &query).await;
        assert_eq!((answer.metadata.response_code, shown(&answer)), (code, vec![]), "{query:?}");
        assert!(!answer.metadata.authoritative, "{query:?}");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_cut_over_udp_and_whole_over_tcp() {
    let server = server(&[]);
    let name = "_acme-challenge.example.com";
    for number in 0..20 {
        server.add_txt(name, &format!("{number:043}"));
    }
    let plain = || query(&format!("{name}."), RecordType::TXT);
    let with_edns = |size| {
        let mut query = plain();
        let mut edns = Edns::new();
        edns.set_max_payload(size);
        query.set_edns(edns);
        query
    };
    let whole = over_tcp(&server, &[plain(), with_edns(512)]).await;
    for answer in &whole {
        assert_eq!((answer.answers.len(), answer.metadata.truncation), (20, false));
    }
    let payload = |answer: &Message| answer.edns.as_ref().map(Edns::max_payload);
    assert_eq!((payload(&whole[0]), payload(&whole[1])), (None, Some(4096)));
    let cases = [
        (plain(), 0, true),
        (with_edns(100), 0, true),
        (with_edns(1000), 0, true),
        (with_edns(1232), 20, false),
        (with_edns(65_535), 20, false),
    ];
    for (query, answers, cut) in cases {
        let answer = over_udp(&server, &query).await;
        let found = (answer.answers.len(), answer.metadata.truncation);
        assert_eq!(found, (answers, cut), "{:?}", query.edns);
    }
    let query = |over_tcp| Question { name: name.into(), record: "TXT".into(), over_tcp };
    let expected: Vec<Question> = [true, true, false, false, false, false, false].map(query).into();
    assert_eq!(server.questions(), expected);
}

#[test]
fn a_value_comes_and_goes_alone() {
    let server = server(&[]);
    let name = "_acme-challenge.example.com";
    for value in ["one", "two", "one"] {
        server.add_txt("_ACME-challenge.Example.com.", value);
    }
    assert_eq!(server.txt(name), ["one", "two"]);
    server.remove_txt(name, "one");
    server.remove_txt(name, "three");
    assert_eq!(server.txt(name), ["two"]);
    server.remove(name);
    assert!(server.txt(name).is_empty());
}
