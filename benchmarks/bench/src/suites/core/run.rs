//! The core suite: each data set is made, loaded into both engines, compared in full, measured, and removed.
//!
//! Invariant: stores are loaded once for all workloads of a data set (once for each round where loading itself is
//! measured), and of the large data sets one exists at a time.

use std::path::{Path, PathBuf};
use std::time::Instant;

use fulgurite_rivals::{Engine, LmdbWriteMap, Purpose, Reader, Store};

use crate::data::dataset::{Dataset, Spec};
use crate::data::random::{Random, mix};
use crate::data::shape::Shape;
use crate::error::{Error, Result};
use crate::harness::contest::Contest;
use crate::harness::report::{Amount, Report};
use crate::measure::clock::{Charge, Latencies, Sample, Stopwatch};
use crate::measure::machine::Mapped;
use crate::measure::places::Places;
use crate::measure::rounds::{Turn, interleaved};
use crate::measure::statistics::median;
use crate::measure::warm::warm_memory;
use crate::suites::core::plan::{self, Plan, Scale};
use crate::suites::core::verify;
use crate::suites::core::worker::{Finding, Kind, Task};
use crate::suites::core::workload::{Options, Read, Workload};
use crate::suites::core::writes::{self, Versions};

/// Runs what the options want with `F` as the measured engine and `L` as its rival.
pub fn run<F: Engine, L: Engine>(options: &Options, directory: &Path, seed: u64) -> Result<Report> {
    let mut suite = Suite::new(options, Scale::of(options), directory, seed)?;
    // First, because it can fail: nothing that was measured is lost then.
    if plan::wants(options, Workload::BinarySize) {
        suite.binary_size()?;
    }
    for plan in plan::core(options) {
        suite.measure::<F, L>(&plan)?;
    }
    if plan::wants(options, Workload::LoadMemory) {
        suite.load_memory()?;
    }
    suite.progress("done");
    Ok(suite.report)
}

/// Runs `plans` alone, at this scale.
pub fn run_plans<F: Engine, L: Engine>(
    plans: &[Plan],
    scale: Scale,
    options: &Options,
    directory: &Path,
    seed: u64,
) -> Result<Report> {
    let mut suite = Suite::new(options, scale, directory, seed)?;
    plans.iter().try_for_each(|plan| suite.measure::<F, L>(plan))?;
    Ok(suite.report)
}

struct Suite<'a> {
    options: &'a Options,
    places: Places,
    scale: Scale,
    seed: u64,
    report: Report,
    started: Instant,
}

/// Directory of the measured engine's store in that of the data set.
const SUBJECT: &str = "subject";

/// The same of its rival's.
const RIVAL: &str = "rival";

