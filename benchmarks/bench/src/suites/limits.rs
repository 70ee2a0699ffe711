//! The suite `limits` as a command: its options, and its rounds, in which the measurements of a group take turns.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::floors::floor::{Floor, Group};
use crate::floors::probe::Setting;
use crate::floors::rounds::{Extent, probes, remarks, rows_of};
use crate::floors::row::digits;
use crate::harness::arguments::{self, Grammar};
use crate::harness::report::Report;
use crate::harness::suite::Suite;
use crate::measure::places::Places;

/// Options of `limits`.
pub type Options = arguments::Options<Floor>;

/// Rounds of each floor if nothing is said.
const ROUNDS: usize = 5;

/// What `limits --help` prints.
const HELP: &str = "\
Measures what this machine can do at best, whatever engine runs on it.

Usage: fulgurite-bench limits [OPTIONS]

Measures the floors of memory, page cache, disk and threads that explain what engines cost. Each figure is the median
of several rounds, with their spread. A floor that cannot be measured here is named, with the reason. Every other
suite measures six of the floors before and after its run. docs/internals/benchmarks.md says how each is measured.
Needs 3 GB of memory and 2 GB of disk, and takes a minute.

Options:
      --quick            Use short rounds and small arrays and files, to see that everything works
      --only FLOORS      Measure only these floors or groups, separated by commas (see below)
      --rounds NUMBER    Rounds of each floor; the median counts [default: 5]
      --seed NUMBER      Seed of the places in files, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each floor [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE, after a line about the machine
      --directory DIR    Where files go; use a real disk [default: target/bench]
      --keep             Keep the directory
  -h, --help             Print this

Groups: dependent, overlapped, bandwidth, faults, page_cache, disk, huge_pages, calls
";

/// The suite of the machine's floors.
#[derive(Debug)]
pub struct Limits;

impl Suite for Limits {
    type Workload = Floor;

    fn measures_floors(&self) -> bool {
        false
    }

    fn grammar(&self) -> Grammar<Floor> {
        let floors = Floor::ALL.map(Floor::name).to_vec();
        // There are no records, so their bounds are empty.
        Grammar { records: std::ops::RangeInclusive::new(1, 0), ..Grammar::new(HELP, floors, Floor::named, ROUNDS) }
    }

    fn run(&self, options: &Options, directory: &Path, seed: u64) -> Result<Report> {
        let places = Places::new(directory, options.keep)?;
        let (setting, remark) = Setting::fitting(places.path(), seed, if options.quick { QUICK } else { WHOLE });
        let mut report = Report { notes: remark.into_iter().collect(), ..Report::default() };
        let started = Instant::now();
        for group in Group::ALL {
            let wanted = |floor: Floor| floor.group() == group && options.wants(&floor);
            for row in rows_of(probes(&setting), options.rounds, wanted) {
                let (name, unit, elapsed) = (row.floor.name(), row.floor.unit(), started.elapsed().as_secs());
                let figure = row.median().map_or("none".to_owned(), |middle| format!("{} {unit}", digits(middle)));
                eprintln!("[{elapsed:>4} s] {name}: {figure}");
                report.floors.push(row);
            }
        }
        report.notes.extend(remarks(&report.floors));
        Ok(report)
    }

    fn judgement(&self, _options: &Options, report: &Report) -> (String, bool) {
        let measured = report.floors.iter().filter(|row| row.median().is_some()).count();
        (format!("limits: {measured} of {} floors measured\n", report.floors.len()), true)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::all(ROUNDS)
    }
}

/// Of a whole run.
const WHOLE: Extent = Extent { span: Duration::from_millis(200), memory_bytes: 1 << 30, file_bytes: 256 << 20 };

/// Of a quick one.
const QUICK: Extent = Extent { span: Duration::from_millis(5), memory_bytes: 64 << 20, file_bytes: 16 << 20 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::arguments::Wanted;
    use crate::harness::arguments::tests::{names_what_it_does_not_understand, parsed};

    #[test]
    fn options_are_read_and_groups_stand_for_their_floors() {
        let line = "--quick --only calls,fdatasync_p50 --rounds=2 --seed 7 --directory /d";
        let only = [Floor::SystemCall, Floor::Clock, Floor::SharedAdd, Floor::HandOver, Floor::WakeUp];
        let expected = Options {
            quick: true,
            only: [&only[..], &[Floor::FdatasyncP50]].concat(),
            rounds: 2,
            seed: Some(7),
            directory: Some("/d".into()),
            ..Options::default()
        };
        assert_eq!(parsed(&Limits, line).unwrap(), Wanted::Run(Box::new(expected)));
        assert_eq!(parsed(&Limits, "--only disk --help").unwrap(), Wanted::Help);
        let help = Limits.grammar().full_help();
        assert!(help.contains("overlapped_16_huge") && Group::ALL.iter().all(|group| HELP.contains(group.name())));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        names_what_it_does_not_understand(
            &Limits,
            &[
                ("--only swim", "`swim`"),
                ("--engines lmdb", "`--engines`"),
                ("--records 5", "`--records`"),
                ("--level disk", "`--level`"),
                ("--self-test", "`--self-test`"),
                ("--rounds many", "`many`"),
            ],
        );
    }

    #[test]
    fn every_floor_has_a_figure_that_can_be_or_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { quick: true, rounds: 2, ..Options::default() };
        let report = Limits.run(&options, directory.path(), 7).unwrap();
        assert_eq!(report.floors.iter().map(|row| row.floor).collect::<Vec<_>>(), Floor::ALL);
        for row in &report.floors {
            let name = row.floor.name();
            match row.median() {
                Some(middle) if row.floor.unit() == "%" => assert!((0.0..=100.0).contains(&middle), "{name}: {middle}"),
                Some(middle) => assert!(row.rounds.len() == 2 && middle > 0.0 && middle < 1e10, "{name}: {middle}"),
                None => assert!(report.notes.iter().any(|note| note.starts_with(name)), "{name} says nothing"),
            }
        }
        assert_eq!(report.json().lines().count(), Floor::ALL.len());
        assert_eq!(report.table().lines().filter(|line| line.starts_with("  ")).count(), Floor::ALL.len());
        assert!(Limits.judgement(&options, &report).1);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
