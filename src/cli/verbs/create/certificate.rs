//! `certctl create certificate`: a manifest of a Certificate, to be kept.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;

use super::ca::STAGING;
use super::known::{IssuerName, Known, manifests_in, owner_of_output};
use super::print::{Placed, meant_instead, put, refuse_existing, say_next, scalar};
use super::server::host_of_url;
use super::step::{self, Step};
use super::{issuer, webroot};
use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::folders;
use crate::cli::owner;
use crate::cli::render::message::{Level, Message};
use crate::cli::render::output::escape;
use crate::cli::servers::{self, InServer, Server};
use crate::cli::shell::Shell;
use crate::cli::verbs::doctor;
use crate::cli::words::hint::{Hint, short};
use crate::engine::inputs::names_of;
use crate::engine::precondition::of_output;
use crate::engine::{install_example, similar_hook};
use crate::manifest::{Loaded, is_component, webroots};
use crate::resource::{Certificate, DnsName, Fix, Identifier, NamespacedName, Obstacle, Settings};
use crate::solver::http01::check_webroot;
use crate::trust::{quoted, sudo_to_make};

/// `certctl create certificate`.
#[derive(Debug, Args)]
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
    /// Folder from which your web server serves the HTTP-01 challenges.
    #[arg(long, value_name = "FOLDER")]
    pub webroot: Option<PathBuf>,
    /// A proxy, such as HAProxy, forwards the HTTP-01 challenges to ADDRESS, or to 127.0.0.1:402.
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
    /// User that owns the copies in --output-dir; needs runs as root: those of the packages are not.
    #[arg(long, value_name = "USER", requires = "output_dir")]
    pub output_owner: Option<String>,
    /// Group that may read the copies in --output-dir, such as ssl-cert.
    #[arg(long, value_name = "GROUP", requires = "output_dir")]
    pub output_group: Option<String>,
    /// Mode of the copies in --output-dir [default: 0600; with --output-group: 0640]
    #[arg(long, value_name = "MODE", requires = "output_dir")]
    pub output_mode: Option<String>,
    /// Write the manifest to this folder.
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
}

impl CreateCertificateArgs {
    /// The names, where another server has their port 80 and has a part in the answers to challenges.
    pub(super) fn proven_by_server(&self) -> Vec<DnsName> {
        let has_server = self.webroot.is_some() || self.behind_proxy.is_some();
        let names = self.names.iter().filter(|_| has_server);
        let names = names.filter_map(|name| name.parse().ok());
        names.filter(|name: &DnsName| !name.is_wildcard()).collect()
    }
}

