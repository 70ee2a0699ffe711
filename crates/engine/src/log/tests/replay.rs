//! Reading logs back that were cut, damaged, mixed up or recycled.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::fixture::*;
use crate::error::{Error, Place};
use crate::format::{RecordEncoder, SegmentHeader};
use crate::ids::{SegmentNumber, Sequence, TableId};
use crate::io::Disk;
use crate::log::{Log, ReplayFrom, read_back};
use crate::sync::Arc;

/// A disk with a log of one segment with `count` commits, each synced if `synced`; and where each commit ends.
fn small_log(count: u64, synced: bool) -> (Arc<dyn Disk>, Vec<u64>) {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    let mut ends = Vec::new();
    for sequence in 1..=count {
        append(&mut log, sequence);
        if synced {
            log.sync().expect("the disk works");
        }
        ends.push(log.current_bytes());
    }
    log.write().expect("the disk works");
    (disk, ends)
}

/// A disk with two segments, the first with commits 1 to 4, the second with 5 to 8. Each was synced if `synced`.
fn two_segments(synced: bool) -> Arc<dyn Disk> {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    for sequence in 1..=8 {
        append(&mut log, sequence);
        if synced {
            log.sync().expect("the disk works");
        }
        if sequence == 4 {
            log.rotate().expect("the disk works");
        }
    }
    log.write().expect("the disk works");
    disk
}

fn offence(disk: &Arc<dyn Disk>) -> (Place, String) {
    match replay(disk, from_start()) {
        Err(Error::Corrupt { place, offence, .. }) => (place, offence),
        other => panic!("not corrupt: {other:?}"),
    }
}

fn change_file(disk: &Arc<dyn Disk>, number: u64, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = read_file(&**disk, &segment(number));
    change(&mut bytes);
    write_file(&**disk, &segment(number), &bytes);
}

#[test]
fn nothing_is_replayed_where_there_is_no_log() {
    let (_, disk) = FaultyDisk::new();
    let (commits, end) = replay(&disk, from(7, 3)).expect("nothing is wrong");
    assert_eq!(commits, []);
    assert_eq!((end.sequence, end.next_segment, end.last_checksum), (Sequence(7), SegmentNumber(3), 0));
}

#[test]
fn log_cut_at_any_byte_replays_exactly_the_whole_commits_before() {
    for synced in [false, true] {
        let (disk, ends) = small_log(8, synced);
        let whole = read_file(&*disk, &segment(1));
        for length in (0..=records_end(&whole)).chain([whole.len()]) {
            write_file(&*disk, &segment(1), &whole[..length]);
            let (commits, _) = replay(&disk, from_start()).expect("a cut tail is no damage");
            // The padding after a commit may be missing.
            let complete = ends.iter().filter(|&&end| end - 7 <= length as u64).count() as u64;
            let certain = ends.iter().filter(|&&end| end <= length as u64).count() as u64;
            assert!(commits == usual(1, certain) || commits == usual(1, complete), "cut at {length}");
        }
    }
}

#[test]
fn flipped_bit_in_an_unsynced_log_gives_a_prefix_or_an_error() {
    let (disk, ends) = small_log(6, false);
    let whole = read_file(&*disk, &segment(1));
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        write_file(&*disk, &segment(1), &flipped);
        match replay(&disk, from_start()) {
            Ok((commits, _)) => {
                let before = ends.iter().filter(|&&end| end <= (bit / 8) as u64).count() as u64;
                assert!(commits == usual(1, before) || commits == usual(1, 6), "bit {bit}");
            }
            Err(error) => assert!(bit / 8 < SegmentHeader::BYTES && error.is_corruption(), "bit {bit}"),
        }
    }
}

#[test]
fn flipped_bit_in_a_synced_log_is_an_error_but_in_its_last_commit() {
    let (disk, ends) = small_log(6, true);
    let whole = read_file(&*disk, &segment(1));
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        write_file(&*disk, &segment(1), &flipped);
        match replay(&disk, from_start()) {
            // Padding is not checked, and nobody claims that the last commit was durable.
            Ok((commits, _)) if commits.len() == 6 => assert_eq!(commits, usual(1, 6)),
            Ok((commits, _)) => assert!(commits == usual(1, 5) && (bit / 8) as u64 >= ends[4], "bit {bit}"),
            Err(error) => assert!(error.is_corruption() && ((bit / 8) as u64) < ends[4], "bit {bit}"),
        }
    }
}

