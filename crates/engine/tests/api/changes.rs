//! The change feed: what it gives, from where, beside writers, after crashes of the process, and over damage.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{
    Change, ChangedTable, Commit, Database, Durability, Error, Options, Read, ReadTxn, Sequence, TableId, TableOptions,
};

/// The names of all tables that there ever were.
type Names = BTreeMap<TableId, String>;

/// What the tables hold.
type Model = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn options(disk: &MemoryDisk, keep_log: u64) -> Options {
    Database::options().create(true).background(false).keep_log(keep_log).disk(Arc::new(disk.clone()))
}

/// A database with the table `t`, made by commit 1, on a disk of its own.
fn fresh(keep_log: u64) -> (MemoryDisk, Database) {
    let disk = MemoryDisk::new();
    let db = options(&disk, keep_log).open("a.ful").unwrap();
    db.create_table("t", TableOptions::new()).unwrap();
    (disk, db)
}

fn put(db: &Database, key: &[u8], value: &[u8]) -> Sequence {
    let mut txn = db.write().unwrap();
    let table = txn.open_table("t").unwrap();
    txn.put(&table, key, value).unwrap();
    txn.commit().unwrap()
}

fn commits(db: &Database, after: u64) -> Vec<Commit> {
    db.changes(Sequence(after)).unwrap().map(|commit| commit.unwrap()).collect()
}

fn sequences(db: &Database, after: u64) -> Vec<u64> {
    commits(db, after).iter().map(|commit| commit.sequence.0).collect()
}

fn gone(db: &Database, after: u64) -> u64 {
    match db.changes(Sequence(after)).unwrap_err() {
        Error::ChangesGone { after: told, oldest, .. } if told.0 == after => oldest.0,
        error => panic!("{error}"),
    }
}

fn segments(disk: &MemoryDisk) -> Vec<PathBuf> {
    let files = disk.list(Path::new("")).unwrap().into_iter();
    let mut segments: Vec<_> = files.filter(|path| path.to_string_lossy().contains("-log.")).collect();
    segments.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    segments
}

