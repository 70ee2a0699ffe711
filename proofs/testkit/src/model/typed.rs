//! A typed table and a multimap, compared with a map and a set of the types that they hold.
//!
//! Every world has one of each. Their encodings are not checked here; their values and the order are.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use fulgurite::{
    Database, Error, MergeOperator, MultimapTable, Read, ReadTxn, Result, TableOptions, TypedTable, WriteTxn,
};

use super::check::{Difference, same, sound};
use super::coverage::{Call, Coverage};
use super::truth::{TypedKey, TypedPair, TypedTruth};
use crate::random::Random;

/// The names of the two tables, in order.
pub const NAMES: [&str; 2] = ["multimap", "typed"];

/// The two tables, open.
#[derive(Debug)]
pub struct Typed {
    rows: TypedTable<TypedKey, i64>,
    pairs: MultimapTable<String, u64>,
}

/// What a step draws from and counts in.
pub struct Step<'w> {
    /// The source of what is drawn.
    pub random: &'w mut Random,
    /// The calls made.
    pub coverage: &'w mut Coverage,
}

impl Typed {
    /// The tables of a database, created if need be; `counted` says how, the same for all times.
    pub fn open(db: &Database, counted: bool, step: &mut Step<'_>) -> Result<Self, Difference> {
        let rows = if counted || step.random.coin() {
            step.coverage.note(Call::TypedTableWith);
            let options = TableOptions::new().counted(counted);
            // Of the two kinds of worlds one merges.
            let options = if counted { options.merge(MergeOperator::Add) } else { options };
            db.typed_table_with("typed", options)
        } else {
            step.coverage.note(Call::TypedTable);
            db.typed_table("typed")
        };
        step.coverage.note(Call::MultimapTable);
        Ok(Self { rows: sound("typed_table", rows)?, pairs: sound("multimap_table", db.multimap_table("multimap"))? })
    }

    /// The tables as a snapshot has them.
    pub fn of(txn: &ReadTxn, coverage: &mut Coverage) -> Result<Self, Difference> {
        let table = |name| sound("open_table", txn.open_table(name));
        coverage.note(Call::TypedNew);
        coverage.note(Call::MultimapNew);
        let swapped = (
            TypedTable::<TypedKey, i64>::new(table("multimap")?),
            MultimapTable::<TypedKey, u64>::new(table("typed")?),
        );
        let (Err(Error::TableMismatch { .. }), Err(Error::TableMismatch { .. })) = swapped else {
            return Err("a table opens as what it is not".to_owned());
        };
        let (rows, pairs) = (TypedTable::new(table("typed")?), MultimapTable::new(table("multimap")?));
        Ok(Self { rows: sound("TypedTable::new", rows)?, pairs: sound("MultimapTable::new", pairs)? })
    }

    /// Makes one random read and compares its answer with the truth.
    pub fn read(&self, txn: &impl Read, truth: &TypedTruth, step: &mut Step<'_>) -> Result<(), Difference> {
        if step.random.coin() {
            self.read_rows(txn, &truth.rows, step)
        } else {
            self.read_pairs(txn, &truth.pairs, step)
        }
    }

    fn read_rows(
        &self,
        txn: &impl Read,
        rows: &BTreeMap<TypedKey, i64>,
        step: &mut Step<'_>,
    ) -> Result<(), Difference> {
        let key = key(step.random);
        let asked = (key.0.as_str(), key.1);
        match step.random.below(8) {
            0..=1 => {
                step.coverage.note(Call::TypedGet);
                same("TypedTable::get", &sound("get", self.rows.get(txn, asked))?, &rows.get(&key).copied())
            }
            2 => {
                step.coverage.note(Call::TypedGetBytes);
                let found = sound("get_bytes", self.rows.get_bytes(txn, asked))?;
                let truth = rows.get(&key).map(|value| value.to_le_bytes().to_vec());
                same("TypedTable::get_bytes", &found.map(|value| value.to_vec()), &truth)
            }
            3 => {
                step.coverage.note(Call::TypedIter);
                let found = sound("iter", self.rows.iter(txn))?;
                let truth = rows.iter().map(|(key, value)| (key.clone(), *value));
                prefix_of("TypedTable::iter", found, truth, step.random)
            }
            4..=5 => {
                step.coverage.note(Call::TypedRange);
                let (low, high) = bounds(key, step.random);
                let found = sound("range", self.rows.range::<TypedKey>(txn, (low.as_ref(), high.as_ref())))?;
                let truth = rows.range((low.clone(), high.clone())).map(|(key, value)| (key.clone(), *value));
                prefix_of("TypedTable::range", found, truth, step.random)
            }
            6 => {
                step.coverage.note(Call::TypedPrefix);
                let found = sound("prefix", self.rows.prefix(txn, &(key.0.as_str(),)))?;
                let truth = rows.iter().filter(|((name, _), _)| *name == key.0);
                prefix_of("TypedTable::prefix", found, truth.map(|(key, value)| (key.clone(), *value)), step.random)
            }
            _ => {
                step.coverage.note(Call::TypedCount);
                let (low, high) = bounds(key, step.random);
                let found = sound("count", self.rows.count::<TypedKey>(txn, (low.as_ref(), high.as_ref())))?;
                same("TypedTable::count", &found, &(rows.range((low, high)).count() as u64))
            }
        }
    }

