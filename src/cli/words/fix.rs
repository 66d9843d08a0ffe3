//! An intent as a command or a sentence: the only place where one is worded.

use std::path::Path;

use super::hint::{Hint, short};
use super::problem::check_of;
use super::state::{is_only_owed, obstructed};
use crate::engine::missing_hook;
use crate::engine::ports::WrongEntry;
use crate::host::rights::{self, is_by_sudo, is_of_root, own_user};
use crate::host::scheduler::TIMER;
use crate::manifest::Diagnostic;
use crate::resource::{
    Check, Creation, Elsewhere, Fix, Letters, Look, NamespacedName, Page, Permit, Reissue, Right,
    Schedule, Setting, escape,
};
use crate::trust::quoted;
use crate::workspace::outlook::{State, When};
use crate::workspace::view::{CertificateView, DamageCourse};

/// The words of an intent.
pub(in crate::cli) fn worded(fix: &Fix) -> String {
    Hint::from(fix).to_string()
}

/// Prefix of a command that root runs: nothing if root types it.
pub(in crate::cli) fn sudo() -> &'static str {
    if is_of_root() && !is_by_sudo() { "" } else { "sudo " }
}

/// Prefix of a command on this process's own files: nothing, but where sudo started it.
pub(in crate::cli) fn sudo_on_own() -> &'static str {
    if is_by_sudo() { "sudo " } else { "" }
}

/// The command that installs a package's example as the hook at this path; `None` where there is no
/// example of its name.
pub(in crate::cli) fn install_example(hook: &Path) -> Option<String> {
    let fix = missing_hook(hook);
    matches!(fix, Fix::PutProgram { example: Some(_), .. }).then(|| worded(&fix))
}

