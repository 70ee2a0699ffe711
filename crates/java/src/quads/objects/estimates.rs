//! Estimates of the number of quads that match a pattern, for the order of joins.

use fulgurite_rdf::{GraphPattern, IdPattern, Position, QuadStep, Quads, Result};

/// The keys of an index that are looked at for an estimate. An iterator reads them in batches of 32, 128, 512, 1,024,
/// 1,024 and so on: with a sum of these, few more are read.
const KEYS_OF_ESTIMATE: usize = 3744;

/// The number of quads that match a pattern. It is exact if an index counts them, or if they are in a range of few
/// keys. Otherwise it follows from the share of the keys at the beginning of the range that match.
///
/// # Errors
/// Errors of the store.
pub fn estimate(view: &impl Quads, pattern: &IdPattern) -> Result<u64> {
    if view.counts_fast(pattern) {
        return view.count(pattern);
    }
    let (mut quads, mut keys_left, mut found) = (view.quads(pattern), KEYS_OF_ESTIMATE, 0_u64);
    loop {
        match quads.advance(&mut keys_left)? {
            QuadStep::Quad(_) => found += 1,
            QuadStep::End => return Ok(found),
            QuadStep::Paused => break,
        }
    }
    let mut range = range(pattern, quads.order());
    if !view.counts_fast(&range) {
        range = IdPattern::ALL;
    }
    let keys = view.count(&range)? as f64;
    Ok((found.max(1) as f64 * keys / KEYS_OF_ESTIMATE as f64).ceil() as u64)
}

/// The pattern of all quads in the range of an index that is read for a pattern: with the terms of the first positions
/// of the index, as many as the pattern has.
fn range(pattern: &IdPattern, order: &[Position]) -> IdPattern {
    let named = match pattern.graph {
        GraphPattern::Named(_) => GraphPattern::AnyNamed,
        graph => graph,
    };
    let mut range = IdPattern { graph: named, ..IdPattern::ALL };
    for position in order.iter().take_while(|position| pattern.at(**position).is_some()) {
        match position {
            Position::Subject => range.subject = pattern.subject,
            Position::Predicate => range.predicate = pattern.predicate,
            Position::Object => range.object = pattern.object,
            Position::Graph => range.graph = pattern.graph,
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Quad};
    use fulgurite_rdf::{Order, Store, StoreOptions};

    use super::*;

    fn iri(name: &str) -> NamedNode {
        NamedNode::new_unchecked(format!("http://a/{name}"))
    }

    #[test]
    fn a_pattern_without_an_index_is_estimated_by_its_share_of_few_keys() {
        let directory = tempfile::tempdir().unwrap();
        let orders = ["spo", "pos", "spog", "posg"].map(|name| Order::parse(name).unwrap());
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new().orders(orders)).unwrap();
        let quad = |number: u32| {
            let (subject, object) = (iri(&format!("s{}", number / 10)), iri(&format!("o{}", number % 10)));
            Quad::new(subject, iri("p"), object, GraphName::DefaultGraph)
        };
        store.update(|txn| (0..10_000).try_for_each(|number| txn.insert(&quad(number)).map(drop))).unwrap();
        let snapshot = store.snapshot().unwrap();
        let id = |name: &str| snapshot.id(iri(name).as_ref().into()).unwrap();
        let estimated = |pattern: IdPattern| estimate(&snapshot, &pattern).unwrap();
        let by_object = IdPattern { object: id("o3"), ..IdPattern::ALL };
        assert!(!snapshot.counts_fast(&by_object));
        assert!((500..=2000).contains(&estimated(by_object)), "{}", estimated(by_object));
        assert_eq!(estimated(IdPattern { subject: id("s7"), object: id("o3"), ..IdPattern::ALL }), 1);
        assert_eq!(estimated(IdPattern { predicate: id("p"), ..IdPattern::ALL }), 10_000);
    }
}
