//! What is in a folder, through its handle; a call that a signal interrupts is repeated.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::fs::{FileType, RawDir, SeekFrom};
use rustix::io::{Errno, retry_on_intr};

/// The names and kinds of what is in a folder, without `.` and `..`. A handle that was listed before
/// has to be rewound.
pub(super) fn entries(folder: impl AsFd) -> Result<Vec<(CString, FileType)>, Errno> {
    let mut buffer = [const { MaybeUninit::uninit() }; LIST_BYTES];
    let mut read = RawDir::new(&folder, &mut buffer);
    let mut entries = Vec::new();
    while let Some(entry) = read.next() {
        match entry {
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
            Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
            Ok(entry) => entries.push((entry.file_name().to_owned(), entry.file_type())),
        }
    }
    Ok(entries)
}

/// The names alone, from the beginning of the folder.
pub(super) fn names(folder: impl AsFd) -> Result<Vec<CString>, Errno> {
    rewind(&folder)?;
    Ok(entries(&folder)?.into_iter().map(|(name, _)| name).collect())
}

/// Lets a handle be listed from its beginning.
pub(super) fn rewind(folder: impl AsFd) -> Result<(), Errno> {
    retry_on_intr(|| rustix::fs::seek(&folder, SeekFrom::Start(0))).map(drop)
}

/// What one call may return.
const LIST_BYTES: usize = 8 << 10;
