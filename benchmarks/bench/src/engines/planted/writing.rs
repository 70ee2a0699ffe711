//! An engine of writers for tests of the suites: a sorted map behind a lock with, on request, one fault, which the
//! checks must find.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fulgurite_rivals::{Failure, Refusal, Settings, Snapshot, Transaction, WritingEngine, WritingStore};

/// Nothing is wrong.
pub const NO_FAULT: u8 = 0;
/// One put changes nothing.
pub const LOST_PUT: u8 = 1;
/// Gets of one key give a wrong last byte.
pub const WRONG_GET: u8 = 2;
/// One put leaves a record under another key too.
pub const INVENTED_RECORD: u8 = 3;
/// Some transactions read the value before the current one.
pub const LOST_UPDATE: u8 = 4;
/// One transaction commits all changes but its last.
pub const TORN_TRANSACTION: u8 = 5;

/// The number of the put that goes wrong. No later put overwrites all of its traces: tests have more keys than puts.
const VICTIM: u64 = 40;

/// Every tenth transaction, or every tenth stale read, goes wrong.
const VICTIM_INTERVAL: u64 = 10;

/// The engine.
pub struct Planted<const FAULT: u8>;

impl<const FAULT: u8> WritingEngine for Planted<FAULT> {
    const NAME: &'static str = "planted";
    type Store = PlantedStore<FAULT>;

    fn unfit(_settings: Settings) -> Option<&'static str> {
        None
    }

    fn version() -> String {
        "of this test".to_owned()
    }

    fn describe(_settings: Settings) -> String {
        "a sorted map".to_owned()
    }

    fn open(_directory: &Path, _settings: Settings) -> Result<PlantedStore<FAULT>, Failure> {
        Ok(PlantedStore(Mutex::default()))
    }
}

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The map, and what the faults need.
#[derive(Default)]
struct Content {
    map: Map,
    puts: u64,
    transactions: u64,
    /// The value before the current one, of each key that a transaction has overwritten.
    overwritten: Map,
    /// Gets in transactions of keys in `overwritten`.
    rereads: u64,
    /// The key that the victim put.
    victim: Vec<u8>,
}

impl Content {
    fn put<const FAULT: u8>(&mut self, key: &[u8], value: &[u8]) {
        self.puts += 1;
        if self.puts == VICTIM {
            self.victim = key.to_vec();
            match FAULT {
                LOST_PUT => return,
                INVENTED_RECORD => drop(self.map.insert([key, b"+"].concat(), value.to_vec())),
                _ => {}
            }
        }
        // Later puts of the victim are lost too: what is caught must not depend on the order of keys.
        if FAULT == LOST_PUT && self.puts > VICTIM && key == self.victim {
            return;
        }
        self.map.insert(key.to_vec(), value.to_vec());
    }

    fn get<const FAULT: u8, R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> R {
        let mut value = self.map.get(key).cloned();
        if FAULT == WRONG_GET
            && key == self.victim
            && let Some(last) = value.as_mut().and_then(|value| value.last_mut())
        {
            // A sum, not a toggle: what is read wrongly and put back must not come right by the next wrong read.
            *last = last.wrapping_add(1);
        }
        read(value.as_deref())
    }
}

/// The store.
pub struct PlantedStore<const FAULT: u8>(Mutex<Content>);

impl<const FAULT: u8> PlantedStore<FAULT> {
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<const FAULT: u8> WritingStore for PlantedStore<FAULT> {
    type Transaction<'s> = PlantedTransaction<'s, FAULT>;
    type Snapshot<'s> = PlantedSnapshot<'s, FAULT>;

    fn load_sorted<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        self.put_all(records)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.lock().put::<FAULT>(key, value);
        Ok(())
    }

    fn put_all<'r>(&self, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<(), Failure> {
        let mut content = self.lock();
        records.for_each(|(key, value)| content.put::<FAULT>(key, value));
        Ok(())
    }

    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        Ok(self.lock().get::<FAULT, R>(key, read))
    }

    fn snapshot(&self) -> Result<PlantedSnapshot<'_, FAULT>, Failure> {
        Ok(PlantedSnapshot(self))
    }

    fn begin(&self) -> Result<PlantedTransaction<'_, FAULT>, Failure> {
        let mut content = self.lock();
        content.transactions += 1;
        Ok(PlantedTransaction { content, changes: Vec::new() })
    }

    fn sync(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn settle(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn flushes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    fn scan(&self, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        self.lock().map.iter().for_each(|(key, value)| each(key, value));
        Ok(())
    }

    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A reader of the newest state.
pub struct PlantedSnapshot<'s, const FAULT: u8>(&'s PlantedStore<FAULT>);

impl<const FAULT: u8> Snapshot for PlantedSnapshot<'_, FAULT> {
    fn get<R>(&self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Failure> {
        self.0.get(key, read)
    }

    fn scan_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let content = self.0.lock();
        content.map.range(from.to_vec()..).take(count).for_each(|(key, value)| each(key, value));
        Ok(())
    }

    fn scan_back_from(&self, from: &[u8], count: usize, mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let content = self.0.lock();
        content.map.range(..=from.to_vec()).rev().take(count).for_each(|(key, value)| each(key, value));
        Ok(())
    }

    fn scan_prefix(&self, prefix: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Result<(), Failure> {
        let content = self.0.lock();
        let records = content.map.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix));
        records.for_each(|(key, value)| each(key, value));
        Ok(())
    }
}

/// A transaction that holds the lock.
pub struct PlantedTransaction<'s, const FAULT: u8> {
    content: MutexGuard<'s, Content>,
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl<const FAULT: u8> PlantedTransaction<'_, FAULT> {
    /// Whether this is a transaction that goes wrong: every so many, for some of them touch what another overwrites.
    fn is_victim(&self) -> bool {
        self.content.transactions.is_multiple_of(VICTIM_INTERVAL)
    }
}

impl<const FAULT: u8> Transaction for PlantedTransaction<'_, FAULT> {
    fn get<R>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, Refusal> {
        if let Some((_, value)) = self.changes.iter().rev().find(|(changed, _)| changed == key) {
            return Ok(read(value.as_deref()));
        }
        // The first such read goes wrong: a small workload may have no tenth.
        if FAULT == LOST_UPDATE && self.content.overwritten.contains_key(key) {
            self.content.rereads += 1;
            if self.content.rereads % VICTIM_INTERVAL == 1 {
                return Ok(read(self.content.overwritten.get(key).map(Vec::as_slice)));
            }
        }
        Ok(self.content.get::<FAULT, R>(key, read))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        self.changes.push((key.to_vec(), Some(value.to_vec())));
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.changes.push((key.to_vec(), None));
        Ok(())
    }

    fn commit(mut self) -> Result<(), Refusal> {
        if FAULT == TORN_TRANSACTION && self.is_victim() {
            self.changes.pop();
        }
        for (key, value) in std::mem::take(&mut self.changes) {
            match value {
                None => drop(self.content.map.remove(&key)),
                Some(value) => {
                    if let Some(old) = self.content.map.get(&key).cloned() {
                        self.content.overwritten.insert(key.clone(), old);
                    }
                    self.content.put::<FAULT>(&key, &value);
                }
            }
        }
        Ok(())
    }

    fn abort(self) {}
}
