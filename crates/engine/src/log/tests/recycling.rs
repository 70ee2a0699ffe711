//! Segments that are used again: what becomes a spare, what a spare becomes, and what recovery makes of each step in
//! between.

use std::path::PathBuf;

use super::fixture::*;
use crate::error::{Error, Place};
use crate::format::SegmentHeader;
use crate::ids::{SegmentNumber, Sequence};
use crate::io::Disk;
use crate::log::{Log, ReplayFrom, Retention};
use crate::sync::Arc;

/// Turns to a new segment, and says that a checkpoint holds all commits.
fn checkpoint(log: &mut Log) {
    let sequence = log.last_sequence();
    let first = log.rotate().expect("the disk works");
    log.remove_before(first, sequence).expect("the disk works");
}

/// A log whose only commit is far longer than what is prepared ahead.
fn log_with_a_long_commit(disk: &Arc<dyn Disk>) -> Log {
    let mut log = new_log(disk);
    let long = Change::Put(1, vec![1], vec![2; 3 << 20]);
    log.append(&mut encode(&[long]), Sequence(1)).expect("the disk works");
    log
}

fn files(faulty: &FaultyDisk) -> Vec<PathBuf> {
    faulty.memory.list("/data".as_ref()).expect("the disk works")
}

fn salt(disk: &Arc<dyn Disk>, number: u64) -> u64 {
    let bytes = read_file(&**disk, &segment(number));
    SegmentHeader::decode(bytes.first_chunk().expect("there is a header")).expect("it is intact").salt
}

/// A disk whose segment 3 was segment 1 before: commits 1 to 8 were in that, 9 is in segment 2, and 10 to 13 are in
/// segment 3, each synced if `synced`. With it come the bytes that segment 3 had before its records were written.
fn recycled(synced: bool) -> (FaultyDisk, Arc<dyn Disk>, Vec<u8>) {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    for sequence in 1..=8 {
        append(&mut log, sequence);
        log.sync().expect("the disk works");
    }
    checkpoint(&mut log);
    append(&mut log, 9);
    log.write().expect("the disk works");
    assert_eq!(log.rotate().expect("the disk works"), SegmentNumber(3));
    let before = read_file(&*disk, &segment(3));
    assert_eq!(files(&faulty), [segment(2), segment(3)]);
    for sequence in 10..=13 {
        append(&mut log, sequence);
        if synced {
            log.sync().expect("the disk works");
        }
    }
    log.write().expect("the disk works");
    (faulty, disk, before)
}

#[test]
fn two_files_serve_for_any_number_of_checkpoints_and_go_when_the_log_is_closed() {
    for synced in [true, false] {
        let (faulty, disk) = FaultyDisk::new();
        let mut log = new_log(&disk);
        let mut salts = Vec::new();
        for round in 0..12 {
            for _ in 0..20 {
                append_next(&mut log);
                if synced {
                    log.sync().expect("the disk works");
                }
            }
            log.write().expect("the disk works");
            let (first, last) = (round * 20, log.last_sequence().0);
            let (commits, end) = replay(&disk, from(first, round + 1)).expect("the log is intact");
            assert_eq!((commits, end.sequence), (usual(first + 1, last), Sequence(last)), "round {round}");
            salts.push(salt(&disk, log.current_segment().0));
            checkpoint(&mut log);
            assert_eq!(files(&faulty), [segment(round + 2), spare()], "round {round}");
        }
        salts.sort_unstable();
        salts.dedup();
        assert_eq!((salts.len(), faulty.count(Call::Rename)), (12, 23), "each use has a salt of its own");
        log.remove_all().expect("the disk works");
        assert!(files(&faulty).is_empty());
    }
}

