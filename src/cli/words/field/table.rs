//! The fields of every kind: out of `fields.txt`, which says how it is to be read, and out of the
//! tables in `resource` of a Certificate's spec and of the DNS providers' settings.
//!
//! Contract: the tests report unreadable rows; a built program shows the readable ones.

use std::sync::LazyLock;

use super::description::{Choices, Field, REQUIRED, Type, Used};
use crate::resource::dns01::{FieldKind, SettingsTable};
use crate::resource::{CertificateSpec, Dns01Provider};

/// The fields of one section, in their order.
pub fn section(title: &str) -> &'static [Field] {
    let found = TABLE.iter().find(|(found, _)| *found == title);
    found.map(|(_, fields)| fields.as_slice()).unwrap_or_default()
}

static TABLE: LazyLock<Vec<(&'static str, Vec<Field>)>> = LazyLock::new(|| {
    let mut sections = read(SOURCE);
    for (title, fields) in &mut sections {
        match *title {
            "Certificate" => *fields = certificate(fields),
            "Issuer" => {
                for (name, table) in Dns01Provider::TABLES {
                    settings(format!("{DNS01}.{name}"), table.meaning, table, fields);
                }
            }
            _ => {}
        }
    }
    sections
});

/// The rows of a Certificate's spec, each before what is inside of it.
fn certificate(inner: &[Field]) -> Vec<Field> {
    let mut fields: Vec<Field> = inner.iter().filter(|it| it.path == "spec").copied().collect();
    for row in CertificateSpec::FIELDS {
        let path: &'static str = format!("spec.{}", row.name).leak();
        let default = if row.is_required { REQUIRED } else { row.default };
        let (kind, used, rule, example) = (row.kind, row.used, row.meaning, row.example);
        fields.push(Field { path, kind, used, default, rule, example });
        let is_inside =
            |it: &&Field| it.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        fields.extend(inner.iter().filter(is_inside));
    }
    fields
}

/// The rows of a provider's settings. What they have to say lives as long as the program.
fn settings(
    path: String,
    rule: &'static str,
    table: &'static SettingsTable,
    fields: &mut Vec<Field>,
) {
    let path: &'static str = path.leak();
    fields.push(Field {
        path,
        kind: Type::Object,
        used: Used::Both,
        default: "",
        rule,
        example: "",
    });
    for row in table.fields {
        let path = format!("{path}.{}", row.name);
        let (kind, used, example) = match row.kind {
            FieldKind::Object(table) => {
                settings(path, row.meaning, table, fields);
                continue;
            }
            FieldKind::Word(choices) => {
                (Type::Word(Choices(choices.join(", ").leak())), Used::Both, row.example)
            }
            FieldKind::Text
            | FieldKind::WordInAnyCase(_)
            | FieldKind::Server
            | FieldKind::FileName => (Type::Text, Used::Both, row.example),
            FieldKind::Secret => (Type::SecretRef, Used::Both, "{name: dns, key: token}"),
            FieldKind::Any => (Type::Anything, Used::Both, row.example),
            FieldKind::ClusterOnly => (Type::Anything, Used::Cluster, row.example),
        };
        let default = if row.is_required { REQUIRED } else { row.default };
        let path = path.leak();
        fields.push(Field { path, kind, used, default, rule: row.meaning, example });
    }
}

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

/// Parses a block: its first line, and those below it.
fn field(first: &'static str, rest: &'static str) -> Option<Field> {
    let (path, what) = first.rsplit_once(": ")?;
    let (word, used) = what.split_once(", ")?;
    let value_of = |key: &str| {
        let line = rest.lines().find_map(|line| line.strip_prefix("  ")?.strip_prefix(key));
        line.map(str::trim_start).unwrap_or_default()
    };
    Some(Field {
        path,
        kind: type_of(word, Choices(value_of("words:")))?,
        used: used_of(used)?,
        default: value_of("default:"),
        rule: rest.lines().next()?.trim_start(),
        example: value_of("example:"),
    })
}

fn type_of(word: &str, choices: Choices) -> Option<Type> {
    Some(match word {
        "text" => Type::Text,
        "bool" => Type::Bool,
        "integer" => Type::Integer,
        "duration" => Type::Duration,
        "word" => Type::Word(choices),
        "words" => Type::Choices(choices),
        "texts" => Type::Texts,
        "map" => Type::TextMap,
        "object" => Type::Object,
        "objects" => Type::Objects,
        "secret" => Type::SecretRef,
        "any" => Type::Anything,
        _ => return None,
    })
}

fn used_of(word: &str) -> Option<Used> {
    Some(match word {
        "both" => Used::Both,
        "certctl" => Used::Certctl,
        "cluster" => Used::Cluster,
        _ => return None,
    })
}

const SOURCE: &str = include_str!("fields.txt");
const DNS01: &str = "spec.acme.solvers.dns01";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_block_is_read_once_and_says_something() {
        let blocks = SOURCE.lines().filter(|line| !line.starts_with([' ', '#', '=']));
        let blocks = blocks.filter(|line| !line.is_empty()).count();
        for (title, fields) in TABLE.iter() {
            let paths: BTreeSet<&str> = fields.iter().map(|field| field.path).collect();
            assert_eq!(paths.len(), fields.len(), "{title}: a field stands there twice");
            for Field { path, rule, kind, .. } in fields {
                assert!(rule.ends_with('.'), "{path}: {rule}");
                if let Type::Word(choices) | Type::Choices(choices) = kind {
                    assert!(choices.list().count() > 1, "{path}: no words");
                }
            }
        }
        let rows: usize = read(SOURCE).iter().map(|(_, fields)| fields.len()).sum();
        assert_eq!(rows, blocks);
        let keys = ["words", "default", "example"];
        for line in SOURCE.lines().filter(|line| line.starts_with("  ")) {
            let key = line.trim_start().split(": ").next().unwrap();
            assert!(keys.contains(&key) || line.ends_with('.'), "{line}");
        }
    }
}
