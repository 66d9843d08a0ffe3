//! `certctl create` without arguments: asks a terminal for what an Issuer and a Certificate need.
//!
//! Contract: the manifests are those of `create issuer` and `create certificate`. Each question shows
//! its default and checks its answer; what the network says of a name is a hint and stops nothing.
//! Writes after a yes only, and never over a file; the file by which a webroot is tried is removed at once.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum as _;
use nix::unistd::Group;

use super::ca::{By, issuer_of};
use super::certificate::{CreateCertificateArgs, RefusedProgram};
use super::dns01::Dns01;
use super::finish::Draft;
use super::issuer::server;
use super::known::{Known, manifests_in, owner_of_output};
use super::print::{is_elsewhere, meant_instead, missing};
use super::question::{
    Answers, Dialogue, Doubted, NONE, OTHER, Question, Stop, answered, is_answer, optional,
    optional_or, path_of, say,
};
use super::server::host_of_url;
use super::{certificate, webroot};
use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::folders;
use crate::cli::owner;
use crate::cli::render::output::escape;
use crate::cli::run::on_one_thread;
use crate::cli::servers::Server;
use crate::cli::shell::Shell;
use crate::cli::words::hint::short;
use crate::engine::{examples, install_example, programs_in, similar_hook};
use crate::manifest::Loaded;
use crate::resource::{DnsName, NamespacedName, Settings};
use crate::trust::{closed_to, user_name};
use crate::workspace::check::{Port, PortError, is_of_this_host};

/// Asks, shows the manifests, and writes them after a yes.
pub(super) fn ask(into: Option<&Path>, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    if !shell.output.can_ask() {
        let message = "create asks on a terminal only; elsewhere, name what to create";
        return Err(CliError::new(ExitCode::Usage, message).trying_any(&[
            ("certctl create issuer letsencrypt-staging --email ADDRESS", ""),
            ("certctl create certificate DNSNAME", ""),
        ]));
    }
    let config = match into {
        Some(folder) if !folder.is_dir() => return Err(missing(folder)),
        Some(folder) => folder.to_owned(),
        None => shell.environment.config_dir(shell.global.config_dir.as_deref())?.path,
    };
    let text = "This writes the YAML files of a certificate, prepares this host and issues it, each after \
                a yes. Enter accepts the default in brackets; ? explains a question; back returns to the \
                one before; Ctrl-C quits.";
    say(shell, text);
    if folders::unread(shell).is_some() {
        let host = folders::sudo(" create");
        say(
            shell,
            &format!(
                "note: it is for this user alone, and no timer renews it; for this host: {host}"
            ),
        );
    }
    let mut answers = Answers::default();
    loop {
        // Who goes back may have made another Issuer meanwhile.
        let manifests = manifests_in(&config);
        let known = Known::of_manifests(&manifests, namespace_of(shell));
        let mut dialogue = Dialogue::again(shell, answers);
        match ask_all(&mut dialogue, &config, &manifests, &known) {
            Ok(ended) => return Ok(ended),
            Err(Stop::Back) => answers = dialogue.answers(),
            Err(Stop::Failed(error)) => return Err(error),
        }
    }
}

