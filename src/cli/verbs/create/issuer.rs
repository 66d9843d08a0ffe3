//! `certctl create issuer`: a manifest of an Issuer, to be kept.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{PathBuf, absolute};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::Args;

use super::ca::{LETS_ENCRYPT, Refused, STAGING as STAGING_NAME, read_bundle, requested};
use super::dns01::Dns01;
use super::place::{File, Placed, say_next, scalar};
use crate::cli::verbs::doctor;
use crate::cli::words::fix::sudo_on_own;
use crate::cli::{CliError, Ending, ExitCode, Hint, Message, Shell, escape};
use crate::pki::Bundle;
use crate::resource::Issuer;
use crate::resource::lets_encrypt::{PRODUCTION, STAGING};
use crate::trust::quoted;

/// `certctl create issuer`.
#[derive(Debug, Default, Args)]
pub struct CreateIssuerArgs {
    /// Name of the Issuer; certctl knows the URLs of `letsencrypt` and `letsencrypt-staging`.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// E-mail address for the CA's messages.
    #[arg(long, value_name = "ADDRESS")]
    pub email: Option<String>,
    /// ACME directory URL of another CA; certctl requests it unless --print is given.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// PEM file with the roots of a private CA's server.
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
    /// Validate names by DNS-01 with this DNS provider, such as cloudflare, hetzner or rfc2136; exec
    /// runs your own program. For the list, run certctl version -v.
    #[arg(long, value_name = "PROVIDER", hide_possible_values = true)]
    pub dns01: Option<Dns01>,
    /// Write the manifest to this folder [default: the config directory]
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
    /// Print the manifest instead, and check and write nothing.
    #[arg(long)]
    pub print: bool,
}

/// Writes or prints the manifest.
pub(super) fn issuer(args: &CreateIssuerArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let placed = Placed::of("issuer", &args.name, args.into.as_deref(), shell)?;
    let text = text(args, &placed, &BTreeMap::new())?;
    let file = File::new(placed, &text)?;
    if file.is_done(args.print, shell)? {
        return Ok(Vec::new());
    }
    if let Some(server) = &args.server {
        reach(server, args, shell)?;
    }
    file.write(shell)?;
    doctor::warn_of_roots(&file.loaded, shell);
    let placed = &file.placed;
    let folder = placed.config.join("secrets").join(placed.namespace());
    let secrets = file.loaded.issuers.iter().flat_map(Issuer::secrets);
    let secrets = secrets.map(|secret| folder.join(&secret.name).join(&secret.key));
    let secrets = secrets.filter(|path| !path.exists()).flat_map(|path| {
        let (sudo, path) = (sudo_on_own(), escape(&quoted(&path)).into_owned());
        // A shell that the lines are pasted into passes over the first.
        [
            "# type the secret, Enter and Ctrl-D".to_owned(),
            format!("{sudo}install -D {} /dev/stdin {path}", placed.install),
        ]
    });
    let flag = placed.flag();
    let next = format!("certctl create certificate DNSNAME --issuer {}{flag}", args.name);
    let steps: Vec<String> = secrets.chain([next]).collect();
    say_next(&format!("written to {}; ", placed.shown_path()), &steps, shell);
    Ok(Vec::new())
}

/// Refuses the Issuer of another CA that cannot work as it is; warns where the CA does not answer.
fn reach(server: &str, args: &CreateIssuerArgs, shell: &mut Shell) -> Result<(), CliError> {
    let refused = |why: String, hint: &str| {
        let error = CliError::new(ExitCode::Manifest, format!("{why}; nothing was written"));
        Err(error.hinted(hint))
    };
    match requested(server, args.ca_bundle.as_deref()) {
        Ok(found) if found.external_account_required && args.eab_kid.is_none() => refused(
            format!("{server} requires an external account binding (EAB)"),
            "--eab-kid ID, which the CA's account page has",
        ),
        Ok(_) => Ok(()),
        Err(Refused { why, is_silent: true, .. }) => {
            let hint = Hint::Command("certctl check acme".to_owned());
            shell.output.print(&Message::advice(&why, Some(&hint)));
            Ok(())
        }
        Err(Refused { why, hint, .. }) => refused(why, hint),
    }
}

/// The manifest; `values` are those of the fields of its DNS provider, as far as they are known.
pub(super) fn text(
    args: &CreateIssuerArgs,
    placed: &Placed,
    values: &BTreeMap<&str, String>,
) -> Result<String, CliError> {
    let mut text = String::from(
        "# An ACME CA, and how it validates the names. By using it you agree to its\n\
         # terms of service. To list all fields, run certctl explain issuer\n\
         # To rename it, change the name here and in issuerRef of its Certificates;\n\
         # certctl then issues them again.\n\
         apiVersion: cert-manager.io/v1\n\
         kind: Issuer\n",
    );
    text.push_str(&placed.metadata());
    let _ = write!(text, "spec:\n  acme:\n{}", server_lines(server(args)?));
    if let Some(path) = &args.ca_bundle {
        let pem = read_bundle(path)?;
        let until = str::from_utf8(&pem).ok().and_then(|pem| Bundle::from_pem(pem).ok());
        let until = until.and_then(|bundle| bundle.valid_until());
        let until = until.map(|end| format!("valid until {}. ", end.strftime("%F")));
        let until = until.unwrap_or_default();
        let bundle = BASE64_STANDARD.encode(pem);
        // A reader of the manifest is in another folder.
        let path = absolute(path).unwrap_or_else(|_| path.clone());
        let path = escape(&path.to_string_lossy()).into_owned();
        let _ = write!(
            text,
            "    # The roots that certctl trusts for the CA's server: base64 -w0 of\n    \
             #   {path}\n    \
             # {until}Before the server changes its root, put both here:\n    \
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
                "    # Contact address for the CA (optional):\n    \
                 # email: you@example.com\n",
            );
        }
    }
    if let Some(profile) = &args.profile {
        let profile = scalar(profile);
        let _ = write!(
            text,
            "    # A profile of the CA. To list them, run certctl check acme\n    profile: {profile}\n"
        );
    }
    text.push_str(&account(args, placed));
    text.push_str("    solvers:\n");
    let dns01 = args.dns01.map(|provider| provider.entry(values, placed));
    text.push_str(dns01.as_deref().unwrap_or(HTTP01));
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
        "{key}    # External account binding: the CA gives you the ID and the HMAC key. Store\n    \
         # the key in a file:\n    \
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

/// The URL of the CA's directory.
fn server(args: &CreateIssuerArgs) -> Result<&str, CliError> {
    match (&args.server, args.name.as_str()) {
        (Some(server), _) => Ok(server),
        (None, _) if args.staging => Ok(STAGING),
        (None, LETS_ENCRYPT) => Ok(PRODUCTION),
        (None, STAGING_NAME) => Ok(STAGING),
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
            format!(
                "    # Let's Encrypt. For tests, use its staging environment:\n    # {STAGING}\n"
            )
        }
        STAGING => format!(
            "    # Let's Encrypt's staging environment: no browser trusts its certificates.\n    \
             # For production, use {PRODUCTION}\n"
        ),
        _ => "    # The ACME directory of the CA.\n".to_owned(),
    };
    format!("{about}    server: {}\n", scalar(server))
}
