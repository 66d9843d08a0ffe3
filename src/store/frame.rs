//! All that is stored of a certificate, as one document: its parts, and the write that made it so.
//!
//! The first line is JSON: the version of this format, the [`WriteId`], and the parts in their order,
//! with their lengths in bytes. The bytes of the parts follow.

use std::collections::BTreeMap;
use std::mem;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::store::documents::{Stored, Version};
use crate::store::error::StoreError;
use crate::store::key::Part;

/// The version of the format.
const VERSION: u64 = 1;

/// Which write a document is of, so that its writer knows it again, and no two are of the same bytes.
/// A store whose locks last as long as their holders need not keep it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteId {
    /// The work on the certificate that it is part of: random, hexadecimal.
    pub owner: String,
    /// The epoch of the lock under which it was written.
    pub epoch: u64,
    /// Counts the writes of the owner.
    pub step: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: u64,
    owner: String,
    epoch: u64,
    step: u64,
    parts: Vec<Length>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Length {
    document: Part,
    length: usize,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub id: WriteId,
    pub parts: BTreeMap<Part, Zeroizing<Vec<u8>>>,
}

impl Frame {
    /// Reads one; `place` is for messages.
    pub fn read(bytes: &[u8], place: &str) -> Result<Self, StoreError> {
        let (id, parts) = parts(bytes, place)?;
        let parts = parts.into_iter().map(|(part, bytes)| (part, Zeroizing::new(bytes.to_vec())));
        Ok(Self { id, parts: parts.collect() })
    }

    /// The bytes of the document.
    pub fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let lengths = self.parts.iter();
        let lengths = lengths.map(|(part, bytes)| Length { document: *part, length: bytes.len() });
        let WriteId { owner, epoch, step } = self.id.clone();
        let head = Head { version: VERSION, owner, epoch, step, parts: lengths.collect() };
        let line = serde_json::to_vec(&head).unwrap_or_default();
        // Allocated at once: a vector that grows would leave copies of keys behind.
        let length = self.parts.values().map(|bytes| bytes.len()).sum::<usize>();
        let mut all = Vec::with_capacity(line.len().saturating_add(length).saturating_add(1));
        all.extend_from_slice(&line);
        all.push(b'\n');
        self.parts.values().for_each(|bytes| all.extend_from_slice(bytes));
        Zeroizing::new(all)
    }

    /// Reads one part of a stored document, for stores that keep the document whole.
    pub fn part(stored: &Stored, part: Part, place: &str) -> Result<Option<Stored>, StoreError> {
        let (_, parts) = parts(&stored.bytes, place)?;
        let found = parts.into_iter().find(|(found, _)| *found == part);
        Ok(found.map(|(_, bytes)| Stored::of(Zeroizing::new(bytes.to_vec()))))
    }
}

/// The write that a document is of, and its parts.
pub(super) fn parts<'a>(
    bytes: &'a [u8],
    place: &str,
) -> Result<(WriteId, BTreeMap<Part, &'a [u8]>), StoreError> {
    let corrupt = |why: String| StoreError::Corrupt {
        path: place.to_owned(),
        why,
        moved_to: place.to_owned(),
    };
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (line, mut rest) = bytes.split_at(end.map_or(bytes.len(), |end| end.saturating_add(1)));
    let head: serde_json::Value =
        serde_json::from_slice(line).map_err(|error| corrupt(error.to_string()))?;
    if let Some(found) = head.get("version").and_then(serde_json::Value::as_u64)
        && found > VERSION
    {
        return Err(StoreError::Version { path: place.to_owned(), found, known: VERSION });
    }
    let head: Head = serde_json::from_value(head).map_err(|error| corrupt(error.to_string()))?;
    let mut parts = BTreeMap::new();
    for Length { document, length } in head.parts {
        let Some((part, left)) = rest.split_at_checked(length) else {
            return Err(corrupt("it is cut off".to_owned()));
        };
        parts.insert(document, part);
        rest = left;
    }
    if !rest.is_empty() {
        return Err(corrupt("more follows its last part".to_owned()));
    }
    Ok((WriteId { owner: head.owner, epoch: head.epoch, step: head.step }, parts))
}

/// Frees a part. Only keys are secret: to overwrite an order of a hundred names at each of its steps
/// would take as long as to write it.
pub(super) fn discard(part: Part, mut bytes: Zeroizing<Vec<u8>>) {
    match part {
        Part::NextKey => drop(bytes),
        Part::Record | Part::Request(_) | Part::Order(..) => drop(mem::take(&mut *bytes)),
    }
}

/// The version of a document with parts of these versions, whatever write made it so.
pub(super) fn version<'a>(parts: impl IntoIterator<Item = (&'a Part, &'a Version)>) -> Version {
    let mut all = String::new();
    for (part, version) in parts {
        all.push_str(&serde_json::to_string(part).unwrap_or_default());
        all.push_str(&version.0);
    }
    Version::of(all.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        let parts = [
            (Part::Record, "{}\n"),
            (Part::Request(10), ""),
            (Part::Order(10, 1), "an\norder"),
            (Part::NextKey, "key\n"),
        ];
        let parts = parts.map(|(part, text)| (part, Zeroizing::new(text.as_bytes().to_vec())));
        let id = WriteId { owner: "ab".to_owned(), epoch: 7, step: 12 };
        Frame { id, parts: parts.into_iter().collect() }
    }

    #[test]
    fn the_format_is_that_of_version_1_and_is_read_as_it_was_written() {
        let bytes = frame().bytes();
        let expected = r#"{"version":1,"owner":"ab","epoch":7,"step":12,"parts":[{"document":"certificate","length":3},{"document":{"request":10},"length":0},{"document":{"order":[10,1]},"length":8},{"document":"nextKey","length":4}]}"#;
        let text = std::str::from_utf8(&bytes).unwrap();
        assert_eq!(text, format!("{expected}\n{{}}\nan\norderkey\n"));
        assert_eq!(Frame::read(&bytes, "here").unwrap(), frame());
        let stored = Stored::of(bytes);
        let order = Frame::part(&stored, Part::Order(10, 1), "here").unwrap().unwrap();
        assert_eq!(&**order.bytes, b"an\norder");
        assert_eq!(Frame::part(&stored, Part::Request(9), "here").unwrap(), None);
    }

    #[test]
    fn one_that_is_cut_or_goes_on_is_damaged_and_a_newer_one_is_refused() {
        let bytes = frame().bytes();
        for end in 0..bytes.len() {
            let found = Frame::read(&bytes[..end], "here");
            assert!(matches!(found, Err(StoreError::Corrupt { .. })), "{end}: {found:?}");
        }
        let found = Frame::read(&[&bytes[..], b"x"].concat(), "here");
        assert!(matches!(found, Err(StoreError::Corrupt { .. })), "{found:?}");
        let newer = Frame::read(b"{\"version\":2,\"more\":true}\n", "here");
        assert!(matches!(newer, Err(StoreError::Version { found: 2, known: 1, .. })), "{newer:?}");
    }
}
