//! The servers for which the packages have a program that reloads them.

/// One of them.
pub(super) struct Server {
    /// Of the program, and of the example.
    pub(super) name: &'static str,
    /// What its configuration says of the files; `{}` is their folder.
    settings: &'static [&'static str],
    /// Its program also copies the files to where the server may read them.
    pub(super) is_copied: bool,
}

impl Server {
    /// The one of this name.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        SHIPPED.iter().find(|server| server.name == name)
    }

    /// The settings that name the files of a folder.
    pub(super) fn settings(&self, folder: &str) -> impl Iterator<Item = String> {
        self.settings.iter().map(move |line| line.replace("{}", folder))
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
    reading("apache", &["SSLCertificateFile {}/tls.crt", "SSLCertificateKeyFile {}/tls.key"]),
    reading("dovecot", &["ssl_cert = <{}/tls.crt", "ssl_key = <{}/tls.key"]),
    reading("haproxy", &["bind :443 ssl crt {}/tls-combined.pem"]),
    reading("nginx", &["ssl_certificate {}/tls.crt;", "ssl_certificate_key {}/tls.key;"]),
    reading("postfix", &["smtpd_tls_chain_files = {}/tls-combined.pem"]),
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
