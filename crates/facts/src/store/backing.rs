//! [`Backing`]: what holds the bytes of a database, and [`Changes`], one transaction of it.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use fulgurite::{Database, Isolation, Options, UPDATE_ATTEMPTS, WriteTxn};

use crate::error::{Error, Result};
use crate::layout::magic::is_lmdb;
use crate::layout::tables::{Side, Tables};
use crate::reading::view::View;

/// Which engine stores a database. It is chosen when the database is created, and found by its file later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Fulgurite.
    #[default]
    Fulgurite,
    /// LMDB, if this crate is built with its feature `lmdb`. Such a database has no images, and is not made smaller
    /// when it is completed; a backup is. Options of the engine do not apply to it, except `read_only`. A crash of the
    /// machine can damage it until it is complete.
    Lmdb,
}

impl Backend {
    /// Whether this crate is built with the backend.
    #[must_use]
    pub fn is_built(self) -> bool {
        match self {
            Backend::Fulgurite => true,
            Backend::Lmdb => cfg!(feature = "lmdb"),
        }
    }

    /// The backend of the file at `path`, by its first bytes. Files that are none of LMDB are the engine's, or none.
    #[must_use]
    pub fn of(path: impl AsRef<Path>) -> Backend {
        match is_lmdb(path.as_ref()) {
            true => Backend::Lmdb,
            false => Backend::Fulgurite,
        }
    }
}

/// What holds the bytes of a database.
#[cfg_attr(feature = "lmdb", allow(clippy::large_enum_variant, reason = "a database has one"))]
pub enum Backing {
    /// A database of the engine, and its tables, which are replaced when it is completed.
    Engine(Database, RwLock<Tables>),
    /// A file of LMDB.
    #[cfg(feature = "lmdb")]
    Lmdb(crate::lmdb::environment::Environment),
}

impl Backing {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Engine(db, _) => db.path(),
            #[cfg(feature = "lmdb")]
            Self::Lmdb(environment) => environment.path(),
        }
    }

    /// The state after the last commit.
    pub fn view(&self) -> Result<View> {
        match self {
            Self::Engine(db, tables) => {
                // Not between the two steps of completion.
                let tables = tables.read().unwrap_or_else(PoisonError::into_inner);
                Ok(View::Engine { txn: db.read()?, tables: tables.clone() })
            }
            #[cfg(feature = "lmdb")]
            Self::Lmdb(environment) => environment.view().map(View::Lmdb),
        }
    }

    /// See [`Store::back_up`](crate::Store::back_up).
    pub fn back_up(&self, to: &Path) -> Result<()> {
        if to.exists() {
            return Err(Error::Exists { path: to.to_owned() });
        }
        match self {
            Self::Engine(db, _) => Ok(db.backup_to(to).map(drop)?),
            #[cfg(feature = "lmdb")]
            Self::Lmdb(environment) => environment.copy_to(to),
        }
    }

    /// Begins to write.
    pub fn changes(&self) -> Result<Changes<'_>> {
        match self {
            Self::Engine(db, tables) => {
                let tables = tables.read().unwrap_or_else(PoisonError::into_inner).clone();
                Ok(Changes::Engine {
                    txn: db.write_with(Isolation::Snapshot)?,
                    tables,
                    scope: std::marker::PhantomData,
                })
            }
            #[cfg(feature = "lmdb")]
            Self::Lmdb(environment) => environment.changes().map(Changes::Lmdb),
        }
    }

    /// Commits what `change` does, and does it once more if it conflicts with another transaction.
    pub fn update(&self, change: impl Fn(&mut Changes<'_>) -> Result<()>) -> Result<()> {
        for _ in 0..UPDATE_ATTEMPTS {
            let mut changes = self.changes()?;
            match change(&mut changes).and_then(|()| changes.commit()) {
                Err(Error::Engine(error)) if error.is_retryable() => {}
                outcome => return outcome,
            }
        }
        Err(Error::Contended { attempts: UPDATE_ATTEMPTS })
    }
}

