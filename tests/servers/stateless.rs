//! Promise: with the lines that `certctl account thumbprint --for` prints, a real server answers any
//! token with the key authorization of the account, and nothing else.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;

use crate::pebble_support::{self, Ca, Options, Server, Work, find, free_port, not_tested};
use crate::proxies::{Ports, nginx, program, started};
use crate::support::{CertificateYaml, World};

/// The whole response, from the status.
fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: www.example.test\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    let response = String::from_utf8(response).unwrap();
    response.split_once(' ').unwrap().1.to_owned()
}

fn write(path: &Path, text: &str) {
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// `start` is given the lines, the port, and a folder in which to write.
fn answers_any_token(server: &str, start: impl FnOnce(&str, u16, &Path) -> Command) {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.run(&["account", "register"]).ends_in(0);
    let printed =
        |words: &[&str]| world.run(&[&["account", "thumbprint"], words].concat()).ends_in(0).stdout;
    let (thumbprint, lines) = (printed(&[]), printed(&["--for", server]));
    let ports = Ports { public: free_port(), inner: 0 };
    let folder = world.path("");
    let _server = started(&ports, &mut start(&lines, ports.public, &folder), &folder);
    let page = |token: &str| get(ports.public, &format!("/.well-known/acme-challenge/{token}"));
    for token in ["LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0", "-_-", "7", "made-up"] {
        let response = page(token);
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let head = head.to_lowercase();
        assert!(head.starts_with("200 "), "{token}: {response}");
        assert!(head.contains("\r\ncontent-type: text/plain"), "{token}: {response}");
        assert_eq!(format!("{body}\n"), format!("{token}.{thumbprint}"));
    }
    let thumbprint = thumbprint.trim_end();
    for other in ["", "a.b", "a/b", "a/", "a%0a", "a%20b", "a'b", "%24host", "a%22b"] {
        let response = page(other);
        assert!(!response.contains(thumbprint), "{other}: {response}");
    }
    let elsewhere = get(ports.public, "/.well-known/acme-challenge-x/made-up");
    assert!(!elsewhere.contains(thumbprint), "{elsewhere}");
}

#[test]
fn nginx_answers_any_token() {
    answers_any_token("nginx", |lines, port, folder| {
        nginx(folder, &format!("  server {{\n    listen 127.0.0.1:{port};\n{lines}  }}\n"))
    });
}

#[test]
fn apache_answers_any_token() {
    answers_any_token("apache", |lines, port, folder| {
        let path = folder.join("apache.conf");
        let modules = ["mpm_event", "authz_core", "alias", "headers"].map(|name| {
            format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
        });
        let text = format!(
            "ServerRoot {folder}\nServerName www.example.test\nListen 127.0.0.1:{port}\n\
             PidFile apache.pid\nErrorLog apache.log\nUser nobody\n{}{lines}",
            modules.concat(),
            folder = folder.display()
        );
        write(&path, &text);
        let mut command = Command::new(program("apache2"));
        command.arg("-X").arg("-f").arg(path);
        command
    });
}

#[test]
fn haproxy_answers_any_token() {
    answers_any_token("haproxy", |lines, port, folder| {
        let text = format!(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server \
             30s\nfrontend www\n  bind 127.0.0.1:{port}\n{lines}"
        );
        write(&folder.join("haproxy.cfg"), &text);
        let mut command = Command::new(program("haproxy"));
        command.args(["-db", "-f", "haproxy.cfg"]);
        command
    });
}

#[test]
fn caddy_answers_any_token() {
    let Some(program) = find("caddy") else {
        not_tested("there is no Caddy, which is built with Go");
        return;
    };
    answers_any_token("caddy", |lines, port, folder| {
        let text = format!(
            "{{\n  admin off\n  auto_https off\n}}\nhttp://:{port} {{\n  bind 127.0.0.1\n{lines}}}\n"
        );
        write(&folder.join("Caddyfile"), &text);
        let mut command = Command::new(program);
        command.args(["run", "--config", "Caddyfile"]).env("HOME", folder);
        command
    });
}

/// The name of three servers at the port that Pebble asks: two nginx and one HAProxy.
struct Fleet<'a> {
    work: &'a Work<'a>,
    ca: &'a Ca,
    lines: [String; 2],
}

