//! Meta pages: the first two pages, which commits write in turn. The one of the later commit has the roots.
//!
//! | bytes | of a meta page |
//! |---|---|
//! | 0–15 | the header of a page; its flags at 10 are 8 |
//! | 16–19 | `0xBEEFC0DE` |
//! | 20–23 | the version of the format, 1 |
//! | 24–39 | address and size of the map |
//! | 40–87 | the tree of free pages, whose first four bytes are the size of a page |
//! | 88–135 | the main tree |
//! | 136–143 | the last page in use |
//! | 144–151 | the number of the commit |

use super::bytes::{u16_at, u32_at, u64_at};

/// Bytes of a meta page that are in use.
pub const META_BYTES: usize = 152;

/// What a meta page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The size of a page.
    pub page_bytes: usize,
    /// The main tree.
    pub main: Tree,
    /// The last page in use.
    pub last_page: u64,
    /// The number of the commit that wrote it.
    pub commit: u64,
}

/// A tree of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// How its keys and values are kept; 0 if as in all trees that this crate reads.
    pub flags: u16,
    /// Pages from the root to an entry.
    pub depth: u16,
    /// The number of entries.
    pub entries: u64,
    /// The page of the root, if there are entries.
    pub root: Option<u64>,
}

/// Why there is no meta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMeta {
    /// It is not a page of LMDB, or damaged.
    Foreign(&'static str),
    /// It has another version, or the layout of another machine.
    Other(&'static str),
}

impl Meta {
    /// Reads a meta page. Requires: there are [`META_BYTES`].
    pub fn parse(bytes: &[u8]) -> Result<Self, NoMeta> {
        match u32_at(bytes, 16) {
            MAGIC => {}
            magic if magic == MAGIC.swap_bytes() => return Err(NoMeta::Other("its numbers are big-endian")),
            _ => return Err(NoMeta::Foreign("it is not a file of LMDB")),
        }
        if u32_at(bytes, 20) != VERSION {
            return Err(NoMeta::Other("it has another version of LMDB's format"));
        }
        if u16_at(bytes, 10) & META_FLAG == 0 {
            return Err(NoMeta::Foreign("a meta page is not marked as one"));
        }
        let page_bytes = u32_at(bytes, 40);
        if !page_bytes.is_power_of_two() || !(PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes) {
            return Err(NoMeta::Foreign("the size of its pages is out of range"));
        }
        Ok(Self {
            page_bytes: page_bytes as usize,
            main: Tree::parse(&bytes[88..136]),
            last_page: u64_at(bytes, 136),
            commit: u64_at(bytes, 144),
        })
    }
}

impl Tree {
    /// Reads a tree. Requires: there are [`TREE_BYTES`].
    pub fn parse(bytes: &[u8]) -> Self {
        let root = u64_at(bytes, 40);
        Self {
            flags: u16_at(bytes, 4),
            depth: u16_at(bytes, 6),
            entries: u64_at(bytes, 32),
            root: (root != NO_PAGE).then_some(root),
        }
    }
}

/// Bytes of a tree in a meta page or an entry.
pub const TREE_BYTES: usize = 48;
const MAGIC: u32 = 0xBEEF_C0DE;
const VERSION: u32 = 1;
const META_FLAG: u16 = 0x08;
const NO_PAGE: u64 = u64::MAX;
const PAGE_BYTES_MIN: u32 = 256;
const PAGE_BYTES_MAX: u32 = 1 << 16;
