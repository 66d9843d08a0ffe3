//! `certctl check acme`: the directory of an issuer's CA, and whether the Issuer matches it.

use std::path::Path;

use clap::Args;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::account::{account_line, unused_key_line};
use super::known::known;
use super::page::{endings_of, format_of, lines, print};
use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::render::document::Items;
use crate::cli::render::text::Text;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::cli::words::time;
use crate::pki::Bundle;
use crate::resource::{Acme, FailureClass, Issuer, IssuerKind, readable_terms};
use crate::trust::quoted;
use crate::workspace::check::{AccountState, CaCheck, Directory, Known, NoDirectory, ServerTls};
use crate::workspace::target::{ISSUERS, NameTarget};

/// `certctl check acme`.
#[derive(Debug, Args)]
pub struct CheckAcmeArgs {
    /// An Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME.
    #[arg(value_name = "ISSUER")]
    pub issuer: Option<String>,
}

/// `certctl check acme`.
pub(super) fn check(args: &CheckAcmeArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let format = format_of(shell, "check acme")?;
    let refused = |name: &String| {
        CliError::new(ExitCode::Usage, format_args!("`{name}` is not a valid issuer name"))
    };
    let name = args.issuer.as_ref();
    let target = name.map(|name| NameTarget::parse_of(ISSUERS, name).ok_or_else(|| refused(name)));
    let target = target.transpose()?;
    on_one_thread(async {
        let known = known(shell, true).await?;
        let issuers = chosen(&known, target.as_ref(), shell.global.namespace())?;
        let mut checked = Vec::new();
        for issuer in issuers {
            checked.push(CaCheck::of(&known, issuer).await);
        }
        let mut text = Text::default();
        for (at, check) in checked.iter().enumerate() {
            text.push(if at == 0 { "" } else { "\n" });
            text.extend(lines(&page(check)));
        }
        let items: Vec<AcmeItem> = checked.iter().map(AcmeItem::of).collect();
        print(shell, format, text, &Items { items: &items })?;
        Ok(endings_of(checked.iter().flat_map(CaCheck::failures)))
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
            let note = format!("one of: {}", names.join(", "));
            error.trying_any(&[("certctl check acme NAME", &note)])
        }
        (Some(_) | None, _) => error.of_absence().trying("certctl check acme -f FILE"),
    })
}

/// Reason for which this CA would refuse an order, with its URL, apart from the account and the
/// secrets of the Issuer; `None` where it would not.
pub(in crate::cli) fn refusal(check: &CaCheck) -> Option<String> {
    let directory = match &check.directory {
        Err(why) => return Some(error_line(check, why)),
        Ok(directory) => directory,
    };
    let server = &check.issuer.acme.server;
    if check.lacks_profile() {
        return Some(format!("{server}: profile {}", profile_line(check, directory)));
    }
    let is_unbound = check.lacks_binding();
    is_unbound.then(|| format!("{server}: external account binding {}", binding_line(check, true)))
}

fn page(check: &CaCheck) -> Vec<(&'static str, String)> {
    let Issuer { kind, metadata, acme, .. } = &check.issuer;
    let name = match metadata.namespace.as_str() {
        "" | "default" => metadata.name.clone(),
        namespace => format!("{namespace}/{}", metadata.name),
    };
    let mut lines = vec![("issuer", format!("{kind} {name}")), ("directory", acme.server.clone())];
    if let Err(why) = &check.directory {
        lines.push(("", format!("error: {}", error_line(check, why))));
    }
    lines.push(("TLS", [trust(check), &trust_end(check)].concat()));
    lines.extend(clock_line(check).map(|line| ("clock", line)));
    if let Ok(directory) = &check.directory {
        let terms = directory.terms_of_service.as_deref().map(readable_terms);
        lines.push(("terms", terms.unwrap_or_else(|| "none published".to_owned())));
        lines.push(("EAB", binding_line(check, directory.external_account_required)));
        lines.push(("profile", profile_line(check, directory)));
        lines.push(("CAA", identities_line(directory)));
    } else if check.binding.is_some() {
        lines.push(("EAB", binding_line(check, false)));
    }
    lines.extend(check.account.as_ref().map(|account| ("account", account_line(account))));
    lines.extend(warning(check).map(|warning| ("warning", warning)));
    lines.extend(way_out(check).map(|way_out| ("try", way_out)));
    lines
}

fn error_line(check: &CaCheck, why: &NoDirectory) -> String {
    let NoDirectory { error, is_no_acme, .. } = why;
    if *is_no_acme {
        format!("{error}; {}", check.issuer.no_directory())
    } else {
        error.to_string()
    }
}

fn warning(check: &CaCheck) -> Option<String> {
    let secret = &check.issuer.acme.private_key_secret_ref.name;
    check.has_unused_key.then(|| unused_key_line(secret))
}

