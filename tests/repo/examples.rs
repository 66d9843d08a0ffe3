//! The manifests and programs that users copy are right as they stand.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use certctl::manifest::{Diagnostic, Loaded, Options, Source, check_references, load};
use certctl::pki::{PrivateKey, build_csr};
use certctl::resource::{CertificateSpec, Dns01Provider, IssuerKind, KeyAlgorithm, SolverKind};
use serde_json::Value;

use crate::crds::{Crds, objects};

fn examples() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/examples"))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn manifests(folder: &Path) -> Vec<PathBuf> {
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml");
    entries(folder).into_iter().filter(is_yaml).collect()
}

/// Loads a manifest that must be valid and complete by itself.
fn loaded(source: Source) -> Loaded {
    let mut loaded = load(&[source], &Options::default());
    check_references(&mut loaded);
    let findings: Vec<String> = loaded.diagnostics.iter().map(Diagnostic::render).collect();
    assert_eq!((findings, loaded.skipped.len()), (vec![], 0), "{:?}", loaded.files);
    assert!(!loaded.certificates.is_empty(), "{:?}", loaded.files);
    loaded
}

#[test]
fn every_example_is_valid_and_complete_by_itself() {
    let files = manifests(&examples());
    assert!(files.len() >= 10, "{files:?}");
    for path in files {
        assert_eq!(loaded(Source::File(path.clone())).issuers.len(), 1, "{}", path.display());
    }
    let quickstart = loaded(Source::Directory(examples().join("quickstart")));
    assert_eq!(quickstart.issuers.len(), 1);
}

/// At another port, any user of the host could listen between two runs and answer challenges.
#[test]
fn no_example_puts_the_listener_on_a_port_that_any_user_may_take() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folders = ["guide", "how-to", "reference", "explanation"];
    let pages = folders.iter().flat_map(|name| entries(&root.join("docs/src").join(name)));
    let mut ports = 0;
    for path in manifests(&examples()).into_iter().chain([root.join("README.md")]).chain(pages) {
        let text = std::fs::read_to_string(&path).unwrap();
        // Those of the book's trials, which no CA outside of this host asks, and of Pebble's names.
        let trials = ["5002", "8053", "8055"];
        let is_of_trial = |rest: &&str| trials.iter().any(|port| rest.starts_with(port));
        let addresses = text.split("127.0.0.1:").skip(1).filter(|rest| !is_of_trial(rest));
        for rest in addresses {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            let port: u16 = digits.parse().unwrap();
            assert!(port < 1024, "{}: {port}", path.display());
            ports += 1;
        }
    }
    assert!(ports >= 5, "{ports}");
}

#[test]
fn each_family_of_dns_providers_has_an_issuer_and_a_cluster_issuer() {
    let mut providers = BTreeSet::new();
    for path in manifests(&examples().join("dns01")) {
        let loaded = loaded(Source::File(path.clone()));
        let kinds: Vec<IssuerKind> = loaded.issuers.iter().map(|issuer| issuer.kind).collect();
        assert_eq!(kinds, [IssuerKind::Issuer, IssuerKind::ClusterIssuer], "{}", path.display());
        for solver in loaded.issuers.iter().flat_map(|issuer| &issuer.acme.solvers) {
            let SolverKind::Dns01(dns01) = &solver.kind else { panic!("{}", path.display()) };
            if let Dns01Provider::Webhook(webhook) = &dns01.provider {
                let command = webhook.config.as_ref().and_then(|c| c["command"].as_str());
                let is_there = |name| examples().join("solvers.d").join(name).is_file();
                assert!(command.is_none_or(is_there), "{command:?}");
                providers.insert(webhook.solver_name.clone());
            } else {
                let tagged = serde_json::to_value(&dns01.provider).unwrap();
                providers.extend(tagged.as_object().unwrap().keys().cloned());
            }
        }
    }
    let own = ["exec", "http"].map(str::to_owned);
    let known = Dns01Provider::TABLES.iter().map(|(name, _)| (*name).to_owned());
    let known: BTreeSet<String> = known.filter(|name| name != "webhook").chain(own).collect();
    assert_eq!(providers, known);
}

/// What cert-manager lacks is in the other group of `dns01_providers`, and written as a webhook.
#[test]
fn each_provider_of_dns01_is_one_in_cert_managers_schema() {
    let schema: Value = serde_json::from_str(include_str!("../fixtures/crds/issuer.json")).unwrap();
    let dns01 = "/properties/spec/properties/acme/properties/solvers/items/properties/dns01";
    let fields = schema.pointer(&format!("{dns01}/properties")).unwrap().as_object().unwrap();
    let about_all = ["cnameStrategy", "nameservers"];
    let of_cert_manager = fields.keys().map(String::as_str);
    let of_cert_manager: BTreeSet<&str> =
        of_cert_manager.filter(|name| !about_all.contains(name)).collect();
    let ours: BTreeSet<&str> = Dns01Provider::TABLES.iter().map(|(name, _)| *name).collect();
    assert_eq!(ours, of_cert_manager);
}

