//! The servers for which the packages have a program that reloads them.

use std::path::Path;

use super::doctor::is_web_server;
use super::folders::SEARCHED;
use super::message::Level;
use super::output::escape;
use super::shell::Shell;
use crate::resource::{CHALLENGE_PATH, Certificate, DnsName, Settings};
use crate::trust::{quoted, sudo_on_own};
use crate::workspace::check::SiteFile;

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

    /// The configuration of a proxy that forwards the challenges to certctl; empty of other servers.
    pub(super) fn forwarding(&self) -> &'static [&'static str] {
        if self.name == "haproxy" { FORWARDING_OF_HAPROXY } else { &[] }
    }

    /// The file of its configuration, where it has one on this host.
    pub(super) fn configuration(&self) -> &'static str {
        let is_of_haproxy = self.name == "haproxy" && Path::new(FILE_OF_HAPROXY).exists();
        if is_of_haproxy { FILE_OF_HAPROXY } else { "its configuration" }
    }

    /// Whether it serves files from a folder, the responses to challenges among them.
    pub(super) fn serves_folders(&self) -> bool {
        ["apache", "nginx"].contains(&self.name)
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
    /// How http is redirected to https, where that can be said of its configuration.
    redirect: Option<Redirect>,
    /// The commands that make the server read it.
    reload: Vec<String>,
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
        let site = Site { folder: quoted(folder), names, root };
        let example = Path::new(EXAMPLES).join(format!("{}.yaml", server.name));
        let pointer = example.is_file().then(|| format!("# more: {}", example.display()));
        let sudo = |line: &str| if line.starts_with("postconf ") { sudo_on_own() } else { "" };
        let own = own_site(server, &one.spec.dns_names);
        let settings: Vec<String> = match &own {
            Some(own) => within_block(server, &site, &own.text),
            None => server.settings(&site).collect(),
        };
        let redirect = Redirect::of(server, &site, own.as_ref());
        let lines = settings.iter().map(|line| [sudo(line), &escape(line)].concat());
        let lines = lines.chain(pointer.filter(|_| own.is_none() && server.name != "apache"));
        let reads = if server.is_copied { "" } else { " (it reads the files as root)" };
        let has_files = |own: &SiteFile| own.text.contains(&site.folder);
        let is_done = own.as_ref().is_some_and(has_files);
        let place = match own {
            Some(_) if is_done => None,
            Some(own) => {
                let path = own.path.to_string_lossy();
                let path = escape(&path);
                Some(match server.name {
                    "haproxy" => format!("a frontend of {path}{reads}"),
                    "apache" => format!(
                        "{path}{reads}: a copy of its VirtualHost, which begins with <VirtualHost *:443> and \
                         has these lines"
                    ),
                    _ => format!("the server block of nginx in {path}{reads}"),
                })
            }
            None => Some(match sites(server.name) {
                Some(sites) => {
                    let name = &one.metadata.name;
                    format!("a new file of {}{reads}, such as {sites}/{name}.conf", server.name)
                }
                None => format!("the configuration of {}{reads}", server.name),
            }),
        };
        let program = quoted(&hooks.join(server.name));
        let module = needs_module(server).then(|| format!("{}a2enmod ssl", sudo_on_own()));
        let reload = format!("{}{}", sudo_on_own(), escape(&program));
        Some(Self {
            name: server.name,
            place,
            lines: lines.collect(),
            redirect,
            reload: module.into_iter().chain([reload]).collect(),
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
        let Self { name, place, lines, redirect, reload, inspect } = self;
        let inspect = inspect
            .as_ref()
            .map(|inspect| format!("\nand see which certificate it presents:\n  {inspect}"));
        let inspect = inspect.unwrap_or_default();
        let redirect = redirect.as_ref().map(|Redirect { place, lines }| {
            format!("\nto redirect http to https, {place}:\n  {}", lines.join("\n  "))
        });
        let redirect = redirect.unwrap_or_default();
        let begin = match place {
            Some(place) => {
                format!("in {place}:\n  {}{redirect}\nthen reload it", lines.join("\n  "))
            }
            None => format!("reload {name}, whose configuration names the files"),
        };
        format!("{begin}:\n  {}{inspect}", reload.join("\n  "))
    }
}

/// What shows the certificate of a server that begins without TLS.
fn starttls(server: &str, names: &[DnsName]) -> Option<String> {
    let name = names.iter().find(|name| !name.is_wildcard()).filter(|_| server == "postfix")?;
    Some(format!("openssl s_client -starttls smtp -brief -connect {name}:25 </dev/null"))
}

/// How a server redirects http to https, but for the challenges.
#[derive(Debug)]
struct Redirect {
    /// Where, as a part of a sentence.
    place: &'static str,
    lines: Vec<String>,
}

impl Redirect {
    /// For a server with this site in a file of its own; `None` where it does more than is understood here.
    fn of(server: &Server, site: &Site, own: Option<&SiteFile>) -> Option<Self> {
        let Site { names, root, .. } = site;
        let text = &own?.text;
        let blocks = |begin: &str| lines_with(text, begin).count();
        match server.name {
            "nginx" => {
                let is_plain = blocks("server {") == 1
                    && blocks("listen 443") == 0
                    && blocks("return ") == 0
                    && !root.is_empty();
                let of_block = lines_with(text, "server_name ").next().filter(|_| is_plain)?;
                let listen: Vec<&str> =
                    lines_with(text, "listen ").filter(|line| line.contains("80")).collect();
                let lines = ["server {".to_owned()].into_iter();
                let lines = lines.chain(listen.iter().map(|line| format!("    {line}")));
                let lines = lines.chain([
                    format!("    {of_block}"),
                    format!("    location {CHALLENGE_PATH} {{ root {root}; }}"),
                    "    location / { return 301 https://$host$request_uri; }".to_owned(),
                    "}".to_owned(),
                ]);
                let place = "move its lines for port 80 to a block of their own";
                (!listen.is_empty()).then(|| Self { place, lines: lines.map(|line| escape(&line).into_owned()).collect() })
            }
            "apache" => {
                let is_plain = blocks("<VirtualHost ") == 1 && blocks("Redirect") == 0;
                let name = names.first().filter(|_| is_plain)?;
                let challenges = CHALLENGE_PATH.trim_start_matches('/').replace('.', "[.]");
                let line = format!("RedirectMatch 301 ^/(?!{challenges})(.*)$ https://{name}/$1");
                Some(Self { place: "in the VirtualHost of port 80", lines: vec![escape(&line).into_owned()] })
            }
            "haproxy" => (blocks("http-request redirect ") == 0).then(|| Self {
                place: "in the frontend of port 80",
                lines: vec![format!(
                    "http-request redirect scheme https unless {{ ssl_fc }} or {{ path_beg {CHALLENGE_PATH} }}"
                )],
            }),
            _ => None,
        }
    }
}

/// The lines of a configuration that begin with this, without their margin.
fn lines_with<'t>(text: &'t str, begin: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines().map(str::trim).filter(move |line| line.starts_with(begin))
}