#[test]
fn any_damage_gives_a_prefix_or_an_error() {
    let seed = 99;
    let mut random = Random(seed);
    let disk = two_segments(true);
    let whole = [1, 2].map(|number| read_file(&*disk, &segment(number)));
    for round in 0..3_000 {
        for (number, bytes) in [(1, &whole[0]), (2, &whole[1])] {
            let mut bytes = bytes.clone();
            for _ in 0..random.below(3) {
                damage(&mut random, &mut bytes);
            }
            write_file(&*disk, &segment(number), &bytes);
        }
        match replay(&disk, from_start()) {
            Ok((commits, _)) => assert_eq!(commits, usual(1, commits.len() as u64), "seed {seed} round {round}"),
            Err(error) => assert!(error.is_corruption(), "seed {seed} round {round}: {error}"),
        }
    }
}

#[test]
fn record_changed_by_someone_who_knows_the_checksums_never_panics() {
    let seed = 5;
    let mut random = Random(seed);
    let (disk, ends) = small_log(4, true);
    let whole = read_file(&*disk, &segment(1));
    let salt = u64::from_le_bytes(whole[40..48].try_into().expect("eight bytes"));
    let (start, end) = (ends[0] as usize, ends[1] as usize);
    let payload_end = start + u32::from_le_bytes(whole[start + 8..start + 12].try_into().expect("four bytes")) as usize;
    let (mut errors, mut prefixes) = (0, 0);
    for round in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(3) {
            let at = start + 8 + random.below((end - start - 8) as u64) as usize;
            bytes[at] = if random.below(2) == 0 { random.next() as u8 } else { bytes[at] ^ 1 };
        }
        let payload_checksum = xxh3_64(&bytes[start + 56..payload_end]);
        bytes[start + 40..start + 48].copy_from_slice(&payload_checksum.to_le_bytes());
        let checksum = xxh3_64_with_seed(&bytes[start + 8..start + 56], salt);
        bytes[start..start + 8].copy_from_slice(&checksum.to_le_bytes());
        write_file(&*disk, &segment(1), &bytes);
        match replay(&disk, from_start()) {
            Ok((commits, _)) => {
                assert_eq!(commits[..1], usual(1, 1), "seed {seed} round {round}");
                prefixes += 1;
            }
            Err(error) => {
                assert!(error.is_corruption(), "seed {seed} round {round}: {error}");
                errors += 1;
            }
        }
    }
    assert!(errors > 10_000 && prefixes > 100, "{errors} errors, {prefixes} prefixes");
}

/// Overwrites, zeroes, moves or cuts a stretch of bytes.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let start = random.below(bytes.len() as u64) as usize;
    let length = random.below((bytes.len() - start) as u64 + 1) as usize;
    match random.below(5) {
        0 => bytes[start..start + length].fill(0),
        1 => bytes[start..start + length].fill_with(|| random.next() as u8),
        2 => bytes.copy_within(start..start + length, 0),
        3 => bytes.truncate(start),
        _ => drop(bytes.drain(start..start + length)),
    }
}

#[test]
fn damage_before_a_durable_commit_names_the_segment_and_the_byte() {
    let (disk, ends) = small_log(6, true);
    change_file(&disk, 1, |bytes| bytes[ends[1] as usize + 60] ^= 1);
    let (place, offence) = offence(&disk);
    assert_eq!(place, Place::Log(SegmentNumber(1), ends[1]));
    assert!(offence.contains("commit 3 is expected") && offence.contains("all up to 3 were durable"), "{offence}");
}

#[test]
fn fault_that_only_the_caller_sees_is_reported_with_its_place() {
    let (disk, ends) = small_log(2, true);
    let mut replay = read_back(&disk, database(), UUID, from(1, 1)).expect("names are fine");
    let commit = replay.next_commit().expect("the log is intact").expect("there is a second commit");
    let error = commit.damaged("it changes a table that is not there");
    assert!(matches!(error, Error::Corrupt { place: Place::Log(SegmentNumber(1), at), .. } if at == ends[0]));
}

#[test]
fn damage_is_shown_by_a_later_segment_alone() {
    let disk = two_segments(true);
    change_file(&disk, 1, |bytes| {
        let last = records_end(bytes) - 60;
        bytes.truncate(last);
    });
    assert!(matches!(offence(&disk).0, Place::Log(SegmentNumber(1), _)));
}

