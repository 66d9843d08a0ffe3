//! `certctl status NAME`: one certificate on a screen: the verdict, what comes next, what the last
//! attempt failed by, names, dates and files. All that is known is on the page of `describe`.

use unicode_width::UnicodeWidthStr as _;

use super::ahead::{Host, notes};
use super::page::{NONE, or_none};
use super::validation::ways;
use crate::cli::render::text::behind;
use crate::cli::words::diagnosis::{DETAIL, Diagnosis, Row};
use crate::cli::words::next;
use crate::cli::words::order::owed;
use crate::cli::words::state::{counted_before, failed_at, findings, no_issuer, past, timed};
use crate::cli::{Hint, Paint, Scene, count, escape, first_names, fix, short};
use crate::resource::{Event, Finding, Issuer, NamespacedName, Reason};
use crate::workspace::view::CertificateView;

/// The summary, with the name in front where there is one.
pub(super) fn summary(
    view: &CertificateView,
    name: Option<&NamespacedName>,
    host: &Host,
    scene: &Scene,
) -> String {
    let mut lines =
        Lines { text: String::new(), columns: scene.columns(), width: WIDTH, most: MOST };
    if let Some(name) = name {
        lines.add("Name", short(name));
    }
    lines.head(view, host, scene);
    let owed = owed(view).len();
    if owed > 0 {
        lines.add("Clean-up", format!("{} to be removed", count(owed, "challenge response")));
    }
    // That a slot is free says nothing of this certificate.
    let last = view.events.iter().rfind(|event| event.reason != Reason::Released);
    if let (None, Some(Event { time: at, message, .. })) = (findings(view), last) {
        let at = scene.local(*at);
        lines.add("Last event", format!("{at}: {}", escape(message.trim())));
    }
    let describe = format!("certctl describe {}", short(&view.key));
    lines.command("More", &describe, "");
    lines.text
}

/// The same with all that there is of each, as `describe` begins.
pub(super) fn head(view: &CertificateView, host: &Host, scene: &Scene) -> String {
    let columns = scene.columns();
    let mut lines = Lines { text: String::new(), columns, width: 0, most: usize::MAX };
    lines.head(view, host, scene);
    lines.text
}

fn issuer(view: &CertificateView, scene: &Scene) -> String {
    let Some(reference) = view.issuer_ref() else { return NONE.to_owned() };
    let name = format!("{} ({})", reference.name, reference.kind);
    let Some(Issuer { acme, .. }) = &view.issuer else {
        return format!("{name}: {}", no_issuer(view));
    };
    let unverified = if acme.skip_tls_verify {
        format!(", {}", Paint::Bad.on("TLS NOT VERIFIED (skipTLSVerify)", scene.color))
    } else {
        String::new()
    };
    format!("{name}, {}{unverified}", escape(&acme.server))
}

/// Lines of `Label: value`.
struct Lines {
    text: String,
    /// Number of columns of a line.
    columns: usize,
    /// Where values begin.
    width: usize,
    /// Number of of several values are shown.
    most: usize,
}

impl Lines {
    /// The verdict, what comes next, what the last attempt failed by, names, dates and files.
    fn head(&mut self, view: &CertificateView, host: &Host, scene: &Scene) {
        let state = view.outlook.state;
        let sentence = state.sentence(view, scene);
        let begun = self.text.len();
        self.add("Status", format!("{} - {sentence}", state.word()));
        let line = self.text.split_off(begun);
        let word = state.paint().on(state.word(), scene.color);
        self.text += &line.replacen(state.word(), &word, 1);
        self.add("Next attempt", next::sentence(view, scene));
        if let Some(overdue) = view.overdue {
            let since = scene.time(overdue.since);
            self.add("Overdue", format!("since {since}, stage {}", overdue.stage.name()));
        }
        for Finding { subject, fact, fix, .. } in notes(view, host, scene) {
            self.add(&subject, fact);
            let Some(hint) = fix.as_ref().map(Hint::from) else { continue };
            match hint.command() {
                Some(line) => self.command("  Try", line, ""),
                None => self.add("  Try", hint.to_string()),
            }
        }
        let found = findings(view);
        if let Some(found) = &found {
            let past = past(view, host.blocks(&view.key));
            self.failure(found, past, (&sentence, &failed_at(view, scene)));
        }
        if let Some(before) = counted_before(view, scene) {
            self.add("Before that", before);
        }
        // What is in the way would stop that, too.
        let helps = fix::of_certificate(view).into_iter();
        for (fix, what) in helps.filter(|_| !host.blocks(&view.key)) {
            self.command("Try", &fix::worded(&fix), what);
        }
        if let Some(back) = view.went_back() {
            let at = scene.time(back.done_at.unwrap_or(back.requested_at));
            self.add("Rolled back", format!("from revision {} to {} at {at}", back.from, back.to));
        }
        self.names("Names", &view.names());
        // An edit is not in the certificate before it is issued.
        let missing = view.names_not_issued();
        if !missing.is_empty() {
            self.names("  Not issued", &missing);
        }
        self.add("Issuer", issuer(view, scene));
        // A failure says it, and needs the room.
        if found.is_none() {
            self.some("Validation", &ways(view, self.most));
        }
        self.add("Certificate", certificate(view, scene));
        self.add("Files", secret_path(view));
        self.some("Deployment", &deployment(view));
        if let Some(certificate) = &view.certificate {
            let path = certificate.origin.path.to_string_lossy();
            self.add("Manifest", format!("{}, line {}", escape(&path), certificate.origin.line));
        }
    }

