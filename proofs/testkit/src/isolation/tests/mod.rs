//! The checker against histories that are written down, and against stores that are simulated.

mod crashes;
mod legal;
mod long;
mod minimal;
mod recording;
mod simulated;
mod store;

use std::ops::Range;

use super::*;

/// A history that is written down: all transactions run at the same time, each in a process of its own, unless told.
#[derive(Clone, Debug, Default)]
struct Sketch {
    history: History,
}

impl Sketch {
    fn list(mut self, key: u64, elements: &[u64]) -> Self {
        self.history.initial.lists.insert(Key(key), values(elements));
        self
    }

    fn register(mut self, key: u64, value: u64) -> Self {
        self.history.initial.registers.insert(Key(key), Value(value));
        self
    }

    fn add(mut self, outcome: Outcome, operations: &[Operation]) -> Self {
        self.history.transactions.push(Transaction {
            process: Process(self.history.transactions.len() as u32),
            operations: operations.to_vec(),
            outcome,
            begin: Tick(0),
            end: Tick(1000),
            snapshot: None,
            sequence: None,
            durability: Durability::Disk,
        });
        self
    }

    fn committed(self, operations: &[Operation]) -> Self {
        self.add(Outcome::Committed, operations)
    }

    fn last(&mut self) -> &mut Transaction {
        self.history.transactions.last_mut().expect("a transaction was added")
    }

    fn at(mut self, begin: u64, end: u64) -> Self {
        (self.last().begin, self.last().end) = (Tick(begin), Tick(end));
        self
    }

    fn by(mut self, process: u32) -> Self {
        self.last().process = Process(process);
        self
    }

    fn numbered(mut self, snapshot: u64, sequence: u64) -> Self {
        self.last().snapshot = Some(Sequence(snapshot));
        self.last().sequence = Some(Sequence(sequence));
        self
    }

    fn reading(mut self, snapshot: u64) -> Self {
        self.last().snapshot = Some(Sequence(snapshot));
        self
    }

    fn durable(mut self, durability: Durability) -> Self {
        self.last().durability = durability;
        self
    }

    fn closed(mut self, content: Content) -> Self {
        self.history.end = End::Closed(content);
        self
    }

    fn crashed(mut self, content: Content, survives: Durability) -> Self {
        self.history.end = End::Crashed { content, survives, synced: None };
        self
    }

    fn report(&self, options: &Options) -> Report {
        check(&self.history, options).expect("the sketch follows the rules")
    }

    /// The kinds that are found for serializability, forbidden or not.
    fn kinds(&self) -> Vec<AnomalyKind> {
        self.kinds_at(Level::Serializable)
    }

    /// The kinds that this level forbids.
    fn kinds_at(&self, level: Level) -> Vec<AnomalyKind> {
        kinds_of(&self.report(&Options::new(level)))
    }

    /// The cycles of the first anomaly of a kind.
    fn cycle(&self, kind: AnomalyKind) -> Vec<u32> {
        let report = self.report(&Options::new(Level::Serializable));
        let anomaly = report.anomalies.iter().find(|anomaly| anomaly.kind == kind).expect("there is one");
        anomaly.transactions.iter().map(|transaction| transaction.0).collect()
    }
}

fn kinds_of(report: &Report) -> Vec<AnomalyKind> {
    let mut kinds: Vec<AnomalyKind> = report.anomalies.iter().map(|anomaly| anomaly.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn values(elements: &[u64]) -> Vec<Value> {
    elements.iter().copied().map(Value).collect()
}

fn content(lists: &[(u64, &[u64])], registers: &[(u64, u64)]) -> Content {
    Content {
        lists: lists.iter().map(|(key, elements)| (Key(*key), values(elements))).collect(),
        registers: registers.iter().map(|(key, value)| (Key(*key), Value(*value))).collect(),
    }
}

fn append(key: u64, element: u64) -> Operation {
    Operation::Append { key: Key(key), element: Value(element) }
}

fn read_list(key: u64, elements: &[u64]) -> Operation {
    Operation::ReadList { key: Key(key), elements: values(elements) }
}

fn write(key: u64, value: u64) -> Operation {
    Operation::Write { key: Key(key), value: Value(value) }
}

fn delete(key: u64) -> Operation {
    Operation::Delete { key: Key(key) }
}

fn read(key: u64, value: u64) -> Operation {
    Operation::Read { key: Key(key), value: Some(Value(value)) }
}

fn absent(key: u64) -> Operation {
    Operation::Read { key: Key(key), value: None }
}

fn read_range(range: Range<u64>, entries: &[(u64, u64)]) -> Operation {
    let entries = entries.iter().map(|(key, value)| (Key(*key), Value(*value))).collect();
    Operation::ReadRange { low: Key(range.start), high: Key(range.end), entries }
}
