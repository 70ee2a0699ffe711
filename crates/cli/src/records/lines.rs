//! Lines of UTF-8 text, numbered, none longer than memory should hold.

use std::io::{BufRead, Read};

use super::record::Offence;

/// See the module.
pub struct Lines {
    bytes: Box<dyn BufRead>,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines {
    /// The lines of `bytes`.
    pub fn new(bytes: Box<dyn BufRead>) -> Self {
        Self { bytes, buffer: Vec::new(), number: 0 }
    }

    /// The number of the line that was read last, counted from 1.
    pub fn number(&self) -> u64 {
        self.number.max(1)
    }

    /// The next line without its line feed; none at the end.
    ///
    /// # Errors
    /// If it is not UTF-8 or too long; what the input answers.
    pub fn next(&mut self) -> Result<Option<&str>, Offence> {
        self.buffer.clear();
        let read = self.bytes.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if read as u64 > LINE_BYTES_MAX {
            return Err(too_long());
        }
        let line = str::from_utf8(&self.buffer).map_err(|error| {
            let at = error.valid_up_to() + 1;
            match PACKERS.iter().find(|(begins, _)| self.number == 1 && self.buffer.starts_with(begins)) {
                Some((_, program)) => format!(
                    "the input is compressed; unpack it, as with `{program} -dc INPUT | fulgurite import FILE TABLE \
                     --format FORMAT`"
                ),
                None => format!(
                    "not UTF-8 at byte {at} of the line; bytes are written as {{\"hex\": …}} in JSON, hex:… elsewhere"
                ),
            }
        })?;
        Ok(Some(if self.number == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line }))
    }
}

/// That a record does not fit into memory as it should.
pub fn too_long() -> Offence {
    format!("a record of more than {} MiB of text; use the binary form for it", LINE_BYTES_MAX >> 20).into()
}

/// The longest line or record of text.
pub const LINE_BYTES_MAX: u64 = 1 << 30;
/// How compressed files begin, and the programs that unpack them.
const PACKERS: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh", "bzip2")];
/// Some programs write it before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';
