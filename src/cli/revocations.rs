//! What is owed in revocations: done by every run that writes, and told.

use super::error::CliError;
use super::exit;
use super::message::{Level, Message};
use super::output::escape;
use super::result::{Revoked, RevokedState};
use super::shell::Shell;
use crate::controller::EffectError;
use crate::resource::{NamespacedName, Revocation};
use crate::workspace::{Finished, Workspace};

/// Revokes what is owed of one certificate, or of all that are known, and says what came of it.
/// How it ended is told for each that is owed still.
pub(crate) async fn finish(
    shell: &mut Shell,
    workspace: &mut Workspace,
    only: Option<&NamespacedName>,
    verb: &'static str,
) -> Result<Vec<exit::Ending>, CliError> {
    let mut endings = Vec::new();
    for (name, finished) in workspace.finish_revocations(only, verb).await? {
        let (told, owed) = match finished {
            Finished::Told(told, owed) => (told, owed),
            Finished::Failed(error) => return Err(error.into()),
            Finished::WithoutManifest => {
                shell.output.talk(
                    Level::Warn,
                    &format!(
                        "{name}: a revocation is owed, and its Certificate and Issuer are \
                     not there; the first run that finds them does it"
                    ),
                );
                continue;
            }
        };
        endings.extend(
            told.into_iter().map(|told| tell(shell, &name, &told.revocation, &told.answer)),
        );
        for revocation in owed {
            let serial = &revocation.serial;
            shell.results.revoked(Revoked::new(
                Some(&name),
                serial,
                revocation.reason,
                RevokedState::Owed,
            ));
            shell.output.talk(
                Level::Info,
                &format!(
                    "owed: {name}: serial {serial} is not revoked yet: it is as soon as its \
                 replacement is issued and deployed\n  to revoke it before: certctl revoke {name} \
                 --now"
                ),
            );
            endings.push(exit::Ending::Deferred);
        }
    }
    Ok(endings)
}

fn tell(
    shell: &mut Shell,
    name: &NamespacedName,
    revocation: &Revocation,
    answer: &Result<(), EffectError>,
) -> exit::Ending {
    let Revocation { serial, reason, .. } = revocation;
    let revoked = |state| Revoked::new(Some(name), serial, *reason, state);
    match answer {
        Ok(()) => {
            shell.results.revoked(revoked(RevokedState::Revoked));
            shell.output.talk(Level::Info, &format!("{name}: serial {serial} revoked ({reason})"));
            exit::Ending::Changed
        }
        Err(error) => {
            let next = if revocation.is_owed() {
                "tried again by the next run".to_owned()
            } else {
                "not tried again: the CA has refused; with the certificate's own key it can be \
                 done: certctl revoke FILE --key KEYFILE"
                    .to_owned()
            };
            let message = error.to_string();
            let message = escape(&message);
            let text = format!("error: {name}: serial {serial} not revoked: {message}\n  {next}");
            let class = error.cause.class();
            let remark = Message::new(Level::Error, text, format_args!("not revoked: {message}"))
                .with("certificate", name.to_string())
                .with("class", class.word())
                .with("serial", serial.as_str())
                .with("next_attempt", serde_json::Value::Null)
                .with("hint", next);
            shell.output.tell(&remark);
            shell.results.revoked(Revoked {
                message: Some(error.to_string()),
                ..revoked(RevokedState::Failed)
            });
            exit::Ending::Failed(class)
        }
    }
}
