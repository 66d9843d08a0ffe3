//! The servers for which the packages have a program that reloads them.

/// What a server does with a certificate.
pub(super) struct Site {
    /// The folder of its files.
    pub(super) folder: String,
    /// The DNS names, with blanks between them.
    pub(super) names: String,
    /// The folder that is served at these names; empty where it is not known.
    pub(super) root: String,
}

/// One of them.
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

    /// The settings that name the files of a site, but for those of which nothing is known.
    pub(super) fn settings(&self, site: &Site) -> impl Iterator<Item = String> {
        let Site { folder, names, root } = site;
        let known = [("{folder}", folder), ("{names}", names), ("{root}", root)];
        self.settings.iter().filter_map(move |line| {
            let mut words = known.iter().filter(|(word, _)| line.contains(word));
            match words.next() {
                Some((_, text)) if text.is_empty() => None,
                Some((word, text)) => Some(line.replace(word, text)),
                None => Some((*line).to_owned()),
            }
        })
    }

    /// Whether it reads key and chain from one file.
    pub(super) fn reads_one_file(&self) -> bool {
        self.settings.iter().any(|line| line.contains("/tls-combined.pem"))
    }
}

const fn reading(name: &'static str, settings: &'static [&'static str]) -> Server {
    Server { name, settings, is_copied: false }
}

/// All of them.
pub(super) const SHIPPED: &[Server] = &[
    reading(
        "apache",
        &["SSLCertificateFile {folder}/tls.crt", "SSLCertificateKeyFile {folder}/tls.key"],
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
    reading("postfix", &["smtpd_tls_chain_files = {folder}/tls-combined.pem"]),
    Server {
        name: "postgresql",
        settings: &[
            "ssl_cert_file = '/etc/postgresql/tls/tls.crt'",
            "ssl_key_file = '/etc/postgresql/tls/tls.key'",
        ],
        is_copied: true,
    },
];

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    SHIPPED.iter().map(|server| server.name)
}
