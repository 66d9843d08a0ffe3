//! The scenarios of the self-check: behavior of the name servers, and the expected result.

use super::*;

const NAME: &str = "_acme-challenge.example.com";
const IPV6_ONLY: &str = "ns2.example.net AAAA ::1";
const ALIAS: &str = "_acme-challenge.example.com CNAME target.other.test";

pub(super) fn all() -> Vec<Scenario> {
    [values(), faults(), families(), aliases(), others()].into_iter().flatten().collect()
}

fn good() -> (Manner, Vec<String>) {
    has(&[VALUE])
}

fn not_yet(server: &str) -> String {
    format!("DNS record for \"example.com\" not yet propagated ({server})")
}

fn values() -> Vec<Scenario> {
    let foreign: Vec<String> = (0..25).map(|n| format!("foreign-{n}")).collect();
    let many: Vec<&str> = foreign.iter().map(String::as_str).chain([VALUE]).collect();
    let parted = VALUE.replacen("GRv", "GRv|", 1);
    vec![
        scenario("all four have it", vec![good(), good(), good(), good()]),
        scenario("one of four is stale", vec![good(), good(), has(&["old"]), good()])
            .fails(&not_yet("ns3.example.net; 1 of 4 name servers")),
        scenario("the only one has nothing", vec![has(&[])]).fails(&not_yet("ns1.example.net")),
        scenario("another value", vec![has(&["LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtom"])])
            .fails(&not_yet("ns1.example.net")),
        scenario("apex and wildcard together", vec![has(&["the other one", VALUE])]),
        scenario("several strings are one value", vec![has(&[&parted])]),
        scenario("a value that is only the beginning", vec![has(&[&VALUE[..20]])])
            .fails(&not_yet("ns1.example.net")),
        scenario("25 foreign values", vec![has(&many)]).warns(&[&format!(
            "NS ns1.example.net has 25 other TXT records for {NAME}: CAs may reject such a long \
             answer"
        )]),
        scenario(
            "a value of 300 bytes",
            vec![has(&[&format!("{}|{}", "a".repeat(255), "b".repeat(45))])],
        )
        .ask(|request| request.value = "a".repeat(255) + &"b".repeat(45)),
        scenario("other letters in capitals", vec![but(Manner::Shouting)]),
    ]
}

fn faults() -> Vec<Scenario> {
    let code = |code| (Manner::Code(code), vec![]);
    let lame = (Manner::Lame, vec![]);
    let malformed = "NS ns1.example.net did not answer: 127.0.0.11:PORT: a malformed answer: \
                     unrecognized label code: 10000100";
    let closed = "NS ns1.example.net did not answer: 127.0.0.11:PORT: truncated over UDP, and \
                  TCP: Connection refused (os error 111)";
    let silent = scenario("one never answers", vec![good(), but(Manner::Silent)])
        .fails(
            "NS ns2.example.net did not answer: 127.0.0.12:PORT: no answer in time (1 of 2 name \
             servers)",
        )
        .asks(&["11 udp", "12 tcp", "12 udp"]);
    let slow = scenario("the resolver never answers", vec![good()])
        .ask(|request| request.time_limit = Duration::from_millis(300))
        .fails("the lookups did not finish within 0.3 s")
        .asks(&[]);
    vec![
        scenario("SERVFAIL", vec![good(), code(ResponseCode::ServFail)]).fails(&format!(
            "NS ns2.example.net returned SERVFAIL for {NAME} (1 of 2 name servers)"
        )),
        scenario("REFUSED", vec![code(ResponseCode::Refused)])
            .fails(&format!("NS ns1.example.net returned REFUSED for {NAME}")),
        scenario(
            "an error goes before a value that is missing",
            vec![has(&[]), code(ResponseCode::NotImp)],
        )
        .fails(&format!("NS ns2.example.net returned NOTIMP for {NAME} (1 of 2 name servers)")),
        scenario("lame", vec![good(), lame]).fails(&format!(
            "NS ns2.example.net is not authoritative for {NAME} (1 of 2 name servers)"
        )),
        scenario("not authoritative, with the value", vec![but(Manner::Recursive)]).warns(&[
            &format!("NS ns1.example.net has the value and is not authoritative for {NAME}"),
        ]),
        // A second is long for a server in the same process, and must pass for the silent one.
        Scenario { timeout: Duration::from_secs(1), ..silent },
        Scenario { resolver: (Manner::Silent, vec![]), ..slow },
        Scenario {
            timeout: Duration::from_secs(2),
            ..scenario("a datagram is lost", vec![but(Manner::Forgetful)])
        },
        scenario("truncated over UDP", vec![but(Manner::Truncating)]).asks(&["11 tcp", "11 udp"]),
        scenario("truncated over UDP, TCP is closed", vec![but(Manner::OnlyTruncating)])
            .fails(closed),
        scenario("malformed", vec![(Manner::Garbled, vec![])]).fails(malformed),
        scenario("no server listens", vec![good(), good()])
            .common(&["ns2.example.net A 127.0.0.99"])
            .fails(
                "NS ns2.example.net did not answer: 127.0.0.99:PORT: UDP: Connection refused (os \
                 error 111) (1 of 2 name servers)",
            )
            .asks(&["11 udp"]),
        Scenario {
            resolver: (Manner::Code(ResponseCode::ServFail), vec![]),
            ..scenario("the resolver answers SERVFAIL", vec![good()])
                .fails("cannot look up example.com: 127.0.0.1:PORT answered SERVFAIL (SOA)")
                .asks(&[])
        },
    ]
}

