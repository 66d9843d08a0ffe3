//! What somebody sees who does not know certctl yet.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};

use certctl::rehearsal::{Fault, ProblemType, Rule};

use crate::session::Session;
use crate::support::{CertificateYaml, WebServer, World};

#[test]
fn the_start_page_says_what_there_is_and_what_to_type() {
    let mut scene = Session::new("start");
    scene.note("With nothing, in 120 columns, in 80 and in 40.");
    for columns in [120, 80, 40] {
        scene.with_columns(columns).on_terminal("certctl");
    }
    let issuer = scene.issuer();
    scene.world.write("config/issuer.yaml", &issuer);
    scene.note("With an Issuer alone, and with two certificates to issue.").run("certctl");
    scene.configured(&[
        ("web", &CertificateYaml::new("web")),
        ("api", &CertificateYaml::new("api")),
    ]);
    scene.with_columns(80).on_terminal("certctl");
    let detail = "the answer was wrong".to_owned();
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail };
    scene.world.fault(Rule::always(refusal).for_name("api.example.test"));
    scene.run("certctl issue >/dev/null 2>&1");
    scene.note("With a failure, in 120 columns, in 80 and in 40.");
    for columns in [120, 80, 40] {
        scene.with_columns(columns).on_terminal("certctl");
    }
    scene.on_terminal("certctl status");
    // Wide enough for the age of the failure, however slow the host is.
    scene.with_columns(44).on_terminal("certctl status api");
    scene
        .world
        .write("config/mail.yaml", &CertificateYaml::new("mail").field("dnsName: []").to_string());
    scene.note("And with a mistake in a manifest.").run("certctl");
    fs::remove_file(scene.world.path("config/mail.yaml")).unwrap();
    scene.world.ca.faults().clear();
    // In this order: the first of two that renew in the same second is the first by name.
    scene.quietly("certctl renew api");
    scene.quietly("certctl renew web");
    scene.note("When all is well.").run("certctl");
    scene.run("certctl -o json");
    scene.world.write("config/config.toml", "paralel = 1\n");
    scene.run("certctl");
    scene.end();
}

#[test]
fn what_this_host_lacks_is_on_the_start_page_with_what_mends_it() {
    let mut scene = Session::new("start-blocked");
    let missing = "spec:\n  acme:\n    externalAccountBinding:\n      keyID: kid\n      \
                   keySecretRef: { name: eab, key: secret }\n";
    let issuer = scene.issuer().replace("spec:\n  acme:\n", missing);
    let webroot = CertificateYaml::new("shop").annotation("certctl/http01-webroot", "/nowhere");
    scene.configured(&[("web", &CertificateYaml::new("web")), ("shop", &webroot)]);
    scene.note("A webroot is not there, and nothing has been issued.");
    scene.with_columns(120).on_terminal("certctl");
    scene.quietly("certctl issue web");
    scene.world.write("config/issuer.yaml", &issuer);
    scene.note("A secret is missing as well; one certificate was issued before.");
    for columns in [120, 80, 40] {
        scene.with_columns(columns).on_terminal("certctl");
    }
    scene.run("certctl issue >issue.txt 2>&1");
    scene.note("A run has met that.").with_columns(120).on_terminal("certctl");
    scene.on_terminal("certctl status shop");
    scene.end();
}

#[test]
fn the_start_page_without_permission_says_what_to_type() {
    let mut scene = Session::issued("start-denied");
    let folder = scene.world.path("");
    fs::set_permissions(folder, Permissions::from_mode(0o711)).unwrap();
    for folder in ["state", "config"] {
        fs::set_permissions(scene.world.path(folder), Permissions::from_mode(0o000)).unwrap();
    }
    scene.note("As a user who may not read what is root's.").as_user(65_534);
    scene.with_columns(80).on_terminal("certctl");
    for folder in ["state", "config"] {
        fs::set_permissions(scene.world.path(folder), Permissions::from_mode(0o700)).unwrap();
    }
    scene.end();
}

