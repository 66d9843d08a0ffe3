//! The controller of deployment.

use jiff::SignedDuration;

use super::fixture::{error, from_now, live, now, written_record};
use crate::controller::{Effect, EffectError, Outcome, Run, Snapshot, Step, deploy};
use crate::resource::{Cause, CauseKind, DeployStep, DeployTarget, FailureClass, Reason};

/// A live pair that is written out, then has a hook, then a reload.
fn deployed_nowhere() -> Snapshot {
    let mut snapshot = live();
    snapshot.files_digest = Some("live".to_owned());
    snapshot.settings.output_dir = Some("/etc/tls".to_owned());
    snapshot.settings.output_mode = Some(0o640);
    snapshot.settings.deploy_hook = Some("install".to_owned());
    snapshot.settings.reload = Some("nginx".to_owned());
    snapshot
}

fn done(snapshot: &mut Snapshot, step: DeployStep, files: &str) {
    let outcome = Outcome::Deployed { files: files.to_owned() };
    let record = deploy::absorb(&mut snapshot.clone(), step, outcome, now()).unwrap();
    snapshot.record = written_record(&record).clone();
}

fn failed(snapshot: &mut Snapshot, step: DeployStep, at: jiff::Timestamp) {
    let outcome = Outcome::Failed(error(CauseKind::Local));
    let record = deploy::absorb(&mut snapshot.clone(), step, outcome, at).unwrap();
    assert_eq!(record.events[0].reason, Reason::DeployFailed);
    snapshot.record = written_record(&record).clone();
}

/// Writes what is recorded before a step is repeated.
fn owed_again(snapshot: &mut Snapshot) {
    match deploy::decide(snapshot, now()) {
        Step::Record(record) => snapshot.record = written_record(&record).clone(),
        other => panic!("repeated without a record of what is owed: {other:?}"),
    }
}

#[test]
fn the_steps_go_one_after_another_and_the_reload_is_left_to_the_run() {
    let mut snapshot = deployed_nowhere();
    let act = |step| {
        let target = deploy::target(&deployed_nowhere().settings, step).unwrap();
        Step::Act(vec![Effect::Deploy { target, revision: 1, replaces: Vec::new() }])
    };
    assert_eq!(deploy::decide(&snapshot, now()), act(DeployStep::Output));
    done(&mut snapshot, DeployStep::Output, "live");
    assert_eq!(deploy::decide(&snapshot, now()), act(DeployStep::Hook));
    assert_eq!(deploy::reload(&snapshot, now()), None, "the hook comes first");
    done(&mut snapshot, DeployStep::Hook, "live");
    assert_eq!(deploy::decide(&snapshot, now()), Step::Settled);
    assert_eq!(deploy::reload(&snapshot, now()).as_deref(), Some("nginx"));
    done(&mut snapshot, DeployStep::Reload, "live");
    assert_eq!((deploy::owed(&snapshot), deploy::failure(&snapshot)), (None, None));
    // Other files, or another target, are owed again.
    snapshot.files_digest = Some("newer".to_owned());
    assert_eq!(deploy::decide(&snapshot, now()), act(DeployStep::Output));
    snapshot.files_digest = Some("live".to_owned());
    snapshot.settings.output_mode = Some(0o600);
    let (folder, mode) = ("/etc/tls".to_owned(), Some(0o600));
    let target = DeployTarget::Output { folder, owner: None, group: None, mode };
    assert_eq!(deploy::owed(&snapshot), Some(target));
    assert_eq!(snapshot.record.deployments.len(), 3);
    done(&mut snapshot, DeployStep::Output, "live");
    let targets: Vec<String> =
        snapshot.record.deployments.iter().map(|known| known.target.to_string()).collect();
    let expected = ["output to /etc/tls mode 0600", "deploy hook install", "reload nginx"];
    assert_eq!(targets, expected, "the old target is forgotten");
}

#[test]
fn hooks_that_are_left_to_another_run_stay_owed_and_are_no_failure() {
    let mut snapshot = deployed_nowhere();
    snapshot.run.deployment.leaves_hooks = true;
    assert!(matches!(deploy::decide(&snapshot, now()), Step::Act(_)), "the output is written");
    done(&mut snapshot, DeployStep::Output, "live");
    for step in [DeployStep::Hook, DeployStep::Reload] {
        assert_eq!(deploy::decide(&snapshot, now()), Step::Settled);
        assert_eq!((deploy::reload(&snapshot, now()), deploy::failure(&snapshot)), (None, None));
        assert_eq!(deploy::owed(&snapshot).map(|owed| owed.step()), Some(step));
        done(&mut snapshot, step, "live");
    }
    assert_eq!(deploy::owed(&snapshot), None);
}

