//! The images of a crash disk are exactly what the model allows: what was synced is in all of them, what was not is
//! missing from some, and everything in between occurs.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fulgurite::io::{Access, Disk, File};
use fulgurite_testkit::{CrashDisk, CrashImage, ImageId, Kinds, Random};

const MANY: Kinds = Kinds { subsets: 64, torn: 64 };

#[test]
fn what_was_synced_is_kept_and_what_was_not_is_lost_in_some_image() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    disk.sync_directory(Path::new("")).unwrap();
    file.write_at(0, b"kept").unwrap();
    file.sync_data().unwrap();
    let synced = disk.recording().operations().len();
    file.write_at(4, b"lost").unwrap();
    let recording = disk.recording();
    let after: Vec<_> = recording.images(1, MANY).since(synced).collect();
    let contents: BTreeSet<_> = after.iter().map(|image| read(image, "a")).collect();
    // The length may have reached the medium without the bytes.
    let expected = [Some(b"kept".to_vec()), Some(b"kept\0\0\0\0".to_vec()), Some(b"keptlost".to_vec())];
    assert_eq!(contents, BTreeSet::from(expected));
    let before: BTreeSet<_> = recording.images(1, MANY).map(|image| read(&image, "a")).collect();
    assert!(before.contains(&None) && before.contains(&Some(Vec::new())), "{before:?}");
}

#[test]
fn bytes_written_durably_are_kept_and_all_others_lost_in_some_image() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    disk.sync_directory(Path::new("")).unwrap();
    file.write_at(0, b"............").unwrap();
    file.sync_data().unwrap();
    file.write_at(2, b"22222222").unwrap();
    file.write_durably(4, b"4444").unwrap();
    let synced = disk.recording().operations().len();
    let recording = disk.recording();
    let contents = |recording: &fulgurite_testkit::Recording| -> BTreeSet<Vec<u8>> {
        recording.images(1, MANY).since(synced).map(|image| read(&image, "a").unwrap()).collect()
    };
    let expected: [&[u8]; 4] = [b"....4444....", b"..224444....", b"....444422..", b"..22444422.."];
    assert_eq!(contents(&recording), BTreeSet::from(expected.map(<[u8]>::to_vec)));
    // What is written there later is as uncertain as ever.
    file.write_at(4, b"5555").unwrap();
    assert!(contents(&disk.recording()).contains(b"....5555....".as_slice()));
    file.sync_data().unwrap();
    let last = disk.recording().operations().len();
    let recording = disk.recording();
    let after: BTreeSet<_> = recording.images(1, MANY).since(last).map(|image| read(&image, "a")).collect();
    assert_eq!(after, BTreeSet::from([Some(b"..22555522..".to_vec())]));
}

#[test]
fn a_synced_file_whose_directory_was_not_synced_may_have_no_name() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    file.write_at(0, b"bytes").unwrap();
    file.sync_all().unwrap();
    let last = disk.recording().operations().len();
    let recording = disk.recording();
    let images = recording.images(1, MANY).since(last);
    let contents: BTreeSet<_> = images.map(|image| read(&image, "a")).collect();
    assert_eq!(contents, BTreeSet::from([None, Some(b"bytes".to_vec())]));
}

#[test]
fn a_rename_leaves_the_old_file_or_the_new_one_and_never_neither() {
    let disk = CrashDisk::new();
    for (name, bytes) in [("a", b"old"), ("b", b"new")] {
        let file = create(&disk, name);
        file.write_at(0, bytes).unwrap();
        file.sync_all().unwrap();
    }
    disk.sync_directory(Path::new("")).unwrap();
    let start = disk.recording().operations().len();
    disk.rename(Path::new("b"), Path::new("a")).unwrap();
    let renamed = disk.recording().operations().len();
    disk.sync_directory(Path::new("")).unwrap();
    let recording = disk.recording();
    let images = || recording.images(1, MANY).since(start);
    let contents: BTreeSet<_> = images().map(|image| (read(&image, "a"), read(&image, "b"))).collect();
    let (old, new) = (Some(b"old".to_vec()), Some(b"new".to_vec()));
    assert_eq!(contents, BTreeSet::from([(old, new.clone()), (new.clone(), None)]));
    assert!(images().filter(|image| image.operations() > renamed).all(|image| read(&image, "a") == new));
}

/// Writes of up to a page of the system are torn as finely as this.
const FINEST_TEAR_BYTES: usize = 64;

