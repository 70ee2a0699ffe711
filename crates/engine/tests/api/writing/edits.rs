//! Changing entries on the way through them: `retain`, `extract_if`, pops, cursors that delete and replace, old values.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::Mutex;

use fulgurite::io::MemoryDisk;
use fulgurite::{
    ConflictReason, Database, Durability, Error, Isolation, MergeOperator, Options, Read, Table, TableOptions,
};
use fulgurite::{Sequence, WriteTxn};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(disk: &MemoryDisk) -> Options {
    let options = Database::options().create(true).background(false).disk(Arc::new(disk.clone()));
    options.page_size_bytes(8192).delta_bytes(64 << 10).durability(Durability::Memory)
}

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number:04}").into_bytes()
}

fn content(txn: &WriteTxn, table: &Table) -> Model {
    txn.range(table, ..).unwrap().map(|entry| entry.unwrap()).map(|(k, v)| (k.to_vec(), v.to_vec())).collect()
}

/// A table with entries in its tree, in runs, in the delta, and in the transaction.
fn fill(db: &Database, table: &Table, model: &mut Model, numbers: &mut Numbers) -> WriteTxn {
    let mut put = |txn: &mut WriteTxn, count: u64| {
        for _ in 0..count {
            let (key, value) = (key(numbers.below(600)), numbers.below(256).to_be_bytes().to_vec());
            if numbers.below(5) == 0 {
                assert_eq!(txn.remove(table, &key).unwrap(), model.remove(&key));
            } else if numbers.below(3) == 0 {
                assert_eq!(txn.replace(table, &key, &value).unwrap(), model.insert(key, value));
            } else if table.merge_operator().is_some() {
                txn.merge(table, &key, &value).unwrap();
                let sum = model.get(&key).map_or(0, |before| u64::from_be_bytes(before[..].try_into().unwrap()));
                let sum = sum.wrapping_add(u64::from_be_bytes(value[..].try_into().unwrap()));
                model.insert(key, sum.to_be_bytes().to_vec());
            } else {
                txn.put(table, &key, &value).unwrap();
                model.insert(key, value);
            }
        }
    };
    for round in 0..3 {
        let mut txn = db.write().unwrap();
        put(&mut txn, 300);
        txn.commit().unwrap();
        if round < 2 {
            db.checkpoint().unwrap();
        }
    }
    let mut txn = db.write().unwrap();
    put(&mut txn, 100);
    txn
}

fn random_bounds(numbers: &mut Numbers) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let (low, high) = (numbers.below(600), numbers.below(600));
    let (low, high) = (key(low.min(high)), key(low.max(high) + 1));
    match numbers.below(4) {
        0 => (Bound::Unbounded, Bound::Excluded(high)),
        1 => (Bound::Excluded(low), Bound::Unbounded),
        2 => (Bound::Unbounded, Bound::Unbounded),
        _ => (Bound::Included(low), Bound::Included(high)),
    }
}

fn as_slices(bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>)) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (bounds.0.as_ref().map(|key| &**key), bounds.1.as_ref().map(|key| &**key))
}

