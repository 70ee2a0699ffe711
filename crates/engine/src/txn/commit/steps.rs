//! Committing, top down: [`Core::try_commit`] names the steps.
//!
//! Invariants:
//! (1) A commit has its place in the log before any of it is in a delta, and is in the deltas and in the log, or its
//!     buffer, before it is visible.
//! (2) Sequences rise by one per commit, in the order of the log; commits become visible in that order.
//! (3) A commit that reports an error has no effect, now or after a restart, unless the error is `Indeterminate`.
//! (4) When a commit gets its sequence, nothing that it was checked for has changed since its snapshot. So
//!     transactions that are checked for what they read could have run one after the other, in the order of their
//!     sequences.
//! (5) A merge applies its operand to the value that the commit before left: see `merges`.
#![allow(unsafe_code)] // A commit is written to its place before it is finished.

use std::cell::Cell;
use std::mem;

use crate::delta::{Approach, Change, Delta, Inserts};
use crate::error::{Error, Result};
use crate::format::RecordEncoder;
use crate::ids::{Sequence, TableId};
use crate::metrics;
use crate::options::Durability;
use crate::pager::no_room;
use crate::planted::{Fault, give_way, planted};
use crate::sync::{Arc, MutexGuard};
use crate::txn::commit::core::{Core, Hold, Logged, Writer};
use crate::txn::commit::footprints::{Footprint, HASHES};
use crate::txn::commit::in_place::InPlace;
use crate::txn::commit::merges::{Results, Revalidated};
use crate::txn::commit::proposal::{Proposal, resolved};
use crate::txn::coordination::budget::Budget;
use crate::txn::snapshot::published::Replaced;
use crate::txn::snapshot::state::State;
use crate::txn::writes::pending::Pending;
use crate::txn::writes::schema::{SchemaChange, with_schema};
use crate::txn::writes::write_set::WriteSet;

/// The places in deltas where the set's first keys will be inserted, as far as they were found.
type Approaches = [Option<Approach>; HASHES];

/// The part of a commit that is prepared without the log's lock.
struct Draft<'w> {
    footprint: Footprint,
    encoder: RecordEncoder,
    /// The results of its merges.
    results: Option<Results<'w>>,
}

/// A commit that has its place in the order.
struct Placed<'w> {
    sequence: Sequence,
    log_bytes: usize,
    /// The newest state, if that is not the transaction's own.
    newer: Option<Arc<State>>,
    /// Where its record will be written, if it is neither in the log nor in the log's buffer.
    place: Option<InPlace>,
    /// Whether its record is in the log's buffer, which is written later.
    buffered: bool,
    /// Whether it is the first commit since the deltas were exchanged.
    is_oldest: bool,
    /// The lock of the log, held until the end if tables change: no other commit may get a place before.
    schema_guard: Option<MutexGuard<'w, Logged>>,
    /// The state that this commit replaced, if tables change.
    replaced: Option<Replaced<'w, Hold>>,
}

/// A commit whose insertion panics: it has its place in the log, and will never be complete there or in memory.
struct Abandoned<'c>(&'c Core);

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if let Some(writer) = &self.0.writer {
            writer.poison();
        }
        self.0.published.abandon();
    }
}

impl Proposal<'_> {
    /// Whether it needs a part of the reserve that it may not have: it adds more bytes than it frees, or so many that
    /// its record in the log may need what deletions need.
    fn needs_room(&self, budget: &Budget, results: &[Pending]) -> bool {
        let added = self.added_bytes(results);
        added >= MEASURED_COMMIT_BYTES || (added > 0 && !(self.frees(added) && budget.take_exchange(added)))
    }

    /// Whether the disk has no room for it with the results of its merges. A large commit is compared with the present
    /// room, not only with the room measured last.
    fn lacks_room(&self, writer: &Writer, results: &[Pending]) -> bool {
        let bytes = self.bytes(results);
        let is_large = bytes >= MEASURED_COMMIT_BYTES;
        if !is_large && !writer.budget.is_short() {
            return false;
        }
        let has_room = is_large && writer.relief.get().is_none_or(|relief| relief.has_room_for(bytes));
        (writer.budget.is_short() || !has_room) && self.needs_room(&writer.budget, results)
    }
}

