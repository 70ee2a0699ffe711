//! [`Store`]: an open database of facts.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fulgurite::Database;

use crate::error::{Error, Result};
use crate::ids::FactId;
use crate::layout::meta::{BROKEN_REASON, FIRST_FREE_ID, Identity, PROPERTY, STATE, read_number};
use crate::layout::tables::{Form, Side};
use crate::ownership::slice::Slice;
use crate::reading::counts::Counts;
use crate::reading::layer::Layer;
use crate::reading::packed::Root;
use crate::reading::snapshot::Snapshot;
use crate::reading::view::View;
use crate::state::State;
use crate::store::backing::{Backend, Backing, open_backing};
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
    pub backing: Backing,
    pub base: Option<Store>,
    /// The id of its first fact.
    pub first: FactId,
    pub identity: Identity,
    /// Held while a batch is committed: batches would conflict with each other. The engine checks it once more, as
    /// another handle of the program may have the database open. Locked before the tables of the backing.
    pub commits: Mutex<()>,
    /// The upper level of the index, once the database is complete and read.
    pub root: OnceLock<Arc<Root>>,
    /// The statistics, once the database is complete and they are read.
    pub counts: Arc<OnceLock<Counts>>,
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

    /// The state of the database's life cycle.
    ///
    /// # Errors
    /// Errors of the engine; [`Error::Damaged`].
    pub fn state(&self) -> Result<State> {
        read_state(&self.meta(STATE)?.unwrap_or_default())
    }

    /// The state of the database at `path`. If it is stacked on others, they are not needed.
    ///
    /// # Errors
    /// [`Error::NotFacts`]; as [`Store::state`].
    pub fn state_at(path: impl AsRef<Path>) -> Result<State> {
        let backing = open_backing(&Database::options().read_only(true), path.as_ref())?;
        let view = backing.view()?;
        let state = view.get(Side::Meta, STATE)?.map(|state| state.to_vec());
        read_state(&state.unwrap_or_default())
    }

    /// Abandons an incomplete database. Nothing can be added to it, and it cannot be completed.
    ///
    /// # Errors
    /// [`Error::WrongState`], if it is complete; errors of the engine.
    pub fn mark_broken(&self, reason: &str) -> Result<()> {
        let _commits = self.lock_commits();
        let entries: [(&str, &[u8]); 2] = [(STATE, &[State::Broken as u8]), (BROKEN_REASON, reason.as_bytes())];
        self.put_meta("be marked as broken", |state| state != State::Complete, &entries)
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
        let name = format!("{PROPERTY}{name}");
        self.put_meta("set a property", |state| state != State::Complete, &[(&name, value)])
    }

    /// Changes an entry of `facts.meta` to what `change` makes of it, unless that is `None`. A database that is not
    /// incomplete stays as it is.
    pub(crate) fn change_meta(&self, name: &str, change: impl Fn(Option<&[u8]>) -> Option<Vec<u8>>) -> Result<()> {
        let _commits = self.lock_commits();
        // Before a transaction is begun, which a database that is open for reading does not allow.
        if self.state()? != State::Incomplete || change(self.meta(name)?.as_deref()).is_none() {
            return Ok(());
        }
        self.inner.backing.update(|changes| {
            if read_state(&changes.get(Side::Meta, STATE)?.unwrap_or_default())? != State::Incomplete {
                return Ok(());
            }
            match change(changes.get(Side::Meta, name)?.as_deref()) {
                Some(value) => changes.put(Side::Meta, name, value),
                None => Ok(()),
            }
        })
    }

    /// All properties, by name.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn properties(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let mut properties = Vec::new();
        self.inner.backing.view()?.each(Side::Meta, PROPERTY.as_bytes(), &mut |name, value| {
            properties.push((String::from_utf8_lossy(&name[PROPERTY.len()..]).into_owned(), value.to_vec()));
            Ok(())
        })?;
        Ok(properties)
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

    /// The database of the engine that it consists of, for checks, images and statistics. `None`, if it is in LMDB.
    #[must_use]
    pub fn database(&self) -> Option<&Database> {
        match &self.inner.backing {
            Backing::Engine(db, _) => Some(db),
            #[cfg(feature = "lmdb")]
            Backing::Lmdb(_) => None,
        }
    }

    /// The backend that stores it.
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self.database() {
            Some(_) => Backend::Fulgurite,
            None => Backend::Lmdb,
        }
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.inner.backing.path()
    }

    /// The length of its file, in bytes.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn file_bytes(&self) -> Result<u64> {
        match &self.inner.backing {
            Backing::Engine(db, _) => Ok(db.stats()?.file_bytes),
            #[cfg(feature = "lmdb")]
            Backing::Lmdb(environment) => environment.file_bytes(),
        }
    }

    /// Writes a copy of the last commit to `to`, which is compact and on the disk when this returns. Not of those that
    /// it is stacked on. Commits go on meanwhile.
    ///
    /// # Errors
    /// [`Error::Exists`], if there is a file at `to`; errors of the backend.
    pub fn back_up(&self, to: impl AsRef<Path>) -> Result<()> {
        self.inner.backing.back_up(to.as_ref())
    }

    /// As [`Store::back_up`], of the database at `from`. If it is stacked on others, they are not needed.
    ///
    /// # Errors
    /// As [`Store::back_up`]; [`Error::NotFacts`].
    pub fn back_up_file(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        open_backing(&Database::options().read_only(true), from.as_ref())?.back_up(to.as_ref())
    }

    /// Closes the file; see [`Database::close`]. Not those that it is stacked on. A file of LMDB is closed when its
    /// snapshots are dropped too.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn close(self) -> Result<()> {
        match &self.inner.backing {
            Backing::Engine(db, _) => {
                let db = db.clone();
                drop(self);
                Ok(db.close()?)
            }
            #[cfg(feature = "lmdb")]
            Backing::Lmdb(environment) => environment.sync(),
        }
    }

    fn push_layers(&self, layers: &mut Vec<Layer>) -> Result<()> {
        if let Some(base) = &self.inner.base {
            base.push_layers(layers)?;
        }
        let view = self.inner.backing.view()?;
        let end = view.get(Side::Meta, FIRST_FREE_ID)?.map(|bytes| read_number(&bytes)).transpose()?;
        let first = self.inner.first;
        let end = end.and_then(FactId::new).filter(|end| (first..=first.plus(FACTS_MAX)).contains(end));
        let end = end.ok_or_else(|| Error::Damaged { what: "the first free id is missing or out of range" })?;
        let root = self.root(&view)?;
        let complete = match &view {
            View::Engine { tables, .. } => matches!(tables.form, Form::Packed(_)),
            #[cfg(feature = "lmdb")]
            View::Lmdb(_) => {
                view.get(Side::Meta, STATE)?.and_then(|state| State::read(&state)) == Some(State::Complete)
            }
        };
        let counts = Arc::clone(&self.inner.counts);
        layers.push(Layer { view, first: self.inner.first, end, root, complete, counts });
        Ok(())
    }

    /// The upper level of the index: empty while facts are added.
    fn root(&self, view: &View) -> Result<Arc<Root>> {
        let (txn, packed) = match view {
            View::Engine { txn, tables } => match &tables.form {
                Form::Packed(packed) => (txn, packed),
                Form::Growing { .. } => return Ok(Arc::default()),
            },
            #[cfg(feature = "lmdb")]
            View::Lmdb(_) => return Ok(Arc::default()),
        };
        if let Some(root) = self.inner.root.get() {
            return Ok(Arc::clone(root));
        }
        let root = Arc::new(Root::read(txn, &packed.root)?);
        Ok(Arc::clone(self.inner.root.get_or_init(|| root)))
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
        Error::WrongState { path: self.path().to_owned(), state, operation }
    }

    /// Writes entries of `facts.meta`, if the database is then in a state that `allows` the operation: other handles
    /// may have changed it. Batches that are under way conflict with it. Requires: the commits are locked.
    pub(super) fn put_meta(
        &self,
        operation: &'static str,
        allows: impl Fn(State) -> bool,
        entries: &[(&str, &[u8])],
    ) -> Result<()> {
        let require = |state| match allows(state) {
            true => Ok(()),
            false => Err(self.wrong_state(state, operation)),
        };
        // Before a transaction is begun, which a database that is open for reading does not allow.
        require(self.state()?)?;
        self.inner.backing.update(|changes| {
            require(read_state(&changes.get(Side::Meta, STATE)?.unwrap_or_default())?)?;
            let free = changes.get(Side::Meta, FIRST_FREE_ID)?.unwrap_or_default();
            changes.put(Side::Meta, FIRST_FREE_ID, free)?;
            entries.iter().try_for_each(|(name, value)| changes.put(Side::Meta, name, value))
        })
    }

    fn meta(&self, name: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.inner.backing.view()?.get(Side::Meta, name)?.map(|value| value.to_vec()))
    }
}

/// No database has more facts: when it is completed, each has a place, which is a number of 40 bits.
const FACTS_MAX: u64 = 1 << 40;

/// The state in an entry of a database.
pub(super) fn read_state(entry: &[u8]) -> Result<State> {
    State::read(entry).ok_or(Error::Damaged { what: "the state of the database is none that this version knows" })
}
