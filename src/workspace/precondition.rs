//! What this machine lacks for the certificates of a request, found before an order is spent, at
//! the field that names it.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use super::open::Workspace;
use super::run::USER_AGENT;
use super::selection::issuer_of;
use super::settings::Settings;
use crate::engine::inputs::{account_id, names_of, solver_for};
use crate::engine::ports::{Store, StoreError};
use crate::engine::precondition::{Need, Unmet, of_certificate, of_issuer};
use crate::engine::{IssuerAccess, ProviderAccess, Task, dns_api};
use crate::manifest::{self, Diagnostic, Loaded, ObjectId, SecretSource};
use crate::probe::{Resolver, ResolverOptions};
use crate::resource::{AccountIdentity, Certificate, Issuer, NamespacedName, Obstacle, Origin};
use crate::store::Records;

/// An issuer, the solvers of it that are used, whether the state has its account key, and why its
/// CA does not have its profile.
struct Used<'a> {
    issuer: &'a Issuer,
    solvers: Vec<usize>,
    has_account_key: bool,
    refused_profile: Option<String>,
}

/// Something that an object needs and this machine lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    pub object: ObjectId,
    /// The certificate that needs it; `None` for all of an Issuer.
    pub certificate: Option<NamespacedName>,
    origin: Origin,
    pub unmet: Unmet,
}

impl Lack {
    /// Whether this task needs it.
    pub fn is_of(&self, task: &Task) -> bool {
        let Task { certificate, issuers, .. } = task;
        if let Some(name) = &self.certificate {
            return *name == certificate.metadata.key();
        }
        let issuer = &issuers.first;
        let issuer = ObjectId { kind: issuer.kind.to_string(), key: issuer.metadata.key() };
        let uses = |solver| solvers_of(task).any(|used| used == solver);
        self.object == issuer && self.solver().is_none_or(uses)
    }

    /// The solver of the Issuer that the field is in.
    fn solver(&self) -> Option<usize> {
        let [spec, acme, solvers, index, ..] = self.unmet.path.as_slice() else { return None };
        let is_solver = [&**spec, &**acme, &**solvers] == ["spec", "acme", "solvers"];
        is_solver.then(|| index.trim_matches(['[', ']']).parse().ok())?
    }

    /// It at the field that names it.
    pub fn diagnostic(self, loaded: &Loaded) -> Diagnostic {
        let Self { object, origin, unmet, .. } = self;
        let Unmet { path, secret, message, obstacle, .. } = unmet;
        let obstacle = Obstacle { fact: message, fix: obstacle.fix };
        manifest::unmet(loaded, object, &origin, (&path, secret.as_deref()), obstacle)
    }
}