    /// When the last attempt failed and by what, what that means, and what to do about it. Of one that
    /// is past, no more than that.
    fn failure(&mut self, found: &Diagnosis, past: Option<&str>, (status, at): (&str, &str)) {
        let title = escape(&found.title);
        if let Some(past) = past {
            return self.add("Last failure", timed(&[at, past].concat(), &title));
        }
        let is_shown = status.contains(&*title);
        if !is_shown || !at.is_empty() {
            self.add("Last failure", if is_shown { at.to_owned() } else { timed(at, &title) });
        }
        for Row { label, text } in &found.rows {
            if self.most == usize::MAX || IN_SHORT.contains(label) {
                let (first, rest) = label.split_at(label.len().min(1));
                let label = format!("  {}{rest}", first.to_uppercase());
                self.some(&label, &text.lines().collect::<Vec<_>>());
            }
        }
        for (at, fix) in found.fixes.iter().enumerate() {
            let label = if at == 0 { "  Try" } else { "" };
            self.command(label, &escape(&fix::worded(fix)), "");
        }
    }

    fn add(&mut self, label: &str, value: impl AsRef<str>) {
        let label = self.label(label);
        self.value(&label, or_none(value.as_ref()));
    }

    fn names(&mut self, label: &str, names: &[String]) {
        self.add(label, escape(&first_names(names, self.most)));
    }

    /// A few of several values, one a line; nothing where there is none.
    fn some(&mut self, label: &str, values: &[impl AsRef<str>]) {
        let (shown, others) = values.split_at(values.len().min(self.most));
        let mut label = self.label(label);
        for value in shown {
            self.value(&label, &escape(value.as_ref()));
            label = " ".repeat(self.indent());
        }
        if !others.is_empty() {
            self.value(&label, &format!("and {} more", others.len()));
        }
    }

    /// A command, which is never broken, and what it is for where there is room.
    fn command(&mut self, label: &str, command: &str, what: &str) {
        let start = if label.is_empty() { " ".repeat(self.indent()) } else { self.label(label) };
        let what = if what.is_empty() { String::new() } else { format!("   # {what}") };
        let whole = [start.as_str(), command, &what].concat();
        let short = [start.as_str(), command].concat();
        let below = [start.trim_end(), "\n  ", command].concat();
        let fits = |line: &str| line.width() <= self.columns;
        self.text += match (fits(&whole), fits(&short) || label.is_empty()) {
            (true, _) => &whole,
            (false, true) => &short,
            (false, false) => &below,
        };
        self.text += "\n";
    }

    fn label(&self, label: &str) -> String {
        format!("{:<1$}", format!("{label}: "), self.width)
    }

    fn indent(&self) -> usize {
        if self.columns < LEAST { NARROW } else { self.width.max(NARROW) }
    }

    fn value(&mut self, label: &str, value: &str) {
        let line = behind(label, value, self.indent(), self.columns);
        self.text += &[&line, "\n"].concat();
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
/// Width of the longest label, with its colon and the space between.
const WIDTH: usize = 14;
/// In fewer columns, a value is continued further left.
const LEAST: usize = 60;
const NARROW: usize = 2;
/// So many names, or things that a certificate waits for, are in a summary.
const MOST: usize = 3;
