//! Completion: the candidates that the script of a shell requests.
//!
//! Contract: verbs, flags and their fixed values are clap's; names, issuers and namespaces are read from
//! manifests and state, without a lock and without an error; files are the shell's own. A script starts
//! certctl with `CERTCTL_COMPLETE` set and, after `--`, the words up to the cursor. Each line of the
//! answer is a candidate, or `FILES`; what a candidate is stands behind a tab.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use clap::{Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

use crate::cli::Environment;
use crate::cli::args::Arguments;
use crate::cli::global::TUNING;
use crate::cli::parse::unfinished;
use crate::cli::run::on_one_thread;
use crate::cli::words::field::{ANNOTATIONS, Field, Kind, Type, all, below};
use crate::manifest::{Options, Source, load};
use crate::resource::{NamespacedName, is_dns_subdomain, is_hidden};
use crate::store::{OpenMode, Records, Store};
use crate::workspace::open_state;

/// The answer where a file may stand.
const FILES: &str = ":files";

/// The candidates for a script; `None` when no completion script started this process.
pub fn answer(arguments: &[OsString], environment: &Environment) -> Option<String> {
    environment.value("CERTCTL_COMPLETE")?;
    let [_, separator, given @ ..] = arguments else { return None };
    if separator != "--" {
        return None;
    }
    let mut words = given.to_vec();
    let index = environment.value("CERTCTL_COMPLETE_INDEX").and_then(|index| index.to_str());
    let index = index.and_then(|index| index.parse().ok());
    let index = index.unwrap_or(words.len().saturating_sub(1));
    // PowerShell loses an empty word at the end.
    if words.len() == index {
        words.push(OsString::new());
    }
    let (line, of_line) = (words.get(..index).unwrap_or_default().to_vec(), environment.clone());
    let read = move || Known::read(&line, &of_line);
    let known: Arc<Names> = Arc::new(LazyLock::new(Box::new(read)));
    let mut tree = offering(Arguments::command(), "", &known);
    let is_blank = words.get(index).is_none_or(|word| word.is_empty());
    let mut found = complete(&mut tree, words, index, None).unwrap_or_default();
    let is_flag = |candidate: &CompletionCandidate| {
        candidate.get_id().is_some_and(|id| id.starts_with("arg::"))
    };
    // Flags are offered after a dash, or when there is nothing else.
    if is_blank && !found.iter().all(is_flag) {
        found.retain(|candidate| !is_flag(candidate));
    }
    Some(lines(&found))
}

fn lines(found: &[CompletionCandidate]) -> String {
    let (mut text, mut files) = (String::new(), "");
    for candidate in found {
        let Some(value) = candidate.get_value().to_str() else { continue };
        if value.ends_with(FILES) {
            files = FILES;
        } else if !value.contains(is_hidden) {
            let about = candidate.get_help().map(ToString::to_string).unwrap_or_default();
            let about = about.lines().next().unwrap_or_default();
            let gap = if about.is_empty() { "" } else { "\t" };
            text = [&text, value, gap, about, "\n"].concat();
        }
    }
    if files.is_empty() { text } else { [&text, files, "\n"].concat() }
}

/// The tree, with candidates for the values that have a name of [`offers`].
fn offering(command: Command, verb: &str, known: &Arc<Names>) -> Command {
    let makes_names = verb.starts_with("create ");
    let command = command.mut_args(|arg| {
        let mut places: BTreeSet<String> = BTreeSet::new();
        for name in arg.get_value_names().unwrap_or_default() {
            places.extend(name.split('|').map(str::to_owned));
        }
        if arg.get_id() == "issuer" {
            places.insert("ISSUER".to_owned());
        }
        places
            .retain(|place| PLACES.contains(&place.as_str()) && !(makes_names && place == "NAME"));
        let arg = if arg.get_help_heading() == Some(TUNING) { arg.hide(true) } else { arg };
        let known = Arc::clone(known);
        let has_words = arg.get_value_parser().possible_values().is_some();
        if has_words || places.is_empty() {
            return arg;
        }
        arg.add(ArgValueCompleter::new(move |current: &OsStr| {
            let current = current.to_str().unwrap_or_default();
            places.iter().flat_map(|place| offers(&known, place, current)).collect::<Vec<_>>()
        }))
    });
    command.mut_subcommands(|inner| {
        let verb = format!("{verb} {}", inner.get_name());
        offering(inner, verb.trim_start(), known)
    })
}

/// The names of values that have candidates of our own, as help shows them.
const PLACES: &[&str] =
    &["NAME", "ISSUER", "NAMESPACE", "FIELD", "FILE", "KEYFILE", "DIR", "FOLDER"];

