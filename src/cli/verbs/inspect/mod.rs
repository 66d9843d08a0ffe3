//! `certctl inspect`: one certificate in cmctl's layout, repaired.
//!
//! Contract: read-only. The certificate comes from the state, a file, standard input or a TLS
//! server. The checks: does the key match, is the chain in order, does it end at a trusted root, has the CA
//! revoked it, does it match the Certificate. A check that cannot be made is "unknown", never
//! "good".

mod source;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use rustls::RootCertStore;

use crate::cli::targets::{known_names, open, targets};
use crate::cli::words::fix::sudo_on_own;
use crate::cli::{
    CliError, Ending, Format, Level, Shell, Text, VerbArgs, document, escape, folders,
    on_one_thread, short,
};
use crate::engine::ports::{Clock as _, LiveFiles, Store, SystemClock};
use crate::trust::quoted;
pub(in crate::cli) use crate::workspace::inspect::Report;
use crate::workspace::inspect::{InspectError, Network, Roots, Source, Subject, roots_of};
use crate::workspace::{Owners, Request, Workspace};
use source::{refused, source};

/// Show one certificate, from the state, a file or a server.
///
/// Shows names, key, chain, trust and revocation. For a server or with --ca-bundle, a terminal shows
/// only the verdict, and -o wide shows everything. --exit-code exits with 8 if the certificate is
/// expired or revoked, if its key, its Certificate, the server or the server's name does not match,
/// or if --ca-bundle does not contain its root.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A certificate by name, a secret as `secret NAME`, a file with PEM or the manifest of a Secret,
    /// `-` for standard input, or a TLS server as HOST:PORT or https://HOST.
    #[arg(value_name = "NAME|FILE|-|HOST:PORT", required = true, num_args = 1..=2)]
    pub words: Vec<OsString>,
    /// Do not query the CA for revocation.
    #[arg(long)]
    pub offline: bool,
    /// PEM file with the roots of your clients; shows whether they trust the certificate.
    #[arg(long, value_name = "FILE")]
    pub ca_bundle: Option<PathBuf>,
}

impl InspectArgs {
    /// The roots of the clients, if they were named.
    fn roots(&self) -> Result<Option<RootCertStore>, CliError> {
        let roots = self.ca_bundle.as_deref().map(|path| {
            let place = || path.to_string_lossy().into_owned();
            roots_of(path).map_err(|why| InspectError::Unreadable { place: place(), why })
        });
        roots.transpose().map_err(CliError::manifest)
    }
}

