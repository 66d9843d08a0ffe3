//! Words of other tools (certbot, lego, acme.sh, kubectl): each leads to the command for it.
//!
//! Contract: what is truly the same thing is an alias of its verb (`args`) and needs no row. Of any
//! other word the table has one sentence and the command to type, with what was typed beside the
//! word filled in where it is safe to print; the exit code is that of an error of usage.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _};

use super::args::Arguments;
use super::error::CliError;
use super::exit::ExitCode;
use super::report::short;
use crate::host::scheduler::{TIMER, has_unit};
use crate::manifest::{self, Source};
use crate::resource::{DnsName, GoDuration};
use crate::trust::{quoted, sudo_on_own};

/// Some words, and where they lead.
struct Row {
    words: &'static [&'static str],
    /// A whole sentence without its beginning: "there is no `word`; …".
    sentence: &'static str,
    /// The command. `{names}`: the DNS names on the line, else `DNSNAME`; `{hosts}`: the same, also a
    /// name without a dot; `{name}`: the first other word, else `NAME`; `{targets}`: all of them, or
    /// nothing; `{config}`: the folder of manifests; `{verb}`: the verb on the line; `{folder}`: that
    /// of `-w`; `{served}`: the flags for it and for the web server of `--nginx` or `--apache`, or
    /// nothing, and `{reload}`: that server, else nginx; `{every}`: the time between two runs.
    command: &'static str,
}

/// Where the word leads that clap refused; `None` for one that no other tool has.
pub(super) fn advice(
    refusal: &clap::Error,
    words: &[OsString],
    config: Option<&Path>,
) -> Option<CliError> {
    let kind = if refusal.kind() == ErrorKind::InvalidSubcommand {
        ContextKind::InvalidSubcommand
    } else if refusal.kind() == ErrorKind::UnknownArgument {
        ContextKind::InvalidArg
    } else {
        return None;
    };
    let Some(ContextValue::String(word)) = refusal.get(kind) else { return None };
    let word = word.split('=').next().unwrap_or(word);
    if kind == ContextKind::InvalidSubcommand
        && let Some(error) = of_name(refusal, word, words, config)
    {
        return Some(error);
    }
    let row = match of_group(refusal, word, words).or_else(|| of_list(word, words)) {
        Some(_) if is_typo_of_ours(refusal, word) => return None,
        Some(row) => row,
        None => row(word)?,
    };
    let line = Line::read(words);
    if let Some((certificate, verb)) = known(word, row, &line, config) {
        let message = format!("there is no `{word}`: a manifest describes each certificate");
        let command = format!("certctl {verb} {}", quoted(Path::new(&certificate)));
        return Some(CliError::new(ExitCode::Usage, message).trying(command));
    }
    let on_host = of_host(row, has_unit(TIMER));
    let message = format!("there is no `{word}`: {}", on_host.sentence);
    let error = CliError::new(ExitCode::Usage, message);
    Some(if std::ptr::eq(on_host, row) {
        let has_issuer = line.into.as_deref().or(config).is_some_and(has_issuer);
        error.trying(as_typed(&line.fill(row.command, config, has_issuer)))
    } else {
        // A command of systemd.
        error.hinted(on_host.command)
    })
}

/// Where a name leads that stands in the place of a verb: that of a Certificate, or a DNS name behind
/// `check`.
fn of_name(
    refusal: &clap::Error,
    word: &str,
    words: &[OsString],
    config: Option<&Path>,
) -> Option<CliError> {
    if row(word).is_some() || is_typo_of_ours(refusal, word) {
        return None;
    }
    let group = of_group(refusal, word, words);
    let is_of_check = group.is_some_and(|group| group.words.contains(&"check"));
    let is_dns_name = word.contains('.') && word.parse::<DnsName>().is_ok();
    let (message, command) = if is_of_check && is_dns_name {
        let message = format!("what to check comes before the name `{word}`: http or dns");
        (message, format!("certctl check http {}", quoted(Path::new(word))))
    } else {
        let certificate = config.and_then(|config| described(config, word))?;
        let before = if is_of_check {
            "`check` diagnoses dns DNSNAME, http DNSNAME or acme"
        } else {
            "a verb comes before its name"
        };
        let message = format!("`{word}` is a certificate, not a verb: {before}; to see its state");
        (message, format!("certctl status {}", quoted(Path::new(&certificate))))
    };
    Some(CliError::new(ExitCode::Usage, message).trying(command))
}

/// Where a row leads on a host that may have our timer for systemd: there is nothing to print then.
fn of_host(row: &'static Row, has_timer: bool) -> &'static Row {
    let is_of_timer = has_timer && row.command.starts_with("certctl timer print");
    match row.words {
        _ if !is_of_timer => row,
        ["stop", ..] => &STOP_TIMER,
        _ => &ENABLE_TIMER,
    }
}

/// The certificate that a name on the line means, and the verb for it: one that is there needs no
/// manifest first.
fn known(
    word: &str,
    row: &Row,
    line: &Line,
    config: Option<&Path>,
) -> Option<(String, &'static str)> {
    let name = line.names.first()?;
    let is_renewal = word == "--renew";
    if !is_renewal && !["certonly", "-d"].iter().any(|word| row.words.contains(word)) {
        return None;
    }
    let verb = if line.verb.as_deref() == Some("issue") { "issue" } else { "renew" };
    let found = config.and_then(|config| described(config, name));
    found.or_else(|| is_renewal.then(|| name.clone())).map(|found| (found, verb))
}

/// The Certificate of this name, or for this DNS name, that a folder of manifests has.
fn described(config: &Path, name: &str) -> Option<String> {
    let source = Source::Directory(config.to_owned());
    let loaded = manifest::load(&[source], &manifest::Options::default());
    let mut certificates = loaded.certificates.iter();
    let found = certificates.find(|one| {
        one.metadata.name == name
            || one.spec.dns_names.iter().any(|dns_name| dns_name.to_string() == name)
    })?;
    Some(short(&found.metadata.key()))
}

/// One command or several, each with sudo where that started this process.
fn as_typed(commands: &str) -> String {
    let typed: Vec<String> = commands
        .split(" && ")
        .map(|line| {
            if line.starts_with("certctl ") {
                [sudo_on_own(), line].concat()
            } else {
                line.to_owned()
            }
        })
        .collect();
    typed.join(" && ")
}

/// Whether a folder of manifests has an Issuer.
fn has_issuer(config: &Path) -> bool {
    let source = Source::Directory(config.to_owned());
    !manifest::load(&[source], &manifest::Options::default()).issuers.is_empty()
}

fn row(word: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.words.contains(&word))
}