/// Makes one random edit of a transaction and of its model.
fn edit(txn: &mut WriteTxn, table: &Table, model: &mut Model, numbers: &mut Numbers) {
    let bounds = random_bounds(numbers);
    let (modulus, rest) = (1 + numbers.below(7), numbers.below(7));
    let chosen = |key: &[u8], value: &[u8]| {
        (key.iter().chain(value).map(|&byte| u64::from(byte)).sum::<u64>()) % modulus == rest
    };
    let within: Vec<_> = model.range(bounds.clone()).map(|(k, v)| (k.clone(), v.clone())).collect();
    match numbers.below(8) {
        0 => {
            let gone: Vec<_> = within.into_iter().filter(|(key, value)| chosen(key, value)).collect();
            let deleted = txn.retain_in(table, as_slices(&bounds), |key, value| !chosen(key, value)).unwrap();
            assert_eq!(deleted, gone.len() as u64);
            gone.iter().for_each(|(key, _)| drop(model.remove(key)));
        }
        1 => {
            let most = numbers.below(30) as usize;
            let gone: Vec<_> = within.into_iter().filter(|(key, value)| chosen(key, value)).take(most).collect();
            let found = txn.extract_from_if(table, as_slices(&bounds), chosen).unwrap().take(most);
            assert_eq!(found.collect::<Result<Vec<_>, _>>().unwrap(), gone);
            gone.iter().for_each(|(key, _)| drop(model.remove(key)));
        }
        2 => {
            // From both ends, as long as there is anything.
            let mut expected: std::collections::VecDeque<_> =
                within.into_iter().filter(|(key, value)| chosen(key, value)).collect();
            let mut found = txn.extract_from_if(table, as_slices(&bounds), chosen).unwrap();
            loop {
                let back = numbers.below(2) == 0;
                let next = if back { found.next_back() } else { found.next() };
                let wanted = if back { expected.pop_back() } else { expected.pop_front() };
                assert_eq!(next.transpose().unwrap(), wanted);
                match wanted {
                    Some((key, _)) => drop(model.remove(&key)),
                    None => break,
                }
            }
            assert!(found.next().is_none() && found.next_back().is_none());
        }
        3..=4 => {
            for _ in 0..numbers.below(12) {
                let back = numbers.below(2) == 0;
                let unbounded = numbers.below(2) == 0;
                let within = if unbounded { (Bound::Unbounded, Bound::Unbounded) } else { bounds.clone() };
                let wanted = match back {
                    true => model.range(within.clone()).next_back(),
                    false => model.range(within.clone()).next(),
                };
                let wanted = wanted.map(|(k, v)| (k.clone(), v.clone()));
                let found = match (back, unbounded) {
                    (false, true) => txn.pop_first(table),
                    (true, true) => txn.pop_last(table),
                    (false, false) => txn.pop_first_in(table, as_slices(&within)),
                    (true, false) => txn.pop_last_in(table, as_slices(&within)),
                };
                assert_eq!(found.unwrap(), wanted);
                wanted.iter().for_each(|(key, _)| drop(model.remove(key)));
                if numbers.below(4) == 0 {
                    // Below what was popped.
                    let (key, value) = (key(numbers.below(600)), vec![1; 8]);
                    match numbers.below(2) {
                        0 => txn.put(table, &key, &value).unwrap(),
                        _ => txn.put_many(table, [(&key, &value)]).unwrap(),
                    }
                    model.insert(key, value);
                }
            }
        }
        _ => walk(txn, table, model, numbers),
    }
}

