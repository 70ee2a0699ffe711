//! The names of a database's files, and how a data file is created and gets its name.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::db::storage::metas;
use crate::error::{Error, Result};
use crate::format::{ExtentTableRef, FeatureBits, Meta, PageSize};
use crate::ids::{Birth, SegmentNumber, Sequence, TableId};
use crate::io::{Access, Disk, LinkTarget, LockHolder};
use crate::log::segment_paths;
use crate::options::Options;
use crate::planted::{Fault, planted};
use crate::sync::fill_random;

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

/// Creates an empty database under another name, and gives it its own once it is durable: a crash leaves all or
/// nothing.
pub fn create(disk: &dyn Disk, path: &Path, options: &Options) -> Result<()> {
    let fresh = with_suffix(path, "-new");
    match disk.remove(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", &fresh, error)),
        _ => {}
    }
    let file = disk.open(&fresh, Access::CreateNew).map_err(|error| Error::io("create", &fresh, error))?;
    let page_size = PageSize::from_bytes(options.page_size_bytes as usize).expect("options were checked");
    let meta = empty_meta(page_size)?;
    let written = (|| {
        file.allocate(0, u64::from(options.page_size_bytes)).map_err(|error| Error::io("create", &fresh, error))?;
        for number in [1, 2] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryDisk;

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
