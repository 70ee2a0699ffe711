//! Stores whose tables hold what this crate never writes: errors, and no panic.

use fulgurite::{Read, Table};

use super::{TestStore, iri, quad};
use crate::model::id::{IdKey, Tag};
use crate::{Error, IdPattern, Quads, StatementKinds, Store, StoreOptions, TermId};

/// Opens a store of three terms after `change` has changed a table.
fn opened_after(
    table: &str,
    change: impl Fn(&mut fulgurite::WriteTxn, &Table) -> fulgurite::Result<()>,
) -> crate::Result<Store> {
    let place = TestStore::new(StoreOptions::new());
    place.store.update(|txn| txn.insert(&quad("a", "p", iri("o"), Some("g")))).expect("it is committed");
    Ok(place.reopen_changed(table, change)?.store)
}

#[test]
fn settings_that_cannot_be_are_damage() {
    let changes: [(&str, &[u8]); 10] = [
        ("next_number", b""),
        ("next_number", b"\0"),
        ("next_number", &[0; 9]),
        ("next_number", &[0xff; 8]),
        // Lower than numbers that were given out.
        ("next_number", &[0; 8]),
        ("orders", b"spo"),
        ("orders", b"spo spo gspo"),
        ("orders", b"\xff"),
        ("hash", b"short"),
        ("hash", &[200; 9]),
    ];
    for (key, value) in changes {
        let opened = opened_after("meta", |txn, meta| txn.put(meta, key.as_bytes(), value));
        assert!(matches!(opened, Err(Error::Damaged { .. })), "{key} {value:?}");
    }
    for key in ["next_number", "orders", "hash"] {
        let opened = opened_after("meta", |txn, meta| txn.delete(meta, key.as_bytes()).map(|_| ()));
        assert!(matches!(opened, Err(Error::Damaged { .. })), "{key}");
    }
    let opened = opened_after("meta", |txn, meta| txn.put(meta, b"format", b"fulgurite-rdf 9"));
    assert!(matches!(opened, Err(Error::Unsupported { .. })));
    let opened = opened_after("meta", |txn, meta| txn.put(meta, b"format", b"something"));
    assert!(matches!(opened, Err(Error::NotAStore { .. })));
}

#[test]
fn a_table_that_is_not_there_is_damage() {
    for table in ["terms", "ids", "graphs", "namespaces", "spo", "posg"] {
        let opened = opened_after(table, |txn, table| txn.drop_table(table));
        assert!(matches!(opened, Err(Error::Damaged { .. })), "{table}");
    }
}

#[test]
fn entries_that_cannot_have_been_written_are_damage_where_they_are_read() {
    let entries: [(&str, &[u8], &[u8]); 6] = [
        ("spo", b"\xff\xff", b""),
        ("gspo", b"\x09", b""),
        ("graphs", b"\x01", b""),
        ("graphs", b"", b""),
        ("terms", b"\x08", b"\x02\x7f"),
        ("terms", b"\x08", b"\x04a literal"),
    ];
    for (table, key, value) in entries {
        let store = opened_after(table, |txn, table| txn.put(table, key, value));
        let outcome = store.and_then(|store| {
            let snapshot = store.snapshot()?;
            if table != "graphs" {
                let mut statements = snapshot.statements(&IdPattern::ALL);
                let read = statements.by_ref().collect::<crate::Result<Vec<_>>>();
                assert!(matches!(read, Err(Error::Damaged { .. })), "{table} {key:?}: {read:?}");
                assert!(statements.next().is_none() && statements.next_batch().is_none());
            }
            let quads: Vec<_> = snapshot.quads(&IdPattern::ALL).collect::<crate::Result<_>>()?;
            let names: Vec<_> = snapshot.graph_names().collect::<crate::Result<_>>()?;
            let quad_terms = quads.iter().flat_map(|quad| [quad.subject, quad.predicate, quad.object]);
            for id in quad_terms.chain(names) {
                snapshot.term(id)?;
            }
            Ok(())
        });
        assert!(matches!(outcome, Err(Error::Damaged { .. })), "{table} {key:?}: {outcome:?}");
    }
}

#[test]
fn a_quad_of_terms_that_cannot_be_in_their_places_is_damage_to_who_reads_statements() {
    // A literal as the subject, a number that has no term as the predicate, a text of no UTF-8 as the object.
    let iri = TermId::new(Tag::IRI, 0);
    let text = |payload| TermId::new(Tag::STRING, payload);
    for ids in [[text(0), iri, iri], [iri, TermId::new(Tag::IRI, 1 << 40), iri], [iri, iri, text(0xff << 48)]] {
        let store = opened_after("spo", |txn, table| txn.put(table, IdKey::of(&ids).as_bytes(), b""));
        let snapshot = store.expect("it opens").snapshot().expect("a snapshot");
        let read = snapshot.statements(&IdPattern::of_graph(TermId::DEFAULT_GRAPH)).next();
        assert!(matches!(read, Some(Err(Error::Damaged { .. }))), "{ids:?}: {read:?}");
    }
}

#[test]
fn a_term_that_is_not_there_is_damage_if_a_quad_of_whatever_kind_has_it() {
    let place = TestStore::new(StoreOptions::new());
    let long = oxrdf::Literal::new_simple_literal("a text that is longer than a number");
    place.store.update(|txn| txn.insert_inferred(&quad("a", "p", long.clone(), None))).expect("it is committed");
    let snapshot = place.store.snapshot().expect("a snapshot");
    let id = snapshot.id(long.as_ref().into()).expect("it is looked up").expect("it is there");
    let terms = place.store.database().open_table("terms").expect("it is there");
    let deleted = place.store.database().update(|txn| txn.delete(&terms, id.key().as_bytes()));
    assert!(deleted.expect("it is committed"));
    let (damaged, txn) = (place.store.snapshot().expect("a snapshot"), place.store.begin().expect("a transaction"));
    for kinds in [StatementKinds::All, StatementKinds::Explicit, StatementKinds::Inferred] {
        for read in [damaged.of_kinds(kinds).term(id), txn.view().of_kinds(kinds).term(id)] {
            assert!(matches!(read, Err(Error::Damaged { .. })), "{kinds:?}: {read:?}");
        }
    }
}

#[test]
fn a_hash_that_leads_nowhere_is_damage() {
    for (table, value) in [("ids", &b"\x09\x7f"[..]), ("ids", b"\xff")] {
        let store = opened_after(table, |txn, table| {
            let keys: Vec<Vec<u8>> =
                txn.range(table, ..)?.map(|entry| entry.map(|(key, _)| key.to_vec())).collect::<Result<_, _>>()?;
            keys.iter().try_for_each(|key| txn.put(table, key, value))
        });
        let snapshot = store.expect("it opens").snapshot().expect("a snapshot");
        assert!(matches!(snapshot.id(iri("a").as_ref().into()), Err(Error::Damaged { .. })), "{value:?}");
    }
}

#[test]
fn a_quad_that_only_some_indexes_have_is_damage_to_who_removes_it() {
    let store = opened_after("gosp", |txn, table| {
        let key = txn.range(table, ..)?.next().expect("it has one")?.0.to_vec();
        txn.delete(table, &key).map(drop)
    });
    let store = store.expect("it opens");
    let removed = quad("a", "p", iri("o"), Some("g"));
    let mut txn = store.begin().expect("a transaction");
    assert!(matches!(txn.remove(&removed), Err(Error::Damaged { .. })));
    assert!(matches!(txn.commit(), Err(Error::TransactionBroken)));
    assert!(store.snapshot().expect("a snapshot").count(&IdPattern::ALL).expect("it is counted") > 0);
}
