//! Promise: with the hook of `examples/`, a running nginx takes up a renewed certificate without a
//! restart and without one visitor who is turned away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::nginx_support::{Site, Visitor};
use crate::pebble_support::free_port;
use crate::support::{CertificateYaml, World, finish, until};

/// What visitors saw, in their order: the leaf, or why there was none.
#[derive(Default)]
struct Seen(Mutex<Vec<Result<CertificateDer<'static>, String>>>);

impl Seen {
    /// Whether the last visitors saw this.
    fn ends_in(&self, leaf: &CertificateDer<'_>, visitors: usize) -> bool {
        let seen = self.0.lock().unwrap();
        let last = seen.iter().rev().take(visitors);
        seen.len() > visitors && last.clone().all(|seen| seen.as_ref() == Ok(leaf))
    }
}

/// One visitor after the other, until it is dropped.
struct Visitors {
    seen: Arc<Seen>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Visitors {
    fn start(visitor: Visitor) -> Self {
        let (seen, over) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let (all, end) = (Arc::clone(&seen), Arc::clone(&over));
        let thread = thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let visit = visitor.visit().map_err(|error| error.to_string());
                all.0.lock().unwrap().push(visit);
            }
        });
        Self { seen, over, thread: Some(thread) }
    }
}

impl Drop for Visitors {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn live_leaf(world: &World) -> CertificateDer<'static> {
    let path = world.path("state/secrets/default/web-tls/tls.crt");
    CertificateDer::from_pem_file(path).unwrap()
}

#[test]
fn a_running_nginx_takes_up_the_renewed_certificate_and_refuses_no_client() {
    let world = World::start();
    world.prepare(&[CertificateYaml::new("web")
        .annotation("certctl/output-dir", &world.path("out").display().to_string())
        .annotation("certctl/reload", "nginx")]);
    let site = Site::prepare(&world.path(""), free_port());
    let path = site.search_path();
    let run = |words: &[&str]| finish(world.command(words).env("PATH", &path).spawn().unwrap());

    // A hook that checks a configuration that is not there yet fails, and that costs no order.
    run(&["issue"]).ends_in(6).says("reload nginx");
    site.configure();
    let mut nginx = site.start();
    until("nginx runs", || nginx.serves());
    run(&["deploy"]).ends_in(0);

    let visitors = Visitors::start(Visitor::of(&site, "web.example.test", &world.ca.root_pem()));
    let old = live_leaf(&world);
    until("visitors see the certificate", || visitors.seen.ends_in(&old, 20));
    run(&["renew", "web"]).ends_in(0);
    let new = live_leaf(&world);
    assert_ne!(old, new);
    until("visitors see the new certificate", || visitors.seen.ends_in(&new, 50));

    assert!(nginx.serves(), "it was not restarted");
    let seen = visitors.seen.0.lock().unwrap();
    let turned_away: Vec<&String> = seen.iter().filter_map(|seen| seen.as_ref().err()).collect();
    assert!(turned_away.is_empty(), "{} of {}: {turned_away:?}", turned_away.len(), seen.len());
    assert!(seen.iter().flatten().all(|leaf| *leaf == old || *leaf == new));
}
