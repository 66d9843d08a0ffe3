//! Where a made manifest goes: to stdout, or into a folder of manifests.
//!
//! Contract: what is printed or written was read by the same reader as every manifest, and has no
//! mistake. Never overwrites a file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf, absolute};

use super::step::Step;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::folders;
use crate::cli::global::Format;
use crate::cli::owner;
use crate::cli::render::message::Level;
use crate::cli::render::output::escape;
use crate::cli::render::text::Text;
use crate::cli::servers::InServer;
use crate::cli::shell::Shell;
use crate::cli::words::hint::Hint;
use crate::engine::ports::StoreError;
use crate::engine::{install_example, similar_hook};
use crate::manifest::{self, Loaded, Source, nearest_by};
use crate::resource::{Certificate, DeployTarget, Issuer, NamespacedName, is_dns_subdomain};
use crate::store::atomic;
use crate::trust::{Walk, own_user, quoted, sudo_on_own};

/// Where a package installs the output of `certctl schema`.
const SCHEMA: &str = "/usr/share/certctl/certctl.schema.json";

/// The manifest as it is shown and written.
pub(super) fn shown(text: &str) -> String {
    for_editors(text, Path::new(SCHEMA))
}

/// The manifest with a first line for editors, when the schema that the line names is there.
fn for_editors(text: &str, schema: &Path) -> String {
    if !schema.is_file() {
        return text.to_owned();
    }
    format!("# yaml-language-server: $schema={}\n{text}", schema.display())
}

/// The name of a manifest's object, and where its file is going to be.
pub(super) struct Placed {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// The folder of manifests.
    pub(super) config: PathBuf,
    /// The folder to write it to.
    pub(super) into: Option<PathBuf>,
    /// The options of `install` that store a secret.
    pub(super) install: String,
}

impl Placed {
    pub(super) fn of(
        kind: &'static str,
        name: &str,
        into: Option<&Path>,
        shell: &Shell,
    ) -> Result<Self, CliError> {
        if !is_dns_subdomain(name) {
            let message = format!("`{}` is not a valid object name", escape(name));
            let hint = match kind {
                "issuer" => {
                    "lower-case letters, digits, `-` and `.`; the URL of a CA: certctl create issuer \
                     NAME --server URL"
                }
                _ => {
                    "lower-case letters, digits, `-` and `.`; certctl create certificate has --name"
                }
            };
            return Err(CliError::new(ExitCode::Usage, message).hinted(hint));
        }
        match shell.global.format() {
            Format::Text | Format::Yaml => {}
            Format::Wide | Format::Json | Format::Name | Format::Prometheus => {
                let message = format!("create {kind} prints YAML, with comments");
                return Err(CliError::new(ExitCode::Usage, message));
            }
        }
        let config = match into {
            Some(folder) => folder.to_owned(),
            None => shell.environment.config_dir(shell.global.config_dir.as_deref())?.path,
        };
        Ok(Self {
            kind,
            name: name.to_owned(),
            namespace: shell.global.namespace().map(str::to_owned),
            config,
            into: into.map(Path::to_owned),
            install: owner::options_of_install(shell),
        })
    }

