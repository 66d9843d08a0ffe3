//! The words for each place of the line, and how they are offered.
//!
//! Contract: what is on the line already is not offered again. A name that is in one namespace
//! only is offered bare, as the verbs take it, else with its namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_complete::engine::{CompletionCandidate, ValueCompleter};
use jiff::Timestamp;

use super::known::{Known, Place, Seen};
use super::line::Line;
use super::position::Position;

use crate::cli::args::Arguments;
use crate::cli::verbs::help::topic::TOPICS;
use crate::cli::verbs::status::Noun;
use crate::cli::words::field::{ANNOTATIONS, all, below};
use crate::cli::words::field::{Field, Kind, Type};
use crate::resource::{NamespacedName, RevocationReason};

/// The most candidates that get a state: longer lists are not readable.
const MOST_DESCRIBED: usize = 100;

/// A line, and what it can be about.
pub(super) struct Scene {
    pub(super) line: Line,
    pub(super) known: Known,
    /// The current time, if the shell shows descriptions.
    pub(super) described: Option<Timestamp>,
}

/// A place of the line.
pub(super) struct WordCompleter {
    pub(super) scene: std::sync::Arc<Scene>,
    pub(super) position: Position,
}

/// A word, and what is said of it.
type Offer = (String, Option<String>);

impl ValueCompleter for WordCompleter {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let Some(current) = current.to_str() else { return Vec::new() };
        let mut offers = self.scene.offers(self.position, current);
        offers.retain(|(word, _)| word.starts_with(current));
        let candidate =
            |(word, about): Offer| CompletionCandidate::new(word).help(about.map(Into::into));
        offers.into_iter().map(candidate).collect()
    }
}

impl Scene {
    fn offers(&self, position: Position, current: &str) -> Vec<Offer> {
        match position {
            Position::Certificates => self.certificates(current, |_| true, &self.line.words),
            Position::Issued => {
                self.certificates(current, |place| place.in_state, &self.line.words)
            }
            Position::IssuedOrFiles => {
                let issued = self.offers(Position::Issued, current);
                [issued, self.paths(current, |_| true)].concat()
            }
            Position::Targets => {
                let mut names = self.offers(Position::Certificates, current);
                // A word that is a path as well would be refused as ambiguous.
                names.retain(|(name, _)| !self.known.path(name).exists());
                [names, self.offers(Position::Manifests, current)].concat()
            }
            Position::Manifests => {
                let mut found = self.paths(current, is_manifest);
                if current == "-" {
                    found.push(("-".to_owned(), Some("standard input".to_owned())));
                }
                found
            }
            Position::Files => self.paths(current, |_| true),
            Position::Folders => self.paths(current, |_| false),
            Position::Issuers => {
                let objects = self.known.objects();
                let issuers = objects.iter().filter(|seen| seen.kind.ends_with("Issuer"));
                let issuers: BTreeSet<NamespacedName> = issuers.map(Seen::key).collect();
                self.named(issuers.iter(), current, &self.line.words)
            }
            Position::Namespaces => {
                let objects = self.known.objects().into_iter().map(|seen| seen.namespace);
                let stored = self.known.certificate_names().into_iter().map(|name| name.namespace);
                let all: BTreeSet<String> = objects.chain(stored).collect();
                bare(all.into_iter().filter(|namespace| !namespace.is_empty()))
            }
            Position::Labels => self.labels(current),
            Position::Status => self.status(current),
            Position::Inspect => self.inspect(current),
            Position::DnsNames => bare(self.dns_names().into_iter()),
            Position::Resolve => bare(self.dns_names().into_iter().map(|name| name + "=")),
            Position::Fields => fields(current),
            Position::Kinds => bare(Kind::ALL.iter().map(|kind| kind.name().to_lowercase())),
            Position::Reasons => {
                bare(RevocationReason::ALL.iter().map(|reason| reason.as_str().to_owned()))
            }
            Position::Revisions => self.revisions(),
            Position::Help => self.help(),
        }
    }

    fn certificates(
        &self,
        current: &str,
        is_wanted: impl Fn(&Place) -> bool,
        words: &[OsString],
    ) -> Vec<Offer> {
        let all = self.known.certificates();
        let wanted: BTreeMap<&NamespacedName, &Place> =
            all.iter().filter(|(_, place)| is_wanted(place)).collect();
        let mut offers = self.named(wanted.keys().copied(), current, words);
        offers.retain(|(word, _)| word.starts_with(current));
        if let Some(now) = self.described.filter(|_| offers.len() <= MOST_DESCRIBED) {
            for (word, about) in &mut offers {
                let mut here =
                    wanted.iter().filter(|(name, _)| self.known.is_here(&name.namespace));
                let found = here.find(|(name, _)| is_meant(word, name));
                *about = found.map(|(name, place)| self.known.state_of(name, place, now));
            }
        }
        offers
    }

