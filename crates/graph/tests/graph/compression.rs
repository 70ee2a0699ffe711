//! Checkpoints whose files are compressed, all of them or some.

use std::fs;

use fulgurite::TableOptions;
use fulgurite::io::decompress;
use fulgurite_graph::{CheckpointError, Checkpoints, DirectoryStorage};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::checkpoints::{change, content, filled, options, restored};
use crate::segments::{names, path, put_all};

/// A new object, so that all entries are sent or are there, in segments of about 4 KiB.
fn whole(storage: &DirectoryStorage, level: u32) -> Checkpoints<&DirectoryStorage> {
    Checkpoints::new(storage).segment_bytes(4 << 10).retained(1).compression_level(level)
}

#[test]
fn compressed_files_and_their_manifests_have_the_documented_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let db = options().open(directory.path().join("state.ful")).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, "key", [7; 1000])).unwrap();
    let storage = DirectoryStorage::new(directory.path().join("checkpoints"));
    whole(&storage, 1).create(&db, 7).unwrap();
    let table = [&b"\x02\0\x01\x01\0\0\0t"[..], &[0; 16]].concat();
    let entry = [&b"\x01\x03\0\0\0key\xe8\x03\0\0"[..], &[7; 1000]].concat();
    let segment = [&b"FULSEGM1"[..], &table, &entry, b"\0"].concat();
    let hash = format!("{:032x}", xxh3_128(&segment));
    let name = format!("data/segment-7-{hash}.zst");
    let file = fs::read(path(&directory, &name)).unwrap();
    let (header, frame) = file.split_at(24);
    let lengths = [frame.len() as u32, segment.len() as u32].map(u32::to_le_bytes).concat();
    let expected = [&b"\x50\x2a\x4d\x18\x10\0\0\0"[..], &lengths, &xxh3_64(frame).to_le_bytes()].concat();
    assert_eq!(header, expected);
    let mut unpacked = vec![0; segment.len()];
    assert_eq!(decompress(frame, &mut unpacked).unwrap(), segment.len());
    assert_eq!(unpacked, segment);
    let (head, bytes) = ("fulgurite-checkpoint 3\nid 7\npage-size 16384\nsegment ", segment.len());
    let lines = format!("{head}{name} {bytes} {hash}\n");
    let text = format!("{lines}end {:016x}\n", xxh3_64(lines.as_bytes()));
    assert_eq!(fs::read_to_string(path(&directory, "meta.7/manifest")).unwrap(), text);
}

/// The level decides neither what a segment is nor whether it is there.
#[test]
fn segments_that_are_there_are_not_sent_again_however_they_were_stored() {
    let (directory, storage, db) = filled();
    let plain = whole(&storage, 0).create(&db, 1).unwrap();
    let segments = names(&storage, "data/segment-1-").len();
    for (id, level) in [(2, 1), (3, 19)] {
        let unchanged = whole(&storage, level).create(&db, id).unwrap();
        assert!(unchanged.is_whole && unchanged.bytes_sent == 0, "{unchanged:?}");
    }
    // A hundredth of the keys.
    put_all(&db, 1000..1020, &[9; 100]);
    let changed = whole(&storage, 1).create(&db, 4).unwrap();
    let compressed = names(&storage, "data/segment-4-");
    assert!((1..=segments / 5).contains(&compressed.len()), "{compressed:?} of {segments}");
    assert!(compressed.iter().all(|name| name.ends_with(".zst")), "{compressed:?}");
    assert!(changed.bytes_sent > 0 && changed.bytes_sent < plain.bytes_sent / 40, "{changed:?} after {plain:?}");
    let stored = compressed.iter().map(|name| fs::metadata(path(&directory, name)).unwrap().len());
    assert_eq!(changed.bytes_sent, stored.sum::<u64>());
    assert_eq!(restored(&storage, 4).unwrap(), content(&db));
    put_all(&db, 1500..1520, &[9; 100]);
    whole(&storage, 0).create(&db, 5).unwrap();
    assert!(names(&storage, "data/segment-5-").iter().all(|name| !name.ends_with(".zst")));
    assert_eq!(names(&storage, "data/segment-4-"), compressed);
    assert_eq!(restored(&storage, 5).unwrap(), content(&db));
}

#[test]
fn a_checkpoint_is_continued_with_changes_of_another_level() {
    let (_directory, storage, db) = filled();
    let mut checkpoints = Checkpoints::new(&storage).compression_level(0);
    checkpoints.create(&db, 1).unwrap();
    let mut plain_bytes = 0;
    for (id, level) in [(2, 0), (3, 1), (4, 0)] {
        checkpoints = checkpoints.compression_level(level);
        change(&db, 3);
        let report = checkpoints.create(&db, id).unwrap();
        assert!(!report.is_whole && report.bytes_sent > 0, "{report:?}");
        let deltas = names(&storage, &format!("data/delta-{id}-"));
        assert!(deltas.len() == 1 && deltas[0].ends_with(".zst") == (level > 0), "{deltas:?}");
        assert!(level == 0 || report.bytes_sent < plain_bytes / 2, "{report:?} after {plain_bytes}");
        plain_bytes = report.bytes_sent;
        assert_eq!(restored(&storage, id).unwrap(), content(&db));
    }
}

/// The changes have the same hash each time, but not the same bytes.
#[test]
fn a_checkpoint_that_is_created_again_at_another_level_has_the_files_of_that_level() {
    let (directory, storage, db) = filled();
    Checkpoints::new(&storage).create(&db, 1).unwrap();
    for (number, level) in [0, 1, 0].into_iter().enumerate() {
        let mut checkpoints = Checkpoints::new(&storage).compression_level(level);
        let path = directory.path().join(format!("{number}.ful"));
        let other = checkpoints.restore(1, path, options()).unwrap();
        change(&other, 5);
        let report = checkpoints.create(&other, 2).unwrap();
        assert!(!report.is_whole && report.bytes_sent > 0, "{report:?}");
        let deltas = names(&storage, "data/delta-2-");
        assert!(deltas.len() == 1 && deltas[0].ends_with(".zst") == (level > 0), "{deltas:?}");
        assert_eq!(restored(&storage, 2).unwrap(), content(&other));
    }
}

/// Every block is whole, but there are more or fewer of them than the manifest says.
#[test]
fn files_that_decompress_to_more_or_less_than_the_manifest_says_are_damaged() {
    let (directory, storage, db) = filled();
    Checkpoints::new(&storage).create(&db, 1).unwrap();
    let name = names(&storage, "data/segment-1-").swap_remove(0);
    let file = fs::read(path(&directory, &name)).unwrap();
    for (hostile, expected) in [(file.repeat(2), "more than"), (Vec::new(), "it has 0 bytes")] {
        fs::write(path(&directory, &name), hostile).unwrap();
        let refused = restored(&storage, 1).expect_err("refused");
        assert!(matches!(&refused, CheckpointError::Damaged { name: damaged, .. } if *damaged == name), "{refused}");
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}
