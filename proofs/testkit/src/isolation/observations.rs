//! The history turned around: for each key its writes and the reads of it, and what each transaction saw from outside.
//!
//! Here a transaction is compared with itself: what it wrote it must read, and what it read it must read again. What
//! remains are **external** reads, one for each transaction and key: the version that its transaction found.

use super::anomaly::{AnomalyKind, Findings};
use super::history::{Content, HistoryError, Key, Operation, Outcome, Transaction, TransactionId, Value};
use super::text::named;

/// An operation of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The transaction.
    pub transaction: u32,
    /// Which of its operations.
    pub operation: u32,
}

/// A write, of a list or of a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    /// The element, or what the register is set to: `None` for a deletion.
    pub value: Option<Value>,
    pub place: Place,
    /// Whether its transaction wrote the key no more: this version it installs.
    pub last: bool,
}

/// An external read of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListRead<'h> {
    pub place: Place,
    /// What it found, without what its own transaction had appended.
    pub elements: &'h [Value],
    /// Whether its transaction appends to the list too.
    pub updates: bool,
}

/// An external read of a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterRead {
    pub place: Place,
    pub value: Option<Value>,
    /// Whether a range with the register was read, and not the register alone.
    pub by_range: bool,
}

/// A list of the history.
#[derive(Debug)]
pub(super) struct List<'h> {
    pub key: Key,
    pub initial: &'h [Value],
    /// Sorted by element.
    pub appends: Vec<Write>,
    pub reads: Vec<ListRead<'h>>,
}

/// A register of the history.
#[derive(Debug)]
pub(super) struct Register {
    pub key: Key,
    pub initial: Option<Value>,
    /// Sorted by value, deletions first.
    pub writes: Vec<Write>,
    pub reads: Vec<RegisterRead>,
}

/// All keys of a history.
#[derive(Debug)]
pub(super) struct Observations<'h> {
    pub lists: Vec<List<'h>>,
    pub registers: Vec<Register>,
}

/// The write of this value.
pub(super) fn write_of(writes: &[Write], value: Value) -> Option<&Write> {
    writes.binary_search_by_key(&Some(value), |write| write.value).ok().map(|at| &writes[at])
}

