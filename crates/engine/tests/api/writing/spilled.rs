//! Transactions that are larger than the memory they may take: what they read, undo, commit and leave behind is what
//! a small one would.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{
    Change, ConflictReason, Database, Durability, Error, Isolation, MergeOperator, Options, Read, Sequence, Table,
    TableOptions, WriteTxn,
};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn options(disk: &MemoryDisk) -> Options {
    let options = Database::options().create(true).background(false).disk(Arc::new(disk.clone()));
    options.page_size_bytes(8192).write_set_bytes(8 << 10).delta_bytes(256 << 10)
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number:06}").into_bytes()
}

fn value(seed: u64) -> Vec<u8> {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().repeat(1 + (seed % 9) as usize)
}

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn expect_sound(db: &Database) {
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{:?}", report.damages);
    db.stats().unwrap().accounts_for_every_byte().unwrap();
}

/// Nothing of the file is taken by a transaction any more.
fn expect_nothing_placed(db: &Database) {
    expect_sound(db);
    assert_eq!(db.stats().unwrap().placed_bytes, 0);
}

fn spilled_bytes(db: &Database) -> u64 {
    db.stats().unwrap().spilled_bytes
}

fn expect_table(db: &Database, table: &Table, model: &Model) {
    let txn = db.read().unwrap();
    let found: Model =
        txn.range(table, ..).unwrap().map(|entry| entry.unwrap()).map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
    assert!(found == *model, "{} entries, not {}", found.len(), model.len());
    assert_eq!(txn.len(table).unwrap(), model.len() as u64);
}

/// Everything that a transaction can read, against the model.
fn compare(txn: &WriteTxn, table: &Table, model: &Model, numbers: &mut Numbers) {
    let (low, high) = (key(numbers.below(1200)), key(numbers.below(1200)));
    let (low, high) = if low <= high { (low, high) } else { (high, low) };
    let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
    let expected: Vec<_> = model.range::<[u8], _>(bounds).map(|(k, v)| (k.clone(), v.clone())).collect();
    let pair = |entry: fulgurite::Result<(fulgurite::Value<'_>, fulgurite::Value<'_>)>| {
        let (key, value) = entry.unwrap();
        (key.to_vec(), value.to_vec())
    };
    let found: Vec<_> = txn.range(table, &low[..]..&high[..]).unwrap().map(pair).collect();
    assert!(found == expected, "up from {low:?} to {high:?}");
    let mut found: Vec<_> = txn.range(table, &low[..]..&high[..]).unwrap().rev().map(pair).collect();
    found.reverse();
    assert!(found == expected, "down from {high:?} to {low:?}");
    assert_eq!(txn.count(table, &low[..]..&high[..]).unwrap(), expected.len() as u64);
    let estimate = txn.estimate_count(table, ..).unwrap();
    assert!(estimate.low <= model.len() as u64 && model.len() as u64 <= estimate.high, "{estimate:?}");
    assert_eq!(txn.len(table).unwrap(), model.len() as u64);
    assert_eq!(txn.first(table).unwrap().map(|(k, _)| k.to_vec()), model.keys().next().cloned());
    assert_eq!(txn.last(table).unwrap().map(|(k, _)| k.to_vec()), model.keys().next_back().cloned());
    let wanted: Vec<_> = (0..70).map(|_| key(numbers.below(1200))).collect();
    let slices: Vec<&[u8]> = wanted.iter().map(Vec::as_slice).collect();
    for (key, found) in wanted.iter().zip(txn.get_many(table, &slices).unwrap()) {
        assert_eq!(found.as_deref(), model.get(key).map(Vec::as_slice), "{key:?}");
        assert_eq!(txn.get(table, key).unwrap().as_deref(), model.get(key).map(Vec::as_slice), "{key:?}");
    }
    let mut cursor = txn.cursor(table).unwrap();
    let found = cursor.seek(&low).unwrap().map(|(key, _)| key.to_vec());
    assert_eq!(
        found,
        model.range::<[u8], _>((Bound::Included(&low[..]), Bound::Unbounded)).next().map(|(k, _)| k.clone())
    );
}

