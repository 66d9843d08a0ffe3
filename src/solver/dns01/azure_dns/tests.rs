//! The provider against a service written from the documentation of Azure DNS, of Microsoft Entra
//! and of the metadata service.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Lock};

use super::credentials::Source;
use super::*;
use crate::resource::SecretKeySelector;
use crate::resource::dns01::ManagedIdentity;
use crate::solver::dns01::DnsProvider as _;
use crate::solver::dns01::fake::{Answer, Fake, Received, in_context, record, without_ambient};

const GROUP: &str = "/subscriptions/sub/resourceGroups/my%20group/providers/Microsoft.Network";
const SECRETS: [(&str, &str); 1] = [("azure/secret", "CANARY/secret")];

/// Zone example.com. ETags are numbers.
#[derive(Default)]
struct Service {
    sets: BTreeMap<String, (u32, Value)>,
    version: u32,
    before: Option<Value>,
    tokens: usize,
}

/// How a service answers a request.
type Responder = fn(&Received) -> Answer;

type State = Arc<Lock<Service>>;

fn failure(status: u16, code: &str, message: &str) -> Answer {
    Answer::json(status, &json!({ "error": { "code": code, "message": message } }))
}

fn good_token() -> Answer {
    Answer::json(200, &json!({ "access_token": "CANARY-token", "expires_in": 3599 }))
}

fn answer(state: &State, received: &Received) -> Answer {
    let mut state = state.lock().unwrap();
    if received.path() == "/tenant-1/oauth2/v2.0/token" {
        state.tokens += 1;
        let fields = ["grant_type", "client_id", "client_secret", "scope"];
        let expected = [
            "client_credentials",
            "app-1",
            "CANARY/secret",
            "https://management.azure.com/.default",
        ];
        assert_eq!(fields.map(|name| received.form(name).unwrap()), expected);
        return good_token();
    }
    if received.header("authorization") != "Bearer CANARY-token" {
        return failure(401, "InvalidAuthenticationToken", "The access token is invalid.");
    }
    let path = received.path().strip_prefix(GROUP).unwrap();
    let (kind, version) = if path.starts_with("/dnsZones/") {
        ("/dnsZones/example.com", "2018-05-01")
    } else {
        ("/privateDnsZones/example.com", "2020-06-01")
    };
    assert_eq!(received.query("api-version").as_deref(), Some(version));
    match path.strip_prefix(kind) {
        Some("") => Answer::json(200, &json!({ "name": "example.com" })),
        Some(name) if name.starts_with("/TXT/") => sets(&mut state, name, received),
        _ => failure(404, "ParentResourceNotFound", "Failed to find the parent zone."),
    }
}

fn sets(state: &mut Service, name: &str, received: &Received) -> Answer {
    if received.method != "GET"
        && let Some(properties) = state.before.take()
    {
        state.version += 1;
        state.sets.insert(name.to_owned(), (state.version, properties));
    }
    let etag = state.sets.get(name).map(|(version, _)| format!("\"{version}\""));
    let wanted = received.headers.get("if-match");
    let is_old = wanted.is_some() && etag.as_ref() != wanted;
    if is_old || received.headers.contains_key("if-none-match") && etag.is_some() {
        return failure(412, "PreconditionFailed", "The etag does not match.");
    }
    match received.method.as_str() {
        "PUT" => {
            state.version += 1;
            let properties = received.json()["properties"].clone();
            state.sets.insert(name.to_owned(), (state.version, properties));
        }
        "DELETE" => {
            state.sets.remove(name);
            return Answer::new(200, "");
        }
        _ => {}
    }
    match state.sets.get(name) {
        Some((version, properties)) => Answer::json(
            200,
            &json!({ "name": name, "etag": format!("\"{version}\""), "properties": properties }),
        ),
        None => failure(404, "NotFound", "The resource record does not exist."),
    }
}