#[test]
fn segment_used_again_is_written_over_and_prepared_only_past_its_end() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    let fill = |log: &mut Log, count| {
        for _ in 0..count {
            append_next(log);
            log.sync().expect("the disk works");
        }
    };
    fill(&mut log, 300);
    checkpoint(&mut log);
    fill(&mut log, 1);
    let length = read_file(&*disk, &spare()).len();
    checkpoint(&mut log);
    fill(&mut log, 299);
    assert_eq!(read_file(&*disk, &segment(3)).len(), length, "it was long enough");
    fill(&mut log, 600);
    assert!(read_file(&*disk, &segment(3)).len() > length);
    assert_eq!(replay(&disk, from(301, 3)).expect("the log is intact").0, usual(302, 1200));
}

#[test]
fn file_that_is_much_longer_than_what_the_log_took_is_not_kept() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = log_with_a_long_commit(&disk);
    checkpoint(&mut log);
    append(&mut log, 2);
    checkpoint(&mut log);
    assert_eq!(files(&faulty), [segment(3), spare()], "what the log took before is what counts");
    append(&mut log, 3);
    checkpoint(&mut log);
    assert_eq!(files(&faulty), [segment(4)], "a segment of 3 MiB that held one small commit was removed");
    // Nor is one that nothing was prepared for.
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk).without_preparing();
    append(&mut log, 1);
    checkpoint(&mut log);
    assert_eq!(files(&faulty), [segment(2)]);
}

#[test]
fn first_sync_does_not_write_what_the_segment_before_left_unsynced() {
    for synced in [true, false] {
        let (_, disk) = FaultyDisk::new();
        let mut log = log_with_a_long_commit(&disk);
        if synced {
            log.sync().expect("the disk works");
        }
        checkpoint(&mut log);
        append(&mut log, 2);
        checkpoint(&mut log);
        append(&mut log, 3);
        log.write().expect("the disk works");
        assert_eq!(read_file(&*disk, &segment(3)).len() >> 20, 3);
        log.sync().expect("the disk works");
        let left = read_file(&*disk, &segment(3)).len();
        assert_eq!(left as u64 == log.current_bytes(), !synced, "{left} bytes are left");
        append(&mut log, 4);
        log.sync().expect("the disk works");
        assert_eq!(replay(&disk, from(2, 3)).expect("the log is intact").0, usual(3, 4));
    }
}

#[test]
fn segment_that_was_left_is_synced_without_what_the_one_before_it_left() {
    let (_, disk) = FaultyDisk::new();
    let mut log = log_with_a_long_commit(&disk);
    checkpoint(&mut log);
    append(&mut log, 2);
    checkpoint(&mut log);
    append(&mut log, 3);
    log.rotate().expect("the disk works");
    append(&mut log, 4);
    log.sync().expect("the disk works");
    assert!(read_file(&*disk, &segment(3)).len() < 1000);
    assert_eq!(replay(&disk, from(2, 3)).expect("the log is intact").0, usual(3, 4));
}

#[test]
fn spare_that_cannot_be_used_is_given_up_and_a_new_file_made() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    for sequence in [1, 2] {
        append(&mut log, sequence);
        checkpoint(&mut log);
    }
    append(&mut log, 3);
    faulty.fail(&[Call::Rename, Call::Remove]);
    log.rotate().expect("a new file can be made");
    faulty.fail(&[]);
    append(&mut log, 4);
    log.sync().expect("the disk works");
    assert_eq!(files(&faulty), [segment(3), segment(4), spare()], "it could not even be removed");
    assert_eq!(replay(&disk, from(2, 3)).expect("what is left over does not matter").0, usual(3, 4));
    checkpoint(&mut log);
    assert_eq!(files(&faulty), [segment(5), spare()], "what was given up gave way to the next");
}

