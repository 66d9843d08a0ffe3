//! Promise: which challenge types there are is known where they are read, solved and validated.
//! All else asks a `ValidationMethod`, or the solver.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Macro, Path, UseTree};

use super::literals::literals;
use super::tree::{Tree, is_for_tests};

/// Where a type may be named.
fn may_name(path: &str) -> bool {
    path.starts_with("src/rehearsal/")
        || [
            "src/resource/challenge.rs",
            "src/resource/issuer.rs",
            "src/manifest/solver.rs",
            "src/solver/mod.rs",
        ]
        .contains(&path)
}

const ENUMS: [&str; 2] = ["ChallengeType", "SolverKind"];
const WORDS: [&str; 3] = ["http-01", "dns-01", "tls-alpn-01"];

/// The variants that a file names.
#[derive(Default)]
struct Variants(Vec<String>);

impl Variants {
    fn add(&mut self, of: &str, name: &str) {
        if ENUMS.contains(&of) && name.starts_with(|c: char| c.is_uppercase()) {
            self.0.push(format!("{of}::{name}"));
        }
    }

    fn add_all(&mut self, of: &str, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.add_all(&path.ident.to_string(), &path.tree),
            UseTree::Name(name) => self.add(of, &name.ident.to_string()),
            UseTree::Rename(name) => self.add(of, &name.ident.to_string()),
            UseTree::Glob(_) => self.add(of, "All"),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.add_all(of, item)),
        }
    }

    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match (token, tokens.get(at + 3)) {
                (TokenTree::Group(group), _) => self.read(group.stream()),
                (TokenTree::Ident(of), Some(TokenTree::Ident(name))) => {
                    self.add(&of.to_string(), &name.to_string());
                }
                _ => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Variants {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.add_all("", &item.tree);
    }

    fn visit_path(&mut self, path: &'a Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        names.windows(2).for_each(|two| self.add(&two[0], &two[1]));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'a Macro) {
        self.read(called.tokens.clone());
    }
}

fn named(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| !may_name(&file.path)) {
        let mut variants = Variants::default();
        variants.visit_file(&file.syntax);
        let words = literals(&file.syntax).into_iter().filter(|text| WORDS.contains(&&**text));
        found.extend(
            variants.0.into_iter().chain(words).map(|name| format!("{}: {name}", file.path)),
        );
    }
    found
}

#[test]
fn a_challenge_type_is_named_where_it_is_read_solved_and_validated() {
    let found = named(&Tree::read());
    assert!(found.is_empty(), "ask `ChallengeType::method` or the solver:\n{}", found.join("\n"));
}

#[test]
fn a_challenge_type_is_found_wherever_code_names_it() {
    let text = "use crate::resource::{ChallengeType::{self, Dns01}, SolverKind};
        fn one(kind: &ChallengeType) -> bool { *kind == ChallengeType::Http01 }
        fn two(kind: &SolverKind) -> bool { matches!(kind, SolverKind::Dns01(_)) }
        fn three(kind: &ChallengeType) -> bool { kind.as_str() == \"tls-alpn-01\" }
        fn four(word: String) -> ChallengeType { ChallengeType::from(word) }
        #[cfg(test)] mod tests { const WORD: &str = \"http-01\"; use super::SolverKind::Http01; }";
    let found =
        |path: &str| named(&Tree::of(&[("src/lib.rs", "mod engine; mod solver;"), (path, text)]));
    assert_eq!(
        found("src/engine.rs"),
        ["ChallengeType::Dns01", "ChallengeType::Http01", "SolverKind::Dns01", "tls-alpn-01"]
            .map(|name| format!("src/engine.rs: {name}"))
    );
    assert_eq!(found("src/solver/mod.rs"), [""; 0]);
}
