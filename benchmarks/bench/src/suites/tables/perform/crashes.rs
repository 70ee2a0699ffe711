//! What a store has after the process that wrote to it was killed, and how long it takes to open.
//!
//! The writer is a process that puts one record after the other, each in a transaction. After each put it notes in a
//! file how many puts have returned. The note is in the page cache, and so survives the process, as a put does at the
//! level `log`. The parent kills the writer at a random moment, opens the store, and looks for every acknowledged
//! put. The put that was in progress may be present or absent.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fulgurite_rivals::{Settings, Usage, WritingStore};

use crate::data::random::{Random, mix};
use crate::engines::sustained::SustainedEngine;
use crate::error::{Error, Result};
use crate::harness::row::Figures;
use crate::measure::child;
use crate::measure::space::bytes_below;
use crate::measure::statistics::median;
use crate::suites::tables::content::{Content, verify};
use crate::suites::tables::definition::Kind;
use crate::suites::tables::perform::figures::{note_memory, note_size};
use crate::suites::tables::task::Task;

/// The word after the program's name that asks for a writer that will be killed.
pub const VERB: &str = "table-writer";

/// What the writer says when it may be killed.
const READY: &str = "ready";

/// When it is killed after that, in milliseconds.
const KILL_MS: std::ops::Range<usize> = 20..320;

/// Opens a store into whose log so many records were put by a process that was killed then.
pub fn recovery<E: SustainedEngine>(task: &Task, records: usize) -> Result<Figures> {
    let content = Content::loaded(task.definition.shape, task.definition.lengths, records);
    let store = store_directory(task)?;
    let arguments = writer_arguments::<E>(task, 0);
    child::kill_when_said(&format!("filling a store of {}", E::NAME), &arguments, READY, Duration::ZERO)?;
    let mut figures = Figures::default();
    figures.set("MiB on the disk before", bytes_below(&store)? as f64 / f64::from(1 << 20));
    let (opened, wall_ns) = open::<E>(task, &content.key(records as u32 - 1))?;
    figures.set("ops_per_s", 1e9 / wall_ns);
    figures.set("wall_ns", wall_ns);
    figures.set("ms to open it and to read a record", wall_ns / 1e6);
    note_memory(&mut figures);
    verify(&opened, &content, task.definition.name)?;
    opened.close()?;
    note_size(&mut figures, &store, content.raw_bytes())?;
    Ok(figures)
}

/// Kills so many writers of one store, one after the other, and looks after each what it has.
pub fn kills<E: SustainedEngine>(task: &Task, kills: usize, records: usize) -> Result<Figures> {
    let store = store_directory(task)?;
    let mut history = History::new(task, records);
    let mut random = Random::new(task.seed, 0);
    let (mut openings_ms, mut rates, mut found) = (Vec::new(), Vec::new(), Found::default());
    for _ in 0..kills {
        let begun = history.puts.len();
        let arguments = writer_arguments::<E>(task, begun);
        let delay = Duration::from_millis((KILL_MS.start + random.below(KILL_MS.len())) as u64);
        let ran = child::kill_when_said(&format!("writing to a store of {}", E::NAME), &arguments, READY, delay)?;
        let acknowledged = acknowledged(&task.directory)?.max(begun);
        history.extend(acknowledged);
        rates.push((acknowledged - begun) as f64 / ran.as_secs_f64());
        let (opened, wall_ns) = open::<E>(task, &history.content.key(0))?;
        openings_ms.push(wall_ns / 1e6);
        found = history.look(&opened)?;
        opened.close()?;
        if found.is_bad() {
            // What comes after would be counted again.
            break;
        }
        if found.under_way {
            history.extend(acknowledged + 1);
        }
    }
    let mut figures = Figures::default();
    figures.set("ops_per_s", median(&rates));
    figures.set("kills", openings_ms.len() as f64);
    figures.set(LOST, found.lost as f64);
    figures.set(CORRUPTED, found.corrupted as f64);
    figures.set("ms to open it and to read a record", median(&openings_ms));
    figures.set("ms at most", openings_ms.iter().copied().fold(0.0, f64::max));
    if let (Some(first), Some(last)) = (rates.first(), rates.last()) {
        figures.set("% of the first writer's rate by the last", 100.0 * last / first);
    }
    note_memory(&mut figures);
    figures.set("size_bytes", bytes_below(&store)? as f64);
    Ok(figures)
}

/// The figure that counts commits which were acknowledged and are not there.
pub const LOST: &str = "acknowledged commits lost";

