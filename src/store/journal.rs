//! Append-only files: a certificate's events, and the log of issuances.
//!
//! Contract: one write per batch. Events are for people and not synced; at [`ROTATE_BYTES`] the
//! file becomes `events.jsonl.1`, of which one is kept. `issuance.log` is synced and never rotated.
//! A line that a crash truncated damages no other line.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::OFlags;
use rustix::io::{Errno, retry_on_intr};

use super::atomic::give_mode;
use super::folder::{Folder, Guard, io_error};
use super::layout::ISSUANCE_LOG;
use crate::resource::{Event, Issuance, escape};
use crate::store::port::StoreError;

const EVENTS_FILE: &str = "events.jsonl";
const OLD_EVENTS_FILE: &str = "events.jsonl.1";

/// Size at which a journal is rotated, in bytes.
const ROTATE_BYTES: u64 = 1 << 20;

/// Appends events to the journal in a certificate's folder.
pub(super) fn append_events(folder: &Folder, events: &[Event]) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let mut batch = Vec::new();
    for event in events {
        serde_json::to_writer(&mut batch, event)
            .map_err(|error| io_error(&folder.join(EVENTS_FILE), "write", error))?;
        batch.push(b'\n');
    }
    let Appended { file, end, .. } = open(folder, EVENTS_FILE)?;
    let added = u64::try_from(batch.len()).unwrap_or(u64::MAX);
    if end > 0 && end.saturating_add(added) > ROTATE_BYTES {
        drop(file);
        retry_on_intr(|| rustix::fs::renameat(folder, EVENTS_FILE, folder, OLD_EVENTS_FILE))
            .map_err(|error| io_error(&folder.join(OLD_EVENTS_FILE), "rename", error))?;
    }
    append(folder, EVENTS_FILE, batch).map(drop)
}

/// The last `count` events, oldest first. Lines that cannot be read are left out.
pub(super) fn last_events(folder: &Folder, count: usize) -> Result<Vec<Event>, StoreError> {
    let mut events = VecDeque::new();
    for name in [OLD_EVENTS_FILE, EVENTS_FILE] {
        let Some(bytes) = folder.read(name, Guard::Document)? else { continue };
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(event) = serde_json::from_slice(line) {
                events.push_back(event);
            }
            if events.len() > count {
                events.pop_front();
            }
        }
    }
    Ok(events.into())
}

/// Whether a line can be appended to `issuance.log`: found out before there is an order.
pub(super) fn check_log(root: &Folder) -> Result<(), StoreError> {
    match root.kind(ISSUANCE_LOG)? {
        None => Ok(()),
        Some(_) => open(root, ISSUANCE_LOG).map(drop),
    }
}

/// Appends one line to `issuance.log`, durably.
pub(super) fn log_issuance(root: &Folder, line: &str) -> Result<(), StoreError> {
    let line = format!("{}\n", escape(line));
    let Appended { file, end, .. } = append(root, ISSUANCE_LOG, line.into_bytes())?;
    file.sync_all().map_err(|error| io_error(&root.join(ISSUANCE_LOG), "sync", error))?;
    if end == 0 { root.sync() } else { Ok(()) }
}

/// The lines of `issuance.log`, oldest first. Lines that cannot be read are left out.
pub(super) fn issuances(root: &Folder) -> Result<Vec<Issuance>, StoreError> {
    let bytes = root.read(ISSUANCE_LOG, Guard::Document)?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
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
    use crate::resource::{EventType, Reason};

    fn folder(scratch: &tempfile::TempDir) -> Folder {
        Folder::open(scratch.path()).unwrap().unwrap()
    }

    fn event(second: i64, message: &str) -> Event {
        Event {
            time: jiff::Timestamp::from_second(second).unwrap(),
            kind: EventType::Normal,
            reason: Reason::Issuing,
            message: message.to_owned(),
        }
    }

    fn open_raw(scratch: &tempfile::TempDir, name: &str) -> File {
        File::options().append(true).open(scratch.path().join(name)).unwrap()
    }

    #[test]
    fn the_last_events_come_back_oldest_first() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let events: Vec<_> = (0..5).map(|n| event(n, "line\nwith \u{1b}[0m")).collect();
        append_events(&folder, &[]).unwrap();
        append_events(&folder, &events[..2]).unwrap();
        append_events(&folder, &events[2..]).unwrap();
        assert_eq!(last_events(&folder, 3).unwrap(), events[2..]);
        assert_eq!(last_events(&folder, 0).unwrap(), []);
        assert_eq!(last_events(&folder, 99).unwrap(), events);
    }

    #[test]
    fn a_line_cut_short_spoils_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        append_events(&folder, &[event(1, "one")]).unwrap();
        open_raw(&scratch, EVENTS_FILE).write_all(b"{\"time\":\"19").unwrap();
        append_events(&folder, &[event(2, "two")]).unwrap();
        assert_eq!(last_events(&folder, 9).unwrap(), [event(1, "one"), event(2, "two")]);
    }

    #[test]
    fn a_full_journal_is_rotated_and_one_old_one_is_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        let big = "x".repeat(700_000);
        for second in 0..4 {
            append_events(&folder, &[event(second, &big)]).unwrap();
        }
        assert_eq!(folder.entries().unwrap(), [EVENTS_FILE, OLD_EVENTS_FILE]);
        assert_eq!(last_events(&folder, 9).unwrap(), [event(2, &big), event(3, &big)]);
    }

    #[test]
    fn an_issuance_is_one_line() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = folder(&scratch);
        log_issuance(&folder, "serial 01\nforged line").unwrap();
        open_raw(&scratch, ISSUANCE_LOG).write_all(b"cut").unwrap();
        log_issuance(&folder, "serial 02").unwrap();
        let bytes = folder.read(ISSUANCE_LOG, Guard::Document).unwrap().unwrap();
        assert_eq!(*bytes, b"serial 01\\nforged line\ncut\nserial 02\n");
    }
}
