//! Promise: a run that no person watches leaves when it ended, whatever started it, and `status` and the
//! start page say when none came for a day.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use crate::support::{CertificateYaml, World};

/// As if the last run had ended so many hours ago.
#[expect(clippy::disallowed_methods, reason = "the program reads the clock")]
fn ended(world: &World, hours: u64) {
    let at = SystemTime::now() - Duration::from_hours(hours);
    File::open(world.path("state/last-run")).unwrap().set_modified(at).unwrap();
}

#[test]
fn no_automatic_run_for_a_day_is_said_by_the_table_one_certificate_and_the_start_page() {
    let world = World::prepared(&[CertificateYaml::new("web")]);
    world.run(&["status"]).ends_in(0);
    assert!(!world.path("state").exists());
    world.issue().ends_in(0);
    assert_eq!(fs::metadata(world.path("state/last-run")).unwrap().len(), 0);
    let file = world.path("config/web.yaml");
    let of_file = ["status", "-f", file.to_str().unwrap()];
    for (hours, is_said) in [(23, false), (25, true)] {
        ended(&world, hours);
        for (words, says) in [
            (&["status"][..], is_said),
            (&["status", "web"], is_said),
            (&["describe", "web"], is_said),
            (&[], is_said),
            (&of_file, false),
            (&["status", "-o", "json"], false),
        ] {
            let run = world.run(words).ends_in(0);
            let said = run.stdout + &run.stderr;
            assert_eq!(said.contains("no automatic run since "), says, "{words:?}: {said}");
            assert_eq!(said.contains("certctl doctor"), says, "{words:?}: {said}");
        }
    }
    // One with nothing to do is one, too; another verb is none.
    world.run(&["deploy"]).ends_in(0);
    world.run(&["status"]).says("no automatic run since ");
    world.issue().ends_in(0);
    let run = world.run(&["status"]);
    assert!(!run.stderr.contains("no automatic run"), "{}", run.stderr);
}