/// All questions, and what comes of the answers.
fn ask_all(
    dialogue: &mut Dialogue<'_>,
    config: &Path,
    manifests: &Loaded,
    known: &Known,
) -> Result<Vec<Ending>, Stop> {
    let by = issuer_of(dialogue, config, known)?;
    let names = names(dialogue, config, &by, known)?;
    let same = certificate::of_same_names(manifests, &names, None);
    if let Some(note) = same.or_else(|| certificate::of_shared_names(manifests, &names)) {
        dialogue.say(&format!("note: {note}"));
    }
    hints(dialogue, &names, host_of_ca(&by, known).as_deref());
    let (by, webroot) = proof(dialogue, by, known, &names)?;
    let reload = reload(dialogue, config)?;
    // Those for which there is an example read the files of the state, or get them by their program.
    let is_known = reload.as_deref().and_then(Server::of).is_some();
    let output_dir =
        if is_known { None } else { output_dir(dialogue, manifests, webroot.as_deref())? };
    let output_group = if output_dir.is_some() { output_group(dialogue)? } else { None };
    let mut args = CreateCertificateArgs {
        names,
        name: None,
        issuer: Some(by.name().to_owned()),
        webroot,
        behind_proxy: None,
        reload,
        output_dir,
        output_owner: None,
        output_group,
        output_mode: None,
        into: Some(config.to_owned()),
    };
    args.webroot = match args.webroot {
        None => later_webroot(dialogue, &Draft { by: &by, known, args: &args })?,
        webroot => webroot,
    };
    Draft { by: &by, known, args: &args }.finish(dialogue)
}

/// The folder of a web server that is to be reloaded and does not have the port yet: started, it takes the
/// port, and certctl could not answer itself.
fn later_webroot(dialogue: &mut Dialogue<'_>, draft: &Draft<'_>) -> Result<Option<PathBuf>, Stop> {
    let Draft { by, known, args } = draft;
    let By::New(_) = by else {
        // The folder was asked for, whatever server it is of.
        return Ok(None);
    };
    let issuer = known.chosen(Some(by.name()))?;
    let server = args.reload.as_deref().and_then(Server::of).filter(|one| one.serves_folders());
    let Some(server) = server.filter(|_| draft.needs_usual_port(&issuer)) else { return Ok(None) };
    let question = format!(
        "The folder that {} serves over HTTP, or none (certctl listens on port 80, which no web server \
         may have then)",
        server.name
    );
    let of_issuer = issuer.settings;
    served(dialogue, &args.names, &of_issuer, |dialogue| {
        answered(dialogue, &question, ABOUT_WEBROOT, Some(NONE), |text| match text {
            NONE => Ok(None),
            text => folder(text).map(Some),
        })
    })
}

/// The namespace of what is made.
fn namespace_of(shell: &Shell) -> &str {
    shell.global.namespace().unwrap_or("default")
}

/// The names of the certificate, the first of which its file is named after.
fn names(
    dialogue: &mut Dialogue<'_>,
    config: &Path,
    by: &By,
    known: &Known,
) -> Result<Vec<String>, Stop> {
    let question = "DNS names of the certificate, with spaces between them";
    let elsewhere = Some(config).filter(|config| is_elsewhere(config, dialogue.shell));
    let renew = elsewhere.map_or_else(
        || "certctl renew {}".to_owned(),
        |config| folders::elsewhere(dialogue.shell, " renew {}", config),
    );
    let unlikely = Doubted::default();
    answered(dialogue, question, ABOUT_NAMES, None, |text| {
        let names: Vec<String> = text.split([' ', ',']).map(str::to_lowercase).collect();
        let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let Some(first) = names.first() else {
            return Err("enter at least one DNS name".to_owned());
        };
        let alone =
            names.iter().find(|name| !name.contains('.') && name.parse::<IpAddr>().is_err());
        if let Some(name) = alone
            && unlikely.is_new(text)
            && refusal_of(name, by).is_none()
        {
            return Err(format!(
                "{}: has no dot; if that is the whole name, enter the same again",
                escape(name)
            ));
        }
        for name in &names {
            if let Some(why) = refusal_of(name, by) {
                // The only one is what was typed, which is shown before.
                let of_several = (names.len() > 1).then(|| format!("{}: ", escape(name)));
                return Err(of_several.unwrap_or_default() + &why);
            }
        }
        if let By::Known(issuer) = by
            && let Some(name) = known.unvalidated(issuer, &names)
        {
            return Err(format!(
                "{name} needs a dns01 solver, and Issuer {issuer} has none for it: choose \
                 another name, or certctl create issuer ISSUER-NAME … --dns01 PROVIDER"
            ));
        }
        let name = certificate::named_after(first);
        let file = format!("certificate-{name}.yaml");
        if config.join(&file).exists() {
            let renew = renew.replace("{}", &name);
            return Err(format!(
                "{file} already exists; to issue it again: {renew}; to change it, edit that file, which \
                 the next run applies; a second certificate needs another --name (certctl create \
                 certificate --help)"
            ));
        }
        Ok(names)
    })
}

