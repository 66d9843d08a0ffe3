//! Converts TOML to flag values; every error has its position.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;

use clap::builder::ValueHint;
use clap::{Arg, ArgAction, Command};
use toml::de::{DeTable, DeValue};

use super::key::{CONFIG_DIR, Entry, FILE, globals, is_switch};
use crate::manifest::{Diagnostic, nearest_by};

/// The entries of a text, and its errors.
pub(super) fn entries(
    path: &Path,
    text: &str,
    verbs: fn() -> Command,
) -> (BTreeMap<String, Entry>, Vec<Diagnostic>) {
    let reader = Reader { path, text, command: globals(), verbs };
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut mistakes: Vec<Diagnostic> = errors
        .iter()
        .map(|error| {
            let span = error.span().unwrap_or_default();
            reader.mistake("E0304", span, "", format!("not TOML: {}", error.message()))
        })
        .collect();
    // After a syntax error, later keys are unreliable.
    if !mistakes.is_empty() {
        return (BTreeMap::new(), mistakes);
    }
    let mut entries = BTreeMap::new();
    for (key, value) in table.get_ref() {
        let line = reader.line(key.span().start);
        match reader.values(key.get_ref(), key.span(), value.get_ref(), &value.span()) {
            Ok(values) => {
                drop(entries.insert(key.get_ref().to_string(), Entry { words: values, line }));
            }
            Err(mistake) => mistakes.push(*mistake),
        }
    }
    if let (Some(_), Some(quiet)) = (entries.get("verbose"), entries.get("quiet")) {
        let start = text.lines().take(quiet.line - 1).map(|line| line.len() + 1).sum();
        let message = "`verbose` is also set, but only one of them is allowed".to_owned();
        mistakes.push(reader.mistake("E0303", start..start + 5, "quiet", message));
    }
    mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
    (entries, mistakes)
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    command: Command,
    verbs: fn() -> Command,
}

type Values = Result<Vec<OsString>, Box<Diagnostic>>;

impl Reader<'_> {
    /// The words of one key.
    fn values(
        &self,
        key: &str,
        at: Range<usize>,
        value: &DeValue<'_>,
        span: &Range<usize>,
    ) -> Values {
        if key == CONFIG_DIR {
            let message = format!(
                "not allowed here, because certctl reads {FILE} from that \
                directory"
            );
            let help = Some("--config-dir or CERTCTL_CONFIG_DIR".to_owned());
            return Err(Box::new(Diagnostic { help, ..self.mistake("E0301", at, key, message) }));
        }
        let Some(arg) = self.command.get_arguments().find(|arg| arg.get_long() == Some(key)) else {
            return Err(Box::new(self.unknown(key, at)));
        };
        let wrong = |code, message: String| {
            let help = Some(format!("accepted: {}", accepted(arg)));
            Box::new(Diagnostic { help, ..self.mistake(code, span.clone(), key, message) })
        };
        let wrong_type = || {
            let article =
                if matches!(value, DeValue::Integer(_) | DeValue::Array(_)) { "an" } else { "a" };
            let expected = expected(arg);
            wrong("E0302", format!("expected {expected}, got {article} {}", value.type_str()))
        };
        let word = |value: &DeValue<'_>| match (value, shape(arg)) {
            (DeValue::Boolean(is), Shape::Switch) => Some(is.to_string()),
            (DeValue::Integer(number), Shape::Number) => {
                // Hexadecimal and underscores are TOML's, not the flag's.
                let number = i128::from_str_radix(number.as_str(), number.radix());
                number.ok().map(|number| number.to_string())
            }
            (DeValue::String(text), Shape::Text) => Some(text.to_string()),
            _ => None,
        };
        let values: Option<Vec<String>> = match value.as_array().filter(|_| is_list(arg)) {
            Some(array) => array.iter().map(|one| word(one.get_ref())).collect(),
            None => word(value).map(|word| vec![word]),
        };
        let values = values.ok_or_else(wrong_type)?;
        let values: Vec<OsString> = values
            .into_iter()
            .map(|word| self.absolute(arg, word).map_err(|message| wrong("E0303", message)))
            .collect::<Result<_, _>>()?;
        for word in &values {
            self.try_word(arg, word).map_err(|message| wrong("E0303", message))?;
        }
        Ok(values)
    }

    /// Makes a path absolute, relative to the file's folder.
    fn absolute(&self, arg: &Arg, word: String) -> Result<OsString, String> {
        let is_path = matches!(
            arg.get_value_hint(),
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
        );
        match word.as_str() {
            "" => Err("must not be empty".to_owned()),
            "-" if is_path => Err("standard input is not allowed here".to_owned()),
            _ if is_path => {
                let folder = self.path.parent().unwrap_or(Path::new(""));
                Ok(folder.join(word).into_os_string())
            }
            _ => Ok(word.into()),
        }
    }

    /// Validates with the flag's own parser.
    fn try_word(&self, arg: &Arg, word: &OsString) -> Result<(), String> {
        if is_switch(arg.get_action()) {
            return Ok(());
        }
        if matches!(arg.get_action(), ArgAction::Count) {
            let number = word.to_str().and_then(|word| word.parse::<u8>().ok());
            return number
                .map(drop)
                .ok_or_else(|| format!("`{}` is not a number from 0 to 255", word.display()));
        }
        let mut flag = OsString::from(format!("--{}=", arg.get_long().unwrap_or_default()));
        flag.push(word);
        let tried = self.command.clone().try_get_matches_from([flag]);
        tried.map(drop).map_err(|error| {
            let word = word.display();
            match error.source() {
                Some(source) => format!("`{word}`: {source}"),
                None => format!("`{word}` is not a valid value"),
            }
        })
    }

    fn unknown(&self, key: &str, at: Range<usize>) -> Diagnostic {
        let keys = self.command.get_arguments().filter_map(Arg::get_long);
        let nearest = nearest_by(key, keys.filter(|key| *key != CONFIG_DIR), |key| key);
        let mistake = self.mistake("E0301", at, key, "unknown key".to_owned());
        if let Some(nearest) = nearest {
            return Diagnostic { suggestion: Some(nearest.to_owned()), ..mistake };
        }
        let tree = (self.verbs)();
        let has_it = |verb: &&Command| verb.get_arguments().any(|arg| arg.get_long() == Some(key));
        let help = match tree.get_subcommands().find(has_it) {
            Some(verb) => format!(
                "--{key} is a flag of `certctl {}`; only global flags are keys here",
                verb.get_name()
            ),
            None => {
                "the keys are the long names of the global flags: certctl help flags".to_owned()
            }
        };
        Diagnostic { help: Some(help), ..mistake }
    }

    fn line(&self, offset: usize) -> usize {
        self.text.get(..offset).unwrap_or(self.text).matches('\n').count() + 1
    }

    fn mistake(
        &self,
        code: &'static str,
        span: Range<usize>,
        key: &str,
        message: String,
    ) -> Diagnostic {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let source = self.text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        let marked = self.text.get(span).unwrap_or_default();
        let length = marked.lines().next().unwrap_or_default().chars().count().max(1);
        Diagnostic {
            field: key.to_owned(),
            line: self.line(before.len()),
            column,
            end_column: column + length,
            source_line: (source.chars().count() <= 200).then(|| source.to_owned()),
            ..Diagnostic::about_file(self.path.to_path_buf(), code, message)
        }
    }
}

