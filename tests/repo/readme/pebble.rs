//! Pebble, started as its page says, and the session of that page.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use super::pages::{page, typed};
use super::shell::Shell;
use crate::pebble_support::ca::write_certificate;
use crate::pebble_support::{block_on, client, free_port, installed, needed};
use crate::support::{World, until};

/// A server and the shell that has started it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        kill_process_group(Pid::from_child(&self.0), Signal::KILL).ok();
        self.0.wait().ok();
    }
}

/// Whether something answers there.
fn answers(url: &str, root: Option<&str>) -> bool {
    block_on(client(root).get(url).send()).is_ok()
}

#[test]
fn pebble_starts_and_issues_as_its_page_says() {
    installed();
    let world = World::start();
    let [acme, manager, http, dns, dns_manager] = std::array::from_fn(|_| free_port());
    // The folder is a clone as far as it is used, and `go` runs what was built of another clone.
    let tools = needed("pebble").parent().unwrap().display().to_string();
    let go = format!("program=${{2#./cmd/}}; shift 2; exec '{tools}'/\"$program\" \"$@\"");
    world.write_program("bin/go", &go);
    fs::create_dir_all(world.path("test/certs/localhost")).unwrap();
    let root = write_certificate(&world.path("test/certs/localhost"), "localhost");
    world.write("test/certs/pebble.minica.pem", &root);
    let config = json!({ "pebble": {
        "listenAddress": format!("127.0.0.1:{acme}"),
        "managementListenAddress": format!("127.0.0.1:{manager}"),
        "certificate": "test/certs/localhost/cert.pem",
        "privateKey": "test/certs/localhost/key.pem",
        "httpPort": http,
        "tlsPort": free_port(),
    }});
    world.write("test/config/pebble-config.json", &config);
    let shell = Shell::new(&world)
        .with(":14000", &format!(":{acme}"))
        .with(":8053", &format!(":{dns}"))
        .with(":8055", &format!(":{dns_manager}"))
        .with(":5002", &format!(":{http}"))
        .with("check-port 5002", &format!("check-port {http}"));

    let page = page("docs/src/how-to/pebble.md");
    let (_, block) = page.blocks().into_iter().find(|(kind, _)| *kind == "console").unwrap();
    let lines = typed(&block).into_iter().filter_map(|typed| {
        let line = typed.line.strip_suffix(" &")?;
        assert!(line.contains("go run ./cmd/pebble"), "{line}");
        Some(line.to_owned())
    });
    let servers: Vec<Server> = lines
        .enumerate()
        .map(|(number, line)| {
            let log = File::create(world.path(&format!("log-{number}"))).unwrap();
            let mut command = shell.command(&shell.here(&line));
            Server(command.process_group(0).stdout(Stdio::from(log)).spawn().unwrap())
        })
        .collect();
    assert_eq!(servers.len(), 2);
    until("the name server answers", || answers(&format!("http://127.0.0.1:{dns_manager}"), None));
    // The certificate was made for this process.
    let url = format!("https://localhost:{acme}/dir");
    until("Pebble answers", || answers(&url, Some(&root)));

    shell.play("pebble");
    assert!(world.path("trial-state/secrets/default/www.example.com-tls").exists());
}
