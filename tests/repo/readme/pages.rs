//! The pages: README, CONTRIBUTING and every page of the book, read when the test runs.

use std::fs;
use std::path::Path;

/// The folder that the paths of pages start at.
pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A page of Markdown.
#[derive(Clone)]
pub(crate) struct Page {
    /// Below the root of this tree.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// One page.
pub(crate) fn page(path: &str) -> Page {
    let text = fs::read_to_string(Path::new(ROOT).join(path));
    let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
    // README is read on terminals without UTF-8, too: its ellipses are three dots.
    let text = if path == "README.md" { text.replace("...", "…") } else { text };
    Page { path: path.to_owned(), text }
}

/// Every page of the book but its table of contents.
pub(crate) fn book() -> Vec<Page> {
    let mut paths = Vec::new();
    collect(Path::new("docs/src"), &mut paths);
    paths.sort();
    let pages: Vec<Page> = paths.iter().map(|path| page(path)).collect();
    assert!(pages.len() > 30, "{paths:?}");
    pages
}

fn collect(folder: &Path, paths: &mut Vec<String>) {
    for entry in fs::read_dir(Path::new(ROOT).join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            collect(&path, paths);
        } else if entry.file_name() != "SUMMARY.md" {
            assert!(path.extension().is_some_and(|end| end == "md"), "{}", path.display());
            paths.push(path.display().to_string());
        }
    }
}

/// All pages.
pub(crate) fn pages() -> Vec<Page> {
    let mut pages = vec![page("README.md"), page("CONTRIBUTING.md")];
    pages.extend(book());
    pages
}

impl Page {
    /// The fenced blocks: what stands behind the fence, and the text.
    pub(crate) fn blocks(&self) -> Vec<(&str, String)> {
        let mut found: Vec<(&str, String)> = Vec::new();
        let mut open = false;
        for line in self.text.lines() {
            match line.strip_prefix("```") {
                Some(kind) if !open => {
                    found.push((kind, String::new()));
                    open = true;
                }
                Some(_) => open = false,
                None if open => {
                    let text = &mut found.last_mut().unwrap().1;
                    *text += line;
                    text.push('\n');
                }
                None => {}
            }
        }
        assert!(!open, "{}: a fence is left open", self.path);
        found
    }

    /// The lines that are not in a fence.
    pub(crate) fn prose(&self) -> impl Iterator<Item = &str> {
        let mut fenced = false;
        self.text.lines().filter(move |line| {
            let fence = line.starts_with("```");
            fenced ^= fence;
            !fence && !fenced
        })
    }

    /// The spans of code in the running text and the tables.
    pub(crate) fn spans(&self) -> Vec<String> {
        let text: String = self.prose().flat_map(|line| [line.trim_start(), " "]).collect();
        text.split('`').skip(1).step_by(2).map(|span| span.replace("\\|", "|")).collect()
    }

    /// The cells of the rows of all tables below a heading, without the heads of the tables.
    pub(crate) fn rows(&self, heading: &str) -> Vec<Vec<String>> {
        let (_, rest) = self.text.split_once(&format!("{heading}\n")).unwrap();
        let rest = rest.split("\n## ").next().unwrap().replace("\\|", "\u{1}");
        let mut rows = Vec::new();
        let mut head = true;
        for line in rest.lines() {
            let Some(line) = line.strip_prefix("| ").and_then(|line| line.strip_suffix('|')) else {
                head = true;
                continue;
            };
            if line.starts_with("---") {
                head = false;
            } else if !head {
                let cells = line.split('|').map(|cell| cell.replace('\u{1}', "|"));
                rows.push(cells.map(|cell| cell.trim().to_owned()).collect());
            }
        }
        rows
    }

    /// The links to files of this tree, as (path below the root, anchor).
    pub(crate) fn links(&self) -> Vec<(String, Option<String>)> {
        let text: String = self.prose().flat_map(|line| [line, "\n"]).collect();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let own = targets.filter(|target| !target.contains("://"));
        own.map(|target| {
            let (path, anchor) =
                target.split_once('#').map_or((target, None), |(p, a)| (p, Some(a)));
            let path = if path.is_empty() { self.path.clone() } else { self.beside(path) };
            (path, anchor.map(str::to_owned))
        })
        .collect()
    }

    /// A path that starts at this page, as one that starts at the root.
    fn beside(&self, path: &str) -> String {
        let mut parts: Vec<&str> = self.path.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            if part == ".." {
                parts.pop().unwrap();
            } else {
                parts.push(part);
            }
        }
        parts.join("/")
    }

    /// The anchors of the headings.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let headings = self.prose().filter(|line| line.starts_with('#'));
        let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
        let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
        titles
            .map(|title| title.chars().filter(kept).collect::<String>().replace(' ', "-"))
            .collect()
    }
}

/// A typed command, what it ends in, and the lines that it is shown to answer.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) line: String,
    pub(crate) code: i32,
    pub(crate) shown: Vec<String>,
}

/// The commands of a block: lines that begin with `$`, with the comment `exit code N` behind one
/// that does not end in 0.
pub(crate) fn typed(block: &str) -> Vec<Typed> {
    let mut found: Vec<Typed> = Vec::new();
    for line in block.replace("\\\n", " ").lines() {
        if let Some(line) = line.strip_prefix("$ ") {
            let (line, comment) = line.split_once("  #").unwrap_or((line, ""));
            let code = comment.trim().strip_prefix("exit code ").map_or(0, |n| n.parse().unwrap());
            found.push(Typed { line: line.trim().to_owned(), code, shown: Vec::new() });
        } else {
            found.last_mut().unwrap().shown.push(line.to_owned());
        }
    }
    found
}

/// The calls of certctl in a line for a shell, as words.
pub(crate) fn calls(line: &str) -> Vec<Vec<&str>> {
    let parts = line.split([';', '|', '>']).map(str::trim);
    let without = |part: &'static str| move |line| str::strip_prefix(line, part).unwrap_or(line);
    let parts = parts.map(without("sudo ")).map(without("-u certctl "));
    let parts = parts.map(|part| match part.rfind(" certctl ") {
        Some(at) if part.starts_with("setpriv ") => part.split_at(at).1.trim_start(),
        _ => part,
    });
    let calls = parts.filter(|part| part.starts_with("certctl "));
    let plain = |word| str::trim_matches(word, '\'');
    calls.map(|part| part.split_whitespace().skip(1).map(plain).collect()).collect()
}
