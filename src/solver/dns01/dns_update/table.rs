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

use super::fields::{Field, Kind};

/// One provider.
pub(in crate::solver::dns01) struct Row {
    pub(super) name: &'static str,
    /// What its `config` may hold.
    pub(super) fields: &'static [Field],
    /// Creates the client from the values of all fields, in their order; an absent one is empty.
    pub(super) make: fn(&[&str]) -> Result<DnsUpdater>,
}

/// A row: the name, the fields with the variables that their values have, the client.
macro_rules! row {
    ($name:literal, [$($kind:ident $value:ident $field:literal),*], $client:expr) => {
        Row {
            name: $name,
            fields: &[$(Field { name: $field, kind: Kind::$kind }),*],
            make: |values| match values {
                [$($value),*] => $client,
                _ => Err(Error::Client("a value for each field is needed".to_owned())),
            },
        }
    };
}

/// A client with one token.
macro_rules! token {
    ($name:literal, $new:ident) => {
        row!($name, [Secret token "apiTokenSecretRef"], DnsUpdater::$new(token, EACH))
    };
}

/// A client with one key.
macro_rules! key {
    ($name:literal, $new:ident) => {
        row!($name, [Secret key "apiKeySecretRef"], DnsUpdater::$new(key, EACH))
    };
}

/// A client with a key and a secret.
macro_rules! key_and_secret {
    ($name:literal, $new:ident) => {
        row!(
            $name,
            [Secret key "apiKeySecretRef", Secret secret "apiSecretSecretRef"],
            DnsUpdater::$new(key, secret, EACH)
        )
    };
}

/// A client with the keys of a cloud user.
macro_rules! access_keys {
    ($name:literal, $new:ident) => {
        row!(
            $name,
            [Secret key "accessKeySecretRef", Secret secret "secretKeySecretRef"],
            DnsUpdater::$new(key, secret, EACH)
        )
    };
}

/// A client with a user name and a secret.
macro_rules! user_and {
    ($field:literal, $name:literal, $new:ident) => {
        row!(
            $name,
            [Text user "username", Secret secret $field],
            DnsUpdater::$new(user, secret, EACH)
        )
    };
}

