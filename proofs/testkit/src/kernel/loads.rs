//! Bulk loads, each of a whole table of its thread: all values of one load are of its number, so that half of one
//! shows.

use fulgurite::{Database, Error, Read, ReadTxn, Table, TableOptions};

use crate::kill::Unlike;
use crate::random::Random;
use crate::random::mix;

/// The tables of all threads.
#[derive(Debug)]
pub(super) struct Loads(Vec<Table>);

impl Loads {
    /// Created if need be.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(db: &Database, threads: u64) -> fulgurite::Result<Self> {
        let table = |thread| db.open_or_create_table(&format!("loads {thread}"), TableOptions::new());
        Ok(Self((0..threads).map(table).collect::<fulgurite::Result<_>>()?))
    }

    /// Loads what the thread's load of this number holds: in order, or in any, sorted in so little memory that files
    /// are used.
    ///
    /// # Errors
    /// The engine's.
    pub fn load(&self, db: &Database, thread: u64, number: u64, random: &mut Random) -> fulgurite::Result<()> {
        let table = &self.0[thread as usize];
        let mut entries: Vec<_> = (0..ENTRIES).map(|key| (key.to_be_bytes(), content(thread, number, key))).collect();
        if random.coin() {
            return db.bulk_load(table, entries.iter().map(|(key, value)| (key, value))).map(drop);
        }
        random.shuffle(&mut entries);
        let sound = entries.iter().map(|(key, value)| Ok::<_, std::io::Error>((key, value)));
        db.try_bulk_load_unsorted(table, sound, SORT_BYTES).map(drop)
    }

    /// The number of each thread's last load, if each table is whole.
    ///
    /// # Errors
    /// What is not.
    pub fn verify(&self, txn: &ReadTxn) -> Result<Vec<u64>, Unlike> {
        let numbers = (0..).zip(&self.0).map(|(thread, table)| verify_one(txn, thread, table));
        numbers.collect()
    }
}

fn verify_one(txn: &ReadTxn, thread: u64, table: &Table) -> Result<u64, Unlike> {
    let unread = |error: Error| Unlike::Unread { what: format!("a load of thread {thread}"), error };
    let mut number = None;
    let mut expected = 0..;
    for entry in txn.range(table, ..).map_err(unread)? {
        let (key, value) = entry.map_err(unread)?;
        let of = value.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
        let number = *number.get_or_insert(of);
        let at = expected.next().unwrap_or(u64::MAX);
        if *key != at.to_be_bytes() || *value != content(thread, number, at) {
            let text = format!("a load of thread {thread}: entry {at} is not as load {number} put it (found {of})");
            return Err(Unlike::Differs(text));
        }
    }
    match (number, expected.start) {
        (None, _) => Ok(0),
        (Some(number), ENTRIES) => Ok(number),
        (Some(number), count) => {
            let text = format!("load {number} of thread {thread} has {count} entries, not {ENTRIES}");
            Err(Unlike::Differs(text))
        }
    }
}

/// The number, and bytes that follow from it.
fn content(thread: u64, number: u64, key: u64) -> Vec<u8> {
    let word = mix(mix(mix(thread) ^ number) ^ key);
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend(word.to_le_bytes().repeat(1 + word as usize % VALUE_WORDS_MAX));
    bytes
}

const ENTRIES: u64 = 400;
const VALUE_WORDS_MAX: usize = 80;
/// Less than a load.
const SORT_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fulgurite::io::MemoryDisk;

    use super::*;

    #[test]
    fn a_load_verifies_to_its_number_and_half_of_one_does_not_verify() {
        let db = Database::options().create(true).disk(Arc::new(MemoryDisk::new())).open("loads.ful").unwrap();
        let loads = Loads::open(&db, 2).unwrap();
        assert_eq!(loads.verify(&db.read().unwrap()).unwrap(), [0, 0]);
        let mut random = Random::new(3);
        for number in 1..8 {
            loads.load(&db, 1, number, &mut random).unwrap();
            assert_eq!(loads.verify(&db.read().unwrap()).unwrap(), [0, number]);
        }
        db.update(|txn| txn.put(&loads.0[1], &7u64.to_be_bytes(), &content(1, 6, 7))).unwrap();
        assert!(matches!(loads.verify(&db.read().unwrap()), Err(Unlike::Differs(_))));
        loads.load(&db, 1, 8, &mut random).unwrap();
        db.update(|txn| txn.delete(&loads.0[1], &(ENTRIES - 1).to_be_bytes())).unwrap();
        assert!(matches!(loads.verify(&db.read().unwrap()), Err(Unlike::Differs(_))));
    }
}
