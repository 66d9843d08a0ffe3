//! HTTP-01: the port, the webroot, the look from outside, and what is left behind: nothing.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use certctl::rehearsal::{Fault, RequestKind, Rule};
use rustix::process::{Pid, Signal, kill_process};

use crate::own_process::only;
use crate::support::{CertificateYaml, Port, Run, State, WebServer, World, finish, until};

fn here() -> Vec<std::net::IpAddr> {
    vec!["127.0.0.1".parse().unwrap()]
}

#[test]
fn a_port_in_use_is_found_before_any_request() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let run = world.run(&["issue", "--http01-listen", &address]).ends_in(3);
    let run = run.says(&address).says("certctl help port-80");
    assert!(run.stderr.contains("not counted as an attempt"), "{}", run.stderr);
    assert_eq!(world.ca.requests(), 0);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    world.issue().ends_in(0);
}

#[test]
fn a_web_server_answers_from_its_folder_and_keeps_nothing() {
    let world = World::start();
    let webroot = world.path("webroot");
    std::fs::create_dir(&webroot).unwrap();
    let server = WebServer::start(&world.port, &webroot);
    let certificate =
        CertificateYaml::new("web").annotation("certctl/http01-webroot", webroot.to_str().unwrap());
    world.prepare(&[certificate]);
    world.issue().ends_in(0);
    world.state().published("web");
    assert!(server.served() >= 2, "the self-check and the CA: {}", server.served());
    let left: Vec<_> = walk(&webroot).into_iter().filter(|path| path.is_file()).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}

/// A look at the folder ends what no wait ends. The order is for the next run.
#[test]
fn a_webroot_that_the_web_server_of_this_host_does_not_serve_is_not_waited_for() {
    let world = World::start();
    let (webroot, other) = (world.path("webroot"), world.path("other"));
    for folder in [&webroot, &other] {
        std::fs::create_dir(folder).unwrap();
    }
    let server = WebServer::start(&world.port, &other);
    let certificate =
        CertificateYaml::new("web").annotation("certctl/http01-webroot", webroot.to_str().unwrap());
    world.prepare(&[certificate]);
    let run = world.run(&["issue", "--timeout", "30s"]).ends_in(4);
    let run =
        run.says(&format!("has no server block for this name that serves {}", webroot.display()));
    assert!(run.stderr.contains("certctl check http web.example.test"), "{}", run.stderr);
    assert!(!run.stderr.contains("propagation"), "{}", run.stderr);
    assert_eq!(world.sent(RequestKind::Challenge), 0);
    assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    drop(server);
    let closed = world.run(&["issue", "--timeout", "30s"]).ends_in(4);
    let closed = closed.says("no web server of this host listens on 127.0.0.");
    assert!(!closed.stderr.contains("propagation"), "{}", closed.stderr);
    let _server = WebServer::start(&world.port, &webroot);
    world.issue().ends_in(0);
    assert_eq!(world.ca.created(RequestKind::NewOrder), 1);
}

#[test]
fn a_server_of_this_host_that_does_not_forward_the_challenge_is_not_waited_for() {
    let world = World::start();
    let _server = WebServer::start(&world.port, &world.path(""));
    let listener = Port::take();
    let listen = format!("127.0.0.1:{}", listener.number());
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/http01-listen", &listen)]);
    let run = world.run(&["issue", "--timeout", "30s"]).ends_in(4);
    let run = run.says(&format!("does not forward the request to certctl ({listen})"));
    assert!(!run.stderr.contains("propagation"), "{}", run.stderr);
    let run = world.run(&["doctor"]);
    let is_it = |line: &str| line.starts_with("FAIL  HTTP-01") && line.contains("does not forward");
    assert!(run.stdout.lines().any(is_it), "{}", run.stdout);
    let run = world.run(&["check", "http", "web.example.test"]);
    let way = "certctl help port-80";
    assert!(run.stdout.contains(way), "{}", run.stdout);
}

