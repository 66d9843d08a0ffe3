//! DNS-01 from the manifest to the certificate, through a program of the operator's.

use std::collections::BTreeMap;
use std::fs::{OpenOptions, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use certctl::rehearsal::{RequestKind, Resolver, TxtAnswer, ZoneWriter};
use certctl::solver::dns01::{DnsProvider as _, TxtRecord};
use futures_util::FutureExt as _;

use crate::ping::monitor;
use crate::support::{CertificateYaml, Webhook, World, finish, until};

/// A program in `solvers.d` that speaks cert-manager's ChallengePayload, and the service that it
/// writes to: the world's name server, behind a pipe.
pub(super) struct Service {
    pipe: PathBuf,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Service {
    /// The solver `acme.example.org`, `my-dns`.
    pub(super) fn start(world: &World) -> Self {
        let pipe = world.path("requests");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let program = format!(
            "#!/bin/sh\nset -e\npayload=$(cat)\nfield() {{\n  printf '%s' \"$payload\" | sed \
             's/.*\"'\"$1\"'\":\"\\([^\"]*\\)\".*/\\1/'\n}}\necho \"$(field action) $(field \
             resolvedFQDN) $(field resolvedZone) $(field key) $1\" > '{}'\n",
            pipe.display()
        );
        let path = world.write("config/solvers.d/acme.example.org/my-dns", &program);
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        // Open for both, so that neither this nor a program waits for the other to come.
        let requests = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let writer = world.dns.provider();
        let serve = move || {
            let lines = BufReader::new(requests).lines().map(Result::unwrap);
            lines.take_while(|line| line != END).inspect(|line| obey(&writer, line)).collect()
        };
        Self { pipe, thread: Some(thread::spawn(serve)) }
    }

    /// All its calls, without the values.
    pub(super) fn finish(mut self) -> Vec<String> {
        let mut pipe = OpenOptions::new().write(true).open(&self.pipe).unwrap();
        writeln!(pipe, "{END}").unwrap();
        let lines = self.thread.take().unwrap().join().unwrap();
        let words = |line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let without_value = |mut words: Vec<String>| {
            assert_eq!(words.remove(3).len(), 43);
            words.join(" ")
        };
        lines.iter().map(words).map(without_value).collect()
    }
}

/// Executes a line: action, name, zone, value, argument.
fn obey(writer: &ZoneWriter, line: &str) {
    let [action, name, zone, value, _argument] =
        line.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let bare = |name: &str| name.strip_suffix('.').unwrap().to_owned();
    let record = TxtRecord {
        domain: String::new(),
        name: bare(name),
        zone: bare(zone),
        value: value.to_owned(),
    };
    let effect =
        if action == "Present" { writer.present(&record) } else { writer.clean_up(&record) };
    effect.now_or_never().unwrap().unwrap();
}

const END: &str = "end";

#[test]
fn a_wildcard_is_issued_through_a_program_of_the_operators() {
    let world = World::start();
    let solver = "    - dns01:\n        cnameStrategy: Follow\n        webhook:\n          groupName: \
                  acme.example.org\n          solverName: my-dns\n";
    world.write("config/issuer.yaml", &world.issuer().solvers(solver));
    let names = ["example.test", "*.example.test", "www.example.test"];
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&names));
    // The last one is looked after elsewhere.
    world.dns.set_cname("_acme-challenge.www.example.test", "www.acme.example.net");
    let service = Service::start(&world);
    world.issue().ends_in(0);
    world.state().published("web");
    assert_eq!(world.ca.created(RequestKind::NewOrder), 1);

    let places = ["_acme-challenge.example.test", "www.acme.example.net"];
    for place in places {
        until("nothing is left behind", || world.dns.txt(place).is_empty());
        let looked = |question: &certctl::rehearsal::Question| {
            question.name == place && question.record == "TXT"
        };
        assert!(world.dns.questions().iter().any(looked), "{place}");
    }
    let mut asked = service.finish();
    asked.sort();
    let effect = |action, name, zone, argument| format!("{action} {name}. {zone}. {argument}");
    let on = |action, argument| {
        let apex = effect(action, places[0], "example.test", argument);
        [apex.clone(), apex, effect(action, places[1], "example.net", argument)]
    };
    assert_eq!(asked, [on("CleanUp", "cleanup"), on("Present", "present")].concat());
}

