//! Promise: `tests/run` ends with how many tests passed, failed and were ignored, and why.

use std::io::Write as _;
use std::process::{Command, Stdio};

#[test]
fn the_binaries_of_a_run_are_added_up_and_reasons_are_counted() {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/summary");
    let mut program = Command::new(program);
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let printed = "test a ... ok\ntest b ... ignored\ntest c ... ignored, a series\n\
                   test result: ok. 2 passed; 0 failed; 2 ignored; 0 measured; 1 filtered out\n\
                   test d ... ignored, a series\ntest e ... FAILED\n\
                   test result: FAILED. 10 passed; 1 failed; 1 ignored; 0 measured\n";
    child.stdin.take().unwrap().write_all(printed.as_bytes()).unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let wanted = "tests/run: 12 passed, 1 failed, 3 ignored\n  1 ignored: no reason given\n  \
                  2 ignored: a series\n";
    assert_eq!(said, wanted);
}