    /// The file to write; `None` when it is printed.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let file = format!("{}-{}.yaml", self.kind, self.name);
        self.into.as_deref().map(|folder| folder.join(file))
    }

    /// The same for people.
    pub(super) fn shown_path(&self) -> String {
        escape(&self.path().unwrap_or_default().to_string_lossy()).into_owned()
    }

    /// The field `metadata`, up to `annotations`.
    pub(super) fn metadata(&self) -> String {
        let mut text = format!("metadata:\n  name: {}\n", scalar(&self.name));
        if let Some(namespace) = &self.namespace {
            let _ = writeln!(text, "  namespace: {}", scalar(namespace));
        }
        text
    }

    /// The folder of a Secret in the state, which is this folder.
    pub(super) fn folder_of_secret(&self, state: &str, secret: &str) -> String {
        format!("{state}/secrets/{}/{secret}", self.namespace())
    }

    /// The folder in which a server finds the files of a Certificate.
    pub(super) fn folder_of_files(&self, one: &Certificate, state: &str) -> String {
        let of_secret = || self.folder_of_secret(state, &one.spec.secret_name);
        one.settings.output_dir.clone().unwrap_or_else(of_secret)
    }

    /// What is to be done in the configuration of the server that its Certificate reloads.
    pub(super) fn in_server(
        &self,
        loaded: &Loaded,
        state: &str,
        shell: &Shell,
    ) -> Option<InServer> {
        let one = loaded.certificates.first()?;
        let folder = self.folder_of_files(one, state);
        let inspect = |place: &str| Some(self.next(&format!(" inspect {place}"), shell));
        let hooks = self.config.join("hooks.d");
        InServer::of(one, &one.settings, Path::new(&folder), &hooks, inspect)
    }

    /// The object's key.
    pub(super) fn key(&self) -> NamespacedName {
        NamespacedName::new(self.namespace(), &self.name)
    }

    /// The folder of manifests, for comments.
    pub(super) fn config(&self) -> String {
        escape(&self.config.to_string_lossy()).into_owned()
    }

    /// The folder of the secrets that this object may use, for comments.
    pub(super) fn secrets(&self) -> String {
        format!("{}/secrets/{}", self.config(), self.namespace())
    }

    /// ` --into FOLDER`, for the next command.
    pub(super) fn flag(&self) -> String {
        self.into.as_deref().map(|folder| format!(" --into {}", quoted(folder))).unwrap_or_default()
    }

    /// A command that reads this manifest. `verb` with a blank before it.
    pub(super) fn next(&self, verb: &str, shell: &Shell) -> String {
        if let Some(config) = self.elsewhere(shell) {
            return folders::elsewhere(shell, verb, config);
        }
        shell.output.name_commands();
        format!("certctl{verb}")
    }

    /// What comes after the manifest of a certificate is written: the run, and where nothing else renews
    /// it, the runs of a schedule.
    pub(super) fn runs(&self, shell: &Shell) -> Vec<String> {
        let mut verbs = vec![" issue".to_owned()];
        if self.elsewhere(shell).is_some() {
            let user = if shell.environment.is_root() {
                String::new()
            } else {
                format!(" --user {}", own_user())
            };
            verbs.push(format!(" timer print --cron{user}"));
        }
        verbs.iter().map(|verb| self.next(verb, shell)).collect()
    }

    /// The state of the commands that read this manifest, for comments.
    pub(super) fn state(&self, shell: &Shell) -> Result<String, CliError> {
        let usual = shell.environment.state_dir(shell.global.state_dir.as_deref())?.path;
        let own = self.elsewhere(shell).and_then(|config| folders::own_state(shell, config));
        let state = own.unwrap_or(usual);
        // A server reads it in another folder.
        let state = absolute(&state).unwrap_or(state);
        Ok(escape(&state.to_string_lossy()).into_owned())
    }

    /// Whether commands read the folder without being told to.
    pub(super) fn is_read(&self, shell: &Shell) -> bool {
        self.elsewhere(shell).is_none()
    }

    /// The folder to write it to, where no command reads that without being told to.
    fn elsewhere(&self, shell: &Shell) -> Option<&Path> {
        self.into.as_deref().filter(|into| is_elsewhere(into, shell))
    }

    /// What is to be done for the secrets and hooks that the manifest names and that are not there yet.
    pub(super) fn missing(&self, loaded: &Loaded) -> Vec<Step> {
        let folder = self.config.join("secrets").join(self.namespace());
        let secrets = loaded.issuers.iter().flat_map(Issuer::secrets);
        let secrets = secrets.map(|secret| folder.join(&secret.name).join(&secret.key));
        let secrets = secrets.filter(|path| !path.exists());
        let (sudo, install) = (sudo_on_own(), &self.install);
        let store = |path: PathBuf| {
            let path = escape(&quoted(&path)).into_owned();
            // A shell that the lines are pasted into passes over the first.
            [
                Step::ByHand("# reads the secret: type it, Enter, Ctrl-D".to_owned()),
                Step::ByHand(format!("{sudo}install -D {install} /dev/stdin {path}")),
            ]
        };
        let mut missing: Vec<Step> = secrets.flat_map(store).collect();
        let mut named = BTreeSet::new();
        for one in &loaded.certificates {
            for target in one.settings.deploy_targets() {
                let (name, purpose) = match target {
                    DeployTarget::Output { .. } => continue,
                    DeployTarget::Hook { name } => {
                        let purpose = format!("runs {name} after each renewal");
                        (name, purpose)
                    }
                    DeployTarget::Reload { name } => {
                        let purpose = format!("reloads {name} after each renewal");
                        (name, purpose)
                    }
                };
                let program = format!("{}{name}", self.hooks());
                // One program may be the hook and the reload.
                if Path::new(&program).exists() || !named.insert(name.clone()) {
                    continue;
                }
                let path = self.config.join("hooks.d").join(&name);
                let write = format!("# write the program {program} (certctl help hooks)");
                missing.push(match (install_example(&path), similar_hook(&path)) {
                    (Some(line), _) => Step::command(&line).since(&purpose),
                    (None, Some(other)) => {
                        Step::ByHand(format!("{write}; did you mean {}?", escape(&other)))
                    }
                    (None, None) => Step::ByHand(write),
                });
            }
        }
        missing
    }

    /// The folder of the hooks, for comments.
    pub(super) fn hooks(&self) -> String {
        format!("{}/hooks.d/", self.config())
    }

    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }
}

