//! The codes of what certctl finds in manifests and in config.toml: what each means, and what to do.
//!
//! Contract: every code that the program can print has a line in `codes.txt`, in the order of the codes,
//! and every line is of such a code: E00 of a file, E01 of one object, E02 of objects that refer to each
//! other, E03 of config.toml, E04 of this host; W is a warning. The book's page is made of it.

/// A code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    pub code: &'static str,
    /// Mistake that the code stands for.
    pub meaning: &'static str,
    /// Fix of the mistake.
    pub remedy: &'static str,
}

/// All of them.
pub fn codes() -> impl Iterator<Item = Code> {
    include_str!("codes.txt").lines().filter_map(|line| {
        let mut parts = line.split(" | ");
        Some(Code { code: parts.next()?, meaning: parts.next()?, remedy: parts.next()? })
    })
}

impl Code {
    /// The code of this name, in any case.
    pub fn parse(word: &str) -> Option<Self> {
        codes().find(|row| row.code.eq_ignore_ascii_case(word))
    }

    /// Explains the code on a page.
    pub(super) fn page(&self) -> String {
        let Self { code, meaning, remedy } = self;
        let kind = if code.starts_with('W') { "warning" } else { "error" };
        format!("CODE:      {code} ({kind})\nMEANING:   {meaning}\nREMEDY:    {remedy}\n")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The codes in the sources of a folder, as literals.
    fn printed(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                printed(&entry, found);
                continue;
            }
            let text = fs::read_to_string(&entry).unwrap_or_default();
            let literals = text.split('"').filter(|word| {
                let digits = word.strip_prefix(['E', 'W']).unwrap_or_default();
                digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit())
            });
            found.extend(literals.map(str::to_owned));
        }
    }

    #[test]
    fn every_code_that_is_printed_has_a_row_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = BTreeSet::new();
        for folder in ["manifest", "workspace", "cli/config", "cli/verbs/plan", "cli/verbs/status"]
        {
            printed(&root.join(folder), &mut found);
        }
        let rows: Vec<&str> = codes().map(|row| row.code).collect();
        assert_eq!(rows, found.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn a_code_is_found_in_any_case() {
        assert!(Code::parse("e0201").unwrap().page().starts_with("CODE:      E0201 (error)\n"));
        assert!(Code::parse("W0301").unwrap().page().contains("(warning)"));
        assert!(Code::parse("E9999").is_none());
    }
}
