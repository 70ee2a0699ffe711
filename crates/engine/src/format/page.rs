//! What all pages share: sizes, kinds, the trailer, and the functions through which every page passes once.

use std::fmt;

use crate::format::bytes::{get_u64, put};
use crate::format::hash::{Identity, checksum};
use crate::format::{branch_verify, extent, leaf_verify, packed_verify};
use crate::ids::{Birth, PageRef};

/// Bytes at the end of every page that are not its body: reserved (for encryption), birth, checksum.
pub const TRAILER_BYTES: usize = 48;
/// Distance of the birth from the end of the page.
const BIRTH_FROM_END: usize = 16;
/// Distance of the checksum from the end of the page.
const CHECKSUM_FROM_END: usize = 8;

const _: () = assert!(TRAILER_BYTES - BIRTH_FROM_END >= 28, "encryption needs 28 bytes");

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

/// Why a page is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offence {
    /// Byte within the page.
    pub at: u32,
    /// What is wrong there.
    pub what: &'static str,
}

impl Offence {
    /// An offence at a byte of a page.
    pub(super) fn new(at: usize, what: &'static str) -> Self {
        Self { at: at as u32, what }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (byte {} of the page)", self.what, self.at)
    }
}

/// Completes a page: writes trailer and checksum. The body must be final.
///
/// # Panics
/// If `bytes` is not a page long.
pub fn seal_page(bytes: &mut [u8], identity: &Identity, at: PageRef, birth: Birth) {
    assert!(PageSize::from_bytes(bytes.len()).is_some(), "a page has 8 or 16 KiB");
    let end = bytes.len();
    bytes[end - TRAILER_BYTES..end - BIRTH_FROM_END].fill(0);
    put(bytes, end - BIRTH_FROM_END, birth.0.to_le_bytes());
    let sum = checksum(&bytes[..end - CHECKSUM_FROM_END], identity.page_seed(at));
    put(bytes, end - CHECKSUM_FROM_END, sum.to_le_bytes());
}

/// Proves that a page may be read without further checks: trailer, checksum, birth, then every byte of its kind.
///
/// # Errors
/// The first offence found. No bytes whatever make it panic.
pub fn verify_page(bytes: &[u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<PageKind, Offence> {
    verify_seal(bytes, identity, at, birth)?;
    verify_body(bytes, Some(identity))
}

/// As [`verify_page`], for a page that this process has built itself, but without hashing its keys anew: checksum, place and
/// birth tell that it has the tags that it was given here. Builds with debug assertions look at them all the same.
///
/// # Errors
/// As [`verify_page`].
pub fn verify_own_page(bytes: &[u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<PageKind, Offence> {
    verify_seal(bytes, identity, at, birth)?;
    verify_body(bytes, cfg!(debug_assertions).then_some(identity))
}

/// Checks what is before the trailer, tags only if there is an identity to compare them with.
pub(super) fn verify_body(bytes: &[u8], tags_of: Option<&Identity>) -> Result<PageKind, Offence> {
    match bytes[0] {
        1 => leaf_verify::verify(bytes, tags_of).map(|()| PageKind::Leaf),
        2 => branch_verify::verify(bytes).map(|()| PageKind::Branch),
        3 => packed_verify::verify(bytes).map(|()| PageKind::Packed),
        6 => extent::verify(bytes).map(|()| PageKind::ExtentTable),
        4 | 5 | 7 => Err(Offence::new(0, "a kind of page that is reserved for later versions")),
        _ => Err(Offence::new(0, "unknown kind of page")),
    }
}

/// Checks what all pages share.
fn verify_seal(bytes: &[u8], identity: &Identity, at: PageRef, birth: Birth) -> Result<(), Offence> {
    if PageSize::from_bytes(bytes.len()).is_none() {
        return Err(Offence::new(0, "not the length of a page"));
    }
    let end = bytes.len();
    let sum = checksum(&bytes[..end - CHECKSUM_FROM_END], identity.page_seed(at));
    if get_u64(bytes, end - CHECKSUM_FROM_END) != sum {
        return Err(Offence::new(end - CHECKSUM_FROM_END, "checksum does not match"));
    }
    if get_u64(bytes, end - BIRTH_FROM_END) != birth.0 {
        return Err(Offence::new(end - BIRTH_FROM_END, "page is older or younger than its extent"));
    }
    zeros(bytes, end - TRAILER_BYTES, end - BIRTH_FROM_END, "reserved bytes of the trailer are not zero")
}

/// Refuses bytes that are not zero. Requires: `from <= to <= bytes.len()`.
pub(super) fn zeros(bytes: &[u8], from: usize, to: usize, what: &'static str) -> Result<(), Offence> {
    // Most of a page may be free space: look at 16 bytes at a time.
    let (words, rest) = bytes[from..to].as_chunks::<16>();
    if words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|&byte| byte == 0) {
        return Ok(());
    }
    let at = bytes[from..to].iter().take_while(|&&byte| byte == 0).count();
    Err(Offence::new(from + at, what))
}

/// Refuses where a condition does not hold.
pub(super) fn require(holds: bool, at: usize, what: &'static str) -> Result<(), Offence> {
    if holds { Ok(()) } else { Err(Offence::new(at, what)) }
}
