//! An image as the file that it was made of: read-only, decompressed where it is read.

use std::cmp::Ordering;
use std::io;
use std::path::Path;

use super::blocks::Blocks;
use crate::format::{ImageFault, ImageHeader};
use crate::io::disk::{File, FileLocks, LockHolder};
use crate::io::{Fill, Map, memory_bytes};
use crate::sync::Arc;

/// An image as the file that it was made of.
///
/// It is mapped by a window of memory into which each block is decompressed when it is first needed. Such memory stays
/// until the window is dropped. So a database that would take more than half of the memory is not mapped.
#[derive(Debug)]
pub struct ImageFile {
    blocks: Arc<Blocks>,
}

impl ImageFile {
    /// The image in `file`; `None` if that is none.
    ///
    /// # Errors
    /// The disk's. Within: what is wrong with the header.
    pub fn open(file: &Arc<dyn File>) -> io::Result<Option<Result<Self, ImageFault>>> {
        if !Self::is_in(&**file)? {
            return Ok(None);
        }
        let mut bytes = [0; ImageHeader::BYTES];
        let header = match file.read_at(0, &mut bytes) {
            Ok(()) => ImageHeader::decode(&bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(ImageFault::Damaged(TRUNCATED)),
            Err(error) => return Err(error),
        };
        let length = file.len()?;
        let header = header.and_then(|header| match length.cmp(&header.file_bytes()) {
            Ordering::Equal => Ok(header),
            Ordering::Less => Err(ImageFault::Damaged(TRUNCATED)),
            Ordering::Greater => Err(ImageFault::Damaged("the file is longer than its header says")),
        });
        Ok(Some(match header {
            Ok(header) => Ok(Self { blocks: Arc::new(Blocks::new(Arc::clone(file), header)?) }),
            Err(fault) => Err(fault),
        }))
    }

    /// Whether a file begins as an image does.
    ///
    /// # Errors
    /// The disk's.
    pub fn is_in(file: &dyn File) -> io::Result<bool> {
        let mut magic = [0; ImageHeader::MAGIC.len()];
        match file.read_at(0, &mut magic) {
            Ok(()) => Ok(magic == *ImageHeader::MAGIC),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl File for ImageFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let (part_bytes, content_bytes) = (self.blocks.part_bytes(), self.blocks.content_bytes());
        if offset.checked_add(buffer.len() as u64).is_none_or(|end| end > content_bytes) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let (block, skipped) = (at / part_bytes, (at % part_bytes) as usize);
            let whole = self.blocks.header.length_of(block);
            let (part, after) = rest.split_at_mut((whole - skipped).min(rest.len()));
            if part.len() == whole {
                self.blocks.fill(block, part)?;
            } else {
                let mut bytes = vec![0; whole];
                self.blocks.fill(block, &mut bytes)?;
                part.copy_from_slice(&bytes[skipped..skipped + part.len()]);
            }
            at += part.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Err(unwritable())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.blocks.content_bytes())
    }

    fn set_len(&self, _length: u64) -> io::Result<()> {
        Err(unwritable())
    }

    fn allocate(&self, _offset: u64, _length: u64) -> io::Result<()> {
        Err(unwritable())
    }

    fn prepare(&self, _length: u64) -> io::Result<()> {
        Err(unwritable())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(())
    }

    fn forget_cached(&self) {
        self.blocks.file.forget_cached();
    }

    fn locks(&self) -> &dyn FileLocks {
        &NoLocks
    }

    fn is_named(&self, path: &Path) -> io::Result<bool> {
        self.blocks.file.is_named(path)
    }

    fn map(&self, _reserve_bytes: u64) -> io::Result<Option<Map>> {
        if self.blocks.content_bytes() > memory_bytes() / MAPPED_SHARE {
            return Ok(None);
        }
        Map::filled_by(Arc::clone(&self.blocks) as Arc<dyn Fill>)
    }
}

/// The locks on an image: nobody writes to it, so readers need none.
#[derive(Debug)]
struct NoLocks;

impl FileLocks for NoLocks {
    fn lock_writer(&self) -> io::Result<Option<LockHolder>> {
        Err(unwritable())
    }

    fn unlock_writer(&self) -> io::Result<()> {
        Ok(())
    }

    fn writer(&self) -> io::Result<Option<LockHolder>> {
        Ok(None)
    }

    fn pin(&self, _number: u64) -> io::Result<()> {
        Ok(())
    }

    fn unpin(&self) -> io::Result<()> {
        Ok(())
    }

    fn oldest_pinned(&self) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

fn unwritable() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "an image is never written to")
}

/// A window may come to take this part of the memory: a half.
const MAPPED_SHARE: u64 = 2;

const TRUNCATED: &str = "the file is shorter than its header says: it was truncated";
