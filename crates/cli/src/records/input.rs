//! Where records are read from: a file or standard input, with a count of the bytes that were read.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use crate::failure::Failure;

/// An open input.
pub struct Input {
    /// How messages call it.
    pub name: String,
    /// Its length, where it has one.
    pub length_bytes: Option<u64>,
    /// So much of it was read.
    pub read_bytes: Rc<Cell<u64>>,
    /// Its bytes.
    pub bytes: Box<dyn BufRead>,
}

impl Input {
    /// Opens a file, or standard input for none or `-`.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be read.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::new("standard input", None, io::stdin().lock()));
        };
        let failure = |error: io::Error| Failure::file(path, "cannot be read", &error);
        let file = File::open(path).map_err(failure)?;
        let metadata = file.metadata().map_err(failure)?;
        if metadata.is_dir() {
            return Err(failure(io::ErrorKind::IsADirectory.into()));
        }
        let length = metadata.is_file().then_some(metadata.len());
        Ok(Self::new(&path.display().to_string(), length, file))
    }

    /// Reads from `reader`.
    pub fn new(name: &str, length_bytes: Option<u64>, reader: impl Read + 'static) -> Self {
        let read_bytes = Rc::new(Cell::new(0));
        let counted = Counted { reader, read_bytes: Rc::clone(&read_bytes) };
        let bytes = Box::new(BufReader::with_capacity(BUFFER_BYTES, counted));
        Self { name: name.to_owned(), length_bytes, read_bytes, bytes }
    }
}

struct Counted<R> {
    reader: R,
    read_bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.read_bytes.set(self.read_bytes.get() + read as u64);
        Ok(read)
    }
}

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 256 << 10;
