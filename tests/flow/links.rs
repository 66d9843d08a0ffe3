//! Promise: a state that came back without its links, or with folders and files in their place,
//! costs no order and no key; and what servers do not find is not called READY.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use certctl::rehearsal::RequestKind;
use certctl::resource::LeafFacts;
use certctl::store::atomic;
use serde_json::{Value, json};

use crate::support::{CertificateYaml, World};

/// Certificates of which revision 2 is live and revision 1 is kept.
fn renewed(names: &[&str]) -> World {
    let certificates: Vec<_> = names.iter().map(|name| CertificateYaml::new(name)).collect();
    let world = World::prepared(&certificates);
    world.issue().ends_in(0);
    world.run(&["renew", "--all", "--yes"]).ends_in(0);
    world
}

/// Something that happens to the folder of a Secret, or to a set in it.
type Damage = fn(&Path);

/// Another text in a file, private as certctl's are.
fn damage(path: &Path, text: &str) {
    atomic::write(path, text.as_bytes(), 0o600).unwrap();
}

fn folder(world: &World, name: &str) -> PathBuf {
    world.path(&format!("state/secrets/default/{name}-tls"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Links with their targets, files with their contents.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for name in names(folder) {
        let path = folder.join(&name);
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_symlink() {
            all.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
        } else if kind.is_dir() {
            all.extend(
                tree(&path).into_iter().map(|(below, text)| (format!("{name}/{below}"), text)),
            );
        } else {
            all.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    all
}

/// A restore that leaves symbolic links out.
fn without_links(folder: &Path) {
    for name in names(folder) {
        if folder.join(&name).is_symlink() {
            fs::remove_file(folder.join(&name)).unwrap();
        }
    }
}

fn without_data(folder: &Path) {
    fs::remove_file(folder.join("..data")).unwrap();
}

fn private(folder: &Path) {
    fs::create_dir(folder).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
}

/// A restore that follows symbolic links.
fn followed(folder: &Path) {
    let live = fs::canonicalize(folder.join("..data")).unwrap();
    without_links(folder);
    private(&folder.join("..data"));
    for name in names(&live) {
        fs::copy(live.join(&name), folder.join("..data").join(&name)).unwrap();
        if name != "metadata.json" {
            fs::copy(live.join(&name), folder.join(&name)).unwrap();
        }
    }
}

/// The same, by something that leaves names with dots out of the copies.
fn copied_names(folder: &Path) {
    followed(folder);
    fs::remove_dir_all(folder.join("..data")).unwrap();
}

fn empty_folder(folder: &Path) {
    without_data(folder);
    private(&folder.join("..data"));
}

const RESTORED: [&str; 3] = ["-> ..revision-2-0", "-> ..data/tls.crt", "-> ..data/tls.key"];

fn links(tree: &BTreeMap<String, String>) -> Vec<&str> {
    let link = |name: &&str| tree.get(*name).map(String::as_str);
    ["..data", "tls.crt", "tls.key"].iter().filter_map(link).collect()
}

#[test]
fn ten_certificates_whose_links_are_gone_cost_no_order_and_lose_no_file() {
    let damages: [Damage; 5] = [without_links, without_data, followed, copied_names, empty_folder];
    let all: Vec<String> = (0..10).map(|number| format!("c{number}")).collect();
    let world = renewed(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let before: Vec<(BTreeMap<String, String>, LeafFacts)> = all
        .iter()
        .map(|name| (tree(&folder(&world, name)), world.state().published(name)))
        .collect();
    for (name, damage) in all.iter().zip(damages.iter().cycle()) {
        damage(&folder(&world, name));
    }
    let requests = world.ca.requests();
    let run = world.issue().ends_in(0);
    assert_eq!(world.ca.requests(), requests);
    for (number, (name, (tree_before, leaf))) in all.iter().zip(&before).enumerate() {
        let said = format!("WARN {name} ");
        let line = run.stderr.lines().find(|line| line.contains(&said)).unwrap_or_default();
        assert!(line.contains("; restored without an order"), "{name}: {}", run.stderr);
        let now = tree(&folder(&world, name));
        assert_eq!(links(&now), RESTORED, "{name}");
        assert_eq!(&world.state().published(name), leaf);
        let lost: Vec<_> =
            tree_before.iter().filter(|(path, _)| !now.contains_key(*path)).collect();
        assert_eq!(lost, [], "{name}");
        let changed: Vec<_> =
            tree_before.iter().filter(|(path, text)| now[*path] != **text).collect();
        assert_eq!(changed, [], "{name}");
        // What was copied is the same as what is live: there is nothing to set aside but a folder
        // that certctl did not fill.
        let aside: Vec<_> = names(&folder(&world, name));
        let aside: Vec<_> = aside.iter().filter(|name| name.starts_with("..adopted")).collect();
        assert_eq!(aside.len(), usize::from(number % 5 == 4), "{name}: {aside:?}");
        let events: String = fs::read_to_string(
            world.path(&format!("state/certificates/default/{name}/events.jsonl")),
        )
        .unwrap();
        assert_eq!(events.matches("\"LinksRestored\"").count(), 1, "{events}");
    }
    world.issue().says_nothing();
    assert_eq!(world.ca.requests(), requests);
}

#[test]
fn renew_rollback_and_revoke_find_the_pair_whose_link_is_gone() {
    let world = renewed(&["web"]);
    let live = world.state().published("web");
    without_links(&folder(&world, "web"));
    world.run(&["revoke", "web", "--reason", "superseded", "--no-issue", "--yes"]).ends_in(0);
    assert_eq!(world.state().record("web").revocations[0].fingerprint, live.fingerprint);
    without_links(&folder(&world, "web"));
    world.run(&["rollback", "web"]).ends_in(0);
    assert_eq!(world.state().record("web").status.revision, Some(1));
    let first = world.state().published("web");
    without_links(&folder(&world, "web"));
    world.run(&["renew", "web"]).ends_in(0);
    // Nothing goes in a run that found nothing live.
    let sets =
        ["..data", "..revision-1-0", "..revision-2-0", "..revision-3-0", "tls.crt", "tls.key"];
    assert_eq!(names(&folder(&world, "web")), sets);
    assert!(world.state().published("web") != first);
}

#[test]
fn nothing_is_pruned_where_no_live_set_was_found() {
    let world = renewed(&["web"]);
    let folder = folder(&world, "web");
    without_links(&folder);
    // The recorded set is not complete any more: another one is ordered.
    damage(&folder.join("..revision-2-0/tls.key"), "");
    // A name of an earlier set.
    symlink("..data/key.der", folder.join("key.der")).unwrap();
    let before = tree(&folder);
    world.issue().ends_in(0);
    assert_eq!(world.sent(RequestKind::NewOrder), 3);
    let now = tree(&folder);
    assert_eq!(links(&now), ["-> ..revision-3-0", RESTORED[1], RESTORED[2]]);
    let kept: BTreeMap<_, _> =
        now.into_iter().filter(|(name, _)| before.contains_key(name)).collect();
    assert_eq!(kept, before);
    // The next one that finds a live set prunes as ever.
    world.run(&["renew", "web"]).ends_in(0);
    let expected = ["..data", "..revision-3-0", "..revision-4-0", "tls.crt", "tls.key"];
    assert_eq!(names(&folder), expected);
}

#[test]
fn a_damaged_live_set_never_displaces_the_last_good_one() {
    let damages: [Damage; 2] = [
        |set| damage(&set.join("tls.key"), ""),
        |set| {
            let other = set.parent().unwrap().join("..revision-1-0/tls.key");
            fs::copy(other, set.join("tls.key")).unwrap();
        },
    ];
    for damage in damages {
        let world = renewed(&["web"]);
        let folder = folder(&world, "web");
        let before = tree(&folder.join("..revision-1-0"));
        damage(&folder.join("..revision-2-0"));
        world.issue().ends_in(0);
        assert_eq!(world.sent(RequestKind::NewOrder), 3);
        assert_eq!(tree(&folder.join("..revision-1-0")), before);
        let live = fs::read_link(folder.join("..data")).unwrap();
        assert_eq!(live, Path::new("..revision-3-0"));
        world.run(&["renew", "web"]).ends_in(0);
        let expected = ["..data", "..revision-3-0", "..revision-4-0", "tls.crt", "tls.key"];
        assert_eq!(names(&folder), expected);
    }
}

#[test]
fn a_link_that_is_gone_is_said_by_status_and_restored_by_issue() {
    let world = renewed(&["web"]);
    let folder = folder(&world, "web");
    let before = tree(&folder);
    let damages: [(Damage, &str); 3] = [
        (|folder| fs::remove_file(folder.join("tls.key")).unwrap(), "tls.key"),
        (
            |folder| {
                fs::remove_file(folder.join("tls.crt")).unwrap();
                symlink("/nowhere", folder.join("tls.crt")).unwrap();
            },
            "tls.crt",
        ),
        (
            |folder| {
                fs::remove_file(folder.join("tls.key")).unwrap();
                damage(&folder.join("tls.key"), "put here by hand");
            },
            "tls.key",
        ),
    ];
    let requests = world.ca.requests();
    for (damage, link) in damages {
        damage(&folder);
        let what = format!("the link {link} is missing or points elsewhere");
        says_what_is_missing(&world, &what);
        world.issue().ends_in(0).says(&format!("{what}; restored without an order"));
        let mut now = tree(&folder);
        now.retain(|name, _| !name.starts_with("..adopted-"));
        assert_eq!(now, before);
        world.issue().says_nothing();
        assert!(world.run(&["status"]).stdout.contains("READY"));
    }
    assert_eq!(world.ca.requests(), requests);
    // What was there by hand is kept.
    let kept = fs::read_to_string(folder.join("..adopted-1/tls.key")).unwrap();
    assert_eq!(kept, "put here by hand");
}

/// Verdict, page, JSON and plan say it, and change nothing.
fn says_what_is_missing(world: &World, what: &str) {
    let before = (world.ca.requests(), world.state().everything());
    let table = world.run(&["status"]).ends_in(0).stdout;
    assert!(table.contains("\nLINKS MISSING   web "), "{table}");
    world.run(&["status", "--exit-code"]).ends_in(8);
    let page = world.run(&["describe", "web"]).ends_in(0).stdout;
    let said = format!("{what}; the next run restores this without an order");
    for line in [
        format!("Status: LINKS MISSING - {said}\n"),
        "Next attempt: the next run of certctl issue\n".to_owned(),
        format!("  Ready: False, Reason: MissingLinks, Message: {said}\n"),
        format!("  Links: {what}\n"),
    ] {
        assert!(page.contains(&line), "{line}: {page}");
    }
    let json: Value =
        serde_json::from_str(&world.run(&["status", "web", "-o", "json"]).ends_in(0).stdout)
            .unwrap();
    let annotations = &json["metadata"]["annotations"];
    assert_eq!(annotations["status.certctl/verdict"], "LINKS MISSING");
    assert_eq!(annotations["status.certctl/links"], what);
    let plan: Value =
        serde_json::from_str(&world.run(&["plan", "-o", "json"]).ends_in(0).stdout).unwrap();
    let item = |key: &str| plan["items"][0][key].clone();
    let planned = (item("action"), item("reason"), item("message"), item("orders"));
    assert_eq!(planned, (json!("relink"), json!("MissingLinks"), json!(what), json!(0)));
    world.run(&["plan", "--exit-code"]).ends_in(10);
    let serial = world.state().record("web").issued_fingerprint.unwrap();
    assert_eq!(annotations["status.certctl/fingerprint-sha256"], json!(serial));
    world.run(&["inspect", "web", "--offline"]).ends_in(0);
    assert_eq!((world.ca.requests(), world.state().everything()), before);
}

#[test]
fn a_state_without_links_is_not_planned_to_be_issued_anew() {
    let damages: [(Damage, &str); 4] = [
        (without_links, "the link ..data is missing"),
        (without_data, "the link ..data is missing"),
        (followed, "..data is a folder, not a link"),
        (empty_folder, "..data is a folder, not a link"),
    ];
    for (damage, what) in damages {
        let world = renewed(&["web"]);
        damage(&folder(&world, "web"));
        says_what_is_missing(&world, what);
        // The same without its manifest.
        fs::rename(world.path("config/web.yaml"), world.path("web.yaml")).unwrap();
        let page = world.run(&["describe", "web"]).ends_in(0).stdout;
        assert!(page.contains("Status: NO MANIFEST - "), "{page}");
        assert!(page.contains(&format!("  Links: {what}\n")), "{page}");
        assert!(page.contains("  SHA-256 Fingerprint: "), "{page}");
    }
}

/// Every format, with a copy of the pair in `out` when that is wanted.
fn in_every_format(world: &World, output: bool) {
    let stores = "keystores:\n    jks: {create: true, password: changeit}\n    \
                  pkcs12: {create: true, password: changeit}";
    let mut web = CertificateYaml::new("web")
        .field("additionalOutputFormats: [{type: DER}, {type: CombinedPEM}]")
        .field(stores);
    if output {
        web = web.annotation("certctl/output-dir", &world.path("out").display().to_string());
    }
    world.prepare(&[web]);
    world.issue().ends_in(0);
}

/// Whether `status` says so.
fn is_ready(world: &World) -> bool {
    let status = world.run(&["status"]).stdout;
    status.lines().any(|line| line.starts_with("READY ") && line.contains(" web "))
}

/// What was done, and to which file.
type Case = (String, PathBuf, Damage);

/// Each link and each file of the live set deleted, emptied and overwritten in turn.
fn cases(folder: &Path) -> Vec<Case> {
    let live = fs::read_link(folder.join("..data")).unwrap();
    let delete: Damage = |path| fs::remove_file(path).unwrap();
    let empty: Damage = |path| damage(path, "");
    let garble: Damage = |path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        atomic::write(path, &bytes, 0o600).unwrap();
    };
    let astray: Damage = |path| {
        fs::remove_file(path).unwrap();
        symlink("/nowhere", path).unwrap();
    };
    let mut cases = Vec::new();
    for name in names(folder) {
        if folder.join(&name).is_symlink() && name != "..data" {
            for (what, how) in [("delete", delete), ("replace", garble), ("lead astray", astray)] {
                cases.push((format!("{what} the link {name}"), PathBuf::from(&name), how));
            }
        }
    }
    for name in names(&folder.join(&live)) {
        // A letter of the metadata is no file that a server reads.
        let count = if name == "metadata.json" { 2 } else { 3 };
        let ways = [("delete", delete), ("empty", empty), ("garble", garble)];
        for (what, how) in ways.into_iter().take(count) {
            cases.push((format!("{what} {name}"), live.join(&name), how));
        }
    }
    cases.push(("delete the link ..data".to_owned(), "..data".into(), delete));
    cases
}

/// What servers open, by stable name.
fn opened(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = names(folder).into_iter().filter(|name| !name.starts_with("..")).map(|name| {
        let bytes = fs::read(folder.join(&name)).unwrap();
        (name, bytes)
    });
    all.collect()
}

#[test]
fn each_published_link_and_file_that_is_gone_or_damaged_is_seen_and_restored_without_an_order() {
    let world = World::start();
    in_every_format(&world, false);
    let folder = folder(&world, "web");
    let before = opened(&folder);
    assert_eq!(before.len(), 6, "{:?}", before.keys());
    let requests = world.ca.requests();
    let mut number = 0;
    // The live set may be another one each time.
    while let Some((what, path, damage)) = cases(&folder).into_iter().nth(number) {
        number += 1;
        damage(&folder.join(path));
        assert!(!is_ready(&world), "{what}");
        // Metadata that cannot be read is damaged state, until a run that writes sets it aside.
        let code = if what == "empty metadata.json" { 7 } else { 10 };
        world.run(&["plan", "--exit-code"]).ends_in(code);
        world.issue().ends_in(0).says("; restored without an order");
        let now = opened(&folder);
        assert_eq!(now.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{what}");
        // The bytes of a keystore differ each time it is written.
        let differing: Vec<_> = before
            .iter()
            .filter(|(name, bytes)| !name.starts_with("keystore.") && now[*name] != **bytes)
            .collect();
        assert_eq!(differing, Vec::<(&String, &Vec<u8>)>::new(), "{what}");
        world.issue().says_nothing();
        assert!(is_ready(&world), "{what}");
    }
    assert_eq!(number, 6 * 3 + 7 * 3 - 1 + 1);
    assert_eq!(world.ca.requests(), requests);
}

#[test]
fn a_key_comes_back_from_an_output_and_without_a_copy_by_an_order() {
    for (output, orders) in [(true, 1), (false, 2)] {
        let world = World::start();
        let mut web = CertificateYaml::new("web");
        if output {
            web = web.annotation("certctl/output-dir", &world.path("out").display().to_string());
        }
        world.prepare(&[web]);
        world.issue().ends_in(0);
        let live = world.state().published("web");
        let set = fs::canonicalize(folder(&world, "web").join("..data")).unwrap();
        fs::remove_file(set.join("tls.crt")).unwrap();
        fs::remove_file(set.join("tls.key")).unwrap();
        let status = world.run(&["status"]).stdout;
        assert!(status.contains("FILES DAMAGED"), "{status}");
        let page = world.run(&["status", "web"]).ends_in(0).stdout;
        let what = if output {
            "restores this without an order"
        } else {
            "tls.crt is missing, and there is no copy; the next run orders another key and certificate"
        };
        let command = "certctl issue web";
        assert!(page.contains(what) && page.contains(command), "{page}");
        assert!(!is_ready(&world));
        let found = world.run(&["doctor"]).stdout;
        let words = "not READY, files or links damaged: web";
        assert!(found.contains(words) && found.contains(command), "{found}");
        world.issue().ends_in(0);
        assert_eq!(world.sent(RequestKind::NewOrder), orders);
        assert_eq!(world.state().published("web") == live, output);
        assert!(is_ready(&world));
    }
}

#[test]
fn a_lost_key_is_shown_as_damage_with_the_command_that_replaces_it() {
    for (content, what) in [
        (None, "tls.key is missing, and there is no copy"),
        (Some("no key"), "tls.key is damaged, or not the key of tls.crt, and there is no copy"),
    ] {
        let world = World::prepared(&[CertificateYaml::new("web")]);
        world.issue().ends_in(0);
        let key = fs::canonicalize(folder(&world, "web").join("tls.key")).unwrap();
        match content {
            None => fs::remove_file(&key).unwrap(),
            Some(text) => atomic::write(&key, text.as_bytes(), 0o600).unwrap(),
        }
        let page = world.run(&["status", "web"]).ends_in(0).stdout;
        assert!(page.contains(&format!("FILES DAMAGED - {what}")), "{page}");
        let line = page.lines().find(|line| line.contains("certctl issue web")).unwrap();
        assert!(line.ends_with("# order another key and certificate"), "{page}");
        let list = world.run(&["status", "--exit-code"]).ends_in(8).stdout;
        assert!(list.contains("FILES DAMAGED"), "{list}");
        let start = world.run(&[]).stdout;
        assert!(start.contains("FILES DAMAGED"), "{start}");
        let found = world.run(&["doctor", "--offline"]).stdout;
        assert!(found.contains("certctl issue web") && !found.contains("status web"), "{found}");
        world.issue().ends_in(0);
        world.run(&["status", "--exit-code"]).ends_in(0);
    }
}
