//! Backups: a snapshot of an open database, copied to a new file table by table.
//!
//! Invariants: (1) The copy gets its name only after all of it is durable; until then it has another name, and an
//! error removes it.
//! (2) Nothing that exists is overwritten: the copy's lock is held meanwhile, so that no other backup and no opening
//!     of the same path comes in between. (3) The copy is a database of its own: it has another identity, so that
//!     neither takes the other's log. (4) A copy that is made to be sent elsewhere need not survive a power cut: then
//!     (1) is about the end of the process alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::db::handle::database::Database;
use crate::db::storage::catalog::{CatalogChanges, store_catalog, store_root};
use crate::db::storage::create::{
    FIRST_METAS, begin_file, canonical, empty_meta, lock_path, locked, refuse_orphaned_log, refuse_reserved,
    sync_directory,
};
use crate::db::storage::metas;
use crate::error::{Error, Result};
use crate::format::{FeatureBits, LeafForm, Meta, ValueAlign};
use crate::ids::{Birth, TableId};
use crate::io::{Disk, File, WriterAttempt, WriterLock};
use crate::monitor::{Monitor, Phase, Watchers};
use crate::options::Durability;
use crate::pager::{ExtentMap, Need, PageFile, PageWriter, Pages, ReadOptions, Space};
use crate::sync::{Arc, LockRank, Mutex};
use crate::tree::{self, Root, Sorted};
use crate::txn::reads::layers::Layers;
use crate::txn::reads::range::Range;
use crate::txn::snapshot::state::{Snapshot, TableView};
use crate::txn::transaction::read_txn::ReadTxn;

impl Database {
    /// Copies the newest committed state of all tables to a new file at `path`, concurrently with readers and writers.
    ///
    /// The copy is one file without a log. It is durable when this returns, and as small as after
    /// [`Database::compact`]. It contains every table with its options and id; the next commit to it gets the sequence
    /// after [`ReadTxn::sequence`] of the snapshot. It has a new identity, so that the log of one database is never
    /// replayed into the other. A database that is open read-only can be copied too.
    ///
    /// The file gets its name only when it is complete. A crash before leaves at most files with the suffixes `-new`
    /// and `-lock`, which the next backup to `path` replaces. A running backup holds a snapshot: pages that later
    /// commits replace are not reused until it ends.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let (path, copy) = (directory.path().join("a.ful"), directory.path().join("a.backup.ful"));
    /// use fulgurite::Database;
    ///
    /// let db = Database::create(&path)?;
    /// let fruit = db.create_table("fruit", Default::default())?;
    /// db.update(|txn| txn.put(&fruit, b"apple", b"red"))?;
    /// db.backup_to(&copy)?;
    /// let copied = Database::open(&copy)?;
    /// assert_eq!(copied.read()?.get(&copied.open_table("fruit")?, b"apple")?.as_deref(), Some(&b"red"[..]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::FileExists`] if there is a file at `path`, or one with the suffix `-new` that no interrupted backup
    /// left; [`Error::LogWithoutDatabase`] if a log is there; [`Error::Invalid`] if the name ends in `-new`, `-lock`,
    /// `-log.spare`, `-log.N` or `-sort.N`; [`Error::Locked`] if another backup or opening uses `path`;
    /// [`Error::Corrupt`] if the database is damaged; errors of the disk, such as [`Error::DiskFull`]. On the file
    /// system of the database a backup does not use the disk reserve. After an error no file is left.
    pub fn backup_to(&self, path: impl AsRef<Path>) -> Result<()> {
        self.backup_to_with(path, &Monitor::new())
    }

    /// As [`Database::backup_to`], with a monitor that receives progress and can stop it.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the monitor stopped it; no file is left. Otherwise as [`Database::backup_to`].
    pub fn backup_to_with(&self, path: impl AsRef<Path>, monitor: &Monitor) -> Result<()> {
        self.backup_snapshot_to(&self.read()?, path, monitor)
    }

