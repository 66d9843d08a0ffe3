//! From manifests and state to what is shown.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::scene::Scene;
use super::view::{CertificateView, IssuerView, Mistake};
use super::{Noun, Room, certificates, issuers, needs_attention, objects_of};
use crate::cli::args::{Format, StatusArgs};
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::run::{on_one_thread, open_state};
use crate::cli::shell::Shell;
use crate::cli::target::NameTarget;
use crate::cli::time;
use crate::cli::work::{Wanted, Work, gather, known};
use crate::controller::{Intervals, backoff, readiness};
use crate::engine::inputs::account_id;
use crate::engine::ports::{Clock as _, SystemClock};
use crate::engine::{Task, live_files, look, published_pair};
use crate::manifest::{Blocks, Diagnostic, ObjectId};
use crate::resource::{Account, AccountIdentity, CertificateRecord, Issuer, NamespacedName, Order};
use crate::store::{self, OpenMode, Records, StateDirectory};

/// How many events a page shows.
const EVENTS: usize = 50;

/// `certctl status`.
pub(crate) fn status(args: &StatusArgs, shell: &mut Shell) -> Result<ExitCode, CliError> {
    let (noun, words) = Noun::split(&args.words);
    let mut names = Vec::new();
    for word in words {
        let text = word.to_string_lossy();
        names.push(NameTarget::parse(&text).ok_or_else(|| {
            CliError::new(ExitCode::Usage, format_args!("`{text}` is no name"))
                .hinted("certctl status -f FILE shows what a file is about")
        })?);
    }
    let path = shell.environment.state_dir(shell.global.state_dir.as_deref())?.path;
    on_one_thread(async {
        let state = open_state(&path, OpenMode::ReadOnly)?;
        let records = known(&state).await?;
        let work = gather(shell, &Wanted::default(), &records)?;
        let scene = Scene {
            now: SystemClock.now(),
            zone: time::system_zone(),
            color: shell.output.data_has_color(),
            format: shell.global.format(),
            room: Room::of_stdout(shell.environment.is_utf8()),
        };
        let views = Box::pin(views(shell, &state, &work, records, scene.now)).await?;
        let text = match noun {
            Noun::Certificate => {
                let chosen = chosen(&views, &names, shell.global.namespace())?;
                let text = certificates(&chosen, !names.is_empty(), &scene)?;
                shell.output.data(&text)?;
                let attention = needs_attention(&chosen, scene.now);
                return Ok(if shell.global.exit_code && attention {
                    ExitCode::Attention
                } else {
                    ExitCode::Done
                });
            }
            Noun::Issuer => issuers(&issuer_views(&state, &work).await?, &names, &scene)?,
            Noun::CertificateRequest | Noun::Order | Noun::Challenge => {
                objects_of(noun, &views, &names, &scene)?
            }
        };
        shell.output.data(&text)?;
        Ok(ExitCode::Done)
    })
}

/// Writes the metrics of the certificates, as they are now, to the file of `--metrics-file`.
pub(crate) async fn write_metrics(
    shell: &mut Shell,
    state: &StateDirectory,
) -> Result<(), CliError> {
    let Some(path) = shell.global.metrics_file.clone() else { return Ok(()) };
    let records = known(state).await?;
    let work = gather(shell, &Wanted { is_said: true, ..Wanted::default() }, &records)?;
    let scene = Scene {
        now: SystemClock.now(),
        zone: jiff::tz::TimeZone::UTC,
        color: false,
        format: Format::Prometheus,
        room: None,
    };
    let views = Box::pin(views(shell, state, &work, records, scene.now)).await?;
    let text = certificates(&views, false, &scene)?;
    store::atomic::write(&path, text.as_bytes(), METRICS_MODE).map_err(|error| {
        CliError::new(ExitCode::Output, format_args!("--metrics-file: {error}"))
            .hinted("the run itself is done; its folder must exist and be writable")
    })
}

/// Whoever collects metrics is another user.
const METRICS_MODE: u32 = 0o644;

fn chosen(
    views: &[CertificateView],
    names: &[NameTarget],
    namespace: Option<&str>,
) -> Result<Vec<CertificateView>, CliError> {
    if names.is_empty() {
        return Ok(views.to_vec());
    }
    let keys: Vec<NamespacedName> = views.iter().map(|view| view.key.clone()).collect();
    let mut chosen = Vec::new();
    for name in names {
        let key = name.find(&keys, namespace)?;
        chosen.extend(views.iter().find(|view| view.key == key).cloned());
    }
    Ok(chosen)
}

/// One view per certificate that a manifest or the state knows, by namespace and name.
async fn views(
    shell: &Shell,
    state: &StateDirectory,
    work: &Work,
    records: Vec<(NamespacedName, CertificateRecord)>,
    now: Timestamp,
) -> Result<Vec<CertificateView>, CliError> {
    let mut views = BTreeMap::new();
    for (key, record) in records {
        let here = shell.global.namespace().is_none_or(|namespace| key.namespace == namespace);
        if here && shell.global.selector.is_none() {
            let mistake = mistake(work, &key, &record);
            views.insert(key.clone(), without_manifest(state, key, record, mistake).await?);
        }
    }
    for task in &work.tasks {
        let view = Box::pin(with_manifest(state, task, now)).await?;
        views.insert(view.key.clone(), view);
    }
    Ok(views.into_values().collect())
}

