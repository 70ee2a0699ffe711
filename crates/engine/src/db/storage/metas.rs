//! The two meta slots of a data file: which of them counts, and writing the other.
//!
//! Invariant: a meta is written to the slot that does not hold the newest, so a torn write leaves the newest whole.

use std::io;
use std::path::Path;

use crate::error::{Error, Place, Result};
use crate::format::{Meta, MetaError};
use crate::io::File;

/// The newest meta of a file, and how the other slot fares.
#[derive(Clone, Debug)]
pub struct NewestMeta {
    /// The newest valid meta.
    pub meta: Meta,
    /// The slot that holds no valid meta, if one does not: torn by a crash, or damaged since.
    pub damaged_slot: Option<u8>,
    /// Whether both slots say the same.
    pub is_doubled: bool,
    /// Whether the log of the older meta begins where that of the newest does.
    pub shares_log: bool,
}

/// Reads both slots.
///
/// # Errors
/// [`Error::NotADatabase`] if neither begins as a meta does, [`Error::Corrupt`] if none is whole,
/// [`Error::UnsupportedFormat`] if the newest asks for what this version does not know.
pub fn read(file: &dyn File, path: &Path) -> Result<NewestMeta> {
    let slots = [read_slot(file, path, 0)?, read_slot(file, path, 1)?];
    match slots {
        [Ok(first), Ok(second)] => {
            if first.uuid != second.uuid || first.page_size != second.page_size {
                return Err(Error::corrupt(path, Place::Meta(None), "they are of different databases"));
            }
            let (meta, other) = if first.number > second.number { (first, second) } else { (second, first) };
            let shares_log = meta.log_first_segment == other.log_first_segment;
            let is_doubled = Meta { number: meta.number, ..other } == meta;
            Ok(NewestMeta { meta, damaged_slot: None, is_doubled, shares_log })
        }
        [Err(MetaError::Unsupported(found)), _] | [_, Err(MetaError::Unsupported(found))] => {
            Err(Error::UnsupportedFormat { path: path.to_path_buf(), found })
        }
        [Ok(meta), Err(_)] => Ok(NewestMeta { meta, damaged_slot: Some(1), is_doubled: false, shares_log: false }),
        [Err(_), Ok(meta)] => Ok(NewestMeta { meta, damaged_slot: Some(0), is_doubled: false, shares_log: false }),
        [Err(MetaError::NotAMeta), Err(MetaError::NotAMeta)] => {
            let is_squashfs = is_squashfs(file).map_err(|error| Error::io("read", path, error))?;
            Err(Error::NotADatabase { path: path.to_path_buf(), is_squashfs })
        }
        [Err(first), Err(second)] => {
            let offence = format!("slot 0: {first}; slot 1: {second}");
            Err(Error::corrupt(path, Place::Meta(None), offence))
        }
    }
}

/// Whether a file begins as an image of SquashFS does.
fn is_squashfs(file: &dyn File) -> io::Result<bool> {
    let mut bytes = [0; SQUASHFS.len()];
    if file.len()? < bytes.len() as u64 {
        return Ok(false);
    }
    file.read_at(0, &mut bytes)?;
    Ok(bytes == SQUASHFS)
}

/// Writes a meta to its slot. It counts once the file is synced.
///
/// # Errors
/// The disk's.
pub fn write(file: &dyn File, path: &Path, meta: &Meta) -> Result<()> {
    file.write_at(Meta::SLOT_OFFSETS[meta.slot()], &meta.encode()).map_err(|error| Error::io("write meta", path, error))
}

fn read_slot(file: &dyn File, path: &Path, slot: usize) -> Result<Result<Meta, MetaError>> {
    let mut bytes = [0; Meta::BYTES];
    match file.read_at(Meta::SLOT_OFFSETS[slot], &mut bytes) {
        Ok(()) => Ok(Meta::decode(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Err(MetaError::NotAMeta)),
        // An image reports damage before there are bytes of a meta.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Error::corrupt(path, Place::Meta(Some(slot as u8)), error.to_string()))
        }
        Err(error) => Err(Error::io("read meta", path, error)),
    }
}

/// The first bytes of an image of SquashFS.
const SQUASHFS: [u8; 4] = *b"hsqs";
