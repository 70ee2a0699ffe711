//! [`Checkpoints`]: creates checkpoints in a storage, and restores them.
//!
//! Invariant: a checkpoint is committed if and only if `meta.ID/_commit` is stored. It is stored after all files of the
//! checkpoint, and removed before any of them.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fulgurite::{Database, Durability, Error, Monitor, Options, Sequence};

use crate::checkpoint::delta::{self, Delta};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::hashing::{Content, Hashing, content_of};
use crate::checkpoint::manifest::{Manifest, StoredFile};
use crate::checkpoint::storage::{CheckpointStorage, directory_of, sync_directory_of};

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
}

/// A checkpoint, and where its changes continue.
#[derive(Debug)]
struct LastCheckpoint {
    manifest: Manifest,
    /// The database whose state it has.
    file: FileIdentity,
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
    /// [`CheckpointError::Storage`], [`CheckpointError::Engine`]. The checkpoint is not committed then.
    pub fn create(&mut self, db: &Database, id: u64) -> Result<CheckpointReport, CheckpointError> {
        let names = self.names()?;
        self.discard(id, &names)?;
        db.sync()?;
        let local = LocalFile(with_suffix(db.path(), "-checkpoint"));
        let file = FileIdentity::of(db.path()).map_err(CheckpointError::storage("read", "the database"))?;
        let written = match self.write_delta(db, id, &file, &names, &local)? {
            Some(written) => written,
            None => self.write_base(db, id, &local)?,
        };
        let Written { manifest, sequence, sent, is_whole } = written;
        if let Some(sent) = &sent {
            self.storage.store(&sent.name, &local.0).map_err(CheckpointError::storage("store", &sent.name))?;
        }
        self.store_text(&local, &manifest_name(id), &manifest.to_text())?;
        self.store_text(&local, &commit_name(id), "committed\n")?;
        let is_cleaned = self.remove_old(&manifest, &names, &local).is_ok();
        self.last = Some(LastCheckpoint { manifest, file, sequence });
        Ok(CheckpointReport { bytes_sent: sent.map_or(0, |sent| sent.bytes), is_whole, is_cleaned })
    }

