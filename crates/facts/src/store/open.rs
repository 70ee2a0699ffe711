//! Creating and opening a store.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use fulgurite::{Durability, Options};

use crate::error::{Error, Result};
use crate::ids::FactId;
use crate::layout::meta::{
    BASE, FIRST_FREE_ID, FIRST_FREE_UNIT, FORMAT, FORMAT_1, FORMAT_2, FORMAT_PREFIX, HIDDEN, IDENTITY, Identity,
    PROPERTY, STARTING_ID, STATE, read_identity, read_number,
};
use crate::layout::tables::{Side, Tables};
use crate::ownership::slice::Slice;
use crate::reading::counts::Statistics;
use crate::reading::owning;
use crate::state::State;
use crate::store::backing::{Backend, Backing, Entry, create_in_lmdb, open_backing, table_names};
use crate::store::handle::{Inner, Store};
use crate::store::known::Known;

impl Store {
    /// How to create and open stores other than by the defaults.
    #[must_use]
    pub fn options() -> StoreOptions {
        StoreOptions::default()
    }

    /// Creates a store with the default options.
    ///
    /// # Errors
    /// As [`StoreOptions::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().create(path)
    }

    /// Opens a store with the default options.
    ///
    /// # Errors
    /// As [`StoreOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }
}

/// How to create or open a store; from [`Store::options`].
#[derive(Clone)]
pub struct StoreOptions {
    engine: Options,
    backend: Backend,
    base: Option<Store>,
    hidden_units: Vec<String>,
    /// Properties of a new database.
    properties: Vec<(String, Vec<u8>)>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            engine: Options::default().durability(Durability::Log),
            backend: Backend::default(),
            base: None,
            hidden_units: Vec::new(),
            properties: Vec::new(),
        }
    }
}

impl StoreOptions {
    /// Sets the options of the engine. Default: those of [`Database::options`](fulgurite::Database::options) with
    /// [`Durability::Log`], so that a batch survives a crash of the process. A completed database survives a power cut
    /// at every level.
    #[must_use]
    pub fn engine(mut self, options: Options) -> Self {
        self.engine = options;
        self
    }

    /// Sets what stores a new database. Default: [`Backend::Fulgurite`]. Opening a database finds it by the file. The
    /// databases of a stack can have different ones.
    #[must_use]
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Stacks the database on another, which must be complete. Opening it needs the same base again.
    #[must_use]
    pub fn base(mut self, base: &Store) -> Self {
        self.base = Some(base.clone());
        self
    }

    /// Gives a new database a property from its first moment on.
    #[must_use]
    pub fn property(mut self, name: &str, value: &[u8]) -> Self {
        self.properties.push((name.to_owned(), value.to_vec()));
        self
    }

    /// The database below.
    pub(crate) fn base_store(&self) -> Option<&Store> {
        self.base.as_ref()
    }

