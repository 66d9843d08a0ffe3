//! The report on each certificate: a line on a terminal, a log line elsewhere, and none when
//! nothing was due and stderr is not a terminal.
//!
//! Contract: a failure or a wait is a [`Block`]; its last line names the next step. A
//! terminal gets local times, a log RFC 3339 in UTC, both with the relative time beside them.

mod block;
mod findings;
mod style;
mod tally;

use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use block::{Block, Next, Row};
use findings::DETAIL;
pub(crate) use findings::{Findings, of_failure};
pub(crate) use style::Style;
pub(crate) use tally::tally;

use crate::cli::exit::ExitCode;
use crate::cli::render::message::{Level, Message};
use crate::cli::render::output::{Output, escape};
use crate::cli::render::text::Text;
use crate::cli::words::advice::check_of_ca;
use crate::cli::words::count::{count, names};
use crate::cli::words::hint::Hint;
pub(crate) use crate::cli::words::hint::short;
use crate::cli::words::time;
use crate::engine::Issued;
use crate::report::{Details, Ending, Fault, Report};
use crate::resource::{Failure, FailureClass, NamespacedName, Rfc3339, rfc3339};
use crate::store::StateDirectory;

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
        if report.deploy_error.is_some() || details.rewritten.is_some() {
            return None;
        }
        let limit = details.limit.as_ref().map(|spent| (spent.limit, spent.of.clone()));
        let until = report.next_attempt.filter(|_| limit.is_none());
        Some((report.ending, limit, until, why.clone(), details.evidence.issuer.clone()))
    };
    let mut groups: Vec<(&Report, Vec<&Report>)> = Vec::new();
    // What the groups wait for, by their places.
    let mut known = Vec::new();
    for report in reports {
        let key = waits(report);
        let found = known.iter().find(|(other, _)| key.is_some() && *other == key);
        let group = found.and_then(|(_, place): &(_, usize)| groups.get_mut(*place));
        if let Some((_, others)) = group {
            others.push(report);
            continue;
        }
        if key.is_some() {
            known.push((key, groups.len()));
        }
        groups.push((report, Vec::new()));
    }
    // The one that is due, and that knows why.
    let rank = |r: &Report| (r.details.is_due, r.details.evidence.last_failure.is_some());
    for (first, others) in &mut groups {
        if let Some(best) = others.iter_mut().max_by_key(|other| rank(other))
            && rank(best) > rank(first)
        {
            std::mem::swap(first, best);
        }
    }
    groups
}

/// Whether other certificates may have failed by the very same: a CA that is away, an Issuer that
/// is missing, a port that is taken.
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
    state: &StateDirectory,
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
    let mut block = block(report, style);
    if let Some(block) = &mut block {
        block.rows.extend(also(alike, style));
    }
    if !report.details.is_due {
        let verdict = verdict(report);
        tracing::debug!(certificate = %name, "already reported within the last day: {verdict}");
    } else if output.talks_json() && !report.ending.is_well() {
        output.print(&for_programs(report, &block.unwrap_or_default()));
    } else if let Some(block) = block {
        output.print(&block.to_message(style.utf8));
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
            output.print(&undeployed(&name, fault, &report.details, style).to_message(style.utf8));
        }
    }
}

/// The JSON line.
fn for_programs(report: &Report, block: &Block) -> Message {
    let details = &report.details;
    let message = match &report.error {
        Some(fault) => failed(report, fault),
        None if report.ending == Ending::Interrupted => {
            about(report, Level::Warn, report.why(), report.ending.word())
        }
        None => about(report, Level::Warn, report.why(), ExitCode::Deferred.word()),
    };
    let rows = block.rows.iter().map(|row| json!({ "label": row.label, "text": row.text }));
    let checks = report.order.as_ref().map(|_| report.checks_text());
    message
        .with("next_attempt", report.next_attempt.map(|at| rfc3339(at.0)))
        .with_some("attempts", details.attempts)
        .with_some("order", report.order.clone())
        .with_some("since", details.since.map(rfc3339))
        .with_some("report", checks)
        .with_some("signal", details.signal)
        .with("details", rows.collect::<Vec<Value>>())
        .with("try", block.commands.iter().map(Hint::to_string).collect::<Vec<_>>())
}

