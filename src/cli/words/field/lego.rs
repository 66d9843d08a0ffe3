//! The environment variables in which lego's users have the settings of cert-manager's DNS providers.
//!
//! The providers of certctl have theirs with their fields, in `solver/dns01`.

/// The variables of a field, below `spec.acme.solvers.dns01`; empty where lego has none.
pub fn variables(field: &str) -> &'static [&'static str] {
    let row = VARIABLES.iter().find(|(path, _)| *path == field);
    row.map(|(_, variables)| *variables).unwrap_or_default()
}

/// Each field that has some, in the order of lego's providers' names.
pub const VARIABLES: &[(&str, &[&str])] = &[
    ("acmeDNS.host", &["ACME_DNS_API_BASE"]),
    ("acmeDNS.accountSecretRef", &["ACME_DNS_STORAGE_PATH"]),
    ("akamai.serviceConsumerDomain", &["AKAMAI_HOST"]),
    ("akamai.clientTokenSecretRef", &["AKAMAI_CLIENT_TOKEN"]),
    ("akamai.clientSecretSecretRef", &["AKAMAI_CLIENT_SECRET"]),
    ("akamai.accessTokenSecretRef", &["AKAMAI_ACCESS_TOKEN"]),
    ("azureDNS.subscriptionID", &["AZURE_SUBSCRIPTION_ID"]),
    ("azureDNS.resourceGroupName", &["AZURE_RESOURCE_GROUP"]),
    ("azureDNS.hostedZoneName", &["AZURE_ZONE_NAME"]),
    ("azureDNS.environment", &["AZURE_ENVIRONMENT"]),
    ("azureDNS.tenantID", &["AZURE_TENANT_ID"]),
    ("azureDNS.clientID", &["AZURE_CLIENT_ID"]),
    ("azureDNS.clientSecretSecretRef", &["AZURE_CLIENT_SECRET"]),
    ("cloudDNS.project", &["GCE_PROJECT"]),
    ("cloudDNS.serviceAccountSecretRef", &["GCE_SERVICE_ACCOUNT_FILE", "GCE_SERVICE_ACCOUNT"]),
    ("cloudDNS.hostedZoneName", &["GCE_ZONE_ID"]),
    ("cloudflare.email", &["CLOUDFLARE_EMAIL", "CF_API_EMAIL"]),
    ("cloudflare.apiKeySecretRef", &["CLOUDFLARE_API_KEY", "CF_API_KEY"]),
    ("cloudflare.apiTokenSecretRef", &["CLOUDFLARE_DNS_API_TOKEN", "CF_DNS_API_TOKEN"]),
    ("digitalocean.tokenSecretRef", &["DO_AUTH_TOKEN"]),
    ("rfc2136.nameserver", &["RFC2136_NAMESERVER", "DNSUPDATE_NAMESERVER"]),
    ("rfc2136.tsigKeyName", &["RFC2136_TSIG_KEY", "DNSUPDATE_TSIG_KEY"]),
    ("rfc2136.tsigSecretSecretRef", &["RFC2136_TSIG_SECRET", "DNSUPDATE_TSIG_SECRET"]),
    ("rfc2136.tsigAlgorithm", &["RFC2136_TSIG_ALGORITHM", "DNSUPDATE_TSIG_ALGORITHM"]),
    ("route53.region", &["AWS_REGION"]),
    ("route53.accessKeyID", &["AWS_ACCESS_KEY_ID"]),
    ("route53.secretAccessKeySecretRef", &["AWS_SECRET_ACCESS_KEY"]),
    ("route53.hostedZoneID", &["AWS_HOSTED_ZONE_ID"]),
    ("route53.role", &["AWS_ASSUME_ROLE_ARN"]),
];
