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
            /// The JSON key of a service account; by default the machine's credentials.
            service_account_secret_ref "serviceAccountSecretRef": Secret;
            /// The managed zone; by default certctl finds it.
            hosted_zone_name "hostedZoneName": Text, example "my-zone";
        }
        rules []
    }
}