/// Each engine's rounds.
type Entries = Vec<(&'static str, Vec<Sample>)>;

/// A data set in memory, and the directories of both engines' stores of it.
struct Stage {
    data: Dataset,
    ours: PathBuf,
    theirs: PathBuf,
}

impl<'a> Suite<'a> {
    fn new(options: &'a Options, scale: Scale, directory: &Path, seed: u64) -> Result<Self> {
        let places = Places::new(directory, options.keep)?;
        Ok(Self { options, places, scale, seed, report: Report::default(), started: Instant::now() })
    }

    fn progress(&self, what: &str) {
        eprintln!("[{:>4} s] {what}", self.started.elapsed().as_secs());
    }

    fn measure<F: Engine, L: Engine>(&mut self, plan: &Plan) -> Result<()> {
        let name = plan.spec.name();
        self.progress(&format!("{name}: making keys"));
        let data = Dataset::new(plan.spec);
        let (ours, theirs) = (self.places.fresh(&name, SUBJECT)?, self.places.fresh(&name, RIVAL)?);
        if plan.has(Workload::BulkLoad) {
            let entries = self.load_rounds::<F, L>(self.options.rounds, warm_bytes_of_load(&data), &data)?;
            self.add(Workload::BulkLoad, &data, entries);
        } else {
            self.load_rounds::<F, L>(1, 0, &data)?;
        }
        let stage = Stage { data, ours, theirs };
        self.read::<F, L>(plan, &stage)?;
        if plan.has(Workload::GetHitPortable) || plan.has(Workload::GetHitSerialisedPortable) {
            let rows = [Workload::GetHitPortable, Workload::GetHitSerialisedPortable];
            self.read_elsewhere::<F, L>(Kind::Portable, rows, plan, &stage)?;
        }
        if plan.has(Workload::GetHitNoHugePages) || plan.has(Workload::GetHitSerialisedNoHugePages) {
            let rows = [Workload::GetHitNoHugePages, Workload::GetHitSerialisedNoHugePages];
            self.read_elsewhere::<F, L>(Kind::NoHugePages, rows, plan, &stage)?;
        }
        if plan.has(Workload::Open) {
            self.open::<F, L>(&stage)?;
        }
        if plan.has(Workload::GetHitDelta) {
            self.read_above_delta::<F, L>(&stage)?;
        }
        if plan.has(Workload::Put1) {
            if plan.has(Workload::GetHitDelta) {
                self.load_rounds::<F, L>(1, 0, &stage.data)?;
            }
            self.put1::<F, L>(&stage)?;
        }
        self.places.remove(&name)
    }

    /// Adds a result and shows it.
    fn add(&mut self, workload: Workload, data: &Dataset, entries: Entries) {
        let contest = Contest::new(workload.name(), data, entries);
        let times: Vec<String> = contest
            .entries
            .iter()
            .map(|(engine, samples)| {
                let cpu: Vec<f64> = samples.iter().map(Sample::cpu_ns_per_operation).collect();
                format!("{engine} {:.1} ns", median(&cpu))
            })
            .collect();
        self.progress(&format!("  {}: {}: {:.2} ×", contest.workload, times.join(", "), contest.ratio()));
        self.report.contests.push(contest);
    }

    /// The stream of random numbers for one round: both engines get the same.
    fn random(&self, workload: Workload, spec: &Spec, round: usize) -> Random {
        random_of(self.seed, workload, spec, round)
    }

    /// Loads both engines `rounds` times, each time with so much warm memory. All but the last load are removed at
    /// once, before the kernel writes them to disk in the other engine's time.
    fn load_rounds<F: Engine, L: Engine>(&self, rounds: usize, warm_bytes: u64, data: &Dataset) -> Result<Entries> {
        self.progress(&format!("{}: loading {} records", data.spec.name(), data.stored.len()));
        let places = &self.places;
        let mut turns: Vec<(&'static str, Turn<'_>)> = vec![
            (F::NAME, Box::new(|round| load_once::<F>(places, SUBJECT, data, warm_bytes, round + 1 == rounds))),
            (L::NAME, Box::new(|round| load_once::<L>(places, RIVAL, data, warm_bytes, round + 1 == rounds))),
        ];
        if rounds > 1 && !self.options.self_test {
            let turn: Turn<'_> = Box::new(|_| load_once::<LmdbWriteMap>(places, "writemap", data, warm_bytes, false));
            turns.push((LmdbWriteMap::NAME, turn));
        }
        interleaved(rounds, turns)
    }

    /// Compares all content, then runs the read workloads.
    fn read<F: Engine, L: Engine>(&mut self, plan: &Plan, stage: &Stage) -> Result<()> {
        let reads = [
            (Workload::GetHit, Read::Hit),
            (Workload::GetHitSerialised, Read::HitSerialised),
            (Workload::GetMiss, Read::Miss),
            (Workload::GetMany32, Read::Many),
            (Workload::Scan, Read::Scan),
            (Workload::ScanReverse, Read::ScanReverse),
            (Workload::Seek100, Read::Seek),
        ];
        let data = &stage.data;
        let ours = F::open(&stage.ours, Purpose::Read)?;
        let theirs = L::open(&stage.theirs, Purpose::Read)?;
        self.report.search = ours.search()?;
        if plan.has(Workload::BytesPerRecord) {
            self.bytes_per_record(data, ours.used_bytes()?, theirs.used_bytes()?);
        }
        self.progress(&format!("{}: comparing all content", plan.spec.name()));
        {
            let (our_reader, their_reader) = (ours.reader()?, theirs.reader()?);
            verify::all_content(&our_reader, data)?;
            verify::all_content(&their_reader, data)?;
            for (workload, read) in reads.into_iter().filter(|(workload, _)| plan.has(*workload)) {
                let entries = self.rounds::<F, L, _, _>(workload, read, data, &our_reader, &their_reader)?;
                self.add(workload, data, entries);
            }
            let huge = [F::data_file(&stage.ours), L::data_file(&stage.theirs)]
                .map(|file| Mapped::of(&file).map(|mapped| mapped.huge_percent()));
            let [our_huge, their_huge] = huge;
            self.note_huge_pages::<F, L>(&plan.spec.name(), our_huge?, their_huge?);
        }
        ours.close()?;
        theirs.close()?;
        Ok(())
    }

    /// Rounds of one read workload on both engines.
    fn rounds<F: Engine, L: Engine, A: Reader, B: Reader>(
        &self,
        workload: Workload,
        read: Read,
        data: &Dataset,
        ours: &A,
        theirs: &B,
    ) -> Result<Entries> {
        let questions = |round: usize| {
            let mut random = self.random(workload, &data.spec, round);
            read.prepare(data, self.scale.gets, &mut random)
        };
        let our_turn: Turn<'_> = Box::new(|round| read.run(ours, data, &questions(round)));
        let their_turn: Turn<'_> = Box::new(|round| read.run(theirs, data, &questions(round)));
        interleaved(self.options.rounds, vec![(F::NAME, our_turn), (L::NAME, their_turn)])
    }

    fn bytes_per_record(&mut self, data: &Dataset, ours: u64, theirs: u64) {
        let beyond = |used: u64| (used as f64 - data.content_bytes() as f64) / data.stored.len() as f64;
        self.report.amounts.push(Amount {
            workload: Workload::BytesPerRecord.name(),
            data: Contest::new(Workload::BytesPerRecord.name(), data, Vec::new()).data_name(),
            value: beyond(ours),
            rival: Some(beyond(theirs)),
            unit: "bytes",
        });
    }

    fn note_huge_pages<F: Engine, L: Engine>(&mut self, name: &str, ours: u64, theirs: u64) {
        let note =
            format!("{name}: huge pages map {ours} % of the file of {}, {theirs} % of that of {}", F::NAME, L::NAME);
        self.progress(&format!("  {note}"));
        self.report.notes.push(note);
    }

    /// Gets in a process of their own.
    fn read_elsewhere<F: Engine, L: Engine>(
        &mut self,
        kind: Kind,
        rows: [Workload; 2],
        plan: &Plan,
        stage: &Stage,
    ) -> Result<()> {
        let findings = Task {
            kind,
            self_test: self.options.self_test,
            spec: plan.spec,
            rounds: self.options.rounds,
            gets: self.scale.gets,
            seed: mix(self.seed ^ rows[0] as u64),
            ours: stage.ours.clone(),
            theirs: stage.theirs.clone(),
        }
        .spawn()?;
        let mut huge = [0, 0];
        let mut samples = [const { [const { Vec::new() }; 2] }; 2];
        for finding in findings {
            match finding {
                Finding::Round { engine, serialised, sample } => samples[usize::from(serialised)][engine].push(sample),
                Finding::HugePercent { engine, percent } => huge[engine] = percent,
                Finding::PrivateBytes(_) => {}
            }
        }
        for (workload, [ours, theirs]) in rows.into_iter().zip(samples) {
            self.add(workload, &stage.data, vec![(F::NAME, ours), (L::NAME, theirs)]);
        }
        self.note_huge_pages::<F, L>(rows[0].name(), huge[0], huge[1]);
        Ok(())
    }

    /// Opens both stores, each time with one get to prove it open.
    fn open<F: Engine, L: Engine>(&mut self, stage: &Stage) -> Result<()> {
        let data = &stage.data;
        let turns: Vec<(&'static str, Turn<'_>)> = vec![
            (F::NAME, Box::new(|_| open_once::<F>(&stage.ours, data))),
            (L::NAME, Box::new(|_| open_once::<L>(&stage.theirs, data))),
        ];
        let entries = interleaved(self.options.rounds, turns)?;
        let milliseconds = |entry: &(&str, Vec<Sample>)| {
            median(&entry.1.iter().map(|sample| sample.wall_ns / 1e6).collect::<Vec<_>>())
        };
        let (value, rival) = (milliseconds(&entries[0]), milliseconds(&entries[1]));
        self.add(Workload::Open, data, entries);
        let file = F::data_file(&stage.ours);
        let length = std::fs::metadata(&file).map_err(|error| Error::io("measure", &file, error))?.len();
        self.report.amounts.push(Amount {
            workload: Workload::Open.name(),
            data: format!("file of {:.2} GiB", length as f64 / f64::from(1 << 30)),
            value,
            rival: Some(rival),
            unit: "ms wall",
        });
        Ok(())
    }

    /// Rounds of single puts into the stores as loaded; the content is compared after the last.
    fn put1<F: Engine, L: Engine>(&mut self, stage: &Stage) -> Result<()> {
        let data = &stage.data;
        self.progress(&format!("{}: {} single puts a round", data.spec.name(), self.scale.puts));
        let (mut ours, mut theirs) =
            (F::open(&stage.ours, Purpose::SinglePuts)?, L::open(&stage.theirs, Purpose::SinglePuts)?);
        let (mut our_versions, mut their_versions) = (Versions::new(data), Versions::new(data));
        let warm_bytes = warm_bytes_of_puts(data, self.scale.puts);
        let mut fewest_checkpoints = u64::MAX;
        let random = |round| self.random(Workload::Put1, &data.spec, round);
        let our_turn: Turn<'_> = Box::new(|round| {
            let puts = our_versions.draw(data, self.scale.puts, &mut random(round));
            warm_memory(warm_bytes);
            let made = writes::put1(&mut ours, &puts)?;
            fewest_checkpoints = fewest_checkpoints.min(made.checkpoints);
            Ok(made.sample)
        });
        let their_turn: Turn<'_> = Box::new(|round| {
            let puts = their_versions.draw(data, self.scale.puts, &mut random(round));
            warm_memory(warm_bytes);
            Ok(writes::put1(&mut theirs, &puts)?.sample)
        });
        let entries = interleaved(self.options.rounds, vec![(F::NAME, our_turn), (L::NAME, their_turn)])?;
        our_versions.verify(&ours.reader()?, data)?;
        their_versions.verify(&theirs.reader()?, data)?;
        ours.close()?;
        theirs.close()?;
        self.add(Workload::Put1, data, entries);
        self.report.amounts.push(Amount {
            workload: Workload::Put1.name(),
            data: format!("{} puts", self.scale.puts),
            value: fewest_checkpoints as f64,
            rival: None,
            unit: "checkpoints in the shortest span",
        });
        Ok(())
    }

    /// Half of the gets are answered by records that were put last. The rival, which has no delta, gets all records in
    /// one sorted load, which is the best that it can have.
    fn read_above_delta<F: Engine, L: Engine>(&mut self, stage: &Stage) -> Result<()> {
        let data = &stage.data;
        let name = data.spec.name();
        self.progress(&format!("{name}: putting {} records above the loaded ones", data.absent.len()));
        let mut ours = F::open(&stage.ours, Purpose::ReadAboveDelta)?;
        // The first commit after a clean close writes a meta page that names the new log, which counts as a checkpoint.
        ours.put(data.absent.key(0), data.values.get(data.absent.id(0)))?;
        let checkpoints_before = ours.checkpoints()?;
        writes::put_absent(&mut ours, data, &mut self.random(Workload::GetHitDelta, &data.spec, usize::MAX))?;
        let moved = ours.checkpoints()? - checkpoints_before;
        if moved > 0 {
            let what = format!("{moved} checkpoints moved the delta into the base");
            return Err(Error::Wrong { workload: Workload::GetHitDelta.name(), what });
        }
        let theirs_path = self.places.fresh(&name, RIVAL)?;
        let mut theirs = L::create(&theirs_path, Purpose::Load)?;
        theirs.load_sorted(writes::all_records(data))?;
        theirs.close()?;
        let theirs = L::open(&theirs_path, Purpose::ReadAboveDelta)?;
        let entries = {
            let (our_reader, their_reader) = (ours.reader()?, theirs.reader()?);
            verify::gets(&our_reader, writes::all_records(data))?;
            verify::gets(&their_reader, writes::all_records(data))?;
            self.rounds::<F, L, _, _>(Workload::GetHitDelta, Read::HitBoth, data, &our_reader, &their_reader)?
        };
        self.add(Workload::GetHitDelta, data, entries);
        ours.close()?;
        theirs.close()?;
        Ok(())
    }

    /// Private memory of loading the large data set in no order.
    fn load_memory(&mut self) -> Result<()> {
        let records = self.options.records.unwrap_or(self.scale.records[1]);
        self.progress(&format!("loading {records} records in no order"));
        let name = "unsorted";
        let findings = Task {
            kind: Kind::LoadMemory,
            self_test: self.options.self_test,
            spec: Spec { shape: Shape::Hashed, records, hashed_key_bytes: 32, value_bytes: 100 },
            rounds: 1,
            gets: 0,
            seed: self.seed,
            ours: self.places.fresh(name, SUBJECT)?,
            theirs: self.places.path().to_owned(),
        }
        .spawn()?;
        for finding in findings {
            if let Finding::PrivateBytes(bytes) = finding {
                self.report.amounts.push(Amount {
                    workload: Workload::LoadMemory.name(),
                    data: format!("hashed 32/100 × {records} unsorted"),
                    value: bytes as f64 / f64::from(1 << 20),
                    rival: None,
                    unit: "MiB",
                });
            }
        }
        self.places.remove(name)
    }

    /// Builds the command line as released, and measures its binary.
    fn binary_size(&mut self) -> Result<()> {
        self.progress("building the command line");
        let binary = crate::suites::core::command_line::build()?;
        let length = std::fs::metadata(&binary).map_err(|error| Error::io("measure", &binary, error))?.len();
        self.report.amounts.push(Amount {
            workload: Workload::BinarySize.name(),
            data: "fulgurite".to_owned(),
            value: length as f64 / 1e6,
            rival: None,
            unit: "MB",
        });
        Ok(())
    }
}