#[test]
fn rotation_to_a_spare_that_fails_leaves_the_log_in_its_segment() {
    for call in [Call::Write, Call::Sync] {
        let (faulty, disk) = FaultyDisk::new();
        let mut log = new_log(&disk);
        append(&mut log, 1);
        checkpoint(&mut log);
        append(&mut log, 2);
        log.write().expect("the disk works");
        faulty.fail(&[call]);
        assert!(matches!(log.rotate(), Err(Error::DiskFull { .. })), "{call:?}");
        faulty.fail(&[]);
        append(&mut log, 3);
        log.write().expect("the disk works");
        assert_eq!(replay(&disk, from(1, 2)).expect("the log is intact").0, usual(2, 3));
        checkpoint(&mut log);
        append(&mut log, 4);
        log.write().expect("the disk works");
        assert_eq!(replay(&disk, from(3, log.current_segment().0)).expect("the log is intact").0, usual(4, 4));
        assert_eq!(files(&faulty), [segment(3), spare()], "{call:?}");
    }
}

#[test]
fn rotation_to_a_spare_whose_directory_sync_fails_poisons() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    checkpoint(&mut log);
    append(&mut log, 2);
    faulty.fail(&[Call::SyncDirectory]);
    assert!(matches!(log.rotate(), Err(Error::Poisoned { .. })));
    assert!(log.is_poisoned());
}

#[test]
fn spare_is_not_used_while_a_sync_runs() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    log.write().expect("the disk works");
    let pending = log.begin_sync().expect("the disk works");
    checkpoint(&mut log);
    append(&mut log, 2);
    log.rotate().expect("the disk works");
    assert_eq!(faulty.count(Call::Rename), 1, "it became a spare, and stayed one");
    let outcome = pending.run();
    log.finish_sync(pending, outcome).expect("the disk works");
    append(&mut log, 3);
    log.rotate().expect("the disk works");
    assert_eq!(faulty.count(Call::Rename), 2);
}

