//! The workloads that are more than operations: checkpoints and their opening, growth, and memory over many cycles.
//!
//! A checkpoint is a copy of the store's files after everything was made durable and while nothing is written, as in
//! the report; holes in files are not copied. All engines make it in the same way, even if they have another.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fulgurite_rivals::WritingStore;
use rustix::fs::{SeekFrom, seek};

use crate::data::random::Random;
use crate::engines::sustained::SustainedEngine;
use crate::error::{Error, Result};
use crate::harness::row::Figures;
use crate::measure::clock::{Charge, Stopwatch};
use crate::measure::space::bytes_below;
use crate::suites::tables::content::{Content, fill, load, verify};
use crate::suites::tables::meter::{Latencies, memory_bytes, timer_ns};
use crate::suites::tables::perform::figures::{finish, note_cost, note_memory, note_size};
use crate::suites::tables::task::Task;

/// One checkpoint of so many records, and its opening until its records can be read.
pub fn checkpoint<E: SustainedEngine>(task: &Task, records: usize) -> Result<Figures> {
    let mut content = content(task, records);
    load(&mut content, records);
    let store = E::open(&store_directory(task)?, task.settings())?;
    fill(&store, &content, records)?;
    let mut figures = Figures::default();
    let copy = task.directory.join("checkpoint");
    let watch = Stopwatch::start(Charge::Process);
    take::<E>(&store, &task.directory.join("store"), &copy)?;
    let sample = watch.pause(1);
    note_cost(&mut figures, &sample);
    figures.set("ms to make a checkpoint", sample.wall_ns / 1e6);
    figures.set("ms to open it", open::<E>(task, &copy, &content)? / 1e6);
    note_memory(&mut figures);
    store.close()?;
    fs::remove_dir_all(&copy).map_err(|error| Error::io("remove", &copy, error))?;
    note_size(&mut figures, &task.directory, content.raw_bytes())?;
    Ok(figures)
}

/// So many times so many records and a checkpoint, which is opened and compared whole.
pub fn cycles<E: SustainedEngine>(task: &Task, cycles: usize, records: usize) -> Result<Figures> {
    let mut content = content(task, cycles * records);
    let store = E::open(&store_directory(task)?, task.settings())?;
    let mut figures = Figures::default();
    let mut latencies = Latencies::start();
    let watch = Stopwatch::start(Charge::Process);
    for cycle in 0..cycles {
        latencies.restart();
        let ids = (cycle * records) as u32..((cycle + 1) * records) as u32;
        for id in ids {
            let version = content.put(id);
            store.put(&content.key(id), content.value(id, version))?;
        }
        let copy = task.directory.join("checkpoint");
        take::<E>(&store, &task.directory.join("store"), &copy)?;
        open::<E>(task, &copy, &content)?;
        fs::remove_dir_all(&copy).map_err(|error| Error::io("remove", &copy, error))?;
        latencies.lap();
    }
    note_cost(&mut figures, &watch.pause(cycles as u64));
    latencies.note(&mut figures);
    figures.set("checkpoints made, opened and compared", cycles as f64);
    finish(store, &content, task, figures)
}

/// So many batches, each a transaction, and the space after the first, the middle and the last.
pub fn growth<E: SustainedEngine>(task: &Task, batches: usize, records: usize) -> Result<Figures> {
    let mut content = content(task, batches * records);
    let store = E::open(&task.directory, task.settings())?;
    let mut figures = Figures::default();
    let kibibytes = || Ok::<f64, Error>(bytes_below(&task.directory)? as f64 / 1024.0);
    figures.set("KiB when empty", kibibytes()?);
    let watch = Stopwatch::start(Charge::Process);
    for batch in 0..batches {
        let ids = (batch * records) as u32..((batch + 1) * records) as u32;
        let versions: Vec<u32> = ids.clone().map(|id| content.put(id)).collect();
        let keys: Vec<Vec<u8>> = ids.clone().map(|id| content.key(id)).collect();
        let values = ids.zip(&versions).map(|(id, version)| content.value(id, *version));
        store.put_all(keys.iter().map(Vec::as_slice).zip(values))?;
        if batch + 1 == batches.div_ceil(2) {
            figures.set("KiB after half", kibibytes()?);
        }
    }
    figures.set("KiB after all", kibibytes()?);
    note_cost(&mut figures, &watch.pause((batches * records) as u64));
    let settling = Instant::now();
    E::settle(&store)?;
    figures.set("settle_ns", settling.elapsed().as_nanos() as f64);
    figures.set("KiB settled", kibibytes()?);
    finish(store, &content, task, figures)
}

