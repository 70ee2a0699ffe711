//! [`Environment`]: an open file of LMDB.
#![allow(unsafe_code)] // Foreign function edge: LMDB leaves exclusive use of its map to the caller.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use heed::types::Bytes;
use heed::{CompactionOption, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};

use crate::error::{Error, Result};
use crate::layout::magic::is_lmdb;
use crate::lmdb::changes::Changes;
use crate::lmdb::shared::{LmdbTables, Shared, failed};
use crate::lmdb::view::View;

/// An open file of LMDB with the tables of a database of facts.
pub struct Environment {
    shared: Arc<Shared>,
}

/// The files that are open, by their canonical paths. Locked while one is opened.
static OPEN: Mutex<Vec<(PathBuf, Weak<Shared>)>> = Mutex::new(Vec::new());

impl Environment {
    /// Creates the tables, and calls `fill` with the transaction that creates them. A file that is there must be one
    /// of LMDB without entries: an earlier attempt that was cut off has left it.
    ///
    /// # Errors
    /// [`Error::Exists`], if there is a database of facts, or a file that LMDB did not write; [`Error::NotFacts`], if
    /// the file has other tables.
    pub fn create(path: &Path, fill: impl FnOnce(&mut Changes<'_>) -> Result<()>) -> Result<Self> {
        let failed = failed(path, "create the database");
        let exists = || Error::Exists { path: path.to_owned() };
        let mut open_files = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if std::fs::metadata(path).is_ok_and(|found| found.len() > 0) && !is_lmdb(path) {
            return Err(exists());
        }
        open_files.retain(|(_, shared)| shared.strong_count() > 0);
        // LMDB opens a file once in a process.
        let canonical = path.canonicalize().ok();
        if canonical.is_some_and(|canonical| open_files.iter().any(|(open, _)| *open == canonical)) {
            return Err(exists());
        }
        let env = open(path, false)?;
        let mut txn = env.write_txn().map_err(&failed)?;
        // Looked at within the transaction: another process may have created the database meanwhile.
        if env.open_database::<Bytes, Bytes>(&txn, Some(SIDES)).map_err(&failed)?.is_some() {
            return Err(exists());
        }
        let main = env.open_database::<Bytes, Bytes>(&txn, None).map_err(&failed)?;
        if main.map(|main| main.is_empty(&txn)).transpose().map_err(&failed)? == Some(false) {
            let names = main.iter().map(|main| main.iter(&txn)).filter_map(std::result::Result::ok).flatten();
            let tables = names.flatten().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
            return Err(Error::NotFacts { path: path.to_owned(), tables });
        }
        let mut table = |name| env.create_database(&mut txn, Some(name)).map_err(&failed);
        let tables = LmdbTables { entities: table(ENTITIES)?, keys: table(KEYS)?, sides: table(SIDES)? };
        let mut changes = Changes { txn, tables, path };
        fill(&mut changes)?;
        changes.commit()?;
        env.force_sync().map_err(&failed)?;
        sync_directory(path).map_err(|error| failed(error.into()))?;
        let shared = Arc::new(Shared { env, tables, path: path.to_owned(), read_only: false });
        if let Ok(path) = path.canonicalize() {
            open_files.push((path, Arc::downgrade(&shared)));
        }
        Ok(Self { shared })
    }

    /// Opens a file. `None`, if it has no tables of facts. A file that is open for writing is shared by all of its
    /// handles; one that is open for reading cannot be opened for writing.
    pub fn open(path: &Path, read_only: bool) -> Result<Option<Self>> {
        let failed = failed(path, "open the database");
        let canonical = path.canonicalize().map_err(|error| failed(error.into()))?;
        let mut open_files = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open_files.retain(|(_, shared)| shared.strong_count() > 0);
        let found = open_files.iter().find(|(path, _)| *path == canonical);
        if let Some(shared) = found.and_then(|(_, shared)| shared.upgrade())
            && (read_only || !shared.read_only)
        {
            return Ok(Some(Self { shared }));
        }
        let env = open(path, read_only)?;
        // A process that was killed has left its snapshots, which would keep old pages and use up readers.
        env.clear_stale_readers().map_err(&failed)?;
        let txn = env.read_txn().map_err(&failed)?;
        let table = |name| env.open_database(&txn, Some(name)).map_err(&failed);
        let tables = match (table(ENTITIES)?, table(KEYS)?, table(SIDES)?) {
            (Some(entities), Some(keys), Some(sides)) => LmdbTables { entities, keys, sides },
            _ => return Ok(None),
        };
        // The handles of tables outlive the transaction if it is committed.
        txn.commit().map_err(&failed)?;
        let shared = Arc::new(Shared { env, tables, path: path.to_owned(), read_only });
        open_files.push((canonical, Arc::downgrade(&shared)));
        Ok(Some(Self { shared }))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Its length in bytes.
    pub fn file_bytes(&self) -> Result<u64> {
        self.shared.env.real_disk_size().map_err(failed(self.path(), "measure the file"))
    }

    /// The state after the last commit.
    pub fn view(&self) -> Result<View> {
        let txn: RoTxn<'static, _> = self.shared.env.clone().static_read_txn().map_err(failed(self.path(), "read"))?;
        Ok(View::new(txn, Arc::clone(&self.shared)))
    }

    /// Begins to write. Other writers, of other processes too, wait.
    pub fn changes(&self) -> Result<Changes<'_>> {
        let txn: RwTxn<'_> = self.shared.env.write_txn().map_err(failed(self.path(), "write"))?;
        Ok(Changes { txn, tables: self.shared.tables, path: self.path() })
    }

    /// Brings what was committed to the disk.
    pub fn sync(&self) -> Result<()> {
        match self.shared.read_only {
            true => Ok(()),
            false => self.shared.env.force_sync().map_err(failed(self.path(), "bring the file to the disk")),
        }
    }

    /// Writes a compact copy, which opens as a database. It is on the disk when this returns.
    ///
    /// # Errors
    /// [`Error::Exists`], if there is a file at `to`: it is never replaced.
    pub fn copy_to(&self, to: &Path) -> Result<()> {
        let failed = failed(to, "write the copy");
        let in_file = |error: std::io::Error| failed(error.into());
        let (unfinished, mut file) = create_unfinished(to).map_err(in_file)?;
        let copied = self.shared.env.copy_to_file(&mut file, CompactionOption::Enabled).map_err(&failed);
        let copied = copied.and_then(|()| file.sync_all().map_err(in_file));
        drop(file);
        let published = copied.and_then(|()| match publish(&unfinished, to) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(Error::Exists { path: to.to_owned() }),
            published => published.map_err(in_file),
        });
        // A link is a second name of the copy.
        let _ = std::fs::remove_file(&unfinished);
        published.and_then(|()| sync_directory(to).map_err(in_file))
    }
}

