//! Decodes `dns01`: exactly one provider, by the table of its settings.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::resource::dns01::{Fault, FieldKind, SettingsField, SettingsTable};
use crate::resource::{
    CnameStrategy, Dns01, Dns01Provider, Reach, SOLVER_GROUP, SecretKeySelector,
};

use super::diagnostic::{Draft, short};
use super::field::{Field, REQUIRED, one_of};
use super::json::to_json;
use super::name::{is_component, secret_ref, to_dns_name};
use super::sink::Sink;
use super::tree::Node;
use super::url::https_fault;

/// Reads `dns01`.
pub(crate) fn dns01(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01> {
    let mut fields = field.mapping(sink, OWNER)?;
    let cname_strategy =
        fields.take("cnameStrategy").and_then(|field| field.word(sink, STRATEGIES));
    let nameservers = fields.take("nameservers").map(|field| nameservers(&field, sink));
    let providers: Vec<(&str, &SettingsTable, Field<'_>)> = Dns01Provider::TABLES
        .iter()
        .filter_map(|(name, table)| Some((*name, *table, fields.take(name)?)))
        .collect();
    match providers.as_slice() {
        [] => {
            sink.error("E0101", fields.span(), fields.path(), "no DNS01 provider configured");
        }
        [_] => {}
        [.., (_, _, last)] => {
            let message = "may not specify more than one provider type";
            sink.error("E0108", last.key_span, fields.path(), message);
        }
    }
    fields.finish(sink);
    let found: Vec<Option<Dns01Provider>> =
        providers.iter().map(|(name, table, field)| provider(name, table, field, sink)).collect();
    let provider = found.into_iter().next()??;
    Some(Dns01 { cname_strategy, nameservers: nameservers.unwrap_or_default(), provider })
}

/// Reads one provider's settings.
fn provider(
    name: &'static str,
    table: &'static SettingsTable,
    field: &Field<'_>,
    sink: &mut Sink<'_>,
) -> Option<Dns01Provider> {
    let settings = settings(table, &format!("{OWNER}.{name}"), field, sink)?;
    let tagged = Json::Object(Map::from_iter([(name.to_owned(), Json::Object(settings))]));
    let mut provider = match serde_json::from_value(tagged) {
        Ok(provider) => provider,
        Err(error) => {
            field.refuse(sink, error.to_string());
            return None;
        }
    };
    if let Dns01Provider::Webhook(webhook) = &provider
        && webhook.group_name == SOLVER_GROUP
        && webhook.own_provider().is_none()
        && let Some(config) = field.node.get("config")
    {
        for name in ADDRESSES {
            if let Some((node, text)) =
                config.get(name).and_then(|node| Some((node, node.as_text()?)))
            {
                warn_of_http(text, node, &format!("{}.config.{name}", field.path), sink);
            }
        }
    }
    // A provider that a webhook names has its own settings in `config`.
    if let Dns01Provider::Webhook(webhook) = &mut provider
        && let Some((_, table)) = webhook.own_provider()
        && let Some(node) = field.node.get("config")
    {
        let path = format!("{}.config", field.path);
        let config = Field { node, path, key_span: node.span };
        let settings = self::settings(table, &format!("{OWNER}.{name}.config"), &config, sink)?;
        webhook.config = Some(Json::Object(settings));
    }
    Some(provider)
}

/// Reads settings by their table: all errors go to the sink, and the result is in the form that
/// serde reads. None when a required field is missing.
fn settings(
    table: &'static SettingsTable,
    owner: &str,
    field: &Field<'_>,
    sink: &mut Sink<'_>,
) -> Option<Map<String, Json>> {
    let mut fields = field.mapping(sink, owner.to_owned())?;
    let (mut found, mut places) = (Map::new(), BTreeMap::new());
    let mut is_whole = true;
    for row in table.fields {
        let written = if row.is_required {
            fields.require(sink, row.name, REQUIRED)
        } else {
            fields.take(row.name)
        };
        let value = written.as_ref().and_then(|field| value(row, owner, field, sink));
        is_whole &= !row.is_required || value.is_some();
        // Empty text counts as absent, as in cert-manager.
        let is_empty = value.as_ref().is_some_and(|value| value.as_str() == Some(""));
        if let Some(field) = written.filter(|_| !is_empty) {
            places.insert(row.name, field.key_span);
            found.extend(value.map(|value| (row.name.to_owned(), value)));
        }
    }
    for fault in table.faults(&|name| places.contains_key(name)) {
        match fault {
            Fault::Missing { field, message } => {
                sink.error("E0101", fields.span(), &fields.at(field), message);
            }
            Fault::NoneOf { message } => {
                sink.error("E0101", fields.span(), fields.path(), message);
            }
            Fault::Excluded { field, message } => {
                let place = places.get(field).copied().unwrap_or(fields.span());
                sink.error("E0108", place, fields.path(), message);
            }
        }
    }
    fields.finish(sink);
    is_whole.then_some(found)
}

/// The value of a field.
fn value(
    row: &'static SettingsField,
    owner: &str,
    field: &Field<'_>,
    sink: &mut Sink<'_>,
) -> Option<Json> {
    let text = |sink: &mut Sink<'_>| {
        if row.is_required { field.filled_text(sink) } else { field.text(sink) }
    };
    match &row.kind {
        FieldKind::Text => {
            let text = text(sink)?;
            warn_of_http(&text, field.node, &field.path, sink);
            Some(Json::String(text))
        }
        FieldKind::Word(words) => {
            let words: Vec<(&str, &str)> = words.iter().map(|word| (*word, *word)).collect();
            field.word(sink, &words).map(Json::from)
        }
        FieldKind::WordInAnyCase(words) => {
            let text = text(sink)?;
            let is_known = words.iter().any(|word| word.eq_ignore_ascii_case(&text));
            if !is_known && !text.is_empty() {
                let (text, words_there) = (short(&text), one_of(words));
                let message = format!("unsupported value `{text}`: use {words_there}");
                field.refuse_word(sink, message, words);
            }
            Some(Json::String(text))
        }
        FieldKind::Server => {
            let text = text(sink)?;
            if !is_server(&text, false) {
                let message = format!("`{}` is not a host with an optional port", short(&text));
                field.refuse(sink, message);
            }
            Some(Json::String(text))
        }
        FieldKind::FileName => {
            let text = text(sink)?;
            if !is_component(&text) {
                let message = "made of letters, digits, '-', '_' and '.', beginning with a letter";
                sink.error("E0109", field.span(), &field.path, message);
                return None;
            }
            Some(Json::String(text))
        }
        FieldKind::Secret => {
            // Text instead of a reference may be the credential itself: it is not shown.
            if field.node.as_text().is_some() {
                sink.keep_secret();
            }
            let SecretKeySelector { name, key } = secret_ref(field, sink, true)?;
            Some(json!({ "name": name, "key": key }))
        }
        FieldKind::Object(table) => {
            settings(table, &format!("{owner}.{}", row.name), field, sink).map(Json::Object)
        }
        FieldKind::Any | FieldKind::ClusterOnly => Some(to_json(field.node)),
    }
}

/// The fields of `config` that can be an address, of `http` and of the feature's providers.
const ADDRESSES: [&str; 5] = ["baseURL", "endpoint", "host", "serverURL", "url"];

/// Credentials are sent there in the clear, unless it is this machine.
fn warn_of_http(text: &str, node: &Node, path: &str, sink: &mut Sink<'_>) {
    let scheme = text.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    let Some(rest) = scheme.and_then(|scheme| text.get(scheme.len()..)) else { return };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let uri = format!("http://{authority}/").parse::<http::Uri>();
    let reach = uri.ok().and_then(|uri| Reach::of_host(uri.host()?));
    if !matches!(reach, Some(Reach::Host)) {
        let message = "http: others can read and change the requests, including credentials";
        let draft = Draft::warning("W0306", node.span, path, message);
        sink.add(Draft {
            help: Some("https://, or an address of this machine".to_owned()),
            ..draft
        });
    }
}

fn nameservers(field: &Field<'_>, sink: &mut Sink<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for item in field.list(sink) {
        let Some(text) = item.filled_text(sink) else { continue };
        let good = if text.contains("://") {
            https_fault(&text).is_none()
        } else {
            is_server(&text, true)
        };
        if good {
            found.push(text);
        } else {
            let message = "write it as host:port, or as an https:// URL (DNS over HTTPS)";
            item.refuse(sink, message);
        }
    }
    found
}

