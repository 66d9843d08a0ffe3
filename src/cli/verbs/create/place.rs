//! Where a made manifest goes: to stdout, or into a folder of manifests.
//!
//! Contract: what is printed or written was read by the same reader as every manifest, and has no
//! mistake. Never overwrites a file.

use std::io::{self, ErrorKind, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, Stdio};

use crate::cli::words::fix::sudo_on_own;
use crate::cli::{
    CliError, ExitCode, Format, Hint, Level, Message, Shell, Text, escape, fix, folders, owner,
};
use crate::engine::ports::StoreError;
use crate::host::rights;
use crate::manifest::{self, Loaded, Source, nearest_by};
use crate::resource::{Certificate, is_dns_subdomain};
use crate::store::atomic;
use crate::trust::{Walk, quoted};

/// Where a package installs the output of `certctl schema`.
const SCHEMA: &str = "/usr/share/certctl/certctl.schema.json";

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
    /// True if that folder was named by `--into`.
    pub(super) is_named: bool,
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
            let hint =
                "lower-case letters, digits, `-` and `.`, such as --name web; a URL: --server URL";
            return Err(CliError::usage(message).hinted(hint));
        }
        match shell.global.format() {
            Format::Text | Format::Yaml => {}
            Format::Wide | Format::Json | Format::Name | Format::Prometheus => {
                return Err(CliError::usage(format!("create {kind} writes YAML, with comments")));
            }
        }
        Ok(Self {
            kind,
            name: name.to_owned(),
            namespace: shell.global.namespace().map(str::to_owned),
            config: folder_of(into, shell)?,
            is_named: into.is_some(),
            install: owner::options_of_install(shell),
        })
    }

    /// The file.
    pub(super) fn path(&self) -> PathBuf {
        self.config.join(format!("{}-{}.yaml", self.kind, self.name))
    }

    /// The same for people.
    pub(super) fn shown_path(&self) -> String {
        escape(&self.path().to_string_lossy()).into_owned()
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
        if self.is_named { format!(" --into {}", quoted(&self.config)) } else { String::new() }
    }

    /// A command that reads this manifest. `verb` with a blank before it.
    pub(super) fn next(&self, verb: &str, shell: &Shell) -> String {
        if !self.is_read(shell) {
            return folders::elsewhere(shell, verb, &self.config);
        }
        shell.output.name_commands();
        format!("certctl{verb}")
    }

    /// The state of the commands that read this manifest, for comments.
    pub(super) fn state(&self, shell: &Shell) -> Result<String, CliError> {
        let usual = shell.environment.state_dir(shell.global.state_dir.as_deref())?.path;
        let own = (!self.is_read(shell)).then(|| folders::own_state(shell, &self.config)).flatten();
        let state = own.unwrap_or(usual);
        // A server reads it in another folder.
        let state = absolute(&state).unwrap_or(state);
        Ok(escape(&state.to_string_lossy()).into_owned())
    }

    /// Returns whether commands read the folder without being told to.
    pub(super) fn is_read(&self, shell: &Shell) -> bool {
        let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
        // One that is not there yet is made.
        let resolved = |path: &Path| path.canonicalize().or_else(|_| absolute(path)).ok();
        let config = config.ok().and_then(|config| resolved(&config.path));
        let folder = resolved(&self.config);
        folder.zip(config).is_some_and(|(folder, config)| folder.starts_with(config))
    }

    /// The folder of the hooks, for comments.
    pub(super) fn hooks(&self) -> String {
        format!("{}/hooks.d/", self.config())
    }

    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }
}

/// A new manifest, and where it goes.
pub(super) struct File {
    pub(super) placed: Placed,
    pub(super) text: String,
    pub(super) loaded: Loaded,
}

impl File {
    /// Builds a draft without a mistake.
    pub(super) fn new(placed: Placed, text: &str) -> Result<Self, CliError> {
        let loaded = check(text)?;
        Ok(Self { placed, text: for_editors(text, Path::new(SCHEMA)), loaded })
    }

