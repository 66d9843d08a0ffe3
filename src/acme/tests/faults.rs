//! Faults of the CA, and many requests at once.

use super::*;
use crate::pki::PrivateKey;
use crate::resource::KeyAlgorithm;

#[tokio::test]
async fn half_of_all_nonces_may_be_refused() {
    let posts = AtomicUsize::new(0);
    let fake = Fake::start(move |fake, seen| {
        // 17 rejections in a row, then one success: worse than a CA that rejects one half.
        let refuse = seen.method == "POST" && posts.fetch_add(1, Ordering::SeqCst) % 18 != 17;
        if refuse { Some(Reply::problem(400, "badNonce", "again")) } else { good(fake, seen) }
    })
    .await;
    let session = session(&fake);
    session.new_order(&new_order()).await.unwrap();
    session.accept(&fake.url("/chall/1")).await.unwrap();
    session.order(&fake.url("/order/1")).await.unwrap();
    assert_eq!(fake.count("/nonce"), 1);
    assert_eq!(fake.count("/new-order"), 18);
    assert_eq!(fake.count("/chall/1"), 18);
}

#[tokio::test]
async fn a_ca_that_refuses_every_nonce_is_given_up() {
    let fake = Fake::start(|_, seen| {
        // Recognised by its type, whatever the status.
        let status = if seen.path == "/chall/1" { 403 } else { 400 };
        (seen.method == "POST").then(|| Reply::problem(status, "badNonce", "never"))
    })
    .await;
    let session = session(&fake);
    let error = session.new_order(&new_order()).await.unwrap_err();
    assert!(error.is_problem("badNonce"), "{error}");
    assert_eq!(fake.count("/new-order"), 21);
    session.accept(&fake.url("/chall/1")).await.unwrap_err();
    session.order(&fake.url("/order/1")).await.unwrap_err();
    assert_eq!(["/chall/1", "/order/1"].map(|path| fake.count(path)), [21, 21]);
}

#[tokio::test]
async fn a_revocation_is_tried_as_often_as_anything_else() {
    let fake = Fake::start(|fake, seen| match seen.path.as_str() {
        "/dir" => {
            let mut directory = fake.directory();
            directory["revokeCert"] = json!(fake.url("/revoke"));
            Some(Reply::json(200, &directory))
        }
        "/revoke" if fake.count("/revoke") % 21 != 0 => {
            Some(Reply::problem(400, "badNonce", "again"))
        }
        "/revoke" => Some(Reply::new(200, "")),
        _ => None,
    })
    .await;
    let client = fake.client();
    let account = AccountKey::generate().unwrap();
    client.revoke(&account, &fake.url("/account/1"), b"DER", 0).await.unwrap();
    let key = PrivateKey::generate(KeyAlgorithm::Ecdsa, 384).unwrap();
    client.revoke_by_key(&key, b"DER", 1).await.unwrap();
    let seen = fake.last();
    assert_eq!(seen.payload, json!({"certificate": "REVS", "reason": 1}));
    assert_eq!((&seen.protected["alg"], &seen.protected["kid"]), (&json!("ES384"), &Value::Null));
    assert_eq!(fake.count("/revoke"), 42);
}

#[tokio::test]
async fn a_signature_that_the_ca_does_not_accept_is_named_with_its_key() {
    let fake = Fake::start(|_, seen| {
        (seen.path == "/account").then(|| {
            Reply::json(
                400,
                &json!({
                    "type": "urn:ietf:params:acme:error:badSignatureAlgorithm",
                    "detail": "not that one", "algorithms": ["RS256", "ES256"],
                }),
            )
        })
    })
    .await;
    let key = PrivateKey::generate(KeyAlgorithm::Ed25519, 256).unwrap();
    let key = AccountKey::from_pem(&key.to_pkcs8_pem()).unwrap();
    let error = fake.client().find_account(&key).await.unwrap_err();
    let problem = Box::new(Problem {
        status: Some(400),
        kind: "urn:ietf:params:acme:error:badSignatureAlgorithm".into(),
        detail: "not that one".into(),
        algorithms: vec!["RS256".into(), "ES256".into()],
        ..Problem::default()
    });
    let url = fake.url("/account");
    let text = format!(
        "the CA does not accept EdDSA signatures, which the Ed25519 key makes; \
         it accepts RS256, ES256: {url}: \
         400 urn:ietf:params:acme:error:badSignatureAlgorithm: not that one"
    );
    assert_eq!(error.to_string(), text);
    let key = "Ed25519".to_owned();
    assert_eq!(error, AcmeError::SignatureAlgorithm { url, key, algorithm: "EdDSA", problem });
    assert_eq!(fake.count("/account"), 1);
}