/// Moves a cursor about, and deletes and replaces where it comes by.
fn walk(txn: &mut WriteTxn, table: &Table, model: &mut Model, numbers: &mut Numbers) {
    let mut cursor = txn.cursor_mut(table).unwrap();
    // Where the cursor stands: at a key, which may be deleted, or at an end.
    enum At {
        First,
        Key(Vec<u8>, bool),
        Last,
    }
    let mut at = At::First;
    let owned = |entry: fulgurite::Result<Option<(fulgurite::Value<'_>, fulgurite::Value<'_>)>>| {
        entry.unwrap().map(|(key, value)| (key.to_vec(), value.to_vec()))
    };
    let above = |model: &Model, key: Bound<Vec<u8>>| {
        model.range((key, Bound::Unbounded)).next().map(|(k, v)| (k.clone(), v.clone()))
    };
    let below = |model: &Model, key: Bound<Vec<u8>>| {
        model.range((Bound::Unbounded, key)).next_back().map(|(k, v)| (k.clone(), v.clone()))
    };
    for _ in 0..60 {
        let (found, wanted, up) = match numbers.below(12) {
            0 => {
                let key = key(numbers.below(600));
                (owned(cursor.seek(&key)), above(model, Bound::Included(key)), true)
            }
            1 => (owned(cursor.first()), above(model, Bound::Unbounded), true),
            2 => (owned(cursor.last()), below(model, Bound::Unbounded), false),
            3..=5 => {
                let wanted = match &at {
                    At::First => above(model, Bound::Unbounded),
                    At::Key(key, _) => above(model, Bound::Excluded(key.clone())),
                    At::Last => None,
                };
                (owned(cursor.next()), wanted, true)
            }
            6..=8 => {
                let wanted = match &at {
                    At::First => None,
                    At::Key(key, _) => below(model, Bound::Excluded(key.clone())),
                    At::Last => below(model, Bound::Unbounded),
                };
                (owned(cursor.previous()), wanted, false)
            }
            9..=10 => {
                let is_there = matches!(at, At::Key(_, true));
                assert_eq!(cursor.delete_current().unwrap(), is_there);
                if let At::Key(key, present) = &mut at {
                    model.remove(key);
                    *present = false;
                }
                continue;
            }
            _ => {
                let value = numbers.below(100).to_be_bytes();
                let is_there = matches!(at, At::Key(_, true));
                assert_eq!(cursor.put_current(&value).unwrap(), is_there);
                if let At::Key(key, true) = &at {
                    model.insert(key.clone(), value.to_vec());
                }
                continue;
            }
        };
        assert_eq!(found, wanted);
        at = match wanted {
            Some((key, _)) => At::Key(key, true),
            None if up => At::Last,
            None => At::First,
        };
    }
}

#[test]
fn edits_do_in_every_layer_what_a_map_does_also_when_they_spill() {
    for seed in 0..48 {
        println!("seed {seed}");
        let (disk, mut numbers) = (MemoryDisk::new(), Numbers(seed));
        let isolation = if seed % 2 == 0 { Isolation::Serializable } else { Isolation::Snapshot };
        let memory = if seed % 3 == 0 { 1 << 10 } else { 64 << 20 };
        let db = options(&disk).write_set_bytes(memory).isolation(isolation).open("a.ful").unwrap();
        let plain = TableOptions::new().packed(seed % 4 == 0);
        let plain = if seed % 5 == 0 { plain.merge(MergeOperator::Add) } else { plain };
        let table = db.create_table("t", plain).unwrap();
        let mut model = Model::new();
        let mut txn = fill(&db, &table, &mut model, &mut numbers);
        for step in 0..12 {
            let before = (txn.savepoint(), model.clone());
            edit(&mut txn, &table, &mut model, &mut numbers);
            assert!(content(&txn, &table) == model, "seed {seed}, step {step}");
            if numbers.below(5) == 0 {
                txn.rollback_to(before.0).unwrap();
                model = before.1;
                assert!(content(&txn, &table) == model, "seed {seed}, step {step}: undone");
            }
        }
        assert!(seed % 3 != 0 || txn.spilled_bytes() > 0);
        txn.commit().unwrap();
        assert!(content(&db.write().unwrap(), &table) == model, "seed {seed}");
        assert!(db.check().unwrap().is_sound());
    }
}

/// The letters `a` to `j`, in the tree or in the delta.
fn letters(merged: bool) -> (Database, Table) {
    let db = options(&MemoryDisk::new()).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| (b'a'..=b'j').try_for_each(|letter| txn.put(&table, &[letter], &[letter]))).unwrap();
    if merged {
        db.checkpoint().unwrap();
    }
    (db, table)
}

type EditOf = fn(&mut WriteTxn, &Table);

