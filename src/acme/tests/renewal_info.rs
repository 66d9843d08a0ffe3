//! Renewal information, and orders that replace a certificate.

use super::*;

const ID: &str = "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE";
const PATH: &str = "/renewal/aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE";

/// A CA with renewal information, whose answers about the certificate are these, in turn.
async fn informing(answers: Vec<Reply>) -> Arc<Fake> {
    Fake::start(move |fake, seen| match seen.path.as_str() {
        "/dir" => {
            let mut directory = fake.directory();
            directory["renewalInfo"] = json!(fake.url("/renewal/"));
            Some(Reply::json(200, &directory))
        }
        PATH => answers.get(fake.count(PATH) - 1).cloned(),
        _ => good(fake, seen),
    })
    .await
}

fn window() -> Value {
    json!({"start": "2027-01-02T04:00:00Z", "end": "2027-01-03T06:00:00+02:00"})
}

fn informed() -> Reply {
    let page = "https://ca.test/docs/ari";
    Reply::json(200, &json!({"suggestedWindow": window(), "explanationURL": page}))
}

fn info(explanation: Option<&str>, retry_after: Option<u64>) -> RenewalInfo {
    RenewalInfo {
        start: "2027-01-02T04:00:00Z".parse().unwrap(),
        end: "2027-01-03T04:00:00Z".parse().unwrap(),
        explanation_url: explanation.map(str::to_owned),
        retry_after: retry_after.map(Duration::from_secs),
    }
}

#[tokio::test]
async fn renewal_information_takes_one_unsigned_request_which_is_counted_apart() {
    let fake = informing(vec![informed().with("Retry-After", "21600")]).await;
    let client = fake.client();
    let found = client.renewal_info(ID).await;
    assert_eq!(found, Ok(info(Some("https://ca.test/docs/ari"), Some(21_600))));
    assert_eq!(fake.requests(), ["GET /dir", &format!("GET {PATH}")]);
    assert_eq!((fake.last().jws, client.requests()), (Value::Null, 2));
    let kind = |is_renewal_info| RequestKind {
        host: "localhost".into(),
        method: "GET".into(),
        is_renewal_info,
        status: 200,
    };
    assert_eq!(client.request_counts(), [(kind(false), 1), (kind(true), 1)].into());
}

#[tokio::test]
async fn the_wait_comes_back_as_the_ca_sent_it() {
    let waits = [
        ("1", Some(1)),
        ("0", Some(0)),
        ("99999999", Some(99_999_999)),
        ("Fri, 20 Nov 2026 18:00:00 GMT", Some(21_600)),
        ("Fri, 20 Nov 2026 11:00:00 GMT", Some(0)),
        ("soon", None),
    ];
    let date = "Fri, 20 Nov 2026 12:00:00 GMT";
    let answers = waits.map(|(wait, _)| informed().with("Retry-After", wait).with("Date", date));
    let fake = informing(answers.to_vec()).await;
    let client = fake.client();
    for (wait, expected) in waits {
        let found = client.renewal_info(ID).await.unwrap();
        assert_eq!(found, info(Some("https://ca.test/docs/ari"), expected), "{wait}");
    }
}

#[tokio::test]
async fn a_page_that_is_no_web_page_is_left_out() {
    let pages = [
        (json!("http://ca.test/why"), Some("http://ca.test/why")),
        (json!("javascript:alert(1)"), None),
        (json!("/why"), None),
        (json!("https://ca.test/\u{1b}[2J"), None),
        (json!(format!("https://ca.test/{}", "a".repeat(3000))), None),
        (json!(7), None),
        (json!(null), None),
    ];
    let answer = |page| json!({"suggestedWindow": window(), "explanationURL": page});
    let answers = pages.iter().map(|(page, _)| Reply::json(200, &answer(page))).collect();
    let fake = informing(answers).await;
    let client = fake.client();
    for (page, expected) in pages {
        assert_eq!(client.renewal_info(ID).await, Ok(info(expected, None)), "{page}");
    }
}

