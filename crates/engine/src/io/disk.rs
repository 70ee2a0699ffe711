//! What the engine asks of storage: the traits [`Disk`] and [`File`], and the locks between processes.
//!
//! What survives a power cut is part of these contracts; `docs/reference/durability.md` has the whole model:
//! (1) A file's bytes are durable once [`File::sync_data`] returned, and so is as much of its length as reading them
//!     needs.
//! (2) A name (created, renamed, removed) is durable once [`Disk::sync_directory`] of its directory returned.
//! (3) Until then any subset may survive, in any order, and a write may be torn between 512-byte sectors.
//! (4) After a failed sync nothing is known about the bytes written before it. Implementations must not hide such a
//!     failure, and callers must not sync again in the hope of success.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{Map, PreparedPlace};
use crate::sync::Arc;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A file that must not exist yet, for reading and writing. Only its owner may read it.
    CreateNew,
}

/// A place that holds files. `/` of a path separates directories, which exist already.
///
/// Implementations handle interruption (`EINTR`) inside, except where a call's contract forbids a retry.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Opens a file. A symbolic link as the last part of the path ([`Disk::canonical`] has
    /// followed it), and anything but a regular file, is refused.
    ///
    /// # Errors
    /// `NotFound` for [`Access::Read`] and [`Access::Write`] of a missing file, `AlreadyExists` for
    /// [`Access::CreateNew`] of one that is there, `InvalidInput` for a link or a file that is not regular.
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>>;

    /// Removes a name. Open files live on until they are dropped. Durable after [`Disk::sync_directory`].
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, replacing what `to` named in one step. Durable after [`Disk::sync_directory`].
    ///
    /// # Errors
    /// `NotFound` if there is no file `from`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable. The empty path is the current directory.
    ///
    /// # Errors
    /// The system's. The state of the names is unknown then: do not try again, fail.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// The files (not the directories) directly in a directory, as `directory` joined with each name, in order of name.
    /// The empty path is the current directory.
    ///
    /// # Errors
    /// The system's; `NotFound` where the disk knows that there is no such directory.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;

    /// Whether the path names anything.
    ///
    /// # Errors
    /// The system's, other than `NotFound`.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// The one absolute path of a file that may or may not exist. Symbolic links are followed, also one that is the
    /// last part of the path and leads to a file that does not exist yet. Two paths of the same file give the same
    /// answer, unless the file has several hard links or mounts.
    ///
    /// # Errors
    /// `NotFound` if the directory does not exist, with a [`LinkTarget`] if the path is a link into that directory;
    /// `InvalidInput` if the path has no last name.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;

    /// Tries, without waiting, to become the only writer among all processes that use the same lock file. The file is
    /// created if need be. This lock covers the database's name, before there is a data file; [`FileLocks`] cover the
    /// file itself.
    ///
    /// # Errors
    /// The system's; `Unsupported` on a file system whose locks or maps cannot be trusted (network file systems).
    fn lock_writer(&self, lock_path: &Path) -> io::Result<WriterAttempt>;

    /// The living holder of the lock that [`Disk::lock_writer`] takes; `None` if there is none, or if this disk does
    /// not know. Creates no file, and does not wait.
    ///
    /// # Errors
    /// The system's; `InvalidInput` for a link or a file that is not regular.
    fn writer_of(&self, _lock_path: &Path) -> io::Result<Option<LockHolder>> {
        Ok(None)
    }
}

/// What a symbolic link leads to, in an error of [`Disk::canonical`].
#[derive(Debug)]
pub struct LinkTarget(pub PathBuf);

impl fmt::Display for LinkTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the link leads to {}", self.0.display())
    }
}

impl std::error::Error for LinkTarget {}

