//! Promise: the issuer whose CA is asked is chosen in one place. In `controller` and `engine`, the
//! list of a Certificate's issuers is read by few files; all others have the one that was chosen.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::tree::{Tree, is_for_tests};

/// The files that read the list.
const READERS: &[&str] = &[
    // Chooses.
    "src/controller/fallback.rs",
    // Returns the choice.
    "src/controller/snapshot.rs",
    // Names the CAs that this host may reach for a CRL.
    "src/engine/perform/crl.rs",
    // Fills the snapshot; without a record, asks the one that chooses.
    "src/engine/session.rs",
    // The defaults of a Certificate's settings are the first issuer's, whichever is asked.
    "src/engine/task.rs",
];

/// Whether a field `issuers` is read.
#[derive(Default)]
struct Reads(bool);

impl Reads {
    fn read(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.read(group.stream()),
                TokenTree::Ident(name) => self.0 |= name == "issuers",
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    fn note(&mut self, member: &syn::Member) {
        self.0 |= matches!(member, syn::Member::Named(name) if name == "issuers");
    }
}

impl<'a> Visit<'a> for Reads {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_field(&mut self, field: &'a syn::ExprField) {
        self.note(&field.member);
        visit::visit_expr_field(self, field);
    }

    fn visit_field_pat(&mut self, field: &'a syn::FieldPat) {
        self.note(&field.member);
        visit::visit_field_pat(self, field);
    }

    fn visit_fn_arg(&mut self, argument: &'a syn::FnArg) {
        if let syn::FnArg::Typed(typed) = argument
            && let syn::Pat::Ident(name) = &*typed.pat
        {
            self.0 |= name.ident == "issuers";
        }
        visit::visit_fn_arg(self, argument);
    }

    fn visit_macro(&mut self, called: &'a syn::Macro) {
        self.read(called.tokens.clone());
    }
}

fn readers(tree: &Tree) -> BTreeSet<&str> {
    let files = tree.files.iter().filter(|file| {
        file.path.starts_with("src/controller/") || file.path.starts_with("src/engine/")
    });
    let reads = |syntax: &syn::File| {
        let mut reads = Reads::default();
        reads.visit_file(syntax);
        reads.0
    };
    files.filter(|file| reads(&file.syntax)).map(|file| file.path.as_str()).collect()
}

#[test]
fn one_file_chooses_among_the_issuers_of_a_certificate() {
    assert_eq!(readers(&Tree::read()), READERS.iter().copied().collect());
}

#[test]
fn a_list_of_issuers_is_found_wherever_code_reads_it() {
    let root = ("src/lib.rs", "mod engine; mod controller;");
    for (text, is_read) in [
        ("fn one(task: &Task) -> &Issuer { &task.issuers.first }", true),
        ("fn two(Task { issuers, .. }: &Task) -> usize { issuers.others.len() }", true),
        ("fn three(issuers: &Issuers) -> &Issuer { &issuers.first }", true),
        ("fn four(task: &Task) { select! { _ = f(&task.issuers) => {} } }", true),
        ("fn five(snapshot: &Snapshot) -> &str { &snapshot.issuer().acme.server }", false),
        ("#[cfg(test)] mod tests { fn six(t: &mut Task) { t.issuers.others.clear(); } }", false),
    ] {
        for path in ["src/engine/drive.rs", "src/controller/order.rs"] {
            let parents =
                [("src/engine/mod.rs", "mod drive;"), ("src/controller/mod.rs", "mod order;")];
            let tree = Tree::of(&[root, parents[0], parents[1], (path, text)]);
            let expected = if is_read { BTreeSet::from([path]) } else { BTreeSet::new() };
            assert_eq!(readers(&tree), expected, "{text}");
        }
    }
}
