//! The scenes as they are kept: one text file each, compared as a whole.

use std::path::PathBuf;

/// The folder of the scenes.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scenes")
}

/// Fails unless the scene is word for word the one that is kept; with `CERTCTL_REGENERATE` it is
/// kept from now on.
pub(crate) fn compare(scene: &str, found: &str) {
    let path = folder().join(scene).with_extension("txt");
    if std::env::var_os("CERTCTL_REGENERATE").is_some() {
        #[expect(clippy::disallowed_methods, reason = "a generated file, made by hand")]
        std::fs::write(&path, found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == found,
        "{} differs (- kept, + found):\n{}\n\
         if it is meant so: CERTCTL_REGENERATE=1 cargo test --test golden",
        path.display(),
        difference(&kept, found)
    );
}

/// The lines that differ, with those around them.
fn difference(kept: &str, found: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), found.lines().collect());
    // The lengths of the longest common lists of lines, from each place to the ends.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            common[row][column] = if old[row] == new[column] {
                common[row + 1][column + 1] + 1
            } else {
                common[row + 1][column].max(common[row][column + 1])
            };
        }
    }
    let mut lines = Vec::new();
    let (mut row, mut column) = (0, 0);
    while row < old.len() || column < new.len() {
        if row < old.len() && column < new.len() && old[row] == new[column] {
            lines.push((' ', old[row]));
            (row, column) = (row + 1, column + 1);
        } else if column == new.len()
            || (row < old.len() && common[row + 1][column] >= common[row][column + 1])
        {
            lines.push(('-', old[row]));
            row += 1;
        } else {
            lines.push(('+', new[column]));
            column += 1;
        }
    }
    let is_near = |at: usize| {
        let around = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(lines.len());
        lines[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut text = String::new();
    for (at, (mark, line)) in lines.iter().enumerate() {
        if is_near(at) {
            text.push(*mark);
            text += line;
            text.push('\n');
        } else if at > 0 && is_near(at - 1) {
            text += "…\n";
        }
    }
    if text.is_empty() { "the line feeds at the end\n".to_owned() } else { text }
}

const CONTEXT: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_shown_with_what_is_around_it() {
        let kept = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        for (found, shown) in [
            ("1\n2\n3\n4\nx\n6\n7\n8\n9\n", "…\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n…\n"),
            ("2\n3\n4\n5\n6\n7\n8\n9\n", "-1\n 2\n 3\n 4\n…\n"),
            ("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "…\n 7\n 8\n 9\n+10\n"),
            (kept.trim_end(), "the line feeds at the end\n"),
        ] {
            // What is left out at the beginning needs no mark.
            let shown = shown.strip_prefix("…\n").unwrap_or(shown);
            assert_eq!(difference(kept, found), shown);
        }
    }
}
