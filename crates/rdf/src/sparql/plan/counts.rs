//! Counts of quads, for the two that choose the order of joins: of patterns by name, and of patterns on ids.

use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};
use crate::{IdPattern, QuadIds, QuadStep, Quads};

/// Where counting means reading quads, so many are read. If there are more, they count as [`MANY`].
const COUNTED_MAX: usize = 256;
const MANY: f64 = 100_000.0;

/// Without an index for a pattern, about so many keys are looked at to find its quads.
pub(crate) const KEYS_MAX: usize = 1 << 12;

/// The assumed share of rows that pass a filter.
pub(crate) const FILTER_PASSES: f64 = 0.5;

/// The assumed share of rows that are read, if they come in the order of `ORDER BY` and `LIMIT` cuts them off.
pub(crate) const CUT_PASSES: f64 = 0.5;

/// `VALUES` with more rows are not compared with each row of what is before them.
pub(crate) const COMPARED_ROWS_MAX: usize = 64;

/// The quads of a pattern, exactly unless counting reads them, and there are many or they are far apart.
pub(crate) fn count<Q: Quads>(quads: &Q, pattern: &IdPattern, watch: &EvaluationMonitor) -> Result<f64, Stopped> {
    watch.step()?;
    if quads.counts_fast(pattern) {
        return Ok(watch.keep(quads.count(pattern))? as f64);
    }
    let (mut found, mut keys_left) = (quads.quads(pattern), KEYS_MAX);
    for counted in 0..COUNTED_MAX {
        match next(&mut found, &mut keys_left, watch)? {
            QuadStep::Quad(_) => {}
            QuadStep::Paused => {
                // The other keys are assumed to match as often.
                let all = watch.keep(quads.count(&IdPattern::ALL))? as f64;
                return Ok((counted.max(1) as f64 * (all / KEYS_MAX as f64).max(1.0)).min(MANY));
            }
            QuadStep::End => return Ok(counted as f64),
        }
    }
    Ok(MANY)
}

/// The next of these quads, as [`QuadIds::advance`].
pub(crate) fn next(quads: &mut QuadIds, keys_left: &mut usize, watch: &EvaluationMonitor) -> Result<QuadStep, Stopped> {
    watch.step()?;
    watch.keep(quads.advance(keys_left))
}

#[cfg(test)]
mod tests {
    use oxrdf::{GraphName, Literal, NamedNode, Quad};

    use super::*;
    use crate::sparql::Limits;
    use crate::{Order, Store, StoreOptions};

    #[test]
    fn without_an_index_for_a_pattern_few_keys_are_looked_at_to_count_its_quads() {
        let directory = tempfile::tempdir().expect("a directory");
        let orders = ["spo", "spog"].map(|name| Order::parse(name).expect("an order"));
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new().orders(orders)).expect("a store");
        let iri = NamedNode::new_unchecked("http://example.org/a");
        let quad =
            |number: usize| Quad::new(iri.clone(), iri.clone(), Literal::from(number as i64), GraphName::DefaultGraph);
        let quads = 2 * KEYS_MAX;
        store.update(|txn| (0..quads).try_for_each(|number| txn.insert(&quad(number)).map(drop))).expect("a commit");
        let snapshot = store.snapshot().expect("a snapshot");
        let count = |number: usize| {
            let object = snapshot.id(Literal::from(number as i64).as_ref().into()).expect("a lookup");
            let pattern = IdPattern { object, ..IdPattern::ALL };
            count(&snapshot, &pattern, &EvaluationMonitor::start(&Limits::new())).expect("a count")
        };
        // A quad at the beginning and one at the end of the index: the second one is not reached.
        assert_eq!((count(0), count(quads - 1)), (2.0, 2.0));
    }
}