/// Whether no command reads this folder of manifests without being told to.
pub(super) fn is_elsewhere(folder: &Path, shell: &Shell) -> bool {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
    // One that is not there yet is made.
    let resolved = |path: &Path| path.canonicalize().or_else(|_| absolute(path)).ok();
    let config = config.ok().and_then(|config| resolved(&config.path));
    !resolved(folder).zip(config).is_some_and(|(folder, config)| folder.starts_with(config))
}

/// Prints a manifest, or writes it into its folder; returns what it says, and where it was written.
pub(super) fn put(
    placed: &Placed,
    text: &str,
    shell: &mut Shell,
) -> Result<(Loaded, Option<String>), CliError> {
    let loaded = check(text)?;
    let written = if placed.into.is_some() {
        Some(write(placed, text, shell)?)
    } else {
        shell.output.data(&shown(text))?;
        None
    };
    Ok((loaded, written))
}

/// The commands that come next, in a sentence that begins like this, and what comes after them.
pub(super) fn say_next(begin: &str, steps: &[String], then: Option<Text>, shell: &mut Shell) {
    let mut text = Text::from(format!("{begin}next:"));
    text.list(steps);
    if let Some(then) = then {
        text.push("\nthen, ");
        text.extend(then);
    }
    shell.output.talk(Level::Info, text);
}

/// Refuses a manifest whose file is there already, before anything else is wrong with it.
pub(super) fn refuse_existing(placed: &Placed) -> Result<(), CliError> {
    let is_there = placed.path().is_some_and(|path| path.exists());
    if is_there { Err(exists(placed)) } else { Ok(()) }
}

fn exists(placed: &Placed) -> CliError {
    let message = format!("{} already exists; certctl does not overwrite it", placed.shown_path());
    let (edit, other) = match placed.kind {
        "issuer" => ("edit that file", "name the issuer differently"),
        _ => ("edit that file, such as its dnsNames for a name more", "choose another --name"),
    };
    CliError::new(ExitCode::Manifest, message)
        .hinted(format_args!("{edit} (the same without --into prints a new one); or {other}"))
}

