//! What is in a folder, through its handle; a call that a signal interrupts is repeated.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::fs::{RawDir, SeekFrom};
use rustix::io::{Errno, retry_on_intr};

/// The names in a folder, without `.` and `..`.
pub(super) fn names(folder: impl AsFd) -> Result<Vec<CString>, Errno> {
    // The handle may have been listed before.
    retry_on_intr(|| rustix::fs::seek(&folder, SeekFrom::Start(0)))?;
    let mut buffer = [const { MaybeUninit::uninit() }; LIST_BYTES];
    let mut entries = RawDir::new(&folder, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        match entry {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
            Ok(entry) => names.push(entry.file_name().to_owned()),
        }
    }
    Ok(names)
}

/// What one call may return.
pub(super) const LIST_BYTES: usize = 8 << 10;