#[test]
fn more_names_than_slots_are_proven_by_a_web_server_too() {
    let world = World::start();
    let webroot = world.path("webroot");
    std::fs::create_dir(&webroot).unwrap();
    let _server = WebServer::start(&world.port, &webroot);
    let names: Vec<String> = (0..7).map(|n| format!("n{n}.example.test")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let certificate = CertificateYaml::new("web")
        .for_names(&names)
        .annotation("certctl/http01-webroot", webroot.to_str().unwrap());
    world.prepare(&[certificate]);
    let words = ["issue", "--max-concurrent-challenges", "2", "--timeout", "1m"];
    world.run(&words).ends_in(0);
    assert_eq!(world.state().published("web").dns_names.len(), names.len());
}

/// Either process gets half of the connections to the port.
#[test]
fn two_states_that_issue_at_once_take_no_challenge_from_each_other() {
    let world = World::start();
    let both = ["one", "two"];
    for state in both {
        let names = ["a", "b", "c"].map(|name| format!("{name}.{state}.example.test"));
        let certificate =
            CertificateYaml::new(state).for_names(&names.each_ref().map(String::as_str));
        world.write(&format!("{state}.yaml"), &format!("{}---\n{certificate}", world.issuer()));
    }
    for round in 0..3 {
        let runs = both.map(|state| {
            let manifest = format!("./{state}.yaml");
            let words = if round == 0 { vec!["issue", &manifest] } else { vec!["renew", state] };
            let mut command = world.command(&words);
            command.env("CERTCTL_STATE_DIR", world.path(&format!("state-{state}"))).spawn().unwrap()
        });
        for run in runs {
            finish(run).ends_in(0);
        }
    }
    for name in both {
        let state = State::new(world.path(&format!("state-{name}")));
        let status = state.record(name).status;
        assert_eq!((status.revision, status.failed_issuance_attempts), (Some(3), None));
        assert_eq!(state.tokens(), Vec::<std::path::PathBuf>::new());
    }
    let accepted = world.sent(RequestKind::Challenge);
    assert_eq!(accepted, 18, "each challenge was accepted once");
}

/// Not a test of its own: it is run as a process named certctl, and holds the port of `HELD`.
#[test]
fn hold_a_port() {
    let Some(address) = std::env::var_os("HELD") else { return };
    let socket = TcpListener::bind(address.to_str().unwrap()).unwrap();
    loop {
        drop(socket.accept());
    }
}

/// The process that runs it; ended when dropped.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_port_that_another_certctl_holds_is_waited_for() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let program = world.path("certctl");
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), &program).unwrap();
    let mut holder = Command::new(program);
    holder.args(only(module_path!(), "hold_a_port"));
    holder.env("HELD", world.port.address().to_string());
    let holder = Holder(holder.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("it listens", || std::net::TcpStream::connect(world.port.address()).is_ok());
    let named = format!("is in use by certctl (pid {})", holder.0.id());
    let check = world.run(&["check", "http", "web.example.test"]);
    assert!(check.stdout.contains(&named), "{}", check.stdout);

    let said = world.path("said");
    let log = std::fs::File::create(&said).unwrap();
    let run = world.command(&["issue"]).stderr(log).spawn().unwrap();
    let waiting = format!("{named}: waiting for it to end");
    until("it waits", || std::fs::read_to_string(&said).unwrap().contains(&waiting));
    drop(holder);
    finish(run).ends_in(0);
    world.state().published("web");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            let below = if path.is_dir() { walk(&path) } else { Vec::new() };
            std::iter::once(path).chain(below)
        })
        .collect()
}

#[test]
fn a_wait_stands_in_for_the_self_check_where_it_is_asked_for() {
    let world = World::start();
    let solvers = "    - http01:\n        ingress: {}\n      waitInsteadOfSelfCheck: 200ms\n";
    world.write("config/issuer.yaml", &world.issuer().solvers(solvers));
    world.write("config/web.yaml", &CertificateYaml::new("web"));
    // Nothing listens there, so that a self-check could never pass.
    world.run(&["issue", "--resolver", "127.0.0.1:1", "--timeout", "30s"]).ends_in(0);
    world.state().published("web");
}

#[test]
fn a_self_check_that_never_passes_leaves_the_order_for_the_next_run() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.dns.remove("*.example.test");
    let run = world.run(&["issue", "--timeout", "2s"]).ends_in(75).says("web.example.test");
    assert!(run.stderr.contains("NXDOMAIN"), "{}", run.stderr);
    let urls = world.state().order_urls("web");
    assert_eq!((urls.len(), world.sent(RequestKind::Challenge)), (1, 0));
    assert!(world.state().tokens().is_empty());
    let page = world.run(&["status", "web"]).ends_in(0).stdout;
    let line = "\nTry:          certctl check http web.example.test";
    assert!(page.contains(line) && !page.contains("the next one that waits"), "{page}");
    world.dns.set("web.example.test", here());
    world.issue().ends_in(0);
    assert_eq!(world.state().order_urls("web"), urls);
    assert_eq!(world.ca.created(RequestKind::NewOrder), 1);
}

#[test]
fn a_signal_ends_the_run_in_good_order() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.dns.remove("*.example.test");
        let child = world.start_certctl(&["issue"]);
        until("a token is presented", || !world.state().tokens().is_empty());
        kill_process(Pid::from_child(&child), signal).unwrap();
        finish(child).ends_in(code);
        assert!(world.state().tokens().is_empty());
        assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
        let urls = world.state().order_urls("web");
        world.dns.set("web.example.test", here());
        world.issue().ends_in(0);
        assert_eq!((world.state().order_urls("web"), urls.len()), (urls, 1));
    }
}

#[test]
fn a_killed_run_is_gone_on_with_by_the_next() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.dns.remove("*.example.test");
    let mut child = world.start_certctl(&["issue"]);
    until("a token is presented", || !world.state().tokens().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let urls = world.state().order_urls("web");
    world.dns.set("web.example.test", here());
    world.issue().ends_in(0);
    assert_eq!((world.state().order_urls("web"), urls.len()), (urls, 1));
    assert!(world.state().tokens().is_empty());
}

