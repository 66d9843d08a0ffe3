//! The providers, one row each: the fields of `config`, and how to create the crate's client from
//! them.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dns_update::providers::bluecatv2::BluecatV2Config;
use dns_update::providers::infoblox::InfobloxConfig;
use dns_update::providers::joker::JokerAuth;
use dns_update::providers::lightsail::LightsailConfig;
use dns_update::providers::oraclecloud::OracleCloudConfig;
use dns_update::providers::volcengine::VolcengineConfig;
use dns_update::providers::yandexcloud::YandexCloudConfig;
use dns_update::{DnsUpdater, Error, Result};

use crate::solver::dns01::listed::{ConfigField, ConfigKind, WebhookProvider};

/// One provider.
pub(in crate::solver::dns01) struct Row {
    pub(in crate::solver::dns01) of: WebhookProvider,
    /// Creates the client from the values of all fields, in their order; an absent one is empty.
    pub(super) make: fn(&[&str]) -> Result<DnsUpdater>,
}

/// A row: the name, the fields with the variables that their values have here and in lego, the
/// client.
macro_rules! row {
    ($name:literal, [$($kind:ident $value:ident $field:literal $lego:literal),*], $client:expr) => {
        Row {
            of: WebhookProvider {
                name: $name,
                fields: &[
                    $(ConfigField {
                        name: $field,
                        kind: ConfigKind::$kind,
                        meaning: "",
                        lego: $lego,
                    }),*
                ],
            },
            make: |values| match values {
                [$($value),*] => $client,
                _ => Err(Error::Client("a value for each field is needed".to_owned())),
            },
        }
    };
}

/// A client with one token.
macro_rules! token {
    ($name:literal, $new:ident, $lego:literal) => {
        row!($name, [Secret token "apiTokenSecretRef" $lego], DnsUpdater::$new(token, EACH))
    };
}

/// A client with one key.
macro_rules! key {
    ($name:literal, $new:ident, $lego:literal) => {
        row!($name, [Secret key "apiKeySecretRef" $lego], DnsUpdater::$new(key, EACH))
    };
}

/// A client with a key and a secret.
macro_rules! key_and_secret {
    ($name:literal, $new:ident, $lego_1:literal, $lego_2:literal) => {
        row!(
            $name,
            [Secret key "apiKeySecretRef" $lego_1, Secret secret "apiSecretSecretRef" $lego_2],
            DnsUpdater::$new(key, secret, EACH)
        )
    };
}

/// A client with the keys of a cloud user.
macro_rules! access_keys {
    ($name:literal, $new:ident, $lego_1:literal, $lego_2:literal) => {
        row!(
            $name,
            [Secret key "accessKeySecretRef" $lego_1, Secret secret "secretKeySecretRef" $lego_2],
            DnsUpdater::$new(key, secret, EACH)
        )
    };
}

/// A client with a user name and a secret.
macro_rules! user_and {
    ($field:literal, $name:literal, $new:ident, $lego_1:literal, $lego_2:literal) => {
        row!(
            $name,
            [Text user "username" $lego_1, Secret secret $field $lego_2],
            DnsUpdater::$new(user, secret, EACH)
        )
    };
}

