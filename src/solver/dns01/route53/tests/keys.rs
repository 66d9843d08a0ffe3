//! The sources of keys.

use super::*;

const END: &str = "2026-01-02T04:04:05Z";

/// Answers requests signed with these keys with a page; `keys` answers all others.
async fn start_with(
    keys: impl Fn(&Received) -> Answer + Send + 'static,
    expected: [&'static str; 3],
) -> Fake {
    Fake::start(move |received| match received.path() {
        "/2013-04-01/hostedzone/Z3/rrset" if is_signed(received, "route53", expected) => {
            Answer::new(200, "<ok/>")
        }
        "/2013-04-01/hostedzone/Z3/rrset" => error(403, "AccessDenied", &received.repeated()),
        _ => keys(received),
    })
    .await
}

fn sts(result: &str, end: &str) -> Answer {
    Answer::new(
        200,
        format!(
            "<{result}Response><{result}Result><Credentials><AccessKeyId>CANARY-ID2</AccessKeyId>\
             <SecretAccessKey>CANARY2</SecretAccessKey><SessionToken>CANARY3</SessionToken>\
             <Expiration>{end}</Expiration></Credentials></{result}Result></{result}Response>"
        ),
    )
}

fn json() -> Answer {
    let keys = serde_json::json!({
        "Code": "Success",
        "AccessKeyId": "CANARY-ID2",
        "SecretAccessKey": "CANARY2",
        "Token": "CANARY3",
        "Expiration": END,
    });
    Answer::json(200, &keys)
}

const NEW: [&str; 3] = ["CANARY-ID2", "CANARY2", "CANARY3"];

/// Both checks work, and keys are requested once.
async fn works(provider: &Route53, fake: &Fake, questions: usize) {
    for _ in 0..2 {
        let message = provider.check("www.example.com", "").await.unwrap();
        assert_eq!(message, format!("the credentials can read hosted zone Z3 at {}", fake.address));
    }
    assert_eq!(fake.received().len(), questions + 2);
}

#[tokio::test]
async fn variables_are_keys() {
    let variables = [
        ("AWS_ACCESS_KEY_ID", "CANARY-ID2"),
        ("AWS_SECRET_ACCESS_KEY", "CANARY2"),
        ("AWS_SESSION_TOKEN", "CANARY3"),
    ];
    let ambient = Settings { hosted_zone_id: "Z3".to_owned(), ..Settings::default() };
    let fake = start_with(|_| Answer::new(500, ""), NEW).await;
    works(&provider(&fake.url(), &ambient, &variables), &fake, 0).await;
    // A service that repeats the request, session token included.
    let fake = start_with(|_| Answer::new(500, ""), ["", "", ""]).await;
    let error = provider(&fake.url(), &ambient, &variables).check("", "").await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("[redacted]") && !text.contains("CANARY"), "{text}");
}

#[tokio::test]
async fn a_role_is_assumed_on_top() {
    let assume = |received: &Received| {
        if !is_signed(received, "sts", ["CANARYID", "CANARY/secret", ""]) {
            return error(403, "AccessDenied", &received.repeated());
        }
        let expected = "Action=AssumeRole&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fdns&\
                        RoleSessionName=certctl&Version=2011-06-15";
        assert_eq!(received.body, expected);
        sts("AssumeRole", END)
    };
    let role = "arn:aws:iam::1:role/dns".to_owned();
    let settings = Settings { role, ..settings("Z3") };
    let fake = start_with(assume, NEW).await;
    works(&provider(&fake.url(), &settings, &[]), &fake, 1).await;
    // Keys that expire within a minute are not used twice.
    let short = |_: &Received| sts("AssumeRole", "2026-01-02T03:05:05Z");
    let fake = start_with(short, NEW).await;
    let provider_of = |fake: &Fake| provider(&fake.url(), &settings, &[]);
    let provider = provider_of(&fake);
    provider.check("", "").await.unwrap();
    provider.check("", "").await.unwrap();
    assert!(fake.received().len() >= 4);
    let cases: [(Responder, &str); 4] = [
        (
            |received| {
                error(403, "AccessDenied", &format!("{} may not", received.header("authorization")))
            },
            "refuses the credentials: AccessDenied: AWS4-HMAC-SHA256 Credential=[redacted]/",
        ),
        (|_| Answer::new(200, "CANARY"), "sent an unusable answer: this is not an XML document"),
        (
            |_| Answer::new(200, "<a><CANARY/></a>"),
            "sent an unusable answer: there are no Credentials in it",
        ),
        (|_| sts("AssumeRole", "CANARY"), "sent an unusable answer: its Expiration is not a time"),
    ];
    for (says, expected) in cases {
        let fake = start_with(says, NEW).await;
        let error = provider_of(&fake).check("", "").await.unwrap_err();
        let expected = format!("{} {expected}", fake.address);
        assert!(error.to_string().starts_with(&expected), "{error}");
        let text = format!("{error} {error:?}");
        assert!(!text.contains("CANARY"), "{text}");
    }
}

