//! The server of a CA, before there is an Issuer of it: whether it answers, whether this host trusts it,
//! and what it demands. And what host a URL names.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::{SignedDuration, Timestamp};

use super::print::{check, scalar};
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::render::output::escape;
use crate::cli::run::on_one_thread;
use crate::pki::Bundle;
use crate::resource::Issuer;
use crate::workspace::check::{Directory, NoDirectory, ServerTls, directory_of_ca};

/// Whether a CA demands an external account binding (RFC 8555 section 7.3.4).
#[derive(Clone, Copy)]
pub(super) enum Binding {
    Required,
    Optional,
}

/// What the directory of a CA says to its customers.
pub(super) struct Demands {
    pub(super) binding: Binding,
    /// The URL of the terms of service.
    pub(super) terms: Option<String>,
}

/// Why the directory of a CA could not be read.
pub(super) struct Refused {
    pub(super) why: String,
    pub(super) is_no_acme: bool,
    pub(super) is_distrusted: bool,
    /// The file of roots cannot be used.
    pub(super) has_no_roots: bool,
}

/// Requests the directory of a CA whose server is trusted by these roots, or by the system's.
pub(super) fn requested(server: &str, roots: Option<&Path>) -> Result<Demands, Refused> {
    let refused = |error: CliError, has_no_roots| Refused {
        why: error.message,
        is_no_acme: false,
        is_distrusted: false,
        has_no_roots,
    };
    let issuer = of_server(server, roots).map_err(|error| refused(error, true))?;
    let found = on_one_thread(async { Ok(directory_of_ca(&issuer, PATIENCE).await) });
    let directory = found.map_err(|error| refused(error, false))?;
    let demands = |found: Directory| Demands {
        binding: if found.external_account_required {
            Binding::Required
        } else {
            Binding::Optional
        },
        terms: found.terms_of_service,
    };
    directory.map(demands).map_err(|found| {
        let NoDirectory { error, is_no_acme, tls, .. } = found;
        let of_kind = if is_no_acme { "; this is not an ACME directory" } else { "" };
        let why = format!("{error}{of_kind}");
        let is_distrusted = tls == ServerTls::Distrusted;
        Refused { why, is_no_acme, is_distrusted, has_no_roots: false }
    })
}

/// Refuses an Issuer of another CA that cannot work as it is; returns why it is not known whether it can,
/// where the CA does not answer.
pub(super) fn checked(
    server: &str,
    ca_bundle: Option<&Path>,
    has_binding: bool,
) -> Result<Option<String>, CliError> {
    let refused = |message: String, hint: &str| {
        Err(CliError::new(ExitCode::Manifest, format!("{message}; nothing was written"))
            .hinted(hint))
    };
    match requested(server, ca_bundle) {
        Ok(Demands { binding: Binding::Required, .. }) if !has_binding => refused(
            format!("{server} requires an external account binding (EAB)"),
            "--eab-kid ID, which the CA's account page has",
        ),
        Ok(Demands { .. }) => Ok(None),
        Err(Refused { is_no_acme: true, why, .. }) => {
            refused(why, "--server, with the URL that the CA's documentation names")
        }
        Err(Refused { is_distrusted: true, .. }) => {
            let (why, hint) = match ca_bundle {
                None => (
                    format!("this host does not trust the server of {server}: its root is unknown"),
                    "--ca-bundle FILE, the PEM file with the root of its server",
                ),
                Some(_) => (
                    format!(
                        "the server of {server} has no certificate of the roots in --ca-bundle"
                    ),
                    "--ca-bundle with the PEM file that has the root of its server",
                ),
            };
            refused(why, hint)
        }
        Err(Refused { why, .. }) => Ok(Some(why)),
    }
}

/// An Issuer of which only the CA is known.
fn of_server(server: &str, ca_bundle: Option<&Path>) -> Result<Issuer, CliError> {
    let bundle = match ca_bundle {
        Some(path) => format!("    caBundle: {}\n", BASE64_STANDARD.encode(read_bundle(path)?)),
        None => String::new(),
    };
    let text = format!(
        "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: ca}}\nspec:\n  acme:\n\
         \x20   server: {}\n{bundle}    privateKeySecretRef: {{name: ca-account}}\n    solvers: [{{http01: \
         {{ingress: {{}}}}}}]\n",
        scalar(server)
    );
    let issuer = check(&text)?.issuers.into_iter().next();
    issuer.ok_or_else(|| CliError::new(ExitCode::Usage, "the CA's URL makes no Issuer"))
}

pub(super) fn read_bundle(path: &Path) -> Result<Vec<u8>, CliError> {
    let named = escape(&path.to_string_lossy()).into_owned();
    let failed = |error| {
        let text = format_args!("cannot read {named}: {error}; nothing was written");
        CliError::new(ExitCode::Usage, text).hinted("a PEM file with the root of the CA's server")
    };
    let mut pem = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BUNDLE_BYTES).read_to_end(&mut pem).map_err(failed)?;
    Ok(pem)
}

/// The end of the certificate of a bundle that is valid longest; `None` of what is no bundle.
pub(super) fn valid_until(pem: &[u8]) -> Option<Timestamp> {
    Bundle::from_pem(str::from_utf8(pem).ok()?).ok()?.valid_until()
}

/// The host of a URL; `None` of what is no URL.
pub(super) fn host_of_url(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    // An address of IPv6 has brackets around its colons.
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_owned())
}

/// More than a manifest can hold.
const MAX_BUNDLE_BYTES: u64 = 1 << 20;

/// How long the CA may take to answer.
const PATIENCE: SignedDuration = SignedDuration::from_secs(5);