fn change(txn: &mut WriteTxn, table: &Table, model: &mut Model, numbers: &mut Numbers) {
    let key = key(numbers.below(1200));
    match numbers.below(20) {
        0..=10 => {
            let value = value(numbers.below(u64::MAX >> 1));
            txn.put(table, &key, &value).unwrap();
            model.insert(key, value);
        }
        11 => {
            txn.reserve(table, &key, 5, |bytes| bytes.fill(b'r')).unwrap();
            model.insert(key, b"rrrrr".to_vec());
        }
        12 => {
            let flip = |bytes: &mut [u8]| bytes.iter_mut().for_each(|byte| *byte ^= 1);
            let (found, value) = (txn.modify(table, &key, flip).unwrap(), model.get_mut(&key));
            assert_eq!(found.is_some(), value.is_some());
            if let Some(value) = value {
                flip(value);
            }
        }
        13..=15 => assert_eq!(txn.delete(table, &key).unwrap(), model.remove(&key).is_some()),
        16 => {
            let end = [&key[..key.len() - 1], b"~"].concat();
            let bounds = (Bound::Included(&key[..]), Bound::Excluded(&end[..]));
            let gone: Vec<_> = model.range::<[u8], _>(bounds).map(|(k, _)| k.clone()).collect();
            assert_eq!(txn.delete_range(table, &key[..]..&end[..]).unwrap(), gone.len() as u64);
            gone.iter().for_each(|key| drop(model.remove(key)));
        }
        17 => {
            let long = [&key[..], &[b'x'; 1500]].concat();
            txn.put(table, &long, &[7; 9_000]).unwrap();
            model.insert(long, vec![7; 9_000]);
        }
        18 => {
            let large = value(numbers.below(u64::MAX >> 1)).repeat(9_000);
            txn.put(table, &key, &large).unwrap();
            model.insert(key, large);
        }
        _ => {
            let done = txn.compare_and_set(table, &key, model.get(&key).map(Vec::as_slice), Some(b"set")).unwrap();
            assert!(done);
            model.insert(key, b"set".to_vec());
        }
    }
}

#[test]
fn a_transaction_far_over_its_budget_reads_undoes_and_commits_like_a_map() {
    for (seed, map) in [(1, true), (2, false), (3, true), (4, true)] {
        let disk = MemoryDisk::new();
        let open = || options(&disk).map(map).open("a.ful").unwrap();
        let mut db = open();
        let mut table = db.create_table("t", TableOptions::new().counted(seed == 4)).unwrap();
        let mut model: Model = (0..600).map(|number| (key(2 * number), value(number))).collect();
        db.bulk_load(&table, model.iter()).unwrap();
        let (mut numbers, mut spilled_rounds) = (Numbers(seed), 0);
        for round in 0..6 {
            let before = (db.read().unwrap(), model.clone());
            let mut txn = db.write().unwrap();
            let mut after = model.clone();
            let mut savepoints = Vec::new();
            for step in 0..900 {
                match numbers.below(60) {
                    0 => savepoints.push((txn.savepoint(), after.clone())),
                    1 if !savepoints.is_empty() => {
                        savepoints.truncate(1 + numbers.below(savepoints.len() as u64) as usize);
                        let (savepoint, then) = savepoints.last().unwrap();
                        txn.rollback_to(*savepoint).unwrap();
                        after = then.clone();
                        compare(&txn, &table, &after, &mut numbers);
                    }
                    _ => change(&mut txn, &table, &mut after, &mut numbers),
                }
                if step % 90 == 0 {
                    compare(&txn, &table, &after, &mut numbers);
                }
                if step == 500 {
                    db.checkpoint().unwrap();
                }
            }
            compare(&txn, &table, &after, &mut numbers);
            spilled_rounds += u32::from(txn.spilled_bytes() > 0);
            expect_table(&db, &table, &model);
            if round % 3 == 2 {
                drop(txn);
            } else {
                let newest = db.read().unwrap().sequence();
                let sequence = txn.commit_with([Durability::Memory, Durability::Disk][round % 2]).unwrap();
                assert!(sequence > newest && db.read().unwrap().sequence() == sequence);
                model = after;
            }
            expect_table(&db, &table, &model);
            expect_nothing_placed(&db);
            let old: Model = before
                .0
                .range(&table, ..)
                .unwrap()
                .map(|e| e.unwrap())
                .map(|(k, v)| (k.to_vec(), v.to_vec()))
                .collect();
            assert!(old == before.1, "a snapshot stays what it was");
            drop(before);
            if round % 2 == 1 {
                drop(db);
                db = open();
                table = db.open_table("t").unwrap();
                expect_table(&db, &table, &model);
                expect_sound(&db);
            }
        }
        // A return to an early savepoint may leave nothing of what was spilled.
        assert!(spilled_rounds >= 4, "{spilled_rounds} of 6 transactions had spilled at their end");
    }
}

