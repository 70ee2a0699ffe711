//! The files of an index: the database, and the incremental ones stacked on it.
//!
//! (1) `code.ful-increment.1` is stacked on `code.ful`, `code.ful-increment.2` on `code.ful-increment.1`, and so on
//! without gaps. (2) Each of them is complete: it is written under another name, and renamed when it is. (3) One
//! process at a time writes them. (4) One that does not fit those below is what a killed process has left: it is not
//! read. (5) A damaged one is an error to readers, and is replaced when the index is updated. (6) Other databases,
//! those without the schema of indexes, are not read, overwritten or removed. (7) A file that is no database, where an
//! increment would be, is an error to readers and to updates: it is not known to be of the index. (8) So is a database
//! whose log is missing: it is not damaged, and may be any. An increment has no log.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use fulgurite::Database;
use fulgurite_facts::{Backend, FactDatabase, Schema, Store, StoreOptions};

use crate::error::{Error, Result};
use crate::schema::Kind;

/// The incremental database with this number, from 1 on, of the index at `path`.
#[must_use]
pub fn increment_path(path: &Path, number: usize) -> PathBuf {
    with_suffix(path, &format!("-increment.{number}"))
}

/// The incremental databases beside the index at `path`, the lowest first: those that are stacked on it, those that a
/// killed process has left, and damaged ones. Other files with such names are none.
#[must_use]
pub fn increments(path: &Path) -> Vec<PathBuf> {
    let files = (1..).map(|number| increment_path(path, number)).take_while(|path| path.is_file());
    files.filter(|path| is_index(path) || is_damaged(path)).collect()
}

/// Whether the database at `path` has the schema of indexes, or that of an earlier version.
#[must_use]
pub fn is_index(path: &Path) -> bool {
    FactDatabase::schema_at(path).is_ok_and(|schema| is_code(&schema))
}

/// Whether the file of an incremental database is damaged, so that it cannot be opened. An empty file, and one of
/// zeros, is what a power cut may leave. A file that is not a database is not damaged, and neither is a database whose
/// log is missing.
#[must_use]
pub fn is_damaged(path: &Path) -> bool {
    use fulgurite::Error::{LogMissing, NotADatabase};
    match FactDatabase::schema_at(path) {
        Err(fulgurite_facts::Error::Engine(error)) => match *error {
            NotADatabase { .. } => is_cut_off(path),
            // Its log may be elsewhere, with the only copy of commits.
            LogMissing { .. } => false,
            error => error.is_corruption(),
        },
        Err(fulgurite_facts::Error::Damaged { .. }) => true,
        _ => false,
    }
}

/// Whether the file at `path` begins as a database does, but is so damaged that it does not say what it holds.
#[must_use]
pub fn is_damaged_database(path: &Path) -> bool {
    is_damaged(path) && beginning(path).is_some_and(|beginning| beginning.starts_with(DATABASE))
}

/// Whether a file that cannot be opened begins as a database does, or has zeros there or nothing.
fn is_cut_off(path: &Path) -> bool {
    let is_of_database = |bytes: Vec<u8>| bytes.starts_with(DATABASE) || bytes.iter().all(|byte| *byte == 0);
    beginning(path).is_some_and(is_of_database)
}

/// Whether the file at `path` is not a database, not even a damaged one.
fn is_no_database(path: &Path) -> bool {
    match FactDatabase::schema_at(path) {
        Err(error) if is_not_a_database(&error) => !is_cut_off(path),
        _ => false,
    }
}

fn is_not_a_database(error: &fulgurite_facts::Error) -> bool {
    use fulgurite_facts::Error::Engine;
    matches!(error, Engine(error) if matches!(**error, fulgurite::Error::NotADatabase { .. }))
}

/// The error of opening a database whose log is missing.
fn missing_log(path: &Path) -> Option<fulgurite_facts::Error> {
    use fulgurite_facts::Error::Engine;
    let error = FactDatabase::schema_at(path).err()?;
    let is_missing = matches!(&error, Engine(error) if matches!(**error, fulgurite::Error::LogMissing { .. }));
    is_missing.then_some(error)
}

/// The first bytes of a file, if it can be read.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut beginning = Vec::new();
    File::open(path).and_then(|file| file.take(BEGINNING_BYTES).read_to_end(&mut beginning)).ok()?;
    Some(beginning)
}

fn is_code(schema: &Schema) -> bool {
    Kind::of(schema) != Kind::Other
}

/// Opens an index for reading, with all of its incremental databases. It also opens other databases of facts, which
/// have none.
///
/// # Errors
/// If one of the files cannot be opened.
pub fn open_index(path: &Path) -> Result<FactDatabase> {
    Ok(open_files(path)?.0)
}

