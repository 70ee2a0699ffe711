//! An engine for tests: a sorted map with, on request, one fault, which the checks must find.

use std::collections::BTreeMap;
use std::ops::Bound;

use fulgurite_rivals::{Failure, Reader};

use crate::data::dataset::Dataset;

/// What is wrong with the record in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Its value's first byte.
    FirstByte,
    /// Its value's last byte.
    LastByte,
    /// A byte in the middle of its value, which timed loops do not look at.
    MiddleByte,
    /// Its value lacks the last byte.
    Length,
    /// It is missing.
    Lost,
    /// An absent key is stored.
    Invented,
}

/// The map.
pub struct Planted(BTreeMap<Vec<u8>, Vec<u8>>);

impl Planted {
    /// The stored records of `data`, with `fault`.
    pub fn new(data: &Dataset, fault: Fault) -> Self {
        let mut map: BTreeMap<Vec<u8>, Vec<u8>> =
            data.stored.records(&data.values).map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        let victim = data.stored.key(data.stored.len() / 2);
        let value = map.get_mut(victim).unwrap();
        let length = value.len();
        match fault {
            Fault::None => {}
            Fault::FirstByte => value[0] ^= 1,
            Fault::LastByte => value[length - 1] ^= 1,
            Fault::MiddleByte => value[length / 2] ^= 1,
            Fault::Length => drop(value.pop()),
            Fault::Lost => drop(map.remove(victim)),
            Fault::Invented => {
                let key = data.absent.key(data.absent.len() / 2).to_vec();
                map.insert(key, vec![0; length]);
            }
        }
        Self(map)
    }
}

impl Reader for Planted {
    type Value<'r> = &'r [u8];

    fn get<'r>(&'r self, key: &[u8]) -> Result<Option<&'r [u8]>, Failure> {
        Ok(self.0.get(key).map(Vec::as_slice))
    }

    fn get_many(&self, keys: &[&[u8]], mut each: impl FnMut(usize, Option<&[u8]>)) -> Result<(), Failure> {
        keys.iter().enumerate().for_each(|(position, key)| each(position, self.0.get(*key).map(Vec::as_slice)));
        Ok(())
    }

    fn scan(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.0.iter().for_each(|(key, value)| each(key, value));
        Ok(())
    }

    fn scan_reverse(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.0.iter().rev().for_each(|(key, value)| each(key, value));
        Ok(())
    }

    fn scan_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let range = self.0.range::<[u8], _>((Bound::Included(from), Bound::Unbounded));
        range.take(count).for_each(|(key, value)| each(key, value));
        Ok(())
    }
}