/// Creates a file beside `path`, with a name that no other file has.
fn create_unfinished(path: &Path) -> std::io::Result<(PathBuf, File)> {
    for number in 0.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-unfinished.{}.{number}", std::process::id()));
        match File::options().read(true).write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (name.into(), file)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Gives a complete file its name, if no file has that.
fn publish(unfinished: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(unfinished, to) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            // A file system without links: an empty file reserves the name.
            File::create_new(to)?;
            std::fs::rename(unfinished, to).inspect_err(|_| drop(std::fs::remove_file(to)))
        }
        linked => linked,
    }
}

/// Makes the name of a file survive a power cut.
fn sync_directory(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    let _ = path;
    Ok(())
}

fn open(path: &Path, read_only: bool) -> Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.max_dbs(3).max_readers(READERS_MAX).map_size(MAP_BYTES);
    let access = if read_only { EnvFlags::READ_ONLY } else { EnvFlags::NO_SYNC };
    // SAFETY: without syncs, a crash of the machine can damage a database that is not complete, as the documentation of
    // `Backend::Lmdb` says; pages are read by LMDB alone, and what it returns is checked as bytes of a file are.
    unsafe { options.flags(EnvFlags::NO_SUB_DIR | EnvFlags::NO_READ_AHEAD | access) };
    // The directory of a bare name is not found where there is no file yet.
    let absolute = std::path::absolute(path).map_err(|error| failed(path, "find the database")(error.into()))?;
    // SAFETY: nothing but LMDB writes to the file of a database, which its lock file coordinates.
    unsafe { options.open(&absolute) }.map_err(failed(path, "open the database"))
}

const ENTITIES: &str = "facts.entities";
const KEYS: &str = "facts.keys";
const SIDES: &str = "facts.sides";
/// Snapshots that can be open at once, in all processes: sixteen for each of the 1024 queries that a server may run.
/// The lock file has 64 bytes for each.
const READERS_MAX: u32 = 1 << 14;
/// Address space for the map: the file grows as it needs to, up to this.
const MAP_BYTES: usize = if size_of::<usize>() == 8 { 1 << 40 } else { 1 << 30 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creation_goes_on_where_it_was_cut_off_but_not_in_other_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.ful");
        assert!(matches!(Environment::create(&path, |_| Err(Error::TooLarge)), Err(Error::TooLarge)));
        assert!(is_lmdb(&path), "the file has no tables");
        drop(Environment::create(&path, |_| Ok(())).expect("a new database"));
        assert!(matches!(Environment::create(&path, |_| Ok(())), Err(Error::Exists { .. })));
        assert!(Environment::open(&path, false).expect("it opens").is_some());

        let empty = directory.path().join("empty.ful");
        File::create(&empty).expect("a file");
        Environment::create(&empty, |_| Ok(())).expect("a new database");

        let other = directory.path().join("other.mdb");
        let env = open(&other, false).expect("a file");
        let mut txn = env.write_txn().expect("a transaction");
        env.create_database::<Bytes, Bytes>(&mut txn, Some("other")).expect("a table");
        txn.commit().expect("a commit");
        drop(env);
        assert!(matches!(Environment::create(&other, |_| Ok(())), Err(Error::NotFacts { .. })));
    }
}
