//! What differs from run to run, replaced by a word that says what it is.
//!
//! Contract: only what is well-formed and makes sense is replaced. A time keeps how far it is from
//! now, so that a wrong one shows; one that is no time stays as it is, and shows too.

use jiff::civil::Date;
use jiff::{Timestamp, ZonedDateTime};
use regex::{Captures, Regex};

/// What is replaced in one scene.
pub(crate) struct Normal {
    /// Texts of this world and what stands for them, in the order in which they are replaced.
    pub(crate) words: Vec<(String, String)>,
}

impl Normal {
    /// The text with everything replaced that may vary, seen at `now`.
    pub(crate) fn apply(&self, text: &str, now: Timestamp) -> String {
        let mut text = text.to_owned();
        for (word, stand_in) in &self.words {
            text = text.replace(word, stand_in);
        }
        for (pattern, replace) in PATTERNS {
            let pattern = Regex::new(pattern).unwrap();
            let replaced = pattern.replace_all(&text, |found: &Captures<'_>| {
                let whole = found[0].to_owned();
                replace(&whole, now).unwrap_or(whole)
            });
            text = replaced.into_owned();
        }
        text
    }
}

type Replace = fn(&str, Timestamp) -> Option<String>;

/// Applied in this order.
const PATTERNS: &[(&str, Replace)] = &[
    (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", instant),
    (r"\b[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} UTC\b", long),
    // A narrow terminal may have it in two lines.
    (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\s+[0-9]{2}:[0-9]{2}\s+UTC\b", minute),
    (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b", date),
    // What was just now may be a few seconds ago.
    (r"<now> \((now|in [0-9]{1,2}s|[0-9]{1,2}s ago)\)", |_, _| Some("<now>".to_owned())),
    (r"<now>,\s+(now|in [0-9]{1,2}s|[0-9]{1,2}s ago)\b", |_, _| Some("<now>".to_owned())),
    // Pebble's window has no second: within an hour of it, a day is rounded up or down.
    (r"YYYY-MM-DD (59|61)d\b", |_, _| Some("YYYY-MM-DD 60d".to_owned())),
    (r"issued (now|[0-9]{1,2}s ago)\b", |_, _| Some("issued <seconds> ago".to_owned())),
    (r"(?m)^  (Normal|Warning) .* certctl  ", age),
    (r"(?m)^[a-z0-9-]+ +[⠁-⣿] [0-9]{1,3}s .*$", progress),
    (r"(?m)  [0-9]{1,2}s *-?$", |_, _| Some("  <s>".to_owned())),
    (r"(?m), [0-9]+ s$", |_, _| Some(", <time>".to_owned())),
    (r"(?m) [0-9]{10}$", epoch),
    // A process that another test has just forked holds the port too, under its thread's name.
    (r"\b(?:golden-[0-9a-f]+|[a-z]+::\w*)\s+\(pid\s+[0-9]+\)", |_, _| {
        Some("<program> (pid <pid>)".to_owned())
    }),
    (r"\bprocess [0-9]+\b", |_, _| Some("process <pid>".to_owned())),
    (r"(?m)^[0-5][0-9] \* \* \* \*", |_, _| Some("<minute> * * * *".to_owned())),
    (r"(?m)\*:[0-5][0-9]:00$", |_, _| Some("*:<minute>:00".to_owned())),
    (r"<integer>[1-5]?[0-9]</integer>", |_, _| Some("<integer><minute></integer>".to_owned())),
    // The CA's header has whole seconds.
    (r#""clockSkewSeconds": -?[0-2]\b"#, |_, _| Some("\"clockSkewSeconds\": <seconds>".to_owned())),
    (r"\bms=[0-9]+\b", |_, _| Some("ms=<ms>".to_owned())),
    // Polls are a matter of load.
    (r"\brequests=[1-9][0-9]*\b", |_, _| Some("requests=<some>".to_owned())),
    (r"\b([0-9A-F]{2}:){31}[0-9A-F]{2}\b", |_, _| Some("<SHA-256>".to_owned())),
    (r"\b[0-9a-f]{64}\b", |_, _| Some("<sha256>".to_owned())),
    (r"\b[0-9a-f]{40}\b", |_, _| Some("<key id>".to_owned())),
    (r"\b[0-9a-f]{32}\b", |_, _| Some("<serial>".to_owned())),
    (r"\b[0-9]{36,39}\b", |_, _| Some("<decimal serial>".to_owned())),
    (r"[A-Za-z0-9+/]{200,}={0,2}", |_, _| Some("<base64>".to_owned())),
    (r"[A-Za-z0-9+/]{43}=", |_, _| Some("<digest>".to_owned())),
    // Without `\b`: a token may begin with `-`, which is no character of a word.
    (r"[A-Za-z0-9_-]{43}\.[A-Za-z0-9_-]{43}", |_, _| Some("<key authorization>".to_owned())),
    (r#"(/acme-challenge/|Token: |token |"token": ")[A-Za-z0-9_-]{43}"#, token),
    // Of Pebble.
    (r#"TXT "[A-Za-z0-9_-]{43}""#, |_, _| Some("TXT \"<digest>\"".to_owned())),
    (r"/my-account/[0-9a-f]+(\s+was\s+registered\s+with\s+the\s+ACME\s+server,)?", |text, _| {
        Some(account(text))
    }),
    (r"\b127\.0\.0\.1:[0-9]{4,5}\b", |_, _| Some("127.0.0.1:<port>".to_owned())),
];

/// ` 1803033982`.
fn epoch(text: &str, now: Timestamp) -> Option<String> {
    let time = Timestamp::from_second(text.trim().parse().ok()?).ok()?;
    Some(format!(" <seconds of {}>", from_now(time, now).trim_matches(['<', '>'])))
}

/// `web  ⠙ 12s waiting for the CA`: how much of the text there is space for depends on the time.
fn progress(line: &str, _: Timestamp) -> Option<String> {
    let (name, text) = line.split_once(|c: char| ('⠁'..='⣿').contains(&c))?;
    let (_, text) = text.trim_start().split_once(' ')?;
    let text: String = text.chars().take(60).collect();
    Some(format!("{name}<spinner> <s> {}", text.trim_end()))
}

/// The column of ages in a list of events.
fn age(line: &str, _: Timestamp) -> Option<String> {
    let (start, _) = line.trim_end().rsplit_once(" certctl")?;
    let (start, age) = start.trim_end().rsplit_once(' ')?;
    let seconds = age.strip_suffix('s')?;
    let is_short = seconds.len() <= 2 && seconds.parse::<u8>().is_ok();
    is_short.then(|| format!("{start} <s>  certctl  "))
}

/// The number has 14 to 16 digits: where the sentence is broken would depend on it.
fn account(text: &str) -> String {
    let rest = if text.contains(char::is_whitespace) {
        " was registered with the\n  ACME server,"
    } else {
        ""
    };
    ["/my-account/<account>", rest].concat()
}

fn token(text: &str, _: Timestamp) -> Option<String> {
    Some([text.get(..text.len() - 43)?, "<token>"].concat())
}

/// `Sat, 21 Nov 2026 09:40:40 UTC`.
fn long(text: &str, now: Timestamp) -> Option<String> {
    let time =
        ZonedDateTime::strptime("%a, %d %b %Y %H:%M:%S %z", text.replace("UTC", "+0000")).ok()?;
    Some(from_now(time.timestamp(), now))
}

/// `<now>`, `<now+90d>`, `<now-1h>`.
fn instant(text: &str, now: Timestamp) -> Option<String> {
    text.parse().ok().map(|time| from_now(time, now))
}

fn minute(text: &str, now: Timestamp) -> Option<String> {
    // The seconds were cut off: half a minute is their mean.
    let mut words = text.split_whitespace();
    let time = format!("{}T{}:30Z", words.next()?, words.next()?);
    time.parse().ok().map(|time| from_now(time, now))
}

/// Rounded so coarsely that a slow machine does not show.
fn from_now(time: Timestamp, now: Timestamp) -> String {
    let seconds = time.duration_since(now).as_secs();
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = (seconds.unsigned_abs() + 30) / 60;
    match minutes {
        0..3 => "<now>".to_owned(),
        3..110 => format!("<now{sign}{}m>", (minutes + 2) / 5 * 5),
        110..2_800 => format!("<now{sign}{}h>", (minutes + 30) / 60),
        2_800..5_256_000 => format!("<now{sign}{}d>", (minutes + 720) / 1_440),
        _ => format!("<now{sign}years>"),
    }
}

/// A day alone is not counted from now: it is another one around midnight.
fn date(text: &str, _: Timestamp) -> Option<String> {
    text.parse::<Date>().ok().map(|_| "YYYY-MM-DD".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "dm_-j5dhgbXuKzZpK2WqPxhb2GNn_WuoqSOom_9UmYU";
    /// One less: with a `-` before or after it, a token or a thumbprint.
    const B: &str = "m_-j5dhgbXuKzZpK2WqPxhb2GNn_WuoqSOom_9UmYU";

    #[test]
    fn what_is_replaced_is_well_formed_and_the_rest_stays() {
        let now: Timestamp = "2026-11-21T03:12:09.5Z".parse().unwrap();
        let normal = Normal { words: vec![("/tmp/x".to_owned(), "<folder>".to_owned())] };
        for (text, replaced) in [
            ("2026-11-21T03:12:09Z INFO web", "<now> INFO web"),
            ("not_after=2027-02-19T03:12:08Z", "not_after=<now+90d>"),
            ("until 2026-11-21T04:12:05Z (in 59m)", "until <now+60m> (in 59m)"),
            ("2026-11-21T08:12:05Z 2026-11-21T00:12:05Z", "<now+5h> <now-3h>"),
            ("2026-13-21T03:12:09Z", "2026-13-21T03:12:09Z"),
            ("2026-11-21T03:12:9Z", "2026-11-21T03:12:9Z"),
            ("2026-11-21T03:12:09.123Z", "2026-11-21T03:12:09.123Z"),
            ("2026-12-03 04:12 UTC", "<now+12d>"),
            ("2027-02-18 90d, 2027-02-30", "YYYY-MM-DD 90d, 2027-02-30"),
            ("Fri, 19 Feb 2027 03:12:09 UTC", "<now+90d>"),
            ("Thu, 19 Feb 2027 03:12:09 UTC", "Thu, 19 Feb 2027 03:12:09 UTC"),
            ("2999-12-31T00:00:00Z", "<now+years>"),
            ("x 1803033982\nx 18030339820", "x <seconds of now+90d>\nx 18030339820"),
            ("ca  3s\nca  3s   -\nca 3s", "ca  <s>\nca  <s>\nca 3s"),
            ("web  ⠙ 12s waiting", "web  <spinner> <s> waiting"),
            ("issued now", "issued <seconds> ago"),
            ("issued 2s ago, 3m ago", "issued <seconds> ago, 3m ago"),
            ("2026-11-21T03:12:08Z (1s ago)", "<now>"),
            ("2026-11-21 03:12 UTC, now", "<now>"),
            ("2026-11-21 03:12 UTC, 2h ago", "<now>, 2h ago"),
            ("2026-11-21 03:16 UTC, 2026-11-21 03:17 UTC", "<now+5m>, <now+5m>"),
            ("  Normal  Issuing   12s  certctl  x 12s", "  Normal  Issuing   <s>  certctl  x 12s"),
            ("  Normal  Issuing  12m  certctl  x", "  Normal  Issuing  12m  certctl  x"),
            ("Token: dm_-j5dhgbXuKzZpK2WqPxhb2GNn_WuoqSOom_9UmYU, x", "Token: <token>, x"),
            ("Token: dm_-j5dhgbXuKz", "Token: dm_-j5dhgbXuKz"),
            (format!("Token: -{B},").as_str(), "Token: <token>,"),
            (format!("/acme-challenge/-{B}").as_str(), "/acme-challenge/<token>"),
            (format!("Key: {A}.{A}, x").as_str(), "Key: <key authorization>, x"),
            (format!("Key: -{B}.{A}, x").as_str(), "Key: <key authorization>, x"),
            (
                format!("domain   -{B}.-{B}   https").as_str(),
                "domain   <key authorization>   https",
            ),
            (format!("\"-{B}.{B}-\"").as_str(), "\"<key authorization>\""),
            (format!("Key: {A}.-{B}").as_str(), "Key: <key authorization>"),
            ("\"clockSkewSeconds\": -1, 0", "\"clockSkewSeconds\": <seconds>, 0"),
            ("\"clockSkewSeconds\": 3,", "\"clockSkewSeconds\": 3,"),
            ("serial 00112233445566778899aabbccddeeff", "serial <serial>"),
            ("/my-account/1f, x", "/my-account/<account>, x"),
            (
                "/my-account/1f2e was registered with the ACME\n  server, in",
                "/my-account/<account> was registered with the\n  ACME server, in",
            ),
            ("/tmp/x/state at 127.0.0.1:4711", "<folder>/state at 127.0.0.1:<port>"),
        ] {
            assert_eq!(normal.apply(text, now), replaced);
        }
    }
}
