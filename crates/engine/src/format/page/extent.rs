//! The extent table: what an extent is, and the pages that list them.
//!
//! An entry's index in the table is its [`ExtentId`]. Free space is not stored: it is what no live
//! slot covers.

use std::mem::offset_of;

use crate::format::bytes::{get_u16, get_u32, get_u64, put};
use crate::format::page::layout::{PageKind, PageSize, TRAILER_BYTES};
use crate::format::page::offence::{Offence, require, zeros};
use crate::ids::{Birth, ExtentId, PageNumber, PageRef};

/// Most pages of an extent that is not `single`: one for each bit of its live map.
pub const LIVE_SLOTS_MAX: u32 = 128;
/// Largest page number: byte offsets stay within 62 bits.
const PAGE_NUMBER_MAX: u64 = 1 << 48;

/// What an extent holds. On disk: never renumber, only append.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExtentKind {
    /// Nothing: the id is free.
    #[default]
    Unused = 0,
    /// Leaves and branches.
    Nodes = 1,
    /// Raw bytes of long keys and values.
    Values = 2,
    /// The extent table itself.
    ExtentTable = 3,
}

/// Properties of an extent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtentFlags {
    /// It lives and dies as a whole, as bit 0 of its live map says, and may exceed [`LIVE_SLOTS_MAX`] pages.
    pub single: bool,
}

/// Stored flag of [`ExtentFlags::single`].
const SINGLE: u8 = 1;

/// An entry of the extent table. The default is an unused id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentEntry {
    /// Where the extent begins in the file.
    pub first_page: PageNumber,
    /// Its length in pages.
    pub page_count: u32,
    /// What it holds.
    pub kind: ExtentKind,
    /// Its properties.
    pub flags: ExtentFlags,
    /// The operation that wrote it, and all of its pages.
    pub birth: Birth,
    /// Bit `i` is set while slot `i` is live; the other slots are free space again.
    pub live: u128,
}

impl Default for ExtentEntry {
    fn default() -> Self {
        Self {
            first_page: PageNumber(0),
            page_count: 0,
            kind: ExtentKind::Unused,
            flags: ExtentFlags::default(),
            birth: Birth(0),
            live: 0,
        }
    }
}

/// The entry as stored, for its offsets only.
#[repr(C)]
struct EntryLayout {
    first_page: u64,
    page_count: u32,
    kind: u8,
    flags: u8,
    reserved: u16,
    birth: u64,
    live: [u8; 16],
    unused: [u8; 24],
}

const PAGE_COUNT: usize = offset_of!(EntryLayout, page_count);
const KIND: usize = offset_of!(EntryLayout, kind);
const FLAGS: usize = offset_of!(EntryLayout, flags);
const RESERVED: usize = offset_of!(EntryLayout, reserved);
const BIRTH: usize = offset_of!(EntryLayout, birth);
const LIVE: usize = offset_of!(EntryLayout, live);
const UNUSED: usize = offset_of!(EntryLayout, unused);

const _: () = assert!(size_of::<EntryLayout>() == ExtentEntry::BYTES && offset_of!(EntryLayout, first_page) == 0);
const _: () = assert!(PAGE_COUNT == 8 && KIND == 12 && FLAGS == 13 && RESERVED == 14 && BIRTH == 16);
const _: () = assert!(LIVE == 24 && UNUSED == 40);

impl ExtentEntry {
    /// Length of the stored form.
    pub const BYTES: usize = 64;

    /// The stored form.
    ///
    /// # Panics
    /// If the entry is one that [`ExtentEntry::from_bytes`] refuses.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        put(&mut bytes, 0, self.first_page.0.to_le_bytes());
        put(&mut bytes, PAGE_COUNT, self.page_count.to_le_bytes());
        bytes[KIND] = self.kind as u8;
        bytes[FLAGS] = if self.flags.single { SINGLE } else { 0 };
        put(&mut bytes, BIRTH, self.birth.0.to_le_bytes());
        put(&mut bytes, LIVE, self.live.to_le_bytes());
        assert!(Self::from_bytes(&bytes) == Ok(self), "an extent entry must be one that can be read back");
        bytes
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// The first offence, at a byte of the entry.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Result<Self, Offence> {
        let kind = match bytes[KIND] {
            0 => {
                zeros(bytes, 0, Self::BYTES, "unused extent entry is not zero")?;
                return Ok(Self::default());
            }
            1 => ExtentKind::Nodes,
            2 => ExtentKind::Values,
            3 => ExtentKind::ExtentTable,
            _ => return Err(Offence::new(KIND, "unknown kind of extent")),
        };
        require(bytes[FLAGS] & !SINGLE == 0, FLAGS, "unknown flag of an extent")?;
        zeros(bytes, RESERVED, BIRTH, "reserved bytes of an extent entry are not zero")?;
        zeros(bytes, UNUSED, Self::BYTES, "reserved bytes of an extent entry are not zero")?;
        let flags = ExtentFlags { single: bytes[FLAGS] & SINGLE != 0 };
        let first_page = PageNumber(get_u64(bytes, 0));
        let page_count = get_u32(bytes, PAGE_COUNT);
        require((1..PAGE_NUMBER_MAX).contains(&first_page.0), 0, "extent begins at an impossible page")?;
        let pages_max = if flags.single { PageRef::SLOTS_MAX } else { LIVE_SLOTS_MAX };
        require((1..=pages_max).contains(&page_count), PAGE_COUNT, "extent has an impossible length")?;
        let live = (get_u64(bytes, LIVE) as u128) | (get_u64(bytes, LIVE + 8) as u128) << 64;
        let slots = if flags.single { 1 } else { page_count };
        require(live.unbounded_shr(slots) == 0, LIVE, "slot past the extent's end is live")?;
        Ok(Self { first_page, page_count, kind, flags, birth: Birth(get_u64(bytes, BIRTH)), live })
    }
}

