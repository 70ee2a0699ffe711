//! The meta: 512 bytes, one sector, from which everything else of a database is found.
//!
//! Two slots are at fixed places of page 0; the valid one with the larger number counts. The first 56 bytes and the
//! checksum's place are frozen for all versions, so that any Fulgurite can say why it cannot read a file.

use std::fmt;
use std::mem::offset_of;

use crate::format::branch::LEVEL_MAX;
use crate::format::bytes::{get_u32, get_u64, put};
use crate::format::catalog::Merging;
use crate::format::hash::{Identity, checksum};
use crate::format::page::{Offence, PageSize, require, zeros};
use crate::ids::{Birth, ExtentId, PageNumber, PageRef, SegmentNumber, Sequence, TableId};
use crate::planted::{Fault, planted};

/// The version that is written, and the only one that is read.
pub const FORMAT_VERSION: u32 = 1;
/// The first bytes of a database.
const MAGIC: &[u8; 8] = b"FULGURIT";

/// Features that a file uses, by what a version that does not know one of them may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureBits {
    /// It may read and write the file, and keeps these bits.
    pub compatible: u64,
    /// It may read the file, and not write it.
    pub read_compatible: u64,
    /// It may not open the file.
    pub incompatible: u64,
}

impl FeatureBits {
    /// Read compatible: each bulk load since the oldest existing segment of the log has left a note in the log. A
    /// version that does not know this feature would load without a note.
    pub const LOG_KEPT: u64 = 1;

    /// Incompatible: tables may have merge operators from 4 to 9. A reader that does not know them could not write to
    /// such tables.
    pub const LATER_MERGES: u64 = 1;

    /// Incompatible: tables may be merged by functions of the program, whose names their descriptions have. A version
    /// that does not know them could not read such descriptions.
    pub const MERGE_FUNCTIONS: u64 = 2;

    /// What this version knows.
    pub const KNOWN: Self = Self {
        compatible: 0,
        read_compatible: Self::LOG_KEPT,
        incompatible: Self::LATER_MERGES | Self::MERGE_FUNCTIONS,
    };

    /// Says in which ways the tables of the file can be merged.
    pub fn set_merges<'m>(&mut self, merges: impl Iterator<Item = &'m Merging>) {
        let bits = merges.fold(0, |bits, merging| match merging {
            Merging::Operator(operator) if operator.is_first() => bits,
            Merging::Operator(_) => bits | Self::LATER_MERGES,
            Merging::Function(_) => bits | Self::MERGE_FUNCTIONS,
        });
        self.incompatible = self.incompatible & !(Self::LATER_MERGES | Self::MERGE_FUNCTIONS) | bits;
    }

    /// Whether the log has all changes since its oldest segment.
    pub fn log_is_kept(&self) -> bool {
        self.read_compatible & Self::LOG_KEPT != 0
    }

    /// Says whether [`FeatureBits::log_is_kept`].
    pub fn set_log_kept(&mut self, kept: bool) {
        self.read_compatible = self.read_compatible & !Self::LOG_KEPT | (u64::from(kept) * Self::LOG_KEPT);
    }
}

/// Root of the catalog's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogRoot {
    /// The root page.
    pub page: PageRef,
    /// Its height above the leaves: 0 if it is a leaf.
    pub level: u8,
    /// Number of entries in the tree.
    pub entries: u64,
}

/// Where the extent table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtentTableRef {
    /// Its first page; the others follow.
    pub first_page: PageNumber,
    /// Its length in pages; 0 if there are no extents.
    pub page_count: u32,
    /// Number of entries, unused ones included.
    pub entry_count: u32,
    /// The operation that wrote it.
    pub birth: Birth,
    /// `Identity::hash` of the stored entries, one after the other.
    pub checksum: u64,
}

impl Default for ExtentTableRef {
    fn default() -> Self {
        Self { first_page: PageNumber(0), page_count: 0, entry_count: 0, birth: Birth(0), checksum: 0 }
    }
}

/// The meta of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Size of the pages.
    pub page_size: PageSize,
    /// The database's identity.
    pub uuid: [u8; 16],
    /// Features in use.
    pub features: FeatureBits,
    /// Rises by one with each meta that is published.
    pub number: u64,
    /// The last birth that was used.
    pub birth: Birth,
    /// Every commit up to this one is in the trees.
    pub sequence: Sequence,
    /// The first log segment that recovery needs.
    pub log_first_segment: SegmentNumber,
    /// Whether that segment was durable when this meta was written, so that its absence is damage.
    pub log_exists: bool,
    /// Logical end of the file, in pages.
    pub page_count: u64,
    /// The id that the next table gets.
    pub next_table_id: TableId,
    /// Quota for the file; 0 is none.
    pub size_bytes_max: u64,
    /// Root of the catalog; `None` while it is empty.
    pub catalog: Option<CatalogRoot>,
    /// Where the extent table is.
    pub extent_table: ExtentTableRef,
    /// When the database was created, in milliseconds since 1970.
    pub created_unix_ms: u64,
}

