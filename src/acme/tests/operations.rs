//! The requests of each operation, and how the CA's answers are read.

use super::*;

#[tokio::test]
async fn an_issuance_is_one_request_per_deed_plus_directory_and_one_nonce() {
    let fake = Fake::start(good).await;
    let client = fake.client();
    let session = session_of(&fake, &client);

    assert_eq!(session.new_order(&new_order()).await, Ok(view(&fake, OrderState::Pending)));
    let authorization = session.authorization(&fake.url("/authz/1")).await.unwrap();
    let challenge = ChallengeView {
        kind: ChallengeType::Dns01,
        url: fake.url("/chall/1"),
        token: TOKEN.into(),
        state: AuthorizationState::Pending,
        problem: None,
    };
    let odd = ChallengeView {
        kind: ChallengeType::Other("dns-persist-01".into()),
        url: fake.url("/chall/2"),
        token: String::new(),
        state: AuthorizationState::Other("dreaming".into()),
        problem: None,
    };
    assert_eq!(
        authorization,
        AuthorizationView {
            url: fake.url("/authz/1"),
            identifier: dns("b.test"),
            wildcard: true,
            state: AuthorizationState::Pending,
            expires: None,
            challenges: vec![challenge.clone(), odd],
            retry_after: None,
        }
    );
    let accepted = session.accept(&fake.url("/chall/1")).await;
    assert_eq!(accepted, Ok(ChallengeView { state: AuthorizationState::Processing, ..challenge }));
    assert_eq!(fake.last().jws["payload"], json!("e30"));
    let order = view(&fake, OrderState::Processing);
    let finalized =
        session.finalize(&order.url, &fake.url("/order/1/finalize"), &[0x30, 0xff]).await;
    let wait = Some(SignedDuration::from_secs(3));
    assert_eq!(finalized, Ok(OrderView { retry_after: wait, ..order }));
    assert_eq!(fake.last().payload, json!({"csr": "MP8"}));
    let read = session.order(&fake.url("/order/1")).await;
    let certificate_url = Some(fake.url("/cert/1"));
    let valid = OrderView { certificate_url, ..view(&fake, OrderState::Valid) };
    assert_eq!(read, Ok(valid));
    assert_eq!(fake.last().jws["payload"], json!(""));
    let downloaded = session.certificate(&fake.url("/cert/1")).await.unwrap();
    let alternates = vec![fake.url("/cert/1/1")];
    assert_eq!(downloaded, Downloaded { pem: CHAIN.into(), alternates });
    assert!(fake.last().accept.starts_with("application/pem-certificate-chain"));
    assert_eq!(session.alternate(&downloaded.alternates[0]).await.as_deref(), Ok(CHAIN));

    let expected = [
        "GET /dir",
        "HEAD /nonce",
        "POST /new-order",
        "POST /authz/1",
        "POST /chall/1",
        "POST /order/1/finalize",
        "POST /order/1",
        "POST /cert/1",
        "POST /cert/1/1",
    ];
    assert_eq!(fake.requests(), expected);
    assert_eq!(client.requests(), 9);
    assert_eq!(fake.last().user_agent, "certctl/test");
    assert_eq!(fake.last().protected["kid"], json!(fake.url("/account/1")));
}

#[tokio::test]
async fn a_wished_end_and_profile_are_sent() {
    let fake = Fake::start(good).await;
    let session = session(&fake);
    let identifiers = json!([
        {"type": "dns", "value": "a.test"}, {"type": "dns", "value": "*.b.test"},
    ]);
    let profile = Some("shortlived".to_owned());
    let new = NewOrder { profile, ..new_order() };
    session.new_order(&new).await.unwrap();
    assert_eq!(fake.last().payload, json!({"identifiers": identifiers, "profile": "shortlived"}));
    let not_after = Some("2027-01-01T00:00:00Z".parse().unwrap());
    session.new_order(&NewOrder { not_after, ..new }).await.unwrap();
    assert_eq!(
        fake.last().payload,
        json!({
            "identifiers": identifiers, "profile": "shortlived",
            "notAfter": "2027-01-01T00:00:00Z",
        })
    );
}

#[tokio::test]
async fn an_order_for_something_else_is_refused() {
    let fake = Fake::start(good).await;
    let other = NewOrder { identifiers: vec![dns("a.test"), dns("c.test")], ..new_order() };
    let error = session(&fake).new_order(&other).await.unwrap_err();
    let why = "the order is for *.b.test, a.test, not for a.test, c.test".into();
    assert_eq!(error, AcmeError::Malformed { url: fake.url("/new-order"), why });
}

