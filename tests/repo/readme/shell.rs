//! A shell in a world: `certctl` is the binary, `sudo` changes nothing, and the folders of root are
//! those of the world.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU16;
use std::os::unix::fs::symlink;
use std::process::{Child, Command};

use regex::Regex;

use super::pages::{Page, ROOT, Typed, pages, typed};
use crate::support::{Run, World, finish};
use crate::terminal::Terminal;

/// Of a terminal on which a path of this host fits.
const COLUMNS: NonZeroU16 = NonZeroU16::new(120).unwrap();
/// Of a usual terminal, on which a table fits.
const USUAL: NonZeroU16 = NonZeroU16::new(80).unwrap();

/// The session of this name, which stands on one page.
fn session(name: &str) -> Vec<Typed> {
    let wanted = [format!("console {name}"), format!("console {name} …")];
    let pages = pages();
    let blocks = pages.iter().flat_map(Page::blocks);
    let mut found = blocks.filter(|(kind, _)| wanted.iter().any(|wanted| wanted == kind));
    let (kind, text) = found.next().unwrap_or_else(|| panic!("no session {name}"));
    assert!(found.next().is_none(), "two sessions are called {name}");
    let mut all = typed(&text);
    if kind.ends_with('…') {
        for typed in &mut all {
            typed.shown.push("…".to_owned());
        }
    }
    all
}

/// The names of all sessions.
pub(crate) fn names() -> BTreeSet<String> {
    let pages = pages();
    let kinds = pages.iter().flat_map(Page::blocks).map(|(kind, _)| kind.to_owned());
    let names = kinds.filter_map(|kind| kind.strip_prefix("console ").map(str::to_owned));
    names.map(|name| name.trim_end_matches(" …").to_owned()).collect()
}

/// See the module.
pub(crate) struct Shell<'w> {
    world: &'w World,
    /// What is written, and what stands for it here.
    replaced: Vec<(String, String)>,
}

impl<'w> Shell<'w> {
    /// A shell, for a world in which the names below are this machine.
    pub(crate) fn new(world: &'w World) -> Self {
        world.write_program("bin/sudo", "[ \"$1\" = -u ] && shift 2\nexec \"$@\"");
        symlink(env!("CARGO_BIN_EXE_certctl"), world.path("bin/certctl")).unwrap();
        let port = world.port.number();
        let settings = format!("http01-check-port = {port}\nself-check-interval = \"100ms\"\n");
        world.write("config/config.toml", &settings);
        for name in ["www.example.com", "mail.example.com", "shop.example.com"] {
            world.dns.set(name, vec!["127.0.0.1".parse().unwrap()]);
        }
        let here = |below: &str| world.path(below).display().to_string();
        let replaced = vec![
            ("/etc/certctl".to_owned(), here("config")),
            ("/var/lib/certctl".to_owned(), here("state")),
        ];
        Self { world, replaced }
    }

    /// With something else in place of what is written.
    pub(crate) fn with(mut self, written: &str, here: &impl ToString) -> Self {
        self.replaced.push((written.to_owned(), here.to_string()));
        self
    }

    /// Runs a session; each command must end and answer as it is shown.
    pub(crate) fn play(&self, name: &str) {
        self.play_with(name, |_| {});
    }

    /// The same, with something that happens before each command.
    #[track_caller]
    pub(crate) fn play_with(&self, name: &str, mut before: impl FnMut(&str)) {
        for typed in session(name) {
            self.redirect();
            before(&typed.line);
            compare(&typed, &self.run(&typed));
        }
    }

    /// Runs a session on a terminal, without colours.
    #[track_caller]
    pub(crate) fn play_on_terminal(&self, name: &str) {
        for typed in session(name) {
            self.redirect();
            let mut command = self.command(&self.here(&typed.line));
            command.envs([("NO_COLOR", "1"), ("TERM", "xterm")]);
            let columns = if typed.line.contains(" status") { USUAL } else { COLUMNS };
            let (code, screen) = Terminal::start(command, columns).end();
            assert_eq!(code, Some(typed.code), "{}\n{screen}", typed.line);
            compare(&typed, &self.as_written(&screen));
        }
    }

    /// Runs a command, which must end as it is shown, and without an error if that is in 0; what it
    /// said on both streams.
    #[track_caller]
    pub(crate) fn run(&self, typed: &Typed) -> String {
        self.redirect();
        let line = self.here(&typed.line);
        let Run { code, stdout: output, .. } = finish(self.command(&line).spawn().unwrap());
        assert_eq!(code, Some(typed.code), "{line}\n{output}");
        // The code of a pipe is that of its last command.
        let has_failed = output.lines().any(|line| line.starts_with("error"));
        assert!(typed.code != 0 || line.contains("$?") || !has_failed, "{line}\n{output}");
        self.as_written(&output)
    }