impl<'a> Fleet<'a> {
    fn of(ca: &'a Ca, work: &'a Work<'a>) -> Self {
        let hosts = [1, 2, 3].map(|host| Ipv4Addr::new(127, 0, 0, host));
        ca.dns.set_addresses("www.test", &hosts);
        let manifest = format!(
            "{}---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: www\n  \
             annotations: {{ certctl/http01: stateless }}\nspec:\n  secretName: www-tls\n  \
             issuerRef: {{ name: pebble }}\n  dnsNames: [ www.test ]\n",
            work.issuer(&pebble_support::Issuer::default())
        );
        std::fs::create_dir(work.path("config")).unwrap();
        work.write("config/www.yaml", &manifest);
        let run = work.run(&["account", "register"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let lines = ["nginx", "haproxy"].map(|server| {
            let run = work.run(&["account", "thumbprint", "--for", server]);
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            run.stdout
        });
        Self { work, ca, lines }
    }

    fn start(&self, host: u8, of: fn(&Path, &str) -> Command, text: &str) -> Server {
        let folder = self.work.path(&format!("server-{host}"));
        std::fs::create_dir_all(&folder).unwrap();
        let mut command = of(&folder, text);
        let mut server = Server::start(command.current_dir(&folder), &folder.join("log"));
        for _ in 0..1000 {
            assert!(server.runs(), "{}", server.log());
            if TcpStream::connect((Ipv4Addr::new(127, 0, 0, host), self.ca.http_port)).is_ok() {
                return server;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        panic!("{}", server.log());
    }

    fn nginx(&self, host: u8, lines: &str) -> Server {
        let port = self.ca.http_port;
        let text = format!("  server {{\n    listen 127.0.0.{host}:{port};\n{lines}  }}\n");
        self.start(host, nginx, &text)
    }

    fn haproxy(&self, host: u8, lines: &str) -> Server {
        let text = format!(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server \
             30s\nfrontend www\n  bind 127.0.0.{host}:{}\n{lines}",
            self.ca.http_port
        );
        let command = |folder: &Path, text: &str| {
            write(&folder.join("haproxy.cfg"), text);
            let mut command = Command::new(program("haproxy"));
            command.args(["-db", "-f", "haproxy.cfg"]);
            command
        };
        self.start(host, command, &text)
    }

    /// How many "accept" requests the CA got.
    fn accepted(&self) -> usize {
        self.ca.requests().iter().filter(|one| one.contains("/chalZ/")).count()
    }
}

#[test]
fn a_name_of_several_servers_is_validated_without_a_token() {
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, env!("CARGO_BIN_EXE_certctl"));
    let fleet = Fleet::of(&ca, &work);
    let [nginx, haproxy] = &fleet.lines;
    let _servers = [fleet.nginx(1, nginx), fleet.nginx(2, nginx), fleet.haproxy(3, haproxy)];
    let run = work.run(&["issue"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(fleet.accepted(), 1);
    let left = std::fs::read_dir(work.path("state/http01")).unwrap();
    assert_eq!(left.filter(|entry| entry.as_ref().unwrap().path().is_file()).count(), 0);
}

#[test]
fn one_server_with_another_thumbprint_is_found_before_the_ca_is_asked() {
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, env!("CARGO_BIN_EXE_certctl"));
    let fleet = Fleet::of(&ca, &work);
    let [nginx, haproxy] = &fleet.lines;
    let thumbprint = work.run(&["account", "thumbprint"]).stdout;
    let other = nginx.replace(thumbprint.trim_end(), "another-account");
    assert_ne!(&other, nginx);
    let _servers = [fleet.nginx(1, nginx), fleet.nginx(2, &other), fleet.haproxy(3, haproxy)];
    let run = work.run(&["issue", "--timeout", "3s"]);
    assert_eq!(run.code, Some(75), "{}", run.stderr);
    for words in ["another-account", thumbprint.trim_end(), "127.0.0.2"] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    assert_eq!(fleet.accepted(), 0);
}

#[test]
fn a_page_for_everything_is_no_proof() {
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, env!("CARGO_BIN_EXE_certctl"));
    let fleet = Fleet::of(&ca, &work);
    let page = "    location / { return 200 welcome; }\n";
    let [nginx, haproxy] = &fleet.lines;
    let _servers = [fleet.nginx(1, nginx), fleet.nginx(2, page), fleet.haproxy(3, haproxy)];
    let run = work.run(&["issue", "--timeout", "3s"]);
    assert_eq!(run.code, Some(75), "{}", run.stderr);
    assert!(run.stderr.contains("127.0.0.2"), "{}", run.stderr);
    assert_eq!(fleet.accepted(), 0);
}