/// Some CAs return an IPv4 address as the IPv6 address that stands for it.
#[tokio::test]
async fn an_address_is_the_same_in_ipv6() {
    let fake = Fake::start(|fake, seen| {
        let mut order = order_json(fake, "pending");
        order["identifiers"] = json!([{"type": "ip", "value": "::ffff:192.0.2.1"}]);
        let answer = Reply::json(201, &order).with("Location", fake.url("/order/1"));
        (seen.path == "/new-order").then_some(answer)
    })
    .await;
    let of = |address: &str| {
        let identifiers = vec![Identifier::Ip(address.parse().unwrap())];
        NewOrder { identifiers, ..new_order() }
    };
    session(&fake).new_order(&of("192.0.2.1")).await.unwrap();
    session(&fake).new_order(&of("192.0.2.2")).await.unwrap_err();
}

#[tokio::test]
async fn a_challenge_without_a_url_spoils_no_other() {
    let fake = Fake::start(|fake, seen| {
        let mut authorization = authorization_json(fake);
        authorization["challenges"][1].as_object_mut().unwrap().remove("url");
        if seen.path == "/authz/2" {
            authorization["challenges"].as_array_mut().unwrap().remove(0);
        }
        seen.path.starts_with("/authz/").then(|| Reply::json(200, &authorization))
    })
    .await;
    let session = session(&fake);
    let read = session.authorization(&fake.url("/authz/1")).await.unwrap();
    let urls: Vec<String> = read.challenges.into_iter().map(|challenge| challenge.url).collect();
    assert_eq!(urls, [fake.url("/chall/1")]);
    // Without another one, it is what is wrong.
    session.authorization(&fake.url("/authz/2")).await.unwrap_err();
}

#[tokio::test]
async fn accounts_are_found_registered_and_changed() {
    let fake = Fake::start(|fake, seen| {
        if seen.path == "/account/1" {
            let contacts = &seen.payload["contact"];
            return Some(Reply::json(200, &json!({"status": "valid", "contact": contacts})));
        }
        if seen.payload["onlyReturnExisting"] == json!(true) {
            return Some(match fake.count("/account") {
                1 => Reply::problem(400, "accountDoesNotExist", "none"),
                _ => Reply::new(200, "").with("Location", "/account/1"),
            });
        }
        good(fake, seen)
    })
    .await;
    let client = fake.client();
    let key = AccountKey::generate().unwrap();
    assert_eq!(client.find_account(&key).await, Ok(None));

    let contacts = ["mailto:ops@a.test".to_owned()];
    let eab = Eab { key_id: "k".into(), hmac_key: vec![1, 2, 3].into() };
    let made = client.register(&key, &contacts, Some(&eab)).await;
    let answer = AccountAnswer {
        url: fake.url("/account/1"),
        status: AccountStatus::Valid,
        contacts: Vec::new(),
        created: true,
    };
    assert_eq!(made, Ok(answer.clone()));
    let seen = fake.last();
    assert_eq!(seen.protected["jwk"], key.signing().jwk());
    let binding = eab.bind(key.signing(), &fake.url("/account"));
    assert_eq!(
        seen.payload,
        json!({
            "termsOfServiceAgreed": true, "contact": contacts, "externalAccountBinding": binding,
        })
    );

    let found = client.find_account(&key).await;
    let existing = AccountAnswer { created: false, ..answer };
    assert_eq!(found, Ok(Some(existing.clone())));
    let changed = client.update_contacts(&key, &existing.url, &contacts).await;
    assert_eq!(changed, Ok(AccountAnswer { contacts: contacts.to_vec(), ..existing }));
}

#[tokio::test]
async fn subproblems_name_their_identifiers() {
    let fake = Fake::start(|_, seen| {
        (seen.path == "/new-order").then(|| {
            Reply::json(
                403,
                &json!({
                    "type": "urn:x:rejectedIdentifier", "detail": "some names",
                    "subproblems": [{
                        "type": "urn:x:caa", "detail": "no",
                        "identifier": {"type": "dns", "value": "a.test"},
                    }],
                }),
            )
        })
    })
    .await;
    let error = session(&fake).new_order(&new_order()).await.unwrap_err();
    let sub =
        Subproblem { identifier: "a.test".into(), kind: "urn:x:caa".into(), detail: "no".into() };
    assert_eq!(error.problem().unwrap().subproblems, vec![sub]);
}

