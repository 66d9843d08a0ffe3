//! The folder from which a web server is to serve the challenges: whether it is served; and whether
//! another server forwards them.

use std::path::{Path, PathBuf};
use std::slice::from_ref;

use super::print::Placed;
use super::question::say;
use crate::cli::render::message::Message;
use crate::cli::render::output::escape;
use crate::cli::shell::Shell;
use crate::cli::verbs::check::{Served, Trial, WAYS_OF_WEBROOT, trial};
use crate::cli::words::hint::Hint;
use crate::resource::{DnsName, Settings};
use crate::solver::http01::check_webroot;
use crate::workspace::check::WebServer;

/// That nothing is there to serve a webroot, by an Issuer with these defaults.
pub(super) fn note_of_server(of_issuer: &Settings, shell: &Shell) -> Option<String> {
    is_absent(of_issuer, shell).then(|| {
        let port = of_issuer.check_port(shell.global.http01_check_port);
        format!("note: nothing listens on port {port} now: {WAYS_OF_WEBROOT}")
    })
}

fn is_absent(of_issuer: &Settings, shell: &Shell) -> bool {
    let port = of_issuer.check_port(shell.global.http01_check_port);
    WebServer::at(port) == WebServer::Absent
}

/// That a folder is the one of the web server at the names, or why it is not at the first, where this
/// process can try that.
pub(super) fn verdict(
    folder: &Path,
    names: &[String],
    of_issuer: &Settings,
    shell: &Shell,
) -> Option<Result<String, String>> {
    let (name, others) = names.split_first()?;
    let name = escape(name);
    match tried(folder, names, of_issuer, shell)? {
        // One that is to be started may serve it.
        Trial::Unserved(_) if is_absent(of_issuer, shell) => None,
        Trial::Unserved(_) => Some(Err(format!(
            "{}: the web server at {name} does not serve this folder; enter another one, or the same again \
             to use it nevertheless",
            escape(&folder.to_string_lossy()),
        ))),
        Trial::Served(_) => {
            let is_served = |other| match tried(folder, from_ref(other), of_issuer, shell)? {
                Trial::Served(_) => Some(true),
                Trial::Unserved(_) => Some(false),
                Trial::Unresolved(_) => None,
            };
            let others = others.iter().take(MOST_NAMES);
            let others: Vec<_> = others.map(|other| (other.as_str(), is_served(other))).collect();
            Some(Ok(served_by(&name, &others)))
        }
        Trial::Unresolved(_) => None,
    }
}

/// What was found of a folder that is served at this name, and of other names where they could be tried.
fn served_by(name: &str, others: &[(&str, Option<bool>)]) -> String {
    let are = |expected| {
        let found = others.iter().filter(move |(_, found)| *found == Some(expected));
        found.map(|(other, _)| escape(other))
    };
    let served: Vec<_> = [name.into()].into_iter().chain(are(true)).collect();
    let unserved: Vec<_> = are(false).collect();
    let (serve, arrived) = match served.len() {
        1 => ("serves", "a test file arrived, and is removed"),
        _ => ("serve", "a test file arrived at each, and is removed"),
    };
    let text = format!("{} {serve} this folder: {arrived}", served.join(", "));
    if unserved.is_empty() {
        text
    } else {
        let (unserved, does) =
            (unserved.join(", "), if unserved.len() == 1 { "does" } else { "do" });
        format!("note: {text}; {unserved} {does} not, and the CA validates all names")
    }
}

/// Tries whether a web server serves a folder at the first name; `None` where that is not possible.
/// Nothing of it stays there.
fn tried(folder: &Path, names: &[String], of_issuer: &Settings, shell: &Shell) -> Option<Trial> {
    check_webroot(folder, &shell.bounds()).ok()?;
    let shown = folder.to_string_lossy();
    let settings = Settings { http01_webroot: Some(shown.to_string()), ..of_issuer.clone() };
    let folders = [".well-known/acme-challenge", ".well-known"].map(|below| folder.join(below));
    let new = folders.into_iter().filter(|folder| folder.symlink_metadata().is_err());
    let new: Vec<PathBuf> = new.collect();
    let name = names.first()?.parse().ok().filter(|name: &DnsName| !name.is_wildcard())?;
    let trial = trial(shell, &settings, &name);
    for folder in new {
        // One that another program uses meanwhile is not empty.
        drop(std::fs::remove_dir(folder));
    }
    trial
}