/// Where a word leads behind a verb that has verbs of its own: what is asked of `account` is not
/// asked of certctl.
fn of_group(refusal: &clap::Error, word: &str, words: &[OsString]) -> Option<&'static Row> {
    let is_verb = refusal.kind() == ErrorKind::InvalidSubcommand;
    let of = |given: &OsString| {
        // The flags of a scheduler are no flags of certctl, either.
        GROUPS
            .iter()
            .find(|row| row.words.iter().any(|verb| given == verb))
            .filter(|_| is_verb || given == "timer")
    };
    if is_verb {
        words.iter().skip(1).take_while(|given| *given != word).find_map(of)
    } else {
        words.get(1).and_then(of)
    }
}

/// Where a flag leads behind some verbs only: `-a` of ls and docker, and `-w` of kubectl, behind the
/// verb that shows all in any case; `--all` behind those that are about all.
fn of_list(word: &str, words: &[OsString]) -> Option<&'static Row> {
    let verb = words.get(1)?;
    let is_of = |verbs: &[&str]| verbs.iter().any(|one| verb == one);
    match word {
        "-a" | "--all" if is_of(LISTS) => Some(&ALL),
        "-w" | "--watch" if is_of(LISTS) => Some(&WATCH),
        "--all" if is_of(OF_ALL) => Some(&WITHOUT_NAMES),
        _ => None,
    }
}

/// Whether clap knows a verb that was mistyped.
fn is_typo_of_ours(refusal: &clap::Error, word: &str) -> bool {
    let verbs = refusal.get(ContextKind::SuggestedSubcommand);
    matches!(verbs, Some(ContextValue::Strings(verbs)) if verbs.iter().any(|verb| is_typo(word, verb)))
}

/// Takes from clap's similar verbs those that give something up, unless what was typed is a typing
/// error of theirs: `revert` is none of `revoke`.
pub(super) fn without_destructive(mut refusal: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = refusal.get(ContextKind::InvalidSubcommand) else {
        return refusal;
    };
    let Some(ContextValue::Strings(verbs)) = refusal.get(ContextKind::SuggestedSubcommand) else {
        return refusal;
    };
    let is_harmless = |verb: &&String| !DESTRUCTIVE.contains(&verb.as_str()) || is_typo(word, verb);
    let harmless: Vec<String> = verbs.iter().filter(is_harmless).cloned().collect();
    if harmless.is_empty() {
        refusal.remove(ContextKind::SuggestedSubcommand);
    } else {
        refusal.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(harmless));
    }
    refusal
}

/// Whether a word is this verb with a typing error: one letter, or two of a long verb, and never the
/// first, which makes another word (`reactivate`).
pub(super) fn is_typo(word: &str, verb: &str) -> bool {
    let errors = strsim::osa_distance(word, verb);
    word.chars().next() == verb.chars().next() && errors <= (verb.len() / 4).clamp(1, 2)
}

/// What else was typed. A word that a shell would read as more than a word is left out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Line {
    /// The values of `-d` and its likes.
    names: Vec<String>,
    /// What is neither a flag nor its value, and the manifests of `-f`.
    targets: Vec<String>,
    /// The folder of `--into`.
    into: Option<PathBuf>,
    /// The folder of certbot's and acme.sh's `-w`.
    webroot: Option<PathBuf>,
    /// The URL of the CA, or its name elsewhere.
    ca: Option<String>,
    /// The address for the CA's messages.
    email: Option<String>,
    /// Whether certificates for tests are asked for.
    is_staging: bool,
    /// The web server of certbot's plugin.
    server: Option<&'static str>,
    /// The verb, where it is one of ours.
    verb: Option<String>,
    /// The value of another tool's flag for the time between two runs.
    every: Option<String>,
}

impl Line {
    fn read(words: &[OsString]) -> Self {
        let (tree, mut line) = (Arguments::command(), Self::default());
        let (mut flag, mut has_verb) = (None, false);
        for text in words.iter().skip(1).filter_map(|word| word.to_str()) {
            // certbot's --webroot has no value of its own, but is followed by -w and the folder.
            let waiting = flag.take().filter(|flag| *flag != "--webroot" || !text.starts_with('-'));
            let plugin = text.strip_prefix("--").or((!has_verb).then_some(text));
            if let Some(flag) = waiting {
                line.note(flag, text);
            } else if let Some(server) = SERVERS.iter().find(|server| plugin == Some(**server)) {
                line.server = Some(server);
                has_verb |= !text.starts_with('-');
            } else if text.starts_with('-') {
                line.is_staging |= OF_STAGING.contains(&text);
                match text.split_once('=') {
                    Some((flag, value)) => line.note(flag, value),
                    None => flag = Some(text).filter(|flag| takes_value(flag, &tree)),
                }
            } else if has_verb && is_plain(text) {
                line.targets.push(text.to_owned());
            } else if !has_verb {
                has_verb = true;
                line.verb = tree.find_subcommand(text).map(|verb| verb.get_name().to_owned());
            }
        }
        // As kubectl has it: `delete certificate web`.
        if let [kind, _, ..] = line.targets.as_slice()
            && KINDS.contains(&kind.as_str())
        {
            line.targets.remove(0);
        }
        // `certificate list`: the noun first.
        if line.verb.is_none() && line.targets.first().is_some_and(|it| LISTS.contains(&&**it)) {
            line.targets.remove(0);
        }
        line
    }

    fn note(&mut self, flag: &str, value: &str) {
        if OF_NAMES.contains(&flag) {
            let names = value.split(',').filter(|name| is_plain(name));
            self.names.extend(names.map(str::to_owned));
        } else if flag == INTO {
            self.into = Some(PathBuf::from(value));
        } else if OF_WEBROOTS.contains(&flag) && is_plain(value) {
            self.webroot.get_or_insert_with(|| PathBuf::from(value));
        } else if OF_INTERVALS.contains(&flag) {
            self.every = value.parse::<GoDuration>().ok().map(|_| value.to_owned());
        } else if OF_CAS.contains(&flag) && is_plain(value) {
            self.ca = Some(value.to_owned());
        } else if OF_EMAIL.contains(&flag) && is_address(value) {
            self.email = Some(value.to_owned());
        } else if OF_TARGETS.contains(&flag) && is_plain(value) {
            self.targets.push(value.to_owned());
        }
    }