/// All of them, in the order of their names.
pub(super) const ROWS: &[Row] = &[
    row!(
        "alidns",
        [
            Secret key "accessKeySecretRef", Secret secret "secretKeySecretRef",
            SecretIfAny token "securityTokenSecretRef", TextIfAny region "region",
            TextIfAny line "line"
        ],
        DnsUpdater::new_alidns(key, secret, some(region), some(token), some(line), EACH)
    ),
    key!("arvancloud", new_arvancloud),
    row!(
        "autodns",
        [Text user "username", Secret password "passwordSecretRef", TextIfAny number "context"],
        DnsUpdater::new_autodns(user, password, context(number)?, EACH)
    ),
    access_keys!("baiducloud", new_baiducloud),
    row!(
        "bluecatv2",
        [
            Text url "serverURL", Text user "username", Secret password "passwordSecretRef",
            Text configuration "configName", Text view "viewName", Flag skip "skipDeploy"
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
    key!("bunny", new_bunny),
    row!(
        "cloudns",
        [
            TextIfAny user "authID", TextIfAny subuser "subAuthID",
            Secret password "authPasswordSecretRef"
        ],
        DnsUpdater::new_cloudns(some(user), some(subuser), password, EACH)
    ),
    row!(
        "constellix",
        [Secret key "apiKeySecretRef", Secret secret "secretKeySecretRef"],
        DnsUpdater::new_constellix(key, secret, EACH)
    ),
    row!(
        "cpanel",
        [Text url "baseURL", Text user "username", Secret token "apiTokenSecretRef"],
        DnsUpdater::new_cpanel(url, user, token, EACH)
    ),
    token!("desec", new_desec),
    row!(
        "dnsimple",
        [Secret token "apiTokenSecretRef", Text account "accountID"],
        DnsUpdater::new_dnsimple(token, account, EACH)
    ),
    key_and_secret!("dnsmadeeasy", new_dnsmadeeasy),
    row!(
        "domeneshop",
        [Secret token "apiTokenSecretRef", Secret secret "apiSecretSecretRef"],
        DnsUpdater::new_domeneshop(token, secret, EACH)
    ),
    key!("dreamhost", new_dreamhost),
    key!("dynu", new_dynu),
    row!(
        "easydns",
        [Secret token "apiTokenSecretRef", Secret key "apiKeySecretRef"],
        DnsUpdater::new_easydns(token, key, EACH)
    ),
    key_and_secret!("exoscale", new_exoscale),
    token!("gandiv5", new_gandiv5),
    token!("gcore", new_gcore),
    user_and!("apiKeySecretRef", "glesys", new_glesys),
    key_and_secret!("godaddy", new_godaddy),
    token!("hetzner", new_hetzner),
    key!("hostingde", new_hostingde),
    token!("hostinger", new_hostinger),
    row!(
        "huaweicloud",
        [
            Secret key "accessKeySecretRef", Secret secret "secretKeySecretRef",
            Text region "region"
        ],
        DnsUpdater::new_huaweicloud(key, secret, region, EACH)
    ),
    user_and!("apiKeySecretRef", "ibmcloud", new_ibmcloud),
    row!(
        "infoblox",
        [
            Text host "host", Text user "username", Secret password "passwordSecretRef",
            TextIfAny port "port", TextIfAny version "wapiVersion", TextIfAny view "dnsView"
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
    token!("infomaniak", new_infomaniak),
    row!(
        "inwx",
        [Text user "username", Secret password "passwordSecretRef"],
        DnsUpdater::new_inwx(own(user), own(password), false, EACH)
    ),
    key!("ionos", new_ionos),
    key!("ipv64", new_ipv64),
    row!(
        "joker",
        [
            SecretIfAny key "apiKeySecretRef", TextIfAny user "username",
            SecretIfAny password "passwordSecretRef"
        ],
        DnsUpdater::new_joker(joker(key, user, password)?, EACH)
    ),
    row!(
        "lightsail",
        [
            Secret key "accessKeySecretRef", Secret secret "secretKeySecretRef",
            SecretIfAny token "sessionTokenSecretRef", TextIfAny region "region",
            TextIfAny domain "domain"
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
    token!("linode", new_linode),
    user_and!("apiTokenSecretRef", "luadns", new_luadns),
    user_and!("passwordSecretRef", "mythicbeasts", new_mythicbeasts),
    row!(
        "namecheap",
        [Text user "username", Secret key "apiKeySecretRef", Text address "clientIP"],
        DnsUpdater::new_namecheap(user, key, address, None::<&str>, EACH)
    ),
    user_and!("apiTokenSecretRef", "namedotcom", new_namedotcom),
    key!("namesilo", new_namesilo),
    row!(
        "netcup",
        [
            Text customer "customerNumber", Secret key "apiKeySecretRef",
            Secret password "apiPasswordSecretRef"
        ],
        DnsUpdater::new_netcup(customer, key, password, EACH)
    ),
    token!("netlify", new_netlify),
    access_keys!("nifcloud", new_nifcloud),
    key!("ns1", new_ns1),
    row!(
        "oraclecloud",
        [
            Text tenancy "tenancyOCID", Text user "userOCID", Text fingerprint "fingerprint",
            Document key "privateKeySecretRef", Text region "region",
            Text compartment "compartmentOCID"
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
            Text endpoint "endpoint", Secret key "applicationKeySecretRef",
            Secret secret "applicationSecretSecretRef", Secret consumer "consumerKeySecretRef"
        ],
        DnsUpdater::new_ovh(key, secret, consumer, endpoint.parse()?, EACH)
    ),
    row!(
        "pdns",
        [
            Secret key "apiKeySecretRef", TextIfAny endpoint "endpoint",
            TextIfAny server "serverName"
        ],
        DnsUpdater::new_pdns(key, some(endpoint), some(server), EACH)
    ),
    row!(
        "plesk",
        [Text url "baseURL", Secret key "apiKeySecretRef"],
        DnsUpdater::new_plesk(url, key, EACH)
    ),
    key_and_secret!("porkbun", new_porkbun),
    token!("safedns", new_safedns),
    token!("scaleway", new_scaleway),
    row!(
        "selectel",
        [
            Text user "username", Secret password "passwordSecretRef", Text account "accountID",
            Text project "projectID"
        ],
        DnsUpdater::new_selectel(user, password, account, project, EACH)
    ),
    row!(
        "simplycom",
        [Text account "accountName", Secret key "apiKeySecretRef"],
        DnsUpdater::new_simplycom(account, key, EACH)
    ),
    key_and_secret!("spaceship", new_spaceship),
    row!(
        "tencentcloud",
        [
            Secret id "secretIDSecretRef", Secret key "secretKeySecretRef",
            SecretIfAny token "sessionTokenSecretRef", TextIfAny region "region"
        ],
        DnsUpdater::new_tencentcloud(id, key, some(region), some(token), EACH)
    ),
    row!(
        "transip",
        [
            Text user "username", Document key "privateKeySecretRef", Flag global "globalKey"
        ],
        DnsUpdater::new_transip(user, key, !global.is_empty(), EACH)
    ),
    row!(
        "ultradns",
        [
            Text user "username", Secret password "passwordSecretRef",
            TextIfAny endpoint "endpoint"
        ],
        DnsUpdater::new_ultradns(own(user), own(password), owned(endpoint), EACH)
    ),
    row!(
        "vercel",
        [Secret token "apiTokenSecretRef", TextIfAny team "teamID"],
        DnsUpdater::new_vercel(token, some(team), EACH)
    ),
    row!(
        "volcengine",
        [
            Secret key "accessKeySecretRef", Secret secret "secretKeySecretRef",
            TextIfAny region "region"
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
    key!("vultr", new_vultr),
    key_and_secret!("websupport", new_websupport),
    row!(
        "yandexcloud",
        [Document key "serviceAccountKeySecretRef", Text folder "folderID"],
        DnsUpdater::new_yandexcloud(YandexCloudConfig {
            iam_token_b64: STANDARD.encode(key),
            folder_id: own(folder),
            request_timeout: EACH,
        })
    ),
    user_and!("apiKeySecretRef", "zoneeu", new_zoneeu),
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
