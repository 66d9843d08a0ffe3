//! Decodes a Certificate: every field of `cert-manager.io/v1`, validated as cert-manager's
//! admission webhook validates it, with the same messages.
//!
//! Contract: all errors go to the sink; the value is only used when there are none.

use crate::resource::{CertificateSpec, DnsName, IssuerKind, IssuerRef, Usage};

use super::constraint::name_constraints;
use super::diagnostic::Draft;
use super::field::{Field, Fields, REQUIRED, first_line};
use super::key::{private_key, signature_algorithm, usages};
use super::name::object_name;
use super::output::{keystores, output_formats, secret_template};
use super::sink::Sink;
use super::subject::{CommonName, Name, common_name, names, other_names, subject};
use super::suggestion::nearest;
use super::tree::Span;
use super::validity::{RenewalTime, renewal, renewal_time};

/// Positions of the fields that are checked against other objects.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Number of the document in it.
    pub(crate) document: usize,
    pub(crate) name: Span,
    pub(crate) secret_name: Span,
    pub(crate) issuer_name: Span,
    pub(crate) issuer_group: Span,
    /// `spec.issuerRef.kind` as written.
    pub(crate) written_kind: String,
    pub(crate) spec: Span,
    pub(crate) common_name: Option<CommonName>,
    /// Each name with its field and place.
    pub(crate) names: Vec<Name>,
    pub(crate) usages: Vec<(Usage, Span)>,
    /// SANs that no public ACME CA certifies: field and place.
    pub(crate) unusual: Vec<(String, Span)>,
    /// `isCA`, where it is true.
    pub(crate) ca: Option<Span>,
    pub(crate) duration: Option<Span>,
}

/// Reads `spec` of a Certificate.
pub(crate) fn spec(
    object: &mut Fields<'_>,
    sink: &mut Sink<'_>,
) -> Option<(CertificateSpec, Places)> {
    let field = object.require(sink, "spec", REQUIRED)?;
    let mut fields = field.mapping(sink, "Certificate.spec")?;
    let secret = fields.require(sink, "secretName", REQUIRED);
    let issuer = issuer_ref(&mut fields, sink);
    let errors = sink.errors();
    let mut found_names = names(&mut fields, sink);
    let common = common_name(&mut fields, sink);
    let other_names = other_names(&mut fields, &mut found_names, sink);
    let anything = found_names.any || common.is_some() || !other_names.is_empty();
    let reported = sink.errors() > errors;
    let RenewalTime { duration, lifetime, renew_before, renew_before_percentage } =
        renewal_time(&mut fields, sink);
    let (private_key, algorithm) = private_key(&mut fields, sink);
    let ca_field = fields.take("isCA");
    let is_ca = ca_field.as_ref().and_then(|f| f.boolean(sink)).unwrap_or_default();
    let ca = ca_field.filter(|_| is_ca).map(|field| field.key_span);
    let found_usages = usages(&mut fields, sink);
    let mut spec = CertificateSpec {
        secret_name: secret.as_ref().and_then(|f| object_name(f, sink)).unwrap_or_default(),
        issuer_ref: issuer.issuer,
        common_name: String::new(),
        dns_names: std::mem::take(&mut found_names.dns),
        ip_addresses: std::mem::take(&mut found_names.ips),
        email_addresses: std::mem::take(&mut found_names.emails),
        uris: std::mem::take(&mut found_names.uris),
        other_names,
        subject: subject(&mut fields, sink),
        literal_subject: fields
            .take("literalSubject")
            .and_then(|field| field.free_text(sink))
            .unwrap_or_default(),
        duration,
        renew_before,
        renew_before_percentage,
        renewal: renewal(&mut fields, sink),
        usages: found_usages.iter().map(|(usage, _)| *usage).collect(),
        is_ca,
        signature_algorithm: signature_algorithm(
            &mut fields,
            algorithm.map(|_| private_key.clone().unwrap_or_default().parameters()),
            sink,
        ),
        private_key,
        encode_usages_in_request: fields
            .take("encodeUsagesInRequest")
            .and_then(|field| field.boolean(sink)),
        revision_history_limit: revision_history_limit(&mut fields, sink),
        secret_template: secret_template(&mut fields, sink),
        keystores: keystores(&mut fields, sink),
        additional_output_formats: output_formats(&mut fields, sink),
        name_constraints: name_constraints(&mut fields, is_ca, sink),
    };
    let span_of = |field: Option<&Field<'_>>, or: Span| field.map_or(or, Field::span);
    let places = Places {
        document: 0,
        name: Span::default(),
        secret_name: span_of(secret.as_ref(), first_line(field.span())),
        issuer_name: issuer.name,
        issuer_group: issuer.group,
        written_kind: issuer.written_kind,
        spec: field.key_span,
        common_name: common,
        names: found_names.places,
        unusual: found_names.unusual,
        ca,
        duration: lifetime,
        usages: found_usages,
    };
    if let Some(common) = places.common_name.as_ref().filter(|common| !common.literal) {
        spec.common_name = common.stored(&spec.dns_names);
    }
    if !anything && !reported && !fields.misspelt(NAMES) {
        sink.error("E0101", fields.span(), fields.path(), NO_NAMES);
    }
    fields.finish(sink);
    Some((spec, places))
}

