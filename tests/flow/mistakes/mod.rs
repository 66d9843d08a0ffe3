//! Promise: what newcomers get wrong is told them with its place and its cure, before a CA is
//! asked where that can be, and with the right exit code.
//!
//! The mistakes: in a manifest, those listed in `manifests.txt`; elsewhere, one below
//! each.

use std::fs::{Permissions, set_permissions};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use certctl::rehearsal::RequestKind;

use crate::support::{CertificateYaml, Run, World, finish};

/// A manifest with a mistake, and what is said to it.
struct Mistake<'t> {
    title: &'t str,
    manifest: String,
    said: String,
}

fn mistakes() -> Vec<Mistake<'static>> {
    let list = include_str!("manifests.txt");
    let sections = list.split("\n== ").skip(1);
    sections
        .map(|section| {
            let (title, rest) = section.split_once('\n').unwrap();
            let (edit, said) = rest.strip_prefix("@ ").unwrap().split_once('\n').unwrap();
            let plain = |text: &str| text.replace("\\t", "\t").replace("\\n", "\n");
            let (from, to) = edit.split_once(" => ").unwrap();
            let (from, to) = (plain(from), plain(to));
            assert!(FIRST.contains(&from), "{title}");
            let manifest = FIRST.replacen(&from, &to, 1);
            Mistake { title, manifest, said: format!("{}\n", said.trim_end()) }
        })
        .collect()
}

/// What the guide lets a newcomer write.
const FIRST: &str = include_str!("../../../examples/web.yaml");

const OWNED: &str = "it belongs to shop; give web another";
const UNKNOWN_OWNER: &str = "it belongs to the one that was issued first, or else to shop; give \
                             the other one another";

/// Runs the binary in a fresh folder.
fn alone(folder: &Path, words: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.args(words).current_dir(folder).env_clear().env("HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command.spawn().unwrap())
}

#[test]
fn a_mistake_in_a_manifest_is_shown_with_its_line_and_its_cure() {
    let mistakes = mistakes();
    assert!(mistakes.len() > 20, "{}", mistakes.len());
    for Mistake { title, manifest, said } in mistakes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.yaml");
        std::fs::File::create(&path).unwrap().write_all(manifest.as_bytes()).unwrap();
        for verb in ["validate", "issue", "plan", "rehearse"] {
            let run = alone(folder.path(), &[verb, "web.yaml"]).ends_in(3);
            let (findings, summary) = run.stderr.trim_end().rsplit_once('\n').unwrap();
            // It reads no state, which decides whose a Secret is.
            let of_the_state = said.replace(OWNED, UNKNOWN_OWNER);
            let said = if verb == "validate" { &of_the_state } else { &said };
            assert_eq!(format!("{findings}\n"), *said, "{title}: {verb}");
            assert!(summary.starts_with("error: "), "{title}: {verb}: {summary}");
            assert!(summary.contains(" in "), "{title}: {verb}: {summary}");
        }
        assert!(!folder.path().join(".local").exists(), "{title}: a state was made");
    }
}

#[test]
fn a_usage_error_shows_no_setting_of_a_variable() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.args(["create", "certificaterequest", "web"]).env_clear().env("HOME", folder.path());
    command.env("CERTCTL_HTTP01_LISTEN", "127.0.0.1:5002").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = finish(command.spawn().unwrap()).ends_in(2);
    let run = run.says("not provided:\n  --from-certificate-file <FILE>\n");
    assert!(!run.stderr.contains("http01-listen"), "{}", run.stderr);
}

/// A server that gives every client this answer.
fn answering(listener: TcpListener, answer: &'static str) {
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            drop(stream.read(&mut request));
            drop(stream.write_all(answer.as_bytes()));
        }
    });
}

