//! Root acts as the owner of the state.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::support::{CertificateYaml, World, finish};

/// The owner of the state.
const OWNER: u32 = 54_324;

/// A world whose state belongs to another user, with a certificate that names a reload. `None` where
/// the tests are not root's.
fn world() -> Option<World> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web").annotation("certctl/reload", "reload")]);
    fs::set_permissions(world.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let state = world.path("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    chown(&state, Some(OWNER), Some(OWNER)).unwrap();
    Some(world)
}

fn hook(world: &World, script: &str) {
    let program = world.write("config/hooks.d/reload", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(program, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn root_issues_as_the_owner_of_the_state_and_runs_hooks_as_root() {
    let Some(world) = world() else { return };
    let told = world.path("told");
    hook(
        &world,
        &format!("(id -u; grep -E '^(Uid|Groups|CapEff)' /proc/$PPID/status) > {}", told.display()),
    );
    let planned = world.run(&["plan", "--exit-code"]).ends_in(10).stderr;
    assert_eq!(planned, "");
    world.run(&["issue"]).ends_in(0);
    // KILL, SETGID, SETUID and NET_BIND_SERVICE.
    let expected = format!(
        "0\nUid:\t{OWNER}\t{OWNER}\t{OWNER}\t{OWNER}\nGroups:\t{OWNER} \nCapEff:\t00000000000004e0\n"
    );
    assert_eq!(fs::read_to_string(told).unwrap(), expected);
    for file in world.state().everything().into_keys() {
        assert_eq!(fs::symlink_metadata(&file).unwrap().uid(), OWNER, "{}", file.display());
    }
    world.run(&["status", "--exit-code"]).ends_in(0);
    world.run(&["doctor", "--offline"]).ends_in(0);
    world.run(&["renew", "web"]).ends_in(0);
    assert_eq!(world.ca.issued(), 2);
}

#[test]
fn root_runs_no_hook_that_a_manifest_of_the_owner_names() {
    let Some(world) = world() else { return };
    hook(&world, &format!("echo $CERTCTL_CERTIFICATES >> {}", world.path("reloaded").display()));
    world.write_program("config/hooks.d/switch", &format!("touch {}", world.path("ran").display()));
    let mail = CertificateYaml::new("mail").annotation("certctl/reload", "reload");
    let evil = CertificateYaml::new("evil").annotation("certctl/deploy-hook", "switch");
    for (name, manifest) in [("mail", mail), ("evil", evil)] {
        let path = world.write(&format!("theirs/{name}.yaml"), &manifest);
        chown(path, Some(OWNER), Some(OWNER)).unwrap();
    }
    chown(world.path("theirs"), Some(OWNER), Some(OWNER)).unwrap();
    let theirs = world.path("theirs").display().to_string();
    let mut command = world.command(&["issue", &theirs, "--hooks", "later"]);
    finish(command.uid(OWNER).gid(OWNER).spawn().unwrap()).ends_in(0);
    // The state names these manifests: what root types runs root's own hooks alone.
    for words in [&["issue"][..], &["deploy"], &["deploy", "--again"]] {
        let run = world.run(words).ends_in(6);
        for name in ["mail", "evil"] {
            let why = format!("no hook runs as root for {theirs}/{name}.yaml");
            assert!(run.stderr.contains(&why), "{words:?}: {run:?}");
        }
    }
    assert!(!world.path("ran").exists());
    assert_eq!(fs::read_to_string(world.path("reloaded")).unwrap(), "default/web\n".repeat(2));
    let shown = world.run(&["status"]).stdout;
    assert_eq!(shown.matches("PENDING DEPLOY").count(), 2, "{shown}");
}

/// Its annotations hold for root's Certificate as well.
#[test]
fn root_runs_no_hook_for_an_issuer_that_the_owner_can_change() {
    let Some(world) = world() else { return };
    hook(&world, &format!("echo $CERTCTL_CERTIFICATES >> {}", world.path("reloaded").display()));
    world.write_program("config/hooks.d/switch", &format!("touch {}", world.path("ran").display()));
    let issuer = world.issuer().to_string().replace("  name: ca\n", "  name: lent\n");
    assert!(issuer.contains("  name: lent\n"), "{issuer}");
    let path = world.path("theirs/mail.yaml");
    world.write("theirs/mail.yaml", &format!("{issuer}---\n{}", CertificateYaml::new("mail")));
    for path in [&path, &world.path("theirs")] {
        chown(path, Some(OWNER), Some(OWNER)).unwrap();
    }
    let lent = CertificateYaml::new("lent").annotation("certctl/deploy-hook", "switch").to_string();
    let of_theirs = lent.replace("issuerRef:\n    name: ca\n", "issuerRef:\n    name: lent\n");
    assert_ne!(of_theirs, lent);
    world.write("config/lent.yaml", &of_theirs);
    let theirs = world.path("theirs").display().to_string();
    let mut command = world.command(&["issue", &theirs, "--hooks", "later"]);
    finish(command.uid(OWNER).gid(OWNER).spawn().unwrap()).ends_in(0);
    let why = format!("no hook runs as root for {}", path.display());
    world.run(&["issue"]).ends_in(6).says(&why);
    assert!(!world.path("ran").exists());
    assert_eq!(fs::read_to_string(world.path("reloaded")).unwrap(), "default/web\n");
}

/// As a unit of systemd gives them to its service (`AmbientCapabilities=`).
#[test]
fn the_rights_of_a_service_are_not_those_of_its_hooks() {
    let setpriv = "/usr/bin/setpriv";
    if !fs::exists(setpriv).unwrap() {
        writeln!(std::io::stderr(), "NOT RUN: {setpriv} is not installed").ok();
        return;
    }
    let Some(world) = world() else { return };
    let told = world.path("state/told");
    let rights = "grep -E '^Cap(Eff|Amb)' /proc/$PPID/status /proc/self/status";
    hook(&world, &format!("{rights} | sed 's/.*Cap/Cap/' > {}", told.display()));
    let program = world.path("config/hooks.d/reload");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let certctl = world.command(&["issue"]);
    let mut service = Command::new(setpriv);
    let user = [format!("--reuid={OWNER}"), format!("--regid={OWNER}")];
    let right = ["--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"];
    service.args(user).arg("--clear-groups").args(right);
    service.arg(certctl.get_program()).args(certctl.get_args());
    world.surround(&mut service);
    finish(service.spawn().unwrap()).ends_in(0);
    let (right, none) = ("0000000000000400", "0000000000000000");
    let expected = [("Eff", right), ("Amb", none), ("Eff", none), ("Amb", none)];
    let expected = expected.map(|(name, set)| format!("Cap{name}:\t{set}\n")).concat();
    assert_eq!(fs::read_to_string(told).unwrap(), expected);
}

#[test]
fn the_holder_of_the_port_is_named_to_root_which_gives_up_the_right_to_see_it() {
    let Some(world) = world() else { return };
    hook(&world, "");
    // Another user's socket, to the owner of the state.
    world.port.socket.listen(1).unwrap();
    let (port, pid) = (world.port.address(), std::process::id());
    let name = fs::read_to_string("/proc/self/comm").unwrap();
    let held = format!("{port} is in use by {} (pid {pid})", name.trim_end());
    for words in [&["issue"][..], &["doctor", "--offline"], &["status", "web"]] {
        let run = world.run(words);
        let said = run.stdout + &run.stderr;
        assert!(said.contains(&held) && !said.contains("another user"), "{words:?}: {said}");
    }
}

#[test]
fn what_the_owner_could_not_do_root_does_not_do_for_it() {
    let Some(world) = world() else { return };
    hook(&world, "");
    // What the owner of the state could change is not run as root; it costs no order.
    let program = world.path("config/hooks.d/reload");
    chown(&program, Some(OWNER), None).unwrap();
    let ran_as = format!("note: this ran as user {OWNER}, as the timer does");
    world.run(&["issue"]).ends_in(3).says("reload").says(&ran_as);
    // No right of root would find a typing error.
    let mistyped = world.run(&["status", "wbe"]).ends_in(3).says("not found");
    assert!(!mistyped.stderr.contains("ran as"), "{}", mistyped.stderr);
    chown(&program, Some(0), None).unwrap();
    // An output that is root's alone.
    let folder = world.path("out");
    fs::create_dir(&folder).unwrap();
    let output = folder.display().to_string();
    world.write(
        "config/web.yaml",
        &CertificateYaml::new("web")
            .annotation("certctl/output-dir", &output)
            .annotation("certctl/reload", "reload"),
    );
    for words in [&["issue"][..], &["doctor", "--offline"]] {
        world.run(words).ends_in(3).says(&ran_as);
    }
    assert_eq!(world.ca.requests(), 0);
    chown(&folder, Some(OWNER), None).unwrap();
    // A setting stands above the default.
    let told = world.path("state/ran-by");
    hook(&world, &format!("id -u > {}", told.display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    world.write("config/config.toml", "hooks = \"now\"\n");
    world.run(&["issue"]).ends_in(0);
    assert_eq!(fs::read_to_string(told).unwrap(), format!("{OWNER}\n"));
}

#[test]
fn a_secret_is_judged_and_stored_for_the_owner() {
    let Some(world) = world() else { return };
    hook(&world, "");
    let root = world.write("root.pem", &world.ca.root_pem()).display().to_string();
    let server = world.ca.directory_url();
    let words = ["create", "issuer", "dns", "--server", &server, "--ca-bundle", &root];
    let config = world.path("config").display().to_string();
    let more = ["--email", "a@example.test", "--dns01", "cloudflare", "--into", &config];
    world.run(&[&words[..], &more].concat()).ends_in(0);
    let manifest = fs::read_to_string(world.path("config/issuer-dns.yaml")).unwrap();
    let group = format!("install -D -m 0640 -g {OWNER} /dev/stdin");
    assert!(manifest.contains(&group), "{manifest}");
    let token = world.path("config/secrets/default/cloudflare/apiToken");
    let line = format!("install -D -m 0640 -g {OWNER} /dev/stdin {}", token.display());
    world.run(&["validate"]).ends_in(3).says("E0401").says(&line).says("ran as user");
    world.write_secret("cloudflare", "apiToken", "t");
    let line = format!("chgrp {OWNER} {0} && chmod 0640 {0}", token.display());
    world.run(&["validate"]).ends_in(3).says("Permission denied").says(&line);
    // A file that is named may be a draft, which root alone can read.
    world.run(&["validate", &config]).ends_in(0);
    fs::set_permissions(&token, fs::Permissions::from_mode(0o640)).unwrap();
    chown(&token, Some(0), Some(OWNER)).unwrap();
    world.run(&["validate"]).ends_in(0);
}

#[test]
fn a_webroot_that_the_owner_may_not_write_into_is_said_when_the_manifest_is_made() {
    let Some(world) = world() else { return };
    let (config, www) = (world.path("config"), world.path("www"));
    let (config, www) = (config.to_str().unwrap(), www.to_str().unwrap());
    let create = |name: &str| {
        let words = ["create", "certificate", "www.example.test", "--issuer", "ca", "--name", name];
        world.run(&[&words[..], &["--webroot", www, "--into", config]].concat()).ends_in(0)
    };
    let missing = create("missing").says("warning: webroot: ").says("No such file or directory");
    let line = format!("install -d -m 0755 -o {OWNER} -g {OWNER} {www}");
    missing
        .says(&format!(", or create this folder: {line}/.well-known/acme-challenge\n"))
        .says(&format!("(runs act as user {OWNER}, the owner of the state)"));
    fs::create_dir(www).unwrap();
    let denied = create("denied").says("warning: webroot: ");
    in_a_shell(denied.stderr.lines().find_map(|line| line.strip_prefix("  try: ")).unwrap());
    let well = create("well");
    assert!(!well.stderr.contains("webroot"), "{}", well.stderr);
}

/// What it says is told beside that root's runs do not read it.
#[test]
fn a_file_that_another_user_could_have_written_is_validated_all_the_same() {
    let Some(world) = world() else { return };
    let draft =
        world.write("home/draft.yaml", &world.issuer().to_string().replace("server:", "serwer:"));
    let other = OWNER + 1;
    chown(world.path("home"), Some(other), Some(other)).unwrap();
    let validated = world.run(&["validate", draft.to_str().unwrap()]).ends_in(3);
    validated.says("error[E0011]: ").says(&format!("is owned by user {other}")).says("serwer");
    world.run(&["plan", draft.to_str().unwrap()]).ends_in(3).says("E0011");
}

#[test]
fn an_output_that_the_owner_may_not_write_is_said_when_the_manifest_is_made() {
    let Some(world) = world() else { return };
    let (config, out) = (world.path("config"), world.path("out"));
    let (config, out) = (config.to_str().unwrap(), out.to_str().unwrap());
    let create = |name: &str, more: &[&str]| {
        let words = ["create", "certificate", "www.example.test", "--issuer", "ca", "--name", name];
        let words = [&words[..], &["--output-dir", out, "--into", config], more].concat();
        let run = world.run(&words).ends_in(0);
        // The folder is of one Certificate alone.
        fs::remove_file(world.path(&format!("config/certificate-{name}.yaml"))).unwrap();
        run
    };
    create("denied", &[]).says("warning: output: ").says("  try: install -d");
    // No folder that is made changes that.
    create("given", &["--output-owner", "nobody"]).says("cannot give files to user nobody");
    fs::create_dir(out).unwrap();
    chown(out, Some(OWNER), Some(OWNER)).unwrap();
    create("given", &["--output-owner", "nobody"])
        .says("cannot give files to user nobody")
        .says("try: replace certctl/output-owner by certctl/output-group");
    let well = create("well", &[]);
    assert!(!well.stderr.contains("output: "), "{}", well.stderr);
}

/// Every verb that meets a folder that the owner may not write into ends in this.
fn all_say(world: &World, fix: &str) {
    for words in [&["issue"][..], &["plan"], &["doctor", "--offline"], &["validate", "--host"]] {
        let run = world.run(words).ends_in(3);
        // Where a terminal would wrap it, it is one line all the same.
        assert!(run.stdout.contains(fix) || run.stderr.contains(fix), "{words:?}: {fix}\n{run:?}");
    }
}

fn in_a_shell(line: &str) {
    assert!(Command::new("/bin/sh").args(["-c", line]).status().unwrap().success(), "{line}");
}

#[test]
fn a_folder_that_the_owner_may_not_write_into_ends_in_a_command_that_is_right() {
    let Some(world) = world() else { return };
    let output = |folder: &str| {
        let web = CertificateYaml::new("web");
        world.write("config/web.yaml", &web.annotation("certctl/output-dir", folder));
    };
    let own =
        |mode: &str, folder: &str| format!("install -d -m {mode} -o {OWNER} -g {OWNER} {folder}");
    let folder = world.path("out").display().to_string();
    // Missing, then made by root as it is usual.
    output(&folder);
    all_say(&world, &own("0750", &folder));
    fs::create_dir(world.path("out")).unwrap();
    all_say(&world, &own("0750", &folder));
    // What others use stays theirs.
    world.write("out/nginx.conf", "");
    let below = format!("{folder}/NAME");
    let advice = "name a folder for certctl alone in certctl/output-dir, such as";
    all_say(&world, &format!("{advice} {below}, and make it: {}", own("0750", &below)));
    assert_eq!(world.ca.requests(), 0);
    let folder = format!("{folder}/web");
    output(&folder);
    in_a_shell(&own("0750", &folder));
    world.run(&["issue"]).ends_in(0);
    assert!(fs::exists(world.path("out/web/tls.crt")).unwrap());
    // The files of certctl are nobody else's.
    chown(&folder, Some(0), Some(0)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let run = world.run(&["doctor", "--offline"]).ends_in(3);
    assert!(run.stdout.contains(&format!("try: {}\n", own("0750", &folder))), "{run:?}");
}

/// A group that the owner of the state is not in.
const GROUP: u32 = 54_325;

#[test]
fn an_owner_or_a_group_that_cannot_have_the_files_is_found_before_the_order() {
    let Some(world) = world() else { return };
    let folder = world.path("out").display().to_string();
    let output = |name: &str| {
        let web = CertificateYaml::new("web").annotation("certctl/output-dir", &folder);
        world.write("config/web.yaml", &web.annotation(name, &GROUP.to_string()));
    };
    let own = format!("install -d -m 0750 -o {OWNER} -g {OWNER} {folder}");
    in_a_shell(&own);
    output("certctl/output-owner");
    all_say(&world, &format!("user {OWNER}, which cannot give files to user {GROUP}"));
    all_say(&world, "certctl help hooks");
    output("certctl/output-group");
    all_say(&world, &format!("user {OWNER} is not in group {GROUP}"));
    let fix = format!("install -d -m 2750 -o {OWNER} -g {GROUP} {folder}");
    all_say(&world, &fix);
    assert_eq!(world.ca.requests(), 0);
    in_a_shell(&fix);
    world.run(&["issue"]).ends_in(0);
    world.run(&["doctor", "--offline"]).ends_in(0);
    world.run(&["renew", "web"]).ends_in(0);
    let key = fs::metadata(world.path("out/tls.key")).unwrap();
    assert_eq!((key.uid(), key.gid(), key.mode() & 0o7777), (OWNER, GROUP, 0o640));
}

#[test]
fn a_webroot_that_the_owner_may_not_write_into_ends_in_a_command_that_is_right() {
    let Some(world) = world() else { return };
    let webroot = world.path("www");
    let tokens = webroot.join(".well-known/acme-challenge").display().to_string();
    let web = CertificateYaml::new("web");
    let shown = webroot.display().to_string();
    world.write("config/web.yaml", &web.annotation("certctl/http01-webroot", &shown));
    let own = format!("install -d -m 0755 -o {OWNER} -g {OWNER} {tokens}");
    all_say(&world, &own);
    fs::create_dir(&webroot).unwrap();
    fs::set_permissions(&webroot, fs::Permissions::from_mode(0o700)).unwrap();
    all_say(&world, &format!("setfacl -m u:{OWNER}:rx {shown}"));
    fs::set_permissions(&webroot, fs::Permissions::from_mode(0o755)).unwrap();
    all_say(&world, &own);
    world.write("www/.well-known/acme-challenge/of-another-client", "");
    all_say(&world, &format!("setfacl -m u:{OWNER}:rwx {tokens}"));
    fs::remove_file(world.path("www/.well-known/acme-challenge/of-another-client")).unwrap();
    in_a_shell(&own);
    world.run(&["plan"]).ends_in(0);
    world.run(&["doctor", "--offline"]).ends_in(0);
    assert_eq!(world.ca.requests(), 0);
}

/// The mode of a file or folder.
fn mode(world: &World, path: &str, mode: u32) {
    fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_is_not_the_owners_in_its_state_ends_in_the_command_that_makes_it_so() {
    let Some(world) = world() else { return };
    hook(&world, "");
    world.run(&["issue"]).ends_in(0);
    let requests = world.ca.requests();
    let says = |all: &[&[&str]], fix: &str| {
        for words in all {
            let run = world.run(words);
            assert!(
                run.stdout.contains(fix) || run.stderr.contains(fix),
                "{words:?}: {fix}\n{run:?}"
            );
        }
        let run = world.run(&["doctor", "--offline"]);
        let row = run.stdout.lines().position(|line| line.starts_with("FAIL  state "));
        let below = row.and_then(|row| run.stdout.lines().nth(row + 1)).unwrap_or_default();
        assert_eq!(below.trim(), format!("try: {fix}"), "{run:?}");
        assert!(!run.stdout.contains("state damaged"), "{run:?}");
        in_a_shell(fix);
        world.run(&["doctor", "--offline"]).ends_in(0);
    };
    let issue: &[&[&str]] = &[&["issue"]];
    let state = world.path("state").display().to_string();
    let secrets = format!("{state}/secrets");
    // A folder that root has made, alone and with what is in it.
    chown(world.path("state/secrets"), Some(0), Some(0)).unwrap();
    says(issue, &format!("chown -R {OWNER} {secrets}"));
    mode(&world, "state/secrets", 0o700);
    chown(world.path("state/secrets"), Some(0), Some(0)).unwrap();
    says(issue, &format!("chown -R {OWNER} {secrets}"));
    // A folder that its owner may not write into.
    mode(&world, "state", 0o500);
    says(issue, &format!("chmod 0700 {state}"));
    mode(&world, "state/accounts", 0o500);
    says(issue, &format!("chmod 0700 {state}/accounts"));
    // A file of a pair that is root's.
    let key = fs::canonicalize(format!("{secrets}/default/web-tls/tls.key")).unwrap();
    chown(&key, Some(0), Some(0)).unwrap();
    let linked = format!("chown {OWNER} {secrets}/default/web-tls/..data/tls.key\n");
    for verb in ["plan", "issue"] {
        world.run(&[verb]).ends_in(7).says(&linked);
    }
    says(&[], &format!("chown {OWNER} {}", key.display()));
    // The state alone is root's.
    chown(&state, Some(0), Some(0)).unwrap();
    says(&[&["issue"], &["plan"]], &format!("chown {OWNER} {state}"));
    // Another user's is not trusted unread.
    chown(world.path("state/secrets"), Some(OWNER + 1), None).unwrap();
    let look = format!("chown -R {OWNER} {secrets} # after checking its files");
    let run = world.run(&["doctor", "--offline"]);
    assert!(run.stdout.contains(&look), "{run:?}");
    // Who typed sudo types it again.
    chown(world.path("state/secrets"), Some(0), None).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.arg("plan");
    world.surround(&mut command);
    let run = finish(command.env("SUDO_USER", "me").spawn().unwrap()).ends_in(7);
    run.says(&format!("try: sudo chown -R {OWNER} {secrets}\n"));
    assert_eq!(world.ca.requests(), requests);
}

/// What a run of root says when the owner of the state may not read a manifest, and the line that
/// lets it, without an advice that has root type `sudo` or gives up a certificate.
fn says_unread(world: &World, words: &[&str], code: i32, place: &str, line: &str) {
    let run = world.run(words).ends_in(code);
    let text = format!("{}{}", run.stdout, run.stderr);
    assert!(text.contains(line), "{words:?}: {line}\n{text}");
    for wrong in
        ["no longer exists", "forget", "NO MANIFEST", "does not exist", "sudo", "put it into"]
    {
        assert!(!text.contains(wrong), "{words:?}: {wrong}\n{text}");
    }
    let reader = format!("user {OWNER} cannot read it");
    if !matches!(words, [] | ["doctor", ..]) {
        assert!(text.contains(&reader) && text.contains(place), "{words:?}: {reader}\n{text}");
    }
}

/// All that show or use the certificates.
const ALL_VERBS: &[(&[&str], i32)] =
    &[(&["issue"], 3), (&["plan"], 3), (&["status"], 3), (&["renew", "web"], 3)];

#[test]
fn a_folder_of_manifests_that_the_owner_may_not_read_is_no_missing_manifest() {
    let Some(world) = world() else { return };
    hook(&world, "");
    world.run(&["issue"]).ends_in(0);
    let config = world.path("config").display().to_string();
    mode(&world, "config", 0o700);
    let line = format!("chgrp {OWNER} {config} && chmod g+rx {config}");
    for (words, code) in ALL_VERBS {
        says_unread(&world, words, *code, &config, &line);
    }
    says_unread(&world, &[], 0, &config, &line);
    says_unread(&world, &["doctor", "--offline"], 3, &config, &line);
    in_a_shell(&line);
    assert_eq!(fs::metadata(&config).unwrap().mode() & 0o7777, 0o750);
    world.run(&["status", "--exit-code"]).ends_in(0);
}

#[test]
fn a_manifest_that_the_owner_may_not_read_is_no_missing_one() {
    let Some(world) = world() else { return };
    hook(&world, "");
    world.run(&["issue"]).ends_in(0);
    for name in ["web", "issuer"] {
        let path = world.path(&format!("config/{name}.yaml")).display().to_string();
        mode(&world, &format!("config/{name}.yaml"), 0o600);
        let line = format!("chgrp {OWNER} {path} && chmod g+r {path}");
        for (words, code) in ALL_VERBS.iter().take(3) {
            says_unread(&world, words, *code, &path, &line);
        }
        in_a_shell(&line);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        world.run(&["status", "--exit-code"]).ends_in(0);
    }
    // A group that uses it keeps it.
    chown(world.path("config/web.yaml"), None, Some(OWNER + 1)).unwrap();
    let path = world.path("config/web.yaml").display().to_string();
    world.run(&["issue"]).ends_in(3).says(&format!("setfacl -m u:{OWNER}:r {path}"));
}

#[test]
fn a_config_directory_below_one_that_the_owner_may_not_enter_is_not_a_missing_one() {
    let Some(world) = world() else { return };
    hook(&world, "");
    fs::create_dir(world.path("closed")).unwrap();
    fs::rename(world.path("config"), world.path("closed/config")).unwrap();
    mode(&world, "closed", 0o700);
    let closed = world.path("closed").display().to_string();
    let line = format!("chgrp {OWNER} {closed} && chmod g+rx {closed}");
    for verb in ["issue", "plan", "status"] {
        let config = format!("{closed}/config");
        says_unread(&world, &[verb, "--config-dir", &config], 3, &closed, &line);
    }
    assert_eq!(world.ca.requests(), 0);
}

#[test]
fn a_file_in_a_home_that_is_named_ends_in_the_command_that_copies_it() {
    let Some(world) = world() else { return };
    let home = std::path::Path::new("/root");
    if !fs::metadata(home).is_ok_and(|found| found.mode().is_multiple_of(0o100)) {
        return;
    }
    let folder = tempfile::tempdir_in(home).unwrap();
    let path = folder.path().join("mail.yaml");
    fs::copy(world.path("config/web.yaml"), &path).unwrap();
    let path = path.display().to_string();
    let config = world.path("config").display().to_string();
    for verb in ["issue", "plan"] {
        let run = world.run(&[verb, &path]).ends_in(3);
        run.says(&format!("/root is closed to {OWNER}: keep manifests in another folder"))
            .says(&format!("try: install -m 0640 -g {OWNER} {path} {config}/\n"));
    }
    assert_eq!(world.ca.requests(), 0);
}

#[test]
fn validate_of_another_user_does_not_take_the_folder_of_an_output() {
    let Some(world) = world() else { return };
    let folder = world.path("tls");
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(OWNER), Some(OWNER)).unwrap();
    let shown = folder.display().to_string();
    let web = CertificateYaml::new("web").annotation("certctl/output-dir", &shown);
    world.write("config/web.yaml", &web);
    world.run(&["issue"]).ends_in(0);
    let config = world.path("config").display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.args(["validate", &config]);
    world.surround(&mut command);
    let other = OWNER + 1;
    let run = finish(command.uid(other).gid(other).spawn().unwrap()).ends_in(3);
    run.says(&format!("{shown} belongs to user {OWNER}: run certctl as that user"));
}

#[test]
fn a_document_of_root_that_others_can_read_leads_to_one_line_with_owner_and_mode() {
    let Some(world) = world() else { return };
    hook(&world, "");
    world.issue().ends_in(0);
    let path = world.state().path("certificates/default/web/status.json");
    chown(&path, Some(0), Some(0)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let line = format!("chown {OWNER} {0} && chmod go-rwx {0}", path.display());
    for words in [&["status", "web"][..], &["doctor", "--offline"], &["plan"], &["issue"]] {
        let run = world.run(words).ends_in(7);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(&line), "{words:?}: {said}");
    }
    in_a_shell(&line);
    world.run(&["status", "--exit-code"]).ends_in(0);
}
