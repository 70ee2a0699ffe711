//! Byte strings in files of checkpoints: each after its length as four bytes, least significant first.

use std::io::{self, Read, Write};

use crate::checkpoint::error::CheckpointError;

/// Writes a byte string. Keys, values and names have less than 4 GiB.
///
/// # Errors
/// The writer's.
pub fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&(bytes.len() as u32).to_le_bytes())?;
    out.write_all(bytes)
}

/// Reads the fields of a stored file. Errors name the file.
pub struct Fields<R> {
    name: String,
    input: R,
}

impl<R: Read> Fields<R> {
    /// Reads a file that begins with `magic`, which `kind` describes.
    ///
    /// # Errors
    /// [`CheckpointError::Damaged`] if it does not; [`CheckpointError::Storage`].
    pub fn open(name: &str, input: R, magic: &[u8; 8], kind: &str) -> Result<Self, CheckpointError> {
        let mut fields = Self { name: name.to_owned(), input };
        if fields.array::<8>()? == *magic { Ok(fields) } else { Err(fields.damaged(format!("it is not {kind}"))) }
    }

    /// The error of a file whose bytes are not what they should be.
    pub fn damaged(&self, reason: impl Into<String>) -> CheckpointError {
        CheckpointError::damaged(&self.name, reason)
    }

    /// A number of bytes.
    ///
    /// # Errors
    /// [`CheckpointError::Damaged`] if there are fewer; [`CheckpointError::Storage`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], CheckpointError> {
        let mut bytes = [0; N];
        let read = self.input.read_exact(&mut bytes);
        read.map(|()| bytes).map_err(|error| self.failed(error))
    }

    /// A byte string.
    ///
    /// # Errors
    /// As [`Fields::array`].
    pub fn bytes(&mut self) -> Result<Vec<u8>, CheckpointError> {
        let length = u64::from(u32::from_le_bytes(self.array::<4>()?));
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(length).read_to_end(&mut bytes);
        match read.map_err(|error| self.failed(error))? as u64 == length {
            true => Ok(bytes),
            false => Err(self.failed(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// As [`Fields::array`]; [`CheckpointError::Damaged`] if it is not UTF-8.
    pub fn text(&mut self) -> Result<String, CheckpointError> {
        String::from_utf8(self.bytes()?).map_err(|_| self.damaged("a name in it is not a text"))
    }

    fn failed(&self, error: io::Error) -> CheckpointError {
        CheckpointError::unreadable(&self.name, error)
    }
}