#[test]
fn nothing_is_deployed_before_there_is_a_pair() {
    let mut snapshot = deployed_nowhere();
    snapshot.secret = None;
    assert_eq!(deploy::decide(&snapshot, now()), Step::Settled);
    assert_eq!(deploy::failure(&snapshot), None);
}

#[test]
fn a_step_that_fails_is_tried_by_the_next_run_and_then_ever_later() {
    let mut snapshot = deployed_nowhere();
    let minutes = SignedDuration::from_mins;
    let mut at = now();
    // The wait after each failure; a run an hour tries each time.
    for wait in [0, 5, 10, 20, 40, 59, 59] {
        failed(&mut snapshot, DeployStep::Output, at);
        let next = deploy::next_try(&snapshot.record.deployments[0]).unwrap();
        assert_eq!(at.duration_until(next), minutes(wait));
        if wait > 0 {
            let early = next - minutes(1);
            assert_eq!(deploy::decide(&snapshot, early), Step::Settled);
            snapshot.run.deployment.at_once = true;
            assert!(matches!(deploy::decide(&snapshot, early), Step::Act(_)), "requested by hand");
            snapshot.run.deployment.at_once = false;
        }
        assert!(matches!(deploy::decide(&snapshot, next), Step::Act(_)));
        snapshot.run.deployment.failed.insert(DeployStep::Output);
        assert_eq!(deploy::decide(&snapshot, next), Step::Settled, "once a run");
        snapshot.run.deployment.failed.clear();
        at = next;
    }
    let failure = deploy::failure(&snapshot).unwrap();
    assert_eq!((failure.class, failure.counts()), (FailureClass::Output, false));
    let start = "issued but not deployed: output to /etc/tls mode 0640: ";
    assert!(failure.to_string().starts_with(start), "{failure}");
    done(&mut snapshot, DeployStep::Output, "live");
    assert_eq!(snapshot.record.deployments[0].failed_attempts, 0);
    assert!(matches!(deploy::decide(&snapshot, from_now(minutes(1))), Step::Act(_)), "the hook");
}

#[test]
fn a_step_that_fails_when_it_is_repeated_is_owed_with_those_after_it_until_it_succeeds() {
    let all = [DeployStep::Output, DeployStep::Hook, DeployStep::Reload];
    for (number, failing) in all.into_iter().enumerate() {
        let mut snapshot = deployed_nowhere();
        for step in all {
            done(&mut snapshot, step, "live");
        }
        snapshot.run.deployment.again = true;
        snapshot.run.deployment.done.extend(&all[..number]);
        owed_again(&mut snapshot);
        failed(&mut snapshot, failing, now());
        snapshot.run = Run::default();
        let later = from_now(SignedDuration::from_hours(1));
        assert!(deploy::failure(&snapshot).is_some(), "{failing:?}");
        for step in &all[number..] {
            assert_eq!(deploy::owed(&snapshot).map(|owed| owed.step()), Some(*step), "{failing:?}");
            if *step == DeployStep::Reload {
                assert_eq!(deploy::reload(&snapshot, later).as_deref(), Some("nginx"));
            } else {
                assert!(matches!(deploy::decide(&snapshot, later), Step::Act(_)), "{failing:?}");
            }
            done(&mut snapshot, *step, "live");
        }
        assert_eq!((deploy::owed(&snapshot), deploy::failure(&snapshot)), (None, None));
    }
}

#[test]
fn a_new_pair_is_deployed_at_once_although_a_step_failed_for_the_one_before() {
    let mut snapshot = deployed_nowhere();
    done(&mut snapshot, DeployStep::Output, "live");
    for _ in 0..3 {
        failed(&mut snapshot, DeployStep::Hook, now());
    }
    assert_eq!(deploy::decide(&snapshot, now()), Step::Settled, "it waits");
    deploy::begin_anew(&mut snapshot.record);
    assert_eq!(deploy::tries(&snapshot), (None, None));
    assert!(matches!(deploy::decide(&snapshot, now()), Step::Act(_)));
    // What was written stays known.
    assert_eq!(snapshot.record.deployments[0].files.as_deref(), Some("live"));
}