#[tokio::test]
async fn the_directory_must_be_one() {
    let cases: [(Reply, &str); 4] = [
        (Reply::new(200, "<html>"), "the answer is not JSON: expected value at line 1 column 1"),
        (Reply::new(404, "<h1>gone</h1>"), "HTTP status 404: <h1>gone</h1>"),
        (Reply::json(200, &json!([])), "the answer is not a JSON object"),
        (Reply::json(200, &json!({"newNonce": "https://x/"})), "the answer has no `newAccount`"),
    ];
    for (reply, why) in cases {
        let fake = Fake::start(move |_, _| Some(reply.clone())).await;
        let error = fake.client().directory().await.unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {why}", fake.url("/dir")));
    }
    let fake = Fake::start(|fake, _| {
        let mut directory = fake.directory();
        directory["newOrder"] = json!("http://ca.test/new-order");
        Some(Reply::json(200, &directory))
    })
    .await;
    let error = fake.client().directory().await.unwrap_err();
    let url = "http://ca.test/new-order".to_owned();
    assert_eq!(error, AcmeError::InsecureUrl { url, what: "newOrder".into() });
    let endpoint = Endpoint { directory_url: "http://ca.test/dir".into(), ..fake.endpoint() };
    assert!(matches!(Client::new(endpoint, Limits::default()), Err(AcmeError::InsecureUrl { .. })));
}

#[tokio::test]
async fn the_directory_tells_of_the_ca_and_can_be_kept() {
    let fake = Fake::start(|fake, seen| {
        let mut directory = fake.directory();
        directory["meta"] = json!({
            "termsOfService": "https://tos.test", "caaIdentities": ["ca.test"],
            "externalAccountRequired": true, "profiles": {"classic": "The usual", "odd": 7},
        });
        match seen.path.as_str() {
            "/dir" => Some(Reply::json(200, &directory)),
            _ => good(fake, seen),
        }
    })
    .await;
    let found = fake.client().directory().await.unwrap();
    let profiles = [("classic", "The usual"), ("odd", "")];
    let expected = Directory {
        new_nonce: fake.url("/nonce"),
        new_account: fake.url("/account"),
        new_order: fake.url("/new-order"),
        revoke_cert: None,
        key_change: None,
        renewal_info: None,
        terms_of_service: Some("https://tos.test".into()),
        website: None,
        caa_identities: vec!["ca.test".into()],
        external_account_required: true,
        profiles: Some(profiles.map(|(a, b)| (a.to_owned(), b.to_owned())).into()),
    };
    assert_eq!(*found, expected);

    for (age, expected) in [(Limits::default().directory_age, 2), (Duration::ZERO, 4)] {
        let client = fake.client_with(Limits { directory_age: age, ..quick() });
        assert_eq!(client.known_directory(), None);
        for _ in 0..2 {
            client.directory().await.unwrap();
        }
        // However old it is.
        assert_eq!(client.known_directory(), Some(Arc::clone(&found)), "{age:?}");
        assert_eq!(fake.count("/dir"), expected, "{age:?}");
    }
}

