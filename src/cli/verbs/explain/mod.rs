//! `certctl explain`: what a field of a manifest means.
//!
//! Contract: one table is the source for this, `certctl schema` and certctl.yaml(5): `words/field/fields.txt`;
//! a test holds it against what the manifest layer accepts.

pub mod code;
mod provider;
#[cfg(test)]
mod tests;

use clap::Args;

use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::shell::Shell;
use crate::cli::verb::VerbArgs;
use crate::cli::words::field::{
    ANNOTATIONS, DNS01, Field, Kind, REQUIRED, Type, all, below, key_of, lego,
};
use crate::manifest::nearest_by;
use crate::resource::ANNOTATION_PREFIX;
use code::Code;

/// Explain a field of a manifest or the code of an error.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// KIND.PATH as in `kubectl explain`, an annotation of certctl, or the code of an error, such as
    /// E0201 [default: all kinds and annotations]
    #[arg(value_name = "FIELD")]
    pub field: Option<String>,
    /// Also list all fields below it.
    #[arg(long)]
    pub recursive: bool,
}

impl VerbArgs for ExplainArgs {
    const NEEDS_SETTINGS: bool = false;

    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        explain(self, shell)
    }
}

/// `certctl explain`.
pub(crate) fn explain(args: &ExplainArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let Some(requested) = &args.field else {
        let text =
            if args.recursive { Kind::ALL.map(|kind| tree(kind, "")).concat() } else { overview() };
        shell.page(text)?;
        return Ok(Vec::new());
    };
    if let Some(code) = Code::parse(requested) {
        shell.page(code.page())?;
        return Ok(Vec::new());
    }
    // As it stands in a manifest; the same on a Certificate and on an Issuer.
    let annotation = format!("certificate.{ANNOTATIONS}{requested}");
    let field = if requested.starts_with(ANNOTATION_PREFIX) { &annotation } else { requested };
    let (word, path) = field.split_once('.').unwrap_or((field, ""));
    let Some(kind) = Kind::parse(word) else {
        let found = named(requested);
        if !found.is_empty() {
            shell.page(found.join("\n"))?;
            return Ok(Vec::new());
        }
        let kinds = Kind::ALL.map(Kind::name).join(", ");
        let error =
            CliError::new(ExitCode::Usage, format_args!("`{word}` is not a kind of manifest"));
        return Err(
            error.hinted(format_args!("kinds: {kinds}; example: certctl explain certificate.spec"))
        );
    };
    let path = path.trim_end_matches('.');
    let text = page(kind, path).ok_or_else(|| unknown(kind, path))?;
    shell.page(if args.recursive { tree(kind, path) } else { text })?;
    Ok(Vec::new())
}

/// The kinds, and the annotations of certctl.
fn overview() -> String {
    let mut text = String::from("KINDS:\n");
    for kind in Kind::ALL {
        let (name, version) = (kind.name(), kind.api_version());
        text = format!("{text}  {name:<20} {version}\n");
    }
    text.push_str("ANNOTATIONS:\n");
    let annotations = all(Kind::Certificate).into_iter().map(|field| key_of(field.path));
    for annotation in annotations.filter(|key| key.starts_with(ANNOTATION_PREFIX)) {
        text = format!("{text}  {annotation}\n");
    }
    text + "\ncertctl explain certificate.spec; certctl explain certificate --recursive\n"
}

/// A field, or a kind, and all fields below it: a line each, indented by their depth.
fn tree(kind: Kind, path: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0);
    if path.is_empty() {
        text = format!("{}\n", kind.name());
        depth = 1;
    } else if let Some((field, _)) = find(kind, path) {
        text = branch(&field, 0);
        depth = 1;
    }
    text + &branches(kind, path, depth)
}

fn branches(kind: Kind, path: &str, depth: usize) -> String {
    let fields = below(kind, path).into_iter();
    fields.map(|field| branch(&field, depth) + &branches(kind, field.path, depth + 1)).collect()
}

fn branch(field: &Field, depth: usize) -> String {
    let required = if field.default == REQUIRED { ", required" } else { "" };
    let (indent, key, word) = ("  ".repeat(depth), key_of(field.path), field.kind.word());
    format!("{indent}{key} <{word}>{required}\n")
}

