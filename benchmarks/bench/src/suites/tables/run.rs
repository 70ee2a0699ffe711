//! Runs a suite of tables: in every round each engine does each workload in its own process and a fresh directory;
//! the starting engine rotates.

use std::path::Path;
use std::time::{Duration, Instant};

use fulgurite_rivals::Settings;

use crate::data::random::mix;
use crate::engines::known::{self, Engine, EngineNote};
use crate::error::Result;
use crate::harness::arguments::Options;
use crate::harness::report::Report;
use crate::harness::row::Row;
use crate::measure::machine;
use crate::measure::places::Places;
use crate::measure::rounds::order;
use crate::suites::tables::definition::{Definition, Kind, TableSuite};
use crate::suites::tables::engine::{Entry, entries};
use crate::suites::tables::meter::timer_ns;
use crate::suites::tables::process::{Runner, spawn};
use crate::suites::tables::ranking;
use crate::suites::tables::task::Task;

/// Of the machine's memory, an engine's own caches may hold so much, but not more than [`CACHE_BYTES_MAX`].
const CACHE_SHARE: u64 = 6;

/// All data of these suites fits in.
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// Runs what the options want.
pub fn run(tables: &TableSuite, options: &Options<&'static str>, directory: &Path, seed: u64) -> Result<Report> {
    let wanted: Vec<Entry> = entries().into_iter().filter(|entry| options.wants_engine(entry.engine.name)).collect();
    run_with(&wanted, spawn, tables, options, directory, seed)
}

/// The same with these engines.
pub fn run_with(
    engines: &[Entry],
    runner: Runner,
    tables: &TableSuite,
    options: &Options<&'static str>,
    directory: &Path,
    seed: u64,
) -> Result<Report> {
    let mut report = Report::default();
    let present = known::present(engines, |entry| (entry.engine.name, (entry.engine.missing)()), &mut report.notes);
    report.notes.iter().for_each(|note| eprintln!("{note}"));
    known::refuse_none(&present, &report.notes)?;
    let places = Places::new(directory, options.keep)?;
    let cache_bytes = (machine::memory_bytes() / CACHE_SHARE).min(CACHE_BYTES_MAX);
    let definitions: Vec<&Definition> =
        tables.definitions.iter().filter(|definition| options.wants(&definition.name)).collect();
    let turns = definitions.len() * options.rounds * present.len();
    let mut run =
        Run { tables, options, places, seed, runner, cache_bytes, turns, done: 0, report, started: Instant::now() };
    let present = run.at_the_level(present, &definitions);
    run.name_engines(&present);
    for definition in definitions {
        run.workload(definition, &present)?;
    }
    run.report
        .notes
        .push(format!("one reading of the clock, which every latency has in it, takes {:.0} ns", timer_ns()));
    run.report.notes.extend(ranking::notes(&run.report.rows));
    run.progress("done");
    Ok(run.report)
}

struct Run<'a> {
    tables: &'a TableSuite,
    options: &'a Options<&'static str>,
    places: Places,
    seed: u64,
    runner: Runner,
    cache_bytes: u64,
    /// Turns of all engines, and those that are done or left out.
    turns: usize,
    done: usize,
    report: Report,
    started: Instant,
}