/// Fix of the first problem; `None` without one.
fn way_out(check: &CaCheck) -> Option<String> {
    let Issuer { acme, kind, .. } = &check.issuer;
    let kind = kind.to_string().to_ascii_lowercase();
    let field = |path: &str| format!("certctl explain {kind}.spec.acme.{path}");
    if let Err(NoDirectory { tls, class, .. }) = &check.directory {
        return Some(match (tls, class) {
            (ServerTls::Distrusted, _) => format!(
                "set caBundle of the issuer to the CA's root certificate: {}",
                field("caBundle")
            ),
            (ServerTls::Untimely, _) => "timedatectl set-ntp true".to_owned(),
            (ServerTls::Unusable, _)
            | (ServerTls::Trusted | ServerTls::NotTested, FailureClass::Precondition) => {
                format!("correct the issuer: {}", field("server"))
            }
            (ServerTls::Trusted | ServerTls::NotTested, _) => {
                format!("curl -v {}", quoted(Path::new(&acme.server)))
            }
        });
    }
    if check.lacks_binding() || matches!(check.binding, Some(Err(_))) {
        return Some(field("externalAccountBinding"));
    }
    if check.lacks_profile() {
        return Some(format!("correct the issuer: {}", field("profile")));
    }
    let account = check.account.as_ref().filter(|account| !account.is_well())?;
    Some(match account {
        AccountState::Forbidden => field("disableAccountKeyGeneration"),
        AccountState::Unknown(_) => "certctl doctor".to_owned(),
        AccountState::Registered { .. }
        | AccountState::Unregistered(_)
        | AccountState::NoKey
        | AccountState::LostKey
        | AccountState::Unusable(..) => {
            format!("name another secret, for another account: {}", field("privateKeySecretRef"))
        }
    })
}

fn trust(check: &CaCheck) -> &'static str {
    let Acme { skip_tls_verify, ca_bundle, .. } = &check.issuer.acme;
    let tls = match &check.directory {
        Ok(_) => ServerTls::Trusted,
        Err(why) => why.tls,
    };
    match (tls, skip_tls_verify, ca_bundle) {
        (ServerTls::NotTested, ..) => "not tested",
        (ServerTls::Untimely, ..) => {
            "not valid at this host's time: check the clock of this host first (date -u)"
        }
        (ServerTls::Unusable, ..) => {
            "the certificate of the server is not valid for this name or use"
        }
        (ServerTls::Distrusted, _, Some(_)) => {
            "not trusted by the certificates of spec.acme.caBundle"
        }
        (ServerTls::Distrusted, _, None) => {
            "not trusted by this system's roots; spec.acme.caBundle can name others"
        }
        (ServerTls::Trusted, true, _) => "not verified, because spec.acme.skipTLSVerify is set",
        (ServerTls::Trusted, false, Some(_)) => "trusted by the certificates of spec.acme.caBundle",
        (ServerTls::Trusted, false, None) => "trusted by this system's roots",
    }
}

/// Until when the roots of the Issuer are valid by which the CA is trusted, as a part of a sentence.
fn trust_end(check: &CaCheck) -> String {
    let end = roots_end(&check.issuer).filter(|_| check.directory.is_ok());
    end.map(|end| format!(", valid until {}", end.strftime("%F"))).unwrap_or_default()
}

/// The end of the root of an Issuer's caBundle that is valid longest; `None` where none is used.
pub(in crate::cli) fn roots_end(Issuer { acme, .. }: &Issuer) -> Option<Timestamp> {
    let pem = acme.ca_bundle.as_deref().filter(|_| !acme.skip_tls_verify)?;
    Bundle::from_pem(pem).ok()?.valid_until()
}

fn binding_line(check: &CaCheck, is_required: bool) -> String {
    match (is_required, &check.binding) {
        (true, None) => {
            "required, but the Issuer has no spec.acme.externalAccountBinding".to_owned()
        }
        (false, None) => "not required".to_owned(),
        (_, Some(Err(why))) => format!("cannot be used: {why}"),
        (true, Some(Ok(bytes))) => format!("required; the Issuer has a key of {bytes} bytes"),
        (false, Some(Ok(bytes))) => {
            format!("not required; the Issuer has a key of {bytes} bytes")
        }
    }
}

fn profile_line(check: &CaCheck, directory: &Directory) -> String {
    let wanted = &check.issuer.acme.profile;
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

/// The CA's clock beside this host's.
pub(in crate::cli) fn clock_line(check: &CaCheck) -> Option<String> {
    let (theirs, _) = check.clock?;
    Some(skew_line(check.clock_skew()?, theirs))
}

fn skew_line(skew: i64, theirs: Timestamp) -> String {
    match skew {
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
        identities => {
            format!("if a name has CAA records, they must allow {}", identities.join(" or "))
        }
    }
}

/// The directory of an issuer's CA, and whether the Issuer matches it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct AcmeItem {
    issuer: CheckedIssuer,
    /// Missing when it could not be read.
    directory: Option<Directory>,
    /// Reason why the directory could not be read.
    error: Option<String>,
    /// True if the CA's certificate is trusted, and by what.
    tls: &'static str,
    /// Time by which the CA's clock is ahead of this host's.
    clock_skew_seconds: Option<i64>,
    external_account_binding: Option<Binding>,
    /// The profile that the Issuer requests; `directory` has those that the CA offers.
    profile: Option<String>,
    /// The account, in one line.
    account: Option<String>,
    /// Reason why the key of `privateKeySecretRef` is not used.
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
    /// Reason why it cannot be used.
    Error(String),
}

impl AcmeItem {
    fn of(check: &CaCheck) -> Self {
        let issuer = &check.issuer;
        let directory = check.directory.as_ref().ok();
        Self {
            issuer: CheckedIssuer {
                kind: issuer.kind,
                namespace: issuer.metadata.namespace.clone(),
                name: issuer.metadata.name.clone(),
                server: issuer.acme.server.clone(),
            },
            directory: directory.cloned(),
            error: check.directory.as_ref().err().map(|why| error_line(check, why)),
            tls: trust(check),
            clock_skew_seconds: check.clock_skew(),
            external_account_binding: check.binding.as_ref().map(|binding| match binding {
                Ok(bytes) => Binding::Bytes(*bytes),
                Err(why) => Binding::Error(why.to_string()),
            }),
            profile: Some(issuer.acme.profile.clone()).filter(|profile| !profile.is_empty()),
            account: check.account.as_ref().map(account_line),
            warning: warning(check),
        }
    }
}
