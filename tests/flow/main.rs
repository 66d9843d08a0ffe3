//! The binary against the built-in CA: each file keeps one promise.

#![cfg(test)]

mod account_keys;
mod account_verb;
mod accounts;
mod adoption;
mod attackers;
mod canary;
mod challenges;
mod check;
mod check_dns;
mod cli_panic;
mod completion;
mod config;
#[cfg(feature = "real-servers")]
mod counts;
#[path = "../support/crds.rs"]
mod crds;
mod create;
mod crl;
mod daily;
mod deploy;
mod dns01;
mod failing_ca;
#[cfg(feature = "real-servers")]
#[path = "../support/clock/faketime.rs"]
mod faketime;
mod formats;
mod help_examples;
mod hostile_folders;
mod idle;
mod index;
mod inherited;
mod inspect;
mod interrupted;
mod issuing;
#[path = "../support/journal.rs"]
mod journal;
#[cfg(feature = "real-servers")]
mod jq;
mod json;
mod json_log;
mod lacks;
mod last_run;
mod limits;
mod links;
mod lost_account;
mod lost_replies;
mod manifests;
mod metrics;
mod mistakes;
mod names;
#[cfg(feature = "real-servers")]
mod once;
mod open_files;
mod orders;
#[path = "../support/own_process.rs"]
mod own_process;
mod owner;
mod permissions;
mod ping;
mod plan;
mod refused_dns;
mod rehearse;
mod renames;
mod renewal_information;
mod revoke;
mod rollback;
mod scheduler;
mod schemas;
mod service;
#[cfg(feature = "real-servers")]
mod service_fortnight;
mod side_by_side;
mod stored_state;
#[path = "../support/mod.rs"]
mod support;
mod talk;
mod temporary;
mod two_states;
mod versions;
mod wrong_certificates;
