//! `check` reports errors before anything is ordered, and changes nothing.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use certctl::rehearsal::RequestKind;
use jiff::Timestamp;
use serde_json::Value;

use crate::ping::monitor;
use crate::support::{CertificateYaml, Run, WebServer, World, finish};

/// Runs a check; it may ask, and must write nothing.
fn check(world: &World, words: &[&str]) -> Run {
    let before = world.state().everything();
    let run = world.run(&[&["check"], words].concat());
    assert_eq!(world.state().everything(), before);
    run
}

/// The value behind a label of a page.
fn line(run: &Run, label: &str) -> String {
    let start = format!("{label}:");
    let found = run.stdout.lines().find_map(|line| line.strip_prefix(&start));
    found.unwrap_or_else(|| panic!("no {label} in {}", run.stdout)).trim().to_owned()
}

#[test]
fn the_ca_is_described_and_no_account_is_made() {
    let world = World::with(|options| {
        options.caa_identities = vec!["ca.test".to_owned()];
        options.profiles = BTreeMap::from([("short".to_owned(), "six days".to_owned())]);
        options.external_account_keys =
            BTreeMap::from([("kid".to_owned(), b"0123456789".to_vec())]);
    });
    world.prepare(&[CertificateYaml::new("web")]);
    let run = check(&world, &["acme"]).ends_in(5);
    assert_eq!(line(&run, "issuer"), "Issuer ca");
    assert_eq!(line(&run, "directory"), world.ca.directory_url());
    let trusted = "trusted by the certificates of spec.acme.caBundle, valid until 2999-12-31";
    assert_eq!(line(&run, "TLS"), trusted);
    let terms = line(&run, "terms");
    assert!(terms.starts_with("https://"), "{terms}");
    let eab = "required, but the Issuer has no spec.acme.externalAccountBinding";
    assert_eq!(line(&run, "EAB"), eab);
    assert_eq!(line(&run, "profile"), "none requested; the CA offers short");
    assert_eq!(line(&run, "CAA"), "if a name has CAA records, they must allow ca.test");
    let account = "no key yet; the first issuance generates one and registers it";
    assert_eq!(line(&run, "account"), account);
    assert_eq!(line(&run, "try"), "certctl explain issuer.spec.acme.externalAccountBinding");
    assert_eq!(world.sent(RequestKind::NewAccount), 0);
    assert!(!world.path("state").exists());

    let binding =
        "externalAccountBinding:\n      keyID: kid\n      keySecretRef: {name: eab, key: k}";
    let issuer = world.issuer().field(binding).field("profile: long");
    world.write("config/issuer.yaml", &issuer);
    world.write_secret("eab", "k", "not base64url!");
    // Something here, and something of the CA.
    let run = check(&world, &["acme", "ca"]).ends_in(1);
    assert!(line(&run, "EAB").starts_with("cannot be used: the secret \"eab\""), "{}", run.stdout);
    assert_eq!(line(&run, "profile"), "long, not offered; the CA offers short");
    world.write_secret("eab", "k", "MDEyMzQ1Njc4OQ");
    let run = check(&world, &["acme", "default/ca"]).ends_in(5);
    assert_eq!(line(&run, "EAB"), "required; the Issuer has a key of 10 bytes");
    let way_out = "correct the issuer: certctl explain issuer.spec.acme.profile";
    assert_eq!(line(&run, "try"), way_out);
}

#[test]
fn a_stored_account_is_asked_for_and_not_made_again() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let run = check(&world, &["acme"]).ends_in(0);
    let account = line(&run, "account");
    assert!(account.ends_with(", valid at the CA"), "{account}");
    assert_eq!(world.ca.created(RequestKind::NewAccount), 1);
    let run = check(&world, &["acme", "-o", "json"]).ends_in(0);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&value["apiVersion"], &value["kind"]), (&"certctl/v1".into(), &"AcmeCheck".into()));
    let item = &value["items"][0];
    assert_eq!(item["issuer"]["name"], "ca");
    assert_eq!(item["account"], account);
    assert!(item["clockSkewSeconds"].as_i64().unwrap().abs() <= 2, "{item:#}");
    assert!(item["directory"]["newOrder"].is_string(), "{item:#}");
}

#[test]
fn a_ca_that_cannot_be_reached_or_trusted_is_shown_and_an_unknown_issuer_refused() {
    let world = World::start();
    let elsewhere = world.issuer().trusting("");
    world.write("config/issuer.yaml", &elsewhere);
    let run = check(&world, &["acme"]).ends_in(5);
    let trust = "not trusted by this system's roots; spec.acme.caBundle can name others";
    assert_eq!(line(&run, "TLS"), trust);
    assert!(run.stdout.contains("error: "), "{}", run.stdout);
    let way_out = "set caBundle of the issuer to the CA's root certificate: certctl explain \
                   issuer.spec.acme.caBundle";
    assert_eq!(line(&run, "try"), way_out);
    check(&world, &["acme", "other"])
        .ends_in(3)
        .says("issuer `other` not found")
        .says("try: certctl check acme ca\n");
    check(&world, &["acme", "A B"]).ends_in(2);
    check(&World::start(), &["acme"]).ends_in(3).says("no Issuer with spec.acme found");
}

