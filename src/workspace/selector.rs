//! `-l`: selects objects by their labels, in kubectl's syntax.
//!
//! Contract: all requirements must hold. `k=v`, `k==v`, `k!=v`, `k`, `!k`, `k in (a,b)` and
//! `k notin (a,b)`, separated by commas. As in Kubernetes `!=` and `notin` also hold for objects
//! that do not have the label.

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;

/// Requirements on labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

impl LabelSelector {
    /// Whether these labels satisfy every requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| requirement.holds(labels))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
}

impl Requirement {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.contains(value)),
            Operator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::Absent => value.is_none(),
        }
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for part in split_outside_parentheses(text) {
            requirements.push(requirement(part.trim())?);
        }
        Ok(Self(requirements))
    }
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .collect()
}

fn requirement(part: &str) -> Result<Requirement, SelectorError> {
    let syntax = || SelectorError::Syntax { part: part.to_owned() };
    let single = |value: &str| vec![value.trim().to_owned()];
    let (key, operator) = if let Some((key, value)) = part.split_once("!=") {
        (key, Operator::NotIn(single(value)))
    } else if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        (key, Operator::In(single(value)))
    } else if let Some((key, values)) = part.split_once(" notin ") {
        (key, Operator::NotIn(list(values).ok_or_else(syntax)?))
    } else if let Some((key, values)) = part.split_once(" in ") {
        (key, Operator::In(list(values).ok_or_else(syntax)?))
    } else if let Some(key) = part.strip_prefix('!') {
        (key, Operator::Absent)
    } else {
        (part, Operator::Exists)
    };
    let key = key.trim();
    let is_odd = |c: char| !(c.is_ascii_alphanumeric() || "-_./".contains(c));
    if key.is_empty() || key.contains(is_odd) {
        return Err(syntax());
    }
    Ok(Requirement { key: key.to_owned(), operator })
}

fn list(text: &str) -> Option<Vec<String>> {
    let inside = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(inside.split(',').map(|value| value.trim().to_owned()).collect())
}

/// Why a text is not a selector.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SelectorError {
    /// A part is not a requirement.
    #[error("`{part}` is none of k=v, k!=v, k, !k, `k in (a,b)`, `k notin (a,b)`")]
    Syntax { part: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_choose_as_kubectl_does() {
        let labels: BTreeMap<String, String> =
            [("env", "prod"), ("team", "web")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        for (text, wanted) in [
            ("env=prod", true),
            ("env==prod", true),
            ("env=test", false),
            ("env=prod,team=db", false),
            ("env!=test", true),
            ("env!=prod", false),
            ("zone!=eu", true),
            ("env", true),
            ("zone", false),
            ("!zone", true),
            ("!env", false),
            ("env in (test, prod),team", true),
            ("env in (test)", false),
            ("env notin (test,dev)", true),
            ("zone notin (eu)", true),
            ("team notin (web)", false),
        ] {
            let selector: LabelSelector = text.parse().unwrap();
            assert_eq!(selector.matches(&labels), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_requirement_is_quoted() {
        for (text, part) in [
            ("", ""),
            ("=x", "=x"),
            ("a=b,", ""),
            ("a b", "a b"),
            ("a in b", "a in b"),
            ("a=b,c in (d", "c in (d"),
        ] {
            let error = SelectorError::Syntax { part: part.to_owned() };
            assert_eq!(text.parse::<LabelSelector>(), Err(error), "{text}");
        }
    }
}