impl Run<'_> {
    /// Says what is done, after how long, and how long the rest takes if it takes as long as what is done.
    fn progress(&self, what: &str) {
        let elapsed = self.started.elapsed();
        let left = match self.done {
            0 => String::new(),
            done => {
                let left = elapsed.mul_f64((self.turns - done) as f64 / done as f64);
                format!(", {} s left", Duration::as_secs(&left))
            }
        };
        eprintln!("[{:>4} s{left}] {what}", elapsed.as_secs());
    }

    fn task(&self, definition: &Definition, round: usize, directory: &Path) -> Task {
        let place = self.tables.definitions.iter().position(|known| known.name == definition.name).unwrap_or(0);
        Task {
            suite: self.tables.name,
            definition: *definition,
            quick: self.options.quick,
            records: self.options.records,
            level: self.options.level,
            cache_bytes: self.cache_bytes,
            seed: self.seed ^ mix(mix(place as u64) ^ round as u64),
            directory: directory.to_owned(),
        }
    }

    fn settings(&self, definition: &Definition) -> Settings {
        self.task(definition, 0, Path::new("")).settings()
    }

    /// The engines that can do one of the workloads at their level; the others are noted.
    fn at_the_level(&mut self, present: Vec<Entry>, definitions: &[&Definition]) -> Vec<Entry> {
        let all = present.len();
        let mut fit = Vec::with_capacity(all);
        for entry in present {
            let settings = definitions.iter().map(|definition| self.settings(definition));
            let reasons: Option<Vec<_>> =
                settings.map(|settings| Some((settings.level.name(), (entry.engine.unfit)(settings)?))).collect();
            match reasons.as_deref() {
                Some([(level, reason), ..]) => {
                    self.note(format!("{} was not measured at {level}: {reason}", entry.engine.name));
                }
                _ => fit.push(entry),
            }
        }
        self.turns = self.turns.checked_div(all).unwrap_or(0) * fit.len();
        fit
    }

    fn note(&mut self, note: String) {
        eprintln!("{note}");
        self.report.notes.push(note);
    }

    /// Versions and settings of all engines.
    fn name_engines(&mut self, present: &[Entry]) {
        let settings = self.settings(&self.tables.definitions[0]);
        for Entry { engine, .. } in present {
            let (version, settings) = ((engine.version)(), (engine.describe)(settings));
            eprintln!("{} {version}: {settings}", engine.name);
            self.report.engines.push(EngineNote { name: engine.name, version, settings });
        }
    }

    fn workload(&mut self, definition: &Definition, present: &[Entry]) -> Result<()> {
        let mut rows: Vec<Row> = present.iter().map(|entry| self.row(definition, &entry.engine)).collect();
        if matches!(definition.kind, Kind::NotYet) {
            rows.truncate(1);
        }
        let fit: Vec<usize> = (0..rows.len()).filter(|&index| rows[index].left_out.is_none()).collect();
        self.done += (present.len() - fit.len()) * self.options.rounds;
        for round in 0..self.options.rounds {
            for turn in order(round, fit.len()) {
                let entry = &present[fit[turn]];
                let directory = self.places.fresh(definition.name, entry.engine.name)?;
                let figures = (self.runner)(entry, &self.task(definition, round, &directory))?;
                self.places.remove(definition.name)?;
                self.done += 1;
                let rate = figures.get("ops_per_s").unwrap_or(f64::NAN);
                self.progress(&format!(
                    "{}, round {}: {} {rate:.0} a second",
                    definition.name,
                    round + 1,
                    entry.engine.name
                ));
                rows[fit[turn]].rounds.push(figures);
            }
        }
        self.report.rows.extend(rows);
        Ok(())
    }

    /// What an engine will have done of a workload: nothing yet, or ever.
    fn row(&self, definition: &Definition, engine: &Engine) -> Row {
        let task = self.task(definition, 0, Path::new(""));
        let left_out = unfit(definition, engine, task.settings());
        if let Some(reason) = &left_out {
            eprintln!("{} without {}: {reason}", definition.name, engine.name);
        }
        Row {
            suite: self.tables.name,
            workload: definition.name,
            shape: definition.shape.name(),
            value_bytes: definition.lengths.mean(),
            claims: definition.claims,
            records: task.kind().extent().0,
            level: task.settings().level.name(),
            engine: engine.name,
            rounds: Vec::with_capacity(self.options.rounds),
            left_out,
        }
    }
}

