//! The `certctl/` annotations of a Certificate or an Issuer.
//!
//! Contract: no annotation holds a command: hooks are names of files in the operator's folder,
//! paths are absolute and without `..`.

use std::net::SocketAddr;
use std::path::Path;

use crate::resource::{ANNOTATION_PREFIX, ChallengeType, SOLVER, Settings, is_hidden};

use super::diagnostic::{Draft, short};
use super::field::one_of;
use super::name::is_component;
use super::sink::Sink;
use super::suggestion::nearest;
use super::tree::Node;

/// Reads the settings from `metadata.annotations`.
pub(crate) fn settings(object: &Node, sink: &mut Sink<'_>) -> Settings {
    let mut settings = Settings::default();
    let annotations = object.get("metadata").and_then(|metadata| metadata.get("annotations"));
    for entry in annotations.map(Node::entries).unwrap_or_default() {
        let Some(key) = entry.key.strip_prefix(ANNOTATION_PREFIX) else { continue };
        if !KEYS.contains(&key) {
            let full: Vec<String> =
                KEYS.iter().map(|key| format!("{ANNOTATION_PREFIX}{key}")).collect();
            let suggestion = nearest(key, KEYS.iter().copied())
                .or_else(|| KEYS.iter().find(|known| is_part(known, key)).map(ToString::to_string))
                .map(|key| format!("{ANNOTATION_PREFIX}{key}"));
            let message = format!("unknown annotation `{}`", short(&entry.key));
            let full: Vec<&str> = full.iter().map(String::as_str).collect();
            let draft = Draft::error("E0111", entry.key_span, "metadata.annotations", message);
            sink.add(match suggestion {
                Some(_) => draft.suggest(suggestion),
                None => draft.help(format!("known are {}", one_of(&full))),
            });
            continue;
        }
        // A value that is not text was reported when the annotations were decoded.
        let Some(text) = entry.value.as_text() else { continue };
        if let Err(reason) = set(&mut settings, key, text) {
            let message = format!("invalid value `{}`: {reason}", short(text));
            let path = format!("metadata.annotations.{}", entry.key);
            sink.error("E0111", entry.value.span, &path, message);
        }
    }
    settings
}

/// Whether `key` is `known` without its first word, such as `webroot`.
fn is_part(known: &str, key: &str) -> bool {
    known.split_once('-').is_some_and(|(_, rest)| rest == key)
}

fn set(settings: &mut Settings, key: &str, text: &str) -> Result<(), &'static str> {
    let owned = || Some(text.to_owned());
    match key {
        SOLVER => {
            ChallengeType::served(text).ok_or(SERVED)?;
            settings.solver = owned();
        }
        "http01" => {
            if text != "stateless" {
                return Err("the only value is `stateless`");
            }
            settings.http01_stateless = true;
        }
        "http01-listen" => settings.http01_listen = addresses(text)?,
        "http01-webroot" => {
            absolute(text)?;
            settings.http01_webroot = owned();
        }
        "http01-check-port" => {
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            let port = text.parse().ok().filter(|port| digits && *port != 0);
            settings.http01_check_port = Some(port.ok_or("a port is a number from 1 to 65535")?);
        }
        "output-dir" => {
            absolute(text)?;
            keeps_files(text)?;
            settings.output_dir = owned();
        }
        "output-owner" => {
            account(text)?;
            settings.output_owner = owned();
        }
        "output-group" => {
            account(text)?;
            settings.output_group = owned();
        }
        "output-mode" => settings.output_mode = Some(mode(text)?),
        "deploy-hook" => {
            hook(text)?;
            settings.deploy_hook = owned();
        }
        "reload" => {
            hook(text)?;
            settings.reload = owned();
        }
        "ca-crt" => {
            if text != "from-ca-bundle" {
                return Err("the only value is `from-ca-bundle`");
            }
            settings.ca_crt_from_bundle = true;
        }
        "allow-untrusted" => {
            if text != "true" {
                return Err("the only value is `true`");
            }
            settings.allow_untrusted = true;
        }
        _ => {}
    }
    Ok(())
}

fn addresses(text: &str) -> Result<Vec<String>, &'static str> {
    let address = |part: &str| {
        let part = part.trim();
        let good = part.parse::<SocketAddr>().is_ok_and(|address| address.port() != 0);
        good.then(|| part.to_owned())
    };
    let found: Option<Vec<String>> = text.split(',').map(address).collect();
    found.ok_or("write addresses with ports, such as `[::]:80` or `192.0.2.1:8080`, with commas")
}