fn chmod(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// `web` for a wildcard, by this DNS-01 provider.
fn wildcard(provider: &str) -> World {
    let world = World::start();
    let issuer = world.issuer().solvers(&format!("    - dns01:\n        {provider}\n"));
    world.write("config/issuer.yaml", &issuer);
    world.write("config/web.yaml", &CertificateYaml::new("web").for_names(&["*.example.test"]));
    world
}

#[test]
fn an_issuer_of_a_new_certificate_has_a_typing_error() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("config/company.yaml", &world.issuer().named("company"));
    let config = world.path("config").display().to_string();
    let words = ["create", "certificate", "www.example.test", "--issuer", "compnay", "--into"];
    let run = world.run(&[&words[..], &[&config]].concat()).ends_in(3).says("nothing was written");
    assert!(!world.path("config/certificate-www.example.test.yaml").exists());
    run.says("  try: did you mean `company`?");
    let words = ["create", "certificate", "www.example.test", "--issuer", "company", "--into"];
    let words = [&words[..], &[&config]].concat();
    world.run(&words).ends_in(0);
    assert!(world.path("config/certificate-www.example.test.yaml").exists());
}

#[test]
fn manifests_in_another_folder_have_no_schedule() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let folders = ["config", "state"].map(|name| world.path(name).display().to_string());
    let typed = ["--config-dir", &folders[0], "--state-dir", &folders[1]];
    let run = world.run(&[&["doctor", "--offline"][..], &typed].concat());
    let page = &run.stdout;
    assert!(page.lines().any(|line| line.contains("scheduler") && line.contains('?')), "{page}");
    let [config, state] = &folders;
    let needs = format!("add to these commands: --config-dir {config} --state-dir {state}\n");
    assert!(run.stderr.ends_with(&needs), "{run:?}");
}

#[test]
fn two_certificates_write_into_one_folder() {
    let world = World::prepared(&[]);
    let [config, out] = ["config", "out"].map(|name| world.path(name).display().to_string());
    std::fs::create_dir(&out).unwrap();
    let create = |name: &str| {
        let words = ["create", "certificate", "www.example.test", "--issuer", "ca", "--name", name];
        world.run(&[&words[..], &["--output-dir", &out, "--into", &config]].concat())
    };
    create("one").ends_in(0);
    let said = format!("have the same certctl/output-dir {out}; only one of them can write to it");
    create("another").ends_in(3).says(&said).says("; nothing was written");
    assert!(!world.path("config/certificate-another.yaml").exists());
}

#[test]
fn port_80_is_taken() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let run = world.run(&["issue", "--http01-listen", &address]).ends_in(3);
    let holder = format!("{address} is in use by flow-");
    run.says(&holder).says("certctl help port-80");
    let page = world.run(&["help", "port-80"]).ends_in(0).stdout;
    for way in ["certctl/http01-webroot: /var/www/html", "certctl/http01-listen: "] {
        assert!(page.contains(way), "{page}");
    }
    let config = world.path("config").display().to_string();
    let words =
        ["create", "certificate", "api.example.test", "--http01-listen", &address, "--into"];
    world.run(&[&words[..], &[&config]].concat()).ends_in(0).says(&holder);
    assert_eq!(world.ca.requests(), 0);
}

#[test]
fn the_name_leads_to_another_server() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.dns.set("web.example.test", vec!["127.0.0.2".parse().unwrap()]);
    let elsewhere = format!("127.0.0.2:{}", world.port.number());
    let page = "HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\nConnection: close\r\n\r\nno such \
                page here\n";
    answering(TcpListener::bind(&elsewhere).unwrap(), page);
    let run = world.run(&["issue", "--timeout", "1s"]).ends_in(75).says("web.example.test");
    run.says("wrong status code '404'").says("no such page here").says("127.0.0.2");
    assert_eq!(world.sent(RequestKind::Challenge), 0, "the challenge is not accepted");
    let check = world.run(&["check", "http", "web.example.test"]).ends_in(4).stdout;
    assert!(check.contains("wrong status code '404', expected '200' (127.0.0.2)"), "{check}");
}

#[test]
fn the_name_does_not_exist() {
    let world = World::prepared(&[CertificateYaml::new("web").for_names(&["www.example.invalid"])]);
    let run = world.run(&["issue", "--timeout", "1s"]).ends_in(75);
    run.says("www.example.invalid does not exist (NXDOMAIN from ");
    assert_eq!(world.sent(RequestKind::Challenge), 0);
}