/// The help of a diagnostic, with what to do.
pub(in crate::cli) fn help(found: &Diagnostic) -> Option<String> {
    let parts = [found.help.clone(), found.fix.as_ref().map(worded)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Fixes for a certificate that needs attention, the first first, with the purpose of each.
pub(in crate::cli) fn of_certificate(view: &CertificateView) -> Vec<(Fix, &'static str)> {
    let key = || Some(view.key.clone());
    let renew = |how| Fix::renew(&view.key, how);
    match view.outlook.state {
        State::Damaged => damaged(view).into_iter().collect(),
        State::Invalid => match view.mistake.as_ref() {
            Some(mistake) if mistake.is_unread() => {
                let permit = rights::reading(&mistake.path).map(Fix::Permit);
                permit.map(|fix| (fix, "allow certctl to read it")).into_iter().collect()
            }
            mistake => {
                let check = Check::Manifests(mistake.map(|mistake| mistake.path.clone()));
                vec![(Fix::Check(check), "show the mistake in its line")]
            }
        },
        State::NoManifest => vec![
            (Fix::Forget(view.key.clone()), "stop managing it"),
            (Fix::Create(Creation::Certificate), "write a manifest for it, if the old one is lost"),
        ],
        State::Revoked if view.certificate.is_none() => {
            vec![(Fix::Forget(view.key.clone()), "stop managing it")]
        }
        State::Revoked if !view.is_issuing() => vec![(renew(Reissue::Plain), "replace it")],
        State::LinksMissing | State::FilesDamaged => {
            let what = match view.links {
                Some(_) => "restore its files, without an order",
                None => "order another key and certificate",
            };
            vec![(Fix::Issue(key()), what)]
        }
        State::PendingDeploy if is_only_owed(view) => {
            vec![(Fix::Deploy(key()), "run its outputs and hooks now")]
        }
        State::PendingDeploy => {
            vec![(Fix::Deploy(key()), "after fixing the cause, run its outputs and hooks")]
        }
        State::Waiting if view.orders_other_names() => {
            vec![(Fix::Issue(key()), "order the names of the manifest now")]
        }
        State::Waiting => {
            let look = check_of_wait(view).map(|fix| (fix, "show the answers that a CA gets"));
            let anew = (renew(Reissue::NewOrder), "start a new order");
            look.into_iter().chain([anew]).collect()
        }
        State::Failed if !view.has_failed() && obstructed(view).is_some() => {
            let look = check_of_wait(view).map(|fix| (fix, "show the answers that a CA gets"));
            look.into_iter().chain([(Fix::Issue(key()), "try again now")]).collect()
        }
        State::Revoked | State::Expired | State::Overdue | State::Deferred | State::Failed => {
            match view.outlook.when {
                // Until then the CA refuses.
                When::Waits(Some(_)) if view.failure().is_none() || view.waits_for_a_limit() => {
                    Vec::new()
                }
                When::Waits(Some(_)) => {
                    vec![(renew(Reissue::Plain), "after fixing it, try again at once")]
                }
                When::Waits(None) | When::NextRun => vec![(Fix::Issue(key()), "try again now")],
                When::Blocked | When::At(_) | When::UnderWay | When::Never => Vec::new(),
            }
        }
        State::Pending if view.went_back().is_some() => {
            vec![(renew(Reissue::Plain), "issue it from its manifest")]
        }
        State::Ready | State::Pending | State::Issuing | State::Renewing => Vec::new(),
    }
}

fn damaged(view: &CertificateView) -> Option<(Fix, &'static str)> {
    let damage = view.damage.as_ref()?;
    let permit = damage.entry.as_deref().and_then(WrongEntry::permit);
    if let Some(permit) = permit.filter(|one| !one.needs_look()) {
        return Some((permit.into(), "allow certctl to use this file"));
    }
    match damage.course {
        DamageCourse::SetAside if view.certificate.is_some() => {
            Some((Fix::Issue(Some(view.key.clone())), "set the damaged file aside now"))
        }
        DamageCourse::Unusable => Some((Fix::Check(Check::Host), "check the state and this host")),
        DamageCourse::SetAside | DamageCourse::LeftToNewer => None,
    }
}

/// Check for the first challenge with which something is wrong.
fn check_of_wait(view: &CertificateView) -> Option<Fix> {
    let spec = &obstructed(view)?.spec;
    check_of(&spec.kind, &escape(&spec.identifier.to_string()))
}

impl From<&Fix> for Hint {
    fn from(fix: &Fix) -> Self {
        let of = |verb: &str, name: &Option<NamespacedName>| {
            let name = name.as_ref().map(|name| format!(" {}", short(name))).unwrap_or_default();
            Self::Command(format!("certctl {verb}{name}"))
        };
        match fix {
            Fix::Issue(name) => of("issue", name),
            Fix::Renew { certificate, how } => {
                let flag = match how {
                    Reissue::Plain => "",
                    Reissue::NewOrder => " --new-order",
                };
                Self::Command(format!("certctl renew {}{flag}", short(certificate)))
            }
            Fix::Deploy(name) => of("deploy", name),
            Fix::Create(creation) => create(creation),
            Fix::Check(check) => match check {
                Check::Http(name) => Self::Command(format!("certctl check http {name}")),
                Check::TlsAlpn(name) => Self::Command(format!("certctl check tls-alpn {name}")),
                Check::Dns(name) => Self::Command(format!("certctl check dns {name}")),
                Check::Version => Self::Command("certctl version".to_owned()),
                Check::Acme(issuer) => Self::Command(format!("certctl check acme {issuer}")),
                Check::Account(issuer) => Self::Command(format!("certctl account show {issuer}")),
                Check::Accounts => Self::Command("certctl account show".to_owned()),
                Check::Host => Self::Command("certctl doctor".to_owned()),
                Check::Manifests(path) => {
                    let path = path.as_ref().map(|path| format!(" {}", escape(&quoted(path))));
                    Self::Command(format!("certctl validate{}", path.unwrap_or_default()))
                }
                Check::Served(place) => Self::Command(format!("certctl inspect {place}")),
                Check::Status(name) => of("status", name),
            },
            Fix::Explain(page) => Self::Command(format!("certctl {}", page_of(*page))),
            Fix::Set(setting) => Self::Text(set(setting)),
            Fix::RemoveOne { unused } => {
                let path = unused.display();
                Self::Text(format!(
                    "to use {path}: certctl issue {path}; otherwise remove one of them"
                ))
            }
            Fix::Permit(permit) => permit.into(),
            Fix::FreePort { is_denied: true, .. } => Self::Text(WITHOUT_PERMISSION.to_owned()),
            Fix::FreePort { port: 443, .. } => Self::Text(WITHOUT_PORT_443.to_owned()),
            Fix::FreePort { .. } => Self::Command("certctl help port-80".to_owned()),
            Fix::AllowUntrusted => Self::Text(ALLOW_UNTRUSTED.to_owned()),
            Fix::PutProgram { path, example: Some(example), by_root, .. } => {
                let sudo = if *by_root { sudo() } else { sudo_on_own() };
                let (example, path) = (quoted(example), quoted(path));
                Self::Shell(format!("{sudo}install -D -m 0755 {example} {path}"))
            }
            Fix::PutProgram { similar: Some(similar), .. } => {
                Self::Text(format!("did you mean `{similar}`? If not, {PUT_FILE}"))
            }
            Fix::PutProgram { .. } => Self::Text(PUT_FILE.to_owned()),
            Fix::CancelRevocation(name) => {
                Self::Command(format!("certctl revoke {} --cancel", short(name)))
            }
            Fix::Forget(name) => Self::Command(format!("certctl forget {}", short(name))),
            Fix::Deactivate(issuer) => {
                Self::Command(format!("certctl account deactivate {issuer} --yes"))
            }
            Fix::Schedule(schedule) => schedule.into(),
            Fix::Again(owner) => {
                Self::Again(owner.map(|owner| format!(" -u '#{owner}'")).unwrap_or_default())
            }
        }
    }
}

impl From<Fix> for Hint {
    fn from(fix: Fix) -> Self {
        Self::from(&fix)
    }
}

fn create(creation: &Creation) -> Hint {
    match creation {
        Creation::Certificate => Hint::Command("certctl create".to_owned()),
        Creation::Issuer => Hint::Text("to create one: certctl create issuer".to_owned()),
        Creation::Dns01Issuer { name, server, has_bundle } => {
            let server = server.as_ref().map(|server| {
                let bundle = if *has_bundle { " --ca-bundle FILE" } else { "" };
                format!(" --server {}{bundle}", quoted(Path::new(server)))
            });
            let server = server.unwrap_or_default();
            let line = format!("certctl create issuer {name}{server} --dns01 PROVIDER --print");
            Hint::Text(format!("{line} prints one"))
        }
    }
}

fn page_of(page: Page) -> &'static str {
    match page {
        Page::Failures => "help failures",
        Page::Hooks => "help hooks",
        Page::Solvers => "explain issuer.spec.acme.solvers",
        Page::CaBundle => "explain issuer.spec.acme.caBundle",
    }
}

fn set(setting: &Setting) -> String {
    match setting {
        Setting::Value(value) => format!("write {value}"),
        Setting::Folder => "name another folder in the annotation".to_owned(),
        Setting::FolderBelow(roots) => {
            let roots: Vec<String> = roots.iter().map(|root| quoted(root)).collect();
            format!("name a folder below {} in the annotation", roots.join(" or "))
        }
        Setting::OutputDir(elsewhere) => output_dir(elsewhere),
        Setting::OutputGroup => {
            "replace certctl/output-owner by certctl/output-group, or copy the files in a deploy \
             hook that runs as root: certctl help hooks"
                .to_owned()
        }
        Setting::OutputOwner(new_folder) => {
            let owner = if let Right::Anew { owner, .. } = new_folder.what {
                format!(", or certctl/output-owner: \"{owner}\"")
            } else {
                String::new()
            };
            format!("{}{owner}", Hint::from(new_folder))
        }
        Setting::DocumentRoot(made) => {
            let made = Hint::from(&**made);
            format!("name the document root of the web server, or create this folder: {made}")
        }
        Setting::Webroot => WAYS_OF_WEBROOT.to_owned(),
        Setting::RootsManifest => "read it, then move it into root's config directory".to_owned(),
        Setting::CaBundle => "set caBundle instead".to_owned(),
        Setting::NextRoot => "add the new root of the CA's server beside it, before clients stop \
                              trusting this one"
            .to_owned(),
        Setting::Resolver => {
            "name a server that answers in /etc/resolv.conf, or by --resolver".to_owned()
        }
    }
}

fn output_dir(elsewhere: &Elsewhere) -> String {
    let another = |made: &Permit| {
        let other = made.path.display();
        format!("in certctl/output-dir, such as {other}, and make it: {}", Hint::from(made))
    };
    match elsewhere {
        Elsewhere::Changeable(folder) => format!(
            "name another folder in certctl/output-dir: users other than root can redirect {}",
            folder.display()
        ),
        Elsewhere::Served(webroot) => format!(
            "name a folder outside of {} in certctl/output-dir: a web server serves its files",
            webroot.display()
        ),
        Elsewhere::OfAnother { folder, user } => format!(
            "{} belongs to user {user}: run certctl as that user, or name another folder in \
             certctl/output-dir",
            folder.display()
        ),
        Elsewhere::Shared(other) => {
            format!("name a folder for certctl alone {}", another(other))
        }
        Elsewhere::Closed { folder, user, other } => {
            let folder = folder.display();
            format!("{user} may not enter {folder}: name a folder elsewhere {}", another(other))
        }
        Elsewhere::Perhaps(own) => format!(
            "if {} is for certctl alone: {}; if not, name another folder in certctl/output-dir",
            own.path.display(),
            Hint::from(&**own)
        ),
        Elsewhere::Own { link, certificate } => format!(
            "give each Certificate its own certctl/output-dir; if no other one uses this, run {}rm \
             {} and certctl deploy {}",
            sudo(),
            quoted(link),
            short(certificate)
        ),
    }
}

impl From<&Permit> for Hint {
    fn from(permit: &Permit) -> Self {
        let path = quoted(&permit.path);
        let looked = |line: String, look: &Option<Look>| match look {
            None => Self::Shell(line),
            Some(look) => Self::Text(format!("{line} # after checking {}", look_at(*look))),
        };
        let (root, own) = (sudo(), sudo_on_own());
        match &permit.what {
            Right::Folder { user, group, mode } => {
                Self::Shell(format!("{root}install -d -m {mode:04o} -o {user} -g {group} {path}"))
            }
            Right::Shared { user, letters, has_program } => {
                let package = if *has_program { "" } else { "   # of the package acl" };
                let letters = letters_of(*letters);
                Self::Shell(format!("{root}setfacl -m u:{user}:{letters} {path}{package}"))
            }
            Right::Group { group, letters, is_secret } => {
                let letters = format!("g+{}", letters_of(*letters));
                let mode = if *is_secret { "0640" } else { &letters };
                Self::Shell(format!("{root}chgrp {group} {path} && {root}chmod {mode} {path}"))
            }
            Right::ByOwner { user, letters } => Self::Text(format!(
                "as the owner of the folder: mkdir -p {path} && setfacl -m u:{user}:{} {path}",
                letters_of(*letters)
            )),
            Right::Own { user, is_whole, look, is_open } => {
                let whole = if *is_whole { "-R " } else { "" };
                let line = format!("{root}chown {whole}{user} {path}");
                let closed =
                    if *is_open { format!(" && {own}chmod go-rwx {path}") } else { String::new() };
                looked(line + &closed, look)
            }
            Right::Private { is_whole } => {
                let whole = if *is_whole { "-R " } else { "" };
                Self::Shell(format!("{own}chmod {whole}go-rwx {path}"))
            }
            Right::OfOwner { mode } => {
                let mode = mode.map_or_else(|| "u+rwx".to_owned(), |mode| format!("{mode:04o}"));
                Self::Shell(format!("{own}chmod {mode} {path}"))
            }
            Right::Closed { is_secret, look } => {
                let mode = if *is_secret { "g-w,o-rwx" } else { "go-w" };
                looked(format!("chmod {mode} {path}"), look)
            }
            Right::Anew { owner, is_folder: true } => Self::Text(format!(
                "check the files in {path}, which user {owner} could have written; copy the good \
                 ones to a new folder"
            )),
            Right::Anew { owner, is_folder: false } => Self::Text(format!(
                "check {path}, which user {owner} could have written; then replace it by a new \
                 file"
            )),
            Right::Run => Self::Shell(format!("{own}chmod a+rx {path}")),
            Right::Folders => Self::Shell(format!("mkdir -p {path}")),
            Right::Secret { group: Some(group) } => {
                Self::Shell(format!("{root}install -D -m 0640 -g {group} /dev/stdin {path}"))
            }
            Right::Secret { group: None } => {
                Self::Shell(format!("{own}install -D -m 0600 /dev/stdin {path}"))
            }
            Right::WithoutDefaultAcl => Self::Shell(format!("setfacl -k {path}")),
            Right::Away { to } => Self::Shell(format!("{root}mv {path} {}", quoted(to))),
        }
    }
}

fn letters_of(letters: Letters) -> &'static str {
    match letters {
        Letters::Read => "r",
        Letters::Enter => "x",
        Letters::List => "rx",
        Letters::Write => "rwx",
    }
}

