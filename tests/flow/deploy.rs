//! Issued is one thing, deployed another: outputs and hooks have a state of their own.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use certctl::rehearsal::RequestKind;
use certctl::resource::{DeployStep, rfc3339};
use certctl::store::atomic;
use rustix::io::Errno;
use serde_json::Value;

use crate::support::{CertificateYaml, Run, World, finish};

/// Puts a hook into place: a shell script with `$W` for the world's folder.
fn hook(world: &World, name: &str, script: &str) {
    let folder = world.path("").display().to_string();
    let text = format!("#!/bin/sh\nW={folder}\n{script}\n");
    let path = world.write(&format!("config/hooks.d/{name}"), &text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn read(world: &World, below: &str) -> String {
    fs::read_to_string(world.path(below)).unwrap_or_default()
}

/// `web`, written to `out`, with a hook and a reload.
fn web(world: &World) -> CertificateYaml {
    CertificateYaml::new("web")
        .annotation("certctl/output-dir", &world.path("out").display().to_string())
        .annotation("certctl/output-mode", "0640")
        .annotation("certctl/deploy-hook", "install")
        .annotation("certctl/reload", "reload")
}

/// A world in which `web` is deployed; its hooks write into `steps`.
fn deployed() -> World {
    let world = World::start();
    world.prepare(&[web(&world)]);
    hook(&world, "install", "echo installed >> $W/steps");
    hook(&world, "reload", "echo reloaded >> $W/steps");
    world.issue().ends_in(0);
    world
}

#[test]
fn an_issued_pair_is_written_out_and_its_hooks_run_once() {
    let world = World::start();
    world.prepare(&[web(&world)]);
    hook(
        &world,
        "install",
        "cat > $W/event.json; env > $W/env; echo \"$@\" > $W/args; pwd > $W/pwd; umask > $W/umask",
    );
    hook(&world, "reload", "echo \"$@ $CERTCTL_CERTIFICATES\" >> $W/reloads");
    world.issue().ends_in(0);
    let live = world.state().published("web");
    let key = world.path("out/tls.key");
    let written = fs::read(&key).unwrap();
    let kept = world.state().path("secrets/default/web-tls/tls.key");
    assert_eq!(written, fs::read(kept).unwrap());
    assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o640);
    let event: Value = serde_json::from_str(&read(&world, "event.json")).unwrap();
    assert_eq!(event["kind"], "DeployEvent");
    assert_eq!(event["fingerprintSHA256"], live.fingerprint);
    assert_eq!(event["certificate"]["name"], "web");
    assert_eq!(event["dnsNames"][0], "web.example.test");
    assert_eq!((read(&world, "args"), read(&world, "umask")), ("deploy\n".into(), "0077\n".into()));
    let environment = read(&world, "env");
    assert!(environment.contains("CERTCTL_DNS_NAMES=web.example.test"), "{environment}");
    assert!(!environment.contains("CERTCTL_STATE_DIR"), "nothing else is inherited");
    assert!(!environment.contains("PRIVATE KEY"));
    assert_eq!(read(&world, "reloads"), "reload default/web\n");
    // The next run has nothing to do, and nothing is run again.
    let before = world.state().everything();
    world.issue().says_nothing();
    assert_eq!(world.state().everything(), before);
    assert_eq!(read(&world, "reloads").lines().count(), 1);
    // A renewal deploys again.
    world.run(&["renew", "web"]).ends_in(0);
    assert_ne!(fs::read(&key).unwrap(), written);
    assert_eq!(read(&world, "reloads").lines().count(), 2);
}

#[test]
fn ten_certificates_are_reloaded_once() {
    let world = World::start();
    let all: Vec<_> = (0..10)
        .map(|number| {
            CertificateYaml::new(&format!("c{number}")).annotation("certctl/reload", "reload")
        })
        .collect();
    world.prepare(&all);
    hook(&world, "reload", "echo $CERTCTL_CERTIFICATES >> $W/reloads");
    world.issue().ends_in(0);
    let reloads = read(&world, "reloads");
    assert_eq!(reloads.lines().count(), 1, "{reloads}");
    assert_eq!(reloads.split_whitespace().count(), 10, "{reloads}");
    world.issue().says_nothing();
    assert_eq!(read(&world, "reloads"), reloads);
}

#[test]
fn a_failed_hook_leaves_the_certificate_issued_and_is_retried() {
    let flood = "yes 'a line of many' | head -c 3000000; echo no room >&2; exit 3";
    let certctl =
        format!("{} issue 2>&1 >/dev/null | tail -1 >&2; exit 4", env!("CARGO_BIN_EXE_certctl"));
    let cases = [
        ("echo 'cannot\treload' >&2; exit 7", "hooks.d/install: exit code 7: cannot reload"),
        ("sleep 1000", "hooks.d/install was stopped after 1 s: no details"),
        (flood, "hooks.d/install: exit code 3: no room"),
        ("kill -9 $$", "hooks.d/install: signal 9 (SIGKILL): no details"),
        (&certctl, "must not call certctl issue"),
    ];
    for (script, said) in cases {
        let world = World::start();
        world.prepare(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
        hook(&world, "install", script);
        let run = || world.run(&["issue", "--hook-timeout", "1s"]);
        run().ends_in(6).says("issued but not deployed: deploy hook install: ").says(said);
        let requests = world.ca.log().len();
        let live = world.state().published("web").fingerprint;
        let status = world.run(&["status"]);
        assert!(status.stdout.contains("PENDING DEPLOY"), "{}", status.stdout);
        run().ends_in(6);
        let deployment = world.state().record("web").deployments.remove(0);
        assert_eq!((deployment.target.step(), deployment.failed_attempts), (DeployStep::Hook, 2));
        // It waits now, and the run still says that something is wrong; `deploy` waits for nothing.
        run().ends_in(6);
        assert_eq!(world.state().record("web").deployments[0].failed_attempts, 2);
        hook(&world, "install", "echo done > $W/done");
        world.run(&["deploy", "web"]).ends_in(0);
        assert_eq!(read(&world, "done"), "done\n");
        run().says_nothing();
        assert_eq!(world.ca.log().len(), requests, "nothing is issued again");
        assert_eq!(world.state().published("web").fingerprint, live);
    }
}

#[test]
fn a_failed_step_that_is_no_longer_asked_for_is_not_pending() {
    let world = World::start();
    let web = CertificateYaml::new("web");
    world.prepare(&[web.clone().annotation("certctl/deploy-hook", "install")]);
    hook(&world, "install", "exit 7");
    world.run(&["issue"]).ends_in(6);
    world.prepare(&[web]);
    world.run(&["issue"]).ends_in(0);
    let status = world.run(&["status", "--exit-code"]).ends_in(0);
    assert!(status.stdout.contains("READY    web "), "{}", status.stdout);
}

#[test]
fn what_stands_in_the_way_of_an_output_stays() {
    let world = World::start();
    world.prepare(&[web(&world)]);
    hook(&world, "install", "echo ran > $W/ran");
    hook(&world, "reload", "true");
    world.write("out/tls.key", "somebody's");
    world.issue().ends_in(3).says("is not certctl's");
    assert_eq!(world.ca.log().len(), 0, "no request to the CA");
    assert_eq!(read(&world, "out/tls.key"), "somebody's");
    assert_eq!(read(&world, "ran"), "", "what comes after an output waits for it");
    fs::remove_file(world.path("out/tls.key")).unwrap();
    world.issue().ends_in(0);
    assert_eq!(read(&world, "ran"), "ran\n");
}

#[test]
fn a_file_in_the_place_of_a_link_of_an_output_is_moved_away_by_the_command_that_is_printed() {
    let world = World::start();
    world.prepare(&[web(&world)]);
    hook(&world, "install", "true");
    hook(&world, "reload", "true");
    world.issue().ends_in(0);
    let key = world.path("out/tls.key");
    // What `sed -i` does.
    let bytes = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    world.write("out/tls.key", str::from_utf8(&bytes).unwrap());
    let plan = world.run(&["plan", "web"]).stdout;
    assert!(plan.contains("tls.key is not certctl's link"), "{plan}");
    let line = format!("mv {0} {0}.old", key.display());
    let pages = [&["status", "web"][..], &["describe", "web"], &["doctor"]];
    for words in pages.into_iter().chain([&["issue"][..], &["deploy", "web"]]) {
        let run = world.run(words);
        let shown = run.stdout.clone() + &run.stderr;
        assert!(shown.contains(&line), "{words:?}: {run:?}");
    }
    let moved = Command::new("sh").args(["-c", &line]).status().unwrap();
    assert!(moved.success());
    world.run(&["deploy", "web"]).ends_in(0);
    assert!(fs::read_link(&key).is_ok());
    world.run(&["status", "web", "--exit-code"]).ends_in(0);
}

#[test]
fn a_certificate_does_not_replace_that_of_another_one_in_a_folder() {
    let world = World::start();
    let into = |name: &str, folder: &str| {
        let folder = world.path(folder).display().to_string();
        CertificateYaml::new(name).annotation("certctl/output-dir", &folder)
    };
    world.prepare(&[into("shop", "out")]);
    world.issue().ends_in(0);
    let shop = read(&world, "out/tls.crt");
    world.prepare(&[into("shop", "out"), into("api", "out/")]);
    world.run(&["validate"]).ends_in(0).says("warning[W0308]: metadata.annotations: Certificates");
    let another = "the certificate there does not belong to Certificate api: shop.example";
    let run = world.issue().ends_in(6).says(another);
    assert_eq!(read(&world, "out/tls.crt"), shop);
    // What it has never written is no copy of it.
    let forgotten = world.run(&["forget", "api", "--anyway"]).ends_in(0);
    assert!(!forgotten.stderr.contains("copies of its key"), "{}", forgotten.stderr);
    let run_again = world.issue().ends_in(6);
    assert!(run_again.stderr.contains(another), "{}", run_again.stderr);
    // The folder of one that is not written there any more is given to the other by two commands.
    world.prepare(&[into("shop", "elsewhere"), into("api", "out")]);
    let live = world.path("out/..data").display().to_string();
    assert!(run.stderr.contains(&format!("rm {live} and certctl deploy api")), "{run:?}");
    fs::remove_file(live).unwrap();
    world.run(&["deploy"]).ends_in(0);
    assert_eq!(read(&world, "elsewhere/tls.crt"), shop);
    assert!(read(&world, "out/tls.crt") != shop);
    // A Certificate may change all its names.
    world
        .prepare(&[into("shop", "elsewhere"), into("api", "out").for_names(&["new.example.test"])]);
    world.issue().ends_in(0);
    world.run(&["validate"]).ends_in(0);
}

/// `setfacl -d -m u:65534:r FOLDER`. `false` when the file system has no ACLs.
#[cfg(target_os = "linux")]
fn give_default_acl(folder: &Path) -> bool {
    const ANY_USER: u32 = u32::MAX;
    let entries = [
        (1_u16, 7_u16, ANY_USER),
        (2, 4, 65_534),
        (4, 5, ANY_USER),
        (16, 5, ANY_USER),
        (32, 0, ANY_USER),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, bits, id) in entries {
        bytes.extend([tag.to_le_bytes(), bits.to_le_bytes()].concat());
        bytes.extend(id.to_le_bytes());
    }
    let flags = rustix::fs::XattrFlags::empty();
    match rustix::fs::setxattr(folder, DEFAULT_ACL, &bytes, flags) {
        Err(Errno::OPNOTSUPP) if !cfg!(feature = "real-servers") => false,
        done => done.map(|()| true).unwrap(),
    }
}

#[cfg(target_os = "linux")]
const DEFAULT_ACL: &str = "system.posix_acl_default";

#[cfg(target_os = "linux")]
#[test]
fn a_default_acl_of_an_output_is_found_before_the_order() {
    let world = World::start();
    let out = world.path("out");
    let web = |mode| {
        CertificateYaml::new("web")
            .annotation("certctl/output-dir", &out.display().to_string())
            .annotation("certctl/output-mode", mode)
    };
    world.prepare(&[web("0640")]);
    fs::create_dir(&out).unwrap();
    if !give_default_acl(&out) {
        return;
    }
    let command = format!("setfacl -k {}", out.display());
    world.issue().ends_in(3).says("has a default ACL").says(&command);
    assert_eq!(world.ca.log().len(), 0, "no request to the CA");
    // What the command does.
    rustix::fs::removexattr(&out, DEFAULT_ACL).unwrap();
    world.issue().ends_in(0);
    let requests = world.ca.log().len();

    // Found by a deployment without an order, too.
    assert!(give_default_acl(&out));
    world.prepare(&[web("0440")]);
    world.issue().ends_in(3).says(&command);
    assert_eq!(world.ca.log().len(), requests, "no request to the CA");
    assert_eq!(fs::metadata(out.join("tls.key")).unwrap().mode() & 0o777, 0o640);
}

/// A folder of another user's can be made by root only; without root nothing is to be found here.
#[test]
fn as_root_an_output_below_another_users_folder_is_found_before_the_order() {
    let world = World::start();
    let www = world.path("www");
    fs::create_dir(&www).unwrap();
    let place = www.canonicalize().unwrap().join("tls").display().to_string();
    let web = CertificateYaml::new("web").annotation("certctl/output-dir", &place);
    world.prepare(std::slice::from_ref(&web));
    if fs::metadata(&www).unwrap().uid() == 0 {
        chown(&www, Some(65_534), None).unwrap();
        let shown = www.canonicalize().unwrap().display().to_string();
        let why = format!("{shown} is owned by user 65534 (mode 0755), not by root");
        let fix = format!(
            "check the files in {shown}, which user 65534 could have written; copy the good ones to a \
             new folder, or certctl/output-owner: \"65534\""
        );
        world.issue().ends_in(3).says(&why).says(&fix);
        let requests = world.ca.log().len();
        assert_eq!(requests, 0, "no request to the CA");
        world.prepare(&[web.annotation("certctl/output-owner", "65534")]);
    }
    world.issue().ends_in(0);
    assert!(www.join("tls/tls.key").exists());
}

#[test]
fn a_folder_that_a_manifest_names_no_more_keeps_its_files_and_that_is_said_once() {
    let world = deployed();
    let requests = world.ca.log().len();
    world.prepare(&[CertificateYaml::new("web")]);
    let folder = world.path("out");
    let text = format!("the files in {}, including the key, stay there", folder.display());
    world.issue().ends_in(0).says(&text);
    assert!(folder.join("tls.key").exists());
    assert_eq!(world.issue().ends_in(0).stderr, "");
    assert_eq!(world.ca.log().len(), requests, "no request to the CA");
}

#[test]
fn a_hook_that_others_could_write_is_not_run() {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
    hook(&world, "install", "echo ran > $W/ran");
    let path = world.path("config/hooks.d/install");
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    world.issue().ends_in(3).says("can be written by users other than");
    assert_eq!((world.ca.log().len(), read(&world, "ran")), (0, String::new()));
}

/// A manifest that names something that is not there, and the line and the field that do.
type Lack = (&'static str, usize, &'static str, fn(&World) -> String);

const LACKS: [Lack; 8] = [
    ("web.yaml", 6, "metadata.annotations.certctl/deploy-hook", |_| {
        CertificateYaml::new("web").annotation("certctl/deploy-hook", "absent").to_string()
    }),
    ("web.yaml", 6, "metadata.annotations.certctl/reload", |world| {
        world.write("config/hooks.d/plain", "no program");
        CertificateYaml::new("web").annotation("certctl/reload", "plain").to_string()
    }),
    ("web.yaml", 6, "metadata.annotations.certctl/output-dir", |world| {
        let out = world.path("no/parent").display().to_string();
        CertificateYaml::new("web").annotation("certctl/output-dir", &out).to_string()
    }),
    ("web.yaml", 6, "metadata.annotations.certctl/output-dir", |world| {
        world.write("out/tls.key", "another program's");
        let out = world.path("out").display().to_string();
        CertificateYaml::new("web").annotation("certctl/output-dir", &out).to_string()
    }),
    ("web.yaml", 15, "spec.keystores.jks.passwordSecretRef", |_| {
        let store = "keystores:\n    jks:\n      create: true\n      passwordSecretRef: \
                     {name: absent, key: password}";
        CertificateYaml::new("web").field(store).to_string()
    }),
    ("issuer.yaml", 10, "spec.acme.privateKeySecretRef.name", |world| {
        world.write_secret("ca-account", "tls.key", "no key");
        world.issuer().to_string()
    }),
    ("issuer.yaml", 9, "spec.acme.externalAccountBinding.keySecretRef.name", |world| {
        let eab = "externalAccountBinding: {keyID: a, keySecretRef: {name: absent, key: key}}";
        world.issuer().field(eab).to_string()
    }),
    ("issuer.yaml", 12, "spec.acme.solvers[0].dns01.cloudflare.apiTokenSecretRef.name", |world| {
        let token = "    - dns01: {cloudflare: {apiTokenSecretRef: {name: absent, key: token}}}\n";
        world.issuer().solvers(token).to_string()
    }),
];

#[test]
fn what_this_machine_lacks_is_found_before_an_order_with_its_line_and_field() {
    for (file, line, field, manifest) in LACKS {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        let text = manifest(&world);
        world.write(&format!("config/{file}"), &text);
        let before = world.state().everything();
        let place = format!("--> {}:{line}:", world.path(&format!("config/{file}")).display());
        for verb in ["validate", "plan"] {
            let run = world.run(&[verb]).ends_in(3);
            let said = format!("error[E0401]: {field}: ");
            assert!(run.stderr.contains(&said), "{verb}: {said}{}{text}", run.stderr);
            assert!(run.stderr.contains(&place), "{verb}: {place}{}{text}", run.stderr);
            assert_eq!(run.stderr.matches("E0401").count(), 1, "{}", run.stderr);
        }
        assert_eq!(world.state().everything(), before, "{field}");
        // The cause is said once, with its place.
        let run = world.issue().ends_in(3);
        let path = world.path(&format!("config/{file}")).display().to_string();
        let at = |said: &&str| said.contains(&format!("{path}:{line}:")) && said.contains(field);
        assert_eq!(run.stderr.lines().filter(at).count(), 1, "{}", run.stderr);
        assert!(!run.stderr.contains("E0401"), "{}", run.stderr);
        assert_eq!(world.sent(RequestKind::NewOrder), 0, "{field}");
        assert_eq!(world.state().record("web").status.failed_issuance_attempts, None);
    }
    // Without a config directory the manifests may be for another machine.
    let world = World::start();
    let web = CertificateYaml::new("web").annotation("certctl/deploy-hook", "absent");
    world.write("web.yaml", &web);
    world.write("issuer.yaml", &world.issuer());
    let without = world.path("none").display().to_string();
    let words = ["validate", "web.yaml", "issuer.yaml", "--config-dir", &without, "--strict"];
    let field = "metadata.annotations.certctl/deploy-hook: there is no hook ";
    let said = format!("warning[W0402]: {field}");
    world.run(&words[..5]).ends_in(0).says(&said).says("--> web.yaml:6:");
    world.run(&words).ends_in(3).says(&said);
}

#[test]
fn a_rehearsal_writes_and_runs_nothing() {
    let world = World::start();
    world.prepare(&[web(&world)]);
    hook(&world, "install", "echo ran > $W/ran");
    hook(&world, "reload", "echo ran > $W/ran");
    hook(&world, "on-failure", "echo ran > $W/ran");
    world.run(&["rehearse"]).ends_in(0);
    assert!(!world.path("out").exists() && !world.path("ran").exists());
    // Its failures are not reported either.
    let webroot = world.path("missing").display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/http01-webroot", &webroot)]);
    world.run(&["rehearse"]).ends_in(3);
    assert!(!world.path("ran").exists());
}

#[test]
fn the_operator_hears_of_a_failure_once_and_again_after_a_success() {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
    hook(&world, "install", "test -e $W/fine");
    hook(&world, "on-failure", "cat >> $W/told; echo \"$1 $CERTCTL_NAME\" >> $W/words");
    for _ in 0..3 {
        world.issue().ends_in(6);
    }
    assert_eq!(read(&world, "words"), "on-failure web\n", "told once");
    let event: Value = serde_json::from_str(&read(&world, "told")).unwrap();
    assert_eq!((&event["kind"], &event["stage"]), (&"FailureEvent".into(), &1.into()));
    assert!(event["message"].as_str().unwrap().contains("deploy hook install"), "{event}");
    for (name, time) in [("nextAttempt", &event["nextAttempt"]), ("notAfter", &event["notAfter"])] {
        assert!(
            time.as_str().is_none_or(|text| text.len() == "2026-11-21T03:12:09Z".len()),
            "{name}: {time}"
        );
    }
    world.write("fine", "");
    world.run(&["deploy"]).ends_in(0);
    fs::remove_file(world.path("fine")).unwrap();
    world.run(&["renew", "web"]).ends_in(6);
    assert_eq!(read(&world, "words").lines().count(), 2, "a new failure");
}

#[test]
fn a_renewal_that_was_requested_in_vain_is_reported_with_the_time_of_the_next_one() {
    let both = ["web.example.test", "www.example.test"];
    for (names, words) in [(&both[..1], &["renew", "web"][..]), (&both, &["issue"])] {
        let world = World::prepared(&[CertificateYaml::new("web").for_names(&both[..1])]);
        world.issue().ends_in(0);
        let script =
            "echo \"$CERTCTL_NEXT_ATTEMPT\" >> $W/told; echo \"$CERTCTL_MESSAGE\" > $W/why";
        hook(&world, "on-failure", script);
        let webroot = world.path("missing").display().to_string();
        let web = CertificateYaml::new("web").annotation("certctl/http01-webroot", &webroot);
        world.write("config/web.yaml", &web.for_names(names));
        world.run(words).ends_in(3);
        // What is to be issued is tried by the next run.
        let due = world.state().record("web").status.renewal_time.filter(|_| names.len() == 1);
        let told = due.map(rfc3339).unwrap_or_default() + "\n";
        assert_eq!(read(&world, "told"), told, "{names:?}");
        let why = read(&world, "why");
        assert!(why.contains("; to fix it: name the document root of the web server"), "{why}");
    }
}

#[test]
fn the_operator_hears_of_a_mistake_in_the_manifest_of_what_was_issued() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    hook(
        &world,
        "on-failure",
        "echo \"$CERTCTL_NAME $CERTCTL_STAGE_NAME $CERTCTL_MESSAGE\" >> $W/told",
    );
    let right = CertificateYaml::new("web").to_string();
    for (field, told) in [("dnsName", 1), ("dnsNamez", 2)] {
        world.write("config/web.yaml", &right.replace("dnsNames", field));
        // Another certificate that was never issued has a person before it.
        world.write("config/new.yaml", &right.replace("dnsNames", field).replace("web", "new"));
        for _ in 0..2 {
            world.issue().ends_in(3);
            assert_eq!(read(&world, "told").lines().count(), told, "once for each mistake");
        }
        assert!(read(&world, "told").lines().all(|line| line.starts_with("web failed ")));
        let last = read(&world, "told");
        assert!(last.lines().last().unwrap().contains(&format!("`{field}`")), "{last}");
    }
    fs::remove_file(world.path("config/new.yaml")).unwrap();
    world.write("config/web.yaml", &right);
    world.issue().says_nothing();
    assert_eq!(read(&world, "told").lines().count(), 2);
    // While another failure lasts, which was reported.
    let missing = world.path("missing").display().to_string();
    let failing = CertificateYaml::new("web").annotation("certctl/http01-webroot", &missing);
    let failing = failing.to_string().replace("web.example.test", "other.example.test");
    world.write("config/web.yaml", &failing);
    for _ in 0..2 {
        world.issue().ends_in(3);
        assert_eq!(read(&world, "told").lines().count(), 3, "{}", read(&world, "told"));
    }
    world.write("config/web.yaml", &failing.replace("dnsNames", "dnsName"));
    for _ in 0..2 {
        world.issue().ends_in(3);
        let told = read(&world, "told");
        assert_eq!(told.lines().count(), 4, "{told}");
        assert!(told.lines().last().unwrap().contains("`dnsName`"), "{told}");
    }
}

/// As the unit of systemd for issuing does, whose user may not be able to send mail.
#[test]
fn what_a_run_without_hooks_has_to_report_is_heard_from_the_next_one_with_hooks() {
    let world = World::start();
    let webroot = world.path("missing").display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/http01-webroot", &webroot)]);
    hook(
        &world,
        "on-failure",
        "cat >> $W/told; echo \"$1 $CERTCTL_NAME\" >> $W/words; test -e $W/fine",
    );
    for _ in 0..2 {
        world.run(&["issue", "--hooks", "later"]).ends_in(3);
    }
    assert!(!world.path("words").exists(), "not from this run");
    // A hook that fails is run again.
    world.run(&["deploy"]).ends_in(6).says("the on-failure hook failed");
    let unsent = || world.run(&["doctor", "--offline"]).stdout.contains("not reported");
    assert!(unsent());
    world.write("fine", "");
    for _ in 0..2 {
        world.run(&["deploy"]).ends_in(0);
    }
    assert!(!unsent());
    assert_eq!(read(&world, "words"), "on-failure web\n".repeat(2));
    let told = read(&world, "told");
    let event: Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!((&event["kind"], &event["stage"]), (&"FailureEvent".into(), &1.into()));
    assert!(event["message"].as_str().unwrap().contains(&webroot), "{event}");
    let left = || fs::read_dir(world.path("state/alerts")).unwrap().count();
    assert_eq!(left(), 0);
    // Of one that was issued before that, nothing is to be heard any more.
    let mail = CertificateYaml::new("mail").annotation("certctl/http01-webroot", &webroot);
    world.write("config/mail.yaml", &mail);
    world.run(&["issue", "mail", "--hooks", "later"]).ends_in(3);
    assert_eq!(left(), 1);
    assert!(unsent());
    let program = world.path("config/hooks.d/on-failure");
    fs::rename(&program, world.path("hook")).unwrap();
    assert!(!unsent(), "there is no hook that could report it");
    fs::rename(world.path("hook"), program).unwrap();
    world.write("config/mail.yaml", &CertificateYaml::new("mail"));
    world.run(&["issue", "mail", "--hooks", "later"]).ends_in(0);
    assert_eq!(left(), 0);
    // Nor of a certificate that is forgotten.
    let api = CertificateYaml::new("api").annotation("certctl/http01-webroot", &webroot);
    world.write("config/api.yaml", &api);
    world.run(&["issue", "api", "--hooks", "later"]).ends_in(3);
    assert_eq!(left(), 1);
    fs::remove_file(world.path("config/api.yaml")).unwrap();
    world.run(&["forget", "api"]).ends_in(0);
    assert_eq!(left(), 0);
}

/// The CA's certificates begin an hour before they are issued: this one is overdue at once.
#[test]
fn the_operator_hears_of_a_state_that_cannot_be_written() {
    let world = World::with(|ca| ca.leaf_lifetime = Duration::from_hours(4));
    world.prepare(&[CertificateYaml::new("web").field("renewBefore: 4h50m")]);
    world.issue().ends_in(0);
    hook(&world, "on-failure", "echo $CERTCTL_STAGE_NAME >> $W/stages");
    // Others can read keys in it: nothing is written into it.
    fs::set_permissions(world.path("state"), fs::Permissions::from_mode(0o755)).unwrap();
    world.issue().ends_in(7);
    assert_eq!(read(&world, "stages"), "overdue\n");
}

/// Something that happens to an output.
type Damage<'d> = &'d dyn Fn() -> std::io::Result<()>;

#[test]
fn an_output_that_has_lost_a_link_or_a_file_is_noticed_and_served_again() {
    let world = deployed();
    let requests = world.ca.requests();
    let out = world.path("out");
    let live = || out.join(fs::read_link(out.join("..data")).unwrap());
    let empty = |path: &Path| fs::File::create(path).map(drop);
    let before = (fs::read(out.join("tls.crt")).unwrap(), fs::read(out.join("tls.key")).unwrap());
    let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o666));
    let damages: [(&str, Damage<'_>, &str); 8] = [
        ("tls.key: open to other users", &|| open(&live().join("tls.key")), "issue"),
        ("tls.key is missing", &|| fs::remove_file(out.join("tls.key")), "issue"),
        ("tls.crt is missing", &|| fs::remove_file(out.join("tls.crt")), "deploy"),
        ("tls.key is missing", &|| fs::remove_file(live().join("tls.key")), "issue"),
        ("tls.key is damaged", &|| empty(&live().join("tls.key")), "issue"),
        ("tls.crt is damaged", &|| empty(&live().join("tls.crt")), "deploy"),
        ("tls.crt, tls.key are missing", &|| fs::remove_file(out.join("..data")), "issue"),
        ("tls.crt, tls.key are missing", &|| fs::remove_dir_all(&out), "issue"),
    ];
    for (what, damage, verb) in damages {
        fs::remove_file(world.path("steps")).unwrap();
        damage().unwrap();
        let said = format!("output to {} mode 0640: {what}", out.display());
        let status = world.run(&["describe", "web"]).ends_in(0).stdout;
        assert!(status.contains("Status: PENDING DEPLOY"), "{what}: {status}");
        assert!(status.contains(&said), "{what}: {status}");
        let plan = world.run(&["plan", "--exit-code"]).ends_in(10).stdout;
        assert!(plan.contains(&said), "{what}: {plan}");
        world.run(&[verb]).ends_in(0);
        let now = (fs::read(out.join("tls.crt")).unwrap(), fs::read(out.join("tls.key")).unwrap());
        assert!(now == before, "{what}");
        assert_eq!(read(&world, "steps"), "installed\nreloaded\n", "{what}");
        let mode = fs::metadata(out.join("tls.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{what}");
        world.issue().says_nothing();
        assert!(world.run(&["status"]).stdout.contains("READY"), "{what}");
    }
    assert_eq!(world.ca.requests(), requests);
}

#[test]
fn what_is_deployed_is_deployed_again_when_asked_for() {
    let world = deployed();
    let requests = world.ca.requests();
    let set = || fs::read_link(world.path("out/..data")).unwrap();
    let before = set();
    world.run(&["deploy"]).ends_in(0);
    assert_eq!((read(&world, "steps").as_str(), set() == before), ("installed\nreloaded\n", true));
    for count in 2..4 {
        let last = set();
        world.run(&["deploy", "--again", "web"]).ends_in(0);
        assert_eq!(read(&world, "steps"), "installed\nreloaded\n".repeat(count));
        assert!(set() != last);
    }
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
}

#[test]
fn a_fixed_hook_is_run_at_once_for_a_named_certificate_and_what_was_not_tried_is_not_told_as_tried()
{
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")]);
    hook(&world, "install", "echo tried >> $W/tries; exit 7");
    let tries = || read(&world, "tries").lines().count();
    world
        .issue()
        .ends_in(6)
        .says("the next run retries; once the cause is fixed: certctl deploy web");
    // A run on a terminal says what is wrong each time; `deploy` and a name are as explicit.
    world.run(&["deploy", "web"]).ends_in(6).says("next attempt ");
    assert_eq!(tries(), 2);
    world.issue().ends_in(6);
    assert_eq!(tries(), 2, "without a name it waits");
    world.run(&["issue", "web"]).ends_in(6);
    assert_eq!(tries(), 3, "with one it does not");
    hook(&world, "install", "echo done > $W/done");
    world.run(&["issue", "web"]).ends_in(0);
    assert_eq!(read(&world, "done"), "done\n");
}

#[test]
fn hooks_that_a_run_leaves_are_pending_until_a_deploy_runs_them() {
    let world = World::start();
    world.prepare(&[web(&world)]);
    hook(&world, "install", "echo installed >> $W/steps");
    hook(&world, "reload", "test -e $W/server && echo reloaded >> $W/steps");
    world.run(&["issue", "--hooks", "later"]).ends_in(0);
    assert!(world.path("out/tls.key").exists() && read(&world, "steps").is_empty());
    let status = |words: &[&str]| world.run(&[&["status", "--exit-code"], words].concat());
    let pending = status(&[]).ends_in(8).stdout;
    assert!(pending.contains("PENDING DEPLOY"), "{pending}");
    let deployed = || {
        let text = status(&["web", "-o", "json"]).stdout;
        let object: Value = serde_json::from_str(&text).unwrap();
        let conditions = object["status"]["conditions"].as_array().unwrap().clone();
        conditions.into_iter().find(|one| one["type"] == "Deployed").unwrap()
    };
    assert_eq!(
        (deployed()["status"].as_str(), deployed()["reason"].as_str()),
        (Some("False"), Some("Pending"))
    );
    // An hourly run leaves it again, without a word.
    world.run(&["issue", "--hooks", "later"]).says_nothing();
    // As the unit of the hooks retries it: each time with the reason.
    for _ in 0..2 {
        world.run(&["deploy", "-q"]).ends_in(6).says("reload").says("exit code 1");
    }
    assert_eq!(read(&world, "steps"), "installed\n");
    assert_eq!(deployed()["reason"], "DeployFailed");
    world.write("server", "");
    world.run(&["deploy"]).ends_in(0);
    assert_eq!(read(&world, "steps"), "installed\nreloaded\n");
    assert_eq!(deployed()["status"], "True");
    status(&[]).ends_in(0);
    assert_eq!(world.ca.issued(), 1);
}

#[test]
fn a_reload_that_fails_when_all_is_deployed_again_is_an_error_until_it_succeeds() {
    let world = deployed();
    let requests = world.ca.requests();
    let pending = || {
        let status = world.run(&["status", "--exit-code"]).ends_in(8).stdout;
        assert!(status.contains("PENDING DEPLOY"), "{status}");
    };
    hook(&world, "reload", "echo tried >> $W/tries; exit 3");
    let tries = || read(&world, "tries").lines().count();
    let said = "issued but not deployed: reload reload: hooks.d/reload: exit code 3";
    world.run(&["deploy", "--again", "web"]).ends_in(6).says(said);
    pending();
    let plan = world.run(&["plan", "--exit-code"]).ends_in(10).stdout;
    assert!(plan.contains("reload reload"), "{plan}");
    // The next run tries it; then it waits, and no index hides it.
    for count in [2, 2, 2, 2] {
        world.issue().ends_in(6).says(said);
        assert_eq!(tries(), count);
    }
    pending();
    let plan = world.run(&["plan"]).ends_in(0).stdout;
    assert!(plan.contains("1 waiting") && !plan.contains("unchanged"), "{plan}");
    // Without --again, and without a wait.
    world.run(&["deploy"]).ends_in(6).says(said);
    assert_eq!(tries(), 3);
    hook(&world, "reload", "echo reloaded >> $W/steps");
    world.issue().ends_in(6);
    fs::remove_file(world.path("steps")).unwrap();
    world.run(&["deploy", "web"]).ends_in(0);
    assert_eq!(read(&world, "steps"), "reloaded\n");
    world.run(&["status", "--exit-code"]).ends_in(0);
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
}

#[test]
fn a_renewal_does_not_wait_for_what_failed_before_it() {
    let world = deployed();
    hook(&world, "reload", "exit 3");
    world.run(&["deploy", "--again", "web"]).ends_in(6);
    world.issue().ends_in(6);
    // It waits now; the next pair does not.
    hook(&world, "reload", "echo reloaded >> $W/again");
    world.issue().ends_in(6);
    world.write("config/web.yaml", &web(&world).field("commonName: web.example.test"));
    world.issue().ends_in(0);
    assert_eq!(read(&world, "again"), "reloaded\n");
    assert_eq!(world.ca.issued(), 2);
}

/// The user of the services.
const SERVICE: u32 = 54_323;

/// `deploy` as that user, who has these capabilities.
fn deploy_as_service(world: &World, capabilities: &str) -> Run {
    let mut command = Command::new("setpriv");
    let user = SERVICE.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.args(["--inh-caps", capabilities, "--ambient-caps", capabilities]);
    command.arg(world.path("certctl")).args(["deploy", "--hooks", "as-root"]);
    world.surround(&mut command);
    finish(command.spawn().unwrap())
}

/// `HOME`, `USER`, `LOGNAME`, `SHELL` and `PATH` of what runs as root.
fn variables_of_root() -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let root = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let root = root.into_iter().find(|fields| fields[2] == "0").unwrap();
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    format!("{} {1} {1} {2} {path}", root[5], root[0], root[6])
}