/// Writes a manifest into its folder, which is made when it is the one that is read anyway; returns
/// the path for people.
pub(super) fn write(placed: &Placed, text: &str, shell: &Shell) -> Result<String, CliError> {
    let path = placed.path().unwrap_or_default();
    let folder = placed.into.as_deref().unwrap_or(Path::new(""));
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref())?.path;
    let made = if folder.is_dir() {
        Ok(())
    } else if config == folder {
        std::fs::create_dir_all(folder)
    } else {
        Err(ErrorKind::NotFound.into())
    };
    if let Err(error) = made {
        if error.kind() == ErrorKind::PermissionDenied {
            return Err(denied(folder));
        }
        return Err(missing(folder));
    }
    // What is in it is the reader's; no other user may decide where it is.
    let walk = Walk::trusting_us().up_to_the_end();
    let there = absolute(folder).map_err(|_| missing(folder))?;
    walk.folder(&there).map_err(|error| {
        let refused = CliError::new(ExitCode::Manifest, &error);
        error.remedy().map_or(refused.clone(), |remedy| refused.hinted(remedy))
    })?;
    let shown = placed.shown_path();
    match atomic::write_once(&path, self::shown(text).as_bytes(), 0o644) {
        Ok(true) => Ok(shown),
        Ok(false) => Err(exists(placed)),
        Err(error) => Err(unwritten(&error, folder)),
    }
}

/// That the folder to write to is not there.
pub(super) fn missing(folder: &Path) -> CliError {
    let shown = escape(&folder.to_string_lossy()).into_owned();
    let error = |text: &str| CliError::new(ExitCode::Manifest, format_args!("{shown}{text}"));
    let Some(meant) = meant_instead(folder) else {
        let line = format!("{}mkdir -p {}", sudo_on_own(), quoted(folder));
        return error(" does not exist").hinted(line);
    };
    let hint = Some(Hint::value("--into", &[quoted(&meant)]));
    CliError { hint, ..error(" does not exist; one beside it has a similar name") }
}

/// The folder beside a missing one that was probably meant.
pub(super) fn meant_instead(folder: &Path) -> Option<PathBuf> {
    let (parent, name) = (folder.parent()?, folder.file_name()?.to_str()?);
    let entries = std::fs::read_dir(parent).ok()?.flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names: Vec<String> =
        folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let other = nearest_by(name, names.iter(), |name| name)?;
    Some(parent.join(other))
}

fn unwritten(error: &StoreError, folder: &Path) -> CliError {
    if let StoreError::Io { source, .. } = error
        && source.kind() == ErrorKind::PermissionDenied
    {
        return denied(folder);
    }
    CliError::new(ExitCode::Output, error)
}

/// The temporary file, of which the system speaks, is none of the user's.
fn denied(folder: &Path) -> CliError {
    let folder = escape(&folder.to_string_lossy()).into_owned();
    let message = format!("no permission to write to {folder}");
    CliError::new(ExitCode::Output, message)
        .hinted("run the same command with sudo, or name another folder with --into")
}

/// What was given on the command line may make a manifest that is none.
pub(super) fn check(text: &str) -> Result<Loaded, CliError> {
    let source = Source::Stdin(text.as_bytes().to_owned());
    let loaded = manifest::load(&[source], &manifest::Options::default());
    let mut errors = loaded.diagnostics.iter().filter(|found| found.is_error());
    let Some(error) = errors.next() else { return Ok(loaded) };
    let place = if error.field.is_empty() { "" } else { ": " };
    let message = format!("{}{place}{}", error.field, error.message);
    Err(CliError::new(ExitCode::Usage, message))
}