/// Why bytes are not a meta that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetaError {
    /// They do not begin with the magic.
    NotAMeta,
    /// They are not what was written.
    Damaged(Offence),
    /// They are valid, and need features that this version does not know.
    Unsupported(String),
}

impl fmt::Display for MetaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAMeta => out.write_str("no magic number"),
            Self::Damaged(offence) => write!(out, "{} (byte {} of the meta)", offence.what, offence.at),
            Self::Unsupported(what) => out.write_str(what),
        }
    }
}

/// No counter reaches this in any life, so that one read from a file can be counted on without overflow.
const COUNTER_END: u64 = 1 << 62;
/// Flag of a meta. On disk: never renumber.
const FLAG_LOG_EXISTS: u32 = 1;

/// The meta as stored, for its offsets only.
#[repr(C)]
struct Layout {
    magic: [u8; 8],
    format_version: u32,
    page_size: u32,
    uuid: [u8; 16],
    compatible: u64,
    read_compatible: u64,
    incompatible: u64,
    number: u64,
    birth: u64,
    sequence: u64,
    log_first_segment: u64,
    page_count: u64,
    next_table_id: u32,
    flags: u32,
    size_bytes_max: u64,
    catalog_extent: u32,
    catalog_slot: u32,
    catalog_level: u8,
    catalog_present: u8,
    catalog_reserved: [u8; 6],
    catalog_entries: u64,
    table_first_page: u64,
    table_page_count: u32,
    table_entry_count: u32,
    table_birth: u64,
    table_checksum: u64,
    created_unix_ms: u64,
    unused: [u8; 328],
    checksum: u64,
}

const VERSION: usize = offset_of!(Layout, format_version);
const PAGE_SIZE: usize = offset_of!(Layout, page_size);
const UUID: usize = offset_of!(Layout, uuid);
const COMPATIBLE: usize = offset_of!(Layout, compatible);
const READ_COMPATIBLE: usize = offset_of!(Layout, read_compatible);
const INCOMPATIBLE: usize = offset_of!(Layout, incompatible);
const NUMBER: usize = offset_of!(Layout, number);
const BIRTH: usize = offset_of!(Layout, birth);
const SEQUENCE: usize = offset_of!(Layout, sequence);
const LOG_FIRST_SEGMENT: usize = offset_of!(Layout, log_first_segment);
const PAGE_COUNT: usize = offset_of!(Layout, page_count);
const NEXT_TABLE_ID: usize = offset_of!(Layout, next_table_id);
const FLAGS: usize = offset_of!(Layout, flags);
const SIZE_BYTES_MAX: usize = offset_of!(Layout, size_bytes_max);
const CATALOG_EXTENT: usize = offset_of!(Layout, catalog_extent);
const CATALOG_SLOT: usize = offset_of!(Layout, catalog_slot);
const CATALOG_LEVEL: usize = offset_of!(Layout, catalog_level);
const CATALOG_PRESENT: usize = offset_of!(Layout, catalog_present);
const CATALOG_RESERVED: usize = offset_of!(Layout, catalog_reserved);
const CATALOG_ENTRIES: usize = offset_of!(Layout, catalog_entries);
const TABLE_FIRST_PAGE: usize = offset_of!(Layout, table_first_page);
const TABLE_PAGE_COUNT: usize = offset_of!(Layout, table_page_count);
const TABLE_ENTRY_COUNT: usize = offset_of!(Layout, table_entry_count);
const TABLE_BIRTH: usize = offset_of!(Layout, table_birth);
const TABLE_CHECKSUM: usize = offset_of!(Layout, table_checksum);
const CREATED: usize = offset_of!(Layout, created_unix_ms);
const UNUSED: usize = offset_of!(Layout, unused);
const CHECKSUM: usize = offset_of!(Layout, checksum);

const _: () = assert!(size_of::<Layout>() == Meta::BYTES && CHECKSUM == 504 && UNUSED == 176);
const _: () = assert!(offset_of!(Layout, magic) == 0 && VERSION == 8 && PAGE_SIZE == 12 && UUID == 16);
const _: () = assert!(COMPATIBLE == 32 && READ_COMPATIBLE == 40 && INCOMPATIBLE == 48 && NUMBER == 56);
const _: () = assert!(BIRTH == 64 && SEQUENCE == 72 && LOG_FIRST_SEGMENT == 80 && PAGE_COUNT == 88);
const _: () = assert!(NEXT_TABLE_ID == 96 && FLAGS == 100 && SIZE_BYTES_MAX == 104 && CATALOG_EXTENT == 112);
const _: () = assert!(CATALOG_SLOT == 116 && CATALOG_LEVEL == 120 && CATALOG_PRESENT == 121);
const _: () = assert!(CATALOG_RESERVED == 122 && CATALOG_ENTRIES == 128 && TABLE_FIRST_PAGE == 136);
const _: () = assert!(TABLE_PAGE_COUNT == 144 && TABLE_ENTRY_COUNT == 148 && TABLE_BIRTH == 152);
const _: () = assert!(TABLE_CHECKSUM == 160 && CREATED == 168);

