//! What the suite of sustained writes asks of an engine beyond transactions, and which engines there are.

use fulgurite_rivals::{Failure, Lmdb, RocksDb, WritingEngine, WritingStore};

use crate::error::Result;
use crate::fulgurite::Fulgurite;
use crate::planted_writing::{INVENTED_RECORD, LOST_PUT, NO_FAULT, Planted, WRONG_GET};
use crate::sustained::task::{Finding, Task, perform};
use crate::sustained::written::Written;

/// An engine that can be measured for as long as it takes.
pub trait Sustained: WritingEngine {
    /// Finishes all work that puts have left for later, so that reads find as little to look through as they ever do.
    ///
    /// # Errors
    /// What the engine answered.
    fn settle(store: &Self::Store) -> Result<(), Failure> {
        store.settle()
    }

    /// Bytes that it has given to the system to be written since the process began; `None` where nobody can tell.
    fn written_bytes(_store: &Self::Store) -> Option<u64> {
        Written::so_far().map(|written| written.by_calls)
    }
}

impl Sustained for RocksDb {}

#[cfg(feature = "fjall")]
impl Sustained for fulgurite_rivals::Fjall {}

#[cfg(feature = "redb")]
impl Sustained for fulgurite_rivals::Redb {}

#[cfg(feature = "bf-tree")]
impl Sustained for fulgurite_rivals::BfTree {}

#[cfg(feature = "sqlite")]
impl Sustained for fulgurite_rivals::Sqlite {}

impl Sustained for fulgurite_rivals::LevelDb {}

#[cfg(feature = "libmdbx")]
impl Sustained for fulgurite_rivals::Mdbx {
    /// As LMDB.
    fn settle(store: &Self::Store) -> Result<(), Failure> {
        store.sync()
    }

    /// It stores to its map, and does not count.
    fn written_bytes(_store: &Self::Store) -> Option<u64> {
        None
    }
}

impl Sustained for Lmdb {
    /// What it has left for later is the kernel's to write.
    fn settle(store: &Self::Store) -> Result<(), Failure> {
        store.sync()
    }

    /// It stores to its map, and does not count.
    fn written_bytes(_store: &Self::Store) -> Option<u64> {
        None
    }
}

impl<const FAULT: u8> Sustained for Planted<FAULT> {}

/// What the suite can do with an engine.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Why it cannot be measured here.
    pub missing: fn() -> Option<String>,
    /// Does a task in this process.
    pub perform: fn(&Task) -> Result<Vec<Finding>>,
}

/// Every engine that is compared, the measured one first.
pub const ENGINE_NAMES: [&str; 4] = ["fulgurite", "rocksdb", "fjall", "lmdb"];

/// LMDB again, with all records loaded in order and nothing put: the base of the bars about gets.
pub const LMDB_AT_REST: &str = "lmdb-at-rest";

/// The entries of [`ENGINE_NAMES`].
pub fn entries() -> Vec<Entry> {
    #[cfg(feature = "fjall")]
    let fjall = entry::<fulgurite_rivals::Fjall>();
    #[cfg(not(feature = "fjall"))]
    let fjall = Entry { name: ENGINE_NAMES[2], missing: crate::engines::not_built::fjall, ..entry::<Lmdb>() };
    vec![entry::<Fulgurite>(), entry::<RocksDb>(), fjall, entry::<Lmdb>()]
}

/// The entry of one engine.
pub fn entry<E: Sustained>() -> Entry {
    Entry { name: E::NAME, missing: E::missing, perform: perform::<E> }
}

/// LMDB under its other name.
pub fn lmdb_at_rest() -> Entry {
    Entry { name: LMDB_AT_REST, ..entry::<Lmdb>() }
}

/// Engines of the suite's own test: one that is right, and one for each fault.
pub fn planted() -> [Entry; 4] {
    [
        Entry { name: "planted-no-fault", ..entry::<Planted<NO_FAULT>>() },
        Entry { name: "planted-lost-put", ..entry::<Planted<LOST_PUT>>() },
        Entry { name: "planted-wrong-get", ..entry::<Planted<WRONG_GET>>() },
        Entry { name: "planted-invented-record", ..entry::<Planted<INVENTED_RECORD>>() },
    ]
}

/// The entry of that name, whichever kind it is of.
pub fn named(name: &str) -> Option<Entry> {
    entries().into_iter().chain([lmdb_at_rest()]).chain(planted()).find(|entry| entry.name == name)
}
