//! Which certificates a verb is about: from words, files, the config directory and the state to
//! tasks.
//!
//! Contract: FILE arguments are all-or-nothing: a mistake in one of them and nothing is started.
//! Everything else isolates: a broken document blocks itself and what refers to it, and the
//! others go on. Files that the state knows are read too, so that what was issued from somewhere
//! is found again from anywhere.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::count::count;
use super::error::CliError;
use super::exit::ExitCode;
use super::shell::Shell;
use super::target::{NameTarget, Target};
use crate::controller::trigger;
use crate::engine::Task;
use crate::engine::inputs::{input_digest, names_of, solver_for};
use crate::manifest::{self, Conflict, Diagnostic, Loaded, SecretSource, Source};
use crate::resource::{
    Certificate, CertificateRecord, CertificateSpec, Issuer, IssuerKind, Metadata, NamespacedName,
    SecretFiles, SecretKeySelector, Settings, SolverKind,
};
use crate::store::{Records, StateDirectory};

/// The manifests of a verb, and which of their Certificates it is about.
pub(crate) struct Work {
    /// Everything that was read.
    pub(crate) loaded: Loaded,
    /// What is to be worked on.
    pub(crate) tasks: Vec<Task>,
    /// Where secrets come from.
    pub(crate) secrets: SecretSource,
    /// Certificates that the state knows and whose manifest is gone.
    pub(crate) orphans: Vec<(NamespacedName, PathBuf)>,
    /// Whether a mistake was found in what does not stop the run.
    pub(crate) has_errors: bool,
}

/// What was asked for on the command line.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) sources: Vec<Source>,
    pub(crate) names: Vec<NameTarget>,
    /// What is wrong with the manifests was said before.
    pub(crate) is_said: bool,
}

impl Wanted {
    /// Reads the words of a verb that takes files and names.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, CliError> {
        let mut wanted = Self::default();
        for word in words {
            match Target::read(word, &|path| path.exists())? {
                Target::Stdin => wanted.sources.push(standard_input()?),
                Target::Path(path) => wanted.sources.push(source(path)),
                Target::Name(name) => wanted.names.push(name),
            }
        }
        Ok(wanted)
    }

    /// The paths of a verb that takes files only.
    pub(crate) fn paths(paths: &[PathBuf]) -> Result<Self, CliError> {
        let mut wanted = Self::default();
        for path in paths {
            let is_stdin = path.as_os_str() == "-";
            wanted.sources.push(if is_stdin { standard_input()? } else { source(path.clone()) });
        }
        Ok(wanted)
    }
}

fn source(path: PathBuf) -> Source {
    if path.is_dir() { Source::Directory(path) } else { Source::File(path) }
}

/// Standard input, as long as a manifest may be and one byte more, so that its limit is noticed.
fn standard_input() -> Result<Source, CliError> {
    let mut bytes = Vec::new();
    let limit = 2 << 20;
    std::io::stdin().take(limit).read_to_end(&mut bytes).map_err(|error| {
        CliError::new(ExitCode::Manifest, format_args!("cannot read standard input: {error}"))
    })?;
    Ok(Source::Stdin(bytes))
}

/// Whether this process is root's: then nobody else may be able to change what it reads.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The records of the state, those that can be read.
pub(crate) async fn known(
    state: &StateDirectory,
) -> Result<Vec<(NamespacedName, CertificateRecord)>, CliError> {
    let all = Records::new(state).certificates().await?;
    Ok(all.into_iter().filter_map(|(name, record)| Some((name, record.ok()?))).collect())
}

