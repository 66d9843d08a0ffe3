//! `certctl create`: manifests of an Issuer or a Certificate, to begin with; and a key and a request,
//! once, for what certctl does not manage.
//!
//! Contract: never overwrites a file. Removes the key when the request fails.

mod ask;
mod certificate;
mod fetch;
mod files;
mod issuer;
mod known;
mod print;
#[cfg(test)]
mod tests;

use zeroize::Zeroizing;

use super::args::{CreateArgs, CreateRequestArgs, CreateVerb, Format};
use super::document;
use super::error::CliError;
use super::exit::ExitCode;
use super::message::Level;
use super::run::on_one_thread;
use super::shell::Shell;
use super::status::objects::request_manifest;
use super::targets::{refused, show};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::{self, Loaded};
use crate::pki;
use crate::resource::{
    Certificate, CertificateRequest, CertificateRequestSpec, Metadata, is_dns_subdomain,
};
use crate::workspace::Request;
use files::Files;

/// `certctl create`.
pub(crate) fn create(args: &CreateArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let args = match &args.verb {
        None => return ask::ask(shell),
        Some(CreateVerb::Issuer(args)) => return issuer::issuer(args, shell),
        Some(CreateVerb::Certificate(args)) => return certificate::certificate(args, shell),
        Some(CreateVerb::CertificateRequest(args)) => args,
    };
    if !is_dns_subdomain(&args.name) {
        let message = format!("`{}` is no name", args.name);
        return Err(CliError::new(ExitCode::Usage, message));
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
        several => Err(CliError::new(
            ExitCode::Manifest,
            format_args!("{} has {} Certificates, expected one", path.display(), several.len()),
        )),
    }
}

/// Writes the key and prints the request, for another CA to sign.
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
    let object = request_manifest(&request);
    // A manifest is YAML unless -o json is given.
    let format = if format == Format::Json { format } else { Format::Yaml };
    let text = document::text(&object, format)?;
    let encoding = spec.private_key.as_ref().and_then(|key| key.encoding).unwrap_or_default();
    let pem: Zeroizing<String> = key.to_pem(encoding);
    files.write_key(pem.as_bytes())?;
    // Without its request, the key is useless.
    shell.output.data(&text).inspect_err(|_| files.remove_key())?;
    shell.output.talk(Level::Info, &format!("private key written to {}", files.key.display()));
    Ok(ExitCode::Done)
}
