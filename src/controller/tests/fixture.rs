//! A certificate in its stages, with nothing but what the controllers read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::controller::{
    AuthorizationSeen, ChallengeSeen, Change, EffectError, Intervals, OrderSeen, Record, Run,
    Snapshot, issuing, trigger,
};
use crate::resource::{
    self, Account, AccountIdentity, AccountStep, Acme, Authorization, AuthorizationState, CaFault,
    Cause, CauseKind, Certificate, CertificateRecord, CertificateRequest, CertificateRequestSpec,
    CertificateSpec, CertificateStatus, Challenge, ChallengeSpec, ChallengeState, ChallengeType,
    CheckReport, DnsName, EndedChallenge, FailedOrder, Http01, Http01Report, Identifier, Issuer,
    IssuerKind, IssuerRef, KeyAlgorithm, KeyFacts, LeafFacts, Metadata, OfferedChallenge, Order,
    OrderPhase, OrderSpec, OrderState, OrderUrls, Origin, PendingChallenge, Presented,
    PrivateKeySpec, Problem, ProgramFailure, ProviderFailure, ProviderFault, PublicKeyDigest,
    Reason, ReasonSource, SecretKeySelector, Settings, Solver, SolverKind, Verdict,
};

pub(super) const SERVER: &str = "https://ca.test/directory";
pub(super) const ACCOUNT: &str = "https://ca.test/account/1";

/// The current time in every test.
pub(super) fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

pub(super) fn hours(count: i64) -> SignedDuration {
    SignedDuration::from_hours(count)
}

pub(super) fn from_now(duration: SignedDuration) -> Timestamp {
    now() + duration
}

/// A certificate that certctl has never seen.
pub(super) fn fresh() -> Snapshot {
    let origin = || Origin { path: PathBuf::from("web.yaml"), line: 1, column: 1 };
    let spec = CertificateSpec {
        secret_name: "web-tls".to_owned(),
        issuer_ref: IssuerRef { name: "le".to_owned(), ..IssuerRef::default() },
        dns_names: names(&["a.example"]),
        private_key: Some(PrivateKeySpec {
            algorithm: Some(KeyAlgorithm::Ecdsa),
            ..PrivateKeySpec::default()
        }),
        ..CertificateSpec::default()
    };
    Snapshot {
        certificate: Certificate {
            metadata: metadata("web"),
            spec,
            settings: Settings::default(),
            origin: origin(),
        },
        issuers: Arc::new(Issuer {
            kind: IssuerKind::Issuer,
            metadata: metadata("le"),
            acme: acme(),
            settings: Settings::default(),
            origin: origin(),
            server_line: 1,
        })
        .into(),
        settings: Settings::default(),
        record: record(),
        secret: None,
        repair: None,
        files_digest: None,
        lost_output: None,
        issued_profile: None,
        issued_account: None,
        current_request: None,
        next_request: None,
        next_key: None,
        account: None,
        order: None,
        retired: Vec::new(),
        order_count: 0,
        input_digest: "input".to_owned(),
        sets: Vec::new(),
        banned_keys: resource::BannedKeys::default(),
        intervals: Intervals { self_check: SignedDuration::from_secs(10) },
        run: Run::default(),
    }
}

/// The only issuer, to change it.
pub(super) fn issuer_mut(snapshot: &mut Snapshot) -> &mut Issuer {
    Arc::make_mut(&mut snapshot.issuers.first)
}

/// Revision 1 is live since a day, and nothing is due.
pub(super) fn live() -> Snapshot {
    let mut snapshot = fresh();
    snapshot.next_key = Some(Ok(key("live")));
    let mut pair = issuing::published_pair(&snapshot, &leaf("live"));
    pair.key = snapshot.next_key.take();
    snapshot.secret = Some(pair);
    snapshot.current_request = Some(request(&snapshot, 1, "live"));
    snapshot.record.status.revision = Some(1);
    snapshot.record.directory_urls.insert(1, SERVER.to_owned());
    snapshot.record.issued_fingerprint = Some(leaf("live").fingerprint);
    snapshot
}

/// Issuing=True for revision 1.
pub(super) fn issuing_first() -> Snapshot {
    let mut snapshot = fresh();
    snapshot.record = trigger::issuing(&snapshot.record, Reason::DoesNotExist, "none", now());
    snapshot
}

/// With key, request and account: all that an order needs.
pub(super) fn ready_to_order() -> Snapshot {
    let mut snapshot = issuing_first();
    snapshot.next_key = Some(Ok(key("next")));
    snapshot.record.status.next_private_key_secret_name = Some("web-1".to_owned());
    snapshot.next_request = Some(request(&snapshot, 1, "next"));
    snapshot.account = Some(account());
    snapshot.run.prepared = true;
    snapshot.run.prepared_to_solve = true;
    snapshot
}

