//! Converts objects to cert-manager's, for `-o json` and `-o yaml`.
//!
//! Contract: each object validates against cert-manager's v1 schemas, with one field more:
//! `status.nextAttempt`, which a cluster would prune from a status. The condition `Deployed` fits
//! them: the type of a condition is any text. Additional data
//! of certctl is in annotations under `status.certctl/`. A state that the schema does not have is
//! written as `errored`, with the original state in the reason. The schemas are made from these
//! types; those of specs and metadata from the table of the manifests' fields.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::{Value, json};

use super::issuance::{challenge_name, plain_reason};
use crate::cli::render::document::Object;
use crate::cli::verbs::schema::manifest::mapping;
use crate::cli::words::field::Kind;
use crate::cli::words::state::undeployed;
use crate::resource::{
    CertificateRecord, CertificateRequest, CertificateSpec, Challenge, Condition, ConditionStatus,
    ConditionType, Identifier, IssuerKind, Metadata, NamespacedName, Order, Reason,
    RenewalInformation, Rfc3339, Solver, Usage, rfc3339,
};
use crate::workspace::view::{CertificateView, IssuerView};

/// Annotations under `status.certctl/` that certctl adds to a Certificate.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Notes {
    /// The verdict in one or two words, such as READY or PENDING DEPLOY.
    verdict: String,
    /// Since when the renewal is overdue.
    overdue_since: Option<Rfc3339>,
    /// Stage: overdue, half, nine-tenths or expired.
    overdue_stage: Option<&'static str>,
    /// The first error of the manifest, or why the state cannot be read.
    error: Option<String>,
    /// The folder that servers read.
    secret_path: String,
    /// The error in the links that servers read.
    links: Option<String>,
    /// "true" while a temporary, self-signed certificate is in place.
    temporary: Option<&'static str>,
    /// Lower-case hexadecimal.
    serial_number: Option<String>,
    /// Fingerprint of the leaf.
    fingerprint_sha256: Option<String>,
    /// The revision that `certctl rollback` replaced by an earlier one.
    rolled_back_from: Option<String>,
    /// The time in the window that the CA suggests (ARI) at which the renewal is due.
    ari_renewal_time: Option<Rfc3339>,
    /// The order under way, or the last one.
    order: Option<String>,
    /// Reason of the last failure, of a certificate that is ready; else Ready.message has it.
    last_failure: Option<String>,
}

/// A Certificate as cert-manager writes it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct CertificateObject {
    #[schemars(schema_with = "certificate_metadata")]
    metadata: Value,
    #[schemars(schema_with = "certificate_spec")]
    spec: Value,
    status: Option<CertificateState>,
}

/// cert-manager's CertificateStatus, and `nextAttempt`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CertificateState {
    conditions: Vec<ConditionObject>,
    revision: Option<u32>,
    failed_issuance_attempts: Option<u32>,
    last_failure_time: Option<Rfc3339>,
    /// The earliest time of the next attempt, while something delays it. cert-manager has no such
    /// field.
    next_attempt: Option<Rfc3339>,
    not_before: Option<Rfc3339>,
    not_after: Option<Rfc3339>,
    renewal_time: Option<Rfc3339>,
    next_private_key_secret_name: Option<String>,
    acme: Option<AcmeState>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AcmeState {
    ari: RenewalInformationState,
}

