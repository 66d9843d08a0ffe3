//! `certctl inspect`: one certificate in cmctl's layout, repaired.
//!
//! Contract: read-only. The certificate comes from the state, a file, standard input or a TLS
//! server. The checks: does the key match, is the chain in order, does it end at a trusted root, has the CA
//! revoked it, does it match the Certificate. A check that cannot be made is "unknown", never
//! "good".

mod report;
mod source;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::args::{Format, InspectArgs};
use super::document;
use super::error::CliError;
use super::exit::ExitCode;
use super::run::on_one_thread;
use super::shell::Shell;
use super::targets::{known_names, open, targets};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::probe::Network;
use crate::workspace::{Owners, Request, Workspace};
pub(in crate::cli) use report::Report;
use report::Roots;
use source::{Source, Subject};

/// `certctl inspect`.
pub(crate) fn inspect(args: &InspectArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let format = shell.global.format();
    if format == Format::Prometheus {
        return Err(CliError::new(ExitCode::Usage, "-o prometheus is for status, not for inspect"));
    }
    // A word that is a path is one also where the state cannot say whether it is a name.
    let known = known_names(shell, &args.words).unwrap_or_else(|error| {
        tracing::debug!(error = %error.message, "no name is known");
        Vec::new()
    });
    let source = Source::read(&args.words, &known)?;
    if args.offline
        && let Source::Server { host, port } = &source
    {
        let message = format!("--offline excludes the server {host}:{port}");
        let hint = "the same command without --offline";
        return Err(CliError::new(ExitCode::Usage, message).hinted(hint));
    }
    on_one_thread(async {
        let now = SystemClock.now();
        let owners = Box::pin(owners(shell, &source)).await?;
        let network = if args.offline {
            None
        } else {
            let settings = shell.settings_at(PathBuf::new())?;
            let resolver = settings.resolver(BTreeMap::new()).await?;
            Some(Network::new(resolver, settings.http01_check_port))
        };
        let subject = Box::pin(source.open(&owners, network.as_ref(), shell)).await?;
        let roots = roots(subject.ca_bundle.as_deref());
        let report = Box::pin(Report::make(&subject, &roots, network.as_ref(), now)).await?;
        shell.output.data(&render(&report, &subject, format)?)?;
        let attention = shell.global.exit_code && report.needs_attention();
        Ok(if attention { ExitCode::Attention } else { ExitCode::Done })
    })
}

/// Reads state and manifests. An unreadable state counts as empty, unless the certificate comes
/// from it.
async fn owners(shell: &mut Shell, source: &Source) -> Result<Owners, CliError> {
    let found = async {
        let mut workspace = match source {
            Source::Name { name, is_secret } => {
                Workspace::open_for_secret(shell.settings()?, name, *is_secret).await?
            }
            Source::File(_) | Source::Stdin | Source::Server { .. } => open(shell).await?,
        };
        let targets = targets(shell, &mut workspace, &Request::default())?;
        Ok(Owners::of(workspace, targets))
    };
    match found.await {
        Err(error) if !source.is_in_state() => {
            let error: CliError = error;
            tracing::debug!(error = %error.message, "nothing to compare with");
            Ok(Owners::default())
        }
        found => found,
    }
}

fn render(report: &Report, subject: &Subject, format: Format) -> Result<String, CliError> {
    match format {
        Format::Text | Format::Wide | Format::Prometheus => Ok(text::page(report)),
        Format::Json | Format::Yaml => document::text(report, format),
        Format::Name => Ok(format!("{}\n", subject.label)),
    }
}

/// The system's roots, and those of the issuer's caBundle.
fn roots(ca_bundle: Option<&str>) -> Roots {
    let certificates = rustls_native_certs::load_native_certs().certs;
    let mut system = RootCertStore::empty();
    // Systems carry odd certificates; one that cannot be read must not stop the others.
    system.add_parsable_certificates(certificates.iter().cloned());
    let mut all: Vec<Vec<u8>> = certificates.into_iter().map(|der| der.to_vec()).collect();
    let bundle = ca_bundle.map(|pem| {
        let found: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(pem.as_bytes()).flatten().collect();
        all.extend(found.iter().map(|der| der.to_vec()));
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(found);
        store
    });
    Roots { system, bundle, certificates: all }
}
