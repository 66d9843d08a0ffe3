//! Events of the YAML parser become a tree, within the budgets of [`super::tree`].

use std::collections::{HashMap, HashSet};

use granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, Span as Marks, Tag, options,
};

use super::tree::{
    Entry, Located, MAX_ALIAS_BYTES, MAX_ALIAS_NODES, MAX_DEPTH, MAX_NODES, Node, Span, TreeError,
    Value,
};

/// A collection that is still open.
struct Frame {
    span: Span,
    anchor: usize,
    content: Content,
}

enum Content {
    Sequence(Vec<Node>),
    Mapping(Fill),
}

/// A mapping while it is read.
#[derive(Default)]
struct Fill {
    entries: Vec<Entry>,
    seen: HashSet<String>,
    merges: Vec<Node>,
    /// The key whose value comes next.
    key: Option<Key>,
}

enum Key {
    Name(String, Span),
    Merge,
    /// The value is read and dropped; its error is already reported.
    Refused,
}

/// Reads one document whose first line is line `first_line` of its file.
///
/// Duplicate keys, keys that are not text and unsupported tags go to `errors` and reading
/// continues; any other error ends it with `Err`. An empty document is `None`.
pub(crate) fn parse(
    text: &str,
    first_line: usize,
    errors: &mut Vec<Located>,
) -> Result<Option<Node>, Located> {
    let options = options! { emit_comments: false, flow_nesting_limit: MAX_DEPTH };
    let mut builder = Builder::new(first_line, errors);
    for step in Parser::new_from_str_with_options(text, options) {
        match step {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => return Err(builder.scan_error(&error)),
        }
    }
    Ok(builder.finish())
}

/// The tree as far as the events went.
struct Builder<'e> {
    line_offset: usize,
    errors: &'e mut Vec<Located>,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    alias_nodes: usize,
    alias_bytes: usize,
    root: Option<Node>,
}

impl<'e> Builder<'e> {
    /// A builder for a document whose first line is `first_line` of its file.
    pub(crate) fn new(first_line: usize, errors: &'e mut Vec<Located>) -> Self {
        Self {
            line_offset: first_line.saturating_sub(1),
            errors,
            frames: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            alias_nodes: 0,
            alias_bytes: 0,
            root: None,
        }
    }