/// So many cycles of as many puts as gets, of the same records again and again, and private memory after the first
/// and the last.
pub fn memory<E: SustainedEngine>(task: &Task, cycles: usize, operations: usize) -> Result<Figures> {
    let records = operations / 2;
    let mut content = content(task, records);
    let store = E::open(&task.directory, task.settings())?;
    let mut random = Random::new(task.seed, 1);
    let mut figures = Figures::default();
    let mut latencies = Latencies::start();
    let watch = Stopwatch::start(Charge::Process);
    for cycle in 0..cycles {
        latencies.restart();
        for id in 0..records as u32 {
            let version = content.put(id);
            store.put(&content.key(id), content.value(id, version))?;
            latencies.lap();
        }
        for _ in 0..records {
            let id = random.below(records) as u32;
            let expected = content.value(id, content.versions()[id as usize]);
            if !store.get(&content.key(id), |value| value == Some(expected))? {
                let what = format!("record {id} is not what was put last, in cycle {cycle}");
                return Err(Error::Wrong { workload: task.definition.name, what });
            }
            latencies.lap();
        }
        if cycle == 0 {
            figures.set("MiB private after one cycle", mebibytes(memory_bytes().0));
        }
    }
    figures.set("MiB private after all", mebibytes(memory_bytes().0));
    note_cost(&mut figures, &watch.pause((cycles * operations) as u64));
    latencies.note(&mut figures);
    figures.set("timer_ns", timer_ns());
    finish(store, &content, task, figures)
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn content(task: &Task, records: usize) -> Content {
    Content::new(task.definition.shape, task.definition.lengths, records)
}

/// An empty directory for the store, next to that of its checkpoints.
fn store_directory(task: &Task) -> Result<PathBuf> {
    let path = task.directory.join("store");
    fs::create_dir(&path).map_err(|error| Error::io("create", &path, error))?;
    Ok(path)
}

/// Makes everything durable and copies the files.
fn take<E: SustainedEngine>(store: &E::Store, from: &Path, to: &Path) -> Result<()> {
    store.sync()?;
    copy_files(from, to).map_err(|error| Error::io("copy", from, error))
}

/// Opens a checkpoint, says how long it took until a record could be read, and compares it whole.
fn open<E: SustainedEngine>(task: &Task, checkpoint: &Path, content: &Content) -> Result<f64> {
    let key = content.key(0);
    let started = Instant::now();
    let store = E::open(checkpoint, task.settings())?;
    let found = store.get(&key, |value| value.is_some())?;
    let wall_ns = started.elapsed().as_nanos() as f64;
    if !found {
        let what = "a checkpoint lacks its first record".to_owned();
        return Err(Error::Wrong { workload: task.definition.name, what });
    }
    verify(&store, content, task.definition.name)?;
    store.close()?;
    Ok(wall_ns)
}

/// Copies what is in the files below a directory; holes stay holes.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_files(&entry.path(), &target)?,
            false => copy_data(&File::open(entry.path())?, &File::create_new(&target)?)?,
        }
    }
    Ok(())
}

