//! `certctl status NAME`: one certificate on a screen: the verdict, what comes next, what the last
//! attempt failed by, names, dates and files. All that is known is on the page of `describe`.

use super::page::NONE;
use super::scene::Scene;
use super::verdict::{PAST, Verdict, failed_at, findings, no_issuer};
use super::waiting::{next_attempt, owed, waiting_for};
use crate::cli::advice;
use crate::cli::count::count;
use crate::cli::output::{Paint, escape};
use crate::cli::report::{Findings, short};
use crate::resource::{Challenge, Event, Issuer, Phase, Revocation};
use crate::workspace::view::CertificateView;

/// The summary.
pub(super) fn summary(view: &CertificateView, scene: &Scene) -> String {
    let mut lines = Lines::default();
    let verdict = Verdict::of(view, scene.now);
    let word = verdict.paint().on(verdict.word(), scene.color);
    let sentence = verdict.sentence(view, scene);
    lines.add("Status", format!("{word} - {sentence}"));
    let (waits, next) = (waiting_for(view, verdict, scene.now), next_attempt(view, verdict, scene));
    if waits.as_slice() != [next.as_str()] {
        lines.some("Waiting for", &waits);
    }
    lines.add("Next attempt", next);
    if let Some(overdue) = view.overdue {
        lines.add("Overdue", format!("since {}", scene.time(overdue.since)));
    }
    if let Some(Revocation { serial, reason, requested_at, .. }) = view.owed_revocation() {
        let since = scene.time(*requested_at);
        let cancel = format!("certctl revoke {} --cancel", short(&view.key));
        let text =
            format!("of serial {serial} ({reason}), pending since {since}; to cancel: {cancel}");
        lines.add("Revocation", text);
    }
    let found = findings(view, scene);
    if let Some(check) = check_of(view).filter(|_| verdict == Verdict::Waiting) {
        lines.add("Try", check);
    }
    if let Some(found) = &found {
        failure(&mut lines, found, view, (&sentence, scene));
    }
    if let Some(back) = view.went_back() {
        let at = scene.time(back.done_at.unwrap_or(back.requested_at));
        lines.add("Rolled back", format!("from revision {} to {} at {at}", back.from, back.to));
    }
    names(&mut lines, view);
    lines.add("Issuer", issuer(view, scene));
    certificate(&mut lines, view, scene);
    lines.add("Files", escape(&view.secret_path.to_string_lossy()));
    if let Some(certificate) = &view.certificate {
        let path = certificate.origin.path.to_string_lossy();
        lines.add("Manifest", format!("{}:{}", escape(&path), certificate.origin.line));
    }
    let owed = owed(view);
    if !owed.is_empty() {
        lines.add("Clean-up", format!("{} to be removed", count(owed.len(), "challenge response")));
    }
    if let (None, Some(Event { time: at, message, .. })) = (&found, view.events.last()) {
        let at = scene.local(*at);
        lines.add("Last event", format!("{at}: {}", escape(message.trim())));
    }
    lines.add("More", format!("certctl describe {}", short(&view.key)));
    lines.text
}

/// The command that diagnoses the first challenge whose self-check found something wrong.
fn check_of(view: &CertificateView) -> Option<String> {
    let is_wrong = |challenge: &&Challenge| {
        challenge.phase() == Some(Phase::SelfChecking) && !challenge.shown_reason().is_empty()
    };
    let spec = &view.order()?.challenges.iter().find(is_wrong)?.spec;
    advice::check_of(&spec.kind, &escape(&spec.identifier.to_string()))
}

/// When the last attempt failed and by what, what that means, and what to do about it. Of one that is
/// past, no more than that.
fn failure(
    lines: &mut Lines,
    found: &Findings,
    view: &CertificateView,
    (status, scene): (&str, &Scene),
) {
    let (title, at) = (escape(&found.title), failed_at(view, scene));
    if view.failure().is_none() {
        return lines.add("Last failure", [&at, &*title, PAST].concat());
    }
    let is_said = status.contains(&*title);
    if !is_said || !at.is_empty() {
        lines.add("Last failure", at + if is_said { "see Status" } else { &title });
    }
    for (label, shown) in [("detail", "  Detail"), ("cause", "  Cause"), ("remedy", "  Remedy")] {
        for row in found.rows.iter().filter(|row| row.label == label) {
            let text: Vec<&str> = row.text.lines().collect();
            lines.some(shown, &text);
        }
    }
    if !found.commands.is_empty() {
        lines.add("  Try", escape(&found.commands.join("; ")));
    }
}

fn names(lines: &mut Lines, view: &CertificateView) {
    let names = view.names();
    let (first, others) = names.split_at(names.len().min(MOST));
    let first = first.iter().map(|name| escape(name)).collect::<Vec<_>>().join(", ");
    let others = match others.len() {
        0 => String::new(),
        others => format!(", and {others} more"),
    };
    lines.add("Names", first + &others);
}

fn issuer(view: &CertificateView, scene: &Scene) -> String {
    let Some(reference) = view.issuer_ref() else { return NONE.to_owned() };
    let name = format!("{} ({})", reference.name, reference.kind);
    let Some(Issuer { acme, .. }) = &view.issuer else {
        return format!("{name}: {}", no_issuer(view));
    };
    let unverified = if acme.skip_tls_verify {
        format!(", {}", Paint::Bad.on("TLS NOT VERIFIED", scene.color))
    } else {
        String::new()
    };
    format!("{name}, {}{unverified}", escape(&acme.server))
}

fn certificate(lines: &mut Lines, view: &CertificateView, scene: &Scene) {
    let leaf = match &view.leaf {
        None => return lines.add("Certificate", "not issued yet"),
        Some(Err(why)) => {
            return lines.add("Certificate", format!("cannot be read: {}", escape(why)));
        }
        Some(Ok(_)) if view.is_temporary() => {
            return lines.add("Certificate", "temporary, until the real one is issued");
        }
        Some(Ok(leaf)) => leaf,
    };
    let revision = view.record.as_ref().and_then(|record| record.status.revision);
    let revision = revision.map(|number| format!("revision {number}, ")).unwrap_or_default();
    let (from, until) = (scene.local(leaf.not_before), scene.time(leaf.not_after));
    lines.add("Certificate", format!("{revision}valid from {from} to {until}"));
}

/// Aligned lines of `Label: value`.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn add(&mut self, label: &str, value: impl AsRef<str>) {
        let value = Some(value.as_ref()).filter(|value| !value.is_empty()).unwrap_or(NONE);
        self.value(&format!("{label}:"), value);
    }

    /// A few of several values, one a line.
    fn some(&mut self, label: &str, values: &[impl AsRef<str>]) {
        let (shown, others) = values.split_at(values.len().min(MOST));
        let mut label = format!("{label}:");
        for value in shown {
            self.value(&std::mem::take(&mut label), &escape(value.as_ref()));
        }
        if !others.is_empty() {
            self.value("", &format!("and {} more", others.len()));
        }
    }

    fn value(&mut self, label: &str, value: &str) {
        self.text += &[&format!("{label:<WIDTH$}"), value, "\n"].concat();
    }
}

/// So many names, or things that a certificate waits for, are shown.
const MOST: usize = 3;
/// Of the longest label, with its colon and the space between.
const WIDTH: usize = 14;
