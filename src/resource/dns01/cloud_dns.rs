//! `dns01.cloudDNS`.

use super::settings::settings;

settings! {
    /// Google Cloud DNS.
    CloudDns {
        required {
            /// Project of the zone.
            project "project": Text, example "my-project";
        }
        optional {
            /// The JSON key of a service account; absent: the machine's own credentials.
            service_account_secret_ref "serviceAccountSecretRef": Secret;
            /// The managed zone; found when absent.
            hosted_zone_name "hostedZoneName": Text, example "my-zone";
        }
        rules []
    }
}
