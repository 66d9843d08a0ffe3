//! The index of the state: a run that nothing is due for ends by it, and it hides nothing.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use certctl::engine::inputs::digest_of;
use certctl::engine::ports::{Clock as _, Documents as _, Key, SystemClock};
use certctl::resource::NamespacedName;
use certctl::store::{OpenMode, StateDirectory};
use futures_util::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::fixture::put;
use crate::support::{CertificateYaml, Run, World, finish, until};

/// What is done to a line of the index.
type Edit = Box<dyn Fn(&mut Value)>;

/// Manifests, state and outputs of three certificates, in a folder of their own.
struct Twin<'w> {
    world: &'w World,
    name: String,
}

/// A world in which all is issued, in the folder `base`.
fn issued() -> World {
    let world = World::start();
    let out = world.path("base/out").display().to_string();
    let store = "keystores:\n    jks: {create: true, passwordSecretRef: {name: stores, key: \
                 password}}";
    world.write("base/config/issuer.yaml", &world.issuer());
    for certificate in [
        CertificateYaml::new("web"),
        CertificateYaml::new("out").annotation("certctl/output-dir", &out),
        CertificateYaml::new("store").field(store),
    ] {
        world.write(&format!("base/config/{}.yaml", certificate.name()), &certificate);
    }
    let password = world.write("base/config/secrets/stores/password", "changeit");
    fs::set_permissions(password, Permissions::from_mode(0o600)).unwrap();
    let base = Twin { world: &world, name: "base".to_owned() };
    base.issue(&[]).ends_in(0);
    base.issue(&[]).says_nothing();
    assert_eq!(world.ca.issued(), 3);
    world
}

impl<'w> Twin<'w> {
    /// A copy of `base`.
    fn of(world: &'w World, name: &str) -> Self {
        let twin = Self { world, name: name.to_owned() };
        let status =
            Command::new("cp").arg("-a").arg(world.path("base")).arg(twin.path("")).status();
        assert!(status.unwrap().success());
        let [here, there] = ["base", name].map(|name| world.path(name).display().to_string());
        let mut all = BTreeSet::new();
        paths(&twin.path(""), &twin.path(""), &mut all);
        let has_paths = |path: &&PathBuf| {
            path.extension().is_some_and(|is| is == "yaml") || path.ends_with("status.json")
        };
        for file in all.iter().filter(has_paths).map(|path| twin.path("").join(path)) {
            let text = fs::read_to_string(&file).unwrap();
            put(&file, text.replace(&here, &there).as_bytes());
        }
        fs::remove_file(twin.index()).ok();
        twin
    }

    fn path(&self, below: &str) -> PathBuf {
        let path = self.world.path(&self.name);
        if below.is_empty() { path } else { path.join(below) }
    }

    fn index(&self) -> PathBuf {
        self.path("state/index.jsonl")
    }

    /// A file of the set that is live.
    fn live(&self, secret: &str, file: &str) -> PathBuf {
        self.path(&format!("state/secrets/default/{secret}-tls/..revision-1-0/{file}"))
    }

    fn run(&self, words: &[&str]) -> Run {
        let mut command = self.world.command(words);
        command
            .env("CERTCTL_CONFIG_DIR", self.path("config"))
            .env("CERTCTL_STATE_DIR", self.path("state"));
        finish(command.spawn().unwrap())
    }

    fn issue(&self, words: &[&str]) -> Run {
        self.run(&[&["issue"], words].concat())
    }

    /// Which file the index is: a run that takes the long way replaces it.
    fn version(&self) -> Option<(u64, i64)> {
        let found = fs::metadata(self.index()).ok()?;
        Some((found.ino(), found.ctime_nsec()))
    }

    /// Whether a run ends by the index, and says nothing.
    #[track_caller]
    fn is_idle(&self) -> bool {
        let before = self.version();
        self.issue(&[]).says_nothing();
        before.is_some() && self.version() == before
    }

    /// Writes the index by a run that takes the long way.
    #[track_caller]
    fn indexed(self) -> Self {
        assert!(!self.is_idle());
        assert!(self.is_idle(), "{}", self.name);
        self
    }