/// The names of the fields of a DNS provider, in each of these Issuers.
fn provider_fields(loaded: &Loaded) -> Vec<BTreeSet<String>> {
    let solvers = loaded.issuers.iter().flat_map(|issuer| &issuer.acme.solvers);
    let fields = solvers.filter_map(|solver| {
        let SolverKind::Dns01(dns01) = &solver.kind else { return None };
        let provider = serde_json::to_value(&dns01.provider).unwrap();
        let settings = provider.as_object().unwrap().values().next().unwrap().clone();
        let settings = settings.get("config").unwrap_or(&settings).as_object().unwrap().clone();
        Some(settings.into_iter().map(|(name, _)| name).collect())
    });
    fields.collect()
}

#[test]
fn each_example_of_a_dns_provider_has_the_fields_that_create_prints() {
    let paths = manifests(&examples().join("dns01"));
    let names = paths.iter().map(|path| path.file_stem().unwrap().to_str().unwrap());
    for name in names.filter(|name| *name != "http") {
        let words = ["create", "issuer", "letsencrypt", "--dns01", name, "--print"];
        let made = Command::new(env!("CARGO_BIN_EXE_certctl")).args(words).output().unwrap();
        assert!(made.status.success(), "{name}: {made:?}");
        let made = load(&[Source::Stdin(made.stdout)], &Options::default());
        let made = provider_fields(&made);
        let [made] = made.as_slice() else { panic!("{name}: {made:?}") };
        let example = examples().join(format!("dns01/{name}.yaml"));
        for example in provider_fields(&loaded(Source::File(example))) {
            assert!(made.is_subset(&example), "{name}: {made:?} {example:?}");
        }
    }
}

#[test]
fn each_hook_has_a_manifest_and_each_manifest_its_hook() {
    let mut named = BTreeSet::new();
    for path in manifests(&examples()) {
        for certificate in loaded(Source::File(path)).certificates {
            let settings = certificate.settings.clone();
            named.extend(settings.reload.into_iter().chain(settings.deploy_hook));
        }
    }
    // The file is linked under the name of its service.
    let named: Vec<&str> = named.iter().map(|n| n.split_once('-').map_or(&**n, |n| n.0)).collect();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let there: Vec<String> = entries(&examples().join("hooks.d")).iter().map(name).collect();
    let mut there: BTreeSet<&str> = there.iter().map(String::as_str).collect();
    assert!(there.remove("on-failure"), "no manifest names it");
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), there);
}

/// Every manifest, those in folders too.
fn all_manifests() -> Vec<PathBuf> {
    let folders = ["", "dns01", "quickstart"].map(|folder| manifests(&examples().join(folder)));
    folders.concat()
}

#[test]
fn every_example_fits_the_schemas_of_cert_manager() {
    let crds = Crds::load();
    for path in all_manifests() {
        let objects = objects(&std::fs::read_to_string(&path).unwrap());
        assert!(!objects.is_empty(), "{}", path.display());
        for object in objects {
            assert_eq!(crds.fault(&object), None, "{}", path.display());
            // A cluster would prune it; here it must be noticed.
            let place = if object["kind"] == "Certificate" { "/spec" } else { "/spec/acme" };
            let mut unknown = object.clone();
            unknown.pointer_mut(place).unwrap()["colour"] = Value::from("red");
            assert!(crds.fault(&unknown).unwrap().contains("colour"), "{}", path.display());
        }
    }
}

#[test]
fn each_program_is_for_every_shell_and_can_be_run() {
    let programs = ["hooks.d", "solvers.d"].map(|folder| entries(&examples().join(folder)));
    for path in programs.concat() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("#!/bin/sh\n") && text.contains("\nset -eu\n"), "{text}");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{}", path.display());
        let read = Command::new("sh").arg("-n").arg(&path).status().unwrap();
        assert!(read.success(), "{}", path.display());
    }
}

