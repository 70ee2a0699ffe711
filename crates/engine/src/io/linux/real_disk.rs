//! The operating system's files, on Linux.
//!
//! Invariants: (1) Nothing but a regular file is opened, never through a link as the last part of the path.
//! (2) A file is created readable by its owner only. (3) A failed sync is reported, never repeated (one that a signal
//! interrupted has not been done yet, so it is).

use std::fs::{self, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, OFlags};
use rustix::io::{Errno, ReadWriteFlags};

use super::lock::{self, DataLocks};
use super::map::Map;
use super::regular_file::{flags, is_named, open_regular};
use super::write_map::Prepared;
use crate::io::disk::{Access, Disk, File, FileLocks, FreeSpace, LinkTarget, LockHolder, WriterAttempt, write_zeros};
use crate::io::place::PreparedPlace;
use crate::process::Stamp;
use crate::sync::Arc;

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(access != Access::Read).create_new(access == Access::CreateNew);
        let file = open_regular(path, &mut options)?;
        Ok(Arc::new(RealFile {
            file,
            prepared: Prepared::default(),
            locks: DataLocks::default(),
            stamp: Stamp::new()?,
        }))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags(OFlags::DIRECTORY));
        options.open(or_current(directory))?.sync_all()
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in retry_interrupted(|| fs::read_dir(or_current(directory)))? {
            let entry = entry?;
            if is_listed(entry.file_type())? {
                paths.push(directory.join(entry.file_name()));
            }
        }
        paths.sort();
        Ok(paths)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        match fs::symlink_metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        follow_links(path)
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        lock::lock_writer(lock_path)
    }

    fn writer_of(&self, lock_path: &Path) -> io::Result<Option<LockHolder>> {
        lock::writer_of(lock_path)
    }
}

/// An open file of the operating system.
#[derive(Debug)]
struct RealFile {
    file: fs::File,
    prepared: Prepared,
    locks: DataLocks,
    stamp: Stamp,
}

impl RealFile {
    /// The file, for the process that opened it.
    fn own(&self) -> io::Result<&fs::File> {
        if self.stamp.is_inherited() {
            return Err(io::Error::other("was opened by the process that this one was forked from"));
        }
        Ok(&self.file)
    }
}

impl File for RealFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.own()?;
        if self.prepared.write(offset, bytes) { Ok(()) } else { self.file.write_all_at(bytes, offset) }
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let part = [IoSlice::new(bytes)];
        match rustix::io::pwritev2(self.own()?, &part, offset, ReadWriteFlags::DSYNC) {
            Ok(written) if written == bytes.len() => Ok(()),
            // Cut short or interrupted before anything was synced, or unknown to the system or the file system.
            Ok(_) | Err(Errno::INTR | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                self.file.write_all_at(bytes, offset)?;
                self.file.sync_data()
            }
            Err(error) => Err(error.into()),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.prepared.set_len(self.own()?, length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        let file = self.own()?;
        match retry_interrupted(|| Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), offset, length)?)) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let end = offset.checked_add(length).ok_or(io::ErrorKind::FileTooLarge)?;
                write_zeros(|offset, zeros| self.write_at(offset, zeros), self.len()?, end)
            }
            result => result,
        }
    }

    fn prepare(&self, length: u64) -> io::Result<()> {
        self.prepared.extend(self.own()?, length)
    }

    fn place(&self, offset: u64, length: usize) -> Option<PreparedPlace> {
        self.prepared.place(offset, length)
    }

    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        let system = rustix::fs::fstatvfs(&self.file)?;
        let (available_bytes, total_bytes) = (system.f_bavail * system.f_frsize, system.f_blocks * system.f_frsize);
        let file_system = self.file.metadata()?.dev();
        // Some file systems in user space answer with zeros.
        Ok((total_bytes > 0).then_some(FreeSpace { available_bytes, total_bytes, file_system }))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.own()?.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.own()?.sync_all()
    }

    fn forget_cached(&self) {
        // A system that refuses this keeps no more than it would have kept.
        let _ = rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed);
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>> {
        Map::new(&self.file, self.len()?, reserve_bytes)
    }

    fn locks(&self) -> &dyn FileLocks {
        self
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        is_named(&self.file, path)
    }
}

impl FileLocks for RealFile {
    fn lock_writer(&self) -> io::Result<Option<LockHolder>> {
        self.locks.lock_writer(self.own()?)
    }

    fn unlock_writer(&self) -> io::Result<()> {
        self.locks.unlock_writer(self.own()?)
    }

    fn writer(&self) -> io::Result<Option<LockHolder>> {
        self.locks.writer(self.own()?)
    }

    fn pin(&self, number: u64) -> io::Result<()> {
        self.locks.pin(self.own()?, number)
    }

    fn unpin(&self) -> io::Result<()> {
        self.locks.unpin(self.own()?)
    }

