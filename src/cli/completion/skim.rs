//! Names out of a manifest without parsing it: fast enough for a thousand files at each TAB.
//!
//! Contract: what is read is what somebody may want to write again, never a decision. A document
//! in block style, as people and `kubectl get -o yaml` write it, is read line by line; anything
//! else is `None`, and is for the parser. What is no valid name is left out, so that nothing in a
//! file reaches the terminal but names.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::resource::{NamespacedName, is_dns_label, is_dns_subdomain};

/// An object, as far as it is of use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// `Certificate`, `Issuer`, `ClusterIssuer`, or another one.
    pub(super) kind: String,
    /// Its namespace; empty for a ClusterIssuer.
    pub(super) namespace: String,
    /// Its name.
    pub(super) name: String,
    /// Its labels.
    pub(super) labels: BTreeMap<String, String>,
    /// Its `spec.dnsNames`.
    pub(super) dns_names: Vec<String>,
    /// Its `spec.secretName`.
    pub(super) secret: String,
}

impl Seen {
    /// Namespace and name.
    pub(super) fn key(&self) -> NamespacedName {
        NamespacedName::new(&self.namespace, &self.name)
    }
}

/// The objects in a manifest; `None` when it has to be parsed.
pub(super) fn skim(text: &str) -> Option<Vec<Seen>> {
    let mut skimmer = Skimmer::default();
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        skimmer.json(&serde_json::from_str(text).ok()?);
        return Some(skimmer.found);
    }
    for line in text.lines() {
        skimmer.line(line)?;
    }
    skimmer.close();
    Some(skimmer.found)
}

#[derive(Default)]
struct Skimmer {
    found: Vec<Seen>,
    current: Seen,
    /// The keys that lead to the line, with their indents.
    path: Vec<(usize, String)>,
    /// A block of text: all lines that are indented deeper than this.
    text_below: Option<usize>,
}

impl Skimmer {
    fn line(&mut self, line: &str) -> Option<()> {
        let line = line.trim_end();
        let rest = line.trim_start_matches(' ');
        let mut indent = line.len() - rest.len();
        if self.text_below.is_some_and(|limit| rest.is_empty() || indent > limit) {
            return Some(());
        }
        self.text_below = None;
        if rest.is_empty() || rest.starts_with(['#', '%']) {
            return Some(());
        }
        if indent == 0 && ["---", "..."].iter().any(|marker| rest.starts_with(marker)) {
            self.close();
            // What follows a marker on its line is seldom more than a comment.
            let behind = rest.get(3..).unwrap_or_default().trim_start();
            return (behind.is_empty() || behind.starts_with('#')).then_some(());
        }
        if rest.starts_with(['\t', '{', '[', '&', '*', '!', '?', '<']) {
            return None;
        }
        let mut rest = rest;
        while let Some(item) = rest.strip_prefix('-') {
            if !item.is_empty() && !item.starts_with(' ') {
                break;
            }
            self.path.retain(|(depth, _)| *depth <= indent);
            if self.place().as_slice() == ["items"] {
                self.close_item();
            }
            let inside = item.trim_start();
            indent += rest.len() - inside.len();
            rest = inside;
            if rest.is_empty() {
                return Some(());
            }
            if split_key(rest).is_none() {
                return self.value(&self.place_owned(), rest);
            }
        }
        let Some((key, value)) = split_key(rest) else {
            // The next line of a text, or nothing that is known here.
            return Some(());
        };
        let was_list = self.path.first().is_some_and(|(_, key)| key == "items");
        self.path.retain(|(depth, _)| *depth < indent);
        if was_list && self.path.is_empty() {
            self.close_item();
        }
        self.path.push((indent, key.to_owned()));
        if value.starts_with(['|', '>']) {
            self.text_below = Some(indent);
            return Some(());
        }
        self.value(&self.place_owned(), value)
    }

    fn place(&self) -> Vec<&str> {
        self.path.iter().map(|(_, key)| key.as_str()).collect()
    }

    /// The keys that lead here from the object.
    fn place_owned(&self) -> Vec<String> {
        let keys = self.path.iter().map(|(_, key)| key.clone());
        let is_list = self.path.first().is_some_and(|(_, key)| key == "items");
        keys.skip(usize::from(is_list)).collect()
    }

