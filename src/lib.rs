//! certctl: cert-manager for people without a cluster.
//!
//! One binary reads cert-manager `Certificate` and `Issuer` manifests from local files, and issues and
//! renews the certificates that they describe. Data flows in one direction:
//!
//! ```text
//! manifests → [manifest] → Certificate, Issuer → [store] → Snapshot → next_step → Step ┬ Record ───────────────→ [store]
//!                                                   ↑                                  ├ Act(effects) → [perform] → outcomes → absorb → [store]
//!                                                   └──────── one loop, one direction ─┴ Wait → sleep, or end the run and report
//! ```
//!
//! Four sentences govern the code:
//!
//! 1. **Data, decisions, effects.** [`resource`] holds data, [`controller`] decides, [`engine`] carries
//!    out.
//! 2. **A state names the effect that comes next, and is written down before the effect is started.**
//! 3. **Nothing that decides may read a clock, a file, a socket, a random source or the environment.**
//! 4. **A fact stays a fact until it is shown.** What happened is a typed value, stored as such; words
//!    are made in [`cli`], once, and never read back.
//!
//! [`workspace`] reads what a verb works on, once per process, and returns data; it prints nothing.
//! [`cli`] parses the arguments, calls `workspace`, and prints the result.
//!
//! Which module may import which; `tests/repo/architecture` holds this table against the sources:
//!
//! | module | may import |
//! | --- | --- |
//! | `resource` | |
//! | `trust` | |
//! | `controller` | `resource` |
//! | `pki` | `resource` |
//! | `host` | `resource`, `trust` |
//! | `acme` | `pki`, `resource` |
//! | `manifest` | `host`, `pki`, `resource`, `trust` |
//! | `program` | `host`, `manifest`, `resource`, `trust` |
//! | `store` | `host`, `resource`, `trust` |
//! | `solver` | `host`, `pki`, `probe`, `program`, `resource`, `trust` |
//! | `probe` | `pki`, `resource` |
//! | `rehearsal` | `pki`, `resource`, `solver` |
//! | `engine` | `acme`, `controller`, `host`, `manifest`, `pki`, `probe`, `program`, `resource`, `solver`, `store`, `trust` |
//! | `workspace` | `acme`, `controller`, `engine`, `manifest`, `pki`, `probe`, `rehearsal`, `resource`, `solver`, `store`, `trust` |
//! | `report` | `controller`, `engine`, `resource` |
//! | `cli` | `controller`, `engine`, `host`, `manifest`, `pki`, `report`, `resource`, `solver`, `store`, `trust`, `workspace` |
//! | `main` | `cli` |

// The data.
pub mod resource;

// The decisions.
pub mod controller;
// Keys, CSRs and chains as values.
pub mod pki;

// Who can change a file.
pub mod trust;

// Facts about this host.
pub mod host;

// RFC 8555 on the wire.
pub mod acme;
// YAML text to validated resources.
pub mod manifest;
// Self-checks and DNS queries.
pub mod probe;
// Presenting challenges.
pub mod solver;
// The state directory.
pub mod store;

// The operator's hooks and exec solvers.
pub mod program;

// The only loop.
pub mod engine;

// The built-in throw-away CA.
pub mod rehearsal;

// The input of a verb, read once; and the verbs, as functions that return data.
pub mod workspace;

// The result of a certificate in a run; its encoders are in `cli`.
pub mod report;

// Arguments, output and exit codes.
pub mod cli;
