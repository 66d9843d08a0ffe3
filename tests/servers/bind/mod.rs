//! `rfc2136` against BIND 9: the provider alone, and the binary with a Pebble that queries BIND.

mod caching;
mod check;
mod issuing;
mod sharing;

use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;

use certctl::engine::ports::{Clock as _, SystemClock};
use certctl::resource::dns01::Rfc2136;
use certctl::resource::{Dns01Provider, SecretKeySelector};
use certctl::solver::dns01::{Api, Context, DnsProvider, TxtRecord, open};
use zeroize::Zeroizing;

use crate::bind_support::{ALGORITHMS, Bind, SECRET, key_of};
use crate::pebble_support::block_on;

const CERTCTL: &str = env!("CARGO_BIN_EXE_certctl");
const NAME: &str = "_acme-challenge.example.test";

#[test]
fn single_values_come_and_go_with_every_algorithm_over_both_transports() {
    let bind = Bind::start();
    let keyed = ALGORITHMS.map(|(algorithm, _)| ("example.test", key_of(algorithm), algorithm));
    let without = [("open.test", String::new(), "")];
    for (zone, key, algorithm) in keyed.into_iter().chain(without) {
        let before = bind.zone(zone);
        for protocol in ["", "TCP"] {
            let provider = Settings {
                key: &key,
                algorithm: &algorithm.to_lowercase(),
                protocol,
                ..Settings::of(&bind)
            };
            comes_and_goes(&bind, zone, &*provider.open().unwrap());
            assert_eq!(bind.zone(zone), before, "{algorithm} {protocol}");
        }
    }
}

/// A value beside a foreign one, then a second; both again; each taken away, and again.
fn comes_and_goes(bind: &Bind, zone: &str, provider: &dyn DnsProvider) {
    let name = format!("_acme-challenge.{zone}");
    let (one, two) = (record(zone, &name, 'a'), record(zone, &name, 'b'));
    let foreign = || (3600, "foreign".to_owned());
    let there = |values: &[&TxtRecord]| {
        let ours = values.iter().map(|record| (3600, record.value.clone()));
        let mut all: Vec<_> = ours.chain([foreign()]).collect();
        all.sort();
        assert_eq!(bind.values(&name), all);
    };
    there(&[]);
    for present in [&one, &two, &one] {
        block_on(provider.present(present)).unwrap();
    }
    there(&[&one, &two]);
    block_on(provider.clean_up(&one)).unwrap();
    there(&[&two]);
    for clean_up in [&one, &two, &two] {
        block_on(provider.clean_up(clean_up)).unwrap();
    }
    there(&[]);
}

#[test]
fn what_bind_says_of_a_signature_is_said() {
    let bind = Bind::start();
    let at = bind.address;
    let fine =
        Settings { key: &key_of("HMACSHA256"), algorithm: "HMACSHA256", ..Settings::of(&bind) };
    let md5 = Settings { key: &key_of("HMACMD5"), ..Settings::of(&bind) };
    let key = "`certctl-hmacsha256.test` (hmac-sha256)";
    let place = format!("{NAME} in the zone example.test");
    let cases = [
        (
            Settings { secret: "d3Jvbmc=", ..fine },
            "example.test",
            format!(
                "{at} refuses the credentials: BADSIG: wrong TSIG secret for the key {key}; \
                 record {place}"
            ),
        ),
        (
            Settings { key: "nobody", ..fine },
            "example.test",
            format!(
                "{at} refuses the credentials: BADKEY: it has no key `nobody` (hmac-sha256); \
                 record {place}"
            ),
        ),
        (
            Settings { algorithm: "HMACSHA512", ..fine },
            "example.test",
            format!(
                "{at} refuses the credentials: BADKEY: it has no key `certctl-hmacsha256.test` \
                 (hmac-sha512); record {place}"
            ),
        ),
        (
            Settings { seconds_ahead: -1000, ..fine },
            "example.test",
            format!(
                "{at} answered BADTIME: its clock is 1000 s ahead of this machine's, and \
                 signatures hold for 300 s; record {place}"
            ),
        ),
        (
            Settings { seconds_ahead: 1000, ..md5 },
            "example.test",
            format!(
                "{at} answered BADTIME: its clock is 1000 s behind this machine's, and \
                 signatures hold for 300 s; record {place}"
            ),
        ),
    ];
    refused(&bind, &cases);
}

#[test]
fn what_bind_does_not_let_happen_is_said() {
    let bind = Bind::start();
    let at = bind.address;
    let key = key_of("HMACSHA256");
    let fine = Settings { key: &key, algorithm: "HMACSHA256", ..Settings::of(&bind) };
    let key = "`certctl-hmacsha256.test` (hmac-sha256)";
    let place = format!("{NAME} in the zone example.test");
    let cases = [
        (
            fine,
            "foreign.test",
            format!(
                "{at} has no zone for {NAME}: NOTAUTH: it is not authoritative for the zone \
                 foreign.test"
            ),
        ),
        (
            Settings { key: "", ..fine },
            "open.test",
            format!("{at} has no zone for {NAME}: NOTZONE: that is not in the zone open.test"),
        ),
        (
            fine,
            "alias.test",
            format!(
                "{at} answered REFUSED: the key {key} may not change {NAME} in the \
                 zone alias.test"
            ),
        ),
        (
            Settings { key: "", ..fine },
            "example.test",
            format!("{at} answered REFUSED: requests without a key may not change {place}"),
        ),
    ];
    refused(&bind, &cases);
}