impl Draft<'_> {
    /// Writes the records of the proposal, with results in the places of its merges.
    fn encode(&mut self, proposal: &Proposal<'_>) {
        let Self { encoder, results, .. } = self;
        encoder.begin();
        for change in proposal.schema.changes() {
            match change {
                SchemaChange::Created(view) => {
                    encoder.put(TableId::CATALOG, view.info.name.as_bytes(), &view.info.descriptor.encode());
                }
                SchemaChange::Dropped(info) => encoder.delete(TableId::CATALOG, info.name.as_bytes()),
                SchemaChange::Renamed { before, after } => {
                    encoder.renamed(after.id, before.name.as_bytes(), after.name.as_bytes());
                }
            }
        }
        for (table, key, pending) in resolved(proposal.set, results.as_ref().map_or(&[], Results::puts)) {
            match pending {
                Pending::Put(value) => encoder.put(table, key, value),
                Pending::PutLarge(large) => encoder.put_large(table, key, large),
                Pending::Delete => encoder.delete(table, key),
                Pending::Merge(_) => unreachable!("results are in the place of merges"),
            }
        }
        encoder.finish();
    }

    /// Estimate of the memory for the changes in the deltas.
    fn memory_bytes(&self, proposal: &Proposal<'_>) -> u64 {
        let results = self.results.as_ref().map_or(&[][..], Results::puts);
        let overheads = (proposal.set.len() * ENTRY_OVERHEAD_BYTES) as u64;
        proposal.bytes(results) + overheads + proposal.schema.len() as u64 * SCHEMA_CHANGE_BYTES
    }

    /// As [`Core::revalidate_merges`]. Returns whether the results hold now.
    fn revalidate_merges(&mut self, core: &Core, logged: &Logged, proposal: &Proposal<'_>) -> Result<bool> {
        let Some(results) = &mut self.results else { return Ok(true) };
        let merged = core.revalidate_merges(logged, proposal, &self.footprint, results)?;
        if merged == Revalidated::Changed {
            self.encode(proposal);
        }
        Ok(merged != Revalidated::TooCostly)
    }

    fn recompute_merges(&mut self, core: &Core, proposal: &Proposal<'_>) -> Result<()> {
        if let Some(results) = &mut self.results
            && core.recompute_merges(proposal, results)?
        {
            self.encode(proposal);
        }
        Ok(())
    }
}

impl Logged {
    /// Appends a finished commit to the log: it has a place there then, or is in the file, or in the buffer, as the
    /// flag says.
    ///
    /// # Errors
    /// As [`crate::txn::commit::journal::Journal::append`].
    fn append(
        &mut self,
        encoder: &mut RecordEncoder,
        sequence: Sequence,
        durability: Durability,
    ) -> Result<(Option<InPlace>, bool)> {
        if let Some(place) = self.journal.place(encoder, sequence, durability)? {
            return Ok((Some(self.note_place(sequence, place)), false));
        }
        Ok((None, self.journal.append(encoder, sequence, durability)?))
    }
}

impl Core {
    /// As [`Core::try_commit`]. Requires: the results of merges take little memory.
    ///
    /// # Errors
    /// As [`crate::WriteTxn::commit`].
    #[cfg(model_checked)]
    pub fn commit(&self, proposal: &Proposal<'_>, durability: Durability) -> Result<Sequence> {
        self.try_commit(proposal, durability).map(|committed| committed.expect("the results are small"))
    }

