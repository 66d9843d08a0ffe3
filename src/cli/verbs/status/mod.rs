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

use crate::cli::render::document::{Listed, Object};
use crate::cli::render::table::Row;
use crate::cli::{CliError, Format, Scene};
use crate::manifest::nearest_by;
use crate::resource::NamespacedName;
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
    let (mut listing, mut text) = (Listing::new(extent, scene)?, String::new());
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
    pub(crate) fn new(extent: Extent, scene: &'s Scene) -> serde_json::Result<Self> {
        let body = match (scene.format, extent) {
            (Format::Text | Format::Wide, Extent::Line) => Body::Table(Overview::default()),
            (Format::Text, Extent::Summary) => Body::Summaries,
            (Format::Text | Format::Wide, Extent::Summary | Extent::Whole) => Body::Pages,
            (Format::Json | Format::Yaml, extent) => {
                let by_name = extent != Extent::Line;
                Body::Objects(Listed::new::<Object<CertificateObject>>(scene.format, by_name)?)
            }
            (Format::Name, _) => Body::Names,
            (Format::Prometheus, _) => Body::Metrics(Exposition::new(scene.now)),
        };
        let host = Host::default();
        let (needs_attention, damage, is_empty, has_names) = (false, None, true, false);
        Ok(Self { scene, body, needs_attention, damage, is_empty, host, has_names })
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
                let page = summary::summary(view, name, &self.host, scene);
                return Ok(between.to_owned() + &page.lines(scene.color, scene.columns()));
            }
            Body::Pages => {
                let page = detail::detail(view, &self.host, wide, scene);
                return Ok(between.to_owned() + &page.lines(scene.color, scene.columns()));
            }
            Body::Table(table) => table.add(view, scene),
            Body::Metrics(metrics) => metrics.add(view),
            Body::Objects(_) | Body::Names if !view.has_name() => {}
            Body::Objects(objects) => {
                return objects.item(&Object(CertificateObject::from(view)));
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
            Body::Objects(objects) => write(&objects.end()),
            Body::Metrics(metrics) => metrics.end(issuers, None, write),
        }
    }
}

/// The status of issuers, requests, orders or challenges, of which those of one certificate at a time
/// are in memory.
pub(crate) struct ObjectListing<'s> {
    noun: Noun,
    names: &'s [NameTarget],
    scene: &'s Scene,
    /// Namespace and name of each, when they were requested by name.
    known: Vec<(String, String)>,
    rows: Vec<Row>,
    /// The list for programs, if that is wanted.
    listed: Option<Listed>,
}

impl<'s> ObjectListing<'s> {
    pub(crate) fn new(
        noun: Noun,
        names: &'s [NameTarget],
        scene: &'s Scene,
    ) -> Result<Self, CliError> {
        let listed = match scene.format {
            Format::Json | Format::Yaml => {
                Some(lists::listed(noun, scene.format, names.len() == 1)?)
            }
            Format::Text | Format::Wide | Format::Name => None,
            Format::Prometheus => {
                let kind = noun.kind();
                let message = format!("-o prometheus is for certificates, not for kind {kind}");
                let error = CliError::usage(message);
                return Err(error.trying("certctl status -o prometheus"));
            }
        };
        Ok(Self { noun, names, scene, known: Vec::new(), rows: Vec::new(), listed })
    }

    /// Returns the text for the objects of another certificate.
    pub(crate) fn add(&mut self, view: &CertificateView) -> serde_json::Result<String> {
        self.add_all(lists::Object::of(self.noun, view))
    }

    /// Returns the text for these issuers.
    pub(crate) fn add_issuers(&mut self, views: &[IssuerView]) -> serde_json::Result<String> {
        self.add_all(views.iter().map(lists::Object::Issuer).collect())
    }

    fn add_all(&mut self, objects: Vec<lists::Object<'_>>) -> serde_json::Result<String> {
        let mut text = String::new();
        for object in objects {
            let mut wanted = self.names.iter();
            let (namespace, name) = (object.namespace(), object.name());
            let is_wanted = wanted.any(|wanted| is_meant(wanted, namespace, &name));
            if !self.names.is_empty() && !is_wanted {
                continue;
            }
            if let Some(listed) = &mut self.listed {
                text += &object.listed(listed)?;
            } else if self.scene.format == Format::Name {
                text += &object.printed();
            } else {
                self.rows.push(object.row(self.scene));
            }
            if !self.names.is_empty() {
                self.known.push((namespace.to_owned(), name));
            }
        }
        Ok(text)
    }

    /// The rest.
    pub(crate) fn end(self) -> Result<String, CliError> {
        let Self { noun, names, scene, known, rows, listed } = self;
        all_found(noun, names, &known)?;
        Ok(match listed {
            Some(listed) => listed.end(),
            None if scene.format == Format::Name => String::new(),
            None => lists::objects(noun, rows, scene),
        })
    }
}

fn is_meant(wanted: &NameTarget, namespace: &str, name: &str) -> bool {
    wanted.name == name && wanted.namespace.as_deref().is_none_or(|found| found == namespace)
}

fn all_found(noun: Noun, names: &[NameTarget], found: &[(String, String)]) -> Result<(), CliError> {
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
            Err(CliError::manifest(message).trying(command))
        }
        None => Ok(()),
    }
}