#[test]
fn savepoints_before_between_and_after_spills_are_returned_to() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    let mut model = Model::new();
    let mut savepoints = vec![(txn.savepoint(), model.clone())];
    let mut numbers = Numbers(9);
    // So many that layers are joined, and savepoints lie within them.
    for number in 0..4_000 {
        let (key, value) = (key(numbers.below(1200)), value(number));
        txn.put(&table, &key, &value).unwrap();
        model.insert(key, value);
        if number % 50 == 0 {
            savepoints.push((txn.savepoint(), model.clone()));
        }
    }
    assert!(spilled_bytes(&db) > 100 << 10);
    // Nothing was undone so far: what else takes less than was written is layers that were joined.
    assert!(txn.spilled_bytes() > 0 && txn.spilled_bytes() < spilled_bytes(&db), "layers were joined");
    while let Some((savepoint, then)) = savepoints.pop() {
        if savepoints.len() % 3 == 1 {
            txn.rollback_to(savepoint).unwrap();
            compare(&txn, &table, &then, &mut numbers);
            // What comes after a return is undone by the next.
            (0..200).for_each(|number| txn.put(&table, &key(number), b"in vain").unwrap());
        } else if savepoints.len() % 3 == 2 {
            txn.rollback_to(savepoint).unwrap();
            assert!(txn.rollback_to(savepoint).is_ok(), "it may be returned to again");
        }
    }
    let placed = db.stats().unwrap().placed_bytes;
    let start = txn.savepoint();
    txn.rollback_to(start).unwrap();
    assert_eq!(db.stats().unwrap().placed_bytes, placed);
    drop(txn);
    expect_nothing_placed(&db);
    assert!(db.read().unwrap().is_empty(&table).unwrap());
}

#[test]
fn a_return_to_the_beginning_gives_all_space_back() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    let start = txn.savepoint();
    (0..2_000).for_each(|number| txn.put(&table, &key(number), &value(number)).unwrap());
    assert!(db.stats().unwrap().placed_bytes > 0);
    txn.rollback_to(start).unwrap();
    assert_eq!(db.stats().unwrap().placed_bytes, 0);
    assert!(txn.is_empty(&table).unwrap());
    txn.put(&table, b"k", b"small again").unwrap();
    txn.commit().unwrap();
    expect_table(&db, &table, &Model::from([(b"k".to_vec(), b"small again".to_vec())]));
}

#[test]
fn merges_that_were_spilled_come_to_the_values_that_others_left() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let counts = db.create_table("counts", TableOptions::new().merge(MergeOperator::Add)).unwrap();
    let lists = db.create_table("lists", TableOptions::new().merge(MergeOperator::Append)).unwrap();
    db.update(|txn| (0..300).try_for_each(|n| txn.put(&counts, &key(n), &10_u64.to_be_bytes()))).unwrap();
    let mut txn = db.write().unwrap();
    for round in 0..4_u64 {
        for number in 0..600 {
            txn.merge(&counts, &key(number), &1_u64.to_be_bytes()).unwrap();
            txn.merge(&lists, &key(number), &[b'a' + round as u8]).unwrap();
        }
        txn.delete(&counts, &key(round)).unwrap();
    }
    assert!(spilled_bytes(&db) > 0);
    // Another one is faster, and no conflict: it merges too.
    db.update(|txn| {
        txn.merge(&counts, &key(100), &1000_u64.to_be_bytes())?;
        txn.merge(&lists, &key(100), b"other ")
    })
    .unwrap();
    txn.commit().unwrap();
    let read = db.read().unwrap();
    for number in 0..600 {
        // Deleted in a round, merged in those after.
        let expected = match number {
            0..4 => 3 - number,
            100 => 1014,
            101..300 | 4..100 => 14,
            _ => 4,
        };
        let found = read.get(&counts, &key(number)).unwrap();
        let expected = (number != 3).then(|| expected.to_be_bytes());
        assert_eq!(found.as_deref(), expected.as_ref().map(|bytes| &bytes[..]), "{number}");
        let list = read.get(&lists, &key(number)).unwrap().unwrap();
        assert_eq!(list, if number == 100 { &b"other abcd"[..] } else { b"abcd" });
    }
    drop(read);
    expect_nothing_placed(&db);
}

