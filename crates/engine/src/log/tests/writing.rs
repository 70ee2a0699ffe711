//! Appending, writing, syncing, rotating; and each of them failing.

use super::fixture::*;
use crate::error::{Error, Result};
use crate::format::RecordEncoder;
use crate::ids::{SegmentNumber, Sequence, TableId};
use crate::io::Disk;
use crate::log::writer::BUFFER_BYTES_MAX;
use crate::log::{Log, Retention};
use crate::sync::Arc;

fn commits(disk: &Arc<dyn Disk>) -> Commits {
    replay(disk, from_start()).expect("the log is intact").0
}

#[test]
fn commits_that_were_written_are_read_back() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    for sequence in 1..=20 {
        append(&mut log, sequence);
    }
    log.write().expect("the disk works");
    let (commits, end) = replay(&disk, from_start()).expect("the log is intact");
    assert_eq!(commits, usual(1, 20));
    assert_eq!((end.sequence, end.durable), (Sequence(20), Sequence(0)));
    assert_eq!((end.next_segment, end.segments), (SegmentNumber(2), vec![SegmentNumber(1)]));
}

#[test]
fn random_commits_of_all_sizes_are_read_back() {
    let seed = 7;
    let mut random = Random(seed);
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    let mut expected = Vec::new();
    for sequence in 1..=300 {
        let length_max = [10, 300, 5_000][random.below(3) as usize];
        let changes = random_changes(&mut random, 20, length_max);
        log.append(&mut encode(&changes), Sequence(sequence)).expect("the disk works");
        expected.push((sequence, changes));
        match random.below(20) {
            0 => drop(log.rotate().expect("the disk works")),
            1 => drop(log.sync().expect("the disk works")),
            2 => log.write().expect("the disk works"),
            _ => {}
        }
    }
    log.write().expect("the disk works");
    assert!(commits(&disk) == expected, "seed {seed}");
}

#[test]
fn long_commit_changes_buffers_and_is_read_back_whole() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    let long: Vec<_> = (0..3u8).map(|byte| Change::Put(1, vec![byte], vec![byte; 1_500_000])).collect();
    log.append(&mut encode(&long), Sequence(2)).expect("the disk works");
    append(&mut log, 3);
    log.write().expect("the disk works");
    let expected = [usual(1, 1), vec![(2, long)], usual(3, 3)].concat();
    assert!(commits(&disk) == expected);
}

#[test]
fn commit_of_several_parts_is_read_back_as_one() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    let changes = random_changes(&mut Random(1), 1000, 9000);
    let mut encoder = RecordEncoder::with_short_parts(10_000);
    encoder.begin();
    for change in &changes {
        match change {
            Change::Put(table, key, value) => encoder.put(TableId(*table), key, value),
            Change::PutLarge(table, key, large) => encoder.put_large(TableId(*table), key, large),
            Change::Delete(table, key) => encoder.delete(TableId(*table), key),
            Change::Loaded(table) => encoder.loaded(TableId(*table)),
            Change::Renamed(table, before, after) => encoder.renamed(TableId(*table), before, after),
        }
    }
    encoder.finish();
    log.append(&mut encoder, Sequence(1)).expect("the disk works");
    append(&mut log, 2);
    log.write().expect("the disk works");
    assert!(commits(&disk) == [vec![(1, changes)], usual(2, 2)].concat());
}

#[test]
fn buffer_is_written_before_it_grows_past_its_bound() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    let writes = faulty.count(Call::Write);
    for sequence in 1..=100 {
        let change = Change::Put(1, vec![1], vec![2; 10_000]);
        log.append(&mut encode(&[change]), Sequence(sequence)).expect("the disk works");
        assert!(log.buffered_bytes() <= BUFFER_BYTES_MAX);
    }
    assert!(log.written_sequence() >= Sequence(70));
    assert!((3..6).contains(&(faulty.count(Call::Write) - writes)));
}

#[test]
fn failed_write_is_not_replayed_and_the_next_one_succeeds() {
    for percent in [0, 1, 50, 99, 100] {
        let (faulty, disk) = FaultyDisk::new();
        faulty.write_percent_when_failing(percent);
        let mut log = new_log(&disk);
        append(&mut log, 1);
        log.write().expect("the disk works");
        append(&mut log, 2);
        append(&mut log, 3);
        faulty.fail(&[Call::Write]);
        assert!(matches!(log.write(), Err(Error::DiskFull { .. })));
        assert!(!log.is_poisoned());
        log.retract(Sequence(3));
        assert_eq!(log.last_sequence(), Sequence(2));
        assert_eq!(commits(&disk), usual(1, 1));
        faulty.fail(&[]);
        append(&mut log, 3);
        append(&mut log, 4);
        assert_eq!(log.sync().expect("the disk works"), Sequence(4));
        assert_eq!(commits(&disk), usual(1, 4));
    }
}

