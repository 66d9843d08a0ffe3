//! Exec solvers against scripts that the tests write: their input, and the results of their output
//! and exit codes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

use super::*;
use crate::resource::Dns01Provider;
use crate::resource::dns01::Webhook;
use crate::resource::{Fix, Look, Permit, Right};
use crate::solver::dns01::fake::in_context_at;
use crate::trust::Trusted;

const QUICK: Limits = Limits {
    time: Duration::from_millis(200),
    grace: Duration::from_millis(200),
    linger: Duration::from_millis(50),
};

/// A folder of solvers with programs in it, as `certctl/one` or `one`.
fn solvers(programs: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, body) in programs {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = if body.starts_with("#!") {
            (*body).to_owned()
        } else {
            format!("#!/bin/sh\n{body}\n")
        };
        put(&path, &text);
        chmod(&path, 0o755);
    }
    folder
}

#[expect(clippy::disallowed_methods, reason = "the test's own files need not survive a crash")]
fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn opened(
    folder: &Path,
    group: &str,
    solver: &str,
    config: Option<Value>,
) -> Result<Box<dyn DnsProvider>, ProviderError> {
    let provider = Dns01Provider::Webhook(Webhook {
        group_name: group.to_owned(),
        solver_name: solver.to_owned(),
        config,
    });
    let variables = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/me"),
        ("TZ", "UTC"),
        ("AWS_SECRET_ACCESS_KEY", "canary"),
        ("CERTCTL_TOKEN", "canary"),
    ];
    in_context_at(folder, &[], &variables, |context| super::super::open(&provider, context))
}

fn exec(folder: &TempDir, command: &str) -> Exec {
    let program = command_of(folder.path(), command).unwrap();
    in_context_at(folder.path(), &[], &[("PATH", "/usr/bin:/bin")], |context| {
        Exec::new(program, Mode::Payload, None, context)
    })
}

fn record(value: &str) -> TxtRecord {
    TxtRecord {
        domain: "www.example.com".to_owned(),
        name: "_acme-challenge.www.example.com".to_owned(),
        zone: "example.com".to_owned(),
        value: value.to_owned(),
    }
}

fn text(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let script = "
        touch zone
        grep -vx -- \"$CERTCTL_VALUE\" zone > rest
        case $1 in present) echo \"$CERTCTL_VALUE\" >> rest;; cleanup) ;; *) exit 9;; esac
        mv rest zone";
    let folder = solvers(&[("zone.sh", script)]);
    put(&folder.path().join("zone"), "foreign\n");
    let exec = exec(&folder, "zone.sh");
    let zone = || text(&folder, "zone").lines().map(str::to_owned).collect::<Vec<_>>();
    exec.present(&record("one")).await.unwrap();
    exec.present(&record("-two")).await.unwrap();
    exec.present(&record("-two")).await.unwrap();
    assert_eq!(zone(), ["foreign", "one", "-two"]);
    exec.clean_up(&record("one")).await.unwrap();
    exec.clean_up(&record("one")).await.unwrap();
    assert_eq!(zone(), ["foreign", "-two"]);
    exec.present(&record("one")).await.unwrap();
    assert_eq!(zone(), ["foreign", "-two", "one"]);
}

