//! Where a tool is, and what its absence means.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Whether Pebble and its DNS server are here. Where they are missing this fails when
/// `CERTCTL_TEST_TOOLS` promises them (`tests/run`), and else says on the real stderr, which the
/// test harness does not capture, that nothing was looked at.
pub(crate) fn installed() -> bool {
    let missing = ["pebble", "pebble-challtestsrv"].into_iter().find(|tool| find(tool).is_none());
    let Some(tool) = missing else { return true };
    assert!(
        std::env::var_os("CERTCTL_TEST_TOOLS").is_none(),
        "{tool} is missing although CERTCTL_TEST_TOOLS is set"
    );
    not_tested(&format!("{tool} is missing; tests/run installs it"));
    false
}

/// Says on the real stderr that a test looked at nothing.
pub(crate) fn not_tested(why: &str) {
    let thread = std::thread::current();
    let line = format!("NOT TESTED: {}: {why}\n", thread.name().unwrap_or("?"));
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The path of a tool: in the folder that `CERTCTL_TEST_TOOLS` names, in `target/tools`, or on
/// the search path.
pub(super) fn find(tool: &str) -> Option<PathBuf> {
    let promised = std::env::var_os("CERTCTL_TEST_TOOLS").map(PathBuf::from);
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = promised.into_iter().chain([ours]).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(tool)).find(|path| path.is_file())
}
