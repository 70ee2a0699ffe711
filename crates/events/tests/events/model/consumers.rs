//! Consumers: positions of programs, a view of all streams, and a view that the members of a group fill.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite::{Read, WriteTxn};
use fulgurite_events::{Event, Partition, Position, Result, Snapshot, View, ViewContext};

use super::run::Run;
use super::state::Totals;

impl Run {
    /// Stores the position of a program, within a transaction or by a call of its own.
    pub fn set_position(&mut self) {
        let name = format!("reader {}", self.random.below(3));
        let position = self.random.below(self.model.head() + 1);
        let outcome = match self.random.one_in(2) {
            true => self.store.set_consumer_position(&name, Position(position)),
            false => self.store.transact(|t| t.set_consumer_position(&name, Position(position))),
        };
        outcome.unwrap();
        self.model.consumers.insert(name, position);
    }

    pub fn run_view(&mut self) {
        self.fold(WHOLE, Partition::ALL);
    }

    pub fn run_member(&mut self) {
        let index = self.random.below(u64::from(MEMBERS)) as u32;
        self.fold(GROUP, member(index));
    }

    fn fold(&mut self, name: &'static str, partition: Partition) {
        let streams = self.streams_of(partition);
        let view = view(name).partition(partition).batch_events(20 + self.random.below(400));
        let progress = self.store.run_view(&view, add).unwrap();
        let (consumer, head) = (partition.consumer(name), self.model.head());
        let before = self.model.consumers.get(&consumer).copied().unwrap_or_default();
        let from = before.max(self.model.start);
        let events = self.model.fold(name, from, |stream| streams.contains(stream));
        let found = (progress.events, progress.position.0, progress.missed);
        assert_eq!(found, (events, head, from - before), "events, position and missed of {consumer}");
        if head > before {
            self.model.consumers.insert(consumer, head);
        }
    }

    /// The streams of a member. Checks that each stream is that of one member.
    fn streams_of(&self, partition: Partition) -> BTreeSet<String> {
        let snapshot = self.store.snapshot().unwrap();
        let mut streams = BTreeSet::new();
        for name in self.model.streams.keys() {
            let stream = snapshot.stream_id(name).unwrap().unwrap();
            assert_eq!((0..MEMBERS).filter(|index| member(*index).contains(stream)).count(), 1, "{name}");
            if partition.contains(stream) {
                streams.insert(name.clone());
            }
        }
        streams
    }

    /// Drops a view, or folds it again from the first event that is left.
    pub fn renew_view(&mut self) {
        let name = if self.random.one_in(2) { WHOLE } else { GROUP };
        let members: Vec<String> = (0..MEMBERS).map(|index| member(index).consumer(name)).collect();
        let is_group = members.iter().any(|member| self.model.consumers.contains_key(member));
        let (drops, head) = (self.random.one_in(3), self.model.head());
        self.model.views.remove(name);
        // A group is not rebuilt before a member has run: the others would fold again what the rebuilt view has.
        if drops || head == 0 || (name == GROUP && !is_group) {
            self.store.drop_view(&view(name)).unwrap();
            self.model.consumers.remove(name);
            for member in &members {
                self.model.consumers.remove(member);
            }
            return;
        }
        let progress = self.store.rebuild_view(&view(name), add).unwrap();
        let start = self.model.start;
        let events = self.model.fold(name, start, |_| true);
        let found = (progress.events, progress.position.0, progress.missed);
        assert_eq!(found, (events, head, start), "events, position and missed of {name}");
        self.model.consumers.insert(name.to_owned(), head);
        if is_group {
            self.model.consumers.extend(members.into_iter().map(|member| (member, head)));
        }
    }

    /// Compares positions of consumers and tables of views.
    pub fn check_consumers(&self, snapshot: &Snapshot) {
        let consumers = snapshot.consumers().unwrap().into_iter().map(|(name, position)| (name, position.0));
        assert_eq!(consumers.collect::<BTreeMap<_, _>>(), self.model.consumers);
        for index in 0..3 {
            let name = format!("reader {index}");
            let expected = self.model.consumers.get(&name).copied().unwrap_or_default();
            assert_eq!(snapshot.consumer_position(&name).unwrap(), Position(expected), "{name}");
        }
        for name in [WHOLE, GROUP] {
            let expected = self.model.views.get(name).cloned().unwrap_or_default();
            assert_eq!(totals(snapshot, name), expected, "the view {name}");
        }
    }
}

fn view(name: &str) -> View {
    View::new(name).table(table_name(name), Default::default())
}

fn table_name(view: &str) -> String {
    format!("{view} totals")
}

fn member(index: u32) -> Partition {
    Partition::new(index, MEMBERS).unwrap()
}

/// Adds an event to the totals of its stream.
fn add(txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>) -> Result<()> {
    let (table, stream) = (context.table(0), context.snapshot().stream_name(event.stream)?);
    let [events, positions, bytes] = txn.get(table, &stream)?.map_or([0; 3], |value| numbers(&value));
    let after = [events + 1, positions + event.position.0, bytes + event.payload.len() as u64];
    Ok(txn.put(table, &stream, after.map(u64::to_le_bytes).concat())?)
}

/// The table of a view. Empty if there is none.
fn totals(snapshot: &Snapshot, view: &str) -> Totals {
    let txn = snapshot.txn();
    let Ok(table) = txn.open_table(&table_name(view)) else { return Totals::new() };
    let entries = txn.range(&table, ..).unwrap().map(|entry| {
        let (key, value) = entry.unwrap();
        (String::from_utf8(key.to_vec()).unwrap(), numbers(&value))
    });
    entries.collect()
}

fn numbers(value: &[u8]) -> [u64; 3] {
    [0, 8, 16].map(|at| u64::from_le_bytes(value[at..at + 8].try_into().unwrap()))
}

/// The view of all streams, and the one that members fill.
const WHOLE: &str = "whole";
const GROUP: &str = "group";
/// Members of the group.
const MEMBERS: u32 = 3;
