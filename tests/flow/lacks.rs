//! What is missing is named before it does harm, by each verb that can see it.

use std::fs;
use std::path::Path;

use certctl::rehearsal::RequestKind;

use crate::support::{CertificateYaml, World};

#[test]
fn a_hook_that_goes_missing_is_seen_while_nothing_is_due_and_before_an_output_is_written() {
    let world = World::start();
    let output = world.path("out");
    let web = CertificateYaml::new("web")
        .annotation("certctl/output-dir", &output.display().to_string())
        .annotation("certctl/deploy-hook", "install");
    world.prepare(&[web]);
    let hook = world.write_program("config/hooks.d/install", "exit 0");
    world.issue().ends_in(0);
    let written = fs::read(output.join("tls.crt")).unwrap();
    fs::remove_file(&hook).unwrap();
    let missing = format!("there is no hook {}", hook.display());
    let place = format!("--> {}:7:", world.path("config/web.yaml").display());
    let table = world.run(&["status"]).ends_in(0);
    assert!(!table.stderr.contains("W0402"), "{}", table.stderr);
    let run = world.run(&["plan"]).ends_in(0).says("warning[W0402]: ").says(&missing);
    assert!(run.stderr.contains(&place), "{}", run.stderr);
    assert!(run.stderr.contains("= help: put an executable file there"), "{}", run.stderr);
    let page = world.run(&["status", "web"]).ends_in(0).stdout;
    assert_eq!(page.matches("put an executable file there").count(), 1, "{page}");
    let whole = world.run(&["describe", "web"]).ends_in(0).stdout;
    for text in [
        "Blocked by:",
        &missing,
        place["--> ".len()..].trim_end_matches(':'),
        "put an executable file there",
    ] {
        assert!(page.contains(text), "{text}: {page}");
        assert!(whole.contains(text), "{text}: {whole}");
    }
    // The CA issues; the pair in place stays where servers read it until the hook is there.
    fs::rename(&output, world.path("old")).unwrap();
    let run = world.run(&["deploy", "web"]).ends_in(3).says(&missing);
    assert!(!output.exists(), "{}", run.stderr);
    world.write_program("config/hooks.d/install", "exit 0");
    world.run(&["deploy", "web"]).ends_in(0);
    assert_eq!(fs::read(output.join("tls.crt")).unwrap(), written);
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}

#[test]
fn a_hook_with_a_typing_error_leads_to_the_one_that_is_there() {
    let world =
        World::prepared(&[CertificateYaml::new("web").annotation("certctl/reload", "ngixn")]);
    world.write_program("config/hooks.d/nginx", "exit 0");
    let missing = format!("there is no hook {}", world.path("config/hooks.d/ngixn").display());
    world.issue().ends_in(3).says(&missing).says("did you mean `nginx`?");
}

/// Annotations of a certificate that is READY already: what they ask for is looked at as it is
/// before an order.
#[test]
fn all_that_a_ready_certificate_lacks_is_named_in_one_run_each_as_what_it_is() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let place = world.path("gone/tls").display().to_string();
    world.prepare(&[CertificateYaml::new("web")
        .annotation("certctl/output-dir", &place)
        .annotation("certctl/deploy-hook", "install")
        .annotation("certctl/reload", "nginx")]);
    let hook = world.write("config/hooks.d/install", "#!/bin/sh\n").display().to_string();
    let other = world.path("config/hooks.d/nginx").display().to_string();
    let not_executable = format!("hook install: {hook} is not executable; ");
    let executable = format!("chmod a+rx {hook}\n");
    let missing = format!("there is no hook {other}");
    let run = world.issue().ends_in(3).says("[precondition]");
    let no_folder = format!("mkdir -p {}", world.path("gone").display());
    for text in [&not_executable, &executable, &missing, &no_folder] {
        assert!(run.stderr.contains(text.as_str()), "{text}: {}", run.stderr);
    }
    assert!(!run.stderr.contains("output to"), "{}", run.stderr);
    for field in ["output-dir", "deploy-hook", "reload"] {
        let field = format!("certctl/{field}");
        assert_eq!(run.stderr.matches(&field).count(), 1, "{field}: {}", run.stderr);
    }
    // The same is told once a day; it is looked at by every run, and no time is waited for.
    for _ in 0..2 {
        world.issue().ends_in(3);
    }
    let status = world.run(&["status"]).stdout;
    assert!(status.contains("PENDING DEPLOY") && status.contains("\n    "), "{status}");
    world.write_program("config/hooks.d/install", "exit 0");
    let run = world.issue().ends_in(3).says(&missing);
    assert!(!run.stderr.contains("install"), "{}", run.stderr);
    world.write_program("config/hooks.d/nginx", "exit 0");
    fs::create_dir(world.path("gone")).unwrap();
    world.issue().ends_in(0);
    assert!(fs::exists(world.path("gone/tls/tls.crt")).unwrap());
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}