    /// Takes the next event.
    pub(crate) fn event(&mut self, event: Event<'_>, marks: Marks) -> Result<(), Located> {
        let span = self.locate(marks);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(text.into_owned(), style, tag.as_deref(), span);
                self.count(span)?;
                self.place(Node { span, value }, anchor)
            }
            Event::Alias(anchor) => {
                let node = self.alias(anchor, span)?;
                self.place(node, 0)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open(span, anchor, tag.as_deref(), Content::Sequence(Vec::new()))
            }
            Event::MappingStart(_, anchor, tag) => {
                self.open(span, anchor, tag.as_deref(), Content::Mapping(Fill::default()))
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::UnresolvedAlias(_) => Err((span, TreeError::Syntax(ErrorKind::UnknownAnchor))),
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Anchor(..)
            | _ => Ok(()),
        }
    }

    /// The root, when there was one.
    pub(crate) fn finish(self) -> Option<Node> {
        self.root
    }

    /// The parser's own error, located.
    pub(crate) fn scan_error(&self, error: &ScanError) -> Located {
        let mark = error.marker();
        let span = Span::point(mark.line() + self.line_offset, mark.col() + 1);
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            return (span, TreeError::Depth);
        }
        (span, TreeError::Syntax(error.kind().clone()))
    }

    fn locate(&self, marks: Marks) -> Span {
        Span {
            line: marks.start.line() + self.line_offset,
            column: marks.start.col() + 1,
            end_line: marks.end.line() + self.line_offset,
            end_column: marks.end.col() + 1,
        }
    }

    fn scalar(&mut self, raw: String, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Value {
        let mut plain = matches!(style, ScalarStyle::Plain);
        if let Some(tag) = tag {
            plain = plain && self.keeps_type(tag, span);
        }
        if plain && is_null(&raw) {
            return Value::Null;
        }
        Value::Scalar { raw, plain }
    }

    /// Whether a tag leaves the type to the text; a tag beyond YAML's core schema is an error.
    fn keeps_type(&mut self, tag: &Tag, span: Span) -> bool {
        let name = tag.to_string();
        let suffix = name.strip_prefix("tag:yaml.org,2002:").or_else(|| name.strip_prefix("!!"));
        match suffix {
            Some("str") => false,
            Some("int" | "bool" | "float" | "null" | "map" | "seq") => true,
            Some(_) | None => {
                if name != "!" {
                    self.errors.push((span, TreeError::Tag(name)));
                }
                false
            }
        }
    }

    fn count(&mut self, span: Span) -> Result<(), Located> {
        self.nodes += 1;
        if self.nodes > MAX_NODES { Err((span, TreeError::Nodes)) } else { Ok(()) }
    }

    fn open(
        &mut self,
        span: Span,
        anchor: usize,
        tag: Option<&Tag>,
        content: Content,
    ) -> Result<(), Located> {
        self.count(span)?;
        if self.frames.len() >= MAX_DEPTH {
            return Err((span, TreeError::Depth));
        }
        if let Some(tag) = tag {
            self.keeps_type(tag, span);
        }
        self.frames.push(Frame { span, anchor, content });
        Ok(())
    }

    fn close(&mut self, end: Span) -> Result<(), Located> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        let value = match frame.content {
            Content::Sequence(items) => Value::Sequence(items),
            Content::Mapping(fill) => Value::Mapping(self.merged(fill)),
        };
        let span = Span { end_line: end.end_line, end_column: end.end_column, ..frame.span };
        self.place(Node { span, value }, frame.anchor)
    }

    /// Adds a complete node to the innermost open collection.
    fn place(&mut self, node: Node, anchor: usize) -> Result<(), Located> {
        if anchor != 0 {
            self.remember(anchor, &node)?;
        }
        match self.frames.last_mut().map(|frame| &mut frame.content) {
            None => self.root = Some(node),
            Some(Content::Sequence(items)) => items.push(node),
            Some(Content::Mapping(fill)) => match fill.key.take() {
                None => fill.key = Some(read_key(node, &mut fill.seen, self.errors)),
                Some(Key::Name(key, key_span)) => {
                    fill.entries.push(Entry { key, key_span, value: node });
                }
                Some(Key::Merge) => fill.merges.push(node),
                Some(Key::Refused) => {}
            },
        }
        Ok(())
    }

    /// Anchors are copies as well: they count as what aliases add.
    fn remember(&mut self, anchor: usize, node: &Node) -> Result<(), Located> {
        self.weigh(node, node.span, 0)?;
        self.anchors.insert(anchor, node.clone());
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, Located> {
        let Some(node) = self.anchors.remove(&anchor) else {
            return Err((span, TreeError::Recursive));
        };
        self.weigh(&node, span, self.frames.len())?;
        self.anchors.insert(anchor, node.clone());
        Ok(node)
    }

    /// Subtracts the cost of a copy from the budget, before the copy is made.
    fn weigh(&mut self, node: &Node, at: Span, depth: usize) -> Result<(), Located> {
        self.alias_nodes += 1;
        if self.alias_nodes > MAX_ALIAS_NODES {
            return Err((at, TreeError::Aliases));
        }
        if depth > MAX_DEPTH {
            return Err((at, TreeError::Depth));
        }
        match &node.value {
            Value::Null => {}
            Value::Scalar { raw, .. } => self.weigh_text(raw, at)?,
            Value::Sequence(items) => {
                for item in items {
                    self.weigh(item, at, depth + 1)?;
                }
            }
            Value::Mapping(entries) => {
                for entry in entries {
                    self.weigh_text(&entry.key, at)?;
                    self.weigh(&entry.value, at, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn weigh_text(&mut self, text: &str, at: Span) -> Result<(), Located> {
        self.alias_bytes += text.len();
        if self.alias_bytes > MAX_ALIAS_BYTES { Err((at, TreeError::Aliases)) } else { Ok(()) }
    }

    /// The entries of a mapping with those merged by `<<`; explicit entries override merged ones.
    fn merged(&mut self, fill: Fill) -> Vec<Entry> {
        let Fill { mut entries, mut seen, merges, key: _ } = fill;
        for merge in merges {
            let parts = match merge.value {
                Value::Sequence(items) => items,
                Value::Mapping(_) | Value::Null | Value::Scalar { .. } => vec![merge],
            };
            for part in parts {
                let Value::Mapping(defaults) = part.value else {
                    self.errors.push((part.span, TreeError::Merge));
                    continue;
                };
                entries.extend(defaults.into_iter().filter(|entry| seen.insert(entry.key.clone())));
            }
        }
        entries
    }
}

fn read_key(node: Node, seen: &mut HashSet<String>, errors: &mut Vec<Located>) -> Key {
    let Value::Scalar { raw, plain } = node.value else {
        errors.push((node.span, TreeError::Key));
        return Key::Refused;
    };
    if plain && raw == "<<" && seen.insert(raw.clone()) {
        return Key::Merge;
    }
    if seen.insert(raw.clone()) {
        return Key::Name(raw, node.span);
    }
    errors.push((node.span, TreeError::Duplicate(raw)));
    Key::Refused
}

fn is_null(raw: &str) -> bool {
    matches!(raw, "" | "~" | "null" | "Null" | "NULL")
}
