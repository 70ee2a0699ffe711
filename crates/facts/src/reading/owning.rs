//! Units, owners and slices of a stack of databases, as they are stored.

use std::collections::{BTreeMap, HashSet};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::meta::{FIRST_FREE_UNIT, HIDDEN, read_number};
use crate::layout::tables::Side;
use crate::ownership::sets::{Member, SetId, Sets, UnitId};
use crate::ownership::slice::{OwnerIntervals, Slice};
use crate::ownership::stored::{self, Needs, each_member};
use crate::reading::counts::Statistics;
use crate::reading::layer::Layer;
use crate::reading::snapshot::Snapshot;
use crate::reading::view::View;

impl Snapshot {
    /// The names of the units of all databases of the stack.
    ///
    /// # Errors
    /// As [`Snapshot::id_by_key`].
    pub fn units(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for layer in &self.layers {
            layer.view.each(Side::Units, b"", &mut |name, _| {
                names.push(String::from_utf8_lossy(name).into_owned());
                Ok(())
            })?;
        }
        Ok(names)
    }

    /// The slice of the facts that any of these units own.
    ///
    /// Owners are known of databases that are complete; facts of others, and facts that no unit owns, are in every
    /// slice.
    ///
    /// # Errors
    /// [`Error::NoSuchUnit`]; as [`Snapshot::id_by_key`].
    pub fn slice_of(&self, units: &[impl AsRef<str>]) -> Result<Slice> {
        let units = self.unit_ids(units)?;
        self.slice(|unit| units.contains(&unit))
    }

    /// The slice of the facts that any other units own: without the facts that only these own.
    ///
    /// # Errors
    /// As [`Snapshot::slice_of`].
    pub fn slice_without(&self, units: &[impl AsRef<str>]) -> Result<Slice> {
        let units = self.unit_ids(units)?;
        self.slice(|unit| !units.contains(&unit))
    }

    fn slice(&self, has_unit: impl Fn(UnitId) -> bool) -> Result<Slice> {
        // Sets are not kept: their members are many more than the sets.
        let mut layers: Vec<(Recorded, Vec<bool>)> =
            self.owners()?.into_iter().map(|recorded| (recorded, Vec::new())).collect();
        each_set(&self.layers, |set, bytes| {
            for (Recorded { hidden, .. }, shown) in &mut layers {
                let (mut any, mut all) = (false, true);
                let needs = each_member(bytes, set, |member| {
                    let has = match member {
                        Member::Unit(unit) => has_unit(unit) && !hidden.contains(&unit),
                        Member::Set(part) => shown.get(part.0 as usize).copied().unwrap_or(false),
                    };
                    (any, all) = (any || has, all && has);
                })?;
                shown.push(if needs == Needs::Any { any } else { all });
            }
            Ok(())
        })?;
        Ok(Slice { layers: layers.into_iter().map(|(recorded, shown)| (recorded.owners, shown)).collect() })
    }

    fn unit_ids(&self, names: &[impl AsRef<str>]) -> Result<HashSet<UnitId>> {
        let ids = names.iter().map(|name| {
            let name = name.as_ref();
            self.unit_id(name)?.ok_or_else(|| Error::NoSuchUnit { name: name.to_owned() })
        });
        ids.collect()
    }

    /// The unit with this name.
    pub(crate) fn unit_id(&self, name: &str) -> Result<Option<UnitId>> {
        for layer in &self.layers {
            if let Some(value) = layer.view.get(Side::Units, name)? {
                return read_unit(&value).map(Some);
            }
        }
        Ok(None)
    }

    /// The number that the next unit gets.
    pub(crate) fn first_free_unit(&self) -> Result<u32> {
        let entry = self.own().view.get(Side::Meta, FIRST_FREE_UNIT)?;
        let number = read_number(&entry.map(|value| value.to_vec()).unwrap_or_default())?;
        u32::try_from(number).map_err(|_| Error::TooLarge)
    }

    /// The sets of all databases of the stack.
    pub(crate) fn sets(&self) -> Result<Sets> {
        sets_of(&self.layers)
    }

    /// The owners that each database records, the one on top first.
    pub(crate) fn owners(&self) -> Result<Vec<Recorded>> {
        let (mut all, mut hidden) = (Vec::new(), HashSet::new());
        for layer in self.layers.iter().rev() {
            all.push(Recorded { owners: read_owners(layer)?, hidden: hidden.clone() });
            hidden.extend(self.unit_ids(&hidden_names(&layer.view)?)?);
        }
        Ok(all)
    }
}

/// The sets of databases: the lowest of a stack, and those on it.
pub(crate) fn sets_of(layers: &[Layer]) -> Result<Sets> {
    let mut sets = Sets::default();
    each_set(layers, |set, bytes| {
        sets.push(stored::read(bytes, set)?);
        Ok(())
    })?;
    Ok(sets)
}

