//! A small store in memory, whose transactions are interleaved by a seed, in many sound and broken variants.
//!
//! All versions of all keys are kept with the sequence of their commit. A transaction reads the versions of its
//! snapshot and keeps its writes to itself until it commits; a fault breaks one rule of that.

use std::collections::{BTreeMap, BTreeSet};

use super::super::*;
use crate::random::Random;

/// How commits are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// One transaction runs at a time.
    Serial,
    /// Of two that write the same key at the same time one aborts.
    Snapshot,
    /// What was read must not have been written since.
    Serializable,
}

/// A rule that is broken, sometimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Commits do not look whether a key that they write was written since their snapshot.
    LostUpdate,
    /// Reads see what others have not committed yet.
    DirtyRead,
    /// A transaction begins with an old snapshot.
    StaleSnapshot,
    /// Commits look at the keys that were read, and not at those that ranges did not have.
    Phantom,
    /// A commit becomes visible in two parts.
    FracturedCommit,
    /// A commit is acknowledged and forgotten.
    LostCommit,
    /// A crash keeps a commit and loses one before it.
    NonPrefixCrash,
    /// Two commits change places for a part of their keys.
    ReorderedCommits,
    /// Reads see the newest version and not that of the snapshot.
    NewestRead,
    /// An aborted transaction leaves one of its writes.
    AbortedWrite,
    /// A commit leaves the first of its writes to a key instead of the last.
    FirstWrite,
    /// A transaction does not see its own writes.
    OwnWriteUnseen,
    /// An append is done twice.
    AppendedTwice,
}

/// A run to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub seed: u64,
    pub promise: Promise,
    pub fault: Option<Fault>,
    pub transactions: usize,
    pub processes: usize,
    pub keys: u64,
    /// Whether registers are deleted, so that an absence may be one of several.
    pub deletions: bool,
    /// Whether the engine reports its sequences.
    pub numbered: bool,
    /// Whether the run ends with a crash.
    pub crash: bool,
}

/// A key of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    List(u64),
    Register(u64),
}

/// A change of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Append(Value),
    Write(Value),
    Delete,
}

/// A transaction that runs.
struct Active {
    recorded: Transaction,
    snapshot: u64,
    planned: usize,
    changes: Vec<(Place, Change)>,
    read: BTreeSet<Place>,
    ranges: Vec<(u64, u64)>,
    /// The rest of a commit that is visible in part.
    rest: Option<Vec<(Place, Change)>>,
}

struct Store {
    run: Run,
    random: Random,
    clock: u64,
    sequence: u64,
    /// The changes of each key, by the sequence of their commits.
    changes: BTreeMap<Place, Vec<(u64, Change)>>,
    next_value: u64,
    finished: Vec<Transaction>,
    commits: Vec<(u64, Vec<(Place, Change)>)>,
}

/// Simulates.
pub fn simulate(run: Run) -> History {
    let mut store = Store {
        run,
        random: Random::new(run.seed),
        clock: 0,
        sequence: 0,
        changes: BTreeMap::new(),
        next_value: 0,
        finished: Vec::new(),
        commits: Vec::new(),
    };
    let mut initial = Content::default();
    for key in 0..run.keys / 2 {
        let value = store.value();
        initial.registers.insert(Key(key), value);
        store.changes.insert(Place::Register(key), vec![(0, Change::Write(value))]);
        let value = store.value();
        initial.lists.insert(Key(key), vec![value]);
        store.changes.insert(Place::List(key), vec![(0, Change::Append(value))]);
    }
    let mut processes: Vec<Option<Active>> = (0..run.processes).map(|_| None).collect();
    while store.finished.len() < run.transactions {
        let at = match processes.iter().position(Option::is_some).filter(|_| run.promise == Promise::Serial) {
            Some(running) => running,
            None => store.random.index(run.processes),
        };
        processes[at] = match processes[at].take() {
            None => Some(store.begin(at as u32)),
            Some(active) => store.step(active, &mut processes),
        };
    }
    store.end(processes, initial)
}

