//! Images: compressed copies that are opened in place, and only read.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fulgurite::io::{Access, Disk, MemoryDisk, RealDisk};
use fulgurite::{Database, Error, ImageOptions, Monitor, Options, Place, Read, ReadTxn, Result, TableOptions};

use super::backups::{Entries, content, fill, names, options};

fn reading(disk: &MemoryDisk) -> Options {
    Database::options().disk(Arc::new(disk.clone())).image(true)
}

fn length(disk: &MemoryDisk, name: &str) -> u64 {
    disk.open(Path::new(name), Access::Read).unwrap().len().unwrap()
}

fn bytes(disk: &dyn Disk, name: &str) -> Vec<u8> {
    let file = disk.open(Path::new(name), Access::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

/// A disk with this one file.
fn disk_with(name: &str, bytes: &[u8]) -> MemoryDisk {
    let disk = MemoryDisk::new();
    disk.open(Path::new(name), Access::CreateNew).unwrap().write_at(0, bytes).unwrap();
    disk
}

/// Everything that a database shows, or the first error.
fn shown(options: Options, name: &str) -> Result<Vec<(String, u32, Entries)>> {
    let db = options.open(name)?;
    let txn = db.read()?;
    let mut tables = Vec::new();
    for table in txn.tables() {
        let entries: Result<Entries> =
            txn.range(&table, ..)?.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect();
        tables.push((table.name().to_owned(), table.id().0, entries?));
    }
    Ok(tables)
}

/// Gets, counts and ranges of both directions agree with what a scan has shown.
fn look_up(txn: &ReadTxn, expected: &[(String, u32, Entries)]) {
    for (name, _, entries) in expected {
        let table = txn.open_table(name).unwrap();
        assert_eq!(txn.len(&table).unwrap(), entries.len() as u64);
        for (key, value) in entries.iter().rev().step_by(3) {
            assert!(txn.get(&table, key).unwrap().unwrap() == value[..]);
        }
        assert!(txn.get(&table, b"no such key at all").unwrap().is_none());
        let backwards = txn.range(&table, ..).unwrap().rev().map(|entry| entry.unwrap().0.to_vec());
        assert!(backwards.eq(entries.iter().rev().map(|(key, _)| key.clone())));
    }
}

#[test]
fn an_image_shows_all_that_the_snapshot_showed_in_every_way_of_reading() {
    for page_size_bytes in [8192, 16384] {
        let disk = MemoryDisk::new();
        let db = options(&disk).page_size_bytes(page_size_bytes).open("a.ful").unwrap();
        fill(&db);
        let txn = db.read().unwrap();
        let expected = content(&txn);
        db.backup_to("copy.ful").unwrap();
        for (block_bytes, level, threads) in [(4096, 1, 1), (16384, 8, 3), (32768, 3, 2), (1 << 20, 8, 0)] {
            let name = format!("image {block_bytes}");
            let options = ImageOptions::new().block_bytes(block_bytes).level(level).threads(threads);
            db.write_image(&name, &options).unwrap();
            assert!(length(&disk, &name) < length(&disk, "copy.ful") / 2, "{}", length(&disk, &name));
            for map in [true, false] {
                let image = reading(&disk).map(map).cache_bytes(1 << 20).open(&name).unwrap();
                assert!(image.is_image());
                let read = image.read().unwrap();
                assert_eq!(content(&read), expected);
                assert_eq!(read.sequence(), txn.sequence());
                look_up(&read, &expected);
                let report = image.check().unwrap();
                assert!(report.is_sound(), "{:?}", report.damages);
                image.stats().unwrap().accounts_for_every_byte().unwrap();
                image.close().unwrap();
            }
        }
        assert!(names(&disk).iter().all(|name| !name.contains("-new") && !name.contains("-lock")));
    }
}

#[test]
fn an_image_of_an_image_and_a_restored_one_hold_the_same_and_the_restored_one_can_be_changed() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    fill(&db);
    let expected = content(&db.read().unwrap());
    db.write_image("first", &ImageOptions::new()).unwrap();
    let first = reading(&disk).open("first").unwrap();
    first.write_image("second", &ImageOptions::new().level(1)).unwrap();
    first.backup_to("restored.ful").unwrap();
    assert_eq!(shown(reading(&disk), "second").unwrap(), expected);
    let restored = options(&disk).create(false).open("restored.ful").unwrap();
    assert!(!restored.is_image());
    assert_eq!(content(&restored.read().unwrap()), expected);
    let plain = restored.open_table("plain").unwrap();
    restored.update(|txn| txn.put(&plain, b"new", b"value")).unwrap();
    restored.close().unwrap();
    options(&disk).open("empty.ful").unwrap().write_image("empty image", &ImageOptions::new()).unwrap();
    assert_eq!(shown(reading(&disk), "empty image").unwrap(), []);
}

#[test]
fn an_image_is_only_read_and_the_errors_say_so() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    db.create_table("t", TableOptions::new()).unwrap();
    db.write_image("image", &ImageOptions::new()).unwrap();
    let before = bytes(&disk, "image");
    for create in [false, true] {
        let error = options(&disk).create(create).open("image").unwrap_err();
        assert!(matches!(error, Error::IsAnImage { .. }), "{error}");
        assert!(error.to_string().contains("open it read-only, or restore it"), "{error}");
    }
    let image = Database::options().disk(Arc::new(disk.clone())).read_only(true).open("image").unwrap();
    assert!(image.is_image());
    assert!(matches!(image.write().unwrap_err(), Error::ReadOnly { .. }));
    assert!(matches!(image.compact().unwrap_err(), Error::ReadOnly { .. }));
    assert!(matches!(image.checkpoint().unwrap_err(), Error::ReadOnly { .. }));
    assert!(matches!(image.create_table("u", TableOptions::new()).unwrap_err(), Error::ReadOnly { .. }));
    drop(image);
    assert!(matches!(db.write_image("image", &ImageOptions::new()).unwrap_err(), Error::FileExists { .. }));
    db.close().unwrap();
    assert!(matches!(reading(&disk).open("a.ful").unwrap_err(), Error::NotAnImage { .. }));
    assert_eq!(bytes(&disk, "image"), before);
    for options in [ImageOptions::new().level(0), ImageOptions::new().level(23)] {
        let db = self::options(&disk).open("a.ful").unwrap();
        let error = db.write_image("other", &options).unwrap_err();
        assert!(error.to_string().contains("from 1 to 22"), "{error}");
    }
    for bytes in [0, 2048, 5000, 2 << 20] {
        let db = self::options(&disk).open("a.ful").unwrap();
        let error = db.write_image("other", &ImageOptions::new().block_bytes(bytes)).unwrap_err();
        assert!(error.to_string().contains("power of two"), "{error}");
    }
    assert!(names(&disk).iter().all(|name| !name.contains("other")));
}