/// Keeps the first answer to each question, as a resolver does until its TTL is over.
fn caching(resolver: &Resolver) -> Resolver {
    let kept: Arc<Mutex<BTreeMap<String, Result<TxtAnswer, String>>>> = Arc::default();
    let asked = resolver.clone();
    resolver.clone().with_txt(Arc::new(move |name| {
        let (kept, asked) = (Arc::clone(&kept), asked.clone());
        let answer = async move {
            let known = kept.lock().unwrap().get(&name).cloned();
            if let Some(known) = known {
                return known;
            }
            let answer = asked.txt(&name).await;
            kept.lock().unwrap().insert(name, answer.clone());
            answer
        };
        answer.boxed()
    }))
}

/// A deviation from the design document 000, which runs them one after the other: a CA's resolver
/// keeps the values that it saw first.
#[test]
fn apex_and_wildcard_are_issued_by_a_ca_whose_resolver_keeps_the_first_values() {
    let world = World::with(|options| options.resolver = caching(&options.resolver));
    let webhook = Webhook::start(world.dns.provider());
    world.write("config/issuer.yaml", &world.issuer().solvers(&webhook.solver("")));
    let names = ["example.test", "*.example.test"];
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&names));
    world.issue().ends_in(0);
    world.state().published("web");
    assert_eq!(webhook.actions(), ["Present", "Present", "CleanUp", "CleanUp"]);
    assert_eq!(world.sent(RequestKind::Challenge), 2);
    assert_eq!(world.dns.txt("_acme-challenge.example.test"), Vec::<String>::new());
}

/// A proxy that the environment of a command names, for everything.
fn behind_a_proxy(command: &mut Command) -> TcpListener {
    let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    proxy.set_nonblocking(true).unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    {
        command.env(name, &url);
    }
    proxy
}

fn was_asked(server: &TcpListener) -> bool {
    let asked = server.accept().map(drop).map_err(|error| error.kind());
    assert!(matches!(asked, Ok(()) | Err(std::io::ErrorKind::WouldBlock)), "{asked:?}");
    asked.is_ok()
}

/// A proxy would see the credentials of a webhook on this machine.
#[test]
fn a_webhook_on_this_machine_is_not_asked_through_a_proxy() {
    let world = World::start();
    let webhook = Webhook::start(world.dns.provider());
    world.write("config/issuer.yaml", &world.issuer().solvers(&webhook.solver("")));
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    let mut command = world.command(&["issue"]);
    let proxy = behind_a_proxy(&mut command);
    finish(command.spawn().unwrap()).ends_in(0);
    assert_eq!(webhook.actions(), ["Present", "CleanUp"]);
    assert!(!was_asked(&proxy));
}

/// The URL of a monitor is a secret.
#[test]
fn a_monitor_on_this_machine_is_not_told_through_a_proxy() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let (address, requests) = monitor("200 OK");
    let mut command = world.command(&["issue", "--ping", &format!("http://{address}/uuid")]);
    let proxy = behind_a_proxy(&mut command);
    finish(command.spawn().unwrap()).ends_in(0);
    assert_eq!((requests.try_iter().count(), was_asked(&proxy)), (2, false));
}

/// The crate of these providers cannot be kept from a proxy, so they are not asked at all.
#[cfg(feature = "more-dns-providers")]
#[test]
fn a_name_server_on_this_machine_is_not_asked_through_a_proxy() {
    let world = World::start();
    let servers = [(), ()].map(|()| {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        server.set_nonblocking(true).unwrap();
        server
    });
    let [proxy, pdns] = servers.each_ref().map(|server| server.local_addr().unwrap());
    let solver = format!(
        "    - dns01:\n        webhook:\n          groupName: certctl\n          solverName: \
         pdns\n          config:\n            endpoint: http://{pdns}\n            \
         apiKeySecretRef: {{name: pdns, key: key}}\n"
    );
    world.write("config/issuer.yaml", &world.issuer().solvers(&solver));
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: pdns}\nstringData: {key: k}\n";
    let secret = world.write("config/pdns.yaml", secret);
    std::fs::set_permissions(secret, Permissions::from_mode(0o600)).unwrap();
    let asked = || servers.each_ref().map(was_asked);
    let issue = |no: &str| {
        let mut command = world.command(&["issue", "--timeout", "2s"]);
        command.env("HTTP_PROXY", format!("http://{proxy}")).env("NO_PROXY", no);
        finish(command.spawn().unwrap())
    };
    issue("").ends_in(3).says(
        "config.endpoint: the HTTP proxy of the environment would see the credentials for \
         127.0.0.1: add 127.0.0.1 to NO_PROXY",
    );
    assert_eq!((asked(), world.sent(RequestKind::NewOrder)), ([false, false], 0));
    issue("127.0.0.1");
    assert_eq!(asked(), [false, true]);
}

