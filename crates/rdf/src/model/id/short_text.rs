//! Short texts within a number, and the size of a payload.

/// At most seven bytes of UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortText {
    pub(super) bytes: [u8; 7],
    pub(super) length: u8,
}

impl ShortText {
    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length as usize]).expect("checked when it was made")
    }
}

/// Bits of a number below its tag.
pub(crate) const PAYLOAD_BITS: u32 = 56;
/// The greatest payload.
pub(crate) const PAYLOAD_MAX: u64 = (1 << PAYLOAD_BITS) - 1;
