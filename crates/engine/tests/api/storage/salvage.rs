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