#[tokio::test]
async fn a_program_receives_the_record_and_nothing_else() {
    let script = "
        printf '%s\\n' \"$@\" > arguments; cat > input; pwd -P > folder
        env | grep -vE '^(PWD|OLDPWD|SHLVL|_)=' | sort > environment; umask > mask";
    let same = folder_of_cases(script);
    // Root's programs get root's own variables.
    let own = if rustix::process::geteuid().is_root() {
        let root = nix::unistd::User::from_uid(0.into()).unwrap().unwrap();
        let (home, shell) = (root.dir.display(), root.shell.display());
        format!(
            "HOME={home}\nLOGNAME=root\n\
             PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nSHELL={shell}\n\
             TZ=UTC\nUSER=root\n"
        )
    } else {
        "HOME=/home/me\nPATH=/usr/bin:/bin\nTZ=UTC\n".to_owned()
    };
    let environment = |action: &str| {
        format!(
            "CERTCTL_ACTION={action}\nCERTCTL_DOMAIN=www.example.com\n\
             CERTCTL_FQDN=_acme-challenge.www.example.com.\nCERTCTL_VALUE=-v\n\
             CERTCTL_ZONE=example.com.\n{own}"
        )
    };
    let inner = json!({"zone": 1});
    let lego = "present\n_acme-challenge.www.example.com.\n-v\n";
    let cases = [
        ("certctl", "exec", json!({"command": "own", "config": inner}), "certctl", None),
        (
            "certctl",
            "exec",
            json!({"command": "shared", "mode": "payload", "config": inner}),
            ".",
            None,
        ),
        ("certctl", "exec", json!({"command": "own", "mode": "lego"}), "certctl", Some(lego)),
        ("acme.example.com", "dnspeople", inner.clone(), "acme.example.com", None),
    ];
    for (group, solver, config, at, lego) in cases {
        let folder = same.path().join(at).canonicalize().unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let provider = opened(same.path(), group, solver, Some(config)).unwrap();
        provider.present(&record("-v")).await.unwrap();
        let facts = [read("environment"), read("folder"), read("mask")];
        let place = format!("{}\n", folder.display());
        assert_eq!(facts, [environment("present"), place, "0077\n".to_owned()]);
        if let Some(arguments) = lego {
            assert_eq!([read("arguments"), read("input")], [arguments, ""]);
            continue;
        }
        assert_eq!(read("arguments"), "present\n");
        provider.clean_up(&record("-v")).await.unwrap();
        assert_eq!(
            (read("arguments"), read("environment")),
            ("cleanup\n".to_owned(), environment("cleanup"))
        );
        let mut input: Value = serde_json::from_str(&read("input")).unwrap();
        let uid = input["request"]["uid"].take();
        assert_eq!(uid.as_str().unwrap().len(), 36);
        let expected = json!({
            "apiVersion": "webhook.acme.cert-manager.io/v1alpha1",
            "kind": "ChallengePayload",
            "request": {
                "uid": null, "action": "CleanUp", "type": "dns-01", "dnsName": "www.example.com",
                "key": "-v", "resourceNamespace": "default",
                "resolvedFQDN": "_acme-challenge.www.example.com.",
                "resolvedZone": "example.com.", "allowAmbientCredentials": true,
                "config": inner,
            },
        });
        assert_eq!(input, expected);
    }
}

fn folder_of_cases(script: &str) -> TempDir {
    solvers(&[
        ("certctl/own", script),
        ("own", "exit 1"),
        ("shared", script),
        ("acme.example.com/dnspeople", script),
    ])
}

#[tokio::test]
async fn an_error_quotes_the_output_of_the_program() {
    let long = format!("echo {} >&2; exit 1", "x".repeat(400));
    let flood = "yes first | head -c 1000000 >&2; echo >&2; echo last >&2
        yes out | head -c 1000000; exit 4";
    let cases = [
        (
            "echo out; echo one >&2; echo 'no such zone' >&2; echo >&2; exit 3",
            "exit code 3: one; no such zone",
        ),
        ("echo first; echo second; exit 1", "exit code 1: first"),
        ("exit 255", "exit code 255: no details"),
        ("printf 'a\\033[31mb\\tc\\n' >&2; exit 1", "exit code 1: a\\u{1b}[31mb c"),
        ("printf '\\377\\n' >&2; exit 1", "exit code 1: \u{fffd}"),
        ("kill -KILL $$", "signal 9 (SIGKILL): no details"),
        ("echo bye >&2; kill -TERM $$", "signal 15 (SIGTERM): bye"),
        (flood, "exit code 4: first; firs; last"),
        (&long, &format!("exit code 1: {}…", "x".repeat(300))),
    ];
    for (script, expected) in cases {
        let folder = solvers(&[("one", script)]);
        let error = exec(&folder, "one").present(&record("v")).await.unwrap_err();
        assert_eq!(error.to_string(), format!("solvers.d/one answered {expected}"), "{script}");
    }
    for first in ["#!/nonexistent/interpreter\n", "#!/bin/sh\r\nexit 0\r\n"] {
        let folder = solvers(&[("one", first)]);
        let error = exec(&folder, "one").present(&record("v")).await.unwrap_err();
        let expected = format!(
            "exec: {} cannot be run: No such file or directory (os error 2); check that the \
             interpreter in its first line exists, and that the line ends as on Unix",
            folder.path().join("one").display()
        );
        assert_eq!(error.to_string(), expected);
        assert!(matches!(error, ProviderError::Settings { .. }), "{error:?}");
    }
    let folder = solvers(&[("one", "")]);
    put(&folder.path().join("one"), "exit 0\n");
    let error = exec(&folder, "one").present(&record("v")).await.unwrap_err();
    let hint = "Exec format error (os error 8); its first line must name the interpreter, such as \
                #!/bin/sh";
    assert!(error.to_string().ends_with(hint), "{error}");
}

