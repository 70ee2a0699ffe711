//! The operating system's files, on Linux.
//!
//! Invariants: (1) Nothing but a regular file is opened, never through a link as the last part of the path.
//! (2) A file is created readable by its owner only. (3) A failed sync is reported, never repeated (one that a signal
//! interrupted has not been done yet, so it is).

use std::fs::{self, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, OFlags};
use rustix::io::{Errno, ReadWriteFlags};

use super::disk::{Access, Disk, File, ReaderSlots, WriterAttempt, write_zeros};
use super::lock;
use super::map::Map;
use super::place::PreparedPlace;
use super::write_map::Prepared;
use crate::sync::Arc;

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(access != Access::Read).create_new(access == Access::CreateNew);
        Ok(Arc::new(RealFile { file: open_regular(path, &mut options)?, prepared: Prepared::default() }))
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
            if !entry.file_type()?.is_dir() {
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
        let name = path.file_name();
        let name = name.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path ends in no file name"))?;
        let directory = path.parent().unwrap_or(Path::new(""));
        Ok(fs::canonicalize(or_current(directory))?.join(name))
    }

    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt> {
        lock::lock_writer(lock_path)
    }

    fn reader_slots(&self, lock_path: &Path) -> io::Result<Box<dyn ReaderSlots>> {
        lock::reader_slots(lock_path)
    }
}

/// An open file of the operating system.
#[derive(Debug)]
struct RealFile {
    file: fs::File,
    prepared: Prepared,
}

impl File for RealFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.prepared.write(offset, bytes) { Ok(()) } else { self.file.write_all_at(bytes, offset) }
    }

    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let part = [IoSlice::new(bytes)];
        match rustix::io::pwritev2(&self.file, &part, offset, ReadWriteFlags::DSYNC) {
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
        self.prepared.set_len(&self.file, length)
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        match retry_interrupted(|| Ok(rustix::fs::fallocate(&self.file, FallocateFlags::empty(), offset, length)?)) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let end = offset.checked_add(length).ok_or(io::ErrorKind::FileTooLarge)?;
                write_zeros(|offset, zeros| self.write_at(offset, zeros), self.len()?, end)
            }
            result => result,
        }
    }

    fn prepare(&self, length: u64) -> io::Result<()> {
        self.prepared.extend(&self.file, length)
    }

    fn place(&self, offset: u64, length: usize) -> Option<PreparedPlace> {
        self.prepared.place(offset, length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn forget_cached(&self) {
        // What refuses it keeps no more than it would have.
        let _ = rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed);
    }

    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>> {
        Map::new(&self.file, self.len()?, reserve_bytes)
    }
}

/// Opens what must be a regular file, and no link. The caller chooses access and creation in `options`.
pub(super) fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<fs::File> {
    // NONBLOCK, so that opening a named pipe returns instead of waiting for its other end; regular files ignore it.
    let options = options.mode(0o600).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK));
    let file = options.open(path).map_err(|error| {
        if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            return io::Error::new(io::ErrorKind::InvalidInput, "is a symbolic link; name the file that it points to");
        }
        error
    })?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    Ok(file)
}

/// Refuses file systems on which a lock or a map of one machine means nothing to another.
pub(super) fn refuse_network_file_system(file: &fs::File) -> io::Result<()> {
    let magic = rustix::fs::fstatfs(file)?.f_type as u64;
    // The field is signed on some platforms; its magic numbers have 32 bits.
    if NETWORK_FILE_SYSTEMS.contains(&(magic & 0xffff_ffff)) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "is on a network file system, whose locks and maps cannot be trusted; keep it on a local disk",
        ));
    }
    Ok(())
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

/// Flags as std takes them: it adds `O_CLOEXEC` itself.
fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// NFS, SMB, CIFS, SMB 2, AFS and Ceph, from `linux/magic.h`.
const NETWORK_FILE_SYSTEMS: [u64; 6] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x5346_414f, 0x00c3_6400];

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
        assert_eq!(RealDisk.open(directory.path(), Access::Read).unwrap_err().kind(), io::ErrorKind::InvalidInput);
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
    fn canonical_paths_follow_directories_and_not_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(directory.path()).unwrap();
        symlink(&real, directory.path().join("again")).unwrap();
        symlink(real.join("file"), directory.path().join("link")).unwrap();
        assert_eq!(RealDisk.canonical(&directory.path().join("again/again/file")).unwrap(), real.join("file"));
        assert_eq!(RealDisk.canonical(&directory.path().join("link")).unwrap(), real.join("link"));
        assert_eq!(
            RealDisk.canonical(&directory.path().join("none/file")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
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
}
