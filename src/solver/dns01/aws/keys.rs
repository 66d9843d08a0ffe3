//! Keys of an AWS account.

use jiff::Timestamp;
use zeroize::Zeroizing;

use crate::solver::dns01::{ProviderError, Reply};

/// What requests are signed with.
#[derive(Clone)]
pub(in super::super) struct Keys {
    pub(in super::super) id: Zeroizing<String>,
    pub(in super::super) secret: Zeroizing<String>,
    /// The session token of temporary keys.
    pub(in super::super) token: Option<Zeroizing<String>>,
}

impl Keys {
    /// The keys of an answer, whose fields `field` finds, and their expiry.
    pub(super) fn read<'a>(
        reply: &Reply,
        token: &str,
        field: impl Fn(&str) -> &'a str,
    ) -> Result<(Self, Timestamp), ProviderError> {
        let text = |name: &str| match field(name) {
            "" => Err(reply.garbled(&format!("there is no {name} in it"))),
            text => Ok(Zeroizing::new(text.to_owned())),
        };
        let (id, secret) = (text("AccessKeyId")?, text("SecretAccessKey")?);
        let keys = Self { id, secret, token: Some(text(token)?) };
        let end = text("Expiration")?.parse();
        Ok((keys, end.map_err(|_| reply.garbled(&"its Expiration is not a time"))?))
    }

    /// What an answer must not repeat.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        [&self.id, &self.secret].into_iter().chain(&self.token).map(|secret| secret.as_str())
    }
}
