//! How HTTP-01 challenges are answered: by the listener, or by the files of another server.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use super::finding::Finding;
use super::usage::Use;
use crate::cli::check::{Port, ways_out};
use crate::cli::shell::Shell;
use crate::cli::timer::is_masked;
use crate::resource::{Obstacle, Settings};
use crate::solver::http01::{ListenError, check_webroot};

/// A finding for each list of addresses that is listened on, and one for each webroot.
pub(super) fn http01(shell: &Shell, uses: &[Use<'_>]) -> Vec<Finding> {
    let (ports, webroots) = used(shell, uses);
    let masked = masked_socket(&ports, Path::new("/"));
    ports.iter().map(port).chain(masked).chain(webroots.into_iter().map(webroot)).collect()
}

/// What keeps the service from a port that this run would get.
fn masked_socket(ports: &[Port], root: &Path) -> Option<Finding> {
    let is_masked = is_masked(root, "certctl.socket");
    let is_free = ports.iter().any(|found| matches!(found, Port::Usable { .. }));
    let obstacle = Obstacle::new("certctl.socket is masked: certctl.service gets no port 80");
    (is_masked && is_free)
        .then(|| Finding::warning("HTTP-01", obstacle.command("systemctl unmask certctl.socket")))
}

/// What would stop a run by any user: that this one may not listen is not among it.
pub(super) fn blocking(shell: &Shell, uses: &[Use<'_>]) -> Vec<Finding> {
    let (ports, webroots) = used(shell, uses);
    let ports = ports.iter().filter(|found| is_of_host(found)).map(port);
    ports.chain(webroots.into_iter().map(webroot)).filter(Finding::is_wrong).collect()
}

/// Whether another user would find the same.
fn is_of_host(found: &Port) -> bool {
    match found {
        Port::Refused(error) => !matches!(error, ListenError::NoPermission { .. }),
        Port::Usable { .. } | Port::Unknown(_) => true,
    }
}

/// The ports that are listened on, as they are now, and the webroots.
fn used<'u>(shell: &Shell, uses: &'u [Use<'_>]) -> (Vec<Port>, BTreeSet<&'u str>) {
    let mut webroots = BTreeSet::new();
    let mut listeners: BTreeMap<&[String], &Settings> = BTreeMap::new();
    for one in uses {
        if one.over_http().is_empty() {
            continue;
        }
        if let Some(path) = &one.settings.http01_webroot {
            webroots.insert(path.as_str());
        } else {
            listeners.entry(&one.settings.http01_listen).or_insert(&one.settings);
        }
    }
    let ports = listeners.into_values().map(|settings| Port::of(shell, settings));
    (ports.collect(), webroots)
}

fn port(found: &Port) -> Finding {
    match found {
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
            let obstacle =
                Obstacle::new(format_args!("{error}; correct if certctl.socket is active"));
            Finding::unknown("HTTP-01", obstacle.command("systemctl status certctl.socket"))
        }
        Port::Refused(error @ ListenError::InUse { holder: Some(holder), .. })
            if holder.is_certctl =>
        {
            Finding::warning("HTTP-01", Obstacle::new(format_args!("{error}; a run waits for it")))
        }
        Port::Refused(error) => {
            Finding::wrong("HTTP-01", Obstacle::new(error).advice(ways_out(error)))
        }
        Port::Unknown(why) => Finding::unknown("HTTP-01", Obstacle::new(why)),
    }
}

fn webroot(path: &str) -> Finding {
    match check_webroot(Path::new(path)) {
        Ok(()) => Finding::well("webroot", format_args!("{path} can be written to")),
        Err(obstacle) => Finding::wrong("webroot", obstacle),
    }
}

fn list(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;
    use crate::solver::http01::Holder;

    #[test]
    fn a_masked_socket_is_seen_where_the_port_is_free() {
        let root = tempfile::tempdir().unwrap();
        let addr: SocketAddr = "[::]:80".parse().unwrap();
        let free = [Port::Usable { addresses: vec![addr], sharers: Vec::new() }];
        let taken = [Port::Refused(ListenError::InUse { addr, holder: None })];
        assert!(masked_socket(&free, root.path()).is_none());
        let units = root.path().join("etc/systemd/system");
        std::fs::create_dir_all(&units).unwrap();
        std::os::unix::fs::symlink("/dev/null", units.join("certctl.socket")).unwrap();
        let found = masked_socket(&free, root.path()).unwrap();
        assert!(!found.is_wrong());
        assert!(masked_socket(&taken, root.path()).is_none());
    }

    #[test]
    fn a_port_is_wrong_when_a_run_would_not_get_it() {
        let addr: SocketAddr = "[::]:80".parse().unwrap();
        let in_use = |holder| Port::Refused(ListenError::InUse { addr, holder });
        let mut certctl = Holder::new("certctl", 812);
        certctl.is_certctl = true;
        let usable = |sharers| Port::Usable { addresses: vec![addr], sharers };
        for (found, verdict, of_host, fact) in [
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
                "[::]:80 is in use by nginx (pid 812)",
            ),
            (in_use(None), Verdict::Wrong, true, "[::]:80 is in use"),
            (
                in_use(Some(certctl)),
                Verdict::Warning,
                true,
                "[::]:80 is in use by certctl (pid 812); a run waits for it",
            ),
            (
                in_use(Some(Holder::new("systemd", 1))),
                Verdict::Unknown,
                true,
                "[::]:80 is in use by systemd (pid 1); correct if certctl.socket is active",
            ),
            (
                Port::Refused(ListenError::NoPermission { addr }),
                Verdict::Wrong,
                false,
                "no permission to listen on [::]:80",
            ),
        ] {
            let Finding { verdict: told, fact: said, .. } = port(&found);
            assert_eq!((told, is_of_host(&found), said.as_str()), (verdict, of_host, fact));
        }
    }
}
