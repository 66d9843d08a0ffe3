//! The binary against the built-in CA: each file keeps one promise.

#[cfg(test)]
mod account_keys;
#[cfg(test)]
mod account_verb;
#[cfg(test)]
mod accounts;
#[cfg(test)]
mod adoption;
#[cfg(test)]
mod attackers;
#[cfg(test)]
mod canary;
#[cfg(test)]
mod challenges;
#[cfg(test)]
mod check;
#[cfg(test)]
#[cfg(feature = "real-servers")]
mod counts;
#[cfg(test)]
#[path = "../crds/mod.rs"]
mod crds;
#[cfg(test)]
mod create;
#[cfg(test)]
mod crl;
#[cfg(test)]
mod daily;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod dns01;
#[cfg(test)]
mod failing_ca;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod idle;
#[cfg(test)]
mod index;
#[cfg(test)]
mod inherited;
#[cfg(test)]
mod inspect;
#[cfg(test)]
mod interrupted;
#[cfg(test)]
mod issuing;
#[cfg(test)]
#[cfg(feature = "real-servers")]
mod jq;
#[cfg(test)]
mod json;
#[cfg(test)]
mod json_log;
#[cfg(test)]
mod lacks;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod links;
#[cfg(test)]
mod lost_account;
#[cfg(test)]
mod lost_replies;
#[cfg(test)]
mod make_state;
#[cfg(test)]
mod manifests;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod names;
#[cfg(test)]
mod older_states;
#[cfg(test)]
mod open_files;
#[cfg(test)]
mod orders;
#[cfg(test)]
mod owner;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod ping;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod refused_dns;
#[cfg(test)]
mod rehearse;
#[cfg(test)]
mod renewal_information;
#[cfg(test)]
mod revoke;
#[cfg(test)]
mod rollback;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod service;
#[cfg(test)]
#[cfg(feature = "real-servers")]
mod service_fortnight;
#[cfg(test)]
mod side_by_side;
#[cfg(test)]
#[path = "../support/mod.rs"]
mod support;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod temporary;
mod two_states;
#[cfg(test)]
mod versions;
#[cfg(test)]
mod wrong_certificates;