    /// As [`Database::backup_to_with`], but copies the snapshot of a read transaction of this database, for example of
    /// [`Database::read_durable`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if the transaction belongs to another database. Otherwise as [`Database::backup_to_with`].
    pub fn backup_snapshot_to(&self, txn: &ReadTxn, path: impl AsRef<Path>, monitor: &Monitor) -> Result<()> {
        self.copy_to(txn, path.as_ref(), monitor, Durability::Disk, |copied, path, file| copied.write(path, file))
    }

    /// As [`Database::backup_snapshot_to`], but syncs nothing: for a copy that the program sends elsewhere and then
    /// removes.
    ///
    /// The copy survives the end of the process. After a power cut, the file may be missing or damaged, and damage in
    /// it may be found only when the damaged page is read. So do not keep it as a backup.
    ///
    /// ```
    /// # fn main() -> fulgurite::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// # let (path, sent) = (directory.path().join("a.ful"), directory.path().join("sent.ful"));
    /// use fulgurite::{Database, Monitor};
    ///
    /// let db = Database::create(&path)?;
    /// db.copy_snapshot_unsynced_to(&db.read()?, &sent, &Monitor::new())?;
    /// // Send the bytes of the file to another machine, and wait until they are safe there.
    /// assert!(!std::fs::read(&sent).expect("a file").is_empty());
    /// std::fs::remove_file(&sent).expect("it is there");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Database::backup_snapshot_to`].
    pub fn copy_snapshot_unsynced_to(&self, txn: &ReadTxn, path: impl AsRef<Path>, monitor: &Monitor) -> Result<()> {
        self.copy_to(txn, path.as_ref(), monitor, Durability::Log, |copied, path, file| copied.write(path, file))
    }

    /// Creates a file at `path`, in which `write` writes the snapshot of a transaction. It survives the end of the
    /// process, and with [`Durability::Disk`] a power cut.
    pub(super) fn copy_to(
        &self,
        txn: &ReadTxn,
        path: &Path,
        monitor: &Monitor,
        durability: Durability,
        write: impl FnOnce(&Copied<'_>, &Path, Arc<dyn File>) -> Result<()>,
    ) -> Result<()> {
        if txn.snapshot.state.instance != self.inner.core.published.state().instance {
            return Err(Error::Invalid {
                message: "a backup needs a transaction of the database it is asked of".into(),
            });
        }
        let disk = Arc::clone(&self.inner.options.disk);
        let canonical = canonical(&*disk, path)?;
        let place = Reserved::take(&disk, canonical)?;
        let watchers = Watchers::default();
        let _watching = watchers.add(monitor);
        watchers.enter(Phase::Copying);
        let copied = Copied { snapshot: &txn.snapshot, watchers: &watchers };
        place.fill(durability, |file| write(&copied, &place.path, file))
    }
}

/// What a copy is made of, and the monitors that watch it.
pub(super) struct Copied<'c> {
    snapshot: &'c Snapshot,
    watchers: &'c Watchers,
}

impl Copied<'_> {
    /// Writes the copy to an empty file, whose path is for messages.
    pub(super) fn write(&self, path: &Path, file: Arc<dyn File>) -> Result<()> {
        let read = ReadOptions {
            map: false,
            huge_pages: false,
            // Nothing is read back but the extents of values that are not written yet.
            cache_bytes: 0,
        };
        Copy::begin(self.snapshot, path, file, read, self.watchers)?.run()
    }

    /// Ends the copy if a monitor asks for it.
    pub(super) fn look(&self, path: &Path) -> Result<()> {
        self.watchers.look(path)
    }
}

/// The path of a database that does not exist yet. Its lock keeps other processes from creating one there.
#[derive(Debug)]
struct Reserved {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    lock: Option<Box<dyn WriterLock>>,
}

impl Reserved {
    fn take(disk: &Arc<dyn Disk>, path: PathBuf) -> Result<Self> {
        refuse_reserved(&path)?;
        refuse_existing(&**disk, &path)?;
        let lock = match disk.lock_writer(&lock_path(&path)).map_err(|error| Error::io("create", &path, error))? {
            WriterAttempt::Held(lock) => lock,
            WriterAttempt::Busy(holder) => return Err(locked(path, holder)),
        };
        let place = Self { disk: Arc::clone(disk), path, lock: Some(lock) };
        // Another process may have created one before the lock was ours.
        refuse_existing(&*place.disk, &place.path)?;
        refuse_orphaned_log(&*place.disk, &place.path)?;
        Ok(place)
    }

