//! Where the certificate comes from: a Secret in the state, a file, standard input, or a server.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::output::escape;
use crate::cli::shell::Shell;
use crate::manifest::{self, SecretManifest};
use crate::pki::{Bundle, CertificateError};
use crate::probe::Network;
use crate::resource::{
    CertificateSpec, NamespacedName, RenewalInformation, Revocation, SecretFiles,
};
use crate::workspace::target::{NameTarget, Target, TargetError};
use crate::workspace::{Owners, OwnersError};

/// Where the certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A Secret or Certificate of the state; with `is_secret` certainly a Secret.
    Name { name: NameTarget, is_secret: bool },
    /// A file: PEM, DER, or the manifest of a Secret.
    File(PathBuf),
    /// The same on standard input.
    Stdin,
    /// A TLS server.
    Server { host: String, port: u16 },
}

/// What was found there.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// For people and `-o name`.
    pub(super) label: String,
    /// Certificates and key.
    pub(super) bundle: Bundle,
    /// Certificates that may have signed the leaf, beside those of the bundle.
    pub(super) above: Vec<Vec<u8>>,
    /// The Certificate it belongs to.
    pub(super) certificate: Option<NamespacedName>,
    /// The spec of that Certificate.
    pub(super) spec: Option<CertificateSpec>,
    /// The caBundle of its Issuer.
    pub(super) ca_bundle: Option<String>,
    /// The serial number in the state, when the source is a server.
    pub(super) state_serial: Option<String>,
    /// Its revocation, as the state knows it.
    pub(super) revocation: Option<Revocation>,
    /// What the CA said about when to renew it.
    pub(super) renewal_information: Option<RenewalInformation>,
}

impl Source {
    /// Reads the words of `inspect`; `known` are the objects that there are.
    pub(super) fn read(words: &[OsString], known: &[NamespacedName]) -> Result<Self, CliError> {
        let secret =
            |word: &OsString| word.to_str().is_some_and(|text| text.starts_with("secret/"));
        let (is_secret, word) = match words {
            // As `-o name` prints it.
            [word] => (secret(word), word),
            [kind, word] if kind == "secret" => (true, word),
            _ => {
                return Err(CliError::new(ExitCode::Usage, "inspect takes one argument")
                    .trying("certctl inspect secret NAME"));
            }
        };
        if is_secret {
            let text = word.to_string_lossy();
            let name = NameTarget::parse_of(&["secret"], &text).ok_or_else(|| {
                CliError::new(
                    ExitCode::Usage,
                    format_args!("`{}` is not a valid name", escape(&text)),
                )
            })?;
            return Ok(Self::Name { name, is_secret });
        }
        if let Some(server) = server(word) {
            return Ok(server);
        }
        Ok(match Target::read(word, &|path| path.exists(), &|name| name.is_among(known))? {
            Target::Stdin => Self::Stdin,
            Target::Path(path) => Self::File(path),
            Target::Name(name) => Self::Name { name, is_secret },
        })
    }

    /// Whether the state must be readable.
    pub(super) fn is_in_state(&self) -> bool {
        match self {
            Self::Name { .. } => true,
            Self::File(_) | Self::Stdin | Self::Server { .. } => false,
        }
    }

    /// Fetches what is there. What cannot be read ends in 3.
    pub(super) async fn open(
        &self,
        owners: &Owners,
        network: Option<&Network>,
        shell: &Shell,
    ) -> Result<Subject, CliError> {
        let subject = Box::pin(self.found(owners, network, shell)).await?;
        let known = subject.facts().ok().and_then(|leaf| owners.revocation(&leaf).cloned());
        Ok(Subject { revocation: known, ..subject })
    }

