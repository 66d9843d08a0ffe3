//! How many of what, for people.

/// `1 file`, `2 files`, `0 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one() {
        for (number, text) in [(0, "0 files"), (1, "1 file"), (2, "2 files"), (11, "11 files")] {
            assert_eq!(count(number, "file"), text);
        }
    }
}
