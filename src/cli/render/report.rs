//! The report on each certificate: a line on a terminal, a log line elsewhere, and none when
//! nothing was due and stderr is not a terminal.
//!
//! Contract: a failure or a wait is a [`Diagnosis`]; its last line names the next step. A
//! terminal gets local times, a log RFC 3339 in UTC, both with the relative time beside them.

mod style;
mod tally;

use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use style::Style;
pub(crate) use tally::{counts, tally, word_of};

use crate::cli::words::diagnosis::{DETAIL, Diagnosis, Row, of_failure, of_wait};
pub(crate) use crate::cli::words::hint::short;
use crate::cli::words::problem::check_of_ca;
use crate::cli::{
    ExitCode, Hint, Level, Message, Output, Paint, Text, count, escape, fix, names, time,
};
use crate::engine::Issued;
use crate::report::{Details, Ending, Fault, Report};
use crate::resource::{Failure, FailureClass, Fix, NamespacedName, Reissue, Rfc3339, rfc3339};
use crate::store::{LiveFiles, Store};

/// Each report to print, with the certificates that wait for the same, or met the same silence: a
/// rate limit of a CA concerns many certificates, as does a CA that is away or an Issuer that is
/// missing, and is one message.
pub(crate) fn alike(reports: &[Report]) -> Vec<(&Report, Vec<&Report>)> {
    let waits = |report: &Report| {
        let details = &report.details;
        let why = match &report.error {
            None if report.ending == Ending::Deferred => &details.wait,
            Some(fault) if is_of_many(fault) => &fault.message,
            None | Some(_) => return None,
        };
        let is_alone = report.deploy_error.is_some() || details.rewritten.is_some();
        let limit = details.limit.as_ref().map(|spent| (spent.limit, spent.of.clone()));
        let until = report.next_attempt.filter(|_| limit.is_none());
        let issuer = details.evidence.issuer.clone();
        (!is_alone).then(|| (details.is_due, report.ending, limit, until, why.clone(), issuer))
    };
    let mut groups: Vec<(_, &Report, Vec<&Report>)> = Vec::new();
    for report in reports {
        let key = waits(report);
        let known = groups.iter_mut().find(|(other, ..)| key.is_some() && *other == key);
        match known {
            Some((.., others)) => others.push(report),
            None => groups.push((key, report, Vec::new())),
        }
    }
    groups.into_iter().map(|(_, first, others)| (first, others)).collect()
}

/// Returns whether other certificates may have failed by the very same: a CA that is away, an
/// Issuer that is missing, a port that is taken.
fn is_of_many(fault: &Fault) -> bool {
    matches!(fault.class, FailureClass::Unreachable | FailureClass::Precondition)
}

/// The certificates that wait for the same as one that is reported.
fn also(alike: &[&Report], style: &Style) -> Option<Row> {
    let mut names: Vec<String> = alike.iter().map(|other| short(&other.key())).collect();
    names.sort_unstable();
    let last = alike.iter().filter(|other| other.details.limit.is_some());
    let last = last.filter_map(|other| other.next_attempt).max_by_key(|at| at.0);
    let last = last.map(|at| format!("; the last {}", style.time(at.0))).unwrap_or_default();
    Row::new("also", names.join(", ") + &last)
}

/// Reports how one certificate ended, as text or as JSON; and which others wait with it.
pub(crate) fn print(
    output: &mut Output,
    state: &impl Store,
    report: &Report,
    alike: &[&Report],
    style: &Style,
) {
    let name = report.key();
    if let Some(what) = &report.details.evidence.adopted {
        output.talk(Level::Info, format!("{}   adopted   {}", short(&name), escape(what)));
    }
    if let Some(why) = &report.details.rewritten {
        rewritten(output, &name, why);
    }
    let mut found = diagnosis(report, style);
    if let Some(found) = &mut found {
        found.rows.extend(also(alike, style));
    }
    if !report.details.is_due {
        let verdict = verdict(report);
        tracing::debug!(certificate = %name, "already reported within the last day: {verdict}");
    } else if output.talks_json() && !report.ending.is_well() {
        output.print(&for_programs(report, &found.unwrap_or_default()));
    } else if let Some(found) = found {
        let word = if report.error.is_some() { "error" } else { report.ending.word() };
        let word = if report.ending == Ending::Locked { "deferred" } else { word };
        output.print(&message(word, &short(&name), &found, style.utf8));
    } else if let Some(why) = &report.details.unreplaced {
        let text = format!("{}: {why}; nothing is issued\n  to replace it: ", short(&name));
        let again = format!("certctl renew {}", short(&name));
        output.talk(Level::Warn, Text::from(text).with_command(&again));
    } else if report.ending != Ending::Rewritten {
        well(output, state, report, style);
    }
    // Of a renewal that is taken back, its own error says all.
    let is_due = report.details.deploy_is_due && !report.details.evidence.taken_back;
    if let Some(fault) = report.deploy_error.as_ref().filter(|_| is_due) {
        if output.talks_json() {
            output.print(&failed(report, fault).with("next_attempt", Value::Null));
        } else {
            output.print(&undeployed(&name, fault, &report.details, style));
        }
    }
}