#[tokio::test]
async fn a_bad_request_of_another_kind_is_not_repeated() {
    let fake =
        Fake::start(|_, seen| (seen.method == "POST").then(|| Reply::new(400, "<html>bad</html>")))
            .await;
    let error = session(&fake).order(&fake.url("/order/1")).await.unwrap_err();
    let expected = AcmeError::Http {
        url: fake.url("/order/1"),
        status: 400,
        snippet: "<html>bad</html>".into(),
        retry_after: None,
    };
    assert_eq!(error, expected);
    assert_eq!(fake.count("/order/1"), 1);
}

#[tokio::test]
async fn rate_limits_come_back_with_their_wait() {
    let waits =
        [("90", Some(90)), ("Fri, 20 Nov 2026 12:02:00 GMT", Some(120)), ("tomorrow", None)];
    for (header, seconds) in waits {
        let fake = Fake::start(move |_, seen| {
            (seen.path == "/new-order").then(|| {
                Reply::problem(429, "rateLimited", "slow down")
                    .with("Retry-After", header)
                    .with("Date", "Fri, 20 Nov 2026 12:00:00 GMT")
            })
        })
        .await;
        let error = session(&fake).new_order(&new_order()).await.unwrap_err();
        let problem = Box::new(Problem {
            status: Some(429),
            kind: "urn:ietf:params:acme:error:rateLimited".into(),
            detail: "slow down".into(),
            ..Problem::default()
        });
        let retry_after = seconds.map(SignedDuration::from_secs);
        assert_eq!(error, AcmeError::Problem { url: fake.url("/new-order"), problem, retry_after });
        assert!(!error.is_transient());
        assert_eq!(fake.count("/new-order"), 1, "a 429 is never repeated");
    }
}

#[tokio::test]
async fn a_limit_of_requests_is_waited_for_by_all_that_a_run_asks() {
    for status in [429, 503] {
        let fake = Fake::start(move |fake, seen| {
            let is_limited = seen.method == "POST" && fake.count(&seen.path) == 1;
            let limited = || Reply::problem(status, "rateLimited", "slow down");
            let limited = is_limited.then(|| limited().with("Retry-After", "1"));
            limited.or_else(|| good(fake, seen))
        })
        .await;
        let session = session(&fake);
        let url = |path| fake.url(path);
        let (order, finalize) = (url("/order/1"), url("/order/1/finalize"));
        let (authorization, challenge) = (url("/authz/1"), url("/chall/1"));
        let certificate = url("/cert/1");
        let ended = tokio::join!(
            async { session.order(&order).await.map(drop) },
            async { session.authorization(&authorization).await.map(drop) },
            async { session.accept(&challenge).await.map(drop) },
            async { session.finalize(&order, &finalize, b"x").await.map(drop) },
            async { session.certificate(&certificate).await.map(drop) },
        );
        for ended in [ended.0, ended.1, ended.2, ended.3, ended.4] {
            assert!(ended.is_ok(), "{ended:?}");
        }
        let paths = ["/order/1", "/authz/1", "/chall/1", "/order/1/finalize", "/cert/1"];
        assert_eq!(paths.map(|path| fake.count(path)), [2; 5], "{status}");
    }
}

