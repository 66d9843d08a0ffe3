//! The end of the dialogue: the manifests are shown and written, what they need is done, and the
//! certificate is issued, each of it on a yes.

use super::ca::{By, STAGING};
use super::certificate::{self, CreateCertificateArgs};
use super::known::{IssuerName, Known};
use super::print::{Placed, check, say_next, scalar, shown, write};
use super::question::{BACK, Dialogue, Stop, say};
use super::step::{self, Step};
use super::{issuer, webroot};
use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::owner;
use crate::cli::render::message::Level;
use crate::cli::render::output::{Confirmation, escape};
use crate::cli::servers::InServer;
use crate::cli::shell::Shell;
use crate::cli::verb::VerbArgs as _;
use crate::cli::verbs::doctor;
use crate::cli::verbs::inspect;
use crate::cli::verbs::issue::IssueArgs;
use crate::manifest::Loaded;
use crate::resource::FailureClass;
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
    /// Whether this host keeps a run from its work, whatever may be done about it.
    has_obstacle: bool,
}

impl Draft<'_> {
    /// Names the manifests, writes them, and goes as far as issuing the certificate.
    pub(super) fn finish(&self, dialogue: &mut Dialogue<'_>) -> Result<Vec<Ending>, Stop> {
        let shell = &mut *dialogue.shell;
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
        if let Some(File { loaded, .. }) = &of_issuer {
            doctor::warn_of_roots(loaded, shell);
        }
        if self.needs_usual_port(&issuer) {
            say(shell, &note_of_port(self.args.reload.as_deref()));
        }
        let is_scheduled = doctor::is_scheduled(shell) && certificate.placed.is_read(shell);
        let then = is_scheduled.then(|| once_written(self.terms()));
        let files: Vec<&File> = of_issuer.iter().chain([&certificate]).collect();
        if !may_write(&files, then.as_deref(), shell)? {
            shell.output.talk(Level::Info, "nothing was written");
            return Ok(vec![Ending::Failed(FailureClass::Other)]);
        }
        for File { placed, text, .. } in files {
            write(placed, text, shell)?;
        }
        shell.output.talk(Level::Info, "written");
        if let Some(File { placed, .. }) = &of_issuer {
            note_of_staging(placed, shell);
        }
        Ok(self.begin(&issuer, of_issuer.as_ref(), &certificate, is_scheduled, shell)?)
    }

    /// Does what comes before the first run, and the run, as far as the answers go; the rest is listed.
    fn begin(
        &self,
        issuer: &IssuerName,
        of_issuer: Option<&File>,
        certificate: &File,
        is_scheduled: bool,
        shell: &mut Shell,
    ) -> Result<Vec<Ending>, CliError> {
        let File { placed, loaded, .. } = certificate;
        let needs_port = self.needs_usual_port(issuer);
        let in_the_way = needs_port.then(|| doctor::usual_port(shell, &placed.name)).flatten();
        if let Some(found) = &in_the_way {
            doctor::print_finding(shell, found);
        }
        let files = || of_issuer.into_iter().chain([certificate]);
        let mut failed = None;
        let found = self.to_do(files(), certificate, shell);
        let found = found.and_then(|to_do| match step::offer(&to_do.first, shell) {
            None => Ok(to_do),
            Some(ended) => {
                failed = ended.err();
                self.to_do(files(), certificate, shell)
            }
        });
        let ToDo { first, has_obstacle } = found.inspect_err(|_| {
            say_next("", &placed.runs(shell), None, shell);
        })?;
        // The check has the rights of a run; with something in the way, that comes first.
        let settings = certificate::settings_of(loaded, issuer).filter(|_| !has_obstacle);
        let names = self.args.proven_by_server();
        let check_http = webroot::unserved(&names, settings.as_ref(), placed, shell);
        let state = placed.state(shell)?;
        let server = placed.in_server(loaded, &state, shell);
        let is_open = first.is_empty() && !has_obstacle && in_the_way.is_none();
        if is_open && check_http.is_none() && placed.is_read(shell) {
            return self.issue_now(certificate, server.as_ref(), &state, is_scheduled, shell);
        }
        if has_obstacle {
            say(shell, "not issued yet: this is to be put right first");
        }
        let check_http = check_http.into_iter().collect();
        let steps = [step::lines(&first), check_http, placed.runs(shell)].concat();
        say_next("", &steps, server.as_ref().map(InServer::text), shell);
        failed.map_or(Ok(Vec::new()), Err)
    }

    /// Issues what was written, after a yes; `server` is what is to be configured besides, and `state` the
    /// state's folder.
    fn issue_now(
        &self,
        File { placed, loaded, .. }: &File,
        server: Option<&InServer>,
        state: &str,
        is_scheduled: bool,
        shell: &mut Shell,
    ) -> Result<Vec<Ending>, CliError> {
        let question = question_of_issue(is_scheduled, self.terms());
        if !shell.output.confirms_by_default(&question, ABOUT_ISSUE) {
            if is_scheduled {
                let path = placed.shown_path();
                say(shell, &format!("the next scheduled run issues it, unless you remove {path}"));
            }
            say_next("", &placed.runs(shell), server.map(InServer::text), shell);
            return Ok(Vec::new());
        }
        owner::remember_ports(shell);
        owner::become_owner(shell)?;
        let ended = IssueArgs::of(&placed.name).run(shell)?;
        let code = shell.code_of(&ended);
        if let By::New(args) = self.by
            && let Some(bundle) = args.ca_bundle.as_ref().filter(|_| code == ExitCode::Done)
            && let Some(is_of_bundle) = inspect::is_trusted_by_bundle(&placed.key(), shell)
        {
            let bundle = bundle.to_string_lossy();
            let bundle = escape(&bundle);
            if is_of_bundle {
                say(shell, &format!("{ROOT_OF_CLIENTS}: the one in {bundle}"));
            } else {
                let root = format!(
                    "{ROOT_OF_CLIENTS}. It is not in {bundle}: ask the CA's operator, since ACME does not \
                     hand it out. To try one on the certificate that is stored:"
                );
                say(shell, &root);
                let inspect = format!(" inspect {} --ca-bundle FILE", placed.name);
                let inspect = placed.next(&inspect, shell);
                shell.output.talk(Level::Info, format!("  {inspect}"));
            }
        }
        let status = placed.next(&format!(" status {}", placed.name), shell);
        let doctor = placed.next(" doctor", shell);
        let doctor = format!("{doctor}   # what could keep a renewal from working");
        match (server, loaded.certificates.first()) {
            // What the server lacks may be why its reload failed.
            (Some(server), _) if matches!(code, ExitCode::Done | ExitCode::Output) => {
                let renewed = if is_scheduled { ", and renewed on schedule" } else { "" };
                let done = format!("{} is issued{renewed}", placed.name);
                server.say(&done, &[status, doctor], shell);
            }
            (None, Some(one)) if code == ExitCode::Done => {
                let folder = placed.folder_of_files(one, state);
                say(shell, &format!("for your server: tls.crt and tls.key in {}", escape(&folder)));
                say_next("", &[status, doctor], None, shell);
            }
            _ => say_next("", &[status], None, shell),
        }
        Ok(ended)
    }

    /// What is agreed to by the first order, as a part of a sentence.
    fn terms(&self) -> &'static str {
        match self.by {
            By::New(_) => ", accepting the CA's terms of service",
            By::Known(_) => "",
        }
    }

    /// What is left to be done before a run; what keeps a run from it is a warning.
    fn to_do<'f>(
        &self,
        files: impl Iterator<Item = &'f File>,
        certificate: &File,
        shell: &mut Shell,
    ) -> Result<ToDo, CliError> {
        let missing = files.flat_map(|File { placed, loaded, .. }| placed.missing(loaded));
        let missing: Vec<Step> = missing.collect();
        // The rights of root are given up for this.
        let obstacles = certificate::obstacles(self.args, &certificate.loaded, shell)?;
        let has_obstacle = !obstacles.is_empty();
        let first = [certificate::repairs(obstacles, shell), missing].concat();
        Ok(ToDo { first, has_obstacle })
    }

    /// Whether certctl is to listen on the usual port for the challenges of these names.
    pub(super) fn needs_usual_port(&self, issuer: &IssuerName) -> bool {
        let has_http01 = match self.by {
            By::Known(name) => self.known.has_http01(name),
            By::New(args) => args.dns01.is_none(),
        };
        certificate::needs_usual_port(self.args, issuer, has_http01)
    }
}

