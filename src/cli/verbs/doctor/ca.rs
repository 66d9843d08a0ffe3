//! The clock against that of the CAs of the Issuers, these CAs, and the accounts there.

use std::collections::BTreeSet;

use crate::cli::short;
use crate::cli::verbs::check::{account_line, clock_line, refusal, roots_end};
use crate::resource::{AccountIdentity, Check, Finding, Fix, Issuer, Obstacle, Schedule};
use crate::workspace::check::{AccountState, CaCheck, Known};

/// Checks the clock, each CA, and the accounts there.
pub(super) async fn cas(known: &Known) -> Vec<Finding> {
    let mut found = Vec::new();
    let (mut accounts, mut servers, mut down) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut clocks = Vec::new();
    for issuer in &known.targets.loaded.issuers {
        let server = &issuer.acme.server;
        let AccountIdentity { namespace, secret_name, .. } = AccountIdentity::of(issuer);
        let profile = &issuer.acme.profile;
        // A CA that does not answer is not asked again.
        if down.contains(server) || !accounts.insert((server, namespace, secret_name, profile)) {
            continue;
        }
        let checked = CaCheck::of(known, issuer).await;
        if checked.directory.is_err() {
            down.insert(server);
        }
        clocks.extend(checked.clock_skew().zip(clock_line(&checked)));
        let is_new = servers.insert(server);
        match refusal(&checked) {
            Some(why) => found.push(refused(issuer, &why)),
            None if is_new => found.push(Finding::well("CA", answers(issuer))),
            None => {}
        }
        found.extend(checked.account.as_ref().map(|state| account(issuer, state)));
    }
    // The CA whose clock is nearest is the one to believe.
    let nearest = clocks.into_iter().min_by_key(|(ahead, _)| ahead.unsigned_abs());
    let clock = nearest.map(|(ahead, fact)| clock(ahead, fact));
    clock.into_iter().chain(found).collect()
}

fn answers(issuer: &Issuer) -> String {
    let end = roots_end(issuer);
    let end = end.map(|end| format!("; caBundle is valid until {}", end.strftime("%F")));
    format!("{} answers{}", issuer.acme.server, end.unwrap_or_default())
}

fn refused(issuer: &Issuer, why: &str) -> Finding {
    let check = Check::Acme(short(&issuer.metadata.key()));
    Finding::wrong("CA", Obstacle::new(why).with(Fix::Check(check)))
}

fn account(issuer: &Issuer, state: &AccountState) -> Finding {
    let name = short(&issuer.metadata.key());
    let fact = format!("{} {name}: {}", issuer.kind, account_line(state));
    if state.is_well() {
        return Finding::well("account", fact);
    }
    Finding::wrong("account", Obstacle::new(fact).with(Fix::Check(Check::Account(name))))
}

fn clock(ahead: i64, fact: String) -> Finding {
    let obstacle = || Obstacle::new(&fact).with(Fix::Schedule(Schedule::SetClock));
    match ahead.unsigned_abs() {
        0..=UNSEEN => Finding::well("clock", fact),
        seconds if seconds <= HARMLESS => Finding::warning("clock", obstacle()),
        _ => Finding::wrong("clock", obstacle()),
    }
}

/// A difference that the whole seconds of the header hide.
const UNSEEN: u64 = 2;
/// Less than this is no cause of a failure.
const HARMLESS: u64 = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Severity;

    #[test]
    fn a_clock_is_wrong_from_five_minutes_on() {
        for (ahead, verdict) in [
            (0, Severity::Well),
            (-2, Severity::Well),
            (3, Severity::Warning),
            (-300, Severity::Warning),
            (301, Severity::Wrong),
            (i64::MIN, Severity::Wrong),
        ] {
            let found = clock(ahead, "behind".to_owned());
            assert_eq!((found.severity, found.fix.is_some()), (verdict, verdict != Severity::Well));
        }
    }
}