    fn read_pairs(&self, txn: &impl Read, pairs: &BTreeSet<TypedPair>, step: &mut Step<'_>) -> Result<(), Difference> {
        let (name, value) = pair(step.random);
        match step.random.below(6) {
            0..=1 => {
                step.coverage.note(Call::MultimapGet);
                let found = sound("get", self.pairs.get(txn, &*name))?;
                prefix_of("MultimapTable::get", found, values_of(pairs, &name), step.random)
            }
            2 => {
                step.coverage.note(Call::MultimapContains);
                let found = sound("contains", self.pairs.contains(txn, &*name, value))?;
                same("MultimapTable::contains", &found, &pairs.contains(&(name, value)))
            }
            3 => {
                step.coverage.note(Call::MultimapCount);
                let found = sound("count", self.pairs.count(txn, &*name))?;
                same("MultimapTable::count", &found, &(values_of(pairs, &name).count() as u64))
            }
            4 => {
                step.coverage.note(Call::MultimapIter);
                let found = sound("iter", self.pairs.iter(txn))?;
                prefix_of("MultimapTable::iter", found, pairs.iter().cloned(), step.random)
            }
            _ => {
                step.coverage.note(Call::MultimapPrefix);
                let beginning: String = name.chars().take(step.random.index(4)).collect();
                let found = sound("prefix", self.pairs.prefix(txn, &*beginning))?;
                let truth = pairs.iter().filter(|(name, _)| name.starts_with(&beginning)).cloned();
                prefix_of("MultimapTable::prefix", found, truth, step.random)
            }
        }
    }

    /// Makes one random change of both.
    pub fn change(&self, txn: &mut WriteTxn, truth: &mut TypedTruth, step: &mut Step<'_>) -> Result<(), Difference> {
        if step.random.coin() {
            self.change_rows(txn, Arc::make_mut(&mut truth.rows), step)
        } else {
            self.change_pairs(txn, Arc::make_mut(&mut truth.pairs), step)
        }
    }

    fn change_rows(
        &self,
        txn: &mut WriteTxn,
        rows: &mut BTreeMap<TypedKey, i64>,
        step: &mut Step<'_>,
    ) -> Result<(), Difference> {
        let (key, value) = (key(step.random), step.random.next_u64() as i64);
        let asked = (key.0.as_str(), key.1);
        match step.random.below(10) {
            8.. => self.edit_rows(txn, rows, key, value, step),
            6.. if self.rows.as_bytes().merge_operator().is_some() => {
                if step.random.coin() {
                    step.coverage.note(Call::TypedMerge);
                    sound("TypedTable::merge", self.rows.merge(txn, asked, value))?;
                } else {
                    step.coverage.note(Call::TypedMergeBytes);
                    let bytes = value.to_le_bytes();
                    sound("TypedTable::merge_bytes", self.rows.merge_bytes(txn, asked, bytes))?;
                }
                let sum = rows.entry(key).or_default();
                *sum = sum.wrapping_add(value);
                Ok(())
            }
            0..=2 => {
                step.coverage.note(Call::TypedPut);
                sound("TypedTable::put", self.rows.put(txn, asked, value))?;
                rows.insert(key, value);
                Ok(())
            }
            3 => {
                step.coverage.note(Call::TypedInsert);
                let found = sound("insert", self.rows.insert(txn, asked, value))?;
                same("TypedTable::insert", &found, &!rows.contains_key(&key))?;
                rows.entry(key).or_insert(value);
                Ok(())
            }
            _ => {
                step.coverage.note(Call::TypedDelete);
                let found = sound("delete", self.rows.delete(txn, asked))?;
                same("TypedTable::delete", &found, &rows.remove(&key).is_some())
            }
        }
    }

