//! Append-only files: a certificate's events, and the log of issuances.
//!
//! Contract: one write per batch. Events are for people and not synced; at [`ROTATE_BYTES`] the
//! file becomes `events.jsonl.1`, of which one is kept. `issuance.log` is synced and never rotated.
//! A line that a crash truncated damages no other line.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::OFlags;
use rustix::io::{Errno, retry_on_intr};

use super::atomic::give_mode;
use super::folder::{Folder, Guard, io_error};
use super::layout::ISSUANCE_LOG;
use crate::resource::escape;
use crate::store::error::StoreError;
use crate::store::key::Log;

const EVENTS_FILE: &str = "events.jsonl";
const OLD_EVENTS_FILE: &str = "events.jsonl.1";

/// Size at which a journal is rotated, in bytes.
const ROTATE_BYTES: u64 = 1 << 20;

/// Appends events to the journal in a certificate's folder.
pub(super) fn append_events(folder: &Folder, lines: &[String]) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let batch = batch(lines);
    let Appended { file, end, .. } = open(folder, EVENTS_FILE)?;
    let added = u64::try_from(batch.len()).unwrap_or(u64::MAX);
    if end > 0 && end.saturating_add(added) > ROTATE_BYTES {
        drop(file);
        retry_on_intr(|| rustix::fs::renameat(folder, EVENTS_FILE, folder, OLD_EVENTS_FILE))
            .map_err(|error| io_error(&folder.join(OLD_EVENTS_FILE), "rename", error))?;
    }
    append(folder, EVENTS_FILE, batch).map(drop)
}

fn batch(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.bytes().chain([b'\n'])).collect()
}

/// The lines of a log in this folder, oldest first.
pub(super) fn read(folder: &Folder, log: &Log) -> Result<Vec<String>, StoreError> {
    let names: &[&str] = match log {
        Log::Events(_) => &[OLD_EVENTS_FILE, EVENTS_FILE],
        Log::Issuances => &[ISSUANCE_LOG],
    };
    let mut lines = Vec::new();
    for name in names {
        let Some(bytes) = folder.read(name, Guard::Document)? else { continue };
        let text = String::from_utf8_lossy(&bytes);
        lines.extend(text.lines().map(str::to_owned));
    }
    Ok(lines)
}

/// Whether a line can be appended to `issuance.log`: found out before there is an order.
pub(super) fn check_log(root: &Folder) -> Result<(), StoreError> {
    match root.kind(ISSUANCE_LOG)? {
        None => Ok(()),
        Some(_) => open(root, ISSUANCE_LOG).map(drop),
    }
}

/// Appends lines to `issuance.log`, durably.
pub(super) fn log_issuances(root: &Folder, lines: &[String]) -> Result<(), StoreError> {
    let lines: Vec<String> = lines.iter().map(|line| escape(line).into_owned()).collect();
    let Appended { file, end, .. } = append(root, ISSUANCE_LOG, batch(&lines))?;
    file.sync_all().map_err(|error| io_error(&root.join(ISSUANCE_LOG), "sync", error))?;
    if end == 0 { root.sync() } else { Ok(()) }
}

/// A file that is open for appending.
struct Appended {
    file: File,
    /// Where the file ended before.
    end: u64,
    /// Whether its last line is truncated.
    is_torn: bool,
}

fn append(folder: &Folder, name: &str, mut bytes: Vec<u8>) -> Result<Appended, StoreError> {
    let mut opened = open(folder, name)?;
    if opened.is_torn {
        bytes.insert(0, b'\n');
    }
    opened.file.write_all(&bytes).map_err(|error| io_error(&folder.join(name), "write", error))?;
    Ok(opened)
}

fn open(folder: &Folder, name: &str) -> Result<Appended, StoreError> {
    let path = folder.join(name);
    let failed = |error| io_error(&path, "open", error);
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
    let file = folder.open_file(name, flags)?.ok_or_else(|| failed(Errno::NOENT.into()))?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.mode() & 0o077 != 0 {
        return Err(folder.too_open(&path, metadata.mode() & 0o7777));
    }
    give_mode(&file, 0o600).map_err(failed)?;
    let end = metadata.size();
    let mut last = [b'\n'];
    if let Some(position) = end.checked_sub(1) {
        file.read_exact_at(&mut last, position).map_err(failed)?;
    }
    Ok(Appended { file, end, is_torn: last != [b'\n'] })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::resource::NamespacedName;

    fn folder(scratch: &tempfile::TempDir) -> Folder {
        Folder::open(scratch.path()).unwrap().unwrap()
    }

    fn line(number: usize) -> String {
        format!("{{\"n\":{number}}}")
    }

    fn events(folder: &Folder) -> Vec<String> {
        read(folder, &Log::Events(NamespacedName::new("default", "web"))).unwrap()
    }

    fn open_raw(scratch: &tempfile::TempDir, name: &str) -> File {
        File::options().append(true).open(scratch.path().join(name)).unwrap()
    }

    #[test]
    fn events_come_back_oldest_first() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let lines: Vec<_> = (0..5).map(line).collect();
        append_events(&folder, &[]).unwrap();
        assert_eq!(folder.entries().unwrap(), [""; 0]);
        append_events(&folder, &lines[..2]).unwrap();
        append_events(&folder, &lines[2..]).unwrap();
        assert_eq!(events(&folder), lines);
    }

    #[test]
    fn a_line_cut_short_spoils_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        append_events(&folder, &[line(1)]).unwrap();
        open_raw(&scratch, EVENTS_FILE).write_all(b"{\"n\":\xc3").unwrap();
        append_events(&folder, &[line(2)]).unwrap();
        assert_eq!(events(&folder), [line(1), "{\"n\":\u{fffd}".to_owned(), line(2)]);
    }

    #[test]
    fn a_full_journal_is_rotated_and_one_old_one_is_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let big = |number| format!("{number}{}", "x".repeat(700_000));
        for number in 0..4 {
            append_events(&folder, &[big(number)]).unwrap();
        }
        assert_eq!(folder.entries().unwrap(), [EVENTS_FILE, OLD_EVENTS_FILE]);
        assert_eq!(events(&folder), [big(2), big(3)]);
    }

    #[test]
    fn an_issuance_is_one_line() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let log = |line: &str| log_issuances(&folder, &[line.to_owned()]).unwrap();
        log("serial 01\nforged line");
        open_raw(&scratch, ISSUANCE_LOG).write_all(b"cut").unwrap();
        log("serial 02");
        let bytes = folder.read(ISSUANCE_LOG, Guard::Document).unwrap().unwrap();
        assert_eq!(*bytes, b"serial 01\\nforged line\ncut\nserial 02\n");
        assert_eq!(read(&folder, &Log::Issuances).unwrap().len(), 3);
    }
}