/// The JSON line.
fn for_programs(report: &Report, found: &Diagnosis) -> Message {
    let details = &report.details;
    let message = match &report.error {
        Some(fault) => failed(report, fault),
        None if report.ending == Ending::Interrupted => {
            about(report, Level::Warn, report.why(), report.ending.word())
        }
        None => about(report, Level::Warn, report.why(), ExitCode::Deferred.word()),
    };
    let rows = found.rows.iter().map(|row| json!({ "label": row.label, "text": row.text }));
    let checks = report.order.as_ref().map(|_| report.checks_text());
    message
        .with("next_attempt", report.next_attempt.map(|at| rfc3339(at.0)))
        .with_some("attempts", details.attempts)
        .with_some("order", report.order.clone())
        .with_some("since", details.since.map(rfc3339))
        .with_some("report", checks)
        .with_some("signal", details.signal)
        .with("details", rows.collect::<Vec<Value>>())
        .with("try", found.fixes.iter().map(fix::worded).collect::<Vec<_>>())
}

fn failed(report: &Report, fault: &Fault) -> Message {
    let reason = fault.failure.as_ref().map(|failure| failure.reason().as_str());
    let problem = fault.problem.as_ref().and_then(|problem| serde_json::to_value(problem).ok());
    about(report, Level::Error, &fault.message, fault.class.word())
        .with_some("reason", reason)
        .with_some("problem", problem)
}

fn about(report: &Report, level: Level, message: &str, class: &str) -> Message {
    let certificate = report.key().to_string();
    Message::new(level, format!("{}: {message}", short(&report.key())), message)
        .with("certificate", certificate)
        .with("ending", report.ending.word())
        .with("class", class)
}

/// Collects the known facts of a certificate that failed or waits.
fn diagnosis(report: &Report, style: &Style) -> Option<Diagnosis> {
    let (key, details) = (report.key(), &report.details);
    let mut found = match report.ending {
        Ending::Unchanged | Ending::Rewritten | Ending::Issued | Ending::Interrupted => {
            return None;
        }
        Ending::Locked => {
            let (title, next) = (report.why().to_owned(), LOCKED.to_owned());
            return Some(Diagnosis { title, next, ..Diagnosis::default() });
        }
        Ending::Deferred => next(of_deferral(details, &key), report, style),
        Ending::Pending => {
            let mut found = of_wait(&details.wait, &details.evidence);
            if found.rows.is_empty() {
                found.rows.extend(Row::new("check", report.checks_text()));
            }
            found.tags.extend(report.error.iter().map(|fault| fault.class.word().to_owned()));
            let time = |word, at: Option<Timestamp>| {
                at.map(|at| format!("{word} {}", style.time(at))).unwrap_or_default()
            };
            let expires = details.evidence.order.as_ref().and_then(|order| order.expires);
            let (since, until) = (time(" since", details.since), time(", kept until", expires));
            let order = report.order.as_deref().unwrap_or_default();
            found.next = format!("order {order}{since}{until}; the next run continues it");
            found.or = Some(("for another order", Fix::renew(&key, Reissue::NewOrder)));
            found
        }
        Ending::Failed => {
            let fault = report.error.as_ref()?;
            let failure = fault.failure.as_ref()?;
            let mut found = of_failure(failure, &details.evidence, Some(&key));
            found.tags.push(fault.class.word().to_owned());
            found.tags.extend(details.attempts.map(|attempts| format!("attempt {attempts}")));
            found.rows.splice(0..0, places(details));
            found.fixes.splice(0..0, fixes(details, Some(failure)));
            if details.evidence.taken_back {
                let or = Some(("once fixed", Fix::renew(&key, Reissue::Plain)));
                Diagnosis { next: NOT_REQUESTED.to_owned(), or, ..found }
            } else {
                next(found, report, style)
            }
        }
    };
    found.rows.extend(report.error.as_ref().and_then(|_| ends(report.not_after, style)));
    let status = Fix::status(&key);
    if !found.fixes.contains(&status) {
        found.fixes.push(status);
    }
    Some(found)
}

