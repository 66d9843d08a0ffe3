//! The crate's files, its modules, and the names that each of them knows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::Visit;
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// A path from the crate's root: `["acme", "client", "Client"]`.
pub(crate) type Name = Vec<String>;

/// A file of `src`.
pub(crate) struct File {
    /// From the project's root: `src/acme/client.rs`.
    pub(crate) path: String,
    /// Its module.
    pub(crate) module: Name,
    pub(crate) syntax: syn::File,
}

/// What a name of a module is.
pub(crate) enum Known {
    /// Defined in the module itself.
    Here,
    /// Brought in by a `use`, as written there.
    Used(Name),
}

/// A module: a file, or a block in one.
#[derive(Default)]
pub(crate) struct Module {
    /// The file that it stands in.
    pub(crate) file: String,
    pub(crate) names: BTreeMap<String, Known>,
    /// `use x::*`, as written.
    pub(crate) globs: Vec<Name>,
}

/// All files and modules, without those of tests.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    pub(crate) modules: BTreeMap<Name, Module>,
}

/// One name of a `use`: what is used, and under which name; None for `*`.
pub(crate) struct Leaf {
    pub(crate) path: Name,
    pub(crate) alias: Option<String>,
}

/// The path and text of each file of a folder of the project.
pub(crate) fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join(folder)];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let relative = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                texts.push((relative, text));
            }
        }
    }
    texts
}

impl Tree {
    /// The project's own sources.
    pub(crate) fn read() -> Self {
        let sources = sources("src");
        Self::of(&sources.iter().map(|(path, text)| (&**path, &**text)).collect::<Vec<_>>())
    }

    /// Files by their paths and texts.
    pub(crate) fn of(texts: &[(&str, &str)]) -> Self {
        let parsed = texts.iter().map(|(path, text)| {
            let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            File { path: (*path).to_owned(), module: module_of(path), syntax }
        });
        let mut files: Vec<File> = parsed.collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let mut of_tests = BTreeSet::new();
        for file in &files {
            find_test_modules(&file.syntax.items, &file.module, &mut of_tests);
        }
        files.retain(|file| !(1..=file.module.len()).any(|n| of_tests.contains(&file.module[..n])));
        let mut modules = BTreeMap::new();
        for file in &files {
            add_module(&mut modules, &file.path, &file.module, &file.syntax.items);
        }
        Self { files, modules }
    }

    /// The modules below the crate's root, the binary among them.
    pub(crate) fn tops(&self) -> BTreeSet<String> {
        self.files.iter().filter_map(|file| file.module.first().cloned()).collect()
    }

    /// The documentation of the crate.
    pub(crate) fn crate_docs(&self) -> String {
        let root = self.files.iter().find(|file| file.path == "src/lib.rs").unwrap();
        let lines = root.syntax.attrs.iter().filter_map(doc);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The files without module docs, and the public items of modules without docs.
    pub(crate) fn without_docs(&self) -> Vec<String> {
        let mut bare = Vec::new();
        for file in &self.files {
            if !file.syntax.attrs.iter().any(|attribute| doc(attribute).is_some()) {
                bare.push(file.path.clone());
            }
            find_bare_items(&file.syntax.items, &file.path, &mut bare);
        }
        bare
    }

    /// `path` as it is written in `module`, from the crate's root; None where it leads out of the
    /// crate.
    pub(crate) fn absolute(&self, module: &[String], path: &[String]) -> Option<Name> {
        self.absolute_within(module, path, 0)
    }

    fn absolute_within(&self, module: &[String], path: &[String], depth: usize) -> Option<Name> {
        let (first, rest) = path.split_first()?;
        let joined = |base: &[String]| Some([base, rest].concat());
        match first.as_str() {
            "crate" | "certctl" => joined(&[]),
            "self" => joined(module),
            "super" => {
                let (_, parent) = module.split_last()?;
                if rest.first().is_some_and(|next| next == "super") {
                    self.absolute_within(parent, rest, depth)
                } else {
                    joined(parent)
                }
            }
            first => {
                let child = [module, &[first.to_owned()]].concat();
                match self.modules.get(module)?.names.get(first) {
                    Some(Known::Here) => joined(&child),
                    // `use x::x;` names a crate of that name, not itself.
                    Some(Known::Used(used)) if depth < 16 && used.first() != path.first() => {
                        joined(&self.absolute_within(module, used, depth + 1)?)
                    }
                    Some(Known::Used(_)) | None => {
                        self.modules.contains_key(&child).then(|| joined(&child))?
                    }
                }
            }
        }
    }

    /// The file that defines what `name` points to, through all re-exports; None for the crate's
    /// root and for what is in no module.
    pub(crate) fn file_of(&self, name: &[String]) -> Option<&str> {
        self.find(name, 0).map(|(file, _)| file)
    }

    /// The file, and whether the name was found in it (and not only its module).
    fn find(&self, name: &[String], depth: usize) -> Option<(&str, bool)> {
        let length = (0..=name.len()).rev().find(|n| self.modules.contains_key(&name[..*n]))?;
        let (path, rest) = name.split_at(length);
        let module = self.modules.get(path)?;
        let Some((first, rest)) = rest.split_first() else { return Some((&module.file, true)) };
        match module.names.get(first) {
            Some(Known::Used(used)) if depth < 16 => {
                let target = self.absolute(path, used)?;
                self.find(&[&target, rest].concat(), depth + 1)
            }
            Some(_) => Some((&module.file, true)),
            None => {
                let globs = module.globs.iter().filter_map(|glob| self.absolute(path, glob));
                let names = globs.map(|glob| [&glob, &name[length..]].concat());
                let mut found = names
                    .filter_map(|name| if depth < 16 { self.find(&name, depth + 1) } else { None });
                Some(found.find(|(_, exact)| *exact).unwrap_or((&module.file, false)))
            }
        }
    }

    /// Whether a name is a module.
    pub(crate) fn is_module(&self, name: &[String]) -> bool {
        self.modules.contains_key(name)
    }
}

/// The names that a `use` brings in.
pub(crate) fn leaves(item: &ItemUse) -> Vec<Leaf> {
    let mut found = Vec::new();
    find_leaves(&item.tree, &[], &mut found);
    found
}

/// Whether only tests compile what has these attributes.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.meta.require_list().unwrap().tokens.to_string();
        condition.contains("test") && !condition.contains("not")
    })
}