#[test]
fn refused_commit_is_not_replayed_when_the_one_before_it_is_written_again_unchanged() {
    let (faulty, disk) = FaultyDisk::new();
    faulty.write_percent_when_failing(100);
    let mut log = new_log(&disk);
    append(&mut log, 1);
    append(&mut log, 2);
    faulty.fail(&[Call::Write]);
    assert!(log.write().is_err());
    log.retract(Sequence(2));
    faulty.fail(&[]);
    log.write().expect("the disk works");
    assert_eq!(commits(&disk), usual(1, 1));
}

#[test]
fn refused_commit_is_not_replayed_after_a_power_cut_either() {
    for seed in 0..50 {
        let (faulty, disk) = FaultyDisk::new();
        faulty.write_percent_when_failing(100);
        let mut log = new_log(&disk);
        append(&mut log, 1);
        log.sync().expect("the disk works");
        append(&mut log, 2);
        faulty.fail(&[Call::Write]);
        assert!(log.write().is_err());
        faulty.cut_power(&mut Random(seed));
        assert_eq!(commits(&disk), usual(1, 1), "seed {seed}");
    }
}

#[test]
fn log_is_poisoned_when_a_failed_write_cannot_be_cut_off() {
    for call in [Call::SetLength, Call::Sync] {
        let (faulty, disk) = FaultyDisk::new();
        faulty.write_percent_when_failing(100);
        let mut log = new_log(&disk);
        append(&mut log, 1);
        faulty.fail(&[Call::Write, call]);
        assert!(matches!(log.write(), Err(Error::Poisoned { .. })));
        faulty.fail(&[]);
        assert_poisoned(log);
    }
}

#[test]
fn append_that_cannot_make_room_refuses_its_commit_and_keeps_those_before() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    faulty.fail(&[Call::Write]);
    let mut long = encode(&[Change::Put(1, vec![1], vec![2; BUFFER_BYTES_MAX])]);
    assert!(matches!(log.append(&mut long, Sequence(2)), Err(Error::DiskFull { .. })));
    faulty.fail(&[]);
    assert_eq!(log.last_sequence(), Sequence(1));
    append(&mut log, 2);
    log.write().expect("the disk works");
    assert_eq!(commits(&disk), usual(1, 2));
}

#[test]
fn failed_sync_poisons_every_later_call() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    log.sync().expect("the disk works");
    append(&mut log, 2);
    faulty.fail(&[Call::Sync]);
    assert!(matches!(log.sync(), Err(Error::Io { .. })));
    faulty.fail(&[]);
    assert_eq!(log.durable_sequence(), Sequence(1));
    assert_poisoned(log);
}

fn assert_poisoned(mut log: Log) {
    fn is_poisoned<T: std::fmt::Debug>(outcome: Result<T>) -> bool {
        matches!(outcome, Err(Error::Poisoned { .. }))
    }
    assert!(log.is_poisoned());
    let next = Sequence(log.last_sequence().0 + 1);
    assert!(is_poisoned(log.append(&mut encode(&changes(1)), next)));
    assert!(is_poisoned(log.write()));
    assert!(is_poisoned(log.sync()));
    assert!(is_poisoned(log.rotate()));
    assert!(is_poisoned(log.remove_before(SegmentNumber(1), Sequence(0))));
    assert!(is_poisoned(log.remove_all()));
}

#[test]
fn commits_go_on_while_a_sync_runs_and_are_not_counted_as_synced() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    let pending = log.begin_sync().expect("the disk works");
    append(&mut log, 2);
    log.write().expect("the disk works");
    log.rotate().expect("the disk works");
    append(&mut log, 3);
    let outcome = pending.run();
    assert_eq!(log.finish_sync(pending, outcome).expect("the disk works"), Sequence(1));
    let before = faulty.count(Call::Sync);
    assert_eq!(log.sync().expect("the disk works"), Sequence(3));
    assert_eq!(faulty.count(Call::Sync) - before, 2, "the second commit is in the segment that was left");
}

#[test]
fn sync_after_a_rotation_reaches_the_segment_that_was_left() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    log.rotate().expect("the disk works");
    append(&mut log, 2);
    let before = faulty.count(Call::Sync);
    log.sync().expect("the disk works");
    assert_eq!(faulty.count(Call::Sync) - before, 2);
    append(&mut log, 3);
    log.sync().expect("the disk works");
    assert_eq!(faulty.count(Call::Sync) - before, 3);
    log.sync().expect("the disk works");
    assert_eq!(faulty.count(Call::Sync) - before, 3, "nothing was left to sync");
}

#[test]
fn rotation_begins_a_segment_only_if_the_current_one_has_commits() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    assert_eq!(log.rotate().expect("the disk works"), SegmentNumber(1));
    append(&mut log, 1);
    assert_eq!(log.rotate().expect("the disk works"), SegmentNumber(2));
    assert_eq!(log.rotate().expect("the disk works"), SegmentNumber(2));
    append(&mut log, 2);
    log.write().expect("the disk works");
    assert_eq!(commits(&disk), usual(1, 2));
    assert_eq!(replay(&disk, from(1, 2)).expect("the log is intact").0, usual(2, 2));
}

