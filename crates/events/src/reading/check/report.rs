//! [`StoreReport`]: what a check has found.

use std::fmt;

/// The result of [`Snapshot::check`](crate::Snapshot::check).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreReport {
    /// The number of events in the log, without removed ones and those below its start.
    pub events: u64,
    /// The number of chunks of the log.
    pub chunks: u64,
    /// The number of streams, deleted ones included.
    pub streams: u64,
    /// The first 100 defects.
    pub defects: Vec<Defect>,
    /// The number of defects that `defects` does not list.
    pub more_defects: u64,
    /// The first defect that is not in an index.
    lost: Option<Defect>,
}

/// A damaged place. `Display` says where it is and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defect {
    /// The table.
    pub table: String,
    /// The place in the table, in words.
    pub place: String,
    /// The defect.
    pub what: &'static str,
    /// Whether the table is an index, which [`StoreOptions::rebuild_indexes`](crate::StoreOptions::rebuild_indexes)
    /// writes again.
    pub is_in_index: bool,
}

impl StoreReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.defects.is_empty()
    }

    /// Whether all defects are in indexes. Then
    /// [`StoreOptions::rebuild_indexes`](crate::StoreOptions::rebuild_indexes) repairs the store.
    pub fn is_repairable(&self) -> bool {
        self.lost.is_none()
    }

    /// The first defect that is not in an index.
    pub(crate) fn lost(&self) -> Option<&Defect> {
        self.lost.as_ref()
    }

    /// Adds a defect.
    pub(super) fn add(&mut self, defect: Defect) {
        if self.lost.is_none() && !defect.is_in_index {
            self.lost = Some(defect.clone());
        }
        if self.defects.len() < DEFECTS_MAX {
            self.defects.push(defect);
        } else {
            self.more_defects += 1;
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "table `{}`, {}: {}", self.table, self.place, self.what)
    }
}

/// More defects are counted only.
const DEFECTS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_defects_are_listed_and_all_are_counted() {
        let defect = |is_in_index| Defect { table: "t".into(), place: "p".into(), what: "w", is_in_index };
        let mut report = StoreReport::default();
        assert!(report.is_sound() && report.is_repairable());
        (0..DEFECTS_MAX).for_each(|_| report.add(defect(true)));
        assert!(!report.is_sound() && report.is_repairable());
        report.add(defect(false));
        assert_eq!((report.defects.len(), report.more_defects, report.is_repairable()), (DEFECTS_MAX, 1, false));
        assert_eq!(report.lost(), Some(&defect(false)), "it is known, though not listed");
        assert_eq!(report.defects[0].to_string(), "table `t`, p: w");
    }
}
