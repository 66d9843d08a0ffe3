//! What a run says of each certificate: a line for a person, a log line for anybody else, and
//! nothing when nothing was due and nobody watches.
//!
//! Contract: what is not as it should be is a [`Block`], whose last line says what comes next. A
//! terminal gets local times, a log RFC 3339 in UTC, both with the relative time beside them.

mod block;
mod findings;

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(crate) use block::{Block, Row};
pub(crate) use findings::{Findings, of_failure, problem_of};

use super::output::{Output, escape};
use super::shell::Shell;
use super::time;
use crate::controller::Deferral;
use crate::engine::{Ended, Ending, Evidence, Issued};
use crate::resource::{FailureClass, NamespacedName};
use crate::store::StateDirectory;

/// Who reads, and when.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// The time of telling.
    pub(crate) now: Timestamp,
    /// The reader's zone; `None` for a log.
    pub(crate) zone: Option<TimeZone>,
    /// Whether more than ASCII can be shown.
    pub(crate) utf8: bool,
}

impl Look {
    /// For whoever reads this process's stderr.
    pub(crate) fn of(shell: &Shell, now: Timestamp) -> Self {
        let is_watched = shell.output.talks_to_terminal() && !shell.output.talks_json();
        let zone = is_watched.then(time::system_zone);
        Self { now, zone, utf8: shell.environment.is_utf8() }
    }

    /// A time with the relative one beside it.
    pub(crate) fn time(&self, at: Timestamp) -> String {
        time::told(at, self.now, self.zone.as_ref())
    }
}

/// Says how one certificate ended.
pub(crate) fn ending(output: &mut Output, state: &StateDirectory, end: &Ended, look: &Look) {
    if let Some(why) = &end.rewritten {
        rewritten(output, &end.certificate, why);
    }
    if end.is_news {
        match (&end.ending, block(end, look)) {
            (_, Some(block)) => output.talk(&block.text(look.utf8)),
            (Ending::Unchanged { .. }, None) if end.rewritten.is_some() => {}
            (_, None) => well(output, state, end, look),
        }
    } else {
        let name = &end.certificate;
        tracing::debug!(certificate = %name, "told within the last day: {}", verdict(end));
    }
    if let Some(block) = undeployed(end) {
        output.talk(&block.text(look.utf8));
    }
}

/// What is told of a certificate that is not as it should be.
pub(crate) fn block(end: &Ended, look: &Look) -> Option<Block> {
    let (name, evidence) = (short(&end.certificate), &end.evidence);
    let block = Block { certificate: name.clone(), ..Block::default() };
    match &end.ending {
        Ending::Unchanged { .. } | Ending::Issued(_) | Ending::Interrupted { .. } => None,
        Ending::Locked { holder } => Some(Block {
            word: "deferred",
            title: format!("locked by {holder}"),
            next: "the next run tries again; --lock-timeout waits longer".to_owned(),
            ..block
        }),
        Ending::Deferred { until, why, urgent } => {
            let mut rows = Vec::new();
            rows.extend(evidence.last_failure.as_ref().and_then(|last| {
                Row::new("because", format!("{last} [{}]", class_word(last.class)))
            }));
            rows.extend(urgent.and_then(|_| ends(evidence, look)));
            Some(Block {
                word: if urgent.is_some() { "error" } else { "deferred" },
                title: deferral(why, None),
                rows,
                commands: vec![format!("certctl status {name}")],
                next: next(*until, &name, look),
                ..block
            })
        }
        Ending::Pending { order, why, overdue, since } => {
            let mut found = findings::of_wait(why, evidence);
            if found.rows.is_empty() {
                found.rows.extend(Row::new("our look", evidence.checks()));
            }
            if *overdue {
                found.rows.extend(ends(evidence, look));
            }
            found.commands.push(format!("certctl status {name}"));
            let kept = evidence.order.as_ref().and_then(|order| order.expires);
            let kept =
                kept.map_or_else(String::new, |at| format!(", kept until {}", look.time(at)));
            let since = look.time(*since);
            Some(Block {
                word: if *overdue { "error" } else { "pending" },
                title: found.title,
                tags: overdue
                    .then(|| class_word(FailureClass::Validation).to_owned())
                    .into_iter()
                    .collect(),
                rows: found.rows,
                commands: found.commands,
                next: format!("order {order} since {since}{kept}; the next run goes on with it"),
                ..block
            })
        }
        Ending::Failed { failure, attempts, next_attempt } => {
            let found = of_failure(failure, evidence, &name, look);
            let attempt = attempts.map(|attempts| format!("attempt {attempts}"));
            let mut commands = found.commands;
            let status = format!("certctl status {name}");
            if !commands.contains(&status) {
                commands.push(status);
            }
            let mut rows = found.rows;
            rows.extend(ends(evidence, look));
            Some(Block {
                word: "error",
                title: found.title,
                tags: [class_word(failure.class).to_owned()].into_iter().chain(attempt).collect(),
                rows,
                commands,
                next: next(*next_attempt, &name, look),
                ..block
            })
        }
    }
}

/// What is told of a pair that is issued and not where it is to be used.
fn undeployed(end: &Ended) -> Option<Block> {
    let undeployed = end.undeployed.as_ref().filter(|undeployed| undeployed.is_news)?;
    let name = short(&end.certificate);
    Some(Block {
        word: "error",
        title: undeployed.failure.to_string(),
        tags: vec![class_word(undeployed.failure.class).to_owned()],
        commands: vec![format!("certctl status {name}")],
        next: format!("tried again by the next run; now: certctl deploy {name}"),
        certificate: name,
        ..Block::default()
    })
}

