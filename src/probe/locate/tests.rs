use super::*;
use crate::probe::lab::{Lab, Manner};
use crate::probe::{Caa, CaaRecord, Fault, ResolverOptions, ServerFault, caa};
use hickory_proto::op::ResponseCode;
use std::time::Duration;

const WORLD: &[&str] = &[
    "com SOA",
    "com NS ns.test",
    "test SOA",
    "test NS ns.test",
    "ns.test A 127.0.0.9",
    "example.com SOA",
    "example.com NS ns.test",
    "_acme-challenge.deep.example.com A 192.0.2.1",
    "_acme-challenge.own.example.com SOA",
    "_acme-challenge.cname.example.com CNAME Target.Other.Test",
    "sub.example.com SOA",
    "sub.example.com NS ns.test",
    "_acme-challenge.sub.example.com CNAME www.example.com",
    "other.test SOA",
    "other.test NS ns.test",
    "_acme-challenge.delegated.example.com NS ns.delegated.example.com",
    "ns.delegated.example.com A 127.0.0.8",
    "_acme-challenge.away.example.com CNAME away.delegated.test",
    "delegated.test SOA",
    "delegated.test NS ns.test",
    "away.delegated.test NS ns.test",
    "away.delegated.test NS ns.away.delegated.test",
    "ns.away.delegated.test A 127.0.0.8",
    "target.other.test CNAME end.other.test",
    "_acme-challenge.broken.example.com CNAME nowhere.invalid",
    "*.wild.example.com CNAME target.other.test",
    "_acme-challenge.both.example.com CNAME target.other.test",
    "*.both.example.com CNAME another.other.test",
    "_acme-challenge.self.example.com CNAME _acme-challenge.self.example.com",
    "_acme-challenge.loop.example.com CNAME one.loop.example.com",
    "one.loop.example.com CNAME two.loop.example.com",
    "two.loop.example.com CNAME one.loop.example.com",
];

fn world() -> Vec<String> {
    let mut lines: Vec<String> = WORLD.iter().map(|line| (*line).to_owned()).collect();
    for (label, hops) in [("ten", 10), ("eleven", 11)] {
        let name = |hop: u32| match hop {
            0 => format!("_acme-challenge.{label}.example.com"),
            hop => format!("h{hop}.{label}.example.com"),
        };
        lines.extend((0..hops).map(|hop| format!("{} CNAME {}", name(hop), name(hop + 1))));
    }
    lines
}

fn resolver(lab: &Lab, servers: &[&str]) -> Resolver {
    Resolver::new(ResolverOptions {
        servers: servers.iter().map(|ip| lab.at(ip)).collect(),
        timeout: Duration::from_mins(1),
        authoritative_port: lab.port,
        ..ResolverOptions::default()
    })
}

