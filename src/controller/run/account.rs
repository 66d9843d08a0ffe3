//! What happened to the account in this run.

/// What this run has learned of the account at the CA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an event of its own in this run")]
pub struct AccountRun {
    /// The account record was created in this run, so no newAccount can have been sent before.
    pub is_fresh: bool,
    /// The CA does not know the account any more. The next request registers it again.
    pub is_lost: bool,
    /// The account was lost in this run and is registered again: the next loss is a failure.
    pub is_back: bool,
    /// The contacts were sent to the CA in this run.
    pub contacts_are_sent: bool,
    /// An earlier run had to deactivate the account, and may have done it.
    pub may_be_deactivated: bool,
}

impl AccountRun {
    /// Notes that the CA has the account.
    pub fn note_known(&mut self) {
        self.is_back |= std::mem::take(&mut self.is_lost);
    }
}
