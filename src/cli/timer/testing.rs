//! A folder that stands for a host's root.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::atomic;

/// Writes a file below it, and returns its path.
pub(super) fn write(root: &Path, path: &str, text: &str) -> PathBuf {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    atomic::write(&path, text.as_bytes(), 0o644).unwrap();
    path
}