#[test]
fn an_empty_eab_secret_is_a_mistake_with_its_file_and_field() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let binding = "externalAccountBinding:\n      keyID: kid\n      \
                   keySecretRef: { name: eab, key: secret }";
    let issuer = world.write("config/issuer.yaml", &world.issuer().field(binding));
    for content in ["", "\n"] {
        world.write_secret("eab", "secret", content);
        let run = world.run(&["validate"]).ends_in(3).says("key \"secret\" is empty");
        let place = format!("--> {}:", issuer.display());
        assert!(run.stderr.contains(&place), "{}", run.stderr);
        assert!(run.stderr.contains("externalAccountBinding.keySecretRef"), "{}", run.stderr);
        world.run(&["issue", "web"]).ends_in(3).says("key \"secret\" is empty");
    }
    assert_eq!(world.sent(RequestKind::NewAccount), 0);
}

#[test]
fn a_file_that_is_missing_or_empty_is_named_and_the_one_beside_it_is_suggested() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("site/web.yaml", &CertificateYaml::new("other"));
    let run = world.run(&["issue", "site/web.yml"]).ends_in(3);
    assert!(run.stderr.contains("did you mean site/web.yaml?"), "{}", run.stderr);
    assert!(run.stderr.ends_with("error: 1 error in site/web.yml\n"), "{}", run.stderr);
    world.write("empty.yaml", "");
    let nothing = "warning[W0401]: no Certificate, Issuer, ClusterIssuer or Secret: it is empty";
    for verb in ["validate", "issue"] {
        let run = world.run(&[verb, "empty.yaml"]).says(nothing);
        assert!(run.stderr.contains("--> empty.yaml"), "{}", run.stderr);
    }
    world.run(&["issue", "empty.yaml"]).ends_in(3).says("no Certificate in empty.yaml");
}

#[test]
fn a_filter_or_a_folder_that_leaves_nothing_to_show_does_not_look_healthy() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world.run(&["status", "--exit-code"]).ends_in(0);
    for words in [["-n", "nope"], ["-l", "a=b"]] {
        let status = |more: &[&str]| world.run(&[&["status"], &words[..], more].concat());
        status(&[]).ends_in(0).says("no Certificate");
        status(&["--exit-code"]).ends_in(8).says("no Certificate");
        let plan = world.run(&[&["plan"], &words[..]].concat()).ends_in(0);
        assert_eq!(plan.stderr, "nothing to plan: no Certificate matches\n");
    }
    let nowhere = world.path("nowhere").display().to_string();
    let state = world.path("none").display().to_string();
    let words = ["status", "--config-dir", &nowhere, "--state-dir", &state];
    let run = world.run(&words).ends_in(3);
    run.says(&format!("there is no config directory {nowhere}"))
        .says("  try: certctl status --config-dir FOLDER\n       certctl create # to begin\n");
}