/// What a yes to the manifests comes to, where a scheduled run reads them.
fn once_written(terms: &str) -> String {
    format!("Once written, the certificate is ordered, here or by the next scheduled run{terms}.")
}

/// Asks for the run; what it agrees to was said where a scheduled run reads the manifests.
fn question_of_issue(is_scheduled: bool, terms: &str) -> String {
    let terms = if is_scheduled { "" } else { terms };
    format!("Issue it now{terms}?")
}

/// What certctl needs for each renewal, where it answers the challenges itself.
fn note_of_port(reload: Option<&str>) -> String {
    match reload.filter(|name| doctor::is_web_server(name)) {
        Some(name) => format!(
            "note: certctl answers the CA on port 80, also for each renewal, and cannot once {name} has that \
             port: then it needs a folder that {name} serves (certctl help port-80)"
        ),
        None => NEEDS_PORT.to_owned(),
    }
}

/// Asks whether these are to be written, which are shown on demand; `then` is what that leads to.
fn may_write(files: &[&File], then: Option<&str>, shell: &mut Shell) -> Result<bool, Stop> {
    let (begin, question) = match files.len() {
        1 => ("One YAML file, with comments that say what", "Write it?"),
        _ => ("Two YAML files, with comments that say what", "Write them?"),
    };
    let paths: Vec<String> = files.iter().map(|file| file.placed.shown_path()).collect();
    let paths = paths.join("\n  ");
    let then = then.map(|then| format!("\n{then}")).unwrap_or_default();
    let files_and_then = format!("\n{begin} may be changed, at any time:\n  {paths}{then}");
    shell.output.talk(Level::Info, &files_and_then);
    loop {
        match shell.output.confirmation(&format!("{question} [Y/n/show] ")) {
            Confirmation::Yes => return Ok(true),
            Confirmation::No => return Ok(false),
            Confirmation::Other(word) if word == BACK => return Err(Stop::Back),
            Confirmation::Other(word) if ["s", "show"].contains(&&*word) => show(files, shell)?,
            Confirmation::Other(word) => {
                let refusal = format!("{}: enter y, n, show or back", escape(&scalar(&word)));
                say(shell, if word == "?" { ABOUT_WRITING } else { &refusal });
            }
        }
    }
}

