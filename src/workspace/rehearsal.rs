//! `certctl rehearse`: the built-in CA and the built-in name server, which stand in for the real
//! ones.
//!
//! Contract: contacts no real CA and no DNS provider. The manifests are used unchanged, except for
//! what [`Rehearsal::task`] names.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt as _;
use thiserror::Error;

use super::Workspace;
use super::run::RunError;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::engine::{StandIn, Task};
use crate::probe;
use crate::rehearsal::{Ca, CaOptions, NameServer, Resolver, Reuse};
use crate::resource::Issuer;

/// See the module.
pub struct Rehearsal {
    ca: Ca,
    dns: NameServer,
}

/// Why a rehearsal cannot begin.
#[derive(Debug, Error)]
pub enum RehearsalError {
    #[error(transparent)]
    Server(#[from] crate::rehearsal::RehearsalError),
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Rehearsal {
    /// Starts both. The CA asks HTTP-01 challenges at `http01_port`, TLS-ALPN-01 ones where their
    /// self-check connects to, and looks names up as this host does, but for `overrides`.
    pub async fn start(
        workspace: &Workspace,
        http01_port: u16,
        overrides: BTreeMap<String, Vec<IpAddr>>,
    ) -> Result<Self, RehearsalError> {
        let dns = NameServer::start(BTreeMap::new())?;
        let resolver = Arc::new(workspace.settings().resolver(overrides).await);
        let lookup = move |name: String| {
            let resolver: Arc<probe::Resolver> = Arc::clone(&resolver);
            async move {
                let found = resolver.addresses(&name).await.map_err(|error| error.to_string())?;
                Ok(found.iter().collect())
            }
            .boxed()
        };
        let clock = Arc::new(|| SystemClock.now());
        let options = CaOptions {
            http01_port,
            tlsalpn01_port: workspace.settings().tlsalpn01_check_port,
            // As Let's Encrypt's server does, of all the public CAs the most used one.
            reuse: Reuse::Orders,
            ..CaOptions::new(clock, Resolver::ask(Arc::new(lookup)).with_txt(dns.txt_lookup()))
        };
        Ok(Self { ca: Ca::start(options).await?, dns })
    }

    /// The built-in name server, which replaces all providers and the servers of their zones.
    pub fn stand_in(&self) -> Result<StandIn, RehearsalError> {
        let options = probe::ResolverOptions {
            servers: vec![self.dns.address()],
            authoritative_port: self.dns.address().port(),
            ..probe::ResolverOptions::default()
        };
        let resolver = probe::Resolver::new(options);
        Ok(StandIn { provider: Rc::new(self.dns.provider()), resolver })
    }

    /// The task, with the built-in CA as the server of its first issuer, and no other one. What only the real CA knows (accounts,
    /// profiles, chains) is left out.
    pub fn task(&self, task: &Task) -> Task {
        let mut task = task.clone();
        let certificate = Arc::make_mut(&mut task.certificate);
        let mut issuer = Issuer::clone(&task.issuers.first);
        let acme = &mut issuer.acme;
        acme.server = self.ca.directory_url();
        acme.ca_bundle = Some(self.ca.root_pem());
        acme.skip_tls_verify = false;
        acme.external_account_binding = None;
        acme.disable_account_key_generation = false;
        "rehearsal-account".clone_into(&mut acme.private_key_secret_ref.name);
        acme.profile.clear();
        acme.preferred_chain.clear();
        for solver in &mut acme.solvers {
            if let Some(dns01) = solver.dns01_mut() {
                // The built-in name server is the only one and shows changes at once.
                dns01.nameservers.clear();
                solver.wait_instead_of_self_check = None;
            }
        }
        // A rehearsal only issues: it adopts no certificate, writes no output and runs no hook.
        task.secret = None;
        for settings in [&mut certificate.settings, &mut issuer.settings] {
            settings.output_dir = None;
            settings.deploy_hook = None;
            settings.reload = None;
        }
        task.issuers = Arc::new(issuer).into();
        task
    }

    /// Whether the built-in name server was asked.
    pub fn has_used_dns(&self) -> bool {
        !self.dns.questions().is_empty()
    }

    /// Ends the CA.
    pub async fn shutdown(self) {
        self.ca.shutdown().await;
    }
}