#[test]
fn tail_lost_before_an_unsynced_segment_ends_the_log_there() {
    let disk = two_segments(false);
    change_file(&disk, 1, |bytes| {
        let last = records_end(bytes) - 60;
        bytes.truncate(last);
    });
    let (commits, end) = replay(&disk, from_start()).expect("nothing was durable");
    assert_eq!(commits, usual(1, 3));
    assert_eq!((end.sequence, end.next_segment), (Sequence(3), SegmentNumber(3)));
    // The log goes on in a third segment; the second stays unreachable.
    let (_, mut log) = open_log(&disk, from_start());
    for sequence in 4..=6 {
        append(&mut log, sequence);
        log.sync().expect("the disk works");
    }
    assert_eq!(replay(&disk, from_start()).expect("the log is intact").0, usual(1, 6));
}

#[test]
fn log_goes_on_after_a_torn_tail_in_the_next_segment() {
    let (disk, ends) = small_log(4, false);
    change_file(&disk, 1, |bytes| bytes[ends[2] as usize..].fill(0xee));
    let (commits, mut log) = open_log(&disk, from_start());
    assert_eq!(commits, usual(1, 3));
    append(&mut log, 4);
    append(&mut log, 5);
    log.sync().expect("the disk works");
    assert_eq!(replay(&disk, from_start()).expect("the log is intact").0, usual(1, 5));
}

#[test]
fn commit_whose_last_part_is_missing_is_not_replayed() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    let start = log.current_bytes() as usize;
    let mut encoder = RecordEncoder::with_short_parts(1);
    encoder.begin();
    for key in 0..10u8 {
        encoder.put(TableId(1), &[key], b"value");
    }
    encoder.finish();
    log.append(&mut encoder, Sequence(2)).expect("the disk works");
    let end = log.current_bytes() as usize;
    append(&mut log, 3);
    log.write().expect("the disk works");
    let whole = read_file(&*disk, &segment(1));
    assert_eq!(replay(&disk, from_start()).expect("the log is intact").0.len(), 3);
    for length in start..end - 7 {
        write_file(&*disk, &segment(1), &whole[..length]);
        assert_eq!(replay(&disk, from_start()).expect("nothing was durable").0, usual(1, 1), "cut at {length}");
    }
    // Without one of its parts, the commit is not there either, nor is what follows.
    let part = (end - start) / 10;
    for missing in 0..10 {
        let mut bytes = whole.clone();
        bytes.drain(start + missing * part..start + (missing + 1) * part);
        write_file(&*disk, &segment(1), &bytes);
        assert_eq!(replay(&disk, from_start()).expect("nothing was durable").0, usual(1, 1), "part {missing}");
    }
}

#[test]
fn records_of_a_segment_that_was_recycled_are_not_replayed() {
    let (disk, _) = small_log(8, true);
    let old = read_file(&*disk, &segment(1));
    for count in 0..8 {
        let (disk, ends) = small_log(count, true);
        change_file(&disk, 1, |bytes| {
            let kept = *ends.last().unwrap_or(&(SegmentHeader::BYTES as u64)) as usize;
            assert_eq!(records_end(bytes), kept);
            bytes.truncate(kept);
            bytes.extend_from_slice(&old[kept..]);
        });
        let (commits, _) = replay(&disk, from_start()).expect("the old records have another salt");
        assert_eq!(commits, usual(1, count));
    }
}

#[test]
fn zeros_after_the_last_commit_end_the_log() {
    let (disk, _) = small_log(3, true);
    change_file(&disk, 1, |bytes| bytes.resize(3 << 20, 0));
    assert_eq!(replay(&disk, from_start()).expect("the log is intact").0, usual(1, 3));
}

#[test]
fn claim_far_behind_the_damage_is_found() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    append(&mut log, 1);
    let long = Change::Put(1, vec![], vec![3; 5_000_000]);
    log.append(&mut encode(&[long]), Sequence(2)).expect("the disk works");
    log.sync().expect("the disk works");
    append(&mut log, 3);
    log.sync().expect("the disk works");
    change_file(&disk, 1, |bytes| bytes[3_000_000] ^= 1);
    let offence = offence(&disk).1;
    assert!(offence.contains("a record with a damaged payload where commit 2 is expected"), "{offence}");
}

#[test]
fn unfinished_segment_is_skipped() {
    for unfinished in [vec![], vec![0; 10], vec![7; 63], vec![0; 5000]] {
        let disk = two_segments(true);
        write_file(&*disk, &segment(3), &unfinished);
        let (commits, end) = replay(&disk, from_start()).expect("the log is intact");
        assert_eq!((commits, end.next_segment), (usual(1, 8), SegmentNumber(4)));
        let mut log = Log::create(&disk, database(), UUID, end).expect("the disk works");
        append(&mut log, 9);
        log.write().expect("the disk works");
        assert_eq!(replay(&disk, from_start()).expect("the log is intact").0, usual(1, 9));
    }
}

