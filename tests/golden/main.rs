//! Golden tests: whole sessions with the binary, as their user sees them.
//!
//! Each file in `scenes/` is one session, word for word: command lines, both streams, exit codes,
//! and what a terminal shows. `matrix` says which verb and which exit code is shown where, and
//! fails when one is shown nowhere. A changed text is taken over by
//! `CERTCTL_REGENERATE=1 cargo test --test golden`, and then read.

#![cfg(test)]

#[cfg(feature = "real-servers")]
#[path = "../support/bind/mod.rs"]
#[expect(dead_code, unused_imports, reason = "other executables use the rest")]
mod bind_support;
mod doctor;
mod failing;
mod issuing;
#[path = "../support/golden/kept.rs"]
mod kept;
mod matrix;
#[path = "../support/golden/normal.rs"]
mod normal;
#[cfg(feature = "real-servers")]
mod pebble;
#[cfg(feature = "real-servers")]
#[path = "../support/pebble/mod.rs"]
#[expect(dead_code, unused_imports, reason = "other executables use the rest")]
mod pebble_support;
mod reading;
#[path = "../support/golden/session.rs"]
mod session;
mod start;
mod states;
mod streams;
#[path = "../support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "other executables use the rest")]
mod support;
#[path = "../support/golden/terminal.rs"]
mod terminal;
mod terminals;
mod writing;