    async fn found(
        &self,
        owners: &Owners,
        network: Option<&Network>,
        shell: &Shell,
    ) -> Result<Subject, CliError> {
        match self {
            Self::Name { name, is_secret } => {
                let found = owners.secret(name, *is_secret, shell.global.namespace()).await;
                let secret = found.map_err(|error| not_found(error, name, *is_secret))?;
                let Some(files) = owners.files(&secret).await? else {
                    let message = format!("Secret `{secret}` has not been issued yet");
                    return Err(CliError::new(ExitCode::Manifest, message)
                        .trying(format_args!("certctl status {}", name.name)));
                };
                let subject = of_files(
                    NameTarget::printed("secret", &secret.namespace, &secret.name),
                    &files,
                )?;
                Ok(subject.owned(owners, owners.owner_of(&secret).map(|o| &o.certificate)))
            }
            Self::File(path) => {
                let file = std::fs::File::open(path).map_err(|error| unread(path, &error))?;
                let bytes = read(file).map_err(|error| unread(path, &error))?;
                let subject = of_bytes(&path.to_string_lossy(), &bytes, is_manifest(path))?;
                Ok(subject.compared(owners).await)
            }
            Self::Stdin => {
                let bytes = read(std::io::stdin()).map_err(|error| unread("-", &error))?;
                Ok(of_bytes("-", &bytes, false)?.compared(owners).await)
            }
            Self::Server { host, port } => {
                let label = format!("{host}:{port}");
                let network = network.ok_or_else(|| unread(&label, &"--offline"))?;
                let unserved = |error: &dyn std::fmt::Display| {
                    let at =
                        if host.contains(':') { format!("[{host}]:{port}") } else { label.clone() };
                    unread(&label, error)
                        .hinted(format_args!("openssl s_client -connect {at} -servername {host}"))
                };
                let shown = network.certificates(host, *port).await;
                let shown = shown.map_err(|error| unserved(&error))?;
                let bundle = Bundle::from_der(shown).map_err(|error| unserved(&error))?;
                Ok(Subject::new(label, bundle).served(owners, host).await)
            }
        }
    }
}

impl Subject {
    pub(super) fn new(label: String, bundle: Bundle) -> Self {
        Self {
            label,
            bundle,
            above: Vec::new(),
            certificate: None,
            spec: None,
            ca_bundle: None,
            state_serial: None,
            revocation: None,
            renewal_information: None,
        }
    }

    /// The same as that of a Certificate.
    fn owned(mut self, owners: &Owners, certificate: Option<&NamespacedName>) -> Self {
        let manifest = certificate.and_then(|name| owners.certificate(name));
        self.ca_bundle = manifest
            .and_then(|manifest| owners.issuer(manifest))
            .and_then(|issuer| issuer.acme.ca_bundle.clone());
        self.spec = manifest.map(|manifest| manifest.spec.clone());
        let known = certificate.zip(self.facts().ok());
        let known = known.and_then(|(name, leaf)| owners.renewal_information(name, &leaf).cloned());
        self.renewal_information = known.filter(RenewalInformation::is_worth_showing);
        self.certificate = certificate.cloned();
        self
    }

    /// The same, as that of the Certificate which has this very leaf.
    async fn compared(self, owners: &Owners) -> Self {
        let Ok(facts) = self.facts() else { return self };
        match owners.same(&facts.fingerprint).await {
            Some((owner, _)) => self.owned(owners, Some(&owner.certificate)),
            None => self,
        }
    }

    /// The same, beside what the state has for this host.
    async fn served(self, owners: &Owners, host: &str) -> Self {
        let Ok(facts) = self.facts() else { return self };
        let found = match owners.same(&facts.fingerprint).await {
            Some(found) => Some(found),
            None => owners.covering(host).await,
        };
        let Some((owner, leaf)) = found else { return self };
        let subject = self.owned(owners, Some(&owner.certificate));
        Self { state_serial: Some(leaf.serial), ..subject }
    }

    /// The facts that decisions are made from.
    pub(super) fn facts(&self) -> Result<crate::resource::LeafFacts, CertificateError> {
        crate::pki::facts_of_der(self.bundle.leaf())
    }
}

