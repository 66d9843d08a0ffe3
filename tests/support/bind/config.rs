//! The configuration of BIND: keys, and zones with who may change what in them.

use std::fmt::Write as _;
use std::path::Path;

/// As in a manifest, and as BIND has it; each has a key of its own: [`key_of`].
pub(crate) const ALGORITHMS: [(&str, &str); 6] = [
    ("HMACMD5", "hmac-md5"),
    ("HMACSHA1", "hmac-sha1"),
    ("HMACSHA224", "hmac-sha224"),
    ("HMACSHA256", "hmac-sha256"),
    ("HMACSHA384", "hmac-sha384"),
    ("HMACSHA512", "hmac-sha512"),
];

/// Of all keys, in base64.
pub(crate) const SECRET: &str = "Y2VydGN0bCB0ZXN0cyBzaWduIHRoZWlyIHVwZGF0ZXMgd2l0aCB0aGlzIQ==";

/// The name of the key of an algorithm, as in a manifest.
pub(crate) fn key_of(algorithm: &str) -> String {
    format!("Certctl-{algorithm}.Test")
}

/// What a name server does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Role {
    /// Authoritative, for the zones of [`write`].
    Primary,
    /// Asks the server at this port of 127.0.0.1, and remembers its answers.
    Forwarder(u16),
    /// Refers to the servers of `cached.test`, and is not recursive.
    Parent,
    /// Refuses all names.
    Refusing,
}

/// Writes `named.conf` and the zones.
///
/// * `example.test`: every key may change TXT records. There is a foreign value at
///   `_acme-challenge`, with a TTL of its own.
/// * `open.test`: any client on this machine may update it; it has a foreign value.
/// * `other.test`: only the key `only-other` may change it.
/// * `cached.test`: as `open.test`, and a resolver keeps for an hour that a name is absent.
/// * `alias.test`: no client may update it; `_acme-challenge` points to `x.other.test`.
///
/// It is a recursive server too, or else it would not follow that alias for Pebble; the root is its
/// own, so that it queries no other server.
pub(super) fn write(folder: &Path, port: u16, mark: &str, role: Role) {
    let (recursion, zones) = match role {
        Role::Primary => ("recursion yes;".to_owned(), None),
        Role::Forwarder(to) => {
            let to = format!("forward only; forwarders {{ 127.0.0.1 port {to}; }};");
            (format!("recursion yes; {to}"), Some(vec![]))
        }
        Role::Parent => ("recursion no;".to_owned(), Some(vec![("test", REFERRAL.to_owned())])),
        Role::Refusing => ("recursion no;".to_owned(), Some(vec![])),
    };
    let place = folder.display();
    let mut config = format!(
        "options {{ directory \"{place}\"; pid-file \"{place}/pid\"; lock-file none;\n\
         session-keyfile \"{place}/session.key\"; managed-keys-directory \"{place}\";\n\
         listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
         {recursion} dnssec-validation no; notify no; empty-zones-enable no;\n\
         allow-transfer {{ any; }}; }};\ncontrols {{ }};\n"
    );
    if let Some(zones) = zones {
        let mark = ("who-is-it", format!("{HEAD}mark TXT \"{mark}\"\n"));
        for (zone, text) in zones.into_iter().chain([mark]) {
            let file = format!("{zone}.zone");
            writeln!(config, "zone \"{zone}\" {{ type master; file \"{file}\"; }};").unwrap();
            write_file(&folder.join(file), &text);
        }
        return write_file(&folder.join("named.conf"), &config);
    }
    let mut grants = String::new();
    for (word, algorithm) in ALGORITHMS {
        let key = key_of(word);
        writeln!(config, "key \"{key}\" {{ algorithm {algorithm}; secret \"{SECRET}\"; }};")
            .unwrap();
        write!(grants, "grant \"{key}\" zonesub TXT; ").unwrap();
    }
    writeln!(config, "key \"only-other\" {{ algorithm hmac-sha256; secret \"{SECRET}\"; }};")
        .unwrap();
    let zones = [
        ("example.test", format!("update-policy {{ {grants}}};"), EXAMPLE),
        ("open.test", "allow-update { 127.0.0.1; };".to_owned(), EXAMPLE),
        ("cached.test", "allow-update { 127.0.0.1; };".to_owned(), ""),
        ("other.test", "allow-update { key \"only-other\"; };".to_owned(), ""),
        ("alias.test", String::new(), "_acme-challenge CNAME x.other.test.\n"),
        (".", String::new(), ""),
        ("who-is-it", String::new(), &format!("mark TXT \"{mark}\"\n")),
    ];
    for (zone, policy, records) in zones {
        let file = format!("{zone}.zone");
        writeln!(config, "zone \"{zone}\" {{ type master; file \"{file}\"; {policy} }};").unwrap();
        let head = if zone == "cached.test" {
            HEAD.replace("86400 0", "86400 3600")
        } else {
            HEAD.to_owned()
        };
        write_file(&folder.join(file), &format!("{head}{records}"));
    }
    write_file(&folder.join("named.conf"), &config);
}

/// A TTL of 0, since a test queries immediately after a change.
const HEAD: &str = "$TTL 60\n@ 60 SOA ns root 1 3600 600 86400 0\n@ NS ns\n@ A 127.0.0.1\n\
                    ns A 127.0.0.1\nwww A 127.0.0.1\n";
/// A delegation.
const REFERRAL: &str = "$TTL 60\n@ 60 SOA ns root 1 3600 600 86400 0\n@ NS ns\nns A 127.0.0.1\n\
                        cached NS ns.cached\nns.cached A 127.0.0.1\n";
const EXAMPLE: &str = "_acme-challenge 3600 TXT \"foreign\"\n";

#[expect(clippy::disallowed_methods, reason = "a file of a test")]
fn write_file(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}