/// Prints the manifests; what is redirected is one file.
fn show(files: &[&File], shell: &mut Shell) -> Result<(), CliError> {
    for (at, File { placed, text, .. }) in files.iter().enumerate() {
        if at > 0 {
            shell.output.data("---\n")?;
        }
        shell.output.talk(Level::Info, format!("\n{}:\n", placed.shown_path()));
        shell.output.data(&previewed(&shown(text)))?;
    }
    shell.output.talk(Level::Info, "");
    Ok(())
}

/// Says how the staging CA is left for the other one, of an Issuer that was written.
fn note_of_staging(issuer: &Placed, shell: &mut Shell) {
    if issuer.name != STAGING {
        return;
    }
    let path = issuer.shown_path();
    let server = lets_encrypt::PRODUCTION;
    say(shell, &format!("{ABOUT_STAGING} to {server} in this file, and issue again:"));
    shell.output.talk(Level::Info, format!("  {path}"));
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

const ROOT_OF_CLIENTS: &str = "note: clients that lack the root of this CA need it";
const NEEDS_PORT: &str = "note: port 80 is to be free for each renewal, too; for a web server that comes \
                          later: certctl help port-80";
const ABOUT_WRITING: &str = "y writes the files; n writes nothing; show prints what they would contain; \
                             back returns to the last question. Nothing is ordered yet.";
const ABOUT_ISSUE: &str = "y orders the certificate from the CA, as certctl issue does; n leaves that to you, \
                           or to the timer's next run. To drop it: n, and remove its file.";
const ABOUT_STAGING: &str = "Browsers do not trust the certificates of the staging CA. When it works, \
                             change server";
/// How many characters of the roots are shown.
const PREVIEWED: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_are_agreed_to_before_the_first_run_that_can_come() {
        let expected = "Once written, the certificate is ordered, here or by the next scheduled run, \
                        accepting the terms.";
        assert_eq!(once_written(", accepting the terms"), expected);
        assert_eq!(question_of_issue(true, ", accepting the terms"), "Issue it now?");
        let unscheduled = question_of_issue(false, ", accepting the terms");
        assert_eq!(unscheduled, "Issue it now, accepting the terms?");
    }

    #[test]
    fn a_web_server_that_is_to_be_reloaded_is_named_where_it_takes_the_port() {
        assert!(note_of_port(Some("nginx")).contains("once nginx has that port"));
        for other in [Some("postfix"), Some("own"), None] {
            assert_eq!(note_of_port(other), NEEDS_PORT);
        }
    }
}
