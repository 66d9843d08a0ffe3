//! The Issuers of the manifests, which a new Certificate can name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::issuer::is_known_ca;
use super::print::Placed;
use super::server::host_of_url;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::render::output::escape;
use crate::cli::shell::Shell;
use crate::manifest::{self, Loaded, Source, nearest_by};
use crate::resource::{
    Certificate, ChallengeType, Identifier, IssuerKind, NamespacedName, Settings, Solver,
    SolverKind, pick_solver,
};

/// An Issuer, as a Certificate names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IssuerName {
    pub(super) name: String,
    /// Whether it is a ClusterIssuer.
    pub(super) is_of_cluster: bool,
    /// Whether it has a solver for HTTP-01.
    pub(super) has_http01: bool,
    /// The URL of its directory, as far as it is known.
    server: String,
    /// Its solvers, as far as they are known.
    solvers: Vec<Solver>,
    /// Its defaults for its Certificates.
    pub(super) settings: Settings,
}

impl IssuerName {
    /// An Issuer in the namespace of the Certificate.
    pub(super) fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            is_of_cluster: false,
            has_http01: true,
            server: String::new(),
            solvers: Vec::new(),
            settings: Settings::default(),
        }
    }

    /// The host of its directory, where that is known.
    pub(super) fn host(&self) -> Option<String> {
        host_of_url(&self.server)
    }

    /// Whether a Certificate names both alike.
    fn is(&self, other: &Self) -> bool {
        (&self.name, self.is_of_cluster) == (&other.name, other.is_of_cluster)
    }
}

/// The manifests of a folder, which may not be there yet.
pub(super) fn manifests_in(folder: &Path) -> Loaded {
    let source = folder.is_dir().then(|| Source::Directory(folder.to_owned()));
    manifest::load(source.as_slice(), &manifest::Options::default())
}

/// The Certificate of these manifests, besides the one of this key, that has a folder for its copies.
pub(super) fn owner_of_output<'l>(
    manifests: &'l Loaded,
    folder: &Path,
    key: &NamespacedName,
) -> Option<&'l Certificate> {
    let has_it = |one: &&Arc<Certificate>| {
        let own = one.settings.output_dir.as_deref().map(Path::new);
        own == Some(folder) && one.metadata.key() != *key
    };
    manifests.certificates.iter().find(has_it).map(Arc::as_ref)
}

/// Those that the manifests have.
#[derive(Debug)]
pub(super) struct Known(Vec<IssuerName>);

impl Known {
    /// The Issuers that a Certificate at this place can name: of the manifests of its folder, and of
    /// the config directory.
    pub(super) fn of(manifests: &Loaded, placed: &Placed, shell: &Shell) -> Self {
        let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok();
        let other = config.map(|found| found.path).filter(|path| *path != placed.config);
        let Self(mut known) = Self::of_manifests(manifests, placed.namespace());
        let others = other.map(|folder| Self::in_folder(&folder, placed.namespace()).0);
        for issuer in others.unwrap_or_default() {
            if !known.iter().any(|one: &IssuerName| one.is(&issuer)) {
                known.push(issuer);
            }
        }
        Self(known)
    }

    /// Those of a folder that a Certificate of a namespace can name.
    pub(super) fn in_folder(folder: &Path, namespace: &str) -> Self {
        Self::of_manifests(&manifests_in(folder), namespace)
    }

    /// Those of these manifests.
    pub(super) fn of_manifests(manifests: &Loaded, namespace: &str) -> Self {
        let known = manifests.issuers.iter().filter_map(|issuer| {
            let is_of_cluster = match issuer.kind {
                IssuerKind::ClusterIssuer => true,
                IssuerKind::Issuer if issuer.metadata.namespace == namespace => false,
                IssuerKind::Issuer => return None,
            };
            let has_http01 = issuer.acme.solvers.iter().any(|solver| match solver.kind {
                SolverKind::Http01(_) => true,
                SolverKind::Dns01(_) => false,
            });
            let (name, solvers) = (issuer.metadata.name.clone(), issuer.acme.solvers.clone());
            let (server, settings) = (issuer.acme.server.clone(), issuer.settings.clone());
            Some(IssuerName { name, is_of_cluster, has_http01, server, solvers, settings })
        });
        Self(known.collect())
    }

