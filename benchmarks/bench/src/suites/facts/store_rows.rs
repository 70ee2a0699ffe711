//! Facts written, completed, read, copied and restored, in one backend.

use std::path::Path;

use fulgurite::{Database, Durability};
use fulgurite_facts::{Backend, Error, FactId, PredicateId, Result, Snapshot, Store, StoreOptions};

use super::report::Row;
use super::workload::{FIRST_PREDICATE, PREDICATES, Workload};
use crate::data::random::Random;
use crate::measure::clock::{Charge, Stopwatch};

/// What [`measure`] returns, in its order.
pub fn rows() -> Vec<Row> {
    vec![
        Row::new("define and commit, µs a fact").glean(3.81).at_most(1.3).times_less(2.5),
        Row::new("complete, µs a fact"),
        Row::new("id by key, µs").glean(2.78).at_most(0.5).times_less(2.5),
        Row::new("fact by id, µs").glean(1.47).at_most(0.4).times_less(2.5),
        Row::new("seek of 12 bytes, first fact, µs").glean(2.87).at_most(0.7).times_less(2.5),
        Row::new("scan of keys and values, µs a fact").glean(1.42).at_most(0.06).times_less(2.5),
        Row::new("bytes a fact on disk").glean(262.0).at_most(75.0).times_less(1.0),
        Row::new("backup, µs a fact").times_less(2.0),
        Row::new("restore, µs a fact").times_less(2.0),
        Row::new("backup, bytes a fact").times_less(1.0),
    ]
}

/// Options for databases in a backend whose commits survive the process, not the machine.
pub fn options(backend: Backend) -> StoreOptions {
    Store::options().engine(Database::options().durability(Durability::Log)).backend(backend)
}

/// The figures of one backend. LMDB's file is copied compactly before it is read: that is the smallest it can be.
///
/// # Errors
/// Those of the store; [`Error::Invalid`], if an answer is wrong.
pub fn measure(backend: Backend, workload: &Workload, directory: &Path) -> Result<Vec<f64>> {
    let store = options(backend).create(directory.join("facts.ful"))?;
    let define = define(&store, workload)?;
    let watch = Stopwatch::start(Charge::Process);
    store.complete(|_, _| Ok(()))?;
    let compact = directory.join("compact.ful");
    let store = match backend {
        Backend::Fulgurite => store,
        Backend::Lmdb => {
            store.back_up(&compact)?;
            drop(store);
            Store::open(&compact)?
        }
    };
    let per_fact = |watch: Stopwatch| watch.pause(workload.facts).cpu_ns_per_operation() / 1e3;
    let mut figures = vec![define, per_fact(watch)];
    figures.extend(read(&store.snapshot()?, workload)?);
    figures.push(store.file_bytes()? as f64 / workload.facts as f64);
    let (backup, restored) = (directory.join("backup.ful"), directory.join("restored.ful"));
    let watch = Stopwatch::start(Charge::Process);
    store.back_up(&backup)?;
    figures.push(per_fact(watch));
    let copy = Store::open(&backup)?;
    let watch = Stopwatch::start(Charge::Process);
    copy.back_up(&restored)?;
    figures.push(per_fact(watch));
    figures.push(copy.file_bytes()? as f64 / workload.facts as f64);
    drop(copy);
    let restored = Store::open(&restored)?.snapshot()?.first_free_id();
    if restored != store.snapshot()?.first_free_id() {
        return Err(missing("in what was restored"));
    }
    Ok(figures)
}

/// Writes all facts. Returns microseconds a fact, without those of making them.
pub fn define(store: &Store, workload: &Workload) -> Result<f64> {
    let mut cpu_ns = 0.0;
    let mut keys = vec![Vec::new(); BATCH as usize];
    for from in (0..workload.facts).step_by(BATCH as usize) {
        let count = BATCH.min(workload.facts - from);
        let facts: Vec<(PredicateId, &[u8], &[u8])> = (from..from + count)
            .zip(&mut keys)
            .map(|(number, key)| {
                let (predicate, value) = workload.fact(number, key);
                (predicate_id(predicate), key.as_slice(), value)
            })
            .collect();
        let watch = Stopwatch::start(Charge::Process);
        let mut batch = store.batch()?;
        for (predicate, key, value) in &facts {
            batch.define(*predicate, key, value)?;
        }
        batch.commit(None)?;
        cpu_ns += watch.pause(count).cpu_ns;
    }
    Ok(cpu_ns / 1e3 / workload.facts as f64)
}

/// Microseconds of an id by key, a fact by id, a seek, and a fact of a scan.
fn read(reader: &Snapshot, workload: &Workload) -> Result<[f64; 4]> {
    let mut random = Random::new(workload.seed, 1);
    let questions = QUESTIONS.min(workload.facts);
    let asked: Vec<(PredicateId, Vec<u8>)> = (0..questions)
        .map(|_| {
            let mut key = Vec::new();
            let (predicate, _) = workload.fact(workload.pick(&mut random), &mut key);
            (predicate_id(predicate), key)
        })
        .collect();
    let mut sum = 0;
    let watch = Stopwatch::start(Charge::Thread);
    for (predicate, key) in &asked {
        sum ^= reader.id_by_key(*predicate, key)?.ok_or(missing("by its key"))?.get();
    }
    let by_key = watch.pause(questions).cpu_ns_per_operation();
    let ids: Vec<FactId> = (0..questions).map(|_| FactId::FIRST.plus(workload.pick(&mut random))).collect();
    let watch = Stopwatch::start(Charge::Thread);
    for id in ids {
        let fact = reader.fact_by_id(id)?.ok_or(missing("by its id"))?;
        sum ^= (fact.key().len() + fact.value().len()) as u64;
    }
    let by_id = watch.pause(questions).cpu_ns_per_operation();
    let watch = Stopwatch::start(Charge::Thread);
    for (predicate, key) in &asked {
        let fact = reader.seek(*predicate, &key[..12])?.next().ok_or(missing("by a prefix"))??;
        sum ^= (fact.key().len() + fact.value().len()) as u64;
    }
    let seek = watch.pause(questions).cpu_ns_per_operation();
    let watch = Stopwatch::start(Charge::Thread);
    let mut scanned = 0;
    for predicate in FIRST_PREDICATE..FIRST_PREDICATE + PREDICATES {
        reader.scan(predicate_id(predicate), b"", |_, key, value| {
            scanned += 1;
            sum ^= (key.len() + value.len()) as u64;
        })?;
    }
    let scan = watch.pause(scanned).cpu_ns_per_operation();
    if scanned != workload.facts {
        return Err(Error::Invalid {
            fact: FactId::FIRST,
            what: format!("a scan finds {scanned} facts of {}", workload.facts),
        });
    }
    std::hint::black_box(sum);
    Ok([by_key, by_id, seek, scan].map(|ns| ns / 1e3))
}

/// The error of a fact that must be there.
fn missing(how: &str) -> Error {
    Error::Invalid { fact: FactId::FIRST, what: format!("a fact is not found {how}") }
}

fn predicate_id(number: u64) -> PredicateId {
    PredicateId::new(number).expect("predicates of the workload are numbered from 1024 on")
}

/// Facts of a transaction.
const BATCH: u64 = 10_000;
/// Questions of each kind, at most.
const QUESTIONS: u64 = 200_000;