/// An open file. It closes when the last reference is dropped; closing never reports an error, so sync first.
#[allow(clippy::len_without_is_empty)] // An empty file is nothing special here, and asking can fail.
pub trait File: Send + Sync + fmt::Debug {
    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before; what `buffer` holds is unspecified then.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, growing the file if they reach past its end; a gap reads as zeros.
    ///
    /// # Errors
    /// `StorageFull`, or another of the system's. Any part of the bytes may have been written then.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes `bytes` as [`File::write_at`] does, and waits until they are on the medium, with as much of the file's
    /// length as reading them needs. What else was written to the file may wait for [`File::sync_data`].
    ///
    /// # Errors
    /// As [`File::write_at`] and [`File::sync_data`]: never sync this file again.
    fn write_durably(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, bytes)?;
        self.sync_data()
    }

    /// The file's length in bytes.
    ///
    /// # Errors
    /// The system's.
    fn len(&self) -> io::Result<u64>;

    /// Cuts the file, or grows it by a hole that reads as zeros. Growing takes no space: use [`File::allocate`] for
    /// bytes that will be mapped. A cut is durable only after [`File::sync_all`].
    ///
    /// # Errors
    /// The system's.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// Reserves disk space for `length` bytes from `offset` on, growing the file by zeros if they reach past its end,
    /// so that later writes to this range cannot fail because the disk is full. Existing bytes are kept.
    ///
    /// On file systems without such a call only the part past the end is reserved (by writing zeros): holes that
    /// [`File::set_len`] made stay holes.
    ///
    /// # Errors
    /// `StorageFull`. The file may have grown then, by zeros, but not past `offset + length`.
    fn allocate(&self, offset: u64, length: u64) -> io::Result<()>;

    /// Makes small writes to the first `length` bytes cheap, if this disk can. It then grows the file to that length
    /// and writes zeros, so that those writes cannot fail because the disk is full. Otherwise it leaves the file
    /// unchanged.
    ///
    /// Requires: the file has no holes, and no other handle truncates it from now on.
    ///
    /// # Errors
    /// As [`File::write_at`]. The file may have grown then, by zeros, but not past `length`.
    fn prepare(&self, length: u64) -> io::Result<()> {
        write_zeros(|offset, zeros| self.write_at(offset, zeros), self.len()?, length)
    }

    /// A place of `length` bytes from `offset` on that the caller can write through memory, if they are prepared for
    /// that: without a system call, and beside threads that write elsewhere. `None` where only [`File::write_at`]
    /// works.
    fn place(&self, _offset: u64, _length: usize) -> Option<PreparedPlace> {
        None
    }

    /// The free space of the file system that holds this file. `None` if it is unknown or unlimited.
    ///
    /// # Errors
    /// The system's.
    fn free_space(&self) -> io::Result<Option<FreeSpace>> {
        Ok(None)
    }

    /// Waits until all bytes written so far, and the length needed to read them, are on the medium.
    ///
    /// # Errors
    /// The system's. It may have dropped unwritten bytes and forgotten: never sync this file again, the next call may
    /// lie.
    fn sync_data(&self) -> io::Result<()>;

    /// As [`File::sync_data`], with all of the file's attributes.
    ///
    /// # Errors
    /// As [`File::sync_data`].
    fn sync_all(&self) -> io::Result<()>;

    /// Drops what the system caches of the file, except bytes that are not written yet or are mapped: the next read
    /// comes from the medium. A hint, which does nothing where there is no such cache.
    fn forget_cached(&self) {}

    /// The locks between all processes that have this very file open, under whatever name.
    fn locks(&self) -> &dyn FileLocks;

    /// Whether `path` still names this file: it was not renamed, replaced or removed since.
    ///
    /// # Errors
    /// The system's, other than `NotFound`.
    fn is_named(&self, path: &Path) -> io::Result<bool>;

    /// Maps the file from its first byte through a window of about `reserve_bytes`, which may reach far past its end:
    /// bytes appended later show up in it. `None` means that this disk has no maps, or that there is no address space
    /// even for the file as it is; read with [`File::read_at`] then.
    ///
    /// # Errors
    /// The system's, other than for want of address space.
    fn map(&self, reserve_bytes: u64) -> io::Result<Option<Map>>;
}

/// How much space a file system has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that this process may still take.
    pub available_bytes: u64,
    /// Bytes of the whole file system.
    pub total_bytes: u64,
    /// Number of the file system: files for which it is the same share this space.
    pub file_system: u64,
}

/// Writes zeros from `start` to `end`, in parts of a size that file systems keep together in memory and still write
/// to cheaply: small writes into parts of 2 MiB cost six times as much.
pub(in crate::io) fn write_zeros(write: impl Fn(u64, &[u8]) -> io::Result<()>, start: u64, end: u64) -> io::Result<()> {
    let mut at = start;
    while at < end {
        let part = (end - at).min((ZEROS.len() as u64) - at % ZEROS.len() as u64);
        write(at, &ZEROS[..part as usize])?;
        at += part;
    }
    Ok(())
}

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The answer to [`Disk::lock_writer`].
#[derive(Debug)]
pub enum WriterAttempt {
    /// The caller is the writer until it drops or closes the lock.
    Held(Box<dyn WriterLock>),
    /// Another handle holds the lock.
    Busy(LockHolder),
}

/// The holder of a writer's lock that could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockHolder {
    /// Another handle of this process.
    ThisProcess,
    /// Another process, by its number if that is known. The number may be one of another container.
    OtherProcess(Option<u32>),
}

/// The right to write under one name, held by one handle in all processes. Dropping it gives it up and leaves the
/// lock file; a process that dies gives it up too.
pub trait WriterLock: Send + Sync + fmt::Debug {
    /// Gives up the lock and removes the lock file.
    ///
    /// # Errors
    /// The system's. The lock is given up nonetheless.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// The locks on one data file between all handles of it, in all processes. They belong to the file and not to its
/// name, and a reader needs no right but to read.
///
/// Each [`File`] that was opened is a holder of its own. What a holder has is released when its last reference is
/// dropped, and when its process dies.
pub trait FileLocks {
    /// Tries, without waiting, to become the file's only writer. `None` if this holder is it now, otherwise the one
    /// that is.
    ///
    /// # Errors
    /// The system's; `Unsupported` on a file system whose locks or maps cannot be trusted (network file systems).
    fn lock_writer(&self) -> io::Result<Option<LockHolder>>;

    /// Gives up the writer's lock, if this holder has it.
    ///
    /// # Errors
    /// The system's.
    fn unlock_writer(&self) -> io::Result<()>;

    /// The writer, if it is another holder. The number of its process may be unknown here: see [`Disk::writer_of`].
    ///
    /// # Errors
    /// The system's.
    fn writer(&self) -> io::Result<Option<LockHolder>>;

    /// Announces `number` (of a checkpoint, from 1) as the oldest that this reader needs, instead of the one before.
    ///
    /// To begin reading: read the newest meta, pin its number, then read the newest meta again. If it is still the
    /// same, the writer, which looks at the pins after publishing a meta and before reusing what that freed, sees the
    /// pin in time. Otherwise pin the newer one and look again.
    ///
    /// # Errors
    /// The system's; `Unsupported` as for [`FileLocks::lock_writer`]. What is pinned is unknown then.
    ///
    /// # Panics
    /// If `number` is 0 or not below 2^62.
    fn pin(&self, number: u64) -> io::Result<()>;

    /// Withdraws what this holder has pinned.
    ///
    /// # Errors
    /// The system's. The pin may still stand then, which costs only space.
    fn unpin(&self) -> io::Result<()>;

    /// The smallest number that another holder pins, if any does.
    ///
    /// # Errors
    /// The system's. Reuse nothing then.
    fn oldest_pinned(&self) -> io::Result<Option<u64>>;
}
