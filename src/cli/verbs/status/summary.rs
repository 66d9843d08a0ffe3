//! `certctl status NAME`: one certificate on a screen: the verdict, what comes next, what the last
//! attempt failed by, names, dates and files. All that is known is on the page of `describe`.

use super::ahead::{Host, notes};
use super::page::{NONE, Page};
use super::validation::ways;
use crate::cli::words::diagnosis::{DETAIL, Diagnosis, Row};
use crate::cli::words::next;
use crate::cli::words::order::owed;
use crate::cli::words::state::{counted_before, failed_at, findings, no_issuer, past, timed};
use crate::cli::{Hint, Paint, Scene, Text, count, escape, fix, short};
use crate::resource::{Event, Finding, Issuer, NamespacedName, Reason};
use crate::workspace::view::CertificateView;

/// The summary, with the name in front where there is one.
pub(super) fn summary(
    view: &CertificateView,
    name: Option<&NamespacedName>,
    host: &Host,
    scene: &Scene,
) -> Text {
    let mut page = Page::short(scene.columns());
    if let Some(name) = name {
        page.add("Name", short(name));
    }
    head(&mut page, view, host, scene);
    let owed = owed(view).len();
    if owed > 0 {
        page.add("Clean-up", format!("{} to be removed", count(owed, "challenge response")));
    }
    // That a slot is free says nothing of this certificate.
    let last = view.events.iter().rfind(|event| event.reason != Reason::Released);
    if let (None, Some(Event { time: at, message, .. })) = (findings(view), last) {
        let at = scene.local(*at);
        page.add("Last event", format!("{at}: {}", escape(message.trim())));
    }
    let describe = format!("certctl describe {}", short(&view.key));
    page.command("More", &describe, "");
    page.text
}

fn issuer(view: &CertificateView) -> Text {
    let Some(reference) = view.issuer_ref() else { return NONE.into() };
    let name = format!("{} ({})", reference.name, reference.kind);
    let Some(Issuer { acme, .. }) = &view.issuer else {
        return format!("{name}: {}", no_issuer(view)).into();
    };
    let mut text = Text::from(format!("{name}, {}", escape(&acme.server)));
    if acme.skip_tls_verify {
        text.push(", ");
        text.paint(Paint::Bad, "TLS NOT VERIFIED (skipTLSVerify)");
    }
    text
}

/// The verdict, what comes next, what the last attempt failed by, names, dates and files.
pub(super) fn head(page: &mut Page, view: &CertificateView, host: &Host, scene: &Scene) {
    let state = view.outlook.state;
    let sentence = state.sentence(view, scene);
    let mut word = Text::default();
    word.paint(state.paint(), state.word());
    page.put("Status", word.with(&format!(" - {sentence}")));
    page.add("Next attempt", next::sentence(view, scene));
    if let Some(overdue) = view.overdue {
        let since = scene.time(overdue.since);
        page.add("Overdue", format!("since {since}, stage {}", overdue.stage.name()));
    }
    for Finding { subject, fact, fix, .. } in notes(view, host, scene) {
        page.add(&subject, fact);
        let Some(hint) = fix.as_ref().map(Hint::from) else { continue };
        match hint.command() {
            Some(line) => page.command("  Try", line, ""),
            None => page.add("  Try", hint.to_string()),
        }
    }
    let found = findings(view);
    if let Some(found) = &found {
        let past = past(view, host.blocks(&view.key));
        failure(page, found, past, (&sentence, &failed_at(view, scene)));
    }
    if let Some(before) = counted_before(view, scene) {
        page.add("Before that", before);
    }
    // What is in the way would stop that, too.
    let helps = fix::of_certificate(view).into_iter();
    for (fix, what) in helps.filter(|_| !host.blocks(&view.key)) {
        page.command("Try", &fix::worded(&fix), what);
    }
    if let Some(back) = view.went_back() {
        let at = scene.time(back.done_at.unwrap_or(back.requested_at));
        page.add("Rolled back", format!("from revision {} to {} at {at}", back.from, back.to));
    }
    page.names("Names", &view.names());
    // An edit is not in the certificate before it is issued.
    let missing = view.names_not_issued();
    if !missing.is_empty() {
        page.names("  Not issued", &missing);
    }
    page.put("Issuer", issuer(view));
    // A failure says it, and needs the room.
    if found.is_none() {
        page.some("Validation", &ways(view, page.most));
    }
    page.add("Certificate", certificate(view, scene));
    page.add("Files", secret_path(view));
    page.some("Deployment", &deployment(view));
    if let Some(certificate) = &view.certificate {
        let path = certificate.origin.path.to_string_lossy();
        page.add("Manifest", format!("{}, line {}", escape(&path), certificate.origin.line));
    }
}

/// When the last attempt failed and by what, what that means, and what to do about it. Of one that
/// is past, no more than that.
fn failure(page: &mut Page, found: &Diagnosis, past: Option<&str>, (status, at): (&str, &str)) {
    let title = escape(&found.title);
    if let Some(past) = past {
        return page.add("Last failure", timed(&[at, past].concat(), &title));
    }
    let is_shown = status.contains(&*title);
    if !is_shown || !at.is_empty() {
        page.add("Last failure", if is_shown { at.to_owned() } else { timed(at, &title) });
    }
    for Row { label, text } in &found.rows {
        if page.most == usize::MAX || IN_SHORT.contains(label) {
            let (first, rest) = label.split_at(label.len().min(1));
            let label = format!("  {}{rest}", first.to_uppercase());
            page.some(&label, &text.lines().collect::<Vec<_>>());
        }
    }
    for (at, fix) in found.fixes.iter().enumerate() {
        let label = if at == 0 { "  Try" } else { "" };
        page.command(label, &escape(&fix::worded(fix)), "");
    }
}

fn certificate(view: &CertificateView, scene: &Scene) -> String {
    let leaf = match &view.leaf {
        None => return no_leaf(view).to_owned(),
        Some(Err(why)) => return format!("cannot be read: {}", escape(why)),
        Some(Ok(_)) if view.is_temporary() => {
            return "temporary, until the real one is issued".to_owned();
        }
        Some(Ok(leaf)) => leaf,
    };
    let revision = view.record.as_ref().and_then(|record| record.status.revision);
    let revision = revision.map(|number| format!("revision {number}, ")).unwrap_or_default();
    let (from, until) = (scene.local(leaf.not_before), scene.time(leaf.not_after));
    format!("{revision}valid from {from} to {until}")
}

/// Where the files go and what runs then, beside the folder of the Secret.
fn deployment(view: &CertificateView) -> Vec<String> {
    let targets = view.deploy_targets().unwrap_or_default();
    targets.iter().map(ToString::to_string).collect()
}

/// Note on a live certificate that is missing.
fn no_leaf(view: &CertificateView) -> &'static str {
    if view.damage.is_some() { NOT_KNOWN } else { "not issued yet" }
}

/// The folder of the Secret.
fn secret_path(view: &CertificateView) -> String {
    match escape(&view.secret_path.to_string_lossy()) {
        path if path.is_empty() && view.damage.is_some() => NOT_KNOWN.to_owned(),
        path => path.into_owned(),
    }
}

/// Text where only the state, which cannot be read, has the fact.
const NOT_KNOWN: &str = "not known: the state is damaged";

/// Rows of a failure in a summary.
const IN_SHORT: [&str; 3] = [DETAIL, "cause", "remedy"];
