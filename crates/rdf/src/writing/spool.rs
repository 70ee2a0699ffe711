//! A document that is whole before its first byte goes anywhere: it is kept in memory, and in a file of the system's
//! directory for temporary files as far as it is longer.
//!
//! The file has no name while it is written to, where the system permits that; else it is removed at the end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use oxrdf::BlankNode;

use crate::error::{Error, Result};

/// Bytes that wait.
#[derive(Default)]
pub struct Spool {
    memory: Vec<u8>,
    file: Option<Unnamed>,
}

struct Unnamed {
    file: File,
    path: PathBuf,
    is_removed: bool,
}

impl Unnamed {
    fn create() -> Result<Self> {
        // A name that nobody can guess, and that is certainly new.
        let path = std::env::temp_dir().join(format!("fulgurite-answer-{}", BlankNode::default().as_str()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|source| failure(&path, source))?;
        let is_removed = cfg!(unix) && std::fs::remove_file(&path).is_ok();
        Ok(Self { file, path, is_removed })
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if !self.is_removed {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Spool {
    /// Hands all of it on.
    ///
    /// # Errors
    /// [`Error::Scratch`]; [`Error::Output`] if `out` fails.
    pub fn hand_on(mut self, mut out: impl Write) -> Result<()> {
        let output = |source| Error::Output { source };
        if let Some(Unnamed { file, path, .. }) = &mut self.file {
            file.seek(SeekFrom::Start(0)).map_err(|source| failure(path, source))?;
            let mut buffer = vec![0; BUFFER_BYTES];
            loop {
                match file.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => out.write_all(&buffer[..count]).map_err(output)?,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(source) => return Err(failure(path, source)),
                }
            }
        }
        out.write_all(&self.memory).and_then(|()| out.flush()).map_err(output)
    }

    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(Unnamed::create()?),
        };
        let written = file.file.write_all(&self.memory);
        written.map_err(|source| failure(&file.path, source))?;
        self.memory.clear();
        Ok(())
    }

    /// The error of a writer whose output is a spool: if the spool has failed, that of its file.
    pub fn own_failure(error: Error) -> Error {
        let Error::Output { source } = error else { return error };
        match source.downcast() {
            Ok(own) => own,
            Err(source) => Error::Output { source },
        }
    }
}

fn failure(path: &Path, source: io::Error) -> Error {
    let remedy = "free some space, name another directory by TMPDIR, or choose a format that needs no such file";
    Error::Scratch { path: path.to_owned(), source, remedy }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.memory.len() + bytes.len() > MEMORY_BYTES && !self.memory.is_empty() {
            self.spill().map_err(io::Error::other)?;
        }
        self.memory.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const MEMORY_BYTES: usize = 1 << 20;
const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_of_its_file_is_told_from_that_of_an_output() {
        let full = failure(Path::new("a"), io::ErrorKind::StorageFull.into());
        let own = Spool::own_failure(Error::Output { source: io::Error::other(full) });
        assert!(matches!(own, Error::Scratch { .. }) && own.to_string().contains("TMPDIR"), "{own}");
        for source in [io::Error::from(io::ErrorKind::BrokenPipe), io::Error::other("closed")] {
            assert!(matches!(Spool::own_failure(Error::Output { source }), Error::Output { .. }));
        }
        assert!(matches!(Spool::own_failure(Error::Cancelled), Error::Cancelled));
    }

    #[test]
    fn what_is_handed_on_is_what_was_written_however_long_it_is() {
        for length in [0, 10, MEMORY_BYTES - 1, MEMORY_BYTES, 3 * MEMORY_BYTES + 7] {
            let bytes: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
            let (mut spool, mut out) = (Spool::default(), Vec::new());
            bytes.chunks(10_007).for_each(|chunk| spool.write_all(chunk).expect("there is space"));
            spool.hand_on(&mut out).expect("it is in memory");
            assert!(out == bytes, "{length}");
        }
    }
}
