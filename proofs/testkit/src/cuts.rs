//! Power cuts under a store that is built on the engine: a session is recorded, and images of what cuts leave of it are
//! recovered.

use std::fmt;
use std::time::Instant;

use fulgurite::planted::{Fault, plant};

use crate::panics::catch;
use crate::{CrashImage, ImageId, Kinds, Random, Recording};

/// A session with a store whose disk was recorded.
pub trait RecordedSession: Sized {
    /// The command that cuts the power under such sessions.
    const COMMAND: &'static str;

    /// Records the session of a seed.
    ///
    /// # Errors
    /// Why it failed.
    fn record(seed: u64) -> Result<Self, String>;

    /// What its disk recorded. Cuts before the first mark are not tried: the store is not created yet.
    fn recording(&self) -> &Recording;

    /// Recovers what a cut has left. Returns whether it has the last commit.
    ///
    /// # Errors
    /// What is wrong with it.
    fn recover(&self, image: &CrashImage<'_>) -> Result<bool, String>;
}

/// The result of cutting the power.
#[derive(Debug, Default)]
pub struct CutReport {
    /// Images that were recovered.
    pub images: u64,
    /// Of these, how many do not have the last commit.
    pub rolled_back: u64,
    /// Those that are wrong.
    pub failures: Vec<CutFailure>,
}

/// An image that is wrong.
#[derive(Debug)]
pub struct CutFailure {
    /// The command that repeats the image.
    pub command: &'static str,
    /// The image.
    pub image: String,
    /// What is wrong with it.
    pub offence: String,
}

impl fmt::Display for CutFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, image, offence } = self;
        write!(out, "{image}: {offence}; repeat: cargo xtask {command} --image {image}")
    }
}

impl CutReport {
    /// Recovers an image, and counts the result.
    pub fn try_image<S: RecordedSession>(&mut self, session: &S, image: &CrashImage<'_>) {
        self.images += 1;
        match catch(|| session.recover(image)).unwrap_or_else(Err) {
            Ok(is_newest) => self.rolled_back += u64::from(!is_newest),
            Err(offence) => self.failures.push(CutFailure {
                command: S::COMMAND,
                image: image.id().to_string(),
                offence: format!("{offence} ({image})"),
            }),
        }
    }

    fn add(&mut self, other: Self) {
        self.images += other.images;
        self.rolled_back += other.rolled_back;
        self.failures.extend(other.failures);
    }

    /// Prints the result. Returns whether nothing is wrong.
    fn print<S: RecordedSession>(&self) -> bool {
        self.failures.iter().take(FAILURES_MAX).for_each(|failure| println!("{failure}"));
        let Self { images, rolled_back, failures } = self;
        let (command, wrong) = (S::COMMAND, failures.len());
        println!("{command}: {images} images recovered, {rolled_back} of them without the last commit, {wrong} wrong");
        failures.is_empty()
    }
}

/// Records a session, and recovers so many of the images that power cuts may leave of it, spread evenly; with
/// `stop_early` until one of them is wrong.
///
/// # Errors
/// Why the session could not be recorded.
pub fn cut_power<S: RecordedSession>(seed: u64, images: u64, stop_early: bool) -> Result<CutReport, String> {
    let session = S::record(seed)?;
    let recording = session.recording();
    let created = recording.marks().first().map_or(0, |mark| mark.operations);
    let candidates = || recording.images(seed, Kinds::default()).since(created);
    let all = candidates().count() as u64;
    let (mut report, mut random) = (CutReport::default(), Random::for_part(seed, &[2]));
    for (index, image) in (0..all).zip(candidates()) {
        let missing = images.saturating_sub(report.images);
        if missing == 0 || (stop_early && !report.failures.is_empty()) {
            break;
        }
        // As many of those that are left as are missing: exact and even.
        if random.chance(missing, (all - index).max(missing)) {
            report.try_image(&session, &image);
        }
    }
    Ok(report)
}

/// Cuts the power under so many sessions that there are `images` images, and prints the result. With `image`, recovers
/// this one alone: `SEED:OPERATIONS:KIND`, as a failure names it. Returns whether nothing is wrong.
///
/// # Errors
/// What is wrong with the id, or why a session could not be recorded.
pub fn run_cuts<S: RecordedSession>(seed: u64, images: u64, image: Option<&str>) -> Result<bool, String> {
    let mut total = CutReport::default();
    if let Some(image) = image {
        let id: ImageId = image.parse()?;
        let session = S::record(id.seed())?;
        total.try_image(&session, &session.recording().image(id));
        return Ok(total.print::<S>());
    }
    println!("{}: seed {seed}", S::COMMAND);
    let start = Instant::now();
    for session in 0.. {
        total.add(cut_power::<S>(seed.wrapping_add(session), OF_ONE.min(images - total.images), false)?);
        if total.images >= images || total.failures.len() > FAILURES_MAX {
            break;
        }
    }
    println!("{:.0} s", start.elapsed().as_secs_f64());
    Ok(total.print::<S>())
}

/// Plants a fault in the engine, and cuts the power under a session until it is found, in so many images at most.
/// Returns whether it was found. Plants in the whole process: nothing else may use the engine meanwhile.
///
/// # Errors
/// Why the session could not be recorded.
pub fn run_planted<S: RecordedSession>(seed: u64, images: u64) -> Result<bool, String> {
    println!("{}: seed {seed}, pages are not synced before the meta that refers to them", S::COMMAND);
    plant(Some(Fault::NoSyncBeforeMeta));
    let report = cut_power::<S>(seed, images, true);
    plant(None);
    let report = report?;
    match report.failures.first() {
        Some(failure) => println!("{}: found after {} images: {}", S::COMMAND, report.images, failure.offence),
        None => println!("{}: NOT found in {} images", S::COMMAND, report.images),
    }
    Ok(!report.failures.is_empty())
}

/// Images of one session.
const OF_ONE: u64 = 400;
const FAILURES_MAX: usize = 20;
