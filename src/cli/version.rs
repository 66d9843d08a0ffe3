//! `certctl version`: the version, and with -v each directory and where it comes from.
//!
//! Contract: touches no file; answers within milliseconds.

use serde_json::{Value, json};

use super::args::{Format, GlobalArgs, VersionArgs};
use super::environment::{Directory, Environment, EnvironmentError};
use super::error::CliError;
use super::exit::ExitCode;
use super::yaml;

/// The crate's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What `certctl version` prints on stdout.
pub fn render(
    args: &VersionArgs,
    global: &GlobalArgs,
    environment: &Environment,
) -> Result<String, CliError> {
    match global.format() {
        Format::Text | Format::Wide if args.short => Ok(format!("{VERSION}\n")),
        Format::Text | Format::Wide => Ok(text(global, environment)),
        Format::Json => Ok(format!("{:#}\n", value(global, environment))),
        Format::Yaml => yaml::document(&value(global, environment)),
        Format::Name | Format::Prometheus => {
            Err(CliError::new(ExitCode::Usage, "version has no such format")
                .hinted("certctl version --short"))
        }
    }
}

fn text(global: &GlobalArgs, environment: &Environment) -> String {
    let mut text = format!("certctl {VERSION}\n");
    if global.verbose > 0 {
        for (what, directory) in directories(global, environment) {
            let line = match directory {
                Ok(Some(Directory { path, source })) => format!("{} ({source})", path.display()),
                Ok(None) => "none".to_owned(),
                Err(error) => format!("unknown ({error})"),
            };
            let label = format!("{what} directory:");
            text = format!("{text}{label:<23}{line}\n");
        }
    }
    text
}

fn value(global: &GlobalArgs, environment: &Environment) -> Value {
    let mut found = serde_json::Map::new();
    for (what, directory) in directories(global, environment) {
        let entry = match directory {
            Ok(Some(Directory { path, source })) => {
                json!({ "path": path.to_string_lossy(), "origin": source.to_string() })
            }
            Ok(None) => Value::Null,
            Err(error) => json!({ "error": error.to_string() }),
        };
        found.insert(what.to_owned(), entry);
    }
    json!({
        "apiVersion": "certctl.io/v1",
        "kind": "Version",
        "version": VERSION,
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        "directories": found,
    })
}

type Found = Result<Option<Directory>, EnvironmentError>;

fn directories(global: &GlobalArgs, environment: &Environment) -> [(&'static str, Found); 3] {
    [
        ("config", environment.config_dir(global.config_dir.as_deref()).map(Some)),
        ("state", environment.state_dir(global.state_dir.as_deref()).map(Some)),
        ("credentials", Ok(environment.credentials_dir())),
    ]
}
