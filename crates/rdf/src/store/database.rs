//! [`Store`]: the handle, and what it hands out.

use std::path::Path;
use std::sync::Arc;

use fulgurite::{Database, Options, UPDATE_ATTEMPTS, WriteTxn};

use crate::error::{Error, Result};
use crate::model::pattern::Order;
use crate::quads::shared::Shared;
use crate::store::isolation::IsolationLevel;
use crate::store::snapshot::Snapshot;
use crate::store::transaction::Transaction;
use crate::tables::TermHasher;
use crate::tables::{Settings, Tables, are_orders_of_a_store};

/// An open RDF store: a database of quads. Clones share it.
///
/// ```
/// # fn main() -> fulgurite_rdf::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use fulgurite_rdf::oxrdf::{GraphName, Literal, NamedNode, Quad};
/// use fulgurite_rdf::{IdPattern, Quads, Store, StoreOptions};
///
/// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
/// let (alice, age) = (NamedNode::new_unchecked("http://a/alice"), NamedNode::new_unchecked("http://a/age"));
/// let quad = Quad::new(alice, age, Literal::from(42), GraphName::DefaultGraph);
/// assert!(store.update(|txn| txn.insert(&quad))?);
/// let snapshot = store.snapshot()?;
/// assert_eq!(snapshot.count(&IdPattern::ALL)?, 1);
/// for found in snapshot.quads(&IdPattern::ALL) {
///     assert_eq!(snapshot.term(found?.object)?, Literal::from(42).into());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

/// Options for creating a store. They are ignored when an existing store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    orders: Vec<Order>,
    hasher: Option<TermHasher>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let orders = DEFAULT_ORDERS.iter().filter_map(|name| Order::parse(name)).collect();
        Self { orders, hasher: None }
    }
}

impl StoreOptions {
    /// Returns the defaults: the indexes spo, pos and osp for the default graph, and gspo, gpos, gosp, spog, posg and
    /// ospg for named graphs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the orders of the indexes: at least one of three positions, for the default graph, and one of four, for
    /// named graphs. With the default orders, every pattern is one range of an index. With fewer indexes the store is
    /// smaller, and some patterns scan and filter a larger range.
    #[must_use]
    pub fn orders(mut self, orders: impl IntoIterator<Item = Order>) -> Self {
        self.orders = orders.into_iter().collect();
        self
    }

    /// Sets the seed of the term hash, for reproducible tests. By default it is random, so that an attacker cannot
    /// construct terms with equal hashes.
    #[must_use]
    pub fn hash_seed(mut self, seed: u64) -> Self {
        self.hasher = Some(TermHasher::of_seed(seed));
        self
    }

    #[cfg(test)]
    pub(crate) fn hasher(mut self, hasher: TermHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }
}