/// The diagnostics of what is lacking, each once.
pub fn diagnostics(lacks: Vec<Lack>, loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for lack in lacks {
        let one = lack.diagnostic(loaded);
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// The solvers of a task's Issuer that its names use.
fn solvers_of(task: &Task) -> impl Iterator<Item = usize> {
    let Task { certificate, issuers, .. } = task;
    let issuer = &issuers.first;
    names_of(certificate).into_iter().filter_map(|name| {
        let solver = solver_for(issuer, certificate, &name)?.solver;
        issuer.acme.solvers.iter().position(|one| std::ptr::eq(one, solver))
    })
}

impl Settings {
    /// What all these manifests need and this machine lacks. Without a config directory they may be
    /// for another machine: then they are warnings. A webroot, which a web server may make when it is
    /// installed, is a warning in any case.
    pub fn unmet(&self, loaded: &Loaded) -> Vec<Diagnostic> {
        let is_usable = |kind: String, key| !loaded.blocked.contains(&ObjectId { kind, key });
        let used = loaded
            .issuers
            .iter()
            .filter(|issuer| is_usable(issuer.kind.to_string(), issuer.metadata.key()));
        let used = used.map(|issuer| Used {
            issuer,
            solvers: (0..issuer.acme.solvers.len()).collect(),
            has_account_key: false,
            refused_profile: None,
        });
        let certificates: Vec<&Certificate> = loaded
            .certificates
            .iter()
            .map(AsRef::as_ref)
            .filter(|one: &&Certificate| is_usable("Certificate".to_owned(), one.metadata.key()))
            .collect();
        let used: Vec<Used<'_>> = used.collect();
        let found = self.lacks_of(loaded, &self.secrets(loaded), &certificates, &used);
        let is_here = self.config_dir.as_ref().is_some_and(|path| path.is_dir());
        let (errors, warnings): (Vec<Lack>, Vec<Lack>) = found
            .into_iter()
            .partition(|lack| is_here && !matches!(lack.unmet.need, Need::Webroot(_)));
        let warnings = diagnostics(warnings, loaded).into_iter().map(|one| one.as_warning("W0402"));
        diagnostics(errors, loaded).into_iter().chain(warnings).collect()
    }

    /// Where secrets come from.
    pub fn secrets(&self, loaded: &Loaded) -> SecretSource {
        SecretSource::new(
            loaded.secrets.clone(),
            self.config_dir.as_ref().map(|path| path.join("secrets")),
            self.credentials_dir.clone(),
        )
    }

    fn lacks_of(
        &self,
        loaded: &Loaded,
        secrets: &SecretSource,
        certificates: &[&Certificate],
        issuers: &[Used<'_>],
    ) -> Vec<Lack> {
        let (hooks, bounds) = (self.hooks(), self.bounds());
        let solvers_dir = self.below_config("solvers.d");
        let mut found = Vec::new();
        let mut add = |certificate: Option<&Certificate>, issuer: &Issuer, unmet: Vec<Unmet>| {
            for unmet in unmet {
                let (kind, key, origin) = match certificate.filter(|_| !unmet.of_issuer) {
                    Some(of) => ("Certificate".to_owned(), of.metadata.key(), &of.origin),
                    None => (issuer.kind.to_string(), issuer.metadata.key(), &issuer.origin),
                };
                let object = ObjectId { kind, key };
                let certificate = certificate.map(|of| of.metadata.key());
                found.push(Lack { object, certificate, origin: origin.clone(), unmet });
            }
        };
        // It is never asked: no request is sent.
        let servers = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 53))];
        let resolver = Resolver::new(ResolverOptions { servers, ..ResolverOptions::default() });
        let resolver = Rc::new(resolver);
        for Used { issuer, solvers, has_account_key, refused_profile } in issuers {
            let reached = ProviderAccess {
                environment: &|name| (self.environment)(name),
                solvers_dir: &solvers_dir,
                api: dns_api(USER_AGENT),
                resolver: Rc::clone(&resolver),
            };
            let cluster_resource_namespace = &self.cluster_resource_namespace;
            let access = IssuerAccess { issuer, secrets, cluster_resource_namespace };
            let mut unmet = of_issuer(access, solvers, &reached, *has_account_key);
            unmet.extend(refused_profile.as_ref().map(|message| Unmet::profile(issuer, message)));
            add(None, issuer, unmet);
        }
        for certificate in certificates {
            if let Some(issuer) = issuer_of(certificate, loaded) {
                let unmet = of_certificate(certificate, issuer, secrets, &hooks, &bounds);
                add(Some(certificate), issuer, unmet);
            }
        }
        found
    }
}

impl Workspace {
    /// What these tasks need and this machine lacks.
    pub async fn unmet(
        &self,
        loaded: &Loaded,
        secrets: &SecretSource,
        tasks: &[&Task],
    ) -> Result<Vec<Diagnostic>, StoreError> {
        Ok(diagnostics(self.lacks(loaded, secrets, tasks).await?, loaded))
    }

    /// The same, as what each object needs.
    pub async fn lacks(
        &self,
        loaded: &Loaded,
        secrets: &SecretSource,
        tasks: &[&Task],
    ) -> Result<Vec<Lack>, StoreError> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let mut used: Vec<Used<'_>> = Vec::new();
        for &task in tasks {
            let issuer = &task.issuers.first;
            let chosen = solvers_of(task);
            let known = used.iter_mut().find(|one| {
                (one.issuer.kind, one.issuer.metadata.key()) == (issuer.kind, issuer.metadata.key())
            });
            if let Some(known) = known {
                known.solvers.extend(chosen);
                continue;
            }
            let id = account_id(&AccountIdentity::of(issuer));
            let has_account_key =
                Records::new(self.state.documents()).account_key(&id).await?.is_some();
            let acme = &issuer.acme;
            let profile = (acme.server.clone(), acme.profile.clone());
            let refused_profile = self.refused_profiles.borrow().get(&profile).cloned();
            let solvers = chosen.collect();
            used.push(Used { issuer, solvers, has_account_key, refused_profile });
        }
        for Used { solvers, .. } in &mut used {
            solvers.sort_unstable();
            solvers.dedup();
        }
        let certificates: Vec<&Certificate> =
            tasks.iter().map(|task| task.certificate.as_ref()).collect();
        Ok(self.settings.lacks_of(loaded, secrets, &certificates, &used))
    }
}
