//! The plan for people: a line for each certificate, then what would be done and why.

use crate::cli::render::table::{Cell, Row, table};
use crate::cli::words::fix::worded;
use crate::cli::{Format, Paint, Scene, Text, escape, short, time};
use crate::resource::Reason;
use crate::workspace::outlook::{Action, Why};
use crate::workspace::plan::{Item, Wait};
use crate::workspace::target::NameTarget;

/// The certificates with an action, as `-o name`.
pub(super) fn names(items: &[Item]) -> String {
    let changing = items.iter().filter(|item| item.outlook.changes());
    let line = |item: &Item| NameTarget::printed("certificate", &item.namespace, &item.name) + "\n";
    changing.map(line).collect()
}

/// So many certificates each have a line, and so many of those that are due a block.
const FEW: usize = 10;

/// The table, a block for each certificate that is due, and the sum, with those whose state is
/// `damaged`. Of many certificates only what will happen, unless it is to be wide.
pub(super) fn page(items: &[Item], damaged: usize, scene: &Scene) -> Text {
    let everything = scene.format == Format::Wide;
    if items.is_empty() && damaged == 0 {
        return Text::default();
    }
    let due = items.iter().filter(|item| {
        item.outlook.changes() || item.course.wait.is_some() || item.outlook.is_revoked_for_good()
    });
    let due: Vec<&Item> = due.collect();
    let in_table: Vec<&Item> =
        if everything || items.len() <= FEW { items.iter().collect() } else { due.clone() };
    let described = if everything || due.len() <= FEW { due } else { Vec::new() };
    let mut text = String::new();
    if !in_table.is_empty() {
        let heading = ["ACTION", "NAME", "ISSUER", "COST", "REASON"];
        let rows: Vec<Row> = in_table.iter().map(|item| row(item, scene)).collect();
        text = table(&heading, &rows, scene.color, scene.columns());
    }
    for item in &described {
        text.push('\n');
        text.push_str(&block(item, scene));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&sum(items, damaged));
    if in_table.len() < items.len() || (described.is_empty() && in_table.len() > FEW) {
        let detail = Text::from(text + "for details: ");
        return detail.with_command("certctl plan NAME").with("; all: -o wide\n");
    }
    text.into()
}

fn row(item: &Item, scene: &Scene) -> Row {
    let reason = match (&item.course.wait, item.course.action) {
        (Some(wait), _) => match wait.until {
            // The block below has the date.
            Some(until) => format!("{}, again {}", wait.why, time::relative(until, scene.now)),
            None => wait.why.clone(),
        },
        (None, Action::Nothing) if item.outlook.is_revoked_for_good() => {
            "revoked, not replaced".to_owned()
        }
        (None, Action::Nothing) => match item.renewal_time {
            Some(at) if item.is_suggested => {
                format!("not due, renews {}, as the CA suggests", scene.time(at))
            }
            Some(at) => format!("not due, renews {}", scene.time(at)),
            None => "never renews".to_owned(),
        },
        (None, _) => item.course.reason.map_or_else(|| item.course.message.clone(), reason_text),
    };
    let cost = match (item.course.action, item.orders) {
        (Action::Issue | Action::Renew, 1) => "1 order".to_owned(),
        (Action::Issue | Action::Renew, orders) => format!("{orders} orders"),
        _ => "-".to_owned(),
    };
    let paint = if item.outlook.now().is_some() {
        Paint::Warn
    } else if is_held(item) || item.outlook.is_revoked_for_good() {
        Paint::Bad
    } else {
        Paint::Good
    };
    Row::from(vec![
        Cell::painted(item.course.action.word(), paint),
        Cell::from(short(&item.key())),
        Cell::from(&item.issuer.name),
        Cell::from(cost),
        Cell::from(reason),
    ])
}

/// Returns whether it is due, and not done now.
fn is_held(item: &Item) -> bool {
    matches!(item.course.action, Action::Wait | Action::Blocked)
}

/// Note on an edit that was undone: as with cert-manager, an issuance that has begun is finished.
const BEGUN: &str = "; undone since, but a started issuance is always finished";