/// The files of the index at `path`: the database itself, and the incremental ones that are stacked on it, the lowest
/// first.
///
/// # Errors
/// As [`open_index`].
pub fn index_files(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(open_files(path)?.1)
}

/// Opens an index, and lists its files. If another process has replaced files meanwhile, it tries once more.
fn open_files(path: &Path) -> Result<(FactDatabase, Vec<PathBuf>)> {
    let before = listed(path);
    let opened = try_open(path);
    if listed(path) == before {
        return opened;
    }
    drop(opened);
    try_open(path)
}

/// The files that may be of an index, with what changes when they are replaced.
fn listed(path: &Path) -> Vec<(u64, Option<SystemTime>)> {
    let times = |metadata: Metadata| (metadata.len(), metadata.modified().ok());
    metadata_of_files(path).map(times).collect()
}

fn metadata_of_files(path: &Path) -> impl Iterator<Item = Metadata> {
    let increments = (1..).map(|number| increment_path(path, number));
    std::iter::once(path.to_owned()).chain(increments).map_while(|path| std::fs::metadata(path).ok())
}

/// The identities of files: another file has another one, though it has the same name.
#[cfg(unix)]
pub(crate) type Identities = Vec<(u64, u64)>;

/// The identities of files: another file has another one, though it has the same name.
#[cfg(not(unix))]
pub(crate) type Identities = Vec<(u64, Option<SystemTime>)>;

/// Which files an index has, while they are open: a file that is changed in its place stays the same.
#[cfg(unix)]
pub(crate) fn identities(path: &Path) -> Identities {
    use std::os::unix::fs::MetadataExt;
    metadata_of_files(path).map(|metadata| (metadata.dev(), metadata.ino())).collect()
}

/// Elsewhere a file has no number: its time changes when it is replaced.
#[cfg(not(unix))]
pub(crate) fn identities(path: &Path) -> Identities {
    listed(path)
}

fn try_open(path: &Path) -> Result<(FactDatabase, Vec<PathBuf>)> {
    match open_sound(path)? {
        Sound { database, files, damage: None } => Ok((database, files)),
        Sound { damage: Some(error), .. } => Err(error),
    }
}

/// An index up to its first damaged increment.
struct Sound {
    database: FactDatabase,
    files: Vec<PathBuf>,
    damage: Option<Error>,
}

