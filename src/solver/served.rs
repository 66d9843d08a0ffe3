//! Served: what the solvers of a run share that answer a connection of the CA.
//!
//! The answers presented, the ports that are listened on, and the other certctl processes there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use super::listener::{Answers, Hits, Holder, ListenError, Listener, TokenFolder, answers_for};
use crate::resource::{Cause, ChallengeSpec, Fix, Obstacle, ValidationMethod};

/// Where a method listens, and where it is checked.
#[derive(Debug, Default)]
pub struct PortOptions {
    /// The addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// Inherited sockets, served as well.
    pub inherited: Vec<TcpListener>,
    /// The port that the self-check connects to.
    pub check: u16,
}

/// The answers and the open ports of a run.
pub struct Served {
    pub(super) tokens: TokenFolder,
    pub(super) hits: Hits,
    /// Locked while one certificate opens a listener: the others wait for that one.
    listeners: Mutex<HashMap<Address, Result<Listener, Cause>>>,
    /// When a stopped run on the same port was last looked for, and which.
    stopped_sharer: RefCell<Option<(Timestamp, Option<Holder>)>>,
    checks: Semaphore,
}

/// A method's word, and where it listens.
type Address = (&'static str, Vec<SocketAddr>);

impl Served {
    /// No open port; `hits` counts the connections that are answered from `tokens`.
    pub fn new(tokens: TokenFolder, hits: Hits) -> Self {
        Self {
            tokens,
            hits,
            listeners: Mutex::default(),
            stopped_sharer: RefCell::default(),
            checks: Semaphore::new(CHECKS_AT_ONCE),
        }
    }

    /// The answers that are presented.
    pub fn tokens(&self) -> &TokenFolder {
        &self.tokens
    }

    /// The connections that were answered.
    pub fn hits(&self) -> &Hits {
        &self.hits
    }

    /// Opens the listener for a certificate's challenges, once per run. A port that another certctl
    /// holds is waited for: its run ends.
    pub(super) async fn listen(
        &self,
        method: &'static ValidationMethod,
        addresses: &[SocketAddr],
        inherited: &[TcpListener],
        answers: &Answers,
    ) -> Result<(), Cause> {
        let at = (method.word, addresses.to_vec());
        let mut listeners = self.listeners.lock().await;
        if let Some(known) = listeners.get(&at) {
            return known.as_ref().map(drop).map_err(Clone::clone);
        }
        let mut waits = 0;
        let listener = loop {
            let sockets = inherited.iter().map(TcpListener::try_clone).collect::<Result<_, _>>();
            let sockets = sockets.map_err(|error| Cause::local(error.to_string()))?;
            match Listener::bind(addresses, sockets, answers.clone()) {
                Err(ListenError::InUse { addr, holder: Some(holder) })
                    if holder.is_certctl && waits < PORT_WAITS =>
                {
                    if waits == 0 {
                        tracing::warn!("{addr} is in use by {holder}: waiting for it to end");
                    }
                    waits += 1;
                    tokio::time::sleep(PORT_PAUSE).await;
                }
                // Another listener of this run answers for this address, too.
                Err(ListenError::InUse { addr, holder: Some(holder) })
                    if holder.is_this_process()
                        && listeners.keys().any(|(word, open)| {
                            *word == method.word && open.iter().any(|one| answers_for(*one, addr))
                        }) =>
                {
                    return Ok(());
                }
                Err(error) => {
                    let cause = cannot_listen(method, &error);
                    // The wait is over for the others of this run as well.
                    if waits > 0 {
                        listeners.insert(at, Err(cause.clone()));
                    }
                    return Err(cause);
                }
                Ok(listener) => break listener,
            }
        };
        listeners.insert(at, Ok(listener));
        Ok(())
    }

    /// Another run on a port of this one that is stopped; it is looked for once a second.
    pub(super) async fn stopped_sharer(&self, now: Timestamp) -> Option<Holder> {
        if let Some((at, known)) = &*self.stopped_sharer.borrow()
            && at.duration_until(now).abs() < SHARERS_AGAIN
        {
            return known.clone();
        }
        let found = {
            let listeners = self.listeners.lock().await;
            listeners.values().flatten().find_map(Listener::stopped_sharer)
        };
        self.stopped_sharer.replace(Some((now, found.clone())));
        found
    }

    /// A turn to check: of many concurrent checks, the first finish while the others wait, so that
    /// the CA can start early. Slow ones delay no others for long.
    pub(super) async fn turn_to_check(&self) -> Option<SemaphorePermit<'_>> {
        let turn = tokio::time::timeout(CHECK_TURN, self.checks.acquire()).await;
        turn.ok().and_then(Result::ok)
    }

    /// Forgets an answer that was taken back.
    pub(super) async fn forget(&self, challenge: &ChallengeSpec) -> Result<(), Cause> {
        self.hits.forget(&challenge.answer_name().map_err(local)?);
        // Other clean-ups of this moment come before.
        tokio::task::yield_now().await;
        self.tokens.sync().map_err(local)
    }

    /// Ends the listeners, once the other runs that share their ports have their answers, for `limit`
    /// at most.
    pub async fn close(&self, limit: Duration, lingers: impl Fn(Duration)) {
        for listener in self.listeners.lock().await.drain().filter_map(|(_, found)| found.ok()) {
            listener.close(&self.tokens, limit, &lingers).await;
        }
    }
}

/// Why a check was not made: the system may pass the CA's connection to the other run, which does not
/// answer it.
pub(super) fn shared_with_a_stopped_run(stopped: &Holder) -> String {
    let pid = stopped.pid();
    format!(
        "{stopped} listens on the same port but is stopped, so the CA may get no response; to \
         resume it, run kill -CONT {pid}"
    )
}

#[expect(clippy::needless_pass_by_value, reason = "errors of all kinds, as they come")]
pub(super) fn local(error: impl ToString) -> Cause {
    Cause::local(error.to_string())
}

fn cannot_listen(method: &ValidationMethod, error: &ListenError) -> Cause {
    let fact = format!("the {} listener cannot start: {error}", method.word.to_uppercase());
    if let ListenError::InUse { holder: Some(holder), .. } = error
        && holder.is_certctl
    {
        let waited = PORT_PAUSE.as_secs() * u64::from(PORT_WAITS);
        return Cause::precondition(format!("{fact}, for over {waited} s"));
    }
    let is_denied = matches!(error, ListenError::NoPermission { .. });
    let port = method.port.unwrap_or_default();
    Cause::obstacles(vec![Obstacle::new(fact).with(Fix::FreePort { port, is_denied })])
}

/// How often other runs on the port are looked for.
const SHARERS_AGAIN: SignedDuration = SignedDuration::from_secs(1);
/// How often, and how long each time, a run waits for the port that another certctl holds.
const PORT_WAITS: u32 = 120;
const PORT_PAUSE: Duration = Duration::from_secs(1);
/// How many self-checks start at once.
const CHECKS_AT_ONCE: usize = 16;
/// How long a self-check waits for earlier ones.
const CHECK_TURN: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_cannot_be_listened_on_is_a_fact_in_a_line() {
        let addr = "[::]:80".parse().unwrap();
        let in_use = |name| ListenError::InUse { addr, holder: Some(Holder::new(name, 812)) };
        for (error, fact) in [
            (ListenError::NoPermission { addr }, "no permission to listen on [::]:80"),
            (in_use("nginx"), "[::]:80 is in use by nginx (pid 812)"),
        ] {
            let message = cannot_listen(&ValidationMethod::HTTP01, &error).to_string();
            assert_eq!(message, format!("the HTTP-01 listener cannot start: {fact}"));
        }
    }
}
