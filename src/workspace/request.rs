//! The objects that a verb works on: files, folders, standard input and names.

use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::target::{NameTarget, Target, TargetError};
use crate::manifest::Source;
use crate::resource::NamespacedName;

/// See the module. Without sources and names, it selects everything.
#[derive(Debug, Default)]
pub struct Request {
    pub sources: Vec<Source>,
    pub names: Vec<NameTarget>,
    /// Whether an object of `sources` stands for the one of the same name in other files: an edited
    /// copy.
    pub has_edited_copies: bool,
    /// Whether the objects are only shown: nothing is attempted for them.
    pub is_only_shown: bool,
}

impl Request {
    /// Parses arguments that are files or names; `known` are the objects that there are.
    pub fn read(words: &[OsString], known: &[NamespacedName]) -> Result<Self, RequestError> {
        Self::parse(words, &|path| path.exists(), known)
    }

    /// Parses arguments of which every word that can be a name is one, whatever paths there are.
    pub fn names(words: &[OsString]) -> Result<Self, RequestError> {
        Self::parse(words, &|_| false, &[])
    }

    fn parse(
        words: &[OsString],
        exists: &dyn Fn(&Path) -> bool,
        known: &[NamespacedName],
    ) -> Result<Self, RequestError> {
        let mut request = Self::default();
        for word in words {
            match Target::read(word, exists, known)? {
                Target::Stdin => request.sources.push(standard_input()?),
                Target::Path(path) => request.sources.push(source(path)),
                Target::Name(name) => request.names.push(name),
            }
        }
        Ok(request)
    }

    /// Parses paths; `-` is standard input.
    pub fn paths(paths: &[PathBuf]) -> Result<Self, RequestError> {
        let mut request = Self::default();
        for path in paths {
            let is_stdin = path.as_os_str() == "-";
            request.sources.push(if is_stdin { standard_input()? } else { source(path.clone()) });
        }
        Ok(request)
    }

    /// Whether the request names nothing.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.names.is_empty()
    }
}

/// Why arguments are not a request.
#[derive(Debug, Error)]
pub enum RequestError {
    /// An argument is invalid.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Stdin(io::Error),
}

fn source(path: PathBuf) -> Source {
    if path.is_dir() { Source::Directory(path) } else { Source::File(path) }
}

/// Reads standard input up to the size limit of a manifest plus one byte, so that the limit is
/// detected.
fn standard_input() -> Result<Source, RequestError> {
    let mut bytes = Vec::new();
    io::stdin().take(65 << 20).read_to_end(&mut bytes).map_err(RequestError::Stdin)?;
    Ok(Source::Stdin(bytes))
}
