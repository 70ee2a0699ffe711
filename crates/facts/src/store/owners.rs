//! The owners of the facts of a database, computed from what units own and from what was derived.

use crate::error::Result;
use crate::ids::FactId;
use crate::layout::fact::Fact;
use crate::ownership::compute::Owning;
use crate::ownership::reduction::Reduction;
use crate::ownership::sets::Sets;
use crate::ownership::slice::OwnerIntervals;
use crate::reading::layer::Layer;
use crate::reading::owning::{Recorded, claims, derivations, sets_of};
use crate::reading::snapshot::Snapshot;

/// The owners of a database's own facts, and of those below whose owners it changes.
#[derive(Default)]
pub struct ComputedOwners {
    pub owners: OwnerIntervals,
    /// The sets that were there before, and new ones. Some of the new ones are in no other set, and own nothing.
    pub sets: Sets,
    /// How many sets were there before.
    pub old: usize,
}

/// Computes owners. `known` are the databases whose sets are there before: at least those below.
///
/// # Errors
/// Those of `references`, and of reading; [`Error::RefersForward`](crate::Error::RefersForward).
pub fn compute_owners(
    snapshot: &Snapshot,
    known: &[Layer],
    mut references: impl FnMut(&Fact<'_>, &mut Vec<FactId>) -> Result<()>,
) -> Result<ComputedOwners> {
    let own = snapshot.own();
    let (claims, derivations) = (claims(own)?, derivations(own)?);
    if claims.is_empty() && derivations.is_empty() {
        return Ok(ComputedOwners::default());
    }
    let mut sets = sets_of(known)?;
    let old = sets.len();
    // Those that the database records itself do not count.
    let mut below: Vec<(OwnerIntervals, Reduction)> = snapshot
        .owners()?
        .into_iter()
        .skip(1)
        .map(|Recorded { owners, hidden }| (owners, Reduction::new(hidden)))
        .collect();
    let of_base = |sets: &mut Sets, id: FactId| {
        let recorded = below.iter_mut().find_map(|(owners, reduction)| Some((owners.of(id)?, reduction)));
        recorded.and_then(|(set, reduction)| reduction.of(sets, set))
    };
    let mut owning = Owning::new(&mut sets, own.first, own.end, of_base);
    let mut follow = |id: FactId, found: &mut Vec<FactId>| match snapshot.fact_by_id(id)? {
        Some(fact) => references(&fact, found),
        // The database hides it, so nothing in it refers to it.
        None => Ok(()),
    };
    owning.claim(claims)?;
    owning.follow(&mut follow)?;
    if !derivations.is_empty() {
        owning.derive(&derivations)?;
        owning.follow(&mut follow)?;
    }
    let owners = owning.finish();
    Ok(ComputedOwners { owners, sets, old })
}