#[test]
fn what_root_runs_gets_roots_variables_whatever_certctl_has() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world =
        World::prepared(
            &[CertificateYaml::new("web").annotation("certctl/deploy-hook", "install")],
        );
    hook(&world, "install", "echo \"$HOME $USER $LOGNAME $SHELL $PATH\" > $W/who");
    let mut run = world.command(&["issue"]);
    run.env("HOME", world.path("theirs")).env("PATH", world.path("theirs"));
    finish(run.spawn().unwrap()).ends_in(0);
    assert_eq!(read(&world, "who"), format!("{}\n", variables_of_root()));
}

#[test]
fn what_the_state_says_of_a_failure_reaches_its_hook_as_names_and_one_line() {
    let world = World::start();
    let webroot = world.path("missing").display().to_string();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/http01-webroot", &webroot)]);
    hook(&world, "on-failure", "printf '%s|%s' \"$CERTCTL_NAME\" \"$CERTCTL_MESSAGE\" > $W/told");
    let left = || {
        world.run(&["issue", "--hooks", "later"]).ends_in(3);
        let mut left = fs::read_dir(world.path("state/alerts")).unwrap();
        let path = left.next().unwrap().unwrap().path();
        let event: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (path, event)
    };
    let (path, mut event) = left();
    event["message"] = "no\u{1b}[31m\nBcc: everybody@victim.example".into();
    atomic::write(&path, event.to_string().as_bytes(), 0o600).unwrap();
    world.run(&["deploy"]).ends_in(0);
    assert_eq!(read(&world, "told"), "web|no\\u{1b}[31m\\nBcc: everybody@victim.example");
    fs::remove_file(world.path("told")).unwrap();
    event["certificate"]["name"] = "web\nBcc: everybody@victim.example".into();
    atomic::write(&path, event.to_string().as_bytes(), 0o600).unwrap();
    world.run(&["deploy"]).ends_in(0).says("is not a valid name of an object");
    assert!(!world.path("told").exists(), "{}", read(&world, "told"));
}

