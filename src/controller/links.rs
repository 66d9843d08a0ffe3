//! Is what servers open what was published? The links of a Secret's folder, and the files of the
//! live set.
//!
//! | `..data` | a complete set with the recorded certificate | step |
//! | --- | --- | --- |
//! | is the link to a set, a stable name is not our link | – | the stable names are linked again |
//! | is missing | there is one | that set is linked again, the last one of several |
//! | is a folder | there is one | likewise, and the folder stays as another set |
//! | is a folder | the folder holds it | the folder becomes the set |
//! | is missing, or is a folder | there is none | as for a damaged set |
//!
//! | files of the live set | key and chain of the recorded certificate | step |
//! | --- | --- | --- |
//! | all as published | – | settled |
//! | some missing or damaged | there are copies | published as the same revision again |
//! | some missing or damaged | there are none | none: the trigger decides |
//!
//! | record, where hosts share the documents | step |
//! | --- | --- |
//! | names another pair than the live one, and that is stored | published, in all formats |
//! | names an older revision than the live one | none: the trigger decides |
//!
//! Formats that are derived from the pair are left out of a repair; `formats` writes them again.
//! No repair needs an order, and nothing is removed.

use jiff::Timestamp;

use super::{Effect, IllegalOutcome, Outcome, Record, SecretContents, Snapshot, Step, formats};
use crate::resource::{
    CertificateRecord, DataLink, PublishedPair, Reason, Remedy, Repair, SecretLinks, StoredPair,
};

/// The name of the one link that moves.
const DATA: &str = "..data";

/// Repairs the links or the files if needed.
pub fn decide(snapshot: &Snapshot, _: Timestamp) -> Step {
    let Some(Repair { remedy, .. }) = &snapshot.repair else { return Step::Settled };
    Step::Act(vec![match remedy.clone() {
        Remedy::Link { set, revision } => Effect::RestoreLinks { set, revision },
        Remedy::Publish { revision } => Effect::RestoreFiles { revision },
        Remedy::Follow { revision, fingerprint } => {
            Effect::Follow { revision, fingerprint, contents: formats::contents(snapshot) }
        }
    }])
}

/// Publishes what this run has issued. All else was repaired before.
pub fn decide_following(snapshot: &Snapshot, now: Timestamp) -> Step {
    match &snapshot.repair {
        Some(Repair { remedy: Remedy::Follow { .. }, .. }) => decide(snapshot, now),
        Some(_) | None => Step::Settled,
    }
}

/// The snapshot as it is then.
pub fn follow(snapshot: &mut Snapshot) {
    snapshot.repair = None;
    let Some(leaf) = snapshot.live_leaf() else { return };
    let SecretContents { annotations, labels, .. } = formats::contents_with(snapshot, leaf);
    let formats = formats::written(snapshot);
    if let Some(pair) = &mut snapshot.secret {
        (pair.annotations, pair.labels, pair.formats) = (annotations, labels, formats);
    }
}

/// The event after a repair; what this run has issued has one.
pub fn absorb(
    snapshot: &Snapshot,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<Record, IllegalOutcome> {
    match &snapshot.repair {
        Some(Repair { remedy: Remedy::Follow { .. }, .. })
            if *outcome == Outcome::Done && snapshot.run.published =>
        {
            Ok(Record::default())
        }
        Some(repair) if *outcome == Outcome::Done => Ok(restored(repair, now)),
        Some(_) | None => Err(IllegalOutcome::new("restoring what servers open", outcome)),
    }
}

/// See the table above. `sets` are by revision and age; `folder` is what `..data` holds when it is
/// a folder itself.
pub fn repair(
    record: Option<&CertificateRecord>,
    links: &SecretLinks,
    sets: &[StoredPair],
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
            return Some(Repair {
                what,
                remedy: Remedy::Link { set: Some(set.clone()), revision: 0 },
            });
        }
        DataLink::Missing => format!("the link {DATA} is missing"),
        DataLink::Folder => format!("{DATA} is a folder, not a link"),
    };
    let record = record?;
    let revision = record.status.revision.unwrap_or(0);
    let is_meant = |pair: &PublishedPair| pair.is_good() && is_recorded(record, pair);
    if let Some(found) = sets.iter().rfind(|set| set.pair.as_ref().is_ok_and(is_meant)) {
        let set = Some(found.name.clone());
        return Some(Repair { what, remedy: Remedy::Link { set, revision: found.revision } });
    }
    let remedy = Remedy::Link { set: None, revision };
    folder.filter(|pair| is_meant(pair)).map(|_| Repair { what, remedy })
}

/// Describes files of a set that are missing or damaged, and what is in the place of its links.
pub fn damage(missing: &[String], damaged: &[String], replaced: &[String]) -> String {
    let say = |names: &[String], verb: [&str; 2]| {
        let verb = if names.len() == 1 { verb[0] } else { verb[1] };
        (!names.is_empty()).then(|| format!("{} {verb}", names.join(", ")))
    };
    let parts = [
        say(missing, ["is missing", "are missing"]),
        say(damaged, ["is damaged", "are damaged"]),
        say(replaced, ["is not certctl's link", "are not certctl's links"]),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

pub(super) fn restored(repair: &Repair, now: Timestamp) -> Record {
    let (reason, live) = match &repair.remedy {
        Remedy::Link { set: Some(set), .. } => (Reason::LinksRestored, format!(", live set {set}")),
        Remedy::Link { set: None, .. } => (Reason::LinksRestored, String::new()),
        Remedy::Publish { .. } | Remedy::Follow { .. } => (Reason::FilesRestored, String::new()),
    };
    let message = format!("{}; restored without an order{live}", repair.what);
    Record::default().warning(now, reason, message)
}

/// Whether it is the certificate that the record calls live. For an adopted one the record has the
/// dates only.
pub fn is_recorded(record: &CertificateRecord, pair: &PublishedPair) -> bool {
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
