//! A segment whose bytes stay in memory after they were read back: mapped where the disk can, otherwise read.
//!
//! Only `log::read_back` uses this, and only for a log that nobody writes: its reader is the database's writer.
//!
//! Invariants: (1) The first `loaded` bytes of the file are in memory, and stay as they are. (2) Nothing else of it
//! is shown.
#![allow(unsafe_code)] // A slice of a map.

use std::io;

use crate::io::{File, Map};
use crate::sync::Arc;

/// The bytes of one segment.
#[derive(Debug)]
pub(super) struct Image {
    file: Arc<dyn File>,
    bytes: Bytes,
    /// Bytes of the file.
    length: u64,
    loaded: u64,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Map),
    Held(Vec<u8>),
}

impl Image {
    /// The image of a file of `length` bytes, none read yet. It is mapped if `map` is set and mapping is possible.
    ///
    /// # Errors
    /// The disk's.
    pub(super) fn new(file: Arc<dyn File>, length: u64, map: bool) -> io::Result<Self> {
        let map = if map { file.map(length)? } else { None };
        let bytes = match map {
            Some(map) => Bytes::Mapped(map),
            None => Bytes::Held(Vec::new()),
        };
        Ok(Self { file, bytes, length, loaded: 0 })
    }

    /// What of the segment is in memory.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            // SAFETY: so many bytes are in the file, for they were found there (invariant 1). Nobody writes them: the
            // writer's lock is this process's, and its log begins new segments and removes these, which leaves a map
            // as it is.
            Bytes::Mapped(map) => unsafe { map.slice(0, self.loaded as usize) }.unwrap_or_default(),
            Bytes::Held(bytes) => bytes,
        }
    }

    /// Sees to it that the first `end` bytes are in memory. Requires: the file has them.
    ///
    /// # Errors
    /// The disk's: an error of the medium comes here, and not later as a signal, as long as memory is not short.
    #[inline]
    pub(super) fn load(&mut self, end: u64) -> io::Result<()> {
        if end <= self.loaded { Ok(()) } else { self.load_more(end) }
    }

    #[cold]
    fn load_more(&mut self, end: u64) -> io::Result<()> {
        let end = end.next_multiple_of(LOAD_BYTES).min(self.length);
        if let Bytes::Mapped(map) = &self.bytes {
            if map.populate(self.loaded, end - self.loaded).is_ok() {
                self.loaded = end;
                return Ok(());
            }
            // The system is too old for that, or the medium fails: a call shows which.
            let mut bytes = Vec::new();
            self.read(&mut bytes, 0, self.loaded)?;
            self.bytes = Bytes::Held(bytes);
        }
        let mut bytes = match &mut self.bytes {
            Bytes::Held(bytes) => std::mem::take(bytes),
            Bytes::Mapped(_) => Vec::new(),
        };
        let outcome = self.read(&mut bytes, self.loaded, end);
        self.bytes = Bytes::Held(bytes);
        outcome.map(|()| self.loaded = end)
    }

    /// Appends the file's bytes from `start` to `end`, which fills them up from the front. Leaves them as they were
    /// if that fails.
    fn read(&self, bytes: &mut Vec<u8>, start: u64, end: u64) -> io::Result<()> {
        if bytes.capacity() == 0 {
            // All that will come: what is not touched takes no memory.
            bytes.reserve_exact(self.length as usize);
        }
        bytes.resize(end as usize, 0);
        let outcome = self.file.read_at(start, &mut bytes[start as usize..]);
        if outcome.is_err() {
            bytes.truncate(start as usize);
        }
        outcome
    }
}

/// Bytes loaded at a time: so many calls cost nothing, and a commit that was just loaded is still in the processor's
/// cache.
const LOAD_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::io::{Access, Disk, MemoryDisk, RealDisk};

    #[test]
    fn an_image_has_what_was_loaded_and_no_more_however_it_came_there() {
        let directory = tempfile::tempdir().unwrap();
        let memory: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let real: Arc<dyn Disk> = Arc::new(RealDisk);
        let content: Vec<u8> = (0..3_000_000u32).map(|number| (number / 7) as u8).collect();
        for (disk, path) in [(&memory, Path::new("file")), (&real, &directory.path().join("file"))] {
            let file = disk.open(path, Access::CreateNew).unwrap();
            file.write_at(0, &content).unwrap();
            for map in [true, false] {
                let mut image = Image::new(Arc::clone(&file), content.len() as u64, map).unwrap();
                assert!(image.bytes().is_empty());
                for (end, loaded) in [(1, 1 << 20), (9, 1 << 20), ((2 << 20) + 1, content.len()), (1, content.len())] {
                    image.load(end).unwrap();
                    assert!(image.bytes() == &content[..loaded], "{end} bytes of {path:?}");
                }
            }
        }
    }

    #[test]
    fn a_file_that_is_cut_meanwhile_is_an_error_and_shows_what_was_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let file = RealDisk.open(&directory.path().join("file"), Access::CreateNew).unwrap();
        file.write_at(0, &[7; 3 << 20]).unwrap();
        for map in [true, false] {
            let mut image = Image::new(Arc::clone(&file), 4 << 20, map).unwrap();
            image.load(1).unwrap();
            for _ in 0..2 {
                assert_eq!(image.load(4 << 20).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
                assert!(image.bytes() == [7; 1 << 20], "mapped: {map}");
            }
        }
    }
}
