//! Tables that get another name: handles, snapshots, conflicts, checkpoints, recovery, the feed.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{
    Change, ConflictReason, Database, Durability, Error, Isolation, Monitor, Options, Read, Sequence, Table,
    TableOptions, WriteTxn,
};

fn options(disk: &MemoryDisk) -> Options {
    let options = Database::options().create(true).background(false).disk(Arc::new(disk.clone()));
    options.durability(Durability::Log).keep_log(1 << 20)
}

fn names(db: &Database) -> Vec<String> {
    db.tables().unwrap().iter().map(|table| table.name().to_owned()).collect()
}

fn get(db: &Database, table: &str, key: &str) -> Option<Vec<u8>> {
    let txn = db.read().unwrap();
    txn.get(&txn.open_table(table).unwrap(), key).unwrap().map(|value| value.to_vec())
}

#[test]
fn handles_go_by_the_table_and_snapshots_keep_the_old_name() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let ages = db.typed_table::<String, u32>("ages").unwrap();
    let words = db.multimap_table::<String, u64>("words").unwrap();
    db.update(|txn| ages.put(txn, "ada", 36).and_then(|()| words.insert(txn, "bank", 1)).map(drop)).unwrap();
    let before = db.read().unwrap();
    let table = db.rename_table(ages.as_bytes(), "people").unwrap();
    db.rename_table(words.as_bytes(), "vocabulary").unwrap();
    assert_eq!((table.name(), table.id()), ("people", ages.as_bytes().id()));
    assert_eq!(names(&db), ["people", "vocabulary"]);
    db.update(|txn| ages.put(txn, "bob", 7).and_then(|()| words.insert(txn, "bank", 2)).map(drop)).unwrap();
    let txn = db.read().unwrap();
    assert_eq!(ages.iter(&txn).unwrap().count(), 2);
    assert_eq!(words.count(&txn, "bank").unwrap(), 2);
    assert_eq!(fulgurite::TypedTable::<String, u32>::new(table.clone()).unwrap().get(&txn, "bob").unwrap(), Some(7));
    assert!(matches!(txn.open_table("ages"), Err(Error::TableNotFound { .. })));
    // The snapshot from before knows the old names, and both handles.
    assert_eq!(before.tables().iter().map(fulgurite::Table::name).collect::<Vec<_>>(), ["ages", "words"]);
    assert_eq!((before.len(&table).unwrap(), ages.iter(&before).unwrap().count()), (1, 1));
    // A new table of the old name is another one.
    let other = db.typed_table::<String, u32>("ages").unwrap();
    assert!(db.read().unwrap().is_empty(other.as_bytes()).unwrap());
    assert_eq!(db.read().unwrap().len(ages.as_bytes()).unwrap(), 2);
}

#[test]
fn names_that_are_taken_empty_or_gone_are_refused_and_rollbacks_undo_renames() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let [a, b] = ["a", "b"].map(|name| db.create_table(name, TableOptions::new()).unwrap());
    assert!(matches!(db.rename_table(&a, "b"), Err(Error::TableExists { .. })));
    assert!(matches!(db.rename_table(&a, ""), Err(Error::Invalid { .. })));
    assert!(matches!(db.rename_table(&a, &"x".repeat(513)), Err(Error::Invalid { .. })));
    assert_eq!(db.rename_table(&a, "a").unwrap().name(), "a");
    let mut txn = db.write().unwrap();
    let point = txn.savepoint();
    txn.rename_table(&a, "c").unwrap();
    txn.rename_table(&b, "a").unwrap();
    txn.rename_table(&a, "b").unwrap();
    txn.put(&a, "k", "of a").unwrap();
    assert_eq!(txn.open_table("b").unwrap().id(), a.id());
    assert!(matches!(txn.open_table("c"), Err(Error::TableNotFound { .. })));
    assert_eq!(txn.tables().iter().map(fulgurite::Table::name).collect::<Vec<_>>(), ["a", "b"]);
    txn.rollback_to(point).unwrap();
    assert_eq!(txn.open_table("a").unwrap().id(), a.id());
    txn.rename_table(&a, "c").unwrap();
    let fresh = txn.create_table("a", TableOptions::new()).unwrap();
    txn.rename_table(&fresh, "d").unwrap();
    txn.drop_table(&b).unwrap();
    txn.rename_table(&fresh, "b").unwrap();
    txn.commit().unwrap();
    assert_eq!(names(&db), ["b", "c"]);
    assert_eq!(db.open_table("b").unwrap().id(), fresh.id());
    db.drop_table(&a).unwrap();
    assert!(matches!(db.rename_table(&a, "z"), Err(Error::TableNotFound { .. })));
    assert_eq!(names(&db), ["b"]);
}

