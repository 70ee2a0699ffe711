//! Merge functions of the program: what they are called with, where their results go, and what their failures leave.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{
    Change, Database, Durability, Error, Isolation, MergeOperands, MergeOperator, MergeOutcome, Monitor, Options, Read,
    Sequence, Table, TableOptions, WriteTxn,
};

/// Writes down the key, the value and the operands: what a function gets can be read off its result.
fn write_down(key: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>) -> MergeOutcome {
    let mut text = value.unwrap_or(key).to_vec();
    text.push(b'(');
    operands.for_each(|operand| text.extend([operand, b"."].concat()));
    text.push(b')');
    Ok(text)
}

/// Fails for the operand "fail", panics for "panic", and joins all others.
fn moody(_: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>) -> MergeOutcome {
    let mut joined = value.unwrap_or_default().to_vec();
    for operand in operands {
        match operand {
            b"fail" => return Err("it does not like this operand".into()),
            b"panic" => panic!("it cannot stand this operand"),
            b"no text" => drop(String::from_utf8(vec![0xff]).map_err(|error| error.utf8_error())?),
            operand => joined.extend_from_slice(operand),
        }
    }
    Ok(joined)
}

fn plain(disk: &MemoryDisk) -> Options {
    Database::options().create(true).durability(Durability::Log).background(false).disk(Arc::new(disk.clone()))
}

fn options(disk: &MemoryDisk) -> Options {
    plain(disk).merge_function("write down", write_down).merge_function("moody", moody)
}

fn create(db: &Database, name: &str, function: &str) -> Table {
    db.create_table(name, TableOptions::new().merge_function(function)).unwrap()
}

fn get(db: &Database, table: &Table, key: &[u8]) -> Option<Vec<u8>> {
    db.read().unwrap().get(table, key).unwrap().map(|value| value.to_vec())
}

#[track_caller]
fn expect(db: &Database, table: &Table, key: &[u8], value: &str) {
    assert_eq!(get(db, table, key).map(|value| String::from_utf8(value).unwrap()).as_deref(), Some(value));
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

#[track_caller]
fn expect_missing(error: &Error, table: &str, function: &str) {
    assert!(
        matches!(error, Error::MergeFunctionMissing { table: of, function: name } if of == table && name == function),
        "{error}"
    );
    assert!(error.to_string().contains("register it when you open the database"), "{error}");
}

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];

#[test]
fn a_function_gets_key_value_and_the_operands_of_a_transaction_in_their_order() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = create(&db, "t", "write down");
    assert_eq!((table.merge_function(), table.merge_operator()), (Some("write down"), None));
    db.update(|txn| ["1", "", "3"].iter().try_for_each(|operand| txn.merge(&table, "k", operand))).unwrap();
    expect(&db, &table, b"k", "k(1..3.)");
    db.checkpoint().unwrap();
    db.update(|txn| txn.merge(&table, "k", "4")).unwrap();
    expect(&db, &table, b"k", "k(1..3.)(4.)");
    db.update(|txn| txn.merge(&table, "k", "5")).unwrap();
    expect(&db, &table, b"k", "k(1..3.)(4.)(5.)");
    db.update(|txn| {
        txn.delete(&table, "k")?;
        txn.merge(&table, "k", "over a deletion")?;
        txn.put(&table, "l", "put")?;
        txn.merge(&table, "l", "6")?;
        txn.merge(&table, "l", "7")
    })
    .unwrap();
    expect(&db, &table, b"k", "k(over a deletion.)");
    expect(&db, &table, b"l", "put(6.)(7.)");
}

