//! The fields of every kind, out of `fields.txt`, which says how it is to be read.
//!
//! Contract: what cannot be read in there is found by the tests; a program that was built shows
//! what it can.

use std::sync::LazyLock;

use super::field::{Field, Type, Used, Words};
use crate::resource::Dns01Provider;

/// The fields of one section, in their order.
pub fn section(title: &str) -> &'static [Field] {
    let found = TABLE.iter().find(|(found, _)| *found == title);
    found.map(|(_, fields)| fields.as_slice()).unwrap_or_default()
}

static TABLE: LazyLock<Vec<(&'static str, Vec<Field>)>> = LazyLock::new(|| read(SOURCE));

fn read(source: &'static str) -> Vec<(&'static str, Vec<Field>)> {
    let mut sections: Vec<(&str, Vec<Field>)> = Vec::new();
    for block in source.split("\n\n") {
        let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
        if let Some(title) = first.strip_prefix("= ") {
            sections.push((title, Vec::new()));
        } else if let Some(field) = field(first, rest)
            && let Some((_, fields)) = sections.last_mut()
        {
            fields.push(field);
        }
    }
    sections
}

/// One block: its first line, and those below it.
fn field(first: &'static str, rest: &'static str) -> Option<Field> {
    let (path, what) = first.rsplit_once(": ")?;
    let (word, used) = what.split_once(", ")?;
    let told = |key: &str| {
        let line = rest.lines().find_map(|line| line.strip_prefix("  ")?.strip_prefix(key));
        line.map(str::trim_start).unwrap_or_default()
    };
    Some(Field {
        path,
        kind: type_of(word, Words(told("words:")))?,
        used: used_of(path, used)?,
        default: told("default:"),
        rule: rest.lines().next()?.trim_start(),
        example: told("example:"),
    })
}

fn type_of(word: &str, words: Words) -> Option<Type> {
    Some(match word {
        "text" => Type::Text,
        "bool" => Type::Bool,
        "integer" => Type::Integer,
        "duration" => Type::Duration,
        "word" => Type::Word(words),
        "words" => Type::Words(words),
        "texts" => Type::Texts,
        "map" => Type::TextMap,
        "object" => Type::Object,
        "objects" => Type::Objects,
        "secret" => Type::SecretRef,
        "any" => Type::Anything,
        _ => return None,
    })
}

/// A DNS provider that this build lacks is of use to clusters only.
fn used_of(path: &str, word: &str) -> Option<Used> {
    let name = path.strip_prefix(DNS01).and_then(|rest| rest.split('.').next());
    let is_here = || Dns01Provider::NAMES.iter().any(|own| Some(*own) == name);
    Some(match word {
        "both" => Used::Both,
        "certctl" => Used::Certctl,
        "provider" if is_here() => Used::Both,
        "cluster" | "provider" => Used::Cluster,
        _ => return None,
    })
}

const SOURCE: &str = include_str!("fields.txt");
const DNS01: &str = "spec.acme.solvers.dns01.";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_block_is_read_once_and_says_something() {
        let blocks = SOURCE.lines().filter(|line| !line.starts_with([' ', '#', '=']));
        let blocks = blocks.filter(|line| !line.is_empty()).count();
        let mut read = 0;
        for (title, fields) in TABLE.iter() {
            let paths: BTreeSet<&str> = fields.iter().map(|field| field.path).collect();
            assert_eq!(paths.len(), fields.len(), "{title}: a field stands there twice");
            for Field { path, rule, kind, .. } in fields {
                assert!(rule.ends_with('.'), "{path}: {rule}");
                if let Type::Word(words) | Type::Words(words) = kind {
                    assert!(words.list().count() > 1, "{path}: no words");
                }
            }
            read += fields.len();
        }
        assert_eq!(read, blocks);
        let keys = ["words", "default", "example"];
        for line in SOURCE.lines().filter(|line| line.starts_with("  ")) {
            let key = line.trim_start().split(": ").next().unwrap();
            assert!(keys.contains(&key) || line.ends_with('.'), "{line}");
        }
    }

    #[test]
    fn a_provider_that_is_missing_here_is_for_clusters() {
        let of = |name: &str| used_of(&format!("{DNS01}{name}.host"), "provider");
        assert_eq!((of("rfc2136"), of("akami")), (Some(Used::Both), Some(Used::Cluster)));
    }
}
