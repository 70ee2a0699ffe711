//! The whole run: worlds of all shapes, one after the other, and then the faults that must be found.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use fulgurite::planted::{Fault, set_giving_way};

use super::super::history::End;
use super::judge::{Failure, judge, write_history};
use super::process::REASONS;
use super::record::Tally;
use super::shapes::{Place, Shape};
use super::world::{Broken, World};
use crate::random::Random;

/// What to run.
#[derive(Debug)]
pub struct Plan<'p> {
    /// Transactions to commit, at least.
    pub transactions: u64,
    /// The seed of the first world.
    pub seed: u64,
    /// Transactions in each world; `None`: as many as let every shape come.
    pub world: Option<u64>,
    /// Only this shape.
    pub shape: Option<&'static Shape>,
    /// Where the history of a failure goes.
    pub histories: PathBuf,
    /// Beats as long as the run goes on.
    pub pulse: &'p AtomicU64,
    /// Receives a line for each world that has ended.
    pub progress: fn(&str),
}

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// How the transactions of each shape ended.
    pub shapes: BTreeMap<&'static str, Tally>,
    /// Crashes that were survived.
    pub crashes: u64,
    /// Segments that ended with runs above trees.
    pub stacked: u64,
    /// Cycles of write skew where the level allows them, at most one of a kind in each part of the history that hangs
    /// together.
    pub skews: u64,
    /// The first failure, with which the run ended.
    pub failure: Option<Failure>,
}

impl Report {
    fn all(&self) -> Tally {
        let mut all = Tally::default();
        self.shapes.values().for_each(|tally| all.add(tally));
        all
    }

    /// Reasons to refuse a commit that never came up, though all shapes were run.
    pub fn missing(&self) -> Vec<&'static str> {
        let all = self.all();
        if self.shapes.len() < Shape::ALL.len() || all.committed < COVERED_MIN {
            return Vec::new();
        }
        let mut missing: Vec<&str> = REASONS.into_iter().filter(|reason| !all.conflicts.contains_key(reason)).collect();
        if all.too_old == 0 {
            missing.push("too old");
        }
        missing
    }

    /// Whether runs never came up, though all shapes were run.
    pub fn lacks_runs(&self) -> bool {
        self.shapes.len() == Shape::ALL.len() && self.all().committed >= COVERED_MIN && self.stacked == 0
    }

    /// Transactions that committed.
    pub fn transactions(&self) -> u64 {
        self.shapes.values().map(|tally| tally.committed).sum()
    }

    /// Anomalies.
    pub fn anomalies(&self) -> u64 {
        self.failure.as_ref().map_or(0, |failure| failure.anomalies)
    }

    /// Shapes that prove nothing, because no transaction was ever in another's way, or none ever came through.
    pub fn idle(&self) -> Vec<&'static str> {
        let judged = self.shapes.iter().filter(|(_, tally)| tally.committed >= JUDGED_MIN);
        let idle = judged.filter(|(_, tally)| tally.in_conflict() == 0 || tally.refused_per_thousand() > REFUSED_MAX);
        idle.map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, tally) in &self.shapes {
            let Tally { committed, written, too_old, aborted, .. } = tally;
            let (conflicts, share) = (tally.in_conflict(), tally.refused_per_thousand() as f64 / 10.0);
            writeln!(
                out,
                "  {name:<24} {committed:>8} committed, {written:>8} wrote, {aborted:>6} given up, {conflicts:>7} in \
                 conflict, {too_old:>5} too old: {share:>4.1} % refused"
            )?;
        }
        let all = self.all();
        let reasons = all.conflicts.iter().map(|(reason, count)| format!("{reason} {count}"));
        writeln!(out, "  conflicts by what changed: {}", reasons.collect::<Vec<_>>().join(", "))?;
        writeln!(out, "  {} segments ended with runs above trees", self.stacked)?;
        write!(out, "  {} crashes; write skew at isolation Snapshot, which allows it: {}", self.crashes, self.skews)
    }
}

/// Runs worlds until enough was committed, or something is wrong.
pub fn run(plan: &Plan<'_>) -> Report {
    let mut report = Report::default();
    let shapes: Vec<&'static Shape> = match plan.shape {
        Some(shape) => vec![shape],
        None => Shape::ALL.iter().collect(),
    };
    let share = plan.transactions * 11 / 10 / shapes.len() as u64;
    let in_world = plan.world.unwrap_or(share.clamp(WORLD.0, WORLD.1)).max(1);
    for (number, shape) in (0..).zip(shapes.iter().cycle()) {
        // Every shape comes once at least, and whole.
        let enough = if number < shapes.len() as u64 { u64::MAX } else { plan.transactions };
        if report.transactions() >= enough {
            break;
        }
        let seed = plan.seed + number;
        set_giving_way(GIVING_WAY[Random::new(seed).index(GIVING_WAY.len())]);
        let outcome = run_world(shape, (seed, in_world, enough), plan, &mut report);
        set_giving_way(0);
        if let Err(failure) = outcome {
            report.failure = Some(failure);
            break;
        }
        (plan.progress)(&format!("{} transactions; {}, seed {seed}", report.transactions(), shape.name));
    }
    report
}