fn settings() -> Settings {
    Settings {
        subscription_id: "sub".to_owned(),
        resource_group_name: "my group".to_owned(),
        client_id: "app-1".to_owned(),
        tenant_id: "tenant-1".to_owned(),
        client_secret_secret_ref: Some(SecretKeySelector {
            name: "azure".to_owned(),
            key: "secret".to_owned(),
        }),
        ..Settings::default()
    }
}

fn ambient() -> Settings {
    let (subscription_id, resource_group_name) = ("sub".to_owned(), "my group".to_owned());
    Settings { subscription_id, resource_group_name, ..Settings::default() }
}

fn provider(base: String, settings: &Settings) -> AzureDns {
    let made = in_context(&SECRETS, &[], |context| AzureDns::new(settings, context));
    let mut made = AzureDns { base: base.clone(), pause: Pause::NONE, ..made.unwrap() };
    if let Source::Client(client) = &mut made.credentials.source.source {
        client.authority = base;
    }
    made
}

async fn start(settings: &Settings) -> (State, Fake, AzureDns) {
    let state = State::default();
    let shared = Arc::clone(&state);
    let fake = Fake::start(move |received| answer(&shared, received)).await;
    let provider = provider(fake.url(), settings);
    (state, fake, provider)
}

fn set(ttl: u32, values: &[&str]) -> Value {
    let values: Vec<_> = values.iter().map(|value| json!({ "value": [value] })).collect();
    json!({ "TTL": ttl, "TXTRecords": values })
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let (state, fake, provider) = start(&settings()).await;
    let now = || {
        let state = state.lock().unwrap();
        state.sets.get("/TXT/_acme-challenge.www").map(|(_, set)| set.clone())
    };
    let (apex, wild) = (record("apex"), record("wild"));
    provider.clean_up(&apex).await.unwrap();
    provider.present(&apex).await.unwrap();
    assert_eq!(now(), Some(set(60, &["apex"])));
    provider.present(&wild).await.unwrap();
    let before = fake.received().len();
    provider.present(&wild).await.unwrap();
    assert_eq!(fake.received().len(), before + 1, "what stands there is not written again");
    assert_eq!(now(), Some(set(60, &["apex", "wild"])));
    provider.clean_up(&apex).await.unwrap();
    assert_eq!(now(), Some(set(60, &["wild"])));
    provider.clean_up(&apex).await.unwrap();
    provider.clean_up(&wild).await.unwrap();
    assert_eq!(now(), None, "an empty set is removed");
    provider.present(&apex).await.unwrap();
    assert_eq!(now(), Some(set(60, &["apex"])));
    assert_eq!(state.lock().unwrap().tokens, 1, "a token is used until it ends");
    let message = provider.check("www.example.com", "example.com").await.unwrap();
    let zone = "zone example.com of resource group my group";
    assert_eq!(message, format!("the credentials can read {zone} at {}", fake.address));
}

