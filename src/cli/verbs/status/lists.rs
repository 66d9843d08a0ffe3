//! `certctl status issuer|order|challenge|request`: one line per object.

use super::issuance::{challenge_name, reason, state};
use super::noun::Noun;
use super::objects::{ChallengeObject, IssuerKinds, OrderObject, RequestObject};
use crate::cli::render::document::Listed;
use crate::cli::render::table::{Cell, Row, table};
use crate::cli::words::order::{identifier, type_word};
use crate::cli::words::time::length;
use crate::cli::{Format, Paint, Scene, document, time};
use crate::resource::{CertificateRequest, Challenge, ChallengeState, ConditionType, Order};
use crate::workspace::target::NameTarget;
use crate::workspace::view::{CertificateView, IssuerView};

/// An object that is no Certificate.
#[derive(Clone, Copy)]
pub(super) enum Object<'a> {
    /// An Issuer of the manifests.
    Issuer(&'a IssuerView),
    /// A kept request.
    Request(&'a CertificateRequest),
    /// A kept order.
    Order(&'a Order),
    /// A challenge, by its order and its place in it.
    Challenge(&'a Order, usize, &'a Challenge),
}

impl<'a> Object<'a> {
    /// All of one kind that a certificate has; none for kinds that are not kept with it.
    pub(super) fn of(noun: Noun, view: &'a CertificateView) -> Vec<Self> {
        match noun {
            Noun::CertificateRequest => view.requests.iter().map(Self::Request).collect(),
            Noun::Order => view.orders.iter().map(Self::Order).collect(),
            Noun::Challenge => view.orders.iter().flat_map(challenges_of).collect(),
            Noun::Certificate | Noun::Issuer => Vec::new(),
        }
    }

    /// Its namespace.
    pub(super) fn namespace(&self) -> &'a str {
        match self {
            Self::Issuer(view) => &view.issuer.metadata.namespace,
            Self::Request(request) => &request.metadata.namespace,
            Self::Order(order) | Self::Challenge(order, _, _) => &order.spec.certificate.namespace,
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Issuer(view) => view.issuer.metadata.name.clone(),
            Self::Request(request) => request.metadata.name.clone(),
            Self::Order(order) => order.name.clone(),
            Self::Challenge(order, index, _) => challenge_name(order, *index),
        }
    }

    /// Its line with `-o name`.
    pub(super) fn printed(&self) -> String {
        let kind = match self {
            Self::Issuer(view) => view.issuer.kind.to_string(),
            Self::Request(_) => Noun::CertificateRequest.kind().to_owned(),
            Self::Order(_) => Noun::Order.kind().to_owned(),
            Self::Challenge(..) => Noun::Challenge.kind().to_owned(),
        };
        NameTarget::printed(&kind, self.namespace(), &self.name()) + "\n"
    }

    /// Text that it adds to a list for programs.
    pub(super) fn listed(self, listed: &mut Listed) -> serde_json::Result<String> {
        match self {
            Self::Issuer(view) => listed.item(&IssuerKinds::from(view)),
            Self::Request(request) => listed.item(&document::Object(RequestObject::from(request))),
            Self::Order(order) => listed.item(&document::Object(OrderObject::from(order))),
            Self::Challenge(order, index, challenge) => {
                listed.item(&document::Object(ChallengeObject::from((order, index, challenge))))
            }
        }
    }

    /// Its cells.
    pub(super) fn row(self, scene: &Scene) -> Row {
        let mut row = vec![Cell::from(self.namespace()), Cell::from(self.name())];
        row.extend(match self {
            Self::Issuer(view) => issuer_cells(view),
            Self::Request(request) => request_cells(request, scene),
            Self::Order(order) => order_cells(order, scene),
            Self::Challenge(_, _, challenge) => challenge_cells(challenge),
        });
        row.into()
    }
}

fn challenges_of(order: &Order) -> impl Iterator<Item = Object<'_>> {
    let challenges = order.challenges.iter().enumerate();
    challenges.map(move |(index, challenge)| Object::Challenge(order, index, challenge))
}

/// A list for programs.
pub(super) fn listed(noun: Noun, format: Format, by_name: bool) -> serde_json::Result<Listed> {
    match noun {
        Noun::Issuer => Listed::new::<IssuerKinds>(format, by_name),
        Noun::Order => Listed::new::<document::Object<OrderObject>>(format, by_name),
        Noun::Challenge => Listed::new::<document::Object<ChallengeObject>>(format, by_name),
        Noun::CertificateRequest | Noun::Certificate => {
            Listed::new::<document::Object<RequestObject>>(format, by_name)
        }
    }
}