#[test]
fn a_program_that_fails_is_said_and_nothing_is_accepted() {
    let world = World::start();
    let solver = "    - dns01:\n        webhook:\n          groupName: certctl\n          \
                  solverName: exec\n          config:\n            command: my-dns\n";
    world.write("config/issuer.yaml", &world.issuer().solvers(solver));
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    let run = world.issue().ends_in(3);
    assert!(run.stderr.contains("solvers.d/certctl/my-dns"), "{}", run.stderr);
    assert_eq!(world.ca.created(RequestKind::NewOrder), 0);

    let asked = || std::fs::read_to_string(world.path("asked")).unwrap_or_default();
    let program = |code: u8| {
        let asked = world.path("asked").display().to_string();
        let text = format!("#!/bin/sh\necho $1 >> {asked}\necho no such zone >&2\nexit {code}\n");
        let path = world.write("config/solvers.d/my-dns", &text);
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    };
    // Three tries are enough, unless the program asks for more: that is what 75 is for.
    program(1);
    let said = "solvers.d/my-dns answered exit code 1: no such zone";
    world.issue().ends_in(4).says(said);
    assert_eq!(asked(), "present\n".repeat(3));
    program(75);
    let said = "solvers.d/my-dns has not finished: exit code 75: no such zone";
    world.run(&["issue", "--timeout", "2s"]).ends_in(75).says(said);
    assert!(asked().lines().count() > 6, "{}", asked());
    // What a program did before it failed is not known: it is to take that back.
    assert!(world.state().orders("web")[0].owes_clean_up());
    assert_eq!((world.sent(RequestKind::Challenge), world.sent(RequestKind::NewOrder)), (0, 1));
}

/// A world with `wild`, whose solver logs its calls and writes nothing, so that the
/// self-check never passes; and `web`, over HTTP.
fn in_vain() -> World {
    let world = World::start();
    let program = format!(
        "#!/bin/sh\necho \"$1 $CERTCTL_FQDN $CERTCTL_VALUE\" >> '{}'\n",
        world.path("asked").display()
    );
    let path = world.write("config/solvers.d/certctl/note", &program);
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    let solvers = "    - http01: {ingress: {}}\n    - dns01:\n        webhook:\n          groupName: \
                   certctl\n          solverName: exec\n          config: {command: note}\n";
    world.write("config/issuer.yaml", &world.issuer().solvers(solvers));
    world.write("wild.yaml", &CertificateYaml::new("wild").for_names(&["*.example.test"]));
    world.write("web.yaml", &CertificateYaml::new("web"));
    world
}

