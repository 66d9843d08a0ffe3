//! A line of the terminal that is not shown.

use std::io::{self, BufRead as _};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use zeroize::Zeroizing;

/// Reads a line of stdin without echo, behind this prompt; `None` at its end and at Ctrl-C.
pub(super) fn line(prompt: impl FnOnce()) -> io::Result<Option<Zeroizing<String>>> {
    let _hidden = Hidden::begin()?;
    prompt();
    let mut stdin = io::stdin().lock();
    let typed = Zeroizing::new(stdin.fill_buf()?.to_vec());
    stdin.consume(typed.len());
    let text = str::from_utf8(&typed).map_err(io::Error::other)?;
    let has_ended = text.is_empty() || text.ends_with(CTRL_C);
    Ok((!has_ended).then(|| Zeroizing::new(text.trim().to_owned())))
}

/// Restores the terminal when dropped.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        // A signal would end the process and leave the terminal without echo: Ctrl-C ends the line.
        hidden.local_modes -= LocalModes::ECHO | LocalModes::ISIG;
        let code = u32::from(CTRL_C).to_le_bytes();
        hidden.special_codes[SpecialCodeIndex::VEOL] = code[0];
        tcsetattr(io::stdin(), OptionalActions::Drain, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        tcsetattr(io::stdin(), OptionalActions::Drain, &self.0).ok();
    }
}

const CTRL_C: char = '\u{3}';