/// The table of objects of a kind; with `-o wide`, all columns.
pub(super) fn objects(noun: Noun, mut rows: Vec<Row>, scene: &Scene) -> String {
    let (columns, narrow): (&[&str], usize) = match noun {
        Noun::Issuer => (&["KIND", "READY", "SERVER", "SOLVERS", "EMAIL", "PROFILE", "ACCOUNT"], 4),
        Noun::CertificateRequest => (&["REVISION", "READY", "REASON", "ISSUER", "AGE"], 5),
        Noun::Order => (&["STATE", "CHALLENGES", "ISSUER", "AGE", "REASON", "EXPIRES", "URL"], 5),
        Noun::Challenge => (&CHALLENGE, 7),
        Noun::Certificate => (&[], 0),
    };
    let mut heading = [&["NAMESPACE", "NAME"], columns].concat();
    if scene.format != Format::Wide {
        heading.truncate(2 + narrow);
        for row in &mut rows {
            row.cells.truncate(2 + narrow);
        }
    }
    table(&heading, &rows, scene.color, scene.columns())
}

const CHALLENGE: [&str; 9] =
    ["STATE", "IDENTIFIER", "TYPE", "PROCESSING", "PRESENTED", "CLEAN-UP", "REASON", "KEY", "URL"];

fn issuer_cells(IssuerView { issuer, account }: &IssuerView) -> Vec<Cell> {
    let acme = &issuer.acme;
    let url = account.as_ref().and_then(|account| account.url.as_deref());
    let ready = match url {
        Some(_) => Cell::painted("READY", Paint::Good),
        None => Cell::painted("NOT REGISTERED", Paint::Warn),
    };
    let server = if acme.skip_tls_verify {
        Cell::painted(&format!("{} (TLS NOT VERIFIED)", acme.server), Paint::Bad)
    } else {
        Cell::from(&acme.server)
    };
    let solvers = acme.solvers.iter();
    let solvers = solvers.map(|one| if one.dns01().is_some() { "dns01" } else { "http01" });
    vec![
        Cell::from(issuer.kind.to_string()),
        ready,
        server,
        Cell::from(solvers.collect::<Vec<_>>().join(",")),
        Cell::from(&acme.email),
        Cell::from(&acme.profile),
        Cell::from(url.unwrap_or_default()),
    ]
}

fn request_cells(request: &CertificateRequest, scene: &Scene) -> Vec<Cell> {
    let mut conditions = request.conditions.iter();
    let ready = conditions.find(|condition| condition.kind == ConditionType::Ready);
    let word = ready.map(|ready| format!("{:?}", ready.status)).unwrap_or_default();
    vec![
        Cell::from(request.revision.to_string()),
        Cell::from(word),
        Cell::from(ready.map(|ready| ready.reason.as_str()).unwrap_or_default()),
        Cell::from(&request.spec.issuer_ref.name),
        Cell::from(length(scene.now.duration_since(request.creation_timestamp))),
    ]
}

fn order_cells(order: &Order, scene: &Scene) -> Vec<Cell> {
    let valid = |challenge: &&Challenge| challenge.state == ChallengeState::Valid;
    let proven = order.challenges.iter().filter(valid).count();
    let expires = order.expires.map(|at| time::local(at, &scene.zone));
    vec![
        Cell::from(state(order)),
        Cell::from(format!("{proven}/{}", order.challenges.len())),
        Cell::from(&order.spec.issuer_ref.name),
        Cell::from(length(scene.now.duration_since(order.creation_timestamp))),
        Cell::from(&order.reason),
        Cell::from(expires.unwrap_or_default()),
        Cell::from(order.url().unwrap_or_default()),
    ]
}

fn challenge_cells(challenge: &Challenge) -> Vec<Cell> {
    vec![
        Cell::from(challenge.final_state().as_str()),
        Cell::from(identifier(challenge)),
        Cell::from(type_word(challenge)),
        Cell::from(challenge.is_processing().to_string()),
        Cell::from(challenge.is_presented().to_string()),
        Cell::from(if challenge.owes_clean_up() { "owed" } else { "" }),
        Cell::from(reason(challenge)),
        Cell::from(&challenge.spec.key),
        Cell::from(&challenge.spec.url),
    ]
}
