//! Manifests with comments, as text with places for values.
//!
//! Contract: `{name}` is replaced by the value of that name, and a line that begins with `%name|` is
//! there only if there is one. A value is never read again.

/// The template with these values, as far as there are any.
pub(super) fn filled(template: &str, values: &[(&str, Option<String>)]) -> String {
    let value = |name: &str| {
        let known = values.iter().find(|(known, _)| *known == name);
        known.and_then(|(_, value)| value.as_deref())
    };
    let mut text = String::new();
    for line in template.lines() {
        let conditional = line.strip_prefix('%').and_then(|line| line.split_once('|'));
        if conditional.is_some_and(|(name, _)| value(name).is_none()) {
            continue;
        }
        let mut parts = conditional.map_or(line, |(_, line)| line).split('{');
        text += parts.next().unwrap_or_default();
        for part in parts {
            let (name, behind) = part.split_once('}').unwrap_or_default();
            text += value(name).unwrap_or("{}");
            text += behind;
        }
        text += "\n";
    }
    text
}
