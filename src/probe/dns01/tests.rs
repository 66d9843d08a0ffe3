mod scenarios;

use std::collections::BTreeSet;

use super::*;
use crate::probe::ResolverOptions;
use crate::probe::lab::{Lab, Manner};

const VALUE: &str = "LHDhK3oGRvkiefQnx7OOczTY5Tic_xZ6HcMOc_gmtoM";
const RESOLVER: &str = "127.0.0.1";
/// For servers that answer.
const LONG: Duration = Duration::from_mins(1);

/// The name servers of example.com are ns1.example.net, ns2 and so on, at 127.0.0.11 and up; all
/// know the common records.
struct Scenario {
    about: &'static str,
    domain: &'static str,
    servers: Vec<(Manner, Vec<String>)>,
    common: Vec<String>,
    resolver: (Manner, Vec<String>),
    timeout: Duration,
    has_ipv6: bool,
    /// The status of a server for DNS over HTTPS, which has the records of the resolver.
    https: Option<u16>,
    ask: fn(&mut Dns01Request),
    /// `None` when it passes; `PORT` is the port of all, `DOH` the URL.
    reason: Option<String>,
    warnings: Vec<String>,
    /// The servers queried for the TXT record: the last part of the address, and the protocol.
    queries: Vec<String>,
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// A server that has these TXT records for the challenge's name.
fn has(values: &[&str]) -> (Manner, Vec<String>) {
    let line = |value: &&str| format!("_acme-challenge.example.com TXT {value}");
    (Manner::Honest, values.iter().map(line).collect())
}

/// The same, with another behavior.
fn but(manner: Manner) -> (Manner, Vec<String>) {
    (manner, has(&[VALUE]).1)
}

fn scenario(about: &'static str, servers: Vec<(Manner, Vec<String>)>) -> Scenario {
    Scenario {
        about,
        domain: "example.com",
        queries: (0..servers.len()).map(|n| format!("{} udp", FIRST + n)).collect(),
        servers,
        common: Vec::new(),
        resolver: (Manner::Recursive, Vec::new()),
        timeout: LONG,
        has_ipv6: true,
        https: None,
        ask: |_| {},
        reason: None,
        warnings: Vec::new(),
    }
}

impl Scenario {
    fn common(self, lines: &[&str]) -> Self {
        Self { common: strings(lines), ..self }
    }

    fn ask(self, ask: fn(&mut Dns01Request)) -> Self {
        Self { ask, ..self }
    }

    fn fails(self, reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()), ..self }
    }

    fn warns(self, warnings: &[&str]) -> Self {
        Self { warnings: strings(warnings), ..self }
    }

    fn asks(self, queries: &[&str]) -> Self {
        Self { queries: strings(queries), ..self }
    }

    async fn lab(&self) -> Lab {
        let mut common = strings(&["com SOA", "net SOA", "test SOA", "example.com SOA"]);
        for n in 1..=self.servers.len() {
            common.push(format!("example.com NS ns{n}.example.net"));
            let own = format!("ns{n}.example.net ");
            if !self.common.iter().any(|line| line.starts_with(&own)) {
                common.push(format!("{own}A 127.0.0.{}", FIRST + n - 1));
            }
        }
        common.extend(self.common.iter().filter(|line| !line.ends_with(" -")).cloned());
        let with = |own: &[String]| [common.as_slice(), own].concat();
        let ips: Vec<String> =
            (0..self.servers.len()).map(|n| format!("127.0.0.{}", FIRST + n)).collect();
        let mut hosts = vec![(RESOLVER, self.resolver.0, with(&self.resolver.1))];
        for (ip, (manner, own)) in ips.iter().zip(&self.servers) {
            hosts.push((ip.as_str(), *manner, with(own)));
        }
        let needs_ipv6 = common.iter().any(|line| line.ends_with(" AAAA ::1"));
        if needs_ipv6 {
            hosts.push(("::1", Manner::Honest, with(&has(&[VALUE]).1)));
        }
        Lab::start(hosts).await
    }

    fn resolver(&self, lab: &Lab) -> Resolver {
        Resolver::new(ResolverOptions {
            servers: vec![lab.at(RESOLVER)],
            timeout: self.timeout,
            authoritative_port: lab.port,
            has_ipv6: self.has_ipv6,
            ..ResolverOptions::default()
        })
    }

    /// The mismatch, if any.
    async fn run(&self) -> Option<String> {
        let mut lab = self.lab().await;
        let mut request = Dns01Request::new(self.domain, VALUE);
        (self.ask)(&mut request);
        let port = lab.port.to_string();
        for server in &mut request.nameservers {
            *server = server.replace("PORT", &port);
        }
        let mut url = String::new();
        if let Some(status) = self.https {
            url = lab.serve_http(RESOLVER, status).await;
            request.nameservers = vec![url.clone()];
        }
        let report = check_dns01(&self.resolver(&lab), &request).await;
        let real = |text: &str| text.replace("PORT", &port).replace("DOH", &url);
        let expected = (
            self.reason.as_deref().map(real),
            self.warnings.iter().map(|text| real(text)).collect::<Vec<String>>(),
            self.queries.iter().cloned().collect::<BTreeSet<String>>(),
        );
        let reason = report.reason().map(ToOwned::to_owned);
        let found = (reason, report.warnings(), txt_queries(&lab));
        let stored = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Dns01Report>(&stored).unwrap(), report);
        let is_right = found == expected && report.has_passed() == self.reason.is_none();
        let about = self.about;
        (!is_right).then(|| format!("{about}\n{found:#?}\nexpected\n{expected:#?}\n{report}\n"))
    }
}

