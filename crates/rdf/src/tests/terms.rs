//! Terms of every kind, in and out.

use fulgurite::Read;
use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, BlankNode, Literal, NamedNode, Term, Triple};

use super::{TestStore, count, iri, quad, texts};
use crate::model::id::Tag;
use crate::tables::TermHasher;
use crate::{Quads, StoreOptions, TermId, TermKind};

fn terms() -> Vec<Term> {
    let directed = Literal::new_directional_language_tagged_literal_unchecked;
    let mut terms: Vec<Term> = vec![
        iri("a").into(),
        NamedNode::new_unchecked("urn:x").into(),
        NamedNode::new_unchecked(format!("http://example.org/{}", "long/".repeat(30_000))).into(),
        BlankNode::new_unchecked("label").into(),
        Literal::new_simple_literal("").into(),
        Literal::new_simple_literal("short").into(),
        Literal::new_simple_literal("z".repeat(200_000)).into(),
        Literal::new_language_tagged_literal_unchecked("Haus", "de").into(),
        Literal::new_language_tagged_literal_unchecked("a longer text", "en-gb").into(),
        directed("a", "he", BaseDirection::Rtl).into(),
        directed("a", "he", BaseDirection::Ltr).into(),
        Literal::new_typed_literal("http://type", NamedNode::new_unchecked("http://type")).into(),
        Triple::new(iri("a"), iri("b"), Triple::new(iri("a"), iri("b"), Literal::from(1))).into(),
    ];
    for form in ["1", "01", "+1", "1.0", "-0"] {
        for datatype in [xsd::INTEGER, xsd::DECIMAL, xsd::DOUBLE, xsd::BOOLEAN] {
            terms.push(Literal::new_typed_literal(form, datatype).into());
        }
    }
    terms
}

#[test]
fn terms_of_any_kind_and_length_come_back_exactly_after_reopening() {
    let place = TestStore::new(StoreOptions::new());
    for term in terms() {
        let inserted = place.store.update(|txn| txn.insert(&quad("s", "p", term.clone(), None)));
        assert_eq!(inserted.ok(), Some(true), "{term}");
    }
    let place = place.reopen();
    let snapshot = place.store.snapshot().expect("a snapshot");
    assert_eq!(count(&snapshot), terms().len() as u64);
    for term in terms() {
        let id = snapshot.id(term.as_ref()).expect("it is looked up").expect("the term is there");
        assert_eq!(snapshot.term(id).expect("it is read"), term);
        let kind = match term {
            Term::NamedNode(_) => TermKind::Iri,
            Term::BlankNode(_) => TermKind::BlankNode,
            Term::Literal(_) => TermKind::Literal,
            Term::Triple(_) => TermKind::Triple,
        };
        assert_eq!(id.kind(), kind);
    }
    let mut statements = snapshot.statements(&crate::IdPattern::ALL);
    let mut lent = Vec::new();
    while let Some(batch) = statements.next_batch() {
        lent.extend(batch.expect("it is read").iter().map(|statement| statement.object.into_owned()));
    }
    assert_eq!(lent.len(), terms().len());
    assert!(terms().iter().all(|term| lent.contains(term)));
    let absent = Literal::new_simple_literal("a text that is not there");
    assert_eq!(snapshot.id(absent.as_ref().into()).expect("it is looked up"), None);
}