#[test]
fn what_is_missing_on_this_machine_is_looked_for_by_every_run() {
    let mut snapshot = deployed_nowhere();
    for at in 0..3 {
        let at = from_now(SignedDuration::from_mins(at));
        let message = "there is no hook x".to_owned();
        let outcome = Outcome::Failed(EffectError::new(Cause::precondition(message)));
        let step = DeployStep::Output;
        let record = deploy::absorb(&mut snapshot, step, outcome, at).unwrap();
        assert_eq!(record.events[0].message, "there is no hook x", "not as of the output");
        snapshot.record = written_record(&record).clone();
        snapshot.run.deployment.failed.clear();
        assert!(matches!(deploy::decide(&snapshot, at), Step::Act(_)));
        assert_eq!(deploy::tries(&snapshot), (Some(at), None), "no wait");
    }
    let failure = deploy::failure(&snapshot).unwrap();
    assert_eq!(failure.class, FailureClass::Precondition);
    assert_eq!(failure.to_string(), "issued but not deployed: there is no hook x");
}

#[test]
fn files_stay_only_where_they_were_written() {
    let moved = |snapshot: &mut Snapshot| {
        snapshot.settings.output_dir = Some("/srv/tls".to_owned());
        let outcome = Outcome::Deployed { files: "live".to_owned() };
        let record = deploy::absorb(&mut snapshot.clone(), DeployStep::Output, outcome, now());
        record.unwrap().events[0].message.clone()
    };
    let done_message = "Done: output to /srv/tls mode 0640";
    let mut snapshot = deployed_nowhere();
    failed(&mut snapshot, DeployStep::Output, now());
    assert_eq!(moved(&mut snapshot), done_message);
    let mut snapshot = deployed_nowhere();
    done(&mut snapshot, DeployStep::Output, "live");
    assert_eq!(
        moved(&mut snapshot),
        format!("{done_message}; the earlier files in /etc/tls stay there")
    );
}

#[test]
fn a_folder_that_is_named_no_more_is_said_once_to_be_out_of_date() {
    let mut snapshot = deployed_nowhere();
    for step in [DeployStep::Output, DeployStep::Hook, DeployStep::Reload] {
        done(&mut snapshot, step, "live");
    }
    assert_eq!(deploy::decide(&snapshot, now()), Step::Settled);
    snapshot.settings.output_dir = None;
    let Step::Record(record) = deploy::decide(&snapshot, now()) else { panic!("not expected") };
    let expected = "the manifest no longer names an output: the files in /etc/tls, including the \
        key, stay there and are not renewed";
    assert_eq!(record.events[0].message, expected);
    snapshot.record = written_record(&record).clone();
    assert_eq!(deploy::decide(&snapshot, now()), Step::Settled, "once");
    assert_eq!(snapshot.record.deployments.len(), 2);
    // Nothing is there where nothing was written.
    let mut snapshot = deployed_nowhere();
    failed(&mut snapshot, DeployStep::Output, now());
    snapshot.settings.output_dir = None;
    assert!(matches!(deploy::decide(&snapshot, now()), Step::Act(_)), "the hook");
}

#[test]
fn a_try_by_hand_that_fails_does_not_put_off_the_next_one() {
    let mut snapshot = deployed_nowhere();
    let minutes = SignedDuration::from_mins;
    for at in [0, 1] {
        failed(&mut snapshot, DeployStep::Output, from_now(minutes(at)));
    }
    let next = |snapshot: &Snapshot| deploy::next_try(&snapshot.record.deployments[0]);
    let before = next(&snapshot);
    assert_eq!(before, Some(from_now(minutes(6))));
    snapshot.run.deployment.at_once = true;
    failed(&mut snapshot, DeployStep::Output, from_now(minutes(5)));
    assert_eq!(next(&snapshot), before);
    failed(&mut snapshot, DeployStep::Output, from_now(minutes(6)));
    assert_eq!(next(&snapshot), Some(from_now(minutes(16))));
}

#[test]
fn an_output_that_was_lost_is_written_again_and_what_comes_after_it_is_done_again() {
    let mut snapshot = deployed_nowhere();
    for step in [DeployStep::Output, DeployStep::Hook, DeployStep::Reload] {
        done(&mut snapshot, step, "live");
    }
    assert_eq!(deploy::owed(&snapshot), None);
    snapshot.lost_output = Some("tls.key is missing".to_owned());
    assert_eq!(deploy::owed(&snapshot).map(|target| target.step()), Some(DeployStep::Output));
    owed_again(&mut snapshot);
    assert!(matches!(deploy::decide(&snapshot, now()), Step::Act(_)));
    let outcome = Outcome::Deployed { files: "live".to_owned() };
    let record = deploy::absorb(&mut snapshot, DeployStep::Output, outcome, now()).unwrap();
    let done_message = "Done: output to /etc/tls mode 0640; it had lost files: tls.key is missing";
    assert_eq!(record.events[0].message, done_message);
    assert_eq!(snapshot.lost_output, None);
    snapshot.record = written_record(&record).clone();
    assert_eq!(deploy::owed(&snapshot).map(|target| target.step()), Some(DeployStep::Hook));
}