/// All of them, in the order of their names.
pub(super) const ROWS: &[Row] = &[
    row!(
        "alidns",
        [
            Secret key "accessKeySecretRef" "ALICLOUD_ACCESS_KEY", Secret secret "secretKeySecretRef" "ALICLOUD_SECRET_KEY",
            SecretIfAny token "securityTokenSecretRef" "ALICLOUD_SECURITY_TOKEN", TextIfAny region "region" "ALICLOUD_REGION_ID",
            TextIfAny line "line" "ALICLOUD_LINE"
        ],
        DnsUpdater::new_alidns(key, secret, some(region), some(token), some(line), EACH)
    ),
    key!("arvancloud", new_arvancloud, "ARVANCLOUD_API_KEY"),
    row!(
        "autodns",
        [Text user "username" "AUTODNS_API_USER", Secret password "passwordSecretRef" "AUTODNS_API_PASSWORD", TextIfAny number "context" "AUTODNS_CONTEXT"],
        DnsUpdater::new_autodns(user, password, context(number)?, EACH)
    ),
    access_keys!(
        "baiducloud",
        new_baiducloud,
        "BAIDUCLOUD_ACCESS_KEY_ID",
        "BAIDUCLOUD_SECRET_ACCESS_KEY"
    ),
    row!(
        "bluecatv2",
        [
            Text url "serverURL" "BLUECATV2_SERVER_URL", Text user "username" "BLUECATV2_USERNAME", Secret password "passwordSecretRef" "BLUECATV2_PASSWORD",
            Text configuration "configName" "BLUECATV2_CONFIG_NAME", Text view "viewName" "BLUECATV2_VIEW_NAME", Flag skip "skipDeploy" "BLUECATV2_SKIP_DEPLOY"
        ],
        DnsUpdater::new_bluecatv2(BluecatV2Config {
            server_url: own(url),
            username: own(user),
            password: own(password),
            config_name: own(configuration),
            view_name: own(view),
            skip_deploy: !skip.is_empty(),
            request_timeout: EACH,
        })
    ),
    key!("bunny", new_bunny, "BUNNY_API_KEY"),
    row!(
        "cloudns",
        [
            TextIfAny user "authID" "CLOUDNS_AUTH_ID", TextIfAny subuser "subAuthID" "CLOUDNS_SUB_AUTH_ID",
            Secret password "authPasswordSecretRef" "CLOUDNS_AUTH_PASSWORD"
        ],
        DnsUpdater::new_cloudns(some(user), some(subuser), password, EACH)
    ),
    row!(
        "constellix",
        [Secret key "apiKeySecretRef" "CONSTELLIX_API_KEY", Secret secret "secretKeySecretRef" "CONSTELLIX_SECRET_KEY"],
        DnsUpdater::new_constellix(key, secret, EACH)
    ),
    row!(
        "cpanel",
        [Text url "baseURL" "CPANEL_BASE_URL", Text user "username" "CPANEL_USERNAME", Secret token "apiTokenSecretRef" "CPANEL_TOKEN"],
        DnsUpdater::new_cpanel(url, user, token, EACH)
    ),
    token!("desec", new_desec, "DESEC_TOKEN"),
    row!(
        "dnsimple",
        [Secret token "apiTokenSecretRef" "DNSIMPLE_OAUTH_TOKEN", Text account "accountID" ""],
        DnsUpdater::new_dnsimple(token, account, EACH)
    ),
    key_and_secret!(
        "dnsmadeeasy",
        new_dnsmadeeasy,
        "DNSMADEEASY_API_KEY",
        "DNSMADEEASY_API_SECRET"
    ),
    row!(
        "domeneshop",
        [Secret token "apiTokenSecretRef" "DOMENESHOP_API_TOKEN", Secret secret "apiSecretSecretRef" "DOMENESHOP_API_SECRET"],
        DnsUpdater::new_domeneshop(token, secret, EACH)
    ),
    key!("dreamhost", new_dreamhost, "DREAMHOST_API_KEY"),
    key!("dynu", new_dynu, "DYNU_API_KEY"),
    row!(
        "easydns",
        [Secret token "apiTokenSecretRef" "EASYDNS_TOKEN", Secret key "apiKeySecretRef" "EASYDNS_KEY"],
        DnsUpdater::new_easydns(token, key, EACH)
    ),
    key_and_secret!("exoscale", new_exoscale, "EXOSCALE_API_KEY", "EXOSCALE_API_SECRET"),
    token!("gandiv5", new_gandiv5, "GANDIV5_PERSONAL_ACCESS_TOKEN"),
    token!("gcore", new_gcore, "GCORE_PERMANENT_API_TOKEN"),
    user_and!("apiKeySecretRef", "glesys", new_glesys, "GLESYS_API_USER", "GLESYS_API_KEY"),
    key_and_secret!("godaddy", new_godaddy, "GODADDY_API_KEY", "GODADDY_API_SECRET"),
    token!("hetzner", new_hetzner, "HETZNER_API_TOKEN"),
    key!("hostingde", new_hostingde, "HOSTINGDE_API_KEY"),
    token!("hostinger", new_hostinger, "HOSTINGER_API_TOKEN"),
    row!(
        "huaweicloud",
        [
            Secret key "accessKeySecretRef" "HUAWEICLOUD_ACCESS_KEY_ID", Secret secret "secretKeySecretRef" "HUAWEICLOUD_SECRET_ACCESS_KEY",
            Text region "region" "HUAWEICLOUD_REGION"
        ],
        DnsUpdater::new_huaweicloud(key, secret, region, EACH)
    ),
    user_and!(
        "apiKeySecretRef",
        "ibmcloud",
        new_ibmcloud,
        "SOFTLAYER_USERNAME",
        "SOFTLAYER_API_KEY"
    ),
    row!(
        "infoblox",
        [
            Text host "host" "INFOBLOX_HOST", Text user "username" "INFOBLOX_USERNAME", Secret password "passwordSecretRef" "INFOBLOX_PASSWORD",
            TextIfAny port "port" "INFOBLOX_PORT", TextIfAny version "wapiVersion" "INFOBLOX_WAPI_VERSION", TextIfAny view "dnsView" "INFOBLOX_DNS_VIEW"
        ],
        DnsUpdater::new_infoblox(InfobloxConfig {
            host: own(host),
            port: owned(port),
            username: own(user),
            password: own(password),
            wapi_version: owned(version),
            dns_view: owned(view),
            request_timeout: EACH,
        })
    ),
    token!("infomaniak", new_infomaniak, "INFOMANIAK_ACCESS_TOKEN"),
    row!(
        "inwx",
        [Text user "username" "INWX_USERNAME", Secret password "passwordSecretRef" "INWX_PASSWORD"],
        DnsUpdater::new_inwx(own(user), own(password), false, EACH)
    ),
    key!("ionos", new_ionos, "IONOS_API_KEY"),
    key!("ipv64", new_ipv64, "IPV64_API_KEY"),
    row!(
        "joker",
        [
            SecretIfAny key "apiKeySecretRef" "JOKER_API_KEY", TextIfAny user "username" "JOKER_USERNAME",
            SecretIfAny password "passwordSecretRef" "JOKER_PASSWORD"
        ],
        DnsUpdater::new_joker(joker(key, user, password)?, EACH)
    ),
    row!(
        "lightsail",
        [
            Secret key "accessKeySecretRef" "AWS_ACCESS_KEY_ID", Secret secret "secretKeySecretRef" "AWS_SECRET_ACCESS_KEY",
            SecretIfAny token "sessionTokenSecretRef" "", TextIfAny region "region" "",
            TextIfAny domain "domain" "DNS_ZONE"
        ],
        DnsUpdater::new_lightsail(LightsailConfig {
            access_key_id: own(key),
            secret_access_key: own(secret),
            session_token: owned(token),
            region: owned(region),
            domain: owned(domain),
            request_timeout: EACH,
        })
    ),
    token!("linode", new_linode, "LINODE_TOKEN"),
    user_and!("apiTokenSecretRef", "luadns", new_luadns, "LUADNS_API_USERNAME", "LUADNS_API_TOKEN"),
    user_and!(
        "passwordSecretRef",
        "mythicbeasts",
        new_mythicbeasts,
        "MYTHICBEASTS_USERNAME",
        "MYTHICBEASTS_PASSWORD"
    ),
    row!(
        "namecheap",
        [Text user "username" "NAMECHEAP_API_USER", Secret key "apiKeySecretRef" "NAMECHEAP_API_KEY", Text address "clientIP" ""],
        DnsUpdater::new_namecheap(user, key, address, None::<&str>, EACH)
    ),
    user_and!(
        "apiTokenSecretRef",
        "namedotcom",
        new_namedotcom,
        "NAMECOM_USERNAME",
        "NAMECOM_API_TOKEN"
    ),
    key!("namesilo", new_namesilo, "NAMESILO_API_KEY"),
    row!(
        "netcup",
        [
            Text customer "customerNumber" "NETCUP_CUSTOMER_NUMBER", Secret key "apiKeySecretRef" "NETCUP_API_KEY",
            Secret password "apiPasswordSecretRef" "NETCUP_API_PASSWORD"
        ],
        DnsUpdater::new_netcup(customer, key, password, EACH)
    ),
    token!("netlify", new_netlify, "NETLIFY_TOKEN"),
    access_keys!("nifcloud", new_nifcloud, "NIFCLOUD_ACCESS_KEY_ID", "NIFCLOUD_SECRET_ACCESS_KEY"),
    key!("ns1", new_ns1, "NS1_API_KEY"),
    row!(
        "oraclecloud",
        [
            Text tenancy "tenancyOCID" "OCI_TENANCY_OCID", Text user "userOCID" "OCI_USER_OCID", Text fingerprint "fingerprint" "OCI_FINGERPRINT",
            Document key "privateKeySecretRef" "OCI_PRIVATE_KEY_PATH", Text region "region" "OCI_REGION",
            Text compartment "compartmentOCID" "OCI_COMPARTMENT_OCID"
        ],
        DnsUpdater::new_oraclecloud(OracleCloudConfig {
            tenancy_ocid: own(tenancy),
            user_ocid: own(user),
            fingerprint: own(fingerprint),
            private_key_pem: own(key),
            private_key_password: None,
            region: own(region),
            compartment_ocid: own(compartment),
            request_timeout: EACH,
        })
    ),
    row!(
        "ovh",
        [
            Text endpoint "endpoint" "OVH_ENDPOINT", Secret key "applicationKeySecretRef" "OVH_APPLICATION_KEY",
            Secret secret "applicationSecretSecretRef" "OVH_APPLICATION_SECRET", Secret consumer "consumerKeySecretRef" "OVH_CONSUMER_KEY"
        ],
        DnsUpdater::new_ovh(key, secret, consumer, endpoint.parse()?, EACH)
    ),
    row!(
        "pdns",
        [
            Secret key "apiKeySecretRef" "PDNS_API_KEY", TextIfAny endpoint "endpoint" "PDNS_API_URL",
            TextIfAny server "serverName" "PDNS_SERVER_NAME"
        ],
        DnsUpdater::new_pdns(key, some(endpoint), some(server), EACH)
    ),
    row!(
        "plesk",
        [Text url "baseURL" "PLESK_SERVER_BASE_URL", Secret key "apiKeySecretRef" ""],
        DnsUpdater::new_plesk(url, key, EACH)
    ),
    key_and_secret!("porkbun", new_porkbun, "PORKBUN_API_KEY", "PORKBUN_SECRET_API_KEY"),
    token!("safedns", new_safedns, "SAFEDNS_AUTH_TOKEN"),
    token!("scaleway", new_scaleway, "SCW_SECRET_KEY"),
    row!(
        "selectel",
        [
            Text user "username" "SELECTELV2_USERNAME", Secret password "passwordSecretRef" "SELECTELV2_PASSWORD", Text account "accountID" "SELECTELV2_ACCOUNT_ID",
            Text project "projectID" "SELECTELV2_PROJECT_ID"
        ],
        DnsUpdater::new_selectel(user, password, account, project, EACH)
    ),
    row!(
        "simplycom",
        [Text account "accountName" "SIMPLY_ACCOUNT_NAME", Secret key "apiKeySecretRef" "SIMPLY_API_KEY"],
        DnsUpdater::new_simplycom(account, key, EACH)
    ),
    key_and_secret!("spaceship", new_spaceship, "SPACESHIP_API_KEY", "SPACESHIP_API_SECRET"),
    row!(
        "tencentcloud",
        [
            Secret id "secretIDSecretRef" "TENCENTCLOUD_SECRET_ID", Secret key "secretKeySecretRef" "TENCENTCLOUD_SECRET_KEY",
            SecretIfAny token "sessionTokenSecretRef" "TENCENTCLOUD_SESSION_TOKEN", TextIfAny region "region" "TENCENTCLOUD_REGION"
        ],
        DnsUpdater::new_tencentcloud(id, key, some(region), some(token), EACH)
    ),
    row!(
        "transip",
        [
            Text user "username" "TRANSIP_ACCOUNT_NAME", Document key "privateKeySecretRef" "TRANSIP_PRIVATE_KEY_PATH", Flag global "globalKey" ""
        ],
        DnsUpdater::new_transip(user, key, !global.is_empty(), EACH)
    ),
    row!(
        "ultradns",
        [
            Text user "username" "ULTRADNS_USERNAME", Secret password "passwordSecretRef" "ULTRADNS_PASSWORD",
            TextIfAny endpoint "endpoint" "ULTRADNS_ENDPOINT"
        ],
        DnsUpdater::new_ultradns(own(user), own(password), owned(endpoint), EACH)
    ),
    row!(
        "vercel",
        [Secret token "apiTokenSecretRef" "VERCEL_API_TOKEN", TextIfAny team "teamID" "VERCEL_TEAM_ID"],
        DnsUpdater::new_vercel(token, some(team), EACH)
    ),
    row!(
        "volcengine",
        [
            Secret key "accessKeySecretRef" "VOLC_ACCESSKEY", Secret secret "secretKeySecretRef" "VOLC_SECRETKEY",
            TextIfAny region "region" "VOLC_REGION"
        ],
        DnsUpdater::new_volcengine(VolcengineConfig {
            access_key: own(key),
            secret_key: own(secret),
            region: owned(region),
            host: None,
            scheme: None,
            request_timeout: EACH,
        })
    ),
    key!("vultr", new_vultr, "VULTR_API_KEY"),
    key_and_secret!("websupport", new_websupport, "WEBSUPPORT_API_KEY", "WEBSUPPORT_SECRET"),
    row!(
        "yandexcloud",
        [Document key "serviceAccountKeySecretRef" "", Text folder "folderID" "YANDEX_CLOUD_FOLDER_ID"],
        DnsUpdater::new_yandexcloud(YandexCloudConfig {
            iam_token_b64: STANDARD.encode(key),
            folder_id: own(folder),
            request_timeout: EACH,
        })
    ),
    user_and!("apiKeySecretRef", "zoneeu", new_zoneeu, "ZONEEE_API_USER", "ZONEEE_API_KEY"),
];

fn own(value: &str) -> String {
    value.to_owned()
}

fn owned(value: &str) -> Option<String> {
    some(value).map(own)
}

fn some(value: &str) -> Option<&str> {
    Some(value).filter(|value| !value.is_empty())
}

fn context(number: &str) -> Result<Option<u32>> {
    let number = some(number).map(str::parse).transpose();
    number.map_err(|_| Error::Client("context: this is not a number".to_owned()))
}

fn joker(key: &str, user: &str, password: &str) -> Result<JokerAuth> {
    match (key, user, password) {
        (key, "", "") if !key.is_empty() => Ok(JokerAuth::api_key(key)),
        ("", user, password) if !user.is_empty() && !password.is_empty() => {
            Ok(JokerAuth::username_password(user, password))
        }
        _ => Err(Error::Client(
            "either apiKeySecretRef is needed, or username and passwordSecretRef".to_owned(),
        )),
    }
}

/// How long one request may take; an operation of several requests has its own limit.
const EACH: Option<Duration> = Some(Duration::from_secs(20));
