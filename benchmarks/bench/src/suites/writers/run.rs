//! The suite of writers: for each workload every engine gets a fresh store with the same records, makes the same
//! changes in rounds, and is compared in full; then the stores are removed.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use fulgurite_rivals::{Level, Settings, Usage};

use crate::data::dataset::{Dataset, Spec};
use crate::data::random::{Random, mix};
use crate::data::shape::Shape;
use crate::engines::known;
use crate::error::{Error, Result};
use crate::harness::contest::{Contest, cpu_ns};
use crate::harness::report::{Amount, Report};
use crate::measure::clock::Sample;
use crate::measure::places::Places;
use crate::measure::rounds::order;
use crate::measure::statistics::median;
use crate::measure::warm::warm_memory;
use crate::suites::writers::contestant::{Contestant, Entry, Turn, entries};
use crate::suites::writers::kills;
use crate::suites::writers::ledger::Ledger;
use crate::suites::writers::script;
use crate::suites::writers::workload::{
    COMMITS_PER_FLUSH, CPU, CPU_PER_PUT, Definition, KEY_BYTES, Options, SPEED_UP, Transaction, VALUE_BYTES, WALL,
    Workload,
};

/// Name of the suite in lines of JSON.
const SUITE: &str = "writers";

/// Records that a store begins with.
const RECORDS: usize = 1_000_000;

/// The same for `--quick`.
const RECORDS_QUICK: usize = 5_000;

/// Records in the log of a quick recovery.
const RECOVERY_RECORDS_QUICK: usize = 5_000;

/// Runs what the options want.
pub fn run(options: &Options, directory: &Path, seed: u64) -> Result<Report> {
    let wanted = |entry: &Entry| options.wants_engine(entry.name);
    run_with(&entries().into_iter().filter(wanted).collect::<Vec<_>>(), options, directory, seed)
}

/// The same with these engines.
pub fn run_with(engines: &[Entry], options: &Options, directory: &Path, seed: u64) -> Result<Report> {
    let mut report = Report::default();
    let present = known::present(engines, |engine| (engine.name, (engine.missing)()), &mut report.notes);
    known::refuse_none(&present, &report.notes)?;
    let places = Places::new(directory, options.keep)?;
    let mut suite = Suite { options, places, seed, engines: present, report, started: Instant::now() };
    suite.report.notes.iter().for_each(|note| eprintln!("{note}"));
    let records = options.records.unwrap_or(if options.quick { RECORDS_QUICK } else { RECORDS });
    let dataset = |value_bytes| Dataset::new(Spec { shape: Shape::Hashed, records, hashed_key_bytes: 32, value_bytes });
    let mut data = dataset(Workload::Put1Log.value_bytes());
    for workload in Workload::ALL {
        if options.wants(&workload) {
            if data.values.length() != workload.value_bytes() {
                data = dataset(workload.value_bytes());
            }
            match workload.definition() {
                Some(definition) => suite.rounds(workload, &definition, &data)?,
                None => suite.recovery(workload)?,
            }
        }
    }
    suite.progress("done");
    Ok(suite.report)
}

struct Suite<'a> {
    options: &'a Options,
    places: Places,
    seed: u64,
    engines: Vec<Entry>,
    report: Report,
    started: Instant,
}

/// Turns of one engine, by the number of threads.
type Turns = Vec<Vec<Turn>>;

