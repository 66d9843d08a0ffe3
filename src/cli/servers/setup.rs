//! What is to be configured in a server, once its certificate is issued.

use std::path::Path;

use super::{Server, Site};
use crate::cli::render::output::escape;
use crate::cli::render::text::Text;
use crate::cli::verbs::doctor::is_web_server;
use crate::resource::{Certificate, DnsName, Settings};
use crate::trust::{quoted, sudo_on_own};

/// What is to be done in the configuration of a server.
#[derive(Debug)]
pub(in crate::cli) struct InServer {
    name: &'static str,
    /// What to do with the lines, as a part of a sentence.
    place: String,
    /// What it says of the files.
    lines: Vec<String>,
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
        let lines = server.settings(&site).map(|line| [sudo(&line), &escape(&line)].concat());
        let program = quoted(&hooks.join(server.name));
        let is_new = sites(server.name) == Some(SITES_OF_DEBIAN);
        let of_debian = of_debian(needs_module(server), is_new, &one.metadata.name);
        let reload = format!("{}{}", sudo_on_own(), escape(&program));
        Some(Self {
            name: server.name,
            place: place(server, &one.metadata.name),
            lines: lines.chain(pointer).collect(),
            reload: of_debian.chain([reload]).collect(),
            inspect: match server.port_of_https(&one.spec.dns_names) {
                Some(place) => inspect(&place),
                None => starttls(server.name, &one.spec.dns_names),
            },
        })
    }

    /// A sentence without its beginning, and the lines.
    pub(in crate::cli) fn text(&self) -> Text {
        let Self { name, place, lines, reload, inspect } = self;
        let mut text = Text::from(format!("{place}:"));
        text.list(lines);
        let enable = if reload.len() > 1 { "enable this, and " } else { "" };
        let checked =
            if is_web_server(name) { " (its configuration is checked first)" } else { "" };
        text.push(&format!("\nthen {enable}reload {name}{checked}:"));
        text.list(reload);
        if let Some(inspect) = inspect {
            text.push("\nand see which certificate it presents (here; try a client, too):");
            text.list(std::slice::from_ref(inspect));
        }
        text
    }
}

/// What shows the certificate of a server that begins without TLS.
fn starttls(server: &str, names: &[DnsName]) -> Option<String> {
    let name = names.iter().find(|name| !name.is_wildcard()).filter(|_| server == "postfix")?;
    let look = format!("openssl s_client -starttls smtp -connect {name}:25 </dev/null 2>/dev/null");
    Some(format!("{look} |\n    openssl x509 -noout -ext subjectAltName -enddate"))
}

/// What to do with the settings of a Certificate of this name, as a part of a sentence.
fn place(server: &Server, name: &str) -> String {
    let program = server.name;
    let reads = format!(" ({program} reads tls.key as root)");
    let reads = if server.is_copied { "" } else { &reads };
    match sites(program) {
        Some(sites) => format!(
            "write a new file of {program}, such as {sites}/{name}.conf, or add what is missing to the \
             site that is there{reads}"
        ),
        // By commands.
        None if program == "postfix" => format!("configure {program}{reads}"),
        None => format!("add to {}{reads}", server.configuration()),
    }
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

/// Where a package installs examples of manifests, which begin with the configuration of the server.
const EXAMPLES: &str = "/usr/share/doc/certctl/examples";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_done_in_a_server_ends_with_what_it_presents() {
        let server = InServer {
            name: "apache",
            place: "add to it".to_owned(),
            lines: vec!["SSLEngine on".to_owned()],
            reload: vec!["a2enmod ssl".to_owned(), "hooks.d/apache".to_owned()],
            inspect: Some("certctl inspect a.test:443".to_owned()),
        };
        let text = "add to it:\n  SSLEngine on\nthen enable this, and reload apache (its configuration is \
                    checked first):\n  a2enmod ssl\n  hooks.d/apache\nand see which certificate it \
                    presents (here; try a client, too):\n  certctl inspect a.test:443";
        assert_eq!(server.text().to_string(), text);
        let one = InServer { reload: vec!["hooks.d/apache".to_owned()], ..server };
        assert!(one.text().to_string().contains("\nthen reload apache (its"));
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
}