    /// Writes a file under another name with `write`, and gives it its name. With [`Durability::Disk`], the file is
    /// durable before it gets the name, and the name is durable at the end.
    fn fill(&self, durability: Durability, write: impl FnOnce(Arc<dyn File>) -> Result<()>) -> Result<()> {
        let survives_power_cuts = durability == Durability::Disk;
        let (fresh, file) = begin_file(&*self.disk, &self.path)?;
        let written = write(Arc::clone(&file)).and_then(|()| {
            if survives_power_cuts {
                file.sync_all().map_err(|error| Error::failed_sync("sync", &fresh, error))?;
            }
            // Of programs that know nothing of locks, too, nothing is overwritten knowingly.
            refuse_existing(&*self.disk, &self.path)?;
            self.disk.rename(&fresh, &self.path).map_err(|error| Error::io("name", &self.path, error))
        });
        if written.is_err() {
            // The first error says more than that the file could not be removed.
            let _ = self.disk.remove(&fresh);
            return written;
        }
        if !survives_power_cuts {
            return Ok(());
        }
        // A name that may not be durable would pass for a backup.
        sync_directory(&*self.disk, &self.path).inspect_err(|_| _ = self.disk.remove(&self.path))
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            // The lock is given up, whatever becomes of its file.
            let _ = lock.close();
        }
    }
}

fn refuse_existing(disk: &dyn Disk, path: &Path) -> Result<()> {
    match disk.exists(path).map_err(|error| Error::io("look for", path, error))? {
        true => Err(Error::FileExists { path: path.to_path_buf() }),
        false => Ok(()),
    }
}

/// A copy that is being written.
struct Copy<'c> {
    snapshot: &'c Snapshot,
    watchers: &'c Watchers,
    file: Arc<PageFile>,
    /// The copy's first meta, without the fields that depend on what is written.
    meta: Meta,
    space: Mutex<Space>,
}

impl<'c> Copy<'c> {
    /// Begins a copy in an empty file.
    fn begin(
        snapshot: &'c Snapshot,
        path: &Path,
        file: Arc<dyn File>,
        read: ReadOptions,
        watchers: &'c Watchers,
    ) -> Result<Self> {
        let page_size = snapshot.state.pages.file().page_size();
        let tables =
            u32::try_from(snapshot.state.tables.len()).expect("table numbers are checked when they are given out");
        // Numbers of tables that were dropped are not given out again, in the copy neither.
        let next_table_id = TableId(tables.max(1));
        let meta = Meta { sequence: snapshot.sequence, next_table_id, ..empty_meta(page_size)? };
        let bytes = page_size.bytes() as u64;
        file.allocate(0, bytes).map_err(|error| Error::io("grow", path, error))?;
        let file = PageFile::new(path, file, page_size, meta.identity(), read);
        let space = Space::open(Arc::clone(&file), Vec::new(), meta.page_count, Birth(1), None)?;
        Ok(Self { snapshot, watchers, file, meta, space: Mutex::ranked(LockRank::Space, space) })
    }

