//! Signed requests (RFC 8555 section 6.2 to 6.5): decoded only when every check passes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::jwk::PublicKey;
use super::problem::{Problem, ProblemType};
use super::route::Route;
use super::world::World;

/// A flattened JWS (RFC 7515 section 7.2.2), undecoded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlatJws {
    protected: String,
    payload: String,
    signature: String,
}

/// The protected header.
#[derive(Debug, Deserialize)]
pub(super) struct Protected {
    pub(super) alg: String,
    pub(super) url: String,
    pub(super) nonce: Option<String>,
    pub(super) kid: Option<String>,
    pub(super) jwk: Option<Value>,
    crit: Option<Value>,
}

impl FlatJws {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Problem> {
        serde_json::from_slice(body)
            .map_err(|error| Problem::malformed(format!("not a flattened JWS: {error}")))
    }

    pub(super) fn header(&self) -> Result<Protected, Problem> {
        let header: Protected = serde_json::from_slice(&decode("protected", &self.protected)?)
            .map_err(|error| Problem::malformed(format!("JWS protected header: {error}")))?;
        match header.crit {
            Some(_) => Err(Problem::malformed("JWS: no critical header is understood here")),
            None => Ok(header),
        }
    }

    pub(super) fn payload(&self) -> Result<Vec<u8>, Problem> {
        decode("payload", &self.payload)
    }

    pub(super) fn signature(&self) -> Result<Vec<u8>, Problem> {
        decode("signature", &self.signature)
    }

    /// What is signed.
    pub(super) fn signing_input(&self) -> String {
        format!("{}.{}", self.protected, self.payload)
    }
}

fn decode(field: &str, text: &str) -> Result<Vec<u8>, Problem> {
    URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|error| Problem::malformed(format!("JWS {field} is not base64url: {error}")))
}

/// The signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Signer {
    /// The bearer of this key (`jwk`).
    Key(PublicKey),
    /// This account (`kid`).
    Account(u64),
}

/// A request whose signature, URL and nonce are valid.
#[derive(Debug)]
pub(super) struct Signed {
    pub(super) signer: Signer,
    pub(super) payload: Vec<u8>,
}

impl Signed {
    /// The account that signed.
    pub(super) fn account(&self) -> Result<u64, Problem> {
        match self.signer {
            Signer::Account(id) => Ok(id),
            Signer::Key(_) => Err(Problem::malformed("JWS: kid is required here, not jwk")),
        }
    }

    /// Whether it is a POST-as-GET (RFC 8555 section 6.3).
    pub(super) fn is_read(&self) -> bool {
        self.payload.is_empty()
    }

    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.payload)
            .map_err(|error| Problem::malformed(format!("payload: {error}")))
    }
}

/// Verifies a request. The nonce is consumed even when a later check fails.
pub(super) fn open(
    world: &mut World,
    accepted: &[String],
    base_url: &str,
    route: Route,
    content_type: Option<&str>,
    body: &[u8],
) -> Result<Signed, Problem> {
    if content_type != Some("application/jose+json") {
        let detail = format!("Content-Type {content_type:?} is not application/jose+json");
        return Err(Problem::malformed(detail).with_status(415));
    }
    let jws = FlatJws::parse(body)?;
    let header = jws.header()?;
    if !accepted.contains(&header.alg) {
        let detail = format!("alg {:?} is not accepted", header.alg);
        return Err(Problem::signature_algorithm(detail, accepted));
    }
    let request_url = format!("{base_url}{}", route.path());
    if header.url != request_url {
        let detail = format!("JWS url {:?} is not the requested {request_url:?}", header.url);
        return Err(Problem::unauthorized(detail));
    }
    if !header.nonce.as_deref().is_some_and(|nonce| world.nonces.take(nonce)) {
        let detail = format!("nonce {:?} is unknown or was used before", header.nonce);
        return Err(Problem::new(ProblemType::BadNonce, detail));
    }
    let (signer, key) = match (&header.jwk, &header.kid) {
        (Some(jwk), None) if matches!(route, Route::NewAccount | Route::Revoke) => {
            let key = PublicKey::from_jwk(jwk)?;
            (Signer::Key(key.clone()), key)
        }
        (None, Some(kid)) if route != Route::NewAccount => {
            let (id, account) = world.account_by_url(base_url, kid)?;
            (Signer::Account(id), account.key.clone())
        }
        (jwk, kid) => {
            return Err(Problem::malformed(format!(
                "JWS: {} here, found jwk: {}, kid: {}",
                if route == Route::NewAccount { "jwk is required" } else { "kid is required" },
                jwk.is_some(),
                kid.is_some(),
            )));
        }
    };
    key.verify(&header.alg, jws.signing_input().as_bytes(), &jws.signature()?)?;
    if let Signer::Account(id) = signer
        && !world.account(id)?.active
    {
        return Err(Problem::unauthorized("the account is deactivated"));
    }
    Ok(Signed { signer, payload: jws.payload()? })
}