#[test]
fn others_that_changed_what_was_read_are_a_conflict_and_those_that_did_not_are_none() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let disk = MemoryDisk::new();
        let db = options(&disk).isolation(isolation).open("a.ful").unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        let fill = |txn: &mut WriteTxn| (0..1_000).for_each(|n| txn.put(&table, &key(n), &value(n)).unwrap());
        // A key that both write, and the large one reads at `Serializable`.
        let mut txn = db.write().unwrap();
        assert!(txn.get(&table, &key(500)).unwrap().is_none());
        fill(&mut txn);
        db.update(|txn| txn.put(&table, &key(500), b"first")).unwrap();
        let error = txn.commit().unwrap_err();
        let reason = if isolation == Isolation::Snapshot { ConflictReason::Write } else { ConflictReason::Read };
        assert!(error.is_retryable(), "{error}");
        assert!(
            matches!(&error, Error::Conflict { table, key: at, reason: found } if table == "t" && *at == key(500) && *found == reason),
            "{error:?}"
        );
        expect_nothing_placed(&db);
        // Ranges, also when a checkpoint has merged what the other did.
        if isolation == Isolation::Serializable {
            let mut txn = db.write().unwrap();
            assert_eq!(txn.count(&table, &key(2_000)[..]..&key(3_000)[..]).unwrap(), 0);
            fill(&mut txn);
            db.update(|txn| txn.put(&table, &key(2_500), b"phantom")).unwrap();
            db.checkpoint().unwrap();
            let error = txn.commit().unwrap_err();
            assert!(matches!(error, Error::Conflict { reason: ConflictReason::Range, .. }), "{error:?}");
        }
        // Another key.
        let mut txn = db.write().unwrap();
        assert!(txn.get(&table, &key(9_000)).unwrap().is_none());
        fill(&mut txn);
        db.update(|txn| txn.put(&table, &key(5_000), b"elsewhere")).unwrap();
        txn.commit().unwrap();
        let read = db.read().unwrap();
        assert_eq!(read.get(&table, &key(500)).unwrap().as_deref(), Some(&value(500)[..]));
        assert_eq!(read.get(&table, &key(5_000)).unwrap().as_deref(), Some(&b"elsewhere"[..]));
        // And the other way round: a small one that was begun before the large one committed.
        let mut small = db.write().unwrap();
        assert!(small.get(&table, &key(1)).unwrap().is_some());
        small.put(&table, &key(1), b"from what it read").unwrap();
        let other = db.create_table("other", TableOptions::new()).unwrap();
        let mut beside = db.write().unwrap();
        beside.put(&other, b"k", b"v").unwrap();
        let mut txn = db.write().unwrap();
        fill(&mut txn);
        txn.commit().unwrap();
        let error = small.commit().unwrap_err();
        assert!(matches!(error, Error::Conflict { reason: ConflictReason::BulkLoad, .. }), "{error:?}");
        beside.commit().unwrap();
    }
}

