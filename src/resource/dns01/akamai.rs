//! `dns01.akamai`.

use super::settings::settings;

settings! {
    /// Akamai Edge DNS.
    Akamai {
        required {
            /// Host of its API.
            service_consumer_domain "serviceConsumerDomain": Text, example "akab-1.luna.akamaiapis.net";
            /// The client token.
            client_token_secret_ref "clientTokenSecretRef": Secret;
            /// The client secret.
            client_secret_secret_ref "clientSecretSecretRef": Secret;
            /// The access token.
            access_token_secret_ref "accessTokenSecretRef": Secret;
        }
        optional {}
        rules []
    }
}
