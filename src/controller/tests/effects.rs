//! The effects for the fixture's account, order and challenges.

use super::fixture::{
    ACCOUNT, Phase, authorization_url, challenge, challenge_url, identifier, in_phase, order_url,
    ready_to_order,
};
use crate::controller::{Effect, formats};
use crate::resource::PublicKeyDigest;

fn account() -> String {
    ACCOUNT.to_owned()
}

pub(super) fn prepare(solving: bool) -> Effect {
    let contents = formats::contents(&ready_to_order());
    Effect::Prepare { solving, contents, targets: Vec::new() }
}

fn contacts() -> Vec<String> {
    vec!["mailto:ops@example.com".to_owned()]
}

pub(super) fn register() -> Effect {
    Effect::RegisterAccount { contacts: contacts() }
}

pub(super) fn update_contacts() -> Effect {
    Effect::UpdateContacts { account: account(), contacts: contacts() }
}

pub(super) fn deactivate() -> Effect {
    Effect::DeactivateAccount { account: account() }
}

pub(super) fn create_order() -> Effect {
    Effect::CreateOrder {
        account: account(),
        identifiers: (0..3).map(identifier).collect(),
        profile: String::new(),
        not_after: None,
        replaces: None,
    }
}

pub(super) fn read_order() -> Effect {
    Effect::ReadOrder { account: account(), url: order_url().to_owned() }
}

pub(super) fn read_authorization(index: usize) -> Effect {
    Effect::ReadAuthorization { account: account(), url: authorization_url(index) }
}

pub(super) fn present(index: usize) -> Effect {
    Effect::Present { challenge: challenge(index, Phase::Presenting).spec, target: None }
}

pub(super) fn self_check(index: usize) -> Effect {
    Effect::SelfCheck { challenge: challenge(index, Phase::SelfChecking).spec, target: None }
}

pub(super) fn accept(index: usize) -> Effect {
    Effect::Accept { account: account(), url: challenge_url(index) }
}

pub(super) fn clean_up(order: &str, index: usize) -> Effect {
    let challenge = challenge(index, Phase::Queued).spec;
    Effect::CleanUp { order: order.to_owned(), challenge, target: None }
}

pub(super) fn finalize() -> Effect {
    let urls = in_phase("finalizing").urls().unwrap().clone();
    Effect::Finalize { account: account(), urls, request: "CSR of next".to_owned() }
}

pub(super) fn download() -> Effect {
    Effect::Download {
        account: account(),
        url: in_phase("downloading").certificate_url().unwrap().to_owned(),
        preferred_chain: String::new(),
        public_key: PublicKeyDigest("next".to_owned()),
        identifiers: (0..3).map(identifier).collect(),
    }
}