#[test]
fn rotation_that_fails_leaves_the_log_in_its_segment() {
    for call in [Call::Open, Call::Write, Call::Sync] {
        for removable in [true, false] {
            let (faulty, disk) = FaultyDisk::new();
            let mut log = new_log(&disk);
            append(&mut log, 1);
            log.write().expect("the disk works");
            let failing = if removable { vec![call] } else { vec![call, Call::Remove] };
            faulty.fail(&failing);
            assert!(matches!(log.rotate(), Err(Error::DiskFull { .. })), "{call:?}");
            faulty.fail(&[]);
            append(&mut log, 2);
            log.rotate().expect("the disk works");
            append(&mut log, 3);
            log.sync().expect("the disk works");
            assert_eq!(commits(&disk), usual(1, 3), "{call:?}");
            log.remove_before(log.current_segment(), Sequence(2)).expect("the disk works");
            let (commits, end) = replay(&disk, from(2, log.current_segment().0)).expect("the log is intact");
            assert_eq!((commits, end.segments), (usual(3, 3), vec![log.current_segment()]), "{call:?}");
        }
    }
}

#[test]
fn rotation_whose_directory_sync_fails_poisons() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    faulty.fail(&[Call::SyncDirectory]);
    assert!(matches!(log.rotate(), Err(Error::Poisoned { .. })));
    assert_poisoned(log);
}

#[test]
fn log_that_cannot_be_begun_says_why() {
    let (faulty, disk) = FaultyDisk::new();
    let end = replay(&disk, from_start()).expect("the log is intact").1;
    faulty.fail(&[Call::Write]);
    let refused = Log::create(&disk, database(), UUID, end.clone());
    assert!(matches!(refused, Err(Error::DiskFull { path, .. }) if path == segment(1)));
    faulty.fail(&[Call::SyncDirectory]);
    assert!(matches!(Log::create(&disk, database(), UUID, end), Err(Error::Poisoned { .. })));
}

#[test]
fn segments_but_for_a_spare_are_removed_when_a_checkpoint_holds_their_commits() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    for sequence in 1..=3 {
        append(&mut log, sequence);
        log.rotate().expect("the disk works");
    }
    append(&mut log, 4);
    faulty.fail(&[Call::Remove]);
    assert!(matches!(log.remove_before(SegmentNumber(3), Sequence(2)), Err(Error::DiskFull { .. })));
    faulty.fail(&[]);
    log.remove_before(SegmentNumber(3), Sequence(2)).expect("the disk works");
    assert_eq!(log.durable_sequence(), Sequence(2));
    let exists = |number| disk.exists(&segment(number)).expect("the disk works");
    assert_eq!([1, 2, 3, 4].map(exists), [false, false, true, true]);
    assert!(disk.exists(&spare()).expect("the disk works"));
    log.write().expect("the disk works");
    assert_eq!(replay(&disk, from(2, 3)).expect("the log is intact").0, usual(3, 4));
    log.remove_all().expect("the disk works");
    assert_eq!([3, 4].map(exists), [false, false]);
    assert!(!disk.exists(&spare()).expect("the disk works"));
}

#[test]
fn log_that_goes_on_after_recovery_removes_what_was_there_before() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    log.write().expect("the disk works");
    drop(log);
    let (commits, mut log) = open_log(&disk, from_start());
    assert_eq!(commits, usual(1, 1));
    assert_eq!(log.current_segment(), SegmentNumber(2));
    append(&mut log, 2);
    log.write().expect("the disk works");
    log.remove_before(SegmentNumber(2), Sequence(1)).expect("the disk works");
    assert_eq!(replay(&disk, from(1, 2)).expect("the log is intact").0, usual(2, 2));
}

#[test]
fn segments_of_a_log_that_does_not_go_on_can_be_removed() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    log.rotate().expect("the disk works");
    let mut end = replay(&disk, from_start()).expect("the log is intact").1;
    faulty.fail(&[Call::Remove]);
    assert!(end.remove_unkept(&*disk, database(), &Retention::none()).is_err());
    faulty.fail(&[]);
    end.remove_unkept(&*disk, database(), &Retention::none()).expect("the disk works");
    assert_eq!(end.segments, []);
    assert_eq!([1, 2].map(|number| disk.exists(&segment(number)).expect("the disk works")), [false, false]);
}

#[test]
fn segments_are_prepared_in_growing_steps_unless_that_is_turned_off() {
    for prepares in [true, false] {
        let (_, disk) = FaultyDisk::new();
        let log = new_log(&disk);
        let mut log = if prepares { log } else { log.without_preparing() };
        let mut lengths = Vec::new();
        for sequence in 1..=3000 {
            append(&mut log, sequence);
            log.write().expect("the disk works");
            lengths.push(read_file(&*disk, &segment(1)).len());
        }
        lengths.dedup();
        let steps = 4..20;
        assert_eq!(steps.contains(&lengths.len()), prepares, "{lengths:?}");
        assert_eq!(replay(&disk, from_start()).expect("the log is intact").0, usual(1, 3000));
    }
}
