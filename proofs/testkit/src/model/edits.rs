//! Changes made on the way through a table, and old values: compared with an ordered map that does the same.

use std::ops::Bound;

use fulgurite::{CursorMut, Result, Table, Value, WriteTxn};

use super::check::{Difference, same, sound};
use super::coverage::{Call, Coverage};
use super::keys::value_of;
use super::truth::{Entries, within};
use crate::random::Random;

/// What a step draws from, counts in, and edits.
pub struct Edits<'w> {
    /// The table.
    pub table: &'w Table,
    /// What it should hold.
    pub entries: &'w mut Entries,
    /// The source of what is drawn.
    pub random: &'w mut Random,
    /// The calls made.
    pub coverage: &'w mut Coverage,
}

type Pair = (Vec<u8>, Vec<u8>);

/// Why a change in place was not made.
enum Refused {
    /// The change failed, of a value with so many bytes.
    Change(usize),
    Engine(fulgurite::Error),
}

impl From<fulgurite::Error> for Refused {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(error)
    }
}

impl Edits<'_> {
    /// Makes one random edit near `key`, in the transaction and in the map.
    pub fn change(&mut self, txn: &mut WriteTxn, key: &[u8]) -> Result<(), Difference> {
        match self.random.below(12) {
            0 => self.retain(txn, key),
            1..=2 => self.extract(txn, key),
            3..=4 => self.pop(txn, key),
            5 => self.old_value(txn, key),
            6..=7 => self.in_place(txn, key),
            _ => self.walk(txn, key),
        }
    }

    /// Bounds that hold some dozens of entries at most, most of the time.
    fn high(&mut self, key: &[u8]) -> Vec<u8> {
        let steps = self.random.index(40);
        let above = within(self.entries, Bound::Excluded(key), Bound::Unbounded).nth(steps);
        above.map_or_else(|| [key, &[u8::MAX]].concat(), |(key, _)| key.to_vec())
    }

    /// The entries within bounds that a test of their bytes chooses.
    fn chosen(&self, low: &[u8], high: &[u8], modulus: u64) -> Vec<Pair> {
        let entries = within(self.entries, Bound::Included(low), Bound::Excluded(high));
        let chosen = entries.filter(|(key, value)| is_chosen(key, value, modulus));
        chosen.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
    }

    fn retain(&mut self, txn: &mut WriteTxn, low: &[u8]) -> Result<(), Difference> {
        let (high, modulus) = (self.high(low), 1 + self.random.below(4));
        let gone = self.chosen(low, &high, modulus);
        let deleted = if self.random.below(8) == 0 {
            self.coverage.note(Call::Retain);
            // All others are kept by the closure.
            txn.retain(self.table, |key, value| key < low || key >= &*high || !is_chosen(key, value, modulus))
        } else {
            self.coverage.note(Call::RetainIn);
            txn.retain_in(self.table, low..&*high, |key, value| !is_chosen(key, value, modulus))
        };
        same("retain", &sound("retain", deleted)?, &(gone.len() as u64))?;
        gone.iter().for_each(|(key, _)| drop(self.entries.remove(key)));
        Ok(())
    }

    fn extract(&mut self, txn: &mut WriteTxn, low: &[u8]) -> Result<(), Difference> {
        let (high, modulus) = (self.high(low), 1 + self.random.below(4));
        let (most, back) = (self.random.index(20), self.random.coin());
        let mut expected = self.chosen(low, &high, modulus);
        if back {
            expected.reverse();
        }
        expected.truncate(most);
        let found: Result<Vec<Pair>> = if self.random.below(8) == 0 {
            self.coverage.note(Call::ExtractIf);
            let chooses = |key: &[u8], value: &[u8]| key >= low && key < &*high && is_chosen(key, value, modulus);
            let extracted = sound("extract_if", txn.extract_if(self.table, chooses))?;
            if back { extracted.rev().take(most).collect() } else { extracted.take(most).collect() }
        } else {
            self.coverage.note(Call::ExtractFromIf);
            let chooses = |key: &[u8], value: &[u8]| is_chosen(key, value, modulus);
            let extracted = sound("extract_from_if", txn.extract_from_if(self.table, low..&*high, chooses))?;
            if back { extracted.rev().take(most).collect() } else { extracted.take(most).collect() }
        };
        same("extract_if", &sound("extract_if", found)?, &expected)?;
        expected.iter().for_each(|(key, _)| drop(self.entries.remove(key)));
        Ok(())
    }

    fn pop(&mut self, txn: &mut WriteTxn, key: &[u8]) -> Result<(), Difference> {
        let kind = self.random.below(4);
        let owned = |(key, value): (&[u8], &[u8])| (key.to_vec(), value.to_vec());
        let (popped, expected) = match kind {
            0 => {
                self.coverage.note(Call::PopFirst);
                (txn.pop_first(self.table), within(self.entries, Bound::Unbounded, Bound::Unbounded).next())
            }
            1 => {
                self.coverage.note(Call::PopLast);
                (txn.pop_last(self.table), within(self.entries, Bound::Unbounded, Bound::Unbounded).next_back())
            }
            2 => {
                self.coverage.note(Call::PopFirstIn);
                (
                    txn.pop_first_in(self.table, key..),
                    within(self.entries, Bound::Included(key), Bound::Unbounded).next(),
                )
            }
            _ => {
                self.coverage.note(Call::PopLastIn);
                let below = within(self.entries, Bound::Unbounded, Bound::Excluded(key)).next_back();
                (txn.pop_last_in(self.table, ..key), below)
            }
        };
        let expected = expected.map(owned);
        same("pop", &sound("pop", popped)?, &expected)?;
        expected.iter().for_each(|(key, _)| drop(self.entries.remove(key)));
        Ok(())
    }

    fn old_value(&mut self, txn: &mut WriteTxn, key: &[u8]) -> Result<(), Difference> {
        if self.random.coin() {
            self.coverage.note(Call::Replace);
            let value = value_of(self.table, self.random);
            let before = sound("replace", txn.replace(self.table, key, &value))?;
            let expected = self.entries.insert(key.to_vec(), value.into());
            same("replace", &before, &expected.map(|value| value.to_vec()))
        } else {
            self.coverage.note(Call::Remove);
            let before = sound("remove", txn.remove(self.table, key))?;
            same("remove", &before, &self.entries.remove(key).map(|value| value.to_vec()))
        }
    }

    /// Changes the value in place, a few times: the second time, the transaction has written it.
    fn in_place(&mut self, txn: &mut WriteTxn, key: &[u8]) -> Result<(), Difference> {
        for _ in 0..1 + self.random.index(3) {
            let (stamp, fails) = (self.random.next_u64() as u8, self.random.below(4) == 0);
            let change = |value: &mut [u8]| {
                value.iter_mut().step_by(3).for_each(|byte| *byte ^= stamp);
                value.len()
            };
            let length = self.entries.get(key).map(|value| value.len());
            if self.random.coin() {
                self.coverage.note(Call::Modify);
                same("modify", &sound("modify", txn.modify(self.table, key, change))?, &length)?;
            } else {
                self.coverage.note(Call::TryModify);
                let changed = txn.try_modify(self.table, key, |value| match (change(value), fails) {
                    (length, false) => Ok(length),
                    (length, true) => Err(Refused::Change(length)),
                });
                match changed {
                    Err(Refused::Change(of)) if fails => {
                        same("what try_modify refused", &Some(of), &length)?;
                        continue;
                    }
                    Err(Refused::Engine(error)) => return sound("try_modify", Err(error)),
                    changed => same("try_modify", &changed.ok(), &Some(length))?,
                }
            }
            if let Some(value) = self.entries.get_mut(key) {
                let mut changed = value.to_vec();
                change(&mut changed);
                *value = changed.into();
            }
        }
        Ok(())
    }

    fn walk(&mut self, txn: &mut WriteTxn, key: &[u8]) -> Result<(), Difference> {
        let mut cursor = sound("cursor_mut", txn.cursor_mut(self.table))?;
        self.coverage.note(Call::CursorMutSeek);
        let found = owned(cursor.seek(key))?;
        let mut at = self.next_to(Some(key), true, true);
        same("cursor_mut.seek", &found, &at)?;
        for _ in 0..self.random.index(30) {
            let Some((key, _)) = at.clone() else { return self.leave_end(&mut cursor) };
            match self.random.below(6) {
                0 => {
                    self.coverage.note(Call::CursorMutPut);
                    let value = value_of(self.table, self.random);
                    same("put_current", &sound("put_current", cursor.put_current(&value))?, &true)?;
                    self.entries.insert(key.clone(), value.into());
                }
                1 => {
                    self.coverage.note(Call::CursorMutDelete);
                    same("delete_current", &sound("delete_current", cursor.delete_current())?, &true)?;
                    self.entries.remove(&key);
                    same("delete_current again", &sound("delete_current", cursor.delete_current())?, &false)?;
                }
                _ => {}
            }
            self.coverage.note(Call::CursorMutWalk);
            let up = self.random.below(3) > 0;
            let found = owned(if up { cursor.next() } else { cursor.previous() })?;
            at = self.next_to(Some(&key), false, up);
            same("cursor_mut.next/previous", &found, &at)?;
        }
        Ok(())
    }

    /// Past an end nothing is deleted or put.
    fn leave_end(&mut self, cursor: &mut CursorMut<'_>) -> Result<(), Difference> {
        same("delete_current at an end", &sound("delete_current", cursor.delete_current())?, &false)?;
        let value = value_of(self.table, self.random);
        same("put_current at an end", &sound("put_current", cursor.put_current(&value))?, &false)?;
        let up = self.random.coin();
        let found = owned(if up { cursor.first() } else { cursor.last() })?;
        same("cursor_mut.first/last", &found, &self.next_to(None, false, up))
    }

    /// The entry next to a key or an end.
    fn next_to(&self, key: Option<&[u8]>, included: bool, up: bool) -> Option<Pair> {
        let bound = match key {
            Some(key) if included => Bound::Included(key),
            Some(key) => Bound::Excluded(key),
            None => Bound::Unbounded,
        };
        let entry = match up {
            true => within(self.entries, bound, Bound::Unbounded).next(),
            false => within(self.entries, Bound::Unbounded, bound).next_back(),
        };
        entry.map(|(key, value)| (key.to_vec(), value.to_vec()))
    }
}

fn is_chosen(key: &[u8], value: &[u8], modulus: u64) -> bool {
    let ends = [key.last(), value.first()];
    ends.into_iter().flatten().map(|&byte| u64::from(byte)).sum::<u64>().is_multiple_of(modulus)
}

fn owned(entry: Result<Option<(Value<'_>, Value<'_>)>>) -> Result<Option<Pair>, Difference> {
    sound("cursor_mut", entry).map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())))
}
