//! Access tokens of Microsoft Entra: for a client secret, for the token file of a workload
//! (RFC 7523 section 2.2), or from the machine's managed identity.

use std::time::Duration;

use http::Method;
use http::header::HeaderName;
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::cloud::Cloud;
use crate::resource::dns01::AzureDns as Settings;
use crate::solver::dns01::oauth;
use crate::solver::dns01::percent::{pairs, percent};
use crate::solver::dns01::token_file::token_file;
use crate::solver::dns01::{Api, Call, Context, ProviderError};

/// Where tokens come from, and the one in use.
pub(super) struct Credentials {
    pub(super) source: Source,
    /// What a token is for: the management API of the cloud.
    audience: &'static str,
}

pub(super) enum Source {
    Client(Client),
    Machine(Machine),
}

/// An application with a secret, or with a federated token file.
pub(super) struct Client {
    /// `https://` and the host of the token endpoint.
    pub(super) authority: String,
    pub(super) tenant: String,
    pub(super) id: String,
    proof: Proof,
}

enum Proof {
    Secret(Zeroizing<String>),
    /// Read for each token, because its writer replaces it every hour.
    File(String),
}

/// A machine of Azure's.
pub(super) struct Machine {
    /// `http://` and the address of the metadata service.
    pub(super) base: String,
    client_id: String,
    resource_id: String,
}

impl Credentials {
    pub(super) fn new(
        settings: &Settings,
        cloud: &Cloud,
        context: &Context<'_>,
    ) -> Result<Self, ProviderError> {
        Ok(Self { source: source(settings, cloud, context)?, audience: cloud.audience })
    }
}

impl oauth::Source for Credentials {
    async fn token(&self, api: &Api, now: Timestamp) -> Result<oauth::Token, ProviderError> {
        match &self.source {
            Source::Client(client) => client.token(api, self.audience, now).await,
            Source::Machine(machine) => {
                let token = oauth::token(api, machine.call(self.audience)?, now).await;
                token.map_err(|error| error.when_unreachable(NOT_HERE))
            }
        }
    }
}

impl Client {
    async fn token(
        &self,
        api: &Api,
        audience: &str,
        now: Timestamp,
    ) -> Result<oauth::Token, ProviderError> {
        let scope = format!("{audience}/.default");
        let mut form = vec![
            ("grant_type", "client_credentials"),
            ("client_id", self.id.as_str()),
            ("scope", scope.as_str()),
        ];
        let proof = match &self.proof {
            Proof::Secret(secret) => secret.clone(),
            Proof::File(path) => token_file(NAME, "AZURE_FEDERATED_TOKEN_FILE", path)?,
        };
        match &self.proof {
            Proof::Secret(_) => form.push(("client_secret", proof.as_str())),
            Proof::File(_) => form.extend([
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", proof.as_str()),
            ]),
        }
        let url = format!("{}/{}/oauth2/v2.0/token", self.authority, percent(&self.tenant));
        let body = pairs(&form).into_bytes();
        let call = Call::new(Method::POST, url).body("application/x-www-form-urlencoded", body);
        oauth::token(api, call.hiding([proof.as_str()]), now).await
    }
}

impl Machine {
    fn call(&self, audience: &str) -> Result<Call, ProviderError> {
        let mut query = vec![("api-version", "2018-02-01"), ("resource", audience)];
        if !self.client_id.is_empty() {
            query.push(("client_id", self.client_id.as_str()));
        }
        if !self.resource_id.is_empty() {
            query.push(("msi_res_id", self.resource_id.as_str()));
        }
        let url = format!("{}/metadata/identity/oauth2/token?{}", self.base, pairs(&query));
        let call = Call::new(Method::GET, url).plain().within(MACHINE_TIMEOUT);
        call.header(HeaderName::from_static("metadata"), "true")
    }
}

fn source(
    settings: &Settings,
    cloud: &Cloud,
    context: &Context<'_>,
) -> Result<Source, ProviderError> {
    let identity = settings.managed_identity.as_ref();
    let (id, tenant) = (settings.client_id.trim(), settings.tenant_id.trim());
    match (id.is_empty(), tenant.is_empty(), &settings.client_secret_secret_ref) {
        (false, false, Some(_)) if identity.is_some() => {
            return Err(unusable("managedIdentity and clientID exclude each other"));
        }
        (false, false, Some(selector)) => {
            let secret = context.text(NAME, "clientSecretSecretRef", selector)?;
            return Ok(Source::Client(Client {
                authority: cloud.authority.to_owned(),
                tenant: tenant.to_owned(),
                id: id.to_owned(),
                proof: Proof::Secret(secret),
            }));
        }
        (true, true, None) => {}
        _ => {
            let all = "clientID, clientSecretSecretRef and tenantID must be given together, or \
                       none of them";
            return Err(unusable(all));
        }
    }
    if !context.allow_ambient {
        return Err(unusable(
            "give clientID, clientSecretSecretRef and tenantID: credentials of the machine are \
             for ClusterIssuers only",
        ));
    }
    let (client_id, tenant_id, resource_id) = identity.map_or(("", "", ""), |identity| {
        (identity.client_id.trim(), identity.tenant_id.trim(), identity.resource_id.trim())
    });
    if !client_id.is_empty() && !resource_id.is_empty() {
        return Err(unusable("managedIdentity.clientID and .resourceID exclude each other"));
    }
    let set = |name: &str| (context.environment)(name).filter(|value| !value.trim().is_empty());
    let Some(path) = set("AZURE_FEDERATED_TOKEN_FILE") else {
        return Ok(Source::Machine(Machine {
            base: "http://169.254.169.254".to_owned(),
            client_id: client_id.to_owned(),
            resource_id: resource_id.to_owned(),
        }));
    };
    let given = |ours: &str, name: &'static str| {
        let ours = Some(ours.to_owned()).filter(|ours| !ours.is_empty());
        ours.or_else(|| set(name)).ok_or_else(|| {
            unusable(&format!("AZURE_FEDERATED_TOKEN_FILE is set, but {name} is not"))
        })
    };
    let authority = set("AZURE_AUTHORITY_HOST").unwrap_or_else(|| cloud.authority.to_owned());
    Ok(Source::Client(Client {
        authority: authority.trim().trim_end_matches('/').to_owned(),
        tenant: given(tenant_id, "AZURE_TENANT_ID")?,
        id: given(client_id, "AZURE_CLIENT_ID")?,
        proof: Proof::File(path),
    }))
}

const MACHINE_TIMEOUT: Duration = Duration::from_secs(5);
/// Advice for machines outside Azure, where no metadata service answers.
const NOT_HERE: &str = "without clientID certctl uses the machine's managed identity, which only \
    machines of Azure have";

pub(super) fn unusable(reason: &str) -> ProviderError {
    ProviderError::Settings { provider: NAME, reason: reason.to_owned() }
}

pub(super) const NAME: &str = "azureDNS";
