//! `certctl version`: the version, and with -v each directory and setting and where it comes from,
//! and what this build has that another may not have.
//!
//! Contract: touches no file but `config.toml`; answers within milliseconds, and with a broken
//! `config.toml` too.

use serde_json::{Value, json};

use super::args::{Format, VersionArgs};
use super::environment::{Directory, EnvironmentError};
use super::error::CliError;
use super::exit::ExitCode;
use super::output::escape;
use super::parse::{Setting, settings};
use super::shell::Shell;
use super::yaml;
use crate::solver::dns01;

/// The crate's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What `certctl version` prints on stdout.
pub fn render(args: &VersionArgs, shell: &Shell) -> Result<String, CliError> {
    match shell.global.format() {
        Format::Text | Format::Wide if args.short => Ok(format!("{VERSION}\n")),
        Format::Text | Format::Wide => Ok(text(shell)),
        Format::Json => Ok(format!("{:#}\n", value(shell))),
        Format::Yaml => yaml::document(&value(shell)),
        Format::Name | Format::Prometheus => {
            Err(CliError::new(ExitCode::Usage, "version has no such format")
                .hinted("certctl version --short"))
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
            format!("{}, not usable: errors in it: {mistakes}", path.display())
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
    text + &listed("features:", features) + &listed("DNS providers:", &dns01::names())
}

/// Words after a label, on as many lines of at most 100 columns as they need.
fn listed(label: &str, words: &[&str]) -> String {
    let mut text = String::new();
    let mut line = format!("{label:<23}");
    for (index, word) in words.iter().enumerate() {
        let last = index + 1 == words.len();
        let word = if last { (*word).to_owned() } else { format!("{word},") };
        if line.len() + word.len() > 100 {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(23);
        }
        line.push_str(&word);
        line.push(' ');
    }
    format!("{text}{}\n", line.trim_end())
}

fn value(shell: &Shell) -> Value {
    let mut found = serde_json::Map::new();
    for (what, directory) in directories(shell) {
        let entry = match directory {
            Ok(Some(Directory { path, source })) => {
                json!({ "path": path.to_string_lossy(), "origin": source.to_string() })
            }
            Ok(None) => Value::Null,
            Err(error) => json!({ "error": error.to_string() }),
        };
        found.insert(what.to_owned(), entry);
    }
    let settings = all_settings(shell).into_iter().map(|setting| {
        json!({
            "name": setting.name,
            "value": setting.value,
            "origin": setting.origin.to_string(),
        })
    });
    json!({
        "apiVersion": "certctl.io/v1",
        "kind": "Version",
        "version": VERSION,
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        "directories": found,
        "configFile": shell.config.path.as_ref().map(|path| json!({
            "path": path.to_string_lossy(),
            "errors": shell.config.mistakes,
        })),
        "settings": settings.collect::<Vec<_>>(),
        "features": FEATURES,
        "dnsProviders": dns01::names(),
    })
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
    fn a_long_list_is_broken_between_words() {
        let indent = " ".repeat(23);
        let words: Vec<String> = (0..20).map(|n| format!("word-{n:02}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let expected = format!(
            "names:                 word-00, word-01, word-02, word-03, word-04, word-05, word-06, \
             word-07,\n\
             {indent}word-08, word-09, word-10, word-11, word-12, word-13, word-14, word-15,\n\
             {indent}word-16, word-17, word-18, word-19\n"
        );
        assert_eq!(listed("names:", &words), expected);
        assert_eq!(listed("names:", &["none"]), "names:                 none\n");
    }

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
            "webhook",
        ];
        let found = dns01::names();
        assert_eq!(found.get(..own.len()), Some(own.as_slice()));
        let has_feature = cfg!(feature = "more-dns-providers");
        assert_eq!(found.len() > own.len(), has_feature);
        assert_eq!(FEATURES.contains(&"more-dns-providers"), has_feature);
    }
}