impl Meta {
    /// Length of the stored form: one sector, so that a power cut never tears it on most disks; the checksum detects
    /// a torn one.
    pub const BYTES: usize = 512;
    /// Length of the magic number, with which a meta begins.
    pub const MAGIC_BYTES: usize = MAGIC.len();
    /// Byte offsets of the two slots in the file.
    pub const SLOT_OFFSETS: [u64; 2] = [0, 4096];

    /// The identity of the database.
    pub fn identity(&self) -> Identity {
        Identity::new(self.uuid)
    }

    /// The slot that this meta is written to: they take turns, so that the one before stays.
    pub fn slot(&self) -> usize {
        (self.number % 2) as usize
    }

    /// Whether the file may be written by this version: no read-compatible feature is unknown.
    pub fn is_writable(&self) -> bool {
        self.features.read_compatible & !FeatureBits::KNOWN.read_compatible == 0
    }

    /// The stored form.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        put(&mut bytes, VERSION, FORMAT_VERSION.to_le_bytes());
        put(&mut bytes, PAGE_SIZE, (self.page_size.bytes() as u32).to_le_bytes());
        put(&mut bytes, UUID, self.uuid);
        put(&mut bytes, COMPATIBLE, self.features.compatible.to_le_bytes());
        put(&mut bytes, READ_COMPATIBLE, self.features.read_compatible.to_le_bytes());
        put(&mut bytes, INCOMPATIBLE, self.features.incompatible.to_le_bytes());
        put(&mut bytes, NUMBER, self.number.to_le_bytes());
        put(&mut bytes, BIRTH, self.birth.0.to_le_bytes());
        put(&mut bytes, SEQUENCE, self.sequence.0.to_le_bytes());
        put(&mut bytes, LOG_FIRST_SEGMENT, self.log_first_segment.0.to_le_bytes());
        put(&mut bytes, PAGE_COUNT, self.page_count.to_le_bytes());
        put(&mut bytes, NEXT_TABLE_ID, self.next_table_id.0.to_le_bytes());
        put(&mut bytes, FLAGS, if self.log_exists { FLAG_LOG_EXISTS } else { 0 }.to_le_bytes());
        put(&mut bytes, SIZE_BYTES_MAX, self.size_bytes_max.to_le_bytes());
        if let Some(root) = &self.catalog {
            put(&mut bytes, CATALOG_EXTENT, root.page.extent.0.to_le_bytes());
            put(&mut bytes, CATALOG_SLOT, root.page.slot.to_le_bytes());
            bytes[CATALOG_LEVEL] = root.level;
            bytes[CATALOG_PRESENT] = 1;
            put(&mut bytes, CATALOG_ENTRIES, root.entries.to_le_bytes());
        }
        put(&mut bytes, TABLE_FIRST_PAGE, self.extent_table.first_page.0.to_le_bytes());
        put(&mut bytes, TABLE_PAGE_COUNT, self.extent_table.page_count.to_le_bytes());
        put(&mut bytes, TABLE_ENTRY_COUNT, self.extent_table.entry_count.to_le_bytes());
        put(&mut bytes, TABLE_BIRTH, self.extent_table.birth.0.to_le_bytes());
        put(&mut bytes, TABLE_CHECKSUM, self.extent_table.checksum.to_le_bytes());
        put(&mut bytes, CREATED, self.created_unix_ms.to_le_bytes());
        let sum = checksum(&bytes[..CHECKSUM], 0);
        put(&mut bytes, CHECKSUM, sum.to_le_bytes());
        bytes
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// See [`MetaError`].
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, MetaError> {
        if !bytes.starts_with(MAGIC) {
            return Err(MetaError::NotAMeta);
        }
        let damaged = |at, what| MetaError::Damaged(Offence::new(at, what));
        let holds = get_u64(bytes, CHECKSUM) == checksum(&bytes[..CHECKSUM], 0);
        if !holds && !planted(Fault::TornMetaUnchecked) {
            return Err(damaged(CHECKSUM, "checksum does not match"));
        }
        let version = get_u32(bytes, VERSION);
        if version != FORMAT_VERSION {
            return Err(MetaError::Unsupported(format!("format version {version}, this one knows {FORMAT_VERSION}")));
        }
        let features = FeatureBits {
            compatible: get_u64(bytes, COMPATIBLE),
            read_compatible: get_u64(bytes, READ_COMPATIBLE),
            incompatible: get_u64(bytes, INCOMPATIBLE),
        };
        let unknown = features.incompatible & !FeatureBits::KNOWN.incompatible;
        if unknown != 0 {
            return Err(MetaError::Unsupported(format!("unknown incompatible features {unknown:#x}")));
        }
        let page_size = PageSize::from_bytes(get_u32(bytes, PAGE_SIZE) as usize);
        let page_size = page_size.ok_or(damaged(PAGE_SIZE, "impossible page size"))?;
        Self::decode_body(bytes, page_size, features).map_err(MetaError::Damaged)
    }