#[tokio::test]
async fn a_ca_that_limits_requests_for_ever_is_asked_less_and_less_often() {
    let fake = Fake::start(|_, seen| {
        let limited = || Reply::problem(429, "rateLimited", "slow down").with("Retry-After", "1");
        (seen.method == "POST").then(limited)
    })
    .await;
    let limits = Limits { patience: Duration::from_millis(2500), ..quick() };
    let client = fake.client_with(limits);
    let error = session_of(&fake, &client).order(&fake.url("/order/1")).await.unwrap_err();
    assert_eq!((error.status(), fake.count("/order/1")), (Some(429), 3));
}

/// A wrong directory, of an earlier run.
#[tokio::test]
async fn a_directory_of_an_earlier_run_is_fetched_again_whatever_one_of_its_urls_answers() {
    let fake = Fake::start(|fake, seen| match seen.path.as_str() {
        "/wrong" => Some(Reply::new(403, "<html>no</html>")),
        _ => good(fake, seen),
    })
    .await;
    let mut wrong = fake.directory();
    wrong["newOrder"] = json!(fake.url("/wrong"));
    let client = fake.client();
    client.reuse_directory(Bytes::from(wrong.to_string()), Duration::from_secs(1));
    session_of(&fake, &client).new_order(&new_order()).await.unwrap();
    let paths = ["/wrong", "/dir", "/new-order"];
    assert_eq!(paths.map(|path| fake.count(path)), [1, 1, 1]);
}

#[tokio::test]
async fn only_what_reads_is_repeated_when_the_ca_is_down() {
    let down = |_: &Fake, seen: &Seen| {
        (seen.method == "POST").then(|| Reply::new(503, "<html>busy</html>"))
    };
    let cut = |_: &Fake, seen: &Seen| (seen.method == "POST").then(Reply::cut);
    for fake in [Fake::start(down).await, Fake::start(cut).await] {
        let session = session(&fake);
        let errors = [
            session.order(&fake.url("/order/1")).await.unwrap_err(),
            session.new_order(&new_order()).await.unwrap_err(),
            session.accept(&fake.url("/chall/1")).await.unwrap_err(),
            session.finalize(&fake.url("/order/1"), &fake.url("/fin"), b"x").await.unwrap_err(),
        ];
        for error in errors {
            assert!(error.is_transient(), "{error}");
        }
        let paths = ["/order/1", "/new-order", "/chall/1", "/fin"];
        assert_eq!(paths.map(|path| fake.count(path)), [4, 1, 1, 1]);
    }
}

#[tokio::test]
async fn a_ca_that_comes_back_is_not_noticed() {
    let fake = Fake::start(|fake, seen| match (seen.path.as_str(), fake.count(&seen.path)) {
        ("/dir", 1) | ("/nonce", 1 | 2) => Some(Reply::new(502, "")),
        ("/order/1", 1) => Some(Reply::cut()),
        ("/order/1", 2) => Some(Reply::new(504, "").with("Retry-After", "0")),
        _ => good(fake, seen),
    })
    .await;
    session(&fake).order(&fake.url("/order/1")).await.unwrap();
    // The nonce that was spent on the cut connection is lost, and replaced.
    let counts = ["/dir", "/nonce", "/order/1"].map(|path| fake.count(path));
    assert_eq!(counts, [2, 4, 3]);
}

#[tokio::test]
async fn a_dead_new_nonce_is_asked_four_times_however_many_wait() {
    let fake =
        Fake::start(|_, seen| (seen.path == "/nonce").then(|| Reply::new(503, "busy"))).await;
    let session = session(&fake);
    let url = fake.url("/order/1");
    session.order(&url).await.unwrap_err();
    assert_eq!(
        fake.requests(),
        ["GET /dir", "HEAD /nonce", "HEAD /nonce", "HEAD /nonce", "HEAD /nonce"]
    );
    for answer in join_all((0..50).map(|_| session.order(&url))).await {
        assert_eq!(answer.unwrap_err().status(), Some(503));
    }
    // Two fetched side by side, four times each.
    assert_eq!(fake.count("/nonce"), 4 + 2 * 4);
    assert_eq!(fake.count("/order/1"), 0);
}