fn read(disk: &MemoryDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, Access::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

fn key_of(change: &Change) -> Option<(&ChangedTable, &[u8])> {
    match change {
        Change::Put { table, key, .. } | Change::Superseded { table, key, .. } | Change::Delete { table, key } => {
            Some((table, key))
        }
        _ => None,
    }
}

fn model_of(txn: &ReadTxn) -> Model {
    let entries = |table| txn.range(table, ..).unwrap().map(|entry| entry.unwrap());
    let tables = txn.tables();
    let tables = tables.iter().map(|table| {
        let entries = entries(table).map(|(key, value)| (key.to_vec(), value.to_vec()));
        (table.name().to_owned(), entries.collect())
    });
    tables.collect()
}

/// Goes through a feed from the state after `after` on, and compares each state with the one that there was.
fn follow(states: &[Model], names: &Names, db: &Database, after: u64, seed: u64) {
    let mut to_be_dropped = BTreeSet::new();
    let mut name = |table: &ChangedTable| match &table.name {
        Some(name) => name.to_string(),
        None => {
            to_be_dropped.insert(names[&table.id.unwrap()].clone());
            names[&table.id.unwrap()].clone()
        }
    };
    let feed = commits(db, after);
    let through = after + feed.len() as u64;
    assert_eq!(
        feed.iter().map(|commit| commit.sequence.0).collect::<Vec<_>>(),
        (after + 1..=through).collect::<Vec<_>>()
    );
    let mut model = states[after as usize].clone();
    // What was superseded is not known until it is.
    let mut unknown = BTreeSet::new();
    for commit in &feed {
        for change in &commit.changes {
            if let Some((table, key)) = key_of(change) {
                unknown.remove(&(name(table), key.to_vec()));
            }
            match change {
                Change::Put { table, key, value } => {
                    model.get_mut(&name(table)).unwrap().insert(key.clone(), value.clone());
                }
                Change::Superseded { table, key, value_bytes } => {
                    let truth = &states[commit.sequence.0 as usize][&name(table)][key];
                    assert_eq!(truth.len() as u64, *value_bytes, "seed {seed}");
                    model.get_mut(&name(table)).unwrap().insert(key.clone(), truth.clone());
                    unknown.insert((name(table), key.clone()));
                }
                Change::Delete { table, key } => {
                    model.get_mut(&name(table)).unwrap().remove(key);
                }
                Change::TableCreated { table } => {
                    assert!(model.insert(name(table), BTreeMap::new()).is_none());
                }
                Change::TableDropped { table } => {
                    assert!(model.remove(&name(table)).is_some());
                    let name = name(table);
                    unknown.retain(|(other, _)| *other != name);
                }
                Change::BulkLoaded { table } => {
                    let loaded = &states[commit.sequence.0 as usize][&name(table)];
                    model.insert(name(table), loaded.clone());
                    let name = name(table);
                    unknown.retain(|(other, _)| *other != name);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(
            model == states[commit.sequence.0 as usize],
            "seed {seed}: after {after}, commit {}",
            commit.sequence.0
        );
    }
    for name in to_be_dropped {
        let drops = |change: &Change| matches!(change, Change::TableDropped { table } if *table.name.as_deref().unwrap() == name);
        assert!(
            feed.iter().any(|commit| commit.changes.iter().any(drops)),
            "seed {seed}: {name} has no name and stays"
        );
    }
    assert!(unknown.is_empty(), "seed {seed}: {} values are superseded by nothing", unknown.len());
}

/// One random commit, and the state that it leads to.
fn random_commit(db: &Database, model: &mut Model, names: &mut Names, random: &mut Random) {
    let mut txn = db.write().unwrap();
    if random.below(10) == 0 {
        let name = format!("table-{}", random.below(3));
        match model.remove(&name) {
            Some(_) => txn.drop_table(&txn.open_table(&name).unwrap()).unwrap(),
            None => {
                names.insert(txn.create_table(&name, TableOptions::new()).unwrap().id(), name.clone());
                model.insert(name, BTreeMap::new());
            }
        }
    }
    for _ in 0..1 + random.below(4) {
        let names: Vec<_> = model.keys().cloned().collect();
        let name = &names[random.below(names.len() as u64) as usize];
        let (table, entries) = (txn.open_table(name).unwrap(), model.get_mut(name).unwrap());
        let key = format!("key-{}", random.below(12)).into_bytes();
        if random.below(4) == 0 {
            txn.delete(&table, &key).unwrap();
            entries.remove(&key);
            continue;
        }
        let length = if random.below(8) == 0 { 70_000 } else { random.below(300) };
        let value = vec![random.below(256) as u8; length as usize];
        txn.put(&table, &key, &value).unwrap();
        entries.insert(key, value);
    }
    // Something changes for certain, and never the same.
    let table = txn.open_table("t").unwrap();
    let (key, value) = (b"stamp".to_vec(), random.below(u64::MAX).to_le_bytes().to_vec());
    txn.put(&table, &key, &value).unwrap();
    model.get_mut("t").unwrap().insert(key, value);
    let levels = [Durability::Memory, Durability::Log, Durability::Disk];
    txn.commit_with(levels[random.below(3) as usize]).unwrap();
}

#[test]
fn every_state_comes_about_again_by_the_changes_after_any_commit_that_is_kept() {
    let mut superseded = 0;
    for seed in 0..30 {
        let mut random = Random(seed);
        let keep_log = if seed % 3 == 0 { 200 << 10 } else { 1 << 30 };
        let (disk, mut db) = fresh(keep_log);
        let mut names = Names::from([(db.open_table("t").unwrap().id(), "t".to_owned())]);
        let mut states = vec![Model::new(), Model::from([("t".to_owned(), BTreeMap::new())])];
        for step in 0..120 {
            let mut model = states.last().unwrap().clone();
            match random.below(20) {
                0 => db.checkpoint().unwrap(),
                1 => {
                    drop(db);
                    db = options(&disk, keep_log).open("a.ful").unwrap();
                }
                2 => {
                    db.close().unwrap();
                    db = options(&disk, keep_log).open("a.ful").unwrap();
                }
                3 if random.below(2) == 0 => drop(db.compact().unwrap()),
                4 if random.below(2) == 0 => {
                    let loaded = (0..20u64).map(|number| (format!("load-{number:02}"), vec![step as u8; 50]));
                    let table = db.open_table("t").unwrap();
                    db.bulk_load(&table, loaded.clone()).unwrap();
                    model.get_mut("t").unwrap().extend(loaded.map(|(key, value)| (key.into_bytes(), value)));
                    states.push(model);
                }
                _ => {
                    random_commit(&db, &mut model, &mut names, &mut random);
                    states.push(model);
                }
            }
            assert!(model_of(&db.read().unwrap()) == *states.last().unwrap(), "seed {seed}");
        }
        db.sync().unwrap();
        let newest = states.len() as u64 - 1;
        let oldest = db.stats().unwrap().oldest_change.unwrap();
        assert_eq!(oldest == 1, keep_log == 1 << 30, "seed {seed}: {oldest}");
        for after in oldest - 1..=newest {
            follow(&states, &names, &db, after, seed);
        }
        if oldest > 1 {
            assert_eq!(gone(&db, oldest - 2), oldest, "seed {seed}");
        }
        let all = commits(&db, oldest - 1);
        assert_eq!(all.len() as u64, newest - oldest + 1);
        let changes = all.iter().flat_map(|commit| &commit.changes);
        superseded += changes.filter(|change| matches!(change, Change::Superseded { .. })).count();
        // Read-only it is the same, up to the checkpoint.
        db.close().unwrap();
        let db = options(&disk, 0).create(false).read_only(true).open("a.ful").unwrap();
        assert_eq!(commits(&db, newest), []);
        follow(&states, &names, &db, db.stats().unwrap().oldest_change.unwrap() - 1, seed);
    }
    assert!(superseded > 100, "{superseded} values were superseded");
}

#[test]
fn a_commit_comes_when_it_is_durable_and_not_before() {
    let (disk, db) = fresh(1 << 20);
    let table = db.open_table("t").unwrap();
    assert_eq!(db.wait_durable(Sequence(0), Duration::ZERO).unwrap(), Sequence(1));
    for level in [Durability::Memory, Durability::Log] {
        let before = db.stats().unwrap().durable_sequence;
        let mut txn = db.write().unwrap();
        txn.put(&table, b"k", b"v").unwrap();
        let sequence = txn.commit_with(level).unwrap();
        assert_eq!((sequence.0, sequences(&db, before)), (before + 1, vec![]));
        assert!(matches!(db.changes(sequence), Err(Error::Invalid { .. })), "it may not survive");
        assert_eq!(db.wait_durable(Sequence(before), Duration::ZERO).unwrap(), sequence, "waiting makes it so");
        assert_eq!(sequences(&db, before), [sequence.0]);
    }
    let newest = db.sync().unwrap();
    for beyond in [newest.0 + 1, u64::MAX] {
        let refused = db.wait_durable(Sequence(beyond), Duration::from_secs(600));
        assert!(matches!(refused, Err(Error::Invalid { .. })), "no commit {beyond} exists: {refused:?}");
    }
    assert_eq!(db.wait_durable(newest, Duration::from_millis(2)).unwrap(), newest);
    let waiting = {
        let db = db.clone();
        std::thread::spawn(move || db.wait_durable(newest, Duration::from_secs(600)).unwrap())
    };
    let next = put(&db, b"k", b"w");
    assert_eq!(waiting.join().unwrap(), next);
    let (closing, waiting) = (db.clone(), std::thread::spawn(move || db.wait_durable(next, Duration::from_secs(600))));
    closing.close().unwrap();
    assert!(matches!(waiting.join().unwrap(), Err(Error::Closed { .. })));
    let db = options(&disk, 0).create(false).read_only(true).open("a.ful").unwrap();
    assert!(matches!(db.wait_durable(next, Duration::ZERO), Err(Error::ReadOnly { .. })));
}

#[test]
fn what_cannot_be_given_is_an_error_that_says_what_to_do() {
    let (disk, db) = fresh(1);
    assert_eq!(sequences(&db, 0), [1]);
    put(&db, b"k", b"v");
    db.checkpoint().unwrap();
    assert_eq!((gone(&db, 0), sequences(&db, 2)), (3, vec![]));
    put(&db, b"k", b"w");
    assert_eq!((gone(&db, 1), sequences(&db, 2)), (3, vec![3]));
    let error = db.changes(Sequence(1)).unwrap_err().to_string();
    assert!(
        error.contains(
            "the changes after commit 1, the oldest commit that it keeps is 3; copy the current data (by a transaction"
        ),
        "{error}"
    );
    let error = db.changes(Sequence(4)).unwrap_err().to_string();
    assert!(error.contains("after commit 4: the newest that is durable is 3"), "{error}");
    db.close().unwrap();
    let db = options(&disk, 0).open("a.ful").unwrap();
    let error = db.changes(Sequence(3)).unwrap_err().to_string();
    assert!(error.contains("keep the log when you write (keep_log"), "{error}");
    let stats = db.stats().unwrap();
    assert_eq!((stats.oldest_change, stats.log_kept_bytes), (None, 0));
}

#[test]
fn closing_keeps_what_was_kept_and_who_opens_without_the_option_removes_it() {
    let (disk, db) = fresh(1 << 20);
    put(&db, b"k", b"v");
    db.close().unwrap();
    assert_eq!(segments(&disk).len(), 1);
    let reader = options(&disk, 0).create(false).read_only(true).open("a.ful").unwrap();
    assert_eq!(sequences(&reader, 0), [1, 2]);
    let stats = reader.stats().unwrap();
    assert_eq!((stats.oldest_change, stats.log_held_bytes), (Some(1), 0));
    assert!(stats.log_kept_bytes >= stats.log_bytes && stats.log_bytes > 0);
    drop(reader);
    assert_eq!(segments(&disk).len(), 1, "a reader leaves all");
    let db = options(&disk, 1 << 20).open("a.ful").unwrap();
    assert_eq!(sequences(&db, 0), [1, 2]);
    put(&db, b"k", b"w");
    assert_eq!(sequences(&db, 0), [1, 2, 3], "a log that was begun again goes on");
    db.close().unwrap();
    options(&disk, 0).open("a.ful").unwrap().close().unwrap();
    assert_eq!(segments(&disk), [] as [PathBuf; 0]);
    let db = options(&disk, 1 << 20).open("a.ful").unwrap();
    assert_eq!((gone(&db, 0), sequences(&db, 3)), (4, vec![]));
}

#[test]
fn a_load_that_left_no_note_ends_what_can_be_read() {
    for removed in [true, false] {
        let (disk, db) = fresh(1 << 20);
        put(&db, b"k", b"v");
        db.close().unwrap();
        let kept: Vec<_> = segments(&disk).into_iter().map(|path| (read(&disk, &path), path)).collect();
        // Without the option nothing is noted.
        let db = options(&disk, 0).open("a.ful").unwrap();
        let table = db.open_table("t").unwrap();
        db.bulk_load(&table, [(b"loaded", b"v")]).unwrap();
        assert_eq!(db.read().unwrap().sequence(), Sequence(2));
        db.close().unwrap();
        // The removal of a file need not survive a power cut.
        for (bytes, path) in kept.iter().filter(|_| !removed) {
            disk.open(path, Access::CreateNew).unwrap().write_at(0, bytes).unwrap();
        }
        let reader = options(&disk, 0).create(false).read_only(true).open("a.ful").unwrap();
        assert!(matches!(reader.changes(Sequence(2)), Err(Error::Invalid { .. })));
        drop(reader);
        let db = options(&disk, 1 << 20).open("a.ful").unwrap();
        assert_eq!((gone(&db, 1), sequences(&db, 2)), (3, vec![]));
        put(&db, b"k", b"w");
        drop(db);
        let db = options(&disk, 1 << 20).open("a.ful").unwrap();
        assert_eq!((gone(&db, 1), sequences(&db, 2)), (3, vec![3]));
    }
}

#[test]
fn a_log_of_before_the_option_was_set_is_read_from_its_checkpoint_on() {
    let (disk, db) = fresh(0);
    put(&db, b"k", b"v");
    db.checkpoint().unwrap();
    put(&db, b"k", b"w");
    drop(db);
    let db = options(&disk, 1 << 20).open("a.ful").unwrap();
    assert_eq!((gone(&db, 1), sequences(&db, 2)), (3, vec![3]));
    assert_eq!(db.stats().unwrap().oldest_change, Some(3));
}

#[test]
fn a_load_is_told_before_anything_that_follows_it_and_after_the_table_shows_it() {
    let (disk, db) = fresh(1 << 20);
    let table = db.open_table("t").unwrap();
    let watching = db.clone();
    let entries = (0..10u8).map(|number| {
        assert_eq!(sequences(&watching, 1), [] as [u64; 0], "a load that runs is not told");
        ([number], [number])
    });
    db.bulk_load(&table, entries).unwrap();
    assert_eq!(db.wait_durable(Sequence(1), Duration::ZERO).unwrap(), Sequence(2));
    let told = commits(&db, 1);
    let expected = ChangedTable { id: Some(table.id()), name: Some("t".into()) };
    assert_eq!((told.len(), &told[0].changes), (1, &vec![Change::BulkLoaded { table: expected }]));
    assert!(matches!(db.bulk_load(&table, [(b"b", b""), (b"a", b"")]), Err(Error::OutOfOrder { .. })));
    assert_eq!(put(&db, b"k", b"v"), Sequence(4), "a load that fails may be told");
    assert_eq!(sequences(&db, 0), [1, 2, 3, 4]);
    drop(db);
    drop(watching);
    let db = options(&disk, 1 << 20).open("a.ful").unwrap();
    assert_eq!(
        (sequences(&db, 0), db.read().unwrap().len(&db.open_table("t").unwrap()).unwrap()),
        (vec![1, 2, 3, 4], 11)
    );
}

#[test]
fn the_bound_holds_except_for_who_still_reads() {
    let (disk, db) = fresh(64 << 10);
    let fill = |from: u64, to: u64| {
        for number in from..to {
            put(&db, &number.to_le_bytes(), &[7; 4000]);
            if number % 8 == 7 {
                db.checkpoint().unwrap();
            }
        }
    };
    fill(0, 40);
    let stats = db.stats().unwrap();
    assert!((32 << 10..=64 << 10).contains(&stats.log_kept_bytes) && stats.log_held_bytes == 0, "{stats:?}");
    let oldest = stats.oldest_change.unwrap();
    let mut slow = db.changes(Sequence(oldest - 1)).unwrap();
    assert_eq!(slow.next().unwrap().unwrap().sequence.0, oldest);
    fill(40, 80);
    let stats = db.stats().unwrap();
    assert!(stats.log_held_bytes > 64 << 10 && stats.log_kept_bytes > stats.log_held_bytes, "{stats:?}");
    assert_eq!(stats.oldest_change, Some(oldest), "what one reads, others can read too");
    assert_eq!(
        slow.by_ref().map(|commit| commit.unwrap().sequence.0).collect::<Vec<_>>(),
        (oldest + 1..=41).collect::<Vec<_>>()
    );
    fill(80, 88);
    let stats = db.stats().unwrap();
    assert!(stats.log_kept_bytes <= 64 << 10 && stats.log_held_bytes == 0, "{stats:?}");
    assert!(slow.next().is_none(), "what has ended holds nothing");
    assert!(segments(&disk).len() < 6, "the rest was removed or used again");
    assert_eq!(gone(&db, oldest), stats.oldest_change.unwrap());
    let newest = db.read().unwrap().sequence().0;
    assert_eq!(
        sequences(&db, stats.oldest_change.unwrap() - 1).len() as u64,
        newest - stats.oldest_change.unwrap() + 1
    );
}

#[test]
fn who_follows_beside_writers_and_checkpoints_misses_nothing() {
    for map in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let options = Database::options().create(true).map(map).keep_log(1 << 20).delta_bytes(64 << 10);
        let db = options.durability(Durability::Log).open(directory.path().join("a.ful")).unwrap();
        let table = db.create_table("t", TableOptions::new()).unwrap();
        const COMMITS: u64 = 1500;
        std::thread::scope(|scope| {
            for writer in 0..2u64 {
                let (db, table) = (&db, &table);
                scope.spawn(move || {
                    for number in 0..COMMITS {
                        let key = [writer.to_le_bytes(), number.to_le_bytes()].concat();
                        db.update(|txn| txn.put(table, &key, &[3; 200])).unwrap();
                    }
                });
            }
            let mut seen = Sequence(1);
            let mut counts = [0; 2];
            while counts != [COMMITS; 2] {
                assert!(db.wait_durable(seen, Duration::from_secs(60)).unwrap() > seen);
                for commit in db.changes(seen).unwrap() {
                    let commit = commit.unwrap();
                    assert_eq!(commit.sequence.0, seen.0 + 1);
                    let [Change::Put { key, value, .. }] = &commit.changes[..] else { panic!("{commit:?}") };
                    let [writer, number] = [0, 8].map(|at| u64::from_le_bytes(*key[at..].first_chunk().unwrap()));
                    assert_eq!((number, &value[..]), (counts[writer as usize], &[3; 200][..]));
                    counts[writer as usize] += 1;
                    seen = commit.sequence;
                }
            }
        });
        db.close().unwrap();
    }
}

#[test]
fn damage_of_what_is_kept_is_an_error_of_the_feed_and_of_nothing_else() {
    let (disk, db) = fresh(1 << 20);
    for number in 0..6u8 {
        put(&db, &[number], &[number; 30]);
        if number % 2 == 1 {
            db.checkpoint().unwrap();
        }
    }
    db.close().unwrap();
    let kept = segments(&disk);
    assert_eq!(kept.len(), 3);
    let newest = 7;
    let mut found = 0;
    for path in &kept {
        let sound = read(&disk, path);
        let file = disk.open(path, Access::Write).unwrap();
        let end = sound.iter().rposition(|&byte| byte != 0).unwrap() + 1;
        for at in 0..end {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            file.write_at(0, &bytes).unwrap();
            let db = options(&disk, 1 << 20).create(false).read_only(true).open("a.ful");
            // The uuid of another database is refused by opening.
            let Ok(db) = db else { panic!("byte {at}") };
            for after in [0, 2, 5] {
                let told: Vec<_> = match db.changes(Sequence(after)) {
                    Ok(changes) => changes.collect(),
                    Err(error) => vec![Err(error)],
                };
                let whole = told.iter().take_while(|commit| commit.is_ok());
                let whole: Vec<u64> = whole.map(|commit| commit.as_ref().unwrap().sequence.0).collect();
                assert_eq!(whole, (after + 1..).take(whole.len()).collect::<Vec<_>>());
                match told.last() {
                    Some(Err(Error::Corrupt { .. } | Error::ChangesGone { .. } | Error::UnsupportedFormat { .. })) => {
                        found += 1
                    }
                    Some(Err(error)) => panic!("byte {at}: {error}"),
                    // Of what comes before the damage nothing is missing.
                    _ => assert_eq!(*whole.last().unwrap(), newest, "byte {at} of {path:?}"),
                }
            }
        }
        file.write_at(0, &sound).unwrap();
    }
    assert!(found > 500, "{found} times the damage was found");
    // A segment that is missing.
    disk.remove(&kept[1]).unwrap();
    let db = options(&disk, 1 << 20).open("a.ful").unwrap();
    let Some(oldest) = db.stats().unwrap().oldest_change else { panic!("one segment is left") };
    assert_eq!((oldest, gone(&db, oldest - 2)), (6, oldest));
    assert_eq!(db.read().unwrap().len(&db.open_table("t").unwrap()).unwrap(), 6);
    assert!(db.check().unwrap().is_sound());
    put(&db, b"k", b"v");
    assert_eq!(sequences(&db, 5), [6, 7, 8]);
}

#[test]
fn a_reader_in_another_process_is_told_what_went_meanwhile() {
    let (disk, db) = fresh(80 << 10);
    for number in 0..30u64 {
        put(&db, &number.to_le_bytes(), &[7; 3000]);
        if number % 5 == 4 {
            db.checkpoint().unwrap();
        }
    }
    let reader = options(&disk, 0).create(false).read_only(true).open("a.ful").unwrap();
    let oldest = reader.stats().unwrap().oldest_change.unwrap();
    let whole: Vec<_> = reader.changes(Sequence(oldest)).unwrap().map(|commit| commit.unwrap().sequence.0).collect();
    assert_eq!(whole, (oldest + 1..=31).collect::<Vec<_>>());
    let mut changes = reader.changes(Sequence(oldest)).unwrap();
    changes.next().unwrap().unwrap();
    for number in 0..60u64 {
        put(&db, &number.to_le_bytes(), &[8; 3000]);
        if number % 5 == 4 {
            db.checkpoint().unwrap();
        }
    }
    let ended = changes.find_map(Result::err).unwrap();
    assert!(matches!(ended, Error::ChangesGone { .. }), "{ended}");
    assert!(changes.next().is_none());
}

/// With its log still there, the checkpoint before passed for the newest where the newest meta was damaged: without
/// what was loaded, and with pages that were used again.
#[test]
fn damage_to_either_meta_loses_nothing_though_the_log_of_the_checkpoint_before_is_kept() {
    const SLOTS: [u64; 2] = [0, 4096];
    for reopened in [false, true] {
        let (disk, db) = fresh(1 << 30);
        let table = db.open_table("t").unwrap();
        for round in 0..4u8 {
            for number in 0..40u8 {
                put(&db, &[number], &[round; 900]);
            }
            put(&db, b"large", &[round; 100_000]);
            db.checkpoint().unwrap();
            db.bulk_load(&table, (100..140u8).map(|number| ([number], [round; 500]))).unwrap();
        }
        put(&db, b"at last", b"v");
        let expected = model_of(&db.read().unwrap());
        drop(db);
        if reopened {
            drop(options(&disk, 0).open("a.ful").unwrap());
        }
        let path = Path::new("a.ful");
        let sound = read(&disk, path);
        for slot in SLOTS {
            let files: Vec<_> =
                disk.list(Path::new("")).unwrap().iter().map(|path| (path.clone(), read(&disk, path))).collect();
            for read_only in [true, false] {
                let file = disk.open(path, Access::Write).unwrap();
                file.write_at(slot, &[0xff; 512]).unwrap();
                let db = options(&disk, 1 << 30).create(false).read_only(read_only).open(path).unwrap();
                assert!(model_of(&db.read().unwrap()) == expected, "slot {slot}");
                drop(db);
            }
            for path in segments(&disk) {
                disk.remove(&path).unwrap();
            }
            for (path, bytes) in files {
                let file = disk.open(&path, Access::Write).or_else(|_| disk.open(&path, Access::CreateNew)).unwrap();
                file.write_at(0, &bytes).unwrap();
                file.set_len(bytes.len() as u64).unwrap();
            }
            assert!(read(&disk, path) == sound);
        }
    }
}

/// Between the moment when the load was shown and that of its note, a feed ended before the note and with what was
/// loaded.
#[test]
fn who_reads_beside_loads_is_told_what_superseded_each_value() {
    let (_, db) = fresh(1 << 30);
    let table = db.open_table("t").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(relaxed) {
                let txn = db.read().unwrap();
                let value = txn.get(&table, b"k").unwrap();
                let Some(round) = value.and_then(|value| <[u8; 4]>::try_from(&*value).ok()) else { continue };
                let note = 3 + 2 * u64::from(u32::from_le_bytes(round));
                assert!(txn.sequence().0 >= note, "the note of commit {note} is shown at {}", txn.sequence().0);
            }
        });
        let following = scope.spawn(|| {
            let (mut superseded, mut seen) = (0, Sequence(1));
            while !stop.load(relaxed) {
                let feed: Vec<_> = db.changes(seen).unwrap().map(|commit| commit.unwrap()).collect();
                let mut open = false;
                for change in feed.iter().flat_map(|commit| &commit.changes) {
                    match change {
                        Change::Superseded { .. } => {
                            open = true;
                            superseded += 1;
                        }
                        _ => open = false,
                    }
                }
                assert!(!open, "a value is superseded by nothing up to {:?}", feed.last().unwrap().sequence);
                // The last commit comes again, with what follows it.
                seen = feed.last().map_or(seen, |commit| Sequence(commit.sequence.0 - 1).max(seen));
            }
            superseded
        });
        for round in 0..1000u32 {
            put(&db, b"k", &round.to_le_bytes().repeat(20_000));
            db.bulk_load(&table, [(b"k", round.to_le_bytes())]).unwrap();
        }
        stop.store(true, relaxed);
        assert!(following.join().unwrap() > 50);
    });
}

