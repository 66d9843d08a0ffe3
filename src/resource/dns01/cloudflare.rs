//! `dns01.cloudflare`.

use super::settings::{Rule, settings};

settings! {
    /// Cloudflare: a token, or a key with an email.
    Cloudflare {
        required {}
        optional {
            /// The account's e-mail address, for apiKeySecretRef.
            email "email": Text, example "ops@example.com";
            /// The global key, with email.
            api_key_secret_ref "apiKeySecretRef": Secret;
            /// An API token with Zone:Read and DNS:Edit.
            api_token_secret_ref "apiTokenSecretRef": Secret;
        }
        rules [
            Rule::ExactlyOne("apiKeySecretRef", "apiTokenSecretRef"),
            Rule::Needs("apiKeySecretRef", "email"),
        ]
    }
}
