//! Files beside the code that say what is printed, word for word.

use std::path::Path;

/// Compares with a file, its name below `src/cli`. `CERTCTL_REGENERATE=1 cargo test --lib cli`
/// writes the files anew, for the difference to be reviewed.
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli").join(name);
    if std::env::var_os("CERTCTL_REGENERATE").is_some() {
        #[expect(clippy::disallowed_methods, reason = "a golden file, made by hand")]
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{name} differs:\n--- kept\n{committed}\n--- now\n{text}");
}
