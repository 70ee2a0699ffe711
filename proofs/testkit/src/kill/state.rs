//! The state that the commits of all threads make together, and whether a snapshot shows such a state.
//!
//! Each thread's number of commits is in the database. These numbers determine everything else: the content of each
//! slot, the counters, and which tables exist. A commit with a missing part, or without an earlier one, shows as a
//! difference.

use std::collections::BTreeMap;
use std::fmt;

use fulgurite::{Database, Error, Read, ReadTxn, Table, TableOptions, WriteTxn};

use super::change::{COUNTERS, Change, SLOTS, table_since};

/// Where a run's threads write.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The run's seed.
    pub seed: u64,
    /// Threads that write.
    pub threads: u64,
    slots: Table,
    /// The number of each thread's commits, and what it has added to the counters.
    threads_table: Table,
    counters: Table,
}

/// A row of the table of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    number: u64,
    added: [u64; COUNTERS as usize],
}

/// Why a snapshot shows no state.
#[derive(Debug)]
pub(crate) enum Unlike {
    /// What it holds never was.
    Differs(String),
    /// It cannot be read.
    Unread { what: String, error: Error },
}

impl fmt::Display for Unlike {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(text) => out.write_str(text),
            Self::Unread { what, error } => write!(out, "{what} cannot be read: {error}"),
        }
    }
}

impl From<Unlike> for String {
    fn from(unlike: Unlike) -> Self {
        unlike.to_string()
    }
}

impl State {
    /// The tables, created if need be.
    ///
    /// # Errors
    /// The engine's.
    pub fn open(db: &Database, seed: u64, threads: u64) -> fulgurite::Result<Self> {
        let table = |name| db.open_or_create_table(name, TableOptions::new());
        let (slots, threads_table, counters) = (table("slots")?, table("threads")?, table("counters")?);
        if db.read()?.is_empty(&slots)? {
            // No thread has committed yet, or the load would be present.
            let numbers = (0..threads).flat_map(|thread| (0..BALLAST).map(move |number| (thread, number)));
            let entries = numbers.map(|(thread, number)| (ballast_key(thread, number), ballast(thread, number)));
            db.bulk_load(&slots, entries)?;
        }
        Ok(Self { seed, threads, slots, threads_table, counters })
    }

    /// The tables of a database that is open for reading.
    ///
    /// # Errors
    /// [`Error::TableNotFound`] where nothing was committed yet; the engine's.
    pub fn attach(db: &Database, seed: u64, threads: u64) -> fulgurite::Result<Self> {
        let (slots, threads_table) = (db.open_table("slots")?, db.open_table("threads")?);
        Ok(Self { seed, threads, slots, threads_table, counters: db.open_table("counters")? })
    }

    /// Makes the changes of the thread's next commit. Answers its number.
    ///
    /// # Errors
    /// The engine's.
    pub fn change(&self, txn: &mut WriteTxn, thread: u64) -> fulgurite::Result<u64> {
        let mut row = Row::decode(txn.get(&self.threads_table, &key(thread))?.as_deref());
        row.number += 1;
        let change = Change::of(self.seed, thread, row.number);
        for (slot, content) in &change.slots {
            match content {
                Some(content) => txn.put(&self.slots, &slot_key(thread, *slot), content)?,
                None => drop(txn.delete(&self.slots, &slot_key(thread, *slot))?),
            }
        }
        for (counter, by) in &change.counters {
            let stands = txn.get(&self.counters, &key(*counter))?.as_deref().map_or(0, number_of);
            txn.put(&self.counters, &key(*counter), &key(stands + by))?;
            row.added[*counter as usize] += by;
        }
        match change.table {
            Some(true) => {
                let table = txn.create_table(&table_name(thread), TableOptions::new())?;
                txn.put(&table, b"since", &key(row.number))?;
            }
            Some(false) => txn.drop_table(&txn.open_table(&table_name(thread))?)?,
            None => {}
        }
        txn.put(&self.threads_table, &key(thread), &row.encode())?;
        Ok(row.number)
    }