fn families() -> Vec<Scenario> {
    let skipped = "NS ns2.example.net was not queried: [::1]:PORT: this host has no IPv6";
    let two = || vec![good(), good()];
    let gone = "NS ns2.example.net was not queried: ns2.example.net does not exist (NXDOMAIN from \
                127.0.0.1:PORT)";
    let first_gone = gone.replace("ns2", "ns1");
    let looked_up = "NS ns2.example.net did not answer: cannot look up ns2.example.net: \
                     127.0.0.1:PORT answered SERVFAIL (A), 127.0.0.1:PORT answered SERVFAIL \
                     (AAAA) (1 of \
                     2 name servers)";
    vec![
        scenario("over IPv6", two()).common(&[IPV6_ONLY]).asks(&["11 udp", "::1 udp"]),
        Scenario {
            has_ipv6: false,
            ..scenario("an IPv6-only server, from a host without", two())
                .common(&[IPV6_ONLY])
                .warns(&[skipped])
                .asks(&["11 udp"])
        },
        Scenario {
            has_ipv6: false,
            ..scenario("only IPv6-only servers, from a host without", vec![good()])
                .common(&["ns1.example.net AAAA ::1"])
                .fails(&skipped.replace("ns2", "ns1"))
                .warns(&[&skipped.replace("ns2", "ns1")])
                .asks(&[])
        },
        scenario("one of two addresses answers", two())
            .common(&["ns2.example.net A 127.0.0.99", IPV6_ONLY])
            .warns(&[
                "NS ns2.example.net does not answer at 127.0.0.99:PORT: UDP: Connection refused \
                 (os error 111)",
            ])
            .asks(&["11 udp", "::1 udp"]),
        scenario("the first of two addresses answers", two())
            .common(&["ns2.example.net A 127.0.0.12", IPV6_ONLY]),
        scenario("a server without an address", two())
            .common(&["ns2.example.net -"])
            .warns(&[gone])
            .asks(&["11 udp"]),
        scenario("no server has an address", two())
            .common(&["ns1.example.net -", "ns2.example.net -"])
            .fails(&format!("{first_gone}; {gone}"))
            .warns(&[&first_gone, gone])
            .asks(&[]),
        scenario("the addresses of a server cannot be looked up", two())
            .common(&["ns2.example.net CNAME ns2.example.net"])
            .fails(looked_up)
            .asks(&["11 udp"]),
    ]
}