    fn value(&mut self, place: &[String], value: &str) -> Option<()> {
        let place: Vec<&str> = place.iter().map(String::as_str).collect();
        let is_wanted = matches!(
            place.as_slice(),
            ["kind" | "metadata" | "spec"]
                | ["metadata", "name" | "namespace" | "labels"]
                | ["metadata", "labels", _]
                | ["spec", "secretName" | "dnsNames"]
        );
        let value = value.trim();
        if !is_wanted || value.is_empty() || value == "{}" || value == "[]" {
            return Some(());
        }
        if let ["spec", "dnsNames"] = place.as_slice()
            && let Some(inside) = value.strip_prefix('[')
        {
            let inside = plain(inside).strip_suffix(']')?;
            inside.split(',').for_each(|name| self.note(&place, plain(name)));
            return Some(());
        }
        if value.starts_with(['{', '[', '&', '*', '!']) {
            return None;
        }
        self.note(&place, plain(value));
        Some(())
    }

    fn note(&mut self, place: &[&str], value: &str) {
        let seen = &mut self.current;
        let value = value.to_owned();
        match place {
            ["kind"] => seen.kind = value,
            ["metadata", "name"] => seen.name = value,
            ["metadata", "namespace"] => seen.namespace = value,
            ["metadata", "labels", key] if is_label(key) && is_label(&value) => {
                seen.labels.insert((*key).to_owned(), value);
            }
            ["spec", "secretName"] if is_dns_subdomain(&value) => seen.secret = value,
            ["spec", "dnsNames"] if is_dns_subdomain(value.trim_start_matches("*.")) => {
                seen.dns_names.push(value);
            }
            _ => {}
        }
    }

    fn close(&mut self) {
        self.path.clear();
        self.close_item();
    }

    fn close_item(&mut self) {
        let mut seen = std::mem::take(&mut self.current);
        if seen.kind == "ClusterIssuer" {
            seen.namespace.clear();
        } else if seen.namespace.is_empty() {
            "default".clone_into(&mut seen.namespace);
        }
        let Seen { namespace, name, .. } = &seen;
        let is_named = is_dns_subdomain(name) && (namespace.is_empty() || is_dns_label(namespace));
        if is_named && !seen.kind.is_empty() {
            self.found.push(seen);
        }
    }

    fn json(&mut self, value: &Value) {
        for item in value.get("items").and_then(Value::as_array).into_iter().flatten() {
            self.json(item);
        }
        let at = |place: &[&str]| place.iter().try_fold(value, |value, key| value.get(key));
        for place in [
            &["kind"][..],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["spec", "secretName"],
        ] {
            self.note(place, text(at(place)));
        }
        let labels = at(&["metadata", "labels"]).and_then(Value::as_object);
        for (key, label) in labels.into_iter().flatten() {
            self.note(&["metadata", "labels", key], text(Some(label)));
        }
        let names = at(&["spec", "dnsNames"]).and_then(Value::as_array);
        for name in names.into_iter().flatten() {
            self.note(&["spec", "dnsNames"], text(Some(name)));
        }
        self.close_item();
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// `key: value`; a key in quotes loses them.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let (key, value) = match text.split_once(": ") {
        Some((key, value)) => (key, value.trim_start()),
        None => (text.strip_suffix(':')?, ""),
    };
    let key = key.trim_end();
    Some((key.trim_matches(['"', '\'']), value))
}

/// A scalar without its quotes and without a comment behind it.
fn plain(text: &str) -> &str {
    let text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inside) = text.strip_prefix(quote) {
            return inside.split(quote).next().unwrap_or_default();
        }
    }
    if text.starts_with('#') {
        return "";
    }
    text.split_once(" #").map_or(text, |(value, _)| value).trim_end()
}

