//! A session in front of a shell, written down as it goes.
//!
//! Contract: every command line is run by `/bin/sh` as it stands in the scene, with `certctl` in
//! the PATH and this world's folders in its environment; `$ ` without a terminal, `tty$ ` on one.
//! Below it stands all that it said, and how it ended. A stream that nothing was said on is left
//! out. On a terminal, `⏎` ends a line that is too long for it.

use std::env::consts;
use std::fs::Permissions;
use std::num::NonZeroU16;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;

use certctl::engine::ports::{Clock as _, SystemClock};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};

use crate::kept;
use crate::normal::Normal;
use crate::support::{CertificateYaml, PATIENCE, Run, World, finish};
use crate::terminal::{COLUMNS, Terminal};

/// See the module.
pub(crate) struct Session {
    pub(crate) world: World,
    scene: &'static str,
    text: String,
    is_bare: bool,
    is_over: bool,
    columns: NonZeroU16,
    user: Option<u32>,
}

/// Rows for thousands of lines, two for each certificate.
const TALL: NonZeroU16 = NonZeroU16::new(6000).unwrap();

impl Session {
    /// A scene, named as its file, in a world with a well-behaved CA and no manifest.
    pub(crate) fn new(scene: &'static str) -> Self {
        Self::within(scene, World::start())
    }

    /// A scene in a world that is there already.
    pub(crate) fn within(scene: &'static str, world: World) -> Self {
        let (text, columns, user) = (String::new(), COLUMNS, None);
        Self { world, scene, text, is_bare: false, is_over: false, columns, user }
    }

    /// A scene in which `web` is to be issued.
    pub(crate) fn prepared(scene: &'static str) -> Self {
        let mut session = Self::new(scene);
        session.configured(&[("web", &CertificateYaml::new("web"))]);
        session
    }

    /// A scene in which `web` is issued.
    pub(crate) fn issued(scene: &'static str) -> Self {
        let session = Self::prepared(scene);
        session.quietly("certctl issue");
        session
    }

