//! Opening an index of SCIP, which may be compressed by gzip.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// The bytes of the index at `path`, without the compression, and how many there are.
///
/// # Errors
/// [`Error::File`].
pub fn open(path: &Path) -> Result<(Box<dyn Read>, u64)> {
    let mut file = File::open(path).map_err(Error::file(path, "be read"))?;
    let metadata = file.metadata().map_err(Error::file(path, "be read"))?;
    if metadata.is_dir() {
        return Err(Error::file(path, "be read")(ErrorKind::IsADirectory.into()));
    }
    if !is_packed(&mut file).map_err(Error::file(path, "be read"))? {
        return Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, file)), metadata.len()));
    }
    let length = unpacked_length(&mut file, UNPACKED_BYTES_MAX).map_err(Error::file(path, "be unpacked"))?;
    Ok((Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(file))), length))
}

/// Whether a file begins as gzip does. No index of SCIP does: Protocol Buffers have no such field.
fn is_packed(file: &mut File) -> io::Result<bool> {
    let mut begin = Vec::new();
    file.by_ref().take(GZIP.len() as u64).read_to_end(&mut begin)?;
    file.rewind()?;
    Ok(begin == GZIP)
}

/// How many bytes a file has that is compressed by gzip. Lengths within the index are compared with that, so that few
/// bytes cannot ask for much memory.
fn unpacked_length(file: &mut File, bytes_max: u64) -> io::Result<u64> {
    let length = io::copy(&mut MultiGzDecoder::new(&mut *file).take(bytes_max + 1), &mut io::sink())?;
    if length > bytes_max {
        return Err(io::Error::other(format!("it has more than {bytes_max} bytes; unpack it with gunzip")));
    }
    file.rewind()?;
    Ok(length)
}

/// The first bytes of a file that is compressed by gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Few files of SCIP are as large. A larger one may be made to fill the memory.
const UNPACKED_BYTES_MAX: u64 = 4 << 30;
const BUFFER_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn an_index_that_is_compressed_by_gzip_is_read_and_bounded() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("index.scip.gz");
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&[7; 5000]).expect("a buffer takes all");
        let packed = packer.finish().expect("a buffer takes all");
        std::fs::write(&path, &packed).expect("a file");
        let (mut bytes, length) = open(&path).expect("it is sound");
        let mut read = Vec::new();
        bytes.read_to_end(&mut read).expect("it is sound");
        assert_eq!((read, length), (vec![7; 5000], 5000));
        let mut file = File::open(&path).expect("it is there");
        assert_eq!(unpacked_length(&mut file, 5000).expect("it has as many"), 5000);
        let error = unpacked_length(&mut file, 4999).expect_err("it has more").to_string();
        assert!(error.starts_with("it has more than 4999 bytes"), "{error}");
        std::fs::write(&path, &packed[..packed.len() - 1]).expect("a file");
        let error = open(&path).err().expect("it is cut off").to_string();
        assert!(error.contains("index.scip.gz: cannot be unpacked: "), "{error}");
    }
}