    /// What came, with the names of the page in place of those of this host.
    fn as_written(&self, output: &str) -> String {
        let as_written =
            |output: String, (written, here): &(String, String)| output.replace(here, written);
        let output = self.replaced.iter().fold(output.to_owned(), as_written);
        output.replace(&self.world.ca.directory_url(), STAGING)
    }

    /// Starts a command that does not end by itself.
    pub(crate) fn start(&self, name: &str) -> Child {
        let [typed]: [Typed; 1] = session(name).try_into().unwrap();
        self.redirect();
        let line = self.here(&typed.line);
        self.command(&format!("exec {line}")).spawn().unwrap()
    }

    /// A line as it is on this host, whose own folders it must not name.
    #[track_caller]
    pub(crate) fn here(&self, line: &str) -> String {
        let replace =
            |line: String, (written, here): &(String, String)| line.replace(written, here);
        let line = self.replaced.iter().fold(line.to_owned(), replace);
        let ours = [self.world.path("").display().to_string(), ROOT.to_owned()];
        for word in line.split(|c: char| c.is_whitespace() || "'\"=:<>|;&".contains(c)) {
            let is_ours = ours.iter().any(|ours| word.starts_with(ours.trim_end_matches('/')));
            // What is unpacked at `/` names its folders, two slashes begin a host, and `/CN` a
            // subject of openssl.
            let is_harmless = ["/", "/CN"].contains(&word)
                || ["//", "/dev/"].iter().any(|start| word.starts_with(start));
            assert!(!word.starts_with('/') || is_ours || is_harmless, "{word} is not ours: {line}");
        }
        line
    }

    /// What runs a line, with both streams in one.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("exec 2>&1\n{line}")]);
        self.world.surround(&mut command);
        let path = self.world.path("bin").display().to_string();
        command.env("PATH", path + ":/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    /// A manifest in which the Issuers of Let's Encrypt are those of this world's CA.
    pub(crate) fn redirected(&self, manifest: &str) -> String {
        let issuer = self.world.issuer().to_string();
        let ours = |line: &&str| ["server: ", "caBundle: "].iter().any(|key| line.contains(key));
        let ours: String = issuer.lines().filter(ours).flat_map(|line| [line, "\n"]).collect();
        let theirs = [STAGING, PRODUCTION].map(|url| format!("    server: {url}\n"));
        theirs.iter().fold(manifest.to_owned(), |text, theirs| text.replace(theirs, &ours))
    }

    /// Does so with the manifests of the config directory.
    pub(crate) fn redirect(&self) {
        let Ok(folder) = fs::read_dir(self.world.path("config")) else { return };
        for entry in folder {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "yaml") {
                continue;
            }
            let below = format!("config/{}", path.file_name().unwrap().display());
            let text = fs::read_to_string(&path).unwrap();
            let changed = self.redirected(&text);
            if changed != text {
                self.world.write(&below, &changed);
            }
        }
    }
}

const STAGING: &str = "https://acme-staging-v02.api.letsencrypt.org/directory";
const PRODUCTION: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// Fails unless the output is what is shown; any time stands for any other.
#[track_caller]
pub(crate) fn compare(typed: &Typed, output: &str) {
    let shown = timeless(&typed.shown.join("\n"));
    let said = timeless(output);
    let shown: Vec<&str> = shown.lines().collect();
    let lines: Vec<&str> = said.lines().collect();
    assert!(fits(&shown, &lines), "{}\nshown: {shown:#?}\nsaid: {said}", typed.line);
}

fn timeless(text: &str) -> String {
    let time = Regex::new(r"(?m)\d{4}-\d\d-\d\d(T[0-9:.]+Z)?|\d+s ago|\bnow$").unwrap();
    time.replace_all(text, "TIME").into_owned()
}

fn fits(shown: &[&str], lines: &[&str]) -> bool {
    match (shown, lines) {
        ([], lines) => lines.is_empty(),
        (["…", rest @ ..], lines) => {
            fits(rest, lines) || lines.split_first().is_some_and(|(_, lines)| fits(shown, lines))
        }
        ([first, rest @ ..], [line, lines @ ..]) => line_fits(first, line) && fits(rest, lines),
        ([_, ..], []) => false,
    }
}

fn line_fits(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    rest.is_empty() || last == Some("")
}