    /// What a run says and leaves, whatever the twin's name, times and numbers.
    fn outcome(&self, words: &[&str]) -> (Option<i32>, String, BTreeSet<PathBuf>) {
        let Run { code, stdout, stderr } = self.issue(words);
        let text = (stdout + &stderr).replace(&self.name, "twin");
        let plain = |word: &str| {
            let is_number = word.contains(|c: char| c.is_ascii_digit()) && !word.contains('/');
            if is_number { "#".to_owned() } else { word.to_owned() }
        };
        let text = text.split_whitespace().map(plain).collect::<Vec<_>>().join(" ");
        let mut left = BTreeSet::new();
        paths(&self.path(""), &self.path(""), &mut left);
        let is_index = |path: &Path| path.to_string_lossy().starts_with("state/index");
        left.retain(|path| !is_index(path));
        (code, text, left)
    }

    /// Edits the lines of the index; it is whole afterwards.
    fn edit(&self, edit: impl Fn(&mut Value)) {
        let text = fs::read_to_string(self.index()).unwrap();
        let mut lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.pop();
        lines.iter_mut().for_each(edit);
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let body = lines.join("\n") + "\n";
        let digest = digest_of(body.as_bytes());
        let end = json!({"end": {"count": lines.len(), "digest": digest}});
        put(&self.index(), format!("{body}{end}\n").as_bytes());
    }
}

fn paths(root: &Path, path: &Path, all: &mut BTreeSet<PathBuf>) {
    all.insert(path.strip_prefix(root).unwrap().to_owned());
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            paths(root, &entry.unwrap().path(), all);
        }
    }
}

/// A world in which `other` of the config directory and the certificates of `many.yaml` beside it
/// are issued, in the folder `base`.
fn issued_from_a_file() -> World {
    let world = World::start();
    world.write("base/config/issuer.yaml", &world.issuer());
    world.write("base/config/other.yaml", &CertificateYaml::new("other"));
    let many = (0..16).map(|number| CertificateYaml::new(&format!("c{number}")).to_string());
    world.write("base/many.yaml", &many.collect::<Vec<_>>().join("---\n"));
    let base = Twin { world: &world, name: "base".to_owned() };
    base.issue(&[]).ends_in(0);
    base.issue(&[&base.many()]).ends_in(0);
    assert_eq!(world.ca.issued(), 17);
    world
}

impl Twin<'_> {
    /// The file of many certificates.
    fn many(&self) -> String {
        self.path("many.yaml").display().to_string()
    }

    /// The indexes of files, and which files those are.
    fn indexes_of_files(&self) -> BTreeSet<(PathBuf, u64, i64)> {
        let entries = fs::read_dir(self.path("state")).unwrap().map(Result::unwrap);
        let facts = |entry: fs::DirEntry| {
            let found = entry.metadata().unwrap();
            (entry.path(), found.ino(), found.ctime_nsec())
        };
        let is_index =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("index-");
        entries.filter(is_index).map(facts).collect()
    }
}

/// Waits until every file is older than the clock of a file system may tick.
pub(crate) fn settle(world: &World) {
    let begun = SystemClock.now();
    let probe = world.write("probe", "");
    let written = fs::metadata(probe).unwrap();
    let written = Timestamp::new(written.ctime(), 0).unwrap().max(begun);
    let old = written + SignedDuration::from_millis(2100);
    until("the files are old", || SystemClock.now() > old);
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {}", path.display());
    put(path, text.replacen(from, to, 1).as_bytes());
}

/// Gives a document a version that none has yet.
fn make_newer(path: &Path) {
    replace(path, "\"version\": ", "\"version\": 9");
}

/// Changes content, and leaves size and time of change as they were.
fn replace_unseen(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let before = fs::metadata(path).unwrap();
    replace(path, from, to);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(before.modified().unwrap())
        .unwrap();
    let after = fs::metadata(path).unwrap();
    let facts = |of: &fs::Metadata| (of.ino(), of.size(), of.mtime(), of.mtime_nsec());
    assert_eq!(facts(&after), facts(&before));
}

fn give_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

type Tampering = (&'static str, &'static [&'static str], fn(&Twin<'_>));

const SECRET: &str = "state/secrets/default/web-tls";

