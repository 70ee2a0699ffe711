//! Where a load keeps what does not fit into memory: one file beside the database, gone when the load ends, and on Unix
//! as soon as it is made, so that no kill leaves it.
//!
//! However much there is, one file is open.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Keeps segments of bytes: in memory while there is room, then in a file.
pub struct Scratch {
    path: PathBuf,
    state: Mutex<State>,
    /// The state of the numbers by which what is kept is changed.
    #[cfg(test)]
    damage: Option<AtomicU64>,
}

struct State {
    memory_left_bytes: usize,
    file: Option<File>,
    /// Where the next segment begins.
    end: u64,
}

/// Bytes that were kept.
pub enum Segment {
    /// In memory.
    Memory(Vec<u8>),
    /// In the file.
    File {
        /// Where they begin.
        offset: u64,
        /// How many.
        length: u64,
    },
}

impl Scratch {
    pub fn new(database: &Path, memory_bytes: usize) -> Self {
        let is_on_disk = database.parent().is_some_and(|parent| parent.as_os_str().is_empty() || parent.is_dir());
        let directory =
            if is_on_disk { database.parent().unwrap_or(Path::new("")).to_path_buf() } else { std::env::temp_dir() };
        let name = database.file_name().unwrap_or_default().to_string_lossy();
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Relaxed: nothing is read through the number.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("{name}.load-{}-{number}", std::process::id()));
        let state = Mutex::new(State { memory_left_bytes: memory_bytes, file: None, end: 0 });
        Self {
            path,
            state,
            #[cfg(test)]
            damage: None,
        }
    }

    /// Changes a byte of some of what is kept.
    #[cfg(test)]
    pub fn damaging(mut self, seed: Option<u64>) -> Self {
        self.damage = seed.map(AtomicU64::new);
        self
    }

    #[cfg(test)]
    fn damage(&self, bytes: &mut [u8]) {
        let Some(state) = &self.damage else { return };
        let step = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let random = (step ^ step >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let random = random ^ random >> 29;
        if !bytes.is_empty() && random.is_multiple_of(4) {
            let place = (random >> 8) as usize % bytes.len();
            bytes[place] ^= 1 << (random >> 3 & 7);
        }
    }

    /// Keeps bytes.
    ///
    /// # Errors
    /// [`Error::Scratch`].
    pub fn keep(&self, bytes: Vec<u8>) -> Result<Segment> {
        #[cfg(test)]
        let bytes = {
            let mut bytes = bytes;
            self.damage(&mut bytes);
            bytes
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes.len() <= state.memory_left_bytes {
            state.memory_left_bytes -= bytes.len();
            return Ok(Segment::Memory(bytes));
        }
        let failed = |source| self.failure(source);
        let (offset, length) = (state.end, bytes.len() as u64);
        let file = match &mut state.file {
            Some(file) => file,
            none => none.insert(create(&self.path).map_err(failed)?),
        };
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.write_all(&bytes)).map_err(failed)?;
        state.end += length;
        Ok(Segment::File { offset, length })
    }

    /// What was read cannot have been kept: the file was changed, or its disk is not sound.
    pub fn damaged(&self, offence: &str) -> Error {
        self.failure(io::Error::new(io::ErrorKind::InvalidData, offence))
    }

    fn failure(&self, source: io::Error) -> Error {
        let remedy = "free some space, check the disk, or give the load more memory";
        Error::Scratch { path: self.path.clone(), source, remedy }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |source| self.failure(source);
        let Some(file) = &mut state.file else { return Err(failed(io::ErrorKind::NotFound.into())) };
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(buffer)).map_err(failed)
    }
}

/// A new file that nobody else has.
fn create(path: &Path) -> io::Result<File> {
    // Left by a process that had the same number.
    let _ = fs::remove_file(path);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    if cfg!(unix) {
        fs::remove_file(path)?;
    }
    Ok(file)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if state.file.take().is_some() && !cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Reads a segment from its beginning on.
pub struct SegmentReader<'s> {
    scratch: &'s Scratch,
    segment: &'s Segment,
    /// What was read of a file and not taken yet lies from `start` on.
    buffer: Vec<u8>,
    start: usize,
    /// How many bytes of the segment were read.
    read: u64,
    buffer_bytes: usize,
}

impl<'s> SegmentReader<'s> {
    pub fn new(scratch: &'s Scratch, segment: &'s Segment, buffer_bytes: usize) -> Self {
        Self { scratch, segment, buffer: Vec::new(), start: 0, read: 0, buffer_bytes }
    }

    /// Whether all was taken.
    pub fn is_at_end(&self) -> bool {
        self.left_bytes() == 0
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`Error::Scratch`], also if there are not so many.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&[u8]> {
        let start = self.start;
        if count as u64 > self.left_bytes() {
            return Err(self.scratch.damaged("it ends too early"));
        }
        let Segment::File { offset, length } = self.segment else {
            let Segment::Memory(bytes) = self.segment else { unreachable!("the other kind") };
            self.start += count;
            return Ok(&bytes[start..start + count]);
        };
        if self.buffer.len() - start < count {
            self.buffer.drain(..start);
            self.start = 0;
            let held = self.buffer.len();
            let wanted = (count - held).max(self.buffer_bytes).min((length - self.read) as usize);
            self.buffer.resize(held + wanted, 0);
            self.scratch.read_at(offset + self.read, &mut self.buffer[held..])?;
            self.read += wanted as u64;
        }
        let start = self.start;
        self.start += count;
        Ok(&self.buffer[start..start + count])
    }

    /// How many bytes were not taken yet.
    #[inline]
    fn left_bytes(&self) -> u64 {
        match self.segment {
            Segment::Memory(bytes) => (bytes.len() - self.start) as u64,
            Segment::File { length, .. } => length - self.read + (self.buffer.len() - self.start) as u64,
        }
    }

    /// The next bytes, as many as the array has.
    ///
    /// # Errors
    /// As [`SegmentReader::take`].
    #[inline]
    pub fn take_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("so many were asked for"))
    }

    /// The next eight bytes as a number.
    ///
    /// # Errors
    /// As [`SegmentReader::take`].
    #[inline]
    pub fn take_u64(&mut self) -> Result<u64> {
        self.take_array().map(u64::from_le_bytes)
    }

    /// Where it reads from.
    pub fn scratch(&self) -> &'s Scratch {
        self.scratch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_in_memory_or_in_the_file_is_read_again_and_nothing_is_left() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let scratch = Scratch::new(&directory.path().join("a.ful"), 1000);
        let segments: Vec<(Vec<u8>, Segment)> = (0..20_u8)
            .map(|number| vec![number; 150 + usize::from(number)])
            .map(|bytes| (bytes.clone(), scratch.keep(bytes).expect("it is kept")))
            .collect();
        assert!(segments.iter().any(|(_, segment)| matches!(segment, Segment::Memory(_))));
        assert!(segments.iter().any(|(_, segment)| matches!(segment, Segment::File { .. })));
        for (bytes, segment) in &segments {
            let mut reader = SegmentReader::new(&scratch, segment, 64);
            let mut read = Vec::new();
            for count in [1, 99, 50, bytes.len() - 150] {
                assert!(!reader.is_at_end() || count == 0);
                read.extend_from_slice(reader.take(count).expect("it is read"));
            }
            assert!(reader.is_at_end());
            assert_eq!(&read, bytes);
        }
        drop(segments);
        drop(scratch);
        assert_eq!(directory.path().read_dir().expect("it is listed").count(), 0);
    }
}
