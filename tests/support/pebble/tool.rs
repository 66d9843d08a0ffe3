//! Where a tool is, and what its absence means.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Fails when Pebble or its DNS server is missing: the tests against real servers
/// require them.
pub(crate) fn installed() {
    for tool in ["pebble", "pebble-challtestsrv"] {
        needed(tool);
    }
}

/// The path of a tool; fails when it is missing.
pub(crate) fn needed(tool: &str) -> PathBuf {
    find(tool).unwrap_or_else(|| panic!("{tool} is missing; tests/run installs it"))
}

/// Says on the real stderr that a test looked at nothing.
pub(crate) fn not_tested(why: &str) {
    let thread = std::thread::current();
    let line = format!("NOT TESTED: {}: {why}\n", thread.name().unwrap_or("?"));
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The path of a tool: in the folder that `CERTCTL_TEST_TOOLS` names, in `target/tools`, or on
/// the search path.
pub(crate) fn find(tool: &str) -> Option<PathBuf> {
    let promised = std::env::var_os("CERTCTL_TEST_TOOLS").map(PathBuf::from);
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = promised.into_iter().chain([ours]).chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(tool)).find(|path| path.is_file())
}
