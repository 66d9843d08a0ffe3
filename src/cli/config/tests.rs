use std::ffi::OsString;

use super::*;
use crate::cli::args::VERBS;
use crate::cli::parse::parse;
use crate::cli::setting::{Origin, Setting, settings as read_settings};

const PATH: &str = "/etc/certctl/config.toml";

fn config(text: &str) -> Config {
    Config::parse(PATH.into(), text, VERBS.tree)
}

fn mistakes(text: &str) -> Vec<String> {
    config(text).mistakes.iter().map(Diagnostic::render).collect()
}

fn configured(text: &str, key: &str) -> (Vec<String>, usize) {
    let config = config(text);
    assert_eq!(mistakes(text), Vec::<String>::new());
    let entry = config.entry(key).unwrap();
    (entry.words.iter().map(|word| word.to_str().unwrap().to_owned()).collect(), entry.line)
}

#[test]
fn a_value_becomes_the_words_of_its_flag() {
    for (text, key, wanted, line) in [
        ("timeout = '1h30m'", "timeout", vec!["1h30m"], 1),
        ("\n# c\nparallel = 0x40", "parallel", vec!["64"], 3),
        ("parallel = 1_000", "parallel", vec!["1000"], 1),
        ("verbose = 2", "verbose", vec!["2"], 1),
        ("exit-code = true", "exit-code", vec!["true"], 1),
        ("resolver = '192.0.2.1'", "resolver", vec!["192.0.2.1"], 1),
        (
            "resolver = [\n 'a.example',\n '192.0.2.1:54']",
            "resolver",
            vec!["a.example", "192.0.2.1:54"],
            1,
        ),
        ("resolver = []", "resolver", vec![], 1),
        (
            "filename = ['web.yaml', '/srv/x']",
            "filename",
            vec!["/etc/certctl/web.yaml", "/srv/x"],
            1,
        ),
        ("state-dir = 'state'", "state-dir", vec!["/etc/certctl/state"], 1),
        ("log-format = 'json'", "log-format", vec!["json"], 1),
        ("dns01-authoritative-port = 5353", "dns01-authoritative-port", vec!["5353"], 1),
    ] {
        let wanted = wanted.into_iter().map(str::to_owned).collect();
        assert_eq!(configured(text, key), (wanted, line), "{text}");
    }
}

#[test]
fn a_mistake_says_where_it_is_and_what_would_be_right() {
    let text = "parallel = \"64\"\ntimeout = \"10 minutes\"\nparalel = 1\n";
    assert_eq!(
        mistakes(text),
        [
            "error[E0302]: parallel: expected a number, got a string\n  \
             --> /etc/certctl/config.toml:1:12\n   \
             |\n 1 | parallel = \"64\"\n   \
             |            ^^^^\n   \
             = help: accepted: a number above 0, such as parallel = 64\n",
            "error[E0303]: timeout: `10 minutes`: unknown unit ` minutes`: use ns, us, ms, s, m or h\n  \
             --> /etc/certctl/config.toml:2:11\n   \
             |\n 2 | timeout = \"10 minutes\"\n   \
             |           ^^^^^^^^^^^^\n   \
             = help: accepted: a duration, such as \"90s\", \"10m\" or \"1h30m\"\n",
            "error[E0301]: paralel: unknown key\n  \
             --> /etc/certctl/config.toml:3:1\n   \
             |\n 3 | paralel = 1\n   \
             | ^^^^^^^ did you mean `parallel`?\n",
        ]
    );
}

