//! The file of `metrics-file`, which each run replaces: whether this process can write it.

use std::path::Path;

use crate::host::rights::{self, can_be_made};
use crate::resource::{Fix, Letters, Obstacle};

/// Obstacle of a run of this user to writing the file, and its fix. A new file takes its place, so
/// the folder counts.
pub(in crate::cli) fn obstacle(file: &Path) -> Option<Obstacle> {
    let file = std::path::absolute(file).ok()?;
    let folder = file.parent()?;
    let shown = folder.display();
    if !folder.is_dir() {
        let found = Obstacle::new(format_args!("metrics-file: there is no folder {shown}"));
        return Some(found.with(rights::own_folder(folder, 0o755, None).map(Fix::Permit)));
    }
    (!can_be_made(&file)).then(|| {
        let found = Obstacle::new(format_args!("metrics-file: no permission to write in {shown}"));
        found.with(rights::shared_folder(folder, Letters::Write).map(Fix::Permit))
    })
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
        assert_eq!(found.fix, rights::own_folder(&folder, 0o755, None).map(Fix::Permit));
    }
}
