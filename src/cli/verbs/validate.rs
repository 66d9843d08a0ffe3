//! `certctl validate`: manifests, offline; the state says who owns a Secret that several want.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::render::output;
use crate::cli::targets::{recorded, refused, request, show};
use crate::cli::verbs::doctor;
use crate::cli::{
    CliError, Ending, Format, Items, Level, SYSTEM_CONFIG, Shell, Text, VerbArgs, count, document,
    folders, on_one_thread,
};
use crate::host::rights::can_be_listed;
use crate::manifest::{self, Conflict, Loaded, Manifests, Source};
use crate::resource::NamespacedName;
use crate::workspace::{Scope, Settings, Workspace, narrow};

/// Check manifests, offline.
///
/// Also checks that this host has their hooks, outputs, solver programs, secrets and webroots. If
/// there is no config directory, a missing one is a warning. A missing webroot is always a warning.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Certificates by name, manifests, folders of them, or `-` for standard input [default: the
    /// config directory]
    #[arg(value_name = "NAME|FILE|DIR|-")]
    pub targets: Vec<OsString>,
    /// Exit with 3 on warnings as well.
    #[arg(long)]
    pub strict: bool,
    /// Also check this host like `doctor --offline`, and exit with 3 if something is wrong.
    #[arg(long)]
    pub host: bool,
}

impl VerbArgs for ValidateArgs {
    fn acts_as_owner(&self, has_files: bool) -> bool {
        // A draft may lie where root alone can read it.
        self.targets.is_empty() && !has_files
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        let request = request(shell, &self.targets)?;
        let has_names = !request.names.is_empty();
        let mut named = request.sources.clone();
        named.extend(shell.files()?);
        let is_of_files = !named.is_empty() && !has_names;
        let mut sources = named.clone();
        sources.extend(recorded(shell, &request));
        let mut has_folder = false;
        // A name, and what a file refers to, is looked up wherever a run reads manifests.
        match shell.environment.config_dir(shell.global.config_dir.as_deref()) {
            Ok(config) if !manifest::is_gone(&config.path) => {
                has_folder = true;
                sources.push(Source::Directory(config.path));
            }
            Ok(config) if sources.is_empty() => return nothing_there(self, shell, &config.path),
            Err(error) if !is_of_files => return Err(error.into()),
            Ok(_) | Err(_) => {}
        }
        let is_draft = is_of_files && !self.host && !has_folder && folders::unread(shell).is_some();
        // What a draft refers to is there, too.
        if is_draft && can_be_listed(Path::new(SYSTEM_CONFIG)) {
            sources.push(Source::Directory(SYSTEM_CONFIG.into()));
        }
        let given = if is_of_files { &named } else { &sources };
        let places: Vec<String> = given.iter().filter_map(place).collect();
        let options = manifest::Options { reads_untrusted: true, ..manifest::Options::default() };
        let mut manifests = Manifests::new(options);
        let mut loaded = manifests.load(&sources);
        let whole = files_of(&manifests.load(if is_of_files { &named } else { &request.sources }));
        if is_of_files {
            manifest::prefer(&mut loaded, &whole);
        }
        let settings = shell.settings().ok();
        manifest::check_references_of(&mut loaded, |conflict| {
            let known = on_one_thread(Box::pin(owner(settings.clone()?, conflict)));
            known.ok().flatten()
        });
        if has_names || is_of_files {
            narrow(&mut loaded, &request.names, &whole, shell.global.namespace())?;
        }
        if !is_draft {
            let settings = shell.settings().or_else(|_| shell.settings_at(PathBuf::new()));
            let unmet = settings?.unmet(&loaded);
            loaded.diagnostics.extend(unmet);
        }
        let placeholders = manifest::placeholders(&loaded);
        loaded.diagnostics.extend(placeholders);
        let idle = loaded.holding_nothing(given);
        loaded.diagnostics.extend(idle);
        let code = report(self, shell, &loaded, &places)?;
        if is_draft {
            shell.output.talk(Level::Info, of_schedule());
        }
        Ok(code)
    }
}

