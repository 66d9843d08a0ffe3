//! Google's access tokens: for a service account's key through a signed assertion (RFC 7523); on a
//! Google machine from its metadata server.

use std::path::Path;
use std::time::Duration;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use http::Method;
use http::header::HeaderName;
use jiff::Timestamp;
use reqwest::Url;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::pki::PrivateKey;
use crate::resource::{KeyAlgorithm, SecretKeySelector, SignatureAlgorithm};
use crate::solver::dns01::oauth::{self, Token};
use crate::solver::dns01::percent::pairs;
use crate::solver::dns01::{Api, Call, Context, ProviderError};

pub(super) enum Source {
    ServiceAccount(ServiceAccount),
    /// The base URL of the metadata server.
    Metadata(String),
}

/// The parts of a service account's JSON key that are used.
pub(super) struct ServiceAccount {
    pub(super) token_uri: String,
    email: String,
    key_id: String,
    key: PrivateKey,
}

impl Source {
    pub(super) fn new(
        selector: Option<&SecretKeySelector>,
        context: &Context<'_>,
    ) -> Result<Self, ProviderError> {
        let source = match selector {
            Some(selector) => {
                let json = context.bytes(NAME, SECRET_REF, selector)?;
                Source::ServiceAccount(ServiceAccount::read(&json).map_err(|reason| {
                    let (name, key) = (&selector.name, &selector.key);
                    credential(SECRET_REF, format!("secret {name}, key {key}: {reason}"))
                })?)
            }
            None if !context.allow_ambient => {
                let reason = "give serviceAccountSecretRef: credentials of the machine are for \
                              ClusterIssuers only";
                return Err(ProviderError::Settings { provider: NAME, reason: reason.to_owned() });
            }
            None => ambient(context)?,
        };
        Ok(source)
    }
}

impl oauth::Source for Source {
    async fn token(&self, api: &Api, now: Timestamp) -> Result<Token, ProviderError> {
        match self {
            Self::ServiceAccount(account) => account.token(api, now).await,
            Self::Metadata(base) => {
                let path = "/computeMetadata/v1/instance/service-accounts/default/token";
                let call = Call::new(Method::GET, format!("{base}{path}"))
                    .header(HeaderName::from_static("metadata-flavor"), "Google")?
                    .plain()
                    .within(METADATA_TIMEOUT);
                let token = oauth::token(api, call, now).await;
                token.map_err(|error| error.when_unreachable(NOT_HERE))
            }
        }
    }
}

impl ServiceAccount {
    /// Reads the JSON that Google issues; the error never contains the content of a field.
    fn read(json: &[u8]) -> Result<Self, String> {
        let document: Value = serde_json::from_slice(json)
            .map_err(|error| format!("this is not JSON (line {})", error.line()))?;
        let field = |name: &str| {
            let text = document.get(name).and_then(Value::as_str).unwrap_or_default();
            if text.is_empty() { Err(format!("there is no {name} in it")) } else { Ok(text) }
        };
        match field("type")? {
            "service_account" => {}
            "authorized_user" | "external_account" | "impersonated_service_account" => {
                return Err("this is not the key of a service account but other credentials of \
                            Google's, which cannot be used"
                    .to_owned());
            }
            _ => return Err("this is not the key of a service account".to_owned()),
        }
        let token_uri = field("token_uri")?;
        let url = Url::parse(token_uri).map_err(|_| "its token_uri is not a URL".to_owned())?;
        let is_here = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if url.scheme() != "https" && !(url.scheme() == "http" && is_here) {
            return Err("its token_uri does not begin with https://".to_owned());
        }
        let key = PrivateKey::from_pem(field("private_key")?)
            .map_err(|error| format!("its private_key cannot be used: {error}"))?;
        if key.facts().algorithm != KeyAlgorithm::Rsa {
            return Err("its private_key is not an RSA key".to_owned());
        }
        Ok(Self {
            token_uri: token_uri.to_owned(),
            email: field("client_email")?.to_owned(),
            key_id: field("private_key_id").unwrap_or_default().to_owned(),
            key,
        })
    }

    async fn token(&self, api: &Api, now: Timestamp) -> Result<Token, ProviderError> {
        let assertion = self.assertion(now)?;
        let form = pairs(&[
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", assertion.as_str()),
        ]);
        let call = Call::new(Method::POST, self.token_uri.as_str())
            .body("application/x-www-form-urlencoded", form.into_bytes());
        oauth::token(api, call.hiding([assertion.as_str()]), now).await
    }

    /// A JWT (RFC 7519) signed with RS256 (RFC 7518 section 3.3).
    fn assertion(&self, now: Timestamp) -> Result<Zeroizing<String>, ProviderError> {
        let encode = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let mut header = json!({ "alg": "RS256", "typ": "JWT" });
        if let (false, Some(header)) = (self.key_id.is_empty(), header.as_object_mut()) {
            header.insert("kid".to_owned(), self.key_id.as_str().into());
        }
        let claims = encode(json!({
            "iss": self.email,
            "scope": SCOPE,
            "aud": self.token_uri,
            "iat": now.as_second(),
            "exp": now.as_second().saturating_add(3600),
        }));
        let message = format!("{}.{claims}", encode(header));
        let signature = self
            .key
            .sign(SignatureAlgorithm::Sha256WithRsa, message.as_bytes())
            .map_err(|error| credential(SECRET_REF, error.to_string()))?;
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature);
        Ok(Zeroizing::new(format!("{message}.{signature}")))
    }
}

/// A key file that the environment names, else the metadata server.
fn ambient(context: &Context<'_>) -> Result<Source, ProviderError> {
    let set = |name: &str| (context.environment)(name).filter(|value| !value.trim().is_empty());
    if let Some(path) = set(KEY_FILE) {
        let json = std::fs::read(Path::new(&path))
            .map(Zeroizing::new)
            .map_err(|error| credential(KEY_FILE, format!("{path}: {error}")))?;
        let account = ServiceAccount::read(&json);
        let account = account.map_err(|why| credential(KEY_FILE, format!("{path}: {why}")))?;
        return Ok(Source::ServiceAccount(account));
    }
    let host = set("GCE_METADATA_HOST").unwrap_or_else(|| "metadata.google.internal".to_owned());
    Ok(Source::Metadata(format!("http://{}", host.trim())))
}

fn credential(field: &'static str, reason: String) -> ProviderError {
    ProviderError::Credential { provider: NAME, field, reason }
}

const SECRET_REF: &str = "serviceAccountSecretRef";
const KEY_FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const SCOPE: &str = "https://www.googleapis.com/auth/ndev.clouddns.readwrite";
const METADATA_TIMEOUT: Duration = Duration::from_secs(5);
/// Advice for machines outside Google Cloud, where no metadata server answers.
const NOT_HERE: &str = "without serviceAccountSecretRef certctl uses the machine's account, which \
    only machines of Google's cloud have";

pub(super) const NAME: &str = "cloudDNS";
