//! [`Slice`]: the facts that some units own.

use crate::ids::FactId;
use crate::ownership::sets::SetId;

/// The facts of a database that some units own, or that others than some own. Facts without owners are in every slice.
pub struct Slice {
    /// The owners of facts that each database records, the one on top first, and of each set whether the slice has its
    /// facts. A unit that a database hides does not count in those below, so databases differ in this.
    pub(crate) layers: Vec<(OwnerIntervals, Vec<bool>)>,
}

/// The owners that one database records: of its own facts, and of those of its base that it changes.
#[derive(Clone, Default)]
pub struct OwnerIntervals {
    /// The first fact of each interval, and its owners: `None` if this database says nothing about them.
    pub starts: Vec<(u64, Option<SetId>)>,
}

impl OwnerIntervals {
    /// The owners of a fact.
    pub fn of(&self, id: FactId) -> Option<SetId> {
        let after = self.starts.partition_point(|(start, _)| *start <= id.get());
        self.starts[..after].last().and_then(|(_, set)| *set)
    }

    /// Adds the owners of a fact. Requires: its id is above those before.
    pub fn push(&mut self, id: u64, set: Option<SetId>) {
        if self.starts.last().map_or(set.is_some(), |(_, last)| *last != set) {
            self.starts.push((id, set));
        }
    }
}

impl Slice {
    /// Whether the slice has the fact.
    #[must_use]
    pub fn has(&self, id: FactId) -> bool {
        let recorded = self.layers.iter().find_map(|(owners, shown)| Some((owners.of(id)?, shown)));
        recorded.is_none_or(|(set, shown)| shown.get(set.0 as usize).copied().unwrap_or(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_reaches_to_the_next_one() {
        let mut owners = OwnerIntervals::default();
        let (a, b) = (SetId(0), SetId(1));
        for (id, set) in [(1024, None), (1025, Some(a)), (1026, Some(a)), (1027, Some(b)), (1028, None)] {
            owners.push(id, set);
        }
        assert_eq!(owners.starts, [(1025, Some(a)), (1027, Some(b)), (1028, None)]);
        let of = |number| owners.of(FactId::new(number).expect("not 0"));
        assert_eq!([1024, 1025, 1026, 1027, 1028, 9999].map(of), [None, Some(a), Some(a), Some(b), None, None]);
    }
}
