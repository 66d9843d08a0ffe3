//! A verb that was typed without its argument: the names that it takes.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::completion;
use crate::cli::environment::Environment;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;

/// What leads on; `None` where something else is wrong, or the argument is no certificate.
pub(super) fn advice(
    refusal: &clap::Error,
    words: &[OsString],
    environment: &Environment,
) -> Option<CliError> {
    if refusal.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let Some(ContextValue::Strings(missing)) = refusal.get(ContextKind::InvalidArg) else {
        return None;
    };
    let typed = |verb: &&&str| words.iter().skip(1).any(|word| word == **verb);
    let missing = missing.join(" ").replace(['<', '>'], "").replace("...", "");
    if let Some((_, kind)) =
        KINDS.iter().find(|(word, _)| typed(&word)).filter(|_| typed(&&"create"))
    {
        let text = format!("`create {kind}` needs {missing}");
        let help = format!("certctl help create {kind}");
        let error = CliError::new(ExitCode::Usage, text);
        return Some(error.trying_any(&[("certctl create", "asks on a terminal"), (&help, "")]));
    }
    let verb = VERBS.iter().find(typed)?;
    let names = completion::certificates(words, environment, Path::new("."));
    let error = CliError::new(ExitCode::Usage, format_args!("`{verb}` needs {missing}"));
    // What changes something is to be typed, not pasted.
    let first = names.first().filter(|_| SHOWING.contains(verb)).map_or("NAME", String::as_str);
    if names.len() == 1 && first != "NAME" {
        return Some(error.trying(format_args!("certctl {verb} {first}")));
    }
    let line = format!("certctl {verb} {first}");
    Some(match names.len() {
        0 => error.trying_any(&[("certctl status", ""), (&format!("certctl help {verb}"), "")]),
        1..=FEW => error.trying_any(&[(&line, &format!("the names are: {}", names.join(", ")))]),
        _ => error.trying_any(&[(&line, ""), ("certctl status", "lists the names")]),
    })
}

/// The verbs of a certificate.
const VERBS: &[&str] = &["describe", "forget", "inspect", "revoke", "rollback"];
/// What `create` makes, by each of its names.
const KINDS: &[(&str, &str)] =
    &[("certificate", "certificate"), ("cert", "certificate"), ("issuer", "issuer")];
/// Those that change nothing.
const SHOWING: &[&str] = &["describe", "inspect"];
/// How many names are listed.
const FEW: usize = 5;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Arguments;

    #[test]
    fn a_verb_without_its_argument_names_what_there_is() {
        let state = tempfile::tempdir().unwrap();
        let hint_of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let refusal = Arguments::command().try_get_matches_from(&words).unwrap_err();
            let folder = state.path().to_str().unwrap();
            let folders = [("CERTCTL_CONFIG_DIR", folder), ("CERTCTL_STATE_DIR", "/nowhere")];
            advice(&refusal, &words, &Environment::from_pairs(&folders))?
                .hint
                .map(|hint| hint.to_string())
        };
        let create = "certctl create # asks on a terminal\ncertctl help create certificate";
        for line in ["certctl create certificate", "certctl create cert"] {
            assert_eq!(hint_of(line).as_deref(), Some(create), "{line}");
        }
        let none = "certctl status\ncertctl help revoke";
        assert_eq!(hint_of("certctl revoke").as_deref(), Some(none));
        for name in ["web", "mail"] {
            let manifest = format!(
                "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {{name: {name}}}\n\
                 spec: {{secretName: {name}, dnsNames: [{name}.example.test], issuerRef: {{name: ca}}}}\n"
            );
            let mut file = File::create(state.path().join(format!("{name}.yaml"))).unwrap();
            file.write_all(manifest.as_bytes()).unwrap();
        }
        for (line, hint) in [
            ("certctl revoke", Some("certctl revoke NAME # the names are: mail, web")),
            ("certctl inspect", Some("certctl inspect mail # the names are: mail, web")),
            ("certctl check dns", None),
            ("certctl revoke web --reason nonsense", None),
        ] {
            assert_eq!(hint_of(line).as_deref(), hint, "{line}");
        }
    }
}