    /// The command that makes the Issuer, before the one that makes a Certificate.
    fn new_issuer(&self) -> String {
        let is_url = |ca: &&String| ca.contains("://");
        let is_test = |ca: &String| ca.contains("staging") || ca.ends_with("_test");
        let mut line = match self.ca.as_ref().filter(is_url) {
            Some(url) if !is_test(url) => format!("certctl create issuer ca --server {url}"),
            _ if self.is_staging || self.ca.as_ref().is_some_and(is_test) => {
                "certctl create issuer letsencrypt-staging".to_owned()
            }
            _ => "certctl create issuer letsencrypt".to_owned(),
        };
        if self.names.iter().chain(&self.targets).any(|name| name.starts_with("*.")) {
            line.push_str(" --dns01 PROVIDER");
        }
        line.extend(self.email.iter().map(|email| format!(" --email {email}")));
        line + " --into {config} && "
    }

    fn fill(&self, command: &str, config: Option<&Path>, has_issuer: bool) -> String {
        let shell = |words: &[String]| {
            let quoted: Vec<String> = words.iter().map(|word| quoted(Path::new(word))).collect();
            quoted.join(" ")
        };
        let dotted: Vec<String> =
            self.targets.iter().filter(|word| is_dns_name(word)).cloned().collect();
        let names = if self.names.is_empty() { dotted } else { self.names.clone() };
        let hosts = if names.is_empty() { &self.targets } else { &names };
        let hosts: Vec<String> =
            hosts.iter().filter(|word| word.parse::<DnsName>().is_ok()).cloned().collect();
        let or_any = |names: &[String]| {
            if names.is_empty() { "DNSNAME".to_owned() } else { shell(names) }
        };
        let (names, hosts) = (or_any(&names), or_any(&hosts));
        let name = self.targets.first().map_or("NAME", String::as_str);
        // A web server has port 80, and serves the challenges from a folder.
        let webroot = self.webroot.as_deref().or(self.server.map(|_| Path::new(WEBROOT)));
        let folder = webroot.map_or_else(|| "FOLDER".to_owned(), quoted);
        let mut served = webroot.map(|_| format!(" --webroot {folder}")).unwrap_or_default();
        served.extend(self.server.map(|server| format!(" --reload {server}")));
        let every = self.every.as_deref().unwrap_or("1h");
        let config = self.into.as_deref().or(config);
        let config = config.map_or_else(|| "FOLDER".to_owned(), quoted);
        let is_placed = !command.starts_with("certctl create ") || command.contains(INTO);
        let into = self.into.as_deref().filter(|_| !is_placed);
        let into = into.map(|folder| format!(" {INTO} {}", quoted(folder))).unwrap_or_default();
        let is_first = command.ends_with(AND_ISSUE) && !has_issuer;
        let issuer = if is_first { self.new_issuer() } else { String::new() };
        // The hook of the server comes first, whose command `create` prints.
        let command = match self.server {
            Some(_) => command.strip_suffix(AND_ISSUE).unwrap_or(command),
            None => command,
        };
        let filled = [&issuer, command, &into]
            .concat()
            .replace("{names}", &names)
            .replace("{hosts}", &hosts)
            .replace("{name}", name)
            .replace("{targets}", &shell(&self.targets))
            .replace("{verb}", self.verb.as_deref().unwrap_or("status"))
            .replace("{every}", every)
            .replace("{served}", &served)
            .replace("{reload}", self.server.unwrap_or(NGINX))
            .replace("{folder}", &folder)
            .replace("{config}", &config);
        filled.trim_end().to_owned()
    }
}

/// Whether the next word is the value of a flag, of ours or of another tool's.
fn takes_value(flag: &str, tree: &Command) -> bool {
    let is_it = |arg: &&Arg| {
        let long = flag.strip_prefix("--");
        let short = flag.strip_prefix('-').and_then(|letters| letters.chars().next());
        if long.is_some() { arg.get_long() == long } else { arg.get_short() == short }
    };
    let ours = tree.get_arguments().find(is_it);
    ours.map_or_else(|| WITH_VALUE.contains(&flag), |arg| arg.get_action().takes_values())
}

/// Whether a word can be shown in a command: it has no characters but those of names and paths.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "*._-/:".contains(c))
}

/// Whether a word can be shown as an address for mail.
fn is_address(word: &str) -> bool {
    word.contains('@') && is_plain(&word.replace(['@', '+'], "."))
}

/// Whether a word looks like a DNS name, and not like a file.
fn is_dns_name(word: &str) -> bool {
    let is_file = [".yaml", ".yml", ".json", ".pem", ".crt"].iter().any(|end| word.ends_with(end));
    word.contains('.') && !word.contains('/') && !word.starts_with('.') && !is_file
}

/// The flags of DNS names, here and elsewhere.
const OF_NAMES: &[&str] = &["-d", "--domain", "--domains"];
/// The flags of the CA elsewhere.
const OF_CAS: &[&str] = &["--server", "-s"];
/// Those of the address for its messages.
const OF_EMAIL: &[&str] = &["-m", "--email", "--accountemail"];
/// Those that ask for certificates for tests.
const OF_STAGING: &[&str] = &["--staging", "--test-cert", "--test"];
/// The flag of `create` for a folder.
const INTO: &str = "--into";
/// The flags of webroots elsewhere.
const OF_WEBROOTS: &[&str] = &["-w", "--webroot", "--webroot-path"];
/// The web servers that certbot has a plugin for.
const SERVERS: &[&str] = &[NGINX, "apache"];
const NGINX: &str = "nginx";
/// Their folder for files, as Debian has it; `create` warns where there is none.
const WEBROOT: &str = "/var/www/html";
/// The flags elsewhere for the time between two runs.
const OF_INTERVALS: &[&str] = &["--interval", "--period", "--schedule"];
/// The flags of manifests, and those of certbot for one of its certificates.
const OF_TARGETS: &[&str] = &["-f", "--filename", "--cert-name", "--cert-path"];
/// The flags of other tools whose value is the next word.
const WITH_VALUE: &[&str] = &[
    "-d",
    "--domain",
    "--domains",
    "-m",
    "--email",
    "--accountemail",
    "-w",
    "--webroot",
    "--webroot-path",
    "--dns",
    "--server",
    "-s",
    "--cert-name",
    "--cert-path",
    "--key-type",
    "-k",
    "--keylength",
    "--hook",
    "--deploy-hook",
    "--post-hook",
    "--renew-hook",
    "--reloadcmd",
    INTO,
    "--issuer",
    "--output-dir",
    "--reload",
    "--interval",
    "--period",
    "--schedule",
];