#[test]
fn many_threads_read_an_image_that_is_not_decompressed_yet() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image");
    {
        let db = Database::create(directory.path().join("a.ful")).unwrap();
        let table = db.create_table("t", TableOptions::new().packed(true)).unwrap();
        let large = db.create_table("large", TableOptions::new()).unwrap();
        db.bulk_load(&table, (0..60_000u64).map(|n| (n.to_be_bytes(), (n * n).to_le_bytes()))).unwrap();
        db.bulk_load(&large, (0..40u64).map(|n| (n.to_be_bytes(), vec![n as u8; 50_000]))).unwrap();
        db.write_image(&path, &ImageOptions::new()).unwrap();
    }
    for (round, map) in [true, true, true, false].into_iter().enumerate() {
        let image = Database::options().image(true).map(map).open(&path).unwrap();
        let (table, large) = (image.open_table("t").unwrap(), image.open_table("large").unwrap());
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let (image, table, large) = (&image, &table, &large);
                scope.spawn(move || {
                    let txn = image.read().unwrap();
                    let mut number = thread * 977 + round as u64;
                    for step in 0..3000 {
                        number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        // All threads begin with the same pages, and then each reads on its own.
                        let key = if step < 1000 { step * 60 } else { (number >> 33) % 60_000 };
                        let value = txn.get(table, &key.to_be_bytes()).unwrap().unwrap();
                        assert!(value == (key * key).to_le_bytes());
                        if step % 50 == 0 {
                            let key = key % 40;
                            let value = txn.get(large, &key.to_be_bytes()).unwrap().unwrap();
                            assert!(value.len() == 50_000 && value.iter().all(|byte| *byte == key as u8));
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn values_of_an_image_stay_where_they_are_while_others_are_read() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    fill(&db);
    let expected = content(&db.read().unwrap());
    db.write_image("image", &ImageOptions::new()).unwrap();
    let image = reading(&disk).open("image").unwrap();
    let txn = image.read().unwrap();
    let tables = txn.tables();
    let held: Vec<_> = tables.iter().flat_map(|table| txn.range(table, ..).unwrap()).map(Result::unwrap).collect();
    assert_eq!(content(&txn), expected);
    let all = expected.iter().flat_map(|(_, _, entries)| entries);
    assert!(held.iter().map(|(key, value)| (&key[..], &value[..])).eq(all.map(|(key, value)| (&key[..], &value[..]))));
}

#[test]
fn an_image_is_written_beside_writers_and_shows_one_commit() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1u64.. {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                // Every commit puts the same value under all keys.
                let put = |txn: &mut fulgurite::WriteTxn| {
                    (0..300u64).try_for_each(|key| txn.put(&table, &key.to_be_bytes(), &round.to_be_bytes()))
                };
                db.update(put).unwrap();
            }
        });
        for number in 0..10 {
            let name = format!("image {number}");
            db.write_image(&name, &ImageOptions::new().level(1)).unwrap();
            let shown = shown(reading(&disk), &name).unwrap();
            let values: std::collections::BTreeSet<_> = shown[0].2.iter().map(|(_, value)| value).collect();
            assert!(values.len() <= 1, "{} versions", values.len());
        }
        ends.store(true, Ordering::Relaxed);
    });
    let txn = db.read().unwrap();
    db.update(|txn| txn.put(&table, b"later", b"")).unwrap();
    db.write_snapshot_image(&txn, "of the snapshot", &ImageOptions::new(), &Monitor::new()).unwrap();
    assert_eq!(shown(reading(&disk), "of the snapshot").unwrap(), content(&txn));
}

