//! Certificates that their CA has revoked by itself, as its CRLs say.
//!
//! They are looked at once a day, for a sample of the certificates older than a day; and by the engine
//! for one that its CA suddenly wants to be renewed now.
//!
//! Contract: a CRL is fetched once, whatever number of certificates names it, a few at a time and
//! within a minute together, under the rules of [`Network`]. One that cannot be had, or is not
//! believed, is a debug log and another try later, never an error. The runs in between ask nothing
//! and write nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures_util::StreamExt as _;
use jiff::{SignedDuration, Timestamp};

use super::open::Workspace;
use super::run::RunError;
use super::settings::Settings;
use crate::controller::revocation::{
    LONGEST_RETENTION, LOOK_AGAIN, LOOK_EVERY, is_fresh, is_sampled,
};
use crate::engine::Task;
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Cache, LiveFiles, Store};
use crate::pki::{Chain, Revocation, RevocationDoubt, RevocationList};
use crate::probe::Network;
use crate::resource::{LeafFacts, NamespacedName, RevokedCertificate};
use crate::store::Looks;

/// A live certificate that names a CRL.
struct Named {
    certificate: NamespacedName,
    leaf: LeafFacts,
    der: Vec<u8>,
    issuer: Vec<u8>,
}

/// What a CRL says of the certificates that name it.
#[derive(Default)]
struct Seen {
    revoked: Vec<(NamespacedName, RevokedCertificate)>,
    /// The CRL was to be fetched, and there is no good one.
    is_missing: bool,
}

