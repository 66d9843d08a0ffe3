//! The question which CA issues the certificate.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::issuer::{CreateIssuerArgs, is_known_ca};
use super::known::Known;
use super::question::{Dialogue, Doubted, NONE, Question, Stop, answered, optional, path_of};
use super::server::{Binding, Demands, Refused, host_of_url, requested};
use crate::cli::render::output::escape;
use crate::manifest::nearest_by;
use crate::resource::{DnsName, is_dns_subdomain, readable_terms};
use crate::workspace::inspect::roots_of;

/// The Issuer of the certificate.
pub(super) enum By {
    /// One that the manifests have.
    Known(String),
    New(Box<CreateIssuerArgs>),
}

impl By {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Known(name) => name,
            Self::New(args) => &args.name,
        }
    }
}

/// Which CA; with another one's URL, the roots that its server is trusted by.
pub(super) fn issuer_of(
    dialogue: &mut Dialogue<'_>,
    config: &Path,
    known: &Known,
) -> Result<By, Stop> {
    issuer_after(&Refusal::default(), dialogue, config, known)
}

/// The same, when an answer before was refused.
fn issuer_after(
    Refusal { why, roots }: &Refusal,
    dialogue: &mut Dialogue<'_>,
    config: &Path,
    manifests: &Known,
) -> Result<By, Stop> {
    let known = manifests.names();
    let question = format!("CA: {}, or the URL of another CA's ACME directory", choices(&known));
    let default = known.first().map_or(STAGING, String::as_str);
    let into = config.to_owned();
    // A URL at which no CA answers.
    let silent = Doubted::default();
    let question =
        Question { default: Some(default), refusal: why, ..Question::new(&question, ABOUT_CA) };
    let answer = question.answered(dialogue, |text| {
        let is_known = known.iter().any(|name| name == text);
        let is_ours = ["letsencrypt", STAGING].contains(&text);
        if is_ours && !is_known && has_file(&into, text) {
            let file = file_of_issuer(text);
            return Err(format!(
                "{file} already exists, without this Issuer; see certctl validate"
            ));
        }
        if is_known || is_ours {
            return Ok(Ca::Named(text.to_owned()));
        }
        let server = directory_of(text).map_err(|why| {
            let ours = ["letsencrypt", STAGING].into_iter();
            let names = known.iter().map(String::as_str).chain(ours);
            let meant = nearest_by(text, names, |name| name);
            meant.map_or(why, |name| format!("did you mean {name}?"))
        })?;
        match manifests.of_server(&server).as_slice() {
            [] => {}
            [name] => return Ok(Ca::Of((*name).to_owned())),
            several => {
                let names = several.join(", ");
                return Err(format!("several Issuers have this CA: enter one of {names}"));
            }
        }
        match requested(&server, None) {
            Err(Refused { why, is_no_acme: true, .. }) => Err(why),
            Err(Refused { why, is_distrusted: false, .. }) if silent.is_new(&server) => {
                Err(format!("{why}; enter it again to use it nevertheless"))
            }
            directory => Ok(Ca::Other { server, directory }),
        }
    })?;
    let (name, server, ca_bundle, binding) = match answer {
        Ca::Named(name) if known.contains(&name) => return Ok(By::Known(name)),
        Ca::Of(name) => {
            dialogue.say(&format!("that is the CA of Issuer {}", escape(&name)));
            return Ok(By::Known(name));
        }
        Ca::Named(name) => (name, None, None, Binding::Optional),
        Ca::Other { server, directory } => {
            match server_of(dialogue, &server, directory, roots.as_deref())? {
                Server::Chosen { roots, binding } => {
                    let name = name_of_issuer(dialogue, &server, &known, &into)?;
                    (name, Some(server), roots, binding)
                }
                Server::Refused(why) => {
                    // The URL, and the roots of its server.
                    dialogue.retract(2);
                    return issuer_after(&why, dialogue, config, manifests);
                }
            }
        }
    };
    let (email, eab_kid) = match binding {
        Binding::Required => (email(dialogue)?, key_id(dialogue)?),
        Binding::Optional => (None, None),
    };
    Ok(By::New(Box::new(CreateIssuerArgs {
        name,
        email,
        server,
        ca_bundle,
        staging: false,
        profile: None,
        eab_kid,
        dns01: None,
        into: Some(into),
    })))
}