    /// Names of objects, without those that are on the line.
    fn named<'a>(
        &self,
        all: impl Iterator<Item = &'a NamespacedName>,
        current: &str,
        words: &[OsString],
    ) -> Vec<Offer> {
        let here: Vec<&NamespacedName> =
            all.filter(|name| self.known.is_here(&name.namespace)).collect();
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for name in &here {
            *count.entry(&name.name).or_default() += 1;
        }
        let mut found = Vec::new();
        for name in here {
            let full = name.to_string();
            let is_unique = count.get(name.name.as_str()) == Some(&1) && !is_noun(&name.name);
            let is_given = |word: &OsString| {
                *word == *full || (*word == *name.name && (is_unique || is_noun(&name.name)))
            };
            if !words.iter().any(is_given) {
                let is_bare = is_unique && !current.contains('/');
                found.push((if is_bare { name.name.clone() } else { full }, None));
            }
        }
        found.sort_unstable();
        found
    }

    fn status(&self, current: &str) -> Vec<Offer> {
        let (noun, names) = Noun::split(&self.line.words);
        let mut offers = match noun {
            Noun::Certificate => self.certificates(current, |_| true, names),
            Noun::Issuer => self.offers(Position::Issuers, current),
            Noun::CertificateRequest | Noun::Order | Noun::Challenge => {
                self.numbered(noun, current, names)
            }
        };
        if self.line.words.is_empty() {
            offers.extend(
                KINDS.iter().map(|(word, about)| ((*word).to_owned(), Some((*about).to_owned()))),
            );
        }
        offers
    }

    /// Requests, orders and challenges, whose names start with their certificate's.
    fn numbered(&self, noun: Noun, current: &str, words: &[OsString]) -> Vec<Offer> {
        let start = current.rsplit('/').next().unwrap_or_default();
        let mut names = self.known.certificate_names();
        names.retain(|name| {
            let is_near = name.name.starts_with(start) || start.starts_with(&name.name);
            is_near && self.known.is_here(&name.namespace)
        });
        let mut found = BTreeSet::new();
        for name in names {
            let of =
                |end: String| NamespacedName::new(&name.namespace, format!("{}-{end}", name.name));
            match noun {
                Noun::Challenge if found.len() < MOST_DESCRIBED => {
                    for order in self.known.orders(&name) {
                        let numbers = 1..=order.challenges.len();
                        found.extend(numbers.map(|number| {
                            NamespacedName::new(&name.namespace, format!("{}-{number}", order.name))
                        }));
                    }
                }
                Noun::Order => found.extend(self.known.numbers(&name, true).into_iter().map(of)),
                Noun::CertificateRequest => {
                    found.extend(self.known.numbers(&name, false).into_iter().map(of));
                }
                Noun::Challenge | Noun::Certificate | Noun::Issuer => {}
            }
        }
        self.named(found.iter(), current, words)
    }

    fn inspect(&self, current: &str) -> Vec<Offer> {
        if self.line.words.first().is_some_and(|word| word == "secret") {
            let objects = self.known.objects().into_iter();
            let mut all: BTreeSet<NamespacedName> = objects
                .filter(|seen| !seen.secret.is_empty())
                .map(|seen| NamespacedName::new(seen.namespace, seen.secret))
                .collect();
            all.extend(self.known.secret_names());
            return self.named(all.iter(), current, self.line.words.get(1..).unwrap_or_default());
        }
        if !self.line.words.is_empty() {
            return Vec::new();
        }
        let mut offers = self.offers(Position::Issued, current);
        offers.push(("secret".to_owned(), Some("a Secret, by its name".to_owned())));
        offers.extend(self.paths(current, |_| true));
        offers
    }

    /// Requirements on labels, after the last comma: keys, then values.
    fn labels(&self, current: &str) -> Vec<Offer> {
        let (before, part) =
            match current.rfind(',').and_then(|at| current.split_at_checked(at + 1)) {
                Some((before, part)) => (before, part),
                None => ("", current),
            };
        let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for seen in self.known.objects().iter().filter(|seen| seen.kind == "Certificate") {
            for (key, value) in &seen.labels {
                labels.entry(key.clone()).or_default().insert(value.clone());
            }
        }
        let operator = ["!=", "==", "="].iter().find(|operator| part.contains(**operator));
        if let Some(operator) = operator {
            let key = part.split(operator).next().unwrap_or_default();
            let values = labels.remove(key).unwrap_or_default().into_iter();
            return bare(values.map(|value| format!("{before}{key}{operator}{value}")));
        }
        let is_free = |key: &&String| {
            !before.split(',').any(|part| part.split(['=', '!']).any(|k| k == **key))
        };
        let keys = labels.keys().filter(is_free);
        match part.strip_prefix('!') {
            Some(_) => bare(keys.map(|key| format!("{before}!{key}"))),
            None => bare(keys.map(|key| format!("{before}{key}="))),
        }
    }

    fn dns_names(&self) -> BTreeSet<String> {
        let objects = self.known.objects().into_iter();
        let here = objects.filter(|seen| self.known.is_here(&seen.namespace));
        let names = here.flat_map(|seen| seen.dns_names);
        names.map(|name| name.trim_start_matches("*.").to_owned()).collect()
    }

    fn revisions(&self) -> Vec<Offer> {
        let is_named = |name: &&NamespacedName| {
            let mut words = self.line.words.iter().filter_map(|word| word.to_str());
            self.known.is_here(&name.namespace) && words.any(|word| is_meant(word, name))
        };
        let all = self.known.certificate_names();
        let found = all.iter().find(is_named).map(|name| self.known.revisions(name));
        bare(found.unwrap_or_default().iter().map(ToString::to_string))
    }

    /// The verbs below those on the line, and the topics where there is none.
    fn help(&self) -> Vec<Offer> {
        let tree = Arguments::command();
        let words = self.line.words.iter().filter_map(|word| word.to_str());
        let verb = words.clone().try_fold(&tree, |above, word| above.find_subcommand(word));
        let about = |verb: &Command| verb.get_about().map(ToString::to_string);
        let verbs = verb.into_iter().flat_map(Command::get_subcommands);
        let mut offers: Vec<Offer> =
            verbs.map(|verb| (verb.get_name().to_owned(), about(verb))).collect();
        if self.line.words.is_empty() {
            let topics = TOPICS.iter();
            offers
                .extend(topics.map(|topic| (topic.name.to_owned(), Some(topic.about.to_owned()))));
        }
        offers
    }

    /// Files that fit and all folders, as far as the last slash is typed.
    fn paths(&self, current: &str, fits: impl Fn(&Path) -> bool) -> Vec<Offer> {
        let (folder, start) =
            match current.rfind('/').and_then(|at| current.split_at_checked(at + 1)) {
                Some((folder, start)) => (folder, start),
                None => ("", current),
            };
        let mut found = BTreeSet::new();
        for entry in std::fs::read_dir(self.known.path(folder)).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_hidden = name.starts_with('.') && !start.starts_with('.');
            if is_hidden || !name.starts_with(start) || name.contains(char::is_control) {
                continue;
            }
            // Followed when it is a link.
            if entry.path().is_dir() {
                found.insert(format!("{folder}{name}/"));
            } else if fits(&entry.path()) {
                found.insert(format!("{folder}{name}"));
            }
        }
        let given = |word: &String| self.line.words.iter().any(|given| *given == **word);
        bare(found.into_iter().filter(|word| !given(word)))
    }
}

