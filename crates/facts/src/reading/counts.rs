//! [`Statistics`] and [`Counts`]: counts of facts and bytes by predicate, as one database of a stack has them.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::ids::PredicateId;
use crate::layout::tables::Side;
use crate::reading::view::View;

/// Facts of a predicate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Statistics {
    /// How many there are.
    pub count: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
}

impl Statistics {
    /// Adds a fact.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        self.bytes += (key.len() + value.len()) as u64;
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { count: self.count + other.count, bytes: self.bytes + other.bytes }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self { count: self.count.saturating_sub(other.count), bytes: self.bytes.saturating_sub(other.bytes) }
    }

    /// The entry of a predicate.
    pub(crate) fn encode(self) -> [u8; 16] {
        (u128::from(self.count) | u128::from(self.bytes) << 64).to_le_bytes()
    }

    /// The statistics in an entry.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let bytes = <[u8; 16]>::try_from(bytes);
        let number = bytes.map(u128::from_le_bytes);
        let number = number.map_err(|_| Error::Damaged { what: "an entry of statistics has not 16 bytes" })?;
        Ok(Self { count: number as u64, bytes: (number >> 64) as u64 })
    }

    /// The entry of `predicate` of a side.
    pub(crate) fn get(view: &View, side: Side, predicate: PredicateId) -> Result<Self> {
        let entry = view.get(side, predicate.get().to_be_bytes())?;
        entry.map_or(Ok(Self::default()), |bytes| Self::read(&bytes))
    }

    /// All entries of a side.
    pub(crate) fn all(view: &View, side: Side) -> Result<BTreeMap<PredicateId, Self>> {
        let mut all = BTreeMap::new();
        view.each(side, b"", &mut |key, value| {
            let predicate = key.first_chunk().and_then(|bytes| PredicateId::new(u64::from_be_bytes(*bytes)));
            let predicate =
                predicate.ok_or_else(|| Error::Damaged { what: "an entry of statistics has no predicate" })?;
            all.insert(predicate, Self::read(value)?);
            Ok(())
        })?;
        Ok(all)
    }
}

/// All statistics of a database: queries ask for many of them before they run.
#[derive(Default)]
pub struct Counts {
    own: BTreeMap<PredicateId, Statistics>,
    /// Those of facts below that the database hides.
    hidden: BTreeMap<PredicateId, Statistics>,
}

impl Counts {
    /// Reads them.
    pub fn read(view: &View) -> Result<Self> {
        Ok(Self { own: Statistics::all(view, Side::Statistics)?, hidden: Statistics::all(view, Side::Hidden)? })
    }

    /// Those of a predicate: its own facts, and the hidden ones.
    pub fn of(&self, predicate: PredicateId) -> (Statistics, Statistics) {
        let of = |map: &BTreeMap<_, Statistics>| map.get(&predicate).copied().unwrap_or_default();
        (of(&self.own), of(&self.hidden))
    }
}