#[test]
fn a_transaction_reads_its_own_merges_by_every_kind_of_read_and_returns_to_savepoints() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = create(&db, "t", "write down");
    db.update(|txn| txn.put(&table, "b", "B")).unwrap();
    for isolation in LEVELS {
        let mut txn = db.write_with(isolation).unwrap();
        let read = |txn: &WriteTxn| {
            let entries = txn.range(&table, ..).unwrap();
            let all: Vec<_> =
                entries.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect();
            for (key, value) in &all {
                assert_eq!(txn.get(&table, key).unwrap().as_deref(), Some(&value[..]));
            }
            assert_eq!(
                txn.last(&table).unwrap().map(|(_, value)| value.to_vec()),
                all.last().map(|(_, value)| value.clone())
            );
            all.into_iter().map(|(_, value)| String::from_utf8(value).unwrap()).collect::<Vec<_>>()
        };
        txn.merge(&table, "a", "1").unwrap();
        let first = txn.savepoint();
        txn.merge(&table, "a", "2").unwrap();
        txn.merge(&table, "b", "3").unwrap();
        txn.merge(&table, "c", "4").unwrap();
        assert_eq!(read(&txn), ["a(1.2.)", "B(3.)", "c(4.)"]);
        let second = txn.savepoint();
        txn.put(&table, "a", "put").unwrap();
        txn.merge(&table, "a", "5").unwrap();
        txn.merge(&table, "b", "6").unwrap();
        assert_eq!(read(&txn), ["put(5.)", "B(3.6.)", "c(4.)"]);
        txn.rollback_to(second).unwrap();
        assert_eq!(read(&txn), ["a(1.2.)", "B(3.)", "c(4.)"]);
        txn.rollback_to(first).unwrap();
        assert_eq!(read(&txn), ["a(1.)", "B"]);
        assert_eq!(txn.pop_first(&table).unwrap().map(|(_, value)| value.to_vec()), Some(b"a(1.)".to_vec()));
        txn.merge(&table, "b", "7").unwrap();
        assert_eq!(txn.replace(&table, "b", "new").unwrap().as_deref(), Some(&b"B(7.)"[..]));
        drop(txn);
    }
}

#[test]
fn merges_of_one_key_are_never_in_conflict_and_each_is_upon_the_commit_before() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = create(&db, "t", "moody");
    for (round, isolation) in LEVELS.into_iter().enumerate() {
        let begun = Barrier::new(4);
        thread::scope(|scope| {
            for worker in 0..4_u8 {
                let (db, table, begun) = (&db, &table, &begun);
                scope.spawn(move || {
                    begun.wait();
                    for number in 0..50_u8 {
                        let mut txn = db.write_with(isolation).unwrap();
                        txn.merge(table, "hot", [b'a' + worker]).unwrap();
                        txn.merge(table, "hot", [number]).unwrap();
                        txn.merge(table, [b'c', worker], [number]).unwrap();
                        txn.commit().unwrap();
                    }
                });
            }
        });
        let hot = get(&db, &table, b"hot").unwrap();
        assert_eq!(hot.len(), 400 * (round + 1));
        for worker in 0..4_u8 {
            // Pairs stay together, and those of a thread are in its order.
            let own = hot[400 * round..].chunks(2).filter(|pair| pair[0] == b'a' + worker).map(|pair| pair[1]);
            assert!(own.eq(0..50));
            assert_eq!(get(&db, &table, &[b'c', worker]).unwrap().len(), 50 * (round + 1));
        }
    }
}

/// A database whose function, in its first calls, has another thread append to the key. `size` bytes are there before.
fn overtaken(times: usize, size: usize) -> (usize, Vec<u8>) {
    type Other = (Database, Table);
    let (disk, calls) = (MemoryDisk::new(), Arc::new(AtomicUsize::new(0)));
    let other: Arc<OnceLock<Other>> = Arc::default();
    let (counted, held) = (Arc::clone(&calls), Arc::clone(&other));
    let options = plain(&disk).merge_function("f", move |_, value, operands| {
        if counted.fetch_add(1, Ordering::SeqCst) < times {
            thread::scope(|scope| {
                let (db, table) = held.get().unwrap();
                let append = || db.update(|txn| txn.put(table, "k", [value.unwrap(), b"+"].concat())).unwrap();
                scope.spawn(append);
            });
        }
        Ok(operands.fold(value.unwrap().to_vec(), |joined, operand| [&joined, operand].concat()))
    });
    let db = options.open("a.ful").unwrap();
    let table = create(&db, "t", "f");
    db.update(|txn| txn.put(&table, "k", vec![b'0'; size])).unwrap();
    assert!(other.set((db.clone(), table.clone())).is_ok());
    db.update(|txn| txn.merge(&table, "k", "end")).unwrap();
    let value = get(&db, &table, b"k").unwrap();
    (calls.load(Ordering::SeqCst), value)
}

