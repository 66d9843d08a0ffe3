//! The DNS providers of `create issuer --dns01`, each with its entry of `solvers`.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::solver::dns01::{WebhookProvider, webhook_providers};

/// The providers of DNS for which there is an entry of `solvers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dns01 {
    /// One of cert-manager's own, or a program of your own.
    Own(&'static OwnProvider),
    /// One that cert-manager lacks.
    Listed(&'static WebhookProvider),
}

/// A provider whose entry is written by hand.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnProvider {
    /// As it is typed.
    pub name: &'static str,
    /// As manifests have it, if they have it otherwise.
    field: Option<&'static str>,
    /// Its entry of `solvers`, with values that must be changed.
    pub entry: &'static str,
}

impl Dns01 {
    /// Without those that cert-manager lacks.
    pub const OWN: &[OwnProvider] = &[
        own("acme-dns", Some("acmeDNS"), include_str!("dns01/acme-dns.yaml")),
        own("akamai", None, include_str!("dns01/akamai.yaml")),
        own("azure-dns", Some("azureDNS"), include_str!("dns01/azure-dns.yaml")),
        own("cloud-dns", Some("cloudDNS"), include_str!("dns01/cloud-dns.yaml")),
        own("cloudflare", None, include_str!("dns01/cloudflare.yaml")),
        own("digitalocean", None, include_str!("dns01/digitalocean.yaml")),
        own("exec", None, include_str!("dns01/exec.yaml")),
        own("rfc2136", None, include_str!("dns01/rfc2136.yaml")),
        own("route53", None, include_str!("dns01/route53.yaml")),
    ];

    /// As it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own(provider) => provider.name,
            Self::Listed(provider) => provider.name,
        }
    }
}

const fn own(name: &'static str, field: Option<&'static str>, entry: &'static str) -> OwnProvider {
    OwnProvider { name, field, entry }
}

impl ValueEnum for Dns01 {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Dns01>> = LazyLock::new(|| {
            let listed = webhook_providers().into_iter().map(Dns01::Listed);
            Dns01::OWN.iter().map(Dns01::Own).chain(listed).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = PossibleValue::new(self.name());
        Some(match self {
            Self::Own(OwnProvider { field: Some(field), .. }) => value.alias(*field),
            Self::Own(_) | Self::Listed(_) => value,
        })
    }
}
