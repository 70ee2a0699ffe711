//! The command `glean`: a store of facts beside one on LMDB that is laid out as Glean's.

mod contenders;
mod workload;

use std::path::{Path, PathBuf};

use fulgurite_rivals::{Failure, LmdbFacts};

use crate::data::random::Random;
use crate::error::{Error, Result};
use crate::floors::around::Floors;
use crate::harness::command_options::CommandOptions;
use crate::measure::clock::{Charge, Stopwatch};
use crate::measure::machine;
use crate::measure::statistics::median;
use contenders::{Contender, Failed, FulguriteFacts, NewFact, Reads};
use workload::{FIRST_PREDICATE, PREDICATES, Workload};

/// What `glean --help` prints.
const HELP: &str = "\
Measures a store of facts of fulgurite-facts beside one on LMDB, which has the tables of Glean's LMDB backend.

Usage: fulgurite-bench glean [OPTIONS]

Facts have keys of 37 bytes, written source file after source file in transactions of 10,000. Both stores are then made
as small as they can be, and read. Times are processor time: of the process for writing, of the thread for reading.
Commits survive the process, not the machine.

Options:
      --facts N          Facts [default: 2000000]
      --rounds N         Rounds; the stores take turns in each, and medians are printed [default: 3]
      --quick            20,000 facts and one round, to see that everything works; bars are not judged
      --seed NUMBER      Seed of the facts and questions, to repeat a run [default: from the clock]
      --directory DIR    Where files go; use a real disk [default: target/bench]
  -h, --help             Print this
";

struct Options {
    facts: u64,
    rounds: usize,
    quick: bool,
    seed: u64,
    directory: PathBuf,
}

/// What is measured, in the order of [`measure`]'s results.
struct Row {
    name: &'static str,
    /// What Glean's own storage took on LMDB, for readers of the report.
    glean: f64,
    /// At most this much.
    bar: f64,
    /// At least so many times less than LMDB in this run.
    factor: f64,
}

const ROWS: &[Row] = &[
    Row { name: "define and commit, µs a fact", glean: 3.81, bar: 1.3, factor: 2.5 },
    Row { name: "complete, µs a fact", glean: f64::NAN, bar: f64::INFINITY, factor: 0.0 },
    Row { name: "id by key, µs", glean: 2.78, bar: 0.5, factor: 2.5 },
    Row { name: "fact by id, µs", glean: 1.47, bar: 0.4, factor: 2.5 },
    Row { name: "seek of 12 bytes, first fact, µs", glean: 2.87, bar: 0.7, factor: 2.5 },
    Row { name: "scan of keys and values, µs a fact", glean: 1.42, bar: 0.06, factor: 2.5 },
    Row { name: "bytes a fact on disk", glean: 262.0, bar: 75.0, factor: 1.0 },
    Row { name: "backup, µs a fact", glean: f64::NAN, bar: f64::INFINITY, factor: 2.0 },
];

/// Facts of a transaction.
const BATCH: u64 = 10_000;
/// Questions of each kind, at most.
const QUESTIONS: u64 = 200_000;

/// Runs the command. Returns whether all bars are met.
///
/// # Errors
/// [`Error::Usage`]; what a store or the disk reports.
pub fn execute(arguments: Vec<String>) -> Result<bool> {
    let Some(options) = parse(arguments)? else {
        print!("{HELP}");
        return Ok(true);
    };
    eprintln!("{}; {} facts, --seed {}", machine::summary(None), options.facts, options.seed);
    let floors = Floors::measure(&options.directory, options.seed, options.quick);
    eprintln!("limits: {}", floors.in_words());
    let (mut ours, mut lmdb) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        let mut turns: [&mut dyn FnMut() -> Result<()>; 2] =
            [&mut || run::<FulguriteFacts>(&options).map(|figures| ours.push(figures)), &mut || {
                run::<LmdbFacts>(&options).map(|figures| lmdb.push(figures))
            }];
        turns.rotate_left(round % 2);
        turns.iter_mut().try_for_each(|turn| turn())?;
    }
    let is_met = report(&ours, &lmdb);
    if options.quick {
        println!("glean: bars are judged in whole runs only");
    }
    Ok(is_met || options.quick)
}