fn aliases() -> Vec<Scenario> {
    let zone = &[ALIAS, "other.test SOA", "other.test NS ns2.example.net"];
    let target = || (Manner::Honest, vec![format!("target.other.test TXT {VALUE}")]);
    let elsewhere = "DNS record for \"example.com\" not yet propagated (ns2.example.net); the \
                     value was written at _acme-challenge.example.com, and CNAMEs point to \
                     target.other.test, where cnameStrategy: Follow would write it";
    let hop = |n: usize| match n {
        0 => NAME.to_owned(),
        n => format!("h{n}.example.com"),
    };
    let chain: Vec<String> = (0..11).map(|n| format!("{} CNAME {}", hop(n), hop(n + 1))).collect();
    let chain: Vec<&str> = chain.iter().map(String::as_str).collect();
    let at_end = || (Manner::Honest, vec![format!("h10.example.com TXT {VALUE}")]);
    let own_zone = || (Manner::Honest, [vec![format!("{NAME} SOA")], good().1].concat());
    vec![
        scenario("a CNAME into another zone", vec![good(), target()])
            .common(zone)
            .asks(&["12 udp"]),
        scenario("written at the wrong end of a CNAME", vec![has(&[]), has(&[])])
            .common(zone)
            .ask(|request| request.written = Some("_acme-challenge.Example.com.".to_owned()))
            .fails(elsewhere)
            .asks(&["12 udp"]),
        scenario("a CNAME loop", vec![good()])
            .common(&[
                ALIAS,
                "other.test SOA",
                "other.test NS ns1.example.net",
                &format!("target.other.test CNAME {NAME}"),
            ])
            .fails(&format!(
                "Found recursive CNAME record to \"{NAME}\" when looking up \"target.other.test\""
            ))
            .asks(&[]),
        scenario("ten hops", vec![at_end()]).common(&chain[..10]),
        scenario("eleven hops", vec![good()])
            .common(&chain)
            .fails(&format!("{NAME} has a chain of more than 10 CNAME records"))
            .asks(&[]),
        scenario("a CNAME of the wildcard", vec![has(&[])])
            .common(&["*.example.com CNAME target.other.test"])
            .fails(&not_yet("ns1.example.net"))
            .warns(&["the CNAME to target.other.test comes from *.example.com: it no longer \
                      applies once the value is written"]),
        scenario("a zone of its own, delegated", vec![has(&[]), own_zone(), own_zone()])
            .common(&[
                "_acme-challenge.example.com NS ns2.example.net",
                "_acme-challenge.example.com NS ns3.example.net",
            ])
            .asks(&["12 udp", "13 udp"]),
        Scenario {
            domain: "example.invalid",
            ..scenario("no zone", vec![good()])
                .fails("no DNS zone found for \"_acme-challenge.example.invalid\"")
                .asks(&[])
        },
        scenario("no NS records", vec![]).fails("the zone example.com has no NS records").asks(&[]),
    ]
}

fn others() -> Vec<Scenario> {
    let known = || (Manner::Recursive, has(&[VALUE]).1);
    let forty: Vec<String> = (0..40)
        .flat_map(|n| {
            [
                format!("example.com NS many{n:02}.example.net"),
                format!("many{n:02}.example.net A 127.0.0.11"),
            ]
        })
        .collect();
    let forty: Vec<&str> = forty.iter().map(String::as_str).collect();
    let own = |request: &mut Dns01Request| {
        request.nameservers = strings(&["127.0.0.1:PORT", "ns1.example.net:PORT"]);
    };
    let stale = vec![has(&[])];
    vec![
        Scenario {
            resolver: known(),
            ..scenario("the recursive servers only", stale.clone())
                .ask(|request| request.is_recursive_only = true)
                .asks(&["1 udp"])
        },
        scenario("the recursive servers only, without it", vec![good()])
            .ask(|request| request.is_recursive_only = true)
            .fails(&not_yet("127.0.0.1:PORT"))
            .asks(&["1 udp"]),
        Scenario {
            resolver: known(),
            ..scenario("servers of the solver's own", vec![good(), has(&[])])
                .ask(own)
                .asks(&["1 udp", "11 udp"])
        },
        scenario("one of the solver's own is stale", vec![good()])
            .ask(own)
            .fails(&not_yet("127.0.0.1:PORT; 1 of 2 name servers"))
            .asks(&["1 udp", "11 udp"]),
        scenario("a server that is none", vec![good()])
            .ask(|request| request.nameservers = strings(&["tls://127.0.0.1"]))
            .fails(
                "cannot use the name server \"tls://127.0.0.1\": \"tls://127.0.0.1\" is not an \
                 https:// URL",
            )
            .asks(&[]),
        Scenario {
            resolver: known(),
            https: Some(200),
            ..scenario("DNS over HTTPS", stale.clone()).asks(&["1 https"])
        },
        Scenario {
            resolver: known(),
            https: Some(500),
            ..scenario("DNS over HTTPS with status 500", stale)
                .fails(&format!("cannot look up {NAME}: DOH: HTTP status 500 (CNAME)"))
                .asks(&[])
        },
        scenario("more servers than are queried", vec![good()])
            .common(&forty)
            .warns(&["there are 41 name servers; 32 were queried"]),
    ]
}
