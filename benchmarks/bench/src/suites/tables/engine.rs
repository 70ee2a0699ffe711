//! The engines of the suites of tables, and those with planted faults.

use crate::engines::known::{self, Engine, Visitor};
use crate::engines::planted::writing::{
    INVENTED_RECORD, LOST_PUT, LOST_UPDATE, NO_FAULT, Planted, TORN_TRANSACTION, WRONG_GET,
};
use crate::engines::sustained::SustainedEngine;
use crate::error::Result;
use crate::harness::row::Figures;
use crate::suites::tables::definition::Kind;
use crate::suites::tables::perform::{crashes, perform};
use crate::suites::tables::task::Task;

/// What these suites can do with an engine.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What is known of it.
    pub engine: Engine,
    /// Does a task in this process.
    pub perform: fn(&Task) -> Result<Figures>,
    /// Writes to the task's store, beginning with the put of this number, until this process is killed.
    pub write: fn(&Task, usize) -> Result<()>,
}

struct Entries;

impl Visitor for Entries {
    type Entry = Entry;

    fn visit<E: SustainedEngine + 'static>() -> Entry {
        entry::<E>()
    }

    fn absent(name: &'static str, missing: fn() -> Option<String>) -> Entry {
        let absent = entry::<Planted<NO_FAULT>>();
        Entry { engine: Engine { name, missing, ..absent.engine }, ..absent }
    }
}

/// The entry of one engine.
pub fn entry<E: SustainedEngine + 'static>() -> Entry {
    Entry { engine: Engine::of::<E>(), perform: perform::<E>, write: crashes::write::<E> }
}

/// The entries of [`known::NAMES`].
pub fn entries() -> Vec<Entry> {
    known::all::<Entries>()
}

/// Engines for tests of these suites: one that is right, and one for each fault.
fn planted() -> [Entry; 6] {
    let named = |name, entry: Entry| Entry { engine: Engine { name, ..entry.engine }, ..entry };
    [
        named("planted-no-fault", entry::<Planted<NO_FAULT>>()),
        named("planted-lost-put", entry::<Planted<LOST_PUT>>()),
        named("planted-wrong-get", entry::<Planted<WRONG_GET>>()),
        named("planted-invented-record", entry::<Planted<INVENTED_RECORD>>()),
        named("planted-torn-transaction", entry::<Planted<TORN_TRANSACTION>>()),
        named("planted-lost-update", entry::<Planted<LOST_UPDATE>>()),
    ]
}

/// One that is right, and those whose fault a workload of this kind can meet.
pub fn planted_for(kind: Kind) -> (Entry, Vec<Entry>) {
    let [right, lost, wrong, invented, torn, stale] = planted();
    let mut faulty = vec![lost, wrong, invented];
    faulty.extend(kind.has_transactions().then_some(torn));
    faulty.extend(kind.adds().then_some(stale));
    (right, faulty)
}

/// The entry of that name, whichever kind it is of.
pub fn named(name: &str) -> Option<Entry> {
    entries().into_iter().chain(planted()).find(|entry| entry.engine.name == name)
}
