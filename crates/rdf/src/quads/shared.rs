//! What clones of a store share.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use fulgurite::{Database, ReadTxn, Table, WriteTxn};

use crate::dictionary::predicates::Predicates;
use crate::dictionary::{self, IriNamespaces, Numbers};
use crate::error::{Error, Result};
use crate::model::id::{TermId, TermKind};
use crate::model::pattern::Order;
use crate::quads::inferred;
use crate::tables::Inferred;
use crate::tables::TermHasher;

use crate::dictionary::term_batches::TermBatches;
use crate::tables::{Reads, Settings, Tables, damaged};

/// One open store.
pub struct Shared {
    pub database: Database,
    pub orders: Vec<Order>,
    pub hasher: TermHasher,
    pub numbers: Numbers,
    pub iri_namespaces: IriNamespaces,
    pub predicates: Predicates,
    pub term_batches: TermBatches,
    /// Without those of inferred quads.
    tables: Arc<Tables>,
    /// With those of inferred quads, once a snapshot has had them.
    with_inferred: OnceLock<Arc<Tables>>,
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
            term_batches: TermBatches::default(),
            tables: Arc::new(tables),
            with_inferred: OnceLock::new(),
            database,
        }))
    }

    pub fn path(&self) -> &Path {
        self.database.path()
    }

    /// The tables that there are in every snapshot: without those of inferred quads.
    pub fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.tables)
    }

    /// The tables that there are in every snapshot that is taken from now on, with those of inferred quads, if that is
    /// known of them.
    fn tables_of_all(&self) -> Option<Arc<Tables>> {
        self.with_inferred.get().cloned()
    }

    /// Begins a snapshot, and returns its tables.
    ///
    /// # Errors
    /// [`Error::Damaged`]; what the engine reports.
    pub fn read(&self) -> Result<(ReadTxn, Arc<Tables>)> {
        // Before the snapshot is taken, which so is not older than these.
        let known = self.tables_of_all();
        let read = self.database.read()?;
        let tables = known.map_or_else(|| self.tables_as_seen(&read, |name| read.open_table(name)), Ok)?;
        Ok((read, tables))
    }

    /// Begins a transaction, and returns its tables if all snapshots of this moment have the same. Otherwise reads of
    /// quads call [`Shared::tables_as_seen`], and changes without tables of inferred quads [guard](inferred::guard)
    /// their absence.
    ///
    /// # Errors
    /// What `begin` returns.
    pub fn begin(&self, begin: impl FnOnce(&Database) -> Result<WriteTxn>) -> Result<(WriteTxn, Option<Arc<Tables>>)> {
        // Before the transaction begins, which so is not older than these.
        let known = self.tables_of_all();
        Ok((begin(&self.database)?, known))
    }

    /// The tables of inferred quads, if something is inferred now.
    ///
    /// # Errors
    /// As [`Shared::read`].
    pub fn inferred_now(&self) -> Result<Option<Arc<Inferred>>> {
        let (read, tables) = self.read()?;
        match &tables.inferred {
            Some(inferred) if !inferred.is_empty(&read)? => Ok(Some(Arc::clone(inferred))),
            _ => Ok(None),
        }
    }

    /// As [`Shared::read`], for a transaction that reads quads. If there are no tables of inferred quads, it conflicts
    /// with a transaction that makes them.
    ///
    /// # Errors
    /// As [`Shared::read`].
    pub fn write(&self, begin: impl FnOnce(&Database) -> Result<WriteTxn>) -> Result<(WriteTxn, Arc<Tables>)> {
        let (mut txn, known) = self.begin(begin)?;
        if let Some(tables) = known {
            return Ok((txn, tables));
        }
        inferred::guard(&mut txn, &self.tables)?;
        let tables = self.tables_as_seen(&txn, |name| txn.open_table(name))?;
        Ok((txn, tables))
    }

    /// The tables of a snapshot or of a transaction, which asks the table `meta`. Requires: a transaction has not made
    /// those of inferred quads itself.
    ///
    /// # Errors
    /// [`Error::Damaged`]; what the engine reports.
    pub fn tables_as_seen(
        &self,
        reads: &impl Reads,
        open: impl Fn(&str) -> fulgurite::Result<Table>,
    ) -> Result<Arc<Tables>> {
        if !inferred::is_there(reads, &self.tables)? {
            return Ok(self.tables());
        }
        let inferred = Inferred::open(&self.tables, |name| match open(name) {
            Err(fulgurite::Error::TableNotFound { name }) => {
                Err(damaged(self.path(), &format!("table `{name}`"), "it is not there"))
            }
            opened => Ok(opened?),
        })?;
        // They stay: so later snapshots have them too.
        let tables = self.with_inferred.get_or_init(|| Arc::new(self.tables.with_inferred(Arc::new(inferred))));
        Ok(Arc::clone(tables))
    }

    /// Returns the error of a statement whose term cannot be at its position.
    pub fn misplaced_term(&self, id: TermId) -> Error {
        if id.kind() == TermKind::Triple {
            return Error::TripleSubject { path: self.path().to_path_buf() };
        }
        dictionary::damaged_term(
            self.path(),
            id,
            "a quad has it in a place where its kind cannot be, or it stands for no term",
        )
    }

    /// An index with a key that is not a quad's.
    pub fn damaged_key(&self, table: &Table) -> Error {
        damaged(self.path(), &format!("table `{}`", table.name()), "a key is not made of numbers of terms")
    }
}
