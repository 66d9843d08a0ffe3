//! What was spent of the limits that a CA publishes, and whether one more order fits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Account, AccountLimits, base_of, host_of, lets_encrypt};

/// What a CA limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Limit {
    /// New accounts of this host.
    Accounts,
    /// New orders of the account, except renewals.
    Orders,
    /// Certificates for names of one registered domain, except renewals.
    CertificatesPerDomain,
    /// Certificates for exactly the same names.
    CertificatesPerSet,
    /// Failed validations of one name.
    FailedValidations,
}

/// The published limits of a CA: each so many within a time, refilled evenly (a token bucket).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishedLimits {
    /// The host of the CA's URLs.
    pub host: &'static str,
    pub limits: &'static [(Limit, i32, SignedDuration)],
}

impl PublishedLimits {
    /// Those of the CA of `server`, if it publishes any.
    pub fn of<'a>(published: &'a [Self], server: &str) -> Option<&'a Self> {
        published.iter().find(|limits| limits.host == host_of(server))
    }
}

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const THREE_HOURS: SignedDuration = SignedDuration::from_hours(3);
const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The limits that CAs publish. Those of Let's Encrypt as of 2026-08-05, from
/// <https://letsencrypt.org/docs/rate-limits/> and <https://letsencrypt.org/docs/staging-environment/>;
/// limits beyond what one host can reach are left out.
pub const PUBLISHED: &[PublishedLimits] = &[
    PublishedLimits {
        host: lets_encrypt::PRODUCTION_HOST,
        limits: &[
            (Limit::Accounts, 10, THREE_HOURS),
            (Limit::Orders, 300, THREE_HOURS),
            (Limit::CertificatesPerDomain, 50, WEEK),
            (Limit::CertificatesPerSet, 5, WEEK),
            (Limit::FailedValidations, 5, HOUR),
        ],
    },
    PublishedLimits {
        host: lets_encrypt::STAGING_HOST,
        limits: &[
            (Limit::Accounts, 50, THREE_HOURS),
            (Limit::Orders, 1500, THREE_HOURS),
            (Limit::CertificatesPerSet, 30_000, WEEK),
            (Limit::FailedValidations, 200, HOUR),
        ],
    },
];

/// A line of `issuance.log`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Issuance {
    #[schemars(with = "crate::resource::DateTime")]
    pub time: Timestamp,
    pub certificate: String,
    pub revision: u32,
    pub serial: String,
    pub sha256: String,
    pub names: Vec<String>,
    pub account: String,
    pub uid: u32,
    pub verb: String,
    /// Whether the certificate renewed one for the same names.
    pub renewal: bool,
    /// Whether the CA's limits did not apply to it: ARI (RFC 9773) asked for the renewal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exempt: bool,
}

/// What an order spends.
#[derive(Clone, Copy, Debug)]
pub struct Spending<'a> {
    /// The names, sorted.
    pub names: &'a [String],
    /// The live certificate is of the same CA, for the same names.
    pub renews: bool,
    /// The account is not registered yet.
    pub registers: bool,
    /// ARI (RFC 9773) asks for the renewal: it spends nothing.
    pub exempt: bool,
}