/// When the live certificate ends, if there is one: how much time there is.
fn ends(evidence: &Evidence, look: &Look) -> Option<Row> {
    let at = evidence.not_after?;
    let word = if at > look.now { "in place until" } else { "expired" };
    Row::new("live", format!("{word} {}", look.time(at)))
}

fn next(at: Option<Timestamp>, name: &str, look: &Look) -> String {
    match at {
        Some(at) => {
            format!("next attempt {}; fixed already? certctl renew {name}", look.time(at))
        }
        None => "not counted as an attempt; the next run tries again".to_owned(),
    }
}

/// Why an issuance waits; with the time unless that stands beside it.
pub(crate) fn deferral(why: &Deferral, until: Option<Timestamp>) -> String {
    let until = until.map(time::rfc3339);
    match why {
        Deferral::Backoff { .. } => {
            let next = until.map(|at| format!(". Issuance will next be attempted at {at}"));
            "Backing off from issuance due to previously failed issuance(s)".to_owned()
                + &next.unwrap_or_default()
        }
        Deferral::RetryAfter => {
            let until = until.map(|at| format!(" until {at}"));
            "the CA asked to be left alone".to_owned() + &until.unwrap_or_default()
        }
        Deferral::Progress(what) => what.clone(),
    }
}

/// How it ended, when all is well.
fn well(output: &mut Output, state: &StateDirectory, end: &Ended, look: &Look) {
    let name = &end.certificate;
    let Some(zone) = look.zone.as_ref() else {
        match &end.ending {
            Ending::Issued(issued) => log_issued(name, issued),
            Ending::Interrupted { .. } => {
                output.talk(&format!("{}: interrupted; the next run goes on", short(name)));
            }
            Ending::Unchanged { .. }
            | Ending::Deferred { .. }
            | Ending::Locked { .. }
            | Ending::Pending { .. }
            | Ending::Failed { .. } => tracing::debug!(certificate = %name, "unchanged"),
        }
        return;
    };
    let now = look.now;
    let dates = |not_after: Option<Timestamp>, renewal_time: Option<Timestamp>| {
        let expires = not_after.map(|at| {
            let date = time::local_date(at, zone);
            format!("   expires {date} ({})", time::length(now.duration_until(at)))
        });
        let renews = renewal_time.map(|at| {
            format!("   renews {} ({})", time::local_date(at, zone), time::relative(at, now))
        });
        expires.unwrap_or_default() + &renews.unwrap_or_default()
    };
    let mut text = match &end.ending {
        Ending::Issued(issued) => {
            let Issued { leaf, renewal_time, .. } = &**issued;
            let dates = dates(Some(leaf.not_after), *renewal_time);
            format!("{}   issued{dates}   {}", short(name), escape(&leaf.key_description))
        }
        Ending::Unchanged { not_after, renewal_time } => {
            format!("{}   unchanged{}", short(name), dates(*not_after, *renewal_time))
        }
        Ending::Interrupted { .. } => {
            format!("{}   interrupted; the next run goes on", short(name))
        }
        Ending::Deferred { .. }
        | Ending::Locked { .. }
        | Ending::Pending { .. }
        | Ending::Failed { .. } => return,
    };
    if let Ending::Issued(issued) = &end.ending {
        let secret = NamespacedName::new(&name.namespace, &issued.secret_name);
        if let Ok(folder) = state.secret_path(&secret) {
            text = format!("{text}\n      {}", folder.join("tls.crt").display());
        }
    }
    for what in &end.deployed {
        text = format!("{text}\n      deploy: {} ok", escape(what));
    }
    output.talk(&text);
}

fn log_issued(name: &NamespacedName, issued: &Issued) {
    let Issued { revision, leaf, renewal_time, .. } = issued;
    tracing::info!(
        certificate = %name,
        not_after = time::rfc3339(leaf.not_after),
        renew_at = renewal_time.map(time::rfc3339).unwrap_or_default(),
        serial = leaf.serial,
        revision,
        "issued"
    );
}

/// One line: how it ended, for the end of a list of steps.
pub(crate) fn verdict(end: &Ended) -> String {
    match &end.ending {
        Ending::Issued(issued) => {
            format!(
                "issued: {}, until {}",
                issued.leaf.key_description,
                time::rfc3339(issued.leaf.not_after)
            )
        }
        Ending::Failed { failure, .. } => {
            format!("failed [{}]: {}", class_word(failure.class), escape(&failure.to_string()))
        }
        Ending::Pending { why, .. } => {
            let checks = end.evidence.checks();
            let lines = checks.lines().map(|line| format!("\n    {}", escape(line)));
            format!("not proven in time: {}{}", escape(why), lines.collect::<String>())
        }
        Ending::Deferred { until, why, .. } => {
            format!("deferred: {}", escape(&deferral(why, *until)))
        }
        Ending::Locked { holder } => format!("locked by {}", escape(holder)),
        Ending::Interrupted { .. } => "interrupted".to_owned(),
        Ending::Unchanged { .. } => "nothing to do".to_owned(),
    }
}

/// The live pair has other forms now.
fn rewritten(output: &mut Output, name: &NamespacedName, why: &str) {
    if output.talks_to_terminal() {
        output.talk(&format!("{}   written again   {}", short(name), escape(why)));
    } else {
        tracing::info!(certificate = %name, "{}", escape(why));
    }
}

/// The name alone in the default namespace, else with its namespace.
pub(crate) fn short(name: &NamespacedName) -> String {
    if name.namespace == "default" { name.name.clone() } else { name.to_string() }
}

fn class_word(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Other => "other",
        FailureClass::Precondition => "precondition",
        FailureClass::Validation => "challenge",
        FailureClass::Ca => "ca",
        FailureClass::Unreachable => "ca unreachable",
        FailureClass::Output => "output",
        FailureClass::State => "state",
    }
}

#[cfg(test)]
mod tests;
