//! The suite of sustained writes: each engine does each workload in its own process and a fresh directory, one after
//! the other. In every round each engine has a turn, and the starting engine rotates.

use std::path::Path;
use std::time::Instant;

use crate::data::random::mix;
use crate::data::shape::Shape;
use crate::engines::known;
use crate::error::Result;
use crate::harness::contest::{Contest, cpu_ns};
use crate::harness::report::{Amount, Report};
use crate::measure::clock::Sample;
use crate::measure::machine;
use crate::measure::places::Places;
use crate::measure::rounds::order;
use crate::measure::statistics::median;
use crate::suites::sustained::content::VALUE_BYTES;
use crate::suites::sustained::engine::{ENGINE_NAMES, Entry, entries, lmdb_at_rest};
use crate::suites::sustained::perform::bounded;
use crate::suites::sustained::perform::control_group::ControlGroup;
use crate::suites::sustained::process::spawn;
use crate::suites::sustained::task::{Finding, Part, Task};
use crate::suites::sustained::workload::{Figure, Measure, Options, Pattern, RECORDS, RECORDS_QUICK, Size, Workload};

/// Name of the suite in lines of JSON.
const SUITE: &str = "sustained";

/// Of the machine's memory, an engine's own caches may hold so much: all data of the larger workloads, and leave room
/// for it once more in the system's.
const CACHE_SHARE: u64 = 6;

/// What the caches of one of many idle databases may hold.
const IDLE_CACHE_BYTES: u64 = 8 << 20;

/// How a task is done: in a process of its own, or for tests in this one.
pub type Runner = fn(&Entry, &Task) -> Result<Vec<Finding>>;

/// Runs what the options want.
pub fn run(options: &Options, directory: &Path, seed: u64) -> Result<Report> {
    let wanted = |entry: &Entry| options.wants_engine(entry.name);
    run_with(&entries().into_iter().filter(wanted).collect::<Vec<_>>(), spawn, options, directory, seed)
}

