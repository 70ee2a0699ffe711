//! What all pages share: their sizes, their kinds, the trailer, and the length up to which keys are stored in them.

/// Keys up to this length are stored whole in their cell; of a longer one the cell holds this much.
pub const INLINE_KEY_BYTES_MAX: usize = 1024;

/// Bytes at the end of every page that are not its body: reserved (for encryption), birth, checksum.
pub const TRAILER_BYTES: usize = 48;

/// Size of a database's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PageSize {
    /// 8 KiB.
    KiB8,
    /// 16 KiB: the default, and the largest that 14-bit offsets reach.
    #[default]
    KiB16,
}

impl PageSize {
    /// The size of this many bytes: 8192 or 16384.
    pub fn from_bytes(bytes: usize) -> Option<Self> {
        match bytes {
            8192 => Some(Self::KiB8),
            16384 => Some(Self::KiB16),
            _ => None,
        }
    }

    /// In bytes.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        match self {
            Self::KiB8 => 8192,
            Self::KiB16 => 16384,
        }
    }

    /// Bytes before the trailer.
    pub const fn body_bytes(self) -> usize {
        self.bytes() - TRAILER_BYTES
    }

    /// Largest cell, worst padding included, that is stored without overflow: two such always fit one leaf.
    pub const fn inline_cell_bytes_max(self) -> usize {
        (self.body_bytes() - 128) / 2
    }
}

/// What a page is. On disk: never renumber, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// Entries, in blocks of hash tags.
    Leaf = 1,
    /// Separators and children.
    Branch = 2,
    /// Entries whose keys are stored by their differences.
    Packed = 3,
    // 4 is reserved for dense leaves, 5 for hashed ones.
    /// A part of the extent table.
    ExtentTable = 6,
    // 7 is reserved for deleted ranges.
}
