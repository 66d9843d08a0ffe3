//! `certctl status NAME`: one certificate on a screen: the verdict, what comes next, what the last
//! attempt failed by, names, dates and files. All that is known is on the page of `describe`.

use unicode_width::UnicodeWidthStr as _;

use super::ahead::{Host, notes};
use super::page::{NONE, deployment, no_leaf, secret_path};
use super::validation::{MOST, listed, ways};
use crate::cli::render::output::{Paint, escape};
use crate::cli::render::text::behind;
use crate::cli::words::Scene;
use crate::cli::words::count::count;
use crate::cli::words::diagnosis::Diagnosis;
use crate::cli::words::fix;
use crate::cli::words::hint::{Hint, short};
use crate::cli::words::next;
use crate::cli::words::order::owed;
use crate::cli::words::state::{counted_before, failed_at, findings, no_issuer, past, timed};
use crate::resource::{Event, Finding, Issuer, NamespacedName, Reason};
use crate::workspace::view::CertificateView;

/// The summary, with the name in front where there is one.
pub(super) fn summary(
    view: &CertificateView,
    name: Option<&NamespacedName>,
    host: &Host,
    scene: &Scene,
) -> String {
    let mut lines = Lines::within(scene.columns());
    if let Some(name) = name {
        lines.add("Name", short(name));
    }
    let state = view.outlook.state;
    let word = state.paint().on(state.word(), scene.color);
    let sentence = state.sentence(view, scene);
    lines.painted("Status", (state.word(), &word), &format!("{} - {sentence}", state.word()));
    lines.add("Next attempt", next::sentence(view, scene));
    let notes = notes(view, host, scene);
    if let Some(overdue) = view.overdue {
        lines.add("Overdue", format!("since {}", scene.time(overdue.since)));
    }
    for Finding { subject, fact, fix, .. } in &notes {
        lines.add(subject, fact);
        let Some(hint) = fix.as_ref().map(Hint::from) else { continue };
        match hint.command() {
            Some(line) => lines.command("  Try", line, ""),
            None => lines.add("  Try", hint.to_string()),
        }
    }
    let found = findings(view);
    if let Some(found) = &found {
        let past = past(view, host.blocks(&view.key));
        failure(&mut lines, found, past, (&sentence, &failed_at(view, scene)));
    }
    if let Some(before) = counted_before(view, scene) {
        lines.add("Before that", before);
    }
    // What is in the way would stop that, too.
    let helps = fix::of_certificate(view).into_iter();
    for (fix, what) in helps.filter(|_| !host.blocks(&view.key)) {
        lines.command("Try", &fix::worded(&fix), what);
    }
    if let Some(back) = view.went_back() {
        let at = scene.time(back.done_at.unwrap_or(back.requested_at));
        lines.add("Rolled back", format!("from revision {} to {} at {at}", back.from, back.to));
    }
    names(&mut lines, view);
    lines.add("Issuer", issuer(view, scene));
    // A failure says it, and needs the room.
    if found.is_none() {
        lines.some("Validation", &ways(view));
    }
    certificate(&mut lines, view, scene);
    lines.add("Files", secret_path(view));
    lines.some("Deployment", &deployment(view));
    if let Some(certificate) = &view.certificate {
        let path = certificate.origin.path.to_string_lossy();
        lines.add("Manifest", format!("{}, line {}", escape(&path), certificate.origin.line));
    }
    let owed = owed(view);
    if !owed.is_empty() {
        lines.add("Clean-up", format!("{} to be removed", count(owed.len(), "challenge response")));
    }
    // That a slot is free says nothing of this certificate.
    let last = view.events.iter().rfind(|event| event.reason != Reason::Released);
    if let (None, Some(Event { time: at, message, .. })) = (&found, last) {
        let at = scene.local(*at);
        lines.add("Last event", format!("{at}: {}", escape(message.trim())));
    }
    let describe = format!("certctl describe {}", short(&view.key));
    lines.command("More", &describe, "");
    lines.text
}

/// When the last attempt failed and by what, what that means, and what to do about it. Of one that is
/// past, no more than that.
fn failure(lines: &mut Lines, found: &Diagnosis, past: Option<&str>, (status, at): (&str, &str)) {
    let title = escape(&found.title);
    if let Some(past) = past {
        return lines.add("Last failure", timed(&[at, past].concat(), &title));
    }
    let is_shown = status.contains(&*title);
    if !is_shown || !at.is_empty() {
        lines.add("Last failure", if is_shown { at.to_owned() } else { timed(at, &title) });
    }
    for (label, shown) in [("detail", "  Detail"), ("cause", "  Cause"), ("remedy", "  Remedy")] {
        for row in found.rows.iter().filter(|row| row.label == label) {
            let text: Vec<&str> = row.text.lines().collect();
            lines.some(shown, &text);
        }
    }
    for (at, fix) in found.fixes.iter().enumerate() {
        let label = if at == 0 { "  Try" } else { "" };
        lines.command(label, &escape(&fix::worded(fix)), "");
    }
}

fn names(lines: &mut Lines, view: &CertificateView) {
    let names: Vec<String> = view.names().iter().map(|name| escape(name).into_owned()).collect();
    lines.add("Names", listed(&names));
    // An edit is not in the certificate before it is issued.
    let missing: Vec<String> =
        view.names_not_issued().iter().map(|name| escape(name).into_owned()).collect();
    if !missing.is_empty() {
        lines.add("  Not issued", listed(&missing));
    }
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
        None => return lines.add("Certificate", no_leaf(view)),
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
struct Lines {
    text: String,
    /// How many columns a line has.
    columns: usize,
}

impl Lines {
    fn within(columns: usize) -> Self {
        Self { text: String::new(), columns }
    }

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

    /// A command, which is never broken, and what it is for where there is room.
    fn command(&mut self, label: &str, command: &str, what: &str) {
        let label = if label.is_empty() { String::new() } else { format!("{label}:") };
        let what = if what.is_empty() { String::new() } else { format!("   # {what}") };
        let whole = [command, &what].concat();
        let fits = WIDTH + whole.width() <= self.columns;
        let line = if fits { &whole } else { command };
        let is_wide = WIDTH + line.width() <= self.columns;
        let start = format!("{label:<WIDTH$}");
        if is_wide || label.is_empty() {
            self.text += &[&start, line, "\n"].concat();
        } else {
            self.text += &[start.trim_end(), "\n  ", line, "\n"].concat();
        }
    }

    /// A text with a word in it that has a colour.
    fn painted(&mut self, label: &str, (word, painted): (&str, &str), value: &str) {
        let begun = self.text.len();
        self.add(label, value);
        let line = self.text.split_off(begun);
        self.text += &line.replacen(word, painted, 1);
    }

    fn value(&mut self, label: &str, value: &str) {
        let indent = if self.columns < LEAST { NARROW } else { WIDTH };
        let line = behind(&format!("{label:<WIDTH$}"), value, indent, self.columns);
        self.text += &[&line, "\n"].concat();
    }
}

/// Of the longest label, with its colon and the space between.
const WIDTH: usize = 14;
/// In fewer columns, a value is continued further left.
const LEAST: usize = 60;
const NARROW: usize = 2;
