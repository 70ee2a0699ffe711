//! xz: streams that follow each other, with padding between them, decoded in bounded memory.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lzma_rust2::XzReader;

/// Whether a file that begins so is made of streams.
pub fn begins_with_stream(first: &[u8]) -> bool {
    first.starts_with(&STREAM)
}

/// What all streams hold, one after the other.
pub struct XzStreams<R: Read> {
    /// None after an error.
    reader: Option<XzReader<Counted<R>>>,
    read_bytes: Arc<AtomicU64>,
}

/// Fills every buffer, as the decoder expects of short reads, and counts.
struct Counted<R> {
    inner: R,
    // Relaxed: one thread reads and asks.
    read_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut length = 0;
        while length < out.len() {
            match self.inner.read(&mut out[length..]) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.read_bytes.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

impl<R: Read> XzStreams<R> {
    pub fn new(inner: R) -> Self {
        let read_bytes = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner, read_bytes: Arc::clone(&read_bytes) };
        Self { reader: Some(XzReader::new_mem_limit(counted, true, MEMORY_KIB_MAX)), read_bytes }
    }

    /// What is wrong, and where in the file.
    fn failure(&self, error: &io::Error) -> io::Error {
        let place = self.read_bytes.load(Ordering::Relaxed);
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
            io::ErrorKind::OutOfMemory => {
                format!(
                    "it was packed with a dictionary of more than {} MiB; unpack it with xz first",
                    MEMORY_KIB_MAX >> 10
                )
            }
            _ => format!("it is damaged: {error}"),
        };
        let kind = if error.kind() == io::ErrorKind::OutOfMemory { io::ErrorKind::InvalidData } else { error.kind() };
        io::Error::new(kind, format!("the xz file, at or before byte {place}: {reason}"))
    }
}

impl<R: Read> Read for XzStreams<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // The decoder takes a read of nothing for the end of a block.
        if out.is_empty() {
            return Ok(0);
        }
        let Some(reader) = &mut self.reader else { return Err(io::Error::other("the stream has failed before")) };
        match reader.read(out) {
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.reader = None;
                Err(self.failure(&error))
            }
        }
    }
}

const STREAM: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Files of `xz -9` need 65 MiB.
const MEMORY_KIB_MAX: u32 = 256 << 10;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn xz(text: &[u8]) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::with_preset(1);
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).expect("the options are sound");
        writer.write_all(text).expect("it is written to memory");
        writer.finish().expect("it is written to memory")
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        XzStreams::new(bytes).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn streams_follow_each_other_with_padding_between_them() {
        let [one, two] = [&b"one "[..], b"two"].map(xz);
        assert_eq!(read(&[&one[..], &two].concat()).ok().as_deref(), Some(&b"one two"[..]));
        assert_eq!(read(&[&one[..], &[0; 8], &two, &[0; 4]].concat()).ok().as_deref(), Some(&b"one two"[..]));
        assert!(read(&[&one[..], &[0; 3]].concat()).is_err());
        assert!(read(&[&one[..], b"rubbish"].concat()).is_err());
        assert!(read(&xz(b"")).is_ok_and(|out| out.is_empty()));
    }

    #[test]
    fn a_file_that_is_cut_or_damaged_anywhere_is_an_error_with_its_place() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        let whole = xz(&text);
        assert_eq!(read(&whole).ok(), Some(text));
        for length in (0..64).chain((64..whole.len()).step_by(997)).chain(whole.len() - 64..whole.len()) {
            let error = read(&whole[..length]).expect_err("it is cut").to_string();
            assert!(error.contains("at or before byte"), "{length}: {error}");
        }
        for place in (0..64).chain((64..whole.len()).step_by(997)).chain(whole.len() - 64..whole.len()) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x10;
            let error = read(&damaged).expect_err("it is damaged").to_string();
            assert!(error.contains("at or before byte"), "{place}: {error}");
        }
    }

    #[test]
    fn a_dictionary_that_would_fill_the_memory_is_refused() {
        // The block's header says 4 GiB less a byte (the size of the dictionary is coded as 40), with its checksum.
        let mut bytes = xz(b"text");
        assert_eq!(bytes[12..16], [2, 0, 0x21, 1]);
        bytes[16] = 40;
        let checksum = crc32(&bytes[12..20]);
        bytes[20..24].copy_from_slice(&checksum.to_le_bytes());
        let error = read(&bytes).expect_err("it is too large").to_string();
        assert!(error.contains("dictionary of more than 256 MiB"), "{error}");
    }

    fn crc32(bytes: &[u8]) -> u32 {
        let step = |crc: u32, byte: &u8| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
        };
        !bytes.iter().fold(!0, step)
    }
}