#[test]
fn words_of_other_tools_lead_to_ours() {
    let mut scene = Session::issued("other-tools");
    for line in [
        "certctl certonly --nginx -d www.example.com -d example.com",
        "certctl obtain",
        "certctl init",
        "certctl renew web --dry-run",
        "certctl issue --staging",
        "certctl issue web --force",
        "certctl delete web",
        "certctl check web",
        "certctl ls",
        "certctl get certificates -o name",
        "certctl describe web | head -n 1",
        "certctl describe cert/web | head -n 1",
        "certctl get events",
        "certctl certonly --webroot -w /var/www/html -d www.example.com",
        "certctl renew --cert-name web",
        "certctl apply -f config/web.yaml --exit-code",
        "certctl issue --dry-run --log-format json",
    ] {
        scene.run(line);
    }
    scene.end();
}

/// Types the answers, each when its question is on the screen.
pub(crate) fn type_all(scene: &mut Session, answers: &[(&str, &str)]) {
    type_into(scene, "certctl create", answers);
}

/// The same, with these flags.
pub(crate) fn type_into(scene: &mut Session, line: &str, answers: &[(&str, &str)]) {
    let mut watched = scene.watch(line);
    for (question, keys) in answers {
        watched.answer(question, keys);
    }
    scene.end_of_watched(watched);
}

#[test]
fn create_leads_to_the_issuer_of_a_ca_that_requires_an_account_binding() {
    let world = World::with(|options| {
        let key = b"0123456789abcdef0123456789abcdef".to_vec();
        options.external_account_keys = BTreeMap::from([("kid-1".to_owned(), key)]);
    });
    let mut scene = Session::within("create-binding", world);
    scene.with_columns(80);
    scene.world.write("root.pem", &scene.world.ca.root_pem());
    let url = scene.world.ca.directory_url();
    let root = scene.world.path("root.pem").display().to_string();
    type_all(
        &mut scene,
        &[
            ("DNS names", "web.example.test\n"),
            ("CA: letsencrypt", &format!("{url} {root}\n")),
            ("--eab-kid ID", "\u{4}"),
        ],
    );
    scene.world.write("url", &url);
    scene.run("certctl create issuer own --server $(cat url) --ca-bundle root.pem --eab-kid kid-1");
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
    scene.world.write_secret("own-eab", "key", key);
    type_into(
        &mut scene,
        "certctl create --http01-check-port $PORT",
        &[
            ("DNS names", "web.example.test\n"),
            ("CA: own", "\n"),
            ("How to validate", "\n"),
            ("Server to reload", "\n"),
            ("Folder from", "\n"),
            ("issue the certificate now?", "\n"),
        ],
    );
    scene.end();
}

#[test]
fn create_asks_until_there_is_a_manifest_that_issues() {
    let mut scene = Session::new("create-asks");
    scene.with_columns(80);
    scene.run("certctl create </dev/null");
    let url = scene.world.ca.directory_url();
    scene.world.write("root.pem", &scene.world.ca.root_pem());
    let other = rcgen::generate_simple_self_signed([]).unwrap().cert.pem();
    scene.world.write("other.pem", &other);
    scene.world.write("no-roots.pem", "nothing\n");
    scene.hook("nginx", "exit 0");
    let path = |name: &str| scene.world.path(name).display().to_string() + "\n";
    let with = |url: &str, roots: &str| format!("{url} {}", path(roots));
    let wrong = with(&(url.clone() + "-of-nothing"), "root.pem");
    let (of_other, of_none) = (with(&url, "other.pem"), with(&url, "no-roots.pem"));
    let (alone, right) = (url.clone() + "\n", with(&url, "root.pem"));
    let (mistyped, out) = (path("confgi"), path("out"));
    let mut asked = [
        ("DNS names", "\n"),
        ("enter an answer", "a_b.example.test\n"),
        ("a_b.example.test", "https://web.example.test/a\n"),
        ("is a URL", "web.example.test www.example.test\n"),
        ("CA: letsencrypt", "acme\n"),
        ("the URL of a CA", "https://127.0.0.1:1/dir\n"),
        ("refused", &wrong),
        ("error:malformed:", &alone),
        ("does not trust the server", &of_other),
        ("in that file", &of_none),
        ("any valid certificates", &right),
        ("How to validate", "cloudfare\n"),
        ("not one of the choices", "relative/folder\n"),
        ("absolute path", "http\n"),
        ("Server to reload", "bad name\n"),
        ("not the name of a program", "later\n"),
        ("does not exist", "nginx\n"),
        ("Folder from", "relative\n"),
        ("absolute", &mistyped),
        ("did you mean", &out),
        ("issue the certificate now?", "perhaps\n"),
        ("enter yes", "no\n"),
    ];
    scene.note("With a no at the end, nothing is written.");
    type_all(&mut scene, &asked);
    scene.run("ls -A config");
    *asked.last_mut().unwrap() = ("enter yes", "yes\n");
    type_into(&mut scene, "certctl create --http01-check-port $PORT", &asked);
    scene.run("ls -A config out");
    scene.note("Another one, by the same Issuer; it is written only.");
    type_all(
        &mut scene,
        &[
            ("DNS names", "web.example.test\n"),
            ("already exists", "WEB.example.test other.example.test\n"),
            ("already exists", "other.example.test\n"),
            ("CA: ca", &alone),
            ("How to validate", "rfc2136\n"),
            ("create an Issuer first", "http\n"),
            ("Server to reload", "\n"),
            ("Folder from", "\n"),
            ("issue the certificate now?", "later\n"),
        ],
    );
    scene.note("The end of a file is no answer.");
    type_all(&mut scene, &[("DNS names", "\u{4}")]);
    scene.end();
}

