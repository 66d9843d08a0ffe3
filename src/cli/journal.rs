//! systemd's journal as the reader of stderr: it adds the time, and takes the priority from a
//! number before the line (sd-daemon(3)).

use crate::cli::Environment;

/// Returns whether stderr goes to the journal: `JOURNAL_STREAM` then names its device and inode
/// (systemd.exec(5)). A process that a service started and that writes elsewhere does not match.
pub(crate) fn reads_stderr(environment: &Environment) -> bool {
    rustix::fs::fstat(std::io::stderr())
        .is_ok_and(|file| is_named(environment, &format!("{}:{}", file.st_dev, file.st_ino)))
}

fn is_named(environment: &Environment, stream: &str) -> bool {
    environment.value("JOURNAL_STREAM").is_some_and(|named| named == stream)
}

/// Every line of `text` with its priority before it, as syslog(3) counts: 3 for errors, 4 for
/// warnings, 6 for the rest.
pub(crate) fn with_priority(text: &str, priority: u8) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("<{priority}>{line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_known_by_its_device_and_inode() {
        for (named, is_it) in [("8:1234", true), ("8:123", false), ("", false)] {
            let environment = Environment::from_pairs(&[("JOURNAL_STREAM", named)]);
            assert_eq!(is_named(&environment, "8:1234"), is_it, "{named}");
        }
        assert!(!is_named(&Environment::default(), "8:1234"));
    }

    #[test]
    fn each_line_has_its_priority() {
        assert_eq!(with_priority("one\n  two\n", 3), "<3>one\n<3>  two");
        assert_eq!(with_priority("", 6), "");
    }
}
