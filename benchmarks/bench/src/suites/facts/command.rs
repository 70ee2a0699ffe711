//! The command line of `glean`, and its parts one after the other.

use std::path::Path;

use fulgurite_facts::Backend;
use fulgurite_rivals::{Failure, Level, Settings, Usage};

use super::report::{Row, Table};
use super::workload::Workload;
use super::{browsing, images, query_rows, store_rows};
use crate::engines::known::{self, EngineNote};
use crate::error::Result;
use crate::harness::command_options::CommandOptions;
use crate::harness::report::Report;
use crate::measure::places::Places;

/// What `glean --help` prints.
const HELP: &str = "\
Measures databases of facts of fulgurite-facts beside its backend on LMDB, which has the tables of Glean's LMDB backend.

Usage: fulgurite-bench glean [OPTIONS]

Facts have keys of 37 bytes, written source file after source file in transactions of 10,000. Both stores are then made
as small as they can be, and read. The eleven queries of Glean's benchmark run over a database like the benchmark's, and
their results are counted. An index of code is written, listed file by file, and updated after one file has changed. An
image is compared with compact LMDB files in squashfs of mksquashfs. Without that program these bars are not measured,
and a whole run fails.

Times are processor time: of the process for writing and queries, of the thread for reading; complex-parallel and reads
of an image are wall time. Commits survive the process, not the machine.

Options:
      --facts N          Facts of the store [default: 2,000,000]
      --query-facts N    Facts of each kind beneath the queries [default: 10,000]
      --files N          Files of the index, of 50 lines each [default: 1,000]
      --rounds N         Rounds; the backends take turns in each, and medians are printed [default: 3]
      --quick            20,000 facts, few files and one round, to see that everything works; bars are not judged
      --seed NUMBER      Seed of the facts and questions, to repeat a run [default: from the clock]
      --json FILE        Also write the figures of all rounds to FILE, after a line about the machine and versions
      --directory DIR    Where files go; use a real disk [default: target/bench]
  -h, --help             Print this
";

struct Options {
    facts: u64,
    query_facts: u64,
    files: u64,
    rounds: usize,
    shared: CommandOptions,
}

/// Runs the command. Returns whether all bars are met.
///
/// # Errors
/// [`Error::Usage`](crate::error::Error::Usage); what a store or the disk reports; a wrong answer.
pub fn execute(arguments: Vec<String>) -> Result<bool> {
    let Some(options) = parse(arguments)? else {
        print!("{HELP}");
        return Ok(true);
    };
    let CommandOptions { quick, seed, .. } = &options.shared;
    let floors = options.shared.begin()?;
    let (mut is_met, mut report) = (true, Report { engines: engines(), ..Report::default() });
    let mut add = |title, records, rows: Vec<Row>, (ours, lmdb): (Figures, Figures)| {
        let table = Table { title, records, rows, ours, lmdb };
        is_met &= table.print();
        report.rows.extend(table.results());
    };
    let workload = Workload { facts: options.facts, seed: *seed };
    let measure = |backend, directory: &Path| store_rows::measure(backend, &workload, directory);
    add("facts", options.facts, store_rows::rows(), in_turns(&options, "facts", measure)?);
    let measure = |backend, directory: &Path| query_rows::measure(backend, options.query_facts, directory);
    add("queries", options.query_facts, query_rows::rows(), in_turns(&options, "queries", measure)?);
    let code = alone(&options, "index of code", |directory| browsing::measure(options.files, *seed, directory))?;
    add("index of code", options.files, browsing::rows(), (vec![code], Vec::new()));
    let (image, lmdb) = alone(&options, "image", |directory| images::measure(&workload, directory))?;
    add("image", options.facts, images::rows(), (vec![image], vec![lmdb]));
    if *quick {
        println!("glean: bars are judged in whole runs only");
    }
    options.shared.write(floors, report)?;
    Ok(is_met || *quick)
}

/// Versions of the engines beneath the backends.
fn engines() -> Vec<EngineNote> {
    let settings = Settings { level: Level::Log, usage: Usage::Transactions };
    let note = |note: EngineNote| EngineNote {
        settings: "as a backend of fulgurite-facts, commits at Log".to_owned(),
        ..note
    };
    known::notes(&["fulgurite", "lmdb"], settings).into_iter().map(note).collect()
}

fn parse(arguments: Vec<String>) -> Result<Option<Options>> {
    let (mut facts, mut query_facts, mut files, mut rounds) = (None, None, None, None);
    let shared = CommandOptions::parse(arguments, |name, value| {
        let place = match name {
            "--facts" => &mut facts,
            "--query-facts" => &mut query_facts,
            "--files" => &mut files,
            "--rounds" => &mut rounds,
            _ => return Ok(false),
        };
        *place = Some(value()?);
        Ok(true)
    })?;
    Ok(shared.map(|shared| {
        let or = |given: Option<u64>, quickly, usually| given.unwrap_or(if shared.quick { quickly } else { usually });
        Options {
            facts: or(facts, 20_000, 2_000_000),
            query_facts: or(query_facts, 300, 10_000),
            files: or(files, 40, 1_000),
            rounds: or(rounds, 1, 3) as usize,
            shared,
        }
    }))
}

/// The figures of each round.
type Figures = Vec<Vec<f64>>;

/// The figures of rounds, ours and LMDB's. The backend that begins changes from round to round.
fn in_turns(
    options: &Options,
    what: &'static str,
    mut measure: impl FnMut(Backend, &Path) -> Result<Vec<f64>, fulgurite_facts::Error>,
) -> Result<(Figures, Figures)> {
    let (mut ours, mut lmdb) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        eprintln!("{what}: round {} of {}", round + 1, options.rounds);
        let mut backends = [Backend::Fulgurite, Backend::Lmdb];
        backends.rotate_left(round % 2);
        for backend in backends {
            let figures = alone(options, what, |directory| measure(backend, directory))?;
            if backend == Backend::Fulgurite { ours.push(figures) } else { lmdb.push(figures) }
        }
    }
    Ok((ours, lmdb))
}

/// What is measured in a fresh directory, which is removed afterwards.
fn alone<T, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    options: &Options,
    what: &'static str,
    measure: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<T> {
    let places = Places::new(&options.shared.directory, false)?;
    measure(places.path()).map_err(|error| Failure::new("facts", what, error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read_and_what_is_not_understood_is_named() {
        let options = parse(words("--facts 7 --seed=3 --directory /d --quick --rounds 2")).unwrap().unwrap();
        assert!(options.facts == 7 && options.shared.seed == 3 && options.shared.quick && options.rounds == 2);
        assert!(parse(words("--quick --help")).unwrap().is_none());
        for (line, expected) in [("--swim", "`--swim`"), ("--seed", "--seed"), ("--facts 0", "`0`")] {
            let error = parse(words(line)).err().expect(line).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_quick_run_measures_everything() {
        let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let json = other.path().join("glean.jsonl");
        // The user's own folder.
        std::fs::create_dir(directory.path().join("glean")).unwrap();
        let line = format!(
            "--quick --seed 5 --facts 3000 --query-facts 60 --files 12 --directory {} --json {}",
            directory.path().display(),
            json.display()
        );
        assert!(execute(words(&line)).unwrap());
        let left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["glean"]);
        let lines = std::fs::read_to_string(json).unwrap();
        assert!(lines.starts_with("{\"machine\":"), "{lines}");
        for (table, engines) in [("facts", 2), ("queries", 2), ("index of code", 1), ("image", 2)] {
            assert_eq!(lines.matches(&format!("{{\"rounds_of\":\"{table}\"")).count(), engines, "{lines}");
        }
    }
}
