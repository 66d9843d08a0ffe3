//! The part of a certificate's page that is about its last issuance: events, request, order,
//! challenges.

use jiff::Timestamp;

use super::page::{NONE, Page, or_none};
use crate::cli::words::order::{identifier, type_word};
use crate::cli::words::time::length;
use crate::cli::{Scene, escape, short};
use crate::resource::{
    Authorization, AuthorizationState, Challenge, Event, Order, Reason, ReasonSource,
};
use crate::workspace::view::CertificateView;

/// The journal as kubectl shows events: repeated ones once, with a count.
pub(super) fn events(page: &mut Page, view: &CertificateView, wide: bool, now: Timestamp) {
    let mut groups: Vec<(&Event, Timestamp, usize)> = Vec::new();
    // That another challenge may start now is a detail.
    let is_shown = |event: &&Event| wide || event.reason != Reason::Released;
    for event in view.events.iter().filter(is_shown) {
        let same = |group: &&mut (&Event, Timestamp, usize)| {
            group.0.reason == event.reason && group.0.message == event.message
        };
        match groups.iter_mut().find(same) {
            Some((newest, _, count)) => {
                *newest = event;
                *count += 1;
            }
            None => groups.push((event, event.time, 1)),
        }
    }
    groups.sort_by_key(|(newest, _, _)| newest.time);
    let skipped = if wide { 0 } else { groups.len().saturating_sub(SHOWN) };
    let rows: Vec<[String; 5]> = groups
        .iter()
        .skip(skipped)
        .map(|(newest, first, count)| {
            let age = length(now.duration_since(newest.time));
            let age = match count {
                1 => age,
                count => format!("{age} (x{count} over {})", length(now.duration_since(*first))),
            };
            let message = escape(newest.message.trim()).into_owned();
            let kind = format!("{:?}", newest.kind);
            [kind, newest.reason.as_str(), age, "certctl".to_owned(), message]
        })
        .collect();
    if rows.is_empty() {
        return page.raw(0, "Events:  <none>");
    }
    page.heading("Events");
    let heading = ["Type", "Reason", "Age", "From", "Message"].map(str::to_owned);
    let dashes = heading.clone().map(|word| "-".repeat(word.len()));
    let rows: Vec<[String; 5]> = [heading, dashes].into_iter().chain(rows).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..5).map(|column| width(column).unwrap_or(0)).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        page.raw(1, cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

/// The running request, or the last that finished.
pub(super) fn request(page: &mut Page, view: &CertificateView, scene: &Scene) {
    let Some(request) = view.request() else {
        return page.line(0, "CertificateRequest", NONE);
    };
    page.heading("CertificateRequest");
    page.line(1, "Name", &request.metadata.name);
    page.line(1, "Namespace", &request.metadata.namespace);
    page.line(1, "Revision", request.revision.to_string());
    page.conditions(1, &request.conditions);
    if let Some(at) = request.failure_time {
        page.line(1, "FailureTime", scene.time(at));
    }
}

/// The current order.
pub(super) fn order(page: &mut Page, view: &CertificateView, scene: &Scene) {
    let Some(order) = view.order() else { return page.line(0, "Order", NONE) };
    page.heading("Order");
    page.line(1, "Name", &order.name);
    page.raw(1, &format!("State: {}, Reason: {}", state(order), or_none(&escape(&order.reason))));
    if let Some(url) = order.url() {
        page.line(1, "URL", escape(url));
    }
    page.line(1, "Created", scene.time(order.creation_timestamp));
    if let Some(at) = order.expires {
        page.line(1, "Expires", scene.time(at));
    }
    if let Some(replaced) = &order.replaces {
        page.line(1, "Replaces", escape(replaced));
    }
    if order.phase.is_open() && view.is_issuing() && view.worker.is_none() {
        let command = format!("certctl renew {} --new-order", short(&view.key));
        page.line(1, "To start a new order", command);
    }
    if order.authorizations.is_empty() {
        page.raw(1, "No Authorizations for this Order");
    } else {
        page.raw(1, "Authorizations:");
        for authorization in &order.authorizations {
            let Authorization { url, identifier, wildcard, initial_state, .. } = &**authorization;
            let identifier = identifier.as_ref().map_or(NONE.into(), ToString::to_string);
            let state = initial_state.as_ref().map_or("", |state| state.as_str());
            let (url, state) = (escape(url), escape(or_none(state)));
            page.raw(
                2,
                &format!(
                    "URL: {url}, Identifier: {identifier}, Initial State: {state}, \
                     Wildcard: {wildcard}"
                ),
            );
        }
    }
    if let Some(at) = order.failure_time() {
        page.line(1, "FailureTime", scene.time(at));
    }
}

/// The challenges of the current order; the key only with -o wide.
pub(super) fn challenges(page: &mut Page, view: &CertificateView, wide: bool) {
    let challenges = view.order().map_or(&[][..], |order| order.challenges.as_slice());
    let Some(order) = view.order().filter(|_| !challenges.is_empty()) else {
        return page.line(0, "Challenges", NONE);
    };
    page.heading("Challenges");
    for (index, challenge) in challenges.iter().enumerate() {
        let key =
            if wide { format!("Key: {}, ", escape(&challenge.spec.key)) } else { String::new() };
        page.raw(
            0,
            &format!(
                "- Name: {}, Identifier: {}, Type: {}, Token: {}, {key}State: {}, Reason: {}, \
                 Processing: {}, Presented: {}",
                challenge_name(order, index),
                identifier(challenge),
                type_word(challenge),
                escape(&challenge.spec.token),
                or_none(&escape(challenge.final_state().as_str())),
                or_none(&reason(challenge)),
                challenge.is_processing(),
                challenge.is_presented(),
            ),
        );
    }
}

/// The name of a challenge: that of its order and its place in it, counted from 1.
pub(super) fn challenge_name(order: &Order, index: usize) -> String {
    format!("{}-{}", order.name, index.saturating_add(1))
}

/// The state of an order; `new` before the CA has given one.
pub(super) fn state(order: &Order) -> String {
    match order.final_state().as_str() {
        "" => "new".to_owned(),
        word => escape(word).into_owned(),
    }
}

/// Reason for the state of a challenge: certctl's, else the CA's problem.
pub(super) fn plain_reason(challenge: &Challenge) -> String {
    match since_accept(challenge) {
        Some(reason) => reason.to_owned(),
        None => own_or_problem(challenge, challenge.reason.clone()),
    }
}

/// The same for people: what a self-check found comes first.
pub(super) fn reason(challenge: &Challenge) -> String {
    let reason = match since_accept(challenge) {
        Some(reason) => reason.to_owned(),
        None => own_or_problem(challenge, challenge.shown_reason()),
    };
    escape(&reason).into_owned()
}

fn own_or_problem(challenge: &Challenge, reason: String) -> String {
    match challenge.problem() {
        Some(problem) if reason.is_empty() => problem.to_string(),
        Some(_) | None => reason,
    }
}

/// Replacement of the reason of a challenge that certctl had just accepted.
fn since_accept(challenge: &Challenge) -> Option<&'static str> {
    if challenge.reason_source != ReasonSource::Accept {
        return None;
    }
    let is_undecided = matches!(
        challenge.authorization(),
        AuthorizationState::Unknown | AuthorizationState::Pending | AuthorizationState::Processing
    );
    match challenge.phase() {
        Some(phase) if phase.is_accepted() => {
            Some("Accepted; waiting for the CA's validation result")
        }
        None if is_undecided => Some("The order ended before the CA validated the name"),
        Some(_) | None => None,
    }
}

/// Number of events that are shown without -o wide.
const SHOWN: usize = 20;
