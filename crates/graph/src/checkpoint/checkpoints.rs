//! [`Checkpoints`]: creates checkpoints in a storage, and restores them.
//!
//! Invariant: a checkpoint is committed if and only if `meta.ID/_commit` is stored. It is stored after all files of the
//! checkpoint, and removed before any of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, BufReader, Read, Write as _};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fulgurite::io::{Access, Disk};
use fulgurite::{Changes, Database, Durability, Error, Options, Sequence};
use xxhash_rust::xxh3::xxh3_128;

use crate::checkpoint::compression::{Compression, LEVEL_DEFAULT, Unpacked};
use crate::checkpoint::delta::{self, Delta, DeltaLimits};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::hashing::{FileHash, Hashing, content_of};
use crate::checkpoint::local::{DiskReader, FileIdentity, LocalFile, PartialDatabase, directory_of, remove_database};
use crate::checkpoint::manifest::{Base, Manifest, StoredFile};
use crate::checkpoint::names::{
    commit_name, committed, data_name, id_of_meta, is_compressed, is_data, is_delta_of, is_segment, is_sent_by,
    manifest_name,
};
use crate::checkpoint::segments;
use crate::checkpoint::storage::CheckpointStorage;
use crate::checkpoint::unsynced::UnsyncedDisk;

/// Creates checkpoints of one database in a storage, and restores them.
///
/// The first checkpoint has all entries of the database, in segments of some megabytes. Later ones send only what has
/// changed since the one before, as long as the database keeps the log of these changes ([`Options::keep_log`]), the
/// log is not damaged, and the changes are less than half of the segments. Otherwise they send the segments that no
/// committed checkpoint of the storage has. If nothing has changed, they send no data. All of this holds for a
/// checkpoint that replaces one with the same id, too. What is sent is
/// [compressed](Checkpoints::compression_level).
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
    segment_bytes: u64,
    compression: Compression,
    /// The checkpoint that was created or restored last.
    last: Option<LastCheckpoint>,
    /// Manifests that were stored or read, by id. Another process may have replaced them since. So they are read again
    /// before what they name is removed, and before a whole checkpoint reuses segments.
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

/// A checkpoint that is being created.
struct Creation<'c> {
    db: &'c Database,
    id: u64,
    /// The files that the storage had before.
    present: HashSet<&'c str>,
    local: &'c LocalFile,
}

/// A new checkpoint whose data is stored.
#[derive(Debug)]
struct Written {
    manifest: Manifest,
    /// The newest commit that it has.
    sequence: Sequence,
    bytes_sent: u64,
    is_whole: bool,
}

/// The result of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// The bytes that were stored, after compression, without the manifest; 0 if the storage had all data already.
    pub bytes_sent: u64,
    /// Whether the checkpoint has all entries as segments, and not only changes since the one before. Segments that the
    /// storage had already were not sent.
    pub is_whole: bool,
    /// Whether the files that are no longer needed were removed. If not, the next checkpoint removes them.
    pub is_cleaned: bool,
}

impl<S: CheckpointStorage> Checkpoints<S> {
    /// Checkpoints in this storage. It keeps the newest ten.
    pub fn new(storage: S) -> Self {
        let (retained, segment_bytes) = (RETAINED_DEFAULT, SEGMENT_BYTES_DEFAULT);
        let compression = Compression::of_level(LEVEL_DEFAULT);
        Self { storage, retained, segment_bytes, compression, last: None, known: BTreeMap::new() }
    }

    /// Keeps this many checkpoints, at least one. Those with larger ids than the one that is created stay, and do not
    /// count.
    #[must_use]
    pub fn retained(mut self, retained: usize) -> Self {
        self.retained = retained.max(1);
        self
    }

