//! The port of the HTTP-01 listener between two runs.
//!
//! Held so that no other program takes it, and a CA that comes late gets an answer. It is answered
//! from the folder of tokens, so a run by hand meanwhile shares it. Where no other process could
//! share it (no runtime folder) it is not held: that run could not listen.

use jiff::Timestamp;

use crate::cli::Shell;
use crate::cli::verbs::doctor::Use;
use crate::engine::ports::{Cache, Clock as _, HostRecord, Store, SystemClock};
use crate::resource::ValidationMethod;
use crate::solver::listener::{Answers, Hits, Listener, TokenFolder, listener_addresses};
use crate::workspace::{Request, Workspace};

/// The listener, while it is held.
#[derive(Debug, Default)]
pub(super) struct Port {
    held: Option<Listener>,
    /// True if a manifest needs it, and when the index that knew all of them was written: without a
    /// newer one, no manifest has changed.
    needed: Option<(Timestamp, bool)>,
}

impl Port {
    /// Leaves the port to a run.
    pub(super) fn release(&mut self) {
        self.held = None;
    }

    /// Holds the port if the manifests need it and it is free. The runs report what prevents that.
    pub(super) async fn hold(&mut self, shell: &Shell) {
        match Box::pin(self.listen(shell)).await {
            Ok(listener) => self.held = listener,
            Err(error) => tracing::debug!(%error, "the port is not held"),
        }
    }

    async fn listen(
        &mut self,
        shell: &Shell,
    ) -> Result<Option<Listener>, Box<dyn std::error::Error>> {
        let mut workspace = Workspace::unread(shell.settings()?)?;
        workspace.make_writable()?;
        let written = workspace.state().cache().index_written();
        let is_needed = match (self.needed, written) {
            (Some((of, is_needed)), Some(written)) if of == written => is_needed,
            _ => is_needed(&mut workspace).await?,
        };
        self.needed = written.map(|written| (written, is_needed));
        let tokens = TokenFolder::open_shared(&workspace.state().host_record().http01_path())?;
        if !is_needed || !tokens.is_shared() {
            return Ok(None);
        }
        let listen = &workspace.settings().http01_listen;
        let addresses = listener_addresses(listen, &ValidationMethod::HTTP01);
        let hits = Hits::new(|| SystemClock.now());
        Ok(Some(Listener::bind(&addresses, Vec::new(), Answers::http(&tokens, &hits))?))
    }
}

/// Returns whether a challenge of a Certificate is answered by the listener at its usual address.
async fn is_needed(workspace: &mut Workspace) -> Result<bool, Box<dyn std::error::Error>> {
    let request = Request::default();
    workspace.read_for(&request).await?;
    let selection = workspace.select(&request);
    let targets = workspace.targets(&request, selection)?;
    Ok(Use::of_tasks(&targets.tasks).iter().any(Use::needs_usual_port))
}
