//! The servers for which the packages have a program that reloads them.

mod setup;

use std::path::Path;

use crate::cli::verbs::doctor::is_web_server;
use crate::resource::DnsName;
pub(super) use setup::InServer;

/// What a server does with a certificate.
pub(super) struct Site {
    /// The folder of its files.
    pub(super) folder: String,
    /// Its DNS names.
    pub(super) names: Vec<String>,
    /// The folder that is served at these names; empty where it is not known.
    pub(super) root: String,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Server {
    /// Of the program, and of the example.
    pub(super) name: &'static str,
    /// What its configuration says of the files, with one word of the [`Site`] in braces a line.
    settings: &'static [&'static str],
    /// Its program also copies the files to where the server may read them.
    pub(super) is_copied: bool,
}

impl Server {
    /// The one of this name.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        SHIPPED.iter().find(|server| server.name == name)
    }

    /// The file of its configuration, where it has one on this host.
    pub(super) fn configuration(&self) -> &'static str {
        let is_of_haproxy = self.name == "haproxy" && Path::new(FILE_OF_HAPROXY).exists();
        if is_of_haproxy { FILE_OF_HAPROXY } else { "its configuration" }
    }

    /// The settings that name the files of a site, but for those of which nothing is known.
    pub(super) fn settings(&self, site: &Site) -> impl Iterator<Item = String> {
        let (first, others) = site.names.split_first().unzip();
        let known = [
            ("{folder}", site.folder.clone()),
            ("{names}", site.names.join(" ")),
            ("{name}", first.cloned().unwrap_or_default()),
            ("{others}", others.unwrap_or_default().join(" ")),
            ("{root}", site.root.clone()),
        ];
        self.settings.iter().filter_map(move |line| {
            let mut words = known.iter().filter(|(word, _)| line.contains(word));
            match words.next() {
                Some((_, text)) if text.is_empty() => None,
                Some((word, text)) => Some(line.replace(word, text)),
                None => Some((*line).to_owned()),
            }
        })
    }

    /// Where it presents a certificate for one of these names.
    fn port_of_https(&self, names: &[DnsName]) -> Option<String> {
        let name = names.iter().find(|name| !name.is_wildcard())?;
        is_web_server(self.name).then(|| format!("{name}:443"))
    }
}

const fn reading(name: &'static str, settings: &'static [&'static str]) -> Server {
    Server { name, settings, is_copied: false }
}

/// All of them.
pub(super) const SHIPPED: &[Server] = &[
    reading(
        "apache",
        &[
            "<VirtualHost *:443>",
            "    ServerName {name}",
            "    ServerAlias {others}",
            "    DocumentRoot {root}",
            "    SSLEngine on",
            "    SSLCertificateFile {folder}/tls.crt",
            "    SSLCertificateKeyFile {folder}/tls.key",
            "</VirtualHost>",
        ],
    ),
    reading("dovecot", &["ssl_cert = <{folder}/tls.crt", "ssl_key = <{folder}/tls.key"]),
    reading("haproxy", &["bind :443 ssl crt {folder}/tls-combined.pem"]),
    reading(
        "nginx",
        &[
            "server {",
            "    listen 443 ssl;",
            "    server_name {names};",
            "    root {root};",
            "    ssl_certificate {folder}/tls.crt;",
            "    ssl_certificate_key {folder}/tls.key;",
            "}",
        ],
    ),
    reading(
        "postfix",
        &[
            "postconf -e smtpd_tls_security_level=may",
            "# In place of smtpd_tls_cert_file and smtpd_tls_key_file, which may stay:",
            "postconf -e smtpd_tls_chain_files={folder}/tls-combined.pem",
        ],
    ),
    Server {
        name: "postgresql",
        settings: &[
            "ssl_cert_file = '/etc/postgresql/tls/tls.crt'",
            "ssl_key_file = '/etc/postgresql/tls/tls.key'",
        ],
        is_copied: true,
    },
];

/// The one file of its configuration.
const FILE_OF_HAPROXY: &str = "/etc/haproxy/haproxy.cfg";
#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Options, Source, load};

    #[test]
    fn the_settings_of_a_server_are_those_of_its_example() {
        for server in ["apache", "dovecot", "haproxy", "nginx", "postfix", "postgresql"] {
            let example = format!("{}/examples/{server}.yaml", env!("CARGO_MANIFEST_DIR"));
            let example = std::fs::read_to_string(example).unwrap();
            let loaded = load(&[Source::Stdin(example.clone().into())], &Options::default());
            let secret = &loaded.certificates.first().unwrap().spec.secret_name;
            let site = Site {
                folder: format!("/var/lib/certctl/secrets/default/{secret}"),
                names: vec!["www.example.com".to_owned()],
                root: "/var/www/html".to_owned(),
            };
            // Comments, whose blanks are of no interest.
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().concat();
            let example = words(&example);
            let settings: Vec<String> = Server::of(server).unwrap().settings(&site).collect();
            assert!(!settings.is_empty(), "{server}");
            for line in settings {
                assert!(example.contains(&words(&line)), "{server}: {line}");
            }
        }
        assert!(Server::of("caddy").is_none());
    }

    #[test]
    fn a_server_of_https_is_asked_by_a_name_that_leads_to_it() {
        let of = |server: &str, names: &[&str]| {
            let names: Vec<DnsName> = names.iter().map(|name| name.parse().unwrap()).collect();
            Server::of(server).unwrap().port_of_https(&names)
        };
        let place = Some("www.example.com:443".to_owned());
        assert_eq!(of("nginx", &["*.example.com", "www.example.com"]), place);
        assert_eq!(of("nginx", &["*.example.com"]), None);
        assert_eq!(of("postfix", &["mail.example.com"]), None);
    }

    #[test]
    fn what_is_not_known_of_a_site_is_left_out() {
        let site = |names: &str, root: &str| Site {
            folder: "/f".to_owned(),
            names: names.split_whitespace().map(str::to_owned).collect(),
            root: root.to_owned(),
        };
        let of = |site: &Site| Server::of("nginx").unwrap().settings(site).collect::<Vec<_>>();
        let whole = of(&site("a.example.com b.example.com", "/srv"));
        assert_eq!(whole[2..4], ["    server_name a.example.com b.example.com;", "    root /srv;"]);
        let bare = of(&site("", ""));
        assert_eq!(bare.len(), whole.len() - 2);
        assert!(!bare.concat().contains("name") && !bare.concat().contains("root"));
    }
}