    /// Commits, and waits until the commit is visible and as durable as asked. `None`, and nothing has changed, if the
    /// results of its merges would take more memory than a transaction may use: it must be spilled before. Requires:
    /// the set or the schema has changes, and all of them are in memory.
    ///
    /// # Errors
    /// As [`crate::WriteTxn::commit`].
    pub fn try_commit(&self, proposal: &Proposal<'_>, durability: Durability) -> Result<Option<Sequence>> {
        let writer = self.writer()?;
        let results = self.precompute_merges(writer, proposal)?;
        if results.as_ref().is_some_and(Results::is_cut_short) {
            return Ok(None);
        }
        if proposal.lacks_room(writer, results.as_ref().map_or(&[], Results::puts)) {
            return Err(no_room(&self.path));
        }
        self.begin_log(writer)?;
        sync_large_values(writer, proposal.set)?;
        let footprint = Footprint::of(proposal.set, proposal.snapshot.state.pages.identity(), proposal.begun);
        let mut draft = Draft { footprint, encoder: ENCODER.take(), results };
        draft.encode(proposal);
        let approaches = approach(proposal, &draft.footprint);
        let placed = self.place(writer, proposal, &mut draft, durability);
        let mut placed = placed.inspect_err(|error| note_refusal(writer, error))?;
        give_way();
        self.insert(proposal, &mut placed, &draft, &approaches);
        keep_encoder(mem::take(&mut draft.encoder));
        self.show(&mut placed);
        metrics::commit(placed.log_bytes);
        self.settle(writer, &placed, durability).map(Some)
    }

