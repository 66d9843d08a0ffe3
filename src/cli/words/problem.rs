//! Causes and remedies: of the problem types of a CA, and of what else stops an issuance.
//!
//! Contract: pure, and the only place with such advice. A row of `problems.txt` has a problem's type
//! (the last part of RFC 8555 section 6.7) or a word of ours, what it is of, and what shows more; then
//! the cause; then the remedy, if a person can do something. The first row that fits applies.

use super::hint::short;
use crate::resource::{ChallengeType, Check, Fix, NamespacedName, Presence, Schedule};

/// Subject of a failure.
#[derive(Clone, Debug, Default)]
pub(super) struct Subject<'a> {
    pub(super) certificate: Option<&'a NamespacedName>,
    pub(super) issuer: &'a str,
    /// The first refused identifier; empty when the problem names none.
    pub(super) name: &'a str,
    /// The challenge type, if a challenge failed.
    pub(super) proof: Option<&'a ChallengeType>,
    /// True if the CA refused to make the account.
    pub(super) is_registration: bool,
    /// Difference of this host's clock from the CA's.
    pub(super) clock: String,
}

impl Subject<'_> {
    /// The cause of a problem, its remedy, and what shows more.
    pub(super) fn advice(&self, kind: &str) -> Option<(String, String, Option<Fix>)> {
        TABLE.split("\n\n").map(str::lines).find_map(|mut row| {
            let mut head = row.next()?.split(' ');
            let is_it = head.next()? == kind && self.is(head.next()?);
            let fix = head.next().and_then(|word| self.fix(word));
            is_it.then(|| {
                let mut next = || self.fill(row.next().unwrap_or_default());
                (next(), next(), fix)
            })
        })
    }

    fn is(&self, word: &str) -> bool {
        match word {
            "any" => true,
            "new-account" => self.is_registration,
            proof => self.proof.is_some_and(|own| own.as_str() == proof),
        }
    }

    fn fill(&self, text: &str) -> String {
        let or = |word: &str, absent: &str| {
            if word.is_empty() { absent.to_owned() } else { word.to_owned() }
        };
        text.replace("{name}", &or(self.name, "the name"))
            .replace("{issuer}", &or(self.issuer, "the Issuer"))
            .replace("{certificate}", &self.certificate.map(short).unwrap_or_default())
            .replace("{clock}", &self.clock)
    }

    fn fix(&self, word: &str) -> Option<Fix> {
        let of = |word: &str| (!word.is_empty()).then(|| word.to_owned());
        let check = match word {
            "dns" => Check::Dns(of(self.name)?),
            "http" => Check::Http(of(self.name)?),
            "acme" => Check::Acme(of(self.issuer)?),
            "account" => Check::Account(of(self.issuer)?),
            "status" => Check::Status(self.certificate.cloned()),
            "version" => Check::Version,
            "issue" => return Some(Fix::Issue(self.certificate.cloned())),
            "clock" => return Some(Fix::Schedule(Schedule::SetClock)),
            _ => return None,
        };
        Some(Fix::Check(check))
    }
}

/// Check for a challenge of this type.
pub(crate) fn check_of(proof: &ChallengeType, name: &str) -> Option<Fix> {
    let check = match proof.method()?.presence {
        Presence::Served if proof.is_over_http() => Check::Http(name.to_owned()),
        Presence::Served => Check::TlsAlpn(name.to_owned()),
        Presence::Record => Check::Dns(name.to_owned()),
    };
    Some(Fix::Check(check))
}

/// Check for the CA of an issuer.
pub(crate) fn check_of_ca(issuer: &str) -> Option<Fix> {
    (!issuer.is_empty()).then(|| Fix::Check(Check::Acme(issuer.to_owned())))
}

const TABLE: &str = include_str!("problems.txt");

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::Arguments;
    use crate::cli::words::fix::worded;

    /// A subject for which the row of this head applies.
    fn subject<'a>(of: &'a str, web: &'a NamespacedName, proof: &'a ChallengeType) -> Subject<'a> {
        Subject {
            certificate: Some(web),
            issuer: "le",
            name: "www.example.com",
            proof: (of == proof.as_str()).then_some(proof),
            is_registration: of == "new-account",
            clock: "2h behind".to_owned(),
        }
    }

    #[test]
    fn each_row_has_a_cause_a_remedy_and_a_command_that_exists() {
        let web = NamespacedName::new("default", "web");
        for row in TABLE.split("\n\n") {
            let lines: Vec<&str> = row.lines().collect();
            let [head, cause] = lines[..2] else { panic!("{row}") };
            let remedy = lines.get(2).copied().unwrap_or_default();
            let [kind, of, show] = head.split(' ').collect::<Vec<_>>()[..] else { panic!("{row}") };
            let proof = if of == "dns-01" { ChallengeType::Dns01 } else { ChallengeType::Http01 };
            let subject = subject(of, &web, &proof);
            let (found, _, fix) = subject.advice(kind).unwrap();
            assert_eq!(found, subject.fill(cause), "the row of {head} is never used");
            assert!(!found.contains(['{', '}']) && !subject.fill(remedy).contains(['{', '}']));
            assert_eq!(fix.is_none(), show == "none", "{head}");
            let line = fix.as_ref().map(worded).filter(|line| line.starts_with("certctl "));
            let parses = |line: &String| Arguments::try_parse_from(line.split(' ')).is_ok();
            assert!(line.as_ref().is_none_or(parses), "{line:?}");
        }
    }

    #[test]
    fn what_is_not_known_has_no_advice() {
        let subject = Subject::default();
        assert_eq!(subject.advice("somethingNew"), None);
        assert_eq!(subject.advice(""), None);
    }
}
