//! Promise: certctl issues behind the web servers that people have on port 80, as those are
//! configured by default: a proxy that sends its own address as the Host, a redirect to a central
//! host.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pebble_support::{
    Ca, Issuer, Options, Run, Server, Work, find, free_port, needed, not_tested,
};

const NAME: &str = "www.test";

/// The place of a program that is on no user's search path.
pub(crate) fn program(name: &str) -> PathBuf {
    let system = Path::new("/usr/sbin").join(name);
    if system.is_file() { system } else { needed(name) }
}

/// A proxy in front of certctl: the port that the CA asks, and the one to which it forwards.
pub(crate) struct Ports {
    pub(crate) public: u16,
    pub(crate) inner: u16,
}

/// Starts a proxy and waits until it takes connections.
pub(crate) fn started(ports: &Ports, command: &mut Command, folder: &Path) -> Server {
    let mut server = Server::start(command.current_dir(folder), &folder.join("proxy.log"));
    for _ in 0..1000 {
        assert!(server.runs(), "{}", server.log());
        if TcpStream::connect(("127.0.0.1", ports.public)).is_ok() {
            return server;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    panic!("the proxy does not listen: {}", server.log());
}

/// Issues for [`NAME`] behind the proxy that `start` starts; then `certctl check http`.
fn issue_behind(start: impl FnOnce(&Ports, &Work<'_>) -> Server) -> [Run; 2] {
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, env!("CARGO_BIN_EXE_certctl"));
    let ports = Ports { public: ca.http_port, inner: free_port() };
    let manifest = format!(
        "{}---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: www\n  \
         annotations: {{ certctl/http01-listen: \"127.0.0.1:{}\" }}\nspec:\n  \
         secretName: www-tls\n  issuerRef: {{ name: pebble }}\n  dnsNames: [ {NAME} ]\n",
        work.issuer(&Issuer::default()),
        ports.inner
    );
    work.write("web.yaml", &manifest);
    let _proxy = start(&ports, &work);
    let issued = work.run(&["issue", "./web.yaml"]);
    [issued, work.run(&["check", "http", NAME, "-f", "./web.yaml"])]
}

pub(crate) fn nginx(folder: &Path, servers: &str) -> Command {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {kind};\n"))
        .concat();
    let text = format!(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\n\
         events {{ worker_connections 64; }}\nhttp {{\n  access_log off;\n{temporary}{servers}}}\n"
    );
    let path = folder.join("nginx.conf");
    std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), text.as_bytes()).unwrap();
    let mut command = Command::new(program("nginx"));
    command.arg("-p").arg(folder).arg("-c").arg(path);
    command
}

#[track_caller]
fn assert_issued(runs: &[Run; 2], changed_host: Option<&str>) {
    let [issued, checked] = runs;
    assert_eq!(issued.code, Some(0), "{}", issued.stderr);
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    let warning = "a proxy changed the Host header to ";
    let said = checked
        .stdout
        .split_once(warning)
        .map(|(_, rest)| rest.split_once(' ').map_or(rest, |(host, _)| host).to_owned());
    assert_eq!(said.as_deref(), changed_host, "{}", checked.stdout);
}

#[test]
fn nginx_with_a_plain_proxy_pass() {
    let mut forwards_to = 0;
    let runs = issue_behind(|ports, work| {
        let Ports { public, inner } = ports;
        forwards_to = *inner;
        let server = format!(
            "  server {{\n    listen 127.0.0.1:{public};\n    location \
             /.well-known/acme-challenge/ {{ proxy_pass http://127.0.0.1:{inner}; }}\n  }}\n"
        );
        started(ports, &mut nginx(&work.path(""), &server), &work.path(""))
    });
    assert_issued(&runs, Some(&format!("127.0.0.1:{forwards_to}")));
}

#[test]
fn nginx_that_redirects_to_a_central_host() {
    let runs = issue_behind(|ports, work| {
        let Ports { public, inner } = ports;
        let servers = format!(
            "  server {{\n    listen 127.0.0.1:{public} default_server;\n    return 301 \
             http://central.test:{public}$request_uri;\n  }}\n  server {{\n    listen \
             127.0.0.1:{public};\n    server_name central.test;\n    location / {{\n      \
             proxy_pass http://127.0.0.1:{inner};\n      proxy_set_header Host $host;\n    }}\n  \
             }}\n"
        );
        started(ports, &mut nginx(&work.path(""), &servers), &work.path(""))
    });
    assert_issued(&runs, None);
}

/// HAProxy with this in its frontend, and with a backend that is certctl.
fn haproxy_with(frontend: &str, ports: &Ports, work: &Work<'_>) -> Server {
    let text = format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server \
         30s\nfrontend www\n  bind 127.0.0.1:{}\n{frontend}backend certctl\n  server certctl \
         127.0.0.1:{}\n",
        ports.public, ports.inner
    );
    work.write("haproxy.cfg", &text);
    let mut command = Command::new(program("haproxy"));
    started(ports, command.args(["-db", "-f", "haproxy.cfg"]), &work.path(""))
}

const FORWARDS: &str =
    "  acl acme path_beg /.well-known/acme-challenge/\n  use_backend certctl if acme\n";

#[test]
fn haproxy() {
    let runs = issue_behind(|ports, work| haproxy_with(FORWARDS, ports, work));
    assert_issued(&runs, None);
}

#[test]
fn caddy() {
    let Some(program) = find("caddy") else {
        not_tested("there is no Caddy, which is built with Go");
        return;
    };
    let runs = issue_behind(|ports, work| {
        let text = format!(
            "{{\n  admin off\n  auto_https off\n}}\nhttp://:{} {{\n  bind 127.0.0.1\n  handle \
             /.well-known/acme-challenge/* {{\n    reverse_proxy 127.0.0.1:{}\n  }}\n}}\n",
            ports.public, ports.inner
        );
        work.write("Caddyfile", &text);
        let mut command = Command::new(&program);
        command.args(["run", "--config", "Caddyfile"]).env("HOME", work.path(""));
        started(ports, &mut command, &work.path(""))
    });
    assert_issued(&runs, None);
}