/// Calls `each` with the sets of databases, the lowest first: their numbers and their bytes.
fn each_set(layers: &[Layer], mut each: impl FnMut(SetId, &[u8]) -> Result<()>) -> Result<()> {
    let mut next = 0_u32;
    for layer in layers {
        layer.view.each(Side::Sets, b"", &mut |key, bytes| {
            if *key != next.to_be_bytes() {
                return Err(Error::Damaged { what: "numbers of sets of owners have gaps" });
            }
            each(SetId(next), bytes)?;
            next = next.checked_add(1).ok_or(Error::TooLarge)?;
            Ok(())
        })?;
    }
    Ok(())
}

/// What a database of a stack records of owners.
pub(crate) struct Recorded {
    pub owners: OwnerIntervals,
    /// Units that databases above hide: they own nothing here.
    pub hidden: HashSet<UnitId>,
}

/// The names of the units whose facts a database hides of those below.
pub(crate) fn hidden_names(view: &View) -> Result<Vec<String>> {
    let mut names = Vec::new();
    view.each(Side::Meta, HIDDEN.as_bytes(), &mut |name, _| {
        names.push(String::from_utf8_lossy(&name[HIDDEN.len()..]).into_owned());
        Ok(())
    })?;
    Ok(names)
}

fn read_owners(layer: &Layer) -> Result<OwnerIntervals> {
    let damaged = || Error::Damaged { what: "an interval of owners is malformed" };
    let mut starts = Vec::new();
    layer.view.each(Side::Owners, b"", &mut |key, value| {
        let start = key.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)).ok_or_else(damaged)?;
        let set = match value {
            [] => None,
            bytes => Some(SetId(u32::from_le_bytes(bytes.try_into().map_err(|_| damaged())?))),
        };
        starts.push((start, set));
        Ok(())
    })?;
    Ok(OwnerIntervals { starts })
}

/// The intervals that units own: unit, first and last fact.
pub(crate) fn claims(layer: &Layer) -> Result<Vec<(UnitId, FactId, FactId)>> {
    let mut claims = Vec::new();
    layer.view.each(Side::Claims, b"", &mut |key, value| {
        let damaged = || Error::Damaged { what: "a claim of a unit is malformed" };
        let (unit, from) = key.split_first_chunk().ok_or_else(damaged)?;
        let id = |bytes: &[u8]| bytes.try_into().ok().and_then(|bytes| FactId::new(u64::from_be_bytes(bytes)));
        let (from, to) = (id(from).ok_or_else(damaged)?, id(value).ok_or_else(damaged)?);
        claims.push((UnitId(u32::from_be_bytes(*unit)), from, to));
        Ok(())
    })?;
    Ok(claims)
}

/// The derivations, by fact: each with the facts that it is derived from.
pub(crate) fn derivations(layer: &Layer) -> Result<Vec<(FactId, Vec<FactId>)>> {
    let mut derivations = Vec::new();
    each_derivation(layer, &mut |fact, sources| {
        derivations.push((fact, sources.to_vec()));
        Ok(())
    })?;
    Ok(derivations)
}

/// Calls `each` with the derivations, by fact: each with the facts that it is derived from.
pub(crate) fn each_derivation(layer: &Layer, each: &mut dyn FnMut(FactId, &[FactId]) -> Result<()>) -> Result<()> {
    layer.view.each(Side::Derivations, b"", &mut |key, _| {
        let damaged = || Error::Damaged { what: "a derivation is malformed" };
        let (ids, []) = key.as_chunks::<8>() else { return Err(damaged()) };
        let ids = ids.iter().map(|bytes| FactId::new(u64::from_be_bytes(*bytes)));
        let ids = ids.collect::<Option<Vec<FactId>>>().ok_or_else(damaged)?;
        let (fact, sources) = ids.split_first().ok_or_else(damaged)?;
        each(*fact, sources)
    })
}

/// What each predicate has of facts that `slice` hides.
pub(crate) fn hidden_facts(snapshot: &Snapshot, slice: &Slice) -> Result<BTreeMap<PredicateId, Statistics>> {
    let mut counts: BTreeMap<PredicateId, Statistics> = BTreeMap::new();
    for number in snapshot.starting_id().get()..snapshot.first_free_id().get() {
        // Only hidden facts are read.
        let Some(id) = FactId::new(number).filter(|id| !slice.has(*id)) else { continue };
        if let Some(fact) = snapshot.fact_by_id(id)? {
            counts.entry(fact.predicate()).or_default().add(fact.key(), fact.value());
        }
    }
    Ok(counts)
}

/// The number of a unit, as it is stored.
pub(crate) fn read_unit(value: &[u8]) -> Result<UnitId> {
    let bytes = <[u8; 4]>::try_from(value);
    bytes.map(|bytes| UnitId(u32::from_le_bytes(bytes))).map_err(|_| Error::Damaged { what: "a unit has no number" })
}