/// The Issuers that the manifests have, and those that certctl knows.
fn choices(known: &[String]) -> String {
    let ours = [(STAGING, "letsencrypt-staging (for a test)"), ("letsencrypt", "letsencrypt")];
    let ours = ours.into_iter().filter(|(name, _)| !known.iter().any(|known| known == name));
    let there = format!("{} (as in your manifests)", known.join(", "));
    let there = (!known.is_empty()).then_some(there).into_iter();
    let all: Vec<String> = there.chain(ours.map(|(_, shown)| shown.to_owned())).collect();
    all.join(", ")
}

/// The address of a customer's account; a CA without accounts of its own needs none.
fn email(dialogue: &mut Dialogue<'_>) -> Result<Option<String>, Stop> {
    optional(dialogue, "E-mail address for the CA's messages", ABOUT_EMAIL, |text| {
        let is_address = text
            .split_once('@')
            .is_some_and(|(user, host)| !user.is_empty() && host.parse::<DnsName>().is_ok());
        is_address.then(|| text.to_owned()).ok_or_else(|| "not an e-mail address".to_owned())
    })
}

/// An answer to the question.
enum Ca {
    /// By the name of an Issuer that exists or that certctl knows.
    Named(String),
    /// By the URL of an Issuer that exists.
    Of(String),
    /// By the URL of its directory, which was requested at once.
    Other { server: String, directory: Result<Demands, Refused> },
}

/// What is known of another CA's server.
enum Server {
    Chosen {
        /// Those that it is trusted by, where the system's are not enough.
        roots: Option<PathBuf>,
        binding: Binding,
    },
    /// The question for the CA comes again.
    Refused(Refusal),
}

/// Why a CA was refused, and the file with roots that was given for its server.
#[derive(Default)]
struct Refusal {
    why: String,
    roots: Option<PathBuf>,
}

/// The name of the Issuer of another CA, which has this server.
fn name_of_issuer(
    dialogue: &mut Dialogue<'_>,
    server: &str,
    known: &[String],
    into: &Path,
) -> Result<String, Stop> {
    let usual = free_name(&name_of(server), known, into);
    let question = "Name of its Issuer, which is the file about this CA";
    answered(dialogue, question, ABOUT_NAME, Some(&usual), |text| {
        if !is_dns_subdomain(text) {
            return Err("enter a short name, of lower case letters, digits, - and .".to_owned());
        }
        if is_known_ca(text) {
            return Err("the name of Let's Encrypt's Issuer; enter another one".to_owned());
        }
        if known.iter().any(|name| name == text) || has_file(into, text) {
            return Err("there is an Issuer of this name; enter another one".to_owned());
        }
        Ok(text.to_owned())
    })
}

