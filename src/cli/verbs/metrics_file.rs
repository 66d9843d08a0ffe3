//! The file of `metrics-file`, which each run replaces: whether this process can write it.

use std::path::Path;

use crate::resource::{Fix, Obstacle};
use crate::trust::{can_be_made, command_for_own, command_for_shared};

/// Why a run of this user cannot write the file, and what helps: a new one takes its place, so that it is the
/// folder which counts.
pub(in crate::cli) fn obstacle(file: &Path) -> Option<Obstacle> {
    let file = std::path::absolute(file).ok()?;
    let folder = file.parent()?;
    let shown = folder.display();
    if !folder.is_dir() {
        let found = Obstacle::new(format_args!("metrics-file: there is no folder {shown}"));
        return Some(with(found, command_for_own(folder, "0755", None)));
    }
    (!can_be_made(&file)).then(|| {
        let found = Obstacle::new(format_args!("metrics-file: no permission to write in {shown}"));
        with(found, command_for_shared(folder, "rwx"))
    })
}

fn with(found: Obstacle, command: Option<String>) -> Obstacle {
    Obstacle { fix: command.map(Fix::Command), ..found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metrics_file_needs_its_folder() {
        let there = tempfile::tempdir().unwrap();
        assert_eq!(obstacle(&there.path().join("certctl.prom")), None);
        let folder = there.path().join("none");
        let found = obstacle(&folder.join("certctl.prom")).unwrap();
        assert_eq!(found.fact, format!("metrics-file: there is no folder {}", folder.display()));
        assert_eq!(found.fix, command_for_own(&folder, "0755", None).map(Fix::Command));
    }
}
