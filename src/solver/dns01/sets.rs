//! TXT values over an API that lists what stands at a name: presenting, cleaning up and the check of
//! the credentials are written here, once, for all services of that sort.
//!
//! A service that changes one value with one request, whatever else stands there, implements
//! [`DnsProvider`] itself.

use std::time::Duration;

use tokio::sync::Mutex;

use super::error::shown;
use super::{Deed, DnsProvider, ProviderError, TxtRecord};

/// The client of a service whose values are read before they are changed.
pub(super) trait TxtSets {
    /// A zone of the account.
    type Zone;
    /// What stands at one name, as it was read, with what a change of it needs.
    type Set;

    /// How often a set is read and changed before that is given up.
    const TRIES: usize = 5;
    /// Whether the zone, as the DNS shows it, must be known.
    const NEEDS_ZONE: bool = true;

    /// Finds the zone that holds the name, and reads the set there.
    async fn find(&self, name: &str, zone: &str) -> Result<(Self::Zone, Self::Set), ProviderError>;

    /// Reads the set at the name.
    async fn list(&self, zone: &Self::Zone, name: &str) -> Result<Self::Set, ProviderError>;

    /// The values of a set, without quotes.
    fn values(&self, set: &Self::Set) -> Result<Vec<String>, ProviderError>;

    /// Writes the value beside those of the set, which has it not.
    async fn add(
        &self,
        zone: &Self::Zone,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError>;

    /// Takes the value out of the set, which has it.
    async fn remove(
        &self,
        zone: &Self::Zone,
        set: Self::Set,
        record: &TxtRecord,
    ) -> Result<Written, ProviderError>;

    /// Says that the credentials can read this.
    async fn read(&self, name: &str, zone: &str) -> Result<String, ProviderError>;

    /// Host, or host and port: for messages.
    fn service(&self) -> String;

    /// Between two tries.
    fn pause(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Makes the changes of one run take turns, for an API without a condition for its writes.
    fn turn(&self) -> Option<&Mutex<()>> {
        None
    }
}

/// How a change went.
pub(super) enum Written {
    /// It is made.
    Done,
    /// It is made, and may be lost to another writer: the set is to be read again.
    Unsure,
    /// The set is no longer the one that was read; with what the service says.
    Lost(String),
}

impl<S: TxtSets> DnsProvider for S {
    fn present<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(settle(self, record, true))
    }

    fn clean_up<'a>(&'a self, record: &'a TxtRecord) -> Deed<'a> {
        Box::pin(settle(self, record, false))
    }

    fn needs_zone(&self) -> bool {
        S::NEEDS_ZONE
    }

    fn check<'a>(&'a self, name: &'a str, zone: &'a str) -> Deed<'a, String> {
        Box::pin(self.read(name, zone))
    }
}

/// Makes the value stand at the name, or not stand there, and the others stay.
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
    for tried in 1..=S::TRIES {
        if service.values(&set)?.contains(&record.value) == wanted {
            return Ok(());
        }
        let written = if wanted {
            service.add(&zone, set, record).await
        } else {
            service.remove(&zone, set, record).await
        };
        let after = |error: ProviderError| if is_written { error.after_the_write() } else { error };
        match written.map_err(after)? {
            Written::Done => return Ok(()),
            Written::Unsure => is_written = true,
            Written::Lost(said) => lost = said,
        }
        // The first look at what was written need not wait.
        if tried > 1 || !is_written {
            tokio::time::sleep(service.pause()).await;
        }
        let read = service.list(&zone, &record.name).await;
        set = read.map_err(|error| if is_written { error.after_the_write() } else { error })?;
    }
    if service.values(&set)?.contains(&record.value) == wanted {
        return Ok(());
    }
    let what = if is_written { "does not stay as written" } else { "is changed by others" };
    let said = if lost.is_empty() { lost } else { format!(": {}", shown(&lost)) };
    Err(ProviderError::Unfinished {
        service: service.service(),
        reason: format!("the TXT set at {} {what}, after {} tries{said}", record.name, S::TRIES),
    })
}
