//! `dns01.webhook`: solvers that are not built into cert-manager.
//!
//! | groupName, solverName | what it is |
//! | --- | --- |
//! | `certctl`, `http` | [`http`]: cert-manager's ChallengePayload, posted to a URL |
//! | `certctl`, `exec` | [`super::exec`]: a program in `solvers.d` that `config` names |
//! | `certctl`, a provider | that provider, with `config` as its settings: one of cert-manager's, or with the feature `more-dns-providers` one of many more |
//! | anything else | [`super::exec`]: the program `solvers.d/<groupName>/<solverName>` |

mod authorities;
pub(super) mod http;
#[cfg(test)]
mod tests;

use self::http::fault;
#[cfg(feature = "more-dns-providers")]
use super::dns_update;
use super::error::shown;
use super::{Context, Opened, ProviderError, exec, names};
use crate::resource::SOLVER_GROUP;
use crate::resource::dns01::Webhook;

pub(super) fn open(settings: &Webhook, context: &Context<'_>) -> Opened {
    let config = settings.config.as_ref();
    match (settings.group_name.as_str(), settings.solver_name.as_str()) {
        (SOLVER_GROUP, "exec") => exec::open_command(config, context),
        (SOLVER_GROUP, "http") => http::open(config, context),
        #[cfg(feature = "more-dns-providers")]
        (SOLVER_GROUP, name) if let Some(row) = dns_update::row(name) => {
            dns_update::open(row, config, context)
        }
        (SOLVER_GROUP, name) => Err(unknown(name)),
        (group, solver) => exec::open_solver(group, solver, config, context),
    }
}

fn unknown(name: &str) -> ProviderError {
    fault(format!(
        "solverName: groupName {SOLVER_GROUP} has no `{}`; there are exec, http, {}{OTHER_BUILD}",
        shown(name),
        names().join(", ")
    ))
}

/// The end of the message that lists this build's providers.
const OTHER_BUILD: &str = if cfg!(feature = "more-dns-providers") {
    ""
} else {
    "; a build with the feature more-dns-providers has more"
};
