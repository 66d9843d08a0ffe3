//! `certctl account`: the ACME accounts at the CAs.

use clap::{Args, Subcommand, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::error::CliError;
use crate::cli::exit::{Ending, ExitCode};
use crate::cli::folders;
use crate::cli::global::Format;
use crate::cli::render::document::{self, Object};
use crate::cli::render::message::{Level, Message};
use crate::cli::render::output::escape;
use crate::cli::render::report::{self, short};
use crate::cli::render::text::Text;
use crate::cli::run::on_one_thread;
use crate::cli::shell::Shell;
use crate::cli::targets::{open, targets};
use crate::cli::verb::VerbArgs;
use crate::cli::verbs::check::unused_key_line;
use crate::cli::words::diagnosis::{Diagnosis, of_failure};
use crate::cli::words::fix::{self, sudo_on_own};
use crate::cli::words::hint::Hint;
use crate::controller::EffectError;
use crate::engine::inputs::account_id;
use crate::engine::ports::{Collection, Documents, Key, Store};
use crate::engine::{AccountRequest, Evidence, IssuerAccess};
use crate::manifest::{Diagnostic, Loaded};
use crate::resource::{
    Account, AccountIdentity, AccountStep, Check, Doing, Failure, Fix, Issuer, IssuerKind,
    NamespacedName, Rfc3339,
};
use crate::store::Records;
use crate::trust::quoted;
use crate::workspace::check::{AccountKey, has_unused_key};
use crate::workspace::target::{ISSUERS, NameTarget};
use crate::workspace::unmanaged::lost_key;
use crate::workspace::{Job, Request, Targets, Workspace};
use std::path::PathBuf;

/// Show, register, update or deactivate ACME accounts.
#[derive(Debug, Subcommand)]
pub enum AccountVerb {
    /// Show the accounts in the state directory.
    Show(AccountIssuerArgs),
    /// Register an account before the first issuance, unless there is one.
    Register(AccountIssuerArgs),
    /// Send the Issuer's e-mail address to the CA.
    Update(AccountIssuerArgs),
    /// Print the thumbprint of an account key, or the lines with which a server answers any token.
    Thumbprint(AccountThumbprintArgs),
    /// Deactivate an account permanently; the next issuance registers a new one.
    Deactivate(AccountDeactivateArgs),
}

impl VerbArgs for AccountVerb {
    fn run(&self, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
        account(self, shell)
    }
}

/// `certctl account show|register|update|thumbprint`.
#[derive(Debug, Args)]
pub struct AccountIssuerArgs {
    /// An Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME [default: all]
    #[arg(value_name = "ISSUER")]
    pub issuer: Option<String>,
}

/// `certctl account deactivate`.
#[derive(Debug, Args)]
pub struct AccountDeactivateArgs {
    /// The Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME.
    #[command(flatten)]
    pub issuer: AccountIssuerArgs,
    /// Confirm without a question; required without a terminal. A CA never reactivates an account.
    #[arg(long)]
    pub yes: bool,
}

/// `certctl account thumbprint`.
#[derive(Debug, Args)]
pub struct AccountThumbprintArgs {
    /// The Issuer or ClusterIssuer, as NAME or NAMESPACE/NAME.
    #[command(flatten)]
    pub issuer: AccountIssuerArgs,
    /// Print the lines with which this server answers any token
    #[arg(long = "for", value_name = "SERVER", value_enum)]
    pub server: Option<Server>,
}

/// A server whose lines are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Server {
    Nginx,
    Apache,
    Haproxy,
    Caddy,
}

impl Server {
    fn lines(self, thumbprint: &str) -> String {
        let lines = match self {
            Self::Nginx => include_str!("account/stateless/nginx.txt"),
            Self::Apache => include_str!("account/stateless/apache.txt"),
            Self::Haproxy => include_str!("account/stateless/haproxy.txt"),
            Self::Caddy => include_str!("account/stateless/caddy.txt"),
        };
        lines.replace("THUMBPRINT", thumbprint)
    }
}

/// `certctl account`.
pub(crate) fn account(verb: &AccountVerb, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    match verb {
        AccountVerb::Show(args) => on_one_thread(show(args, shell)),
        AccountVerb::Register(args) => {
            on_one_thread(perform(args, AccountRequest::Registered, true, shell))
        }
        AccountVerb::Update(args) => {
            on_one_thread(perform(args, AccountRequest::Updated, true, shell))
        }
        AccountVerb::Thumbprint(args) => on_one_thread(thumbprint(args, shell)),
        AccountVerb::Deactivate(args) => {
            on_one_thread(perform(&args.issuer, AccountRequest::Deactivated, args.yes, shell))
        }
    }
}