/// Prints or writes the manifest.
pub(super) fn certificate(
    args: &CreateCertificateArgs,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    if let Some((name, host)) = args.names.iter().find_map(|name| Some((name, host_of_url(name)?)))
    {
        let message = format!("`{}` is a URL, not a DNS name", escape(name));
        let hint = Some(Hint::instead(name, &[host]));
        return Err(CliError { hint, ..CliError::new(ExitCode::Usage, message) });
    }
    if let Some(message) = args.names.iter().find_map(|name| refusal_of(name)) {
        return Err(CliError::new(ExitCode::Usage, message));
    }
    let placed = placed(args, shell)?;
    let refused = |text| RefusedProgram::of(text, &placed.config);
    if let Some(RefusedProgram { why, line, name }) = args.reload.as_deref().and_then(refused) {
        let error = CliError::new(ExitCode::Usage, format!("--reload: {why}"));
        return Err(error.hinted(format_args!("{line} # then: --reload {name}")));
    }
    let manifests = manifests_in(&placed.config);
    let known = Known::of(&manifests, &placed, shell);
    let issuer = known.chosen(args.issuer.as_deref())?;
    if placed.into.is_some() {
        refuse_existing(&placed)?;
        refuse(args, &manifests, &known, &issuer, &placed)?;
    }
    let state = placed.state(shell)?;
    let text = text(args, &issuer, &placed, &state);
    let (loaded, written) = put(&placed, &text, shell)?;
    let server = placed.in_server(&loaded, &state, shell);
    let first = warn(args, &known, &issuer, &placed, shell);
    if placed.into.is_some()
        && let Some(warning) = of_same_names(&manifests, &args.names, Some(&placed.key()))
    {
        shell.output.talk(Level::Warn, &warning);
    }
    // The rights of root are given up for this.
    let (found, code) = match obstacles(args, &loaded, shell) {
        Ok(found) => (found, Ok(Vec::new())),
        Err(error) => (Vec::new(), Err(error)),
    };
    match written {
        Some(path) => {
            // With something in the way, that comes first.
            let is_open = found.is_empty() && code.is_ok();
            let settings = settings_of(&loaded, &issuer).filter(|_| is_open);
            let names = args.proven_by_server();
            let check_http = webroot::unserved(&names, settings.as_ref(), &placed, shell);
            let check_http = check_http.into_iter().collect();
            let to_do = [repairs(found, shell), placed.missing(&loaded)].concat();
            let runs = placed.runs(shell);
            let steps = [first, step::lines(&to_do), check_http, runs].concat();
            say_next(
                &format!("written to {path}; "),
                &steps,
                server.as_ref().map(InServer::text),
                shell,
            );
        }
        None => {
            for Barrier { obstacle: Obstacle { fact, fix }, .. } in found {
                shell.output.print(&Message::advice(&fact, fix.map(Hint::from).as_ref()));
            }
        }
    }
    code
}

/// A file that is written is not written again: refuses what cannot work.
fn refuse(
    args: &CreateCertificateArgs,
    manifests: &Loaded,
    known: &Known,
    issuer: &IssuerName,
    placed: &Placed,
) -> Result<(), CliError> {
    let refused =
        |why: String| CliError::new(ExitCode::Manifest, format!("{why}; nothing was written"));
    if args.issuer.is_none() && known.names().is_empty() {
        let line =
            format!("certctl create issuer {STAGING} --email you@example.com{}", placed.flag());
        let why = format!("there is no Issuer in {} yet", placed.config());
        return Err(refused(why).trying_any(&[(&line, "Let's Encrypt's CA for tests")]));
    }
    // One of a CA that certctl knows may follow.
    if let Some(why) = known.lack(issuer, placed)
        && !known.names().is_empty()
        && !issuer::is_known_ca(&issuer.name)
    {
        let by = known.similar(&issuer.name).map_or_else(|| known.names(), |name| vec![name]);
        let hint = Hint::value("--issuer", &by);
        return Err(CliError { hint: Some(hint), ..refused(why) });
    }
    if let Some(why) = unvalidated(args, known, issuer) {
        return Err(refused(why).trying("certctl explain issuer.spec.acme.solvers"));
    }
    let hook = args.reload.as_ref().map(|name| placed.config.join("hooks.d").join(name));
    let hook = hook.filter(|path| !path.exists() && install_example(path).is_none());
    if let Some((path, similar)) =
        hook.as_deref().and_then(|path| path.file_name().zip(similar_hook(path)))
    {
        let name = path.to_string_lossy();
        let hint = Hint::value("--reload", &[similar]);
        let why = format!("there is no program {} in {}", escape(&name), placed.hooks());
        return Err(CliError { hint: Some(hint), ..refused(why) });
    }
    if let Some((folder, why)) = args.webroot.as_deref().and_then(|one| Some((one, no_root(one)?)))
    {
        let folder = escape(&folder.to_string_lossy()).into_owned();
        let hint = "--webroot, with the folder that the web server serves as /";
        return Err(refused(format!("{folder} is {why}")).hinted(hint));
    }
    let webroot = args.webroot.as_deref().filter(|folder| !folder.exists());
    if let Some((webroot, meant)) =
        webroot.and_then(|folder| Some((folder, meant_instead(folder)?)))
    {
        let (folder, meant) = (webroot.to_string_lossy(), meant.to_string_lossy().into_owned());
        let hint = Hint::value("--webroot", &[quoted(meant.as_ref())]);
        let why = format!("there is no folder {}", escape(&folder));
        return Err(CliError { hint: Some(hint), ..refused(why) });
    }
    let folder = args.output_dir.as_deref();
    if let Some(why) =
        folder.and_then(|folder| published(manifests, args.webroot.as_deref(), folder))
    {
        let why = format!("--output-dir is {why}");
        return Err(refused(why).hinted("--output-dir, with a folder outside of it"));
    }
    let owner = folder.and_then(|folder| owner_of_output(manifests, folder, &placed.key()));
    let Some((folder, owner)) = folder.zip(owner) else { return Ok(()) };
    let folder = folder.to_string_lossy();
    let why = format!("{} is the folder of {}", escape(&folder), in_its_file(owner));
    Err(refused(why).hinted("--output-dir, with a folder of its own"))
}

