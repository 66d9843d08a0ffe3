//! The CA, driven over the wire: by a signing client of the tests' own, and by instant-acme; and
//! its name server, queried by the self-check's resolver and by hand.

mod client;
mod dns01;
mod faults;
mod flow;
mod independent;
mod name_server;
mod orders;
mod renewal_info;
mod requests;
mod tlsalpn01;
mod validation;
mod web;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use jiff::Timestamp;

use super::*;
use client::Client;
use web::Web;

const NOW: &str = "2027-01-15T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// A CA at a fixed time that finds every name at 127.0.0.1, on the web server's port.
fn options(web: &Web) -> CaOptions {
    let resolver = Resolver::everywhere(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    let mut options = CaOptions::new(Arc::new(now), resolver);
    options.http01_port = web.port();
    options
}

/// A CA, the web server of its names, and a client with an account.
async fn stage(change: impl FnOnce(&mut CaOptions)) -> (Ca, Web, Client) {
    let web = Web::start().await;
    let mut options = options(&web);
    change(&mut options);
    let ca = Ca::start(options).await.unwrap();
    let mut client = Client::new(&ca);
    client.register().await;
    (ca, web, client)
}
