//! `certctl describe NAME`: one certificate in cmctl's layout, repaired: the verdict first, fixed
//! indentation, names of every kind, the last request when none is running, and always the next
//! step and its time.

use super::ahead::{Host, notes};
use super::issuance;
use super::objects::REGISTERED;
use super::page::{NONE, Page, deployment, no_leaf, secret_path};
use crate::cli::render::output::{Paint, escape};
use crate::cli::render::text::Text;
use crate::cli::words::Scene;
use crate::cli::words::order::{owed, waits_for};
use crate::cli::words::state::{counted_before, failed_at, findings, no_issuer};
use crate::cli::words::{fix, next};
use crate::resource::{self, CertificateSpec, Finding, OtherName, Revocation};
use crate::workspace::outlook::State;
use crate::workspace::view::CertificateView;

/// The whole page; `wide` shows the keys of challenges and every event.
pub(super) fn detail(view: &CertificateView, host: &Host, wide: bool, scene: &Scene) -> Text {
    let mut page = Page::default();
    head(&mut page, view, host, scene);
    names(&mut page, view);
    issuance::events(&mut page, view, wide, scene.now);
    issuer(&mut page, view, scene.color);
    secret(&mut page, view);
    let deployment = deployment(view);
    if !deployment.is_empty() {
        page.list("Deployment", &deployment);
    }
    let leaf = view.readable_leaf();
    page.line(0, "Not Before", leaf.map_or(NONE.into(), |leaf| scene.local(leaf.not_before)));
    page.line(0, "Not After", leaf.map_or(NONE.into(), |leaf| scene.time(leaf.not_after)));
    let renewal = view.renewal_time.filter(|_| !view.never_renews() && !view.ends_here());
    page.line(0, "Renewal Time", renewal.map_or(NONE.into(), |at| scene.time(at)));
    renewal_information(&mut page, view, scene);
    issuance::request(&mut page, view, scene);
    issuance::order(&mut page, view, scene);
    issuance::challenges(&mut page, view, wide);
    let owed = owed(view);
    if !owed.is_empty() {
        page.list("Clean-up owed", &owed);
    }
    let revocations = revocations(view, scene);
    if !revocations.is_empty() {
        page.list("Revocations", &revocations);
    }
    if !view.strays.is_empty() {
        page.list("Unknown files in the state, ignored", &view.strays);
    }
    page.text
}

fn head(page: &mut Page, view: &CertificateView, host: &Host, scene: &Scene) {
    let state = view.outlook.state;
    let word = state.paint().on(state.word(), scene.color);
    let sentence = state.sentence(view, scene);
    page.line(0, "Status", format!("{word} - {sentence}"));
    if view.is_issuing() && view.order().is_some() {
        page.list("Waiting for", &waits_for(view, state != State::Waiting));
    }
    page.line(0, "Next attempt", next::sentence(view, scene));
    for Finding { subject, fact, fix, .. } in notes(view, host, scene) {
        page.line(0, &subject, fact);
        if let Some(fix) = fix {
            page.attempt(1, &fix::worded(&fix), "");
        }
    }
    // What is in the way would stop that, too.
    let helps = fix::of_certificate(view).into_iter();
    for (fix, what) in helps.filter(|_| !host.blocks(&view.key)) {
        page.attempt(0, &fix::worded(&fix), what);
    }
    if let Some(overdue) = view.overdue {
        let since = scene.time(overdue.since);
        page.line(0, "Overdue", format!("since {since}, stage {}", overdue.stage.name()));
    }
    if let Some(found) = findings(view) {
        page.cause(&found, view, (&sentence, &failed_at(view, scene)));
    }
    if let Some(before) = counted_before(view, scene) {
        page.line(0, "Before that", before);
    }
    if let Some(back) = view.went_back() {
        let at = scene.time(back.done_at.unwrap_or(back.requested_at));
        let text = format!("from revision {} to {} at {at}", back.from, back.to);
        page.line(0, "Rolled back", text);
    }
    page.line(0, "Name", &view.key.name);
    page.line(0, "Namespace", &view.key.namespace);
    let record = view.record.as_ref();
    page.line(0, "Created at", record.map_or(NONE.into(), |r| scene.local(r.creation_timestamp)));
    if let Some(certificate) = &view.certificate {
        let origin = &certificate.origin;
        let path = origin.path.to_string_lossy();
        page.line(0, "Manifest", format!("{}, line {}", escape(&path), origin.line));
    }
    page.conditions(0, record.map_or(&[], |record| record.status.conditions.as_slice()));
}