#[test]
fn name_that_a_failed_attempt_took_is_passed_over() {
    let (faulty, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    checkpoint(&mut log);
    write_file(&*disk, &segment(3), b"");
    append(&mut log, 2);
    assert_eq!(log.rotate().expect("the disk works"), SegmentNumber(4));
    assert_eq!(files(&faulty), [2, 3, 4].map(segment));
    append(&mut log, 3);
    log.write().expect("the disk works");
    assert_eq!(replay(&disk, from(1, 2)).expect("the log is intact").0, usual(2, 3));
}

#[test]
fn cut_anywhere_among_the_records_of_before_it_replays_the_whole_commits() {
    let (_, disk, before) = recycled(false);
    let after = read_file(&*disk, &segment(3));
    let end = after.iter().zip(&before).rposition(|(new, old)| new != old).expect("records were written") + 1;
    let mut found = Vec::new();
    for cut in SegmentHeader::BYTES..=end {
        write_file(&*disk, &segment(3), &[&after[..cut], &before[cut..]].concat());
        let (commits, _) = replay(&disk, from(8, 2)).expect("nothing of it was durable");
        assert_eq!(commits, usual(9, 8 + commits.len() as u64), "cut at {cut}");
        found.push(commits.len());
    }
    assert!(found.is_sorted());
    found.dedup();
    assert_eq!(found, [1, 2, 3, 4, 5]);
    // Sectors reach the disk in any order.
    let mut random = Random(11);
    for round in 0..2_000 {
        let mut mixed = before.clone();
        for start in (0..end).step_by(32).filter(|_| random.below(4) > 0) {
            let end = (start + 32).min(after.len());
            mixed[start..end].copy_from_slice(&after[start..end]);
        }
        mixed[..SegmentHeader::BYTES].copy_from_slice(&after[..SegmentHeader::BYTES]);
        write_file(&*disk, &segment(3), &mixed);
        let (commits, _) = replay(&disk, from(8, 2)).expect("nothing of it was durable");
        assert_eq!(commits, usual(9, 8 + commits.len() as u64), "round {round}");
    }
}

#[test]
fn damage_to_durable_commits_among_the_records_of_before_is_an_error() {
    let (_, disk, before) = recycled(true);
    let mut bytes = read_file(&*disk, &segment(3));
    let start = SegmentHeader::BYTES;
    bytes[start..start + 100].copy_from_slice(&before[start..start + 100]);
    write_file(&*disk, &segment(3), &bytes);
    let error = replay(&disk, from(8, 2)).expect_err("commits 10 to 12 were durable");
    assert!(matches!(error, Error::Corrupt { place: Place::Log(SegmentNumber(2), _), .. }), "{error}");
    assert!(error.to_string().contains("segment 3 says"), "{error}");
}

#[test]
fn records_of_other_commits_with_the_same_numbers_at_the_same_places_are_not_replayed() {
    // Two lives of a database, in which each commit takes the same bytes; and all commits say that those before were
    // durable.
    let changes = |life: u8, sequence: u64| vec![Change::Put(1, sequence.to_le_bytes().to_vec(), vec![life; 40])];
    let lives = [1, 2].map(|life| {
        let (_, disk) = FaultyDisk::new();
        let mut log = new_log(&disk);
        let mut ends = vec![SegmentHeader::BYTES];
        for sequence in 1..=8 {
            log.append(&mut encode(&changes(life, sequence)), Sequence(sequence)).expect("the disk works");
            log.sync().expect("the disk works");
            ends.push(log.current_bytes() as usize);
        }
        (disk.clone(), read_file(&*disk, &segment(1)), ends)
    });
    let [(_, old, old_ends), (disk, new, ends)] = lives;
    assert_eq!(old_ends, ends);
    let expected: Commits = (1..=8).map(|sequence| (sequence, changes(2, sequence))).collect();
    for cut in SegmentHeader::BYTES..new.len().min(ends[8] + 100) {
        write_file(&*disk, &segment(1), &[&new[..cut], &old[cut..]].concat());
        let (commits, _) = replay(&disk, from_start()).expect("the old records have another salt");
        // Behind the last change there is only padding.
        let whole = ends[1..].iter().filter(|&&end| end - 7 <= cut).count();
        let certain = ends[1..].iter().filter(|&&end| end <= cut).count();
        assert!(commits == expected[..whole] || commits == expected[..certain], "cut at {cut}");
    }
}

#[test]
fn every_step_of_using_a_segment_again_can_be_the_last() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    for sequence in 1..=4 {
        append(&mut log, sequence);
        log.sync().expect("the disk works");
    }
    checkpoint(&mut log);
    append(&mut log, 5);
    log.sync().expect("the disk works");
    let old = read_file(&*disk, &spare());
    log.rotate().expect("the disk works");
    let ready = read_file(&*disk, &segment(3));
    assert_eq!(ready[SegmentHeader::BYTES..], old[SegmentHeader::BYTES..]);
    disk.remove(&segment(3)).expect("the disk works");
    // As a spare it does not matter, however far its new header has come; nor does it under the name before, which
    // may be back after a power cut.
    for name in [spare(), segment(1)] {
        for written in 0..=SegmentHeader::BYTES {
            write_file(&*disk, &name, &[&ready[..written], &old[written..]].concat());
            let (commits, mut end) = replay(&disk, from(4, 2)).expect("it is only left over");
            assert_eq!((commits, end.next_segment), (usual(5, 5), SegmentNumber(3)));
            let segment_2 = read_file(&*disk, &segment(2));
            end.remove_unkept(&*disk, database(), &Retention::none()).expect("the disk works");
            assert!(!disk.exists(&name).expect("the disk works"), "it was removed with the rest");
            write_file(&*disk, &segment(2), &segment_2);
        }
    }
    // Under its new name it has no records yet.
    write_file(&*disk, &segment(3), &ready);
    let (commits, end) = replay(&disk, from(4, 2)).expect("the log is intact");
    assert_eq!((commits, end.next_segment), (usual(5, 5), SegmentNumber(4)));
    // It has that name only with its new header: anything else is damage.
    for (header, what) in [(&old, "it is segment 1 under another's name"), (&vec![0; 64], "its header is damaged")] {
        write_file(&*disk, &segment(3), &[&header[..SegmentHeader::BYTES], &old[SegmentHeader::BYTES..]].concat());
        let error = replay(&disk, from(4, 2)).expect_err("no crash leaves this");
        assert!(error.is_corruption() && error.to_string().contains(what), "{error}");
    }
}

