//! One YAML document as a tree of nodes with their positions.
//!
//! Contract: never panics, never hangs; depth, nodes and the expansion of aliases are bounded. Scalars
//! keep their raw text and style: the decoder of the field decides their type.

use granit_parser::ErrorKind;
use thiserror::Error;

/// How deep collections may nest.
pub(crate) const MAX_DEPTH: usize = 64;
/// How many nodes one document may write.
pub(crate) const MAX_NODES: usize = 100_000;
/// How many nodes aliases may add to one document.
pub(crate) const MAX_ALIAS_NODES: usize = 10_000;
/// How many bytes of text aliases may add to one document.
pub(crate) const MAX_ALIAS_BYTES: usize = 1 << 20;

/// A place in a file: lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) end_line: usize,
    /// First column after the place.
    pub(crate) end_column: usize,
}

impl Span {
    /// One character.
    pub(crate) fn point(line: usize, column: usize) -> Self {
        Self { line, column, end_line: line, end_column: column + 1 }
    }

    /// Whether this place begins within `outer`.
    pub(crate) fn is_inside(self, outer: Self) -> bool {
        let at = (self.line, self.column);
        (outer.line, outer.column) <= at && at < (outer.end_line, outer.end_column)
    }
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Scalar { raw: String, plain: bool },
    Sequence(Vec<Node>),
    Mapping(Vec<Entry>),
}

/// One key with its value; keys are always text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) value: Node,
}

impl Node {
    /// The value under `key`, when this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The entries of a mapping; none when this is something else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Mapping(entries) => entries,
            Value::Null | Value::Scalar { .. } | Value::Sequence(_) => &[],
        }
    }

    /// The text of a scalar.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { raw, .. } => Some(raw),
            Value::Null | Value::Sequence(_) | Value::Mapping(_) => None,
        }
    }
}

/// Why a document, or a part of it, is not a tree.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum TreeError {
    #[error("{0}")]
    Syntax(ErrorKind),
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
    #[error("more than {MAX_NODES} values in one document")]
    Nodes,
    #[error("aliases repeat too much: at most {MAX_ALIAS_NODES} values may come from aliases")]
    Aliases,
    #[error("the anchor contains itself")]
    Recursive,
    #[error("duplicate key `{0}`")]
    Duplicate(String),
    #[error("a second object begins here: put a line `---` before it")]
    Second,
    #[error("a key must be text")]
    Key,
    #[error("`<<` needs a mapping, or a list of mappings")]
    Merge,
    #[error("tag `{0}` is not supported")]
    Tag(String),
}

