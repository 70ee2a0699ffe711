//! [`Checkpoints`]: creates checkpoints in a storage, and restores them.
//!
//! Invariant: a checkpoint is committed if and only if `meta.ID/_commit` is stored. It is stored after all files of the
//! checkpoint, and removed before any of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufReader, BufWriter, Write as _};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fulgurite::io::{Access, Disk};
use fulgurite::{Database, Durability, Error, Monitor, Options, Sequence};

use crate::checkpoint::delta::{self, Delta};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::hashing::{Hashing, content_of};
use crate::checkpoint::local::{DiskReader, FileIdentity, LocalFile, PartialDatabase, directory_of, remove_database};
use crate::checkpoint::manifest::{Manifest, StoredFile};
use crate::checkpoint::names::{commit_name, committed, data_name, id_of_meta, is_data, manifest_name};
use crate::checkpoint::storage::CheckpointStorage;
use crate::checkpoint::unsynced::UnsyncedDisk;

/// Creates checkpoints of one database in a storage, and restores them.
///
/// The first checkpoint is a copy of the database. Later ones send only what has changed since the one before, as long
/// as the database keeps the log of these changes ([`Options::keep_log`]), the log is not damaged, and the changes are
/// less than half of the copy. Otherwise they send a new copy. If nothing has changed, they send no data. All of this
/// holds for a checkpoint that replaces one with the same id, too.
///
/// ```
/// # use fulgurite::Database;
/// # use fulgurite_graph::{Checkpoints, DirectoryStorage, ListState};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let options = Database::options().create(true).keep_log(64 << 20);
/// let db = options.clone().open(directory.path().join("state.ful"))?;
/// let events: ListState<String, u32> = ListState::open(&db, "events")?;
///
/// let mut checkpoints = Checkpoints::new(DirectoryStorage::new(directory.path().join("checkpoints")));
/// db.update(|txn| events.push(txn, "ann", 3))?;
/// checkpoints.create(&db, 1)?;
///
/// // On another machine, or after the local file was lost.
/// let restored = checkpoints.restore(1, directory.path().join("restored.ful"), options)?;
/// let events: ListState<String, u32> = ListState::open(&restored, "events")?;
/// assert_eq!(events.get(&restored.read()?, "ann")?, [3]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Checkpoints<S> {
    storage: S,
    retained: usize,
    /// The checkpoint that was created or restored last.
    last: Option<LastCheckpoint>,
    /// Manifests that were stored or read, by id. Another process may have replaced them since. So what they name is
    /// not removed before they are read again, and nothing else follows from them.
    known: BTreeMap<u64, Manifest>,
}

/// A checkpoint, and where its changes continue.
#[derive(Debug)]
struct LastCheckpoint {
    manifest: Manifest,
    /// The database whose state it has. `None` if it cannot be recognised.
    file: Option<FileIdentity>,
    /// The newest commit that it has.
    sequence: Sequence,
}

/// What a new checkpoint has, before it is stored.
#[derive(Debug)]
struct Written {
    manifest: Manifest,
    /// The newest commit that it has.
    sequence: Sequence,
    /// The file that has to be stored, whose content is in the local file; `None` if nothing has changed.
    sent: Option<StoredFile>,
    is_whole: bool,
}

/// What a checkpoint has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// The bytes that were stored, without the manifest; 0 if nothing has changed.
    pub bytes_sent: u64,
    /// Whether the whole database was sent.
    pub is_whole: bool,
    /// Whether the files that are no longer needed were removed. If not, the next checkpoint removes them.
    pub is_cleaned: bool,
}

impl<S: CheckpointStorage> Checkpoints<S> {
    /// Checkpoints in this storage. It keeps the newest ten.
    pub fn new(storage: S) -> Self {
        Self { storage, retained: RETAINED_DEFAULT, last: None, known: BTreeMap::new() }
    }

    /// Keeps this many checkpoints, at least one. Those with larger ids than the one that is created stay, and do not
    /// count.
    #[must_use]
    pub fn retained(mut self, retained: usize) -> Self {
        self.retained = retained.max(1);
        self
    }

