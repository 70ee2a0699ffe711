//! Reads of a transaction, compared with the truth.

use std::ops::Bound;
use std::sync::Arc;

use fulgurite::{Read, ReadTxn, Result, Table, Value};

use super::coverage::{Call, Coverage};
use super::keys::Pool;
use super::truth::{Entries, within};
use crate::random::Random;

/// A difference between the database and the truth, or an error where none should be.
pub type Difference = String;

/// Turns an engine error into a difference.
pub fn sound<T>(what: &str, result: Result<T>) -> Result<T, Difference> {
    result.map_err(|error| format!("{what}: {error}"))
}

/// Compares, and returns the difference as an error.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, truth: &T) -> Result<(), Difference> {
    if found == truth {
        return Ok(());
    }
    let short = |value: &T| format!("{value:?}").chars().take(DIFFERENCE_CHARS).collect::<String>();
    Err(format!("{what}: found {}, should be {}", short(found), short(truth)))
}

/// How much of either side a difference shows.
const DIFFERENCE_CHARS: usize = 300;

type Owned = (Vec<u8>, Vec<u8>);

fn owned(entry: Result<(Value<'_>, Value<'_>)>) -> Result<Owned, Difference> {
    sound("iteration", entry).map(|(key, value)| (key.to_vec(), value.to_vec()))
}

fn owned_truth((key, value): (&[u8], &[u8])) -> Owned {
    (key.to_vec(), value.to_vec())
}

fn bound<'k>(random: &mut Random, key: &'k [u8]) -> Bound<&'k [u8]> {
    match random.below(4) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(key),
        _ => Bound::Included(key),
    }
}

/// Random reads of a table, compared with the truth.
pub struct Reads<'r> {
    /// The table.
    pub table: &'r Table,
    /// What it should have.
    pub entries: &'r Entries,
    /// The keys that are asked for.
    pub pool: &'r Pool,
    /// The source of what is drawn.
    pub random: &'r mut Random,
    /// The calls made.
    pub coverage: &'r mut Coverage,
}