    /// Prints it where that is wanted; else whether the same file is there. Another one is an error, and so
    /// is a named folder that is not there.
    pub(super) fn is_done(&self, print: bool, shell: &mut Shell) -> Result<bool, CliError> {
        if print || shell.global.format() == Format::Yaml {
            shell.output.data(&self.text)?;
            return Ok(true);
        }
        let path = self.placed.path();
        if self.placed.is_named && !self.placed.config.is_dir() {
            return Err(missing(&self.placed.config));
        }
        if !path.exists() {
            return Ok(false);
        }
        if std::fs::read(&path).is_ok_and(|there| there == self.text.as_bytes()) {
            let text = format!("{} already exists with the same content", self.placed.shown_path());
            shell.output.talk(Level::Info, text);
            return Ok(true);
        }
        Err(exists(&self.placed))
    }

    /// Writes it into its folder, which is made when it is the one that is read anyway.
    pub(super) fn write(&self, shell: &Shell) -> Result<(), CliError> {
        let folder = &self.placed.config;
        if folder_of(None, shell)? == *folder {
            std::fs::create_dir_all(folder)
                .map_err(|error| unwritten(error.kind(), &error, folder))?;
        }
        // What is in it is the reader's; no other user may decide where it is.
        let walk = Walk::trusting_us().up_to_the_end();
        let there = absolute(folder).map_err(|_| missing(folder))?;
        walk.folder(&there).map_err(|error| {
            let refused = CliError::manifest(&error);
            CliError { hint: rights::trusted(&error).map(Hint::from), ..refused }
        })?;
        match atomic::write_once(&self.placed.path(), self.text.as_bytes(), 0o644) {
            Ok(true) => Ok(()),
            Ok(false) => Err(exists(&self.placed)),
            Err(error) => {
                let source =
                    if let StoreError::Io { source, .. } = &error { Some(source) } else { None };
                let kind = source.map_or(ErrorKind::Other, io::Error::kind);
                Err(unwritten(kind, &error, folder))
            }
        }
    }
}

/// The folder of manifests: the named one, or that which commands read.
pub(super) fn folder_of(into: Option<&Path>, shell: &Shell) -> Result<PathBuf, CliError> {
    match into {
        Some(folder) => Ok(folder.to_owned()),
        None => Ok(shell.environment.config_dir(shell.global.config_dir.as_deref())?.path),
    }
}

/// All that is read with these new manifests, which are refused where they cannot work beside the others.
pub(super) fn beside(files: &[&File], shell: &mut Shell) -> Result<Loaded, CliError> {
    let Some(first) = files.first() else { return Ok(Loaded::default()) };
    let texts: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
    let loaded = loaded_with(&first.placed, Some(texts.join("---\n")), shell);
    let own = loaded.diagnostics.iter().filter(|found| found.path == Path::new("-"));
    for found in own {
        let message = format!("{}: {}", found.field, found.message);
        let hint = found.suggestion.clone().map(|one| format!("did you mean `{one}`?"));
        let hint = hint.or_else(|| fix::help(found));
        if found.is_error() || AS_ERRORS.contains(&found.code) {
            let error = CliError::manifest(format!("{message}; nothing was written"));
            return Err(hint.map_or(error.clone(), |hint| error.hinted(hint)));
        }
        shell.output.print(&Message::advice(&message, hint.map(Hint::Text).as_ref()));
    }
    Ok(loaded)
}

/// The manifests of a folder and of the config directory, and a text.
pub(super) fn loaded_with(placed: &Placed, text: Option<String>, shell: &Shell) -> Loaded {
    let usual = folder_of(None, shell).ok().filter(|usual| *usual != placed.config);
    let folders = [Some(placed.config.clone()), usual].into_iter().flatten();
    let folders = folders.filter(|folder| folder.is_dir()).map(Source::Directory);
    let text = text.map(|text| Source::Stdin(text.into_bytes()));
    let mut loaded =
        manifest::load(&folders.chain(text).collect::<Vec<_>>(), &manifest::Options::default());
    manifest::check_references(&mut loaded);
    loaded
}

