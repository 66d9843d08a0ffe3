//! What an argument on the command line means: a path, standard input, or the name of an object.
//!
//! Contract: pure; the caller passes which paths exist and which names are known. An
//! argument that begins with `/` or `.` or ends in `/`, .yaml, .yml or .json is a path, `-` is
//! standard input. Any other is `name` or `namespace/name`, unless there is such a path and no such
//! object. When there are both, it is an error that names both readings.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::manifest::{is_gone, nearest_by};
use crate::resource::{Certificate, NamespacedName, is_dns_label, is_dns_subdomain};

/// One parsed argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `-`.
    Stdin,
    /// A file or a folder.
    Path(PathBuf),
    /// An object.
    Name(NameTarget),
}

impl Target {
    /// Parses an argument; `exists` says whether there is such a path, `known` are the objects that
    /// there are.
    pub fn read(
        word: &OsStr,
        exists: &dyn Fn(&Path) -> bool,
        known: &[NamespacedName],
    ) -> Result<Self, TargetError> {
        let path = Path::new(word);
        let Some(text) = word.to_str() else { return Ok(Self::Path(path.to_owned())) };
        if text == "-" {
            return Ok(Self::Stdin);
        }
        let has_extension = [".yaml", ".yml", ".json"].iter().any(|end| text.ends_with(end));
        if text.starts_with(['/', '.']) || text.ends_with('/') || has_extension {
            return Ok(Self::Path(path.to_owned()));
        }
        match NameTarget::parse_of(CERTIFICATE, text) {
            Some(name) if !exists(path) => Ok(Self::Name(name)),
            Some(name) if name.is_among(known) => {
                let objects = known.iter().filter(|one| name.is_among(std::slice::from_ref(*one)));
                let objects: BTreeSet<NamespacedName> = objects.cloned().collect();
                let objects = objects.into_iter().collect();
                Err(TargetError::Ambiguous { word: text.to_owned(), objects })
            }
            None if text.is_empty() || !exists(path) => {
                Err(TargetError::NotAName { word: text.to_owned() })
            }
            Some(_) | None => Ok(Self::Path(path.to_owned())),
        }
    }
}

/// `name` or `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTarget {
    /// The namespace, if the argument has one.
    pub namespace: Option<String>,
    pub name: String,
}

impl From<NamespacedName> for NameTarget {
    fn from(NamespacedName { namespace, name }: NamespacedName) -> Self {
        Self { namespace: Some(namespace), name }
    }
}

impl NameTarget {
    /// Reads `name` or `namespace/name`; `None` when it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        // No object has the name of a wildcard, but one may be for it.
        let rest = name.strip_prefix("*.").unwrap_or(name);
        let is_valid = namespace.is_none_or(is_dns_label) && is_dns_subdomain(rest);
        is_valid.then(|| Self { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    }

    /// The same, or what `-o name` prints of an object of one of these kinds: `certificate/web` in the
    /// namespace `default`, else `certificate/namespace/web`.
    pub fn parse_of(kinds: &[&str], text: &str) -> Option<Self> {
        let Some((kind, rest)) = text.split_once('/').filter(|(kind, _)| kinds.contains(kind))
        else {
            return Self::parse(text);
        };
        let namespace = if kind == CLUSTER_ISSUER { "" } else { DEFAULT };
        let (namespace, name) = rest.split_once('/').unwrap_or((namespace, rest));
        let is_valid = (namespace.is_empty() || is_dns_label(namespace)) && is_dns_subdomain(name);
        is_valid.then(|| NamespacedName::new(namespace, name).into())
    }

    /// What `-o name` prints of an object.
    pub fn printed(kind: &str, namespace: &str, name: &str) -> String {
        let kind = kind.to_lowercase();
        if namespace.is_empty() || namespace == DEFAULT {
            return format!("{kind}/{name}");
        }
        format!("{kind}/{namespace}/{name}")
    }

    /// Whether one of `known` has this name.
    pub fn is_among(&self, known: &[NamespacedName]) -> bool {
        let is_it = |key: &NamespacedName| {
            key.name == self.name
                && self.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
        };
        known.iter().any(is_it)
    }

    /// Whether what could be a namespace is how kubectl calls a Certificate.
    fn has_kind_of_kubectl(&self) -> bool {
        let kind = self.namespace.as_deref();
        kind.is_some_and(|kind| ["cert", "certs", "certificates"].contains(&kind))
    }

    /// The one object among `known` that the name selects; `namespace` is that of `-n`, in which a
    /// bare name is looked up.
    pub fn find(
        &self,
        known: &[NamespacedName],
        namespace: Option<&str>,
    ) -> Result<NamespacedName, TargetError> {
        let of_flag = namespace;
        let namespace = self.namespace.as_deref().or(namespace);
        let in_reach =
            |key: &&NamespacedName| namespace.is_none_or(|wanted| key.namespace == wanted);
        let mut found: Vec<&NamespacedName> =
            known.iter().filter(in_reach).filter(|key| key.name == self.name).collect();
        found.sort();
        found.dedup();
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            // As kubectl has it: `describe cert/web`.
            [] if self.has_kind_of_kubectl() => {
                Self { namespace: None, name: self.name.clone() }.find(known, of_flag)
            }
            [] => Err(TargetError::Unknown {
                name: NamespacedName::new(namespace.unwrap_or_default(), &self.name),
                similar: nearest_by(&self.name, known.iter(), |key| &key.name)
                    .filter(|key| may_be_meant(&self.name, &key.name))
                    .or_else(|| longer(&self.name, known))
                    .cloned(),
            }),
            several => Err(TargetError::Several {
                name: self.name.clone(),
                found: several.iter().map(|key| (*key).clone()).collect(),
            }),
        }
    }
}