/// Whether only tests compile an item.
pub(crate) fn is_item_for_tests(item: &Item) -> bool {
    is_for_tests(attributes(item))
}

fn module_of(path: &str) -> Name {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    if inner == "lib" { Vec::new() } else { inner.split('/').map(str::to_owned).collect() }
}

fn find_test_modules(items: &[Item], module: &[String], found: &mut BTreeSet<Name>) {
    for item in items {
        let Item::Mod(item) = item else { continue };
        let child = [module, &[item.ident.to_string()]].concat();
        if is_for_tests(&item.attrs) {
            found.insert(child);
        } else if let Some((_, items)) = &item.content {
            find_test_modules(items, &child, found);
        }
    }
}

fn add_module(modules: &mut BTreeMap<Name, Module>, file: &str, path: &[String], items: &[Item]) {
    let mut module = Module { file: file.to_owned(), ..Module::default() };
    for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
        if let Item::Mod(item) = item {
            if let Some((_, items)) = &item.content {
                add_module(modules, file, &[path, &[item.ident.to_string()]].concat(), items);
            }
        } else if let Some(name) = defined(item) {
            module.names.insert(name, Known::Here);
        }
    }
    Uses { module: &mut module }.visit_items(items);
    modules.insert(path.to_vec(), module);
}

/// Every `use` of a module, those inside functions too.
struct Uses<'a> {
    module: &'a mut Module,
}

impl Uses<'_> {
    fn visit_items(&mut self, items: &[Item]) {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            self.visit_item(item);
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for leaf in leaves(item) {
            match leaf.alias {
                Some(alias) => {
                    self.module.names.entry(alias).or_insert(Known::Used(leaf.path));
                }
                None => self.module.globs.push(leaf.path),
            }
        }
    }
}

fn find_leaves(tree: &UseTree, base: &[String], found: &mut Vec<Leaf>) {
    let joined = |name: &syn::Ident| [base, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => find_leaves(&path.tree, &joined(&path.ident), found),
        UseTree::Name(name) if name.ident == "self" => {
            found.push(Leaf { path: base.to_vec(), alias: base.last().cloned() });
        }
        UseTree::Name(name) => {
            found.push(Leaf { path: joined(&name.ident), alias: Some(name.ident.to_string()) });
        }
        UseTree::Rename(name) => {
            let path = if name.ident == "self" { base.to_vec() } else { joined(&name.ident) };
            found.push(Leaf { path, alias: Some(name.rename.to_string()) });
        }
        UseTree::Glob(_) => found.push(Leaf { path: base.to_vec(), alias: None }),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| find_leaves(tree, base, found));
        }
    }
}

fn find_bare_items(items: &[Item], path: &str, bare: &mut Vec<String>) {
    for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
        if let Item::Mod(item) = item {
            if let Some((_, items)) = &item.content {
                find_bare_items(items, path, bare);
            }
        } else if is_public(item) && !attributes(item).iter().any(|it| it.path().is_ident("doc")) {
            bare.push(format!("{path}: {}", defined(item).unwrap_or_default()));
        }
    }
}

fn doc(attribute: &Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(literal) = &pair.value else { return None };
    let syn::Lit::Str(text) = &literal.lit else { return None };
    attribute.path().is_ident("doc").then(|| text.value())
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn is_public(item: &Item) -> bool {
    let visibility = match item {
        Item::Const(item) => &item.vis,
        Item::Enum(item) => &item.vis,
        Item::Fn(item) => &item.vis,
        Item::Static(item) => &item.vis,
        Item::Struct(item) => &item.vis,
        Item::Trait(item) => &item.vis,
        Item::Type(item) => &item.vis,
        _ => return false,
    };
    matches!(visibility, Visibility::Public(_))
}
