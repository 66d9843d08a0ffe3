//! Keys of an AWS account.

use zeroize::Zeroizing;

/// What requests are signed with.
#[derive(Clone)]
pub(in super::super) struct Keys {
    pub(in super::super) id: Zeroizing<String>,
    pub(in super::super) secret: Zeroizing<String>,
    /// The session token of temporary keys.
    pub(in super::super) token: Option<Zeroizing<String>>,
}

impl Keys {
    /// What an answer must not repeat.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        [&self.id, &self.secret].into_iter().chain(&self.token).map(|secret| secret.as_str())
    }
}
