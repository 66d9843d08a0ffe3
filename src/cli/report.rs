//! What a run says of each certificate: a line for a person, a log line for anybody else, and
//! nothing when nothing was due and nobody watches.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::output::{Output, escape};
use super::time;
use crate::engine::{Ended, Ending, Issued};
use crate::resource::{FailureClass, NamespacedName};
use crate::store::StateDirectory;

/// Says how one certificate ended.
pub(crate) fn ending(output: &mut Output, state: &StateDirectory, end: &Ended, now: Timestamp) {
    let name = &end.certificate;
    let watched = output.talks_to_terminal();
    if let Some(why) = &end.rewritten {
        rewritten(output, name, why);
        if matches!(end.ending, Ending::Unchanged { .. }) {
            return;
        }
    }
    if !end.is_news {
        tracing::debug!(certificate = %name, "told within the last day: {}", verdict(end));
        return;
    }
    match &end.ending {
        Ending::Unchanged { not_after, renewal_time } if watched => {
            let expires = not_after.map_or_else(String::new, |t| expires(t, now));
            let renews = renewal_time.map_or_else(String::new, |t| renews(t, now));
            output.talk(&format!("{}   unchanged   {expires}{renews}", short(name)));
        }
        Ending::Unchanged { .. } => tracing::debug!(certificate = %name, "unchanged"),
        Ending::Issued(issued) => self::issued(output, state, name, issued, now),
        Ending::Deferred { why, urgent, .. } => {
            let word = if urgent.is_some() { "error" } else { "deferred" };
            output.talk(&format!("{word}: {}: {}", short(name), escape(why)));
        }
        Ending::Locked { holder } => {
            output.talk(&format!("deferred: {}: locked by {}", short(name), escape(holder)));
        }
        Ending::Pending { order, why, report, overdue, since } => {
            let word = if *overdue { "error" } else { "pending" };
            let mut text = format!("{word}: {}: {}", short(name), escape(why));
            for line in report.lines() {
                text.push_str("\n  ");
                text.push_str(&escape(line));
            }
            let since = time::both(*since, now);
            push(
                &mut text,
                format_args!("\n  order {order} since {since}; the next run goes on with it"),
            );
            output.talk(&text);
        }
        Ending::Failed { failure, attempts, next_attempt } => {
            let class = class_word(failure.class);
            let attempt =
                attempts.map_or_else(String::new, |attempts| format!(", attempt {attempts}"));
            let mut text =
                format!("error: {}: {} [{class}{attempt}]", short(name), escape(&failure.message));
            match next_attempt {
                Some(next) => {
                    push(&mut text, format_args!("\n  next attempt {}", time::both(*next, now)));
                    push(&mut text, format_args!("; fixed already? certctl renew {}", short(name)));
                }
                None => text.push_str("\n  not counted as an attempt; the next run tries again"),
            }
            push(&mut text, format_args!("\n  more: certctl status {}", short(name)));
            output.talk(&text);
        }
        Ending::Interrupted { .. } => {
            output.talk(&format!("{}: interrupted; the next run goes on", short(name)));
        }
    }
    if let Some(undeployed) = end.undeployed.as_ref().filter(|undeployed| undeployed.is_news) {
        let message = escape(&undeployed.failure.message);
        output.talk(&format!(
            "error: {}: {message}\n  tried again by the next run; now: certctl deploy {}",
            short(name),
            short(name)
        ));
    }
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
            format!("failed [{}]: {}", class_word(failure.class), escape(&failure.message))
        }
        Ending::Pending { why, report, .. } => {
            let mut text = format!("not proven in time: {}", escape(why));
            for line in report.lines() {
                push(&mut text, format_args!("\n    {}", escape(line)));
            }
            text
        }
        Ending::Deferred { why, .. } => format!("deferred: {}", escape(why)),
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

fn issued(
    output: &mut Output,
    state: &StateDirectory,
    name: &NamespacedName,
    issued: &Issued,
    now: Timestamp,
) {
    let Issued { revision, leaf, renewal_time, secret_name } = issued;
    if !output.talks_to_terminal() {
        let renew_at = renewal_time.map(time::rfc3339).unwrap_or_default();
        tracing::info!(
            certificate = %name,
            not_after = time::rfc3339(leaf.not_after),
            renew_at,
            serial = leaf.serial,
            revision,
            "issued"
        );
        return;
    }
    let renews = renewal_time.map_or_else(String::new, |t| renews(t, now));
    let mut text = format!(
        "{}   issued   {}{renews}   {}",
        short(name),
        expires(leaf.not_after, now),
        leaf.key_description
    );
    let secret = NamespacedName::new(&name.namespace, secret_name);
    if let Ok(folder) = state.secret_path(&secret) {
        push(&mut text, format_args!("\n      {}", folder.join("tls.crt").display()));
    }
    output.talk(&text);
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.push_str(&std::fmt::format(more));
}

fn expires(at: Timestamp, now: Timestamp) -> String {
    let date = time::local_date(at, &TimeZone::system());
    format!("expires {date} ({})", time::length(now.duration_until(at)))
}

fn renews(at: Timestamp, now: Timestamp) -> String {
    let date = time::local_date(at, &TimeZone::system());
    format!("   renews {date} ({})", time::relative(at, now))
}

/// The name alone in the default namespace, else with its namespace.
fn short(name: &NamespacedName) -> String {
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