#[test]
fn a_verb_that_would_ignore_a_flag_refuses_it() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let file = world.path("metrics.prom");
    let flag = format!("--metrics-file={}", file.display());
    world.issue().ends_in(0);
    for verb in ["status", "plan", "validate", "version"] {
        world.run(&[verb, &flag]).ends_in(2).says("--metrics-file is for issue, renew");
    }
    // A variable is for every verb.
    let mut command = world.command(&["plan"]);
    command.env("CERTCTL_METRICS_FILE", &file);
    crate::support::finish(command.spawn().unwrap()).ends_in(0);
    assert!(!file.exists());
    for words in [&["revoke", "web", "--yes"][..], &["forget", "web", "--anyway"]] {
        world.run(&[words, &[&flag]].concat()).ends_in(0);
        let written = fs::read_to_string(&file).unwrap();
        assert!(written.contains("\ncertctl_last_run_exit_code 0\n"), "{words:?}: {written}");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn metrics_tell_of_a_manifest_with_a_mistake() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("mail")]);
    world.issue().ends_in(0);
    let broken = CertificateYaml::new("web").to_string().replace("dnsNames", "dnsName");
    world.write("config/web.yaml", &broken);
    let metrics = world.run(&["status", "-o", "prometheus"]).stdout;
    let ready = |name: &str, condition: &str| {
        let start = format!("certmanager_certificate_ready_status{{condition=\"{condition}\"");
        let name = format!(",name=\"{name}\",");
        let mut lines = metrics.lines();
        let line = lines.find(|line| line.starts_with(&start) && line.contains(&name));
        line.unwrap().rsplit(' ').next().unwrap().to_owned()
    };
    assert_eq!([ready("web", "True"), ready("web", "False")], ["0", "1"]);
    assert_eq!([ready("mail", "True"), ready("mail", "False")], ["1", "0"]);
    assert!(metrics.contains("\ncertctl_invalid_manifests 1\n"), "{metrics}");
}

#[test]
fn a_secret_that_goes_missing_after_a_counted_failure_is_a_failure_and_no_wait() {
    use certctl::rehearsal::{Fault, ProblemType, Rule};
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let refusal =
        Fault::Refuse { kind: ProblemType::Unauthorized, detail: "the answer was wrong".into() };
    world.fault(Rule::always(refusal));
    world.issue().ends_in(4);
    let binding = "externalAccountBinding:\n      keyID: kid\n      \
                   keySecretRef: { name: eab, key: secret }";
    world.write("config/issuer.yaml", &world.issuer().field(binding));
    world.run(&["renew", "web"]).ends_in(3).says("secret eab has no `secret`");
    let table = world.run(&["status"]).stdout;
    assert!(table.contains("FAILED") && !table.contains("DEFERRED"), "{table}");
    let page = world.run(&["describe", "web"]).stdout;
    assert!(page.contains("Next attempt: the next run of certctl issue"), "{page}");
}

#[test]
fn without_an_on_failure_hook_a_state_that_cannot_be_made_is_the_only_thing_said() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let file = world.write("file", "");
    let state = file.join("state").display().to_string();
    let run = world.run(&["issue", "--state-dir", &state]).ends_in(7);
    assert!(run.stderr.starts_with("error: ") && !run.stderr.contains("WARN"), "{}", run.stderr);
}

#[test]
fn where_the_record_is_damaged_the_files_say_what_is_in_place() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let folder = world.path("state/secrets/default/web-tls");
    world.write("state/certificates/default/web/status.json", "{");
    let page = world.run(&["status", "web"]).stdout;
    assert!(page.starts_with("Status:       STATE DAMAGED - "), "{page}");
    assert!(page.contains("\nCertificate:  valid from "), "{page}");
    assert!(page.contains(&format!("\nFiles:        {}\n", folder.display())), "{page}");
    // Without a manifest, the state alone has the folder's name.
    fs::remove_file(world.path("config/web.yaml")).unwrap();
    let page = world.run(&["status", "web"]).stdout;
    for label in ["Certificate:  ", "Files:        "] {
        let line = format!("\n{label}not known: the state is damaged\n");
        assert!(page.contains(&line), "{page}");
    }
}

