//! A fault disk fails the call that it was told to fail, and no other, and a failed sync may take back what was not
//! synced.

#![allow(clippy::unwrap_used)] // Tests may, and so may what they call.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk, File, MemoryDisk, WriterAttempt};
use fulgurite_testkit::{Call, CrashDisk, Fault, FaultDisk, FaultError, Kinds, Persistence, Unsynced};

#[test]
fn each_call_of_a_piece_of_work_fails_once_when_its_turn_comes() {
    let disk = fresh();
    work(&disk).unwrap();
    let calls = disk.calls();
    let mut failed_calls = HashSet::new();
    for nth in 1..=calls {
        let disk = fresh();
        disk.arm(Fault { nth, ..Fault::default() });
        assert_eq!(work(&disk).unwrap_err().raw_os_error(), Some(5), "call {nth}");
        assert_eq!(disk.calls(), nth, "the work stops at the failure");
        failed_calls.insert(disk.failed_call().unwrap().call);
    }
    let missing: Vec<_> = Call::ALL.iter().filter(|call| !failed_calls.contains(call)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let disk = fresh();
    disk.arm(Fault { nth: calls + 1, ..Fault::default() });
    work(&disk).unwrap();
    assert_eq!(disk.failed_call(), None);
}

#[test]
fn a_lasting_fault_fails_all_later_calls_of_its_kinds_and_no_others() {
    let disk = fresh();
    let file = disk.open(Path::new("a"), Access::CreateNew).unwrap();
    disk.arm(Fault {
        calls: &[Call::Write, Call::Allocate],
        nth: 2,
        persistence: Persistence::Forever,
        error: FaultError::NoSpace,
        ..Fault::default()
    });
    file.write_at(0, b"first").unwrap();
    for _ in 0..3 {
        assert_eq!(file.write_at(0, b"later").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(file.allocate(0, 10).unwrap_err().kind(), ErrorKind::StorageFull);
        file.read_at(0, &mut [0; 5]).unwrap();
        file.sync_data().unwrap();
    }
    assert_eq!(disk.failed_call().unwrap().to_string(), "Write of /a");
    disk.disarm();
    file.write_at(0, b"again").unwrap();
}

#[test]
fn half_of_a_failing_write_is_written() {
    let disk = fresh();
    let file = disk.open(Path::new("a"), Access::CreateNew).unwrap();
    disk.arm(Fault { calls: &[Call::Write], ..Fault::default() });
    file.write_at(0, b"12345678").unwrap_err();
    assert_eq!(contents(&*file), b"1234");
}

#[test]
fn a_failed_sync_drops_all_since_the_last_good_one_or_keeps_it() {
    for (unsynced, expected) in [(Unsynced::Kept, &b"aBBBa\0ccc"[..]), (Unsynced::Dropped, b"aaaaaaaa")] {
        let disk = fresh();
        disk.arm(Fault { calls: &[Call::Sync], nth: 2, unsynced, ..Fault::default() });
        let file = disk.open(Path::new("a"), Access::CreateNew).unwrap();
        file.write_at(0, b"aaaaaaaa").unwrap();
        file.sync_data().unwrap();
        let other = disk.open(Path::new("a"), Access::Write).unwrap();
        other.write_at(1, b"BBB").unwrap();
        file.set_len(5).unwrap();
        file.write_at(6, b"ccc").unwrap();
        let reader = disk.open(Path::new("a"), Access::Read).unwrap();
        assert_eq!(reader.sync_all().unwrap_err().raw_os_error(), Some(5));
        assert_eq!(contents(&*file), expected);
        file.sync_data().unwrap();
    }
}

#[test]
fn what_was_written_durably_stays_when_a_later_sync_fails_and_all_else_is_dropped() {
    let disk = fresh();
    disk.arm(Fault { calls: &[Call::Sync], nth: 3, unsynced: Unsynced::Dropped, ..Fault::default() });
    let file = disk.open(Path::new("a"), Access::CreateNew).unwrap();
    file.write_at(0, b"aaaaaaaa").unwrap();
    file.sync_data().unwrap();
    file.write_at(1, b"BBBBB").unwrap();
    file.write_at(6, b"BBBBBBBB").unwrap();
    file.write_durably(3, b"DD").unwrap();
    file.write_at(4, b"CC").unwrap();
    file.sync_data().unwrap_err();
    assert_eq!(contents(&*file), b"aaaDDaaa");

    disk.arm(Fault { calls: &[Call::Sync], nth: 2, unsynced: Unsynced::Dropped, ..Fault::default() });
    file.write_at(2, b"C").unwrap();
    file.write_at(6, b"BBBBBBBB").unwrap();
    file.write_durably(10, b"DD").unwrap();
    file.set_len(3).unwrap();
    file.sync_data().unwrap_err();
    assert_eq!(contents(&*file), b"aaaDDaaa\0\0DD", "its length, too");
}

#[test]
fn a_durable_write_fails_as_a_write_and_as_a_sync() {
    for (nth, unsynced, expected) in [
        (2, Unsynced::Kept, &b"aBB12aaa"[..]),
        (3, Unsynced::Kept, b"aBB1234a"),
        (2, Unsynced::Dropped, b"aBB12aaa"),
        (3, Unsynced::Dropped, b"aaaaaaaa"),
    ] {
        let disk = fresh();
        let file = disk.open(Path::new("a"), Access::CreateNew).unwrap();
        file.write_at(0, b"aaaaaaaa").unwrap();
        file.sync_data().unwrap();
        disk.arm(Fault { calls: &[Call::Write, Call::Sync], nth, unsynced, ..Fault::default() });
        file.write_at(1, b"BB").unwrap();
        assert_eq!(file.write_durably(3, b"1234").unwrap_err().raw_os_error(), Some(5));
        assert_eq!(contents(&*file), expected, "call {nth}, {unsynced:?}");
        assert_eq!(disk.failed_call().unwrap().call, if nth == 2 { Call::Write } else { Call::Sync });
    }
}

#[test]
fn a_durable_write_leaves_to_the_disk_beneath_what_else_is_unsynced() {
    let beneath = CrashDisk::new();
    let disk = FaultDisk::new(Arc::new(beneath.clone()));
    let file = disk.open(Path::new("a"), Access::CreateNew).unwrap();
    file.write_at(0, b"aaaa").unwrap();
    file.write_durably(4, b"DDDD").unwrap();
    let written = beneath.recording().operations().len();
    let recording = beneath.recording();
    let images = recording.images(1, Kinds { subsets: 64, torn: 64 }).since(written);
    let left: HashSet<_> = images
        .filter_map(|image| image.disk().open(Path::new("a"), Access::Read).ok())
        .map(|file| contents(&*file))
        .collect();
    assert_eq!(left, HashSet::from([b"aaaaDDDD".to_vec(), b"\0\0\0\0DDDD".to_vec()]));
}

#[test]
fn files_together_stay_under_the_quota_until_one_is_removed() {
    let disk = fresh();
    disk.set_quota_bytes(Some(100));
    let first = disk.open(Path::new("a"), Access::CreateNew).unwrap();
    let second = disk.open(Path::new("b"), Access::CreateNew).unwrap();
    first.write_at(0, &[1; 60]).unwrap();
    second.allocate(0, 40).unwrap();
    second.write_at(0, &[2; 40]).unwrap();
    assert_eq!(second.write_at(40, &[2; 1]).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(second.set_len(41).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(second.len().unwrap(), 40);
    first.set_len(50).unwrap();
    second.set_len(50).unwrap();
    disk.rename(Path::new("a"), Path::new("c")).unwrap();
    second.set_len(51).unwrap_err();
    disk.remove(Path::new("c")).unwrap();
    second.set_len(100).unwrap();
    second.set_len(101).unwrap_err();
    first.write_at(0, &[1; 500]).unwrap();
    disk.set_quota_bytes(None);
    second.set_len(101).unwrap();
}

/// Makes every call there is.
fn work(disk: &FaultDisk) -> io::Result<()> {
    let path = disk.canonical(Path::new("a"))?;
    let WriterAttempt::Held(lock) = disk.lock_writer(Path::new("lock"))? else { panic!("nobody else has it") };
    let file = disk.open(&path, Access::CreateNew)?;
    assert!(file.is_named(&path)? && file.locks().lock_writer()?.is_none() && file.locks().writer()?.is_none());
    file.locks().pin(1)?;
    file.locks().unpin()?;
    file.locks().oldest_pinned()?;
    file.locks().unlock_writer()?;
    file.allocate(0, 100)?;
    file.write_at(0, b"bytes")?;
    file.sync_data()?;
    file.set_len(file.len()? - 50)?;
    file.sync_all()?;
    file.map(1 << 20)?;
    file.read_at(0, &mut [0; 5])?;
    disk.rename(&path, Path::new("b"))?;
    disk.sync_directory(Path::new(""))?;
    assert_eq!(disk.list(Path::new(""))?, [Path::new("b")]);
    assert!(disk.exists(Path::new("b"))?);
    disk.remove(Path::new("b"))?;
    lock.close()
}

fn fresh() -> FaultDisk {
    FaultDisk::new(Arc::new(MemoryDisk::new()))
}

fn contents(file: &dyn File) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}
