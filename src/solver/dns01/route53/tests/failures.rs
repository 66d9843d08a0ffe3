//! Error messages.

use super::*;

#[tokio::test]
async fn each_error_has_advice_and_no_credential() {
    let name = "_acme-challenge.www.example.com";
    let cases: [(Responder, String); 11] = [
        (
            |_| error(403, "InvalidClientTokenId", "The security token is invalid."),
            "refuses the credentials: InvalidClientTokenId: The security token is invalid."
                .to_owned(),
        ),
        (
            |_| error(400, "ExpiredToken", "The token has expired"),
            "refuses the credentials: ExpiredToken: The token has expired".to_owned(),
        ),
        (
            |received| {
                let repeated = received.header("authorization").split(',').next().unwrap();
                error(403, "SignatureDoesNotMatch", repeated)
            },
            "refuses the credentials: SignatureDoesNotMatch: AWS4-HMAC-SHA256 \
             Credential=[redacted]/20260102/us-east-1/route53/aws4_request"
                .to_owned(),
        ),
        (|_| error(400, "Throttling", "Rate exceeded"), "limits the rate of requests".to_owned()),
        (
            |_| error(400, "PriorRequestNotComplete", "Try again."),
            "answered 400: PriorRequestNotComplete: Try again.".to_owned(),
        ),
        (
            |_| Answer::new(429, "").with("retry-after", "30"),
            "limits the rate of requests and asks to wait 30 s".to_owned(),
        ),
        (|_| Answer::new(500, "<html>\nOops"), "answered 500: <html> Oops".to_owned()),
        (
            |_| Answer::new(200, "{\"CANARY\":1}"),
            "sent an unusable answer: this is not an XML document".to_owned(),
        ),
        (
            |_| Answer::new(200, "<a><ChangeInfo><Id>/change/../x</Id></ChangeInfo></a>"),
            "sent an unusable answer: there is no change with an ID and a status in it".to_owned(),
        ),
        (
            |_| error(404, "NoSuchHostedZone", "No hosted zone found with ID: Z9"),
            format!("has no zone for {name}: hosted zone Z9: No hosted zone found with ID: Z9"),
        ),
        (
            |_| invalid("RRSet cannot be created as a non-multivalue answer exists"),
            "answered 400: InvalidChangeBatch: RRSet cannot be created as a non-multivalue answer \
             exists"
                .to_owned(),
        ),
    ];
    for (service, expected) in cases {
        let fake = Fake::start(service).await;
        let provider = provider(&fake.url(), &settings("/hostedzone/Z9"), &[]);
        let error = provider.present(&record("ours")).await.unwrap_err();
        assert_eq!(error.to_string(), format!("{} {expected}", fake.address));
        let check = provider.check("www.example.com", "example.com").await;
        let text = format!("{error} {error:?} {check:?}");
        assert!(!text.contains("CANARY"), "{text}");
    }
}

#[tokio::test]
async fn a_change_that_is_not_everywhere_in_time_is_said() {
    let (_state, fake, mut provider) = start(Service { pending: 99, ..example() }).await;
    provider.zone_id = "Z3".to_owned();
    let error = provider.present(&record("ours")).await.unwrap_err().to_string();
    let expected = "has not finished: change C7 is still PENDING after 2 minutes";
    assert_eq!(error, format!("{} {expected}", fake.address));
    assert_eq!(fake.received().len(), 1 + 26);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let text = str::to_owned;
    let ambient = "give accessKeyID and secretAccessKeySecretRef: credentials of the machine are \
                   for ClusterIssuers only";
    let cases = [
        (
            Settings { region: text("evil.test/#"), ..settings("") },
            "region must be the name of a region, such as us-east-1",
        ),
        (settings("../x"), "hostedZoneID must be letters and digits, such as Z0123456789"),
        (
            Settings { access_key_id: text("A"), ..settings("") },
            "accessKeyID and accessKeyIDSecretRef exclude each other",
        ),
        (
            Settings { secret_access_key_secret_ref: None, ..settings("") },
            "accessKeyID needs secretAccessKeySecretRef",
        ),
        (
            Settings { access_key_id_secret_ref: None, ..settings("") },
            "secretAccessKeySecretRef needs accessKeyID",
        ),
    ];
    for (settings, expected) in cases {
        let made = in_context(&SECRETS, &[], |context| Route53::new(&settings, context));
        assert_eq!(made.err().unwrap().to_string(), format!("route53: {expected}"));
    }
    let auth = Settings { auth: Some(serde_json::json!({})), ..Settings::default() };
    let cluster = format!("auth.kubernetes needs a cluster; {ambient}");
    let cases = [(Settings::default(), ambient), (auth, cluster.as_str())];
    for (settings, expected) in cases {
        let made = without_ambient(|context| Route53::new(&settings, context));
        assert_eq!(made.err().unwrap().to_string(), format!("route53: {expected}"));
    }
}
