//! Completing a database: its facts are rewritten in blocks, in the order of keys, and their owners are computed.
//!
//! (1) Nothing is visible of it before all is written, by one bulk load. (2) After a crash the database is finalising
//! and still has the tables that facts were added to. Completing it again starts from them. (3) One transaction drops
//! those tables and makes the database complete.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::PoisonError;
use std::time::Duration;

use fulgurite::{Database, LeafBatches, ReadTxn, TableOptions, WriteTxn};

use crate::error::{Error, Result};
use crate::ids::{FactId, PredicateId};
use crate::layout::block::BlockBuilder;
use crate::layout::fact::Fact;
use crate::layout::growing::{KEYED_BYTES, keyed_id};
use crate::layout::meta::STATE;
use crate::layout::packed::{CHUNK_PLACES, PLACE_BYTES, Place, block_key, bound};
use crate::layout::tables::{BLOCKS, Form, INDEX, PLACES, Tables};
use crate::ownership::compute::Owning;
use crate::ownership::sets::{OwnerSet, SetId};
use crate::ownership::slice::OwnerIntervals;
use crate::state::State;
use crate::store::handle::Store;
use crate::store::layer::KEY_PREDICATE_BYTES;
use crate::store::owning::{Recorded, claims, derivations};
use crate::store::snapshot::Snapshot;

