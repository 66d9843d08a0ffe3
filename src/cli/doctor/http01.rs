//! How HTTP-01 challenges are answered: by the listener, or by the files of another server.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use futures_util::future::join_all;

use super::finding::Finding;
use super::usage::Use;
use crate::cli::check::{
    REDIRECT, Served, Trial, Unserved, WAYS_OF_WEBROOT, trial_in_run, way_out_of,
};
use crate::cli::count::{count, names};
use crate::cli::report::short;
use crate::cli::shell::Shell;
use crate::cli::timer::service_may_listen;
use crate::engine::Task;
use crate::resource::{Identifier, NamespacedName, Obstacle, Settings};
use crate::solver::http01::check_webroot;
use crate::trust::Bounds;
use crate::workspace::Settings as RunSettings;
use crate::workspace::check::{ListenError, Port, WebServer};

/// A finding for each list of addresses that is listened on, and one for each webroot. Whether that
/// `is_tried`, and a server of it is found that way, or is to be looked for here.
pub(super) fn http01(shell: &Shell, uses: &[Use<'_>], is_tried: bool) -> Vec<Finding> {
    let (ports, webroots) = used(shell, uses);
    let of_port = |one| of_service(one, shell).unwrap_or_else(|| port(one, is_hidden()));
    let bounds = shell.bounds();
    let webroot = |one| webroot(one, is_tried, &bounds);
    ports.iter().map(of_port).chain(webroots.iter().map(webroot)).collect()
}

/// That another program than systemd or certctl has the usual port, where it is known which.
pub(super) fn taken_port(shell: &Shell) -> Option<String> {
    let found = Port::of(&shell.global.http01_listen, &Settings::default());
    let Port::Refused(error @ ListenError::InUse { holder: Some(holder), .. }) = &found else {
        return None;
    };
    let is_other = !holder.is_init() && !holder.is_certctl;
    is_other.then(|| error.to_string())
}

/// The ports of some certificates as they are now.
pub(in crate::cli) struct Ports<'s> {
    needed: Vec<Needed>,
    shell: &'s Shell,
}

impl<'s> Ports<'s> {
    /// Those that these need.
    pub(in crate::cli) fn of(shell: &'s Shell, tasks: &[&Task]) -> Self {
        let uses = Use::of_tasks(tasks.iter().copied());
        Self { needed: used(shell, &uses).0, shell }
    }

    /// Those that would stop a run by any user; and, as a warning, those that this user may not listen
    /// on, unless a unit runs certctl with the right to. Each with the certificates that need it.
    pub(in crate::cli) fn blocking(&self) -> Vec<(Finding, Vec<NamespacedName>)> {
        let left = self.needed.iter().filter(|found| of_service(found, self.shell).is_none());
        let (of_host, denied): (Vec<_>, Vec<_>) = left.partition(|found| is_of_host(&found.port));
        let of = |one: &Needed, is_hidden| (port(one, is_hidden), one.certificates.clone());
        let of_host = of_host.into_iter().map(|one| of(one, is_hidden()));
        let mut found: Vec<_> = of_host.filter(|(found, _)| found.is_wrong()).collect();
        let denied = denied.into_iter().map(|one| of(one, false));
        found.extend(denied.map(|(one, of)| (one.into_warning(), of)));
        found
    }
}

/// What keeps a run from the usual port, as a warning to the user of a new certificate.
pub(super) fn usual_port(shell: &Shell, certificate: NamespacedName) -> Option<Finding> {
    let port = Port::of(&shell.global.http01_listen, &Settings::default());
    let found = Needed { port, certificates: vec![certificate] };
    if of_service(&found, shell).is_some() { None } else { in_the_way(&found) }
}

fn in_the_way(found: &Needed) -> Option<Finding> {
    let found = port(found, is_hidden());
    found.is_wrong().then(|| found.into_warning())
}

/// What is said of a port that this user may not open, where the service of the timer may.
fn of_service(found: &Needed, shell: &Shell) -> Option<Finding> {
    let addr = found.denied()?;
    let fact = format_args!("certctl.service may listen on {addr}; this user may not");
    service_may_listen(shell, addr.port()).then(|| Finding::well("HTTP-01", fact))
}

/// Whether the processes of other users are hidden: then that of a port that is in use is one of
/// theirs, unless it is known.
fn is_hidden() -> bool {
    cfg!(target_os = "linux") && !rustix::process::geteuid().is_root()
}

/// Whether another user would find the same.
fn is_of_host(found: &Port) -> bool {
    match found {
        Port::Refused(error) => !matches!(error, ListenError::NoPermission { .. }),
        Port::Usable { .. } | Port::Unknown(_) => true,
    }
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
}

