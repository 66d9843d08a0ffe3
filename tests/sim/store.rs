//! The state directory as its users meet it: permissions, readers beside a writer, locks between
//! processes, and files that are not as certctl left them.
//!
//! Tests that need a process of their own run this executable again, with an ignored test alone.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use certctl::engine::ports::{
    Collection, Documents as _, Key, Lease as _, LiveFiles as _, Lock, Log, Part, StoreError,
    Version,
};
use certctl::resource::{NamespacedName, SecretFiles};
use certctl::store::{Claim, Frame, OpenMode, StateDirectory, atomic};
use jiff::SignedDuration;
use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;
use zeroize::Zeroizing;

use crate::own_process::only;

const OTHER_USER: u32 = 65534;

fn web() -> NamespacedName {
    NamespacedName::new("default", "web")
}

fn document() -> Key {
    Key::Certificate(web())
}

fn scratch() -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("above/state");
    (scratch, path)
}

fn writer(path: &Path) -> StateDirectory {
    StateDirectory::open(path, OpenMode::ReadWrite).unwrap()
}

fn pair(text: &str) -> SecretFiles {
    let bytes = || Zeroizing::new(text.as_bytes().to_vec());
    SecretFiles([("tls.crt".to_owned(), bytes()), ("tls.key".to_owned(), bytes())].into())
}

fn events() -> Log {
    Log::Events(web())
}

fn line() -> [String; 1] {
    ["{}".to_owned()]
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// An ignored test in a process of its own.
fn child(test: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(only(module_path!(), test)).arg("--test-threads=1").env("STORE_TEST_PATH", path);
    command.stdout(Stdio::null());
    command
}

/// `None` when the test was not run by another one.
fn path_of_child() -> Option<PathBuf> {
    Some(std::env::var_os("STORE_TEST_PATH")?.into())
}

/// All that can be stored of a certificate, each part with this text.
fn all(text: &str) -> Vec<u8> {
    of_parts([Part::Record, Part::Request(1), Part::Order(1, 1), Part::NextKey], text)
}

fn of_parts<const N: usize>(parts: [Part; N], text: &str) -> Vec<u8> {
    let parts = parts.map(|part| (part, Zeroizing::new(text.as_bytes().to_vec())));
    Frame { parts: parts.into(), ..Frame::default() }.bytes().to_vec()
}

async fn use_everything(state: &StateDirectory) {
    let second = SignedDuration::from_secs(60);
    let _lease = state.lease(&Lock::Certificate(web()), second).await.unwrap();
    let _account = state.lease(&Lock::Account("ab".into()), second).await.unwrap();
    let _scheduler = state.lease(&Lock::Scheduler, second).await.unwrap();
    let _run = state.lease(&Lock::Run(0), second).await.unwrap();
    let keys = [
        document(),
        Key::Account("ab".into()),
        Key::AccountKey("ab".into()),
        Key::BannedKeys,
        Key::Revoked("ab".into()),
        Key::Scheduler,
    ];
    for key in keys {
        let is_whole = matches!(key, Key::Certificate(_));
        let bytes = |text: &str| if is_whole { all(text) } else { text.as_bytes().to_vec() };
        let revision = state.create(&key, &bytes("{")).await.unwrap();
        let revision = state.put_if(&key, &bytes("{}"), &revision).await.unwrap();
        let stored = state.get(&key).await.unwrap().unwrap();
        assert_eq!((stored.bytes.to_vec(), stored.revision), (bytes("{}"), revision));
    }
    state.settle(&document(), &[]).await.unwrap();
    for log in [events(), events(), Log::Issuances] {
        state.append(&log, &line()).await.unwrap();
    }
    for revision in 1..=2 {
        state.publish(&web(), revision, &pair(&revision.to_string()), None).await.unwrap();
    }
    assert_eq!(state.published(&web()).await.unwrap(), Some(pair("2")));
    assert_eq!(state.read_log(&events()).await.unwrap(), [line(), line()].concat());
}

/// Everything below a folder, itself included, with its mode.
fn modes(path: &Path) -> Vec<(PathBuf, u32)> {
    let metadata = fs::symlink_metadata(path).unwrap();
    let mut found = vec![(path.to_owned(), metadata.mode())];
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            found.extend(modes(&entry.unwrap().path()));
        }
    }
    found
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "run by files_are_private_whatever_the_umask"]
async fn child_uses_everything_under_umask() {
    let Some(path) = path_of_child() else { return };
    let umask = path.file_name().unwrap().to_str().unwrap();
    rustix::process::umask(Mode::from_bits_truncate(umask.parse().unwrap()));
    use_everything(&writer(&path.join("state"))).await;
    // The owner must be able to read the files again.
    let key = StateDirectory::open(&path.join("state"), OpenMode::ReadWrite).unwrap();
    assert!(key.get(&Part::NextKey.of(&web())).await.unwrap().is_some());
}