#[tokio::test]
async fn renewal_information_that_is_wrong_is_an_error_that_says_what() {
    let (start, end) = ("2027-01-02T04:00:00Z", "2027-01-03T04:00:00Z");
    let of = |window: Value| Reply::json(200, &json!({"suggestedWindow": window}));
    let cases = [
        (Reply::new(200, "<html>"), "the answer is not JSON: expected value at line 1 column 1"),
        (
            Reply::new(200, ""),
            "the answer is not JSON: EOF while parsing a value at line 1 column 0",
        ),
        (Reply::json(200, &json!([window()])), "the answer is not a JSON object"),
        (
            Reply::json(200, &json!({})),
            "the renewal information: invalid type: null, expected struct SuggestedWindow",
        ),
        (
            of(json!(null)),
            "the renewal information: invalid type: null, expected struct SuggestedWindow",
        ),
        (of(json!({"start": start})), "the renewal information: missing field `end`"),
        (of(json!({"end": end})), "the renewal information: missing field `start`"),
        (
            of(json!({"start": 1_798_862_400, "end": end})),
            "the renewal information: invalid type: integer `1798862400`, \
             expected an RFC3339-formatted `OffsetDateTime`",
        ),
        (
            of(json!({"start": end, "end": start})),
            "the renewal window ends at 2027-01-02T04:00:00Z, \
             not after its start at 2027-01-03T04:00:00Z",
        ),
        (
            of(json!({"start": end, "end": end})),
            "the renewal window ends at 2027-01-03T04:00:00Z, \
             not after its start at 2027-01-03T04:00:00Z",
        ),
    ];
    let fake = informing(cases.iter().map(|(reply, _)| reply.clone()).collect()).await;
    let client = fake.client();
    for (_, why) in cases {
        let (url, why) = (fake.url(PATH), why.to_owned());
        assert_eq!(client.renewal_info(ID).await, Err(AcmeError::Malformed { url, why }));
    }
    let huge = informing(vec![Reply::new(200, vec![b' '; 1001])]).await;
    let client = huge.client_with(Limits { json_bytes: 1000, ..quick() });
    let url = huge.url(PATH);
    assert_eq!(client.renewal_info(ID).await, Err(AcmeError::TooLarge { url, limit: 1000 }));
}

#[tokio::test]
async fn a_question_that_fails_is_not_repeated() {
    let cases = [
        (Reply::problem(404, "malformed", "unknown"), Some(404)),
        (Reply::new(503, "busy").with("Retry-After", "1"), Some(503)),
        (Reply::problem(429, "rateLimited", "slow down"), Some(429)),
        (Reply::new(302, "").with("Location", "https://ca.test/"), Some(302)),
        (Reply::cut(), None),
    ];
    let fake = informing(cases.iter().map(|(reply, _)| reply.clone()).collect()).await;
    let client = fake.client();
    for (requests_before, (_, status)) in cases.iter().enumerate() {
        let error = client.renewal_info(ID).await.unwrap_err();
        assert_eq!(error.status(), *status, "{error}");
        assert_eq!((fake.count(PATH), fake.count("/dir")), (requests_before + 1, 1));
    }
}

#[tokio::test]
async fn a_question_without_an_answer_ends_and_counts() {
    let limit = Duration::from_millis(200);
    let fake = informing(vec![Reply::hang()]).await;
    let client =
        fake.client_with(Limits { renewal_info_timeout: Duration::from_millis(200), ..quick() });
    client.directory().await.unwrap();
    let url = fake.url(PATH);
    assert_eq!(client.renewal_info(ID).await, Err(AcmeError::Timeout { url, limit }));
    let counts: Vec<_> = client.request_counts().into_iter().collect();
    let [_, (kind, 1)] = counts.as_slice() else { panic!("{counts:?}") };
    assert_eq!((kind.is_renewal_info, kind.status), (true, 999));
    let silent = Fake::start(|_, seen| (seen.path == "/dir").then(Reply::hang)).await;
    let client =
        silent.client_with(Limits { renewal_info_timeout: Duration::from_millis(200), ..quick() });
    let url = silent.url("/dir");
    assert_eq!(client.renewal_info(ID).await, Err(AcmeError::Timeout { url, limit }));
}

#[tokio::test]
async fn a_question_to_a_ca_that_is_down_is_one_request() {
    let cut = Fake::start(|_, seen| (seen.path == "/dir").then(Reply::cut)).await;
    let client = cut.client();
    assert!(client.renewal_info(ID).await.unwrap_err().is_transient());
    assert_eq!(client.requests(), 1);
    // It waits for the directory no longer than for that.
    let limit = Duration::from_millis(200);
    let silent = Fake::start(|_, seen| (seen.path == "/dir").then(Reply::hang)).await;
    let client = silent.client_with(Limits {
        renewal_info_timeout: Duration::from_hours(1),
        request_timeout: Duration::from_hours(1),
        renewal_info_directory_timeout: Duration::from_millis(200),
        ..quick()
    });
    let url = silent.url("/dir");
    assert_eq!(client.renewal_info(ID).await, Err(AcmeError::Timeout { url, limit }));
}

