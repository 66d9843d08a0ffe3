//! cert-manager's ChallengePayload (`webhook.acme.cert-manager.io/v1alpha1`).

use aws_lc_rs::rand;
use serde_json::{Value, json};

use super::{Action, Context, TxtRecord};
use crate::resource::ValidationMethod;

impl Action {
    /// As cert-manager writes it.
    fn in_payload(self) -> &'static str {
        match self {
            Self::Present => "Present",
            Self::CleanUp => "CleanUp",
        }
    }

    /// As a program's first argument, the same as lego's.
    pub(super) fn in_arguments(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::CleanUp => "cleanup",
        }
    }
}

/// The fields that all requests of a solver share.
#[derive(Debug)]
pub(super) struct Payload {
    namespace: String,
    allow_ambient: bool,
    config: Option<Value>,
}

impl Payload {
    pub(super) fn new(context: &Context<'_>, config: Option<&Value>) -> Self {
        Self {
            namespace: context.namespace.to_owned(),
            allow_ambient: context.allow_ambient,
            config: config.cloned(),
        }
    }

    /// The document and its request's id.
    pub(super) fn of(&self, action: Action, record: &TxtRecord) -> (Value, String) {
        let uid = random_uuid();
        let mut request = json!({
            "uid": uid,
            "action": action.in_payload(),
            "type": ValidationMethod::DNS01.word,
            "dnsName": record.domain,
            "key": record.value,
            "resourceNamespace": self.namespace,
            "resolvedFQDN": rooted(&record.name),
            "resolvedZone": rooted(&record.zone),
            "allowAmbientCredentials": self.allow_ambient,
        });
        if let (Some(config), Some(fields)) = (&self.config, request.as_object_mut()) {
            fields.insert("config".to_owned(), config.clone());
        }
        let document = json!({
            "apiVersion": "webhook.acme.cert-manager.io/v1alpha1",
            "kind": "ChallengePayload",
            "request": request,
        });
        (document, uid)
    }
}

/// With the root's dot; a zone that is not known stays empty.
pub(super) fn rooted(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}.") }
}

/// RFC 9562 section 5.4.
fn random_uuid() -> String {
    let mut buffer = [0_u8; 16];
    #[expect(clippy::expect_used, reason = "aws-lc aborts before it lacks randomness")]
    rand::fill(&mut buffer).expect("the system's random source");
    let bits = u128::from_be_bytes(buffer);
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        bits >> 96,
        (bits >> 80) & 0xffff,
        (bits >> 64) & 0x0fff,
        0x8000 | ((bits >> 48) & 0x3fff),
        bits & 0xffff_ffff_ffff
    )
}
