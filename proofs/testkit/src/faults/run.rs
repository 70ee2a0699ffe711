//! Makes every call of each workload fail, once and forever, and checks the result.
//!
//! A run fails one call. At every moment: no panic; errors are the disk's or say that the database is poisoned; a
//! commit that reports an error has no effect unless it poisoned; the database shows what it should hold. After the
//! workload: the handle works, or is poisoned because a sync failed. At the end the process dies, or the power fails
//! too, and the database is opened on the bare disk: nothing acknowledged is lost, and `check` finds nothing.

use std::fmt;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fulgurite::Error;

use super::workloads::Workload;
use crate::crash::{Defect, DefectKind, Session, Trouble, verify};
use crate::crash_disk::CrashDisk;
use crate::crash_images::ImageId;
use crate::fault::{Call, Fault, FaultError, Persistence, Unsynced};
use crate::fault_disk::FaultDisk;
use crate::panics;
use crate::random::Random;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Runs, each with one fault.
    pub runs: u64,
    /// Runs that a fault ended with a poisoned handle.
    pub poisoned: u64,
    /// Runs that lost what was acknowledged.
    pub lost: u64,
    /// Runs that broke another promise.
    pub wrong: u64,
    /// Runs in which the engine panicked.
    pub panics: u64,
    /// The first failures, each with the command that repeats it.
    pub failures: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.lost + self.wrong + self.panics == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, lost, wrong, panics, .. } = self;
        write!(out, "{runs} runs, {lost} lost, {wrong} wrong, {panics} panics")
    }
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.poisoned += other.poisoned;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.panics += other.panics;
        self.failures.extend(other.failures);
        self.failures.truncate(FAILURES_MAX);
    }
}

/// One way to fail: which call, and how.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The call that fails, counted from 1.
    pub nth: u64,
    /// Whether later ones fail too.
    pub persistence: Persistence,
    /// With what.
    pub error: FaultError,
    /// What a failed sync does.
    pub unsynced: Unsynced,
}

impl fmt::Display for Trial {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lasting = if self.persistence == Persistence::Once { "once" } else { "forever" };
        let error = if self.error == FaultError::Medium { "eio" } else { "enospc" };
        let unsynced = if self.unsynced == Unsynced::Kept { "kept" } else { "dropped" };
        write!(out, "{}:{lasting}:{error}:{unsynced}", self.nth)
    }
}

impl std::str::FromStr for Trial {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let wrong = || format!("`{text}` is not a trial; one looks like 17:once:eio:kept");
        let [nth, lasting, error, unsynced] = parts[..] else { return Err(wrong()) };
        Ok(Self {
            nth: nth.parse().map_err(|_| wrong())?,
            persistence: if lasting == "once" { Persistence::Once } else { Persistence::Forever },
            error: if error == "eio" { FaultError::Medium } else { FaultError::NoSpace },
            unsynced: if unsynced == "kept" { Unsynced::Kept } else { Unsynced::Dropped },
        })
    }
}

/// Which runs of all are made.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// One in so many, spread evenly; the seed decides which.
    pub one_in: u64,
    /// By so many threads.
    pub threads: u64,
}

/// Tries calls of a workload in every way, or a share of that.
pub fn run_all(workload: &Workload, seed: u64, share: Share) -> Report {
    let (next, end) = (AtomicU64::new(1), AtomicU64::new(u64::MAX));
    let total = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..share.threads.max(1) {
            scope.spawn(|| {
                loop {
                    // Relaxed: nothing is read through the numbers.
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= end.load(Ordering::Relaxed) {
                        break;
                    }
                    match run_call(workload, seed, nth, share) {
                        Some(report) => *total.lock().expect("no thread panics while it holds this lock") += report,
                        None => drop(end.fetch_min(nth, Ordering::Relaxed)),
                    }
                }
            });
        }
    });
    total.into_inner().expect("no thread panics while it holds this lock")
}

/// The runs of one call; `None` if the workload makes fewer.
fn run_call(workload: &Workload, seed: u64, nth: u64, share: Share) -> Option<Report> {
    let mut report = Report::default();
    let (mut way, mut is_reached) = (0, None);
    for persistence in [Persistence::Once, Persistence::Forever] {
        for error in [FaultError::Medium, FaultError::NoSpace] {
            for unsynced in [Unsynced::Kept, Unsynced::Dropped] {
                way += 1;
                if !(nth * 8 + way + seed).is_multiple_of(share.one_in) {
                    continue;
                }
                let Some(one) = run_one(workload, seed, Trial { nth, persistence, error, unsynced }) else {
                    is_reached.get_or_insert(false);
                    continue;
                };
                is_reached = Some(true);
                report += one;
            }
        }
    }
    // A call without a run may be the last, or past it: the next one shows which.
    is_reached.unwrap_or(true).then_some(report)
}

