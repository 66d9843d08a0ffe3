//! `certctl create` without arguments: asks a terminal for what an Issuer and a Certificate need.
//!
//! Contract: at most six questions, and the fields of a DNS provider. Each answer is checked when it is
//! given. Writes nothing; the file by which a webroot is tried is removed at once.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum as _;
use futures_util::future::join_all;
use zeroize::Zeroizing;

use super::ca::{
    LETS_ENCRYPT, Refused, STAGING, directory_of, free_name, issuers, requested, unvalidated,
};
use super::certificate::{
    CreateCertificateArgs, hosts, named_after, no_program, no_webroot, placed, refusal_of,
    same_names,
};
use super::dns01::{Dns01, Kind, key_of};
use super::draft::{By, Draft, NewIssuer};
use super::issuer::{CreateIssuerArgs, text};
use super::place::{File, Placed, beside, check, folder_of, meant_instead, missing};
use crate::cli::ask::{Asker, path_of};
use crate::cli::verbs::check::{Tried, trials};
use crate::cli::verbs::doctor;
use crate::cli::{CliError, Shell, folders, on_one_thread, owner};
use crate::engine::{examples, programs_in};
use crate::host::rights::{closed_to, user_name};
use crate::resource::{Issuer, Settings, host_of, lets_encrypt, readable_terms};
use crate::workspace::check::{ListenError, Port, PortError, WebServer, is_of_this_host};

/// Asks the questions but for the last one.
pub(super) fn ask(into: Option<&Path>, shell: &mut Shell) -> Result<Draft, CliError> {
    if !shell.output.can_ask() {
        let message = "create asks on a terminal only; elsewhere, name what to create";
        return Err(CliError::usage(message).trying_any(&[
            ("certctl create issuer letsencrypt", ""),
            ("certctl create certificate DNSNAME", ""),
        ]));
    }
    let config = folder_of(into, shell)?;
    if into.is_some() && !config.is_dir() {
        return Err(missing(&config));
    }
    let asker = &mut Asker { shell };
    asker.say(
        "certctl asks at most six questions, plus the fields of your DNS provider. Press Enter to accept \
         the default in brackets. Nothing is written before the last answer; press Ctrl-C to \
         quit.",
    );
    if folders::unread(asker.shell).is_some() {
        let host = folders::sudo(" create");
        asker.say(&format!(
            "This sets up certctl for your user only, and no timer renews the certificate. To set it up for this \
             host, run {host}"
        ));
    }
    let (names, port) = names(asker, &config)?;
    let into = into.map(Path::to_owned);
    let args = CreateCertificateArgs { names, into, ..CreateCertificateArgs::default() };
    let placed = placed(&args, asker.shell)?;
    let by = issuer(asker, &args.names, &placed)?;
    let mut draft = Draft { by, args };
    way(asker, &mut draft, &placed, &port)?;
    draft.args.reload = reload(asker, &placed, &port, draft.needs_usual_port())?;
    output_dir(asker, &mut draft, &placed)?;
    Ok(draft)
}

/// The addresses at which a run can answer the challenges, or why it cannot.
type UsualPort = Result<Vec<SocketAddr>, PortError>;

fn usual_port(shell: &Shell) -> UsualPort {
    Port::of(&shell.global.http01_listen, &Settings::default()).addresses()
}

/// The names of the certificate, the first of which its file is named after; and who has port 80.
fn names(asker: &mut Asker<'_>, config: &Path) -> Result<(Vec<String>, UsualPort), CliError> {
    let system = rustix::system::uname();
    let host = system.nodename().to_str().ok().filter(|name| is_public(name));
    asker.ask("DNS names for the certificate, separated by spaces", host, |asker, text| {
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        let names: Vec<String> = words.map(str::to_lowercase).collect();
        if let Some(why) = names.iter().find_map(|name| refusal_of(name)) {
            return Err(why);
        }
        let name = named_after(names.first().map_or("", String::as_str));
        let file = config.join(format!("certificate-{name}.yaml"));
        if file.exists() {
            let file = file.display();
            return Err(format!(
                "{file} already exists. Edit it to change the certificate. To issue it again, run certctl \
                 renew {name}"
            ));
        }
        let shell = &*asker.shell;
        let (lines, port) = asker.during("looking up the names and checking port 80", || {
            (lookups(shell, &names), usual_port(shell))
        });
        for line in lines {
            asker.say(&line);
        }
        if let (false, Err(why)) = (hosts(&names).is_empty(), &port) {
            asker.say(&format!("note: {why}"));
        }
        Ok((names, port))
    })
}

/// Returns whether the name of this host is one that a CA can validate.
fn is_public(name: &str) -> bool {
    let has_domain = name.split_once('.').is_some_and(|(_, domain)| !LOCAL.contains(&domain));
    has_domain && refusal_of(name).is_none()
}

