//! The two DNS providers with several ways to log in: Route 53 and Azure DNS.

use crate::resource::{AzureDns, Dns01Provider, ManagedIdentity, Route53};

use super::field::{Field, REQUIRED};
use super::json::to_json;
use super::provider::{optional, optional_ref, required};
use super::sink::Sink;

/// Reads `route53`.
pub(crate) fn route53(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.route53")?;
    let access_key_id = optional(&mut fields, "accessKeyID", sink);
    let id_ref = fields.take("accessKeyIDSecretRef").map(|field| field.key_span);
    if let Some(second) = id_ref
        && !access_key_id.is_empty()
    {
        let message = "accessKeyID and accessKeyIDSecretRef cannot both be specified";
        sink.error("E0108", second, fields.path(), message);
    }
    let route53 = Route53 {
        access_key_id,
        access_key_id_secret_ref: optional_ref(&mut fields, "accessKeyIDSecretRef", sink),
        secret_access_key_secret_ref: optional_ref(&mut fields, "secretAccessKeySecretRef", sink),
        role: optional(&mut fields, "role", sink),
        hosted_zone_id: optional(&mut fields, "hostedZoneID", sink),
        region: optional(&mut fields, "region", sink),
        auth: fields.take("auth").map(|field| to_json(field.node)),
    };
    fields.finish(sink);
    Some(Dns01Provider::Route53(route53))
}

/// Reads `azureDNS`.
pub(crate) fn azure_dns(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<Dns01Provider> {
    let mut fields = field.mapping(sink, "Issuer.spec.acme.solvers.dns01.azureDNS")?;
    let subscription_id = required(&mut fields, "subscriptionID", sink);
    let resource_group_name = required(&mut fields, "resourceGroupName", sink);
    let environment = fields.take("environment").and_then(|f| f.word(sink, &ENVIRONMENTS));
    let zone_type = fields.take("zoneType").and_then(|f| f.word(sink, &ZONE_TYPES));
    let client_id = optional(&mut fields, "clientID", sink);
    let tenant_id = optional(&mut fields, "tenantID", sink);
    let secret_written = fields.take("clientSecretSecretRef").is_some();
    let client_secret_secret_ref = optional_ref(&mut fields, "clientSecretSecretRef", sink);
    let hosted_zone_name = optional(&mut fields, "hostedZoneName", sink);
    let client = [
        ("clientID", !client_id.is_empty()),
        ("clientSecretSecretRef", secret_written),
        ("tenantID", !tenant_id.is_empty()),
    ];
    let some = client.iter().any(|(_, set)| *set);
    let identity = fields.take("managedIdentity");
    if let Some(identity) = &identity
        && some
    {
        let message = "managedIdentity cannot be used together with clientID, \
            clientSecretSecretRef or tenantID";
        sink.error("E0108", identity.key_span, fields.path(), message);
    } else if some {
        for (name, _) in client.iter().filter(|(_, set)| !set) {
            sink.error("E0101", fields.span(), &fields.at(name), REQUIRED);
        }
    }
    fields.finish(sink);
    Some(Dns01Provider::AzureDns(AzureDns {
        subscription_id: subscription_id?,
        resource_group_name: resource_group_name?,
        hosted_zone_name,
        environment: environment.unwrap_or_default().to_owned(),
        client_id,
        client_secret_secret_ref,
        tenant_id,
        managed_identity: identity.and_then(|field| managed_identity(&field, sink)),
        zone_type: zone_type.unwrap_or_default().to_owned(),
    }))
}

fn managed_identity(field: &Field<'_>, sink: &mut Sink<'_>) -> Option<ManagedIdentity> {
    let owner = "Issuer.spec.acme.solvers.dns01.azureDNS.managedIdentity";
    let mut fields = field.mapping(sink, owner)?;
    let identity = ManagedIdentity {
        client_id: optional(&mut fields, "clientID", sink),
        resource_id: optional(&mut fields, "resourceID", sink),
        tenant_id: optional(&mut fields, "tenantID", sink),
    };
    if !identity.client_id.is_empty() && !identity.resource_id.is_empty() {
        let message = "clientID and resourceID cannot both be specified";
        sink.error("E0108", fields.span(), fields.path(), message);
    }
    fields.finish(sink);
    Some(identity)
}

const ENVIRONMENTS: [(&str, &str); 4] = [
    ("AzurePublicCloud", "AzurePublicCloud"),
    ("AzureChinaCloud", "AzureChinaCloud"),
    ("AzureGermanCloud", "AzureGermanCloud"),
    ("AzureUSGovernmentCloud", "AzureUSGovernmentCloud"),
];

const ZONE_TYPES: [(&str, &str); 2] =
    [("AzurePublicZone", "AzurePublicZone"), ("AzurePrivateZone", "AzurePrivateZone")];