/// Reads manifests and makes tasks of what is wanted.
pub(crate) fn gather(
    shell: &mut Shell,
    wanted: &Wanted,
    known: &[(NamespacedName, CertificateRecord)],
) -> Result<Work, CliError> {
    let named = !wanted.sources.is_empty();
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
    let files_flag = files_of(shell)?;
    let mut sources = wanted.sources.clone();
    sources.extend(files_flag);
    if let Ok(config) = &config
        && config.path.is_dir()
    {
        sources.push(Source::Directory(config.path.clone()));
    }
    let mut orphans = Vec::new();
    if !named {
        let mut paths = BTreeSet::new();
        for (name, record) in known {
            match &record.manifest {
                Some(path) if !path.exists() => orphans.push((name.clone(), path.clone())),
                manifest => {
                    paths.extend(manifest.iter().chain(&record.references).cloned());
                }
            }
        }
        sources.extend(paths.into_iter().filter(|path| path.exists()).map(Source::File));
    }
    let options = manifest::Options { check_trust: is_root(), ..manifest::Options::default() };
    let of_named = manifest::load(&wanted.sources, &options);
    let mut loaded = manifest::load(&sources, &options);
    manifest::check_references(&mut loaded);
    let strict: BTreeSet<PathBuf> = of_named.files.iter().cloned().collect();
    let in_named =
        |d: &Diagnostic| d.is_error() && (named && (strict.contains(&d.path) || !d.path.exists()));
    if !wanted.is_said {
        show(shell, &loaded);
    }
    if loaded.diagnostics.iter().any(in_named) {
        return Err(refused(&loaded));
    }
    let credentials = shell.environment.credentials_dir().map(|found| found.path);
    let secrets = SecretSource::new(
        loaded.secrets.clone(),
        config.ok().map(|config| config.path.join("secrets")),
        credentials,
        is_root(),
    );
    let chosen = choose(shell, wanted, &loaded, &strict, known)?;
    let tasks = chosen.into_iter().filter_map(|c| task(shell, c, &loaded, &secrets)).collect();
    let has_errors = loaded.has_errors();
    Ok(Work { loaded, tasks, secrets, orphans, has_errors })
}

/// What `-f` and CERTCTL_FILES name.
pub(crate) fn files_of(shell: &Shell) -> Result<Vec<Source>, CliError> {
    let paths = if shell.global.filename.is_empty() {
        shell.environment.files()
    } else {
        shell.global.filename.clone()
    };
    Ok(Wanted::paths(&paths)?.sources)
}

/// Prints every finding, and with -v what was passed over.
pub(crate) fn show(shell: &mut Shell, loaded: &Loaded) {
    for diagnostic in &loaded.diagnostics {
        shell.output.finding(diagnostic);
    }
    for skipped in &loaded.skipped {
        tracing::debug!("{skipped:?}");
    }
}

/// The error that ends a run before it begins.
pub(crate) fn refused(loaded: &Loaded) -> CliError {
    let (errors, warnings) = manifest::count(&loaded.diagnostics);
    let found = [count(errors, "error"), count(warnings, "warning")].join(", ");
    let files = count(loaded.files.len(), "file");
    CliError::new(ExitCode::Manifest, format_args!("{found} in {files}; nothing was changed"))
}

/// The Certificates that are meant: those of the files named, or those of the names, or all.
fn choose<'a>(
    shell: &Shell,
    wanted: &Wanted,
    loaded: &'a Loaded,
    strict: &BTreeSet<PathBuf>,
    known: &[(NamespacedName, CertificateRecord)],
) -> Result<Vec<&'a Certificate>, CliError> {
    let usable = loaded.usable(|conflict| owner(conflict, known));
    let namespace = shell.global.namespace();
    let all: Vec<NamespacedName> = loaded.certificates.iter().map(|c| c.metadata.key()).collect();
    let mut named = BTreeSet::new();
    for name in &wanted.names {
        named.insert(name.find(&all, namespace)?);
    }
    let from_files = |c: &Certificate| strict.contains(&c.origin.path);
    let everything = wanted.names.is_empty() && wanted.sources.is_empty();
    let meant = |c: &&Certificate| {
        let asked = everything || named.contains(&c.metadata.key()) || from_files(c);
        let here = namespace.is_none_or(|namespace| c.metadata.namespace == namespace);
        let labels = shell.global.selector.as_ref();
        asked && here && labels.is_none_or(|selector| selector.matches(&c.metadata.labels))
    };
    Ok(usable.into_iter().filter(meant).collect())
}

/// Of several Certificates that want one Secret, the one that may have it.
fn owner(
    conflict: &Conflict,
    known: &[(NamespacedName, CertificateRecord)],
) -> Option<NamespacedName> {
    let claim = |name| {
        let record = known.iter().find(|(known, _)| known == name).map(|(_, record)| record);
        let owns = record.is_some_and(|record| record.secret_name == conflict.secret.name);
        trigger::Claim { name, since: record.map(|record| record.creation_timestamp), owns }
    };
    let claims: Vec<_> = conflict.certificates.iter().map(claim).collect();
    trigger::owner(&claims).cloned()
}

