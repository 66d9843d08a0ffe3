//! `certctl rehearse`: the user's own manifests through the whole flow, against the built-in CA.
//!
//! Contract: contacts no real CA and changes no real state. The manifests are used unchanged,
//! except for the issuers' server and caBundle. HTTP-01 challenges are served and queried at the
//! real addresses, or at those of `--resolve`. DNS-01 records are written to and queried at a
//! built-in name server; the real provider's settings and credentials are checked, and nothing is
//! sent to it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use clap::Args;

use crate::cli::render::report;
use crate::cli::run::run_with;
use crate::cli::targets::{recorded, request, targets};
use crate::cli::value_parser::Resolve;
use crate::cli::verbs::doctor::Use;
use crate::cli::verbs::issue::nothing_found;
use crate::cli::{
    CliError, Ending, ExitCode, Level, Shell, VerbArgs, count, escape, on_one_thread, short,
};
use crate::controller::policy::NO_SECRET;
use crate::engine::{Observer, Task};
use crate::report::{self as ran, Report};
use crate::resource::FailureClass;
use crate::resource::{Event, EventType, NamespacedName, Reason};
use crate::workspace::{Job, Rehearsal, Scratch, Workspace};

/// Run the whole flow against a built-in CA; changes no real state.
///
/// If the user may not listen on port 80, it listens on a free port.
#[derive(Debug, Args)]
pub struct RehearseArgs {
    /// Certificates by name, manifests, folders of them, or `-` for standard input [default: the
    /// config directory]
    #[arg(value_name = "NAME|FILE|DIR|-")]
    pub targets: Vec<OsString>,
    /// Address of a name during the rehearsal (repeatable).
    #[arg(long, value_name = "NAME=ADDR")]
    pub resolve: Vec<Resolve>,
}

impl VerbArgs for RehearseArgs {
    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        let request = request(shell, &self.targets)?;
        let mut overrides: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
        for resolve in &self.resolve {
            overrides.entry(resolve.name.to_string()).or_default().push(resolve.address);
        }
        let folder = Scratch::new("rehearsal").map_err(unwritable)?;
        let recorded = recorded(shell, &request);
        on_one_thread(async {
            let mut settings = shell.settings_at(folder.path().to_owned())?;
            settings.files.extend(recorded);
            let mut workspace = Workspace::open(settings).await?;
            let targets = targets(shell, &mut workspace, &request)?;
            if targets.loaded.certificates.is_empty() && !targets.has_errors {
                let hint = "certctl create writes the first manifests; certctl rehearse FILE reads \
                            one";
                return Err(nothing_found(shell, 0).hinted(hint));
            }
            if targets.tasks.is_empty() {
                return Err(CliError::manifest("no Certificate to rehearse"));
            }
            let port = match free_port(shell, &targets.tasks)? {
                Some((socket, port)) => {
                    workspace.listen_at(socket, port);
                    port
                }
                None => http01_port(shell, &targets.tasks),
            };
            let stand_ins = Rehearsal::start(&workspace, port, overrides.clone()).await;
            let stand_ins = stand_ins.map_err(failed)?;
            let tasks: Vec<Task> = targets.tasks.iter().map(|task| stand_ins.task(task)).collect();
            workspace.make_writable()?;
            let script = Script::default();
            let job = Job {
                secrets: targets.secrets,
                overrides,
                dns01_stand_in: Some(stand_ins.stand_in().map_err(failed)?),
                verb: "rehearse",
                at_most: PATIENCE,
            };
            let text = "rehearsing with the built-in CA";
            shell.output.talk(Level::Info, text);
            let ended = run_with(&workspace, &tasks, job, &script).await?;
            for end in &ended {
                print_steps(shell, &script, end);
            }
            let mut endings = crate::cli::run::endings_of(&ended, targets.has_errors);
            if shell.code_of(&endings) == ExitCode::Deferred {
                // A rehearsal is never continued later.
                endings = vec![Ending::Failed(FailureClass::Validation)];
            }
            let is_pending = |task: &&Task| {
                let key = task.certificate.metadata.key();
                ended.iter().any(|end| end.ending == ran::Ending::Pending && end.key() == key)
            };
            for hint in hints(&Use::of_tasks(tasks.iter().filter(is_pending)), port) {
                shell.output.talk(Level::Info, &hint);
            }
            if stand_ins.has_used_dns() {
                shell.output.talk(
                    Level::Info,
                    "DNS-01 used a built-in name server: the settings and credentials of the DNS \
                     provider were read but not used",
                );
            }
            let done = ended.iter().filter(|end| end.ending == ran::Ending::Issued).count();
            shell.output.talk(
                Level::Info,
                format!(
                    "rehearsed against the built-in CA: {done} of {} issued; no real CA or DNS \
                 provider was contacted, and no output or hook was run",
                    count(ended.len(), "certificate")
                ),
            );
            stand_ins.shutdown().await;
            Ok(endings)
        })
    }
}

