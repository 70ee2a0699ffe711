//! What this program asks of a store of quads.

use std::path::Path;

use fulgurite_rdf::oxrdf::{NamedNode, Term, TermRef};
use fulgurite_rivals::Failure;

use crate::error::Result;

/// Every engine, the measured one first.
pub const ENGINE_NAMES: [&str; 7] = [
    "fulgurite",
    "fulgurite-default",
    "lmdbstore",
    "oxigraph",
    "fulgurite-rdf4j",
    "fulgurite-rdf4j-queries",
    "nativestore",
];

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

    /// Goes over all statements as numbers of terms, and returns how many there are and a sum over all numbers.
    /// `None`: the engine has no way to do so.
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
