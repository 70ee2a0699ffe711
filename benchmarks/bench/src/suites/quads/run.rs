//! Runs the suite: generates the data, lets every engine load them in rounds, then read in rounds, and compares all
//! answers.
//!
//! Every measurement of every engine is a process of its own; the starting engine rotates from round to round. Reads
//! use the store of the last round of bulk loads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::engines::known;
use crate::engines::known::EngineNote;
use crate::error::Result;
use crate::harness::arguments::Options;
use crate::harness::contest::Contest;
use crate::harness::report::{Amount, Report};
use crate::measure::clock::Sample;
use crate::measure::places::Places;
use crate::measure::rounds::order;
use crate::measure::space::bytes_below;
use crate::measure::statistics::median;
use crate::measure::warm::warm_memory;
use crate::suites::quads::answer::{Line, Sum, difference};
use crate::suites::quads::data::files::Files;
use crate::suites::quads::data::queries::QUERIES;
use crate::suites::quads::engines::engine::ENGINE_NAMES;
use crate::suites::quads::entries::{Entry, entries};
use crate::suites::quads::measure::{BULK_LOAD_DEFAULT, Measure, SPACE, SPACE_OF_TRANSACTIONS, SUITE};
use crate::suites::quads::process::spawn;
use crate::suites::quads::task::Task;

/// Statements if nothing is said, and of a quick run.
const STATEMENTS: [u64; 2] = [1_000_000, 20_000];

/// What a pass lasts at least, in milliseconds: usually, and in a quick run.
const MILLISECONDS: [u64; 2] = [1000, 1];

/// What one pass of a query lasts at least: there are twenty.
const QUERY_MILLISECONDS: u64 = 400;

/// Memory that a load may take up for each statement, about: warmed before.
const WARM_BYTES: u64 = 200;

/// How many statements the options want.
pub fn statements(options: &Options<Measure>) -> u64 {
    options.records.map_or(STATEMENTS[usize::from(options.quick)], |records| records as u64)
}

/// Runs what the options want.
///
/// # Errors
/// Why it could not go on. Wrong answers are in the report.
pub fn run(options: &Options<Measure>, directory: &Path, seed: u64) -> Result<Report> {
    let wanted: Vec<Entry> = entries().into_iter().filter(|entry| options.wants_engine(entry.name)).collect();
    let mut report = Report::default();
    let present = known::present(&wanted, |entry| (entry.name, (entry.missing)()), &mut report.notes);
    report.notes.iter().for_each(|note| eprintln!("{note}"));
    known::refuse_none(&present, &report.notes)?;
    for entry in &present {
        let (version, settings) = (entry.describe)();
        eprintln!("{} {version}: {settings}", entry.name);
        report.notes.push(format!("{} {version}: {settings}", entry.name));
        report.engines.push(EngineNote { name: entry.name, version, settings });
    }
    let places = Places::new(directory, options.keep)?;
    let files = Files { directory: places.path().to_owned() };
    let mut run = Run {
        options,
        statements: statements(options),
        places,
        report,
        entries: present,
        stores: HashMap::new(),
        first_answers: HashMap::new(),
        started: Instant::now(),
    };
    let content = files.write(run.statements, seed)?;
    run.progress(&format!("{} statements made", content.rows));
    run.first_answers.insert(Measure::Verify.name().to_owned(), ("the file", content));
    run.loads()?;
    for measure in Measure::ALL {
        if !measure.loads() && options.wants(&measure) {
            run.rounds(measure)?;
        }
    }
    run.progress("done");
    Ok(run.report)
}

/// Whether an engine takes part: the default orders show only what loads cost, only one engine scans numbers, and one
/// differs from another only in its queries.
fn takes_part(name: &str, measure: Measure) -> bool {
    match measure {
        Measure::BulkLoad | Measure::Verify => true,
        Measure::ScanIds => name == ENGINE_NAMES[0],
        Measure::Sparql => name != ENGINE_NAMES[1],
        _ => name != ENGINE_NAMES[1] && name != ENGINE_NAMES[5],
    }
}

struct Run<'a> {
    options: &'a Options<Measure>,
    statements: u64,
    places: Places,
    report: Report,
    entries: Vec<Entry>,
    /// The store of each engine that is read.
    stores: HashMap<&'static str, PathBuf>,
    /// What was answered first to each question, and by whom.
    first_answers: HashMap<String, (&'static str, Sum)>,
    started: Instant,
}

