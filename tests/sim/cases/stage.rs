//! A certificate in the middle of an issuance, and a loop that asks the controllers what comes next.

use std::collections::BTreeMap;
use std::sync::Arc;

use certctl::acme::AcmeError;
use certctl::controller::{
    Awaited, Change, Effect, EffectError, Intervals, Outcome, Record, Run, Snapshot, Step, Wake,
    absorb, backoff, next_step,
};
use certctl::resource::{
    Account, AccountIdentity, AccountStep, Acme, CaFailure, CaFault, Cause, Certificate,
    CertificateRecord, CertificateRequest, CertificateRequestSpec, CertificateStatus, Condition,
    ConditionStatus, ConditionType, Event, Failure, Http01, Issuer, IssuerKind, KeyFacts, Metadata,
    Order, OrderSpec, OrderState, Origin, Problem, PublicKeyDigest, Reason, SecretKeySelector,
    Settings, Solver, SolverKind,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::input::{keys, noon, text};

/// How the controllers ended.
#[derive(Debug)]
pub(crate) enum End {
    Settled,
    Undecided,
    Wait(Option<Timestamp>, Awaited),
    Deferred(Timestamp),
    Fail(Failure),
}

/// A snapshot that is driven on.
pub(crate) struct Stage {
    pub(crate) snapshot: Snapshot,
    pub(crate) now: Timestamp,
    pub(crate) done: Vec<Effect>,
    pub(crate) events: Vec<Event>,
}

/// What comes of a effect; `None` when the case does not say: then the controllers are left there.
pub(crate) type Answer<'a> = &'a mut dyn FnMut(&Effect) -> Option<Outcome>;

impl Stage {
    /// Asks the controllers and does the effects, until they settle, wait, fail, or want a effect that the
    /// case says nothing about. Waits for the CA's verdict pass at once.
    pub(crate) fn drive(&mut self, answer: Answer<'_>) -> End {
        for _ in 0..100 {
            let (owed, step) = next_step(&self.snapshot, self.now);
            for effect in owed {
                if let Some(outcome) = answer(&effect) {
                    self.take(&effect, outcome);
                }
            }
            match step {
                Step::Settled => return End::Settled,
                Step::Record(record) => self.apply(record),
                Step::Act(effects) => {
                    for effect in effects {
                        let Some(outcome) = answer(&effect) else { return End::Undecided };
                        self.take(&effect, outcome);
                    }
                }
                Step::Wait { until: Some(until), wake: Wake::ChallengeHit, .. }
                    if self.snapshot.run.attempts.values().any(|a| a.acceptance.is_some()) =>
                {
                    self.now = until.max(self.now);
                }
                Step::Wait { until, what, .. } => return End::Wait(until, what),
                Step::Defer { until, .. } => return End::Deferred(until),
                Step::Fail(failure) => {
                    let record = backoff::record_failure(&self.snapshot, &failure, self.now);
                    self.apply(record);
                    return End::Fail(failure);
                }
            }
        }
        panic!("the controllers do not settle");
    }

    fn take(&mut self, effect: &Effect, outcome: Outcome) {
        let record = absorb(&mut self.snapshot, effect, outcome, self.now);
        self.done.push(effect.clone());
        self.apply(record.unwrap_or_else(|illegal| panic!("{illegal}")));
    }

    fn apply(&mut self, record: Record) {
        let snapshot = &mut self.snapshot;
        for change in record.changes {
            match change {
                Change::Certificate(record) => snapshot.record = *record,
                Change::Request(request) => snapshot.next_request = Some(*request),
                Change::DropRequest(_) => snapshot.next_request = None,
                Change::Order(order) => {
                    let retired = snapshot.retired.iter_mut().find(|old| old.name == order.name);
                    match retired {
                        Some(old) => *old = *order,
                        None => snapshot.order = Some(*order),
                    }
                }
                Change::NextKey(_, facts) => snapshot.next_key = Some(Ok(facts)),
                Change::DropNextKey => snapshot.next_key = None,
                Change::AccountKey(_, account) | Change::Account(account) => {
                    snapshot.account = Some(*account);
                }
                Change::Ban(key) => snapshot.banned_keys.keys.push(key),
                Change::Revoked(_) => {}
            }
        }
        self.events.extend(record.events);
    }

    pub(crate) fn events(&self) -> Vec<String> {
        let line = |e: &Event| format!("{:?} {:?} {}", e.kind, e.reason, e.message);
        self.events.iter().map(line).collect()
    }
}

/// A certificate that nothing is known of, and an issuer with one HTTP-01 solver.
pub(crate) fn idle() -> Snapshot {
    let origin = Origin { path: "case.yaml".into(), line: 1, column: 1 };
    let metadata = |name: &str| Metadata {
        name: name.to_owned(),
        namespace: "default".to_owned(),
        ..Metadata::default()
    };
    let (certificate, issuer) = (metadata("web"), metadata("ca"));
    Snapshot {
        certificate: Certificate {
            metadata: certificate,
            spec: certctl::resource::CertificateSpec::default(),
            settings: Settings::default(),
            origin: origin.clone(),
        },
        issuers: Arc::new(Issuer {
            kind: IssuerKind::Issuer,
            metadata: issuer,
            acme: acme(),
            settings: Settings::default(),
            origin,
            server_line: 1,
        })
        .into(),
        settings: Settings::default(),
        record: CertificateRecord {
            creation_timestamp: noon(),
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
        },
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
        input_digest: "today's".to_owned(),
        sets: Vec::new(),
        banned_keys: certctl::resource::BannedKeys::default(),
        intervals: Intervals { self_check: SignedDuration::from_secs(10) },
        run: Run::default(),
    }
}

fn acme() -> Acme {
    Acme {
        server: "https://ca.test/directory".to_owned(),
        email: String::new(),
        private_key_secret_ref: SecretKeySelector { name: "ca-key".to_owned(), key: String::new() },
        disable_account_key_generation: false,
        ca_bundle: None,
        skip_tls_verify: false,
        preferred_chain: String::new(),
        external_account_binding: None,
        enable_duration_feature: false,
        profile: String::new(),
        renewal_information_source: None,
        solvers: vec![Solver {
            selector: None,
            wait_instead_of_self_check: None,
            kind: SolverKind::Http01(Http01::default()),
        }],
    }
}

/// A certificate that is being issued: key, request and account are there, an order is next.
pub(crate) fn issuing(mut snapshot: Snapshot) -> Stage {
    let (algorithm, size) = snapshot.certificate.spec.key_parameters();
    let key = KeyFacts { algorithm, size, public_key: PublicKeyDigest("key".to_owned()) };
    snapshot.next_request = Some(request(&snapshot, &key));
    snapshot.next_key = Some(Ok(key));
    snapshot.account = Some(account());
    let status = &mut snapshot.record.status;
    status.next_private_key_secret_name = Some("web-1".to_owned());
    status.set_condition(issuing_condition());
    snapshot.run.prepared = true;
    snapshot.run.prepared_to_solve = true;
    snapshot.run.order.was_requested = true;
    snapshot.run.order.is_known = true;
    Stage { snapshot, now: noon(), done: Vec::new(), events: Vec::new() }
}

pub(crate) fn issuing_condition() -> Condition {
    Condition {
        kind: ConditionType::Issuing,
        status: ConditionStatus::True,
        reason: Reason::ManuallyTriggered,
        message: String::new(),
        last_transition_time: noon(),
        observed_generation: None,
    }
}

pub(crate) fn account() -> Account {
    Account {
        identity: AccountIdentity {
            directory_url: "https://ca.test/directory".to_owned(),
            kind: IssuerKind::Issuer,
            namespace: "default".to_owned(),
            secret_name: "ca-key".to_owned(),
        },
        next_step: AccountStep::Nothing,
        public_key: PublicKeyDigest("account".to_owned()),
        url: Some("https://ca.test/account/1".to_owned()),
        contacts: Vec::new(),
        terms_of_service: None,
        registered_at: None,
    }
}

pub(crate) fn request(snapshot: &Snapshot, key: &KeyFacts) -> CertificateRequest {
    let spec = &snapshot.certificate.spec;
    CertificateRequest {
        metadata: Metadata::default(),
        revision: 1,
        creation_timestamp: noon(),
        spec: CertificateRequestSpec {
            request: "the CSR".to_owned(),
            public_key: key.public_key.clone(),
            duration: spec.duration,
            is_ca: spec.is_ca,
            usages: Vec::new(),
            issuer_ref: spec.issuer_ref.clone(),
        },
        certificate_spec: spec.clone().into_requested(),
        conditions: Vec::new(),
        certificate: None,
        failure_time: None,
    }
}

/// An order for that request, with nothing in it yet.
pub(crate) fn order(snapshot: &Snapshot) -> Order {
    Order {
        name: "web-1-1".to_owned(),
        creation_timestamp: noon(),
        spec: Arc::new(OrderSpec {
            certificate: snapshot.certificate.metadata.key(),
            revision: 1,
            request: "the CSR".to_owned(),
            issuer_ref: snapshot.certificate.spec.issuer_ref.clone(),
            directory_url: snapshot.issuer().acme.server.clone(),
            account_url: "https://ca.test/account/1".to_owned(),
            identifiers: certctl::controller::order::identifiers(&snapshot.certificate.spec),
            profile: String::new(),
            not_after: None,
        }),
        number: 1,
        phase: certctl::resource::OrderPhase::Creating,
        state: OrderState::Unknown,
        reason: String::new(),
        expires: None,
        authorizations: Vec::new(),
        challenges: Vec::new(),
        is_replacement: false,
        replaces: None,
    }
}

/// The error that a case gives as a text or as the status of an answer.
pub(crate) fn effect_error(value: &Value) -> EffectError {
    if value.is_object() {
        keys(value, &["status", "detail", "type"]);
        let mut kind = text(&value["type"]);
        if !kind.is_empty() && !kind.contains(':') {
            kind = format!("urn:ietf:params:acme:error:{kind}");
        }
        let status = value["status"].as_u64().map(|status| u16::try_from(status).unwrap());
        let detail = text(&value["detail"]);
        let problem = Problem { status, kind, detail, ..Problem::default() };
        let answer = AcmeError::Problem {
            url: String::new(),
            problem: Box::new(problem.clone()),
            retry_after: None,
        };
        let fault = match status {
            _ if answer.is_transient() => CaFault::Unreachable,
            Some(404 | 410) => CaFault::Gone,
            _ => CaFault::Refused,
        };
        let (url, message) = (String::new(), String::new());
        let problem = Some(Box::new(problem));
        return EffectError::new(Cause::Ca(CaFailure {
            fault,
            url,
            problem,
            message,
            clock_ahead: None,
        }));
    }
    let word = value.as_str().unwrap_or_else(|| panic!("unknown error {value}"));
    let network = ["timeout", "deadline exceeded", "canceled", "connection re", "dial tcp"];
    let fault = if network.iter().any(|part| word.contains(part)) {
        CaFault::Unreachable
    } else {
        CaFault::Unusable
    };
    EffectError::new(Cause::ca(fault, word))
}
