//! Promise: `config.toml` says what the flags would say, is never passed over in silence, and a
//! mistake in it leaves the verbs that tell of certctl itself alone.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut file = std::fs::File::create(folder.path().join("config.toml")).unwrap();
    file.write_all(config.as_bytes()).unwrap();
    folder
}

/// certctl with this config directory, and nothing else in its environment.
fn certctl(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.env_clear().env("CERTCTL_CONFIG_DIR", folder).args(words).stdin(Stdio::null());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn version_prints_every_setting_with_its_origin() {
    let folder = folder("timeout = '3m'\nstate-dir = 'state'\nresolver = ['192.0.2.1', '::1']\n");
    let words = ["version", "-v", "--parallel", "8"];
    let output = certctl(folder.path(), &words);
    let stdout = text(&output.stdout);
    let (head, _) = stdout.split_once("features:").unwrap();
    let at = folder.path().display();
    let expected = format!(
        "certctl {}\n\
         config directory:      {at} (environment CERTCTL_CONFIG_DIR)\n\
         state directory:       {at}/state (config.toml:2)\n\
         credentials directory: none\n\
         config file:           {at}/config.toml\n\
         settings:\n  \
           filename                           none (default)\n  \
           namespace                          none (default)\n  \
           output                             none (default)\n  \
           verbose                            1 (flag --verbose)\n  \
           quiet                              0 (default)\n  \
           all-namespaces                     false (default)\n  \
           selector                           none (default)\n  \
           log-format                         auto (default)\n  \
           color                              auto (default)\n  \
           progress                           auto (default)\n  \
           parallel                           8 (flag --parallel)\n  \
           max-concurrent-challenges          60 (default)\n  \
           timeout                            3m (config.toml:1)\n  \
           lock-timeout                       30s (default)\n  \
           self-check-interval                10s (default)\n  \
           hook-timeout                       60s (default)\n  \
           hooks                              now (default)\n  \
           http01-listen                      [::]:80 (default)\n  \
           http01-check-port                  80 (default)\n  \
           tlsalpn01-listen                   [::]:443 (default)\n  \
           tlsalpn01-check-port               443 (default)\n  \
           resolver                           192.0.2.1, ::1 (config.toml:3)\n  \
           dns01-recursive-nameservers-only   false (default)\n  \
           cluster-resource-namespace         cert-manager (default)\n  \
           output-roots                       none (default)\n  \
           metrics-file                       none (default)\n  \
           ping                               none (default)\n  \
           exit-code                          false (default)\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(head, expected);
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
}

#[test]
fn a_mistake_stops_every_verb_that_would_do_something() {
    let folder = folder("timeout = 10\n");
    let at = folder.path().join("config.toml");
    for words in
        [&["issue"][..], &["status"], &["validate"], &["plan"], &["timer", "print", "--cron"]]
    {
        let output = certctl(folder.path(), words);
        let expected = format!(
            "error[E0302]: timeout: expected a string, got an integer\n  --> {0}:1:11\n   |\n \
             1 | timeout = 10\n   |           ^^\n   = help: accepted: a duration, such as \
             \"90s\", \"10m\" or \"1h30m\"\nerror: 1 error in {0}\n",
            at.display()
        );
        assert_eq!(
            (text(&output.stdout), text(&output.stderr)),
            ("", expected.as_str()),
            "{words:?}"
        );
        assert_eq!(output.status.code(), Some(3), "{words:?}");
    }
}

#[test]
fn a_mistake_leaves_those_alone_that_tell_of_certctl_itself() {
    let folder = folder("timeout = 10\n");
    for (words, start) in [
        (&["completion", "bash"][..], "# Completion for bash"),
        (&["man"], ".TH certctl 1"),
        (&["--help"], "Issues and renews the TLS certificates"),
        (&["issue", "--help"], "Issue and renew"),
        (&["--version"], "certctl "),
        (&["schema"], "{"),
        (&["explain", "certificate"], "KIND:"),
    ] {
        let output = certctl(folder.path(), words);
        assert!(text(&output.stdout).starts_with(start), "{words:?}: {}", text(&output.stdout));
        assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)), "{words:?}");
    }
    let output = certctl(folder.path(), &["version", "-v"]);
    let line = format!(
        "config file:           {}/config.toml, not used: 1 error\n",
        folder.path().display()
    );
    assert!(text(&output.stdout).contains(&line), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("timeout                            10m (default)\n"));
    assert!(
        text(&output.stderr).starts_with("error[E0302]: timeout: "),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_variable_beats_it_unless_it_is_empty() {
    let folder = folder("http01-listen = ':81'\nexit-code = true\nfilename = 'a.yaml'\n");
    for (variables, listen, exit_code) in [
        (&[][..], ":81 (config.toml:1)", "true (config.toml:2)"),
        (&[("CERTCTL_HTTP01_LISTEN", "")], ":81 (config.toml:1)", "true (config.toml:2)"),
        (
            &[("CERTCTL_HTTP01_LISTEN", ":82,:83"), ("CERTCTL_EXIT_CODE", "0")],
            ":82,:83 (environment CERTCTL_HTTP01_LISTEN)",
            "0 (environment CERTCTL_EXIT_CODE)",
        ),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
        command.env_clear().env("CERTCTL_CONFIG_DIR", folder.path()).args(["version", "-v"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let value = |name: &str| {
            let line = text(&output.stdout).lines().find(|line| line.trim().starts_with(name));
            line.unwrap().trim().trim_start_matches(name).trim().to_owned()
        };
        assert_eq!(value("http01-listen").replace(", ", ","), listen);
        assert_eq!(value("exit-code"), exit_code);
    }
}

#[test]
fn it_decides_like_a_flag() {
    let folder = folder("output = 'json'\n");
    let json = certctl(folder.path(), &["version"]);
    assert!(text(&json.stdout).starts_with('{'));
    let yaml = certctl(folder.path(), &["version", "-o", "yaml"]);
    assert!(text(&yaml.stdout).starts_with("apiVersion: "), "{}", text(&yaml.stdout));
}

#[test]
fn errors_are_json_when_the_file_says_so() {
    let folder = folder("log-format = 'json'\n");
    for words in [&["explain", "nothing"][..], &["isue"]] {
        let output = certctl(folder.path(), words);
        let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!((&error["level"], &error["class"]), (&"ERROR".into(), &"usage".into()));
    }
}

#[test]
fn a_file_that_others_could_change_is_refused() {
    let us = rustix::process::geteuid().as_raw();
    let trusted = if us == 0 { "root".to_owned() } else { format!("root or user {us}") };
    let owner = if us == 0 { "root".to_owned() } else { format!("user {us}") };
    let folder = folder("color = 'never'\n");
    let path = folder.path().join("config.toml");
    std::fs::set_permissions(&path, Permissions::from_mode(0o646)).unwrap();
    let output = certctl(folder.path(), &["status"]);
    assert_eq!(
        text(&output.stderr),
        format!(
            "error[E0306]: {0} can be written by users other than {trusted} (owner {owner}, mode 0646)\n  \
             --> {0}\n   = help: chmod go-w {0} # after checking its content\nerror: 1 error in {0}\n",
            path.display()
        )
    );
    assert_eq!((text(&output.stdout), output.status.code()), ("", Some(3)));
}
