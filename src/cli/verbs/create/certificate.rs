//! `certctl create certificate`: a manifest of a Certificate, to be kept.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;

use super::ca::{chosen, has_http01, issuers};
use super::place::{File, Placed, beside, meant_instead, say_next, scalar};
use super::template::filled;
use crate::cli::verbs::check::{Tried, trials};
use crate::cli::verbs::doctor;
use crate::cli::words::fix::install_example;
use crate::cli::{CliError, Ending, Hint, Level, Message, Shell, escape, owner, short};
use crate::engine::inputs::names_of;
use crate::engine::precondition::of_output;
use crate::manifest::{Loaded, is_component};
use crate::resource::{
    DeployTarget, DnsName, Identifier, Issuer, IssuerKind, Obstacle, Settings, host_of,
};
use crate::solver::http01::check_webroot;

/// `certctl create certificate`.
#[derive(Debug, Default, Args)]
pub struct CreateCertificateArgs {
    /// The DNS names and IP addresses of the certificate.
    #[arg(value_name = "DNSNAME", required = true)]
    pub names: Vec<String>,
    /// Name of the Certificate [default: the first DNSNAME]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Name of the Issuer [default: the only one of the manifests, else letsencrypt]
    #[arg(long, value_name = "NAME")]
    pub issuer: Option<String>,
    /// Folder in which your web server serves the HTTP-01 challenges.
    #[arg(long, value_name = "FOLDER")]
    pub webroot: Option<PathBuf>,
    /// Let a proxy such as HAProxy forward the HTTP-01 challenges to ADDRESS (127.0.0.1:402).
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:402",
        conflicts_with = "webroot"
    )]
    pub behind_proxy: Option<SocketAddr>,
    /// Program in hooks.d that reloads your server, such as nginx.
    #[arg(long, value_name = "PROGRAM")]
    pub reload: Option<String>,
    /// Also write tls.crt and tls.key to this folder, for your server.
    #[arg(long, value_name = "FOLDER")]
    pub output_dir: Option<PathBuf>,
    /// User that owns the copies in --output-dir; needs runs as root, unlike the packages' runs.
    #[arg(long, value_name = "USER", requires = "output_dir")]
    pub output_owner: Option<String>,
    /// Group that may read the copies in --output-dir, such as ssl-cert.
    #[arg(long, value_name = "GROUP", requires = "output_dir")]
    pub output_group: Option<String>,
    /// Mode of the copies in --output-dir [default: 0600; with --output-group: 0640]
    #[arg(long, value_name = "MODE", requires = "output_dir")]
    pub output_mode: Option<String>,
    /// Write the manifest to this folder [default: the config directory]
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
    /// Print the manifest instead, and check and write nothing.
    #[arg(long)]
    pub print: bool,
}

/// Writes or prints the manifest.
pub(super) fn certificate(
    args: &CreateCertificateArgs,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    if let Some(message) = args.names.iter().find_map(|name| refusal_of(name)) {
        return Err(CliError::usage(message));
    }
    let placed = placed(args, shell)?;
    if let Some(why) = args.reload.as_deref().and_then(no_program) {
        let error = CliError::usage(format!("--reload: {why}"));
        return Err(error.trying("certctl help hooks"));
    }
    let (name, kind) = chosen(&issuers(&placed, shell), args.issuer.as_deref())?;
    let text = text(args, (&name, kind), &placed, &placed.state(shell)?);
    let file = File::new(placed, &text)?;
    if file.is_done(args.print, shell)? {
        return Ok(Vec::new());
    }
    if let Some((folder, why)) = args.webroot.as_ref().and_then(|one| Some((one, no_webroot(one)?)))
    {
        let folder = escape(&folder.to_string_lossy()).into_owned();
        let message = format!("--webroot {folder}: {why}; nothing was written");
        let hint = "--webroot, with the folder that the web server serves as /";
        return Err(CliError::manifest(message).hinted(hint));
    }
    let loaded = beside(&[&file], shell)?;
    file.write(shell)?;
    let placed = &file.placed;
    if let Some(warning) = same_names(&file.loaded, &loaded) {
        shell.output.talk(Level::Warn, &warning);
    }
    let issuer = loaded.issuers.iter().find(|one| one.metadata.name == name && one.kind == kind);
    let settings = issuer.map(|one| one.settings.clone()).unwrap_or_default();
    if issuer.is_some_and(|issuer| needs_usual_port(args, issuer))
        && let Some(found) = doctor::usual_port(shell, &placed.name)
    {
        shell.output.print(&Message::of_finding(&found));
    }
    let missing = missing_programs(&file).into_iter().map(|path| {
        let write = || format!("# write the program {} (certctl help hooks)", path.display());
        install_example(&path).unwrap_or_else(write)
    });
    let missing: Vec<String> = missing.collect();
    // The rights of root are given up for this.
    let obstacles = obstacles(args, &file.loaded, shell)?;
    for one in &obstacles {
        warn(one, shell);
    }
    let check_http =
        if obstacles.is_empty() { unserved(args, &settings, &file, shell) } else { None };
    let issue = placed.next(" issue", shell);
    let steps = [missing, check_http.into_iter().collect(), vec![issue]].concat();
    say_next(&format!("written to {}; ", placed.shown_path()), &steps, shell);
    Ok(Vec::new())
}

