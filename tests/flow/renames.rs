//! Promise: whatever of a Certificate is renamed, no verb takes a key or a certificate from another.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use certctl::pki::Chain;

use crate::support::{CertificateYaml, World};

/// An edit of the manifests of `web` and `mail`, after both were issued.
struct Rename {
    what: &'static str,
    edit: fn(&World),
    /// How `web` is named after it.
    now: &'static str,
}

const RENAMES: [Rename; 6] = [
    Rename { what: "name", edit: |world| replace(world, "name: web\n", "name: new\n"), now: "new" },
    Rename {
        what: "namespace",
        edit: |world| {
            let issuer = world.issuer().to_string();
            let elsewhere = issuer.replace("  name: ca\n", "  name: ca\n  namespace: other\n");
            world.write("config/other.yaml", &elsewhere);
            replace(world, "  name: web\n", "  name: web\n  namespace: other\n");
        },
        now: "other/web",
    },
    Rename {
        what: "secretName",
        edit: |world| replace(world, "secretName: web-tls", "secretName: new-tls"),
        now: "web",
    },
    Rename {
        what: "output folder",
        edit: |world| replace(world, "/out/web\"", "/out/new\""),
        now: "web",
    },
    Rename {
        what: "names exchanged",
        edit: |world| exchange(world, "  name: web\n", "  name: mail\n"),
        now: "mail",
    },
    Rename {
        what: "secretNames exchanged",
        edit: |world| exchange(world, "secretName: web-tls", "secretName: mail-tls"),
        now: "web",
    },
];

/// What is run about `web`, under the name that it had. A verb may refuse.
const VERBS: [(&str, &[&[&str]]); 4] = [
    ("forget --secret", &[&["forget", "default/web", "--secret", "--anyway", "--yes"]]),
    ("revoke", &[&["revoke", "default/web", "--now", "--yes"]]),
    ("rollback", &[&["rollback", "default/web"]]),
    // With each revision, older ones are pruned.
    ("prune", &[&["renew", "default/web"], &["renew", "default/web"], &["renew", "default/web"]]),
];

fn replace(world: &World, old: &str, new: &str) {
    let path = world.path("config/web.yaml");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(old), "{old}: {text}");
    world.write("config/web.yaml", &text.replacen(old, new, 1));
}

/// Gives `web` what `mail` had, and the other way round.
fn exchange(world: &World, of_web: &str, of_mail: &str) {
    let mail = fs::read_to_string(world.path("config/mail.yaml")).unwrap();
    assert!(mail.contains(of_mail), "{of_mail}: {mail}");
    replace(world, of_web, of_mail);
    world.write("config/mail.yaml", &mail.replacen(of_mail, of_web, 1));
}

fn world() -> World {
    let world = World::start();
    fs::create_dir(world.path("out")).unwrap();
    let with_output = |name: &str| {
        let folder = world.path(&format!("out/{name}")).display().to_string();
        CertificateYaml::new(name).annotation("certctl/output-dir", &folder)
    };
    world.prepare(&[with_output("web"), with_output("mail")]);
    world.issue().ends_in(0);
    world
}

/// The sets in the state that were published for another certificate than this one, with their keys,
/// and the serials of their certificates.
fn of_others(world: &World, namespace: &str, name: &str) -> BTreeMap<PathBuf, (Vec<u8>, String)> {
    let mut found = BTreeMap::new();
    for space in folders(&world.path("state/secrets")) {
        for set in folders(&space).iter().flat_map(|secret| folders(secret)) {
            let metadata = fs::read_to_string(set.join("metadata.json")).unwrap();
            let owner = format!("\"cert-manager.io/certificate-name\": \"{name}\"");
            let owner_compact = owner.replace(": ", ":");
            let is_its = space.ends_with(namespace)
                && (metadata.contains(&owner) || metadata.contains(&owner_compact));
            if !is_its {
                let chain = fs::read_to_string(set.join("tls.crt")).unwrap();
                let serial = Chain::from_pem(&chain).unwrap().leaf().serial.clone();
                found.insert(set.clone(), (fs::read(set.join("tls.key")).unwrap(), serial));
            }
        }
    }
    found
}

/// The folders in a folder; links are none.
fn folders(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().map(Result::unwrap);
    entries.filter(|one| one.file_type().unwrap().is_dir()).map(|one| one.path()).collect()
}

/// What servers read in the output folders.
fn outputs(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let keys = folders(&world.path("out")).into_iter().map(|folder| folder.join("tls.key"));
    keys.map(|key| (key.clone(), fs::read(&key).unwrap())).collect()
}

