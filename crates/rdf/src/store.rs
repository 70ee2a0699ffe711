//! [`Store`]: the handle, and what it hands out.

use std::path::Path;

use fulgurite::{Database, Isolation, Options};

use crate::error::Result;
use crate::load::{LoadInput, LoadOptions, LoadReport};
use crate::pattern::Order;
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;

/// An open store of quads: one database. Clones share it.
#[derive(Clone)]
pub struct Store {
    database: Database,
}

/// How a store is created.
#[derive(Clone, Debug, Default)]
pub struct StoreOptions {
    _orders: Vec<Order>,
}

/// What a store holds.
#[derive(Clone, Debug, Default)]
pub struct StoreStats {
    /// Quads, of all graphs.
    pub quads: u64,
    /// Terms in the dictionary.
    pub terms: u64,
    /// The default graph first, then the named graphs.
    pub graphs: Vec<GraphStats>,
    /// Tables by name, and the bytes each takes in the file.
    pub tables: Vec<(String, u64)>,
}

/// One graph of a store.
#[derive(Clone, Debug)]
pub struct GraphStats {
    /// Its name; `None` for the default graph.
    pub name: Option<oxrdf::Term>,
    /// Its quads.
    pub quads: u64,
}

impl StoreOptions {
    /// The defaults: spo, pos, osp for the default graph, gspo, gpos, gosp, spog, posg, ospg for named graphs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The orders in which quads are indexed, for stores that are to be created.
    ///
    /// At least one of three places and one of four.
    #[must_use]
    pub fn orders(self, _orders: impl IntoIterator<Item = Order>) -> Self {
        unimplemented!()
    }
}

impl Store {
    /// Opens an existing store.
    ///
    /// # Errors
    /// [`Error::NotAStore`](crate::Error::NotAStore); what the engine reports, such as that there is no database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(Database::options(), path, StoreOptions::new())
    }

    /// Creates a store.
    ///
    /// # Errors
    /// [`Error::StoreExists`](crate::Error::StoreExists), and as [`Store::open_or_create`].
    pub fn create(_path: impl AsRef<Path>, _options: StoreOptions) -> Result<Self> {
        unimplemented!()
    }

    /// Opens a store, creating it if there is none.
    ///
    /// # Errors
    /// [`Error::NotAStore`](crate::Error::NotAStore) if the database is there, and holds something else; what the engine reports.
    pub fn open_or_create(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        Self::open_with(Database::options().create(true), path, options)
    }

    /// Opens a store with options of the engine's; with [`Options::create`] it is created if there is none.
    ///
    /// # Errors
    /// As [`Store::open_or_create`].
    pub fn open_with(_engine: Options, _path: impl AsRef<Path>, _options: StoreOptions) -> Result<Self> {
        unimplemented!()
    }

    /// All that is committed now.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn snapshot(&self) -> Result<Snapshot> {
        unimplemented!()
    }

    /// Begins a write transaction, serializable unless the engine's options say otherwise.
    ///
    /// # Errors
    /// [`Error::LoadRunning`](crate::Error::LoadRunning); what the engine reports.
    pub fn begin(&self) -> Result<Transaction> {
        unimplemented!()
    }

    /// As [`Store::begin`], at another isolation.
    ///
    /// # Errors
    /// As [`Store::begin`].
    pub fn begin_with(&self, _isolation: Isolation) -> Result<Transaction> {
        unimplemented!()
    }

    /// Runs `change` in a transaction and commits it, or drops it if `change` fails. While others come in between, `change` is called
    /// again, in a new transaction each time; so let it have no other effects.
    ///
    /// # Errors
    /// What `change` returns, and as [`Transaction::commit`].
    pub fn update<T>(&self, _change: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        unimplemented!()
    }

    /// Loads files and other inputs, all of them or nothing: several times faster than transactions. Others read what was before
    /// until it ends, and their writes are refused.
    ///
    /// # Errors
    /// [`Error::Syntax`](crate::Error::Syntax), [`Error::Input`](crate::Error::Input), [`Error::Cancelled`](crate::Error::Cancelled),
    /// [`Error::LoadRunning`](crate::Error::LoadRunning); what the engine reports. Nothing is loaded then.
    pub fn load(&self, _inputs: Vec<LoadInput>, _options: &LoadOptions) -> Result<LoadReport> {
        unimplemented!()
    }

    /// What the store holds.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn stats(&self) -> Result<StoreStats> {
        unimplemented!()
    }

    /// The database below.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Closes the store for all clones, and reports what dropping it could not.
    ///
    /// # Errors
    /// As [`Database::close`].
    pub fn close(self) -> Result<()> {
        Ok(self.database.close()?)
    }
}