const TAMPERINGS: &[Tampering] = &[
    ("a manifest is edited", &[], |twin| {
        replace_unseen(&twin.path("config/web.yaml"), "web.example", "wib.example");
    }),
    ("a manifest is replaced", &[], |twin| {
        fs::copy(twin.path("config/web.yaml"), twin.path("new")).unwrap();
        replace(&twin.path("new"), "web.example", "new.example");
        fs::rename(twin.path("new"), twin.path("config/web.yaml")).unwrap();
    }),
    ("a manifest is new", &[], |twin| {
        put(&twin.path("config/new.yaml"), CertificateYaml::new("new").to_string().as_bytes());
    }),
    ("a manifest is gone", &[], |twin| fs::remove_file(twin.path("config/web.yaml")).unwrap()),
    ("a manifest is broken", &[], |twin| replace(&twin.path("config/web.yaml"), "spec:", "spec")),
    ("the issuer is gone", &[], |twin| fs::remove_file(twin.path("config/issuer.yaml")).unwrap()),
    ("a manifest is open to others", &[], |twin| give_mode(&twin.path("config/web.yaml"), 0o666)),
    ("the folder of the manifests is open to others", &[], |twin| {
        give_mode(&twin.path("config"), 0o777);
    }),
    ("the folder above the manifests is open to others", &[], |twin| {
        give_mode(&twin.path(""), 0o777);
    }),
    ("a record is edited", &[], |twin| {
        let path = twin.path("state/certificates/default/web/status.json");
        replace_unseen(&path, "\"generation\": 1", "\"generation\": 2");
    }),
    ("a record is gone", &[], |twin| {
        fs::remove_file(twin.path("state/certificates/default/web/status.json")).unwrap();
    }),
    ("a record is broken", &[], |twin| {
        put(&twin.path("state/certificates/default/web/status.json"), b"{");
    }),
    ("a record is open to others", &[], |twin| {
        give_mode(&twin.path("state/certificates/default/web/status.json"), 0o644);
    }),
    ("all of a certificate's records are gone", &[], |twin| {
        fs::remove_dir_all(twin.path("state/certificates/default/web")).unwrap();
    }),
    ("a step is in flight", &[], |twin| {
        let state = StateDirectory::open(&twin.path("state"), OpenMode::ReadWrite).unwrap();
        let key = Key::Certificate(NamespacedName::new("default", "web"));
        let record = state.get(&key).now_or_never().unwrap().unwrap().unwrap();
        let text = String::from_utf8(record.bytes.to_vec()).unwrap();
        let edited = text.replace("\"generation\": 1", "\"generation\": 2");
        assert_ne!(edited, text);
        let step = state.put_if(&key, edited.as_bytes(), &record.revision);
        step.now_or_never().unwrap().unwrap();
    }),
    ("a torn step is in flight", &[], |twin| {
        let path = twin.path("state/certificates/default/web/in-flight");
        put(&path, b"{");
        give_mode(&path, 0o600);
    }),
    ("steps of a newer certctl are in flight", &[], |twin| {
        let path = twin.path("state/certificates/default/web/in-flight");
        put(&path, b"{\"version\":2}\n");
        give_mode(&path, 0o600);
    }),
    ("a request is open to others", &[], |twin| {
        give_mode(&twin.path("state/certificates/default/web/requests/1.json"), 0o644);
    }),
    ("a chain is edited", &[], |twin| {
        replace_unseen(&twin.live("web", "tls.crt"), "MII", "MIJ");
    }),
    ("a key is gone", &[], |twin| fs::remove_file(twin.live("web", "tls.key")).unwrap()),
    ("a key is open to others", &[], |twin| give_mode(&twin.live("web", "tls.key"), 0o644)),
    ("a chain is a link", &[], |twin| {
        fs::rename(twin.live("web", "tls.crt"), twin.path("crt")).unwrap();
        symlink(twin.path("crt"), twin.live("web", "tls.crt")).unwrap();
    }),
    ("the digests of a set are edited", &[], |twin| {
        replace(&twin.live("web", "metadata.json"), "\"tls.crt\": \"", "\"tls.crt\": \"0");
    }),
    ("a set has another file", &[], |twin| put(&twin.live("web", "other"), b"")),
    ("the live set is another", &[], |twin| {
        fs::remove_file(twin.path(SECRET).join("..data")).unwrap();
        symlink("..revision-7-0", twin.path(SECRET).join("..data")).unwrap();
    }),
    ("the link to the live set is a folder", &[], |twin| {
        fs::remove_file(twin.path(SECRET).join("..data")).unwrap();
        let set = twin.path(SECRET).join("..revision-1-0");
        fs::rename(set, twin.path(SECRET).join("..data")).unwrap();
    }),
    ("the link to the live set is gone", &[], |twin| {
        fs::remove_file(twin.path(SECRET).join("..data")).unwrap();
    }),
    ("a stable name is gone", &[], |twin| {
        fs::remove_file(twin.path(SECRET).join("tls.crt")).unwrap();
    }),
    ("a stable name is a file", &[], |twin| {
        fs::remove_file(twin.path(SECRET).join("tls.crt")).unwrap();
        fs::copy(twin.live("web", "tls.crt"), twin.path(SECRET).join("tls.crt")).unwrap();
    }),
    ("the live set is gone", &[], |twin| {
        fs::remove_dir_all(twin.path(SECRET).join("..revision-1-0")).unwrap();
    }),
    ("a Secret is gone", &[], |twin| fs::remove_dir_all(twin.path(SECRET)).unwrap()),
    ("a killed run left a file in a Secret", &[], |twin| {
        put(&twin.path(SECRET).join(".tmp-1-1-x"), b"");
    }),
    ("an output is edited", &[], |twin| {
        replace_unseen(&twin.path("out/..revision-1-0/tls.crt"), "MII", "MIJ");
    }),
    ("a file of an output is gone", &[], |twin| {
        fs::remove_file(twin.path("out/..revision-1-0/tls.key")).unwrap();
    }),
    ("a file of an output has another mode", &[], |twin| {
        give_mode(&twin.path("out/..revision-1-0/tls.key"), 0o644);
    }),
    ("a stable name of an output is gone", &[], |twin| {
        fs::remove_file(twin.path("out/tls.crt")).unwrap();
    }),
    ("an output is another folder", &[], |twin| {
        fs::rename(twin.path("out"), twin.path("before")).unwrap();
        fs::create_dir(twin.path("out")).unwrap();
    }),
    ("an output is gone", &[], |twin| fs::remove_dir_all(twin.path("out")).unwrap()),
    ("a password is another", &[], |twin| {
        replace_unseen(&twin.path("config/secrets/stores/password"), "changeit", "changed!");
    }),
    ("a password is gone", &[], |twin| {
        fs::remove_file(twin.path("config/secrets/stores/password")).unwrap();
    }),
    ("a password is in an earlier place", &[], |twin| {
        let place = twin.path("config/secrets/default/stores");
        fs::create_dir_all(&place).unwrap();
        put(&place.join("password"), b"other");
        give_mode(&place.join("password"), 0o600);
    }),
    ("a certificate was added by a run of a file", &[], |twin| {
        let file = twin.path("other.yaml");
        let issuer = twin.world.issuer();
        put(&file, format!("{issuer}---\n{}", CertificateYaml::new("other")).as_bytes());
        fs::remove_file(twin.path("config/issuer.yaml")).unwrap();
        twin.issue(&[file.to_str().unwrap()]).ends_in(0);
    }),
    ("a certificate was renewed", &[], |twin| {
        twin.run(&["renew", "web"]).ends_in(0);
    }),
    ("a key was revoked", &[], |twin| {
        let words = ["revoke", "web", "--reason", "keyCompromise", "--without-replacement", "-y"];
        twin.run(&words);
    }),
    ("a certificate was forgotten", &[], |twin| {
        twin.run(&["forget", "web"]);
    }),
    ("keys are banned", &[], |twin| put(&twin.path("state/banned-keys.json"), b"{")),
    ("the state is open to others", &[], |twin| give_mode(&twin.path("state"), 0o755)),
    ("another file is named", &["-f", "base/config"], |_| {}),
    ("another folder of manifests is named", &["--config-dir", "home"], |_| {}),
    ("a namespace is named", &["-n", "other"], |_| {}),
    ("labels are named", &["-l", "a=b"], |_| {}),
    ("limits are ignored", &["--ignore-limits"], |_| {}),
    ("all is to be said", &["-v"], |_| {}),
];