    /// Whether an Issuer of this name can validate by HTTP-01.
    pub(super) fn has_http01(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.name == name && one.has_http01)
    }

    /// Whether an Issuer of this name can validate a wildcard, of a Certificate without labels.
    fn validates_wildcard(&self, name: &str, wildcard: &str) -> bool {
        let Some(Ok(domain)) = wildcard.strip_prefix("*.").map(str::parse) else { return false };
        let (identifier, labels) = (Identifier::Dns(domain), BTreeMap::new());
        let offered = &[ChallengeType::Dns01];
        let mut named = self.0.iter().filter(|one| one.name == name);
        named.any(|one| pick_solver(&one.solvers, &identifier, true, &labels, offered).is_some())
    }

    /// The first wildcard among these names that no Issuer of this name can validate.
    pub(super) fn unvalidated<'a>(&self, issuer: &str, names: &'a [String]) -> Option<&'a String> {
        let mut wildcards = names.iter().filter(|name| name.starts_with("*."));
        wildcards.find(|name| !self.validates_wildcard(issuer, name))
    }

    /// The names of those of the CA with this directory.
    pub(super) fn of_server(&self, server: &str) -> Vec<&str> {
        let of_it = self.0.iter().filter(|one| one.server == server);
        of_it.map(|one| one.name.as_str()).collect()
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|one| one.name.clone()).collect()
    }

    /// The one that is asked for, also where it is not there yet; else the only one, or, where there is
    /// none, that which `create issuer letsencrypt` makes.
    pub(super) fn chosen(&self, wanted: Option<&str>) -> Result<IssuerName, CliError> {
        if let (None, [only]) = (wanted, self.0.as_slice()) {
            return Ok(only.clone());
        }
        let name = wanted.unwrap_or(USUAL);
        if wanted.is_none() && !self.0.is_empty() {
            let message = format!("which Issuer? The manifests have {}", self.list());
            let each = escape(&self.names().join(" or --issuer ")).into_owned();
            let hint = format!("the same with --issuer {each}");
            return Err(CliError::new(ExitCode::Usage, message).hinted(hint));
        }
        let known = self.0.iter().find(|one| one.name == name);
        Ok(known.cloned().unwrap_or_else(|| IssuerName::of(name)))
    }

    /// That an Issuer is not there yet, and those that are.
    pub(super) fn lack(&self, issuer: &IssuerName, placed: &Placed) -> Option<String> {
        if self.0.iter().any(|one| one.is(issuer)) {
            return None;
        }
        let there =
            if self.0.is_empty() { String::new() } else { format!("; there are: {}", self.list()) };
        Some(format!("there is no Issuer {} in {}{there}", escape(&issuer.name), placed.config()))
    }

    /// The Issuer that a name may be a typing error of.
    pub(super) fn similar(&self, name: &str) -> Option<String> {
        let names = self.names();
        if is_known_ca(name) { None } else { nearest_by(name, names.into_iter(), String::as_str) }
    }

    fn list(&self) -> String {
        escape(&self.names().join(", ")).into_owned()
    }
}

const USUAL: &str = "letsencrypt";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test's own files need not survive a crash")]
    fn a_wildcard_needs_a_dns01_solver_that_selects_it() {
        let folder = tempfile::tempdir().unwrap();
        let dns01 = "{dns01: {cloudflare: {apiTokenSecretRef: {name: cloudflare, key: token}}}";
        let zone = format!("{dns01}, selector: {{dnsZones: [example.org]}}}}");
        let dns01 = format!("{dns01}}}");
        for (name, solver) in
            [("http", "{http01: {ingress: {}}}"), ("dns", &dns01), ("zone", &zone)]
        {
            let text = format!(
                "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: {name}}}\nspec: \
                 {{acme: {{server: 'https://ca.example/dir', privateKeySecretRef: {{name: a}}, \
                 solvers: [{solver}]}}}}\n"
            );
            std::fs::write(folder.path().join(format!("{name}.yaml")), text).unwrap();
        }
        let known = Known::in_folder(folder.path(), "default");
        for (issuer, name, is_validated) in [
            ("http", "*.example.org", false),
            ("dns", "*.example.org", true),
            ("zone", "*.example.org", true),
            ("zone", "*.example.net", false),
            ("missing", "*.example.org", false),
        ] {
            assert_eq!(known.validates_wildcard(issuer, name), is_validated, "{issuer} {name}");
        }
        assert_eq!(known.of_server("https://ca.example/dir"), ["dns", "http", "zone"]);
        assert!(known.of_server("https://other.example/dir").is_empty());
    }

    #[test]
    fn the_only_issuer_is_taken_and_of_several_one_is_named() {
        let issuer = |name: &str| IssuerName::of(name);
        let chosen = |known: &[&str], wanted| {
            Known(known.iter().map(|name| issuer(name)).collect())
                .chosen(wanted)
                .map_err(|error| error.message)
        };
        assert_eq!(chosen(&[], None), Ok(issuer("letsencrypt")));
        assert_eq!(chosen(&["home"], None), Ok(issuer("home")));
        assert_eq!(chosen(&["home"], Some("later")), Ok(issuer("later")), "not written yet");
        // Names of a private CA are not published by a slip.
        let several = chosen(&["home", "letsencrypt"], None);
        assert_eq!(several, Err("which Issuer? The manifests have home, letsencrypt".to_owned()));
        let cluster = IssuerName { is_of_cluster: true, ..issuer("all") };
        assert_eq!(Known(vec![cluster.clone()]).chosen(Some("all")).ok(), Some(cluster));
    }
}