/// A webroot that is named.
struct Webroot<'u> {
    path: &'u str,
    /// On which another server is to serve it.
    port: u16,
    /// The objects that name it, each with its file.
    objects: Vec<String>,
}

/// The ports that are listened on, as they are now, and the webroots.
fn used<'u>(shell: &Shell, uses: &'u [Use<'_>]) -> (Vec<Needed>, Vec<Webroot<'u>>) {
    let mut webroots: BTreeMap<(&str, u16), Webroot<'_>> = BTreeMap::new();
    let mut listeners: BTreeMap<&[String], (&Use<'_>, Vec<NamespacedName>)> = BTreeMap::new();
    for one in uses {
        if one.over_http().is_empty() {
            continue;
        }
        if let Some(path) = one.settings.http01_webroot.as_deref() {
            let port = port_of_server(one, shell);
            let found = webroots.entry((path, port));
            let found = found.or_insert(Webroot { path, port, objects: Vec::new() });
            let object = names_webroot(one);
            if !found.objects.contains(&object) {
                found.objects.push(object);
            }
        } else {
            let found = listeners.entry(&one.settings.http01_listen);
            let (_, certificates) = found.or_insert((one, Vec::new()));
            certificates.push(one.certificate.metadata.key());
        }
    }
    let ports = listeners.into_values().map(|(one, certificates)| Needed {
        port: Port::of(&shell.global.http01_listen, &one.settings),
        certificates,
    });
    (ports.collect(), webroots.into_values().collect())
}

/// What names the webroot of a Certificate, and its file.
fn names_webroot(one: &Use<'_>) -> String {
    let Use { certificate, issuer, .. } = one;
    let (kind, of, origin) = if certificate.settings.http01_webroot.is_some() {
        ("Certificate".to_owned(), &certificate.metadata, &certificate.origin)
    } else {
        (issuer.kind.to_string(), &issuer.metadata, &issuer.origin)
    };
    format!("{kind} {} in {}", short(&of.key()), origin.path.display())
}

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
            Finding::unknown("HTTP-01", obstacle.command("systemctl status certctl.socket"))
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
            Finding::wrong("HTTP-01", Obstacle { fact, fix: Some(way_out_of(error)) })
        }
        Port::Unknown(why) => Finding::unknown("HTTP-01", Obstacle::new(why)),
    }
}

fn webroot(found: &Webroot<'_>, is_tried: bool, bounds: &Bounds) -> Finding {
    let Webroot { path, port, objects } = found;
    if let Err(Obstacle { fact, fix }) = check_webroot(Path::new(path), bounds) {
        let fact = format!("{fact} ({})", names(objects));
        return Finding::wrong("webroot", Obstacle { fact, fix });
    }
    let absent = || without_server(*port, &format!("{path} ({})", names(objects)));
    let absent = if is_tried { None } else { absent() };
    absent.unwrap_or_else(|| {
        Finding::well("webroot", format_args!("challenges can be written below {path}"))
    })
}