#[test]
fn no_manifest_has_files_written_among_certctls_own() {
    let world = World::start();
    hook(&world, "any", "true");
    fs::create_dir_all(world.path("config/solvers.d")).unwrap();
    fs::create_dir(world.path("real")).unwrap();
    let web = CertificateYaml::new("web");
    let config = world.path("config").display().to_string();
    for (folder, relation) in [
        ("config", "is"),
        ("config/hooks.d", "lies below"),
        ("config/solvers.d/certctl", "lies below"),
        ("state", "is"),
        ("", "contains"),
    ] {
        let named = world.path(folder).canonicalize().unwrap_or_else(|_| world.path(folder));
        let named = named.display().to_string();
        for annotation in ["certctl/output-dir", "certctl/http01-webroot"] {
            if annotation == "certctl/http01-webroot" && !world.path(folder).exists() {
                continue;
            }
            world.prepare(&[web.clone().annotation(annotation, named.trim_end_matches('/'))]);
            let said = format!(" {relation} ");
            // A webroot may be missing on the host of a draft, and is a warning.
            let code = if annotation == "certctl/output-dir" { 3 } else { 0 };
            let draft = world.run(&["validate"]).ends_in(code);
            let issued = world.issue().ends_in(3);
            for run in [draft, issued] {
                run.says(&said).says("whose files are certctl's own");
            }
        }
    }
    assert_eq!(world.ca.requests(), 0);
    // Nor where a folder of certctl's leads.
    fs::rename(world.path("config/hooks.d"), world.path("hooks")).unwrap();
    symlink(world.path("hooks"), world.path("config/hooks.d")).unwrap();
    let hooks = world.path("hooks").canonicalize().unwrap().display().to_string();
    world.prepare(&[web.clone().annotation("certctl/output-dir", &hooks)]);
    world.run(&["validate"]).ends_in(3).says(" is ").says("whose files are certctl's own");
    // Nor anywhere but where the operator allows it.
    let out = world.path("out").display().to_string();
    world.prepare(&[web.clone().annotation("certctl/output-dir", &out)]);
    let real = world.path("real").display().to_string();
    world.write("config/config.toml", &format!("output-roots = [\"{real}\"]\n"));
    for words in [&["validate"][..], &["issue"]] {
        world.run(words).ends_in(3).says(&format!("{out} is not below any of output-roots"));
    }
    world.prepare(&[web.annotation("certctl/output-dir", &format!("{real}/web"))]);
    world.run(&["validate"]).ends_in(0);
    world.issue().ends_in(0);
    assert!(world.path("real/web/tls.key").exists());
    assert!(!Path::new(&config).join("tls.key").exists());
}