#[test]
fn a_large_transaction_of_merges_alone_overwrites_nothing_and_is_never_too_old() {
    let disk = MemoryDisk::new();
    let db = options(&disk).isolation(Isolation::Snapshot).open("a.ful").unwrap();
    let counts = db.create_table("counts", TableOptions::new().merge(MergeOperator::Add)).unwrap();
    // What others commit meanwhile is more than is kept for checks.
    let age = || {
        for round in 0..12_u64 {
            let fill = |txn: &mut WriteTxn| (0..60).try_for_each(|n| txn.merge(&counts, &key(n), &1_u64.to_be_bytes()));
            db.update(fill).unwrap();
            db.update(|txn| txn.put(&counts, &[b'x'; 2], &round.to_be_bytes())).unwrap();
            for number in 0..20 {
                let long = [&key(number)[..], &[b'f'; 4_000]].concat();
                db.update(|txn| txn.put(&counts, &long, &[0; 8])).unwrap();
            }
            db.checkpoint().unwrap();
        }
    };
    for overwrites in [false, true] {
        let mut txn = db.write().unwrap();
        if overwrites {
            txn.put(&counts, b"overwritten", &[0; 8]).unwrap();
        }
        (0..600).for_each(|number| txn.merge(&counts, &key(number), &5_u64.to_be_bytes()).unwrap());
        assert!(txn.spilled_bytes() > 0);
        age();
        let outcome = txn.commit();
        match overwrites {
            false => drop(outcome.unwrap()),
            true => assert!(matches!(outcome, Err(Error::TransactionTooOld)), "{outcome:?}"),
        }
    }
    let read = db.read().unwrap();
    assert_eq!(read.get(&counts, &key(1)).unwrap().as_deref(), Some(&29_u64.to_be_bytes()[..]));
    assert_eq!(read.get(&counts, &key(599)).unwrap().as_deref(), Some(&5_u64.to_be_bytes()[..]));
}

#[test]
fn hundreds_of_savepoints_over_one_key_are_returned_to_though_no_layer_takes_all_its_versions() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new().merge(MergeOperator::Append)).unwrap();
    let mut numbers = Numbers(3);
    for end in 0..3 {
        let before = spilled_bytes(&db);
        let mut model = Model::new();
        let mut txn = db.write().unwrap();
        txn.delete_range(&table, ..).unwrap();
        let mut savepoints = Vec::new();
        for round in 0..400_u64 {
            savepoints.push((txn.savepoint(), model.clone()));
            // Some of them longer than all that a layer should have of a key.
            let hot = vec![round as u8; if round % 40 == 7 { 6_000 } else { 700 }];
            txn.put(&table, b"hot", &hot).unwrap();
            model.insert(b"hot".to_vec(), hot);
            txn.merge(&table, b"grown", &[round as u8]).unwrap();
            model.entry(b"grown".to_vec()).or_default().push(round as u8);
            txn.put(&table, &key(round % 90), &value(round)).unwrap();
            model.insert(key(round % 90), value(round));
        }
        assert!(txn.spilled_bytes() > 300 << 10);
        assert_eq!(txn.spilled_bytes(), spilled_bytes(&db) - before, "no layers with so many versions were joined");
        compare(&txn, &table, &model, &mut numbers);
        let returns = [250, 249, 120, 119, 47, 5];
        for &at in &returns[..2 * end] {
            savepoints.truncate(at + 1);
            let (savepoint, then) = savepoints.last().unwrap();
            txn.rollback_to(*savepoint).unwrap();
            model = then.clone();
            compare(&txn, &table, &model, &mut numbers);
            assert_eq!(txn.get(&table, b"hot").unwrap().as_deref(), model.get(&b"hot"[..]).map(Vec::as_slice));
            assert_eq!(txn.get(&table, b"grown").unwrap().as_deref(), model.get(&b"grown"[..]).map(Vec::as_slice));
        }
        txn.put(&table, b"last", b"of all").unwrap();
        model.insert(b"last".to_vec(), b"of all".to_vec());
        txn.commit().unwrap();
        expect_table(&db, &table, &model);
        expect_nothing_placed(&db);
    }
}

#[test]
fn a_table_whose_changes_were_all_undone_does_not_count_as_changed() {
    let disk = MemoryDisk::new();
    let db = options(&disk).keep_log(1 << 30).open("a.ful").unwrap();
    let (undone, kept) = (db.create_table("undone", TableOptions::new()), db.create_table("kept", TableOptions::new()));
    let (undone, kept) = (undone.unwrap(), kept.unwrap());
    db.update(|txn| txn.put(&undone, b"k", b"v")).unwrap();
    let fill = |txn: &mut WriteTxn, table| (0..700).for_each(|n| txn.put(table, &key(n), &value(n)).unwrap());
    let mut beside = db.write().unwrap();
    assert!(beside.get(&undone, b"k").unwrap().is_some());
    beside.put(&undone, b"k", b"w").unwrap();
    let mut txn = db.write().unwrap();
    fill(&mut txn, &kept);
    let savepoint = txn.savepoint();
    let passing = txn.create_table("passing", TableOptions::new()).unwrap();
    fill(&mut txn, &undone);
    fill(&mut txn, &passing);
    txn.rollback_to(savepoint).unwrap();
    // And what is undone in memory.
    txn.put(&undone, b"more", b"of it").unwrap();
    txn.rollback_to(savepoint).unwrap();
    assert!(txn.spilled_bytes() > 0);
    let large = txn.commit().unwrap();
    beside.commit().unwrap();
    let commits = db.changes(Sequence(0)).unwrap().map(|commit| commit.unwrap());
    let told: Vec<_> = commits.filter(|commit| commit.sequence == large).flat_map(|commit| commit.changes).collect();
    assert!(matches!(&told[..], [Change::BulkLoaded { table }] if table.name.as_deref() == Some("kept")), "{told:?}");
    let read = db.read().unwrap();
    assert_eq!((read.len(&undone).unwrap(), read.len(&kept).unwrap()), (1, 700));
    drop(read);
    expect_nothing_placed(&db);
}

