//! What a transaction adds is kept aside and written many at once: nobody may see that.

use std::collections::BTreeSet;

use oxrdf::{Literal, Quad};

use super::*;
use crate::tables::TermHasher;
use crate::{GraphPattern, TermId};

/// Numbers in no order, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn quad(&mut self, subjects: u64) -> Quad {
        let (subject, predicate) = (format!("s{}", self.below(subjects)), format!("p{}", self.below(3)));
        let object: Term = match self.below(3) {
            0 => Literal::from(self.below(20) as i64).into(),
            1 => Literal::new_simple_literal(format!("a text that is longer {}", self.below(subjects))).into(),
            _ => iri(&format!("s{}", self.below(subjects))).into(),
        };
        let graph = ["g", "h"].get(self.below(5) as usize).copied();
        quad(&subject, &predicate, object, graph)
    }
}

fn text(quad: &Quad) -> String {
    let graph = match &quad.graph_name {
        GraphName::DefaultGraph => "-".to_owned(),
        name => name.to_string(),
    };
    format!("{} {} {} {graph}", quad.subject, quad.predicate, quad.object)
}

/// Transactions of many insertions, with few of all else between them.
fn run(seed: u64, hasher: TermHasher, infers: bool) {
    println!("seed {seed}, {hasher:?}");
    let place = TestStore::new(StoreOptions::new().hasher(hasher));
    let (mut random, mut committed) = (Random(seed), BTreeSet::new());
    if infers {
        change(&place.store, |txn| txn.insert_inferred(&fact()));
        change(&place.store, |txn| txn.remove_inferred(&fact()));
    }
    for round in 1..=4 {
        let (mut txn, mut model) = (place.store.begin().expect("a transaction"), committed.clone());
        let mut marked = (txn.savepoint(), model.clone());
        for _ in 0..900 {
            let quad = random.quad(60 * round);
            match random.below(300) {
                0 => {
                    let seen: BTreeSet<String> = texts(&txn.view()).into_iter().collect();
                    assert_eq!(seen, model);
                }
                1 => marked = (txn.savepoint(), model.clone()),
                2 => {
                    txn.rollback_to(marked.0).expect("the savepoint is there");
                    model.clone_from(&marked.1);
                }
                3 => {
                    let of_default = IdPattern { graph: GraphPattern::Default, ..IdPattern::ALL };
                    let expected = model.iter().filter(|text| text.ends_with(" -")).count() as u64;
                    assert_eq!(txn.view().count(&of_default).expect("it is counted"), expected);
                }
                4..10 => {
                    assert_eq!(txn.remove(&quad).expect("it is removed"), model.remove(&text(&quad)));
                }
                10..60 => {
                    let object = txn.intern(quad.object.as_ref()).expect("a number");
                    let [subject, predicate] = [quad.subject.as_ref().into(), quad.predicate.as_ref().into()]
                        .map(|term| txn.intern(term).expect("a number"));
                    let ids = crate::IdQuad { subject, predicate, object, graph: TermId::DEFAULT_GRAPH };
                    let quad = Quad { graph_name: GraphName::DefaultGraph, ..quad };
                    assert_eq!(txn.insert_ids(&ids).expect("it is inserted"), model.insert(text(&quad)));
                }
                _ => assert_eq!(txn.insert(&quad).expect("it is inserted"), model.insert(text(&quad)), "{quad}"),
            }
        }
        txn.commit().expect("nobody else commits");
        committed = model;
        let snapshot = place.store.snapshot().expect("a snapshot");
        assert_eq!(texts(&snapshot).into_iter().collect::<BTreeSet<_>>(), committed);
        expect_sound(&place.store);
    }
}

#[test]
fn what_a_transaction_adds_is_seen_at_once_and_is_in_every_index_when_it_has_committed() {
    for seed in 1..=3 {
        run(seed, TermHasher::narrow(128), false);
    }
}

#[test]
fn terms_that_one_transaction_adds_are_told_apart_where_they_have_one_hash() {
    run(4, TermHasher::narrow(3), false);
    run(5, TermHasher::narrow(5), false);
}

#[test]
fn a_store_that_has_had_inferred_quads_takes_what_is_added_all_the_same() {
    run(6, TermHasher::narrow(128), true);
}

#[test]
fn what_a_transaction_that_is_dropped_has_added_is_nowhere() {
    let place = TestStore::new(StoreOptions::new());
    let mut txn = place.store.begin().expect("a transaction");
    txn.insert(&quad("a", "b", iri("c"), Some("g"))).expect("it is inserted");
    drop(txn);
    let stats = place.store.stats().expect("statistics");
    assert_eq!((stats.quads, stats.terms, stats.graphs.len()), (0, 0, 1));
    expect_sound(&place.store);
}