/// What a path is that cannot be a webroot.
fn no_root(path: &Path) -> Option<&'static str> {
    if path.ends_with(".well-known") || path.ends_with(".well-known/acme-challenge") {
        return Some("below a webroot: certctl adds /.well-known/acme-challenge itself");
    }
    path.is_file().then_some("a file")
}

/// Where a folder for keys is below a webroot, of the manifests or of the new one: that it is, and why it
/// must not be.
pub(super) fn published(manifests: &Loaded, own: Option<&Path>, folder: &Path) -> Option<String> {
    let mut all = webroots(manifests).into_iter().chain(own.map(Path::to_owned));
    let folder: PathBuf = folder.components().collect();
    let webroot = all.find(|webroot| folder.starts_with(webroot))?;
    let webroot = escape(&webroot.to_string_lossy()).into_owned();
    Some(format!(
        "below {webroot}, from which your web server serves files: it would serve the private key"
    ))
}

/// The settings of a new manifest, by its Issuer.
pub(super) fn settings_of(new: &Loaded, issuer: &IssuerName) -> Option<Settings> {
    new.certificates.first().map(|one| one.settings.or(&issuer.settings))
}

/// A wildcard that this Issuer has no solver for.
fn unvalidated(args: &CreateCertificateArgs, known: &Known, issuer: &IssuerName) -> Option<String> {
    let is_known = known.names().contains(&issuer.name);
    let name = known.unvalidated(&issuer.name, &args.names).filter(|_| is_known)?;
    let (name, issuer) = (escape(name), escape(&issuer.name));
    Some(format!("{name} needs a dns01 solver, and Issuer {issuer} has none for it"))
}

/// That another Certificate of these manifests, besides the one of this key, has all of these names.
pub(super) fn of_same_names(
    manifests: &Loaded,
    ours: &[String],
    key: Option<&NamespacedName>,
) -> Option<String> {
    let identifier = |name: &String| {
        let address = name.parse().map(Identifier::Ip).ok();
        address.or_else(|| name.parse().map(Identifier::Dns).ok())
    };
    let ours: BTreeSet<Identifier> = ours.iter().map(identifier).collect::<Option<_>>()?;
    let names = |one: &Certificate| -> BTreeSet<Identifier> { names_of(one).into_iter().collect() };
    let mut others = manifests.certificates.iter().filter(|one| Some(&one.metadata.key()) != key);
    let other = others.find(|one| names(one).is_superset(&ours))?;
    Some(format!("{} has these names, too; both are issued and renewed", in_its_file(other)))
}

/// That a Certificate of these manifests has some of these names.
pub(super) fn of_shared_names(manifests: &Loaded, ours: &[String]) -> Option<String> {
    let is_ours = |name: &&DnsName| ours.contains(&name.to_string());
    let (other, name) = manifests
        .certificates
        .iter()
        .find_map(|one| Some((one, one.spec.dns_names.iter().find(is_ours)?)))?;
    Some(format!(
        "{} has {name}, too; another name may be added there, in dnsNames",
        in_its_file(other)
    ))
}

