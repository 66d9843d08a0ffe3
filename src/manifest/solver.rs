//! Decodes `spec.acme.solvers`: selectors, HTTP-01 as written, DNS-01 with its provider.

use crate::resource::{
    ANNOTATION_PREFIX, ChallengeType, DnsName, GoDuration, Http01, SOLVER, Selector, Solver,
    SolverKind,
};

use super::diagnostic::{Draft, short};
use super::field::Field;
use super::json::to_object;
use super::metadata::labels;
use super::name::dns_name;
use super::provider::dns01;
use super::settings::SERVED;
use super::sink::Sink;
use super::tree::Node;

/// Reads the solvers.
pub(crate) fn solvers(field: &Field<'_>, sink: &mut Sink<'_>) -> Vec<Solver> {
    field.list(sink).iter().filter_map(|item| solver(item, sink)).collect()
}

fn solver(item: &Field<'_>, sink: &mut Sink<'_>) -> Option<Solver> {
    let mut fields = item.mapping(sink, "Issuer.spec.acme.solvers")?;
    let selector = fields.take("selector").and_then(|field| selector(&field, sink));
    let wait = fields.take("waitInsteadOfSelfCheck").and_then(|field| {
        let wait = field.parsed::<GoDuration>(sink)?;
        if wait < GoDuration::default() {
            field.refuse(sink, "waitInsteadOfSelfCheck must not be negative");
        }
        Some(wait)
    });
    let http01 = fields.take("http01");
    let dns01_field = fields.take("dns01");
    match (&http01, &dns01_field) {
        (Some(_), Some(second)) => {
            let message = "may not specify more than one solver type in a single solver";
            sink.error("E0108", second.key_span, &item.path, message);
        }
        (None, None) => {
            let message = "no solver type configured";
            let draft = Draft::error("E0101", item.key_span, &item.path, message);
            sink.add(draft.help("write `http01: {ingress: {}}`, or a provider below `dns01:`"));
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    fields.finish(sink);
    let http01 = http01.map(|field| http01_solver(&field, sink));
    let dns01 = dns01_field.map(|field| dns01(&field, sink));
    let kind = match (http01, dns01) {
        (Some(http01), None) => SolverKind::Http01(http01?),
        (None, Some(dns01)) => SolverKind::Dns01(Box::new(dns01?)),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    Some(Solver { selector, wait_instead_of_self_check: wait, kind })
}

fn selector(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Selector> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.selector")?;
    let match_labels = fields.take("matchLabels").map(|field| labels(&field, sink));
    let mut names = |name| -> Vec<DnsName> {
        let items = fields.take(name).map(|field| field.list(sink)).unwrap_or_default();
        let mut read = |item: &Field<'_>| {
            let found = dns_name(item, sink)?;
            if name == "dnsZones" && found.is_wildcard() {
                let message = "a zone contains all names below it, and is written without `*.`";
                let draft = Draft::warning("W0304", item.span(), &item.path, message);
                sink.add(draft.suggest(Some(found.base().to_string())));
            }
            Some(found)
        };
        items.iter().filter_map(&mut read).collect()
    };
    let dns_names = names("dnsNames");
    let dns_zones = names("dnsZones");
    fields.finish(sink);
    Some(Selector { match_labels: match_labels.unwrap_or_default(), dns_names, dns_zones })
}

/// Checks the one annotation of an Ingress that is for certctl, the challenge type of this solver.
fn own_type(template: &Field<'_>, sink: &mut Sink<'_>) {
    let [_, _, metadata, annotations] = Http01::ANNOTATIONS;
    let found = template.node.get(metadata).and_then(|metadata| metadata.get(annotations));
    let key = format!("{ANNOTATION_PREFIX}{SOLVER}");
    for entry in found.map(Node::entries).unwrap_or_default() {
        let text = entry.value.as_text();
        if entry.key == key && text.and_then(ChallengeType::served).is_none() {
            let path = format!("{}.{metadata}.{annotations}.{key}", template.path);
            let message = format!("invalid value `{}`: {SERVED}", short(text.unwrap_or_default()));
            sink.error("E0111", entry.value.span, &path, message);
        }
    }
}

/// Settings for a cluster are stored as written and ignored: certctl itself serves the response.
fn http01_solver(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Http01> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.http01")?;
    let ingress = fields.take("ingress");
    let gateway = fields.take("gatewayHTTPRoute");
    match (&ingress, &gateway) {
        (Some(_), Some(second)) => {
            let message = "only 1 HTTP01 solver type may be configured";
            sink.error("E0108", second.key_span, &field.path, message);
        }
        (None, None) => {
            let draft = Draft::error(
                "E0101",
                super::field::first_line(field.key_span),
                &field.path,
                "no HTTP01 solver type configured",
            );
            sink.add(draft.help("write `http01: {ingress: {}}`: it is served in-process"));
        }
        (Some(_), None) | (None, Some(_)) => {}
    }
    fields.finish(sink);
    if let Some(field) = ingress {
        let mut inner = field.mapping(sink, "Issuer.spec.acme.solvers.http01.ingress")?;
        let ways = ["ingressClassName", "name", "class"];
        let set = ways.into_iter().filter_map(|way| {
            let text = inner.take(way)?.text(sink)?;
            (!text.is_empty()).then_some(())
        });
        if set.count() > 1 {
            let message = "only one of 'ingressClassName', 'name' or 'class' should be specified";
            sink.error("E0108", field.key_span, &field.path, message);
        }
        if let Some(template) = inner.take("ingressTemplate") {
            own_type(&template, sink);
        }
        inner.ignore(&["podTemplate", "serviceType"]);
        inner.finish(sink);
    }
    if let Some(field) = gateway {
        let mut inner = field.mapping(sink, "Issuer.spec.acme.solvers.http01.gatewayHTTPRoute")?;
        inner.ignore(&["labels", "parentRefs", "podTemplate", "serviceType"]);
        inner.finish(sink);
    }
    Some(Http01(to_object(field.node)))
}