#[test]
fn the_index_hides_no_change() {
    let world = issued();
    let twins = |number: usize| {
        ["with", "without"].map(|word| Twin::of(&world, &format!("{word}-{number}")))
    };
    let all: Vec<_> = (0..TAMPERINGS.len()).map(twins).collect();
    settle(&world);
    for ([with, without], (what, words, tamper)) in all.into_iter().zip(TAMPERINGS) {
        let twins = [with.indexed(), without.indexed()];
        twins.iter().for_each(tamper);
        let [with, without] = twins;
        fs::remove_file(without.index()).unwrap();
        assert_eq!(with.outcome(words), without.outcome(words), "{what}");
    }
}

type TamperingOfAFile = (&'static str, fn(&Twin<'_>));

/// What is done to a run of a file.
const OF_A_FILE: &[TamperingOfAFile] = &[
    ("a certificate of the file is for another name", |twin| {
        replace_unseen(&twin.path("many.yaml"), "c3.example", "d3.example");
    }),
    ("the file is broken", |twin| replace(&twin.path("many.yaml"), "spec:", "spec")),
    ("the file is gone", |twin| fs::remove_file(twin.path("many.yaml")).unwrap()),
    ("the file is open to others", |twin| give_mode(&twin.path("many.yaml"), 0o666)),
    ("its folder is open to others", |twin| give_mode(&twin.path(""), 0o777)),
    ("the issuer is gone", |twin| fs::remove_file(twin.path("config/issuer.yaml")).unwrap()),
    ("another manifest has the same certificate", |twin| {
        put(&twin.path("config/again.yaml"), CertificateYaml::new("c1").to_string().as_bytes());
    }),
    ("another certificate wants the same Secret", |twin| {
        let yaml = CertificateYaml::new("same").to_string().replace("same-tls", "c1-tls");
        put(&twin.path("config/other.yaml"), yaml.as_bytes());
    }),
    ("a key is gone", |twin| fs::remove_file(twin.live("c1", "tls.key")).unwrap()),
    ("a record is gone", |twin| {
        fs::remove_file(twin.path("state/certificates/default/c1/status.json")).unwrap();
    }),
    ("a step of another certificate is in flight", |twin| {
        let path = twin.path("state/certificates/default/other/in-flight");
        put(&path, b"{");
        give_mode(&path, 0o600);
    }),
    ("another certificate owes a revocation", |twin| {
        let path = twin.path("state/certificates/default/other/status.json");
        let owed = "\"revocations\": [{\"serial\": \"01\", \"fingerprint\": \"00\", \"reason\": \
                    \"superseded\", \"requestedAt\": \"2026-01-01T00:00:00Z\", \"certificate\": \
                    \"none\"}], \"status\": {";
        replace(&path, "\"status\": {", owed);
    }),
    ("keys are banned", |twin| put(&twin.path("state/banned-keys.json"), b"{")),
    ("another certificate was added", |twin| {
        put(&twin.path("config/new.yaml"), CertificateYaml::new("new").to_string().as_bytes());
        twin.issue(&["new"]).ends_in(0);
    }),
];

