//! The servers for which the packages have a program that reloads them.

use std::path::Path;

use super::doctor::is_web_server;
use super::folders::SEARCHED;
use super::message::Level;
use super::output::escape;
use super::shell::Shell;
use crate::resource::{Certificate, DnsName, Settings};
use crate::trust::{quoted, sudo_on_own};
use crate::workspace::check::SiteFile;

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

    /// The one whose process has this name.
    pub(super) fn of_process(name: &str) -> Option<&'static Self> {
        let name = if ["apache2", "httpd"].contains(&name) { "apache" } else { name };
        Self::of(name)
    }

    /// Whether a program of it is in one of the folders of programs.
    pub(super) fn is_installed(&self) -> bool {
        self.is_in(SEARCHED)
    }

    fn is_in(&self, folders: &[&str]) -> bool {
        let programs = match self.name {
            "apache" => &["apache2", "httpd"][..],
            "postgresql" => &["pg_ctlcluster", "pg_ctl", "postgres", "psql"],
            _ => &[self.name],
        };
        let mut folders = folders.iter().map(Path::new);
        folders.any(|folder| programs.iter().any(|program| folder.join(program).exists()))
    }

    /// Whether it serves files from a folder, the responses to challenges among them.
    pub(super) fn serves_folders(&self) -> bool {
        ["apache", "nginx"].contains(&self.name)
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

    /// Where it presents a certificate for one of these names.
    fn port_of_https(&self, names: &[DnsName]) -> Option<String> {
        let name = names.iter().find(|name| !name.is_wildcard())?;
        is_web_server(self.name).then(|| format!("{name}:443"))
    }

    /// Whether it reads key and chain from one file.
    pub(super) fn reads_one_file(&self) -> bool {
        self.settings.iter().any(|line| line.contains("/tls-combined.pem"))
    }
}

/// What is to be done in the configuration of a server.
#[derive(Debug)]
pub(super) struct InServer {
    name: &'static str,
    /// Where in its configuration, as a part of a sentence; `None` where that names the files.
    place: Option<String>,
    /// What it says of the files.
    lines: Vec<String>,
    /// The command that makes the server read it.
    reload: String,
    /// The one that shows which certificate it presents.
    inspect: Option<String>,
}

impl InServer {
    /// What is to be done in the configuration of the server that a Certificate with these settings
    /// reloads. `folder` has the files that the server reads, `hooks` the program that reloads it;
    /// `inspect` is the command for a place of HTTPS.
    pub(super) fn of(
        one: &Certificate,
        settings: &Settings,
        folder: &Path,
        hooks: &Path,
        inspect: impl FnOnce(&str) -> Option<String>,
    ) -> Option<Self> {
        let server = Server::of(settings.reload.as_deref()?)?;
        let names: Vec<String> = one.spec.dns_names.iter().map(ToString::to_string).collect();
        let root = settings.http01_webroot.as_deref();
        let root = root.map(|path| quoted(Path::new(path))).unwrap_or_default();
        let site = Site { folder: quoted(folder), names: names.join(" "), root };
        let example = Path::new(EXAMPLES).join(format!("{}.yaml", server.name));
        let pointer = example.is_file().then(|| format!("# more: {}", example.display()));
        let sudo = |line: &str| if line.starts_with("postconf ") { sudo_on_own() } else { "" };
        let own = (server.name == "nginx").then(|| of_nginx(&one.spec.dns_names)).flatten();
        let settings: Vec<String> = match &own {
            Some(own) => within_block(server, &site, &own.text),
            None => server.settings(&site).collect(),
        };
        let lines = settings.iter().map(|line| [sudo(line), &escape(line)].concat());
        let lines = lines.chain(pointer.filter(|_| own.is_none()));
        let reads = if server.is_copied { "" } else { " (it reads the files as root)" };
        let has_files = |own: &SiteFile| own.text.contains(&site.folder);
        let is_done = own.as_ref().is_some_and(has_files);
        let place = match own {
            Some(_) if is_done => None,
            Some(own) => {
                let path = own.path.to_string_lossy();
                Some(format!(
                    "the server block of nginx in {}{reads}; to redirect http to https, see certctl help \
                     port-80 before",
                    escape(&path)
                ))
            }
            None if server.name == "nginx" => {
                let name = &one.metadata.name;
                Some(format!("a new file of nginx{reads}, such as {SITES_OF_NGINX}/{name}.conf"))
            }
            None => Some(format!("the configuration of {}{reads}", server.name)),
        };
        let program = quoted(&hooks.join(server.name));
        Some(Self {
            name: server.name,
            place,
            lines: lines.collect(),
            reload: format!("{}{}", sudo_on_own(), escape(&program)),
            inspect: match server.port_of_https(&one.spec.dns_names) {
                Some(place) => inspect(&place),
                None => starttls(server.name, &one.spec.dns_names),
            },
        })
    }

