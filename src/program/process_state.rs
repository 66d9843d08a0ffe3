//! The state of a process, as `/proc/PID/stat` of Linux has it; no process has one on other systems.

/// Whether a process is stopped, and when it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessState {
    /// By a signal, or by a debugger.
    pub(crate) is_stopped: bool,
    /// When it was started, in ticks of the clock since the start of the system.
    pub(crate) started: u64,
}

impl ProcessState {
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Self::read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads fields 3 and 22 of a line; the name, field 2, may have spaces and parentheses.
    fn read(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let is_stopped = matches!(fields.next()?, "T" | "t");
        Some(Self { is_stopped, started: fields.nth(18)?.parse().ok()? })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_state_and_the_start_of_a_process_are_read() {
        let line =
            "812 (a) b (c) T 1 812 812 34816 812 4194304 9 0 0 0 1 2 0 0 20 0 1 0 5678 9 9\n";
        let expected = ProcessState { is_stopped: true, started: 5678 };
        assert_eq!(ProcessState::read(line), Some(expected));
        let line = line.replace(" T ", " S ");
        let expected = ProcessState { is_stopped: false, ..expected };
        assert_eq!(ProcessState::read(&line), Some(expected));
        assert_eq!(ProcessState::read("812 (a) S 1"), None);
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(!ProcessState::of(own).unwrap().is_stopped);
    }
}
