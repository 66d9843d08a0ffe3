//! `certctl man`: the manual, into a folder or page by page.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::files::put;
use crate::cli::man::pages;
use crate::cli::{CliError, Ending, Shell, VerbArgs, Verbs};

/// Write the manual into a folder, or print a page of it
///
/// `certctl man /usr/local/share/man/man1` writes every page, including sections 5
/// and 7. `certctl man issue` prints the page of a verb, for `man -l -`.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ManArgs {
    /// Folder for all pages, created if missing, or the page to print, such as `issue`.
    #[arg(value_name = "DIR|PAGE")]
    pub target: Option<PathBuf>,
}

impl VerbArgs for ManArgs {
    const NEEDS_SETTINGS: bool = false;

    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        let word = self.target.as_deref().unwrap_or(Path::new("certctl"));
        match (pages(&shell.verbs).into_iter().find(|page| page.is_named(word)), &self.target) {
            (Some(page), _) => shell.output.data(&page.text)?,
            (None, Some(folder)) => drop(write(&shell.verbs, folder)?),
            (None, None) => {}
        }
        Ok(Vec::new())
    }
}

/// Writes the pages into a folder, which is made when it is missing; returns how many.
pub fn write(verbs: &Verbs, folder: &Path) -> Result<usize, CliError> {
    let pages = pages(verbs);
    let files: Vec<_> = pages.iter().map(|page| (page.file.as_str(), page.text.as_str())).collect();
    put(folder, &files)?;
    Ok(pages.len())
}