fn block(item: &Item, scene: &Scene) -> String {
    let actions: Vec<&str> =
        [item.course.action].iter().chain(&item.course.also).map(|one| one.word()).collect();
    let mut text = format!("{}: {}\n", short(&item.key()), actions.join(", "));
    let mut line = |label: &str, value: &str| {
        text = format!("{text}  {label:<9} {}\n", escape(value));
    };
    let orders = matches!(item.course.action, Action::Issue | Action::Renew);
    match (item.course.reason, item.course.message.as_str()) {
        (Some(reason), "") => line("why", &reason_text(reason)),
        (Some(reason @ Reason::RequestChanged), message) => {
            let fields = message.rsplit_once(": ").map_or(message, |(_, fields)| fields);
            let end = if item.differs.is_empty() { BEGUN } else { "" };
            line("why", &format!("{}: {fields}{end}", reason_text(reason)));
        }
        (Some(_), message) => line("why", message),
        (None, "") => {}
        (None, message) => line("what", message),
    }
    if let Some(wait) = &item.course.wait {
        let label = if item.course.action == Action::Blocked { "blocked" } else { "waits" };
        line(label, &until(wait, scene));
    }
    if let Some(Why::Failure(failure)) = &item.outlook.why {
        failure.cause.fixes().iter().for_each(|fix| line("try", &worded(fix)));
    }
    if item.outlook.is_revoked_for_good() {
        let command = format!("certctl renew {}", short(&item.key()));
        line("replace", &command);
    }
    if let Some(window) = item.suggested_window.as_ref().filter(|_| item.is_suggested) {
        let see = window.explanation_url.as_ref().map(|url| format!(", {url}"));
        let (start, end) = (scene.local(window.start), scene.local(window.end));
        line("ARI", &format!("{start} to {end}{}", see.unwrap_or_default()));
    }
    if !item.differs.is_empty() {
        line("differs", &item.differs.join(", "));
    }
    if item.not_after.is_some() && !(item.added.is_empty() && item.removed.is_empty()) {
        let added = item.added.iter().map(|name| format!("+ {name}"));
        let removed = item.removed.iter().map(|name| format!("- {name}"));
        line("names", &added.chain(removed).collect::<Vec<_>>().join(", "));
    }
    if orders || is_held(item) {
        let issuer = &item.issuer;
        line("issuer", &format!("{} {}, {}", issuer.kind, issuer.name, issuer.server));
        if !issuer.profile.is_empty() {
            line("profile", &issuer.profile);
        }
        for (solver, names) in by_solver(item) {
            line("challenge", &format!("{solver}: {}", names.join(", ")));
        }
    }
    match &item.order {
        Some(order) => line("cost", &format!("continues the pending order {order}")),
        None if orders => {
            let limits = item.limits.iter().map(|spent| format!("; {spent}"));
            let order = format!("{} new order", item.orders);
            line("cost", &(order + &limits.collect::<String>()));
        }
        None => {}
    }
    match item.clean_ups {
        0 => {}
        count => line("clean-up", &format!("{count} challenge responses of earlier runs")),
    }
    text
}

/// A reason of cert-manager in words; its name stays in what programs read.
fn reason_text(reason: Reason) -> String {
    let known = REASONS.iter().find(|(known, _)| *known == reason);
    known.map_or_else(|| reason.as_str(), |(_, text)| (*text).to_owned())
}

/// Reasons that a plan may have.
const REASONS: &[(Reason, &str)] = &[
    (Reason::DoesNotExist, "no certificate"),
    (Reason::MissingData, "key or certificate missing"),
    (Reason::InvalidKeyPair, "key damaged, or for another certificate"),
    (Reason::InvalidCertificate, "certificate damaged"),
    (Reason::SecretMismatch, "key or certificate differs"),
    (Reason::IncorrectIssuer, "issued by another CA or issuer"),
    (Reason::IncorrectCertificate, "Secret of another Certificate"),
    (Reason::RequestChanged, "manifest changed"),
    (Reason::Renewing, "renewal due"),
    (Reason::Expired, "expired"),
    (Reason::Revoked, "revoked"),
    (Reason::BannedKey, "key banned"),
    (Reason::WindowError, "no renewal window fits"),
    (Reason::ManuallyTriggered, "requested by renew"),
    (Reason::Adopted, "existing files adopted"),
    (Reason::DeployFailed, "last deployment failed"),
    (Reason::MissingLinks, "links missing"),
    (Reason::DamagedFiles, "files damaged"),
    (Reason::SecretTemplateMismatch, "secretTemplate changed"),
    (Reason::AdditionalOutputFormatsMismatch, "additional formats changed"),
];

/// `backing off after 3 failures, until 2026-11-21 05:40 UTC, in 2h`.
fn until(wait: &Wait, scene: &Scene) -> String {
    match wait.until {
        Some(until) => format!("{}, until {}", wait.why, scene.time(until)),
        None => wait.why.clone(),
    }
}

/// The names by solver, in order of their first name.
fn by_solver(item: &Item) -> Vec<(String, Vec<&str>)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for name in &item.names {
        let solver = match &name.provider {
            Some(provider) => format!("{} {provider}", name.solver),
            None => name.solver.to_owned(),
        };
        match groups.iter_mut().find(|(known, _)| *known == solver) {
            Some((_, names)) => names.push(&name.name),
            None => groups.push((solver, vec![&name.name])),
        }
    }
    groups
}

fn sum(items: &[Item], damaged: usize) -> String {
    let is_revoked = |item: &&Item| item.outlook.is_revoked_for_good();
    let revoked = items.iter().filter(is_revoked).count();
    let unchanged = |item: &&Item| item.course.action == Action::Nothing && !is_revoked(item);
    let unchanged = items.iter().filter(unchanged).count();
    let count = |action| items.iter().filter(|item| item.course.action == action).count();
    let parts: Vec<String> = [
        (Action::Renew, "to renew"),
        (Action::Issue, "to issue"),
        (Action::Adopt, "to adopt"),
        (Action::Relink, "to relink"),
        (Action::Restore, "to restore"),
        (Action::Rewrite, "to rewrite"),
        (Action::Deploy, "to deploy"),
        (Action::Wait, "waiting"),
        (Action::Blocked, "blocked"),
    ]
    .into_iter()
    .map(|(action, label)| (count(action), label))
    .chain([
        (revoked, "revoked and not replaced"),
        (unchanged, "unchanged"),
        (damaged, "with damaged state"),
    ])
    .filter(|(count, _)| *count > 0)
    .map(|(count, label)| format!("{count} {label}"))
    .collect();
    parts.join(", ") + "\n"
}
