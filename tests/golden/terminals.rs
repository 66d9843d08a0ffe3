//! What somebody in front of a terminal sees.

use std::fs;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::rehearsal::{Fault, ProblemType, RequestKind, Rule};
use certctl::resource::rfc3339;
use regex::Regex;
use rustix::process::Signal;

use crate::session::Session;
use crate::support::{CertificateYaml, WebServer, until};

#[test]
fn all_is_well() {
    let mut scene = Session::prepared("tty-issue");
    for line in [
        "certctl validate",
        "certctl plan",
        "certctl issue",
        "certctl issue",
        "certctl issue --exit-code 2>&1 | cat",
        "certctl status",
        "certctl renew web --progress never",
        "certctl renew web -q",
        "certctl deploy",
        "certctl account show",
        "certctl revoke web --yes",
        "certctl forget web --anyway",
    ] {
        scene.on_terminal(line);
    }
    scene.end();
}

#[test]
fn a_name_more() {
    let mut scene = Session::prepared("tty-name-more");
    scene.quietly("certctl issue");
    let names = ["web.example.test", "www.example.test"];
    scene.configured(&[("web", &CertificateYaml::new("web").for_names(&names))]);
    for line in ["certctl plan", "certctl status web", "certctl issue", "certctl renew web"] {
        scene.on_terminal(line);
    }
    scene.world.write("root.pem", &scene.world.ca.root_pem());
    scene.on_terminal("certctl inspect web --offline --ca-bundle root.pem");
    scene.configured(&[("web", &CertificateYaml::new("web"))]);
    scene.note("And a name less.").on_terminal("certctl issue");
    scene.end();
}

#[test]
fn what_cannot_be_undone_is_asked_for() {
    let mut scene = Session::new("tty-questions");
    let output = scene.world.path("out").display().to_string();
    let web = CertificateYaml::new("web").annotation("certctl/output-dir", &output);
    scene.configured(&[("web", &web)]);
    scene.quietly("certctl issue");
    for (reasons, keys) in [(&["leaked\n", "\n"][..], "\n"), (&["superseded\n"], "yes\n")] {
        let mut watched = scene.watch("certctl revoke web");
        for reason in reasons {
            watched.answer("Reason", reason);
        }
        watched.answer("Revoke it?", keys);
        scene.end_of_watched(watched);
    }
    for (line, question, keys) in [
        ("certctl revoke web --no-issue --reason superseded", "Revoke it?", "\n"),
        ("certctl account deactivate", "Deactivate the account?", "n\n"),
        ("certctl account deactivate", "Deactivate the account?", "y\n"),
        ("certctl renew --all", "Renew all of them now?", "n\n"),
    ] {
        let mut watched = scene.watch(line);
        watched.answer(question, keys);
        scene.end_of_watched(watched);
    }
    scene.on_terminal("certctl forget web --secret");
    fs::remove_file(scene.world.path("config/web.yaml")).unwrap();
    // The end of a file is a no as well.
    for keys in ["\u{4}", "y\n"] {
        let mut watched = scene.watch("certctl forget web --secret");
        watched.answer("Delete?", keys);
        scene.end_of_watched(watched);
    }
    scene.run("ls -A out state/secrets/default");
    scene.end();
}

#[test]
fn something_is_wrong() {
    let mut scene = Session::prepared("tty-failing");
    let detail = "the answer was wrong".to_owned();
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail };
    scene.world.fault(Rule::always(refusal));
    for line in [
        "certctl issue",
        "certctl issue",
        "certctl issue",
        "certctl status",
        "certctl status --exit-code",
        "certctl plan",
        "certctl rehearse",
        "env -u CERTCTL_RESOLVERS -u CERTCTL_HTTP01_LISTEN certctl isue",
        "certctl issue missing.yaml",
        "certctl status wbe",
        "certctl issue -h",
    ] {
        scene.on_terminal(line);
    }
    scene.end();
}

#[test]
fn three_of_nine_fail() {
    let mut scene = Session::new("tty-nine");
    let names = ["api", "blog", "cloud", "db", "example-with-a-long-name", "ftp", "git", "mail"];
    for name in names {
        scene.configured(&[(name, &CertificateYaml::new(name))]);
    }
    let lost = CertificateYaml::new("lost").issued_by("nowhere");
    scene.configured(&[("lost", &lost)]);
    let detail = "the answer was wrong".to_owned();
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail };
    for name in ["db", "git"] {
        scene.world.fault(Rule::always(refusal.clone()).for_name(format!("{name}.example.test")));
    }
    for columns in [40, 80, 120] {
        scene.note(&format!("In {columns} columns.")).with_columns(columns);
        scene.on_terminal("certctl issue --parallel 1 --progress never");
    }
    scene.on_terminal("certctl renew --all --yes --parallel 1 --progress never");
    scene.end();
}