/// What a load may take up: the file's pages in the cache, and as much again where an engine gathers them first.
fn warm_bytes_of_load(data: &Dataset) -> u64 {
    2 * data.content_bytes()
}

/// What a round of puts may take up: the file grown to twice its content, and log and delta with every put once.
fn warm_bytes_of_puts(data: &Dataset, puts: usize) -> u64 {
    2 * data.content_bytes() + 2 * puts as u64 * (data.key_bytes() + data.spec.value_bytes as u64)
}

fn random_of(seed: u64, workload: Workload, spec: &Spec, round: usize) -> Random {
    let place = mix(spec.records as u64 ^ mix(spec.value_bytes as u64 ^ mix(spec.shape as u64)));
    Random::new(seed ^ place, mix(workload as u64) ^ round as u64)
}

fn load_once<E: Engine>(places: &Places, seat: &str, data: &Dataset, warm_bytes: u64, keep: bool) -> Result<Sample> {
    let dataset = &data.spec.name();
    let directory = places.fresh(dataset, seat)?;
    warm_memory(warm_bytes);
    let sample = writes::bulk_load::<E>(&directory, data)?;
    if !keep {
        places.fresh(dataset, seat)?;
    }
    Ok(sample)
}

fn open_once<E: Engine>(directory: &Path, data: &Dataset) -> Result<Sample> {
    let middle = data.stored.len() / 2;
    let key = data.stored.key(middle);
    let mut latencies = Latencies::with_capacity(1);
    let watch = Stopwatch::start(Charge::Process);
    let store = E::open(directory, Purpose::Read)?;
    let reader = store.reader()?;
    let right = reader.get(key)?.as_deref() == Some(data.values.get(data.stored.id(middle)));
    latencies.lap(1);
    let sample = watch.stop(1, latencies);
    drop(reader);
    store.close()?;
    match right {
        true => Ok(sample),
        false => Err(Error::Wrong { workload: "open", what: "the engine gave a wrong answer".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_data_set_and_round_has_a_stream_of_its_own() {
        let spec = |records| Spec { shape: Shape::Hashed, records, hashed_key_bytes: 8, value_bytes: 8 };
        let first = |workload, spec, round| random_of(1, workload, &spec, round).next();
        let one = first(Workload::GetHit, spec(10), 0);
        assert_eq!(one, first(Workload::GetHit, spec(10), 0));
        assert_ne!(one, first(Workload::GetHit, spec(10), 1));
        assert_ne!(one, first(Workload::GetHit, spec(20), 0));
        assert_ne!(one, first(Workload::GetMany32, spec(10), 0));
    }
}