impl<'h> Observations<'h> {
    /// Turns the history around, and reports what contradicts itself within one transaction.
    pub(super) fn new(
        initial: &'h Content,
        transactions: &[&'h Transaction],
        aborted_reads: bool,
        findings: &mut Findings,
    ) -> Result<Self, HistoryError> {
        let (lists, registers) = keys(initial, transactions);
        let mut walk = Walk {
            transactions,
            list_seen: vec![ListSeen::default(); lists.len()],
            register_seen: vec![RegisterSeen::default(); registers.len()],
            observations: Self { lists, registers },
            aborted_reads,
            findings,
        };
        for number in 0..transactions.len() {
            walk.transaction(number as u32)?;
        }
        let mut observations = walk.observations;
        for list in &mut observations.lists {
            let mut initial = list.initial.to_vec();
            initial.sort_unstable();
            sort_writes(&mut list.appends, |value| initial.binary_search(&value).is_ok(), transactions)?;
        }
        for register in &mut observations.registers {
            sort_writes(&mut register.writes, |value| register.initial == Some(value), transactions)?;
        }
        Ok(observations)
    }
}

/// All keys that are touched, each with its initial content. Registers that are never present need no watching.
fn keys<'h>(initial: &'h Content, transactions: &[&'h Transaction]) -> (Vec<List<'h>>, Vec<Register>) {
    let mut lists: Vec<Key> = initial.lists.keys().copied().collect();
    let mut registers: Vec<Key> = initial.registers.keys().copied().collect();
    for operation in transactions.iter().flat_map(|transaction| &transaction.operations) {
        match operation {
            Operation::Append { key, .. } | Operation::ReadList { key, .. } => lists.push(*key),
            Operation::Write { key, .. } | Operation::Delete { key } | Operation::Read { key, .. } => {
                registers.push(*key);
            }
            Operation::ReadRange { entries, .. } => registers.extend(entries.iter().map(|(key, _)| *key)),
        }
    }
    for keys in [&mut lists, &mut registers] {
        keys.sort_unstable();
        keys.dedup();
    }
    let list = |key: Key| {
        let initial = initial.lists.get(&key).map_or(&[][..], Vec::as_slice);
        List { key, initial, appends: Vec::new(), reads: Vec::new() }
    };
    let register = |key: Key| {
        let initial = initial.registers.get(&key).copied();
        Register { key, initial, writes: Vec::new(), reads: Vec::new() }
    };
    (lists.into_iter().map(list).collect(), registers.into_iter().map(register).collect())
}

fn sort_writes(
    writes: &mut [Write],
    is_initial: impl Fn(Value) -> bool,
    transactions: &[&Transaction],
) -> Result<(), HistoryError> {
    writes.sort_unstable_by_key(|write| (write.value, write.place.transaction, write.place.operation));
    let twice = writes.windows(2).find(|pair| pair[0].value.is_some() && pair[0].value == pair[1].value);
    let again = writes.iter().find(|write| write.value.is_some_and(&is_initial));
    match twice.map(|pair| &pair[1]).or(again) {
        None => Ok(()),
        Some(write) => Err(HistoryError::ValueWrittenTwice {
            operation: transactions[write.place.transaction as usize].operations[write.place.operation as usize]
                .clone(),
            transaction: TransactionId(write.place.transaction),
        }),
    }
}

/// What the transaction that is walked through has done with a list. Belongs to another one if the number differs.
#[derive(Clone, Copy, Debug, Default)]
struct ListSeen {
    /// The number of the transaction, from 1.
    by: u32,
    /// Its external read, by its place among the list's reads.
    read: Option<usize>,
    /// How many elements it has appended: the last ones of the list's appends.
    appended: usize,
}

/// What the transaction that is walked through has done with a register.
#[derive(Clone, Copy, Debug, Default)]
struct RegisterSeen {
    by: u32,
    /// What its external read found.
    read: Option<Option<Value>>,
    /// What it wrote last.
    written: Option<Option<Value>>,
}

struct Walk<'h, 'w> {
    transactions: &'w [&'h Transaction],
    observations: Observations<'h>,
    list_seen: Vec<ListSeen>,
    register_seen: Vec<RegisterSeen>,
    aborted_reads: bool,
    findings: &'w mut Findings,
}