/// Edits, and for each a key whose change is a conflict with it, and one whose change is none.
const EDITS: [(&str, EditOf, &[u8], &[u8]); 11] = [
    (
        "retain_in",
        |txn, table| assert_eq!(txn.retain_in(table, &b"c"[..]..&b"f"[..], |key, _| key != b"d").unwrap(), 1),
        b"ee",
        b"f",
    ),
    (
        "retain_in that deletes nothing",
        |txn, table| assert_eq!(txn.retain_in(table, &b"c"[..]..&b"f"[..], |_, _| true).unwrap(), 0),
        b"cc",
        b"bb",
    ),
    (
        "extract_if, left",
        |txn, table| drop(txn.extract_if(table, |key, _| key == b"c").unwrap().next().unwrap().unwrap()),
        b"bb",
        b"cc",
    ),
    (
        "extract_if from the end, left",
        |txn, table| drop(txn.extract_if(table, |key, _| key == b"h").unwrap().next_back().unwrap().unwrap()),
        b"i",
        b"gg",
    ),
    (
        "extract_if to its end",
        |txn, table| assert_eq!(txn.extract_from_if(table, ..&b"c"[..], |_, _| false).unwrap().count(), 0),
        b"aa",
        b"c",
    ),
    (
        "extract_if, leaked",
        |txn, table| std::mem::forget(txn.extract_from_if(table, ..&b"c"[..], |_, _| true).unwrap()),
        b"bb",
        b"c",
    ),
    ("pop_first", |txn, table| assert!(txn.pop_first(table).unwrap().is_some()), b"A", b"b"),
    ("pop_last", |txn, table| assert!(txn.pop_last(table).unwrap().is_some()), b"k", b"i"),
    ("pop_first_in", |txn, table| assert!(txn.pop_first_in(table, &b"c"[..]..).unwrap().is_some()), b"c", b"b"),
    ("second pop_first", |txn, table| (0..2).for_each(|_| drop(txn.pop_first(table).unwrap().unwrap())), b"aa", b"bb"),
    (
        "cursor_mut",
        |txn, table| {
            let mut cursor = txn.cursor_mut(table).unwrap();
            cursor.seek(b"c").unwrap();
            cursor.next().unwrap();
            cursor.delete_current().unwrap();
        },
        b"cc",
        b"dd",
    ),
];

#[test]
fn what_an_edit_went_through_conflicts_and_what_it_did_not_reach_does_not() {
    for merged in [false, true] {
        for (what, edit, conflicting, harmless) in EDITS {
            for (key, conflicts) in [(conflicting, true), (harmless, false)] {
                let (db, table) = letters(merged);
                let mut txn = db.write().unwrap();
                edit(&mut txn, &table);
                txn.put(&table, b"~", b"").unwrap();
                db.update(|other| other.put(&table, key, b"changed")).unwrap();
                let outcome: fulgurite::Result<Sequence> = txn.commit();
                let is_conflict = matches!(
                    &outcome,
                    Err(Error::Conflict { reason: ConflictReason::Range | ConflictReason::Read, .. })
                );
                assert_eq!(is_conflict, conflicts, "{what}, {key:?}, merged {merged}: {outcome:?}");
                assert!(is_conflict || outcome.is_ok(), "{what}: {outcome:?}");
            }
        }
    }
}

#[test]
fn old_values_count_as_read_and_plain_puts_do_not() {
    for (replaces, conflicts) in [(true, true), (false, false)] {
        let (db, table) = letters(true);
        let mut txn = db.write().unwrap();
        if replaces {
            assert_eq!(txn.replace(&table, b"c", b"new").unwrap(), Some(b"c".to_vec()));
        } else {
            txn.put(&table, b"c", b"new").unwrap();
        }
        db.update(|other| other.put(&table, b"c", b"other")).unwrap();
        assert_eq!(txn.commit().is_err(), conflicts);
    }
    let (db, table) = letters(false);
    let mut txn = db.write().unwrap();
    assert_eq!(txn.remove(&table, b"c").unwrap(), Some(b"c".to_vec()));
    assert_eq!(txn.remove(&table, b"c").unwrap(), None);
    assert_eq!(txn.replace(&table, b"c", b"1").unwrap(), None);
    assert_eq!(txn.replace(&table, b"c", b"2").unwrap(), Some(b"1".to_vec()));
}