/// With an order in this phase, made or read in this run.
pub(super) fn ordered(phase: &str, state: OrderState) -> Snapshot {
    let mut snapshot = ready_to_order();
    let order = Order { phase: in_phase(phase), state, ..order(&snapshot) };
    snapshot.run.order.is_known = order.url().is_some();
    snapshot.order_count = 1;
    snapshot.order = Some(order);
    snapshot
}

/// Failed, and counted at that time.
pub(super) fn failed_at(at: Timestamp) -> OrderPhase {
    let failed = in_phase("failed").failed();
    OrderPhase::Failed(FailedOrder { at: Some(at), ..failed })
}

pub(super) fn in_phase(phase: &str) -> OrderPhase {
    let finalize_url = format!("{}/finalize", order_url());
    let urls = OrderUrls { url: order_url().to_owned(), finalize_url };
    let certificate_url = format!("{}/certificate", order_url());
    match phase {
        "creating" => OrderPhase::Creating,
        "authorizing" => OrderPhase::Authorizing(urls),
        "solving" => OrderPhase::Solving(urls),
        "refused" => OrderPhase::Refused { urls, problem: None },
        "finalizing" => OrderPhase::Finalizing(urls),
        "awaiting" => OrderPhase::Awaiting(urls),
        "downloading" => OrderPhase::Downloading { urls, certificate_url },
        "issued" => OrderPhase::Issued { urls, certificate_url, certificate: "PEM".to_owned() },
        "failed" => OrderPhase::Failed(FailedOrder { urls: Some(urls), ..FailedOrder::default() }),
        other => panic!("no phase is called {other}"),
    }
}

/// With an order whose challenges are in these phases.
pub(super) fn solving(phases: &[Phase]) -> Snapshot {
    let mut snapshot = ordered("solving", OrderState::Pending);
    let order = snapshot.order.as_mut().unwrap();
    for (index, phase) in phases.iter().enumerate() {
        order.authorizations.push(Arc::new(read_authorization(index)));
        order.challenges.push(challenge(index, *phase));
    }
    snapshot
}

pub(super) fn order_url() -> &'static str {
    "https://ca.test/order/1"
}

pub(super) fn authorization_url(index: usize) -> String {
    format!("https://ca.test/authorization/{index}")
}

pub(super) fn challenge_url(index: usize) -> String {
    format!("https://ca.test/challenge/{index}")
}

pub(super) fn identifier(index: usize) -> Identifier {
    let name = ["a.example", "b.example", "c.example"][index];
    Identifier::Dns(name.parse().unwrap())
}

pub(super) fn names(names: &[&str]) -> Vec<DnsName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

pub(super) fn metadata(name: &str) -> Metadata {
    let namespace = "default".to_owned();
    Metadata { name: name.to_owned(), namespace, ..Metadata::default() }
}

pub(super) fn key(digest: &str) -> KeyFacts {
    let public_key = PublicKeyDigest(digest.to_owned());
    KeyFacts { algorithm: KeyAlgorithm::Ecdsa, size: 256, public_key }
}

/// A leaf that began a day ago and lives for 90 days.
pub(super) fn leaf(digest: &str) -> LeafFacts {
    LeafFacts {
        public_key: PublicKeyDigest(digest.to_owned()),
        fingerprint: format!("fingerprint of {digest}"),
        serial: "01".to_owned(),
        certificate_id: None,
        common_name: String::new(),
        dns_names: vec!["a.example".to_owned()],
        ip_addresses: Vec::new(),
        uris: Vec::new(),
        email_addresses: Vec::new(),
        not_before: from_now(-hours(24)),
        not_after: from_now(hours(89 * 24)),
        issuer_common_name: "CA".to_owned(),
        key_description: "ECDSA P-256".to_owned(),
    }
}

pub(super) fn request(snapshot: &Snapshot, revision: u32, digest: &str) -> CertificateRequest {
    let spec = &snapshot.certificate.spec;
    CertificateRequest {
        metadata: metadata(&format!("web-{revision}")),
        revision,
        creation_timestamp: now(),
        spec: CertificateRequestSpec {
            request: format!("CSR of {digest}"),
            public_key: PublicKeyDigest(digest.to_owned()),
            duration: spec.duration,
            is_ca: spec.is_ca,
            usages: spec.effective_usages().to_vec(),
            issuer_ref: spec.issuer_ref.clone(),
        },
        certificate_spec: spec.clone().into_requested(),
        conditions: Vec::new(),
        certificate: None,
        failure_time: None,
    }
}