/// `HOST:PORT`, `ADDRESS:PORT`, `[ADDRESS]:PORT`.
fn server(word: &OsStr) -> Option<Source> {
    let text = word.to_str().filter(|text| !text.starts_with(['/', '.']))?;
    let (host, port) = text.rsplit_once(':')?;
    let port: u16 = port.parse().ok().filter(|port| *port > 0)?;
    let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().ok()?.to_string(),
        None if host.parse::<std::net::Ipv4Addr>().is_ok() => host.to_owned(),
        None => host.parse::<crate::resource::DnsName>().ok()?.to_string(),
    };
    Some(Source::Server { host, port })
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| ["yaml", "yml", "json"].contains(&extension))
}

/// As much as a manifest may have, and one byte more, so that its limit is noticed.
fn read(source: impl std::io::Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(2 << 20).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads PEM, DER, or the manifest of a Secret. In a manifest PEM is indented or in base64, so
/// a line that begins a PEM block distinguishes them.
fn of_bytes(label: &str, bytes: &[u8], is_manifest: bool) -> Result<Subject, CliError> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let bundle = Bundle::from_der(vec![bytes.to_vec()]);
        return Ok(Subject::new(label.to_owned(), bundle.map_err(|error| unread(label, &error))?));
    };
    let is_pem = text.lines().any(|line| line.starts_with("-----BEGIN "));
    if is_pem && !is_manifest {
        let bundle = Bundle::from_pem(text).map_err(|error| {
            if error == CertificateError::NotFound && text.contains("PRIVATE KEY-----") {
                let file = crate::trust::quoted(Path::new(label));
                let hint =
                    format!("with its certificate: cat CERTIFICATE {file} | certctl inspect -");
                return unread(label, &"it holds a private key and no certificate").hinted(hint);
            }
            unread(label, &error)
        })?;
        return Ok(Subject::new(label.to_owned(), bundle));
    }
    let sources = [manifest::Source::Stdin(bytes.to_vec())];
    let loaded = manifest::load(&sources, &manifest::Options::default());
    let has_pair = |secret: &&SecretManifest| secret.data.contains_key("tls.crt");
    let secrets: Vec<&SecretManifest> = loaded.secrets.iter().filter(has_pair).collect();
    match secrets.as_slice() {
        [one] => of_files(label.to_owned(), &SecretFiles(one.data.clone())),
        [] => Err(unread(label, &"neither PEM nor the manifest of a Secret with `tls.crt`")),
        several => {
            let message = format!("{} Secrets with `tls.crt`, expected one", several.len());
            Err(unread(label, &message))
        }
    }
}

/// The pair in the files of a Secret.
fn of_files(label: String, files: &SecretFiles) -> Result<Subject, CliError> {
    let file = |name: &str| {
        let bytes = files.0.get(name).filter(|bytes| !bytes.is_empty());
        bytes.map(|bytes| String::from_utf8_lossy(bytes))
    };
    let chain = file("tls.crt").ok_or_else(|| unread(&label, &"there is no `tls.crt`"))?;
    let bundle = Bundle::from_pem(&chain).and_then(|bundle| match file("tls.key") {
        Some(key) => bundle.with_key(&zeroize::Zeroizing::new(key.into_owned())),
        None => Ok(bundle),
    });
    let bundle = bundle.map_err(|error| unread(&label, &error))?;
    let above = file("ca.crt").and_then(|pem| Bundle::from_pem(&pem).ok());
    let above = above.map(|above| above.certificates().to_vec()).unwrap_or_default();
    Ok(Subject { above, ..Subject::new(label, bundle) })
}

/// A name without a certificate: that of a host may have been meant for its server.
fn not_found(error: OwnersError, name: &NameTarget, is_secret: bool) -> CliError {
    let is_unknown = matches!(error, OwnersError::Target(TargetError::Unknown { .. }));
    let host = &name.name;
    let is_host = host.contains('.') && name.namespace.is_none() && !is_secret;
    let error = CliError::from(error);
    if is_unknown && is_host {
        return error.hinted(format_args!("certctl inspect {host}:443, for that server"));
    }
    error
}

fn unread(what: impl AsRef<Path>, why: &dyn std::fmt::Display) -> CliError {
    let what = what.as_ref().to_string_lossy();
    let why = why.to_string();
    let message = format!("cannot read `{}`: {}", escape(&what), escape(&why));
    CliError::new(ExitCode::Manifest, message)
}