#[test]
fn a_function_whose_result_was_overtaken_is_called_again_with_the_newer_value() {
    for times in [0, 1] {
        let (calls, value) = overtaken(times, 10);
        assert_eq!(calls, times + 1);
        assert_eq!(value, ["0".repeat(10), "+".repeat(times), "end".into()].concat().into_bytes());
    }
}

#[test]
fn a_function_with_long_results_is_called_without_the_logs_lock_until_it_was_overtaken_five_times() {
    // Were it called with the lock held, the other thread would wait for ever. With it held, nobody overtakes the
    // sixth call.
    let size = 100_000;
    let (calls, value) = overtaken(5, size);
    assert_eq!(calls, 6);
    assert_eq!(value, ["0".repeat(size), "+".repeat(5), "end".into()].concat().into_bytes());
}

#[test]
fn an_error_of_a_function_fails_the_commit_and_changes_nothing() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = create(&db, "t", "moody");
    db.update(|txn| txn.put(&table, "k", "before")).unwrap();
    let cases = [
        ("fail", "it does not like this operand"),
        ("panic", "it panicked: it cannot stand this operand"),
        ("no text", "invalid utf-8"),
    ];
    for (operand, said) in cases {
        for isolation in LEVELS {
            let before = db.read().unwrap().sequence();
            let mut txn = db.write_with(isolation).unwrap();
            txn.put(&table, "beside", "x").unwrap();
            txn.put(&table, "large", vec![1; 9 << 20]).unwrap();
            txn.create_table("new", TableOptions::new()).unwrap();
            txn.merge(&table, "k", operand).unwrap();
            let error = txn.commit().unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("key \"k\" of table `t`") && text.contains("`moody`") && text.contains(said),
                "{text}"
            );
            let Error::Unmergeable { table: of, key, source } = error else { panic!("{text}") };
            assert_eq!((&*of, &*key), ("t", &b"k"[..]));
            let Error::MergeFunction { function, source } = *source else { panic!("{text}") };
            assert_eq!(function, "moody");
            assert_eq!(source.is::<std::str::Utf8Error>(), operand == "no text", "the function's own error is kept");
            assert_eq!(db.read().unwrap().sequence(), before);
        }
        // Nothing is lost, locked or left.
        expect(&db, &table, b"k", "before");
        assert!(get(&db, &table, b"beside").is_none() && db.open_table("new").is_err());
        db.checkpoint().unwrap();
        assert_eq!(db.stats().unwrap().placed_bytes, 0);
    }
    db.update(|txn| txn.merge(&table, "k", " and after")).unwrap();
    expect(&db, &table, b"k", "before and after");
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn an_error_in_a_call_leaves_the_transaction_as_it_was() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = create(&db, "t", "moody");
    for bad in ["fail", "panic"] {
        let mut txn = db.write().unwrap();
        txn.put(&table, "k", "put").unwrap();
        let error = txn.merge(&table, "k", bad).unwrap_err();
        assert!(matches!(error, Error::Unmergeable { .. }), "{error}");
        let savepoint = txn.savepoint();
        txn.merge(&table, "l", bad).unwrap();
        let error = txn.get(&table, "l").unwrap_err();
        assert!(matches!(error, Error::Unmergeable { .. }), "{error}");
        assert!(txn.range(&table, ..).unwrap().any(|entry| entry.is_err()));
        txn.rollback_to(savepoint).unwrap();
        txn.merge(&table, "k", ", merged").unwrap();
        txn.commit().unwrap();
        expect(&db, &table, b"k", "put, merged");
        assert!(get(&db, &table, b"l").is_none());
    }
}