/// The configuration file of this server on this host that has the first of these names.
fn own_site(server: &Server, names: &[DnsName]) -> Option<SiteFile> {
    let folders = match server.name {
        "nginx" => &["/etc/nginx"][..],
        "apache" => &["/etc/apache2", "/etc/httpd"],
        // It has one file.
        "haproxy" => return SiteFile::at(Path::new(FILE_OF_HAPROXY)),
        _ => return None,
    };
    let name = names.iter().find(|name| !name.is_wildcard())?;
    let is_of_server = |file: &SiteFile| folders.iter().any(|folder| file.path.starts_with(folder));
    SiteFile::all().into_iter().find(|file| is_of_server(file) && file.has(name))
}

/// The folder of its configuration that a server reads whole, with its packages of this host.
fn sites(server: &str) -> Option<&'static str> {
    match server {
        "nginx" => Some("/etc/nginx/conf.d"),
        "apache" => {
            let folders = ["/etc/apache2/sites-enabled", "/etc/httpd/conf.d"];
            folders.into_iter().find(|folder| Path::new(folder).is_dir())
        }
        _ => None,
    }
}

/// Whether the module for TLS of Debian's Apache is there, and not enabled.
fn needs_module(server: &Server) -> bool {
    let has = |folder: &str| Path::new("/etc/apache2").join(folder).join("ssl.load").exists();
    server.name == "apache" && has("mods-available") && !has("mods-enabled")
}