/// The selected accounts, and what is known beside them.
struct Selected {
    workspace: Workspace,
    targets: Targets,
    accounts: Vec<(Account, Option<AccountKey>)>,
}

/// The accounts in the state directory: those of the named Issuer, or all.
async fn selected(args: &AccountIssuerArgs, shell: &mut Shell) -> Result<Selected, CliError> {
    let mut workspace = open(shell).await?;
    let mut accounts = accounts(workspace.state()).await?;
    let targets = if args.issuer.is_some() {
        targets(shell, &mut workspace, &Request::default())?
    } else {
        workspace.everything_shown()
    };
    if args.issuer.is_some() {
        let issuers = chosen(shell, args, &targets.loaded.issuers)?;
        accounts.retain(|(account, _)| issuers.iter().any(|issuer| is_of(account, issuer)));
    }
    Ok(Selected { workspace, targets, accounts })
}

async fn show(args: &AccountIssuerArgs, shell: &mut Shell) -> Result<Vec<Ending>, CliError> {
    let Selected { workspace, targets, accounts } = selected(args, shell).await?;
    let issuers = chosen(shell, args, &targets.loaded.issuers)?;
    let document = |(account, key): &(Account, Option<AccountKey>)| {
        Object(AccountDocument::from((account, key.as_ref(), &*targets.loaded.issuers)))
    };
    let documents: Vec<Object<AccountDocument>> = accounts.iter().map(document).collect();
    match shell.global.format() {
        format @ (Format::Json | Format::Yaml) => {
            shell.output.data(&document::list(&documents, args.issuer.is_some(), format)?)?;
        }
        Format::Text | Format::Wide => {
            let pages: Vec<String> = documents.iter().map(|one| one.0.page()).collect();
            shell.output.data(&pages.join("\n"))?;
            advise_on_unused(shell, &workspace, &accounts, &targets.loaded);
            let lost = accounts.iter().filter(|(account, key)| has_lost_key(account, key.as_ref()));
            for (account, _) in lost {
                let issuer = targets.loaded.issuers.iter().find(|issuer| is_of(account, issuer));
                shell.print_findings(&[lost_key(&account.identity, issuer)]);
            }
            if pages.is_empty() {
                let text = no_account(shell, issuers.is_empty());
                shell.output.talk(Level::Info, text);
            }
        }
        Format::Name | Format::Prometheus => {
            return Err(CliError::new(ExitCode::Usage, "account show has -o json and -o yaml"));
        }
    }
    warn_of_unused_keys(shell, &workspace, &targets, &issuers).await;
    Ok(Vec::new())
}

/// Advice on accounts that no Issuer names and that were never registered. An Issuer with a mistake
/// may name them.
fn advise_on_unused(
    shell: &mut Shell,
    workspace: &Workspace,
    accounts: &[(Account, Option<AccountKey>)],
    loaded: &Loaded,
) {
    if loaded.diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    // Of another step, an answer to its registration may have been lost.
    let is_unused = |account: &&Account| {
        account.next_step == AccountStep::Register
            && !loaded.issuers.iter().any(|issuer| is_of(account, issuer))
    };
    for account in accounts.iter().map(|(account, _)| account).filter(is_unused) {
        let AccountIdentity { directory_url, namespace, secret_name, .. } = &account.identity;
        let secret = NamespacedName::new(namespace, secret_name);
        let text = format!(
            "no manifest names the account with privateKeySecretRef {} at {directory_url}, and it \
             was never registered: if you no longer need the Issuer, remove it",
            short(&secret)
        );
        let account = Key::Account(account_id(&account.identity));
        let place = PathBuf::from(workspace.state().documents().place(&account));
        let folder = place.parent().unwrap_or(&place).to_owned();
        let command = format!("{}rm -r {}", sudo_on_own(), quoted(&folder));
        shell.output.print(&Message::advice(&escape(&text), Some(&Hint::Shell(command))));
    }
}

/// Way to the first account.
fn no_account(shell: &Shell, is_without_issuer: bool) -> Text {
    match folders::unread(shell) {
        Some(path) => {
            let mut text =
                Text::from(format!("no account of this user; {path} exists and was not read: "));
            text.whole(&folders::sudo(" account show"));
            text
        }
        None if is_without_issuer => {
            Text::from("no account yet, and no Issuer to register one for; to create one: ")
                .with_command("certctl create issuer")
        }
        None => {
            Text::from("no account yet; to register one: ").with_command("certctl account register")
        }
    }
}

