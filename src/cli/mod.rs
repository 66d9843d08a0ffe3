//! The command line: one file per verb, and the only code that prints.
//!
//! Contract: nothing here decides about certificates. Each verb turns arguments into calls of the
//! controllers below and their answers into text; `run` turns the result into an exit code. Only
//! `output` writes to stdout and stderr, only `environment` reads the environment.

pub mod args;
pub mod command_tree;
pub mod completion;
pub mod config;
pub mod environment;
pub mod error;
pub mod exit;
pub mod global;
pub mod man;
pub mod panic;
pub mod parse;
pub mod shell;
pub mod value_parser;

mod ask;
mod core_dump;
mod daily;
mod files;
mod folders;
#[cfg(test)]
mod golden;
mod journal;
mod open_files;
mod owner;
pub mod render;
mod result;
mod run;
mod setting;
mod signal;
mod targets;
pub mod terminal;
mod verb;
pub mod verbs;
pub mod words;

use std::ffi::OsString;
use std::rc::Rc;

use clap::error::{ContextKind, ContextValue};
use jiff::Timestamp;

use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::Diagnostic;
use crate::solver::listener::Inherited;
use crate::workspace::plan::Item;
use args::{Arguments, VERBS, Verb, metrics_verbs};
use error::ErrorDocument;
use parse::{Parsed, parse};
use render::document::Object;
use result::Results;
use verbs::account::{AccountDocument, ThumbprintDocument};
use verbs::check::{AcmeItem, AlertsDocument, DnsDocument, HttpDocument, TlsAlpnDocument};
use verbs::doctor::page::Item as HostItem;
use verbs::status::objects::{
    CertificateObject, ChallengeObject, ClusterIssuerObject, IssuerKinds, IssuerObject,
    OrderObject, RequestObject,
};
use words::synonym;

// The words of all its parts.
pub(in crate::cli) use command_tree::Verbs;
pub(in crate::cli) use environment::{Directory, Environment, SYSTEM_CONFIG};
pub(in crate::cli) use error::CliError;
pub(in crate::cli) use exit::{Ending, ExitCode};
pub(in crate::cli) use global::{Format, GlobalArgs, LogFormat, When};
pub(in crate::cli) use render::document::{self, Items};
pub(in crate::cli) use render::message::{Level, Message};
pub(in crate::cli) use render::output::{Output, escape};
pub(in crate::cli) use render::text::{Paint, Text};
pub(in crate::cli) use run::on_one_thread;
pub(in crate::cli) use shell::Shell;
pub(in crate::cli) use terminal::columns_of_stderr;
pub(in crate::cli) use verb::VerbArgs;
pub(in crate::cli) use words::count::{count, first_names, names};
pub(in crate::cli) use words::hint::{Hint, short};
pub(in crate::cli) use words::{Scene, fix, time};

// What the verbs print with -o json.
verbs::schema::output::documents! {
    OURS "Version", "`version`.": verbs::version::VersionDocument;
    OURS "Validation", "`validate`: the mistakes in the manifests.": Items<'_, Diagnostic>;
    OURS "Plan", "`plan`: the actions of `issue` for each certificate.": Items<'_, Item>;
    OURS "Result", "`issue`, `renew`, `deploy`, `revoke`, `rollback`, `forget`: the \
        changes.": Results;
    OURS "Account", "`account show ISSUER`.": AccountDocument;
    OURS "AccountList", "`account show`.": Items<'_, Object<AccountDocument>>;
    OURS "AccountThumbprint", "`account thumbprint`.": ThumbprintDocument;
    OURS "Inspection", "`inspect`: one certificate.": verbs::inspect::Report;
    OURS "AcmeCheck", "`check acme`: the properties of each issuer's CA.": Items<'_, AcmeItem>;
    OURS "AlertCheck", "`check alerts`: the result of each report.": AlertsDocument;
    OURS "DnsCheck", "`check dns`.": DnsDocument<'_>;
    OURS "HttpCheck", "`check http`.": HttpDocument<'_>;
    OURS "TlsAlpnCheck", "`check tls-alpn`.": TlsAlpnDocument<'_>;
    OURS "HostCheck", "`doctor`: the checks of this host.": Items<'_, HostItem<'_>>;
    OURS "Error", "Any verb that fails.": ErrorDocument<'_>;
    OURS "CertificateList", "`status`.": Items<'_, Object<CertificateObject>>;
    OURS "IssuerList", "`status issuer`.": Items<'_, IssuerKinds>;
    OURS "CertificateRequestList", "`status request`.": Items<'_, Object<RequestObject>>;
    OURS "OrderList", "`status order`.": Items<'_, Object<OrderObject>>;
    OURS "ChallengeList", "`status challenge`.": Items<'_, Object<ChallengeObject>>;
    CERT_MANAGER "Certificate", "`status NAME`.": CertificateObject;
    CERT_MANAGER "Issuer", "`status issuer NAME`.": IssuerObject;
    CERT_MANAGER "ClusterIssuer", "`status issuer NAME`.": ClusterIssuerObject;
    CERT_MANAGER "CertificateRequest", "`status request NAME`.": RequestObject;
    ACME "Order", "`status order NAME`.": OrderObject;
    ACME "Challenge", "`status challenge NAME`.": ChallengeObject;
}