/// The message: a title, labelled rows, commands, and the next step; only an error has the level ERROR.
/// Without characters of ours beyond ASCII unless `utf8`.
pub(crate) fn message(word: &str, subject: &str, found: &Diagnosis, utf8: bool) -> Message {
    let is_error = word == "error";
    let (level, paint) =
        if is_error { (Level::Error, Paint::Bad) } else { (Level::Warn, Paint::Warn) };
    let Diagnosis { title, tags, rows, fixes, next, or } = found;
    let shown = |text: &str| {
        let text = escape(text);
        if utf8 { text.into_owned() } else { text.replace('…', "...") }
    };
    let tags = if tags.is_empty() { String::new() } else { format!(" [{}]", tags.join(", ")) };
    let mut body = Text::from(shown(&format!("{subject}: {title}{tags}")));
    let label = |body: &mut Text, label: &str, is_bold: bool| {
        body.push("\n  ");
        if is_bold {
            body.paint(Paint::Bold, label);
        } else {
            body.push(label);
        }
        body.push(&" ".repeat((WIDTH + 2).saturating_sub(label.len())));
        body.hang();
    };
    for Row { label: word, text } in rows {
        for (at, line) in text.lines().enumerate() {
            label(&mut body, if at == 0 { word } else { "" }, false);
            body.push(&shown(line.trim_end()));
        }
    }
    for (at, hint) in hints(fixes).iter().enumerate() {
        label(&mut body, if at == 0 { "try" } else { "" }, true);
        body.hint(hint);
    }
    if !next.is_empty() {
        body.push(&format!("\n  {}", shown(next)));
    }
    if let Some((what, fix)) = or {
        body.push(&format!("; {what}: "));
        body.hint(&Hint::from(fix));
    }
    let line = body.to_string();
    Message::new(level, Text::led_by(word, paint, body), line)
}

/// Sorts fixes that remove a cause before those that show more.
fn hints(fixes: &[Fix]) -> Vec<Hint> {
    let mut hints: Vec<Hint> = fixes.iter().map(Hint::from).collect();
    hints.sort_by_key(|hint| matches!(hint, Hint::Command(_)));
    hints
}

/// Width of the longest label: `instance`.
const WIDTH: usize = 8;
const LOCKED: &str = "the next run retries; --lock-timeout waits longer";
/// Note on a forced renewal that lacked something on this machine.
const NOT_REQUESTED: &str = "nothing was sent to the CA; the certificate is unchanged";

/// The message on a certificate that is issued but not deployed.
fn undeployed(name: &NamespacedName, fault: &Fault, details: &Details, style: &Style) -> Message {
    let last = details.deploy_last_try.map(|at| format!("failed {}, ", style.time(at)));
    let next = details.deploy_next_try.filter(|at| *at > style.now);
    let next = next.map(|at| format!("next attempt not before {}", style.time(at)));
    let next = next.unwrap_or_else(|| "the next run retries".to_owned());
    let tried = if last.is_some() { "not tried by this run: " } else { "" };
    let found = Diagnosis {
        title: format!("{tried}{}", fault.message),
        tags: vec![fault.class.word().to_owned()],
        rows: places(details).into_iter().collect(),
        fixes: fixes(details, fault.failure.as_ref()),
        next: last.unwrap_or_default() + &next,
        or: Some(("once the cause is fixed", Fix::Deploy(Some(name.clone())))),
    };
    message("error", &short(name), &found, style.utf8)
}

/// Where the manifests ask for what this machine lacks.
fn places(details: &Details) -> Option<Row> {
    Row::new("at", details.places.join("\n"))
}