/// Warns of what is in the way of a run.
pub(super) fn warn(Obstacle { fact, fix }: &Obstacle, shell: &mut Shell) {
    shell.output.print(&Message::advice(fact, fix.clone().map(Hint::from).as_ref()));
}

/// Reason why a path cannot be a webroot. A folder may be made later, unless it is a typing error
/// of another one.
pub(super) fn no_webroot(path: &Path) -> Option<String> {
    if path.ends_with(".well-known") || path.ends_with(".well-known/acme-challenge") {
        let why = "this is below a webroot; certctl adds /.well-known/acme-challenge itself";
        return Some(why.to_owned());
    }
    if path.is_file() {
        return Some("this is a file".to_owned());
    }
    let meant = meant_instead(path).filter(|_| !path.exists())?;
    Some(format!("no such folder; did you mean {}?", escape(&meant.to_string_lossy())))
}

/// Notes that another Certificate has all names of the new one.
pub(super) fn same_names(new: &Loaded, all: &Loaded) -> Option<String> {
    let names = |one| -> BTreeSet<Identifier> { names_of(one).into_iter().collect() };
    let ours = names(new.certificates.first()?);
    let mut others = all.certificates.iter().filter(|one| one.origin.path != Path::new("-"));
    let other = others.find(|one| names(one).is_superset(&ours))?;
    let (name, path) = (short(&other.metadata.key()), other.origin.path.to_string_lossy());
    let path = escape(&path);
    Some(format!(
        "Certificate {name} in {path} also has these names; certctl issues and renews both"
    ))
}

/// Returns whether certctl is to listen on the usual port for these names.
pub(super) fn needs_usual_port(args: &CreateCertificateArgs, issuer: &Issuer) -> bool {
    has_http01(issuer)
        && args.webroot.is_none()
        && args.behind_proxy.is_none()
        && issuer.settings.uses_usual_port()
        && args.names.iter().any(|name| !name.starts_with("*."))
}

/// The names that are validated over HTTP.
pub(super) fn hosts(names: &[String]) -> Vec<DnsName> {
    let names = names.iter().filter_map(|name| name.parse().ok());
    names.filter(|name: &DnsName| !name.is_wildcard()).collect()
}

/// Tries whether the server that has a part in the answers to challenges answers those of these names, and
/// prints what was found; returns the command that shows more where it does not.
fn unserved(
    args: &CreateCertificateArgs,
    of_issuer: &Settings,
    file: &File,
    shell: &mut Shell,
) -> Option<String> {
    if args.webroot.is_none() && args.behind_proxy.is_none() {
        return None;
    }
    let names = hosts(&args.names);
    let settings = file.loaded.certificates.first()?.settings.or(of_issuer);
    let mut unserved = None;
    for (name, found) in names.iter().zip(trials(shell, &settings, &names)) {
        match found {
            Some(found) if found.ending == Tried::Served => {
                shell.output.talk(Level::Info, found.to_string());
                continue;
            }
            Some(found) => shell.output.talk(Level::Warn, found.to_string()),
            // The page of the next step says why.
            None => {}
        }
        unserved = unserved.or(Some(name));
    }
    unserved.map(|name| file.placed.next(&format!(" check http {name}"), shell))
}

/// The programs of `hooks.d` that a manifest names and that are not there yet.
pub(super) fn missing_programs(File { placed, loaded, .. }: &File) -> BTreeSet<PathBuf> {
    let targets = loaded.certificates.iter().flat_map(|one| one.settings.deploy_targets());
    let paths = targets.filter_map(|target| match target {
        DeployTarget::Output { .. } => None,
        DeployTarget::Hook { name } | DeployTarget::Reload { name } => {
            Some(placed.config.join("hooks.d").join(name))
        }
    });
    paths.filter(|path| !path.exists()).collect()
}

/// Reason why a text is not the name of a program in `hooks.d`; `None` of a name.
pub(super) fn no_program(text: &str) -> Option<String> {
    let is_name = is_component(text) && !text.contains(char::is_control);
    (!is_name).then(|| format!("`{}` is not the name of a program in hooks.d", escape(text)))
}