#[tokio::test]
async fn a_program_that_does_not_end_is_stopped_with_all_it_started() {
    let folder = solvers(&[
        ("deaf", "exec 3> deaf.held; trap '' TERM; echo waiting >&2; sleep 1000 & sleep 1000"),
        ("polite", "exec 3> polite.held; trap 'echo bye >&2; exit' TERM; sleep 1000 & wait"),
    ]);
    let stopped = async |name: &str, grace: Duration, message: &str| {
        let fifo = folder.path().join(format!("{name}.held"));
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let mut reader = pipe::OpenOptions::new().open_receiver(&fifo).unwrap();
        // Long enough to start on a busy machine; what ends it is never the sleep.
        let limits = Limits { time: Duration::from_secs(3), grace, ..QUICK };
        let exec = Exec { limits, ..exec(&folder, name) };
        let error = exec.present(&record("v")).await.unwrap_err().to_string();
        let expected = format!("solvers.d/{name} has not finished: stopped after 3 s: {message}");
        assert_eq!(error, expected);
        // It ends when the last process that holds it has ended.
        let mut rest = Vec::new();
        let end = tokio::time::timeout(Duration::from_secs(10), reader.read_to_end(&mut rest));
        end.await.unwrap().unwrap();
    };
    let deaf = stopped("deaf", QUICK.grace, "waiting");
    let polite = stopped("polite", Duration::from_secs(30), "bye");
    futures_util::future::join(deaf, polite).await;
}

#[tokio::test]
async fn a_program_ends_with_the_wait_for_it() {
    let folder = solvers(&[("one", "exec 3> held; echo up >&3; sleep 1000 & wait")]);
    let fifo = folder.path().join("held");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut reader = pipe::OpenOptions::new().open_receiver(&fifo).unwrap();
    let (exec, record) = (exec(&folder, "one"), record("v"));
    let mut up = [0; 3];
    tokio::select! {
        result = exec.present(&record) => panic!("it ended: {result:?}"),
        read = reader.read_exact(&mut up) => assert_eq!(read.unwrap(), 3),
    }
    let mut rest = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(10), reader.read_to_end(&mut rest));
    end.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_not_waited_for() {
    // More than a pipe holds, for a program that does not read it.
    let config = Value::String("x".repeat(1 << 20));
    let folder = solvers(&[("one", "sleep 20 & exit 0"), ("deaf", "exec <&-; exit 0")]);
    for name in ["one", "deaf"] {
        let limits = Limits { linger: QUICK.linger, ..LIMITS };
        let payload =
            in_context_at(folder.path(), &[], &[], |context| Payload::new(context, Some(&config)));
        let exec = Exec { payload, limits, ..exec(&folder, name) };
        let record = record("v");
        let end = tokio::time::timeout(Duration::from_secs(15), exec.present(&record));
        end.await.unwrap().unwrap();
    }
}