impl<'h> Walk<'h, '_> {
    fn transaction(&mut self, number: u32) -> Result<(), HistoryError> {
        let transaction = self.transactions[number as usize];
        if transaction.end < transaction.begin {
            return Err(HistoryError::EndBeforeBegin(TransactionId(number)));
        }
        for (index, operation) in transaction.operations.iter().enumerate() {
            let place = Place { transaction: number, operation: index as u32 };
            match operation {
                Operation::Append { key, element } => self.append(place, *key, *element),
                Operation::ReadList { key, elements } => self.read_list(place, *key, elements),
                Operation::Write { key, value } => self.write(place, *key, Some(*value)),
                Operation::Delete { key } => self.write(place, *key, None),
                Operation::Read { key, value } => {
                    let at = self.register_index(*key);
                    self.read(place, at, *value, false);
                }
                Operation::ReadRange { low, high, .. } if low > high => {
                    return Err(HistoryError::RangeReversed(TransactionId(number)));
                }
                Operation::ReadRange { low, high, entries } => self.read_range(place, *low..*high, entries),
            }
        }
        Ok(())
    }

    fn list(&mut self, place: Place, key: Key) -> (usize, &mut ListSeen) {
        let found = self.observations.lists.binary_search_by_key(&key, |list| list.key);
        let at = found.expect("all keys of the history were gathered");
        let seen = &mut self.list_seen[at];
        if seen.by != place.transaction + 1 {
            *seen = ListSeen { by: place.transaction + 1, ..ListSeen::default() };
        }
        (at, seen)
    }

    fn append(&mut self, place: Place, key: Key, element: Value) {
        let (at, seen) = self.list(place, key);
        seen.appended += 1;
        let (again, read) = (seen.appended > 1, seen.read);
        let list = &mut self.observations.lists[at];
        if let Some(before) = list.appends.last_mut().filter(|_| again) {
            before.last = false;
        }
        list.appends.push(Write { value: Some(element), place, last: true });
        if let Some(read) = read {
            list.reads[read].updates = true;
        }
    }

    fn read_list(&mut self, place: Place, key: Key, elements: &'h [Value]) {
        let (at, seen) = self.list(place, key);
        let (appended, read) = (seen.appended, seen.read);
        let list = &mut self.observations.lists[at];
        let own = &list.appends[list.appends.len() - appended..];
        let external = elements.len().saturating_sub(appended);
        let ends_with_own = own.len() <= elements.len()
            && own.iter().zip(&elements[external..]).all(|(append, element)| append.value == Some(*element));
        if !ends_with_own {
            self.contradiction(AnomalyKind::InternalInconsistency, place, "the elements that it appended itself");
            return;
        }
        let elements = &elements[..external];
        match read {
            Some(read) if list.reads[read].elements != elements => {
                self.contradiction(AnomalyKind::NonRepeatableRead, place, "what it had read of this list before");
            }
            Some(_) => {}
            None => {
                list.reads.push(ListRead { place, elements, updates: appended > 0 });
                self.list_seen[at].read = Some(list.reads.len() - 1);
            }
        }
    }

    fn register_index(&self, key: Key) -> usize {
        let found = self.observations.registers.binary_search_by_key(&key, |register| register.key);
        found.expect("all keys of the history were gathered")
    }

    fn register_seen(&mut self, place: Place, at: usize) -> &mut RegisterSeen {
        let seen = &mut self.register_seen[at];
        if seen.by != place.transaction + 1 {
            *seen = RegisterSeen { by: place.transaction + 1, ..RegisterSeen::default() };
        }
        seen
    }

    fn write(&mut self, place: Place, key: Key, value: Option<Value>) {
        let at = self.register_index(key);
        let again = self.register_seen(place, at).written.replace(value).is_some();
        let register = &mut self.observations.registers[at];
        if let Some(before) = register.writes.last_mut().filter(|_| again) {
            before.last = false;
        }
        register.writes.push(Write { value, place, last: true });
    }

    fn read(&mut self, place: Place, at: usize, value: Option<Value>, by_range: bool) {
        let seen = self.register_seen(place, at);
        match (seen.written, seen.read) {
            (Some(written), _) if written != value => {
                self.contradiction(AnomalyKind::InternalInconsistency, place, "what it wrote to this register itself");
            }
            (Some(_), _) => {}
            (None, Some(read)) if read != value => {
                let before = "what it had read of this register before";
                self.contradiction(AnomalyKind::NonRepeatableRead, place, before);
            }
            (None, Some(_)) => {}
            (None, None) => {
                seen.read = Some(value);
                self.observations.registers[at].reads.push(RegisterRead { place, value, by_range });
            }
        }
    }

    fn read_range(&mut self, place: Place, range: std::ops::Range<Key>, entries: &[(Key, Value)]) {
        let ordered = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !ordered || !entries.iter().all(|(key, _)| range.contains(key)) {
            self.contradiction(AnomalyKind::MalformedRange, place, "the order of keys and the bounds of the range");
            return;
        }
        let registers = &self.observations.registers;
        let low = registers.partition_point(|register| register.key < range.start);
        let mut entries = entries.iter().peekable();
        for at in low..self.observations.registers.len() {
            let key = self.observations.registers[at].key;
            if key >= range.end {
                break;
            }
            let present = entries.next_if(|(present, _)| *present == key);
            self.read(place, at, present.map(|(_, value)| *value), true);
        }
    }

    fn contradiction(&mut self, kind: AnomalyKind, place: Place, what: &str) {
        let transaction = self.transactions[place.transaction as usize];
        let judged = match transaction.outcome {
            Outcome::Committed => true,
            Outcome::Aborted => self.aborted_reads,
            Outcome::Indeterminate => false,
        };
        if !judged {
            return;
        }
        self.findings.add(kind, &[place.transaction], || {
            let operation = &transaction.operations[place.operation as usize];
            let name = named(self.transactions, place.transaction);
            format!("`{operation}` contradicts {what}\n  {name}")
        });
    }
}
