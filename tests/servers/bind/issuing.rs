//! The binary and Pebble, both with BIND as DNS server: the certificates, and the final zones.

use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Stdio};

use certctl::engine::ports::{Clock as _, SystemClock};
use x509_parser::extensions::GeneralName;

use super::CERTCTL;
use crate::bind_support::{Bind, SECRET, key_of};
use crate::pebble_support::{Ca, Issuer, Options, Run, Work, block_on, installed};
use crate::tls_alpn01::TLS_ALPN;

/// BIND, a Pebble that queries it, and a folder to run the binary in.
pub(crate) struct World<'a> {
    bind: &'a Bind,
    pub(crate) work: Work<'a>,
}

impl<'a> World<'a> {
    pub(crate) fn new(bind: &'a Bind, ca: &'a Ca) -> Self {
        Self { bind, work: Work::new(ca, CERTCTL) }
    }

    /// Writes `web.yaml`: an Issuer with these solvers, the secret of all keys, and a Certificate
    /// of these names.
    pub(crate) fn write(&self, solvers: &str, names: &[&str]) {
        let issuer = Issuer { solvers: Some(solvers.to_owned()), ..Issuer::default() };
        let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        self.work.manifest("web.yaml", &issuer, &[("web".to_owned(), names)]);
        let text = std::fs::read_to_string(self.work.path("web.yaml")).unwrap();
        let secret = format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{ name: tsig }}\nstringData: \
             {{ secret: {SECRET} }}\n"
        );
        self.work.write("web.yaml", &format!("{text}{secret}"));
    }

    /// A `dns01` solver for this key; none without.
    pub(crate) fn solver(&self, key: &str, algorithm: &str, more: &str) -> String {
        let server = self.bind.address;
        let tsig = if key.is_empty() {
            String::new()
        } else {
            format!(
                ", tsigKeyName: {key}, tsigAlgorithm: '{algorithm}', \
                 tsigSecretSecretRef: {{ name: tsig, key: secret }}"
            )
        };
        format!("dns01: {{ rfc2136: {{ nameserver: '{server}'{tsig}{more} }} }}")
    }

    fn issue(&self) -> Run {
        self.work.issue("web.yaml")
    }

    /// Without `-v`, as cron does.
    fn issue_quietly(&self) -> Run {
        self.work.run_at(SystemClock.now(), &["issue", "./web.yaml"])
    }

    fn issued_names(&self) -> Vec<String> {
        let pem = self.work.secret("web", "tls.crt").unwrap();
        let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap();
        let leaf = pem.parse_x509().unwrap();
        let names = leaf.subject_alternative_name().unwrap().unwrap();
        let names = names.value.general_names.iter().map(|name| {
            let GeneralName::DNSName(name) = name else { panic!("{name}") };
            (*name).to_owned()
        });
        names.collect()
    }

    /// Starts a run that cannot see its own record, and kills it once the record is there.
    fn kill_after_present(&self, zone: &str) {
        let name = format!("_acme-challenge.{zone}");
        let before = self.bind.values(&name).len();
        let mut command = self.work.command("web.yaml");
        let blind = without_txt(self.bind.address).to_string();
        command.env("CERTCTL_DNS01_AUTHORITATIVE_PORT", blind);
        let mut run = Killed(command.stderr(Stdio::null()).spawn().unwrap());
        block_on(async {
            while self.bind.values_now(&name).await.len() == before {
                assert_eq!(run.0.try_wait().unwrap(), None);
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        });
    }
}

/// A port of 127.0.0.1 where this server answers all queries but those for TXT records.
fn without_txt(server: SocketAddr) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let upstream = UdpSocket::bind("127.0.0.1:0").unwrap();
        upstream.connect(server).unwrap();
        let mut buffer = [0; 4096];
        loop {
            let (size, peer) = socket.recv_from(&mut buffer).unwrap();
            let query = buffer.get(..size).unwrap();
            // After the header and the name: the type (RFC 1035 section 4.1.2).
            let mut question = query.iter().skip(12).skip_while(|byte| **byte != 0).skip(1);
            if (question.next(), question.next()) != (Some(&0), Some(&16)) {
                upstream.send(query).unwrap();
                let size = upstream.recv(&mut buffer).unwrap();
                socket.send_to(buffer.get(..size).unwrap(), peer).unwrap();
            }
        }
    });
    port
}

