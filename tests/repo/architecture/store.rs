//! Promise: one file chooses where the state is, and names the directory; all others know the four
//! traits of its parts. The directory has no public method but `open`, and `Documents`, which another
//! store has to implement, at most twelve.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{ImplItem, Item, TraitItem, Type, Visibility};

use super::tree::{Tree, is_for_tests};

/// The file that chooses.
const CHOOSES: &str = "src/workspace/open.rs";

/// Whether the directory is named.
#[derive(Default)]
struct Names(bool);

impl<'a> Visit<'a> for Names {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_ident(&mut self, name: &'a proc_macro2::Ident) {
        self.0 |= name == "StateDirectory";
    }
}

fn naming(tree: &Tree) -> BTreeSet<&str> {
    let outside = tree.files.iter().filter(|file| !file.path.starts_with("src/store/"));
    let names = |syntax: &syn::File| {
        let mut names = Names::default();
        names.visit_file(syntax);
        names.0
    };
    outside.filter(|file| names(&file.syntax)).map(|file| file.path.as_str()).collect()
}

/// The public methods of the directory itself.
fn methods(tree: &Tree) -> BTreeSet<String> {
    let items = tree.files.iter().flat_map(|file| &file.syntax.items);
    let own = items.filter_map(|item| match item {
        Item::Impl(item) if item.trait_.is_none() => match &*item.self_ty {
            Type::Path(path) if path.path.is_ident("StateDirectory") => Some(item),
            _ => None,
        },
        _ => None,
    });
    let methods = own.flat_map(|item| &item.items).filter_map(|item| match item {
        ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => {
            Some(method.sig.ident.to_string())
        }
        _ => None,
    });
    methods.collect()
}

/// How many methods the trait of this name has.
fn size(tree: &Tree, of: &str) -> usize {
    let items = tree.files.iter().flat_map(|file| &file.syntax.items);
    let found = items.filter_map(|item| match item {
        Item::Trait(item) if item.ident == of => Some(&item.items),
        _ => None,
    });
    found.flatten().filter(|item| matches!(item, TraitItem::Fn(_))).count()
}

#[test]
fn one_file_names_the_state_directory_which_has_no_public_method_but_open() {
    let tree = Tree::read();
    assert_eq!(naming(&tree), BTreeSet::from([CHOOSES]));
    assert_eq!(methods(&tree), BTreeSet::from(["open".to_owned()]));
    let methods = size(&tree, "Documents");
    assert!((1..=12).contains(&methods), "Documents has {methods} methods");
}

#[test]
fn another_file_and_another_method_are_found() {
    let tree = Tree::of(&[
        ("src/lib.rs", "mod store; mod workspace;"),
        (
            "src/store/mod.rs",
            "pub struct StateDirectory; impl StateDirectory { pub fn open() {} \
          pub fn more() {} fn own() {} pub(super) fn inner() {} } impl Drop for StateDirectory {}",
        ),
        ("src/workspace/mod.rs", "mod open; mod status;"),
        (CHOOSES, "pub type State = crate::store::StateDirectory;"),
        ("src/workspace/status.rs", "fn f(_: &crate::store::StateDirectory) {}"),
    ]);
    assert_eq!(naming(&tree), BTreeSet::from([CHOOSES, "src/workspace/status.rs"]));
    assert_eq!(methods(&tree), ["more", "open"].map(str::to_owned).into());
}