#[tokio::test]
async fn a_failure_of_the_ca_itself_is_not_repeated() {
    let fake =
        Fake::start(|_, seen| (seen.path == "/order/1").then(|| Reply::new(500, "oops"))).await;
    let error = session(&fake).order(&fake.url("/order/1")).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(fake.count("/order/1"), 1);
}

#[tokio::test]
async fn a_long_retry_after_is_left_to_the_caller() {
    let fake = Fake::start(|_, seen| {
        (seen.path == "/dir").then(|| Reply::new(503, "").with("Retry-After", "61"))
    })
    .await;
    let client = fake.client();
    let session = session_of(&fake, &client);
    let urls = (0..20).map(|_| session.order("https://localhost/order/1"));
    for answer in join_all(urls).await {
        let wait = answer.unwrap_err().retry_after();
        assert_eq!(wait, Some(SignedDuration::from_secs(61)));
    }
    assert_eq!(fake.requests(), ["GET /dir"], "those who wait share the failure");
}

#[tokio::test]
async fn a_directory_that_moved_is_fetched_again() {
    let fake = Fake::start(|fake, seen| {
        if seen.path != "/dir" || fake.count("/dir") > 1 {
            return good(fake, seen);
        }
        let mut old = fake.directory();
        old["newNonce"] = json!(fake.url("/old-nonce"));
        old["newOrder"] = json!(fake.url("/old-order"));
        Some(Reply::json(200, &old))
    })
    .await;
    let client = fake.client();
    session_of(&fake, &client).new_order(&new_order()).await.unwrap();
    let expected = [
        "GET /dir",
        "HEAD /old-nonce",
        "GET /dir",
        "HEAD /nonce",
        "POST /old-order",
        "POST /new-order",
    ];
    assert_eq!(fake.requests(), expected);
}

#[tokio::test]
async fn a_directory_of_an_earlier_run_is_used_for_an_hour_and_until_one_of_its_urls_fails() {
    let fake = Fake::start(good).await;
    let first = fake.client();
    session_of(&fake, &first).new_order(&new_order()).await.unwrap();
    let (body, _) = first.fetched_directory().unwrap();
    let moved = |name: &str| {
        let mut old: Value = serde_json::from_slice(&body).unwrap();
        old[name] = json!(fake.url("/moved"));
        Bytes::from(old.to_string())
    };
    let minute = Duration::from_mins(1);
    let usual = ["GET /dir", "HEAD /nonce", "POST /new-order"].as_slice();
    for (cached, age, expected) in [
        (body.clone(), minute, &usual[1..]),
        (body.clone(), Duration::from_hours(1), usual),
        (Bytes::from("{}"), minute, usual),
        (moved("newNonce"), minute, &["HEAD /moved", usual[0], usual[1], usual[2]]),
        (moved("newOrder"), minute, &[usual[1], "POST /moved", usual[0], usual[2]]),
    ] {
        let before = fake.requests().len();
        let client = fake.client();
        client.reuse_directory(cached, age);
        session_of(&fake, &client).new_order(&new_order()).await.unwrap();
        assert_eq!(fake.requests()[before..], *expected, "{age:?}");
        let was_fetched = expected.contains(&"GET /dir");
        assert_eq!(client.fetched_directory().is_some(), was_fetched, "{age:?}");
    }
}

#[tokio::test]
async fn a_url_that_is_gone_and_has_not_moved_is_an_error() {
    let fake = Fake::start(|_, _| None).await;
    let error = session(&fake).new_order(&new_order()).await.unwrap_err();
    assert_eq!(error.status(), Some(404));
    assert_eq!(fake.requests(), ["GET /dir", "HEAD /nonce", "POST /new-order", "GET /dir"]);
}

#[tokio::test]
async fn a_stored_url_that_is_not_https_is_never_asked() {
    let fake = Fake::start(good).await;
    let session = session(&fake);
    let url = fake.url("/order/1").replace("https", "http");
    let errors = [session.order(&url).await.unwrap_err(), session.accept(&url).await.unwrap_err()];
    for error in errors {
        let what = "request".to_owned();
        assert_eq!(error, AcmeError::InsecureUrl { url: url.clone(), what });
    }
}

