//! What somebody sees who does not know certctl yet.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::num::NonZeroU16;
use std::os::unix::fs::{PermissionsExt as _, chown};

use certctl::rehearsal::{Fault, ProblemType, Rule};

use crate::session::Session;
use crate::support::{CertificateYaml, PATIENCE, WebServer, World};
use crate::terminal::Terminal;

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

/// Types the answers, each when its question is the last on the terminal.
fn answered(terminal: &mut Terminal, answers: &[(&str, &str)]) {
    for (question, keys) in answers {
        let with_question = |screen: &str| {
            let last = screen.trim_end().rsplit("\n\n").next().unwrap_or_default();
            last.contains(question).then(|| screen.to_owned())
        };
        terminal.wait_for(PATIENCE, question, with_question);
        terminal.types(keys);
    }
}

#[test]
fn what_is_left_to_do_in_a_server_comes_after_the_run() {
    let world = World::prepared(&[]);
    let hook = world.write("config/hooks.d/nginx", "#!/bin/sh\n");
    fs::set_permissions(hook, Permissions::from_mode(0o755)).unwrap();
    let [columns, rows] = [80, 200].map(|number| NonZeroU16::new(number).unwrap());
    let mut command = world.command(&["create"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut terminal = Terminal::of_rows(command, columns, rows);
    let answers = [
        ("CA:", "\n"),
        ("DNS names", "web.example.test\n"),
        ("folder that", "http\n"),
        ("Server that", "nginx\n"),
        ("[Y/n/show]", "\n"),
        ("Issue it now", "\n"),
    ];
    answered(&mut terminal, &answers);
    let (code, left) = terminal.end();
    assert_eq!(code, Some(0), "{left}");
    let begin =
        "deploy: reload nginx ok\nweb.example.test is issued; next, write a new file of nginx";
    assert!(left.contains(begin), "{left}");
    assert!(left.contains("\nat any time:\n"), "{left}");
}

#[test]
fn create_asks_for_the_account_binding_that_a_ca_requires() {
    let world = World::with(|options| {
        let key = b"0123456789abcdef0123456789abcdef".to_vec();
        options.external_account_keys = BTreeMap::from([("kid-1".to_owned(), key)]);
    });
    let mut scene = Session::within("create-binding", world);
    scene.with_columns(80);
    let company = scene.issuer().replace("name: ca", "name: company");
    let company = company.replace(&scene.world.ca.directory_url(), "https://other.example/dir");
    scene.world.write("config/issuer.yaml", &company);
    scene.world.write("root.pem", &scene.world.ca.root_pem());
    let root = scene.world.path("root.pem").display().to_string() + "\n";
    let url = scene.world.ca.directory_url() + "\n";
    type_all(
        &mut scene,
        &[
            ("CA:", &url),
            ("PEM file with the", "\n"),
            ("the path of the file", &root),
            ("Name of its Issuer", "?\n"),
            ("such as company", "My CA\n"),
            ("a short name", "letsencrypt\n"),
            ("Let's Encrypt's Issuer", "company\n"),
            ("there is an Issuer", "ca\n"),
            ("E-mail", "\n"),
            ("Key ID", "?\n"),
            ("at the end.", "\n"),
            ("account page", "kid-1\n"),
            ("DNS names", "web.example.test\n"),
            ("How to validate", "\n"),
            ("Program in", "\n"),
            ("Folder for copies", "\n"),
            ("[Y/n/show]", "\n"),
        ],
    );
    scene.run("certctl validate");
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
    scene.world.write_secret("ca-eab", "key", key);
    scene.run("certctl issue --http01-check-port $PORT");
    scene.end();
}

#[test]
fn create_begins_with_the_staging_ca_and_warns_of_a_folder_that_everybody_may_write_to() {
    let mut scene = Session::new("create-staging");
    scene.with_columns(80);
    let open = scene.world.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let open = open.join("out").display().to_string() + "\n";
    type_all(
        &mut scene,
        &[
            ("CA:", "letsencrypt-staging\n"),
            ("DNS names", "\n"),
            ("at least one", "y\n"),
            ("full DNS name", "third.example.test a_b.example.test\n"),
            ("host name", "third.example.test\n"),
            ("How to validate", "http\n"),
            ("Program in", "\n"),
            ("Folder for copies", &open),
            ("Group that reads", "\n"),
            ("[Y/n/show]", "s\n"),
            ("[Y/n/show]", "\n"),
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
    let root = scene.world.path("root.pem").display().to_string();
    let out = scene.world.path("out").display().to_string();
    let other = rcgen::generate_simple_self_signed([]).unwrap().cert.pem();
    scene.world.write("other.pem", &other);
    let other = scene.world.path("other.pem").display().to_string();
    let (wrong, again) = (url.clone() + "-of-nothing\n", url.clone() + ":");
    let (url, root, out) = (url + "\n", root + "\n", out + "\n");
    let other = other + "\n";
    scene.world.write("no-roots.pem", "nothing\n");
    let below_a_file = scene.world.path("root.pem/tls").display().to_string() + "\n";
    let mistyped = scene.world.path("confgi").display().to_string() + "\n";
    let nothing = scene.world.path("no-roots.pem").display().to_string() + "\n";
    let mut asked = [
        ("CA:", "back\n"),
        ("the first question", "?\n"),
        ("directory.", "letsencrypted\n"),
        ("did you mean letsencrypt?", "acme\n"),
        ("acme: a URL", "https://127.0.0.1:1/dir\n"),
        ("nevertheless", &wrong),
        ("PEM file with the", "/\n"),
        ("a folder; enter a file", &nothing),
        ("no-roots.pem: ", &other),
        ("no certificate of these roots", "none\n"),
        ("none again", &root),
        ("error:malformed:", &url),
        (&again, &root),
        ("Name of its Issuer", "ca\n"),
        ("DNS names", "a_b.example.test\n"),
        ("a_b.example.test: ", "www\n"),
        ("has no dot", "web.example.test www.example.test\n"),
        ("How to validate", "\n"),
        ("Program in", "bad name\n"),
        ("/dev/stdin", "\n"),
        ("Folder for copies", "relative\n"),
        ("absolute path", &below_a_file),
        ("is a file", &mistyped),
        ("did you mean", &out),
        ("Group that reads", "?\n"),
        ("0640", "no-such-group\n"),
        ("no such group", "back\n"),
        ("Folder for copies", &out),
        ("Group that reads", "\n"),
        ("[Y/n/show]", "?\n"),
        ("y writes", "back\n"),
        ("Group that reads", "\n"),
        ("[Y/n/show]", "show\n"),
        ("[Y/n/show]", "no\n"),
    ];
    scene.note("With a no at the end, nothing is written.");
    type_all(&mut scene, &asked);
    scene.run("ls -A config");
    *asked.last_mut().unwrap() = ("[Y/n/show]", "yes\n");
    let asked = [&asked[..], &[("Issue it now", "?\n"), ("timer's next run", "\n")]].concat();
    type_into(&mut scene, "certctl create --http01-check-port $PORT", &asked);
    scene.run("ls -A config out");
    scene.note("Another one, by the same Issuer.");
    type_all(
        &mut scene,
        &[
            ("CA:", "\n"),
            ("DNS names", "web.example.test\n"),
            ("already exists", "other.example.test\n"),
            ("folder that", "?\n"),
            ("removes it afterwards.", "\n"),
            ("Program in", "?\n"),
            ("help hooks.", "\n"),
            ("Folder for copies", "?\n"),
            ("files alone.", "\n"),
            ("[Y/n/show]", "\n"),
            ("Issue it now", "n\n"),
        ],
    );
    scene.note("The end of a file is no answer.");
    type_all(&mut scene, &[("CA:", "\u{4}")]);
    scene.end();
}

#[test]
fn create_tries_whether_the_web_server_serves_the_folder() {
    let mut scene = Session::new("create-webroot");
    scene.with_columns(80);
    scene.configured(&[]);
    let [webroot, other] = ["webroot", "other"].map(|name| scene.world.path(name));
    for folder in [&webroot, &other] {
        fs::create_dir(folder).unwrap();
    }
    let _server = WebServer::start(&scene.world.port, &webroot);
    for (note, name, folder) in [
        ("The folder of another server.", "web.example.test\n", &other),
        ("The folder that is served.", "shop.example.test, shop2.example.test\n", &webroot),
    ] {
        scene.note(note);
        let is_served = folder.ends_with("webroot");
        let folder = format!("{}\n", folder.display());
        // Of one that is not served, the question comes again.
        let doubted = (!is_served).then_some(("again to use it", &*folder));
        let asked = [("CA:", "\n"), ("DNS names", name)];
        // What was to be replaced is not the default any more.
        let replaced = [
            ("folder that", "back\n"),
            ("DNS names", "https://shop.example.test\n"),
            ("enter the name only", "\n"),
            ("at least one DNS name", name),
        ];
        let replaced = replaced.into_iter().filter(|_| is_served);
        let asked = asked.into_iter().chain(replaced).chain([("folder that", &*folder)]);
        let left = [
            ("Program in", "back\n"),
            ("folder that", "\n"),
            doubted.unwrap_or(("Program in", "?\n")),
            ("Program in", "yes\n"),
            ("name of a program, or none", "later\n"),
            ("enter it again", "\n"),
            ("Folder for copies", "?\n"),
            ("Folder for copies", "\n"),
            ("[Y/n/show]", "\n"),
        ];
        // Where its own port is free, no host has another default.
        let mut watched = scene.watch("certctl create --http01-listen 127.0.0.1:0");
        for (question, keys) in asked.chain(doubted).chain(left) {
            watched.answer(question, keys);
        }
        if folder.contains("/webroot") {
            watched.answer("Issue it now", "\n");
        }
        scene.end_of_watched(watched);
    }
    scene.run("find other webroot -type f");
    scene.end();
}

#[test]
fn create_offers_an_issuer_that_was_made_meanwhile_to_who_goes_back() {
    let mut scene = Session::new("create-other-issuer");
    scene.with_columns(80);
    scene.configured(&[]);
    let mut watched = scene.watch("certctl create --http01-listen 127.0.0.1:0");
    watched.answer("CA:", "\n");
    watched.answer("DNS names", "web.example.test\n");
    watched.answer("folder that", "other\n");
    scene.quietly("sed 's/name: ca$/name: other/' config/issuer.yaml > config/other.yaml");
    watched.answer("enter back until", "back\n");
    watched.answer("DNS names", "back\n");
    watched.answer("CA: ca, other", "other\n");
    watched.answer("DNS names", "\u{4}");
    scene.end_of_watched(watched);
    scene.end();
}

#[test]
fn create_doubts_that_certctl_answers_where_another_server_has_its_port() {
    let mut scene = Session::new("create-port-taken");
    // How long a port and a process number are is no part of it.
    scene.with_columns(240);
    scene.world.write("root.pem", &scene.world.ca.root_pem());
    let root = scene.world.path("root.pem").display().to_string() + "\n";
    let url = scene.world.ca.directory_url() + "\n";
    let webroot = scene.world.path("webroot");
    fs::create_dir(&webroot).unwrap();
    let _server = WebServer::start(&scene.world.port, &webroot);
    let create = "certctl create --http01-listen 127.0.0.1:$PORT";
    scene.note("By a new Issuer, for which the port is taken nevertheless.");
    type_into(
        &mut scene,
        create,
        &[
            ("CA:", &url),
            ("PEM file with the", &root),
            ("Name of its Issuer", "\n"),
            ("DNS names", "web.example.test\n"),
            // Another way, and back to the names.
            ("How to validate", "webroot\n"),
            ("folder that", "other\n"),
            ("How to validate", "back\n"),
            ("folder that", "back\n"),
            ("How to validate", "back\n"),
            // The names are not to be typed again, however far back it goes.
            ("DNS names", "back\n"),
            ("Name of its Issuer", "back\n"),
            ("PEM file with the", "\n"),
            ("Name of its Issuer", "company\n"),
            ("DNS names", "\n"),
            ("How to validate", "http\n"),
            ("http again", "http\n"),
            ("Program in", "later\n"),
            ("enter it again", "later\n"),
            ("Folder for copies", "\n"),
            ("[Y/n/show]", "back\n"),
            ("Folder for copies", "back\n"),
            ("Program in", "none\n"),
            ("Folder for copies", "\n"),
            ("[Y/n/show]", "\n"),
        ],
    );
    scene.note("The name has a manifest now. By the same Issuer, without a folder.");
    type_into(
        &mut scene,
        create,
        &[
            ("CA:", "\n"),
            ("DNS names", "web.example.test\n"),
            ("already exists", "shop.example.test\n"),
            ("folder that", "none\n"),
            ("none again", "none\n"),
            ("Program in", "\n"),
            ("Folder for copies", "\n"),
            ("[Y/n/show]", "no\n"),
        ],
    );
    scene.end();
}

#[test]
fn create_asks_for_the_folder_of_a_web_server_that_will_take_the_port() {
    let mut scene = Session::new("create-server-later");
    scene.with_columns(80);
    scene.hook("nginx", "exit 0");
    scene.world.write("root.pem", &scene.world.ca.root_pem());
    let root = scene.world.path("root.pem").display().to_string() + "\n";
    let url = scene.world.ca.directory_url() + "\n";
    let webroot = scene.world.path("webroot");
    fs::create_dir(&webroot).unwrap();
    let webroot = format!("{}\n", webroot.display());
    type_into(
        &mut scene,
        "certctl create --http01-listen 127.0.0.1:0 --http01-check-port $PORT",
        &[
            ("CA:", &url),
            ("PEM file with the", &root),
            ("Name of its Issuer", "\n"),
            ("DNS names", "web.example.test\n"),
            ("How to validate", "\n"),
            ("Server that", "nginx\n"),
            ("The folder that nginx", "none\n"),
            ("[Y/n/show]", "back\n"),
            ("The folder that nginx", &webroot),
            ("[Y/n/show]", "\n"),
        ],
    );
    scene.run("grep webroot config/certificate-web.example.test.yaml");
    scene.end();
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
    for (folder, owner) in [("webroot", 0), ("other", 0), ("state", OWNER)] {
        let folder = scene.world.path(folder);
        fs::create_dir(&folder).unwrap();
        chown(&folder, Some(owner), Some(owner)).unwrap();
        let mode = if owner == OWNER { 0o700 } else { 0o755 };
        fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
    }
    let _server = WebServer::start(&scene.world.port, &scene.world.path("webroot"));
    for (note, name, folder, then) in [
        (
            "The user of the runs may not write there; root leaves it so.",
            "shop",
            "other",
            ("Run this", "n\n"),
        ),
        (
            "Root lets that user, and the certificate is issued.",
            "web",
            "webroot",
            ("Run this", "?\n"),
        ),
    ] {
        scene.note(note);
        let name = format!("{name}.example.test\n");
        let folder = format!("{}\n", scene.world.path(folder).display());
        // The URL of an Issuer's CA is that Issuer.
        let url = format!("{}\n", scene.world.ca.directory_url());
        let mut watched = scene.watch("certctl create --http01-listen 127.0.0.1:0");
        for (question, keys) in [
            ("CA:", if then.1 == "n\n" { "\n" } else { &*url }),
            ("DNS names", &*name),
            ("folder that", &*folder),
        ] {
            watched.answer(question, keys);
        }
        // nginx reads the files of the state.
        let left: &[(&str, &str)] = if then.1 == "n\n" {
            &[
                ("again to use it", &*folder),
                ("Server that will use", "\n"),
                ("Folder for copies", "\n"),
            ]
        } else {
            &[("Server that will use", "nginx\n")]
        };
        for (question, keys) in left.iter().copied().chain([("[Y/n/show]", "\n"), then]) {
            watched.answer(question, keys);
        }
        if then.1 == "?\n" {
            watched.answer("as they are shown, as root", "\n");
            watched.answer("Issue it now", "\n");
        }
        scene.end_of_watched(watched);
    }
    scene.run("stat -c '%U %a %n' webroot/.well-known webroot/.well-known/acme-challenge");
    scene.run("ls -A other webroot/.well-known/acme-challenge");
    scene.end();
}
