//! Runs workloads, cuts the power everywhere, and counts what is found.
//!
//! Rounds of all workloads follow one another, each with the next seed, until there are enough images. An image is
//! verified by [`verify`]; for a share of them the power is cut again during that, which makes nested images.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Mutex;

use fulgurite::Options;

use super::history::{Expected, History, label, newest};
use super::verify::{Defect, DefectKind, Recovered, verify};
use super::workloads::Workload;
use crate::crash_disk::CrashDisk;
use crate::crash_images::{CrashImage, ImageId, Kinds};
use crate::crash_recording::{Mark, Recording};
use crate::panics;
use crate::random::Random;
use crate::random::mix;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Images to verify, nested ones not counted.
    pub images: u64,
    /// Seed of the first round.
    pub seed: u64,
    /// Only this workload.
    pub workload: Option<&'static str>,
    /// Threads to use.
    pub threads: usize,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Distinct images that were verified.
    pub images: u64,
    /// Images of power cuts during recovery.
    pub nested: u64,
    /// Images that lack what was acknowledged.
    pub lost: u64,
    /// Images that hold what never was, or are damaged; and workloads that failed.
    pub wrong: u64,
    /// Images at which the engine panicked.
    pub panics: u64,
    /// The first failures.
    pub failures: Vec<Failure>,
}

/// One failure, and how to have it again.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The workload.
    pub workload: &'static str,
    /// The image, nested ones after a slash.
    pub image: String,
    /// What is wrong, and what survived.
    pub text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, image, text } = self;
        write!(out, "{workload}: {text}\n  repeat: cargo xtask crash --workload {workload} --image {image}")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { images, nested, lost, wrong, panics, .. } = self;
        write!(out, "{images} images, {nested} nested, {lost} lost, {wrong} wrong, {panics} panics")
    }
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.lost + self.wrong + self.panics == 0
    }

    fn note(&mut self, workload: &'static str, image: String, defect: &Defect, survived: &dyn fmt::Display) {
        match defect.kind {
            DefectKind::Lost => self.lost += 1,
            DefectKind::Wrong => self.wrong += 1,
            DefectKind::Panic => self.panics += 1,
        }
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(Failure { workload, image, text: format!("{defect}\n  {survived}") });
        }
    }
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.images += other.images;
        self.nested += other.nested;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.panics += other.panics;
        self.failures.extend(other.failures);
        self.failures.truncate(FAILURES_MAX);
    }
}

/// Runs the plan.
pub fn run(plan: &Plan) -> Report {
    let workloads: Vec<&Workload> =
        Workload::ALL.iter().filter(|workload| plan.workload.is_none_or(|name| name == workload.name)).collect();
    let mut report = Report::default();
    for round in 0.. {
        let (before, missing) = (report.images, plan.images.saturating_sub(report.images));
        report += run_round(plan, &workloads, plan.seed + round, missing);
        if report.images == before || report.images == plan.images {
            break;
        }
    }
    report
}

/// Every workload once, for `missing` images of all together.
fn run_round(plan: &Plan, workloads: &[&Workload], seed: u64, missing: u64) -> Report {
    let count = workloads.len() as u64;
    let share = |index: u64| missing / count + u64::from(index < missing % count);
    let jobs = Mutex::new(workloads.iter().enumerate());
    let total = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let job = jobs.lock().expect("no thread panics while it holds this lock").next();
                    let Some((index, workload)) = job else { break };
                    let report = run_workload(workload, seed, share(index as u64), false);
                    *total.lock().expect("no thread panics while it holds this lock") += report;
                }
            });
        }
    });
    total.into_inner().expect("no thread panics while it holds this lock")
}

/// Records one workload and verifies up to `images` of its images, spread evenly.
pub fn run_workload(workload: &Workload, seed: u64, images: u64, stop_early: bool) -> Report {
    let mut report = Report::default();
    let Recorded { recording, history, failure } = record(workload, seed);
    if let Some(text) = failure {
        let defect = Defect { kind: DefectKind::Wrong, text };
        report.note(workload.name, format!("{seed}:{}:everything", recording.operations().len()), &defect, &"");
    }
    let settings = workload.settings();
    let mut random = Random::for_part(seed, &[3]);
    let all = recording.images(seed, Kinds::default()).count() as u64;
    for (index, image) in (0..all).zip(recording.images(seed, Kinds::default())) {
        let missing = images.saturating_sub(report.images);
        if missing == 0 || (stop_early && !report.is_sound()) {
            break;
        }
        // As many of those that are left as are missing: exact and even.
        if !random.chance(missing, (all - index).max(missing)) {
            continue;
        }
        report.images += 1;
        let nested = random.chance(1, NESTED_SHARE).then_some(NESTED_MAX);
        verify_image(workload, &settings, &history, &image, nested, &mut report);
    }
    report
}