#[test]
fn a_selector_shows_the_certificates_with_mistakes_that_it_matches() {
    let labelled = |name: &str, label: &str| {
        let yaml = CertificateYaml::new(name).to_string();
        yaml.replacen("metadata:\n", &format!("metadata:\n  labels: {{ team: {label} }}\n"), 1)
    };
    let world = World::prepared(&[]);
    for (name, team) in [("web", "a"), ("mail", "b"), ("damaged", "a")] {
        world.write(&format!("config/{name}.yaml"), &labelled(name, team));
    }
    world.issue().ends_in(0);
    world.write("state/certificates/default/damaged/status.json", "{");
    for name in ["web", "never"] {
        let broken =
            labelled(name, "a").replace("issuerRef:\n    name: ca", "issuerRef:\n    name: no");
        world.write(&format!("config/{name}.yaml"), &broken);
    }
    let rows = |words: &[&str]| {
        let table = world.run(&[&["status"], words].concat()).stdout;
        let row = |line: &str| {
            let mut cells = line.split("   ").map(str::trim).filter(|cell| !cell.is_empty());
            [cells.next().unwrap().to_owned(), cells.next().unwrap().to_owned()]
        };
        let rows = table.lines().skip(1).take_while(|line| !line.is_empty());
        rows.filter(|line| !line.starts_with(' ')).map(row).collect::<Vec<_>>()
    };
    let shown = rows(&["-l", "team=a"]);
    let wanted = [["STATE DAMAGED", "damaged"], ["INVALID", "web"], ["INVALID", "never"]];
    assert_eq!(shown, wanted.map(|row| row.map(str::to_owned)));
    assert_eq!(rows(&["-l", "team=b"]), [["READY", "mail"].map(str::to_owned)]);
    world.run(&["status", "-l", "team=c", "--exit-code"]).ends_in(8);
}

#[test]
fn a_named_certificate_that_was_never_issued_is_said_to_have_nothing_to_deploy() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let run = world.run(&["deploy", "web"]).ends_in(0);
    assert_eq!(run.stderr, "warning: web: nothing is issued yet\n  try: certctl issue web\n");
    world.run(&["deploy"]).says_nothing();
}

/// What the record keeps of a failure until the next success is shown as what it is.
#[test]
fn a_failure_of_what_is_no_longer_asked_for_is_past() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let keystore =
        "keystores:\n    pkcs12: { create: true, passwordSecretRef: { name: none, key: x } }";
    world.prepare(&[CertificateYaml::new("web").field(keystore)]);
    world.issue().ends_in(3);
    let status = world.run(&["status"]).ends_in(0).stdout;
    assert!(status.contains("FAILED") && status.contains("\n    "), "{status}");
    world.prepare(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let status = world.run(&["status"]).ends_in(0).stdout;
    assert!(status.contains("READY") && !status.contains("\n    "), "{status}");
    for verb in ["status", "describe"] {
        let page = world.run(&[verb, "web"]).ends_in(0).stdout;
        assert!(page.contains(" (no longer true): "), "{page}");
        assert!(!page.contains("fixed?") && !page.contains("Try:"), "{page}");
    }
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}

#[test]
fn a_precondition_that_is_met_is_past_while_the_order_waits() {
    let web = CertificateYaml::new("web").annotation("certctl/deploy-hook", "install");
    let world = World::prepared(&[web]);
    world.issue().ends_in(3);
    let status = world.run(&["status"]).stdout;
    assert!(status.contains("FAILED") && status.contains("\n    "), "{status}");
    // What to do about it stands where it is said to be in the way, and not twice.
    let page = world.run(&["status", "web"]).ends_in(0).stdout;
    assert_eq!(page.matches("put an executable file there").count(), 1, "{page}");
    world.write_program("config/hooks.d/install", "exit 0");
    world.dns.remove("*.example.test");
    world.run(&["issue", "--timeout", "1s", "--self-check-interval", "100ms"]).ends_in(75);
    let status = world.run(&["status"]).stdout;
    assert!(status.contains("WAITING") && !status.contains("hook"), "{status}");
    let page = world.run(&["status", "web"]).stdout;
    assert!(page.contains(" (no longer true): "), "{page}");
}

