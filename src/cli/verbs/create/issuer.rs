//! `certctl create issuer`: a manifest of an Issuer, to be kept.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{PathBuf, absolute};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::Args;

use super::dns01::Dns01;
use super::print::{Placed, put, say_next, scalar};
use super::server::{checked, read_bundle, valid_until};
use super::step;
use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::render::message::Message;
use crate::cli::render::output::escape;
use crate::cli::shell::Shell;
use crate::cli::verbs::doctor;
use crate::cli::words::hint::Hint;
use crate::resource::lets_encrypt::{PRODUCTION, STAGING};
use crate::solver::dns01::WebhookProvider;
use crate::trust::quoted;

/// `certctl create issuer`.
#[derive(Debug, Args)]
pub struct CreateIssuerArgs {
    /// Name of the Issuer; certctl knows the URLs of `letsencrypt` and `letsencrypt-staging`.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// E-mail address for the CA's messages.
    #[arg(long, value_name = "ADDRESS")]
    pub email: Option<String>,
    /// ACME directory URL of another CA; --into asks it first whether it is one that can be used.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// PEM file with the roots to trust for the server of a private CA.
    #[arg(long, value_name = "FILE")]
    pub ca_bundle: Option<PathBuf>,
    /// Use Let's Encrypt's staging environment.
    #[arg(long, conflicts_with = "server")]
    pub staging: bool,
    /// Certificate profile of the CA.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<String>,
    /// Key ID for the external account binding.
    #[arg(long, value_name = "ID")]
    pub eab_kid: Option<String>,
    /// Validate names by DNS-01 with this DNS provider, such as cloudflare, hetzner or rfc2136;
    /// exec: a program of your own. All: certctl version -v.
    #[arg(long, value_name = "PROVIDER", hide_possible_values = true)]
    pub dns01: Option<Dns01>,
    /// Write the manifest to this folder.
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
}

/// Prints or writes the manifest.
pub(super) fn issuer(args: &CreateIssuerArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let placed = Placed::of("issuer", &args.name, args.into.as_deref(), shell)?;
    if let Some(server) = args.server.as_ref().filter(|server| !server.contains("://")) {
        let message =
            format!("--server: the URL `{}` does not begin with https://", escape(server));
        let instead = Hint::value("--server", &[quoted(format!("https://{server}").as_ref())]);
        return Err(CliError { hint: Some(instead), ..CliError::new(ExitCode::Usage, message) });
    }
    let text = text(args, &placed)?;
    // What was written once is not written again.
    if let Some(server) = &args.server
        && placed.path().is_some_and(|path| !path.exists())
        && let Some(why) = checked(server, args.ca_bundle.as_deref(), args.eab_kid.is_some())?
    {
        shell
            .output
            .print(&Message::advice(&why, Some(&Hint::Command("certctl check acme".to_owned()))));
    }
    let next =
        format!("certctl create certificate DNSNAME --issuer {}{}", args.name, placed.flag());
    let (loaded, written) = put(&placed, &text, shell)?;
    doctor::warn_of_roots(&loaded, shell);
    if let Some(path) = written {
        let missing = step::lines(&placed.missing(&loaded));
        let begin = format!("written to {path}; ");
        say_next(&begin, &[missing, vec![next]].concat(), None, shell);
    }
    Ok(Vec::new())
}

/// The manifest.
pub(super) fn text(args: &CreateIssuerArgs, placed: &Placed) -> Result<String, CliError> {
    let mut text = String::from(
        "# An ACME CA, and how it validates the names. By using it you agree to its\n\
         # terms of service. All fields: certctl explain issuer\n\
         # It may be renamed, here and in issuerRef of its Certificates, which are issued\n\
         # again then.\n\
         apiVersion: cert-manager.io/v1\n\
         kind: Issuer\n",
    );
    text.push_str(&placed.metadata());
    let _ = write!(text, "spec:\n  acme:\n{}", server_lines(server(args)?));
    if let Some(path) = &args.ca_bundle {
        let pem = read_bundle(path)?;
        let until = valid_until(&pem).map(|end| format!("valid until {}. ", end.strftime("%F")));
        let until = until.unwrap_or_default();
        let bundle = BASE64_STANDARD.encode(pem);
        // A reader of the manifest is in another folder.
        let path = absolute(path).unwrap_or_else(|_| path.clone());
        let path = escape(&path.to_string_lossy()).into_owned();
        let _ = write!(
            text,
            "    # The roots to trust for the CA's server, by base64 -w0, of\n    \
             #   {path}\n    \
             # {until}Before the server gets a new root, put both here:\n    \
             #   cat OLD.pem NEW.pem | base64 -w0\n    \
             caBundle: {bundle}\n"
        );
    }
    match &args.email {
        Some(email) => {
            let _ = writeln!(text, "    email: {}", scalar(email));
        }
        None => {
            text.push_str(
                "    # Address for messages of the CA, if it sends any; not needed:\n    \
                 # email: you@example.com\n",
            );
        }
    }
    if let Some(profile) = &args.profile {
        let profile = scalar(profile);
        let _ = write!(
            text,
            "    # One of the CA's profiles: certctl check acme\n    profile: {profile}\n"
        );
    }
    text.push_str(&account(args, placed));
    text.push_str("    solvers:\n");
    text.push_str(&args.dns01.map_or_else(
        || HTTP01.to_owned(),
        |provider| {
            let entry = solver(provider).replace("CONFIG/secrets/NAMESPACE", &placed.secrets());
            entry.replace("CONFIG", &placed.config()).replace("-m 0600", &placed.install)
        },
    ));
    Ok(text)
}