#[test]
fn the_secret_is_missing_or_open_to_all() {
    let world = wildcard("cloudflare: {apiTokenSecretRef: {name: cloudflare, key: token}}");
    let file = world.path("config/secrets/default/cloudflare/token").display().to_string();
    let run = world.issue().ends_in(3).says("secret cloudflare has no `token`");
    run.says("apiTokenSecretRef").says(&file);
    world.write_secret("cloudflare", "token", "not for everybody");
    chmod(Path::new(&file), 0o644);
    let run = world.issue().ends_in(3).says(&format!("{file} is open to others (mode 0644)"));
    let run = run.says(&format!("chmod g-w,o-rwx {file}"));
    assert_eq!(run.stderr.matches("chmod").count(), 1, "{}", run.stderr);
    assert!(!run.stderr.contains("not for everybody"));
    assert_eq!(world.sent(RequestKind::NewOrder), 0);
}

#[test]
fn two_certificates_of_one_issuer_lack_different_things() {
    let world = World::start();
    let dns01 = "cloudflare: {apiTokenSecretRef: {name: cloudflare, key: token}}";
    let solvers = format!("    - http01: {{ingress: {{}}}}\n    - dns01:\n        {dns01}\n");
    world.write("config/issuer.yaml", &world.issuer().solvers(&solvers));
    world.write("config/any.yaml", &CertificateYaml::new("any").for_names(&["*.example.test"]));
    let web = CertificateYaml::new("web").annotation("certctl/reload", "nginx");
    world.write("config/web.yaml", &web);
    let run = world.issue().ends_in(3).says("any: ").says("web: ");
    for once in ["error: any: ", "has no `token`", "error: web: ", "there is no hook "] {
        assert_eq!(run.stderr.matches(once).count(), 1, "{once}: {}", run.stderr);
    }
    assert_eq!(world.sent(RequestKind::NewOrder), 0);
}

#[test]
fn the_token_of_the_dns_provider_is_wrong() {
    let api = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = api.local_addr().unwrap().to_string();
    let refusal = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 19\r\nConnection: \
                   close\r\n\r\n{\"error\":\"bad key\"}";
    answering(api, refusal);
    let world = wildcard(&format!(
        "acmeDNS: {{host: \"http://{address}\", accountSecretRef: {{name: acme-dns, key: \
         accounts}}}}"
    ));
    world.dns.set_cname("_acme-challenge.example.test", "one.example.net");
    let account = "{\"username\": \"u\", \"password\": \"canary\", \"subdomain\": \"one\", \
        \"fulldomain\": \"one.example.net\", \"allowfrom\": []}";
    world.write_secret("acme-dns", "accounts", &format!("{{\"example.test\": {account}}}"));
    let run = world.issue().ends_in(4).says("*.example.test");
    let run = run.says(&format!("{address} refuses the credentials: bad key"));
    let run = run.says("must be those of the account for example.test");
    assert!(!run.stderr.contains("canary"), "{}", run.stderr);
    assert_eq!(world.sent(RequestKind::Challenge), 0);
}

#[test]
fn renew_is_in_the_crontab_or_a_name_is_mistyped() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.run(&["renew"]).ends_in(2).says("certctl issue # all that are due\n");
    world.run(&["issue", "wep"]).ends_in(3).says("`wep` not found").says("`web`");
    let run = world.run(&["issue", "wep.yaml"]).ends_in(3).says("--> wep.yaml");
    run.says("No such file");
    assert_eq!(world.ca.requests(), 0);
}

#[test]
fn the_hook_is_not_there_or_cannot_be_run() {
    let web = CertificateYaml::new("web").annotation("certctl/reload", "nginx");
    let world = World::prepared(&[web]);
    let file = world.path("config/hooks.d/nginx").display().to_string();
    world.issue().ends_in(3).says(" metadata.annotations.certctl/reload\n").says(&file);
    world.write("config/hooks.d/nginx", "#!/bin/sh\n");
    for (mode, command) in [(0o644, "chmod a+rx"), (0o777, "chmod go-w")] {
        chmod(Path::new(&file), mode);
        world.issue().ends_in(3).says(&format!("{command} {file}"));
    }
    assert_eq!(world.ca.requests(), 0, "a hook in error costs no order");
    chmod(Path::new(&file), 0o755);
    world.issue().ends_in(0);
}