/// The kind in front of a Certificate's name.
pub const CERTIFICATE: &[&str] = &["certificate"];
/// The kinds in front of an issuer's name.
pub const ISSUERS: &[&str] = &["issuer", CLUSTER_ISSUER];
/// It has no namespace.
const CLUSTER_ISSUER: &str = "clusterissuer";
/// The namespace of objects that name none.
const DEFAULT: &str = "default";

/// Whether a similar name may be what was meant: host names are alike without being the same host.
fn may_be_meant(name: &str, similar: &str) -> bool {
    !name.contains('.') || strsim::osa_distance(name, similar) <= 1
}

/// The shortest name that begins with this one, or else has it as a word.
fn longer<'a>(name: &str, known: &'a [NamespacedName]) -> Option<&'a NamespacedName> {
    let is_word = |key: &NamespacedName| key.name.split(['-', '.']).any(|word| word == name);
    let begins = |key: &&NamespacedName| key.name.starts_with(name);
    let fits = known.iter().filter(|key| begins(key) || is_word(key));
    fits.min_by_key(|key| (!begins(key), key.name.len(), *key))
}

/// Why an argument is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// A valid name, and a path that exists.
    #[error("`{word}` is both a path and the name of an object")]
    Ambiguous {
        word: String,
        /// The objects of that name.
        objects: Vec<NamespacedName>,
    },
    /// Neither a name nor a path.
    #[error("`{word}` is neither a name, a namespace/name nor a path (`./FILE`, `FILE.yaml`)")]
    NotAName { word: String },
    /// No object of that name.
    #[error("`{}` not found{}", .name.short(), suggestion(.similar.as_ref()))]
    Unknown {
        /// The requested name.
        name: NamespacedName,
        /// The most similar existing name.
        similar: Option<NamespacedName>,
    },
    /// A DNS name of Certificates, where the name of one is needed.
    #[error("`{name}` is a DNS name of {}: name the Certificate", of(.certificates))]
    DnsName { name: String, certificates: Vec<NamespacedName> },
    /// The state knows it, and there is no manifest of it any more.
    #[error("`{}` is known from earlier runs, but {}", .name.short(), gone(.manifest.as_deref()))]
    WithoutManifest {
        name: NamespacedName,
        /// Where it was; `None` for standard input.
        manifest: Option<PathBuf>,
    },
    /// Its manifest is there, and cannot be used.
    #[error("`{}` is not processed: its manifest {} has a mistake", .name.short(), .manifest.display())]
    Invalid { name: NamespacedName, manifest: PathBuf },
    /// Its manifest, or a folder above that, cannot be read by this user.
    #[error("`{}` is known from earlier runs, but {} cannot be read", .name.short(), .place.display())]
    Unread { name: NamespacedName, place: PathBuf },
    /// A bare name that exists in several namespaces.
    #[error("`{name}` is in several namespaces: {}", join(.found))]
    Several {
        name: String,
        /// All objects of that name.
        found: Vec<NamespacedName>,
    },
}

impl TargetError {
    /// The same error; of a name that one of these is for, the one that tells so.
    #[must_use]
    pub fn among(self, certificates: &[Arc<Certificate>]) -> Self {
        if let Self::Unknown { name: NamespacedName { name, .. }, .. } = &self {
            let is_for = |one: &&Arc<Certificate>| {
                one.spec.dns_names.iter().any(|dns_name| dns_name.to_string() == *name)
            };
            let found = certificates.iter().filter(is_for).map(|one| one.metadata.key());
            let certificates: BTreeSet<NamespacedName> = found.collect();
            if !certificates.is_empty() {
                let certificates = certificates.into_iter().collect();
                return Self::DnsName { name: name.clone(), certificates };
            }
        }
        self
    }
}