#[test]
fn a_name_that_nothing_can_prove_is_found_before_any_request() {
    let dns01 = "    - dns01:\n        cloudflare:\n          apiTokenSecretRef:\n            \
                 name: cloudflare\n            key: token\n";
    let elsewhere = "    - http01:\n        ingress: {}\n      selector:\n        dnsZones:\n        \
                     - example.net\n";
    for solvers in [dns01, elsewhere] {
        let world = World::start();
        world.write("config/issuer.yaml", &world.issuer().solvers(solvers));
        world.write("config/web.yaml", &CertificateYaml::new("web"));
        world.issue().ends_in(3).says("web.example.test");
        assert_eq!(world.ca.requests(), 0, "{solvers}");
    }
    let world = World::prepared(&[CertificateYaml::new("web").for_names(&["*.example.test"])]);
    world.issue().ends_in(3).says("*.example.test");
    assert_eq!(world.ca.requests(), 0);
}

#[test]
fn a_token_that_is_not_one_leads_nowhere() {
    for token in ["../../../evil", "", "a/b", "..", "abc def", "a\nb", "of-twenty-one-letters"] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.fault(Rule::always(Fault::Token(token.to_owned())));
        world.issue().ends_in(5).says("token");
        let attempts = world.state().record("web").status.failed_issuance_attempts;
        assert_eq!(attempts, Some(1), "{token:?}");
        assert_eq!(world.sent(RequestKind::Challenge), 0, "{token:?}");
        let strange = walk(&world.path("")).into_iter().any(|path| path.ends_with("evil"));
        assert!(!strange, "{token:?}");
        assert!(world.state().tokens().is_empty(), "{token:?}");
    }
}

/// The CA validates when it is told to and leaves the challenge pending when that fails, as step-ca
/// does: the listener is reached from here at once, and by the CA only later.
#[test]
fn a_listener_that_the_ca_reaches_late_is_issued_for_in_the_same_run() {
    let closed = Port::take();
    let world = World::with(|options| {
        options.leaves_pending = true;
        options.http01_port = closed.number();
    });
    world.prepare(&[CertificateYaml::new("web")]);
    let child = world.start_certctl(&["issue"]);
    let left = || world.state().orders("web").pop()?.challenges.pop()?.problem().cloned();
    until("the CA has looked in vain", || left().is_some());
    let said = "The CA could not validate the challenge and left it pending: \
                urn:ietf:params:acme:error:connection: ";
    let status = world.run(&["describe", "web"]).ends_in(0);
    assert!(status.stdout.contains(said), "{}", status.stdout);
    let status = world.run(&["status", "challenge", "-o", "json"]).ends_in(0);
    assert!(status.stdout.contains(&format!("\"reason\": \"{said}")), "{}", status.stdout);
    world.ca.set_http01_port(world.port.number());
    finish(child).ends_in(0);
    world.state().published("web");
    assert_eq!(
        (world.sent(RequestKind::Challenge), world.ca.created(RequestKind::NewOrder)),
        (2, 1)
    );
    let journal = world.state().path("certificates/default/web/events.jsonl");
    let journal = std::fs::read_to_string(journal).unwrap();
    assert_eq!(journal.matches(said).count(), 1, "{journal}");
}

/// certctl on a host whose `/etc/resolv.conf` has this text; `None` where this user may not mount
/// anything.
fn with_resolv_conf(world: &World, text: &str, words: &[&str]) -> Option<Run> {
    let file = world.write("resolv.conf", text);
    let script = "mount --bind \"$0\" /etc/resolv.conf || exit 99; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script]).arg(file);
    command.arg(env!("CARGO_BIN_EXE_certctl")).args(words);
    world.surround(&mut command);
    command.env_remove("CERTCTL_RESOLVERS");
    let run = finish(command.spawn().ok()?);
    let is_refused = run.code == Some(99) || run.stderr.contains("unshare: ");
    (!is_refused).then_some(run)
}

#[test]
fn a_host_without_a_name_server_defers_what_is_due_and_nothing_else() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    for text in ["", "search example.com\n", "nameserver 127.0.0.1:53\n"] {
        let Some(run) = with_resolv_conf(&world, text, &["issue"]) else { return };
        run.says_nothing();
    }
    world.write("config/shop.yaml", &CertificateYaml::new("shop"));
    for (text, reason) in [
        ("search example.com\n", "/etc/resolv.conf: it lists no name server"),
        ("nameserver fe80::1%eth0\n", "fe80::1%eth0: certctl does not query link-local addresses"),
    ] {
        let words = ["issue", "--timeout", "1s"];
        let Some(run) = with_resolv_conf(&world, text, &words) else { return };
        let reason = format!("cannot look up shop.example.test: {reason}");
        run.ends_in(75).says(&reason);
        let recorded = world.run(&["status", "shop"]).stdout;
        assert!(recorded.contains(&reason), "{recorded}");
    }
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::NewOrder), 2);
}