#[tokio::test]
async fn a_web_identity_is_shown_to_sts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    #[expect(clippy::disallowed_methods, reason = "a file that another program would write")]
    std::fs::write(&path, "CANARY.jwt\n").unwrap();
    let ambient = Settings { hosted_zone_id: "Z3".to_owned(), ..Settings::default() };
    let variables =
        [("AWS_WEB_IDENTITY_TOKEN_FILE", path.to_str().unwrap()), ("AWS_ROLE_ARN", "arn:x")];
    let says = |received: &Received| {
        let expected = "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Ax&RoleSessionName=certctl&\
                        Version=2011-06-15&WebIdentityToken=CANARY.jwt";
        assert_eq!((received.target.as_str(), received.body.as_str()), ("/", expected));
        assert_eq!(received.header("authorization"), "", "it is not signed");
        sts("AssumeRoleWithWebIdentity", END)
    };
    let fake = start_with(says, NEW).await;
    works(&provider(&fake.url(), &ambient, &variables), &fake, 1).await;
    let says = |received: &Received| {
        error(400, "InvalidIdentityToken", &received.form("WebIdentityToken").unwrap())
    };
    let fake = start_with(says, NEW).await;
    let message = provider(&fake.url(), &ambient, &variables).check("", "").await.unwrap_err();
    let expected = "refuses the credentials: InvalidIdentityToken: [redacted]";
    assert_eq!(message.to_string(), format!("{} {expected}", fake.address));
}

#[tokio::test]
async fn a_container_queries_its_agent() {
    let says =
        |received: &Received| match (received.target.as_str(), received.header("authorization")) {
            ("/v2/keys", "CANARY-agent") => json(),
            _ => Answer::new(403, received.repeated()),
        };
    let ambient = Settings { hosted_zone_id: "Z3".to_owned(), ..Settings::default() };
    let fake = start_with(says, NEW).await;
    let url = format!("{}/v2/keys", fake.url());
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "CANARY-agent"),
    ];
    works(&provider(&fake.url(), &ambient, &variables), &fake, 1).await;
    let url = format!("{}/v2/other", fake.url());
    let variables = [(variables[0].0, url.as_str()), variables[1]];
    let message = provider(&fake.url(), &ambient, &variables).check("", "").await.unwrap_err();
    let text = format!("{message} {message:?}");
    assert!(text.contains("refuses the credentials") && !text.contains("CANARY"), "{text}");
    let elsewhere = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/CANARY")];
    let made = in_context(&[], &elsewhere, |context| Route53::new(&ambient, context));
    let expected = "route53: AWS_CONTAINER_CREDENTIALS_FULL_URI: an http address other than a \
                    container agent's cannot be used";
    assert_eq!(made.err().unwrap().to_string(), expected);
}

#[tokio::test]
async fn an_instance_queries_its_metadata_service() {
    let says = |received: &Received| {
        let token = received.header("x-aws-ec2-metadata-token");
        match (received.method.as_str(), received.target.as_str(), token) {
            ("PUT", "/latest/api/token", _) => Answer::new(200, "CANARY-session"),
            ("GET", "/latest/meta-data/iam/security-credentials/", "CANARY-session") => {
                Answer::new(200, "dns-role\n")
            }
            ("GET", "/latest/meta-data/iam/security-credentials/dns-role", "CANARY-session") => {
                json()
            }
            _ => Answer::new(401, ""),
        }
    };
    let ambient = Settings { hosted_zone_id: "Z3".to_owned(), ..Settings::default() };
    let fake = start_with(says, NEW).await;
    let mut provider = provider(&fake.url(), &ambient, &[]);
    let metadata = provider.credentials.instance().unwrap();
    assert_eq!(metadata, "http://169.254.169.254");
    *metadata = fake.url();
    works(&provider, &fake, 3).await;
    let off = [("AWS_EC2_METADATA_DISABLED", "true")];
    let made = in_context(&[], &off, |context| Route53::new(&ambient, context));
    let expected = "route53: there are no credentials: neither accessKeyID nor AWS_ACCESS_KEY_ID \
                    is given, and AWS_EC2_METADATA_DISABLED is set";
    assert_eq!(made.err().unwrap().to_string(), expected);
}