/// The figure that counts records that were never put.
pub const CORRUPTED: &str = "records corrupted";

/// Opens the store and asks for a record.
fn open<E: SustainedEngine>(task: &Task, key: &[u8]) -> Result<(E::Store, f64)> {
    let started = Instant::now();
    let store = E::open(&task.directory.join(STORE), task.settings())?;
    store.get(key, |value| std::hint::black_box(value.is_some()))?;
    Ok((store, started.elapsed().as_nanos() as f64))
}

/// Where the store is, beside the writer's notes.
const STORE: &str = "store";

const NOTES: &str = "acknowledged";

fn store_directory(task: &Task) -> Result<PathBuf> {
    let path = task.directory.join(STORE);
    fs::create_dir(&path).map_err(|error| Error::io("create", &path, error))?;
    Ok(path)
}

/// How many puts the writer has noted; none if it came to none.
fn acknowledged(directory: &Path) -> Result<usize> {
    let path = directory.join(NOTES);
    let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
    Ok(bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize))
}

/// All puts so far, and what must be there after them.
struct History {
    content: Content,
    seed: u64,
    records: usize,
    /// The record of each put.
    puts: Vec<u32>,
    /// The number of the last put of each record, counted from 1; 0 if there was none.
    last: Vec<u32>,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    /// Acknowledged puts that are not there.
    lost: usize,
    /// Records that were never put, or with another value.
    corrupted: usize,
    /// Whether the put that was in progress is present.
    under_way: bool,
}

impl Found {
    fn is_bad(self) -> bool {
        self.lost > 0 || self.corrupted > 0
    }
}

impl History {
    fn new(task: &Task, records: usize) -> Self {
        let content = Content::new(task.definition.shape, task.definition.lengths, records);
        Self { content, seed: task.seed, records, puts: Vec::new(), last: vec![0; records] }
    }

    /// The record of a put.
    fn record(&self, put: usize) -> u32 {
        (mix(self.seed ^ put as u64) % self.records as u64) as u32
    }

    /// The value of a put: that of its record in a version that no other put has.
    fn value(&self, put: usize) -> &[u8] {
        self.content.value(self.record(put), put as u32 + 1)
    }

    /// Goes on until there are so many puts.
    fn extend(&mut self, puts: usize) {
        for put in self.puts.len()..puts {
            let id = self.record(put);
            self.puts.push(id);
            self.last[id as usize] = put as u32 + 1;
        }
    }

    /// Looks for the last put of each record, and whether there are others.
    fn look<S: WritingStore>(&self, store: &S) -> Result<Found> {
        let mut found = Found::default();
        let next = self.puts.len();
        let (mut stored, mut others) = (0, Vec::new());
        for (id, &last) in (0..).zip(&self.last) {
            let value = store.get(&self.content.key(id), |value| value.map(<[u8]>::to_vec))?;
            stored += usize::from(value.is_some());
            let is_last = match (&value, last) {
                (None, 0) => true,
                (Some(value), 1..) => value == self.content.value(id, last),
                _ => false,
            };
            match is_last {
                true => {}
                false if self.record(next) == id && value.as_deref() == Some(self.value(next)) => {
                    found.under_way = true
                }
                false => others.push((id, value)),
            }
        }
        if !others.is_empty() {
            self.judge(&others, &mut found);
        }
        let mut scanned = 0;
        store.scan(|_, _| scanned += 1)?;
        found.corrupted += usize::abs_diff(scanned, stored);
        Ok(found)
    }

    /// Counts what is missing of records whose last put is not there, by the put that is.
    fn judge(&self, others: &[(u32, Option<Vec<u8>>)], found: &mut Found) {
        let mut puts_of = vec![Vec::new(); self.records];
        for (put, &id) in self.puts.iter().enumerate() {
            puts_of[id as usize].push(put);
        }
        for (id, value) in others {
            let puts = &puts_of[*id as usize];
            let there = puts.iter().rposition(|&put| value.as_deref() == Some(self.value(put)));
            match (there, value) {
                (Some(position), _) => found.lost += puts.len() - 1 - position,
                (None, None) => found.lost += puts.len(),
                (None, Some(_)) => found.corrupted += 1,
            }
        }
    }
}

/// What the writer's process is started with: the engine, the put to begin with, and the task.
fn writer_arguments<E: SustainedEngine>(task: &Task, first: usize) -> Vec<String> {
    let mut arguments = vec![VERB.to_owned(), E::NAME.to_owned(), first.to_string()];
    arguments.extend(task.arguments());
    arguments
}