    /// As the next thing to do, and these commands besides.
    pub(super) fn say(&self, steps: &[String], shell: &mut Shell) {
        let (text, steps) = (self.text(), steps.join("\n  "));
        shell.output.talk(Level::Info, &format!("next, {text}\nat any time:\n  {steps}"));
    }

    /// A sentence without its beginning, and the lines.
    pub(super) fn text(&self) -> String {
        let Self { name, place, lines, reload, inspect } = self;
        let inspect = inspect
            .as_ref()
            .map(|inspect| format!("\nand see which certificate it presents:\n  {inspect}"));
        let inspect = inspect.unwrap_or_default();
        let begin = match place {
            Some(place) => format!("in {place}:\n  {}\nthen reload it", lines.join("\n  ")),
            None => format!("reload {name}, whose configuration names the files"),
        };
        format!("{begin}:\n  {reload}{inspect}")
    }
}

/// What shows the certificate of a server that begins without TLS.
fn starttls(server: &str, names: &[DnsName]) -> Option<String> {
    let name = names.iter().find(|name| !name.is_wildcard()).filter(|_| server == "postfix")?;
    Some(format!("openssl s_client -starttls smtp -brief -connect {name}:25 </dev/null"))
}

/// The configuration file of nginx on this host that has the first of these names.
fn of_nginx(names: &[DnsName]) -> Option<SiteFile> {
    let name = names.iter().find(|name| !name.is_wildcard())?;
    let of_nginx = |file: &SiteFile| file.path.starts_with("/etc/nginx");
    SiteFile::all().into_iter().find(|file| of_nginx(file) && file.has(name))
}

/// The settings for a server block that is there, in this text: what it listens on, and the files.
fn within_block(server: &Server, site: &Site, text: &str) -> Vec<String> {
    let has = |word: &str| text.lines().any(|line| line.trim_start().starts_with(word));
    let is_wanted = |line: &String| {
        let line = line.trim_start();
        line.starts_with("ssl_") || (line.starts_with("listen") && !has("listen 443"))
    };
    let wanted = server.settings(site).filter(is_wanted).map(|line| line.trim_start().to_owned());
    let with_ipv6 = |line: String| {
        let also = line.starts_with("listen") && has("listen [::]:80");
        let ipv6 = also.then(|| line.replace("443", "[::]:443"));
        [Some(line), ipv6].into_iter().flatten()
    };
    wanted.flat_map(with_ipv6).collect()
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

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    SHIPPED.iter().map(|server| server.name)
}

/// The folder of its configuration that the packages of Debian, Fedora and nginx itself read whole.
const SITES_OF_NGINX: &str = "/etc/nginx/conf.d";
/// Where a package installs examples of manifests, which begin with the configuration of the server.
const EXAMPLES: &str = "/usr/share/doc/certctl/examples";

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
                names: "www.example.com".to_owned(),
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
        let there = tempfile::tempdir().unwrap();
        let folders = ["/no/such/folder", there.path().to_str().unwrap()];
        let is_in = |server: &str| Server::of(server).unwrap().is_in(&folders);
        std::fs::File::create(there.path().join("httpd")).unwrap();
        assert!(is_in("apache") && !is_in("nginx") && !is_in("postgresql"));
        for (process, server) in [
            ("nginx", Some("nginx")),
            ("apache2", Some("apache")),
            ("httpd", Some("apache")),
            ("ftpd", None),
        ] {
            assert_eq!(Server::of_process(process).map(|server| server.name), server, "{process}");
        }
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
    fn a_server_block_that_is_there_gets_the_lines_that_it_lacks() {
        let (folder, names, root) = ("/f".to_owned(), "a.example.com".to_owned(), String::new());
        let site = Site { folder, names, root };
        let of = |text: &str| within_block(Server::of("nginx").unwrap(), &site, text);
        let files = ["ssl_certificate /f/tls.crt;", "ssl_certificate_key /f/tls.key;"];
        assert_eq!(of("server {\n  listen 80;\n}")[0], "listen 443 ssl;");
        assert_eq!(of("server {\n  listen 80;\n}")[1..], files);
        let both = of("server {\n  listen 80;\n  listen [::]:80;\n}");
        assert_eq!(both[..2], ["listen 443 ssl;", "listen [::]:443 ssl;"]);
        assert_eq!(of("server {\n  listen 443 ssl http2;\n}"), files);
    }

    #[test]
    fn what_is_not_known_of_a_site_is_left_out() {
        let site = |names: &str, root: &str| Site {
            folder: "/f".to_owned(),
            names: names.to_owned(),
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
