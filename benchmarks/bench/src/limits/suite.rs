//! The suite `limits` as a command: its options, and its rounds, in which the measurements of a group take turns.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::arguments::{self, Grammar};
use crate::error::Result;
use crate::house::Suite;
use crate::limits::floor::{Floor, Group};
use crate::limits::probe::{Probe, Setting, processors};
use crate::limits::row::{Row, digits};
use crate::limits::{calls, files, memory};
use crate::machine::kibibytes_of;
use crate::places::Places;
use crate::report::Report;

/// Options of `limits`.
pub type Options = arguments::Options<Floor>;

/// Rounds of each floor if nothing is said.
const ROUNDS: usize = 5;

/// What `limits --help` prints.
const HELP: &str = "\
Measures what this machine can do at best, whatever engine runs on it.

Usage: fulgurite-bench limits [OPTIONS]

The floors of memory, page cache, disk and threads that explain what engines cost; the median of some
rounds with their spread. What cannot be had here is named, with the reason. Every other suite measures
six of them before and after its run. docs/internals/benchmarks.md says how each is measured. Needs 3 GB of memory
and 2 GB of disk, and takes a minute.

Options:
      --quick            Short rounds, small arrays and files: shows that everything works
      --only FLOORS      Only these floors, or groups of them, separated by commas (see below)
      --rounds NUMBER    Rounds of each floor; the median counts [default: 5]
      --seed NUMBER      Seed of the places in files, to repeat a run [default: from the clock]
      --format FORMAT    table, or json: one line for each floor [default: table]
      --out FILE         Also write the lines of JSON to FILE
      --json FILE        Also write them to FILE behind a line about the machine
      --directory DIR    Where files go; a real disk [default: target/bench]
      --keep             Leave the directory there
  -h, --help             Print this

Groups: dependent, overlapped, bandwidth, faults, page_cache, disk, huge_pages, calls
";

/// The suite of the machine's floors.
#[derive(Debug)]
pub struct Limits;

impl Suite for Limits {
    type Workload = Floor;

    const FLOORS_AROUND: bool = false;

    fn grammar() -> Grammar<Floor> {
        Grammar {
            help: HELP.to_owned(),
            workloads: Floor::ALL.map(Floor::name).to_vec(),
            named: Box::new(Floor::named),
            engines: &[],
            shapes: false,
            levels: false,
            self_test: false,
            statements: false,
            rounds: ROUNDS,
            records: std::ops::RangeInclusive::new(1, 0),
        }
    }

    fn run(options: &Options, directory: &Path, seed: u64) -> Result<Report> {
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

    fn judgement(_options: &Options, report: &Report) -> (String, bool) {
        let measured = report.floors.iter().filter(|row| row.median().is_some()).count();
        (format!("limits: {measured} of {} floors measured\n", report.floors.len()), true)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::all(ROUNDS)
    }
}

/// How long rounds are, and how large what they touch is, where there is room for it.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// What a round of a measurement lasts at least.
    pub span: Duration,
    /// Length of an array that no cache holds.
    pub memory_bytes: usize,
    /// Length of the files that are read and overwritten.
    pub file_bytes: usize,
}

/// Of a whole run.
const WHOLE: Extent = Extent { span: Duration::from_millis(200), memory_bytes: 1 << 30, file_bytes: 256 << 20 };

/// Of a quick one.
const QUICK: Extent = Extent { span: Duration::from_millis(5), memory_bytes: 64 << 20, file_bytes: 16 << 20 };

impl Setting {
    /// So much of this as the machine has room for, and a remark if that is less.
    pub fn fitting(directory: &Path, seed: u64, extent: Extent) -> (Self, Option<String>) {
        let available = kibibytes_of("/proc/meminfo", "MemAvailable") * 1024;
        let memory_bytes = fitting_bytes(extent.memory_bytes, available);
        let remark = (memory_bytes < extent.memory_bytes).then(|| {
            let (has, wanted) = (memory_bytes >> 20, extent.memory_bytes >> 20);
            format!("limits: arrays in memory have {has} MiB, not {wanted}: {} MiB are available", available >> 20)
        });
        let setting = Self {
            directory: directory.to_owned(),
            span: extent.span,
            memory_bytes,
            file_bytes: extent.file_bytes.min(memory_bytes),
            processors: processors(),
            seed,
        };
        (setting, remark)
    }
}

/// The largest power of two that is no more than `wanted` and leaves half of what is available, should there be two such arrays.
fn fitting_bytes(wanted: usize, available: u64) -> usize {
    const BYTES_MIN: usize = 16 << 20;
    let share = usize::try_from(available / 4).unwrap_or(usize::MAX).max(BYTES_MIN);
    wanted.min(1 << share.ilog2())
}

/// Every measurement.
pub fn probes(setting: &Setting) -> Vec<Probe> {
    [memory::probes(setting), files::probes(setting), calls::probes(setting)].into_iter().flatten().collect()
}

