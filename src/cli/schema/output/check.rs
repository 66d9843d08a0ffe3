//! What `check` prints.

use serde_json::{Value, json};

use super::{boolean, document, integer, list, list_of, map_of, object, or_null, text, word};

pub(super) fn kinds() -> impl Iterator<Item = (&'static str, Value)> {
    [
        list("AcmeCheck", "`check acme`: what the CA of each issuer says of itself.", acme()),
        document("DnsCheck", "`check dns`.", &dns()),
        document("HttpCheck", "`check http`.", &http()),
    ]
    .into_iter()
}

fn acme() -> Value {
    let issuer = object(&[
        ("kind", word(&["Issuer", "ClusterIssuer"])),
        ("namespace", text()),
        ("name", text()),
        ("server", text()),
    ]);
    let url = || or_null(text());
    let directory = object(&[
        ("newNonce", text()),
        ("newAccount", text()),
        ("newOrder", text()),
        ("revokeCert", url()),
        ("keyChange", url()),
        ("renewalInfo", url()),
        ("termsOfService", url()),
        ("website", url()),
        ("caaIdentities", list_of(text())),
        ("externalAccountRequired", boolean()),
        ("profiles", or_null(map_of(text()))),
    ]);
    let binding = json!({ "anyOf": [
        object(&[("bytes", integer())]),
        object(&[("trouble", text())]),
        { "type": "null" },
    ] });
    object(&[
        ("issuer", issuer),
        ("directory", or_null(directory)),
        ("trouble", or_null(text())),
        ("tls", text()),
        ("clockSkewSeconds", or_null(integer())),
        ("externalAccountBinding", binding),
        ("profile", or_null(text())),
        ("account", or_null(text())),
    ])
}

fn aliases() -> Value {
    object(&[("chain?", list_of(text())), ("isWildcard?", boolean())])
}

/// What a name server answered.
fn name_server() -> Value {
    let records = object(&[
        ("hasValue", boolean()),
        ("otherCount", integer()),
        ("others", list_of(text())),
        ("ttl?", integer()),
        ("isAuthoritative", boolean()),
    ]);
    let said = json!({ "anyOf": [
        word(&["nxDomain", "lame"]),
        object(&[("records", records)]),
        object(&[("code", object(&[("code", text())]))]),
        object(&[("silent", object(&[("why", text())]))]),
        object(&[("noRoute", object(&[("why", text())]))]),
        object(&[("noAddress", object(&[("why", text())]))]),
        object(&[("lookupFailed", object(&[("why", text())]))]),
    ] });
    let answer = object(&[("address?", text()), ("said", said)]);
    object(&[("server", text()), ("answers?", list_of(answer))])
}

fn dns() -> Vec<(&'static str, Value)> {
    let record = object(&[("isCritical", boolean()), ("tag", text()), ("value", text())]);
    let caa = json!({ "anyOf": [
        object(&[("name?", text()), ("records?", list_of(record))]),
        object(&[("trouble", text())]),
    ] });
    let provider = object(&[("name", text()), ("readable", boolean()), ("said", text())]);
    let issuer = object(&[
        ("issuer", text()),
        ("wildcard", boolean()),
        ("allowed?", boolean()),
        ("caa", text()),
        ("provider?", provider),
    ]);
    vec![
        ("domain", text()),
        ("name", text()),
        ("aliases", aliases()),
        ("zone", or_null(text())),
        ("servers", list_of(name_server())),
        ("warnings", list_of(text())),
        ("trouble", or_null(text())),
        ("caa", caa),
        ("issuers", list_of(issuer)),
    ]
}

/// A self-check of an HTTP-01 challenge.
fn http01_report() -> Value {
    let wrong = object(&[("status", integer()), ("firstBytes", text()), ("remote", text())]);
    let why = object(&[("why", text())]);
    let outcome = json!({ "anyOf": [
        word(&["correct"]),
        object(&[("wrong", wrong)]),
        object(&[("broken", why.clone())]),
        object(&[("unreachable", why)]),
    ] });
    let address = object(&[
        ("address", text()),
        ("outcome", outcome),
        ("redirects?", list_of(text())),
        ("warnings?", list_of(text())),
    ]);
    let identifier = json!({ "anyOf": [object(&[("dns", text())]), object(&[("ip", text())])] });
    object(&[
        ("identifier", identifier),
        ("url", text()),
        ("addresses", list_of(address)),
        ("dns?", text()),
        ("verdict", verdict()),
    ])
}

fn verdict() -> Value {
    json!({ "anyOf": [
        word(&["passed"]),
        object(&[("failed", object(&[("reason", text())]))]),
    ] })
}

fn http() -> Vec<(&'static str, Value)> {
    let listener = object(&[("addresses", or_null(list_of(text()))), ("trouble", or_null(text()))]);
    vec![
        ("name", text()),
        ("addresses", or_null(list_of(text()))),
        ("trouble", or_null(text())),
        ("listener", listener),
        ("webroot", or_null(object(&[("path", text()), ("trouble", or_null(text()))]))),
        ("served", boolean()),
        ("passed", boolean()),
        ("report", http01_report()),
    ]
}
