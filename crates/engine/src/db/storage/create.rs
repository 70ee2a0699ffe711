//! The names of a database's files, and how a data file is created and gets its name.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::db::storage::metas;
use crate::error::{Error, Result};
use crate::format::{ExtentTableRef, FeatureBits, Meta, PageSize};
use crate::ids::{Birth, SegmentNumber, Sequence, TableId};
use crate::io::{Access, Disk, File, ImageFile, LinkTarget, LockHolder};
use crate::log::segment_paths;
use crate::options::Options;
use crate::planted::{Fault, planted};
use crate::sync::{Arc, fill_random};

/// The path by which the disk knows a file, which need not exist.
///
/// # Errors
/// [`Error::DirectoryNotFound`]; the disk's.
pub fn canonical(disk: &dyn Disk, path: &Path) -> Result<PathBuf> {
    disk.canonical(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let target = error.get_ref().and_then(|target| target.downcast_ref::<LinkTarget>());
            Error::DirectoryNotFound { path: target.map_or(path, |target| &target.0).to_path_buf() }
        }
        _ => Error::io("find", path, error),
    })
}

/// The lock file of a database.
pub fn lock_path(database: &Path) -> PathBuf {
    with_suffix(database, "-lock")
}

/// `database` with more at its end.
pub fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The error for opening a database that another holder has locked.
pub fn locked(path: PathBuf, holder: LockHolder) -> Error {
    match holder {
        LockHolder::ThisProcess => Error::Locked { path, pid: Some(std::process::id()), is_here: true },
        LockHolder::OtherProcess(pid) => Error::Locked { path, pid, is_here: false },
    }
}

/// Refuses to create a database beside the log of one that is gone. (The file of one whose creation a crash ended is
/// durable before it has a log.)
///
/// # Errors
/// [`Error::LogWithoutDatabase`].
pub fn refuse_orphaned_log(disk: &dyn Disk, path: &Path) -> Result<()> {
    let segments = segment_paths(disk, path)?;
    if segments.is_empty() { Ok(()) } else { Err(Error::LogWithoutDatabase { path: path.to_path_buf(), segments }) }
}

/// Refuses to make a database whose file would pass for one that belongs to another database, as the log and the lock
/// file of that do. Where there is one of such a name already, it is opened like any other.
///
/// # Errors
/// [`Error::Invalid`].
pub fn refuse_reserved(path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (start, number) = name.split_at(name.len() - digits);
    let is_numbered = !number.is_empty() && (start.ends_with(b"-log.") || start.ends_with(b"-sort."));
    let suffixes: [&[u8]; 3] = [b"-new", b"-lock", b"-log.spare"];
    if !is_numbered && !suffixes.iter().any(|suffix| name.ends_with(suffix)) {
        return Ok(());
    }
    let message = format!(
        "{}: names that end in -new, -lock, -log.spare, -log.N or -sort.N are reserved for files beside a database; \
         choose another name",
        path.display()
    );
    Err(Error::Invalid { message })
}

/// A new file under the name that the file at `path` has until it is complete. What an interrupted call left there is
/// removed.
///
/// # Errors
/// [`Error::FileExists`] if something else has that name; the disk's.
pub fn begin_file(disk: &dyn Disk, path: &Path) -> Result<(PathBuf, Arc<dyn File>)> {
    let fresh = with_suffix(path, "-new");
    match disk.open(&fresh, Access::Read) {
        Ok(file) => {
            if !is_left_over(&*file, &fresh)? {
                return Err(Error::FileExists { path: fresh });
            }
            drop(file);
            disk.remove(&fresh).map_err(|error| Error::io("remove", &fresh, error))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("open", &fresh, error)),
    }
    let file = disk.open(&fresh, Access::CreateNew).map_err(|error| Error::io("create", &fresh, error))?;
    Ok((fresh, file))
}

