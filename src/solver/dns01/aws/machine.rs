//! Credentials of the machine: of a container, from the agent beside it, or of an EC2 instance,
//! from its metadata service (version 2).

use std::time::Duration;

use http::Method;
use http::header::{AUTHORIZATION, HeaderName};
use jiff::Timestamp;
use reqwest::Url;
use serde_json::Value;
use zeroize::Zeroizing;

use super::Keys;
use crate::solver::dns01::token_file::token_file;
use crate::solver::dns01::{Api, Call, ProviderError, Reply};

/// The service that has the credentials.
pub(super) enum Machine {
    Container {
        url: String,
        authorization: Authorization,
    },
    /// The base URL of the metadata service.
    Instance(String),
}

/// The token that a container sends to its agent.
pub(super) enum Authorization {
    None,
    Token(Zeroizing<String>),
    /// Read each time, because its writer replaces it.
    File(String),
}

impl Machine {
    /// From the environment; None when it disables the last source, the instance.
    pub(super) fn new(set: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, ProviderError> {
        let relative = set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        let relative = relative.map(|path| format!("http://169.254.170.2{path}"));
        let Some(url) = relative.or_else(|| set(FULL_URI)) else {
            let is_off = set("AWS_EC2_METADATA_DISABLED")
                .is_some_and(|text| text.eq_ignore_ascii_case("true"));
            return Ok((!is_off).then(|| Self::Instance("http://169.254.169.254".to_owned())));
        };
        let parsed = Url::parse(&url).ok();
        let host = parsed.as_ref().and_then(Url::host_str).unwrap_or_default();
        let is_https = parsed.as_ref().is_some_and(|url| url.scheme() == "https");
        if !is_https && !AGENTS.contains(&host) {
            let reason = "an http address other than a container agent's cannot be used".to_owned();
            return Err(ProviderError::Credential { provider: "route53", field: FULL_URI, reason });
        }
        let authorization = match (set(TOKEN_FILE), set("AWS_CONTAINER_AUTHORIZATION_TOKEN")) {
            (Some(path), _) => Authorization::File(path),
            (None, Some(token)) => Authorization::Token(Zeroizing::new(token)),
            (None, None) => Authorization::None,
        };
        Ok(Some(Self::Container { url, authorization }))
    }

    /// The credentials and their expiry.
    pub(super) async fn keys(&self, api: &Api) -> Result<(Keys, Timestamp), ProviderError> {
        match self {
            Self::Container { url, authorization } => {
                let call = Call::new(Method::GET, url.as_str()).plain().within(TIMEOUT);
                let token = match authorization {
                    Authorization::None => None,
                    Authorization::Token(token) => Some(token.clone()),
                    Authorization::File(path) => Some(token_file("route53", TOKEN_FILE, path)?),
                };
                let call = match &token {
                    Some(token) => call.credential(AUTHORIZATION, "", token)?,
                    None => call,
                };
                read(&response(api, call).await?)
            }
            Self::Instance(base) => {
                instance(api, base).await.map_err(|error| error.when_unreachable(NOT_HERE))
            }
        }
    }
}

async fn instance(api: &Api, base: &str) -> Result<(Keys, Timestamp), ProviderError> {
    let call = Call::new(Method::PUT, format!("{base}/latest/api/token")).plain().within(TIMEOUT);
    let call =
        call.header(HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds"), "300")?;
    let session = response(api, call).await?;
    let session = Zeroizing::new(String::from_utf8_lossy(&session.body).trim().to_owned());
    let get = async |path: &str| {
        let call = Call::new(Method::GET, format!("{base}{ROLES}{path}")).plain().within(TIMEOUT);
        let name = HeaderName::from_static("x-aws-ec2-metadata-token");
        response(api, call.credential(name, "", &session)?).await
    };
    let roles = get("").await?;
    let role = String::from_utf8_lossy(&roles.body).lines().next().unwrap_or_default().to_owned();
    let is_name = |c: char| c.is_ascii_alphanumeric() || "+=,.@_-".contains(c);
    if role.is_empty() || !role.chars().all(is_name) {
        return Err(roles.garbled(&"this is not the name of a role"));
    }
    read(&get(&role).await?)
}

/// The answer, which must be a success.
async fn response(api: &Api, call: Call) -> Result<Reply, ProviderError> {
    let reply = api.send(call).await?;
    if reply.is_success() {
        return Ok(reply);
    }
    Err(reply.refused(&String::from_utf8_lossy(&reply.body)))
}

fn read(reply: &Reply) -> Result<(Keys, Timestamp), ProviderError> {
    let answer: Value =
        serde_json::from_slice(&reply.body).map_err(|_| reply.garbled(&"this is not JSON"))?;
    let field = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    Keys::read(reply, "Token", field)
}

const FULL_URI: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
/// Agents of ECS and EKS, and this machine.
const AGENTS: [&str; 6] =
    ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "127.0.0.1", "localhost", "[::1]"];
const TIMEOUT: Duration = Duration::from_secs(5);
/// Advice for machines outside AWS, where no metadata service answers.
const NOT_HERE: &str = "without accessKeyID and AWS_ variables certctl uses the machine's role, \
    which only EC2 instances have";