#[test]
fn nothing_is_passed_over() {
    for (text, headline, detail) in [
        ("exit-code = 'yes'", "exit-code: expected a boolean, got a string", "true or false"),
        ("exit-code = [true]", "exit-code: expected a boolean, got an array", "true or false"),
        ("timeout = 10", "timeout: expected a string, got an integer", "\"10m\""),
        ("timeout = 2026-11-21", "timeout: expected a string, got a datetime", "\"10m\""),
        ("timeout = ''", "timeout: must not be empty", "\"10m\""),
        ("timeout = '0s'", "timeout: `0s`: must be more than zero", "\"10m\""),
        ("parallel = 0", "parallel: `0`: number would be zero", "above 0"),
        ("parallel = -1", "parallel: `-1`: invalid digit", "above 0"),
        ("parallel = 1.5", "parallel: expected a number, got a float", "above 0"),
        ("verbose = 300", "verbose: `300` is not a number from 0 to 255", "a number"),
        ("http01-check-port = 70000", "http01-check-port: `70000`: 70000 is not in", "1 to 65535"),
        (
            "http01-listen = ['[::]:80', 80]",
            "http01-listen: expected a string or a list of strings, got an array",
            "[ ]",
        ),
        ("http01-listen = 'here'", "http01-listen: `here`: write ADDRESS:PORT", "\"[::]:80\""),
        ("color = 'blue'", "color: `blue` is not a valid value", "\"auto\", \"always\", \"never\""),
        ("namespace = 'Not_A_Label'", "namespace: `Not_A_Label`: a namespace has", "default"),
        ("filename = '-'", "filename: standard input is not allowed here", "a path"),
        (
            "config-dir = '/x'",
            "config-dir: not allowed here, because certctl reads config.toml from",
            "CERTCTL_CONFIG_DIR",
        ),
        ("http01_listen = ':80'", "http01_listen: unknown key", "did you mean `http01-listen`?"),
        ("splay = '5m'", "splay: unknown key", "a flag of `certctl issue`"),
        ("help = true", "help: unknown key", "the long names of the global flags"),
        ("[timeouts]\nlock = '1s'", "timeouts: unknown key", "did you mean `timeout`?"),
        ("colour.ui = 'auto'", "colour: unknown key", "did you mean `color`?"),
        ("timeout = '1m'\ntimeout = '2m'", "not TOML: duplicate key", ":2:1"),
        ("timeout = 10m", "not TOML: ", ":1:11"),
        ("timeout", "not TOML: ", ":1:8"),
        ("verbose = 1\nquiet = 1", "quiet: `verbose` is also set", ":2:1"),
    ] {
        let config = config(text);
        let [mistake] = mistakes(text).try_into().unwrap_or_else(|all| panic!("{text}: {all:?}"));
        let first = mistake.lines().next().unwrap();
        assert!(first.contains(headline), "{text}: {mistake}");
        assert!(mistake.contains(detail), "{text}: {mistake}");
        assert!(config.entries.is_empty() && config.path.is_some(), "{text}");
    }
}

#[test]
fn a_file_that_is_not_there_is_no_mistake_and_one_that_cannot_be_read_is() {
    let folder = tempfile::tempdir().unwrap();
    let none = Config::read(&folder.path().join("none"), VERBS.tree);
    assert_eq!((none.path, none.mistakes.len()), (None, 0));
    let path = folder.path().join(FILE);
    let write = |bytes: &[u8]| {
        use std::io::Write as _;
        std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
    };
    for (bytes, headline, line) in [
        (&b"# a\ncolor = '\xff'"[..], "is not UTF-8 from here on", 2),
        (&vec![b'#'; (64 << 10) + 1][..], "is longer than 65536 bytes", 0),
    ] {
        write(bytes);
        let config = Config::read(folder.path(), VERBS.tree);
        let found: Vec<_> = config.mistakes.iter().map(|m| (m.headline(), m.line)).collect();
        assert_eq!(found, [(headline.to_owned(), line)]);
    }
    write(&vec![b'#'; 64 << 10]);
    assert_eq!(Config::read(folder.path(), VERBS.tree).mistakes.len(), 0);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let config = Config::read(folder.path(), VERBS.tree);
    let found = config.mistakes.first().unwrap().headline();
    assert!(found.starts_with("cannot be read: "), "{found}");
}

/// The settings of a command line in an environment, with this file.
fn settings(text: &str, line: &str, variables: &[(&str, &str)]) -> Vec<Setting> {
    let folder = tempfile::tempdir().unwrap();
    std::io::Write::write_all(
        &mut std::fs::File::create(folder.path().join(FILE)).unwrap(),
        text.as_bytes(),
    )
    .unwrap();
    let directory = folder.path().to_str().unwrap();
    let variables = [&[("CERTCTL_CONFIG_DIR", directory)], variables].concat();
    let configured: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    let parsed = parse(&configured, Environment::from_pairs(&variables)).unwrap();
    assert_eq!(parsed.config.mistakes.len(), 0, "{:?}", parsed.config.mistakes);
    read_settings(&parsed.matches, &parsed.environment, &parsed.config)
}

