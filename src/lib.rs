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
//! Three sentences govern the code: nouns, controllers, effects ([`resource`] holds data, [`controller`]
//! decides, [`engine`] acts). A state names the effect that comes next, and is written down before
//! the effect is done. Nothing that decides may read a clock, a file, a socket, a random source or
//! the environment.
//!
//! [`workspace`] is what a verb works on, read once; it prints nothing. [`cli`] talks to people: it
//! takes the arguments, calls `workspace`, and shows what comes back.
//!
//! Which module may import which; `tests/architecture.rs` holds this table against the sources:
//!
//! | module | may import |
//! | --- | --- |
//! | `resource` | |
//! | `controller` | `resource` |
//! | `pki` | `resource` |
//! | `acme` | `pki`, `resource` |
//! | `manifest` | `resource` |
//! | `program` | `manifest`, `resource` |
//! | `store` | `manifest`, `resource` |
//! | `solver` | `pki`, `program`, `resource` |
//! | `probe` | `pki`, `resource` |
//! | `rehearsal` | `pki`, `resource`, `solver` |
//! | `engine` | `acme`, `controller`, `manifest`, `pki`, `probe`, `program`, `resource`, `solver`, `store` |
//! | `workspace` | `acme`, `controller`, `engine`, `manifest`, `pki`, `probe`, `resource`, `solver`, `store` |
//! | `report` | `controller`, `engine`, `resource` |
//! | `cli` | `acme`, `controller`, `engine`, `manifest`, `pki`, `probe`, `rehearsal`, `report`, `resource`, `solver`, `store`, `workspace` |
//! | `main` | `cli` |

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

// What came of a certificate in a run; its encoders are in `cli`.
pub mod report;

// Talking to people.
pub mod cli;
