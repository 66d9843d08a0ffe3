//! `certctl forget`: ends the management of certificates.

use super::args::ForgetArgs;
use super::error::CliError;
use super::exit::ExitCode;
use super::leftovers::place;
use super::run::{on_one_thread, open_state};
use super::shell::Shell;
use super::target::NameTarget;
use super::work::known;
use crate::resource::NamespacedName;
use crate::store::{OpenMode, Records};

/// Removes what the state remembers of the named certificates; the issued files only when asked.
pub(crate) fn forget(args: &ForgetArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let path = shell.environment.state_dir(shell.global.state_dir.as_deref())?.path;
    on_one_thread(async {
        let state = open_state(&path, OpenMode::ReadWrite)?;
        let records = known(&state).await?;
        let names: Vec<NamespacedName> = records.iter().map(|(name, _)| name.clone()).collect();
        let mut meant = Vec::new();
        for word in &args.names {
            let text = word.to_string_lossy();
            let target = NameTarget::parse(&text).ok_or_else(|| {
                CliError::new(ExitCode::Usage, format_args!("`{text}` is no name"))
            })?;
            meant.push(target.find(&names, shell.global.namespace())?);
        }
        for name in meant {
            let orders = Records::new(&state).all_orders(&name).await?;
            let owed = orders.iter().filter_map(|(_, kept)| kept.as_ref().ok());
            for order in owed.map(|kept| &kept.value) {
                let left: Vec<String> = order.challenges.iter().filter_map(place).collect();
                if !left.is_empty() {
                    let (order, left) = (&order.name, left.join("; "));
                    shell
                        .output
                        .talk(&format!("warning: order {order} may have left behind: {left}"));
                }
            }
            let record = records.iter().find(|(known, _)| known == &name);
            let secret =
                record.map(|(_, record)| NamespacedName::new(&name.namespace, &record.secret_name));
            let removed = secret.as_ref().filter(|_| args.secret);
            state.forget(&name, removed, shell.global.lock_timeout.0).await?;
            let files = match secret.and_then(|secret| state.secret_path(&secret).ok()) {
                Some(folder) if !args.secret && folder.exists() => {
                    format!("; its files stay in {}", folder.display())
                }
                Some(_) | None => String::new(),
            };
            shell.output.talk(&format!("{name} forgotten{files}"));
        }
        Ok(ExitCode::Done)
    })
}
