//! A branch or leaf page. [`Page::new`] checks it whole, so that its accessors cannot fail.
//!
//! A page has a header of 16 bytes: its number (8 bytes), two unused bytes, its flags (at 10), the end of the offsets
//! (at 12) and the begin of the nodes (at 14). Offsets of nodes of two bytes each follow, in the order of the keys.
//!
//! | bytes | of a node |
//! |---|---|
//! | 0–3 | the length of the value; in a branch the low bits of the child's number |
//! | 4–5 | flags of the value; in a branch the next 16 bits of the number |
//! | 6–7 | the length of the key |
//! | 8– | the key, then the value |

use super::bytes::{u16_at, u32_at, u64_at};
use super::meta::{TREE_BYTES, Tree};

/// A branch or leaf page.
#[derive(Debug)]
pub struct Page {
    number: u64,
    bytes: Box<[u8]>,
    is_leaf: bool,
}

/// The value of an entry.
#[derive(Debug, PartialEq, Eq)]
pub enum Value<'p> {
    /// Its bytes.
    Inline(&'p [u8]),
    /// On pages of its own.
    Overflow {
        /// The first page.
        page: u64,
        /// The length of the value.
        length_bytes: usize,
    },
    /// The tree that the key names.
    Tree(Tree),
}

impl Page {
    /// Checks a page.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(number: u64, bytes: Box<[u8]>) -> Result<Self, &'static str> {
        assert!(bytes.len() >= HEADER_BYTES, "pages have at least {HEADER_BYTES} bytes");
        if u64_at(&bytes, 0) != number {
            return Err("it has the number of another page");
        }
        let is_leaf = match u16_at(&bytes, 10) & KIND_FLAGS {
            LEAF => true,
            BRANCH => false,
            _ => return Err("it is neither a branch nor a leaf"),
        };
        let page = Self { number, bytes, is_leaf };
        page.check()?;
        Ok(page)
    }

    fn check(&self) -> Result<(), &'static str> {
        let (lower, upper) = (usize::from(u16_at(&self.bytes, 12)), usize::from(u16_at(&self.bytes, 14)));
        if lower < HEADER_BYTES || lower % 2 != 0 || lower > upper || upper > self.bytes.len() {
            return Err("its bounds are wrong");
        }
        if self.count() == 0 {
            return Err("it has no entries");
        }
        for index in 0..self.count() {
            let node = self.node_offset(index);
            let key = node + NODE_BYTES;
            if node < lower || key > self.bytes.len() {
                return Err("an entry is outside of it");
            }
            let value = key + usize::from(u16_at(&self.bytes, node + 6));
            let stored = match (self.is_leaf, self.node_flags(node)) {
                (false, _) => 0,
                (true, 0) => self.value_length(node),
                (true, OVERFLOW) => size_of::<u64>(),
                (true, NAMED_TREE) if self.value_length(node) == TREE_BYTES => TREE_BYTES,
                (true, _) => return Err("an entry has unknown flags"),
            };
            if value > self.bytes.len() || stored > self.bytes.len() - value {
                return Err("an entry is outside of it");
            }
        }
        Ok(())
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether it has values, not children.
    pub fn is_leaf(&self) -> bool {
        self.is_leaf
    }

    /// The number of its entries.
    pub fn count(&self) -> usize {
        (usize::from(u16_at(&self.bytes, 12)) - HEADER_BYTES) / 2
    }

    /// The key of an entry. The first one of a branch has no meaning.
    pub fn key(&self, index: usize) -> &[u8] {
        let node = self.node_offset(index);
        let key = node + NODE_BYTES;
        &self.bytes[key..key + usize::from(u16_at(&self.bytes, node + 6))]
    }

    /// The page of a child. Requires: it is a branch.
    pub fn child(&self, index: usize) -> u64 {
        debug_assert!(!self.is_leaf);
        let node = self.node_offset(index);
        u64::from(u32_at(&self.bytes, node)) | u64::from(u16_at(&self.bytes, node + 4)) << 32
    }

    /// The value of an entry. Requires: it is a leaf.
    pub fn value(&self, index: usize) -> Value<'_> {
        debug_assert!(self.is_leaf);
        let node = self.node_offset(index);
        let begin = node + NODE_BYTES + usize::from(u16_at(&self.bytes, node + 6));
        let length_bytes = self.value_length(node);
        match self.node_flags(node) {
            OVERFLOW => Value::Overflow { page: u64_at(&self.bytes, begin), length_bytes },
            NAMED_TREE => Value::Tree(Tree::parse(&self.bytes[begin..begin + TREE_BYTES])),
            _ => Value::Inline(&self.bytes[begin..begin + length_bytes]),
        }
    }

    /// The entry of a key: its index, or where it would be.
    pub fn search(&self, key: &[u8]) -> Result<usize, usize> {
        // The first key of a branch is below all others.
        let (mut low, mut high) = (usize::from(!self.is_leaf), self.count());
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    fn node_offset(&self, index: usize) -> usize {
        usize::from(u16_at(&self.bytes, HEADER_BYTES + 2 * index))
    }

    fn node_flags(&self, node: usize) -> u16 {
        u16_at(&self.bytes, node + 4)
    }

    fn value_length(&self, node: usize) -> usize {
        u32_at(&self.bytes, node) as usize
    }
}

/// Bytes of the header of every page.
pub const HEADER_BYTES: usize = 16;
/// Set in the flags of the first page of a long value.
pub const OVERFLOW_PAGE: u16 = 0x04;
const NODE_BYTES: usize = 8;
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
/// Branch, leaf, overflow, meta, and two of trees with several values for a key.
const KIND_FLAGS: u16 = 0x6F;
const OVERFLOW: u16 = 0x01;
const NAMED_TREE: u16 = 0x02;

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf of 256 bytes with the entries `a` → `1` and `b` → an overflow page.
    fn leaf() -> Box<[u8]> {
        let mut bytes = vec![0; 256];
        bytes[0] = 7;
        bytes[10] = LEAF as u8;
        bytes[12] = 20;
        bytes[14] = 220;
        bytes[16] = 240;
        bytes[18] = 220;
        bytes[240..250].copy_from_slice(&[1, 0, 0, 0, 0, 0, 1, 0, b'a', b'1']);
        bytes[220..237].copy_from_slice(&[0, 1, 0, 0, 1, 0, 1, 0, b'b', 9, 0, 0, 0, 0, 0, 0, 0]);
        bytes.into()
    }

    #[test]
    fn entries_of_a_leaf_are_found_by_their_keys() {
        let page = Page::new(7, leaf()).expect("it is sound");
        assert_eq!((page.count(), page.search(b"a"), page.search(b"b")), (2, Ok(0), Ok(1)));
        assert_eq!((page.search(b""), page.search(b"aa"), page.search(b"c")), (Err(0), Err(1), Err(2)));
        assert_eq!(page.value(0), Value::Inline(b"1"));
        assert_eq!(page.value(1), Value::Overflow { page: 9, length_bytes: 256 });
    }

    #[test]
    fn a_page_with_any_byte_changed_is_read_or_refused() {
        for offset in 0..256 {
            for changed in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = leaf();
                bytes[offset] = changed;
                let Ok(page) = Page::new(7, bytes) else { continue };
                for index in 0..page.count() {
                    let _ = page.search(page.key(index));
                    if page.is_leaf() {
                        let _ = page.value(index);
                    } else {
                        let _ = page.child(index);
                    }
                }
            }
        }
    }
}
