//! Lengths and hashes of files, and readers and writers that compute them.

use std::io::{self, Read, Write};

use xxhash_rust::xxh3::Xxh3;

/// The length and the XXH3 hash of what was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    pub bytes: u64,
    pub hash: u64,
}

/// A reader or writer that hashes what passes.
pub struct Hashing<S> {
    inner: S,
    hasher: Xxh3,
    bytes: u64,
}

impl<S> Hashing<S> {
    pub fn new(inner: S) -> Self {
        Self { inner, hasher: Xxh3::new(), bytes: 0 }
    }

    pub fn content(&self) -> Content {
        Content { bytes: self.bytes, hash: self.hasher.digest() }
    }

    fn note(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.note(&buffer[..count]);
        Ok(count)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.note(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The content of all that is left to read.
pub fn content_of(input: impl Read) -> io::Result<Content> {
    let mut input = Hashing::new(input);
    let mut buffer = vec![0; BUFFER_BYTES];
    while input.read(&mut buffer)? > 0 {}
    Ok(input.content())
}

const BUFFER_BYTES: usize = 256 << 10;
