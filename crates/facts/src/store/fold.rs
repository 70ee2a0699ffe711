//! Completing a database: its facts are rewritten in the order of keys, and their owners are computed.
//!
//! (1) Nothing is visible of it before all is written, by one bulk load. (2) After a crash the database is finalising
//! and still has the tables that facts were added to. Completing it again starts from them. (3) One transaction drops
//! those tables and makes the database complete. (4) A database has its new format before it has sets in it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::PoisonError;
use std::time::Duration;

use fulgurite::{Database, TableOptions, WriteTxn};

use crate::error::{Error, Result};
use crate::ids::FactId;
use crate::layout::fact::Fact;
use crate::layout::meta::{FORMAT, FORMAT_2, STATE};
use crate::layout::tables::{Form, PackedTables, Tables};
use crate::ownership::slice::OwnerIntervals;
use crate::ownership::stored::StoredOwners;
use crate::reading::snapshot::Snapshot;
use crate::reading::view::View;
use crate::state::State;
use crate::store::backing::Backing;
use crate::store::folding::{Folding, Written};
use crate::store::handle::{Store, read_state};
use crate::store::owners::compute_owners;

impl Store {
    /// Ends the writing of facts: computes their owners, and rewrites them in the form that is best to read. The file
    /// is on the disk and as small as it can be when this returns.
    ///
    /// `references` appends the ids that a fact refers to, which are bytes to a store. It is called only if units own
    /// facts.
    ///
    /// It takes fifteen bytes of memory for each fact, about a hundred more for each that facts with other owners refer
    /// to, memory for the sets of owners, and space in the file for the facts a second time. If it fails otherwise than
    /// by [`Error::NotCompacted`], the database is finalising: call it again, also after reopening.
    ///
    /// # Errors
    /// [`Error::NotCompacted`], if the database is complete and only its file is larger than it could be;
    /// [`Error::WrongState`], if the database is complete or broken; [`Error::RefersForward`]; what `references`
    /// returns; errors of the engine.
    pub fn complete(&self, references: impl FnMut(&Fact<'_>, &mut Vec<FactId>) -> Result<()>) -> Result<()> {
        let _commits = self.lock_commits();
        let can_begin = |state| matches!(state, State::Incomplete | State::Finalising);
        self.put_meta(COMPLETING, can_begin, &[(STATE, &[State::Finalising as u8])])?;
        let stored = self.compute_stored(references)?;
        if !stored.sets.is_empty() {
            self.put_meta(COMPLETING, can_begin, &[(FORMAT, FORMAT_2)])?;
        }
        let (db, tables) = match &self.inner.backing {
            Backing::Engine(db, tables) => (db, tables),
            #[cfg(feature = "lmdb")]
            Backing::Lmdb(environment) => return self.complete_in_lmdb(environment, &stored),
        };
        let growing = tables.read().unwrap_or_else(PoisonError::into_inner).clone();
        let packed = db.update(|txn| create_packed(txn, &growing))?;
        load(db, &self.snapshot()?, &packed, &stored)?;

        let mut tables = tables.write().unwrap_or_else(PoisonError::into_inner);
        let Form::Growing { keys, entities } = tables.form.clone() else {
            return Err(Error::Damaged { what: "a database that is not complete has no entries by key" });
        };
        let found = db.update(|txn| {
            let found = txn.get(&tables.meta, STATE)?.map(|state| state.to_vec()).unwrap_or_default();
            if found == [State::Finalising as u8] {
                txn.drop_table(&keys)?;
                txn.drop_table(&entities)?;
                txn.put(&tables.meta, STATE, [State::Complete as u8])?;
            }
            Ok(found)
        })?;
        self.require_finalising(&found)?;
        tables.form = Form::Packed(packed);
        drop(tables);
        db.compact().map(drop).map_err(|error| Error::NotCompacted(Box::new(error)))
    }

    fn compute_stored(
        &self,
        references: impl FnMut(&Fact<'_>, &mut Vec<FactId>) -> Result<()>,
    ) -> Result<StoredOwners> {
        let snapshot = self.snapshot()?;
        let below = &snapshot.layers[..snapshot.layers.len() - 1];
        let computed = compute_owners(&snapshot, below, references)?;
        StoredOwners::new(&computed.sets, computed.old, computed.owners)
    }

    /// Completes a database in LMDB: one transaction writes the owners and the state. The form of facts stays.
    #[cfg(feature = "lmdb")]
    fn complete_in_lmdb(
        &self,
        environment: &crate::lmdb::environment::Environment,
        StoredOwners { owners, sets }: &StoredOwners,
    ) -> Result<()> {
        use crate::layout::tables::Side;

        let mut changes = environment.changes()?;
        self.require_finalising(&changes.get(Side::Meta, STATE.as_bytes())?.unwrap_or_default())?;
        sets.iter().try_for_each(|(number, set)| changes.put(Side::Sets, &number.to_be_bytes(), set))?;
        owner_entries(owners).try_for_each(|(start, set)| changes.put(Side::Owners, &start, &set))?;
        // The facts are on the disk before the state says so.
        environment.sync()?;
        changes.put(Side::Meta, STATE.as_bytes(), &[State::Complete as u8])?;
        changes.commit()?;
        environment.sync()
    }

    /// Refuses to end the completion if another handle has meanwhile ended it, or given the database up.
    fn require_finalising(&self, entry: &[u8]) -> Result<()> {
        match read_state(entry)? {
            State::Finalising => Ok(()),
            state => Err(self.wrong_state(state, COMPLETING)),
        }
    }
}

/// What [`Store::complete`] does, for errors.
const COMPLETING: &str = "be completed";

/// Creates the tables of a completed database, without what an attempt before left in them and in others.
fn create_packed(txn: &mut WriteTxn, tables: &Tables) -> fulgurite::Result<PackedTables> {
    for table in [&tables.sets, &tables.owners] {
        txn.delete_range(table, ..)?;
    }
    let create = |name: &str| {
        match txn.open_table(name) {
            Ok(table) => txn.drop_table(&table)?,
            Err(fulgurite::Error::TableNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        txn.create_table(name, TableOptions::new())
    };
    PackedTables::each(create)
}

/// Writes all that a completed database has.
fn load(
    db: &Database,
    snapshot: &Snapshot,
    packed: &PackedTables,
    StoredOwners { owners, sets }: &StoredOwners,
) -> Result<()> {
    let own = snapshot.own();
    let no_keys = || Error::Damaged { what: "a database that is not complete has no entries by key" };
    let (txn, tables) = match &own.view {
        View::Engine { txn, tables } => (txn, tables),
        #[cfg(feature = "lmdb")]
        View::Lmdb(_) => return Err(no_keys()),
    };
    let Form::Growing { keys, .. } = &tables.form else { return Err(no_keys()) };
    let mut load = db.begin_bulk_load(Duration::MAX)?.ok_or_else(|| Error::Damaged { what: "no load began" })?;
    let written = Rc::new(RefCell::new(Written::new(own.end.get() - own.first.get())?));
    load.sorted(&packed.records, Folding::new(txn.leaf_batches(keys, ..)?, own.first, Rc::clone(&written)))?;
    // The loads below begin when that above has ended.
    load.sorted(&packed.index, later(Rc::clone(&written), Written::nodes))?;
    load.sorted(&packed.root, later(Rc::clone(&written), Written::root))?;
    load.sorted(&packed.places, later(Rc::clone(&written), Written::place_entries))?;
    load.sorted(&packed.hashes, later(Rc::clone(&written), Written::hash_entries))?;
    let sets = sets.iter().map(|(number, set)| Ok::<_, Error>((number.to_be_bytes(), set)));
    load.sorted(&tables.sets, sets)?;
    let owners = owner_entries(owners).map(Ok::<_, Error>);
    load.sorted(&tables.owners, owners)?;
    load.commit()?;
    Ok(())
}

/// The entries of intervals of owners.
fn owner_entries(owners: &OwnerIntervals) -> impl Iterator<Item = ([u8; 8], Vec<u8>)> + '_ {
    owners.starts.iter().map(|(start, set)| {
        let set = set.map(|set| set.0.to_le_bytes().to_vec()).unwrap_or_default();
        (start.to_be_bytes(), set)
    })
}

/// Numbered entries that are taken from `written` when the first of them is read.
fn later(
    written: Rc<RefCell<Written>>,
    take: impl FnOnce(&mut Written) -> Vec<Vec<u8>>,
) -> impl Iterator<Item = Result<([u8; 8], Vec<u8>)>> {
    let entries = std::iter::once_with(move || take(&mut written.borrow_mut())).flatten();
    (0_u64..).zip(entries).map(|(number, entry)| Ok((number.to_be_bytes(), entry)))
}
