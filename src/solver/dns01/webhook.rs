//! `dns01.webhook`: what is no provider of cert-manager.
//!
//! | groupName, solverName | what it is |
//! | --- | --- |
//! | `certctl.io`, `http` | [`http`]: cert-manager's ChallengePayload, posted to a URL |
//! | `certctl.io`, `exec` | [`super::exec`]: a program in `solvers.d` that `config` names |
//! | `certctl.io`, a provider | that provider, with `config` as its settings: one of cert-manager's, or with the feature `more-dns-providers` one of many more |
//! | anything else | [`super::exec`]: the program `solvers.d/<groupName>/<solverName>` |

mod authorities;
mod http;
mod payload;
#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub(super) use self::payload::{Action, Payload, rooted};
use super::error::shown;
#[cfg(feature = "more-dns-providers")]
use super::more;
use super::{Context, DnsProvider, Entry, ProviderError, entries, exec};
use crate::resource::{Dns01Provider, Webhook};

pub(super) const ENTRY: Entry = Entry {
    name: NAME,
    needs_zone: true,
    is_for: |provider| matches!(provider, Dns01Provider::Webhook(_)),
    open,
};

fn open(
    provider: &Dns01Provider,
    context: &Context<'_>,
) -> Result<Box<dyn DnsProvider>, ProviderError> {
    let Dns01Provider::Webhook(settings) = provider else {
        return Err(fault("these are the settings of another provider"));
    };
    match (settings.group_name.as_str(), settings.solver_name.as_str()) {
        (OWN_GROUP, "exec") => exec::open_command(settings.config.as_ref(), context),
        (OWN_GROUP, "http") => http::open(settings.config.as_ref(), context),
        (OWN_GROUP, name) => open_named(name, settings, context),
        (group, solver) => exec::open_solver(group, solver, settings.config.as_ref(), context),
    }
}

/// The provider that the settings of a webhook name.
pub(super) fn named(provider: &Dns01Provider) -> Option<&'static Entry> {
    let Dns01Provider::Webhook(settings) = provider else { return None };
    (settings.group_name == OWN_GROUP).then(|| entry_named(&settings.solver_name)).flatten()
}

fn entry_named(name: &str) -> Option<&'static Entry> {
    others().find(|entry| entry.name == name)
}

fn others() -> impl Iterator<Item = &'static Entry> {
    entries().filter(|entry| entry.name != NAME)
}

/// A provider by its name.
fn open_named(
    name: &str,
    settings: &Webhook,
    context: &Context<'_>,
) -> Result<Box<dyn DnsProvider>, ProviderError> {
    #[cfg(feature = "more-dns-providers")]
    if let Some(opened) = more::open(name, settings.config.as_ref(), context) {
        return opened;
    }
    let Some(entry) = entry_named(name) else {
        let known: Vec<&str> = others().map(|entry| entry.name).collect();
        let reason = format!(
            "solverName: groupName {OWN_GROUP} has no `{}`; there are exec, http, {}{MORE}",
            shown(name),
            known.join(", ")
        );
        return Err(ProviderError::Settings { provider: NAME, reason });
    };
    let config = settings.config.clone().unwrap_or_else(|| Value::Object(Map::new()));
    let tagged = Value::Object(Map::from_iter([(name.to_owned(), config)]));
    let provider: Dns01Provider = decoded(entry.name, &tagged)?;
    (entry.open)(&provider, context)
}

/// Reads a `config`. What stands in it may be a credential that was meant to be a reference, so
/// that no text of it is shown but the names of its fields.
pub(super) fn decoded<T: DeserializeOwned>(
    provider: &'static str,
    config: &Value,
) -> Result<T, ProviderError> {
    T::deserialize(config).map_err(|error| {
        let said = error.to_string();
        let wrong = ["invalid type: ", "invalid value: "].iter().find_map(|p| said.strip_prefix(p));
        let reason = match wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
            Some((found, expected)) => {
                let kind = found.split([' ', '"', '`']).next().unwrap_or_default();
                let expected = expected.trim_start_matches("struct ");
                format!("config: a {kind} stands where {expected} is expected")
            }
            None => format!("config: {}", shown(&said)),
        };
        ProviderError::Settings { provider, reason }
    })
}

fn fault(reason: impl Into<String>) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason: reason.into() }
}

const NAME: &str = "webhook";
const OWN_GROUP: &str = "certctl.io";
/// What is said after the list of this build's providers.
const MORE: &str = if cfg!(feature = "more-dns-providers") {
    ""
} else {
    "; a build with the feature more-dns-providers has more"
};
