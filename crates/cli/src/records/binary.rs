//! The binary form: for each entry the length of its key and that of its value, each a `u32` in little-endian order,
//! then the key and the value as they are stored.

use std::io::{BufRead, Read};

use super::record::{Offence, Pair, Place, RecordReader};
use crate::entries::EntryForm;

/// Reads the binary form.
pub struct BinaryReader {
    bytes: Box<dyn BufRead>,
    /// Where the record began that was read last.
    began: u64,
    /// Where the next one begins.
    next: u64,
}

impl BinaryReader {
    /// Reads from `bytes`.
    pub fn new(bytes: Box<dyn BufRead>) -> Self {
        Self { bytes, began: 0, next: 0 }
    }

    /// So many bytes, or an error; what an absurd length asks for is not allocated before it is there.
    fn read(&mut self, length: u32, what: &str) -> Result<Vec<u8>, Offence> {
        let mut bytes = Vec::new();
        self.bytes.by_ref().take(length.into()).read_to_end(&mut bytes)?;
        if bytes.len() == length as usize {
            return Ok(bytes);
        }
        Err(format!("the record's {what} should have {length} bytes, and the input ends after {}", bytes.len()).into())
    }
}

impl RecordReader for BinaryReader {
    fn next(&mut self, form: &EntryForm) -> Result<Option<Pair>, Offence> {
        self.began = self.next;
        let mut lengths = Vec::with_capacity(LENGTHS_BYTES);
        self.bytes.by_ref().take(LENGTHS_BYTES as u64).read_to_end(&mut lengths)?;
        let (key, value) = match *lengths {
            [] => return Ok(None),
            [k0, k1, k2, k3, v0, v1, v2, v3] => {
                (u32::from_le_bytes([k0, k1, k2, k3]), u32::from_le_bytes([v0, v1, v2, v3]))
            }
            _ => return Err("the input ends in the middle of a record".into()),
        };
        self.next = self.began + LENGTHS_BYTES as u64 + u64::from(key) + u64::from(value);
        let (key, value) = (self.read(key, "key")?, self.read(value, "value")?);
        Ok(Some((form.key.of_bytes(key)?, form.value.of_bytes(value)?)))
    }

    fn place(&self) -> Place {
        Place::Byte(self.began)
    }
}

/// Appends the lengths of a record.
pub fn push_lengths(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    for part in [key, value] {
        let length = u32::try_from(part.len()).expect("the engine stores nothing of 4 GiB or more");
        out.extend_from_slice(&length.to_le_bytes());
    }
}

/// Both lengths.
const LENGTHS_BYTES: usize = 8;
