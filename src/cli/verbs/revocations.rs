//! Pending revocations: every run that writes performs and reports them.

use std::path::PathBuf;

use crate::cli::result::{Revoked, RevokedState};
use crate::cli::{CliError, Ending, Level, Message, Paint, Shell, Text, escape, short};
use crate::controller::EffectError;
use crate::resource::{NamespacedName, Revocation, RevocationAnswer};
use crate::workspace::{Finished, SentRevocation, Workspace};

/// Performs the pending revocations of one certificate, or of all known ones, and reports each
/// result.
pub(crate) async fn finish(
    shell: &mut Shell,
    workspace: &mut Workspace,
    only: Option<&NamespacedName>,
    verb: &'static str,
) -> Result<Vec<Ending>, CliError> {
    let mut endings = Vec::new();
    for (name, finished) in workspace.finish_revocations(only, verb).await? {
        let (done, owed) = match finished {
            Finished::Sent(done, owed) => (done, owed),
            Finished::Failed(error) => return Err(error.into()),
            Finished::WithoutManifest => {
                let text = format!(
                    "{}: a revocation is pending, but its Certificate and Issuer are missing; \
                     put them back, and the next run revokes it",
                    short(&name)
                );
                if shell.prints(&text) {
                    shell.output.talk(Level::Warn, &text);
                }
                continue;
            }
        };
        for SentRevocation { revocation, answer } in done {
            let copies = workspace.copies(&name, Some(&revocation.fingerprint));
            endings.push(report(shell, &name, &revocation, &answer, &paths(&copies)));
        }
        for revocation in owed {
            let serial = &revocation.serial;
            shell.results.revoked(Revoked::new(
                Some(&name),
                serial,
                revocation.reason,
                RevokedState::Owed,
            ));
            let one = short(&name);
            let text = format!(
                "{one}: serial {serial} ({}) is not revoked yet; its replacement must be issued \
                 and deployed first\n  to revoke it before that: ",
                revocation.reason,
            );
            if shell.prints(&text) {
                let text = Text::from(text)
                    .with_command(&format!("certctl revoke {one} --now"))
                    .with("\n  to cancel it:             ")
                    .with_command(&format!("certctl revoke {one} --cancel"));
                shell.output.talk(Level::Warn, text);
            }
            endings.push(Ending::Deferred);
        }
    }
    Ok(endings)
}

fn report(
    shell: &mut Shell,
    name: &NamespacedName,
    revocation: &Revocation,
    answer: &Result<RevocationAnswer, EffectError>,
    copies: &[String],
) -> Ending {
    let Revocation { serial, reason, .. } = revocation;
    let revoked = |state| Revoked::new(Some(name), serial, *reason, state);
    match answer {
        Ok(answer) => {
            let (done, stays) = (answer.describe(*reason), stays_in(copies));
            let text = format!("{}: serial {serial} {done}{stays}", short(name));
            shell.output.talk(Level::Info, &text);
            let revoked = revoked(RevokedState::Revoked);
            shell.results.revoked(Revoked { copies: copies.to_vec(), ..revoked });
            Ending::Changed
        }
        Err(error) => {
            let next = if revocation.is_owed() {
                "the next run retries".to_owned()
            } else {
                "not retried, because the CA refused; to sign with the certificate's own key, run \
                 certctl revoke FILE --key KEYFILE"
                    .to_owned()
            };
            let message = error.to_string();
            let message = escape(&message);
            let text = format!("{}: serial {serial} not revoked: {message}\n  {next}", short(name));
            let text = Text::led_by("error", Paint::Bad, text);
            let class = error.cause.class();
            let record = Message::new(Level::Error, text, format_args!("not revoked: {message}"))
                .with("certificate", name.to_string())
                .with("class", class.word())
                .with("serial", serial.as_str())
                .with("next_attempt", serde_json::Value::Null)
                .with("hint", vec![next]);
            shell.output.print(&record);
            shell.results.revoked(Revoked {
                message: Some(error.to_string()),
                ..revoked(RevokedState::Failed)
            });
            Ending::Failed(class)
        }
    }
}

/// Paths, as they are printed.
pub(in crate::cli) fn paths(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| escape(&path.to_string_lossy()).into_owned()).collect()
}

/// Where copies stay, to be put behind what was done.
pub(in crate::cli) fn stays_in(copies: &[String]) -> String {
    if copies.is_empty() {
        return String::new();
    }
    format!("; copies of its key and certificate stay in {}", copies.join(", "))
}