/// Where a table page's entry count is: u16.
const ENTRY_COUNT: usize = 2;
/// Where a table page's first extent id is: u32.
const FIRST_EXTENT: usize = 4;
/// Entries of a table page begin here.
const ENTRIES: usize = 64;

/// A page of the extent table, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtentTablePage {
    /// Id of the first entry.
    pub first: ExtentId,
    /// The entries, at least one.
    pub entries: Vec<ExtentEntry>,
}

impl ExtentTablePage {
    /// The extent that table pages name in their checksum, with their index in the table as slot: the table is read
    /// before any extent is known. No extent has this id.
    pub const EXTENT: ExtentId = ExtentId(u32::MAX);

    /// How many entries a page holds.
    pub const fn capacity(page_size: PageSize) -> usize {
        (page_size.body_bytes() - ENTRIES) / ExtentEntry::BYTES
    }

    /// The reference under which the `index`th page of the table is sealed and verified.
    pub fn page_ref(index: u32) -> PageRef {
        PageRef { extent: Self::EXTENT, slot: index }
    }

    /// Writes a table page's body.
    ///
    /// # Panics
    /// If `page` is not a page, or if the entries are none, too many, or invalid.
    pub fn encode(first: ExtentId, entries: &[ExtentEntry], page: &mut [u8]) {
        let page_size = PageSize::from_bytes(page.len()).expect("a page has 8 or 16 KiB");
        assert!((1..=Self::capacity(page_size)).contains(&entries.len()), "a table page holds some entries");
        assert!(u32::MAX as usize - first.0 as usize >= entries.len(), "the last extent id is not an extent's");
        page.fill(0);
        page[0] = PageKind::ExtentTable as u8;
        put(page, ENTRY_COUNT, (entries.len() as u16).to_le_bytes());
        put(page, FIRST_EXTENT, first.0.to_le_bytes());
        for (index, entry) in entries.iter().enumerate() {
            put(page, ENTRIES + ExtentEntry::BYTES * index, entry.to_bytes());
        }
    }

    /// Reads a table page's body.
    ///
    /// # Errors
    /// The first offence.
    pub fn decode(page: &[u8]) -> Result<Self, Offence> {
        let Some(page_size) = PageSize::from_bytes(page.len()) else {
            return Err(Offence::new(0, "not the length of a page"));
        };
        require(page[0] == PageKind::ExtentTable as u8, 0, "not a page of the extent table")?;
        zeros(page, 1, ENTRY_COUNT, "reserved byte of the header is not zero")?;
        zeros(page, FIRST_EXTENT + 4, ENTRIES, "reserved bytes of the header are not zero")?;
        let count = get_u16(page, ENTRY_COUNT) as usize;
        let possible = (1..=Self::capacity(page_size)).contains(&count);
        require(possible, ENTRY_COUNT, "table page has an impossible number of entries")?;
        let first = get_u32(page, FIRST_EXTENT);
        require(u32::MAX as usize - first as usize >= count, FIRST_EXTENT, "extent ids are out of range")?;
        let end = ENTRIES + ExtentEntry::BYTES * count;
        zeros(page, end, page.len() - TRAILER_BYTES, "free space is not zero")?;
        let entry = |(index, bytes)| {
            ExtentEntry::from_bytes(bytes).map_err(|offence: Offence| {
                Offence::new(ENTRIES + ExtentEntry::BYTES * index + offence.at as usize, offence.what)
            })
        };
        let stored = page[ENTRIES..end].as_chunks().0.iter();
        Ok(Self { first: ExtentId(first), entries: stored.enumerate().map(entry).collect::<Result<_, _>>()? })
    }
}

/// Checks the body of a table page. Called by `verify_page`.
///
/// # Errors
/// The first offence.
pub fn verify_extent_table(page: &[u8]) -> Result<(), Offence> {
    ExtentTablePage::decode(page).map(drop)
}
