//! `certctl forget`: ends the management of certificates.

use super::args::ForgetArgs;
use super::error::CliError;
use super::exit::ExitCode;
use super::message::Level;
use super::orphans::place;
use super::run::on_one_thread;
use super::shell::Shell;
use super::targets::open;
use crate::resource::NamespacedName;
use crate::workspace::target::NameTarget;

/// Removes the state of the named certificates; the issued files only with the flag for it.
pub(crate) fn forget(args: &ForgetArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    on_one_thread(async {
        let mut workspace = open(shell).await?;
        workspace.make_writable()?;
        let (state, records) = (workspace.state(), workspace.records());
        let names: Vec<NamespacedName> = records.iter().map(|(name, _)| name.clone()).collect();
        let mut meant = Vec::new();
        for word in &args.names {
            let text = word.to_string_lossy();
            let target = NameTarget::parse(&text).ok_or_else(|| {
                CliError::new(ExitCode::Usage, format_args!("`{text}` is not a valid name"))
            })?;
            meant.push(target.find(&names, shell.global.namespace())?);
        }
        for name in meant {
            for order in workspace.orders(&name).await? {
                let left: Vec<String> = order.challenges.iter().filter_map(place).collect();
                if !left.is_empty() {
                    let (order, left) = (&order.name, left.join("; "));
                    shell.output.talk(Level::Warn, &format!("order {order} may have left: {left}"));
                }
            }
            let record = records.iter().find(|(known, _)| known == &name);
            let secret =
                record.map(|(_, record)| NamespacedName::new(&name.namespace, &record.secret_name));
            let removed = secret.as_ref().filter(|_| args.secret);
            workspace.forget(&name, removed).await?;
            let files = match secret.and_then(|secret| state.secret_path(&secret).ok()) {
                Some(folder) if !args.secret && folder.exists() => {
                    format!("; its files stay in {}", folder.display())
                }
                Some(_) | None => String::new(),
            };
            shell.output.talk(Level::Info, &format!("{name} forgotten{files}"));
        }
        Ok(ExitCode::Done)
    })
}
