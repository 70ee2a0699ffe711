//! What the operating system does to processes: it kills them while they hold locks, and keeps their address space
//! short. Each test runs itself again as a child process, which knows by an environment variable what to do.

use std::io::{BufRead, Read};
use std::path::Path;

use fulgurite::io::{Access, Disk, LockHolder, RealDisk, WriterAttempt, reserved_bytes, set_reserved_bytes_max};
use fulgurite::{Database, Durability, Read as _, TableOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::child::{Child, READY, child_of, say_ready_and_wait};

#[test]
fn a_killed_writer_leaves_its_pid_and_no_lock() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lock");
    if child_of("disk::a_killed_writer_leaves_its_pid_and_no_lock").is_some_and(|path| hold_writer_lock(&path)) {
        return;
    }
    let mut writer = Child::start("disk::a_killed_writer_leaves_its_pid_and_no_lock", &path);
    match RealDisk.lock_writer(&path).unwrap() {
        WriterAttempt::Busy(holder) => assert_eq!(holder, LockHolder::OtherProcess(Some(writer.pid()))),
        WriterAttempt::Held(_) => panic!("two writers at once"),
    }
    writer.kill();
    let WriterAttempt::Held(lock) = RealDisk.lock_writer(&path).unwrap() else { panic!("the writer is dead") };
    lock.close().unwrap();
    assert!(!path.exists());
}

#[test]
fn the_pin_of_a_reader_in_another_process_is_seen_until_it_is_killed() {
    let name = "disk::the_pin_of_a_reader_in_another_process_is_seen_until_it_is_killed";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    if child_of(name).is_some_and(|path| hold_pin(&path)) {
        return;
    }
    let file = RealDisk.open(&path, Access::CreateNew).unwrap();
    assert_eq!(file.locks().oldest_pinned().unwrap(), None);
    let mut reader = Child::start(name, &path);
    assert_eq!(file.locks().oldest_pinned().unwrap(), Some(77));
    reader.kill();
    assert_eq!(file.locks().oldest_pinned().unwrap(), None);
}

#[test]
fn a_map_takes_what_address_space_there_is_and_none_if_the_file_does_not_fit() {
    let name = "disk::a_map_takes_what_address_space_there_is_and_none_if_the_file_does_not_fit";
    let directory = tempfile::tempdir().unwrap();
    if child_of(name).is_some_and(|path| map_under_limits(&path)) {
        return;
    }
    Child::start(name, &directory.path().join("file")).finish();
}

#[test]
fn windows_of_the_process_stay_under_its_cap_together() {
    let name = "disk::windows_of_the_process_stay_under_its_cap_together";
    let directory = tempfile::tempdir().unwrap();
    if child_of(name).is_some_and(|path| map_under_a_cap(&path)) {
        return;
    }
    Child::start(name, &directory.path().join("file")).finish();
}

/// The log is written through memory: what was stored there must outlive the process, though no call wrote it.
#[test]
fn commits_at_level_log_outlive_a_killed_process() {
    let name = "disk::commits_at_level_log_outlive_a_killed_process";
    if child_of(name).is_some_and(|path| commit_until_killed(&path)) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for until in [1, 100, 5_000] {
        let path = directory.path().join(format!("{until}.ful"));
        let mut writer = Child::start(name, &path);
        let told = |line: String| line.strip_prefix(COMMITTED).and_then(|number| number.parse::<u32>().ok());
        let mut lines = writer.output.by_ref().lines().map_while(Result::ok).filter_map(told);
        let reached = lines.by_ref().find(|&number| number >= until).unwrap();
        writer.kill();
        // What was told before the kill and not yet read counts too.
        let rest = writer.output.by_ref().lines().map_while(Result::ok).filter_map(told);
        let last = rest.last().unwrap_or(reached);
        let db = Database::options().open(&path).unwrap();
        let table = db.open_table("t").unwrap();
        let txn = db.read().unwrap();
        for number in 1..=last {
            let value = txn.get(&table, &number.to_be_bytes()).unwrap();
            assert_eq!(value.as_deref(), Some(&value_of(number)[..]), "{number} of {last}");
        }
        assert!(txn.count(&table, ..).unwrap() <= u64::from(last) + 1, "at most one was committed and not told");
        drop(txn);
        assert!(db.check().unwrap().is_sound());
    }
}

fn commit_until_killed(path: &Path) -> bool {
    let db = Database::options().create(true).durability(Durability::Log).open(path).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    println!("\n{READY}");
    for number in 1u32.. {
        db.update(|txn| txn.put(&table, &number.to_be_bytes(), &value_of(number))).unwrap();
        println!("{COMMITTED}{number}");
    }
    true
}

/// Of changing length, so that records lie across pages and across the steps by which the log is prepared.
fn value_of(number: u32) -> Vec<u8> {
    vec![number as u8; number as usize % 700]
}

fn hold_writer_lock(path: &Path) -> bool {
    let WriterAttempt::Held(_lock) = RealDisk.lock_writer(path).unwrap() else { panic!("nobody else writes") };
    say_ready_and_wait()
}

fn hold_pin(path: &Path) -> bool {
    let file = RealDisk.open(path, Access::Read).unwrap();
    file.locks().pin(77).unwrap();
    say_ready_and_wait()
}

fn map_under_limits(path: &Path) -> bool {
    let file = RealDisk.open(path, Access::CreateNew).unwrap();
    let used_pages: u64 =
        std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let limit = used_pages * rustix::param::page_size() as u64 + GIB;
    setrlimit(Resource::As, Rlimit { current: Some(limit), ..getrlimit(Resource::As) }).unwrap();
    file.set_len(100 << 20).unwrap();
    let map = file.map(64 * GIB).unwrap().unwrap();
    assert!((128 << 20..=512 << 20).contains(&map.window_bytes()), "{} bytes", map.window_bytes());
    assert_eq!(reserved_bytes(), map.window_bytes());
    drop(map);
    // So large that nothing smaller than the file itself fits, and no room is left to spare.
    file.set_len(900 << 20).unwrap();
    assert_eq!(file.map(64 * GIB).unwrap().unwrap().window_bytes(), 900 << 20);
    file.set_len(2 * GIB).unwrap();
    assert!(file.map(64 * GIB).unwrap().is_none());
    assert_eq!(reserved_bytes(), 0);
    say_ready_and_wait()
}

fn map_under_a_cap(path: &Path) -> bool {
    let file = RealDisk.open(path, Access::CreateNew).unwrap();
    file.set_len(10 << 20).unwrap();
    set_reserved_bytes_max(64 << 20);
    let first = file.map(40 << 20).unwrap().unwrap();
    assert_eq!(first.window_bytes(), 40 << 20);
    let second = file.map(40 << 20).unwrap().unwrap();
    assert_eq!(second.window_bytes(), 10 << 20, "half of what fits, or the file");
    assert_eq!(reserved_bytes(), 50 << 20);
    let third = file.map(0).unwrap().unwrap();
    assert!(file.map(0).unwrap().is_none());
    drop((first, second, third));
    assert_eq!(reserved_bytes(), 0);
    say_ready_and_wait()
}

const GIB: u64 = 1 << 30;
const COMMITTED: &str = "child: committed ";
