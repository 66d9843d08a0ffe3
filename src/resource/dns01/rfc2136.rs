//! `dns01.rfc2136`.

use super::settings::{Rule, settings};

settings! {
    /// Dynamic updates, for example to BIND, Knot and PowerDNS.
    Rfc2136 {
        required {
            /// The primary server, HOST or HOST:PORT.
            nameserver "nameserver": Server, example "192.0.2.1:53";
        }
        optional {
            /// The key that signs the updates, in base64.
            tsig_secret_secret_ref "tsigSecretSecretRef": Secret;
            /// Name of the key that signs the updates.
            tsig_key_name "tsigKeyName": Text, example "acme";
            /// HMACMD5, HMACSHA1, HMACSHA224, HMACSHA256, HMACSHA384 or HMACSHA512.
            tsig_algorithm "tsigAlgorithm": WordInAnyCase(
                "HMACMD5", "HMACSHA1", "HMACSHA224", "HMACSHA256", "HMACSHA384", "HMACSHA512"
            ), default "HMACMD5", example "HMACSHA256";
            /// The transport.
            protocol "protocol": Word("UDP", "TCP"), default "UDP", example "TCP";
        }
        rules [
            Rule::Needs("tsigSecretSecretRef", "tsigKeyName"),
            Rule::Needs("tsigKeyName", "tsigSecretSecretRef"),
        ]
    }
}
