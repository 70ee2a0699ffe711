//! One transaction of the engine, with the record of what it did and was answered.

use std::collections::HashMap;

use fulgurite::{Database, Read, ReadTxn, Savepoint, Sequence, Table, WriteTxn};

use super::super::super::history::{Key, Operation, Value};
use super::super::record::Count;
use super::super::shapes::Shape;
use super::halt::Halt;
use super::keys::{self, Keys, elements_of, list_bytes, value_bytes, value_of};

/// The opened database of a world, and how its tables are used.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    pub db: Database,
    pub shape: &'static Shape,
    pub keys: Keys,
    pub lists: Table,
    pub registers: Vec<Table>,
}

/// A transaction of the engine.
#[derive(Debug)]
pub(crate) enum Txn {
    Read(ReadTxn),
    Write(Box<WriteTxn>),
}

/// Calls a method that both kinds of transactions have.
macro_rules! of_either {
    ($txn:expr, $name:ident => $call:expr) => {
        match $txn {
            $crate::isolation::run::session::transaction::Txn::Read($name) => $call,
            $crate::isolation::run::session::transaction::Txn::Write($name) => $call,
        }
    };
}

pub(crate) use of_either;

/// Values that no other transaction of the history writes.
#[derive(Debug)]
pub(crate) struct Values {
    next: u64,
}

impl Values {
    /// Of one process in one segment.
    pub fn new(segment: u64, process: u32) -> Self {
        Self { next: (segment << 40) + (u64::from(process + 1) << 32) }
    }

    pub fn draw(&mut self) -> Value {
        self.next += 1;
        Value(self.next)
    }
}

/// What a process remembers from one transaction to the next.
#[derive(Debug)]
pub(crate) struct Memory {
    pub values: Values,
    /// What it last found in registers: guesses at what they hold now.
    pub seen: HashMap<Key, Option<Value>>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Session<'w> {
    pub ground: &'w Ground,
    pub memory: &'w mut Memory,
    pub txn: Txn,
    pub operations: Vec<Operation>,
    pub counts: Vec<Count>,
    /// Whether the engine checks all that it reads.
    pub serializable: bool,
    /// It has made a step.
    pub begun: bool,
    /// It made no step but merges.
    pub merges_alone: bool,
}

/// A state of a session to return to.
#[derive(Debug)]
pub(crate) struct Mark {
    savepoint: Savepoint,
    operations: usize,
    counts: usize,
}

impl<'w> Session<'w> {
    pub fn new(ground: &'w Ground, memory: &'w mut Memory, txn: Txn, serializable: bool) -> Self {
        let (operations, counts) = (Vec::new(), Vec::new());
        Self { ground, memory, txn, operations, counts, serializable, begun: false, merges_alone: true }
    }

    /// The newest commit that it sees.
    pub fn snapshot(&self) -> Sequence {
        of_either!(&self.txn, txn => txn.sequence())
    }

    /// The transaction, if it can write.
    pub fn write(&mut self) -> Option<&mut WriteTxn> {
        match &mut self.txn {
            Txn::Read(_) => None,
            Txn::Write(txn) => Some(txn),
        }
    }