fn asked(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.path("asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn what_a_killed_run_left_is_taken_back_by_a_run_for_another_certificate() {
    let world = in_vain();
    let mut run = world.start_certctl(&["issue", "wild.yaml"]);
    until("the value is out", || !asked(&world).is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(asked(&world).len(), 1, "it was not removed");
    world.run(&["issue", "web.yaml"]).ends_in(0);
    let asked = asked(&world);
    let value = asked[0].strip_prefix("present _acme-challenge.example.test. ").unwrap();
    assert_eq!(asked[1], format!("cleanup _acme-challenge.example.test. {value}"));
    assert_eq!(asked.len(), 2);
    // It is not owed any more.
    world.run(&["issue", "web.yaml"]).says_nothing();
    assert_eq!(self::asked(&world).len(), 2);
}

#[test]
fn what_a_killed_run_left_of_a_certificate_without_a_manifest_is_taken_back() {
    for words in [&["issue", "web.yaml"][..], &["issue"]] {
        let world = in_vain();
        let mut run = world.start_certctl(&["issue", "wild.yaml"]);
        until("the value is out", || !asked(&world).is_empty());
        run.kill().unwrap();
        run.wait().unwrap();
        std::fs::remove_file(world.path("wild.yaml")).unwrap();
        // Without any certificate there is nothing else to do.
        world.run(words).ends_in(if words.len() == 1 { 3 } else { 0 });
        assert!(asked(&world)[1].starts_with("cleanup _acme-challenge."), "{words:?}");
        assert!(!world.run(words).stderr.contains("not cleaned up"));
        assert_eq!(asked(&world).len(), 2, "{words:?}");
    }
}

#[test]
fn what_a_killed_run_left_is_taken_back_before_its_certificate_is_forgotten() {
    let world = in_vain();
    let mut run = world.start_certctl(&["issue", "wild.yaml"]);
    until("the value is out", || !asked(&world).is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    std::fs::remove_file(world.path("wild.yaml")).unwrap();
    let run = world.run(&["forget", "wild"]).ends_in(0);
    assert!(!run.stderr.contains("may have left"), "{}", run.stderr);
    let value = asked(&world)[0].strip_prefix("present ").unwrap().to_owned();
    assert_eq!(asked(&world)[1..], [format!("cleanup {value}")]);

    // Without its Issuer, what is left is listed.
    let world = in_vain();
    let mut run = world.start_certctl(&["issue", "wild.yaml"]);
    until("the value is out", || !asked(&world).is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    for file in ["wild.yaml", "config/issuer.yaml"] {
        std::fs::remove_file(world.path(file)).unwrap();
    }
    let place = "may have left: TXT ";
    world.run(&["forget", "wild"]).ends_in(0).says(place).says(" at _acme-challenge.example.test");
    assert_eq!(asked(&world).len(), 1);
}

#[test]
fn what_cannot_be_taken_back_is_named_until_it_can() {
    let world = in_vain();
    let other = world.issuer().named("other");
    let web = CertificateYaml::new("web").issued_by("other");
    world.write("web.yaml", &format!("{other}---\n{web}"));
    let mut run = world.start_certctl(&["issue", "wild.yaml"]);
    until("the value is out", || !asked(&world).is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    let issuer = std::fs::read_to_string(world.path("config/issuer.yaml")).unwrap();
    std::fs::remove_file(world.path("config/issuer.yaml")).unwrap();
    let manifest = std::fs::read_to_string(world.path("wild.yaml")).unwrap();
    std::fs::remove_file(world.path("wild.yaml")).unwrap();
    let value = asked(&world)[0].rsplit(' ').next().unwrap().to_owned();
    let place = format!("TXT \"{value}\" at _acme-challenge.example.test (zone example.test, ");
    // Also where no certificate is left.
    world.issue().ends_in(3).says(&place);
    world.run(&["issue", "web.yaml"]).ends_in(0).says(&place);
    world.run(&["issue", "web.yaml"]).ends_in(0).says(&place);
    assert_eq!(asked(&world).len(), 1);
    world.write("config/issuer.yaml", &issuer);
    world.write("wild.yaml", &manifest);
    world.run(&["issue", "web.yaml"]).says_nothing();
    assert!(asked(&world)[1].starts_with("cleanup "));
}

#[test]
fn a_signal_takes_the_value_back_and_a_timeout_leaves_it() {
    let world = in_vain();
    let run = world.start_certctl(&["issue", "wild.yaml"]);
    until("the value is out", || !asked(&world).is_empty());
    let pid = rustix::process::Pid::from_raw(run.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    finish(run).ends_in(143);
    assert!(asked(&world)[1].starts_with("cleanup "), "{:?}", asked(&world));

    let world = in_vain();
    let run = world.run(&["issue", "wild.yaml", "--timeout", "1s"]).ends_in(75);
    assert!(run.stderr.contains("not yet propagated"), "{}", run.stderr);
    assert_eq!(asked(&world).len(), 1);
}