fn is_manifest(path: &Path) -> bool {
    path.extension()
        .and_then(OsStr::to_str)
        .is_some_and(|end| ["yaml", "yml", "json"].contains(&end))
}

fn is_meant(word: &str, name: &NamespacedName) -> bool {
    word == name.name || word.split_once('/') == Some((&name.namespace, &name.name))
}

/// Whether `status` accepts a word as a kind.
fn is_noun(word: &str) -> bool {
    Noun::split(&[word.into()]).1.is_empty()
}

/// The fields of one level, below what is typed.
fn fields(current: &str) -> Vec<Offer> {
    let Some((word, path)) = current.split_once('.') else {
        return bare(Kind::ALL.iter().map(|kind| kind.name().to_lowercase() + "."));
    };
    let Some(kind) = Kind::parse(word) else { return Vec::new() };
    let level = match path.strip_prefix(ANNOTATIONS) {
        Some(_) => ANNOTATIONS.trim_end_matches('.'),
        None => path.rsplit_once('.').map_or("", |(level, _)| level),
    };
    let mut offers = Vec::new();
    for field in below(kind, level) {
        let end = if below(kind, field.path).is_empty() { "" } else { "." };
        offers.push((format!("{word}.{}{end}", field.path), Some(field.rule.to_owned())));
    }
    let is_reference = |field: &Field| field.path == level && field.kind == Type::SecretRef;
    if all(kind).iter().any(is_reference) {
        offers
            .extend(bare(["key", "name"].map(|part| format!("{word}.{level}.{part}")).into_iter()));
    }
    offers
}

fn bare(words: impl Iterator<Item = String>) -> Vec<Offer> {
    words.map(|word| (word, None)).collect()
}

/// The kinds of `status`, and what they are.
const KINDS: &[(&str, &str)] = &[
    ("certificate", "certificates, as without a kind"),
    ("issuer", "the CAs and their accounts"),
    ("order", "orders at the CA"),
    ("challenge", "challenges of the orders"),
    ("request", "requests, by revision"),
];
