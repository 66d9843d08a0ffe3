//! The end of the dialogue: the manifests are shown and written, what they need is done, and the
//! certificate is issued, each of it on a yes.

use super::ca::{By, STAGING};
use super::certificate::{self, CreateCertificateArgs};
use super::known::{IssuerName, Known};
use super::print::{Placed, check, say_next, shown, write};
use super::question::say;
use super::servers::InServer;
use super::step::{self, Step};
use super::{issuer, webroot};
use crate::cli::doctor;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::issue::IssueArgs;
use crate::cli::message::Level;
use crate::cli::output::escape;
use crate::cli::owner;
use crate::cli::shell::Shell;
use crate::cli::verb::VerbArgs as _;
use crate::manifest::Loaded;
use crate::resource::lets_encrypt;

/// What the answers come to.
pub(super) struct Draft<'a> {
    pub(super) by: &'a By,
    pub(super) known: &'a Known,
    pub(super) args: &'a CreateCertificateArgs,
}

/// A new manifest, and where it goes.
struct File {
    placed: Placed,
    text: String,
    loaded: Loaded,
}

/// What is left to be done.
struct ToDo {
    /// Before a run.
    first: Vec<Step>,
    /// At any time.
    socket: Option<Step>,
    /// Whether this host keeps a run from its work, whatever may be done about it.
    has_obstacle: bool,
}

impl ToDo {
    fn all(&self) -> Vec<Step> {
        self.first.iter().chain(&self.socket).cloned().collect()
    }
}

impl Draft<'_> {
    /// Shows the manifests, writes them, and goes as far as issuing the certificate.
    pub(super) fn finish(&self, shell: &mut Shell) -> Result<ExitCode, CliError> {
        let issuer = self.known.chosen(Some(self.by.name()))?;
        let of_issuer = match self.by {
            By::New(args) => {
                let placed = Placed::of("issuer", &args.name, args.into.as_deref(), shell)?;
                let text = issuer::text(args, &placed)?;
                Some(File { loaded: check(&text)?, placed, text })
            }
            By::Known(_) => None,
        };
        let (placed, text) = certificate::manifest(self.args, &issuer, shell)?;
        let certificate = File { loaded: check(&text)?, placed, text };
        show(of_issuer.iter().chain([&certificate]), shell)?;
        shell.output.talk(Level::Info, "");
        if let Some(File { loaded, .. }) = &of_issuer {
            doctor::warn_of_roots(loaded, shell);
        }
        let question = format!("Write this into {}?", certificate.placed.config());
        if !shell.output.confirms_by_default(&question, ABOUT_WRITING) {
            shell.output.talk(Level::Info, "nothing was written");
            return Ok(ExitCode::Failed);
        }
        for File { placed, text, .. } in of_issuer.iter().chain([&certificate]) {
            let path = write(placed, text, shell)?;
            shell.output.talk(Level::Info, &format!("written to {path}"));
        }
        if let Some(File { placed, .. }) = &of_issuer {
            note_of_staging(placed, shell);
        }
        self.begin(&issuer, of_issuer.as_ref(), &certificate, shell)
    }

    /// Does what comes before the first run, and the run, as far as the answers go; the rest is listed.
    fn begin(
        &self,
        issuer: &IssuerName,
        of_issuer: Option<&File>,
        certificate: &File,
        shell: &mut Shell,
    ) -> Result<ExitCode, CliError> {
        let File { placed, loaded, .. } = certificate;
        let needs_port = self.needs_usual_port(issuer);
        let in_the_way = needs_port.then(|| doctor::usual_port(shell, &placed.name)).flatten();
        if let Some(found) = &in_the_way {
            doctor::print_finding(shell, found);
        }
        let files = || of_issuer.into_iter().chain([certificate]);
        let mut failed = None;
        let found = self.to_do(issuer, files(), certificate, shell);
        let found = found.and_then(|to_do| match step::offer(&to_do.all(), shell) {
            None => Ok(to_do),
            Some(ended) => {
                failed = ended.err();
                self.to_do(issuer, files(), certificate, shell)
            }
        });
        let ToDo { first, socket, has_obstacle } = found.inspect_err(|_| {
            say_next("", &placed.runs(shell), None, shell);
        })?;
        // The check has the rights of a run; with something in the way, that comes first.
        let settings = certificate::settings_of(loaded, issuer).filter(|_| !has_obstacle);
        let check_http = self
            .args
            .proven_by_webroot()
            .and_then(|name| webroot::unserved(&name, settings.as_ref(), placed, shell));
        let state = placed.state(shell)?;
        let server = InServer::of(placed, loaded, &state);
        let is_open = first.is_empty() && !has_obstacle && in_the_way.is_none();
        let (first, socket) = (step::lines(&first), step::lines(socket.as_slice()));
        if is_open && check_http.is_none() && placed.is_read(shell) {
            return issue_now(placed, &socket, server.as_ref(), shell);
        }
        let check_http = check_http.into_iter().collect();
        let steps = [first, socket, check_http, placed.runs(shell)].concat();
        say_next("", &steps, server.as_ref().map(InServer::text), shell);
        failed.map_or(Ok(ExitCode::Done), Err)
    }

    /// What is left to be done before a run; what keeps a run from it is a warning.
    fn to_do<'f>(
        &self,
        issuer: &IssuerName,
        files: impl Iterator<Item = &'f File>,
        certificate: &File,
        shell: &mut Shell,
    ) -> Result<ToDo, CliError> {
        let missing = files.flat_map(|File { placed, loaded, .. }| placed.missing(loaded));
        let missing: Vec<Step> = missing.collect();
        let needs_port = self.needs_usual_port(issuer);
        let unmask = || needs_port.then(|| certificate::unmask_socket(shell)).flatten();
        let socket = certificate::mask_socket(self.args, shell).or_else(unmask);
        // The rights of root are given up for this.
        let obstacles = certificate::obstacles(self.args, &certificate.loaded, shell)?;
        let has_obstacle = !obstacles.is_empty();
        let first = [certificate::repairs(obstacles, shell), missing].concat();
        Ok(ToDo { first, socket, has_obstacle })
    }

    /// Whether certctl is to listen on the usual port for the challenges of these names.
    fn needs_usual_port(&self, issuer: &IssuerName) -> bool {
        let has_http01 = match self.by {
            By::Known(name) => self.known.has_http01(name),
            By::New(args) => args.dns01.is_none(),
        };
        certificate::needs_usual_port(self.args, issuer, has_http01)
    }
}