fn write_program(path: &Path, text: &str) {
    std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What the hook for Apache calls, on a host whose PidFile has this line; nothing when there is none.
fn calls_of_apache(pid: Option<u32>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (pid_file, log) = (folder.path().join("apache2.pid"), folder.path().join("log"));
    if let Some(pid) = pid {
        writeln!(std::fs::File::create(&pid_file).unwrap(), "{pid}").unwrap();
    }
    for name in ["apache2ctl", "systemctl"] {
        let program = format!(
            "#!/bin/sh\necho {name} \"$@\" >> {}\necho 'PidFile: \"{}\"'\n",
            log.display(),
            pid_file.display()
        );
        write_program(&folder.path().join(name), &program);
    }
    let mut command = Command::new(examples().join("hooks.d/apache"));
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    command.arg("reload").env_clear().env("PATH", path).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::read_to_string(log).unwrap()
}

#[test]
fn apache_is_reloaded_when_it_runs_and_never_started() {
    let of_systemd = "systemctl try-reload-or-restart apache2\n";
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    for (pid, runs) in [(Some(std::process::id()), true), (Some(ended.id()), false), (None, false)]
    {
        let calls = calls_of_apache(pid);
        assert!(calls.starts_with("apache2ctl configtest\n"), "{calls}");
        // systemd itself leaves a stopped server alone.
        let has_systemd = calls.contains(of_systemd);
        assert_eq!(calls.contains("graceful"), runs && !has_systemd, "{pid:?}: {calls}");
    }
}

/// What the hook for PostgreSQL calls as `user`, where the server answers this.
fn calls_of_postgresql(stage: &str, user: &str, answer: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    for (name, prints) in [
        ("install", ""),
        ("mv", ""),
        ("pg_isready", ""),
        ("id", user),
        ("psql", answer),
        ("su", answer),
        ("setpriv", "PEM"),
    ] {
        let log = log.display();
        let program = format!("#!/bin/sh\necho {name} \"$@\" >> {log}\necho '{prints}'\n");
        write_program(&folder.path().join(name), &program);
    }
    let mut command = Command::new(examples().join("hooks.d/postgresql"));
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    command.arg(stage).env_clear().env("PATH", path).env("CERTCTL_SECRET_DIR", "/secret");
    command.env("CERTCTL_USER", "certctl");
    let output = command.stdin(Stdio::null()).output().unwrap();
    (output.status.success(), std::fs::read_to_string(log).unwrap())
}

#[test]
fn postgresql_gets_its_files_whole_and_reads_them() {
    let to = "/etc/postgresql/tls";
    // As their owner, who could have put a link to another file in their place.
    let of_postgres = |file: &str| {
        format!(
            "id -un\nid -g certctl\n\
             setpriv --reuid certctl --regid root --clear-groups cat /secret/{file}\n\
             install -m 0600 -o postgres -g postgres /dev/stdin {to}/{file}.new\n"
        )
    };
    let (key, chain) = (of_postgres("tls.key"), of_postgres("tls.crt"));
    let copied = format!(
        "install -d -m 0750 -o root -g postgres {to}\n{key}{chain}\
         mv {to}/tls.key.new {to}/tls.key\nmv {to}/tls.crt.new {to}/tls.crt\n"
    );
    assert_eq!(calls_of_postgresql("deploy", "root", ""), (true, copied));
    let of_server = "pg_isready -q\nid -un\n";
    let statement = "SELECT pg_reload_conf()";
    let own = format!("{of_server}psql -XAtqc {statement} postgres\n");
    assert_eq!(calls_of_postgresql("reload", "postgres", "t"), (true, own.clone()));
    assert_eq!(calls_of_postgresql("reload", "postgres", "f"), (false, own));
    let by_root = format!("{of_server}su postgres -c psql -XAtqc '{statement}' postgres\n");
    assert_eq!(calls_of_postgresql("reload", "root", "t"), (true, by_root));
}

#[test]
fn postfix_is_reloaded_by_root_while_it_runs() {
    let calls = |uid: &str, status: u8| {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let log = log.display();
        for (name, script) in [
            ("id", format!("echo {uid}")),
            ("postfix", format!("echo \"$@\" >> {log}; [ \"$1\" != status ] || exit {status}")),
        ] {
            write_program(&folder.path().join(name), &format!("#!/bin/sh\n{script}\n"));
        }
        let mut command = Command::new(examples().join("hooks.d/postfix"));
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        command.arg("reload").env_clear().env("PATH", path).stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        (output.status.success(), said, log)
    };
    assert_eq!(calls("0", 0), (true, String::new(), "status\nreload\n".to_owned()));
    assert_eq!(calls("0", 1), (true, String::new(), "status\n".to_owned()));
    let refused = "only root may reload postfix\n".to_owned();
    assert_eq!(calls("1000", 0), (false, refused, String::new()));
}

#[test]
fn the_mail_about_a_failure_says_what_and_until_when() {
    let folder = tempfile::tempdir().unwrap();
    let fake = folder.path().join("sendmail");
    let mail = folder.path().join("mail");
    let program = format!("#!/bin/sh\necho \"$@\" > {0}; cat >> {0}\n", mail.display());
    write_program(&fake, &program);
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    for (stage, next, urgent) in [("failed", "2030-01-01T00:00:00Z", false), ("half", "", true)] {
        let mut command = Command::new(examples().join("hooks.d/on-failure"));
        command.arg("on-failure").env_clear().env("PATH", &path).stdin(Stdio::null());
        command.env("CERTCTL_NAMESPACE", "default").env("CERTCTL_NAME", "web");
        command
            .env("CERTCTL_MESSAGE", "no\nBcc: everybody@example.com")
            .env("CERTCTL_STAGE_NAME", stage);
        command.env("CERTCTL_ATTEMPTS", "3").env("CERTCTL_NEXT_ATTEMPT", next);
        command.env("CERTCTL_NOT_AFTER", "");
        assert!(command.status().unwrap().success());
        let text = std::fs::read_to_string(&mail).unwrap();
        let (head, body) = text.split_once("\n\n").unwrap();
        assert!(head.starts_with("-oi -t\nTo: root\nSubject: certctl: "), "{head}");
        assert!(head.contains(": web ") && !head.contains("Bcc"), "{head}");
        assert_eq!(head.contains("URGENT"), urgent, "{head}");
        let told = ["no\nBcc: everybody@example.com\n\n", "failed in a row  3\n"];
        let when = if next.is_empty() { "the next run" } else { next };
        let ends =
            [&format!("next attempt     {when}\n"), "more             sudo certctl status web\n"];
        assert!(told.into_iter().chain(ends).all(|part| body.contains(part)), "{body}");
        assert!(body.contains("valid until      nothing is issued yet\n"), "{body}");
        command.env("CERTCTL_ATTEMPTS", "0").env("CERTCTL_TEST", "1");
        assert!(command.status().unwrap().success());
        let text = std::fs::read_to_string(&mail).unwrap();
        assert!(text.contains("\nSubject: certctl: a test, nothing failed on "), "{text}");
        let (about, rest) = text.split_once("how a failure is reported.\n").unwrap();
        assert!(about.contains("no\nBcc") && !about.contains("certctl status"), "{text}");
        assert!(!rest.contains("in a row") && rest.contains("certctl status"), "{text}");
    }
}

/// What goes to the CA beside the signing request, what no ACME CA is asked for, and mappings that
/// stay on this machine.
const NOT_IN_THE_REQUEST: &[&str] = &[
    "duration",
    "issuerRef",
    "isCA",
    "nameConstraints",
    "privateKey",
    "renewal",
    "secretTemplate",
    "keystores",
    "additionalOutputFormats",
];

#[test]
fn each_field_that_goes_to_the_ca_is_in_the_signing_request() {
    let key = PrivateKey::generate(KeyAlgorithm::Rsa, 2048).unwrap();
    let of = |line: &str| {
        let text = format!(
            "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {{name: a}}\nspec:\n  \
             secretName: a\n  issuerRef: {{name: a}}\n  {line}\n"
        );
        let mut loaded = load(&[Source::Stdin(text.into_bytes())], &Options::default());
        let findings: Vec<String> = loaded.diagnostics.iter().map(Diagnostic::render).collect();
        assert_eq!(loaded.certificates.len(), 1, "{line}: {findings:?}");
        let spec = loaded.certificates.remove(0).spec.clone();
        // Signatures of RSA PKCS #1 are the same each time, so that equal requests are equal.
        (spec.requested(), build_csr(&spec, &key).unwrap().der)
    };
    let names = "dnsNames: [a.example]";
    let (base, same_request) = of(names);
    let mut missing = Vec::new();
    for field in CertificateSpec::FIELDS {
        let (name, example) = (field.name, field.example);
        if ["secretName", "dnsNames"].contains(&name) || NOT_IN_THE_REQUEST.contains(&name) {
            continue;
        }
        let line = match name {
            "commonName" => format!("{name}: {example}\n  dnsNames: [a.example, {example}]"),
            // The default is what the example shows.
            "encodeUsagesInRequest" => format!("{names}\n  {name}: false"),
            "subject" => format!("{names}\n  {name}: {{organizations: [a]}}"),
            "otherNames" => {
                format!("{names}\n  {name}: [{{oid: 1.3.6.1.4.1.311.20.2.3, utf8Value: a@b}}]")
            }
            "signatureAlgorithm" => format!("{names}\n  {name}: SHA512WithRSA"),
            _ => format!("{names}\n  {name}: {example}"),
        };
        let (requested, request) = of(&line);
        if requested != base && request == same_request {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