/// A Certificate, and the file of its manifest.
fn in_its_file(one: &Certificate) -> String {
    let path = one.origin.path.to_string_lossy();
    format!("Certificate {} in {}", short(&one.metadata.key()), escape(&path))
}

/// Whether certctl is to listen on the usual port for these names, by an Issuer that may have a solver for
/// HTTP-01.
pub(super) fn needs_usual_port(
    args: &CreateCertificateArgs,
    issuer: &IssuerName,
    has_http01: bool,
) -> bool {
    has_http01
        && args.webroot.is_none()
        && args.behind_proxy.is_none()
        && issuer.settings.uses_usual_port()
        && args.names.iter().any(|name| !name.starts_with("*."))
}

/// Warns of what a run would refuse, or could not do; returns the commands that come first where the
/// manifest is written.
fn warn(
    args: &CreateCertificateArgs,
    known: &Known,
    issuer: &IssuerName,
    placed: &Placed,
    shell: &mut Shell,
) -> Vec<String> {
    let mut first = Vec::new();
    if let Some(warning) = known.lack(issuer, placed) {
        let advice = if placed.into.is_none() && folders::unread(shell).is_some() {
            let names = args.names.join(" ");
            Some(Hint::Shell(folders::sudo(&format!(" create certificate {names}"))))
        } else if let Some(name) = known.similar(&issuer.name) {
            Some(Hint::value("--issuer", &[name]))
        } else {
            let server = if issuer::is_known_ca(&issuer.name) { "" } else { " --server URL" };
            let command = format!("certctl create issuer {}{server}{}", issuer.name, placed.flag());
            if placed.into.is_some() {
                first.push(command);
                None
            } else {
                Some(Hint::Command(command))
            }
        };
        shell.output.print(&Message::advice(&warning, advice.as_ref()));
    }
    if let Some(warning) = unvalidated(args, known, issuer) {
        let hint = Hint::Command("certctl explain issuer.spec.acme.solvers".to_owned());
        shell.output.print(&Message::advice(&warning, Some(&hint)));
    }
    if needs_usual_port(args, issuer, known.has_http01(&issuer.name))
        && let Some(found) = doctor::usual_port(shell, &placed.name)
    {
        doctor::print_finding(shell, &found);
    }
    first
}

/// What is in the way of a run.
pub(super) struct Barrier {
    obstacle: Obstacle,
    /// What the command that removes it is for.
    purpose: &'static str,
}

/// The commands that remove what is in the way of a run; warns of what no command removes.
pub(super) fn repairs(found: Vec<Barrier>, shell: &mut Shell) -> Vec<Step> {
    let mut commands = Vec::new();
    for Barrier { obstacle: Obstacle { fact, fix }, purpose } in found {
        let advice = match fix {
            Some(Fix::Command(line)) => {
                commands.push(Step::command(&line).since(purpose));
                continue;
            }
            Some(Fix::Certctl(line)) => {
                commands.push(Step::ByHand(escape(&line).into_owned()));
                None
            }
            Some(Fix::Advice(sentence)) => Some(Hint::Text(escape(&sentence).into_owned())),
            None => None,
        };
        shell.output.print(&Message::advice(&fact, advice.as_ref()));
    }
    commands
}

/// Why a certificate cannot have this name, which is neither a DNS name nor an address.
pub(super) fn refusal_of(name: &str) -> Option<String> {
    if name.eq_ignore_ascii_case("DNSNAME") {
        return Some(format!("`{name}` stands for a DNS name of yours, such as www.example.com"));
    }
    let is_address = name.parse::<IpAddr>().is_ok();
    let error = name.parse::<DnsName>().err().filter(|_| !is_address)?;
    let allowed = "letters, digits, `-` and `.` are allowed, and `*.` at the beginning";
    Some(format!("`{}` is not a DNS name for a certificate: {error}; {allowed}", escape(name)))
}

