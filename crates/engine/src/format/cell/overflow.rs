//! References from a cell to bytes that live in pages of their own.

use crate::format::bytes::{get_u32, get_u64, put};
use crate::ids::{ExtentId, PageRef};

/// Where the bytes of a long key or value are: contiguous and raw from a page's start, in an extent of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OverflowRef {
    /// The extent of values.
    pub extent: ExtentId,
    /// The first page within it, below [`PageRef::SLOTS_MAX`].
    pub slot: u32,
    /// Length in bytes.
    pub length: u32,
    /// `Identity::hash` of the bytes.
    pub checksum: u64,
}

/// The stored form, for its offsets only.
#[repr(C)]
struct Layout {
    extent: u32,
    slot: u32,
    length: u32,
    reserved: u32,
    checksum: u64,
}

const EXTENT: usize = std::mem::offset_of!(Layout, extent);
const SLOT: usize = std::mem::offset_of!(Layout, slot);
const LENGTH: usize = std::mem::offset_of!(Layout, length);
const RESERVED: usize = std::mem::offset_of!(Layout, reserved);
const CHECKSUM: usize = std::mem::offset_of!(Layout, checksum);

const _: () = assert!(size_of::<Layout>() == OverflowRef::BYTES);
const _: () = assert!(SLOT == 4 && LENGTH == 8 && RESERVED == 12 && CHECKSUM == 16);

impl OverflowRef {
    /// Length of the stored form.
    pub const BYTES: usize = 24;

    /// The page where the bytes begin.
    pub fn page(&self) -> PageRef {
        PageRef { extent: self.extent, slot: self.slot }
    }

    /// The stored form.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        put(&mut bytes, EXTENT, self.extent.0.to_le_bytes());
        put(&mut bytes, SLOT, self.slot.to_le_bytes());
        put(&mut bytes, LENGTH, self.length.to_le_bytes());
        put(&mut bytes, CHECKSUM, self.checksum.to_le_bytes());
        bytes
    }

    /// Reads the stored form. What it says may be nonsense: see [`OverflowRef::offence`].
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        Self {
            extent: ExtentId(get_u32(bytes, EXTENT)),
            slot: get_u32(bytes, SLOT),
            length: get_u32(bytes, LENGTH),
            checksum: get_u64(bytes, CHECKSUM),
        }
    }

    /// What is wrong with a stored form, if anything.
    pub fn offence(bytes: &[u8; Self::BYTES]) -> Option<&'static str> {
        if get_u32(bytes, RESERVED) != 0 {
            return Some("reserved bytes of an overflow reference are not zero");
        }
        if get_u32(bytes, SLOT) >= PageRef::SLOTS_MAX {
            return Some("slot of an overflow reference is out of range");
        }
        None
    }
}