/// What a label's key or value has in it (and `-l` can ask for).
fn is_label(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Options, Source, load};

    fn certificate(namespace: &str, name: &str) -> Seen {
        Seen {
            kind: "Certificate".into(),
            namespace: namespace.into(),
            name: name.into(),
            labels: [("team".to_owned(), "web".to_owned())].into(),
            dns_names: vec!["a.example".into(), "*.b.example".into()],
            secret: "web-tls".into(),
        }
    }

    fn issuer(kind: &str, namespace: &str) -> Seen {
        Seen {
            kind: kind.into(),
            namespace: namespace.into(),
            name: "le".into(),
            ..Seen::default()
        }
    }

    #[test]
    fn what_people_write_is_read() {
        let block = "\
# A comment: name
apiVersion: cert-manager.io/v1
kind: Certificate   # and one behind
metadata:
  annotations:
    note: |
      kind: Secret
      metadata: {name: nobody}

      spec: x
  name: \"web\"
  namespace: prod
  labels:
    team: 'web'
spec:
  secretName: web-tls
  dnsNames:
  - a.example
  - '*.b.example'
  issuerRef:
    name: le
    kind: ClusterIssuer
---
kind: ClusterIssuer
apiVersion: cert-manager.io/v1
metadata: 
  name: le
spec:
  acme:
    solvers:
    - selector: {dnsNames: [c.example]}
      http01: {ingress: {}}
    - http01:
        ingress: {}
";
        let wanted = vec![certificate("prod", "web"), issuer("ClusterIssuer", "")];
        assert_eq!(skim(block), Some(wanted.clone()));
        assert_eq!(skim(&block.replace('\n', "\r\n")), Some(wanted));
    }

    #[test]
    fn an_export_is_read() {
        let list = "\
apiVersion: v1
items:
- apiVersion: cert-manager.io/v1
  kind: Certificate
  metadata:
    labels:
      team: web
    name: web
    namespace: prod
    ownerReferences:
    - kind: Ingress
      name: other
  spec:
    dnsNames: [a.example, \"*.b.example\"]
    secretName: web-tls
- kind: Issuer
  metadata:
    name: le
kind: List
metadata:
  resourceVersion: \"\"
";
        assert_eq!(skim(list), Some(vec![certificate("prod", "web"), issuer("Issuer", "default")]));
        let json = r#"{"kind": "List", "items": [{"kind": "Certificate",
            "metadata": {"name": "web", "namespace": "prod", "labels": {"team": "web"}},
            "spec": {"secretName": "web-tls", "dnsNames": ["a.example", "*.b.example"]}}]}"#;
        assert_eq!(skim(json), Some(vec![certificate("prod", "web")]));
    }

    #[test]
    fn what_is_not_plain_is_for_the_parser() {
        for text in [
            "{kind: Certificate, metadata: {name: web}}",
            "kind: Certificate\nmetadata: {name: web}\n",
            "kind: &kind Certificate\nmetadata:\n  name: web\n",
            "kind: Certificate\nmetadata:\n  <<: *base\n  name: web\n",
            "--- {kind: Certificate}\n",
            "kind: Certificate\nmetadata:\n  name: web\nspec:\n  dnsNames: [a.example,\n  b]\n",
        ] {
            assert_eq!(skim(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_name_is_left_out() {
        for name in ["", "\u{1b}[31mweb", "We b", "../web", "{{ .name }}"] {
            let text = format!("kind: Certificate\nmetadata:\n  name: '{name}'\n");
            assert_eq!(skim(&text), Some(Vec::new()), "{name}");
        }
    }

    #[test]
    fn the_parser_finds_the_same_in_every_manifest_of_the_tree() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut folders = vec![root.join("examples"), root.join("tests/fixtures/manifests")];
        let mut seen_files = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.extension().is_none_or(|end| end != "yaml") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let loaded = load(&[Source::File(path.clone())], &Options::default());
                let Some(found) = skim(&text) else { continue };
                let names = |kind: &str| -> Vec<NamespacedName> {
                    let all = found.iter().filter(|seen| seen.kind.ends_with(kind));
                    all.map(Seen::key).collect()
                };
                let parsed: Vec<_> = loaded.certificates.iter().map(|c| c.metadata.key()).collect();
                assert!(parsed.iter().all(|key| names("Certificate").contains(key)), "{path:?}");
                let parsed: Vec<_> = loaded.issuers.iter().map(|i| i.metadata.key()).collect();
                assert!(parsed.iter().all(|key| names("Issuer").contains(key)), "{path:?}");
                seen_files += 1;
            }
        }
        assert!(seen_files > 5);
    }
}