/// The pages of the checkpoint before may be used again by then: were its log still there, that checkpoint would pass
/// for the newest if the newest meta is damaged.
#[test]
fn log_of_the_checkpoint_before_is_not_found_in_a_spare() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    let first = log.rotate().expect("the disk works");
    log.remove_before(first, Sequence(1)).expect("the disk works");
    append(&mut log, 2);
    let second = log.rotate().expect("the disk works");
    append(&mut log, 3);
    log.sync().expect("the disk works");
    log.remove_before(second, Sequence(2)).expect("the disk works");
    drop(log);
    let before = ReplayFrom { sequence: Sequence(1), first_segment: first, first_segment_exists: true };
    let error = replay(&disk, before).expect_err("its first segment became a spare");
    assert!(error.is_corruption() && error.to_string().contains("missing"), "{error}");
    assert_eq!(replay(&disk, from(2, second.0)).expect("the log is intact").0, usual(3, 3));
}

#[test]
fn power_cuts_between_checkpoints_that_use_segments_again_lose_no_durable_commit() {
    let mut used_again = 0;
    for seed in 0..300 {
        let mut random = Random(seed);
        let (faulty, disk) = FaultyDisk::new();
        let mut start = from_start();
        let mut durable = 0;
        for _ in 0..4 {
            let (commits, mut end) = replay(&disk, start).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(commits, usual(start.sequence.0 + 1, end.sequence.0), "seed {seed}");
            assert!(end.sequence.0 >= durable, "seed {seed}: {durable} was durable, {} found", end.sequence.0);
            (start.sequence, start.first_segment, start.first_segment_exists) = (end.sequence, end.next_segment, false);
            (end.durable, durable) = (end.sequence, end.sequence.0);
            let mut log = Log::create(&disk, database(), UUID, end).expect("the disk works");
            for _ in 0..4 + random.below(4) {
                for _ in 0..1 + random.below(12) {
                    append_next(&mut log);
                    match random.below(4) {
                        0 => log.write().expect("the disk works"),
                        1 => durable = log.sync().expect("the disk works").0,
                        _ => {}
                    }
                }
                // The power may be cut with the segment begun, but the checkpoint not made.
                let sequence = log.last_sequence();
                let first = log.rotate().expect("the disk works");
                if random.below(4) == 0 {
                    break;
                }
                (start.sequence, start.first_segment, start.first_segment_exists) = (sequence, first, true);
                durable = sequence.0;
                log.remove_before(first, sequence).expect("the disk works");
            }
            drop(log);
            faulty.cut_power(&mut random);
        }
        used_again += faulty.count(Call::Rename) / 2;
    }
    assert!(used_again > 1_000, "{used_again} segments were used again");
}

#[test]
fn log_that_gives_back_what_it_holds_beside_commits_goes_on_and_is_read_back() {
    for synced in [true, false] {
        let (faulty, disk) = FaultyDisk::new();
        let mut log = log_with_a_long_commit(&disk);
        let mut first = 1;
        for round in 0..4 {
            log.sync().expect("the disk works");
            checkpoint(&mut log);
            first += 1;
            append_next(&mut log);
            if synced {
                log.sync().expect("the disk works");
            }
            log.write().expect("the disk works");
            let current = segment(log.current_segment().0);
            log.give_back().expect("the disk works");
            assert_eq!(files(&faulty), std::slice::from_ref(&current), "round {round}");
            let bytes = read_file(&*disk, &current);
            assert_eq!(records_end(&bytes), bytes.len(), "round {round}");
            append_next(&mut log);
            log.write().expect("the disk works");
            let begin = log.last_sequence().0 - 2;
            let (commits, end) = replay(&disk, from(begin, first)).expect("the log is intact");
            assert_eq!((commits, end.sequence), (usual(begin + 1, begin + 2), Sequence(begin + 2)), "round {round}");
        }
    }
}
