//! Counts of facts and bytes of a stack, by predicate.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::ids::PredicateId;
use crate::layout::tables::Side;
use crate::reading::counts::Statistics;
use crate::reading::layer::Layer;
use crate::reading::snapshot::Snapshot;

impl Layer {
    /// The facts of each predicate of this database itself, without those of databases below, by predicate.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn own_statistics(&self) -> Result<BTreeMap<PredicateId, Statistics>> {
        let mut all = Statistics::all(&self.view, Side::Statistics)?;
        all.retain(|_, own| own.count > 0);
        Ok(all)
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
            let (own, hidden) = layer.statistics_of(predicate)?;
            sum = sum.minus(hidden).plus(own);
        }
        Ok(sum)
    }

    /// The facts of each predicate of the database itself, without those of databases below, by predicate.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub(crate) fn own_statistics(&self) -> Result<BTreeMap<PredicateId, Statistics>> {
        self.own().own_statistics()
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
            for (predicate, hidden) in Statistics::all(&layer.view, Side::Hidden)? {
                let sum = sums.entry(predicate).or_default();
                *sum = sum.minus(hidden);
            }
            for (predicate, own) in Statistics::all(&layer.view, Side::Statistics)? {
                let sum = sums.entry(predicate).or_default();
                *sum = sum.plus(own);
            }
        }
        sums.retain(|_, sum| sum.count > 0);
        Ok(sums)
    }

    /// The facts of each predicate that the snapshot shows, by predicate: as [`Snapshot::statistics`], but without
    /// those that a [slice](Snapshot::sliced) hides. It reads each fact.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn statistics_shown(&self) -> Result<BTreeMap<PredicateId, Statistics>> {
        let mut all: BTreeMap<PredicateId, Statistics> = BTreeMap::new();
        for fact in self.enumerate(self.starting_id(), self.first_free_id()) {
            let fact = fact?;
            all.entry(fact.predicate()).or_default().add(fact.key(), fact.value());
        }
        Ok(all)
    }
}
