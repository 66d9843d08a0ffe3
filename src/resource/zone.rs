//! A time zone of a manifest, by its IANA name.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A zone with its name as written; the default, without a name, is UTC. Its rules are those
/// compiled in: nothing here reads a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

/// No zone of this name is known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown time zone `{name}`")]
pub struct UnknownZone {
    name: String,
}

impl Zone {
    /// The zone's rules.
    pub fn rules(&self) -> &TimeZone {
        &self.rules
    }

    /// Whether no zone was given.
    pub fn is_default(&self) -> bool {
        self.name.is_empty()
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self { name: String::new(), rules: TimeZone::UTC }
    }
}

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(name: &str) -> Result<Self, UnknownZone> {
        static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
        let rules = match name {
            "" | "UTC" => Ok(TimeZone::UTC),
            name => ZONES.get(name).map_err(|_| UnknownZone { name: name.to_owned() }),
        };
        Ok(Self { name: name.to_owned(), rules: rules? })
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
