//! What an output writes, keeps and removes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use super::*;
use crate::resource::Look;

fn files(text: &str, names: &[&str]) -> SecretFiles {
    let bytes = || Zeroizing::new(text.as_bytes().to_vec());
    SecretFiles(names.iter().map(|name| ((*name).to_owned(), bytes())).collect())
}

fn output(folder: &Path) -> Output {
    let folder = folder.canonicalize().unwrap().join("tls");
    Output { folder, owner: None, group: None, mode: 0o640, bounds: Bounds::default() }
}

#[test]
fn nothing_is_written_where_the_bounds_forbid_it() {
    let scratch = tempfile::tempdir().unwrap();
    let output = output(scratch.path());
    let own = output.folder.parent().unwrap().to_path_buf();
    for reserved in [own.clone(), output.folder.clone()] {
        let bounds = Bounds { reserved: vec![reserved], roots: Vec::new() };
        let output = Output { bounds, ..output.clone() };
        let error = output.write(1, &files("1", &PAIR), ANY).unwrap_err();
        assert!(matches!(error, OutputError::Trust(TrustError::Reserved { .. })), "{error}");
        assert!(output.check().is_err());
    }
    assert_eq!(names(&own), [""; 0]);
}

const PAIR: [&str; 3] = ["metadata.json", "tls.crt", "tls.key"];
const ANY: &dyn Fn(&[u8]) -> Result<(), String> = &|_| Ok(());

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_files_are_laid_out_as_in_the_state_and_switch_together() {
    let scratch = tempfile::tempdir().unwrap();
    let output = output(scratch.path());
    output.write(1, &files("1", &[&PAIR[..], &["key.der"]].concat()), ANY).unwrap();
    output.write(2, &files("2", &PAIR), ANY).unwrap();
    output.write(3, &files("3", &PAIR), ANY).unwrap();
    let expected = ["..data", "..revision-2-0", "..revision-3-0", "tls.crt", "tls.key"];
    assert_eq!(names(&output.folder), expected);
    let key = output.folder.join("tls.key");
    assert_eq!(fs::read_to_string(&key).unwrap(), "3");
    assert_eq!(fs::metadata(&key).unwrap().mode() & 0o7777, 0o640);
    let target = fs::read_link(&key).unwrap();
    assert_eq!(target, Path::new("..data/tls.key"));
}

#[test]
fn only_their_owner_can_write_into_the_folders_of_an_output() {
    let scratch = tempfile::tempdir().unwrap();
    let output = output(scratch.path());
    output.write(1, &files("1", &PAIR), ANY).unwrap();
    for folder in [output.folder.clone(), output.folder.join("..revision-1-0")] {
        let mode = fs::metadata(&folder).unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o755, "{mode:o} {}", folder.display());
    }
}

#[test]
fn no_file_of_an_output_is_a_program_whatever_its_mode_says() {
    let scratch = tempfile::tempdir().unwrap();
    let output = Output { mode: 0o777, ..output(scratch.path()) };
    output.write(1, &files("1", &PAIR), ANY).unwrap();
    for name in ["tls.crt", "tls.key"] {
        let mode = fs::metadata(output.folder.join("..data").join(name)).unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o660, "{mode:o} {name}");
    }
}

#[test]
fn what_is_not_ours_stays() {
    let cases = [
        ("tls.key", None),
        ("tls.key", Some("/etc/passwd")),
        ("..data", None),
        ("..data", Some("/etc")),
    ];
    for (name, link) in cases {
        let scratch = tempfile::tempdir().unwrap();
        let output = output(scratch.path());
        fs::create_dir(&output.folder).unwrap();
        let place = output.folder.join(name);
        match link {
            Some(target) => symlink(target, &place).unwrap(),
            None => fs::create_dir(&place).unwrap(),
        }
        let error = output.write(1, &files("1", &PAIR), ANY).unwrap_err();
        assert!(matches!(error, OutputError::Foreign { .. }), "{error}");
        assert_eq!(names(&output.folder), [name], "nothing else is left");
        // Nor does what is moved away replace what was moved away before.
        fs::create_dir(output.folder.join(format!("{name}.old"))).unwrap();
        let away = Right::Away { to: place.with_file_name(format!("{name}.old-1")) };
        assert_eq!(error.fix(), Some(Permit::new(place, away).into()));
    }
}

#[test]
fn a_newer_pair_is_not_replaced_by_an_older_one() {
    let scratch = tempfile::tempdir().unwrap();
    let output = output(scratch.path());
    output.write(2, &files("new", &PAIR), ANY).unwrap();
    let refuse: &dyn Fn(&[u8]) -> Result<(), String> = &|there| {
        assert_eq!(there, b"new");
        Err("it is newer".to_owned())
    };
    let error = output.write(1, &files("old", &PAIR), refuse).unwrap_err();
    assert!(matches!(error, OutputError::Newer { .. }), "{error}");
    assert_eq!(fs::read_to_string(output.folder.join("tls.crt")).unwrap(), "new");
}

#[test]
fn files_that_more_people_could_read_do_not_stay() {
    let scratch = tempfile::tempdir().unwrap();
    let mut output = output(scratch.path());
    output.write(1, &files("1", &PAIR), ANY).unwrap();
    output.mode = 0o600;
    output.write(1, &files("1", &PAIR), ANY).unwrap();
    assert_eq!(names(&output.folder), ["..data", "..revision-1-1", "tls.crt", "tls.key"]);
}

