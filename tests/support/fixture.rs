//! Copies of the stored state, `tests/fixtures/state`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use certctl::engine::ports::{Clock as _, SystemClock};
use jiff::SignedDuration;

use super::World;

/// Stands for the folder that holds the copy.
pub(crate) const WORLD: &str = "@WORLD@";
/// Stands for the time of a failure: a minute before the copy is made, so that each waits.
pub(crate) const NOW: &str = "@NOW@";

/// The folder of the state in format 1.
pub(crate) fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/state/v1")
}

/// A world with a copy of the fixture. Nothing listens where its CA was.
pub(crate) fn copied() -> World {
    let world = World::start();
    for (folder, is_private) in [("state", true), ("config", false), ("out", false)] {
        copy(&world, &fixture().join(folder), &world.path(folder), is_private);
    }
    world
}

/// Writes a file of a test, which need not survive a crash.
#[expect(clippy::disallowed_methods, reason = "a file of a test")]
pub(crate) fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

fn copy(world: &World, from: &Path, to: &Path, is_private: bool) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            symlink(fs::read_link(&from).unwrap(), &to).unwrap();
        } else if kind.is_dir() {
            copy(world, &from, &to, is_private);
        } else {
            put(&to, &filled_in(world, fs::read(&from).unwrap()));
            // Git keeps whether a file can be executed, and no other mode.
            let is_program = fs::metadata(&from).unwrap().permissions().mode() & 0o100 != 0;
            let mode = if is_program { 0o755 } else { 0o600 };
            fs::set_permissions(&to, Permissions::from_mode(mode)).unwrap();
        }
    }
    if is_private {
        fs::set_permissions(to, Permissions::from_mode(0o700)).unwrap();
    }
}

fn filled_in(world: &World, bytes: Vec<u8>) -> Vec<u8> {
    let folder = world.path("").display().to_string();
    // Before any time that a run of the test can write or show.
    let failed = SystemClock.now() - SignedDuration::from_mins(1);
    let failed = failed.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    match String::from_utf8(bytes) {
        Ok(text) => {
            text.replace(WORLD, folder.trim_end_matches('/')).replace(NOW, &failed).into_bytes()
        }
        Err(error) => error.into_bytes(),
    }
}
