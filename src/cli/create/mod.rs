//! `certctl create certificaterequest`: a key and a request, once, for what certctl does not
//! manage.
//!
//! Contract: a file that is there is never written to. Of a key that is of no use nothing stays.

mod fetch;

use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::args::{CreateRequestArgs, CreateVerb, Format};
use super::error::CliError;
use super::exit::ExitCode;
use super::run::on_one_thread;
use super::shell::Shell;
use super::work::{refused, show};
use super::{status, yaml};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::{self, Loaded};
use crate::pki;
use crate::resource::{
    Certificate, CertificateRequest, CertificateRequestSpec, Metadata, is_dns_subdomain,
};
use crate::store::atomic;
use crate::workspace::Request;

/// `certctl create`.
pub(crate) fn create(verb: &CreateVerb, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let CreateVerb::CertificateRequest(args) = verb;
    if !is_dns_subdomain(&args.name) {
        let message = format!("`{}` is no name", args.name);
        return Err(CliError::new(ExitCode::Usage, message));
    }
    let files = Files::of(args)?;
    let (certificate, loaded) = certificate(args, shell)?;
    if args.fetch_certificate {
        on_one_thread(fetch::fetch(args, &files, certificate, loaded, shell))
    } else {
        request(args, &files, &certificate, shell)
    }
}

/// Where key and chain go.
struct Files {
    key: PathBuf,
    certificate: PathBuf,
}

impl Files {
    fn of(args: &CreateRequestArgs) -> Result<Self, CliError> {
        let or_named = |path: &Option<PathBuf>, end: &str| {
            path.clone().unwrap_or_else(|| PathBuf::from(format!("{}.{end}", args.name)))
        };
        let key = or_named(&args.output_key_file, "key");
        let certificate = or_named(&args.output_certificate_file, "crt");
        if args.fetch_certificate && key == certificate {
            let message = "key and certificate cannot go to the same file";
            return Err(CliError::new(ExitCode::Usage, message));
        }
        let certificate_too = Some(&certificate).filter(|_| args.fetch_certificate);
        for path in [Some(&key), certificate_too].into_iter().flatten() {
            if path.symlink_metadata().is_ok() {
                return Err(is_there(path));
            }
        }
        Ok(Self { key, certificate })
    }

    /// Writes the key, for its owner alone.
    fn write_key(&self, pem: &[u8]) -> Result<(), CliError> {
        write(&self.key, pem, 0o600)
    }

    /// Writes both, or neither.
    fn write_both(&self, key: &[u8], chain: &[u8]) -> Result<(), CliError> {
        self.write_key(key)?;
        write(&self.certificate, chain, 0o644).inspect_err(|_| self.remove_key())
    }

    /// Removes the key that was written just now.
    fn remove_key(&self) {
        if let Err(error) = std::fs::remove_file(&self.key) {
            tracing::warn!("{} is of no use and not removed: {error}", self.key.display());
        }
    }
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), CliError> {
    match atomic::write_once(path, bytes, mode) {
        Ok(true) => Ok(()),
        Ok(false) => Err(is_there(path)),
        Err(error) => Err(CliError::new(ExitCode::Output, error)),
    }
}

fn is_there(path: &Path) -> CliError {
    let message = format!("{} is there already, and is not overwritten", path.display());
    CliError::new(ExitCode::Manifest, message)
        .hinted("--output-key-file, --output-certificate-file")
}

/// The one Certificate of the file, and whatever else is in it.
fn certificate(
    args: &CreateRequestArgs,
    shell: &mut Shell,
) -> Result<(Certificate, Loaded), CliError> {
    let path = &args.from_certificate_file;
    let request = Request::paths(std::slice::from_ref(path))?;
    let mut options = manifest::Options {
        check_trust: shell.environment.is_root(),
        ..manifest::Options::default()
    };
    if let Some(namespace) = shell.global.namespace() {
        namespace.clone_into(&mut options.default_namespace);
    }
    let loaded = manifest::load(&request.sources, &options);
    show(shell, &loaded);
    if loaded.has_errors() {
        return Err(refused(&loaded));
    }
    match loaded.certificates.as_slice() {
        [one] => Ok((one.clone(), loaded)),
        several => Err(CliError::new(
            ExitCode::Manifest,
            format_args!(
                "{} has {} Certificates, and one is to be asked for",
                path.display(),
                several.len()
            ),
        )),
    }
}

/// Writes the key and prints the request, for others to grant.
fn request(
    args: &CreateRequestArgs,
    files: &Files,
    certificate: &Certificate,
    shell: &mut Shell,
) -> Result<ExitCode, CliError> {
    let format = shell.global.format();
    match format {
        Format::Text | Format::Wide | Format::Json | Format::Yaml => {}
        Format::Name | Format::Prometheus => {
            let message = "create certificaterequest has -o json and -o yaml";
            return Err(CliError::new(ExitCode::Usage, message));
        }
    }
    let failed = |error: &dyn std::fmt::Display| CliError::new(ExitCode::Failed, error);
    let spec = &certificate.spec;
    let (algorithm, size) = spec.key_parameters();
    let key = pki::PrivateKey::generate(algorithm, size).map_err(|error| failed(&error))?;
    let csr =
        pki::build_csr(spec, &key).map_err(|error| CliError::new(ExitCode::Manifest, error))?;
    let own = &certificate.metadata;
    let request = CertificateRequest {
        metadata: Metadata { name: args.name.clone(), ..own.clone() },
        revision: 0,
        creation_timestamp: SystemClock.now(),
        spec: CertificateRequestSpec::new(spec, csr.pem, key.facts().public_key.clone()),
        certificate_spec: spec.clone().into_requested(),
        conditions: Vec::new(),
        certificate: None,
        failure_time: None,
    };
    let object = status::request_manifest(&request);
    let text = match format {
        Format::Json => format!("{object:#}\n"),
        Format::Text | Format::Wide | Format::Yaml | Format::Name | Format::Prometheus => {
            yaml::document(&object)?
        }
    };
    let encoding = spec.private_key.as_ref().and_then(|key| key.encoding).unwrap_or_default();
    let pem: Zeroizing<String> = key.to_pem(encoding);
    files.write_key(pem.as_bytes())?;
    // A request that nobody got makes its key useless.
    shell.output.data(&text).inspect_err(|_| files.remove_key())?;
    shell.output.talk(&format!("private key written to {}", files.key.display()));
    Ok(ExitCode::Done)
}