fn open_sound(path: &Path) -> Result<Sound> {
    use fulgurite_facts::Error::{NoSchema, NotFacts, WrongBase};
    let mut database = FactDatabase::open_with(read_only(), path)?;
    let mut files = vec![path.to_owned()];
    while is_code(database.schema()) {
        let next = increment_path(path, files.len());
        if !next.is_file() {
            break;
        }
        match FactDatabase::open_with(read_only().base(database.store()), &next) {
            Ok(opened) if is_code(opened.schema()) => {
                database = opened;
                files.push(next);
            }
            Ok(_) | Err(NoSchema { .. } | NotFacts { .. } | WrongBase { .. }) => break,
            Err(error) if is_damaged(&next) => {
                let damage = Error::DamagedIncrement { path: next, message: error.to_string() };
                return Ok(Sound { database, files, damage: Some(damage) });
            }
            Err(error) if is_not_a_database(&error) => return Err(Error::NotAnIncrement { path: next }),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Sound { database, files, damage: None })
}

/// Opens an index for reading up to its first damaged increment.
///
/// # Errors
/// As [`open_index`], but not of a damaged increment.
pub(crate) fn open_sound_part(path: &Path) -> Result<FactDatabase> {
    Ok(open_sound(path)?.database)
}

/// The files of an index up to its first damaged increment, and that one. Every page of the increments is verified.
///
/// # Errors
/// As [`open_index`], of the database itself.
pub(crate) fn sound_files(path: &Path) -> Result<(Vec<PathBuf>, Option<PathBuf>)> {
    let Sound { mut files, damage, .. } = open_sound(path)?;
    for (number, file) in files.iter().enumerate().skip(1) {
        // The engine checks its own files only.
        if Backend::of(file) == Backend::Lmdb {
            continue;
        }
        let database = Database::options().read_only(true).open(file).map_err(fulgurite_facts::Error::from)?;
        let checked = database.check().map_err(fulgurite_facts::Error::from)?;
        if !checked.damages.is_empty() {
            let damaged = file.clone();
            files.truncate(number);
            return Ok((files, Some(damaged)));
        }
    }
    let damaged = damage.is_some().then(|| increment_path(path, files.len()));
    Ok((files, damaged))
}

/// Options for a database on those, the lowest first.
pub(crate) fn stacked_on(options: StoreOptions, below: &[PathBuf]) -> Result<StoreOptions> {
    let mut base: Option<Store> = None;
    for path in below {
        base = Some(on(read_only(), base.as_ref()).open(path)?);
    }
    Ok(on(options, base.as_ref()))
}

fn on(options: StoreOptions, base: Option<&Store>) -> StoreOptions {
    match base {
        Some(base) => options.base(base),
        None => options,
    }
}

fn read_only() -> StoreOptions {
    Store::options().engine(Database::options().read_only(true))
}

/// Keeps other processes from changing the files of an index until it is dropped.
#[derive(Debug)]
pub struct IndexLock {
    path: PathBuf,
    file: File,
    backend: Option<Backend>,
}

impl IndexLock {
    /// Locks the index at `path`, where there may be none yet. The file `PATH-index-lock` stays beside an index:
    /// another process may have it open.
    ///
    /// # Errors
    /// [`Error::File`], if another process holds the lock, the file cannot be written, or `path` is a directory. An
    /// error of the engine, if the directory of `path` does not exist.
    pub fn take(path: &Path) -> Result<Self> {
        if path.file_name().is_none() || path.is_dir() {
            let message = "it is a directory; name the database file, such as code.ful in it";
            return Err(Error::file(path, "be written")(io::Error::new(ErrorKind::IsADirectory, message)));
        }
        if !directory_of(path).is_dir() {
            let error = fulgurite::Error::DirectoryNotFound { path: path.to_owned() };
            return Err(fulgurite_facts::Error::from(error).into());
        }
        let lock = lock_path(path);
        loop {
            let file = File::create(&lock).map_err(Error::file(&lock, "be written"))?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &lock) => return Ok(Self { path: path.to_owned(), file, backend: None }),
                // Another process has deleted the index, and the lock with it.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let message = "another process is indexing or copying it; try again when it has ended";
                    return Err(Error::file(path, "be locked")(io::Error::new(ErrorKind::WouldBlock, message)));
                }
                Err(TryLockError::Error(error)) => return Err(Error::file(&lock, "be locked")(error)),
            }
        }
    }

    /// Sets the backend of an index that is written whole. By default, an index keeps its backend, and a new index has
    /// the engine. Incremental databases always have the engine.
    #[must_use]
    pub fn stored_by(mut self, backend: Backend) -> Self {
        self.backend = Some(backend);
        self
    }

    /// The backend of an index that is written whole.
    pub(crate) fn backend(&self) -> Backend {
        self.backend.unwrap_or_else(|| Backend::of(&self.path))
    }

    /// The index.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that is locked. Another process that has it open keeps the lock.
    #[cfg(unix)]
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Checks that the index can be written where it is to be. [`IndexLock::update`] does so too; indexers may take
    /// minutes before it.
    ///
    /// # Errors
    /// [`Error::NotOverwritten`], [`Error::NotAnIncrement`] and errors of databases, if another file is there;
    /// [`Error::DamagedIndex`], if it may be another one; an error if this program was built without the backend.
    pub fn require_writable(&self) -> Result<()> {
        let path = &self.path;
        if !self.backend().is_built() {
            return Err(fulgurite_facts::Error::LmdbNotBuilt { path: path.clone() }.into());
        }
        for increment in (1..=INCREMENTS_MAX).map(|number| increment_path(path, number)) {
            if is_no_database(&increment) || increment.is_dir() {
                return Err(Error::NotAnIncrement { path: increment });
            }
            if let Some(error) = missing_log(&increment) {
                return Err(error.into());
            }
        }
        match FactDatabase::schema_at(path) {
            _ if !path.exists() => Ok(()),
            Ok(schema) if is_code(&schema) => Ok(()),
            Ok(_) => Err(Error::NotOverwritten { path: path.clone() }),
            Err(error) if is_damaged_database(path) => {
                Err(Error::DamagedIndex { path: path.clone(), message: error.to_string(), is_recognised: false })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// If there is no index at the end, the lock file is removed. It is still locked then: other processes create and lock
/// a new file.
impl Drop for IndexLock {
    fn drop(&mut self) {
        let lock = lock_path(&self.path);
        if !is_index(&self.path) && is_at(&self.file, &lock) {
            let _ = std::fs::remove_file(lock);
        }
    }
}

/// Whether an open file is the one that has a name now.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().map(identity).ok() == std::fs::metadata(path).map(identity).ok()
}

/// Elsewhere, the name of an open file stays.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// A database that is being written, under another name than its own.
pub(crate) struct Unfinished {
    path: PathBuf,
    /// Damaged increments are replaced. A damaged database may be any other.
    is_of_increment: bool,
}

impl Unfinished {
    /// The one that will be at `path`. Removes what a killed process has left of an earlier one. Requires: the index
    /// is locked.
    pub fn at(path: &Path, is_of_increment: bool) -> Result<Self> {
        let unfinished = Self { path: with_suffix(path, UNFINISHED), is_of_increment };
        unfinished.remove();
        Ok(unfinished)
    }

    /// Where it is now.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name, also after a power cut. Requires: it is closed.
    pub fn finish(self, path: &Path) -> Result<()> {
        if path.exists() && !is_index(path) && !(self.is_of_increment && is_damaged(path)) {
            return Err(Error::NotOverwritten { path: path.to_owned() });
        }
        // The lock file of LMDB says which state of one database file is the newest, so it must not stay beside another
        // one. Another process may have the replaced file open.
        let is_lmdb = [path, self.path.as_path()].into_iter().any(|file| Backend::of(file) == Backend::Lmdb);
        let remove_lock = || {
            if is_lmdb {
                let _ = std::fs::remove_file(with_suffix(path, "-lock"));
            }
        };
        remove_lock();
        std::fs::rename(&self.path, path).map_err(Error::file(path, "be written"))?;
        remove_lock();
        #[cfg(unix)]
        {
            let directory = directory_of(path);
            let synced = File::open(directory).and_then(|file| file.sync_all());
            synced.map_err(Error::file(directory, "be synced"))?;
        }
        Ok(())
    }

    fn remove(&self) {
        // What is not removed is reported when the database is created.
        let _ = std::fs::remove_file(&self.path);
        let Some(name) = self.path.file_name() else { return };
        let Ok(entries) = std::fs::read_dir(directory_of(&self.path)) else { return };
        let mut prefix: OsString = name.to_owned();
        prefix.push("-");
        for entry in entries.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// What failed leaves nothing.
impl Drop for Unfinished {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The files that a killed process has left of databases that it wrote for the index at `path`, where there may be
/// none. While the index is locked by another process, these may be the files that it writes.
#[must_use]
pub fn unfinished_files(path: &Path) -> Vec<PathBuf> {
    files_beside(path, is_of_unfinished)
}

/// The files beside the index at `path` whose names begin with its name, if `is_wanted` says so of the rest of the
/// name.
pub(crate) fn files_beside(path: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let (Some(name), Ok(entries)) = (path.file_name(), std::fs::read_dir(directory_of(path))) else {
        return Vec::new();
    };
    let is_beside = |other: &OsStr| {
        let rest = other.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        rest.and_then(|rest| str::from_utf8(rest).ok()).is_some_and(&is_wanted)
    };
    let files = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()));
    files.filter(|entry| is_beside(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// Whether a file is an unfinished database, or its lock or log. Its name is that of the index and `rest`.
fn is_of_unfinished(rest: &str) -> bool {
    let of_increment = rest.strip_prefix("-increment.");
    let rest = of_increment.map_or(rest, |rest| rest.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    rest.strip_prefix(UNFINISHED).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Whether the database at `path` is an index that is not finished: it is being written, or a killed process has left
/// it.
#[must_use]
pub fn is_unfinished(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(UNFINISHED.as_bytes()) && is_index(path)
}

/// Removes what a killed process has left. Requires: the index is locked.
pub(crate) fn remove_unfinished(path: &Path) {
    // What cannot be removed is reported when a database is created there.
    unfinished_files(path).iter().for_each(|file| drop(std::fs::remove_file(file)));
}

/// Removes the incremental databases above the first `kept`, the highest first: those that are left belong together at
/// all times. Requires: the index is locked.
pub(crate) fn remove_increments(path: &Path, kept: usize) -> Result<()> {
    let mut removed = increments(path);
    removed.retain(|increment| (1..=kept).all(|number| *increment != increment_path(path, number)));
    for increment in removed.iter().rev() {
        match std::fs::remove_file(increment) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::file(increment, "be removed")(error));
            }
            _ => {}
        }
        let _ = std::fs::remove_file(with_suffix(increment, "-lock"));
    }
    Ok(())
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

/// The file that is locked for an index.
fn lock_path(path: &Path) -> PathBuf {
    with_suffix(path, "-index-lock")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// So many incremental databases are stacked at most: each makes answers slower.
pub const INCREMENTS_MAX: usize = 8;
/// How the name of a database ends while it is written.
const UNFINISHED: &str = "-unfinished";
/// As many zeros are no magic number of any file.
const BEGINNING_BYTES: u64 = 4096;
/// The magic number of databases (docs/reference/file-format.md).
const DATABASE: &[u8] = b"FULGURIT";