/// Why an engine cannot do a workload.
fn unfit(definition: &Definition, engine: &Engine, settings: Settings) -> Option<String> {
    if matches!(definition.kind, Kind::NotYet) {
        return Some("not yet: nothing here compresses or encrypts".to_owned());
    }
    if let Some(reason) = (engine.unfit)(settings) {
        return Some(reason.to_owned());
    }
    if definition.kind.scans_back() && !engine.scans_back {
        return Some("it scans in rising order alone".to_owned());
    }
    let most = engine.value_bytes_max;
    (definition.lengths.max() > most).then(|| format!("its values have {most} bytes at most"))
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Level, Lmdb, Usage};

    use super::*;
    use crate::engines::fulgurite::Fulgurite;
    use crate::error::Error;
    use crate::suites::tables::engine::{entry, planted_for};
    use crate::suites::tables::{GEAFLOW, LIGHTNING, YCSB};

    const ALL: [TableSuite; 3] = [GEAFLOW, LIGHTNING, YCSB];

    fn quick(engines: &[Entry], tables: &TableSuite, only: &[&'static str]) -> Result<Report> {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { quick: true, only: only.to_vec(), records: Some(1000), ..Options::all(2) };
        run_with(engines, |entry, task| (entry.perform)(task), tables, &options, directory.path(), 7)
    }

    #[test]
    fn every_table_runs_with_the_engines_that_are_always_there() {
        for tables in &ALL {
            // Only the program itself can start processes of its own.
            let only: Vec<&str> =
                tables.definitions.iter().filter(|known| !known.kind.kills()).map(|known| known.name).collect();
            let report = quick(&[entry::<Fulgurite>(), entry::<Lmdb>()], tables, &only).unwrap();
            for row in &report.rows {
                let name = row.workload;
                if let Some(reason) = &row.left_out {
                    assert!(row.rounds.is_empty(), "{name}");
                    assert!(reason.contains("not yet") || row.level == "Memory" && row.engine == "lmdb", "{name}");
                    continue;
                }
                assert_eq!(row.rounds.len(), 2, "{name}");
                assert!(row.median("ops_per_s").is_some_and(|rate| rate > 0.0), "{name}");
                assert!(row.median("size_per_raw_byte").is_some_and(|times| times > 0.5), "{name}");
                let kind = tables.definitions.iter().find(|known| known.name == name).unwrap().kind;
                let timed = !matches!(kind, Kind::Checkpoint(_) | Kind::Growth(..) | Kind::BulkLoad(_));
                assert_eq!(row.median("p99.9_ns").is_some(), timed, "{name}");
            }
            let rows = |engine| report.rows.iter().filter(|row| row.engine == engine).count();
            let not_yet = tables.definitions.iter().filter(|known| matches!(known.kind, Kind::NotYet)).count();
            assert_eq!((rows("fulgurite"), rows("lmdb")), (only.len(), only.len() - not_yet));
            let versions: Vec<&str> = report.engines.iter().map(|note| note.name).collect();
            assert_eq!(versions, ["fulgurite", "lmdb"]);
            assert!(
                report.table().contains("one reading of the clock")
                    && report.json().lines().count() == report.rows.len()
            );
        }
    }

    #[test]
    fn what_is_missing_or_cannot_do_it_is_named() {
        let mut absent = entry::<Lmdb>();
        absent.engine.missing = || Some("install it".to_owned());
        let mut small = entry::<Lmdb>();
        small.engine.value_bytes_max = 50;
        let report = quick(&[entry::<Fulgurite>(), absent, small], &GEAFLOW, &["random_read"]).unwrap();
        assert_eq!(report.notes[0], "lmdb was not measured: install it");
        let reasons: Vec<Option<&str>> = report.rows.iter().map(|row| row.left_out.as_deref()).collect();
        assert_eq!(reasons, [None, Some("its values have 50 bytes at most")]);
        let mut rising = entry::<Lmdb>();
        rising.engine.scans_back = false;
        rising.engine.unfit = |settings| (settings.usage == Usage::Transactions).then_some("it has no transactions");
        let report = quick(&[rising], &LIGHTNING, &["scan_forward", "scan_reverse", "bank"]).unwrap();
        let reasons: Vec<Option<&str>> = report.rows.iter().map(|row| row.left_out.as_deref()).collect();
        assert_eq!(reasons, [None, Some("it scans in rising order alone"), Some("it has no transactions")]);
        assert_eq!(report.rows.iter().map(|row| row.rounds.len()).collect::<Vec<_>>(), [2, 0, 0]);
    }

    #[test]
    fn an_engine_that_has_no_such_level_is_named_once() {
        let directory = tempfile::tempdir().unwrap();
        let only = vec!["random_read", "random_write"];
        let options = Options { quick: true, only, level: Level::Memory, ..Options::all(1) };
        let engines = [entry::<Fulgurite>(), entry::<Lmdb>()];
        let here: Runner = |entry, task| (entry.perform)(task);
        let report = run_with(&engines, here, &GEAFLOW, &options, directory.path(), 7).unwrap();
        let notes: Vec<&String> = report.notes.iter().filter(|note| note.contains("lmdb")).collect();
        assert_eq!(notes, ["lmdb was not measured at Memory: it has no level of its own like Memory"]);
        assert_eq!((report.rows.len(), report.engines.len()), (2, 1));
    }

    #[test]
    fn a_right_engine_passes_and_every_planted_fault_is_found_by_every_workload() {
        for tables in &ALL {
            for definition in tables.definitions.iter().filter(|definition| definition.can_be_planted()) {
                let (right, faulty) = planted_for(definition.kind);
                quick(&[right], tables, &[definition.name]).unwrap();
                for entry in faulty {
                    let outcome = quick(&[entry], tables, &[definition.name]);
                    assert!(matches!(outcome, Err(Error::Wrong { .. })), "{} {}", definition.name, entry.engine.name);
                }
            }
        }
    }
}
