//! Counts of facts and bytes by predicate.

use std::collections::BTreeMap;

use fulgurite::{Read, Table};

use crate::error::{Error, Result};
use crate::ids::PredicateId;
use crate::reading::snapshot::Snapshot;

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

    fn minus(self, other: Self) -> Self {
        Self { count: self.count.saturating_sub(other.count), bytes: self.bytes.saturating_sub(other.bytes) }
    }

    /// The entry of a predicate.
    pub(crate) fn encode(self) -> [u8; 16] {
        (u128::from(self.count) | u128::from(self.bytes) << 64).to_le_bytes()
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let bytes = <[u8; 16]>::try_from(bytes);
        let number = bytes.map(u128::from_le_bytes);
        let number = number.map_err(|_| Error::Damaged { what: "an entry of statistics has not 16 bytes" })?;
        Ok(Self { count: number as u64, bytes: (number >> 64) as u64 })
    }

    /// The entry of `predicate` in a table.
    pub(crate) fn get(txn: &impl Read, table: &Table, predicate: PredicateId) -> Result<Self> {
        let entry = txn.get(table, predicate.get().to_be_bytes())?;
        entry.map_or(Ok(Self::default()), |bytes| Self::read(&bytes))
    }

    /// All entries of a table.
    pub(crate) fn all(txn: &impl Read, table: &Table) -> Result<Vec<(PredicateId, Self)>> {
        let entries = txn.range(table, ..)?.map(|entry| {
            let (key, value) = entry?;
            let predicate = key.first_chunk().and_then(|bytes| PredicateId::new(u64::from_be_bytes(*bytes)));
            let predicate =
                predicate.ok_or_else(|| Error::Damaged { what: "an entry of statistics has no predicate" })?;
            Ok((predicate, Self::read(&value)?))
        });
        entries.collect()
    }
}

impl Snapshot {
    /// The facts of a predicate: those of all databases of the stack, without those that an incremental database hides.
    ///
    /// A [slice](Snapshot::sliced) does not change the result.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn statistics_of(&self, predicate: PredicateId) -> Result<Statistics> {
        let mut sum = Statistics::default();
        for layer in &self.layers {
            let hidden = Statistics::get(&layer.txn, &layer.tables.hidden, predicate)?;
            sum = sum.minus(hidden).plus(Statistics::get(&layer.txn, &layer.tables.statistics, predicate)?);
        }
        Ok(sum)
    }

    /// The facts of each predicate of the database itself, without those of databases below, by predicate.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub(crate) fn own_statistics(&self) -> Result<BTreeMap<PredicateId, Statistics>> {
        let own = self.own();
        let mut all: BTreeMap<_, _> = Statistics::all(&own.txn, &own.tables.statistics)?.into_iter().collect();
        all.retain(|_, own| own.count > 0);
        Ok(all)
    }

    /// How many facts a predicate has; see [`Snapshot::statistics_of`].
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn count(&self, predicate: PredicateId) -> Result<u64> {
        self.statistics_of(predicate).map(|statistics| statistics.count)
    }

    /// The facts of each predicate that has any, by predicate; see [`Snapshot::statistics_of`].
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn statistics(&self) -> Result<BTreeMap<PredicateId, Statistics>> {
        let mut sums: BTreeMap<PredicateId, Statistics> = BTreeMap::new();
        for layer in &self.layers {
            for (predicate, hidden) in Statistics::all(&layer.txn, &layer.tables.hidden)? {
                let sum = sums.entry(predicate).or_default();
                *sum = sum.minus(hidden);
            }
            for (predicate, own) in Statistics::all(&layer.txn, &layer.tables.statistics)? {
                let sum = sums.entry(predicate).or_default();
                *sum = sum.plus(own);
            }
        }
        sums.retain(|_, sum| sum.count > 0);
        Ok(sums)
    }
}
