//! Locks between processes: the lock file, which holds the pid of the writer of a name, and locks on the data file
//! itself.
//!
//! Both are open file description (OFD) locks: they are held by an open file rather than by a process. So two handles
//! in one process exclude each other, closing another descriptor of the file releases nothing, and a dead process
//! holds nothing. A child made by `fork` shares them with its parent, so a child releases none (`crate::process`).
//!
//! The lock file decides who may create a database, and names the writer. Only writers lock it:
//!
//! | bytes | locked | hold |
//! |---|---|---|
//! | 0 | exclusively, by the writer | |
//! | 16..48 | | pid of the writer: decimal digits, then a line feed |
//!
//! All other bytes are zero, and so are those of the pid while there is no writer. Another file is left as it is.
//!
//! Invariants: (1) Only the holder of byte 0 removes the file. (2) A lock counts only if the path still names the
//! locked file after the lock was taken: otherwise the holder before has removed it, and another process may hold a
//! newer one.
//!
//! The data file is locked far beyond any byte that it has. These locks find each other whatever name, link or mount
//! the file was opened by, and a reader takes its own with the right to read alone:
//!
//! | byte | locked | meaning |
//! |---|---|---|
//! | 2^62 | exclusively, by the writer | this file is open for writing |
//! | 2^62 + n | shared, by any number of readers | checkpoint n is read |
//!
//! Invariant: (3) A reader that moves to a newer checkpoint locks that before it unlocks the older one.

#![allow(unsafe_code)] // The standard library and rustix have no OFD locks, so fcntl is called directly.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::regular_file::{is_named, open_regular, refuse_network_file_system};
use crate::io::disk::{LockHolder, WriterAttempt, WriterLock};
use crate::process::Stamp;
use crate::sync::Mutex;

/// See [`crate::io::Disk::lock_writer`].
pub(super) fn lock_writer(path: &Path) -> io::Result<WriterAttempt> {
    lock_and_sign(path, |lock_file| lock_file.write_pid(std::process::id()))
}

/// Becomes the writer. `sign` writes the number of the process, which is for messages only: a full disk does not
/// matter.
fn lock_and_sign(path: &Path, sign: impl Fn(&LockFile) -> io::Result<()>) -> io::Result<WriterAttempt> {
    loop {
        let file = open_regular(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))?;
        refuse_network_file_system(&file)?;
        let lock_file = LockFile { identity: identity(&file)?, file, path: path.to_path_buf(), stamp: Stamp::new()? };
        if !try_lock(&lock_file.file, Kind::Exclusive, WRITER_BYTE)? {
            return Ok(WriterAttempt::Busy(holder_in(&lock_file.file, lock_file.identity)?));
        }
        if !is_named(&lock_file.file, path)? {
            continue;
        }
        lock_file.refuse_foreign()?;
        match sign(&lock_file) {
            Err(error) if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {}
            signed => signed?,
        }
        held_here().lock().insert(lock_file.identity);
        return Ok(WriterAttempt::Held(Box::new(FileWriterLock { lock_file })));
    }
}