    /// Writes all tables, the catalog, the table of extents, and both metas.
    fn run(self) -> Result<()> {
        let nothing = self.file.pages(Arc::new(ExtentMap::new(Vec::new(), self.meta.page_count, None)))?;
        let mut writer = PageWriter::new(&self.space);
        writer.set_need(self.need());
        writer.set_watchers(self.watchers.clone());
        let mut catalog = BTreeMap::new();
        for view in self.snapshot.state.tables.iter().flatten() {
            let mut descriptor = view.info.descriptor.clone();
            descriptor.root = self.copy_table(view, &nothing, &mut writer)?.as_ref().map(store_root);
            descriptor.ranges = Vec::new();
            catalog.insert(&*view.info.name, Some(descriptor.encode()));
        }
        let (form, mut changes) = (LeafForm::Tagged(ValueAlign::One), CatalogChanges::new(catalog));
        let catalog = tree::merge(&nothing, None, &mut changes, &mut writer, form, &mut || Ok(()))?.root;
        let mut operation = writer.finish()?;
        let mut space = self.space.lock();
        let prepared = space.prepare(&mut operation)?;
        space.commit(operation, &prepared);
        space.truncate_to_used()?;
        drop(space);
        self.watchers.look(self.file.path())?;
        let mut features = FeatureBits::default();
        let tables = self.snapshot.state.tables.iter().flatten();
        features.set_merges(tables.filter_map(|view| view.info.descriptor.merge.as_ref()));
        let meta = Meta {
            features,
            birth: prepared.birth,
            page_count: prepared.page_count,
            catalog: catalog.as_ref().map(store_catalog),
            extent_table: prepared.table,
            ..self.meta
        };
        // A copy that survives power cuts gets its name after the sync of all of it, and from another copy nothing is
        // read after a cut. So the order of what is written does not matter.
        FIRST_METAS.into_iter().try_for_each(|number| {
            metas::write(&**self.file.file(), self.file.path(), &Meta { number, ..meta.clone() })
        })
    }

    /// What the copy takes space for. It may fill its disk, unless the database is there too and needs what is kept.
    fn need(&self) -> Need {
        let file_system = |file: &PageFile| Some(file.file().free_space().ok()??.file_system);
        let own = file_system(&self.file);
        if own.is_some() && own == file_system(self.snapshot.state.pages.file()) {
            Need::Addition
        } else {
            Need::Rescue
        }
    }

    /// Copies what a table has at the snapshot, all layers as one tree.
    fn copy_table(&self, view: &TableView, nothing: &Pages, writer: &mut PageWriter<'_>) -> Result<Option<Root>> {
        use std::ops::Bound::Unbounded;
        let (state, at) = (&self.snapshot.state, self.snapshot.sequence);
        let layers = Layers { state, view, at, set: None, reads: None };
        let mut entries = Sorted::new(Range::new(layers, Unbounded, Unbounded));
        let mut go_on = || self.watchers.look(self.file.path());
        tree::merge(nothing, None, &mut entries, writer, view.info.form(), &mut go_on).map(|copied| copied.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::MergeOperator;
    use crate::io::{Access, MemoryDisk};
    use crate::options::TableOptions;

    #[test]
    fn checkpoints_and_backups_say_whether_tables_have_operators_that_older_builds_do_not_know() {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let db = Database::options().create(true).background(false).disk(Arc::clone(&disk)).open("a.ful").unwrap();
        let features = |name: &str| {
            let path = disk.canonical(Path::new(name)).unwrap();
            let file = disk.open(&path, Access::Read).unwrap();
            metas::read(&*file, &path).unwrap().meta.features.incompatible
        };
        db.create_table("first", TableOptions::new().merge(MergeOperator::Append)).unwrap();
        db.checkpoint().unwrap();
        assert_eq!(features("a.ful"), 0);
        let later = db.create_table("later", TableOptions::new().merge(MergeOperator::Min)).unwrap();
        db.backup_to("copy.ful").unwrap();
        db.checkpoint().unwrap();
        assert_eq!([features("a.ful"), features("copy.ful")], [FeatureBits::LATER_MERGES; 2]);
        let custom = db.create_table("custom", TableOptions::new().merge_function("f")).unwrap();
        db.backup_to("copy 3.ful").unwrap();
        db.checkpoint().unwrap();
        let both = FeatureBits::LATER_MERGES | FeatureBits::MERGE_FUNCTIONS;
        assert_eq!([features("a.ful"), features("copy 3.ful")], [both; 2]);
        db.drop_table(&later).unwrap();
        db.checkpoint().unwrap();
        assert_eq!(features("a.ful"), FeatureBits::MERGE_FUNCTIONS);
        db.drop_table(&custom).unwrap();
        db.backup_to("copy 2.ful").unwrap();
        db.checkpoint().unwrap();
        assert_eq!([features("a.ful"), features("copy 2.ful")], [0; 2]);
    }
}