/// Warns of keys in the secrets of these Issuers that are not those of their accounts.
async fn warn_of_unused_keys(
    shell: &mut Shell,
    workspace: &Workspace,
    targets: &Targets,
    issuers: &[&Issuer],
) {
    let cluster_resource_namespace = &workspace.settings().cluster_resource_namespace;
    for issuer in issuers {
        let access = IssuerAccess { issuer, secrets: &targets.secrets, cluster_resource_namespace };
        if has_unused_key(workspace.state(), access).await {
            let why = unused_key_line(&issuer.acme.private_key_secret_ref.name);
            let text = format!("{}: {why}", issuer.metadata.name);
            shell.output.talk(Level::Warn, escape(&text));
        }
    }
}

/// Every account and its key type; a deactivated account has no key.
async fn accounts(state: &impl Store) -> Result<Vec<(Account, Option<AccountKey>)>, CliError> {
    let records = Records::new(state.documents());
    let mut accounts = Vec::new();
    for key in records.keys(&Collection::Accounts).await? {
        if let Key::Account(id) = key
            && let Some(stored) = records.account(&id).await?
        {
            let pem = records.account_key(&id).await?;
            let key =
                pem.and_then(|pem| AccountKey::from_pem(std::str::from_utf8(&pem).ok()?).ok());
            accounts.push((stored.value, key));
        }
    }
    accounts.sort_by(|(one, _), (other, _)| one.identity.cmp(&other.identity));
    Ok(accounts)
}

/// An ACME account.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct AccountDocument {
    /// The URL of the CA's directory.
    server: String,
    state: State,
    /// Its URL at the CA.
    uri: Option<String>,
    /// Contacts that the CA has.
    contacts: Vec<String>,
    issuer_kind: IssuerKind,
    /// Empty for ClusterIssuers.
    namespace: String,
    /// The names of its issuers.
    issuers: Vec<String>,
    /// `privateKeySecretRef.name`.
    private_key_secret_name: String,
    /// The type of its key.
    key: Option<String>,
    /// SHA-256, of the public key.
    key_thumbprint: String,
    /// When this host registered it.
    registered_at: Option<Rfc3339>,
    /// Terms that the account agreed to.
    terms_of_service: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum State {
    Unregistered,
    Registered,
    /// Registered, and the CA is yet to be sent the contacts.
    ContactsPending,
    /// Registered, and its key is lost.
    KeyLost,
    Deactivating,
    Deactivated,
}

impl From<(&Account, Option<&AccountKey>, &[Issuer])> for AccountDocument {
    fn from((account, key, issuers): (&Account, Option<&AccountKey>, &[Issuer])) -> Self {
        let identity = &account.identity;
        let state = match account.next_step {
            AccountStep::Register | AccountStep::Find => State::Unregistered,
            AccountStep::UpdateContacts => State::ContactsPending,
            AccountStep::Nothing if key.is_none() => State::KeyLost,
            AccountStep::Nothing => State::Registered,
            AccountStep::Deactivate => State::Deactivating,
            AccountStep::Deactivated => State::Deactivated,
        };
        let issuers = issuers.iter().filter(|issuer| is_of(account, issuer));
        Self {
            server: identity.directory_url.clone(),
            state,
            uri: account.url.clone(),
            contacts: account.contacts.clone(),
            issuer_kind: identity.kind,
            namespace: identity.namespace.clone(),
            issuers: issuers.map(|issuer| issuer.metadata.name.clone()).collect(),
            private_key_secret_name: identity.secret_name.clone(),
            key: key.map(AccountKey::name),
            key_thumbprint: account.public_key.0.clone(),
            registered_at: account.registered_at.map(Rfc3339),
            terms_of_service: account.terms_of_service.clone(),
        }
    }
}