/// Why a word is no name of the certificate: it is no DNS name, or a yes to a question that was not
/// asked.
fn refusal_of(name: &str, by: &By) -> Option<String> {
    if name.parse::<IpAddr>().is_ok() {
        return None;
    }
    if let Some(host) = host_of_url(name) {
        return Some(format!("a URL; enter the name only: {}", escape(&host)));
    }
    if let Err(error) = name.parse::<DnsName>() {
        return Some(error.to_string());
    }
    let is_answer = is_answer(name) || [HTTP, "webroot", "dns", NONE].contains(&name);
    let is_public = matches!(by, By::New(args) if args.server.is_none());
    let is_short = !name.contains('.');
    (is_short && (is_answer || is_public))
        .then(|| "enter a full DNS name, such as www.example.com".to_owned())
}

/// How the names are validated: the Issuer with its DNS provider, and the folder of the web server that
/// answers over HTTP; without one, certctl does.
fn proof(
    dialogue: &mut Dialogue<'_>,
    by: By,
    known: &Known,
    names: &[String],
) -> Result<(By, Option<PathBuf>), Stop> {
    let By::New(mut args) = by else {
        let way = way_of_known(dialogue, by.name(), known, names)?;
        return Ok((by, way));
    };
    let is_wildcard = names.iter().any(|name| name.starts_with("*."));
    let port = if is_wildcard { Ok(Vec::new()) } else { usual_port(dialogue.shell) };
    if let Err(why) = &port {
        dialogue.say(&note_of_taken(why));
    }
    let ways = if is_wildcard {
        "a wildcard needs DNS-01: your DNS provider"
    } else {
        "http (certctl listens on port 80), webroot (your web server serves a folder), or your DNS \
         provider"
    };
    let question =
        format!("How to validate the names: {ways}, such as cloudflare, rfc2136 or route53");
    let providers: Vec<&str> = Dns01::OWN.iter().map(|provider| provider.name).collect();
    let providers = providers.join(", ");
    let about = format!("{ABOUT_WAYS} Providers: {providers}, and more: certctl version -v.");
    let default = match &port {
        _ if is_wildcard => None,
        Ok(_) => Some(HTTP),
        Err(_) => Some("webroot"),
    };
    let doubted = Doubted::default();
    let (answer, way) = loop {
        let answer = answered(dialogue, &question, &about, default, |text| {
            let is_http = [HTTP, "webroot"].contains(&text);
            if is_http && is_wildcard {
                return Err("HTTP-01 cannot validate a wildcard".to_owned());
            }
            if text == HTTP
                && let Some(why) = doubts(&doubted, text, port.as_ref().err())
            {
                return Err(why);
            }
            let is_way = is_http || Dns01::from_str(text, false).is_ok();
            let words = if is_wildcard { "the name of your DNS provider" } else { ways };
            is_way.then(|| text.to_owned()).ok_or_else(|| format!("enter {words}"))
        })?;
        if answer != "webroot" {
            break (answer, None);
        }
        if let Some(webroot) = webroot(dialogue, names)? {
            break (answer, Some(webroot));
        }
    };
    args.dns01 = Dns01::from_str(&answer, false).ok();
    Ok((By::New(args), way))
}