impl Suite<'_> {
    fn progress(&self, what: &str) {
        eprintln!("[{:>4} s] {what}", self.started.elapsed().as_secs());
    }

    fn rounds(&mut self, workload: Workload, definition: &Definition, data: &Dataset) -> Result<()> {
        let name = workload.name();
        let settings = definition.settings;
        let engines = self.fit(name, |engine| (engine.unfit)(settings));
        self.progress(&format!("{name}: loading {} records", data.stored.len()));
        let mut contestants = Vec::with_capacity(engines.len());
        for engine in &engines {
            contestants.push((engine.enter)(&self.places.fresh(name, engine.name)?, definition.settings, data)?);
        }
        if settings.level == Level::Disk {
            self.fdatasync_rate(name)?;
        }
        let mut ledger = Ledger::new(data);
        let turns = self.turns(workload, definition, data, &contestants, &mut ledger)?;
        self.progress(&format!("{name}: comparing all content"));
        for (engine, contestant) in engines.iter().zip(contestants) {
            contestant.verify(&ledger, data, definition, name)?;
            if workload.reports_space() {
                let space = mebibytes(contestant.disk_bytes()?);
                self.amount(name, format!("{}, space on the disk", engine.name), space, "MiB");
            }
            contestant.close()?;
        }
        self.places.remove(name)?;
        let names: Vec<&'static str> = engines.iter().map(|engine| engine.name).collect();
        self.report_turns(workload, definition, data, &names, turns);
        Ok(())
    }

    /// The engines that `unfit` has nothing against; the others are noted.
    fn fit(&mut self, name: &'static str, unfit: impl Fn(&Entry) -> Option<&'static str>) -> Vec<Entry> {
        let mut fit = Vec::with_capacity(self.engines.len());
        for engine in &self.engines {
            match unfit(engine) {
                None => fit.push(*engine),
                Some(reason) => self.report.notes.push(format!("{name} without {}: {reason}", engine.name)),
            }
        }
        fit
    }

    /// Lets every contestant have its turns in each round.
    fn turns(
        &self,
        workload: Workload,
        definition: &Definition,
        data: &Dataset,
        contestants: &[Box<dyn Contestant>],
        ledger: &mut Ledger,
    ) -> Result<Vec<Turns>> {
        let transactions = workload.transactions(self.options.quick);
        let empty = || definition.threads.iter().map(|_| Vec::new()).collect::<Turns>();
        let mut turns: Vec<Turns> = contestants.iter().map(|_| empty()).collect();
        for round in 0..self.options.rounds {
            for (part, &threads) in definition.threads.iter().enumerate() {
                let stream = mix(workload as u64) ^ (round * definition.threads.len() + part) as u64;
                let mut random = Random::new(self.seed, stream);
                let scripts = script::draw(data, ledger, definition, (transactions, threads), &mut random);
                for engine in order(round, contestants.len()) {
                    warm_memory(self.warm_bytes(data, transactions * definition.per_transaction));
                    turns[engine][part].push(contestants[engine].turn(&scripts, definition)?);
                }
            }
        }
        Ok(turns)
    }

    /// What a turn may take up: the file grown to twice its content, and log and memory with every put once.
    fn warm_bytes(&self, data: &Dataset, puts: usize) -> u64 {
        let bytes = 2 * data.content_bytes() + 2 * puts as u64 * (data.key_bytes() + data.values.length() as u64);
        if self.options.quick { 0 } else { bytes }
    }

    fn report_turns(
        &mut self,
        workload: Workload,
        definition: &Definition,
        data: &Dataset,
        names: &[&'static str],
        turns: Vec<Turns>,
    ) {
        let name = workload.name();
        for (engine, turns) in names.iter().zip(&turns) {
            if definition.transaction == Transaction::Serializable {
                for (threads, turns) in definition.threads.iter().zip(turns).filter(|(threads, _)| **threads > 1) {
                    let title = format!("{engine}, {threads} threads, transactions refused and begun again");
                    self.amount(name, title, refused_percent(turns), "%");
                }
            }
            if definition.transaction == Transaction::Batch {
                let samples: Vec<Sample> = turns[0].iter().map(|turn| turn.sample.clone()).collect();
                let put_ns = cpu_ns(&samples) / definition.per_transaction as f64;
                self.amount(name, (*engine).to_owned(), put_ns, CPU_PER_PUT);
            }
            if let Some(commits) = commits_per_flush(&turns[0]) {
                self.amount(name, (*engine).to_owned(), commits, COMMITS_PER_FLUSH);
            }
            if let [alone, together] = &turns[..] {
                self.amount(name, (*engine).to_owned(), speed_up(alone, together), SPEED_UP);
            }
        }
        for (part, &threads) in definition.threads.iter().enumerate() {
            let of = |turns: &Turns| turns[part].iter().map(|turn| turn.sample.clone()).collect();
            let entries = names.iter().zip(&turns).map(|(engine, turns)| (*engine, of(turns))).collect();
            self.add(Contest { suite: SUITE, threads, ..Contest::new(name, data, entries) });
        }
    }

    /// Adds a result and shows it.
    fn add(&mut self, contest: Contest) {
        let shown = |(engine, samples): &(&str, Vec<Sample>)| format!("{engine} {:.0} ns", cpu_ns(samples));
        let times: Vec<String> = contest.entries.iter().map(shown).collect();
        let (name, threads) = (contest.workload, contest.threads);
        self.progress(&format!("  {name}, threads: {threads}: {}: {:.2} ×", times.join(", "), contest.ratio()));
        self.report.contests.push(contest);
    }

    fn amount(&mut self, workload: &'static str, data: String, value: f64, unit: &'static str) {
        self.report.amounts.push(Amount { workload, data, value, rival: None, unit });
    }

    /// How often a second the disk takes a small write by itself: what a commit at `Disk` without company can reach.
    fn fdatasync_rate(&mut self, name: &'static str) -> Result<()> {
        const WRITE: [u8; 512] = [1; 512];
        const FILE_WRITES: u64 = 2048;
        const SPAN: Duration = Duration::from_millis(500);
        let path = self.places.path().join("fdatasync");
        let io = |error| Error::io("sync", &path, error);
        let file = File::create(&path).map_err(io)?;
        file.write_all_at(&[0; WRITE.len() * FILE_WRITES as usize], 0).map_err(io)?;
        file.sync_all().map_err(io)?;
        let started = Instant::now();
        let mut syncs = 0;
        while started.elapsed() < SPAN {
            file.write_all_at(&WRITE, syncs % FILE_WRITES * WRITE.len() as u64).map_err(io)?;
            file.sync_data().map_err(io)?;
            syncs += 1;
        }
        let rate = syncs as f64 / started.elapsed().as_secs_f64();
        std::fs::remove_file(&path).map_err(io)?;
        self.amount(name, "fdatasync after a write of 512 bytes, by this machine".to_owned(), rate, "a second");
        Ok(())
    }

    fn recovery(&mut self, workload: Workload) -> Result<()> {
        let name = workload.name();
        let full = workload.recovery_records().unwrap_or(0);
        let records = if self.options.quick { RECOVERY_RECORDS_QUICK } else { full };
        let settings = Settings { level: Level::Log, usage: Usage::SingleOperations };
        let engines = self.fit(name, |engine| match engine.has_log {
            true => (engine.unfit)(settings),
            false => Some("it has no log to recover from"),
        });
        self.progress(&format!(
            "{name}: {records} records of 144 bytes in the log, a kill, {} openings",
            self.options.rounds
        ));
        let entries = kills::rounds(&self.places, &engines, name, records, self.options.rounds)?;
        for (engine, samples) in &entries {
            let wall: Vec<f64> = samples.iter().map(|sample| sample.wall_ns / 1e6).collect();
            self.amount(name, format!("{engine}, wall time"), median(&wall), WALL);
            self.amount(name, format!("{engine}, processor time"), cpu_ns(samples) / 1e6, CPU);
        }
        self.add(Contest {
            suite: SUITE,
            workload: name,
            threads: 1,
            shape: Shape::Hashed.name(),
            records: records as u64,
            key_bytes: KEY_BYTES as u64,
            value_bytes: VALUE_BYTES as u64,
            entries,
        });
        Ok(())
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Attempts that were refused, in a hundred.
fn refused_percent(turns: &[Turn]) -> f64 {
    let refused: u64 = turns.iter().map(|turn| turn.refused).sum();
    let committed: u64 = turns.iter().map(|turn| turn.sample.operations).sum();
    100.0 * refused as f64 / (refused + committed) as f64
}

/// The median over the rounds, where the engine counts.
fn commits_per_flush(turns: &[Turn]) -> Option<f64> {
    let of = |turn: &Turn| Some(turn.sample.operations as f64 / turn.flushes? as f64);
    Some(median(&turns.iter().map(of).collect::<Option<Vec<f64>>>()?))
}

/// The median over the rounds of the rate of several threads by that of one.
fn speed_up(alone: &[Turn], together: &[Turn]) -> f64 {
    let rate = |turn: &Turn| turn.sample.operations_per_second();
    median(&alone.iter().zip(together).map(|(one, two)| rate(two) / rate(one)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::Lmdb;

    use super::*;
    use crate::engines::fulgurite::Fulgurite;
    use crate::engines::planted::writing::{
        INVENTED_RECORD, LOST_PUT, LOST_UPDATE, NO_FAULT, Planted, TORN_TRANSACTION, WRONG_GET,
    };
    use crate::suites::writers::contestant::entry;

    fn quick(engines: &[Entry], workloads: &[Workload]) -> Result<Report> {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { quick: true, rounds: 2, only: workloads.to_vec(), ..Options::default() };
        run_with(engines, &options, directory.path(), 7)
    }

    fn in_rounds() -> Vec<Workload> {
        Workload::ALL.into_iter().filter(|workload| workload.definition().is_some()).collect()
    }

    #[test]
    fn every_workload_runs_with_the_engines_that_are_always_there() {
        let report = quick(&[entry::<Fulgurite>(), entry::<Lmdb>()], &in_rounds()).unwrap();
        let has = |name: &str, unit: &str| report.amounts.iter().any(|a| a.workload == name && a.unit == unit);
        assert_eq!(report.contests.len(), 21);
        assert!(report.contests.iter().all(|contest| contest.entries.iter().all(|(_, samples)| samples.len() == 2)));
        assert!(has("sync8", COMMITS_PER_FLUSH) && has("two_put1", SPEED_UP) && has("two_overlap", "%"));
        assert!(has("batch_1000", CPU_PER_PUT) && has("batch_10000", CPU_PER_PUT));
        assert!(
            report.notes.iter().any(|note| note == "put1_memory without lmdb: it has no level of its own like Memory")
        );
        let line = "{\"suite\":\"writers\",\"workload\":\"sync8\",\"shape\":\"hashed\",\"engine\":\"lmdb\"";
        assert!(report.json().lines().any(|found| found.starts_with(line) && found.contains("\"threads\":8,")));
    }

    #[test]
    fn an_engine_that_is_missing_is_named_with_what_would_help() {
        let absent = Entry { missing: || Some("install it".to_owned()), ..entry::<Lmdb>() };
        let report = quick(&[entry::<Fulgurite>(), absent], &[Workload::Bank]).unwrap();
        assert_eq!(report.notes, ["lmdb was not measured: install it"]);
        assert_eq!(report.contests[0].entries.len(), 1);
    }

    /// Names of the workloads that do not notice what is wrong with this engine.
    fn passed(engine: Entry) -> Vec<&'static str> {
        let passes = |workload: &Workload| match quick(&[engine], &[*workload]) {
            Ok(_) => true,
            Err(Error::Wrong { .. }) => false,
            Err(error) => panic!("{error}"),
        };
        in_rounds().iter().filter(|workload| passes(workload)).map(|workload| workload.name()).collect()
    }

    #[test]
    fn an_engine_without_fault_passes() {
        assert_eq!(passed(entry::<Planted<NO_FAULT>>()).len(), in_rounds().len());
    }

    #[test]
    fn one_lost_put_is_caught() {
        assert!(passed(entry::<Planted<LOST_PUT>>()).is_empty());
    }

    #[test]
    fn a_wrong_get_is_caught() {
        assert!(passed(entry::<Planted<WRONG_GET>>()).is_empty());
    }

    #[test]
    fn an_invented_record_is_caught() {
        assert!(passed(entry::<Planted<INVENTED_RECORD>>()).is_empty());
    }

    #[test]
    fn a_lost_update_and_half_a_transaction_are_caught_where_there_are_such() {
        let not_found_by = passed(entry::<Planted<LOST_UPDATE>>());
        assert!(!not_found_by.contains(&"bank") && !not_found_by.contains(&"two_overlap"));
        let not_found_by = passed(entry::<Planted<TORN_TRANSACTION>>());
        for name in ["bank", "txn5", "two_txn5", "two_overlap"] {
            assert!(!not_found_by.contains(&name), "{name}");
        }
    }
}
