//! What a store records about itself: entries of the table `facts.meta`, by name.

use crate::error::{Error, Result};

/// What makes a database one of facts, written when it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(pub u128);

/// A number of 64 bits in an entry.
pub fn read_number(bytes: &[u8]) -> Result<u64> {
    let bytes = <[u8; 8]>::try_from(bytes);
    bytes.map(u64::from_le_bytes).map_err(|_| Error::Damaged { what: "a number of the database has not 8 bytes" })
}

/// A number of 128 bits in an entry.
pub fn read_identity(bytes: &[u8]) -> Result<Identity> {
    let bytes = <[u8; 16]>::try_from(bytes);
    let bytes = bytes.map_err(|_| Error::Damaged { what: "an identity of the database has not 16 bytes" })?;
    Ok(Identity(u128::from_le_bytes(bytes)))
}

/// The name and version of the layout.
pub const FORMAT: &str = "format";
/// What the name and version begin with.
pub const FORMAT_PREFIX: &[u8] = b"fulgurite facts ";
/// The first layout. Databases have it until they have sets of owners.
pub const FORMAT_1: &[u8] = b"fulgurite facts 1";
/// The layout whose sets of owners can have the kinds 2 and 3.
pub const FORMAT_2: &[u8] = b"fulgurite facts 2";
/// The database's own [`Identity`].
pub const IDENTITY: &str = "identity";
/// The identity of the database that it is stacked on.
pub const BASE: &str = "base";
/// The [`State`](crate::State).
pub const STATE: &str = "state";
/// Why it is broken, in words of the program.
pub const BROKEN_REASON: &str = "broken";
/// The id of its first fact.
pub const STARTING_ID: &str = "starting id";
/// The id that its next fact gets. Every commit of facts changes it, so two that overlap conflict.
pub const FIRST_FREE_ID: &str = "first free id";
/// The number that its next unit gets.
pub const FIRST_FREE_UNIT: &str = "first free unit";
/// For each derived predicate, its number and how many facts there were that it is derived from, or all bits if the
/// derivation has not ended: each with 64 bits, little-endian.
pub const DERIVED: &str = "derived";
/// What names of the program's own properties begin with.
pub const PROPERTY: &str = "property ";
/// What names of units of the base begin with whose facts are hidden.
pub const HIDDEN: &str = "hidden ";
