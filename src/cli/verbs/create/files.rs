//! Where `create` puts the key and the chain.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::{CliError, ExitCode};
use crate::store::atomic;

/// `certctl create certificaterequest`.
#[derive(Debug, Args)]
pub struct CreateRequestArgs {
    /// Name of the request and its files.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A manifest with exactly one Certificate.
    #[arg(long, value_name = "FILE")]
    pub from_certificate_file: PathBuf,
    /// Issue the certificate now.
    #[arg(long)]
    pub fetch_certificate: bool,
    /// File for the private key [default: NAME.key]
    #[arg(long, value_name = "FILE")]
    pub output_key_file: Option<PathBuf>,
    /// File for the chain [default: NAME.crt]
    #[arg(long, value_name = "FILE", requires = "fetch_certificate")]
    pub output_certificate_file: Option<PathBuf>,
}

/// Where key and chain go.
pub(super) struct Files {
    pub(super) key: PathBuf,
    pub(super) certificate: PathBuf,
}

impl Files {
    pub(super) fn of(args: &CreateRequestArgs) -> Result<Self, CliError> {
        let or_named = |path: &Option<PathBuf>, end: &str| {
            path.clone().unwrap_or_else(|| PathBuf::from(format!("{}.{end}", args.name)))
        };
        let key = or_named(&args.output_key_file, "key");
        let certificate = or_named(&args.output_certificate_file, "crt");
        if args.fetch_certificate && key == certificate {
            return Err(CliError::usage("key and certificate need different files"));
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
    pub(super) fn write_key(&self, pem: &[u8]) -> Result<(), CliError> {
        write(&self.key, pem, 0o600)
    }

    /// Writes both, or neither.
    pub(super) fn write_both(&self, key: &[u8], chain: &[u8]) -> Result<(), CliError> {
        self.write_key(key)?;
        write(&self.certificate, chain, 0o644).inspect_err(|_| self.remove_key())
    }

    /// Removes the key that was written just now.
    pub(super) fn remove_key(&self) {
        if let Err(error) = std::fs::remove_file(&self.key) {
            tracing::warn!("cannot remove the unused key {}: {error}", self.key.display());
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
    let message = format!("{} already exists; certctl does not overwrite it", path.display());
    CliError::manifest(message).hinted("--output-key-file, --output-certificate-file")
}
