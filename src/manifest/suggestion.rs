//! "did you mean".

/// Minimum Jaro-Winkler similarity.
const ALIKE: f64 = 0.8;

/// The word most similar to `text`, if one is similar enough.
pub(crate) fn nearest<'w>(text: &str, words: impl Iterator<Item = &'w str>) -> Option<String> {
    nearest_by(text, words, |word| word).map(str::to_owned)
}

/// The item whose word is most similar to `text`.
pub fn nearest_by<T>(
    text: &str,
    items: impl Iterator<Item = T>,
    word: impl Fn(&T) -> &str,
) -> Option<T> {
    // Typing errors occur in short words; the cost grows with the square of the length.
    if text.is_empty() || text.len() > 100 {
        return None;
    }
    let text = text.to_lowercase();
    items
        .map(|item| (likeness(&text, &word(&item).to_lowercase()), item))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .fold(None, |best: Option<(f64, T)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            Some(_) | None => Some(next),
        })
        .map(|(_, item)| item)
}

/// Two exchanged letters of a short word, as in `wbe`, are not alike to Jaro and Winkler.
fn likeness(text: &str, word: &str) -> f64 {
    let is_exchanged = text.len() == word.len() && strsim::osa_distance(text, word) == 1;
    let likeness = strsim::jaro_winkler(text, word);
    if text.len() > 2 && is_exchanged { likeness.max(0.9) } else { likeness }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_alike_word_is_meant() {
        let words = ["dnsNames", "dnsZones", "duration", "commonName", "type"];
        for (text, suggested) in [
            ("dnsName", Some("dnsNames")),
            ("dnsnames", Some("dnsNames")),
            ("comonName", Some("commonName")),
            ("tyep", Some("type")),
            ("zzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(text, words.into_iter()).as_deref(), suggested, "{text}");
        }
    }
}
