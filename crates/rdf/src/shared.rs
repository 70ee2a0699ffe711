//! What clones of a store share.

use std::path::Path;
use std::sync::Arc;

use fulgurite::{Database, Table};

use crate::dictionary::{self, IriNamespaces, Numbers, TermHasher};
use crate::error::{Error, Result};
use crate::id::TermId;
use crate::pattern::Order;
use crate::predicates::Predicates;
use crate::tables::{Settings, Tables, damaged};

/// One open store.
pub struct Shared {
    pub database: Database,
    pub orders: Vec<Order>,
    pub hasher: TermHasher,
    pub numbers: Numbers,
    pub iri_namespaces: IriNamespaces,
    pub predicates: Predicates,
    tables: Arc<Tables>,
}

impl Shared {
    /// The store of a database.
    ///
    /// # Errors
    /// As [`Settings::read`] and [`Tables::open`].
    pub fn of(database: Database) -> Result<Arc<Self>> {
        let read = database.read()?;
        let settings = Settings::read(&database, &read)?;
        let tables = Tables::open(&read, database.path(), &settings)?;
        dictionary::check_numbers(&read, &tables, database.path())?;
        let iri_namespaces = IriNamespaces::read(&read, &tables, database.path())?;
        drop(read);
        Ok(Arc::new(Self {
            orders: settings.orders,
            hasher: settings.hasher,
            numbers: Numbers::default(),
            iri_namespaces,
            predicates: Predicates::default(),
            tables: Arc::new(tables),
            database,
        }))
    }

    pub fn path(&self) -> &Path {
        self.database.path()
    }

    pub fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.tables)
    }

    /// A quad with a number that stands for nothing that can be in its place.
    pub fn damaged_quad(&self, id: TermId) -> Error {
        dictionary::damaged_term(
            self.path(),
            id,
            "a quad has it in a place where its kind cannot be, or it stands for no term",
        )
    }

    /// An index with a key that is no quad's.
    pub fn damaged_key(&self, table: &Table) -> Error {
        damaged(self.path(), &format!("table `{}`", table.name()), "a key is not made of numbers of terms")
    }
}
