//! Keys of an AWS account.

use zeroize::Zeroizing;

use crate::solver::dns01::redact::without;

/// What requests are signed with.
#[derive(Clone)]
pub(in super::super) struct Keys {
    pub(in super::super) id: Zeroizing<String>,
    pub(in super::super) secret: Zeroizing<String>,
    /// The session token of temporary keys.
    pub(in super::super) token: Option<Zeroizing<String>>,
}

impl Keys {
    /// The text without the keys.
    pub(in super::super) fn without(&self, text: &str) -> String {
        let token = self.token.as_ref().map_or("", |token| token.as_str());
        without(text, &[self.id.as_str(), self.secret.as_str(), token])
    }
}
