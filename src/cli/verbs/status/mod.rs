//! `certctl status` and `certctl describe`: a table, a summary, a page, or cert-manager's objects.
//!
//! Contract: rendering only. The views are gathered by the verb, from manifests and state; the
//! time, the zone and whether to colour come in a [`Scene`]. Foreign text is escaped wherever
//! people read it, and left as it is in JSON and YAML.

mod ahead;
mod detail;
mod issuance;
mod lists;
mod noun;
pub(in crate::cli) mod objects;
mod overview;
mod page;
pub mod prometheus;
mod summary;
#[cfg(test)]
mod tests;
mod validation;
pub(crate) mod verb;

use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::global::Format;
use crate::cli::render::document::{self, Listed, Object};
use crate::cli::render::table::Row;
use crate::cli::words::Scene;
use crate::manifest::nearest_by;
use crate::resource::{Issuer, NamespacedName};
use crate::workspace::target::NameTarget;
use crate::workspace::view::{CertificateView, Damage, IssuerView};
use ahead::Host;
pub use noun::Noun;
use objects::CertificateObject;
pub(in crate::cli) use overview::Overview;
pub(crate) use prometheus::{Exposition, LastRun};

/// Extent of the facts about each certificate that people are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A line: of all of them.
    Line,
    /// A summary of those named; with -o wide, all.
    Summary,
    /// All of those named.
    Whole,
}

/// The status of certificates as one text.
pub fn certificates(
    views: &[CertificateView],
    extent: Extent,
    scene: &Scene,
) -> Result<String, CliError> {
    let (mut listing, mut text) = (Listing::new(extent, scene), String::new());
    listing.has_names = views.len() > 1;
    for view in views {
        text += &listing.add(view)?;
    }
    listing.end(&[], |part| {
        text += part;
        Ok(())
    })?;
    Ok(text)
}

/// The status of certificates, of which one view at a time is in memory.
pub(crate) struct Listing<'s> {
    scene: &'s Scene,
    body: Body,
    /// True if `--exit-code` ends in 8: one of them is not as it should be.
    pub(crate) needs_attention: bool,
    /// The first error of a state that cannot be read, and how many there are.
    pub(crate) damage: Option<(String, usize)>,
    pub(crate) is_empty: bool,
    /// Facts of this host for the named certificates.
    pub(in crate::cli) host: Host,
    /// True if each summary begins with the name: there are several.
    pub(in crate::cli) has_names: bool,
}

enum Body {
    /// Output for people who name certificates.
    Summaries,
    Pages,
    Table(Overview),
    Objects(Listed),
    Names,
    Metrics(Exposition),
}

impl<'s> Listing<'s> {
    pub(crate) fn new(extent: Extent, scene: &'s Scene) -> Self {
        let body = match (scene.format, extent) {
            (Format::Text | Format::Wide, Extent::Line) => Body::Table(Overview::default()),
            (Format::Text, Extent::Summary) => Body::Summaries,
            (Format::Text | Format::Wide, Extent::Summary | Extent::Whole) => Body::Pages,
            (Format::Json | Format::Yaml, extent) => {
                Body::Objects(Listed::new(scene.format, extent != Extent::Line))
            }
            (Format::Name, _) => Body::Names,
            (Format::Prometheus, _) => Body::Metrics(Exposition::new(scene.now)),
        };
        let host = Host::default();
        let (needs_attention, damage, is_empty, has_names) = (false, None, true, false);
        Self { scene, body, needs_attention, damage, is_empty, host, has_names }
    }

    /// Returns whether it shows people a summary of each.
    pub(crate) fn is_summary(&self) -> bool {
        matches!(self.body, Body::Summaries)
    }

