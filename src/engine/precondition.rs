//! What must be there on this machine before an order is spent: secrets, hooks, output folders,
//! webroots.
//!
//! Contract: no request is sent, and nothing is changed.

use std::fmt;
use std::path::Path;

use super::hooks::HooksDir;
use super::inputs::{names_of, solver_for};
use super::perform::{IssuerAccess, ProviderAccess, check_target, password};
use crate::acme::AccountKey;
use crate::manifest::{SecretError, SecretSource};
use crate::resource::dns01::Webhook;
use crate::resource::{
    ANNOTATION_PREFIX, Certificate, Check, DeployTarget, Dns01Provider, Elsewhere, Fix, Issuer,
    Obstacle, Page, SecretKeySelector, Setting, Settings, keystore,
};
use crate::solver::dns01::{self, ProviderError};
use crate::solver::http01::check_webroot;
use crate::trust::Bounds;

/// A field that names what is not there, or cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unmet {
    /// Whether it is a field of the Issuer, not of the Certificate.
    pub of_issuer: bool,
    /// The field: keys, and indexes such as `[0]`.
    pub path: Vec<String>,
    /// The secret below that field that is meant.
    pub secret: Option<String>,
    pub need: Need,
    /// What is in the way, in a few words, and what to do about it.
    pub obstacle: Obstacle,
    /// The same fact with its details, without what to do.
    pub message: String,
}

/// What a field needs on this machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A program in `hooks.d`.
    Hook(String),
    /// The folder of an output, its owner and its group.
    Output(String),
    /// The folder that another web server serves.
    Webroot(String),
    /// A Secret, or what is made of several.
    Secret(String),
    /// Another field, or something at the CA.
    Field,
}

impl Need {
    /// Whether a certificate can be issued without it, and not deployed.
    pub fn is_of_deployment(&self) -> bool {
        match self {
            Self::Hook(_) | Self::Output(_) => true,
            Self::Webroot(_) | Self::Secret(_) | Self::Field => false,
        }
    }
}

impl Unmet {
    fn new(of_issuer: bool, path: &str, need: Need, obstacle: Obstacle) -> Self {
        let path = path.split(' ').map(str::to_owned).collect();
        let message = obstacle.fact.clone();
        Self { of_issuer, secret: None, path, need, obstacle, message }
    }

    /// The same with another message.
    fn worded(self, message: &dyn fmt::Display) -> Self {
        Self { message: message.to_string(), ..self }
    }

    /// A Secret that cannot be used.
    fn secret(of_issuer: bool, path: &str, name: &str, error: &SecretError) -> Self {
        Self::new(of_issuer, path, Need::Secret(name.to_owned()), error.obstacle()).worded(error)
    }

    /// The profile that the CA does not have.
    pub fn profile(issuer: &Issuer, message: &str) -> Self {
        let profiles = Check::Acme(issuer.metadata.name.clone());
        let obstacle = Obstacle::new(message).with(Fix::Check(profiles));
        Self::new(true, "spec acme profile", Need::Field, obstacle)
    }

    fn at_secret(self, name: &str) -> Self {
        Self { secret: Some(name.to_owned()), ..self }
    }
}