/// The fields that the book has for lego's variables, with the values of these.
#[tokio::test]
async fn the_values_of_legos_variables_lead_to_their_zone() {
    let variables = BTreeMap::from([
        ("AZURE_SUBSCRIPTION_ID", "sub"),
        ("AZURE_RESOURCE_GROUP", "my group"),
        ("AZURE_ZONE_NAME", "example.com"),
        ("AZURE_TENANT_ID", "tenant-1"),
        ("AZURE_CLIENT_ID", "app-1"),
    ]);
    let settings: Settings = serde_json::from_value(json!({
        "subscriptionID": variables["AZURE_SUBSCRIPTION_ID"],
        "resourceGroupName": variables["AZURE_RESOURCE_GROUP"],
        "hostedZoneName": variables["AZURE_ZONE_NAME"],
        "environment": "AzurePublicCloud",
        "tenantID": variables["AZURE_TENANT_ID"],
        "clientID": variables["AZURE_CLIENT_ID"],
        // In a secret: AZURE_CLIENT_SECRET.
        "clientSecretSecretRef": { "name": "azure", "key": "secret" },
    }))
    .unwrap();
    let (state, fake, provider) = start(&settings).await;
    // The zone of the settings counts, whatever DNS says.
    provider.present(&TxtRecord { zone: "com".to_owned(), ..record("value") }).await.unwrap();
    let sent: Vec<String> = fake
        .received()
        .iter()
        .map(|received| format!("{} {}", received.method, received.target))
        .collect();
    let path = format!("{GROUP}/dnsZones/example.com/TXT/_acme-challenge.www");
    let version = "api-version=2018-05-01";
    assert_eq!(
        sent,
        [
            "POST /tenant-1/oauth2/v2.0/token".to_owned(),
            format!("GET {path}?{version}"),
            format!("PUT {path}?{version}"),
        ]
    );
    let stored = state.lock().unwrap().sets["/TXT/_acme-challenge.www"].1.clone();
    assert_eq!(stored, set(60, &["value"]));
    // AZURE_ENVIRONMENT is `public`, `china` or `usgovernment`.
    for (environment, management) in [
        ("AzurePublicCloud", "https://management.azure.com"),
        ("AzureChinaCloud", "https://management.chinacloudapi.cn"),
        ("AzureUSGovernmentCloud", "https://management.usgovcloudapi.net"),
    ] {
        let settings = Settings { environment: environment.to_owned(), ..settings.clone() };
        let made = in_context(&SECRETS, &[], |context| AzureDns::new(&settings, context)).unwrap();
        assert_eq!(made.base, management);
    }
}

#[tokio::test]
async fn what_others_write_stays_as_it_is() {
    let (state, _fake, provider) = start(&settings()).await;
    let now = || state.lock().unwrap().sets["/TXT/_acme-challenge.www"].1.clone();
    let theirs = |values: &[&str]| {
        let mut set = set(5, values);
        set["metadata"] = json!({ "owner": "them" });
        set
    };
    state.lock().unwrap().before = Some(theirs(&["theirs"]));
    provider.present(&record("ours")).await.unwrap();
    assert_eq!(now(), theirs(&["theirs", "ours"]), "made after we found nothing");
    state.lock().unwrap().before = Some(theirs(&["theirs", "ours", "late"]));
    provider.present(&record("second")).await.unwrap();
    assert_eq!(now(), theirs(&["theirs", "ours", "late", "second"]), "changed after we read");
    state.lock().unwrap().before = Some(theirs(&["ours"]));
    provider.clean_up(&record("second")).await.unwrap();
    assert_eq!(now(), theirs(&["ours"]));
    state.lock().unwrap().before = Some(theirs(&["ours", "new"]));
    provider.clean_up(&record("ours")).await.unwrap();
    assert_eq!(now(), theirs(&["new"]), "not removed with the last value that we knew");
    // A value of two strings is one value.
    let split = json!({ "TTL": 5, "TXTRecords": [{ "value": ["ou", "rs"] }] });
    state.lock().unwrap().sets.insert("/TXT/_acme-challenge.www".to_owned(), (99, split.clone()));
    provider.present(&record("ours")).await.unwrap();
    assert_eq!(now(), split);
}

#[tokio::test]
async fn a_private_zone_and_the_zone_itself_are_written() {
    let zone_type = "AzurePrivateZone".to_owned();
    let hosted_zone_name = "Example.com.".to_owned();
    let (state, _fake, provider) =
        start(&Settings { hosted_zone_name, zone_type, ..settings() }).await;
    let at_zone = TxtRecord { name: "example.com".to_owned(), ..record("apex") };
    let elsewhere = TxtRecord { name: "badexample.com".to_owned(), ..record("apex") };
    provider.present(&TxtRecord { zone: "www.example.com".to_owned(), ..at_zone }).await.unwrap();
    let sets = state.lock().unwrap().sets.clone();
    let private = json!({ "ttl": 60, "txtRecords": [{ "value": ["apex"] }] });
    assert_eq!(sets, BTreeMap::from([("/TXT/%40".to_owned(), (1, private))]));
    let error = provider.present(&elsewhere).await.unwrap_err().to_string();
    assert_eq!(error, "azureDNS: hostedZoneName example.com does not hold badexample.com");
}

