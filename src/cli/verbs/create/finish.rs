//! The end of the dialogue: what the answers come to is shown once and written, and the certificate is
//! rehearsed and issued.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use super::certificate::{missing_programs, obstacles, warn};
use super::draft::{By, Draft};
use super::place::{File, run, say_next};
use crate::cli::ask::Asker;
use crate::cli::render::text::fitted;
use crate::cli::verb::VerbArgs as _;
use crate::cli::verbs::check::check_dns;
use crate::cli::verbs::doctor;
use crate::cli::verbs::issue::IssueArgs;
use crate::cli::verbs::rehearse::RehearseArgs;
use crate::cli::words::fix::install_example;
use crate::cli::{CliError, Ending, ExitCode, Hint, Level, Shell, escape, owner};
use crate::resource::FailureClass;
use crate::trust::quoted;

/// The last answer.
#[derive(PartialEq, Eq)]
enum Last {
    Issue,
    Write,
    Nothing,
}

/// Shows the files, and writes them and issues the certificate, as far as the last answer goes.
pub(super) fn finish(draft: &Draft, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let (of_issuer, certificate) = draft.files(shell)?;
    for File { placed, text, .. } in of_issuer.iter().chain([&certificate]) {
        let lines = text.lines().map(|line| {
            match line.char_indices().nth(SHOWN).filter(|_| line.contains("caBundle: ")) {
                Some((end, _)) => format!("{}…\n", line.get(..end).unwrap_or_default()),
                None => format!("{line}\n"),
            }
        });
        let lines: String = lines.collect();
        shell.output.talk(Level::Info, format!("\n{}:\n\n{lines}", placed.shown_path()));
    }
    let is_root = shell.environment.is_root();
    let programs = missing_programs(&certificate);
    let programs: Vec<String> = programs.iter().filter_map(|path| install_example(path)).collect();
    let last = last(draft, &certificate, programs.first().filter(|_| is_root), shell)?;
    if last == Last::Nothing {
        shell.output.talk(Level::Info, "nothing was written");
        return Ok(vec![Ending::Failed(FailureClass::Other)]);
    }
    if let Some(file) = &of_issuer {
        file.write(shell)?;
        doctor::warn_of_roots(&file.loaded, shell);
    }
    if let By::New(new) = &draft.by {
        for (path, secret) in &new.secrets {
            let install = &certificate.placed.install;
            let line = format!("install -D {install} /dev/stdin {}", quoted(path));
            run(&line, secret.as_bytes(), is_root)?;
        }
    }
    certificate.write(shell)?;
    programs.iter().filter(|_| is_root).try_for_each(|line| run(line, b"", is_root))?;
    shell.output.talk(Level::Info, "written");
    let mut steps: Vec<String> = if is_root { Vec::new() } else { programs };
    if has_obstacles(draft, &certificate, shell)? {
        steps.push("# first resolve the above".to_owned());
    }
    if last == Last::Issue && steps.is_empty() {
        return issue(draft, &certificate, shell);
    }
    steps.push(certificate.placed.next(" issue", shell));
    say_next("", &steps, shell);
    Ok(Vec::new())
}

/// The last question; yes also runs a command of root's.
fn last(
    draft: &Draft,
    certificate: &File,
    program: Option<&String>,
    shell: &mut Shell,
) -> Result<Last, CliError> {
    let is_read = certificate.placed.is_read(shell);
    let mut question = String::from(if is_read {
        "Write this and issue the certificate now? yes, later (write only) or no."
    } else {
        "Write this? yes or no."
    });
    if let By::New(_) = draft.by {
        question.push_str(" The first order accepts the CA's terms of service.");
    }
    if let Some(line) = program {
        let _ = write!(question, " certctl also runs: {line}");
    }
    Asker { shell }.ask(&question, Some("yes"), |_, text| match text.to_lowercase().as_str() {
        "y" | "yes" if is_read => Ok(Last::Issue),
        "y" | "yes" | "later" => Ok(Last::Write),
        "n" | "no" => Ok(Last::Nothing),
        _ => Err("enter yes, later or no".to_owned()),
    })
}

/// Removes what is in the way of a run, as far as root can; whether something is left, of which it warns.
fn has_obstacles(draft: &Draft, certificate: &File, shell: &mut Shell) -> Result<bool, CliError> {
    let found = obstacles(&draft.args, &certificate.loaded, shell)?;
    for one in found {
        if let Some(Hint::Shell(line)) =
            one.fix.filter(|_| shell.environment.is_root()).map(Hint::from)
        {
            shell.output.talk(Level::Info, format!("  {}", escape(&line)));
            run(&line, b"", true)?;
        }
    }
    let left = obstacles(&draft.args, &certificate.loaded, shell)?;
    for one in &left {
        warn(one, shell);
    }
    Ok(!left.is_empty())
}

/// Checks, rehearses and issues the certificate, up to the first that fails.
fn issue(
    draft: &Draft,
    File { placed, loaded, .. }: &File,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    owner::remember_ports(shell);
    owner::become_owner(shell)?;
    let is_by_dns = matches!(&draft.by, By::New(new) if new.args.dns01.is_some());
    let mut tried = Vec::new();
    if let Some(name) = draft.args.names.first().filter(|_| is_by_dns) {
        tried = check_dns(name, shell)?;
    }
    if shell.code_of(&tried) == ExitCode::Done {
        let targets = vec![OsString::from(&placed.name)];
        tried = RehearseArgs { targets, resolve: Vec::new() }.run(shell)?;
    }
    let code = shell.code_of(&tried);
    if let ExitCode::Signal(_) = code {
        return Ok(tried);
    }
    if code != ExitCode::Done {
        let check = if is_by_dns { "dns" } else { "http" };
        let name = draft.args.names.first().map(|name| quoted(Path::new(name)));
        let check = format!(" check {check} {}", name.unwrap_or_default());
        let steps = [placed.next(&check, shell), placed.next(" issue", shell)];
        say_next("not issued yet; ", &steps, shell);
        return Ok(tried);
    }
    let ended = IssueArgs::of(&placed.name).run(shell)?;
    let one = loaded.certificates.first().filter(|_| shell.code_of(&ended) == ExitCode::Done);
    if let Some(one) = one {
        let folder = placed.folder_of_files(one, &placed.state(shell)?);
        let mut text = format!("for your server: tls.crt and tls.key in {}", escape(&folder));
        let example = draft.args.reload.as_ref().map(|name| format!("{EXAMPLES}/{name}.yaml"));
        if let Some(example) = example.filter(|path| Path::new(path).is_file()) {
            text = format!("{text}; for the server's configuration, see {example}");
        }
        shell.output.talk(Level::Info, fitted(&text, 80));
    }
    let status = placed.next(&format!(" status {}", placed.name), shell);
    say_next("", &[status, placed.next(" doctor", shell)], shell);
    Ok(ended)
}

/// Where the packages have examples.
const EXAMPLES: &str = "/usr/share/doc/certctl/examples";
/// Number of characters that are shown of a line with roots, which is longer than all others: no
/// more than their first line.
const SHOWN: usize = 40;
