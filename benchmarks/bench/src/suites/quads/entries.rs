//! The engines of the suite of quads, and those with planted faults. A program in Java asks the stores for RDF4J.

use crate::error::Result;
use crate::suites::quads::answer::Line;
use crate::suites::quads::engines::engine::{ENGINE_NAMES, QuadEngine};
use crate::suites::quads::engines::fulgurite::{DefaultOrders, SixOrders};
use crate::suites::quads::engines::java;
use crate::suites::quads::engines::planted::{Changed, Invented, Lost, Sound};
use crate::suites::quads::perform::perform;
use crate::suites::quads::task::Task;

/// How a task is done in this process.
pub type Perform = fn(&Task) -> Result<Vec<Line>>;

/// An engine of the suite.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Why it cannot be measured here.
    pub missing: fn() -> Option<String>,
    /// Does a task in this process; `None` where that is another program's.
    pub perform: Option<Perform>,
    /// Its version and settings.
    pub describe: fn() -> (String, String),
}

/// The entries of [`ENGINE_NAMES`].
pub fn entries() -> [Entry; 7] {
    const OWN: fn() -> Option<String> = || None;
    [
        Entry {
            name: SixOrders::NAME,
            missing: OWN,
            perform: Some(perform::<SixOrders>),
            describe: || (env!("CARGO_PKG_VERSION").to_owned(), "orders spo sop pso pos osp ops".to_owned()),
        },
        Entry {
            name: DefaultOrders::NAME,
            missing: OWN,
            perform: Some(perform::<DefaultOrders>),
            describe: || (env!("CARGO_PKG_VERSION").to_owned(), "orders spo pos osp, default settings".to_owned()),
        },
        Entry { name: java::LMDBSTORE, missing: java::missing, perform: None, describe: java::describe_stock },
        oxigraph(),
        Entry { name: java::FULGURITE, missing: java::missing, perform: None, describe: java::describe_fulgurite },
        Entry {
            name: java::FULGURITE_QUERIES,
            missing: java::missing,
            perform: None,
            describe: java::describe_fulgurite_queries,
        },
        Entry { name: java::NATIVESTORE, missing: java::missing, perform: None, describe: java::describe_stock },
    ]
}

#[cfg(feature = "oxigraph")]
fn oxigraph() -> Entry {
    use crate::suites::quads::engines::oxigraph::Oxigraph;
    Entry {
        name: Oxigraph::NAME,
        missing: || None,
        perform: Some(perform::<Oxigraph>),
        describe: || ("0.5.13".to_owned(), "on RocksDB, default settings; loads by its bulk loader".to_owned()),
    }
}

#[cfg(not(feature = "oxigraph"))]
fn oxigraph() -> Entry {
    Entry {
        name: ENGINE_NAMES[3],
        missing: crate::engines::not_built::oxigraph,
        perform: None,
        describe: || (String::new(), String::new()),
    }
}

/// Engines of this suite's test of itself: one without a fault first.
pub fn planted() -> [Entry; 4] {
    fn entry<E: QuadEngine>() -> Entry {
        Entry {
            name: E::NAME,
            missing: || None,
            perform: Some(perform::<E>),
            describe: || (String::new(), "planted".to_owned()),
        }
    }
    [entry::<Sound>(), entry::<Lost>(), entry::<Changed>(), entry::<Invented>()]
}

/// The engine of this name.
pub fn named(name: &str) -> Option<Entry> {
    entries().into_iter().chain(planted()).find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_has_an_entry_in_its_place() {
        assert_eq!(entries().map(|entry| entry.name), ENGINE_NAMES);
        assert!(ENGINE_NAMES.iter().all(|name| named(name).is_some()));
        let reason = (entries()[3].missing)().unwrap_or_default();
        assert!(cfg!(feature = "oxigraph") || reason.contains("oxigraph"), "{reason}");
    }
}