impl VerbArgs for InspectArgs {
    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        let format = shell.global.format();
        if format == Format::Prometheus {
            return Err(CliError::usage("-o prometheus is for status, not for inspect"));
        }
        // A word that is a path is one also where the state cannot say whether it is a name.
        let known = known_names(shell, &self.words).unwrap_or_else(|error| {
            tracing::debug!(error = %error.message, "no name is known");
            Vec::new()
        });
        let source = source(&self.words, &known)?;
        let roots = self.roots()?;
        if self.offline
            && let Source::Server { host, port } = &source
        {
            let message = format!("--offline excludes the server {host}:{port}");
            let hint = "the same command without --offline";
            return Err(CliError::usage(message).hinted(hint));
        }
        on_one_thread(async {
            let now = SystemClock.now();
            let owners = Box::pin(owners(shell, &source)).await?;
            let network = if self.offline {
                None
            } else {
                let settings = shell.settings_at(PathBuf::new())?;
                let resolver = settings.resolver(BTreeMap::new()).await;
                Some(Network::new(resolver, settings.http01_check_port))
            };
            let open = || source.open(&owners, network.as_ref(), shell.global.namespace());
            let mut found = Box::pin(open()).await;
            // A server that has just been told to reload presents the earlier one, or none, for a moment.
            for _ in 0..LOOKS_AGAIN {
                if found
                    .as_ref()
                    .map_or_else(|error| !error.is_unreachable(), |one| !one.is_outdated())
                {
                    break;
                }
                tokio::time::sleep(PAUSE).await;
                found = Box::pin(open()).await;
            }
            let is_text = matches!(format, Format::Text | Format::Wide);
            let is_wrong =
                found.as_ref().map_or_else(InspectError::is_unreachable, Subject::is_outdated);
            let advice = match &source {
                Source::Server { host, .. } if is_wrong && is_text => {
                    in_server(&owners, host).await
                }
                Source::Server { .. } | Source::Name { .. } | Source::File(_) | Source::Stdin => {
                    None
                }
            };
            let subject = match found {
                Ok(subject) => subject,
                Err(error) => {
                    let error = refused(error, &source);
                    let Some(advice) = advice else { return Err(error) };
                    let error = CliError { hint: None, ..error };
                    shell.output.print(&error.to_message());
                    shell.output.talk(Level::Info, &advice);
                    return Ok(vec![Ending::Like(error.code)]);
                }
            };
            let report = Box::pin(report_of(&subject, roots, network.as_ref(), now)).await?;
            let is_unread = folders::unread(shell).is_some();
            shell.output.data(&render(&report, &subject, format, is_unread, Shell::columns())?)?;
            if let Source::Server { .. } = &source
                && is_unread
            {
                let line = folders::as_root(shell, &format!(" inspect {}", escape(&subject.label)));
                let mut text = Text::from("to compare it with the certificates of this host: ");
                text.whole(&line);
                shell.output.talk(Level::Info, text);
            }
            if let Some(advice) = advice {
                shell.output.talk(Level::Info, &advice);
            }
            let attention = report.needs_attention().then_some(Ending::Attention(None));
            Ok(attention.into_iter().collect())
        })
    }
}

async fn report_of(
    subject: &Subject,
    of_file: Option<RootCertStore>,
    network: Option<&Network>,
    now: Timestamp,
) -> Result<Report, CliError> {
    let roots = Roots::read(subject.ca_bundle.as_deref(), of_file);
    let report = Box::pin(Report::make(subject, &roots, network, now)).await;
    report.map_err(CliError::manifest)
}

/// Fault of the server at a host that is to present a certificate of the state.
async fn in_server(owners: &Owners, host: &str) -> Option<String> {
    let (owner, _) = owners.covering(host).await?;
    let one = owners.certificate(&owner.certificate)?;
    let settings = match owners.issuer(one) {
        Some(issuer) => one.settings.or(&issuer.settings),
        None => one.settings.clone(),
    };
    let workspace = owners.workspace()?;
    let secret = workspace.state().live_files().secret_path(&owner.secret).ok()?;
    let folder = settings.output_dir.as_deref().map_or(secret, PathBuf::from);
    let program = workspace.settings().hooks().folder.join(settings.reload.as_deref()?);
    let (name, folder, program) = (short(&owner.certificate), quoted(&folder), quoted(&program));
    Some(format!(
        "to present the certificate of {name}, let the server read tls.crt and tls.key in {folder}; then \
         reload it: {}{program}",
        sudo_on_own()
    ))
}

/// Number of times that a server is queried again if it does not present the certificate of the
/// state.
const LOOKS_AGAIN: u32 = 4;
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(500);

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

fn render(
    report: &Report,
    subject: &Subject,
    format: Format,
    is_unread: bool,
    columns: usize,
) -> Result<String, CliError> {
    match format {
        Format::Text | Format::Prometheus => {
            let is_terminal = columns != usize::MAX;
            let short = text::short(report, is_unread).filter(|_| is_terminal);
            Ok(text::fitted(&short.unwrap_or_else(|| text::page(report, is_unread)), columns))
        }
        Format::Wide => Ok(text::fitted(&text::page(report, is_unread), columns)),
        Format::Json | Format::Yaml => Ok(document::text(report, format)?),
        Format::Name => Ok(format!("{}\n", subject.label)),
    }
}