#[test]
fn files_are_private_whatever_the_umask() {
    for umask in [0o000, 0o022, 0o777] {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join(umask.to_string());
        fs::create_dir(&path).unwrap();
        let mut command = child("child_uses_everything_under_umask", &path);
        if is_root() {
            // Root would not notice that the umask shut it out.
            chown(scratch.path(), Some(OTHER_USER), Some(OTHER_USER)).unwrap();
            chown(&path, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
            command.uid(OTHER_USER).gid(OTHER_USER);
        }
        assert!(command.status().unwrap().success(), "umask {umask:04o}");
        let found = modes(&path.join("state"));
        assert!(found.len() > 30, "{found:?}");
        for (path, mode) in found {
            let expected = match mode & 0o170_000 {
                0o040_000 => 0o700,
                0o100_000 => 0o600,
                _ => continue,
            };
            assert_eq!(mode & 0o7777, expected, "{} under umask {umask:04o}", path.display());
        }
    }
}

#[test]
fn a_reader_needs_no_directory_and_makes_none() {
    let (scratch, path) = scratch();
    let state = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
    let found = futures(async {
        (
            state.get(&document()).await.unwrap().is_none(),
            state.list(&Collection::Certificates, None).await.unwrap().keys,
            state.published(&web()).await.unwrap(),
            state.read_log(&events()).await.unwrap(),
        )
    });
    assert_eq!(found, (true, vec![], None, vec![]));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn a_reader_changes_nothing() {
    let (_scratch, path) = scratch();
    futures(use_everything(&writer(&path)));
    File::create(path.join("certificates/default/web/.tmp-1-1-x")).unwrap();
    let before = modes(&path);
    let state = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
    futures(async {
        let zero = SignedDuration::ZERO;
        let revision = state.get(&document()).await.unwrap().unwrap().revision;
        let refused = [
            state.create(&Key::Revoked("cd".into()), b"").await.unwrap_err(),
            state.put_if(&document(), &all("new"), &revision).await.unwrap_err(),
            state.delete(&document()).await.unwrap_err(),
            state.lease(&Lock::Certificate(web()), zero).await.unwrap_err(),
            state.append(&events(), &line()).await.unwrap_err(),
            state.append(&Log::Issuances, &line()).await.unwrap_err(),
            state.publish(&web(), 9, &pair("9"), None).await.unwrap_err(),
        ];
        for error in refused {
            assert!(error.to_string().contains("opened for reading only"), "{error}");
        }
    });
    assert_eq!(modes(&path), before);
}

#[test]
fn a_state_that_is_open_to_others_is_not_written_to() {
    let (_scratch, path) = scratch();
    drop(writer(&path));
    for mode in [0o755, 0o701, 0o770] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let error = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap_err();
        assert!(matches!(error, StoreError::TooOpen { mode: m, .. } if m == mode), "{error}");
        StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
    }
}

#[test]
fn a_state_of_another_user_is_read_by_root_and_written_only_by_its_owner() {
    if !is_root() {
        return;
    }
    let (_scratch, path) = scratch();
    futures(use_everything(&writer(&path)));
    for (path, _) in modes(&path) {
        std::os::unix::fs::lchown(path, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    }
    let before = modes(&path);
    let error = StateDirectory::open(&path, OpenMode::ReadWrite).unwrap_err();
    assert!(matches!(error, StoreError::ForeignOwner { owner: OTHER_USER, us: 0, .. }), "{error}");
    assert_eq!(modes(&path), before);
    let state = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
    futures(async {
        assert_eq!(state.published(&web()).await.unwrap(), Some(pair("2")));
        // A file of another user among them is rejected.
        chown(path.join("certificates/default/web/status.json"), Some(0), Some(0)).unwrap();
        let error = state.get(&document()).await.map(drop).unwrap_err();
        assert!(
            matches!(error, StoreError::ForeignOwner { owner: 0, us: OTHER_USER, .. }),
            "{error}"
        );
    });
}

#[test]
fn a_document_that_is_no_plain_private_file_is_refused() {
    let (_scratch, path) = scratch();
    let state = writer(&path);
    futures(written(&state));
    let file = path.join("certificates/default/web/status.json");
    let other = path.join("certificates/default/web/other");
    let chmod = |mode| fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    let cases: [(&str, &dyn Fn()); 7] = [
        ("mode 0640 is too open", &|| chmod(0o640)),
        ("mode 0606 is too open", &|| chmod(0o606)),
        ("is a file with a second hard link", &|| fs::hard_link(&file, &other).unwrap()),
        ("is a symbolic link", &|| {
            fs::rename(&file, &other).unwrap();
            symlink("other", &file).unwrap();
        }),
        ("is a special file", &|| {
            assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
        }),
        ("is a folder", &|| fs::create_dir(&file).unwrap()),
        ("larger than 4194304 bytes", &|| {
            atomic::write(&file, &vec![b' '; (4 << 20) + 1], 0o600).unwrap();
        }),
    ];
    for (expected, damage) in cases {
        damage();
        let found = futures(state.get(&document())).map(drop).unwrap_err().to_string();
        assert!(found.contains(expected), "{expected}: {found}");
        let put = futures(state.put_if(&document(), &all("{}"), &Version("x".into())));
        assert_eq!(put.unwrap_err().to_string(), found);
        let kept = futures(state.create(&document(), &all("{}"))).unwrap_err();
        assert_eq!(kept.to_string(), found);
        // Away with it, whatever it is now.
        fs::remove_file(&file).or_else(|_| fs::remove_dir(&file)).unwrap();
        fs::remove_file(&other).ok();
        if expected.starts_with("mode") {
            atomic::write(&file, b"{}", 0o600).unwrap();
        } else if expected.contains("hard link") {
            futures(written(&state));
        }
    }
}

#[test]
fn a_document_is_replaced_only_as_it_was_read() {
    let (_scratch, path) = scratch();
    let state = writer(&path);
    let key = document();
    futures(async {
        let absent = state.put_if(&key, &all(""), &Version("x".into())).await;
        let first = state.create(&key, &all("1")).await.unwrap();
        let second = state.put_if(&key, &all("2"), &first).await.unwrap();
        let outdated = state.put_if(&key, &all("3"), &first).await;
        let key = Part::NextKey.of(&web());
        let first = Version::of(b"1");
        let aside = state.quarantine(&key, &first).await.map(|_| first);
        for refused in [absent, outdated, aside] {
            assert!(matches!(refused, Err(StoreError::Conflict { .. })));
        }
        assert_eq!(state.get(&document()).await.unwrap().unwrap().revision, second);
    });
}

#[test]
fn of_two_writers_one_wins() {
    let (_scratch, path) = scratch();
    drop(writer(&path));
    for revision in 1..=20 {
        let key = Key::Revoked(format!("{revision:02}"));
        let race = |text: String| {
            let (path, key) = (path.clone(), key.clone());
            std::thread::spawn(move || futures(writer(&path).create(&key, text.as_bytes())))
        };
        let threads: Vec<_> = (0..4).map(|number| race(number.to_string())).collect();
        let found: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let winners: Vec<_> = found.iter().flatten().collect();
        let stored = futures(writer(&path).get(&key)).unwrap().unwrap();
        assert_eq!(winners, [&stored.revision]);
        let lost = |found: &Result<_, _>| matches!(found, Err(StoreError::Conflict { .. }));
        assert_eq!(found.iter().filter(|found| lost(found)).count(), 3);
    }
    let names: Vec<_> = fs::read_dir(path.join("revoked")).unwrap().collect();
    assert_eq!(names.len(), 20, "no temporaries: {names:?}");
}

#[test]
fn temporaries_of_killed_runs_are_swept_under_the_lock() {
    let (_scratch, path) = scratch();
    let state = writer(&path);
    futures(use_everything(&state));
    let folders = ["certificates/default/web", "certificates/default/web/orders", "accounts/ab"];
    let temp = |folder: &str| path.join(folder).join(".tmp-1-1-status.json");
    // A test beside this one may start a process, which shares each lock until it runs.
    let patience = SignedDuration::from_secs(30);
    let account = futures(state.lease(&Lock::Account("ab".into()), patience)).unwrap();
    for folder in folders {
        File::create(temp(folder)).unwrap();
    }
    let here = || folders.map(|folder| temp(folder).exists());
    drop(writer(&path));
    assert_eq!(here(), [true, true, true], "another process works on the account");
    drop(account);
    drop(writer(&path));
    assert_eq!(here(), [true, true, false]);
    drop(futures(state.lease(&Lock::Certificate(web()), patience)).unwrap());
    assert_eq!(here(), [false, false, false]);
}

#[test]
fn a_forgotten_certificate_is_gone_and_its_secret_only_if_asked() {
    let (_scratch, path) = scratch();
    let state = writer(&path);
    let claim = Claim { secret: web(), is_recorded: true, is_contested: false };
    futures(async {
        use_everything(&state).await;
        state.forget("web", &claim, false).unwrap();
        state.delete(&document()).await.unwrap();
        assert_eq!(state.list(&Collection::Certificates, None).await.unwrap().keys, []);
        assert_eq!(state.published(&web()).await.unwrap(), Some(pair("2")));
        state.forget("web", &claim, true).unwrap();
        assert_eq!(state.published(&web()).await.unwrap(), None);
        use_everything_again(&state).await;
    });
}

async fn written(state: &StateDirectory) {
    state.create(&document(), &of_parts([Part::Record], "{}")).await.unwrap();
    state.settle(&document(), &[]).await.unwrap();
}

async fn use_everything_again(state: &StateDirectory) {
    written(state).await;
    state.publish(&web(), 1, &pair("1"), None).await.unwrap();
    assert_eq!(state.list(&Collection::Certificates, None).await.unwrap().keys, [document()]);
}

/// Opens `..data` once and reads both files through it.
fn read_pair(folder: &Path) -> std::io::Result<(String, String)> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let data = rustix::fs::open(folder.join("..data"), flags, Mode::empty())?;
    let read = |name| {
        let mut text = String::new();
        let file = rustix::fs::openat(&data, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        File::from(file?).read_to_string(&mut text).map(|_| text)
    };
    Ok((read("tls.crt")?, read("tls.key")?))
}

#[test]
fn a_reader_beside_a_publisher_always_sees_one_pair() {
    let (_scratch, path) = scratch();
    let state = writer(&path);
    let folder = state.secret_path(&web()).unwrap();
    futures(state.publish(&web(), 1, &pair("1"), None)).unwrap();
    let published = Arc::new(AtomicU32::new(1));
    let done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (published, done) = (published.clone(), done.clone());
        std::thread::spawn(move || {
            let state = StateDirectory::open(&path, OpenMode::ReadOnly).unwrap();
            let mut reads = 0;
            while !done.load(Ordering::SeqCst) {
                let before = published.load(Ordering::SeqCst);
                match read_pair(&folder) {
                    Ok((certificate, key)) => assert_eq!(certificate, key),
                    // A set is removed by the second publish after it; a reader that was asleep
                    // for so long finds nothing, but never half.
                    Err(error) => {
                        let after = published.load(Ordering::SeqCst);
                        assert!(after > before, "{error}");
                    }
                }
                let files = futures(state.published(&web())).unwrap().unwrap();
                assert_eq!(files, pair(std::str::from_utf8(&files.0["tls.crt"]).unwrap()));
                reads += 1;
            }
            reads
        })
    };
    for revision in 2..=200 {
        futures(state.publish(&web(), revision, &pair(&revision.to_string()), None)).unwrap();
        published.store(revision, Ordering::SeqCst);
    }
    done.store(true, Ordering::SeqCst);
    assert!(reader.join().unwrap() > 0);
}

/// Adds one to the number in a file, in a way that loses counts without a lock.
async fn count(state: &StateDirectory, file: &Path) -> u64 {
    let wait = SignedDuration::from_secs(600);
    let lease = state.lease(&Lock::Certificate(web()), wait).await.unwrap();
    let number: u64 = fs::read_to_string(file).unwrap().parse().unwrap();
    tokio::task::yield_now().await;
    let mut file = File::create(file).unwrap();
    file.write_all((number + 1).to_string().as_bytes()).unwrap();
    lease.epoch()
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "run by tasks_and_processes_exclude_each_other"]
async fn child_counts() {
    let Some(path) = path_of_child() else { return };
    let state = writer(&path);
    let file = path.join("count");
    let tasks = (0..8).map(|_| count(&state, &file));
    let mut fences = futures_util::future::join_all(tasks).await;
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), 8, "each holder has a number of its own");
}

