//! Space that stores take on the disk.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Error, Result};

/// Space that the files below `directory` take; holes take none. An engine may remove files meanwhile.
pub fn bytes_below(directory: &Path) -> Result<u64> {
    sum_below(directory).map_err(|error| Error::io("measure", directory, error))
}

/// Space that files in `directory` may still take.
pub fn available_bytes(directory: &Path) -> Result<u64> {
    let found = rustix::fs::statvfs(directory).map_err(|error| Error::io("measure", directory, error.into()))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

fn sum_below(directory: &Path) -> io::Result<u64> {
    const BLOCK_BYTES: u64 = 512;
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let found = entry.metadata().and_then(|metadata| match metadata.is_dir() {
            true => sum_below(&entry.path()),
            false => Ok(metadata.blocks() * BLOCK_BYTES),
        });
        match found {
            Ok(found) => bytes += found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_files_are_summed_and_holes_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(directory.path().join("a"), vec![1; 100_000]).unwrap();
        fs::write(inner.join("b"), vec![1; 100_000]).unwrap();
        fs::File::create(inner.join("hole")).unwrap().set_len(1 << 30).unwrap();
        let bytes = bytes_below(directory.path()).unwrap();
        assert!((200_000..300_000).contains(&bytes), "{bytes}");
        assert!(bytes_below(&directory.path().join("none")).is_err());
    }
}
