//! Arguments of `run`.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::cli::value_parser::{ValueError, positive_duration};
use crate::resource::GoDuration;

/// Run `certctl issue` now and at every interval.
///
/// Use it in containers, and on hosts without cron.
/// Each run is a separate process. SIGHUP starts a run. SIGTERM stops the current run cleanly and
/// exits. If the manifests need the HTTP-01 port, certctl keeps it open between runs. /healthz
/// returns 503 if runs cannot work. /metrics returns the output of `status -o prometheus`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Time from the start of one run to the start of the next
    #[arg(long, value_name = "DURATION", default_value = "1h", env = "CERTCTL_EVERY",
          hide_env_values = true, value_parser = positive_duration)]
    pub every: GoDuration,
    /// Serve /healthz and /metrics at this loopback address or Unix socket
    #[arg(long, value_name = "ADDR|PATH", env = "CERTCTL_SERVE", hide_env_values = true)]
    pub serve: Option<Endpoint>,
}

/// Where health and metrics are served: never where another host could connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A loopback address.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for Endpoint {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.contains('/') {
            return Ok(Self::Unix(text.into()));
        }
        let address: SocketAddr = text.parse().map_err(|_| ValueError::Endpoint)?;
        if address.ip().to_canonical().is_loopback() {
            Ok(Self::Tcp(address))
        } else {
            Err(ValueError::NotLoopback)
        }
    }
}

/// Prints the endpoint as it was given.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_and_metrics_are_for_this_host_alone() {
        for (text, expected) in [
            ("127.0.0.1:9402", Ok(Endpoint::Tcp(([127, 0, 0, 1], 9402).into()))),
            ("[::1]:0", Ok(Endpoint::Tcp("[::1]:0".parse().unwrap()))),
            ("/run/certctl/http", Ok(Endpoint::Unix("/run/certctl/http".into()))),
            ("./socket", Ok(Endpoint::Unix("./socket".into()))),
            ("0.0.0.0:9402", Err(ValueError::NotLoopback)),
            ("[::]:9402", Err(ValueError::NotLoopback)),
            ("192.0.2.1:9402", Err(ValueError::NotLoopback)),
            ("[::ffff:192.0.2.1]:9402", Err(ValueError::NotLoopback)),
            (":9402", Err(ValueError::Endpoint)),
            ("9402", Err(ValueError::Endpoint)),
            ("localhost:9402", Err(ValueError::Endpoint)),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
    }
}