/// Runs the program with these arguments, the first being its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: Environment) -> ExitCode {
    let words: Vec<OsString> = arguments.into_iter().collect();
    let begun = tokio::time::Instant::now();
    if let Some(text) = completion::answer(&words, &environment) {
        // If the shell does not read the candidates, an error has no reader either.
        drop(Output::of_process(When::Never, LogFormat::Auto, &environment).data(&text));
        return ExitCode::Done;
    }
    let streams = environment.clone();
    let parsed = match parse(&words, environment) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            let format = parse::log_format(&words, &streams);
            let mut output = Output::of_process(When::Auto, format, &streams);
            let Some(message) = synonym::advice(&refusal, &words, &(VERBS.tree)()) else {
                return refuse(&refusal, &mut output);
            };
            let error = CliError::usage(message);
            output.print(&error.to_message());
            return error.code;
        }
    };
    open_files::raise();
    let Parsed { arguments: Arguments { global, verb, .. }, environment, config, matches } = parsed;
    let verb = verb.map(Verb::meant);
    let output = Output::of_process(global.color, global.log_format, &environment);
    panic::talk_json(global.log_format == LogFormat::Json);
    let (inherited, results) = (Rc::default(), Results::default());
    let (daily, acts_as) = (None, None);
    let mut shell = Shell {
        output,
        environment,
        global,
        config,
        matches,
        inherited,
        results,
        begun,
        daily,
        acts_as,
        verbs: VERBS,
        documents: DOCUMENTS,
    };
    let has_files = !shell.global.filename.is_empty();
    let acts = verb.as_ref().is_none_or(|verb| verb.acts_as_owner(has_files));
    // What only reads the state has no use for ports.
    let is_reader = matches!(verb, None | Some(Verb::Status(_) | Verb::Describe(_)));
    if acts && !is_reader {
        owner::remember_ports(&shell);
    }
    let ours = if acts { owner::become_owner(&mut shell) } else { Ok(()) };
    // A `certctl run` starts others, which are to have its rights.
    if !matches!(verb, Some(Verb::Run(_))) {
        owner::keep_rights();
    }
    // The kernel permits dumps again to a process whose user has changed.
    core_dump::prevent();
    signal::survive_size_limit();
    let ended = ours.and_then(|()| usable(verb.as_ref(), &mut shell)).and_then(|()| {
        let names = shell.environment.value("LISTEN_FDNAMES").unwrap_or_default();
        let sockets = Inherited::take(&names.to_string_lossy());
        let sockets = sockets.map_err(CliError::manifest)?;
        shell.inherited = Rc::new(sockets);
        match &verb {
            Some(verb) => start(verb, &mut shell),
            None => verbs::start_page::start_page(&mut shell),
        }
    });
    let mut is_absence = false;
    let code = match ended {
        Ok(ended) => shell.code_of(&ended),
        Err(error) => {
            is_absence = error.is_absence;
            let error = folders::with_unread(error, folders::unread(&shell));
            let error = folders::with_variables(error, &shell);
            shell.output.print(&error.to_message());
            print_error(&error, &mut shell);
            error.code
        }
    };
    owner::explain(code, is_absence, &mut shell);
    folders::print_typed(&mut shell);
    code
}