/// See [`crate::io::Disk::writer_of`]. The file of a dead writer is not locked, so a pid that it left is not read.
pub(super) fn writer_of(path: &Path) -> io::Result<Option<LockHolder>> {
    let file = match open_regular(path, OpenOptions::new().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match first_found(&file, WRITER_BYTE, 1)? {
        Some(_) => holder_in(&file, identity(&file)?).map(Some),
        None => Ok(None),
    }
}

/// The holder of a lock file that is locked.
fn holder_in(file: &fs::File, identity: Identity) -> io::Result<LockHolder> {
    if held_here().lock().contains(&identity) {
        return Ok(LockHolder::ThisProcess);
    }
    let mut text = [0; PID_BYTES];
    let length = read_at_most(file, &mut text, PID_AT)?;
    let digits = text[..length].split(|byte| *byte == b'\n').next();
    let pid = digits.and_then(|digits| std::str::from_utf8(digits).ok()).and_then(|digits| digits.parse().ok());
    Ok(LockHolder::OtherProcess(pid))
}

#[derive(Debug)]
struct FileWriterLock {
    lock_file: LockFile,
}

impl WriterLock for FileWriterLock {
    fn close(self: Box<Self>) -> io::Result<()> {
        let LockFile { file, path, stamp, .. } = &self.lock_file;
        if stamp.is_inherited() || !is_named(file, path)? {
            return Ok(());
        }
        // Dropping `self` releases the lock. A process that waits for it then finds the name gone or changed, and
        // retries.
        fs::remove_file(path)
    }
}

impl Drop for FileWriterLock {
    fn drop(&mut self) {
        if self.lock_file.stamp.is_inherited() {
            return;
        }
        held_here().lock().remove(&self.lock_file.identity);
        // So that nobody reports a pid that is gone. The next writer overwrites it, so a failure does no harm.
        let _ = self.lock_file.file.write_all_at(&[0; PID_BYTES], PID_AT);
        // Explicitly, for a child made by `fork` may have the descriptor still.
        let _ = unlock(&self.lock_file.file, WRITER_BYTE, 1);
    }
}

/// An open lock file.
#[derive(Debug)]
struct LockFile {
    file: fs::File,
    path: PathBuf,
    identity: Identity,
    stamp: Stamp,
}

impl LockFile {
    /// Refuses a file of another program. Requires: it is locked, so that nobody writes a pid meanwhile.
    fn refuse_foreign(&self) -> io::Result<()> {
        let mut bytes = [0; LOCK_FILE_BYTES + 1];
        let length = read_at_most(&self.file, &mut bytes, 0)?;
        let (start, pid) = bytes.split_at(PID_AT as usize);
        let digits = pid.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let rest = &pid[digits..];
        let rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        if length <= LOCK_FILE_BYTES && start.iter().chain(rest).all(|&byte| byte == 0) {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is not a lock file of a database; move it away, or give the database another name",
        ))
    }

    fn write_pid(&self, pid: u32) -> io::Result<()> {
        let digits = format!("{pid}\n");
        let mut text = [0; PID_BYTES];
        text[..digits.len()].copy_from_slice(digits.as_bytes());
        self.file.write_all_at(&text, PID_AT)
    }
}

/// What a handle of a data file holds of its locks; see [`crate::io::FileLocks`].
#[derive(Debug, Default)]
pub(super) struct DataLocks {
    /// The number that is pinned, or 0. Nothing is locked under it but the file.
    pinned: Mutex<u64>,
    /// The file, if it is locked for its writer. Only the file and [`held_here`] are locked under it.
    written: Mutex<Option<Identity>>,
}

impl DataLocks {
    pub(super) fn lock_writer(&self, file: &fs::File) -> io::Result<Option<LockHolder>> {
        refuse_network_file_system(file)?;
        let identity = identity(file)?;
        let mut written = self.written.lock();
        if !try_lock(file, Kind::Exclusive, DATA_WRITER_BYTE)? {
            return Ok(Some(writer_with(&identity)));
        }
        held_here().lock().insert(identity);
        *written = Some(identity);
        Ok(None)
    }

    pub(super) fn unlock_writer(&self, file: &fs::File) -> io::Result<()> {
        match self.written.lock().take() {
            Some(identity) => {
                held_here().lock().remove(&identity);
                unlock(file, DATA_WRITER_BYTE, 1)
            }
            None => Ok(()),
        }
    }

    pub(super) fn writer(&self, file: &fs::File) -> io::Result<Option<LockHolder>> {
        match first_found(file, DATA_WRITER_BYTE, 1)? {
            Some(_) => Ok(Some(writer_with(&identity(file)?))),
            None => Ok(None),
        }
    }

    pub(super) fn pin(&self, file: &fs::File, number: u64) -> io::Result<()> {
        assert!(number > 0 && number < PIN_LIMIT, "checkpoints have numbers from 1");
        refuse_network_file_system(file)?;
        let mut pinned = self.pinned.lock();
        if *pinned == number {
            return Ok(());
        }
        if !try_lock(file, Kind::Shared, DATA_WRITER_BYTE + number as i64)? {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another program has locked the file"));
        }
        let before = std::mem::replace(&mut *pinned, number);
        if before == 0 { Ok(()) } else { unlock(file, DATA_WRITER_BYTE + before as i64, 1) }
    }

    pub(super) fn unpin(&self, file: &fs::File) -> io::Result<()> {
        let mut pinned = self.pinned.lock();
        if *pinned == 0 {
            return Ok(());
        }
        unlock(file, DATA_WRITER_BYTE + *pinned as i64, 1)?;
        *pinned = 0;
        Ok(())
    }

    /// The system names any one of the locks in a range, so the range is cut below what was found until nothing is
    /// left. A reader that moves meanwhile moves up, and needs what it left no more.
    pub(super) fn oldest_pinned(&self, file: &fs::File) -> io::Result<Option<u64>> {
        let first = DATA_WRITER_BYTE + 1;
        let (mut oldest, mut count) = (None, 0);
        while let Some(found) = first_found(file, first, count)? {
            // A lock of another program may begin below the range.
            let found = found.max(first);
            oldest = Some((found - DATA_WRITER_BYTE) as u64);
            count = found - first;
            if count == 0 {
                break;
            }
        }
        Ok(oldest)
    }
}

