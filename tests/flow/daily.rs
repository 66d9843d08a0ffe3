//! What a scheduled run (`issue -q`) tells of manifests, it tells once a day; the exit code stays.

use std::fs;

use certctl::engine::ports::{Clock as _, SystemClock};
use jiff::SignedDuration;

use crate::support::{CertificateYaml, Run, World};

fn world() -> World {
    let certificates = ["web", "mail"].map(CertificateYaml::new);
    let world = World::prepared(&certificates);
    world.issue().ends_in(0);
    world
}

/// A day passes, as far as what was told is concerned.
fn a_day_passes(world: &World) {
    let path = world.path("state/reported");
    let text = fs::read_to_string(&path).unwrap();
    let ago = SystemClock.now() - SignedDuration::from_hours(25);
    let line = |line: &str| format!("{} {ago}\n", line.split_once(' ').unwrap().0);
    world.write("state/reported", &text.lines().map(line).collect::<String>());
}

#[track_caller]
fn silent(run: &Run) {
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

#[test]
fn a_mistake_in_a_manifest_is_told_once_a_day() {
    let world = world();
    let good = fs::read_to_string(world.path("config/mail.yaml")).unwrap();
    let bad = good.replace("secretName:", "secretNam:");
    let routine = || world.run(&["issue", "-q"]);
    world.write("config/mail.yaml", &bad);
    routine().ends_in(3).says("secretNam");
    silent(&routine().ends_in(3));
    // Who asks is told, and another mistake is news.
    world.run(&["issue", "mail"]).ends_in(3).says("secretNam");
    silent(&routine().ends_in(3));
    world.write("config/mail.yaml", &bad.replace("secretNam:", "secretName2:"));
    routine().ends_in(3).says("secretName2");
    silent(&routine().ends_in(3));
    a_day_passes(&world);
    routine().ends_in(3).says("secretName2");
    silent(&routine().ends_in(3));
    // One that comes back is news, too.
    world.write("config/mail.yaml", &good);
    silent(&routine().ends_in(0));
    world.write("config/mail.yaml", &bad.replace("secretNam:", "secretName2:"));
    routine().ends_in(3).says("secretName2");
}

#[test]
fn a_warning_is_for_people_and_a_scheduled_run_does_not_print_it() {
    let world = world();
    let good = fs::read_to_string(world.path("config/mail.yaml")).unwrap();
    world.write("config/mail.yaml", &format!("{good}  renewBefore: 1945h\n"));
    world.run(&["issue"]).ends_in(0).says("warning[W0307]");
    silent(&world.run(&["issue", "-q"]).ends_in(0));
    world.run(&["plan", "-q"]).ends_in(0).says("warning[W0307]");
    // With an error beside it, only the error.
    let web = fs::read_to_string(world.path("config/web.yaml")).unwrap();
    world.write("config/web.yaml", &web.replace("secretName:", "secretNam:"));
    let run = world.run(&["issue", "-q"]).ends_in(3).says("secretNam");
    assert!(!run.stderr.contains("W0307"), "{}", run.stderr);
}

#[test]
fn a_mistake_is_told_again_within_the_day_when_a_certificate_expires() {
    let world = world();
    let good = fs::read_to_string(world.path("config/mail.yaml")).unwrap();
    let routine = || world.run(&["issue", "-q"]);
    world.write("config/mail.yaml", &good.replace("secretName:", "secretNam:"));
    routine().ends_in(3).says("secretNam");
    // It was told two hours ago; since then the certificate, which was overdue, has expired.
    let hours = |hours| SystemClock.now() + SignedDuration::from_hours(hours);
    let text = fs::read_to_string(world.path("state/reported")).unwrap();
    let then = hours(-2);
    let line = |line: &str| format!("{} {then}\n", line.split_once(' ').unwrap().0);
    world.write("state/reported", &text.lines().map(line).collect::<String>());
    silent(&routine().ends_in(3));
    let path = "state/certificates/default/mail/status.json";
    let text = fs::read_to_string(world.path(path)).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let status = &mut record["document"]["status"];
    status["renewalTime"] = hours(-200).to_string().into();
    status["notAfter"] = hours(-1).to_string().into();
    world.write(path, &record.to_string());
    routine().ends_in(3).says("secretNam");
    silent(&routine().ends_in(3));
}

#[test]
fn without_the_flag_of_schedulers_everything_is_said_every_time() {
    let world = world();
    let good = fs::read_to_string(world.path("config/mail.yaml")).unwrap();
    world.write("config/mail.yaml", &good.replace("secretName:", "secretNam:"));
    for _ in 0..2 {
        world.issue().ends_in(3).says("secretNam");
    }
    fs::remove_file(world.path("config/mail.yaml")).unwrap();
    for _ in 0..2 {
        world.issue().ends_in(0).says("certctl forget mail");
    }
}

#[test]
fn a_manifest_that_is_gone_is_told_once_a_day() {
    let world = world();
    let routine = || world.run(&["issue", "-q"]);
    fs::remove_file(world.path("config/mail.yaml")).unwrap();
    routine().ends_in(0).says("certctl forget mail");
    silent(&routine().ends_in(0));
    a_day_passes(&world);
    routine().ends_in(0).says("certctl forget mail");
    // Nothing is left, which is an error every time.
    fs::remove_file(world.path("config/web.yaml")).unwrap();
    routine().ends_in(3).says("web: its manifest").says("no Certificate found in ");
    silent(&routine().ends_in(3));
    a_day_passes(&world);
    routine().ends_in(3).says("no Certificate found in ").says("mail: its manifest");
    world.run(&["issue", "-o", "json"]).ends_in(3).says("no Certificate found in ");
}
