//! `dns01.route53`.

use super::settings::{Rule, settings};

settings! {
    /// Amazon Route 53.
    Route53 {
        required {}
        optional {
            /// The access key.
            access_key_id "accessKeyID": Text, example "AKIA...";
            /// The access key, from a secret.
            access_key_id_secret_ref "accessKeyIDSecretRef": Secret;
            /// The secret of the access key.
            secret_access_key_secret_ref "secretAccessKeySecretRef": Secret;
            /// A role to assume.
            role "role": Text, example "arn:aws:iam::1:role/dns";
            /// The zone ID; by default certctl finds it by name.
            hosted_zone_id "hostedZoneID": Text, example "Z123";
            /// Region of the API.
            region "region": Text, example "eu-central-1";
            /// Service accounts of a cluster.
            auth "auth": ClusterOnly;
        }
        rules [Rule::NotBoth("accessKeyID", "accessKeyIDSecretRef")]
    }
}
