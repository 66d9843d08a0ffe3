//! Obstacles between a certificate and its next attempt, for both of its pages.

use crate::cli::{Scene, escape};
use crate::resource::{Check, Finding, Fix, NamespacedName, Obstacle, Revocation};
use crate::workspace::Blocked;
use crate::workspace::outlook::When;
use crate::workspace::view::CertificateView;

/// Facts of this host for the certificates that are shown.
#[derive(Debug, Default)]
pub(in crate::cli) struct Host {
    /// Obstacles of the certificates.
    pub(in crate::cli) blocked: Vec<Blocked>,
    /// Warning that no automatic run came for a day.
    pub(in crate::cli) missed_run: Option<String>,
}

impl Host {
    /// Returns whether something is in the way of this certificate.
    pub(super) fn blocks(&self, certificate: &NamespacedName) -> bool {
        self.blocked.iter().any(|blocked| blocked.is_of(certificate))
    }
}

/// The revocation that is pending, that no run comes, and what would stop one.
pub(super) fn notes(view: &CertificateView, host: &Host, scene: &Scene) -> Vec<Finding> {
    let pending = view.owed_revocation().map(|revocation| {
        let Revocation { serial, reason, requested_at, .. } = revocation;
        let since = scene.time(*requested_at);
        let fact = format!("of serial {serial} ({reason}), pending since {since}");
        ("Revocation", fact, Some(Fix::CancelRevocation(view.key.clone())))
    });
    let is_awaited = view.outlook.when != When::Never;
    let missed = host.missed_run.clone().filter(|_| is_awaited);
    let missed = missed.map(|fact| ("Scheduler", fact, Some(Fix::Check(Check::Host))));
    let blocked = host.blocked.iter().filter(|blocked| blocked.is_of(&view.key));
    let blocked = blocked.map(|blocked| {
        let fact = escape(&blocked.sentence()).into_owned();
        ("Blocked by", fact, blocked.fix.clone())
    });
    let all = pending.into_iter().chain(missed).chain(blocked);
    let found = |(subject, fact, fix)| Finding::warning(subject, Obstacle { fact, fix });
    all.map(found).collect()
}
