//! Accounts (RFC 8555 section 7.3).

use aws_lc_rs::hmac;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use super::jwk::PublicKey;
use super::jws::{FlatJws, Signed, Signer};
use super::problem::{Problem, ProblemType};
use super::reply::Reply;
use super::route::Route;
use super::world::World;

/// One account.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) key: PublicKey,
    pub(super) thumbprint: String,
    pub(super) contact: Vec<String>,
    pub(super) active: bool,
}

impl Account {
    fn to_json(&self) -> Value {
        let status = if self.active { "valid" } else { "deactivated" };
        json!({ "status": status, "contact": self.contact })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewAccount {
    #[serde(default)]
    contact: Vec<String>,
    #[serde(default)]
    terms_of_service_agreed: bool,
    #[serde(default)]
    only_return_existing: bool,
    external_account_binding: Option<Value>,
}

/// newAccount: 201 for a new account, 200 for an existing account of the key.
pub(super) fn new_account(
    shared: &Shared,
    world: &mut World,
    signed: &Signed,
) -> Result<Reply, Problem> {
    let Signer::Key(key) = &signed.signer else {
        return Err(Problem::malformed("JWS: jwk is required here"));
    };
    let wanted: NewAccount = signed.parse()?;
    let thumbprint = key.thumbprint();
    if let Some(id) = world.account_of_key.get(&thumbprint).copied() {
        let account = world.account(id)?;
        if !account.active {
            return Err(Problem::unauthorized("the account of this key is deactivated"));
        }
        let url = shared.url(Route::Account(id));
        return Ok(Reply::json(200, account.to_json()).location(url));
    }
    if wanted.only_return_existing {
        let detail = "no account has this key";
        return Err(Problem::new(ProblemType::AccountDoesNotExist, detail));
    }
    if !wanted.terms_of_service_agreed {
        return Err(Problem::malformed("termsOfServiceAgreed is required"));
    }
    check_contact(&wanted.contact)?;
    check_binding(shared, wanted.external_account_binding.as_ref(), signed)?;
    if world.accounts.len() >= shared.options.max_orders {
        return Err(Problem::new(ProblemType::RateLimited, "this CA has no more accounts"));
    }
    let id = world.next_id();
    let account = Account { key: key.clone(), thumbprint, contact: wanted.contact, active: true };
    let reply = Reply::json(201, account.to_json()).location(shared.url(Route::Account(id)));
    world.account_of_key.insert(account.thumbprint.clone(), id);
    world.accounts.insert(id, account);
    Ok(reply)
}

#[derive(Debug, Deserialize)]
struct Update {
    contact: Option<Vec<String>>,
    status: Option<String>,
}

/// The account itself: read, new contacts (section 7.3.2), deactivation (section 7.3.6).
pub(super) fn account(world: &mut World, id: u64, signed: &Signed) -> Result<Reply, Problem> {
    if signed.account()? != id {
        return Err(Problem::unauthorized("this is another account's URL"));
    }
    let update = if signed.is_read() {
        Update { contact: None, status: None }
    } else {
        signed.parse::<Update>()?
    };
    if let Some(contact) = &update.contact {
        check_contact(contact)?;
    }
    let Some(account) = world.accounts.get_mut(&id) else {
        return Err(Problem::not_found("account"));
    };
    match update.status.as_deref() {
        None | Some("valid") => {}
        Some("deactivated") => account.active = false,
        Some(other) => {
            return Err(Problem::malformed(format!("an account cannot become {other:?}")));
        }
    }
    if let Some(contact) = update.contact {
        account.contact = contact;
    }
    Ok(Reply::json(200, account.to_json()))
}

fn check_contact(contact: &[String]) -> Result<(), Problem> {
    for url in contact {
        let Some(address) = url.strip_prefix("mailto:") else {
            let detail = format!("contact {url:?} is not a mailto URL");
            return Err(Problem::new(ProblemType::UnsupportedContact, detail));
        };
        let parts: Vec<&str> = address.split('@').collect();
        if parts.len() != 2
            || parts.iter().any(|part| part.is_empty())
            || address.contains(['?', ','])
        {
            let detail = format!("contact {url:?} is not one mail address");
            return Err(Problem::new(ProblemType::InvalidContact, detail));
        }
    }
    Ok(())
}

/// External account binding (section 7.3.4): required as soon as the CA has such keys.
fn check_binding(shared: &Shared, binding: Option<&Value>, signed: &Signed) -> Result<(), Problem> {
    let keys = &shared.options.external_account_keys;
    if keys.is_empty() {
        return Ok(());
    }
    let Some(binding) = binding else {
        let detail = "externalAccountBinding is required";
        return Err(Problem::new(ProblemType::ExternalAccountRequired, detail));
    };
    let jws = FlatJws::parse(binding.to_string().as_bytes())?;
    let header = jws.header()?;
    let algorithm = match header.alg.as_str() {
        "HS256" => hmac::HMAC_SHA256,
        "HS384" => hmac::HMAC_SHA384,
        "HS512" => hmac::HMAC_SHA512,
        other => {
            return Err(Problem::malformed(format!("externalAccountBinding: alg {other:?}")));
        }
    };
    if header.nonce.is_some() || header.url != shared.url(Route::NewAccount) {
        return Err(Problem::malformed("externalAccountBinding: a nonce, or another url"));
    }
    let payload: Value = serde_json::from_slice(&jws.payload()?)
        .map_err(|error| Problem::malformed(format!("externalAccountBinding: {error}")))?;
    let bound = PublicKey::from_jwk(&payload)?;
    if !matches!(&signed.signer, Signer::Key(key) if *key == bound) {
        return Err(Problem::malformed("externalAccountBinding is for another account key"));
    }
    let kid = header.kid.unwrap_or_default();
    let Some(secret) = keys.get(&kid) else {
        let detail = format!("externalAccountBinding: key id {kid:?} is unknown");
        return Err(Problem::unauthorized(detail));
    };
    hmac::verify(
        &hmac::Key::new(algorithm, secret),
        jws.signing_input().as_bytes(),
        &jws.signature()?,
    )
    .map_err(|_| Problem::unauthorized("externalAccountBinding: the MAC does not verify"))
}
