//! What can still be read of a damaged table.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk, MemoryDisk};
use fulgurite::{Database, Durability, Error, Read, TableOptions};

const KEYS: u64 = 20_000;

fn key(number: u64) -> Vec<u8> {
    format!("key {number:08}").into_bytes()
}

fn value(layer: &str, number: u64) -> Vec<u8> {
    format!("{layer} {number:08} {:26}", "").into_bytes()
}

/// Changes a byte at each place that begins as the value does.
fn damage(disk: &MemoryDisk, layer: &str, number: u64) {
    let file = disk.open(Path::new("a.ful"), Access::Write).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    let mark = &value(layer, number)[..13];
    let places: Vec<_> = (0..bytes.len() - mark.len()).filter(|&at| bytes[at..].starts_with(mark)).collect();
    assert!(!places.is_empty());
    for at in places {
        file.write_at(at as u64, &[bytes[at] ^ 1]).unwrap();
    }
}

#[test]
fn entries_beside_damaged_pages_of_all_layers_are_read_and_no_older_ones() {
    let disk = MemoryDisk::new();
    let options = Database::options().disk(Arc::new(disk.clone())).durability(Durability::Log);
    let options = options.background(false).delta_bytes(1 << 20);
    let db = options.clone().create(true).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let mut model: BTreeMap<_, _> = (0..KEYS).map(|number| (key(2 * number), value("base", 2 * number))).collect();
    db.bulk_load(&table, model.iter()).unwrap();
    db.update(|txn| {
        for number in (0..2 * KEYS).step_by(40) {
            if number % 400 == 80 {
                txn.delete(&table, key(number))?;
                model.remove(&key(number));
            } else {
                txn.put(&table, key(number), value("runs", number))?;
                model.insert(key(number), value("runs", number));
            }
        }
        Ok(())
    })
    .unwrap();
    db.checkpoint().unwrap();
    db.discard().unwrap();
    damage(&disk, "base", 2);
    damage(&disk, "base", 4_002);
    damage(&disk, "runs", 20_000);

    let db = options.open("a.ful").unwrap();
    assert!(db.stats().unwrap().tables.iter().any(|table| table.runs > 0));
    let table = db.open_table("t").unwrap();
    db.update(|txn| {
        for number in [4_003, 4_004] {
            txn.put(&table, key(number), b"delta")?;
            model.insert(key(number), b"delta".to_vec());
        }
        Ok(())
    })
    .unwrap();
    let txn = db.read().unwrap();
    assert!(txn.range(&table, ..).unwrap().any(|entry| entry.is_err()), "a scan ends with an error");
    let (mut found, mut places) = (Vec::new(), HashSet::new());
    for entry in txn.salvage(&table, ..).unwrap() {
        match entry {
            Ok((key, value)) => found.push((key.to_vec(), value.to_vec())),
            Err(Error::Corrupt { place, .. }) => {
                places.insert(place.to_string());
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(places.len(), 3, "{places:?}");
    assert!(found.is_sorted_by(|left, right| left.0 < right.0));
    assert!(found.iter().all(|(key, value)| model.get(key) == Some(value)), "no deleted and no older entries");
    assert!(found.len() > model.len() / 4 && found.len() < model.len(), "{} of {}", found.len(), model.len());
    let has = |number| found.iter().any(|(found, _)| *found == key(number));
    assert!(!has(2) && !has(4_002) && has(4_003) && has(4_004) && has(3_000) && has(5_000) && has(39_998));
    assert!(!has(20_000));

    let part = txn.salvage(&table, key(5_001)..key(5_100)).unwrap().map(|entry| entry.unwrap().0.to_vec());
    assert!(part.eq(model.range(key(5_001)..key(5_100)).map(|(key, _)| key.clone())));
    // The damaged leaf begins behind the last key. Keys at multiples of 40 are in runs too, and so are found.
    let is_lost = |number: &u64| model.contains_key(&key(*number)) && !has(*number);
    let lost = (3_000..4_004).step_by(2).find(is_lost).unwrap();
    let up_to_damage = key(3_000)..=key(if (lost - 2).is_multiple_of(40) { lost - 4 } else { lost - 2 });
    let part = txn.salvage(&table, up_to_damage.clone()).unwrap().map(|entry| entry.unwrap().0.to_vec());
    assert!(part.eq(model.range(up_to_damage).map(|(key, _)| key.clone())));
    drop(txn);
    let _ = db.discard();
}

/// A file that a broken copy had cut off was refused, whatever was left of it.
#[test]
fn what_is_left_of_a_file_that_was_cut_off_is_read_if_its_tables_can_be_found() {
    let disk = MemoryDisk::new();
    let options = Database::options().disk(Arc::new(disk.clone())).background(false);
    let change = |name: &str, number: u64| {
        let db = options.clone().create(true).open("a.ful").unwrap();
        let table = db.create_table(name, TableOptions::new()).or_else(|_| db.open_table(name)).unwrap();
        db.update(|txn| txn.put(&table, key(number), value(name, number))).unwrap();
        db.close().unwrap();
    };
    // Each change leaves free pages at the beginning of the file, where lists of tables go later.
    let names = ["first", "second", "third"];
    names.into_iter().cycle().take(9).for_each(|name| change(name, 0));
    let db = options.clone().open("a.ful").unwrap();
    for name in names {
        let table = db.open_table(name).unwrap();
        db.bulk_load(&table, (1..KEYS / 8).map(|number| (key(number), value(name, number)))).unwrap();
    }
    db.close().unwrap();

    let (mut refused, mut partial) = (0, 0);
    for number in 0..4 {
        change("second", number);
        for percent in [90, 50, 25] {
            cut_copy(&disk, percent);
            let error = options.clone().read_only(true).open("cut.ful").unwrap_err().to_string();
            assert!(error.contains("it was cut off; restore a backup; without one, "), "{error}");
            for map in [true, false] {
                match options.clone().map(map).salvage(true).open("cut.ful") {
                    Ok(db) => partial += names.iter().filter(|name| is_partly_salvaged(&db, name)).count(),
                    Err(error) => {
                        assert!(error.to_string().ends_with(": the file cannot be salvaged"), "{error}");
                        assert!(error.is_corruption());
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 0 && partial > 0, "{refused} {partial}");
}

/// Puts the first part of the file in the place of `cut.ful`.
fn cut_copy(disk: &MemoryDisk, percent: u64) {
    let file = disk.open(Path::new("a.ful"), Access::Read).unwrap();
    let mut bytes = vec![0; (file.len().unwrap() * percent / 100) as usize];
    file.read_at(0, &mut bytes).unwrap();
    let _ = disk.remove(Path::new("cut.ful"));
    disk.open(Path::new("cut.ful"), Access::CreateNew).unwrap().write_at(0, &bytes).unwrap();
}

/// Salvages a table. Returns whether some of its entries are found and some are lost.
fn is_partly_salvaged(db: &Database, name: &str) -> bool {
    let (txn, table) = (db.read().unwrap(), db.open_table(name).unwrap());
    let (found, errors): (Vec<_>, Vec<_>) = txn.salvage(&table, ..).unwrap().partition(Result::is_ok);
    let expected: BTreeMap<_, _> = (0..KEYS / 8).map(|number| (key(number), value(name, number))).collect();
    for (found, value) in found.iter().flatten() {
        assert_eq!(expected.get(&**found).map(|value| &**value), Some(&**value));
    }
    assert!(errors.iter().all(|entry| matches!(entry, Err(error) if error.is_corruption())));
    assert!(found.len() == expected.len() || !errors.is_empty());
    !found.is_empty() && !errors.is_empty()
}
