//! The document roots of this host's web servers, as far as their configuration files say so in lines of
//! their own.

use std::path::{Path, PathBuf};

use crate::resource::DnsName;

/// A configuration file of a web server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFile {
    pub path: PathBuf,
    pub text: String,
}

impl SiteFile {
    /// Those of nginx and of Apache in their usual folders. What cannot be read is left out.
    pub fn all() -> Vec<Self> {
        Self::below(CONFIGURATIONS)
    }

    /// The one of this path, where it can be read.
    pub fn at(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        Some(Self { path: path.to_owned(), text })
    }

    /// Whether this name is a word of it, outside of comments.
    pub fn has(&self, name: &DnsName) -> bool {
        let name = name.to_string();
        self.terms().any(|word| word == name)
    }

    /// Its words, outside of comments.
    fn terms(&self) -> impl Iterator<Item = &str> {
        let lines = self.text.lines().filter(|line| !line.trim_start().starts_with('#'));
        lines.flat_map(|line| line.split([' ', '\t', ';']))
    }

    /// Whether this name, or a wildcard that covers it, is a word of it.
    pub fn serves(&self, name: &DnsName) -> bool {
        let name = name.to_string();
        // As nginx has it: each begins at a dot, and `.example.com` is also `example.com`.
        let covers = |word: &str| {
            let of_wildcard = word.strip_prefix('*').unwrap_or(word);
            of_wildcard.starts_with('.') && name.ends_with(of_wildcard)
                || word.strip_prefix('.') == Some(&name)
        };
        self.terms().any(|word| word == name || covers(word))
    }

    fn below(folders: &[&str]) -> Vec<Self> {
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
        let mut files: Vec<PathBuf> =
            entries.flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.iter().filter(|path| path.is_file()).filter_map(|path| Self::at(path)).collect()
    }
}

/// The document roots that the configurations of nginx and of Apache name.
pub fn configured_roots() -> Vec<String> {
    SiteFile::all().iter().flat_map(|file| roots_in(&file.text)).collect()
}

/// Those of files that have this name, and that are there.
pub fn configured_for(name: &DnsName) -> Vec<String> {
    of_name(&SiteFile::all(), name)
}

fn of_name(files: &[SiteFile], name: &DnsName) -> Vec<String> {
    let of_name = files.iter().filter(|file| file.has(name));
    let roots = of_name.flat_map(|file| roots_in(&file.text));
    let mut found: Vec<String> = roots.filter(|root| Path::new(root).is_dir()).collect();
    found.sort();
    found.dedup();
    found
}

/// The names that nginx serves in a server block of one of these, or Apache in a virtual host, and that
/// none of these covers.
pub fn configured_beside(names: &[String]) -> Vec<String> {
    let files = SiteFile::all();
    let mut found: Vec<String> =
        files.iter().flat_map(|file| beside(&file.text, names)).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

/// The lines of a configuration that begin with this, without their margin.
pub fn lines_with<'t>(text: &'t str, begin: &'t str) -> impl Iterator<Item = &'t str> {
    text.lines().map(str::trim).filter(move |line| line.starts_with(begin))
}

/// The names that a site of this configuration has besides these.
pub fn beside<'t>(text: &'t str, names: &[String]) -> Vec<&'t str> {
    let is_covered = |word: &str| {
        let above = word.split_once('.').map(|(_, above)| above);
        let is_wildcard_of = |base| above == Some(base);
        names.iter().any(|name| name == word || name.strip_prefix("*.").is_some_and(is_wildcard_of))
    };
    let beside = |words: Vec<&'t str>| {
        let (ours, others): (Vec<&str>, Vec<&str>) =
            words.into_iter().partition(|word| is_covered(word));
        let is_host = |word: &&str| {
            word.contains('.') && word.parse::<DnsName>().is_ok_and(|name| !name.is_wildcard())
        };
        let others = others.into_iter().filter(is_host);
        if ours.is_empty() { Vec::new() } else { others.collect() }
    };
    let of_nginx = text.lines().filter_map(|line| {
        let words = line.trim_start().strip_prefix("server_name ")?.split(';').next()?;
        Some(words.split_whitespace().collect())
    });
    let of_apache = text.split("<VirtualHost ").skip(1).map(|host| {
        let names = ["ServerName ", "ServerAlias "];
        let of_line = |line: &'t str| {
            names.iter().find_map(|name| line.trim_start().strip_prefix(name)).unwrap_or_default()
        };
        host.lines().flat_map(|line| of_line(line).split_whitespace()).collect()
    });
    of_nginx.chain(of_apache).flat_map(beside).collect()
}

