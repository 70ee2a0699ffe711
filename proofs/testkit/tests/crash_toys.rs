//! Crash images find the classic faults, planted one by one in two toys: a write-ahead log that appends records, and
//! a store that writes data to a new place and then points its root there. Without a fault both pass every image.

use std::io;
use std::path::Path;
use std::sync::Arc;

use fulgurite::io::{Access, Disk, File};
use fulgurite_testkit::{CrashDisk, Kinds, Recording};
use xxhash_rust::xxh3::xxh3_64;

const KINDS: Kinds = Kinds { subsets: 8, torn: 8 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A record is acknowledged before it is synced.
    NoSync,
    /// The log file's name is never synced.
    NoDirectorySync,
    /// Records, or roots, are believed without looking at their checksum.
    NoChecksum,
    /// The root is written before the data that it points to is synced.
    RootBeforeData,
    /// There is one root, overwritten in place.
    OneRoot,
}

#[test]
fn a_correct_log_passes_every_image_and_each_planted_fault_is_found() {
    let correct = log_failures(Fault::None);
    assert!(correct.images > 200 && correct.failures.is_empty(), "{correct:?}");
    for fault in [Fault::NoSync, Fault::NoDirectorySync, Fault::NoChecksum] {
        let found = log_failures(fault);
        assert!(!found.failures.is_empty(), "{fault:?} was not found in {} images", found.images);
    }
}

#[test]
fn a_correct_store_passes_every_image_and_each_planted_fault_is_found() {
    let correct = store_failures(Fault::None);
    assert!(correct.images > 150 && correct.failures.is_empty(), "{correct:?}");
    for fault in [Fault::NoChecksum, Fault::RootBeforeData, Fault::OneRoot, Fault::NoDirectorySync] {
        let found = store_failures(fault);
        assert!(!found.failures.is_empty(), "{fault:?} was not found in {} images", found.images);
    }
}

#[test]
fn a_log_that_is_cut_and_written_on_after_recovery_survives_a_second_crash() {
    let mut nested = 0;
    let recording = record_log(Fault::None);
    for image in recording.images(4, KINDS).step_by(5) {
        let acknowledged = image.marks().last().map_or(0, |mark| mark.number);
        let disk = image.disk();
        let Ok(kept) = read_log(&disk, Fault::None) else { continue };
        append_after_recovery(&disk, kept).expect("a crash disk does not fail");
        for crash in disk.recording().images(4, KINDS) {
            let number = crash.marks().last().map_or(acknowledged, |mark| mark.number);
            let found = read_log(&crash.disk(), Fault::None).expect("the log was there before");
            assert!(found >= number, "{image}, then {crash}: {found} of {number} records");
            nested += 1;
        }
    }
    assert!(nested > 300, "{nested} nested images");
}

#[derive(Debug)]
struct Outcome {
    images: usize,
    failures: Vec<String>,
}

// The log: records of a length, a checksum and bytes that depend on the record's number.

const RECORD_BYTES: usize = 700;
const LOG: &str = "toy-log";

fn record_bytes(number: u64) -> Vec<u8> {
    let body = vec![number as u8; RECORD_BYTES - 8];
    [xxh3_64(&body).to_le_bytes().to_vec(), body].concat()
}

fn record_log(fault: Fault) -> Recording {
    let disk = CrashDisk::new();
    let write = || -> io::Result<()> {
        let file = disk.open(Path::new(LOG), Access::CreateNew)?;
        if fault != Fault::NoDirectorySync {
            disk.sync_directory(Path::new(""))?;
        }
        for number in 1..=40 {
            append(&disk, &*file, number, fault)?;
        }
        Ok(())
    };
    write().expect("a crash disk does not fail");
    disk.recording()
}

fn append(disk: &CrashDisk, file: &dyn File, number: u64, fault: Fault) -> io::Result<()> {
    file.write_at((number - 1) * RECORD_BYTES as u64, &record_bytes(number))?;
    if fault != Fault::NoSync || number.is_multiple_of(4) {
        file.sync_data()?;
    }
    disk.mark("acknowledged", number);
    Ok(())
}