/// Why a run could not write to the webroot or to the folder of the copies, also where it could not
/// give them to their owner or group; each with the command that removes it. A run has the rights of the
/// owner of the state: root gives up its own for this check, which therefore comes last.
pub(super) fn obstacles(
    args: &CreateCertificateArgs,
    new: &Loaded,
    shell: &mut Shell,
) -> Result<Vec<Barrier>, CliError> {
    if args.webroot.is_none() && args.output_dir.is_none() {
        return Ok(Vec::new());
    }
    owner::remember_ports(shell);
    owner::become_owner(shell)?;
    let bounds = shell.bounds();
    let webroot = args.webroot.as_deref().and_then(|folder| check_webroot(folder, &bounds).err());
    let output = new.certificates.iter().find_map(|one| of_output(&one.settings, &bounds));
    let found = [("webroot", webroot, FOR_CHALLENGES), ("output", output, FOR_COPIES)].into_iter();
    let found = found.filter_map(|(what, obstacle, purpose)| Some((what, obstacle?, purpose)));
    let of_owner = shell
        .acts_as
        .as_ref()
        .map(|owner| format!(" (runs act as {owner}, the owner of the state)"));
    let of_owner = of_owner.unwrap_or_default();
    let whole = found.map(|(what, Obstacle { fact, fix }, purpose)| {
        let fact = format!("{what}: {}{of_owner}", escape(&fact));
        Barrier { obstacle: Obstacle { fact, fix }, purpose }
    });
    Ok(whole.collect())
}

/// What the folders of a certificate are for.
const FOR_CHALLENGES: &str = "for the CA's requests, at each renewal";
const FOR_COPIES: &str = "for the copies of the certificate and its key";

/// A text that is not the name of a program in `hooks.d`, such as a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedProgram {
    pub(super) why: String,
    /// The command that puts a program there which does what the text says, or an example for the
    /// same server.
    pub(super) line: String,
    /// The name of that program.
    pub(super) name: String,
}

impl RefusedProgram {
    /// `None` of a name.
    pub(super) fn of(text: &str, config: &Path) -> Option<Self> {
        if is_component(text) || text.contains(char::is_control) {
            return None;
        }
        let mut words = text.split([' ', '/']);
        let shipped = words.clone().find(|word| Server::of(word).is_some());
        let name = shipped.or_else(|| words.rfind(|word| is_component(word))).unwrap_or("reload");
        let hooks = config.join("hooks.d");
        let path = hooks.join(name);
        let why = format!(
            "`{}` is not the name of a program in {}; there are examples for {}",
            escape(text),
            escape(&hooks.to_string_lossy()),
            servers::names().collect::<Vec<_>>().join(", ")
        );
        let written = || {
            let sudo = sudo_to_make(&path);
            let (path, script) = (quoted(&path), text.replace('\'', "'\\''"));
            format!(
                "printf '%s\\n' '#!/bin/sh' '{script}' | {sudo}install -D -m 0755 /dev/stdin {path}"
            )
        };
        let line = install_example(&path).unwrap_or_else(written);
        Some(Self { why, line, name: name.to_owned() })
    }
}

/// The manifest, and where it goes, for an Issuer that is there or is going to be.
pub(super) fn manifest(
    args: &CreateCertificateArgs,
    issuer: &IssuerName,
    shell: &Shell,
) -> Result<(Placed, String), CliError> {
    let placed = placed(args, shell)?;
    let text = text(args, issuer, &placed, &placed.state(shell)?);
    Ok((placed, text))
}

fn placed(args: &CreateCertificateArgs, shell: &Shell) -> Result<Placed, CliError> {
    let first = args.names.first().map_or("", String::as_str);
    let name = args.name.clone().unwrap_or_else(|| named_after(first));
    Placed::of("certificate", &name, args.into.as_deref(), shell)
}

