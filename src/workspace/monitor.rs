//! A request to a monitor of runs.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use thiserror::Error;

use super::run::USER_AGENT;
use crate::acme::{self, AcmeError};
use crate::resource::{Reach, causes};

/// Why a monitor was not reached. The URL is a secret of the monitor's: the host alone is named.
#[derive(Debug, Error)]
pub enum MonitorError {
    #[error(transparent)]
    Tls(#[from] AcmeError),
    #[error("{}", causes(.0))]
    Client(reqwest::Error),
    #[error("{host}: {}", causes(.source))]
    Transport { host: String, source: reqwest::Error },
    #[error("{host} answered {status}")]
    Status { host: String, status: StatusCode },
}

/// Gets `url`, within `timeout`.
pub async fn call_monitor(url: Url, timeout: Duration) -> Result<(), MonitorError> {
    let host = url.host_str().unwrap_or_default().to_owned();
    let builder = Client::builder().user_agent(USER_AGENT).timeout(timeout);
    // The URL is a secret: it goes to the host that it names, and as no Referer to another one.
    let mut builder = builder.redirect(Policy::none()).referer(false);
    if Reach::is_direct(&host) {
        builder = builder.no_proxy();
    }
    // reqwest has no default TLS here: without this it would refuse to build.
    builder = builder.tls_backend_preconfigured(acme::system_tls()?);
    let client = builder.build().map_err(MonitorError::Client)?;
    let answer = client.get(url).send().await.map_err(|error| MonitorError::Transport {
        host: host.clone(),
        source: error.without_url(),
    })?;
    let status = answer.status();
    if status.is_success() { Ok(()) } else { Err(MonitorError::Status { host, status }) }
}
