//! The lock of a hook's or exec solver's run, which outlives a killed certctl as the program does.
//!
//! The processes of the hook inherit the locked file, and its first process is noted in it. Contract:
//! while that one runs, the lock is not given to another run; what the hook left running in the
//! background keeps no run waiting. The file goes when the hook has ended, or with a later run.

use super::folder::{Folder, Guard};
use super::lock::Attempt;
use super::{layout, lock};
use crate::store::port::{HookTurn, StoreError};

/// Takes the lock of the hook run that is named by `digest`; `runs` says whether the first process
/// of a run is still there.
pub(super) fn take(
    folder: &Folder,
    digest: &str,
    runs: impl Fn(i32) -> bool,
) -> Result<HookTurn, StoreError> {
    let name = layout::hook_lock(digest);
    loop {
        match lock::take_file(folder, &name)? {
            Attempt::Taken(file) => return Ok(HookTurn::Free(Some(file))),
            Attempt::Passing => return Ok(HookTurn::Runs(None)),
            Attempt::Held => {}
        }
        let text = folder.read(&name, Guard::Document)?.unwrap_or_default();
        let process = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
        match process {
            // It has ended, and left others in the background: those keep the old file.
            Some(process) if !runs(process) => drop(folder.remove(&name)?),
            process => return Ok(HookTurn::Runs(process)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_hook_is_waited_for_while_its_first_process_runs() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        let turn = |runs: bool| take(&folder, "1f", |_| runs).unwrap();
        let HookTurn::Free(Some(mut held)) = turn(true) else { panic!("it is free") };
        // Killed before it could note its hook.
        assert!(matches!(turn(false), HookTurn::Runs(None)));
        held.write_all(b"0000000042\n").unwrap();
        assert!(matches!(turn(true), HookTurn::Runs(Some(42))));
        assert!(matches!(turn(false), HookTurn::Free(Some(_))), "others hold the old file");
    }
}
