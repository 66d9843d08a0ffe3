//! `certctl create issuer`: a manifest of an Issuer, to be kept.

use std::collections::BTreeMap;
use std::path::{PathBuf, absolute};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::Args;

use super::ca::{LETS_ENCRYPT, Refused, STAGING as STAGING_NAME, read_bundle, requested};
use super::dns01::Dns01;
use super::place::{File, Placed, say_next, scalar};
use super::template::filled;
use crate::cli::verbs::doctor;
use crate::cli::words::fix::sudo_on_own;
use crate::cli::{CliError, Ending, Hint, Message, Shell, escape};
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
        let error = CliError::manifest(format!("{why}; nothing was written"));
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
    let server = server(args)?;
    let word = |word: &Option<String>| word.as_deref().map(scalar);
    let has = |is_there: bool| is_there.then(String::new);
    let pem = args.ca_bundle.as_deref().map(read_bundle).transpose()?;
    let until = pem.as_deref().and_then(|pem| Bundle::from_pem(str::from_utf8(pem).ok()?).ok());
    let until = until.and_then(|bundle| bundle.valid_until());
    let until = until.map(|end| format!("valid until {}. ", end.strftime("%F")));
    // A reader of the manifest is in another folder.
    let path = args.ca_bundle.as_ref().map(|path| absolute(path).unwrap_or_else(|_| path.clone()));
    let eab = format!("{}-eab", args.name);
    let dns01 = args.dns01.map(|provider| provider.entry(values, placed));
    let values = [
        ("name", Some(scalar(&placed.name))),
        ("namespace", word(&placed.namespace)),
        ("production", has(server == PRODUCTION)),
        ("staging", has(server == STAGING)),
        ("other", has(![PRODUCTION, STAGING].contains(&server))),
        ("production-url", Some(PRODUCTION.to_owned())),
        ("staging-url", Some(STAGING.to_owned())),
        ("server", Some(scalar(server))),
        ("bundle", pem.map(|pem| BASE64_STANDARD.encode(pem))),
        ("path", path.map(|path| escape(&path.to_string_lossy()).into_owned())),
        ("until", Some(until.unwrap_or_default())),
        ("email", word(&args.email)),
        ("no-email", has(args.email.is_none())),
        ("profile", word(&args.profile)),
        ("account", Some(scalar(&format!("{}-account", args.name)))),
        ("install", Some(placed.install.clone())),
        ("secrets", Some(placed.secrets())),
        ("eab", word(&args.eab_kid)),
        ("eab-name", Some(scalar(&eab))),
        ("eab-secret", Some(eab)),
        ("http01", has(dns01.is_none())),
        ("dns01", dns01),
    ];
    Ok(filled(include_str!("issuer.txt"), &values))
}

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
            Err(CliError::usage(message).hinted(hint))
        }
    }
}
