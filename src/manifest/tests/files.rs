//! Files, folders, and references between the objects in them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use super::super::*;
use super::{findings, fixture, read};
use crate::host::rights;
use crate::resource::{
    Certificate, CertificateSpec, IssuerKind, KeyAlgorithm, NamespacedName, Permit, Right,
    SolverKind,
};

fn write(path: &Path, text: &str) {
    std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
}

#[test]
fn an_export_of_a_cluster_is_read_as_it_is() {
    let loaded = fixture("exported-list.yaml");
    assert_eq!(findings(&loaded), Vec::<String>::new());
    let [certificate] = loaded.certificates.as_slice() else { panic!("{loaded:?}") };
    let [issuer] = loaded.issuers.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(certificate.metadata.key(), NamespacedName::new("shop", "web"));
    assert_eq!(certificate.spec.key_parameters(), (KeyAlgorithm::Ecdsa, 256));
    assert_eq!(certificate.spec.issuer_ref.kind, IssuerKind::ClusterIssuer);
    assert_eq!(certificate.settings.deploy_hook.as_deref(), Some("reload-nginx"));
    assert_eq!((certificate.origin.line, certificate.origin.column), (26, 11));
    assert_eq!(issuer.metadata.key(), NamespacedName::new("", "letsencrypt"));
    let SolverKind::Http01(http01) = &issuer.acme.solvers[0].kind else { panic!("{issuer:?}") };
    assert_eq!(
        serde_json::to_string(http01).unwrap(),
        r#"{"ingress":{"ingressClassName":"nginx","podTemplate":{"metadata":{},"spec":{"nodeSelector":{"kubernetes.io/os":"linux"}}}}}"#
    );
    let reasons: Vec<String> = loaded.skipped.iter().map(|s| s.reason.to_string()).collect();
    assert_eq!(reasons, ["unsupported issuer type ca: only acme is served"]);
}

#[test]
fn the_same_issuer_in_two_files_is_one_and_two_of_one_name_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let issuer = |server: &str| {
        format!(
            "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: le}}\nspec:\n  acme:\n    \
             server: {server}\n    privateKeySecretRef: {{name: account}}\n    solvers:\n    - \
             http01: {{ingress: {{}}}}\n"
        )
    };
    for (second, issuers, codes) in
        [("https://a.example/dir", 1, vec![]), ("https://b.example/dir", 2, vec!["E0204"])]
    {
        write(&folder.path().join("one.yaml"), &issuer("https://a.example/dir"));
        write(&folder.path().join("two.yaml"), &issuer(second));
        let source = Source::Directory(folder.path().to_owned());
        let mut loaded = load(&[source], &Options::default());
        check_references(&mut loaded);
        let found: Vec<&str> = loaded.diagnostics.iter().map(|d| d.code).collect();
        assert_eq!((loaded.issuers.len(), found), (issuers, codes), "{second}");
    }
}

#[test]
fn every_field_of_the_schemas_is_read_and_kept() {
    let path = "tests/fixtures/manifests/every-field.yaml";
    let loaded = load(&[Source::File(path.into())], &Options::default());
    let unverified = "W0310 73:5 spec.acme.skipTLSVerify: the CA's TLS certificate is not verified: an \
                      attacker can impersonate this CA";
    assert_eq!(findings(&loaded), [unverified]);
    let [all, literal] = loaded.certificates.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(all.spec.common_name, "xn--bcher-kva.example");
    assert_eq!(literal.spec.literal_subject, "CN=www.example.com,O=a");
    // What is stored can be read again, and is what cert-manager would have written.
    for certificate in [all, literal] {
        let json = serde_json::to_string(&certificate.spec).unwrap();
        assert_eq!(serde_json::from_str::<CertificateSpec>(&json).unwrap(), certificate.spec);
    }
    let spec = serde_json::to_value(&all.spec).unwrap();
    let source: Vec<&str> = EVERY_FIELD.split_whitespace().collect();
    let written: Vec<&String> = spec.as_object().unwrap().keys().collect();
    assert_eq!(written, source);
    let [issuer] = loaded.issuers.as_slice() else { panic!("{loaded:?}") };
    assert_eq!(issuer.acme.solvers.len(), 15);
    assert_eq!(issuer.settings.http01_listen, ["[::]:80", "192.0.2.1:8080"]);
    assert_eq!(issuer.settings.output_mode, Some(0o640));
}

const EVERY_FIELD: &str = "additionalOutputFormats commonName dnsNames duration emailAddresses \
    encodeUsagesInRequest ipAddresses isCA issuerRef keystores nameConstraints otherNames \
    privateKey renewBefore renewal revisionHistoryLimit secretName secretTemplate \
    signatureAlgorithm subject uris usages";

