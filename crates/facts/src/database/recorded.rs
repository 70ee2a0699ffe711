//! Whether what a database records beside its facts is right: counts, units, owners, and what is hidden.

use std::collections::BTreeMap;

use crate::database::handle::FactDatabase;
use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::tables::Side;
use crate::ownership::meanings::Meanings;
use crate::ownership::sets::UnitId;
use crate::reading::counts::Statistics;
use crate::reading::owning::{claims, hidden_facts, hidden_names, read_unit};
use crate::reading::snapshot::Snapshot;
use crate::store::owners::compute_owners;

impl FactDatabase {
    /// Compares what the database records with its facts. `counted` has the number of facts of each predicate.
    pub(super) fn validate_records(
        &self,
        snapshot: &Snapshot,
        counted: &BTreeMap<PredicateId, Statistics>,
    ) -> Result<()> {
        self.compare_counts(snapshot, "of", &snapshot.own_statistics()?, counted)?;
        let stated = Statistics::all(&snapshot.own().view, Side::Hidden)?;
        self.compare_counts(snapshot, "hidden of", &stated, &self.count_hidden(snapshot)?)?;
        self.validate_units(snapshot)?;
        self.validate_owners(snapshot)
    }

    /// Compares what the statistics state with what was counted, by predicate.
    fn compare_counts(
        &self,
        snapshot: &Snapshot,
        of: &str,
        stated: &BTreeMap<PredicateId, Statistics>,
        counted: &BTreeMap<PredicateId, Statistics>,
    ) -> Result<()> {
        for predicate in counted.keys().chain(stated.keys()) {
            let count = |all: &BTreeMap<PredicateId, Statistics>| all.get(predicate).copied().unwrap_or_default();
            let (stated, counted) = (count(stated), count(counted));
            if stated != counted {
                let what = format!(
                    "the statistics say that there are {} facts {of} {}, of {} bytes, and there are {}, of {} bytes",
                    stated.count,
                    self.schema().name_of(*predicate),
                    stated.bytes,
                    counted.count,
                    counted.bytes
                );
                return Err(Error::Invalid { fact: snapshot.own_starting_id(), what });
            }
        }
        Ok(())
    }

    /// Units have numbers of their own, and those that own facts have names.
    fn validate_units(&self, snapshot: &Snapshot) -> Result<()> {
        let own = snapshot.own();
        let (names, end) = (snapshot.unit_names()?, snapshot.first_free_unit()?);
        let mut count = 0;
        for layer in &snapshot.layers {
            layer.view.each(Side::Units, b"", &mut |_, number| {
                count += 1;
                read_unit(number).map(drop)
            })?;
        }
        let is_numbered = |unit: &UnitId| unit.0 < end;
        if count != names.len() || !names.keys().all(is_numbered) {
            return Err(invalid(snapshot.own_starting_id(), "units have the same number, or one that is not used yet"));
        }
        match claims(own)?.into_iter().find(|(unit, ..)| !names.contains_key(unit)) {
            Some((_, first, _)) => Err(invalid(first, "a unit without a name owns it")),
            None => Ok(()),
        }
    }

    /// The owners that are recorded are those that are computed now.
    fn validate_owners(&self, snapshot: &Snapshot) -> Result<()> {
        if !snapshot.own().complete {
            return Ok(());
        }
        let schema = self.schema();
        let computed = compute_owners(snapshot, &snapshot.layers, |fact, references| {
            schema.references(fact.predicate(), fact.key(), fact.value(), references)
        });
        let computed = computed.map_err(|error| match error {
            Error::NoSuchFact { id } => invalid(id, "a unit or a derivation names it, and there is no such fact"),
            Error::RefersForward { fact, .. } => invalid(fact, "it refers to a fact that is not before it"),
            error => error,
        })?;
        // The database's own come first.
        let Some(recorded) = snapshot.owners()?.into_iter().next() else { return Ok(()) };
        match Meanings::new(&computed.sets).difference(&recorded.owners, &computed.owners) {
            Some(fact) => Err(invalid(fact, "its owners are not those of the facts that refer to it")),
            None => Ok(()),
        }
    }

    /// What each predicate has of facts below that the database hides.
    fn count_hidden(&self, snapshot: &Snapshot) -> Result<BTreeMap<PredicateId, Statistics>> {
        let names = hidden_names(&snapshot.own().view)?;
        match self.store.base() {
            Some(base) if !names.is_empty() => {
                let below = base.snapshot()?;
                hidden_facts(&below, &below.slice_without(&names)?)
            }
            _ => Ok(BTreeMap::new()),
        }
    }
}

fn invalid(fact: FactId, what: &str) -> Error {
    Error::Invalid { fact, what: what.to_owned() }
}