impl AccountDocument {
    fn page(&self) -> String {
        let state = match self.state {
            State::Unregistered => "not registered yet",
            State::Registered => "registered",
            State::ContactsPending => "registered; contacts not sent to the CA yet",
            State::KeyLost => "registered; its key is lost",
            State::Deactivating => "deactivation pending",
            State::Deactivated => "deactivated; the next issuance registers another",
        };
        let or_none = |text: &str| match text {
            "" => "<none>".to_owned(),
            text => escape(text).into_owned(),
        };
        let named = |name| NamespacedName::new(&self.namespace, name);
        let issuers = self.issuers.iter().map(|name| short(&named(name))).collect::<Vec<_>>();
        format!(
            "Directory: {}\nState: {state}\nAccount: {}\nContacts: {}\nIssuer: {}\n\
             Issuer Kind: {}\nKey: {}, privateKeySecretRef {}\nKey Thumbprint SHA-256: {}\n\
             Terms of Service: {}\n",
            escape(&self.server),
            or_none(self.uri.as_deref().unwrap_or_default()),
            or_none(&self.contacts.join(", ")),
            or_none(&issuers.join(", ")),
            self.issuer_kind,
            or_none(self.key.as_deref().unwrap_or_default()),
            short(&named(&self.private_key_secret_name)),
            self.key_thumbprint,
            or_none(self.terms_of_service.as_deref().unwrap_or_default()),
        )
    }
}

/// The thumbprint of an account key.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct ThumbprintDocument {
    /// The URL of the CA's directory.
    server: String,
    /// The names of its issuers.
    issuers: Vec<String>,
    /// SHA-256 of the key as a JWK (RFC 7638), in base64url.
    thumbprint: String,
    /// With `--for`: the lines of the server's configuration.
    configuration: Option<String>,
}

async fn thumbprint(
    args: &AccountThumbprintArgs,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    let Selected { targets, accounts, .. } = selected(&args.issuer, shell).await?;
    let keys = accounts.iter().filter_map(|(account, key)| Some((account, key.as_ref()?)));
    let mut keys: Vec<_> = keys.collect();
    keys.dedup_by(|(_, one), (_, other)| one.thumbprint() == other.thumbprint());
    let (account, key) = match keys.as_slice() {
        [] => {
            let error = CliError::new(ExitCode::Manifest, "there is no account key yet");
            let issuer = args.issuer.issuer.as_deref().map(|name| format!(" {name}"));
            let command = format!("certctl account register{}", issuer.unwrap_or_default());
            return Err(error.trying(command).of_absence());
        }
        [(account, key)] => (*account, *key),
        [_, _, ..] => {
            let message = "several accounts found: name the Issuer of one";
            return Err(CliError::new(ExitCode::Usage, message).trying_any(&[
                ("certctl account thumbprint ISSUER", ""),
                ("certctl account show", "lists the accounts"),
            ]));
        }
    };
    let thumbprint = key.thumbprint();
    let configuration = args.server.map(|server| server.lines(thumbprint));
    let text = match shell.global.format() {
        format @ (Format::Json | Format::Yaml) => {
            let AccountDocument { server, issuers, .. } =
                AccountDocument::from((account, Some(key), &*targets.loaded.issuers));
            let thumbprint = thumbprint.to_owned();
            document::text(
                &ThumbprintDocument { server, issuers, thumbprint, configuration },
                format,
            )?
        }
        Format::Text | Format::Wide => configuration.unwrap_or_else(|| format!("{thumbprint}\n")),
        Format::Name | Format::Prometheus => {
            let message = "account thumbprint has -o json and -o yaml";
            return Err(CliError::new(ExitCode::Usage, message));
        }
    };
    shell.output.data(&text)?;
    Ok(Vec::new())
}

/// Returns whether an account is in use and its key, without which the CA answers nothing, cannot
/// be used.
fn has_lost_key(account: &Account, key: Option<&AccountKey>) -> bool {
    key.is_none() && account.next_step != AccountStep::Deactivated
}

fn is_of(account: &Account, issuer: &Issuer) -> bool {
    account.identity == AccountIdentity::of(issuer)
}

/// The selected Issuers: the named one, or all.
fn chosen<'a>(
    shell: &Shell,
    args: &AccountIssuerArgs,
    issuers: &'a [Issuer],
) -> Result<Vec<&'a Issuer>, CliError> {
    let Some(word) = &args.issuer else { return Ok(issuers.iter().collect()) };
    let target = NameTarget::parse_of(ISSUERS, word).ok_or_else(|| {
        CliError::new(ExitCode::Usage, format_args!("`{word}` is not a valid name"))
    })?;
    let names: Vec<NamespacedName> = issuers.iter().map(|i| i.metadata.key()).collect();
    let name = target.find(&names, shell.global.namespace());
    let name = name.map_err(|error| CliError::from(error).trying("certctl status issuer"))?;
    Ok(issuers.iter().filter(|issuer| issuer.metadata.key() == name).collect())
}