fn look_at(look: Look) -> &'static str {
    match look {
        Look::File => "its content",
        Look::Folder => "its files",
    }
}

impl From<&Schedule> for Hint {
    fn from(schedule: &Schedule) -> Self {
        let systemctl = |of_user: bool| {
            if of_user {
                "systemctl --user".to_owned()
            } else {
                format!("{}systemctl", sudo_on_own())
            }
        };
        match schedule {
            Schedule::Unmask { unit, of_user } => {
                Self::Shell(format!("{} unmask {unit}", systemctl(*of_user)))
            }
            Schedule::Start { of_user } => {
                Self::Shell(format!("{} start {TIMER}", systemctl(*of_user)))
            }
            Schedule::Enable { of_user } => {
                Self::Shell(format!("{} enable --now {TIMER}", systemctl(*of_user)))
            }
            Schedule::Log { of_user } => {
                let (sudo, user) = if *of_user { ("", " --user") } else { (sudo(), "") };
                Self::Shell(format!("{sudo}journalctl{user} -u 'certctl*' -n 30"))
            }
            Schedule::Socket => Self::Shell("systemctl status certctl.socket".to_owned()),
            Schedule::PrintSystemd => Self::Command("certctl timer print --systemd".to_owned()),
            Schedule::PrintLaunchd => Self::Command("certctl timer print --launchd".to_owned()),
            Schedule::PrintCron { state: Some(state), .. } => {
                let state = quoted(state);
                Self::Shell(format!("certctl timer print --cron --state-dir {state}"))
            }
            Schedule::PrintCron { of_user: true, .. } => {
                Self::Command(format!("certctl timer print --cron --user {}", own_user()))
            }
            Schedule::PrintCron { of_user: false, .. } => {
                Self::Command("certctl timer print --cron --dir /etc/cron.d".to_owned())
            }
            Schedule::LookAtCron => {
                Self::Text("check that cron runs on this host, and read its mail or log".to_owned())
            }
            Schedule::SetClock => Self::Shell("timedatectl set-ntp true".to_owned()),
        }
    }
}