#[test]
fn a_run_of_a_file_ends_by_an_index_of_its_own_which_hides_no_change() {
    let world = issued_from_a_file();
    let twins = |number: usize| {
        ["with", "without"].map(|word| Twin::of(&world, &format!("{word}-{number}")))
    };
    let all: Vec<_> = (0..OF_A_FILE.len()).map(twins).collect();
    settle(&world);
    for ([with, without], (what, tamper)) in all.into_iter().zip(OF_A_FILE) {
        for twin in [&with, &without] {
            twin.issue(&[&twin.many()]).says_nothing();
            let before = twin.indexes_of_files();
            assert_eq!(before.len(), 1);
            twin.issue(&[&twin.many()]).says_nothing();
            assert_eq!(twin.indexes_of_files(), before);
            tamper(twin);
        }
        for (path, _, _) in without.indexes_of_files() {
            fs::remove_file(path).unwrap();
        }
        let outcome = |twin: &Twin<'_>| twin.outcome(&[&twin.many()]);
        assert_eq!(outcome(&with), outcome(&without), "{what}");
    }
}

/// A few certificates are read as quickly, and there may be many such files.
#[test]
fn few_indexes_of_files_are_there() {
    let world = issued_from_a_file();
    let twin = Twin::of(&world, "twin");
    let few: Vec<String> = (0..3)
        .map(|number| twin.path(&format!("few{number}.yaml")))
        .map(|path| {
            put(&path, CertificateYaml::new("c1").to_string().as_bytes());
            path.display().to_string()
        })
        .collect();
    settle(&world);
    for file in &few {
        twin.issue(&[file]).ends_in(0);
    }
    assert_eq!(twin.indexes_of_files(), BTreeSet::new());
    for number in 0..10 {
        let copy = twin.path(&format!("many{number}"));
        fs::create_dir(&copy).unwrap();
        fs::rename(twin.path("many.yaml"), copy.join("many.yaml")).unwrap();
        settle(&world);
        twin.issue(&[copy.to_str().unwrap()]).ends_in(0);
        settle(&world);
        twin.issue(&[copy.to_str().unwrap()]).says_nothing();
        fs::rename(copy.join("many.yaml"), twin.path("many.yaml")).unwrap();
    }
    assert_eq!(twin.indexes_of_files().len(), 8);
}

