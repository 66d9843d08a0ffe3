//! Ways to answer HTTP-01 challenges: the listener, or the files of another server.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use futures_util::future::join_all;

use super::alike::{self, Alike, behind};
use super::usage::Use;
use crate::cli::verbs::check::{Trial, Tried, trial_in_run, way_out_of};
use crate::cli::verbs::timer::service_may_listen;
use crate::cli::{Shell, count, names, short};
use crate::engine::Task;
use crate::resource::{
    Check, Finding, Fix, Identifier, NamespacedName, Obstacle, Schedule, Setting, Settings,
    Severity,
};
use crate::solver::http01::check_webroot;
use crate::workspace::Settings as RunSettings;
use crate::workspace::check::{ListenError, Port, WebServer};

/// A finding for each list of addresses that is listened on, and one for each webroot; whether a web
/// server has the port of it only where that is not tried.
pub(super) fn http01(shell: &Shell, uses: &[Use<'_>], is_tried: bool) -> Vec<Finding> {
    let needed = needed(shell, uses);
    let ports =
        needed.iter().map(|one| one.of_service(shell).unwrap_or_else(|| port(one, is_hidden())));
    let bounds = shell.bounds();
    let mut webroots = Alike::default();
    for one in uses.iter().filter(|one| !one.over_http().is_empty()) {
        let Some(path) = one.settings.http01_webroot.as_deref() else { continue };
        let port = one.settings.check_port(shell.global.http01_check_port);
        let absent = || if is_tried { None } else { without_server(port, path) };
        let found = match check_webroot(Path::new(path), &bounds) {
            Err(obstacle) => Finding::wrong("webroot", obstacle),
            Ok(()) => absent().unwrap_or_else(|| {
                let fact = format!("challenges can be written below {path}");
                Finding::well("webroot", fact)
            }),
        };
        webroots.add(names_webroot(one), found);
    }
    ports.chain(webroots.findings(behind)).collect()
}

/// The ports that these need and that would stop a run by any user; and, as a warning, those that this
/// user may not listen on, unless a unit runs certctl with the right to. Each with its certificates.
pub(in crate::cli) fn blocking(
    shell: &Shell,
    tasks: &[&Task],
) -> Vec<(Finding, Vec<NamespacedName>)> {
    let uses = Use::of_tasks(tasks.iter().copied());
    let needed = needed(shell, &uses).into_iter().filter(|one| one.of_service(shell).is_none());
    let found = needed.map(|one| {
        let is_denied = one.denied().is_some();
        let found = if is_denied { in_the_way(&one) } else { Some(port(&one, is_hidden())) };
        Some((found.filter(|found| is_denied || found.is_wrong())?, one.certificates))
    });
    found.flatten().collect()
}

/// Obstacle of a run to the usual port, as a warning to the user of a new certificate.
pub(super) fn usual_port(shell: &Shell, certificate: NamespacedName) -> Option<Finding> {
    let port = Port::of(&shell.global.http01_listen, &Settings::default());
    let found = Needed { port, certificates: vec![certificate] };
    if found.of_service(shell).is_some() { None } else { in_the_way(&found) }
}

fn in_the_way(found: &Needed) -> Option<Finding> {
    let found = port(found, is_hidden());
    found.is_wrong().then_some(Finding { severity: Severity::Warning, ..found })
}

/// Returns whether the processes of other users are hidden: then that of a port that is in use is
/// one of theirs, unless it is known.
fn is_hidden() -> bool {
    cfg!(target_os = "linux") && !rustix::process::geteuid().is_root()
}

/// A port that is listened on.
struct Needed {
    port: Port,
    /// The certificates that need it.
    certificates: Vec<NamespacedName>,
}

impl Needed {
    /// The address that this user may not listen on.
    fn denied(&self) -> Option<SocketAddr> {
        match self.port {
            Port::Refused(ListenError::NoPermission { addr }) => Some(addr),
            Port::Usable { .. } | Port::Unknown(_) | Port::Refused(_) => None,
        }
    }

    /// Notes that the service of the timer may open a port that this user may not open.
    fn of_service(&self, shell: &Shell) -> Option<Finding> {
        let addr = self.denied()?;
        let fact = format_args!("certctl.service may listen on {addr}; this user may not");
        service_may_listen(shell, addr.port()).then(|| Finding::well("HTTP-01", fact))
    }
}

/// The ports that are listened on, as they are now.
fn needed(shell: &Shell, uses: &[Use<'_>]) -> Vec<Needed> {
    let mut listeners: BTreeMap<&[String], (&Use<'_>, Vec<NamespacedName>)> = BTreeMap::new();
    let own = uses.iter().filter(|one| !one.settings.is_answered_by_server());
    for one in own.filter(|one| !one.over_http().is_empty()) {
        let found = listeners.entry(&one.settings.http01_listen);
        found.or_insert((one, Vec::new())).1.push(one.certificate.metadata.key());
    }
    let needed = listeners.into_values().map(|(one, certificates)| Needed {
        port: Port::of(&shell.global.http01_listen, &one.settings),
        certificates,
    });
    needed.collect()
}

/// Names the webroot of a Certificate, and its file.
fn names_webroot(one: &Use<'_>) -> String {
    let Use { certificate, issuer, .. } = one;
    let (kind, of, origin) = if certificate.settings.http01_webroot.is_some() {
        ("Certificate".to_owned(), &certificate.metadata, &certificate.origin)
    } else {
        (issuer.kind.to_string(), &issuer.metadata, &issuer.origin)
    };
    format!("{kind} {} in {}", short(&of.key()), origin.path.display())
}

/// Finding for the port; of a holder that `is_hidden`, that another user has started it.
fn port(found: &Needed, is_hidden: bool) -> Finding {
    let Needed { port, certificates } = found;
    let certificates: Vec<String> = certificates.iter().map(short).collect();
    let needed = |error: &ListenError| format!("{error}; needed by {}", names(&certificates));
    match port {
        Port::Usable { addresses, sharers } => {
            let addresses = list(addresses);
            if sharers.is_empty() {
                return Finding::well("HTTP-01", format_args!("{addresses} is free"));
            }
            let sharers: Vec<String> = sharers.iter().map(ToString::to_string).collect();
            let sharers = sharers.join(", ");
            Finding::well("HTTP-01", format_args!("{addresses} is shared with {sharers}"))
        }
        Port::Refused(error @ ListenError::InUse { holder: Some(holder), .. })
            if holder.is_init() =>
        {
            let fact = format!("{}; correct if certctl.socket is active", needed(error));
            let obstacle = Obstacle::new(fact);
            Finding::unknown("HTTP-01", obstacle.with(Fix::Schedule(Schedule::Socket)))
        }
        Port::Refused(error @ ListenError::InUse { holder: Some(holder), .. })
            if holder.is_certctl =>
        {
            let fact = format!("{}; a run waits for it", needed(error));
            Finding::warning("HTTP-01", Obstacle::new(fact))
        }
        Port::Refused(error) => {
            let is_theirs = is_hidden && matches!(error, ListenError::InUse { holder: None, .. });
            let fact = if is_theirs {
                let names = names(&certificates);
                format!("{error} by a process of another user; needed by {names}")
            } else {
                needed(error)
            };
            Finding::wrong("HTTP-01", Obstacle::new(fact).with(way_out_of(error)))
        }
        Port::Unknown(why) => Finding::unknown("HTTP-01", Obstacle::new(why)),
    }
}

/// Returns whether challenges of these names are answered, as far as they are few: one finding when
/// all are, else one for the names of each cause. A name without addresses is a finding of its own.
pub(super) async fn answered(run: &RunSettings, uses: &[Use<'_>]) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut trials = Vec::new();
    for one in uses {
        let (webroot, listen) = (&one.settings.http01_webroot, &one.settings.http01_listen);
        let Some(way) = webroot.as_ref().or(listen.first()) else { continue };
        let subject = if webroot.is_some() { "webroot" } else { "HTTP-01" };
        let names = one.over_http().into_iter().filter_map(|identifier| match identifier {
            Identifier::Dns(name) if !name.is_wildcard() => Some(name),
            Identifier::Dns(_) | Identifier::Ip(_) => None,
        });
        let unseen = names.filter(|name| seen.insert((way, name.to_string())));
        trials.extend(unseen.map(|name| async move {
            Some((subject, trial_in_run(run, &one.settings, &name).await?))
        }));
    }
    let untried = trials.len().saturating_sub(MOST_TRIED);
    let tried = join_all(trials.into_iter().take(MOST_TRIED)).await;
    verdicts(tried.into_iter().flatten(), untried)
}

/// Findings of these trials: a name that is not answered is wrong where the cause is on this host,
/// else a warning, since a CA may reach more than this host does.
fn verdicts(tried: impl Iterator<Item = (&'static str, Trial)>, untried: usize) -> Vec<Finding> {
    let (mut number, mut unserved) = (0_usize, Alike::default());
    for (subject, Trial { name, verdict, ending }) in tried {
        let severity = match ending {
            Tried::Served => {
                number = number.saturating_add(1);
                continue;
            }
            Tried::Unresolved => continue,
            Tried::UnservedHere => Severity::Wrong,
            Tried::Unserved => Severity::Warning,
        };
        let check = Fix::Check(Check::Http(name.to_string()));
        let found = Finding::new(severity, subject, Obstacle::new(verdict).with(check));
        unserved.add(name.to_string(), found);
    }
    let unserved = unserved.findings(|why, names| format!("{names}: {why}"));
    if !unserved.is_empty() || number == 0 {
        return unserved;
    }
    let (names, untried) = (count(number, "name"), alike::untried(untried));
    let fact = format!("a request for a challenge is answered at {names}{untried}");
    vec![Finding::well("HTTP-01", fact)]
}

/// Warns that no web server has the port from which `what` is to be served; a server of another
/// host may serve it.
fn without_server(port: u16, what: &str) -> Option<Finding> {
    let fact = match WebServer::at(port) {
        WebServer::Other => return None,
        WebServer::Absent => {
            format!("no web server of this host listens on port {port} to serve {what}")
        }
        WebServer::Certctl(holder) => {
            format!("{holder} has port {port}, not a web server that serves {what}")
        }
    };
    Some(Finding::warning("webroot", Obstacle::new(fact).with(Fix::Set(Setting::Webroot))))
}

/// Each costs a request.
const MOST_TRIED: usize = 20;

fn list(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::check::Holder;

    #[test]
    fn a_webroot_that_nothing_serves_is_a_warning() {
        // Another program than certctl, as far as the test can tell: this process.
        let server = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let port = server.local_addr().unwrap().port();
        assert_eq!(without_server(port, "/srv"), None);
        drop(server);
        let found = without_server(port, "/srv").unwrap();
        let fact = format!("no web server of this host listens on port {port} to serve /srv");
        assert_eq!((found.severity, found.fact), (Severity::Warning, fact));
    }

    fn trial(name: &str, verdict: &str, ending: Tried) -> (&'static str, Trial) {
        let (name, verdict) = (name.parse().unwrap(), verdict.to_owned());
        ("webroot", Trial { name, verdict, ending })
    }

    #[test]
    fn names_that_are_answered_are_counted() {
        let of = |untried| {
            let tried =
                ["a.example.com", "b.example.com"].map(|name| trial(name, "", Tried::Served));
            verdicts(tried.into_iter(), untried).remove(0).fact
        };
        let plain = "a request for a challenge is answered at 2 names";
        assert_eq!(of(0), plain);
        assert_eq!(of(3), format!("{plain} (3 more were not tested)"));
    }

    #[test]
    fn names_that_are_not_answered_are_wrong_where_that_is_the_fault_of_this_host() {
        let tried = [
            trial("a.example.com", "nothing listens", Tried::UnservedHere),
            trial("b.example.com", "no server answers", Tried::Unserved),
            trial("c.example.com", "nothing listens", Tried::UnservedHere),
            trial("d.example.com", "", Tried::Served),
        ];
        let found = verdicts(tried.into_iter(), 0);
        let found: Vec<_> = found.iter().map(|one| (one.severity, one.fact.as_str())).collect();
        let wrong = (Severity::Wrong, "a.example.com, c.example.com: nothing listens");
        assert_eq!(found, [wrong, (Severity::Warning, "b.example.com: no server answers")]);
    }

    #[test]
    fn a_port_is_wrong_when_a_run_would_not_get_it() {
        let addr: SocketAddr = "[::]:80".parse().unwrap();
        let in_use = |holder| Port::Refused(ListenError::InUse { addr, holder });
        let mut certctl = Holder::new("certctl", 812);
        certctl.is_certctl = true;
        let usable = |sharers| Port::Usable { addresses: vec![addr], sharers };
        let needed =
            |port| Needed { port, certificates: vec![NamespacedName::new("default", "web")] };
        for (port, verdict, of_host, fact) in [
            (usable(Vec::new()), Severity::Well, true, "[::]:80 is free"),
            (
                usable(vec![certctl.clone()]),
                Severity::Well,
                true,
                "[::]:80 is shared with certctl (pid 812)",
            ),
            (
                in_use(Some(Holder::new("nginx", 812))),
                Severity::Wrong,
                true,
                "[::]:80 is in use by nginx (pid 812); needed by web",
            ),
            (in_use(None), Severity::Wrong, true, "[::]:80 is in use; needed by web"),
            (
                in_use(Some(certctl)),
                Severity::Warning,
                true,
                "[::]:80 is in use by certctl (pid 812); needed by web; a run waits for it",
            ),
            (
                in_use(Some(Holder::new("systemd", 1))),
                Severity::Unknown,
                true,
                "[::]:80 is in use by systemd (pid 1); needed by web; correct if certctl.socket is \
                 active",
            ),
            (
                Port::Refused(ListenError::NoPermission { addr }),
                Severity::Wrong,
                false,
                "no permission to listen on [::]:80; needed by web",
            ),
        ] {
            let found = needed(port);
            let Finding { severity: found_verdict, fact: found_fact, .. } =
                super::port(&found, false);
            assert_eq!(
                (found_verdict, found.denied().is_none(), found_fact.as_str()),
                (verdict, of_host, fact)
            );
        }
        for (holder, fact) in [
            (None, "[::]:80 is in use by a process of another user; needed by web"),
            (
                Some(Holder::new("nginx", 812)),
                "[::]:80 is in use by nginx (pid 812); needed by web",
            ),
        ] {
            assert_eq!(port(&needed(in_use(holder)), true).fact, fact);
        }
    }

    #[test]
    fn a_port_that_no_run_gets_is_in_the_way() {
        let addr: SocketAddr = "[::]:80".parse().unwrap();
        let needed =
            |port| Needed { port, certificates: vec![NamespacedName::new("default", "web")] };
        let denied = || needed(Port::Refused(ListenError::NoPermission { addr }));
        let found = in_the_way(&denied()).unwrap();
        let fact = "no permission to listen on [::]:80; needed by web";
        assert_eq!((found.severity, found.fact.as_str()), (Severity::Warning, fact));
        let free = Port::Usable { addresses: vec![addr], sharers: Vec::new() };
        assert_eq!(in_the_way(&needed(free)), None);
    }

    #[test]
    fn a_port_is_denied_where_only_the_right_is_missing() {
        let addr: SocketAddr = "[::]:80".parse().unwrap();
        let denied = |port| Needed { port, certificates: Vec::new() }.denied();
        let no_permission = Port::Refused(ListenError::NoPermission { addr });
        assert_eq!(denied(no_permission), Some(addr));
        assert_eq!(denied(Port::Refused(ListenError::InUse { addr, holder: None })), None);
        assert_eq!(denied(Port::Usable { addresses: vec![addr], sharers: Vec::new() }), None);
    }
}
