//! Documents in a PostgreSQL database.
//!
//! Contract: that of [`Documents`], and
//! - One connection, by TLS under the given roots only. It is made by the first call that needs it, and
//!   again by the first one after it broke.
//! - Each call is one statement, which commits by itself; a write is durable when it returns. Versions
//!   are numbers of one sequence, which never come again.
//! - A write whose answer did not come is [`StoreError::Unknown`], and its connection is not used again.
//!   The next connection first ends the session of that one at the server, so that what is read next
//!   decides: a write that was not done by then never will be. As long as the session cannot be ended,
//!   nothing is read and nothing written. A write that no connection was there for is
//!   [`StoreError::Io`], and was not done.
//! - A lease is a row that is never deleted. It runs out by the server's clock, `margin` later for
//!   others than for its holder, who counts from before it sent the request.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex as BlockingMutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use certctl::resource::{NamespacedName, is_dns_subdomain};
use certctl::store::{
    Collection, Documents, Frame, Key, Lease, Lock, Log, Page, Part, StoreError, Stored, Version,
};
use futures_util::FutureExt as _;
use jiff::SignedDuration;
use rustix::time::{ClockId, clock_gettime};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, oneshot};
use tokio::time::{Instant, timeout};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls, Row};
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

/// Where the database is, and how patient its user.
#[derive(Clone)]
pub(crate) struct Settings {
    /// The name or address of the server; its certificate must have it.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// User, password and database.
    pub(crate) config: Config,
    /// Which roots are trusted.
    pub(crate) tls: Arc<ClientConfig>,
    /// How long a lease lasts.
    pub(crate) lasting: SignedDuration,
    /// How much longer it lasts for others.
    pub(crate) margin: SignedDuration,
    /// How many keys a page has at most.
    pub(crate) page: u16,
    /// How many events of a certificate stay.
    pub(crate) events: u16,
    /// How long an answer is waited for.
    pub(crate) patience: Duration,
    /// By which a holder counts.
    pub(crate) clock: Clock,
}

/// A clock that goes on while the machine sleeps.
pub(crate) type Clock = Arc<dyn Fn() -> SignedDuration + Send + Sync>;

impl Settings {
    /// Those that a fleet would have.
    pub(crate) fn new(host: &str, port: u16, config: Config, tls: Arc<ClientConfig>) -> Self {
        Self {
            host: host.to_owned(),
            port,
            config,
            tls,
            lasting: SignedDuration::from_mins(5),
            margin: SignedDuration::from_secs(30),
            page: 1000,
            events: 5000,
            patience: Duration::from_secs(10),
            clock: Arc::new(since_boot),
        }
    }
}

/// The documents of one state. Opened once by each process that shares them.
pub(crate) struct Postgres {
    database: Arc<Database>,
}

impl Postgres {
    /// Contacts no server yet.
    pub(crate) fn open(settings: Settings) -> Self {
        Self { database: Arc::new(Database { settings, slot: Mutex::default() }) }
    }

    /// Makes the tables, where they are missing.
    pub(crate) async fn prepare(&self) -> Result<(), StoreError> {
        self.run(TABLES).await
    }

    /// The process of the server that this process talks to.
    pub(crate) async fn process(&self) -> Result<i32, StoreError> {
        let rows = self.read("session", "SELECT pg_backend_pid()", &[]).await?;
        Ok(rows.first().map(|row| row.get(0)).unwrap_or_default())
    }

