//! The context of every verb: streams, environment, flags and results.

use std::path::PathBuf;
use std::rc::Rc;

use clap::ArgMatches;
use tokio::time::Instant;

use crate::cli::config::Config;
use crate::cli::daily::Daily;
use crate::cli::exit;
use crate::cli::global::HookTime;
use crate::cli::render::document::Documents;
use crate::cli::render::output::UNATTENDED;
use crate::cli::result::Results;
use crate::cli::terminal::columns_of_stdout;
use crate::cli::{
    CliError, Ending, Environment, ExitCode, Format, GlobalArgs, Level, Message, Output, Scene,
    Text, Verbs, document, fix, open_files,
};
use crate::controller::Intervals;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::engine::{Hooks, Options};
use crate::manifest::Source;
use crate::resource::{Finding, PUBLISHED};
use crate::solver::listener::Inherited;
use crate::trust::Bounds;
use crate::workspace::{Request, Settings};

/// The context of every verb.
pub struct Shell {
    /// stdout and stderr.
    pub output: Output,
    /// Variables and directories.
    pub environment: Environment,
    /// The global flags.
    pub global: GlobalArgs,
    /// `config.toml`; its values are already in the flags.
    pub config: Config,
    /// clap's result for the command line, variables and `config.toml`.
    pub matches: ArgMatches,
    /// Sockets passed by systemd, for HTTP-01.
    pub inherited: Rc<Inherited>,
    /// The results, for -o json.
    pub results: Results,
    /// When this process began.
    pub begun: Instant,
    /// The messages that are printed once a day; `None` where all of them are printed each time.
    pub daily: Option<Daily>,
    /// The user whose rights root took on, being the owner of the state.
    pub acts_as: Option<String>,
    /// All verbs, for those that describe them.
    pub verbs: Verbs,
    /// All that is printed with -o json, for `schema output`.
    pub documents: &'static Documents,
}

impl Shell {
    /// Time, zone, format and terminal of what is printed now.
    pub(crate) fn scene(&self) -> Scene {
        Scene {
            now: SystemClock.now(),
            zone: self.environment.zone(),
            color: self.output.data_has_color(),
            format: self.global.format(),
            width: columns_of_stdout(),
        }
    }

    /// Number of columns of a line on stdout.
    pub(crate) fn columns() -> usize {
        columns_of_stdout().unwrap_or(usize::MAX)
    }

    /// Writes a page of labels and texts to stdout, in lines that fit its terminal.
    pub(crate) fn page(&mut self, text: impl Into<Text>) -> std::io::Result<()> {
        let text = text.into();
        self.output.note_commands(&text);
        self.output.data(&text.lines(self.output.data_has_color(), Self::columns()))
    }

    /// The settings of the workspace, from flags, variables and `config.toml`.
    pub(crate) fn settings(&self) -> Result<Settings, CliError> {
        let state = self.environment.state_dir(self.global.state_dir.as_deref())?.path;
        self.settings_at(state)
    }

    /// Where outputs and webroots may be.
    pub(crate) fn bounds(&self) -> Bounds {
        let settings = self.settings().or_else(|_| self.settings_at(PathBuf::new()));
        settings.map(|settings| settings.bounds()).unwrap_or_default()
    }

    /// The settings with another state directory.
    pub(crate) fn settings_at(&self, state_dir: PathBuf) -> Result<Settings, CliError> {
        let global = &self.global;
        let environment = self.environment.clone();
        let config = self.environment.config_dir(global.config_dir.as_deref());
        let resolvers = global.resolver.iter();
        Ok(Settings {
            files: self.files()?,
            config_dir: config.ok().map(|config| config.path),
            credentials_dir: self.environment.credentials_dir().map(|found| found.path),
            state_dir,
            namespace: global.namespace().map(str::to_owned),
            selector: global.selector.clone(),
            cluster_resource_namespace: global.cluster_resource_namespace.clone(),
            is_root: self.environment.is_root(),
            options: Options {
                parallel: open_files::at_once(global.parallel),
                max_concurrent_challenges: global.max_concurrent_challenges.get(),
                timeout: global.timeout.0,
                lock_timeout: global.lock_timeout.0,
                intervals: Intervals { self_check: global.self_check_interval.0 },
                unattended: !self.output.talks_to_terminal(),
                is_scheduled: self.is_scheduled(),
                // A journal is no mail: its readers look for the reason.
                reports_daily: self.is_scheduled() && !self.output.has_priorities(),
                certificates: 0,
                limits: PUBLISHED,
                ignore_limits: false,
                hooks: match global.hooks {
                    HookTime::Now => Hooks::Now,
                    HookTime::Later => Hooks::Later,
                    HookTime::AsRoot => Hooks::AsRoot,
                },
                words: fix::worded,
            },
            hook_timeout: global.hook_timeout.0.unsigned_abs(),
            http01_listen: global.http01_listen.clone(),
            inherited: Rc::clone(&self.inherited),
            http01_check_port: global.http01_check_port,
            tlsalpn01_listen: global.tlsalpn01_listen.clone(),
            tlsalpn01_check_port: global.tlsalpn01_check_port,
            resolvers: resolvers.map(|server| (server.host.clone(), server.port)).collect(),
            dns01_authoritative_port: global.dns01_authoritative_port,
            output_roots: global.output_roots.clone(),
            dns01_recursive_nameservers_only: global.dns01_recursive_nameservers_only,
            environment: Rc::new(move |name| {
                environment.value(name).map(|value| value.to_string_lossy().into_owned())
            }),
        })
    }