#[tokio::test]
async fn a_question_that_fails_is_no_failure_of_an_order() {
    let fake =
        Fake::start(|fake, seen| (seen.path == "/dir" && fake.count("/dir") == 1).then(Reply::cut))
            .await;
    let client = fake.client();
    let (information, directory) = tokio::join!(client.renewal_info(ID), client.directory());
    assert!(information.unwrap_err().is_transient());
    directory.unwrap();
}

#[tokio::test]
async fn questions_are_few_at_once_and_hold_up_no_order() {
    let fake = informing(vec![Reply::hang(); 9]).await;
    let limits = Limits { requests_at_once: 1, renewal_infos_at_once: 2, ..quick() };
    let client = fake.client_with(limits);
    let session = session_of(&fake, &client);
    let url = fake.url("/order/1");
    let order = async {
        while fake.count(PATH) < 2 {
            tokio::task::yield_now().await;
        }
        session.order(&url).await
    };
    tokio::select! {
        answers = join_all((0..9).map(|_| client.renewal_info(ID))) => panic!("{answers:?}"),
        order = order => drop(order.unwrap()),
    }
    assert_eq!(fake.count(PATH), 2);
}

#[tokio::test]
async fn a_ca_without_renewal_information_is_not_asked() {
    let fake = Fake::start(good).await;
    let error = fake.client().renewal_info(ID).await.unwrap_err();
    let what = "renewal information: the CA's directory has no renewalInfo".to_owned();
    assert_eq!(error, AcmeError::Unsupported { what });
    assert_eq!(fake.requests(), ["GET /dir"]);
}

#[tokio::test]
async fn an_order_names_the_certificate_that_it_replaces() {
    let fake = Fake::start(|fake, seen| {
        let mut order = order_json(fake, "pending");
        order["replaces"] = seen.payload["replaces"].clone();
        let reply = || Reply::json(201, &order).with("Location", fake.url("/order/1"));
        (seen.path == "/new-order").then(reply)
    })
    .await;
    let session = session(&fake);
    let replaces = Some(ID.to_owned());
    let new = NewOrder { replaces: replaces.clone(), ..new_order() };
    let expected = OrderView { replaces, ..view(&fake, OrderState::Pending) };
    assert_eq!(session.new_order(&new).await, Ok(expected));
    assert_eq!(fake.last().payload["replaces"], json!(ID));
    assert_eq!(session.new_order(&new_order()).await, Ok(view(&fake, OrderState::Pending)));
    assert_eq!(fake.last().payload.get("replaces"), None);
    let long = NewOrder { replaces: Some("a".repeat(300)), ..new_order() };
    assert_eq!(session.new_order(&long).await, Ok(view(&fake, OrderState::Pending)));
}

#[tokio::test]
async fn the_refusal_of_an_order_is_told_from_failures_before_it() {
    let cases = [
        ("/new-order", Reply::problem(409, "alreadyReplaced", "done"), true, "alreadyReplaced"),
        ("/new-order", Reply::problem(400, "malformed", "no"), true, "malformed"),
        ("/new-order", Reply::new(500, "oops"), true, ""),
        ("/new-order", Reply::cut(), false, ""),
        ("/nonce", Reply::problem(500, "serverInternal", "no"), false, ""),
    ];
    for (path, reply, is_refusal, kind) in cases {
        let fake = Fake::start(move |_, seen| (seen.path == path).then(|| reply.clone())).await;
        let client = fake.client();
        let new = NewOrder { replaces: Some(ID.to_owned()), ..new_order() };
        let error = session_of(&fake, &client).new_order(&new).await.unwrap_err();
        let directory = client.directory().await.unwrap();
        let is_of_new_order = error.url() == Some(&*directory.new_order);
        let is_refused = error.status().is_some_and(|status| status >= 400) && is_of_new_order;
        assert_eq!(is_refused, is_refusal, "{error}");
        assert_eq!(error.problem().map_or("", Problem::short_kind), kind, "{error}");
    }
}
