//! The port of the HTTP-01 listener between two runs.
//!
//! Held so that no other program takes it, and a CA that comes late gets an answer. It is answered
//! from the folder of tokens, so a run by hand meanwhile shares it. Where no other process could
//! share it (no runtime folder) it is not held: that run could not listen.

use std::net::{Ipv6Addr, SocketAddr};

use crate::cli::shell::Shell;
use crate::engine::Task;
use crate::engine::inputs::{names_of, solver_for};
use crate::engine::ports::{Clock as _, SystemClock};
use crate::resource::SolverKind;
use crate::solver::http01::{Hits, Listener, TokenFolder};
use crate::store::{OpenMode, StateDirectory};
use crate::workspace::{Request, Workspace};

/// The listener, while it is held.
#[derive(Debug, Default)]
pub(super) struct Port(Option<Listener>);

impl Port {
    /// Leaves the port to a run.
    pub(super) fn release(&mut self) {
        self.0 = None;
    }

    /// Holds the port if the manifests need it and it can be had. What hinders that is told by the
    /// runs.
    pub(super) async fn hold(&mut self, shell: &Shell) {
        match Box::pin(listen(shell)).await {
            Ok(listener) => self.0 = listener,
            Err(error) => tracing::debug!(%error, "the port is not held"),
        }
    }
}

async fn listen(shell: &Shell) -> Result<Option<Listener>, Box<dyn std::error::Error>> {
    let settings = shell.settings()?;
    let mut addresses = settings.http01_listen.clone();
    if addresses.is_empty() {
        addresses.push(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 80)));
    }
    let state = settings.state_dir.clone();
    let mut workspace = Workspace::open(settings).await?;
    let request = Request::default();
    let selection = workspace.select(&request);
    if !workspace.targets(&request, selection)?.tasks.iter().any(needs_the_port) {
        return Ok(None);
    }
    let state = StateDirectory::open(&state, OpenMode::ReadWrite)?;
    let tokens = TokenFolder::open_shared(&state.http01_path())?;
    if !tokens.is_shared() {
        return Ok(None);
    }
    let hits = Hits::new(|| SystemClock.now());
    Ok(Some(Listener::bind(&addresses, Vec::new(), &tokens, &hits)?))
}

/// Whether a challenge of this certificate is answered by the listener at its usual address.
fn needs_the_port(task: &Task) -> bool {
    let settings = task.settings();
    let is_usual = settings.http01_webroot.is_none() && settings.http01_listen.is_empty();
    is_usual
        && names_of(&task.certificate).iter().any(|name| {
            let solver = solver_for(&task.issuer, &task.certificate, name);
            solver.is_some_and(|solver| matches!(solver.kind, SolverKind::Http01(_)))
        })
}
