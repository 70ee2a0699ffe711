//! What a store must hold after all rounds: for each key its last put, and what was added to it.

use fulgurite_rivals::WritingStore;

use crate::data::dataset::{Dataset, Keys};
use crate::error::{Error, Result};

/// Stored keys that threads share as counters where they overlap.
pub const COUNTERS: usize = 100;

/// The position of counter number `index`: they are spread over all stored keys.
pub fn counter(data: &Dataset, index: usize) -> usize {
    index * (data.stored.len() / COUNTERS)
}

/// Whether the stored key at `position` is a counter.
pub fn is_counter(data: &Dataset, position: usize) -> bool {
    let distance = data.stored.len() / COUNTERS;
    position.is_multiple_of(distance) && position / distance < COUNTERS
}

/// The number in the first 8 bytes of a value: an account's balance, a counter's count. It wraps.
pub fn number_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// For every key the number of its last put, 0 if there was none, and for stored keys what was added to their numbers.
#[derive(Debug)]
pub struct Ledger {
    stored: Vec<u32>,
    absent: Vec<u32>,
    added: Vec<u64>,
    puts: u32,
}

impl Ledger {
    /// Nothing put yet.
    pub fn new(data: &Dataset) -> Self {
        let (stored, absent) = (data.stored.len(), data.absent.len());
        Self { stored: vec![0; stored], absent: vec![0; absent], added: vec![0; stored], puts: 0 }
    }

    /// Remembers a put; returns the version that is put.
    pub fn put(&mut self, is_stored: bool, position: usize) -> u32 {
        self.puts += 1;
        let versions = if is_stored { &mut self.stored } else { &mut self.absent };
        versions[position] = self.puts;
        self.puts
    }

    /// Remembers an addition to a stored key.
    pub fn add(&mut self, position: usize, change: u64) {
        self.added[position] = self.added[position].wrapping_add(change);
    }

    /// The version of a stored key.
    pub fn version(&self, position: usize) -> u32 {
        self.stored[position]
    }

    /// Compares everything in the store with what was put and added. Not timed.
    pub fn verify<S: WritingStore>(&self, store: &S, data: &Dataset, workload: &'static str) -> Result<()> {
        let wrong = |what: String| Error::Wrong { workload, what };
        let mut count = 0;
        for (keys, versions, loaded) in [(&data.stored, &self.stored, true), (&data.absent, &self.absent, false)] {
            for (position, &version) in versions.iter().enumerate() {
                let present = loaded || version > 0;
                count += u64::from(present);
                let added = if loaded { self.added[position] } else { 0 };
                let right = |value: Option<&[u8]>| match (value, present) {
                    (None, false) => true,
                    (Some(value), true) => {
                        is_expected(value, data.values.get_version(keys.id(position), version), added)
                    }
                    _ => false,
                };
                if !store.get(keys.key(position), right)? {
                    return Err(wrong(format!("put {version}, with {added} added, is not what its key gives")));
                }
            }
        }
        let mut seen = 0;
        store.scan(|_, _| seen += 1)?;
        if seen != count {
            return Err(wrong(format!("{seen} records are stored instead of {count}")));
        }
        Ok(())
    }

    /// Compares the sum of all balances with what it was when the store was loaded: transfers do not change it.
    pub fn verify_sum<S: WritingStore>(store: &S, data: &Dataset, workload: &'static str) -> Result<()> {
        let mut sum = 0u64;
        store.scan(|_, value| sum = sum.wrapping_add(number_of(value).unwrap_or(0)))?;
        let expected = sum_of(&data.stored, data);
        match sum == expected {
            true => Ok(()),
            false => Err(Error::Wrong { workload, what: format!("the sum of all accounts is {sum}, not {expected}") }),
        }
    }
}

fn sum_of(keys: &Keys, data: &Dataset) -> u64 {
    keys.records(&data.values).filter_map(|(_, value)| number_of(value)).fold(0, u64::wrapping_add)
}

fn is_expected(value: &[u8], put: &[u8], added: u64) -> bool {
    value.len() == put.len()
        && number_of(value) == number_of(put).map(|number| number.wrapping_add(added))
        && value[8..] == put[8..]
}
