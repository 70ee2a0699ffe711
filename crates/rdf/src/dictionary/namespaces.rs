//! Namespaces of IRIs that have a number, so that IRIs in them are stored by the number and the rest.
//!
//! A namespace is committed in a transaction of its own before the first IRI that needs it, or by a bulk load together
//! with these. It stays until a sweep finds that no IRI needs it; its number is never given to another. So the text of
//! a number that is known here holds for every snapshot. The number of a text may be gone: sweeps that take some away
//! count themselves in `meta`, which is checked before an IRI is written ([`IriNamespaces::refresh`]).

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{OnceLock, PoisonError, RwLock};

use fulgurite::{Database, Durability, WriteTxn};

use super::bytes;
use crate::error::Result;
use crate::tables::{Reads, Tables, damaged};

/// The namespaces that are known.
#[derive(Debug, Default)]
pub struct IriNamespaces {
    texts: Texts,
    /// Guards the numbers, which only those who write look for.
    numbers: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_text: HashMap<Box<str>, u32>,
    /// Sweeps of namespaces that these are later than.
    sweeps: u64,
}

/// Texts by their numbers. Each is set once. Unless a store was swept of thousands of namespaces, reading one takes no
/// lock and no shared cache line that changes.
#[derive(Debug, Default)]
struct Texts {
    blocks: [OnceLock<Block>; NAMESPACES_MAX / BLOCK],
    /// Those of higher numbers.
    later: RwLock<HashMap<u32, Box<str>>>,
}

type Block = Box<[OnceLock<Box<str>>; BLOCK]>;
const BLOCK: usize = 512;

impl Texts {
    #[inline]
    fn get(&self, number: u32) -> Option<Cow<'_, str>> {
        match self.blocks.get(number as usize / BLOCK) {
            Some(block) => block.get()?[number as usize % BLOCK].get().map(|text| Cow::Borrowed(&**text)),
            None => self.get_later(number),
        }
    }

    #[cold]
    fn get_later(&self, number: u32) -> Option<Cow<'_, str>> {
        let later = self.later.read().unwrap_or_else(PoisonError::into_inner);
        later.get(&number).map(|text| Cow::Owned(text.to_string()))
    }

    fn set(&self, number: u32, text: &str) {
        if let Some(block) = self.blocks.get(number as usize / BLOCK) {
            let block = block.get_or_init(|| Box::new([const { OnceLock::new() }; BLOCK]));
            block[number as usize % BLOCK].get_or_init(|| text.into());
        } else {
            self.later.write().unwrap_or_else(PoisonError::into_inner).entry(number).or_insert_with(|| text.into());
        }
    }
}