impl Store {
    fn value(&mut self) -> Value {
        self.next_value += 1;
        Value(self.next_value)
    }

    fn tick(&mut self) -> Tick {
        self.clock += 1;
        Tick(self.clock)
    }

    fn strikes(&mut self, fault: Fault) -> bool {
        self.run.fault == Some(fault) && self.random.chance(1, 10)
    }

    fn begin(&mut self, process: u32) -> Active {
        let begin = self.tick();
        let stale = if self.strikes(Fault::StaleSnapshot) { 5 } else { 0 };
        let snapshot = self.sequence.saturating_sub(stale);
        let recorded = Transaction {
            process: Process(process),
            operations: Vec::new(),
            outcome: Outcome::Committed,
            begin,
            end: begin,
            snapshot: self.run.numbered.then_some(Sequence(snapshot)),
            sequence: None,
            durability: [Durability::Memory, Durability::Log, Durability::Disk][self.random.index(3)],
        };
        let planned = 1 + self.random.index(6);
        let (changes, read, ranges) = (Vec::new(), BTreeSet::new(), Vec::new());
        Active { recorded, snapshot, planned, changes, read, ranges, rest: None }
    }

    fn step(&mut self, mut active: Active, others: &mut [Option<Active>]) -> Option<Active> {
        // The second part waits, so that others see the first one alone.
        if active.rest.is_some() && self.random.chance(3, 4) {
            return Some(active);
        }
        if let Some(rest) = active.rest.take() {
            let sequence = self.sequence;
            self.apply(sequence, &rest);
            return self.finish(active, Outcome::Committed);
        }
        if active.planned == 0 {
            return self.commit(active);
        }
        active.planned -= 1;
        self.operate(&mut active, others);
        Some(active)
    }

    fn operate(&mut self, active: &mut Active, others: &[Option<Active>]) {
        let key = self.random.below(self.run.keys);
        match self.random.below(8) {
            0 => {
                let elements = self.read_list(active, key, others);
                active.recorded.operations.push(Operation::ReadList { key: Key(key), elements });
            }
            1 | 2 => {
                if self.random.coin() {
                    let elements = self.read_list(active, key, others);
                    active.recorded.operations.push(Operation::ReadList { key: Key(key), elements });
                }
                let element = self.value();
                active.recorded.operations.push(Operation::Append { key: Key(key), element });
                active.changes.push((Place::List(key), Change::Append(element)));
            }
            3 => {
                let value = self.read_register(active, key, others);
                active.read.insert(Place::Register(key));
                active.recorded.operations.push(Operation::Read { key: Key(key), value });
            }
            4 => {
                let high = key + 1 + self.random.below(4);
                let found = |key| Some((Key(key), self.read_register(active, key, others)?));
                let entries = (key..high).filter_map(found).collect();
                active.ranges.push((key, high));
                active.recorded.operations.push(Operation::ReadRange { low: Key(key), high: Key(high), entries });
            }
            choice => {
                if self.random.chance(3, 4) {
                    let value = self.read_register(active, key, others);
                    active.read.insert(Place::Register(key));
                    active.recorded.operations.push(Operation::Read { key: Key(key), value });
                }
                if choice == 5 && self.run.deletions {
                    active.recorded.operations.push(Operation::Delete { key: Key(key) });
                    active.changes.push((Place::Register(key), Change::Delete));
                } else {
                    let value = self.value();
                    active.recorded.operations.push(Operation::Write { key: Key(key), value });
                    active.changes.push((Place::Register(key), Change::Write(value)));
                }
            }
        }
    }

    /// What a transaction finds: its snapshot, then its own changes.
    fn visible(&self, active: &Active, place: Place, others: &[Option<Active>]) -> Vec<Change> {
        let newest = self.run.fault == Some(Fault::NewestRead);
        let snapshot = if newest { u64::MAX } else { active.snapshot };
        let committed = self.changes.get(&place).into_iter().flatten();
        let mut changes: Vec<Change> =
            committed.filter(|(sequence, _)| *sequence <= snapshot).map(|(_, change)| *change).collect();
        let mut add = |active: &Active| {
            let own = active.changes.iter().filter(|(changed, _)| *changed == place);
            changes.extend(own.map(|(_, change)| *change));
        };
        if self.run.fault == Some(Fault::DirtyRead) && active.recorded.begin.0.is_multiple_of(5) {
            others.iter().flatten().for_each(&mut add);
        }
        if self.run.fault != Some(Fault::OwnWriteUnseen) {
            add(active);
        }
        changes
    }