#[test]
fn a_flag_overrides_a_variable_overrides_the_file_overrides_the_default() {
    use Origin::{Config, Default, Flag, Variable};
    let variable = |name: &str| Variable(name.to_owned());
    let flag = |name: &str| Flag(name.to_owned());
    let listen = "http01-listen = ':81'";
    for (text, line, variables, name, value, origin) in [
        ("", "issue", &[][..], "http01-listen", Some("[::]:80"), Default),
        (listen, "issue", &[], "http01-listen", Some(":81"), Config(1)),
        (
            listen,
            "issue --http01-listen :83",
            &[],
            "http01-listen",
            Some(":83"),
            flag("http01-listen"),
        ),
        (
            listen,
            "--http01-listen :83 issue",
            &[],
            "http01-listen",
            Some(":83"),
            flag("http01-listen"),
        ),
        ("\ntimeout = '1m'", "issue", &[], "timeout", Some("1m"), Config(2)),
        ("timeout = '1m'", "--timeout 2m issue", &[], "timeout", Some("2m"), flag("timeout")),
        ("exit-code = true", "issue", &[], "exit-code", Some("true"), Config(1)),
        ("verbose = 2", "issue", &[], "verbose", Some("2"), Config(1)),
        ("verbose = 2", "issue -v", &[], "verbose", Some("1"), flag("verbose")),
        ("verbose = 2", "issue -q", &[], "verbose", Some("0"), Default),
        (
            "verbose = 2",
            "issue",
            &[("CERTCTL_LOG", "certctl=warn")],
            "verbose",
            Some("certctl=warn"),
            variable("CERTCTL_LOG"),
        ),
        (
            "filename = '/a'",
            "issue",
            &[("CERTCTL_FILES", "/b:/c")],
            "filename",
            Some("/b:/c"),
            variable("CERTCTL_FILES"),
        ),
        ("filename = '/a'", "issue", &[], "filename", Some("/a"), Config(1)),
        ("namespace = 'prod'", "status -A", &[], "namespace", None, Default),
        ("all-namespaces = true", "status -n prod", &[], "all-namespaces", Some("false"), Default),
        (
            "resolver = ['192.0.2.1', '192.0.2.2']",
            "issue",
            &[],
            "resolver",
            Some("192.0.2.1, 192.0.2.2"),
            Config(1),
        ),
    ] {
        let line = format!("certctl {line}");
        let found = settings(text, &line, variables).into_iter().find(|s| s.name == name).unwrap();
        let value = value.map(str::to_owned);
        assert_eq!(found, Setting { name: name.to_owned(), value, origin }, "{text} {line}");
    }
}

#[test]
fn every_flag_of_all_verbs_has_a_key_and_every_key_its_setting() {
    let settings = settings("", "certctl version", &[]);
    let named: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
    let keys = keys();
    let expected: Vec<&str> =
        keys.iter().map(String::as_str).filter(|key| *key != STATE_DIR).collect();
    assert_eq!(named, expected);
    assert!(keys.len() >= 22, "{keys:?}");
}

#[test]
fn the_example_has_every_key_at_its_default() {
    let example = include_str!("../../../examples/config.toml");
    assert!(config(example).entries.is_empty(), "an example that is copied changes nothing");
    let mut uncommented = String::new();
    let mut without_default = Vec::new();
    let mut comment = String::new();
    for line in example.lines() {
        match line.strip_prefix('#').filter(|rest| !rest.starts_with(' ') && !rest.is_empty()) {
            Some(setting) => {
                if comment.contains("No default") {
                    without_default.push(setting.split(' ').next().unwrap());
                }
                // One of the two may stand there.
                if !setting.starts_with("quiet") {
                    uncommented = format!("{uncommented}{setting}\n");
                }
                comment.clear();
            }
            None => comment = format!("{comment} {line}"),
        }
    }
    assert_eq!(mistakes(&uncommented), Vec::<String>::new());
    let file = config(&uncommented);
    let shown: Vec<String> = keys().into_iter().filter(|key| key != "quiet").collect();
    let missing: Vec<&String> = shown.iter().filter(|key| file.entry(key).is_none()).collect();
    assert_eq!(missing, Vec::<&String>::new());
    for Setting { name, value, .. } in settings("", "certctl version", &[]) {
        let Some(entry) = file.entry(&name) else { continue };
        let configured: Vec<&str> = entry.words.iter().map(|word| word.to_str().unwrap()).collect();
        let is_default = value.as_deref() == Some(configured.join(", ").as_str());
        let has_none = without_default.contains(&name.as_str());
        assert!(is_default != has_none, "{name}: {value:?}, and the example says {configured:?}");
    }
}