/// An error and its place.
pub(crate) type Located = (Span, TreeError);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::builder::parse;

    fn tree(text: &str) -> (Result<Option<Node>, Located>, Vec<Located>) {
        let mut errors = Vec::new();
        (parse(text, 1, &mut errors), errors)
    }

    fn error(text: &str) -> Option<(usize, usize, TreeError)> {
        let (result, errors) = tree(text);
        let (span, error) = result.err().or_else(|| errors.into_iter().next())?;
        Some((span.line, span.column, error))
    }

    /// The tree without its places, in a JSON-like form.
    fn show(node: &Node) -> String {
        match &node.value {
            Value::Null => "null".into(),
            Value::Scalar { raw, plain } => {
                if *plain {
                    raw.clone()
                } else {
                    format!("{raw:?}")
                }
            }
            Value::Sequence(items) => {
                format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(","))
            }
            Value::Mapping(entries) => {
                let entry = |e: &Entry| format!("{}:{}", e.key, show(&e.value));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
            }
        }
    }

    #[test]
    fn scalars_keep_their_text() {
        for (text, shown) in [
            ("a: 010", "{a:010}"),
            ("a: no\nb: 'no'", "{a:no,b:\"no\"}"),
            ("a:\nb: ~\nc: null\nd: ''", "{a:null,b:null,c:null,d:\"\"}"),
            ("{\"a\": [1, true, 1e99]}", "{a:[1,true,1e99]}"),
            ("a: |\n  x\n  y\n", "{a:\"x\\ny\\n\"}"),
            ("a: !!str 5", "{a:\"5\"}"),
            ("a: &x [1]\nb: *x", "{a:[1],b:[1]}"),
            ("d: &d {a: 1, b: 2}\ne: {<<: *d, b: 3}", "{d:{a:1,b:2},e:{b:3,a:1}}"),
            (
                "a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}",
                "{a:{p:1},b:{p:2,q:2},c:{p:1,q:2}}",
            ),
            ("a: 1\r\nb: 2\r\n", "{a:1,b:2}"),
            // As libyaml: the lines of a quoted text need no indentation.
            ("a:\n  b: 'one\n  two'\n", "{a:{b:\"one two\"}}"),
            ("a:\n  b: \"one\ntwo\"\n", "{a:{b:\"one two\"}}"),
        ] {
            let (result, errors) = tree(text);
            assert_eq!(errors, []);
            assert_eq!(show(&result.unwrap().unwrap()), shown, "{text}");
        }
    }

    #[test]
    fn places_are_those_of_the_file() {
        let mut errors = Vec::new();
        let node = parse("---\nspec:\n  dns: [b\u{fc}cher, \"x y\"]\n", 10, &mut errors);
        let node = node.unwrap().unwrap();
        let list = node.get("spec").unwrap().get("dns").unwrap();
        let Value::Sequence(items) = &list.value else { panic!("{list:?}") };
        let span = |line, column, end_column| Span { line, column, end_line: line, end_column };
        assert_eq!(items[0].span, span(12, 9, 15));
        assert_eq!(items[1].span, span(12, 17, 22));
    }

    #[test]
    fn mistakes_are_found_where_they_are() {
        let deep = "[".repeat(10_000);
        let deep_block: String =
            (0..200).flat_map(|n| [" ".repeat(n), "a:\n".to_owned()]).collect();
        for (text, expected) in [
            ("a: 1\nb: 2\na: 3", Some((3, 1, TreeError::Duplicate("a".into())))),
            ("{a: 1, \"a\": 2}", Some((1, 8, TreeError::Duplicate("a".into())))),
            ("? [a]\n: 1", Some((1, 3, TreeError::Key))),
            ("a: &a [*a]", Some((1, 8, TreeError::Recursive))),
            ("a: {<<: 1}", Some((1, 9, TreeError::Merge))),
            ("a: !!binary AAAA", Some((1, 13, TreeError::Tag("tag:yaml.org,2002:binary".into())))),
            (&deep, Some((1, 65, TreeError::Depth))),
            (&deep_block, Some((65, 65, TreeError::Depth))),
        ] {
            assert_eq!(error(text), expected, "{}", text.get(..20).unwrap_or(text));
        }
    }

    #[test]
    fn several_mistakes_come_in_one_go() {
        let (result, errors) = tree("a: 1\na: 2\nb: 3\nb: 4");
        assert_eq!(show(&result.unwrap().unwrap()), "{a:1,b:3}");
        assert_eq!(errors.len(), 2);
    }

    #[test]
    fn aliases_cannot_explode() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for n in 1..9 {
            let list = vec![format!("*a{}", n - 1); 9].join(",");
            bomb = format!("{bomb}a{n}: &a{n} [{list}]\n");
        }
        assert!(matches!(error(&bomb), Some((_, _, TreeError::Aliases))));
        let long = "x".repeat(300_000);
        let quadratic = format!("a: &a {long}\nb: [{}]", vec!["*a"; 9_000].join(","));
        assert!(matches!(error(&quadratic), Some((2, _, TreeError::Aliases))));
        let wide = format!("a: &a [{}]\nb: [{}]", "x,".repeat(4_000), "*a,".repeat(4_000));
        assert!(matches!(error(&wide), Some((2, _, TreeError::Aliases))));
        let nodes = format!("[{}]", "a,".repeat(500_000));
        assert!(matches!(error(&nodes), Some((1, _, TreeError::Nodes))));
    }
}