    /// Changes rows on the way through them, or asks for old values.
    fn edit_rows(
        &self,
        txn: &mut WriteTxn,
        rows: &mut BTreeMap<TypedKey, i64>,
        key: TypedKey,
        value: i64,
        step: &mut Step<'_>,
    ) -> Result<(), Difference> {
        let asked = (key.0.as_str(), key.1);
        match step.random.below(12) {
            0..=3 => {
                step.coverage.note(Call::TypedReplace);
                let found = sound("replace", self.rows.replace(txn, asked, value))?;
                same("TypedTable::replace", &found, &rows.insert(key, value))
            }
            4..=6 => {
                step.coverage.note(Call::TypedRemove);
                same("TypedTable::remove", &sound("remove", self.rows.remove(txn, asked))?, &rows.remove(&key))
            }
            7..=8 => {
                step.coverage.note(Call::TypedPopFirst);
                same("TypedTable::pop_first", &sound("pop_first", self.rows.pop_first(txn))?, &rows.pop_first())
            }
            9 => {
                step.coverage.note(Call::TypedPopLast);
                same("TypedTable::pop_last", &sound("pop_last", self.rows.pop_last(txn))?, &rows.pop_last())
            }
            10 => {
                step.coverage.note(Call::TypedRetain);
                let before = rows.len();
                rows.retain(|row, value| row.1 != key.1 || *value % 2 == 0);
                let found = self.rows.retain(txn, |row: TypedKey, value| row.1 != key.1 || value % 2 == 0);
                same("TypedTable::retain", &sound("retain", found)?, &((before - rows.len()) as u64))
            }
            _ => {
                step.coverage.note(Call::TypedRetainIn);
                let (low, high) = bounds(key, step.random);
                let bounds = (low.as_ref(), high.as_ref());
                let found = self.rows.retain_in::<TypedKey>(txn, bounds, |_, value| value % 3 != 0);
                let gone: Vec<TypedKey> = rows
                    .range((low.clone(), high.clone()))
                    .filter(|(_, value)| *value % 3 == 0)
                    .map(|(row, _)| row.clone())
                    .collect();
                gone.iter().for_each(|row| _ = rows.remove(row));
                same("TypedTable::retain_in", &sound("retain_in", found)?, &(gone.len() as u64))
            }
        }
    }

    fn change_pairs(
        &self,
        txn: &mut WriteTxn,
        pairs: &mut BTreeSet<TypedPair>,
        step: &mut Step<'_>,
    ) -> Result<(), Difference> {
        let (name, value) = pair(step.random);
        match step.random.below(24) {
            20 => {
                step.coverage.note(Call::MultimapRetain);
                let before = pairs.len();
                pairs.retain(|(_, other)| *other != value);
                let found = sound("retain", self.pairs.retain(txn, |_, other| other != value))?;
                same("MultimapTable::retain", &found, &((before - pairs.len()) as u64))
            }
            21..=22 => {
                step.coverage.note(Call::MultimapPopFirst);
                same("MultimapTable::pop_first", &sound("pop_first", self.pairs.pop_first(txn))?, &pairs.pop_first())
            }
            23 => {
                step.coverage.note(Call::MultimapPopLast);
                same("MultimapTable::pop_last", &sound("pop_last", self.pairs.pop_last(txn))?, &pairs.pop_last())
            }
            0..=11 => {
                step.coverage.note(Call::MultimapInsert);
                let found = sound("insert", self.pairs.insert(txn, &*name, value))?;
                same("MultimapTable::insert", &found, &pairs.insert((name, value)))
            }
            12..=18 => {
                step.coverage.note(Call::MultimapRemove);
                let found = sound("remove", self.pairs.remove(txn, &*name, value))?;
                same("MultimapTable::remove", &found, &pairs.remove(&(name, value)))
            }
            _ => {
                step.coverage.note(Call::MultimapRemoveAll);
                let found = sound("remove_all", self.pairs.remove_all(txn, &*name))?;
                same("MultimapTable::remove_all", &found, &(values_of(pairs, &name).count() as u64))?;
                pairs.retain(|(other, _)| *other != name);
                Ok(())
            }
        }
    }