/// Finds out which roots the server of a CA is trusted by: those of an answer before, most likely.
fn server_of(
    dialogue: &mut Dialogue<'_>,
    server: &str,
    directory: Result<Demands, Refused>,
    before: Option<&Path>,
) -> Result<Server, Stop> {
    let answers = |roots: &str, terms: Option<String>| {
        let terms =
            terms.map(|url| format!("; its terms of service: {}", escape(&readable_terms(&url))));
        let terms = terms.unwrap_or_default();
        format!("{server} answers{roots}{terms}")
    };
    let before = before.map(|path| path.to_string_lossy().into_owned());
    let (why, default) = match directory {
        Ok(Demands { binding, terms }) => {
            dialogue.say(&answers("", terms));
            return Ok(Server::Chosen { roots: None, binding });
        }
        Err(refused) if refused.is_distrusted => {
            // A private CA, or an incomplete chain: no run could use it as it is.
            let why =
                format!("this host does not trust the server of {server}: its root is unknown");
            (format!("note: {why}"), before.as_deref())
        }
        Err(Refused { why, .. }) => (format!("note: {why}"), Some(NONE)),
    };
    let is_distrusted = default != Some(NONE);
    dialogue.say(&why);
    let question = "Path of the PEM file with the roots of that server";
    let or_none = if is_distrusted { "" } else { ", or none" };
    let question = format!("{question}{or_none}");
    let doubted = Doubted::default();
    let found = answered(dialogue, &question, ABOUT_ROOTS, default, |text| {
        if text == NONE && is_distrusted && doubted.is_new(text) {
            return Err("no run can use this CA without its roots; enter none again to go on \
                        nevertheless"
                .to_owned());
        }
        if text == NONE {
            return Ok(None);
        }
        let path = path_of(text);
        if text.is_empty() {
            return Err("enter the path of the file, or back".to_owned());
        }
        if !path.is_file() {
            let why = if path.is_dir() { "a folder; enter a file" } else { "file not found" };
            return Err(why.to_owned());
        }
        roots_of(&path).map_err(|error| error.to_string())?;
        match requested(server, Some(&path)) {
            Err(Refused { is_distrusted: true, .. }) => Err(format!(
                "the server of {server} has no certificate of these roots; its operator has the root \
                     that it is issued below"
            )),
            Err(Refused { has_no_roots: true, why, .. }) => Err(why),
            directory => Ok(Some((path, directory))),
        }
    })?;
    let (roots, directory) = match found {
        None => return Ok(Server::Chosen { roots: None, binding: Binding::Optional }),
        Some((path, directory)) => (Some(path), directory),
    };
    let binding = match directory {
        Err(Refused { why, is_no_acme: true, .. }) => {
            return Ok(Server::Refused(Refusal { why, roots }));
        }
        Ok(Demands { binding, terms }) => {
            dialogue.say(&answers("; its Issuer gets a copy of these roots", terms));
            binding
        }
        Err(Refused { why, .. }) => {
            dialogue.say(&format!("note: {why}"));
            Binding::Optional
        }
    };
    Ok(Server::Chosen { roots, binding })
}

/// The key identifier of the external account binding that a CA demands.
fn key_id(dialogue: &mut Dialogue<'_>) -> Result<Option<String>, Stop> {
    let question = "Key ID of the external account binding (EAB), which this CA requires, or none";
    answered(dialogue, question, ABOUT_BINDING, None, |text| match text {
        "" => Err("the CA's account page has it; none: without it for now".to_owned()),
        NONE => Ok(None),
        text if text.contains(char::is_control) => Err("it has a control character".to_owned()),
        text => Ok(Some(text.to_owned())),
    })
}

