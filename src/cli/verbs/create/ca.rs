//! The CA of a new Certificate: the Issuers of the manifests, and the directory of one that has none yet.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::SignedDuration;

use super::place::{Placed, check, loaded_with, scalar};
use crate::cli::{CliError, Shell, escape, on_one_thread};
use crate::resource::{ChallengeType, DnsName, Identifier, Issuer, IssuerKind, pick_solver};
use crate::workspace::check::{Directory, NoDirectory, ServerTls, directory_of_ca};

/// The Issuers that a Certificate at a place can name.
pub(super) fn issuers(placed: &Placed, shell: &Shell) -> Vec<Issuer> {
    let mut all = loaded_with(placed, None, shell).issuers;
    let namespace = placed.namespace();
    all.retain(|one| one.kind == IssuerKind::ClusterIssuer || one.metadata.namespace == namespace);
    all
}

/// The Issuer that is wanted, also where it is not there; else the only one, or, where there is none, that
/// which `create issuer letsencrypt` makes.
pub(super) fn chosen(
    known: &[Issuer],
    wanted: Option<&str>,
) -> Result<(String, IssuerKind), CliError> {
    let of_name = |name: &str| {
        let kind = known.iter().find(|one| one.metadata.name == name).map(|one| one.kind);
        (name.to_owned(), kind.unwrap_or_default())
    };
    match (wanted, known) {
        (Some(name), _) => Ok(of_name(name)),
        (None, [only]) => Ok(of_name(&only.metadata.name)),
        (None, []) => Ok(of_name(LETS_ENCRYPT)),
        (None, _) => {
            let names: Vec<&str> = known.iter().map(|one| one.metadata.name.as_str()).collect();
            let message = format!("which Issuer? The manifests have {}", escape(&names.join(", ")));
            let hint = format!("add --issuer {}", names.join(" or --issuer "));
            Err(CliError::usage(message).hinted(escape(&hint)))
        }
    }
}

/// Returns whether an Issuer has a solver for HTTP-01.
pub(super) fn has_http01(issuer: &Issuer) -> bool {
    issuer.acme.solvers.iter().any(|solver| solver.dns01().is_none())
}

/// The first wildcard among these names that an Issuer has no solver for.
pub(super) fn unvalidated<'a>(issuer: &Issuer, names: &'a [String]) -> Option<&'a String> {
    let has_solver = |domain: DnsName| {
        let (identifier, labels) = (Identifier::Dns(domain), BTreeMap::new());
        let (offered, _) = ChallengeType::proving(&identifier, true);
        pick_solver(&issuer.acme.solvers, &identifier, true, &labels, None, &offered).is_some()
    };
    let domain = |name: &String| name.strip_prefix("*.").map(str::parse);
    names.iter().find(|name| domain(name).is_some_and(|domain| !domain.is_ok_and(has_solver)))
}

/// Reason why the directory of a CA cannot be used.
pub(super) struct Refused {
    pub(super) why: String,
    /// Fix of the problem.
    pub(super) hint: &'static str,
    /// It does not answer now.
    pub(super) is_silent: bool,
}

/// Requests the directory of a CA whose server is trusted by these roots, or by the system's.
pub(super) fn requested(server: &str, roots: Option<&Path>) -> Result<Directory, Refused> {
    let refused = |why: String, hint, is_silent| Refused { why, hint, is_silent };
    let bundle = |error: CliError| refused(error.message, BUNDLE, false);
    let issuer = of_server(server, roots).map_err(bundle)?;
    let found = on_one_thread(async { Ok(directory_of_ca(&issuer, PATIENCE).await) });
    let found = found.map_err(|error| refused(error.message, "", true))?;
    found.map_err(|NoDirectory { error, is_no_acme, tls, .. }| {
        if is_no_acme {
            let hint = "--server, with the URL that the CA's documentation names";
            refused(format!("{error}; this is not an ACME directory"), hint, false)
        } else if tls == ServerTls::Distrusted {
            let root = if roots.is_some() { "not in that file" } else { "unknown" };
            let why =
                format!("this host does not trust the server of {server}: its root is {root}");
            refused(why, BUNDLE, false)
        } else {
            refused(error.to_string(), "", true)
        }
    })
}

/// An Issuer of which only the CA is known.
fn of_server(server: &str, ca_bundle: Option<&Path>) -> Result<Issuer, CliError> {
    let bundle = match ca_bundle {
        Some(path) => format!("    caBundle: {}\n", BASE64_STANDARD.encode(read_bundle(path)?)),
        None => String::new(),
    };
    let text = format!(
        "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: ca}}\nspec:\n  acme:\n\
         \x20   server: {}\n{bundle}    privateKeySecretRef: {{name: ca-account}}\n    solvers: [{{http01: \
         {{ingress: {{}}}}}}]\n",
        scalar(server)
    );
    let issuer = check(&text)?.issuers.into_iter().next();
    issuer.ok_or_else(|| CliError::usage("the CA's URL makes no Issuer"))
}

