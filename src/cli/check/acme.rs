//! `certctl check acme`: the directory of an issuer's CA, and whether the Issuer matches it.

use std::path::Path;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::account::{AccountState, account, unused_key};
use super::known::{Known, USER_AGENT};
use super::page::{code_of, format_of, lines, written};
use crate::acme::{AcmeError, Directory, Distrust, Limits};
use crate::cli::args::CheckAcmeArgs;
use crate::cli::document::Items;
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::cli::time;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::resource::{Acme, FailureClass, Issuer, IssuerKind};
use crate::trust::quoted;
use crate::workspace::target::{ISSUERS, NameTarget};

/// `certctl check acme`.
pub(super) fn check(args: &CheckAcmeArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let format = format_of(shell, "check acme")?;
    let refused = |name: &String| {
        CliError::new(ExitCode::Usage, format_args!("`{name}` is not a valid issuer name"))
    };
    let name = args.issuer.as_ref();
    let target = name.map(|name| NameTarget::parse_of(ISSUERS, name).ok_or_else(|| refused(name)));
    let target = target.transpose()?;
    on_one_thread(async {
        let known = Known::read(shell, true).await?;
        let issuers = chosen(&known, target.as_ref(), shell.global.namespace())?;
        let mut findings = Vec::new();
        for issuer in issuers {
            findings.push(Findings::gather(&known, issuer).await);
        }
        let pages: Vec<String> = findings.iter().map(|found| lines(&found.lines())).collect();
        let items: Vec<AcmeItem> = findings.iter().map(Findings::item).collect();
        shell.output.data(&written(format, pages.join("\n"), &Items { items: &items })?)?;
        Ok(code_of(findings.iter().flat_map(Findings::failures).collect()))
    })
}

/// The selected issuers: all, or those with the name, in any namespace.
fn chosen<'a>(
    known: &'a Known,
    target: Option<&NameTarget>,
    namespace: Option<&str>,
) -> Result<Vec<&'a Issuer>, CliError> {
    let all = &known.targets.loaded.issuers;
    let wanted = target.and_then(|target| target.namespace.as_deref()).or(namespace);
    let found: Vec<&Issuer> = all
        .iter()
        .filter(|issuer| target.is_none_or(|target| target.name == issuer.metadata.name))
        .filter(|issuer| {
            let place = issuer.metadata.namespace.as_str();
            wanted.is_none_or(|wanted| place.is_empty() || place == wanted)
        })
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names: Vec<&str> = all.iter().map(|issuer| issuer.metadata.name.as_str()).collect();
    let message = match target {
        Some(target) => format!("issuer `{}` not found", target.name),
        None => "no Issuer with spec.acme found".to_owned(),
    };
    let error = CliError::new(ExitCode::Manifest, message);
    Err(match (target, names.as_slice()) {
        (Some(_), [one]) => error.trying(format_args!("certctl check acme {one}")),
        (Some(_), [_, ..]) => {
            error.hinted(format_args!("certctl check acme, with one of: {}", names.join(", ")))
        }
        (Some(_) | None, _) => error.trying("certctl check acme -f FILE"),
    })
}

/// Why the directory could not be read.
#[derive(Clone, Debug)]
struct NoDirectory {
    message: String,
    tls: Tls,
    /// The failure of an issuance.
    class: FailureClass,
}

/// The TLS certificate of the CA's server.
#[derive(Clone, Copy, Debug)]
enum Tls {
    Trusted,
    Distrusted,
    /// At this host's time.
    Untimely,
    Unusable,
    NotTested,
}