/// Answers of the token endpoint and of the API, and the expected message.
fn failures() -> [(Responder, Responder, String); 11] {
    let good: Responder = |_| good_token();
    let denied: Responder = |received| {
        let secret = received.form("client_secret").unwrap();
        let message = format!("AADSTS7000215: Invalid client secret '{secret}'.");
        let body = json!({ "error": "invalid_client", "error_description": message });
        Answer::json(401, &body)
    };
    let name = "_acme-challenge.www.example.com";
    [
        (
            denied,
            good,
            "refuses the credentials: invalid_client: AADSTS7000215: Invalid client secret \
             '[redacted]'."
                .to_owned(),
        ),
        (
            |received| {
                Answer::new(400, received.repeated().split("client_secret=").nth(1).unwrap())
            },
            good,
            "refuses the credentials: [redacted]".to_owned(),
        ),
        (
            |_| Answer::new(200, "CANARY"),
            good,
            "sent an unusable answer: this is not JSON".to_owned(),
        ),
        (
            good,
            |received| failure(401, "ExpiredAuthenticationToken", received.header("authorization")),
            "refuses the credentials: ExpiredAuthenticationToken: Bearer [redacted]".to_owned(),
        ),
        (
            good,
            |_| failure(403, "AuthorizationFailed", "The client 'app-1' does not have it."),
            "refuses the credentials: AuthorizationFailed: The client 'app-1' does not have it."
                .to_owned(),
        ),
        (
            good,
            |_| failure(404, "ResourceGroupNotFound", "Resource group 'my group' is not there."),
            format!(
                "has no zone for {name}: no zone example.com in resource group my group: \
                 ResourceGroupNotFound: Resource group 'my group' is not there."
            ),
        ),
        (
            good,
            |_| Answer::new(429, "").with("retry-after", "17"),
            "limits the rate of requests and asks to wait 17 s".to_owned(),
        ),
        (
            good,
            |_| Answer::json(500, &json!({ "code": "InternalError", "message": "Oops." })),
            "answered 500: InternalError: Oops.".to_owned(),
        ),
        (
            good,
            |_| Answer::new(200, "<html>"),
            "sent an unusable answer: expected value at line 1 column 1".to_owned(),
        ),
        (
            good,
            |_| Answer::json(200, &json!({ "etag": "1", "properties": { "TXTRecords": "x" } })),
            "sent an unusable answer: TXTRecords is not a list".to_owned(),
        ),
        (
            good,
            |received| match received.method.as_str() {
                "GET" => failure(404, "NotFound", ""),
                _ => failure(412, "PreconditionFailed", "It exists already."),
            },
            format!(
                "has not finished: the TXT set at {name} is changed by others, after 5 tries: It \
                 exists already."
            ),
        ),
    ]
}

#[tokio::test]
async fn each_error_has_advice_and_no_credential() {
    for (token, service, expected) in failures() {
        let fake = Fake::start(move |received| match received.path() {
            "/tenant-1/oauth2/v2.0/token" => token(received),
            _ => service(received),
        })
        .await;
        let provider = provider(fake.url(), &settings());
        let error = provider.present(&record("ours")).await.unwrap_err();
        assert_eq!(error.to_string(), format!("{} {expected}", fake.address));
        let check = provider.check("www.example.com", "example.com").await;
        let text = format!("{error} {error:?} {check:?}");
        assert!(!text.contains("CANARY"), "{text}");
    }
}