#[test]
fn a_write_is_torn_between_sectors_or_if_small_between_its_finest_units_and_nowhere_else() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    file.write_at(0, &[1; 2048]).unwrap();
    file.sync_data().unwrap();
    disk.sync_directory(Path::new("")).unwrap();
    file.write_at(256, &[2; 1024]).unwrap();
    let last = disk.recording().operations().len();
    let recording = disk.recording();
    let images = recording.images(1, Kinds { torn: 4 * MANY.torn, ..MANY }).since(last);
    let kept: BTreeSet<[bool; 3]> = images
        .filter_map(|image| {
            let bytes = read(&image, "a").unwrap();
            let parts = [&bytes[256..512], &bytes[512..1024], &bytes[1024..1280]];
            assert!(bytes[..256].iter().chain(&bytes[1280..]).all(|byte| *byte == 1), "{image}");
            for unit in bytes.chunks(FINEST_TEAR_BYTES) {
                assert!(unit.iter().all(|byte| *byte == unit[0]), "{image}: torn inside a unit");
            }
            let whole = parts.iter().all(|part| part.iter().all(|byte| *byte == part[0]));
            whole.then(|| parts.map(|part| part[0] == 2))
        })
        .collect();
    assert_eq!(kept.len(), 8, "every subset of three sectors: {kept:?}");
}

#[test]
fn an_unsynced_write_may_survive_without_an_older_one_and_may_be_undone_by_it() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    disk.sync_directory(Path::new("")).unwrap();
    file.write_at(0, b"0000").unwrap();
    file.sync_data().unwrap();
    for bytes in [b"1111", b"2222", b"3333"] {
        file.write_at(0, bytes).unwrap();
    }
    file.write_at(4, b"tail").unwrap();
    let last = disk.recording().operations().len();
    let recording = disk.recording();
    // Few enough samples that not every subset is made once: only then is the order shuffled.
    let images = (0..50).flat_map(|seed| recording.images(seed, Kinds { subsets: 8, torn: 0 }).since(last));
    let contents: BTreeSet<_> = images.map(|image| read(&image, "a").unwrap()).collect();
    for head in [b"0000", b"1111", b"2222", b"3333"] {
        assert!(contents.contains(head.as_slice()), "{contents:?}");
        assert!(contents.contains(&[&head[..], b"tail"].concat()), "{contents:?}");
    }
}

#[test]
fn a_cut_file_may_be_found_long_again_until_everything_of_it_is_synced() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    disk.sync_directory(Path::new("")).unwrap();
    file.write_at(0, b"long").unwrap();
    file.sync_data().unwrap();
    file.set_len(2).unwrap();
    file.sync_data().unwrap();
    let data_synced = disk.recording().operations().len();
    file.sync_all().unwrap();
    let recording = disk.recording();
    let contents = |operations| -> BTreeSet<_> {
        let images = recording.images(1, MANY).since(operations).take_while(|image| image.operations() == operations);
        images.map(|image| read(&image, "a").unwrap()).collect()
    };
    let (short, long) = (b"lo".to_vec(), b"long".to_vec());
    assert_eq!(contents(data_synced), BTreeSet::from([short.clone(), long]));
    assert_eq!(contents(data_synced + 1), BTreeSet::from([short]));
}

#[test]
fn growing_and_removing_survive_or_not_on_their_own() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    let other = create(&disk, "b");
    other.sync_all().unwrap();
    disk.sync_directory(Path::new("")).unwrap();
    file.allocate(0, 3).unwrap();
    disk.remove(Path::new("b")).unwrap();
    let recording = disk.recording();
    let images = recording.images(1, MANY);
    let found: BTreeSet<_> = images.map(|image| (read(&image, "a"), read(&image, "b").is_some())).collect();
    for length in [0, 3] {
        for removed in [false, true] {
            assert!(found.contains(&(Some(vec![0; length]), !removed)), "{found:?}");
        }
    }
}

#[test]
fn images_come_once_and_the_same_each_time_and_again_by_their_id() {
    let disk = random_workload(3, 60);
    let recording = disk.recording();
    let ids: Vec<_> = recording.images(9, Kinds::default()).map(|image| image.to_string()).collect();
    let again: Vec<_> = recording.images(9, Kinds::default()).map(|image| image.to_string()).collect();
    assert_eq!(ids, again);
    let mut contents = BTreeSet::new();
    for image in recording.images(9, Kinds::default()) {
        assert!(contents.insert((whole(&image), image.marks().len())), "{image} came twice");
        let id: ImageId = image.id().to_string().parse().unwrap();
        assert_eq!(whole(&recording.image(id)), whole(&image), "{image}");
        assert_eq!(recording.image(id).to_string(), image.to_string());
    }
    assert!(contents.len() > 300, "{} images of 60 operations", contents.len());
    assert!("42:118".parse::<ImageId>().is_err() && "a:b:durable".parse::<ImageId>().is_err());
}

