//! What on this host keeps certificates from being issued, renewed or deployed: what `issue` would
//! refuse, known without a run.

use std::collections::{BTreeMap, BTreeSet};

use super::doctor::{self, Finding, Ports};
use super::hint::Hint;
use super::message::Message;
use super::output::escape;
use super::shell::Shell;
use super::typed_flags::TypedFlags;
use crate::engine::Task;
use crate::engine::ports::StoreError;
use crate::resource::{Fix, NamespacedName};
use crate::workspace::{Lack, Targets, Workspace};

/// One obstacle, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    /// In one line.
    pub(super) fact: String,
    /// The field of a manifest that names what is missing: its file and line.
    pub(super) place: Option<String>,
    /// What to do about it.
    pub(super) fix: Option<Hint>,
    pub(super) certificates: BTreeSet<NamespacedName>,
    /// Whether it stops a deployment, not only an issuance.
    pub(super) is_of_deployment: bool,
}

impl Blocked {
    /// The obstacles of these, each once: what the manifests name and this host lacks, and ports.
    pub(super) async fn all(
        ports: &Ports<'_>,
        workspace: &Workspace,
        targets: &Targets,
        tasks: &[&Task],
    ) -> Result<Vec<Self>, StoreError> {
        let lacks = workspace.lacks(&targets.loaded, &targets.secrets, tasks).await?;
        Ok(Self::of(lacks, ports.blocking(), targets, tasks))
    }

    /// The same of what is known already: what these lack, and of the ports that they need.
    pub(super) fn of(
        lacks: Vec<Lack>,
        ports: Vec<(Finding, Vec<NamespacedName>)>,
        targets: &Targets,
        tasks: &[&Task],
    ) -> Vec<Self> {
        let mut all = Obstacles::default();
        let known: BTreeSet<_> = tasks.iter().map(|task| task.certificate.metadata.key()).collect();
        for lack in lacks {
            let of_one = lack.certificate.as_ref();
            let of_one = of_one.map(|one| known.get(one).cloned().into_iter().collect());
            let certificates = of_one.unwrap_or_else(|| {
                let of = tasks.iter().filter(|task| lack.is_of(task));
                of.map(|task| task.certificate.metadata.key()).collect()
            });
            let (fact, fix) = (lack.unmet.obstacle.fact.clone(), lack.unmet.obstacle.fix.clone());
            let is_of_deployment = lack.unmet.need.is_of_deployment();
            let found = lack.diagnostic(&targets.loaded);
            let place = Some(format!("{}:{}", found.path.display(), found.line));
            let fix = fix.map(Hint::from);
            all.note(Self { fact, place, fix, certificates, is_of_deployment });
        }
        for (found, certificates) in ports {
            let (fact, fix) = found.into_parts();
            let certificates = certificates.into_iter().collect();
            let (place, fix) = (None, fix.map(Hint::from));
            all.note(Self { fact, place, fix, certificates, is_of_deployment: false });
        }
        all.found
    }

    /// The fact with its place.
    pub(super) fn sentence(&self) -> String {
        let Self { fact, place, .. } = self;
        place.as_ref().map_or_else(|| fact.clone(), |place| format!("{fact} ({place})"))
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
    /// The index of each, by its fact and place.
    places: BTreeMap<(String, Option<String>), usize>,
}

impl Obstacles {
    fn note(&mut self, one: Blocked) {
        let key = (one.fact.clone(), one.place.clone());
        let index = *self.places.entry(key).or_insert(self.found.len());
        match self.found.get_mut(index) {
            Some(known) => known.certificates.extend(one.certificates),
            None => self.found.push(one),
        }
    }
}

/// What a table of certificates adds where no run of any user would get a port, or no run is started.
/// What each manifest needs besides is left to `doctor`: that takes longer than the table.
pub(super) fn below_table(
    shell: &Shell,
    tasks: &[&Task],
    is_of_files: bool,
    typed: &TypedFlags,
) -> Vec<Message> {
    // The scheduled runs do not read a file that was named here, and have nothing to do without one.
    let has_schedule = !is_of_files && !tasks.is_empty();
    let ports = Ports::of(shell, tasks);
    let blocking = ports.blocking().into_iter().map(|(found, _)| found);
    let of_schedule = has_schedule.then(|| doctor::scheduler(shell)).filter(Finding::is_wrong);
    warnings(blocking.filter(Finding::is_wrong).collect(), of_schedule, typed)
}

fn warnings(
    blocking: Vec<Finding>,
    of_schedule: Option<Finding>,
    typed: &TypedFlags,
) -> Vec<Message> {
    let of_port = |(fact, _): (String, Option<Fix>)| {
        let warning = format!("no certificate that needs this port can be renewed now: {fact}");
        Message::advice(&escape(&warning), &typed.on("certctl doctor"))
    };
    let of_schedule = of_schedule.map(Finding::into_parts).map(|(fact, fix)| {
        let fix = fix.map(|fix| Hint::from(fix).with_flags(typed).to_string()).unwrap_or_default();
        let warning = format!("the scheduled runs renew nothing: {fact}");
        Message::advice(&escape(&warning), &escape(&fix))
    });
    blocking.into_iter().map(Finding::into_parts).map(of_port).chain(of_schedule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Obstacle;

    #[test]
    fn a_table_is_followed_by_what_stops_every_run_and_by_what_stops_the_scheduled_ones() {
        let of = |fact: &str| Obstacle::new(fact);
        let port = Finding::wrong("HTTP-01", of("[::]:80 is in use").advice("end it"));
        let timer = Finding::wrong("scheduler", of("no timer").certctl("certctl timer print"));
        let flags = TypedFlags::of_folders(" --state-dir s");
        let texts = warnings(vec![port], Some(timer), &flags).into_iter();
        let texts: Vec<String> = texts.map(|one| one.text.to_string()).collect();
        assert_eq!(
            texts,
            [
                "warning: no certificate that needs this port can be renewed now: [::]:80 is in use\n  \
                 try: certctl doctor --state-dir s",
                "warning: the scheduled runs renew nothing: no timer\n  try: certctl timer print \
                 --state-dir s",
            ]
        );
    }
}
