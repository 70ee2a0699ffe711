//! [`Memory`]: what one evaluation holds, of what the [meter](crate::meter) counts.
//!
//! Invariants: (1) only what is allocated and freed on the evaluation's thread while it runs counts, so that
//! evaluations whose rows are asked for in turns, and the callers of both, count apart. (2) A row that leaves the
//! evaluation is taken off the count, since it is freed where nothing counts, or by another thread.

use std::cell::Cell;

use super::heap::HeapBytes;
use crate::meter;

/// See the module.
pub(crate) struct Memory {
    /// `i64::MAX` if there is no limit.
    bytes_max: i64,
    is_metered: bool,
    /// While the evaluation runs the meter has the count, and this is out of date.
    is_running: Cell<bool>,
    held: Cell<i64>,
    peak: Cell<i64>,
}

/// What a [`Memory`] has counted.
#[derive(Clone, Copy)]
pub(crate) struct MemoryCount {
    held: i64,
    peak: i64,
}

impl Memory {
    /// Memory is counted if there is a limit in bytes, or if `is_reported`.
    pub(crate) fn new(bytes_max: Option<u64>, is_reported: bool) -> Self {
        Self {
            bytes_max: bytes_max.map_or(i64::MAX, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
            is_metered: bytes_max.is_some() || is_reported,
            is_running: Cell::new(false),
            held: Cell::new(0),
            peak: Cell::new(0),
        }
    }

    /// Whether there is a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.bytes_max != i64::MAX
    }

    /// The evaluation goes on. Returns what was counted until now, for [`Memory::end`]; `None` if nothing changes,
    /// because nothing is counted, or it runs already.
    pub(crate) fn begin(&self) -> Option<i64> {
        (self.is_metered && !self.is_running.replace(true)).then(|| meter::replace(self.held.get()))
    }

    /// The evaluation pauses, and what was counted `before` counts on.
    pub(crate) fn end(&self, before: Option<i64>) {
        if let Some(before) = before {
            self.is_running.set(false);
            self.held.set(meter::replace(before));
            self.note(self.held.get());
        }
    }

    /// Looks at what is held now. Whether that is more than may be.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        if !self.is_running.get() {
            return false;
        }
        let held = meter::held();
        self.note(held);
        held > self.bytes_max
    }

    /// A row leaves the evaluation, which does not run.
    pub(crate) fn hand_out(&self, row: &impl HeapBytes) {
        if self.is_metered {
            self.held.set(self.held.get() - row.heap_bytes() as i64);
        }
    }

    /// What was counted so far. Requires: the evaluation does not run.
    pub(crate) fn counted(&self) -> MemoryCount {
        MemoryCount { held: self.held.get(), peak: self.peak.get() }
    }

    /// Goes on from what another one has counted.
    pub(crate) fn count_on(&self, from: MemoryCount) {
        self.held.set(from.held);
        self.peak.set(from.peak);
    }

    /// The most that was held when it was looked at.
    pub(crate) fn peak(&self) -> u64 {
        u64::try_from(self.peak.get()).unwrap_or(0)
    }

    #[inline]
    fn note(&self, held: i64) {
        if held > self.peak.get() {
            self.peak.set(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluations_that_take_turns_within_each_other_count_apart() {
        let (one, other) = (Memory::new(Some(100), false), Memory::new(Some(1000), false));
        let around = meter::held();
        let before_one = one.begin();
        meter::count(90);
        assert!(!one.is_over());
        let before_other = other.begin();
        meter::count(500);
        assert!(!other.is_over());
        other.end(before_other);
        assert!(!one.is_over());
        meter::count(11);
        assert!(one.is_over());
        one.end(before_one);
        assert_eq!(meter::held(), around);
        assert_eq!((one.held.get(), one.peak(), other.held.get(), other.peak()), (101, 101, 500, 500));
        assert!(!one.is_over(), "it does not run");
    }

    #[test]
    fn an_evaluation_that_is_begun_again_within_itself_counts_on() {
        let memory = Memory::new(None, true);
        let before = memory.begin();
        meter::count(10);
        let within = memory.begin();
        meter::count(5);
        memory.end(within);
        memory.end(before);
        assert_eq!((memory.held.get(), memory.peak()), (15, 15));
    }

    #[test]
    fn without_a_limit_and_a_report_nothing_is_counted() {
        let memory = Memory::new(None, false);
        let before = memory.begin();
        meter::count(10);
        memory.end(before);
        assert_eq!((memory.held.get(), memory.peak()), (0, 0));
    }
}