#[tokio::test]
async fn bodies_are_bounded() {
    let fake = Fake::start(|_, seen| match seen.path.as_str() {
        "/order/1" => Some(Reply::new(200, vec![b' '; 1001])),
        "/cert/1" => Some(Reply::new(200, vec![b'-'; 501])),
        _ => None,
    })
    .await;
    let client = fake.client_with(Limits { json_bytes: 1000, chain_bytes: 500, ..quick() });
    let session = session_of(&fake, &client);
    let url = fake.url("/order/1");
    let error = session.order(&url).await.unwrap_err();
    assert_eq!(error, AcmeError::TooLarge { url, limit: 1000 });
    let url = fake.url("/cert/1");
    let error = session.certificate(&url).await.unwrap_err();
    assert_eq!(error, AcmeError::TooLarge { url, limit: 500 });
}

#[tokio::test]
async fn a_silent_ca_is_left() {
    let fake = Fake::start(|_, seen| (seen.path == "/order/1").then(Reply::hang)).await;
    let request_timeout = Duration::from_millis(200);
    let client = fake.client_with(Limits { request_timeout, ..quick() });
    let url = fake.url("/order/1");
    let error = session_of(&fake, &client).order(&url).await.unwrap_err();
    assert_eq!(error, AcmeError::Timeout { url, limit: request_timeout });
    assert_eq!(fake.count("/order/1"), 1);
}

#[tokio::test]
async fn a_nonce_that_comes_with_the_directory_saves_a_request() {
    let fake = Fake::start(|fake, seen| match seen.path.as_str() {
        "/dir" => {
            let reply = Reply::json(200, &fake.directory());
            Some(reply.with("Replay-Nonce", fake.new_nonce()))
        }
        _ => good(fake, seen),
    })
    .await;
    session(&fake).order(&fake.url("/order/1")).await.unwrap();
    assert_eq!(fake.requests(), ["GET /dir", "POST /order/1"]);
}

#[tokio::test]
async fn orders_side_by_side_share_two_nonces() {
    let fake = Fake::start(good).await;
    let session = session(&fake);
    let url = fake.url("/order/1");
    try_join_all((0..50).map(|_| session.order(&url))).await.unwrap();
    let counts = ["/dir", "/nonce", "/order/1"].map(|path| fake.count(path));
    assert_eq!(counts, [1, 2, 50]);
}

