//! The tables of the book that repeat what the source says of fields, providers, verbs and output.
//!
//! Each stands below a comment with its name, and ends with the first empty line behind it.

use certctl::cli::DOCUMENTS;
use certctl::cli::args::VERBS;
use certctl::cli::verbs::explain::code::codes;
use certctl::cli::verbs::status::prometheus::METRICS;
use certctl::cli::words::field::{Field, Kind, REQUIRED, Type, Used};
use certctl::cli::words::field::{all, below, key_of, lego};
use clap::Command;

/// One table.
pub(crate) struct Table {
    /// The page that it is on.
    pub(crate) page: &'static str,
    name: &'static str,
    head: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

/// All of them.
pub(crate) fn tables() -> Vec<Table> {
    let fields = |page, name, kind, above: &[&str]| {
        let rows = above.iter().flat_map(|path| below(kind, path));
        let rows = rows.filter(|field| field.path.starts_with("spec."));
        let rows = rows.map(|field| row(kind, &field, above)).collect();
        Table { page, name, head: &["field", "used", "meaning"], rows }
    };
    let more = Table {
        page: PROVIDERS,
        name: "more providers",
        head: &["solverName", "`config`", "in lego"],
        rows: webhook_rows(),
    };
    let mut tables = vec![
        Table {
            page: VERB_PAGE,
            name: "verbs",
            head: &["verb", "what it does"],
            rows: verb_rows(),
        },
        Table { page: JSON_PAGE, name: "kinds", head: &["kind", "printed by"], rows: kind_rows() },
        Table {
            page: CODE_PAGE,
            name: "codes",
            head: &["code", "meaning", "what to do"],
            rows: code_rows(),
        },
        Table {
            page: METRIC_PAGE,
            name: "metrics",
            head: &["metric", "type", "meaning"],
            rows: metric_rows(),
        },
        fields(MANIFESTS, "Certificate", Kind::Certificate, &["spec"]),
        fields(MANIFESTS, "Issuer", Kind::Issuer, &["spec", "spec.acme"]),
        fields(
            MANIFESTS,
            "solvers",
            Kind::Issuer,
            &["spec.acme.solvers", "spec.acme.solvers.selector"],
        ),
        fields(PROVIDERS, "dns01", Kind::Issuer, &["spec.acme.solvers.dns01"]),
        Table {
            page: PROVIDERS,
            name: "lego",
            head: &["field below `dns01`", "in lego"],
            rows: lego_rows(),
        },
    ];
    // In a build without them, the page has more than the source.
    tables.extend(cfg!(feature = "more-dns-providers").then_some(more));
    tables
}

impl Table {
    /// The text of its page with this table in it.
    pub(crate) fn put_into(&self, text: &str) -> String {
        let Self { page, name, head, rows } = self;
        let mark = format!("<!-- generated: {name} -->\n\n");
        assert_eq!(text.matches(&mark).count(), 1, "{page}: {mark}");
        let (before, rest) = text.split_once(&mark).unwrap();
        let (_, after) = rest.split_once("\n\n").unwrap();
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
        let rule = vec!["---".to_owned(); head.len()];
        let rows: String = rows.iter().map(|row| line(row)).collect();
        format!("{before}{mark}{}{}{rows}\n{after}", line(&head), line(&rule))
    }
}

/// The row of a field: what is inside of it is named, unless it has rows, too.
fn row(kind: Kind, field: &Field, above: &[&str]) -> Vec<String> {
    let used = if field.used == Used::Cluster { "ignored" } else { "yes" };
    let mut meaning = vec![as_markdown(field.rule)];
    if let Type::Word(words) = field.kind {
        meaning.push(format!("One of {}.", words.0));
    } else if let Type::Choices(words) = field.kind {
        meaning.push(format!("Any of {}.", words.0));
    }
    let inside = below(kind, field.path);
    if !inside.is_empty() && !above.contains(&field.path) {
        meaning.push(format!("Fields: {}.", spans(inside.iter().map(|field| key_of(field.path)))));
    }
    match field.default {
        "" => {}
        REQUIRED => meaning.push("Required.".to_owned()),
        default => meaning.push(format!("Default: {}.", as_markdown(default))),
    }
    vec![span(field.path), used.to_owned(), meaning.join(" ")]
}

/// Each verb that can be run: its usage with its own flags, and the first sentence of its help.
fn verb_rows() -> Vec<Vec<String>> {
    fn add(command: &mut Command, rows: &mut Vec<Vec<String>>) {
        for verb in command.get_subcommands_mut() {
            if !verb.is_subcommand_required_set() {
                let about = verb.get_about().unwrap().to_string();
                rows.push(vec![cell(&span(&usage(verb))), cell(about.trim_end_matches('.'))]);
            }
            add(verb, rows);
        }
    }
    let mut tree = (VERBS.tree)();
    tree.build();
    let mut rows = Vec::new();
    add(&mut tree, &mut rows);
    rows
}

/// A verb's usage, in which its own flags stand for `[OPTIONS]`.
fn usage(verb: &mut Command) -> String {
    let usage = verb.render_usage().to_string();
    let usage = usage.lines().next().unwrap().strip_prefix("Usage: certctl ").unwrap().to_owned();
    let own = verb.get_arguments().filter(|arg| !arg.is_positional());
    let own = own.filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
    let own = own.filter(|arg| arg.get_long() != Some("help"));
    let flags = own.map(|arg| arg.to_string().replace(['<', '>'], ""));
    let flags = flags.filter(|flag| !usage.contains(flag.split(' ').next().unwrap()));
    let flags: Vec<String> = flags.map(|flag| format!("[{flag}] ")).collect();
    format!("{usage} ").replace("[OPTIONS] ", &flags.concat()).trim_end().replace(['<', '>'], "")
}

/// The kinds of objects that are printed with -o json.
fn kind_rows() -> Vec<Vec<String>> {
    let rows = DOCUMENTS
        .iter()
        .map(|document| vec![span(document.kind), cell(document.about.trim_end_matches('.'))]);
    rows.collect()
}

/// The codes of errors and warnings.
fn code_rows() -> Vec<Vec<String>> {
    let rows = codes();
    rows.map(|row| vec![span(row.code), as_markdown(row.meaning), as_markdown(row.remedy)])
        .collect()
}

/// What `status -o prometheus` writes.
fn metric_rows() -> Vec<Vec<String>> {
    let rows = METRICS.iter();
    rows.map(|row| vec![span(row.name), row.kind.to_owned(), cell(row.help)]).collect()
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The fields of cert-manager's providers that have variables in lego.
fn lego_rows() -> Vec<Vec<String>> {
    let fields = all(Kind::Issuer);
    let row = |(field, variables): &(&str, &[&str])| {
        let path = format!("spec.acme.solvers.dns01.{field}");
        assert!(fields.iter().any(|field| field.path == path), "{field}");
        vec![span(field), spans(variables.iter().copied())]
    };
    lego::VARIABLES.iter().map(row).collect()
}

/// The providers that a webhook can name.
fn webhook_rows() -> Vec<Vec<String>> {
    let providers = certctl::solver::dns01::webhook_providers().into_iter();
    let rows = providers.map(|provider| {
        let fields = provider.fields.iter().map(|field| {
            let name = span(field.name);
            if field.kind.is_needed() { name } else { format!("({name})") }
        });
        let lego = provider.fields.iter().map(|field| field.lego).filter(|name| !name.is_empty());
        vec![span(provider.name), fields.collect::<Vec<_>>().join(", "), spans(lego)]
    });
    rows.collect()
}

fn spans<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(span).collect::<Vec<_>>().join(", ")
}

fn span(word: &str) -> String {
    format!("`{word}`")
}

/// Plain text: a word in which Markdown would find marks of its own becomes a span of code.
fn as_markdown(text: &str) -> String {
    let word = |word: &str| {
        let end = word.trim_end_matches([',', ';', ':', '.']);
        let inner = end.trim_matches('\'');
        let is_marked =
            inner.contains(['*', '_', '<', '|']) || (inner.starts_with('-') && inner.len() > 1);
        let behind = word.strip_prefix(end).unwrap_or_default();
        if is_marked { format!("{}{behind}", span(inner)) } else { word.to_owned() }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

const VERB_PAGE: &str = "docs/src/reference/verbs.md";
const METRIC_PAGE: &str = "docs/src/reference/metrics.md";
const CODE_PAGE: &str = "docs/src/reference/codes.md";
const JSON_PAGE: &str = "docs/src/reference/json.md";
const MANIFESTS: &str = "docs/src/reference/manifests.md";
const PROVIDERS: &str = "docs/src/reference/dns-providers.md";
