//! Commits that are written to their places without the log, in whatever order.
#![allow(unsafe_code)] // Places are written to.

use std::path::PathBuf;

use super::fixture::*;
use crate::format::{RECORD_ALIGNMENT, RecordEncoder};
use crate::ids::{SegmentNumber, Sequence};
use crate::io::{Disk, PreparedPlace, RealDisk};
use crate::log::{Log, Retention};
use crate::sync::Arc;

/// A longer commit has no place of its own.
const PLACED_BYTES_MAX: usize = 64 << 10;

/// A log on a real disk, which alone has places.
struct Placing {
    log: Log,
    disk: Arc<dyn Disk>,
    database: PathBuf,
    _directory: tempfile::TempDir,
}

impl Placing {
    /// `None` where the file system takes calls only.
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let database = directory.path().join("a.ful");
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let (_, end) = replay_at(&disk, &database, from_start()).expect("there is no log");
        let log = Log::create_keeping(&disk, &database, UUID, end, Retention::none()).expect("the disk works");
        let mut placing = Self { log, disk, database, _directory: directory };
        let (first, place) = placing.place(1)?;
        write(place, &first);
        Some(placing)
    }

    /// Gives the commit a place, with its usual changes.
    fn place(&mut self, sequence: u64) -> Option<(RecordEncoder, PreparedPlace)> {
        let mut encoder = encode(&changes(sequence));
        let place = self.log.place(&mut encoder, Sequence(sequence)).expect("the disk works")?;
        Some((encoder, place))
    }

    fn commits(&self) -> Commits {
        replay_at(&self.disk, &self.database, from_start()).expect("the log is intact").0
    }
}

fn write(place: PreparedPlace, commit: &RecordEncoder) {
    place.approach();
    // SAFETY: the log of the test holds the file, and is not touched meanwhile; nobody else has the place.
    unsafe { place.write(commit.bytes()) };
}

#[test]
fn commits_that_are_written_in_any_order_are_read_back_up_to_the_first_that_is_not() {
    let Some(mut placing) = Placing::new() else { return };
    let mut places: Vec<_> = (2..=6).map(|sequence| placing.place(sequence)).collect();
    let mut write_one = |sequence: usize| {
        let (commit, place) = places[sequence - 2].take().expect("it is prepared, and not written yet");
        write(place, &commit);
    };
    for (sequence, last) in [(3, 1), (2, 3), (6, 3), (5, 3), (4, 6)] {
        write_one(sequence);
        assert_eq!(placing.commits(), usual(1, last), "after commit {sequence}");
    }
    assert_eq!(placing.log.written_sequence(), Sequence(6));
}

#[test]
fn a_log_that_goes_on_behind_a_gap_does_not_find_what_is_behind_it() {
    let Some(mut placing) = Placing::new() else { return };
    let _never_written = placing.place(2);
    let (third, place) = placing.place(3).expect("it is prepared");
    write(place, &third);
    let (commits, end) = replay_at(&placing.disk, &placing.database, from_start()).expect("the log is intact");
    assert_eq!((commits, end.sequence, end.next_segment), (usual(1, 1), Sequence(1), SegmentNumber(2)));
    let database = &placing.database;
    let mut log = Log::create_keeping(&placing.disk, database, UUID, end, Retention::none()).expect("the disk works");
    append(&mut log, 2);
    log.sync().expect("the disk works");
    assert_eq!(placing.commits(), usual(1, 2));
}

#[test]
fn places_and_the_buffer_keep_the_order_of_the_commits() {
    let Some(mut placing) = Placing::new() else { return };
    append(&mut placing.log, 2);
    assert!(placing.place(3).is_none(), "what waits in the buffer comes first");
    append(&mut placing.log, 3);
    let (commit, place) = {
        placing.log.write().expect("the disk works");
        placing.place(4).expect("the buffer is empty")
    };
    append(&mut placing.log, 5);
    placing.log.write().expect("the disk works");
    write(place, &commit);
    placing.log.sync().expect("the disk works");
    assert_eq!(placing.commits(), usual(1, 5));
    let mut log = placing.log.without_preparing();
    assert!(log.place(&mut encode(&changes(6)), Sequence(6)).expect("the disk works").is_none());
}

#[test]
fn a_long_commit_has_no_place_even_where_there_is_room_for_it() {
    let Some(mut placing) = Placing::new() else { return };
    let mut expected = usual(1, 1);
    let mut next = 2;
    // The longer the segment, the more of it is prepared.
    for _ in 0..8 {
        for length_bytes in [PLACED_BYTES_MAX, PLACED_BYTES_MAX + RECORD_ALIGNMENT] {
            let sequence = Sequence(next);
            let (changes, mut commit) = commit_of(length_bytes);
            match placing.log.place(&mut commit, sequence).expect("the disk works") {
                Some(place) => {
                    assert!(length_bytes <= PLACED_BYTES_MAX, "a place for {length_bytes} bytes");
                    write(place, &commit);
                }
                None => {
                    assert!(length_bytes > PLACED_BYTES_MAX, "no place for {length_bytes} bytes");
                    placing.log.append(&mut commit, sequence).expect("the disk works");
                    placing.log.write().expect("the disk works");
                }
            }
            expected.push((next, changes));
            next += 1;
        }
    }
    assert_eq!(placing.commits(), expected);
}

/// A finished commit whose record takes so many bytes in the log.
fn commit_of(length_bytes: usize) -> (Vec<Change>, RecordEncoder) {
    let commit_with = |value_bytes| {
        let changes = vec![Change::Put(1, b"key".to_vec(), vec![7; value_bytes])];
        let commit = encode(&changes);
        (changes, commit)
    };
    let beside_bytes = commit_with(length_bytes).1.len_bytes() - length_bytes;
    let (changes, commit) = commit_with(length_bytes - beside_bytes);
    assert_eq!(commit.len_bytes(), length_bytes);
    (changes, commit)
}

#[test]
fn a_place_in_a_segment_that_was_left_is_still_there() {
    let Some(mut placing) = Placing::new() else { return };
    let (second, place) = placing.place(2).expect("it is prepared");
    placing.log.rotate().expect("the disk works");
    let (third, next) = placing.place(3).expect("it is prepared");
    write(next, &third);
    assert_eq!(placing.commits(), usual(1, 1));
    write(place, &second);
    assert_eq!(placing.commits(), usual(1, 3));
}