/// One run; `None` if the workload makes fewer calls. It counts only if dropping what was not synced could make a
/// difference to it.
pub fn run_one(workload: &Workload, seed: u64, trial: Trial) -> Option<Report> {
    let mut report = Report::default();
    let outcome = panics::catch(|| try_one(workload, seed, trial, false))
        .unwrap_or_else(|text| Err(Defect { kind: DefectKind::Panic, text }));
    match outcome {
        Ok(Outcome::NotReached) => return None,
        Ok(Outcome::Double) => return Some(report),
        Ok(Outcome::Usable) => {}
        Ok(Outcome::Poisoned) => report.poisoned = 1,
        Err(defect) => {
            match defect.kind {
                DefectKind::Lost => report.lost = 1,
                DefectKind::Wrong => report.wrong = 1,
                DefectKind::Panic => report.panics = 1,
            }
            let name = workload.name;
            let again = format!("cargo xtask io-errors --seed {seed}");
            report.failures.push(format!("{name}: {defect}\n  repeat: {again} --workload {name} --trial {trial}"));
        }
    }
    report.runs = 1;
    Some(report)
}

/// One run again, telling every step and every operation of the disk.
pub fn repeat(workload: &Workload, seed: u64, trial: Trial) -> Report {
    if let Err(text) = panics::catch(|| try_one(workload, seed, trial, true).map(drop)) {
        println!("{text}");
    }
    run_one(workload, seed, trial).unwrap_or_default()
}

/// How a run without defect ended.
enum Outcome {
    /// The workload makes fewer calls.
    NotReached,
    /// What is left is what another run leaves.
    Double,
    Usable,
    Poisoned,
}

fn try_one(workload: &Workload, seed: u64, trial: Trial, report: bool) -> Result<Outcome, Defect> {
    let disk = CrashDisk::new();
    let front = FaultDisk::new(Arc::new(disk.clone()));
    let trouble = if trial.unsynced == Unsynced::Kept { Trouble::Failures } else { Trouble::Losses };
    let mut session = Session::behind(disk, Arc::new(front.clone()), trouble, seed, workload.settings());
    for step in workload.before {
        step(&mut session).map_err(|error| wrong(format!("before any fault: {error}")))?;
    }
    let Trial { nth, persistence, error, unsynced } = trial;
    front.arm(Fault { calls: Call::ALL, nth, persistence, error, unsynced });
    let mut failed = None;
    for (number, step) in workload.steps.iter().enumerate() {
        let outcome = step(&mut session);
        if report {
            let outcome = outcome.as_ref().map_or_else(ToString::to_string, |()| "done".into());
            println!("step {number}: {outcome}, failed call {:?}, {}", front.failed_call(), session.progress());
        }
        if front.failed_call().is_none() {
            outcome.map_err(|error| wrong(format!("without a fault: {error}")))?;
            continue;
        }
        if let Err(error) = outcome {
            check_kind(&error, &front)?;
            failed.get_or_insert(error);
            // What is open shows what it should, as far as it can be read.
            tolerate(session.compare())?;
            tolerate(session.open())?;
        }
    }
    let Some(failed_call) = front.failed_call() else { return Ok(Outcome::NotReached) };
    let is_sync = matches!(failed_call.call, Call::Sync);
    if unsynced == Unsynced::Dropped && !is_sync && persistence == Persistence::Once {
        return Ok(Outcome::Double);
    }
    front.disarm();
    let story = |text: String| {
        let failed =
            failed.as_ref().map_or("no call of the engine failed".into(), |error| format!("first error: {error}"));
        format!("{text} (failed call: {failed_call}; {failed})")
    };
    let retold = |defect: Defect| Defect { text: story(defect.text), ..defect };
    let may_poison = is_sync || failed_call.call == Call::SyncDirectory || persistence == Persistence::Forever;
    let poisoned = settle(&mut session, workload, may_poison).map_err(retold)?;
    if report {
        println!("at the end: {}", session.progress());
    }
    survive(workload, session, (seed, unsynced), report).map_err(retold)?;
    Ok(if poisoned { Outcome::Poisoned } else { Outcome::Usable })
}