#[test]
fn a_failure_in_a_commit_beside_others_holds_none_of_them_up() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = create(&db, "t", "moody");
    thread::scope(|scope| {
        for worker in 0..4 {
            let (db, table) = (&db, &table);
            scope.spawn(move || {
                for round in 0..40 {
                    let mut txn = db.write().unwrap();
                    let bad = ["fail", "panic"].get(worker).copied();
                    txn.merge(table, "hot", "x").unwrap();
                    bad.iter().for_each(|bad| txn.merge(table, "hot", bad).unwrap());
                    assert_eq!(txn.commit().is_err(), bad.is_some(), "round {round}");
                }
            });
        }
    });
    assert_eq!(get(&db, &table, b"hot").unwrap(), b"x".repeat(80));
}

/// What the calls of a database that a merge function must not make return.
fn calls_that_write(db: &Database, table: &Table) -> Vec<fulgurite::Result<()>> {
    vec![
        db.write().map(drop),
        db.write_with(Isolation::Snapshot).map(drop),
        db.try_write().map(drop),
        db.begin_exclusive(Duration::ZERO).map(drop),
        db.update(|txn| txn.put(table, "k", "v")),
        db.create_table("other", TableOptions::new()).map(drop),
        db.open_or_create_table("other", TableOptions::new()).map(drop),
        db.rename_table(table, "other").map(drop),
        db.drop_table(table),
        db.checkpoint(),
        db.compact().map(drop),
        db.begin_bulk_load(Duration::ZERO).map(drop),
        db.bulk_load(table, [("k", "v")]).map(drop),
        db.bulk_load_unsorted(table, [("k", "v")]).map(drop),
        db.clone().close(),
        db.clone().close_with(&Monitor::new()).map(drop),
        db.sync().map(drop),
        db.stats().map(drop),
        db.changes(Sequence(0)).map(drop),
        db.wait_durable(Sequence(0), Duration::ZERO).map(drop),
    ]
}

fn expect_refusals(outcomes: impl Iterator<Item = fulgurite::Result<()>>) {
    for (index, outcome) in outcomes.enumerate() {
        let said = outcome.map_err(|error| error.to_string());
        let is_refused = said.as_ref().is_err_and(|said| said.contains("a merge function must not call the database"));
        assert!(is_refused, "call {index}: {said:?}");
    }
}

#[test]
fn what_a_function_must_not_do_is_refused_under_the_logs_lock_while_deltas_are_over_their_budget() {
    let disk = MemoryDisk::new();
    let database: Arc<OnceLock<(Database, Table)>> = Arc::default();
    let (held, (outcomes, arrived)) = (Arc::clone(&database), mpsc::channel());
    let calls = AtomicUsize::new(0);
    let options = plain(&disk).keep_log(1 << 20).delta_bytes(64 << 10).merge_function("f", move |_, value, _| {
        let (db, table) = held.get().unwrap();
        match calls.fetch_add(1, Ordering::SeqCst) {
            // The result is outdated then, and the next write transaction would checkpoint.
            0 => thread::scope(|scope| {
                let put =
                    |txn: &mut WriteTxn| txn.put(table, "k", "other").and_then(|()| txn.put(table, "l", [1; 100_000]));
                scope.spawn(move || db.update(put).unwrap());
            }),
            // The log is locked.
            1 => calls_that_write(db, table).into_iter().for_each(|outcome| outcomes.send(outcome).unwrap()),
            _ => unreachable!("nobody overtakes the second call"),
        }
        Ok(value.unwrap_or_default().to_vec())
    });
    // Another thread's, so that the test fails, and does not hang, if a call waits for the lock.
    let (committed, is_committed) = mpsc::channel();
    thread::spawn(move || {
        let db = options.open("a.ful").unwrap();
        let table = create(&db, "t", "f");
        assert!(database.set((db.clone(), table.clone())).is_ok());
        db.update(|txn| txn.merge(&table, "k", "operand")).unwrap();
        expect(&db, &table, b"k", "other");
        committed.send(()).unwrap();
    });
    is_committed.recv_timeout(Duration::from_secs(30)).expect("no call waits for its own thread");
    expect_refusals(arrived.try_iter());
}

