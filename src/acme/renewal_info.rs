//! Renewal information (RFC 9773): when the CA wants a certificate to be renewed.

use std::time::Duration;

use http::Method;
use instant_acme as wire;
use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::answer::Answer;
use super::client::Client;
use super::directory::Directory;
use super::error::AcmeError;
use super::field;
use super::transport::Expect;

/// What the CA says about the renewal of one certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewalInfo {
    /// The start of the suggested window.
    pub start: Timestamp,
    /// Its end, which is after the start.
    pub end: Timestamp,
    /// A page that says why the window is there.
    pub explanation_url: Option<String>,
    /// Retry-After as the CA sent it, zero when it is past; neither raised nor capped.
    pub retry_after: Option<Duration>,
}

impl Client {
    /// Asks when to renew the certificate with this identifier (RFC 9773 section 4). Not signed,
    /// never repeated, and beside the requests of orders.
    ///
    /// # Errors
    /// `Unsupported` when the directory has no renewalInfo, `Timeout` when it took longer than
    /// [`Limits::renewal_info_timeout`](super::Limits), `Malformed` when a field is wrong.
    pub async fn renewal_info(&self, certificate_id: &str) -> Result<RenewalInfo, AcmeError> {
        let _place = self.renewal_infos.acquire().await;
        let begun = Instant::now();
        let deadline = begun + self.limits.renewal_info_timeout;
        let patience = begun + self.limits.renewal_info_directory_timeout;
        let late = |url: &str| {
            let limit = self.limits.renewal_info_timeout;
            AcmeError::Timeout { url: url.to_owned(), limit }
        };
        let late_directory = |_| {
            let (url, limit) = (self.directory_url.clone(), patience.min(deadline) - begun);
            AcmeError::Timeout { url, limit }
        };
        let directory = timeout_at(deadline.min(patience), self.directory_once())
            .await
            .map_err(late_directory)??;
        let ask = async |directory: &Directory| {
            let base = directory.renewal_info.as_deref().ok_or_else(|| AcmeError::Unsupported {
                what: "renewal information: the CA's directory has no renewalInfo".to_owned(),
            })?;
            let url = format!("{}/{certificate_id}", base.trim_end_matches('/'));
            let request = self.transport.exchange(Method::GET, &url, None, Expect::RenewalInfo);
            timeout_at(deadline, request).await.map_err(|_| late(&url))??.success()
        };
        let answer = match ask(&directory).await {
            Err(error) if error.is_gone() => {
                let fresh = timeout_at(deadline, self.fresh_directory()).await;
                let fresh = fresh.map_err(late_directory)??;
                if fresh.renewal_info == directory.renewal_info {
                    return Err(error);
                }
                ask(&fresh).await?
            }
            answer => answer?,
        };
        read(&answer)
    }
}

fn read(answer: &Answer) -> Result<RenewalInfo, AcmeError> {
    let value = answer.json()?;
    let malformed = |error: &dyn std::fmt::Display| {
        answer.malformed(format!("the renewal information: {error}"))
    };
    // Only the window: an invalid page must not make it unreadable.
    let window = value.get("suggestedWindow").unwrap_or(&Value::Null);
    let window = wire::SuggestedWindow::deserialize(window).map_err(|error| malformed(&error))?;
    let time = |nanoseconds| Timestamp::from_nanosecond(nanoseconds).map_err(|e| malformed(&e));
    let start = time(window.start.unix_timestamp_nanos())?;
    let end = time(window.end.unix_timestamp_nanos())?;
    if end <= start {
        let why = format!("the renewal window ends at {end}, not after its start at {start}");
        return Err(answer.malformed(why));
    }
    Ok(RenewalInfo {
        start,
        end,
        explanation_url: field::page(&value, "explanationURL"),
        retry_after: answer.sent_retry_after.map(|wait| wait.try_into().unwrap_or_default()),
    })
}