#[test]
fn a_web_page_is_no_ca_for_check_and_for_issue() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let issuer = world.issuer().to_string();
    let server = world.ca.directory_url();
    let (base, _) = server.rsplit_once('/').unwrap();
    let page = format!("{base}/nothing");
    world.write("config/issuer.yaml", &issuer.replace(&server, &page));
    let place = "this is not an ACME directory; see spec.acme.server of Issuer \"ca\"";
    let run = check(&world, &["acme"]).ends_in(3);
    assert_eq!(line(&run, "TLS"), "trusted by the certificates of spec.acme.caBundle");
    assert!(run.stdout.contains(place), "{}", run.stdout);
    let way_out = "correct the issuer: certctl explain issuer.spec.acme.server";
    assert_eq!(line(&run, "try"), way_out);
    world.issue().ends_in(3).says(place).says("try       certctl check acme ca\n");
}

#[test]
fn an_unknown_authority_is_named_by_issue_and_status_and_not_the_network() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("config/issuer.yaml", &world.issuer().trusting(""));
    let why = "the server's certificate is not trusted: it is issued by an unknown authority";
    let run = world.issue().ends_in(5).says(why).says("spec.acme.caBundle of ca");
    assert!(!run.stderr.contains("network"), "{}", run.stderr);
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    assert!(page.contains(why), "{page}");
    assert!(page.contains("spec.acme.caBundle of ca"), "{page}");
    assert!(!page.contains("network"), "{page}");
}

#[test]
fn what_answers_for_a_name_is_asked_with_a_token_of_no_meaning() {
    let world = World::start();
    let run = check(&world, &["http", "www.example.test"]).ends_in(0);
    assert_eq!(line(&run, "addresses"), "127.0.0.1");
    assert_eq!(line(&run, "listener"), format!("{}: free", world.port.address()));
    assert_eq!(line(&run, "verdict"), "this host receives the correct response");
    // A CA comes to another port than this world's.
    let note = format!(
        "checked port {} (http01-check-port), but a public CA connects to port 80; ",
        world.port.number()
    );
    assert!(line(&run, "port").starts_with(&note), "{}", run.stdout);
    assert!(!world.path("state").exists());

    // Another process has the port: certctl queries it, and does not bind the port.
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    let words = ["http", "www.example.test", "--http01-listen", &address, "-o", "json"];
    let run = check(&world, &words).ends_in(3);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let error = value["listener"]["error"].as_str().unwrap();
    assert!(error.starts_with(&format!("{address} is in use")), "{error}");
    assert_eq!((&value["served"], &value["passed"]), (&false.into(), &false.into()));
    assert_eq!(value["report"]["addresses"][0]["address"], "127.0.0.1");

    let run = check(&world, &words[..4]).ends_in(3);
    assert_eq!(line(&run, "try"), "certctl help port-80");

    let run = check(&world, &["http", "nowhere.invalid"]).ends_in(4);
    assert!(line(&run, "addresses").starts_with("none: "), "{}", run.stdout);
    let way_out = "publish an A or AAAA record of nowhere.invalid";
    assert_eq!(line(&run, "try"), way_out);
    let verdict = line(&run, "verdict");
    assert!(
        verdict.starts_with("no server was queried: nowhere.invalid does not exist"),
        "{verdict}"
    );
    check(&world, &["http", "*.example.test"]).ends_in(2).says("certctl check dns example.test");
}

