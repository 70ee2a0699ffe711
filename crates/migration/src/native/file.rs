//! [`StoreFile`]: a file that is read at any place.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use crate::error::{Error, Result, damaged};

/// An open file. What was read last is kept.
#[derive(Debug)]
pub struct StoreFile {
    path: PathBuf,
    file: RefCell<File>,
    state: FileState,
    /// Blocks that were read last, each in the slot of its number.
    recent: RefCell<Vec<Option<Block>>>,
}

/// The number of a block, and its bytes.
type Block = (u64, Rc<[u8]>);

/// What changes with the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    length_bytes: u64,
    modified: Option<SystemTime>,
}

impl StoreFile {
    /// Opens a file that begins with three bytes, one of `magics`, and the version 1.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is missing or another file; [`Error::Unsupported`], [`Error::Read`].
    pub fn open(path: &Path, magics: &[[u8; 3]]) -> Result<Self> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => damaged(path, "it is missing"),
            _ => Error::Read { path: path.to_path_buf(), source },
        };
        let file = File::open(path).map_err(failed)?;
        let state = state_of(&file).map_err(failed)?;
        let opened = Self {
            path: path.to_path_buf(),
            file: RefCell::new(file),
            state,
            recent: RefCell::new(vec![None; BLOCKS]),
        };
        let head: [u8; 4] = opened.array(0)?;
        let [first, second, third, version] = head;
        if !magics.contains(&[first, second, third]) {
            return Err(damaged(path, "it is not a file of a NativeStore"));
        }
        match version {
            VERSION => Ok(opened),
            0 => Err(damaged(path, "it has no version of its format")),
            newer => Err(Error::Unsupported {
                path: path.to_path_buf(),
                found: format!("it has version {newer} of its format"),
            }),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes.
    pub fn length_bytes(&self) -> u64 {
        self.state.length_bytes
    }

    /// Whether it has been changed or removed since it was opened.
    pub fn has_changed(&self) -> bool {
        !self.path.metadata().is_ok_and(|metadata| state_by(&metadata) == self.state)
    }

    /// The bytes of a fixed number at a place.
    ///
    /// # Errors
    /// As [`StoreFile::read`].
    pub fn array<const COUNT: usize>(&self, offset: u64) -> Result<[u8; COUNT]> {
        let mut bytes = [0; COUNT];
        self.read_into(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Bytes at a place.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file ends before; [`Error::Read`].
    pub fn read(&self, offset: u64, count: usize) -> Result<Vec<u8>> {
        // Before memory is taken: the count may be wrong.
        self.check_end(offset, count)?;
        let mut bytes = vec![0; count];
        self.read_into(offset, &mut bytes)?;
        Ok(bytes)
    }

    fn read_into(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.check_end(offset, bytes.len())?;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let block = self.block(at / BLOCK_BYTES)?;
            let rest = block.get((at % BLOCK_BYTES) as usize..).unwrap_or_default();
            let count = rest.len().min(bytes.len() - done);
            if count == 0 {
                return Err(self.too_short(at));
            }
            bytes[done..done + count].copy_from_slice(&rest[..count]);
            done += count;
        }
        Ok(())
    }

    fn check_end(&self, offset: u64, count: usize) -> Result<()> {
        let end = offset.checked_add(count as u64);
        if end.is_some_and(|end| end <= self.state.length_bytes) { Ok(()) } else { Err(self.too_short(offset)) }
    }

    fn too_short(&self, offset: u64) -> Error {
        damaged(&self.path, format!("it ends within the entry at byte {offset}"))
    }

    /// A block of the file; the last one is shorter.
    fn block(&self, number: u64) -> Result<Rc<[u8]>> {
        let slot = number as usize % BLOCKS;
        if let Some((_, block)) = self.recent.borrow()[slot].as_ref().filter(|(known, _)| *known == number) {
            return Ok(Rc::clone(block));
        }
        let (mut file, mut bytes) = (self.file.borrow_mut(), Vec::new());
        let read = file
            .seek(SeekFrom::Start(number * BLOCK_BYTES))
            .and_then(|_| (&mut *file).take(BLOCK_BYTES).read_to_end(&mut bytes));
        read.map_err(|source| Error::Read { path: self.path.clone(), source })?;
        let block: Rc<[u8]> = bytes.into();
        self.recent.borrow_mut()[slot] = Some((number, Rc::clone(&block)));
        Ok(block)
    }
}

fn state_of(file: &File) -> io::Result<FileState> {
    file.metadata().map(|metadata| state_by(&metadata))
}

fn state_by(metadata: &std::fs::Metadata) -> FileState {
    // Some file systems have no times.
    FileState { length_bytes: metadata.len(), modified: metadata.modified().ok() }
}

const VERSION: u8 = 1;
const BLOCK_BYTES: u64 = 16 << 10;
/// Blocks that are kept: 8 MiB for each file.
const BLOCKS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_across_blocks_and_not_beyond_the_end() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let mut content: Vec<u8> = (0..3 * BLOCK_BYTES + 5).map(|byte| (byte % 251) as u8).collect();
        content[..4].copy_from_slice(b"ndf\x01");
        std::fs::write(&path, &content).expect("it is written");
        let file = StoreFile::open(&path, &[*b"ndf"]).expect("it is one");
        let block = BLOCK_BYTES as usize;
        for (offset, count) in [(0, 4), (block - 3, 7), (10, 2 * block), (3 * block, 5), (3 * block + 5, 0)] {
            let found = file.read(offset as u64, count).expect("it is there");
            assert!(found == content[offset..offset + count], "{offset}, {count}");
        }
        for (offset, count) in [(3 * BLOCK_BYTES, 6), (3 * BLOCK_BYTES + 6, 0), (u64::MAX, 1), (4, usize::MAX)] {
            assert!(matches!(file.read(offset, count), Err(Error::Damaged { .. })), "{offset}, {count}");
        }
    }

    #[test]
    fn another_file_and_a_newer_format_are_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let refused = |content: &[u8]| {
            std::fs::write(&path, content).expect("it is written");
            StoreFile::open(&path, &[*b"ndf", [0; 3]]).expect_err("it is refused")
        };
        for content in [&b""[..], b"ndf", b"nif\x01", b"ndf\x00", b"text that is longer"] {
            assert!(matches!(refused(content), Error::Damaged { .. }), "{content:?}");
        }
        assert!(matches!(refused(b"ndf\x02"), Error::Unsupported { .. }));
        assert!(StoreFile::open(&directory.path().join("missing"), &[*b"ndf"]).is_err());
    }
}