#[test]
fn terms_of_ids_are_read_in_groups_of_every_size_and_mixture() {
    let place = TestStore::new(StoreOptions::new());
    for term in terms() {
        place.store.update(|txn| txn.insert(&quad("s", "p", term.clone(), None))).expect("it is committed");
    }
    let snapshot = place.store.snapshot().expect("a snapshot");
    let id = |term: &Term| snapshot.id(term.as_ref()).expect("it is looked up").expect("the term is there");
    // Every kind follows every other: those of the dictionary, and those that are in their ids.
    let all = terms();
    let mixed: Vec<Term> = (1..all.len()).flat_map(|step| all.iter().step_by(step).cloned()).collect();
    let ids: Vec<TermId> = mixed.iter().map(id).collect();
    for size in [1, 2, 8, 9, 32, 33, ids.len()] {
        let (mut passed, mut read) = (Vec::new(), Vec::new());
        for group in ids.chunks(size) {
            snapshot.for_each_term(group, &mut |term| passed.push(term.into_owned())).expect("they are passed on");
            snapshot.terms(group, &mut |term| read.push(term.into_owned())).expect("they are read");
        }
        assert!(passed == mixed && read == mixed, "{size}");
    }
    snapshot.for_each_term(&[], &mut |term| panic!("{term} was not asked for")).expect("nothing is passed on");
    snapshot.terms(&[], &mut |term| panic!("{term} was not asked for")).expect("nothing is read");
    let missing = [TermId::new(Tag::IRI, 1 << 40), TermId::new(Tag::LITERAL, 1 << 40), TermId::DEFAULT_GRAPH];
    for missing in missing {
        for (before, after) in [(0, 0), (1, 0), (0, 1), (40, 40)] {
            let group = [&ids[..before], &[missing], &ids[..after]].concat();
            let (mut passed, mut read) = (0, 0);
            let outcome = snapshot.for_each_term(&group, &mut |_| passed += 1);
            assert!(matches!(outcome, Err(crate::Error::Damaged { .. })), "{missing:?} {before} {after}");
            assert!(passed <= before, "no term stands for {missing:?}");
            assert!(snapshot.terms(&group, &mut |_| read += 1).is_err(), "{missing:?} {before} {after}");
            assert_eq!(read, 0, "no term stands for {missing:?}");
        }
    }
}

#[test]
fn terms_with_one_hash_are_told_apart() {
    // With two bits most hashes have a chain of several terms.
    let place = TestStore::new(StoreOptions::new().hasher(TermHasher::narrow(2)));
    let insert = |number: usize| {
        let object = Literal::new_simple_literal(format!("a longer text {number}"));
        place.store.update(|txn| txn.insert(&quad(&format!("s{number}"), "p", object.clone(), None)))
    };
    for number in 0..60 {
        assert_eq!(insert(number).ok(), Some(true));
    }
    for number in 0..60 {
        assert_eq!(insert(number).ok(), Some(false));
    }
    let place = place.reopen();
    let snapshot = place.store.snapshot().expect("a snapshot");
    let expected =
        |number| format!("<http://example.org/s{number}> <http://example.org/p> \"a longer text {number}\" -");
    let mut all: Vec<String> = (0..60).map(expected).collect();
    all.sort();
    assert_eq!(texts(&snapshot), all);
    let absent = iri("s60");
    assert_eq!(snapshot.id(absent.as_ref().into()).expect("it is looked up"), None);
}

#[test]
fn triple_terms_that_are_nested_too_deep_are_refused_and_the_transaction_goes_on() {
    let mut term = Term::from(Literal::from(1));
    for _ in 0..100 {
        term = Triple::new(iri("a"), iri("b"), term).into();
    }
    let place = TestStore::new(StoreOptions::new());
    let mut txn = place.store.begin().expect("a transaction");
    let error = txn.insert(&quad("s", "p", term, None)).expect_err("too deep");
    assert!(matches!(error, crate::Error::TooDeep { .. }));
    txn.insert(&quad("s", "p", Literal::from(1), None)).expect("it is inserted");
    txn.commit().expect("it is committed");
    assert_eq!(count(&place.store.snapshot().expect("a snapshot")), 1);
}

#[test]
fn new_blank_nodes_are_new_and_are_found_by_their_labels() {
    let place = TestStore::new(StoreOptions::new());
    let txn = place.store.begin().expect("a transaction");
    let (first, second) = (txn.new_blank_node(), txn.new_blank_node());
    assert_ne!(first, second);
    let label = txn.view().term(first).expect("it has a label");
    assert_eq!(txn.view().id(label.as_ref()).expect("it is looked up"), Some(first));
    assert!(label.is_blank_node());
}

#[test]
fn iris_share_their_namespaces_in_the_file() {
    let place = TestStore::new(StoreOptions::new());
    let inserted = place.store.update(|txn| txn.insert(&quad("one", "two", iri("three"), None)));
    assert_eq!(inserted.ok(), Some(true));
    let snapshot = place.store.snapshot().expect("a snapshot");
    let terms = snapshot.read().range(&snapshot.all_tables().terms, ..).expect("they are read");
    let longest = terms.map(|entry| entry.expect("it is read").1.len()).max();
    assert_eq!(longest, Some("three".len() + 2));
}