/// The TOML type of a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Switch,
    Number,
    Text,
}

pub(super) fn shape(arg: &Arg) -> Shape {
    let is_number = ["N", "PORT"].contains(&value_name(arg).as_str());
    let is_count = matches!(arg.get_action(), ArgAction::Count);
    if is_switch(arg.get_action()) {
        Shape::Switch
    } else if is_count || is_number {
        Shape::Number
    } else {
        Shape::Text
    }
}

fn expected(arg: &Arg) -> &'static str {
    match (shape(arg), is_list(arg)) {
        (Shape::Switch, _) => "a boolean",
        (Shape::Number, false) => "a number",
        (Shape::Number, true) => "a number or a list of numbers",
        (Shape::Text, false) => "a string",
        (Shape::Text, true) => "a string or a list of strings",
    }
}

pub(super) fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

fn value_name(arg: &Arg) -> String {
    arg.get_value_names()
        .and_then(|names| names.first())
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// The accepted values, as text.
fn accepted(arg: &Arg) -> String {
    let key = arg.get_long().unwrap_or_default();
    let values: Vec<String> =
        arg.get_possible_values().iter().map(|value| format!("\"{}\"", value.get_name())).collect();
    let one = match (shape(arg), value_name(arg).as_str()) {
        (Shape::Switch, _) => "true or false".to_owned(),
        (Shape::Number, "PORT") => format!("a number from 1 to 65535, such as {key} = 80"),
        (Shape::Number, "N") => format!("a number above 0, such as {key} = 64"),
        (Shape::Number, _) => format!("a number, such as {key} = 1"),
        (Shape::Text, _) if !values.is_empty() => values.join(", "),
        (Shape::Text, "DURATION") => "a duration, such as \"90s\", \"10m\" or \"1h30m\"".to_owned(),
        (Shape::Text, "ADDR") => "an address and a port, such as \"[::]:80\"".to_owned(),
        (Shape::Text, "HOST:PORT") => "a server, such as \"192.0.2.53:53\"".to_owned(),
        (Shape::Text, "NAMESPACE") => "a namespace, such as \"default\"".to_owned(),
        (Shape::Text, "DIR" | "FILE" | "FILE|DIR") => "a path in quotes".to_owned(),
        (Shape::Text, _) => format!("a string, as for --{key}"),
    };
    if is_list(arg) { format!("{one}; or a list of them in [ ]") } else { one }
}