/// The work on one Certificate; `None` when its issuer is not there.
pub(crate) fn task(
    shell: &Shell,
    certificate: &Certificate,
    loaded: &Loaded,
    secrets: &SecretSource,
) -> Option<Task> {
    let issuer = issuer_of(certificate, loaded)?.clone();
    let mut references: Vec<PathBuf> = absolute(&issuer.origin.path).into_iter().collect();
    references.extend(loaded.secrets.iter().filter_map(|s| absolute(&s.origin.path)));
    let manifest = absolute(&certificate.origin.path);
    references.retain(|path| Some(path) != manifest.as_ref());
    references.sort();
    references.dedup();
    let bytes = used_secrets(shell, certificate, &issuer, secrets);
    Some(Task {
        input_digest: input_digest(certificate, &issuer, &bytes),
        certificate: certificate.clone(),
        issuer,
        manifest,
        references,
        force: None,
        only: None,
        secret: pair_to_adopt(certificate, loaded),
    })
}

/// A task that stands for an Issuer alone: for work on its account, and never run.
pub(crate) fn issuer_task(shell: &Shell, issuer: &Issuer) -> Task {
    let namespace = match issuer.kind {
        IssuerKind::Issuer => &issuer.metadata.namespace,
        IssuerKind::ClusterIssuer => &shell.global.cluster_resource_namespace,
    };
    let name = issuer.metadata.name.clone();
    let metadata = Metadata { namespace: namespace.clone(), name, ..Metadata::default() };
    let certificate = Certificate {
        spec: CertificateSpec { secret_name: metadata.name.clone(), ..CertificateSpec::default() },
        metadata,
        settings: Settings::default(),
        origin: issuer.origin.clone(),
    };
    Task {
        certificate,
        issuer: issuer.clone(),
        manifest: None,
        references: Vec::new(),
        force: None,
        only: None,
        secret: None,
        input_digest: String::new(),
    }
}

/// The pair in the Secret manifest that a Certificate names, as a cluster exports it.
fn pair_to_adopt(certificate: &Certificate, loaded: &Loaded) -> Option<SecretFiles> {
    let name = certificate.secret_key();
    let secret = loaded.secrets.iter().find(|secret| secret.key() == name)?;
    let of_the_pair = |(key, bytes): (&String, &Zeroizing<Vec<u8>>)| {
        let wanted = ["tls.crt", "tls.key", "ca.crt"].contains(&key.as_str());
        wanted.then(|| (key.clone(), bytes.clone()))
    };
    Some(SecretFiles(secret.data.iter().filter_map(of_the_pair).collect()))
}

/// The issuer that a Certificate refers to.
pub(crate) fn issuer_of<'a>(certificate: &Certificate, loaded: &'a Loaded) -> Option<&'a Issuer> {
    let wanted = &certificate.spec.issuer_ref;
    loaded.issuers.iter().find(|issuer| {
        let here = match wanted.kind {
            IssuerKind::Issuer => issuer.metadata.namespace == certificate.metadata.namespace,
            IssuerKind::ClusterIssuer => true,
        };
        issuer.kind == wanted.kind && issuer.metadata.name == wanted.name && here
    })
}

/// The secrets whose change may let an attempt through the backoff.
fn used_secrets(
    shell: &Shell,
    certificate: &Certificate,
    issuer: &Issuer,
    secrets: &SecretSource,
) -> Vec<Zeroizing<Vec<u8>>> {
    let namespace = match issuer.kind {
        IssuerKind::Issuer => issuer.metadata.namespace.clone(),
        IssuerKind::ClusterIssuer => shell.global.cluster_resource_namespace.clone(),
    };
    let eab = issuer.acme.external_account_binding.as_ref().map(|eab| eab.key_secret_ref.clone());
    let names = names_of(certificate);
    let solvers = names.iter().filter_map(|name| solver_for(issuer, certificate, name));
    let of_solvers = solvers.flat_map(|solver| match &solver.kind {
        SolverKind::Http01(_) => Vec::new(),
        SolverKind::Dns01(dns01) => dns01.provider.credentials(),
    });
    let all: BTreeSet<SecretKeySelector> = eab.into_iter().chain(of_solvers).collect();
    all.into_iter()
        .filter_map(|SecretKeySelector { name, key }| {
            secrets.resolve(&NamespacedName::new(&namespace, &name), &key).ok()
        })
        .collect()
}

fn absolute(path: &Path) -> Option<PathBuf> {
    if path.as_os_str() == "-" {
        return None;
    }
    std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok()
}