/// Renames between and after checkpoints, and swaps, as the catalog and the log have them.
#[test]
fn renames_survive_checkpoints_recovery_and_read_only_openings() {
    for checkpoints in 0..16 {
        let disk = MemoryDisk::new();
        let db = options(&disk).open("a.ful").unwrap();
        let checkpoint = |step: u32| {
            if checkpoints >> step & 1 == 1 {
                db.checkpoint().unwrap()
            }
        };
        let [a, b, c] = ["a", "b", "c"].map(|name| db.create_table(name, TableOptions::new()).unwrap());
        db.update(|txn| [&a, &b, &c].iter().try_for_each(|table| txn.put(table, "first", table.name()))).unwrap();
        checkpoint(0);
        // A swap in one commit.
        db.update(|txn| {
            txn.rename_table(&a, "between")?;
            txn.rename_table(&b, "a")?;
            txn.rename_table(&a, "b").map(drop)
        })
        .unwrap();
        db.update(|txn| txn.put(&a, "second", "a")).unwrap();
        checkpoint(1);
        db.rename_table(&c, "d").unwrap();
        checkpoint(2);
        db.drop_table(&c).unwrap();
        let fresh = db.create_table("c", TableOptions::new()).unwrap();
        db.rename_table(&fresh, "d").unwrap();
        db.update(|txn| txn.put(&fresh, "first", "fresh")).unwrap();
        checkpoint(3);
        let check = |db: &Database| {
            assert_eq!(names(db), ["a", "b", "d"], "{checkpoints:04b}");
            assert_eq!(get(db, "a", "first"), Some(b"b".to_vec()));
            assert_eq!(get(db, "b", "first"), Some(b"a".to_vec()));
            assert_eq!(get(db, "b", "second"), Some(b"a".to_vec()));
            assert_eq!(get(db, "d", "first"), Some(b"fresh".to_vec()));
            assert!(db.check().unwrap().is_sound());
        };
        check(&db);
        db.backup_to("copy.ful").unwrap();
        check(&options(&disk).create(false).open("copy.ful").unwrap());
        drop(db);
        check(&options(&disk).create(false).read_only(true).open("a.ful").unwrap());
        let db = options(&disk).open("a.ful").unwrap();
        check(&db);
        db.close().unwrap();
        check(&options(&disk).open("a.ful").unwrap());
    }
}

#[test]
fn a_durable_snapshot_from_before_a_rename_has_the_old_name() {
    let disk = MemoryDisk::new();
    let db = options(&disk).durability(Durability::Disk).open("a.ful").unwrap();
    let table = db.create_table("a", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    txn.rename_table(&table, "b").unwrap();
    txn.commit_with(Durability::Memory).unwrap();
    let mut txn = db.write().unwrap();
    txn.rename_table(&table, "c").unwrap();
    txn.commit_with(Durability::Memory).unwrap();
    let durable = db.read_durable().unwrap();
    assert_eq!(durable.sequence(), Sequence(1));
    assert_eq!(durable.tables().iter().map(fulgurite::Table::name).collect::<Vec<_>>(), ["a"]);
    assert_eq!(durable.open_table("a").unwrap().id(), table.id());
    db.sync().unwrap();
    assert_eq!(db.read_durable().unwrap().tables()[0].name(), "c");
}

#[test]
fn a_rename_conflicts_with_those_who_use_names_and_not_with_those_who_use_the_table() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let disk = MemoryDisk::new();
        let db = options(&disk).isolation(isolation).open("a.ful").unwrap();
        let table = db.create_table("a", TableOptions::new()).unwrap();
        let is_conflict = |outcome: fulgurite::Result<Sequence>| {
            matches!(outcome, Err(Error::Conflict { reason: ConflictReason::Tables, .. }))
        };
        // The table alone.
        let mut user = db.write().unwrap();
        user.put(&table, "k", "v").unwrap();
        db.rename_table(&table, "b").unwrap();
        user.commit().unwrap();
        assert_eq!(get(&db, "b", "k"), Some(b"v".to_vec()));
        // Two renames, and one beside a table that comes.
        let (mut one, mut other, mut third) = (db.write().unwrap(), db.write().unwrap(), db.write().unwrap());
        one.rename_table(&table, "c").unwrap();
        other.rename_table(&table, "d").unwrap();
        third.create_table("c", TableOptions::new()).unwrap();
        one.commit().unwrap();
        assert!(is_conflict(other.commit()) && is_conflict(third.commit()));
        // By name: a read, which is checked at one isolation only.
        let mut reader = db.write().unwrap();
        let found = reader.open_table("c").unwrap();
        reader.put(&found, "x", "y").unwrap();
        db.rename_table(&table, "e").unwrap();
        assert_eq!(is_conflict(reader.commit()), isolation == Isolation::Serializable);
        // A table that is dropped meanwhile.
        let mut late = db.write().unwrap();
        late.rename_table(&table, "f").unwrap();
        db.drop_table(&table).unwrap();
        assert!(is_conflict(late.commit()));
    }
}