    /// Returns whether it shows people a line for each.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.body, Body::Table(_))
    }

    /// Returns whether it shows people what this host has for each.
    pub(crate) fn shows_host(&self) -> bool {
        matches!(self.body, Body::Summaries | Body::Pages)
    }

    /// Returns whether it shows people a command to paste.
    pub(crate) fn has_commands(&self) -> bool {
        self.shows_host() || matches!(&self.body, Body::Table(table) if table.has_commands())
    }

    /// Returns the text for another certificate.
    pub(crate) fn add(&mut self, view: &CertificateView) -> serde_json::Result<String> {
        let (scene, wide) = (self.scene, self.scene.format == Format::Wide);
        let is_first = std::mem::replace(&mut self.is_empty, false);
        self.needs_attention |= !view.outlook.state.is_well();
        if let Some(Damage { message: why, .. }) = &view.damage {
            let (_, count) = self.damage.get_or_insert_with(|| (why.clone(), 0));
            *count = count.saturating_add(1);
        }
        let between = if is_first { "" } else { "\n" };
        match &mut self.body {
            Body::Summaries => {
                let name = self.has_names.then_some(&view.key);
                return Ok(between.to_owned() + &summary::summary(view, name, &self.host, scene));
            }
            Body::Pages => {
                let page = detail::detail(view, &self.host, wide, scene);
                return Ok(between.to_owned() + &page.lines(false, scene.columns()));
            }
            Body::Table(table) => table.add(view, scene),
            Body::Metrics(metrics) => metrics.add(view),
            Body::Objects(_) | Body::Names if !view.has_name() => {}
            Body::Objects(objects) => {
                return objects.item(&Object(objects::certificate(view)));
            }
            Body::Names => {
                let NamespacedName { namespace, name } = &view.key;
                return Ok(NameTarget::printed("certificate", namespace, name) + "\n");
            }
        }
        Ok(String::new())
    }

    /// Writes the rest.
    pub(crate) fn end(
        self,
        issuers: &[IssuerView],
        mut write: impl FnMut(&str) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let scene = self.scene;
        match self.body {
            Body::Summaries | Body::Pages | Body::Names => Ok(()),
            Body::Table(table) => write(&table.end(usize::MAX, scene)),
            Body::Objects(objects) => write(&objects.end::<Object<CertificateObject>>()?),
            Body::Metrics(metrics) => metrics.end(issuers, None, write),
        }
    }
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
            Ok(document::list(&objects, names.len() == 1, scene.format)?)
        }
        Format::Name => {
            let line = |view: &&IssuerView| {
                let Issuer { kind, metadata, .. } = &view.issuer;
                NameTarget::printed(&kind.to_string(), &metadata.namespace, &metadata.name)
            };
            Ok(lines(found.iter().map(line)))
        }
        Format::Prometheus => Err(no_metrics(Noun::Issuer)),
    }
}

/// The status of requests, orders or challenges, of which those of one certificate at a time are in
/// memory.
pub(crate) struct ObjectListing<'s> {
    noun: Noun,
    names: &'s [NameTarget],
    scene: &'s Scene,
    /// Namespace and name of each, when they were requested by name.
    known: Vec<(String, String)>,
    body: ObjectBody,
}

enum ObjectBody {
    Table(Vec<Row>),
    Objects(Listed),
    Names(String),
}

impl<'s> ObjectListing<'s> {
    pub(crate) fn new(
        noun: Noun,
        names: &'s [NameTarget],
        scene: &'s Scene,
    ) -> Result<Self, CliError> {
        let body = match scene.format {
            Format::Text | Format::Wide => ObjectBody::Table(Vec::new()),
            Format::Json | Format::Yaml => {
                ObjectBody::Objects(Listed::new(scene.format, names.len() == 1))
            }
            Format::Name => ObjectBody::Names(String::new()),
            Format::Prometheus => return Err(no_metrics(noun)),
        };
        Ok(Self { noun, names, scene, known: Vec::new(), body })
    }

    /// Returns the text for the objects of another certificate.
    pub(crate) fn add(&mut self, view: &CertificateView) -> serde_json::Result<String> {
        let (scene, mut text) = (self.scene, String::new());
        for object in lists::Object::of(self.noun, view) {
            let (namespace, name) = (object.namespace(), object.name());
            if !is_wanted(self.names, namespace, &name) {
                continue;
            }
            match &mut self.body {
                ObjectBody::Table(rows) => {
                    rows.push(object.row(scene.format == Format::Wide, scene));
                }
                ObjectBody::Objects(listed) => text += &object.listed(listed)?,
                ObjectBody::Names(names) => {
                    names.push_str(&NameTarget::printed(self.noun.kind(), namespace, &name));
                    names.push('\n');
                }
            }
            if !self.names.is_empty() {
                self.known.push((namespace.to_owned(), name));
            }
        }
        Ok(text)
    }

    /// The rest.
    pub(crate) fn end(self) -> Result<String, CliError> {
        let Self { noun, names, scene, .. } = self;
        let known = self.known.iter().map(|(namespace, name)| (namespace.as_str(), name.clone()));
        all_found(noun, names, &known.collect::<Vec<_>>())?;
        match self.body {
            ObjectBody::Table(rows) => {
                Ok(lists::objects(noun, &rows, scene.format == Format::Wide, scene))
            }
            ObjectBody::Objects(listed) => Ok(lists::end(noun, listed)?),
            ObjectBody::Names(names) => Ok(names),
        }
    }
}

/// Returns whether an object is among those named; without names all are.
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
            let similar = similar.map(|(_, name)| name);
            let meant = similar.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default();
            let message = format!("{} `{}` not found{meant}", noun.kind(), missing.name);
            let name = similar.map(|name| format!(" {name}")).unwrap_or_default();
            let command = format!("certctl status {}{name}", noun.kind().to_lowercase());
            Err(CliError::new(ExitCode::Manifest, message).trying(command))
        }
        None => Ok(()),
    }
}

fn no_metrics(noun: Noun) -> CliError {
    let message = format!("-o prometheus is for certificates, not for kind {}", noun.kind());
    CliError::new(ExitCode::Usage, message).trying("certctl status -o prometheus")
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |text, line| text + &line + "\n")
}