    /// What was quarantined of a document, oldest first.
    pub(crate) async fn aside(&self, key: &Key) -> Result<Vec<Vec<u8>>, StoreError> {
        let key = key_text(key)?;
        let sql = "SELECT bytes FROM documents WHERE key = $2 || $1 || ' ' || version \
                   ORDER BY version";
        let rows = self.read(&key, sql, &[(&key, Type::TEXT), (&ASIDE, Type::TEXT)]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Runs statements of the test.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), StoreError> {
        let failed = |source| StoreError::Io { path: self.address(), action: "prepare", source };
        let connected = self.database.connected().await;
        let (client, _) = connected.map_err(|failure| failed(failure.into_source()))?;
        match timeout(self.database.settings.patience, client.batch_execute(sql)).await {
            Ok(made) => made.map_err(|error| failed(io::Error::other(message(&error)))),
            Err(_) => Err(failed(io::ErrorKind::TimedOut.into())),
        }
    }

    /// The texts that a statement of the test selects.
    pub(crate) async fn texts(&self, sql: &str) -> Result<Vec<String>, StoreError> {
        let rows = self.read("texts", sql, &[]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    fn address(&self) -> String {
        let Settings { host, port, config, .. } = &self.database.settings;
        format!("postgresql://{host}:{port}/{}", config.get_dbname().unwrap_or_default())
    }

    fn at(&self, what: &str) -> String {
        format!("{}: {what}", self.address())
    }

    async fn read(
        &self,
        what: &str,
        sql: &str,
        with: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.database.rows(sql, with).await;
        rows.map_err(|failure| failure.into_read_error(self.at(what)))
    }

    async fn write(
        &self,
        what: &str,
        sql: &str,
        with: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.database.rows(sql, with).await;
        rows.map_err(|failure| failure.into_write_error(self.at(what)))
    }

    /// The version of what was written; another writer was faster where there is none.
    async fn written(
        &self,
        key: &str,
        sql: &str,
        with: &[Value<'_>],
    ) -> Result<Version, StoreError> {
        let rows = self.write(key, sql, with).await?;
        let row = rows.first().ok_or_else(|| StoreError::Conflict { path: self.at(key) })?;
        Ok(version(row.get(0)))
    }
}

/// A parameter of a statement with its type: a statement is sent at once, and not prepared before.
type Value<'a> = (&'a (dyn ToSql + Sync), Type);

impl Postgres {
    /// Writes the document without the part, and that under another name.
    async fn set_part_aside(
        &self,
        name: &NamespacedName,
        part: Part,
        seen: &Version,
    ) -> Result<String, StoreError> {
        let (whole, key) = (Key::Certificate(name.clone()), part.of(name));
        let conflict = || StoreError::Conflict { path: self.place(&key) };
        let stored = self.get(&whole).await?.ok_or_else(conflict)?;
        let mut frame = Frame::read(&stored.bytes, &self.place(&whole))?;
        let taken = frame.parts.remove(&part).filter(|taken| Version::of(taken) == *seen);
        let taken = taken.ok_or_else(conflict)?;
        let change = if frame.parts.is_empty() {
            "DELETE FROM documents WHERE key = $1 AND version = $2 AND $3::bytea IS NOT NULL"
        } else {
            "UPDATE documents SET version = nextval('versions'), bytes = $3 \
             WHERE key = $1 AND version = $2"
        };
        let sql = format!(
            "WITH changed AS ({change} RETURNING 1), \
                  next AS (SELECT nextval('versions') AS version FROM changed) \
             INSERT INTO documents (key, version, bytes) \
             SELECT $4 || ' ' || version, version, $5 FROM next RETURNING key"
        );
        let (text, aside) = (key_text(&whole)?, format!("{ASIDE}{}", key_text(&key)?));
        let (rest, seen) = (frame.bytes().to_vec(), number(&stored.revision));
        let taken = taken.to_vec();
        let with: [Value<'_>; 5] = [
            (&text, Type::TEXT),
            (&seen, Type::INT8),
            (&rest, Type::BYTEA),
            (&aside, Type::TEXT),
            (&taken, Type::BYTEA),
        ];
        let rows = self.write(&text, &sql, &with).await?;
        Ok(self.at(rows.first().ok_or_else(conflict)?.get(0)))
    }
}

impl Documents for Postgres {
    const SHARED: bool = true;

    type Lease = Held;

    async fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        if let Key::Part(name, part) = key {
            let whole = Box::pin(self.get(&Key::Certificate(name.clone()))).await?;
            let found = whole.map(|whole| Frame::part(&whole, *part, &self.place(key)));
            return Ok(found.transpose()?.flatten());
        }
        let key = key_text(key)?;
        let sql = "SELECT version, bytes FROM documents WHERE key = $1";
        let rows = self.read(&key, sql, &[(&key, Type::TEXT)]).await?;
        Ok(rows
            .first()
            .map(|row| Stored { bytes: Zeroizing::new(row.get(1)), revision: version(row.get(0)) }))
    }

    async fn create(&self, key: &Key, bytes: &[u8]) -> Result<Version, StoreError> {
        let key = key_text(key)?;
        let sql = "INSERT INTO documents (key, version, bytes) VALUES ($1, nextval('versions'), $2) \
                   ON CONFLICT (key) DO NOTHING RETURNING version";
        self.written(&key, sql, &[(&key, Type::TEXT), (&bytes, Type::BYTEA)]).await
    }

    async fn put_if(&self, key: &Key, bytes: &[u8], seen: &Version) -> Result<Version, StoreError> {
        let (key, seen) = (key_text(key)?, number(seen));
        let sql = "UPDATE documents SET version = nextval('versions'), bytes = $2 \
                   WHERE key = $1 AND version = $3 RETURNING version";
        let with: [Value<'_>; 3] = [(&key, Type::TEXT), (&bytes, Type::BYTEA), (&seen, Type::INT8)];
        self.written(&key, sql, &with).await
    }

    /// Each write is durable.
    async fn sync(&self, _: &Key) -> Result<(), StoreError> {
        Ok(())
    }

    async fn settle(&self, _: &Key, _: &[Key]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let text = key_text(key)?;
        let Key::Certificate(name) = key else {
            let sql = "DELETE FROM documents WHERE key = $1";
            return self.write(&text, sql, &[(&text, Type::TEXT)]).await.map(drop);
        };
        let (of, log) = (name_text(name)?, log_text(&Log::Events(name.clone()))?);
        let parts = [
            format!("{ASIDE}certificate {of}"),
            format!("{ASIDE}part {of}"),
            format!("pair {of}"),
            format!("{ASIDE}pair {of}"),
        ];
        let all = [&parts[..], std::slice::from_ref(&text)].concat();
        let sql = "WITH past AS (DELETE FROM logs WHERE log = $2) \
                   DELETE FROM documents USING unnest($1) AS its (part) \
                   WHERE key = part OR (key > part || ' ' AND key < part || '!')";
        let with: [Value<'_>; 2] = [(&all, Type::TEXT_ARRAY), (&log, Type::TEXT)];
        self.write(&text, sql, &with).await.map(drop)
    }

    /// Its version makes the new name unique.
    async fn quarantine(&self, key: &Key, seen: &Version) -> Result<String, StoreError> {
        if let Key::Part(name, part) = key {
            return self.set_part_aside(name, *part, seen).await;
        }
        let (key, seen) = (key_text(key)?, number(seen));
        let sql = "UPDATE documents SET key = $3 || key || ' ' || version \
                   WHERE key = $1 AND version = $2 RETURNING key";
        let with: [Value<'_>; 3] = [(&key, Type::TEXT), (&seen, Type::INT8), (&ASIDE, Type::TEXT)];
        let rows = self.write(&key, sql, &with).await?;
        let row = rows.first().ok_or_else(|| StoreError::Conflict { path: self.at(&key) })?;
        Ok(self.at(row.get(0)))
    }

    async fn list(&self, of: &Collection, after: Option<&Key>) -> Result<Page, StoreError> {
        let begin = collection_text(of)?;
        // What follows a key's parts is a space; nothing lies between that and this.
        let end = format!("{}!", begin.trim_end());
        let begin =
            after.map(key_text).transpose()?.map_or(begin.clone(), |after| after.max(begin));
        let page = self.database.settings.page;
        let sql = "SELECT key FROM documents WHERE key > $1 AND key < $2 ORDER BY key LIMIT $3";
        let limit = i64::from(page) + 1;
        let with: [Value<'_>; 3] = [(&begin, Type::TEXT), (&end, Type::TEXT), (&limit, Type::INT8)];
        let rows = self.read(&begin, sql, &with).await?;
        let keys = rows.iter().take(page.into()).filter_map(|row| parse_key(row.get(0))).collect();
        Ok(Page { keys, has_more: rows.len() > page.into() })
    }

    async fn append(&self, log: &Log, lines: &[String]) -> Result<(), StoreError> {
        let name = log_text(log)?;
        let (of, new): (Value<'_>, Value<'_>) = ((&name, Type::TEXT), (&lines, Type::TEXT_ARRAY));
        match log {
            Log::Issuances => self.write(&name, APPEND, &[of, new]).await,
            Log::Events(_) => {
                let most = i64::from(self.database.settings.events);
                let sql = format!("{PRUNE} {APPEND}");
                self.write(&name, &sql, &[of, new, (&most, Type::INT8)]).await
            }
        }
        .map(drop)
    }

    async fn read_log(&self, log: &Log) -> Result<Vec<String>, StoreError> {
        let name = log_text(log)?;
        let sql = "SELECT line FROM logs WHERE log = $1 ORDER BY id";
        let rows = self.read(&name, sql, &[(&name, Type::TEXT)]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    async fn lease(&self, lock: &Lock, wait: SignedDuration) -> Result<Held, StoreError> {
        let Settings { lasting, margin, .. } = self.database.settings;
        let (name, owner) = (lock_text(lock)?, owner());
        // Where the answer to an attempt was lost, the lease may be its own already.
        let sql = "INSERT INTO leases (lock, owner, epoch, until) \
                   VALUES ($1, $2, 1, now() + $3 * interval '1 ms') \
                   ON CONFLICT (lock) DO UPDATE SET owner = excluded.owner, \
                   epoch = leases.epoch + 1, until = excluded.until \
                   WHERE leases.until + $4 * interval '1 ms' < now() OR leases.owner = excluded.owner \
                   RETURNING epoch";
        let (lasts, margin) = (milliseconds(lasting), milliseconds(margin));
        let with: [Value<'_>; 4] = [
            (&name, Type::TEXT),
            (&owner, Type::TEXT),
            (&lasts, Type::FLOAT8),
            (&margin, Type::FLOAT8),
        ];
        let wait = Duration::try_from(wait).unwrap_or_default();
        let (begun, mut pause, mut is_unsure) = (Instant::now(), FIRST_PAUSE, false);
        let path = self.at(&format!("the lock of {}", lock_title(lock)));
        loop {
            let sent = self.database.now();
            let found = self.database.rows(sql, &with).await;
            if let Some(row) = found.as_ref().ok().and_then(|rows| rows.first()) {
                let epoch: i64 = row.get(0);
                let (database, ends) = (Arc::clone(&self.database), sent + lasting);
                return Ok(Held { database, path, lock: name, owner, epoch, ends });
            }
            let left = wait.saturating_sub(begun.elapsed());
            is_unsure |= matches!(found, Err(Failure::Lost(_)));
            match found {
                Ok(_) if left.is_zero() => return Err(self.locked(lock, &name).await?),
                Err(failure) if left.is_zero() || !is_unsure => {
                    return Err(failure.into_write_error(path));
                }
                Ok(_) | Err(_) => {}
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    fn place(&self, key: &Key) -> String {
        key_text(key).map_or_else(|error| error.to_string(), |key| self.at(&key))
    }
}

impl Postgres {
    async fn locked(&self, lock: &Lock, name: &String) -> Result<StoreError, StoreError> {
        let sql = "SELECT owner FROM leases WHERE lock = $1";
        let rows = self.read(name, sql, &[(name, Type::TEXT)]).await?;
        let owner = rows.first().and_then(|row| row.get::<_, &str>(0).rsplit_once(' '));
        let holder = owner.map_or("another process", |(process, _)| process).to_owned();
        Ok(StoreError::Locked { what: lock_title(lock), holder })
    }
}

/// A lock that is held.
#[must_use = "the lock is given back when the lease is dropped"]
pub(crate) struct Held {
    database: Arc<Database>,
    /// The lock, for messages.
    path: String,
    lock: String,
    owner: String,
    epoch: i64,
    /// Until when, by the clock of the settings.
    ends: SignedDuration,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lock, epoch, .. } = self;
        f.debug_struct("Held").field("lock", lock).field("epoch", epoch).finish_non_exhaustive()
    }
}

impl Held {
    fn row(&self) -> [Value<'_>; 3] {
        [(&self.lock, Type::TEXT), (&self.owner, Type::TEXT), (&self.epoch, Type::INT8)]
    }
}

impl Lease for Held {
    fn epoch(&self) -> u64 {
        self.epoch.try_into().unwrap_or_default()
    }

    fn left(&self) -> SignedDuration {
        self.ends - self.database.now()
    }

    /// One that ran out and that nobody took is as good as held.
    async fn renew(&mut self) -> Result<(), StoreError> {
        let lasting = self.database.settings.lasting;
        let sql = "UPDATE leases SET until = now() + $4 * interval '1 ms' \
                   WHERE lock = $1 AND owner = $2 AND epoch = $3 RETURNING epoch";
        let (sent, lasts) = (self.database.now(), milliseconds(lasting));
        let [lock, owner, epoch] = self.row();
        let with = [lock, owner, epoch, (&lasts, Type::FLOAT8)];
        let rows = self.database.rows(sql, &with).await;
        if rows.map_err(|failure| failure.into_write_error(self.path.clone()))?.is_empty() {
            return Err(StoreError::Conflict { path: self.path.clone() });
        }
        self.ends = sent + lasting;
        Ok(())
    }
}

impl Drop for Held {
    /// The first poll sends it, before all that is sent later; nobody waits for the answer. Where no
    /// connection is there, the lease runs out.
    fn drop(&mut self) {
        let Ok(slot) = self.database.slot.try_lock() else { return };
        let Some(connection) = &slot.connection else { return };
        let sql = "UPDATE leases SET until = '-infinity' \
                   WHERE lock = $1 AND owner = $2 AND epoch = $3";
        drop(connection.client.execute_typed(sql, &self.row()).now_or_never());
    }
}

/// The database, with the connection to it.
struct Database {
    settings: Settings,
    slot: Mutex<Slot>,
}

/// Where the connection is.
#[derive(Default)]
struct Slot {
    connection: Option<Connection>,
    /// The names of those that were given up, and whose sessions may go on.
    given_up: BTreeSet<String>,
}

/// An open connection. A thread of its own drives it: it is as good when its user waits for a disk, and
/// what was sent last is sent although its user's runtime has ended.
struct Connection {
    client: Arc<Client>,
    /// The name of its session.
    name: String,
    /// Dropping it ends the thread at once.
    _cut: oneshot::Sender<()>,
    /// Breaks when the thread has ended.
    ended: BlockingMutex<mpsc::Receiver<()>>,
}

/// Why there is no answer.
enum Failure {
    /// Nothing was done.
    Refused(io::Error),
    /// It may have been done.
    Lost(String),
}

impl Failure {
    fn into_source(self) -> io::Error {
        match self {
            Self::Refused(source) => source,
            Self::Lost(why) => io::Error::other(why),
        }
    }

    fn into_read_error(self, path: String) -> StoreError {
        StoreError::Io { path, action: "read", source: self.into_source() }
    }

    fn into_write_error(self, path: String) -> StoreError {
        match self {
            Self::Refused(source) => StoreError::Io { path, action: "write", source },
            Self::Lost(why) => StoreError::Unknown { path, why },
        }
    }
}

impl Database {
    /// Runs one statement.
    async fn rows(&self, sql: &str, with: &[Value<'_>]) -> Result<Vec<Row>, Failure> {
        let (client, name) = self.connected().await?;
        let answered = timeout(self.settings.patience, client.query_typed(sql, with)).await;
        let why = match answered {
            Ok(Ok(rows)) => return Ok(rows),
            Ok(Err(error)) => {
                // Such an error ends the statement alone; a worse one, the session.
                let found = error.as_db_error();
                if found.is_some_and(|it| it.parsed_severity() == Some(Severity::Error)) {
                    return Err(Failure::Refused(io::Error::other(message(&error))));
                }
                message(&error)
            }
            Err(_) => "no answer in time".to_owned(),
        };
        self.give_up(name).await;
        Err(Failure::Lost(why))
    }

    /// The connection and its name; made again where it is not usable.
    async fn connected(&self) -> Result<(Arc<Client>, String), Failure> {
        let mut slot = self.slot.lock().await;
        if let Some(Connection { client, name, .. }) = &slot.connection {
            if !client.is_closed() {
                return Ok((Arc::clone(client), name.clone()));
            }
            let name = name.clone();
            slot.given_up.insert(name);
            slot.connection = None;
        }
        let made = Connection::make(&self.settings).await.map_err(Failure::Refused)?;
        let ended = made.end_sessions(&slot.given_up, self.settings.patience).await;
        ended.map_err(Failure::Refused)?;
        slot.given_up.clear();
        let found = (Arc::clone(&made.client), made.name.clone());
        slot.connection = Some(made);
        Ok(found)
    }

    fn now(&self) -> SignedDuration {
        (self.settings.clock)()
    }

    async fn give_up(&self, name: String) {
        let mut slot = self.slot.lock().await;
        slot.connection.take_if(|connection| connection.name == name);
        slot.given_up.insert(name);
    }
}

impl Drop for Database {
    /// Waits a moment until what was sent last, such as leases that are given back, has been answered.
    fn drop(&mut self) {
        let Some(connection) = self.slot.get_mut().connection.take() else { return };
        let Connection { client, _cut, ended, .. } = connection;
        drop(client);
        let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        ended.recv_timeout(LAST_WORDS).ok();
    }
}

impl Connection {
    async fn make(settings: &Settings) -> io::Result<Self> {
        let name = format!("certctl {}", token());
        let (answer, answered) = oneshot::channel();
        let (cut, is_cut) = oneshot::channel();
        let (end, ended) = mpsc::channel();
        let (settings, session) = (settings.clone(), name.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("postgres".to_owned()).spawn(move || {
            runtime.block_on(drive(&settings, &session, answer, is_cut));
            drop(end);
        })?;
        let client = Arc::new(answered.await.map_err(io::Error::other)??);
        Ok(Self { client, name, _cut: cut, ended: BlockingMutex::new(ended) })
    }

    /// Ends the sessions of these connections of ours, which may still be at work.
    async fn end_sessions(&self, names: &BTreeSet<String>, patience: Duration) -> io::Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let names: Vec<&String> = names.iter().collect();
        let of: Value<'_> = (&names, Type::TEXT_ARRAY);
        let wait = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX) / 2;
        let sql = "SELECT pg_terminate_backend(pid, $2) FROM pg_stat_activity \
                   WHERE application_name = ANY ($1)";
        self.ask(sql, &[of.clone(), (&wait, Type::INT8)], patience).await?;
        let sql = "SELECT 1 FROM pg_stat_activity WHERE application_name = ANY ($1)";
        if !self.ask(sql, &[of], patience).await?.is_empty() {
            return Err(io::Error::other("an earlier session has not ended"));
        }
        Ok(())
    }

    async fn ask(&self, sql: &str, with: &[Value<'_>], patience: Duration) -> io::Result<Vec<Row>> {
        let answered = timeout(patience, self.client.query_typed(sql, with)).await;
        answered?.map_err(|error| io::Error::other(message(&error)))
    }
}

/// Opens a connection and drives it to its end.
async fn drive(
    settings: &Settings,
    session: &str,
    answer: oneshot::Sender<io::Result<Client>>,
    is_cut: oneshot::Receiver<()>,
) {
    let opened = timeout(settings.patience, open(settings, session)).await;
    match opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Err(error) => drop(answer.send(Err(error))),
        Ok((client, connection)) => {
            if answer.send(Ok(client)).is_ok() {
                tokio::select! {
                    _ = connection => {}
                    _ = is_cut => {}
                }
            }
        }
    }
}

type Secured = tokio_rustls::client::TlsStream<TcpStream>;
type Driven = tokio_postgres::Connection<Secured, tokio_postgres::tls::NoTlsStream>;

/// TLS lies under all that the client sends, which needs to know nothing of it.
async fn open(settings: &Settings, session: &str) -> io::Result<(Client, Driven)> {
    let Settings { host, port, config, tls, .. } = settings;
    let mut stream = TcpStream::connect((host.as_str(), *port)).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&SSL_REQUEST).await?;
    if stream.read_u8().await? != b'S' {
        return Err(io::Error::other("the server does not offer TLS"));
    }
    let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
    let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?;
    let mut config = config.clone();
    let options = format!("{} {SESSION}", config.get_options().unwrap_or_default());
    config.application_name(session).options(options).ssl_mode(SslMode::Disable);
    let opened = config.connect_raw(stream, NoTls).await;
    opened.map_err(|error| io::Error::other(message(&error)))
}

/// What the server or the client says; the error alone says `db error`.
fn message(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(found) => format!("{}: {}", found.code().code(), found.message()),
        None => error.to_string(),
    }
}

/// As a key of the table: the parts, with a space between them, which sorts before all that is in them.
fn key_text(key: &Key) -> Result<String, StoreError> {
    Ok(match key {
        Key::Certificate(name) => format!("certificate {}", name_text(name)?),
        Key::Part(name, part) => {
            format!("part {} {}", name_text(name)?, serde_json::to_string(part).unwrap())
        }
        Key::Pair(name, revision, fingerprint) => {
            format!("pair {} {revision:010} {}", name_text(name)?, digest_text(fingerprint)?)
        }
        Key::Account(digest) => format!("account {}", digest_text(digest)?),
        Key::AccountKey(digest) => format!("account-key {}", digest_text(digest)?),
        Key::AccountLimits(digest) => format!("account-limits {}", digest_text(digest)?),
        Key::BannedKeys => "banned-keys".to_owned(),
        Key::Revoked(fingerprint) => format!("revoked {}", digest_text(fingerprint)?),
        Key::Scheduler => "scheduler".to_owned(),
    })
}

/// The key with this text, of those that are listed.
fn parse_key(text: &str) -> Option<Key> {
    let parts: Vec<&str> = text.split(' ').collect();
    let name = |namespace: &str, name: &str| NamespacedName::new(namespace, name);
    Some(match *parts {
        ["certificate", of, it] => Key::Certificate(name(of, it)),
        ["pair", of, it, revision, fingerprint] => {
            Key::Pair(name(of, it), revision.parse().ok()?, fingerprint.to_owned())
        }
        ["account", digest] => Key::Account(digest.to_owned()),
        _ => return None,
    })
}

/// How the keys begin.
fn collection_text(of: &Collection) -> Result<String, StoreError> {
    Ok(match of {
        Collection::Certificates => "certificate ".to_owned(),
        Collection::Pairs(name) => format!("pair {} ", name_text(name)?),
        Collection::Accounts => "account ".to_owned(),
    })
}

fn log_text(log: &Log) -> Result<String, StoreError> {
    Ok(match log {
        Log::Events(name) => format!("events {}", name_text(name)?),
        Log::Issuances => "issuances".to_owned(),
    })
}

fn lock_text(lock: &Lock) -> Result<String, StoreError> {
    Ok(match lock {
        Lock::Certificate(name) => format!("certificate {}", name_text(name)?),
        Lock::Account(digest) => format!("account {}", digest_text(digest)?),
        Lock::Scheduler => "scheduler".to_owned(),
        Lock::Run(number) => format!("run {number}"),
        Lock::Service => format!("service {}", host()),
        Lock::Order(digest) => format!("order {}", digest_text(digest)?),
    })
}

/// For messages.
fn lock_title(lock: &Lock) -> String {
    match lock {
        Lock::Certificate(name) => format!("certificate {}", name.short()),
        Lock::Account(digest) => format!("account {digest}"),
        Lock::Scheduler => "the scheduler".to_owned(),
        Lock::Run(number) => format!("run {number}"),
        Lock::Service => "the loop of this host".to_owned(),
        Lock::Order(digest) => format!("order {digest}"),
    }
}

fn name_text(name: &NamespacedName) -> Result<String, StoreError> {
    let NamespacedName { namespace, name } = name;
    match [namespace, name].into_iter().find(|part| !is_dns_subdomain(part)) {
        None => Ok(format!("{namespace} {name}")),
        Some(wrong) => Err(StoreError::Name { name: wrong.clone() }),
    }
}

fn digest_text(digest: &str) -> Result<&str, StoreError> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if digest.is_empty() || digest.len() > 128 || !digest.bytes().all(is_plain) {
        return Err(StoreError::Name { name: digest.to_owned() });
    }
    Ok(digest)
}

fn version(number: i64) -> Version {
    Version(number.to_string())
}

/// One that no document has, for what is no version of this store.
fn number(version: &Version) -> i64 {
    version.0.parse().unwrap_or(-1)
}

fn milliseconds(duration: SignedDuration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// A process, and a token of which no other call has the same.
fn owner() -> String {
    format!("process {} of {} {}", std::process::id(), host(), token())
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn token() -> String {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).unwrap();
    format!("{:032x}", u128::from_be_bytes(bytes))
}

fn since_boot() -> SignedDuration {
    let time = clock_gettime(ClockId::Boottime);
    SignedDuration::new(time.tv_sec, i32::try_from(time.tv_nsec).unwrap())
}

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// How long the last answers are waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How the keys of what was set aside begin.
const ASIDE: &str = "set-aside ";

/// What a client sends that wants TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// What a server could have set otherwise.
const SESSION: &str = "-c synchronous_commit=on -c default_transaction_isolation=read\\ committed";

const APPEND: &str = "INSERT INTO logs (log, line) SELECT $1, line \
                      FROM unnest($2) WITH ORDINALITY AS new (line, n) ORDER BY n";

/// The oldest lines go first: this, and what follows it, see the log as it was.
const PRUNE: &str = "WITH past AS (DELETE FROM logs WHERE log = $1 AND id <= (SELECT id FROM logs \
                     WHERE log = $1 ORDER BY id DESC \
                     OFFSET greatest($3 - cardinality($2), 0) LIMIT 1))";

/// One at a time makes them.
const TABLES: &str = r#"
BEGIN;
SELECT pg_advisory_xact_lock(7311420);
CREATE SEQUENCE IF NOT EXISTS versions;
CREATE TABLE IF NOT EXISTS documents (
    key text COLLATE "C" PRIMARY KEY, version bigint NOT NULL, bytes bytea NOT NULL);
CREATE TABLE IF NOT EXISTS logs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    log text COLLATE "C" NOT NULL, line text NOT NULL);
CREATE INDEX IF NOT EXISTS lines ON logs (log, id);
CREATE TABLE IF NOT EXISTS leases (
    lock text COLLATE "C" PRIMARY KEY, owner text NOT NULL, epoch bigint NOT NULL,
    until timestamptz NOT NULL);
COMMIT;
"#;
