//! [`Store`]: an open database of facts.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use fulgurite::{Database, Read, ReadTxn};

use crate::error::{Error, Result};
use crate::ids::FactId;
use crate::layout::meta::{BROKEN_REASON, FIRST_FREE_ID, Identity, PROPERTY, STATE, read_number};
use crate::layout::tables::{Form, Tables};
use crate::ownership::slice::Slice;
use crate::reading::layer::Layer;
use crate::reading::packed::Root;
use crate::reading::snapshot::Snapshot;
use crate::state::State;
use crate::store::known::Known;

/// An open database of facts. Clones share it.
///
/// It is [incomplete](State) at first: [batches](Store::batch) add facts, on any threads. [`Store::complete`] rewrites
/// it in the form that is best to read and never changes again.
#[derive(Clone)]
pub struct Store {
    pub(super) inner: Arc<Inner>,
}

pub struct Inner {
    pub db: Database,
    pub base: Option<Store>,
    /// Replaced when the database is completed, together with the tables.
    pub tables: RwLock<Tables>,
    /// The id of its first fact.
    pub first: FactId,
    pub identity: Identity,
    /// Held while a batch is committed: batches would conflict with each other. The engine checks it once more, as
    /// another handle of the program may have the database open. Locked before `tables`.
    pub commits: Mutex<()>,
    /// The upper level of the index, once the database is complete and read.
    pub root: OnceLock<Arc<Root>>,
    /// The keys that the database may have.
    pub known: Known,
    /// What is hidden of the databases below.
    pub hiding: Vec<(FactId, Arc<Slice>)>,
}

impl Store {
    /// The facts that are committed now.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let mut layers = Vec::new();
        self.push_layers(&mut layers)?;
        Ok(Snapshot { layers, hiding: self.inner.hiding.clone() })
    }

    /// Where the database is in its life.
    ///
    /// # Errors
    /// Errors of the engine; [`Error::Damaged`].
    pub fn state(&self) -> Result<State> {
        let entry = self.meta(STATE)?.unwrap_or_default();
        State::read(&entry)
            .ok_or_else(|| Error::Damaged { what: "the state of the database is none that this version knows" })
    }

    /// Gives up an incomplete database. Nothing can be added to it any more, and it cannot be completed.
    ///
    /// # Errors
    /// [`Error::WrongState`], if it is complete; errors of the engine.
    pub fn mark_broken(&self, reason: &str) -> Result<()> {
        let _commits = self.lock_commits();
        match self.state()? {
            State::Complete => Err(self.wrong_state(State::Complete, "be marked as broken")),
            _ => self.put_meta(&[(STATE, &[State::Broken as u8]), (BROKEN_REASON, reason.as_bytes())]),
        }
    }

    /// Why the program [gave it up](Store::mark_broken).
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn broken_reason(&self) -> Result<Option<String>> {
        Ok(self.meta(BROKEN_REASON)?.map(|reason| String::from_utf8_lossy(&reason).into_owned()))
    }

    /// A property that the program has set. Properties of a base are its own.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn property(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.meta(&format!("{PROPERTY}{name}"))
    }

    /// Sets a property.
    ///
    /// # Errors
    /// [`Error::WrongState`], if the database is complete; errors of the engine.
    pub fn set_property(&self, name: &str, value: &[u8]) -> Result<()> {
        let _commits = self.lock_commits();
        match self.state()? {
            State::Complete => Err(self.wrong_state(State::Complete, "set a property")),
            _ => self.put_meta(&[(&format!("{PROPERTY}{name}"), value)]),
        }
    }

    /// All properties, by name.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn properties(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let txn = self.inner.db.read()?;
        let entries = txn.prefix(&self.tables().meta, PROPERTY)?.map(|entry| {
            let (name, value) = entry?;
            Ok((String::from_utf8_lossy(&name[PROPERTY.len()..]).into_owned(), value.to_vec()))
        });
        entries.collect()
    }

    /// A random number that no other database has. The databases stacked on it know it by this number.
    #[must_use]
    pub fn identity(&self) -> u128 {
        self.inner.identity.0
    }

    /// The database that it is stacked on.
    #[must_use]
    pub fn base(&self) -> Option<&Store> {
        self.inner.base.as_ref()
    }

    /// The database of the engine that it consists of, for backups and statistics.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.inner.db
    }

    /// Closes the file; see [`Database::close`]. Not those that it is stacked on.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn close(self) -> Result<()> {
        let db = self.inner.db.clone();
        drop(self);
        Ok(db.close()?)
    }

    fn push_layers(&self, layers: &mut Vec<Layer>) -> Result<()> {
        if let Some(base) = &self.inner.base {
            base.push_layers(layers)?;
        }
        // Not between the two steps of completion.
        let tables = self.inner.tables.read().unwrap_or_else(PoisonError::into_inner);
        let (txn, tables) = (self.inner.db.read()?, tables.clone());
        let end = txn.get(&tables.meta, FIRST_FREE_ID)?.map(|bytes| read_number(&bytes)).transpose()?;
        let end = end.and_then(FactId::new).filter(|end| *end >= self.inner.first);
        let end = end.ok_or_else(|| Error::Damaged { what: "the first free id is missing" })?;
        let root = self.root(&txn, &tables)?;
        layers.push(Layer { txn, tables, first: self.inner.first, end, root });
        Ok(())
    }

    /// The upper level of the index: empty while facts are added.
    fn root(&self, txn: &ReadTxn, tables: &Tables) -> Result<Arc<Root>> {
        let Form::Packed(packed) = &tables.form else { return Ok(Arc::default()) };
        if let Some(root) = self.inner.root.get() {
            return Ok(Arc::clone(root));
        }
        let root = Arc::new(Root::read(txn, &packed.root)?);
        Ok(Arc::clone(self.inner.root.get_or_init(|| root)))
    }

    pub(super) fn tables(&self) -> Tables {
        self.inner.tables.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn lock_commits(&self) -> std::sync::MutexGuard<'_, ()> {
        self.inner.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn require(&self, state: State, operation: &'static str) -> Result<()> {
        match self.state()? {
            found if found == state => Ok(()),
            found => Err(self.wrong_state(found, operation)),
        }
    }

    pub(super) fn wrong_state(&self, state: State, operation: &'static str) -> Error {
        Error::WrongState { path: self.inner.db.path().to_owned(), state, operation }
    }

    /// Writes entries of `facts.meta`. Batches that are under way conflict with it. Requires: the commits are locked.
    pub(super) fn put_meta(&self, entries: &[(&str, &[u8])]) -> Result<()> {
        let meta = self.tables().meta;
        self.inner.db.update(|txn| {
            let free = txn.get(&meta, FIRST_FREE_ID)?.map(|value| value.to_vec()).unwrap_or_default();
            txn.put(&meta, FIRST_FREE_ID, free)?;
            entries.iter().try_for_each(|(name, value)| txn.put(&meta, name, value))
        })?;
        Ok(())
    }

    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.inner.db.read()?.get(&self.tables().meta, name)?.map(|value| value.to_vec()))
    }
}