/// Asks whether a server answers the challenges of these names with these settings, and prints what was
/// found, up to the first that is not answered; without settings, nothing is asked. Returns the command
/// that shows more, unless all are.
pub(super) fn unserved(
    names: &[DnsName],
    settings: Option<&Settings>,
    placed: &Placed,
    shell: &mut Shell,
) -> Option<String> {
    let path = placed.shown_path();
    let mut served: Vec<Served> = Vec::new();
    let mut unserved = None;
    for name in names.iter().take(MOST_NAMES + 1) {
        match settings.and_then(|settings| trial(shell, settings, name)) {
            Some(Trial::Served(found)) => {
                served.push(found);
                continue;
            }
            Some(Trial::Unserved(found)) => {
                let is_absent = settings.is_some_and(|settings| is_absent(settings, shell));
                let is_proxied = settings.is_some_and(|settings| settings.http01_webroot.is_none());
                let hint = if is_absent {
                    Hint::Text("start it before the first run".to_owned())
                } else if is_proxied {
                    let note = "what the server of port 80 is to forward".to_owned();
                    Hint::Commands(vec![("certctl help port-80".to_owned(), note)])
                } else {
                    Hint::Text(format!("if it serves another folder, write that into {path}"))
                };
                shell.output.print(&Message::advice(&found.to_string(), Some(&hint)));
            }
            Some(Trial::Unresolved(fact)) => {
                let advice = format!("publish its A or AAAA record; or correct the name in {path}");
                shell.output.print(&Message::advice(&fact, Some(&Hint::Text(advice))));
            }
            // The page of the next step says why.
            None => {}
        }
        unserved = Some(name);
        break;
    }
    if let Some(name) = unserved {
        return Some(placed.next(&format!(" check http {name}"), shell));
    }
    for fact in verdicts(&served) {
        say(shell, &fact);
    }
    None
}

/// What was found of names that are served: one line for those of which it is the same.
fn verdicts(served: &[Served]) -> Vec<String> {
    let mut lines: Vec<(Vec<String>, &str)> = Vec::new();
    for Served { name, how, .. } in served {
        match lines.iter_mut().find(|(_, other)| other == how) {
            Some((names, _)) => names.push(name.to_string()),
            None => lines.push((vec![name.to_string()], how)),
        }
    }
    lines
        .into_iter()
        .map(|(names, how)| format!("{}, tried as a run does: {how}", names.join(", ")))
        .collect()
}

/// How many names are tried besides the first.
const MOST_NAMES: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_served_at_the_names_at_which_a_test_file_arrived() {
        for (others, text) in [
            (&[][..], "a.test serves this folder: a test file arrived, and is removed"),
            (
                &[("b.test", Some(true)), ("*.a.test", None)],
                "a.test, b.test serve this folder: a test file arrived at each, and is removed",
            ),
            (
                &[("b.test", Some(false))],
                "note: a.test serves this folder: a test file arrived, and is removed; b.test does \
                 not, and the CA validates all names",
            ),
            (
                &[("b.test", Some(false)), ("c.test", Some(true)), ("d.test", Some(false))],
                "note: a.test, c.test serve this folder: a test file arrived at each, and is \
                 removed; b.test, d.test do not, and the CA validates all names",
            ),
        ] {
            assert_eq!(served_by("a.test", others), text);
        }
    }

    #[test]
    fn names_of_which_the_same_was_found_are_told_together() {
        let of = |name: &str, how: &str| {
            let (name, how) = (name.parse().unwrap(), how.to_owned());
            Served { name, how, is_redirected: false }
        };
        let served = [of("a.test", "arrived"), of("b.test", "redirected"), of("c.test", "arrived")];
        assert_eq!(
            verdicts(&served),
            [
                "a.test, c.test, tried as a run does: arrived",
                "b.test, tried as a run does: redirected"
            ]
        );
    }
}