impl Drop for DataLocks {
    fn drop(&mut self) {
        // A child made by `fork` checks its own list, which does not contain the locks that it inherited.
        if let Some(identity) = self.written.get_mut().take() {
            held_here().lock().remove(&identity);
        }
    }
}

/// The writer of a data file that is locked for one. Only the lock file has the number of its process.
fn writer_with(identity: &Identity) -> LockHolder {
    let is_here = held_here().lock().contains(identity);
    if is_here { LockHolder::ThisProcess } else { LockHolder::OtherProcess(None) }
}

/// The files whose writer's lock this process holds, to distinguish them from those of other processes: pids may be
/// those of another container.
fn held_here() -> &'static Mutex<HashSet<Identity>> {
    static HELD: crate::process::PerProcess<Mutex<HashSet<Identity>>> = crate::process::PerProcess::new();
    HELD.get()
}

/// Device and inode of a file.
type Identity = (u64, u64);

fn identity(file: &fs::File) -> io::Result<Identity> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Fills as much of `buffer` as the file has from `offset` on; answers how much that is.
fn read_at_most(file: &fs::File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// Locks one byte unless another open file's lock forbids it.
fn try_lock(file: &fs::File, kind: Kind, byte: i64) -> io::Result<bool> {
    match control(file, libc::F_OFD_SETLK, &mut range(kind.code(), byte, 1)) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

fn unlock(file: &fs::File, first: i64, count: i64) -> io::Result<()> {
    control(file, libc::F_OFD_SETLK, &mut range(libc::F_UNLCK, first, count))
}

/// Where a lock of another open file begins that has a byte of this range, if there is one. A count of 0 is all up to
/// the end.
fn first_found(file: &fs::File, first: i64, count: i64) -> io::Result<Option<i64>> {
    let mut range = range(libc::F_WRLCK, first, count);
    control(file, libc::F_OFD_GETLK, &mut range)?;
    Ok((i32::from(range.l_type) != libc::F_UNLCK).then_some(range.l_start))
}

fn control(file: &fs::File, command: libc::c_int, range: &mut libc::flock) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open for as long as `file` lives, and these commands read and write one `flock`,
        // which `range` is, exclusively borrowed.
        let result = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(range)) };
        if result != -1 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Shared,
    Exclusive,
}

impl Kind {
    fn code(self) -> libc::c_int {
        match self {
            Self::Shared => libc::F_RDLCK,
            Self::Exclusive => libc::F_WRLCK,
        }
    }
}

/// A lock request as the system takes it; OFD locks want pid 0.
fn range(code: libc::c_int, first: i64, count: i64) -> libc::flock {
    libc::flock {
        l_type: code as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: first,
        l_len: count,
        l_pid: 0,
    }
}

