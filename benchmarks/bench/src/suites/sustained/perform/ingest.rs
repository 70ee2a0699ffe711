//! Puts that outlast every buffer, until their deferred work is done, with reads beside and after them.

use fulgurite_rivals::{Level, Settings, Usage, WritingStore};

use crate::data::random::Random;
use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::measure::clock::{BATCH, Charge, Latencies, Sample, Stopwatch, cpu_ns};
use crate::measure::space::bytes_below;
use crate::measure::warm::warm_memory;
use crate::measure::written::Written;
use crate::suites::sustained::content::Content;
use crate::suites::sustained::perform::observer::{self, Progress};
use crate::suites::sustained::perform::reads::{self, Reads};
use crate::suites::sustained::task::{Finding, Task};
use crate::suites::sustained::workload::{Figure, Measure};

/// How stores of this suite are opened.
pub fn settings(cache_bytes: u64) -> Settings {
    Settings { level: Level::Log, usage: Usage::Sustained { cache_bytes } }
}

/// Loads the base, makes the puts, settles, compares everything, reads.
pub fn run<E: SustainedEngine>(task: &Task) -> Result<Vec<Finding>> {
    let size = task.size;
    let content = Content::new(task.workload.pattern(), size.base, size.puts, task.seed);
    let store = E::open(&task.directory, settings(task.cache_bytes))?;
    {
        let keys = content.base_keys();
        store.load_sorted(keys.records(content.values()))?;
    }
    if task.warm {
        warm_memory(content.record_bytes() * (2 * content.stored() + size.puts) as u64);
    }
    let mut findings = puts::<E>(&store, &content, task)?;
    content.verify(&store, task.workload.name())?;
    if task.workload.reads() {
        let rest = reads::all(&store, &content, &size, &mut Random::new(task.seed, 3))?;
        findings.extend(at_rest(rest));
    }
    store.close()?;
    Ok(findings)
}

/// Loads all records in their final state, and reads them: as fast as the engine can be.
pub fn run_at_rest<E: SustainedEngine>(task: &Task) -> Result<Vec<Finding>> {
    let size = task.size;
    let content = Content::new(task.workload.pattern(), size.base, size.puts, task.seed);
    let store = E::open(&task.directory, settings(task.cache_bytes))?;
    {
        let keys = content.last_keys();
        let record = |position| (keys.key(position), content.last_value(keys.id(position)));
        store.load_sorted((0..keys.len()).map(record))?;
    }
    content.verify(&store, task.workload.name())?;
    let rest = reads::all(&store, &content, &size, &mut Random::new(task.seed, 3))?;
    store.close()?;
    Ok(at_rest(rest).into())
}

fn at_rest([hit, miss, seek]: Reads) -> [Finding; 3] {
    [
        Finding::Time(Measure::HitRest, hit),
        Finding::Time(Measure::MissRest, miss),
        Finding::Time(Measure::SeekRest, seek),
    ]
}

/// What was found by the time the last put was acknowledged.
struct Ingested {
    puts: Sample,
    during: Option<Sample>,
    latencies: Latencies,
}

/// The puts, and settling; what is measured on the way.
fn puts<E: SustainedEngine>(store: &E::Store, content: &Content, task: &Task) -> Result<Vec<Finding>> {
    let progress = Progress::default();
    let written_before = (E::written_bytes(store), Written::so_far());
    let (mut findings, peak) = std::thread::scope(|scope| {
        let space = scope.spawn(|| observer::watch_space(&task.directory, &progress));
        let measured = puts_and_debt::<E>(store, content, task, &progress);
        // The watching thread ends even if the puts failed.
        progress.end();
        let peak = space.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, crate::error::Error>((measured?, peak?))
    })?;
    let user_bytes = (content.record_bytes() * content.puts() as u64) as f64;
    let passed = written_before.0.zip(E::written_bytes(store)).map(|(before, after)| after - before);
    let device = written_before.1.zip(Written::so_far()).map(|(before, after)| after.since(before).for_device);
    for (figure, bytes) in [(Figure::Passed, passed), (Figure::Device, device)] {
        findings.extend(bytes.map(|bytes| Finding::Amount(figure, bytes as f64 / user_bytes)));
    }
    let raw_bytes = (content.record_bytes() * content.stored() as u64) as f64;
    let settled = bytes_below(&task.directory)?;
    findings.push(Finding::Amount(Figure::SpacePeak, peak.max(settled) as f64 / raw_bytes));
    findings.push(Finding::Amount(Figure::SpaceSettled, settled as f64 / raw_bytes));
    Ok(findings)
}

