//! The states that a workload brings its database through, and which of them a power cut may leave.

use std::sync::Arc;

use crate::crash_images::CrashImage;
use crate::crash_recording::Mark;
use crate::holdings::Holdings;

/// Notes in a recording. Each has the number of a state.
pub mod label {
    /// The commit that leads to this state was begun: it may be found from here on.
    pub const BEGUN: &str = "begun";
    /// The state is in the page cache: it survives the process.
    pub const LOGGED: &str = "logged";
    /// The state is durable: it survives a power cut.
    pub const DURABLE: &str = "durable";
}

/// The states in order. State 0 is the empty database.
#[derive(Clone, Debug)]
pub struct History {
    states: Vec<Arc<Holdings>>,
    counted_through: u64,
}

/// What may be found after a crash.
#[derive(Clone, Debug)]
pub struct Expected {
    /// All states that there ever were, in order.
    pub states: Vec<Arc<Holdings>>,
    /// The oldest that may be found: all that was acknowledged is in it.
    pub oldest: usize,
    /// The newest: no commit after it was begun.
    pub newest: usize,
    /// Whether there may be no database yet.
    pub may_be_absent: bool,
    /// See [`History::stop_counting`].
    pub counted_through: u64,
}

impl Default for History {
    fn default() -> Self {
        Self { states: vec![Arc::default()], counted_through: u64::MAX }
    }
}

impl History {
    /// Adds the state that a commit leads to, and answers its number.
    pub fn push(&mut self, holdings: Holdings) -> u64 {
        self.states.push(Arc::new(holdings));
        self.newest_number()
    }

    /// Takes the newest state back: its commit failed.
    pub fn pop(&mut self) {
        self.states.pop();
    }

    /// From the newest state on, the numbers of states may differ from those of commits: a load that fails leaves a
    /// note, which takes a number and leads to no other state, and a commit that changes nothing takes none.
    pub fn stop_counting(&mut self) {
        self.counted_through = self.counted_through.min(self.newest_number());
    }

    /// The newest state.
    ///
    /// # Panics
    /// Never: state 0 stays.
    pub fn newest(&self) -> &Arc<Holdings> {
        self.states.last().expect("the empty database is always there")
    }

    /// The number of the newest state.
    pub fn newest_number(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    /// All states.
    pub fn states(&self) -> &[Arc<Holdings>] {
        &self.states
    }

    /// What an image may hold.
    pub fn expected(&self, image: &CrashImage<'_>) -> Expected {
        let marks = image.marks();
        let durable = newest(marks, label::DURABLE);
        // Where everything that was written reached the medium, it is as if only the process had died.
        let logged = if image.keeps_everything() { newest(marks, label::LOGGED) } else { None };
        let oldest = durable.max(logged);
        Expected {
            states: self.states.clone(),
            oldest: oldest.unwrap_or(0),
            // A commit that failed has left its mark, but not its state.
            newest: newest(marks, label::BEGUN).unwrap_or(0).min(self.states.len() - 1),
            may_be_absent: oldest.is_none(),
            counted_through: self.counted_through,
        }
    }
}

impl Expected {
    /// Only this one of the states, as the newest.
    pub fn exactly(&self, number: usize) -> Self {
        let states = self.states[..=number].to_vec();
        Self { states, oldest: number, newest: number, may_be_absent: false, counted_through: self.counted_through }
    }

    /// This, and one more state that may be found.
    pub fn or(mut self, holdings: Arc<Holdings>) -> Self {
        self.states.truncate(self.newest + 1);
        self.states.push(holdings);
        self.newest += 1;
        self
    }

    /// The number of the newest state with this digest, of those that may be found.
    pub fn find(&self, digest: u64) -> Option<usize> {
        (self.oldest..=self.newest).rev().find(|&number| self.states[number].digest() == digest)
    }

    /// The number of the newest state with this digest that is too old.
    pub fn find_lost(&self, digest: u64) -> Option<usize> {
        (0..self.oldest).rev().find(|&number| self.states[number].digest() == digest)
    }
}

/// The largest number of the notes with this label.
pub fn newest(marks: &[Mark], label: &str) -> Option<usize> {
    marks.iter().filter(|mark| mark.label == label).map(|mark| mark.number as usize).max()
}
