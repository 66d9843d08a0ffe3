//! The page for people: cmctl's six blocks and labels, ours behind them in each block.

use std::fmt::{Display, Write as _};

use jiff::SignedDuration;

use crate::cli::render::text;
use crate::cli::words::time::{length, rfc3339};
use crate::cli::{count, escape, first_names};
use crate::resource::{rfc1123, short_form};
use crate::workspace::inspect::{
    Check, HostMatch, KeyMatch, KnownRevocation, Party, RenewalWindow, Report, Revocation, Served,
    SpecMatch, Trust,
};

/// The page; every text of a certificate or server is escaped. `is_unread` says that there is a state
/// of this host which was not read.
pub(super) fn page(report: &Report, is_unread: bool) -> String {
    let mut page = Page::default();
    let leaf = &report.leaf;
    page.heading("Valid for");
    page.line("DNS Names: ", &list(&leaf.dns_names));
    page.line("URIs: ", &list(&leaf.uris));
    page.line("IP Addresses: ", &list(&leaf.ip_addresses));
    page.line("Email Addresses: ", &list(&leaf.email_addresses));
    page.line("Usages: ", &list(&leaf.usages));
    page.heading("Validity period");
    page.line("Not Before: ", &rfc1123(leaf.not_before));
    page.line("Not After: ", &rfc1123(leaf.not_after));
    page.line("Time left: ", &time_left(report.left));
    if let Some(known) = &report.renewal_information {
        renewal_information(&mut page, known);
    }
    page.heading("Issued By");
    party(&mut page, &leaf.issuer);
    page.heading("Issued For");
    party(&mut page, &leaf.subject);
    page.heading("Certificate");
    page.line("Signing Algorithm:\t", &leaf.signature_algorithm);
    page.line("Public Key Algorithm: \t", &leaf.public_key_algorithm);
    page.line("Serial Number:\t", &leaf.serial_number);
    page.line("Fingerprints: \t", &leaf.fingerprint);
    page.line("Is a CA certificate: ", &leaf.is_ca);
    page.line("CRL:\t", &list_or_one(&leaf.crl_urls));
    page.line("OCSP:\t", &list_or_one(&leaf.ocsp_urls));
    page.line("Serial Number (hex): ", &leaf.serial_number_hex);
    page.line("SPKI SHA-256 (base64): ", &leaf.spki_pin);
    page.line("SCTs: ", &leaf.sct_count);
    page.heading("Debugging");
    page.line("Trusted by this computer:\t", &trust(&report.trust));
    page.line("CRL Status:\t", &check(&report.crl, false));
    page.line("OCSP Status:\t", &check(&report.ocsp, true));
    if let Some(found) = &report.bundle_trust {
        page.line("Trusted by the issuer's caBundle: ", &trust(found));
    }
    if let Some(found) = &report.file_trust {
        page.line("Trusted by --ca-bundle: ", &trust(found));
    }
    page.line("Private key: ", &key(&report.private_key, is_of_server(report)));
    if let Some(host) = &report.host {
        page.line("Matches name: ", &matches_name(host));
    }
    if let Some(spec) = &report.spec {
        page.line("Matches spec: ", &matches_spec(spec));
    }
    if let Some(certificate) = &report.certificate {
        page.line("Certificate: ", &named(certificate));
    }
    if let Some(known) = &report.revoked {
        page.line("Revoked: ", &revoked(known, report.certificate.as_deref()));
    }
    if let Some(found) = &report.served {
        page.line("Served: ", &served(found, &leaf.serial_number_hex));
    }
    page.heading("Chain");
    for (index, entry) in report.chain.iter().enumerate() {
        let subject = match &*entry.subject {
            "" if index == 0 => "(no subject; its names are above)",
            "" => "(no subject)",
            subject => subject,
        };
        page.line(&format!("{}. ", index.saturating_add(1)), &escape(subject));
        page.line("\tIssued by: ", &escape(&entry.issuer));
        page.line("\tNot After: ", &rfc1123(entry.not_after));
        for problem in &entry.problems {
            page.line("\tProblem: ", &escape(&problem.to_string()));
        }
    }
    // The end is what a person sees of fifty lines.
    if has_verdict(report) {
        page.heading("Verdict");
        for line in verdict(report, is_unread) {
            page.line("", &line);
        }
    }
    page.text
}