/// The manifest; `state` is the state's folder, for comments.
pub(super) fn text(
    args: &CreateCertificateArgs,
    issuer: &IssuerName,
    placed: &Placed,
    state: &str,
) -> String {
    let mut text = String::from(
        "# A certificate to issue and renew. All fields: certctl explain certificate.spec\n\
         apiVersion: cert-manager.io/v1\n\
         kind: Certificate\n",
    );
    text.push_str(&placed.metadata());
    text.push_str(&annotations(args, placed));
    let secret = format!("{}-tls", placed.name);
    let _ = write!(
        text,
        "spec:\n  # tls.crt and tls.key will be in\n  # {}/\n  secretName: {}\n",
        placed.folder_of_secret(state, &secret),
        scalar(&secret)
    );
    let (addresses, names): (Vec<_>, Vec<_>) =
        args.names.iter().partition(|name| name.parse::<IpAddr>().is_ok());
    for (field, values) in [("dnsNames", names), ("ipAddresses", addresses)] {
        if !values.is_empty() {
            let _ = writeln!(text, "  {field}:");
        }
        for value in values {
            let _ = writeln!(text, "    - {}", scalar(value));
        }
    }
    let _ = write!(
        text,
        "  privateKey:\n    # Or RSA, for clients that do not support ECDSA:\n    algorithm: ECDSA\n  \
         # certctl renews it when a third of its lifetime is left, or when the CA\n  \
         # suggests. To change that:\n  \
         # renewBefore: 720h\n"
    );
    let server = args.reload.as_deref().and_then(Server::of);
    if let Some(Server { name, .. }) = server.filter(|server| server.reads_one_file()) {
        let _ = write!(
            text,
            "  # {name} reads key and chain from one file, tls-combined.pem.\n  \
             additionalOutputFormats:\n    - type: CombinedPEM\n"
        );
    }
    let _ = write!(text, "  issuerRef:\n    name: {}\n", scalar(&issuer.name));
    if issuer.is_of_cluster {
        text.push_str("    kind: ClusterIssuer\n");
    }
    text
}

/// The name of the object: a wildcard's name cannot be one.
pub(super) fn named_after(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.strip_prefix("*.") {
        Some(domain) => format!("wildcard.{domain}"),
        None => name.replace(':', "-"),
    }
}

fn annotations(args: &CreateCertificateArgs, placed: &Placed) -> String {
    let mut text = String::new();
    if let Some(folder) = &args.webroot {
        let _ = write!(
            text,
            "    # Your web server serves the CA's challenges from this folder. Renewals need\n    \
             # it, too: what deploys the site may add files to it, but not remove it.\n    \
             certctl/http01-webroot: {}\n",
            scalar(&folder.to_string_lossy())
        );
    }
    if let Some(address) = args.behind_proxy {
        let _ = write!(
            text,
            "    # Your proxy forwards the CA's requests to certctl, which listens here while it issues.\n    \
             certctl/http01-listen: {}\n",
            scalar(&address.to_string())
        );
    }
    if let Some(folder) = &args.output_dir {
        let _ = write!(
            text,
            "    # certctl also writes the files to this folder, for your server.\n    \
             certctl/output-dir: {}\n",
            scalar(&folder.to_string_lossy())
        );
    }
    for (key, value) in [
        ("output-owner", &args.output_owner),
        ("output-group", &args.output_group),
        ("output-mode", &args.output_mode),
    ] {
        if let Some(value) = value {
            let _ = writeln!(text, "    certctl/{key}: {}", scalar(value));
        }
    }
    let server = args.reload.as_deref().and_then(Server::of);
    if let Some(Server { name, .. }) = server.filter(|server| server.is_copied) {
        let _ = write!(
            text,
            "    # Copies the files to where the server may read them.\n    \
             certctl/deploy-hook: {name}\n"
        );
    }
    if let Some(program) = &args.reload {
        let _ = write!(
            text,
            "    # Runs at the end of a run that changed a certificate:\n    # {}{program}\n    \
             certctl/reload: {}\n",
            placed.hooks(),
            scalar(program)
        );
    }
    if text.is_empty() { text } else { format!("  annotations:\n{text}") }
}
