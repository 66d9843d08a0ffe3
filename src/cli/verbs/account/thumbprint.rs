//! `certctl account thumbprint`: what a server needs to answer any token of HTTP-01 by itself.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use super::{AccountDocument, AccountIssuerArgs, Selected, selected};
use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::global::Format;
use crate::cli::render::document;
use crate::cli::shell::Shell;

/// `certctl account thumbprint`.
#[derive(Debug, Args)]
pub struct AccountThumbprintArgs {
    /// The Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME.
    #[command(flatten)]
    pub issuer: AccountIssuerArgs,
    /// Print the lines with which this server answers any token
    #[arg(long = "for", value_name = "SERVER", value_enum)]
    pub server: Option<Server>,
}

/// A server whose lines are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Server {
    Nginx,
    Apache,
    Haproxy,
    Caddy,
}

impl Server {
    fn lines(self, thumbprint: &str) -> String {
        let lines = match self {
            Self::Nginx => include_str!("stateless/nginx.txt"),
            Self::Apache => include_str!("stateless/apache.txt"),
            Self::Haproxy => include_str!("stateless/haproxy.txt"),
            Self::Caddy => include_str!("stateless/caddy.txt"),
        };
        lines.replace("THUMBPRINT", thumbprint)
    }
}

/// The thumbprint of an account key.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct ThumbprintDocument {
    /// The URL of the CA's directory.
    server: String,
    /// The names of its issuers.
    issuers: Vec<String>,
    /// SHA-256 of the key as a JWK (RFC 7638), in base64url.
    thumbprint: String,
    /// With `--for`: the lines of the server's configuration.
    configuration: Option<String>,
}

pub(super) async fn thumbprint(
    args: &AccountThumbprintArgs,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    let Selected { targets, accounts, .. } = selected(&args.issuer, shell).await?;
    let keys = accounts.iter().filter_map(|(account, key)| Some((account, key.as_ref()?)));
    let mut keys: Vec<_> = keys.collect();
    keys.dedup_by(|(_, one), (_, other)| one.thumbprint() == other.thumbprint());
    let (account, key) = match keys.as_slice() {
        [] => {
            let error = CliError::new(ExitCode::Manifest, "there is no account key yet");
            let issuer = args.issuer.issuer.as_deref().map(|name| format!(" {name}"));
            let command = format!("certctl account register{}", issuer.unwrap_or_default());
            return Err(error.trying(command).of_absence());
        }
        [(account, key)] => (*account, *key),
        [_, _, ..] => {
            let message = "several accounts found: name the Issuer of one";
            return Err(CliError::new(ExitCode::Usage, message).trying_any(&[
                ("certctl account thumbprint ISSUER", ""),
                ("certctl account show", "lists the accounts"),
            ]));
        }
    };
    let thumbprint = key.thumbprint();
    let configuration = args.server.map(|server| server.lines(thumbprint));
    let text = match shell.global.format() {
        format @ (Format::Json | Format::Yaml) => {
            let AccountDocument { server, issuers, .. } =
                AccountDocument::from((account, Some(key), &*targets.loaded.issuers));
            let thumbprint = thumbprint.to_owned();
            document::text(
                &ThumbprintDocument { server, issuers, thumbprint, configuration },
                format,
            )?
        }
        Format::Text | Format::Wide => configuration.unwrap_or_else(|| format!("{thumbprint}\n")),
        Format::Name | Format::Prometheus => {
            let message = "account thumbprint has -o json and -o yaml";
            return Err(CliError::new(ExitCode::Usage, message));
        }
    };
    shell.output.data(&text)?;
    Ok(Vec::new())
}