fn absolute(text: &str) -> Result<(), &'static str> {
    if !text.starts_with('/') {
        return Err("the path must be absolute");
    }
    if text.split('/').any(|part| part == "..") {
        return Err("`..` is not allowed in the path");
    }
    if text.chars().any(is_hidden) {
        return Err("control characters are not allowed in the path");
    }
    Ok(())
}

/// The kernel's own folders take no files.
fn keeps_files(text: &str) -> Result<(), &'static str> {
    let is_below = |folder: &&str| Path::new(text).starts_with(folder);
    if ["/proc", "/sys", "/dev"].iter().any(is_below) && !is_below(&"/dev/shm") {
        return Err("/proc, /sys and /dev cannot store files");
    }
    Ok(())
}

fn account(text: &str) -> Result<(), &'static str> {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let stem = text.strip_suffix('$').unwrap_or(text);
    if is_component(stem) && stem.bytes().all(inner) && stem.len() <= 32 {
        Ok(())
    } else {
        Err("not the name or number of an account")
    }
}

fn mode(text: &str) -> Result<u32, &'static str> {
    let octal = matches!(text.len(), 3 | 4) && text.bytes().all(|b| matches!(b, b'0'..=b'7'));
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| octal && *mode <= 0o777);
    let mode = mode.ok_or("write the mode in octal digits, such as 0640")?;
    if mode & 0o007 != 0 {
        return Err("private keys must not be open to others: the last digit must be 0");
    }
    if mode & 0o110 != 0 {
        return Err("the files are not programs: no digit may be odd, such as in 0640");
    }
    Ok(mode)
}

fn hook(text: &str) -> Result<(), &'static str> {
    if is_component(text) {
        Ok(())
    } else {
        Err("name a file in hooks.d, without `/`, made of letters, digits, '-', '_' and '.'")
    }
}

/// The values of `certctl/solver`.
pub(super) const SERVED: &str = "write `http-01` or `tls-alpn-01`";

const KEYS: &[&str] = &[
    SOLVER,
    "http01",
    "http01-listen",
    "http01-webroot",
    "http01-check-port",
    "output-dir",
    "output-owner",
    "output-group",
    "output-mode",
    "deploy-hook",
    "reload",
    "ca-crt",
    "allow-untrusted",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_annotation_is_checked() {
        for (key, good, bad) in [
            ("solver", "tls-alpn-01", "dns-01"),
            ("solver", "http-01", "TLS-ALPN-01"),
            ("http01", "stateless", "true"),
            ("http01-listen", "[::]:80, 192.0.2.1:8080", "localhost:80"),
            ("http01-listen", "0.0.0.0:1", "0.0.0.0:0"),
            ("http01-listen", "0.0.0.0:1", ""),
            ("http01-webroot", "/srv/www", "srv/www"),
            ("output-dir", "/etc/nginx/tls", "/etc/../root"),
            ("output-dir", "/a..b", "/a\nb"),
            ("output-dir", "/process/tls", "/proc/1"),
            ("output-dir", "/dev/shm/tls", "/dev"),
            ("output-dir", "/system", "//sys/./kernel"),
            ("http01-check-port", "5002", "0"),
            ("http01-check-port", "65535", "65536"),
            ("output-owner", "www-data", "-x"),
            ("output-group", "33", "a:b"),
            ("output-mode", "0640", "0644"),
            ("output-mode", "600", "0x1ff"),
            ("output-mode", "0600", "4600"),
            ("output-mode", "0660", "0750"),
            ("output-mode", "0640", "0710"),
            ("deploy-hook", "reload-nginx", "../x"),
            ("reload", "nginx.sh", "/bin/sh"),
            ("reload", "nginx", "nginx -s reload"),
            ("ca-crt", "from-ca-bundle", "yes"),
            ("allow-untrusted", "true", "yes"),
        ] {
            let mut settings = Settings::default();
            assert_eq!(set(&mut settings, key, good), Ok(()), "{key}: {good}");
            assert_ne!(settings, Settings::default(), "{key}: {good}");
            assert!(set(&mut Settings::default(), key, bad).is_err(), "{key}: {bad}");
        }
    }

    #[test]
    fn every_key_sets_something() {
        for key in KEYS {
            let mut settings = Settings::default();
            for text in [
                "/a",
                "stateless",
                "http-01",
                "0600",
                "600",
                "a",
                "[::]:80",
                "from-ca-bundle",
                "true",
            ] {
                _ = set(&mut settings, key, text);
            }
            assert_ne!(settings, Settings::default(), "{key}");
        }
    }
}
