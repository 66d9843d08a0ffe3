//! `index.jsonl`: until when nothing is due for each certificate, and the evidence of that; and
//! `index-DIGEST.jsonl`, the same for runs of the same files with many certificates.
//!
//! Contract: never the truth. A reader compares all evidence with what is there, and takes the long
//! way where anything differs. The file is replaced in one rename and not synced: one that is not
//! whole, of another version, or that another user could have changed counts as none. So does its
//! absence.
//!
//! The evidence of a path is what `stat` says of it, taken before its content is read. The time of
//! the last status change is what no program can set; one that is younger than `SETTLED` is no
//! evidence, because a later change could leave the same.

use std::fs::{File, Metadata};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use aws_lc_rs::digest;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::folder::Folder;
use crate::resource::hex;
use crate::store::error::StoreError;
use crate::trust::Walk;

/// The version of the file's lines.
pub const VERSION: u32 = 1;

/// How old a change must be, in nanoseconds: the coarsest clock of a file system ticks every two
/// seconds.
const SETTLED: i128 = 2_000_000_000;

/// The longest line.
const MAX_LINE: u64 = 1 << 20;

const FILE: &str = "index.jsonl";
/// How the names of the indexes of some files begin.
const OF_FILES: &str = "index-";
/// How many of those there are at most.
const MOST_OF_FILES: usize = 8;

/// The file of the index with this digest; of all certificates without one.
pub(super) fn file_name(of: Option<&str>) -> String {
    of.map_or_else(|| FILE.to_owned(), |digest| format!("{OF_FILES}{digest}.jsonl"))
}

/// Device, inode, mode, owner, group, size, and the nanoseconds of the last change of content and of
/// status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts(u64, u64, u32, u32, u32, u64, i64, i64);

impl Facts {
    /// What `stat` said.
    pub fn of(found: &Metadata) -> Self {
        let nanos =
            |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self(
            found.dev(),
            found.ino(),
            found.mode(),
            found.uid(),
            found.gid(),
            found.size(),
            nanos(found.mtime(), found.mtime_nsec()),
            nanos(found.ctime(), found.ctime_nsec()),
        )
    }

    fn is_settled(&self, at: Timestamp) -> bool {
        i128::from(self.7).saturating_add(SETTLED) <= at.as_nanosecond()
    }
}

/// A path, and the facts of what is there; without facts, nothing is. A relative path is below the
/// state, and a link at its end is not followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness(pub String, pub Option<Facts>);

impl Witness {
    /// Whether a change after `at` would leave other facts.
    pub fn is_settled(&self, at: Timestamp) -> bool {
        self.1.as_ref().is_none_or(|facts| facts.is_settled(at))
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Line {
    /// The first line.
    Header(Header),
    Manifest(Manifest),
    Certificate(Entry),
    /// A document of a certificate that is not among these.
    Other(Witness),
    /// The last line: how many there are before it, and the SHA-256 of those.
    #[serde(rename_all = "camelCase")]
    End {
        count: u64,
        digest: String,
    },
}

/// What all certificates have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Header {
    pub version: u32,
    /// The version of certctl.
    pub program: String,
    /// The settings of the run that decide.
    pub settings: Vec<String>,
    pub written: Timestamp,
    /// The folders of manifests and of certificates, and what is shared in the state.
    pub seen: Vec<Witness>,
    /// Until when no certificate is old enough for its CRL to be looked at, before the first look.
    pub young_until: Option<Timestamp>,
}

/// A manifest, under each path by which it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    pub seen: Witness,
    /// Whether the path is a symbolic link.
    pub is_link: bool,
}

impl Manifest {
    /// Its absolute path.
    pub fn path(&self) -> &Path {
        Path::new(&self.seen.0)
    }
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    pub namespace: String,
    pub name: String,
    /// Nothing is due until then, as long as the evidence holds; `None` when something may be due.
    pub until: Option<Timestamp>,
    pub seen: Vec<Witness>,
}

/// An open index.
#[derive(Debug)]
pub struct Index {
    pub(super) file: File,
}

impl Index {
    /// Passes each line but the last one to `each`, which may end it by `false`. Whether all were
    /// passed, and the file is whole.
    pub fn read(&mut self, each: &mut dyn FnMut(Line) -> bool) -> bool {
        self.try_read(each).unwrap_or(false)
    }

    fn try_read(&mut self, each: &mut dyn FnMut(Line) -> bool) -> io::Result<bool> {
        self.file.rewind()?;
        let mut reader = BufReader::with_capacity(1 << 16, &self.file);
        let mut sum = Sum::default();
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            (&mut reader).take(MAX_LINE).read_until(b'\n', &mut bytes)?;
            let Some(text) = bytes.strip_suffix(b"\n") else { return Ok(false) };
            let Ok(line) = serde_json::from_slice(text) else { return Ok(false) };
            if let Line::End { count, digest } = line {
                let is_last = reader.fill_buf()?.is_empty();
                return Ok(is_last && sum.end() == (count, digest));
            }
            sum.add(&bytes);
            if !each(line) {
                return Ok(false);
            }
        }
    }
}

/// The count and the digest of lines.
pub(super) struct Sum {
    count: u64,
    context: digest::Context,
}

impl Default for Sum {
    fn default() -> Self {
        Self { count: 0, context: digest::Context::new(&digest::SHA256) }
    }
}

impl Sum {
    fn add(&mut self, line: &[u8]) {
        self.count += 1;
        self.context.update(line);
    }

    fn end(self) -> (u64, String) {
        (self.count, hex(self.context.finish().as_ref()))
    }
}

/// Writes the lines of a new index.
pub struct Writer<'a> {
    pub(super) file: BufWriter<&'a File>,
    pub(super) sum: Sum,
}

impl Writer<'_> {
    /// Adds a line.
    pub fn add(&mut self, line: &Line) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.sum.add(&bytes);
        self.file.write_all(&bytes)
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        let (count, digest) = std::mem::take(&mut self.sum).end();
        let mut bytes = serde_json::to_vec(&Line::End { count, digest })?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.file.flush()
    }
}

/// Removes the oldest indexes of files, if there are too many.
pub(super) fn remove_oldest(root: &Folder) -> Result<(), StoreError> {
    let mut names = root.entries()?;
    names.retain(|name| name.starts_with(OF_FILES));
    let mut by_age = Vec::new();
    for name in names {
        let age = root.stat(&name)?.map(|found| (found.st_mtime, found.st_mtime_nsec));
        by_age.push((age, name));
    }
    by_age.sort();
    let too_many = by_age.len().saturating_sub(MOST_OF_FILES);
    by_age.iter().take(too_many).try_for_each(|(_, name)| root.remove(name).map(drop))
}

/// The files of a set that are read.
pub(super) fn set_files(folder: &Folder, set: &str) -> Option<Vec<String>> {
    let mut names = folder.child(set).ok()??.entries().ok()?;
    names.retain(|name| !name.starts_with('.'));
    Some(names)
}

/// Whether no other user can change a folder, or the way to it.
pub fn is_trusted_folder(path: &Path) -> bool {
    Walk::trusting_us().folder(path).is_ok()
}

/// The same for a file, along links.
pub fn is_trusted_file(path: &Path) -> bool {
    Walk::trusting_us().look(path).is_ok()
}
