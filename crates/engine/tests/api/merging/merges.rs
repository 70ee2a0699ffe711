//! Merge operators: their results, that they conflict with nothing, and what a transaction sees of its own.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{
    ConflictReason, Database, Durability, Error, Isolation, MergeOperator, Options, Read, Table, TableOptions, WriteTxn,
};

struct Fixture {
    db: Database,
    counts: Table,
    lists: Table,
    greatest: Table,
    disk: MemoryDisk,
}

fn options(disk: &MemoryDisk) -> Options {
    Database::options().create(true).durability(Durability::Log).background(false).disk(Arc::new(disk.clone()))
}

fn fixture() -> Fixture {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = |name, operator| db.create_table(name, TableOptions::new().merge(operator)).unwrap();
    let (counts, lists) = (table("counts", MergeOperator::Add), table("lists", MergeOperator::Append));
    let greatest = table("greatest", MergeOperator::Max);
    Fixture { counts, lists, greatest, disk, db }
}

impl Fixture {
    fn write(&self, isolation: Isolation) -> WriteTxn {
        self.db.write_with(isolation).unwrap()
    }

    fn add(&self, key: &[u8], number: u64) {
        let mut txn = self.db.write().unwrap();
        txn.merge(&self.counts, key, &number.to_be_bytes()).unwrap();
        txn.commit().unwrap();
    }

    fn count(&self, key: &[u8]) -> Option<u64> {
        let txn = self.db.read().unwrap();
        let value = txn.get(&self.counts, key).unwrap();
        value.map(|value| number(&value))
    }

    fn list(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.db.read().unwrap().get(&self.lists, key).unwrap().map(|value| value.to_vec())
    }
}

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().unwrap())
}

fn add(txn: &mut WriteTxn, table: &Table, key: &[u8], number: u64) {
    txn.merge(table, key, &number.to_be_bytes()).unwrap();
}

/// What a crash of the process leaves of a disk.
fn copy_of(disk: &MemoryDisk) -> MemoryDisk {
    let copy = MemoryDisk::new();
    for path in disk.list(Path::new("")).unwrap() {
        if !path.to_string_lossy().ends_with("-lock") {
            let file = disk.open(&path, Access::Read).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            file.read_at(0, &mut bytes).unwrap();
            copy.open(&path, Access::CreateNew).unwrap().write_at(0, &bytes).unwrap();
        }
    }
    copy
}

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];

#[test]
fn a_merge_begins_with_its_operand_and_goes_on_from_what_is_there_wherever_it_lies() {
    let fixture = fixture();
    let Fixture { db, counts, lists, greatest, .. } = &fixture;
    for round in 1..=3_u64 {
        db.update(|txn| {
            txn.merge(counts, b"k", &5_u64.to_be_bytes())?;
            txn.merge(lists, b"k", b"ab")?;
            txn.merge(greatest, b"k", if round == 2 { &b"zz"[..] } else { b"yyy" })
        })
        .unwrap();
        let txn = db.read().unwrap();
        assert_eq!(txn.get(counts, b"k").unwrap().unwrap(), (5 * round).to_be_bytes());
        assert_eq!(txn.get(lists, b"k").unwrap().unwrap(), b"ab".repeat(round as usize));
        assert_eq!(txn.get(greatest, b"k").unwrap().unwrap(), if round == 1 { &b"yyy"[..] } else { b"zz" });
        if round == 2 {
            db.checkpoint().unwrap();
        }
    }
    db.update(|txn| txn.delete(counts, b"k")).unwrap();
    fixture.add(b"k", 7);
    assert_eq!(fixture.count(b"k"), Some(7), "a deleted key counts as 0");
}