#[test]
fn a_file_in_the_webroot_is_asked_for_as_a_ca_does_and_taken_away_again() {
    let world = World::start();
    let www = world.path("www");
    std::fs::create_dir(&www).unwrap();
    let webroot = www.display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/http01-webroot", &webroot)]);
    let is_empty = || {
        let tokens = std::fs::read_dir(www.join(".well-known/acme-challenge")).unwrap();
        assert_eq!(tokens.count(), 0);
    };
    let put = format!("wrote a test file below {webroot} and removed it");
    // Nobody serves it.
    let run = check(&world, &["http", "web.example.test"]).ends_in(4);
    assert_eq!(line(&run, "listener"), "not used: the Certificate has a webroot");
    assert_eq!(line(&run, "webroot"), put);
    let verdict = line(&run, "verdict");
    let address = world.port.address();
    let cause = format!("no web server of this host listens on {address} to serve {webroot}");
    assert!(verdict.ends_with(&cause), "{verdict}");
    assert!(line(&run, "try").starts_with("start the web server that serves the folder; "));
    is_empty();
    let doctor = world.run(&["doctor"]).ends_in(3);
    let absent = format!(" web.example.test: {verdict}");
    let absent = doctor.stdout.lines().find(|line| line.ends_with(&absent));
    assert!(absent.is_some_and(|line| line.starts_with("FAIL  webroot ")), "{}", doctor.stdout);
    // A server of another folder.
    let other = world.path("other");
    std::fs::create_dir(&other).unwrap();
    let server = WebServer::start(&world.port, &other);
    let run = check(&world, &["http", "web.example.test"]).ends_in(4);
    let verdict = line(&run, "verdict");
    let cause = format!("({}) has no server block for this name that serves", world.port.address());
    assert!(verdict.contains(&cause) && verdict.ends_with(&webroot), "{verdict}");
    let unserved = || {
        let page = world.run(&["doctor"]).stdout;
        page.lines().any(|line| line.starts_with("FAIL") && line.contains("no server block"))
    };
    assert!(unserved());
    drop(server);
    let _server = WebServer::start(&world.port, &www);
    let run = check(&world, &["http", "web.example.test"]).ends_in(0);
    assert_eq!(line(&run, "webroot"), put);
    assert_eq!(line(&run, "verdict"), "this host receives the correct response");
    assert!(!unserved());
    is_empty();
    // A second certificate of the name, behind the first, by another folder.
    let second = |folder: &str| {
        let second = CertificateYaml::new("www").for_names(&["web.example.test"]);
        world.write("config/www.yaml", &second.annotation("certctl/http01-webroot", folder));
    };
    second(other.to_str().unwrap());
    let run = check(&world, &["http", "web.example.test"]).ends_in(4);
    let verdict = line(&run, "verdict");
    assert!(verdict.ends_with(&format!("that serves {}", other.display())), "{verdict}");
    second(&webroot);
    check(&world, &["http", "web.example.test"]).ends_in(0);
    std::fs::remove_dir_all(&www).unwrap();
    let run = check(&world, &["http", "web.example.test"]).ends_in(3);
    let advice = "name the document root of the web server, or create this folder: mkdir -p";
    assert_eq!(line(&run, "try"), format!("{advice} {webroot}"));
}

#[test]
fn the_issuers_of_a_name_are_judged_by_its_caa_records_and_their_providers_asked() {
    let world = World::with(|options| options.caa_identities = vec!["ca.test".to_owned()]);
    world.dns.add_zone("example.test");
    let solver = "    - dns01:\n        webhook:\n          groupName: acme.example.org\n          \
                  solverName: my-dns\n";
    world.write("config/issuer.yaml", &world.issuer().solvers(solver));
    let both = CertificateYaml::new("web").for_names(&["web.example.test", "*.web.example.test"]);
    world.write("config/web.yaml", &both);
    let missing = check(&world, &["dns", "web.example.test"]).ends_in(3);
    assert_eq!(line(&missing, "issuer"), "Issuer ca: CAA allows its CA (ca.test)");
    assert!(missing.stdout.contains("provider webhook does not work: "), "{}", missing.stdout);
    assert_eq!(line(&missing, "try"), "certctl doctor");
    let program = world.write("config/solvers.d/acme.example.org/my-dns", "#!/bin/sh\nexit 1\n");
    std::fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
    let run = check(&world, &["dns", "web.example.test", "-o", "json"]).ends_in(0);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let issuers = value["issuers"].as_array().unwrap();
    let shown: Vec<(bool, bool)> = issuers
        .iter()
        .map(|issuer| (issuer["wildcard"] == true, issuer["provider"]["readable"] == true))
        .collect();
    assert_eq!(shown, [(false, true), (true, true)], "{value:#}");
    assert_eq!(world.sent(RequestKind::NewAccount), 0);
}

