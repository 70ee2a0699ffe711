//! [`Environment`]: an open file of LMDB.
#![allow(unsafe_code)] // Foreign function edge: LMDB leaves exclusive use of its map to the caller.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use heed::{CompactionOption, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};

use crate::error::Result;
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
    /// Creates a file with empty tables, and calls `fill` with the transaction that creates them.
    pub fn create(path: &Path, fill: impl FnOnce(&mut Changes<'_>) -> Result<()>) -> Result<Self> {
        let failed = failed(path, "create the database");
        let env = open(path, false)?;
        let mut txn = env.write_txn().map_err(&failed)?;
        let mut table = |name| env.create_database(&mut txn, Some(name)).map_err(&failed);
        let tables = LmdbTables { entities: table(ENTITIES)?, keys: table(KEYS)?, sides: table(SIDES)? };
        let mut changes = Changes { txn, tables, path };
        fill(&mut changes)?;
        changes.commit()?;
        env.force_sync().map_err(&failed)?;
        let shared = Arc::new(Shared { env, tables, path: path.to_owned(), read_only: false });
        if let Ok(path) = path.canonicalize() {
            OPEN.lock().unwrap_or_else(PoisonError::into_inner).push((path, Arc::downgrade(&shared)));
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
    pub fn copy_to(&self, to: &Path) -> Result<()> {
        let in_file = |error: std::io::Error| failed(to, "write the copy")(error.into());
        let mut name = to.as_os_str().to_owned();
        name.push("-unfinished");
        let unfinished = PathBuf::from(name);
        let copied = self.shared.env.copy_to_path(&unfinished, CompactionOption::Enabled);
        let synced = copied.map_err(failed(to, "write the copy")).and_then(|file| file.sync_all().map_err(in_file));
        let renamed = synced.and_then(|()| std::fs::rename(&unfinished, to).map_err(in_file));
        if renamed.is_err() {
            let _ = std::fs::remove_file(&unfinished);
        }
        renamed
    }
}

fn open(path: &Path, read_only: bool) -> Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.max_dbs(3).max_readers(READERS_MAX).map_size(MAP_BYTES);
    let access = if read_only { EnvFlags::READ_ONLY } else { EnvFlags::NO_SYNC };
    // SAFETY: without syncs, a crash of the machine can damage a database that is not complete, as the documentation of
    // `Backend::Lmdb` says; pages are read by LMDB alone, and what it returns is checked as bytes of a file are.
    unsafe { options.flags(EnvFlags::NO_SUB_DIR | EnvFlags::NO_READ_AHEAD | access) };
    // SAFETY: nothing but LMDB writes to the file of a database, which its lock file coordinates.
    unsafe { options.open(path) }.map_err(failed(path, "open the database"))
}

const ENTITIES: &str = "facts.entities";
const KEYS: &str = "facts.keys";
const SIDES: &str = "facts.sides";
/// Snapshots that can be open at once, in all processes.
const READERS_MAX: u32 = 1022;
/// Address space for the map: the file grows as it needs to, up to this.
const MAP_BYTES: usize = if size_of::<usize>() == 8 { 1 << 40 } else { 1 << 30 };
