//! The lock file: who may write, and what the readers of other processes still need.
//!
//! Open file description (OFD) locks: held by an open file rather than by a process, so that two handles in one process
//! exclude each other, closing some other descriptor of the file releases nothing, and a dead process holds nothing.
//! (A child made by `fork` without `exec` shares its parent's locks until it too closes them.)
//!
//! | bytes | locked | hold |
//! |---|---|---|
//! | 0 | by the writer, for as long as it writes | |
//! | 1 | the gate: shared while somebody takes byte 0 or a slot, exclusive while somebody removes the file | |
//! | 16..48 | | pid of the writer: decimal digits, then a line feed |
//! | 64 + i | by the reader in slot i, for as long as it reads | |
//! | 4096 + 8 i | | number pinned by the reader in slot i: u64, little-endian; 0 for none |
//!
//! Invariants: (1) Only the holder of slot i's lock writes slot i's number; so a number is cleared, when its reader is dead,
//! under that lock. (2) The file is removed only under bytes 0 and 1, after no slot was seen locked. (3) Byte 0 and slots are
//! taken inside the gate, and only after seeing that the path still names the file whose gate it is. So nobody can look for
//! slots, find none, and remove the file while another takes one, which would leave that reader unseen by later writers.

#![allow(unsafe_code)] // The standard library and rustix have no OFD locks, so fcntl is called directly.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::disk::{READER_SLOTS_MAX, ReaderSlots, WriterAttempt, WriterLock};
use super::os;

/// See [`super::Disk::lock_writer`].
pub(super) fn lock_writer(path: &Path) -> io::Result<WriterAttempt> {
    loop {
        let lock_file = LockFile::open_inside_gate(path)?;
        if !lock_file.is_current()? {
            continue;
        }
        if !lock_file.try_lock(Kind::Exclusive, WRITER_BYTE)? {
            return Ok(WriterAttempt::Busy { pid: lock_file.read_pid()? });
        }
        lock_file.unlock(GATE_BYTE)?;
        lock_file.write_pid(std::process::id())?;
        return Ok(WriterAttempt::Held(Box::new(FileWriterLock { lock_file })));
    }
}

/// See [`super::Disk::reader_slots`].
pub(super) fn reader_slots(path: &Path) -> io::Result<Box<dyn ReaderSlots>> {
    loop {
        let lock_file = LockFile::open_inside_gate(path)?;
        if !lock_file.is_current()? {
            continue;
        }
        let slot = lock_file.take_slot()?;
        lock_file.unlock(GATE_BYTE)?;
        let slot = FileReaderSlot { lock_file, slot };
        slot.write(0)?;
        return Ok(Box::new(slot));
    }
}

#[derive(Debug)]
struct FileWriterLock {
    lock_file: LockFile,
}

impl WriterLock for FileWriterLock {
    fn oldest_pinned(&self) -> io::Result<Option<u64>> {
        let mut oldest = None;
        for (slot, number) in self.lock_file.read_pinned()?.into_iter().enumerate() {
            if number == 0 || self.lock_file.clear_dead(slot)? {
                continue;
            }
            oldest = Some(oldest.map_or(number, |oldest: u64| oldest.min(number)));
        }
        Ok(oldest)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.lock_file.remove_if_unused()
    }
}

impl Drop for FileWriterLock {
    fn drop(&mut self) {
        // Only so that nobody reports a pid that is gone; whoever locks next overwrites it, so a failure does no harm.
        let _ = self.lock_file.file.write_all_at(&[0; PID_BYTES], PID_AT);
    }
}

#[derive(Debug)]
struct FileReaderSlot {
    lock_file: LockFile,
    slot: usize,
}

impl FileReaderSlot {
    fn write(&self, number: u64) -> io::Result<()> {
        self.lock_file.file.write_all_at(&number.to_le_bytes(), pinned_at(self.slot))
    }
}

impl ReaderSlots for FileReaderSlot {
    fn pin(&self, number: u64) -> io::Result<()> {
        assert!(number != 0, "0 stands for no pin");
        self.write(number)
    }

    fn release(&self) -> io::Result<()> {
        self.write(0)
    }

    fn writer_lives(&self) -> io::Result<bool> {
        self.lock_file.locked_by_others(WRITER_BYTE, 1)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.release()?;
        self.lock_file.remove_if_unused()
    }
}

impl Drop for FileReaderSlot {
    fn drop(&mut self) {
        // The writer clears the slot otherwise, once it finds it unlocked.
        let _ = self.release();
    }
}

/// An open lock file. Dropping it releases every lock that was taken through it.
#[derive(Debug)]
struct LockFile {
    file: fs::File,
    path: PathBuf,
}

