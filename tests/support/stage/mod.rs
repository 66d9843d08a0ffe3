//! A world in memory for whole runs: a CA and a disk, on the clock of `timeline`, with
//! the fuse of `fuse`, which kills a run.

pub(crate) mod ca;
pub(crate) mod disk;
pub(crate) mod host;
pub(crate) mod issuance;
pub(crate) mod scene;
pub(crate) mod world;
