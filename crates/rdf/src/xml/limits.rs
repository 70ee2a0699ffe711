//! How much memory a short text may ask for. Each limit is far above what documents need.

/// Elements that are open at once. Deeper than anything written by hand or made from triples, and far from the end of a
/// stack.
pub const DEPTH_MAX: usize = 512;

/// Bytes of a tag, a comment, an instruction or a declaration, and of what names and namespaces of one tag come to
/// together.
pub const HELD_BYTES_MAX: usize = 32 << 20;

/// Bytes of the value of an entity. Entities are prefixes of names, seldom longer than a line.
pub const ENTITY_BYTES_MAX: usize = 1 << 20;

/// Bytes of all that an internal subset declares, as it is kept.
pub const DECLARED_BYTES_MAX: usize = 16 << 20;

/// Bytes that any document may have for its references and default attributes,
pub const EXPANDED_BYTES_MIN: u64 = 16 << 20;

/// and this many more for each byte of its own: a reference of a few bytes may expand to a name of a hundred.
pub const EXPANDED_BYTES_PER_BYTE: u64 = 8;
