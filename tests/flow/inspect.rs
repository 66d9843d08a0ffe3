//! Promise: `certctl inspect` reads what certctl has published, and tells a server that serves it
//! from one that serves something else.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::support::{CertificateYaml, Run, World};

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// A TLS server with the pair in this folder, on a loopback port, until the runtime is dropped.
fn serve(runtime: &Runtime, folder: &Path) -> SocketAddr {
    serve_in_turn(runtime, &[folder])
}

/// The same with the pair of the first of these folders to the first client, and so on; the last stays.
fn serve_in_turn(runtime: &Runtime, folders: &[&Path]) -> SocketAddr {
    let acceptors: Vec<TlsAcceptor> = folders.iter().map(|folder| acceptor(folder)).collect();
    let socket = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = socket.local_addr().unwrap();
    runtime.spawn(async move {
        for number in 0.. {
            let (stream, _) = socket.accept().await.unwrap();
            let acceptor = acceptors.get(number).or(acceptors.last()).unwrap();
            // Waits for a client that reads the certificate and disconnects.
            drop(acceptor.accept(stream).await);
        }
    });
    address
}

fn acceptor(folder: &Path) -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(folder.join("tls.crt")).unwrap();
    let chain: Vec<CertificateDer<'static>> = chain.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(folder.join("tls.key")).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let configuration = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(configuration))
}

#[test]
fn a_file_is_inspected_by_its_bare_name_where_no_state_can_be_read() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let published = world.path("state/secrets/default/web-tls/tls.crt");
    std::fs::copy(published, world.path("web.crt")).unwrap();
    world.run(&["inspect", "web.crt", "--offline"]).ends_in(0);
    world.write("no-folder", "");
    let no_state = world.path("no-folder").display().to_string();
    world.run(&["status", "--state-dir", &no_state]).ends_in(7);
    world.run(&["inspect", "web.crt", "--offline", "--state-dir", &no_state]).ends_in(0);
    world.run(&["inspect", "web", "--offline", "--state-dir", &no_state]).ends_in(7);
}

#[test]
fn what_is_published_is_inspected_by_name_file_and_server() {
    let certificate = CertificateYaml::new("web");
    let world = World::prepared(&[certificate]);
    world.issue().ends_in(0);
    let folder = world.path("state/secrets/default/web-tls");

    let by_name = json(&world.run(&["inspect", "web", "-o", "json", "--offline"]));
    assert_eq!(by_name["certificate"], "default/web");
    assert_eq!(by_name["privateKey"], "matches");
    assert_eq!(by_name["spec"]["matches"], true);
    assert_eq!(by_name["bundleTrust"]["trusted"], true);
    assert_eq!(by_name["trust"]["trusted"], false);
    world.write("root.pem", &world.ca.root_pem());
    let root = world.path("root.pem").display().to_string();
    let by_root = ["inspect", "web", "--offline", "--exit-code", "--ca-bundle"];
    let by_root = |file: &str| world.run(&[&by_root[..], &[file, "-o", "json"]].concat());
    assert_eq!(json(&by_root(&root).ends_in(0))["fileTrust"]["trusted"], true);
    let missing = by_root(&format!("{root}.old")).ends_in(3);
    let error = format!("cannot read `{root}.old`: No such file or directory");
    assert!(missing.stderr.contains(&error), "{}", missing.stderr);
    let by_secret = json(&world.run(&["inspect", "secret", "web-tls", "-o", "json", "--offline"]));
    assert_eq!(by_secret, by_name);

    let file = folder.join("tls.crt");
    let by_file = world.run(&["inspect", file.to_str().unwrap(), "-o", "json", "--offline"]);
    let by_file = json(&by_file);
    assert_eq!((&by_file["leaf"], &by_file["spec"]), (&by_name["leaf"], &by_name["spec"]));
    assert_eq!(by_file["privateKey"], "absent");

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let copied = |name: &str| {
        let copy = world.path(name);
        std::fs::create_dir(&copy).unwrap();
        for name in ["tls.crt", "tls.key"] {
            std::fs::copy(folder.join(name), copy.join(name)).unwrap();
        }
        copy
    };
    let kept = copied("kept");
    let port = serve(&runtime, &kept).port();
    let target = format!("web.example.test:{port}");
    let served = json(&world.run(&["inspect", &target, "-o", "json"]));
    assert_eq!(served["served"]["same"], true, "{served}");
    assert_eq!(served["leaf"], by_name["leaf"]);

    let verdict = |run: &Run| {
        let mut lines = run.stdout.lines().skip_while(|line| *line != "Verdict:");
        lines.nth(1).unwrap().trim_start().to_owned()
    };
    let right = format!("{target} presents the current certificate of web");
    assert_eq!(verdict(&world.run(&["inspect", &target]).ends_in(0)), right);

    world.run(&["renew", "web"]).ends_in(0);
    let old = world.run(&["inspect", &target, "--exit-code"]).ends_in(8);
    let first =
        format!("{target} presents revision 1 of the certificate of web, not the current one");
    assert_eq!(verdict(&old), first);
    assert!(old.stdout.contains("the served serial "), "{}", old.stdout);
    world.run(&["inspect", &target]).ends_in(0);
    // The state keeps the one before the live one.
    world.run(&["renew", "web"]).ends_in(0);
    let older = world.run(&["inspect", &target, "--exit-code"]).ends_in(8);
    let another = format!("{target} does not present the certificate of web");
    assert_eq!(verdict(&older), another);
    // After a rollback, the one that was live last is not the current one.
    let last = copied("last");
    world.run(&["rollback", "web"]).ends_in(0);
    let of_last = format!("web.example.test:{}", serve(&runtime, &last).port());
    let page = world.run(&["inspect", &of_last, "--exit-code"]).ends_in(8);
    let third =
        format!("{of_last} presents revision 3 of the certificate of web, not the current one");
    assert_eq!(verdict(&page), third);
    // One that has not reloaded yet.
    let port = serve_in_turn(&runtime, &[&kept, &kept, &folder]).port();
    let target = format!("web.example.test:{port}");
    world.run(&["inspect", &target, "--exit-code"]).ends_in(0);
}

