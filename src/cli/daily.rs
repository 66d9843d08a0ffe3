//! Reports of unattended runs that are due once a day and that no certificate's record can note:
//! mistakes in manifests, and manifests that are gone.
//!
//! Contract: what a run has no reason to tell any more is new when it comes back, and all is new once
//! a certificate is further overdue, or has expired. A state that cannot be read or written silences
//! nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::controller::alert;
use crate::engine::inputs::digest_of;
use crate::engine::is_recent;
use crate::engine::ports::{Cache, Clock as _, Store, SystemClock};
use crate::resource::CertificateStatus;
use crate::workspace::Workspace;

/// See the module.
pub struct Daily {
    now: Timestamp,
    /// Reports of earlier runs, by digest.
    before: BTreeMap<String, Timestamp>,
    /// Reports of this run, and when each was last printed.
    now_known: BTreeMap<String, Timestamp>,
    /// When each certificate is to be renewed, and when it ends.
    renewals: Vec<(Option<Timestamp>, Option<Timestamp>)>,
}

impl Daily {
    /// Reads what earlier runs reported, if they did.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let before = workspace.state().cache().reported().unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot read the earlier reports");
            BTreeMap::new()
        });
        let (now, now_known, renewals) = (SystemClock.now(), BTreeMap::new(), Vec::new());
        Self { now, before, now_known, renewals }
    }

    /// Notes what is known of the certificates.
    pub(crate) fn watch<'a>(&mut self, all: impl Iterator<Item = &'a CertificateStatus>) {
        self.renewals = all.map(|status| (status.renewal_time, status.not_after)).collect();
    }

    /// Returns whether a text is to be reported now; then it is noted.
    pub(crate) fn is_due(&mut self, text: &str) -> bool {
        let digest = digest_of(text.as_bytes());
        let is_heard = |last: &Timestamp| is_recent(*last, self.now) && !self.is_worse(*last);
        let last = self.before.get(&digest).copied().filter(is_heard);
        self.now_known.insert(digest, last.unwrap_or(self.now));
        last.is_none()
    }

    /// Returns whether a certificate is further overdue than it was then.
    fn is_worse(&self, then: Timestamp) -> bool {
        self.renewals.iter().any(|(due, end)| alert::is_worse(*due, *end, then, self.now))
    }

    /// Notes what was reported. A run that did not read everything forgets nothing; and a state that is
    /// not there is not made.
    pub(crate) fn end(mut self, workspace: &mut Workspace, is_whole: bool) {
        if !is_whole {
            for (digest, at) in self.before.iter().filter(|(_, at)| is_recent(**at, self.now)) {
                self.now_known.entry(digest.clone()).or_insert(*at);
            }
        }
        if self.now_known == self.before || !workspace.settings().state_dir.is_dir() {
            return;
        }
        let noted = workspace.make_writable();
        let noted = noted.and_then(|()| workspace.state().cache().note_reported(&self.now_known));
        if let Err(error) = noted {
            tracing::debug!(%error, "cannot record the reports");
        }
    }
}