    /// Checks the commit, and assigns its number and its place in the log: in between no other commit gets a number
    /// that could matter. Everything else was done before, without the lock.
    fn place<'w>(
        &self,
        writer: &'w Writer,
        proposal: &Proposal<'_>,
        draft: &mut Draft<'w>,
        durability: Durability,
    ) -> Result<Placed<'w>> {
        for _ in 0..CHECKS_UNLOCKED {
            let checked = self.check(writer, proposal)?;
            give_way();
            let logged = self.lock_log(writer, proposal.is_exclusive);
            let last = logged.last;
            if proposal.is_clear_since(&logged.footprints, &draft.footprint, checked, last)
                && draft.revalidate_merges(self, &logged, proposal)?
            {
                return self.number(writer, logged, proposal, draft, durability);
            }
            drop(logged);
            // The next check finds in the deltas what may have changed.
            self.published.wait(last);
            draft.recompute_merges(self, proposal)?;
        }
        // Other transactions are too fast. While this thread has the lock, none of them gets a number.
        let logged = self.lock_log(writer, proposal.is_exclusive);
        self.published.wait(logged.last);
        self.check(writer, proposal)?;
        draft.recompute_merges(self, proposal)?;
        self.number(writer, logged, proposal, draft, durability)
    }

    /// Assigns the next sequence to a checked commit, under the lock of the log, which the caller holds. In this order:
    /// 1. waits until all earlier commits are visible, if tables change or too many are under way,
    /// 2. checks the tables against the newest state,
    /// 3. appends the record to the log, its buffer, or a place that is written later,
    /// 4. notes the sequence, the memory, the footprint and the changed tables for later commits and checkpoints.
    ///
    /// If it fails before step 3 has taken the record, nothing has changed.
    fn number<'w>(
        &self,
        writer: &'w Writer,
        mut logged: MutexGuard<'w, Logged>,
        proposal: &Proposal<'_>,
        draft: &mut Draft<'w>,
        durability: Durability,
    ) -> Result<Placed<'w>> {
        // The database may have been closed during the wait.
        self.writer()?;
        let sequence = Sequence(logged.last.0 + 1);
        let changes_tables = !proposal.schema.is_empty();
        if changes_tables || !self.published.has_room(sequence) {
            self.published.wait(logged.last);
        }
        // Deltas are exchanged under the log's lock, and only when all commits with a number are visible: what is the
        // newest state now has the active ones until this commit is.
        let newer = (!self.published.is_newest(&proposal.snapshot.state)).then(|| self.published.state());
        if let Some(newer) = &newer {
            proposal.check_tables(newer)?;
        }
        let memory_bytes = draft.memory_bytes(proposal);
        let Draft { footprint, encoder, results } = draft;
        results.iter_mut().for_each(Results::mark_logged);
        let log_bytes = encoder.len_bytes();
        let appended = logged.append(encoder, sequence, durability);
        writer.note_poison(&logged);
        let (place, buffered) = match appended {
            // It is not known whether the commit is in the file.
            Err(source) if writer.is_poisoned() && logged.journal.has_taken(sequence) => {
                return Err(self.indeterminate(sequence, source));
            }
            Err(error) => {
                results.iter_mut().for_each(Results::unmark_logged);
                return Err(error);
            }
            Ok(appended) => appended,
        };
        logged.bytes += log_bytes as u64;
        let is_oldest = logged.active_bytes == 0;
        let active_bytes = logged.active_bytes + memory_bytes;
        writer.set_active_bytes(&mut logged, active_bytes);
        logged.last = sequence;
        logged.footprints.note(sequence, if changes_tables { &Footprint::ANYTHING } else { footprint });
        logged.since.note(proposal.set, proposal.schema);
        if let Some(results) = results {
            logged.since.note_large(results.large(proposal.set));
        }
        Ok(Placed {
            sequence,
            log_bytes,
            newer,
            place,
            buffered,
            is_oldest,
            schema_guard: changes_tables.then_some(logged),
            replaced: None,
        })
    }

    /// Inserts the changes into the deltas, writes the records to their place in the log, and publishes changes of
    /// tables.
    fn insert<'c>(
        &'c self,
        proposal: &Proposal<'_>,
        placed: &mut Placed<'c>,
        draft: &Draft<'_>,
        approaches: &Approaches,
    ) {
        let abandoned = Abandoned(self);
        let state = placed.newer.as_ref().unwrap_or(&proposal.snapshot.state);
        let place = placed.place.take();
        // The prefetched memory arrives while the changes are inserted.
        place.iter().for_each(InPlace::approach);
        insert(state, proposal, placed.sequence, draft, approaches);
        if let Some(place) = place {
            // SAFETY: the commit is not finished: `Core::show` finishes it, which `Core::try_commit` calls after this.
            // If it is abandoned, it is never finished: then `Visible::arrives` returns false for it, and a thread that
            // would remove the file gets an error.
            unsafe { place.write(&draft.encoder) };
        }
        if !proposal.schema.is_empty() {
            let with_schema = |newest: &State| with_schema(newest, proposal.schema.changes(), placed.sequence);
            placed.replaced = Some(self.published.update(with_schema));
        }
        mem::forget(abandoned);
    }

    /// Makes the commit visible, as soon as all commits before it are.
    fn show(&self, placed: &mut Placed<'_>) {
        give_way();
        self.published.finish(placed.sequence);
        drop(placed.schema_guard.take());
        drop(placed.replaced.take());
        self.published.wait(placed.sequence);
    }

    /// Makes the commit as durable as asked.
    fn settle(&self, writer: &Writer, placed: &Placed<'_>, durability: Durability) -> Result<Sequence> {
        if let (true, Some(relief)) = (placed.buffered, writer.relief.get()) {
            relief.write_behind();
        }
        if placed.is_oldest
            && let Some(relief) = writer.relief.get()
        {
            relief.note_oldest();
        }
        if durability == Durability::Disk && !planted(Fault::NotFlushed) {
            let outcome = self.make_durable(writer, placed.sequence);
            outcome.map_err(|source| self.indeterminate(placed.sequence, source))?;
        }
        Ok(placed.sequence)
    }

    /// The error of a commit that is visible and may or may not survive.
    pub fn indeterminate(&self, sequence: Sequence, source: Error) -> Error {
        Error::Indeterminate { path: self.path.clone(), sequence, source: Box::new(source) }
    }
}

#[cold]
pub fn note_refusal(writer: &Writer, error: &Error) {
    if error.is_retryable() {
        writer.conflicts.lock().note(error);
        metrics::conflict(error);
    }
}

/// Syncs large values at every level of durability: a log that survives must not refer to bytes that did not.
fn sync_large_values(writer: &Writer, set: &WriteSet) -> Result<()> {
    if set.large().next().is_none() {
        return Ok(());
    }
    writer.large.sync().inspect_err(|_| writer.poison())
}

