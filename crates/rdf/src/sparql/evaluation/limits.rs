//! What bounds an evaluation, and the watch that holds it to that.
//!
//! Invariants: (1) The first failure of an evaluation is kept, even if the evaluator ignores it: expressions and joins
//! skip errors, so the watch is checked after each result. (2) After a failure no more quads are read: every open
//! iterator ends, and every new one is empty. `dataset` checks at each quad, `results` at each row.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use spareval::CancellationToken;

use super::memory::{Memory, MemoryCount};
use crate::error::{Error, LimitKind, Result};
use crate::{IdPattern, MeteringAllocator};

/// The clock is read once in so many steps, because reading it costs as much as a step.
const STEPS_PER_LOOK: u64 = 32;

/// Default size of the cache of terms that an evaluation has read, in bytes.
const CACHED_BYTES_MAX: u64 = 8 << 20;

/// The cache of terms uses at most the memory limit of an evaluation divided by this, unless its size is set.
const CACHE_DIVISOR: u64 = 4;

/// How much an evaluation may take. The default bounds nothing but the depth.
#[derive(Clone, Default)]
pub struct Limits {
    pub(crate) timeout: Option<Duration>,
    pub(crate) rows_max: Option<u64>,
    pub(crate) quads_read_max: Option<u64>,
    pub(crate) memory_bytes_max: Option<u64>,
    pub(crate) computed_bytes_max: Option<u64>,
    pub(crate) cached_bytes_max: Option<u64>,
    pub(crate) cancellation: Option<CancellationToken>,
    /// Set when nobody wants the results any more.
    pub(crate) abandoned: Option<CancellationToken>,
    /// Whether the memory is measured, with or without a limit.
    pub(crate) reports_memory: bool,
}

impl Limits {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the timeout, counted from the beginning of the evaluation. It then ends with [`Error::TimedOut`]. Default:
    /// none.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the most rows (solutions or triples) that a query returns, or quads that one operation of an update
    /// changes. [`Error::LimitReached`] ends it above that. Default: no limit.
    #[must_use]
    pub fn rows_max(mut self, rows: u64) -> Self {
        self.rows_max = Some(rows);
        self
    }

    /// Sets the most quads that the evaluation reads: a limit of the work that does not depend on the machine.
    /// [`Error::LimitReached`] ends it above that. Default: no limit.
    #[must_use]
    pub fn quads_read_max(mut self, quads: u64) -> Self {
        self.quads_read_max = Some(quads);
        self
    }

    /// Sets the most memory of the evaluation, in bytes. [`Error::LimitReached`] ends it above that. The limit counts
    /// rows that are joined, sorted, grouped, deduplicated (`DISTINCT`, `CONSTRUCT`) or changed, paths, and terms that
    /// are computed or kept. It does not count results that the caller holds, and the caches of the store. In an update
    /// it applies to each `WHERE` with its changes, but not to `LOAD`, `INSERT DATA`, or writing the changes. Default:
    /// no limit.
    ///
    /// It requires that the program uses a [`MeteringAllocator`]. Otherwise the evaluation returns
    /// [`Error::MemoryUncounted`].
    ///
    /// A table that doubles can double once more before the limit is checked, and is copied meanwhile: so up to three
    /// times the limit can be allocated for a moment. The result of a single expression is extra, and nested calls
    /// multiply it.
    #[must_use]
    pub fn memory_bytes_max(mut self, bytes: u64) -> Self {
        self.memory_bytes_max = Some(bytes);
        self
    }

    /// Sets the most memory of computed terms (by `CONCAT`, aggregates, `BIND`), in bytes. [`Error::LimitReached`] ends
    /// the evaluation above that. Memory of joins and sorting is not counted, and no allocator is needed. Default: no
    /// limit.
    #[must_use]
    pub fn computed_bytes_max(mut self, bytes: u64) -> Self {
        self.computed_bytes_max = Some(bytes);
        self
    }

    /// Sets the size of the cache of terms that the evaluation has read from the store, in bytes. A smaller cache only
    /// costs time. Default: 8 MiB, or a quarter of [`Limits::memory_bytes_max`] if that is less.
    #[must_use]
    pub fn cached_bytes_max(mut self, bytes: u64) -> Self {
        self.cached_bytes_max = Some(bytes);
        self
    }

    /// Whether the program can hold an evaluation to them.
    ///
    /// # Errors
    /// [`Error::MemoryUncounted`].
    pub(crate) fn check(&self) -> Result<()> {
        match self.memory_bytes_max {
            Some(limit) if !MeteringAllocator::is_installed() => Err(Error::MemoryUncounted { limit }),
            _ => Ok(()),
        }
    }