/// A write transaction.
#[cfg_attr(feature = "lmdb", allow(clippy::large_enum_variant, reason = "a transaction has one"))]
pub enum Changes<'b> {
    /// Of a database of the engine.
    Engine {
        /// The transaction.
        txn: WriteTxn,
        /// The tables of the database.
        tables: Tables,
        /// It is used as long as its backing.
        scope: std::marker::PhantomData<&'b ()>,
    },
    /// Of a file of LMDB.
    #[cfg(feature = "lmdb")]
    Lmdb(crate::lmdb::changes::Changes<'b>),
}

impl Changes<'_> {
    /// An entry that is not a fact.
    pub fn get(&self, side: Side, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Engine { txn, tables, .. } => Ok(txn.get(tables.side(side), key)?.map(|value| value.to_vec())),
            #[cfg(feature = "lmdb")]
            Self::Lmdb(changes) => changes.get(side, key.as_ref()),
        }
    }

    /// Writes an entry that is not a fact.
    pub fn put(&mut self, side: Side, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        match self {
            Self::Engine { txn, tables, .. } => Ok(txn.put(tables.side(side), key, value)?),
            #[cfg(feature = "lmdb")]
            Self::Lmdb(changes) => changes.put(side, key.as_ref(), value.as_ref()),
        }
    }

    /// Makes the changes visible.
    pub fn commit(self) -> Result<()> {
        match self {
            Self::Engine { txn, .. } => Ok(txn.commit().map(drop)?),
            #[cfg(feature = "lmdb")]
            Self::Lmdb(changes) => changes.commit(),
        }
    }
}

/// An entry that is not a fact: its side, key and value.
pub type Entry = (Side, Vec<u8>, Vec<u8>);

/// Opens the file at `path`, whichever backend it is of.
pub fn open_backing(engine: &Options, path: &Path) -> Result<Backing> {
    // The engine does not see a file of LMDB: both have a file for locks with the same name.
    if is_lmdb(path) {
        return open_in_lmdb(path, engine.is_read_only());
    }
    let db = engine.clone().open(path)?;
    match Tables::open(&db)? {
        Some(tables) => Ok(Backing::Engine(db, RwLock::new(tables))),
        None => Err(Error::NotFacts { path: path.to_owned(), tables: table_names(&db)? }),
    }
}

/// The names of all tables, in order.
pub fn table_names(db: &Database) -> Result<Box<[String]>> {
    let mut names: Vec<String> = db.tables()?.into_iter().map(|table| table.name().to_owned()).collect();
    names.sort_unstable();
    Ok(names.into())
}

/// Creates a file of LMDB with these entries.
#[cfg(feature = "lmdb")]
pub fn create_in_lmdb(path: &Path, entries: &[Entry]) -> Result<Backing> {
    use crate::lmdb::environment::Environment;

    let environment = Environment::create(path, |changes| {
        entries.iter().try_for_each(|(side, key, value)| changes.put(*side, key, value))
    })?;
    Ok(Backing::Lmdb(environment))
}

#[cfg(feature = "lmdb")]
fn open_in_lmdb(path: &Path, read_only: bool) -> Result<Backing> {
    use crate::lmdb::environment::Environment;

    let environment = Environment::open(path, read_only)?;
    environment.map(Backing::Lmdb).ok_or_else(|| Error::NotFacts { path: path.to_owned(), tables: Box::default() })
}

/// This program cannot create a file of LMDB.
#[cfg(not(feature = "lmdb"))]
pub fn create_in_lmdb(path: &Path, _entries: &[Entry]) -> Result<Backing> {
    Err(Error::LmdbNotBuilt { path: path.to_owned() })
}

/// This program cannot open a file of LMDB.
#[cfg(not(feature = "lmdb"))]
fn open_in_lmdb(path: &Path, _read_only: bool) -> Result<Backing> {
    Err(Error::LmdbNotBuilt { path: path.to_owned() })
}