#[tokio::test]
async fn requests_at_once_are_bounded() {
    let fake = Fake::start_gated(Some(3), good).await;
    let limits = Limits { nonces: 12, requests_at_once: 3, ..quick() };
    let client = fake.client_with(limits);
    let session = session_of(&fake, &client);
    let url = fake.url("/order/1");
    try_join_all((0..12).map(|_| session.order(&url))).await.unwrap();
    assert_eq!(fake.most_in_flight.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_request_dropped_half_way_blocks_no_other() {
    let fake = Fake::start(|fake, seen| match seen.path.as_str() {
        "/hang" => Some(Reply::hang()),
        _ => good(fake, seen),
    })
    .await;
    let limits = Limits { nonces: 1, requests_at_once: 1, ..quick() };
    let client = fake.client_with(limits);
    let session = session_of(&fake, &client);
    let (hanging, url) = (fake.url("/hang"), fake.url("/order/1"));
    let until_it_hangs = async {
        while fake.count("/hang") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = session.order(&hanging) => panic!("answered: {answer:?}"),
        () = until_it_hangs => {}
    }
    session.order(&url).await.unwrap();
    assert_eq!(fake.count("/nonce"), 2);
}

#[tokio::test]
async fn whom_to_trust_is_what_the_issuer_says() {
    let (fake, other) = (Fake::start(good).await, Fake::start(good).await);
    let ca_bundle = Some(other.ca_pem.clone());
    let stranger = Endpoint { ca_bundle: ca_bundle.clone(), ..fake.endpoint() };
    let client = Client::new(stranger.clone(), quick()).unwrap();
    let error = client.directory().await.unwrap_err();
    // Both issuers have the same name, and another key.
    assert_eq!(error, AcmeError::Untrusted { url: fake.url("/dir"), why: Distrust::OtherKey });
    assert_eq!(client.requests(), 1, "nothing changes by asking again");
    let blind = Endpoint { skip_tls_verify: true, ..stranger };
    Client::new(blind, quick()).unwrap().directory().await.unwrap();
    assert!(fake.requests() == ["GET /dir"]);
}

#[tokio::test]
async fn what_is_wrong_with_the_certificate_of_the_server_is_said_in_words() {
    let is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let distrust = async |edit: &dyn Fn(&mut rcgen::CertificateParams)| {
        let fake = Fake::start_presenting(edit, None, good).await;
        let error = fake.client().directory().await.unwrap_err();
        let AcmeError::Untrusted { why, .. } = error else { panic!("{error}") };
        why
    };
    let why = distrust(&|params| params.is_ca = is_ca).await;
    assert_eq!(why, Distrust::CaCertificate);
    assert_eq!(why.to_string(), "the server presents a CA certificate as its own");
    let why = distrust(&|params| params.not_before = rcgen::date_time_ymd(2999, 1, 1)).await;
    let Distrust::NotValidYet { not_before, .. } = why else { panic!("{why}") };
    assert_eq!(not_before, "2999-01-01T00:00:00Z".parse().unwrap());
    let why = distrust(&|params| params.not_after = rcgen::date_time_ymd(1999, 1, 1)).await;
    let Distrust::Expired { not_after, .. } = why else { panic!("{why}") };
    assert_eq!(not_after, "1999-01-01T00:00:00Z".parse().unwrap());
    let stranger = Fake::start(good).await;
    let other = pem_of_another_authority();
    let endpoint = Endpoint { ca_bundle: Some(other), ..stranger.endpoint() };
    let error = Client::new(endpoint, quick()).unwrap().directory().await.unwrap_err();
    assert_eq!(
        error,
        AcmeError::Untrusted { url: stranger.url("/dir"), why: Distrust::UnknownIssuer }
    );
    assert_eq!(
        error.to_string(),
        format!(
            "{}: the server's certificate is not trusted: it is issued by an unknown authority",
            stranger.url("/dir")
        )
    );
}

fn pem_of_another_authority() -> String {
    let mut params = rcgen::CertificateParams::new([]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "another authority");
    params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
}

#[tokio::test]
async fn the_time_of_the_ca_passes_after_its_answer() {
    let date = "Fri, 20 Nov 2020 10:00:00 GMT";
    let fake = Fake::start(move |fake, seen| {
        let directory = || Reply::json(200, &fake.directory()).with("Date", date);
        (seen.path == "/dir").then(directory)
    })
    .await;
    let client = fake.client();
    assert_eq!(client.server_time(), None);
    client.directory().await.unwrap();
    let theirs: jiff::Timestamp = "2020-11-20T10:00:00Z".parse().unwrap();
    let first = client.server_time().unwrap();
    assert!(theirs < first && first < theirs + SignedDuration::from_mins(10), "{first}");
    assert!(client.server_time().unwrap() > first);
}

#[tokio::test]
async fn the_first_failure_of_a_request_that_is_repeated_is_logged_once() {
    #[derive(Clone, Default)]
    struct Log(Arc<std::sync::Mutex<Vec<u8>>>);
    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let fake = Fake::start(|_, _| Some(Reply::new(503, "busy"))).await;
    let limits = Limits { retry_waits: vec![Duration::from_millis(1); 3], ..quick() };
    let (client, log) = (fake.client_with(limits), Log::default());
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .without_time()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    client.directory().await.unwrap_err();
    drop(guard);
    assert_eq!(fake.count("/dir"), 4);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let line = format!(
        " INFO certctl::acme::retry: {}: HTTP status 503: busy: trying again for up to 0 s\n",
        fake.url("/dir")
    );
    assert_eq!(log, line);
}
