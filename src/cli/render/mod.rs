//! Formats of output: messages, pages, tables and documents.

pub(in crate::cli) mod document;
pub mod log;
pub mod message;
pub mod output;
pub(in crate::cli) mod progress;
pub(in crate::cli) mod report;
pub(in crate::cli) mod table;
pub(in crate::cli) mod text;
pub mod yaml;