/// The candidates for a value of this name.
fn offers(known: &Names, place: &str, current: &str) -> Vec<CompletionCandidate> {
    let mut offers = match place {
        "NAME" => known.named(&known.certificates, current),
        "ISSUER" => known.named(&known.issuers, current),
        "NAMESPACE" => {
            let all = known.certificates.iter().chain(&known.issuers);
            let all: BTreeSet<&str> = all.map(|name| name.namespace.as_str()).collect();
            all.into_iter().filter(|namespace| !namespace.is_empty()).map(Into::into).collect()
        }
        "FIELD" => fields(current),
        // clap completes a flag as if it were the word of a verb, too.
        _ if current.starts_with('-') => Vec::new(),
        _ => return vec![FILES.into()],
    };
    offers.retain(|offer| offer.get_value().to_string_lossy().starts_with(current));
    offers
}

/// [`Known`], read once a name is completed.
type Names = LazyLock<Known, Box<dyn FnOnce() -> Known + Send>>;

/// The names in manifests and state.
#[derive(Default)]
struct Known {
    certificates: BTreeSet<NamespacedName>,
    issuers: BTreeSet<NamespacedName>,
    /// The one that is selected.
    namespace: Option<String>,
}

impl Known {
    /// Reads the names that the verbs would find with the flags of this line.
    fn read(line: &[OsString], environment: &Environment) -> Self {
        let Some((global, environment)) = unfinished(line, environment.clone()) else {
            return Self::default();
        };
        let mut paths = global.filename.clone();
        if paths.is_empty() {
            paths = environment.files();
        }
        // Neither standard input nor a pipe is read for a TAB.
        paths.retain(|path| path.is_file() || path.is_dir());
        let config = environment.config_dir(global.config_dir.as_deref());
        paths.extend(config.ok().map(|config| config.path));
        let source = |path: PathBuf| {
            if path.is_file() { Source::File(path) } else { Source::Directory(path) }
        };
        let sources: Vec<Source> = paths.into_iter().map(source).collect();
        let loaded = load(&sources, &Options { reads_untrusted: true, ..Options::default() });
        let state = environment.state_dir(global.state_dir.as_deref()).ok();
        let state = state.and_then(|state| open_state(&state.path, OpenMode::ReadOnly).ok());
        let stored = state.and_then(|state| {
            let names = async { Ok(Records::new(state.documents()).certificate_names().await?) };
            on_one_thread(names).ok()
        });
        let stored = stored.unwrap_or_default();
        let named = loaded.certificates.iter().map(|one| one.metadata.key());
        let is_sound = |name: &NamespacedName| {
            is_dns_subdomain(&name.name)
                && (name.namespace.is_empty() || is_dns_subdomain(&name.namespace))
        };
        Self {
            certificates: named.chain(stored).filter(is_sound).collect(),
            issuers: loaded.issuers.iter().map(|one| one.metadata.key()).filter(is_sound).collect(),
            namespace: global.namespace().map(str::to_owned),
        }
    }

    /// Names as verbs take them: alone where one namespace has them, else with their namespace.
    fn named(&self, all: &BTreeSet<NamespacedName>, current: &str) -> Vec<CompletionCandidate> {
        let is_here = |one: &&NamespacedName| {
            let wanted = self.namespace.as_deref().filter(|_| !one.namespace.is_empty());
            wanted.is_none_or(|wanted| wanted == one.namespace)
        };
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for one in all.iter().filter(is_here) {
            *count.entry(&one.name).or_default() += 1;
        }
        let offer = |one: &NamespacedName| {
            let is_alone = count.get(one.name.as_str()) == Some(&1);
            if is_alone && !current.contains('/') { one.name.clone() } else { one.to_string() }
        };
        let offers: BTreeSet<String> = all.iter().filter(is_here).map(offer).collect();
        offers.into_iter().map(Into::into).collect()
    }
}

/// The fields of one level, below what is typed.
fn fields(current: &str) -> Vec<CompletionCandidate> {
    let Some((word, path)) = current.split_once('.') else {
        return Kind::ALL.iter().map(|kind| (kind.name().to_lowercase() + ".").into()).collect();
    };
    let Some(kind) = Kind::parse(word) else { return Vec::new() };
    let level = match path.strip_prefix(ANNOTATIONS) {
        Some(_) => ANNOTATIONS.trim_end_matches('.'),
        None => path.rsplit_once('.').map_or("", |(level, _)| level),
    };
    let mut offers = Vec::new();
    for field in below(kind, level) {
        let end = if below(kind, field.path).is_empty() { "" } else { "." };
        let offer = CompletionCandidate::new(format!("{word}.{}{end}", field.path));
        offers.push(offer.help(Some(field.rule.into())));
    }
    let is_reference = |field: &Field| field.path == level && field.kind == Type::SecretRef;
    if all(kind).iter().any(is_reference) {
        offers.extend(["key", "name"].map(|part| format!("{word}.{level}.{part}").into()));
    }
    offers
}
