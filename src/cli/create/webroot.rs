//! The folder from which a web server is to serve the challenges: which one is likely, and whether it
//! is served.

use std::path::Path;

use super::print::Placed;
use super::question::say;
use crate::cli::check::{WAYS_OF_WEBROOT, of_webroot};
use crate::cli::message::Message;
use crate::cli::output::escape;
use crate::cli::shell::Shell;
use crate::resource::{DnsName, Settings};
use crate::workspace::check::WebServer;

/// The folder of this host that most likely is the document root of the first name: that of a virtual
/// host, before that of most web servers' packages.
pub(super) fn likely(names: &[String]) -> Option<String> {
    let first = names.first().map_or("", String::as_str);
    candidates(first).find(|folder| Path::new(folder).is_dir())
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

/// Says where nothing is there to serve a webroot, by an Issuer with these defaults.
pub(super) fn note_of_server(of_issuer: &Settings, shell: &mut Shell) {
    let port = of_issuer.http01_check_port.unwrap_or(shell.global.http01_check_port);
    if WebServer::at(port) == WebServer::Absent {
        say(shell, &format!("note: nothing listens on port {port} now: {WAYS_OF_WEBROOT}"));
    }
}

/// Asks whether a web server serves the webroot of these settings at this name, and prints what was
/// found; without settings, nothing is asked. Returns the command that shows more, unless it is served.
pub(super) fn unserved(
    name: &DnsName,
    settings: Option<&Settings>,
    placed: &Placed,
    shell: &mut Shell,
) -> Option<String> {
    match settings.and_then(|settings| of_webroot(shell, settings, name)) {
        Some(Ok(fact)) => {
            say(shell, &fact);
            return None;
        }
        Some(Err(fact)) => {
            let path = placed.path().unwrap_or_default();
            let path = escape(&path.to_string_lossy()).into_owned();
            let advice = format!("if it serves another folder, write that into {path}");
            shell.output.print(&Message::advice(&fact, &advice));
        }
        // The page of the next step says why.
        None => {}
    }
    Some(placed.next(&format!(" check http {name}"), shell))
}

/// The document root of most web servers' packages.
const USUAL: &str = "/var/www/html";

#[cfg(test)]
mod tests {
    use super::*;

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