/// Finding for each name: whether it leads here.
fn lookups(shell: &Shell, names: &[String]) -> Vec<String> {
    let found = on_one_thread(async {
        let resolver = shell.settings()?.resolver(BTreeMap::new()).await;
        let one =
            async |name: String| match tokio::time::timeout(PATIENCE, resolver.addresses(&name))
                .await
            {
                Err(_) => format!("note: {name}: no DNS response within 5 s"),
                Ok(Err(error)) => format!("note: {name} does not resolve yet: {error}"),
                Ok(Ok(found)) => leads(&name, &found.iter().collect::<Vec<IpAddr>>()),
            };
        Ok(join_all(hosts(names).iter().map(ToString::to_string).map(one)).await)
    });
    found.unwrap_or_default()
}

/// Where a name leads, and whether that is this host.
fn leads(name: &str, addresses: &[IpAddr]) -> String {
    let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let all = all.join(", ");
    if addresses.iter().all(IpAddr::is_loopback) {
        format!("{name} resolves to {all}: only a CA on this host can reach that")
    } else if addresses.iter().all(|address| is_of_this_host(*address)) {
        format!("{name} resolves to this host ({all})")
    } else {
        format!(
            "note: {name} resolves to {all}, not to this host. Fix the record, unless a NAT or a proxy \
             forwards port 80 to this host"
        )
    }
}

/// The CA: an Issuer that can validate these names, or a new one.
fn issuer(asker: &mut Asker<'_>, names: &[String], placed: &Placed) -> Result<By, CliError> {
    let all = issuers(placed, asker.shell);
    let known: Vec<&Issuer> = all.iter().filter(|one| unvalidated(one, names).is_none()).collect();
    let mut choices: Vec<&str> = known.iter().map(|one| one.metadata.name.as_str()).collect();
    let ours = [(LETS_ENCRYPT, lets_encrypt::PRODUCTION), (STAGING, lets_encrypt::STAGING)];
    choices.extend(ours.map(|(name, _)| name));
    choices.dedup();
    let question = format!(
        "CA: {}, or the URL of an ACME directory (for a private CA, followed by the PEM file of its root)",
        choices.join(", ")
    );
    let of_known = |issuer: &Issuer| By::Known(Box::new(issuer.clone()));
    asker.ask(&question, choices.first().copied(), |asker, text| {
        if let Some(issuer) = known.iter().find(|one| one.metadata.name == text) {
            return Ok(of_known(issuer));
        }
        let ours = ours.iter().find(|(name, _)| *name == text);
        let (url, roots) = text.split_once(' ').unwrap_or((text, ""));
        let server = ours.map_or_else(|| directory_of(url), |(_, url)| Ok((*url).to_owned()))?;
        if let Some(issuer) = known.iter().find(|one| one.acme.server == server) {
            asker.say(&format!("using Issuer {}, which has this CA", issuer.metadata.name));
            return Ok(of_known(issuer));
        }
        let ca_bundle = Some(roots.trim()).filter(|roots| !roots.is_empty()).map(path_of);
        if ours.is_none() {
            let answer = || requested(&server, ca_bundle.as_deref());
            let found = asker.during(&format!("asking {server}"), answer);
            let found = found.map_err(|Refused { why, .. }| why)?;
            if found.external_account_required {
                return Err(format!(
                    "this CA requires an external account binding. Create its Issuer first: certctl create \
                     issuer NAME --server {server} --eab-kid ID"
                ));
            }
            let terms = found.terms_of_service.map(|url| readable_terms(&url));
            let terms = terms.map(|url| format!("; its terms of service: {url}"));
            asker.say(&format!("{server} answers{}", terms.unwrap_or_default()));
        }
        let host = Some(host_of(&server)).filter(|host| host.parse::<IpAddr>().is_err());
        let name = ours.map(|(name, _)| *name).or(host).unwrap_or("ca");
        let name = free_name(name, &all, &placed.config);
        let into = placed.is_named.then(|| placed.config.clone());
        let server = Some(server);
        let args =
            CreateIssuerArgs { name, server, ca_bundle, into, ..CreateIssuerArgs::default() };
        Ok(By::New(Box::new(NewIssuer { args, ..NewIssuer::default() })))
    })
}

/// Answer to the question of validation.
enum Way {
    /// certctl answers on port 80.
    Http,
    Webroot(PathBuf),
    Dns(Dns01),
}

