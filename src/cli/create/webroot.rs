//! The folder from which a web server is to serve the challenges: which one is likely, and whether it
//! is served; and whether another server forwards them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use super::print::Placed;
use super::question::say;
use crate::cli::check::{Served, Trial, WAYS_OF_WEBROOT, trial};
use crate::cli::message::Message;
use crate::cli::output::escape;
use crate::cli::shell::Shell;
use crate::resource::{DnsName, Settings};
use crate::solver::http01::check_webroot;
use crate::workspace::check::{SiteFile, WebServer, configured_roots};

/// The folder of this host that is the document root of the first name, as far as that can be tried, or
/// else most likely: that of a virtual host, before that of most web servers' packages. `others` are the
/// webroots of the manifests.
pub(super) fn likely(
    names: &[String],
    of_issuer: &Settings,
    others: &[PathBuf],
    shell: &Shell,
) -> Option<String> {
    let mut untried = None;
    for folder in known(names, others) {
        match tried(Path::new(&folder), names, of_issuer, shell) {
            Some(Trial::Served(_)) => return Some(folder),
            Some(Trial::Unserved(_)) => {}
            Some(Trial::Unresolved(_)) | None => untried = untried.or(Some(folder)),
        }
    }
    untried
}

/// The folder that the web server at the first name serves, where that is known not to be this one.
pub(super) fn instead_of(
    folder: &Path,
    names: &[String],
    of_issuer: &Settings,
    others: &[PathBuf],
    shell: &Shell,
) -> Option<String> {
    // One that is not there is not served either.
    let is_served = || match tried(folder, names, of_issuer, shell) {
        Some(Trial::Unserved(_)) => false,
        Some(Trial::Served(_) | Trial::Unresolved(_)) | None => true,
    };
    if folder.exists() && is_served() {
        return None;
    }
    served_at(names, of_issuer, others, shell)
}

/// The folder that the web server at the first name serves, where that is known.
pub(super) fn served_at(
    names: &[String],
    of_issuer: &Settings,
    others: &[PathBuf],
    shell: &Shell,
) -> Option<String> {
    let trial = |folder: &String| tried(Path::new(folder), names, of_issuer, shell);
    known(names, others).into_iter().find(|one| matches!(trial(one), Some(Trial::Served(_))))
}

/// The folders of this host that may be served at the first name, the most likely first.
fn known(names: &[String], others: &[PathBuf]) -> Vec<String> {
    let first = names.first().map_or("", String::as_str);
    let others = others.iter().filter_map(|folder| folder.to_str()).map(str::to_owned);
    let configured = configured_roots();
    let mut all: Vec<String> = candidates(first).chain(configured).chain(others).collect();
    let mut seen = BTreeSet::new();
    all.retain(|folder| seen.insert(folder.clone()) && Path::new(folder).is_dir());
    all.truncate(MOST_TRIED);
    all
}

fn candidates(name: &str) -> impl Iterator<Item = String> {
    // An address, or a wildcard, is no name of a folder.
    let name = name.parse::<DnsName>().ok().filter(|name| !name.is_wildcard());
    let of_name = name.into_iter().flat_map(|name| {
        ["/var/www/{}/html", "/var/www/{}/public_html", "/var/www/{}/public", "/var/www/{}"]
            .map(|folder| folder.replace("{}", name.base()))
    });
    of_name.chain([USUAL.to_owned()])
}

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

/// That no configuration of a web server has some of the names, where some are there.
pub(super) fn note_of_names(names: &[String]) -> Option<String> {
    note_of_unnamed(names, &SiteFile::all())
}

fn note_of_unnamed(names: &[String], sites: &[SiteFile]) -> Option<String> {
    let of_host = names.iter().filter_map(|name| name.parse::<DnsName>().ok());
    let is_unnamed =
        |name: &DnsName| !name.is_wildcard() && !sites.iter().any(|site| site.serves(name));
    let unnamed: Vec<String> = of_host.filter(is_unnamed).map(|name| name.to_string()).collect();
    if sites.is_empty() || unnamed.is_empty() {
        return None;
    }
    let is = if unnamed.len() == 1 { "it is" } else { "they are" };
    Some(format!(
        "note: the configuration of your web server does not have {}: {is} served as all other names are",
        unnamed.join(", ")
    ))
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
    let trial = tried_with(&settings, names, shell);
    for folder in new {
        // One that another program uses meanwhile is not empty.
        drop(std::fs::remove_dir(folder));
    }
    trial
}

/// Tries whether the challenges of the first name are answered with these settings; `None` where that is
/// not possible.
pub(super) fn tried_with(settings: &Settings, names: &[String], shell: &Shell) -> Option<Trial> {
    let name = names.first()?.parse().ok().filter(|name: &DnsName| !name.is_wildcard())?;
    trial(shell, settings, &name)
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
                let advice = if is_absent {
                    "start it before the first run".to_owned()
                } else if is_proxied {
                    "what the server of port 80 is to forward: certctl help port-80".to_owned()
                } else {
                    format!("if it serves another folder, write that into {path}")
                };
                shell.output.print(&Message::advice(&found.to_string(), &advice));
            }
            Some(Trial::Unresolved(fact)) => {
                let advice = format!("publish its A or AAAA record; or correct the name in {path}");
                shell.output.print(&Message::advice(&fact, &advice));
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

/// Each costs a request to this host.
const MOST_TRIED: usize = 12;
/// How many names are tried besides the first.
const MOST_NAMES: usize = 5;
/// The document root of most web servers' packages.
const USUAL: &str = "/var/www/html";

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

    #[test]
    fn each_name_that_no_configuration_serves_is_named() {
        let text = "server_name www.example.com *.shop.example.com .example.org;\n".to_owned();
        let sites = [SiteFile { path: "/etc/nginx/conf.d/www.conf".into(), text }];
        let note = |names: &[&str], sites: &[SiteFile]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            note_of_unnamed(&names, sites)
        };
        let begin = "note: the configuration of your web server does not have";
        for (names, end) in [
            (
                &["www.example.com", "eu.shop.example.com", "example.org", "www.example.org"][..],
                None,
            ),
            (&["www.example.com", "*.example.net", "192.0.2.1"], None),
            (&["www.example.com", "wwv.example.com"], Some("wwv.example.com: it is")),
            (
                &["wwv.example.com", "www.example.com", "shop.example.com"],
                Some("wwv.example.com, shop.example.com: they are"),
            ),
        ] {
            let expected = end.map(|end| format!("{begin} {end} served as all other names are"));
            assert_eq!(note(names, &sites), expected, "{names:?}");
        }
        assert_eq!(note(&["wwv.example.com"], &[]), None, "there is no web server");
    }

    #[test]
    fn a_virtual_hosts_folder_comes_before_the_usual_one() {
        let of = |name: &str| candidates(name).collect::<Vec<_>>();
        assert_eq!(
            of("www.example.com"),
            [
                "/var/www/www.example.com/html",
                "/var/www/www.example.com/public_html",
                "/var/www/www.example.com/public",
                "/var/www/www.example.com",
                "/var/www/html"
            ]
        );
        for other in ["*.example.com", "2001:db8::1", "../../etc", ""] {
            assert_eq!(of(other), ["/var/www/html"], "{other}");
        }
    }
}
