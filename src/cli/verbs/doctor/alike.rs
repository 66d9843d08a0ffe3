//! Findings with the same fact, told once with the names of their objects.

use crate::cli::names;
use crate::resource::Finding;

/// The findings so far, each with its objects. The first has the fix.
#[derive(Debug, Default)]
pub(super) struct Alike(Vec<(Finding, Vec<String>)>);

impl Alike {
    /// Adds what was found about an object.
    pub(super) fn add(&mut self, object: String, found: Finding) {
        let is_same = |other: &Finding| {
            (&other.subject, other.severity, &other.fact)
                == (&found.subject, found.severity, &found.fact)
        };
        match self.0.iter_mut().find(|(other, _)| is_same(other)) {
            Some((_, objects)) if objects.contains(&object) => {}
            Some((_, objects)) => objects.push(object),
            None => self.0.push((found, vec![object])),
        }
    }

    /// Each once, with its fact and its objects in such words.
    pub(super) fn findings(self, worded: impl Fn(&str, &str) -> String) -> Vec<Finding> {
        let found = self.0.into_iter();
        found.map(|(one, of)| Finding { fact: worded(&one.fact, &names(&of)), ..one }).collect()
    }
}

/// A fact, and its objects behind it.
pub(super) fn behind(fact: &str, objects: &str) -> String {
    format!("{fact} ({objects})")
}

/// Note of the number of names beyond those that were tested.
pub(super) fn untried(others: usize) -> String {
    if others > 0 { format!(" ({others} more were not tested)") } else { String::new() }
}