#[test]
fn entries_that_several_threads_pop_are_popped_once_each() {
    const ENTRIES: u64 = 400;
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::options().create(true).durability(Durability::Memory).isolation(isolation);
        let db = db.open(directory.path().join("a.ful")).unwrap();
        let queue = db.create_table("queue", TableOptions::new()).unwrap();
        db.update(|txn| (0..ENTRIES).try_for_each(|number| txn.put(&queue, &number.to_be_bytes(), b""))).unwrap();
        let popped = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (db, queue, popped) = (&db, &queue, &popped);
                scope.spawn(move || {
                    loop {
                        // Both ends are popped.
                        let next =
                            db.update(|txn| if thread % 2 == 0 { txn.pop_first(queue) } else { txn.pop_last(queue) });
                        match next {
                            Ok(Some((key, _))) => popped.lock().unwrap().push(key),
                            Ok(None) => break,
                            Err(error) => assert!(error.is_retryable(), "{error}"),
                        }
                    }
                });
            }
        });
        let mut popped = popped.into_inner().unwrap();
        popped.sort();
        assert_eq!(popped, (0..ENTRIES).map(|number| number.to_be_bytes().to_vec()).collect::<Vec<_>>());
        assert!(db.read().unwrap().is_empty(&queue).unwrap());
    }
}

#[test]
fn typed_tables_and_multimaps_are_edited_by_their_types() {
    let db = options(&MemoryDisk::new()).open("a.ful").unwrap();
    let ages = db.typed_table::<String, u32>("ages").unwrap();
    let words = db.multimap_table::<String, u64>("words").unwrap();
    let mut txn = db.write().unwrap();
    for (name, age) in [("ada", 36), ("alan", 41), ("eve", 7), ("bob", 12)] {
        ages.put(&mut txn, name, age).unwrap();
        words.insert(&mut txn, &name[..1], u64::from(age)).unwrap();
    }
    assert_eq!(ages.replace(&mut txn, "eve", 8u32).unwrap(), Some(7));
    assert_eq!(ages.remove(&mut txn, "bob").unwrap(), Some(12));
    assert_eq!(ages.remove(&mut txn, "bob").unwrap(), None);
    assert_eq!(ages.retain_in(&mut txn, ..="alan", |_, age| age > 40).unwrap(), 1);
    assert_eq!(ages.pop_last(&mut txn).unwrap(), Some(("eve".to_owned(), 8)));
    assert_eq!(ages.pop_first(&mut txn).unwrap(), Some(("alan".to_owned(), 41)));
    assert_eq!(ages.pop_first(&mut txn).unwrap(), None);
    ages.put(&mut txn, "x", 1u32).unwrap();
    assert_eq!(ages.retain(&mut txn, |name, _| name != "x").unwrap(), 1);
    assert_eq!(words.retain(&mut txn, |_, age| age != 36).unwrap(), 1);
    assert_eq!(words.pop_first(&mut txn).unwrap(), Some(("a".to_owned(), 41)));
    assert_eq!(words.pop_last(&mut txn).unwrap(), Some(("e".to_owned(), 7)));
}

/// Each pop of a transaction passed all that the ones before it had deleted: this took hours.
#[test]
fn a_transaction_pops_a_whole_table_in_time_that_grows_with_its_entries() {
    const ENTRIES: u64 = 200_000;
    let db = options(&MemoryDisk::new()).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.bulk_load(&table, (0..ENTRIES).map(|number| (number.to_be_bytes(), []))).unwrap();
    let mut txn = db.write_with(Isolation::Snapshot).unwrap();
    let mut popped = 0;
    while txn.pop_first(&table).unwrap().is_some() {
        popped += 1;
        popped += u64::from(txn.pop_last(&table).unwrap().is_some());
    }
    assert_eq!(popped, ENTRIES);
}