#[test]
fn the_state_belongs_to_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let state = world.path("state").display().to_string();
    // A user who can read everything but the state.
    chmod(&world.path(""), 0o755);
    // With what sudo does not pass on.
    let config = world.path("config").display().to_string();
    let again =
        format!("  try: the same with sudo and --config-dir {config} --state-dir {state}\n");
    let mut command = world.command(&["issue"]);
    command.uid(4321).gid(4321);
    finish(command.spawn().unwrap()).ends_in(7).says(&state).says("Permission denied").says(&again);
    let given = Command::new("chown").args(["-R", "4321:4321", &state]).status().unwrap();
    assert!(given.success());
    // Root acts as the owner; a third user cannot.
    world.run(&["issue"]).ends_in(0);
    world.run(&["status"]).ends_in(0);
    let mut command = world.command(&["issue"]);
    command.uid(4322).gid(4322);
    chmod(&world.path("state"), 0o755);
    let run = finish(command.spawn().unwrap()).ends_in(7);
    run.says(&format!("{state}: belongs to user 4321")).says(&again);
    chmod(&world.path("state"), 0o700);
    // A manifest that another user could write is not trusted.
    let web = world.path("config/web.yaml");
    chmod(&web, 0o666);
    let run = world.run(&["issue"]);
    run.says("can be written by users other than root or user 4321 (owner root, mode 0666)")
        .says(&format!("chmod go-w {}", web.display()));
}

#[test]
fn staging_stands_where_production_is_wanted() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let production = World::start();
    production.ca.set_http01_port(world.port.number());
    world.write("config/issuer.yaml", &production.issuer());
    let plan = world.run(&["plan"]).ends_in(0).stdout;
    for words in ["issued by another CA", &world.ca.directory_url(), &production.ca.directory_url()]
    {
        assert!(plan.contains(words), "{plan}");
    }
    world.issue().ends_in(0);
    assert_eq!((world.ca.issued(), production.ca.issued()), (1, 1));
}

#[test]
fn the_server_is_not_the_directory_of_the_ca() {
    let folder = tempfile::tempdir().unwrap();
    let text = FIRST.replace("api.letsencrypt.org/directory", "api.letsencrypt.org");
    let path = folder.path().join("web.yaml");
    std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    let run = alone(folder.path(), &["validate", "web.yaml"]).ends_in(0);
    run.says("warning[W0305]").says("--> web.yaml:15:13").says("org/directory`?");
}

#[test]
fn a_mistake_in_the_settings_of_a_webhook_is_told_at_its_own_place() {
    let world = World::prepared(&[]);
    let path = world.path("config/issuer.yaml");
    for (solver, wrong, said) in [
        (
            "acmeDNS",
            "adress",
            "error[E0102]: unknown field `adress` in Issuer.spec.acme.solvers.dns01.webhook.config",
        ),
        (
            "http",
            "adress",
            "error[E0401]: spec.acme.solvers[0].dns01.webhook.config: webhook: config: unknown field \
             `adress`, expected one of `url`, `caBundle`, `headers`, `timeout`, `config`",
        ),
        (
            "other",
            "other",
            "error[E0401]: spec.acme.solvers[0].dns01.webhook.solverName: webhook: solverName: \
             groupName certctl has no `other`; ",
        ),
    ] {
        let text = world.issuer().solvers(&format!(
            "    - dns01:\n        webhook:\n          groupName: certctl\n          \
             solverName: {solver}\n          config:\n            adress: x\n"
        ));
        let text = text.to_string();
        world.write("config/issuer.yaml", &text);
        let (before, _) = text.split_once(wrong).unwrap();
        let line = before.lines().count();
        let column = before.lines().last().unwrap().len() + 1;
        let stderr = world.run(&["validate"]).ends_in(3).stderr;
        let mut lines = stderr.lines().skip_while(|line| !line.starts_with(said));
        assert!(lines.next().is_some(), "{solver}: {stderr}");
        let place = format!("  --> {}:{line}:{column}", path.display());
        assert_eq!(lines.next(), Some(place.as_str()), "{solver}: {stderr}");
    }
}

