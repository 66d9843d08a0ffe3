//! The response codes of the DNS.

/// The mnemonic of a response code, such as SERVFAIL (RFC 1035 section 4.1.1, RFC 2136 section 2.2).
pub fn response_code(number: u16) -> String {
    let known = NAMES.get(usize::from(number));
    known.map_or_else(|| format!("RCODE {number}"), |word| (*word).to_owned())
}

const NAMES: [&str; 11] = [
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET",
    "NXRRSET", "NOTAUTH", "NOTZONE",
];