/// The number of records up to the first that is missing or damaged; an error if a record is wrong that looked right.
fn read_log(disk: &CrashDisk, fault: Fault) -> Result<u64, String> {
    let file = disk.open(Path::new(LOG), Access::Read).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; RECORD_BYTES];
    for number in 1.. {
        if file.read_at((number - 1) * RECORD_BYTES as u64, &mut bytes).is_err() {
            return Ok(number - 1);
        }
        let believed = fault == Fault::NoChecksum || bytes[..8] == xxh3_64(&bytes[8..]).to_le_bytes();
        if !believed {
            return Ok(number - 1);
        }
        if bytes != record_bytes(number) {
            return Err(format!("record {number} is wrong"));
        }
    }
    unreachable!("the file ends")
}

fn append_after_recovery(disk: &CrashDisk, kept: u64) -> io::Result<()> {
    let file = disk.open(Path::new(LOG), Access::Write)?;
    file.set_len(kept * RECORD_BYTES as u64)?;
    file.sync_all()?;
    for number in kept + 1..=kept + 3 {
        append(disk, &*file, number, Fault::None)?;
    }
    Ok(())
}

fn log_failures(fault: Fault) -> Outcome {
    let recording = record_log(fault);
    let mut outcome = Outcome { images: 0, failures: Vec::new() };
    for image in recording.images(1, KINDS) {
        outcome.images += 1;
        let acknowledged = image.marks().last().map_or(0, |mark| mark.number);
        match read_log(&image.disk(), fault) {
            Ok(found) if found >= acknowledged => {}
            Err(_) if acknowledged == 0 && !image.disk().exists(Path::new(LOG)).expect("in memory") => {}
            found => outcome.failures.push(format!("{image}: {found:?} of {acknowledged}")),
        }
    }
    outcome
}

// The store: two roots of 1 KiB (two sectors, so that they tear) at 0 and 1024; data of 1 KiB at 4096 + 1024 × number.

const STORE: &str = "toy-store";

fn root_bytes(number: u64) -> Vec<u8> {
    let mut root = vec![number as u8; 1024];
    root[..8].copy_from_slice(&number.to_le_bytes());
    let checksum = xxh3_64(&root[..1016]);
    root[1016..].copy_from_slice(&checksum.to_le_bytes());
    root
}

fn record_store(fault: Fault) -> Recording {
    let disk = CrashDisk::new();
    let write = || -> io::Result<()> {
        let file: Arc<dyn File> = disk.open(Path::new(STORE), Access::CreateNew)?;
        for number in 0..20u64 {
            file.write_at(4096 + 1024 * number, &[number as u8; 1024])?;
            if fault != Fault::RootBeforeData {
                file.sync_data()?;
            }
            let slot = if fault == Fault::OneRoot { 0 } else { number % 2 };
            file.write_at(slot * 1024, &root_bytes(number))?;
            file.sync_data()?;
            if number == 0 && fault != Fault::NoDirectorySync {
                disk.sync_directory(Path::new(""))?;
            }
            disk.mark("acknowledged", number);
        }
        Ok(())
    };
    write().expect("a crash disk does not fail");
    disk.recording()
}

/// The number that the newest root names, after looking at its data.
fn read_store(disk: &CrashDisk, fault: Fault) -> Result<u64, String> {
    let file = disk.open(Path::new(STORE), Access::Read).map_err(|error| error.to_string())?;
    let mut newest = None;
    for slot in 0..2 {
        let mut root = vec![0; 1024];
        let readable = file.read_at(slot * 1024, &mut root).is_ok();
        let (head, checksum) = root.split_at(1016);
        if readable && (fault == Fault::NoChecksum || *checksum == xxh3_64(head).to_le_bytes()) {
            let number = u64::from_le_bytes(root[..8].try_into().expect("eight bytes"));
            if root != root_bytes(number) {
                return Err(format!("root {slot} is wrong"));
            }
            newest = newest.max(Some(number));
        }
    }
    let number = newest.ok_or("no root")?;
    let mut data = vec![0; 1024];
    file.read_at(4096 + 1024 * number, &mut data).map_err(|error| error.to_string())?;
    if data == [number as u8; 1024] { Ok(number) } else { Err(format!("data {number} is wrong")) }
}

fn store_failures(fault: Fault) -> Outcome {
    let recording = record_store(fault);
    let mut outcome = Outcome { images: 0, failures: Vec::new() };
    for image in recording.images(1, KINDS) {
        outcome.images += 1;
        let acknowledged = image.marks().last().map(|mark| mark.number);
        match (read_store(&image.disk(), fault), acknowledged) {
            (Ok(found), Some(acknowledged)) if found >= acknowledged => {}
            (_, None) => {}
            (found, _) => outcome.failures.push(format!("{image}: {found:?} of {acknowledged:?}")),
        }
    }
    outcome
}