#[test]
fn first_segment_that_was_durable_and_has_no_header_is_an_error() {
    for cut in [vec![], vec![0; 10], vec![7; 63], vec![0; 64], vec![0; 5000]] {
        let (disk, _) = small_log(0, true);
        write_file(&*disk, &segment(1), &cut);
        assert_eq!(replay(&disk, from_start()).expect("its maker may have crashed").0, []);
        let durable = ReplayFrom { first_segment_exists: true, ..from_start() };
        let Err(Error::Corrupt { place, offence, .. }) = replay(&disk, durable) else {
            panic!("{} bytes: it was durable", cut.len());
        };
        assert_eq!(place, Place::Log(SegmentNumber(1), 0));
        assert_eq!(offence, "its header is missing, though it was durable");
    }
}

#[test]
fn damaged_header_before_records_is_an_error() {
    for synced in [false, true] {
        let disk = two_segments(synced);
        change_file(&disk, 2, |bytes| bytes[..SegmentHeader::BYTES].fill(0));
        assert_eq!(offence(&disk).0, Place::Log(SegmentNumber(2), 0));
    }
}

#[test]
fn segment_of_another_database_is_an_error_that_says_so() {
    let disk = two_segments(true);
    let mut replay = read_back(&disk, database(), [9; 16], from_start()).expect("names are fine");
    let error = replay.next_commit().expect_err("it is another's");
    assert!(error.to_string().contains("it is the log of another database"), "{error}");
    // Even one that is only waiting for its removal.
    let error = read_back(&disk, database(), [9; 16], from(4, 2)).expect_err("it is another's");
    assert!(error.to_string().contains("it is the log of another database"), "{error}");
    // The log is gone, except for a segment of another database. The message has only the remedy for this segment.
    disk.remove(&segment(1)).expect("the disk works");
    let error = read_back(&disk, database(), [9; 16], from_start()).expect_err("it is another's");
    let expected = "log segment 2 at byte 16 is damaged: it is the log of another database; move it to the directory of \
                    its own database";
    assert!(error.to_string().ends_with(expected), "{error}");
}

#[test]
fn segment_under_the_name_of_another_is_an_error() {
    let disk = two_segments(true);
    let second = read_file(&*disk, &segment(2));
    write_file(&*disk, &segment(1), &second);
    assert_eq!(offence(&disk).1, "it is segment 2 under another's name");
}

#[test]
fn segment_that_continues_another_history_is_not_replayed() {
    let [ours, theirs] = [1, 2].map(|value| {
        let (_, disk) = FaultyDisk::new();
        let mut log = new_log(&disk);
        let mut changed = encode(&[Change::Put(1, vec![], vec![value])]);
        log.append(&mut changed, Sequence(1)).expect("the disk works");
        log.rotate().expect("the disk works");
        append(&mut log, 2);
        log.write().expect("the disk works");
        disk
    });
    assert_eq!(replay(&ours, from_start()).expect("the log is intact").0.len(), 2);
    write_file(&*ours, &segment(2), &read_file(&*theirs, &segment(2)));
    assert_eq!(replay(&ours, from_start()).expect("nothing was durable").0.len(), 1);
}

#[test]
fn missing_segment_is_an_error_that_names_it() {
    let (_, disk) = FaultyDisk::new();
    let mut log = new_log(&disk);
    for sequence in 1..=3 {
        append(&mut log, sequence);
        log.rotate().expect("the disk works");
    }
    for number in [1, 2, 3] {
        let kept = read_file(&*disk, &segment(number));
        disk.remove(&segment(number)).expect("the disk works");
        let error = replay(&disk, from_start()).expect_err("a segment is missing");
        assert!(matches!(&error, Error::LogMissing { segment: missing, .. } if *missing == segment(number)), "{error}");
        write_file(&*disk, &segment(number), &kept);
    }
    let mut expected = from(3, 5);
    assert!(replay(&disk, expected).is_ok());
    expected.first_segment_exists = true;
    assert!(replay(&disk, expected).expect_err("a segment is missing").is_corruption());
}

#[test]
fn log_that_begins_after_the_checkpoint_is_an_error() {
    let disk = two_segments(false);
    disk.remove(&segment(1)).expect("the disk works");
    let error = replay(&disk, from(2, 2)).expect_err("commits 3 and 4 are missing");
    assert!(error.to_string().contains("begins with commit 5, but the checkpoint ends with 2"), "{error}");
}

