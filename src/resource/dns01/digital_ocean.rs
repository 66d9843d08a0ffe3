//! `dns01.digitalocean`.

use super::settings::settings;

settings! {
    /// DigitalOcean.
    DigitalOcean {
        required {
            /// An API token.
            token_secret_ref "tokenSecretRef": Secret;
        }
        optional {}
        rules []
    }
}
