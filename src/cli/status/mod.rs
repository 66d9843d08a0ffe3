//! `certctl status`: a table, a page, or cert-manager's objects.
//!
//! Contract: rendering only. The views are gathered by the verb, from manifests and state; the
//! time, the zone and whether to colour come in a [`Scene`]. Foreign text is escaped wherever
//! people read it, and left as it is in JSON and YAML.

mod detail;
mod issuance;
mod lists;
mod noun;
pub(in crate::cli) mod objects;
mod overview;
mod page;
mod progress;
mod prometheus;
mod scene;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod verb;
mod verdict;
mod waiting;

use jiff::Timestamp;

use super::args::Format;
use super::document::{self, Object};
use super::error::CliError;
use super::exit::ExitCode;
use crate::manifest::nearest_by;
use crate::workspace::target::NameTarget;
use crate::workspace::view::{CertificateView, IssuerView};
pub use noun::Noun;
pub(crate) use prometheus::LastRun;
pub use scene::Scene;
pub use table::Width;
pub use verdict::Verdict;

/// The status of certificates. `names`: whether they were requested by name: then people get
/// a page for each, else the table.
pub fn certificates(
    views: &[CertificateView],
    names: bool,
    scene: &Scene,
) -> Result<String, CliError> {
    let wide = scene.format == Format::Wide;
    match scene.format {
        Format::Text | Format::Wide if names => {
            let pages = views.iter().map(|view| detail::detail(view, wide, scene));
            Ok(pages.collect::<Vec<_>>().join("\n"))
        }
        Format::Text | Format::Wide => Ok(overview::overview(views, wide, scene)),
        Format::Json | Format::Yaml => {
            let identified = views.iter().filter(|view| view.has_name());
            let objects = identified.map(|view| objects::certificate(view, scene.now));
            document::list(&objects.map(Object).collect::<Vec<_>>(), names, scene.format)
        }
        Format::Name => {
            let identified = views.iter().filter(|view| view.has_name());
            Ok(lines(identified.map(|view| format!("certificate/{}", view.key.name))))
        }
        Format::Prometheus => Ok(metrics(views, &[], None, scene.now)),
    }
}

/// The certificates and issuers, and the run that has just ended, in the Prometheus text format.
pub(crate) fn metrics(
    views: &[CertificateView],
    issuers: &[IssuerView],
    run: Option<&LastRun>,
    now: Timestamp,
) -> String {
    prometheus::exposition(views, issuers, run, now)
}

/// Whether `--exit-code` ends in 8: one of them is not as it should be.
pub fn needs_attention(views: &[CertificateView], now: Timestamp) -> bool {
    views.iter().any(|view| Verdict::of(view, now).needs_attention())
}

/// The status of issuers, all or those named.
pub fn issuers(
    views: &[IssuerView],
    names: &[NameTarget],
    scene: &Scene,
) -> Result<String, CliError> {
    let found: Vec<&IssuerView> = views
        .iter()
        .filter(|view| {
            is_wanted(names, &view.issuer.metadata.namespace, &view.issuer.metadata.name)
        })
        .collect();
    let known: Vec<(&str, String)> = found
        .iter()
        .map(|view| &view.issuer.metadata)
        .map(|metadata| (metadata.namespace.as_str(), metadata.name.clone()))
        .collect();
    all_found(Noun::Issuer, names, &known)?;
    match scene.format {
        Format::Text | Format::Wide => {
            Ok(lists::issuers(&found, scene.format == Format::Wide, scene))
        }
        Format::Json | Format::Yaml => {
            let objects: Vec<_> = found.into_iter().map(objects::issuer).collect();
            document::list(&objects, names.len() == 1, scene.format)
        }
        Format::Name => {
            let line = |view: &&IssuerView| {
                let kind = view.issuer.kind.to_string().to_lowercase();
                format!("{kind}/{}", view.issuer.metadata.name)
            };
            Ok(lines(found.iter().map(line)))
        }
        Format::Prometheus => Err(no_metrics(Noun::Issuer)),
    }
}

/// The status of requests, orders or challenges, all or those named.
pub fn objects_of(
    noun: Noun,
    views: &[CertificateView],
    names: &[NameTarget],
    scene: &Scene,
) -> Result<String, CliError> {
    let found: Vec<lists::Object<'_>> = views
        .iter()
        .flat_map(|view| lists::Object::of(noun, view))
        .filter(|object| is_wanted(names, object.namespace(), &object.name()))
        .collect();
    let known: Vec<(&str, String)> =
        found.iter().map(|object| (object.namespace(), object.name())).collect();
    all_found(noun, names, &known)?;
    match scene.format {
        Format::Text | Format::Wide => {
            Ok(lists::objects(noun, &found, scene.format == Format::Wide, scene))
        }
        Format::Json | Format::Yaml => {
            lists::documents(noun, &found, names.len() == 1, scene.format)
        }
        Format::Name => {
            let kind = noun.kind().to_lowercase();
            Ok(lines(known.iter().map(|(_, name)| format!("{kind}/{name}"))))
        }
        Format::Prometheus => Err(no_metrics(noun)),
    }
}

/// Whether an object is among those named; without names all are.
fn is_wanted(names: &[NameTarget], namespace: &str, name: &str) -> bool {
    names.is_empty() || names.iter().any(|wanted| is_meant(wanted, namespace, name))
}

fn is_meant(wanted: &NameTarget, namespace: &str, name: &str) -> bool {
    wanted.name == name && wanted.namespace.as_deref().is_none_or(|found| found == namespace)
}

fn all_found(noun: Noun, names: &[NameTarget], found: &[(&str, String)]) -> Result<(), CliError> {
    let is_missing = |wanted: &&NameTarget| {
        !found.iter().any(|(namespace, name)| is_meant(wanted, namespace, name))
    };
    match names.iter().find(is_missing) {
        Some(missing) => {
            let similar = nearest_by(&missing.name, found.iter(), |(_, name)| name);
            let similar = similar.map(|(_, name)| format!(", did you mean `{name}`?"));
            let similar = similar.unwrap_or_default();
            let message = format!("{} `{}` not found{similar}", noun.kind(), missing.name);
            let hint = format!("certctl status {}", noun.kind().to_lowercase());
            Err(CliError::new(ExitCode::Manifest, message).hinted(hint))
        }
        None => Ok(()),
    }
}

fn no_metrics(noun: Noun) -> CliError {
    let message = format!("-o prometheus is for certificates, not for kind {}", noun.kind());
    CliError::new(ExitCode::Usage, message).hinted("certctl status -o prometheus")
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |text, line| text + &line + "\n")
}