#[test]
fn commits_that_the_checkpoint_holds_are_passed_over() {
    for synced in [false, true] {
        let disk = two_segments(synced);
        for sequence in 0..=8 {
            let (commits, end) = replay(&disk, from(sequence, 1)).expect("the log is intact");
            assert_eq!((commits, end.sequence), (usual(sequence + 1, 8), Sequence(8)));
        }
        let (commits, end) = replay(&disk, from(20, 1)).expect("the log is intact");
        assert_eq!((commits, end.sequence), (vec![], Sequence(20)));
    }
}

#[test]
fn segments_below_the_first_are_left_unread_and_named() {
    let disk = two_segments(true);
    write_file(&*disk, &segment(1), b"rubbish");
    let (commits, end) = replay(&disk, from(4, 2)).expect("the first segment does not matter");
    assert_eq!(commits, usual(5, 8));
    assert_eq!(end.segments, [1, 2].map(SegmentNumber));
}

#[test]
fn files_with_similar_names_are_no_segments() {
    let disk = two_segments(true);
    for name in
        ["/data/x.ful-log.", "/data/x.ful-log.03", "/data/x.ful-log.3x", "/data/y.ful-log.3", "/data/x.ful-log.-3"]
    {
        write_file(&*disk, name.as_ref(), b"rubbish");
    }
    write_file(&*disk, "/data/x.ful-log.99999999999999999999".as_ref(), b"rubbish");
    write_file(&*disk, "/data/x.ful-log.18446744073709551615".as_ref(), b"rubbish");
    assert_eq!(replay(&disk, from_start()).expect("the log is intact").0, usual(1, 8));
}

/// A database's life: commits at all levels, rotations, checkpoints, kills and power cuts, the next life beginning
/// with what was found. Whatever was durable is found, in order, and nothing that was never committed.
#[test]
fn power_cuts_in_a_row_lose_no_durable_commit() {
    let mut used_again = 0;
    for seed in 0..400 {
        let mut random = Random(seed);
        let (faulty, disk) = FaultyDisk::new();
        let mut checkpoint = from_start();
        let mut durable = 0;
        for _ in 0..6 {
            let (commits, mut end) = replay(&disk, checkpoint).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(commits, usual(checkpoint.sequence.0 + 1, end.sequence.0), "seed {seed}");
            assert!(end.sequence.0 >= durable, "seed {seed}: {durable} was durable, {} found", end.sequence.0);
            // Recovery ends with a checkpoint.
            (checkpoint.sequence, checkpoint.first_segment) = (end.sequence, end.next_segment);
            checkpoint.first_segment_exists = false;
            end.durable = end.sequence;
            durable = end.sequence.0;
            let mut log = Log::create(&disk, database(), UUID, end).expect("the disk works");
            for _ in 0..random.below(30) {
                match random.below(10) {
                    0 => log.write().expect("the disk works"),
                    1 | 2 => durable = log.sync().expect("the disk works").0,
                    3 => drop(log.rotate().expect("the disk works")),
                    4 => {
                        let sequence = log.last_sequence();
                        checkpoint.first_segment = log.rotate().expect("the disk works");
                        (checkpoint.sequence, checkpoint.first_segment_exists) = (sequence, true);
                        durable = sequence.0;
                        log.remove_before(checkpoint.first_segment, sequence).expect("the disk works");
                    }
                    _ => append_next(&mut log),
                }
            }
            drop(log);
            faulty.cut_power(&mut random);
        }
        used_again += faulty.count(Call::Rename);
    }
    assert!(used_again > 100, "{used_again} segments were used again");
}

#[test]
fn power_cuts_without_checkpoints_lose_no_durable_commit() {
    for seed in 0..400 {
        let mut random = Random(seed);
        let (faulty, disk) = FaultyDisk::new();
        let mut durable = 0;
        for _ in 0..6 {
            let (commits, mut end) = replay(&disk, from_start()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(commits, usual(1, end.sequence.0), "seed {seed}");
            assert!(end.sequence.0 >= durable, "seed {seed}: {durable} was durable, {} found", end.sequence.0);
            // What is read after a power cut is on the medium.
            end.durable = end.sequence;
            let mut log = Log::create(&disk, database(), UUID, end).expect("the disk works");
            for _ in 0..random.below(20) {
                match random.below(8) {
                    0 => log.write().expect("the disk works"),
                    1 => durable = log.sync().expect("the disk works").0,
                    2 => drop(log.rotate().expect("the disk works")),
                    _ => append_next(&mut log),
                }
            }
            drop(log);
            faulty.cut_power(&mut random);
        }
    }
}