#[test]
fn a_feed_outlives_the_handles_and_what_it_reads_stays_until_it_ends() {
    let (disk, db) = fresh(1);
    for number in 0..6u8 {
        put(&db, &[number], &[number; 5000]);
    }
    let mut feed = db.changes(Sequence(1)).unwrap();
    assert_eq!(feed.next().unwrap().unwrap().sequence.0, 2);
    db.checkpoint().unwrap();
    put(&db, b"k", b"v");
    db.close().unwrap();
    assert!(matches!(options(&disk, 1).open("a.ful"), Err(Error::Locked { .. })), "it is read still");
    let told: Vec<_> = feed.by_ref().map(|commit| commit.unwrap().sequence.0).collect();
    assert_eq!(told, [3, 4, 5, 6, 7]);
    drop(feed);
    assert!(!segments(&disk).is_empty(), "nobody was there to remove it");
    let db = options(&disk, 1).open("a.ful").unwrap();
    assert_eq!((segments(&disk).len(), gone(&db, 7)), (0, 9), "opening does");
}

#[test]
fn opening_with_a_smaller_bound_gives_back_at_once_what_was_kept() {
    for (keep_log, kept, oldest) in [(1 << 20, 6, Some(1)), (100 << 10, 1, Some(7)), (1, 0, None), (0, 0, None)] {
        let (disk, db) = fresh(1 << 20);
        for number in 0..6u8 {
            put(&db, &[number], &[number; 33_000]);
            db.checkpoint().unwrap();
        }
        db.close().unwrap();
        assert_eq!(segments(&disk).len(), 6);
        let db = options(&disk, keep_log).open("a.ful").unwrap();
        assert_eq!((segments(&disk).len(), db.stats().unwrap().oldest_change), (kept, oldest), "{keep_log}");
    }
}

