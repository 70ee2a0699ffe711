//! What a check calls sound, and what it says of tables that hold what this crate never writes.

use fulgurite::{Read, Table, WriteTxn};
use oxrdf::{Literal, Triple};

use super::{TestStore, iri, quad};
use crate::dictionary::bytes;
use crate::model::id::{Tag, TermId};
use crate::tables::TermHasher;
use crate::{LoadInput, LoadOptions, RdfFormat, StoreOptions};

const LONG: &str = "a text that is longer than a number";

fn place() -> TestStore {
    let place = TestStore::new(StoreOptions::new().hash_seed(7));
    let changed = place.store.update(|txn| {
        txn.set_namespace("ex", "http://example.org/")?;
        txn.insert(&quad("a", "p", iri("o"), Some("g")))?;
        txn.insert(&quad("a", "p", Literal::from(3), None))?;
        txn.insert(&quad("a", "p", Literal::new_simple_literal(LONG), None))
    });
    changed.expect("it is committed");
    place
}

/// The defects of a store after `change` has changed a table.
fn defects_after(table: &str, change: impl Fn(&mut WriteTxn, &Table) -> fulgurite::Result<()>) -> Vec<String> {
    let place = place().reopen_changed(table, change).expect("it opens");
    let check = place.store.check().expect("it is checked");
    assert!(check.pages.is_sound() && !check.is_sound(), "{check:?}");
    check.defects
}

/// The number of a term of the store.
fn id_of(term: impl Into<oxrdf::Term>) -> TermId {
    let place = place();
    let id = place.store.snapshot().and_then(|snapshot| crate::Quads::id(&snapshot, term.into().as_ref()));
    id.expect("it is looked up").expect("the term is there")
}

fn encoded(term: impl Into<oxrdf::Term>) -> Vec<u8> {
    let mut out = Vec::new();
    bytes::encode(term.into().as_ref(), &mut out).expect("not too deep");
    out
}

#[test]
fn what_all_calls_leave_is_sound_and_unused_terms_are_counted() {
    for hasher in [TermHasher::of_seed(1), TermHasher::narrow(2), TermHasher::narrow(0)] {
        let place = TestStore::new(StoreOptions::new().hasher(hasher));
        let document = format!("_:x <http://example.org/p> \"{LONG}\", <<( _:x <http://example.org/p> _:y )>> .");
        let input = LoadInput::reader("a", std::io::Cursor::new(document), RdfFormat::Turtle);
        place.store.load(vec![input], &LoadOptions::new()).expect("it is loaded");
        let changed = place.store.update(|txn| {
            for number in 0..60 {
                let object = Triple::new(iri("s"), iri("p"), Literal::new_simple_literal(format!("{LONG} {number}")));
                txn.insert(&quad("a", "p", object, ["g", "h"].get(number % 3).copied()))?;
            }
            let savepoint = txn.savepoint();
            txn.insert(&quad("never", "p", iri("never again"), None))?;
            txn.rollback_to(savepoint)?;
            txn.drop_graph(iri("h").as_ref().into())?;
            txn.create_graph(iri("empty").as_ref().into())
        });
        changed.expect("it is committed");
        let before = place.store.check().expect("it is checked");
        assert!(before.is_sound() && before.terms > 60 && before.quads == 42, "{before:?}");
        place.store.update(|txn| txn.remove(&quad("a", "p", iri("o"), None))).expect("it is committed");
        place.store.update(|txn| txn.clear_graph(iri("g").as_ref().into())).expect("it is committed");
        let after = place.reopen().store.check().expect("it is checked");
        assert!(after.is_sound(), "{after:?}");
        assert!(after.unused_terms >= before.unused_terms + 20, "{before:?} {after:?}");
    }
}