fn gone(manifest: Option<&Path>) -> String {
    match manifest {
        None => "its manifest was read from standard input".to_owned(),
        Some(path) if !is_gone(path) => format!("its manifest {} no longer has it", path.display()),
        Some(path) => format!("its manifest {} no longer exists", path.display()),
    }
}

fn suggestion(similar: Option<&NamespacedName>) -> String {
    similar.map(|name| format!(", did you mean `{}`?", name.short())).unwrap_or_default()
}

fn of(certificates: &[NamespacedName]) -> String {
    match certificates {
        [one] => format!("the Certificate `{}`", one.short()),
        several => {
            let names: Vec<String> = several.iter().map(NamespacedName::short).collect();
            format!("several Certificates ({})", names.join(", "))
        }
    }
}

fn join(names: &[NamespacedName]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn name(namespace: Option<&str>, name: &str) -> Target {
        Target::Name(NameTarget { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    }

    #[test]
    fn arguments_are_paths_standard_input_or_names() {
        let exists = |path: &Path| {
            ["mail", "prod/web", "My_Dir", "c.pem"].iter().any(|p| path == Path::new(p))
        };
        let known = [NamespacedName::new("prod", "web"), NamespacedName::new("b", "mail")];
        for (word, wanted) in [
            ("-", Ok(Target::Stdin)),
            ("/etc/certctl", Ok(Target::Path("/etc/certctl".into()))),
            ("./web", Ok(Target::Path("./web".into()))),
            (".", Ok(Target::Path(".".into()))),
            ("web.yaml", Ok(Target::Path("web.yaml".into()))),
            ("conf/web.yml", Ok(Target::Path("conf/web.yml".into()))),
            ("web.json", Ok(Target::Path("web.json".into()))),
            ("conf/", Ok(Target::Path("conf/".into()))),
            ("web", Ok(name(None, "web"))),
            ("www.example.com", Ok(name(None, "www.example.com"))),
            ("default/web", Ok(name(Some("default"), "web"))),
            ("certificate/web", Ok(name(Some("default"), "web"))),
            ("certificate/shop/web", Ok(name(Some("shop"), "web"))),
            ("issuer/web", Ok(name(Some("issuer"), "web"))),
            ("mail", both("mail", &known[1])),
            ("prod/web", both("prod/web", &known[0])),
            ("My_Dir", Ok(Target::Path("My_Dir".into()))),
            ("c.pem", Ok(Target::Path("c.pem".into()))),
            ("d.pem", Ok(name(None, "d.pem"))),
            ("No_Dir", Err(TargetError::NotAName { word: "No_Dir".into() })),
            ("a/b/c", Err(TargetError::NotAName { word: "a/b/c".into() })),
            ("", Err(TargetError::NotAName { word: String::new() })),
        ] {
            assert_eq!(Target::read(OsStr::new(word), &exists, &known), wanted, "{word}");
        }
        let foreign = OsStr::from_bytes(b"w\xffb");
        assert_eq!(Target::read(foreign, &exists, &known), Ok(Target::Path(foreign.into())));
    }

    /// What is a path as well as the name of this object.
    fn both(word: &str, object: &NamespacedName) -> Result<Target, TargetError> {
        Err(TargetError::Ambiguous { word: word.to_owned(), objects: vec![object.clone()] })
    }

    #[test]
    fn a_bare_name_must_be_unique() {
        let known = [("a", "web"), ("b", "web"), ("b", "mail"), ("b", "a-shop-example-com")]
            .map(|(n, m)| NamespacedName::new(n, m));
        let find = |word: &str, namespace| {
            let target = NameTarget::parse(word).unwrap();
            target.find(&known, namespace).map(|key| key.to_string()).map_err(|e| e.to_string())
        };
        for (word, namespace, wanted) in [
            ("mail", None, Ok("b/mail")),
            ("cert/mail", None, Ok("b/mail")),
            ("web", Some("a"), Ok("a/web")),
            ("b/web", Some("a"), Ok("b/web")),
            ("web", None, Err("`web` is in several namespaces: a/web, b/web")),
            ("mial", None, Err("`mial` not found, did you mean `b/mail`?")),
            ("mail", Some("a"), Err("`a/mail` not found, did you mean `b/mail`?")),
            ("other", None, Err("`other` not found")),
            ("ma", None, Err("`ma` not found, did you mean `b/mail`?")),
            ("shop", None, Err("`shop` not found, did you mean `b/a-shop-example-com`?")),
            ("example", None, Err("`example` not found, did you mean `b/a-shop-example-com`?")),
        ] {
            let wanted = wanted.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(find(word, namespace), wanted, "{word} {namespace:?}");
        }
    }
}
