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

    /// Whether this name is a word of it, outside of comments.
    pub fn has(&self, name: &DnsName) -> bool {
        let name = name.to_string();
        let lines = self.text.lines().filter(|line| !line.trim_start().starts_with('#'));
        lines.flat_map(|line| line.split([' ', '\t', ';'])).any(|word| word == name)
    }

    fn below(folders: &[&str]) -> Vec<Self> {
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
        let mut files: Vec<PathBuf> =
            entries.flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).ok()?;
            Some(Self { path, text })
        };
        files.into_iter().filter(|path| path.is_file()).filter_map(read).collect()
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