#[test]
fn a_transaction_that_has_spilled_renames_tables_too() {
    let disk = MemoryDisk::new();
    let db = options(&disk).write_set_bytes(1 << 10).open("a.ful").unwrap();
    let table = db.create_table("a", TableOptions::new()).unwrap();
    let mut txn = db.write().unwrap();
    for number in 0..200u32 {
        txn.put(&table, number.to_be_bytes(), [7; 50]).unwrap();
    }
    txn.rename_table(&table, "b").unwrap();
    assert!(txn.spilled_bytes() > 0);
    txn.commit().unwrap();
    assert_eq!(names(&db), ["b"]);
    assert_eq!(db.read().unwrap().len(&table).unwrap(), 200);
    drop(db);
    let db = options(&disk).open("a.ful").unwrap();
    assert_eq!(names(&db), ["b"]);
    assert_eq!(db.read().unwrap().len(&db.open_table("b").unwrap()).unwrap(), 200);
}

#[test]
fn the_feed_tells_of_renames() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("a", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, "k", "v")).unwrap();
    db.rename_table(&table, "b").unwrap();
    db.update(|txn| txn.put(&table, "l", "w")).unwrap();
    db.backup_snapshot_to(&db.read().unwrap(), "unrelated.ful", &Monitor::new()).unwrap();
    db.sync().unwrap();
    let told: Vec<String> = db
        .changes(Sequence(0))
        .unwrap()
        .flat_map(|commit| commit.unwrap().changes)
        .map(|change| match change {
            Change::TableCreated { table } => format!("create {}", table.name.unwrap()),
            Change::TableRenamed { table, before } => format!("rename {before} to {}", table.name.unwrap()),
            Change::Put { table, key, .. } => format!("{} {}", table.name.unwrap(), key.escape_ascii()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, ["create a", "a k", "rename a to b", "b l"]);
}

/// Commits a transaction so large that the log does not contain its changes.
fn spilled(db: &Database, change: impl FnOnce(&mut WriteTxn) -> Table) -> Table {
    let mut txn = db.write().unwrap();
    let table = change(&mut txn);
    (0..200_u32).for_each(|number| txn.put(&table, number.to_be_bytes(), [7_u8; 50]).unwrap());
    assert!(txn.spilled_bytes() > 0);
    txn.commit().unwrap();
    table
}

/// It returned the number of the table that the large transaction had dropped.
#[test]
fn the_feed_does_not_guess_the_number_of_a_table_that_a_spilled_transaction_replaced() {
    let disk = MemoryDisk::new();
    let db = options(&disk).write_set_bytes(1 << 10).open("a.ful").unwrap();
    let create = || db.create_table("a", TableOptions::new()).unwrap();
    let first = create();
    let second = spilled(&db, |txn| {
        txn.drop_table(&first).unwrap();
        txn.create_table("a", TableOptions::new()).unwrap()
    });
    db.drop_table(&second).unwrap();
    let third = create();
    db.drop_table(&third).unwrap();
    db.sync().unwrap();
    let changes = db.changes(Sequence(0)).unwrap().flat_map(|commit| commit.unwrap().changes);
    let dropped: Vec<_> = changes
        .filter_map(|change| match change {
            Change::TableDropped { table } => Some((table.id, table.name.unwrap().to_string())),
            _ => None,
        })
        .collect();
    assert_eq!(dropped, [(None, "a".to_owned()), (Some(third.id()), "a".to_owned())]);
}

/// It returned the earlier name.
#[test]
fn the_feed_names_a_table_as_a_spilled_transaction_has_renamed_it() {
    let disk = MemoryDisk::new();
    let db = options(&disk).write_set_bytes(1 << 10).open("a.ful").unwrap();
    let table = db.create_table("a", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, "k", "v")).unwrap();
    let renamed = spilled(&db, |txn| txn.rename_table(&table, "b").unwrap());
    db.update(|txn| txn.put(&renamed, "l", "w")).unwrap();
    db.sync().unwrap();
    let named: Vec<_> = db
        .changes(Sequence(0))
        .unwrap()
        .flat_map(|commit| commit.unwrap().changes)
        .map(|change| match change {
            Change::TableCreated { table } | Change::BulkLoaded { table } | Change::Put { table, .. } => {
                (table.id, table.name.unwrap().to_string())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(named, ["a", "a", "a", "b"].map(|name| (Some(table.id()), name.to_owned())));
}