    /// Sets the average size of segments; larger entries make larger segments. Default: 4 MiB; at least 1 KiB, at most
    /// 1 GiB.
    ///
    /// A segment is sent again when one of its entries has changed. So smaller segments send fewer bytes, in more
    /// files. After a change of the size all segments are sent again. Memory holds one segment of up to twice this
    /// size, and changes of up to 16 times this size.
    #[must_use]
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes.clamp(1 << 10, 1 << 30);
        self
    }

    /// Sets the level of Zstandard by which segments and changes are compressed: from 1, which is fast, to 22, which
    /// makes the smallest files; higher ones count as 22. With 0 they are stored as they are. Default: 1.
    ///
    /// A change of the level sends nothing again, and a checkpoint may have files of several levels. Versions of
    /// Fulgurite that do not know compression restore only checkpoints without compressed files.
    #[must_use]
    pub fn compression_level(mut self, level: u32) -> Self {
        self.compression = Compression::of_level(level);
        self
    }

    /// Creates a checkpoint of the newest state. A checkpoint with this id is replaced.
    ///
    /// # Errors
    /// [`CheckpointError::Storage`], also if the storage cannot remove what an interrupted call has left;
    /// [`CheckpointError::Engine`]. The checkpoint is not committed then. The one that it was to replace may be gone.
    /// What was sent is removed, unless the storage fails again: then the next checkpoint removes it.
    pub fn create(&mut self, db: &Database, id: u64) -> Result<CheckpointReport, CheckpointError> {
        let mut names = self.names_beside_sync(db)?;
        let local = LocalFile::beside(db.disk(), db.path());
        let committed = committed(&names);
        // Without `_commit`, another process may have been storing the files of a checkpoint again when it ended.
        self.known.retain(|other, _| committed.contains(other));
        self.last = self.last.take().filter(|last| committed.contains(&last.manifest.id));
        let replaced = self.known.remove(&id);
        let replaced = replaced.or_else(|| self.read_replaced(id, &names, &local));
        self.discard(id, &names)?;
        let file = FileIdentity::of(db.path()).map_err(CheckpointError::storage("read", "the database"))?;
        let present = names.iter().map(String::as_str).collect();
        let creation = Creation { db, id, present, local: &local };
        // Changes that were sent for this id before may have the same names.
        self.learn(id, replaced.as_ref(), &names, &local, |name| is_delta_of(name, id));
        let mut whole = names_of(self.known.values().chain(&replaced));
        whole.retain(|name| creation.present.contains(*name));
        let written = match self.write_delta(&creation, file.as_ref(), &whole) {
            Ok(None) => {
                self.known.clear();
                self.learn(id, replaced.as_ref(), &names, &local, is_segment);
                self.write_segments(&creation, replaced.as_ref())
            }
            Ok(Some(written)) => Ok(written),
            Err(error) => Err(error),
        };
        let stored = written.and_then(|written| {
            self.store_bytes(&local, &manifest_name(id), written.manifest.to_text().as_bytes())?;
            Ok(written)
        });
        let Written { manifest, sequence, bytes_sent, is_whole } =
            stored.inspect_err(|_| self.remove_sent(id, &creation.present))?;
        // If a manifest cannot be read, it is not known which files are needed: all stay, here and below.
        if self.read_kept(&manifest, &committed_besides(id, &names), &names, &local).is_ok() {
            let removed = self.remove_left_over(&manifest, &mut names);
            removed.inspect_err(|_| self.remove_sent(id, &names.iter().map(String::as_str).collect()))?;
        }
        self.store_bytes(&local, &commit_name(id), b"committed\n")?;
        let is_cleaned = self.remove_old(&manifest, &mut names, &local).is_ok();
        self.known.insert(id, manifest.clone());
        self.last = Some(LastCheckpoint { manifest, file, sequence });
        Ok(CheckpointReport { bytes_sent, is_whole, is_cleaned })
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

    /// Stores the changes since the last checkpoint; `None` if the whole database is to be sent. Files in `whole` are
    /// not stored again.
    fn write_delta(
        &self,
        creation: &Creation<'_>,
        file: Option<&FileIdentity>,
        whole: &HashSet<&str>,
    ) -> Result<Option<Written>, CheckpointError> {
        let Some(LastCheckpoint { manifest: last, file: file_of_last, sequence }) = &self.last else {
            return Ok(None);
        };
        // Another process may have replaced or removed that checkpoint, and with it files that only it had.
        // If it has this id, its data is still there: only its manifest was discarded.
        let is_same = file.is_some() && file == file_of_last.as_ref();
        if !is_same || !last.files().all(|file| creation.present.contains(file.name.as_str())) {
            return Ok(None);
        }
        let Some(feed) = changes_since(creation.db, *sequence)? else { return Ok(None) };
        let mut through = feed.through();
        let sent: u64 = last.deltas.iter().map(|delta| delta.bytes).sum();
        let has_room = last.deltas.iter().filter(|delta| delta.bytes < self.segment_bytes).count() < DELTAS_MAX;
        // With 0, only an unchanged database has a delta: each change has some bytes.
        let bytes_max = if has_room { (last.base.bytes() / 2).saturating_sub(sent) } else { 0 };
        let limits = DeltaLimits { bytes_max, memory_bytes_max: self.segment_bytes * SEGMENTS_PER_DELTA };
        // Nothing is stored before it is clear that the changes are not too many.
        let mut has_several = false;
        let counted = delta::collect(feed, limits, |_| {
            has_several = true;
            Ok(())
        })?;
        let Some(mut delta) = counted else { return Ok(None) };
        // The manifest of a copy is read by versions of Fulgurite that do not know compression.
        let is_copy = matches!(last.base, Base::Copy(_));
        let compression = if is_copy { Compression::Off } else { self.compression };
        let (mut stored, mut bytes_sent) = (Vec::new(), 0);
        let mut store = |delta: &Delta| -> Result<(), CheckpointError> {
            let (file, sent) = self.store_delta(creation, delta, compression, whole)?;
            stored.push(file);
            bytes_sent += sent;
            Ok(())
        };
        if has_several {
            // Its memory is for the deltas before it, which are read again.
            drop(delta);
            let Some(feed) = changes_since(creation.db, *sequence)? else { return Ok(None) };
            through = feed.through();
            match delta::collect(feed, limits, &mut store)? {
                Some(collected) => delta = collected,
                // Later changes are too many, or the log has lost some.
                None => {
                    for delta in stored.iter().filter(|delta| !creation.present.contains(delta.name.as_str())) {
                        self.remove(&delta.name)?;
                    }
                    return Ok(None);
                }
            }
        }
        if !delta.is_empty() {
            store(&delta)?;
        }
        let deltas = last.deltas.iter().cloned().chain(stored).collect();
        let manifest = Manifest { id: creation.id, base: last.base.clone(), deltas };
        Ok(Some(Written { manifest, sequence: through, bytes_sent, is_whole: false }))
    }

    /// Stores a file of changes, unless it is in `whole`. Returns how many bytes were sent, too.
    fn store_delta(
        &self,
        creation: &Creation<'_>,
        delta: &Delta,
        compression: Compression,
        whole: &HashSet<&str>,
    ) -> Result<(StoredFile, u64), CheckpointError> {
        let written = creation.local.create().and_then(|file| {
            compression.write(file, |out| {
                let mut out = Hashing::new(out);
                delta.write(&mut out)?;
                Ok(out.content())
            })
        });
        let (content, file_bytes) = written.map_err(CheckpointError::storage("write", "the changes"))?;
        let (bytes, hash) = (content.bytes, content.short());
        let name = data_name("delta", creation.id, hash, compression);
        let is_sent = !whole.contains(name.as_str());
        if is_sent {
            self.store_local(creation.local, &name)?;
        }
        Ok((StoredFile { name, bytes, hash }, if is_sent { file_bytes } else { 0 }))
    }

    /// The manifest of a committed checkpoint that is to be replaced; `None` if there is none that can be read.
    fn read_replaced(&self, id: u64, names: &[String], local: &LocalFile) -> Option<Manifest> {
        let is_there = names.contains(&commit_name(id)) && names.contains(&manifest_name(id));
        is_there.then(|| self.read_manifest(id, local).ok()).flatten()
    }

    /// Reads the manifests of other committed checkpoints if the storage has files that may be reused, and no known
    /// manifest names them.
    fn learn(
        &mut self,
        id: u64,
        replaced: Option<&Manifest>,
        names: &[String],
        local: &LocalFile,
        may_be_reused: impl Fn(&str) -> bool,
    ) {
        let known = names_of(self.known.values().chain(replaced));
        if names.iter().all(|name| !may_be_reused(name) || known.contains(name.as_str())) {
            return;
        }
        let others = committed_besides(id, names);
        let others: Vec<u64> = others.into_iter().filter(|other| !self.known.contains_key(other)).collect();
        for other in others {
            // A manifest that cannot be read proves nothing: it may be damaged, of another program, or gone.
            if let Ok(manifest) = self.read_manifest(other, local) {
                self.known.insert(other, manifest);
            }
        }
    }

    /// Stores the segments of the database that no committed checkpoint has.
    ///
    /// Only a committed checkpoint is proof that a segment is whole: the storage may have a part of one that an
    /// interrupted call was storing.
    fn write_segments(&self, creation: &Creation<'_>, replaced: Option<&Manifest>) -> Result<Written, CheckpointError> {
        let &Creation { db, id, ref present, local } = creation;
        let earlier = self.known.values().chain(replaced).flat_map(|manifest| manifest.base.segments());
        let earlier = earlier.filter(|file| present.contains(file.name.as_str()));
        let earlier: HashMap<(FileHash, u64), &StoredFile> =
            earlier.map(|file| ((file.hash, file.bytes), file)).collect();
        let snapshot = db.read_durable()?;
        let page_size_bytes = u32::try_from(db.stats()?.page_size_bytes).expect("pages have 8 or 16 KiB");
        let (mut files, mut bytes_sent) = (Vec::new(), 0);
        segments::write_all(&snapshot, self.segment_bytes, |segment| {
            let (bytes, hash) = (segment.len() as u64, FileHash::Long(xxh3_128(segment)));
            if let Some(&file) = earlier.get(&(hash, bytes)) {
                files.push(file.clone());
                return Ok(());
            }
            let name = data_name("segment", id, hash, self.compression);
            let written = local.create().and_then(|file| self.compression.write(file, |out| out.write_all(segment)));
            let ((), file_bytes) = written.map_err(CheckpointError::storage("write", &name))?;
            self.store_local(local, &name)?;
            bytes_sent += file_bytes;
            files.push(StoredFile { name, bytes, hash });
            Ok(())
        })?;
        let base = Base::Segments { page_size_bytes, files: files.into() };
        let manifest = Manifest { id, base, deltas: Vec::new() };
        Ok(Written { manifest, sequence: snapshot.sequence(), bytes_sent, is_whole: true })
    }

    fn store_bytes(&self, local: &LocalFile, name: &str, bytes: &[u8]) -> Result<(), CheckpointError> {
        let written = local.create().and_then(|mut file| file.write_all(bytes));
        written.map_err(CheckpointError::storage("write", name))?;
        self.store_local(local, name)
    }

    fn store_local(&self, local: &LocalFile, name: &str) -> Result<(), CheckpointError> {
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
        let segments = match &manifest.base {
            Base::Copy(copy) => {
                self.fetch(copy, &**disk, path)?;
                None
            }
            Base::Segments { page_size_bytes, files } => Some((*page_size_bytes, files)),
        };
        if segments.is_some() || !manifest.deltas.is_empty() {
            let fetched = |file: &StoredFile| {
                self.fetch(file, &**disk, &local.path)?;
                let content = open_content(file, &**disk, &local.path).map(BufReader::new);
                content.map_err(CheckpointError::storage("read", &file.name))
            };
            // Without a log of its changes, it is a single file when it is closed. Until then nothing has to be
            // durable: after a crash the next call begins again.
            let options = options.clone().read_only(false).keep_log(0).durability(Durability::Memory);
            // Segments and changes may have more than a quota of the file allows: the log had a part of them.
            let options = options.max_size_bytes(u64::MAX).background(false).disk(Arc::new(UnsyncedDisk::of(disk)));
            let db = match segments {
                None => options.create(false).open(path)?,
                Some((page_size_bytes, files)) => {
                    let db = options.create(true).page_size_bytes(page_size_bytes).open(path)?;
                    segments::load(&db, files, fetched)?;
                    db
                }
            };
            for delta in &manifest.deltas {
                delta::apply(&delta.name, fetched(delta)?, &db)?;
            }
            db.close()?;
        }
        let synced = disk.open(path, Access::Write).and_then(|file| file.sync_all());
        synced.map_err(CheckpointError::storage("sync", "the database"))
    }

    /// Fetches a file, and checks that it is what was stored.
    fn fetch(&self, file: &StoredFile, disk: &dyn Disk, path: &Path) -> Result<(), CheckpointError> {
        self.storage.fetch(&file.name, path).map_err(CheckpointError::storage("fetch", &file.name))?;
        // A file that decompresses to more than it should is not read to its end.
        let bytes_max = file.bytes.saturating_add(1);
        let content = open_content(file, disk, path).and_then(|content| content_of(content.take(bytes_max)));
        let content = content.map_err(|error| CheckpointError::unreadable(&file.name, error))?;
        if content.bytes > file.bytes {
            return Err(CheckpointError::damaged(&file.name, format!("it has more than {} bytes", file.bytes)));
        }
        let hash = content.like(file.hash);
        if (content.bytes, hash) == (file.bytes, file.hash) {
            return Ok(());
        }
        let reason =
            format!("it has {} bytes with the hash {hash}, and not {} with {}", content.bytes, file.bytes, file.hash);
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

    /// Removes the data that a failed creation of a checkpoint has added to `present`, as far as the storage can.
    /// Otherwise each attempt with a new id would add as much to a storage that is full.
    fn remove_sent(&self, id: u64, present: &HashSet<&str>) {
        let Ok(names) = self.names() else { return };
        // A new checkpoint is of another process, which may have sent or reused files with these names.
        let is_new = |other: u64| other == id || !present.contains(commit_name(other).as_str());
        if committed(&names).into_iter().any(is_new) {
            return;
        }
        for name in names.iter().filter(|name| is_sent_by(name, id) && !present.contains(name.as_str())) {
            if self.remove(name).is_err() {
                return;
            }
        }
    }

    /// Removes the oldest checkpoints, those that were never committed, and files that no checkpoint has. `newest` was
    /// created after the listing of `names`.
    ///
    /// Checkpoints with larger ids than `newest` stay: they are of an earlier run, or of what was rolled back. If they
    /// counted, each checkpoint of the new run would be removed as the oldest. A checkpoint without its manifest stays
    /// too: it is of another program, or lost.
    fn remove_old(
        &mut self,
        newest: &Manifest,
        names: &mut Vec<String>,
        local: &LocalFile,
    ) -> Result<(), CheckpointError> {
        let mut kept = committed_besides(newest.id, names);
        let older: Vec<u64> = kept.range(..newest.id).copied().collect();
        // `newest` is one of those that are retained.
        let excess = (older.len() + 1).saturating_sub(self.retained);
        for oldest in older.into_iter().take(excess) {
            self.discard(oldest, names)?;
            kept.remove(&oldest);
        }
        self.read_kept(newest, &kept, names, local)?;
        self.remove_left_over(newest, names)
    }

    /// Leaves only checkpoints in `kept` among the known ones. If files may be left over, reads the manifests of all of
    /// them.
    fn read_kept(
        &mut self,
        newest: &Manifest,
        kept: &BTreeSet<u64>,
        names: &[String],
        local: &LocalFile,
    ) -> Result<(), CheckpointError> {
        self.known.retain(|id, _| kept.contains(id));
        if has_others(names, self.known.values().chain([newest])) {
            // Read each time: another process may have replaced a checkpoint.
            let read = kept.iter().map(|&id| self.read_manifest(id, local).map(|manifest| (id, manifest)));
            self.known = read.collect::<Result<BTreeMap<_, _>, CheckpointError>>()?;
        }
        Ok(())
    }

    /// Removes data that neither `newest` nor a known checkpoint needs, and manifests that are not committed. Removes
    /// the names of these files from `names`. Requires: [`Checkpoints::read_kept`] has succeeded.
    ///
    /// A checkpoint is committed after this, because another process may remember an earlier checkpoint with the same
    /// id. If the id is committed and the files of that checkpoint are there, this process takes the files for
    /// complete. But an interrupted call that stored such a file again may have left only a part of it.
    fn remove_left_over(&self, newest: &Manifest, names: &mut Vec<String>) -> Result<(), CheckpointError> {
        let committed = committed(names);
        let needed = names_of(self.known.values().chain([newest]));
        let (mut left_over, rest): (Vec<String>, Vec<String>) =
            std::mem::take(names).into_iter().partition(|name| match id_of_meta(name) {
                Some(id) => id != newest.id && !committed.contains(&id),
                None => is_data(name) && !needed.contains(name.as_str()),
            });
        *names = rest;
        while let Some(name) = left_over.pop() {
            if let Err(error) = self.remove(&name) {
                names.push(name);
                names.append(&mut left_over);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Reads the content of a file that was fetched to `path`.
fn open_content(file: &StoredFile, disk: &dyn Disk, path: &Path) -> io::Result<Box<dyn Read>> {
    let stored = DiskReader::open(disk, path)?;
    match is_compressed(&file.name) {
        true => Ok(Box::new(Unpacked::new(stored))),
        false => Ok(Box::new(stored)),
    }
}

/// The changes after a commit; `None` if they cannot be read any more.
fn changes_since(db: &Database, sequence: Sequence) -> Result<Option<Changes>, CheckpointError> {
    match db.changes(sequence) {
        Ok(feed) => Ok(Some(feed)),
        Err(Error::Invalid { .. }) => Ok(None),
        Err(error) if delta::are_gone(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The ids of the committed checkpoints, except `id`. A `_commit` without a manifest belongs to another program.
fn committed_besides(id: u64, names: &[String]) -> BTreeSet<u64> {
    committed(names).into_iter().filter(|&other| other != id && names.contains(&manifest_name(other))).collect()
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
const SEGMENT_BYTES_DEFAULT: u64 = 4 << 20;
/// How many segments as large as wanted take as much memory as the changes of a file do at most.
const SEGMENTS_PER_DELTA: u64 = 16;
/// So many small files of changes a checkpoint has at most before the next one is whole: each of them is fetched and
/// applied by itself. Those that have at least the size of a segment are limited by their bytes.
const DELTAS_MAX: usize = 64;