#[test]
fn line_breaks_and_byte_order_marks_change_nothing() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: A\n";
    for text in [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        text.replace('\n', "\r"),
        format!("\u{feff}{text}"),
        format!("{text}...\n"),
    ] {
        let loaded = read(&text);
        let places: Vec<_> =
            loaded.diagnostics.iter().map(|d| (d.code, d.line, d.column)).collect();
        assert_eq!(places, [("E0109", 4, 9)], "{text:?}");
    }
}

#[test]
fn all_mistakes_come_in_one_go() {
    let loaded = fixture("four-mistakes.yaml");
    let mut found = findings(&loaded);
    found.sort();
    assert_eq!(
        found,
        [
            "E0004 19:11 : this bracket is never closed",
            "E0102 8:3 spec.dnsName: unknown field `dnsName` in Certificate.spec",
            "E0105 10:13 spec.duration: invalid value `90d`: a duration has no days: \
             write 2160h",
            "E0109 7:15 spec.secretName: a lowercase RFC 1123 subdomain must consist of lower case \
             alphanumeric characters, '-' or '.', and must start and end with an alphanumeric \
             character",
        ]
    );
    assert_eq!(loaded.issuers.len(), 1);
    assert!(loaded.is_blocked("Certificate", NamespacedName::new("default", "web")));
    let unknown = loaded.diagnostics.iter().find(|d| d.code == "E0102").unwrap();
    assert_eq!(
        unknown.render(),
        "error[E0102]: unknown field `dnsName` in Certificate.spec\n  \
         --> tests/fixtures/manifests/four-mistakes.yaml:8:3\n   \
         |\n 8 |   dnsName:\n   |   ^^^^^^^ did you mean `dnsNames`?\n"
    );
}

#[test]
fn references_are_checked_before_anything_is_asked() {
    let loaded = fixture("references.yaml");
    let found: Vec<String> = loaded
        .diagnostics
        .iter()
        .map(|d| {
            format!(
                "{} {}:{} {} {}",
                d.code,
                d.line,
                d.column,
                d.message,
                d.suggestion.as_deref().or(d.help.as_deref()).unwrap_or("-")
            )
        })
        .map(|line| line.replace("tests/fixtures/manifests/", ""))
        .collect();
    assert_eq!(found, REFERENCES);
    let first = |conflict: &Conflict| conflict.certificates.first().cloned();
    let names = |usable: Vec<&Arc<Certificate>>| -> Vec<String> {
        usable.iter().map(|certificate| certificate.metadata.name.clone()).collect()
    };
    assert_eq!(names(loaded.usable(first)), ["good"]);
    assert_eq!(names(loaded.usable(|conflict| conflict.certificates.last().cloned())), ["greedy"]);
    let conflict = Conflict {
        secret: NamespacedName::new("default", "good"),
        certificates: ["good", "greedy"].map(|name| NamespacedName::new("default", name)).into(),
    };
    assert_eq!(loaded.conflicts, [conflict]);
}

const REFERENCES: &[&str] = &[
    "E0105 29:18 invalid ACME server URL `http://acme.example/directory`: it must begin with https:// -",
    "E0204 102:18 Certificate twice is defined already (references.yaml:97) -",
    "E0201 39:71 issuer `letsencript` not found letsencrypt",
    "E0201 44:71 issuer `everywhere` not found there is a ClusterIssuer of that name (references.yaml:21): kind: ClusterIssuer",
    "E0201 49:71 issuer `letsencrypt` not found there is one in namespace default (references.yaml:3), this Certificate is in shop",
    "E0202 54:71 Issuer broken is invalid, see above -",
    "E0203 59:71 Issuer vault (references.yaml:16): unsupported issuer type vault: only acme is served -",
    "E0203 64:101 issuers of group `awspca.cert-manager.io` (kind `AWSPCAIssuer`) are not \
     supported, only those of cert-manager.io -",
    "W0303 77:3 public ACME CAs do not certify these names -",
    "E0206 71:15 The CSR PEM requests a commonName that is not present in the list of dnsNames or ipAddresses. If a commonName is set, ACME requires that the value is also present in the list of dnsNames or ipAddresses: \"cn.example.com\" does not exist in [www.example.com *.example.com www.example.net] or [192.0.2.1] add `cn.example.com` to dnsNames, or remove it here",
    "E0208 74:5 *.example.com needs a dns01 solver, and Issuer letsencrypt has only http01 for it solvers are defined at references.yaml:3",
    "E0207 75:5 no solver for www.example.net: none of Issuer letsencrypt matches solvers are defined at references.yaml:3",
    "E0207 76:17 no solver for 192.0.2.1: none of Issuer letsencrypt matches solvers are defined at references.yaml:3",
    "E0209 83:38 2001:db8::1 needs an http01 solver, and Issuer letsencrypt has only dns01 for it solvers are defined at references.yaml:3",
    "E0207 88:35 no solver for www.example.com: ClusterIssuer everywhere has no solvers solvers are defined at references.yaml:21",
    "E0205 93:20 Certificates good (references.yaml:33) and greedy have the same \
     secretName `good` it belongs to the one that was issued first, or else to good; give the \
     other one another secretName",
];