impl NoDirectory {
    fn of(error: &AcmeError, issuer: &Issuer) -> Self {
        let tls = match error {
            AcmeError::Untrusted { why, .. } => match why {
                Distrust::UnknownIssuer | Distrust::OtherKey => Tls::Distrusted,
                Distrust::NotValidYet { .. } | Distrust::Expired { .. } => Tls::Untimely,
                Distrust::CaCertificate | Distrust::Other(_) => Tls::Unusable,
            },
            AcmeError::Problem { .. }
            | AcmeError::Http { .. }
            | AcmeError::TooLarge { .. }
            | AcmeError::Malformed { .. } => Tls::Trusted,
            AcmeError::Transport { .. }
            | AcmeError::Timeout { .. }
            | AcmeError::InsecureUrl { .. }
            | AcmeError::BadToken { .. }
            | AcmeError::Unsupported { .. }
            | AcmeError::SignatureAlgorithm { .. }
            | AcmeError::UnsupportedAccountKey { .. }
            | AcmeError::AccountKey { .. }
            | AcmeError::Tls { .. } => Tls::NotTested,
        };
        if error.is_no_directory(&issuer.acme.server) {
            let message = format!("{error}; {}", issuer.no_directory());
            return Self { message, tls, class: FailureClass::Precondition };
        }
        let class = match error {
            AcmeError::InsecureUrl { .. } | AcmeError::Tls { .. } => FailureClass::Precondition,
            error if error.is_transient() => FailureClass::Unreachable,
            AcmeError::Problem { .. }
            | AcmeError::Http { .. }
            | AcmeError::Transport { .. }
            | AcmeError::Untrusted { .. }
            | AcmeError::Timeout { .. }
            | AcmeError::TooLarge { .. }
            | AcmeError::Malformed { .. }
            | AcmeError::BadToken { .. }
            | AcmeError::Unsupported { .. }
            | AcmeError::SignatureAlgorithm { .. }
            | AcmeError::UnsupportedAccountKey { .. }
            | AcmeError::AccountKey { .. } => FailureClass::Ca,
        };
        Self { message: error.to_string(), tls, class }
    }
}

pub(in crate::cli) struct Findings {
    issuer: Issuer,
    directory: Result<Directory, NoDirectory>,
    /// The CA's time and this host's.
    clock: Option<(Timestamp, Timestamp)>,
    binding: Option<Result<usize, String>>,
    account: Option<AccountState>,
    unused_key: Option<String>,
}

impl Findings {
    pub(in crate::cli) async fn gather(known: &Known, issuer: &Issuer) -> Self {
        let access = known.access(issuer);
        let binding = match access.external_account_binding() {
            Ok(None) => None,
            Ok(Some(eab)) => Some(Ok(eab.hmac_key.len())),
            Err(error) => Some(Err(error.to_string())),
        };
        let unused_key = match known.state() {
            Some(state) => unused_key(state, access).await,
            None => None,
        };
        let found = Self {
            issuer: issuer.clone(),
            directory: Err(NoDirectory {
                message: String::new(),
                tls: Tls::NotTested,
                class: FailureClass::Unreachable,
            }),
            clock: None,
            binding,
            account: None,
            unused_key,
        };
        // The user is waiting and can run the check again.
        let timeout = known.workspace.settings().options.timeout;
        let limits = Limits { retry_waits: Vec::new(), ..Limits::within(timeout) };
        let client = match access.client(USER_AGENT, limits) {
            Ok(client) => client,
            Err(error) => {
                return Self { directory: Err(NoDirectory::of(&error, issuer)), ..found };
            }
        };
        let directory = client.directory().await;
        let clock = client.server_time().map(|theirs| (theirs, SystemClock.now()));
        match directory {
            Ok(directory) => Self {
                directory: Ok((*directory).clone()),
                clock,
                account: Some(account(known, issuer, &client).await),
                ..found
            },
            Err(error) => Self { directory: Err(NoDirectory::of(&error, issuer)), clock, ..found },
        }
    }

    /// Why this CA would refuse an order, with its URL, apart from the account and the secrets of
    /// the Issuer; `None` where it would not.
    pub(in crate::cli) fn refusal(&self) -> Option<String> {
        let directory = match &self.directory {
            Err(error) => return Some(error.message.clone()),
            Ok(directory) => directory,
        };
        let Acme { server, profile, .. } = &self.issuer.acme;
        let profiles = directory.profiles.as_ref();
        let is_offered = profiles.is_some_and(|profiles| profiles.contains_key(profile));
        if !profile.is_empty() && !is_offered {
            return Some(format!("{server}: profile {}", self.profile_line(directory)));
        }
        let is_unbound = directory.external_account_required && self.binding.is_none();
        is_unbound
            .then(|| format!("{server}: external account binding {}", self.binding_line(true)))
    }

    /// Whether the directory could be read.
    pub(in crate::cli) fn has_directory(&self) -> bool {
        self.directory.is_ok()
    }

    /// How far the CA's clock is ahead of this host's, in seconds, and that in words.
    pub(in crate::cli) fn clock(&self) -> Option<(i64, String)> {
        self.clock.map(|(theirs, ours)| (skew(theirs, ours), clock_line(theirs, ours)))
    }