#[tokio::test]
async fn a_machine_of_azures_needs_no_secret() {
    let fake = Fake::start(|received| match received.path() {
        "/metadata/identity/oauth2/token" => {
            assert_eq!(received.header("metadata"), "true");
            Answer::json(200, &json!({ "access_token": "CANARY-token", "expires_in": "3599" }))
        }
        _ => Answer::json(200, &json!({ "auth": received.header("authorization") })),
    })
    .await;
    let version = "api-version=2018-02-01&resource=https%3A%2F%2Fmanagement.azure.com";
    let client = ManagedIdentity { client_id: "id-1".to_owned(), ..ManagedIdentity::default() };
    let resource = ManagedIdentity { resource_id: "/r".to_owned(), ..ManagedIdentity::default() };
    let cases =
        [(None, ""), (Some(client), "&client_id=id-1"), (Some(resource), "&msi_res_id=%2Fr")];
    for (managed_identity, rest) in cases {
        let mut provider = provider(fake.url(), &Settings { managed_identity, ..ambient() });
        let Source::Machine(machine) = &mut provider.credentials.source.source else {
            panic!("no")
        };
        assert_eq!(machine.base, "http://169.254.169.254");
        machine.base = fake.url();
        provider.check("www.example.com", "example.com").await.unwrap();
        let [.., token, zone] = &fake.received()[..] else { panic!("two requests") };
        assert_eq!(token.target, format!("/metadata/identity/oauth2/token?{version}{rest}"));
        assert_eq!(zone.header("authorization"), "Bearer CANARY-token");
    }
}

#[tokio::test]
async fn a_workload_shows_its_token_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let fake = Fake::start(|received| {
        if received.path() == "/tenant-2/oauth2/v2.0/token" {
            let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
            assert_eq!(received.form("client_assertion_type").as_deref(), Some(kind));
            assert_eq!(received.form("client_id").as_deref(), Some("id-2"));
            return Answer::new(400, received.form("client_assertion").unwrap());
        }
        Answer::new(200, "{}")
    })
    .await;
    let (file, host) = (path.to_str().unwrap(), fake.url());
    let variables = [
        ("AZURE_FEDERATED_TOKEN_FILE", file),
        ("AZURE_TENANT_ID", "tenant-2"),
        ("AZURE_CLIENT_ID", "id-2"),
        ("AZURE_AUTHORITY_HOST", &host),
    ];
    let made = in_context(&[], &variables, |context| AzureDns::new(&ambient(), context));
    let provider = made.unwrap();
    let error = provider.check("", "example.com").await.unwrap_err().to_string();
    let missing = "No such file or directory (os error 2)";
    assert_eq!(error, format!("azureDNS: AZURE_FEDERATED_TOKEN_FILE: {file}: {missing}"));
    #[expect(clippy::disallowed_methods, reason = "a file that another program would write")]
    std::fs::write(&path, "CANARY.jwt\n").unwrap();
    let error = provider.check("", "example.com").await.unwrap_err().to_string();
    assert_eq!(error, format!("{} refuses the credentials: [redacted]", fake.address));
    let some = [variables[0], variables[1]];
    let made = in_context(&[], &some, |context| AzureDns::new(&ambient(), context));
    let expected = "azureDNS: AZURE_FEDERATED_TOKEN_FILE is set, but AZURE_CLIENT_ID is not";
    assert_eq!(made.err().unwrap().to_string(), expected);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let text = str::to_owned;
    let cases = [
        (
            Settings { environment: text("Moon"), ..settings() },
            "environment must be AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud",
        ),
        (
            Settings { zone_type: text("Public"), ..settings() },
            "zoneType must be AzurePublicZone or AzurePrivateZone",
        ),
        (
            Settings { subscription_id: text(" "), ..settings() },
            "subscriptionID and resourceGroupName must not be empty",
        ),
        (
            Settings { tenant_id: text(""), ..settings() },
            "clientID, clientSecretSecretRef and tenantID must be given together, or none of them",
        ),
        (
            Settings { managed_identity: Some(ManagedIdentity::default()), ..settings() },
            "managedIdentity and clientID exclude each other",
        ),
    ];
    for (settings, expected) in cases {
        let made = in_context(&SECRETS, &[], |context| AzureDns::new(&settings, context));
        assert_eq!(made.err().unwrap().to_string(), format!("azureDNS: {expected}"));
    }
    let made = without_ambient(|context| AzureDns::new(&ambient(), context));
    let expected = "azureDNS: give clientID, clientSecretSecretRef and tenantID: credentials of \
                    the machine are for ClusterIssuers only";
    assert_eq!(made.err().unwrap().to_string(), expected);
}
