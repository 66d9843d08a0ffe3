//! The words of `inspect`, and why there is nothing to look at.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::cli::{CliError, escape};
use crate::resource::NamespacedName;
use crate::workspace::OwnersError;
use crate::workspace::inspect::{InspectError, Source, Unreadable};
use crate::workspace::target::{NameTarget, Target, TargetError};

/// The port of `https`.
const HTTPS: u16 = 443;

/// Where the certificate comes from; `known` are the objects that there are.
pub(super) fn source(words: &[OsString], known: &[NamespacedName]) -> Result<Source, CliError> {
    let secret = |word: &OsString| word.to_str().is_some_and(|text| text.starts_with("secret/"));
    let (is_secret, word) = match words {
        // As `-o name` prints it.
        [word] => (secret(word), word),
        [kind, word] if kind == "secret" => (true, word),
        _ => {
            return Err(
                CliError::usage("inspect takes one argument").trying("certctl inspect secret NAME")
            );
        }
    };
    if is_secret {
        let text = word.to_string_lossy();
        let name = NameTarget::parse_of(&["secret"], &text).ok_or_else(|| {
            CliError::usage(format_args!("`{}` is not a valid name", escape(&text)))
        })?;
        return Ok(Source::Name { name, is_secret });
    }
    if let Some(server) = server(word) {
        return Ok(server);
    }
    Ok(match Target::read(word, &|path| path.exists(), known)? {
        Target::Stdin => Source::Stdin,
        Target::Path(path) => Source::File(path),
        Target::Name(name) => Source::Name { name, is_secret },
    })
}

/// `HOST:PORT`, `ADDRESS:PORT`, `[ADDRESS]:PORT`, or `https://` with these and a path, where the port
/// may be left out.
fn server(word: &OsStr) -> Option<Source> {
    let text = word.to_str().filter(|text| !text.starts_with(['/', '.']))?;
    let authority = text.strip_prefix("https://").and_then(|rest| rest.split('/').next());
    let numbered = |text: &str| {
        let (host, port) = text.rsplit_once(':')?;
        let port: u16 = port.parse().ok().filter(|port| *port > 0)?;
        Some((host.to_owned(), port))
    };
    let without_port = || authority.map(|host| (host.to_owned(), HTTPS));
    let (host, port) = numbered(authority.unwrap_or(text)).or_else(without_port)?;
    let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().ok()?.to_string(),
        None if host.parse::<std::net::Ipv4Addr>().is_ok() => host,
        None => host.parse::<crate::resource::DnsName>().ok()?.to_string(),
    };
    Some(Source::Server { host, port })
}

/// Error for a `source` without a certificate.
pub(super) fn refused(error: InspectError, source: &Source) -> CliError {
    match error {
        InspectError::Owners(error) => not_found(error, source),
        InspectError::Store(error) => error.into(),
        InspectError::NotIssued(ref secret) => {
            let name = match source {
                Source::Name { name, .. } => &name.name,
                Source::File(_) | Source::Stdin | Source::Server { .. } => &secret.name,
            };
            let line = format!("certctl status {name}");
            CliError::manifest(error).trying(line)
        }
        InspectError::Unreadable { place, why } => unreadable(&place, &why, source),
    }
}

fn unreadable(place: &str, why: &Unreadable, source: &Source) -> CliError {
    let message = format!("cannot read `{}`: {}", escape(place), escape(&why.to_string()));
    let error = CliError::manifest(message);
    match (why, source) {
        (Unreadable::KeyAlone, _) => {
            let file = crate::trust::quoted(Path::new(place));
            error.hinted(format_args!(
                "with its certificate: cat CERTIFICATE {file} | certctl inspect -"
            ))
        }
        (_, Source::Name { name, is_secret: false }) => {
            error.trying(format_args!("certctl status {}", name.name))
        }
        (Unreadable::Offline, _) | (_, Source::Name { .. } | Source::File(_) | Source::Stdin) => {
            error
        }
        (_, Source::Server { host, port }) => {
            let at = if host.contains(':') { format!("[{host}]:{port}") } else { place.to_owned() };
            let starttls = STARTTLS.iter().find(|(of, _)| of == port);
            let starttls = starttls.map(|(_, name)| format!("-starttls {name} "));
            let starttls = starttls.unwrap_or_default();
            error
                .hinted(format_args!("openssl s_client {starttls}-connect {at} -servername {host}"))
        }
    }
}

/// The ports on which TLS begins after some words of another protocol, as openssl calls it.
const STARTTLS: &[(u16, &str)] = &[
    (21, "ftp"),
    (25, "smtp"),
    (110, "pop3"),
    (143, "imap"),
    (389, "ldap"),
    (587, "smtp"),
    (3306, "mysql"),
    (5432, "postgres"),
];

/// Returns whether a name looks like that of a host, and not like a file.
fn is_host(name: &str) -> bool {
    let is_file = [".pem", ".crt", ".cer", ".key"].iter().any(|end| name.ends_with(end));
    name.contains('.') && !is_file
}

/// A name without a certificate: that of a host may have been meant for its server.
fn not_found(error: OwnersError, source: &Source) -> CliError {
    let is_unknown = matches!(error, OwnersError::Target(TargetError::Unknown { .. }));
    let error = CliError::from(error);
    match source {
        Source::Name { name: NameTarget { name: host, namespace: None, .. }, is_secret: false }
            if is_unknown && is_host(host) =>
        {
            error.trying_any(&[(&format!("certctl inspect {host}:443"), "that server")])
        }
        Source::Name { .. } | Source::File(_) | Source::Stdin | Source::Server { .. } => error,
    }
}