/// Suggestion of the CA on when to renew (RFC 9773).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RenewalInformationState {
    suggested_window: Option<WindowState>,
    #[serde(rename = "explanationURL")]
    explanation_url: Option<String>,
    last_checked: Option<Rfc3339>,
    next_check: Rfc3339,
    last_error: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WindowState {
    start: Rfc3339,
    end: Rfc3339,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ConditionObject {
    /// `Ready`: the object matches its spec. `Issuing`: an issuance is requested and in progress.
    /// `Deployed`: outputs are written, and hooks and reloads have run, for the certificate in
    /// place; missing where the manifest asks for none of them. It is computed, and has no
    /// lastTransitionTime.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["Ready", "Issuing", "Deployed"]))]
    kind: &'static str,
    status: ConditionStatus,
    reason: String,
    message: String,
    last_transition_time: Option<Rfc3339>,
    observed_generation: Option<i64>,
}

/// A Certificate; without a manifest its spec is that of the newest request, and without one of
/// those it says no more than which Secret it owns.
impl From<&CertificateView> for CertificateObject {
    fn from(view: &CertificateView) -> Self {
        let secret_name = view.record.as_ref().map(|record| record.secret_name.clone());
        let bare_spec = CertificateSpec {
            secret_name: secret_name.unwrap_or_default(),
            ..CertificateSpec::default()
        };
        let spec = view.spec().unwrap_or(&bare_spec);
        let own = view.certificate.as_ref().map(|certificate| &certificate.metadata);
        let bare = Metadata {
            name: view.key.name.clone(),
            namespace: view.key.namespace.clone(),
            ..Metadata::default()
        };
        let leaf = view.readable_leaf();
        let record = view.record.as_ref();
        let mistake = view.mistake.as_ref();
        let known = view.renewal_information();
        let notes = Notes {
            verdict: view.outlook.state.word().to_owned(),
            overdue_since: view.overdue.map(|overdue| Rfc3339(overdue.since)),
            overdue_stage: view.overdue.map(|overdue| overdue.stage.name()),
            error: view
                .damage
                .as_ref()
                .map(|damage| damage.message.clone())
                .or(mistake.map(|mistake| mistake.message.clone())),
            secret_path: view.secret_path.to_string_lossy().into_owned(),
            links: view.links.as_ref().map(|repair| repair.what.clone()),
            temporary: view.is_temporary().then_some("true"),
            serial_number: leaf.map(|leaf| leaf.serial.clone()),
            fingerprint_sha256: leaf.map(|leaf| leaf.fingerprint.clone()),
            rolled_back_from: view.went_back().map(|back| back.from.to_string()),
            ari_renewal_time: known
                .and_then(|known| known.suggested_window.as_ref())
                .map(|window| Rfc3339(window.renew_at)),
            order: view.order().map(|order| order.name.clone()),
            last_failure: match failure_of_unready(view) {
                Some(_) => None,
                None => view.failure().map(ToString::to_string),
            },
        };
        let mut metadata = own.unwrap_or(&bare).clone();
        for (name, note) in plain(&notes).as_object().into_iter().flatten() {
            if let Some(note) = note.as_str() {
                metadata.annotations.insert(note_name(name), note.to_owned());
            }
        }
        let mut metadata = meta(&metadata, record.map(|record| record.creation_timestamp));
        if let (Some(map), Some(record)) = (metadata.as_object_mut(), record) {
            map.insert("generation".into(), record.generation.into());
        }
        CertificateObject {
            metadata,
            spec: plain(spec),
            status: record.map(|record| certificate_status(view, record)),
        }
    }
}

/// Returns whether what is in place is deployed, if the manifest asks for that.
fn deployed(view: &CertificateView, generation: i64) -> Option<ConditionObject> {
    let has_files = matches!(view.leaf, Some(Ok(_)));
    let wanted = view.deploy_targets().filter(|wanted| has_files && !wanted.is_empty())?;
    let has_failed = view.lost_output.is_some() || view.failed_deployment().is_some();
    let (status, reason, message) = match undeployed(view) {
        Some(why) if has_failed => (ConditionStatus::False, Reason::DeployFailed, why),
        Some(why) => (ConditionStatus::False, Reason::Pending, why),
        None => {
            let done: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            let message = format!("Done: {}", done.join(", "));
            (ConditionStatus::True, Reason::Deployed, message)
        }
    };
    Some(ConditionObject {
        kind: "Deployed",
        status,
        reason: reason.as_str(),
        message,
        last_transition_time: None,
        observed_generation: Some(generation),
    })
}

fn certificate_status(view: &CertificateView, record: &CertificateRecord) -> CertificateState {
    let status = &record.status;
    let mut conditions: Vec<ConditionObject> = status.conditions.iter().map(Into::into).collect();
    if let Some(failure) = failure_of_unready(view) {
        let ready = conditions.iter_mut().filter(|condition| condition.kind == "Ready");
        ready.for_each(|condition| condition.message.clone_from(&failure));
    }
    conditions.extend(deployed(view, record.generation));
    CertificateState {
        conditions,
        revision: status.revision,
        failed_issuance_attempts: status.failed_issuance_attempts,
        last_failure_time: status.last_failure_time.map(Rfc3339),
        next_attempt: view.next_attempt.map(Rfc3339),
        not_before: status.not_before.map(Rfc3339),
        not_after: status.not_after.map(Rfc3339),
        renewal_time: status.renewal_time.map(Rfc3339),
        next_private_key_secret_name: status.next_private_key_secret_name.clone(),
        acme: view.renewal_information().map(|known| AcmeState { ari: known.into() }),
    }
}

/// The failure that keeps a certificate from being ready.
fn failure_of_unready(view: &CertificateView) -> Option<String> {
    let ready = view.record.as_ref()?.status.condition(ConditionType::Ready)?;
    let is_ready = ready.status == ConditionStatus::True;
    view.failure().filter(|_| !is_ready).map(ToString::to_string)
}

impl From<&RenewalInformation> for RenewalInformationState {
    fn from(known: &RenewalInformation) -> Self {
        let window = known.suggested_window.as_ref();
        Self {
            suggested_window: window.map(|window| WindowState {
                start: Rfc3339(window.start),
                end: Rfc3339(window.end),
            }),
            explanation_url: window.and_then(|window| window.explanation_url.clone()),
            last_checked: known.last_checked.map(Rfc3339),
            next_check: Rfc3339(known.next_check),
            last_error: known.last_error.as_ref().map(ToString::to_string),
        }
    }
}

fn note_name(name: &str) -> String {
    format!("status.certctl/{name}")
}

/// Schema of the metadata of manifests, with the annotations that certctl adds.
fn certificate_metadata(generator: &mut SchemaGenerator) -> Schema {
    let mut metadata = mapping(Kind::Certificate, "metadata");
    let notes = Notes::json_schema(generator);
    let notes = notes.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let known = metadata.pointer_mut("/properties/annotations/properties");
    if let Some(known) = known.and_then(Value::as_object_mut) {
        let text = |mut note: Value| {
            if let Some(note) = note.as_object_mut() {
                note.insert("type".into(), "string".into());
            }
            note
        };
        known.extend(notes.into_iter().map(|(name, note)| (note_name(&name), text(note))));
    }
    of_manifest(metadata)
}

fn plain_metadata(_: &mut SchemaGenerator) -> Schema {
    of_manifest(mapping(Kind::Certificate, "metadata"))
}

fn certificate_spec(_: &mut SchemaGenerator) -> Schema {
    of_manifest(mapping(Kind::Certificate, "spec"))
}

fn issuer_ref(_: &mut SchemaGenerator) -> Schema {
    of_manifest(mapping(Kind::Certificate, "spec.issuerRef"))
}

fn issuer_metadata(_: &mut SchemaGenerator) -> Schema {
    of_manifest(mapping(Kind::Issuer, "metadata"))
}

fn issuer_spec(_: &mut SchemaGenerator) -> Schema {
    of_manifest(mapping(Kind::Issuer, "spec"))
}

fn solver_schema(_: &mut SchemaGenerator) -> Schema {
    of_manifest(mapping(Kind::Issuer, "spec.acme.solvers"))
}

fn of_manifest(schema: Value) -> Schema {
    Schema::try_from(schema).unwrap_or_default()
}

/// A CertificateRequest.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct RequestObject {
    #[schemars(schema_with = "plain_metadata")]
    metadata: Value,
    spec: RequestSpec,
    /// Missing in a manifest that is yet to be granted.
    status: Option<RequestState>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RequestSpec {
    /// The CSR: base64 of PEM.
    request: String,
    duration: Option<String>,
    #[serde(rename = "isCA")]
    is_ca: Option<bool>,
    usages: Vec<Usage>,
    #[schemars(schema_with = "issuer_ref")]
    issuer_ref: Value,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RequestState {
    conditions: Vec<ConditionObject>,
    /// The chain: base64 of PEM.
    certificate: Option<String>,
    failure_time: Option<Rfc3339>,
}

/// A CertificateRequest.
impl From<&CertificateRequest> for RequestObject {
    fn from(request: &CertificateRequest) -> Self {
        // Those of a request have no observedGeneration.
        let conditions = request
            .conditions
            .iter()
            .map(|condition| ConditionObject { observed_generation: None, ..condition.into() });
        RequestObject {
            metadata: meta(&request.metadata, Some(request.creation_timestamp)),
            status: Some(RequestState {
                conditions: conditions.collect(),
                certificate: request.certificate.as_ref().map(|pem| STANDARD.encode(pem)),
                failure_time: request.failure_time.map(Rfc3339),
            }),
            ..request_manifest(request)
        }
    }
}

/// The same as a manifest, for others to grant.
pub(in crate::cli) fn request_manifest(request: &CertificateRequest) -> RequestObject {
    let spec = &request.spec;
    RequestObject {
        metadata: meta(&request.metadata, None),
        spec: RequestSpec {
            request: STANDARD.encode(&spec.request),
            duration: spec.duration.map(|duration| duration.to_string()),
            is_ca: spec.is_ca.then_some(true),
            usages: spec.usages.clone(),
            issuer_ref: plain(&spec.issuer_ref),
        },
        status: None,
    }
}

/// An Order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct OrderObject {
    metadata: OwnedMetadata,
    spec: OrderSpec,
    status: OrderStatus,
}

/// The metadata of what belongs to a certificate.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OwnedMetadata {
    name: String,
    namespace: String,
    creation_timestamp: Rfc3339,
    annotations: OwnedAnnotations,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct OwnedAnnotations {
    #[serde(rename = "cert-manager.io/certificate-name")]
    certificate_name: String,
    #[serde(rename = "cert-manager.io/certificate-revision")]
    certificate_revision: String,
    /// Result of the last self-check of the challenge, in JSON.
    #[serde(rename = "status.certctl/check")]
    check: Option<String>,
    /// Results of the last self-check of each challenge, in JSON.
    #[serde(rename = "status.certctl/checks")]
    checks: Option<String>,
    /// The certificate that the order replaces, by its identifier of RFC 9773 section 4.1.
    #[serde(rename = "status.certctl/replaces")]
    replaces: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OrderSpec {
    /// The CSR: base64 of DER.
    request: String,
    #[schemars(schema_with = "issuer_ref")]
    issuer_ref: Value,
    dns_names: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ip_addresses: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    profile: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OrderStatus {
    url: Option<String>,
    #[serde(rename = "finalizeURL")]
    finalize_url: Option<String>,
    #[schemars(extend("enum" = STATES))]
    state: Option<&'static str>,
    reason: Option<String>,
    authorizations: Vec<AuthorizationItem>,
    /// The chain: base64 of PEM.
    certificate: Option<String>,
    failure_time: Option<Rfc3339>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AuthorizationItem {
    url: String,
    identifier: Option<String>,
    wildcard: bool,
    #[schemars(extend("enum" = STATES))]
    initial_state: Option<&'static str>,
    challenges: Vec<OfferedItem>,
}

/// A challenge that the CA offers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct OfferedItem {
    #[serde(rename = "type")]
    kind: String,
    url: String,
    token: String,
}

/// The states of an order or a challenge that cert-manager's schema has.
const STATES: [&str; 7] =
    ["pending", "ready", "processing", "valid", "invalid", "expired", "errored"];

/// The schema's word for a state; `None` while nothing is known, or there is none.
fn state(word: &str) -> Option<&'static str> {
    let has_failed = matches!(word, "deactivated" | "revoked");
    STATES.into_iter().find(|known| *known == word).or(has_failed.then_some("errored"))
}

/// A reason, else the state when the schema does not have it.
fn reason_or(reason: &str, state: &str) -> Option<String> {
    match reason {
        "" if state.is_empty() || STATES.contains(&state) => None,
        "" => Some(format!("the state at the CA is {state:?}")),
        reason => Some(reason.to_owned()),
    }
}

/// An Order.
impl From<&Order> for OrderObject {
    fn from(order: &Order) -> Self {
        let spec = &order.spec;
        let names_of = |is_wanted: fn(&&Identifier) -> bool| {
            spec.identifiers.iter().filter(is_wanted).map(ToString::to_string).collect()
        };
        let authorizations = order.authorizations.iter().map(|authorization| {
            let offered = authorization.challenges.iter().map(|challenge| OfferedItem {
                kind: challenge.kind.as_str().to_owned(),
                url: challenge.url.clone(),
                token: challenge.token.clone(),
            });
            let initial = authorization.initial_state.as_ref();
            AuthorizationItem {
                url: authorization.url.clone(),
                identifier: authorization.identifier.as_ref().map(ToString::to_string),
                wildcard: authorization.wildcard,
                initial_state: initial.and_then(|word| state(word.as_str())),
                challenges: offered.collect(),
            }
        });
        let word = order.final_state().as_str();
        let checks = order.challenges.iter().filter(|challenge| challenge.check().is_some());
        let checks: Vec<Value> = checks.map(checked).collect();
        let mut metadata =
            owned(&order.name, &spec.certificate, spec.revision, order.creation_timestamp);
        metadata.annotations.replaces.clone_from(&order.replaces);
        metadata.annotations.checks = (!checks.is_empty()).then(|| Value::from(checks).to_string());
        OrderObject {
            metadata,
            spec: OrderSpec {
                request: STANDARD.encode(&spec.request),
                issuer_ref: plain(&spec.issuer_ref),
                dns_names: names_of(|id| matches!(id, Identifier::Dns(_))),
                ip_addresses: names_of(|id| matches!(id, Identifier::Ip(_))),
                profile: spec.profile.clone(),
            },
            status: OrderStatus {
                url: order.url().map(str::to_owned),
                finalize_url: order.phase.urls().map(|urls| urls.finalize_url.clone()),
                state: state(word),
                reason: reason_or(&order.reason, word),
                authorizations: authorizations.collect(),
                certificate: order.certificate().map(|pem| STANDARD.encode(pem)),
                failure_time: order.failure_time().map(Rfc3339),
            },
        }
    }
}

/// Result of the last self-check of a challenge, and the challenge.
fn checked(challenge: &Challenge) -> Value {
    let (spec, check) = (&challenge.spec, challenge.check());
    json!({
        "identifier": spec.identifier.to_string(),
        "type": spec.kind.as_str().to_uppercase(),
        "wildcard": spec.wildcard,
        "check": check,
    })
}

/// A Challenge.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ChallengeObject {
    metadata: OwnedMetadata,
    spec: ChallengeSpec,
    status: ChallengeStatus,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChallengeSpec {
    #[serde(rename = "authorizationURL")]
    authorization_url: String,
    dns_name: String,
    #[schemars(schema_with = "issuer_ref")]
    issuer_ref: Value,
    key: String,
    #[schemars(schema_with = "solver_schema")]
    solver: Value,
    token: String,
    #[serde(rename = "type")]
    kind: String,
    url: String,
    wildcard: bool,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChallengeStatus {
    presented: bool,
    presented_at: Option<Rfc3339>,
    processing: bool,
    reason: Option<String>,
    #[schemars(extend("enum" = STATES))]
    state: Option<&'static str>,
}

/// A Challenge: number `index` of its order.
impl From<(&Order, usize, &Challenge)> for ChallengeObject {
    fn from((order, index, challenge): (&Order, usize, &Challenge)) -> Self {
        let spec = &challenge.spec;
        let name = challenge_name(order, index);
        let word = challenge.final_state().as_str();
        let mut metadata =
            owned(&name, &order.spec.certificate, order.spec.revision, order.creation_timestamp);
        metadata.annotations.check = challenge.check().map(|check| plain(check).to_string());
        ChallengeObject {
            metadata,
            spec: ChallengeSpec {
                authorization_url: spec.authorization_url.clone(),
                dns_name: spec.identifier.to_string(),
                issuer_ref: plain(&order.spec.issuer_ref),
                key: spec.key.clone(),
                solver: solver(&spec.solver),
                token: spec.token.clone(),
                kind: spec.kind.as_str().to_uppercase(),
                url: spec.url.clone(),
                wildcard: spec.wildcard,
            },
            status: ChallengeStatus {
                presented: challenge.is_presented(),
                presented_at: challenge.presented.at.map(Rfc3339),
                processing: challenge.is_processing(),
                reason: reason_or(&plain_reason(challenge), word),
                state: state(word),
            },
        }
    }
}

/// An Issuer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct IssuerObject {
    #[schemars(schema_with = "issuer_metadata")]
    metadata: Value,
    #[schemars(schema_with = "issuer_spec")]
    spec: Value,
    status: Option<IssuerStatus>,
}

/// A ClusterIssuer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub(in crate::cli) struct ClusterIssuerObject(IssuerObject);

/// An object of one of the two kinds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::cli) enum IssuerKinds {
    Issuer(Object<IssuerObject>),
    ClusterIssuer(Object<ClusterIssuerObject>),
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct IssuerStatus {
    acme: IssuerAccount,
    conditions: Vec<ConditionObject>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct IssuerAccount {
    uri: String,
    last_registered_email: Option<String>,
}

/// An Issuer or ClusterIssuer.
impl From<&IssuerView> for IssuerKinds {
    fn from(IssuerView { issuer, account }: &IssuerView) -> Self {
        let mut acme = plain(&issuer.acme);
        if let Some(map) = acme.as_object_mut() {
            if let Some(bundle) = &issuer.acme.ca_bundle {
                map.insert("caBundle".into(), STANDARD.encode(bundle).into());
            }
            let solvers: Vec<Value> = issuer.acme.solvers.iter().map(solver).collect();
            map.insert("solvers".into(), solvers.into());
        }
        let status = account.as_ref().and_then(|account| {
            let mut contacts = account.contacts.iter();
            let email = contacts.find_map(|contact| contact.strip_prefix("mailto:"));
            Some(IssuerStatus {
                acme: IssuerAccount {
                    uri: account.url.clone()?,
                    last_registered_email: email.map(str::to_owned),
                },
                conditions: vec![ConditionObject {
                    kind: "Ready",
                    status: ConditionStatus::True,
                    reason: REGISTERED.0.to_owned(),
                    message: REGISTERED.1.to_owned(),
                    last_transition_time: None,
                    observed_generation: None,
                }],
            })
        });
        let object = IssuerObject {
            metadata: meta(&issuer.metadata, None),
            spec: json!({ "acme": acme }),
            status,
        };
        match issuer.kind {
            IssuerKind::Issuer => IssuerKinds::Issuer(Object(object)),
            IssuerKind::ClusterIssuer => {
                IssuerKinds::ClusterIssuer(Object(ClusterIssuerObject(object)))
            }
        }
    }
}

/// A solver as cert-manager writes it: the provider's key stands beside the other dns01 fields.
fn solver(solver: &Solver) -> Value {
    let mut value = plain(solver);
    if let Some(dns01) = value.get_mut("dns01").and_then(Value::as_object_mut)
        && let Some(Value::Object(provider)) = dns01.remove("provider")
    {
        dns01.extend(provider);
    }
    value
}

fn owned(
    name: &str,
    certificate: &NamespacedName,
    revision: u32,
    created: Timestamp,
) -> OwnedMetadata {
    OwnedMetadata {
        name: name.to_owned(),
        namespace: certificate.namespace.clone(),
        creation_timestamp: Rfc3339(created),
        annotations: OwnedAnnotations {
            certificate_name: certificate.name.clone(),
            certificate_revision: revision.to_string(),
            check: None,
            checks: None,
            replaces: None,
        },
    }
}

fn meta(metadata: &Metadata, created: Option<Timestamp>) -> Value {
    let mut value = plain(metadata);
    if let (Some(map), Some(at)) = (value.as_object_mut(), created) {
        map.insert("creationTimestamp".into(), rfc3339(at).into());
    }
    value
}

impl From<&Condition> for ConditionObject {
    fn from(condition: &Condition) -> Self {
        Self {
            kind: match condition.kind {
                ConditionType::Ready => "Ready",
                ConditionType::Issuing => "Issuing",
            },
            status: condition.status,
            reason: condition.reason.as_str(),
            message: condition.message.clone(),
            last_transition_time: Some(Rfc3339(condition.last_transition_time)),
            observed_generation: condition.observed_generation,
        }
    }
}

/// Our types serialize without fail: they have string keys and no foreign Serialize.
fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// Reason and message of an Issuer that is ready, as cert-manager words them.
pub(super) const REGISTERED: (&str, &str) =
    ("ACMEAccountRegistered", "The ACME account was registered with the ACME server");
