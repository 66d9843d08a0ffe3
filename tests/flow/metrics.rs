//! Promise: after a run the file of `--metrics-file` says of every certificate what `status -o
//! prometheus` says.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{CertificateYaml, World};

/// Everything but the clock.
fn steady(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.contains("clock_time")).collect()
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
    world.run(&["issue", &flag]).ends_in(6).says("--metrics-file");
    world.state().published("web");
}