/// Verdict on a server, or on the roots of a file, in a few lines; `None` where all of it was asked
/// for.
pub(super) fn short(report: &Report, is_unread: bool) -> Option<String> {
    let lines = has_verdict(report).then(|| verdict(report, is_unread))?;
    let whole = "for details: the same with -o wide".to_owned();
    Some(lines.into_iter().chain([whole]).map(|line| line + "\n").collect())
}

/// The page in the lines of a terminal of this width; elsewhere it keeps its tabs, as cmctl prints
/// them.
pub(super) fn fitted(page: &str, columns: usize) -> String {
    if columns == usize::MAX {
        return page.to_owned();
    }
    let mut text = String::new();
    let mut column = 0;
    for letter in page.chars() {
        match letter {
            '\t' => {
                let blanks = TAB - column % TAB;
                text.push_str(&" ".repeat(blanks));
                column += blanks;
            }
            '\n' => {
                text.push('\n');
                column = 0;
            }
            letter => {
                text.push(letter);
                column += 1;
            }
        }
    }
    text::fitted(&text, columns)
}

/// Note on a private CA.
const TRUSTED_BY_BUNDLE: &str = "clients need the root of its CA, which is in the Issuer's caBundle; \
                                 this host does not trust it";
/// The same where the caBundle has the roots of the CA's server alone.
const TRUSTED_BY_NONE: &str = "clients need the root of its CA, from the CA's operator; it is \
    neither in the Issuer's caBundle nor trusted by this host";

/// Note on a certificate that certctl issued.
const ROOT_OF_OPERATOR: &str = "; for a private CA, clients need its root";

/// Distance of the stops of a terminal's tabs.
const TAB: usize = 8;

fn renewal_information(page: &mut Page, known: &RenewalWindow) {
    if let Some(window) = &known.suggested_window {
        let text = format!("{} to {}", rfc1123(window.start), rfc1123(window.end));
        page.line("Renewal window (ARI): ", &text);
        page.line("Renewal time (ARI): ", &rfc1123(window.renew_at));
        if let Some(url) = &window.explanation_url {
            page.line("Explanation (ARI): ", &escape(url));
        }
    }
    page.line("Next check (ARI): ", &rfc1123(known.next_check));
    if let Some(error) = &known.last_error {
        page.line("Last error (ARI): ", &escape(error));
    }
}

fn party(page: &mut Page, party: &Party) {
    page.line("Common Name:\t", &or_none(escape(&party.common_name).into_owned()));
    page.line("Organization:\t", &list_or_one(&party.organization));
    page.line("OrganizationalUnit:\t", &list_or_one(&party.organizational_unit));
    page.line("Country:\t", &list_or_one(&party.country));
}

/// When, and what replaces the certificate if nothing does.
fn revoked(known: &KnownRevocation, certificate: Option<&str>) -> String {
    let KnownRevocation { at, reason, without_replacement } = known;
    let text = format!("{}, {reason}", rfc1123(*at));
    match certificate.filter(|_| *without_replacement) {
        Some(name) => {
            format!("{text}; not replaced\n\tTo replace it: certctl renew {}", named(name))
        }
        None => text,
    }
}

/// Blocks with an empty line between them.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn heading(&mut self, heading: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        // Writing into a string cannot fail.
        _ = writeln!(self.text, "{heading}:");
    }

    /// The label brings its colon and what stands between it and the value.
    fn line(&mut self, label: &str, value: &impl Display) {
        _ = writeln!(self.text, "\t{label}{value}");
    }
}

fn list(items: &[impl ToString]) -> String {
    let mut text = String::new();
    for item in items {
        text += "\n\t\t- ";
        text += &escape(&item.to_string());
    }
    or_none(text)
}