const RECORDS: &str = "state/certificates/default/web";

/// What is done to `web`, and the word that `status` has for it.
type Change = (&'static str, &'static str, fn(&Twin<'_>));

const CHANGES: &[Change] = &[
    ("nothing", "READY", |_| {}),
    ("a record is broken", "STATE DAMAGED", |twin| {
        put(&twin.path(RECORDS).join("status.json"), b"{");
    }),
    ("a record is of a newer certctl", "STATE DAMAGED", |twin| {
        make_newer(&twin.path(RECORDS).join("status.json"));
    }),
    ("a request is broken", "STATE DAMAGED", |twin| {
        put(&twin.path(RECORDS).join("requests/1.json"), b"{");
    }),
    ("a request is of a newer certctl", "STATE DAMAGED", |twin| {
        make_newer(&twin.path(RECORDS).join("requests/1.json"));
    }),
    ("a request is for another name", "PENDING", |twin| {
        let request = twin.path(RECORDS).join("requests/1.json");
        replace_unseen(&request, "\"web.example", "\"wib.example");
    }),
    ("an order is broken", "STATE DAMAGED", |twin| {
        put(&twin.path(RECORDS).join("orders/1-1.json"), b"{");
    }),
    ("an order is of a newer certctl", "STATE DAMAGED", |twin| {
        make_newer(&twin.path(RECORDS).join("orders/1-1.json"));
    }),
    ("an order is open to others", "STATE DAMAGED", |twin| {
        give_mode(&twin.path(RECORDS).join("orders/1-1.json"), 0o644);
    }),
    ("steps of a newer certctl are in flight", "STATE DAMAGED", |twin| {
        put(&twin.path(RECORDS).join("in-flight"), b"{\"version\":2}\n");
        give_mode(&twin.path(RECORDS).join("in-flight"), 0o600);
    }),
    ("a chain is edited", "FILES DAMAGED", |twin| {
        replace_unseen(&twin.live("web", "tls.crt"), "MII", "MIJ");
    }),
    ("a key is that of another", "FILES DAMAGED", |twin| {
        fs::copy(twin.live("out", "tls.key"), twin.live("web", "tls.key")).unwrap();
    }),
    ("a key is gone", "FILES DAMAGED", |twin| {
        fs::remove_file(twin.live("web", "tls.key")).unwrap();
    }),
    ("the set is of a newer certctl", "STATE DAMAGED", |twin| {
        make_newer(&twin.live("web", "metadata.json"));
    }),
    ("the link to the live set is gone", "LINKS MISSING", |twin| {
        fs::remove_file(twin.path(SECRET).join("..data")).unwrap();
    }),
    ("the live set is another", "LINKS MISSING", |twin| {
        fs::remove_file(twin.path(SECRET).join("..data")).unwrap();
        symlink("..revision-7-0", twin.path(SECRET).join("..data")).unwrap();
    }),
    ("a stable name is gone", "LINKS MISSING", |twin| {
        fs::remove_file(twin.path(SECRET).join("tls.crt")).unwrap();
    }),
    ("a manifest is edited", "PENDING", |twin| {
        replace_unseen(&twin.path("config/web.yaml"), "web.example", "wib.example");
    }),
    ("a manifest is broken", "INVALID", |twin| {
        replace(&twin.path("config/web.yaml"), "spec:", "spec");
    }),
    ("a manifest is gone", "NO MANIFEST", |twin| {
        fs::remove_file(twin.path("config/web.yaml")).unwrap();
    }),
    ("the issuer is gone", "INVALID", |twin| {
        fs::remove_file(twin.path("config/issuer.yaml")).unwrap();
    }),
];

/// Changes that a run may not look for while the index holds are in the table all the same.
#[test]
fn status_sees_each_change() {
    let world = issued();
    let all: Vec<_> =
        (0..CHANGES.len()).map(|number| Twin::of(&world, &format!("twin-{number}"))).collect();
    settle(&world);
    for (twin, (what, word, change)) in all.into_iter().zip(CHANGES) {
        let twin = twin.indexed();
        change(&twin);
        let Run { stdout, stderr, .. } = twin.run(&["status"]);
        let row = stdout.lines().find(|line| line.contains(" web ")).unwrap_or_default();
        assert!(row.starts_with(&format!("{word} ")), "{what}: {row}\n{stdout}{stderr}");
    }
}

#[test]
fn an_index_that_is_odd_is_replaced() {
    let world = issued();
    let twin = Twin::of(&world, "twin");
    settle(&world);
    let twin = twin.indexed();
    let good = fs::read(twin.index()).unwrap();
    let refuses = |what: &str| {
        assert!(!twin.is_idle(), "{what}");
        assert!(twin.is_idle(), "{what}: it is written again");
    };
    let mut ends: Vec<usize> =
        good.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let begins: Vec<usize> = std::iter::once(0).chain(ends.iter().map(|end| end + 1)).collect();
    ends.truncate(ends.len() - 1);
    for cut in begins.iter().copied().filter(|at| *at < good.len()).chain(ends) {
        put(&twin.index(), &good[..cut]);
        refuses(&format!("the first {cut} bytes"));
    }
    for at in (0..good.len()).step_by(good.len() / 20) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        put(&twin.index(), &bytes);
        refuses(&format!("another byte at {at}"));
    }
    put(&twin.index(), &[&good[..], b"\n"].concat());
    refuses("more at its end");
    put(&twin.index(), &good);
    twin.edit(|_| {});
    assert!(twin.is_idle(), "an edit alone is nothing odd");
    let now = SystemClock.now();
    let later = (now + SignedDuration::from_hours(1)).to_string();
    let edits: [(&str, Edit); 7] = [
        ("of another version", Box::new(|line| set(line, "header", "version", json!(2)))),
        ("of another certctl", Box::new(|line| set(line, "header", "program", json!("0")))),
        ("of other settings", Box::new(|line| set(line, "header", "settings", json!([])))),
        ("of the future", Box::new(move |line| set(line, "header", "written", json!(later)))),
        ("of another form", Box::new(|line| set(line, "header", "more", json!(1)))),
        ("without evidence", Box::new(|line| set(line, "certificate", "seen", json!([])))),
        (
            "over",
            Box::new(move |line| {
                set(line, "certificate", "until", json!(now.to_string()));
            }),
        ),
    ];
    for (what, edit) in edits {
        twin.edit(edit);
        refuses(what);
    }
    give_mode(&twin.index(), 0o640);
    refuses("open to a group");
    fs::hard_link(twin.index(), twin.path("second")).unwrap();
    refuses("under two names");
    fs::rename(twin.index(), twin.path("index")).unwrap();
    symlink(twin.path("index"), twin.index()).unwrap();
    refuses("a link");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(twin.index(), Some(65534), None).unwrap();
        refuses("of another user");
    }
}

