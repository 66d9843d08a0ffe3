//! Golden tests: whole sessions with the binary, as their user sees them.
//!
//! Each file in `scenes/` is one session, word for word: command lines, both streams, exit codes,
//! and what a terminal shows. `matrix` says which verb and which exit code is shown where, and
//! fails when one is shown nowhere. A changed text is taken over by
//! `CERTCTL_REGENERATE=1 cargo test --test golden`, and then read.

#[cfg(test)]
mod doctor;
mod failing;
#[cfg(test)]
mod issuing;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod normal;
#[cfg(all(test, feature = "real-servers"))]
mod pebble;
#[cfg(all(test, feature = "real-servers"))]
#[path = "../pebble_support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "tests/pebble.rs uses the rest")]
mod pebble_support;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod session;
#[cfg(test)]
mod start;
#[cfg(test)]
mod states;
#[cfg(test)]
mod streams;
#[cfg(test)]
#[path = "../support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "other tests use the rest")]
mod support;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod terminals;
#[cfg(test)]
mod writing;
