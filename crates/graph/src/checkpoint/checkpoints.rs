//! [`Checkpoints`]: creates checkpoints in a storage, and restores them.
//!
//! Invariant: a checkpoint is committed if and only if `meta.ID/_commit` is stored. It is stored after all files of the
//! checkpoint, and removed before any of them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use fulgurite::{Database, Error, Monitor, Options, Sequence};

use crate::checkpoint::delta::{self, Delta};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::hashing::{Content, Hashing, content_of};
use crate::checkpoint::manifest::{Manifest, StoredFile};
use crate::checkpoint::storage::CheckpointStorage;

/// Creates checkpoints of one database in a storage, and restores them.
///
/// The first checkpoint is a copy of the database. Later ones send only what has changed since the one before, as long
/// as the database keeps the log of these changes ([`Options::keep_log`]), and the changes are less than half of the
/// copy. Otherwise they send a new copy.
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
    /// The newest checkpoint of this database, and the newest commit that it has.
    last: Option<(Manifest, Sequence)>,
}

/// What a checkpoint has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// The bytes that were stored, without the manifest.
    pub bytes_sent: u64,
    /// Whether the whole database was sent.
    pub is_whole: bool,
}

impl<S: CheckpointStorage> Checkpoints<S> {
    /// Checkpoints in this storage. It keeps the newest ten.
    pub fn new(storage: S) -> Self {
        Self { storage, retained: RETAINED_DEFAULT, last: None }
    }

    /// Keeps this many checkpoints, at least one.
    #[must_use]
    pub fn retained(mut self, retained: usize) -> Self {
        self.retained = retained.max(1);
        self
    }

    /// Creates a checkpoint of the newest state. A checkpoint with this id is replaced.
    ///
    /// # Errors
    /// [`CheckpointError::Storage`], [`CheckpointError::Engine`]. The checkpoint is not committed then, unless only the
    /// removal of old ones failed.
    pub fn create(&mut self, db: &Database, id: u64) -> Result<CheckpointReport, CheckpointError> {
        self.discard(id)?;
        db.sync()?;
        let local = LocalFile(with_suffix(db.path(), "-checkpoint"));
        let (manifest, sequence, report) = match self.write_delta(db, id, &local)? {
            Some(written) => written,
            None => self.write_base(db, id, &local)?,
        };
        let file = manifest.deltas.last().unwrap_or(&manifest.base);
        self.storage.store(&file.name, &local.0).map_err(CheckpointError::storage("store", &file.name))?;
        self.store_text(&local, &manifest_name(id), &manifest.to_text())?;
        self.store_text(&local, &commit_name(id), "committed\n")?;
        self.last = Some((manifest, sequence));
        self.remove_old(&local)?;
        Ok(report)
    }

