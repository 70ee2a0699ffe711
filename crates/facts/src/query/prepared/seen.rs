//! [`Seen`]: the results of a page, so that each is returned once.
//!
//! A page can have millions of results of a few bytes. These are in a table without an allocation for each.

use std::collections::HashSet;

/// The results that a page has.
#[derive(Debug, Default)]
pub struct Seen {
    /// Results of fewer bytes than [`SHORT_BYTES`], filled up with zeros; the last byte is the number of bytes.
    short: HashSet<[u8; SHORT_BYTES]>,
    long: HashSet<Box<[u8]>>,
    /// What the results in `long` take outside of the table.
    bytes_of_long: usize,
}

impl Seen {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// Whether a result is one of them.
    pub fn contains(&self, result: &[u8]) -> bool {
        match short(result) {
            Some(short) => self.short.contains(&short),
            None => self.long.contains(result),
        }
    }

    /// Adds a result, which is none of them.
    pub fn insert(&mut self, result: &[u8]) {
        match short(result) {
            Some(short) => {
                self.short.insert(short);
            }
            None => {
                self.bytes_of_long += result.len() + ALLOCATION_BYTES;
                self.long.insert(result.into());
            }
        }
    }

    /// How many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        table_bytes::<[u8; SHORT_BYTES]>(self.short.capacity())
            + table_bytes::<Box<[u8]>>(self.long.capacity())
            + self.bytes_of_long
    }

    /// How many bytes they take while a result is added. A full table is copied to one of twice the size.
    pub fn bytes_with(&self, result: &[u8]) -> usize {
        let growing = match short(result) {
            Some(_) if self.short.len() == self.short.capacity() => {
                2 * table_bytes::<[u8; SHORT_BYTES]>(self.short.capacity())
            }
            None if self.long.len() == self.long.capacity() => 2 * table_bytes::<Box<[u8]>>(self.long.capacity()),
            _ => 0,
        };
        self.bytes() + growing + result.len()
    }
}

fn short(result: &[u8]) -> Option<[u8; SHORT_BYTES]> {
    let mut bytes = [0; SHORT_BYTES];
    let (last, others) = bytes.split_last_mut()?;
    others.get_mut(..result.len())?.copy_from_slice(result);
    *last = result.len() as u8;
    Some(bytes)
}

/// What a table takes that has room for so many entries: of its places, an eighth stays free, and each has a byte more.
fn table_bytes<T>(capacity: usize) -> usize {
    (capacity + capacity / 7) * (size_of::<T>() + 1)
}

/// As large as an entry of `long`.
const SHORT_BYTES: usize = size_of::<Box<[u8]>>();
/// What an allocation takes beside its bytes.
const ALLOCATION_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_lengths_are_distinguished() {
        let mut seen = Seen::default();
        let results: Vec<Vec<u8>> = (0..40).flat_map(|length| [vec![0; length], vec![7; length + 1]]).collect();
        for (number, result) in results.iter().enumerate() {
            assert!(!seen.contains(result), "{result:?}");
            seen.insert(result);
            assert!(seen.contains(result), "{result:?}");
            assert_eq!(seen.len(), number + 1);
        }
    }

    #[test]
    fn the_memory_of_results_is_counted_before_a_table_grows() {
        for length in [4, 100] {
            let mut seen = Seen::default();
            let mut most = 0;
            for number in 0..10_000_u32 {
                let result = [&number.to_be_bytes()[..], &vec![0; length - 4]].concat();
                most = seen.bytes_with(&result);
                seen.insert(&result);
                assert!(number == 0 || seen.bytes() <= most.max(200) + ALLOCATION_BYTES, "{number}: {most}");
            }
            // Both tables have an entry of this size, and some places that are free.
            assert!(most >= 10_000 * (SHORT_BYTES + if length > SHORT_BYTES { length } else { 0 }), "{most}");
        }
    }
}