#[test]
fn what_was_merged_survives_as_puts_do() {
    let fixture = fixture();
    fixture.add(b"in the tree", 1);
    fixture.db.checkpoint().unwrap();
    fixture.add(b"in the tree", 2);
    fixture.add(b"in the log", 4);
    fixture.db.sync().unwrap();
    let crashed = copy_of(&fixture.disk);
    let db = options(&crashed).open("a.ful").unwrap();
    let table = db.open_table("counts").unwrap();
    assert_eq!(table.merge_operator(), Some(MergeOperator::Add));
    let get = |key: &[u8]| number(&db.read().unwrap().get(&table, key).unwrap().unwrap());
    assert_eq!((get(b"in the tree"), get(b"in the log")), (3, 4));
    db.update(|txn| txn.merge(&table, b"in the log", &1_u64.to_be_bytes())).unwrap();
    assert_eq!(get(b"in the log"), 5);
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn merges_of_one_key_are_never_in_conflict_at_any_level_and_none_is_lost() {
    let fixture = fixture();
    for isolation in LEVELS {
        let mut open: Vec<WriteTxn> = (0..8).map(|_| fixture.write(isolation)).collect();
        for (index, txn) in open.iter_mut().enumerate() {
            add(txn, &fixture.counts, b"hot", 1);
            add(txn, &fixture.counts, b"hot", 10);
            txn.merge(&fixture.lists, b"hot", &[b'a' + index as u8]).unwrap();
            // So many keys that nobody remembers them one by one.
            (0..20_u8).for_each(|key| add(txn, &fixture.counts, &[key], 1));
        }
        fixture.db.checkpoint().unwrap();
        for txn in open {
            txn.commit().unwrap();
        }
    }
    assert_eq!(fixture.count(b"hot"), Some(2 * 8 * 11));
    assert_eq!(fixture.list(b"hot").unwrap(), b"abcdefghabcdefgh");
    assert!((0..20_u8).all(|key| fixture.count(&[key]) == Some(16)));
    assert_eq!(fixture.db.stats().unwrap().conflicts.total(), 0);
}

#[test]
fn who_read_the_key_conflicts_with_a_merge_and_so_does_a_put_at_snapshot_isolation() {
    let fixture = fixture();
    let Fixture { counts, .. } = &fixture;
    fixture.add(b"k", 1);
    let reason = |outcome: fulgurite::Result<_>| match outcome {
        Err(Error::Conflict { reason, .. }) => Some(reason),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    };
    let put = |txn: &mut WriteTxn| txn.put(counts, b"k", &9_u64.to_be_bytes()).unwrap();
    let after_merge = |isolation, change: &dyn Fn(&mut WriteTxn)| {
        let mut txn = fixture.write(isolation);
        change(&mut txn);
        fixture.add(b"k", 1);
        reason(txn.commit())
    };
    let read = |txn: &mut WriteTxn| assert!(txn.get(counts, b"k").unwrap().is_some());
    let other = |txn: &mut WriteTxn| add(txn, counts, b"other", 1);
    let [serializable, snapshot] = LEVELS;
    assert_eq!(after_merge(serializable, &|txn| (read(txn), other(txn)).0), Some(ConflictReason::Read));
    assert_eq!(after_merge(snapshot, &|txn| (read(txn), other(txn)).0), None);
    assert_eq!(after_merge(serializable, &|txn| put(txn)), None, "what was not read may be overwritten");
    assert_eq!(after_merge(snapshot, &|txn| put(txn)), Some(ConflictReason::Write));
    // Merges over the transaction's own put are puts; and a merge beside a put does not hide it.
    assert_eq!(after_merge(snapshot, &|txn| (put(txn), add(txn, counts, b"k", 1)).0), Some(ConflictReason::Write));
    assert_eq!(after_merge(snapshot, &|txn| (put(txn), other(txn)).0), Some(ConflictReason::Write));
    let put_other = |txn: &mut WriteTxn| txn.put(counts, b"other", &9_u64.to_be_bytes()).unwrap();
    assert_eq!(after_merge(snapshot, &|txn| (put_other(txn), add(txn, counts, b"k", 1)).0), None);
    // What is read of one's own merge depends on what was there.
    assert_eq!(after_merge(serializable, &|txn| (add(txn, counts, b"k", 1), read(txn)).0), Some(ConflictReason::Read));
    assert_eq!(after_merge(snapshot, &|txn| (add(txn, counts, b"k", 1), read(txn)).0), None);
}

#[test]
fn a_merge_over_anothers_put_or_deletion_goes_on_from_that() {
    let fixture = fixture();
    for isolation in LEVELS {
        fixture.add(b"k", 1);
        let mut txn = fixture.write(isolation);
        add(&mut txn, &fixture.counts, b"k", 5);
        fixture.db.update(|other| other.put(&fixture.counts, b"k", &100_u64.to_be_bytes())).unwrap();
        txn.commit().unwrap();
        assert_eq!(fixture.count(b"k"), Some(105));
        let mut txn = fixture.write(isolation);
        add(&mut txn, &fixture.counts, b"k", 5);
        fixture.db.update(|other| other.delete(&fixture.counts, b"k")).unwrap();
        txn.commit().unwrap();
        assert_eq!(fixture.count(b"k"), Some(5));
        let mut txn = fixture.write(isolation);
        add(&mut txn, &fixture.counts, b"k", 2);
        fixture.db.bulk_load(&fixture.counts, [(b"k", 40_u64.to_be_bytes())]).unwrap();
        txn.commit().unwrap();
        assert_eq!(fixture.count(b"k"), Some(42));
    }
}

#[test]
fn a_bulk_load_is_in_the_way_of_puts_at_snapshot_isolation_and_not_of_merges_beside_them() {
    let fixture = fixture();
    let Fixture { db, counts, lists, .. } = &fixture;
    for puts_there in [false, true] {
        let mut txn = fixture.write(Isolation::Snapshot);
        txn.put(lists, b"k", b"1").unwrap();
        add(&mut txn, counts, b"k", 2);
        if puts_there {
            txn.put(counts, b"other", &1_u64.to_be_bytes()).unwrap();
        }
        db.bulk_load(counts, [(b"k", 40_u64.to_be_bytes())]).unwrap();
        match txn.commit() {
            Ok(_) => assert!(!puts_there),
            Err(Error::Conflict { reason: ConflictReason::BulkLoad, .. }) => assert!(puts_there),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(fixture.count(b"k"), Some(if puts_there { 40 } else { 42 }));
    }
}

#[test]
fn what_ends_before_an_own_merge_does_not_read_it() {
    let fixture = fixture();
    let Fixture { counts, .. } = &fixture;
    let whole = |range: fulgurite::Range<'_>| assert_eq!(range.filter(Result::is_ok).count(), 2);
    let backwards = |range: fulgurite::Range<'_>| assert_eq!(range.rev().filter(Result::is_ok).count(), 2);
    let within = &b"b1"[..]..&b"b3"[..];
    let ways: [(&str, Way<'_>); 5] = [
        ("range", &|txn| whole(txn.range(counts, within.clone()).unwrap())),
        ("backwards", &|txn| backwards(txn.range(counts, within.clone()).unwrap())),
        ("prefix", &|txn| whole(txn.prefix(counts, b"b").unwrap())),
        ("prefix backwards", &|txn| backwards(txn.prefix(counts, b"b").unwrap())),
        ("delete_range", &|txn| assert_eq!(txn.delete_range(counts, within.clone()).unwrap(), 2)),
    ];
    for (name, way) in ways {
        put_both(&fixture, [b"b1", b"b2"]);
        let mut txn = fixture.write(Isolation::Serializable);
        add(&mut txn, counts, b"a", 1);
        add(&mut txn, counts, b"z", 1);
        way(&mut txn);
        fixture.add(b"a", 1);
        fixture.add(b"z", 1);
        assert!(txn.commit().is_ok(), "{name} read a key beyond its end");
    }
    let mut txn = fixture.write(Isolation::Serializable);
    add(&mut txn, counts, b"z", 1);
    assert!(txn.range(counts, ..).unwrap().all(|entry| entry.is_ok()));
    fixture.add(b"z", 1);
    assert!(txn.commit().unwrap_err().is_retryable(), "what goes over it reads it");
}

type Way<'w> = &'w dyn Fn(&mut WriteTxn);

fn put_both(fixture: &Fixture, keys: [&[u8; 2]; 2]) {
    let put = |txn: &mut WriteTxn| keys.iter().try_for_each(|key| txn.put(&fixture.counts, *key, &[0; 8]));
    fixture.db.update(put).unwrap();
}

#[test]
fn a_transaction_reads_its_own_merges_in_every_way() {
    let fixture = fixture();
    let Fixture { db, counts, .. } = &fixture;
    for key in [b"b", b"d", b"e"] {
        fixture.add(key, 10);
    }
    for merged in [false, true] {
        if merged {
            db.checkpoint().unwrap();
        }
        let mut txn = db.write().unwrap();
        for key in [b"a", b"b", b"c"] {
            add(&mut txn, counts, key, 1);
        }
        txn.put(counts, b"d", &3_u64.to_be_bytes()).unwrap();
        add(&mut txn, counts, b"d", 1);
        assert!(txn.delete(counts, b"e").unwrap());
        add(&mut txn, counts, b"e", 7);
        let expected = [(b'a', 1), (b'b', 11), (b'c', 1), (b'd', 4), (b'e', 7)];
        let pair = |entry: fulgurite::Result<(fulgurite::Value<'_>, fulgurite::Value<'_>)>| {
            let (key, value) = entry.unwrap();
            (key[0], number(&value))
        };
        assert!(expected.iter().all(|(key, value)| number(&txn.get(counts, &[*key]).unwrap().unwrap()) == *value));
        let keys: Vec<[u8; 1]> = expected.iter().map(|(key, _)| [*key]).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let many = txn.get_many(counts, &keys).unwrap();
        assert!(many.iter().zip(expected).all(|(found, (_, value))| number(found.as_ref().unwrap()) == value));
        assert_eq!(txn.range(counts, ..).unwrap().map(pair).collect::<Vec<_>>(), expected);
        assert!(txn.range(counts, ..).unwrap().rev().map(pair).eq(expected.into_iter().rev()));
        assert_eq!((txn.len(counts).unwrap(), txn.count(counts, &b"b"[..]..&b"d"[..]).unwrap()), (5, 2));
        let mut cursor = txn.cursor(counts).unwrap();
        assert_eq!(cursor.seek(b"b").unwrap().map(|entry| pair(Ok(entry))), Some((b'b', 11)));
        assert_eq!(cursor.previous().unwrap().map(|entry| pair(Ok(entry))), Some((b'a', 1)));
        drop((many, cursor));
        assert!(!txn.insert(counts, b"a", &[0; 8]).unwrap(), "it has a value");
        let (old, new) = (11_u64.to_be_bytes(), 50_u64.to_be_bytes());
        assert!(txn.compare_and_set(counts, b"b", Some(&old), Some(&new)).unwrap());
        assert!(txn.delete(counts, b"c").unwrap());
        assert_eq!(txn.delete_range(counts, &b"a"[..]..=&b"a"[..]).unwrap(), 1);
        assert_eq!(txn.range(counts, ..).unwrap().map(pair).collect::<Vec<_>>(), [(b'b', 50), (b'd', 4), (b'e', 7)]);
        txn.abort();
    }
}

#[test]
fn a_rollback_takes_merges_back_to_the_savepoint() {
    let fixture = fixture();
    let Fixture { db, counts, lists, .. } = &fixture;
    fixture.add(b"k", 100);
    let mut txn = db.write().unwrap();
    add(&mut txn, counts, b"k", 1);
    txn.merge(lists, b"l", b"a").unwrap();
    let first = txn.savepoint();
    add(&mut txn, counts, b"k", 10);
    add(&mut txn, counts, b"new", 1);
    txn.merge(lists, b"l", b"b").unwrap();
    let second = txn.savepoint();
    txn.put(counts, b"k", &[0; 8]).unwrap();
    add(&mut txn, counts, b"k", 1);
    txn.rollback_to(second).unwrap();
    assert_eq!(number(&txn.get(counts, b"k").unwrap().unwrap()), 111);
    txn.rollback_to(first).unwrap();
    txn.merge(lists, b"l", b"c").unwrap();
    txn.commit().unwrap();
    assert_eq!((fixture.count(b"k"), fixture.count(b"new")), (Some(101), None));
    assert_eq!(fixture.list(b"l").unwrap(), b"ac");
}

#[test]
fn operands_values_and_tables_that_do_not_fit_are_refused_with_the_reason() {
    let fixture = fixture();
    let Fixture { db, counts, .. } = &fixture;
    let plain = db.create_table("plain", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    let told = |outcome: fulgurite::Result<()>, what: &str| {
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains(what), "{error}");
    };
    told(txn.merge(&plain, b"k", b"v"), "create another table with one");
    told(txn.merge(counts, b"k", b"v"), "numbers of 8 bytes (big-endian), not of 1");
    told(txn.put(counts, b"k", b"1"), "numbers of 8 bytes");
    told(txn.insert(counts, b"k", b"1").map(drop), "numbers of 8 bytes");
    told(txn.reserve(counts, b"k", 9, |_| ()), "numbers of 8 bytes");
    txn.abort();
    told(db.bulk_load(counts, [(b"k", b"1")]).map(drop), "numbers of 8 bytes");
    told(db.bulk_load_unsorted(counts, [(b"k", b"1")]).map(drop), "numbers of 8 bytes");
    let create = |options: TableOptions| db.create_table("new", options).map(drop);
    told(create(TableOptions::new().multimap().merge(MergeOperator::Append)), "a multimap has no values");
    told(
        create(TableOptions::new().value_type("f64").merge(MergeOperator::Add)),
        "`add` needs values that are integers",
    );
    told(create(TableOptions::new().value_type("u64").merge(MergeOperator::Append)), "`append` needs values that are");
    let error = db.open_or_create_table("counts", TableOptions::new()).unwrap_err();
    assert!(error.to_string().contains("merge add"), "{error}");
    assert!(db.open_or_create_table("plain", TableOptions::new().merge(MergeOperator::Max)).is_err());
    db.open_or_create_table("counts", TableOptions::new().merge(MergeOperator::Add)).unwrap();
}

#[test]
fn typed_tables_merge_numbers_and_text_of_their_types() {
    let fixture = fixture();
    let db = &fixture.db;
    let adding = TableOptions::new().merge(MergeOperator::Add);
    let balances = db.typed_table_with::<String, i64>("balances", adding.clone()).unwrap();
    let small = db.typed_table_with::<u32, u8>("small", adding).unwrap();
    let latest = db.typed_table_with::<u32, i32>("latest", TableOptions::new().merge(MergeOperator::Max)).unwrap();
    let notes = db.typed_table_with::<u32, String>("notes", TableOptions::new().merge(MergeOperator::Append)).unwrap();
    for _ in 0..2 {
        db.update(|txn| {
            balances.merge(txn, "a", -300)?;
            small.merge(txn, 1, 200)?;
            latest.merge(txn, 1, -256)?;
            latest.merge(txn, 1, -1)?;
            notes.merge(txn, 1, "né ")
        })
        .unwrap();
    }
    let txn = db.read().unwrap();
    assert_eq!(balances.get(&txn, "a").unwrap(), Some(-600));
    assert_eq!(small.get(&txn, 1).unwrap(), Some(144), "it wraps around");
    assert_eq!(latest.get(&txn, 1).unwrap(), Some(-1), "numbers are compared, not bytes");
    assert_eq!(notes.get(&txn, 1).unwrap().unwrap(), "né né ");
}

#[test]
fn merges_go_into_tables_that_their_transaction_creates_and_not_into_those_that_are_gone() {
    let fixture = fixture();
    let Fixture { db, counts, .. } = &fixture;
    let mut txn = db.write().unwrap();
    let new = txn.create_table("new", TableOptions::new().merge(MergeOperator::Append)).unwrap();
    txn.merge(&new, b"k", b"a").unwrap();
    txn.merge(&new, b"k", b"b").unwrap();
    add(&mut txn, counts, b"k", 1);
    txn.drop_table(counts).unwrap();
    txn.commit().unwrap();
    assert_eq!(db.read().unwrap().get(&new, b"k").unwrap().unwrap(), b"ab");
    for isolation in LEVELS {
        let doomed = db.create_table("doomed", TableOptions::new().merge(MergeOperator::Append)).unwrap();
        let mut txn = fixture.write(isolation);
        txn.merge(&doomed, b"k", b"a").unwrap();
        db.drop_table(&doomed).unwrap();
        assert!(matches!(txn.commit(), Err(Error::Conflict { reason: ConflictReason::Tables, .. })));
    }
}

#[test]
fn a_result_too_large_for_the_log_is_written_beside_it_and_given_back_when_it_is_replaced() {
    let fixture = fixture();
    let Fixture { db, lists, .. } = &fixture;
    let half = vec![7; 5 << 20];
    // A value of its own extent, a result that goes through the log, and results that do not.
    db.update(|txn| txn.put(lists, b"k", &half)).unwrap();
    let mut first = db.write().unwrap();
    let mut second = db.write().unwrap();
    first.merge(lists, b"k", &half).unwrap();
    second.merge(lists, b"k", b"end").unwrap();
    first.commit().unwrap();
    second.commit().unwrap();
    let expected = [&half[..], &half, b"end"].concat();
    assert!(fixture.list(b"k").unwrap() == expected);
    let crashed = options(&copy_of(&fixture.disk)).open("a.ful").unwrap();
    let table = crashed.open_table("lists").unwrap();
    assert!(crashed.read().unwrap().get(&table, b"k").unwrap().unwrap() == expected);
    assert!(crashed.check().unwrap().is_sound());
    db.checkpoint().unwrap();
    assert!(fixture.list(b"k").unwrap() == expected);
    db.update(|txn| txn.delete(lists, b"k")).unwrap();
    db.checkpoint().unwrap();
    db.checkpoint().unwrap();
    assert!(db.check().unwrap().is_sound());
    let stats = db.stats().unwrap();
    assert_eq!((stats.value_bytes, stats.placed_bytes), (0, 0), "nothing stays taken");
}

#[test]
fn large_results_of_many_threads_come_one_after_the_other_and_leave_nothing_behind() {
    let fixture = fixture();
    let Fixture { db, lists, .. } = &fixture;
    db.update(|txn| txn.put(lists, b"k", &vec![7; 9 << 20])).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3_u8 {
            scope.spawn(move || (0..6).for_each(|_| db.update(|txn| txn.merge(lists, b"k", &[thread])).unwrap()));
        }
    });
    let list = fixture.list(b"k").unwrap();
    let of = |thread: u8| list.iter().filter(|&&by| by == thread).count();
    assert_eq!((list.len(), [of(0), of(1), of(2)]), ((9 << 20) + 18, [6; 3]));
    db.update(|txn| txn.delete(lists, b"k")).unwrap();
    db.checkpoint().unwrap();
    db.checkpoint().unwrap();
    let stats = db.stats().unwrap();
    assert_eq!((stats.value_bytes, stats.placed_bytes), (0, 0), "nothing stays taken");
}

#[test]
fn a_merge_whose_value_cannot_be_read_is_refused_and_changes_nothing() {
    let fixture = fixture();
    let Fixture { db, lists, disk, .. } = &fixture;
    db.update(|txn| txn.put(lists, b"damaged", &vec![1; 100_000])).unwrap();
    db.update(|txn| txn.put(lists, b"sound", b"1")).unwrap();
    db.clone().close().unwrap();
    let path = Path::new("a.ful");
    let file = disk.open(path, Access::Write).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    let at = bytes.windows(64).position(|window| window == [1; 64]).unwrap();
    file.write_at(at as u64 + 32, &[2]).unwrap();
    let db = options(disk).open("a.ful").unwrap();
    let lists = db.open_table("lists").unwrap();
    let before = db.read().unwrap().sequence();
    let mut txn = db.write().unwrap();
    txn.merge(&lists, b"damaged", b"x").unwrap();
    txn.merge(&lists, b"sound", b"x").unwrap();
    assert!(txn.commit().unwrap_err().is_corruption());
    let txn = db.read().unwrap();
    assert_eq!(txn.sequence(), before);
    assert_eq!(txn.get(&lists, b"sound").unwrap().unwrap(), b"1");
    drop(txn);
    db.update(|txn| txn.merge(&lists, b"sound", b"x")).unwrap();
    assert_eq!(db.read().unwrap().get(&lists, b"sound").unwrap().unwrap(), b"1x");
}

#[test]
fn counters_under_many_threads_come_to_their_sum_without_a_single_refusal() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = if cfg!(miri) { 5 } else { 500 };
    let fixture = fixture();
    let Fixture { db, counts, lists, .. } = &fixture;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let mut txn = db.write_with(LEVELS[(thread % 2) as usize]).unwrap();
                        add(&mut txn, counts, b"total", thread + 1);
                        add(&mut txn, counts, &[(round % 7) as u8], 1);
                        txn.merge(lists, b"log", &[thread as u8]).unwrap();
                        txn.commit().unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                db.checkpoint().unwrap();
            }
        });
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        // Before any of them is looked at: the thread of checkpoints must end if one has failed.
        done.store(true, Ordering::Relaxed);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    assert_eq!(fixture.count(b"total"), Some(ROUNDS * THREADS * (THREADS + 1) / 2));
    assert_eq!((0..7).map(|key| fixture.count(&[key]).unwrap_or(0)).sum::<u64>(), ROUNDS * THREADS);
    let log = fixture.list(b"log").unwrap();
    let of = |thread: u64| log.iter().filter(|&&by| u64::from(by) == thread).count() as u64;
    assert!((0..THREADS).all(|thread| of(thread) == ROUNDS));
    assert_eq!(db.stats().unwrap().conflicts.total(), 0);
}