    /// The changes since the last checkpoint; `None` if the whole database is to be sent.
    fn write_delta(
        &self,
        db: &Database,
        id: u64,
        local: &LocalFile,
    ) -> Result<Option<(Manifest, Sequence, CheckpointReport)>, CheckpointError> {
        let Some((last, sequence)) = &self.last else { return Ok(None) };
        let is_stored = self.committed()?.contains(&last.id);
        let sent: u64 = last.deltas.iter().map(|delta| delta.bytes).sum();
        let bytes_max = (last.base.bytes / 2).saturating_sub(sent);
        if !is_stored || bytes_max == 0 || last.deltas.len() >= DELTAS_MAX {
            return Ok(None);
        }
        let feed = match db.changes(*sequence) {
            Ok(feed) => feed,
            Err(Error::ChangesGone { .. } | Error::Invalid { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let through = feed.through();
        let Some(delta) = Delta::collect(feed, bytes_max)? else { return Ok(None) };
        let write = || {
            let mut out = Hashing::new(BufWriter::new(File::create(&local.0)?));
            delta.write(&mut out)?;
            out.flush()?;
            Ok(out.content())
        };
        let content = write().map_err(CheckpointError::storage("write", "the changes"))?;
        let name = data_name("delta", id, content);
        let mut manifest = Manifest { id, ..last.clone() };
        manifest.deltas.push(StoredFile::new(name, content));
        Ok(Some((manifest, through, CheckpointReport { bytes_sent: content.bytes, is_whole: false })))
    }

    fn write_base(
        &self,
        db: &Database,
        id: u64,
        local: &LocalFile,
    ) -> Result<(Manifest, Sequence, CheckpointReport), CheckpointError> {
        local.remove();
        let snapshot = db.read_durable()?;
        db.backup_snapshot_to(&snapshot, &local.0, &Monitor::new())?;
        let content = content_of(&local.0).map_err(CheckpointError::storage("read", "the copy"))?;
        let base = StoredFile::new(data_name("base", id, content), content);
        let report = CheckpointReport { bytes_sent: content.bytes, is_whole: true };
        Ok((Manifest { id, base, deltas: Vec::new() }, snapshot.sequence(), report))
    }

    fn store_text(&self, local: &LocalFile, name: &str, text: &str) -> Result<(), CheckpointError> {
        fs::write(&local.0, text).map_err(CheckpointError::storage("write", name))?;
        self.storage.store(name, &local.0).map_err(CheckpointError::storage("store", name))
    }

    /// The ids of the committed checkpoints, oldest first.
    ///
    /// # Errors
    /// [`CheckpointError::Storage`].
    pub fn ids(&self) -> Result<Vec<u64>, CheckpointError> {
        let mut ids: Vec<u64> = self.committed()?.into_iter().collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn committed(&self) -> Result<HashSet<u64>, CheckpointError> {
        let names = self.storage.names().map_err(CheckpointError::storage("list", "the checkpoints"))?;
        let id = |name: &String| name.strip_prefix("meta.")?.strip_suffix("/_commit")?.parse().ok();
        Ok(names.iter().filter_map(id).collect())
    }

    fn read_manifest(&self, id: u64, local: &LocalFile) -> Result<Manifest, CheckpointError> {
        let name = manifest_name(id);
        self.storage.fetch(&name, &local.0).map_err(CheckpointError::storage("fetch", &name))?;
        let text = fs::read(&local.0).map_err(CheckpointError::storage("read", &name))?;
        let manifest = Manifest::parse(&name, &text)?;
        if manifest.id != id {
            return Err(CheckpointError::damaged(&name, format!("it is of checkpoint {}", manifest.id)));
        }
        Ok(manifest)
    }

    /// Restores a checkpoint into a new database at `path`, and opens it. The next checkpoint of the returned database
    /// sends what has changed since then.
    ///
    /// # Errors
    /// [`CheckpointError::NoSuchCheckpoint`]; [`CheckpointError::Damaged`] if a stored file is not what it was;
    /// [`CheckpointError::Engine`] with [`Error::FileExists`] if there is a file at `path`, and other errors of the
    /// database; [`CheckpointError::Storage`]. No file is left at `path` after an error.
    pub fn restore(&mut self, id: u64, path: impl AsRef<Path>, options: Options) -> Result<Database, CheckpointError> {
        let path = path.as_ref();
        let local = LocalFile(with_suffix(path, "-checkpoint"));
        if !self.committed()?.contains(&id) {
            return Err(CheckpointError::NoSuchCheckpoint { id });
        }
        let manifest = self.read_manifest(id, &local)?;
        if path.exists() {
            return Err(Error::FileExists { path: path.to_path_buf() }.into());
        }
        let restored = self.fill(&manifest, path, &local, options);
        match restored {
            Ok(db) => {
                let sequence = db.sync()?;
                self.last = Some((manifest, sequence));
                Ok(db)
            }
            Err(error) => {
                remove_database(path);
                Err(error)
            }
        }
    }

    fn fill(
        &self,
        manifest: &Manifest,
        path: &Path,
        local: &LocalFile,
        options: Options,
    ) -> Result<Database, CheckpointError> {
        self.fetch(&manifest.base, &local.0)?;
        fs::rename(&local.0, path).map_err(CheckpointError::storage("name", &manifest.base.name))?;
        let db = options.create(false).read_only(false).open(path)?;
        for delta in &manifest.deltas {
            self.fetch(delta, &local.0)?;
            let file = File::open(&local.0).map_err(CheckpointError::storage("read", &delta.name))?;
            delta::apply(&delta.name, &mut BufReader::new(file), &db)?;
        }
        Ok(db)
    }

    /// Fetches a file, and checks that it is what was stored.
    fn fetch(&self, file: &StoredFile, path: &Path) -> Result<(), CheckpointError> {
        self.storage.fetch(&file.name, path).map_err(CheckpointError::storage("fetch", &file.name))?;
        let content = content_of(path).map_err(CheckpointError::storage("read", &file.name))?;
        if content == file.content() {
            return Ok(());
        }
        let reason = format!(
            "it has {} bytes with the hash {:016x}, and not {} with {:016x}",
            content.bytes, content.hash, file.bytes, file.hash
        );
        Err(CheckpointError::damaged(&file.name, reason))
    }

    /// Removes a checkpoint. Files that others share stay.
    fn discard(&self, id: u64) -> Result<(), CheckpointError> {
        for name in [commit_name(id), manifest_name(id)] {
            self.storage.remove(&name).map_err(CheckpointError::storage("remove", &name))?;
        }
        Ok(())
    }

    /// Removes the oldest checkpoints, those that were never committed, and files that no checkpoint has.
    fn remove_old(&self, local: &LocalFile) -> Result<(), CheckpointError> {
        let Some((newest, _)) = &self.last else { return Ok(()) };
        let names = self.storage.names().map_err(CheckpointError::storage("list", "the checkpoints"))?;
        let ids = self.ids()?;
        let kept = &ids[ids.len().saturating_sub(self.retained)..];
        for id in ids.iter().filter(|id| !kept.contains(id) && **id != newest.id) {
            self.discard(*id)?;
        }
        let mut needed: HashSet<String> = newest.files().map(|file| file.name.clone()).collect();
        for id in kept.iter().filter(|id| **id != newest.id) {
            match self.read_manifest(*id, local) {
                Ok(manifest) => needed.extend(manifest.files().map(|file| file.name.clone())),
                // Which files it needs is not known.
                Err(_) => return Ok(()),
            }
        }
        for name in names.iter().filter(|name| name.starts_with("data/") && !needed.contains(*name)) {
            self.storage.remove(name).map_err(CheckpointError::storage("remove", name))?;
        }
        Ok(())
    }
}

/// A name that no other content has: a checkpoint that is created again must not replace a file that others share.
fn data_name(kind: &str, id: u64, content: Content) -> String {
    format!("data/{kind}-{id}-{:016x}", content.hash)
}

fn manifest_name(id: u64) -> String {
    format!("meta.{id}/manifest")
}

fn commit_name(id: u64) -> String {
    format!("meta.{id}/_commit")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Removes a database that was restored in part.
fn remove_database(path: &Path) {
    let _ = fs::remove_file(path);
    if let Ok(entries) = fs::read_dir(path.parent().unwrap_or(Path::new("."))) {
        let Some(name) = path.file_name() else { return };
        for entry in entries.flatten() {
            let other = entry.file_name();
            let is_of_it = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
            if is_of_it.is_some_and(|suffix| suffix.starts_with(b"-")) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A local file that is removed at the end.
#[derive(Debug)]
struct LocalFile(PathBuf);

impl LocalFile {
    fn remove(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        self.remove();
        // The lock of the copy.
        let _ = fs::remove_file(with_suffix(&self.0, "-lock"));
    }
}

const RETAINED_DEFAULT: usize = 10;
/// So many files of changes are applied one after the other when a checkpoint is restored.
const DELTAS_MAX: usize = 64;