/// Prints the manifests, as one file would have them.
fn show<'f>(files: impl Iterator<Item = &'f File>, shell: &mut Shell) -> Result<(), CliError> {
    for (at, File { placed, text, .. }) in files.enumerate() {
        let between = if at == 0 { "" } else { "---\n" };
        let path = placed.path().unwrap_or_default();
        let path = escape(&path.to_string_lossy()).into_owned();
        shell.output.talk(Level::Info, &format!("\n{path}:\n"));
        shell.output.data(&format!("{between}{}", previewed(&shown(text))))?;
    }
    Ok(())
}

/// Says how the staging CA is left for the other one, of an Issuer that was written.
fn note_of_staging(issuer: &Placed, shell: &mut Shell) {
    if issuer.name != STAGING {
        return;
    }
    let path = issuer.path().unwrap_or_default();
    let path = escape(&path.to_string_lossy()).into_owned();
    let server = lets_encrypt::PRODUCTION;
    say(shell, &format!("{ABOUT_STAGING} to {server} in this file, and issue again:"));
    shell.output.talk(Level::Info, &format!("  {path}"));
}

/// Issues what was written, after a yes; `later` and `server` are what is to be done besides.
fn issue_now(
    placed: &Placed,
    later: &[String],
    server: Option<&InServer>,
    shell: &mut Shell,
) -> Result<ExitCode, CliError> {
    if !shell.output.confirms_by_default("Issue it now?", ABOUT_ISSUE) {
        say_next("", &[&placed.runs(shell), later].concat(), server.map(InServer::text), shell);
        return Ok(ExitCode::Done);
    }
    owner::become_owner(shell)?;
    let code = IssueArgs::of(&placed.name).run(shell)?;
    let status = placed.next(&format!(" status {}", placed.name), shell);
    let steps = [later, &[status]].concat();
    match server {
        Some(server) if code == ExitCode::Done => server.say(&steps, shell),
        _ => say_next("", &steps, None, shell),
    }
    Ok(code)
}

/// A manifest for a look at it: roots in base64 are longer than all else.
fn previewed(text: &str) -> String {
    let line = |line: &str| match line.split_once("caBundle: ") {
        Some((before, bundle)) => {
            let begin: String = bundle.chars().take(PREVIEWED).collect();
            format!("{before}caBundle: {begin}… (shortened here)\n")
        }
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

const ABOUT_WRITING: &str = "y writes the files as they are shown; n writes nothing. Nothing is ordered \
                             yet: you can edit them before certctl issue.";
const ABOUT_ISSUE: &str = "y orders the certificate from the CA, as certctl issue does; n leaves that to you, \
                           or to the timer's next run.";
const ABOUT_STAGING: &str = "Browsers do not trust the certificates of the staging CA. When it works, \
                             change server";
/// How many characters of the roots are shown.
const PREVIEWED: usize = 24;
