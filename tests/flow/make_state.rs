//! Makes a folder of `tests/fixtures/state`: the state of the last binary that wrote a format.
//!
//! `CERTCTL_FORMAT=v1 CERTCTL_OLD=<that binary> cargo test --test flow -- --ignored make_state`, as
//! root: the CA stands on a privileged port, so that nothing answers there when the fixture is used. The
//! URL cannot be a placeholder, because digests in the state are made over it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use certctl::rehearsal::{CaOptions, Fault, ProblemType, RequestKind, Rule};

use crate::dns01::Service;
use crate::older_states::{self, failure_times, status};
use crate::support::fixture::{self, WORLD};
use crate::support::{CertificateYaml, Run, World, finish};

const PORT: u16 = 4;
const YEARS: Duration = Duration::from_hours(50 * 365 * 24);

fn long_lived(options: &mut CaOptions) {
    options.leaf_lifetime = YEARS;
    options.order_lifetime = YEARS;
    options.authorization_lifetime = YEARS;
}

/// Runs the old binary in the world.
fn old(world: &World, words: &[&str]) -> Run {
    let present = world.command(words);
    let mut command = Command::new(std::env::var_os("CERTCTL_OLD").unwrap());
    command.args(present.get_args());
    world.surround(&mut command);
    finish(command.env("TZ", "UTC").spawn().unwrap())
}

/// A Secret with a pair that another CA issued.
fn foreign_secret() -> String {
    let elsewhere = World::with(long_lived);
    elsewhere.prepare(&[CertificateYaml::new("adopted")]);
    old(&elsewhere, &["issue"]).ends_in(0);
    let folder = elsewhere.path("state/secrets/default/adopted-tls");
    let read = |file: &str| BASE64_STANDARD.encode(fs::read(folder.join(file)).unwrap());
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: adopted-tls\ntype: kubernetes.io/tls\n\
         data:\n  tls.crt: {}\n  tls.key: {}\n",
        read("tls.crt"),
        read("tls.key")
    )
}

const FORMS: &str = "additionalOutputFormats: [{type: CombinedPEM}, {type: DER}]\n  keystores:\n    \
                     jks:\n      create: true\n      password: literal\n    pkcs12:\n      create: \
                     true\n      password: literal";

const SOLVERS: &str = "    - http01:\n        ingress: {}\n    - selector:\n        dnsNames: \
                       [\"*.example.test\"]\n      dns01:\n        webhook:\n          groupName: \
                       acme.example.org\n          solverName: my-dns\n    - selector:\n        \
                       dnsNames: [\"*.pending-dns.example.test\"]\n      dns01:\n        webhook:\n          \
                       groupName: acme.example.org\n          solverName: silent\n";

/// Everything that the CA does for the first run.
fn issue_what_can_be_issued(world: &World) {
    let out = world.path("out").display().to_string();
    world.prepare(&[
        CertificateYaml::new("web")
            .for_names(&["web.example.test", "mail.example.test"])
            .field(FORMS),
        CertificateYaml::new("wild").for_names(&["*.example.test"]),
        CertificateYaml::new("renewed"),
        CertificateYaml::new("twice"),
        CertificateYaml::new("back"),
        CertificateYaml::new("revoked"),
        CertificateYaml::new("adopted"),
        CertificateYaml::new("deployed")
            .annotation("certctl/output-dir", &out)
            .annotation("certctl/reload", "reload"),
    ]);
    world.write("config/issuer.yaml", &world.issuer().solvers(SOLVERS));
    world.write("config/adopted-secret.yaml", &foreign_secret());
    world.write_program("config/solvers.d/acme.example.org/silent", "exit 0");
    world.write_program("config/hooks.d/reload", "echo 'cannot reload' >&2; exit 7");
    let service = Service::start(world);
    old(world, &["issue"]).ends_in(6);
    // The second failure of a hook is the first one that is waited for.
    old(world, &["issue"]).ends_in(6);
    service.finish();
    for name in ["renewed", "twice", "twice", "back"] {
        old(world, &["renew", name]).ends_in(0);
    }
    old(world, &["rollback", "back"]).ends_in(0);
    old(world, &["revoke", "revoked", "--reason", "keyCompromise"]).ends_in(0);
}