#[test]
fn a_service_without_rights_runs_the_hooks_of_root_as_root_and_no_others() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/reload", "reload")]);
    let own = "echo \"$HOME $USER $LOGNAME $SHELL $PATH\"";
    hook(&world, "reload", &format!("(id -u; id -g; {own}) > $W/who"));
    fs::set_permissions(world.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_certctl"), world.path("certctl")).unwrap();
    world.run(&["issue", "--hooks", "later"]).ends_in(0);
    for entry in world.state().everything().into_keys().chain([world.path("state")]) {
        lchown(&entry, Some(SERVICE), Some(SERVICE)).unwrap();
    }
    deploy_as_service(&world, "-all").ends_in(6).says("--hooks as-root needs CAP_SETUID");
    // What the user of the service could have written is not run as root.
    let program = world.path("config/hooks.d/reload");
    chown(&program, Some(SERVICE), Some(SERVICE)).unwrap();
    deploy_as_service(&world, "+setuid,+setgid,+kill").ends_in(3);
    assert!(!world.path("who").exists());
    chown(&program, Some(0), Some(0)).unwrap();
    deploy_as_service(&world, "+setuid,+setgid,+kill").ends_in(0);
    // What certctl was started with names folders of its own user.
    assert_eq!(read(&world, "who"), format!("0\n0\n{}\n", variables_of_root()));
    let status = fs::metadata(world.path("state/certificates/default/web/status.json")).unwrap();
    assert_eq!(status.uid(), SERVICE);
}
