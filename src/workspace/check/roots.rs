//! The document roots of this host's web servers, as far as their configuration files say so in lines of
//! their own.

use std::path::{Path, PathBuf};

use crate::resource::DnsName;

/// The document roots that the configurations of nginx and of Apache name in their usual folders, each with
/// the text of its file. What cannot be read is left out.
pub fn configured_roots() -> Vec<(String, String)> {
    roots_below(CONFIGURATIONS)
}

/// Those of files that have this name, and that are there.
pub fn configured_for(name: &DnsName) -> Vec<String> {
    of_name(configured_roots(), name)
}

fn of_name(roots: Vec<(String, String)>, name: &DnsName) -> Vec<String> {
    let name = name.to_string();
    let is_word = |text: &str| text.split([' ', '\t', '\n', ';']).any(|word| word == name);
    let of_name =
        roots.into_iter().filter(|(text, root)| is_word(text) && Path::new(root).is_dir());
    let mut found: Vec<String> = of_name.map(|(_, root)| root).collect();
    found.sort();
    found.dedup();
    found
}

fn roots_below(folders: &[&str]) -> Vec<(String, String)> {
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let mut files: Vec<PathBuf> = entries.flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let texts = files.iter().filter(|path| path.is_file()).map(std::fs::read_to_string);
    let rooted = |text: String| {
        let roots = roots_in(&text);
        roots.into_iter().map(move |root| (text.clone(), root))
    };
    texts.flatten().flat_map(rooted).collect()
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
             # root /srv/old;\n}}\n<VirtualHost *:80>\n  DocumentRoot \"{blog}\"\n  rootdir /x;\n  \
             root $home;\n"
        );
        assert_eq!(roots_in(&text), [&*shop, &*blog]);
        let file = folder.path().join("shop.conf");
        crate::store::atomic::write(&file, text.as_bytes(), 0o644).unwrap();
        let folders = [folder.path().to_str().unwrap(), "/no/such/folder"];
        let roots = roots_below(&folders);
        assert_eq!(roots, [(text.clone(), shop.clone()), (text, blog)]);
        let of = |name: &str| of_name(roots.clone(), &name.parse().unwrap());
        assert_eq!(of("shop.example.com"), [shop], "the other one is not there");
        assert_eq!(of("example.com"), Vec::<String>::new());
    }
}