/// The settings for a server block that is there, in this text: what it listens on, and the files.
fn within_block(server: &Server, site: &Site, text: &str) -> Vec<String> {
    let has = |word: &str| lines_with(text, word).next().is_some();
    let is_wanted = |line: &String| {
        let line = line.trim_start();
        let is_of_tls = ["ssl_", "SSL", "bind"].iter().any(|begin| line.starts_with(begin));
        is_of_tls || (line.starts_with("listen") && !has("listen 443"))
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

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    SHIPPED.iter().map(|server| server.name)
}

const FILE_OF_HAPROXY: &str = "/etc/haproxy/haproxy.cfg";
/// The address is the one of `create certificate --behind-proxy`.
const FORWARDING_OF_HAPROXY: &[&str] = &[
    "# in the frontend of port 80:",
    "    acl acme path_beg /.well-known/acme-challenge/",
    "    use_backend certctl if acme",
    "# behind it:",
    "backend certctl",
    "    server certctl 127.0.0.1:402",
];
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
        let (folder, root) = ("/f".to_owned(), String::new());
        let names = vec!["a.example.com".to_owned()];
        let site = Site { folder, names, root };
        let of = |text: &str| within_block(Server::of("nginx").unwrap(), &site, text);
        let files = ["ssl_certificate /f/tls.crt;", "ssl_certificate_key /f/tls.key;"];
        assert_eq!(of("server {\n  listen 80;\n}")[0], "listen 443 ssl;");
        assert_eq!(of("server {\n  listen 80;\n}")[1..], files);
        let both = of("server {\n  listen 80;\n  listen [::]:80;\n}");
        assert_eq!(both[..2], ["listen 443 ssl;", "listen [::]:443 ssl;"]);
        assert_eq!(of("server {\n  listen 443 ssl http2;\n}"), files);
        let of = |server: &str| within_block(Server::of(server).unwrap(), &site, "");
        let apache = of("apache").join("\n");
        assert_eq!(
            apache,
            "SSLEngine on\nSSLCertificateFile /f/tls.crt\nSSLCertificateKeyFile /f/tls.key"
        );
        assert_eq!(of("haproxy"), ["bind :443 ssl crt /f/tls-combined.pem"]);
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

    #[test]
    fn a_site_that_is_there_is_redirected_but_for_the_challenges() {
        let of = |server: &str, text: &str| {
            let names = vec!["www.example.com".to_owned(), "example.com".to_owned()];
            let site = Site { folder: "/f".to_owned(), names, root: "/srv/www".to_owned() };
            let own = SiteFile { path: "/etc/x".into(), text: text.to_owned() };
            Redirect::of(Server::of(server).unwrap(), &site, Some(&own)).map(|found| found.lines)
        };
        let nginx = "server {\n\tlisten 80;\n\tlisten [::]:80;\n\tserver_name example.com www.example.com;\n}\n";
        let expected = "server {\n    listen 80;\n    listen [::]:80;\n    server_name example.com \
                        www.example.com;\n    location /.well-known/acme-challenge/ { root /srv/www; }\n    \
                        location / { return 301 https://$host$request_uri; }\n}";
        assert_eq!(of("nginx", nginx).unwrap().join("\n"), expected);
        let apache = "<VirtualHost *:80>\n  ServerName www.example.com\n</VirtualHost>\n";
        let line =
            "RedirectMatch 301 ^/(?![.]well-known/acme-challenge/)(.*)$ https://www.example.com/$1";
        assert_eq!(of("apache", apache).unwrap(), [line]);
        let line = "http-request redirect scheme https unless { ssl_fc } or { path_beg \
                    /.well-known/acme-challenge/ }";
        assert_eq!(of("haproxy", "frontend web\n  bind :80\n").unwrap(), [line]);
        // What is not understood, or has one.
        for (server, text) in [
            ("nginx", format!("{nginx}{nginx}")),
            ("nginx", nginx.replace("listen [::]:80", "listen 443 ssl")),
            ("nginx", nginx.replace('}', "  return 301 https://example.com;\n}")),
            ("nginx", nginx.replace("listen", "# listen")),
            ("apache", format!("{apache}{apache}")),
            (
                "apache",
                apache.replace("ServerName", "Redirect / https://a.example.com/\n  ServerName"),
            ),
            ("haproxy", "frontend web\n  http-request redirect scheme https\n".to_owned()),
            ("postfix", String::new()),
        ] {
            assert_eq!(of(server, &text), None, "{server}: {text}");
        }
    }
}