impl LockFile {
    /// Opens or creates the file and takes the gate, shared: until the caller unlocks it, nobody else removes the file. It may
    /// have been removed before, so ask [`LockFile::is_current`].
    fn open_inside_gate(path: &Path) -> io::Result<Self> {
        let file = os::open_regular(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))?;
        os::refuse_network_file_system(&file)?;
        let lock_file = Self { file, path: path.to_path_buf() };
        if lock_file.wait_for_gate(Kind::Shared)? {
            return Ok(lock_file);
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process is closing the database and does not finish"))
    }

    /// Whether the path still names the file that is open here.
    fn is_current(&self) -> io::Result<bool> {
        let open = self.file.metadata()?;
        match fs::symlink_metadata(&self.path) {
            Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read_pid(&self) -> io::Result<Option<u32>> {
        let text = self.read_or_zeros::<PID_BYTES>(PID_AT)?;
        let digits = text.split(|byte| *byte == b'\n').next();
        Ok(digits.and_then(|digits| std::str::from_utf8(digits).ok()).and_then(|digits| digits.parse().ok()))
    }

    fn write_pid(&self, pid: u32) -> io::Result<()> {
        let digits = format!("{pid}\n");
        let mut text = [0; PID_BYTES];
        text[..digits.len()].copy_from_slice(digits.as_bytes());
        self.file.write_all_at(&text, PID_AT)
    }

    fn read_pinned(&self) -> io::Result<[u64; READER_SLOTS_MAX]> {
        let bytes = self.read_or_zeros::<{ 8 * READER_SLOTS_MAX }>(PINNED_AT)?;
        let mut numbers = [0; READER_SLOTS_MAX];
        for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *number = u64::from_le_bytes(*bytes);
        }
        Ok(numbers)
    }

    /// Bytes past the end of the file read as zeros.
    fn read_or_zeros<const N: usize>(&self, offset: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        let mut done = 0;
        while done < N {
            match self.file.read_at(&mut bytes[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }

    /// Locks the gate. Whoever has it keeps it for a few system calls; a time limit (then `false`) is there for the case that
    /// the process was stopped in the middle of them.
    fn wait_for_gate(&self, kind: Kind) -> io::Result<bool> {
        for _ in 0..GATE_ATTEMPTS {
            if self.try_lock(kind, GATE_BYTE)? {
                return Ok(true);
            }
            std::thread::sleep(GATE_WAIT);
        }
        Ok(false)
    }

    fn take_slot(&self) -> io::Result<usize> {
        for slot in 0..READER_SLOTS_MAX {
            if self.try_lock(Kind::Exclusive, slot_byte(slot))? {
                return Ok(slot);
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "all 64 slots for reading processes are taken"))
    }

    /// Clears the number of a slot if no living reader holds it, and says whether that was so.
    fn clear_dead(&self, slot: usize) -> io::Result<bool> {
        let dead = self.try_lock(Kind::Exclusive, slot_byte(slot))?;
        if dead {
            let cleared = self.file.write_all_at(&[0; 8], pinned_at(slot));
            self.unlock(slot_byte(slot))?;
            cleared?;
        }
        Ok(dead)
    }

    /// Removes the file's name, unless it is in use by others than the caller. Locks are dropped with `self` afterwards, so
    /// whoever waits for one finds the name gone or changed, and begins again.
    fn remove_if_unused(&self) -> io::Result<()> {
        let alone = self.wait_for_gate(Kind::Exclusive)?
            && !self.locked_by_others(slot_byte(0), READER_SLOTS_MAX)?
            && self.try_lock(Kind::Exclusive, WRITER_BYTE)?;
        if alone && self.is_current()? {
            fs::remove_file(&self.path)?;
        }
        Ok(())
    }

    /// Locks one byte if nobody else's lock stands against it. A lock that this file has already is replaced.
    fn try_lock(&self, kind: Kind, byte: i64) -> io::Result<bool> {
        let mut range = range(kind.code(), byte, 1);
        match self.control(libc::F_OFD_SETLK, &mut range) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn unlock(&self, byte: i64) -> io::Result<()> {
        self.control(libc::F_OFD_SETLK, &mut range(libc::F_UNLCK, byte, 1))
    }

    fn locked_by_others(&self, first: i64, count: usize) -> io::Result<bool> {
        let mut range = range(libc::F_WRLCK, first, count as i64);
        self.control(libc::F_OFD_GETLK, &mut range)?;
        Ok(i32::from(range.l_type) != libc::F_UNLCK)
    }

    fn control(&self, command: libc::c_int, range: &mut libc::flock) -> io::Result<()> {
        loop {
            // SAFETY: the descriptor is open for as long as `self.file` lives, and these commands read and write one `flock`,
            // which `range` is, exclusively borrowed.
            let result = unsafe { libc::fcntl(self.file.as_raw_fd(), command, std::ptr::from_mut(range)) };
            if result != -1 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
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

fn slot_byte(slot: usize) -> i64 {
    SLOT_BYTE + slot as i64
}

fn pinned_at(slot: usize) -> u64 {
    PINNED_AT + 8 * slot as u64
}

const WRITER_BYTE: i64 = 0;
const GATE_BYTE: i64 = 1;
const SLOT_BYTE: i64 = 64;
const PID_AT: u64 = 16;
const PID_BYTES: usize = 32;
const PINNED_AT: u64 = 4096;
const GATE_ATTEMPTS: u32 = 1000;
const GATE_WAIT: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

    #[test]
    fn the_number_of_a_dead_reader_is_cleared_and_that_of_a_living_one_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let writer = hold(&path);
        let reader = reader_slots(&path).unwrap();
        reader.pin(20).unwrap();
        // Slot 5 as a reader leaves it that was killed: a number, and no lock.
        let raw = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        raw.write_all_at(&7u64.to_le_bytes(), pinned_at(5)).unwrap();
        assert_eq!(writer.oldest_pinned().unwrap(), Some(20));
        let mut number = [1; 8];
        raw.read_exact_at(&mut number, pinned_at(5)).unwrap();
        assert_eq!(number, [0; 8]);
        // A plain descriptor that closes takes nobody's lock with it.
        drop(raw);
        assert_eq!(writer.oldest_pinned().unwrap(), Some(20));
        assert!(matches!(lock_writer(&path).unwrap(), WriterAttempt::Busy { .. }));
    }

    #[test]
    fn a_pid_that_is_no_number_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let _writer = hold(&path);
        let raw = OpenOptions::new().write(true).open(&path).unwrap();
        for text in ["", "\n", "x1\n", "99999999999999\n"] {
            raw.write_all_at(&[0; PID_BYTES], PID_AT).unwrap();
            raw.write_all_at(text.as_bytes(), PID_AT).unwrap();
            assert!(matches!(lock_writer(&path).unwrap(), WriterAttempt::Busy { pid: None }), "{text:?}");
        }
    }

    #[test]
    fn the_file_stays_for_a_reader_and_goes_with_the_last_of_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let writer = hold(&path);
        let (first, second) = (reader_slots(&path).unwrap(), reader_slots(&path).unwrap());
        first.close().unwrap();
        assert!(path.exists());
        writer.close().unwrap();
        assert!(path.exists());
        second.close().unwrap();
        assert!(!path.exists());
    }

    /// Files are removed and made again all the time here, so that a check left out shows as two writers, or as a pin that a
    /// writer does not see.
    #[test]
    fn writers_exclude_each_other_and_see_all_pins_while_the_file_comes_and_goes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let shared = Contended::default();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in (1..).take_while(|_| !shared.done.load(Ordering::SeqCst)) {
                    read_once(&path, &shared, number);
                }
            });
            let write = || {
                while shared.rounds.load(Ordering::SeqCst) < 12_000 {
                    write_once(&path, &shared);
                }
            };
            let writers = [scope.spawn(write), scope.spawn(write)];
            let results = writers.map(|writer| writer.join());
            shared.done.store(true, Ordering::SeqCst);
            results.into_iter().for_each(|result| result.unwrap());
        });
        assert!(!path.exists(), "the last to close removes the file");
    }

    #[derive(Default)]
    struct Contended {
        /// How many hold the writer lock.
        writers: AtomicU32,
        /// How often it was held.
        rounds: AtomicU64,
        /// What the reader has pinned for certain, or 0.
        pinned: AtomicU64,
        done: AtomicBool,
    }

    /// Keeps its pin until the writer lock was held twice more.
    fn read_once(path: &Path, shared: &Contended, number: u64) {
        let reader = reader_slots(path).unwrap();
        reader.pin(number).unwrap();
        shared.pinned.store(number, Ordering::SeqCst);
        let enough = shared.rounds.load(Ordering::SeqCst) + 2;
        while shared.rounds.load(Ordering::SeqCst) < enough && !shared.done.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        shared.pinned.store(0, Ordering::SeqCst);
        reader.close().unwrap();
    }

    /// While the lock is held, nobody else holds it, and a pin that lasts is seen.
    fn write_once(path: &Path, shared: &Contended) {
        let WriterAttempt::Held(lock) = lock_writer(path).unwrap() else { return };
        assert_eq!(shared.writers.fetch_add(1, Ordering::SeqCst), 0, "two writers at once");
        let pinned = shared.pinned.load(Ordering::SeqCst);
        let oldest = lock.oldest_pinned().unwrap();
        if pinned != 0 && shared.pinned.load(Ordering::SeqCst) == pinned {
            assert_eq!(oldest, Some(pinned), "a pin was not seen");
        }
        shared.rounds.fetch_add(1, Ordering::SeqCst);
        shared.writers.fetch_sub(1, Ordering::SeqCst);
        lock.close().unwrap();
    }

    fn hold(path: &Path) -> Box<dyn WriterLock> {
        match lock_writer(path).unwrap() {
            WriterAttempt::Held(lock) => lock,
            WriterAttempt::Busy { pid } => panic!("held by {pid:?}"),
        }
    }
}
