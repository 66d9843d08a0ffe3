//! Amazon's signature of a request, version 4, in the `Authorization` header, as its documentation
//! "Create a signed AWS API request" describes it.

use aws_lc_rs::{digest, hmac};
use http::Method;
use http::header::{AUTHORIZATION, HeaderName};
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::Keys;
use crate::resource::hex;
use crate::solver::dns01::{Call, ProviderError};

/// What a signature is for.
pub(in super::super) struct Signer<'a> {
    pub(in super::super) keys: &'a Keys,
    /// The service, as in its host's name.
    pub(in super::super) service: &'a str,
    pub(in super::super) region: &'a str,
    /// The time; the service accepts it for a few minutes.
    pub(in super::super) now: Timestamp,
}

impl Signer<'_> {
    /// A signed request. The URL's path is sent as it is, and its query must be encoded and in
    /// order already.
    pub(in super::super) fn call(
        &self,
        method: &Method,
        url: &str,
        body: Option<(&'static str, &[u8])>,
    ) -> Result<Call, ProviderError> {
        let time = self.now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let host = host_of(url).to_owned();
        let mut headers = vec![("host", host.as_str()), ("x-amz-date", time.as_str())];
        if let Some(token) = &self.keys.token {
            headers.push(("x-amz-security-token", token));
        }
        let bytes = body.map_or(&[][..], |(_, bytes)| bytes);
        let authorization = self.authorization(method.as_str(), url, &headers, bytes);
        let mut call = Call::new(method.clone(), url).header(AUTHORIZATION, &authorization)?;
        call = call.header(HeaderName::from_static("x-amz-date"), &time)?;
        call = call.hiding(self.keys.secrets());
        if let Some(token) = &self.keys.token {
            call = call.header(HeaderName::from_static("x-amz-security-token"), token)?;
        }
        Ok(match body {
            Some((media_type, bytes)) => call.body(media_type, bytes.to_vec()),
            None => call,
        })
    }

    /// `headers`: names in lower case, in order; `x-amz-date` is among them.
    fn authorization(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> String {
        let time = headers.iter().find(|(name, _)| *name == "x-amz-date");
        let time = time.map_or("", |(_, time)| *time);
        let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let request = canonical(method, url, headers, &names, body);
        let (day, _) = time.split_once('T').unwrap_or((time, ""));
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let to_sign = format!("{ALGORITHM}\n{time}\n{scope}\n{}", sha256(request.as_bytes()));
        let mut key = Zeroizing::new(format!("AWS4{}", self.keys.secret.as_str()).into_bytes());
        for part in [day, self.region, self.service, "aws4_request"] {
            key = Zeroizing::new(mac(&key, part).as_ref().to_vec());
        }
        let signature = hex(mac(&key, &to_sign).as_ref());
        format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.keys.id.as_str()
        )
    }
}

/// The canonical request. It holds the session token when there is one.
fn canonical(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    names: &str,
    body: &[u8],
) -> Zeroizing<String> {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let target = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = headers.iter().map(|(name, value)| [name, ":", value.trim(), "\n"].concat());
    let headers = Zeroizing::new(headers.collect::<String>());
    let body = sha256(body);
    Zeroizing::new(format!("{method}\n{path}\n{query}\n{}\n{names}\n{body}", headers.as_str()))
}

/// As the `Host` header has it.
fn host_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    rest.split(['/', '?']).next().unwrap_or_default()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn mac(key: &[u8], message: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message.as_bytes())
}

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, method, target, headers, body, digest and signature.
    type Case<'a> = (&'a str, &'a str, &'a str, Vec<(&'a str, &'a str)>, &'a str, [&'a str; 2]);

    /// Cases of Amazon's test suite of the signature by their names there: the digest of the
    /// canonical request, and the signature; both made again with hmac and hashlib of Python.
    #[test]
    fn amazons_test_suite_is_signed_as_it_says() {
        let form = ("content-type", "application/x-www-form-urlencoded");
        let time = ("x-amz-date", "20150830T123600Z");
        let host = ("host", "example.amazonaws.com");
        let token = ("x-amz-security-token", TOKEN);
        let cases: [Case<'_>; 5] = [
            (
                "get-vanilla",
                "GET",
                "/",
                vec![host, time],
                "",
                [
                    "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63",
                    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
                ],
            ),
            (
                "get-vanilla-query-order-key-case",
                "GET",
                "/?Param1=value1&Param2=value2",
                vec![host, time],
                "",
                [
                    "816cd5b414d056048ba4f7c5386d6e0533120fb1fcfa93762cf0fc39e2cf19e0",
                    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
                ],
            ),
            (
                "post-vanilla",
                "POST",
                "/",
                vec![host, time],
                "",
                [
                    "553f88c9e4d10fc9e109e2aeb65f030801b70c2f6468faca261d401ae622fc87",
                    "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
                ],
            ),
            (
                "post-x-www-form-urlencoded",
                "POST",
                "/",
                vec![form, host, time],
                "Param1=value1",
                [
                    "42a5e5bb34198acb3e84da4f085bb7927f2bc277ca766e6d19c73c2154021281",
                    "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
                ],
            ),
            (
                "post-sts-header-before",
                "POST",
                "/",
                vec![host, time, token],
                "",
                [
                    "c237e1b440d4c63c32ca95b5b99481081cb7b13c7e40434868e71567c1a882f6",
                    "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
                ],
            ),
        ];
        let secret = Zeroizing::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned());
        let keys = Keys { id: Zeroizing::new("AKIDEXAMPLE".to_owned()), secret, token: None };
        let now = "2015-08-30T12:36:00Z".parse().unwrap();
        let signer = Signer { keys: &keys, service: "service", region: "us-east-1", now };
        for (case, method, target, headers, body, [request, signature]) in cases {
            let url = format!("https://example.amazonaws.com{target}");
            let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
            let names = names.join(";");
            let canonical = canonical(method, &url, &headers, &names, body.as_bytes());
            assert_eq!(sha256(canonical.as_bytes()), request, "{case}");
            let expected = format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                 SignedHeaders={names}, Signature={signature}"
            );
            let made = signer.authorization(method, &url, &headers, body.as_bytes());
            assert_eq!(made, expected, "{case}");
        }
    }

    const TOKEN: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKW\
        HGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phU\
        ZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0\
        iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
}