#[test]
fn what_a_function_must_not_do_is_refused_and_does_not_hang() {
    let disk = MemoryDisk::new();
    let database: Arc<OnceLock<(Database, Table)>> = Arc::default();
    let (held, said) = (Arc::clone(&database), Arc::new(Mutex::new(Vec::new())));
    let told = Arc::clone(&said);
    let begun: Arc<Mutex<Option<WriteTxn>>> = Arc::default();
    let earlier = Arc::clone(&begun);
    let options = plain(&disk).keep_log(1 << 20).write_set_bytes(1 << 12).merge_function("f", move |_, _, operands| {
        let (db, table) = held.get().unwrap();
        let mut outcomes = calls_that_write(db, table);
        // A transaction that was begun before.
        outcomes
            .push(earlier.lock().unwrap().take().map_or_else(|| db.write().map(drop), |txn| txn.commit().map(drop)));
        told.lock().unwrap().extend(outcomes);
        // To read is none of its business either, but harms nothing.
        assert!(db.read()?.get(table, "none")?.is_none());
        Ok(operands.last().unwrap_or_default().to_vec())
    });
    let db = options.open("a.ful").unwrap();
    let table = create(&db, "t", "f");
    assert!(database.set((db.clone(), table.clone())).is_ok());
    for keys in [1, 400_u32] {
        let mut earlier = db.write().unwrap();
        earlier.put(&table, "earlier", "v").unwrap();
        *begun.lock().unwrap() = Some(earlier);
        let mut txn = db.write().unwrap();
        (0..keys).for_each(|key| txn.merge(&table, key.to_be_bytes(), "v").unwrap());
        assert_eq!(txn.spilled_bytes() > 0, keys > 1);
        txn.commit().unwrap();
        assert!(begun.lock().unwrap().is_none());
        expect_refusals(said.lock().unwrap().drain(..));
        assert_eq!(db.read().unwrap().len(&table).unwrap(), u64::from(keys));
    }
}

#[test]
fn without_the_function_all_but_merging_works_and_the_error_names_it() {
    let disk = MemoryDisk::new();
    let db = options(&disk).keep_log(1 << 20).open("a.ful").unwrap();
    let table = create(&db, "t", "write down");
    db.update(|txn| txn.merge(&table, "in the tree", "1")).unwrap();
    db.checkpoint().unwrap();
    db.update(|txn| txn.merge(&table, "in the log", "2")).unwrap();
    db.sync().unwrap();
    let crashed = copy_of(&disk);
    // Recovery, readers, the feed, backups and compaction call nothing.
    for read_only in [true, false] {
        let db = plain(&crashed).create(false).read_only(read_only).keep_log(1 << 20).open("a.ful").unwrap();
        let table = db.open_table("t").unwrap();
        assert_eq!(table.merge_function(), Some("write down"));
        expect(&db, &table, b"in the tree", "in the tree(1.)");
        expect(&db, &table, b"in the log", "in the log(2.)");
        assert!(db.check().unwrap().is_sound());
        assert_eq!(db.stats().unwrap().tables[0].merge_function.as_deref(), Some("write down"));
    }
    let db = plain(&crashed).keep_log(1 << 20).open("a.ful").unwrap();
    let table = db.open_table("t").unwrap();
    db.update(|txn| txn.put(&table, "in the log", "put")).unwrap();
    db.update(|txn| txn.delete(&table, "in the tree")).unwrap();
    db.bulk_load(&table, [("loaded", "5")]).unwrap();
    let mut txn = db.write().unwrap();
    txn.put(&table, "beside", "6").unwrap();
    expect_missing(&txn.merge(&table, "in the log", "7").unwrap_err(), "t", "write down");
    txn.commit().unwrap();
    let renamed = db.rename_table(&table, "renamed").unwrap();
    db.backup_to("copy.ful").unwrap();
    db.compact().unwrap();
    let fed = db.changes(Sequence(0)).unwrap().flat_map(|commit| commit.unwrap().changes);
    let values: Vec<_> = fed
        .filter_map(|change| if let Change::Put { value, .. } = change { Some(value.to_vec()) } else { None })
        .collect();
    assert!(values.contains(&b"in the log(2.)".to_vec()), "{values:?}");
    for (db, table) in [(plain(&crashed).open("copy.ful").unwrap(), "renamed"), (db, "renamed")] {
        let table = db.open_table(table).unwrap();
        assert_eq!((table.merge_function(), renamed.merge_function()), (Some("write down"), Some("write down")));
        expect(&db, &table, b"in the log", "put");
        expect(&db, &table, b"loaded", "5");
        expect(&db, &table, b"beside", "6");
        db.close().unwrap();
    }
    let db = options(&crashed).open("copy.ful").unwrap();
    let table = db.open_table("renamed").unwrap();
    db.update(|txn| txn.merge(&table, "loaded", "8")).unwrap();
    expect(&db, &table, b"loaded", "5(8.)");
}

