//! The lock of a hook's or exec solver's run, which outlives a killed certctl as the program does.
//!
//! The processes of the hook inherit the locked file, and its first process is noted in it. Contract:
//! a lock that is no private file is taken for a held one; while the first process runs, the lock is
//! not given to another run; what the hook left running in the background keeps no run waiting. The
//! file goes when the hook has ended, or with a later run.

use super::folder::{Folder, Guard};
use super::lock::Attempt;
use super::{layout, lock};
use crate::resource::FirstProcess;
use crate::store::error::StoreError;
use crate::store::host_record::HookTurn;

/// Takes the lock of the hook run that is named by `digest`; `runs` says whether the first process
/// of a run is still there.
pub(super) fn take(
    folder: &Folder,
    digest: &str,
    runs: impl Fn(FirstProcess) -> bool,
) -> Result<HookTurn, StoreError> {
    let name = layout::hook_lock(digest);
    loop {
        match lock::take_file(folder, &name) {
            Ok(Attempt::Taken(file)) => return Ok(HookTurn::Free(Some(file))),
            Ok(Attempt::Passing | Attempt::Replaced) => return Ok(HookTurn::Runs(None)),
            Ok(Attempt::Held) => {}
            Err(error) => return held_if_of_others(error),
        }
        let text = match folder.read(&name, Guard::Document) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => return held_if_of_others(error),
        };
        let process = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
        match process {
            // It has ended, and left others in the background: those keep the old file.
            Some(process) if !runs(process) => drop(folder.remove(&name)?),
            process => return Ok(HookTurn::Runs(process)),
        }
    }
}

/// A file that another user could have written says nothing of a hook, which may run.
fn held_if_of_others(error: StoreError) -> Result<HookTurn, StoreError> {
    let is_of_others = matches!(error, StoreError::TooOpen { .. } | StoreError::NotPlain { .. });
    if is_of_others { Ok(HookTurn::Runs(None)) } else { Err(error) }
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
        let first = FirstProcess::new(42, 7).unwrap();
        held.write_all(format!("{first}\n").as_bytes()).unwrap();
        assert!(matches!(turn(true), HookTurn::Runs(Some(found)) if found == first));
        assert!(matches!(turn(false), HookTurn::Free(Some(_))), "others hold the old file");
    }

    #[test]
    fn a_lock_that_others_could_have_written_lets_no_hook_run_beside_another() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::open(scratch.path()).unwrap().unwrap();
        let HookTurn::Free(Some(held)) = take(&folder, "1f", |_| true).unwrap() else {
            panic!("it is free")
        };
        held.set_permissions(std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(take(&folder, "1f", |_| true).unwrap(), HookTurn::Runs(None)));
    }
}
