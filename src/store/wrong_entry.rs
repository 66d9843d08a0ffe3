//! An entry of the state that has not the owner or the mode that it must have, and what puts it right.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::host::rights;
use crate::resource::{Permit, Right};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongEntry {
    /// It belongs to `owner`, not to `us`, in this state.
    Owner { path: String, owner: u32, us: u32, state: String },
    /// Other users may read or write it.
    /// With the state, in which others may have such a mode, too; `None` for the state itself.
    Mode { path: String, state: Option<String> },
    /// The system denies this user to use it.
    Denied { path: String },
}

impl WrongEntry {
    /// What gives it the owner and the mode that it must have: the owner of the state decides, unless that
    /// is root alone and all in the state belongs to one other user.
    pub fn permit(&self) -> Option<Permit> {
        match self {
            Self::Owner { path, owner, us, state } => {
                let state = Path::new(state);
                let is_ones = || {
                    let mut entries = fs::read_dir(state).ok()?;
                    let is_of =
                        |one: io::Result<fs::DirEntry>| Some(one.ok()?.metadata().ok()?.uid());
                    entries.all(|one| is_of(one) == Some(*owner)).then_some(())
                };
                if *us == 0 && is_ones().is_some() {
                    return Some(rights::of_owner(state, *owner, false));
                }
                Some(rights::of_foreign(Path::new(path), *owner, *us))
            }
            // What was restored or copied with one mode has it in many places.
            Self::Mode { path, state } => {
                let is_whole = state.is_some();
                Some(Permit::new(state.as_ref().unwrap_or(path), Right::Private { is_whole }))
            }
            Self::Denied { path } => rights::denied(Path::new(path)),
        }
    }
}
