//! Which files a module declares: by `mod x;`, with every `path` that a feature may choose for it,
//! or by a macro that has `mod $x;`, for each row `Type module "name"` of the list that it is
//! given to.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Expr, File, Item, ItemMod, Lit, Meta};

/// The sources that no module declares, from the roots of the crates on.
pub(crate) fn strays(roots: &[&str], sources: &[(&str, &str)]) -> Vec<String> {
    let parsed = sources.iter().map(|(path, text)| {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        (*path, file)
    });
    let files: BTreeMap<&str, File> = parsed.collect();
    let lists = lists(&files);
    let mut declared = BTreeSet::new();
    let mut next: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
    while let Some(path) = next.pop() {
        if let Some((path, file)) = files.get_key_value(path.as_str())
            && declared.insert(*path)
        {
            let is_root = roots.contains(path);
            next.extend(declared_in(path, is_root, file, &lists));
        }
    }
    files.keys().filter(|path| !declared.contains(**path)).map(|path| (*path).to_owned()).collect()
}

/// The modules in the rows of each macro of the crate, by the macro's name.
fn lists(files: &BTreeMap<&str, File>) -> BTreeMap<String, Vec<String>> {
    let items = files.values().flat_map(|file| &file.items);
    let macros = items.filter_map(|item| match item {
        Item::Macro(item) => Some((item.ident.as_ref()?.to_string(), rows(&item.mac.tokens))),
        _ => None,
    });
    macros.filter(|(_, rows)| !rows.is_empty()).collect()
}

/// Where the files of the modules that a file declares may be.
fn declared_in(
    path: &str,
    is_root: bool,
    file: &File,
    lists: &BTreeMap<String, Vec<String>>,
) -> Vec<String> {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let folder = if is_root || name == "mod.rs" { parent } else { path.trim_end_matches(".rs") };
    let mut found = Vec::new();
    find_modules(&file.items, parent, folder, &mut found);
    let macros = file.items.iter().filter_map(|item| match item {
        Item::Macro(item) => Some(item),
        _ => None,
    });
    let (definitions, calls): (Vec<_>, Vec<_>) = macros.partition(|item| item.ident.is_some());
    if definitions.iter().any(|item| declares_modules(&item.mac.tokens)) {
        let called = calls.iter().filter_map(|item| item.mac.path.get_ident());
        let rows = called.filter_map(|name| lists.get(&name.to_string())).flatten();
        found.extend(rows.flat_map(|module| files_of(folder, module)));
    }
    found
}

fn files_of(folder: &str, module: &str) -> [String; 2] {
    [format!("{folder}/{module}.rs"), format!("{folder}/{module}/mod.rs")]
}

fn find_modules(items: &[Item], parent: &str, folder: &str, found: &mut Vec<String>) {
    for item in items {
        let Item::Mod(ItemMod { ident, attrs, content, .. }) = item else { continue };
        if let Some((_, items)) = content {
            let folder = format!("{folder}/{ident}");
            find_modules(items, &folder, &folder, found);
        } else {
            let paths = attrs.iter().filter_map(path_in).collect::<Vec<_>>();
            found.extend(paths.iter().map(|(_, path)| below(parent, path)));
            if paths.iter().all(|(is_conditional, _)| *is_conditional) {
                found.extend(files_of(folder, &ident.to_string()));
            }
        }
    }
}

/// A path below a folder, which may begin with `../`.
fn below(folder: &str, path: &str) -> String {
    match (path.strip_prefix("../"), folder.rsplit_once('/')) {
        (Some(path), Some((folder, _))) => below(folder, path),
        (Some(path), None) => path.to_owned(),
        (None, _) => format!("{folder}/{path}"),
    }
}

/// What `#[path = "…"]` names, or `#[cfg_attr(…, path = "…")]`, which is conditional.
fn path_in(attribute: &Attribute) -> Option<(bool, String)> {
    let is_conditional = attribute.path().is_ident("cfg_attr");
    let literal = match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => {
            let Expr::Lit(literal) = &pair.value else { return None };
            let Lit::Str(path) = &literal.lit else { return None };
            path.value()
        }
        Meta::List(list) if is_conditional => {
            let tokens: Vec<TokenTree> = list.tokens.clone().into_iter().collect();
            let at = tokens.windows(3).find(|three| {
                matches!(&three[0], TokenTree::Ident(name) if name == "path")
                    && matches!(&three[1], TokenTree::Punct(sign) if sign.as_char() == '=')
            })?;
            at[2].to_string()
        }
        _ => return None,
    };
    Some((is_conditional, literal.trim_matches('"').to_owned()))
}

/// The second word of each `Type module "name"`.
fn rows(tokens: &TokenStream) -> Vec<String> {
    let flat = flat(tokens);
    let rows = flat.windows(3).filter_map(|three| match three {
        [TokenTree::Ident(_), TokenTree::Ident(module), TokenTree::Literal(name)]
            if name.to_string().starts_with('"') =>
        {
            Some(module.to_string())
        }
        _ => None,
    });
    rows.collect()
}

/// Whether a macro has `mod $x;`.
fn declares_modules(tokens: &TokenStream) -> bool {
    flat(tokens).windows(4).any(|four| {
        matches!(&four[0], TokenTree::Ident(word) if word == "mod")
            && matches!(&four[1], TokenTree::Punct(sign) if sign.as_char() == '$')
            && matches!(&four[3], TokenTree::Punct(sign) if sign.as_char() == ';')
    })
}

/// All tokens without their groups.
fn flat(tokens: &TokenStream) -> Vec<TokenTree> {
    let mut found = Vec::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => found.extend(flat(&group.stream())),
            token => found.push(token),
        }
    }
    found
}
