//! Whole runs on a clock that moves only when all tasks wait, the cases of cert-manager's own tests,
//! and the state directory: nothing here starts a server or the binary. Each file keeps one promise.

#![cfg(test)]

mod cases;
#[path = "../support/contract.rs"]
mod contract;
mod documents;
mod fortnight;
#[path = "../support/faults/fuse.rs"]
mod fuse;
#[path = "../support/history.rs"]
mod history;
mod hosts;
mod limits;
mod month;
mod overdue;
#[path = "../support/own_process.rs"]
mod own_process;
#[path = "../support/random.rs"]
mod random;
mod renewal_information;
#[path = "../support/resolved.rs"]
mod resolved;
mod resume;
mod siblings;
#[path = "../support/stage/mod.rs"]
mod stage;
mod store;
mod throughput;
#[path = "../support/clock/timeline.rs"]
mod timeline;
mod turns;
mod unreachable_orders;
#[path = "../support/weak.rs"]
mod weak;