#[test]
fn equal_bytes_are_tried_again_once_more_was_acknowledged() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    disk.sync_directory(Path::new("")).unwrap();
    file.write_at(0, b"x").unwrap();
    disk.mark("acknowledged", 1);
    let recording = disk.recording();
    let mut lost =
        recording.images(1, MANY).filter(|image| !image.marks().is_empty() && read(image, "a") != Some(b"x".to_vec()));
    assert!(lost.next().is_some(), "an acknowledgement without a sync must show");
}

#[test]
fn an_image_records_in_turn_and_is_durable_as_it_stands() {
    let disk = random_workload(5, 30);
    let recording = disk.recording();
    for image in recording.images(2, Kinds::default()).step_by(7) {
        let before = whole(&image);
        let nested = image.disk();
        let file = create(&nested, "recovered");
        file.write_at(0, &[7; 600]).unwrap();
        let nested = nested.recording();
        for crash in nested.images(2, Kinds::default()) {
            let mut left = whole(&crash);
            left.retain(|(path, _)| path != Path::new("recovered"));
            assert_eq!(left, before, "{image}, then {crash}");
        }
        assert_eq!(nested.operations().len(), 2);
    }
}

#[test]
fn more_than_ten_thousand_images_of_a_megabyte_are_cheap() {
    let disk = CrashDisk::new();
    let file = create(&disk, "a");
    let mut random = Random::new(11);
    file.write_at(0, &vec![1; 1 << 20]).unwrap();
    file.sync_data().unwrap();
    disk.sync_directory(Path::new("")).unwrap();
    let mut bytes = vec![0; 16 << 10];
    for round in 0..2100 {
        bytes.fill(round as u8);
        file.write_at(random.below(64) << 14, &bytes).unwrap();
        if round % 8 == 7 {
            file.sync_data().unwrap();
        }
    }
    let started = std::time::Instant::now();
    let recording = disk.recording();
    let mut buffer = vec![0; 16 << 10];
    let mut count = 0;
    for image in recording.images(1, Kinds::default()) {
        let file = image.disk().open(Path::new("a"), Access::Read);
        // An image without the name comes first.
        if let Ok(file) = file
            && file.len().unwrap() > 0
        {
            file.read_at(0, &mut buffer).unwrap();
        }
        count += 1;
    }
    println!("{count} images in {:?}", started.elapsed());
    assert!(count >= 10_000, "{count} images");
}

fn create(disk: &CrashDisk, name: &str) -> Arc<dyn File> {
    disk.open(Path::new(name), Access::CreateNew).unwrap()
}

fn read(image: &CrashImage<'_>, name: &str) -> Option<Vec<u8>> {
    let file = image.disk().open(Path::new(name), Access::Read).ok()?;
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    Some(bytes)
}

fn whole(image: &CrashImage<'_>) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = image.disk().list(Path::new("")).unwrap();
    paths.into_iter().map(|path| (path.clone(), read(image, path.to_str().unwrap()).unwrap())).collect()
}

/// Three files, written, cut, renamed and synced at random.
fn random_workload(seed: u64, operations: usize) -> CrashDisk {
    let mut random = Random::new(seed);
    let disk = CrashDisk::new();
    let files: Vec<_> = ["a", "b", "c"].into_iter().map(|name| create(&disk, name)).collect();
    for number in 0..operations {
        let file = &files[random.index(3)];
        match random.below(8) {
            0 => file.set_len(random.below(9000)).unwrap(),
            1 => file.allocate(random.below(9000), random.below(500)).unwrap(),
            2 => file.sync_data().unwrap(),
            3 => disk.sync_directory(Path::new("")).unwrap(),
            4 => drop(
                disk.rename(Path::new("c"), Path::new("d")).or_else(|_| disk.rename(Path::new("d"), Path::new("c"))),
            ),
            5 => disk.mark("step", number as u64),
            _ => file.write_at(random.below(9000), &vec![number as u8; 1 + random.index(3000)]).unwrap(),
        }
    }
    disk
}
