//! The verbs that only look.

use crate::session::Session;
use crate::support::CertificateYaml;

#[test]
fn the_status_in_every_form() {
    let mut scene = Session::issued("status");
    for line in [
        "certctl status",
        "certctl status -o wide | tr -s ' '",
        "certctl status -o name",
        "certctl status -o json",
        "certctl status -o yaml",
        "certctl status -o prometheus",
        "certctl status web -o wide",
        "certctl status issuer",
        "certctl status issuer -o yaml",
        "certctl status request",
        "certctl status order",
        "certctl status order -o json",
        "certctl status challenge",
        "certctl status challenge -o wide",
        "certctl status wbe",
        "certctl status order web-9-9",
        "certctl status -n other",
        "certctl status -l app=none",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn a_status_of_nothing() {
    let mut scene = Session::new("status-nothing");
    scene.run("certctl status");
    scene.run("certctl status --exit-code");
    scene.run("certctl status -o json");
    scene.run("certctl status -o yaml");
    scene.run("certctl status issuer");
    scene.run("certctl status order");
    scene.configured(&[
        ("api", &CertificateYaml::new("api").for_names(&["api.example.test", "b.example.test"])),
        (
            "web",
            &CertificateYaml::new("web")
                .to_string()
                .replace("name: web\n", "name: web\n  namespace: prod\n"),
        ),
    ]);
    scene.note("Manifests, and nothing issued.").run("certctl status");
    scene.run("certctl status api");
    scene.end();
}

#[test]
fn a_certificate_is_inspected() {
    let mut scene = Session::issued("inspect");
    scene.run("certctl inspect web");
    scene.run("certctl inspect web -o json");
    scene.run("certctl inspect state/secrets/default/web-tls/tls.crt");
    scene.run("certctl inspect ./state/secrets/default/web-tls/tls.crt --offline | head -n 12");
    scene.run("certctl inspect - --offline <state/secrets/default/web-tls/tls.crt | tail -n 14");
    scene.run("certctl inspect secret web-tls | tail -n 14");
    scene.world.write("root.pem", &scene.world.ca.root_pem());
    scene.on_terminal(
        "certctl inspect ./state/secrets/default/web-tls/tls.crt --offline \
         --ca-bundle root.pem",
    );
    scene.run("certctl inspect wbe");
    scene.run("certctl inspect ./missing.pem");
    scene.run("certctl inspect config/web.yaml");
    scene.run("certctl inspect -");
    scene.end();
}

#[test]
fn manifests_are_validated() {
    let mut scene = Session::new("validate");
    scene.note("No manifest is there.").run("certctl validate");
    scene.configured(&[("web", &CertificateYaml::new("web"))]);
    scene.run("certctl validate");
    scene.run("certctl validate -o json");
    scene.run("certctl validate config/web.yaml");
    scene.run("certctl validate - <config/web.yaml");
    scene.run("certctl validate missing.yaml");
    scene.world.write(
        "config/web.yaml",
        &CertificateYaml::new("web").issued_by("cq").field("renewbefore: 1h").to_string(),
    );
    scene.run("cat -n config/web.yaml");
    for line in [
        "certctl validate",
        "certctl validate -o json",
        "certctl validate --log-format json",
        "certctl validate --log-format github",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn the_network_is_checked() {
    let mut scene = Session::issued("check");
    scene.world.dns.add_zone("example.test");
    for line in [
        "certctl check acme",
        "certctl check acme -o json",
        "certctl check acme other",
        "certctl check http web.example.test --http01-check-port $PORT",
        "certctl check http web.example.test --http01-check-port $PORT -o json",
        "certctl check http nowhere.invalid",
        "certctl check tls-alpn web.example.test --tlsalpn01-listen 127.0.0.1:$PORT \
         --tlsalpn01-check-port $PORT",
        "certctl check dns web.example.test",
        "certctl check dns web.example.test -o json",
        "certctl check dns web.example.test -o name",
        "certctl check dns nowhere.invalid",
    ] {
        scene.run(line);
    }
    scene.note("A name that is validated over HTTP needs no zone.");
    let nowhere = CertificateYaml::new("nowhere").for_names(&["nowhere.invalid"]);
    scene.world.write("config/nowhere.yaml", &nowhere);
    scene.run("certctl check dns nowhere.invalid");
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    scene.world.write("busy", &holder.local_addr().unwrap());
    scene.note("Somebody else has the port.");
    scene.run(
        "certctl check http www.example.test --http01-check-port $PORT --http01-listen $(cat busy)",
    );
    scene.run(
        "certctl check tls-alpn www.example.test --tlsalpn01-check-port $PORT \
         --tlsalpn01-listen $(cat busy)",
    );
    scene.end();
}

#[test]
fn a_failure_that_has_not_happened_is_reported() {
    let mut scene = Session::new("check-alerts");
    scene.note("No way is set up.").run("certctl check alerts");
    scene.world.write_program("config/hooks.d/on-failure", "echo 'mail: no such host' >&2; exit 1");
    scene.note("A hook that fails.");
    for line in ["certctl check alerts", "certctl check alerts -o json"] {
        scene.run(line);
    }
    scene.world.write_program("config/hooks.d/on-failure", "cat");
    scene.world.write("config/config.toml", "metrics-file = \"certctl.prom\"\n");
    scene.note("One that does not, and a file for Prometheus.").with_columns(80);
    scene.on_terminal("certctl check alerts");
    scene.end();
}

#[test]
fn there_is_nothing_to_check() {
    let mut scene = Session::new("check-nothing");
    scene.run("certctl check acme");
    scene.end();
}

#[test]
fn fields_are_explained() {
    let mut scene = Session::new("explain");
    scene.run("certctl explain");
    scene.run("certctl explain certificate.spec.privateKey --recursive");
    for field in [
        "certificate",
        "certificate.spec.renewBefore",
        "Issuer.spec.acme",
        "certctl/reload",
        "certificat",
    ] {
        scene.run(&format!("certctl explain {field}"));
    }
    scene.end();
}

#[cfg(feature = "more-dns-providers")]
#[test]
fn a_further_dns_provider_is_explained_and_has_an_issuer() {
    let mut scene = Session::new("provider");
    for line in [
        "certctl explain issuer.spec.acme.solvers.dns01.webhook",
        "certctl explain transip",
        "certctl create issuer letsencrypt --dns01 transip --print",
        "certctl create issuer letsencrypt --dns01 transit --print",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn schemas_are_printed() {
    let mut scene = Session::new("schema");
    scene.run("certctl schema secret");
    scene.run("certctl schema certificate | head -n 20");
    scene.run("certctl schema ingress");
    scene.end();
}

#[test]
fn what_is_generated_is_what_is_kept() {
    let mut scene = Session::new("generated");
    let kept = env!("CARGO_MANIFEST_DIR");
    std::os::unix::fs::symlink(format!("{kept}/completions"), scene.world.path("completions"))
        .unwrap();
    std::os::unix::fs::symlink(format!("{kept}/man"), scene.world.path("man")).unwrap();
    for (shell, file) in [
        ("bash", "certctl.bash"),
        ("elvish", "certctl.elv"),
        ("fish", "certctl.fish"),
        ("powershell", "_certctl.ps1"),
        ("zsh", "_certctl"),
    ] {
        scene.run(&format!("certctl completion {shell} >{file}"));
        scene.run(&format!("cmp {file} completions/{file}"));
    }
    for line in [
        "certctl man >certctl.1",
        "cmp certctl.1 man/certctl.1",
        "certctl man issue >certctl-issue.1",
        "cmp certctl-issue.1 man/certctl-issue.1",
        "certctl man pages",
        "diff -r pages man",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[cfg(feature = "more-dns-providers")]
#[test]
fn the_version_is_told() {
    let mut scene = Session::new("version");
    for line in [
        "certctl version",
        "certctl version --short",
        "certctl --version",
        "certctl version -o yaml",
        "certctl version -v",
        "STATE_DIRECTORY=/from/systemd CREDENTIALS_DIRECTORY=/from/credentials certctl version -v \
         --config-dir /from/flag",
        "env -u CERTCTL_STATE_DIR STATE_DIRECTORY=/from/systemd:/other certctl version -v",
        "CERTCTL_OUTPUT= CERTCTL_NAMESPACE= certctl version",
        "CERTCTL_OUTPUT=json certctl version",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn one_certificate_is_summarized_and_described() {
    let mut scene = Session::issued("describe");
    for line in [
        "certctl status web",
        "certctl describe web",
        "certctl describe web -o name",
        "certctl describe",
        "certctl describe wbe",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn help_is_data() {
    let mut scene = Session::new("help").bare();
    for line in [
        "certctl --help",
        "certctl help",
        "certctl issue -h",
        "certctl help check dns",
        "certctl check",
        "certctl help exit-codes",
        "certctl help flags",
        "certctl help hook",
        "certctl help servers",
        "certctl help check dnss",
        "certctl help issue web",
    ] {
        scene.run(line);
    }
    scene.end();
}

#[test]
fn schedulers_are_printed() {
    let mut scene = Session::new("timer");
    for line in [
        "certctl timer print --cron 2>/dev/null",
        "certctl timer print --cron --config-dir conf --timeout 5m 2>/dev/null",
        "certctl timer print --cron --selector 'a!=b'",
        "certctl timer print --launchd 2>/dev/null",
        "certctl timer print --systemd 2>/dev/null",
        "certctl timer print --cron --user acme --dir cron && ls cron",
    ] {
        scene.run(line);
    }
    scene.end();
}