/// What a Certificate needs: the passwords of its keystores, its hooks, its output folder, its
/// webroot.
pub fn of_certificate(
    certificate: &Certificate,
    issuer: &Issuer,
    secrets: &SecretSource,
    hooks: &HooksDir,
    bounds: &Bounds,
) -> Vec<Unmet> {
    let mut unmet = Vec::new();
    let keystores = certificate.spec.keystores.clone().unwrap_or_default();
    let jks = keystores.jks.is_some_and(|jks| jks.create);
    let pkcs12 = keystores.pkcs12.is_some_and(|pkcs12| pkcs12.create);
    for (is_wanted, file, field) in [
        (jks, keystore::KEYSTORE_JKS, "spec keystores jks passwordSecretRef"),
        (pkcs12, keystore::KEYSTORE_P12, "spec keystores pkcs12 passwordSecretRef"),
    ] {
        if !is_wanted {
            continue;
        }
        if let Err(error) = password(secrets, certificate, file) {
            let need = Need::Secret(format!("for {file}"));
            unmet.push(Unmet::new(false, field, need, error.obstacle()));
        }
    }
    let settings = certificate.settings.or(&issuer.settings);
    for target in settings.deploy_targets() {
        if let Err(obstacle) = check_target(&target, hooks, bounds) {
            let obstacle = outside_of_webroot(obstacle, &target, &settings);
            let own = &certificate.settings;
            let (name, is_own) = match &target {
                DeployTarget::Output { .. } => ("output-dir", own.output_dir.is_some()),
                DeployTarget::Hook { .. } => ("deploy-hook", own.deploy_hook.is_some()),
                DeployTarget::Reload { .. } => ("reload", own.reload.is_some()),
            };
            let need = match target {
                DeployTarget::Output { folder, .. } => Need::Output(folder),
                DeployTarget::Hook { name } | DeployTarget::Reload { name } => Need::Hook(name),
            };
            unmet.push(Unmet::new(!is_own, &annotation(name), need, obstacle));
        }
    }
    unmet.extend(webroot(&settings, certificate, issuer, bounds));
    unmet.extend(ca_crt(&settings, certificate, issuer));
    unmet
}

/// What keeps a run from writing copies to the folder that these settings name.
pub fn of_output(settings: &Settings, bounds: &Bounds) -> Option<Obstacle> {
    let mut targets = settings.deploy_targets().into_iter();
    let output = targets.find(|target| matches!(target, DeployTarget::Output { .. }))?;
    let obstacle = check_target(&output, &HooksDir::default(), bounds).err()?;
    Some(outside_of_webroot(obstacle, &output, settings))
}

/// The same without a command that would make a folder for a private key where a web server serves files.
fn outside_of_webroot(found: Obstacle, target: &DeployTarget, settings: &Settings) -> Obstacle {
    let (DeployTarget::Output { folder, .. }, Some(webroot)) = (target, &settings.http01_webroot)
    else {
        return found;
    };
    if found.fix.is_none() || !Path::new(folder).starts_with(webroot) {
        return found;
    }
    let elsewhere = Elsewhere::Served(webroot.into());
    found.with(Fix::Set(Setting::OutputDir(elsewhere)))
}

fn webroot(
    settings: &Settings,
    certificate: &Certificate,
    issuer: &Issuer,
    bounds: &Bounds,
) -> Option<Unmet> {
    let path = settings.http01_webroot.as_ref()?;
    let is_over_http = names_of(certificate).iter().any(|name| {
        solver_for(issuer, certificate, name).is_some_and(|chosen| chosen.kind.is_over_http())
    });
    let obstacle = check_webroot(Path::new(path), bounds).err().filter(|_| is_over_http)?;
    let is_own = certificate.settings.http01_webroot.is_some();
    Some(Unmet::new(!is_own, &annotation("http01-webroot"), Need::Webroot(path.clone()), obstacle))
}

fn ca_crt(settings: &Settings, certificate: &Certificate, issuer: &Issuer) -> Option<Unmet> {
    if !settings.ca_crt_from_bundle || issuer.acme.ca_bundle.is_some() {
        return None;
    }
    let message = format!("issuer \"{}\" has no caBundle", issuer.metadata.name);
    let is_own = certificate.settings.ca_crt_from_bundle;
    let obstacle = Obstacle::new(message).with(Fix::Explain(Page::CaBundle));
    Some(Unmet::new(!is_own, &annotation("ca-crt"), Need::Field, obstacle))
}

fn annotation(name: &str) -> String {
    format!("metadata annotations {ANNOTATION_PREFIX}{name}")
}