impl Store {
    /// Opens an existing store.
    ///
    /// # Errors
    /// [`Error::NotAStore`]; errors of the engine, such as a database that does not exist.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { shared: Shared::of(Database::open(path)?)? })
    }

    /// Creates a store.
    ///
    /// # Errors
    /// [`Error::StoreExists`], and as [`Store::open_or_create`].
    pub fn create(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        let path = path.as_ref();
        let database = Database::create(path)?;
        if create_tables(&database, &options)? {
            Ok(Self { shared: Shared::of(database)? })
        } else {
            Err(Error::StoreExists { path: path.to_path_buf() })
        }
    }

    /// Opens a store, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::NotAStore`] if the database exists and contains something else; [`Error::Invalid`] for invalid orders;
    /// [`Error::Unsupported`], [`Error::Damaged`]; errors of the engine.
    pub fn open_or_create(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        Self::open_with(Database::options().create(true), path, options)
    }

    /// Opens a store with options of the engine. If they allow creating a database, or the database is empty, a store
    /// is created in it.
    ///
    /// # Errors
    /// As [`Store::open_or_create`].
    pub fn open_with(engine: Options, path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        let database = engine.open(path)?;
        let opened = Self::of_database(database.clone(), &options);
        if opened.is_err() {
            // Dropping it would leave its lock file; the first error says more than another one. What others in the
            // process have open stays open.
            let _ = database.close_unless_shared();
        }
        opened
    }

    fn of_database(database: Database, options: &StoreOptions) -> Result<Self> {
        if database.tables()?.is_empty() {
            match create_tables(&database, options) {
                Ok(_) => {}
                Err(Error::Engine(fulgurite::Error::ReadOnly { path })) => {
                    return Err(Error::NotAStore { path, is_empty: true });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Self { shared: Shared::of(database)? })
    }

    /// Returns a snapshot of everything committed so far. It never waits.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let (read, tables) = self.shared.read()?;
        Ok(Snapshot::new(Arc::new(read), tables, Arc::clone(&self.shared)))
    }

    /// Begins a write transaction with the isolation level of the engine's options; the default is serializable. It
    /// waits while a bulk load builds its indexes and commits (see [`Store::load`]), and for an exclusive transaction
    /// of the database. So do not call it on the thread that is to end that transaction: see
    /// [`Database::begin_exclusive`].
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn begin(&self) -> Result<Transaction> {
        self.transaction(|database| Ok(database.write()?))
    }

    /// As [`Store::begin`], with the given isolation level of RDF4J or of the engine.
    ///
    /// ```
    /// # fn main() -> fulgurite_rdf::Result<()> {
    /// # let directory = tempfile::tempdir().expect("a temporary directory");
    /// use fulgurite_rdf::{IsolationLevel, Store, StoreOptions};
    ///
    /// let store = Store::create(directory.path().join("a.ful"), StoreOptions::new())?;
    /// let level = IsolationLevel::parse("SNAPSHOT_READ").expect("it is one of RDF4J's");
    /// let txn = store.begin_with(level)?;
    /// # drop(txn);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Store::begin`].
    pub fn begin_with(&self, isolation: impl Into<IsolationLevel>) -> Result<Transaction> {
        let isolation = isolation.into().engine();
        self.transaction(|database| Ok(database.write_with(isolation)?))
    }

    fn transaction(&self, begin: impl FnOnce(&Database) -> Result<WriteTxn>) -> Result<Transaction> {
        let (txn, tables) = self.shared.begin(begin)?;
        Ok(Transaction::new(txn, tables, Arc::clone(&self.shared)))
    }

    /// Runs `change` in a transaction and commits it. If `change` returns an error, nothing is committed. If the commit
    /// conflicts with another transaction, `change` is called again in a new transaction, so it should have no other
    /// effects.
    ///
    /// # Errors
    /// Errors of `change`, and as [`Transaction::commit`].
    pub fn update<T>(&self, mut change: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        let mut attempt = 0;
        loop {
            let mut txn = self.begin()?;
            let outcome = change(&mut txn).and_then(|value| txn.commit().map(|_| value));
            attempt += 1;
            match outcome {
                Err(error) if error.is_retryable() && attempt < UPDATE_ATTEMPTS => std::thread::yield_now(),
                outcome => return outcome,
            }
        }
    }

    /// The underlying database. Do not write to the store's tables directly: the store would not notice.
    pub fn database(&self) -> &Database {
        &self.shared.database
    }

    /// The orders of the indexes.
    pub fn orders(&self) -> &[Order] {
        &self.shared.orders
    }

    /// Closes the store for all clones, and returns errors that dropping it cannot report.
    ///
    /// # Errors
    /// As [`Database::close`].
    pub fn close(self) -> Result<()> {
        Ok(self.shared.database.clone().close()?)
    }
}

/// Makes an empty database a store. Returns whether it did: not if it has tables already, of whatever kind.
fn create_tables(database: &Database, options: &StoreOptions) -> Result<bool> {
    if !are_orders_of_a_store(&options.orders) {
        let message = "a store has one order of three places at least and one of four, and none twice".into();
        return Err(Error::Invalid { message });
    }
    let settings =
        Settings { orders: options.orders.clone(), hasher: options.hasher.unwrap_or_else(TermHasher::random) };
    loop {
        let mut txn = database.write()?;
        if !txn.tables().is_empty() {
            return Ok(false);
        }
        Tables::create(&mut txn, &settings)?;
        match txn.commit() {
            Ok(_) => return Ok(true),
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

const DEFAULT_ORDERS: [&str; 9] = ["spo", "pos", "osp", "gspo", "gpos", "gosp", "spog", "posg", "ospg"];
