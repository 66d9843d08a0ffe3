//! A proxy that has port 80 and forwards the challenges: certctl listens at an address of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::question::{Dialogue, Doubted, OTHER, Question, Stop};
use super::webroot::tried_with;
use crate::cli::check::Trial;
use crate::cli::servers::Server;
use crate::resource::Settings;
use crate::trust::sudo;

/// Where certctl listens while it issues: below 1024, so that no other user of the host can listen there
/// between two runs, and answer.
pub(super) const PROXIED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 402);

/// Asks until this proxy forwards the challenges, as far as that can be tried, or until a person insists;
/// `None` of one who wants another way, which `other` names.
pub(super) fn forwarded(
    dialogue: &mut Dialogue<'_>,
    server: &Server,
    names: &[String],
    of_issuer: &Settings,
    other: &str,
) -> Result<Option<SocketAddr>, Stop> {
    let name = server.name;
    let settings = Settings { http01_listen: vec![PROXIED.to_string()], ..of_issuer.clone() };
    let trial = |dialogue: &Dialogue<'_>| tried_with(&settings, names, dialogue.shell);
    let is_ready = matches!(trial(dialogue), Some(Trial::Served(_)));
    if !is_ready {
        dialogue.say(&format!(
            "note: {name} need not be stopped: it can forward the CA's requests to certctl. Add this to \
             {}, in another terminal, or after Ctrl-C and by the same answers again:",
            server.configuration()
        ));
        for line in server.forwarding() {
            dialogue.show(&format!("  {line}"));
        }
        dialogue.show("and reload it:");
        dialogue.show(&format!("  {}systemctl reload {name}", sudo()));
    }
    let text = if is_ready {
        format!(
            "{name} forwards the CA's requests to certctl ({PROXIED}). To validate the names that way: \
             yes, or {OTHER}: {other}"
        )
    } else {
        format!("Does {name} forward them now? yes, or {OTHER}: {other}")
    };
    let mut question = Question { default: Some(YES), ..Question::new(&text, ABOUT) };
    let doubted = Doubted::default();
    loop {
        let answer = question.answered(dialogue, |text| match text {
            YES | "y" => Ok(true),
            OTHER => Ok(false),
            _ => Err(format!("enter {YES} or {OTHER}")),
        })?;
        if !answer {
            return Ok(None);
        }
        let is_sure = dialogue.is_sure;
        let refusal = match trial(dialogue) {
            Some(Trial::Unserved(found)) if !is_sure && doubted.is_new(YES) => found.to_string(),
            Some(Trial::Served(found)) => {
                dialogue.say(&found.to_string());
                return Ok(Some(PROXIED));
            }
            Some(_) | None => return Ok(Some(PROXIED)),
        };
        dialogue.retract(1);
        dialogue.say(&format!("{refusal}. To go on nevertheless, enter {YES} again"));
        question.default = None;
    }
}

const YES: &str = "yes";
const ABOUT: &str = "The CA requests a file from port 80 of each name. certctl listens at 127.0.0.1:402 \
                     while it issues, and answers what the proxy forwards to it. A request shows at once \
                     whether that works.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_told_what_its_example_says() {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/haproxy.yaml");
        let example = std::fs::read_to_string(example).unwrap();
        let proxy = Server::of("haproxy").unwrap();
        let settings = proxy.forwarding().iter().map(|line| line.trim());
        let settings: Vec<&str> = settings.filter(|line| !line.starts_with('#')).collect();
        assert!(
            settings.len() > 3 && settings.last().unwrap().ends_with(&PROXIED.to_string()),
            "{settings:?}"
        );
        for line in settings {
            assert!(
                example.lines().any(|text| text.trim_start_matches(['#', ' ']) == line),
                "{line}"
            );
        }
        assert!(example.contains(&format!("certctl/http01-listen: {PROXIED}")));
        assert!(Server::of("nginx").unwrap().forwarding().is_empty());
    }
}
