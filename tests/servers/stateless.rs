//! Promise: with the lines that `certctl account thumbprint --for` prints, a real server answers any
//! token with the key authorization of the account, and nothing else.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use crate::pebble_support::{find, free_port, not_tested};
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