#[test]
fn tasks_and_processes_exclude_each_other() {
    let (_scratch, path) = scratch();
    let state = writer(&path);
    atomic::write(&path.join("count"), b"0", 0o600).unwrap();
    let spawn = |_| child("child_counts", &path).spawn().unwrap();
    let children: Vec<Child> = (0..8).map(spawn).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fs::read_to_string(path.join("count")).unwrap(), "64");
    let lease = futures(state.lease(&Lock::Certificate(web()), SignedDuration::ZERO)).unwrap();
    assert_eq!(lease.epoch(), 65);
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "run by the_lock_of_a_killed_process_is_free_at_once"]
async fn child_holds_the_lock() {
    let Some(path) = path_of_child() else { return };
    let state = writer(&path);
    let _lease = state.lease(&Lock::Certificate(web()), SignedDuration::ZERO).await.unwrap();
    File::create(path.join("held")).unwrap();
    std::future::pending::<()>().await;
}

/// A process that does not outlive its test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
    }
}

#[test]
fn the_lock_of_a_killed_process_is_free_at_once() {
    let (_scratch, path) = scratch();
    let state = writer(&path);
    let mut holder = Killed(child("child_holds_the_lock", &path).spawn().unwrap());
    while !path.join("held").exists() {
        assert!(holder.0.try_wait().unwrap().is_none(), "the holder ended");
        std::thread::yield_now();
    }
    let lock = || futures(state.lease(&Lock::Certificate(web()), SignedDuration::ZERO));
    let expected = format!("certificate web is locked by process {}", holder.0.id());
    assert_eq!(lock().unwrap_err().to_string(), expected);
    drop(holder);
    assert_eq!(lock().unwrap().epoch(), 2);
}

/// Runs a future on a runtime of its own.
fn futures<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}