pub(super) fn read_bundle(path: &Path) -> Result<Vec<u8>, CliError> {
    let named = escape(&path.to_string_lossy()).into_owned();
    let failed = |error| {
        let text = format_args!("cannot read {named}: {error}; nothing was written");
        CliError::usage(text).hinted("a PEM file with the root of the CA's server")
    };
    let mut pem = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BUNDLE_BYTES).read_to_end(&mut pem).map_err(failed)?;
    Ok(pem)
}

/// The URL of a CA's directory: a host and a path may be typed without their scheme.
pub(super) fn directory_of(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_host = name.parse::<DnsName>().is_ok() || name.parse::<IpAddr>().is_ok();
    if scheme != "https" || !is_host || path.is_empty() {
        let expected = "the URL of a CA is https:// with a host and a path";
        return Err(format!("{expected}, as in https://ca.example/acme/directory"));
    }
    Ok(format!("https://{rest}"))
}

/// A name like this that no Issuer has, and no file of one.
pub(super) fn free_name(name: &str, known: &[Issuer], config: &Path) -> String {
    let is_free = |name: &String| {
        let is_known = known.iter().any(|one| one.metadata.name == *name);
        !is_known && !config.join(format!("issuer-{name}.yaml")).exists()
    };
    let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
    [name.to_owned()].into_iter().chain(numbered).find(is_free).unwrap_or_default()
}

/// The Issuer of Let's Encrypt.
pub(super) const LETS_ENCRYPT: &str = "letsencrypt";
/// The Issuer of its staging environment.
pub(super) const STAGING: &str = "letsencrypt-staging";
/// Fix for a server that this host does not trust.
const BUNDLE: &str = "--ca-bundle FILE, the PEM file with the root of its server";
/// More than a manifest can hold.
const MAX_BUNDLE_BYTES: u64 = 1 << 20;
/// Time that the CA may take to answer.
const PATIENCE: SignedDuration = SignedDuration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_ca_is_a_url_with_a_path_that_may_lack_its_scheme() {
        for text in ["https://ca.example:9000/acme/acme/directory", "192.0.2.1/dir", "ca/dir"] {
            let url = format!("https://{}", text.trim_start_matches("https://"));
            assert_eq!(directory_of(text), Ok(url));
        }
        for text in ["ca.example", "https://ca.example", "http://ca.example/dir", "a b/dir", "y"] {
            let why = directory_of(text).unwrap_err();
            assert!(why.starts_with("the URL of a CA is https:// "), "{text}: {why}");
        }
    }

    #[test]
    fn a_new_issuer_has_a_name_whose_file_is_not_there() {
        let config = tempfile::tempdir().unwrap();
        let name = |known: &[&str]| {
            let known: Vec<Issuer> = known.iter().map(|name| issuer(name, HTTP01)).collect();
            free_name("ca", &known, config.path())
        };
        assert_eq!((name(&[]), name(&["ca"])), ("ca".to_owned(), "ca-2".to_owned()));
        File::create(config.path().join("issuer-ca.yaml")).unwrap();
        assert_eq!((name(&[]), name(&["ca-2"])), ("ca-2".to_owned(), "ca-3".to_owned()));
    }

    const HTTP01: &str = "{http01: {ingress: {}}}";

    /// An Issuer with this solver.
    fn issuer(name: &str, solver: &str) -> Issuer {
        let text = format!(
            "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: {name}}}\nspec: {{acme: \
             {{server: 'https://ca.example/dir', privateKeySecretRef: {{name: a}}, solvers: \
             [{solver}]}}}}\n"
        );
        check(&text).unwrap().issuers.remove(0)
    }

    #[test]
    fn a_wildcard_needs_a_dns01_solver_that_selects_it() {
        let dns01 = "{dns01: {cloudflare: {apiTokenSecretRef: {name: cloudflare, key: token}}}";
        let zone = format!("{dns01}, selector: {{dnsZones: [example.org]}}}}");
        for (solver, name, is_validated) in [
            (HTTP01, "*.example.org", false),
            (HTTP01, "www.example.org", true),
            (&format!("{dns01}}}"), "*.example.org", true),
            (&zone, "*.example.org", true),
            (&zone, "*.example.net", false),
        ] {
            let names = [name.to_owned()];
            let found = unvalidated(&issuer("one", solver), &names);
            assert_eq!(found.is_none(), is_validated, "{solver} {name}");
        }
    }

    #[test]
    fn the_only_issuer_is_taken_and_of_several_one_is_named() {
        let named = |known: &[&str], wanted| {
            let known: Vec<Issuer> = known.iter().map(|name| issuer(name, HTTP01)).collect();
            chosen(&known, wanted).map(|(name, _)| name).map_err(|error| error.message)
        };
        assert_eq!(named(&[], None), Ok("letsencrypt".to_owned()));
        assert_eq!(named(&["home"], None), Ok("home".to_owned()));
        assert_eq!(named(&["home"], Some("later")), Ok("later".to_owned()), "not written yet");
        // Names of a private CA are not published by a slip.
        let several = named(&["home", "letsencrypt"], None);
        assert_eq!(several, Err("which Issuer? The manifests have home, letsencrypt".to_owned()));
    }
}
