//! A panic ends the process with exit code 1 and a short message, even with a broken stderr.

use std::process::{Command, Stdio};

use crate::own_process::only;

/// Not a test of its own: the child of the test below.
#[test]
#[ignore = "panics with certctl's hook in place"]
fn child_that_panics() {
    certctl::cli::panic::install_hook();
    panic!("out of \u{1b}cheese");
}

#[test]
fn a_panic_is_a_message_and_exit_code_1() {
    let child = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(only(module_path!(), "child_that_panics")).arg("--nocapture");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    };
    let output = child().output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("error: certctl has a bug: out of \\u{1b}cheese ("), "{stderr}");
    assert!(!stderr.contains("stack backtrace"), "{stderr}");

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(child().stderr(writer).status().unwrap().code(), Some(1));
}
