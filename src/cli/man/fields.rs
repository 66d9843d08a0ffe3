//! The fields of certctl.yaml(5): those of `certctl explain`, as a manual page.

use crate::cli::words::field::{ANNOTATIONS, table};
use crate::cli::words::field::{Field, REQUIRED, Type, Used};

/// A section for each part of the table, as text for man(1).
pub(super) fn sections() -> String {
    let mut text = String::new();
    for title in ["Metadata", "Certificate", "Issuer", "Annotations", "Secret", "Status"] {
        text.push_str(&[".SH ", &title.to_uppercase(), "\n"].concat());
        for field in table::section(title) {
            let path = field.path.strip_prefix(ANNOTATIONS).unwrap_or(field.path);
            let (path, about) = (escaped(path), escaped(&about(field)));
            let used = match field.used {
                Used::Both => "both",
                Used::Cluster => "cluster",
                Used::Certctl => "certctl",
            };
            text.push_str(&[".TP\n.BR ", &path, " \" (", used, ")\"\n", &about, "\n"].concat());
        }
    }
    text
}

/// Its meaning, the words for it, and what holds without it.
fn about(field: &Field) -> String {
    let mut text = field.rule.to_owned();
    if let Type::Word(choices) = field.kind {
        text.push_str(&[" One of ", choices.0, "."].concat());
    } else if let Type::Choices(choices) = field.kind {
        text.push_str(&[" Any of ", choices.0, "."].concat());
    }
    match field.default {
        "" => {}
        REQUIRED => text.push_str(" Required."),
        default => text.push_str(&[" Default: ", default, "."].concat()),
    }
    text
}

/// Text in which man(1) sees nothing of its own.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq").replace('\'', "\\(aq")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::words::field::Kind;
    use crate::cli::words::field::all;

    #[test]
    fn every_field_of_every_kind_is_on_the_page() {
        let text = sections();
        for kind in Kind::ALL {
            for field in all(kind) {
                let path = field.path.strip_prefix(ANNOTATIONS).unwrap_or(field.path);
                let line = format!("\n.BR {} \" (", escaped(path));
                assert!(text.contains(&line), "{}", field.path);
            }
        }
    }

    #[test]
    fn a_field_tells_its_words_and_its_default() {
        let text = sections();
        for block in [
            ".TP\n.BR spec.privateKey.rotationPolicy \" (both)\"\nAlways: a new key with each \
             issuance. Never: the key stays. One of Never, Always. Default: Always.\n",
            ".TP\n.BR certctl/deploy\\-hook \" (certctl)\"\n",
        ] {
            assert!(text.contains(block), "{block}");
        }
    }
}