/// The pages of the fields that have this name, of a Certificate first: `reload` is the annotation
/// `certctl/reload`. Without one, the pages of those that have the word in their names.
fn named(word: &str) -> Vec<String> {
    let mut fields: Vec<(Kind, Field)> = Vec::new();
    for kind in Kind::ALL {
        for field in all(kind) {
            if !fields.iter().any(|(_, known)| known.path == field.path) {
                fields.push((kind, field));
            }
        }
    }
    let is_named = |field: &Field| {
        let key = key_of(field.path);
        key.rsplit('/').next().unwrap_or(key).eq_ignore_ascii_case(word)
    };
    let has_word = |field: &Field| {
        let key = key_of(field.path);
        key.starts_with(ANNOTATION_PREFIX) && key.contains(word)
    };
    let pages = |wanted: &dyn Fn(&Field) -> bool| -> Vec<String> {
        let wanted = fields.iter().filter(|(_, field)| wanted(field));
        wanted.filter_map(|(kind, field)| page(*kind, field.path)).collect()
    };
    let mut exact = pages(&is_named);
    exact.extend(provider::page(word));
    if exact.is_empty() && !word.is_empty() { pages(&has_word) } else { exact }
}

/// The description of a field, or of a kind when the path is empty.
fn page(kind: Kind, path: &str) -> Option<String> {
    let mut text = format!("KIND:      {}\nVERSION:   {}\n", kind.name(), kind.api_version());
    let children = below(kind, path);
    if !path.is_empty() {
        let (field, part) = find(kind, path)?;
        let name = if part.is_empty() { key_of(path) } else { part };
        let word = if part.is_empty() { field.kind.word() } else { "string" };
        let mut line = |label: &str, value: &str| {
            if !value.is_empty() {
                text = format!("{text}{label:<11}{value}\n");
            }
        };
        line("FIELD:", &format!("{name} <{word}>"));
        match part {
            "name" => line("MEANING:", "The name of a Secret."),
            "key" => line("MEANING:", "The entry in it."),
            _ => {
                line("MEANING:", field.rule);
                line("VALUES:", &values(field.kind));
                line("DEFAULT:", field.default);
            }
        }
        line("USED BY:", field.used.users());
        if part.is_empty() {
            line("IN LEGO:", &lego_of(path).join(", "));
        }
        if !field.example.is_empty() && part.is_empty() {
            let is_map = field.kind == Type::TextMap;
            let example = field.example;
            let value = if is_map { format!("{{{example}}}") } else { example.to_owned() };
            line("EXAMPLE:", &format!("{name}: {value}"));
        }
    }
    if !children.is_empty() {
        text.push_str("FIELDS:\n");
        for child in children {
            let name = format!("{} <{}>", key_of(child.path), child.kind.word());
            let required = if child.default == REQUIRED { " required;" } else { "" };
            let lego = lego_of(child.path).join(", ");
            let lego = if lego.is_empty() { lego } else { format!(" In lego: {lego}.") };
            text = format!("{text}  {name:<38}{required} {}{lego}\n", child.rule);
        }
    }
    if path == provider::PATH {
        text.push_str(&provider::list());
    }
    Some(text)
}

/// The variables of lego for a field of a DNS provider.
fn lego_of(path: &str) -> &'static [&'static str] {
    path.strip_prefix(DNS01).map(lego::variables).unwrap_or_default()
}

fn values(kind: Type) -> String {
    let values = if let Type::Word(choices) | Type::Choices(choices) = kind {
        choices.0
    } else if let Type::Bool = kind {
        "true, false"
    } else if let Type::Duration = kind {
        "hours, minutes and seconds, such as 2160h or 1h30m; no days"
    } else if let Type::SecretRef = kind {
        "name of a Secret and key of an entry in it"
    } else {
        ""
    };
    values.to_owned()
}

/// The field, and the part of a reference to a Secret when one is meant.
fn find(kind: Kind, path: &str) -> Option<(Field, &str)> {
    let all = all(kind);
    let at = |path: &str| all.iter().find(|field| field.path == path).copied();
    if let Some(field) = at(path) {
        return Some((field, ""));
    }
    let (parent, part) = path.rsplit_once('.')?;
    let reference = at(parent).filter(|field| field.kind == Type::SecretRef)?;
    ["name", "key"].contains(&part).then_some((reference, part))
}

fn unknown(kind: Kind, path: &str) -> CliError {
    let message = format!("{} has no field `{path}`", kind.name());
    let error = CliError::new(ExitCode::Usage, message);
    let word = kind.name().to_ascii_lowercase();
    match nearest_by(path, all(kind).iter(), |field| field.path) {
        Some(field) => error.trying(format_args!("certctl explain {word}.{}", field.path)),
        None => error.trying(format_args!("certctl explain {word}")),
    }
}
