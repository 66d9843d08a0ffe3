//! What on this host keeps certificates from being issued, renewed or deployed: what `issue` would
//! refuse, known without a run.

use std::collections::{BTreeMap, BTreeSet};

use super::doctor::{self, Finding, Use};
use super::folders::Typed;
use super::hint::Hint;
use super::message::Message;
use super::output::escape;
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
    pub(super) certificates: BTreeSet<NamespacedName>,
}

impl Blocked {
    /// The obstacles of these, each once: what the manifests name and this host lacks, and ports.
    pub(super) async fn all(
        shell: &Shell,
        workspace: &Workspace,
        targets: &Targets,
        tasks: &[&Task],
    ) -> Result<Vec<Self>, StoreError> {
        let mut all = Obstacles::default();
        let known: BTreeSet<_> = tasks.iter().map(|task| task.certificate.metadata.key()).collect();
        for lack in workspace.lacks(&targets.loaded, &targets.secrets, tasks).await? {
            let of_one = lack.certificate.as_ref();
            let of_one = of_one.map(|one| known.get(one).cloned().into_iter().collect());
            let certificates = of_one.unwrap_or_else(|| {
                let of = tasks.iter().filter(|task| lack.is_of(task));
                of.map(|task| task.certificate.metadata.key()).collect()
            });
            let (fact, fix) = (lack.unmet.obstacle.fact.clone(), lack.unmet.obstacle.fix.clone());
            let found = lack.diagnostic(&targets.loaded);
            let fact = format!("{fact} ({}:{})", found.path.display(), found.line);
            all.note(fact, fix, certificates);
        }
        for tasks in by_listener(tasks) {
            for found in doctor::before(shell, &tasks) {
                let (fact, fix) = found.into_parts();
                let keys = tasks.iter().map(|task| task.certificate.metadata.key());
                all.note(fact, fix, keys.collect());
            }
        }
        Ok(all.found)
    }

    /// Whether it is one of this certificate's.
    pub(super) fn is_of(&self, certificate: &NamespacedName) -> bool {
        self.certificates.contains(certificate)
    }
}

/// Those found so far.
#[derive(Default)]
struct Obstacles {
    found: Vec<Blocked>,
    /// The place of each, by its fact.
    places: BTreeMap<String, usize>,
}

impl Obstacles {
    fn note(&mut self, fact: String, fix: Option<Fix>, of: BTreeSet<NamespacedName>) {
        let place = *self.places.entry(fact.clone()).or_insert(self.found.len());
        match self.found.get_mut(place) {
            Some(known) => known.certificates.extend(of),
            None => self.found.push(Blocked { fact, fix: fix.map(Hint::from), certificates: of }),
        }
    }
}

/// What a table of certificates adds where no run of any user would get a port. What each
/// manifest needs besides is left to `doctor`: that takes longer than the table.
pub(super) fn below_table(shell: &Shell, tasks: &[&Task], typed: &Typed) -> Vec<Message> {
    let groups = by_listener(tasks).into_iter();
    let found = groups.flat_map(|tasks| doctor::before(shell, &tasks)).filter(Finding::is_wrong);
    let warning = |found: Finding| {
        let (fact, _) = found.into_parts();
        let warning =
            format!("no certificate that needs this port can be renewed now: {}", escape(&fact));
        Message::advice(&warning, &typed.command("certctl doctor"))
    };
    found.map(warning).collect()
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
