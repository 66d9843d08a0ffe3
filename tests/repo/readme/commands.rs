//! The commands outside of sessions: those in fences `console` and in the running text.
//!
//! Each is run on a host where `web` is issued, and must end in 0, or in what the page says, without
//! an error. The lines of `NOT_RUN` are not; a line there that no page shows fails the test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

use super::commands_in_text;
use super::pages::{Page, ROOT, Typed, page, pages, typed};
use super::sessions::{issued, system_folder, with_web};
use super::shell::Shell;
use crate::support::World;

/// What no test can run, and why.
const NOT_RUN: [(&str, &str); 20] = [
    ("tests/run", "it runs this test"),
    ("cargo run --example quickstart", "cargo test runs the example itself"),
    ("cargo install --locked --path .", "it builds all dependencies once more"),
    ("sudo apt install ./certctl_*_amd64.deb", PACKAGE),
    ("sudo dnf install ./certctl-*.x86_64.rpm", PACKAGE),
    (
        "podman run -d -v ./certctl:/etc/certctl:ro -v certctl:/var/lib/certctl -p 80:80 certctl",
        PACKAGE,
    ),
    ("sudo systemctl enable --now certctl.timer", SERVICES),
    ("sudo systemctl start certctl-reload.service", SERVICES),
    ("sudo systemctl enable --now certctl.timer certctl-reload.path", SERVICES),
    ("sudo systemctl disable --now certctl.timer", SERVICES),
    ("sudo systemctl daemon-reload", SERVICES),
    ("sudo systemd-sysusers", SERVICES),
    ("sudo systemctl disable --now certbot.timer", SERVICES),
    ("sudo systemctl disable --now snap.certbot.renew.timer", SERVICES),
    ("git clone --depth 1 https://github.com/letsencrypt/pebble && cd pebble", INTERNET),
    (
        "go run ./cmd/pebble-challtestsrv -defaultIPv4 127.0.0.1 -defaultIPv6 '' -dnsserver :8053 \
         -http01 '' -https01 '' -tlsalpn01 '' -doh '' -management 127.0.0.1:8055 &",
        GO,
    ),
    (
        "PEBBLE_VA_NOSLEEP=1 go run ./cmd/pebble -config test/config/pebble-config.json \
         -dnsserver 127.0.0.1:8053 &",
        GO,
    ),
    ("sudo apt install pebble openssl", PEBBLE),
    (
        "pebble-challtestsrv -defaultIPv4 127.0.0.1 -defaultIPv6 '' -dns01 :8053 -http01 '' \
         -https01 '' -tlsalpn01 '' -management 127.0.0.1:8055 &",
        PEBBLE,
    ),
    (
        "PEBBLE_VA_NOSLEEP=1 pebble -dnsserver 127.0.0.1:8053 -config \
         /usr/share/doc/pebble/examples/pebble-config.json &",
        PEBBLE,
    ),
];
const PACKAGE: &str = "packaging/release builds what it installs, and packaging/check installs it";
const SERVICES: &str = "it changes the users or the services of the host";
const INTERNET: &str = "it reads the internet";
const PEBBLE: &str = "Debian's pebble is older than the one that the tests have";
const GO: &str =
    "it needs Go and the internet; readme/pebble.rs runs it with the programs that tests/run has";

/// The commands of a page's fences `console`.
fn in_fences(page: &Page) -> Vec<Typed> {
    let blocks = page.blocks().into_iter().filter(|(kind, _)| *kind == "console");
    blocks.flat_map(|(_, text)| typed(&text)).collect()
}

/// One space between words.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What may be run as it stands, since the folders that it names are those of the test.
const HARMLESS: [&str; 8] = ["certctl", "install", "jq", "mkdir", "openssl", "rm", "tee", "xargs"];

/// The programs of a line.
fn programs(line: &str) -> Vec<String> {
    let unquoted: String = line.split('\'').step_by(2).collect();
    let parts = unquoted.split(['|', ';', '&']).map(str::trim).filter(|part| !part.is_empty());
    let parts = parts.map(|part| part.strip_prefix("sudo ").unwrap_or(part));
    parts.map(|part| part.split(' ').next().unwrap().to_owned()).collect()
}

/// Whether a line needs a program that only `tests/run` promises.
fn is_left_to_tests_run(line: &str) -> bool {
    line.contains("| jq ") && !cfg!(feature = "real-servers")
}

/// A host where `web` is issued, with what the lines in fences work on.
fn host(world: &World) -> Shell<'_> {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let mut shell = issued(world).with("/usr/share/doc/certctl/examples", &examples);
    for (folder, name) in
        [("/usr/local/bin", "bin-of-all"), ("/usr/local/share", "share"), ("/etc/cron.d", "cron.d")]
    {
        shell = shell.with(folder, &system_folder(world, name));
    }
    for file in ["certctl", "home/.cargo/bin/certctl", "cron.d/certbot"] {
        world.write(file, "");
    }
    shell
}