/// Who follows from commit to commit would read the newest segment from its beginning each time.
#[test]
fn who_goes_on_where_a_feed_ended_does_not_read_again_what_came_before() {
    let (disk, db) = fresh(1 << 20);
    for number in 0..50u8 {
        put(&db, &[number], &[number; 100]);
    }
    let mut halfway = db.changes(Sequence(0)).unwrap();
    assert_eq!(halfway.by_ref().nth(29).unwrap().unwrap().sequence.0, 30);
    drop(halfway);
    assert_eq!(sequences(&db, 40), (41..=51).collect::<Vec<_>>());
    let path = &segments(&disk)[0];
    let bytes = read(&disk, path);
    // The value of commit 21; a single byte may be anything's, the header's even.
    let at = bytes.windows(100).position(|bytes| bytes == [20; 100]).unwrap();
    disk.open(path, Access::Write).unwrap().write_at(at as u64, &[!bytes[at]; 1]).unwrap();
    // Damage there is not come upon after either place, and is after others.
    assert!(db.changes(Sequence(10)).unwrap().any(|commit| commit.is_err()));
    assert!(db.changes(Sequence(29)).unwrap().any(|commit| commit.is_err()));
    put(&db, b"k", b"v");
    for after in [30, 37, 51] {
        assert_eq!(sequences(&db, after), (after + 1..=52).collect::<Vec<_>>());
    }
    db.checkpoint().unwrap();
    put(&db, b"k", b"w");
    for after in [30, 51, 52] {
        assert_eq!(sequences(&db, after), (after + 1..=53).collect::<Vec<_>>(), "over the end of the segment");
    }
}
