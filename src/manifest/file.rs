//! Reads a file of limited size: a regular one, without blocking, or a FIFO that the user named.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use zeroize::Zeroizing;

use crate::trust::{TrustError, Walk};

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A system call failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A directory, a FIFO, a socket or a device.
    #[error("not a regular file")]
    NotRegular,
    /// Larger than allowed.
    #[error("larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// Another user could have changed it.
    #[error(transparent)]
    Untrusted(TrustError),
}

impl From<TrustError> for ReadError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Io { source, .. } => Self::Io(source),
            TrustError::Owner { .. }
            | TrustError::Writable { .. }
            | TrustError::Open { .. }
            | TrustError::Link { .. }
            | TrustError::Reserved { .. }
            | TrustError::Outside { .. } => Self::Untrusted(error),
        }
    }
}

/// Whether there is no such file. One that cannot be looked at may be there.
pub fn is_gone(path: &Path) -> bool {
    let found = std::fs::metadata(path);
    found.is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

/// Reads a regular file of at most `limit` bytes, and returns its metadata too.
pub(super) fn read_regular(
    walk: &Walk,
    path: &Path,
    limit: usize,
) -> Result<(Zeroizing<Vec<u8>>, Metadata), ReadError> {
    checked(walk.file(path, false)?, limit, Metadata::is_file)
}

/// The same; a FIFO, such as that of `<(command)`, is read until its writers close it.
pub(crate) fn read_named(
    walk: &Walk,
    path: &Path,
    limit: usize,
) -> Result<(Zeroizing<Vec<u8>>, Metadata), ReadError> {
    checked(walk.file(path, true)?, limit, |found| found.is_file() || found.file_type().is_fifo())
}

fn checked(
    file: File,
    limit: usize,
    is_fit: impl Fn(&Metadata) -> bool,
) -> Result<(Zeroizing<Vec<u8>>, Metadata), ReadError> {
    let metadata = file.metadata()?;
    if !is_fit(&metadata) {
        return Err(ReadError::NotRegular);
    }
    Ok((read(file, limit)?, metadata))
}

fn read(file: File, limit: usize) -> Result<Zeroizing<Vec<u8>>, ReadError> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(most).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let (folder, walk) = (tempfile::tempdir().unwrap(), Walk::trusting_us());
        let file = folder.path().join("a");
        std::io::Write::write_all(&mut File::create(&file).unwrap(), b"12345").unwrap();
        assert_eq!(*read_regular(&walk, &file, 5).unwrap().0, b"12345");
        assert!(matches!(read_regular(&walk, &file, 4), Err(ReadError::TooLarge { limit: 4 })));
        assert!(matches!(read_regular(&walk, folder.path(), 5), Err(ReadError::NotRegular)));
        let fifo = folder.path().join("fifo");
        let status = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(status.success());
        assert!(matches!(read_regular(&walk, &fifo, 5), Err(ReadError::NotRegular)));
        let path = fifo.clone();
        let writer = std::thread::spawn(move || {
            let mut file = File::options().write(true).open(path).unwrap();
            std::io::Write::write_all(&mut file, b"12345").unwrap();
        });
        assert_eq!(*read_named(&walk, &fifo, 5).unwrap().0, b"12345");
        writer.join().unwrap();
        assert_eq!(*read_named(&walk, &file, 5).unwrap().0, b"12345");
        assert!(matches!(
            read_regular(&walk, &folder.path().join("none"), 5),
            Err(ReadError::Io(_))
        ));
    }
}
