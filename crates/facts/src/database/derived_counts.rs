//! Which stored predicates were not derived since facts of their inputs were written.
//!
//! An entry of the database has a number for each predicate that was derived: how many facts the database itself had
//! then of the predicates that this one is derived from. Facts are only added, so another number says that there are
//! newer ones. Databases below are complete and have entries of their own.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::ids::PredicateId;
use crate::layout::meta::DERIVED;
use crate::layout::tables::Side;
use crate::query::prepared::Compiler;
use crate::reading::snapshot::Snapshot;

/// Numbers of facts, by predicate.
pub type Inputs = BTreeMap<PredicateId, u64>;

/// How many facts the database itself has now that each of some predicates is derived from.
///
/// # Errors
/// Errors of the engine; [`Error::Damaged`](crate::Error::Damaged).
pub fn inputs(compiler: &Compiler, snapshot: &Snapshot, of: impl Iterator<Item = PredicateId>) -> Result<Inputs> {
    let counts = snapshot.own_statistics()?;
    let count = |predicate| {
        let inputs = compiler.inputs(predicate);
        let of_inputs = inputs.iter().filter_map(|input| counts.get(input));
        of_inputs.fold(0, |sum: u64, statistics| sum.saturating_add(statistics.count))
    };
    Ok(of.map(|predicate| (predicate, count(predicate))).collect())
}

/// Those of `stored` that were not derived since facts of their inputs were written. A predicate with facts and
/// without a record is not among them: it was written from a dump, or derived by an earlier version.
///
/// # Errors
/// As [`inputs`].
pub fn not_derived(compiler: &Compiler, snapshot: &Snapshot, stored: &[PredicateId]) -> Result<Vec<PredicateId>> {
    if stored.is_empty() {
        return Ok(Vec::new());
    }
    let own = snapshot.own();
    let recorded = own.view.get(Side::Meta, DERIVED)?.and_then(|bytes| read(&bytes));
    // An earlier version may have completed the database, and recorded nothing.
    let is_recorded = recorded.is_some() || !own.complete;
    let recorded = recorded.unwrap_or_default();
    let counts = snapshot.own_statistics()?;
    let mut now = inputs(compiler, snapshot, stored.iter().copied())?;
    now.retain(|predicate, count| match recorded.get(predicate) {
        Some(before) => *before != *count,
        None => is_recorded && *count > 0 && !counts.contains_key(predicate),
    });
    Ok(now.into_keys().collect())
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