/// Reason why a certificate cannot have this name, which is neither a DNS name nor an address.
pub(super) fn refusal_of(name: &str) -> Option<String> {
    if name.eq_ignore_ascii_case("DNSNAME") {
        return Some(format!("`{name}` stands for a DNS name of yours, such as www.example.com"));
    }
    if name.contains("://") {
        return Some(format!("`{}` is a URL; the name in it is {}", escape(name), host_of(name)));
    }
    let is_address = name.parse::<IpAddr>().is_ok();
    let error = name.parse::<DnsName>().err().filter(|_| !is_address)?;
    let allowed = "letters, digits, `-` and `.` are allowed, and `*.` at the beginning";
    Some(format!("`{}` is not a DNS name for a certificate: {error}; {allowed}", escape(name)))
}

/// Reason why a run could not write to the webroot or to the folder of the copies, also where it
/// could not give them to their owner or group. A run has the rights of the owner of the state:
/// root gives up its own for this check, which therefore comes last.
pub(super) fn obstacles(
    args: &CreateCertificateArgs,
    new: &Loaded,
    shell: &mut Shell,
) -> Result<Vec<Obstacle>, CliError> {
    if args.webroot.is_none() && args.output_dir.is_none() {
        return Ok(Vec::new());
    }
    owner::remember_ports(shell);
    owner::become_owner(shell)?;
    let bounds = shell.bounds();
    let webroot = args.webroot.as_deref().and_then(|folder| check_webroot(folder, &bounds).err());
    let output = new.certificates.iter().find_map(|one| of_output(&one.settings, &bounds));
    let of_owner = shell.acts_as.as_ref();
    let of_owner = of_owner.map(|owner| format!(" (runs act as {owner}, the owner of the state)"));
    let of_owner = of_owner.unwrap_or_default();
    let found = [("webroot", webroot), ("output", output)].into_iter();
    let found = found.filter_map(|(what, obstacle)| Some((what, obstacle?)));
    let whole = found.map(|(what, Obstacle { fact, fix })| Obstacle {
        fact: format!("{what}: {}{of_owner}", escape(&fact)),
        fix,
    });
    Ok(whole.collect())
}

/// The name and folder of a new manifest.
pub(super) fn placed(args: &CreateCertificateArgs, shell: &Shell) -> Result<Placed, CliError> {
    let first = args.names.first().map_or("", String::as_str);
    let name = args.name.clone().unwrap_or_else(|| named_after(first));
    Placed::of("certificate", &name, args.into.as_deref(), shell)
}

/// The manifest; `state` is the state's folder, for comments.
pub(super) fn text(
    args: &CreateCertificateArgs,
    (issuer, kind): (&str, IssuerKind),
    placed: &Placed,
    state: &str,
) -> String {
    let secret = format!("{}-tls", placed.name);
    let list = |is_wanted: bool| {
        let is_address = |name: &&String| name.parse::<IpAddr>().is_ok() == is_wanted;
        let items = args.names.iter().filter(is_address);
        let items = items.flat_map(|name| ["\n    - ".to_owned(), scalar(name)]);
        Some(items.collect::<String>()).filter(|items| !items.is_empty())
    };
    let path = |path: &Option<PathBuf>| path.as_deref().map(|path| scalar(&path.to_string_lossy()));
    let word = |word: &Option<String>| word.as_deref().map(scalar);
    let reload = args.reload.as_deref();
    let within = |names: &[&str]| reload.filter(|name| names.contains(name)).map(str::to_owned);
    let annotations = [
        ("http01-webroot", path(&args.webroot)),
        ("http01-listen", args.behind_proxy.map(|address| scalar(&address.to_string()))),
        ("output-dir", path(&args.output_dir)),
        ("output-owner", word(&args.output_owner)),
        ("output-group", word(&args.output_group)),
        ("output-mode", word(&args.output_mode)),
        ("reload", word(&args.reload)),
    ];
    let has_one = annotations.iter().any(|(_, value)| value.is_some());
    let others = [
        ("name", Some(scalar(&placed.name))),
        ("namespace", word(&placed.namespace)),
        ("annotations", has_one.then(String::new)),
        ("copied", within(&COPIED)),
        ("program", reload.map(|name| format!("{}{name}", placed.hooks()))),
        ("folder", Some(placed.folder_of_secret(state, &secret))),
        ("secret", Some(scalar(&secret))),
        ("names", list(false)),
        ("addresses", list(true)),
        ("of-one-file", within(&OF_ONE_FILE)),
        ("issuer", Some(scalar(issuer))),
        ("kind", (kind == IssuerKind::ClusterIssuer).then(|| kind.to_string())),
    ];
    filled(include_str!("certificate.txt"), &[&annotations[..], &others].concat())
}

/// The name of the object: a wildcard's name cannot be one.
pub(super) fn named_after(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.strip_prefix("*.") {
        Some(domain) => format!("wildcard.{domain}"),
        None => name.replace(':', "-"),
    }
}

/// Servers that read key and chain from one file.
const OF_ONE_FILE: [&str; 2] = ["haproxy", "postfix"];
/// Servers that read copies of the files, which their program makes.
const COPIED: [&str; 1] = ["postgresql"];
