//! What all handles of a store in this process share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use fulgurite::{Database, Durability, PerProcess, ReadTxn};

use crate::error::{Error, Result};
use crate::layout::tables::Tables;
use crate::reading::locate;
use crate::reading::types::Types;
use crate::store::bell::Bell;
use crate::store::options::StoreOptions;
use crate::store::writer::Writer;

/// What all handles of a store in this process share.
#[derive(Debug)]
pub struct Shared {
    /// The database.
    pub db: Database,
    /// The tables.
    pub tables: Arc<Tables>,
    /// What an append survives when it returns.
    pub durability: Durability,
    /// See [`StoreOptions::id_window`].
    pub id_window: u64,
    /// See [`StoreOptions::states_kept`].
    pub states_kept: usize,
    /// All types, those of the running transaction too. Taken while `writer` is held.
    pub types: RwLock<Arc<Types>>,
    /// Wakes followers.
    pub bell: Bell,
    /// Held by the one call that applies retention, which does not take `writer` while it holds this.
    pub retention: Mutex<()>,
    /// How many rebuilds of each view run: `consumers/rebuilding.rs`. No other lock is taken while it is held.
    pub rebuilds: Mutex<HashMap<String, usize>>,
    /// The consumers that are connected from other processes: `consumers/named.rs`. No other lock is taken while it is
    /// held.
    pub connected: Mutex<HashSet<String>>,
    /// Held by the one transaction that appends, until its commit is visible: so positions are visible in order.
    writer: Mutex<Writer>,
    /// The thread that holds `writer`.
    owner: AtomicUsize,
}

/// All stores that this process has open. Taken before every other lock of this crate.
static OPEN: PerProcess<Mutex<Vec<Weak<Shared>>>> = PerProcess::new();

impl Shared {
    /// What the open handles of the store share, or the first of them if there is none.
    ///
    /// # Errors
    /// [`Error::OtherOptions`], [`Error::NotEvents`], [`Error::NewerLayout`]; those of the engine.
    pub fn open(db: &Database, options: &StoreOptions) -> Result<Arc<Self>> {
        let mut open = OPEN.get().lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|shared| shared.strong_count() > 0);
        let known = open.iter().filter_map(Weak::upgrade);
        let known = known.into_iter().find(|shared| shared.db.is_same(db) && shared.tables.name == options.name);
        if let Some(shared) = known {
            let is_same = shared.durability == options.durability
                && shared.id_window == options.id_window
                && shared.states_kept == options.states_kept;
            return if is_same { Ok(shared) } else { Err(Error::OtherOptions { name: options.name.clone() }) };
        }
        let shared = Arc::new(Self::read(db, options)?);
        open.push(Arc::downgrade(&shared));
        Ok(shared)
    }

    /// Does `work` while this process has no handle of the store. A thread that opens a store waits meanwhile.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is a handle; those of `work`.
    pub fn while_closed<T>(db: &Database, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let open = OPEN.get().lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = open.iter().filter_map(Weak::upgrade);
        if known.any(|shared| shared.db.is_same(db) && shared.tables.name == name) {
            let message = format!(
                "the indexes of the event store `{name}` cannot be rebuilt while this process has it open; drop its \
                 handles, followers and servers before"
            );
            return Err(Error::Invalid { message });
        }
        work()
    }

    fn read(db: &Database, options: &StoreOptions) -> Result<Self> {
        let name = &options.name;
        let tables = match Tables::open(&db.read()?, name)? {
            Some(tables) => tables,
            None => {
                let missing = || Error::NotEvents { name: name.clone() };
                match Tables::create(db, name) {
                    Err(Error::Engine(error)) if matches!(*error, fulgurite::Error::ReadOnly { .. }) => {
                        return Err(missing());
                    }
                    created => created?,
                }
                Tables::open(&db.read()?, name)?.ok_or_else(missing)?
            }
        };
        let txn = db.read()?;
        let types = Types::load(&txn, &tables)?;
        let bell = Bell::default();
        match Self::followed_end(db, &txn, &tables, options.durability) {
            Ok(end) => bell.ring(end),
            // A damaged store opens read-only, for `Snapshot::salvage`. `EventStore::follow` returns the error.
            Err(error) if error.is_damage() && is_read_only(db) => {}
            Err(error) => return Err(error),
        }
        Ok(Self {
            db: db.clone(),
            tables: Arc::new(tables),
            durability: options.durability,
            id_window: options.id_window,
            states_kept: options.states_kept,
            types: RwLock::new(Arc::new(types)),
            bell,
            retention: Mutex::default(),
            rebuilds: Mutex::default(),
            connected: Mutex::default(),
            writer: Mutex::default(),
            owner: AtomicUsize::new(0),
        })
    }

    /// The position after the events that followers may see when the store is opened: with [`Durability::Disk`], those
    /// that are durable, which are all if the database can make them so.
    fn followed_end(db: &Database, txn: &ReadTxn, tables: &Tables, durability: Durability) -> Result<u64> {
        let end = locate::end_of_log(txn, tables)?.0.0;
        if durability != Durability::Disk {
            return Ok(end);
        }
        let durable = || -> Result<u64> {
            let durable = db.read_durable()?;
            let tables = Tables::open(&durable, &tables.name)?;
            tables.map_or(Ok(0), |tables| Ok(locate::end_of_log(&durable, &tables)?.0.0))
        };
        let found = durable()?;
        // Appended with another durability. A database that cannot be written keeps what it has.
        if found < end && db.sync().is_ok() { durable() } else { Ok(found) }
    }

    /// The types as they are now.
    pub fn types(&self) -> Arc<Types> {
        Arc::clone(&self.types.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the types.
    pub fn set_types(&self, types: Arc<Types>) {
        *self.types.write().unwrap_or_else(PoisonError::into_inner) = types;
    }

    /// Waits for the running transaction, and begins the next one. [`Shared::end`] ends it.
    ///
    /// # Errors
    /// [`Error::Nested`] if this thread runs that transaction.
    pub fn begin(&self) -> Result<MutexGuard<'_, Writer>> {
        if self.is_nested() {
            return Err(Error::Nested);
        }
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(this_thread(), Ordering::Relaxed);
        Ok(writer)
    }

    /// Whether this thread runs the transaction.
    pub fn is_nested(&self) -> bool {
        // Relaxed: only this thread stores this number, and removes it.
        self.owner.load(Ordering::Relaxed) == this_thread()
    }

    /// Folds the blocks of the index of streams, so that readers do not look into them. Does nothing if this thread
    /// runs a transaction of the store.
    ///
    /// # Errors
    /// Those of the engine; damage.
    pub fn fold(&self) -> Result<()> {
        // This stores no owner: nothing of the program is called while the lock is held.
        if self.is_nested() {
            return Ok(());
        }
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).fold(&self.db, &self.tables)
    }

    /// Ends what [`Shared::begin`] began. The guard is dropped next.
    pub fn end(&self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}

/// Whether the database cannot be changed. Does not wait: this thread may hold the exclusive transaction.
pub fn is_read_only(db: &Database) -> bool {
    matches!(db.try_write(), Err(fulgurite::Error::ReadOnly { .. }))
}

/// A number that no other running thread has.
fn this_thread() -> usize {
    thread_local!(static PLACE: u8 = const { 1 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}
