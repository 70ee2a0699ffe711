//! What a stack of databases says of units: how many facts each of them owns, and the owners of facts.

use std::collections::HashMap;

use crate::error::Result;
use crate::ids::FactId;
use crate::layout::tables::Side;
use crate::ownership::owners::{Naming, Owner, Share, Shares};
use crate::ownership::sets::{SetId, UnitId};
use crate::reading::owning::{Recorded, read_unit};
use crate::reading::snapshot::Snapshot;

/// How many facts a unit owns, of those that are not hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFacts {
    /// The name of the unit.
    pub name: String,
    /// Facts with owners that a slice of this unit alone has.
    pub owned: u64,
    /// Facts that only a slice with this unit has: an incremental database that hides the unit does not show them.
    pub needed: u64,
}

impl Snapshot {
    /// The units of all databases of the stack with the numbers of their facts, by name. Facts of a database that is
    /// not complete have no owners yet, and are not counted.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn unit_facts(&self) -> Result<Vec<UnitFacts>> {
        let (sets, recorded, names) = (self.sets()?, self.owners()?, self.unit_names()?);
        // Of each database of the stack.
        let mut facts: Vec<HashMap<SetId, u64>> = vec![HashMap::new(); recorded.len()];
        for number in self.starting_id().get()..self.first_free_id().get() {
            let Some(id) = FactId::new(number).filter(|id| self.shows(*id)) else { continue };
            if let Some((layer, set)) = recorded_of(&recorded, id) {
                *facts[layer].entry(set).or_default() += 1;
            }
        }
        let units_end = names.keys().map(|unit| unit.0.saturating_add(1)).max().unwrap_or_default();
        let mut units: HashMap<UnitId, UnitFacts> =
            names.into_iter().map(|(unit, name)| (unit, UnitFacts { name, owned: 0, needed: 0 })).collect();
        for (facts, Recorded { hidden, .. }) in facts.iter().zip(&recorded) {
            let shares = Shares::new(&sets, facts, hidden).counted(units_end);
            for (unit, Share { owned, needed }) in shares {
                if let Some(unit) = units.get_mut(&unit) {
                    unit.owned += owned;
                    unit.needed += needed;
                }
            }
        }
        let mut units: Vec<UnitFacts> = units.into_values().collect();
        units.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(units)
    }

    /// The owner of each of these facts. `None` for a fact without owners, which is in every slice, and for one that is
    /// hidden or does not exist.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn owners_of(&self, facts: &[FactId]) -> Result<Vec<Option<Owner>>> {
        let (sets, recorded, names) = (self.sets()?, self.owners()?, self.unit_names()?);
        let mut naming: Vec<Naming<'_>> =
            recorded.iter().map(|Recorded { hidden, .. }| Naming::new(&sets, &names, hidden)).collect();
        let owners = facts.iter().map(|id| {
            let is_shown = *id < self.first_free_id() && self.shows(*id);
            let (layer, set) = is_shown.then(|| recorded_of(&recorded, *id)).flatten()?;
            naming[layer].owner(set)
        });
        Ok(owners.collect())
    }

    /// The names of the units of all databases of the stack, by their numbers.
    pub(crate) fn unit_names(&self) -> Result<HashMap<UnitId, String>> {
        let mut names = HashMap::new();
        for layer in &self.layers {
            layer.view.each(Side::Units, b"", &mut |name, number| {
                names.insert(read_unit(number)?, String::from_utf8_lossy(name).into_owned());
                Ok(())
            })?;
        }
        Ok(names)
    }
}

/// The owners of a fact, and the number of the database that records them, the one on top first.
fn recorded_of(recorded: &[Recorded], id: FactId) -> Option<(usize, SetId)> {
    recorded.iter().enumerate().find_map(|(layer, recorded)| Some((layer, recorded.owners.of(id)?)))
}