fn failed(report: &Report, fault: &Fault) -> Message {
    let reason = fault.failure.as_ref().map(|failure| failure.reason().as_str());
    let failure = fault.failure.as_ref().and_then(|failure| serde_json::to_value(failure).ok());
    about(report, Level::Error, &fault.message, fault.class.word())
        .with_some("reason", reason)
        .with_some("failure", failure)
}

fn about(report: &Report, level: Level, message: &str, class: &str) -> Message {
    let certificate = report.key().to_string();
    Message::new(level, format!("{certificate}: {message}"), message)
        .with("certificate", certificate)
        .with("ending", report.ending.word())
        .with("class", class)
}

/// The block on a certificate that failed or waits.
pub(crate) fn block(report: &Report, style: &Style) -> Option<Block> {
    let (name, details) = (short(&report.key()), &report.details);
    let next_attempt = report.next_attempt.map(|at| at.0);
    let status = Hint::Command(format!("certctl status {name}"));
    let live = report.error.as_ref().and_then(|_| ends(report.not_after, style));
    let word = |otherwise| if report.error.is_some() { "error" } else { otherwise };
    let block = Block { certificate: name.clone(), ..Block::default() };
    match report.ending {
        Ending::Unchanged | Ending::Rewritten | Ending::Issued | Ending::Interrupted => None,
        Ending::Locked => Some(Block {
            word: "deferred",
            title: report.why().to_owned(),
            next: Some(Next::only("the next run retries; --lock-timeout waits longer")),
            ..block
        }),
        Ending::Deferred => {
            let found = of_deferral(details, &name, style);
            Some(Block {
                word: word("deferred"),
                title: found.title,
                tags: found.tags,
                rows: found.rows.into_iter().chain(live).collect(),
                commands: check_of_wait(details).into_iter().chain([status]).collect(),
                next: Some(next_of_deferral(details, next_attempt, &name, style)),
                ..block
            })
        }
        Ending::Pending => {
            let mut found = findings::of_wait(&details.wait, &details.evidence, &name);
            if found.rows.is_empty() {
                found.rows.extend(Row::new("check", report.checks_text()));
            }
            found.rows.extend(live);
            let commands = found.commands.into_iter().map(Hint::Command).chain([status]);
            let time = |word, at: Option<Timestamp>| {
                at.map(|at| format!("{word} {}", style.time(at))).unwrap_or_default()
            };
            let expires = details.evidence.order.as_ref().and_then(|order| order.expires);
            let (since, until) = (time(" since", details.since), time(", kept until", expires));
            let order = report.order.as_deref().unwrap_or_default();
            let anew = format!("certctl renew {name} --new-order");
            Some(Block {
                word: word("pending"),
                title: found.title,
                tags: report.error.iter().map(|fault| fault.class.word().to_owned()).collect(),
                rows: found.rows,
                commands: commands.collect(),
                next: Some(Next {
                    text: format!("order {order}{since}{until}; the next run continues it"),
                    or: Some(("for another order", Hint::Command(anew))),
                }),
                ..block
            })
        }
        Ending::Failed => {
            let fault = report.error.as_ref()?;
            let failure = fault.failure.as_ref()?.without_fixes();
            let found = of_failure(&failure, &details.evidence, &name, style);
            let attempt = details.attempts.map(|attempts| format!("attempt {attempts}"));
            let found_commands = found.commands.into_iter().map(Hint::Command);
            let mut commands: Vec<Hint> = fixes(details).chain(found_commands).collect();
            if !commands.contains(&status) {
                commands.push(status);
            }
            Some(Block {
                word: "error",
                title: found.title,
                tags: [fault.class.word().to_owned()].into_iter().chain(attempt).collect(),
                rows: places(details).into_iter().chain(found.rows).chain(live).collect(),
                commands,
                next: Some(if details.evidence.taken_back {
                    let again = Hint::Command(format!("certctl renew {name}"));
                    Next { text: NOT_REQUESTED.to_owned(), or: Some(("once fixed", again)) }
                } else {
                    next(next_attempt, &name, style)
                }),
                ..block
            })
        }
    }
}

/// Of a forced renewal that lacked something on this machine.
const NOT_REQUESTED: &str = "nothing was requested, and the certificate stays as it is";