/// Keeps the thread's encoder for its next commit, unless it has grown too large.
fn keep_encoder(encoder: RecordEncoder) {
    if encoder.capacity_bytes() <= ENCODER_BYTES_KEPT {
        ENCODER.set(encoder);
    }
}

/// Begins the inserts of a small set, so that the cache misses overlap each other and the wait for the log's lock. In
/// a large set the first lines would be evicted before they are used.
fn approach(proposal: &Proposal<'_>, footprint: &Footprint) -> Approaches {
    let mut approaches = [None; HASHES];
    let state = &proposal.snapshot.state;
    if let Some(begun) = proposal.begun {
        approaches[0] = Some(*begun);
    } else if let Some(hashes) = footprint.hashes() {
        for ((place, (id, key, _)), &hash) in approaches.iter_mut().zip(proposal.set.iter()).zip(hashes) {
            *place = state.view_of(id).and_then(|view| view.active.approach(key, hash));
        }
    } else {
        return approaches;
    }
    for (place, (id, key, _)) in approaches.iter_mut().zip(proposal.set.iter()) {
        if let (Some(approach), Some(view)) = (place, state.view_of(id)) {
            view.active.prefetch_record(approach, key);
        }
    }
    approaches
}

/// Inserts the set into the active deltas.
fn insert(
    state: &State,
    proposal: &Proposal<'_>,
    sequence: Sequence,
    Draft { footprint, results, .. }: &Draft<'_>,
    approaches: &Approaches,
) {
    let results = results.as_ref().map_or(&[][..], Results::puts);
    let identity = state.pages.identity();
    let mut known: Option<(TableId, &Delta)> = None;
    let mut inserts: Option<Inserts<'_, '_>> = None;
    for (index, (id, key, pending)) in resolved(proposal.set, results).enumerate() {
        give_way();
        let delta = match known {
            Some((table, delta)) if table == id => delta,
            _ => {
                if let Some(mut of_table_before) = inserts.take() {
                    of_table_before.finish();
                }
                // A table that was dropped later in the same transaction has no delta and needs none.
                match proposal.schema.view_of(state, id) {
                    Some(view) => &*view.active,
                    None => continue,
                }
            }
        };
        known = Some((id, delta));
        if let Pending::PutLarge(large) = pending {
            state.active_large.note(large);
        }
        match approaches.get(index).copied().flatten().as_ref() {
            Some(approach) => {
                debug_assert!(approach.is_to(identity.hash(key)), "approaches are in the order of the set");
                delta.insert_near(approach, key, sequence, change_of(pending));
            }
            None => {
                let hash = footprint.hashes().map_or_else(|| identity.hash(key), |hashes| hashes[index]);
                let inserts = inserts.get_or_insert_with(|| Inserts::new(delta, sequence));
                inserts.insert(key, hash, change_of(pending));
            }
        }
    }
    if let Some(mut inserts) = inserts {
        inserts.finish();
    }
}

fn change_of(pending: &Pending) -> Change<'_> {
    match pending {
        Pending::Put(value) => Change::Put(value),
        Pending::PutLarge(large) => Change::PutLarge(large.value),
        Pending::Delete => Change::Delete,
        Pending::Merge(_) => unreachable!("results are in the place of merges"),
    }
}

thread_local! {
    /// Kept for its buffer.
    static ENCODER: Cell<RecordEncoder> = const { Cell::new(RecordEncoder::new()) };
}

/// Checks without the log's lock before one with it.
const CHECKS_UNLOCKED: usize = 4;

/// A larger encoder is not kept.
const ENCODER_BYTES_KEPT: usize = 256 << 10;

/// Estimate of the memory that creating or dropping a table takes until the next checkpoint.
const SCHEMA_CHANGE_BYTES: u64 = 1 << 10;

/// Estimate of the memory that an entry of a delta takes beyond its key and value.
const ENTRY_OVERHEAD_BYTES: usize = 56;

/// The disk is measured for commits of so many bytes. A commit that puts so many frees nothing until they are in the
/// log, so it passes only where there is room for them.
const MEASURED_COMMIT_BYTES: u64 = 256 << 10;
