//! `certctl help`: the verbs and topics, the help of a verb, or the text of a topic.
//!
//! Contract: a topic is a page of the manual, or sections of one; it has no text of its own.

mod page;
pub mod topic;
pub mod tree;

use clap::builder::StyledStr;
use clap::{Args, Command};

use crate::cli::render::text::USUAL;
use crate::cli::terminal::columns_of_stdout;
use crate::cli::{CliError, Ending, Shell, VerbArgs};
use crate::manifest::nearest_by;
use topic::{TOPICS, Topic};

/// Show the help of a verb, or a topic.
///
/// The topics are exit-codes, failures, files, flags, hooks, manifests, port-80 and renewal.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A verb, such as `check dns`, or a topic.
    #[arg(value_name = "VERB|TOPIC")]
    pub words: Vec<String>,
}

impl VerbArgs for HelpArgs {
    const NEEDS_SETTINGS: bool = false;

    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        let color = shell.output.data_has_color();
        let width = columns_of_stdout().unwrap_or(USUAL);
        let mut tree = tree::whole(&shell.verbs);
        tree.build();
        let topic = match self.words.as_slice() {
            [word] => Topic::find(word),
            _ => None,
        };
        let text = match topic {
            Some(topic) => page::text(&topic.source(&shell.verbs), width, color),
            None => plain_or_styled(&of_verb(&mut tree, &self.words)?, color),
        };
        shell.output.data(&text)?;
        Ok(Vec::new())
    }
}

fn plain_or_styled(text: &StyledStr, color: bool) -> String {
    if color { text.ansi().to_string() } else { text.to_string() }
}

/// The long help of the verb that the words name; the short help of certctl without words.
fn of_verb(tree: &mut Command, words: &[String]) -> Result<StyledStr, CliError> {
    if words.is_empty() {
        return Ok(tree.render_help());
    }
    let mut line = "certctl help".to_owned();
    let mut command = tree;
    for (at, word) in words.iter().enumerate() {
        let mut names: Vec<String> =
            command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        if at == 0 {
            names.extend(TOPICS.iter().map(|topic| topic.name.to_owned()));
        }
        command = command.find_subcommand_mut(word).ok_or_else(|| unknown(&line, word, &names))?;
        line = format!("{line} {}", command.get_name());
    }
    Ok(command.render_long_help())
}

/// The error of a word that names no verb and no topic.
fn unknown(line: &str, word: &str, names: &[String]) -> CliError {
    let error = CliError::usage(format_args!("no help for `{word}`"));
    match nearest_by(word, names.iter(), |name| name) {
        Some(name) => error.hinted(format_args!("did you mean `{line} {name}`?")),
        // The first word may be meant as a topic.
        None if TOPICS.iter().all(|topic| names.iter().any(|name| name == topic.name)) => {
            let topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
            error.hinted(format_args!("{line}, or a topic: {}", topics.join(", ")))
        }
        None => error.trying(line),
    }
}