#[test]
fn a_folder_gives_its_manifests_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let object = |name: &str| format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}");
    for name in ["b.yaml", "a.yml", "c.json", ".hidden.yaml", "note.txt"] {
        write(&folder.path().join(name), &object(&name.replace('.', "-").replace("-h", "h")));
    }
    std::fs::create_dir(folder.path().join("d.yaml")).unwrap();
    let source = Source::Directory(folder.path().into());
    let again = Source::File(folder.path().join("b.yaml"));
    let loaded = load(&[source, again], &Options::default());
    assert_eq!(findings(&loaded), Vec::<String>::new());
    let names: Vec<&str> = loaded.secrets.iter().map(|secret| secret.name.as_str()).collect();
    assert_eq!(names, ["a-yml", "b-yaml", "c-json"]);
}

#[test]
fn a_file_is_read_once_in_however_many_selections_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let object = |name: &str| format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}");
    write(&path("a.yaml"), &object("a"));
    write(&path("b.yaml"), "kind: [");
    std::fs::hard_link(path("a.yaml"), path("c.yaml")).unwrap();
    let file = |name: &str| Source::File(path(name));
    let contents = |loaded: &Loaded| {
        let names: Vec<String> = loaded.secrets.iter().map(|secret| secret.name.clone()).collect();
        (names, loaded.files.clone(), loaded.documents, loaded.diagnostics.clone())
    };
    let mut manifests = Manifests::default();
    let all = [file("a.yaml"), Source::Directory(folder.path().into()), file("none.yaml")];
    let first = contents(&manifests.load(&all));
    assert_eq!(first.0, ["a"]);
    assert_eq!(first.1, [path("a.yaml"), path("b.yaml")]);
    let codes: Vec<&str> = first.3.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["E0004", "E0001"]);
    // The files change: a second read would return other objects.
    write(&path("a.yaml"), &object("changed"));
    write(&path("b.yaml"), &object("changed"));
    write(&path("none.yaml"), &object("new"));
    std::fs::remove_file(path("c.yaml")).unwrap();
    assert_eq!(contents(&manifests.load(&all)), first);
    let one = contents(&manifests.load(&[file("a.yaml"), file("c.yaml")]));
    assert_eq!(one, (vec!["a".to_owned()], vec![path("a.yaml")], 1, Vec::new()));
}

#[test]
fn what_is_no_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_path_buf();
    let sources = [
        Source::File(path.clone()),
        Source::File(path.join("none.yaml")),
        Source::Directory(path.join("none")),
        Source::File("/dev/null".into()),
    ];
    let found = load(&sources, &Options::default());
    let messages: Vec<&str> = found.diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "cannot read: not a regular file",
            "cannot read: No such file or directory (os error 2)",
            "cannot read: No such file or directory (os error 2)",
            "cannot read: not a regular file",
        ]
    );
    assert!(found.diagnostics.iter().all(|d| d.blocks == Blocks::File && d.line == 0));
}