/// A run that ends with SIGKILL when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(crate) fn pebble(bind: &Bind) -> Ca {
    installed();
    Ca::start(&Options { name_server: Some(bind.address), ..Options::default() })
}

#[test]
fn apex_and_wildcard_by_dns_and_www_by_http_are_issued_and_nothing_stays() {
    let bind = Bind::start();
    let ca = pebble(&bind);
    for (zone, algorithm) in
        [("example.test", "HMACSHA256"), ("example.test", "HMACMD5"), ("open.test", "")]
    {
        let world = World::new(&bind, &ca);
        let key = if algorithm.is_empty() { String::new() } else { key_of(algorithm) };
        let (wildcard, www) = (format!("*.{zone}"), format!("www.{zone}"));
        let dns = world.solver(&key, algorithm, "");
        let http = format!("selector: {{ dnsNames: [ {www} ] }}, http01: {{ ingress: {{}} }}");
        world.write(&format!("[ {{ {dns} }}, {{ {http} }} ]"), &[zone, &wildcard, &www]);
        let before = bind.zone(zone);
        let run = world.issue();
        assert_eq!(run.code, Some(0), "{algorithm}: {}", run.stderr);
        let mut names = world.issued_names();
        names.sort();
        assert_eq!(names, [wildcard, zone.to_owned(), www]);
        assert_eq!(bind.zone(zone), before, "{algorithm}");
    }
}

#[test]
fn a_cname_is_followed_into_the_only_zone_that_the_key_is_for() {
    let bind = Bind::start();
    let ca = pebble(&bind);
    let world = World::new(&bind, &ca);
    let dns = world.solver("only-other", "HMACSHA256", "");
    let follow = dns.replace("dns01: {", "dns01: { cnameStrategy: Follow,");
    let before = [bind.zone("alias.test"), bind.zone("other.test")];
    world.write(&format!("[ {{ {follow} }} ]"), &["alias.test", "*.alias.test"]);
    let run = world.issue();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!([bind.zone("alias.test"), bind.zone("other.test")], before);
}

#[test]
fn apex_and_wildcard_need_at_most_13_requests() {
    let bind = Bind::start();
    let ca = pebble(&bind);
    let world = World::new(&bind, &ca);
    let dns = world.solver(&key_of("HMACSHA512"), "HMACSHA512", "");
    // The first run makes the account.
    world.write(&format!("[ {{ {dns} }} ]"), &["www.example.test"]);
    assert_eq!(world.issue().code, Some(0));
    world.write(&format!("[ {{ {dns} }} ]"), &["example.test", "*.example.test"]);
    let before = ca.requests().len();
    // A run that waits for a second look at a record does not end in time.
    let mut command = world.work.command("web.yaml");
    let run = command.args(["--self-check-interval", "5m"]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let requests = ca.requests().split_off(before);
    assert!(requests.len() <= 13, "{requests:#?}");
}

#[test]
fn what_a_killed_run_has_left_goes_with_the_next_one() {
    let bind = Bind::start();
    let ca = pebble(&bind);
    let world = World::new(&bind, &ca);
    let dns = world.solver(&key_of("HMACSHA256"), "HMACSHA256", "");
    world.write(&format!("[ {{ {dns} }} ]"), &["example.test", "*.example.test"]);
    let before = bind.zone("example.test");
    world.kill_after_present("example.test");
    assert_ne!(bind.zone("example.test"), before);
    let run = world.issue();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(bind.zone("example.test"), before);
}

#[test]
fn what_is_left_is_named_while_its_solver_is_gone_and_goes_once_it_is_back() {
    for edit in [Edit::Solver, Edit::Removal] {
        let bind = Bind::start();
        let ca = pebble(&bind);
        let world = World::new(&bind, &ca);
        let dns = world.solver(&key_of("HMACSHA256"), "HMACSHA256", "");
        world.write(&format!("[ {{ {dns} }} ]"), &["example.test"]);
        let manifest = std::fs::read_to_string(world.work.path("web.yaml")).unwrap();
        let before = bind.zone("example.test");
        world.kill_after_present("example.test");
        let left = bind.zone("example.test");
        let ours = left.iter().find(|record| !before.contains(record)).unwrap();
        let value = ours.rsplit(' ').next().unwrap();

        match edit {
            Edit::Solver => world.write("[ { http01: { ingress: {} } } ]", &["example.test"]),
            Edit::Removal => {
                let (_, without) = manifest.split_once("---\n").unwrap();
                world.work.write("web.yaml", without);
            }
        }
        let run = world.issue_quietly();
        let named =
            format!("TXT \"{value}\" at _acme-challenge.example.test (zone example.test, rfc2136)");
        assert!(run.stderr.contains(&named), "{edit:?}: {run:?}");
        assert!(!run.stderr.contains(SECRET), "{edit:?}: {run:?}");
        assert_eq!(bind.zone("example.test"), left, "{edit:?}: {}", run.stderr);

        world.work.write("web.yaml", &manifest);
        let run = world.issue();
        assert_eq!(run.code, Some(0), "{edit:?}: {}", run.stderr);
        assert_eq!(bind.zone("example.test"), before, "{edit:?}: {}", run.stderr);
    }
}

/// What happens to the Issuer.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Solver,
    Removal,
}