/// What an Issuer needs: its account key, its EAB key, and the credentials of these solvers.
/// `has_account_key`: whether the state has one.
pub fn of_issuer(
    access: IssuerAccess<'_>,
    solvers: &[usize],
    reached: &ProviderAccess<'_>,
    has_account_key: bool,
) -> Vec<Unmet> {
    let acme = &access.issuer.acme;
    let mut unmet: Vec<Unmet> = account_key(access, has_account_key).into_iter().collect();
    if let (Some(eab), Err(error)) =
        (&acme.external_account_binding, access.external_account_binding())
    {
        let field = "spec acme externalAccountBinding keySecretRef";
        let name = &eab.key_secret_ref.name;
        let one = if let Err(missing) = access.secret(&eab.key_secret_ref) {
            Unmet::secret(true, field, name, &missing).worded(&error.cause.without_fixes())
        } else {
            let need = Need::Secret(name.clone());
            Unmet::new(true, field, need, Obstacle::new(&error.cause))
        };
        unmet.push(one.at_secret(name));
    }
    for (index, solver) in acme.solvers.iter().enumerate().filter(|(at, _)| solvers.contains(at)) {
        let Some(dns01) = solver.dns01() else { continue };
        let mut field = format!("spec acme solvers [{index}] dns01");
        let secrets = dns01.provider.credentials();
        let missing =
            secrets.iter().find_map(|secret| Some((secret, access.secret(secret).err()?)));
        if let Some((secret, error)) = missing {
            let one = Unmet::secret(true, &field, &secret.name, &error);
            unmet.push(one.at_secret(&secret.name));
        } else if let Err(error) = access.provider(&dns01.provider, reached) {
            if let (
                Dns01Provider::Webhook(webhook),
                ProviderError::Settings { .. } | ProviderError::Program(_),
            ) = (&dns01.provider, &error)
            {
                field += of_webhook(webhook);
            }
            let is_exec = dns01.provider.name() == "exec";
            let explain = is_exec.then_some(Fix::Explain(Page::Hooks));
            let obstacle = Obstacle::new(&error).with(error.fix().or(explain));
            unmet.push(Unmet::new(true, &field, Need::Field, obstacle));
        }
    }
    unmet
}

/// The field of a webhook that keeps its solver from being used.
fn of_webhook(webhook: &Webhook) -> &'static str {
    let is_unknown = webhook.provider().is_some_and(|name| !dns01::names().contains(&name));
    match &webhook.config {
        _ if is_unknown => " webhook solverName",
        Some(_) => " webhook config",
        None => " webhook",
    }
}

fn account_key(access: IssuerAccess<'_>, is_known: bool) -> Option<Unmet> {
    let acme = &access.issuer.acme;
    let SecretKeySelector { name, key } = &acme.private_key_secret_ref;
    let key = if key.is_empty() { "tls.key" } else { key };
    let reference = SecretKeySelector { name: name.clone(), key: key.to_owned() };
    let field = "spec acme privateKeySecretRef";
    let unmet = match access.secret(&reference) {
        Ok(bytes) => {
            let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string());
            let why = text
                .and_then(|text| AccountKey::from_pem(text).map_err(|error| error.to_string()))
                .err()?;
            Unmet::new(true, field, Need::Secret(name.clone()), Obstacle::new(why))
        }
        Err(error @ SecretError::Missing { .. }) => {
            if is_known || !acme.disable_account_key_generation {
                return None;
            }
            let message = format!("{error}; disableAccountKeyGeneration forbids generating one");
            Unmet::secret(true, field, name, &error).worded(&message)
        }
        Err(error) => Unmet::secret(true, field, name, &error),
    };
    Some(unmet.at_secret(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{Permit, Right};

    #[test]
    fn no_folder_for_a_key_is_advised_where_a_web_server_serves_files() {
        let target = |folder: &str| DeployTarget::Output {
            folder: folder.to_owned(),
            owner: None,
            group: None,
            mode: None,
        };
        let http01_webroot = Some("/srv/www".to_owned());
        let settings = Settings { http01_webroot, ..Settings::default() };
        let made = |folder: &str| Fix::Permit(Permit::new(folder, Right::Folders));
        let fix_of = |folder: &str, settings: &Settings| {
            let found = Obstacle::new("denied").with(made(folder));
            outside_of_webroot(found, &target(folder), settings).fix
        };
        let elsewhere = Fix::Set(Setting::OutputDir(Elsewhere::Served("/srv/www".into())));
        for below in ["/srv/www", "/srv/www/tls"] {
            assert_eq!(fix_of(below, &settings), Some(elsewhere.clone()));
        }
        for (folder, settings) in [("/srv/www2", &settings), ("/srv/www", &Settings::default())] {
            assert_eq!(fix_of(folder, settings), Some(made(folder)));
        }
    }
}