/// What the CA suggests (RFC 9773).
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
                format!("revoked by the CA itself at {at}, found at {found}")
            }
            (Some(at), _) => format!("revoked at {}", scene.time(at)),
            (None, Some(why)) => format!("refused by the CA: {why}"),
            (None, None) => format!("pending since {}", scene.time(*requested_at)),
        };
        format!("serial {serial}, {reason}: {state}")
    })
    .collect()
}

fn names(page: &mut Page, view: &CertificateView) {
    let none = CertificateSpec::default();
    let spec = view.spec().unwrap_or(&none);
    if !spec.common_name.is_empty() {
        page.line(0, "Common Name", escape(&spec.common_name));
    }
    if !spec.literal_subject.is_empty() {
        page.line(0, "Literal Subject", escape(&spec.literal_subject));
    }
    let other = |other: &OtherName| format!("{}: {}", other.oid, other.utf8_value);
    let other_names: Vec<String> = spec.other_names.iter().map(other).collect();
    let dns_names: Vec<String> = spec.dns_names.iter().map(ToString::to_string).collect();
    let addresses: Vec<String> = spec.ip_addresses.iter().map(ToString::to_string).collect();
    for (kind, names) in [
        ("DNS Names", &dns_names),
        ("IP Addresses", &addresses),
        ("URIs", &spec.uris),
        ("Email Addresses", &spec.email_addresses),
        ("Other Names", &other_names),
    ] {
        if !names.is_empty() {
            page.list(kind, names);
        }
    }
}

fn issuer(page: &mut Page, view: &CertificateView, color: bool) {
    page.heading("Issuer");
    let Some(reference) = view.issuer_ref() else { return page.line(1, "Name", NONE) };
    page.line(1, "Name", &reference.name);
    page.line(1, "Kind", reference.kind.to_string());
    let Some(issuer) = &view.issuer else {
        return page.line(1, "Error", no_issuer(view));
    };
    page.line(1, "Server", escape(&issuer.acme.server));
    if issuer.acme.skip_tls_verify {
        let warning = "NOT VERIFIED (skipTLSVerify is set: an attacker can impersonate this CA)";
        page.line(1, "TLS", Paint::Bad.on(warning, color));
    }
    let account = view.account.as_ref().and_then(|account| account.url.as_ref());
    if let Some(url) = account {
        page.line(1, "Account", escape(url));
    }
    page.raw(1, "Conditions:");
    let (reason, message) = REGISTERED;
    match account {
        Some(_) => page.raw(2, &format!("Ready: True, Reason: {reason}, Message: {message}")),
        None => page.raw(2, "No Conditions set"),
    }
}

fn secret(page: &mut Page, view: &CertificateView) {
    page.heading("Secret");
    let recorded = view.record.as_ref().map(|record| record.secret_name.as_str());
    let name = view.spec().map(|spec| spec.secret_name.as_str()).or(recorded);
    page.line(1, "Name", name.unwrap_or(NONE));
    page.line(1, "Path", secret_path(view));
    if let Some(repair) = &view.links {
        let key = match repair.remedy {
            resource::Remedy::Link { .. } => "Links",
            resource::Remedy::Publish { .. } => "Files",
        };
        page.line(1, key, escape(&repair.what));
    }
    match &view.leaf {
        None => page.line(1, "Certificate", no_leaf(view)),
        Some(Err(why)) => page.line(1, "Certificate", format!("cannot be read: {}", escape(why))),
        Some(Ok(leaf)) => {
            if view.is_temporary() {
                page.line(1, "Certificate", "temporary, until the real one is issued");
            }
            page.line(1, "Issuer Common Name", escape(&leaf.issuer_common_name));
            page.line(1, "Public Key Algorithm", escape(&leaf.key_description));
            page.line(1, "Serial Number", &leaf.serial);
            page.line(1, "SHA-256 Fingerprint", &leaf.fingerprint);
        }
    }
}