    /// Creates a checkpoint of the newest state. A checkpoint with this id is replaced.
    ///
    /// # Errors
    /// [`CheckpointError::Storage`], [`CheckpointError::Engine`]. The checkpoint is not committed then.
    pub fn create(&mut self, db: &Database, id: u64) -> Result<CheckpointReport, CheckpointError> {
        let names = self.names_beside_sync(db)?;
        self.discard(id, &names)?;
        self.known.remove(&id);
        let local = LocalFile::beside(db.disk(), db.path());
        let file = FileIdentity::of(db.path()).map_err(CheckpointError::storage("read", "the database"))?;
        let written = match self.write_delta(db, id, file.as_ref(), &names, &local)? {
            Some(written) => written,
            None => self.write_base(db, id, &local)?,
        };
        let Written { manifest, sequence, sent, is_whole } = written;
        if let Some(sent) = &sent {
            self.storage.store(&sent.name, &local.path).map_err(CheckpointError::storage("store", &sent.name))?;
        }
        self.store_text(&local, &manifest_name(id), &manifest.to_text())?;
        self.store_text(&local, &commit_name(id), "committed\n")?;
        let is_cleaned = self.remove_old(&manifest, &names, &local).is_ok();
        self.known.insert(id, manifest.clone());
        self.last = Some(LastCheckpoint { manifest, file, sequence });
        Ok(CheckpointReport { bytes_sent: sent.map_or(0, |sent| sent.bytes), is_whole, is_cleaned })
    }

    /// Makes the database durable on another thread while the storage lists its files: both wait, for a disk and
    /// perhaps for other machines.
    fn names_beside_sync(&self, db: &Database) -> Result<Vec<String>, CheckpointError> {
        // In a merge function this is an error. There, the other thread would wait for locks of this one for ever.
        db.wait_durable(Sequence(0), Duration::ZERO)?;
        thread::scope(|scope| {
            let syncing = thread::Builder::new().name("fulgurite-sync".to_owned());
            let syncing = syncing.spawn_scoped(scope, move || db.sync());
            let names = self.names();
            let synced = match syncing {
                Ok(syncing) => syncing.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // The system has no thread to spare.
                Err(_) => db.sync(),
            };
            synced?;
            names
        })
    }

