//! Databases that are open and not used: the memory they hold, and the threads that do not sleep.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use fulgurite_rivals::{Snapshot, WritingStore};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::data::shape::Shape;
use crate::data::values::Values;
use crate::engines::sustained::SustainedEngine;
use crate::error::{Error, Result};
use crate::measure::machine::{field, private_memory_bytes};
use crate::suites::sustained::perform::ingest::settings;
use crate::suites::sustained::task::{Finding, Task};
use crate::suites::sustained::workload::Figure;

/// Records in each.
const RECORDS: u32 = 100;

const KEY_BYTES: usize = 32;
const VALUE_BYTES: usize = 100;

/// Opens them, puts some records into each, settles it, and watches.
pub fn run<E: SustainedEngine>(task: &Task) -> Result<Vec<Finding>> {
    raise_file_limit();
    let values = Values::new(VALUE_BYTES);
    let records = records(&values);
    let memory_before = private_memory_bytes();
    let mut stores = Vec::with_capacity(task.size.databases);
    for number in 0..task.size.databases {
        let directory = task.directory.join(number.to_string());
        fs::create_dir_all(&directory).map_err(|error| Error::io("create", &directory, error))?;
        let store = E::open(&directory, settings(task.cache_bytes))?;
        store.put_all(records.iter().map(|(key, value)| (&key[..], *value)))?;
        E::settle(&store)?;
        stores.push(store);
    }
    let memory = private_memory_bytes().saturating_sub(memory_before);
    let before = switches()?;
    std::thread::sleep(Duration::from_millis(task.size.span_ms as u64));
    let after = switches()?;
    let (awake, wakes) = compared(&before, &after);
    for store in stores {
        verify(&store, &records)?;
        store.close()?;
    }
    Ok(vec![
        Finding::Amount(Figure::IdleMemory, memory as f64 / f64::from(1 << 20)),
        Finding::Amount(Figure::IdleAwake, awake as f64),
        Finding::Amount(Figure::IdleWakes, wakes as f64),
        // The one that watches is not theirs.
        Finding::Amount(Figure::IdleThreads, (after.len() - 1) as f64),
    ])
}

fn records(values: &Values) -> Vec<(Vec<u8>, &[u8])> {
    let record = |id| {
        let mut key = Vec::with_capacity(KEY_BYTES);
        Shape::Hashed.write_key(id, KEY_BYTES, &mut key);
        (key, values.get(id))
    };
    (0..RECORDS).map(record).collect()
}

fn verify<S: WritingStore>(store: &S, records: &[(Vec<u8>, &[u8])]) -> Result<()> {
    let snapshot = store.snapshot()?;
    let mut right = true;
    for (key, expected) in records {
        right &= snapshot.get(key, |value| value == Some(expected))?;
    }
    drop(snapshot);
    let mut count = 0;
    store.scan(|_, _| count += 1)?;
    match right && count == records.len() {
        true => Ok(()),
        false => Err(Error::Wrong { workload: "idle", what: "a database lacks a record that was put".to_owned() }),
    }
}

/// Open files are what databases have most of; more than is allowed is refused by their opening.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // If the limit may not be raised, it may still be high enough.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// How often each thread of this process, except the caller, has gone to sleep of its own accord: the number of a
/// sleeping thread does not change.
fn switches() -> Result<HashMap<u64, u64>> {
    let tasks = Path::new("/proc/self/task");
    let io = |error| Error::io("list", tasks, error);
    let mut switches = HashMap::new();
    let own = u64::from(rustix::thread::gettid().as_raw_pid().unsigned_abs());
    for entry in fs::read_dir(tasks).map_err(io)? {
        let entry = entry.map_err(io)?;
        let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A thread that has just ended is not idle, but it is not there either.
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
        let number = field(&status, "voluntary_ctxt_switches").and_then(|text| text.parse().ok());
        switches.insert(thread, if thread == own { 0 } else { number.unwrap_or(0) });
    }
    Ok(switches)
}

/// Threads that woke up between two looks, and how often in all. A new thread has been awake too.
fn compared(before: &HashMap<u64, u64>, after: &HashMap<u64, u64>) -> (usize, u64) {
    let woken = |(thread, number): (&u64, &u64)| match before.get(thread) {
        Some(earlier) => number - earlier,
        None => number + 1,
    };
    let woken: Vec<u64> = after.iter().map(woken).filter(|&times| times > 0).collect();
    (woken.len(), woken.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_wake_up_are_told_from_those_that_sleep() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || stopped.recv());
        let (ask, asked) = std::sync::mpsc::channel::<()>();
        let (answer, answered) = std::sync::mpsc::channel::<u64>();
        let waker = std::thread::spawn(move || {
            while asked.recv().is_ok() {
                let id = u64::from(rustix::thread::gettid().as_raw_pid().unsigned_abs());
                answer.send(id).unwrap();
            }
        });
        ask.send(()).unwrap();
        let waking = answered.recv().unwrap();
        let before = switches().unwrap();
        // A thread may not have gone to sleep between two looks in a row.
        let mut after = switches().unwrap();
        while after[&waking] == before[&waking] {
            ask.send(()).unwrap();
            answered.recv().unwrap();
            after = switches().unwrap();
        }
        assert!(compared(&before, &after).0 >= 1);
        assert_eq!(compared(&after, &after), (0, 0));
        drop((stop, ask));
        sleeper.join().unwrap().unwrap_err();
        waker.join().unwrap();
    }

    #[test]
    fn a_new_thread_is_awake() {
        let before = HashMap::from([(1, 5)]);
        assert_eq!(compared(&before, &HashMap::from([(1, 5), (2, 0)])), (1, 1));
        assert_eq!(compared(&before, &HashMap::from([(1, 8)])), (1, 3));
    }
}