#[test]
fn a_server_that_is_mended_before_it_answered_leads_to_no_order() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    let right = world.issuer().to_string();
    world.write("config/issuer.yaml", &right.replace("/directory", "/nothing"));
    let run = world.issue();
    assert_ne!(run.code, Some(0), "{}", run.stderr);
    let plan = world.run(&["plan"]).stdout;
    assert!(plan.contains("issued by another CA") && plan.contains("now names"), "{plan}");
    world.write("config/issuer.yaml", &right);
    for _ in 0..2 {
        world.issue().ends_in(0);
        let status = world.run(&["status"]).stdout;
        assert!(status.contains("READY") && !status.contains("\n    "), "{status}");
    }
    assert_eq!(world.sent(RequestKind::NewOrder), 1);
}

/// `renew` is a request for now: what it lacks, the user has to put right first, and asks again.
#[test]
fn a_renewal_that_was_only_asked_for_and_lacks_something_leaves_all_as_it_was() {
    let web = CertificateYaml::new("web").annotation("certctl/deploy-hook", "install");
    let world = World::prepared(&[web]);
    let hook = world.write_program("config/hooks.d/install", "exit 0");
    world.issue().ends_in(0);
    let locks = world.path("state/locks");
    let state = || {
        let mut all = world.state().everything();
        let is_kept = |path: &Path| !path.ends_with("events.jsonl") && !path.starts_with(&locks);
        all.retain(|path, _| is_kept(path));
        all
    };
    let (before, sent) = (state(), world.ca.requests());
    fs::remove_file(&hook).unwrap();
    for flags in [&[][..], &["--new-key"], &["--new-order"]] {
        let run = world.run(&[&["renew", "web"], flags].concat()).ends_in(3);
        let run = run.says("there is no hook").says("the certificate is unchanged");
        assert!(!run.stderr.contains("next run"), "{}", run.stderr);
        let now = state();
        let paths = before.keys().chain(now.keys());
        let changed: Vec<_> = paths.filter(|path| before.get(*path) != now.get(*path)).collect();
        assert!(changed.is_empty(), "{flags:?}: {changed:?}");
    }
    assert_eq!(world.ca.requests(), sent);
    let status = world.run(&["status"]).ends_in(0).stdout;
    assert!(status.contains("READY") && !status.contains("\n    "), "{status}");
    world.issue().says_nothing();
    // What is pending besides is no second error.
    world.write_program("config/hooks.d/install", "exit 1");
    world.run(&["renew", "web"]).ends_in(6);
    fs::remove_file(&hook).unwrap();
    let run = world.run(&["renew", "web"]).ends_in(3).says("the certificate is unchanged");
    assert_eq!(run.stderr.matches("error: ").count(), 1, "{}", run.stderr);
    // What is due is requested by the certificate itself: the next run tries again.
    world.prepare(&[CertificateYaml::new("web")
        .for_names(&["web.example.test", "other.example.test"])
        .annotation("certctl/deploy-hook", "install")]);
    world.run(&["renew", "web"]).ends_in(3).says("the next run retries");
    world.write_program("config/hooks.d/install", "exit 0");
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::NewOrder), 3);
}

#[test]
fn a_certificate_that_was_never_issued_has_nothing_to_forget() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let place = world.path("config/web.yaml").display().to_string();
    let run = world
        .run(&["forget", "web"])
        .ends_in(3)
        .says("web: nothing is issued yet; its manifest is ");
    run.says(&place).says("try: remove the manifest\n");
    world.run(&["forget", "wbe"]).ends_in(3).says("`wbe` not found");
}