    /// The account, where the CA could be asked for it.
    pub(in crate::cli) fn account(&self) -> Option<&AccountState> {
        self.account.as_ref()
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let metadata = &self.issuer.metadata;
        let name = match metadata.namespace.as_str() {
            "" | "default" => metadata.name.clone(),
            namespace => format!("{namespace}/{}", metadata.name),
        };
        let server = &self.issuer.acme.server;
        let mut lines = vec![("issuer", format!("{} {name}", self.issuer.kind))];
        match &self.directory {
            Ok(_) => lines.push(("directory", server.clone())),
            Err(error) => {
                lines.push(("directory", server.clone()));
                lines.push(("", format!("error: {}", error.message)));
            }
        }
        lines.push(("TLS", self.trust().to_owned()));
        lines.extend(self.clock.map(|(theirs, ours)| ("clock", clock_line(theirs, ours))));
        if let Ok(directory) = &self.directory {
            let terms = directory.terms_of_service.clone();
            lines.push(("terms", terms.unwrap_or_else(|| "none published".to_owned())));
            lines.push(("EAB", self.binding_line(directory.external_account_required)));
            lines.push(("profile", self.profile_line(directory)));
            lines.push(("CAA", identities_line(directory)));
        } else if self.binding.is_some() {
            lines.push(("EAB", self.binding_line(false)));
        }
        lines.extend(self.account.as_ref().map(|account| ("account", account.to_string())));
        lines.extend(self.unused_key.clone().map(|warning| ("warning", warning)));
        lines.extend(self.way_out().map(|way_out| ("try", way_out)));
        lines
    }

    /// What leads on from the first thing that is wrong; `None` where nothing is.
    fn way_out(&self) -> Option<String> {
        let Issuer { acme, kind, .. } = &self.issuer;
        let kind = kind.to_string().to_ascii_lowercase();
        let field = |path: &str| format!("certctl explain {kind}.spec.acme.{path}");
        let directory = match &self.directory {
            Ok(directory) => directory,
            Err(NoDirectory { tls, class, .. }) => {
                return Some(match (tls, class) {
                    (Tls::Distrusted, _) => format!(
                        "set caBundle of the issuer to the CA's root certificate: {}",
                        field("caBundle")
                    ),
                    (Tls::Untimely, _) => "timedatectl set-ntp true".to_owned(),
                    (Tls::Unusable, _)
                    | (Tls::Trusted | Tls::NotTested, FailureClass::Precondition) => {
                        format!("correct the issuer: {}", field("server"))
                    }
                    (Tls::Trusted | Tls::NotTested, _) => {
                        format!("curl -v {}", quoted(Path::new(&acme.server)))
                    }
                });
            }
        };
        let is_unbound = directory.external_account_required && self.binding.is_none();
        if is_unbound || matches!(self.binding, Some(Err(_))) {
            return Some(field("externalAccountBinding"));
        }
        let profiles = directory.profiles.as_ref();
        let is_offered = profiles.is_some_and(|profiles| profiles.contains_key(&acme.profile));
        if !acme.profile.is_empty() && !is_offered {
            return Some(format!("correct the issuer: {}", field("profile")));
        }
        let account = self.account.as_ref().filter(|account| !account.is_well())?;
        Some(match account {
            AccountState::Forbidden => field("disableAccountKeyGeneration"),
            AccountState::Unknown(_) => "certctl doctor".to_owned(),
            AccountState::Registered { .. }
            | AccountState::Unregistered(_)
            | AccountState::NoKey
            | AccountState::Unusable(_) => format!(
                "name another secret, for another account: {}",
                field("privateKeySecretRef")
            ),
        })
    }

    /// The failures that an issuance from this CA would have.
    fn failures(&self) -> Vec<FailureClass> {
        let mut failures = Vec::new();
        let wanted = &self.issuer.acme.profile;
        match &self.directory {
            Err(error) => failures.push(error.class),
            Ok(directory) => {
                let profiles = directory.profiles.as_ref();
                let is_offered = profiles.is_some_and(|profiles| profiles.contains_key(wanted));
                let is_unbound = directory.external_account_required && self.binding.is_none();
                if is_unbound || (!wanted.is_empty() && !is_offered) {
                    failures.push(FailureClass::Ca);
                }
            }
        }
        if matches!(self.binding, Some(Err(_))) {
            failures.push(FailureClass::Precondition);
        }
        failures
    }