#[test]
fn refused_signatures_end_the_run_at_once() {
    let bind = Bind::start();
    let ca = pebble(&bind);
    let key = key_of("HMACSHA256");
    for (key, secret, ahead, said) in [
        (key.as_str(), "d3Jvbmc=", 0, "BADSIG: wrong TSIG secret for the key"),
        ("no-such-key", SECRET, 0, "BADKEY: it has no key"),
        (key.as_str(), SECRET, 1000, "answered BADTIME: its clock is "),
    ] {
        let world = World::new(&bind, &ca);
        let dns = world.solver(key, "HMACSHA256", "");
        world.write(&format!("[ {{ {dns} }} ]"), &["example.test", "*.example.test"]);
        let manifest = std::fs::read_to_string(world.work.path("web.yaml")).unwrap();
        world.work.write("web.yaml", &manifest.replace(SECRET, secret));
        let before = bind.log().matches("tsig verify failure").count();
        let time = SystemClock.now() + jiff::SignedDuration::from_secs(ahead);
        let run = world.work.run_at(time, &["issue", "./web.yaml"]);
        assert_eq!(run.code, Some(4), "{said}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{said}: {}", run.stderr);
        // The question for the TTL, and one update.
        let refused = bind.log().matches("tsig verify failure").count() - before;
        assert!(refused <= 2, "{said}: {refused}");
    }
}

#[test]
fn three_challenge_types_prove_the_names_of_one_certificate() {
    let bind = Bind::start();
    let ca = pebble(&bind);
    let world = World::new(&bind, &ca);
    let dns = world.solver(&key_of("HMACSHA256"), "HMACSHA256", "");
    let http = "selector: { dnsNames: [ www.example.test ] }, http01: { ingress: {} }";
    let by_tls = TLS_ALPN.strip_prefix("{ ").unwrap();
    let tls = format!("{{ selector: {{ dnsNames: [ example.test ] }}, {by_tls}");
    let names = ["*.example.test", "example.test", "www.example.test"];
    world.write(&format!("[ {{ {dns} }}, {{ {http} }}, {tls} ]"), &names);
    let run = world.issue();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut issued = world.issued_names();
    issued.sort();
    assert_eq!(issued, names);
    let shown = world.work.run(&["status", "challenges", "-o", "json"]).stdout;
    for kind in ["HTTP-01", "DNS-01", "TLS-ALPN-01"] {
        assert!(shown.contains(&format!("\"{kind}\"")), "{kind}: {shown}");
    }
}