/// Asks for the way to validate the names.
fn way(
    asker: &mut Asker<'_>,
    draft: &mut Draft,
    placed: &Placed,
    port: &UsualPort,
) -> Result<(), CliError> {
    if !draft.needs_usual_port() {
        return Ok(());
    }
    let (is_new, settings) = match &draft.by {
        By::Known(issuer) => (false, issuer.settings.clone()),
        By::New(_) => (true, Settings::default()),
    };
    let names = &draft.args.names;
    let is_wildcard = is_new && names.iter().any(|name| name.starts_with("*."));
    let mut ways = Vec::new();
    if !is_wildcard {
        ways.push("http (certctl answers on port 80)".to_owned());
        ways.push("the folder that your web server serves as /".to_owned());
    }
    if is_new {
        let providers = Dns01::own().join(", ");
        ways.push(format!("your DNS provider ({providers}; more: certctl version -v)"));
    }
    let question = format!("How to validate the names: {}", ways.join(", or "));
    let default = match port {
        _ if is_wildcard => None,
        Ok(_) => Some(HTTP),
        Err(_) => {
            let is_usual = settings.check_port(asker.shell.global.http01_check_port) == 80;
            WEBROOTS.into_iter().find(|folder| is_usual && Path::new(folder).is_dir())
        }
    };
    let way = asker.ask(&question, default, |asker, text| match text {
        HTTP if !is_wildcard => usual_port(asker.shell)
            .map(|_| Way::Http)
            .map_err(|why| format!("{why}. Enter the folder that it serves, or stop it")),
        text if !is_wildcard && text.contains('/') => webroot(asker, text, names, &settings),
        text if is_new => Dns01::from_str(text, false)
            .map(Way::Dns)
            .map_err(|_| "this is not one of the choices".to_owned()),
        _ => Err("for DNS-01, create an Issuer first: certctl create issuer NAME --dns01 PROVIDER"
            .to_owned()),
    })?;
    match (way, &mut draft.by) {
        (Way::Webroot(folder), _) => draft.args.webroot = Some(folder),
        (Way::Dns(provider), By::New(new)) => {
            new.args.dns01 = Some(provider);
            fields(asker, provider, new, placed)?;
        }
        (Way::Http | Way::Dns(_), _) => {}
    }
    Ok(())
}

/// A folder that is served at these names, as far as that can be tried.
fn webroot(
    asker: &mut Asker<'_>,
    text: &str,
    names: &[String],
    of_issuer: &Settings,
) -> Result<Way, String> {
    let folder = path_of(text);
    if let Some(why) = no_webroot(&folder) {
        return Err(format!("{text}: {why}"));
    }
    if !folder.is_absolute() || !folder.is_dir() {
        return Err(format!("{text}: enter the absolute path of an existing folder"));
    }
    let shown = folder.to_string_lossy().into_owned();
    let settings = Settings { http01_webroot: Some(shown), ..of_issuer.clone() };
    let folders = [".well-known/acme-challenge", ".well-known"].map(|below| folder.join(below));
    let new: Vec<_> = folders.iter().filter(|folder| !folder.exists()).collect();
    let shell = &*asker.shell;
    let tried = || trials(shell, &settings, &hosts(names));
    let tried = asker.during("checking whether that folder is served", tried);
    for folder in new {
        // One that another program uses meanwhile is not empty.
        drop(std::fs::remove_dir(folder));
    }
    let port = settings.check_port(shell.global.http01_check_port);
    let is_silent = WebServer::at(port) == WebServer::Absent;
    for found in tried.into_iter().flatten() {
        asker.say(&match found.ending {
            Tried::UnservedHere if !is_silent => return Err(found.to_string()),
            Tried::Served => format!("{} serves that folder", found.name),
            Tried::UnservedHere | Tried::Unserved | Tried::Unresolved => format!("note: {found}"),
        });
    }
    Ok(Way::Webroot(folder))
}

/// Asks for the fields of a DNS provider, until they make an Issuer.
fn fields(
    asker: &mut Asker<'_>,
    provider: Dns01,
    new: &mut NewIssuer,
    placed: &Placed,
) -> Result<(), CliError> {
    let folder = placed.config.join("secrets").join(placed.namespace()).join(provider.name());
    loop {
        new.secrets.clear();
        for field in provider.fields() {
            let question = field.question();
            let path = folder.join(key_of(field.name));
            let secret = match field.kind {
                Kind::Text | Kind::Word => {
                    let default = field.default();
                    let value = asker.ask(&question, default, |_, text| Ok(text.to_owned()))?;
                    new.values.insert(field.name, value);
                    continue;
                }
                Kind::Secret | Kind::File if path.exists() => {
                    asker.say(&format!("{question}: already in {}", path.display()));
                    continue;
                }
                Kind::Secret => asker.secret(&question)?,
                Kind::File => asker.ask(&question, None, |_, text| {
                    let read = std::fs::read_to_string(path_of(text)).map(Zeroizing::new);
                    read.map_err(|error| format!("{text}: {error}"))
                })?,
            };
            new.secrets.push((path, secret));
        }
        match text(&new.args, placed, &new.values).and_then(|text| check(&text)) {
            Ok(_) => return Ok(()),
            Err(error) => asker.say(&error.message),
        }
    }
}

