//! What is to be configured in a server, once its certificate is issued: as complete as the files of this
//! host let it be said.

use std::path::Path;

use super::redirect::Redirect;
use super::{FILE_OF_HAPROXY, Server, Site};
use crate::cli::doctor::is_web_server;
use crate::cli::error::CliError;
use crate::cli::message::Level;
use crate::cli::output::escape;
use crate::cli::screens::Screens;
use crate::cli::shell::Shell;
use crate::cli::wrap::fitted;
use crate::resource::{Certificate, DnsName, Settings};
use crate::trust::{quoted, sudo_on_own};
use crate::workspace::check::{SiteFile, beside, lines_with};

/// What is to be done in the configuration of a server.
#[derive(Debug)]
pub(in crate::cli) struct InServer {
    name: &'static str,
    /// What to do with the lines, as a part of a sentence; `None` where its configuration names the files.
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
    pub(in crate::cli) fn of(
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
            Some(own) => {
                let within = within_block(server, &site, &own.text);
                if server.name == "apache" { whole_host(&own.text, &site, &within) } else { within }
            }
            None => server.settings(&site).collect(),
        };
        let redirect = Redirect::of(server, &site, own.as_ref());
        let lines = settings.iter().map(|line| [sudo(line), &escape(line)].concat());
        let lines = lines.chain(pointer.filter(|_| own.is_none()));
        let has_files = |own: &SiteFile| own.text.contains(&site.folder);
        let is_done = own.as_ref().is_some_and(has_files);
        let place = (!is_done).then(|| place(server, own.as_ref(), &one.metadata.name));
        let program = quoted(&hooks.join(server.name));
        let is_new = own.is_none() && sites(server.name) == Some(SITES_OF_DEBIAN);
        let of_debian = of_debian(needs_module(server), is_new, &one.metadata.name);
        let reload = format!("{}{}", sudo_on_own(), escape(&program));
        Some(Self {
            name: server.name,
            place,
            lines: lines.collect(),
            redirect,
            reload: of_debian.chain([reload]).collect(),
            inspect: match server.port_of_https(&one.spec.dns_names) {
                Some(place) => inspect(&place),
                None => starttls(server.name, &one.spec.dns_names),
            },
        })
    }

    /// As the next thing to do, now that this is done; behind it commands of which none has to be typed. A
    /// terminal has a screen for it, since a run may have filled the one before.
    pub(in crate::cli) fn say(
        &self,
        done: &str,
        steps: &[String],
        shell: &mut Shell,
    ) -> Result<(), CliError> {
        let (next, steps) = (self.required(), steps.join("\n  "));
        let text = format!("{done}; next, {next}\nat any time:\n  {steps}\n");
        let optional = self.optional();
        let mut screens = Screens::of(shell);
        if shell.output.talks_json() || !screens.is_terminal() {
            shell.output.talk(Level::Info, &(text + &optional));
            return Ok(());
        }
        screens.pause(&format!("Enter shows what is left to do in {}> ", self.name), shell)?;
        let columns = shell.columns();
        if screens.print(&fitted(&text, columns), shell)? && !optional.is_empty() {
            let optional = fitted(&optional, columns) + "\n";
            screens.print_together(&optional, SHOWS_OPTIONAL, shell)?;
        }
        Ok(())
    }

    /// A sentence without its beginning, and the lines.
    pub(in crate::cli) fn text(&self) -> String {
        let (required, optional) = (self.required(), self.optional());
        if optional.is_empty() { required } else { required + "\n" + &optional }
    }

    /// What may be done besides.
    fn optional(&self) -> String {
        // What names the files already may redirect, too.
        let redirect = self.redirect.as_ref().filter(|_| self.place.is_some());
        let redirect = redirect.map(|Redirect { place, lines }| {
            let lines: String = lines.iter().flat_map(|line| ["\n  ", line]).collect();
            format!(
                "optional, once https works: to redirect http to https, {place}; then reload {} \
                 again:{lines}",
                self.name
            )
        });
        redirect.unwrap_or_default()
    }

    fn required(&self) -> String {
        let Self { name, place, lines, reload, inspect, .. } = self;
        let inspect = inspect.as_ref().map(|inspect| {
            format!(
                "\nand see which certificate it presents (here; try a client, too):\n  {inspect}"
            )
        });
        let inspect = inspect.unwrap_or_default();
        let begin = match place {
            Some(place) => {
                let enable = if reload.len() > 1 { "enable this, and " } else { "" };
                let checked =
                    if is_web_server(name) { " (its configuration is checked first)" } else { "" };
                format!("{place}:\n  {}\nthen {enable}reload {name}{checked}", lines.join("\n  "))
            }
            None => format!("reload {name}, whose configuration names the files"),
        };
        format!("{begin}:\n  {}{inspect}", reload.join("\n  "))
    }
}