const WRITER_BYTE: i64 = 0;
const PID_AT: u64 = 16;
const PID_BYTES: usize = 32;
const LOCK_FILE_BYTES: usize = PID_AT as usize + PID_BYTES;
/// In the data file. No file is that long: pages have numbers of 32 bits.
const DATA_WRITER_BYTE: i64 = 1 << 62;
const PIN_LIMIT: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{Access, Disk, File, RealDisk};
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    #[test]
    fn a_pid_that_is_no_number_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let writer = hold(&path);
        as_of_another_process(&path);
        let raw = OpenOptions::new().write(true).open(&path).unwrap();
        for text in ["", "\n", "x1\n", "99999999999999\n"] {
            raw.write_all_at(&[0; PID_BYTES], PID_AT).unwrap();
            raw.write_all_at(text.as_bytes(), PID_AT).unwrap();
            let attempt = lock_writer(&path).unwrap();
            assert!(matches!(attempt, WriterAttempt::Busy(LockHolder::OtherProcess(None))), "{text:?}");
        }
        drop(raw);
        assert!(matches!(lock_writer(&path).unwrap(), WriterAttempt::Busy(_)));
        drop(writer);
    }

    /// A search for the writer reads no pid that a dead writer has left, creates no file, and waits for no pipe.
    #[test]
    fn the_writer_of_a_name_is_the_living_holder_of_its_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        assert_eq!(writer_of(&path).unwrap(), None);
        assert!(!path.exists());
        fs::write(&path, [&[0; PID_AT as usize][..], b"123\n"].concat()).unwrap();
        assert_eq!(writer_of(&path).unwrap(), None);
        let writer = hold(&path);
        assert_eq!(writer_of(&path).unwrap(), Some(LockHolder::ThisProcess));
        as_of_another_process(&path);
        assert_eq!(writer_of(&path).unwrap(), Some(LockHolder::OtherProcess(Some(std::process::id()))));
        writer.close().unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        assert_eq!(writer_of(&path).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn the_lock_file_is_removed_with_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        hold(&path).close().unwrap();
        assert!(!path.exists());
        let writer = hold(&path);
        // Another database may have that name by now.
        fs::rename(&path, directory.path().join("moved")).unwrap();
        let other = hold(&path);
        writer.close().unwrap();
        assert!(path.exists());
        other.close().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_of_another_program_is_refused_and_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let foreign: [&[u8]; 5] = [b"1", b"theirs", &[0; LOCK_FILE_BYTES + 1], &[1; LOCK_FILE_BYTES], &[9; 8192]];
        for content in foreign {
            fs::write(&path, content).unwrap();
            for _ in 0..2 {
                let error = lock_writer(&path).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
                assert_eq!(fs::read(&path).unwrap(), content);
            }
        }
        // What writers leave that die at any moment, or have written no pid.
        let pid = |text: &str| [&[0; PID_AT as usize][..], text.as_bytes()].concat();
        for content in [vec![], pid(""), pid("123"), pid("123\n"), pid("123\n\0\0"), vec![0; LOCK_FILE_BYTES]] {
            fs::write(&path, content).unwrap();
            hold(&path).close().unwrap();
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_writer_whose_pid_finds_no_room_on_the_disk_has_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        for full in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let attempt = lock_and_sign(&path, |_| Err(full.into())).unwrap();
            let WriterAttempt::Held(lock) = attempt else { panic!("nobody else holds it") };
            assert!(matches!(lock_writer(&path).unwrap(), WriterAttempt::Busy(LockHolder::ThisProcess)));
            lock.close().unwrap();
            assert!(!path.exists());
        }
        let failed = lock_and_sign(&path, |_| Err(io::ErrorKind::PermissionDenied.into())).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::PermissionDenied);
    }

    /// The file is removed and made again all the time here, so that a check left out shows as two writers.
    #[test]
    fn writers_exclude_each_other_while_the_lock_file_comes_and_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let (writers, rounds) = (AtomicU32::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while rounds.load(Ordering::SeqCst) < 12_000 {
                        let WriterAttempt::Held(lock) = lock_writer(&path).unwrap() else { continue };
                        assert_eq!(writers.fetch_add(1, Ordering::SeqCst), 0, "two writers at once");
                        rounds.fetch_add(1, Ordering::SeqCst);
                        writers.fetch_sub(1, Ordering::SeqCst);
                        lock.close().unwrap();
                    }
                });
            }
        });
        assert!(!path.exists(), "the last to close removes the file");
    }

    #[test]
    fn the_oldest_pin_is_found_among_many_readers_of_any_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let writer = RealDisk.open(&path, Access::CreateNew).unwrap();
        let reader = || RealDisk.open(&path, Access::Read).unwrap();
        let readers: Vec<Arc<dyn File>> = (0..40).map(|_| reader()).collect();
        for (index, reader) in readers.iter().enumerate() {
            reader.locks().pin(1 + (index as u64 * 17) % 40 * 1000).unwrap();
        }
        for expected in 0..40 {
            assert_eq!(writer.locks().oldest_pinned().unwrap(), Some(1 + expected * 1000));
            let oldest = readers.iter().enumerate().find(|(index, _)| (*index as u64 * 17) % 40 == expected).unwrap();
            oldest.1.locks().unpin().unwrap();
        }
        assert_eq!(writer.locks().oldest_pinned().unwrap(), None);
        readers[0].locks().pin(PIN_LIMIT - 1).unwrap();
        assert_eq!(writer.locks().oldest_pinned().unwrap(), Some(PIN_LIMIT - 1));
    }

    /// Makes the lock that this process has appear as that of another one.
    fn as_of_another_process(path: &Path) {
        // A plain descriptor that closes takes nobody's lock with it.
        held_here().lock().remove(&identity(&fs::File::open(path).unwrap()).unwrap());
    }

    fn hold(path: &Path) -> Box<dyn WriterLock> {
        match lock_writer(path).unwrap() {
            WriterAttempt::Held(lock) => lock,
            WriterAttempt::Busy(holder) => panic!("held by {holder:?}"),
        }
    }
}
