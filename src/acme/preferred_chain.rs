//! Which of the offered chains is used: `preferredChain` (RFC 8555 section 7.4.2).
//!
//! | chains seen so far | next |
//! | --- | --- |
//! | nothing is preferred | take the default |
//! | one has the preferred issuer on top | take it |
//! | none has, an alternate was not fetched yet | fetch it |
//! | none has, all were fetched | take the default |

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Take the chain of this index; 0 is the default.
    Take(usize),
    /// Fetch the alternate of this index, counted from 0.
    Fetch(usize),
}

/// See the table above. `seen` are the issuer CNs of the topmost certificates, the default chain's
/// first, compared exactly; `alternates` is how many alternates the CA offers.
pub fn choose(preferred: &str, seen: &[&str], alternates: usize) -> Choice {
    if preferred.is_empty() {
        return Choice::Take(0);
    }
    match seen.iter().position(|topmost| *topmost == preferred) {
        Some(index) => Choice::Take(index),
        None if seen.len() <= alternates => Choice::Fetch(seen.len().saturating_sub(1)),
        None => Choice::Take(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternates_are_fetched_only_until_the_preferred_one_is_found() {
        let cases: &[(&str, &[&str], usize, Choice)] = &[
            ("", &["X1"], 2, Choice::Take(0)),
            ("X1", &["X1"], 2, Choice::Take(0)),
            ("X2", &["X1"], 2, Choice::Fetch(0)),
            ("X2", &["X1", "X3"], 2, Choice::Fetch(1)),
            ("X2", &["X1", "X3", "X2"], 2, Choice::Take(2)),
            ("x2", &["X1", "X3", "X2"], 2, Choice::Take(0)),
            ("X2", &["X1"], 0, Choice::Take(0)),
        ];
        for (preferred, seen, alternates, expected) in cases {
            assert_eq!(choose(preferred, seen, *alternates), *expected, "{preferred} {seen:?}");
        }
    }
}