/// Lists the fixes: for the lacks of this machine, and of the failure itself.
fn fixes(details: &Details, failure: Option<&Failure>) -> Vec<Fix> {
    let own = failure.map(|failure| failure.cause.fixes()).unwrap_or_default();
    let own = own.into_iter().filter(|fix| !details.fixes.contains(fix));
    details.fixes.iter().cloned().chain(own).collect()
}

/// When the live certificate expires, if there is one.
fn ends(not_after: Option<Rfc3339>, style: &Style) -> Option<Row> {
    let at = not_after?.0;
    let word = if at > style.now { "still valid until" } else { "expired" };
    Row::new("current", format!("{word} {}", style.time(at)))
}

/// Explains a wait. For a backoff it repeats the cause of the last attempt and the CA's answer; for
/// any other wait the reason of the last failure is a row.
fn of_deferral(details: &Details, key: &NamespacedName) -> Diagnosis {
    let last = details.evidence.last_failure.as_ref();
    let is_limited = is_limited(details, last);
    let at_the_ca = last.filter(|last| !is_limited && last.cause.at_the_ca().is_some());
    let fixes = at_the_ca.and_then(|_| check_of_ca(&details.evidence.issuer)).into_iter().collect();
    let found = if let (Some(attempts), Some(last), false) = (details.attempts, last, is_limited) {
        let mut found = of_failure(last, &details.evidence, Some(key));
        found.rows.retain(|row| row.label == DETAIL);
        let failures = count(usize::try_from(attempts).unwrap_or(usize::MAX), "failure");
        Diagnosis { tags: vec![last.class.word().to_owned(), failures], ..found }
    } else {
        let because =
            |last: &Failure| Row::new("because", format!("{last} [{}]", last.class.word()));
        let rows = last.and_then(because).into_iter().collect();
        Diagnosis { title: details.wait.clone(), rows, ..Diagnosis::default() }
    };
    Diagnosis { fixes, ..found }
}

/// Returns whether it waits for a rate limit of the CA, published or not.
fn is_limited(details: &Details, failure: Option<&Failure>) -> bool {
    let problem = failure.and_then(|failure| failure.cause.problem());
    details.limit.is_some() || problem.is_some_and(|problem| problem.short_kind() == "rateLimited")
}

/// The next attempt; and how to make it sooner, unless the CA has set the time.
fn next(found: Diagnosis, report: &Report, style: &Style) -> Diagnosis {
    let details = &report.details;
    let failure = report.error.as_ref().and_then(|fault| fault.failure.as_ref());
    let failure = failure.or(details.evidence.last_failure.as_ref());
    let Some(Rfc3339(at)) = report.next_attempt else {
        let next = "not counted as an attempt; the next run retries".to_owned();
        return Diagnosis { next, or: None, ..found };
    };
    let is_own = details.attempts.is_some() && !is_limited(details, failure);
    let now = ("to retry now", Fix::renew(&report.key(), Reissue::Plain));
    let next = format!("next attempt {}", style.time(at));
    Diagnosis { next, or: is_own.then_some(now), ..found }
}

/// Returns the width of the longest of these names, for lines below each other.
pub(crate) fn width_of_names<'a>(reports: impl Iterator<Item = &'a Report>) -> usize {
    let widths = reports.map(|report| short(&report.key()).chars().count());
    widths.filter(|width| *width <= LONGEST_NAME).max().unwrap_or_default()
}

/// A longer name moves its own line alone.
const LONGEST_NAME: usize = 32;

/// Returns whether nothing is to be told of it among many: it is as it was.
pub(crate) fn is_idle(report: &Report) -> bool {
    let Details { unreplaced, rewritten, evidence, .. } = &report.details;
    let is_reported = unreplaced.is_some() || rewritten.is_some() || evidence.adopted.is_some();
    report.ending == Ending::Unchanged && report.deploy_error.is_none() && !is_reported
}

/// Returns whether all went well: `-q` leaves it out.
pub(crate) fn is_well(report: &Report) -> bool {
    let is_left = report.details.unreplaced.is_some();
    report.ending.is_well() && !is_left && report.error.is_none() && report.deploy_error.is_none()
}

