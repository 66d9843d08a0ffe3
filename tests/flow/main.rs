//! The binary against the built-in CA: each file keeps one promise.

#[cfg(test)]
mod issuing;
#[cfg(test)]
#[path = "../support/mod.rs"]
mod support;