#[track_caller]
fn assert_nothing_of_others_is_lost(
    rename: &Rename,
    verb: &str,
    commands: &[&[&str]],
    issues: bool,
) {
    let case = format!("{}, {verb}, issued since: {issues}", rename.what);
    let world = world();
    (rename.edit)(&world);
    if issues {
        world.issue().ends_in(0);
    }
    let (others, outputs_before) = (of_others(&world, "default", "web"), outputs(&world));
    assert!(!others.is_empty(), "{case}");
    let mut printed = String::new();
    for command in commands {
        let run = world.run(command);
        writeln!(printed, "{command:?}: {}{}", run.stdout, run.stderr).unwrap();
    }
    for (set, (key, _)) in &others {
        let now = fs::read(set.join("tls.key"));
        assert!(now.is_ok_and(|now| now == *key), "{case}: {}: {printed}", set.display());
    }
    let revoked: Vec<String> =
        world.ca.revoked_serials().into_iter().map(|(serial, _)| serial).collect();
    let of_another = others.values().find(|(_, serial)| revoked.contains(serial));
    assert_eq!(of_another, None, "{case}: {printed}");
    if verb == "forget --secret" {
        assert_eq!(outputs(&world), outputs_before, "{case}: {printed}");
    }
    // Nothing that was proposed would have done it.
    for file in printed.split_whitespace().filter(|word| word.ends_with("/tls.crt")) {
        let set = fs::canonicalize(file).unwrap().parent().unwrap().to_owned();
        assert!(!others.contains_key(&set), "{case}: {printed}");
    }
}

#[test]
fn no_verb_takes_a_key_or_a_certificate_from_another_certificate_after_a_rename() {
    for rename in &RENAMES {
        std::thread::scope(|scope| {
            for (verb, commands) in VERBS {
                scope.spawn(move || {
                    for issues in [true, false] {
                        assert_nothing_of_others_is_lost(rename, verb, commands, issues);
                    }
                });
            }
        });
    }
}

#[test]
fn the_same_holds_for_the_new_name() {
    let (rename, verb) = (&RENAMES[0], "forget --secret");
    let world = world();
    (rename.edit)(&world);
    world.issue().ends_in(0);
    let before = of_others(&world, "default", "new");
    world.run(&["forget", rename.now, "--secret", "--anyway", "--yes"]).ends_in(0);
    assert_eq!(of_others(&world, "default", "new"), before, "{verb}");
    assert!(!world.path("state/secrets/default/web-tls/tls.key").exists());
}

/// The live pair is the successor's, and what is left of the old one goes.
#[test]
fn what_a_renamed_certificate_left_goes_when_it_is_forgotten_with_its_secret() {
    let world = world();
    (RENAMES[0].edit)(&world);
    world.issue().ends_in(0);
    let folder = world.path("state/secrets/default/web-tls");
    assert_eq!(folders(&folder).len(), 2);
    let said = "web: its earlier key and certificate in ";
    world.run(&["forget", "web", "--secret"]).ends_in(2).says(said);
    assert_eq!(folders(&folder).len(), 2);
    let run = world.run(&["forget", "web", "--secret", "--yes"]).ends_in(0);
    let stays =
        format!("the key and certificate in {} stay, because they belong to new", folder.display());
    assert!(run.stderr.contains(&stays), "{}", run.stderr);
    assert_eq!(folders(&folder).len(), 1);
    world.issue().says_nothing();
    let status = world.run(&["status", "new"]).ends_in(0).stdout;
    assert!(status.starts_with("Status:       READY"), "{status}");
}

#[test]
fn the_folder_of_an_earlier_secret_name_goes_with_the_new_one() {
    let world = world();
    (RENAMES[2].edit)(&world);
    world.issue().ends_in(0);
    fs::remove_file(world.path("config/web.yaml")).unwrap();
    let place = |secret: &str| world.path(&format!("state/secrets/default/{secret}"));
    let unasked = world.run(&["forget", "web", "--secret"]).ends_in(2);
    world.run(&["forget", "web", "--secret", "--yes"]).ends_in(0);
    for secret in ["web-tls", "new-tls"] {
        assert!(!place(secret).exists(), "{secret}");
        let named = format!("its key and certificate in {} will be", place(secret).display());
        assert!(unasked.stderr.contains(&named), "{}", unasked.stderr);
    }
    assert!(place("mail-tls").join("tls.key").exists());
}

/// Two records name the Secret; the certificate in it is that of one.
#[test]
fn a_file_that_is_revoked_is_noted_for_its_own_certificate_only() {
    let world = world();
    (RENAMES[0].edit)(&world);
    world.issue().ends_in(0);
    let live = world.path("state/secrets/default/web-tls");
    for file in ["tls.crt", "tls.key"] {
        fs::copy(live.join(file), world.path(file)).unwrap();
    }
    world.run(&["renew", "new", "--new-key"]).ends_in(0);
    let run = world.run(&["revoke", "./tls.crt", "--reason", "superseded", "--yes"]).ends_in(0);
    let printed = format!("{}{}", run.stdout, run.stderr);
    assert!(printed.contains("new: serial"), "{printed}");
    assert!(!printed.contains("web: serial"), "{printed}");
    assert_eq!(world.state().record("web").revocations, []);
}
