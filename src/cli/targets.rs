//! The workspace of a verb, and the errors in its manifests.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::cli::environment::Source as Named;
use crate::cli::{CliError, Directory, Hint, Message, Shell, count, escape, on_one_thread};
use crate::host::rights::{can_be_read, own_group};
use crate::manifest::{self, Diagnostic, Loaded, Severity, Source};
use crate::resource::NamespacedName;
use crate::trust::quoted;
use crate::workspace::target::{NameTarget, Target};
use crate::workspace::{Request, RequestError, Targets, Workspace, concerns};

/// Opens the state directory of this run, for reading.
pub(crate) async fn open(shell: &Shell) -> Result<Workspace, CliError> {
    Ok(Workspace::open(shell.settings()?).await?)
}

/// The same for what a request names: that alone, if it can be judged without the others.
pub(crate) async fn open_for(shell: &Shell, request: &Request) -> Result<Workspace, CliError> {
    let mut workspace = Workspace::unread(shell.settings()?)?;
    workspace.read_for(request).await?;
    Ok(workspace)
}

/// The objects that the words of a verb name.
pub(crate) fn request(shell: &Shell, words: &[OsString]) -> Result<Request, CliError> {
    Ok(Request::read(words, &known_names(shell, words)?)?)
}

/// The objects that there are, when a word could be the name of one and is a path as well.
pub(crate) fn known_names(
    shell: &Shell,
    words: &[OsString],
) -> Result<Vec<NamespacedName>, CliError> {
    if !words.iter().any(may_be_both) {
        return Ok(Vec::new());
    }
    on_one_thread(async { Ok(open(shell).await?.known_names(&[])) })
}

/// Refuses words of a request that are paths, and the names of objects in an open workspace.
pub(crate) fn refuse_ambiguous(
    workspace: &mut Workspace,
    request: &Request,
    words: &[OsString],
) -> Result<(), CliError> {
    let words: Vec<&OsString> = words.iter().filter(|word| may_be_both(word)).collect();
    if words.is_empty() {
        return Ok(());
    }
    let known = on_one_thread(async {
        workspace.read_for(&Request::default()).await?;
        Ok(workspace.known_names(&request.sources))
    })?;
    for word in words {
        Target::read(word, &|path| path.exists(), &known).map_err(RequestError::from)?;
    }
    Ok(())
}

fn may_be_both(word: &OsString) -> bool {
    let is_name = word.to_str().is_some_and(|text| NameTarget::parse(text).is_some());
    is_name && Path::new(word).exists()
}

/// The manifests that the state records for the names of a request, for verbs that work without the
/// state: `issue` finds a name in them, too. None where the state cannot be read.
pub(crate) fn recorded(shell: &Shell, request: &Request) -> Vec<Source> {
    if request.names.is_empty() {
        return Vec::new();
    }
    let paths =
        on_one_thread(async { Ok(open_for(shell, request).await?.recorded(&request.names)) });
    paths.unwrap_or_default().into_iter().map(Source::File).collect()
}

/// Reads manifests, reports their errors, and returns the requested targets.
pub(crate) fn targets(
    shell: &mut Shell,
    workspace: &mut Workspace,
    request: &Request,
) -> Result<Targets, CliError> {
    let selection = workspace.select(request);
    // A scheduler mails what its runs print: a warning is for `validate` and `plan`.
    let has_warnings = !shell.is_scheduled() || request.is_only_shown || selection.is_refused();
    let is_shown = |one: &Diagnostic| {
        let is_error = one.severity == Severity::Error;
        (has_warnings || is_error) && concerns(request, &selection.loaded, one)
    };
    show_those(shell, &selection.loaded, is_shown);
    if has_warnings && request.sources.is_empty() {
        warn_of_named_folder(shell, &selection.loaded);
    }
    if selection.is_refused() {
        let error = refused(&selection.loaded);
        return Err(match command_for_copies(shell, request) {
            Some(line) => error.hinted(line),
            None => error,
        });
    }
    Ok(workspace.targets(request, selection)?)
}

/// Says that the folder of manifests that was named is not there: the manifests are those of earlier runs.
pub(super) fn warn_of_named_folder(shell: &mut Shell, loaded: &Loaded) {
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref());
    let Ok(Directory { path, source: Named::Flag(_) | Named::Variable(_) }) = config else {
        return;
    };
    if manifest::is_gone(&path) && !loaded.certificates.is_empty() {
        let folder = escape(&path.to_string_lossy()).into_owned();
        let fact = format!(
            "there is no config directory {folder}; using the manifests that earlier runs read \
             elsewhere"
        );
        shell
            .output
            .print(&Message::advice(&fact, Some(&Hint::Text("--config-dir FOLDER".to_owned()))));
    }
}

/// The command that copies the named files which root may read, and the owner of the state may not,
/// into the config directory: there the later runs find them, too.
fn command_for_copies(shell: &Shell, request: &Request) -> Option<String> {
    shell.acts_as.as_ref()?;
    let config = shell.environment.config_dir(shell.global.config_dir.as_deref()).ok()?.path;
    let files = request.sources.iter().filter_map(|source| match source {
        // What this user may not look at is a file by its name, else a folder.
        Source::File(path) if !manifest::is_gone(path) && !can_be_read(path) => {
            let all = if manifest::is_listed(path) { "" } else { "/*.yaml" };
            Some(quoted(path) + all)
        }
        Source::File(_) | Source::Directory(_) | Source::Stdin(_) => None,
    });
    let files: Vec<String> = files.collect();
    let (group, config) = (own_group(), quoted(&config.join("")));
    (!files.is_empty()).then(|| format!("install -m 0640 -g {group} {} {config}", files.join(" ")))
}

/// Prints every diagnostic, and with -v the skipped objects.
pub(crate) fn show(shell: &mut Shell, loaded: &Loaded) {
    show_those(shell, loaded, |_| true);
}

fn show_those(shell: &mut Shell, loaded: &Loaded, is_shown: impl Fn(&Diagnostic) -> bool) {
    let joined = (!shell.output.reports_each()).then(|| manifest::joined(&loaded.diagnostics));
    let all = joined.as_ref().unwrap_or(&loaded.diagnostics);
    for diagnostic in all.iter().filter(|one| is_shown(one)) {
        if shell.prints(&diagnostic.render()) {
            shell.output.finding(diagnostic);
        }
    }
    for skipped in &loaded.skipped {
        tracing::debug!("{skipped}");
    }
}

/// The error that stops a run before it starts.
pub(crate) fn refused(loaded: &Loaded) -> CliError {
    let (errors, warnings) = manifest::count(&manifest::joined(&loaded.diagnostics));
    let mut found = count(errors, "error");
    if warnings > 0 {
        found = format!("{found}, {}", count(warnings, "warning"));
    }
    let files: BTreeSet<&PathBuf> = loaded.diagnostics.iter().map(|found| &found.path).collect();
    let place = match files.first() {
        None => String::new(),
        Some(file) if files.len() == 1 => format!(" in {}", escape(&file.to_string_lossy())),
        Some(_) => format!(" in {}", count(files.len(), "file")),
    };
    CliError::manifest(format_args!("{found}{place}"))
}