    fn oldest_pinned(&self) -> io::Result<Option<u64>> {
        self.locks.oldest_pinned(self.own()?)
    }
}

/// The path of what a chain of symbolic links leads to, which may not exist yet.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for links in 0..LINKS_MAX {
        let name = path.file_name().map(ToOwned::to_owned);
        let name = name.ok_or_else(|| match path.as_os_str().is_empty() {
            true => io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name at its end"),
            false => io::ErrorKind::IsADirectory.into(),
        })?;
        let directory = fs::canonicalize(or_current(path.parent().unwrap_or(Path::new(""))));
        let directory = directory.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if links > 0 => io::Error::new(error.kind(), LinkTarget(path)),
            _ => error,
        })?;
        path = directory.join(name);
        match fs::read_link(&path) {
            Ok(target) => path = directory.join(target),
            // It is not a link, or does not exist.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "is a symbolic link that leads back to itself"))
}

/// Whether an entry of a directory is there and no directory. Some file systems do not say what an entry is: then its
/// type is asked for by its name, which may be gone by then.
fn is_listed(kind: io::Result<fs::FileType>) -> io::Result<bool> {
    match kind {
        Ok(kind) => Ok(!kind.is_dir()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// For the calls that std does not repeat itself when a signal interrupts them.
fn retry_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The current directory has an empty name as the parent of a bare file name, but the system knows it as `.`.
fn or_current(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}

/// As many links as the system itself follows.
const LINKS_MAX: usize = 40;
#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode};

    use super::*;

    #[test]
    fn links_directories_and_pipes_are_refused_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        let pipe = directory.path().join("pipe");
        RealDisk.open(&target, Access::CreateNew).unwrap();
        symlink(&target, &link).unwrap();
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for path in [&link, &pipe] {
            for access in [Access::Read, Access::Write] {
                let error = RealDisk.open(path, access).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{} {access:?}: {error}", path.display());
            }
        }
        assert_eq!(RealDisk.open(directory.path(), Access::Read).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(RealDisk.lock_writer(&link).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(RealDisk.open(&link, Access::CreateNew).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn created_files_belong_to_their_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (path, lock_path) = (directory.path().join("file"), directory.path().join("lock"));
        RealDisk.open(&path, Access::CreateNew).unwrap();
        let _lock = RealDisk.lock_writer(&lock_path).unwrap();
        for path in [&path, &lock_path] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn canonical_paths_follow_links_also_to_what_does_not_exist_yet() {
        let directory = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(directory.path()).unwrap();
        let canonical = |name: &str| RealDisk.canonical(&directory.path().join(name));
        fs::create_dir(real.join("inner")).unwrap();
        symlink(&real, real.join("again")).unwrap();
        symlink(real.join("file"), real.join("link")).unwrap();
        symlink("../link", real.join("inner/link")).unwrap();
        symlink("loop", real.join("loop")).unwrap();
        symlink("none/file", real.join("nowhere")).unwrap();
        for _ in 0..2 {
            for name in ["again/again/file", "link", "inner/link", "again/inner/link"] {
                assert_eq!(canonical(name).unwrap(), real.join("file"), "{name}");
            }
            fs::write(real.join("file"), "").unwrap();
        }
        assert_eq!(canonical("loop").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(canonical("none/file").unwrap_err().kind(), io::ErrorKind::NotFound);
        let error = canonical("nowhere").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let target = error.get_ref().and_then(|target| target.downcast_ref::<LinkTarget>());
        assert_eq!(target.expect("the link is known").0, real.join("none/file"));
        assert_eq!(RealDisk.canonical(Path::new("bare")).unwrap(), fs::canonicalize(".").unwrap().join("bare"));
    }

    #[test]
    fn a_list_leaves_directories_out() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("inside")).unwrap();
        RealDisk.open(&directory.path().join("b"), Access::CreateNew).unwrap();
        RealDisk.open(&directory.path().join("a"), Access::CreateNew).unwrap();
        let paths = [directory.path().join("a"), directory.path().join("b")];
        assert_eq!(RealDisk.list(directory.path()).unwrap(), paths);
        assert_eq!(RealDisk.list(&directory.path().join("c")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_entry_that_is_gone_when_its_type_is_asked_for_is_not_listed() {
        let directory = tempfile::tempdir().unwrap();
        let (file, gone) = (directory.path().join("file"), directory.path().join("gone"));
        RealDisk.open(&file, Access::CreateNew).unwrap();
        let kind = |path: &Path| fs::symlink_metadata(path).map(|metadata| metadata.file_type());
        assert!(is_listed(kind(&file)).unwrap() && !is_listed(kind(&gone)).unwrap());
        assert!(!is_listed(kind(directory.path())).unwrap());
        let refused = is_listed(Err(io::ErrorKind::PermissionDenied.into())).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }
}
