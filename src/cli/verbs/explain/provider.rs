//! The DNS providers that cert-manager lacks: a page for each.

use crate::solver::dns01::{ConfigField, ConfigKind, webhook_providers};

/// The field with which an Issuer names one.
pub(super) const PATH: &str = "spec.acme.solvers.dns01.webhook";

/// Their names, broken into lines.
pub(super) fn list() -> String {
    let mut text = String::new();
    let mut line = String::new();
    for provider in webhook_providers() {
        if !line.is_empty() && line.len() + provider.name.len() > WIDTH {
            text = format!("{text}  {line}\n");
            line.clear();
        }
        line = if line.is_empty() { line } else { line + " " } + provider.name;
    }
    if line.is_empty() {
        return text;
    }
    format!("PROVIDERS OF certctl (certctl explain hetzner):\n{text}  {line}\n")
}

/// The page of the provider of this name.
pub(super) fn page(name: &str) -> Option<String> {
    let known = webhook_providers();
    let provider = known.iter().find(|provider| provider.name.eq_ignore_ascii_case(name))?;
    let name = provider.name;
    let has_lego = provider.fields.iter().any(|field| !field.lego.is_empty());
    let mut text = format!(
        "PROVIDER:  {name}\nFIELD:     issuer.{PATH}\nFIELDS OF config{}:\n",
        if has_lego { ", and lego's variables for the same values" } else { "" }
    );
    for field in provider.fields {
        let typed = format!("{} <{}>", field.name, word(field.kind));
        let required = if field.kind.is_needed() { "required" } else { "" };
        let about = if field.meaning.is_empty() { lego(field) } else { field.meaning.to_owned() };
        let line = format!("  {typed:<42} {required:<9} {about}");
        text = format!("{text}{}\n", line.trim_end());
    }
    Some(format!("{text}EXAMPLE:\n{}", provider.entry("  ")))
}

fn lego(field: &ConfigField) -> String {
    match field.kind {
        ConfigKind::Document if !field.lego.is_empty() => format!("the file of {}", field.lego),
        ConfigKind::Document
        | ConfigKind::Secret
        | ConfigKind::SecretIfAny
        | ConfigKind::Text
        | ConfigKind::TextIfAny
        | ConfigKind::Flag => field.lego.to_owned(),
    }
}

fn word(kind: ConfigKind) -> &'static str {
    match kind {
        ConfigKind::Secret | ConfigKind::SecretIfAny | ConfigKind::Document => "Object",
        ConfigKind::Text | ConfigKind::TextIfAny => "string",
        ConfigKind::Flag => "boolean",
    }
}

/// Width of a line of names.
const WIDTH: usize = 76;