/// A text as a scalar of YAML that is read as this text: in quotes where it could be something
/// else.
pub(super) fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:@+".contains(c));
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if is_plain && !words.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::super::step;
    use super::*;

    #[test]
    fn a_folder_without_permission_is_named_and_not_the_temporary_file() {
        let failed = |kind: ErrorKind| {
            let (path, source) = ("/etc/certctl/.tmp-1-2".to_owned(), kind.into());
            let error = StoreError::Io { path, action: "create", source };
            unwritten(&error, Path::new("/etc/certctl")).to_message().text.to_string()
        };
        let message = "error: no permission to write to /etc/certctl\n  try: run the same command with \
                    sudo, or name another folder with --into";
        assert_eq!(failed(ErrorKind::PermissionDenied), message);
        assert!(failed(ErrorKind::StorageFull).contains(".tmp-1-2"));
    }

    #[test]
    fn a_manifest_names_the_schema_for_editors_only_where_it_is_installed() {
        let folder = tempfile::tempdir().unwrap();
        let schema = folder.path().join("certctl.schema.json");
        assert_eq!(for_editors("kind: Issuer\n", &schema), "kind: Issuer\n");
        atomic::write(&schema, b"{}", 0o644).unwrap();
        let line = format!("# yaml-language-server: $schema={}", schema.display());
        assert_eq!(for_editors("kind: Issuer\n", &schema), format!("{line}\nkind: Issuer\n"));
        let packaged = include_str!("../../../../Cargo.toml")
            .contains(r#"source = "packaging/certctl.schema.json", dest = "/usr/share/certctl/""#);
        assert!(packaged && SCHEMA == "/usr/share/certctl/certctl.schema.json");
    }

    #[test]
    fn what_a_manifest_needs_is_missing_until_it_is_there() {
        let config = tempfile::tempdir().unwrap();
        let (path, shown) = (config.path(), config.path().display().to_string());
        let (name, namespace) = ("one".to_owned(), None);
        let placed = Placed {
            kind: "any",
            name,
            namespace,
            config: path.into(),
            into: None,
            install: "-m 0600".to_owned(),
        };
        let text = "\
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: one}
spec:
  acme:
    server: https://ca.example/dir
    privateKeySecretRef: {name: account}
    solvers: [{dns01: {cloudflare: {apiTokenSecretRef: {name: cloudflare, key: token}}}}]
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, annotations: {certctl/reload: nginx, certctl/deploy-hook: nginx}}
spec: {secretName: web, dnsNames: [www.example.com], issuerRef: {name: one}}
";
        let text = &check(text).unwrap();
        let program = format!("# write the program {shown}/hooks.d/nginx (certctl help hooks)");
        let note = "# reads the secret: type it, Enter, Ctrl-D".to_owned();
        let (sudo, token) = (sudo_on_own(), "secrets/default/cloudflare/token");
        let token = format!("{sudo}install -D -m 0600 /dev/stdin {shown}/{token}");
        let missing = || step::lines(&placed.missing(text));
        assert_eq!(missing(), [note, token, program.clone()]);
        let secret = path.join("secrets/default/cloudflare");
        std::fs::create_dir_all(&secret).unwrap();
        atomic::write(&secret.join("token"), b"x", 0o600).unwrap();
        assert_eq!(missing(), [program]);
        std::fs::create_dir(path.join("hooks.d")).unwrap();
        atomic::write(&path.join("hooks.d/nginx"), b"x", 0o755).unwrap();
        assert!(missing().is_empty());
    }

    #[test]
    fn a_text_that_could_be_read_as_something_else_is_quoted() {
        for plain in ["www.example.com", "/var/www/html", "you@example.com", "https://ca:14000/dir"]
        {
            assert_eq!(scalar(plain), plain);
        }
        for (text, quoted) in [
            ("*.example.com", r#""*.example.com""#),
            ("192.0.2.1", r#""192.0.2.1""#),
            ("true", r#""true""#),
            ("No", r#""No""#),
            ("a: b", r#""a: b""#),
            ("a #b", r#""a #b""#),
            ("a\nb", r#""a\nb""#),
            ("a:", r#""a:""#),
            ("", r#""""#),
        ] {
            assert_eq!(scalar(text), quoted);
        }
    }
}