#[test]
fn all_mistakes_come_in_one_go_and_none_twice() {
    let world = World::prepared(&[]);
    let sum = |count: &str, file: &str| {
        let path = world.path(&format!("config/{file}.yaml"));
        format!("error: {count} in {}\n", path.display())
    };
    // Three mistakes: a wrong field, a name without a solver, and an issuer that is not there.
    let web = CertificateYaml::new("web").field("colour: red").issued_by("cb");
    let run = |text: &str, args: &[&str]| {
        world.write("config/web.yaml", text);
        world.run(&[&["validate"], args].concat())
    };
    let found = run(&web.to_string(), &[]).ends_in(3).says("unknown field `colour`");
    found.says("issuer `cb` not found").says(&sum("2 errors", "web"));
    let wild = CertificateYaml::new("web").for_names(&["*.example.test"]).field("colour: red");
    let found = run(&wild.to_string(), &[]).ends_in(3).says("needs a dns01 solver");
    found.says(&sum("2 errors", "web"));
    // A wrong name is left out, which is no second mistake.
    let wrong = CertificateYaml::new("web").for_names(&["a..b"]);
    run(&wrong.to_string(), &[]).ends_in(3).says(&sum("1 error", "web"));
    // Nor is a reference to an issuer whose kind is misspelt.
    let issuer = world.issuer().to_string().replace("kind: Issuer", "kind: issuer");
    world.write("config/issuer.yaml", &issuer);
    let found = run(&CertificateYaml::new("web").to_string(), &[]).ends_in(3);
    found.says("did you mean `Issuer`?").says(&sum("1 error", "issuer"));
    world.issue().ends_in(3).says("error[E0107]");
    assert_eq!(world.ca.requests(), 0);
}

#[test]
fn nothing_to_validate_is_a_warning_and_strict_ends_in_3() {
    let world = World::start();
    let list = "apiVersion: v1\nkind: List\nitems: []\n";
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    for (text, why) in [
        ("", "it is empty"),
        ("# only a comment\n", "it is empty"),
        (list, "it is empty"),
        (other, "it holds only ConfigMap, which certctl does not read"),
    ] {
        world.write("web.yaml", text);
        let said = format!("no Certificate, Issuer, ClusterIssuer or Secret: {why}");
        world.run(&["validate", "web.yaml"]).ends_in(0).says("warning[W0401]").says(&said);
        world.run(&["validate", "--strict", "web.yaml"]).ends_in(3).says(&said);
        // Beside a Certificate in the same folder it is not a mistake.
        world.prepare(&[CertificateYaml::new("web")]);
        world.write("config/other.yaml", text);
        world.run(&["validate", "--strict"]).ends_in(0);
    }
}

#[test]
fn there_is_no_config_directory_and_a_key_is_no_certificate() {
    let world = World::start();
    let none = world.path("none").display().to_string();
    let run = world.run(&["validate", "--config-dir", &none]).ends_in(3);
    let said = format!("error: there is no config directory {none}\n");
    run.says(&said).says("certctl validate FILE # or put manifests into that directory");
    let key = certctl::pki::PrivateKey::generate(certctl::resource::KeyAlgorithm::Ecdsa, 256);
    world.write("k.pem", &*key.unwrap().to_pkcs8_pem());
    let run = world.run(&["inspect", "./k.pem"]).ends_in(3);
    run.says("it contains a private key but no certificate").says("cat CERTIFICATE ./k.pem |");
    world.write("config/web.yaml", "apiVersion: v1\n a: b\n");
    world.run(&["validate"]).ends_in(3).says("1 space");
}

