//! Power cuts under a database of facts: whatever the disk holds after one, the database opens, and has the facts after
//! some batch that is not older than the last durable one. It is complete if the completion has ended, and can be
//! completed otherwise. A backup and an image that open are whole. A database that is stacked on it has the facts of
//! its batch, or none.

use fulgurite::Durability;
use fulgurite_facts::{State, Store};
use fulgurite_testkit::cuts::RecordedSession;
use fulgurite_testkit::{CrashImage, Recording};

use crate::contents::{Contents, predicate_id};
use crate::workload::{
    BACKED_UP, BACKUP, BEGUN, COMPLETE, COMPLETING, DURABLE, Ended, IMAGED, LOGGED, PATH, STACK_COMPLETE, Session,
    open, open_image, open_stacked,
};

/// A session that was recorded, and what the database has after each of its batches.
#[derive(Debug)]
pub struct FactSession {
    recording: Recording,
    states: Vec<Contents>,
    stacked: Contents,
}

impl RecordedSession for FactSession {
    const COMMAND: &'static str = "facts";

    fn record(seed: u64) -> Result<Self, String> {
        let failed = |error| format!("seed {seed}: the session failed: {error}");
        let mut session = Session::new(seed).map_err(failed)?;
        session.run().map_err(failed)?;
        let Ended { disk, states, stacked } = session.end();
        Ok(Self { recording: disk.recording(), states, stacked })
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
        let disk = image.disk();
        let store = open(&disk, PATH, Durability::Disk).map_err(failed("it does not open"))?;
        let state = self.find(&store, durable, begun)?;
        let found = store.state().map_err(failed("it has no state"))?;
        let allowed = match (image.newest_mark(COMPLETING) > 0, image.newest_mark(COMPLETE) > 0) {
            (_, true) => &[State::Complete][..],
            (true, false) => &[State::Incomplete, State::Finalising, State::Complete],
            (false, false) => &[State::Incomplete],
        };
        if !allowed.contains(&found) {
            return Err(format!("it is {found:?}, and not one of {allowed:?}"));
        }
        let contents = end(&store, &self.states[state], found)?;
        check(&store, &contents)?;
        check_copy("backup", open(&disk, BACKUP, Durability::Disk), &contents, image.newest_mark(BACKED_UP) > 0)?;
        check_copy("image", open_image(&disk), &contents, image.newest_mark(IMAGED) > 0)?;
        let stack = open_stacked(&disk, &store);
        check_stack(stack, &contents, &self.stacked, image.newest_mark(STACK_COMPLETE) > 0)?;
        Ok(state == begun)
    }
}

impl FactSession {
    /// The newest state that the database has.
    fn find(&self, store: &Store, durable: usize, begun: usize) -> Result<usize, String> {
        for state in (durable..=begun).rev() {
            if self.states[state].compare(store)? {
                return Ok(state);
            }
        }
        Err(format!("it has the facts after no batch ({durable} durable, {begun} begun)"))
    }
}

/// Writes to the database if that is possible still, and completes it if it is not complete.
fn end(store: &Store, contents: &Contents, state: State) -> Result<Contents, String> {
    let failed = |what: &'static str| move |error| format!("{what}: {error}");
    let mut contents = contents.clone();
    if state == State::Incomplete {
        let key = b"after the cut";
        let mut batch = store.batch().map_err(failed("it takes no batch"))?;
        batch.define(predicate_id(0), key, b"").map_err(failed("it takes no fact"))?;
        batch.commit(None).map_err(failed("it takes no commit"))?;
        contents.define(0, key, b"").ok_or("the key has another value")?;
        check(store, &contents)?;
    }
    if state != State::Complete {
        store.complete(|_, _| Ok(())).map_err(failed("it cannot be completed"))?;
    }
    Ok(contents)
}

fn check(store: &Store, contents: &Contents) -> Result<(), String> {
    if !contents.compare(store)? {
        return Err("it has other facts than were written to it".into());
    }
    let check = store.database().expect("it is in the engine").check();
    let check = check.map_err(|error| format!("it cannot be checked: {error}"))?;
    if check.is_sound() { Ok(()) } else { Err(format!("it is not sound: {:?}", check.damages)) }
}

/// If the copying has ended, the copy is there and whole. Otherwise the copy is absent, refused, or whole.
fn check_copy(
    what: &str,
    opened: fulgurite_facts::Result<Store>,
    contents: &Contents,
    is_ended: bool,
) -> Result<(), String> {
    match opened {
        Ok(copy) => check(&copy, contents).map_err(|offence| format!("the {what}: {offence}")),
        Err(error) if is_ended => Err(format!("the {what} does not open: {error}")),
        Err(_) => Ok(()),
    }
}

/// A stacked database that was completed is complete. Otherwise it is absent, refused, or can be completed, with the
/// facts of its batch or none of its own.
fn check_stack(
    opened: fulgurite_facts::Result<Store>,
    base: &Contents,
    stacked: &Contents,
    is_ended: bool,
) -> Result<(), String> {
    let store = match opened {
        Ok(store) => store,
        Err(error) if is_ended => return Err(format!("the stacked database does not open: {error}")),
        Err(_) => return Ok(()),
    };
    let failed = |error| format!("the stacked database: {error}");
    let state = store.state().map_err(failed)?;
    if is_ended && state != State::Complete {
        return Err(format!("the stacked database is {state:?}"));
    }
    let has_batch = is_ended || stacked.compare(&store)?;
    if state != State::Complete {
        store.complete(|_, _| Ok(())).map_err(failed)?;
    }
    let contents = if has_batch { stacked } else { base };
    check(&store, contents).map_err(|offence| format!("the stacked database: {offence}"))
}

#[cfg(test)]
mod tests {
    use fulgurite_testkit::ImageId;
    use fulgurite_testkit::cuts::{CutReport, cut_power};

    use super::*;

    #[test]
    fn a_session_is_recovered_from_cuts_anywhere_in_it() {
        let report = cut_power::<FactSession>(1, 60, false).expect("it is recorded");
        assert!(report.failures.is_empty(), "{}", report.failures[0]);
        assert!(report.images == 60 && report.rolled_back > 0, "{report:?}");
    }

    #[test]
    fn a_database_with_facts_that_no_batch_wrote_is_reported() {
        let mut recorded = FactSession::record(2).expect("it is recorded");
        for state in &mut recorded.states {
            state.define(1, b"never", b"").expect("a new key");
        }
        let id = ImageId::everything(recorded.recording.operations().len());
        let mut report = CutReport::default();
        report.try_image(&recorded, &recorded.recording.image(id));
        assert!(report.failures[0].offence.contains("after no batch"), "{report:?}");
    }
}