/// The block on a certificate that is issued but not deployed.
fn undeployed(name: &NamespacedName, fault: &Fault, details: &Details, style: &Style) -> Block {
    let name = short(name);
    let last = details.deploy_last_try.map(|at| format!("failed {}, ", style.time(at)));
    let next = details.deploy_next_try.filter(|at| *at > style.now);
    let next = next.map(|at| format!("next try not before {}", style.time(at)));
    let next = next.unwrap_or_else(|| "the next run retries".to_owned());
    let text = last.unwrap_or_default() + &next;
    let command = Hint::Command(format!("certctl deploy {name}"));
    let failure = fault.failure.as_ref().map(Failure::without_fixes);
    let title = failure.map_or_else(|| fault.message.clone(), |failure| failure.to_string());
    let title = if details.deploy_last_try.is_some() {
        format!("not tried by this run: {title}")
    } else {
        title
    };
    Block {
        word: "error",
        title,
        tags: vec![fault.class.word().to_owned()],
        rows: places(details).into_iter().collect(),
        commands: fixes(details).collect(),
        next: Some(Next { text, or: Some(("once the cause is fixed", command)) }),
        certificate: name,
    }
}

/// Where the manifests ask for what this machine lacks.
fn places(details: &Details) -> Option<Row> {
    Row::new("at", details.places.join("\n"))
}

/// What to do about it.
fn fixes(details: &Details) -> impl Iterator<Item = Hint> {
    details.fixes.iter().cloned().map(Hint::from)
}

/// When the live certificate expires, if there is one.
fn ends(not_after: Option<Rfc3339>, style: &Style) -> Option<Row> {
    let at = not_after?.0;
    let word = if at > style.now { "still valid until" } else { "expired" };
    Row::new("current", format!("{word} {}", style.time(at)))
}

/// The lines about a wait.
struct Wait {
    title: String,
    tags: Vec<String>,
    rows: Vec<Row>,
}

/// Why a certificate waits. Of a backoff that is what the last attempt failed by, as it was told
/// then, and of that what the CA said; of any other wait the reason of the last failure is a row.
fn of_deferral(details: &Details, name: &str, style: &Style) -> Wait {
    let last = details.evidence.last_failure.as_ref();
    if let (Some(attempts), Some(last), false) = (details.attempts, last, is_limited(details)) {
        let found = of_failure(last, &details.evidence, name, style);
        let rows = found.rows.into_iter().filter(|row| row.label == DETAIL);
        let tags = vec![last.class.word().to_owned(), count_of(attempts, "failure")];
        return Wait { title: found.title, tags, rows: rows.collect() };
    }
    let because = |last: &Failure| Row::new("because", format!("{last} [{}]", last.class.word()));
    let rows = last.and_then(because).into_iter().collect();
    Wait { title: details.wait.clone(), tags: Vec::new(), rows }
}

fn count_of(number: u32, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// The command for a wait after what failed at the CA, except for its limits.
fn check_of_wait(details: &Details) -> Option<Hint> {
    let last = details.evidence.last_failure.as_ref().filter(|_| !is_limited(details));
    last.filter(|last| last.cause.at_the_ca().is_some())?;
    check_of_ca(&details.evidence.issuer).map(Hint::Command)
}

/// Whether it waits for a rate limit of the CA, published or not.
fn is_limited(details: &Details) -> bool {
    let problem = details.evidence.last_failure.as_ref().and_then(|last| last.cause.problem());
    details.limit.is_some() || problem.is_some_and(|problem| problem.short_kind() == "rateLimited")
}

/// The same of a certificate that waits, perhaps for a limit of the CA.
fn next_of_deferral(details: &Details, at: Option<Timestamp>, name: &str, style: &Style) -> Next {
    let Some(at) = at.filter(|_| is_limited(details)) else { return next(at, name, style) };
    let anyway = Hint::Command(format!("certctl renew {name} --ignore-limits"));
    let text = format!("next attempt {}", style.time(at));
    Next { text, or: Some(("to order anyway", anyway)) }
}

/// The next attempt.
fn next(at: Option<Timestamp>, name: &str, style: &Style) -> Next {
    match at {
        Some(at) => {
            let now = Hint::Command(format!("certctl renew {name}"));
            let text = format!("next attempt {}", style.time(at));
            Next { text, or: Some(("to retry now", now)) }
        }
        None => Next::only("not counted as an attempt; the next run retries"),
    }
}

/// How wide the names of these are, for lines below each other.
pub(crate) fn width_of_names<'a>(reports: impl Iterator<Item = &'a Report>) -> usize {
    let widths = reports.map(|report| short(&report.key()).chars().count());
    widths.filter(|width| *width <= LONGEST_NAME).max().unwrap_or_default()
}

