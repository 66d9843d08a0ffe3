//! How a server redirects http to https, but for the challenges, which a CA may not follow.

use super::{Server, Site};
use crate::cli::output::escape;
use crate::resource::CHALLENGE_PATH;
use crate::workspace::check::{SiteFile, beside, lines_with};

/// What is to be changed for it.
#[derive(Debug)]
pub(super) struct Redirect {
    /// Where, as a part of a sentence.
    pub(super) place: String,
    pub(super) lines: Vec<String>,
}

impl Redirect {
    /// For a server with this site in a file of its own; `None` where it does more than is understood here.
    pub(super) fn of(server: &Server, site: &Site, own: Option<&SiteFile>) -> Option<Self> {
        let text = &own?.text;
        match server.name {
            "nginx" => of_nginx(site, text),
            "apache" => of_apache(site, text),
            "haproxy" => of_haproxy(text),
            _ => None,
        }
    }

    fn new(place: &str, lines: &[String]) -> Self {
        let lines = lines.iter().map(|line| escape(line).into_owned()).collect();
        Self { place: place.to_owned(), lines }
    }
}

/// How many lines begin with this.
fn count(text: &str, begin: &str) -> usize {
    lines_with(text, begin).count()
}

/// A server block beside the one that is there.
fn of_nginx(Site { root, names, .. }: &Site, text: &str) -> Option<Redirect> {
    let is_plain = count(text, "server {") == 1
        && count(text, "listen 443") == 0
        && count(text, "return ") == 0
        && !root.is_empty();
    let server_name = lines_with(text, "server_name ").next().filter(|_| is_plain)?;
    let listen = lines_with(text, "listen ").filter(|line| line.contains("80"));
    let listen: Vec<String> = listen.map(|line| format!("    {line}")).collect();
    if listen.is_empty() {
        return None;
    }
    if !beside(text, names).is_empty() {
        return of_some_names(names);
    }
    let rest = [
        format!("    {server_name}"),
        format!("    location {CHALLENGE_PATH} {{ root {root}; }}"),
        "    location / { return 301 https://$host$request_uri; }".to_owned(),
        "}".to_owned(),
    ];
    let lines = [vec!["server {".to_owned()], listen, rest.to_vec()].concat();
    Some(Redirect::new(
        "take the listen lines for port 80 out of that server block, and put this one below it",
        &lines,
    ))
}

/// Conditions in the block, for the names of the certificate: behind a redirect, a client expects a
/// certificate for the others, too.
fn of_some_names(names: &[String]) -> Option<Redirect> {
    let plain: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| !name.starts_with("*.")).collect();
    if plain.is_empty() {
        return None;
    }
    let all = plain.join("|").replace('.', "[.]");
    let challenges = CHALLENGE_PATH.replace('.', "[.]");
    let place = format!("add this to the same block, for {} alone", escape(&plain.join(", ")));
    let lines = [
        "set $certctl_to $scheme:$host;".to_owned(),
        format!("if ($uri ~ ^{challenges}) {{ set $certctl_to \"\"; }}"),
        format!("if ($certctl_to ~ ^http:({all})$) {{ return 301 https://$host$request_uri; }}"),
    ];
    Some(Redirect::new(&place, &lines))
}

fn of_apache(Site { names, .. }: &Site, text: &str) -> Option<Redirect> {
    let is_plain = count(text, "<VirtualHost ") == 1 && count(text, "Redirect") == 0;
    let name = names.first().filter(|_| is_plain)?;
    let challenges = CHALLENGE_PATH.trim_start_matches('/').replace('.', "[.]");
    let line = format!("RedirectMatch 301 ^/(?!{challenges})(.*)$ https://{name}/$1");
    let to = if names.len() > 1 {
        format!(", by which all names lead to {name}")
    } else {
        String::new()
    };
    Some(Redirect::new(&format!("add this to the VirtualHost of port 80{to}"), &[line]))
}

fn of_haproxy(text: &str) -> Option<Redirect> {
    let line = format!(
        "http-request redirect scheme https code 301 unless {{ ssl_fc }} or {{ path_beg {CHALLENGE_PATH} }}"
    );
    (count(text, "http-request redirect ") == 0)
        .then(|| Redirect::new("add this to the frontend of port 80, above use_backend", &[line]))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for (names, place) in
            [(&["a", "b"][..], "port 80, by which all names lead to a"), (&["a"], "port 80")]
        {
            let names = names.iter().map(ToString::to_string).collect();
            let site = Site { folder: String::new(), names, root: String::new() };
            let found = of_apache(&site, apache).unwrap().place;
            assert_eq!(found, format!("add this to the VirtualHost of {place}"));
        }
        let line = "http-request redirect scheme https code 301 unless { ssl_fc } or { path_beg \
                    /.well-known/acme-challenge/ }";
        assert_eq!(of("haproxy", "frontend web\n  bind :80\n").unwrap(), [line]);
        let other = nginx.replace("example.com www", "shop.example.com www");
        let expected = "set $certctl_to $scheme:$host;\nif ($uri ~ ^/[.]well-known/acme-challenge/) { set \
                        $certctl_to \"\"; }\nif ($certctl_to ~ \
                        ^http:(www[.]example[.]com|example[.]com)$) { return 301 \
                        https://$host$request_uri; }";
        assert_eq!(of("nginx", &other).unwrap().join("\n"), expected, "not of another name");
        let split = other.replace('}', "  return 301 https://shop.example.com;\n}");
        assert_eq!(of("nginx", &split), None, "it is redirected already");
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
