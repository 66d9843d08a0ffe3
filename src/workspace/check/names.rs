//! The Certificates in the manifests that contain a name, and their solvers.

use crate::engine::inputs::{names_of, solver_for};
use crate::manifest::Loaded;
use crate::resource::{Certificate, Chosen, DnsName, Identifier, Issuer, Solver};
use crate::workspace::issuer_of;

/// A Certificate that contains the name or its wildcard.
pub(super) struct Wanting<'a> {
    pub(super) certificate: &'a Certificate,
    pub(super) issuer: &'a Issuer,
    pub(super) chosen: Option<Chosen<'a>>,
    /// Whether the name of the Certificate begins with `*.`.
    pub(super) is_wildcard: bool,
}

impl<'a> Wanting<'a> {
    pub(super) fn solver(&self) -> Option<&'a Solver> {
        self.chosen.as_ref().map(|chosen| chosen.solver)
    }

    /// The issuer's kind and name.
    pub(super) fn issuer_name(&self) -> String {
        format!("{} {}", self.issuer.kind, self.issuer.metadata.name)
    }
}

/// All Certificates that contain `name`, in the order of the manifests.
pub(super) fn wanting<'a>(loaded: &'a Loaded, name: &DnsName) -> Vec<Wanting<'a>> {
    let mut found = Vec::new();
    for certificate in &loaded.certificates {
        let Some(issuer) = issuer_of(certificate, loaded) else { continue };
        for identifier in names_of(certificate) {
            let is_wildcard = match &identifier {
                Identifier::Dns(dns) if dns.base() == name.base() => dns.is_wildcard(),
                Identifier::Dns(_) | Identifier::Ip(_) => continue,
            };
            let chosen = solver_for(issuer, certificate, &identifier);
            found.push(Wanting { certificate, issuer, chosen, is_wildcard });
        }
    }
    found
}