#[test]
fn secrets_are_found_in_their_order_and_lose_one_newline() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (secrets, credentials) = (folder.path().join("secrets"), folder.path().join("credentials"));
    std::fs::create_dir_all(secrets.join("default/dns")).unwrap();
    std::fs::create_dir_all(secrets.join("dns")).unwrap();
    std::fs::create_dir_all(&credentials).unwrap();
    let put = |path: &Path, text: &str, mode| {
        write(path, text);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    put(&secrets.join("default/dns/a"), "own\n\n", 0o600);
    put(&secrets.join("dns/a"), "any", 0o600);
    put(&secrets.join("dns/b"), "any\n", 0o640);
    put(&credentials.join("dns.c"), "unit", 0o400);
    put(&secrets.join("dns/loose"), "x", 0o644);
    let manifests = read(
        "apiVersion: v1\nkind: Secret\nmetadata: {name: dns}\n\
         data: {m: bWFuaWZlc3Q=, o: b2xk}\nstringData: {o: \"new\\n\"}",
    );
    let source = SecretSource::new(manifests.secrets, Some(secrets), Some(credentials));
    let dns = NamespacedName::new("default", "dns");
    for (key, bytes) in
        [("m", "manifest"), ("o", "new\n"), ("a", "own\n"), ("b", "any"), ("c", "unit")]
    {
        assert_eq!(*source.resolve(&dns, key).unwrap(), bytes.as_bytes(), "{key}");
    }
    let loose = source.resolve(&dns, "loose").unwrap_err();
    assert!(
        matches!(&loose, SecretError::Loose(error) if rights::trusted(error).is_some()),
        "{loose}"
    );
    let missing = source.resolve(&dns, "none").unwrap_err().to_string();
    let root = folder.path().display();
    assert_eq!(
        missing,
        format!(
            "secret dns has no `none`; tried -:3 (no such key), \
             {root}/secrets/default/dns/none, {root}/secrets/dns/none, {root}/credentials/dns.none"
        )
    );
    for (namespace, name, key) in
        [("..", "dns", "a"), ("default", "..", "a"), ("default", "dns", ".."), ("a/b", "c", "d")]
    {
        let found = source.resolve(&NamespacedName::new(namespace, name), key);
        assert!(matches!(found, Err(SecretError::Name { .. })), "{namespace} {name} {key}");
    }
}

/// As files of `secrets` are: with the command that fixes it.
#[test]
fn a_secret_in_a_manifest_that_others_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.yaml");
    let of = |mode| {
        write(
            &path,
            "apiVersion: v1\nkind: Secret\nmetadata: {name: dns}\nstringData: {token: x}\n---\n\
             apiVersion: v1\nkind: Secret\nmetadata: {name: empty}\n",
        );
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let loaded = load(&[Source::File(path.clone())], &Options::default());
        let names: Vec<String> = loaded.secrets.iter().map(|one| one.name.clone()).collect();
        (names, loaded.diagnostics)
    };
    for mode in [0o600, 0o400, 0o640] {
        assert_eq!(of(mode), (vec!["dns".to_owned(), "empty".to_owned()], vec![]), "{mode:o}");
    }
    let (names, found) = of(0o644);
    let shown = path.display();
    assert_eq!(names, ["empty"]);
    let [found] = found.as_slice() else { panic!("{found:?}") };
    let closed = Right::Closed { is_secret: true, look: None };
    let fix = Some(Permit::new(&path, closed).into());
    assert_eq!((found.code, found.line, &found.fix), ("E0011", 3, &fix));
    assert_eq!(found.message, format!("a Secret, and {shown} is open to others (mode 0644)"));
}

#[test]
fn a_document_of_other_certificates_alone_is_left_out() {
    let certificate = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: other\n\
                       spec:\n  secretName: other-tls\n  dnsNames: [a.example]\n  issuerRef: {name: ca}\n";
    let flow = "{kind: Certificate, metadata: {name: other}}\n";
    let relevant = [
        ("its name", certificate.replace("name: other", "name: web")),
        ("its Secret", certificate.replace("other-tls", "web-tls")),
        ("an escape", certificate.replace("name: other", "name: \"w\\u0065b\"")),
        ("another kind", certificate.replace("Certificate", "Issuer")),
        ("two kinds", format!("{certificate}kind: Certificate\n")),
        ("no kind", certificate.replace("kind: Certificate\n", "")),
        ("a list", format!("items:\n- {}", certificate.replace('\n', "\n  "))),
        ("one line", flow.to_owned()),
        ("lines of one mapping", flow.replace("{kind: Certificate, ", "{\nkind: Certificate\n, ")),
    ];
    let count = |text: &str| {
        let names = Some(["web".to_owned(), "web-tls".to_owned()].into());
        let options = Options { names, ..Options::default() };
        let loaded = load(&[Source::Stdin(text.as_bytes().to_vec())], &options);
        loaded.certificates.len()
            + loaded.flawed.len()
            + loaded.diagnostics.len()
            + loaded.skipped.len()
    };
    assert_eq!(count(certificate), 0);
    assert_eq!(count(&certificate.replace("dnsNames", "# a note\n\n  dnsName")), 0);
    for (what, text) in relevant {
        assert_ne!(count(&text), 0, "{what}");
    }
    // The place of the others is the same.
    let text = format!("{certificate}---\n{}", certificate.replace("other", "web"));
    let options = Options { names: Some(["web".to_owned()].into()), ..Options::default() };
    let some = load(&[Source::Stdin(text.as_bytes().to_vec())], &options);
    let all = load(&[Source::Stdin(text.into_bytes())], &Options::default());
    assert_eq!(some.certificates, all.certificates[1..]);
}