fn parse(arguments: Vec<String>) -> Result<Option<Options>> {
    let (mut facts, mut rounds) = (None, None);
    let shared = CommandOptions::parse(arguments, |name, value| {
        match name {
            "--facts" => facts = Some(value()?),
            "--rounds" => rounds = Some(value()? as usize),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(shared.map(|CommandOptions { quick, seed, directory }| {
        let (usual_facts, usual_rounds) = if quick { (20_000, 1) } else { (2_000_000, 3) };
        let (facts, rounds) = (facts.unwrap_or(usual_facts), rounds.unwrap_or(usual_rounds));
        Options { facts, rounds, quick, seed, directory }
    }))
}

/// One store in a fresh directory, which is removed afterwards.
fn run<C: Contender>(options: &Options) -> Result<Vec<f64>> {
    let directory = options.directory.join("glean");
    // Of an earlier run.
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).map_err(|error| Error::io("create", &directory, error))?;
    let measured = measure::<C>(options, &directory).map_err(|error| Failure::new(C::NAME, "glean", error).into());
    let _ = std::fs::remove_dir_all(&directory);
    measured
}

/// The figures of one store, a figure for each of [`ROWS`].
fn measure<C: Contender>(options: &Options, directory: &Path) -> Result<Vec<f64>, Failed> {
    let workload = Workload { facts: options.facts, seed: options.seed };
    let store = C::create(directory)?;
    let define = define(&store, &workload)?;
    let watch = Stopwatch::start(Charge::Process);
    let (store, file) = store.finish(directory)?;
    let complete = watch.pause(workload.facts).cpu_ns_per_operation() / 1e3;
    let mut figures = vec![define, complete];
    figures.extend(read(&store.reader()?, &workload)?);
    figures.push(std::fs::metadata(&file)?.len() as f64 / workload.facts as f64);
    let watch = Stopwatch::start(Charge::Process);
    store.back_up(&directory.join("backup"))?;
    figures.push(watch.pause(workload.facts).cpu_ns_per_operation() / 1e3);
    Ok(figures)
}

/// Writes all facts. Returns microseconds a fact, without those of making them.
fn define(store: &impl Contender, workload: &Workload) -> Result<f64, Failed> {
    let mut cpu_ns = 0.0;
    let mut keys = vec![Vec::new(); BATCH as usize];
    for from in (0..workload.facts).step_by(BATCH as usize) {
        let count = BATCH.min(workload.facts - from);
        let facts: Vec<NewFact<'_>> = (from..from + count)
            .zip(&mut keys)
            .map(|(number, key)| {
                let (predicate, value) = workload.fact(number, key);
                (predicate, key.as_slice(), value)
            })
            .collect();
        let watch = Stopwatch::start(Charge::Process);
        store.add(&facts)?;
        cpu_ns += watch.pause(count).cpu_ns;
    }
    Ok(cpu_ns / 1e3 / workload.facts as f64)
}

/// Microseconds of an id by key, a fact by id, a seek, and a fact of a scan.
fn read(reader: &impl Reads, workload: &Workload) -> Result<[f64; 4], Failed> {
    let mut random = Random::new(workload.seed, 1);
    let questions = QUESTIONS.min(workload.facts);
    let asked: Vec<(u64, Vec<u8>)> = (0..questions)
        .map(|_| {
            let mut key = Vec::new();
            let (predicate, _) = workload.fact(workload.pick(&mut random), &mut key);
            (predicate, key)
        })
        .collect();
    let mut sum = 0;
    let watch = Stopwatch::start(Charge::Thread);
    for (predicate, key) in &asked {
        sum ^= reader.id_by_key(*predicate, key)?.ok_or("a fact is not found by its key")?;
    }
    let by_key = watch.pause(questions).cpu_ns_per_operation();
    let ids: Vec<u64> = (0..questions).map(|_| FIRST_ID + workload.pick(&mut random)).collect();
    let watch = Stopwatch::start(Charge::Thread);
    for id in ids {
        sum ^= reader.fact_bytes(id)?.ok_or("a fact is not found by its id")? as u64;
    }
    let by_id = watch.pause(questions).cpu_ns_per_operation();
    let watch = Stopwatch::start(Charge::Thread);
    for (predicate, key) in &asked {
        let (found, bytes) = reader.seek(*predicate, &key[..12], 1)?;
        if found != 1 {
            return Err("a seek finds nothing".into());
        }
        sum ^= bytes as u64;
    }
    let seek = watch.pause(questions).cpu_ns_per_operation();
    let watch = Stopwatch::start(Charge::Thread);
    let mut scanned = 0;
    for predicate in FIRST_PREDICATE..FIRST_PREDICATE + PREDICATES {
        let (count, bytes) = reader.scan(predicate)?;
        scanned += count;
        sum ^= bytes as u64;
    }
    let scan = watch.pause(scanned).cpu_ns_per_operation();
    if scanned != workload.facts {
        return Err(format!("a scan finds {scanned} facts of {}", workload.facts).into());
    }
    std::hint::black_box(sum);
    Ok([by_key, by_id, seek, scan].map(|ns| ns / 1e3))
}

/// The id of the first fact.
const FIRST_ID: u64 = 1024;

/// Prints the medians of rounds beside each other. Returns whether all bars are met.
fn report(ours: &[Vec<f64>], lmdb: &[Vec<f64>]) -> bool {
    println!("{:<36} {:>9} {:>9} {:>7}  {:>12}  bars", "", "fulgurite", "lmdb", "ratio", "Glean's LMDB");
    let of = |rounds: &[Vec<f64>], row: usize| median(&rounds.iter().map(|round| round[row]).collect::<Vec<_>>());
    let mut all = true;
    for (number, row) in ROWS.iter().enumerate() {
        let (ours, lmdb) = (of(ours, number), of(lmdb, number));
        let is_met = ours <= row.bar && lmdb >= ours * row.factor;
        all &= is_met;
        let glean = if row.glean.is_nan() { String::new() } else { row.glean.to_string() };
        let bars = [(row.bar.is_finite(), format!("≤ {}", row.bar)), (row.factor > 0.0, format!("≥ {} ×", row.factor))];
        let bars: Vec<String> = bars.into_iter().filter(|(is_set, _)| *is_set).map(|(_, text)| text).collect();
        let verdict = match (bars.is_empty(), is_met) {
            (true, _) => "",
            (_, true) => "met: ",
            (_, false) => "MISSED: ",
        };
        let (name, ratio) = (row.name, lmdb / ours);
        println!("{name:<36} {ours:>9.3} {lmdb:>9.3} {ratio:>6.2}×  {glean:>12}  {verdict}{}", bars.join(", "));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read() {
        let options = parse(words("--facts 7 --seed=3 --directory /d --quick --rounds 2")).unwrap().unwrap();
        assert!(options.facts == 7 && options.seed == 3 && options.quick && options.rounds == 2);
        assert!(parse(words("--quick --help")).unwrap().is_none());
    }

    #[test]
    fn a_quick_run_measures_everything() {
        let directory = tempfile::tempdir().unwrap();
        let line = format!("--quick --seed 5 --facts 3000 --directory {}", directory.path().display());
        assert!(execute(words(&line)).unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
