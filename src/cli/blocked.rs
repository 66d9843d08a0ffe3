//! What on this host keeps certificates from being issued, renewed or deployed: what `issue` would
//! refuse, known without a run.

use std::collections::BTreeMap;

use super::doctor::{self, Use};
use super::hint::Hint;
use super::shell::Shell;
use crate::engine::Task;
use crate::engine::ports::StoreError;
use crate::resource::{Fix, NamespacedName};
use crate::workspace::{Targets, Workspace};

/// One obstacle, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// In one line.
    pub(super) fact: String,
    /// What to do about it.
    pub(super) fix: Option<Hint>,
    pub(super) certificates: Vec<NamespacedName>,
}

impl Blocked {
    /// The obstacles of these, each once: what the manifests name and this host lacks, and ports.
    pub(super) async fn all(
        shell: &Shell,
        workspace: &Workspace,
        targets: &Targets,
        tasks: &[&Task],
    ) -> Result<Vec<Self>, StoreError> {
        let mut all = Vec::new();
        for lack in workspace.lacks(&targets.loaded, &targets.secrets, tasks).await? {
            let of = tasks.iter().filter(|task| lack.is_of(task));
            let certificates = of.map(|task| task.certificate.metadata.key()).collect();
            let (fact, fix) = (lack.unmet.obstacle.fact.clone(), lack.unmet.obstacle.fix.clone());
            let found = lack.diagnostic(&targets.loaded);
            let fact = format!("{fact} ({}:{})", found.path.display(), found.line);
            Self::note(&mut all, fact, fix, certificates);
        }
        for tasks in by_listener(tasks) {
            for found in doctor::before(shell, &tasks) {
                let (fact, fix) = found.into_parts();
                let keys = tasks.iter().map(|task| task.certificate.metadata.key());
                Self::note(&mut all, fact, fix, keys.collect());
            }
        }
        Ok(all)
    }

    fn note(all: &mut Vec<Self>, fact: String, fix: Option<Fix>, of: Vec<NamespacedName>) {
        let fix = fix.map(Hint::from);
        match all.iter_mut().find(|known| known.fact == fact && known.fix == fix) {
            Some(known) => {
                let new = of.into_iter().filter(|name| !known.certificates.contains(name));
                let new: Vec<NamespacedName> = new.collect();
                known.certificates.extend(new);
            }
            None => all.push(Self { fact, fix, certificates: of }),
        }
    }

    /// Whether it is one of this certificate's.
    pub(super) fn is_of(&self, certificate: &NamespacedName) -> bool {
        self.certificates.contains(certificate)
    }
}

/// Those whose challenges the HTTP-01 listener answers, by its addresses.
fn by_listener<'t>(tasks: &[&'t Task]) -> Vec<Vec<&'t Task>> {
    let mut groups: BTreeMap<Vec<String>, Vec<&Task>> = BTreeMap::new();
    for task in tasks {
        let uses = Use::of_tasks([*task]);
        let listens =
            |one: &&Use<'_>| one.settings.http01_webroot.is_none() && !one.over_http().is_empty();
        if let Some(one) = uses.iter().find(listens) {
            groups.entry(one.settings.http01_listen.clone()).or_default().push(task);
        }
    }
    groups.into_values().collect()
}