impl Workspace {
    /// Those certificates of the tasks that their CA has revoked by itself; the tasks are all there
    /// are, and a sample is looked at when that is due.
    pub async fn find_revoked(
        &self,
        tasks: &[Task],
        now: Timestamp,
    ) -> Vec<(NamespacedName, RevokedCertificate)> {
        let Settings { namespace, selector, options, .. } = &self.settings;
        // A look is due to all of them, or to none.
        let is_part = options.certificates > tasks.len();
        if namespace.is_some() || selector.is_some() || is_part {
            return Vec::new();
        }
        Box::pin(self.look(tasks, now)).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "the CRLs were not checked");
            Vec::new()
        })
    }

    async fn look(
        &self,
        tasks: &[Task],
        now: Timestamp,
    ) -> Result<Vec<(NamespacedName, RevokedCertificate)>, RunError> {
        let looks = self.state.cache().looks()?;
        // A clock that was wrong does not end the looks.
        if looks.is_some_and(|looks| looks.done <= now && now < looks.next) {
            return Ok(Vec::new());
        }
        let chosen = self.chosen(tasks, looks.map(|looks| looks.done), now);
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let mut by_url: BTreeMap<String, Vec<Named>> = BTreeMap::new();
        for task in chosen {
            if let Some((url, named)) = self.named(task).await {
                by_url.entry(url).or_default().push(named);
            }
        }
        let mut seen = Seen::default();
        if !by_url.is_empty() {
            let resolver = self.settings.resolver(BTreeMap::new()).await;
            let issuers = tasks.iter().flat_map(|task| task.issuers.iter());
            let network = Network::new(resolver, self.settings.http01_check_port)
                .with_servers(issuers.map(|issuer| issuer.acme.server.as_str()));
            seen = self.read_lists(&network, by_url, now).await;
        }
        self.note_looks(looks, seen.is_missing, now)?;
        Ok(seen.revoked)
    }

    /// The tasks whose certificate's CRL is looked at.
    fn chosen<'a>(
        &self,
        tasks: &'a [Task],
        last: Option<Timestamp>,
        now: Timestamp,
    ) -> Vec<&'a Task> {
        let mut chosen = Vec::new();
        for task in tasks {
            let Some(record) = self.record(&task.certificate.metadata.key()) else { continue };
            let status = &record.status;
            let (Some(fingerprint), Some(begin), Some(end)) =
                (&record.issued_fingerprint, status.not_before, status.not_after)
            else {
                continue;
            };
            let is_old = begin.duration_until(now) >= LOOK_EVERY;
            let is_known = record.revocation_of(fingerprint).is_some();
            if is_old && now < end && !is_known && is_sampled(fingerprint, tasks.len(), last, now) {
                chosen.push(task);
            }
        }
        chosen
    }

    /// The live certificate of a task, and the first CRL that it names.
    async fn named(&self, task: &Task) -> Option<(String, Named)> {
        let files =
            self.state.live_files().published(&task.certificate.secret_key()).await.ok()??;
        let chain = Chain::from_pem(std::str::from_utf8(files.0.get("tls.crt")?).ok()?).ok()?;
        let url = chain.crl_url()?;
        let [der, issuer, ..] = chain.certificates() else { return None };
        let certificate = task.certificate.metadata.key();
        let (leaf, der, issuer) = (chain.leaf().clone(), der.clone(), issuer.clone());
        Some((url, Named { certificate, leaf, der, issuer }))
    }

    /// What all these CRLs say, within a minute.
    async fn read_lists(
        &self,
        network: &Network,
        by_url: BTreeMap<String, Vec<Named>>,
        now: Timestamp,
    ) -> Seen {
        let (mut all, mut left) = (Seen::default(), by_url.len());
        let end = tokio::time::Instant::now() + PATIENCE;
        let lists = by_url
            .into_iter()
            .map(async |(url, named)| self.read_list(network, &url, &named, now).await);
        let mut lists = std::pin::pin!(futures_util::stream::iter(lists).buffer_unordered(AT_ONCE));
        while let Ok(Some(seen)) = tokio::time::timeout_at(end, lists.next()).await {
            all.revoked.extend(seen.revoked);
            all.is_missing |= seen.is_missing;
            left = left.saturating_sub(1);
        }
        Seen { is_missing: all.is_missing || left > 0, ..all }
    }

    /// What one CRL says: the kept one, or the one that its CA has now.
    async fn read_list(
        &self,
        network: &Network,
        url: &str,
        named: &[Named],
        now: Timestamp,
    ) -> Seen {
        let digest = digest_of(url.as_bytes());
        let cached = self.state.cache().cached_crl(&digest).ok().flatten();
        let cached =
            cached.and_then(|(bytes, at)| Some((at, revoked_by(&bytes, url, named, now).ok()?)));
        let cached = match cached {
            Some((at, (revoked, until))) if is_fresh(at, until, now) => {
                return Seen { revoked, is_missing: false };
            }
            cached => cached.map(|(_, (revoked, _))| revoked),
        };
        let refused = match network.fetch(url, None).await {
            Ok(bytes) => match revoked_by(&bytes, url, named, now) {
                Ok((revoked, _)) => {
                    if let Err(error) = self.state.cache().cache_crl(&digest, &bytes) {
                        tracing::debug!(url, %error, "cannot cache the CRL");
                    }
                    return Seen { revoked, is_missing: false };
                }
                Err(doubt) => doubt.to_string(),
            },
            Err(error) => error.to_string(),
        };
        tracing::debug!(url, error = refused, "there is no verified CRL; another try later");
        // The kept one is outdated here, and not in itself.
        Seen { revoked: cached.unwrap_or_default(), is_missing: true }
    }

    fn note_looks(
        &self,
        before: Option<Looks>,
        is_missing: bool,
        now: Timestamp,
    ) -> Result<(), RunError> {
        let pause = if is_missing { LOOK_AGAIN } else { LOOK_EVERY };
        let next = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
        let ago = |span: SignedDuration| now.saturating_sub(span).unwrap_or(Timestamp::MIN);
        // What was missed stays in the sample.
        let missed = || before.map_or_else(|| ago(LOOK_EVERY), |before| before.done.min(now));
        let done = if is_missing { missed() } else { now };
        Ok(self.state.cache().note_looks(Looks { done, next }, ago(LONGEST_RETENTION))?)
    }
}

/// The certificates that a CRL revokes, and until when it holds, if it is one of an issuer of them.
type Judged = (Vec<(NamespacedName, RevokedCertificate)>, Option<Timestamp>);

fn revoked_by(
    answer: &[u8],
    url: &str,
    named: &[Named],
    now: Timestamp,
) -> Result<Judged, RevocationDoubt> {
    let mut lists: HashMap<&[u8], Result<RevocationList, RevocationDoubt>> = HashMap::new();
    let mut revoked = Vec::new();
    for Named { certificate, leaf, der, issuer, .. } in named {
        let list = lists
            .entry(issuer)
            .or_insert_with(|| RevocationList::read(answer, url, false, issuer, now));
        let Ok(Revocation::Revoked { at, reason }) =
            list.as_ref().map_or(Err(()), |list| list.status(der).map_err(drop))
        else {
            continue;
        };
        revoked.push((certificate.clone(), RevokedCertificate::listed(leaf, reason, at)));
    }
    let (mut until, mut doubt) = (None, None);
    for list in lists.into_values() {
        match list {
            Ok(list) => until = Some(list.next_update),
            Err(error) => doubt = Some(error),
        }
    }
    match (until, doubt) {
        (None, Some(doubt)) => Err(doubt),
        (until, _) => Ok((revoked, until.flatten())),
    }
}

/// So many CRLs are fetched at once.
const AT_ONCE: usize = 4;
/// The time for all of them.
const PATIENCE: Duration = Duration::from_mins(1);