impl Reads<'_> {
    /// Makes one random read and compares its answer with the truth.
    pub fn read(&mut self, txn: &impl Read) -> Result<(), Difference> {
        let key = self.pool.key(self.random);
        match self.random.below(20) {
            0..=5 => {
                self.coverage.note(Call::Get);
                let found = sound("get", txn.get(self.table, &key))?;
                same("get", &found.as_deref(), &self.entries.get(&key).map(|value| &**value))
            }
            6 => {
                self.coverage.note(Call::ContainsKey);
                same(
                    "contains_key",
                    &sound("contains_key", txn.contains_key(self.table, &key))?,
                    &self.entries.contains_key(&key),
                )
            }
            7 => self.many(txn),
            8 => self.ends(txn),
            9..=13 => self.ranges(txn),
            14..=15 => self.cursor(txn),
            16..=18 => self.counts(txn),
            _ => {
                self.coverage.note(Call::Len);
                same("len", &sound("len", txn.len(self.table))?, &(self.entries.len() as u64))?;
                self.coverage.note(Call::IsEmpty);
                same("is_empty", &sound("is_empty", txn.is_empty(self.table))?, &self.entries.is_empty())
            }
        }
    }

    fn many(&mut self, txn: &impl Read) -> Result<(), Difference> {
        self.coverage.note(Call::GetMany);
        let keys: Vec<Vec<u8>> = (0..self.random.index(80)).map(|_| self.pool.key(self.random)).collect();
        let slices: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        let found = sound("get_many", txn.get_many(self.table, &slices))?;
        same("get_many's length", &found.len(), &keys.len())?;
        for (key, value) in keys.iter().zip(found) {
            same("get_many", &value.as_deref(), &self.entries.get(key).map(|value| &**value))?;
        }
        Ok(())
    }

    fn ends(&mut self, txn: &impl Read) -> Result<(), Difference> {
        self.coverage.note(Call::First);
        let first = sound("first", txn.first(self.table))?.map(|(key, value)| (key.to_vec(), value.to_vec()));
        same("first", &first, &self.entries.iter().next().map(|(key, value)| owned_truth((key, value))))?;
        self.coverage.note(Call::Last);
        let last = sound("last", txn.last(self.table))?.map(|(key, value)| (key.to_vec(), value.to_vec()));
        same("last", &last, &self.entries.iter().next_back().map(|(key, value)| owned_truth((key, value))))
    }

    fn ranges(&mut self, txn: &impl Read) -> Result<(), Difference> {
        let (low, high) = (self.pool.key(self.random), self.pool.key(self.random));
        let bounds = (bound(self.random, &low), bound(self.random, &high));
        let most = [5, 50, usize::MAX][self.random.index(3)];
        let mut range = sound("range", txn.range(self.table, bounds))?;
        let mut truth = within(self.entries, bounds.0, bounds.1);
        match self.random.below(4) {
            0 => {
                self.coverage.note(Call::Prefix);
                let prefix = &low[..self.random.index(low.len() + 1)];
                let found: Vec<Owned> =
                    sound("prefix", txn.prefix(self.table, prefix))?.take(most).map(owned).collect::<Result<_, _>>()?;
                let truth = self.entries.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
                same("prefix", &found, &truth.take(most).map(|(key, value)| owned_truth((key, value))).collect())
            }
            1 => {
                self.coverage.note(Call::RangeReverse);
                let found: Vec<Owned> = range.rev().take(most).map(owned).collect::<Result<_, _>>()?;
                same("range.rev", &found, &truth.rev().take(most).map(owned_truth).collect())
            }
            2 => {
                self.coverage.note(Call::RangeBothEnds);
                for _ in 0..most {
                    let (found, truth) = if self.random.coin() {
                        (range.next(), truth.next())
                    } else {
                        (range.next_back(), truth.next_back())
                    };
                    same("range from both ends", &found.map(owned).transpose()?, &truth.map(owned_truth))?;
                    if truth.is_none() {
                        break;
                    }
                }
                Ok(())
            }
            _ => {
                self.coverage.note(Call::Range);
                let found: Vec<Owned> = range.take(most).map(owned).collect::<Result<_, _>>()?;
                same("range", &found, &truth.take(most).map(owned_truth).collect())
            }
        }
    }

    fn cursor(&mut self, txn: &impl Read) -> Result<(), Difference> {
        self.coverage.note(Call::CursorSeek);
        let mut cursor = sound("cursor", txn.cursor(self.table))?;
        let key = self.pool.key(self.random);
        let pair = |entry: Result<Option<(Value<'_>, Value<'_>)>>| {
            sound("cursor", entry).map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())))
        };
        let found = pair(cursor.seek(&key))?;
        let mut truth = self.entries.range(key..).next().map(|(key, value)| owned_truth((key, value)));
        same("cursor.seek", &found, &truth)?;
        for _ in 0..self.random.index(20) {
            self.coverage.note(Call::CursorWalk);
            let Some((at, _)) = &truth else { break };
            let at = at.clone();
            let (found, next) = if self.random.coin() {
                let next = self.entries.range::<[u8], _>((Bound::Excluded(&*at), Bound::Unbounded)).next();
                (pair(cursor.next())?, next)
            } else {
                let next = self.entries.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(&*at))).next_back();
                (pair(cursor.previous())?, next)
            };
            truth = next.map(|(key, value)| owned_truth((key, value)));
            same("cursor walk", &found, &truth)?;
        }
        Ok(())
    }

    fn counts(&mut self, txn: &impl Read) -> Result<(), Difference> {
        let (low, high) = (self.pool.key(self.random), self.pool.key(self.random));
        let bounds = (bound(self.random, &low), bound(self.random, &high));
        let truth = within(self.entries, bounds.0, bounds.1).count() as u64;
        self.coverage.note(Call::Count);
        same("count", &sound("count", txn.count(self.table, bounds))?, &truth)?;
        self.coverage.note(Call::EstimateCount);
        let estimate = sound("estimate_count", txn.estimate_count(self.table, bounds))?;
        if !(estimate.low..=estimate.high).contains(&truth)
            || !(estimate.low..=estimate.high).contains(&estimate.entries)
        {
            return Err(format!("estimate_count: {estimate:?} does not hold {truth}"));
        }
        Ok(())
    }

    /// Makes each read that only a shared read transaction has, and compares its answer with the truth.
    pub fn read_shared(&mut self, txn: &Arc<ReadTxn>) -> Result<(), Difference> {
        let (low, high) = (self.pool.key(self.random), self.pool.key(self.random));
        let bounds = (bound(self.random, &low), bound(self.random, &high));
        let truth: Vec<Owned> = within(self.entries, bounds.0, bounds.1).map(owned_truth).collect();
        self.coverage.note(Call::OwnedRange);
        let found = sound("owned_range", txn.owned_range(self.table, bounds))?;
        let found: Vec<Owned> = if self.random.coin() {
            found.map(|entry| sound("owned_range", entry)).collect::<Result<_, _>>()?
        } else {
            let mut found: Vec<Owned> =
                found.rev().map(|entry| sound("owned_range", entry)).collect::<Result<_, _>>()?;
            found.reverse();
            found
        };
        same("owned_range", &found, &truth)?;
        self.coverage.note(Call::LeafBatches);
        let mut batches = sound("leaf_batches", txn.leaf_batches(self.table, bounds))?;
        let (mut front, mut back) = (Vec::new(), Vec::new());
        loop {
            let from_back = self.random.coin();
            let Some(batch) = (if from_back { batches.next_back() } else { batches.next() }) else { break };
            let batch = sound("leaf_batches", batch)?;
            if batch.len() != batch.iter().count() || batch.len() == 0 {
                return Err("leaf_batches: a batch has another length than it says".to_owned());
            }
            let entries = batch.iter().map(|(key, value)| (key.to_vec(), value.to_vec()));
            if from_back {
                back.extend(entries.rev());
            } else {
                front.extend(entries);
            }
        }
        front.extend(back.into_iter().rev());
        same("leaf_batches", &front, &truth)?;
        self.coverage.note(Call::KeyBatches);
        let mut batches = sound("key_batches", txn.key_batches(self.table, bounds))?;
        let (mut found, mut key) = (Vec::new(), Vec::new());
        loop {
            let most = if self.random.coin() { usize::MAX } else { 1 + self.random.index(40) };
            let Some(batch) = sound("key_batches", batches.next_of(most))? else { break };
            if batch.len() != batch.iter().count() || !(1..=most).contains(&batch.len()) {
                return Err("key_batches: a batch has another length than it says, or than it may have".to_owned());
            }
            for suffix in &batch {
                suffix.complete(&mut key);
                found.push(key.clone());
            }
        }
        let truth: Vec<Vec<u8>> = truth.into_iter().map(|(key, _)| key).collect();
        same("key_batches", &found, &truth)?;
        self.prefix_keys(txn, &low)
    }

    fn prefix_keys(&mut self, txn: &ReadTxn, low: &[u8]) -> Result<(), Difference> {
        self.coverage.note(Call::PrefixKeys);
        let prefix = &low[..self.random.index(low.len() + 1)];
        let most = if self.random.coin() { usize::MAX } else { self.random.index(40) };
        let (mut found, mut key) = (Vec::new(), Vec::new());
        let are_all = txn.prefix_keys(self.table, prefix, most, |suffix| {
            suffix.complete(&mut key);
            found.push(key.clone());
        });
        let truth: Vec<&Vec<u8>> = self
            .entries
            .range(prefix.to_vec()..)
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .collect();
        let (are_all, given) = (sound("prefix_keys", are_all)?, truth.len().min(most));
        if are_all && given < truth.len() || !are_all && given < most {
            return Err(format!("prefix_keys: {are_all} that {given} of {} are all", truth.len()));
        }
        same("prefix_keys", &found.iter().collect(), &truth[..given].to_vec())
    }
}

/// Compares a whole table, forwards.
pub fn whole(txn: &impl Read, table: &Table, entries: &Entries) -> Result<(), Difference> {
    let mut truth = entries.iter();
    for entry in sound("whole range", txn.range(table, ..))? {
        same("whole range", &Some(owned(entry)?), &truth.next().map(|(key, value)| owned_truth((key, value))))?;
    }
    same("whole range's end", &None, &truth.next().map(|(key, value)| owned_truth((key, value))))
}