/// Hints for names that were not validated in time.
fn hints(pending: &[Use<'_>], port: u16) -> BTreeSet<String> {
    let hint = |one: &Use<'_>| match &one.settings.http01_webroot {
        Some(folder) if !one.over_http().is_empty() => {
            let folder = escape(folder);
            format!(
                "the web server must serve {folder}/.well-known/acme-challenge/TOKEN at \
                 http://NAME/.well-known/acme-challenge/TOKEN on port {port}; if a name does not \
                 resolve to that server yet, use --resolve NAME=ADDR"
            )
        }
        Some(_) | None => "if a name does not resolve to this host yet, use --resolve NAME=ADDR; \
            --http01-check-port sets the port to query, and --http01-listen the port to listen on"
            .to_owned(),
    };
    pending.iter().map(hint).collect()
}

/// A free port for the challenges, where this user may not listen on port 80 and chose no other.
/// The one CA asks one port: a manifest that names a port or a folder of its own keeps it.
fn free_port(shell: &mut Shell, tasks: &[Task]) -> Result<Option<(TcpListener, u16)>, CliError> {
    let global = &shell.global;
    let is_chosen = !global.http01_listen.is_empty()
        || !shell.inherited.is_empty()
        || global.http01_check_port != HTTP
        || http01_port(shell, tasks) != HTTP;
    let uses = Use::of_tasks(tasks);
    let mut of_http01 = uses.iter().filter(|one| !one.over_http().is_empty()).peekable();
    let has_none = of_http01.peek().is_none();
    if is_chosen || has_none || !of_http01.all(Use::needs_usual_port) {
        return Ok(None);
    }
    let any = |port| SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    match TcpListener::bind(any(HTTP)) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
        Ok(_) | Err(_) => return Ok(None),
    }
    let socket =
        TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).or_else(|_| TcpListener::bind(any(0)));
    let socket = socket.map_err(failed)?;
    let port = socket.local_addr().map_err(failed)?.port();
    let text = format!(
        "this user may not listen on port {HTTP}; the rehearsal uses port {port} instead (set \
         --http01-listen and --http01-check-port for another)"
    );
    shell.output.talk(Level::Info, &text);
    Ok(Some((socket, port)))
}

/// The port that stands for 80: there is one CA, so the first that a manifest names, as in a real
/// run before that of the flag.
fn http01_port(shell: &Shell, tasks: &[Task]) -> u16 {
    let settings = |task: &Task| {
        let (own, usual) = (&task.certificate.settings, &task.issuers.first.settings);
        own.http01_check_port.or(usual.http01_check_port)
    };
    tasks.iter().find_map(settings).unwrap_or(shell.global.http01_check_port)
}

fn unwritable(error: io::Error) -> CliError {
    CliError::new(ExitCode::State, error)
}

fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::new(ExitCode::Failed, error)
}

/// The port that CAs ask (RFC 8555, section 8.3).
const HTTP: u16 = 80;

/// Time that a name may take to be proven in a rehearsal.
const PATIENCE: jiff::SignedDuration = jiff::SignedDuration::from_secs(30);

/// The steps of each certificate.
#[derive(Default)]
struct Script(RefCell<BTreeMap<NamespacedName, Vec<(EventType, String)>>>);

impl Observer for Script {
    fn event(&self, certificate: &NamespacedName, event: &Event) {
        if !is_step(event) {
            return;
        }
        let mut steps = self.0.borrow_mut();
        let steps = steps.entry(certificate.clone()).or_default();
        steps.push((event.kind, event.message.clone()));
    }

    fn stage(&self, _certificate: &NamespacedName, _stage: &str) {}
}

/// Returns whether it is something that a person would call a step: not what certctl only keeps its
/// books with.
fn is_step(event: &Event) -> bool {
    let is_bookkeeping = matches!(
        event.reason,
        Reason::Generated
            | Reason::Reused
            | Reason::Requested
            | Reason::OrderCreated
            | Reason::Created
            | Reason::Started
            | Reason::Requeued
            | Reason::Released
    );
    // The state of a rehearsal is empty, whatever that of the certificate has.
    event.kind == EventType::Warning || !(is_bookkeeping || event.message == NO_SECRET)
}

fn print_steps(shell: &mut Shell, script: &Script, report: &Report) {
    let mut text = short(&report.key());
    for (kind, message) in script.0.borrow().get(&report.key()).into_iter().flatten() {
        let mark = match kind {
            EventType::Normal => "ok  ",
            EventType::Warning => "FAIL",
        };
        text.extend(["\n  ", mark, " ", &escape(message)]);
    }
    text.push_str("\n  ");
    text.push_str(&report::verdict(report));
    shell.output.talk(Level::Info, &text);
}