    /// Makes a new database incremental: it hides the facts of its base that only these units own. It is an error if
    /// the base has no such unit. Opening the database reads the names from it.
    #[must_use]
    pub fn hide_units<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.hidden_units.extend(names.into_iter().map(Into::into));
        self
    }

    /// Creates a store at `path`, where there is none. After a crash there is a store without facts, or none; calling
    /// it again creates it then.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::NotFacts`], if the database there has other tables; [`Error::WrongState`], if the
    /// base is not complete; [`Error::NoSuchUnit`]; errors of the engine.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Store> {
        let path = path.as_ref();
        if let Some(base) = &self.base {
            base.require(State::Complete, "be a base")?;
        }
        let hidden = self.hidden_slice()?;
        let entries = self.new_entries(hidden.as_deref())?;
        let backing = match self.backend {
            Backend::Fulgurite if Backend::of(path) == Backend::Lmdb => {
                return Err(Error::Exists { path: path.to_owned() });
            }
            Backend::Fulgurite => {
                let db = self.engine.clone().create(true).open(path)?;
                if Tables::open(&db)?.is_some() {
                    return Err(Error::Exists { path: path.to_owned() });
                }
                let others = table_names(&db)?;
                if !others.is_empty() {
                    return Err(Error::NotFacts { path: path.to_owned(), tables: others });
                }
                let tables = db.update(|txn| {
                    let tables = Tables::create(txn)?;
                    entries.iter().try_for_each(|(side, key, value)| txn.put(tables.side(*side), key, value))?;
                    Ok(tables)
                })?;
                Backing::Engine(db, RwLock::new(tables))
            }
            Backend::Lmdb => create_in_lmdb(path, &entries)?,
        };
        self.with_backing(backing)
    }

    /// Opens the store at `path`. One that was not completed can be written to again, unless `read_only` is among the
    /// engine's options.
    ///
    /// # Errors
    /// [`Error::NotFacts`]; [`Error::NewerFormat`]; [`Error::WrongBase`]; errors of the engine, such as those of a file
    /// that is none of its databases.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store> {
        let backing = open_backing(&self.engine, path.as_ref())?;
        self.with_backing(backing)
    }

    fn hidden_slice(&self) -> Result<Option<Arc<Slice>>> {
        let Some(base) = &self.base else {
            return match self.hidden_units.first() {
                Some(name) => Err(Error::NoSuchUnit { name: name.clone() }),
                None => Ok(None),
            };
        };
        match self.hidden_units.is_empty() {
            true => Ok(None),
            false => base.snapshot()?.slice_without(&self.hidden_units).map(|slice| Some(Arc::new(slice))),
        }
    }

    /// What a new database has.
    fn new_entries(&self, hidden: Option<&Slice>) -> Result<Vec<Entry>> {
        let mut first = FactId::FIRST;
        let (mut units, mut counts) = (0, Default::default());
        if let Some(base) = &self.base {
            let snapshot = base.snapshot()?;
            (first, units) = (snapshot.first_free_id(), snapshot.first_free_unit()?);
            if let Some(hidden) = hidden {
                counts = owning::hidden_facts(&snapshot, hidden)?;
            }
        }
        let mut meta = vec![
            (FORMAT.to_owned(), FORMAT_1.to_vec()),
            (IDENTITY.to_owned(), new_identity().0.to_le_bytes().to_vec()),
            (STATE.to_owned(), vec![State::Incomplete as u8]),
            (STARTING_ID.to_owned(), first.get().to_le_bytes().to_vec()),
            (FIRST_FREE_ID.to_owned(), first.get().to_le_bytes().to_vec()),
            (FIRST_FREE_UNIT.to_owned(), u64::from(units).to_le_bytes().to_vec()),
        ];
        if let Some(base) = &self.base {
            meta.push((BASE.to_owned(), base.inner.identity.0.to_le_bytes().to_vec()));
        }
        meta.extend(self.hidden_units.iter().map(|name| (format!("{HIDDEN}{name}"), Vec::new())));
        meta.extend(self.properties.iter().map(|(name, value)| (format!("{PROPERTY}{name}"), value.clone())));
        let meta = meta.into_iter().map(|(name, value)| (Side::Meta, name.into_bytes(), value));
        let hidden = counts.iter().map(|(predicate, hidden): (&crate::PredicateId, &Statistics)| {
            (Side::Hidden, predicate.get().to_be_bytes().to_vec(), hidden.encode().to_vec())
        });
        Ok(meta.chain(hidden).collect())
    }

    fn with_backing(self, backing: Backing) -> Result<Store> {
        let path = backing.path().to_owned();
        let view = backing.view()?;
        let entry = |name: &str| view.get(Side::Meta, name);
        // Without the entry it has no bytes, which no entry has.
        let bytes = |name: &str| Ok::<_, Error>(entry(name)?.map(|value| value.to_vec()).unwrap_or_default());
        let format = bytes(FORMAT)?;
        if format != FORMAT_1 && format != FORMAT_2 {
            return Err(match format.starts_with(FORMAT_PREFIX) {
                true => Error::NewerFormat { path },
                false => Error::NotFacts { path, tables: Box::default() },
            });
        }
        let identity = read_identity(&bytes(IDENTITY)?)?;
        let first = FactId::new(read_number(&bytes(STARTING_ID)?)?);
        let first = first.filter(|first| (FactId::FIRST.get()..1 << 63).contains(&first.get()));
        let first = first.ok_or_else(|| Error::Damaged { what: "the starting id is out of range" })?;
        let recorded = entry(BASE)?.map(|bytes| read_identity(&bytes)).transpose()?;
        let reason = match (recorded, &self.base) {
            (None, None) => None,
            (None, Some(_)) => Some("the database is not stacked on another; open it without a base"),
            (Some(_), None) => {
                Some("the database is stacked on another; open it with its base (StoreOptions::base, `--base FILE`)")
            }
            (Some(recorded), Some(base)) if recorded != base.inner.identity => {
                Some("the database is stacked on another than this base; open it with its own base")
            }
            (Some(_), Some(base)) => {
                base.require(State::Complete, "be a base")?;
                (base.snapshot()?.first_free_id() != first).then_some("the base has other facts than it had")
            }
        };
        if let Some(reason) = reason {
            return Err(Error::WrongBase { path, reason });
        }
        let mut hiding = self.base.as_ref().map(|base| base.inner.hiding.clone()).unwrap_or_default();
        let names = owning::hidden_names(&view)?;
        if let Some(base) = &self.base
            && !names.is_empty()
        {
            hiding.push((first, Arc::new(base.snapshot()?.slice_without(&names)?)));
        }
        drop(view);
        Ok(Store {
            inner: Arc::new(Inner {
                backing,
                base: self.base,
                first,
                identity,
                commits: Mutex::new(()),
                root: OnceLock::new(),
                counts: Arc::default(),
                known: Known::new(first),
                hiding,
            }),
        })
    }
}

/// A random number: the standard library seeds its hash functions with those of the system.
fn new_identity() -> Identity {
    let [low, high] = [0, 1].map(|part: u64| RandomState::new().hash_one(part));
    Identity(u128::from(low) | u128::from(high) << 64)
}