    /// The changes since the last checkpoint; `None` if the whole database is to be sent.
    fn write_delta(
        &self,
        db: &Database,
        id: u64,
        file: &FileIdentity,
        names: &[String],
        local: &LocalFile,
    ) -> Result<Option<Written>, CheckpointError> {
        let Some(LastCheckpoint { manifest: last, file: file_of_last, sequence }) = &self.last else {
            return Ok(None);
        };
        // Another process may have replaced or removed that checkpoint, and with it files that only it had.
        // If it has this id, its data is still there: only its manifest was discarded.
        let is_stored = last.files().all(|file| names.contains(&file.name)) && file == file_of_last;
        if !is_stored {
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
            let mut out = Hashing::new(BufWriter::new(File::create(&local.0)?));
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
        db.backup_snapshot_to(&snapshot, &local.0, &Monitor::new())?;
        let content = content_of(&local.0).map_err(CheckpointError::storage("read", "the copy"))?;
        let base = StoredFile::new(data_name("base", id, content), content);
        let manifest = Manifest { id, base: base.clone(), deltas: Vec::new() };
        Ok(Written { manifest, sequence: snapshot.sequence(), sent: Some(base), is_whole: true })
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
        Ok(committed(&self.names()?).into_iter().collect())
    }

    fn names(&self) -> Result<Vec<String>, CheckpointError> {
        self.storage.names().map_err(CheckpointError::storage("list", "the checkpoints"))
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
    /// The database is filled under another name, `path` followed by `-restoring`. What an interrupted call has left
    /// there is removed by the next one, so two calls must not restore to one path at the same time.
    ///
    /// # Errors
    /// [`CheckpointError::NoSuchCheckpoint`]; [`CheckpointError::Damaged`] if a stored file is not what it was;
    /// [`CheckpointError::Engine`] with [`Error::FileExists`] if there is a file at `path`, and other errors of the
    /// database; [`CheckpointError::Storage`]. No file is left at `path` after an error.
    pub fn restore(&mut self, id: u64, path: impl AsRef<Path>, options: Options) -> Result<Database, CheckpointError> {
        let path = path.as_ref();
        let local = LocalFile(with_suffix(path, "-checkpoint"));
        if !committed(&self.names()?).contains(&id) {
            return Err(CheckpointError::NoSuchCheckpoint { id });
        }
        let manifest = self.read_manifest(id, &local)?;
        if path.exists() {
            return Err(Error::FileExists { path: path.to_path_buf() }.into());
        }
        let partial = PartialDatabase::new(path);
        self.fill(&manifest, &partial.0, &local, &options)?;
        if path.exists() {
            return Err(Error::FileExists { path: path.to_path_buf() }.into());
        }
        fs::rename(&partial.0, path).map_err(CheckpointError::storage("name", "the database"))?;
        match open_restored(path, options) {
            Ok((db, file, sequence)) => {
                self.last = Some(LastCheckpoint { manifest, file, sequence });
                Ok(db)
            }
            Err(error) => {
                remove_database(path);
                Err(error)
            }
        }
    }

    /// Makes a database of the files of a checkpoint, and closes it. It is durable afterwards.
    fn fill(
        &self,
        manifest: &Manifest,
        path: &Path,
        local: &LocalFile,
        options: &Options,
    ) -> Result<(), CheckpointError> {
        self.fetch(&manifest.base, path)?;
        if !manifest.deltas.is_empty() {
            // Without a log of its changes, it is a single file when it is closed. Until then no commit has to be
            // durable: after a crash the next call begins again.
            let options = options.clone().create(false).read_only(false).keep_log(0).durability(Durability::Memory);
            let db = options.open(path)?;
            for delta in &manifest.deltas {
                self.fetch(delta, &local.0)?;
                let file = File::open(&local.0).map_err(CheckpointError::storage("read", &delta.name))?;
                delta::apply(&delta.name, &mut BufReader::new(file), &db)?;
            }
            db.close()?;
        }
        // Commits of the restored database sync the log alone, and the log needs this file. Closing may have written
        // and synced nothing.
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(CheckpointError::storage("sync", &manifest.base.name))
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
    fn remove_old(&self, newest: &Manifest, names: &[String], local: &LocalFile) -> Result<(), CheckpointError> {
        let mut kept = committed(names);
        kept.remove(&newest.id);
        let mut discarded = HashSet::new();
        while kept.len() >= self.retained {
            let Some(oldest) = kept.pop_first() else { break };
            self.discard(oldest, names)?;
            discarded.insert(oldest);
        }
        let of_newest = |name: &String| newest.files().any(|file| file.name == *name);
        // Each checkpoint that sends changes needs all files of the one before. If there are no other files, none is
        // left over, whatever the other checkpoints need.
        let may_be_left_over = names.iter().any(|name| is_data(name) && !of_newest(name));
        // Read each time: another process may have replaced a checkpoint.
        let read = kept.iter().filter(|_| may_be_left_over).map(|id| self.read_manifest(*id, local));
        let manifests = read.collect::<Result<Vec<_>, CheckpointError>>()?;
        let needed: HashSet<&str> =
            manifests.iter().chain([newest]).flat_map(Manifest::files).map(|file| file.name.as_str()).collect();
        kept.insert(newest.id);
        for name in names {
            let is_left_over = match id_of_meta(name) {
                Some(id) => !kept.contains(&id) && !discarded.contains(&id),
                None => is_data(name) && !needed.contains(name.as_str()),
            };
            if is_left_over {
                self.remove(name)?;
            }
        }
        Ok(())
    }
}

/// Makes the name of a database durable that was restored, and opens it.
fn open_restored(path: &Path, options: Options) -> Result<(Database, FileIdentity, Sequence), CheckpointError> {
    sync_directory_of(path).map_err(CheckpointError::storage("name", "the database"))?;
    let db = options.create(false).read_only(false).open(path)?;
    let sequence = db.sync()?;
    let file = FileIdentity::of(db.path()).map_err(CheckpointError::storage("read", "the database"))?;
    Ok((db, file, sequence))
}

/// The id of the checkpoint that a file below `meta.ID/` is of.
fn id_of_meta(name: &str) -> Option<u64> {
    let (id, file) = name.strip_prefix("meta.")?.split_once('/')?;
    let file = file.strip_suffix(UNFINISHED).unwrap_or(file);
    id.parse().ok().filter(|_| matches!(file, "manifest" | "_commit"))
}

/// Whether a file has data of checkpoints, as [`data_name`] names them. Others are not ours.
fn is_data(name: &str) -> bool {
    let name = name.strip_suffix(UNFINISHED).unwrap_or(name);
    let rest = ["data/base-", "data/delta-"].iter().find_map(|kind| name.strip_prefix(kind));
    rest.and_then(|rest| rest.split_once('-')).is_some_and(|(id, hash)| {
        id.parse::<u64>().is_ok() && hash.len() == HASH_DIGITS && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// The ids of the committed checkpoints.
fn committed(names: &[String]) -> BTreeSet<u64> {
    names.iter().filter(|name| name.ends_with("/_commit")).filter_map(|name| id_of_meta(name)).collect()
}

/// Which file a path leads to. A new file in its place is another one.
#[derive(Debug, PartialEq, Eq)]
struct FileIdentity {
    path: PathBuf,
    created: Option<SystemTime>,
    device_and_inode: (u64, u64),
}

impl FileIdentity {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            path: path.to_path_buf(),
            created: metadata.created().ok(),
            device_and_inode: device_and_inode(&metadata),
        })
    }
}

#[cfg(unix)]
fn device_and_inode(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn device_and_inode(_: &fs::Metadata) -> (u64, u64) {
    (0, 0)
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

/// A database that is being restored. What is there is removed at the beginning and at the end.
#[derive(Debug)]
struct PartialDatabase(PathBuf);

impl PartialDatabase {
    /// The one that will have the name `path`.
    fn new(path: &Path) -> Self {
        let partial = with_suffix(path, "-restoring");
        remove_database(&partial);
        Self(partial)
    }
}

impl Drop for PartialDatabase {
    fn drop(&mut self) {
        remove_database(&self.0);
    }
}

/// Removes a database, if there is one.
fn remove_database(path: &Path) {
    let _ = fs::remove_file(path);
    if let Ok(entries) = fs::read_dir(directory_of(path)) {
        let Some(name) = path.file_name() else { return };
        for entry in entries.flatten() {
            let other = entry.file_name();
            let suffix = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
            if suffix.is_some_and(is_of_database) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Whether a file is of a database: its lock or a segment of its log. `suffix` follows the name of the database.
fn is_of_database(suffix: &[u8]) -> bool {
    let is_segment = |number: &[u8]| number == b"spare" || !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    suffix == b"-lock" || suffix.strip_prefix(b"-log.").is_some_and(is_segment)
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

/// What [`DirectoryStorage`](crate::DirectoryStorage) adds to the name of a file until the file is whole.
const UNFINISHED: &str = ".new";
/// Digits of a hash in the name of a file.
const HASH_DIGITS: usize = 16;
const RETAINED_DEFAULT: usize = 10;
/// So many files of changes are applied one after the other when a checkpoint is restored.
const DELTAS_MAX: usize = 64;