#[tokio::test]
async fn odd_words_pass_and_dangerous_ones_do_not() {
    let fake = Fake::start(|fake, seen| {
        let mut authorization = authorization_json(fake);
        let mut order = order_json(fake, "napping");
        match seen.path.as_str() {
            "/authz/1" => authorization["challenges"][0]["token"] = json!("../../x\n"),
            "/authz/2" => authorization["challenges"][0]["url"] = json!("http://x/"),
            "/authz/3" => {
                authorization["identifier"]["value"] = json!("*.b.test");
                authorization["wildcard"] = json!("yes");
                authorization["challenges"][0]["error"] = json!({"type": "urn:x:dns"});
            }
            "/order/1" => {
                order["expires"] = json!(12);
                order["error"] = json!({"type": "urn:x:caa", "status": 403, "detail": "no"});
                return Some(Reply::json(200, &order));
            }
            "/order/2" => {
                order["certificate"] = json!("http://x/");
                return Some(Reply::json(200, &order));
            }
            "/cert/1" => return Some(Reply::new(200, "no PEM")),
            _ => return None,
        }
        Some(Reply::json(200, &authorization))
    })
    .await;
    let session = session(&fake);
    let url = fake.url("/authz/1");
    let error = session.authorization(&url).await.unwrap_err();
    assert_eq!(error, AcmeError::BadToken { url, token: "../../x".into() });
    let error = session.authorization(&fake.url("/authz/2")).await.unwrap_err();
    assert_eq!(error, AcmeError::InsecureUrl { url: "http://x/".into(), what: "url".into() });
    let odd = session.authorization(&fake.url("/authz/3")).await.unwrap();
    assert_eq!((odd.identifier, odd.wildcard), (dns("b.test"), true));
    let problem = Problem { kind: "urn:x:dns".into(), ..Problem::default() };
    assert_eq!(odd.challenges[0].problem, Some(problem));
    let napping = OrderView {
        expires: None,
        problem: Some(Problem {
            status: None,
            kind: "urn:x:caa".into(),
            detail: "no".into(),
            ..Problem::default()
        }),
        ..view(&fake, OrderState::Other("napping".into()))
    };
    assert_eq!(session.order(&fake.url("/order/1")).await, Ok(napping));
    let error = session.order(&fake.url("/order/2")).await.unwrap_err();
    let cause = "(if a proxy terminates TLS for the CA, configure the CA with its https address)";
    assert_eq!(error.to_string(), format!("certificate is not an https URL {cause}: http://x/"));
    let what = "certificate".into();
    assert_eq!(error, AcmeError::InsecureUrl { url: "http://x/".into(), what });
    let error = session.certificate(&fake.url("/cert/1")).await.unwrap_err();
    assert!(matches!(error, AcmeError::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn a_challenge_without_a_url_spoils_no_other_one() {
    let fake = Fake::start(|fake, seen| {
        let mut authorization = authorization_json(fake);
        let challenges = authorization["challenges"].as_array_mut().unwrap();
        match seen.path.as_str() {
            "/authz/1" => {
                challenges
                    .insert(0, json!({"type": "http-01", "token": TOKEN, "status": "pending"}));
                challenges.insert(0, json!(null));
            }
            "/authz/2" => *challenges = vec![json!({"type": "dns-01", "token": TOKEN})],
            _ => return None,
        }
        Some(Reply::json(200, &authorization))
    })
    .await;
    let session = session(&fake);
    let seen = session.authorization(&fake.url("/authz/1")).await.unwrap();
    let urls: Vec<String> = seen.challenges.into_iter().map(|one| one.url).collect();
    assert_eq!(urls, [fake.url("/chall/1"), fake.url("/chall/2")]);
    let error = session.authorization(&fake.url("/authz/2")).await.unwrap_err();
    let why = "the answer has no `url`".to_owned();
    assert_eq!(error, AcmeError::Malformed { url: fake.url("/authz/2"), why });
}

#[tokio::test]
async fn an_ipv4_address_in_ipv6_clothes_is_the_same_wherever_the_ca_writes_it() {
    let address = |text: &str| Identifier::Ip(text.parse().unwrap());
    let fake = Fake::start(|fake, seen| {
        let mapped = json!({"type": "ip", "value": "::ffff:192.0.2.5"});
        let (mut authorization, mut order) =
            (authorization_json(fake), order_json(fake, "pending"));
        authorization["identifier"] = mapped.clone();
        authorization["wildcard"] = json!(false);
        order["identifiers"] = json!([mapped]);
        match seen.path.as_str() {
            "/authz/1" => Some(Reply::json(200, &authorization)),
            "/new-order" => Some(Reply::json(201, &order).with("Location", fake.url("/order/1"))),
            _ => good(fake, seen),
        }
    })
    .await;
    let session = session(&fake);
    let identifiers = vec![address("192.0.2.5")];
    let new = NewOrder { identifiers: identifiers.clone(), ..new_order() };
    assert_eq!(session.new_order(&new).await.unwrap().identifiers, identifiers);
    let seen = session.authorization(&fake.url("/authz/1")).await.unwrap();
    assert_eq!(seen.identifier, address("192.0.2.5"));
}

#[tokio::test]
async fn an_order_names_each_authorization_once_and_no_more_than_its_names_need() {
    let fake = Fake::start(|fake, seen| {
        let count = match seen.path.as_str() {
            "/order/1" => 1,
            "/order/2" => 100,
            "/order/3" => 101,
            _ => return None,
        };
        let mut order = order_json(fake, "pending");
        let urls = (0..count).map(|number| fake.url(&format!("/authz/{number}")));
        order["authorizations"] = urls.flat_map(|url| vec![url; 3]).collect();
        Some(Reply::json(200, &order))
    })
    .await;
    let session = session(&fake);
    let one = session.order(&fake.url("/order/1")).await.unwrap();
    assert_eq!(one.authorizations, [fake.url("/authz/0")]);
    let most = session.order(&fake.url("/order/2")).await.unwrap();
    assert_eq!(most.authorizations.len(), 100);
    let error = session.order(&fake.url("/order/3")).await.unwrap_err();
    let why = "the order has 101 authorizations, more than 100".to_owned();
    assert_eq!(error, AcmeError::Malformed { url: fake.url("/order/3"), why });
}