    fn trust(&self) -> &'static str {
        let acme = &self.issuer.acme;
        let tls = match &self.directory {
            Ok(_) => Tls::Trusted,
            Err(error) => error.tls,
        };
        match (tls, acme.skip_tls_verify, &acme.ca_bundle) {
            (Tls::NotTested, ..) => "not tested",
            (Tls::Untimely, ..) => {
                "not valid at this host's time: check the clock of this host first (date -u)"
            }
            (Tls::Unusable, ..) => "the certificate of the server cannot be used for it",
            (Tls::Distrusted, _, Some(_)) => {
                "not trusted by the certificates of spec.acme.caBundle"
            }
            (Tls::Distrusted, _, None) => {
                "not trusted by this system's roots; spec.acme.caBundle names others"
            }
            (Tls::Trusted, true, _) => "not verified, because spec.acme.skipTLSVerify is set",
            (Tls::Trusted, false, Some(_)) => "trusted by the certificates of spec.acme.caBundle",
            (Tls::Trusted, false, None) => "trusted by this system's roots",
        }
    }

    fn binding_line(&self, is_required: bool) -> String {
        match (is_required, &self.binding) {
            (true, None) => {
                "required, and the Issuer has no spec.acme.externalAccountBinding".to_owned()
            }
            (false, None) => "not required".to_owned(),
            (_, Some(Err(why))) => format!("cannot be used: {why}"),
            (true, Some(Ok(bytes))) => format!("required; the Issuer has a key of {bytes} bytes"),
            (false, Some(Ok(bytes))) => {
                format!("not required; the Issuer has a key of {bytes} bytes")
            }
        }
    }

    fn profile_line(&self, directory: &Directory) -> String {
        let wanted = &self.issuer.acme.profile;
        let offered = directory.profiles.clone().unwrap_or_default();
        let names = offered.keys().cloned().collect::<Vec<_>>().join(", ");
        match (wanted.as_str(), offered.contains_key(wanted), names.as_str()) {
            ("", _, "") => "none requested; the CA offers none".to_owned(),
            ("", _, names) => format!("none requested; the CA offers {names}"),
            (wanted, true, _) => format!("{wanted}, offered"),
            (wanted, false, "") => format!("{wanted}, not offered; the CA offers none"),
            (wanted, false, names) => format!("{wanted}, not offered; the CA offers {names}"),
        }
    }

    fn item(&self) -> AcmeItem {
        let issuer = &self.issuer;
        let directory = self.directory.as_ref().ok();
        AcmeItem {
            issuer: CheckedIssuer {
                kind: issuer.kind,
                namespace: issuer.metadata.namespace.clone(),
                name: issuer.metadata.name.clone(),
                server: issuer.acme.server.clone(),
            },
            directory: directory.cloned(),
            error: self.directory.as_ref().err().map(|error| error.message.clone()),
            tls: self.trust(),
            clock_skew_seconds: self.clock.map(|(theirs, ours)| skew(theirs, ours)),
            external_account_binding: self.binding.clone().map(|binding| match binding {
                Ok(bytes) => Binding::Bytes(bytes),
                Err(why) => Binding::Error(why),
            }),
            profile: directory.map(|directory| self.profile_line(directory)),
            account: self.account.as_ref().map(ToString::to_string),
            warning: self.unused_key.clone(),
        }
    }
}

/// The directory of an issuer's CA, and whether the Issuer matches it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct AcmeItem {
    issuer: CheckedIssuer,
    /// Null when it could not be read.
    directory: Option<Directory>,
    /// Why the directory could not be read.
    error: Option<String>,
    /// Whether the CA's certificate is trusted, and by what.
    tls: &'static str,
    /// How far the CA's clock is ahead of this host's.
    clock_skew_seconds: Option<i64>,
    external_account_binding: Option<Binding>,
    /// The profile that the Issuer requests, and whether the CA offers it.
    profile: Option<String>,
    /// The account, in one line.
    account: Option<String>,
    /// Why the key of `privateKeySecretRef` is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct CheckedIssuer {
    kind: IssuerKind,
    /// Empty for a ClusterIssuer.
    namespace: String,
    name: String,
    server: String,
}

/// The key of the external account binding.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Binding {
    /// Its length.
    Bytes(usize),
    /// Why it cannot be used.
    Error(String),
}

/// How far the CA's clock is ahead, in seconds; its header counts whole ones.
fn skew(theirs: Timestamp, ours: Timestamp) -> i64 {
    theirs.as_second().saturating_sub(ours.as_second())
}

fn clock_line(theirs: Timestamp, ours: Timestamp) -> String {
    match skew(theirs, ours) {
        -2..=2 => "in sync with the CA".to_owned(),
        skew => {
            let length = time::length(jiff::SignedDuration::from_secs(skew));
            let word = if skew > 0 { "behind" } else { "ahead of" };
            format!("{length} {word} the CA's clock ({})", time::rfc3339(theirs))
        }
    }
}

fn identities_line(directory: &Directory) -> String {
    match directory.caa_identities.as_slice() {
        [] => "the CA publishes no CAA identities".to_owned(),
        identities => format!("records must allow {}", identities.join(" or ")),
    }
}
