//! `certctl version`: the version, and with -v each directory and setting and where it comes from,
//! and what this build has that another may not have.
//!
//! Contract: touches no file but `config.toml`; answers within milliseconds, and with a broken
//! `config.toml` too.

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::environment::EnvironmentError;
use crate::cli::render::text::behind;
use crate::cli::setting::{Setting, settings};
use crate::cli::{CliError, Directory, Ending, Format, Shell, VerbArgs, count, document, escape};
use crate::manifest::Diagnostic;
use crate::solver::dns01;

/// The crate's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Print the version; with -v also directories and settings.
///
/// It prints each setting with its origin.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Print only the version number.
    #[arg(long)]
    pub short: bool,
}

impl VerbArgs for VersionArgs {
    const NEEDS_SETTINGS: bool = false;

    fn acts_as_owner(&self, _has_files: bool) -> bool {
        false
    }

    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        shell.output.data(&render(self, shell)?)?;
        for mistake in &shell.config.mistakes {
            shell.output.finding(mistake);
        }
        Ok(Vec::new())
    }
}

/// Formats the output of `certctl version`.
fn render(args: &VersionArgs, shell: &Shell) -> Result<String, CliError> {
    match shell.global.format() {
        Format::Text | Format::Wide if args.short => Ok(format!("{VERSION}\n")),
        Format::Text | Format::Wide => Ok(text(shell)),
        format @ (Format::Json | Format::Yaml) => {
            Ok(document::text(&VersionDocument::of(shell), format)?)
        }
        Format::Name | Format::Prometheus => {
            Err(CliError::usage("version has no such format").trying("certctl version --short"))
        }
    }
}

fn text(shell: &Shell) -> String {
    let mut text = format!("certctl {VERSION}\n");
    if shell.global.verbose == 0 {
        return text;
    }
    let mut line = |label: &str, value: &str| text = format!("{text}{label:<23}{value}\n");
    for (what, directory) in directories(shell) {
        let value = match directory {
            Ok(Some(Directory { path, source })) => format!("{} ({source})", path.display()),
            Ok(None) => "none".to_owned(),
            Err(error) => format!("unknown ({error})"),
        };
        line(&format!("{what} directory:"), &value);
    }
    let file = match (&shell.config.path, shell.config.mistakes.len()) {
        (None, _) => "none".to_owned(),
        (Some(path), 0) => path.display().to_string(),
        (Some(path), mistakes) => {
            format!("{}, not used: {}", path.display(), count(mistakes, "error"))
        }
    };
    line("config file:", &file);
    line("settings:", "");
    text = text.trim_end().to_owned() + "\n";
    for Setting { name, value, origin } in all_settings(shell) {
        let value = escape(value.as_deref().unwrap_or("none"));
        text = format!("{text}  {name:<34} {value} ({origin})\n");
    }
    let features = if FEATURES.is_empty() { &["none"] } else { FEATURES };
    let width = Shell::columns().min(100);
    let listed = |label: &str, names: &[&str]| {
        behind(&format!("{label:<23}"), &names.join(", "), 23, width) + "\n"
    };
    text + &listed("features:", features) + &listed("DNS providers:", &dns01::names())
}

/// This build, and each directory and setting with its origin.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct VersionDocument {
    version: &'static str,
    /// Such as `linux/x86_64`.
    platform: String,
    directories: Directories,
    config_file: Option<ConfigFile>,
    settings: Vec<SettingItem>,
    /// The cargo features of this build.
    features: &'static [&'static str],
    dns_providers: Vec<&'static str>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Directories {
    config: Option<FoundDirectory>,
    state: Option<FoundDirectory>,
    credentials: Option<FoundDirectory>,
}

/// A directory and what names it, or why there is none.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum FoundDirectory {
    Known { path: String, origin: String },
    Unknown { error: String },
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ConfigFile {
    path: String,
    errors: Vec<Diagnostic>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SettingItem {
    name: String,
    value: Option<String>,
    origin: String,
}

impl VersionDocument {
    fn of(shell: &Shell) -> Self {
        let [config, state, credentials] =
            directories(shell).map(|(_, found)| FoundDirectory::of(found));
        let settings = all_settings(shell).into_iter().map(|setting| SettingItem {
            name: setting.name,
            value: setting.value,
            origin: setting.origin.to_string(),
        });
        Self {
            version: VERSION,
            platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
            directories: Directories { config, state, credentials },
            config_file: shell.config.path.as_ref().map(|path| ConfigFile {
                path: path.to_string_lossy().into_owned(),
                errors: shell.config.mistakes.clone(),
            }),
            settings: settings.collect(),
            features: FEATURES,
            dns_providers: dns01::names(),
        }
    }
}

impl FoundDirectory {
    fn of(found: Found) -> Option<Self> {
        match found.transpose()? {
            Ok(Directory { path, source }) => Some(Self::Known {
                path: path.to_string_lossy().into_owned(),
                origin: source.to_string(),
            }),
            Err(error) => Some(Self::Unknown { error: error.to_string() }),
        }
    }
}

fn all_settings(shell: &Shell) -> Vec<Setting> {
    settings(&shell.matches, &shell.environment, &shell.config)
}

type Found = Result<Option<Directory>, EnvironmentError>;

fn directories(shell: &Shell) -> [(&'static str, Found); 3] {
    let Shell { global, environment, .. } = shell;
    [
        ("config", environment.config_dir(global.config_dir.as_deref()).map(Some)),
        ("state", environment.state_dir(global.state_dir.as_deref()).map(Some)),
        ("credentials", Ok(environment.credentials_dir())),
    ]
}

/// The cargo features that change what certctl can do.
const FEATURES: &[&str] =
    if cfg!(feature = "more-dns-providers") { &["more-dns-providers"] } else { &[] };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_providers_of_this_build_are_those_that_a_solver_can_name() {
        let own = [
            "acmeDNS",
            "akamai",
            "azureDNS",
            "cloudDNS",
            "cloudflare",
            "digitalocean",
            "rfc2136",
            "route53",
        ];
        let found = dns01::names();
        assert_eq!(found.get(..own.len()), Some(own.as_slice()));
        let has_feature = cfg!(feature = "more-dns-providers");
        assert_eq!(found.len() > own.len(), has_feature);
        assert_eq!(FEATURES.contains(&"more-dns-providers"), has_feature);
    }
}