/// The way of a Certificate by an Issuer that is there, where that leaves it to the Certificate.
fn way_of_known(
    dialogue: &mut Dialogue<'_>,
    issuer: &str,
    known: &Known,
    names: &[String],
) -> Result<Option<PathBuf>, Stop> {
    // Where the Issuer says how, no Certificate has to.
    let settings = known.chosen(Some(issuer))?.settings;
    let has_http01 = known.has_http01(issuer) && settings.uses_usual_port();
    // A wildcard is validated by a TXT record.
    if !has_http01 || names.iter().all(|name| name.starts_with("*.")) {
        return Ok(None);
    }
    let taken = usual_port(dialogue.shell).err();
    if let Some(why) = &taken {
        dialogue.say(&note_of_taken(why));
    }
    let (question, default) = if taken.is_some() {
        (format!("{QUESTION_OF_WEBROOT}, or the word other (by DNS)"), None)
    } else {
        let question = format!(
            "{QUESTION_OF_WEBROOT}, or the word http (certctl listens on port 80) or other (by DNS)"
        );
        (question, Some(HTTP))
    };
    let doubted = Doubted::default();
    let folder_or_none = |text: &str| match text {
        HTTP | NONE => doubts(&doubted, text, taken.as_ref()).map_or(Ok(None), Err),
        OTHER | "dns" => Err(by_another(issuer)),
        text => folder(text).map(Some),
    };
    served(dialogue, names, &settings, |dialogue| {
        answered(dialogue, &question, ABOUT_WEBROOT, default, folder_or_none)
    })
}

/// That an Issuer, which is there, leaves no other way than HTTP.
fn by_another(issuer: &str) -> String {
    format!(
        "Issuer {issuer} validates names over HTTP. For DNS, make another Issuer in another terminal, \
         certctl create issuer NAME --dns01 PROVIDER (certctl create issuer --help), and enter back until \
         you can choose it"
    )
}

/// That certctl does not get the port for which this answer leaves the challenges to it, unless that was
/// given before.
fn doubts(doubted: &Doubted, answer: &str, taken: Option<&PortError>) -> Option<String> {
    let why = taken.filter(|_| doubted.is_new(answer))?;
    Some(format!(
        "certctl would answer the challenges itself, and cannot now: {why}; enter {answer} again to \
         use it nevertheless"
    ))
}

/// Why certctl does not get the usual port now, and that a server may keep it.
fn note_of_taken(why: &PortError) -> String {
    format!("note: {why}; a web server may keep the port, and a proxy too: certctl help port-80")
}

/// The addresses at which a run can answer the challenges, or why it cannot.
fn usual_port(shell: &Shell) -> Result<Vec<SocketAddr>, PortError> {
    Port::of(&shell.global.http01_listen, &Settings::default()).addresses()
}

/// The webroot; `None` of a person who wants to choose another way.
fn webroot(dialogue: &mut Dialogue<'_>, names: &[String]) -> Result<Option<PathBuf>, Stop> {
    let right = if dialogue.shell.environment.is_root() {
        ""
    } else {
        ", to which you need the right to write"
    };
    let text =
        format!("{QUESTION_OF_WEBROOT}{right}, or the word other (another way, such as DNS)");
    let question = Question::new(&text, ABOUT_WEBROOT);
    served(dialogue, names, &Settings::default(), |dialogue| {
        question.answered(dialogue, folder_or_other)
    })
}