/// What shows the certificate of a server that begins without TLS.
fn starttls(server: &str, names: &[DnsName]) -> Option<String> {
    let name = names.iter().find(|name| !name.is_wildcard()).filter(|_| server == "postfix")?;
    let look = format!("openssl s_client -starttls smtp -connect {name}:25 </dev/null 2>/dev/null");
    Some(format!("{look} |\n    openssl x509 -noout -ext subjectAltName -enddate"))
}

/// What to do with the settings of a Certificate of this name, as a part of a sentence.
fn place(server: &Server, own: Option<&SiteFile>, name: &str) -> String {
    let program = server.name;
    let reads = format!(" ({program} reads tls.key as root)");
    let reads = if server.is_copied { "" } else { &reads };
    let Some(own) = own else {
        return match sites(program) {
            Some(sites) => {
                format!("write a new file of {program}, such as {sites}/{name}.conf{reads}")
            }
            // By commands.
            None if program == "postfix" => format!("configure {program}{reads}"),
            None => format!("add to the configuration of {program}{reads}"),
        };
    };
    // An editor may replace the link by which a site is enabled.
    let path = own.path.canonicalize().unwrap_or_else(|_| own.path.clone());
    let path = path.to_string_lossy();
    let path = escape(&path);
    match program {
        "haproxy" => format!("add to a frontend of {path}{reads}"),
        "apache" => format!("append this to {path}, a copy of its VirtualHost for port 443{reads}"),
        _ => format!("add to the server block of nginx in {path}{reads}"),
    }
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
            let folders = [SITES_OF_DEBIAN, "/etc/httpd/conf.d"];
            folders.into_iter().find(|folder| Path::new(folder).is_dir())
        }
        _ => None,
    }
}

const SHOWS_OPTIONAL: &str = "Enter shows what is optional, q ends the text> ";

/// From which a site is enabled by a command.
const SITES_OF_DEBIAN: &str = "/etc/apache2/sites-available";

/// Whether the module for TLS of Debian's Apache is there, and not enabled.
fn needs_module(server: &Server) -> bool {
    let has = |folder: &str| Path::new("/etc/apache2").join(folder).join("ssl.load").exists();
    server.name == "apache" && has("mods-available") && !has("mods-enabled")
}

/// The commands by which Debian's Apache gets its module for TLS, and a new site of this name.
fn of_debian(needs_module: bool, is_new: bool, name: &str) -> impl Iterator<Item = String> {
    let sudo = sudo_on_own();
    let module = format!("{sudo}a2enmod ssl   # a reload is enough, not the restart that it names");
    let site = format!("{sudo}a2ensite {name}");
    needs_module.then_some(module).into_iter().chain(is_new.then_some(site))
}

/// The virtual host of this configuration for port 443, with these settings; where it is not plain, the
/// settings alone.
fn whole_host(text: &str, Site { names, .. }: &Site, settings: &[String]) -> Vec<String> {
    let mut hosts = lines_with(text, "<VirtualHost ");
    let (Some(begin), None) = (hosts.next(), hosts.next()) else { return settings.to_vec() };
    let lines = text.lines().skip_while(|line| line.trim() != begin).skip(1);
    let inner: Vec<&str> =
        lines.take_while(|line| !line.trim_start().starts_with("</VirtualHost")).collect();
    let is_plain = begin.contains(":80>")
        && inner.len() <= MOST_LINES
        && !inner.iter().any(|line| ["Redirect", "Rewrite"].iter().any(|word| line.contains(word)));
    if !is_plain {
        return settings.to_vec();
    }
    let inner = inner.into_iter().filter(|line| !line.trim_start().starts_with('#'));
    let others = beside(text, names);
    let inner = inner.map(|line| {
        // Those that the certificate does not have stay with port 80.
        let is_other = |part: &str| others.contains(&part.trim());
        let parts = line.split_inclusive(' ').filter(|part| !is_other(part));
        parts.collect::<String>().replace('\t', "    ").trim_end().to_owned()
    });
    let inner = inner.filter(|line| !["ServerAlias", "ServerName"].contains(&line.trim()));
    let inner = inner.filter(|line| !line.is_empty());
    let begin = begin.replace(":80>", ":443>");
    let settings = settings.iter().map(|line| format!("    {line}"));
    [begin].into_iter().chain(inner).chain(settings).chain(["</VirtualHost>".to_owned()]).collect()
}

