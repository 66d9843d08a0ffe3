//! The zones that can hold a name, for services that are asked which of them there are.

/// The zone as the DNS shows it, where it is known, else the name; and what is above it, down to
/// two labels. The longest comes first.
pub(super) fn suffixes<'a>(name: &'a str, zone: &'a str) -> impl Iterator<Item = &'a str> {
    let start = if zone.is_empty() { name } else { zone };
    let above = std::iter::successors(Some(start), |name| name.split_once('.').map(|(_, up)| up));
    above.take_while(move |suffix| *suffix == start || suffix.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_tried_from_the_longest() {
        let cases: [(&str, &str, &[&str]); 4] = [
            ("_a.www.example.com", "", &["_a.www.example.com", "www.example.com", "example.com"]),
            ("_a.www.example.com", "www.example.com", &["www.example.com", "example.com"]),
            ("_a.example.com", "example.com", &["example.com"]),
            ("_a.host", "host", &["host"]),
        ];
        for (name, zone, expected) in cases {
            assert_eq!(suffixes(name, zone).collect::<Vec<_>>(), expected, "{name} {zone}");
        }
    }
}