    /// Without the variables that stand in for flags: clap shows those as if they were typed.
    pub(crate) fn bare(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// On terminals of this many columns from now on.
    pub(crate) fn with_columns(&mut self, columns: u16) -> &mut Self {
        self.columns = NonZeroU16::new(columns).unwrap();
        self
    }

    /// As this user from now on, where the tests are root's.
    pub(crate) fn as_user(&mut self, user: u32) -> &mut Self {
        self.user = Some(user).filter(|_| rustix::process::geteuid().is_root());
        self
    }

    /// What happens off stage.
    pub(crate) fn note(&mut self, words: &str) -> &mut Self {
        self.separate();
        for line in words.lines() {
            self.text += &["# ", line, "\n"].concat();
        }
        self
    }

    /// The Issuer `ca` of this world's CA.
    pub(crate) fn issuer(&self) -> String {
        self.reachable(&self.world.issuer().to_string())
    }

    /// An Issuer whose self-check asks this world's port.
    pub(crate) fn reachable(&self, issuer: &str) -> String {
        let port = self.world.port.number();
        let annotation = format!("  annotations:\n    certctl/http01-check-port: \"{port}\"\n");
        issuer.replacen("spec:\n", &[&annotation, "spec:\n"].concat(), 1)
    }

    /// Writes the Issuer `ca` and these manifests into the config directory.
    pub(crate) fn configured(&mut self, manifests: &[(&str, &dyn ToString)]) -> &mut Self {
        self.world.write("config/issuer.yaml", &self.issuer());
        for (name, manifest) in manifests {
            self.world.write(&format!("config/{name}.yaml"), &manifest.to_string());
        }
        self
    }

    /// Puts a hook into place, a shell script.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        let path =
            self.world.write(&format!("config/hooks.d/{name}"), &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a command line off stage, which must end in 0.
    #[track_caller]
    pub(crate) fn quietly(&self, line: &str) {
        finish(self.shell(line).spawn().unwrap()).ends_in(0);
    }

    /// Runs a command line without a terminal.
    pub(crate) fn run(&mut self, line: &str) -> Run {
        let running = self.start(line);
        self.end_of(running)
    }

    /// Runs a command line whose stdout goes where nobody writes it down.
    pub(crate) fn run_into(&mut self, line: &str, stdout: Stdio) {
        let child = self.shell(line).stdout(stdout).spawn().unwrap();
        self.end_of(Running { line: line.to_owned(), child, remarks: String::new() });
    }

    /// Runs a command line on a terminal.
    pub(crate) fn on_terminal(&mut self, line: &str) -> i32 {
        let watched = self.watch(line);
        self.end_of_watched(watched)
    }

    /// Runs a command line on a terminal; of what it prints, the first and last lines are written
    /// down, and how many there are between.
    pub(crate) fn on_terminal_abridged(&mut self, line: &str) {
        let before = self.text.len();
        let terminal = Terminal::of_rows(self.shell(line), self.columns, TALL);
        self.end_of_watched(self.watched(line, terminal));
        let added = self.text.split_off(before);
        let lines: Vec<&str> = added.lines().collect();
        let (first, last) = (lines.len().min(8), lines.len().saturating_sub(4));
        let between = [format!("({} lines)", last - first)];
        let kept = lines[..first]
            .iter()
            .copied()
            .chain(between.iter().map(String::as_str))
            .chain(lines[last..].iter().copied());
        self.text += &kept.flat_map(|line| [line, "\n"]).collect::<String>();
    }

    /// Starts a command line without a terminal.
    pub(crate) fn start(&self, line: &str) -> Running {
        let child = self.shell(line).spawn().unwrap();
        Running { line: line.to_owned(), child, remarks: String::new() }
    }

    /// Starts a command line on a terminal.
    pub(crate) fn watch(&self, line: &str) -> Watched {
        self.watched(line, Terminal::start(self.shell(line), self.columns))
    }

    fn watched(&self, line: &str, terminal: Terminal) -> Watched {
        let (line, remarks) = (line.to_owned(), String::new());
        Watched { line, terminal, normal: self.normal(), remarks, answered: 0 }
    }

    /// Waits for what was started, and writes down what it said.
    pub(crate) fn end_of(&mut self, running: Running) -> Run {
        let Running { line, child, remarks } = running;
        let run = finish(child);
        self.separate();
        self.text += &["$ ", &line, "\n", &remarks].concat();
        self.section("stdout", &run.stdout);
        self.section("stderr", &run.stderr);
        self.text += &["--- exit ", &code(run.code), "\n"].concat();
        run
    }

    /// The same on a terminal.
    pub(crate) fn end_of_watched(&mut self, watched: Watched) -> i32 {
        let Watched { line, terminal, remarks, .. } = watched;
        let (ended, screen) = terminal.end();
        self.separate();
        self.text += &["tty$ ", &line, "\n"].concat();
        self.text += &remarks;
        let before = self.text.len();
        self.section("screen", &screen);
        let said = self.text.split_off(before);
        self.text += &with_breaks(&said, usize::from(self.columns.get()));
        self.text += &["--- exit ", &code(ended), "\n"].concat();
        ended.unwrap()
    }

    /// The end of the scene: it must be the one that is kept.
    pub(crate) fn end(mut self) {
        self.is_over = true;
        kept::compare(self.scene, &self.text);
    }

    /// The end of a session that is not kept.
    pub(crate) fn dismissed(mut self) {
        self.is_over = true;
    }

    fn section(&mut self, name: &str, said: &str) {
        if said.is_empty() {
            return;
        }
        let said = self.normal().apply(said, SystemClock.now());
        let mark = if said.ends_with('\n') { "" } else { ", without a line feed at its end" };
        self.text += &["--- ", name, mark, "\n", &said].concat();
        if !mark.is_empty() {
            self.text.push('\n');
        }
    }

    fn separate(&mut self) {
        let is_note = self.text.lines().last().is_some_and(|line| line.starts_with("# "));
        if !self.text.is_empty() && !is_note {
            self.text.push('\n');
        }
    }

    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        // A signal is for certctl, not for the shell that started it.
        let is_plain = line.starts_with("certctl ") && !line.contains(['|', ';', '&']);
        let line = if is_plain { &["exec ", line].concat() } else { line };
        command.args(["-c", line]);
        self.world.surround(&mut command);
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_certctl")).parent().unwrap();
        command
            .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("PORT", self.world.port.number().to_string())
            .stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        if self.is_bare {
            for name in ["RESOLVERS", "HTTP01_LISTEN", "DNS01_AUTHORITATIVE_PORT"] {
                command.env_remove(format!("CERTCTL_{name}"));
            }
        }
        command
    }

    fn normal(&self) -> Normal {
        let world = &self.world;
        let folder = world.path("").display().to_string();
        let folder = folder.trim_end_matches('/').to_owned();
        let ca = world.ca.directory_url();
        let ca = ca.trim_start_matches("https://").split('/').next().unwrap().to_owned();
        let issuer = world.issuer().to_string();
        let bundle = issuer.split("caBundle: ").nth(1).and_then(|rest| rest.lines().next());
        let (port, tls) = (world.port.number(), world.tls_port.number());
        let version = env!("CARGO_PKG_VERSION");
        let mut words: Vec<(String, String)> = vec![
            (folder, "<folder>".to_owned()),
            (env!("CARGO_BIN_EXE_certctl").to_owned(), "<certctl>".to_owned()),
            (ca, "<ca>".to_owned()),
            (world.dns.address().to_string(), "<dns>".to_owned()),
            (world.port.address().to_string(), "<http01>".to_owned()),
            (format!("\"{port}\""), "\"<http01 port>\"".to_owned()),
            (format!("checked port {port} "), "checked port <http01 port> ".to_owned()),
            (format!("checked port {tls} "), "checked port <tls-alpn-01 port> ".to_owned()),
            (format!("\"{tls}\""), "\"<tls-alpn-01 port>\"".to_owned()),
            (format!(" {tls} (env"), " <tls-alpn-01 port> (env".to_owned()),
            (format!("on port {port} "), "on port <http01 port> ".to_owned()),
            (format!("check-port={port}"), "check-port=<http01 port>".to_owned()),
            (format!("example.test:{port}"), "example.test:<http01 port>".to_owned()),
            (version.to_owned(), "<version>".to_owned()),
            // Where the host has a whole name, it is the default of a question.
            (format!(" [{}]", rustix::system::uname().nodename().to_string_lossy()), String::new()),
            (format!("{}/{}", consts::OS, consts::ARCH), "<platform>".to_owned()),
        ];
        words.extend(bundle.map(|bundle| (bundle.to_owned(), "<root>".to_owned())));
        Normal { words }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        assert!(self.is_over || thread::panicking(), "{} is never compared", self.scene);
    }
}

/// A command line that is at work.
pub(crate) struct Running {
    line: String,
    child: Child,
    remarks: String,
}

impl Running {
    /// Sends it a signal.
    pub(crate) fn signal(&mut self, signal: Signal, when: &str) {
        self.remarks += &["--- ", name_of(signal), " when ", when, "\n"].concat();
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

/// A command line that is at work on a terminal.
pub(crate) struct Watched {
    line: String,
    terminal: Terminal,
    normal: Normal,
    remarks: String,
    /// How many lines were on the screen when the last answer was typed.
    answered: usize,
}

impl Watched {
    /// Waits until this is on the screen, and nothing changes on it but what always does; then
    /// writes it down.
    #[track_caller]
    pub(crate) fn photograph(&mut self, text: &str, when: &str) {
        let mut last = String::new();
        let screen = self.terminal.wait_for(PATIENCE, text, |screen| {
            let seen = self.normal.apply(screen, SystemClock.now());
            let before = std::mem::replace(&mut last, seen);
            (last.contains(text) && last == before).then_some(before)
        });
        self.remarks += &["--- screen, when ", when, "\n", &screen].concat();
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn sees(&self, text: &str) {
        self.terminal.wait_for(PATIENCE, text, |screen| screen.contains(text).then_some(()));
    }

    /// Types an answer when this question is on the screen, below the last answer, and the program
    /// waits for one: an echo before the question would stand elsewhere.
    #[track_caller]
    pub(crate) fn answer(&mut self, question: &str, keys: &str) {
        self.answered = self.terminal.wait_for(PATIENCE, question, |screen| {
            let lines: Vec<&str> = screen.trim_end().lines().map(str::trim_end).collect();
            let below = lines.get(self.answered..).unwrap_or_default();
            let is_waiting = below.last().is_some_and(|line| line.ends_with(['>', ']']));
            (is_waiting && below.join("\n").contains(question)).then_some(lines.len())
        });
        self.terminal.types(keys);
    }

    /// Sends it a signal.
    pub(crate) fn signal(&mut self, signal: Signal, when: &str) {
        self.remarks += &["--- ", name_of(signal), " when ", when, "\n"].concat();
        kill_process(Pid::from_child(self.terminal.child()), signal).unwrap();
    }
}

/// The screen with a mark behind each line that is too long for the terminal, which has broken it.
/// Told by the text that is compared: how long the paths of this world are is no part of it.
fn with_breaks(screen: &str, columns: usize) -> String {
    let colored = Regex::new(r"\{[a-z0-9# ]+:([^{}]*)\}").unwrap();
    let port = Regex::new("<(http01 )?port>").unwrap();
    let time = Regex::new("<now[^>]*>").unwrap();
    let seconds = Regex::new("<seconds> ago").unwrap();
    let marked = screen.lines().map(|line| {
        let plain = colored.replace_all(line, "$1");
        let plain = port.replace_all(&plain, "65535");
        let plain = seconds.replace_all(&plain, "59s ago");
        let is_broken = time.replace_all(&plain, TIME).chars().count() > columns;
        [line, if is_broken { "⏎" } else { "" }, "\n"].concat()
    });
    marked.collect()
}

/// As long as the times that are told on a terminal.
const TIME: &str = "2026-11-21 03:12 UTC";

fn name_of(signal: Signal) -> &'static str {
    [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM"), (Signal::HUP, "SIGHUP")]
        .into_iter()
        .find_map(|(known, name)| (known == signal).then_some(name))
        .unwrap()
}

fn code(code: Option<i32>) -> String {
    code.map_or_else(|| "by a signal".to_owned(), |code| code.to_string())
}