/// The verbs with verbs of their own, and where a word leads that is none of these.
const GROUPS: &[Row] = &[
    Row {
        words: &["check"],
        sentence: "`check` diagnoses dns DNSNAME, http DNSNAME or acme; for the state of a \
                   certificate",
        command: "certctl status {targets}",
    },
    Row {
        words: &["timer"],
        sentence: "`timer` prints the files of a scheduler, each with the place where it belongs",
        command: "certctl timer print --systemd",
    },
    Row {
        words: &["account"],
        sentence: "`account` shows, registers, updates or deactivates ACME accounts",
        command: "certctl account show",
    },
    Row {
        words: &["create"],
        sentence: "`create` prints the manifest of an issuer or a certificate, or creates a \
                   certificaterequest",
        command: "certctl create certificate {names}",
    },
];

/// The row of nouns that a verb shows.
macro_rules! shown {
    ($words:expr, $verb:literal, $what:literal) => {
        Row {
            words: $words,
            sentence: concat!("`", $verb, "` shows ", $what),
            command: concat!("certctl ", $verb, " {targets}"),
        }
    };
}

/// What kubectl calls a Certificate, before its name.
const KINDS: &[&str] = &["certificate", "certificates", "cert", "certs"];

/// `status`, by all its names: elsewhere, lists take `-a`.
const LISTS: &[&str] = &["status", "get", "list", "ls", "show", "certificates"];
const ALL: Row = Row {
    words: &["-a"],
    sentence: "`status` shows all certificates; -o wide shows more of each",
    command: "certctl status -o wide {targets}",
};
const WATCH: Row = Row {
    words: &["-w", "--watch"],
    sentence: "`status` prints once; to repeat it every two seconds",
    command: "watch certctl status {targets}",
};
/// The verbs that are about all certificates, unless some are named.
const OF_ALL: &[&str] = &["issue", "apply", "plan", "validate", "deploy", "rehearse"];
const WITHOUT_NAMES: Row = Row {
    words: &["--all"],
    sentence: "without names, the command is about all certificates",
    command: "certctl {verb}",
};

const PRINT_TIMER: &str =
    "a scheduler starts `certctl issue`; to print the files of a timer for this host";
/// Where a timer of systemd is installed.
const ENABLE_TIMER: Row = Row {
    words: &[],
    sentence: "certctl.timer, which is installed, starts `certctl issue`; to enable it",
    command: "systemctl enable --now certctl.timer",
};
const STOP_TIMER: Row = Row {
    words: &[],
    sentence: "certctl.timer, which is installed, starts `certctl issue`; to stop it",
    command: "systemctl disable --now certctl.timer",
};