/// Every case is refused over both transports, with these words, and nothing has changed.
fn refused(bind: &Bind, cases: &[(Settings<'_>, &str, String)]) {
    let before = bind.zone("example.test");
    for (settings, zone, expected) in cases {
        for protocol in ["UDP", "TCP"] {
            let provider = Settings { protocol, ..*settings }.open().unwrap();
            let error = block_on(provider.present(&record(zone, NAME, 'a'))).unwrap_err();
            // The two clocks are read one after the other.
            let said = error.to_string().replace(" 999 s", " 1000 s").replace(" 1001 s", " 1000 s");
            assert_eq!(said, *expected);
        }
    }
    assert_eq!(bind.zone("example.test"), before);
}

#[test]
fn a_check_tells_an_authoritative_server_that_knows_the_key() {
    let bind = Bind::start();
    let at = bind.address;
    let key = key_of("HMACMD5");
    let known = Settings { key: &key, ..Settings::of(&bind) };
    let check = |settings: Settings<'_>, zone| {
        block_on(settings.open().unwrap().check(&format!("_acme-challenge.{zone}"), zone))
            .unwrap_or_else(|error| error.to_string())
    };
    assert_eq!(
        check(known, "example.test"),
        format!(
            "{at} is authoritative for the zone example.test (serial 1); it knows the key \
             `certctl-hmacmd5.test` (hmac-md5.sig-alg.reg.int)"
        )
    );
    assert_eq!(
        check(Settings { key: "", ..known }, "example.test"),
        format!("{at} is authoritative for the zone example.test (serial 1); no key is used")
    );
    assert_eq!(
        check(known, "foreign.test"),
        format!(
            "{at} has no zone for _acme-challenge.foreign.test: it has no zone foreign.test; . \
             is above it"
        )
    );
    assert_eq!(
        check(Settings { secret: "d3Jvbmc=", ..known }, "example.test"),
        format!(
            "{at} refuses the credentials: BADSIG: wrong TSIG secret for the key \
             `certctl-hmacmd5.test` (hmac-md5.sig-alg.reg.int); record \
             _acme-challenge.example.test in the zone example.test"
        )
    );
}

#[test]
fn the_server_may_be_named_by_its_host() {
    let bind = Bind::start();
    let server = format!("ns.example.test:{}", bind.address.port());
    let settings = Settings { server: &server, ..Settings::of(&bind) };
    let before = bind.zone("open.test");
    comes_and_goes(&bind, "open.test", &*settings.open().unwrap());
    assert_eq!(bind.zone("open.test"), before);
}

/// A provider's settings, and the clock it lives by.
#[derive(Clone, Copy)]
struct Settings<'a> {
    server: &'a str,
    key: &'a str,
    algorithm: &'a str,
    secret: &'a str,
    protocol: &'a str,
    seconds_ahead: i64,
}

impl Settings<'_> {
    /// No key, UDP, the machine's clock.
    fn of(bind: &Bind) -> Self {
        let server = bind.address.to_string().leak();
        let (key, algorithm, protocol) = ("", "", "");
        Self { server, key, algorithm, secret: SECRET, protocol, seconds_ahead: 0 }
    }

    fn open(self) -> Result<Box<dyn DnsProvider>, certctl::solver::dns01::ProviderError> {
        let selector = SecretKeySelector { name: "tsig".to_owned(), key: "secret".to_owned() };
        let provider = Dns01Provider::Rfc2136(Rfc2136 {
            nameserver: self.server.to_owned(),
            tsig_secret_secret_ref: (!self.key.is_empty()).then_some(selector),
            tsig_key_name: self.key.to_owned(),
            tsig_algorithm: self.algorithm.to_owned(),
            protocol: self.protocol.to_owned(),
        });
        let ahead = jiff::SignedDuration::from_secs(self.seconds_ahead);
        open(
            &provider,
            &Context {
                secret: &|_| Ok(Zeroizing::new(format!("{}\n", self.secret).into_bytes())),
                environment: &|_| None,
                allow_ambient: false,
                namespace: "default",
                solvers_dir: Path::new("/nonexistent"),
                api: Rc::new(Api::new("tests".to_owned(), Box::new(|| Err("none".to_owned())))),
                lookup: Rc::new(|host| {
                    assert_eq!(host, "ns.example.test");
                    Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
                }),
                now: Rc::new(move || SystemClock.now() + ahead),
            },
        )
    }
}

fn record(zone: &str, name: &str, letter: char) -> TxtRecord {
    let value: String = std::iter::repeat_n(letter, 43).collect();
    let domain = name.strip_prefix("_acme-challenge.").unwrap().to_owned();
    TxtRecord { domain, name: name.to_owned(), zone: zone.to_owned(), value }
}