/// The program that makes a server read the new files.
fn reload(
    asker: &mut Asker<'_>,
    placed: &Placed,
    port: &UsualPort,
    is_over_http: bool,
) -> Result<Option<String>, CliError> {
    let hooks = placed.config.join("hooks.d");
    let mut choices = [programs_in(&hooks), examples()].concat();
    choices.sort();
    choices.dedup();
    // They reload nothing.
    choices.retain(|name| !["on-failure", "service"].contains(&&**name));
    let holder = match port {
        Err(PortError::Listen(ListenError::InUse { holder: Some(holder), .. })) => holder.name(),
        Ok(_) | Err(_) => "",
    };
    // The program of apache is apache2 on some systems.
    let default = choices.iter().find(|name| holder.starts_with(name.as_str())).cloned();
    choices.push(NONE.to_owned());
    let question = format!(
        "Server to reload after each renewal (a program in hooks.d, see certctl help hooks): {}",
        choices.join(", ")
    );
    asker.ask(&question, Some(default.as_deref().unwrap_or(NONE)), |asker, text| {
        if text == NONE {
            return Ok(None);
        }
        if let Some(why) = no_program(text) {
            return Err(why);
        }
        if !choices.iter().any(|name| name == text) && !hooks.join(text).exists() {
            return Err(format!("{}{text} does not exist. Write it first, or enter none", placed.hooks()));
        }
        if is_over_http && doctor::is_web_server(text) {
            asker.say(&format!(
                "note: certctl needs port 80 to answer the CA. If {text} uses that port, start again and enter \
                 the folder that {text} serves (certctl help port-80)"
            ));
        }
        Ok(Some(text.to_owned()))
    })
}

/// The folder of copies for a server; none where it reads the files of the state. The manifests are whole
/// then, and are checked beside the others.
fn output_dir(asker: &mut Asker<'_>, draft: &mut Draft, placed: &Placed) -> Result<(), CliError> {
    let state = placed.state(asker.shell)?;
    let own = placed.folder_of_secret(&state, &format!("{}-tls", placed.name));
    let user = owner::of_runs(asker.shell);
    let question = "Folder from which the server reads tls.crt and tls.key";
    asker.ask(question, Some(&own), |asker, text| {
        let path = path_of(text);
        let closed = user.and_then(|user| Some((user_name(user), closed_to(&path, user)?)));
        if let Some((user, closed)) = closed.filter(|_| text != own) {
            let closed = closed.display();
            return Err(format!("user {user}, which writes the files, cannot enter {closed}"));
        }
        if let Some(meant) = meant_instead(&path).filter(|_| !path.exists() && text != own) {
            return Err(format!("{text}: no such folder; did you mean {}?", meant.display()));
        }
        draft.args.output_dir = Some(path).filter(|_| text != own);
        let (of_issuer, certificate) = draft.files(asker.shell).map_err(|error| error.message)?;
        let files: Vec<&File> = of_issuer.iter().chain([&certificate]).collect();
        let loaded = beside(&files, asker.shell).map_err(|error| error.message)?;
        if let Some(note) = same_names(&certificate.loaded, &loaded) {
            asker.say(&format!("note: {note}"));
        }
        Ok(())
    })
}

/// The answer that leaves the challenges to certctl.
const HTTP: &str = "http";
/// The answer that leaves something out.
const NONE: &str = "none";
/// Where the packages of web servers have their files.
const WEBROOTS: [&str; 3] = ["/var/www/html", "/usr/share/nginx/html", "/srv/http"];
/// Domains of names that no CA validates.
const LOCAL: [&str; 5] = ["local", "localdomain", "lan", "internal", "home.arpa"];
/// Time that a lookup may take.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_to_this_host_alone_is_for_a_ca_on_it() {
        let at = |addresses: &[&str]| {
            let addresses: Vec<IpAddr> = addresses.iter().map(|one| one.parse().unwrap()).collect();
            leads("a.test", &addresses)
        };
        let local = "a.test resolves to 127.0.0.1, ::1: only a CA on this host can reach that";
        assert_eq!(at(&["127.0.0.1", "::1"]), local);
        assert!(at(&["192.0.2.1"]).contains("not to this host"));
    }

    #[test]
    fn the_name_of_this_host_is_a_default_where_a_ca_can_validate_it() {
        for (name, is_default) in [
            ("www.example.com", true),
            ("laptop", false),
            ("laptop.local", false),
            ("localhost.localdomain", false),
            ("build_1.example.com", false),
        ] {
            assert_eq!(is_public(name), is_default, "{name}");
        }
    }
}