#[test]
fn a_missing_parent_is_not_made_up() {
    let scratch = tempfile::tempdir().unwrap();
    let mut output = output(scratch.path());
    output.folder = output.folder.join("deeper");
    let error = output.write(1, &files("1", &PAIR), ANY).unwrap_err();
    assert!(error.to_string().starts_with("cannot open"), "{error}");
    let home = scratch.path().canonicalize().unwrap().join("tls");
    assert_eq!(error.fix(), Some(Permit::new(home, Right::Folders).into()));
}

#[test]
fn what_stands_in_the_place_of_the_open_folder_is_not_pruned() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().canonicalize().unwrap().join("home");
    let victim = scratch.path().join("victim");
    fs::create_dir_all(victim.join("tls/..revision-1-0/deeper")).unwrap();
    fs::create_dir(&home).unwrap();
    let output = output(&home);
    output.write(1, &files("1", &PAIR), ANY).unwrap();
    output.write(2, &files("2", &PAIR), ANY).unwrap();

    let folder = output.open().unwrap();
    let moved = scratch.path().join("moved");
    fs::rename(&home, &moved).unwrap();
    symlink(&victim, &home).unwrap();
    output.prune(&folder, "..revision-2-0", None, &files("2", &PAIR)).unwrap();

    assert_eq!(names(&victim.join("tls")), ["..revision-1-0"]);
    assert_eq!(names(&moved.join("tls")), ["..data", "..revision-2-0", "tls.crt", "tls.key"]);
}

#[test]
fn as_root_a_folder_that_another_user_could_replace_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let home = scratch.path().canonicalize().unwrap().join("home");
    fs::create_dir(&home).unwrap();
    let mut output = output(&home);
    if !rustix::process::geteuid().is_root() {
        output.check().unwrap();
        return;
    }
    let chmod = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let found = |output: &Output| {
        let error = output.check().err()?;
        let written = output.write(1, &files("1", &PAIR), ANY).unwrap_err();
        assert_eq!(error.to_string(), written.to_string());
        Some((error.to_string(), error.fix()))
    };
    let shown = home.display().to_string();
    assert_eq!(found(&output), None);
    chown(&home, Some(65_534), None).unwrap();
    let owned = format!("{shown} is owned by user 65534 (mode 0755), not by root");
    let fix = |right| Some(Permit::new(&home, right).into());
    let anew = Right::Anew { owner: 65_534, is_folder: true };
    assert_eq!(found(&output), Some((owned, fix(anew))));
    output.owner = Some(65_534);
    assert_eq!(found(&output), None);
    chmod(&home, 0o777);
    let open = format!(
        "{shown} can be written by users other than root or user 65534 (owner user 65534, mode 0777)"
    );
    let closed = Right::Closed { is_secret: false, look: Some(Look::Folder) };
    assert_eq!(found(&output), Some((open, fix(closed))));
    chmod(&home, 0o1777);
    assert_eq!(found(&output), None);
    let place = scratch.path().join("place");
    fs::rename(&home, &place).unwrap();
    symlink(&place, &home).unwrap();
    let error = output.write(1, &files("1", &PAIR), ANY).unwrap_err();
    assert!(matches!(error, OutputError::Link { .. }), "{error}");
    assert_eq!(output.check().unwrap_err().to_string(), error.to_string());
    assert_eq!(names(&place), [""; 0]);
}

/// Kernels know ACLs of this kind on Linux only.
#[cfg(target_os = "linux")]
mod acls {
    use rustix::fs::removexattr;

    use super::*;
    use crate::store::acl::give;

    #[test]
    fn a_folder_whose_new_files_others_could_read_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let output = output(scratch.path());
        let above = output.folder.parent().unwrap();
        if !give(above, Acl::Default) {
            return;
        }
        let found = |output: &Output| {
            let error = output.check().unwrap_err();
            let written = output.write(1, &files("1", &PAIR), ANY).unwrap_err();
            assert_eq!(error.to_string(), written.to_string());
            (error.to_string(), error.fix())
        };
        let expected = |folder: &Path| {
            let why = "the users and groups in it could read the private key";
            let fact = format!("{} has a default ACL: {why}", folder.display());
            (fact, Some(Permit::new(folder, Right::WithoutDefaultAcl).into()))
        };
        assert_eq!(found(&output), expected(above), "the folder would inherit it");
        fs::create_dir(&output.folder).unwrap();
        assert_eq!(found(&output), expected(&output.folder));
        removexattr(&output.folder, "system.posix_acl_default").unwrap();
        output.check().unwrap();
        output.write(1, &files("1", &PAIR), ANY).unwrap();
    }

    #[test]
    fn a_file_that_was_made_with_an_acl_is_removed_before_it_is_opened_to_the_group() {
        let scratch = tempfile::tempdir().unwrap();
        let output = output(scratch.path());
        let folder = output.open().unwrap();
        // As if the file system gave one to what is made in a folder that has none.
        if !give(&output.folder, Acl::Default) {
            return;
        }
        let names_of_set = PAIR.map(str::to_owned);
        let wanted: Vec<&String> = names_of_set.iter().collect();
        let error = output.make_set(&folder, 1, &files("1", &PAIR), &wanted).unwrap_err();
        assert!(matches!(error, OutputError::AccessAcl { .. }), "{error}");
        assert_eq!(names(&output.folder), [""; 0]);
    }

    #[test]
    fn a_set_that_an_acl_opens_to_others_does_not_stay() {
        let scratch = tempfile::tempdir().unwrap();
        let output = output(scratch.path());
        output.write(1, &files("1", &PAIR), ANY).unwrap();
        if !give(&output.folder.join("..revision-1-0/tls.key"), Acl::Access) {
            return;
        }
        output.write(2, &files("2", &PAIR), ANY).unwrap();
        assert_eq!(names(&output.folder), ["..data", "..revision-2-0", "tls.crt", "tls.key"]);
    }
}
