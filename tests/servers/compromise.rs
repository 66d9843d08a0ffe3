//! Promise: when a private key has leaked, one command, which stands in certctl-revoke(1), puts
//! another in its place, on the web server too, takes the old certificate back at the CA, and
//! never lets the key return.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use certctl::pki::Chain;
use certctl::resource::LeafFacts;
use rustls::pki_types::CertificateDer;

use crate::nginx_support::{Site, Visitor};
use crate::pebble_support::{Ca, Issuer, Options, Run, Work, free_port, installed};

/// What the manual tells a tired reader to type, with the name of the certificate in it.
fn command_of_the_manual(name: &str) -> Vec<String> {
    let page = include_str!("../../man/certctl-revoke.1").replace("\\-", "-");
    let line = page.lines().map(str::trim).find(|line| {
        line.starts_with("certctl revoke ") && line.ends_with(" --reason keyCompromise")
    });
    let line = line.unwrap_or_else(|| panic!("no such line in {page}"));
    // He confirms it on a terminal.
    let words = line.split(' ').skip(1).chain(["--yes"]);
    words.map(|word| if word == "NAME" { name } else { word }.to_owned()).collect()
}

fn ends_in_0(run: Run) -> Run {
    assert_eq!(run.code, Some(0), "{}\n{}", run.stdout, run.stderr);
    run
}

/// The live pair: the leaf, and the text of the key.
fn live(work: &Work<'_>) -> (LeafFacts, String) {
    let chain = Chain::from_pem(&work.secret("web", "tls.crt").unwrap()).unwrap();
    (chain.leaf().clone(), work.secret("web", "tls.key").unwrap())
}

/// Waits until visitors of the web server see the certificate in `out`.
fn served(visitor: &Visitor, out: &Path) {
    use rustls::pki_types::pem::PemObject as _;
    let wanted = CertificateDer::from_pem_file(out.join("tls.crt")).unwrap();
    for _ in 0..6000 {
        if visitor.visit().is_ok_and(|seen| seen == wanted) {
            return;
        }
        thread::park_timeout(Duration::from_millis(10));
    }
    panic!("never served: {:?}", visitor.visit());
}

#[test]
fn one_command_of_the_manual_is_all_that_a_leaked_key_needs() {
    installed();
    let ca = Ca::start(&Options::default());
    let work = Work::new(&ca, env!("CARGO_BIN_EXE_certctl"));
    let out = work.path("out");
    // The worst case: a policy that keeps keys.
    work.write(
        "web.yaml",
        &format!(
            "{}---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata:\n  name: web\n  \
             annotations:\n    certctl/output-dir: {}\n    certctl/reload: nginx\nspec:\n  \
             secretName: web-tls\n  dnsNames: [www.test]\n  issuerRef: {{ name: pebble }}\n  \
             privateKey: {{ algorithm: ECDSA, rotationPolicy: Never }}\n",
            work.issuer(&Issuer::default()),
            out.display(),
        ),
    );
    let site = Site::prepare(&work.path(""), free_port());
    site.configure();
    let run = |words: &[&str]| work.run_on_path(&site.search_path(), words);
    ends_in_0(run(&["issue", "./web.yaml"]));
    let mut nginx = site.start();
    let visitor = Visitor::of(&site, "www.test", &ca.root(0));
    served(&visitor, &out);
    let (old, old_key) = live(&work);
    let old_chain = work.secret("web", "tls.crt").unwrap();

    let command = command_of_the_manual("web");
    ends_in_0(run(&command.iter().map(String::as_str).collect::<Vec<_>>()));

    let (new, _) = live(&work);
    assert_ne!(new.public_key, old.public_key);
    served(&visitor, &out);
    assert!(nginx.serves(), "it was not restarted");
    let at_the_ca = |leaf: &LeafFacts| ca.status_of(&leaf.serial);
    assert_eq!((at_the_ca(&old), at_the_ca(&new)), ("Revoked".into(), "Valid".into()));
    let status = ends_in_0(run(&["describe", "web"])).stdout;
    let told = format!("serial {}, keyCompromise: revoked at ", old.serial);
    assert!(status.contains(&told), "{status}");

    // Nothing is left to do, and a renewal keeps the new key, as the policy wants.
    let idle = ends_in_0(run(&["issue"]));
    assert_eq!((idle.stdout, idle.stderr), (String::new(), String::new()));
    ends_in_0(run(&["renew", "web"]));
    assert_eq!(live(&work).0.public_key, new.public_key);

    // Put back by hand or by a restored backup, the leaked key does not stay.
    let folder = fs::canonicalize(work.path("state/secrets/default/web-tls/..data")).unwrap();
    fs::copy(write_aside(&work, "tls.crt", &old_chain), folder.join("tls.crt")).unwrap();
    fs::copy(write_aside(&work, "tls.key", &old_key), folder.join("tls.key")).unwrap();
    assert_eq!(live(&work).0.public_key, old.public_key);
    ends_in_0(run(&["issue"]));
    assert_ne!(live(&work).0.public_key, old.public_key);
    served(&visitor, &out);
    assert_ne!(fs::read_to_string(out.join("tls.key")).unwrap(), old_key);
}

fn write_aside(work: &Work<'_>, name: &str, text: &str) -> std::path::PathBuf {
    work.write(name, text);
    work.path(name)
}