/// Whether a file may be what an interrupted creation or copy left: nobody uses it, and no commit has changed it.
fn is_left_over(file: &dyn File, path: &Path) -> Result<bool> {
    let failed = |error| Error::io("read", path, error);
    let locks = file.locks();
    if locks.writer().map_err(failed)?.is_some() || locks.oldest_pinned().map_err(failed)?.is_some() {
        return Ok(false);
    }
    if ImageFile::is_in(file).map_err(failed)? {
        return Ok(true);
    }
    match metas::read(file, path) {
        Ok(found) => Ok(found.meta.number <= FIRST_METAS[1]),
        // Of one of the two, or of both, only a part was written.
        Err(Error::Corrupt { .. }) => Ok(true),
        Err(Error::UnsupportedFormat { .. }) => Ok(false),
        // The metas of a database, and the header of an image, are written last. Of a meta that is torn at its
        // beginning, zeros are in place of the magic bytes.
        Err(Error::NotADatabase { .. }) => {
            let mut bytes = [0; Meta::MAGIC_BYTES];
            let length = file.len().map_err(failed)?.min(bytes.len() as u64);
            file.read_at(0, &mut bytes[..length as usize]).map_err(failed)?;
            Ok(bytes == [0; Meta::MAGIC_BYTES])
        }
        Err(error) => Err(error),
    }
}

/// Creates an empty database under another name, and gives it its own once it is durable: a crash leaves all or
/// nothing.
pub fn create(disk: &dyn Disk, path: &Path, options: &Options) -> Result<()> {
    let (fresh, file) = begin_file(disk, path)?;
    let page_size = PageSize::from_bytes(options.page_size_bytes as usize).expect("options were checked");
    let meta = empty_meta(page_size)?;
    let written = (|| {
        file.allocate(0, u64::from(options.page_size_bytes)).map_err(|error| Error::io("create", &fresh, error))?;
        for number in FIRST_METAS {
            metas::write(&*file, &fresh, &Meta { number, ..meta.clone() })?;
        }
        file.sync_all().map_err(|error| Error::io("sync", &fresh, error))?;
        disk.rename(&fresh, path).map_err(|error| Error::io("name", path, error))
    })();
    if written.is_err() {
        let _ = disk.remove(&fresh);
        return written;
    }
    sync_directory(disk, path)
}

/// Makes the name of a file durable.
///
/// # Errors
/// The disk's.
pub fn sync_directory(disk: &dyn Disk, path: &Path) -> Result<()> {
    if planted(Fault::NoDirectorySync) {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(Path::new(""));
    disk.sync_directory(directory).map_err(|error| Error::io("sync directory", directory, error))
}

/// What the first meta of a database says.
///
/// # Errors
/// [`Error::Invalid`] if the system has no random numbers.
pub fn empty_meta(page_size: PageSize) -> Result<Meta> {
    let mut uuid = [0; 16];
    fill_random(&mut uuid).map_err(|error| Error::Invalid { message: format!("no random numbers: {error}") })?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(Meta {
        page_size,
        uuid,
        features: FeatureBits::default(),
        number: 1,
        birth: Birth(1),
        sequence: Sequence(0),
        log_first_segment: SegmentNumber(1),
        log_exists: false,
        page_count: 1,
        next_table_id: TableId(1),
        size_bytes_max: 0,
        catalog: None,
        extent_table: ExtentTableRef::default(),
        created_unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
    })
}

/// The numbers of the metas of a database that nothing has changed yet.
pub const FIRST_METAS: [u64; 2] = [1, 2];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

    #[test]
    fn names_of_files_beside_a_database_are_reserved() {
        for name in ["a-new", "a.ful-lock", "a-log.spare", "a-log.0", "a-log.17", "a.ful-sort.3", "/d/-new"] {
            let refused = refuse_reserved(Path::new(name)).unwrap_err();
            assert!(matches!(&refused, Error::Invalid { message } if message.contains(name)), "{refused}");
        }
        for name in ["new", "a-new.ful", "a-lock2", "a-log.", "a-log.1a", "a-log1", "1", "log.1", "a-sort.x"] {
            refuse_reserved(Path::new(name)).unwrap();
        }
    }

    /// So often that between the two slots of some of them a millisecond begins.
    #[test]
    fn both_slots_of_a_new_database_say_the_same() {
        for _ in 0..20_000 {
            let disk = MemoryDisk::new();
            create(&disk, Path::new("a.ful"), &Options::default()).unwrap();
            let path = Path::new("a.ful");
            let file = disk.open(path, Access::Read).unwrap();
            assert!(metas::read(&*file, path).unwrap().is_doubled);
        }
    }
}
