//! What an issuer refers to: its secrets, its CA, its DNS providers. One path to them, for runs and
//! for read-only verbs.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use super::error;
use crate::acme::{AcmeError, Client, Eab, Endpoint, Limits};
use crate::controller::EffectError;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::manifest::{SecretError, SecretSource};
use crate::probe::Resolver;
use crate::resource::{Dns01Provider, Issuer, NamespacedName, Obstacle, SecretKeySelector};
use crate::solver::dns01::{Api, Context, DnsProvider, Lookup, ProviderError, open};

/// An issuer and the source of its secrets.
#[derive(Clone, Copy, Debug)]
pub struct IssuerAccess<'a> {
    pub issuer: &'a Issuer,
    pub secrets: &'a SecretSource,
    /// The namespace of a ClusterIssuer's secrets.
    pub cluster_resource_namespace: &'a str,
}

/// Access to DNS providers.
pub struct ProviderAccess<'a> {
    /// The environment variables, for cloud credentials.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The operator's programs: `solvers.d`.
    pub solvers_dir: &'a Path,
    /// The HTTP client.
    pub api: Rc<Api>,
    /// The host name resolver.
    pub resolver: Rc<Resolver>,
}

impl<'a> IssuerAccess<'a> {
    /// The namespace of the issuer's secrets.
    pub fn namespace(&self) -> &'a str {
        let namespace = &self.issuer.metadata.namespace;
        if namespace.is_empty() { self.cluster_resource_namespace } else { namespace }
    }

    /// An entry of a secret in that namespace.
    pub fn secret(&self, reference: &SecretKeySelector) -> Result<Zeroizing<Vec<u8>>, SecretError> {
        self.secret_and_file(reference).map(|(bytes, _)| bytes)
    }

    /// An entry of a secret in that namespace, and the file that contained it.
    pub fn secret_and_file(
        &self,
        reference: &SecretKeySelector,
    ) -> Result<(Zeroizing<Vec<u8>>, PathBuf), SecretError> {
        let name = NamespacedName::new(self.namespace(), &reference.name);
        self.secrets.find(&name, &reference.key)
    }

    /// The EAB key, decoded from unpadded base64url; `None` when the issuer has none.
    pub fn external_account_binding(&self) -> Result<Option<Eab>, EffectError> {
        let Some(eab) = &self.issuer.acme.external_account_binding else { return Ok(None) };
        let bytes = self.secret(&eab.key_secret_ref).map_err(|error| {
            let issuer = &self.issuer.metadata.name;
            let fact = format!("issuer \"{issuer}\", externalAccountBinding: {error}");
            let fix = error.obstacle().fix.filter(|_| matches!(error, SecretError::Loose(_)));
            error::obstacle(Obstacle { fact, fix })
        })?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
        if text.is_empty() {
            let (name, key) = (&eab.key_secret_ref.name, &eab.key_secret_ref.key);
            return Err(error::precondition(format!(
                "the secret \"{name}\", key \"{key}\" is empty"
            )));
        }
        let hmac_key = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| {
            error::precondition(format!(
                "the secret \"{}\", key \"{}\" is not an HMAC key in base64url (letters, digits, \
                 - and _, without spaces and =): {}; copy it again from the CA, together with the key ID",
                eab.key_secret_ref.name,
                eab.key_secret_ref.key,
                not_base64url(text)
            ))
        })?;
        Ok(Some(Eab { key_id: eab.key_id.clone(), hmac_key: Zeroizing::new(hmac_key) }))
    }

    /// A client for the issuer's CA.
    pub fn client(&self, user_agent: &str, limits: Limits) -> Result<Arc<Client>, AcmeError> {
        let acme = &self.issuer.acme;
        let endpoint = Endpoint {
            directory_url: acme.server.clone(),
            ca_bundle: acme.ca_bundle.clone(),
            skip_tls_verify: acme.skip_tls_verify,
            user_agent: user_agent.to_owned(),
        };
        Client::new(endpoint, limits)
    }

    /// The provider of a solver, with validated settings and its credentials. No request is sent.
    pub fn provider(
        &self,
        settings: &Dns01Provider,
        reached: &ProviderAccess<'_>,
    ) -> Result<Box<dyn DnsProvider>, ProviderError> {
        let resolver = Rc::clone(&reached.resolver);
        let lookup: Lookup = Rc::new(move |host| {
            let resolver = Rc::clone(&resolver);
            Box::pin(async move {
                let found = resolver.addresses(&host).await.map_err(|error| error.to_string())?;
                Ok(found.iter().collect())
            })
        });
        open(
            settings,
            &Context {
                secret: &|selector| self.secret(selector).map_err(|error| error.to_string()),
                environment: reached.environment,
                allow_ambient: self.issuer.metadata.namespace.is_empty(),
                namespace: self.namespace(),
                solvers_dir: reached.solvers_dir,
                api: Rc::clone(&reached.api),
                lookup,
                now: Rc::new(|| SystemClock.now()),
            },
        )
    }
}

/// Why a text is not unpadded base64url, without showing what may be a secret.
fn not_base64url(text: &str) -> String {
    let is_known = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let Some((at, wrong)) = text.chars().enumerate().find(|(_, c)| !is_known(*c)) else {
        return format!("its length {} is impossible", text.len());
    };
    let what = match wrong {
        ' ' | '\t' => "a space",
        '\n' | '\r' => "a line break",
        '=' => "`=`, which is padding",
        '+' | '/' => "`+` or `/` of another base64",
        _ => "a character that is not allowed",
    };
    format!("character {} is {what}", at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_an_hmac_key_is_said_in_words() {
        for (text, why) in [
            ("ab cd", "character 3 is a space"),
            ("ab\ncd", "character 3 is a line break"),
            ("YWJj+w", "character 5 is `+` or `/` of another base64"),
            ("YQ==", "character 3 is `=`, which is padding"),
            ("{\"k\"", "character 1 is a character that is not allowed"),
            ("abcde", "its length 5 is impossible"),
        ] {
            assert!(BASE64_URL_SAFE_NO_PAD.decode(text).is_err());
            assert_eq!(not_base64url(text), why);
        }
    }
}
