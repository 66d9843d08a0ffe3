//! Promise: the packages contain what this tree makes: the units of `certctl timer print`, every
//! page of the manual, the completions, the examples; and all say the same version.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A path below the root of this tree.
fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files of a folder, by name; not those of the folders in it.
fn files(folder: &Path) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|entry| (entry.file_name().into_string().unwrap(), entry.path())).collect()
}

/// What `timer print --systemd` writes for a program in /usr/bin, by name. A package is not made
/// for one host: instead of its minute, systemd chooses one for each.
fn printed_units() -> BTreeMap<String, String> {
    let program = env!("CARGO_BIN_EXE_certctl");
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(["timer", "print", "--systemd", "--dir"]).arg(folder.path());
    let run = command.env_clear().output().unwrap();
    assert!(run.status.success(), "{run:?}");
    let packaged = |text: String| {
        let lines = text.lines().flat_map(|line| match line {
            "# A host-specific minute spreads the load on the CA." => {
                vec!["# A host-specific time of each hour spreads the load on the CA."]
            }
            "RandomizedDelaySec=10m" => vec!["RandomizedDelaySec=1h", "FixedRandomDelay=true"],
            line if line.starts_with("OnCalendar=") => vec!["OnCalendar=hourly"],
            line => vec![line],
        });
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        text.replace(program, "/usr/bin/certctl")
    };
    let units = files(folder.path()).into_iter();
    units.map(|(name, path)| (name, packaged(fs::read_to_string(path).unwrap()))).collect()
}

#[test]
fn the_packaged_units_are_those_that_timer_print_prints() {
    let printed = printed_units();
    assert_eq!(printed.len(), 6, "{:?}", printed.keys());
    assert!(printed["certctl.timer"].contains("\nOnCalendar=hourly\nRandomizedDelaySec=1h\nFixed"));
    let folder = tree("packaging/systemd");
    if std::env::var_os("CERTCTL_REGENERATE").is_some() {
        for (name, text) in &printed {
            let mut file = fs::File::create(folder.join(name)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
    }
    for (name, text) in &printed {
        let kept = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!(kept, *text, "{name}: CERTCTL_REGENERATE=1 cargo test --test repo packaging");
    }
    // The package's own: whether the timer is enabled.
    let others: Vec<String> =
        files(&folder).into_keys().filter(|name| !printed.contains_key(name)).collect();
    assert_eq!(others, ["certctl.preset"]);
}

#[test]
fn the_packaged_schema_is_what_certctl_schema_prints() {
    let run = Command::new(env!("CARGO_BIN_EXE_certctl")).arg("schema").env_clear().output();
    let printed = String::from_utf8(run.unwrap().stdout).unwrap();
    let path = tree(SCHEMA);
    if std::env::var_os("CERTCTL_REGENERATE").is_some() {
        fs::File::create(&path).unwrap().write_all(printed.as_bytes()).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == printed, "{SCHEMA}: CERTCTL_REGENERATE=1 cargo test --test repo packaging");
    for package in packages() {
        let source = package.get("usr/share/certctl/certctl.schema.json");
        assert_eq!(source.map(String::as_str), Some(SCHEMA));
    }
    let release = fs::read_to_string(tree("packaging/release")).unwrap();
    assert!(release.contains(SCHEMA), "the archive has no {SCHEMA}");
}

/// Where the files of a package are from, by where they are installed: of Cargo.toml's lists, as
/// (source, destination).
fn installed<'a>(list: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (source, place) in list {
        let place = place.trim_start_matches('/');
        let (folder, pattern) = source.rsplit_once('/').unwrap_or(("", source));
        let names = match pattern.split_once('*') {
            // Built, not in the tree.
            _ if folder == "target/release" => vec![pattern.to_owned()],
            None => vec![pattern.to_owned()],
            Some((head, tail)) => {
                let names = files(&tree(folder)).into_keys();
                names.filter(|name| name.starts_with(head) && name.ends_with(tail)).collect()
            }
        };
        assert!(!names.is_empty(), "{source} is no file");
        for name in names {
            let source = Path::new(folder).join(&name).display().to_string();
            assert!(folder == "target/release" || tree(&source).is_file(), "{source}");
            let place = if place.ends_with('/') { [place, &name].concat() } else { place.into() };
            assert_eq!(found.insert(place, source.clone()), None, "{source} replaces another");
        }
    }
    found
}

fn text<'a>(value: &'a DeValue<'_>) -> &'a str {
    value.as_str().unwrap()
}

