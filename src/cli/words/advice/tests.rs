use std::sync::LazyLock;

use clap::Parser as _;

use super::*;
use crate::cli::args::Arguments;
use crate::cli::golden::golden;
use crate::cli::words::fix::worded;

static WEB: LazyLock<NamespacedName> = LazyLock::new(|| NamespacedName::new("default", "web"));

fn subject() -> Subject<'static> {
    Subject {
        certificate: Some(&WEB),
        issuer: "le",
        name: "www.example.com",
        proof: None,
        is_registration: false,
    }
}

fn subjects() -> [(&'static str, Subject<'static>); 4] {
    [
        ("", subject()),
        (" (newAccount)", Subject { is_registration: true, ..subject() }),
        (" (http-01)", Subject { proof: Some(&ChallengeType::Http01), ..subject() }),
        (" (dns-01)", Subject { proof: Some(&ChallengeType::Dns01), ..subject() }),
    ]
}

/// Everything that is said of a kind, however the name was to be proven.
fn texts(kind: &str) -> String {
    let mut text = String::new();
    let mut before = None;
    for (word, subject) in subjects() {
        let advice = of_problem(kind, &subject);
        if advice == before {
            continue;
        }
        if let Some(Advice { cause, remedy, fix }) = &advice {
            let command = fix.as_ref().map_or_else(|| "-".to_owned(), worded);
            text = format!("{text}{kind}{word}\n  {cause}\n  {remedy}\n  {command}\n");
        }
        before = advice;
    }
    text
}

#[test]
fn each_kind_of_refusal_has_its_cause_and_what_to_do() {
    let mut kinds: Vec<&str> = ROWS.iter().map(|row| row.kind).collect();
    kinds.dedup();
    let text: String = kinds.iter().map(|kind| texts(kind)).collect();
    golden("words/advice/causes.txt", &text);
}

#[test]
fn what_rfc_8555_names_and_a_person_can_act_on_is_known() {
    for kind in [
        "accountDoesNotExist",
        "badCSR",
        "badPublicKey",
        "badSignatureAlgorithm",
        "caa",
        "compound",
        "connection",
        "dns",
        "externalAccountRequired",
        "incorrectResponse",
        "invalidContact",
        "invalidProfile",
        "malformed",
        "orderNotReady",
        "rateLimited",
        "paused",
        "rejectedIdentifier",
        "serverInternal",
        "tls",
        "unauthorized",
        "unsupportedContact",
        "unsupportedIdentifier",
        "userActionRequired",
    ] {
        for (word, subject) in subjects() {
            assert!(of_problem(kind, &subject).is_some(), "{kind}{word}");
        }
    }
    assert_eq!(of_problem("somethingNew", &subject()), None);
    assert_eq!(of_problem("", &subject()), None);
}

#[test]
fn the_commands_that_are_advised_are_commands() {
    let mut advised = Vec::new();
    for row in ROWS {
        for (_, subject) in subjects() {
            let advice = of_problem(row.kind, &subject);
            let Advice { cause, remedy, fix } = advice.unwrap();
            advised.extend(fix.as_ref().map(worded));
            for text in [cause, remedy] {
                let commands = text.split("certctl ").skip(1).map(|rest| {
                    let end = rest.find([')', ';', ',']).unwrap_or(rest.len());
                    let words = rest[..end].split(' ').take_while(|word| {
                        word.starts_with("--")
                            || [
                                "account", "check", "acme", "register", "rehearse", "renew", "web",
                                "le",
                            ]
                            .contains(word)
                    });
                    let words: Vec<&str> = words.collect();
                    format!("certctl {}", words.join(" "))
                });
                advised.extend(commands.filter(|line| line != "certctl "));
            }
        }
    }
    for check in [ChallengeType::Http01, ChallengeType::Dns01] {
        advised.extend(check_of(&check, "www.example.com").as_ref().map(worded));
    }
    for class in [FailureClass::Unreachable, FailureClass::State] {
        advised.extend(of_class(class, &subject()).unwrap().fix.as_ref().map(worded));
    }
    for line in advised {
        assert!(Arguments::try_parse_from(line.split(' ')).is_ok(), "{line}");
    }
}

#[test]
fn the_time_of_a_limit_is_read_from_the_detail() {
    let end: Timestamp = "2026-11-21T05:40:00Z".parse().unwrap();
    for (detail, time) in [
        (
            "too many certificates (5) already issued: retry after 2026-11-21 05:40:00 UTC: see https://x",
            Some(end),
        ),
        ("too many, retry after 2026-11-21T05:40:00Z.", Some(end)),
        ("retry after 2026-11-21 05:40:00 CET", None),
        ("retry after an hour", None),
        ("retry after", None),
        ("retry after ", None),
        ("too many", None),
    ] {
        assert_eq!(retry_time(detail), time, "{detail}");
    }
}