fn copy_data(from: &File, to: &File) -> io::Result<()> {
    const BLOCK_BYTES: u64 = 1 << 20;
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut block = vec![0; BLOCK_BYTES as usize];
    let mut position = 0;
    // After the last data the file has only a hole.
    while let Ok(start) = seek(from, SeekFrom::Data(position)) {
        let end = seek(from, SeekFrom::Hole(start)).unwrap_or(length).min(length);
        let mut offset = start;
        while offset < end {
            let part = &mut block[..(end - offset).min(BLOCK_BYTES) as usize];
            from.read_exact_at(part, offset)?;
            to.write_all_at(part, offset)?;
            offset += part.len() as u64;
        }
        position = end;
        if position >= length {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Level, Lmdb, WritingEngine};

    use super::*;
    use crate::engines::fulgurite::Fulgurite;
    use crate::suites::tables::task::LEVELS;
    use crate::suites::tables::task::tests::small;
    use crate::suites::tables::workloads::GEAFLOW;

    #[test]
    fn a_copy_has_the_same_bytes_and_the_same_holes() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        let sparse = File::create_new(from.join("sparse")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        sparse.write_all_at(&[7; 5000], 3 << 20).unwrap();
        fs::write(from.join("inner/full"), vec![9; 3_000_000]).unwrap();
        fs::write(from.join("empty"), []).unwrap();
        copy_files(&from, &to).unwrap();
        let copy = File::open(to.join("sparse")).unwrap();
        let mut bytes = [0; 5000];
        copy.read_exact_at(&mut bytes, 3 << 20).unwrap();
        assert_eq!((bytes, copy.metadata().unwrap().len()), ([7; 5000], 1 << 30));
        assert_eq!(fs::read(to.join("inner/full")).unwrap(), vec![9; 3_000_000]);
        assert!(fs::read(to.join("empty")).unwrap().is_empty());
        assert!(bytes_below(&to).unwrap() < 16 << 20);
    }

    /// A checkpoint of a hundred records, compared with a hundred whose last one was put `more` times more.
    fn compared<E: SustainedEngine>(level: Level, more: usize) -> Result<f64> {
        let directory = tempfile::tempdir().unwrap();
        let task = Task { level, ..small(&GEAFLOW.definitions[0], directory.path()) };
        let mut content = content(&task, 100);
        load(&mut content, 100);
        let (from, to) = (directory.path().join("store"), directory.path().join("copy"));
        fs::create_dir(&from).unwrap();
        let store = <E as WritingEngine>::open(&from, task.settings())?;
        fill(&store, &content, 100)?;
        take::<E>(&store, &from, &to)?;
        (0..more).for_each(|_| {
            content.put(99);
        });
        open::<E>(&task, &to, &content)
    }

    #[test]
    fn a_checkpoint_that_lacks_the_last_put_is_found() {
        for outcome in [compared::<Lmdb>(Level::Log, 1), compared::<Fulgurite>(Level::Log, 1)] {
            assert!(matches!(outcome, Err(Error::Wrong { .. })));
        }
    }

    /// At every level that it has: what a checkpoint needs is durable by then, whatever commits wait for.
    fn has_checkpoints<E: SustainedEngine>() {
        if E::missing().is_some() {
            return;
        }
        for level in LEVELS {
            let directory = tempfile::tempdir().unwrap();
            let task = Task { level, ..small(&GEAFLOW.definitions[0], directory.path()) };
            if E::unfit(task.settings()).is_none() {
                assert!(compared::<E>(level, 0).is_ok_and(|wall_ns| wall_ns > 0.0), "{} {level:?}", E::NAME);
            }
        }
    }

    #[test]
    fn a_checkpoint_has_everything_at_every_level() {
        has_checkpoints::<Fulgurite>();
        has_checkpoints::<Lmdb>();
        has_checkpoints::<fulgurite_rivals::RocksDb>();
        has_checkpoints::<fulgurite_rivals::LevelDb>();
        #[cfg(feature = "redb")]
        has_checkpoints::<fulgurite_rivals::Redb>();
        #[cfg(feature = "fjall")]
        has_checkpoints::<fulgurite_rivals::Fjall>();
        #[cfg(feature = "libmdbx")]
        has_checkpoints::<fulgurite_rivals::Mdbx>();
        #[cfg(feature = "bf-tree")]
        has_checkpoints::<fulgurite_rivals::BfTree>();
        #[cfg(feature = "sqlite")]
        has_checkpoints::<fulgurite_rivals::Sqlite>();
    }
}