#[test]
fn two_thousand_certificates() {
    let mut scene = Session::new("tty-two-thousand");
    let name = |number: usize| format!("web-{number:04}");
    for file in 0..4 {
        let certificates =
            (0..500).map(|number| CertificateYaml::new(&name(file * 500 + number)).to_string());
        let text = certificates.collect::<Vec<_>>().join("---\n");
        scene.configured(&[(&format!("file-{file}"), &text)]);
    }
    let detail = "the answer was wrong".to_owned();
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail };
    scene.world.fault(Rule::always(refusal).for_name("web-0002.example.test"));
    scene.quietly("certctl issue web-0000 web-0001");
    scene.run("certctl issue web-0002 2>/dev/null");
    let record = "state/certificates/default/web-0002/status.json";
    let failed_at = Regex::new(r#"("lastFailureTime": ?")[^"]*"#).unwrap();
    for columns in [40, 80, 120] {
        // What comes next is an hour away, however long the others took.
        let text = fs::read_to_string(scene.world.path(record)).unwrap();
        let now = format!("${{1}}{}", rfc3339(SystemClock.now()));
        assert!(failed_at.is_match(&text), "{text}");
        scene.world.write(record, &failed_at.replace(&text, now));
        scene.note(&format!("In {columns} columns.")).with_columns(columns);
        scene.on_terminal_abridged("certctl status");
        scene.on_terminal_abridged("certctl plan");
    }
    scene.end();
}

#[test]
fn colors_are_asked_for_or_not() {
    let mut scene = Session::prepared("tty-colors");
    scene.quietly("certctl issue");
    for line in [
        "certctl status",
        "NO_COLOR=1 certctl status",
        "NO_COLOR= certctl status",
        "NO_COLOR=1 certctl status --color always",
        "certctl status --color never",
        "TERM=dumb certctl status",
        "TERM=dumb certctl renew web",
        "LANG=C LC_ALL=C certctl renew web",
        "NO_COLOR=1 certctl isue",
        "NO_COLOR=1 CLICOLOR_FORCE=1 certctl status",
        "certctl status --color always | cat",
        "CLICOLOR_FORCE=1 certctl status | cat",
        "CLICOLOR_FORCE=0 certctl status | cat",
        "certctl status | cat",
        "certctl status wbe",
        "NO_COLOR=1 certctl status wbe",
        "certctl status wbe 2>&1 | cat",
        "certctl status wbe --color always 2>&1 | cat",
    ] {
        scene.on_terminal(line);
    }
    let bad = CertificateYaml::new("bad").field("renewBefor: 1h").to_string();
    scene.note("With a mistake in a manifest.").world.write("bad.yaml", &bad);
    for line in ["certctl validate bad.yaml", "certctl validate bad.yaml --color never"] {
        scene.on_terminal(line);
    }
    scene.end();
}

#[test]
fn a_server_that_does_not_serve_the_webroot_is_asked_a_few_times() {
    let mut scene = Session::new("tty-unserved");
    let [webroot, other] = ["webroot", "other"].map(|name| scene.world.path(name));
    for folder in [&webroot, &other] {
        fs::create_dir(folder).unwrap();
    }
    let _server = WebServer::start(&scene.world.port, &other);
    let certificate = CertificateYaml::new("web");
    let annotation = ("certctl/http01-webroot", webroot.to_str().unwrap());
    scene.configured(&[("web", &certificate.annotation(annotation.0, annotation.1))]);
    scene.on_terminal("certctl issue");
    scene.end();
}

#[test]
fn the_work_is_seen_as_it_goes_on() {
    let mut scene = Session::prepared("tty-progress");
    scene.world.dns.remove("*.example.test");
    let mut watched = scene.watch("certctl issue");
    until("a token is presented", || !scene.world.state().tokens().is_empty());
    watched.photograph("web.example.test does not exist", "the name does not lead here yet");
    watched.signal(Signal::INT, "somebody has seen enough");
    scene.end_of_watched(watched);
    scene.world.dns.set("web.example.test", vec!["127.0.0.1".parse().unwrap()]);
    let pending = Rule::always(Fault::StatusWord("pending".into()));
    scene.world.fault(pending.on(RequestKind::Order));
    let mut watched = scene.watch("certctl issue");
    until("the order is looked at", || scene.world.sent(RequestKind::Order) > 2);
    watched.photograph("waiting for the CA", "the CA takes its time");
    scene.world.ca.faults().clear();
    scene.end_of_watched(watched);
    scene.end();
}