/// Of a virtual host that is shown whole.
const MOST_LINES: usize = 20;

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

/// Where a package installs examples of manifests, which begin with the configuration of the server.
const EXAMPLES: &str = "/usr/share/doc/certctl/examples";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_that_is_enabled_by_a_link_is_named_by_its_own_path() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (own, link) = (folder.join("available.conf"), folder.join("enabled.conf"));
        crate::store::atomic::write(&own, b"server {}\n", 0o644).unwrap();
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let site = SiteFile::at(&link).unwrap();
        let place = place(Server::of("nginx").unwrap(), Some(&site), "web");
        let begin = format!("add to the server block of nginx in {}", own.display());
        assert!(place.starts_with(&begin), "{place}");
    }

    #[test]
    fn what_is_optional_comes_after_what_is_to_be_done() {
        let redirect = Redirect { place: "in it".to_owned(), lines: vec!["redirect".to_owned()] };
        let server = InServer {
            name: "apache",
            place: Some("add to it".to_owned()),
            lines: vec!["SSLEngine on".to_owned()],
            redirect: Some(redirect),
            reload: vec!["a2enmod ssl".to_owned(), "hooks.d/apache".to_owned()],
            inspect: Some("certctl inspect a.test:443".to_owned()),
        };
        let begin = "add to it:\n  SSLEngine on\nthen enable this, and reload apache (its \
                     configuration is checked first):\n  a2enmod ssl\n  hooks.d/apache\nand see which certificate it \
                     presents (here; try a client, too):\n  certctl inspect a.test:443";
        let optional = "\noptional, once https works: to redirect http to https, in it; then reload \
                        apache again:\n  redirect";
        assert_eq!(server.text(), [begin, optional].concat());
        let one = InServer { reload: vec!["hooks.d/apache".to_owned()], ..server };
        assert!(one.text().contains("\nthen reload apache (its"));
        let done = InServer { place: None, ..one };
        let text = "reload apache, whose configuration names the files:\n  hooks.d/apache\nand see which \
                    certificate it presents (here; try a client, too):\n  certctl inspect a.test:443";
        assert_eq!(done.text(), text, "it may redirect already");
    }

    #[test]
    fn debians_apache_gets_its_module_and_a_new_site_by_commands() {
        let sudo = sudo_on_own();
        let module =
            format!("{sudo}a2enmod ssl   # a reload is enough, not the restart that it names");
        let site = format!("{sudo}a2ensite web");
        let of = |needs_module, is_new| of_debian(needs_module, is_new, "web").collect::<Vec<_>>();
        assert_eq!(of(true, true), [module.clone(), site.clone()]);
        assert_eq!(of(true, false), [module]);
        assert_eq!(of(false, true), [site]);
        assert!(of(false, false).is_empty());
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
        let host =
            "<VirtualHost *:80>\n\tServerName a.example.com\n\n\t# Redirect\n</VirtualHost>\n";
        let whole = |text: &str| whole_host(text, &site, &["SSLEngine on".to_owned()]).join("\n");
        assert_eq!(whole(host), "SSLEngine on", "a word that is not understood, also in a comment");
        assert_eq!(
            whole(&host.replace("Redirect", "about")),
            "<VirtualHost *:443>\n    ServerName a.example.com\n    SSLEngine on\n</VirtualHost>"
        );
        let plain = host.replace("Redirect", "about");
        let aliased = plain.replace("\t#", "\tServerAlias b.example.com c.example.com\n\t#");
        assert_eq!(whole(&aliased), whole(&plain), "without names that the certificate lacks");
        for other in [format!("{plain}{plain}"), plain.replace(":80", ""), String::new()] {
            assert_eq!(whole(&other), "SSLEngine on", "{other}");
        }
    }
}
