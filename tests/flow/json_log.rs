//! Promise: with `--log-format json` every line on stderr is an object that says how bad it is,
//! when it was and what it is about; and with `--log-format github` what is wrong in a manifest is
//! an annotation.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use certctl::rehearsal::{Fault, Rule};
use serde_json::{Value, json};

use crate::support::{CertificateYaml, Run, World};

/// The lines of a run, each an object with what every line has.
fn lines(run: &Run) -> Vec<Value> {
    let read = |line: &str| {
        let object: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = |key: &str| object[key].as_str().unwrap_or_else(|| panic!("no {key}: {line}"));
        assert!(["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&text("level")), "{line}");
        assert!(text("timestamp").parse::<jiff::Timestamp>().is_ok(), "{line}");
        assert!(!text("message").is_empty(), "{line}");
        object
    };
    run.stderr.lines().map(read).collect()
}

fn json(world: &World, words: &[&str]) -> Run {
    world.run(&[words, &["--log-format", "json"]].concat())
}

/// The one line of a level, of a run that ended so.
fn only(run: Run, code: i32, level: &str) -> Value {
    let run = run.ends_in(code);
    let mut found = lines(&run);
    found.retain(|line| line["level"] == level);
    assert_eq!(found.len(), 1, "{}", run.stderr);
    found.remove(0)
}

#[test]
fn a_failure_says_whose_it_is_of_which_class_and_what_comes_next() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let refusal = Fault::RejectIdentifier { detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("web.example.test"));
    // A run by hand reports it, which does not count as the daily report of cron's runs.
    let refused = only(json(&world, &["renew", "web"]), 5, "ERROR");
    assert_eq!((&refused["certificate"], &refused["class"]), (&"default/web".into(), &"ca".into()));
    assert_eq!((&refused["reason"], &refused["attempts"]), (&"Failed".into(), &1.into()));
    let next: jiff::Timestamp = refused["next_attempt"].as_str().unwrap().parse().unwrap();

    assert_eq!(refused["try"].as_array().unwrap().last().unwrap(), "certctl status web");
    assert!(!refused["details"].as_array().unwrap().is_empty(), "{refused}");

    let deferred = only(json(&world, &["issue"]), 75, "WARN");
    assert_eq!(deferred["class"], "deferred");
    assert_eq!(deferred["next_attempt"], refused["next_attempt"], "{next}");
}

#[test]
fn a_challenge_that_fails_and_a_hook_that_fails_are_told_apart() {
    let web = CertificateYaml::new("web").annotation("certctl/deploy-hook", "install");
    let world = World::prepared(&[web]);
    let hook = world.write("config/hooks.d/install", "#!/bin/sh\necho broken >&2\nexit 7\n");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let undeployed = only(json(&world, &["issue"]), 6, "ERROR");
    assert_eq!(undeployed["certificate"], "default/web");
    assert_eq!((&undeployed["class"], &undeployed["ending"]), (&"output".into(), &"issued".into()));
    assert!(undeployed["message"].as_str().unwrap().contains("exit code 7"), "{undeployed}");
    assert!(undeployed.get("next_attempt").is_some());

    let nowhere = CertificateYaml::new("nowhere").for_names(&["nowhere.example.invalid"]);
    world.write("config/web.yaml", &nowhere);
    let pending = only(json(&world, &["issue", "--timeout", "1s"]), 75, "WARN");
    assert_eq!((&pending["ending"], &pending["class"]), (&"pending".into(), &"deferred".into()));
    assert!(pending["report"].is_string() && pending["order"].is_string(), "{pending}");
}

#[test]
fn what_stops_a_run_before_it_begins_is_an_object_too() {
    let world = World::start();
    for (words, code, class) in [
        (&["isue"][..], 2, "usage"),
        (&["issue", "--timeout", "90d"], 2, "usage"),
        (&["renew"], 2, "usage"),
        (&["issue"], 3, "precondition"),
        (&["issue", "/nowhere.yaml"], 3, "precondition"),
        (&["status", "nobody"], 3, "precondition"),
    ] {
        let run = json(&world, words).ends_in(code);
        assert_eq!(run.stdout, "");
        let found = lines(&run);
        let last = found.last().unwrap();
        assert_eq!((&last["level"], &last["class"]), (&"ERROR".into(), &class.into()), "{words:?}");
        assert_eq!(last["exit_code"], code, "{words:?}");
    }
    let usage = json(&world, &["isue"]);
    let usage = lines(&usage).remove(0);
    assert_eq!(usage["message"], "unrecognized subcommand 'isue'");
    assert_eq!(usage["hint"], json!(["issue"]), "what was meant, without a sentence");
}

#[test]
fn a_mistake_in_a_manifest_has_its_place_in_every_format() {
    let world = World::start();
    let text = world.issuer().to_string().replace("email:", "e-mail:");
    let bad = text.replace("spec:\n", "spec:\n  colour: red\n");
    let path = world.write("bad.yaml", &bad);
    let path = path.to_str().unwrap();
    let run = json(&world, &["validate", path]).ends_in(3);
    let found = lines(&run);
    let mistake = found.first().unwrap();
    assert_eq!((&mistake["code"], &mistake["severity"]), (&"E0102".into(), &"error".into()));
    assert_eq!((&mistake["file"], &mistake["column"]), (&path.into(), &3.into()));
    assert!(mistake["endColumn"].is_u64() && mistake["path"].is_string(), "{mistake}");
    assert!(mistake.get("suggestion").is_some(), "{mistake}");
    let line = mistake["line"].as_u64().unwrap();
    let run = world.run(&["validate", path, "--log-format", "github"]).ends_in(3);
    let start = format!("::error file={path},line={line},col=3,endColumn=9,title=E0102::");
    let first = run.stderr.lines().next().unwrap();
    assert!(first.starts_with(&start), "{first}");
    assert!(first.contains("`colour`"), "{first}");
    assert_eq!(run.stdout, "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_state_that_cannot_be_written_is_class_state() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.write("state", "a file is no folder");
    let error = only(json(&world, &["issue"]), 7, "ERROR");
    assert_eq!((&error["class"], &error["exit_code"]), (&"state".into(), &7.into()));
}