pub(super) fn account() -> Account {
    Account {
        identity: AccountIdentity::of(fresh().issuer()),
        next_step: AccountStep::Nothing,
        public_key: PublicKeyDigest("account".to_owned()),
        url: Some(ACCOUNT.to_owned()),
        contacts: vec!["mailto:ops@example.com".to_owned()],
        terms_of_service: None,
        registered_at: None,
    }
}

pub(super) fn order(snapshot: &Snapshot) -> Order {
    let request = snapshot.next_request.as_ref().unwrap();
    Order {
        name: "web-1-1".to_owned(),
        number: 1,
        creation_timestamp: now(),
        spec: Arc::new(OrderSpec {
            certificate: snapshot.certificate.metadata.key(),
            revision: 1,
            request: request.spec.request.clone(),
            issuer_ref: request.spec.issuer_ref.clone(),
            directory_url: SERVER.to_owned(),
            account_url: ACCOUNT.to_owned(),
            identifiers: (0..3).map(identifier).collect(),
            profile: String::new(),
            not_after: None,
        }),
        phase: OrderPhase::Creating,
        state: OrderState::Unknown,
        reason: String::new(),
        expires: None,
        authorizations: Vec::new(),
        challenges: Vec::new(),
        is_replacement: false,
        replaces: None,
    }
}

pub(super) fn unread_authorization(index: usize) -> Authorization {
    Authorization {
        url: authorization_url(index),
        identifier: None,
        wildcard: false,
        initial_state: None,
        challenges: Arc::default(),
    }
}

fn read_authorization(index: usize) -> Authorization {
    Authorization {
        identifier: Some(identifier(index)),
        initial_state: Some(AuthorizationState::Pending),
        challenges: Arc::new([offered(index)]),
        ..unread_authorization(index)
    }
}

fn offered(index: usize) -> OfferedChallenge {
    let kind = ChallengeType::Http01;
    OfferedChallenge { kind, url: challenge_url(index), token: format!("token-{index}") }
}

/// The phase of a challenge, or that it has none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Queued,
    Requeued,
    Presenting,
    SelfChecking,
    Accepting,
    Accepted,
    Final,
}

impl From<resource::Phase> for Phase {
    fn from(phase: resource::Phase) -> Self {
        match phase {
            resource::Phase::Queued => Self::Queued,
            resource::Phase::Requeued => Self::Requeued,
            resource::Phase::Presenting => Self::Presenting,
            resource::Phase::SelfChecking => Self::SelfChecking,
            resource::Phase::Accepting => Self::Accepting,
            resource::Phase::Accepted => Self::Accepted,
        }
    }
}

pub(super) fn phase_of(challenge: &Challenge) -> Phase {
    challenge.phase().map_or(Phase::Final, Phase::from)
}

fn in_state(phase: Phase) -> ChallengeState {
    let authorization = AuthorizationState::Pending;
    let phase = match phase {
        Phase::Queued => resource::Phase::Queued,
        Phase::Requeued => resource::Phase::Requeued,
        Phase::Presenting => resource::Phase::Presenting,
        Phase::SelfChecking => resource::Phase::SelfChecking,
        Phase::Accepting => resource::Phase::Accepting,
        Phase::Accepted => resource::Phase::Accepted,
        Phase::Final => {
            let ended = EndedChallenge { authorization, problem: None, check: None };
            return ChallengeState::Ended(ended);
        }
    };
    let (problem, check, accepts) = (None, None, None);
    ChallengeState::Pending(PendingChallenge { phase, authorization, problem, check, accepts })
}

pub(super) fn challenge(index: usize, phase: Phase) -> Challenge {
    let is_out = matches!(phase, Phase::SelfChecking | Phase::Accepting | Phase::Accepted);
    Challenge {
        spec: Arc::new(ChallengeSpec {
            authorization_url: authorization_url(index),
            kind: ChallengeType::Http01,
            url: challenge_url(index),
            identifier: identifier(index),
            wildcard: false,
            token: format!("token-{index}"),
            key: format!("token-{index}.thumbprint"),
            solver: solver(),
        }),
        state: in_state(phase),
        reason: String::new(),
        reason_source: ReasonSource::Other,
        presented: Presented {
            is_owed: !matches!(phase, Phase::Queued | Phase::Final),
            at: is_out.then(now),
            target: None,
        },
    }
}

pub(super) fn solver() -> Solver {
    Solver {
        selector: None,
        wait_instead_of_self_check: None,
        kind: SolverKind::Http01(Http01::default()),
    }
}

