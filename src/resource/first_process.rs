//! The first process of a program that certctl started, as it is noted for later runs.

use std::fmt;
use std::str::FromStr;

/// A process by its number and by when it was started, in the clock ticks of its host: the number
/// alone may be another process's by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstProcess {
    number: i32,
    started: u64,
}

impl FirstProcess {
    /// `None` for a number that is no single process that certctl can have started: for `kill`, 0
    /// is the caller's group, 1 is init or everything, and what is below 0 is a group.
    pub fn new(number: i32, started: u64) -> Option<Self> {
        (number > 1).then_some(Self { number, started })
    }

    /// Its number, above 1.
    pub fn number(self) -> i32 {
        self.number
    }

    /// When it was started; 0 on a host that does not tell.
    pub fn started(self) -> u64 {
        self.started
    }
}

/// A line of always the same length.
impl fmt::Display for FirstProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010} {:020}", self.number, self.started)
    }
}

impl FromStr for FirstProcess {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (number, started) = text.trim_end().split_once(' ').ok_or(())?;
        let number = number.parse().map_err(|_| ())?;
        Self::new(number, started.parse().map_err(|_| ())?).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_stands_for_several_processes_is_none() {
        let noted = FirstProcess::new(42, 7).unwrap();
        assert_eq!(noted.to_string(), "0000000042 00000000000000000007");
        assert_eq!(format!("{noted}\n").parse(), Ok(noted));
        for text in ["0 7", "1 7", "-1 7", "-42 7", "42", "42 ", "", "x 7", "42 7 7"] {
            assert_eq!(text.parse::<FirstProcess>(), Err(()), "{text}");
        }
    }
}