#[test]
fn a_name_is_fixed_for_a_table_and_checked_where_it_is_given() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let told = |outcome: fulgurite::Result<Table>, what: &str| {
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains(what), "{text}");
    };
    let named = |name: &str| TableOptions::new().merge_function(name);
    told(db.create_table("t", named("")), "1 to 255 bytes, not 0");
    told(db.create_table("t", named(&"f".repeat(256))), "1 to 255 bytes, not 256");
    told(db.create_table("t", named("f").multimap()), "a multimap has no values");
    let unregistered =
        db.create_table("t", named(&"f".repeat(255)).value_type("f64").counted(true).packed(true)).unwrap();
    let error = db.update(|txn| txn.merge(&unregistered, "k", "1")).unwrap_err();
    expect_missing(&error, "t", &"f".repeat(255));
    let missing = db.open_or_create_table("t", named("g").value_type("f64").counted(true).packed(true));
    told(missing, "merge function `g`");
    let operator = TableOptions::new().merge_function("f").merge(MergeOperator::Append);
    assert_eq!(db.create_table("last counts", operator).unwrap().merge_function(), None);
    for name in ["".to_owned(), "f".repeat(256)] {
        let text = plain(&disk).merge_function(name, moody).open("b.ful").unwrap_err().to_string();
        assert!(text.contains("the name of a merge function"), "{text}");
    }
}

#[test]
fn a_second_handle_needs_no_function_and_gets_none_that_the_first_does_not_have() {
    let disk = MemoryDisk::new();
    let shared: Arc<dyn Disk> = Arc::new(disk);
    let options = || Database::options().create(true).background(false).disk(Arc::clone(&shared));
    let db = options().merge_function("f", moody).open("a.ful").unwrap();
    let table = create(&db, "t", "f");
    for same in [options(), options().merge_function("f", moody)] {
        let second = same.open("a.ful").unwrap();
        second.update(|txn| txn.merge(&table, "k", "x")).unwrap();
    }
    assert_eq!(get(&db, &table, b"k").unwrap(), b"xx");
    for other in [options().merge_function("f", write_down), options().merge_function("g", moody)] {
        let error = other.open("a.ful").unwrap_err();
        assert!(matches!(error, Error::AlreadyOpen { .. }), "{error}");
    }
}

