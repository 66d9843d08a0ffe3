//! Keys of an AWS account: those of a Secret or those of the environment and the machine, with an
//! optional role on top.

use std::rc::Rc;

use http::Method;
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::failure::Failure;
use super::machine::Machine;
use super::{Element, Keys, Region, Signer};
use crate::solver::dns01::percent::pairs;
use crate::solver::dns01::token_cache::Cached;
use crate::solver::dns01::token_file::token_file;
use crate::solver::dns01::{Api, Call, ProviderError, Reply};

/// The source of keys, and the keys in use.
pub(in super::super) struct Credentials {
    source: Source,
    /// The ARN of a role that is assumed on top; empty: none.
    role: String,
    region: Region,
    /// The base URL of the Security Token Service.
    pub(in super::super) sts: String,
    session: String,
    keys: Cached<Keys>,
}

enum Source {
    Keys(Keys),
    WebIdentity { role: String, file: String },
    Machine(Machine),
}

impl Credentials {
    /// These keys.
    pub(in super::super) fn of_keys(keys: Keys, role: &str, region: Region) -> Self {
        Self::new(Source::Keys(keys), role, region, "certctl".to_owned())
    }

    /// In the order of Amazon's own tools: variables, web identity, container, instance.
    pub(in super::super) fn ambient(
        environment: &dyn Fn(&str) -> Option<String>,
        role: &str,
        region: Region,
    ) -> Result<Self, ProviderError> {
        let set = |name: &str| {
            let value = environment(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let keys = (set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY"));
        let identity = (set("AWS_WEB_IDENTITY_TOKEN_FILE"), set("AWS_ROLE_ARN"));
        let source = if let (Some(id), Some(secret)) = keys {
            let token = set("AWS_SESSION_TOKEN").map(Zeroizing::new);
            Source::Keys(Keys { id: Zeroizing::new(id), secret: Zeroizing::new(secret), token })
        } else if let (Some(file), Some(role)) = identity {
            Source::WebIdentity { role, file }
        } else if let Some(machine) = Machine::new(&set)? {
            Source::Machine(machine)
        } else {
            return Err(ProviderError::Settings {
                provider: "route53",
                reason: "there are no credentials: neither accessKeyID nor AWS_ACCESS_KEY_ID is \
                         given, and AWS_EC2_METADATA_DISABLED is set"
                    .to_owned(),
            });
        };
        let session = set("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| "certctl".to_owned());
        Ok(Self::new(source, role, region, session))
    }

    fn new(source: Source, role: &str, region: Region, session: String) -> Self {
        let (role, sts, keys) = (role.to_owned(), region.sts(), Cached::nothing());
        Self { source, role, region, sts, session, keys }
    }

    /// The base URL of the instance's metadata service, where that is the source.
    #[cfg(test)]
    pub(in super::super) fn instance(&mut self) -> Option<&mut String> {
        match &mut self.source {
            Source::Machine(Machine::Instance(base)) => Some(base),
            Source::Machine(Machine::Container { .. })
            | Source::Keys(_)
            | Source::WebIdentity { .. } => None,
        }
    }

    /// Keys that are valid for at least another minute.
    pub(in super::super) async fn keys(
        &self,
        api: &Api,
        now: Timestamp,
    ) -> Result<Rc<Keys>, ProviderError> {
        if let Some(keys) = self.keys.at(now) {
            return Ok(keys);
        }
        let (keys, until) = match &self.source {
            Source::Keys(keys) => (keys.clone(), Timestamp::MAX),
            Source::WebIdentity { role, file } => self.web_identity(api, role, file).await?,
            Source::Machine(machine) => machine.keys(api).await?,
        };
        let (keys, until) =
            if self.role.is_empty() { (keys, until) } else { self.assume(api, &keys, now).await? };
        Ok(self.keys.keep(keys, until))
    }

    async fn web_identity(
        &self,
        api: &Api,
        role: &str,
        path: &str,
    ) -> Result<(Keys, Timestamp), ProviderError> {
        let token = token_file("route53", "AWS_WEB_IDENTITY_TOKEN_FILE", path)?;
        let form = pairs(&[
            ("Action", "AssumeRoleWithWebIdentity"),
            ("RoleArn", role),
            ("RoleSessionName", &self.session),
            ("Version", VERSION),
            ("WebIdentityToken", &token),
        ]);
        let url = format!("{}/", self.sts);
        let call = Call::new(Method::POST, url).body(FORM, form.into_bytes());
        session(&api.send(call.hiding([token.as_str()])).await?)
    }

    async fn assume(
        &self,
        api: &Api,
        keys: &Keys,
        now: Timestamp,
    ) -> Result<(Keys, Timestamp), ProviderError> {
        let form = pairs(&[
            ("Action", "AssumeRole"),
            ("RoleArn", &self.role),
            ("RoleSessionName", &self.session),
            ("Version", VERSION),
        ]);
        let signer = Signer { keys, service: "sts", region: self.region.name(), now };
        let url = format!("{}/", self.sts);
        let call = signer.call(&Method::POST, &url, Some((FORM, form.as_bytes())))?;
        session(&api.send(call).await?)
    }
}

/// The keys in an answer of the Security Token Service.
fn session(reply: &Reply) -> Result<(Keys, Timestamp), ProviderError> {
    if !reply.is_success() {
        return Err(Failure::read(reply).error(reply));
    }
    let root = Element::read(&reply.body).map_err(|why| reply.garbled(&why))?;
    let found = root.children.iter().find_map(|result| result.child("Credentials"));
    let found = found.ok_or_else(|| reply.garbled(&"there are no Credentials in it"))?;
    Keys::read(reply, "SessionToken", |name| found.text_at(&[name]))
}

const FORM: &str = "application/x-www-form-urlencoded";
const VERSION: &str = "2011-06-15";