fn set(line: &mut Value, kind: &str, field: &str, value: Value) {
    if let Some(of) = line.get_mut(kind) {
        of[field] = value;
    }
}

/// Where something may be due for one certificate, the others are not read; and the next run ends by
/// the index again.
#[test]
fn only_what_may_be_due_is_read() {
    let world = issued();
    let twin = Twin::of(&world, "twin");
    settle(&world);
    let twin = twin.indexed();
    // Not in the evidence: only a run that reads the certificate finds it.
    put(&twin.path("state/certificates/default/out/orders/1-1.json"), b"{");
    give_mode(&twin.live("web", "tls.key"), 0o640);
    give_mode(&twin.live("web", "tls.key"), 0o600);
    settle(&world);
    let before = fs::read_to_string(twin.index()).unwrap();
    assert!(!twin.is_idle());
    let after = fs::read_to_string(twin.index()).unwrap();
    let kept = |text: &str, name: &str| {
        let name = format!("\"name\":\"{name}\"");
        text.lines().find(|line| line.contains(&name)).unwrap().to_owned()
    };
    for (name, is_same) in [("web", false), ("out", true), ("store", true)] {
        assert_eq!(kept(&before, name) == kept(&after, name), is_same, "{name}");
    }
    assert!(twin.is_idle());
    assert_eq!(before.lines().count(), after.lines().count());
    let lines = after.lines().filter(|line| line.contains("\"until\":null"));
    assert_eq!(lines.count(), 0, "{after}");
    twin.issue(&["-v"]).ends_in(7);
}

