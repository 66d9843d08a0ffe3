//! Reads a file of limited size: a regular one, without blocking, or a FIFO that the user named.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use zeroize::Zeroizing;

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
}

/// Reads a regular file of at most `limit` bytes, and returns its metadata too.
///
/// An ordinary open of a FIFO would block until a writer opens it: it is opened with O_NONBLOCK,
/// and then rejected.
pub(crate) fn read_regular(
    path: &Path,
    limit: usize,
) -> Result<(Zeroizing<Vec<u8>>, std::fs::Metadata), ReadError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty()).map_err(std::io::Error::from)?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NotRegular);
    }
    Ok((read(file, limit)?, metadata))
}

/// The same; a FIFO, such as that of `<(command)`, is read until its writers close it.
pub(crate) fn read_named(
    path: &Path,
    limit: usize,
) -> Result<(Zeroizing<Vec<u8>>, std::fs::Metadata), ReadError> {
    let metadata = std::fs::metadata(path)?;
    if metadata.file_type().is_fifo() {
        return Ok((read(File::open(path)?, limit)?, metadata));
    }
    read_regular(path, limit)
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
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::io::Write::write_all(&mut File::create(&file).unwrap(), b"12345").unwrap();
        assert_eq!(*read_regular(&file, 5).unwrap().0, b"12345");
        assert!(matches!(read_regular(&file, 4), Err(ReadError::TooLarge { limit: 4 })));
        assert!(matches!(read_regular(folder.path(), 5), Err(ReadError::NotRegular)));
        let fifo = folder.path().join("fifo");
        let status = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(status.success());
        assert!(matches!(read_regular(&fifo, 5), Err(ReadError::NotRegular)));
        let path = fifo.clone();
        let writer = std::thread::spawn(move || {
            let mut file = File::options().write(true).open(path).unwrap();
            std::io::Write::write_all(&mut file, b"12345").unwrap();
        });
        assert_eq!(*read_named(&fifo, 5).unwrap().0, b"12345");
        writer.join().unwrap();
        assert_eq!(*read_named(&file, 5).unwrap().0, b"12345");
        assert!(matches!(read_regular(&folder.path().join("none"), 5), Err(ReadError::Io(_))));
    }
}