/// The same with these engines.
pub fn run_with(engines: &[Entry], runner: Runner, options: &Options, directory: &Path, seed: u64) -> Result<Report> {
    let mut report = Report::default();
    let present = known::present(engines, |engine| (engine.name, (engine.missing)()), &mut report.notes);
    report.notes.iter().for_each(|note| eprintln!("{note}"));
    known::refuse_none(&present, &report.notes)?;
    let places = Places::new(directory, options.keep)?;
    let mut suite = Suite { options, places, seed, engines: present, runner, report, started: Instant::now() };
    for workload in Workload::ALL {
        if options.wants(&workload) {
            suite.workload(workload)?;
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
    runner: Runner,
    report: Report,
    started: Instant,
}

/// What the turns of one engine have found, round by round.
type Turns = Vec<Vec<Finding>>;

impl Suite<'_> {
    fn progress(&self, what: &str) {
        eprintln!("[{:>4} s] {what}", self.started.elapsed().as_secs());
    }

    fn note(&mut self, note: String) {
        eprintln!("{note}");
        self.report.notes.push(note);
    }

    fn size(&self, workload: Workload) -> Size {
        let records = self.options.records.unwrap_or(if self.options.quick { RECORDS_QUICK } else { RECORDS });
        Size::of(workload, records, self.options.quick)
    }

    fn workload(&mut self, workload: Workload) -> Result<()> {
        let size = self.size(workload);
        if let Workload::Bounded = workload
            && let Err(reason) = ControlGroup::new(bounded::limit_bytes(size.base))
        {
            self.note(format!("bounded was not measured: {reason}"));
            return Ok(());
        }
        let mut competitors = self.engines.clone();
        if workload.reads() {
            competitors.push(lmdb_at_rest());
        }
        let mut turns: Vec<Turns> = competitors.iter().map(|_| Vec::new()).collect();
        for round in 0..self.options.rounds {
            for index in order(round, competitors.len()) {
                let engine = &competitors[index];
                self.progress(&format!("{}, round {}: {}", workload.name(), round + 1, engine.name));
                let findings = self.turn(workload, &size, engine, round)?;
                self.show(&findings);
                turns[index].push(findings);
            }
        }
        self.report(workload, &size, &competitors, &turns);
        Ok(())
    }

    /// One engine's turn, in a directory that is removed after it.
    fn turn(&self, workload: Workload, size: &Size, engine: &Entry, round: usize) -> Result<Vec<Finding>> {
        let mut task = Task {
            workload,
            part: if engine.name == lmdb_at_rest().name { Part::AtRest } else { Part::Measure },
            size: *size,
            cache_bytes: match workload {
                Workload::Idle => IDLE_CACHE_BYTES,
                _ => machine::memory_bytes() / CACHE_SHARE,
            },
            seed: self.seed ^ mix(mix(workload as u64) ^ round as u64),
            warm: !self.options.quick,
            steps: 0,
            directory: self.places.fresh(workload.name(), engine.name)?,
            group: None,
        };
        let findings = match workload {
            Workload::Bounded => self.bounded(engine, &mut task),
            _ => (self.runner)(engine, &task),
        };
        self.places.remove(workload.name())?;
        findings
    }

    fn bounded(&self, engine: &Entry, task: &mut Task) -> Result<Vec<Finding>> {
        let limit_bytes = bounded::limit_bytes(task.size.base);
        task.cache_bytes = bounded::cache_bytes(limit_bytes);
        task.part = Part::Load;
        (self.runner)(engine, task)?;
        task.part = Part::Measure;
        let group = ControlGroup::new(limit_bytes).map_err(crate::error::Error::Usage)?;
        task.group = Some(group.path().to_owned());
        let findings = (self.runner)(engine, task)?;
        task.group = None;
        task.part = Part::Verify;
        task.steps =
            findings.iter().find_map(|f| if let Finding::Steps(made) = f { Some(*made) } else { None }).unwrap_or(0);
        (self.runner)(engine, task)?;
        Ok(findings)
    }

    fn show(&self, findings: &[Finding]) {
        for finding in findings {
            match finding {
                Finding::Time(measure, sample) => self.progress(&format!(
                    "  {}: {:.0} ns CPU, {:.0} a second",
                    measure.name(),
                    sample.cpu_ns_per_operation(),
                    sample.operations_per_second()
                )),
                Finding::Amount(figure, value) => self.progress(&format!("  {value:.2} {}", figure.unit())),
                Finding::Steps(_) | Finding::Wrong(_) => {}
            }
        }
    }

    fn report(&mut self, workload: Workload, size: &Size, competitors: &[Entry], turns: &[Turns]) {
        for measure in Measure::ALL {
            let with = |(engine, turns): (&Entry, &Turns)| {
                let samples = samples(turns, measure, engine.name == lmdb_at_rest().name);
                (!samples.is_empty()).then_some((engine.name, samples))
            };
            let entries: Vec<_> = competitors.iter().zip(turns).filter_map(with).collect();
            if entries.iter().any(|(engine, _)| *engine != lmdb_at_rest().name) {
                self.add(contest(workload, measure, size, entries));
            }
        }
        for figure in Figure::ALL {
            for (engine, turns) in competitors.iter().zip(turns) {
                let values = amounts(turns, figure);
                if !values.is_empty() {
                    self.report.amounts.push(Amount {
                        workload: workload.name(),
                        data: engine.name.to_owned(),
                        value: median(&values),
                        rival: None,
                        unit: figure.unit(),
                    });
                }
            }
        }
        if matches!(workload, Workload::Skewed | Workload::Sequential) {
            let allowed = format!("{} records, five times --records or what memory allows", size.base);
            self.note(format!("{}: the base has {allowed}", workload.name()));
        }
    }

    /// Adds a result and shows it.
    fn add(&mut self, contest: Contest) {
        let shown = |(engine, samples): &(&str, Vec<Sample>)| format!("{engine} {:.0} ns", cpu_ns(samples));
        let times: Vec<String> = contest.entries.iter().map(shown).collect();
        self.progress(&format!("{}: {}", contest.workload, times.join(", ")));
        self.report.contests.push(contest);
    }
}

/// The engines of the suite come in this order, whatever the command line says.
fn contest(workload: Workload, measure: Measure, size: &Size, entries: Vec<(&'static str, Vec<Sample>)>) -> Contest {
    debug_assert!(entries.iter().all(|(name, _)| *name != ENGINE_NAMES[0]) || entries[0].0 == ENGINE_NAMES[0]);
    let (shape, key_bytes) = match workload.pattern() {
        Pattern::Uniform | Pattern::Skewed => (Shape::Hashed, 32),
        Pattern::Sequential => (Shape::Sequential, 8),
    };
    Contest {
        suite: SUITE,
        workload: measure.title(workload),
        threads: 1,
        shape: shape.name(),
        records: size.base as u64,
        key_bytes,
        value_bytes: VALUE_BYTES as u64,
        entries,
    }
}

/// What the turns have found of a measure. LMDB at rest is beside reads at any time, as their reference.
fn samples(turns: &Turns, measure: Measure, at_rest: bool) -> Vec<Sample> {
    let wanted = match (at_rest, measure) {
        (true, Measure::HitDuring | Measure::HitDebt) => Measure::HitRest,
        (true, Measure::MissDebt) => Measure::MissRest,
        (true, Measure::SeekDebt) => Measure::SeekRest,
        _ => measure,
    };
    let of = |finding: &Finding| match finding {
        Finding::Time(found, sample) if *found == wanted => Some(sample.clone()),
        _ => None,
    };
    turns.iter().flatten().filter_map(of).collect()
}

fn amounts(turns: &Turns, figure: Figure) -> Vec<f64> {
    let of = |finding: &Finding| match finding {
        Finding::Amount(found, value) if *found == figure => Some(*value),
        _ => None,
    };
    turns.iter().flatten().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::Lmdb;

    use super::*;
    use crate::engines::fulgurite::Fulgurite;
    use crate::error::Error;
    use crate::suites::sustained::engine::{LMDB_AT_REST, entry, planted};

    /// All but the one that would bind this process to little memory.
    const HERE: [Workload; 5] =
        [Workload::Ingest, Workload::Put1, Workload::Skewed, Workload::Sequential, Workload::Idle];

    fn in_this_process(engine: &Entry, task: &Task) -> Result<Vec<Finding>> {
        let size = Size { databases: 2, span_ms: 20, ..task.size };
        (engine.perform)(&Task { size, ..task.clone() })
    }

    fn quick(engines: &[Entry], workloads: &[Workload]) -> Result<Report> {
        let directory = tempfile::tempdir().unwrap();
        let only = workloads.to_vec();
        let options = Options { quick: true, records: Some(2000), rounds: 2, only, ..Options::default() };
        run_with(engines, in_this_process, &options, directory.path(), 7)
    }

    #[test]
    fn every_workload_runs_with_the_engines_that_are_always_there() {
        let report = quick(&[entry::<Fulgurite>(), entry::<Lmdb>()], &HERE).unwrap();
        let titles: Vec<&str> = report.contests.iter().map(|contest| contest.workload).collect();
        let puts = ["ingest", "ingest_settled", "put1", "put1_settled", "skewed", "sequential_settled"];
        assert!(puts.iter().all(|title| titles.contains(title)), "{titles:?}");
        assert!(report.contests.iter().all(|contest| contest.entries.iter().all(|(_, samples)| samples.len() == 2)));
        for title in ["get_hit_during", "get_hit_debt", "get_miss_debt", "seek100_debt", "get_hit_rest", "seek100_rest"]
        {
            let contest = report.contests.iter().find(|contest| contest.workload == title).unwrap();
            let names: Vec<&str> = contest.entries.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, ["fulgurite", "lmdb", LMDB_AT_REST]);
            assert!(contest.ratio_to(LMDB_AT_REST).is_some_and(f64::is_finite), "{title}");
        }
        let amount = |workload: &str, engine: &str, figure: Figure| {
            let of = |a: &&Amount| a.workload == workload && a.data == engine && a.unit == figure.unit();
            report.amounts.iter().find(of).map(|amount| amount.value)
        };
        for workload in ["ingest", "skewed", "sequential"] {
            // The log alone has every user byte once, and the tree most of them.
            assert!(amount(workload, "fulgurite", Figure::Passed).is_some_and(|times| times > 1.2), "{workload}");
            assert!(
                amount(workload, "fulgurite", Figure::SpacePeak) >= amount(workload, "fulgurite", Figure::SpaceSettled)
            );
            assert!(amount(workload, "lmdb", Figure::Pause) >= amount(workload, "lmdb", Figure::P999));
        }
        assert_eq!(amount("ingest", "lmdb", Figure::Passed), None);
        assert!(amount("idle", "fulgurite", Figure::IdleThreads).is_some_and(|threads| threads >= 1.0));
        assert!(amount("idle", "fulgurite", Figure::IdleMemory).is_some());
        let line =
            "{\"suite\":\"sustained\",\"workload\":\"get_hit_during\",\"shape\":\"hashed\",\"engine\":\"fulgurite\"";
        assert!(report.json().lines().any(|found| found.starts_with(line)));
    }

    #[test]
    fn an_engine_that_is_missing_is_named_with_what_would_help() {
        let absent = Entry { missing: || Some("install it".to_owned()), ..entry::<Lmdb>() };
        let report = quick(&[entry::<Fulgurite>(), absent], &[Workload::Put1]).unwrap();
        assert_eq!(report.notes, ["lmdb was not measured: install it"]);
        assert_eq!(report.contests[0].entries.len(), 1);
    }

    #[test]
    fn a_right_engine_passes_and_every_planted_fault_is_found_by_every_workload() {
        let [right, faulty @ ..] = planted();
        for workload in HERE {
            quick(&[right], &[workload]).unwrap();
            for engine in faulty {
                let outcome = quick(&[engine], &[workload]);
                assert!(matches!(outcome, Err(Error::Wrong { .. })), "{} {}", workload.name(), engine.name);
            }
        }
    }
}