impl IriNamespaces {
    /// Reads all that there are.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    pub fn read(reads: &impl Reads, tables: &Tables, path: &Path) -> Result<Self> {
        let known = Self::default();
        known.numbers.write().unwrap_or_else(PoisonError::into_inner).sweeps = sweeps(reads, tables, path)?;
        for entry in reads.range(&tables.iri_namespaces, [0]..[1])? {
            let (key, text) = entry?;
            let number = key[1..].try_into().ok().map(u32::from_be_bytes);
            let text = std::str::from_utf8(&text).ok();
            let (Some(number), Some(text)) = (number, text) else {
                return Err(damaged(path, "table `iri_namespaces`", "an entry is not a number and text"));
            };
            known.remember(number, text);
        }
        Ok(known)
    }

    fn remember(&self, number: u32, text: &str) {
        self.texts.set(number, text);
        self.numbers.write().unwrap_or_else(PoisonError::into_inner).by_text.insert(text.into(), number);
    }

    /// Forgets numbers that sweeps have taken away, as far as a transaction sees these; it is in conflict with later
    /// ones. What is known here is then good for all that it writes.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    pub fn refresh(&self, txn: &mut WriteTxn, database: &Database, tables: &Tables) -> Result<()> {
        let path = database.path();
        txn.guard(&tables.meta, SWEEPS_KEY)?;
        if self.is_older_than(sweeps(txn, tables, path)?) {
            // Not from the transaction, which would be in conflict with who gives a namespace a number: itself, mostly.
            self.refresh_from(&database.read()?, tables, path)?;
        }
        Ok(())
    }

    fn is_older_than(&self, sweeps: u64) -> bool {
        self.numbers.read().unwrap_or_else(PoisonError::into_inner).sweeps < sweeps
    }

    /// As [`IriNamespaces::refresh`]. Requires: no other transaction can commit.
    ///
    /// # Errors
    /// As [`IriNamespaces::refresh`].
    pub fn refresh_from(&self, reads: &impl Reads, tables: &Tables, path: &Path) -> Result<()> {
        let sweeps = sweeps(reads, tables, path)?;
        if !self.is_older_than(sweeps) {
            return Ok(());
        }
        let newer = Self::read(reads, tables, path)?.numbers.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        if numbers.sweeps < sweeps {
            newer.by_text.iter().for_each(|(text, number)| self.texts.set(*number, text));
            *numbers = Known { sweeps, ..newer };
        }
        Ok(())
    }

    /// Takes these numbers away, and counts that. Requires: nobody else commits beside the transaction, and no IRI
    /// needs them.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    pub fn remove(txn: &mut WriteTxn, tables: &Tables, path: &Path, numbers: &[u32]) -> Result<()> {
        for &number in numbers {
            let text = txn.get(&tables.iri_namespaces, &number_key(number))?.map(|text| text.to_vec());
            let text = text.ok_or_else(|| damaged(path, "table `iri_namespaces`", "a number is not there"))?;
            txn.delete(&tables.iri_namespaces, &number_key(number))?;
            txn.delete(&tables.iri_namespaces, &[&[1], &text[..]].concat())?;
        }
        let sweeps = sweeps(txn, tables, path)? + 1;
        Ok(txn.put(&tables.meta, SWEEPS_KEY, &sweeps.to_be_bytes())?)
    }

    /// The text of a number.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if there is none; what the engine reports.
    #[inline]
    pub fn text(&self, reads: &impl Reads, tables: &Tables, path: &Path, number: u32) -> Result<Cow<'_, str>> {
        match self.texts.get(number) {
            Some(text) => Ok(text),
            None => self.read_text(reads, tables, path, number).map(Cow::Owned),
        }
    }

    #[cold]
    fn read_text(&self, reads: &impl Reads, tables: &Tables, path: &Path, number: u32) -> Result<String> {
        let stored = reads.get(&tables.iri_namespaces, &number_key(number))?;
        let text = stored.as_deref().and_then(|text| std::str::from_utf8(text).ok());
        let text =
            text.ok_or_else(|| damaged(path, "table `iri_namespaces`", "the number of an IRI's is not there"))?;
        // In an old snapshot the number may be one that is gone: it is not to be written again.
        self.texts.set(number, text);
        Ok(text.into())
    }

    /// Writes the stored form of an IRI to `out`, if its namespace has a number.
    pub fn shorten(&self, iri: &[u8], out: &mut Vec<u8>) -> bool {
        let Some((namespace, rest)) = split(iri) else { return false };
        let numbers = self.numbers.read().unwrap_or_else(PoisonError::into_inner);
        let Some(&number) = numbers.by_text.get(namespace) else { return false };
        bytes::encode_in_namespace(number, rest.as_bytes(), out);
        true
    }

    /// Gives the namespace of an IRI a number, if it has none and there are not so many yet.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    pub fn note(&self, database: &Database, tables: &Tables, iri: &[u8]) -> Result<()> {
        let Some((namespace, _)) = split(iri) else { return Ok(()) };
        let numbers = self.numbers.read().unwrap_or_else(PoisonError::into_inner);
        if numbers.by_text.len() >= NOTED_MAX || numbers.by_text.contains_key(namespace) {
            return Ok(());
        }
        drop(numbers);
        self.add(database, tables, &[namespace])
    }

    /// Gives namespaces numbers, in a transaction of its own, as far as they have none and there is room.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    fn add(&self, database: &Database, tables: &Tables, namespaces: &[&str]) -> Result<()> {
        loop {
            let mut txn = database.write()?;
            let numbered = Numbered::of(&txn, tables, database.path(), namespaces)?;
            for (key, value) in numbered.entries() {
                txn.put(&tables.iri_namespaces, &key, &value)?;
            }
            match txn.commit_with(Durability::Memory) {
                Ok(_) => {
                    self.learn(&numbered);
                    return Ok(());
                }
                Err(error) if error.is_retryable() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Remembers namespaces whose numbers are committed, unless a sweep may have taken them away since.
    pub fn learn(&self, numbered: &Numbered) {
        let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        if numbers.sweeps == numbered.sweeps {
            for (text, number) in &numbered.numbers {
                self.texts.set(*number, text);
                numbers.by_text.insert((**text).into(), *number);
            }
        }
    }
}

/// Namespaces and the numbers that they have, or are to be given: in what commits them, and not before.
#[derive(Debug, Default)]
pub struct Numbered {
    numbers: HashMap<Box<str>, u32>,
    /// Those from here on are new.
    first_new: u32,
    /// As [`sweeps`] says where they were looked up.
    sweeps: u64,
}

impl Numbered {
    /// Those that have none are given the next, as far as there is room.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    pub fn of(reads: &impl Reads, tables: &Tables, path: &Path, namespaces: &[&str]) -> Result<Self> {
        let first_new = next_number(reads, tables, path)?;
        let (mut next, mut numbers) = (first_new, HashMap::new());
        let mut room = NAMESPACES_MAX.saturating_sub(first_new as usize);
        if room < namespaces.len() {
            // Some numbers may have been taken away.
            room = NAMESPACES_MAX.saturating_sub(numbers_of(reads, tables, path)?.len());
        }
        room = room.min((NAMESPACE_NUMBER_MAX - first_new) as usize);
        for &namespace in namespaces {
            let number = match reads.get(&tables.iri_namespaces, &text_key(namespace))? {
                Some(stored) => {
                    let number = (*stored).try_into().ok().map(u32::from_be_bytes).filter(|&number| number < first_new);
                    number.ok_or_else(|| damaged(path, "table `iri_namespaces`", "a text has no number"))?
                }
                None if room == 0 => continue,
                None => {
                    room -= 1;
                    next += 1;
                    next - 1
                }
            };
            numbers.insert(namespace.into(), number);
        }
        Ok(Self { numbers, first_new, sweeps: sweeps(reads, tables, path)? })
    }

    /// What the table gets for those that are new, in the order of its keys.
    pub fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let new = self.numbers.iter().filter(|(_, number)| **number >= self.first_new);
        let both = new.flat_map(|(text, &number)| {
            [(number_key(number).to_vec(), text.as_bytes().to_vec()), (text_key(text), number.to_be_bytes().to_vec())]
        });
        let mut entries: Vec<_> = both.collect();
        entries.sort_unstable();
        entries
    }

    /// As [`IriNamespaces::shorten`].
    pub fn shorten(&self, iri: &[u8], out: &mut Vec<u8>) -> bool {
        let Some((namespace, rest)) = split(iri) else { return false };
        let Some(&number) = self.numbers.get(namespace) else { return false };
        bytes::encode_in_namespace(number, rest.as_bytes(), out);
        true
    }
}

