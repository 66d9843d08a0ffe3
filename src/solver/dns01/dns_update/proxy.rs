//! Which addresses in `config` the crate would ask through a proxy that must not see the credentials.

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use super::Row;
use super::fields::Values;
use crate::resource::Reach;

/// Whether no address of this machine, of this link or of a cloud's metadata service is asked through
/// a proxy.
pub(super) fn check(row: &Row, values: &Values, proxies: &Matcher) -> Result<(), String> {
    for (field, value) in row.of.fields.iter().zip(&values.all) {
        let name = field.name;
        let address = match (row.of.name, value.as_str()) {
            ("pdns", "") => PDNS,
            (_, value) => value,
        };
        let Some(url) = url_of(address).filter(|_| ADDRESSES.contains(&name)) else { continue };
        let host = url.host_str().unwrap_or_default();
        let is_proxied = url.as_str().parse().is_ok_and(|url| proxies.intercept(&url).is_some());
        if Reach::is_direct(host) && is_proxied {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            return Err(format!(
                "config.{name}: the HTTP proxy of the environment would see the credentials for \
                 {host}: add {bare} to NO_PROXY"
            ));
        }
    }
    Ok(())
}

/// A URL, or a host, which is asked over https.
fn url_of(address: &str) -> Option<Url> {
    let is_complete = |url: &Url| url.host_str().is_some_and(|host| !host.is_empty());
    let url = Url::parse(address).ok().filter(is_complete);
    url.or_else(|| Url::parse(&format!("https://{address}")).ok())
}

/// The fields that are an address.
const ADDRESSES: [&str; 4] = ["baseURL", "endpoint", "host", "serverURL"];
/// Where PowerDNS is, when `config` does not say it.
const PDNS: &str = "http://localhost:8081";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::dns01::dns_update::{ROWS, row};
    use zeroize::Zeroizing;

    /// What is said about a provider whose field has this value, and all others none.
    fn refusal(provider: &str, field: &str, value: &str, no: &str) -> Option<String> {
        let row = row(provider).unwrap();
        let of = |name: &str| if name == field { value } else { "" };
        let all = row.of.fields.iter().map(|field| Zeroizing::new(of(field.name).to_owned()));
        let values = Values { all: all.collect(), secrets: Vec::new() };
        let proxies = Matcher::builder().all("http://192.0.2.1:3128").no(no).build();
        check(row, &values, &proxies).err()
    }

    #[test]
    fn no_address_of_this_machine_or_link_is_asked_through_a_proxy() {
        for (provider, field, value, host) in [
            ("pdns", "endpoint", "", "localhost"),
            ("pdns", "endpoint", "http://127.1:8081/api/v1", "127.0.0.1"),
            ("pdns", "endpoint", "https://user@[::1]:8081", "[::1]"),
            ("bluecatv2", "serverURL", "HTTPS:/169.254.1.1", "169.254.1.1"),
            ("cpanel", "baseURL", "https://metadata.google.internal", "metadata.google.internal"),
            ("plesk", "baseURL", "https://a.localhost:8443", "a.localhost"),
            ("ultradns", "endpoint", "https://[fe80::1]/", "[fe80::1]"),
            ("infoblox", "host", "127.0.0.1", "127.0.0.1"),
            ("infoblox", "host", "localhost:8443", "localhost"),
            ("infoblox", "host", "http://localhost", "localhost"),
        ] {
            let bare = host.trim_matches(['[', ']']);
            let expected = format!(
                "config.{field}: the HTTP proxy of the environment would see the credentials for \
                 {host}: add {bare} to NO_PROXY"
            );
            assert_eq!(refusal(provider, field, value, ""), Some(expected), "{provider} {value}");
            assert_eq!(refusal(provider, field, value, bare), None, "{provider} {value}");
        }
    }

    #[test]
    fn other_addresses_may_be_asked_through_a_proxy() {
        for (provider, field, value) in [
            ("pdns", "endpoint", "http://10.0.0.1:8081"),
            ("plesk", "baseURL", "https://plesk.example.com:8443"),
            ("ultradns", "endpoint", ""),
            ("ovh", "endpoint", "ovh-eu"),
            // Not an address.
            ("pdns", "serverName", "localhost"),
        ] {
            let no = if field == "serverName" { "localhost" } else { "" };
            assert_eq!(refusal(provider, field, value, no), None, "{provider} {value}");
        }
    }

    #[test]
    fn each_field_that_may_be_an_address_is_known() {
        let words = ["url", "uri", "host", "endpoint", "address", "base"];
        let is_address = |name: &str| {
            let name = name.trim_end_matches("SecretRef").to_lowercase();
            words.iter().any(|word| name.contains(word)) && !name.contains("security")
        };
        let fields =
            ROWS.iter().flat_map(|row| row.of.fields.iter().map(|field| (row.of.name, field.name)));
        let found: Vec<_> = fields.filter(|(_, field)| is_address(field)).collect();
        let expected = [
            ("bluecatv2", "serverURL"),
            ("cpanel", "baseURL"),
            ("infoblox", "host"),
            ("ovh", "endpoint"),
            ("pdns", "endpoint"),
            ("plesk", "baseURL"),
            ("ultradns", "endpoint"),
        ];
        assert_eq!(found, expected);
    }
}
