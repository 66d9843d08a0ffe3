//! What stands between a certificate and its next attempt: of both of its pages.

use crate::cli::render::Scene;
use crate::cli::render::output::escape;
use crate::cli::render::report::short;
use crate::cli::verbs::blocked::Blocked;
use crate::cli::verbs::last_run;
use crate::cli::words::hint::Hint;
use crate::resource::{NamespacedName, Revocation};
use crate::workspace::outlook::When;
use crate::workspace::view::CertificateView;

/// What this host has for the certificates that are shown.
#[derive(Debug, Default)]
pub(in crate::cli) struct Host {
    /// What is in the way of them.
    pub(in crate::cli) blocked: Vec<Blocked>,
    /// That no automatic run came for a day.
    pub(in crate::cli) missed_run: Option<String>,
}

impl Host {
    /// Whether something is in the way of this certificate.
    pub(super) fn blocks(&self, certificate: &NamespacedName) -> bool {
        self.blocked.iter().any(|blocked| blocked.is_of(certificate))
    }
}

/// Something that is known of the time until then.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) label: &'static str,
    pub(super) fact: String,
    /// What to do about it, and what that is for.
    pub(super) remedy: Option<(Hint, &'static str)>,
}

/// The revocation that is pending, that no run comes, and what would stop one.
pub(super) fn notes(view: &CertificateView, host: &Host, scene: &Scene) -> Vec<Note> {
    let pending = view.owed_revocation().map(|revocation| {
        let Revocation { serial, reason, requested_at, .. } = revocation;
        let since = scene.time(*requested_at);
        let cancel = Hint::Command(format!("certctl revoke {} --cancel", short(&view.key)));
        Note {
            label: "Revocation",
            fact: format!("of serial {serial} ({reason}), pending since {since}"),
            remedy: Some((cancel, "cancel it")),
        }
    });
    let is_awaited = view.outlook.when != When::Never;
    let missed = host.missed_run.clone().filter(|_| is_awaited);
    let look = Hint::Command(last_run::LOOK.to_owned());
    let missed = missed.map(|fact| Note { label: "Scheduler", fact, remedy: Some((look, "")) });
    let blocked = host.blocked.iter().filter(|blocked| blocked.is_of(&view.key));
    let blocked = blocked.map(|blocked| {
        let fix = blocked.fix.clone().map(|fix| (fix, ""));
        let fact = escape(&blocked.sentence()).into_owned();
        Note { label: "Blocked by", fact, remedy: fix }
    });
    pending.into_iter().chain(missed).chain(blocked).collect()
}