fn verify_image(
    workload: &Workload,
    settings: &Options,
    history: &History,
    image: &CrashImage<'_>,
    nested: Option<usize>,
    report: &mut Report,
) {
    let expected = history.expected(image);
    let disk = image.disk();
    let recovered = match verify(&disk, settings, &expected, &mut random_of(image)) {
        Ok(recovered) => recovered,
        Err(defect) => return report.note(workload.name, image.id().to_string(), &defect, image),
    };
    let Some(count) = nested else { return };
    let recording = disk.recording();
    for again in some(&recording, image.id().seed(), count) {
        report.nested += 1;
        let expected = expected_again(&expected, &recovered, again.marks());
        if let Err(defect) = verify(&again.disk(), settings, &expected, &mut random_of(&again)) {
            report.note(workload.name, format!("{}/{}", image.id(), again.id()), &defect, &again);
        }
    }
}

/// About `count` images of a recording, spread evenly.
fn some(recording: &Recording, seed: u64, count: usize) -> impl Iterator<Item = CrashImage<'_>> {
    let kinds = Kinds { subsets: 2, torn: 2 };
    let step = (recording.operations().len() * 4 / count).max(1);
    let start = (mix(seed) % step as u64) as usize;
    recording.images(seed, kinds).skip(start).step_by(step)
}

/// What may be found after the power was cut while `outer` was verified.
fn expected_again(outer: &Expected, recovered: &Recovered, marks: &[Mark]) -> Expected {
    let begun = newest(marks, label::BEGUN).is_some();
    match newest(marks, label::DURABLE) {
        // Recovery may have shown nothing yet, so whatever was allowed still is.
        None => outer.clone(),
        Some(0) if begun => outer.exactly(recovered.number).or(recovered.after.clone()),
        Some(0) => outer.exactly(recovered.number),
        Some(_) => {
            let both = outer.exactly(recovered.number).or(recovered.after.clone());
            Expected { oldest: both.newest, ..both }
        }
    }
}

/// Verifies one image again: an id as [`Failure`] prints it.
///
/// # Errors
/// What is wrong with the id, in words.
pub fn repeat(workload: &Workload, image: &str) -> Result<Report, String> {
    let (outer, inner) = image.split_once('/').map_or((image, None), |(outer, inner)| (outer, Some(inner)));
    let outer: ImageId = outer.parse()?;
    let inner: Option<ImageId> = inner.map(str::parse).transpose()?;
    let Recorded { recording, history, failure } = record(workload, outer.seed());
    let mut report = Report::default();
    if let Some(text) = failure {
        println!("the workload fails: {text}");
    }
    let image = recording.image(outer);
    println!("{image}");
    for mark in image.marks().iter().rev().take(4).rev() {
        println!("  noted by then: {} {}", mark.label, mark.number);
    }
    let settings = workload.settings();
    report.images = 1;
    let Some(inner) = inner else {
        verify_image(workload, &settings, &history, &image, None, &mut report);
        return Ok(report);
    };
    let expected = history.expected(&image);
    let disk = image.disk();
    let recovered = verify(&disk, &settings, &expected, &mut random_of(&image)).map_err(|defect| defect.to_string())?;
    let recording = disk.recording();
    let again = recording.image(inner);
    println!("{again}");
    report.nested = 1;
    let expected = expected_again(&expected, &recovered, again.marks());
    if let Err(defect) = verify(&again.disk(), &settings, &expected, &mut random_of(&again)) {
        report.note(workload.name, format!("{outer}/{inner}"), &defect, &again);
    }
    Ok(report)
}

/// What a workload left.
struct Recorded {
    recording: Recording,
    history: History,
    failure: Option<String>,
}

fn record(workload: &Workload, seed: u64) -> Recorded {
    let (session, failure) = match panics::catch(|| workload.run(seed)) {
        Ok((session, outcome)) => (Some(session), outcome.err().map(|error| format!("it fails: {error}"))),
        Err(panic) => (None, Some(format!("it panics: {panic}"))),
    };
    let (recording, history) = match session {
        Some(session) => session.into_parts(),
        None => (CrashDisk::new().recording(), History::default()),
    };
    Recorded { recording, history, failure }
}

/// The same image is verified in the same way each time.
fn random_of(image: &CrashImage<'_>) -> Random {
    let text = image.id().to_string();
    Random::new(text.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte))))
}

/// One image in so many is cut again during recovery.
const NESTED_SHARE: u64 = 10;
/// At about so many places.
const NESTED_MAX: usize = 24;
/// More failures show nothing new.
const FAILURES_MAX: usize = 20;