impl Store {
    /// Ends the writing of facts: computes their owners, and rewrites them in the form that is best to read. The file
    /// is on the disk and as small as it can be when this returns.
    ///
    /// `references` appends the ids that a fact refers to, which are bytes to a store. It is called only if units own
    /// facts.
    ///
    /// It takes memory for five bytes of each fact, and space for the facts a second time. If it fails, the database
    /// is finalising: call it again, also after reopening.
    ///
    /// # Errors
    /// [`Error::WrongState`], if the database is complete or broken; [`Error::RefersForward`]; what `references`
    /// returns; errors of the engine.
    pub fn complete(&self, references: impl FnMut(&Fact<'_>, &mut Vec<FactId>) -> Result<()>) -> Result<()> {
        let _commits = self.lock_commits();
        match self.state()? {
            State::Incomplete => self.put_meta(&[(STATE, &[State::Finalising as u8])])?,
            State::Finalising => {}
            state => return Err(self.wrong_state(state, "be completed")),
        }
        let (owners, sets) = compute_owners(&self.snapshot()?, references)?;
        let db = &self.inner.db;
        let packed = db.update(create_packed)?;
        load(db, &self.snapshot()?, &packed, &owners, &sets)?;

        let mut tables = self.inner.tables.write().unwrap_or_else(PoisonError::into_inner);
        let Form::Growing { keys, entities } = tables.form.clone() else {
            return Err(Error::Damaged { what: "a database that is not complete has no entries by key" });
        };
        db.update(|txn| {
            txn.drop_table(&keys)?;
            txn.drop_table(&entities)?;
            txn.put(&tables.meta, STATE, [State::Complete as u8])
        })?;
        tables.form = packed;
        drop(tables);
        db.compact()?;
        Ok(())
    }
}

/// Creates the tables of a completed database, without what an attempt before left in them.
fn create_packed(txn: &mut WriteTxn) -> fulgurite::Result<Form> {
    let mut create = |name: &str| {
        match txn.open_table(name) {
            Ok(table) => txn.drop_table(&table)?,
            Err(fulgurite::Error::TableNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        txn.create_table(name, TableOptions::new())
    };
    Ok(Form::Packed { blocks: create(BLOCKS)?, index: create(INDEX)?, places: create(PLACES)? })
}

/// The owners that the database records, and the numbers and bytes of sets that its base does not have.
type NewOwners = (OwnerIntervals, Vec<(u32, Vec<u8>)>);

fn compute_owners(
    snapshot: &Snapshot,
    mut references: impl FnMut(&Fact<'_>, &mut Vec<FactId>) -> Result<()>,
) -> Result<NewOwners> {
    let own = snapshot.own();
    let (claims, derivations) = (claims(own)?, derivations(own)?);
    if claims.is_empty() && derivations.is_empty() {
        return Ok(NewOwners::default());
    }
    let mut sets = snapshot.sets()?;
    let old = sets.len();
    // The database's own intervals are empty until it is complete.
    let base: Vec<_> = snapshot
        .owners()?
        .into_iter()
        .map(|Recorded { owners, hidden }| (owners, sets.without(|unit| hidden.contains(&unit))))
        .collect();
    let old_left = |(owners, left): &(OwnerIntervals, Vec<Option<SetId>>), id| {
        owners.of(id).map(|set| *left.get(set.0 as usize)?)
    };
    let of_base = |id: FactId| base.iter().find_map(|recorded| old_left(recorded, id)).flatten();
    let mut owning = Owning::new(&mut sets, own.first, own.end, of_base);
    let mut follow = |id: FactId, found: &mut Vec<FactId>| match snapshot.fact_by_id(id)? {
        Some(fact) => references(&fact, found),
        // The database hides it, so nothing in it refers to it.
        None => Ok(()),
    };
    claims.into_iter().try_for_each(|(unit, from, to)| owning.claim(unit, from, to))?;
    owning.follow(&mut follow)?;
    if !derivations.is_empty() {
        derivations.iter().try_for_each(|(fact, sources)| owning.derive(*fact, sources))?;
        owning.follow(&mut follow)?;
    }
    let owners = owning.finish();
    let new = (old as u32..).zip(sets.from(old));
    Ok((owners, new.map(|(number, set)| Ok((number, OwnerSet::encode(set)?))).collect::<Result<_>>()?))
}

/// Writes all that a completed database has.
fn load(
    db: &Database,
    snapshot: &Snapshot,
    packed: &Form,
    owners: &OwnerIntervals,
    sets: &[(u32, Vec<u8>)],
) -> Result<()> {
    let (own, Form::Packed { blocks, index, places }) = (snapshot.own(), packed) else {
        return Err(Error::Damaged { what: "the tables of a completed database are missing" });
    };
    let mut load = db.begin_bulk_load(Duration::MAX)?.ok_or(Error::Damaged { what: "no load began" })?;
    let count = usize::try_from(own.end.get() - own.first.get()).map_err(|_| Error::TooLarge)?;
    let written = Rc::new(RefCell::new(Written { bounds: Vec::new(), places: vec![[0; PLACE_BYTES]; count] }));
    load.sorted(blocks, Folding::new(&own.txn, &own.tables, own.first, Rc::clone(&written))?)?;
    // The loads below begin when that above has ended.
    let later = Rc::clone(&written);
    let bounds = std::iter::once_with(move || std::mem::take(&mut later.borrow_mut().bounds)).flatten();
    load.sorted(index, bounds.map(|(bound, block)| Ok::<_, Error>((bound, block_key(block)))))?;
    let later = Rc::clone(&written);
    let chunks = std::iter::once_with(move || std::mem::take(&mut later.borrow_mut().places)).flat_map(|places| {
        let chunks: Vec<Vec<u8>> = places.chunks(CHUNK_PLACES).map(|chunk| chunk.concat()).collect();
        chunks
    });
    let chunks = (0_u64..).zip(chunks);
    load.sorted(places, chunks.map(|(number, chunk)| Ok::<_, Error>((number.to_be_bytes(), chunk))))?;
    let sets = sets.iter().map(|(number, set)| Ok::<_, Error>((number.to_be_bytes(), set)));
    load.sorted(&own.tables.sets, sets)?;
    let owners = owners.starts.iter().map(|(start, set)| {
        let set = set.map(|set| set.0.to_le_bytes().to_vec()).unwrap_or_default();
        Ok::<_, Error>((start.to_be_bytes(), set))
    });
    load.sorted(&own.tables.owners, owners)?;
    load.commit()?;
    Ok(())
}

/// What follows from the blocks that were written.
struct Written {
    /// The bound of each block, and its number.
    bounds: Vec<(Vec<u8>, u64)>,
    /// The place of each fact, by id.
    places: Vec<[u8; PLACE_BYTES]>,
}

/// Blocks of the entries by key, in order.
struct Folding<'t> {
    batches: LeafBatches<'t>,
    first: FactId,
    written: Rc<RefCell<Written>>,
    /// The block that is being filled, its predicate, ids and last key.
    builder: BlockBuilder,
    predicate: Option<PredicateId>,
    ids: Vec<FactId>,
    last: Vec<u8>,
    /// The number of the next block.
    number: u64,
    full: VecDeque<(u64, Vec<u8>)>,
    ended: bool,
}

impl<'t> Folding<'t> {
    fn new(txn: &'t ReadTxn, tables: &Tables, first: FactId, written: Rc<RefCell<Written>>) -> Result<Self> {
        let Form::Growing { keys, .. } = &tables.form else {
            return Err(Error::Damaged { what: "a database that is not complete has no entries by key" });
        };
        Ok(Self {
            batches: txn.leaf_batches(keys, ..)?,
            first,
            written,
            builder: BlockBuilder::default(),
            predicate: None,
            ids: Vec::new(),
            last: Vec::new(),
            number: 0,
            full: VecDeque::new(),
            ended: false,
        })
    }

    fn read(&mut self) -> Result<Option<(u64, Vec<u8>)>> {
        while self.full.is_empty() && !self.ended {
            match self.batches.next().transpose()? {
                Some(batch) => batch.iter().try_for_each(|(entry, value)| self.push(entry, value))?,
                None => {
                    self.end_block(None)?;
                    self.ended = true;
                }
            }
        }
        Ok(self.full.pop_front())
    }

    fn push(&mut self, entry: &[u8], value: &[u8]) -> Result<()> {
        let damaged = Error::Damaged { what: "an entry by key has no predicate" };
        let Some((predicate, key)) = entry.split_first_chunk::<KEY_PREDICATE_BYTES>() else { return Err(damaged) };
        let Some(predicate) = PredicateId::new(u64::from_be_bytes(*predicate)) else { return Err(damaged) };
        let (id, value) = (keyed_id(value)?, &value[KEYED_BYTES..]);
        if self.predicate != Some(predicate) {
            self.end_block(None)?;
            self.predicate = Some(predicate);
        } else if !self.builder.has_room(id, key.len() + value.len()) {
            self.end_block(Some(key))?;
        }
        self.builder.push(id, key, value);
        self.ids.push(id);
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// Ends the block, if there is one. `next` is the first key of the predicate's next block.
    fn end_block(&mut self, next: Option<&[u8]>) -> Result<()> {
        let Some(predicate) = self.predicate.filter(|_| self.builder.count() > 0) else { return Ok(()) };
        let mut written = self.written.borrow_mut();
        let mut entry = Vec::new();
        bound(predicate, &self.last, next, &mut entry);
        written.bounds.push((entry, self.number));
        for (index, id) in self.ids.drain(..).enumerate() {
            let rank = id.get().checked_sub(self.first.get()).and_then(|rank| usize::try_from(rank).ok());
            let place = rank.and_then(|rank| written.places.get_mut(rank));
            let place = place.ok_or(Error::Damaged { what: "an entry by key has an id that is not in use" })?;
            *place = Place { block: self.number, index }.encode()?;
        }
        self.full.push_back((self.number, self.builder.finish(predicate)));
        self.number += 1;
        Ok(())
    }
}

impl Iterator for Folding<'_> {
    type Item = Result<([u8; 8], Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.read().transpose()?;
        Some(item.map(|(number, block)| (block_key(number), block)))
    }
}