#[test]
fn update_begins_a_large_transaction_again_after_a_conflict() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut attempts = 0;
    db.update(|txn| {
        attempts += 1;
        let seen = txn.get(&table, b"counter")?.map_or(0, |value| value[0]);
        (0..1_000).try_for_each(|number| txn.put(&table, &key(number), &[seen]))?;
        if attempts == 1 {
            db.update(|txn| txn.put(&table, b"counter", &[7]))?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(attempts, 2);
    assert_eq!(db.read().unwrap().get(&table, &key(999)).unwrap().as_deref(), Some(&[7][..]));
}

#[test]
fn tables_that_a_large_transaction_creates_and_drops_come_and_go_with_it() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let old = db.create_table("old", TableOptions::new()).unwrap();
    db.update(|txn| (0..300).try_for_each(|number| txn.put(&old, &key(number), &value(number)))).unwrap();
    let before = db.read().unwrap();
    let mut txn = db.write().unwrap();
    (0..500).for_each(|number| txn.put(&old, &key(number), b"in vain").unwrap());
    let new = txn.create_table("new", TableOptions::new()).unwrap();
    let passing = txn.create_table("passing", TableOptions::new()).unwrap();
    (0..1_000).for_each(|number| txn.put(&new, &key(number), &value(number)).unwrap());
    (0..1_000).for_each(|number| txn.put(&passing, &key(number), &value(number)).unwrap());
    let savepoint = txn.savepoint();
    txn.drop_table(&passing).unwrap();
    (0..500).for_each(|number| txn.put(&new, &key(number), b"undone").unwrap());
    txn.rollback_to(savepoint).unwrap();
    assert_eq!(txn.len(&passing).unwrap(), 1_000);
    txn.drop_table(&passing).unwrap();
    txn.drop_table(&old).unwrap();
    let again = txn.create_table("old", TableOptions::new().counted(true)).unwrap();
    (0..700).for_each(|number| txn.put(&again, &key(number), &value(number)).unwrap());
    assert!(db.open_table("new").is_err());
    txn.commit().unwrap();
    let check = |db: &Database| {
        let names: Vec<_> = db.tables().unwrap().iter().map(|table| table.name().to_owned()).collect();
        assert_eq!(names, ["new", "old"]);
        let model = |count| (0..count).map(|number| (key(number), value(number))).collect::<Model>();
        expect_table(db, &db.open_table("new").unwrap(), &model(1_000));
        let old = db.open_table("old").unwrap();
        assert!(old.is_counted());
        expect_table(db, &old, &model(700));
        expect_nothing_placed(db);
    };
    check(&db);
    assert_eq!(before.len(&old).unwrap(), 300, "a snapshot keeps the table that was dropped");
    assert!(matches!(db.read().unwrap().get(&old, b"k"), Err(Error::TableNotFound { .. })));
    drop(before);
    // What comes after goes to the log, over what did not.
    let next = db.create_table("next", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&next, b"k", b"v")).unwrap();
    drop(db);
    let db = options(&disk).open("a.ful").unwrap();
    assert_eq!(db.read().unwrap().get(&db.open_table("next").unwrap(), b"k").unwrap().as_deref(), Some(&b"v"[..]));
    db.drop_table(&db.open_table("next").unwrap()).unwrap();
    check(&db);
    db.close().unwrap();
    check(&options(&disk).open("a.ful").unwrap());
}