/// What `doctor` says of this config directory, a line each.
fn doctor(world: &World, config: &str) -> Vec<String> {
    let run = world.run(&["doctor", "--offline", "--config-dir", config]).ends_in(3);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    run.stdout.lines().map(words).collect()
}

#[test]
fn a_mistyped_config_directory_is_said_where_earlier_runs_read_manifests_elsewhere() {
    let world = World::start();
    world.write("config/issuer.yaml", &world.issuer());
    let web = world.write("elsewhere/web.yaml", &CertificateYaml::new("web").to_string());
    world.run(&["issue", web.to_str().unwrap()]).ends_in(0);
    let gone = world.path("confgi").display().to_string();
    let said = format!("there is no config directory {gone}; ");
    for verb in ["status", "plan", "issue"] {
        let run = world.run(&[verb, "--config-dir", &gone]);
        assert!(run.stderr.contains(&said), "{verb}: {run:?}");
        assert!(!world.run(&[verb]).stderr.contains("no config directory"), "{verb}");
    }
}

#[test]
fn a_config_directory_that_is_a_file_is_no_matter_of_permission() {
    let world = World::start();
    world.write("web.yaml", "");
    let file = world.path("web.yaml").display().to_string();
    let found = doctor(&world, &file);
    let wrong = format!("FAIL config cannot read {file}: Not a directory (os error 20)");
    assert_eq!(found[0], wrong);
    assert!(found[1].starts_with("OK state "), "{found:?}");
}

#[test]
fn what_doctor_says_of_a_file_that_is_no_yaml_is_the_command_that_shows_it() {
    let world = World::start();
    world.write("draft/web.yaml", "a: [\n");
    let config = world.path("draft").display().to_string();
    let found = doctor(&world, &config);
    let at = found.iter().position(|line| line == "FAIL manifests 1 error").unwrap();
    let of_certificates = found.iter().find(|line| line.contains(" certificates "));
    assert_eq!((found[at + 1].as_str(), of_certificates), ("try: certctl validate", None));
}

#[test]
fn a_usage_that_the_ca_does_not_issue_is_a_warning() {
    let world = World::prepared(&[]);
    let server = "https://acme-v02.api.letsencrypt.org/directory";
    let issuer = world.issuer().to_string().replace(&world.ca.directory_url(), server);
    world.write("config/issuer.yaml", &issuer);
    let usages = "usages: [digital signature, server auth, client auth]";
    world.write("config/web.yaml", &CertificateYaml::new("web").field(usages));
    let said = "warning[W0304]: spec.usages: Let's Encrypt issues no certificates for client";
    world.run(&["validate"]).ends_in(0).says(said).says("web.yaml:12:");
    world.run(&["validate", "--strict"]).ends_in(3).says(said);
    // Another CA may issue it.
    world.write("config/issuer.yaml", &world.issuer());
    let run = world.run(&["validate"]).ends_in(0);
    assert!(!run.stderr.contains("warning["), "{}", run.stderr);
}

#[test]
fn a_renewal_at_almost_every_run_is_a_warning() {
    let world = World::prepared(&[]);
    for (field, is_soon) in [
        ("renewBefore: 2159h59m", true),
        ("renewBefore: 1945h", true),
        ("renewBefore: 1944h", false),
        ("renewBeforePercentage: 91", true),
        ("renewBeforePercentage: 90", false),
    ] {
        world.write("config/web.yaml", &CertificateYaml::new("web").field(field));
        let run = world.run(&["validate"]).ends_in(0);
        assert_eq!(run.stderr.contains("warning[W0307]: spec.renewBefore"), is_soon, "{field}");
    }
    world.write("config/web.yaml", &CertificateYaml::new("web").field("renewBefore: 2159h59m"));
    let said =
        "each certificate would be renewed 1m0s after issuance, but its lifetime is 2160h0m0s";
    let run = world.run(&["validate", "--strict"]).ends_in(3).says(said).says("web.yaml:12:");
    run.says("= help: write the time before the expiry, such as 720h0m0s, or remove the field");
}