/// Measures the floors that are wanted, each `rounds` times, in turns. A measurement that cannot be had is not tried again.
pub fn rows_of(probes: Vec<Probe>, rounds: usize, wanted: impl Fn(Floor) -> bool) -> Vec<Row> {
    let mut running: Vec<(Probe, Vec<Row>)> = Vec::new();
    for probe in probes.into_iter().filter(|probe| probe.floors.iter().any(|floor| wanted(*floor))) {
        let row = |floor: &Floor| Row { floor: *floor, rounds: Vec::with_capacity(rounds), remark: None };
        let rows = probe.floors.iter().map(row).collect();
        running.push((probe, rows));
    }
    let mut lacking = vec![false; running.len()];
    for _ in 0..rounds {
        for ((probe, rows), lacking) in running.iter_mut().zip(&mut lacking).filter(|(_, lacking)| !**lacking) {
            match (probe.measure)() {
                Ok(round) => {
                    assert_eq!(round.values.len(), rows.len(), "a round has a figure for each floor");
                    for (row, value) in rows.iter_mut().zip(round.values) {
                        row.rounds.push(value);
                        row.remark.clone_from(&round.remark);
                    }
                }
                Err(lack) => {
                    *lacking = true;
                    rows.iter_mut().for_each(|row| row.remark = Some(lack.to_string()));
                }
            }
        }
    }
    running.into_iter().flat_map(|(_, rows)| rows).filter(|row| wanted(row.floor)).collect()
}

/// A note for each floor that has a remark.
pub fn remarks(rows: &[Row]) -> impl Iterator<Item = String> {
    let note = |row: &Row| {
        let (name, remark) = (row.floor.name(), row.remark.as_ref()?);
        Some(match row.rounds.is_empty() {
            true => format!("{name} was not measured: {remark}"),
            false => format!("{name}, after {} rounds: {remark}", row.rounds.len()),
        })
    };
    rows.iter().filter_map(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Wanted;
    use crate::arguments::tests::{names_what_it_does_not_understand, parsed};
    use crate::limits::probe::{Lack, Round};

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
        assert_eq!(parsed::<Limits>(line).unwrap(), Wanted::Run(Box::new(expected)));
        assert_eq!(parsed::<Limits>("--only disk --help").unwrap(), Wanted::Help);
        let help = Limits::grammar().full_help();
        assert!(help.contains("overlapped_16_huge") && Group::ALL.iter().all(|group| HELP.contains(group.name())));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        names_what_it_does_not_understand::<Limits>(&[
            ("--only swim", "`swim`"),
            ("--engines lmdb", "`--engines`"),
            ("--records 5", "`--records`"),
            ("--level disk", "`--level`"),
            ("--self-test", "`--self-test`"),
            ("--rounds many", "`many`"),
        ]);
    }

    #[test]
    fn every_floor_has_a_figure_that_can_be_or_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { quick: true, rounds: 2, ..Options::default() };
        let report = Limits::run(&options, directory.path(), 7).unwrap();
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
        assert!(Limits::judgement(&options, &report).1);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn rounds_take_turns_and_who_lacks_something_is_not_asked_again() {
        let probe = |floors: &'static [Floor; 1], good: usize| {
            let mut round = 0;
            Probe::of_one(floors, move || {
                round += 1;
                if round <= good { Ok(round as f64) } else { Err(Lack(format!("round {round} failed"))) }
            })
        };
        let two = Probe {
            floors: &[Floor::FdatasyncP50, Floor::FdatasyncP99],
            measure: Box::new(|| Ok(Round { values: vec![1.0, 2.0], remark: Some("as it was".to_owned()) })),
        };
        let probes = vec![probe(&[Floor::Clock], 9), probe(&[Floor::Read1], 0), probe(&[Floor::Read2], 1), two];
        let unwanted = probe(&[Floor::WakeUp], 9);
        let rows = rows_of(probes.into_iter().chain([unwanted]).collect(), 3, |floor| {
            ![Floor::WakeUp, Floor::FdatasyncP50].contains(&floor)
        });
        let found: Vec<_> = rows.iter().map(|row| (row.floor, row.rounds.clone())).collect();
        assert_eq!(
            found,
            [
                (Floor::Clock, vec![1.0, 2.0, 3.0]),
                (Floor::Read1, vec![]),
                (Floor::Read2, vec![1.0]),
                (Floor::FdatasyncP99, vec![2.0; 3])
            ]
        );
        assert_eq!(
            remarks(&rows).collect::<Vec<_>>(),
            [
                "read_1 was not measured: round 1 failed",
                "read_2, after 1 rounds: round 2 failed",
                "fdatasync_p99, after 3 rounds: as it was"
            ]
        );
    }

    #[test]
    fn arrays_shrink_with_the_memory_that_is_available() {
        assert_eq!(fitting_bytes(1 << 30, 16 << 30), 1 << 30);
        assert_eq!(fitting_bytes(1 << 30, 3 << 30), 512 << 20);
        assert_eq!(fitting_bytes(1 << 30, 0), 16 << 20);
        let extent = Extent { memory_bytes: 1 << 60, ..QUICK };
        let (setting, remark) = Setting::fitting(Path::new("/d"), 7, extent);
        assert!(remark.is_some_and(|remark| remark.contains(&format!("{} MiB, not", setting.memory_bytes >> 20))));
    }
}