#[test]
fn create_tries_whether_the_web_server_serves_the_folder() {
    let mut scene = Session::new("create-webroot");
    // How long a port and a process number are is no part of it.
    scene.with_columns(240);
    scene.configured(&[]);
    let [webroot, other] = ["webroot", "other"].map(|name| scene.world.path(name));
    for folder in [&webroot, &other] {
        fs::create_dir(folder).unwrap();
    }
    let _server = WebServer::start(&scene.world.port, &webroot);
    let [webroot, other] = [webroot, other].map(|folder| format!("{}\n", folder.display()));
    type_into(
        &mut scene,
        "certctl create --http01-listen 127.0.0.1:$PORT",
        &[
            ("DNS names", "shop.example.test, shop2.example.test\n"),
            ("CA: ca", "\n"),
            ("How to validate", "http\n"),
            ("or stop it", &other),
            ("server block", &webroot),
            ("Server to reload", "\n"),
            ("Folder from", "\n"),
            ("issue the certificate now?", "\n"),
        ],
    );
    scene.run("find other webroot -type f");
    scene.end();
}

/// A name server that does not answer.
#[test]
fn create_shows_that_it_works_while_it_looks_up_a_name() {
    let scene = Session::new("create-sign");
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let mut watched = scene.watch(&format!("certctl create --resolver {address}"));
    watched.answer("DNS names", "web.example.test\n");
    watched.sees("looking up the names and checking port 80");
    drop(watched);
    scene.dismissed();
}

/// The user of the runs, who is none of this host's.
const OWNER: u32 = 54_324;

#[test]
fn create_does_for_root_what_comes_before_the_first_run() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut scene = Session::new("create-owner");
    scene.with_columns(80);
    scene.configured(&[]);
    scene.hook("nginx", "exit 0");
    fs::set_permissions(scene.world.path(""), Permissions::from_mode(0o755)).unwrap();
    let url = scene.world.ca.directory_url();
    for (folder, owner) in [("webroot", 0), ("state", OWNER)] {
        let folder = scene.world.path(folder);
        fs::create_dir(&folder).unwrap();
        chown(&folder, Some(owner), Some(owner)).unwrap();
        let mode = if owner == OWNER { 0o700 } else { 0o755 };
        fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
    }
    let _server = WebServer::start(&scene.world.port, &scene.world.path("webroot"));
    let folder = format!("{}\n", scene.world.path("webroot").display());
    type_into(
        &mut scene,
        "certctl create --http01-listen 127.0.0.1:0",
        &[
            ("DNS names", "web.example.test\n"),
            // The URL of an Issuer's CA is that Issuer.
            ("CA: ca", &format!("{url}\n")),
            ("How to validate", &folder),
            ("Server to reload", "nginx\n"),
            ("Folder from", "\n"),
            ("issue the certificate now?", "\n"),
        ],
    );
    scene.run("stat -c '%U %a %n' webroot/.well-known webroot/.well-known/acme-challenge");
    scene.run("ls -A webroot/.well-known/acme-challenge");
    scene.end();
}
