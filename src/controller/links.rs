//! Which kept set is live, or should be: the links of a Secret's folder.
//!
//! | `..data` | a complete set with the recorded certificate | step |
//! | --- | --- | --- |
//! | is the link to a set, a stable name is not our link | – | the stable names are linked again |
//! | is missing | there is one | that set is linked again, the last one of several |
//! | is a folder | there is one | likewise, and the folder stays as another set |
//! | is a folder | the folder holds it | the folder becomes the set |
//! | is missing, or is a folder | there is none | none: the trigger decides |
//!
//! No repair needs an order, and nothing is removed.

use jiff::Timestamp;

use super::{Effect, IllegalOutcome, Outcome, Record, Snapshot, Step};
use crate::resource::{
    CertificateRecord, DataLink, KeptPair, PublishedPair, Reason, Repair, SecretLinks,
};

/// The name of the one link that moves.
const DATA: &str = "..data";

/// Repairs the links if needed.
pub fn decide(snapshot: &Snapshot, _: Timestamp) -> Step {
    let Some(Repair { set, revision, .. }) = &snapshot.repair else { return Step::Settled };
    Step::Act(vec![Effect::RestoreLinks { set: set.clone(), revision: *revision }])
}

/// The event after a repair.
pub fn absorb(
    snapshot: &Snapshot,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    match &snapshot.repair {
        Some(repair) if *outcome == Outcome::Done => Ok(restored(repair, now)),
        Some(_) | None => Err(IllegalOutcome::new("restoring links", outcome)),
    }
}

/// See the table above. `sets` are by revision and age; `folder` is what `..data` holds when it is
/// a folder itself.
pub fn repair(
    record: Option<&CertificateRecord>,
    links: &SecretLinks,
    sets: &[KeptPair],
    folder: Option<&PublishedPair>,
) -> Option<Repair> {
    let what = match &links.data {
        DataLink::Set(_) if links.misplaced.is_empty() => return None,
        DataLink::Set(set) => {
            let (count, names) = (links.misplaced.len(), links.misplaced.join(", "));
            let what = if count == 1 {
                format!("the link {names} is missing or points elsewhere")
            } else {
                format!("the links {names} are missing or point elsewhere")
            };
            return Some(Repair { set: Some(set.clone()), revision: 0, what });
        }
        DataLink::Missing => format!("the link {DATA} is missing"),
        DataLink::Folder => format!("{DATA} is a folder, not a link"),
    };
    let record = record?;
    let revision = record.status.revision.unwrap_or(0);
    let is_meant = |pair: &PublishedPair| pair.is_good() && is_recorded(record, pair);
    if let Some(found) = sets.iter().rfind(|set| set.pair.as_ref().is_ok_and(is_meant)) {
        let set = Some(found.name.clone());
        return Some(Repair { set, revision: found.revision, what });
    }
    folder.filter(|pair| is_meant(pair)).map(|_| Repair { set: None, revision, what })
}

pub(super) fn restored(repair: &Repair, now: Timestamp) -> Record {
    let live = repair.set.as_ref().map_or_else(String::new, |set| format!(", live set {set}"));
    let message = format!("{}; restored without an order{live}", repair.what);
    Record::default().warning(now, Reason::LinksRestored, message)
}

/// Whether it is the certificate that the record calls live. For an adopted one the record has the
/// dates only.
fn is_recorded(record: &CertificateRecord, pair: &PublishedPair) -> bool {
    let Some(Ok(leaf)) = &pair.certificate else { return false };
    match &record.issued_fingerprint {
        Some(issued) => *issued == leaf.fingerprint,
        None => {
            record.status.revision.is_none()
                && record.status.not_before == Some(leaf.not_before)
                && record.status.not_after == Some(leaf.not_after)
        }
    }
}