/// Warnings about a Certificate beside others that are refused in a new one: its output folder is another
/// one's, or below a webroot.
const AS_ERRORS: [&str; 2] = ["W0308", "W0309"];

/// The commands that come next, in a sentence that begins like this.
pub(super) fn say_next(begin: &str, steps: &[String], shell: &mut Shell) {
    let mut text = Text::from(format!("{begin}next:"));
    text.list(steps);
    shell.output.talk(Level::Info, text);
}

fn exists(placed: &Placed) -> CliError {
    let path = placed.shown_path();
    let message =
        format!("{path} already exists with other content; certctl does not overwrite it");
    let other = match placed.kind {
        "issuer" => "name the issuer differently",
        _ => "choose another --name",
    };
    CliError::manifest(message)
        .hinted(format_args!("edit that file (--print prints a new one); or {other}"))
}

/// Error for a missing folder.
pub(super) fn missing(folder: &Path) -> CliError {
    let shown = escape(&folder.to_string_lossy()).into_owned();
    let error = CliError::manifest(format_args!("{shown} does not exist"));
    let make = || format!("{}mkdir -p {}", sudo_on_own(), quoted(folder));
    let meant = meant_instead(folder).map(|meant| format!("--into {}", quoted(&meant)));
    error.hinted(meant.unwrap_or_else(make))
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

/// Error of a write. In a folder without permission, the system names the temporary file, which is
/// none of the user's.
fn unwritten(kind: ErrorKind, error: &dyn std::fmt::Display, folder: &Path) -> CliError {
    if kind != ErrorKind::PermissionDenied {
        return CliError::new(ExitCode::Output, error);
    }
    let folder = escape(&folder.to_string_lossy()).into_owned();
    CliError::new(ExitCode::Output, format!("no permission to write to {folder}"))
        .hinted("run the same command with sudo, or name another folder with --into")
}

/// Parses the new manifest, since words of the command line may make it invalid.
pub(super) fn check(text: &str) -> Result<Loaded, CliError> {
    let source = Source::Stdin(text.as_bytes().to_owned());
    let loaded = manifest::load(&[source], &manifest::Options::default());
    let mut errors = loaded.diagnostics.iter().filter(|found| found.is_error());
    let Some(error) = errors.next() else { return Ok(loaded) };
    let place = if error.field.is_empty() { "" } else { ": " };
    Err(CliError::usage(format!("{}{place}{}", error.field, error.message)))
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

/// Runs a shell's command with this input; as root, whose rights this process may have given up since it
/// started.
pub(super) fn run(line: &str, input: &[u8], is_root: bool) -> Result<(), CliError> {
    let failed = |why: &dyn std::fmt::Display| {
        CliError::new(ExitCode::Failed, format!("{}: {why}", escape(line)))
    };
    let mut command = Command::new("/bin/sh");
    // Folders above what is made are for others to search.
    command.args(["-c", &format!("umask 022; {line}")]).stdin(Stdio::piped()).stdout(Stdio::null());
    if is_root && !rustix::process::geteuid().is_root() {
        command.uid(0).gid(0);
    }
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // The exit code says what became of it.
        stdin.write_all(input).ok();
    }
    let status = child.wait().map_err(|error| failed(&error))?;
    if status.success() { Ok(()) } else { Err(failed(&status)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_permission_is_named_and_not_the_temporary_file() {
        let failed = |kind: ErrorKind| {
            let error = "cannot create /etc/certctl/.tmp-1-2";
            unwritten(kind, &error, Path::new("/etc/certctl")).to_message().text.to_string()
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
    fn a_command_that_fails_is_an_error_with_its_line() {
        assert_eq!(run("exit 7", b"", false).unwrap_err().message, "exit 7: exit status: 7");
    }

    #[test]
    fn a_command_makes_folders_that_others_may_search() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("a/b");
        run(&format!("mkdir -p {}", below.display()), b"", false).unwrap();
        let mode = std::fs::metadata(root.path().join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
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
