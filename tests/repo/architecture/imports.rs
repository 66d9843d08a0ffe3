//! What each file imports: its `use` items, and the paths in its code, macros and attributes.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Path, Visibility};

use super::tree::{File, Name, Tree, is_for_tests, leaves};

/// One name of one file that stands in another.
pub(crate) struct Import {
    /// The file that uses the name, and its module below the crate's root.
    pub(crate) from: String,
    pub(crate) from_module: String,
    /// The file that defines the name; and the module through which it comes.
    pub(crate) to: String,
    pub(crate) to_module: String,
    /// The name, from the crate's root.
    pub(crate) name: String,
}

/// All imports of all files, without those of tests.
pub(crate) fn imports(tree: &Tree) -> Vec<Import> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| !file.module.is_empty()) {
        let mut reader = Reader { tree, file, module: file.module.clone(), found: Vec::new() };
        reader.visit_file(&file.syntax);
        found.append(&mut reader.found);
    }
    found
}

struct Reader<'a> {
    tree: &'a Tree,
    file: &'a File,
    /// Where the reader is: the file's module, or one inside the file.
    module: Name,
    found: Vec<Import>,
}

impl Reader<'_> {
    fn add(&mut self, path: &[String]) {
        let Some(name) = self.tree.absolute(&self.module, path) else { return };
        let (Some(top), Some(own)) = (name.first(), self.module.first()) else { return };
        let Some(to) = self.tree.file_of(&name) else { return };
        // Within a module, a file is imported when a name in it is used, not when it is named.
        let is_bare = self.tree.is_module(&name) && top == own && !self.is_inside(&name, to);
        if to != self.file.path && !is_bare {
            self.found.push(Import {
                from: self.file.path.clone(),
                from_module: own.clone(),
                to: to.to_owned(),
                to_module: top.clone(),
                name: name.join("::"),
            });
        }
    }

    /// Whether a module is a block in its file.
    fn is_inside(&self, module: &[String], file: &str) -> bool {
        let of_file = self.tree.files.iter().find(|other| other.path == file);
        of_file.is_some_and(|other| other.module != module)
    }

    fn read_tokens(&mut self, tokens: &TokenStream) {
        let mut path = Name::new();
        let mut colons = 0;
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add(&std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && colons < 2 => colons += 1,
                other => {
                    self.add(&std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Group(group) => self.read_tokens(&group.stream()),
                        TokenTree::Literal(literal) => self.read_text(&literal.to_string()),
                        TokenTree::Ident(_) | TokenTree::Punct(_) => {}
                    }
                }
            }
        }
        self.add(&path);
    }

    /// A path in a text, as in `#[serde(with = "super::time")]`.
    fn read_text(&mut self, literal: &str) {
        let text = literal.trim_matches('"');
        if ["crate::", "super::", "self::"].iter().any(|start| text.starts_with(start)) {
            let path: Name = text.split("::").map(str::to_owned).collect();
            self.add(&path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !super::tree::is_item_for_tests(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let is_test = match item {
            syn::ImplItem::Const(item) => is_for_tests(&item.attrs),
            syn::ImplItem::Fn(item) => is_for_tests(&item.attrs),
            _ => false,
        };
        if !is_test {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_re_export = !matches!(item.vis, Visibility::Inherited);
        for leaf in leaves(item) {
            let name = self.tree.absolute(&self.module, &leaf.path);
            // A re-export passes a name on; what the file itself does with it is found there.
            let is_own = name.is_some_and(|name| name.first() == self.module.first());
            if !(is_re_export && is_own) {
                self.add(&leaf.path);
            }
        }
    }

    // Who sees an item is no import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            let names: Name = path.segments.iter().map(|part| part.ident.to_string()).collect();
            self.add(&names);
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.read_tokens(&list.tokens);
        }
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.visit_path(&item.path);
        self.read_tokens(&item.tokens);
    }
}