#[tokio::test]
async fn the_record_belongs_at_the_cname_target_in_the_closest_zone() {
    let below = ["_acme-challenge.delegated.example.com SOA", "away.delegated.test SOA"];
    let lab = Lab::start(vec![
        ("127.0.0.1", Manner::Recursive, world()),
        ("127.0.0.9", Manner::Honest, world()),
        ("127.0.0.8", Manner::Honest, below.map(ToOwned::to_owned).to_vec()),
    ])
    .await;
    let resolver = resolver(&lab, &["127.0.0.1"]);
    let found = |name: &str, zone: &str, chain: &[&str], is_wildcard| {
        let chain = chain.iter().map(|&name| name.to_owned()).collect();
        let aliases = Aliases { chain, is_wildcard };
        Ok(Located { name: name.to_owned(), zone: zone.to_owned(), aliases })
    };
    let (none, follow) = (CnameStrategy::None, CnameStrategy::Follow);
    let challenge = |label: &str| format!("_acme-challenge.{label}.example.com");
    let hops: Vec<String> = (1..=10).map(|hop| format!("h{hop}.ten.example.com")).collect();
    let hops: Vec<&str> = hops.iter().map(String::as_str).collect();
    let recursive = |target: &str, name: &str| {
        Err(format!("Found recursive CNAME record to {target:?} when looking up {name:?}"))
    };
    let (target, end) = ("target.other.test", "end.other.test");
    let cases = [
        ("example.com", none, found("_acme-challenge.example.com", "example.com", &[], false)),
        ("Example.COM.", follow, found("_acme-challenge.example.com", "example.com", &[], false)),
        ("a.b.c.example.com", none, found(&challenge("a.b.c"), "example.com", &[], false)),
        ("deep.example.com", none, found(&challenge("deep"), "example.com", &[], false)),
        ("own.example.com", none, found(&challenge("own"), &challenge("own"), &[], false)),
        (
            "delegated.example.com",
            none,
            found(&challenge("delegated"), &challenge("delegated"), &[], false),
        ),
        (
            "away.example.com",
            follow,
            found("away.delegated.test", "away.delegated.test", &["away.delegated.test"], false),
        ),
        ("unregistered.com", none, found("_acme-challenge.unregistered.com", "com", &[], false)),
        ("cname.example.com", none, found(&challenge("cname"), "example.com", &[], false)),
        ("cname.example.com", follow, found(end, "other.test", &[target, end], false)),
        // The negative answer about the CNAME's target contains a parent zone, too.
        ("sub.example.com", none, found(&challenge("sub"), "sub.example.com", &[], false)),
        ("wild.example.com", none, found(&challenge("wild"), "example.com", &[], false)),
        ("wild.example.com", follow, found(&challenge("wild"), "example.com", &[target], true)),
        ("both.example.com", follow, found(end, "other.test", &[target, end], false)),
        ("ten.example.com", follow, found("h10.ten.example.com", "example.com", &hops, false)),
        (
            "eleven.example.com",
            follow,
            Err(format!("{} has a chain of more than 10 CNAME records", challenge("eleven"))),
        ),
        ("self.example.com", follow, recursive(&challenge("self"), &challenge("self"))),
        ("loop.example.com", follow, recursive("one.loop.example.com", "two.loop.example.com")),
        ("broken.example.com", follow, Err("no DNS zone found for \"nowhere.invalid\"".to_owned())),
        (
            "example.invalid",
            none,
            Err("no DNS zone found for \"_acme-challenge.example.invalid\"".to_owned()),
        ),
    ];
    for (domain, strategy, expected) in cases {
        let located = locate(&resolver, domain, strategy, false).await;
        assert_eq!(located.map_err(|error| error.to_string()), expected, "{domain}");
        // A recursive resolver that the CA asks as well would keep their absence.
        let queries =
            lab.take_queries().into_iter().filter(|entry| entry.starts_with("127.0.0.1 "));
        let to_come: Vec<String> =
            queries.filter(|e| e.contains("_acme-challenge") || e.contains("_certctl")).collect();
        assert_eq!(to_come, Vec::<String>::new(), "{domain}");
    }
    assert_eq!(zone_of(&resolver, "WWW.Example.com.").await, Ok("example.com".to_owned()));
}

#[tokio::test]
async fn a_lookup_continues_with_the_next_server_and_an_error_names_each() {
    let lab = Lab::start(vec![
        ("127.0.0.1", Manner::Recursive, world()),
        ("127.0.0.2", Manner::Code(ResponseCode::ServFail), vec![]),
        ("127.0.0.3", Manner::Garbled, vec![]),
        ("127.0.0.4", Manner::OnlyTruncating, vec![]),
        ("127.0.0.5", Manner::Code(ResponseCode::Refused), vec![]),
        ("127.0.0.9", Manner::Honest, world()),
    ])
    .await;
    let good = resolver(&lab, &["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.1"]);
    assert_eq!(zone_of(&good, "www.example.com").await, Ok("example.com".to_owned()));
    lab.take_queries();
    locate(&good, "www.example.com", CnameStrategy::Follow, false).await.unwrap();
    let again: Vec<String> =
        lab.take_queries().into_iter().filter(|entry| entry.contains(" NS ")).collect();
    // The one that answered the query before.
    assert_eq!(again, ["127.0.0.1 example.com NS udp"]);
    let bad = resolver(&lab, &["127.0.0.2", "127.0.0.5"]);
    let fault = |ip: &str, code: &str| ServerFault {
        server: lab.at(ip).into(),
        record: "SOA".to_owned(),
        fault: Fault::Code(code.to_owned()),
    };
    let faults = vec![fault("127.0.0.2", "SERVFAIL"), fault("127.0.0.5", "REFUSED")];
    let expected = LookupError::Failed { name: "www.example.com".to_owned(), faults };
    assert_eq!(zone_of(&bad, "www.example.com").await, Err(expected));
    let long = "a".repeat(64);
    let located = locate(&good, &long, CnameStrategy::Follow, false).await;
    assert!(matches!(located, Err(LookupError::BadName { .. })), "{located:?}");
}

