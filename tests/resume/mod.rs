//! A world in memory for whole runs: a CA, a disk, a clock that moves only when all tasks wait, and
//! a fuse that kills the run.

pub(crate) mod ca;
pub(crate) mod disk;
pub(crate) mod fuse;
pub(crate) mod issuance;
pub(crate) mod scene;
pub(crate) mod time;
pub(crate) mod world;