fn list_or_one(items: &[String]) -> String {
    match items {
        [one] => escape(one).into_owned(),
        items => list(items),
    }
}

fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text }
}

fn time_left(left: SignedDuration) -> String {
    let length = length(left);
    if left.is_negative() { format!("none, expired {length} ago") } else { length }
}

fn trust(trust: &Trust) -> String {
    match &trust.reason {
        None => "yes".to_owned(),
        Some(reason) => format!("no: {}", escape(reason)),
    }
}

fn key(key: &KeyMatch, is_of_server: bool) -> String {
    match key {
        KeyMatch::Absent if is_of_server => "a server does not show it".to_owned(),
        KeyMatch::Matches => "matches".to_owned(),
        KeyMatch::DoesNotMatch => "does not match".to_owned(),
        KeyMatch::Absent => "absent".to_owned(),
        KeyMatch::Unreadable(why) => format!("cannot be read: {}", escape(why)),
    }
}

/// Returns whether the certificate is for the name that the server was asked for.
fn matches_name(host: &HostMatch) -> String {
    if host.matches {
        return "yes".to_owned();
    }
    let text = format!("no: {} is not in this certificate", escape(&host.name));
    match &host.expected_certificate {
        Some(expected) => {
            format!("{text}, but in the certificate of {}", escape(short_form(expected)))
        }
        None => text,
    }
}

fn matches_spec(spec: &SpecMatch) -> String {
    if spec.matches { "yes".to_owned() } else { format!("no: {}", spec.differences.join(", ")) }
}

/// Returns whether the certificate is what a server presents.
fn is_of_server(report: &Report) -> bool {
    report.host.is_some() || report.served.is_some()
}

/// Returns whether a question has an answer in a few lines.
fn has_verdict(report: &Report) -> bool {
    is_of_server(report) || report.file_trust.is_some() || report.leaf.is_ca
}

/// Names the certificate or the server that presents it, and its trust.
fn verdict(report: &Report, is_unread: bool) -> Vec<String> {
    let source = escape(&report.source);
    if report.leaf.is_ca && !is_of_server(report) {
        return of_ca(&source, report);
    }
    let known = report.served.as_ref().zip(report.certificate.as_deref());
    let presents = match (&report.host, known) {
        (Some(host), _) if !host.matches => {
            format!("presents a certificate that is not for {}", escape(&host.name))
        }
        (_, Some((Served { same: true, .. }, name))) => {
            format!("presents the current certificate of {}", named(name))
        }
        (_, Some((served, name))) => match served.other_revision {
            Some(0) => {
                format!("presents the certificate of {} from before certctl", named(name))
            }
            Some(revision) => {
                let name = named(name);
                format!(
                    "presents revision {revision} of the certificate of {name}, not the current one"
                )
            }
            None => format!("does not present the certificate of {}", named(name)),
        },
        (Some(host), None) if is_unread => {
            format!("presents a certificate for {}", escape(&host.name))
        }
        (None, None) if !is_of_server(report) => match &report.certificate {
            Some(name) => format!("is the certificate of {}", named(name)),
            None => "is a certificate".to_owned(),
        },
        (_, None) if is_unread => "presents a certificate".to_owned(),
        (_, None) => "presents a certificate that certctl does not have".to_owned(),
    };
    let leaf = &report.leaf;
    let until = leaf.not_after.strftime("%Y-%m-%d");
    let left = time_left(report.left);
    let issuer = escape(&leaf.issuer.common_name);
    let names = first_names(&leaf.dns_names, MOST_NAMES);
    let names = escape(&names);
    let mut lines = vec![
        format!("{source} {presents}"),
        format!("for {}", if names.is_empty() { "no DNS name" } else { &names }),
        format!("valid until {until}, time left: {left}; issued by {issuer}"),
    ];
    lines.extend(intermediate(report));
    if let Some(found) = &report.file_trust {
        lines.push(match &found.reason {
            None => "clients that have the roots in --ca-bundle trust it".to_owned(),
            Some(why) => format!(
                "clients that have only the roots in --ca-bundle do not trust it: {}",
                escape(why)
            ),
        });
        return lines;
    }
    match (&report.trust.reason, &report.bundle_trust) {
        (None, _) => {}
        (Some(_), Some(Trust { trusted: true, .. })) => {
            lines.push(TRUSTED_BY_BUNDLE.to_owned());
        }
        (Some(_), Some(Trust { trusted: false, .. })) => lines.push(TRUSTED_BY_NONE.to_owned()),
        (Some(why), None) => {
            let root = if report.certificate.is_some() { ROOT_OF_OPERATOR } else { "" };
            lines.push(format!("this host does not trust it: {}{root}", escape(why)));
        }
    }
    lines
}