    /// The numbers of all threads' last commits, if all is as they say.
    ///
    /// # Errors
    /// What is not.
    pub fn verify(&self, txn: &ReadTxn) -> Result<Vec<u64>, Unlike> {
        let mut added = [0; COUNTERS as usize];
        let mut numbers = Vec::new();
        let engine = |error: Error| Unlike::Unread { what: "the numbers".into(), error };
        for thread in 0..self.threads {
            let row = txn.get(&self.threads_table, &key(thread)).map_err(engine)?;
            let row = Row::decode(row.as_deref());
            added.iter_mut().zip(row.added).for_each(|(sum, added)| *sum += added);
            self.verify_slots(txn, thread, row.number)?;
            self.verify_ballast(txn, thread, row.number)?;
            verify_table(txn, thread, row.number)?;
            numbers.push(row.number);
        }
        for counter in 0..COUNTERS {
            let stands = txn.get(&self.counters, &key(counter)).map_err(engine)?.as_deref().map_or(0, number_of);
            let sum = added[counter as usize];
            if stands != sum {
                let text = format!("counter {counter} stands at {stands}, but the threads have added {sum} to it");
                return Err(Unlike::Differs(text));
            }
        }
        Ok(numbers)
    }

    /// Checks some of the unchanged content, other parts after each commit, and that a scan visits all of it.
    fn verify_ballast(&self, txn: &ReadTxn, thread: u64, last: u64) -> Result<(), Unlike> {
        let unread = |error| Unlike::Unread { what: format!("the ballast of thread {thread}"), error };
        let first = last * BALLAST_LOOK % BALLAST;
        for number in first..BALLAST.min(first + BALLAST_LOOK) {
            let found = txn.get(&self.slots, &ballast_key(thread, number)).map_err(unread)?;
            if found.as_deref() != Some(&*ballast(thread, number)) {
                return Err(Unlike::Differs(format!("ballast {number} of thread {thread} is not what was loaded")));
            }
        }
        let (low, mut expected) = (ballast_key(thread, first), first);
        for entry in txn.range(&self.slots, &low[..]..&slot_key(thread + 1, 0)[..]).map_err(unread)?.take(BALLAST_WALK)
        {
            let (key, value) = entry.map_err(unread)?;
            // Slots lie between.
            if *key == ballast_key(thread, expected) {
                if *value != *ballast(thread, expected) {
                    return Err(Unlike::Differs(format!("ballast {expected} of thread {thread} has another value")));
                }
                expected += 1;
            } else if !is_slot(&key) {
                return Err(Unlike::Differs(format!("a walk misses ballast {expected} of thread {thread}")));
            }
        }
        Ok(())
    }

    fn verify_slots(&self, txn: &ReadTxn, thread: u64, last: u64) -> Result<(), Unlike> {
        let mut expected: BTreeMap<u64, (u64, Option<Vec<u8>>)> = BTreeMap::new();
        let mut number = last;
        while number > 0 && expected.len() < SLOTS as usize {
            for (slot, content) in Change::of(self.seed, thread, number).slots {
                expected.entry(slot).or_insert((number, content));
            }
            number -= 1;
        }
        for slot in 0..SLOTS {
            let (by, content) = expected.remove(&slot).unwrap_or_default();
            let found = txn.get(&self.slots, &slot_key(thread, slot));
            let unread = |error| Unlike::Unread { what: format!("slot {slot} of thread {thread}"), error };
            let found = found.map_err(unread)?;
            if found.as_deref() != content.as_deref() {
                let told = |bytes: Option<&[u8]>| match bytes.map(|bytes| (bytes.len(), bytes.as_chunks::<8>().0)) {
                    None => "nothing".to_owned(),
                    Some((length, [_, number, ..])) => {
                        format!("{length} bytes of commit {}", u64::from_le_bytes(*number))
                    }
                    Some((length, _)) => format!("{length} bytes of nobody"),
                };
                let (found, content) = (told(found.as_deref()), told(content.as_deref()));
                return Err(Unlike::Differs(format!(
                    "slot {slot} of thread {thread}, which has committed {last}, holds {found} where commit {by} put {content}"
                )));
            }
        }
        Ok(())
    }
}

/// Makes the table of slots many times a small delta, with much between any two slots: what is committed becomes runs
/// in many ranges.
fn ballast(thread: u64, number: u64) -> Vec<u8> {
    [thread, number].map(u64::to_le_bytes).concat()
}

