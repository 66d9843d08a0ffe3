//! Promise: what is printed with -o json is what `certctl schema output` says, no more and no
//! less.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use certctl::cli::DOCUMENTS;
use certctl::cli::args::Arguments;
use certctl::cli::verbs::schema::{manifest, output};
use certctl::rehearsal::{Fault, ProblemType, Rule};
use clap::{Command, CommandFactory as _};
use serde_json::{Value, json};

use crate::support::{CertificateYaml, World};

type Edit = fn(&mut Value);

/// How a document breaks a schema, which must be one of draft 7 itself.
fn fault_of(schema: &Value, document: &Value) -> Option<String> {
    let place = "https://certctl.example/schema.json";
    let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
    compiler.enable_format_assertions();
    compiler.add_resource(place, schema.clone()).unwrap();
    let index = compiler.compile(place, &mut schemas).unwrap();
    schemas.validate(document, index).err().map(|error| error.to_string())
}

/// How a document breaks the schema of its kind.
fn fault(document: &Value) -> Option<String> {
    let kind = document["kind"].as_str().unwrap();
    let schema = output::of(DOCUMENTS, kind).unwrap_or_else(|| panic!("no schema of {kind}"));
    fault_of(&schema, document)
}

/// What was printed, with its kind noted; it must fit its schema.
fn fits(text: &str, seen: &mut BTreeSet<String>) -> Value {
    let document: Value = serde_json::from_str(text).unwrap();
    assert_eq!(fault(&document), None, "{document:#}");
    seen.insert(document["kind"].as_str().unwrap().to_owned());
    document
}

/// A world with a certificate that is issued and deployed nowhere, one that the CA refuses, one
/// under way, one that is new, and an account.
fn world() -> World {
    let full = CertificateYaml::new("good")
        .field("additionalOutputFormats: [{type: DER}]")
        .field("subject: {organizations: [Example]}")
        .field("duration: 48h")
        .annotation("certctl/deploy-hook", "install");
    let temporary = "cert-manager.io/issue-temporary-certificate";
    let soon = CertificateYaml::new("soon").annotation(temporary, "true");
    let world = World::prepared(&[full, CertificateYaml::new("bad"), soon]);
    let refusal = Fault::Refuse { kind: ProblemType::Unauthorized, detail: "no".to_owned() };
    world.fault(Rule::always(refusal).for_name("bad.example.test"));
    let down = Fault::unavailable(None);
    world.fault(Rule::always(down).for_name("soon.example.test"));
    let hook = world.write("config/hooks.d/install", "#!/bin/sh\nexit 7\n");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    world
}

/// The verbs of the command line, those of two words too.
fn verbs() -> BTreeSet<String> {
    let of = |command: &Command| -> Vec<String> {
        let below = command.get_subcommands().map(Command::get_name);
        let name = command.get_name();
        let names: Vec<String> = below.map(|below| format!("{name} {below}")).collect();
        if names.is_empty() { vec![name.to_owned()] } else { names }
    };
    Arguments::command().get_subcommands().flat_map(of).collect()
}

/// What prints some document, which only has to fit its schema.
const OF_ITS_SCHEMA: &[&[&str]] = &[
    &["doctor"],
    &["describe", "good"],
    &["check", "acme"],
    &["check", "dns", "good.example.test"],
    &["check", "http", "good.example.test"],
    &["check", "http", "nowhere.example.invalid"],
    &["check", "tls-alpn", "good.example.test"],
    &["account", "thumbprint", "ca"],
    // A manifest with comments is YAML: an error.
    &["create", "issuer", "letsencrypt"],
    &["create", "certificate", "www.example.test"],
];

fn is_of(line: &str, verb: &str) -> bool {
    format!("{line} ").starts_with(&format!("{verb} "))
}

/// The verbs that print no document, and how to have each print what it prints.
const WITHOUT_A_DOCUMENT: &[&str] = &[
    "account deactivate ca --yes",
    "account register",
    "account update",
    "completion bash",
    "explain certificate",
    "help",
    "man",
    "rehearse",
    "run -f -",
    "schema certificate",
    "timer print --cron",
];

/// What is printed, unless it is an error or no document.
fn document_in(printed: &str) -> Option<Value> {
    let value = printed.parse::<Value>().ok()?;
    value.get("kind").is_some_and(|kind| kind != "Error").then_some(value)
}

