//! Promise: systemd takes the units that `certctl timer print` prints, and finds nothing exposed.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

/// The units, in a folder.
fn units() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_certctl"));
    // A user that is on every machine: systemd looks whether it is there.
    command.args(["timer", "print", "--systemd", "--user", "daemon", "--dir"]).arg(folder.path());
    let run = command.env_clear().output().unwrap();
    assert!(run.status.success() && run.stdout.is_empty(), "{run:?}");
    folder
}

/// systemd-analyze, which must be there; where systemd does not run, some of it can still be used.
fn analyze(words: &[&str], folder: &Path) -> Output {
    let mut command = Command::new("systemd-analyze");
    let run = command.args(words).current_dir(folder).output();
    run.unwrap_or_else(|error| panic!("systemd-analyze: {error}: tests/run installs it"))
}

fn text(output: &Output) -> String {
    let parts = [&output.stdout, &output.stderr];
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).concat()
}

#[test]
fn systemd_takes_the_units() {
    let folder = units();
    let all = [
        "certctl.service",
        "certctl.timer",
        "certctl.socket",
        "certctl-reload.path",
        "certctl-reload.service",
    ];
    let paths = all.map(|unit| folder.path().join(unit).display().to_string());
    let mut words = vec!["verify", "--man=no", "--recursive-errors=no"];
    words.extend(paths.iter().map(String::as_str));
    let found = analyze(&words, folder.path());
    assert!(found.status.success(), "{}", text(&found));
    // Warnings are about units of ours only when they name one.
    let said = text(&found);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("certctl")).collect();
    assert!(ours.is_empty(), "{said}");
}

/// Not certctl-reload.service: it gives the operator's hooks the rights of root.
#[test]
fn systemd_finds_the_service_well_locked_away() {
    let folder = units();
    // The unit is read, not the running system; 50 of 100 is where "OK" ends.
    let words = ["security", "--offline=yes", "--threshold=49", "--no-pager"];
    let path = folder.path().join("certctl.service").display().to_string();
    let found = analyze(&[&words[..], &[&path]].concat(), folder.path());
    let said = text(&found);
    assert!(found.status.success(), "{said}");
    let verdict = said.lines().find(|line| line.contains("Overall exposure level")).unwrap();
    assert!(["OK", "SAFE", "PERFECT"].iter().any(|good| verdict.contains(good)), "{verdict}");
    std::io::stderr().write_all(format!("{verdict}\n").as_bytes()).unwrap();
}