fn roots_in(text: &str) -> Vec<String> {
    let root = |line: &str| {
        let line = line.trim();
        let of_nginx = || line.strip_prefix("root ").and_then(|rest| rest.split(';').next());
        let path = line.strip_prefix("DocumentRoot ").or_else(of_nginx)?;
        let path = path.trim().trim_matches('"').trim_end_matches('/');
        path.starts_with('/').then(|| path.to_owned())
    };
    text.lines().filter_map(root).collect()
}

/// Where packages of nginx and of Apache have what names document roots.
const CONFIGURATIONS: &[&str] = &[
    "/etc/nginx/conf.d",
    "/etc/nginx/sites-enabled",
    "/etc/apache2/sites-enabled",
    "/etc/httpd/conf.d",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_block_may_have_more_names_than_the_certificate() {
        let text = "server {\n\tserver_name www.example.com example.com;\n}\nserver {\n  server_name \
                    blog.example.com; # server_name www.example.com no.example.com;\n}\nserver {\n  \
                    server_name www.example.org _ ~^a$ *.example.org org a.example.org;\n}\n";
        for (names, others) in [
            (&["www.example.com"][..], &["example.com"][..]),
            (&["www.example.com", "example.com"], &[]),
            (&["blog.example.com"], &[]),
            (&["*.example.com"], &["example.com"]),
            (&["a.example.org"], &["www.example.org"]),
        ] {
            let of: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(beside(text, &of), others, "{names:?}");
        }
        let text = "<VirtualHost *:80>\n  ServerName example.com\n  # ServerAlias no.example.com\n  \
                    ServerAlias www.example.com a.example.com\n</VirtualHost>\n<VirtualHost *:80>\n  \
                    ServerName b.example.com\n</VirtualHost>\n";
        let of = |name: &str| beside(text, &[name.to_owned()]);
        assert_eq!(of("www.example.com"), ["example.com", "a.example.com"]);
        assert!(of("b.example.com").is_empty() && of("no.example.com").is_empty());
    }

    #[test]
    fn a_configuration_names_its_roots_and_those_of_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let shop = folder.path().join("shop").to_str().unwrap().to_owned();
        let blog = folder.path().join("blog").to_str().unwrap().to_owned();
        std::fs::create_dir(&shop).unwrap();
        let text = format!(
            "server {{\n  server_name shop.example.com www.shop.example.com;\n  root {shop}/;\n  \
             # root /srv/old.example.com ;\n}}\n<VirtualHost *:80>\n  DocumentRoot \"{blog}\"\n  \
             # ServerName old.example.com\n  rootdir /x;\n  root $home;\n"
        );
        assert_eq!(roots_in(&text), [&*shop, &*blog]);
        let file = folder.path().join("shop.conf");
        crate::store::atomic::write(&file, text.as_bytes(), 0o644).unwrap();
        let folders = [folder.path().to_str().unwrap(), "/no/such/folder"];
        let files = SiteFile::below(&folders);
        assert_eq!(files, [SiteFile { path: file, text }]);
        let of = |name: &str| of_name(&files, &name.parse().unwrap());
        assert_eq!(of("shop.example.com"), [shop], "the other one is not there");
        for other in ["example.com", "old.example.com"] {
            assert_eq!(of(other), Vec::<String>::new(), "{other}");
        }
    }
}
