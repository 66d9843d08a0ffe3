//! The answers of the addresses of a name, and the verdict on all of them: of the checks that connect
//! to a server as the CA will.
//!
//! One wrong answer fails the check, since the CA may meet it. An address that cannot be reached is a
//! warning beside a correct one.

use std::fmt;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::Verdict;

/// The result of one connection; `W` is what a wrong server showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[schemars(rename = "AddressAnswer{W}")]
pub enum AddressAnswer<W> {
    /// The response that proves control.
    Correct,
    /// Another response: blocks.
    Wrong(W),
    /// A server responds in a way that no CA can use (a redirect loop or a dead redirect, another
    /// protocol): blocks.
    Broken { why: String },
    /// No response: warns, as long as another address responds.
    Unreachable {
        /// What happened.
        why: String,
    },
}

/// The report on one address.
pub(super) trait OfAddress: fmt::Display {
    type Wrong;

    fn address(&self) -> IpAddr;

    fn outcome(&self) -> &AddressAnswer<Self::Wrong>;

    /// Warnings of a response.
    fn warnings(&self) -> &[String];
}

/// The verdict; `failed` begins a reason where there was no usable response, and `wrong` words one
/// that there was.
pub(super) fn verdict<R: OfAddress>(
    reports: &[R],
    dns: Option<&str>,
    failed: &str,
    wrong: impl Fn(&R::Wrong) -> String,
) -> Verdict {
    let blocking = |report: &R| match report.outcome() {
        AddressAnswer::Wrong(shown) => Some(wrong(shown)),
        AddressAnswer::Broken { why } => Some(format!("{failed}{why}")),
        AddressAnswer::Correct | AddressAnswer::Unreachable { .. } => None,
    };
    let mut all = reports.iter().filter_map(|one| Some((one.address(), blocking(one)?)));
    if let Some((address, what)) = all.next() {
        let count = all.count().saturating_add(1);
        let of = match reports.len() {
            1 => String::new(),
            all => format!("; {count} of {all} addresses"),
        };
        return Verdict::Failed { reason: format!("{what} ({address}{of})") };
    }
    if reports.iter().any(|one| matches!(one.outcome(), AddressAnswer::Correct)) {
        return Verdict::Passed;
    }
    let mut whys: Vec<String> = Vec::new();
    for report in reports {
        if let AddressAnswer::Unreachable { why } = report.outcome() {
            whys.push(format!("{}: {why}", report.address()));
        }
    }
    if whys.is_empty() {
        whys.push(dns.unwrap_or("no address").to_owned());
    }
    let whys = whys.join("; ");
    Verdict::Failed { reason: format!("{failed}{whys}") }
}

/// Warnings, one per line.
pub(super) fn warnings<R: OfAddress>(reports: &[R], dns: Option<&String>) -> Vec<String> {
    let mut all = Vec::new();
    if !reports.is_empty() {
        all.extend(dns.cloned());
    }
    for report in reports {
        let address = report.address();
        if let AddressAnswer::Unreachable { why } = report.outcome() {
            all.push(format!("{address} cannot be reached: {why}"));
        }
        all.extend(report.warnings().iter().map(|warning| format!("{address}: {warning}")));
    }
    all
}

/// The lookup and the response of each address, one per line.
pub(super) fn details<R: OfAddress>(reports: &[R], dns: Option<&String>) -> Vec<String> {
    let dns = dns.map(|dns| format!("DNS: {dns}"));
    dns.into_iter().chain(reports.iter().map(ToString::to_string)).collect()
}

/// Whether these say more than the verdict: that repeats what one address that cannot be reached, or
/// the lookup alone, says.
pub(super) fn add_to_the_verdict<R: OfAddress>(reports: &[R], dns: Option<&String>) -> bool {
    match (reports, dns) {
        ([], _) => false,
        ([one], None) => !matches!(one.outcome(), AddressAnswer::Unreachable { .. }),
        _ => true,
    }
}

/// The addresses that could not be connected to, where none has a response.
pub(super) fn silent<R: OfAddress>(reports: &[R]) -> impl Iterator<Item = IpAddr> {
    let are_silent =
        reports.iter().all(|one| matches!(one.outcome(), AddressAnswer::Unreachable { .. }));
    reports.iter().filter(move |_| are_silent).map(OfAddress::address)
}

/// The addresses without the response. Another certctl, or a proxy, of which a warning is, is none.
pub(super) fn lacking<R: OfAddress>(reports: &[R]) -> impl Iterator<Item = IpAddr> {
    let lacks =
        |one: &&R| !matches!(one.outcome(), AddressAnswer::Correct) && one.warnings().is_empty();
    reports.iter().filter(lacks).map(OfAddress::address)
}

/// The cause of a failure: this address of the name is none of this host, which would ask from `own`.
pub(super) fn elsewhere(address: IpAddr, own: Option<IpAddr>) -> String {
    let own = own.map(|own| format!(" ({own})")).unwrap_or_default();
    format!("the name leads to {address}, not an address of this host{own}")
}

/// The outcome of one address, in a few words.
pub(super) fn write_outcome<W>(
    f: &mut fmt::Formatter<'_>,
    outcome: &AddressAnswer<W>,
    wrong: impl Fn(&mut fmt::Formatter<'_>, &W) -> fmt::Result,
) -> fmt::Result {
    match outcome {
        AddressAnswer::Correct => write!(f, "correct"),
        AddressAnswer::Wrong(shown) => wrong(f, shown),
        AddressAnswer::Broken { why } => write!(f, "wrong, {why}"),
        AddressAnswer::Unreachable { why } => write!(f, "cannot be reached: {why}"),
    }
}
