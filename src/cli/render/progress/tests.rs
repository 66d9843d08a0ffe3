use std::io;
use std::sync::{Arc, Mutex};

use indicatif::TermLike;
use serde_json::json;

use super::*;
use crate::cli::render::log::tests::Sink;
use crate::engine::{Ending, Issued};
use crate::resource::{Cause, ChallengeType, Doing, Failure, FailureClass, ReasonSource};
use crate::store::samples;

const COLUMNS: u16 = 60;

/// Content of a terminal and place of its cursor; a full line wraps into the next.
#[derive(Clone, Debug, Default)]
struct Screen(Arc<Mutex<Shown>>);

/// The rows, and the cursor's row and column.
type Shown = (Vec<Vec<char>>, usize, usize);

impl Screen {
    fn text(&self) -> String {
        let (rows, ..) = &*self.0.lock().unwrap();
        let rows = rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    fn at(&self, change: impl FnOnce(&mut Vec<Vec<char>>, &mut usize, &mut usize)) {
        let (rows, row, column) = &mut *self.0.lock().unwrap();
        change(rows, row, column);
        rows.resize(rows.len().max(*row + 1), Vec::new());
    }

    fn put(&self, text: &str) {
        for character in text.chars() {
            self.at(|rows, row, column| match character {
                '\n' => (*row, *column) = (*row + 1, 0),
                '\r' => *column = 0,
                other => {
                    if *column == usize::from(COLUMNS) {
                        (*row, *column) = (*row + 1, 0);
                    }
                    rows.resize(rows.len().max(*row + 1), Vec::new());
                    let line = &mut rows[*row];
                    line.resize(line.len().max(*column + 1), ' ');
                    line[*column] = other;
                    *column += 1;
                }
            });
        }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        COLUMNS
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.at(|_, row, _| *row = row.saturating_sub(n));
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.at(|_, row, _| *row += n);
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.at(|_, _, column| *column += n);
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.at(|_, _, column| *column = column.saturating_sub(n));
        Ok(())
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.put(s);
        self.put("\n");
        Ok(())
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.put(s);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.at(|rows, row, column| {
            *column = 0;
            if let Some(line) = rows.get_mut(*row) {
                line.clear();
            }
        });
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

fn progress(utf8: bool, certificates: usize) -> (Progress, Screen) {
    let screen = Screen::default();
    let target = ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 255);
    let style = Style { utf8, is_alive: false };
    (Progress::on(Some(target), style, true, certificates, Duration::ZERO), screen)
}

/// Returns the screen; nothing is left out for being drawn too often.
fn shown(progress: &Progress, screen: &Screen) -> String {
    progress.lines.as_ref().unwrap().suspend(|| ());
    screen.text()
}

fn name(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn failed(certificate: &str) -> Ended {
    let cause = Cause::local("no\u{1b}[2J");
    let failure = Failure::new(FailureClass::Validation, Doing::Nothing, cause);
    Ended::new(name(certificate), Ending::Failed { failure, attempts: Some(1), next_attempt: None })
}

fn unchanged(certificate: &str) -> Ended {
    let ending = Ending::Unchanged { not_after: None, renewal_time: None };
    Ended::new(name(certificate), ending)
}

#[test]
fn a_certificate_has_one_line_that_collapses_to_how_it_ended() {
    let (progress, screen) = progress(true, 1);
    progress.stage(&name("web"), "order");
    assert_eq!(shown(&progress, &screen), "web   ⠋ order");
    progress.stage(&name("web"), "self-check\u{7}");
    assert_eq!(shown(&progress, &screen), "web   ⠋ self-check\\u{7}");
    progress.ended(&failed("web"));
    assert_eq!(shown(&progress, &screen), "web   ✗ failed: no\\u{1b}[2J");
    progress.finish();
    assert_eq!(screen.text(), "");
}

#[test]
fn the_reason_of_a_wait_stands_in_full_above_the_line_after_two_checks() {
    let (progress, screen) = progress(false, 1);
    let why =
        "www.example.com: no TXT at ns1.example.net; waiting for DNS-01 challenge propagation";
    let wait = |why: &str| {
        progress.waits(&name("web"), &wait_for(why, Some("2026-11-22T10:10:00Z"), false));
        shown(&progress, &screen)
    };
    let line = "web   - www.example.com: no TXT at ns1.example.net; waiting";
    assert_eq!(wait(why), line);
    let full = format!("web: {why}{UNTIL}");
    let rows: Vec<String> =
        full.chars().collect::<Vec<_>>().chunks(COLUMNS.into()).map(String::from_iter).collect();
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    let above = format!("{}\n{line}", rows.join("\n"));
    assert_eq!(wait(why), above);
    assert_eq!(wait(why), above, "once");
    let other = "www.example.com: connection refused";
    assert_eq!(wait(other), above.replace(line, &format!("web   - {other}")));
    // Two polls of an order take milliseconds.
    let (mut progress, screen) = self::progress(false, 1);
    progress.patience = Duration::from_hours(1);
    for _ in 0..9 {
        progress.waits(&name("web"), &wait_for(other, None, false));
    }
    assert_eq!(shown(&progress, &screen), format!("web   - {other}"));
}

#[test]
fn a_check_over_http_that_fails_is_told_in_full_at_once() {
    let (mut progress, screen) = progress(false, 1);
    progress.patience = Duration::from_hours(1);
    let wait = |why: &str| {
        progress.waits(&name("web"), &wait_for(why, Some("2026-11-22T10:10:00Z"), true));
        shown(&progress, &screen)
    };
    let why = "nowhere.example.com: no such name";
    let full = format!("web: {why}{UNTIL}");
    let rows: Vec<String> =
        full.chars().collect::<Vec<_>>().chunks(COLUMNS.into()).map(String::from_iter).collect();
    let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    let remedy = "  try: certctl check http example.com";
    let above = format!("{}\n{remedy}\nweb   - {why}", rows.join("\n"));
    assert_eq!(wait(why), above);
    assert_eq!(wait(why), above, "once");
    // A server that answers in another way each time fills no screen.
    let other = "nowhere.example.com: refused";
    assert_eq!(wait(other), above.replace(&format!("- {why}"), &format!("- {other}")));
}

/// End of a wait that is printed in full.
const UNTIL: &str =
    "; this run waits until 2026-11-22T10:10:00Z (or Ctrl-C), the next one continues";

fn wait_for(why: &str, deadline: Option<&str>, is_unexpected: bool) -> Wait {
    let limit = deadline.map(|at| WaitLimit::Until(at.parse().unwrap()));
    let obstructed = is_unexpected.then(|| (ChallengeType::Http01, "example.com".to_owned()));
    let (name, reason) = why.split_once(": ").unwrap();
    let mut challenge = samples::order().challenges.remove(0);
    Arc::make_mut(&mut challenge.spec).identifier = Identifier::Dns(name.parse().unwrap());
    challenge.explain(ReasonSource::Other, reason);
    Wait { what: Awaited::Challenge(Box::new(challenge)), limit, obstructed }
}

#[test]
fn how_long_a_run_waits_is_a_time_or_a_number_of_checks() {
    let until = WaitLimit::Until("2026-11-22T10:10:00Z".parse().unwrap());
    assert_eq!(longest(until), "waits until 2026-11-22T10:10:00Z");
    assert_eq!(longest(WaitLimit::Checks(3)), "checks 3 times");
}

#[test]
fn what_a_run_waits_for_is_said_in_one_sentence() {
    let mut challenge = samples::order().challenges.remove(0);
    let identifier = challenge.spec.identifier.clone();
    let spec = Arc::clone(&challenge.spec);
    challenge.explain(ReasonSource::Other, "refused");
    let left = GoDuration(SignedDuration::from_secs(300));
    let not_before = "2026-11-22T10:10:00Z".parse().unwrap();
    let cases = [
        (Awaited::Slot(identifier.clone()), format!("{identifier} is waiting for a free slot")),
        (Awaited::Challenge(Box::new(challenge)), format!("{identifier}: refused")),
        (
            Awaited::InsteadOfSelfCheck { challenge: spec, left },
            format!(
                "{identifier}: Waiting 5m0s before accepting HTTP-01 challenge without self-check"
            ),
        ),
        (Awaited::Ca, "waiting for the CA".to_owned()),
        (Awaited::OthersOrder, "waiting for another certificate with the same order".to_owned()),
        (Awaited::Turn, "waiting for its turn to order".to_owned()),
        (
            Awaited::NewOrder { not_before },
            "the CA accepts no new order before 2026-11-22T10:10:00Z".to_owned(),
        ),
    ];
    for (what, sentence) in cases {
        assert_eq!(awaited(&what, ""), sentence);
    }
}

#[test]
fn without_utf_8_all_is_ascii() {
    let (progress, screen) = progress(false, 2);
    progress.stage(&name("web"), "order");
    progress.stage(&NamespacedName::new("prod", "api"), "account");
    let text = "web   - order\nprod/api   - account\n- 2 of 2 to go";
    assert_eq!(shown(&progress, &screen), text);
    progress.ended(&unchanged("web"));
    let text = "web   unchanged\nprod/api   - account\n- 1 not due, 1 of 2 to go";
    assert_eq!(shown(&progress, &screen), text);
}

#[test]
fn of_hundreds_a_few_have_lines_and_all_are_counted() {
    let (progress, screen) = progress(false, 200);
    for number in 0..100 {
        progress.stage(&name(&format!("n{number}")), "order");
    }
    let first: Vec<String> = (0..8).map(|number| format!("n{number}   - order")).collect();
    let text = format!("{}\n- 200 of 200 to go", first.join("\n"));
    assert_eq!(shown(&progress, &screen), text);
    // A finished certificate gives its line to the next one.
    progress.ended(&failed("n3"));
    progress.ended(&unchanged("n50"));
    let locked = Ending::Locked { holder: "another".to_owned() };
    progress.ended(&Ended::new(name("n150"), locked));
    progress.stage(&name("n99"), "self-check");
    let text = "n0   - order\nn1   - order\nn2   - order\nn4   - order\nn5   - order\n\
                n6   - order\nn7   - order\nn99   - self-check\n\
                - 1 failed, 1 deferred, 1 not due, 197 of 200 to go";
    assert_eq!(shown(&progress, &screen), text);
    progress.finish();
    assert_eq!(screen.text(), "");
}

/// The log lines of a run without a terminal.
fn logged(patience: Duration, events: impl FnOnce(&Progress)) -> Vec<String> {
    let (sink, style) = (Sink::default(), Style { utf8: true, is_alive: false });
    let writer = sink.clone();
    let subscriber = tracing_subscriber::fmt().without_time().with_ansi(false);
    let subscriber = subscriber.with_target(false).with_writer(move || writer.clone()).finish();
    let progress = Progress::on(None, style, false, 3, patience);
    tracing::subscriber::with_default(subscriber, || events(&progress));
    sink.text().lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn where_nobody_watches_what_time_does_not_end_is_logged_soon() {
    let style = Style { utf8: true, is_alive: false };
    for (patience, is_unexpected, expected) in
        [(SILENCE, true, SOON), (SILENCE, false, SILENCE), (Duration::ZERO, true, Duration::ZERO)]
    {
        let progress = Progress::on(None, style, false, 1, patience);
        let wait = wait_for("a.test: no answer", None, is_unexpected);
        assert_eq!(progress.patience_for(&wait), expected, "{patience:?} {is_unexpected}");
    }
}

#[test]
fn where_nobody_watches_a_long_wait_is_logged_once() {
    let until = Some(WaitLimit::Until("2026-11-22T10:10:00Z".parse().unwrap()));
    let wait = |progress: &Progress, of: &str, why: &str| {
        let why = format!("{of}.example.test: {why}");
        progress.waits(&name(of), &Wait { limit: until, ..wait_for(&why, None, false) });
    };
    let found = logged(Duration::ZERO, |progress| {
        for why in ["queued", "the self-check", "the self-check", "the CA"] {
            wait(progress, "web", why);
        }
    });
    let line = "INFO web.example.test: the self-check; this run waits until 2026-11-22T10:10:00Z \
                certificate=default/web";
    assert_eq!(found, [line]);
    let found = logged(Duration::ZERO, |progress| {
        (0..2).for_each(|_| progress.waits(&name("web"), &wait_for("a.test: refused", None, true)));
    });
    assert_eq!(
        found,
        ["INFO a.test: refused; try: certctl check http example.com certificate=default/web"]
    );
    // Of many, a few are.
    let found = logged(Duration::ZERO, |progress| {
        for _ in 0..3 {
            (0..100).for_each(|number| wait(progress, &format!("n{number}"), "the self-check"));
        }
    });
    assert_eq!(found.len(), MOST);
    // A short one is not.
    let found = logged(SILENCE, |progress| {
        for _ in 0..3 {
            wait(progress, "web", "the self-check");
        }
    });
    assert_eq!(found, [""; 0]);
}

#[test]
fn where_nobody_watches_what_is_issued_is_logged_while_another_waits_for_long() {
    let issued = |certificate: &str| {
        let leaf = json!({
            "publicKey": "", "fingerprint": "", "serial": "", "commonName": "", "dnsNames": [],
            "ipAddresses": [], "uris": [], "emailAddresses": [], "issuerCommonName": "",
            "notBefore": "2026-11-22T10:10:00Z", "notAfter": "2027-02-20T10:10:00Z",
            "keyDescription": "",
        });
        let issued = Issued {
            revision: 1,
            leaf: serde_json::from_value(leaf).unwrap(),
            added: Vec::new(),
            removed: Vec::new(),
            renewal_time: None,
            secret_name: String::new(),
        };
        Ended::new(name(certificate), Ending::Issued(Box::new(issued)))
    };
    for (patience, expected) in [
        (
            Duration::ZERO,
            &[
                "INFO a.test: no answer; try: certctl check http example.com certificate=default/web",
                "INFO issued; 2 still in progress certificate=default/mail",
                "INFO issued; 1 still in progress certificate=default/shop",
            ][..],
        ),
        (SILENCE, &[]),
    ] {
        let found = logged(patience, |progress| {
            progress.ended(&issued("mail"));
            (0..2).for_each(|_| {
                progress.waits(&name("web"), &wait_for("a.test: no answer", None, true));
            });
            progress.ended(&issued("shop"));
            progress.ended(&issued("web"));
        });
        assert_eq!(found, expected);
    }
}

#[test]
fn where_nobody_watches_there_are_no_lines() {
    let progress =
        Progress::on(None, Style { utf8: true, is_alive: false }, false, 3, Duration::ZERO);
    progress.stage(&name("web"), "order");
    progress.ended(&failed("web"));
    assert!(progress.seen.borrow().shown.is_empty());
    progress.finish();
}

#[test]
fn lines_are_drawn_for_a_person_who_did_not_ask_for_less() {
    for (progress, is_quiet, is_watched, talks_json, is) in [
        (When::Auto, false, true, false, true),
        (When::Auto, true, true, false, false),
        (When::Auto, false, false, false, false),
        (When::Always, true, true, false, true),
        (When::Always, false, false, false, true),
        (When::Always, false, false, true, false),
        (When::Never, false, true, false, false),
    ] {
        let found = is_drawn(progress, is_quiet, is_watched, talks_json);
        assert_eq!(found, is, "{progress:?}, quiet: {is_quiet}");
    }
}

#[test]
fn a_wait_for_another_run_is_told_once() {
    let at_most = SignedDuration::from_secs(90);
    let lines = logged(SILENCE, |progress| {
        progress.queues(&name("web"), "process 7", at_most);
        progress.queues(&name("mail"), "process 7", at_most);
    });
    let notice = "INFO locked by process 7; waiting for up to 1m30s (--lock-timeout) \
                certificate=default/web";
    assert_eq!(lines, [notice]);
}
