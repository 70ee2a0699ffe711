//! The triple terms that quads have as subjects or objects. Their ids are one range of an index.

use std::collections::BTreeSet;

use fulgurite_rdf::{GraphPattern, IdPattern, Position, Quads, Result, StatementKinds, TermId, TermKind};

/// The ids of triple terms at a position of quads, from `first` on, in ascending order and each once, at most `count`.
/// `None` if an index for the order is missing. `view` restricts a view to some kinds of statements.
///
/// Requires: `first` is not below the ids of triple terms.
///
/// # Errors
/// Errors of the store.
pub fn triples<V: Quads>(
    view: impl Fn(StatementKinds) -> V,
    kinds: StatementKinds,
    position: Position,
    first: TermId,
    count: usize,
) -> Result<Option<Vec<TermId>>> {
    let kinds: &[StatementKinds] = match kinds {
        StatementKinds::All => &[StatementKinds::Explicit, StatementKinds::Inferred],
        ref kinds => std::slice::from_ref(kinds),
    };
    let mut found = BTreeSet::new();
    for kind in kinds {
        let view = view(*kind);
        for graph in [GraphPattern::Default, GraphPattern::AnyNamed] {
            let pattern = IdPattern { graph, ..IdPattern::ALL };
            let Some(mut quads) = view.quads_sorted_by(&pattern, position) else { return Ok(None) };
            let mut next = Some(first);
            for _ in 0..count {
                let Some(wanted) = next else { break };
                quads.skip_to(wanted);
                let Some(quad) = quads.next().transpose()? else { break };
                let id = quad.at(position);
                if id.kind() != TermKind::Triple {
                    break;
                }
                found.insert(id);
                next = TermId::from_bits(id.to_bits() + 1);
            }
        }
    }
    Ok(Some(found.into_iter().take(count).collect()))
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{GraphName, NamedNode, Quad, Triple};
    use fulgurite_rdf::{Store, StoreOptions};

    use super::*;

    fn iri(name: &str) -> NamedNode {
        NamedNode::new_unchecked(format!("http://a/{name}"))
    }

    #[test]
    fn triple_terms_are_found_in_order_and_once_among_other_terms() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
        let triple = |number: u32| Triple::new(iri("s"), iri("p"), iri(&format!("o{number}")));
        store
            .update(|txn| {
                for number in 0..10 {
                    let subject = iri(&format!("s{}", number % 3));
                    let graph = if number % 2 == 0 { GraphName::DefaultGraph } else { iri("g").into() };
                    let quad = Quad::new(subject.clone(), iri("p"), triple(number / 2), graph);
                    let inserted = if number < 5 { txn.insert(&quad) } else { txn.insert_inferred(&quad) };
                    assert!(inserted?);
                    txn.insert(&Quad::new(subject, iri("p"), iri("o"), GraphName::DefaultGraph))?;
                }
                Ok(())
            })
            .unwrap();
        let snapshot = store.snapshot().unwrap();
        let least = TermId::from_bits(4 << 56).unwrap();
        let found = |kinds, position, first, count| {
            triples(|kinds| snapshot.of_kinds(kinds), kinds, position, first, count).unwrap().unwrap()
        };
        let all = found(StatementKinds::All, Position::Object, least, 100);
        assert!(all.len() == 5 && all.is_sorted());
        assert_eq!(found(StatementKinds::All, Position::Object, least, 2), all[..2]);
        assert_eq!(found(StatementKinds::All, Position::Object, all[2], 2), all[2..4]);
        assert_eq!(found(StatementKinds::Explicit, Position::Object, least, 100).len(), 3);
        assert!(found(StatementKinds::All, Position::Subject, least, 100).is_empty());
    }
}