#[test]
fn a_full_file_refuses_the_change_and_leaves_the_transaction_as_it_was() {
    let disk = MemoryDisk::new();
    let db = options(&disk).max_size_bytes(1 << 20).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let small = Model::from([(b"small".to_vec(), b"one".to_vec())]);
    db.update(|txn| txn.put(&table, b"small", b"one")).unwrap();
    for attempt in 0..4 {
        let mut txn = db.write().unwrap();
        let mut model = small.clone();
        let savepoint = txn.savepoint();
        let mut number = 0;
        let error = loop {
            match txn.put(&table, &key(number), &[1; 300]) {
                Ok(()) => model.insert(key(number), vec![1; 300]),
                Err(error) => break error,
            };
            number += 1;
        };
        assert!(matches!(error, Error::QuotaExceeded { .. }) && number > 500, "{number}: {error}");
        compare(&txn, &table, &model, &mut Numbers(attempt));
        assert!(txn.put(&table, b"more", b"of it").is_err(), "it is as full as before");
        match attempt {
            0 => drop(txn),
            1 => {
                // To commit takes as much again.
                let error = txn.commit().unwrap_err();
                assert!(matches!(error, Error::QuotaExceeded { .. }), "{error}");
            }
            _ => {
                txn.rollback_to(savepoint).unwrap();
                txn.put(&table, b"small", b"one").unwrap();
                txn.commit().unwrap();
            }
        }
        expect_nothing_placed(&db);
        expect_table(&db, &table, &small);
    }
    db.checkpoint().unwrap();
    drop(db);
    let db = options(&disk).open("a.ful").unwrap();
    expect_table(&db, &db.open_table("t").unwrap(), &small);
}

#[test]
fn a_feed_tells_of_a_large_commit_as_of_a_load_of_each_table() {
    let disk = MemoryDisk::new();
    let db = options(&disk).keep_log(1 << 30).open("a.ful").unwrap();
    let first = db.create_table("first", TableOptions::new()).unwrap();
    let second = db.create_table("second", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&first, b"before", b"1")).unwrap();
    let mut txn = db.write().unwrap();
    let third = txn.create_table("third", TableOptions::new()).unwrap();
    for number in 0..800 {
        txn.put(&first, &key(number), &value(number)).unwrap();
        txn.put(&second, &key(number), &value(number)).unwrap();
    }
    let large = txn.commit().unwrap();
    let last = db.update(|txn| txn.put(&third, b"after", b"2")).map(|()| db.sync().unwrap()).unwrap();
    let read = |db: &Database| {
        let commits: Vec<_> = db.changes(Sequence(0)).unwrap().map(|commit| commit.unwrap()).collect();
        let sequences: Vec<_> = commits.iter().map(|commit| commit.sequence.0).collect();
        assert_eq!(sequences, (1..=last.0).collect::<Vec<_>>(), "no number is left out");
        let told = &commits[large.0 as usize - 1].changes;
        let names: Vec<_> = told
            .iter()
            .map(|change| match change {
                Change::BulkLoaded { table } => table.name.as_deref().unwrap().to_owned(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["first", "second", "third"]);
    };
    read(&db);
    db.close().unwrap();
    read(&options(&disk).keep_log(1 << 30).open("a.ful").unwrap());
}

#[test]
fn a_large_transaction_may_be_exclusive_and_outlive_neither_its_database_nor_a_close() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let fill = |txn: &mut WriteTxn| (0..1_000).for_each(|n| txn.put(&table, &key(n), &value(n)).unwrap());
    let mut txn = db.begin_exclusive(std::time::Duration::from_secs(1)).unwrap().unwrap();
    fill(&mut txn);
    txn.commit().unwrap();
    let model: Model = (0..1_000).map(|number| (key(number), value(number))).collect();
    expect_table(&db, &table, &model);
    let mut txn = db.write().unwrap();
    (0..1_000).for_each(|number| txn.put(&table, &key(number), b"too late").unwrap());
    db.close().unwrap();
    assert_eq!(txn.get(&table, &key(1)).unwrap().as_deref(), Some(&b"too late"[..]));
    assert!(matches!(
        txn.put(&table, b"k", &[0; 9_000]).and_then(|()| txn.put(&table, b"l", b"v")),
        Err(Error::Closed { .. })
    ));
    assert!(matches!(txn.commit(), Err(Error::Closed { .. })));
    let db = options(&disk).open("a.ful").unwrap();
    expect_table(&db, &db.open_table("t").unwrap(), &model);
    expect_nothing_placed(&db);
    let (table, mut txn) = (db.open_table("t").unwrap(), db.write().unwrap());
    (0..1_000).for_each(|number| txn.put(&table, &key(number), b"left alone").unwrap());
    drop(db);
    assert!(matches!(txn.commit(), Err(Error::Closed { .. })));
}

