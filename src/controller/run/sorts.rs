//! Sorts of deeds and of errors, as far as a run treats them alike.

use crate::controller::{DeedErrorKind, Effect};

/// Trouble that no answer of the CA, and no waiting, changes.
pub(super) fn is_our_own(kind: DeedErrorKind) -> bool {
    match kind {
        DeedErrorKind::Precondition | DeedErrorKind::State => true,
        DeedErrorKind::Transient
        | DeedErrorKind::Refused
        | DeedErrorKind::Gone
        | DeedErrorKind::Unusable
        | DeedErrorKind::Denied
        | DeedErrorKind::Broken
        | DeedErrorKind::Local => false,
    }
}

/// Whether this is asked in the name of an account that the CA is to know.
pub(in crate::controller) fn acts_for_the_account(effect: &Effect) -> bool {
    match effect {
        Effect::UpdateContacts
        | Effect::CreateOrder
        | Effect::ReadOrder
        | Effect::ReadAuthorization { .. }
        | Effect::Accept { .. }
        | Effect::Finalize
        | Effect::Download => true,
        Effect::Prepare { .. }
        | Effect::GenerateKey { .. }
        | Effect::ReuseKey
        | Effect::BuildRequest
        | Effect::ObtainAccountKey
        | Effect::FindAccount
        | Effect::RegisterAccount
        | Effect::Locate { .. }
        | Effect::Present { .. }
        | Effect::SelfCheck { .. }
        | Effect::CleanUp { .. }
        | Effect::Publish
        | Effect::PublishTemporary
        | Effect::Rewrite
        | Effect::Deploy { .. }
        | Effect::Revoke { .. }
        | Effect::SwitchBack { .. }
        | Effect::RestoreLinks { .. }
        | Effect::DeactivateAccount => false,
    }
}

/// Whether the order cannot go on without this deed; the others are tried again or left.
pub(super) fn is_for_the_order(effect: &Effect) -> bool {
    !matches!(
        effect,
        Effect::Locate { .. }
            | Effect::Present { .. }
            | Effect::SelfCheck { .. }
            | Effect::CleanUp { .. }
            | Effect::Deploy { .. }
            | Effect::Revoke { .. }
            | Effect::DeactivateAccount
    )
}
