//! `dns01`: exactly one provider, with what it cannot do without.

use crate::resource::{
    AcmeDns, Akamai, CloudDns, Cloudflare, CnameStrategy, DigitalOcean, Dns01, Dns01Provider,
    Rfc2136, SecretKeySelector, Webhook,
};

use super::cloud::{azure_dns, route53};
use super::diagnostic::short;
use super::field::{Field, Fields, REQUIRED};
use super::issuer::https_fault;
use super::json::to_json;
use super::name::{is_component, secret_ref, to_dns_name};
use super::sink::Sink;

/// Reads `dns01`.
pub(crate) fn dns01(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01")?;
    let cname_strategy =
        fields.take("cnameStrategy").and_then(|field| field.word(sink, STRATEGIES));
    let nameservers = fields.take("nameservers").map(|field| nameservers(&field, sink));
    let mut providers: Vec<(Field<'_>, Reader)> =
        PROVIDERS.iter().filter_map(|(name, reader)| Some((fields.take(name)?, *reader))).collect();
    match providers.as_slice() {
        [] => {
            sink.error("E0101", fields.span(), fields.path(), "no DNS01 provider configured");
        }
        [_] => {}
        [.., (last, _)] => {
            let message = "may not specify more than one provider type";
            sink.error("E0108", last.key_span, fields.path(), message);
        }
    }
    fields.finish(sink);
    let found: Vec<Option<Dns01Provider>> =
        providers.drain(..).map(|(field, reader)| reader(&field, sink)).collect();
    let provider = found.into_iter().next()??;
    Some(Dns01 { cname_strategy, nameservers: nameservers.unwrap_or_default(), provider })
}

type Reader = fn(&Field<'_>, &mut Sink<'_>) -> Option<Dns01Provider>;

const PROVIDERS: &[(&str, Reader)] = &[
    ("akamai", akamai),
    ("cloudDNS", cloud_dns),
    ("cloudflare", cloudflare),
    ("route53", route53),
    ("azureDNS", azure_dns),
    ("digitalocean", digital_ocean),
    ("acmeDNS", acme_dns),
    ("rfc2136", rfc2136),
    ("webhook", webhook),
];

/// Required text of a provider.
pub(crate) fn required(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut Sink<'_>,
) -> Option<String> {
    fields.require(sink, name, REQUIRED)?.filled_text(sink)
}

/// Optional text of a provider.
pub(crate) fn optional(fields: &mut Fields<'_>, name: &'static str, sink: &mut Sink<'_>) -> String {
    fields.take(name).and_then(|field| field.text(sink)).unwrap_or_default()
}

/// An optional reference to a credential.
pub(crate) fn optional_ref(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut Sink<'_>,
) -> Option<SecretKeySelector> {
    fields.take(name).and_then(|field| secret_ref(&field, sink, true))
}

fn required_ref(
    fields: &mut Fields<'_>,
    name: &'static str,
    sink: &mut Sink<'_>,
) -> Option<SecretKeySelector> {
    let field = fields.require(sink, name, REQUIRED)?;
    secret_ref(&field, sink, true)
}

fn akamai(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.akamai")?;
    let domain = required(&mut fields, "serviceConsumerDomain", sink);
    let client_token = required_ref(&mut fields, "clientTokenSecretRef", sink);
    let client_secret = required_ref(&mut fields, "clientSecretSecretRef", sink);
    let access_token = required_ref(&mut fields, "accessTokenSecretRef", sink);
    fields.finish(sink);
    Some(Dns01Provider::Akamai(Akamai {
        service_consumer_domain: domain?,
        client_token_secret_ref: client_token?,
        client_secret_secret_ref: client_secret?,
        access_token_secret_ref: access_token?,
    }))
}

fn cloud_dns(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.cloudDNS")?;
    let project = required(&mut fields, "project", sink);
    let service_account_secret_ref = optional_ref(&mut fields, "serviceAccountSecretRef", sink);
    let hosted_zone_name = optional(&mut fields, "hostedZoneName", sink);
    fields.finish(sink);
    let project = project?;
    Some(Dns01Provider::CloudDns(CloudDns {
        project,
        service_account_secret_ref,
        hosted_zone_name,
    }))
}

fn cloudflare(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.cloudflare")?;
    let email = optional(&mut fields, "email", sink);
    let key = fields.take("apiKeySecretRef");
    let token = fields.take("apiTokenSecretRef");
    let (place, path) = (fields.span(), fields.path());
    match (&key, &token) {
        (Some(_), Some(second)) => {
            let message = "apiKeySecretRef and apiTokenSecretRef cannot both be specified";
            sink.error("E0108", second.key_span, path, message);
        }
        (None, None) => {
            let message = "apiKeySecretRef or apiTokenSecretRef is required";
            sink.error("E0101", place, path, message);
        }
        (Some(_), None) if email.is_empty() => {
            sink.error("E0101", place, &fields.at("email"), "required with apiKeySecretRef");
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    fields.finish(sink);
    Some(Dns01Provider::Cloudflare(Cloudflare {
        email,
        api_key_secret_ref: key.and_then(|field| secret_ref(&field, sink, true)),
        api_token_secret_ref: token.and_then(|field| secret_ref(&field, sink, true)),
    }))
}

fn digital_ocean(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.digitalocean")?;
    let token_secret_ref = required_ref(&mut fields, "tokenSecretRef", sink);
    fields.finish(sink);
    Some(Dns01Provider::DigitalOcean(DigitalOcean { token_secret_ref: token_secret_ref? }))
}

fn acme_dns(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.acmeDNS")?;
    let host = required(&mut fields, "host", sink);
    let account = required_ref(&mut fields, "accountSecretRef", sink);
    fields.finish(sink);
    Some(Dns01Provider::AcmeDns(AcmeDns { host: host?, account_secret_ref: account? }))
}

fn rfc2136(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.rfc2136")?;
    let nameserver = fields.require(sink, "nameserver", REQUIRED).and_then(|field| {
        let text = field.filled_text(sink)?;
        if !is_server(&text, false) {
            field.refuse(sink, format!("`{}` is not a host with an optional port", short(&text)));
        }
        Some(text)
    });
    let secret = optional_ref(&mut fields, "tsigSecretSecretRef", sink);
    let tsig_key_name = optional(&mut fields, "tsigKeyName", sink);
    if secret.is_some() && tsig_key_name.is_empty() {
        let message = "required with tsigSecretSecretRef";
        sink.error("E0101", fields.span(), &fields.at("tsigKeyName"), message);
    }
    if fields.take("tsigSecretSecretRef").is_none() && !tsig_key_name.is_empty() {
        let message = "required with tsigKeyName";
        sink.error("E0101", fields.span(), &fields.at("tsigSecretSecretRef"), message);
    }
    let algorithm = fields.take("tsigAlgorithm").and_then(|field| {
        let text = field.text(sink)?;
        let known = ALGORITHMS.iter().any(|name| name.eq_ignore_ascii_case(&text));
        if !known && !text.is_empty() {
            let words = super::field::one_of(ALGORITHMS);
            let message = format!("unsupported value `{}`: use {words}", short(&text));
            field.refuse_word(sink, message, ALGORITHMS);
        }
        Some(text)
    });
    let protocols = [("UDP", "UDP"), ("TCP", "TCP")];
    let protocol = fields.take("protocol").and_then(|field| field.word(sink, &protocols));
    fields.finish(sink);
    Some(Dns01Provider::Rfc2136(Rfc2136 {
        nameserver: nameserver?,
        tsig_secret_secret_ref: secret,
        tsig_key_name,
        tsig_algorithm: algorithm.unwrap_or_default(),
        protocol: protocol.unwrap_or_default().to_owned(),
    }))
}

/// Group and solver become the name of a file in the operator's folder of solvers.
fn webhook(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.webhook")?;
    let mut component = |name| {
        let field = fields.require(sink, name, REQUIRED)?;
        let text = field.filled_text(sink)?;
        if !is_component(&text) {
            let message = "made of letters, digits, '-', '_' and '.', beginning with a letter";
            sink.error("E0109", field.span(), &field.path, message);
            return None;
        }
        Some(text)
    };
    let group_name = component("groupName");
    let solver_name = component("solverName");
    let config = fields.take("config").map(|field| to_json(field.node));
    fields.finish(sink);
    let (group_name, solver_name) = (group_name?, solver_name?);
    Some(Dns01Provider::Webhook(Webhook { group_name, solver_name, config }))
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

const ALGORITHMS: &[&str] =
    &["HMACMD5", "HMACSHA1", "HMACSHA224", "HMACSHA256", "HMACSHA384", "HMACSHA512"];

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