/// `issuerRef` with its places.
struct Reference {
    issuer: IssuerRef,
    name: Span,
    group: Span,
    written_kind: String,
}

fn issuer_ref(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Reference {
    let place = fields.place("issuerRef");
    let mut found = Reference {
        issuer: IssuerRef::default(),
        name: place,
        group: place,
        written_kind: String::new(),
    };
    let Some(field) = fields.take("issuerRef") else {
        sink.error("E0101", place, "spec.issuerRef.name", REQUIRED);
        return found;
    };
    let place = first_line(field.key_span);
    (found.name, found.group) = (place, place);
    let Some(mut inner) = field.mapping(sink, "Certificate.spec.issuerRef") else { return found };
    if let Some(group) = inner.take("group") {
        found.group = group.span();
        found.issuer.group = group.text(sink).unwrap_or_default();
    }
    let external = !matches!(found.issuer.group.as_str(), "" | GROUP);
    if let Some(name) = inner.require(sink, "name", REQUIRED) {
        found.name = name.span();
        let text = if external { name.filled_text(sink) } else { object_name(&name, sink) };
        found.issuer.name = text.unwrap_or_default();
    }
    if let Some(kind) = inner.take("kind") {
        found.written_kind = kind.text(sink).unwrap_or_default();
        match found.written_kind.as_str() {
            "" | "Issuer" => {}
            "ClusterIssuer" => found.issuer.kind = IssuerKind::ClusterIssuer,
            _ if external => {}
            written => {
                let mut message = "must be one of Issuer or ClusterIssuer".to_owned();
                if found.issuer.group.is_empty() {
                    message.push_str(" (did you forget to set spec.issuerRef.kind.group?)");
                }
                let draft = Draft::error("E0105", kind.span(), &kind.path, message);
                let words = ["Issuer", "ClusterIssuer"].into_iter();
                sink.add(draft.suggest(nearest(written, words)));
            }
        }
    }
    inner.finish(sink);
    found
}

fn revision_history_limit(fields: &mut Fields<'_>, sink: &mut Sink<'_>) -> Option<i32> {
    let field = fields.take("revisionHistoryLimit")?;
    let limit = field.int32(sink)?;
    if limit < 1 {
        field.refuse(sink, "must not be less than 1");
    }
    Some(limit)
}

impl CommonName {
    /// The name in the CSR: as written, but an internationalised name in the A-label form that
    /// `dnsNames` uses.
    fn stored(&self, dns_names: &[DnsName]) -> String {
        match &self.dns_name {
            Some(name) if !self.text.is_ascii() && dns_names.contains(name) => name.to_string(),
            Some(_) | None => self.text.clone(),
        }
    }
}

/// The API group of the objects that certctl reads.
pub(crate) const GROUP: &str = "cert-manager.io";

const NAMES: &[&str] = &["commonName", "dnsNames", "emailAddresses", "ipAddresses", "uris"];

const NO_NAMES: &str = "at least one of commonName (from the commonName field or from a \
    literalSubject), dnsNames, emailSANs, ipAddresses, otherNames, or uriSANs must be set";
