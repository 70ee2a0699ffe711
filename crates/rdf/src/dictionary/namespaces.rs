//! Namespaces of IRIs that have a number, so that IRIs in them are stored by the number and the rest.
//!
//! A namespace that was committed stays for ever. It is committed in a transaction of its own before the first IRI that needs it, or by a bulk
//! load together with these. So what is known here holds for every snapshot.

use std::collections::HashMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use fulgurite::{Database, Durability};

use super::bytes;
use crate::error::Result;
use crate::tables::{Reads, Tables, damaged};

/// The namespaces that are known.
#[derive(Debug, Default)]
pub struct IriNamespaces {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    texts: HashMap<u32, Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl IriNamespaces {
    /// Reads all that there are.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    pub fn read(reads: &impl Reads, tables: &Tables, path: &Path) -> Result<Self> {
        let mut known = Known::default();
        for entry in reads.range(&tables.iri_namespaces, Bound::Included(&[0]), Bound::Excluded(&[1]))? {
            let (key, text) = entry?;
            let number = key[1..].try_into().ok().map(u32::from_be_bytes);
            let text = std::str::from_utf8(&text).ok();
            let (Some(number), Some(text)) = (number, text) else {
                return Err(damaged(path, "table `iri_namespaces`", "an entry is no number and text"));
            };
            known.add(number, text);
        }
        Ok(Self { known: RwLock::new(known) })
    }

    /// The text of a number.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if there is none; what the engine reports.
    pub fn text(&self, reads: &impl Reads, tables: &Tables, path: &Path, number: u32) -> Result<Arc<str>> {
        if let Some(text) = self.known.read().unwrap_or_else(PoisonError::into_inner).texts.get(&number) {
            return Ok(Arc::clone(text));
        }
        let stored = reads.get(&tables.iri_namespaces, &number_key(number))?;
        let text = stored.as_deref().and_then(|text| std::str::from_utf8(text).ok());
        let text =
            text.ok_or_else(|| damaged(path, "table `iri_namespaces`", "the number of an IRI's is not there"))?;
        let text: Arc<str> = text.into();
        self.known.write().unwrap_or_else(PoisonError::into_inner).add(number, &text);
        Ok(text)
    }

    /// Writes the stored form of an IRI to `out`, if its namespace has a number.
    pub fn shorten(&self, iri: &[u8], out: &mut Vec<u8>) -> bool {
        let Some((namespace, rest)) = split(iri) else { return false };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(&number) = known.numbers.get(namespace) else { return false };
        bytes::encode_in_namespace(number, rest.as_bytes(), out);
        true
    }

    /// Gives the namespace of an IRI a number, if it has none and there are not so many yet.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    pub fn note(&self, database: &Database, tables: &Tables, iri: &[u8]) -> Result<()> {
        let Some((namespace, _)) = split(iri) else { return Ok(()) };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if known.texts.len() >= NOTED_MAX || known.numbers.contains_key(namespace) {
            return Ok(());
        }
        drop(known);
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

    /// Remembers namespaces whose numbers are committed.
    pub fn learn(&self, numbered: &Numbered) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        numbered.numbers.iter().for_each(|(text, number)| known.add(*number, text));
    }
}

/// Namespaces and the numbers that they have, or are to be given: in what commits them, and not before.
#[derive(Debug, Default)]
pub struct Numbered {
    numbers: HashMap<Box<str>, u32>,
    /// Those from here on are new.
    first_new: u32,
}

impl Numbered {
    /// Those that have none are given the next, as far as there is room.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`]; what the engine reports.
    pub fn of(reads: &impl Reads, tables: &Tables, path: &Path, namespaces: &[&str]) -> Result<Self> {
        let first_new = next_number(reads, tables, path)?;
        let (mut next, mut numbers) = (first_new, HashMap::new());
        for &namespace in namespaces {
            let number = match reads.get(&tables.iri_namespaces, &text_key(namespace))? {
                Some(stored) => {
                    let number = (*stored).try_into().ok().map(u32::from_be_bytes).filter(|&number| number < first_new);
                    number.ok_or_else(|| damaged(path, "table `iri_namespaces`", "a text has no number"))?
                }
                None if next as usize >= NAMESPACES_MAX => continue,
                None => {
                    next += 1;
                    next - 1
                }
            };
            numbers.insert(namespace.into(), number);
        }
        Ok(Self { numbers, first_new })
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

impl Known {
    fn add(&mut self, number: u32, text: &str) {
        let text: Arc<str> = text.into();
        self.texts.insert(number, Arc::clone(&text));
        self.numbers.insert(text, number);
    }
}

/// The number after the last.
fn next_number(reads: &impl Reads, tables: &Tables, path: &Path) -> Result<u32> {
    let mut range = reads.range(&tables.iri_namespaces, Bound::Included(&[0]), Bound::Excluded(&[1]))?;
    let Some((key, _)) = range.next_back().transpose()? else { return Ok(0) };
    let last = key[1..].try_into().ok().map(u32::from_be_bytes).filter(|&last| (last as usize) < NAMESPACES_MAX);
    last.map(|last| last + 1).ok_or_else(|| damaged(path, "table `iri_namespaces`", "a number is too high"))
}

fn number_key(number: u32) -> [u8; 5] {
    let [a, b, c, d] = number.to_be_bytes();
    [0, a, b, c, d]
}

fn text_key(text: &str) -> Vec<u8> {
    [&[1], text.as_bytes()].concat()
}

/// The namespace of an IRI's [bytes](bytes::encode), up to its last slash or number sign, and the rest; `None` if sharing it is not
/// worth while.
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
