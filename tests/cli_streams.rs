//! The binary's streams and exit codes: data on stdout, talk on stderr, and no way to make it
//! panic by taking either away.

#![expect(clippy::unwrap_used, reason = "test code outside of test functions")]

use std::fs::OpenOptions;
use std::io::Read as _;
use std::process::{Command, Output, Stdio};

/// certctl with an empty environment and a home that does not exist yet.
fn certctl(home: &tempfile::TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    command.env_clear().env("HOME", home.path()).args(words).stdin(Stdio::null());
    command
}

fn run(words: &[&str]) -> Output {
    certctl(&tempfile::tempdir().unwrap(), words).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn version_prints_data_and_nothing_else() {
    for (words, stdout) in [
        (vec!["version"], concat!("certctl ", env!("CARGO_PKG_VERSION"), "\n")),
        (vec!["version", "--short"], concat!(env!("CARGO_PKG_VERSION"), "\n")),
        (vec!["--version"], concat!("certctl ", env!("CARGO_PKG_VERSION"), "\n")),
    ] {
        let output = run(&words);
        assert_eq!(text(&output.stdout), stdout, "{words:?}");
        assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)), "{words:?}");
    }
}

#[test]
fn version_tells_where_each_directory_comes_from() {
    let home = tempfile::tempdir().unwrap();
    let output = certctl(&home, &["version", "-v", "--config-dir", "/from/flag"])
        .env("CERTCTL_STATE_DIR", "/from/variable")
        .env("STATE_DIRECTORY", "/from/systemd")
        .env("CREDENTIALS_DIRECTORY", "/from/credentials")
        .output()
        .unwrap();
    let stdout = text(&output.stdout);
    let (directories, rest) = stdout.split_at(stdout.find("config file:").unwrap());
    let build = &rest[rest.find("features:").unwrap()..];
    assert_eq!(
        directories,
        format!(
            "certctl {}\n\
             config directory:      /from/flag (flag --config-dir)\n\
             state directory:       /from/variable (environment CERTCTL_STATE_DIR)\n\
             credentials directory: /from/credentials (systemd CREDENTIALS_DIRECTORY)\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    let features = if cfg!(feature = "more-dns-providers") { "more-dns-providers" } else { "none" };
    let known = "acmeDNS, akamai, azureDNS, cloudDNS, cloudflare, digitalocean,";
    let start = format!("features:              {features}\nDNS providers:         {known}");
    assert!(build.starts_with(&start), "{build}");
}

#[test]
fn version_is_an_object_for_machines() {
    let output = run(&["version", "-o", "json", "--state-dir", "/s", "--config-dir", "/c"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["kind"], "Version");
    assert_eq!(value["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(value["directories"]["state"]["path"], "/s");
    let features: &[&str] =
        if cfg!(feature = "more-dns-providers") { &["more-dns-providers"] } else { &[] };
    assert_eq!(value["features"], serde_json::json!(features));
    assert_eq!(value["dnsProviders"][0], "acmeDNS");
}

#[test]
fn usage_errors_end_in_2_and_leave_stdout_alone() {
    for words in [
        vec![],
        vec!["isue"],
        vec!["issue", "--timeout", "90d"],
        vec!["status", "-o", "table"],
        vec!["completion", "tcsh"],
        vec!["forget"],
        vec!["version", "-o", "name"],
    ] {
        let output = run(&words);
        assert_eq!((text(&output.stdout), output.status.code()), ("", Some(2)), "{words:?}");
        assert!(!output.stderr.is_empty(), "{words:?}");
    }
    let output = run(&["isue"]);
    assert!(text(&output.stderr).contains("'issue'"), "{}", text(&output.stderr));
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let home = tempfile::tempdir().unwrap();
    for (value, code) in [("", 0), ("table", 2)] {
        let mut command = certctl(&home, &["version"]);
        let output = command.env("CERTCTL_OUTPUT", value).env("CERTCTL_NAMESPACE", "").output();
        assert_eq!(output.unwrap().status.code(), Some(code), "{value:?}");
    }
    let mut command = certctl(&home, &["version"]);
    let output = command.env("CERTCTL_OUTPUT", "json").output().unwrap();
    assert!(output.stdout.starts_with(b"{"));
}

#[test]
fn an_unusable_log_filter_is_a_usage_error() {
    let home = tempfile::tempdir().unwrap();
    let output = certctl(&home, &["version"]).env("CERTCTL_LOG", "certctl=loud").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: CERTCTL_LOG: `certctl=loud`"));
}

#[test]
fn help_is_data() {
    for words in [vec!["--help"], vec!["-h"], vec!["help", "issue"], vec!["status", "--help"]] {
        let output = run(&words);
        assert!(text(&output.stdout).contains("Usage: certctl"), "{words:?}");
        assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)), "{words:?}");
    }
}

#[test]
fn completion_scripts_are_those_kept_with_the_source() {
    for (shell, file) in [
        ("bash", "certctl.bash"),
        ("zsh", "_certctl"),
        ("fish", "certctl.fish"),
        ("powershell", "_certctl.ps1"),
        ("elvish", "certctl.elv"),
    ] {
        let path = format!("{}/completions/{file}", env!("CARGO_MANIFEST_DIR"));
        let output = run(&["completion", shell]);
        assert!(output.stdout == std::fs::read(path).unwrap(), "{shell}");
        assert_eq!(output.status.code(), Some(0), "{shell}");
    }
}

#[test]
fn a_closed_stdout_or_stderr_is_no_panic() {
    for (redirection, words, code) in [
        (">&-", "version", 0),
        ("2>&-", "version", 0),
        (">&- 2>&-", "completion bash", 0),
        (">&-", "--help", 0),
        ("2>&-", "isue", 2),
        (">&- 2>&-", "isue", 2),
    ] {
        let script = format!("exec \"$0\" {words} {redirection}");
        let status = Command::new("/bin/sh")
            .env_clear()
            .args(["-c", &script, env!("CARGO_BIN_EXE_certctl")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{words} {redirection}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let home = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = certctl(&home, &["completion", "zsh"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((stderr.as_str(), child.wait().unwrap().code()), ("", Some(0)));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_on_stdout_and_none_on_stderr() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let home = tempfile::tempdir().unwrap();
    for words in [vec!["version"], vec!["completion", "bash"], vec!["--help"]] {
        let output = certctl(&home, &words).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let stderr = text(&output.stderr);
        assert!(stderr.starts_with("error: cannot write to standard output"), "{stderr}");
        let output = certctl(&home, &words).stderr(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
    }
    let output = certctl(&home, &["isue"]).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