/// Runs a world of so many transactions, until the whole run has `enough`.
fn run_world(
    shape: &'static Shape,
    (seed, in_world, enough): (u64, u64, u64),
    plan: &Plan<'_>,
    report: &mut Report,
) -> Result<(), Failure> {
    let failure =
        |anomalies, text, history| Failure { shape: shape.name, seed, world: in_world, anomalies, text, history };
    let broken = |Broken { is_anomaly, text }| failure(is_anomaly.into(), text, None);
    let mut world = World::new(shape, seed).map_err(broken)?;
    let in_segment = in_world.min(if shape.place == Place::Crashing { CRASH_SEGMENT } else { SEGMENT });
    let mut done = 0;
    while done < in_world && report.transactions() < enough {
        let segment = world.segment(in_segment, plan.pulse).map_err(broken)?;
        done += in_segment;
        report.shapes.entry(shape.name).or_default().add(&segment.tally);
        report.stacked += u64::from(segment.runs > 0);
        report.crashes += u64::from(matches!(segment.history.end, End::Crashed { .. }));
        let judged = judge(&segment, shape).map(|skews| report.skews += skews);
        if let Err((anomalies, text)) = judged {
            let name = format!("isolation-{}-{seed}.txt", shape.name);
            let history = write_history(&segment.history, &plan.histories, &name).ok();
            return Err(failure(anomalies, text, history));
        }
        plan.pulse.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// A fault that the run must find.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// What `--plant` takes.
    pub name: &'static str,
    fault: Fault,
    shape: &'static str,
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; Fault::OF_ISOLATION.len()] = [
        Self { name: "reads-unchecked", fault: Fault::ReadsUnchecked, shape: "lists" },
        Self { name: "ranges-unchecked", fault: Fault::RangesUnchecked, shape: "ranges" },
        Self { name: "gap-unchecked", fault: Fault::GapUnchecked, shape: "lists-of-many-threads" },
        Self { name: "stale-snapshot", fault: Fault::StaleSnapshot, shape: "registers" },
        Self {
            name: "shown-before-predecessors",
            fault: Fault::ShownBeforePredecessors,
            shape: "lists-of-many-threads",
        },
        Self { name: "rollback-ignored", fault: Fault::RollbackIgnored, shape: "registers" },
        Self { name: "writes-unchecked", fault: Fault::WritesUnchecked, shape: "snapshot-lists" },
        Self { name: "history-ignored", fault: Fault::HistoryIgnored, shape: "long" },
        Self { name: "merge-computed-too-early", fault: Fault::MergeComputedTooEarly, shape: "merges" },
    ];

    /// Plants it, and searches for anomalies. Returns the first of them, if any, and the transactions run.
    ///
    /// Plants in the whole process: nothing else may use the engine meanwhile.
    ///
    /// # Errors
    /// What kept it from searching: another failure than an anomaly shows nothing.
    pub fn search(self, seed: u64, pulse: &AtomicU64) -> Result<(Option<String>, u64), String> {
        set_giving_way(GIVING_WAY_PLANTED);
        let mut transactions = 0;
        let found = (0..PLANTED_WORLDS).find_map(|round| self.search_world(seed + round, &mut transactions, pulse));
        set_giving_way(0);
        found.transpose().map(|text| (text, transactions))
    }

    fn search_world(self, seed: u64, transactions: &mut u64, pulse: &AtomicU64) -> Option<Result<String, String>> {
        let shape = Shape::named(self.shape).expect("the table names shapes");
        let mut world = match World::new(shape, seed) {
            Ok(world) => world,
            Err(broken) => return Some(Err(broken.text)),
        };
        world.plant(self.fault);
        for _ in 0..PLANTED_SEGMENTS {
            match world.segment(PLANTED_SEGMENT, pulse) {
                Ok(segment) => {
                    *transactions += segment.tally.committed;
                    if let Err((_, text)) = judge(&segment, shape) {
                        return Some(Ok(text));
                    }
                }
                Err(Broken { is_anomaly: true, text }) => return Some(Ok(text)),
                Err(Broken { is_anomaly: false, text }) => return Some(Err(text)),
            }
        }
        None
    }
}

/// Transactions of one world, from and to.
const WORLD: (u64, u64) = (1_000, 60_000);
/// Transactions that are recorded before they are checked.
const SEGMENT: u64 = 20_000;
/// As [`SEGMENT`], where the disk crashes at the end of each.
const CRASH_SEGMENT: u64 = 400;
/// How often threads give way, of a thousand places where they must not be in each other's way; each world has one of
/// these.
const GIVING_WAY: [u32; 4] = [0, 5, 30, 100];
/// As [`GIVING_WAY`], where a fault is looked for.
const GIVING_WAY_PLANTED: u32 = 50;
/// Worlds in which a planted fault is looked for, at most, their segments, and the transactions of these.
const PLANTED_WORLDS: u64 = 8;
const PLANTED_SEGMENTS: u64 = 5;
const PLANTED_SEGMENT: u64 = 2_000;
/// With fewer transactions it may be chance that none were in conflict.
const JUDGED_MIN: u64 = 1_000;
/// From so many transactions on, commits must have been refused for every possible reason.
const COVERED_MIN: u64 = 100_000;
/// Of a thousand commits, those that may be refused.
const REFUSED_MAX: u64 = 950;
