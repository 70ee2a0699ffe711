//! [`Store`]: the handle, and what it hands out.

use std::path::Path;
use std::sync::Arc;

use fulgurite::{Database, Options, UPDATE_ATTEMPTS, WriteTxn};

use crate::dictionary::TermHasher;
use crate::error::{Error, Result};
use crate::model::pattern::Order;
use crate::quads::tables::{Settings, Tables, are_orders_of_a_store};
use crate::store::isolation::IsolationLevel;
use crate::store::shared::Shared;
use crate::store::snapshot::Snapshot;
use crate::store::transaction::Transaction;

/// An open store of quads: one database. Clones share it.
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

/// How a store is created. Ignored where one is opened that is there.
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
    /// The defaults: spo, pos, osp for the default graph, gspo, gpos, gosp, spog, posg, ospg for named graphs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The orders in which quads are indexed: at least one of three places, for the default graph, and one of four. The
    /// default ones answer and count every pattern by a range; with fewer a store is smaller, and some patterns are
    /// answered by going over more.
    #[must_use]
    pub fn orders(mut self, orders: impl IntoIterator<Item = Order>) -> Self {
        self.orders = orders.into_iter().collect();
        self
    }

    /// The seed by which terms are hashed, for tests that are repeated byte for byte. By default it is drawn, so that
    /// nobody can write terms that have one hash.
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
    /// [`Error::NotAStore`]; what the engine reports, such as that there is no database.
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

    /// Opens a store, creating it if there is none.
    ///
    /// # Errors
    /// [`Error::NotAStore`] if the database is there, and holds something else; [`Error::Invalid`] for impossible
    /// orders; [`Error::Unsupported`], [`Error::Damaged`]; what the engine reports.
    pub fn open_or_create(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        Self::open_with(Database::options().create(true), path, options)
    }

    /// Opens a store with options of the engine's. Where these let a database be created, and where there is an empty
    /// one, it is made a store.
    ///
    /// # Errors
    /// As [`Store::open_or_create`].
    pub fn open_with(engine: Options, path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        let database = engine.open(path)?;
        let opened = Self::of_database(database.clone(), &options);
        if opened.is_err() {
            // Dropping it would leave its lock file; the first error says more than another one.
            let _ = database.close();
        }
        opened
    }

    fn of_database(database: Database, options: &StoreOptions) -> Result<Self> {
        if database.tables()?.is_empty() {
            match create_tables(&database, options) {
                Ok(_) => {}
                Err(Error::Engine(fulgurite::Error::ReadOnly { path })) => return Err(Error::NotAStore { path }),
                Err(error) => return Err(error),
            }
        }
        Ok(Self { shared: Shared::of(database)? })
    }

    /// All that is committed now. It waits for nobody.
    ///
    /// # Errors
    /// What the engine reports.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let (read, tables) = self.shared.read()?;
        Ok(Snapshot::new(Arc::new(read), tables, Arc::clone(&self.shared)))
    }

    /// Begins a write transaction, serializable unless the engine's options say otherwise. It waits while a bulk load
    /// builds and commits, see [`Store::load`].
    ///
    /// # Errors
    /// What the engine reports.
    pub fn begin(&self) -> Result<Transaction> {
        self.transaction(|database| Ok(database.write()?))
    }

    /// As [`Store::begin`], at this isolation: one of RDF4J's levels, or of the engine's.
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

    /// Runs `change` in a transaction and commits it, or drops it if `change` fails. While others come in between,
    /// `change` is called again, in a new transaction each time; so let it have no other effects.
    ///
    /// # Errors
    /// What `change` returns, and as [`Transaction::commit`].
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

    /// The database below. What is written to its tables by other ways than this store's is not known to it: read only.
    pub fn database(&self) -> &Database {
        &self.shared.database
    }

    /// The orders in which quads are indexed.
    pub fn orders(&self) -> &[Order] {
        &self.shared.orders
    }

    /// Closes the store for all clones, and reports what dropping it could not.
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