    fn decode_body(bytes: &[u8; Self::BYTES], page_size: PageSize, features: FeatureBits) -> Result<Self, Offence> {
        let flags = get_u32(bytes, FLAGS);
        require(flags & !FLAG_LOG_EXISTS == 0, FLAGS, "unknown flags are set")?;
        zeros(bytes, UNUSED, CHECKSUM, "reserved bytes are not zero")?;
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[UUID..UUID + 16]);
        for (at, least) in [(NUMBER, 1), (BIRTH, 1), (SEQUENCE, 0), (LOG_FIRST_SEGMENT, 1)] {
            require((least..COUNTER_END).contains(&get_u64(bytes, at)), at, "a counter is out of range")?;
        }
        let page_count = get_u64(bytes, PAGE_COUNT);
        let bytes_max = u64::MAX >> 2;
        require(page_count <= bytes_max / page_size.bytes() as u64, PAGE_COUNT, "impossible page count")?;
        Ok(Self {
            page_size,
            uuid,
            features,
            number: get_u64(bytes, NUMBER),
            birth: Birth(get_u64(bytes, BIRTH)),
            sequence: Sequence(get_u64(bytes, SEQUENCE)),
            log_first_segment: SegmentNumber(get_u64(bytes, LOG_FIRST_SEGMENT)),
            log_exists: flags & FLAG_LOG_EXISTS != 0,
            page_count,
            next_table_id: TableId(get_u32(bytes, NEXT_TABLE_ID)),
            size_bytes_max: get_u64(bytes, SIZE_BYTES_MAX),
            catalog: decode_catalog(bytes)?,
            extent_table: decode_extent_table(bytes, page_size, page_count)?,
            created_unix_ms: get_u64(bytes, CREATED),
        })
    }
}

fn decode_catalog(bytes: &[u8; Meta::BYTES]) -> Result<Option<CatalogRoot>, Offence> {
    zeros(bytes, CATALOG_RESERVED, CATALOG_ENTRIES, "reserved bytes are not zero")?;
    match bytes[CATALOG_PRESENT] {
        0 => {
            zeros(bytes, CATALOG_EXTENT, TABLE_FIRST_PAGE, "absent catalog root is not zero")?;
            Ok(None)
        }
        1 => {
            let page = PageRef { extent: ExtentId(get_u32(bytes, CATALOG_EXTENT)), slot: get_u32(bytes, CATALOG_SLOT) };
            require(page.slot < PageRef::SLOTS_MAX, CATALOG_SLOT, "slot of the catalog root is out of range")?;
            let level = bytes[CATALOG_LEVEL];
            require(level <= LEVEL_MAX, CATALOG_LEVEL, "level of the catalog root is out of range")?;
            Ok(Some(CatalogRoot { page, level, entries: get_u64(bytes, CATALOG_ENTRIES) }))
        }
        _ => Err(Offence::new(CATALOG_PRESENT, "catalog root is neither present nor absent")),
    }
}

fn decode_extent_table(
    bytes: &[u8; Meta::BYTES],
    page_size: PageSize,
    page_count: u64,
) -> Result<ExtentTableRef, Offence> {
    let table = ExtentTableRef {
        first_page: PageNumber(get_u64(bytes, TABLE_FIRST_PAGE)),
        page_count: get_u32(bytes, TABLE_PAGE_COUNT),
        entry_count: get_u32(bytes, TABLE_ENTRY_COUNT),
        birth: Birth(get_u64(bytes, TABLE_BIRTH)),
        checksum: get_u64(bytes, TABLE_CHECKSUM),
    };
    let capacity = crate::format::ExtentTablePage::capacity(page_size) as u32;
    let pages = table.entry_count.div_ceil(capacity);
    require(table.page_count == pages, TABLE_PAGE_COUNT, "extent table has an impossible length")?;
    if table.page_count == 0 {
        return Ok(table);
    }
    require(table.first_page.0 >= 1, TABLE_FIRST_PAGE, "extent table overlaps the metas")?;
    let end = table.first_page.0.checked_add(table.page_count as u64);
    require(end.is_some_and(|end| end <= page_count), TABLE_FIRST_PAGE, "extent table ends past the file")?;
    Ok(table)
}