fn account(args: &CreateIssuerArgs, placed: &Placed) -> String {
    let name = scalar(&format!("{}-account", args.name));
    let key = format!(
        "    privateKeySecretRef:\n      # The key of the ACME account; certctl generates it.\n      \
         name: {name}\n"
    );
    let Some(id) = &args.eab_kid else { return key };
    let (secret, secrets) = (format!("{}-eab", args.name), placed.secrets());
    let install = &placed.install;
    let (id, name) = (scalar(id), scalar(&secret));
    format!(
        "{key}    # External account binding: ID and HMAC key are from the CA. Store the\n    \
         # key in a file:\n    \
         #   install -D {install} /dev/stdin {secrets}/{secret}/key\n    \
         externalAccountBinding:\n      keyID: {id}\n      keySecretRef:\n        \
         name: {name}\n        key: key\n"
    )
}

/// An entry of `solvers`.
const HTTP01: &str = "      \
      # HTTP-01: the CA requests a file from port 80 of each name, which must\n      \
      # resolve to this host. certctl listens there or, if a Certificate names\n      \
      # a folder of a web server (certctl/http01-webroot), writes to that.\n      \
      # Wildcards need DNS-01 instead: --dns01.\n      \
      - http01:\n          ingress: {}\n";

/// Whether certctl knows the URL of a CA by this name of its Issuer.
pub(super) fn is_known_ca(name: &str) -> bool {
    ["letsencrypt", "letsencrypt-staging"].contains(&name)
}

/// The URL of the CA's directory.
pub(super) fn server(args: &CreateIssuerArgs) -> Result<&str, CliError> {
    match (&args.server, args.name.as_str()) {
        (Some(server), _) => Ok(server),
        (None, _) if args.staging => Ok(STAGING),
        (None, "letsencrypt") => Ok(PRODUCTION),
        (None, "letsencrypt-staging") => Ok(STAGING),
        (None, name) => {
            let message = format!("`{name}` is not the name of a known CA");
            let hint = "name it letsencrypt or letsencrypt-staging, or give the URL of the CA's \
                        directory: --server URL";
            Err(CliError::new(ExitCode::Usage, message).hinted(hint))
        }
    }
}

fn server_lines(server: &str) -> String {
    let about = match server {
        PRODUCTION => {
            format!("    # Let's Encrypt. For tests, its staging environment:\n    # {STAGING}\n")
        }
        STAGING => format!(
            "    # Let's Encrypt's staging environment: no browser trusts its certificates.\n    \
             # For production: {PRODUCTION}\n"
        ),
        _ => "    # The ACME directory of the CA.\n".to_owned(),
    };
    format!("{about}    server: {}\n", scalar(server))
}

/// An entry of `solvers`, with values that must be changed.
fn solver(provider: Dns01) -> Cow<'static, str> {
    match provider {
        Dns01::Own(provider) => Cow::Borrowed(provider.entry),
        Dns01::Listed(provider) => Cow::Owned(listed(provider)),
    }
}

fn listed(provider: &WebhookProvider) -> String {
    let name = provider.name;
    let mut text =
        format!("      # All fields of this provider: certctl explain {name}. Credentials:\n");
    for key in provider.keys() {
        text = format!(
            "{text}      #   install -D -m 0600 /dev/stdin CONFIG/secrets/NAMESPACE/{name}/{key}\n"
        );
    }
    text + &provider.entry("      ")
}