async fn without_manifest(
    state: &StateDirectory,
    key: NamespacedName,
    record: CertificateRecord,
    mistake: Option<Mistake>,
) -> Result<CertificateView, CliError> {
    let secret = NamespacedName::new(&key.namespace, &record.secret_name);
    let live = live_files(state, &secret, Some(&record)).await?;
    Ok(CertificateView {
        certificate: None,
        issuer: None,
        account: None,
        leaf: live.files.and_then(|files| published_pair(&files).certificate),
        links: live.repair,
        requests: requests(state, &key).await?,
        orders: orders(state, &key).await?,
        events: state.events(&key, EVENTS)?,
        strays: state.strays(&key)?,
        secret_path: state.secret_path(&secret)?,
        next_attempt: None,
        renewal_time: None,
        mistake,
        record: Some(record),
        key,
    })
}

/// The mistake that keeps a certificate from being found in its manifest, which is there: its own,
/// else the first one of the file, else the first of what it refers to.
fn mistake(work: &Work, key: &NamespacedName, record: &CertificateRecord) -> Option<Mistake> {
    let manifest = record.manifest.as_ref().filter(|path| path.exists())?;
    let id = ObjectId { kind: "Certificate".to_owned(), key: key.clone() };
    let is_own = |found: &&Diagnostic| found.blocks == Blocks::Object(id.clone());
    let is_in_it = |found: &&Diagnostic| {
        std::fs::canonicalize(&found.path).is_ok_and(|path| path == *manifest)
    };
    let errors = || work.loaded.diagnostics.iter().filter(|found| found.is_error());
    let is_blocked = work.loaded.blocked.contains(&id);
    let found = errors().find(is_own).or_else(|| errors().find(is_in_it));
    let found = found.or_else(|| errors().next().filter(|_| is_blocked))?;
    Some(Mistake { message: found.headline(), path: found.path.clone(), line: found.line })
}

/// Conditions and dates are computed from what is published and the time of asking.
async fn with_manifest(
    state: &StateDirectory,
    task: &Task,
    now: Timestamp,
) -> Result<CertificateView, CliError> {
    let intervals = Intervals { self_check: jiff::SignedDuration::ZERO };
    let key = task.certificate.metadata.key();
    let is_known = Records::new(state).certificate(&key).await?.is_some();
    let snapshot = look(state, task, intervals, now).await?;
    let record = readiness::refreshed(&snapshot, now);
    let secret = task.certificate.secret_key();
    let leaf = snapshot.secret.as_ref().and_then(|pair| pair.certificate.clone());
    Ok(CertificateView {
        next_attempt: backoff::next_attempt(&record).filter(|time| *time > now),
        renewal_time: record.status.renewal_time,
        record: (is_known || leaf.is_some()).then_some(record),
        leaf,
        links: snapshot.repair,
        requests: requests(state, &key).await?,
        orders: orders(state, &key).await?,
        events: state.events(&key, EVENTS)?,
        strays: state.strays(&key)?,
        secret_path: state.secret_path(&secret)?,
        account: snapshot.account,
        certificate: Some(task.certificate.clone()),
        issuer: Some(task.issuer.clone()),
        mistake: None,
        key,
    })
}

async fn requests(
    state: &StateDirectory,
    key: &NamespacedName,
) -> Result<Vec<crate::resource::CertificateRequest>, CliError> {
    let all = Records::new(state).requests(key).await?;
    Ok(all.into_iter().filter_map(|(_, kept)| Some(kept.ok()?.value)).collect())
}

async fn orders(state: &StateDirectory, key: &NamespacedName) -> Result<Vec<Order>, CliError> {
    let all = Records::new(state).all_orders(key).await?;
    Ok(all.into_iter().filter_map(|(_, kept)| Some(kept.ok()?.value)).collect())
}

async fn issuer_views(state: &StateDirectory, work: &Work) -> Result<Vec<IssuerView>, CliError> {
    let mut views = Vec::new();
    for issuer in &work.loaded.issuers {
        let account = account_of(state, issuer).await?;
        views.push(IssuerView { issuer: issuer.clone(), account });
    }
    views.sort_by_key(|view| view.issuer.metadata.key());
    Ok(views)
}

async fn account_of(state: &StateDirectory, issuer: &Issuer) -> Result<Option<Account>, CliError> {
    let identity = AccountIdentity {
        directory_url: issuer.acme.server.clone(),
        kind: issuer.kind,
        namespace: issuer.metadata.namespace.clone(),
        secret_name: issuer.acme.private_key_secret_ref.name.clone(),
    };
    let kept = Records::new(state).account(&account_id(&identity)).await?;
    Ok(kept.map(|kept| kept.value))
}