    fn read_list(&mut self, active: &mut Active, key: u64, others: &[Option<Active>]) -> Vec<Value> {
        active.read.insert(Place::List(key));
        elements(&self.visible(active, Place::List(key), others))
    }

    fn read_register(&self, active: &Active, key: u64, others: &[Option<Active>]) -> Option<Value> {
        register(&self.visible(active, Place::Register(key), others))
    }

    fn commit(&mut self, mut active: Active) -> Option<Active> {
        let read_only = active.changes.is_empty();
        if !read_only && (self.conflicts(&active) || self.random.chance(1, 20)) {
            if self.strikes(Fault::AbortedWrite) {
                self.sequence += 1;
                let (sequence, first) = (self.sequence, active.changes[0]);
                self.apply(sequence, &[first]);
            }
            return self.finish(active, Outcome::Aborted);
        }
        if read_only {
            return self.finish(active, Outcome::Committed);
        }
        self.sequence += 1;
        let sequence = self.sequence;
        active.recorded.sequence = self.run.numbered.then_some(Sequence(sequence));
        let mut changes = active.changes.clone();
        if self.strikes(Fault::FirstWrite) {
            let mut seen = BTreeSet::new();
            changes.retain(|(place, change)| matches!(change, Change::Append(_)) || seen.insert(*place));
        }
        if self.strikes(Fault::AppendedTwice) {
            let appended = changes.iter().find(|(_, change)| matches!(change, Change::Append(_))).copied();
            changes.extend(appended);
        }
        self.commits.push((sequence, changes.clone()));
        if self.strikes(Fault::LostCommit) {
            return self.finish(active, Outcome::Committed);
        }
        if changes.len() > 1 && self.strikes(Fault::FracturedCommit) {
            active.rest = Some(changes.split_off(1));
            self.apply(sequence, &changes);
            return Some(active);
        }
        self.apply(sequence, &changes);
        if self.strikes(Fault::ReorderedCommits) {
            self.reorder(changes[0].0);
        }
        self.finish(active, Outcome::Committed)
    }

    fn conflicts(&mut self, active: &Active) -> bool {
        let overlooked = self.strikes(Fault::LostUpdate);
        let changed = |place: &Place| {
            let newest = self.changes.get(place).and_then(|changes| changes.last());
            newest.is_some_and(|(sequence, _)| *sequence > active.snapshot)
        };
        // Appends read their list, as a store would have to.
        let written = active.changes.iter().any(|(place, _)| changed(place));
        if written && !overlooked {
            return true;
        }
        if self.run.promise != Promise::Serializable {
            return false;
        }
        let absent = |place: &Place| {
            let changes = self.changes.get(place).into_iter().flatten();
            let seen: Vec<Change> =
                changes.filter(|(sequence, _)| *sequence <= active.snapshot).map(|(_, change)| *change).collect();
            register(&seen).is_none()
        };
        let in_ranges = active.ranges.iter().flat_map(|(low, high)| *low..*high).map(Place::Register);
        let blind = self.run.fault == Some(Fault::Phantom);
        let mut judged = in_ranges.filter(|place| !(blind && absent(place)));
        active.read.iter().any(changed) || judged.any(|place| changed(&place))
    }

    /// Puts the last two changes of a key in the other order.
    fn reorder(&mut self, place: Place) {
        let changes = self.changes.get_mut(&place).expect("it was just changed");
        if let [.., (_, one), (_, two)] = changes.as_mut_slice() {
            std::mem::swap(one, two);
        }
    }