#[test]
fn only_what_is_the_operator_s_is_run() {
    let folder = solvers(&[
        ("fine", ""),
        ("open", ""),
        ("text", ""),
        ("shared.d/one", ""),
        ("plain.d/one", ""),
    ]);
    let outside = solvers(&[("out", "")]);
    let at = |name: &str| folder.path().join(name);
    chmod(&at("open"), 0o777);
    chmod(&at("text"), 0o644);
    chmod(&at("shared.d"), 0o777);
    symlink(outside.path().join("out"), at("away")).unwrap();
    symlink("fine", at("link")).unwrap();
    symlink("nothing", at("dangling")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let path = |name: &str| at(name).display().to_string();
    let us = rustix::process::geteuid().as_raw();
    let user = if us == 0 { "root".to_owned() } else { format!("user {us}") };
    let loose = |name: &str, look| {
        let (path, trusted) = (path(name), Trusted::of_process());
        let fact = format!(
            "exec: {path} can be written by users other than {trusted} (owner {user}, mode 0777)"
        );
        let right = Right::Closed { is_secret: false, look: Some(look) };
        (fact, Some(Fix::from(Permit::new(at(name), right))))
    };
    let plain = |fact: String| Some((format!("exec: {fact}"), None));
    let cases = [
        ("fine", None),
        ("link", None),
        ("none", plain(format!("there is neither {} nor {}", path("certctl/none"), path("none")))),
        (
            "dangling",
            plain(format!("{}: No such file or directory (os error 2)", path("dangling"))),
        ),
        (
            "away",
            plain(format!(
                "{} points outside {}, to {}",
                path("away"),
                folder.path().display(),
                outside.path().join("out").canonicalize().unwrap().display()
            )),
        ),
        ("folder", plain(format!("{} is not a regular file", path("folder")))),
        (
            "text",
            Some((
                format!("exec: {} is not executable", path("text")),
                Some(Permit::new(at("text"), Right::Run).into()),
            )),
        ),
        ("open", Some(loose("open", Look::File))),
    ];
    let of = |found: Result<Program, ProviderError>| {
        found.err().map(|error| (error.to_string(), error.fix()))
    };
    for (name, expected) in cases {
        assert_eq!(of(command_of(folder.path(), name)), expected, "{name}");
    }
    let open = of(solver_program(folder.path(), "shared.d", "one"));
    assert_eq!(open, Some(loose("shared.d", Look::Folder)));
    assert_eq!(of(solver_program(folder.path(), "plain.d", "one")), None);
    if rustix::process::geteuid().is_root() {
        let other = rustix::fs::Uid::from_raw(1000);
        rustix::fs::chown(at("fine"), Some(other), None).unwrap();
        let owned = of(command_of(folder.path(), "fine"));
        let fact = format!("exec: {} is owned by user 1000 (mode 0755), not by root", path("fine"));
        let anew = Right::Anew { owner: 1000, is_folder: false };
        assert_eq!(owned, Some((fact, Some(Permit::new(at("fine"), anew).into()))));
    }
}

#[tokio::test]
async fn a_program_that_was_replaced_is_not_run() {
    let folder = solvers(&[("one", "touch ran")]);
    let exec = exec(&folder, "one");
    chmod(&folder.path().join("one"), 0o644);
    let error = exec.present(&record("v")).await.unwrap_err().to_string();
    let path = folder.path().join("one");
    assert_eq!(error, format!("exec: {} is not executable", path.display()));
    chmod(&path, 0o755);
    let message = exec.check("_acme-challenge.www.example.com", "example.com").await.unwrap();
    assert_eq!(
        message,
        "exec: solvers.d/one is executable; its permissions at the DNS provider are unknown"
    );
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn settings_that_name_no_program_are_refused() {
    let folder = solvers(&[("fine", "")]);
    let bad = |field: &str, name: &str| {
        format!(
            "exec: {field}: `{name}` is not the name of a file in solvers.d, made of letters, \
             digits, '-', '_' and '.'"
        )
    };
    let cases = [
        (json!({"command": "../fine"}), bad("config.command", "../fine")),
        (json!({"command": "/bin/sh"}), bad("config.command", "/bin/sh")),
        (json!({"command": ".."}), bad("config.command", "..")),
        (json!({"command": "-fine"}), bad("config.command", "-fine")),
        (json!({"command": ""}), bad("config.command", "")),
        (
            json!({"command": "fine", "mode": "RAW"}),
            "exec: config.mode: use payload or lego".to_owned(),
        ),
        (json!({}), "exec: config: missing field `command`".to_owned()),
        (json!("canary"), "exec: config: expected Settings, got a string".to_owned()),
        (
            json!({"command": ["canary"]}),
            "exec: config: expected a string, got a sequence".to_owned(),
        ),
        (
            json!({"comand": "fine"}),
            "exec: config: unknown field `comand`, expected one of `command`, `mode`, `config`"
                .to_owned(),
        ),
    ];
    for (config, expected) in cases {
        let error = opened(folder.path(), "certctl", "exec", Some(config)).err().unwrap();
        assert_eq!(error.to_string(), expected);
        assert!(matches!(error, ProviderError::Settings { .. }), "{error:?}");
    }
    let error = opened(folder.path(), "..", "fine", None).err().unwrap();
    assert_eq!(error.to_string(), bad("groupName", ".."));
    let error = opened(folder.path(), "acme.example.com", "x/y", None).err().unwrap();
    assert_eq!(error.to_string(), bad("solverName", "x/y"));
}
