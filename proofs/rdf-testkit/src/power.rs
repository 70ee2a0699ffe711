//! Power cuts under a store: whatever the disk holds after one, the store opens, is sound, and holds what it held after
//! some commit that is not older than the last one known to be durable.

use fulgurite_rdf::Order;
use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, Quad};
use fulgurite_testkit::cuts::RecordedSession;
use fulgurite_testkit::{CrashImage, Recording};

use crate::contents::Contents;
use crate::workload::{BEGUN, DURABLE, LOGGED, Session, open};

/// A session that was recorded, and what the store held after each of its commits.
#[derive(Debug)]
pub struct QuadSession {
    recording: Recording,
    orders: Vec<Order>,
    states: Vec<Contents>,
}

impl RecordedSession for QuadSession {
    const COMMAND: &'static str = "quads power";

    fn record(seed: u64) -> Result<Self, String> {
        let failed = |error| format!("seed {seed}: the session failed: {error}");
        let mut session = Session::new(seed).map_err(failed)?;
        session.run().map_err(failed)?;
        let orders = session.orders();
        let (disk, states) = session.into_parts();
        Ok(Self { recording: disk.recording(), orders, states })
    }

    fn recording(&self) -> &Recording {
        &self.recording
    }

    fn recover(&self, image: &CrashImage<'_>) -> Result<bool, String> {
        let begun = image.newest_mark(BEGUN) as usize;
        // Where nothing is lost only the process has died.
        let logged = if image.keeps_everything() { image.newest_mark(LOGGED) } else { 0 };
        let durable = image.newest_mark(DURABLE).max(logged) as usize;
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
    use fulgurite_testkit::ImageId;
    use fulgurite_testkit::cuts::{CutReport, cut_power};

    use super::*;

    #[test]
    fn a_session_is_recovered_from_cuts_anywhere_in_it() {
        let report = cut_power::<QuadSession>(1, 60, false).expect("it is recorded");
        assert!(report.failures.is_empty(), "{}", report.failures[0]);
        assert!(report.images == 60 && report.rolled_back > 0, "{report:?}");
    }

    #[test]
    fn an_image_that_holds_what_no_commit_left_is_reported() {
        let mut recorded = QuadSession::record(2).expect("it is recorded");
        let newest = recorded.states.len() - 1;
        for state in &mut recorded.states {
            state.set_namespace("never", "http://example.org/never/");
        }
        let id = ImageId::everything(recorded.recording.operations().len());
        let mut report = CutReport::default();
        report.try_image(&recorded, &recorded.recording.image(id));
        assert!(newest > 5 && report.failures[0].offence.contains("as after no commit"), "{report:?}");
    }
}