/// What ends a command that issues at once.
const AND_ISSUE: &str = " && certctl issue";
/// See the module. A word stands in one row.
const ROWS: &[Row] = &[
    Row {
        words: &["certonly", "obtain", "--issue", "enroll"],
        sentence: "`certctl issue` obtains what the manifests describe; a new name needs a \
                   manifest first",
        command: "certctl create certificate {hosts}{served} --into {config} && certctl issue",
    },
    Row {
        words: &["-d", "--domain", "--domains"],
        sentence: "the manifest has the DNS names of a certificate",
        command: "certctl create certificate {names}{served} --into {config} && certctl issue",
    },
    Row {
        words: &["init", "setup", "wizard", "configure"],
        sentence: "certctl needs only a manifest; on a terminal, this command asks for its \
                   contents",
        command: "certctl create",
    },
    Row {
        words: &["new", "add"],
        sentence: "each certificate needs a manifest",
        command: "certctl create certificate {names} --into {config}",
    },
    Row {
        words: &["delete", "remove", "rm", "--remove"],
        sentence: "`forget` stops managing a certificate and leaves its files; `revoke` revokes it",
        command: "certctl forget {name}",
    },
    Row {
        words: &["uninstall", "--uninstall"],
        sentence: "the package manager that installed certctl removes it, and leaves certificates \
                   and keys; to show where it is",
        command: "certctl version -v",
    },
    Row {
        words: &["register", "--register-account", "--register"],
        sentence: "`certctl issue` registers the account when it needs one; to register it now",
        command: "certctl account register",
    },
    Row {
        words: &["update_account", "--update-account"],
        sentence: "the Issuer has the e-mail address; to send it to the CA",
        command: "certctl account update",
    },
    Row {
        words: &["unregister", "deactivate", "--deactivate-account"],
        sentence: "to deactivate an account permanently",
        command: "certctl account deactivate ISSUER",
    },
    Row {
        words: &["enhance", "nginx", "apache", "--nginx", "--apache"],
        sentence: "certctl does not edit the configuration of web servers; it writes the files, \
                   and reloads the server by a hook",
        command: "certctl create certificate {names} --webroot {folder} --reload {reload}",
    },
    Row {
        words: &["install", "reinstall", "--install-cert", "--installcert", "--deploy"],
        sentence: "`issue` writes the files and runs the hooks that the Certificate names; to do \
                   that again",
        command: "certctl deploy --again {targets}",
    },
    Row {
        words: &[
            "--hook",
            "--deploy-hook",
            "--post-hook",
            "--renew-hook",
            "--reloadcmd",
            "--renewhook",
        ],
        sentence: "the Certificate names its hooks, not the command line",
        command: "certctl create certificate {names} --reload PROGRAM",
    },
    Row {
        words: &["webroot", "--webroot", "--webroot-path", "-w"],
        sentence: "the Certificate names the webroot",
        command: "certctl create certificate {names} --webroot {folder}",
    },
    Row {
        words: &["--cert-name", "--cert-path"],
        sentence: "the name or the file of a certificate is typed behind the verb, without a flag",
        command: "certctl {verb} {name}",
    },
    Row {
        words: &["--key-type", "--keylength", "-k", "--rsa-key-size", "--elliptic-curve"],
        sentence: "the Certificate has the type and the size of its key",
        command: "certctl explain certificate.spec.privateKey",
    },
    Row {
        words: &["standalone", "--standalone", "--http", "--http.port"],
        sentence: "certctl listens on port 80 itself, unless the manifest names a webroot or another \
                   port",
        command: "certctl create issuer letsencrypt",
    },
    Row {
        words: &["--dns"],
        sentence: "the Issuer names the DNS provider",
        command: "certctl create issuer letsencrypt --dns01 PROVIDER",
    },
    Row {
        words: &["--email", "-m", "--accountemail"],
        sentence: "the Issuer has the e-mail address",
        command: "certctl create issuer letsencrypt --email ADDRESS",
    },
    Row {
        words: &["--staging", "--test-cert", "--test"],
        sentence: "the Issuer names the CA, also a staging CA",
        command: "certctl create issuer letsencrypt-staging",
    },
    Row {
        words: &["--server", "-s"],
        sentence: "the Issuer names the CA",
        command: "certctl create issuer ca --server URL",
    },
    Row {
        words: &["--agree-tos", "--accept-tos", "-a"],
        sentence: "not needed: by using an Issuer you agree to the terms of service of its CA",
        command: "certctl issue {targets}",
    },
    Row {
        words: &["--non-interactive", "--noninteractive", "--keep-until-expiring", "--keep"],
        sentence: "not needed: `issue` asks no questions and renews only what is due",
        command: "certctl issue {targets}",
    },
    Row {
        words: &["--dry-run", "dry-run", "dryrun", "diff", "--diff", "test", "simulate"],
        sentence: "`plan` shows what `issue` would do; `rehearse` runs everything with a built-in \
                   CA",
        command: "certctl plan {targets}",
    },
    Row {
        words: &["--force", "--force-renewal", "--renew-by-default"],
        sentence: "`renew` issues a certificate now, due or not",
        command: "certctl renew {name}",
    },
    Row {
        words: &[
            "--renew",
            "--renew-all",
            "--renewAll",
            "--cron",
            "update",
            "up",
            "sync",
            "reconcile",
        ],
        sentence: "`issue` renews what is due and nothing else: it is the verb for cron",
        command: "certctl issue {targets}",
    },
    Row {
        words: &["--install-cronjob", "--installcronjob", "cron", "schedule"],
        sentence: "to print the files for cron, systemd or launchd",
        command: "certctl timer print --cron",
    },
    Row {
        words: &["--upgrade", "upgrade", "self-update", "selfupdate", "--self-update", "--update"],
        sentence: "the package manager that installed certctl updates it; to show this version and \
                   where it is",
        command: "certctl version -v",
    },
    Row {
        words: &["--list", "--info", "info", "ps", "list-certs", "list-certificates"],
        sentence: "to show all certificates, or one",
        command: "certctl status {targets}",
    },
    Row {
        words: &["check-config", "checkconfig", "configtest", "lint"],
        sentence: "`validate` checks the manifests, and what they need of this host",
        command: "certctl validate {targets}",
    },
    Row {
        words: &["--revoke"],
        sentence: "to replace and revoke a certificate",
        command: "certctl revoke {name}",
    },
    Row {
        words: &["start", "enable", "daemon"],
        sentence: PRINT_TIMER,
        command: "certctl timer print --systemd",
    },
    Row {
        words: &["serve", "server", "watch", "loop"],
        sentence: "`run` renews at every interval until it is stopped, for containers and hosts \
                   without a scheduler",
        command: "certctl run",
    },
    Row {
        words: &["--interval", "--period", "--schedule"],
        sentence: "`run --every` has the time from one run to the next; the timer or the crontab has \
                   it elsewhere",
        command: "certctl run --every {every}",
    },
    Row {
        words: &["lego", "certbot", "acme.sh", "kubectl", "cmctl"],
        sentence: "the page \"Switch from another client\" of the book (how-to/switch.md) has its \
                   commands beside those of certctl; to list the verbs",
        command: "certctl help",
    },
    Row {
        words: &["stop", "disable"],
        sentence: PRINT_TIMER,
        command: "certctl timer print --systemd",
    },
    Row {
        words: &["reload", "restart"],
        sentence: "`deploy` writes the outputs and runs the hooks and reloads of a certificate again",
        command: "certctl deploy --again {targets}",
    },
    Row {
        words: &["logs", "log", "events", "history"],
        sentence: "`describe` shows the events of a certificate; a run logs to stderr, which cron \
                   mails and systemd keeps (journalctl -u certctl)",
        command: "certctl describe {name}",
    },
    Row {
        words: &["config", "settings", "show-config"],
        sentence: "settings are flags, environment variables and config.toml; to show those in \
                   force and their origin",
        command: "certctl version -v",
    },
    Row {
        words: &["edit", "reconfigure", "modify"],
        sentence: "manifests are files, which `status NAME` names: change them with an editor; \
                   `plan` shows what `issue` would then do",
        command: "certctl plan {targets}",
    },
    Row {
        words: &["expand", "--expand"],
        sentence: "the manifest has the DNS names; after a change, `issue` obtains a certificate \
                   for all of them",
        command: "certctl explain certificate.spec.dnsNames",
    },
    Row {
        words: &["export", "backup"],
        sentence: "certctl writes each certificate as files, in the formats that its manifest names; \
                   to show the files",
        command: "certctl status {name}",
    },
    Row {
        words: &["import", "adopt"],
        sentence: "`issue` adopts a key and certificate that are in the secret's folder, without \
                   an order; `status` shows the folder",
        command: "certctl status {name}",
    },
    Row {
        words: &["hook", "hooks"],
        sentence: "the Certificate names its hooks: programs in the hook directory",
        command: "certctl help hooks",
    },
    Row {
        words: &["rotate", "rekey", "rotate-key", "reissue", "re-issue"],
        sentence: "`renew` issues a certificate now, with a new key unless the manifest says \
                   rotationPolicy: Never",
        command: "certctl renew {name}",
    },
    Row {
        words: &["restore", "revert", "undo"],
        sentence: "`rollback` goes back to the previous certificate and key; to show the revisions \
                   first",
        command: "certctl status request",
    },
    Row {
        words: &["verify"],
        sentence: "`inspect` shows a certificate, its chain and whether it is trusted or revoked; \
                   `validate` checks manifests",
        command: "certctl inspect {name}",
    },
    shown!(
        &["cert", "certs", "crt", "certificate"],
        "status",
        "all certificates, or one; `create certificate` prints a manifest"
    ),
    shown!(
        &["order", "orders"],
        "status order",
        "ACME orders; `issue` places those that are missing"
    ),
    shown!(&["challenge", "challenges"], "status challenge", "ACME challenges"),
    shown!(
        &["request", "requests", "certificaterequest", "certificaterequests", "cr"],
        "status request",
        "requests; `create certificaterequest` creates a CSR"
    ),
    shown!(
        &["issuer", "issuers", "clusterissuer", "clusterissuers"],
        "status issuer",
        "issuers; `create issuer` prints a manifest"
    ),
    shown!(&["accounts", "show_account"], "account show", "ACME accounts"),
    Row {
        words: &["secret", "secrets"],
        sentence: "a Secret is a folder of files; `status NAME` shows the files of a certificate, \
                   `help files` where all others are",
        command: "certctl status {name}",
    },
    Row {
        words: &["login", "logout"],
        sentence: "an ACME account has no session: its key signs each request; to show the accounts",
        command: "certctl account show",
    },
    Row {
        words: &["--json"],
        sentence: "-o json prints JSON",
        command: "certctl {verb} -o json {targets}",
    },
    Row {
        words: &["--debug", "--trace"],
        sentence: "-v prints more; -vvv also prints each ACME exchange",
        command: "certctl {verb} -vvv {targets}",
    },
    Row {
        words: &["cleanup", "clean", "prune"],
        sentence: "the next `issue` removes what an interrupted run left, DNS records too",
        command: "certctl issue",
    },
];