#[test]
fn a_server_that_shows_the_certificate_of_another_name_needs_attention() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("shop")]);
    world.issue().ends_in(0);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let port = serve(&runtime, &world.path("state/secrets/default/shop-tls")).port();
    let target = format!("web.example.test:{port}");
    let page = world.run(&["inspect", &target, "--exit-code"]).ends_in(8).stdout;
    let line = "\tMatches name: no: web.example.test is not in this certificate, but in the certificate of web\n";
    assert!(page.contains(line), "{page}");
    let verdict = format!("{target} presents a certificate that is not for web.example.test\n");
    assert!(page.contains(&format!("\nVerdict:\n\t{verdict}")), "{page}");
    let found = json(&world.run(&["inspect", &target, "-o", "json"]).ends_in(0));
    let expected = serde_json::json!({
        "name": "web.example.test", "matches": false, "expectedCertificate": "default/web"
    });
    assert_eq!((&found["host"], &found["certificate"]), (&expected, &"default/shop".into()));
    let right = format!("shop.example.test:{port}");
    let page = world.run(&["inspect", &right, "--exit-code"]).ends_in(0).stdout;
    assert!(page.contains("\tMatches name: yes\n"), "{page}");
    // One that has not read the configuration of this name yet.
    let [shop, web] =
        ["shop", "web"].map(|name| world.path(&format!("state/secrets/default/{name}-tls")));
    let late =
        format!("web.example.test:{}", serve_in_turn(&runtime, &[&shop, &shop, &web]).port());
    world.run(&["inspect", &late, "--exit-code"]).ends_in(0);
    // Whoever types the address of a server knows that clients reach it by its name.
    let by_address = format!("127.0.0.1:{port}");
    let page = world.run(&["inspect", &by_address, "--exit-code"]).ends_in(0).stdout;
    assert!(!page.contains("Matches name"), "{page}");
}

#[test]
fn what_cannot_be_read_ends_in_3() {
    let world = World::start();
    world.write("empty.pem", "nothing here\n");
    let manifest = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\nstringData:\n  a: b\n";
    world.write("secret.yaml", manifest);
    for word in ["web", "./missing.pem", "./empty.pem", "./secret.yaml", "-"] {
        assert_eq!(world.run(&["inspect", word]).ends_in(3).stdout, "", "{word}");
    }
    let closed = format!("web.example.test:{}", world.port.number());
    world.run(&["inspect", &closed]).ends_in(3).says("cannot be reached");
    world.run(&["inspect"]).ends_in(2);
    world.run(&["inspect", "web", "-o", "prometheus"]).ends_in(2);
}

#[test]
fn a_usage_that_the_ca_did_not_issue_does_not_match_the_spec() {
    let world = World::prepared(&[
        CertificateYaml::new("web").field("usages: [digital signature, server auth]"),
        CertificateYaml::new("both").field("usages: [server auth, client auth]"),
    ]);
    world.issue().ends_in(0);
    for (name, said) in
        [("web", "Matches spec: yes\n"), ("both", "Matches spec: no: spec.usages\n")]
    {
        let shown = world.run(&["inspect", name, "--offline"]).ends_in(0).stdout;
        assert!(shown.contains(said), "{shown}");
    }
}

