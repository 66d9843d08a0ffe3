//! The texts in the code of a file, without those of its tests and documentation.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, File, ItemMod, Lit, LitStr, Macro, Meta};

/// The string literals, those of macros and of attributes, too.
pub(crate) fn literals(file: &File) -> Vec<String> {
    let mut found = Literals(Vec::new());
    found.visit_file(file);
    found.0
}

struct Literals(Vec<String>);

impl Literals {
    fn add(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.add(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Lit::Str(text) = Lit::new(literal) {
                        self.0.push(text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Literals {
    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        let is_test = |attribute: &Attribute| match &attribute.meta {
            Meta::List(list) => {
                list.path.is_ident("cfg") && list.tokens.to_string().contains("test")
            }
            Meta::Path(_) | Meta::NameValue(_) => false,
        };
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.add(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, called: &'a Macro) {
        self.add(called.tokens.clone());
    }

    fn visit_lit_str(&mut self, text: &'a LitStr) {
        self.0.push(text.value());
    }
}