/// Whether webroots are served at the names of their certificates, and whether the server of port 80 forwards
/// to the listener, as far as these are few: one finding when all is well, else one for each name, or for
/// those of one cause. A name without addresses is a finding of its own.
pub(super) async fn answered(run: &RunSettings, uses: &[Use<'_>]) -> Vec<Finding> {
    let (mut seen, mut webroots) = (BTreeSet::new(), BTreeSet::new());
    let mut trials = Vec::new();
    for one in uses.iter().filter(|one| !one.over_http().is_empty()) {
        let port = one.settings.check_port(run.http01_check_port);
        let (subject, way) =
            match (&one.settings.http01_webroot, one.settings.http01_listen.first()) {
                (Some(path), _) => ("webroot", path),
                (None, Some(listener)) => ("HTTP-01", listener),
                (None, None) => continue,
            };
        if subject == "webroot" {
            webroots.insert((way, port));
        }
        let names = one.over_http().into_iter().filter_map(|identifier| match identifier {
            Identifier::Dns(name) if !name.is_wildcard() => Some(name),
            Identifier::Dns(_) | Identifier::Ip(_) => None,
        });
        let unseen = names.filter(|name| seen.insert((way, name.to_string())));
        trials.extend(unseen.map(|name| async move {
            (subject, (way, port), trial_in_run(run, &one.settings, &name).await)
        }));
    }
    let untried = trials.len().saturating_sub(MOST_TRIED);
    let tried = join_all(trials.into_iter().take(MOST_TRIED)).await;
    let mut answered = Answered { untried, ..Answered::default() };
    for (subject, way, trial) in tried {
        match trial {
            Some(Trial::Unserved(found)) => answered.add(subject, found),
            Some(Trial::Served(Served { name, is_redirected, .. })) => {
                answered.number += 1;
                answered.redirected.extend(is_redirected.then(|| name.to_string()));
            }
            Some(Trial::Unresolved(_)) | None => continue,
        }
        webroots.remove(&way);
    }
    // Of a webroot that was tried at no name, it is known whether there is a server for it.
    let bounds = run.bounds();
    let may_write = |path: &String| check_webroot(Path::new(path), &bounds).is_ok();
    let untried = webroots.into_iter().filter(|(path, _)| may_write(path));
    let absent = untried.filter_map(|(path, port)| without_server(port, path));
    answered.into_findings().into_iter().chain(absent).collect()
}

/// What was found of names whose challenges were tried.
#[derive(Default)]
struct Answered {
    /// How many were answered.
    number: usize,
    /// Those answered over a redirect to https.
    redirected: Vec<String>,
    /// How many names were not tried.
    untried: usize,
    /// Those that were not answered, by what is said of them.
    unserved: Vec<(&'static str, Vec<Unserved>)>,
}

impl Answered {
    fn add(&mut self, subject: &'static str, found: Unserved) {
        let is_same = |(of, all): &&mut (&str, Vec<Unserved>)| {
            let is_as =
                |one: &Unserved| (&one.why, one.is_of_host) == (&found.why, found.is_of_host);
            *of == subject && all.first().is_some_and(is_as)
        };
        match self.unserved.iter_mut().find(is_same) {
            Some((_, all)) => all.push(found),
            None => self.unserved.push((subject, vec![found])),
        }
    }

    fn into_findings(self) -> Vec<Finding> {
        let unserved = self.unserved.iter().filter_map(|(subject, all)| unanswered(subject, all));
        let unserved: Vec<Finding> = unserved.collect();
        if !unserved.is_empty() || self.number == 0 {
            return unserved;
        }
        vec![all_answered(self.number, self.untried, &self.redirected)]
    }
}

/// Names whose challenges are not answered, for one reason: wrong where that is on this host, else a
/// warning, since a CA may reach what this host does not.
fn unanswered(subject: &str, all: &[Unserved]) -> Option<Finding> {
    let Unserved { name: first, why, is_of_host } = all.first()?;
    let of: Vec<String> = all.iter().map(|one| one.name.to_string()).collect();
    let found = Obstacle::new(format!("{}: {why}", names(&of)));
    let found = found.certctl(format!("certctl check http {first}"));
    Some(if *is_of_host {
        Finding::wrong(subject, found)
    } else {
        Finding::warning(subject, found)
    })
}

/// That challenges are answered at so many names, of these over a redirect to https, while others were not
/// tried.
fn all_answered(number: usize, untried: usize, redirected: &[String]) -> Finding {
    let untried = match untried {
        0 => String::new(),
        others => format!(" ({others} more were not tried)"),
    };
    let fact =
        format!("a request for a challenge is answered at {}{untried}", count(number, "name"));
    let redirected = match redirected {
        [] => String::new(),
        names => format!(", of {} over a redirect to https: {REDIRECT}", names.join(", ")),
    };
    Finding::well("HTTP-01", fact + &redirected)
}

/// That no web server has the port from which webroots are to be served, once for each port: a warning,
/// since one of another host may serve them.
pub(in crate::cli) fn without_servers(shell: &Shell, tasks: &[&Task]) -> Vec<Finding> {
    let mut of_ports: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    let mut writable: BTreeMap<&str, bool> = BTreeMap::new();
    let bounds = shell.bounds();
    let uses = Use::of_tasks(tasks.iter().copied());
    for one in &uses {
        let Some(path) = one.settings.http01_webroot.as_deref() else { continue };
        // One that cannot be written to has an error of its own.
        let may_write = || check_webroot(Path::new(path), &bounds).is_ok();
        if !one.over_http().is_empty() && *writable.entry(path).or_insert_with(may_write) {
            let certificates = of_ports.entry(port_of_server(one, shell)).or_default();
            certificates.push(short(&one.certificate.metadata.key()));
        }
    }
    let of_port = |(port, of): (u16, Vec<String>)| {
        without_server(port, &format!("the webroot of {}", names(&of)))
    };
    of_ports.into_iter().filter_map(of_port).collect()
}

/// That no web server has the port from which `what` is to be served.
fn without_server(port: u16, what: &str) -> Option<Finding> {
    let fact = match WebServer::at(port) {
        WebServer::Other => return None,
        WebServer::Absent => format!("nothing listens on port {port} of this host to serve {what}"),
        WebServer::Certctl(holder) => {
            format!("{holder} has port {port}, not a web server that serves {what}")
        }
    };
    Some(Finding::warning("webroot", Obstacle::new(fact).advice(WAYS_OF_WEBROOT)))
}

/// The port on which a web server is to serve the webroot.
fn port_of_server(one: &Use<'_>, shell: &Shell) -> u16 {
    one.settings.check_port(shell.global.http01_check_port)
}

/// Each costs a request.
const MOST_TRIED: usize = 20;

fn list(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;
    use crate::workspace::check::Holder;

    #[test]
    fn a_webroot_that_nothing_serves_is_a_warning() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().to_str().unwrap();
        // Another program than certctl, as far as the test can tell: this process.
        let server = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let of = |is_tried| {
            webroot(
                &Webroot { path, port, objects: vec!["Certificate web in f".to_owned()] },
                is_tried,
                &Bounds::default(),
            )
        };
        assert_eq!(of(false).verdict, Verdict::Well);
        drop(server);
        assert_eq!(of(true).verdict, Verdict::Well);
        let found = of(false);
        let fact = format!(
            "nothing listens on port {port} of this host to serve {path} (Certificate web in f)"
        );
        assert_eq!((found.verdict, found.fact), (Verdict::Warning, fact));
        let gone = webroot(
            &Webroot { path: "/no-such", port, objects: vec!["Issuer ca".to_owned()] },
            true,
            &Bounds::default(),
        );
        assert!(gone.is_wrong() && gone.fact.ends_with("(Issuer ca)"), "{gone:?}");
    }

    #[test]
    fn a_redirect_to_https_is_said_of_the_names_that_have_one() {
        let plain = "a request for a challenge is answered at 2 names";
        assert_eq!(all_answered(2, 0, &[]).fact, plain);
        assert_eq!(all_answered(2, 3, &[]).fact, format!("{plain} (3 more were not tried)"));
        let expected = format!("{plain}, of www.example.com over a redirect to https: {REDIRECT}");
        assert_eq!(all_answered(2, 0, &["www.example.com".to_owned()]).fact, expected);
    }

    #[test]
    fn names_that_are_not_answered_are_wrong_where_that_is_the_fault_of_this_host() {
        let mut answered = Answered { number: 1, ..Answered::default() };
        for (name, why, is_of_host) in [
            ("a.example.com", "nothing listens", true),
            ("b.example.com", "no server answers", false),
            ("c.example.com", "nothing listens", true),
        ] {
            let name = name.parse().unwrap();
            answered.add("webroot", Unserved { name, why: why.to_owned(), is_of_host });
        }
        let found = answered.into_findings();
        let found: Vec<_> = found.iter().map(|one| (one.verdict, one.fact.as_str())).collect();
        let wrong = (Verdict::Wrong, "a.example.com, c.example.com: nothing listens");
        assert_eq!(found, [wrong, (Verdict::Warning, "b.example.com: no server answers")]);
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
            (usable(Vec::new()), Verdict::Well, true, "[::]:80 is free"),
            (
                usable(vec![certctl.clone()]),
                Verdict::Well,
                true,
                "[::]:80 is shared with certctl (pid 812)",
            ),
            (
                in_use(Some(Holder::new("nginx", 812))),
                Verdict::Wrong,
                true,
                "[::]:80 is in use by nginx (pid 812); needed by web",
            ),
            (in_use(None), Verdict::Wrong, true, "[::]:80 is in use; needed by web"),
            (
                in_use(Some(certctl)),
                Verdict::Warning,
                true,
                "[::]:80 is in use by certctl (pid 812); needed by web; a run waits for it",
            ),
            (
                in_use(Some(Holder::new("systemd", 1))),
                Verdict::Unknown,
                true,
                "[::]:80 is in use by systemd (pid 1); needed by web; correct if certctl.socket is \
                 active",
            ),
            (
                Port::Refused(ListenError::NoPermission { addr }),
                Verdict::Wrong,
                false,
                "no permission to listen on [::]:80; needed by web",
            ),
        ] {
            let found = needed(port);
            let Finding { verdict: found_verdict, fact: found_fact, .. } =
                super::port(&found, false);
            assert_eq!(
                (found_verdict, is_of_host(&found.port), found_fact.as_str()),
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
        assert_eq!((found.verdict, found.fact.as_str()), (Verdict::Warning, fact));
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
