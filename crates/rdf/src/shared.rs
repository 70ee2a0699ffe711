//! What all handles of a store in this process share.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use fulgurite::{Database, Table};

use crate::dictionary::{self, IriNamespaces, Numbers, TermHasher};
use crate::error::{Error, Result};
use crate::load::Gate;
use crate::pattern::Order;
use crate::tables::{Settings, Tables, damaged};

/// One open store.
pub struct Shared {
    pub database: Database,
    pub orders: Vec<Order>,
    pub hasher: TermHasher,
    pub numbers: Numbers,
    pub iri_namespaces: IriNamespaces,
    /// Who may write while a bulk load runs.
    pub gate: Gate,
    /// Replaced when a bulk load is undone. Nothing else is locked under it.
    tables: RwLock<Arc<Tables>>,
}

impl Shared {
    /// The store of a database: what other handles have, or else what `open` makes of its settings. Of several threads one opens it.
    ///
    /// # Errors
    /// As [`Settings::read`] and [`Tables::open`].
    pub fn of(database: Database) -> Result<Arc<Self>> {
        static STORES: OnceLock<Mutex<Vec<Weak<Shared>>>> = OnceLock::new();
        let mut stores = STORES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        // Dropping the last handle of a store closes its database: not under the lock.
        let mut live: Vec<Arc<Self>> = stores.iter().filter_map(Weak::upgrade).collect();
        stores.retain(|store| store.strong_count() > 0);
        let found = live.iter().position(|store| store.database.is_same_as(&database));
        let shared = match found {
            Some(index) => live.swap_remove(index),
            None => {
                let shared = Arc::new(Self::open(database)?);
                stores.push(Arc::downgrade(&shared));
                shared
            }
        };
        drop(stores);
        Ok(shared)
    }

    fn open(database: Database) -> Result<Self> {
        let read = database.read()?;
        let settings = Settings::read(&database, &read)?;
        let tables = Tables::open(&read, database.path(), &settings)?;
        let (read, tables) = crate::load::undo_cut_off(&database, read, tables)?;
        dictionary::check_numbers(&read, &tables, database.path())?;
        let iri_namespaces = IriNamespaces::read(&read, &tables, database.path())?;
        drop(read);
        Ok(Self {
            orders: settings.orders,
            hasher: settings.hasher,
            numbers: Numbers::default(),
            iri_namespaces,
            gate: Gate::default(),
            tables: RwLock::new(Arc::new(tables)),
            database,
        })
    }

    pub fn path(&self) -> &Path {
        self.database.path()
    }

    pub fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.tables.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set_tables(&self, tables: Tables) {
        *self.tables.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tables);
    }

    /// An index with a key that is no quad's.
    pub fn damaged_key(&self, table: &Table) -> Error {
        damaged(self.path(), &format!("table `{}`", table.name()), "a key is not made of numbers of terms")
    }
}