    /// The sources that `-f` and `CERTCTL_FILES` name.
    pub(crate) fn files(&self) -> Result<Vec<Source>, CliError> {
        Ok(Request::paths(&self.files_named())?.sources)
    }

    /// The paths of `-f`, else those of `CERTCTL_FILES`.
    pub(crate) fn files_named(&self) -> Vec<PathBuf> {
        let named = &self.global.filename;
        if named.is_empty() { self.environment.files() } else { named.clone() }
    }

    /// Returns whether a scheduler started this run, whose messages are mailed: the lines that
    /// certctl prints for schedulers have `-q`. A script or ssh without it gets the reason every
    /// time.
    pub(crate) fn is_scheduled(&self) -> bool {
        let is_quiet = self.global.quiet > 0 || self.environment.value(UNATTENDED).is_some();
        is_quiet && !self.output.talks_to_terminal()
    }

    /// Returns whether to print a text now, which a scheduled run prints once a day.
    pub(crate) fn prints(&mut self, text: &str) -> bool {
        self.daily.as_mut().is_none_or(|daily| daily.is_due(text))
    }

    /// Prints findings beside the result of a verb; in a scheduled run, each once a day.
    pub(crate) fn print_findings(&mut self, found: &[Finding]) {
        for one in found {
            if self.prints(&format!("{}: {}", one.subject, one.fact)) {
                self.output.print(&Message::of_finding(one));
            }
        }
    }

    /// Returns whether results are printed as JSON or YAML.
    pub(crate) fn wants_document(&self) -> bool {
        matches!(self.global.format(), Format::Json | Format::Yaml)
    }

    /// Prints what was done, for programs.
    pub(crate) fn print_results(&mut self, ended: Vec<Ending>) -> Result<Vec<Ending>, CliError> {
        if self.wants_document() {
            let text = document::text(&self.results, self.global.format())?;
            self.output.data(&text)?;
        }
        Ok(ended)
    }

    /// The exit code of these endings.
    pub(crate) fn code_of(&self, ended: &[Ending]) -> ExitCode {
        exit::of_endings(ended, self.global.exit_code)
    }

    /// Asks for what cannot be undone, on a terminal; elsewhere `--yes` is required: an error unless the
    /// answer is yes. `facts` are what a person must know to answer, `lines` what to type with `--yes`.
    pub(crate) fn confirm(
        &mut self,
        yes: bool,
        facts: &str,
        question: &str,
        lines: &[(&str, &str)],
    ) -> Result<(), CliError> {
        if yes {
            return Ok(());
        }
        if !self.output.can_ask() {
            let message = format!("without a terminal, this needs --yes: {facts}");
            return Err(CliError::usage(message).trying_any(lines));
        }
        self.output.talk(Level::Info, facts);
        if self.output.ask(question) { Ok(()) } else { Err(CliError::unconfirmed()) }
    }

    /// Refuses in a hook: it runs while its certificate is locked, and the verb would wait for that
    /// lock.
    pub(crate) fn refuse_in_a_hook(&self, verb: &str) -> Result<(), CliError> {
        let Some(event) = self.environment.value("CERTCTL_EVENT") else { return Ok(()) };
        let message = format!(
            "a {} hook must not call certctl {verb}, because its run holds the locks",
            event.display()
        );
        Err(CliError::usage(message))
    }
}
