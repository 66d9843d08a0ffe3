//! certctl: cert-manager for people without a cluster.
//!
//! The map of the house. Data flows one way:
//!
//! ```text
//! manifests → [manifest] → Certificate, Issuer → [store] → Snapshot → next_step → Step ┬ Record ───────────────→ [store]
//!                                                   ↑                                  ├ Act(effects) → [perform] → outcomes → absorb → [store]
//!                                                   └──────── one loop, one direction ─┴ Wait → sleep, or leave and say so
//! ```
//!
//! Three sentences govern the code: nouns, rooms, deeds ([`resource`] holds data, [`controller`]
//! decides, [`engine`] acts). A state names the deed that comes next, and is written down before
//! the deed is done. Nothing that decides may read a clock, a file, a socket, a random source or
//! the environment.
//!
//! `resource` imports nothing of ours; `controller` and [`pki`] import `resource`; `engine`
//! imports all that is below it; [`workspace`] is what a verb works on, read once: it imports all
//! that is below it and prints nothing; [`cli`] talks to people: it takes the arguments, calls
//! `workspace`, and shows what comes back.

// The nouns.
pub mod resource;

// The decisions.
pub mod controller;
// Keys, CSRs and chains as values.
pub mod pki;

// RFC 8555 on the wire.
pub mod acme;
// YAML text to validated resources.
pub mod manifest;
// Looking from outside.
pub mod probe;
// Putting an answer into the world.
pub mod solver;
// The state directory.
pub mod store;

// The operator's hooks and exec solvers.
pub mod program;

// The only loop.
pub mod engine;

// The built-in throw-away CA.
pub mod rehearsal;

// What a verb works on, read once; and what it does, as functions that return data.
pub mod workspace;

// Talking to people.
pub mod cli;
