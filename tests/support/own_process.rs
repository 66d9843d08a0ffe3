//! A test in a process of its own: this executable again, with that test alone.

use std::process::Command;

/// The arguments with which this executable runs one test of a module (`module_path!()`), ignored or
/// not. A name that is not that of exactly one test would run nothing, and pass: it panics.
pub(crate) fn only(module: &str, test: &str) -> [String; 3] {
    let (_, module) = module.split_once("::").unwrap();
    let only = ["--exact".to_owned(), "--include-ignored".to_owned(), format!("{module}::{test}")];
    let mut command = Command::new(std::env::current_exe().unwrap());
    let listed = command.args(&only).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed, format!("{module}::{test}: test\n\n1 test, 0 benchmarks\n"));
    only
}

#[test]
#[should_panic(expected = "0 tests, 0 benchmarks")]
fn a_test_that_is_not_there_cannot_be_run() {
    only(module_path!(), "a_test_that_was_renamed");
}