fn puts_and_debt<E: SustainedEngine>(
    store: &E::Store,
    content: &Content,
    task: &Task,
    progress: &Progress,
) -> Result<Vec<Finding>> {
    let per_transaction = task.workload.per_transaction();
    let whole = Stopwatch::start(Charge::Process);
    let Ingested { puts, during, latencies } = ingest(store, content, task, progress)?;
    let (p50_ns, p99_ns) = (puts.p50_ns, puts.p99_ns);
    let mut findings = vec![Finding::Time(Measure::Puts, puts)];
    findings.extend(during.map(|sample| Finding::Time(Measure::HitDuring, sample)));
    let debt = Stopwatch::start(Charge::Process);
    let reader_before = cpu_ns(Charge::Thread);
    if task.workload.reads() {
        let [hit, miss, seek] = reads::all(store, content, &task.size, &mut Random::new(task.seed, 2))?;
        findings.push(Finding::Time(Measure::HitDebt, hit));
        findings.push(Finding::Time(Measure::MissDebt, miss));
        findings.push(Finding::Time(Measure::SeekDebt, seek));
    }
    let reader_cpu_ns = cpu_ns(Charge::Thread) - reader_before;
    let debt_wall_ns = debt.pause(0).wall_ns;
    E::settle(store)?;
    let mut settled = Sample { p50_ns, p99_ns, ..whole.pause(content.puts() as u64) };
    settled.cpu_ns -= progress.cpu_ns() + reader_cpu_ns;
    settled.wall_ns -= debt_wall_ns;
    findings.push(Finding::Time(Measure::Settled, settled));
    if per_transaction > 1 {
        findings.push(Finding::Amount(Figure::Pause, latencies.percentile_ns(1.0) / 1e6));
        findings.push(Finding::Amount(Figure::P999, latencies.percentile_ns(0.999) / 1e6));
    }
    Ok(findings)
}

/// Makes all puts, beside a reader where reads are measured.
fn ingest<S: WritingStore>(store: &S, content: &Content, task: &Task, progress: &Progress) -> Result<Ingested> {
    std::thread::scope(|scope| {
        let read = || observer::read(store, content, progress, task.seed);
        let reader = task.workload.reads().then(|| scope.spawn(read));
        let watch = Stopwatch::start(Charge::Process);
        let written = write(store, content, task.workload.per_transaction(), progress);
        let mut puts = watch.pause(content.puts() as u64);
        puts.cpu_ns -= progress.cpu_ns();
        progress.end_puts();
        let during = reader.map(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let latencies = written?;
        let lap = lap_puts(task.workload.per_transaction()) as f64;
        puts.p50_ns = latencies.percentile_ns(0.50) / lap;
        puts.p99_ns = latencies.percentile_ns(0.99) / lap;
        Ok(Ingested { puts, during: during.transpose()?, latencies })
    })
}

/// Puts between two looks at the clock: a transaction, or many small ones.
fn lap_puts(per_transaction: usize) -> usize {
    if per_transaction == 1 { BATCH } else { per_transaction }
}

/// Makes all puts; returns the wall time of each lap.
fn write<S: WritingStore>(
    store: &S,
    content: &Content,
    per_transaction: usize,
    progress: &Progress,
) -> Result<Latencies> {
    let lap = lap_puts(per_transaction);
    let key_bytes = content.key_bytes();
    let mut keys = Vec::with_capacity(lap * key_bytes);
    let mut latencies = Latencies::with_capacity(content.puts());
    for start in (0..content.puts()).step_by(lap) {
        let end = (start + lap).min(content.puts());
        keys.clear();
        (start..end).for_each(|put| content.write_key(content.put(put).0, &mut keys));
        let record = |put: usize| (&keys[(put - start) * key_bytes..][..key_bytes], content.put(put).1);
        progress.begin(end);
        if per_transaction == 1 {
            for put in start..end {
                let (key, value) = record(put);
                store.put(key, value)?;
            }
        } else {
            store.put_all((start..end).map(record))?;
        }
        progress.acknowledge(end);
        latencies.lap(1);
    }
    Ok(latencies)
}