    pub fn add(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    pub fn mark(&mut self) -> Option<Mark> {
        let (operations, counts) = (self.operations.len(), self.counts.len());
        Some(Mark { savepoint: self.write()?.savepoint(), operations, counts })
    }

    /// Undoes everything since the mark: it is not recorded, so that no one may see it. What was read meanwhile is
    /// forgotten too.
    pub fn roll_back(&mut self, mark: &Mark) -> Result<(), Halt> {
        if let Some(txn) = self.write() {
            txn.rollback_to(mark.savepoint)?;
        }
        self.operations.truncate(mark.operations);
        self.counts.truncate(mark.counts);
        Ok(())
    }

    /// Reads a list.
    pub fn read_list(&mut self, number: u64) -> Result<Vec<Value>, Halt> {
        let key = self.ground.keys.bytes(number);
        let list = of_either!(&self.txn, txn => txn.get(&self.ground.lists, &key))?;
        let elements = list.map_or(Ok(Vec::new()), |list| elements_of(&list))?;
        self.add(Operation::ReadList { key: Key(number), elements: elements.clone() });
        Ok(elements)
    }

    /// Puts a new element at the end of a list.
    pub fn append(&mut self, number: u64) -> Result<(), Halt> {
        let mut elements = self.read_list(number)?;
        let (key, element) = (self.ground.keys.bytes(number), self.memory.values.draw());
        let table = &self.ground.lists;
        let Some(txn) = self.write() else { return Ok(()) };
        elements.push(element);
        txn.put(table, &key, &list_bytes(&elements))?;
        self.add(Operation::Append { key: Key(number), element });
        Ok(())
    }

    /// Has a new element put at the end of a list, whatever it holds then.
    pub fn merge(&mut self, number: u64) -> Result<(), Halt> {
        let (key, element) = (self.ground.keys.bytes(number), self.memory.values.draw());
        let table = &self.ground.lists;
        let Some(txn) = self.write() else { return Ok(()) };
        txn.merge(table, &key, &list_bytes(&[element]))?;
        self.add(Operation::Append { key: Key(number), element });
        Ok(())
    }

    /// Reads a register.
    pub fn read(&mut self, table: usize, number: u64) -> Result<Option<Value>, Halt> {
        let key = self.ground.keys.bytes(number);
        let value = of_either!(&self.txn, txn => txn.get(&self.ground.registers[table], &key))?;
        let value = value.map(|bytes| value_of(&bytes)).transpose()?;
        self.note_read(keys::register(table, number), value);
        Ok(value)
    }

    /// Reads several registers at once.
    pub fn read_many(&mut self, table: usize, numbers: &[u64]) -> Result<(), Halt> {
        let keys: Vec<Vec<u8>> = numbers.iter().map(|number| self.ground.keys.bytes(*number)).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        let found = of_either!(&self.txn, txn => txn.get_many(&self.ground.registers[table], &keys))?;
        let found: Vec<Option<Value>> =
            found.into_iter().map(|value| value.map(|bytes| value_of(&bytes)).transpose()).collect::<Result<_, _>>()?;
        for (number, value) in numbers.iter().zip(found) {
            self.note_read(keys::register(table, *number), value);
        }
        Ok(())
    }

    /// Records what was found in a register.
    pub fn note_read(&mut self, key: Key, value: Option<Value>) {
        self.memory.seen.insert(key, value);
        self.add(Operation::Read { key, value });
    }

    /// Sets a register.
    pub fn put(&mut self, table: usize, number: u64) -> Result<(), Halt> {
        let (key, value) = (self.ground.keys.bytes(number), self.memory.values.draw());
        let bytes = self.bytes(value);
        let registers = &self.ground.registers;
        let Some(txn) = self.write() else { return Ok(()) };
        txn.put(&registers[table], &key, &bytes)?;
        self.add(Operation::Write { key: keys::register(table, number), value });
        Ok(())
    }

    /// Sets a register that is absent.
    pub fn insert(&mut self, table: usize, number: u64) -> Result<(), Halt> {
        let (bytes, value) = (self.ground.keys.bytes(number), self.memory.values.draw());
        let value_bytes = self.bytes(value);
        let registers = &self.ground.registers;
        let Some(txn) = self.write() else { return Ok(()) };
        if txn.insert(&registers[table], &bytes, &value_bytes)? {
            let key = keys::register(table, number);
            self.note_read(key, None);
            self.add(Operation::Write { key, value });
        }
        Ok(())
    }

    /// Makes a register absent.
    pub fn delete(&mut self, table: usize, number: u64) -> Result<(), Halt> {
        let (bytes, key) = (self.ground.keys.bytes(number), keys::register(table, number));
        let registers = &self.ground.registers;
        let Some(txn) = self.write() else { return Ok(()) };
        if txn.delete(&registers[table], &bytes)? {
            self.add(Operation::Delete { key });
        } else {
            self.note_read(key, None);
        }
        Ok(())
    }

    /// Replaces what was last seen in a register, by nothing if `away`.
    pub fn compare_and_set(&mut self, table: usize, number: u64, away: bool) -> Result<(), Halt> {
        let (bytes, key) = (self.ground.keys.bytes(number), keys::register(table, number));
        let guess = self.memory.seen.get(&key).copied().flatten();
        let value = self.memory.values.draw();
        let (expected, new) = (guess.map(|guess| self.bytes(guess)), self.bytes(value));
        let registers = &self.ground.registers;
        let Some(txn) = self.write() else { return Ok(()) };
        let new = (!away).then_some(&*new);
        if txn.compare_and_set(&registers[table], &bytes, expected.as_deref(), new)? {
            self.note_read(key, guess);
            self.add(if away { Operation::Delete { key } } else { Operation::Write { key, value } });
        } else if self.read(table, number)? == guess {
            return Err(Halt::Wrong(format!("register {} holds what it was compared with, and was not set", key.0)));
        }
        Ok(())
    }

    fn bytes(&self, value: Value) -> Vec<u8> {
        value_bytes(value, self.ground.shape.padding)
    }
}
