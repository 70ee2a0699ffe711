//! SQLite as an engine of writers: a table without rowids, a write-ahead log, one writer at a time.
//!
//! At [`Level::Log`] nothing is synced (`synchronous = OFF`): a commit is in the page cache. At [`Level::Disk`] each
//! commit syncs the log (`FULL`). Every reader has a connection of its own from a pool, as SQLite wants it for reads
//! beside a writer; statements are prepared once for each connection.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Params};

use crate::interface::engine::Failure;
use crate::interface::writing::{Level, Refusal, Settings, Snapshot, Transaction, Usage, WritingEngine, WritingStore};

const NAME: &str = "sqlite";

const FILE: &str = "records.sqlite";

/// All data sets of the other suites fit in.
const CACHE_BYTES: u64 = 1 << 30;

/// How much of the file is read through a map.
const MAP_BYTES: u64 = 16 << 30;

/// Tables without row numbers keep a quarter of a page of each record in place, so that a record of a kilobyte is in
/// one piece.
const PAGE_BYTES: u32 = 8192;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS records (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";
const PUT: &str = "INSERT OR REPLACE INTO records VALUES (?1, ?2)";
const GET: &str = "SELECT value FROM records WHERE key = ?1";
const DELETE: &str = "DELETE FROM records WHERE key = ?1";
const SEEK: &str = "SELECT key, value FROM records WHERE key >= ?1 ORDER BY key LIMIT ?2";
const SEEK_BACK: &str = "SELECT key, value FROM records WHERE key <= ?1 ORDER BY key DESC LIMIT ?2";
const SEEK_ALL: &str = "SELECT key, value FROM records WHERE key >= ?1 ORDER BY key";
const SCAN: &str = "SELECT key, value FROM records ORDER BY key";

/// SQLite.
#[derive(Debug)]
pub struct Sqlite;

impl WritingEngine for Sqlite {
    const NAME: &'static str = NAME;
    type Store = SqliteStore;

    fn unfit(settings: Settings) -> Option<&'static str> {
        match (settings.level, settings.usage) {
            (Level::Memory, _) => Some("it has no level of its own like Memory"),
            (_, Usage::LongLog) => Some("its log is kept short, for which its reader has to wait"),
            _ => None,
        }
    }

    fn version() -> String {
        rusqlite::version().to_owned()
    }

    fn describe(settings: Settings) -> String {
        format!(
            "WITHOUT ROWID, journal_mode WAL, synchronous {}, mmap_size {} GiB, cache_size {} MiB, wal_autocheckpoint 1000",
            synchronous(settings.level),
            MAP_BYTES >> 30,
            settings.cache_bytes(CACHE_BYTES) >> 20
        )
    }

    fn open(directory: &Path, settings: Settings) -> Result<SqliteStore, Failure> {
        let path = directory.join(FILE);
        let writer = connect(&path, settings)?;
        writer.execute(CREATE, []).map_err(failed("open"))?;
        Ok(SqliteStore { writer: Mutex::new(writer), readers: Mutex::default(), path, settings })
    }
}

fn synchronous(level: Level) -> &'static str {
    match level {
        Level::Memory | Level::Log => "OFF",
        Level::Disk => "FULL",
    }
}

fn connect(path: &Path, settings: Settings) -> Result<Connection, Failure> {
    let connection = Connection::open(path).map_err(failed("open"))?;
    // A negative size of the cache is in KiB.
    let pragmas = format!(
        "PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = {}; PRAGMA mmap_size = {MAP_BYTES}; \
         PRAGMA cache_size = -{}; PRAGMA temp_store = MEMORY;",
        synchronous(settings.level),
        settings.cache_bytes(CACHE_BYTES) >> 10,
    );
    connection.execute_batch(&pragmas).map_err(failed("open"))?;
    Ok(connection)
}

/// An open database: the connection of the writer, and those of readers that are not in use.
pub struct SqliteStore {
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    path: PathBuf,
    settings: Settings,
}

impl SqliteStore {
    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self) -> Result<Reader<'_>, Failure> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path, self.settings)?,
        };
        Ok(Reader { store: self, connection: Some(connection) })
    }

    fn sync_file(&self, path: &Path) -> Result<(), Failure> {
        match File::open(path) {
            Ok(file) => file.sync_data().map_err(failed("sync")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed("sync")(error)),
        }
    }
}

/// A reader's connection, which goes back to the pool.
struct Reader<'s> {
    store: &'s SqliteStore,
    connection: Option<Connection>,
}

impl Reader<'_> {
    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("it is taken by drop alone")
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.store.readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
    }
}