    /// Loads pairs into the multimap as bytes.
    pub fn load(&self, db: &Database, truth: &mut TypedTruth, step: &mut Step<'_>) -> Result<(), Difference> {
        let loaded: Vec<TypedPair> = (0..step.random.index(50)).map(|_| pair(step.random)).collect();
        let entry = |(name, value): &TypedPair| {
            step.coverage.note(Call::MultimapEntry);
            sound("MultimapTable::entry", self.pairs.entry(&**name, *value)).map(|entry| (entry, []))
        };
        let entries: Vec<(Box<[u8]>, [u8; 0])> = loaded.iter().map(entry).collect::<Result<_, _>>()?;
        step.coverage.note(Call::MultimapAsBytes);
        sound("bulk_load_unsorted", db.bulk_load_unsorted(self.pairs.as_bytes(), entries))?;
        Arc::make_mut(&mut truth.pairs).extend(loaded);
        Ok(())
    }

    /// Compares all that both hold.
    pub fn whole(&self, txn: &ReadTxn, truth: &TypedTruth, coverage: &mut Coverage) -> Result<(), Difference> {
        let rows = sound("iter", self.rows.iter(txn))?.collect::<Result<Vec<_>>>();
        let expected: Vec<_> = truth.rows.iter().map(|(key, value)| (key.clone(), *value)).collect();
        same("all of a typed table", &sound("iter", rows)?, &expected)?;
        let pairs = sound("iter", self.pairs.iter(txn))?.collect::<Result<Vec<_>>>();
        same("all of a multimap", &sound("iter", pairs)?, &truth.pairs.iter().cloned().collect())?;
        coverage.note(Call::TypedAsBytes);
        same("len", &sound("len", txn.len(self.rows.as_bytes()))?, &(truth.rows.len() as u64))
    }
}

/// Compares the beginning of an iterator, or its end backwards, with what it should give.
fn prefix_of<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: impl DoubleEndedIterator<Item = Result<T>>,
    truth: impl DoubleEndedIterator<Item = T>,
    random: &mut Random,
) -> Result<(), Difference> {
    let most = [3, 30, usize::MAX][random.index(3)];
    let (found, truth): (Result<Vec<T>>, Vec<T>) = if random.coin() {
        (found.take(most).collect(), truth.take(most).collect())
    } else {
        (found.rev().take(most).collect(), truth.rev().take(most).collect())
    };
    same(what, &sound(what, found)?, &truth)
}

fn values_of<'p>(pairs: &'p BTreeSet<TypedPair>, name: &str) -> impl DoubleEndedIterator<Item = u64> + use<'p> {
    pairs.range((name.to_owned(), 0)..=(name.to_owned(), u64::MAX)).map(|(_, value)| *value)
}

/// Bounds that begin or end with a key, never crossed: a standard map would panic.
fn bounds(key: TypedKey, random: &mut Random) -> (Bound<TypedKey>, Bound<TypedKey>) {
    let other = self::key(random);
    let (low, high) = if key < other { (key, other) } else { (other, key) };
    match random.below(4) {
        0 => (Bound::Unbounded, Bound::Excluded(high)),
        1 => (Bound::Excluded(low), Bound::Unbounded),
        2 => (Bound::Included(low), Bound::Excluded(high)),
        _ => (Bound::Included(low), Bound::Included(high)),
    }
}

fn key(random: &mut Random) -> TypedKey {
    (name(random), random.below(8) as i32 - 4)
}

fn pair(random: &mut Random) -> TypedPair {
    (name(random), random.below(12))
}

/// Names that begin like each other, and have the bytes that an encoding must escape.
fn name(random: &mut Random) -> String {
    (0..random.index(4)).map(|_| ['\0', 'a', 'b', 'ÿ'][random.index(4)]).collect()
}
