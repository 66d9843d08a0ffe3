//! The clock against that of the CAs of the Issuers, these CAs, and the accounts there.

use std::collections::BTreeSet;

use super::finding::Finding;
use crate::cli::render::report::short;
use crate::cli::verbs::check::{account_line, clock_line, refusal, roots_end};
use crate::resource::{AccountIdentity, Issuer, Obstacle};
use crate::workspace::check::{AccountState, CaCheck, Known};

/// One clock, each CA, and the accounts there.
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
    let line = format!("certctl check acme {}", short(&issuer.metadata.key()));
    Finding::wrong("CA", Obstacle::new(why).certctl(line))
}

fn account(issuer: &Issuer, state: &AccountState) -> Finding {
    let name = short(&issuer.metadata.key());
    let fact = format!("{} {name}: {}", issuer.kind, account_line(state));
    if state.is_well() {
        return Finding::well("account", fact);
    }
    let line = format!("certctl account show {name}");
    Finding::wrong("account", Obstacle::new(fact).certctl(line))
}

fn clock(ahead: i64, fact: String) -> Finding {
    let obstacle = || Obstacle::new(&fact).command("timedatectl set-ntp true");
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
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn a_clock_is_wrong_from_five_minutes_on() {
        for (ahead, verdict) in [
            (0, Verdict::Well),
            (-2, Verdict::Well),
            (3, Verdict::Warning),
            (-300, Verdict::Warning),
            (301, Verdict::Wrong),
            (i64::MIN, Verdict::Wrong),
        ] {
            let found = clock(ahead, "behind".to_owned());
            assert_eq!(
                (found.verdict, found.remedy.is_some()),
                (verdict, verdict != Verdict::Well)
            );
        }
    }
}
