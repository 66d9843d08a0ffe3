//! TXT values over an API that lists the values at a name: presenting, cleaning up and the check of
//! the credentials are implemented here once for all such services.
//!
//! A service that changes one value with one request, independent of other values, implements
//! [`DnsProvider`] itself.

use tokio::sync::Mutex;

use super::error::shown;
use super::{DnsProvider, ProviderError, ProviderFuture, TxtRecord};
use crate::resource::Pause;

/// The client of a service whose values are read before they are changed.
pub(super) trait TxtSets {
    /// A zone of the account.
    type Zone;
    /// The values at one name as read, with what a conditional change needs (such as an ETag).
    type Set;

    /// How many times a set is read and changed before certctl gives up.
    const TRIES: u32 = 5;
    /// Whether the zone, as the DNS shows it, must be known.
    const NEEDS_ZONE: bool = true;

    /// Finds the zone that holds the name, and reads the set there.
    async fn find(&self, name: &str, zone: &str) -> Result<(Self::Zone, Self::Set), ProviderError>;

    /// Reads the set at the name.
    async fn list(&self, zone: &Self::Zone, name: &str) -> Result<Self::Set, ProviderError>;

    /// The values of a set, without quotes.
    fn values(&self, set: &Self::Set) -> Result<Vec<String>, ProviderError>;

    /// Adds the value to the set, which does not contain it.
    async fn add(
        &self,
        zone: &Self::Zone,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError>;

    /// Removes the value from the set, which contains it.
    async fn remove(
        &self,
        zone: &Self::Zone,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError>;

    /// The report of a check: the credentials can read this.
    async fn read(&self, name: &str, zone: &str) -> Result<String, ProviderError>;

    /// Host, or host and port: for messages.
    fn service(&self) -> String;

    /// Between two tries.
    fn pause(&self) -> Pause {
        Pause::SERVICE
    }

    /// Serializes the changes of one run, for an API without conditional writes.
    fn turn(&self) -> Option<&Mutex<()>> {
        None
    }
}

/// The result of a change.
pub(super) enum Written {
    /// The service made the change.
    Done,
    /// The service made the change, but another writer may have overwritten it: read the set again.
    Unsure,
    /// The set has changed since it was read; with the service's message.
    Lost(String),
}

impl<S: TxtSets> DnsProvider for S {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(settle(self, record, true))
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> ProviderFuture<'a> {
        Box::pin(settle(self, record, false))
    }

    fn needs_zone(&self) -> bool {
        S::NEEDS_ZONE
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> ProviderFuture<'a, String> {
        Box::pin(self.read(name, zone))
    }
}

/// Adds or removes the value; the other values stay.
async fn settle<S: TxtSets>(
    service: &S,
    record: &TxtRecord,
    wanted: bool,
) -> Result<(), ProviderError> {
    let _turn = match service.turn() {
        Some(turn) => Some(turn.lock().await),
        None => None,
    };
    let (zone, mut set) = service.find(&record.name, &record.zone).await?;
    let (mut is_written, mut lost) = (false, String::new());
    for tried in 0..S::TRIES {
        if service.values(&set)?.contains(&record.value) == wanted {
            return Ok(());
        }
        let written = if wanted {
            service.add(&zone, set, record).await
        } else {
            service.remove(&zone, set, record).await
        };
        let marked =
            |error: ProviderError| if is_written { error.after_the_write() } else { error };
        match written.map_err(marked)? {
            Written::Done => return Ok(()),
            Written::Unsure => is_written = true,
            Written::Lost(detail) => lost = detail,
        }
        // The first read after the write need not wait.
        if tried > 0 || !is_written {
            tokio::time::sleep(service.pause().length(tried).unsigned_abs()).await;
        }
        let read = service.list(&zone, &record.name).await;
        set = read.map_err(|error| if is_written { error.after_the_write() } else { error })?;
    }
    if service.values(&set)?.contains(&record.value) == wanted {
        return Ok(());
    }
    let what = if is_written { "does not stay as written" } else { "is changed by others" };
    let detail = if lost.is_empty() { lost } else { format!(": {}", shown(&lost)) };
    Err(ProviderError::Unfinished {
        service: service.service(),
        reason: format!("the TXT set at {} {what}, after {} tries{detail}", record.name, S::TRIES),
    })
}