    /// The changes since the last checkpoint; `None` if the whole database is to be sent.
    fn write_delta(
        &self,
        db: &Database,
        id: u64,
        file: Option<&FileIdentity>,
        names: &[String],
        local: &LocalFile,
    ) -> Result<Option<Written>, CheckpointError> {
        let Some(LastCheckpoint { manifest: last, file: file_of_last, sequence }) = &self.last else {
            return Ok(None);
        };
        // Another process may have replaced or removed that checkpoint, and with it files that only it had.
        // If it has this id, its data is still there: only its manifest was discarded.
        let is_same = file.is_some() && file == file_of_last.as_ref();
        if !is_same || !last.files().all(|file| names.contains(&file.name)) {
            return Ok(None);
        }
        let feed = match db.changes(*sequence) {
            Ok(feed) => feed,
            Err(Error::Invalid { .. }) => return Ok(None),
            Err(error) if delta::are_gone(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let through = feed.through();
        let sent: u64 = last.deltas.iter().map(|delta| delta.bytes).sum();
        let has_room = last.deltas.len() < DELTAS_MAX;
        // With 0, only an unchanged database has a delta: each change has some bytes.
        let bytes_max = if has_room { (last.base.bytes / 2).saturating_sub(sent) } else { 0 };
        let Some(delta) = Delta::collect(feed, bytes_max)? else { return Ok(None) };
        let mut manifest = Manifest { id, ..last.clone() };
        if delta.is_empty() {
            return Ok(Some(Written { manifest, sequence: through, sent: None, is_whole: false }));
        }
        let write = || {
            let mut out = Hashing::new(BufWriter::new(local.create()?));
            delta.write(&mut out)?;
            out.flush()?;
            Ok(out.content())
        };
        let content = write().map_err(CheckpointError::storage("write", "the changes"))?;
        let sent = StoredFile::new(data_name("delta", id, content), content);
        manifest.deltas.push(sent.clone());
        Ok(Some(Written { manifest, sequence: through, sent: Some(sent), is_whole: false }))
    }

    fn write_base(&self, db: &Database, id: u64, local: &LocalFile) -> Result<Written, CheckpointError> {
        local.remove();
        let snapshot = db.read_durable()?;
        // What is stored is durable; this file is removed.
        db.copy_snapshot_unsynced_to(&snapshot, &local.path, &Monitor::new())?;
        let content = local.reader().and_then(content_of).map_err(CheckpointError::storage("read", "the copy"))?;
        let base = StoredFile::new(data_name("base", id, content), content);
        let manifest = Manifest { id, base: base.clone(), deltas: Vec::new() };
        Ok(Written { manifest, sequence: snapshot.sequence(), sent: Some(base), is_whole: true })
    }

    fn store_text(&self, local: &LocalFile, name: &str, text: &str) -> Result<(), CheckpointError> {
        let written = local.create().and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(CheckpointError::storage("write", name))?;
        self.storage.store(name, &local.path).map_err(CheckpointError::storage("store", name))
    }

    /// The ids of the committed checkpoints, oldest first.
    ///
    /// # Errors
    /// [`CheckpointError::Storage`].
    pub fn ids(&self) -> Result<Vec<u64>, CheckpointError> {
        Ok(committed(&self.names()?).into_iter().collect())
    }

    fn names(&self) -> Result<Vec<String>, CheckpointError> {
        self.storage.names().map_err(CheckpointError::storage("list", "the checkpoints"))
    }

    fn read_manifest(&self, id: u64, local: &LocalFile) -> Result<Manifest, CheckpointError> {
        let name = manifest_name(id);
        self.storage.fetch(&name, &local.path).map_err(CheckpointError::storage("fetch", &name))?;
        let text = local.read().map_err(CheckpointError::storage("read", &name))?;
        let manifest = Manifest::parse(&name, &text)?;
        if manifest.id != id {
            return Err(CheckpointError::damaged(&name, format!("it is of checkpoint {}", manifest.id)));
        }
        Ok(manifest)
    }

    /// Checks that a checkpoint is committed.
    ///
    /// A storage lists its files more slowly than it fetches one, so they are listed only if that fails.
    fn check_committed(&self, id: u64, local: &LocalFile) -> Result<(), CheckpointError> {
        let name = commit_name(id);
        match self.storage.fetch(&name, &local.path) {
            Ok(()) => Ok(()),
            Err(_) if !committed(&self.names()?).contains(&id) => Err(CheckpointError::NoSuchCheckpoint { id }),
            Err(error) => Err(CheckpointError::storage("fetch", &name)(error)),
        }
    }

    /// Restores a checkpoint into a new database at `path`, and opens it. The next checkpoint of the returned database
    /// sends what has changed since then.
    ///
    /// The database is filled under another name, `path` followed by `-restoring`. What an interrupted call has left
    /// there is removed by the next one, so two calls must not restore to one path at the same time.
    ///
    /// A power cut leaves a whole database at `path`, or none. Once this has returned, the database is durable.
    ///
    /// # Errors
    /// [`CheckpointError::NoSuchCheckpoint`]; [`CheckpointError::Damaged`] if a stored file is not what it was;
    /// [`CheckpointError::Engine`] with [`Error::FileExists`] if there is a file at `path`, and other errors of the
    /// database; [`CheckpointError::Storage`]. No file is left at `path` after an error.
    pub fn restore(&mut self, id: u64, path: impl AsRef<Path>, options: Options) -> Result<Database, CheckpointError> {
        let (path, disk) = (path.as_ref(), Arc::clone(options.used_disk()));
        let local = LocalFile::beside(&disk, path);
        self.check_committed(id, &local)?;
        let manifest = self.read_manifest(id, &local)?;
        refuse_existing(&*disk, path)?;
        let partial = PartialDatabase::new(&disk, path);
        self.fill(&manifest, &partial, &local, &options)?;
        refuse_existing(&*disk, path)?;
        disk.rename(&partial.path, path).map_err(CheckpointError::storage("name", "the database"))?;
        match open_restored(&*disk, path, options) {
            Ok((db, file, sequence)) => {
                self.known.insert(id, manifest.clone());
                self.last = Some(LastCheckpoint { manifest, file, sequence });
                Ok(db)
            }
            Err(error) => {
                remove_database(&*disk, path);
                Err(error)
            }
        }
    }

    /// Makes a database of the files of a checkpoint, and closes it. Its bytes are durable afterwards, so that no cut
    /// leaves a part of them under the name that it gets next.
    fn fill(
        &self,
        manifest: &Manifest,
        partial: &PartialDatabase,
        local: &LocalFile,
        options: &Options,
    ) -> Result<(), CheckpointError> {
        let (disk, path) = (&partial.disk, &partial.path);
        self.fetch(&manifest.base, &**disk, path)?;
        if !manifest.deltas.is_empty() {
            // Without a log of its changes, it is a single file when it is closed. Until then nothing has to be
            // durable: after a crash the next call begins again.
            let options = options.clone().create(false).read_only(false).keep_log(0).durability(Durability::Memory);
            let db = options.background(false).disk(Arc::new(UnsyncedDisk::of(disk))).open(path)?;
            for delta in &manifest.deltas {
                self.fetch(delta, &**disk, &local.path)?;
                let file = local.reader().map_err(CheckpointError::storage("read", &delta.name))?;
                delta::apply(&delta.name, &mut BufReader::new(file), &db)?;
            }
            db.close()?;
        }
        let synced = disk.open(path, Access::Write).and_then(|file| file.sync_all());
        synced.map_err(CheckpointError::storage("sync", &manifest.base.name))
    }

    /// Fetches a file, and checks that it is what was stored.
    fn fetch(&self, file: &StoredFile, disk: &dyn Disk, path: &Path) -> Result<(), CheckpointError> {
        self.storage.fetch(&file.name, path).map_err(CheckpointError::storage("fetch", &file.name))?;
        let content = DiskReader::open(disk, path).and_then(content_of);
        let content = content.map_err(CheckpointError::storage("read", &file.name))?;
        if content == file.content() {
            return Ok(());
        }
        let reason = format!(
            "it has {} bytes with the hash {:016x}, and not {} with {:016x}",
            content.bytes, content.hash, file.bytes, file.hash
        );
        Err(CheckpointError::damaged(&file.name, reason))
    }

    /// Removes a checkpoint, whose files are among `names` if it exists. Files that others share stay.
    fn discard(&self, id: u64, names: &[String]) -> Result<(), CheckpointError> {
        for name in [commit_name(id), manifest_name(id)] {
            if names.contains(&name) {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), CheckpointError> {
        self.storage.remove(name).map_err(CheckpointError::storage("remove", name))
    }

    /// Removes the oldest checkpoints, those that were never committed, and files that no checkpoint has. `newest` was
    /// created after the listing of `names`.
    ///
    /// Checkpoints with larger ids than `newest` stay: they are of an earlier run, or of what was rolled back. If they
    /// counted, each checkpoint of the new run would be removed as the oldest. A checkpoint without its manifest stays
    /// too: it is of another program, or lost.
    fn remove_old(&mut self, newest: &Manifest, names: &[String], local: &LocalFile) -> Result<(), CheckpointError> {
        let committed = committed(names);
        let others = committed.iter().copied().filter(|&id| id != newest.id && names.contains(&manifest_name(id)));
        let mut kept: BTreeSet<u64> = others.collect();
        let older: Vec<u64> = kept.range(..newest.id).copied().collect();
        // `newest` is one of those that are retained.
        let excess = (older.len() + 1).saturating_sub(self.retained);
        for oldest in older.into_iter().take(excess) {
            self.discard(oldest, names)?;
            kept.remove(&oldest);
        }
        self.known.retain(|id, _| kept.contains(id));
        if has_others(names, self.known.values().chain([newest])) {
            // Read each time: another process may have replaced a checkpoint.
            let read = kept.iter().map(|&id| self.read_manifest(id, local).map(|manifest| (id, manifest)));
            self.known = read.collect::<Result<BTreeMap<_, _>, CheckpointError>>()?;
        }
        let needed = names_of(self.known.values().chain([newest]));
        for name in names {
            let is_left_over = match id_of_meta(name) {
                Some(id) => id != newest.id && !committed.contains(&id),
                None => is_data(name) && !needed.contains(name.as_str()),
            };
            if is_left_over {
                self.remove(name)?;
            }
        }
        Ok(())
    }
}

/// The files that checkpoints need.
fn names_of<'m>(manifests: impl Iterator<Item = &'m Manifest>) -> HashSet<&'m str> {
    manifests.flat_map(Manifest::files).map(|file| file.name.as_str()).collect()
}

/// Whether there is a file of data that these checkpoints do not need.
fn has_others<'m>(names: &[String], manifests: impl Iterator<Item = &'m Manifest>) -> bool {
    let needed = names_of(manifests);
    names.iter().any(|name| is_data(name) && !needed.contains(name.as_str()))
}

fn refuse_existing(disk: &dyn Disk, path: &Path) -> Result<(), CheckpointError> {
    match disk.exists(path).map_err(CheckpointError::storage("look for", "the database"))? {
        true => Err(Error::FileExists { path: path.to_path_buf() }.into()),
        false => Ok(()),
    }
}

/// Opens a database that was restored. First its name becomes durable: otherwise a power cut during the first commit
/// could leave a segment of its log alone, which looks like the log of a database that was removed.
fn open_restored(
    disk: &dyn Disk,
    path: &Path,
    options: Options,
) -> Result<(Database, Option<FileIdentity>, Sequence), CheckpointError> {
    disk.sync_directory(directory_of(path))
        .map_err(CheckpointError::storage("sync", "the directory of the database"))?;
    let db = options.create(false).read_only(false).open(path)?;
    let sequence = db.sync()?;
    let file = FileIdentity::of(db.path()).map_err(CheckpointError::storage("read", "the database"))?;
    Ok((db, file, sequence))
}

const RETAINED_DEFAULT: usize = 10;
/// So many files of changes are applied one after the other when a checkpoint is restored.
const DELTAS_MAX: usize = 64;