#[test]
fn large_commits_into_a_large_table_become_runs_above_its_ranges() {
    let disk = MemoryDisk::new();
    let db = options(&disk).delta_bytes(64 << 10).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut model: Model = (0..20_000).map(|number| (key(number), vec![1; 60])).collect();
    db.bulk_load(&table, model.iter()).unwrap();
    let mut numbers = Numbers(5);
    for _ in 0..20 {
        let mut txn = db.write().unwrap();
        for _ in 0..400 {
            let key = key(numbers.below(20_000));
            if numbers.below(4) == 0 {
                assert_eq!(txn.delete(&table, &key).unwrap(), model.remove(&key).is_some());
            } else {
                txn.put(&table, &key, &[2; 60]).unwrap();
                model.insert(key, vec![2; 60]);
            }
        }
        txn.commit().unwrap();
        expect_table(&db, &table, &model);
    }
    let stats = db.stats().unwrap();
    assert!(stats.tables[0].runs > 0 && stats.tables[0].runs_deep <= 17, "{:?}", stats.tables);
    expect_nothing_placed(&db);
    db.compact().unwrap();
    expect_table(&db, &table, &model);
}

#[test]
fn multimaps_and_typed_tables_read_what_was_spilled() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let tags = db.multimap_table::<u64, String>("tags").unwrap();
    let names = db.typed_table::<u64, String>("names").unwrap();
    let mut txn = db.write().unwrap();
    for number in 0..600_u64 {
        names.put(&mut txn, number, format!("name {number}")).unwrap();
        tags.insert(&mut txn, number % 7, format!("tag {number}")).unwrap();
    }
    assert!(spilled_bytes(&db) > 0);
    tags.remove_all(&mut txn, 3).unwrap();
    assert_eq!(names.get(&txn, 77).unwrap().as_deref(), Some("name 77"));
    for number in 0..7_u64 {
        let expected = (0..600).filter(|n| n % 7 == number && number != 3).count() as u64;
        assert_eq!(tags.count(&txn, number).unwrap(), expected);
    }
    txn.commit().unwrap();
    let read = db.read().unwrap();
    assert_eq!((tags.count(&read, 3).unwrap(), tags.count(&read, 4).unwrap()), (0, 86));
    assert_eq!(names.iter(&read).unwrap().count(), 600);
}

#[test]
fn a_budget_below_any_use_is_refused() {
    let error = options(&MemoryDisk::new()).write_set_bytes(100).open("a.ful").unwrap_err();
    assert!(error.to_string().contains("write_set_bytes"), "{error}");
}

#[test]
fn many_entries_of_which_one_is_refused_leave_nothing_though_parts_were_spilled() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new().merge(MergeOperator::Add)).unwrap();
    let entry = |number: u64| (key(number), number.to_be_bytes().to_vec());
    let mut txn = db.write().unwrap();
    txn.put(&table, key(7), 1_u64.to_be_bytes()).unwrap();
    for refused_at in [1, 1000] {
        // The table merges numbers of eight bytes.
        let refused = (0..refused_at).map(entry).chain([(key(refused_at), vec![0; 3])]);
        assert!(matches!(txn.put_all_or_none(&table, refused), Err(Error::Invalid { .. })));
        assert_eq!(txn.len(&table).unwrap(), 1, "{refused_at}");
        assert_eq!(txn.get(&table, key(7)).unwrap().unwrap(), 1_u64.to_be_bytes());
    }
    assert!(spilled_bytes(&db) > 0);
    txn.put_all_or_none(&table, (0..1000).map(entry)).unwrap();
    txn.commit().unwrap();
    expect_table(&db, &table, &(0..1000).map(entry).collect());
    expect_nothing_placed(&db);
}