/// A longer name moves its own line alone.
const LONGEST_NAME: usize = 32;

/// Whether nothing is to be told of it among many: it is as it was.
pub(crate) fn is_idle(report: &Report) -> bool {
    let Details { unreplaced, rewritten, evidence, .. } = &report.details;
    let is_reported = unreplaced.is_some() || rewritten.is_some() || evidence.adopted.is_some();
    report.ending == Ending::Unchanged && report.deploy_error.is_none() && !is_reported
}

/// Whether all went well: `-q` leaves it out.
pub(crate) fn is_well(report: &Report) -> bool {
    let is_left = report.details.unreplaced.is_some();
    report.ending.is_well() && !is_left && report.error.is_none() && report.deploy_error.is_none()
}

/// Reports a success or an interruption.
fn well(output: &mut Output, state: &StateDirectory, report: &Report, style: &Style) {
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
    let line = |dates: &str| {
        let what = match (&report.details.issued, report.ending) {
            (_, Ending::Interrupted) => report.why().to_owned(),
            (Some(_), _) => format!("{:<9}{dates}", "issued"),
            (None, _) if report.deploy_error.is_some() => format!("not deployed{dates}"),
            (None, _) => format!("{:<9}{dates}", "unchanged"),
        };
        format!("{:<width$}   {}", short(&name), what.trim_end(), width = style.names)
    };
    // What is needed least goes first where the line would not fit.
    let fits = |line: &String| line.chars().count() <= style.columns.unwrap_or(usize::MAX);
    let lines = [line(&(expires + &renews)), line(&renews)];
    let mut text = lines.into_iter().find(fits).unwrap_or_else(|| line(""));
    if let Some(issued) = &report.details.issued {
        let of: Vec<String> = issued.leaf.names().collect();
        if of.len() > 1 {
            text = format!("{text}\n      for {}", escape(&names(&of)));
        }
        for (label, of, advice) in
            [("new", &issued.added, NEW_NAMES), ("no longer", &issued.removed, REMOVED_NAMES)]
        {
            if !of.is_empty() {
                text = format!("{text}\n      {label}: {}; {advice}", escape(&names(of)));
            }
        }
        let secret = NamespacedName::new(&name.namespace, &issued.secret_name);
        if let Ok(folder) = state.secret_path(&secret) {
            let (file, key) = (folder.join("tls.crt"), escape(&issued.leaf.key_description));
            text = format!("{text}\n      {} ({key})", file.display());
        }
    }
    for what in &report.details.deployed {
        text = format!("{text}\n      deploy: {} ok", escape(what));
    }
    if let Some(what) = &report.details.left {
        let mut text =
            Text::from(format!("{text}\n      deploy: {} is still to run: ", escape(what)));
        text.command(&format!("certctl deploy {} --hooks now", short(&name)));
        return output.talk(Level::Info, text);
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

// Where a server chooses its certificate by the name that a client asks for.
const NEW_NAMES: &str = "a web server's configuration has to name it, too";
const REMOVED_NAMES: &str = "a web server that still names it fails there, over https";

/// One line: how it ended, for the end of a list of steps.
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
            let checks = report.checks.iter().flat_map(|check| {
                let details = if check.adds_to_its_verdict() { check.details() } else { vec![] };
                let details = details.into_iter().map(|line| format!("  {line}"));
                [format!("queried {}", check.query())].into_iter().chain(details)
            });
            let lines = checks.map(|line| format!("\n    {}", escape(&line)));
            let Details { wait, evidence, .. } = &report.details;
            let found = findings::of_wait(wait, evidence, &short(&report.key()));
            let why = escape(&found.title);
            format!("not validated in time: {why}{}", lines.collect::<String>())
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