/// Of each engine and each name of a sample the samples of all rounds.
type Samples = HashMap<String, Vec<(&'static str, Vec<Sample>)>>;

impl Run<'_> {
    fn progress(&self, what: &str) {
        eprintln!("[{:>4} s] {what}", self.started.elapsed().as_secs());
    }

    fn task(&self, measure: Measure, store: &Path) -> Task {
        let usual = if measure == Measure::Sparql { QUERY_MILLISECONDS } else { MILLISECONDS[0] };
        Task {
            measure,
            run: self.places.path().to_owned(),
            store: store.to_owned(),
            statements: self.statements,
            milliseconds: if self.options.quick { MILLISECONDS[1] } else { usual },
        }
    }

    /// Both kinds of load. That of the stores that are read is done once if it is not to be measured.
    fn loads(&mut self) -> Result<()> {
        let is_wanted = self.options.wants(&Measure::BulkLoad);
        let rounds = if is_wanted { self.options.rounds } else { 1 };
        self.load(Measure::BulkLoad, rounds, is_wanted)?;
        if self.options.wants(&Measure::TransactionalLoad) {
            self.load(Measure::TransactionalLoad, self.options.rounds, true)?;
            self.places.remove(Measure::TransactionalLoad.name())?;
        }
        Ok(())
    }

    fn load(&mut self, measure: Measure, rounds: usize, is_reported: bool) -> Result<()> {
        let name = measure.name();
        let entries: Vec<Entry> =
            self.entries.iter().copied().filter(|entry| takes_part(entry.name, measure)).collect();
        let mut samples = Samples::new();
        let mut amounts: HashMap<&'static str, [Vec<f64>; 2]> = HashMap::new();
        for round in 0..rounds {
            for index in order(round, entries.len()) {
                let entry = &entries[index];
                let store = self.places.fresh(name, entry.name)?;
                warm_memory(self.statements * WARM_BYTES);
                let lines = spawn(entry, &self.task(measure, &store))?;
                let amounts = amounts.entry(entry.name).or_default();
                amounts[0].push(bytes_below(&store)? as f64 / self.statements as f64);
                amounts[1].extend(lines.iter().filter_map(|line| match line {
                    Line::Amount(_, value) => Some(value / 1e9),
                    _ => None,
                }));
                self.take(measure, entry, lines, &mut samples);
                let verified = spawn(entry, &self.task(Measure::Verify, &store))?;
                self.take(measure, entry, verified, &mut samples);
                if measure == Measure::BulkLoad {
                    self.stores.insert(entry.name, store);
                }
            }
        }
        if is_reported {
            let space = if measure == Measure::BulkLoad { SPACE } else { SPACE_OF_TRANSACTIONS };
            for entry in &entries {
                let Some([bytes, memory]) = amounts.get(entry.name) else { continue };
                self.amount(space, entry.name, median(bytes), "bytes");
                self.amount(name, entry.name, median(memory), "GB of private memory at most");
            }
            self.contests(measure, samples);
        }
        Ok(())
    }

    fn rounds(&mut self, measure: Measure) -> Result<()> {
        let entries: Vec<Entry> =
            self.entries.iter().copied().filter(|entry| takes_part(entry.name, measure)).collect();
        let mut samples = Samples::new();
        for round in 0..self.options.rounds {
            for index in order(round, entries.len()) {
                let entry = &entries[index];
                let Some(store) = self.stores.get(entry.name) else { continue };
                let lines = spawn(entry, &self.task(measure, store))?;
                self.take(measure, entry, lines, &mut samples);
            }
        }
        if measure == Measure::Open {
            for (engine, rounds) in samples.get(measure.name()).into_iter().flatten() {
                let openings: Vec<f64> = rounds.iter().map(|sample| sample.p50_ns / 1e6).collect();
                self.report.amounts.push(amount(measure.name(), engine, median(&openings), "ms"));
            }
        }
        self.contests(measure, samples);
        Ok(())
    }

    /// Keeps the samples of a process, and compares its answers with those before.
    fn take(&mut self, measure: Measure, entry: &Entry, lines: Vec<Line>, samples: &mut Samples) {
        for line in lines {
            match line {
                Line::Sample(name, sample) => {
                    let name = if name == measure.verb() { measure.name().to_owned() } else { name };
                    if measure != Measure::Sparql {
                        let (engine, rate) = (entry.name, sample.operations_per_second());
                        let cpu = sample.cpu_ns_per_operation();
                        self.progress(&format!("{name}: {engine} {rate:.0} a second, {cpu:.0} ns of processor time"));
                    }
                    let of_name = samples.entry(name).or_default();
                    match of_name.iter_mut().find(|(engine, _)| *engine == entry.name) {
                        Some((_, rounds)) => rounds.push(sample),
                        None => of_name.push((entry.name, vec![sample])),
                    }
                }
                Line::Answer(name, sum) => self.compare(entry.name, name, sum),
                Line::Amount(..) | Line::Wrong(_) => {}
            }
        }
        if measure == Measure::Sparql {
            self.progress(&format!("sparql: {} has answered all queries", entry.name));
        }
    }

    fn compare(&mut self, engine: &'static str, name: String, sum: Sum) {
        let (first, expected) = *self.first_answers.entry(name.clone()).or_insert((engine, sum));
        if let Some(wrong) = difference(&name, (first, expected), (engine, sum)) {
            eprintln!("{wrong}");
            if !self.report.wrong.contains(&wrong) {
                self.report.wrong.push(wrong);
            }
        }
    }

    fn amount(&mut self, workload: &'static str, engine: &str, value: f64, unit: &'static str) {
        self.report.amounts.push(amount(workload, engine, value, unit));
    }

    /// A contest for each name of the measurement.
    fn contests(&mut self, measure: Measure, mut samples: Samples) {
        let names: Vec<&'static str> = match measure {
            Measure::Sparql => QUERIES.iter().map(|(name, _)| *name).collect(),
            other => vec![other.name()],
        };
        let records = self.statements;
        let contest = |workload, entries| Contest {
            suite: SUITE,
            workload,
            threads: measure.threads(),
            shape: "universities",
            records,
            key_bytes: 0,
            value_bytes: 0,
            entries,
        };
        for name in names {
            let Some(mut found) = samples.remove(name) else { continue };
            // Rotation may have let another one begin.
            found.sort_by_key(|(engine, _)| ENGINE_NAMES.iter().position(|known| known == engine));
            let (defaults, others): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|(engine, _)| *engine == ENGINE_NAMES[1]);
            if let Some(own) = defaults.into_iter().next() {
                let rivals = others.iter().filter(|(engine, _)| *engine != ENGINE_NAMES[0]).cloned();
                let entries = std::iter::once(own).chain(rivals).collect();
                self.report.contests.push(contest(BULK_LOAD_DEFAULT, entries));
            }
            if !others.is_empty() {
                self.report.contests.push(contest(name, others));
            }
        }
    }
}

fn amount(workload: &'static str, engine: &str, value: f64, unit: &'static str) -> Amount {
    Amount { workload, data: engine.to_owned(), value, rival: None, unit }
}
