//! Numbers of things, for people.

/// `1 file`, `2 files`, `0 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// The first names, and how many more there are.
pub(in crate::cli) fn names(of: &[String]) -> String {
    first_names(of, MOST_NAMED)
}

/// So many of the names, and how many more there are.
pub(in crate::cli) fn first_names(of: &[String], most: usize) -> String {
    let shown: Vec<&str> = of.iter().take(most).map(String::as_str).collect();
    match of.len().saturating_sub(most) {
        0 => shown.join(", "),
        others => format!("{} and {others} more", shown.join(", ")),
    }
}

/// Number of names in a line.
const MOST_NAMED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one() {
        for (number, text) in [(0, "0 files"), (1, "1 file"), (2, "2 files"), (11, "11 files")] {
            assert_eq!(count(number, "file"), text);
        }
    }

    #[test]
    fn of_many_names_the_first_are_shown() {
        let all: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        for (number, text) in [(0, ""), (1, "a"), (3, "a, b, c"), (5, "a, b, c and 2 more")] {
            assert_eq!(names(&all[..number]), text);
        }
    }
}
