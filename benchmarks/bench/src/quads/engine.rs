//! What this program asks of a store of quads, and the engines that have an answer. RDF4J's is asked by a program in Java.

use std::path::Path;

use fulgurite_rdf::oxrdf::{NamedNode, Term, TermRef};
use fulgurite_rivals::Failure;

use crate::error::Result;
use crate::quads::answer::Line;
use crate::quads::fulgurite::{DefaultOrders, SixOrders};
use crate::quads::java;
use crate::quads::perform::perform;
use crate::quads::planted::{Changed, Invented, Lost, Sound};
use crate::quads::task::Task;

/// Every engine, the measured one first.
pub const ENGINE_NAMES: [&str; 4] = ["fulgurite", "fulgurite-default", "lmdbstore", "oxigraph"];

/// Statements that are asked for: those that have these terms.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    /// The subject; `None` for any.
    pub subject: Option<Term>,
    /// The predicate; `None` for any.
    pub predicate: Option<NamedNode>,
    /// The object; `None` for any.
    pub object: Option<Term>,
}

/// A store of quads of this program.
pub trait QuadEngine: Sized + Sync {
    /// Its name in reports.
    const NAME: &'static str;

    /// Creates a store in `directory`, which is empty.
    ///
    /// # Errors
    /// What the engine answers.
    fn create(directory: &Path) -> Result<Self, Failure>;

    /// Opens the store in `directory`.
    ///
    /// # Errors
    /// What the engine answers.
    fn open(directory: &Path) -> Result<Self, Failure>;

    /// Loads a file of N-Triples into the empty store, by the engine's fastest way.
    ///
    /// # Errors
    /// What the engine answers.
    fn bulk_load(&self, file: &Path) -> Result<(), Failure>;

    /// The same in transactions of so many statements.
    ///
    /// # Errors
    /// What the engine answers.
    fn load_in_transactions(&self, file: &Path, batch: usize) -> Result<(), Failure>;

    /// Does what the engine has left for later; not part of any figure.
    ///
    /// # Errors
    /// What the engine answers.
    fn settle(&self) -> Result<(), Failure>;

    /// Closes the store.
    ///
    /// # Errors
    /// What the engine answers.
    fn close(self) -> Result<(), Failure>;

    /// Goes over all statements as numbers of terms, and returns how many there are and a sum over all numbers. `None`: the engine has no
    /// way to do so.
    ///
    /// # Errors
    /// What the engine answers.
    fn scan_ids(&self) -> Option<Result<(u64, u64), Failure>>;

    /// Hands each statement of a pattern to `each`, from the newest state.
    ///
    /// # Errors
    /// What the engine answers.
    fn find(&self, pattern: &Pattern, each: impl FnMut([TermRef<'_>; 3])) -> Result<(), Failure>;

    /// Hands each row of a query's answer to `each`.
    ///
    /// # Errors
    /// What the engine answers.
    fn query(&self, text: &str, each: impl FnMut(&[Option<Term>])) -> Result<(), Failure>;
}

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
pub fn entries() -> [Entry; 4] {
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
            describe: || (env!("CARGO_PKG_VERSION").to_owned(), "orders spo pos osp, as it comes".to_owned()),
        },
        Entry { name: java::NAME, missing: java::missing, perform: None, describe: java::describe },
        oxigraph(),
    ]
}

#[cfg(feature = "oxigraph")]
fn oxigraph() -> Entry {
    use crate::quads::oxigraph::Oxigraph;
    Entry {
        name: Oxigraph::NAME,
        missing: || None,
        perform: Some(perform::<Oxigraph>),
        describe: || ("0.5.13".to_owned(), "on RocksDB, as it comes; loads by its bulk loader".to_owned()),
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
