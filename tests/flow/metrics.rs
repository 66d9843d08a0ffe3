//! Promise: after a run the file of `--metrics-file` says of every certificate what `status -o
//! prometheus` says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{CertificateYaml, World};

/// Everything but the clock and the run.
fn steady(text: &str) -> Vec<&str> {
    let of_run = ["clock_time", "certctl_last_run", "http_acme_client"];
    text.lines().filter(|line| !of_run.iter().any(|word| line.contains(word))).collect()
}

#[test]
fn a_run_leaves_the_metrics_of_all_certificates() {
    let world = World::prepared(&[CertificateYaml::new("web"), CertificateYaml::new("mail")]);
    let file = world.path("metrics.prom");
    let flag = format!("--metrics-file={}", file.display());
    world.run(&["issue", &flag]).ends_in(0);
    let shown = world.run(&["status", "-o", "prometheus"]).ends_in(0);
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(steady(&written), steady(&shown.stdout));
    assert!(written.contains("\ncertctl_last_run_exit_code 0\n"), "{written}");
    let posts = "certmanager_http_acme_client_request_count{host=\"127.0.0.1\",method=\"POST\",\
                 scheme=\"https\",status=\"20";
    assert!(written.contains(posts), "{written}");
    assert!(
        shown.stdout.contains("certmanager_issuer_ready_status{condition=\"True\",name=\"ca\"")
    );
    for name in ["web", "mail"] {
        assert!(written.contains(&format!("name=\"{name}\"")), "{written}");
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    fs::remove_file(&file).unwrap();
    world.run(&["issue", &flag]).says_nothing();
    assert_eq!(steady(&fs::read_to_string(&file).unwrap()), steady(&shown.stdout));
}

#[test]
fn a_metrics_file_that_cannot_be_written_is_said_and_undoes_nothing() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    let flag = format!("--metrics-file={}", world.path("nowhere/metrics.prom").display());
    let run = world.run(&["issue", &flag]).ends_in(6);
    let folder = world.path("nowhere").display().to_string();
    assert!(run.stderr.contains("error: metrics-file: "), "{}", run.stderr);
    assert!(run.stderr.contains("install -d "), "{}", run.stderr);
    assert!(run.stderr.contains(&folder), "{}", run.stderr);
    world.state().published("web");
}
