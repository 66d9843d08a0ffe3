//! `certctl describe NAME`: all of `status NAME`, and everything else that is known, in cmctl's layout,
//! repaired: fixed indentation, and the last request when none is running.

use super::ahead::Host;
use super::issuance;
use super::page::{NONE, Page};
use super::summary::head;
use crate::cli::words::order::{owed, waits_for};
use crate::cli::{Scene, Text, escape};
use crate::resource::{OtherName, Remedy, Revocation};
use crate::workspace::outlook::State;
use crate::workspace::view::CertificateView;

/// The whole page; `wide` shows the keys of challenges and every event.
pub(super) fn detail(view: &CertificateView, host: &Host, wide: bool, scene: &Scene) -> Text {
    let mut page = Page::whole(scene.columns());
    head(&mut page, view, host, scene);
    if view.is_issuing() && view.order().is_some() {
        page.list("Waiting for", &waits_for(view, view.outlook.state != State::Waiting));
    }
    page.line(0, "Name", &view.key.name);
    page.line(0, "Namespace", &view.key.namespace);
    let record = view.record.as_ref();
    page.line(0, "Created at", record.map_or(NONE.into(), |r| scene.local(r.creation_timestamp)));
    page.conditions(0, record.map_or(&[], |record| record.status.conditions.as_slice()));
    subject(&mut page, view);
    issuance::events(&mut page, view, wide, scene.now);
    if let Some(url) = view.account.as_ref().and_then(|account| account.url.as_ref()) {
        page.line(0, "Account", escape(url));
    }
    secret(&mut page, view);
    let renewal = view.renewal_time.filter(|_| !view.never_renews() && !view.ends_here());
    page.line(0, "Renewal Time", renewal.map_or(NONE.into(), |at| scene.time(at)));
    renewal_information(&mut page, view, scene);
    issuance::request(&mut page, view, scene);
    issuance::order(&mut page, view, scene);
    issuance::challenges(&mut page, view, wide);
    page.list("Clean-up owed", &owed(view));
    page.list("Revocations", &revocations(view, scene));
    page.list("Unknown files in the state, ignored", &view.strays);
    page.text
}

/// Shows the CA's suggestion (RFC 9773).
fn renewal_information(page: &mut Page, view: &CertificateView, scene: &Scene) {
    let Some(known) = view.renewal_information() else { return };
    page.heading("Renewal Information (ARI)");
    if let Some(window) = &known.suggested_window {
        let (start, end) = (scene.local(window.start), scene.local(window.end));
        page.line(1, "Suggested Window", format!("{start} to {end}"));
        page.line(1, "Chosen Time", scene.time(window.renew_at));
        if let Some(url) = &window.explanation_url {
            page.line(1, "Explanation", escape(url));
        }
    }
    page.line(1, "Last Check", known.last_checked.map_or(NONE.into(), |at| scene.time(at)));
    page.line(1, "Next Check", scene.time(known.next_check));
    if let Some(error) = &known.last_error {
        page.line(1, "Last Error", escape(&error.to_string()));
    }
}

/// A line for each requested revocation.
fn revocations(view: &CertificateView, scene: &Scene) -> Vec<String> {
    let all = view.record.iter().flat_map(|record| &record.revocations);
    all.map(|revocation| {
        let Revocation { serial, reason, requested_at, .. } = revocation;
        let state = match (revocation.revoked_at, &revocation.refusal) {
            (Some(at), _) if revocation.was_found() => {
                let (at, found) = (scene.time(at), scene.time(*requested_at));
                format!("revoked by the CA at {at}, detected at {found}")
            }
            (Some(at), _) => format!("revoked at {}", scene.time(at)),
            (None, Some(why)) => format!("refused by the CA: {why}"),
            (None, None) => format!("pending since {}", scene.time(*requested_at)),
        };
        format!("serial {serial}, {reason}: {state}")
    })
    .collect()
}

/// Shows the parts of the subject that are no name of a server.
fn subject(page: &mut Page, view: &CertificateView) {
    let Some(spec) = view.spec() else { return };
    let other = |other: &OtherName| format!("{}: {}", other.oid, other.utf8_value);
    let others = spec.other_names.iter().map(other).collect::<Vec<_>>().join(", ");
    for (label, value) in [
        ("Common Name", &spec.common_name),
        ("Literal Subject", &spec.literal_subject),
        ("Other Names", &others),
    ] {
        if !value.is_empty() {
            page.line(0, label, escape(value));
        }
    }
}

fn secret(page: &mut Page, view: &CertificateView) {
    page.heading("Secret");
    let recorded = view.record.as_ref().map(|record| record.secret_name.as_str());
    let name = view.spec().map(|spec| spec.secret_name.as_str()).or(recorded);
    page.line(1, "Name", name.unwrap_or(NONE));
    if let Some(repair) = &view.links {
        let key = match repair.remedy {
            Remedy::Link { .. } => "Links",
            Remedy::Publish { .. } | Remedy::Follow { .. } => "Files",
        };
        page.line(1, key, escape(&repair.what));
    }
    if let Some(Ok(leaf)) = &view.leaf {
        page.line(1, "Issuer Common Name", escape(&leaf.issuer_common_name));
        page.line(1, "Public Key Algorithm", escape(&leaf.key_description));
        page.line(1, "Serial Number", &leaf.serial);
        page.line(1, "SHA-256 Fingerprint", &leaf.fingerprint);
    }
}