/// The work of the writer's process, which ends with its parent.
///
/// # Errors
/// What the engine or the system answered.
pub fn write<E: SustainedEngine>(task: &Task, first: usize) -> Result<()> {
    match task.kind() {
        Kind::Recovery(records) => fill::<E>(task, records),
        Kind::Kills(_, records) => write_on::<E>(task, records, first),
        _ => Err(Error::Usage(format!("`{VERB}` serves only workloads that kill their writer"))),
    }
}

/// Puts so many records, says so, and waits to be killed.
fn fill<E: SustainedEngine>(task: &Task, records: usize) -> Result<()> {
    let store = E::open(&task.directory.join(STORE), long_log::<E>(task))?;
    let content = Content::loaded(task.definition.shape, task.definition.lengths, records);
    for id in 0..records as u32 {
        store.put(&content.key(id), content.value(id, 1))?;
    }
    say_ready()?;
    wait_for_the_end();
    Ok(())
}

/// Whatever is put stays in the log, if the engine has such settings.
fn long_log<E: SustainedEngine>(task: &Task) -> Settings {
    let long = Settings { usage: Usage::LongLog, ..task.settings() };
    if E::unfit(long).is_none() { long } else { task.settings() }
}

/// Puts and notes until it is killed.
fn write_on<E: SustainedEngine>(task: &Task, records: usize, first: usize) -> Result<()> {
    let store = E::open(&task.directory.join(STORE), task.settings())?;
    let path = task.directory.join(NOTES);
    let io = |error| Error::io("write", &path, error);
    let notes = File::create(&path).map_err(io)?;
    let history = History::new(task, records);
    std::thread::spawn(|| {
        wait_for_the_end();
        std::process::exit(1);
    });
    say_ready()?;
    for put in first.. {
        store.put(&history.content.key(history.record(put)), history.value(put))?;
        notes.write_all_at(&(put as u64 + 1).to_le_bytes(), 0).map_err(io)?;
    }
    Ok(())
}

fn say_ready() -> Result<()> {
    println!("{READY}");
    std::io::stdout().flush().map_err(|error| Error::io("write", Path::new("standard output"), error))
}

/// No one writes to the standard input: it ends with the parent.
fn wait_for_the_end() {
    // Whether it ends or fails, the parent is gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::WritingEngine;

    use super::*;
    use crate::engines::planted::writing::{NO_FAULT, Planted};
    use crate::suites::tables::task::tests::small;
    use crate::suites::tables::workloads::GEAFLOW;

    /// What is found after five hundred puts, if only those were done that `was_done` names.
    fn found(was_done: impl Fn(usize) -> bool, more: &[(Vec<u8>, Vec<u8>)]) -> Found {
        let directory = tempfile::tempdir().unwrap();
        let task = small(&GEAFLOW.definitions[0], directory.path());
        let mut history = History::new(&task, 50);
        history.extend(500);
        let store = <Planted<NO_FAULT> as WritingEngine>::open(directory.path(), task.settings()).unwrap();
        for put in (0..=500).filter(|put| was_done(*put)) {
            store.put(&history.content.key(history.record(put)), history.value(put)).unwrap();
        }
        more.iter().for_each(|(key, value)| store.put(key, value).unwrap());
        history.look(&store).unwrap()
    }

    #[test]
    fn every_acknowledged_put_is_looked_for_and_the_one_under_way_may_be_there() {
        assert_eq!(found(|put| put < 500, &[]), Found::default());
        assert_eq!(found(|_| true, &[]), Found { under_way: true, ..Found::default() });
        assert_eq!(found(|put| put < 499, &[]), Found { lost: 1, ..Found::default() });
        assert_eq!(found(|put| put < 400, &[]), Found { lost: 100, ..Found::default() });
        assert_eq!(found(|_| false, &[]), Found { lost: 500, ..Found::default() });
    }

    #[test]
    fn what_nobody_has_put_is_found() {
        let stranger = (b"stranger".to_vec(), vec![1; 100]);
        assert_eq!(found(|put| put < 500, &[stranger]), Found { corrupted: 1, ..Found::default() });
        let directory = tempfile::tempdir().unwrap();
        let history = History::new(&small(&GEAFLOW.definitions[0], directory.path()), 50);
        let changed = (history.content.key(history.record(3)), vec![1; 100]);
        assert_eq!(found(|put| put < 500, &[changed]), Found { corrupted: 1, ..Found::default() });
    }
}