/// All numbers that there are, rising.
///
/// # Errors
/// [`crate::Error::Damaged`]; what the engine reports.
pub fn numbers_of(reads: &impl Reads, tables: &Tables, path: &Path) -> Result<Vec<u32>> {
    let range = reads.range(&tables.iri_namespaces, [0]..[1])?;
    let number = |key: &[u8]| key[1..].try_into().ok().map(u32::from_be_bytes);
    let damaged = || damaged(path, "table `iri_namespaces`", "an entry is not a number and text");
    range.map(|entry| number(&entry?.0).ok_or_else(damaged)).collect()
}

/// How often namespaces were swept.
fn sweeps(reads: &impl Reads, tables: &Tables, path: &Path) -> Result<u64> {
    let Some(stored) = reads.get(&tables.meta, SWEEPS_KEY)? else { return Ok(0) };
    let sweeps = (*stored).try_into().ok().map(u64::from_be_bytes).filter(|&sweeps| sweeps < u64::MAX);
    sweeps.ok_or_else(|| damaged(path, "meta `namespace_sweeps`", "it is not a number"))
}

/// The number after the last.
fn next_number(reads: &impl Reads, tables: &Tables, path: &Path) -> Result<u32> {
    let mut range = reads.range(&tables.iri_namespaces, [0]..[1])?;
    let Some((key, _)) = range.next_back().transpose()? else { return Ok(0) };
    let last = key[1..].try_into().ok().map(u32::from_be_bytes).filter(|&last| last < NAMESPACE_NUMBER_MAX);
    last.map(|last| last + 1).ok_or_else(|| damaged(path, "table `iri_namespaces`", "a number is too high"))
}

fn number_key(number: u32) -> [u8; 5] {
    let [a, b, c, d] = number.to_be_bytes();
    [0, a, b, c, d]
}

fn text_key(text: &str) -> Vec<u8> {
    [&[1], text.as_bytes()].concat()
}

/// The namespace of an IRI's [bytes](bytes::encode), up to its last slash or number sign, and the rest; `None` if
/// sharing it is not worth while.
pub fn split(iri: &[u8]) -> Option<(&str, &str)> {
    let text = std::str::from_utf8(bytes::iri_text(iri)?).ok()?;
    let end = text.rfind(['/', '#'])? + 1;
    (NAMESPACE_BYTES.contains(&end)).then(|| text.split_at(end))
}

/// How long a namespace is that is worth a number.
const NAMESPACE_BYTES: std::ops::RangeInclusive<usize> = 8..=400;
/// Transactions give numbers only while there are fewer.
const NOTED_MAX: usize = 256;
/// There are never more, so that all fit into memory.
pub const NAMESPACES_MAX: usize = 1 << 14;
/// Numbers are below it: more than sweeps will ever let be given.
pub const NAMESPACE_NUMBER_MAX: u32 = 1 << 28;
const SWEEPS_KEY: &[u8] = b"namespace_sweeps";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_numbers_are_known_once_they_are_set() {
        let texts = Texts::default();
        let numbers = [0, 511, 512, NAMESPACES_MAX as u32 - 1, NAMESPACES_MAX as u32, NAMESPACE_NUMBER_MAX - 1];
        for number in numbers {
            assert_eq!(texts.get(number), None);
            texts.set(number, &format!("http://example.org/{number}/"));
        }
        for number in numbers {
            assert_eq!(texts.get(number).as_deref(), Some(&*format!("http://example.org/{number}/")));
        }
    }
}
