//! The repository itself: its modules, packages, examples, pages and tests. Each file keeps one
//! promise.

#![cfg(test)]

mod architecture;
#[path = "../support/crds.rs"]
mod crds;
mod examples;
mod packaging;
#[cfg(feature = "real-servers")]
#[expect(dead_code, unused_imports, reason = "other executables use the rest")]
#[path = "../support/pebble/mod.rs"]
mod pebble_support;
mod promises;
mod readme;
mod summary;
#[expect(dead_code, unused_imports, reason = "other executables use the rest")]
#[path = "../support/mod.rs"]
mod support;
#[expect(dead_code, reason = "the golden sessions use the rest")]
#[path = "../support/golden/terminal.rs"]
mod terminal;
