//! Result of the answers to `create`: the manifests of a Certificate and of its Issuer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use zeroize::Zeroizing;

use super::certificate::{self, CreateCertificateArgs, needs_usual_port, placed};
use super::issuer::{self, CreateIssuerArgs};
use super::place::{File, Placed};
use crate::cli::{CliError, Shell};
use crate::resource::{Issuer, IssuerKind};

/// The answers.
pub(super) struct Draft {
    pub(super) by: By,
    pub(super) args: CreateCertificateArgs,
}

/// The Issuer of the certificate.
pub(super) enum By {
    /// Issuer that the manifests have.
    Known(Box<Issuer>),
    New(Box<NewIssuer>),
}

/// An Issuer to be written.
#[derive(Default)]
pub(super) struct NewIssuer {
    pub(super) args: CreateIssuerArgs,
    /// The fields of its DNS provider that are no secrets.
    pub(super) values: BTreeMap<&'static str, String>,
    /// The secrets of its DNS provider, by file.
    pub(super) secrets: Vec<(PathBuf, Zeroizing<String>)>,
}

impl Draft {
    /// The manifest of the Issuer, if it is new, and of the Certificate.
    pub(super) fn files(&self, shell: &Shell) -> Result<(Option<File>, File), CliError> {
        let (of_issuer, issuer) = match &self.by {
            By::New(new) => {
                let args = &new.args;
                let placed = Placed::of("issuer", &args.name, args.into.as_deref(), shell)?;
                let text = issuer::text(args, &placed, &new.values)?;
                (Some(File::new(placed, &text)?), (args.name.as_str(), IssuerKind::Issuer))
            }
            By::Known(issuer) => (None, (issuer.metadata.name.as_str(), issuer.kind)),
        };
        let placed = placed(&self.args, shell)?;
        let text = certificate::text(&self.args, issuer, &placed, &placed.state(shell)?);
        Ok((of_issuer, File::new(placed, &text)?))
    }

    /// Returns whether certctl answers the challenges on the usual port.
    pub(super) fn needs_usual_port(&self) -> bool {
        match &self.by {
            By::Known(issuer) => needs_usual_port(&self.args, issuer),
            By::New(new) => new.args.dns01.is_none() && self.args.webroot.is_none(),
        }
    }
}
