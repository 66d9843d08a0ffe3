//! `certctl status issuer|order|challenge|request`: one line per object.

use super::issuance::{challenge_name, reason, state};
use super::noun::Noun;
use super::objects::{self, ChallengeObject, OrderObject, RequestObject};
use crate::cli::render::table::{Cell, Row, table};
use crate::cli::words::Scene;
use crate::cli::words::order::{identifier, type_word};

use crate::cli::render::document::{self, Listed};
use crate::cli::render::output::Paint;
use crate::cli::words::time::{self, length};
use crate::resource::{CertificateRequest, Challenge, ChallengeState, ConditionType, Order};
use crate::workspace::view::{CertificateView, IssuerView};

/// Issuers; `wide` adds the account.
pub(super) fn issuers(views: &[&IssuerView], wide: bool, scene: &Scene) -> String {
    let mut heading = vec!["NAMESPACE", "NAME", "KIND", "READY", "SERVER", "SOLVERS"];
    if wide {
        heading.extend(["EMAIL", "PROFILE", "ACCOUNT"]);
    }
    let rows: Vec<Row> = views
        .iter()
        .map(|IssuerView { issuer, account }| {
            let url = account.as_ref().and_then(|account| account.url.as_deref());
            let ready = match url {
                Some(_) => Cell::painted("READY", Paint::Good),
                None => Cell::painted("NOT REGISTERED", Paint::Warn),
            };
            let server = if issuer.acme.skip_tls_verify {
                Cell::painted(&format!("{} (TLS NOT VERIFIED)", issuer.acme.server), Paint::Bad)
            } else {
                Cell::from(&issuer.acme.server)
            };
            let solvers = issuer
                .acme
                .solvers
                .iter()
                .map(|solver| if solver.dns01().is_some() { "dns01" } else { "http01" });
            let mut row = vec![
                Cell::from(&issuer.metadata.namespace),
                Cell::from(&issuer.metadata.name),
                Cell::from(issuer.kind.to_string()),
                ready,
                server,
                Cell::from(solvers.collect::<Vec<_>>().join(",")),
            ];
            if wide {
                row.push(Cell::from(&issuer.acme.email));
                row.push(Cell::from(&issuer.acme.profile));
                row.push(Cell::from(url.unwrap_or_default()));
            }
            row.into()
        })
        .collect();
    table(&heading, &rows, scene.color, scene.columns())
}

/// A request, an order or a challenge of a certificate.
#[derive(Clone, Copy)]
pub(super) enum Object<'a> {
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
            Self::Request(request) => &request.metadata.namespace,
            Self::Order(order) | Self::Challenge(order, _, _) => &order.spec.certificate.namespace,
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Request(request) => request.metadata.name.clone(),
            Self::Order(order) => order.name.clone(),
            Self::Challenge(order, index, _) => challenge_name(order, *index),
        }
    }

    /// Text that it adds to a list for programs.
    pub(super) fn listed(self, listed: &mut Listed) -> serde_json::Result<String> {
        match self {
            Self::Request(request) => listed.item(&document::Object(objects::request(request))),
            Self::Order(order) => listed.item(&document::Object(objects::order(order))),
            Self::Challenge(order, index, challenge) => {
                listed.item(&document::Object(objects::challenge(order, index, challenge)))
            }
        }
    }

    /// Its cells.
    pub(super) fn row(self, wide: bool, scene: &Scene) -> Row {
        let mut row = vec![Cell::from(self.namespace()), Cell::from(self.name())];
        match self {
            Self::Request(request) => row.extend(request_cells(request, scene)),
            Self::Order(order) => row.extend(order_cells(order, wide, scene)),
            Self::Challenge(_, _, challenge) => row.extend(challenge_cells(challenge, wide)),
        }
        row.into()
    }
}

fn challenges_of(order: &Order) -> impl Iterator<Item = Object<'_>> {
    let challenges = order.challenges.iter().enumerate();
    challenges.map(move |(index, challenge)| Object::Challenge(order, index, challenge))
}

/// End of a list for programs.
pub(super) fn end(noun: Noun, listed: Listed) -> serde_json::Result<String> {
    match noun {
        Noun::Order => listed.end::<document::Object<OrderObject>>(),
        Noun::Challenge => listed.end::<document::Object<ChallengeObject>>(),
        Noun::CertificateRequest | Noun::Certificate | Noun::Issuer => {
            listed.end::<document::Object<RequestObject>>()
        }
    }
}

/// Requests, orders or challenges; `wide` adds URLs and keys.
pub(super) fn objects(noun: Noun, rows: &[Row], wide: bool, scene: &Scene) -> String {
    let mut heading = vec!["NAMESPACE", "NAME"];
    heading.extend_from_slice(match noun {
        Noun::CertificateRequest => &["REVISION", "READY", "REASON", "ISSUER", "AGE"],
        Noun::Order => &["STATE", "CHALLENGES", "ISSUER", "AGE", "REASON"],
        Noun::Challenge => {
            &["STATE", "IDENTIFIER", "TYPE", "PROCESSING", "PRESENTED", "CLEAN-UP", "REASON"]
        }
        Noun::Certificate | Noun::Issuer => &[][..],
    });
    if wide {
        heading.extend_from_slice(match noun {
            Noun::Order => &["EXPIRES", "URL"],
            Noun::Challenge => &["KEY", "URL"],
            Noun::CertificateRequest | Noun::Certificate | Noun::Issuer => &[][..],
        });
    }
    table(&heading, rows, scene.color, scene.columns())
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

fn order_cells(order: &Order, wide: bool, scene: &Scene) -> Vec<Cell> {
    let valid = |challenge: &&Challenge| challenge.state == ChallengeState::Valid;
    let proven = order.challenges.iter().filter(valid).count();
    let mut cells = vec![
        Cell::from(state(order)),
        Cell::from(format!("{proven}/{}", order.challenges.len())),
        Cell::from(&order.spec.issuer_ref.name),
        Cell::from(length(scene.now.duration_since(order.creation_timestamp))),
        Cell::from(&order.reason),
    ];
    if wide {
        let expires = order.expires.map(|at| time::local(at, &scene.zone));
        cells.push(Cell::from(expires.unwrap_or_default()));
        cells.push(Cell::from(order.url().unwrap_or_default()));
    }
    cells
}

fn challenge_cells(challenge: &Challenge, wide: bool) -> Vec<Cell> {
    let mut cells = vec![
        Cell::from(challenge.final_state().as_str()),
        Cell::from(identifier(challenge)),
        Cell::from(type_word(challenge)),
        Cell::from(challenge.is_processing().to_string()),
        Cell::from(challenge.is_presented().to_string()),
        Cell::from(if challenge.owes_clean_up() { "owed" } else { "" }),
        Cell::from(reason(challenge)),
    ];
    if wide {
        cells.push(Cell::from(&challenge.spec.key));
        cells.push(Cell::from(&challenge.spec.url));
    }
    cells
}