#[test]
fn a_command_in_a_fence_does_its_work_or_cannot_be_run_by_a_test() {
    let not_run: BTreeSet<&str> = NOT_RUN.iter().map(|(line, _)| *line).collect();
    let (mut seen, mut count) = (BTreeSet::new(), 0);
    for page in pages() {
        let world = with_web();
        let mut shell = None;
        for typed in in_fences(&page) {
            let line = words(&typed.line);
            assert!(typed.shown.is_empty(), "{}: {line}: a session shows output", page.path);
            if not_run.contains(line.as_str()) {
                seen.insert(line);
            } else if !is_left_to_tests_run(&line) {
                let harmless =
                    programs(&line).iter().all(|program| HARMLESS.contains(&program.as_str()));
                assert!(harmless, "{}: {line}: not run, or in a session", page.path);
                shell.get_or_insert_with(|| host(&world)).run(&typed);
                count += 1;
            }
        }
    }
    let unused: Vec<_> = not_run.iter().filter(|line| !seen.contains(**line)).collect();
    assert!(unused.is_empty(), "no page shows these any more: {unused:#?}");
    assert!(count >= 8, "{count}");
}

/// What stands for the words in capitals, the longest first.
fn with_names<'w>(shell: Shell<'w>, world: &World) -> Shell<'w> {
    let ca = world.ca.directory_url();
    let server = ca.trim_start_matches("https://").split('/').next().unwrap().to_owned();
    shell
        .with("issuer NAME", &"issuer internal")
        .with("http DNSNAME", &"http www.example.com")
        .with("tls-alpn DNSNAME", &"tls-alpn www.example.com")
        .with("user NAME", &"user root")
        .with("NAME", &"web")
        .with("revoke FILE", &"revoke ./old.crt")
        .with("FILE", &"config/web.yaml")
        .with("DIR", &"state")
        .with("HOST:PORT", &server)
        .with("www.example.com:443", &server)
}

#[test]
fn a_command_in_the_text_does_its_work() {
    let mut lines: BTreeSet<String> = pages().iter().flat_map(commands_in_text).collect();
    // It asks on a terminal, as golden scenes show.
    assert!(lines.remove("sudo certctl create"), "{lines:#?}");
    assert!(lines.len() >= 40, "{lines:#?}");
    // What these leave behind is not what the others need.
    let ends_it = |line: &&String| [" revoke ", " forget "].iter().any(|verb| line.contains(verb));
    let (last, others): (Vec<_>, Vec<_>) = lines.iter().partition(ends_it);
    for lines in std::iter::once(others).chain(last.into_iter().map(|line| vec![line])) {
        let world = with_web();
        world.write("root.pem", &world.ca.root_pem());
        let shell = with_names(issued(&world), &world);
        let issued = world.state().path("secrets/default/web-tls/tls.crt");
        fs::copy(issued, world.path("old.crt")).unwrap();
        world.run(&["renew", "web"]).ends_in(0);
        world.write_program("config/hooks.d/on-failure", "exit 0");
        for line in lines {
            if line.contains(" forget ") {
                fs::remove_file(world.path("config/web.yaml")).unwrap();
            }
            // On a terminal, it asks.
            let asks = line.contains(" revoke ") && !line.contains("--yes");
            let line = if asks { format!("{line} --yes") } else { line.clone() };
            shell.run(&Typed { line, code: 0, shown: Vec::new() });
        }
    }
}

/// systemctl is not run, but the units that it is given are ours, and can be enabled.
#[test]
fn the_units_that_are_named_are_those_of_the_packages() {
    let unit = Regex::new(r"certctl[a-z-]*\.(timer|service|socket|path)").unwrap();
    let mut count = 0;
    for page in pages() {
        for line in page.text.lines().filter(|line| line.contains("systemctl ")) {
            for name in unit.find_iter(line).map(|found| found.as_str()) {
                let path = Path::new(ROOT).join("packaging/systemd").join(name);
                let text = fs::read_to_string(&path)
                    .unwrap_or_else(|error| panic!("{}: {name}: {error}", page.path));
                let is_enabled = [" enable ", " disable "].iter().any(|verb| line.contains(verb));
                assert!(!is_enabled || text.contains("\n[Install]\n"), "{}: {name}", page.path);
                count += 1;
            }
        }
    }
    assert!(count >= 8, "{count}");
}

/// README shows what `cargo run --example quickstart` does: it is run as a test of its own.
#[test]
fn the_quick_start_is_run_with_the_tests() {
    let manifest = page("examples/quickstart/Cargo.toml").text;
    let example = "name = \"quickstart\"\npath = \"quickstart.rs\"\ntest = true\nharness = false\n";
    assert!(manifest.contains(example), "{example}");
}
