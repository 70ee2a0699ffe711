//! Ranges of registers, read in every way that the engine has, as far as it was asked to go.

use std::ops::{Bound, Range};

use fulgurite::Read;

use super::super::super::history::{Key, Operation, Value};
use super::super::record::Count;
use super::halt::Halt;
use super::keys::{register, value_of};
use super::transaction::{Session, of_either};
use crate::random::Random;

/// Registers of one table, from a number up to another.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub table: usize,
    pub numbers: Range<u64>,
}

/// How a range is scanned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// So many entries from below.
    Up(usize),
    /// So many from above.
    Down(usize),
    /// So many from below and so many from above, by turns.
    Both(usize, usize),
}

type Entry = (u64, Value);
type Bytes = (Vec<u8>, Vec<u8>);

impl Session<'_> {
    /// Reads a range in some way.
    pub fn scan(&mut self, stretch: &Stretch, way: Way, random: &mut Random) -> Result<(), Halt> {
        let keys = &self.ground.keys;
        let (low, high) = (keys.bytes(stretch.numbers.start), keys.bytes(stretch.numbers.end));
        // The same range by other bounds.
        let below = stretch.numbers.start.checked_sub(1).map(|number| keys.bytes(number));
        let low = match &below {
            Some(below) if random.coin() => Bound::Excluded(&**below),
            _ => Bound::Included(&*low),
        };
        let last = keys.bytes(stretch.numbers.end - 1);
        let high = if random.coin() { Bound::Included(&*last) } else { Bound::Excluded(&*high) };
        let table = &self.ground.registers[stretch.table];
        let (front, back) = of_either!(&self.txn, txn => go(txn.range(table, (low, high))?, way))?;
        self.note(stretch, way, front, back)
    }

    /// Reads all registers whose keys begin alike.
    pub fn prefix(&mut self, table: usize, number: u64, way: Way) -> Result<(), Halt> {
        let start = number - number % 16;
        let stretch = Stretch { table, numbers: start..start + 16 };
        let (prefix, registers) = (self.ground.keys.prefix(number), &self.ground.registers);
        let (front, back) = of_either!(&self.txn, txn => go(txn.prefix(&registers[table], &prefix)?, way))?;
        self.note(&stretch, way, front, back)
    }

    /// Reads the first register or the last one that is present.
    pub fn end(&mut self, table: usize, last: bool) -> Result<(), Halt> {
        let registers = &self.ground.registers[table];
        let found = of_either!(&self.txn, txn => if last { txn.last(registers) } else { txn.first(registers) })?;
        let found: Vec<Bytes> = found.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        let stretch = Stretch { table, numbers: 0..self.ground.shape.registers };
        let (way, none) = (if last { Way::Down(1) } else { Way::Up(1) }, Vec::new());
        let (front, back) = if last { (none, found) } else { (found, none) };
        self.note(&stretch, way, front, back)
    }

    /// Goes over registers with a cursor: up from a number, or down from the last one; some steps, then back and on
    /// again.
    pub fn cursor(&mut self, table: usize, start: u64, steps: usize, upward: bool) -> Result<(), Halt> {
        let (key, registers) = (self.ground.keys.bytes(start), &self.ground.registers[table]);
        let mut found: Vec<Bytes> = Vec::new();
        of_either!(&self.txn, txn => {
            let mut cursor = txn.cursor(registers)?;
            let mut entry = if upward { cursor.seek(&key)? } else { cursor.last()? };
            for step in 0..steps {
                let Some((key, value)) = entry else { break };
                found.push((key.to_vec(), value.to_vec()));
                if step + 1 == steps {
                    break;
                }
                if step == 2 {
                    // Back and forth: it must be at the same place again.
                    if upward { cursor.previous()? } else { cursor.next()? };
                    if upward { cursor.next()? } else { cursor.previous()? };
                }
                entry = if upward { cursor.next()? } else { cursor.previous()? };
            }
        });
        let end = self.ground.shape.registers;
        let stretch = Stretch { table, numbers: if upward { start..end } else { 0..end } };
        let (way, none) = (if upward { Way::Up(steps) } else { Way::Down(steps) }, Vec::new());
        let (front, back) = if upward { (found, none) } else { (none, found) };
        self.note(&stretch, way, front, back)
    }

    /// Counts the registers of a range that are present.
    pub fn count(&mut self, stretch: &Stretch) -> Result<(), Halt> {
        let keys = &self.ground.keys;
        let (low, high) = (keys.bytes(stretch.numbers.start), keys.bytes(stretch.numbers.end));
        let table = &self.ground.registers[stretch.table];
        let counted = of_either!(&self.txn, txn => txn.count(table, &*low..&*high))?;
        let (low, high) =
            (register(stretch.table, stretch.numbers.start), register(stretch.table, stretch.numbers.end));
        self.counts.push(Count { low, high, counted, after: self.operations.len() });
        Ok(())
    }

    /// Makes all registers of a range absent.
    pub fn delete_range(&mut self, stretch: &Stretch, random: &mut Random) -> Result<(), Halt> {
        self.scan(stretch, Way::Up(usize::MAX), random)?;
        let Some(Operation::ReadRange { entries, .. }) = self.operations.last() else { return Ok(()) };
        let present: Vec<Key> = entries.iter().map(|(key, _)| *key).collect();
        let keys = &self.ground.keys;
        let (low, high) = (keys.bytes(stretch.numbers.start), keys.bytes(stretch.numbers.end));
        let registers = &self.ground.registers;
        let Some(txn) = self.write() else { return Ok(()) };
        let deleted = txn.delete_range(&registers[stretch.table], &*low..&*high)?;
        if deleted != present.len() as u64 {
            return Err(Halt::Wrong(format!("a range of {} entries: {deleted} of them were deleted", present.len())));
        }
        present.into_iter().for_each(|key| self.add(Operation::Delete { key }));
        Ok(())
    }

    /// Makes the first register, or the last one, that is present absent, and reads what it held. All that it reads,
    /// the engine must know by itself.
    pub fn pop(&mut self, table: usize, last: bool) -> Result<(), Halt> {
        let registers = &self.ground.registers;
        let Some(txn) = self.write() else { return self.end(table, last) };
        let popped = if last { txn.pop_last(&registers[table]) } else { txn.pop_first(&registers[table]) }?;
        let popped: Vec<Bytes> = popped.into_iter().collect();
        let gone = popped.first().map(|(key, _)| self.ground.keys.number(key)).transpose()?;
        let stretch = Stretch { table, numbers: 0..self.ground.shape.registers };
        let (way, none) = (if last { Way::Down(1) } else { Way::Up(1) }, Vec::new());
        let (front, back) = if last { (none, popped) } else { (popped, none) };
        self.note(&stretch, way, front, back)?;
        gone.into_iter().for_each(|number| self.add(Operation::Delete { key: register(table, number) }));
        Ok(())
    }

    /// Goes through a range, and makes the registers with odd numbers absent, `most` of them at most.
    pub fn extract(&mut self, stretch: &Stretch, most: usize) -> Result<(), Halt> {
        let keys = &self.ground.keys;
        let (low, high) = (keys.bytes(stretch.numbers.start), keys.bytes(stretch.numbers.end));
        let registers = &self.ground.registers;
        let Some(txn) = self.write() else { return self.count(stretch) };
        let (mut passed, mut gone): (Vec<Bytes>, Vec<Bytes>) = (Vec::new(), Vec::new());
        let is_odd = |key: &[u8]| keys.number(key).is_ok_and(|number| number % 2 == 1);
        let mut chosen = txn.extract_from_if(&registers[stretch.table], &*low..&*high, |key, value| {
            passed.push((key.to_vec(), value.to_vec()));
            is_odd(key)
        })?;
        while gone.len() < most
            && let Some(entry) = chosen.next()
        {
            gone.push(entry?);
        }
        drop(chosen);
        if gone.iter().ne(passed.iter().filter(|(key, _)| is_odd(key))) {
            return Err(Halt::Wrong("what was extracted is not what was chosen".to_owned()));
        }
        // It stopped at the last one that it wanted, or went through to the end.
        let way = if gone.len() == most { Way::Up(passed.len()) } else { Way::Up(usize::MAX) };
        self.note(stretch, way, passed, Vec::new())?;
        for (key, _) in gone {
            let key = register(stretch.table, self.ground.keys.number(&key)?);
            self.add(Operation::Delete { key });
        }
        Ok(())
    }

    /// Records what was found of a range, from below and from above, as far as it was scanned.
    fn note(&mut self, stretch: &Stretch, way: Way, front: Vec<Bytes>, back: Vec<Bytes>) -> Result<(), Halt> {
        let parse = |found: Vec<Bytes>| -> Result<Vec<Entry>, Halt> {
            found.iter().map(|(key, value)| Ok((self.ground.keys.number(key)?, value_of(value)?))).collect()
        };
        let (front, mut back) = (parse(front)?, parse(back)?);
        back.reverse();
        let Range { start, end } = stretch.numbers;
        let (up, down) = match way {
            Way::Up(most) => (most, 0),
            Way::Down(most) => (0, most),
            Way::Both(up, down) => (up, down),
        };
        let whole = (front.len() < up) || (back.len() < down);
        if whole {
            let entries = [front, back].concat();
            self.note_part(stretch.table, start..end, &entries);
        } else {
            if let Some((last, _)) = front.last() {
                self.note_part(stretch.table, start..last + 1, &front);
            }
            if let Some((first, _)) = back.first() {
                self.note_part(stretch.table, *first..end, &back);
            }
        }
        Ok(())
    }

    fn note_part(&mut self, table: usize, numbers: Range<u64>, entries: &[Entry]) {
        let entries: Vec<(Key, Value)> =
            entries.iter().map(|(number, value)| (register(table, *number), *value)).collect();
        self.memory.seen.extend(entries.iter().map(|(key, value)| (*key, Some(*value))));
        let (low, high) = (register(table, numbers.start), register(table, numbers.end.max(numbers.start)));
        self.add(Operation::ReadRange { low, high, entries });
    }
}

/// Goes through a range. What came from above is in the order in which it came.
fn go(mut range: fulgurite::Range<'_>, way: Way) -> fulgurite::Result<(Vec<Bytes>, Vec<Bytes>)> {
    let (mut front, mut back) = (Vec::new(), Vec::new());
    let (mut up, mut down) = match way {
        Way::Up(most) => (most, 0),
        Way::Down(most) => (0, most),
        Way::Both(up, down) => (up, down),
    };
    while up > 0 || down > 0 {
        if up > 0 {
            up -= 1;
            let Some(entry) = range.next() else { break };
            let (key, value) = entry?;
            front.push((key.to_vec(), value.to_vec()));
        }
        if down > 0 {
            down -= 1;
            let Some(entry) = range.next_back() else { break };
            let (key, value) = entry?;
            back.push((key.to_vec(), value.to_vec()));
        }
    }
    Ok((front, back))
}
