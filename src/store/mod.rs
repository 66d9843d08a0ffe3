//! The state directory: certctl's records, in plain files.
//!
//! A run knows it in four parts ([`Store`]): [`Documents`], which several hosts may share one day,
//! and what is always of this host: [`LiveFiles`], [`HostRecord`] and [`Cache`].
//!
//! ```text
//! <state>/                            0700, one owner
//!   certificates/<namespace>/<name>/
//!     status.json                     CertificateRecord
//!     requests/<revision>.json        CertificateRequest
//!     orders/<revision>-<n>.json      Order with its challenges; n counts from 1
//!     next-private-key.pem            the key in flight between two runs, PKCS#8
//!     in-flight                       the steps of a run, with the key; gone when it ends ([`in_flight`])
//!     host.json                       HostSection; only where the documents are in a store of several hosts
//!     events.jsonl, events.jsonl.1    for users; never read back to decide
//!   accounts/<digest>/
//!     account.json                    Account
//!     key.pem                         its key, PKCS#8
//!     limits.json                     AccountLimits
//!   secrets/<namespace>/<secretName>/
//!     tls.crt -> ..data/tls.crt       stable names, one link per file
//!     ..data -> ..revision-7-0        the one link that moves: the commit point
//!     ..revision-7-0/{tls.crt,…}      files of revision 7, first try; the previous one stays too
//!     ..adopted-0/                    files that were here before certctl, kept
//!   http01/                           presented tokens
//!   crls/<digest>.der                 the CRL of a URL; not synced, and fetched again when it is gone
//!   crls/looks                        when CRLs were looked at, and will be next; not synced
//!   directories/<digest>              the ACME directory of a CA; not synced, and fetched again likewise
//!   index.jsonl                       until when nothing is due; not synced, and written anew when it is gone ([`index`])
//!   index-<digest>.jsonl              the same of the files of a run, which the digest is of
//!   reported                          what was reported of no certificate, and when; not synced
//!   issuance.log                      append-only, synced
//!   last-run                          empty: its times are those of the last run without a terminal; not synced
//!   scheduler.json                    Queue; only for living processes, and so not synced
//!   scheduler.json.next               its temporary
//!   locks/certificates/<namespace>/<name>
//!   locks/accounts/<digest>
//!   locks/scheduler
//!   locks/run-<n>                     kernel locks; never removed
//!   locks/order-<digest>, hook-<digest> removed when they are given back, or by the next run
//! ```
//!
//! Contract:
//! - Every file is 0600 in folders of 0700 from its first moment, whatever the umask. A document
//!   or key that others can read, that is a link, or that another user owns is refused.
//! - A write that returned is durable, but for `scheduler.json`, `crls/`, `directories/`,
//!   `index.jsonl`, `reported`, `last-run`, presented tokens and the steps in `in-flight`, which
//!   [`Documents::sync`] makes so; a reader sees the old file or the new one ([`atomic`]). The name of the file of an order
//!   that has its certificate and owes nothing is not synced: it is history.
//! - A new folder is synced in its parent once, before anything is put into it, so that one with
//!   something in it needs no sync. The folder of a certificate is so by its `status.json`.
//! - JSON documents carry a version. An unknown one is refused and never rewritten; a damaged
//!   document is renamed to `<name>.corrupt-<n>`, never overwritten ([`Records`]). `metadata.json`
//!   of a set is such a document too, except that its quarantine name begins with a dot, and that
//!   it is written again only with the set.
//! - `.tmp-*` are temporaries of a run; those of a killed run are swept by the next holder of the
//!   lock.
//! - Symbolic links inside the tree are refused, except the ones shown above; the state directory
//!   itself may be reached through one.
//! - All file access is on the calling thread; nothing blocks on a lock.

pub mod atomic;
pub mod index;

mod acl;
mod adoption;
mod cache;
mod certificate;
mod directory;
mod documents;
mod entries;
mod error;
mod folder;
mod frame;
mod hook_lock;
mod host_record;
mod immutable;
mod in_flight;
mod journal;
mod key;
mod layout;
mod links;
mod listing;
mod live_files;
mod lock;
mod opened;
mod opening;
mod output;
mod parts;
mod prune;
mod records;
mod removal;
mod resolved;
mod rollback;
#[cfg(test)]
pub(crate) mod samples;
mod secret;
mod set;
mod share;
mod steps;
mod tokens;
mod wrong_entry;

pub use cache::{Cache, Looks};
pub use certificate::CertificateDocument;
pub use directory::StateDirectory;
pub use documents::{Documents, Lease, Page, Stored, Version};
pub use error::{DamageCourse, StoreError};
pub use frame::{Frame, WriteId};
pub use host_record::{HookTurn, HostRecord, LeftAlert};
pub use key::{Collection, Key, Lock, Log, Part};
pub use live_files::{Claim, LiveFiles, LiveSet, SecretSet, Share};
pub use lock::KernelLock;
pub use opening::OpenMode;
pub use output::{LostFiles, Output, OutputError};
pub use parts::{LeaseOf, Store};
pub use prune::past_revisions;
pub use records::{Listed, Records, Versioned};
pub(crate) use removal::remove_tree;
pub use wrong_entry::WrongEntry;
