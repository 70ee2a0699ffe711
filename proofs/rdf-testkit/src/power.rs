//! Power cuts under a store: whatever the disk holds after one, the store opens, is sound, and holds what it held after
//! some commit that is not older than the last one known to be durable.

use std::fmt;

use fulgurite::planted::{Fault, plant};
use fulgurite_rdf::Order;
use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, Quad};
use fulgurite_testkit::panics::catch;
use fulgurite_testkit::{CrashImage, ImageId, Kinds, Random, Recording};

use crate::contents::Contents;
use crate::workload::{BEGUN, DURABLE, LOGGED, Session, open};

/// What came of cutting the power.
#[derive(Debug, Default)]
pub struct PowerReport {
    /// Images that were recovered.
    pub images: u64,
    /// Of these, how many held something else than the last commit: cuts that undid something.
    pub rolled_back: u64,
    /// Those that were wrong.
    pub failures: Vec<Failure>,
}

/// An image that was wrong.
#[derive(Debug)]
pub struct Failure {
    /// Which one: to be given to [`repeat`].
    pub image: String,
    /// What was wrong with it.
    pub offence: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}; repeat: cargo xtask quads power --image {}", self.image, self.offence, self.image)
    }
}

/// Records a session and recovers so many of the images that power cuts may leave of it, spread evenly; with
/// `stop_early` until one of them is wrong.
///
/// # Errors
/// Why the session could not be recorded.
pub fn cut_power(seed: u64, images: u64, stop_early: bool) -> Result<PowerReport, String> {
    let recorded = Recorded::new(seed)?;
    let mut report = PowerReport::default();
    let kinds = Kinds::default();
    let all = recorded.recording.images(seed, kinds).since(recorded.prepared()).count() as u64;
    let mut random = Random::for_part(seed, &[2]);
    for (index, image) in (0..all).zip(recorded.recording.images(seed, kinds).since(recorded.prepared())) {
        let missing = images.saturating_sub(report.images);
        if missing == 0 || (stop_early && !report.failures.is_empty()) {
            break;
        }
        // As many of those that are left as are missing: exact and even.
        if random.chance(missing, (all - index).max(missing)) {
            recorded.try_image(&image, &mut report);
        }
    }
    Ok(report)
}

/// Plants a fault in the engine and cuts the power until it shows, in so many images at most. Plants in the whole
/// process: nothing else may use the engine meanwhile.
///
/// # Errors
/// As [`cut_power`].
pub fn find_planted(seed: u64, images: u64) -> Result<PowerReport, String> {
    plant(Some(Fault::NoSyncBeforeMeta));
    let report = cut_power(seed, images, true);
    plant(None);
    report
}

/// Recovers one image again: `SEED:OPERATIONS:KIND`, as [`Failure`] prints it.
///
/// # Errors
/// What is wrong with the id, or why the session could not be recorded.
pub fn repeat(image: &str) -> Result<PowerReport, String> {
    let id: ImageId = image.parse()?;
    let recorded = Recorded::new(id.seed())?;
    let mut report = PowerReport::default();
    recorded.try_image(&recorded.recording.image(id), &mut report);
    Ok(report)
}

/// A session that was recorded, and what the store held after each of its commits.
struct Recorded {
    recording: Recording,
    orders: Vec<Order>,
    states: Vec<Contents>,
}

impl Recorded {
    fn new(seed: u64) -> Result<Self, String> {
        let failed = |error| format!("seed {seed}: the session failed: {error}");
        let mut session = Session::new(seed).map_err(failed)?;
        session.run().map_err(failed)?;
        let orders = session.orders();
        let (disk, states) = session.into_parts();
        Ok(Self { recording: disk.recording(), orders, states })
    }

    /// From how many operations on the empty store is there.
    fn prepared(&self) -> usize {
        self.recording.marks().first().map_or(0, |mark| mark.operations)
    }

    fn try_image(&self, image: &CrashImage<'_>, report: &mut PowerReport) {
        report.images += 1;
        match catch(|| self.recover(image)).unwrap_or_else(Err) {
            Ok(is_newest) => report.rolled_back += u64::from(!is_newest),
            Err(offence) => {
                report
                    .failures
                    .push(Failure { image: image.id().to_string(), offence: format!("{offence} ({image})") });
            }
        }
    }

    /// Opens what a power cut has left. Returns whether it is the last commit.
    fn recover(&self, image: &CrashImage<'_>) -> Result<bool, String> {
        let newest = |label| image.marks().iter().rev().find(|mark| mark.label == label).map_or(0, |mark| mark.number);
        let begun = newest(BEGUN) as usize;
        // Where nothing is lost only the process has died.
        let logged = if image.keeps_everything() { newest(LOGGED) } else { 0 };
        let durable = newest(DURABLE).max(logged) as usize;
        let failed = |what: &'static str| move |error| format!("{what}: {error}");
        let store = open(&image.disk()).map_err(failed("it does not open"))?;
        if store.orders() != self.orders {
            return Err(format!("it has the orders {:?}", store.orders()));
        }
        let found = store.snapshot().and_then(|snapshot| Contents::read(&snapshot));
        let found = found.map_err(failed("it cannot be read"))?;
        let check = store.check().map_err(failed("it cannot be checked"))?;
        if !check.is_sound() {
            return Err(format!("it is not sound: {:?} {:?}", check.pages.damages, check.defects));
        }
        if check.quads != found.len() as u64 {
            return Err(format!("it has {} quads, and {} that differ", check.quads, found.len()));
        }
        let Some(state) = (durable..=begun).rev().find(|&state| self.states[state] == found) else {
            let other = self.states.iter().position(|state| *state == found);
            return Err(match other {
                Some(other) => format!("it holds commit {other}, of {durable} durable and {begun} begun"),
                None => {
                    format!("it holds {} quads, as after no commit ({durable} durable, {begun} begun)", found.len())
                }
            });
        };
        let after = Quad::new(
            NamedNode::new_unchecked("http://example.org/after"),
            NamedNode::new_unchecked("http://example.org/the/cut"),
            Literal::new_simple_literal("a text that is not its own number"),
            GraphName::DefaultGraph,
        );
        store.update(|txn| txn.insert(&after)).map_err(failed("it takes no quad"))?;
        let mut expected = found;
        expected.insert(&after);
        let found = store.snapshot().and_then(|snapshot| Contents::read(&snapshot));
        if found.map_err(failed("it cannot be read after a commit"))? != expected {
            return Err("a commit after the cut left something else than it said".into());
        }
        let check = store.check().map_err(failed("it cannot be checked"))?;
        if !check.is_sound() {
            return Err(format!("it is not sound after a commit: {:?}", check.defects));
        }
        Ok(state == begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_recovered_from_cuts_anywhere_in_it() {
        let report = cut_power(1, 60, false).expect("it is recorded");
        assert!(report.failures.is_empty(), "{}", report.failures[0]);
        assert!(report.images == 60 && report.rolled_back > 0, "{report:?}");
    }

    #[test]
    fn an_image_that_holds_what_no_commit_left_is_told() {
        let mut recorded = Recorded::new(2).expect("it is recorded");
        let newest = recorded.states.len() - 1;
        for state in &mut recorded.states {
            state.set_namespace("never", "http://example.org/never/");
        }
        let id = ImageId::everything(recorded.recording.operations().len());
        let mut report = PowerReport::default();
        recorded.try_image(&recorded.recording.image(id), &mut report);
        assert!(newest > 5 && report.failures[0].offence.contains("as after no commit"), "{report:?}");
    }
}