/// What fails, and what is left for the next run.
fn issue_what_cannot_be_issued(world: &World) {
    let problem = |kind, status, detail: &str| Fault::Problem {
        status,
        kind,
        detail: detail.to_owned(),
        retry_after: None,
    };
    let refused = Fault::Refuse {
        kind: ProblemType::Unauthorized,
        detail: "the answer was another one".to_owned(),
    };
    world.fault(Rule::always(refused).for_name("refused.example.test"));
    let rejected = Fault::RejectIdentifier { detail: "this name is on a list".to_owned() };
    world.fault(Rule::always(rejected).for_name("rejected.example.test"));
    let unfinished = problem(ProblemType::BadCsr, 400, "the key is not liked");
    let unfinished = Rule::always(unfinished).on(RequestKind::Finalize);
    world.fault(unfinished.for_name("unfinished.example.test"));
    world.prepare(&[
        CertificateYaml::new("refused"),
        CertificateYaml::new("rejected"),
        CertificateYaml::new("unfinished"),
    ]);
    world.write("config/issuer.yaml", &world.issuer().solvers(SOLVERS));
    for name in ["refused", "rejected", "unfinished"] {
        let run = old(world, &["issue", name]);
        assert!(matches!(run.code, Some(4 | 5)), "{run:?}");
    }
    world.write(
        "config/pending-http.yaml",
        &CertificateYaml::new("pending-http").for_names(&["pending-http.elsewhere.test"]),
    );
    world.write(
        "config/pending-dns.yaml",
        &CertificateYaml::new("pending-dns").for_names(&["*.pending-dns.example.test"]),
    );
    for name in ["pending-http", "pending-dns"] {
        old(world, &["issue", name, "--timeout", "5s"]).ends_in(75);
    }
}

#[test]
#[ignore = "makes the fixture of CERTCTL_FORMAT anew, with the old binary that CERTCTL_OLD names"]
#[expect(clippy::disallowed_methods, reason = "made by hand, once for each format")]
fn make_state() {
    let format = std::env::var_os("CERTCTL_FORMAT").unwrap().into_string().unwrap();
    let world = World::with(|options| {
        long_lived(options);
        options.bind = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    });
    issue_what_can_be_issued(&world);
    issue_what_cannot_be_issued(&world);
    let fixture = fixture::fixture(&format);
    for folder in ["state", "config", "out"] {
        let target = fixture.join(folder);
        drop(fs::remove_dir_all(&target));
        check_in(&world, &world.path(folder), &target);
    }
    // The program that wrote into the name server of that world.
    let program = fixture.join("config/solvers.d/acme.example.org/my-dns");
    fixture::put(&program, b"#!/bin/sh\nexit 1\n");
    drop(world);
    // A time of the recording must be in no document: it is told from the stored ones by that.
    std::thread::sleep(Duration::from_secs(2));
    // Recorded on a copy, as the present binary is asked.
    let world = fixture::copied(&format);
    for (file, words) in older_states::RECORDED {
        let run = old(&world, words);
        assert_eq!(run.stderr, "");
        fixture::put(&fixture.join(file), status(&world, &run.stdout).as_bytes());
    }
}

/// Copies with placeholders for what is another in each copy.
fn check_in(world: &World, from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            symlink(fs::read_link(&from).unwrap(), &to).unwrap();
        } else if kind.is_dir() {
            check_in(world, &from, &to);
            // Git keeps no empty folder.
            drop(fs::remove_dir(&to));
        } else if kind.is_file() {
            let bytes = fs::read(&from).unwrap();
            let bytes = match String::from_utf8(bytes) {
                Ok(text) => {
                    let folder = world.path("").display().to_string();
                    let text = text.replace(folder.trim_end_matches('/'), WORLD);
                    failure_times(&text).into_bytes()
                }
                Err(error) => error.into_bytes(),
            };
            fixture::put(&to, &bytes);
            let mode = fs::metadata(&from).unwrap().permissions().mode();
            fs::set_permissions(&to, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}
