//! Akamai's signature of a request, EG1-HMAC-SHA256, as its documentation "Authenticate with
//! EdgeGrid" describes it. No header is signed.

use aws_lc_rs::{digest, hmac, rand};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::Timestamp;
use zeroize::Zeroizing;

use crate::resource::hex;

/// The credentials that sign.
pub(super) struct EdgeGrid {
    pub(super) client_token: Zeroizing<String>,
    pub(super) client_secret: Zeroizing<String>,
    pub(super) access_token: Zeroizing<String>,
}

impl EdgeGrid {
    /// What an answer must not repeat.
    pub(super) fn secrets(&self) -> [&str; 3] {
        [&self.client_token, &self.client_secret, &self.access_token].map(|secret| secret.as_str())
    }

    /// The value of the `Authorization` header. Only the body of a POST is signed.
    pub(super) fn authorization(
        &self,
        method: &str,
        url: &str,
        body: &[u8],
        now: Timestamp,
        nonce: &str,
    ) -> Zeroizing<String> {
        let time = now.strftime("%Y%m%dT%H:%M:%S+0000").to_string();
        let (client, access) = (self.client_token.as_str(), self.access_token.as_str());
        let unsigned = Zeroizing::new(format!(
            "EG1-HMAC-SHA256 client_token={client};access_token={access};timestamp={time};\
             nonce={nonce};"
        ));
        let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
        let at = rest.find('/').unwrap_or(rest.len());
        let (host, target) = rest.split_at(at);
        let content = if method == "POST" && !body.is_empty() {
            BASE64_STANDARD.encode(digest::digest(&digest::SHA256, body))
        } else {
            String::new()
        };
        let signed = Zeroizing::new(
            [method, scheme, host, target, "", content.as_str(), unsigned.as_str()].join("\t"),
        );
        let key = Zeroizing::new(mac(self.client_secret.as_bytes(), time.as_bytes()));
        let signature = mac(key.as_bytes(), signed.as_bytes());
        Zeroizing::new(format!("{}signature={signature}", unsigned.as_str()))
    }
}

/// A nonce that no other request has.
pub(super) fn nonce() -> String {
    let mut bytes = [0_u8; 16];
    // Without random numbers only the time distinguishes requests, and the service refuses two
    // within one second: an error there is better than a panic here.
    if rand::fill(&mut bytes).is_err() {
        bytes = [0; 16];
    }
    hex(&bytes)
}

fn mac(key: &[u8], message: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    BASE64_STANDARD.encode(hmac::sign(&key, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signatures are those of the test data of Akamai's own signing libraries, made again
    /// with hmac and hashlib of Python.
    #[test]
    fn akamais_test_data_is_signed_as_it_says() {
        let secret = |text: &str| Zeroizing::new(text.to_owned());
        let signer = EdgeGrid {
            client_token: secret("akab-client-token-xxx-xxxxxxxxxxxxxxxx"),
            client_secret: secret(&format!("{}=", "x".repeat(43))),
            access_token: secret("akab-access-token-xxx-xxxxxxxxxxxxxxxx"),
        };
        let cases = [
            ("GET", "/", "", "tL+y4hxyHxgWVD30X3pWnGKHcPzmrIF+LThiAOhMxYU="),
            ("GET", "/testapi/v1/t1?p1=1&p2=2", "", "hKDH1UlnQySSHjvIcZpDMbQHihTQ0XyVAKZaApabdeA="),
            (
                "POST",
                "/testapi/v1/t3",
                "datadatadatadatadatadatadatadata",
                "hXm4iCxtpN22m4cbZb4lVLW5rhX8Ca82vCFqXzSTPe4=",
            ),
            ("PUT", "/testapi/v1/t6", "PUT body", "GNBWEYSEWOLtu+7dD52da2C39aX/Jchpon3K/AmBqBU="),
        ];
        let host = "https://akaa-baseurl-xxxxxxxxxxx-xxxxxxxxxxxxx.luna.akamaiapis.net";
        let now = "2014-03-21T19:34:21Z".parse().unwrap();
        let nonce = "nonce-xx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
        for (method, target, body, signature) in cases {
            let url = format!("{host}{target}");
            let made = signer.authorization(method, &url, body.as_bytes(), now, nonce);
            let expected = format!(
                "EG1-HMAC-SHA256 client_token=akab-client-token-xxx-xxxxxxxxxxxxxxxx;\
                 access_token=akab-access-token-xxx-xxxxxxxxxxxxxxxx;\
                 timestamp=20140321T19:34:21+0000;nonce={nonce};signature={signature}"
            );
            assert_eq!(made.as_str(), expected, "{method} {target}");
        }
        assert_ne!(super::nonce(), super::nonce());
    }
}