#[test]
fn a_failure_that_has_not_happened_is_reported_in_each_way_that_is_set_up() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let none = check(&world, &["alerts"]).ends_in(3);
    assert_eq!(
        line(&none, "alerts"),
        "failed renewals are not reported by a hook, ping or \
        metrics file"
    );
    let heard = world.path("heard").display().to_string();
    let script = format!(
        "printf '%s|' \"$1\" \"$CERTCTL_EVENT\" \"$CERTCTL_NAME\" \"$CERTCTL_MESSAGE\" \"$CERTCTL_TEST\" >{heard}\n\
         cat >>{heard}\n"
    );
    world.write_program("config/hooks.d/on-failure", &script);
    let (address, requests) = monitor("200 OK");
    let url = format!("http://{address}/uuid");
    let metrics = world.path("metrics.prom").display().to_string();
    world.write("config/config.toml", &format!("metrics-file = '{metrics}'\n"));
    let run = check(&world, &["alerts", "--ping", &url]).ends_in(0);
    let hook = world.path("config/hooks.d/on-failure").display().to_string();
    assert_eq!(line(&run, "on-failure"), format!("{hook} ran, and succeeded"));
    assert!(line(&run, "ping").starts_with("127.0.0.1 shows a failed run"));
    assert!(line(&run, "metrics").starts_with(&format!("{metrics}: ")), "{}", run.stdout);
    assert_eq!(requests.try_iter().collect::<Vec<_>>(), ["GET /uuid/fail HTTP/1.1"]);
    let text = std::fs::read_to_string(&heard).unwrap();
    let (variables, input) = text.rsplit_once('|').unwrap();
    let message = "This is a test of the hook: no certificate has failed";
    assert_eq!(variables, format!("on-failure|on-failure|test|{message}|1"));
    let input: Value = serde_json::from_str(input).unwrap();
    assert_eq!((&input["message"], &input["stageName"]), (&message.into(), &"failed".into()));
    assert_eq!(input["test"], true);
    let [next, end]: [Timestamp; 2] =
        ["nextAttempt", "notAfter"].map(|field| input[field].as_str().unwrap().parse().unwrap());
    assert_eq!(end.duration_since(next).as_hours(), 20 * 24 - 1, "{input}");
    assert_eq!(world.ca.issued(), 0);
}

#[test]
fn a_report_that_fails_is_the_end_of_a_check_of_alerts() {
    let world = World::prepared(&[]);
    let script = "echo 'mail: no such host' >&2\nexit 1";
    world.write_program("config/hooks.d/on-failure", script);
    let run = check(&world, &["alerts"]).ends_in(6);
    assert!(line(&run, "on-failure").starts_with("failed: "), "{}", run.stdout);
    assert!(line(&run, "on-failure").ends_with("mail: no such host"), "{}", run.stdout);
    let value: Value =
        serde_json::from_str(&check(&world, &["alerts", "-o", "json"]).ends_in(6).stdout).unwrap();
    let error = value["onFailure"]["error"].as_str().unwrap();
    assert!(error.ends_with("mail: no such host"), "{value:#}");
    let program = world.path("config/hooks.d/on-failure");
    std::fs::set_permissions(&program, Permissions::from_mode(0o644)).unwrap();
    let run = check(&world, &["alerts"]).ends_in(6);
    assert!(line(&run, "try").starts_with("chmod "), "{}", run.stdout);
    std::fs::remove_file(program).unwrap();
    let (address, _requests) = monitor("500 Internal Server Error");
    let run = check(&world, &["alerts", "--ping", &format!("http://{address}/u")]).ends_in(6);
    let failed = "failed: 127.0.0.1 answered 500 Internal Server Error";
    assert_eq!(line(&run, "ping"), failed);
    let metrics = world.path("none/metrics.prom").display().to_string();
    world.write("config/config.toml", &format!("metrics-file = '{metrics}'\n"));
    let run = check(&world, &["alerts"]).ends_in(6);
    let refused = format!("{metrics} cannot be written: metrics-file: there is no folder ");
    assert!(line(&run, "metrics").starts_with(&refused), "{}", run.stdout);
    assert!(line(&run, "try").contains("install -d "), "{}", run.stdout);
    let value: Value =
        serde_json::from_str(&check(&world, &["alerts", "-o", "json"]).ends_in(6).stdout).unwrap();
    assert!(value["metricsFileError"].is_string(), "{value:#}");
    let doctor = world.run(&["doctor"]);
    let line = doctor.stdout.lines().find(|line| line.contains(" failures "));
    assert!(line.is_some_and(|line| line.starts_with("WARN")), "{}", doctor.stdout);
    std::fs::remove_file(world.path("config/config.toml")).unwrap();
    // The hook would start itself without end.
    let mut command = world.command(&["check", "alerts"]);
    command.env("CERTCTL_EVENT", "on-failure");
    finish(command.spawn().unwrap()).ends_in(2).says("must not call certctl check alerts");
}

#[test]
fn a_check_of_a_certificates_name_leads_to_its_domain() {
    let world = World::start();
    let web = CertificateYaml::new("web").for_names(&["www.example.test"]);
    world.prepare(&[web, CertificateYaml::new("host").for_names(&["host"])]);
    for verb in ["http", "dns"] {
        let run = check(&world, &[verb, "web"]).ends_in(2);
        run.says("web is a Certificate: name one of its domains\n")
            .says(&format!("  try: certctl check {verb} www.example.test"));
    }
    // A domain of the same name is meant.
    assert_eq!(line(&check(&world, &["http", "host"]), "name"), "host");
}