/// Prints the error of a verb that printed no data, for programs.
fn print_error(error: &CliError, shell: &mut Shell) {
    if !shell.wants_document() || shell.output.has_data() {
        return;
    }
    // There is no other place to report that stdout cannot be written.
    if let Ok(text) = document::text(&ErrorDocument::of(error), shell.global.format()) {
        drop(shell.output.data(&text));
    }
}

/// An error in `config.toml` stops every verb except the informational ones.
fn usable(verb: Option<&Verb>, shell: &mut Shell) -> Result<(), CliError> {
    refuse_time(SystemClock.now())?;
    let mistakes = &shell.config.mistakes;
    let is_needed = verb.is_some_and(Verb::needs_settings);
    if mistakes.is_empty() || !is_needed {
        return Ok(());
    }
    for mistake in mistakes {
        shell.output.finding(mistake);
    }
    let path = shell.config.path.clone().unwrap_or_default();
    let errors = count(mistakes.len(), "error");
    Err(CliError::manifest(format!("{errors} in {}", path.display())))
}

/// Certificates and TLS know no time before 1970: the libraries would panic.
fn refuse_time(now: Timestamp) -> Result<(), CliError> {
    if now >= Timestamp::UNIX_EPOCH {
        return Ok(());
    }
    let message = format!("the clock of this host says {}", time::rfc3339(now));
    Err(CliError::new(ExitCode::Failed, message).hinted("set the clock"))
}

/// `--metrics-file` of a verb that changes nothing is refused; the variable and `config.toml` are for
/// every verb.
fn refuse_unused(verb: &Verb, shell: &Shell) -> Result<(), CliError> {
    let source = shell.matches.value_source("metrics_file");
    if verb.writes_metrics() || source != Some(clap::parser::ValueSource::CommandLine) {
        return Ok(());
    }
    let mut verbs = metrics_verbs();
    let last = verbs.pop().unwrap_or_default();
    let message = format!("--metrics-file is for {} and {last}", verbs.join(", "));
    Err(CliError::usage(message).trying("certctl status -o prometheus"))
}

fn start(verb: &Verb, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let is_routine = verb.is_routine() && !shell.output.talks_to_terminal();
    refuse_unused(verb, shell)?;
    render::log::start(&shell.global, &shell.environment, &shell.output, is_routine)?;
    verb.run(shell)
}

/// Prints clap's pages: help and version on stdout; on stderr the help of a verb without its own
/// verb.
fn refuse(refusal: &clap::Error, output: &mut Output) -> ExitCode {
    let rendered = refusal.render();
    let text = |color: bool| {
        if color { rendered.ansi().to_string() } else { rendered.to_string() }
    };
    if refusal.use_stderr() {
        let plain = rendered.to_string();
        let (message, _) = plain.split_once("\n\n").unwrap_or((&plain, ""));
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let code = ExitCode::Usage;
        let record = Message::new(Level::Error, text(output.talk_has_color()), message)
            .with("class", code.word())
            .with("exit_code", code.number())
            .with_some("hint", Some(meant(refusal)).filter(|words| !words.is_empty()));
        output.print(&record);
        return code;
    }
    match output.data(&text(output.data_has_color())) {
        Ok(()) => ExitCode::Done,
        Err(error) => {
            let error = CliError::from(error);
            output.print(&error.to_message());
            error.code
        }
    }
}

/// The words that clap takes to be meant.
fn meant(refusal: &clap::Error) -> Vec<String> {
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let mut words = Vec::new();
    for found in kinds.into_iter().filter_map(|kind| refusal.get(kind)) {
        if let ContextValue::String(word) = found {
            words.push(word.clone());
        } else if let ContextValue::Strings(several) = found {
            words.extend(several.iter().cloned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_is_an_error_and_no_bug() {
        let error = refuse_time("1969-12-31T23:59:59Z".parse().unwrap()).unwrap_err();
        assert_eq!(error.code, ExitCode::Failed);
        let text = error.to_message().text.to_string();
        let expected =
            "error: the clock of this host says 1969-12-31T23:59:59Z\n  try: set the clock";
        assert_eq!(text, expected);
        refuse_time(Timestamp::UNIX_EPOCH).unwrap();
    }
}