/// Note on hooks and folders that a command of this user cannot judge.
fn of_schedule() -> Text {
    let mut text = Text::from(format!(
        "hooks, folders and secrets were not checked, because scheduled runs use them as another \
         user; once the file is in {SYSTEM_CONFIG}, run "
    ));
    text.whole(&folders::sudo(" validate"));
    text
}

/// The files that were read, and those that cannot be.
fn files_of(loaded: &Loaded) -> BTreeSet<PathBuf> {
    let wrong = loaded.diagnostics.iter().map(|found| &found.path);
    loaded.files.iter().chain(wrong).cloned().collect()
}

/// There is no config directory, and nothing else is named.
fn nothing_there(
    args: &ValidateArgs,
    shell: &mut Shell,
    config: &Path,
) -> Result<Vec<Ending>, CliError> {
    let message =
        format!("there is no config directory {}", output::escape(&config.to_string_lossy()));
    if args.host {
        let host = doctor::of_host(shell, &Loaded::default())?;
        doctor::add(shell, &host)?;
    }
    Err(CliError::manifest(message)
        .of_absence()
        .trying_any(&[("certctl validate FILE", "or put manifests into that directory")]))
}

/// Prints what is wrong, in the manifests and with --host in this host.
fn report(
    args: &ValidateArgs,
    shell: &mut Shell,
    loaded: &Loaded,
    places: &[String],
) -> Result<Vec<Ending>, CliError> {
    match shell.global.format() {
        format @ (Format::Json | Format::Yaml) => {
            let items = Items { items: &loaded.diagnostics };
            shell.output.data(&document::text(&items, format)?)?;
        }
        Format::Text | Format::Wide | Format::Name | Format::Prometheus => show(shell, loaded),
    }
    let valid = judged(args, shell, loaded, places);
    if !args.host {
        return valid.map(|()| Vec::new());
    }
    let host = doctor::of_host(shell, loaded)?;
    doctor::add(shell, &host)?;
    valid?;
    let wrong = host.iter().filter(|finding| finding.is_wrong()).count();
    if wrong > 0 {
        return Err(CliError::manifest(format!("{} of this host failed", count(wrong, "check"))));
    }
    Ok(Vec::new())
}

/// The error of manifests that are not valid; else says that they are.
fn judged(
    args: &ValidateArgs,
    shell: &mut Shell,
    loaded: &Loaded,
    places: &[String],
) -> Result<(), CliError> {
    if loaded.has_errors() {
        return Err(refused(loaded));
    }
    if loaded.files.is_empty() {
        return Err(CliError::manifest(format!("no manifest found in {}", places.join(", ")))
            .trying_any(&[("certctl validate FILE", "manifests end in .yaml, .yml or .json")]));
    }
    let (_, warnings) = manifest::count(&loaded.diagnostics);
    if args.strict && warnings > 0 {
        return Err(refused(loaded));
    }
    shell.output.talk(
        Level::Info,
        format!(
            "{}, {} in {}: valid, {}",
            count(loaded.certificates.len(), "Certificate"),
            count(loaded.issuers.len(), "Issuer"),
            count(loaded.files.len(), "file"),
            count(warnings, "warning")
        ),
    );
    Ok(())
}

/// Finds the owner among several Certificates with the same Secret, if the state knows one of them.
async fn owner(settings: Settings, of: &Conflict) -> Result<Option<NamespacedName>, CliError> {
    let names = of.certificates.iter().cloned().collect();
    let workspace = Workspace::open_scoped(settings, Scope::Only(names)).await?;
    Ok(workspace.owner(of).filter(|_| !workspace.records().is_empty()))
}

/// The paths searched for manifests.
fn place(source: &Source) -> Option<String> {
    match source {
        Source::Directory(path) | Source::File(path) => {
            Some(output::escape(&path.to_string_lossy()).into_owned())
        }
        Source::Stdin(_) => None,
    }
}