#[test]
fn a_stopped_image_leaves_no_file_and_a_watched_one_tells_its_bytes() {
    let disk = MemoryDisk::new();
    let db = options(&disk).open("a.ful").unwrap();
    fill(&db);
    let monitor = Monitor::with_timeout(Duration::ZERO);
    let error = db.write_image_with("image", &ImageOptions::new(), &monitor).unwrap_err();
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
    assert!(names(&disk).iter().all(|name| !name.contains("image")), "{:?}", names(&disk));
    let monitor = Monitor::new();
    db.write_image_with("image", &ImageOptions::new(), &monitor).unwrap();
    assert!(monitor.written_bytes() > 2 * length(&disk, "image"));
}

#[test]
fn a_truncated_image_and_one_that_is_too_long_are_refused() {
    let whole = small_image();
    for length in (0..whole.len()).step_by(61).chain([1, 7, 8, 511, 512, whole.len() - 1]) {
        let error = shown(reading(&disk_with("image", &whole[..length])), "image").unwrap_err();
        let is_refused = match length {
            0..8 => matches!(error, Error::NotADatabase { .. } | Error::NotAnImage { .. }),
            _ => matches!(error, Error::Corrupt { place: Place::ImageHeader, .. }),
        };
        assert!(is_refused, "{length}: {error}");
        assert!(error.is_corruption() || length < 8, "{error}");
    }
    let longer = [&whole[..], &[0]].concat();
    let error = shown(reading(&disk_with("image", &longer)), "image").unwrap_err();
    assert!(error.to_string().contains("longer than its header"), "{error}");
}

#[test]
fn a_changed_byte_of_an_image_is_an_error_or_without_effect() {
    let whole = small_image();
    let expected = shown(reading(&disk_with("image", &whole)), "image").unwrap();
    let (mut errors, mut without_effect) = (0, 0);
    let step = if cfg!(debug_assertions) { 37 } else { 5 };
    for at in (0..whole.len()).step_by(step).chain(0..512) {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        for map in [true, false] {
            let options = Database::options().read_only(true).map(map);
            match shown(options.disk(Arc::new(disk_with("image", &changed))), "image") {
                Ok(shown) => {
                    assert_eq!(shown, expected, "byte {at}");
                    without_effect += 1;
                }
                Err(error) => {
                    assert!(error.is_corruption() || matches!(error, Error::UnsupportedFormat { .. }), "{at}: {error}");
                    errors += 1;
                }
            }
        }
    }
    // What is not read are the second meta and padding of the index.
    assert!(errors > 8 * without_effect, "{errors} errors, {without_effect} changes without effect");
}

/// Several tables, some hundred blocks.
fn small_image() -> Vec<u8> {
    let disk = MemoryDisk::new();
    let db = options(&disk).page_size_bytes(8192).open("a.ful").unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let packed = db.create_table("packed", TableOptions::new().packed(true)).unwrap();
    for number in 0..400u64 {
        let value = vec![number as u8; if number % 50 == 0 { 20_000 } else { 40 }];
        db.update(|txn| {
            txn.put(&table, &number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), &value)?;
            txn.put(&packed, &number.to_be_bytes(), &[number as u8])
        })
        .unwrap();
    }
    db.write_image("image", &ImageOptions::new().block_bytes(4096)).unwrap();
    bytes(&disk, "image")
}

#[test]
fn an_image_opens_from_a_file_that_may_not_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let (path, image) = (directory.path().join("a.ful"), directory.path().join("image"));
    let db = Database::create(&path).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, b"k", b"v")).unwrap();
    db.write_image(&image, &ImageOptions::new()).unwrap();
    let mut permissions = std::fs::metadata(&image).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&image, permissions).unwrap();
    // Other handles read it too, and nothing is left beside it.
    let readers: Vec<_> = (0..3).map(|_| Database::open_image(&image).unwrap()).collect();
    for reader in &readers {
        assert_eq!(reader.read().unwrap().get(&table_of(reader), b"k").unwrap().as_deref(), Some(&b"v"[..]));
    }
    let mut names: Vec<_> = RealDisk.list(directory.path()).unwrap();
    names.retain(|name| name.to_string_lossy().contains("image"));
    assert_eq!(names, [image]);
}

fn table_of(db: &Database) -> fulgurite::Table {
    db.open_table("t").unwrap()
}
