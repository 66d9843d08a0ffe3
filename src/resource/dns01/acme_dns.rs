//! `dns01.acmeDNS`.

use super::settings::settings;

settings! {
    /// acme-dns.
    AcmeDns {
        required {
            /// URL of its API.
            host "host": Text, example "https://auth.acme-dns.io";
            /// The accounts, in JSON by domain.
            account_secret_ref "accountSecretRef": Secret;
        }
        optional {}
        rules []
    }
}