fn verify_table(txn: &ReadTxn, thread: u64, last: u64) -> Result<(), Unlike> {
    let found = match txn.open_table(&table_name(thread)) {
        Ok(table) => txn.get(&table, b"since").map(|since| Some(since.as_deref().map_or(0, number_of))),
        Err(Error::TableNotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    let found = found.map_err(|error| Unlike::Unread { what: format!("the table of thread {thread}"), error })?;
    let expected = table_since(last);
    if found == expected {
        return Ok(());
    }
    let text =
        format!("the table of thread {thread}, which has committed {last}, is since {found:?}, not since {expected:?}");
    Err(Unlike::Differs(text))
}

impl Row {
    fn decode(bytes: Option<&[u8]>) -> Self {
        let mut row = Self::default();
        let words = bytes.map_or(&[][..], |bytes| bytes.as_chunks::<8>().0);
        if let Some((number, added)) = words.split_first() {
            row.number = u64::from_be_bytes(*number);
            row.added.iter_mut().zip(added).for_each(|(place, word)| *place = u64::from_be_bytes(*word));
        }
        row
    }

    fn encode(&self) -> Vec<u8> {
        std::iter::once(self.number).chain(self.added).flat_map(u64::to_be_bytes).collect()
    }
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn slot_key(thread: u64, slot: u64) -> [u8; 16] {
    ((u128::from(thread) << 64) + u128::from(slot * SLOT_STEP)).to_be_bytes()
}

fn is_slot(key: &[u8]) -> bool {
    key.last_chunk().is_some_and(|low| u64::from_be_bytes(*low).is_multiple_of(SLOT_STEP))
}

/// The keys between two slots, and then those between the next two.
fn ballast_key(thread: u64, number: u64) -> [u8; 16] {
    let low = number / BETWEEN_SLOTS * SLOT_STEP + 1 + number % BETWEEN_SLOTS;
    ((u128::from(thread) << 64) + u128::from(low)).to_be_bytes()
}

fn number_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes))
}

fn table_name(thread: u64) -> String {
    format!("comes and goes {thread}")
}

/// The keys of slots are so far apart,
const SLOT_STEP: u64 = 1 << 8;
/// and so many others lie between.
const BETWEEN_SLOTS: u64 = 40;
const BALLAST: u64 = SLOTS * BETWEEN_SLOTS;
/// So much of it is looked up, and so many entries are walked by, each time that a thread's part is verified.
const BALLAST_LOOK: u64 = 7;
const BALLAST_WALK: usize = 60;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fulgurite::io::MemoryDisk;

    use super::*;

    fn fixture() -> (Database, State) {
        let db = Database::options().create(true).disk(Arc::new(MemoryDisk::new())).open("kill.ful").unwrap();
        let state = State::open(&db, 7, 2).unwrap();
        (db, state)
    }

    #[test]
    fn what_the_threads_committed_verifies_to_their_numbers() {
        let (db, state) = fixture();
        assert_eq!(state.verify(&db.read().unwrap()).unwrap(), [0, 0]);
        for number in 1..=180 {
            db.update(|txn| state.change(txn, 0)).unwrap();
            if number % 3 == 0 {
                db.update(|txn| state.change(txn, 1)).unwrap();
            }
            assert_eq!(state.verify(&db.read().unwrap()).unwrap(), [number, number / 3]);
        }
    }

    #[test]
    fn a_commit_of_which_anything_is_missing_does_not_verify() {
        let (db, state) = fixture();
        (1..=160).for_each(|_| assert!(db.update(|txn| state.change(txn, 0)).is_ok()));
        let without = |undo: &dyn Fn(&mut WriteTxn) -> fulgurite::Result<()>, word: &str| {
            let before = db.read().unwrap();
            db.update(undo).unwrap();
            let found = state.verify(&db.read().unwrap()).unwrap_err().to_string();
            assert!(found.contains(word), "{found}");
            // Everything as it was.
            db.update(|txn| {
                for table in [&state.slots, &state.threads_table, &state.counters] {
                    txn.delete_range(table, ..)?;
                    for entry in before.range(table, ..)? {
                        let (key, value) = entry?;
                        txn.put(table, &key, &value)?;
                    }
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(state.verify(&db.read().unwrap()).unwrap(), [160, 0]);
        };
        without(&|txn| txn.put(&state.counters, &key(3), &key(1)), "counter 3");
        without(&|txn| txn.delete(&state.threads_table, &key(0)).map(drop), "slot");
        let slot = (0..SLOTS).find(|slot| db.read().unwrap().contains_key(&state.slots, &slot_key(0, *slot)).unwrap());
        let slot = slot.unwrap();
        without(&|txn| txn.delete(&state.slots, &slot_key(0, slot)).map(drop), "holds nothing");
        let mut txn = db.write().unwrap();
        let table = txn.open_table(&table_name(0)).unwrap();
        txn.drop_table(&table).unwrap();
        txn.commit().unwrap();
        assert!(state.verify(&db.read().unwrap()).unwrap_err().to_string().contains("since None"));
    }
}