    fn apply(&mut self, sequence: u64, changes: &[(Place, Change)]) {
        for (place, change) in changes {
            self.changes.entry(*place).or_default().push((sequence, *change));
        }
    }

    fn finish(&mut self, mut active: Active, outcome: Outcome) -> Option<Active> {
        active.recorded.outcome = outcome;
        active.recorded.end = self.tick();
        self.finished.push(active.recorded);
        None
    }

    fn end(mut self, processes: Vec<Option<Active>>, initial: Content) -> History {
        for mut active in processes.into_iter().flatten() {
            let begun = active.rest.take();
            let committing = self.run.crash && active.planned == 0 && begun.is_none() && !self.conflicts(&active);
            if committing {
                // The crash comes within the commit: the log may have it.
                self.sequence += 1;
                let (sequence, changes) = (self.sequence, active.changes.clone());
                self.apply(sequence, &changes);
                self.commits.push((sequence, changes));
                self.finish(active, Outcome::Indeterminate);
            } else if let Some(rest) = begun {
                let sequence = self.sequence;
                self.apply(sequence, &rest);
                self.finish(active, Outcome::Committed);
            } else {
                self.finish(active, Outcome::Aborted);
            }
        }
        let end = if self.run.crash { self.crash(&initial) } else { End::Closed(self.content(u64::MAX)) };
        History { initial, transactions: self.finished, end }
    }

    /// Recovers a prefix of the commits that has all of those that were to survive.
    fn crash(&mut self, initial: &Content) -> End {
        let survives = [Durability::Log, Durability::Disk][self.random.index(2)];
        let in_doubt = self.finished.iter().filter(|transaction| transaction.outcome == Outcome::Indeterminate).count();
        let mut acknowledged = self.finished.iter().filter(|one| one.outcome == Outcome::Committed && one.writes());
        let acknowledged_count = self.commits.len() - in_doubt;
        // Commits are in the order of their sequences, and their transactions ended in that order too.
        let durable = acknowledged.by_ref().enumerate().filter(|(_, one)| one.durability >= survives).last();
        let least = durable.map_or(0, |(at, _)| at + 1);
        let kept = least + self.random.index(acknowledged_count + in_doubt - least + 1);
        let mut survivors: Vec<_> = self.commits[..kept].to_vec();
        if self.run.fault == Some(Fault::NonPrefixCrash) {
            survivors = self.commits.clone();
            let appends = |(_, change): &(Place, Change)| matches!(change, Change::Append(_));
            let from = self.commits.len() / 2;
            // A register may be written again, which hides the loss. An element of a list stays.
            let lost = survivors[from..].iter().position(|(_, changes)| changes.iter().any(appends));
            survivors.remove(from + lost.expect("half of all commits append to a list"));
        }
        self.changes.clear();
        for (key, value) in &initial.registers {
            self.apply(0, &[(Place::Register(key.0), Change::Write(*value))]);
        }
        for (key, elements) in &initial.lists {
            elements.iter().for_each(|element| self.apply(0, &[(Place::List(key.0), Change::Append(*element))]));
        }
        survivors.iter().for_each(|(sequence, changes)| self.apply(*sequence, changes));
        End::Crashed { content: self.content(u64::MAX), survives, synced: None }
    }

    fn content(&self, snapshot: u64) -> Content {
        let mut content = Content::default();
        for (place, changes) in &self.changes {
            let changes: Vec<Change> =
                changes.iter().filter(|(sequence, _)| *sequence <= snapshot).map(|(_, change)| *change).collect();
            match place {
                Place::List(key) => drop(content.lists.insert(Key(*key), elements(&changes))),
                Place::Register(key) => content.registers.extend(register(&changes).map(|value| (Key(*key), value))),
            }
        }
        content
    }
}

fn elements(changes: &[Change]) -> Vec<Value> {
    let element = |change: &Change| if let Change::Append(element) = change { Some(*element) } else { None };
    changes.iter().filter_map(element).collect()
}

fn register(changes: &[Change]) -> Option<Value> {
    match changes.last() {
        Some(Change::Write(value)) => Some(*value),
        _ => None,
    }
}