fn get<R>(connection: &Connection, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> rusqlite::Result<R> {
    let mut statement = connection.prepare_cached(GET)?;
    let mut rows = statement.query([key])?;
    match rows.next()? {
        Some(row) => Ok(read(Some(row.get_ref(0)?.as_blob()?))),
        None => Ok(read(None)),
    }
}

fn put(connection: &Connection, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
    connection.prepare_cached(PUT)?.execute([key, value]).map(drop)
}

impl WritingStore for SqliteStore {
    type Transaction<'s> = SqliteTransaction<'s>;
    type Snapshot<'s> = SqliteSnapshot<'s>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.put_all(records)?;
        self.settle()?;
        self.sync()
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        put(&self.writer(), key, value).map_err(failed("put"))
    }

    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let mut writer = self.writer();
        let txn = writer.transaction().map_err(failed("begin"))?;
        let mut statement = txn.prepare_cached(PUT).map_err(failed("put"))?;
        for (key, value) in records {
            statement.execute([key, value]).map_err(failed("put"))?;
        }
        drop(statement);
        txn.commit().map_err(failed("commit"))
    }

    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        get(self.reader()?.connection(), key, read).map_err(failed("get"))
    }

    fn snapshot(&self) -> Result<SqliteSnapshot<'_>, Failure> {
        let reader = self.reader()?;
        reader.connection().prepare_cached("BEGIN").and_then(|mut begin| begin.execute([])).map_err(failed("read"))?;
        Ok(SqliteSnapshot { reader })
    }

    fn begin(&self) -> Result<SqliteTransaction<'_>, Failure> {
        let writer = self.writer();
        writer.prepare_cached("BEGIN IMMEDIATE").and_then(|mut begin| begin.execute([])).map_err(failed("begin"))?;
        Ok(SqliteTransaction { writer, ended: false })
    }

    fn sync(&self) -> Result<(), Failure> {
        self.sync_file(&self.path)?;
        self.sync_file(&self.path.with_file_name(format!("{FILE}-wal")))
    }

    /// Moves all of the log into the database, and empties it.
    fn settle(&self) -> Result<(), Failure> {
        let writer = self.writer();
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed("settle"))
    }

    /// SQLite does not count.
    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let reader = self.reader()?;
        let rows = |each: &mut dyn FnMut(&[u8], &[u8])| -> rusqlite::Result<()> {
            let mut statement = reader.connection().prepare_cached(SCAN)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                each(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            }
            Ok(())
        };
        rows(&mut each).map_err(failed("scan"))
    }

    fn close(self) -> Result<(), Failure> {
        self.settle()?;
        self.sync()
    }
}

/// A read transaction on a connection of its own.
pub struct SqliteSnapshot<'s> {
    reader: Reader<'s>,
}

impl Snapshot for SqliteSnapshot<'_> {
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        get(self.reader.connection(), key, read).map_err(failed("get"))
    }

    fn scan_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.walk(SEEK, (from, limit(count)), &mut |key, value| {
            each(key, value);
            true
        })
    }

    fn scan_back_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.walk(SEEK_BACK, (from, limit(count)), &mut |key, value| {
            each(key, value);
            true
        })
    }

    /// SQLite has no scan of a prefix of bytes: the first key that begins otherwise ends it.
    fn scan_prefix(&self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.walk(SEEK_ALL, [prefix], &mut |key, value| {
            let begins_so = key.starts_with(prefix);
            if begins_so {
                each(key, value);
            }
            begins_so
        })
    }
}

impl SqliteSnapshot<'_> {
    /// Hands out the rows of a statement, until `each` says that it has seen enough.
    fn walk(
        &self,
        statement: &str,
        parameters: impl Params,
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Failure> {
        let rows = || -> rusqlite::Result<()> {
            let mut statement = self.reader.connection().prepare_cached(statement)?;
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                if !each(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?) {
                    break;
                }
            }
            Ok(())
        };
        rows().map_err(failed("seek"))
    }
}

fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Drop for SqliteSnapshot<'_> {
    fn drop(&mut self) {
        // A read transaction has nothing to lose; should ending it fail, the connection is closed instead of used
        // again.
        let ended = self.reader.connection().prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        if ended.is_err() {
            self.reader.connection.take();
        }
    }
}

/// The one write transaction.
pub struct SqliteTransaction<'s> {
    writer: MutexGuard<'s, Connection>,
    ended: bool,
}

impl SqliteTransaction<'_> {
    fn end(&mut self, statement: &str) -> rusqlite::Result<()> {
        self.writer.prepare_cached(statement)?.execute([])?;
        self.ended = true;
        Ok(())
    }
}

impl Transaction for SqliteTransaction<'_> {
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        Ok(get(&self.writer, key, read).map_err(failed("get"))?)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        Ok(put(&self.writer, key, value).map_err(failed("put"))?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        let deleted = self.writer.prepare_cached(DELETE).and_then(|mut delete| delete.execute([key]));
        Ok(deleted.map(drop).map_err(failed("delete"))?)
    }

    fn commit(mut self) -> Result<(), Refusal> {
        Ok(self.end("COMMIT").map_err(failed("commit"))?)
    }

    fn abort(self) {
        drop(self);
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // No one can handle a failure here: if this fails, the next transaction cannot begin, and reports it.
            let _ = self.end("ROLLBACK");
        }
    }
}

fn failed<E: std::error::Error + Send + Sync + 'static>(operation: &'static str) -> impl Fn(E) -> Failure {
    move |error| Failure::new(NAME, operation, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::writing_checks;

    #[test]
    fn it_does_what_the_benchmark_asks_at_every_level() {
        writing_checks::all::<Sqlite>();
    }
}
