//! Counts of quads, for the two that choose the order of joins: of patterns by name, and of patterns on ids.

use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};
use crate::{IdPattern, IdQuad, QuadIds, Quads};

/// Where counting means reading quads, so many are read. If there are more, they count as [`MANY`].
const COUNTED_MAX: usize = 256;
const MANY: f64 = 100_000.0;

/// The assumed share of rows that pass a filter.
pub(crate) const FILTER_PASSES: f64 = 0.5;

/// The assumed share of rows that are read, if they come in the order of `ORDER BY` and `LIMIT` cuts them off.
pub(crate) const CUT_PASSES: f64 = 0.5;

/// `VALUES` with more rows are not compared with each row of what is before them.
pub(crate) const COMPARED_ROWS_MAX: usize = 64;

/// The quads of a pattern, exactly unless there are many and counting would read them.
pub(crate) fn count<Q: Quads>(quads: &Q, pattern: &IdPattern, watch: &EvaluationMonitor) -> Result<f64, Stopped> {
    watch.step()?;
    if quads.counts_fast(pattern) {
        return Ok(watch.keep(quads.count(pattern))? as f64);
    }
    let mut found = quads.quads(pattern);
    for counted in 0..COUNTED_MAX {
        if next(&mut found, watch)?.is_none() {
            return Ok(counted as f64);
        }
    }
    Ok(MANY)
}

/// The next of these quads.
pub(crate) fn next(quads: &mut QuadIds, watch: &EvaluationMonitor) -> Result<Option<IdQuad>, Stopped> {
    watch.step()?;
    watch.keep(quads.next().transpose())
}