#[tokio::test]
async fn a_dead_server_of_a_zone_is_asked_once() {
    let lines: Vec<String> =
        [world(), vec!["example.com NS aa.test".into(), "aa.test A 127.0.0.7".into()]].concat();
    let lab = Lab::start(vec![
        ("127.0.0.1", Manner::Recursive, lines.clone()),
        ("127.0.0.7", Manner::Silent, vec![]),
        ("127.0.0.9", Manner::Honest, lines),
    ])
    .await;
    let options = ResolverOptions {
        servers: vec![lab.at("127.0.0.1")],
        // Long for a server in the same process.
        timeout: Duration::from_secs(1),
        authoritative_port: lab.port,
        ..ResolverOptions::default()
    };
    let resolver = Resolver::new(options);
    locate(&resolver, "www.example.com", CnameStrategy::Follow, false).await.unwrap();
    let queries: Vec<String> =
        lab.take_queries().into_iter().filter(|entry| entry.starts_with("127.0.0.7 ")).collect();
    let name = "_acme-challenge.www.example.com";
    assert_eq!(
        queries,
        [format!("127.0.0.7 {name} CNAME tcp"), format!("127.0.0.7 {name} CNAME udp")]
    );
}

#[tokio::test]
async fn servers_of_a_zone_that_cannot_be_reached_stop_only_who_may_ask_them() {
    let lines = world().into_iter().filter(|line| !line.starts_with("ns.test A"));
    let lines = lines.chain(["ns.test A 127.0.0.99".to_owned()]).collect();
    let lab = Lab::start(vec![("127.0.0.1", Manner::Recursive, lines)]).await;
    let resolver = resolver(&lab, &["127.0.0.1"]);
    let (none, follow) = (CnameStrategy::None, CnameStrategy::Follow);
    for (domain, strategy, name, zone) in [
        ("example.com", none, "_acme-challenge.example.com", "example.com"),
        ("cname.example.com", follow, "end.other.test", "other.test"),
    ] {
        let refused = locate(&resolver, domain, strategy, false).await;
        assert!(matches!(refused, Err(LookupError::Failed { .. })), "{refused:?}");
        let found = locate(&resolver, domain, strategy, true).await.unwrap();
        assert_eq!((found.name.as_str(), found.zone.as_str()), (name, zone));
    }
}

#[tokio::test]
async fn caa_comes_from_the_closest_name_that_has_any() {
    let lines = [
        "com SOA",
        "example.com SOA",
        "example.com CAA issue letsencrypt.org; validationmethods=dns-01",
        "example.com CAA issuewild ;",
        "www.example.com A 192.0.2.1",
        "own.example.com CAA Issue other.test",
        "alias.example.com CNAME own.example.com",
        "strict.example.com CAA unheard! of",
        "mail.example.com CAA iodef mailto:a@example.com",
    ];
    let lines = lines.iter().map(|&line| line.to_owned()).collect();
    let lab = Lab::start(vec![("127.0.0.1", Manner::Recursive, lines)]).await;
    let resolver = resolver(&lab, &["127.0.0.1"]);
    let record = |is_critical, tag: &str, value: &str| CaaRecord {
        is_critical,
        tag: tag.to_owned(),
        value: value.to_owned(),
    };
    let at = |name: &str, records| Caa { name: Some(name.to_owned()), records };
    let apex = || {
        let issue = record(false, "issue", "letsencrypt.org; validationmethods=dns-01");
        at("example.com", vec![issue, record(false, "issuewild", ";")])
    };
    let other = || vec![record(false, "issue", "other.test")];
    // Allowed for letsencrypt.org: the name itself, its wildcard.
    let cases = [
        ("example.com", apex(), true, false),
        ("a.WWW.example.com.", apex(), true, false),
        ("own.example.com", at("own.example.com", other()), false, false),
        ("alias.example.com", at("alias.example.com", other()), false, false),
        (
            "strict.example.com",
            at("strict.example.com", vec![record(true, "unheard", "of")]),
            false,
            false,
        ),
        (
            "mail.example.com",
            at("mail.example.com", vec![record(false, "iodef", "mailto:a@example.com")]),
            true,
            true,
        ),
        ("example.org", Caa::default(), true, true),
    ];
    let identities = ["LetsEncrypt.org".to_owned()];
    for (domain, expected, is_allowed, is_wildcard_allowed) in cases {
        let found = caa(&resolver, domain).await.unwrap();
        assert_eq!(found, expected, "{domain}");
        let allowed = (found.allows(&identities, false), found.allows(&identities, true));
        assert_eq!(allowed, (is_allowed, is_wildcard_allowed), "{domain}");
    }
}
