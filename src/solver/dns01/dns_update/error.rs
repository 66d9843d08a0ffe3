//! The crate's errors are texts; certctl classifies them and redacts credentials in them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dns_update::Error;
use zeroize::Zeroizing;

use super::fields::Values;
use crate::solver::dns01::ProviderError;
use crate::solver::dns01::error::shown;
use crate::solver::dns01::percent::percent;
use crate::solver::dns01::redact::without;

/// The credentials of a provider in the forms in which a service may repeat them.
pub(super) struct Hidden(Vec<Zeroizing<String>>);

impl Hidden {
    pub(super) fn new(values: &Values) -> Self {
        let mut forms = Vec::new();
        for secret in &values.secrets {
            let form = percent(secret).replace("%20", "+").replace('~', "%7E").replace("%2A", "*");
            forms.push(Zeroizing::new(form));
            // Basic authentication (RFC 7617 section 2).
            for other in values.all.iter().filter(|other| !other.is_empty()) {
                for pair in [[other, secret], [secret, other]] {
                    let [user, password] = pair.map(|text| text.as_str());
                    let plain = Zeroizing::new(format!("{user}:{password}"));
                    forms.push(Zeroizing::new(STANDARD.encode(plain.as_bytes())));
                }
            }
            forms.push(secret.clone());
        }
        // The longest first, so that a form that contains another is redacted whole.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        Self(forms)
    }

    /// The text without them. The crate cuts a service's message at 512 bytes, so the beginning of
    /// a credential may stand at its end.
    fn blot(&self, text: &str) -> String {
        let forms: Vec<&str> = self.0.iter().map(|form| form.as_str()).collect();
        let mut text = without(text, &forms);
        let end = text.trim_end_matches(')').len();
        let half = forms.iter().filter_map(|form| half_at(text.get(..end)?, form)).max();
        if let Some(half) = half {
            text.truncate(end.saturating_sub(half));
            text.push_str("[redacted]");
        }
        text
    }

    /// Converts an error of a request to the provider.
    pub(super) fn at_work(&self, provider: &'static str, error: &Error) -> ProviderError {
        let (service, text) = (provider.to_owned(), |text: &str| shown(&self.blot(text)));
        match error {
            Error::Unauthorized => {
                ProviderError::Unauthorized { service, reason: "it answered 401".to_owned() }
            }
            Error::NotFound => ProviderError::Refused {
                service,
                status: "404".to_owned(),
                reason: "not found; is the zone in this account?".to_owned(),
            },
            Error::BadRequest => {
                ProviderError::Refused { service, status: "400".to_owned(), reason: shown("") }
            }
            Error::Api(message) => self.of_text(service, message),
            Error::Protocol(message)
            | Error::Parse(message)
            | Error::Response(message)
            | Error::Serialize(message) => {
                ProviderError::Garbled { service, reason: text(message) }
            }
            Error::Client(_) | Error::Unsupported(_) | Error::InvalidRegion => {
                self.at_start(provider, error)
            }
            other => ProviderError::Garbled { service, reason: text(&format!("{other:?}")) },
        }
    }

    /// Converts an error of creating the client from the settings.
    pub(super) fn at_start(&self, provider: &'static str, error: &Error) -> ProviderError {
        let message = match error {
            Error::Protocol(message)
            | Error::Parse(message)
            | Error::Client(message)
            | Error::Response(message)
            | Error::Api(message)
            | Error::Serialize(message)
            | Error::Unsupported(message) => message.clone(),
            Error::InvalidRegion => "region: there is no such region".to_owned(),
            other @ (Error::Unauthorized | Error::NotFound | Error::BadRequest | _) => {
                format!("{other:?}")
            }
        };
        let reason = shown(&self.blot(&message));
        ProviderError::Settings { provider, reason }
    }

    fn of_text(&self, service: String, message: &str) -> ProviderError {
        let blotted = shown(&self.blot(message));
        if message.starts_with("Failed to send request")
            || message.starts_with("Failed to read response")
        {
            return ProviderError::Unreachable { service, reason: blotted };
        }
        let (status, reason) = match message.strip_prefix("HTTP ") {
            Some(rest) => {
                let (status, body) = rest.split_once(':').unwrap_or((rest, ""));
                (status.trim(), shown(&self.blot(body)))
            }
            None if message.starts_with("BadRequest") => ("400", blotted),
            None => ("an error", blotted),
        };
        match status {
            "403" => ProviderError::Unauthorized { service, reason },
            "429" => ProviderError::RateLimited { service, retry_after: None },
            "502" | "503" | "504" => {
                ProviderError::Unreachable { service, reason: format!("{status}: {reason}") }
            }
            _ => ProviderError::Refused { service, status: status.to_owned(), reason },
        }
    }
}

/// How much of the beginning of `form` stands at the end of `text`, from four bytes on.
fn half_at(text: &str, form: &str) -> Option<usize> {
    (4..form.len())
        .rev()
        .find(|length| form.get(..*length).is_some_and(|half| text.ends_with(half)))
}
