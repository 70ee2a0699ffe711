//! Which predicates lack facts that are derived into the database: their derivation has begun and not ended, or facts
//! of their inputs were written since.
//!
//! An entry of the database has a number for each predicate that was derived: how many facts the database itself had,
//! when the derivation began, of the predicates that this one is derived from. Facts are only added, so another number
//! says that there are newer ones. The number is written when the derivation has ended. Before its first fact, it is
//! [`BEGUN`]. Databases below have entries of their own; a derivation has derived from their facts too.

use std::collections::BTreeMap;

use crate::angle::tree::DeriveWhen;
use crate::error::Result;
use crate::ids::PredicateId;
use crate::layout::meta::DERIVED;
use crate::layout::tables::Side;
use crate::query::prepared::Compiler;
use crate::reading::counts::Statistics;
use crate::reading::layer::Layer;
use crate::reading::snapshot::Snapshot;

/// Numbers of facts, by predicate.
pub type Inputs = BTreeMap<PredicateId, u64>;

/// In place of a number: a derivation has begun. No database has so many facts, so versions that do not know it say
/// that the predicate was not derived.
pub const BEGUN: u64 = u64::MAX;

/// How many facts the database of a layer itself has that each of some predicates is derived from.
///
/// # Errors
/// Errors of the engine; [`Error::Damaged`](crate::Error::Damaged).
pub fn inputs(compiler: &Compiler, layer: &Layer, of: impl Iterator<Item = PredicateId>) -> Result<Inputs> {
    let counts = layer.own_statistics()?;
    Ok(of.map(|predicate| (predicate, count(compiler, &counts, predicate))).collect())
}

fn count(compiler: &Compiler, counts: &BTreeMap<PredicateId, Statistics>, predicate: PredicateId) -> u64 {
    let inputs = compiler.inputs(predicate);
    let of_inputs = inputs.iter().filter_map(|input| counts.get(input));
    of_inputs.fold(0, |sum: u64, statistics| sum.saturating_add(statistics.count))
}

/// The record after the derivations of `ended` have ended, and those of `begun` begin.
pub fn changed(before: &Inputs, ended: &Inputs, begun: &Inputs) -> Inputs {
    let mut now = before.clone();
    for (predicate, count) in ended {
        // Another derivation at the same time may have had more facts.
        let known = now.get(predicate).filter(|known| **known != BEGUN);
        let count = known.map_or(*count, |known| *count.max(known));
        now.insert(*predicate, count);
    }
    for (predicate, count) in begun {
        // A predicate that was derived from these facts gets no new ones.
        let known = now.entry(*predicate).or_insert(BEGUN);
        if *known < *count {
            *known = BEGUN;
        }
    }
    now
}

/// Those of `derived` that lack facts. A stored predicate with facts and without a record is not among them: it was
/// written from a dump, or derived by an earlier version. One with `default` needs a record: without it, it is derived
/// on demand, or written.
///
/// # Errors
/// As [`inputs`].
pub fn not_derived(compiler: &Compiler, snapshot: &Snapshot, derived: &[PredicateId]) -> Result<Vec<PredicateId>> {
    let (mut left, mut found) = (derived.to_vec(), Vec::new());
    for layer in snapshot.layers.iter().rev() {
        if left.is_empty() {
            break;
        }
        let recorded = layer.view.get(Side::Meta, DERIVED)?.and_then(|bytes| read(&bytes));
        // An earlier version may have completed the database, and recorded nothing.
        let is_recorded = recorded.is_some() || !layer.complete;
        let recorded = recorded.unwrap_or_default();
        let counts = layer.own_statistics()?;
        left.retain(|predicate| {
            let now = count(compiler, &counts, *predicate);
            let lacks_facts = match recorded.get(predicate) {
                // Also from the facts of the databases below.
                Some(before) if *before == now => return false,
                Some(_) => true,
                None => is_recorded && is_stored(compiler, *predicate) && now > 0 && !counts.contains_key(predicate),
            };
            if lacks_facts {
                found.push(*predicate);
            }
            !lacks_facts
        });
    }
    found.sort_unstable();
    Ok(found)
}

/// Whether the schema derives a predicate into the database, and not by `default`, which does so on request only.
pub fn is_stored(compiler: &Compiler, predicate: PredicateId) -> bool {
    let definition = compiler.schema().predicate(predicate);
    let derivation = definition.and_then(|definition| definition.derivation.as_ref());
    derivation.is_some_and(|derivation| derivation.when == DeriveWhen::Stored)
}

/// The numbers in an entry. `None`, if it is malformed: queries do without it, and the next derivation replaces it.
pub fn read(bytes: &[u8]) -> Option<Inputs> {
    let (numbers, []) = bytes.as_chunks::<8>() else { return None };
    let (pairs, []) = numbers.as_chunks::<2>() else { return None };
    let pairs = pairs.iter().map(|pair| pair.map(u64::from_le_bytes));
    pairs.map(|[predicate, count]| Some((PredicateId::new(predicate)?, count))).collect()
}

/// The bytes of an entry.
pub fn encode(inputs: &Inputs) -> Vec<u8> {
    inputs.iter().flat_map(|(predicate, count)| [predicate.get(), *count]).flat_map(u64::to_le_bytes).collect()
}