/// Returns whether a server presents the certificate of the CA that signed its own; nothing is said
/// where a client that trusts it does not need that.
fn intermediate(report: &Report) -> Option<String> {
    let (leaf, others) = report.chain.split_first()?;
    if !is_of_server(report) || leaf.issuer == leaf.subject {
        return None;
    }
    let issuer = escape(&report.leaf.issuer.common_name);
    let trusts = [Some(&report.trust), report.bundle_trust.as_ref(), report.file_trust.as_ref()];
    let is_trusted = trusts.into_iter().flatten().any(|trust| trust.trusted);
    if others.iter().any(|other| other.subject == leaf.issuer) {
        Some(format!("the server also sends the certificate of {issuer}"))
    } else if is_trusted {
        None
    } else {
        Some(format!("the server does not send the certificate of {issuer}"))
    }
}

/// Describes a file with the certificate of a CA.
fn of_ca(source: &str, report: &Report) -> Vec<String> {
    let leaf = &report.leaf;
    let (subject, issuer) = (escape(&leaf.subject.common_name), escape(&leaf.issuer.common_name));
    let issuer = if leaf.subject == leaf.issuer { "itself".into() } else { issuer };
    let (until, left) = (leaf.not_after.strftime("%Y-%m-%d"), time_left(report.left));
    let mut lines = vec![
        format!("{source} is the certificate of a CA: {subject}"),
        format!("valid until {until}, time left: {left}; issued by {issuer}"),
    ];
    let further = report.chain.len().saturating_sub(1);
    if further > 0 {
        lines.push(format!("and {} more in the same file", count(further, "certificate")));
    }
    lines
}

/// Number of names that are shown of a server's certificate.
const MOST_NAMES: usize = 5;

/// The name of a Certificate, with its namespace where that is not the usual one.
fn named(name: &str) -> String {
    escape(short_form(name)).into_owned()
}

fn served(served: &Served, serial: &str) -> String {
    if served.same {
        "the serial of the current certificate".to_owned()
    } else {
        let current = &served.state_serial;
        format!(
            "the served serial {serial} differs from {current}, that of the current \
            certificate"
        )
    }
}

/// cmctl's words where it has some that are true.
fn check(check: &Check, is_ocsp: bool) -> String {
    match check {
        Check::NoUrl if is_ocsp => "no OCSP URL".to_owned(),
        Check::NoUrl => "No CRL endpoints set".to_owned(),
        Check::NoUsableUrl if is_ocsp => "unknown: no OCSP URL is http".to_owned(),
        Check::NoUsableUrl => "No CRL endpoints we support found".to_owned(),
        Check::NotChecked => "not checked (--offline)".to_owned(),
        Check::Unknown { reasons } => format!("unknown: {}", escape(&reasons.join("; "))),
        Check::Answered { answer: Revocation::Good { next_update: Some(at), .. }, .. } => {
            format!("Valid (good until {})", rfc3339(*at))
        }
        Check::Answered { answer: Revocation::Good { this_update, .. }, .. } => {
            format!("Valid (good at {})", rfc3339(*this_update))
        }
        Check::Answered { url, answer: Revocation::Revoked { at, reason } } => {
            let why = reason.map(|reason| format!(", {reason}")).unwrap_or_default();
            format!("Revoked by {} (since {}{why})", escape(url), rfc3339(*at))
        }
    }
}
