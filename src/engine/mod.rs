//! The shell around the rooms: load, decide, act, record.

pub mod ports;
