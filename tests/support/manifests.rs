//! Manifests as users write them, as text.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// An Issuer of an ACME server, with `http01` for every name.
#[derive(Clone)]
pub(crate) struct IssuerYaml {
    name: String,
    server: String,
    trust: String,
    fields: String,
    solvers: String,
}

impl IssuerYaml {
    /// An Issuer `ca` that trusts this root.
    pub(crate) fn new(server: &str, root_pem: &str) -> Self {
        let bundle = BASE64_STANDARD.encode(root_pem);
        Self {
            name: "ca".to_owned(),
            server: server.to_owned(),
            trust: format!("    caBundle: {bundle}\n"),
            fields: String::new(),
            solvers: "    - http01:\n        ingress: {}\n".to_owned(),
        }
    }

    /// Under another name, with an account of its own.
    pub(crate) fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// Trusts this instead: a line such as `skipTLSVerify: true`, or none.
    pub(crate) fn trusting(mut self, line: &str) -> Self {
        self.trust = if line.is_empty() { String::new() } else { format!("    {line}\n") };
        self
    }

    /// With a field below `spec.acme`; further lines are indented as in the manifest.
    pub(crate) fn field(mut self, line: &str) -> Self {
        self.fields += &["    ", line, "\n"].concat();
        self
    }

    /// With these entries below `solvers` instead of one for HTTP-01.
    pub(crate) fn solvers(mut self, yaml: &str) -> Self {
        yaml.clone_into(&mut self.solvers);
        self
    }
}

impl fmt::Display for IssuerYaml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, server, trust, fields, solvers } = self;
        write!(
            f,
            "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata:\n  name: {name}\n\
             spec:\n  acme:\n    server: {server}\n{trust}{fields}    \
             privateKeySecretRef:\n      name: {name}-account\n    solvers:\n{solvers}"
        )
    }
}

/// A Certificate of the Issuer `ca`, with an ECDSA key because those are made quickly.
#[derive(Clone)]
pub(crate) struct CertificateYaml {
    name: String,
    names: Vec<String>,
    issuer: String,
    fields: String,
    annotations: String,
}

impl CertificateYaml {
    /// `name` with the secret `<name>-tls` for `<name>.example.test`.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            names: vec![format!("{name}.example.test")],
            issuer: "ca".to_owned(),
            fields: String::new(),
            annotations: String::new(),
        }
    }

    /// For these names instead.
    pub(crate) fn for_names(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// From another Issuer.
    pub(crate) fn issued_by(mut self, name: &str) -> Self {
        name.clone_into(&mut self.issuer);
        self
    }

    /// With a field below `spec`.
    pub(crate) fn field(mut self, line: &str) -> Self {
        self.fields += &["  ", line, "\n"].concat();
        self
    }

    /// With an annotation.
    pub(crate) fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations += &["    ", key, ": \"", value, "\"\n"].concat();
        self
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for CertificateYaml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, names, issuer, fields, annotations } = self;
        let names = names.join("\", \"");
        let annotations = block("annotations", annotations);
        write!(
            f,
            "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: {name}\n\
             {annotations}spec:\n  secretName: {name}-tls\n  dnsNames: [\"{names}\"]\n  privateKey:\n    \
             algorithm: ECDSA\n  issuerRef:\n    name: {issuer}\n{fields}"
        )
    }
}

fn block(key: &str, lines: &str) -> String {
    if lines.is_empty() { String::new() } else { format!("  {key}:\n{lines}") }
}