/// What the CA says of the order.
pub(super) fn order_seen(state: OrderState) -> OrderSeen {
    let is_failure = state.is_failure();
    OrderSeen {
        url: order_url().to_owned(),
        certificate_url: (state == OrderState::Valid).then(|| "certificate".to_owned()),
        state,
        authorizations: vec![authorization_url(0)],
        finalize_url: format!("{}/finalize", order_url()),
        expires: None,
        problem: is_failure.then(|| problem("unauthorized")),
        retry_after: None,
    }
}

/// What the CA says of an authorization, and of its one challenge.
pub(super) fn authorization_seen(
    index: usize,
    state: AuthorizationState,
    own: AuthorizationState,
) -> AuthorizationSeen {
    let problem = own.is_failure().then(|| problem("unauthorized"));
    AuthorizationSeen {
        identifier: identifier(index),
        wildcard: false,
        state,
        challenges: vec![(offered(index), format!("token-{index}.thumbprint"))],
        seen: vec![(challenge_url(index), ChallengeSeen { state: own, problem })],
    }
}

pub(super) fn problem(kind: &str) -> Problem {
    Problem {
        status: Some(403),
        kind: format!("urn:ietf:params:acme:error:{kind}"),
        detail: "no".to_owned(),
        ..Problem::default()
    }
}

pub(super) fn error(kind: CauseKind) -> EffectError {
    let message = "it went wrong".to_owned();
    let of_the_provider = |fault, message| {
        let (service, status) = (String::new(), String::new());
        Cause::Provider(ProviderFailure { fault, service, status, message })
    };
    EffectError::new(match kind {
        CauseKind::Transient => Cause::ca(CaFault::Unreachable, message),
        CauseKind::Refused => Cause::ca(CaFault::Refused, message),
        CauseKind::Gone => Cause::ca(CaFault::Gone, message),
        CauseKind::Unusable => Cause::ca(CaFault::Unusable, message),
        CauseKind::Unauthorized => of_the_provider(ProviderFault::Unauthorized, message),
        CauseKind::Denied => of_the_provider(ProviderFault::Denied, message),
        CauseKind::Precondition => Cause::precondition(message),
        CauseKind::State => Cause::state(message),
        CauseKind::Local => Cause::local(message),
        CauseKind::Program => Cause::Program(ProgramFailure {
            program: String::new(),
            status: String::new(),
            message,
        }),
    })
}

/// The order that a record writes.
pub(super) fn written_order(record: &Record) -> &Order {
    let mut orders = record.changes.iter().rev().filter_map(|change| match change {
        Change::Order(order) => Some(&**order),
        _ => None,
    });
    orders.next().unwrap()
}

/// The certificate's record that a record writes.
pub(super) fn written_record(record: &Record) -> &CertificateRecord {
    let mut records = record.changes.iter().rev().filter_map(|change| match change {
        Change::Certificate(record) => Some(&**record),
        _ => None,
    });
    records.next().unwrap()
}

pub(super) fn record() -> CertificateRecord {
    CertificateRecord {
        creation_timestamp: now(),
        generation: 1,
        spec_digest: String::new(),
        secret_name: "web-tls".to_owned(),
        manifest: None,
        references: Vec::new(),
        directory_urls: BTreeMap::new(),
        issued_fingerprint: None,
        retry_after: None,
        last_failure: None,
        attempted_inputs: Vec::new(),
        deployments: Vec::new(),
        alerted: 0,
        notices: Vec::new(),
        revocations: Vec::new(),
        rollback: None,
        status: CertificateStatus::default(),
    }
}

fn acme() -> Acme {
    Acme {
        server: SERVER.to_owned(),
        email: "Ops@Example.com".to_owned(),
        private_key_secret_ref: SecretKeySelector { name: "le-key".to_owned(), key: String::new() },
        disable_account_key_generation: false,
        ca_bundle: None,
        skip_tls_verify: false,
        preferred_chain: String::new(),
        external_account_binding: None,
        enable_duration_feature: false,
        profile: String::new(),
        renewal_information_source: None,
        solvers: vec![solver()],
    }
}

/// The self-check of the first challenge: `Some` is why it failed.
pub(super) fn check(reason: Option<&str>) -> Box<CheckReport> {
    let verdict = match reason {
        None => Verdict::Passed,
        Some(reason) => Verdict::Failed { reason: reason.to_owned() },
    };
    Box::new(CheckReport::Http01(Http01Report {
        identifier: identifier(0),
        url: "http://a.example.com/.well-known/acme-challenge/token-0".to_owned(),
        addresses: Vec::new(),
        dns: None,
        outlook: resource::Outlook::Open,
        verdict,
    }))
}