#[test]
fn each_thing_that_can_be_wrong_is_told() {
    let long = Literal::new_simple_literal(LONG);
    let (literal, object) = (id_of(long.clone()).key(), id_of(iri("o")).key());
    let next = TermId::new(Tag::LITERAL, 40).key();
    let hash = TermHasher::of_seed(7).hash(&encoded(long)).to_be_bytes();
    let no_boolean = TermId::new(Tag::BOOLEAN, 7).key();
    let default_key =
        |object: &[u8]| [id_of(iri("a")).key().as_bytes(), id_of(iri("p")).key().as_bytes(), object].concat();
    let cases: [(&str, Vec<u8>, Vec<u8>, &str); 17] = [
        ("terms", literal.as_bytes().into(), encoded(iri("other")), "of another kind"),
        ("terms", literal.as_bytes().into(), b"\x04another text".to_vec(), "no hash leads to it"),
        ("terms", literal.as_bytes().into(), b"\x04short".to_vec(), "in another way than it is looked for"),
        ("terms", literal.as_bytes().into(), b"\x63".to_vec(), "its bytes are no term"),
        ("terms", object.as_bytes().into(), b"\x02\x7frest".to_vec(), "namespace is not there"),
        ("terms", b"\xff".to_vec(), Vec::new(), "not a number of a term"),
        ("ids", hash.to_vec(), Vec::new(), "it leads nowhere"),
        ("ids", hash.to_vec(), b"\x08\x08".to_vec(), "a term that it leads to has another hash"),
        ("ids", hash.to_vec(), next.as_bytes().into(), "not in the dictionary"),
        ("ids", hash.to_vec(), b"\x49\x01".to_vec(), "leads to what is not a number of a term"),
        ("graphs", literal.as_bytes().into(), Vec::new(), "the key names no graph"),
        ("graphs", next.as_bytes().into(), Vec::new(), "the key names no graph"),
        ("spo", default_key(no_boolean.as_bytes()), Vec::new(), "one of its terms is not in the dictionary"),
        ("spo", default_key(b"\xff"), Vec::new(), "it is not a quad"),
        ("pos", b"\x08".to_vec(), Vec::new(), "it is not a quad"),
        ("spo", default_key(object.as_bytes()), Vec::new(), "another index does not have this quad"),
        ("iri_namespaces", b"\0\xff\0\0\0".to_vec(), b"http://example.org/x/".to_vec(), "not a number and text"),
    ];
    for (table, key, value, offence) in cases {
        let defects = defects_after(table, |txn, table| txn.put(table, &key, &value));
        assert!(defects.iter().any(|defect| defect.contains(offence)), "{table} {key:02x?}: {defects:?}");
    }
}

#[test]
fn a_term_that_has_two_numbers_is_told() {
    let (place, long) = (place(), Literal::new_simple_literal(LONG));
    let (first, second) = (id_of(long.clone()).key(), TermId::new(Tag::LITERAL, 40).key());
    let database = place.store.database();
    let [terms, ids] = ["terms", "ids"].map(|name| database.open_table(name).expect("the table is there"));
    let changed = database.update(|txn| {
        txn.put(&terms, second.as_bytes(), &encoded(long.clone()))?;
        let hash = TermHasher::of_seed(7).hash(&encoded(long.clone())).to_be_bytes();
        txn.put(&ids, &hash, &[first.as_bytes(), second.as_bytes()].concat())
    });
    changed.expect("it is changed");
    let check = place.store.check().expect("it is checked");
    assert!(check.defects.iter().any(|defect| defect.contains("one term by two numbers")), "{check:?}");
}

#[test]
fn quads_that_one_index_has_and_another_has_not_are_told_in_both_directions() {
    let first = |txn: &WriteTxn, table: &Table| -> fulgurite::Result<Vec<u8>> {
        Ok(txn.range(table, ..)?.next().expect("it has one")?.0.to_vec())
    };
    for table in ["spo", "pos", "osp", "gspo", "posg"] {
        let defects = defects_after(table, |txn, table| {
            let key = first(txn, table)?;
            txn.delete(table, &key).map(drop)
        });
        assert!(defects.iter().any(|defect| defect.contains("another index does not have")), "{table}: {defects:?}");
    }
    let defects = defects_after("graphs", |txn, table| {
        let key = first(txn, table)?;
        txn.delete(table, &key).map(drop)
    });
    assert!(defects.iter().any(|defect| defect.contains("its graph is not listed")), "{defects:?}");
    let defects = defects_after("iri_namespaces", |txn, table| {
        let key = first(txn, table)?;
        txn.delete(table, &key).map(drop)
    });
    assert!(defects.iter().any(|defect| defect.contains("the other direction")), "{defects:?}");
    let defects = defects_after("namespaces", |txn, table| txn.put(table, b"bad", b"\xff"));
    assert!(defects.iter().any(|defect| defect.contains("not UTF-8")), "{defects:?}");
}

#[test]
fn of_an_offence_that_is_everywhere_the_first_are_told_and_the_rest_counted() {
    let place = place()
        .reopen_changed("spo", |txn, table| (0..50).try_for_each(|number: u8| txn.put(table, &[0xff, number], &[])));
    let check = place.expect("it opens").store.check().expect("it is checked");
    let told = check.defects.iter().filter(|defect| defect.contains("it is not a quad")).count();
    assert_eq!((told, check.more_defects), (10, 40), "{check:?}");
}