/// What `stat` does not show is found when the certificate is looked at again, within a day.
#[test]
fn bytes_that_rot_are_found_within_a_day() {
    let world = issued();
    let twin = Twin::of(&world, "twin");
    settle(&world);
    let twin = twin.indexed();
    let begin = SystemClock.now();
    let chain = twin.live("web", "tls.crt");
    let good = fs::read(&chain).unwrap();
    replace_unseen(&chain, "MII", "MIJ");
    let found = fs::metadata(&chain).unwrap();
    let changed = found.ctime() * 1_000_000_000 + found.ctime_nsec();
    let is_chain = |seen: &Value| {
        seen[0].as_str().is_some_and(|path| path.ends_with("web-tls/..revision-1-0/tls.crt"))
    };
    twin.edit(|line| {
        let seen = line.pointer_mut("/certificate/seen").and_then(Value::as_array_mut);
        for seen in seen.into_iter().flatten() {
            if is_chain(seen) {
                seen[1][7] = json!(changed);
            }
        }
    });
    assert!(twin.is_idle(), "the rot is not seen");
    let text = fs::read_to_string(twin.index()).unwrap();
    let mut looks = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("{\"certificate\"")) {
        let line: Value = serde_json::from_str(line).unwrap();
        let until: Timestamp = line["certificate"]["until"].as_str().unwrap().parse().unwrap();
        assert!(until <= begin + SignedDuration::from_hours(24), "{until}");
        looks.insert(until);
    }
    assert_eq!(looks.len(), 3, "each at its own time: {looks:?}");
    let is_over = json!((begin - SignedDuration::from_secs(1)).to_string());
    twin.edit(|line| set(line, "certificate", "until", is_over.clone()));
    twin.issue(&[]).ends_in(0).says("restored without an order");
    assert_eq!(fs::read(twin.path(SECRET).join("tls.crt")).unwrap(), good);
}

/// `renew` leaves the index as it is.
#[test]
fn the_last_run_is_the_newest_of_the_index_and_the_log_of_issuances() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.issue().ends_in(0);
    world.issue().ends_in(0);
    let at = |path: &Path, time: &str| {
        let time: Timestamp = time.parse().unwrap();
        File::options()
            .append(true)
            .open(path)
            .unwrap()
            .set_modified(time.try_into().unwrap())
            .unwrap();
    };
    let log = world.path("state/issuance.log");
    at(&log, "2099-02-03T04:05:00Z");
    let doctor = || world.run(&["doctor", "--offline"]).ends_in(0).stdout;
    let page = doctor();
    let last = page.lines().find(|line| line.contains("last run")).unwrap();
    assert!(last.contains("2099-02-03 04:05"), "{page}");
    at(&log, "2001-02-03T04:05:00Z");
    let page = doctor();
    assert!(!page.contains("2099-") && !page.contains("2001-"), "{page}");
}

/// Each run says it, or does it.
#[test]
fn no_index_of_a_file_is_there_while_another_certificate_owes_a_revocation() {
    let world = issued_from_a_file();
    let (owing, plain) = (Twin::of(&world, "owing"), Twin::of(&world, "plain"));
    let (_, owe) = OF_A_FILE.iter().find(|(what, _)| what.ends_with("owes a revocation")).unwrap();
    owe(&owing);
    settle(&world);
    for (twin, indexes) in [(&owing, 0), (&plain, 1)] {
        twin.outcome(&[&twin.many()]);
        assert_eq!(twin.indexes_of_files().len(), indexes);
    }
}