/// The URL of another CA's directory: a host and a path may be typed without their scheme.
fn directory_of(text: &str) -> Result<String, String> {
    if !text.contains(['.', ':', '/']) {
        return Err("a URL begins with https://, or enter one of these names".to_owned());
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if scheme != "https" || (name.parse::<DnsName>().is_err() && name.parse::<IpAddr>().is_err()) {
        return Err("a URL begins with https:// and the name of a host".to_owned());
    }
    if path.is_empty() {
        // One who types a name alone may mean the certificate.
        let next = if host == text { NAMES_COME_NEXT } else { "" };
        return Err(format!(
            "the URL of a CA has a path, which its operator knows, as in https://{host}/acme/directory{next}"
        ));
    }
    Ok(format!("https://{rest}"))
}

/// The file of an Issuer in the folder of manifests.
fn file_of_issuer(name: &str) -> String {
    format!("issuer-{name}.yaml")
}

/// Whether the file of an Issuer is there, which would not be overwritten.
fn has_file(config: &Path, issuer: &str) -> bool {
    config.join(file_of_issuer(issuer)).exists()
}

/// What the Issuer of a CA is named after: the part of its host that tells it from others, as a person
/// would say it; an address has none.
fn name_of(server: &str) -> String {
    let host = host_of_url(server).unwrap_or_default();
    let name: Option<DnsName> = host.parse().ok().filter(|_| host.parse::<IpAddr>().is_err());
    let name = name.map(|name| name.to_string()).unwrap_or_default();
    // The last one is a top level domain.
    let labels = name.rsplit_once('.').map_or("", |(labels, _)| labels).split('.');
    let is_telling = |label: &&str| {
        let begin = label.split('-').next().unwrap_or_default();
        !begin.is_empty() && !GENERIC.contains(&begin)
    };
    labels.rev().find(is_telling).unwrap_or("ca").to_owned()
}

/// How hosts of CAs begin that say nothing of whose they are, and the reserved name of RFC 2606.
const GENERIC: &[&str] = &["ca", "acme", "pki", "step", "api", "example"];

/// A name like this that no Issuer has, and no file of one.
fn free_name(name: &str, known: &[String], config: &Path) -> String {
    let is_free = |name: &String| !known.contains(name) && !has_file(config, name);
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    [name.to_owned()].into_iter().chain(numbered).find(is_free).unwrap_or_default()
}

/// To one who typed them.
const NAMES_COME_NEXT: &str = "; the names of the certificate come next";
// What the questions are about.
const ABOUT_CA: &str = "The CA issues the certificate over ACME (RFC 8555). Let's Encrypt is free, wants \
                        no e-mail address, and browsers trust it; its staging CA is for tests, and no \
                        client trusts it. Another CA's documentation has the URL of its directory. An Issuer of your \
                        manifests stands for its CA, with its settings.";
const ABOUT_ROOTS: &str = "A private CA has a certificate that this host may not trust yet. The file \
                           has the root certificates in PEM, by a path from this folder or a whole \
                           one; none for a public CA. The Issuer gets a copy: the file is not needed \
                           afterwards. The clients of a certificate may need another root.";
const ABOUT_NAME: &str = "The Issuer is the manifest of the CA, and each Certificate names it: take a short \
                          name of the CA, such as company. A Certificate that names another one later is \
                          issued again.";
const ABOUT_BINDING: &str = "The CA connects the ACME account with one that you have there: it gives you \
                             a key ID and a secret key. The secret key is stored in a file, by a \
                             command that is shown at the end.";
const ABOUT_EMAIL: &str = "Some CAs write to this address about the account or a revocation. It is no \
                           part of the certificate, and most CAs do without.";
/// The CA to begin with.
pub(super) const STAGING: &str = "letsencrypt-staging";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_ca_is_a_url_with_a_path_that_may_lack_its_scheme() {
        for text in ["https://ca.example:9000/acme/acme/directory", "192.0.2.1/dir", "ca/dir"] {
            let url = format!("https://{}", text.trim_start_matches("https://"));
            assert_eq!(directory_of(text), Ok(url));
        }
        for (text, next) in [
            ("ca.example", NAMES_COME_NEXT),
            ("ca.example:9000", NAMES_COME_NEXT),
            ("https://ca.example", ""),
            ("ca.example/", ""),
        ] {
            let why = directory_of(text).unwrap_err();
            assert!(why.ends_with(&format!("/acme/directory{next}")), "{why}");
        }
        for text in ["http://ca.example/dir", "https:///dir", "a b/dir", "zerossl!"] {
            let why = directory_of(text).unwrap_err();
            assert!(why.starts_with("a URL begins with https://"), "{text}: {why}");
        }
    }

    #[test]
    fn an_issuer_is_named_after_whose_the_ca_is() {
        for (url, name) in [
            ("https://ca.company.test:14000/dir", "company"),
            ("https://acme.zerossl.com/v2/DV90", "zerossl"),
            ("https://dv.acme-v02.api.pki.goog/directory", "dv"),
            ("https://step-ca.home.example/acme/acme/directory", "home"),
            ("https://calendar.example/dir", "calendar"),
            ("https://localhost:14000/dir", "ca"),
            ("https://127.0.0.1:14000/dir", "ca"),
            ("https://[::1]:14000/dir", "ca"),
            ("https://ca/dir", "ca"),
            ("https://ca.example.com/dir", "ca"),
        ] {
            assert_eq!(name_of(url), name, "{url}");
        }
    }

    #[test]
    fn a_new_issuer_has_a_name_whose_file_is_not_there() {
        let config = tempfile::tempdir().unwrap();
        let name = |known: &[&str]| {
            let known: Vec<String> = known.iter().map(ToString::to_string).collect();
            free_name("ca", &known, config.path())
        };
        assert_eq!((name(&[]), name(&["ca"])), ("ca".to_owned(), "ca-2".to_owned()));
        std::fs::File::create(config.path().join("issuer-ca.yaml")).unwrap();
        assert_eq!((name(&[]), name(&["ca-2"])), ("ca-2".to_owned(), "ca-3".to_owned()));
    }
}