/// `host:port`, or `host` alone unless the port is required; an IPv6 address with a port stands
/// in brackets.
fn is_server(text: &str, port_required: bool) -> bool {
    let is_port = |port: &str| {
        port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port != 0)
    };
    if let Some(rest) = text.strip_prefix('[') {
        let Some((address, behind)) = rest.split_once(']') else { return false };
        let port = match behind.strip_prefix(':') {
            Some(port) => is_port(port),
            None => behind.is_empty() && !port_required,
        };
        return port && address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let is_host =
        |host: &str| host.parse::<std::net::Ipv4Addr>().is_ok() || to_dns_name(host).is_ok();
    match text.split_once(':') {
        Some((host, port)) => is_host(host) && is_port(port),
        None => is_host(text) && !port_required,
    }
}

const STRATEGIES: &[(&str, CnameStrategy)] =
    &[("None", CnameStrategy::None), ("Follow", CnameStrategy::Follow)];

const OWNER: &str = "Issuer.spec.acme.solvers.dns01";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_hosts_with_ports() {
        for good in ["192.0.2.1:53", "[2001:db8::1]:53", "ns.example.com:5353"] {
            assert!(is_server(good, true), "{good}");
        }
        for optional in ["192.0.2.1", "[2001:db8::1]", "ns.example.com"] {
            assert!(is_server(optional, false), "{optional}");
            assert!(!is_server(optional, true), "{optional}");
        }
        for bad in ["", ":53", "a b:53", "2001:db8::1", "ns:0", "ns:65536", "[::1]x", "ns:+5"] {
            assert!(!is_server(bad, false), "{bad}");
        }
    }
}