/// The verbs that give up a certificate, a key, an account or what certctl knows of them.
const DESTRUCTIVE: &[&str] = &["deactivate", "forget", "revoke", "rollback"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn suggested(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let refusal = Arguments::command().try_get_matches_from(&words).err()?;
        let refusal = without_destructive(refusal);
        advice(&refusal, &words, Some(Path::new("/nowhere"))).map(|error| {
            assert_eq!(error.code, ExitCode::Usage, "{line}");
            error.hint.unwrap().to_string()
        })
    }

    #[test]
    fn a_timer_that_is_installed_is_enabled_and_not_printed() {
        let command = |word, has_timer| of_host(row(word).unwrap(), has_timer).command;
        for word in ["start", "enable", "daemon", "cron", "schedule", "--install-cronjob"] {
            assert!(command(word, false).starts_with("certctl timer print"), "{word}");
            assert_eq!(command(word, true), "systemctl enable --now certctl.timer", "{word}");
        }
        assert_eq!(command("stop", true), "systemctl disable --now certctl.timer");
        assert_eq!(command("ps", true), command("ps", false));
        assert_eq!(command("logs", true), command("logs", false));
        assert_eq!(of_host(&GROUPS[1], true).command, "systemctl enable --now certctl.timer");
    }

    /// The verb that an alias is.
    fn verb(line: &str) -> Option<String> {
        let words = line.split(' ');
        let matches = Arguments::command().try_get_matches_from(words).ok()?;
        matches.subcommand_name().map(str::to_owned)
    }

    #[test]
    fn a_name_in_the_place_of_a_verb_leads_to_the_verb_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web}\n\
                        spec:\n  secretName: web-tls\n  issuerRef: {name: ca}\n  \
                        dnsNames: [www.example.test]\n";
        let mut file = std::fs::File::create_new(folder.path().join("web.yaml")).unwrap();
        std::io::Write::write_all(&mut file, manifest.as_bytes()).unwrap();
        let led = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let refusal = Arguments::command().try_get_matches_from(&words).unwrap_err();
            let error = advice(&refusal, &words, Some(folder.path())).unwrap();
            (error.message, error.hint.unwrap().to_string())
        };
        for (line, message, command) in [
            (
                "certctl check web",
                "`web` is a certificate, not a verb: `check` diagnoses dns DNSNAME, http DNSNAME \
                 or acme; to see its state",
                "certctl status web",
            ),
            (
                "certctl web",
                "`web` is a certificate, not a verb: a verb comes before its name; to see its state",
                "certctl status web",
            ),
            (
                "certctl check www.example.test",
                "what to check comes before the name `www.example.test`: http or dns",
                "certctl check http www.example.test",
            ),
        ] {
            assert_eq!(led(line), (message.to_owned(), command.to_owned()), "{line}");
        }
    }

    #[test]
    fn each_word_of_another_tool_leads_to_the_command_for_it() {
        let create = "certctl create certificate";
        let first =
            "certctl create issuer letsencrypt --into /nowhere && certctl create certificate";
        for (line, command) in [
            ("certctl init", "certctl create"),
            ("certctl new", &*format!("{create} DNSNAME --into /nowhere")),
            ("certctl add a.example", &*format!("{create} a.example --into /nowhere")),
            (
                "certctl certonly --nginx -d a.example -d *.b.example,c.example",
                &*format!(
                    "certctl create issuer letsencrypt --dns01 PROVIDER --into /nowhere && {create} a.example '*.b.example' c.example --webroot /var/www/html --reload \
                     nginx --into /nowhere"
                ),
            ),
            (
                "certctl obtain --domains=a.example",
                &*format!("{first} a.example --into /nowhere && certctl issue"),
            ),
            ("certctl obtain x", &*format!("{first} x --into /nowhere && certctl issue")),
            ("certctl obtain", &*format!("{first} DNSNAME --into /nowhere && certctl issue")),
            (
                "certctl --issue -d a.example -w /var/www",
                &*format!("{first} a.example --webroot /var/www --into /nowhere && certctl issue"),
            ),
            (
                "certctl certonly --webroot -w /var/www -d a.example -d b.example",
                &*format!(
                    "{first} a.example b.example --webroot /var/www --into /nowhere && \
                     certctl issue"
                ),
            ),
            (
                "certctl issue -d a.example",
                &*format!("{first} a.example --into /nowhere && certctl issue"),
            ),
            (
                "certctl issue --domain a.example --webroot /var/www",
                &*format!("{first} a.example --webroot /var/www --into /nowhere && certctl issue"),
            ),
            (
                "certctl issue --domains $(id)",
                &*format!("{first} DNSNAME --into /nowhere && certctl issue"),
            ),
            ("certctl delete web", "certctl forget web"),
            ("certctl delete certificate web", "certctl forget web"),
            ("certctl setup", "certctl create"),
            ("certctl cron", "certctl timer print --cron"),
            ("certctl dryrun web", "certctl plan web"),
            ("certctl dry-run web", "certctl plan web"),
            ("certctl diff", "certctl plan"),
            ("certctl reconfigure web", "certctl plan web"),
            ("certctl serve", "certctl run"),
            ("certctl run --interval 6h", "certctl run --every 6h"),
            ("certctl run --interval=6h", "certctl run --every 6h"),
            ("certctl run --interval", "certctl run --every 1h"),
            ("certctl lego", "certctl help"),
            ("certctl update", "certctl issue"),
            ("certctl check-config web.yaml", "certctl validate web.yaml"),
            ("certctl remove", "certctl forget NAME"),
            ("certctl rm prod/web", "certctl forget prod/web"),
            ("certctl register --email you@example.com", "certctl account register"),
            ("certctl update_account", "certctl account update"),
            ("certctl unregister", "certctl account deactivate ISSUER"),
            ("certctl deactivate", "certctl account deactivate ISSUER"),
        ] {
            assert_eq!(suggested(line).as_deref(), Some(command), "{line}");
        }
    }

    #[test]
    fn each_flag_of_another_tool_leads_to_the_command_for_it() {
        let create = "certctl create certificate";
        for (line, command) in [
            ("certctl enhance", &*format!("{create} DNSNAME --webroot FOLDER --reload nginx")),
            (
                "certctl issue --apache -d a.example",
                &*format!("{create} a.example --webroot /var/www/html --reload apache"),
            ),
            ("certctl install web", "certctl deploy --again web"),
            ("certctl --install-cert -d a.example", "certctl deploy --again"),
            ("certctl issue --webroot", &*format!("{create} DNSNAME --webroot FOLDER")),
            ("certctl issue -w /srv/www", &*format!("{create} DNSNAME --webroot /srv/www")),
            ("certctl renew --cert-name web", "certctl renew web"),
            ("certctl renew --cert-name=web --quiet", "certctl renew web"),
            ("certctl revoke --cert-path web.pem", "certctl revoke web.pem"),
            ("certctl revoke --cert-name", "certctl revoke NAME"),
            ("certctl issue web --key-type rsa", "certctl explain certificate.spec.privateKey"),
            ("certctl issue --keylength ec-256", "certctl explain certificate.spec.privateKey"),
            ("certctl issue --standalone", "certctl create issuer letsencrypt"),
            (
                "certctl issue --dns cloudflare",
                "certctl create issuer letsencrypt --dns01 PROVIDER",
            ),
            ("certctl issue --email a", "certctl create issuer letsencrypt --email ADDRESS"),
            ("certctl issue -m a", "certctl create issuer letsencrypt --email ADDRESS"),
            ("certctl issue web --staging", "certctl create issuer letsencrypt-staging"),
            (
                "certctl create certificate a.example --staging --into /srv/tls",
                "certctl create issuer letsencrypt-staging --into /srv/tls",
            ),
            (
                "certctl create certificate a.example --into=manifests --email a",
                "certctl create issuer letsencrypt --email ADDRESS --into manifests",
            ),
            (
                "certctl create issuer letsencrypt --webroot /var/www --into /srv/tls",
                &*format!("{create} DNSNAME --webroot /var/www --into /srv/tls"),
            ),
            ("certctl new --into /srv/tls", &*format!("{create} DNSNAME --into /srv/tls")),
            ("certctl issue --test-cert", "certctl create issuer letsencrypt-staging"),
            ("certctl issue --agree-tos web.yaml", "certctl issue web.yaml"),
            ("certctl issue --dry-run", "certctl plan"),
            ("certctl issue --dry-run web -f ca.yaml", "certctl plan web ca.yaml"),
            ("certctl -n prod issue --log-format json web --dry-run", "certctl plan web"),
            ("certctl renew web --dry-run", "certctl plan web"),
            ("certctl issue web --force", "certctl renew web"),
            ("certctl renew --force-renewal", "certctl renew NAME"),
            ("certctl --cron", "certctl issue"),
            ("certctl --renew -d a.example", "certctl renew a.example"),
            ("certctl --renew-all", "certctl issue"),
            ("certctl --list", "certctl status"),
            ("certctl info web", "certctl status web"),
            ("certctl --upgrade", "certctl version -v"),
            ("certctl upgrade", "certctl version -v"),
            ("certctl self-update", "certctl version -v"),
            ("certctl --force", "certctl renew NAME"),
            ("certctl update web", "certctl issue web"),
            ("certctl logs web", "certctl describe web"),
            ("certctl events web", "certctl describe web"),
            ("certctl ps", "certctl status"),
            ("certctl uninstall", "certctl version -v"),
            ("certctl create www.example.com", "certctl create certificate www.example.com"),
            ("certctl create web", "certctl create certificate DNSNAME"),
        ] {
            assert_eq!(suggested(line).as_deref(), Some(command), "{line}");
        }
    }

    #[test]
    fn a_way_to_show_or_to_repeat_leads_to_the_command_for_it() {
        for (line, command) in [
            ("certctl list -a", "certctl status -o wide"),
            ("certctl status --all", "certctl status -o wide"),
            ("certctl status -w", "watch certctl status"),
            ("certctl get web --watch", "watch certctl status web"),
            ("certctl issue --all", "certctl issue"),
            ("certctl deploy --all", "certctl deploy"),
            ("certctl --json", "certctl status -o json"),
            ("certctl plan web --json", "certctl plan -o json web"),
            ("certctl issue --debug", "certctl issue -vvv"),
            ("certctl --debug", "certctl status -vvv"),
            ("certctl reissue web", "certctl renew web"),
            ("certctl list-certs", "certctl status"),
            ("certctl list-certificates web", "certctl status web"),
            ("certctl history web", "certctl describe web"),
            ("certctl logout", "certctl account show"),
            (
                "certctl issue --server https://ca.example/dir",
                "certctl create issuer ca --server URL",
            ),
            ("certctl status -a web", "certctl status -o wide web"),
            ("certctl timer install", "certctl timer print --systemd"),
            ("certctl cleanup", "certctl issue"),
            ("certctl check web", "certctl status web"),
        ] {
            assert_eq!(suggested(line).as_deref(), Some(command), "{line}");
        }
    }

    #[test]
    fn what_was_said_of_the_ca_is_kept_for_the_first_issuer() {
        let create = "certctl create certificate";
        for (line, command) in [
            (
                "certctl --issue --staging -d a.example -m me@b.example",
                &*format!(
                    "certctl create issuer letsencrypt-staging --email me@b.example --into /nowhere \
                     && {create} a.example --into /nowhere && certctl issue"
                ),
            ),
            (
                "certctl --issue --server https://ca.example/dir -d *.a.example",
                &*format!(
                    "certctl create issuer ca --server https://ca.example/dir --dns01 PROVIDER \
                     --into /nowhere && {create} '*.a.example' --into /nowhere && certctl issue"
                ),
            ),
        ] {
            assert_eq!(suggested(line).as_deref(), Some(command), "{line}");
        }
    }

    #[test]
    fn a_name_of_a_certificate_that_is_there_leads_to_its_verb() {
        let config = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(config.path().join("web.yaml")).unwrap();
        let text = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: web}\nspec: \
                    {secretName: web, dnsNames: [a.example], issuerRef: {name: ca}}\n";
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let advised = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let refusal = Arguments::command().try_get_matches_from(&words).unwrap_err();
            advice(&refusal, &words, Some(config.path())).unwrap().hint.unwrap().to_string()
        };
        for (line, command) in [
            ("certctl certonly -d a.example", "certctl renew web"),
            ("certctl certonly -d web --nginx", "certctl renew web"),
            ("certctl --renew -d a.example", "certctl renew web"),
            ("certctl --renew -d b.example", "certctl renew b.example"),
            ("certctl issue -d a.example", "certctl issue web"),
        ] {
            assert_eq!(advised(line), command, "{line}");
        }
        let new = || advised("certctl certonly -d b.example");
        assert!(new().starts_with("certctl create issuer letsencrypt --into "), "{}", new());
        let mut file = std::fs::File::create(config.path().join("ca.yaml")).unwrap();
        let text = "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {name: ca}\nspec: {acme: \
                    {server: https://ca.example/dir, privateKeySecretRef: {name: a}, solvers: \
                    [{http01: {ingress: {}}}]}}\n";
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        assert!(new().starts_with("certctl create certificate b."), "{}", new());
        let elsewhere = advised("certctl certonly -d b.example --into /nowhere");
        assert!(elsewhere.starts_with("certctl create issuer letsencrypt --into /nowhere && "));
    }

    #[test]
    fn a_noun_or_a_wish_in_place_of_a_verb_leads_to_the_command_for_it() {
        let create = "certctl create certificate";
        for (line, command) in [
            ("certctl cert web", "certctl status web"),
            ("certctl certificate", "certctl status"),
            ("certctl certificate list", "certctl status"),
            ("certctl reload web", "certctl deploy --again web"),
            ("certctl order", "certctl status order"),
            ("certctl orders web-1-1", "certctl status order web-1-1"),
            ("certctl challenges", "certctl status challenge"),
            ("certctl request", "certctl status request"),
            ("certctl cr web-1", "certctl status request web-1"),
            ("certctl issuers", "certctl status issuer"),
            ("certctl clusterissuer letsencrypt", "certctl status issuer letsencrypt"),
            ("certctl accounts", "certctl account show"),
            ("certctl secrets", "certctl status NAME"),
            ("certctl config", "certctl version -v"),
            ("certctl edit web", "certctl plan web"),
            ("certctl expand -d a.example", "certctl explain certificate.spec.dnsNames"),
            ("certctl export web", "certctl status web"),
            ("certctl import web.pem", "certctl status web.pem"),
            ("certctl hooks", "certctl help hooks"),
            ("certctl standalone", "certctl create issuer letsencrypt"),
            ("certctl webroot", &*format!("{create} DNSNAME --webroot FOLDER")),
            ("certctl reinstall", "certctl deploy --again"),
            ("certctl rotate web", "certctl renew web"),
            ("certctl sync", "certctl issue"),
            ("certctl reconcile", "certctl issue"),
            ("certctl revert web", "certctl status request"),
            ("certctl account delete letsencrypt", "certctl account show"),
            ("certctl -v account remove letsencrypt", "certctl account show"),
            ("certctl account activate", "certctl account show"),
            ("certctl create secret", "certctl create certificate DNSNAME"),
            ("certctl create www.example.com", "certctl create certificate www.example.com"),
        ] {
            assert_eq!(suggested(line).as_deref(), Some(command), "{line}");
        }
    }

    #[test]
    fn a_word_for_the_same_thing_is_the_verb_itself() {
        for (line, same) in [
            ("certctl describe web", "describe"),
            ("certctl get certificates", "status"),
            ("certctl list", "status"),
            ("certctl ls", "status"),
            ("certctl show web", "status"),
            ("certctl certificates", "status"),
            ("certctl apply -f web.yaml", "issue"),
        ] {
            assert_eq!(verb(line).as_deref(), Some(same), "{line}");
        }
    }

    #[test]
    fn a_verb_that_gives_something_up_is_proposed_for_its_own_typing_errors_only() {
        let is_proposed = |line: &str| {
            let refusal = Arguments::command().try_get_matches_from(line.split(' ')).unwrap_err();
            let suggested = without_destructive(refusal).to_string();
            suggested
                .split(|letter: char| !letter.is_alphanumeric())
                .any(|word| DESTRUCTIVE.contains(&word))
        };
        for line in [
            "certctl revok",
            "certctl revoek web",
            "certctl forgot",
            "certctl rolback",
            "certctl rollbak",
            "certctl account deactivte",
        ] {
            assert!(is_proposed(line), "{line}");
        }
        for line in [
            "certctl revert",
            "certctl revise",
            "certctl recover",
            "certctl reset",
            "certctl format",
            "certctl purge",
            "certctl callback",
            "certctl roll",
            "certctl account activate",
            "certctl account reactivate",
        ] {
            assert!(!is_proposed(line), "{line}");
        }
    }

    #[test]
    fn a_word_of_ours_or_of_nobody_leads_nowhere() {
        for line in [
            "certctl isue",
            "certctl issue --tiemout 5m",
            "certctl check dnss",
            "certctl account regster",
            "certctl check",
            "certctl issue --timeout 90d",
            "certctl create issuer letsencrypt --staging --email a",
            "certctl create certificate a.example --webroot /var/www",
            "certctl issue -n list",
            "certctl revoke web --all",
        ] {
            assert_eq!(suggested(line), None, "{line}");
        }
    }

    #[test]
    fn a_word_stands_in_one_row_and_is_no_verb() {
        let tree = Arguments::command();
        let mut seen = BTreeSet::new();
        for word in ROWS.iter().flat_map(|row| row.words) {
            assert!(seen.insert(word), "{word}");
            assert!(tree.find_subcommand(word).is_none(), "{word}");
        }
        assert!(!seen.contains(&"run"));
    }

    #[test]
    fn every_command_is_one_that_is_taken() {
        for row in ROWS.iter().chain(GROUPS) {
            for command in Line::default().fill(row.command, None, false).split(" && ") {
                let command = command.replace("PROVIDER", "cloudflare");
                let command = command.replace("URL", "https://ca.example/dir");
                let taken = Arguments::command().try_get_matches_from(command.split(' '));
                assert!(taken.is_ok(), "{command}: {:?}", taken.err());
            }
        }
    }
}