    /// Whether an update removes the quads of a pattern one by one, to count them or to end in between. All quads of
    /// the default graph, or of all named graphs, are removed by ranges, in too little time to be cancelled.
    pub(crate) fn bound_removal(&self, pattern: &IdPattern) -> bool {
        let is_countable = self.timeout.is_some() || self.rows_max.is_some();
        is_countable || self.cancellation.is_some() && !pattern.is_all_of_its_graphs()
    }

    /// Sets a token with which another thread can cancel the evaluation. It then ends with [`Error::Cancelled`].
    #[must_use]
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }
}

impl fmt::Debug for Limits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Limits")
            .field("timeout", &self.timeout)
            .field("rows_max", &self.rows_max)
            .field("quads_read_max", &self.quads_read_max)
            .field("memory_bytes_max", &self.memory_bytes_max)
            .field("computed_bytes_max", &self.computed_bytes_max)
            .field("cached_bytes_max", &self.cached_bytes_max)
            .finish_non_exhaustive()
    }
}

/// The error that the evaluator gets after a failure. The watch has the failure itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped;

impl Stopped {
    /// The failure behind it.
    pub(crate) fn into_failure(self, watch: &EvaluationMonitor) -> Error {
        watch.take_failure().unwrap_or(Error::Cancelled)
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the evaluation has been stopped")
    }
}

impl std::error::Error for Stopped {}

/// One evaluation's clock, counts and first failure. Clones share them; it stays on the thread of the evaluation.
#[derive(Clone)]
pub(crate) struct EvaluationMonitor(Rc<Shared>);

/// The counts of an evaluation while it does not run. It can be sent to another thread.
pub(crate) struct PausedMonitor {
    limits: Limits,
    deadline: Option<Instant>,
    steps: u64,
    quads_read: u64,
    bytes: MemoryCount,
}

impl PausedMonitor {
    /// The evaluation goes on, on this thread. Requires: it has not failed.
    pub(crate) fn resume(&self) -> EvaluationMonitor {
        let monitor = EvaluationMonitor::start_with_deadline(&self.limits, self.deadline);
        monitor.0.steps.set(self.steps);
        monitor.0.quads_read.set(self.quads_read);
        monitor.0.memory.count_on(self.bytes);
        monitor
    }

    pub(crate) fn quads_read(&self) -> u64 {
        self.quads_read
    }
}

struct Shared {
    limits: Limits,
    memory: Memory,
    deadline: Option<Instant>,
    steps: Cell<u64>,
    quads_read: Cell<u64>,
    failed: Cell<bool>,
    failure: RefCell<Option<Error>>,
}

impl EvaluationMonitor {
    /// The evaluation begins now.
    pub(crate) fn start(limits: &Limits) -> Self {
        // A time that the clock cannot express is none.
        let deadline = limits.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Self::start_with_deadline(limits, deadline)
    }

    /// As [`EvaluationMonitor::start`], with the deadline of the surrounding evaluation.
    pub(crate) fn start_with_deadline(limits: &Limits, deadline: Option<Instant>) -> Self {
        Self(Rc::new(Shared {
            limits: limits.clone(),
            memory: Memory::new(limits.memory_bytes_max, limits.reports_memory),
            deadline,
            steps: Cell::new(0),
            quads_read: Cell::new(0),
            failed: Cell::new(false),
            failure: RefCell::new(None),
        }))
    }

    /// What an evaluation keeps between two calls, which different threads may make.
    pub(crate) fn pause(&self) -> PausedMonitor {
        let shared = &*self.0;
        PausedMonitor {
            limits: shared.limits.clone(),
            deadline: shared.deadline,
            steps: shared.steps.get(),
            quads_read: shared.quads_read.get(),
            bytes: shared.memory.counted(),
        }
    }

    /// One step of the evaluation: looks at the memory and the tokens each time, at the clock the first time and now
    /// and then.
    pub(crate) fn step(&self) -> Result<(), Stopped> {
        let shared = &*self.0;
        if shared.failed.get() {
            return Err(Stopped);
        }
        if shared.memory.is_over() {
            return Err(self.fail_of_memory());
        }
        let tokens = [&shared.limits.cancellation, &shared.limits.abandoned];
        if tokens.into_iter().flatten().any(CancellationToken::is_cancelled) {
            return Err(self.fail(Error::Cancelled));
        }
        let steps = shared.steps.get();
        shared.steps.set(steps + 1);
        if steps.is_multiple_of(STEPS_PER_LOOK) {
            self.look()?;
        }
        Ok(())
    }

    #[cold]
    fn fail_of_memory(&self) -> Stopped {
        let limit = self.0.limits.memory_bytes_max.unwrap_or(u64::MAX);
        self.fail(Error::LimitReached { what: LimitKind::Memory, limit })
    }

