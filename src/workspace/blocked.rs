//! What on this host keeps certificates from being issued, renewed or deployed: what `issue` would
//! refuse, known without a run.

use std::collections::{BTreeMap, BTreeSet};

use super::open::Workspace;
use super::precondition::Lack;
use super::selection::Targets;
use crate::engine::Task;
use crate::engine::ports::StoreError;
use crate::resource::{Finding, Fix, NamespacedName};

/// One obstacle, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// In one line.
    pub fact: String,
    /// The field of a manifest that names what is missing: its file and line.
    pub place: Option<String>,
    /// What to do about it.
    pub fix: Option<Fix>,
    pub certificates: BTreeSet<NamespacedName>,
    /// Whether it stops a deployment, not only an issuance.
    pub is_of_deployment: bool,
}

impl Blocked {
    /// The obstacles of these, each once: what the manifests name and this host lacks.
    pub async fn all(
        workspace: &Workspace,
        targets: &Targets,
        tasks: &[&Task],
    ) -> Result<Vec<Self>, StoreError> {
        let lacks = workspace.lacks(&targets.loaded, &targets.secrets, tasks).await?;
        Ok(Self::of(lacks, Vec::new(), targets, tasks))
    }

    /// The same of what is known already: what these lack, and of the ports that they need.
    pub fn of(
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
            all.note(Self { fact, place, fix, certificates, is_of_deployment });
        }
        for (found, certificates) in ports {
            let Finding { fact, fix, .. } = found;
            let certificates = certificates.into_iter().collect();
            let place = None;
            all.note(Self { fact, place, fix, certificates, is_of_deployment: false });
        }
        all.found
    }

    /// The fact with its place.
    pub fn sentence(&self) -> String {
        let Self { fact, place, .. } = self;
        place.as_ref().map_or_else(|| fact.clone(), |place| format!("{fact} ({place})"))
    }

    /// Whether it is one of this certificate's.
    pub fn is_of(&self, certificate: &NamespacedName) -> bool {
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
