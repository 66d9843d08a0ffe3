//! `dns01.azureDNS`.

use super::settings::{Rule, settings};

settings! {
    /// Azure DNS.
    AzureDns {
        required {
            /// The subscription.
            subscription_id "subscriptionID": Text, example "00000000-0000-0000-0000-000000000000";
            /// Resource group of the zone.
            resource_group_name "resourceGroupName": Text, example "dns";
        }
        optional {
            /// The zone; by default certctl finds it by DNS.
            hosted_zone_name "hostedZoneName": Text, example "example.com";
            /// The Azure cloud.
            environment "environment": Word(
                "AzurePublicCloud", "AzureChinaCloud", "AzureGermanCloud", "AzureUSGovernmentCloud"
            ), default "AzurePublicCloud", example "AzurePublicCloud";
            /// A service principal, with its secret and tenant.
            client_id "clientID": Text, example "00000000-0000-0000-0000-000000000000";
            /// The client's secret.
            client_secret_secret_ref "clientSecretSecretRef": Secret;
            /// The tenant.
            tenant_id "tenantID": Text, example "00000000-0000-0000-0000-000000000000";
            /// A managed identity; excludes the service principal.
            managed_identity "managedIdentity": Object(ManagedIdentity);
            /// Whether the zone is public.
            zone_type "zoneType": Word("AzurePublicZone", "AzurePrivateZone"),
                default "AzurePublicZone", example "AzurePublicZone";
        }
        rules [Rule::OneOrAll(
            "managedIdentity",
            &["clientID", "clientSecretSecretRef", "tenantID"],
        )]
    }
}

settings! {
    /// `dns01.azureDNS.managedIdentity`.
    ManagedIdentity {
        required {}
        optional {
            /// Its client ID.
            client_id "clientID": Text, example "00000000-0000-0000-0000-000000000000";
            /// Its resource ID.
            resource_id "resourceID": Text, example "/subscriptions/1";
            /// Its tenant.
            tenant_id "tenantID": Text, example "00000000-0000-0000-0000-000000000000";
        }
        rules [Rule::NotBoth("clientID", "resourceID")]
    }
}

impl super::settings::Setting for ManagedIdentity {
    fn is_absent(&self) -> bool {
        false
    }
}