#[test]
fn what_is_printed_is_what_the_schema_says() {
    let world = world();
    let (mut seen, mut used) = (BTreeSet::new(), BTreeSet::new());
    let verbs = verbs();
    let mut print = |words: &[&str]| {
        let run = world.run(&[words, &["-o", "json"]].concat());
        let line = words.join(" ");
        used.extend(verbs.iter().find(|verb| is_of(&line, verb)).cloned());
        fits(&run.stdout, &mut seen)
    };
    assert_eq!(print(&["plan"])["items"].as_array().unwrap().len(), 3);
    print(&["check", "acme"]);
    let result = print(&["issue"]);
    let ending = |name: &str| {
        let items = result["items"].as_array().unwrap();
        let found = items.iter().find(|item| item["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {result:#}")).clone()
    };
    let good = ending("good");
    assert_eq!((&good["ending"], &good["revision"]), (&json!("issued"), &json!(1)));
    let key = world.path("state/secrets/default/good-tls/tls.key").display().to_string();
    assert!(good["files"].as_array().unwrap().contains(&key.into()), "{good:#}");
    assert_eq!(good["deployError"]["class"], "output", "{good:#}");
    let bad = ending("bad");
    assert_eq!((&bad["ending"], &bad["error"]["class"]), (&json!("failed"), &json!("validation")));
    assert_eq!(bad["reason"], "Failed", "{bad:#}");
    assert!(bad["nextAttempt"].is_string() && bad.get("files").is_none(), "{bad:#}");
    world.write("config/new.yaml", &CertificateYaml::new("new"));
    print(&["plan"]);
    for noun in ["certificate", "issuer", "request", "order", "challenge"] {
        let list = print(&["status", noun]);
        let items = list["items"].as_array().unwrap();
        assert!(!items.is_empty(), "{noun}");
        let name = items[0]["metadata"]["name"].as_str().unwrap().to_owned();
        let one = print(&["status", noun, &name]);
        assert_eq!(&one, &list["items"][0], "one object when it is asked for by name");
        assert_eq!(list["kind"], format!("{}List", one["kind"].as_str().unwrap()));
    }
    print(&["status", "certificate", "good", "bad"]);
    assert_eq!(print(&["inspect", "good"])["kind"], "Inspection");
    print(&["inspect", "good", "--offline"]);
    for words in OF_ITS_SCHEMA {
        print(words);
    }
    assert_eq!(print(&["account", "show"])["items"].as_array().unwrap().len(), 1);
    assert_eq!(print(&["account", "show", "ca"])["kind"], "Account");
    assert_eq!(print(&["issue"])["items"].as_array().unwrap().len(), 4);
    print(&["deploy", "good"]);
    print(&["renew", "new"]);
    let revoked = print(&["revoke", "new", "--now", "--reason", "superseded", "--yes"]);
    assert_eq!(revoked["revocations"][0]["certificate"], "default/new");
    assert_eq!(revoked["items"][0]["ending"], "issued", "{revoked:#}");
    print(&["renew", "good"]);
    assert_eq!(print(&["rollback", "good"])["items"][0]["name"], "good");
    assert_eq!(print(&["forget", "new", "--anyway"])["forgotten"][0]["certificate"], "default/new");
    let path = world.write("one-off.yaml", &CertificateYaml::new("one-off")).display().to_string();
    let key = world.path("one-off.key").display().to_string();
    let create = ["create", "certificaterequest", "one-off", "--output-key-file", &key];
    let request = print(&[&create[..], &["--from-certificate-file", &path]].concat());
    assert!(request.get("status").is_none(), "{request:#}");
    world.write("config/broken.yaml", "kind: Certificate\napiVersion: cert-manager.io/v1\nx: 1\n");
    let found = print(&["validate"]);
    assert!(found["items"].as_array().unwrap().len() > 1, "{found:#}");
    assert_eq!(print(&["status", "no-such"])["kind"], "Error");
    print(&["check", "alerts"]);
    print(&["version"]);
    world.write("config/config.toml", "timeout = 1\n");
    assert_eq!(print(&["version"])["configFile"]["errors"][0]["line"], 1);
    let kinds: BTreeSet<String> =
        DOCUMENTS.iter().map(|document| document.kind.to_owned()).collect();
    let unseen: Vec<&String> = kinds.difference(&seen).collect();
    assert_eq!(unseen, ["ClusterIssuer"], "an output that no verb printed here");
    fs::remove_file(world.path("config/broken.yaml")).unwrap();
    fs::remove_file(world.path("config/config.toml")).unwrap();
    for line in WITHOUT_A_DOCUMENT {
        let words: Vec<&str> = line.split(' ').chain(["-o", "json"]).collect();
        let printed = world.run(&words).stdout;
        assert_eq!(document_in(&printed), None, "{line} prints a document: it needs a schema");
        used.extend(verbs.iter().find(|verb| is_of(line, verb)).cloned());
    }
    assert_eq!(used, verbs, "a verb that is neither printed here nor known to print no document");
}

#[test]
fn the_schema_itself_is_printed_and_has_no_gap() {
    let world = World::start();
    let printed = world.run(&["schema", "output"]).ends_in(0).stdout;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed, output::any(DOCUMENTS));
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let plan = world.run(&["plan", "-o", "json"]).ends_in(0).stdout;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(fault_of(&printed, &plan), None);
    let edits: &[(&str, Edit)] = &[
        ("one more", |plan| plan["items"][0]["colour"] = "red".into()),
        ("one less", |plan| drop(plan["items"][0].as_object_mut().unwrap().remove("action"))),
        ("of another type", |plan| plan["items"][0]["orders"] = "1".into()),
        ("another word", |plan| plan["items"][0]["action"] = "dance".into()),
        ("another version", |plan| plan["apiVersion"] = "certctl/v2".into()),
    ];
    for (what, edit) in edits {
        let mut changed = plan.clone();
        edit(&mut changed);
        assert!(fault(&changed).is_some(), "{what}");
        assert!(fault_of(&printed, &changed).is_some(), "{what}");
    }
}

#[test]
fn the_schema_of_the_manifests_is_as_strict_to_a_real_validator() {
    let schema = manifest::any();
    let text = include_str!("../../examples/web.yaml");
    for text in text.split("\n---\n") {
        let mut manifest: Value = serde_yaml::from_str(text).unwrap();
        assert_eq!(fault_of(&schema, &manifest), None, "{manifest:#}");
        manifest["spec"]["colour"] = "red".into();
        assert!(fault_of(&schema, &manifest).is_some(), "{manifest:#}");
    }
}

#[test]
fn an_empty_folder_is_said_to_be_empty() {
    let world = World::start();
    let place = world.path("config").display().to_string();
    let run = world.run(&["validate"]).ends_in(3).says(&format!("no manifest found in {place}"));
    assert_eq!(run.stdout, "");
    let run = world.run(&["validate", "-o", "json"]).ends_in(3);
    assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap()["items"], json!([]));
}