async fn perform(
    args: &AccountIssuerArgs,
    request: AccountRequest,
    yes: bool,
    shell: &mut Shell,
) -> Result<Vec<Ending>, CliError> {
    shell.refuse_in_a_hook("account")?;
    let mut workspace = open(shell).await?;
    let targets = targets(shell, &mut workspace, &Request::default())?;
    let issuers = chosen(shell, args, &targets.loaded.issuers)?;
    if issuers.is_empty() {
        let error = CliError::new(ExitCode::Manifest, "no Issuer found");
        return Err(error.hinted("use -f MANIFEST, or put manifests into the config directory"));
    }
    if request == AccountRequest::Deactivated && issuers.len() > 1 {
        let message = "several Issuers found; name one of them";
        return Err(CliError::new(ExitCode::Usage, message).trying_any(&[
            ("certctl account deactivate ISSUER", ""),
            ("certctl account show", "lists the accounts"),
        ]));
    }
    if let (AccountRequest::Deactivated, [issuer]) = (request, issuers.as_slice()) {
        let loss = loss(issuer, &targets);
        let line = format!("certctl account deactivate {} --yes", short(&issuer.metadata.key()));
        shell.confirm(yes, &loss, "Deactivate the account?", &[(&line, "")])?;
    }
    workspace.make_writable()?;
    let job = Job::new("account", targets.secrets.clone());
    let done = Box::pin(workspace.settle_accounts(&issuers, request, job)).await?;
    if request != AccountRequest::Deactivated {
        warn_of_unused_keys(shell, &workspace, &targets, &issuers).await;
    }
    let mut endings = Vec::new();
    for (issuer, done) in issuers.into_iter().zip(done) {
        endings.push(print(shell, issuer, request, &done?));
    }
    Ok(endings)
}

/// Warning to a person before the account of an Issuer is deactivated.
fn loss(issuer: &Issuer, targets: &Targets) -> String {
    let (kind, name) = (issuer.kind, &issuer.metadata.name);
    let server = escape(&issuer.acme.server);
    let of_it = targets
        .tasks
        .iter()
        .filter(|task| task.issuers.iter().any(|one| one.metadata == issuer.metadata));
    let users: Vec<String> = of_it.map(|task| short(&task.certificate.metadata.key())).collect();
    let users = if users.is_empty() {
        String::new()
    } else {
        format!("\n  it issues {}; their files stay", users.join(", "))
    };
    format!("{kind} {name}: its account at {server} cannot be reactivated{users}")
}

fn print(
    shell: &mut Shell,
    issuer: &Issuer,
    request: AccountRequest,
    done: &Result<Account, EffectError>,
) -> Ending {
    let name = &issuer.metadata.name;
    match done {
        Ok(account) => {
            let url = escape(account.url.as_deref().unwrap_or_default());
            let text = match request {
                AccountRequest::Registered => {
                    let terms = account.terms_of_service.as_deref().unwrap_or("none published");
                    format!("{name}: registered as {url} (terms: {})", escape(terms))
                }
                AccountRequest::Updated if account.contacts.is_empty() => {
                    format!("{name}: {url} has no contacts")
                }
                AccountRequest::Updated => {
                    format!("{name}: {url} has contacts {}", escape(&account.contacts.join(", ")))
                }
                AccountRequest::Deactivated => {
                    format!("{name}: {url} deactivated; the next issuance registers another")
                }
            };
            shell.output.talk(Level::Info, &text);
            Ending::Changed
        }
        Err(error) => {
            let (class, shown) = (error.cause.class(), error.to_string());
            let found = diagnosis(error, name, request);
            let of = |label| found.rows.iter().find(|row| row.label == label);
            let record = report::message("error", name, &found, shell.environment.is_utf8());
            let record = record
                .saying(&escape(&shown))
                .with("issuer", issuer.metadata.key().to_string())
                .with("class", class.word())
                .with_some("remedy", of("remedy").map(|row| row.text.clone()))
                .with("hint", found.fixes.iter().take(1).map(fix::worded).collect::<Vec<_>>());
            shell.output.print(&record);
            Ending::Failed(class)
        }
    }
}

/// Way out of a failed request to the CA.
fn diagnosis(error: &EffectError, issuer: &str, request: AccountRequest) -> Diagnosis {
    let doing = match request {
        AccountRequest::Registered => Doing::RegisterAccount,
        AccountRequest::Updated | AccountRequest::Deactivated => Doing::Nothing,
    };
    let evidence = Evidence { issuer: issuer.to_owned(), ..Evidence::default() };
    let failure = Failure::of(doing, error.cause.clone());
    let mut found = of_failure(&failure, &evidence, None);
    if found.fixes.is_empty() {
        found.fixes.push(Fix::Check(Check::Accounts));
    }
    found
}