#[test]
fn a_server_that_shows_no_certificate_leads_to_a_command_that_asks_it() {
    let world = World::start();
    let ask = "  try: openssl s_client -connect 127.0.0.1:1 -servername 127.0.0.1\n";
    world.run(&["inspect", "127.0.0.1:1"]).ends_in(3).says(ask);
    let at_port = "  try: certctl inspect www.example.test:443 ";
    world.run(&["inspect", "www.example.test"]).ends_in(3).says(at_port).says(" # that server\n");
    world.run(&["inspect", "web"]).ends_in(3).says("  try: certctl status\n");
    let again = "  try: the same command without --offline\n";
    world.run(&["inspect", "127.0.0.1:1", "--offline"]).ends_in(2).says(again);
}

#[test]
fn the_key_that_servers_open_is_compared_though_there_is_a_copy_of_the_right_one() {
    let output = |world: &World| world.path("out").display().to_string();
    let world = World::start();
    let web = CertificateYaml::new("web").annotation("certctl/output-dir", &output(&world));
    world.prepare(&[web, CertificateYaml::new("mail")]);
    world.issue().ends_in(0);
    let file = |name: &str| {
        let path = world.path(&format!("state/secrets/default/{name}"));
        std::fs::canonicalize(path).unwrap()
    };
    let (key, foreign) = (file("web-tls/tls.key"), file("mail-tls/tls.key"));
    std::fs::copy(&foreign, &key).unwrap();
    let shown = json(&world.run(&["inspect", "web", "-o", "json", "--offline"]).ends_in(0));
    assert_eq!(shown["privateKey"], "doesNotMatch", "{shown}");
    world.run(&["inspect", "web", "--offline", "--exit-code"]).ends_in(8);
    let page = world.run(&["inspect", "web", "--offline"]).ends_in(0).stdout;
    assert!(page.contains("Private key: does not match"), "{page}");
    // The copy brings the right one back.
    world.issue().ends_in(0);
    let shown = json(&world.run(&["inspect", "web", "-o", "json", "--offline"]).ends_in(0));
    assert_eq!(shown["privateKey"], "matches", "{shown}");
}

#[test]
fn a_server_that_is_to_present_a_certificate_and_does_not_gets_what_it_lacks() {
    let of_nginx = CertificateYaml::new("web").annotation("certctl/reload", "nginx");
    let world = World::prepared(&[of_nginx, CertificateYaml::new("shop")]);
    world.write_program("config/hooks.d/nginx", "true");
    world.issue().ends_in(0);
    let [web, shop] = ["web", "shop"]
        .map(|name| world.path("state").join("secrets/default").join([name, "-tls"].concat()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let at = |folder: &Path| format!("web.example.test:{}", serve(&runtime, folder).port());
    let program = world.path("config/hooks.d/nginx").display().to_string();
    let advice =
        format!("let the server read tls.crt and tls.key in {}; then reload it: ", web.display());
    world.run(&["inspect", &at(&shop)]).ends_in(0).says(&advice).says(&program);
    world.run(&["inspect", "web.example.test:1"]).ends_in(3).says("refused").says(&advice);
    // Of what is as it should be, and of what no server is reloaded for, nothing is said.
    for right in [at(&web), at(&shop).replace("web.", "shop.")] {
        let right = world.run(&["inspect", &right]).ends_in(0);
        assert!(!right.stderr.contains("to present"), "{}", right.stderr);
    }
    world.run(&["inspect", "shop.example.test:1"]).ends_in(3).says("openssl s_client");
}

#[test]
fn what_the_ca_ignored_of_the_spec_does_not_match_it() {
    let world = World::prepared(&[CertificateYaml::new("web").field("isCA: true")]);
    world.run(&["validate"]).ends_in(0).says("W0304");
    world.issue().ends_in(0);
    let page = world.run(&["inspect", "web", "--offline"]).stdout;
    assert!(page.contains("Matches spec: no: spec.isCA\n"), "{page}");
    let other = ["otherNames:", "- oid: 1.3.6.1.4.1.311.20.2.3", "  utf8Value: web@example.test"];
    let yaml = other.iter().fold(CertificateYaml::new("web"), |yaml, line| yaml.field(line));
    world.write("config/web.yaml", &yaml);
    world.run(&["validate"]).ends_in(0).says("W0303");
    let page = world.run(&["inspect", "web", "--offline"]).stdout;
    assert!(page.contains("Matches spec: no: spec.otherNames\n"), "{page}");
}