/// Asks for a webroot until one is served, as far as that can be tried, or is typed again.
fn served(
    dialogue: &mut Dialogue<'_>,
    names: &[String],
    of_issuer: &Settings,
    ask: impl Fn(&mut Dialogue<'_>) -> Result<Option<PathBuf>, Stop>,
) -> Result<Option<PathBuf>, Stop> {
    let mut tried = PathBuf::new();
    loop {
        let Some(folder) = ask(dialogue)? else { return Ok(None) };
        let trial = || webroot::verdict(&folder, names, of_issuer, dialogue.shell);
        match (!dialogue.is_sure).then(trial).flatten() {
            Some(Err(why)) if folder != tried => {
                dialogue.retract(1);
                dialogue.say(&why);
                tried = folder;
            }
            found => {
                let note = || webroot::note_of_server(of_issuer, dialogue.shell);
                if let Some(note) = found.and_then(Result::ok).or_else(note) {
                    dialogue.say(&note);
                }
                dialogue.say(HAS_TO_STAY);
                return Ok(Some(folder));
            }
        }
    }
}

/// A folder; `None` of the word that goes back.
fn folder_or_other(text: &str) -> Result<Option<PathBuf>, String> {
    if text == OTHER {
        return Ok(None);
    }
    folder(text).map(Some).map_err(|why| format!("{why}, or {OTHER} to choose another way"))
}

fn output_dir(
    dialogue: &mut Dialogue<'_>,
    manifests: &Loaded,
    webroot: Option<&Path>,
) -> Result<Option<PathBuf>, Stop> {
    let question = "Folder for copies of tls.crt and tls.key, for your server";
    let unlikely = Doubted::default();
    let owner = owner::of_runs(dialogue.shell);
    optional(dialogue, question, ABOUT_OUTPUT, |text| {
        let path = path_of(text);
        let is_folder = path.is_absolute() && path.parent().is_some();
        if let Some(file) =
            path.ancestors().find(|path| path.exists()).filter(|path| path.is_file())
        {
            return Err(format!("{} is a file; enter a folder", escape(&file.to_string_lossy())));
        }
        // One that is not there yet is a step of what comes next.
        if is_folder
            && let Some(meant) = meant_instead(&path).filter(|_| !path.exists())
            && unlikely.is_new(text)
        {
            let meant = meant.to_string_lossy();
            return Err(format!(
                "no such folder, did you mean {}? To have this one made, enter it again",
                escape(&meant)
            ));
        }
        if let Some(owner) = owner_of_output(manifests, &path, &NamespacedName::new("", "")) {
            let name = short(&owner.metadata.key());
            return Err(format!("Certificate {name} has this folder; enter another one"));
        }
        if let Some(why) = certificate::published(manifests, webroot, &path) {
            return Err(why);
        }
        if let Some((owner, closed)) =
            owner.and_then(|owner| Some((owner, closed_to(&path, owner)?)))
        {
            return Err(format!(
                "user {}, who writes there, may not enter {}; enter another one",
                user_name(owner),
                escape(&closed.to_string_lossy())
            ));
        }
        is_folder.then_some(path).ok_or_else(|| "enter an absolute path".to_owned())
    })
}

/// The group that reads the key in the folder of the server.
fn output_group(dialogue: &mut Dialogue<'_>) -> Result<Option<String>, Stop> {
    let question = "Group that reads tls.key there, such as ssl-cert";
    optional(dialogue, question, ABOUT_GROUP, |text| match Group::from_name(text) {
        Ok(Some(_)) => Ok(text.to_owned()),
        Ok(None) | Err(_) => Err("no such group on this host (getent group lists them)".to_owned()),
    })
}

/// The program that makes a server read the new files.
fn reload(dialogue: &mut Dialogue<'_>, config: &Path) -> Result<Option<String>, Stop> {
    let hooks = config.join("hooks.d");
    let mut known = programs_in(&hooks);
    // It reloads nothing.
    known.retain(|name| name != "on-failure");
    let examples = examples();
    let all = listed(&known, &examples, Server::is_installed);
    let (question, about) = match all.join(", ") {
        names if names.is_empty() => {
            let question = "Program in hooks.d that reloads your server".to_owned();
            (question, format!("{ABOUT_RELOAD}. To write it: certctl help hooks."))
        }
        names => {
            let question = format!(
                "Server that will use the certificate, and is reloaded with each renewal: {names}, a program \
                 of your own"
            );
            (question, format!("{ABOUT_RELOAD}{ABOUT_LISTED}"))
        }
    };
    let mut unknown = None;
    let is_there = |name: &String| known.contains(name) || examples.contains(name);
    let is_absent = |name: &String| {
        !known.contains(name) && Server::of(name).is_some_and(|server| !server.is_installed())
    };
    let mut default = NONE.to_owned();
    let answer = loop {
        let answer = optional_or(&default, dialogue, &question, &about, |text| {
            let why = || "enter the name of a program, or none".to_owned();
            (!is_answer(text)).then(|| text.to_owned()).ok_or_else(why)
        })?;
        let is_name = |name: &&String| RefusedProgram::of(name, config).is_none();
        let is_sure = dialogue.is_sure;
        let is_doubted = |name: &&String| !is_sure && (!is_there(name) || is_absent(name));
        if let Some(name) = answer.as_ref().filter(is_name).filter(is_doubted)
            && unknown.as_ref() != Some(name)
        {
            let similar = Some(name).filter(|name| !is_there(name));
            let similar = similar.and_then(|name| similar_hook(&hooks.join(name)));
            let why = match &similar {
                Some(other) => format!("did you mean {other}?"),
                None if is_there(name) => "this host does not have that server.".to_owned(),
                None => "there is no such program yet.".to_owned(),
            };
            default = similar.unwrap_or(default);
            let name = escape(name).into_owned();
            dialogue.retract(1);
            dialogue.say(&format!("{name}: {why} To use {name}, enter it again"));
            unknown = answer;
            continue;
        }
        let refused = answer.as_deref().and_then(|text| RefusedProgram::of(text, config));
        let Some(RefusedProgram { why, line, name }) = refused else { break answer };
        dialogue.retract(1);
        dialogue
            .say(&format!("{why}. To make one, type this in another terminal, then enter {name}:"));
        dialogue.show(&format!("  {}", escape(&line)));
    };
    if let Some(name) = answer.as_ref().filter(|name| !known.contains(name)) {
        let path = hooks.join(name);
        let (note, line) = match install_example(&path) {
            // That is offered when the manifest is written.
            Some(_) if dialogue.shell.environment.is_root() => return Ok(answer),
            Some(line) => ("note: install the package's example before the first run:", line),
            None => (
                "note: create this program before the first run (certctl help hooks):",
                path.to_string_lossy().into_owned(),
            ),
        };
        dialogue.say(note);
        dialogue.show(&format!("  {}", escape(&line)));
    }
    Ok(answer)
}

/// The programs in `hooks.d`, and those examples of the package that reload a server, first the servers
/// that are installed.
fn listed(
    known: &[String],
    examples: &[String],
    is_installed: impl Fn(&Server) -> bool,
) -> Vec<String> {
    let is_new = |name: &&String| !known.contains(*name);
    let servers = examples.iter().filter(is_new).filter_map(|name| Server::of(name));
    let (installed, others): (Vec<&Server>, Vec<&Server>) =
        servers.partition(|one| is_installed(one));
    let installed = installed.into_iter().map(|one| format!("{} (installed)", one.name));
    let others = others.into_iter().map(|one| one.name.to_owned());
    known.iter().cloned().chain(installed).chain(others).collect()
}

/// The host of the CA's directory, where that is known.
fn host_of_ca(by: &By, known: &Known) -> Option<String> {
    match by {
        By::New(args) => host_of_url(server(args).ok()?),
        By::Known(name) => known.chosen(Some(name)).ok()?.host(),
    }
}

/// Tells of each name whether it leads here. A CA on this host connects to its own addresses.
fn hints(dialogue: &mut Dialogue<'_>, names: &[String], ca: Option<&str>) {
    if dialogue.is_answered() {
        return;
    }
    let shell = &*dialogue.shell;
    let lines = on_one_thread(async {
        let resolver = shell.settings()?.resolver(BTreeMap::new()).await;
        let addresses = async |name: &str| {
            if let Ok(address) = name.parse::<IpAddr>() {
                return Ok(Ok(vec![address]));
            }
            let found = tokio::time::timeout(PATIENCE, resolver.addresses(name)).await;
            found.map(|found| found.map(|found| found.iter().collect::<Vec<_>>()))
        };
        let has_ca = match ca {
            Some(host) => match addresses(host).await {
                Ok(Ok(found)) => Some(found.into_iter().all(is_of_this_host)),
                Ok(Err(_)) | Err(_) => None,
            },
            None => None,
        };
        let mut lines = Vec::new();
        let hosts = names.iter().filter(|name| name.parse::<IpAddr>().is_err());
        for name in hosts.filter(|name| !name.starts_with("*.")).take(MOST_LOOKED_UP) {
            lines.push(match addresses(name).await {
                Err(_) => format!("note: {name}: no DNS response within 5 s"),
                Ok(Err(error)) => format!("note: {name} does not resolve yet: {error}"),
                Ok(Ok(found)) => leads(name, &found, has_ca),
            });
        }
        Ok(lines)
    });
    for line in lines.unwrap_or_default() {
        dialogue.say(&line);
    }
}

/// Where a name leads, and whether that is this host, as far as the CA is concerned; `has_ca` says whether
/// this host has the CA, where that is known.
fn leads(name: &str, addresses: &[IpAddr], has_ca: Option<bool>) -> String {
    let all: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let all = all.join(", ");
    let is_loopback = addresses.iter().all(IpAddr::is_loopback);
    if is_loopback && has_ca != Some(true) {
        let why = match has_ca {
            Some(_) => "where the CA, on another host, cannot reach it: it needs another address",
            None => "correct if the CA is on this host, too; a CA elsewhere needs another address",
        };
        format!("note: {name} resolves to {all}, {why}")
    } else if addresses.iter().all(|address| is_of_this_host(*address)) {
        let at_ca = if is_loopback { ", correct: the CA is here" } else { "" };
        format!("{name} resolves to this host ({all}){at_ca}")
    } else {
        format!(
            "note: {name} resolves to {all}, which is no address of this host: correct if a NAT \
             or a proxy forwards port 80; otherwise the CA connects to another host"
        )
    }
}

fn folder(text: &str) -> Result<PathBuf, String> {
    let path = path_of(text);
    let is_there = path.is_absolute() && path.is_dir();
    let meant = || meant_instead(&path).filter(|_| path.is_absolute());
    let refused = || match meant() {
        Some(meant) => {
            format!("no such folder, did you mean {}?", escape(&meant.to_string_lossy()))
        }
        None if path.is_absolute() => "no such folder".to_owned(),
        None => "enter an absolute path".to_owned(),
    };
    if is_there { Ok(path) } else { Err(refused()) }
}

/// The answer that leaves the challenges to certctl.
const HTTP: &str = "http";
const QUESTION_OF_WEBROOT: &str =
    "To validate the names: the folder that your web server serves over HTTP";
// What the questions are about.
const ABOUT_NAMES: &str = "The names that clients connect to. All are in one certificate, and all are \
                           validated; the first names its file. *.example.com stands for every name \
                           one level below example.com.";
const ABOUT_WAYS: &str = "The CA checks that the names are yours. http and webroot answer a request on \
                          port 80 of each name; a DNS provider answers by a TXT record, which also \
                          validates wildcards and hosts that the internet does not reach.";
const ABOUT_WEBROOT: &str = "A web server that has port 80 already serves the files of this folder, \
                             its document root. certctl puts the challenge's file below it, in \
                             .well-known/acme-challenge, and removes it afterwards. A test file \
                             shows at once whether the folder is served. Where a deployment replaces \
                             that folder, enter one that stays: certctl help port-80.";
const HAS_TO_STAY: &str = "note: each renewal needs this folder, too: what deploys the site may add \
                           files to it, but not remove it. Another folder can be set at any time, \
                           without a new certificate: certctl help port-80";
const ABOUT_OUTPUT: &str = "certctl keeps the certificate and its key in its state, and writes a copy \
                            into this folder for your server, with each renewal. The folder should \
                            be for these files alone. A server that opens them as root, as nginx \
                            does, can read those in the state, too.";
const ABOUT_GROUP: &str = "Most servers open the files as root, and need no group. One that runs as \
                           another user reads tls.key as a member of this group; its copy gets the \
                           mode 0640.";
const ABOUT_RELOAD: &str = "A server reads a new certificate when it is reloaded. After each renewal \
                            certctl runs the program of this name in the folder hooks.d, which does \
                            that";
const ABOUT_LISTED: &str = "; for the servers named here it comes with certctl, and a mark says which of \
                            them this host has. For another one, write it: certctl help hooks.";
/// How many names are looked up for a hint.
const MOST_LOOKED_UP: usize = 5;
/// How long a hint may take.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::verbs::create::issuer::CreateIssuerArgs;

    fn new_issuer(server: Option<&str>) -> By {
        By::New(Box::new(CreateIssuerArgs {
            name: "one".to_owned(),
            email: None,
            server: server.map(str::to_owned),
            ca_bundle: None,
            staging: false,
            profile: None,
            eab_kid: None,
            dns01: None,
            into: None,
        }))
    }

    #[test]
    fn programs_come_before_servers_that_are_installed_and_those_before_others() {
        let known = ["own".to_owned(), "apache".to_owned()];
        let examples = ["apache", "dovecot", "nginx", "on-failure"].map(str::to_owned);
        let all = listed(&known, &examples, |server| server.name == "nginx").join(", ");
        assert_eq!(all, "own, apache, nginx (installed), dovecot");
    }

    #[test]
    fn a_name_that_leads_to_this_host_alone_suits_no_other_ca() {
        let at = ["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        let of = |has_ca| leads("www.example.com", &at, has_ca);
        let here =
            "www.example.com resolves to this host (127.0.0.1, ::1), correct: the CA is here";
        assert_eq!(of(Some(true)), here);
        let other = "note: www.example.com resolves to 127.0.0.1, ::1, where the CA, on another host, \
                     cannot reach it: it needs another address";
        assert_eq!(of(Some(false)), other);
        assert!(of(None).contains("correct if the CA is on this host, too"), "{}", of(None));
    }

    #[test]
    fn a_name_of_the_certificate_is_a_full_dns_name_or_an_address() {
        let full = "enter a full DNS name, such as www.example.com";
        let url = "a URL; enter the name only: www.example.com";
        let (public, private) = (new_issuer(None), new_issuer(Some("https://ca.example/dir")));
        let known = By::Known("le".to_owned());
        for (name, by, why) in [
            ("www.example.com", &public, None),
            ("*.example.com", &public, None),
            ("192.0.2.1", &public, None),
            ("2001:db8::1", &public, None),
            ("intranet", &public, Some(full)),
            ("intranet", &private, None),
            ("intranet", &known, None),
            ("y", &public, Some(full)),
            ("y", &private, Some(full)),
            ("yes", &known, Some(full)),
            ("https://www.example.com/a?b", &public, Some(url)),
        ] {
            assert_eq!(refusal_of(name, by).as_deref(), why, "{name}");
        }
        assert!(refusal_of("a_b.example.com", &public).is_some());
    }

    #[test]
    fn the_webroot_is_a_folder_that_is_there() {
        let there = tempfile::tempdir().unwrap();
        let path = there.path().to_str().unwrap();
        assert_eq!(folder(path), Ok(PathBuf::from(path)));
        for text in ["relative", ".", ""] {
            assert_eq!(folder(text), Err("enter an absolute path".to_owned()), "{text}");
        }
        assert_eq!(folder("/no/such/folder"), Err("no such folder".to_owned()));
        let mistyped = format!("{path}x");
        let meant = format!("no such folder, did you mean {path}?");
        assert_eq!(folder(&mistyped), Err(meant));
        assert_eq!(folder_or_other(path), Ok(Some(PathBuf::from(path))));
        assert_eq!(folder_or_other("other"), Ok(None));
        let refused = folder_or_other("").unwrap_err();
        assert!(refused.ends_with("or other to choose another way"), "{refused}");
    }
}
