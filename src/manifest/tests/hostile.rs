//! Hostile input: never a panic, never a hang, always one error with a position.

use super::super::*;
use super::{alone, findings, read};

#[test]
fn hostile_documents_are_refused_where_they_are() {
    let long = "k".repeat(900_000);
    let bomb = {
        let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
        for n in 1..9 {
            let list = vec![format!("*a{}", n - 1); 9].join(",");
            text = format!("{text}a{n}: &a{n} [{list}]\n");
        }
        text
    };
    let quadratic = format!("a: &a {}\nb: [{}]", "x".repeat(300_000), "*a,".repeat(9_000));
    let deep: String = "[".repeat(10_000);
    for (text, code) in [
        (bomb, "E0007"),
        (quadratic, "E0007"),
        ("a: &a [*a]".into(), "E0007"),
        (deep, "E0006"),
        (format!("[{}]", "a,".repeat(500_000)), "E0007"),
        ("a: 1\na: 2".into(), "E0104"),
        ("a: \0".into(), "E0009"),
        ("a: \u{7f}".into(), "E0009"),
        ("a: !!python/object:os.system x".into(), "E0010"),
        ("---\n".repeat(250_000), "E0005"),
        (" ".repeat(1_100_000), "E0002"),
        ("? [a, b]\n: 1".into(), "E0004"),
        ("a: 'x".into(), "E0004"),
        ("a: {{ .Values.x }}".into(), "E0008"),
        ("{{- if .x }}\na: 1\n{{- end }}".into(), "E0008"),
        (format!("{long}: 1"), "E0004"),
        (format!("? {long}\n: 1"), "E0101"),
        ("just text".into(), "E0103"),
        ("- a list".into(), "E0103"),
    ] {
        let loaded = read(&text);
        let found = loaded.diagnostics.first();
        let shown = text.get(..30).unwrap_or(&text);
        assert_eq!(found.map(|d| d.code), Some(code), "{shown}: {:?}", findings(&loaded));
        for diagnostic in &loaded.diagnostics {
            assert!(diagnostic.render().len() < 2_000, "{shown}");
        }
    }
}

#[test]
fn bytes_that_are_no_utf_8_are_refused() {
    for bytes in [&b"\xff\xfea\0:\0"[..], b"\xfe\xff\0a", b"a: \xff", b"a: \xc3"] {
        let loaded = load(&[Source::Stdin(bytes.to_vec())], &Options::default());
        assert_eq!(loaded.diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0003"]);
    }
}

#[test]
fn thousands_of_mistakes_are_counted_not_kept() {
    let fields: String = (0..50_000).flat_map(|n| [n.to_string(), ": 1\n".to_owned()]).collect();
    let text = format!("apiVersion: cert-manager.io/v1\nkind: Certificate\n{fields}");
    let loaded = read(&text);
    assert!(loaded.diagnostics.len() <= 201);
    assert!(loaded.certificates.is_empty());
    let one_line = text.lines().skip(2).collect::<Vec<_>>().join(", ");
    let one_line = format!("{{apiVersion: cert-manager.io/v1, kind: Certificate, {one_line}}}");
    assert!(read(&one_line).diagnostics.iter().all(|d| d.render().len() < 2_000));
}

#[test]
fn nothing_of_a_secret_is_ever_shown() {
    for text in [
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {tls.key: hunter2!}",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {tls.key: [hunter2]}",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: A}\ndata: hunter2",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: 'hunter2",
        "{\"kind\": \"Secret\", \"apiVersion\": \"v1\", \"data\": {\"a\": \"hunter2\" \"b\"}}",
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, data: {a: hunter2}}]",
    ] {
        let loaded = read(text);
        assert!(!loaded.diagnostics.is_empty(), "{text}");
        for diagnostic in &loaded.diagnostics {
            let all = format!("{}{diagnostic:?}", diagnostic.render());
            assert!(!all.contains("hunter2"), "{all}");
        }
    }
}

#[test]
fn kinds_and_versions_are_told_apart() {
    let object = |version: &str, kind: &str| {
        format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}")
    };
    let wrong = |version: &str| {
        vec![format!(
            "E0106 1:13 apiVersion: unsupported apiVersion `{version}`: use cert-manager.io/v1"
        )]
    };
    for (version, kind, expected) in [
        ("apps/v1", "Deployment", vec![]),
        ("v1", "ConfigMap", vec![]),
        ("cert-manager.io/v1", "CertificateRequest", vec![]),
        ("acme.cert-manager.io/v1", "Order", vec![]),
        ("networking.internal.knative.dev/v1alpha1", "Certificate", vec![]),
        ("cert-manager.io/v1alpha2", "Certificate", wrong("cert-manager.io/v1alpha2")),
        ("cert-manager.io/v1beta1", "Issuer", wrong("cert-manager.io/v1beta1")),
        ("certmanager.k8s.io/v1alpha1", "Issuer", wrong("certmanager.k8s.io/v1alpha1")),
        ("certmanager.io/v1", "Issuer", wrong("certmanager.io/v1")),
        ("v1", "Certificate", wrong("v1")),
        (
            "cert-manager.io/v1",
            "Certficate",
            vec!["E0107 2:7 kind: unknown kind `Certficate` in cert-manager.io/v1".to_owned()],
        ),
    ] {
        let loaded = read(&object(version, kind));
        assert_eq!(findings(&loaded), expected, "{version} {kind}");
        assert_eq!(loaded.skipped.len(), usize::from(expected.is_empty()), "{version} {kind}");
    }
    assert_eq!(
        alone("metadata: {}"),
        ["E0101 1:1 apiVersion: must be specified", "E0101 1:1 kind: must be specified"]
    );
}