/// Reports a success or an interruption.
fn well(output: &mut Output, state: &impl Store, report: &Report, style: &Style) {
    let name = report.key();
    let Some(zone) = style.zone.as_ref() else {
        if report.ending == Ending::Interrupted {
            output.talk(Level::Info, format!("{}: {}", short(&name), report.why()));
        } else {
            log_well(&name, report);
        }
        return;
    };
    let now = style.now;
    // As in the table of `status`: in 80 columns with a name of 18.
    let date = |label: &str, Rfc3339(at): Rfc3339| {
        let distance = time::relative(at, now);
        let distance = distance.strip_prefix("in ").unwrap_or(&distance);
        format!("   {label} {} {distance}", time::local_date(at, zone))
    };
    let expires = report.not_after.map(|at| date("expires", at)).unwrap_or_default();
    let renews = report.renewal_time.map(|at| date("renews", at)).unwrap_or_default();
    let what = match (&report.details.issued, report.ending) {
        (_, Ending::Interrupted) => report.why(),
        (Some(_), _) => "issued   ",
        (None, _) if report.deploy_error.is_some() => "not deployed",
        (None, _) => "unchanged",
    };
    let head = format!("{:<width$}   {what}", short(&name), width = style.names);
    // On a line that would be too long, the renewal alone.
    let lines = [format!("{head}{expires}{renews}"), format!("{head}{renews}")];
    let fits = |line: &&String| line.chars().count() <= style.columns.unwrap_or(usize::MAX);
    let line = lines.iter().find(fits).unwrap_or(&head);
    let mut text = Text::from(line.trim_end());
    if let Some(issued) = &report.details.issued {
        let of: Vec<String> = issued.leaf.names().collect();
        let of = if of.len() > 1 { of.as_slice() } else { &[] };
        for (label, of) in [("for", of), ("new:", &issued.added), ("no longer:", &issued.removed)] {
            if !of.is_empty() {
                text.push(&format!("\n      {label} {}", escape(&names(of))));
            }
        }
        let secret = NamespacedName::new(&name.namespace, &issued.secret_name);
        if let Ok(folder) = state.live_files().secret_path(&secret) {
            let (file, key) = (folder.join("tls.crt"), escape(&issued.leaf.key_description));
            text.push(&format!("\n      {} ({key})", file.display()));
        }
    }
    for what in &report.details.deployed {
        text.push(&format!("\n      deploy: {} ok", escape(what)));
    }
    if let Some(what) = &report.details.left {
        text.push(&format!("\n      deploy: {} is still to run: ", escape(what)));
        text.command(&format!("certctl deploy {} --hooks now", short(&name)));
    }
    output.talk(Level::Info, text);
}

fn log_well(name: &NamespacedName, report: &Report) {
    let Some(issued) = &report.details.issued else {
        tracing::debug!(certificate = %name, "unchanged");
        return;
    };
    tracing::info!(
        certificate = %name,
        not_after = rfc3339(issued.leaf.not_after),
        renew_at = issued.renewal_time.map(rfc3339).unwrap_or_default(),
        serial = issued.leaf.serial,
        revision = issued.revision,
        "issued"
    );
}

/// Describes the ending in one line, for the end of a list of steps.
pub(crate) fn verdict(report: &Report) -> String {
    let why = escape(report.why());
    match report.ending {
        Ending::Issued => match &report.details.issued {
            Some(Issued { leaf, .. }) => {
                format!("issued: {}, until {}", leaf.key_description, rfc3339(leaf.not_after))
            }
            None => report.ending.word().to_owned(),
        },
        Ending::Failed => {
            let class = report.error.as_ref().map_or("", |fault| fault.class.word());
            format!("failed [{class}]: {why}")
        }
        Ending::Pending => {
            let Details { wait, evidence, .. } = &report.details;
            let why = of_wait(wait, evidence).title;
            let checks = report.checks_text();
            let lines = checks.lines().map(|line| format!("\n    {}", escape(line)));
            format!("not validated in time: {}{}", escape(&why), lines.collect::<String>())
        }
        Ending::Deferred => format!("deferred: {why}"),
        Ending::Locked => why.into_owned(),
        Ending::Interrupted => report.ending.word().to_owned(),
        Ending::Unchanged | Ending::Rewritten => "nothing to do".to_owned(),
    }
}

/// Reports that the live pair was written in other formats.
fn rewritten(output: &mut Output, name: &NamespacedName, why: &str) {
    if output.talks_to_terminal() {
        let text = format!("{}   rewritten   {}", short(name), escape(why));
        output.talk(Level::Info, &text);
    } else {
        tracing::info!(certificate = %name, "{}", escape(why));
    }
}

#[cfg(test)]
mod tests;
