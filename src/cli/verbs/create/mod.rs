//! `certctl create`: writes the manifests of an Issuer or a Certificate, to begin with; and a key and a
//! request, once, for what certctl does not manage.
//!
//! Contract: never overwrites a file. Removes the key when the request fails.

mod ca;
mod certificate;
mod dialogue;
mod dns01;
mod draft;
mod fetch;
mod files;
mod finish;
mod issuer;
mod place;
mod template;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use zeroize::Zeroizing;

use crate::cli::targets::{refused, show};
use crate::cli::verbs::status::objects::request_manifest;
use crate::cli::{
    CliError, Ending, ExitCode, Format, Level, Shell, VerbArgs, document, on_one_thread,
};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::{self, Loaded};
use crate::pki;
use crate::resource::{
    Certificate, CertificateRequest, CertificateRequestSpec, Metadata, is_dns_subdomain,
};
use crate::workspace::Request;
use files::{CreateRequestArgs, Files};

/// Set up and issue a certificate by questions, or write a manifest.
///
/// Without arguments on a terminal, it asks for names, CA, validation, server and folder, and checks
/// each answer. Then it shows the manifests, writes them, rehearses and issues the certificate.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Write the manifests to this folder [default: the config directory]
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
    /// The object to create; without it, certctl asks on a terminal.
    #[command(subcommand)]
    pub verb: Option<CreateVerb>,
}

/// The objects that can be created.
#[derive(Debug, Subcommand)]
pub enum CreateVerb {
    /// Write the manifest of an Issuer, with comments.
    ///
    /// For Let's Encrypt, run `certctl create issuer letsencrypt`. The CA validates the names by
    /// HTTP-01 on port 80, or with --dns01 by TXT records that certctl creates. The file is
    /// issuer-NAME.yaml in the config directory. certctl never overwrites a file.
    Issuer(Box<issuer::CreateIssuerArgs>),
    /// Write the manifest of a Certificate, with comments.
    ///
    /// `certctl create certificate www.example.com example.com` writes one certificate for two names.
    /// The file is certificate-NAME.yaml in the config directory. certctl never overwrites a file.
    #[command(visible_alias = "cert")]
    Certificate(Box<certificate::CreateCertificateArgs>),
    /// Create a one-off key and CSR for a Certificate, which certctl does not manage.
    ///
    /// It writes the key to NAME.key and prints the CertificateRequest as YAML (-o json: as JSON), for
    /// a cluster or another CA. spec.request is the CSR, as PEM in base64.
    ///
    /// With --fetch-certificate, the Issuer issues the certificate. certctl writes the key to NAME.key
    /// and the chain to NAME.crt once it has both, and prints nothing. If a run is killed, the same
    /// command continues it. certctl never overwrites a file.
    #[command(name = "certificaterequest", visible_alias = "cr")]
    CertificateRequest(CreateRequestArgs),
}

impl VerbArgs for CreateArgs {
    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        create(self, shell)
    }
}

fn create(args: &CreateArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    if args.into.is_some() && args.verb.is_some() {
        return Err(CliError::usage("use --into with `create issuer` or `create certificate`"));
    }
    let args = match &args.verb {
        None => return finish::finish(&dialogue::ask(args.into.as_deref(), shell)?, shell),
        Some(CreateVerb::Issuer(args)) => return issuer::issuer(args, shell),
        Some(CreateVerb::Certificate(args)) => return certificate::certificate(args, shell),
        Some(CreateVerb::CertificateRequest(args)) => args,
    };
    if !is_dns_subdomain(&args.name) {
        return Err(CliError::usage(format!("`{}` is not a name", args.name)));
    }
    let files = Files::of(args)?;
    let (certificate, loaded) = certificate_of(args, shell)?;
    if args.fetch_certificate {
        on_one_thread(fetch::fetch(args, &files, certificate, loaded, shell))
    } else {
        request(args, &files, &certificate, shell)
    }
}

/// The one Certificate of the file, and whatever else is in it.
fn certificate_of(
    args: &CreateRequestArgs,
    shell: &mut Shell,
) -> Result<(Certificate, Loaded), CliError> {
    let path = &args.from_certificate_file;
    let request = Request::paths(std::slice::from_ref(path))?;
    let mut options = manifest::Options::default();
    if let Some(namespace) = shell.global.namespace() {
        namespace.clone_into(&mut options.default_namespace);
    }
    let loaded = manifest::load(&request.sources, &options);
    show(shell, &loaded);
    if loaded.has_errors() {
        return Err(refused(&loaded));
    }
    match loaded.certificates.as_slice() {
        [one] => Ok((Certificate::clone(one), loaded)),
        several => Err(CliError::manifest(format_args!(
            "{} has {} Certificates, expected one",
            path.display(),
            several.len()
        ))),
    }
}

/// Writes the key and prints the request, for another CA to sign.
fn request(
    args: &CreateRequestArgs,
    files: &Files,
    certificate: &Certificate,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    let format = shell.global.format();
    match format {
        Format::Text | Format::Wide | Format::Json | Format::Yaml => {}
        Format::Name | Format::Prometheus => {
            return Err(CliError::usage("create certificaterequest has -o json and -o yaml"));
        }
    }
    let failed = |error: &dyn std::fmt::Display| CliError::new(ExitCode::Failed, error);
    let spec = &certificate.spec;
    let (algorithm, size) = spec.key_parameters();
    let key = pki::PrivateKey::generate(algorithm, size).map_err(|error| failed(&error))?;
    let csr = pki::build_csr(spec, &key).map_err(CliError::manifest)?;
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
    let object = request_manifest(&request);
    // A manifest is YAML unless -o json is given.
    let format = if format == Format::Json { format } else { Format::Yaml };
    let text = document::text(&object, format)?;
    let encoding = spec.private_key.as_ref().and_then(|key| key.encoding).unwrap_or_default();
    let pem: Zeroizing<String> = key.to_pem(encoding);
    files.write_key(pem.as_bytes())?;
    // Without its request, the key is useless.
    shell.output.data(&text).inspect_err(|_| files.remove_key())?;
    shell.output.talk(Level::Info, format!("private key written to {}", files.key.display()));
    Ok(Vec::new())
}