/// The lists of files of the .deb and of the .rpm.
fn packages() -> [BTreeMap<String, String>; 2] {
    let manifest = fs::read_to_string(tree("Cargo.toml")).unwrap();
    let manifest = DeTable::parse(&manifest).unwrap();
    let list = |kind: &str| {
        let metadata = manifest.get_ref()["package"].get_ref()["metadata"].get_ref().clone();
        metadata[kind].get_ref()["assets"].get_ref().as_array().unwrap().clone()
    };
    let (deb, rpm) = (list("deb"), list("generate-rpm"));
    let deb = deb.iter().map(Spanned::get_ref);
    let rpm = rpm.iter().map(Spanned::get_ref);
    [
        installed(deb.map(|line| (text(line[0].get_ref()), text(line[1].get_ref())))),
        installed(rpm.map(|line| (text(line["source"].get_ref()), text(line["dest"].get_ref())))),
    ]
}

#[test]
fn both_packages_install_the_same_files() {
    let [deb, rpm] = packages();
    let deb = deb.into_iter().map(|(place, source)| {
        // Each distribution has its own folder for the completions of packages.
        (place.replace("zsh/vendor-completions", "zsh/site-functions"), source)
    });
    let mut rpm = rpm;
    // On Debian the maintainer's script enables the timer.
    let preset = rpm.remove("usr/lib/systemd/system-preset/50-certctl.preset").unwrap();
    assert_eq!(preset, "packaging/systemd/certctl.preset");
    assert_eq!(deb.collect::<BTreeMap<_, _>>(), rpm);
}

#[test]
fn the_packages_leave_out_no_page_unit_completion_or_example() {
    let [deb, _] = packages();
    let mut wanted = BTreeMap::new();
    let mut want = |folder: &str, place: &dyn Fn(&str) -> Option<String>| {
        for name in files(&tree(folder)).into_keys() {
            if let Some(place) = place(&name) {
                wanted.insert(place, format!("{folder}/{name}"));
            }
        }
    };
    want("man", &|name| {
        let (_, section) = name.rsplit_once('.').unwrap();
        Some(format!("usr/share/man/man{section}/{name}"))
    });
    want("packaging/systemd", &|name| match name.rsplit_once('.').unwrap().1 {
        "preset" => None,
        "conf" => Some(format!("usr/lib/sysusers.d/{name}")),
        _ => Some(format!("usr/lib/systemd/system/{name}")),
    });
    want("packaging/systemd/certctl.service.d", &|name| {
        Some(format!("usr/lib/systemd/system/certctl.service.d/{name}"))
    });
    want("completions", &|name| match name {
        "_certctl" => Some("usr/share/zsh/vendor-completions/_certctl".to_owned()),
        "certctl.bash" => Some("usr/share/bash-completion/completions/certctl".to_owned()),
        "certctl.fish" => Some("usr/share/fish/vendor_completions.d/certctl.fish".to_owned()),
        // Of shells that have no folder for packages.
        "_certctl.ps1" | "certctl.elv" => None,
        other => panic!("{other}: which shell is that?"),
    });
    for folder in ["", "/dns01", "/hooks.d", "/solvers.d"] {
        want(&format!("examples{folder}"), &|name| {
            Some(format!("usr/share/doc/certctl/examples{folder}/{name}"))
        });
    }
    for folder in ["", "/guide", "/how-to", "/reference", "/explanation"] {
        want(&format!("docs/src{folder}"), &|name| {
            Some(format!("usr/share/doc/certctl/docs/src{folder}/{name}"))
        });
    }
    wanted.retain(|place, source| deb.get(place) != Some(source));
    assert!(wanted.is_empty(), "missing in Cargo.toml: {wanted:#?}");
}

#[test]
fn the_changelog_begins_with_this_version() {
    let changelog = fs::read_to_string(tree("CHANGELOG.md")).unwrap();
    let versions = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    assert_eq!(versions.map(|line| line.split(' ').next().unwrap()).next(), Some(VERSION));
}

#[test]
fn the_formula_has_no_version_or_address_of_its_own() {
    let formula = fs::read_to_string(tree("packaging/certctl.rb.in")).unwrap();
    for placeholder in ["@URL@", "@SHA256@", "@DESCRIPTION@", "@HOMEPAGE@"] {
        assert_eq!(formula.matches(placeholder).count(), 1, "{placeholder}");
    }
    assert!(!formula.contains(VERSION) && !formula.contains("://"), "{formula}");
}

const SCHEMA: &str = "packaging/certctl.schema.json";
const VERSION: &str = env!("CARGO_PKG_VERSION");
