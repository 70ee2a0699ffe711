//! Runs a suite of tables: in every round each engine does each workload in a process of its own and a fresh directory; who begins
//! rotates.

use std::path::Path;
use std::time::{Duration, Instant};

use fulgurite_rivals::Settings;

use crate::arguments::Options;
use crate::engines;
use crate::error::Result;
use crate::machine;
use crate::places::Places;
use crate::random::mix;
use crate::report::{EngineNote, Report};
use crate::rounds::order;
use crate::tables::definition::Definition;
use crate::tables::engine::{Entry, entries};
use crate::tables::meter::timer_ns;
use crate::tables::row::{Figures, Row};
use crate::tables::task::{Runner, Task, spawn};

/// Of the machine's memory, an engine's own caches may hold so much, but not more than [`CACHE_BYTES_MAX`].
const CACHE_SHARE: u64 = 6;

/// All data of these suites fits in.
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// A suite: its name and its workloads, which the options name.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Its name.
    pub suite: &'static str,
    /// Its workloads.
    pub definitions: &'static [Definition],
}

/// Runs what the options want.
pub fn run(tables: Tables, options: &Options<&'static str>, directory: &Path, seed: u64) -> Result<Report> {
    let wanted: Vec<Entry> = entries().into_iter().filter(|entry| options.wants_engine(entry.engine.name)).collect();
    run_with(&wanted, spawn, tables, options, directory, seed)
}

/// The same with these engines.
pub fn run_with(
    engines: &[Entry],
    runner: Runner,
    tables: Tables,
    options: &Options<&'static str>,
    directory: &Path,
    seed: u64,
) -> Result<Report> {
    let mut report = Report::default();
    let present = engines::present(engines, |entry| (entry.engine.name, (entry.engine.missing)()), &mut report.notes);
    report.notes.iter().for_each(|note| eprintln!("{note}"));
    let places = Places::new(directory, options.keep)?;
    let cache_bytes = (machine::memory_bytes() / CACHE_SHARE).min(CACHE_BYTES_MAX);
    let definitions: Vec<&Definition> =
        tables.definitions.iter().filter(|definition| options.wants(&definition.name)).collect();
    let turns = definitions.len() * options.rounds * present.len();
    let mut run =
        Run { tables, options, places, seed, runner, cache_bytes, turns, done: 0, report, started: Instant::now() };
    let present = run.at_the_level(present);
    run.name_engines(&present);
    for definition in definitions {
        run.workload(definition, &present)?;
    }
    run.report
        .notes
        .push(format!("one reading of the clock, which every latency has in it, takes {:.0} ns", timer_ns()));
    run.progress("done");
    Ok(run.report)
}