#[test]
fn spilled_merges_come_to_what_the_function_makes_of_all_operands_and_of_what_others_left() {
    let disk = MemoryDisk::new();
    let db = options(&disk).write_set_bytes(64 << 10).open("a.ful").unwrap();
    let table = create(&db, "t", "moody");
    let key = |number: u32| number.to_be_bytes();
    db.update(|txn| (0..300).try_for_each(|number| txn.put(&table, key(number), "old "))).unwrap();
    let mut txn = db.write().unwrap();
    for round in 0..4 {
        (0..1200).for_each(|number| txn.merge(&table, key(number), [b'a' + round]).unwrap());
        txn.delete(&table, key(u32::from(round))).unwrap();
    }
    assert!(txn.spilled_bytes() > 0);
    let savepoint = txn.savepoint();
    (0..1200).for_each(|number| txn.merge(&table, key(number), "undone").unwrap());
    assert_eq!(txn.get(&table, key(1000)).unwrap().as_deref(), Some(&b"abcdundone"[..]));
    txn.rollback_to(savepoint).unwrap();
    assert_eq!(txn.get(&table, key(1000)).unwrap().as_deref(), Some(&b"abcd"[..]));
    db.update(|txn| [100, 1100].iter().try_for_each(|&number| txn.merge(&table, key(number), "other "))).unwrap();
    // The read of key 1000 is checked, and nobody has changed it.
    txn.commit().unwrap();
    for number in 0..1200 {
        let expected = match number {
            0..3 => "bcd"[number as usize..].to_owned(),
            3 => {
                assert!(get(&db, &table, &key(3)).is_none());
                continue;
            }
            100 => "old other abcd".into(),
            1100 => "other abcd".into(),
            4..300 => "old abcd".into(),
            _ => "abcd".into(),
        };
        expect(&db, &table, &key(number), &expected);
    }
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn a_spilled_commit_whose_function_fails_changes_nothing_and_gives_all_its_space_back() {
    let disk = MemoryDisk::new();
    let db = options(&disk).write_set_bytes(64 << 10).open("a.ful").unwrap();
    let table = create(&db, "t", "moody");
    let key = |number: u32| number.to_be_bytes();
    for bad in ["fail", "panic"] {
        for at in [0, 700, 1999] {
            let mut txn = db.write().unwrap();
            (0..2000).for_each(|number| txn.merge(&table, key(number), "some operand").unwrap());
            txn.merge(&table, key(at), bad).unwrap();
            txn.put(&table, "large", vec![1; 9 << 20]).unwrap();
            assert!(txn.spilled_bytes() > 0);
            let error = txn.commit().unwrap_err();
            assert!(matches!(&error, Error::Unmergeable { key: of, .. } if *of == key(at)), "{error}");
            assert!(db.read().unwrap().is_empty(&table).unwrap());
            db.checkpoint().unwrap();
            assert_eq!(db.stats().unwrap().placed_bytes, 0);
            db.update(|txn| txn.merge(&table, "k", "x")).unwrap();
            db.update(|txn| txn.delete(&table, "k")).unwrap();
        }
    }
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn large_results_are_stored_outside_the_log_and_many_operands_are_taken() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = create(&db, "t", "moody");
    let mut txn = db.write().unwrap();
    (0..100_000_u32).for_each(|number| txn.merge(&table, "many", number.to_be_bytes()).unwrap());
    txn.merge(&table, "large", vec![7; 9 << 20]).unwrap();
    txn.commit().unwrap();
    let many: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
    assert!(get(&db, &table, b"many").unwrap() == many);
    db.checkpoint().unwrap();
    assert!(db.stats().unwrap().value_bytes >= 9 << 20);
    db.update(|txn| txn.merge(&table, "large", "end")).unwrap();
    let large = get(&db, &table, b"large").unwrap();
    assert_eq!((large.len(), &large[9 << 20..]), ((9 << 20) + 3, &b"end"[..]));
    db.update(|txn| txn.delete(&table, "large")).unwrap();
    db.checkpoint().unwrap();
    db.checkpoint().unwrap();
    assert!(db.stats().unwrap().value_bytes < 1 << 20, "no result but the many operands is left");
    assert!(db.check().unwrap().is_sound());
}

#[test]
fn typed_tables_merge_operands_of_their_type_and_bytes() {
    let disk = MemoryDisk::new();
    let widest = |_: &[u8], value: Option<&[u8]>, operands: MergeOperands<'_>| -> MergeOutcome {
        let floats = value.into_iter().chain(operands).map(|bytes| Ok(f64::from_le_bytes(bytes.try_into()?)));
        let greatest = floats.reduce(|one, other| MergeOutcome::Ok(Vec::new()).and_then(|_| Ok(one?.max(other?))));
        Ok(greatest.ok_or("no operand")??.to_le_bytes().to_vec())
    };
    let db = plain(&disk).merge_function("greatest", widest).merge_function("moody", moody).open("a.ful").unwrap();
    let table = db.typed_table_with::<String, f64>("t", TableOptions::new().merge_function("greatest")).unwrap();
    db.update(|txn| {
        table.merge(txn, "k", -2.5)?;
        table.merge(txn, "k", -7.0)
    })
    .unwrap();
    assert_eq!(table.get(&db.read().unwrap(), "k").unwrap(), Some(-2.5));
    db.update(|txn| table.merge_bytes(txn, "k", 3.25_f64.to_le_bytes())).unwrap();
    assert_eq!(table.get(&db.read().unwrap(), "k").unwrap(), Some(3.25));
}
