//! The engines of the suite of sustained writes, and those with planted faults.

use fulgurite_rivals::{Lmdb, RocksDb};

use crate::engines::fulgurite::Fulgurite;
use crate::engines::planted::writing::{INVENTED_RECORD, LOST_PUT, NO_FAULT, Planted, WRONG_GET};
use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::suites::sustained::perform::perform;
use crate::suites::sustained::task::{Finding, Task};

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
pub fn entry<E: SustainedEngine>() -> Entry {
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