struct Run<'a> {
    tables: Tables,
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
            suite: self.tables.suite,
            definition: *definition,
            quick: self.options.quick,
            records: self.options.records,
            level: self.options.level,
            cache_bytes: self.cache_bytes,
            seed: self.seed ^ mix(mix(place as u64) ^ round as u64),
            directory: directory.to_owned(),
        }
    }

    fn settings(&self) -> Settings {
        self.task(&self.tables.definitions[0], 0, Path::new("")).settings()
    }

    /// The engines that have the level that is asked for; the others are noted.
    fn at_the_level(&mut self, present: Vec<Entry>) -> Vec<Entry> {
        let (settings, all) = (self.settings(), present.len());
        let mut fit = Vec::with_capacity(all);
        for entry in present {
            match (entry.engine.unfit)(settings) {
                None => fit.push(entry),
                Some(reason) => {
                    let (name, level) = (entry.engine.name, settings.level.name());
                    self.note(format!("{name} was not measured at {level}: {reason}"));
                }
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
        let settings = self.settings();
        for Entry { engine, .. } in present {
            let (version, settings) = ((engine.version)(), (engine.describe)(settings));
            eprintln!("{} {version}: {settings}", engine.name);
            self.report.engines.push(EngineNote { name: engine.name, version, settings });
        }
    }

    fn workload(&mut self, definition: &Definition, present: &[Entry]) -> Result<()> {
        let task = self.task(definition, 0, Path::new(""));
        let fit = self.fit(definition, present);
        let mut rows: Vec<Vec<Figures>> = fit.iter().map(|_| Vec::new()).collect();
        for round in 0..self.options.rounds {
            for index in order(round, fit.len()) {
                let entry = &fit[index];
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
                rows[index].push(figures);
            }
        }
        let (records, level) = (task.kind().extent().0, self.options.level.name());
        for (entry, rounds) in fit.iter().zip(rows) {
            let (suite, engine) = (self.tables.suite, entry.engine.name);
            self.report.rows.push(Row { suite, definition: *definition, records, level, engine, rounds });
        }
        Ok(())
    }

    /// The engines whose values can be so long; the others are noted.
    fn fit(&mut self, definition: &Definition, present: &[Entry]) -> Vec<Entry> {
        let mut fit = Vec::with_capacity(present.len());
        for Entry { engine, perform } in present {
            if definition.value_bytes <= engine.value_bytes_max {
                fit.push(Entry { engine: *engine, perform: *perform });
                continue;
            }
            self.done += self.options.rounds;
            let (name, most) = (definition.name, engine.value_bytes_max);
            self.note(format!("{name} without {}: its values have {most} bytes at most", engine.name));
        }
        fit
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Level, Lmdb};

    use super::*;
    use crate::error::Error;
    use crate::fulgurite::Fulgurite;
    use crate::tables::definition::Kind;
    use crate::tables::engine::{entry, planted};
    use crate::tables::{geaflow, ycsb};

    fn quick(engines: &[Entry], tables: Tables, only: &[&'static str]) -> Result<Report> {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { quick: true, only: only.to_vec(), records: Some(1000), ..Options::all(2) };
        run_with(engines, |entry, task| (entry.perform)(task), tables, &options, directory.path(), 7)
    }

    #[test]
    fn every_table_runs_with_the_engines_that_are_always_there() {
        for tables in [geaflow::TABLES, ycsb::TABLES] {
            let report = quick(&[entry::<Fulgurite>(), entry::<Lmdb>()], tables, &[]).unwrap();
            assert_eq!(report.rows.len(), 2 * tables.definitions.len());
            for row in &report.rows {
                let name = row.definition.name;
                assert_eq!(row.rounds.len(), 2, "{name}");
                assert!(row.median("ops_per_s").is_some_and(|rate| rate > 0.0), "{name}");
                assert!(row.median("size_per_raw_byte").is_some_and(|times| times > 0.5), "{name}");
                let timed = matches!(row.definition.kind, Kind::Steps(_) | Kind::Memory(..) | Kind::Cycles(..));
                assert_eq!(row.median("p99.9_ns").is_some(), timed, "{name}");
            }
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
        let report = quick(&[entry::<Fulgurite>(), absent, small], geaflow::TABLES, &["random_read"]).unwrap();
        assert_eq!(report.notes[0], "lmdb was not measured: install it");
        assert_eq!(report.notes[1], "random_read without lmdb: its values have 50 bytes at most");
        assert_eq!(report.rows.len(), 1);
    }

    #[test]
    fn an_engine_that_has_no_such_level_is_named_once() {
        let directory = tempfile::tempdir().unwrap();
        let only = vec!["random_read", "random_write"];
        let options = Options { quick: true, only, level: Level::Memory, ..Options::all(1) };
        let engines = [entry::<Fulgurite>(), entry::<Lmdb>()];
        let here: Runner = |entry, task| (entry.perform)(task);
        let report = run_with(&engines, here, geaflow::TABLES, &options, directory.path(), 7).unwrap();
        let notes: Vec<&String> = report.notes.iter().filter(|note| note.contains("lmdb")).collect();
        assert_eq!(notes, ["lmdb was not measured at Memory: it has no level of its own like Memory"]);
        assert_eq!((report.rows.len(), report.engines.len()), (2, 1));
    }

    #[test]
    fn a_right_engine_passes_and_every_planted_fault_is_found_by_every_workload() {
        let [right, faulty @ ..] = planted();
        for tables in [geaflow::TABLES, ycsb::TABLES] {
            for definition in tables.definitions.iter().filter(|definition| definition.can_be_planted()) {
                quick(&[right], tables, &[definition.name]).unwrap();
                for entry in faulty {
                    let outcome = quick(&[entry], tables, &[definition.name]);
                    assert!(matches!(outcome, Err(Error::Wrong { .. })), "{} {}", definition.name, entry.engine.name);
                }
            }
        }
    }
}