fn txt_queries(lab: &Lab) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in lab.take_queries() {
        let words: Vec<&str> = entry.split(' ').collect();
        if words[2] == "TXT" {
            let host = words[0].trim_start_matches("127.0.0.");
            found.insert(format!("{host} {}", words[3]));
        }
    }
    found
}

/// The last part of the address of ns1.
const FIRST: usize = 11;

#[tokio::test]
async fn every_name_server_must_have_the_value() {
    let all = scenarios::all();
    assert!(all.len() >= 25);
    let mut wrong = Vec::new();
    for scenario in all {
        wrong.extend(scenario.run().await);
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[tokio::test]
async fn a_name_that_does_not_exist_yet_passes_as_soon_as_it_does() {
    let scenario = scenario("", vec![has(&[]), has(&[VALUE])]);
    let lab = scenario.lab().await;
    let resolver = scenario.resolver(&lab);
    let request = Dns01Request::new("*.Example.com", VALUE);
    let before = check_dns01(&resolver, &request).await;
    let reason = "DNS record for \"example.com\" not yet propagated (ns1.example.net; 1 of 2 name \
                  servers)";
    assert_eq!(before.reason(), Some(reason));
    lab.add("127.0.0.11", &format!("_acme-challenge.example.com TXT {VALUE}"));
    let report = check_dns01(&resolver, &request).await;
    let answer = |ip: &str| AnswerReport {
        address: Some(lab.at(ip).to_string()),
        response: ServerAnswer::Records {
            has_value: true,
            other_count: 0,
            others: vec![],
            ttl: Some(60),
            is_authoritative: true,
        },
    };
    let server = |server: &str, ip: &str| NameServerReport {
        server: server.to_owned(),
        answers: vec![answer(ip)],
    };
    let expected = Dns01Report {
        domain: "example.com".to_owned(),
        name: "_acme-challenge.example.com".to_owned(),
        aliases: Aliases::default(),
        zone: Some("example.com".to_owned()),
        written: None,
        servers: vec![
            server("ns1.example.net", "127.0.0.11"),
            server("ns2.example.net", "127.0.0.12"),
        ],
        notes: vec![],
        verdict: crate::resource::Verdict::Passed,
    };
    assert_eq!(report, expected);
}

#[tokio::test]
async fn the_table_shows_the_answer_of_each_server() {
    let alias = "_acme-challenge.example.com CNAME target.example.com";
    let target = |values: &[&str]| {
        let line = |value: &&str| format!("target.example.com TXT {value}");
        (Manner::Honest, values.iter().map(line).collect())
    };
    let servers = vec![
        target(&[VALUE, "a\"b", "c"]),
        target(&["1", "2", "an old value that is rather long", "4"]),
        target(&[]),
        (Manner::Code(ResponseCode::ServFail), vec![]),
        (Manner::Lame, vec![]),
        target(&[]),
    ];
    let scenario = scenario("", servers).common(&[alias, "ns6.example.net -"]);
    let lab = scenario.lab().await;
    let request = Dns01Request::new("example.com", VALUE);
    let report = check_dns01(&scenario.resolver(&lab), &request).await;
    // As wide as a port that the system chooses.
    let found = report.to_string().replace(&lab.port.to_string(), "12345");
    assert_eq!(found, include_str!("tests/table.txt").trim_end());
}

/// A label of an NS record may hold any byte.
#[test]
fn what_a_name_server_is_called_stays_in_its_cell() {
    let report = Dns01Report {
        domain: "example.com".to_owned(),
        name: "_acme-challenge.example.com".to_owned(),
        aliases: Aliases::default(),
        zone: None,
        written: None,
        servers: vec![NameServerReport {
            server: "ns\n::error::x\u{1b}[2J".to_owned(),
            answers: vec![],
        }],
        notes: vec![],
        verdict: crate::resource::Verdict::Passed,
    };
    let table = report.table();
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.contains("\n  ns\\n::error::x\\u{1b}[2J  "), "{table}");
}