/// After the fault: either everything works, or the handle is poisoned and still reads. Answers whether it is.
fn settle(session: &mut Session, workload: &Workload, may_poison: bool) -> Result<bool, Defect> {
    session.open().map_err(|error| lost(format!("open after the fault: {error}")))?;
    session.compare().map_err(|error| wrong(format!("reading after the fault: {error}")))?;
    if session.is_poisoned() {
        return if may_poison { Ok(true) } else { Err(wrong("it is poisoned, though no sync failed".into())) };
    }
    let works = |what: &str, outcome: fulgurite::Result<()>| {
        outcome.map_err(|error| wrong(format!("{what} after the fault: {error}")))
    };
    let table = if session.holdings().table("a").is_none() { session.table("a", Default::default()) } else { Ok(()) };
    works("creating a table", table)?;
    works("a commit", session.put(fulgurite::Durability::Disk, "a", b"after the fault", b"value"))?;
    works("a checkpoint", session.checkpoint())?;
    works("reading", session.compare())?;
    works("checking", session.check())?;
    if workload.has_runs {
        // Whatever failed to be merged is merged now.
        works("a compaction", session.compact())?;
        works("counting runs", session.runs().and_then(none_left))?;
        works("checking again", session.check())?;
        works("reading again", session.compare())?;
    }
    works("a commit", session.put(fulgurite::Durability::Log, "a", b"at last", b"value"))?;
    Ok(false)
}

fn none_left(runs: u64) -> fulgurite::Result<()> {
    if runs == 0 { Ok(()) } else { Err(Error::Invalid { message: format!("{runs} runs are left") }) }
}

/// The process dies; and the power fails too.
fn survive(
    workload: &Workload,
    session: Session,
    (seed, unsynced): (u64, Unsynced),
    report: bool,
) -> Result<(), Defect> {
    let (recording, history) = session.into_parts();
    let operations = recording.operations().len();
    if report {
        recording.operations().iter().enumerate().for_each(|(number, operation)| println!("  {number}: {operation}"));
    }
    for id in [ImageId::everything(operations), ImageId::durable(operations)] {
        let image = recording.image(id);
        let mut expected = history.expected(&image);
        if unsynced == Unsynced::Dropped {
            // The failed sync took what was only in the page cache.
            expected.oldest = history.expected(&recording.image(ImageId::durable(operations))).oldest;
        }
        let mut random = Random::for_part(seed, &[operations as u64]);
        verify(&image.disk(), &workload.settings(), &expected, &mut random)
            .map_err(|defect| Defect { text: format!("after the end ({id}): {}", defect.text), ..defect })?;
    }
    Ok(())
}

/// Errors come from the disk, or say that the database is poisoned or could not be opened again.
fn check_kind(error: &Error, front: &FaultDisk) -> Result<(), Defect> {
    match error {
        Error::Io { .. } | Error::DiskFull { .. } | Error::Poisoned { .. } | Error::Closed { .. } => Ok(()),
        Error::Indeterminate { .. } if front.failed_call().is_some() => Ok(()),
        Error::DatabaseNotFound { .. } | Error::TableNotFound { .. } => Ok(()),
        // What a failed sync took, the file's end even, another thread may miss before it hears of the failure.
        error if error.is_corruption() && front.failed_call().is_some_and(|failed| failed.call == Call::Sync) => Ok(()),
        error => Err(wrong(format!("an error of the wrong kind: {error} (failed call: {:?})", front.failed_call()))),
    }
}

/// While calls fail, reading and opening may fail too, but not with wrong answers.
fn tolerate(outcome: fulgurite::Result<()>) -> Result<(), Defect> {
    match outcome {
        Err(error @ (Error::Invalid { .. } | Error::Corrupt { .. } | Error::NotADatabase { .. })) => {
            Err(wrong(format!("while calls fail: {error}")))
        }
        _ => Ok(()),
    }
}

fn lost(text: String) -> Defect {
    Defect { kind: DefectKind::Lost, text }
}

fn wrong(text: String) -> Defect {
    Defect { kind: DefectKind::Wrong, text }
}

/// More failures show nothing new.
const FAILURES_MAX: usize = 12;