/// How far one limit is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    pub limit: Limit,
    /// The domain or the name; empty for a limit that has neither.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// How many are in use, with the order in question if it fits now.
    pub used: i32,
    pub most: i32,
    /// Until all of them are free again, when all are used.
    #[serde(skip)]
    pub period: SignedDuration,
    /// When the order in question fits.
    #[schemars(with = "crate::resource::DateTime")]
    pub fits_at: Timestamp,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.used, self.most)?;
        match self.limit {
            Limit::Accounts => f.write_str(" new accounts")?,
            Limit::Orders => f.write_str(" new orders")?,
            Limit::FailedValidations => f.write_str(" failed validations")?,
            Limit::CertificatesPerDomain | Limit::CertificatesPerSet => {}
        }
        match self.period {
            WEEK => f.write_str(" this week")?,
            HOUR => f.write_str(" this hour")?,
            period => write!(f, " in {}h", period.as_hours())?,
        }
        match self.limit {
            Limit::Accounts | Limit::Orders => Ok(()),
            Limit::CertificatesPerSet => f.write_str(" for exactly these names"),
            Limit::CertificatesPerDomain | Limit::FailedValidations => {
                write!(f, " for {}", self.of)
            }
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Ledger {
    limits: &'static [(Limit, i32, SignedDuration)],
    /// When all that was spent of each limit is back.
    full: BTreeMap<(Limit, String), Timestamp>,
    /// The sets of names that the CA issued for.
    issued: BTreeSet<Vec<String>>,
    /// An order that registers the account has its place: the others need no other account.
    registers: bool,
}

impl Ledger {
    /// The ledger of an account at a CA, from the issuances and registrations of this host. A time
    /// after `now` is of a clock that was ahead, and spends nothing.
    pub fn new(
        published: &PublishedLimits,
        account: Option<&str>,
        accounts: &[Account],
        log: &[Issuance],
        known: &AccountLimits,
        now: Timestamp,
    ) -> Self {
        let PublishedLimits { host, limits } = *published;
        let mut ledger =
            Self { limits, full: BTreeMap::new(), issued: BTreeSet::new(), registers: false };
        let here = accounts.iter().filter(|other| host_of(&other.identity.directory_url) == host);
        let mut registered: Vec<_> =
            here.filter_map(|other| other.registered_at.filter(|at| *at <= now)).collect();
        registered.sort_unstable();
        for at in registered {
            ledger.spend((Limit::Accounts, String::new()), at);
        }
        for line in log.iter().filter(|line| host_of(&line.account) == host) {
            let mut names = line.names.clone();
            names.sort_unstable();
            let (renews, exempt) = (line.renewal, line.exempt);
            let spending = Spending { names: &names, renews, registers: false, exempt };
            let is_ours = Some(line.account.as_str()) == account;
            for (limit, of) in ledger.keys(spending) {
                if line.time <= now && (is_ours || limit != Limit::Orders) {
                    ledger.spend((limit, of), line.time);
                }
            }
            ledger.issued.insert(names);
        }
        for failed in known.failed_validations.iter().filter(|failed| failed.at <= now) {
            ledger.spend((Limit::FailedValidations, failed.name.clone()), failed.at);
        }
        ledger
    }

    /// How far the limits are used that an order would spend, or that refuse it, at `now`.
    pub fn spent(&self, spending: Spending<'_>, now: Timestamp) -> Vec<Spent> {
        if spending.exempt {
            return Vec::new();
        }
        let names = spending.names.iter();
        let failed = names.map(|name| (Limit::FailedValidations, base_of(name).to_owned()));
        let failed = failed.filter(|key| self.full.contains_key(key));
        let keys: BTreeSet<_> = self.keys(spending).into_iter().chain(failed).collect();
        keys.into_iter().filter_map(|key| self.spent_of(key, now)).collect()
    }

    /// Spends the limits at the first time from `now` on at which an order fits, and returns that
    /// time, with the limit that delays it.
    pub fn reserve(
        &mut self,
        spending: Spending<'_>,
        now: Timestamp,
    ) -> (Timestamp, Option<Spent>) {
        let last = self.spent(spending, now).into_iter().max_by_key(|spent| spent.fits_at);
        let at = last.as_ref().map_or(now, |spent| spent.fits_at);
        for key in self.keys(spending) {
            // An order that waits takes its place in what delays it; of the rest, orders that fit
            // before it may take all.
            let fits_at = self.spent_of(key.clone(), now).map_or(now, |spent| spent.fits_at);
            if fits_at == at {
                self.registers |= key.0 == Limit::Accounts;
                self.spend(key, at);
            }
        }
        (at, last.filter(|_| at > now))
    }

    /// The limits that an order spends.
    fn keys(&self, spending: Spending<'_>) -> Vec<(Limit, String)> {
        let Spending { names, renews, registers, exempt } = spending;
        if exempt {
            return Vec::new();
        }
        let mut keys = vec![(Limit::CertificatesPerSet, names.join(" "))];
        if !renews && !self.issued.contains(names) {
            keys.push((Limit::Orders, String::new()));
            let domains: BTreeSet<String> = names.iter().map(|name| registered(name)).collect();
            keys.extend(domains.into_iter().map(|of| (Limit::CertificatesPerDomain, of)));
        }
        keys.extend((registers && !self.registers).then(|| (Limit::Accounts, String::new())));
        keys
    }

    /// Takes a token out of a bucket, which is full again one token's time later.
    fn spend(&mut self, key: (Limit, String), at: Timestamp) {
        let Some((.., one)) = self.bucket(key.0) else { return };
        let full = self.full.entry(key).or_insert(at);
        *full = (*full).max(at).saturating_add(one).unwrap_or(*full);
    }

    /// The tokens of a bucket, the time in which all come back, and that of one.
    fn bucket(&self, limit: Limit) -> Option<(i32, SignedDuration, SignedDuration)> {
        let (_, most, period) = *self.limits.iter().find(|(known, ..)| *known == limit)?;
        Some((most, period, period.checked_div(most)?))
    }

    fn spent_of(&self, (limit, of): (Limit, String), now: Timestamp) -> Option<Spent> {
        let (most, period, one) = self.bucket(limit)?;
        let full = self.full.get(&(limit, of.clone())).copied().unwrap_or(now);
        let fits_at =
            full.checked_add(one).and_then(|full| full.checked_sub(period)).ok()?.max(now);
        let ahead = now.duration_until(full).as_nanos().max(0);
        let used = i32::try_from((ahead + one.as_nanos() - 1) / one.as_nanos()).ok()?;
        let counts = i32::from(limit != Limit::FailedValidations && fits_at == now);
        let of = if limit == Limit::CertificatesPerSet { String::new() } else { of };
        Some(Spent { limit, of, used: (used + counts).min(most), most, period, fits_at })
    }
}

/// The registered domain of a name, by the public-suffix list; an IPv4 address itself, and the /64
/// of an IPv6 address.
fn registered(name: &str) -> String {
    match name.parse() {
        Ok(IpAddr::V4(address)) => address.to_string(),
        Ok(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
        Err(_) => {
            let name = base_of(name);
            psl::domain_str(name).unwrap_or(name).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{AccountIdentity, FailedValidation};
    use crate::store::samples;

    const SERVER: &str = "https://acme-v02.api.letsencrypt.org/directory";
    const ACCOUNT: &str = "https://acme-v02.api.letsencrypt.org/acme/acct/1";

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    fn line(minutes: i64, names: &[&str], account: &str) -> Issuance {
        Issuance {
            time: at(minutes),
            certificate: "default/web".to_owned(),
            revision: 1,
            serial: String::new(),
            sha256: String::new(),
            names: names.iter().map(ToString::to_string).collect(),
            account: account.to_owned(),
            uid: 0,
            verb: "issue".to_owned(),
            renewal: false,
            exempt: false,
        }
    }

    fn ledger(log: &[Issuance], now: Timestamp) -> Ledger {
        let published = PublishedLimits::of(PUBLISHED, SERVER).unwrap();
        Ledger::new(published, Some(ACCOUNT), &[], log, &AccountLimits::default(), now)
    }

    fn messages(ledger: &Ledger, names: &[&str], renews: bool, now: Timestamp) -> Vec<String> {
        let mut names: Vec<String> = names.iter().map(ToString::to_string).collect();
        names.sort_unstable();
        let spending = Spending { names: &names, renews, registers: false, exempt: false };
        ledger.spent(spending, now).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_new_certificate_spends_orders_domains_and_its_set() {
        let log = [
            line(0, &["a.example.co.uk"], ACCOUNT),
            // A renewal spends its set alone.
            line(1, &["a.example.co.uk"], ACCOUNT),
            // Domains and sets are of all accounts, orders of one.
            line(
                2,
                &["b.example.co.uk", "x.github.io", "192.0.2.7"],
                "https://acme-v02.api.letsencrypt.org/acme/acct/2",
            ),
            // Another CA.
            line(3, &["c.example.co.uk"], "https://acme.zerossl.com/account/1"),
        ];
        let ledger = ledger(&log, at(4));
        assert_eq!(
            messages(&ledger, &["*.example.co.uk", "y.github.io"], false, at(4)),
            [
                "1 of 300 new orders in 3h",
                "3 of 50 this week for example.co.uk",
                "1 of 50 this week for y.github.io",
                "1 of 5 this week for exactly these names",
            ]
        );
        let renewal = ["3 of 5 this week for exactly these names"];
        assert_eq!(messages(&ledger, &["a.example.co.uk"], false, at(4)), renewal);
        let adopted = ["1 of 5 this week for exactly these names"];
        assert_eq!(messages(&ledger, &["new.example.co.uk"], true, at(4)), adopted);
    }

    #[test]
    fn a_bucket_refills_evenly() {
        let log: Vec<_> = (0..5).map(|n| line(n, &["example.com"], ACCOUNT)).collect();
        let names = ["example.com".to_owned()];
        let spending = Spending { names: &names, renews: true, registers: false, exempt: false };
        let full = |now| {
            let usage = ledger(&log, now).spent(spending, now).remove(0);
            (usage.used, usage.fits_at)
        };
        // A fifth of a week after the first one.
        let fifth = at(7 * 24 * 60 / 5);
        assert_eq!(full(at(5)), (5, fifth));
        assert_eq!(full(fifth), (5, fifth));
        let minute = SignedDuration::from_mins(1);
        assert_eq!(full(fifth - minute), (5, fifth));
        assert_eq!(full(at(3 * 7 * 24 * 60)), (1, at(3 * 7 * 24 * 60)));
        let mut ledger = ledger(&log, fifth);
        assert_eq!(ledger.reserve(spending, fifth), (fifth, None));
        let (next, why) = ledger.reserve(spending, fifth);
        assert_eq!((next, why.map(|why| why.used)), (at(2 * 7 * 24 * 60 / 5), Some(5)));
        // Each further one waits for its own token.
        assert_eq!(ledger.reserve(spending, fifth).0, at(3 * 7 * 24 * 60 / 5));
    }

    #[test]
    fn failed_validations_and_accounts_are_limited_too() {
        let failed = |minutes| FailedValidation { name: "example.com".to_owned(), at: at(minutes) };
        let known = AccountLimits {
            failed_validations: (0..5).map(failed).collect(),
            ..Default::default()
        };
        let account = |minutes| Account {
            registered_at: Some(at(minutes)),
            identity: AccountIdentity {
                directory_url: SERVER.to_owned(),
                ..samples::account().identity
            },
            ..samples::account()
        };
        let accounts: Vec<_> = (0..10).map(account).collect();
        let published = PublishedLimits::of(PUBLISHED, SERVER).unwrap();
        let mut ledger = Ledger::new(published, None, &accounts, &[], &known, at(10));
        let names = ["*.example.com".to_owned()];
        let spending = Spending { names: &names, renews: true, registers: true, exempt: false };
        let messages: Vec<_> =
            ledger.spent(spending, at(10)).iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "10 of 10 new accounts in 3h",
                "1 of 5 this week for exactly these names",
                "5 of 5 failed validations this hour for example.com",
            ]
        );
        let fits: Vec<_> = ledger.spent(spending, at(10)).iter().map(|u| u.fits_at).collect();
        assert_eq!(fits, [at(18), at(10), at(12)]);
        let free = |now| ledger.spent(spending, now).iter().all(|spent| spent.fits_at == now);
        assert!(!free(at(17)) && free(at(18)));
        // One registration is for all certificates of the account.
        let names = ["example.org".to_owned()];
        let spending = Spending { names: &names, renews: true, registers: true, exempt: false };
        assert_eq!(ledger.reserve(spending, at(10)).0, at(18));
        assert_eq!(ledger.reserve(spending, at(10)), (at(10), None));
    }

    #[test]
    fn a_certificate_that_waits_for_one_limit_spends_no_other_limit() {
        let name = |n: i64| format!("n{n}.example.com");
        let log: Vec<_> = (0..50).map(|n| line(n, &[&name(n)], ACCOUNT)).collect();
        let mut ledger = ledger(&log, at(50));
        let reserve = |ledger: &mut Ledger, name: &str| {
            let names = [name.to_owned()];
            let spending =
                Spending { names: &names, renews: false, registers: true, exempt: false };
            ledger.reserve(spending, at(50)).0
        };
        let one = 7 * 24 * 60 * 60 / 50;
        let fits = |n: i32| at(0) + SignedDuration::from_secs(one) * n;
        assert_eq!(reserve(&mut ledger, "a.example.com"), fits(1));
        assert_eq!(reserve(&mut ledger, "b.example.com"), fits(2));
        assert_eq!(reserve(&mut ledger, "example.org"), at(50));
        let names = ["example.net".to_owned()];
        let spending = Spending { names: &names, renews: false, registers: true, exempt: false };
        let messages: Vec<_> =
            ledger.spent(spending, at(50)).iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "2 of 300 new orders in 3h",
                "1 of 50 this week for example.net",
                "1 of 5 this week for exactly these names",
            ]
        );
    }

    #[test]
    fn what_a_clock_ahead_left_behind_is_not_spent() {
        let server = SERVER.to_owned();
        let identity = AccountIdentity { directory_url: server, ..samples::account().identity };
        let registered_at = Some(at(60));
        let account = Account { identity, registered_at, ..samples::account() };
        let log = [line(60, &["example.com"], ACCOUNT)];
        let mut known = AccountLimits::default();
        known.add_failed(["example.com".to_owned()], at(60));
        let published = PublishedLimits::of(PUBLISHED, SERVER).unwrap();
        let ledger = Ledger::new(published, Some(ACCOUNT), &[account], &log, &known, at(59));
        let names = ["example.com".to_owned()];
        let spending = Spending { names: &names, renews: false, registers: true, exempt: false };
        let messages: Vec<_> =
            ledger.spent(spending, at(59)).iter().map(ToString::to_string).collect();
        // That it was issued stays true.
        let expected = ["1 of 10 new accounts in 3h", "1 of 5 this week for exactly these names"];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_ca_that_publishes_nothing_has_no_ledger() {
        assert_eq!(PublishedLimits::of(PUBLISHED, "https://acme.zerossl.com/v2/DV90"), None);
    }

    #[test]
    fn addresses_are_their_own_domains() {
        let cases = [
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
            ("a.b.example.co.uk", "example.co.uk"),
            ("com", "com"),
            ("nas.intern", "nas.intern"),
        ];
        for (name, expected) in cases {
            assert_eq!(registered(name), expected);
        }
    }
}
