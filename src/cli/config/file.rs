//! Reads the file once, with checks of owner, mode and size.

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use crate::host::rights;
use crate::manifest::Diagnostic;
use crate::trust::{TrustError, Walk};

/// The text; `None` when there is no such file.
pub(super) fn text(path: &Path) -> Result<Option<String>, Box<Diagnostic>> {
    let whole = |code, message: String| Diagnostic::about_file(path.to_path_buf(), code, message);
    let about = |code, message: String| Box::new(whole(code, message));
    let failed = |error: &std::io::Error| about("E0305", format!("cannot be read: {error}"));
    let file = match Walk::trusting_us().file(path, false) {
        Ok(file) => file,
        Err(TrustError::Io { source, .. }) => {
            let is_absent = matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            return if is_absent { Ok(None) } else { Err(failed(&source)) };
        }
        Err(error) => {
            let fix = rights::trusted(&error);
            return Err(Box::new(Diagnostic { fix, ..*about("E0306", error.to_string()) }));
        }
    };
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LIMIT) {
        return Err(about("E0305", format!("is longer than {LIMIT} bytes")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
            let lines = before.unwrap_or_default().split(|byte| *byte == b'\n').count();
            let message = "is not UTF-8 from here on".to_owned();
            Err(Box::new(Diagnostic { line: lines, column: 1, ..whole("E0305", message) }))
        }
    }
}

const LIMIT: u64 = 64 << 10;