    /// Looks at the clock.
    pub(crate) fn look(&self) -> Result<(), Stopped> {
        match self.0.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                let timeout = self.0.limits.timeout.unwrap_or_default();
                Err(self.fail(Error::TimedOut { timeout }))
            }
            _ => Ok(()),
        }
    }

    /// What is left of the time; `None` if it has no limit.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.0.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// A quad was read.
    pub(crate) fn count_quad(&self) -> Result<(), Stopped> {
        self.count_quads(1)
    }

    /// So many quads were read.
    pub(crate) fn count_quads(&self, quads: u64) -> Result<(), Stopped> {
        let read = self.0.quads_read.get() + quads;
        self.0.quads_read.set(read);
        match self.0.limits.quads_read_max {
            Some(limit) if read > limit => Err(self.fail(Error::LimitReached { what: LimitKind::QuadsRead, limit })),
            _ => Ok(()),
        }
    }

    /// That many bytes of computed terms are held now.
    pub(crate) fn check_computed_bytes(&self, bytes: u64) -> Result<(), Stopped> {
        match self.0.limits.computed_bytes_max {
            Some(limit) if bytes > limit => {
                Err(self.fail(Error::LimitReached { what: LimitKind::ComputedTerms, limit }))
            }
            _ => Ok(()),
        }
    }

    /// That many rows have been returned or are to be changed.
    pub(crate) fn check_rows(&self, rows: u64) -> Result<(), Stopped> {
        match self.0.limits.rows_max {
            Some(limit) if rows > limit => Err(self.fail(Error::LimitReached { what: LimitKind::Rows, limit })),
            _ => Ok(()),
        }
    }

    /// Keeps `error` if it is the first.
    pub(crate) fn fail(&self, error: Error) -> Stopped {
        if !self.0.failed.replace(true) {
            *self.0.failure.borrow_mut() = Some(error);
        }
        Stopped
    }

    /// The value, or the watch's failure.
    pub(crate) fn keep<T>(&self, result: Result<T>) -> Result<T, Stopped> {
        result.map_err(|error| self.fail(error))
    }

    /// The failure of a table that has as many entries as it can.
    pub(crate) fn fail_full(&self, entries: &'static str) -> Stopped {
        self.fail(Error::LimitReached { what: LimitKind::Entries(entries), limit: u64::from(u32::MAX) })
    }

    /// What terms of the store may take that are kept.
    pub(crate) fn cached_bytes_max(&self) -> u64 {
        let limits = &self.0.limits;
        let of_memory = limits.memory_bytes_max.map_or(u64::MAX, |bytes| bytes / CACHE_DIVISOR);
        limits.cached_bytes_max.unwrap_or(CACHED_BYTES_MAX.min(of_memory))
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.0.memory
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.0.failed.get()
    }

    /// The failure, for the one who reports it: once.
    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.0.failure.borrow_mut().take()
    }

    pub(crate) fn quads_read(&self) -> u64 {
        self.0.quads_read.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::{Query, Update};
    use crate::{Store, StoreOptions};

    #[test]
    fn a_limit_of_memory_in_a_program_that_counts_none_is_refused_and_the_program_told_what_to_write() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a store");
        let limits = Limits::new().memory_bytes_max(1 << 30);
        let query = Query::parse("ASK {}", None).expect("a query").with_limits(limits.clone());
        let error = query.evaluate(&store.snapshot().expect("a snapshot")).expect_err("nothing counts");
        assert!(matches!(error, Error::MemoryUncounted { limit } if limit == 1 << 30), "{error}");
        assert!(error.to_string().contains("#[global_allocator]"), "{error}");
        let update = Update::parse("INSERT DATA { <x:a> <x:p> 1 }", None).expect("an update").with_limits(limits);
        let error = update.execute(&store).expect_err("nothing counts");
        assert!(matches!(error, Error::MemoryUncounted { .. }), "{error}");
    }

    #[test]
    fn terms_that_are_kept_take_a_part_of_the_memory_unless_told_otherwise() {
        let kept = |limits: Limits| EvaluationMonitor::start(&limits).cached_bytes_max();
        assert_eq!(kept(Limits::new()), CACHED_BYTES_MAX);
        assert_eq!(kept(Limits::new().memory_bytes_max(1 << 20)), 1 << 18);
        assert_eq!(kept(Limits::new().memory_bytes_max(1 << 40)), CACHED_BYTES_MAX);
        assert_eq!(kept(Limits::new().memory_bytes_max(1 << 20).cached_bytes_max(1 << 30)), 1 << 30);
    }
}