/// Fixes for a webroot whose port no web server has.
const WAYS_OF_WEBROOT: &str = "start the web server that serves the folder; without one, remove \
                               certctl/http01-webroot and certctl answers itself";
const WITHOUT_PERMISSION: &str = "run it as root, or with CAP_NET_BIND_SERVICE (ports below \
                                  1024); for other ways: certctl help port-80";
const WITHOUT_PORT_443: &str = "only one program can have port 443: stop the other one, or remove the \
                                annotation certctl/solver to use HTTP-01 on port 80";
const ALLOW_UNTRUSTED: &str = "--allow-untrusted, or the annotation certctl/allow-untrusted: \
                               \"true\", replaces it";
const PUT_FILE: &str = "put an executable file there, or remove the annotation";

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::Arguments;

    #[test]
    fn each_command_of_ours_is_one() {
        let web = || Some(NamespacedName::new("default", "web"));
        let mut all = vec![
            Fix::Issue(None),
            Fix::Issue(web()),
            Fix::Deploy(web()),
            Fix::Create(Creation::Certificate),
            Fix::FreePort { port: 80, is_denied: false },
            Fix::Deactivate("le".to_owned()),
            Fix::Forget(NamespacedName::new("default", "web")),
            Fix::CancelRevocation(NamespacedName::new("default", "web")),
            Fix::Schedule(Schedule::PrintSystemd),
            Fix::Schedule(Schedule::PrintLaunchd),
            Fix::Schedule(Schedule::PrintCron { of_user: true, state: None }),
            Fix::Schedule(Schedule::PrintCron { of_user: false, state: None }),
        ];
        let name = || "www.example.com".to_owned();
        all.extend([Page::Failures, Page::Hooks, Page::Solvers, Page::CaBundle].map(Fix::Explain));
        all.extend(
            [Reissue::Plain, Reissue::NewOrder]
                .map(|how| Fix::Renew { certificate: NamespacedName::new("apps", "web"), how }),
        );
        let checks = [
            Check::Http(name()),
            Check::TlsAlpn(name()),
            Check::Dns(name()),
            Check::Acme("le".to_owned()),
            Check::Account("le".to_owned()),
            Check::Accounts,
            Check::Host,
            Check::Manifests(None),
            Check::Version,
            Check::Status(web()),
            Check::Served("www.example.com:443".to_owned()),
        ];
        all.extend(checks.map(Fix::Check));
        for fix in all {
            let Hint::Command(line) = Hint::from(&fix) else { panic!("{fix:?}") };
            let parsed = Arguments::try_parse_from(line.split(' '));
            assert!(parsed.is_ok() || line.starts_with("certctl help "), "{line}");
        }
    }

    #[test]
    fn a_permission_is_a_command_for_who_may_run_it() {
        let line = |what| worded(&Permit::new("/a b", what).into());
        let (root, own) = (sudo(), sudo_on_own());
        let (user, group) = ("certctl".to_owned(), "www".to_owned());
        let shared =
            Right::Shared { user: user.clone(), letters: Letters::List, has_program: true };
        let group =
            |is_secret| Right::Group { group: group.clone(), letters: Letters::Read, is_secret };
        let owned =
            |look, is_open| Right::Own { user: user.clone(), is_whole: true, look, is_open };
        for (what, expected) in [
            (shared, format!("{root}setfacl -m u:certctl:rx '/a b'")),
            (group(true), format!("{root}chgrp www '/a b' && {root}chmod 0640 '/a b'")),
            (group(false), format!("{root}chgrp www '/a b' && {root}chmod g+r '/a b'")),
            (
                owned(Some(Look::File), true),
                format!(
                    "{root}chown -R certctl '/a b' && {own}chmod go-rwx '/a b' # after checking its content"
                ),
            ),
            (owned(None, false), format!("{root}chown -R certctl '/a b'")),
            (Right::OfOwner { mode: Some(0o700) }, format!("{own}chmod 0700 '/a b'")),
            (Right::OfOwner { mode: None }, format!("{own}chmod u+rwx '/a b'")),
            (
                Right::Closed { is_secret: true, look: Some(Look::File) },
                "chmod g-w,o-rwx '/a b' # after checking its content".to_owned(),
            ),
            (
                Right::Closed { is_secret: false, look: Some(Look::Folder) },
                "chmod go-w '/a b' # after checking its files".to_owned(),
            ),
            (
                Right::Anew { owner: 7, is_folder: false },
                "check '/a b', which user 7 could have written; then replace it by a new file"
                    .to_owned(),
            ),
        ] {
            assert_eq!(line(what), expected);
        }
    }
}
