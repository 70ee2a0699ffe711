//! The shortest way through the engine: create, commit, read, checkpoint, reopen.

use std::sync::Arc;

use fulgurite::io::MemoryDisk;
use fulgurite::{Database, Durability, Read, Result, TableOptions};

fn number(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

fn keys(db: &Database) -> Result<Vec<u64>> {
    let table = db.open_table("numbers")?;
    let txn = db.read()?;
    let range = txn.range(&table, ..)?;
    range
        .map(|entry| entry.map(|(key, _)| u64::from_be_bytes((*key).try_into().expect("keys of eight bytes"))))
        .collect()
}

#[test]
fn what_is_committed_is_read_before_and_after_a_checkpoint_and_a_reopening() -> Result<()> {
    let disk = Arc::new(MemoryDisk::new());
    let options = Database::options().create(true).disk(disk);
    let db = options.clone().open("a.ful")?;
    let table = db.create_table("numbers", TableOptions::new())?;
    for n in 0..100 {
        db.update(|txn| txn.put(&table, &number(n), &number(n * n)))?;
    }
    let all: Vec<u64> = (0..100).collect();
    assert_eq!(keys(&db)?, all);
    db.checkpoint()?;
    assert_eq!(keys(&db)?, all);
    db.update(|txn| txn.delete(&table, &number(50)))?;
    let rest: Vec<u64> = (0..100).filter(|&n| n != 50).collect();
    assert_eq!(keys(&db)?, rest);
    db.close()?;
    let db = options.open("a.ful")?;
    assert_eq!(keys(&db)?, rest);
    assert!(db.check()?.is_sound());
    Ok(())
}

#[test]
fn a_file_whose_records_were_mostly_deleted_shrinks_when_it_is_compacted() -> Result<()> {
    let disk = Arc::new(MemoryDisk::new());
    let db = Database::options().create(true).disk(disk).open("a.ful")?;
    let table = db.create_table("numbers", TableOptions::new())?;
    let value = [7; 200];
    db.bulk_load(&table, (0..50_000).map(|n| (number(n), value)))?;
    let loaded = db.stats()?.file_bytes;
    db.compact()?;
    let compacted = db.stats()?.file_bytes;
    assert!(compacted <= loaded, "{compacted} bytes after compacting what took {loaded}");
    db.update(|txn| txn.delete_range(&table, &number(100)[..]..))?;
    let given_back = db.compact()?;
    assert!(given_back > loaded * 9 / 10, "{given_back} bytes of {loaded} were freed");
    assert_eq!(keys(&db)?, (0..100).collect::<Vec<u64>>());
    assert!(db.check()?.is_sound());
    db.stats()?.accounts_for_every_byte().unwrap();
    Ok(())
}

#[test]
fn a_compaction_leaves_next_to_nothing_free_wherever_the_pages_lay() -> Result<()> {
    for background in [false, true] {
        let options = Database::options().create(true).page_size_bytes(8192).delta_bytes(64 << 10);
        let disk = Arc::new(MemoryDisk::new());
        let db = options.background(background).durability(Durability::Log).disk(disk).open("a.ful")?;
        let table = db.create_table("numbers", TableOptions::new())?;
        for round in 0..800 {
            db.update(|txn| {
                (0..100)
                    .try_for_each(|n| txn.put(&table, &number((round * 7919 + n * 31) % 32_000), &[round as u8; 100]))
            })?;
        }
        db.compact()?;
        let stats = db.stats()?;
        let live = stats.tree_bytes + stats.value_bytes;
        assert!(stats.file_bytes < live * 11 / 10 + (64 << 10), "{live} of {} bytes are live", stats.file_bytes);
        assert!(db.check()?.is_sound());
    }
    Ok(())
}

#[test]
fn a_printed_database_is_short_however_much_it_holds() -> Result<()> {
    let options = Database::options().create(true).background(false).disk(Arc::new(MemoryDisk::new()));
    let db = options.open("a.ful")?;
    let table = db.create_table("numbers", TableOptions::new())?;
    let printed = || format!("{db:?}").len();
    let before = printed();
    for n in 0..50 {
        db.update(|txn| txn.put(&table, &number(n), &[7; 20_000]))?;
    }
    let (in_memory, held) = (printed(), db.read()?.len(&table)?);
    db.checkpoint()?;
    let after = printed();
    assert!(held == 50 && in_memory.max(after) < before + 20_000, "{before}, {in_memory}, {after} bytes");
    Ok(())
}
