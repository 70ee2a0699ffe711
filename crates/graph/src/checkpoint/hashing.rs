//! Lengths and hashes of files, and readers and writers that compute them.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use xxhash_rust::xxh3::Xxh3;

/// The XXH3 hash of a file, as a manifest has it: in hexadecimal, all digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileHash {
    /// 64 bits: of a copy of a database, and of changes. A checkpoint names its own file.
    Short(u64),
    /// 128 bits: of a segment. The hash decides whether the storage has the segment already.
    ///
    /// Among a billion segments the chance that two have the same hash is below 10⁻²⁰. XXH3 is not cryptographic: a
    /// user of a program could choose values so that two segments collide. But the user must know all other entries of
    /// both segments, and a restored database has one of two states of them that the user has seen.
    Long(u128),
}

impl fmt::Display for FileHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short(hash) => write!(out, "{hash:016x}"),
            Self::Long(hash) => write!(out, "{hash:032x}"),
        }
    }
}

impl FromStr for FileHash {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.len() {
            SHORT_DIGITS => u64::from_str_radix(text, 16).map(Self::Short).map_err(drop),
            LONG_DIGITS => u128::from_str_radix(text, 16).map(Self::Long).map_err(drop),
            _ => Err(()),
        }
    }
}

/// The length and the XXH3 hashes of what was read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    pub bytes: u64,
    short: u64,
    long: u128,
}

impl Content {
    /// The hash that a copy or a file of changes has in its name and in manifests.
    pub fn short(&self) -> FileHash {
        FileHash::Short(self.short)
    }

    /// The hash that a segment has in its name and in manifests.
    pub fn long(&self) -> FileHash {
        FileHash::Long(self.long)
    }

    /// The hash of the same kind as another.
    pub fn like(&self, other: FileHash) -> FileHash {
        match other {
            FileHash::Short(_) => self.short(),
            FileHash::Long(_) => self.long(),
        }
    }
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
        Content { bytes: self.bytes, short: self.hasher.digest(), long: self.hasher.digest128() }
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

/// Digits of a [`FileHash::Short`].
pub const SHORT_DIGITS: usize = 16;
/// Digits of a [`FileHash::Long`].
pub const LONG_DIGITS: usize = 32;
const BUFFER_BYTES: usize = 256 << 10;
